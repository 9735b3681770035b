//! The picture of history that copy mode looks at: logical lines by number, as far as they came.
//!
//! It was taken when the mode began and stands still; lines of it that are not here yet are named by
//! [`Missing`], fetched, and the key that wanted them is tried again.

use crate::base::grid::Run;
use crate::pty::page::LinePage;
use crate::pty::view;
use std::collections::BTreeMap;

/// The line with this number has to be fetched first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing(pub u64);

/// A place in the text: a logical line, and the column in it where a cell starts. The column behind
/// the last cell is a place too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pos {
    pub line: u64,
    pub col: usize,
}

/// A row on the screen: a logical line, and which of the rows it takes at the width in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowAt {
    pub line: u64,
    pub index: usize,
}

/// One logical line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub runs: Vec<Run>,
    pub n_cols: usize,
}

/// One cell of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    pub text: &'a str,
    pub col: usize,
    pub width: usize,
}

impl Line {
    fn new(runs: Vec<Run>) -> Self {
        let n_cols = runs.iter().map(Run::width).sum();
        Self { runs, n_cols }
    }

    /// The cells from left to right.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut next = 0;
        self.runs.iter().flat_map(Run::cells).map(move |(text, width)| {
            let col = next;
            next += usize::from(width);
            Cell { text, col, width: usize::from(width) }
        })
    }

    /// Where the cell over `col` starts; behind the last cell, the end.
    pub fn snap(&self, col: usize) -> usize {
        if col >= self.n_cols {
            return self.n_cols;
        }
        self.cells().take_while(|cell| cell.col <= col).last().map_or(0, |cell| cell.col)
    }

    /// Where the cell behind the one at `col` starts.
    pub fn after(&self, col: usize) -> usize {
        self.cells().map(|cell| cell.col + cell.width).find(|end| *end > col).unwrap_or(self.n_cols)
    }

    /// Where the last cell starts.
    pub fn last(&self) -> usize {
        self.cells().last().map_or(0, |cell| cell.col)
    }

    /// The text of the cells that have a column in `from..to`.
    pub fn text(&self, from: usize, to: usize) -> String {
        let cells = self.cells().filter(|cell| cell.col < to && cell.col + cell.width > from);
        cells.map(|cell| cell.text).collect()
    }

    /// The columns at which its rows start at a width; at least one.
    pub fn starts(&self, width: usize) -> Vec<usize> {
        if self.n_cols <= width {
            return vec![0];
        }
        let mut next = 0;
        let mut starts = Vec::new();
        for row in view::wrap(&self.runs, width) {
            starts.push(next);
            next += row.width();
        }
        starts
    }
}

/// The lines.
#[derive(Debug, Clone, Default)]
pub struct Book {
    lines: BTreeMap<u64, Line>,
    first: u64,
    screen: u64,
    end: u64,
    prompts: Vec<u64>,
    nothing: Line,
}

impl Book {
    /// Begins with the page of the end.
    pub fn new(page: LinePage) -> Self {
        let LinePage { first, lines, oldest, screen, end, cursor: _, prompts } = page;
        let mut book = Self { first: oldest, screen, end, prompts, ..Self::default() };
        book.put(first, lines);
        book
    }

    /// Takes in lines that were missing. Those of the screen stay as they were.
    pub fn add(&mut self, page: LinePage) {
        let LinePage { first, lines, oldest, .. } = page;
        self.put(first, lines);
        // What the terminal has forgotten meanwhile is kept here as far as it was seen.
        let mut kept = oldest.clamp(self.first, self.end);
        while kept > self.first && self.lines.contains_key(&(kept - 1)) {
            kept -= 1;
        }
        self.first = kept;
    }

    fn put(&mut self, first: u64, lines: Vec<Vec<Run>>) {
        for (number, runs) in (first..self.end).zip(lines) {
            self.lines.entry(number).or_insert_with(|| Line::new(runs));
        }
    }

    /// The oldest line.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The line at the top of the screen, as it was.
    pub fn screen(&self) -> u64 {
        self.screen
    }

    /// The number behind the last line.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The last line.
    pub fn last(&self) -> u64 {
        self.end.saturating_sub(1).max(self.first)
    }

    /// The lines on which a prompt began.
    pub fn prompts(&self) -> &[u64] {
        &self.prompts
    }

    /// A line.
    ///
    /// # Errors
    /// It has to be fetched.
    pub fn line(&self, number: u64) -> Result<&Line, Missing> {
        match self.lines.get(&number) {
            Some(line) => Ok(line),
            None if (self.first..self.end).contains(&number) => Err(Missing(number)),
            None => Ok(&self.nothing),
        }
    }

    /// Whether a line is here.
    pub fn has(&self, number: u64) -> bool {
        self.lines.contains_key(&number)
    }

    /// The nearest place inside of the text.
    ///
    /// # Errors
    /// Its line has to be fetched.
    pub fn clamp(&self, at: Pos) -> Result<Pos, Missing> {
        let line = at.line.clamp(self.first, self.last());
        Ok(Pos { line, col: self.line(line)?.snap(at.col) })
    }

    /// The row in which a place is at a width.
    ///
    /// # Errors
    /// Its line has to be fetched.
    pub fn row_of(&self, at: Pos, width: usize) -> Result<RowAt, Missing> {
        let starts = self.line(at.line)?.starts(width);
        let index = starts.iter().rposition(|start| *start <= at.col).unwrap_or(0);
        Ok(RowAt { line: at.line, index })
    }

    /// The columns of a row: `from..to`.
    ///
    /// # Errors
    /// Its line has to be fetched.
    pub fn cols_of(&self, row: RowAt, width: usize) -> Result<std::ops::Range<usize>, Missing> {
        let line = self.line(row.line)?;
        let starts = line.starts(width);
        let from = starts.get(row.index).or(starts.last()).copied().unwrap_or(0);
        Ok(from..starts.get(row.index + 1).copied().unwrap_or(line.n_cols))
    }

    /// The row `n_rows` above, or the first one there is.
    ///
    /// # Errors
    /// A line in between has to be fetched.
    pub fn up(&self, mut at: RowAt, n_rows: usize, width: usize) -> Result<RowAt, Missing> {
        let mut n_left = n_rows;
        while n_left > at.index {
            if at.line <= self.first {
                return Ok(RowAt { line: self.first, index: 0 });
            }
            n_left -= at.index + 1;
            at.line -= 1;
            at.index = self.line(at.line)?.starts(width).len() - 1;
        }
        at.index -= n_left;
        Ok(at)
    }

    /// The row `n_rows` below, or the last one there is.
    ///
    /// # Errors
    /// A line in between has to be fetched.
    pub fn down(&self, mut at: RowAt, n_rows: usize, width: usize) -> Result<RowAt, Missing> {
        let mut n_left = n_rows;
        loop {
            let n_below = self.line(at.line)?.starts(width).len() - 1 - at.index;
            if n_left <= n_below {
                at.index += n_left;
                return Ok(at);
            }
            if at.line >= self.last() {
                at.index += n_below;
                return Ok(at);
            }
            n_left -= n_below + 1;
            at = RowAt { line: at.line + 1, index: 0 };
        }
    }

    /// The last row.
    ///
    /// # Errors
    /// Its line has to be fetched.
    pub fn last_row(&self, width: usize) -> Result<RowAt, Missing> {
        let line = self.last();
        Ok(RowAt { line, index: self.line(line)?.starts(width).len() - 1 })
    }
}
