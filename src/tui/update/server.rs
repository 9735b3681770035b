//! What the server says: changes, pictures, answers.

use super::{call, copy, history, inbox, modal};
use crate::base::clock::Timestamp;
use crate::base::id::{MessageId, TerminalId};
use crate::base::text;
use crate::config::Clipboard;
use crate::model::terminal::TerminalLife;
use crate::proto::envelope::Response;
use crate::proto::event::{Change, RowView};
use crate::proto::row::TerminalRow;
use crate::proto::screen::{STOPPED, ServerFrame, View};
use crate::proto::terminal::TerminalCreate;
use crate::pty::snapshot::{PaneImage, Patch};
use crate::tui::action::Action;
use crate::tui::clipboard::Order;
use crate::tui::facts;
use crate::tui::model::{CallPurpose, Link, Model};
use crate::tui::msg::{Cmd, Left};
use crate::tui::stale::Stale;

/// The longest text that a pane may put onto the host's clipboard, in bytes.
const MAX_CLIPBOARD: usize = 100_000;
/// The host's bell rings at most once in this time.
const BELL_PAUSE_MS: u64 = 1_000;

/// Takes a control frame.
pub fn frame(model: &mut Model, frame: ServerFrame) -> Vec<Cmd> {
    match frame {
        ServerFrame::Response(response) => answered(model, &response),
        ServerFrame::Attached { .. } => attached(model),
        ServerFrame::Change(change) => changed(model, *change),
        ServerFrame::Lines { terminal, id, page } => copy::lines(model, &terminal, id, page.as_deref()),
        ServerFrame::Found { terminal, id, matches, from, oldest } => {
            copy::found(model, &terminal, id, &matches, (from, oldest))
        }
        ServerFrame::Clipboard { terminal, text } => clipboard(model, &terminal, text),
        ServerFrame::Notice { terminal, text, is_bell } => notice(model, &terminal, &text, is_bell),
        ServerFrame::Focus { terminal } => opened(model, terminal),
        ServerFrame::Keepalive { .. } => Vec::new(),
        ServerFrame::Closing { reason } if reason == STOPPED => vec![Cmd::Quit(Left::Stopped)],
        ServerFrame::Closing { reason } => lost(model, reason),
    }
}

fn attached(model: &mut Model) -> Vec<Cmd> {
    model.link = Link::Attached;
    // The new server knows nothing of this client's view, and its pictures begin anew.
    model.told = View::default();
    // What it did not hear of is asked of it again.
    model.looked_at.clear();
    model.put_away.clear();
    copy::leave_all(model);
    for pane in model.panes.values_mut() {
        pane.image = Default::default();
    }
    Vec::new()
}

/// The connection is gone; what is shown stays, marked.
pub fn lost(model: &mut Model, reason: String) -> Vec<Cmd> {
    model.link = Link::Lost { reason: text::one_line(&reason) };
    model.calls.clear();
    model.history = None;
    Vec::new()
}

/// Takes a picture's patch.
pub fn screen(model: &mut Model, terminal: &TerminalId, patch: &[u8]) -> Vec<Cmd> {
    let Ok(patch) = Patch::decode(patch) else { return Vec::new() };
    let pane = model.panes.entry(terminal.clone()).or_default();
    let size = pane.image.size();
    let look = |image: &PaneImage| (image.size(), image.meta().default_fg, image.meta().default_bg);
    let (was_empty, before) = (pane.image.rows().is_empty(), look(&pane.image));
    let is_applied = pane.image.apply(&patch).is_ok();
    if was_empty || before != look(&pane.image) {
        model.stale = Stale::Whole;
    } else {
        model.stale.add_rows(terminal, patch.rows.iter().map(|(number, _)| *number));
    }
    if is_applied && pane.image.size() != size {
        model.press = None;
        let told =
            |view: &View| view.panes.iter().find(|pane| pane.terminal == *terminal).map(|pane| pane.size);
        let is_late = told(&model.told_before) == Some(pane.image.size());
        if told(&model.told) == Some(size) && !is_late {
            // It had our size until now: another client was used.
            model.is_active = false;
        }
    }
    Vec::new()
}

