//! One message in, the model changed, commands out. Nothing else changes the model.

mod copy;
mod history;
mod inbox;
mod modal;
mod mouse;
mod nav;
mod server;
mod sidebar;
#[cfg(test)]
mod tests;

use super::action::Action;
use super::clipboard::Outcome;
use super::copy::order::Order;
use super::keys::Scope;
use super::model::{CallPurpose, Link, Modal, Model};
use super::msg::{Cmd, Left, Msg};
use super::stale::Stale;
use super::theme::Theme;
use crate::base::id::TerminalId;
use crate::base::input::{InputEvent, Key, KeyEvent, KeyPhase, Mods};
use crate::model::terminal::{SplitDirection, TerminalLife};
use crate::proto::Call;
use crate::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use crate::proto::screen::{ClientFrame, MAX_PASTE, View, ViewPane};
use crate::proto::terminal::{TerminalCreate, TerminalSplit};

/// Between two turns of a drag that rests at an edge.
const EDGE_PAUSE_MS: u64 = 50;
/// Keys and pastes that wait at most for a program that is being started, or for a server.
const MAX_EARLY_INPUT: usize = 500_000;

/// The flag of kitty's keyboard protocol for repeats and releases.
const REPORT_EVENT_TYPES: u8 = 2;

/// Takes one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    match &msg {
        // Its rows go stale, or nothing does.
        Msg::Screen { .. } | Msg::Tick(_) => {}
        Msg::Key(event) if is_only_typed(model, event) => {}
        Msg::Key(_)
        | Msg::Paste(_)
        | Msg::Mouse(_)
        | Msg::HostFocus(_)
        | Msg::Resize { .. }
        | Msg::Host(_)
        | Msg::Server(_)
        | Msg::Lost { .. }
        | Msg::Copied(_)
        | Msg::Written { .. } => model.stale = Stale::Whole,
    }
    let mut cmds = match msg {
        Msg::Key(event) => key(model, event),
        Msg::Paste(text) => paste(model, text),
        Msg::Mouse(event) => mouse::event(model, event),
        Msg::HostFocus(is_focused) => host_focus(model, is_focused),
        Msg::Resize { n_cols, n_rows } => resize(model, n_cols, n_rows),
        Msg::Host(facts) => {
            model.host = facts.clone();
            model.theme = Theme::new(model.options.config.screen.theme, &facts);
            vec![Cmd::Send(ClientFrame::Host(facts))]
        }
        Msg::Server(frame) => server::frame(model, frame),
        Msg::Screen { terminal, patch } => server::screen(model, &terminal, &patch),
        Msg::Lost { reason } => server::lost(model, reason),
        Msg::Copied(outcome) => copied(model, outcome),
        Msg::Written { terminal, path } => edit(model, &terminal, path),
        Msg::Tick(now) => tick(model, now),
    };
    cmds.extend(nav::settle_focus(model));
    cmds.extend(nav::look(model));
    cmds.extend(key_releases(model));
    cmds.extend(copy::keep(model));
    cmds.extend(history::ask(model));
    tell_view(model, &mut cmds, false);
    if !model.early_input.is_empty() {
        cmds.extend(send_early_input(model));
    }
    cmds
}

/// Key releases are asked of the host only while the program that has the keyboard wants them (kitty
/// flag 2, `terminal.md` 5.8).
fn key_releases(model: &mut Model) -> Option<Cmd> {
    let focused = model.focus.as_ref().and_then(|id| model.panes.get(id));
    let is_wanted = model.host.has_kitty_keys
        && focused.is_some_and(|pane| pane.image.meta().kitty_flags & REPORT_EVENT_TYPES != 0);
    let has_changed = std::mem::replace(&mut model.has_key_releases, is_wanted) != is_wanted;
    has_changed.then_some(Cmd::KeyReleases(is_wanted))
}

fn tick(model: &mut Model, now: crate::base::clock::Timestamp) -> Vec<Cmd> {
    if model.now.0 == 0 {
        // What the settings got wrong is said from the first moment on, for long enough to read it.
        for toast in &mut model.toasts {
            toast.until = now.plus_ms(20_000);
        }
    }
    model.now = now;
    let n_toasts = model.toasts.len();
    model.toasts.retain(|toast| toast.until > now);
    if model.toasts.len() != n_toasts {
        model.stale = Stale::Whole;
    }
    if now.since_ms(model.edge_at) < EDGE_PAUSE_MS {
        return Vec::new();
    }
    model.edge_at = now;
    if model.press.is_some() {
        model.stale = Stale::Whole;
    }
    mouse::tick(model)
}

