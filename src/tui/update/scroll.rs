//! Scrolling back. The view is a picture of history that stands still while output arrives.

use crate::base::id::TerminalId;
use crate::base::input::KeyEvent;
use crate::pty::snapshot::{PaneImage, Patch};
use crate::tui::action::Action;
use crate::tui::keys::Scope;
use crate::tui::model::{Model, Scrolled};
use crate::tui::msg::Cmd;
use base64::Engine as _;

/// Whether the focused pane is scrolled back.
pub fn is_on(model: &Model) -> bool {
    let pane = model.focus.as_ref().and_then(|id| model.panes.get(id));
    pane.is_some_and(|pane| pane.scroll.is_some())
}

/// Begins to scroll the focused pane.
pub fn begin(model: &mut Model) -> Vec<Cmd> {
    if let Some(terminal) = model.focus.clone() {
        let page = page(model, &terminal);
        by(model, &terminal, page);
    }
    Vec::new()
}

/// Back to the live screen of the focused pane.
pub fn leave(model: &mut Model) {
    if let Some(pane) = model.focus.as_ref().and_then(|id| model.panes.get_mut(id)) {
        pane.scroll = None;
    }
}

fn page(model: &Model, terminal: &TerminalId) -> i64 {
    let pane = model.told.panes.iter().find(|pane| pane.terminal == *terminal);
    pane.map_or(1, |pane| i64::from(pane.size.n_rows()) - 1).max(1)
}

/// Scrolls a pane by `n_rows`, upwards if positive.
pub fn by(model: &mut Model, terminal: &TerminalId, n_rows: i64) {
    let Some(pane) = model.panes.get_mut(terminal) else { return };
    let line_at = pane.image.meta().screen_line;
    match &mut pane.scroll {
        Some(scroll) => scroll.pending += n_rows,
        None if n_rows > 0 => {
            pane.scroll = Some(Scrolled { pending: n_rows, line_at, ..Scrolled::default() });
        }
        None => return,
    }
    let is_bottom =
        pane.scroll.as_ref().is_some_and(|scroll| i64::from(scroll.rows_back) + scroll.pending <= 0);
    if is_bottom {
        pane.scroll = None;
    }
}

/// The rows above the live screen to ask the server for: what is shown plus what the person moved
/// since, while no question is under way. Also says whether this is a new question.
pub fn to_ask(model: &mut Model, terminal: &TerminalId) -> (u32, bool) {
    let Some(pane) = model.panes.get_mut(terminal) else { return (0, false) };
    let line_now = pane.image.meta().screen_line;
    let Some(scroll) = pane.scroll.as_mut() else { return (0, false) };
    let is_new = !scroll.is_asked && scroll.pending != 0;
    if is_new {
        let wanted = i64::from(scroll.rows_back_now(line_now)) + std::mem::take(&mut scroll.pending);
        let wanted = u32::try_from(wanted.max(1)).unwrap_or(u32::MAX);
        scroll.is_asked = true;
        (scroll.rows_back, scroll.line_at) = (wanted, line_now);
    }
    (scroll.rows_back, is_new)
}

/// Takes the server's picture of history. One that nobody asked for is an answer to a view that was
/// repeated for another reason; the picture stands still.
pub fn arrived(model: &mut Model, terminal: &TerminalId, rows_back: u32, n_history: u32, patch: &str) {
    let decoded = base64::engine::general_purpose::STANDARD.decode(patch).ok();
    let Some(patch) = decoded.and_then(|bytes| Patch::decode(&bytes).ok()) else { return };
    let Some(pane) = model.panes.get_mut(terminal) else { return };
    let line_at = pane.image.meta().screen_line;
    let Some(scroll) = pane.scroll.as_mut() else { return };
    if !scroll.is_asked {
        return;
    }
    let mut image = PaneImage::new();
    if image.apply(&patch).is_err() {
        return;
    }
    scroll.is_asked = false;
    scroll.rows = image.rows().to_vec();
    scroll.rows_back = rows_back;
    scroll.n_history = n_history;
    scroll.line_at = line_at;
    if rows_back == 0 {
        pane.scroll = None;
    }
}

/// A key while the focused pane is scrolled back. One that means nothing here changes nothing.
pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    let Some(terminal) = model.focus.clone() else { return Vec::new() };
    let page = page(model, &terminal);
    match model.keys.action(Scope::Scroll, &event) {
        Some(Action::Up) => by(model, &terminal, 1),
        Some(Action::Down) => by(model, &terminal, -1),
        Some(Action::PageUp) => by(model, &terminal, page),
        Some(Action::PageDown) => by(model, &terminal, -page),
        Some(Action::Top) => by(model, &terminal, i64::from(u16::MAX) * 16),
        Some(Action::Bottom | Action::Close) => leave(model),
        _ => {}
    }
    Vec::new()
}
