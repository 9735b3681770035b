//! What is selected: its extent, its text, and how it looks on the rows of a view.

use super::book::{Book, Missing, Pos, RowAt};
use super::motion;
use std::ops::Range;

/// What a selection consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Cells,
    Words,
    Lines,
    /// The same columns of several rows.
    Block,
}

/// A selection between its anchor and the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    pub anchor: Pos,
    pub unit: Unit,
    /// The cell of the later end is not part of it (emacs).
    pub is_end_open: bool,
}

/// The extent of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// Up to, and without, the place of the end.
    Text(Range<Pos>),
    /// Rows with their first and last one; columns of the view.
    Block { first: RowAt, last: RowAt, cols: Range<usize> },
}

impl Selection {
    /// The extent when the cursor is at `cursor`, on a view of this width.
    ///
    /// # Errors
    /// A line has to be fetched.
    pub fn extent(&self, book: &Book, cursor: Pos, width: usize) -> Result<Extent, Missing> {
        let (first, last) = (self.anchor.min(cursor), self.anchor.max(cursor));
        let (start, end) = (book.line(first.line)?, book.line(last.line)?);
        let past = if self.is_end_open { last.col } else { end.after(last.col) };
        Ok(Extent::Text(match self.unit {
            Unit::Cells => first..Pos { col: past, ..last },
            Unit::Words => {
                let from = motion::word_around(start, first.col).0;
                Pos { col: from, ..first }..Pos { col: motion::word_around(end, last.col).1, ..last }
            }
            Unit::Lines => Pos { col: 0, ..first }..Pos { col: end.n_cols, ..last },
            Unit::Block => return self.block(book, cursor, width),
        }))
    }

    fn block(&self, book: &Book, cursor: Pos, width: usize) -> Result<Extent, Missing> {
        let place = |at: Pos| {
            let row = book.row_of(at, width)?;
            let from = book.cols_of(row, width)?.start;
            let past =
                if self.is_end_open { at.col } else { book.line(at.line)?.after(at.col).max(at.col + 1) };
            Ok((row, at.col - from, past - from))
        };
        let (one, other) = (place(self.anchor)?, place(cursor)?);
        let right = if self.is_end_open { one.1.max(other.1) } else { one.2.max(other.2) };
        Ok(Extent::Block {
            first: one.0.min(other.0),
            last: one.0.max(other.0),
            cols: one.1.min(other.1)..right,
        })
    }
}

impl Extent {
    /// The text: lines as they were written, however they were wrapped, without blanks at their end and
    /// without blank lines at the end of all.
    ///
    /// # Errors
    /// A line has to be fetched.
    pub fn text(&self, book: &Book, width: usize) -> Result<String, Missing> {
        match self {
            Self::Text(range) => text_of(book, range),
            Self::Block { first, last, cols } => {
                let mut rows = Vec::new();
                let mut at = *first;
                loop {
                    let row = book.cols_of(at, width)?;
                    let to = (row.start + cols.end).min(row.end);
                    let text = book.line(at.line)?.text(row.start + cols.start, to);
                    rows.push(if row.start + cols.start < to {
                        text.trim_end().to_owned()
                    } else {
                        String::new()
                    });
                    if at >= *last {
                        return Ok(rows.join("\n"));
                    }
                    at = book.down(at, 1, width)?;
                }
            }
        }
    }

    /// The columns of a row of the view that belong to it; `row` has the columns `cols` of its line.
    pub fn on_row(&self, row: RowAt, cols: &Range<usize>) -> Option<Range<usize>> {
        match self {
            Self::Text(range) => {
                if !(range.start.line..=range.end.line).contains(&row.line) {
                    return None;
                }
                let from =
                    if row.line == range.start.line { range.start.col.max(cols.start) } else { cols.start };
                let to = if row.line == range.end.line { range.end.col.min(cols.end) } else { cols.end };
                // An empty line shows that it belongs to it by one blank.
                let to = if cols.is_empty() && row.line != range.end.line { to.max(from + 1) } else { to };
                (from < to).then(|| from - cols.start..to - cols.start)
            }
            Self::Block { first, last, cols: block } => {
                (*first..=*last).contains(&row).then(|| block.clone())
            }
        }
    }
}

fn text_of(book: &Book, range: &Range<Pos>) -> Result<String, Missing> {
    let lines = range.start.line..=range.end.line;
    // Before any work: whatever is missing is fetched first.
    for number in lines.clone() {
        book.line(number)?;
    }
    let mut text = String::new();
    for number in lines {
        let line = book.line(number)?;
        let from = if number == range.start.line { range.start.col } else { 0 };
        let to = if number == range.end.line { range.end.col } else { line.n_cols };
        let piece = if from < to { line.text(from, to) } else { String::new() };
        text.push_str(if to >= line.n_cols { piece.trim_end() } else { &piece });
        if number != range.end.line {
            text.push('\n');
        }
    }
    // A line break at the end would run what is pasted into a shell.
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}