fn resize(model: &mut Model, n_cols: u16, n_rows: u16) -> Vec<Cmd> {
    (model.n_cols, model.n_rows) = (n_cols.min(1_000), n_rows.min(1_000));
    model.press = None;
    vec![Cmd::Redraw]
}

fn host_focus(model: &mut Model, is_focused: bool) -> Vec<Cmd> {
    model.is_host_focused = is_focused;
    let mut cmds = Vec::new();
    if let Some(terminal) = model.focus.clone() {
        cmds.push(Cmd::Send(ClientFrame::Input { terminal, event: InputEvent::Focus(is_focused) }));
    }
    if is_focused {
        claim(model, &mut cmds);
    }
    cmds
}

/// Tells the server which panes are seen in which sizes, when that changed or when it `is_claim`ed:
/// the person just used this client.
fn tell_view(model: &mut Model, cmds: &mut Vec<Cmd>, is_claim: bool) {
    let panes: Vec<ViewPane> = model
        .tiles()
        .into_iter()
        // The server has no picture of a terminal before its process is there, and a view of
        // nothing would not be told later.
        .filter(|(terminal, _)| {
            model.mirror.terminals.get(terminal).is_some_and(|row| row.life != TerminalLife::Starting)
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(terminal, tile)| {
            let inside = model.inside(tile);
            let size = crate::base::size::TermSize::clamped(inside.height, inside.width);
            ViewPane { terminal, size }
        })
        .collect();
    let view = View { panes, focus: model.focus.clone(), is_active: model.is_active };
    if view != model.told || is_claim {
        model.told_before = std::mem::replace(&mut model.told, view.clone());
        cmds.push(Cmd::Send(ClientFrame::View(view)));
    }
}

/// What a person does here makes this client the one that sizes follow, where another one has
/// them now.
fn claim(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if needs_claim(model) {
        model.is_active = true;
        tell_view(model, cmds, true);
    }
}

fn needs_claim(model: &Model) -> bool {
    let is_ours = model.told.panes.iter().all(|pane| {
        let image = model.panes.get(&pane.terminal).map(|known| &known.image);
        image.is_none_or(|image| image.rows().is_empty() || image.size() == pane.size)
    });
    !is_ours || !model.is_active
}

fn key(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    claim(model, &mut cmds);
    if event.phase == KeyPhase::Release {
        if model.modal.is_none() && model.sidebar_row.is_none() {
            cmds.extend(to_program(model, InputEvent::Key(event)));
        }
        return cmds;
    }
    if model.is_prefix_on {
        model.is_prefix_on = false;
        if let Some(action) = model.keys.action(Scope::Prefix, &event) {
            cmds.extend(act(model, action));
        } else if event.key != Key::Esc {
            let help = model.hint(Action::Help);
            model.toast(format!("No action has that key. {help} shows all keys."), false, 4);
        }
        return cmds;
    }
    if model.keys.prefix.is_typed(&event) {
        model.is_prefix_on = true;
        return cmds;
    }
    model.press = None;
    cmds.extend(if model.modal.is_some() {
        modal::key(model, event)
    } else if model.sidebar_row.is_some() {
        sidebar::key(model, event)
    } else {
        for_pane(model, event)
    });
    cmds
}

/// Whether a key goes to the program and changes nothing on this screen by itself.
fn is_only_typed(model: &Model, event: &KeyEvent) -> bool {
    has_plain_keys(model) && !model.keys.prefix.is_typed(event)
}

/// Whether keys other than the prefix mean nothing to this screen.
fn has_plain_keys(model: &Model) -> bool {
    !model.is_prefix_on
        && model.modal.is_none()
        && model.sidebar_row.is_none()
        && model.press.is_none()
        && !model.areas().is_overlay
        && model.focus.as_ref().is_none_or(|focus| !model.is_in_copy_mode(focus))
}

/// The program that gets every key but the prefix, while all that [`update`] would do with one is to
/// send it there.
pub fn typed_at(model: &Model) -> Option<&TerminalId> {
    let terminal = model.focus.as_ref().filter(|_| has_plain_keys(model))?;
    let row = model.mirror.terminals.get(terminal)?;
    let is_ready = row.life == TerminalLife::Running
        && model.early_input.is_empty()
        && !needs_claim(model)
        && model.link == Link::Attached;
    is_ready.then_some(terminal)
}

/// A key for the focused pane: for its copy mode, else for its program.
fn for_pane(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    sidebar::close_overlay(model);
    match copy::key(model, event) {
        Some(cmds) => cmds,
        None => to_program(model, InputEvent::Key(event)),
    }
}

fn paste(model: &mut Model, text: String) -> Vec<Cmd> {
    if model.modal.is_some() {
        modal::paste(model, &text);
        return Vec::new();
    }
    if model.sidebar_row.is_some() || copy::paste(model, &text) {
        return Vec::new();
    }
    sidebar::close_overlay(model);
    if text.len() > MAX_PASTE {
        let (n_bytes, most) = (text.len(), MAX_PASTE >> 20);
        let why =
            format!("Nothing was pasted: {n_bytes} bytes are more than {most} MiB. Put them into a file.");
        model.toast(why, true, 10);
        return Vec::new();
    }
    let mut cmds = Vec::new();
    claim(model, &mut cmds);
    copy::leave(model);
    cmds.extend(to_program(model, InputEvent::Paste(text)));
    cmds
}

/// Input for the focused program. An ended one gets nothing; for one that is being started, and while no
/// server is there, it waits in order.
fn to_program(model: &mut Model, event: InputEvent) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    let Some(row) = model.mirror.terminals.get(&terminal) else { return Vec::new() };
    match row.life {
        // What could not be sent goes first.
        TerminalLife::Running if model.link == Link::Attached && model.early_input.is_empty() => {
            vec![Cmd::Send(ClientFrame::Input { terminal, event })]
        }
        TerminalLife::Running | TerminalLife::Starting => {
            if model.early_input.len() < MAX_EARLY_INPUT {
                model.early_input.push((terminal, event));
            } else {
                let why = "What you type is not kept any more: no server took it for too long.";
                model.toast(why.to_owned(), true, 10);
            }
            Vec::new()
        }
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => Vec::new(),
    }
}

