//! One message in, the model changed, commands out. Nothing else changes the model.

mod inbox;
mod modal;
mod mouse;
mod nav;
mod scroll;
mod server;
mod sidebar;
#[cfg(test)]
mod tests;

use super::action::Action;
use super::keys::Scope;
use super::model::{CallPurpose, Modal, Model};
use super::msg::{Cmd, Msg};
use crate::base::id::TerminalId;
use crate::base::input::{InputEvent, Key, KeyEvent, KeyPhase, Mods};
use crate::model::terminal::{SplitDirection, TerminalLife};
use crate::proto::Call;
use crate::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use crate::proto::screen::{ClientFrame, View, ViewPane};
use crate::proto::terminal::{TerminalCreate, TerminalSplit};

/// Keys and pastes that wait at most for a program that is being started.
const MAX_EARLY_INPUT: usize = 1_000;

/// Takes one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    let mut cmds = match msg {
        Msg::Key(event) => key(model, event),
        Msg::Paste(text) => paste(model, text),
        Msg::Mouse(event) => mouse::event(model, event),
        Msg::HostFocus(is_focused) => host_focus(model, is_focused),
        Msg::Resize { n_cols, n_rows } => resize(model, n_cols, n_rows),
        // The facts went with the attach; a later one takes newer ones along.
        Msg::Host(_) => Vec::new(),
        Msg::Server(frame) => server::frame(model, frame),
        Msg::Screen { terminal, patch } => server::screen(model, &terminal, &patch),
        Msg::Lost { reason } => server::lost(model, reason),
        Msg::Tick(now) => tick(model, now),
    };
    cmds.extend(nav::settle_focus(model));
    tell_view(model, &mut cmds, false);
    if !model.early_input.is_empty() {
        cmds.extend(send_early_input(model));
    }
    cmds
}

fn tick(model: &mut Model, now: crate::base::clock::Timestamp) -> Vec<Cmd> {
    if model.now.0 == 0 {
        // What the settings got wrong is said from the first moment on, for long enough to read it.
        for toast in &mut model.toasts {
            toast.until = now.plus_ms(20_000);
        }
    }
    model.now = now;
    model.toasts.retain(|toast| toast.until > now);
    Vec::new()
}

fn resize(model: &mut Model, n_cols: u16, n_rows: u16) -> Vec<Cmd> {
    (model.n_cols, model.n_rows) = (n_cols.min(1_000), n_rows.min(1_000));
    model.selection = None;
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
    let mut is_asked = false;
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
            let (scroll, is_new) = scroll::to_ask(model, &terminal);
            is_asked |= is_new;
            ViewPane { terminal, size, scroll }
        })
        .collect();
    let view = View { panes, focus: model.focus.clone(), is_active: model.is_active };
    if view != model.told || is_claim || is_asked {
        model.told = view.clone();
        cmds.push(Cmd::Send(ClientFrame::View(view)));
    }
}

/// What a person does here makes this client the one that sizes follow, where another one has
/// them now.
fn claim(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let is_ours = model.told.panes.iter().all(|pane| {
        let image = model.panes.get(&pane.terminal).map(|known| &known.image);
        image.is_none_or(|image| image.rows().is_empty() || image.size() == pane.size)
    });
    if !is_ours || !model.is_active {
        model.is_active = true;
        tell_view(model, cmds, true);
    }
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
    model.selection = None;
    cmds.extend(if model.modal.is_some() {
        modal::key(model, event)
    } else if model.sidebar_row.is_some() {
        sidebar::key(model, event)
    } else if scroll::is_on(model) {
        scroll::key(model, event)
    } else {
        to_program(model, InputEvent::Key(event))
    });
    cmds
}

fn paste(model: &mut Model, text: String) -> Vec<Cmd> {
    if model.modal.is_some() {
        modal::paste(model, &text);
        return Vec::new();
    }
    if model.sidebar_row.is_some() {
        return Vec::new();
    }
    let mut cmds = Vec::new();
    claim(model, &mut cmds);
    scroll::leave(model);
    cmds.extend(to_program(model, InputEvent::Paste(text)));
    cmds
}

/// Input for the focused program. An ended one gets nothing; for one that is being started it waits
/// in order, because the server has nobody to type it to yet.
fn to_program(model: &mut Model, event: InputEvent) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    let Some(row) = model.mirror.terminals.get(&terminal) else { return Vec::new() };
    match row.life {
        TerminalLife::Running => vec![Cmd::Send(ClientFrame::Input { terminal, event })],
        TerminalLife::Starting => {
            if model.early_input.len() < MAX_EARLY_INPUT {
                model.early_input.push((terminal, event));
            }
            Vec::new()
        }
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => Vec::new(),
    }
}

/// Sends what was typed before a program was there, once it is; drops what has nobody any more.
fn send_early_input(model: &mut Model) -> Vec<Cmd> {
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
        Action::Scroll => scroll::begin(model),
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
        Action::Detach => vec![Cmd::Quit],
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
        | Action::Confirm
        | Action::Close => Vec::new(),
    }
}

fn send_prefix(model: &mut Model) -> Vec<Cmd> {
    let prefix = model.keys.prefix;
    let event = KeyEvent { key: prefix.key, mods: prefix.mods, phase: KeyPhase::Press };
    to_program(model, InputEvent::Key(event))
}

/// For hosts that cannot say Shift+Enter (`terminal.md` 5.8).
fn send_shift_enter(model: &mut Model) -> Vec<Cmd> {
    let mods = Mods { is_shift: true, ..Mods::NONE };
    to_program(model, InputEvent::Key(KeyEvent { key: Key::Enter, mods, phase: KeyPhase::Press }))
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
        origin: Origin { cwd: Some(cwd), ..Origin::default() },
        contract: CONTRACT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}
