//! What the mouse does.

use super::{State, Wish};
use crate::tui::copy::book::{Book, Missing, Pos};
use crate::tui::copy::select::{Selection, Unit};

impl State {
    pub(super) fn wheel(&mut self, book: &Book, n_rows: i64) -> Result<Vec<Wish>, Missing> {
        let count = usize::try_from(n_rows.unsigned_abs()).unwrap_or(1);
        if n_rows < 0 {
            return self.scroll_down(book, count, false);
        }
        self.scroll(book, count, false)?;
        Ok(Vec::new())
    }

    pub(super) fn press(&mut self, book: &Book, at: (u16, u16), n_clicks: u8) -> Result<(), Missing> {
        let at = self.place_at(book, at)?;
        self.cursor = at;
        self.pressed = Some(at);
        let unit = match n_clicks {
            0 | 1 => None,
            2 => Some(Unit::Words),
            _ => Some(Unit::Lines),
        };
        self.selection = unit.map(|unit| Selection { anchor: at, unit, is_end_open: false });
        self.keep_col(book)
    }

    pub(super) fn drag(&mut self, book: &Book, at: (u16, u16), edge: i64) -> Result<(), Missing> {
        let Some(anchor) = self.pressed else { return Ok(()) };
        let n_rows = usize::try_from(edge.unsigned_abs()).unwrap_or(1);
        if n_rows > 0 {
            self.scroll(book, n_rows, edge > 0)?;
        }
        self.cursor = self.place_at(book, at)?;
        self.selection.get_or_insert(Selection { anchor, unit: Unit::Cells, is_end_open: false });
        self.keep_col(book)
    }

    pub(super) fn release(&mut self, book: &Book) -> Result<Vec<Wish>, Missing> {
        if self.pressed.take().is_none() {
            return Ok(Vec::new());
        }
        let extent = self.extent(book)?;
        let text = extent.map(|extent| extent.text(book, self.n_cols)).transpose()?.unwrap_or_default();
        let is_end = self.top >= self.start_of(book, self.lowest_top(book)?)?;
        Ok(match (text.is_empty(), self.exits_at_bottom && is_end) {
            (false, _) => vec![Wish::Copy { text, is_mouse: true }],
            // Nothing came of a click that began the mode.
            (true, true) => vec![Wish::Leave],
            (true, false) => Vec::new(),
        })
    }

    /// The place under a row and column of the view.
    pub(super) fn place_at(&self, book: &Book, (row, col): (u16, u16)) -> Result<Pos, Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let at = book.down(top, usize::from(row), self.n_cols)?;
        let cols = book.cols_of(at, self.n_cols)?;
        let line = book.line(at.line)?;
        let most = if cols.end >= line.n_cols { cols.end } else { cols.end.saturating_sub(1) };
        Ok(Pos { line: at.line, col: line.snap((cols.start + usize::from(col)).min(most)) })
    }
}