fn changed(model: &mut Model, change: Change) -> Vec<Cmd> {
    let is_first = !model.mirror.is_loaded;
    let mail = new_mail(model, &change);
    model.mirror.apply(change);
    tell_mail(model, &mail);
    let terminals = &model.mirror.terminals;
    // The server heard of it.
    model.looked_at.retain(|id| terminals.get(id).is_some_and(|row| row.is_unseen));
    model.put_away.retain(|id| model.mirror.messages.get(id).is_some_and(|row| !row.read));
    // A picture may come before its row; it goes when the row says that the pane is gone.
    model.panes.retain(|id, _| terminals.get(id).is_none_or(facts::is_shown));
    inbox::refresh(model);
    let mut cmds = close_editors(model);
    // What ended can be read, but not worked in.
    let is_live = |row: &TerminalRow| matches!(row.life, TerminalLife::Starting | TerminalLife::Running);
    let has_live = model.mirror.terminals.values().any(is_live);
    if is_first && model.mirror.is_loaded && !has_live && model.options.opens_shell && !model.has_asked_shell
    {
        model.has_asked_shell = true;
        cmds.push(call(model, &TerminalCreate::default(), CallPurpose::OpenShell));
    }
    cmds
}

/// Unread mail to the person that comes with a change. What a snapshot brings is not news.
fn new_mail(model: &Model, change: &Change) -> Vec<MessageId> {
    let rows = change.rows.iter().filter(|_| !change.is_snapshot).filter_map(|row| match row {
        RowView::Message(row) if facts::is_for_person(row) => Some(&row.id),
        _ => None,
    });
    rows.filter(|id| !model.mirror.messages.contains_key(id)).cloned().collect()
}

/// Says that mail came, but for a question, which has a note of its own: its row.
fn tell_mail(model: &mut Model, mail: &[MessageId]) {
    for id in mail.iter().filter(|id| !model.mirror.questions.contains_key(id)).cloned().collect::<Vec<_>>() {
        let Some(row) = model.mirror.messages.get(&id) else { continue };
        let (words, keys) = (facts::mail_words(&model.mirror, row), model.hint(Action::Inbox));
        model.toast(format!("mail from {words}  {keys} reads it"), false, 10);
    }
}

/// Closes the panes of editors that ended well; one that failed stays to be read.
fn close_editors(model: &mut Model) -> Vec<Cmd> {
    let end = |id: &TerminalId| model.mirror.terminals.get(id).and_then(|row| row.end.as_ref());
    let ended = model.editors.iter().filter(|id| end(id).is_some());
    let (well, badly): (Vec<_>, Vec<_>) =
        ended.cloned().partition(|id| end(id).is_some_and(|end| end.exit_code == Some(0)));
    for id in well.iter().chain(&badly) {
        model.editors.remove(id);
    }
    well.iter().flat_map(|id| modal::close_pane(model, id)).collect()
}

fn answered(model: &mut Model, response: &Response) -> Vec<Cmd> {
    let Some(purpose) = model.calls.remove(&response.id) else { return Vec::new() };
    if let Some(error) = &response.error {
        let step = error.next_steps().first().map(|step| format!(" Next: {}", text::one_line(step)));
        let message = text::one_line(&error.message);
        model.toast(format!("{message} [{}]{}", error.code, step.unwrap_or_default()), true, 12);
        match purpose {
            CallPurpose::Answer { need, .. } => inbox::refused(model, &need),
            CallPurpose::History(task) => history::arrived(model, &task, None),
            CallPurpose::PutAway(id) => drop(model.put_away.remove(&id)),
            CallPurpose::OpenShell | CallPurpose::OpenEditor | CallPurpose::ClosePane | CallPurpose::Mark => {
            }
        }
        return Vec::new();
    }
    match purpose {
        CallPurpose::OpenShell | CallPurpose::OpenEditor => {
            let result = response.result.as_ref();
            let handle = result.and_then(|result| {
                result.pointer("/terminal/handle").or_else(|| result.pointer("/split/handle"))?.as_str()
            });
            let terminal = handle.and_then(|handle| TerminalId::parse(handle).ok());
            let Some(terminal) = terminal else { return Vec::new() };
            if purpose == CallPurpose::OpenEditor {
                model.editors.insert(terminal.clone());
            }
            // What is typed next is for the pane that was asked for.
            model.sidebar_row = None;
            opened(model, terminal)
        }
        CallPurpose::History(task) => {
            history::arrived(model, &task, response.result.clone());
            Vec::new()
        }
        CallPurpose::Answer { need, text } => {
            inbox::taken(model, &need, &text);
            Vec::new()
        }
        CallPurpose::ClosePane | CallPurpose::PutAway(_) | CallPurpose::Mark => Vec::new(),
    }
}

