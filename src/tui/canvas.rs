//! What one frame shows: ratatui's cells, and beside each of them what those cells cannot say.
//!
//! ratatui's cell has no underline kinds, no overline and no links, and it measures characters
//! itself; widths inside panes were decided by the server (`base::grid`). So a [`Canvas`] keeps an
//! [`Extra`] per cell, and [`super::paint`] writes both.

use crate::base::grid::{CursorShape, Link, Underline};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

/// What ratatui's cell cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extra {
    /// Columns of the cell: 1 or 2; 0 means that nobody decided yet and the painter measures.
    pub width: u8,
    pub underline: Underline,
    pub is_overlined: bool,
    /// The number of a link in [`Canvas::link`]; 0 is none.
    pub link: u16,
}

/// Where the host's cursor goes after the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCursor {
    pub row: u16,
    pub col: u16,
    pub shape: CursorShape,
}

/// One frame.
#[derive(Debug, Clone)]
pub struct Canvas {
    pub buffer: Buffer,
    extras: Vec<Extra>,
    links: Vec<Link>,
    pub cursor: Option<HostCursor>,
}

impl Canvas {
    /// A blank frame.
    pub fn new(n_cols: u16, n_rows: u16) -> Self {
        let area = Rect::new(0, 0, n_cols, n_rows);
        let n_cells = usize::from(n_cols) * usize::from(n_rows);
        Self {
            buffer: Buffer::empty(area),
            extras: vec![Extra::default(); n_cells],
            links: Vec::new(),
            cursor: None,
        }
    }

    /// Makes it a blank frame again; its memory stays.
    pub fn reset(&mut self, n_cols: u16, n_rows: u16) {
        let area = Rect::new(0, 0, n_cols, n_rows);
        if self.area() != area {
            *self = Self::new(n_cols, n_rows);
            return;
        }
        self.buffer.reset();
        self.extras.fill(Extra::default());
        self.links.clear();
        self.cursor = None;
    }

    /// Makes cells of row `row` those of a blank frame.
    pub fn blank(&mut self, row: u16, cols: std::ops::Range<u16>) {
        let n_cols = usize::from(self.area().width);
        for col in cols.start..cols.end.min(self.area().width) {
            let index = usize::from(row) * n_cols + usize::from(col);
            if let (Some(cell), Some(extra)) =
                (self.buffer.content.get_mut(index), self.extras.get_mut(index))
            {
                cell.reset();
                *extra = Extra::default();
            }
        }
    }

    /// Takes over row `row` of a frame of the same size.
    pub fn copy_row(&mut self, row: u16, from: &Self) {
        let n_cols = usize::from(self.area().width);
        let span = usize::from(row) * n_cols..(usize::from(row) + 1) * n_cols;
        let (cells, extras) = from.row(row);
        if let Some(own) = self.buffer.content.get_mut(span.clone())
            && own.len() == cells.len()
        {
            own.clone_from_slice(cells);
        }
        if let Some(own) = self.extras.get_mut(span)
            && own.len() == extras.len()
        {
            own.copy_from_slice(extras);
        }
    }

    /// Takes over what the link numbers of another frame mean.
    pub fn copy_links(&mut self, from: &Self) {
        self.links.clone_from(&from.links);
    }

    /// How many links were given a number.
    pub fn n_links(&self) -> usize {
        self.links.len()
    }

    /// The whole frame.
    pub fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Blanks an area, so that what is drawn over a pane inherits nothing from it.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.area());
        for row in area.top()..area.bottom() {
            self.unwiden(row, area.left());
            for col in area.left()..area.right() {
                self.put(row, col, " ", ratatui::style::Style::reset(), Extra::default());
            }
        }
    }

    /// Blanks a wide cell whose second half is at `col`, so that it does not reach over an edge.
    fn unwiden(&mut self, row: u16, col: u16) {
        let Some(before) = col.checked_sub(1) else { return };
        let (cells, extras) = self.row(row);
        let at = usize::from(before);
        let is_wide = matches!((cells.get(at), extras.get(at)), (Some(cell), Some(extra)) if super::paint::cell_width(cell, *extra) == 2);
        if is_wide {
            self.put(row, before, " ", ratatui::style::Style::reset(), Extra::default());
        }
    }

    /// Sets one cell; outside the frame nothing happens.
    pub fn put(&mut self, row: u16, col: u16, text: &str, style: ratatui::style::Style, extra: Extra) {
        let n_cols = usize::from(self.area().width);
        if let Some(cell) = self.buffer.cell_mut((col, row)) {
            cell.reset();
            cell.set_symbol(text).set_style(style);
            let index = usize::from(row) * n_cols + usize::from(col);
            if let Some(slot) = self.extras.get_mut(index) {
                *slot = extra;
            }
        }
    }

    /// The number under which a cell refers to `link`. More than 65,535 links on one screen lose
    /// their targets.
    pub fn link_number(&mut self, link: &Link) -> u16 {
        let known = self.links.iter().rposition(|known| known == link);
        let index = known.unwrap_or_else(|| {
            self.links.push(link.clone());
            self.links.len() - 1
        });
        u16::try_from(index + 1).unwrap_or(0)
    }

    /// The target behind a number of [`Canvas::link_number`].
    pub fn link(&self, number: u16) -> Option<&Link> {
        usize::from(number).checked_sub(1).and_then(|index| self.links.get(index))
    }

    /// Whether link numbers mean the same in both.
    pub fn has_links_of(&self, other: &Self) -> bool {
        self.links == other.links
    }

    /// The cells of one row with their extras.
    pub fn row(&self, row: u16) -> (&[Cell], &[Extra]) {
        let n_cols = usize::from(self.area().width);
        let from = usize::from(row) * n_cols;
        let cells = self.buffer.content.get(from..from + n_cols).unwrap_or_default();
        (cells, self.extras.get(from..from + n_cols).unwrap_or_default())
    }

    /// The frame as text, one line per row, trailing blanks cut: what tests compare.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in 0..self.area().height {
            let (cells, extras) = self.row(row);
            let mut line = String::new();
            let mut n_covered = 0;
            for (cell, extra) in cells.iter().zip(extras) {
                if n_covered > 0 {
                    n_covered -= 1;
                    continue;
                }
                line.push_str(cell.symbol());
                n_covered = super::paint::cell_width(cell, *extra).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
