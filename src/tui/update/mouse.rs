//! The mouse: clicks focus and open, the wheel scrolls or goes to the program, a drag selects
//! inside one pane and copies through the host (reports MC-01, MC-04 to MC-06).

use super::{modal, nav, scroll, sidebar};
use crate::base::id::TerminalId;
use crate::base::input::{InputEvent, MouseButton, MouseEvent, MouseKind};
use crate::proto::screen::ClientFrame;
use crate::pty::modes::MouseMode;
use crate::tui::model::{Model, Selection};
use crate::tui::msg::Cmd;
use ratatui::layout::{Position, Rect};

/// Rows per turn of the wheel.
const WHEEL_ROWS: i64 = 3;

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
    if let Some(selection) = model.selection.clone() {
        cmds.extend(select(model, selection, event));
        if model.selection.is_some() || !cmds.is_empty() {
            return cmds;
        }
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
    let is_programs = pane.scroll.is_none()
        && !event.mods.is_shift
        && (wants(meta.mouse, event.kind) || is_program_scroll)
        && model.mirror.terminals.get(terminal).is_some_and(|row| row.end.is_none());
    if is_programs {
        let event = InputEvent::Mouse(MouseEvent { row, col, ..event });
        cmds.push(Cmd::Send(ClientFrame::Input { terminal: terminal.clone(), event }));
        return cmds;
    }
    match event.kind {
        MouseKind::WheelUp => scroll::by(model, terminal, WHEEL_ROWS),
        MouseKind::WheelDown => scroll::by(model, terminal, -WHEEL_ROWS),
        MouseKind::Down(MouseButton::Left) => {
            let (terminal, at) = (terminal.clone(), (row, col));
            model.selection = Some(Selection { terminal, from: at, to: at, is_drawn: false });
        }
        MouseKind::Down(_)
        | MouseKind::Up(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => {}
    }
    cmds
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

/// A drag that began in a pane stays in it; its end copies.
fn select(model: &mut Model, mut selection: Selection, event: MouseEvent) -> Vec<Cmd> {
    let tile = model.tiles().into_iter().find(|(id, _)| *id == selection.terminal);
    let Some(inside) = tile.map(|(_, tile)| model.inside(tile)).filter(|inside| !inside.is_empty()) else {
        model.selection = None;
        return Vec::new();
    };
    let row = event.row.clamp(inside.top(), inside.bottom() - 1) - inside.top();
    let col = event.col.clamp(inside.left(), inside.right() - 1) - inside.left();
    match event.kind {
        MouseKind::Drag(MouseButton::Left) => {
            selection.to = (row, col);
            selection.is_drawn |= selection.from != selection.to;
            model.selection = Some(selection);
            Vec::new()
        }
        MouseKind::Up(_) if selection.is_drawn => {
            let text = selected_text(model, &selection);
            model.selection = None;
            if text.is_empty() {
                return Vec::new();
            }
            let n_chars = text.chars().count();
            model.toast(format!("Asked your terminal to copy {n_chars} characters (OSC 52)."), false, 3);
            vec![Cmd::Clipboard(text)]
        }
        MouseKind::Down(_) | MouseKind::Up(_) => {
            model.selection = None;
            Vec::new()
        }
        MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelUp
        | MouseKind::WheelDown
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => Vec::new(),
    }
}

fn selected_text(model: &Model, selection: &Selection) -> String {
    let Some(pane) = model.panes.get(&selection.terminal) else { return String::new() };
    let rows = pane.scroll.as_ref().map_or(pane.image.rows(), |scroll| &scroll.rows);
    let (from, to) = (selection.from.min(selection.to), selection.from.max(selection.to));
    let mut text = String::new();
    for number in from.0..=to.0 {
        let Some(row) = rows.get(usize::from(number)) else { break };
        let begin = if number == from.0 { usize::from(from.1) } else { 0 };
        let end = if number == to.0 { usize::from(to.1) + 1 } else { usize::MAX };
        let piece = row.text_between(begin, end);
        text.push_str(if row.is_wrapped { &piece } else { piece.trim_end() });
        if number != to.0 && !row.is_wrapped {
            text.push('\n');
        }
    }
    text
}
