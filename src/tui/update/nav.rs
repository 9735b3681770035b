//! Moving between panes, tabs and the things that need the person.

use super::inbox;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::proto::screen::ClientFrame;
use crate::proto::terminal::TerminalMark;
use crate::tui::clipboard::Order;
use crate::tui::facts::{self, Need};
use crate::tui::layout::{self, Direction};
use crate::tui::model::{CallPurpose, Modal, Model, Tab};
use crate::tui::msg::Cmd;

/// Focuses a pane and shows its tab.
pub fn focus(model: &mut Model, terminal: &TerminalId) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    remember_place(model);
    if let Some(pane) = model.panes.get_mut(terminal) {
        pane.has_notice = false;
    }
    if model.focus.as_ref() != Some(terminal) {
        for (id, is_in) in [(model.focus.clone(), false), (Some(terminal.clone()), true)] {
            let event = InputEvent::Focus(is_in);
            cmds.extend(id.map(|terminal| Cmd::Send(ClientFrame::Input { terminal, event })));
        }
        model.last_focus = model.focus.replace(terminal.clone());
    }
    show_tab(model, model.tab_of(terminal));
    cmds
}

/// Notes which pane of the shown tab has the focus, for the way back.
fn remember_place(model: &mut Model) {
    if let Some(focus) = model.focus.clone() {
        model.places.insert(model.tab.clone(), focus);
    }
}

fn show_tab(model: &mut Model, tab: Tab) {
    if model.tab != tab {
        model.last_tab = Some(std::mem::replace(&mut model.tab, tab));
    }
}

/// Puts the focus somewhere that exists: after closes, changes of tab, the first snapshot.
pub fn settle_focus(model: &mut Model) -> Vec<Cmd> {
    if !model.mirror.is_loaded {
        return Vec::new();
    }
    let is_shown = |id: &TerminalId| model.mirror.terminals.get(id).is_some_and(facts::is_shown);
    if let Some(wanted) = model.wanted_focus.clone().filter(is_shown) {
        model.wanted_focus = None;
        return focus(model, &wanted);
    }
    if let Some(focus) = &model.focus {
        let is_there = model.mirror.terminals.get(focus).is_some_and(facts::is_shown);
        if is_there {
            let tab = model.tab_of(focus);
            show_tab(model, tab);
            return Vec::new();
        }
    }
    let was_zoomed = model.focus.take().is_some();
    if was_zoomed {
        (model.is_zoomed, model.is_clean) = (false, false);
    }
    let tabs = model.tabs();
    if !tabs.contains(&model.tab) {
        let tab = tabs.iter().rev().find(|tab| !model.terminals_in(tab).is_empty()).or(tabs.last());
        if let Some(tab) = tab.cloned() {
            model.tab = tab;
        }
    }
    let here = model.terminals_in(&model.tab);
    let last = model.last_focus.take().filter(|id| here.contains(id));
    model.focus = last.or_else(|| here.into_iter().next());
    Vec::new()
}

/// Focuses the pane next to the focused one; from the leftmost pane to the sidebar.
pub fn focus_towards(model: &mut Model, direction: Direction) -> Vec<Cmd> {
    model.is_zoomed = false;
    let tiles = model.tiles();
    let rects: Vec<_> = tiles.iter().map(|(_, rect)| *rect).collect();
    let Some(from) = tiles.iter().position(|(id, _)| Some(id) == model.focus.as_ref()) else {
        return Vec::new();
    };
    match layout::neighbour(&rects, from, direction).and_then(|to| tiles.get(to)) {
        Some((terminal, _)) => focus(model, terminal),
        None if direction == Direction::Left && model.areas().sidebar.is_some() => {
            super::sidebar::toggle_focus(model)
        }
        None => Vec::new(),
    }
}

/// Focuses the next pane of the tab, also on other pages.
pub fn focus_next(model: &mut Model) -> Vec<Cmd> {
    let all = model.terminals_in(&model.tab);
    let at = all.iter().position(|id| Some(id) == model.focus.as_ref()).map_or(0, |at| at + 1);
    let next = all.get(at).or(all.first()).cloned();
    next.map(|next| focus(model, &next)).unwrap_or_default()
}

/// Focuses the pane that was focused before.
pub fn focus_last(model: &mut Model) -> Vec<Cmd> {
    let last = model.last_focus.clone();
    match last.filter(|id| model.mirror.terminals.get(id).is_some_and(facts::is_shown)) {
        Some(last) => focus(model, &last),
        None => {
            model.toast(String::from("There was no pane before this one."), false, 3);
            Vec::new()
        }
    }
}

