//! The mouse: clicks focus and open, the wheel scrolls or goes to the program, a drag selects
//! inside one pane and copies (reports MC-01, MC-04 to MC-06).

use super::{copy, modal, nav, sidebar};
use crate::base::id::TerminalId;
use crate::base::input::{InputEvent, MouseButton, MouseEvent, MouseKind};
use crate::proto::screen::ClientFrame;
use crate::pty::modes::MouseMode;
use crate::tui::action::Action;
use crate::tui::copy::state::Input;
use crate::tui::model::{Model, Press};
use crate::tui::msg::Cmd;
use ratatui::layout::{Position, Rect};

/// Rows per turn of the wheel.
const WHEEL_ROWS: i64 = 3;
/// The longest time between two clicks of a double click.
const DOUBLE_CLICK_MS: u64 = 400;

/// Takes a mouse event in host coordinates.
pub fn event(model: &mut Model, event: MouseEvent) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    if !matches!(event.kind, MouseKind::Moved) {
        super::claim(model, &mut cmds);
    }
    let at = Position::new(event.col, event.row);
    let areas = model.areas();
    if model.modal.is_some() {
        modal::mouse(model, event.kind);
        return cmds;
    }
    if let Some(press) = model.press.clone().filter(|press| press.is_held)
        && let Some(done) = held(model, &press, event)
    {
        cmds.extend(done);
        return cmds;
    }
    if areas.sidebar.is_some_and(|area| area.contains(at)) {
        cmds.extend(sidebar::mouse(model, event));
        return cmds;
    }
    if areas.status.contains(at) {
        if event.kind == MouseKind::Down(MouseButton::Left) {
            let tab = crate::tui::screen::status::tab_at(model, event.col);
            cmds.extend(tab.map(|tab| nav::go_to_tab(model, tab)).unwrap_or_default());
        }
        return cmds;
    }
    let tile = model.tiles().into_iter().find(|(_, tile)| tile.contains(at));
    if let Some((terminal, tile)) = tile {
        cmds.extend(in_pane(model, &terminal, tile, event));
    }
    cmds
}

fn in_pane(model: &mut Model, terminal: &TerminalId, tile: Rect, event: MouseEvent) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    let is_press = matches!(event.kind, MouseKind::Down(_));
    if is_press {
        model.sidebar_row = None;
        cmds.extend(nav::focus(model, terminal));
    }
    let inside = model.inside(tile);
    if !inside.contains(Position::new(event.col, event.row)) {
        return cmds;
    }
    let (row, col) = (event.row - inside.y, event.col - inside.x);
    let Some(pane) = model.panes.get(terminal) else { return cmds };
    let meta = pane.image.meta();
    let is_wheel = matches!(event.kind, MouseKind::WheelUp | MouseKind::WheelDown);
    let is_program_scroll = is_wheel && meta.is_alt_screen && meta.is_alternate_scroll;
    let is_programs = pane.copy.is_none()
        && !event.mods.is_shift
        && (wants(meta.mouse, event.kind) || is_program_scroll)
        && model.mirror.terminals.get(terminal).is_some_and(|row| row.end.is_none());
    if is_programs {
        hint(model, event.kind);
        let event = InputEvent::Mouse(MouseEvent { row, col, ..event });
        cmds.push(Cmd::Send(ClientFrame::Input { terminal: terminal.clone(), event }));
        return cmds;
    }
    match event.kind {
        MouseKind::WheelUp => {
            cmds.extend(copy::enter(model, terminal, true, [Input::Wheel(WHEEL_ROWS)]));
        }
        MouseKind::WheelDown if model.panes.get(terminal).is_some_and(|pane| pane.copy.is_some()) => {
            cmds.extend(copy::enter(model, terminal, false, [Input::Wheel(-WHEEL_ROWS)]));
        }
        MouseKind::Down(MouseButton::Left) => cmds.extend(press(model, terminal, (row, col))),
        MouseKind::WheelDown
        | MouseKind::Down(_)
        | MouseKind::Up(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => {}
    }
    cmds
}

/// Says once how to select where a program has the mouse.
fn hint(model: &mut Model, kind: MouseKind) {
    if !model.has_hinted_mouse && kind == MouseKind::Drag(MouseButton::Left) {
        model.has_hinted_mouse = true;
        let (keys, clean) = (model.hint(Action::Scroll), model.hint(Action::CleanView));
        let text = format!(
            "The program has the mouse. Shift selects in your terminal; {keys} selects here, {clean} frees the mouse."
        );
        model.toast(text, false, 8);
    }
}

