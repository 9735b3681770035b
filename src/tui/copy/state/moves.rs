//! Where the cursor and the view go.

use super::{State, Wish};
use crate::config::ModeKeys;
use crate::tui::copy::book::{Book, Missing, Pos, RowAt};
use crate::tui::copy::motion;
use crate::tui::copy::order::Jump;

impl State {
    pub(super) fn repeat(
        &mut self,
        n_times: usize,
        mut step: impl FnMut(&mut Self) -> Result<(), Missing>,
    ) -> Result<(), Missing> {
        for _ in 0..n_times {
            let before = self.cursor;
            step(self)?;
            if self.cursor == before {
                break;
            }
        }
        Ok(())
    }

    /// Puts the cursor at a place, as near as there is one, and brings it into view.
    pub(super) fn go(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        self.place(book, to)?;
        self.keep_col(book)?;
        self.show_cursor(book)
    }

    /// The same with the place in the middle of the view where it was out of it.
    pub(super) fn go_far(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        let before = self.top;
        self.go(book, to)?;
        if self.top != before {
            let row = book.row_of(self.cursor, self.n_cols)?;
            let top = book.up(row, self.n_rows / 2, self.n_cols)?.min(self.lowest_top(book)?);
            self.top = self.start_of(book, top)?;
        }
        Ok(())
    }

    /// The line with a number as the title shows it, counted from 1.
    pub(super) fn go_to_number(&mut self, book: &Book, number: u64) -> Result<(), Missing> {
        let line = book.first().saturating_add(number.saturating_sub(1)).min(book.last());
        self.go_far(book, Pos { line, col: 0 })
    }

    pub(super) fn sideways(&mut self, book: &Book, is_right: bool) -> Result<(), Missing> {
        let line = book.line(self.cursor.line)?;
        let col = match is_right {
            true => line.after(self.cursor.col),
            false => line.snap(self.cursor.col.saturating_sub(1)),
        };
        self.go(book, Pos { col, ..self.cursor })
    }

    pub(super) fn next_word(&mut self, book: &Book, n_times: usize, is_big: bool) -> Result<(), Missing> {
        self.repeat(n_times, |state| state.go(book, motion::next_word(book, state.cursor, is_big)?))
    }

    pub(super) fn previous_word(&mut self, book: &Book, n_times: usize, is_big: bool) -> Result<(), Missing> {
        self.repeat(n_times, |state| state.go(book, motion::previous_word(book, state.cursor, is_big)?))
    }

    pub(super) fn word_end(&mut self, book: &Book, n_times: usize, is_big: bool) -> Result<(), Missing> {
        let is_behind = self.keys == ModeKeys::Emacs;
        self.repeat(n_times, |state| state.go(book, motion::word_end(book, state.cursor, is_big, is_behind)?))
    }

    pub(super) fn paragraph(
        &mut self,
        book: &Book,
        n_times: usize,
        next: impl Fn(&Book, u64) -> Result<u64, Missing>,
    ) -> Result<(), Missing> {
        self.repeat(n_times, |state| {
            let line = next(book, state.cursor.line)?;
            state.go(book, Pos { line, col: 0 })
        })
    }

    pub(super) fn go_to_text(&mut self, book: &Book) -> Result<(), Missing> {
        let col = motion::line_text(book.line(self.cursor.line)?);
        self.go(book, Pos { col, ..self.cursor })
    }

    /// To the end of the line, and to the ends of those above and below from there.
    pub(super) fn go_to_end(&mut self, book: &Book) -> Result<(), Missing> {
        self.go(book, Pos { col: usize::MAX, ..self.cursor })?;
        self.wanted_col = usize::MAX;
        Ok(())
    }

    pub(super) fn jump_to_mark(&mut self, book: &Book) -> Result<(), Missing> {
        match self.mark.replace(self.cursor) {
            Some(mark) => self.go_far(book, mark),
            None => Ok(()),
        }
    }

    /// Up and down by rows of the view.
    pub(super) fn vertical(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<(), Missing> {
        let row = book.row_of(self.cursor, self.n_cols)?;
        let to = match is_down {
            true => book.down(row, n_rows, self.n_cols)?,
            false => book.up(row, n_rows, self.n_cols)?,
        };
        self.go_to_row(book, to)?;
        self.show_cursor(book)
    }

    pub(super) fn go_to_view_row(&mut self, book: &Book, number: usize) -> Result<(), Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let row = book.down(top, number, self.n_cols)?;
        self.go_to_row(book, row)
    }

    pub(super) fn go_to_prompt(&mut self, book: &Book, is_backward: bool) -> Result<(), Missing> {
        let here = self.cursor.line;
        let mut prompts = book.prompts().iter().copied().filter(|line| *line >= book.first());
        let line = match is_backward {
            true => prompts.take_while(|line| *line < here).last(),
            false => prompts.find(|line| *line > here),
        };
        match line {
            Some(line) => self.go_far(book, Pos { line, col: 0 }),
            None => Ok(()),
        }
    }