/// Sends what was typed before a program or its server was there, once they are; drops what has nobody
/// any more.
fn send_early_input(model: &mut Model) -> Vec<Cmd> {
    if model.link != Link::Attached {
        return Vec::new();
    }
    let life = |id: &TerminalId| model.mirror.terminals.get(id).map(|row| row.life);
    let early = std::mem::take(&mut model.early_input);
    let (waiting, due): (Vec<_>, Vec<_>) =
        early.into_iter().partition(|(id, _)| life(id) == Some(TerminalLife::Starting));
    let due = due.into_iter().filter(|(id, _)| life(id) == Some(TerminalLife::Running));
    let cmds = due.map(|(terminal, event)| Cmd::Send(ClientFrame::Input { terminal, event })).collect();
    model.early_input = waiting;
    cmds
}

/// Does an action of the prefix scope or the palette.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Cmd> {
    if action.needs_pane() && model.focus.is_none() {
        let shell = model.hint(Action::NewShell);
        model.toast(format!("There is no pane here. {shell} opens a shell."), false, 4);
        return Vec::new();
    }
    match action {
        Action::NextAttention => nav::next_attention(model),
        Action::Inbox => inbox::open(model, None),
        Action::Sidebar => sidebar::toggle_focus(model),
        Action::ToggleSidebar => sidebar::toggle(model),
        Action::TaskDetail => nav::task_detail(model),
        Action::Gates => modal::open(model, Modal::Gates { scroll: 0 }),
        Action::Palette => modal::open(model, Modal::Palette { field: Default::default(), selected: 0 }),
        Action::Help => modal::open(model, Modal::Help { scroll: 0 }),
        Action::FocusLeft => nav::focus_towards(model, super::layout::Direction::Left),
        Action::FocusDown => nav::focus_towards(model, super::layout::Direction::Down),
        Action::FocusUp => nav::focus_towards(model, super::layout::Direction::Up),
        Action::FocusRight => nav::focus_towards(model, super::layout::Direction::Right),
        Action::FocusNext => nav::focus_next(model),
        Action::FocusLast => nav::focus_last(model),
        Action::Zoom => nav::zoom(model),
        Action::CleanView => nav::clean_view(model),
        Action::Scroll => copy::begin(model, None),
        Action::ScrollPage => copy::begin(model, Some(Order::PageUp)),
        Action::EditHistory => copy::begin(model, Some(Order::Edit)),
        Action::PasteCopied => paste_copied(model),
        Action::NewShell => vec![call(model, &TerminalCreate::default(), CallPurpose::OpenShell)],
        Action::SplitRight => split(model, SplitDirection::Horizontal),
        Action::SplitDown => split(model, SplitDirection::Vertical),
        Action::ClosePane => nav::ask_close(model),
        Action::MarkUnseen => nav::mark_unseen(model),
        Action::CopyPath => nav::copy_path(model),
        Action::NextTab => nav::step_tab(model, 1),
        Action::PreviousTab => nav::step_tab(model, -1),
        Action::LastTab => nav::last_tab(model),
        Action::Tab0
        | Action::Tab1
        | Action::Tab2
        | Action::Tab3
        | Action::Tab4
        | Action::Tab5
        | Action::Tab6
        | Action::Tab7
        | Action::Tab8
        | Action::Tab9 => nav::tab_number(model, action.tab_number().unwrap_or(0)),
        Action::SendPrefix => send_prefix(model),
        Action::SendShiftEnter => send_shift_enter(model),
        Action::Redraw => vec![Cmd::Redraw],
        Action::Detach => vec![Cmd::Quit(Left::Detached)],
        // Only meant inside the screens, which take them before this.
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::Top
        | Action::Bottom
        | Action::Open
        | Action::Edit
        | Action::GoToPane
        | Action::PutAway
        | Action::Confirm
        | Action::Close => Vec::new(),
    }
}

