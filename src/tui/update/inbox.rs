//! The inbox: choosing an item, answering it with a digit or in words.
//!
//! A digit must never answer a question that the person has not read: when the item under the
//! cursor goes, the next one takes digits only after a moment.

use super::{call, nav};
use crate::base::input::{Key, KeyEvent};
use crate::base::text;
use crate::proto::gate::GateResolve;
use crate::proto::mail::{MessageRead, Reply};
use crate::tui::action::Action;
use crate::tui::facts::Need;
use crate::tui::keys::Scope;
use crate::tui::model::{CallPurpose, InboxView, Modal, Model};
use crate::tui::msg::Cmd;
use crate::tui::screen::inbox::{Item, items};
use crate::tui::widget::field::{Edit, Field};

/// How long a newly shown item ignores digits.
const ARM_MS: u64 = 600;

/// Opens the inbox at an item, else at the first.
pub fn open(model: &mut Model, at: Option<Need>) -> Vec<Cmd> {
    let selected = at.or_else(|| items(model).first().map(|item| item.need.clone()));
    let sent = match &model.modal {
        Some(Modal::Inbox(view)) => view.sent.clone(),
        _ => Default::default(),
    };
    model.modal =
        Some(Modal::Inbox(InboxView { selected, sent, armed_at: model.now, ..InboxView::default() }));
    Vec::new()
}

/// After a change: an answered item is gone, the selection goes to its neighbour, and what was
/// being written is kept if its item is still there.
pub fn refresh(model: &mut Model) {
    let needs: Vec<Need> = items(model).into_iter().map(|item| item.need).collect();
    let (now, Some(Modal::Inbox(view))) = (model.now, &mut model.modal) else { return };
    view.sent.retain(|need| needs.contains(need));
    if view.selected.as_ref().is_some_and(|need| needs.contains(need)) {
        return;
    }
    view.selected = needs.first().cloned();
    view.field = None;
    view.scroll = 0;
    view.armed_at = now.plus_ms(ARM_MS);
}

/// An answer was taken; the person sees which one it was.
pub fn taken(model: &mut Model, need: &Need, answer: &str) {
    let question = match need {
        Need::Question(id) => model.mirror.questions.get(id).map(|row| row.question.as_str()),
        Need::Gate(id) => model.mirror.gates.get(id).map(|row| row.question.as_str()),
        Need::Mail(id) => model.mirror.messages.get(id).map(|row| row.subject.as_str()),
        Need::Setup(_) | Need::Pane(_) | Need::Trouble(_) | Need::Unseen(_) => None,
    };
    let question = text::cut_width(&text::one_line(question.unwrap_or_default()), 60);
    model.toast(format!("Answered {:?}: {question}", text::cut_width(&text::one_line(answer), 40)), false, 5);
}

/// An answer was refused: it can be given again.
pub fn refused(model: &mut Model, need: &Need) {
    if let Some(Modal::Inbox(view)) = &mut model.modal {
        view.sent.remove(need);
    }
}

/// A key in the inbox.
pub fn key(model: &mut Model, mut view: InboxView, event: KeyEvent) -> Vec<Cmd> {
    if let Some(mut field) = view.field.take() {
        match field.key(&event) {
            Edit::Submitted if !field.text().trim().is_empty() => {
                let text = field.text().to_owned();
                model.modal = Some(Modal::Inbox(view));
                return answer(model, text);
            }
            Edit::Left => {}
            Edit::Taken | Edit::Ignored | Edit::Submitted => view.field = Some(field),
        }
        model.modal = Some(Modal::Inbox(view));
        return Vec::new();
    }
    if let Key::Char(c) = event.key
        && let Some(digit) = c.to_digit(10).filter(|digit| *digit > 0)
    {
        return by_digit(model, &view, digit);
    }
    match model.keys.action(Scope::Inbox, &event) {
        Some(Action::Edit) => match shown(model, &view) {
            Some(item) if item.is_answered_here() => {
                view.field = Some(Field::default());
                model.modal = Some(Modal::Inbox(view));
            }
            Some(_) => return go_to_place(model, &view),
            None => model.toast(String::from("Nothing waits for an answer."), false, 3),
        },
        Some(Action::PutAway) => return put_away(model, &view),
        Some(Action::GoToPane) => return go_to_place(model, &view),
        Some(Action::Close) => model.modal = None,
        Some(action) => step(model, action),
        None => {}
    }
    Vec::new()
}

