//! Keys in the screens over the panes.

use super::{act, call, inbox, nav, sidebar};
use crate::base::id::TerminalId;
use crate::base::input::{Key, KeyEvent, MouseKind};
use crate::proto::terminal::TerminalClose;
use crate::tui::action::Action;
use crate::tui::keys::Scope;
use crate::tui::model::{CallPurpose, Modal, Model};
use crate::tui::msg::Cmd;
use crate::tui::screen::detail;
use crate::tui::screen::palette::{self, Choice};
use crate::tui::widget::field::Edit;

/// Opens a screen, or closes it when it is the one that is open.
pub fn open(model: &mut Model, modal: Modal) -> Vec<Cmd> {
    let is_same = model
        .modal
        .as_ref()
        .is_some_and(|shown| std::mem::discriminant(shown) == std::mem::discriminant(&modal));
    model.modal = (!is_same).then_some(modal);
    Vec::new()
}

/// A key for the open screen.
pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    match model.modal.clone() {
        Some(Modal::Inbox(view)) => inbox::key(model, view, event),
        Some(Modal::Task { task, .. }) => {
            let asked = detail::asked(model, &task);
            match (model.keys.action(Scope::List, &event), asked) {
                (Some(Action::Open), Some(need)) => inbox::open(model, Some(need)),
                (Some(Action::GoToPane | Action::Open), _) => sidebar::go_to_task(model, task),
                (action, _) => {
                    scroll(model, action);
                    Vec::new()
                }
            }
        }
        Some(Modal::Gates { .. }) => match model.keys.action(Scope::List, &event) {
            Some(Action::Open) => inbox::open(model, None),
            action => {
                scroll(model, action);
                Vec::new()
            }
        },
        Some(Modal::Help { .. }) => {
            let action = model.keys.action(Scope::List, &event);
            scroll(model, action);
            Vec::new()
        }
        Some(Modal::Palette { .. }) => palette_key(model, &event),
        Some(Modal::ConfirmClose { terminal, .. }) => match model.keys.action(Scope::Confirm, &event) {
            Some(Action::Confirm) => {
                model.modal = None;
                close_pane(model, &terminal)
            }
            Some(_) => {
                model.modal = None;
                Vec::new()
            }
            None => Vec::new(),
        },
        None => Vec::new(),
    }
}

fn scroll(model: &mut Model, action: Option<Action>) {
    let page = crate::tui::screen::n_page_rows(model);
    let (Some(Modal::Task { scroll, .. }) | Some(Modal::Gates { scroll }) | Some(Modal::Help { scroll })) =
        &mut model.modal
    else {
        return;
    };
    match action {
        Some(Action::Up) => *scroll = scroll.saturating_sub(1),
        Some(Action::Down) => *scroll += 1,
        Some(Action::PageUp) => *scroll = scroll.saturating_sub(page),
        Some(Action::PageDown) => *scroll += page,
        Some(Action::Top) => *scroll = 0,
        Some(Action::Bottom) => *scroll = usize::MAX / 2,
        Some(Action::Close) => model.modal = None,
        _ => {}
    }
    // What lies past the end is not remembered, so that one key up moves at once.
    let n_over = crate::tui::screen::n_hidden_rows(model);
    if let Some(Modal::Task { scroll, .. } | Modal::Gates { scroll } | Modal::Help { scroll }) =
        &mut model.modal
    {
        *scroll = (*scroll).min(n_over);
    }
}

/// The wheel in the open screen.
pub fn mouse(model: &mut Model, kind: MouseKind) {
    let action = match kind {
        MouseKind::WheelUp => Action::Up,
        MouseKind::WheelDown => Action::Down,
        MouseKind::Down(_)
        | MouseKind::Up(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => return,
    };
    if let Some(Modal::Inbox(_)) = &model.modal {
        inbox::step(model, action);
    } else {
        scroll(model, Some(action));
    }
}

/// A paste into the open screen's field.
pub fn paste(model: &mut Model, text: &str) {
    match &mut model.modal {
        Some(Modal::Inbox(view)) => view.field.get_or_insert_default().paste(text),
        Some(Modal::Palette { field, selected }) => {
            field.paste(&crate::base::text::one_line(text));
            *selected = 0;
        }
        Some(Modal::Task { .. } | Modal::Gates { .. } | Modal::Help { .. } | Modal::ConfirmClose { .. })
        | None => {}
    }
}

fn palette_key(model: &mut Model, event: &KeyEvent) -> Vec<Cmd> {
    let n_choices = palette::choices(model).len();
    let Some(Modal::Palette { field, selected }) = &mut model.modal else { return Vec::new() };
    match event.key {
        Key::Up | Key::BackTab => *selected = selected.saturating_sub(1),
        Key::Down | Key::Tab => *selected = (*selected + 1).min(n_choices.saturating_sub(1)),
        _ => match field.key(event) {
            Edit::Taken => *selected = 0,
            Edit::Submitted => {
                let at = *selected;
                let choice = palette::choices(model).into_iter().nth(at);
                model.modal = None;
                return match choice {
                    Some(Choice { action: Some(action), .. }) => act(model, action),
                    Some(Choice { terminal: Some(terminal), .. }) => nav::focus(model, &terminal),
                    Some(Choice { task: Some(task), .. }) => {
                        model.modal = Some(Modal::Task { task, scroll: 0 });
                        Vec::new()
                    }
                    Some(_) | None => Vec::new(),
                };
            }
            Edit::Left => model.modal = None,
            Edit::Ignored => {}
        },
    }
    Vec::new()
}

/// Closes a pane.
pub fn close_pane(model: &mut Model, terminal: &TerminalId) -> Vec<Cmd> {
    let close = TerminalClose { terminal: Some(terminal.to_string()), ..TerminalClose::default() };
    vec![call(model, &close, CallPurpose::ClosePane)]
}