/// Shows a tab and focuses the pane the person left there, else its first one.
pub fn go_to_tab(model: &mut Model, tab: Tab) -> Vec<Cmd> {
    if tab == model.tab {
        return Vec::new();
    }
    let here = model.terminals_in(&tab);
    let left = model.places.get(&tab).filter(|left| here.contains(left));
    match left.or(here.first()).cloned() {
        Some(pane) => focus(model, &pane),
        None => {
            remember_place(model);
            model.last_focus = model.focus.take();
            show_tab(model, tab);
            Vec::new()
        }
    }
}

/// Goes `step` tabs to the right, around the end.
pub fn step_tab(model: &mut Model, step: isize) -> Vec<Cmd> {
    let tabs = model.tabs();
    let at = tabs.iter().position(|tab| *tab == model.tab).unwrap_or(0);
    let n_tabs = isize::try_from(tabs.len().max(1)).unwrap_or(1);
    let next = (isize::try_from(at).unwrap_or(0) + step).rem_euclid(n_tabs);
    let tab = usize::try_from(next).ok().and_then(|next| tabs.get(next)).cloned();
    tab.map(|tab| go_to_tab(model, tab)).unwrap_or_default()
}

/// Goes to the tab shown with a number; 1 is the first, 0 the tenth.
pub fn tab_number(model: &mut Model, number: usize) -> Vec<Cmd> {
    let index = if number == 0 { 9 } else { number - 1 };
    match model.tabs().get(index).cloned() {
        Some(tab) => go_to_tab(model, tab),
        None => {
            model.toast(format!("There is no tab {}.", index + 1), false, 3);
            Vec::new()
        }
    }
}

/// Goes to the tab that was shown before.
pub fn last_tab(model: &mut Model) -> Vec<Cmd> {
    match model.last_tab.clone().filter(|tab| model.tabs().contains(tab)) {
        Some(tab) => go_to_tab(model, tab),
        None => {
            model.toast(String::from("There was no tab before this one."), false, 3);
            Vec::new()
        }
    }
}

/// One pane alone, or all again.
pub fn zoom(model: &mut Model) -> Vec<Cmd> {
    model.is_zoomed = !model.is_zoomed && model.focus.is_some();
    Vec::new()
}

/// The pane without anything of ours around it, the mouse with the host (reports MC-04).
pub fn clean_view(model: &mut Model) -> Vec<Cmd> {
    model.is_clean = !model.is_clean && model.focus.is_some();
    if model.is_clean {
        let back = model.hint(crate::tui::action::Action::CleanView);
        model.toast(format!("Only this pane, the mouse is free. {back} goes back."), false, 6);
    }
    let is_mouse_ours = !model.is_clean && model.options.config.screen.is_mouse_on;
    vec![Cmd::Mouse(is_mouse_ours)]
}

/// Goes to the next thing that needs the person, most urgent first, and around.
pub fn next_attention(model: &mut Model) -> Vec<Cmd> {
    let list = model.attention();
    if list.is_empty() {
        model.toast(String::from("Nothing needs you now."), false, 3);
        return Vec::new();
    }
    let here = match &model.modal {
        Some(Modal::Inbox(view)) => view.selected.clone(),
        Some(Modal::Task { task, .. }) => {
            let attempt = model.mirror.latest_attempt(task);
            let setup = attempt.filter(|attempt| facts::awaits_approval(&model.mirror, attempt));
            Some(setup.map_or(Need::Trouble(task.clone()), |attempt| Need::Setup(attempt.id.clone())))
        }
        _ => model.focus.clone().map(Need::Pane),
    };
    let at = list.iter().position(|item| Some(&item.need) == here.as_ref()).map_or(0, |at| at + 1);
    let next = list.get(at).or(list.first()).map(|item| item.need.clone());
    next.map(|need| go_to(model, need)).unwrap_or_default()
}

/// Goes to where a need is dealt with.
pub fn go_to(model: &mut Model, need: Need) -> Vec<Cmd> {
    match need {
        Need::Question(_) | Need::Gate(_) | Need::Mail(_) => inbox::open(model, Some(need)),
        Need::Pane(terminal) | Need::Unseen(terminal) => {
            model.modal = None;
            model.sidebar_row = None;
            focus(model, &terminal)
        }
        Need::Setup(dispatch) => {
            let task = model.mirror.dispatches.get(&dispatch).map(|attempt| attempt.task_id.clone());
            model.modal = task.map(|task| Modal::Task { task, scroll: 0 });
            Vec::new()
        }
        Need::Trouble(task) => {
            model.modal = Some(Modal::Task { task, scroll: 0 });
            Vec::new()
        }
    }
}