/// Moves the selection or the text of the item.
pub fn step(model: &mut Model, action: Action) {
    let needs: Vec<Need> = items(model).into_iter().map(|item| item.need).collect();
    let (now, Some(Modal::Inbox(view))) = (model.now, &mut model.modal) else { return };
    let at = needs.iter().position(|need| Some(need) == view.selected.as_ref()).unwrap_or(0);
    let next = match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => (at + 1).min(needs.len().saturating_sub(1)),
        Action::PageUp => return view.scroll = view.scroll.saturating_sub(5),
        Action::PageDown => return view.scroll += 5,
        _ => return,
    };
    if next != at && view.field.is_none() {
        view.selected = needs.get(next).cloned();
        view.scroll = 0;
        view.armed_at = now;
    }
}

fn by_digit(model: &mut Model, view: &InboxView, digit: u32) -> Vec<Cmd> {
    if model.now < view.armed_at {
        return Vec::new();
    }
    let item = shown(model, view);
    let is_answered_here = item.as_ref().is_some_and(Item::is_answered_here);
    let options = item.map(|item| item.options).unwrap_or_default();
    let option = usize::try_from(digit).ok().and_then(|digit| options.get(digit - 1)).cloned();
    match option {
        Some(option) => answer(model, option),
        None if !is_answered_here => Vec::new(),
        None => {
            let text = if options.is_empty() {
                String::from("This one has no options; e answers in your own words.")
            } else {
                format!("There are {} options; e answers in your own words.", options.len())
            };
            model.toast(text, false, 4);
            Vec::new()
        }
    }
}

/// Sends an answer; the row goes when the server took it.
fn answer(model: &mut Model, text: String) -> Vec<Cmd> {
    let Some(Modal::Inbox(view)) = &mut model.modal else { return Vec::new() };
    let Some(need) = view.selected.clone() else { return Vec::new() };
    if !view.sent.insert(need.clone()) {
        return Vec::new();
    }
    let purpose = CallPurpose::Answer { need: need.clone(), text: text.clone() };
    match need {
        Need::Question(id) => {
            let run = model.mirror.questions.get(&id).map(|row| row.run_id.to_string());
            let reply = Reply { id: id.to_string(), body: text, run, from: None };
            vec![call(model, &reply, purpose)]
        }
        Need::Gate(id) => {
            let run = model.mirror.gates.get(&id).map(|row| row.run_id.to_string());
            let resolve = GateResolve { id: id.to_string(), resolution: text, run, from: None };
            vec![call(model, &resolve, purpose)]
        }
        Need::Mail(id) => {
            let reply = Reply { id: id.to_string(), body: text, run: None, from: None };
            vec![call(model, &reply, purpose)]
        }
        Need::Setup(_) | Need::Pane(_) | Need::Trouble(_) | Need::Unseen(_) => Vec::new(),
    }
}

fn shown(model: &Model, view: &InboxView) -> Option<Item> {
    items(model).into_iter().find(|item| Some(&item.need) == view.selected.as_ref())
}

/// Marks mail as read, for every screen and for the command line.
fn put_away(model: &mut Model, view: &InboxView) -> Vec<Cmd> {
    let Some(Need::Mail(id)) = &view.selected else {
        model.toast(String::from("Only mail can be put away."), false, 3);
        return Vec::new();
    };
    model.put_away.insert(id.clone());
    refresh(model);
    let read = MessageRead { id: id.to_string(), from: None };
    vec![call(model, &read, CallPurpose::PutAway(id.clone()))]
}

/// Goes to the pane or the task of the item.
fn go_to_place(model: &mut Model, view: &InboxView) -> Vec<Cmd> {
    let item = shown(model, view);
    let terminal = item.as_ref().and_then(|item| item.terminal.clone());
    match (item.map(|item| (item.need, item.task)), terminal) {
        (Some((Need::Setup(_) | Need::Trouble(_), Some(task))), _) => {
            model.modal = Some(Modal::Task { task, scroll: 0 });
            Vec::new()
        }
        (Some(_), Some(terminal)) if model.mirror.terminals.contains_key(&terminal) => {
            model.modal = None;
            nav::focus(model, &terminal)
        }
        (_, _) => {
            model.toast(String::from("No pane asks this."), false, 3);
            Vec::new()
        }
    }
}