fn send_prefix(model: &mut Model) -> Vec<Cmd> {
    let prefix = model.keys.prefix;
    for_pane(model, KeyEvent::press(prefix.key, prefix.mods))
}

/// Pastes what was copied last into the focused program.
fn paste_copied(model: &mut Model) -> Vec<Cmd> {
    match model.copied.clone() {
        Some(text) => paste(model, text),
        None => {
            let keys = model.hint(Action::Scroll);
            model.toast(format!("Nothing was copied yet. {keys} selects and copies."), false, 4);
            Vec::new()
        }
    }
}

/// A copy went its way.
fn copied(model: &mut Model, outcome: Outcome) -> Vec<Cmd> {
    let seconds = if outcome.is_error { 10 } else { 4 };
    // The newest copy is the one that counts.
    let before = model.copy_note.replace(outcome.note.clone());
    model.toasts.retain(|toast| Some(&toast.text) != before.as_ref());
    model.toast(outcome.note, outcome.is_error, seconds);
    outcome.bytes.map(Cmd::Host).into_iter().collect()
}

/// Opens a text that was written to a file in the person's editor, in a pane of its own.
fn edit(model: &mut Model, beside: &TerminalId, path: Result<String, String>) -> Vec<Cmd> {
    let path = match path {
        Ok(path) => path,
        Err(why) => {
            model.toast(format!("The history could not be written for the editor: {why}."), true, 8);
            return Vec::new();
        }
    };
    let command = super::scratch::command(model.options.editor.as_deref(), &path);
    let row = model.mirror.terminals.get(beside);
    let worktree = row.and_then(|row| row.worktree_id.clone()).map(|id| format!("id:{id}"));
    let title = row.map(|row| format!("history of {}", super::facts::pane_title(&model.mirror, row)));
    let create = TerminalCreate { worktree, title, command: Some(command), ..TerminalCreate::default() };
    vec![call(model, &create, CallPurpose::OpenEditor)]
}

/// For hosts that cannot say Shift+Enter (`terminal.md` 5.8).
fn send_shift_enter(model: &mut Model) -> Vec<Cmd> {
    let mods = Mods { is_shift: true, ..Mods::NONE };
    to_program(model, InputEvent::Key(KeyEvent::press(Key::Enter, mods)))
}

/// Asks for a new shell beside the focused pane, or for one alone where there is none.
fn split(model: &mut Model, direction: SplitDirection) -> Vec<Cmd> {
    let Some(focus) = model.focus.clone() else {
        return vec![call(model, &TerminalCreate::default(), CallPurpose::OpenShell)];
    };
    let terminal = Some(focus.to_string());
    let split =
        TerminalSplit { terminal, direction: Some(direction.to_string()), ..TerminalSplit::default() };
    vec![call(model, &split, CallPurpose::OpenShell)]
}

/// A call of the person at this screen; its answer comes as a response frame.
pub(super) fn call<C: Call>(model: &mut Model, call: &C, purpose: CallPurpose) -> Cmd {
    model.n_calls += 1;
    let id = format!("{}-{}", model.options.session, model.n_calls);
    model.calls.insert(id.clone(), purpose);
    let cwd = model.options.cwd.clone();
    Cmd::Send(ClientFrame::Request(Request {
        request_id: Some(id.clone()),
        id,
        method: C::METHOD.to_owned(),
        params: serde_json::to_value(call).unwrap_or_default(),
        origin: Origin { cwd: Some(cwd), is_fleet_unwanted: true, ..Origin::default() },
        contract: CONTRACT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}