/// Opens the task of the focused pane.
pub fn task_detail(model: &mut Model) -> Vec<Cmd> {
    let attempt = model.focus.as_ref().and_then(|id| model.mirror.attempt_in(id));
    match attempt.map(|attempt| attempt.task_id.clone()) {
        Some(task) => model.modal = Some(Modal::Task { task, scroll: 0 }),
        None => {
            let sidebar = model.hint(crate::tui::action::Action::Sidebar);
            model.toast(format!("This pane has no task. {sidebar} lists the tasks."), false, 4);
        }
    }
    Vec::new()
}

/// Asks before the focused pane is closed; an ended one is closed at once.
pub fn ask_close(model: &mut Model) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    let Some(row) = model.mirror.terminals.get(&terminal) else { return Vec::new() };
    if row.end.is_some() {
        return super::modal::close_pane(model, &terminal);
    }
    let title = facts::pane_title(&model.mirror, row);
    let attempt = model.mirror.attempt_in(&terminal).filter(|attempt| attempt.status.is_active());
    let question = match attempt {
        Some(attempt) => {
            format!("Close {title:?}? Its attempt #{} is still running and will fail.", attempt.attempt)
        }
        None => format!("Close {title:?}? The program in it ends."),
    };
    model.modal = Some(Modal::ConfirmClose { terminal, question });
    Vec::new()
}

/// Marks the focused pane as not looked at and moves on (wishes 6).
pub fn mark_unseen(model: &mut Model) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    let mut cmds = focus_next(model);
    if model.focus.as_ref() == Some(&terminal) {
        model.toast(String::from("There is no other pane to go on to."), false, 3);
        return cmds;
    }
    model.looked_at.remove(&terminal);
    cmds.push(mark(model, &terminal, false));
    cmds
}

/// Tells the server that the focused pane was looked at, where it waits for that.
pub fn look(model: &mut Model) -> Option<Cmd> {
    let terminal = model.focus.clone().filter(|id| model.is_host_focused && model.is_unseen(id))?;
    model.looked_at.insert(terminal.clone());
    Some(mark(model, &terminal, true))
}

fn mark(model: &mut Model, terminal: &TerminalId, is_seen: bool) -> Cmd {
    let mark = TerminalMark { terminal: Some(terminal.to_string()), is_seen };
    super::call(model, &mark, CallPurpose::Mark)
}

/// Copies the path of the focused pane's worktree.
pub fn copy_path(model: &mut Model) -> Vec<Cmd> {
    let row = model.focus.as_ref().and_then(|id| model.mirror.terminals.get(id));
    let Some(path) = row.map(|row| row.worktree_path.clone()) else { return Vec::new() };
    model.copied = Some(path.clone());
    vec![Cmd::Clipboard(Order { text: path, who: None })]
}

#[cfg(test)]
mod tests {
    use crate::proto::event::RowView;
    use crate::proto::screen::ServerFrame;
    use crate::tui::msg::Msg;
    use crate::tui::testing::{self, Desk, terminal_id};

    /// The team and shells of no Run.
    fn with_shells(numbers: [u32; 2]) -> Desk {
        let mut change = testing::snapshot();
        change.is_snapshot = false;
        let mut shells = Vec::new();
        for row in &change.rows {
            if let RowView::Terminal(row) = row {
                shells = numbers.map(|number| (number, row.clone())).into();
            }
        }
        change.rows = shells
            .into_iter()
            .map(|(number, mut row)| {
                (row.handle, row.run_id, row.dispatch_id) = (terminal_id(number), None, None);
                RowView::Terminal(row)
            })
            .collect();
        let mut desk = Desk::team(120, 40);
        desk.take(Msg::Server(ServerFrame::Change(Box::new(change))));
        desk
    }

    #[test]
    fn a_tab_is_come_back_to_at_the_pane_it_was_left_at() {
        let mut desk = with_shells([20, 21]);
        let check = |desk: &mut Desk, keys: &str, number: u32| {
            desk.keys(keys);
            assert_eq!(desk.model.focus, Some(terminal_id(number)), "{keys}");
        };
        check(&mut desk, "ctrl+b n", 20);
        check(&mut desk, "ctrl+b o", 21);
        desk.keys("ctrl+b p ctrl+b o");
        let left = desk.model.focus.clone();
        check(&mut desk, "ctrl+b n", 21);
        desk.keys("ctrl+b l");
        assert_eq!(desk.model.focus, left);
    }

    #[test]
    fn a_tab_that_is_not_there_is_said_to_be_not_there() {
        let mut desk = with_shells([20, 21]);
        let before = desk.model.focus.clone();
        desk.keys("ctrl+b 7");
        assert_eq!(desk.model.focus, before);
        assert_eq!(desk.model.toasts.last().unwrap().text, "There is no tab 7.");
    }
}