fn wants(mode: MouseMode, kind: MouseKind) -> bool {
    let least = match kind {
        MouseKind::Down(_)
        | MouseKind::WheelUp
        | MouseKind::WheelDown
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => 1,
        MouseKind::Up(_) => 2,
        MouseKind::Drag(_) => 3,
        MouseKind::Moved => 4,
    };
    let has = match mode {
        MouseMode::Off => 0,
        MouseMode::Press => 1,
        MouseMode::PressRelease => 2,
        MouseMode::ButtonMotion => 3,
        MouseMode::AnyMotion => 4,
    };
    has >= least
}

/// A button that went down in a pane: what follows belongs to that pane until it comes up.
fn held(model: &mut Model, press: &Press, event: MouseEvent) -> Option<Vec<Cmd>> {
    let terminal = press.terminal.clone();
    let tile = model.tiles().into_iter().find(|(id, _)| *id == terminal);
    let Some(inside) = tile.map(|(_, tile)| model.inside(tile)).filter(|inside| !inside.is_empty()) else {
        model.press = None;
        return Some(Vec::new());
    };
    let row = event.row.clamp(inside.top(), inside.bottom() - 1) - inside.top();
    let col = event.col.clamp(inside.left(), inside.right() - 1) - inside.left();
    let is_copying = model.panes.get(&terminal).is_some_and(|pane| pane.copy.is_some());
    match event.kind {
        MouseKind::Drag(MouseButton::Left) => {
            // The rows at the edges scroll: a full screen has nothing beyond them.
            let edge = i64::from(row + 1 == inside.height) - i64::from(row == 0);
            let edge = if (row, col) == press.at { 0 } else { edge };
            let drag = Input::Drag { row, col, edge };
            if let Some(press) = &mut model.press {
                press.edge = Some(((row, col), edge)).filter(|_| edge != 0);
            }
            if is_copying {
                return Some(copy::enter(model, &terminal, false, [drag]));
            }
            if (row, col) == press.at {
                return Some(Vec::new());
            }
            let (row, col) = press.at;
            let down = Input::Press { row, col, n_clicks: press.n_clicks };
            Some(copy::enter(model, &terminal, true, [down, drag]))
        }
        MouseKind::Up(MouseButton::Left) => {
            if let Some(press) = &mut model.press {
                (press.is_held, press.edge) = (false, None);
            }
            is_copying.then(|| copy::enter(model, &terminal, false, [Input::Release])).or(Some(Vec::new()))
        }
        // Another button, or the wheel: as always.
        MouseKind::Down(_)
        | MouseKind::Up(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelUp
        | MouseKind::WheelDown
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => None,
    }
}

/// A drag that rests at an edge scrolls on.
pub fn tick(model: &mut Model) -> Vec<Cmd> {
    let resting = model.press.as_ref().and_then(|press| Some((press.terminal.clone(), press.edge?)));
    match resting {
        Some((terminal, ((row, col), edge))) => {
            copy::enter(model, &terminal, false, [Input::Drag { row, col, edge }])
        }
        None => Vec::new(),
    }
}

/// The left button goes down in a pane whose mouse is ours: the second time in a row selects a word,
/// the third a line.
fn press(model: &mut Model, terminal: &TerminalId, at: (u16, u16)) -> Vec<Cmd> {
    let now = model.now;
    let last = model.press.as_ref().filter(|last| {
        last.terminal == *terminal && last.at == at && now.since_ms(last.time) <= DOUBLE_CLICK_MS
    });
    let n_clicks = last.map_or(1, |last| last.n_clicks % 3 + 1);
    model.press =
        Some(Press { terminal: terminal.clone(), at, n_clicks, time: now, is_held: true, edge: None });
    let pane = model.panes.get_mut(terminal);
    let session = pane.and_then(|pane| pane.copy.as_mut());
    let is_copying = session.is_some_and(|session| {
        session.leaves_at = None;
        true
    });
    if n_clicks == 1 && !is_copying {
        return Vec::new();
    }
    let (row, col) = at;
    copy::enter(model, terminal, true, [Input::Press { row, col, n_clicks }])
}