/// Somebody asked for this pane, so it gets the focus as soon as its row is here.
fn opened(model: &mut Model, terminal: TerminalId) -> Vec<Cmd> {
    model.is_zoomed = false;
    model.wanted_focus = Some(terminal);
    Vec::new()
}

fn clipboard(model: &mut Model, terminal: &TerminalId, text: String) -> Vec<Cmd> {
    let is_allowed = match model.options.config.terminal.clipboard {
        Clipboard::Focused => model.focus.as_ref() == Some(terminal),
        Clipboard::Any => true,
        Clipboard::Off => false,
    };
    if !is_allowed || text.is_empty() || text.len() > MAX_CLIPBOARD {
        return Vec::new();
    }
    let row = model.mirror.terminals.get(terminal);
    let who = row.map(|row| facts::pane_title(&model.mirror, row));
    vec![Cmd::Clipboard(Order { text, who })]
}

fn notice(model: &mut Model, terminal: &TerminalId, message: &str, is_bell: bool) -> Vec<Cmd> {
    let is_focused = model.focus.as_ref() == Some(terminal) && model.is_host_focused;
    if !is_focused {
        model.panes.entry(terminal.clone()).or_default().has_notice = true;
        if !is_bell {
            let row = model.mirror.terminals.get(terminal);
            let title = row.map(|row| facts::pane_title(&model.mirror, row)).unwrap_or_default();
            model.toast(format!("{title}: {}", text::one_line(message)), false, 6);
        }
    }
    ring(model)
}

fn ring(model: &mut Model) -> Vec<Cmd> {
    if model.bell_at != Timestamp(0) && model.now.since_ms(model.bell_at) < BELL_PAUSE_MS {
        return Vec::new();
    }
    model.bell_at = model.now;
    vec![Cmd::Bell]
}

#[cfg(test)]
mod tests {
    use crate::proto::envelope::Response;
    use crate::proto::screen::{ClientFrame, STOPPED, ServerFrame};
    use crate::tui::msg::{Cmd, Left, Msg};
    use crate::tui::testing::{Desk, terminal_id};
    use serde_json::json;

    #[test]
    fn a_screen_leaves_with_a_server_that_was_stopped_and_waits_for_one_that_restarts() {
        for (reason, leaves) in [(STOPPED, true), ("restart", false)] {
            let mut desk = Desk::team(80, 24);
            desk.take(Msg::Server(ServerFrame::Closing { reason: reason.to_owned() }));
            assert_eq!(desk.cmds.contains(&Cmd::Quit(Left::Stopped)), leaves, "{reason}");
        }
    }

    #[test]
    fn a_new_shell_takes_the_keyboard_from_the_sidebar() {
        let mut desk = Desk::team(120, 40);
        desk.keys("ctrl+b s ctrl+b c");
        assert!(desk.model.sidebar_row.is_some());
        let asked = desk.cmds.iter().rev().find_map(|cmd| match cmd {
            Cmd::Send(ClientFrame::Request(request)) => Some(request.id.clone()),
            _ => None,
        });
        let created = json!({ "terminal": { "handle": terminal_id(30) } });
        let response = Response::new(&asked.unwrap(), None, Ok(created));
        desk.take(Msg::Server(ServerFrame::Response(response)));
        assert_eq!(desk.model.sidebar_row, None);
    }
}
