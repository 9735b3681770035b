//! Copy mode of the panes: hands keys and the mouse to it, and does what comes of it.

use super::sidebar;
use crate::base::id::TerminalId;
use crate::base::input::KeyEvent;
use crate::proto::screen::{ClientFrame, LinesWish, SearchWish};
use crate::pty::page::LinePage;
use crate::pty::view::Match;
use crate::tui::clipboard::Order as ClipboardOrder;
use crate::tui::copy::order::Order;
use crate::tui::copy::state::{Input, Wish};
use crate::tui::copy::{Question, Session, Start, Turn};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use base64::Engine as _;

/// How long a selection made with the mouse is still shown once it is copied.
const LINGER_MS: u64 = 400;

/// Copy mode in the focused pane, with a first order where one is given.
pub fn begin(model: &mut Model, order: Option<Order>) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    if !model.has_picture(&terminal) {
        let text = format!("No picture is left of this pane. orca terminal read --terminal {terminal}");
        model.toast(text, false, 8);
        return Vec::new();
    }
    let exits_at_bottom = order == Some(Order::PageUp);
    enter(model, &terminal, exits_at_bottom, order.map(Input::Order))
}

/// Hands something to a pane's copy mode, which begins with it where it is not on.
pub fn enter(
    model: &mut Model,
    terminal: &TerminalId,
    exits_at_bottom: bool,
    inputs: impl IntoIterator<Item = Input>,
) -> Vec<Cmd> {
    sidebar::close_overlay(model);
    let tile = model.tiles().into_iter().find(|(id, _)| id == terminal);
    let Some(inside) = tile.map(|(_, tile)| model.inside(tile)) else { return Vec::new() };
    let keys = model.options.config.screen.mode_keys;
    let inputs: Vec<Input> = inputs.into_iter().collect();
    let is_of_mouse = matches!(inputs.first(), Some(Input::Press { .. }));
    let start = Start { n_rows: inside.height, n_cols: inside.width, keys, exits_at_bottom, is_of_mouse };
    let id = model.last_question + 1;
    let Some(pane) = model.panes.get_mut(terminal) else { return Vec::new() };
    if let Some(session) = &mut pane.copy {
        let turns: Vec<Turn> = inputs.into_iter().map(|input| session.take(input)).collect();
        return turns.into_iter().flat_map(|turn| settle(model, terminal, turn)).collect();
    }
    let (session, question) = Session::new(start, inputs, id);
    pane.copy = Some(session);
    settle(model, terminal, Turn { wishes: Vec::new(), question: Some((id, question)) })
}

/// Back to the live screen of the focused pane.
pub fn leave(model: &mut Model) {
    if let Some(pane) = model.focus.as_ref().and_then(|id| model.panes.get_mut(id)) {
        pane.copy = None;
    }
}

/// Back to the live screen everywhere: a new server counts lines anew.
pub fn leave_all(model: &mut Model) {
    model.panes.values_mut().for_each(|pane| pane.copy = None);
}

/// A key for the focused pane in copy mode. False: the mode was ending, the key is the program's.
pub fn key(model: &mut Model, event: KeyEvent) -> Option<Vec<Cmd>> {
    let terminal = model.focus.clone()?;
    let session = model.panes.get_mut(&terminal)?.copy.as_mut()?;
    if session.leaves_at.is_some() {
        leave(model);
        return None;
    }
    Some(enter(model, &terminal, false, [Input::Key(event)]))
}

/// A paste while copy mode is on. False: it is for the program.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let pane = model.focus.as_ref().and_then(|id| model.panes.get_mut(id));
    pane.and_then(|pane| pane.copy.as_mut()).is_some_and(|session| session.paste(text))
}

/// Lines that were asked for.
pub fn lines(model: &mut Model, terminal: &TerminalId, id: u64, page: Option<&str>) -> Vec<Cmd> {
    let Some(session) = waiting(model, terminal, id) else { return Vec::new() };
    let bytes = page.and_then(|page| base64::engine::general_purpose::STANDARD.decode(page).ok());
    let turn = session.lines_came(bytes.and_then(|bytes| LinePage::decode(&bytes).ok()));
    settle(model, terminal, turn)
}

/// A part of history was searched.
pub fn found(
    model: &mut Model,
    terminal: &TerminalId,
    id: u64,
    matches: &[(u64, usize, usize)],
    (from, oldest): (u64, u64),
) -> Vec<Cmd> {
    let Some(session) = waiting(model, terminal, id) else { return Vec::new() };
    let matches = matches.iter().map(|(line, col, n_cols)| Match { line: *line, col: *col, n_cols: *n_cols });
    let turn = session.found_came(matches.collect(), from, oldest);
    settle(model, terminal, turn)
}

fn waiting<'m>(model: &'m mut Model, terminal: &TerminalId, id: u64) -> Option<&'m mut Session> {
    let session = model.panes.get_mut(terminal)?.copy.as_mut()?;
    session.waits_for(id).then_some(session)
}

/// What happens by time and place alone: views follow their tiles, a drag at an edge scrolls on, a
/// mode that lingers ends.
pub fn keep(model: &mut Model) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    for (terminal, tile) in model.tiles() {
        let inside = model.inside(tile);
        let now = model.now;
        let Some(pane) = model.panes.get_mut(&terminal) else { continue };
        let Some(session) = &mut pane.copy else { continue };
        if session.leaves_at.is_some_and(|at| at <= now) {
            pane.copy = None;
            continue;
        }
        let turn = session.resize(inside.height, inside.width);
        cmds.extend(settle(model, &terminal, turn));
    }
    cmds
}

fn settle(model: &mut Model, terminal: &TerminalId, turn: Turn) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    if let Some((id, question)) = turn.question {
        model.last_question = model.last_question.max(id);
        let terminal = terminal.clone();
        cmds.push(Cmd::Send(match question {
            Question::Lines { from, n_lines } => {
                ClientFrame::Lines(LinesWish { terminal, id, from, n_lines })
            }
            Question::Search { text, until } => ClientFrame::Search(SearchWish { terminal, id, text, until }),
        }));
    }
    for wish in turn.wishes {
        let now = model.now;
        match wish {
            Wish::Copy { text, is_mouse } => {
                model.copied = Some(text.clone());
                cmds.push(Cmd::Clipboard(ClipboardOrder { text, who: None }));
                let session = model.panes.get_mut(terminal).and_then(|pane| pane.copy.as_mut());
                if let Some(session) = session.filter(|session| is_mouse && session.is_of_mouse()) {
                    session.leaves_at = Some(now.plus_ms(LINGER_MS));
                }
            }
            Wish::Edit { text } => cmds.push(Cmd::Write { terminal: terminal.clone(), text }),
            Wish::Say { text } => model.toast(text, false, 4),
            Wish::Leave => {
                if let Some(pane) = model.panes.get_mut(terminal) {
                    pane.copy = None;
                }
            }
        }
    }
    cmds
}
