//! The keyboard and the mouse in the sidebar.

use super::nav;
use crate::base::input::{KeyEvent, MouseButton, MouseEvent, MouseKind};
use crate::tui::action::Action;
use crate::tui::keys::Scope;
use crate::tui::layout::SidebarWish;
use crate::tui::model::{Modal, Model};
use crate::tui::msg::Cmd;
use crate::tui::screen::board::{self, Target};
use crate::tui::screen::detail;

/// Shows or hides the sidebar.
pub fn toggle(model: &mut Model) -> Vec<Cmd> {
    let is_shown = model.areas().sidebar.is_some();
    model.sidebar_row = None;
    model.sidebar = if is_shown { SidebarWish::Hidden } else { SidebarWish::Shown };
    Vec::new()
}

/// Takes the sidebar away where it lies over the panes: the person works in one of those.
pub fn close_overlay(model: &mut Model) {
    if model.areas().is_overlay {
        (model.sidebar, model.sidebar_row) = (SidebarWish::Auto, None);
        model.stale = crate::tui::stale::Stale::Whole;
    }
}

/// Takes the keyboard to the sidebar, or back to the panes.
pub fn toggle_focus(model: &mut Model) -> Vec<Cmd> {
    model.modal = None;
    model.sidebar_row = match model.sidebar_row {
        Some(_) => None,
        None => board::rows(model).iter().position(|row| row.target.is_some()).or(Some(0)),
    };
    Vec::new()
}

/// A key in the sidebar.
pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    let rows = board::rows(model);
    let stops: Vec<usize> =
        (0..rows.len()).filter(|at| rows.get(*at).is_some_and(|row| row.target.is_some())).collect();
    let at = model.sidebar_row.unwrap_or(0);
    let target = rows.get(at).and_then(|row| row.target.clone());
    match model.keys.action(Scope::Sidebar, &event) {
        Some(Action::Up) => {
            model.sidebar_row = stops.iter().rev().find(|stop| **stop < at).copied().or(Some(at))
        }
        Some(Action::Down) => model.sidebar_row = stops.iter().find(|stop| **stop > at).copied().or(Some(at)),
        Some(Action::Top) => model.sidebar_row = stops.first().copied().or(Some(0)),
        Some(Action::Bottom) => model.sidebar_row = stops.last().copied().or(Some(0)),
        Some(Action::Open) => return target.map(|target| open(model, target)).unwrap_or_default(),
        Some(Action::GoToPane) => return target.map(|target| go_to_pane(model, target)).unwrap_or_default(),
        Some(Action::Close) => model.sidebar_row = None,
        _ => {}
    }
    Vec::new()
}

fn open(model: &mut Model, target: Target) -> Vec<Cmd> {
    model.sidebar_row = None;
    match target {
        Target::Need(need) => nav::go_to(model, need),
        Target::Run(run) => nav::go_to_tab(model, crate::tui::model::Tab::Run(run)),
        Target::Task(task) => {
            model.modal = Some(Modal::Task { task, scroll: 0 });
            Vec::new()
        }
        Target::Terminal(terminal) => nav::focus(model, &terminal),
    }
}

fn go_to_pane(model: &mut Model, target: Target) -> Vec<Cmd> {
    let Target::Task(task) = target else { return open(model, target) };
    match detail::pane_of(model, &task) {
        Some(terminal) => {
            model.sidebar_row = None;
            model.modal = None;
            nav::focus(model, &terminal)
        }
        None => {
            model.toast(String::from("No worker of this task has a pane now."), false, 3);
            Vec::new()
        }
    }
}

/// Goes to the pane of a task's newest attempt.
pub fn go_to_task(model: &mut Model, task: crate::base::id::TaskId) -> Vec<Cmd> {
    go_to_pane(model, Target::Task(task))
}

/// The mouse in the sidebar: a click goes to the pane or opens, the wheel moves.
pub fn mouse(model: &mut Model, event: MouseEvent) -> Vec<Cmd> {
    if event.kind != MouseKind::Down(MouseButton::Left) {
        return Vec::new();
    }
    let target = board::target_at(model, event.row);
    match target {
        Some(Target::Task(task)) => {
            if detail::pane_of(model, &task).is_some() {
                go_to_task(model, task)
            } else {
                open(model, Target::Task(task))
            }
        }
        Some(target) => open(model, target),
        None => Vec::new(),
    }
}