    pub(super) fn jump(
        &mut self,
        book: &Book,
        (jump, target): (Jump, char),
        n_times: usize,
        is_again: bool,
    ) -> Result<(), Missing> {
        let line = book.line(self.cursor.line)?;
        let mut col = self.cursor.col;
        for turn in 0..n_times {
            match motion::jump(line, col, jump, target, is_again || turn > 0) {
                Some(next) => col = next,
                None => return Ok(()),
            }
        }
        self.go(book, Pos { col, ..self.cursor })
    }

    pub(super) fn jump_again(&mut self, book: &Book, n_times: usize, is_back: bool) -> Result<(), Missing> {
        let Some((mut jump, target)) = self.last_jump else { return Ok(()) };
        jump.is_backward ^= is_back;
        self.jump(book, (jump, target), n_times, true)
    }

    pub(super) fn n_page(&self) -> usize {
        self.n_rows.saturating_sub(2).max(1)
    }

    /// Moves the view and with it the cursor, which keeps its row of the view. False: it did not move.
    pub(super) fn scroll(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<bool, Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let at = self.view_row(book)?;
        let to = match is_down {
            true => book.down(top, n_rows, self.n_cols)?.min(self.lowest_top(book)?),
            false => book.up(top, n_rows, self.n_cols)?,
        };
        if to == top {
            return Ok(false);
        }
        self.top = self.start_of(book, to)?;
        let row = book.down(to, at, self.n_cols)?;
        self.go_to_row(book, row)?;
        Ok(true)
    }

    /// The same by pages: where the view cannot move, the cursor does.
    pub(super) fn page(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<(), Missing> {
        if !self.scroll(book, n_rows, is_down)? {
            self.vertical(book, n_rows, is_down)?;
        }
        Ok(())
    }

    pub(super) fn scroll_down(
        &mut self,
        book: &Book,
        n_rows: usize,
        is_page: bool,
    ) -> Result<Vec<Wish>, Missing> {
        match is_page {
            true => self.page(book, n_rows, true)?,
            false => drop(self.scroll(book, n_rows, true)?),
        }
        let is_end = self.top >= self.start_of(book, self.lowest_top(book)?)?;
        let leaves = self.exits_at_bottom && is_end && self.selection.is_none();
        Ok(if leaves { vec![Wish::Leave] } else { Vec::new() })
    }

    pub(super) fn place(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        self.cursor = book.clamp(to)?;
        if self.keys == ModeKeys::Vi {
            // vi's cursor stands on a character.
            self.cursor.col = self.cursor.col.min(book.line(self.cursor.line)?.last());
        }
        Ok(())
    }

    /// To the wanted column of a row.
    pub(super) fn go_to_row(&mut self, book: &Book, row: RowAt) -> Result<(), Missing> {
        let cols = book.cols_of(row, self.n_cols)?;
        let is_last = cols.end >= book.line(row.line)?.n_cols;
        let most = if is_last { cols.end } else { cols.end.saturating_sub(1) };
        let col = cols.start.saturating_add(self.wanted_col).min(most.max(cols.start));
        self.place(book, Pos { line: row.line, col })
    }

    /// The row of the view in which the cursor is.
    pub(super) fn view_row(&self, book: &Book) -> Result<usize, Missing> {
        let cursor = book.row_of(self.cursor, self.n_cols)?;
        let mut at = book.row_of(self.top, self.n_cols)?;
        let mut number = 0;
        while at < cursor && number + 1 < self.n_rows {
            at = book.down(at, 1, self.n_cols)?;
            number += 1;
        }
        Ok(number)
    }

    pub(super) fn keep_col(&mut self, book: &Book) -> Result<(), Missing> {
        let row = book.row_of(self.cursor, self.n_cols)?;
        self.wanted_col = self.cursor.col - book.cols_of(row, self.n_cols)?.start;
        Ok(())
    }

    /// Moves the view as little as brings the cursor into it.
    pub(super) fn show_cursor(&mut self, book: &Book) -> Result<(), Missing> {
        self.top = book.clamp(self.top)?;
        let cursor = book.row_of(self.cursor, self.n_cols)?;
        let top = book.row_of(self.top, self.n_cols)?.min(self.lowest_top(book)?);
        let highest = book.up(cursor, self.n_rows - 1, self.n_cols)?;
        self.top = self.start_of(book, top.clamp(highest, cursor))?;
        Ok(())
    }

    /// The top of a view that shows the end.
    pub(super) fn lowest_top(&self, book: &Book) -> Result<RowAt, Missing> {
        book.up(book.last_row(self.n_cols)?, self.n_rows - 1, self.n_cols)
    }

    pub(super) fn start_of(&self, book: &Book, row: RowAt) -> Result<Pos, Missing> {
        Ok(Pos { line: row.line, col: book.cols_of(row, self.n_cols)?.start })
    }

    /// All lines in view are here.
    pub(super) fn check_view(&self, book: &Book) -> Result<(), Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        book.down(top, self.n_rows - 1, self.n_cols).map(drop)
    }
}
