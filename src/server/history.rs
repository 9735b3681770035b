//! What clients ask about a terminal's history: lines and places of a text. Each answer is a bounded
//! piece of work under the terminal's lock, so that neither its output nor its screen waits.

use super::terminals::Terminals;
use crate::proto::screen::{LinesWish, SearchWish, ServerFrame};
use base64::Engine as _;

/// The most lines of one answer.
const MAX_LINES: usize = 2_000;
/// The most bytes of one answer, nearly.
const MAX_BYTES: usize = 1 << 20;

/// Lines of history.
pub fn lines(terminals: &Terminals, wish: LinesWish) -> ServerFrame {
    let limit = (wish.n_lines as usize).clamp(1, MAX_LINES);
    let page = terminals.with_term(&wish.terminal, |term| term.line_page(wish.from, limit, MAX_BYTES));
    let page = page.map(|page| base64::engine::general_purpose::STANDARD.encode(page.encode()));
    ServerFrame::Lines { terminal: wish.terminal, id: wish.id, page }
}

/// Places of a text, in as many lines as one look takes.
pub fn search(terminals: &Terminals, wish: SearchWish) -> ServerFrame {
    let found = terminals.with_term(&wish.terminal, |term| term.search(&wish.text, wish.until));
    let found = found.unwrap_or_default();
    ServerFrame::Found {
        terminal: wish.terminal,
        id: wish.id,
        matches: found.matches.iter().map(|found| (found.line, found.col, found.n_cols)).collect(),
        from: found.from,
        oldest: found.oldest,
    }
}
