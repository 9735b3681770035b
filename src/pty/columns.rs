//! Left and right margins (DECLRMM, DECSLRM): text, movement and scrolling between two columns.
//!
//! The parser knows no such margins. While some are set, each character is placed here, and what scrolls is
//! copied cell by cell. Without them nothing of this file runs.

use super::cluster::EMOJI_STYLE;
use super::scan::Csi;
use super::state::Columns;
use super::term::Term;
use std::ops::RangeInclusive;
use unicode_width::UnicodeWidthChar as _;

impl Term {
    /// DECSLRM: sets the margins, or none where they would be the edges, and moves the cursor home.
    pub(super) fn set_columns(&mut self, csi: &Csi<'_>) {
        let n_cols = self.n_cols();
        let (left, right) = (csi.number(0, 1), csi.number(1, n_cols).min(n_cols));
        if left >= right {
            return;
        }
        let columns = Columns { left: left - 1, right: right - 1, is_waiting: false };
        self.text.columns = Some(columns).filter(|_| left > 1 || right < n_cols);
        self.go_home();
    }

    /// Moves the cursor to the first position that there is in origin mode or out of it.
    pub(super) fn go_home(&mut self) {
        self.wait(false);
        let left = self.text.columns.map_or(0, |columns| columns.left);
        let (row, col) = if self.is_origin { (self.margins.top, left) } else { (0, 0) };
        self.go_to(row, col);
    }

    /// The column of the cursor as programs count it, from 0.
    pub(super) fn counted_column(&self) -> u16 {
        let left = self.text.columns.filter(|_| self.is_origin).map_or(0, |columns| columns.left);
        self.cursor_in_row().saturating_sub(left)
    }

    /// Notes whether the next character goes to the next row.
    pub(super) fn wait(&mut self, is_waiting: bool) {
        if let Some(columns) = &mut self.text.columns {
            columns.is_waiting = is_waiting;
        }
    }

    /// Handles what margins change of moving, inserting and deleting; returns whether it did.
    pub(super) fn move_between(&mut self, csi: &Csi<'_>) -> bool {
        let Some(columns) = self.text.columns else { return false };
        // Questions, tab stops and repetition leave the cursor as it is.
        self.wait(columns.is_waiting && matches!(csi.last, b'I' | b'b' | b'c' | b'g' | b'n' | b't'));
        let Columns { left, right, .. } = columns;
        let n = csi.number(0, 1);
        let (row, col) = (self.cursor_position().0, self.cursor_in_row());
        let last = self.n_cols() - 1;
        let column =
            |n: u16| if self.is_origin { (n - 1).saturating_add(left).min(right) } else { (n - 1).min(last) };
        match csi.last {
            b'H' | b'f' => {
                let (first, last) = if self.is_origin {
                    (self.margins.top, self.margins.bottom)
                } else {
                    (0, self.n_rows() - 1)
                };
                let col = column(csi.number(1, 1));
                self.go_to((n - 1).saturating_add(first).min(last), col);
            }
            b'G' | b'`' => {
                let col = column(n);
                self.go_to(row, col);
            }
            b'C' => self.go_to(row, col.saturating_add(n).min(if col > right { last } else { right })),
            b'E' | b'F' => {
                let vertical = if csi.last == b'E' { 'B' } else { 'A' };
                self.rewrite(format!("\x1b[{n}{vertical}").as_bytes());
                self.carriage_return();
            }
            b'S' | b'T' if csi.last == b'S' || csi.params().count() <= 1 => {
                let rows = self.margins.top..=self.margins.bottom;
                self.scroll_between(columns, rows, n, csi.last == b'S');
            }
            _ => return false,
        }
        true
    }

    /// Handles a control character between margins; returns whether it did.
    pub(super) fn control_between(&mut self, byte: u8) -> bool {
        match byte {
            b'\r' => self.carriage_return(),
            b'\n' | 0x0b | 0x0c => {
                self.line_feed();
                if self.text.is_newline {
                    self.carriage_return();
                }
            }
            b'\t' => match self.text.columns {
                Some(columns) if columns.is_waiting && !self.text.is_tab_wrapping => {}
                Some(columns) => {
                    if columns.is_waiting {
                        self.line_feed();
                        self.carriage_return();
                    }
                    self.tab_forward(1);
                }
                None => return false,
            },
            _ => return false,
        }
        true
    }

    /// To the left margin, from the left of it to the edge.
    pub(super) fn carriage_return(&mut self) {
        let Some(columns) = self.text.columns else {
            self.inject("\r");
            return;
        };
        self.wait(false);
        let (row, col) = (self.cursor_position().0, self.cursor_in_row());
        let is_inside = self.is_origin || col >= columns.left;
        self.go_to(row, if is_inside { columns.left } else { 0 });
    }

    /// Prints a character between margins. Emoji are not joined there.
    pub(super) fn put_between(&mut self, c: char, columns: Columns) {
        let width = c.width().unwrap_or(usize::from(u32::from(c) >= 256)).min(2);
        let (row, col) = (self.cursor_position().0, self.cursor_in_row());
        if width == 0 {
            self.mark_between(c, columns, row, col);
            return;
        }
        self.last_char = Some(c);
        let width = if width == 2 { 2 } else { 1 };
        let limit = if col > columns.right { self.n_cols() - 1 } else { columns.right };
        let (mut row, mut col, mut limit) = (row, col, limit);
        if columns.is_waiting || col + width > limit + 1 {
            if self.text.is_autowrap {
                self.carriage_return();
                self.line_feed();
                (row, col, limit) = (self.cursor_position().0, self.cursor_in_row(), columns.right);
            } else {
                col = limit + 1 - width;
                self.go_to(row, col);
            }
        }
        if self.text.is_insert {
            self.insert_or_delete(b'@', width, b"");
        }
        self.inject(&format!("{c}{}", self.tag));
        let is_waiting = col + width > limit;
        if is_waiting {
            self.go_to(row, limit);
        }
        self.wait(is_waiting);
    }

    /// A mark belongs to the cell in front, on which the cursor stands while it waits.
    fn mark_between(&mut self, mark: char, columns: Columns, row: u16, col: u16) {
        if mark == EMOJI_STYLE {
            return;
        }
        if !columns.is_waiting {
            if self.has_stand() {
                self.inject(mark.encode_utf8(&mut [0; 4]));
            }
            return;
        }
        self.return_cursor(row, col + 1);
        self.inject(mark.encode_utf8(&mut [0; 4]));
        self.go_to(row, col);
    }

    /// Moves what is between the margins up or down in some rows; blanks come in.
    fn scroll_between(&mut self, columns: Columns, rows: RangeInclusive<u16>, n: u16, is_up: bool) {
        let (top, bottom) = (*rows.start(), *rows.end());
        let n = n.min(bottom - top + 1);
        let (kept, target, vacated) = match is_up {
            true => (top + n..bottom + 1, top, bottom + 1 - n..bottom + 1),
            false => (top..bottom + 1 - n, top + n, top..top + n),
        };
        let copied: Vec<String> = kept.map(|row| self.copy_of(row, columns.left..=columns.right)).collect();
        self.keeping_cursor(|term| {
            for row in vacated {
                term.go_to(row, columns.left);
                term.inject(&format!("\x1b[{}X", columns.right - columns.left + 1));
            }
            for (row, text) in (target..).zip(&copied) {
                term.go_to(row, columns.left);
                term.reprint(text);
            }
        });
    }

    /// IND between margins: outside of them nothing scrolls.
    pub(super) fn line_feed_between(&mut self, columns: Columns) {
        self.wait(false);
        if self.cursor_position().0 != self.margins.bottom {
            self.inject("\n");
        } else if columns.contains(self.cursor_in_row()) {
            self.scroll_between(columns, self.margins.top..=self.margins.bottom, 1, true);
        }
    }

    /// RI between margins.
    pub(super) fn reverse_line_feed_between(&mut self, columns: Columns) {
        self.wait(false);
        let row = self.cursor_position().0;
        if row != self.margins.top {
            self.inject(if row == 0 { "" } else { "\x1bM" });
        } else if columns.contains(self.cursor_in_row()) {
            self.scroll_between(columns, self.margins.top..=self.margins.bottom, 1, false);
        }
    }

    /// ICH, DCH, IL, DL between margins.
    pub(super) fn insert_or_delete_between(&mut self, columns: Columns, last: u8, n: u16) {
        let (row, col) = (self.cursor_position().0, self.cursor_in_row());
        if !columns.contains(col) {
            return;
        }
        if matches!(last, b'L' | b'M') {
            if self.margins.contains(row) {
                self.scroll_between(columns, row..=self.margins.bottom, n, last == b'M');
            }
            return;
        }
        let width = columns.right - col + 1;
        let n = n.min(width);
        let (from, to, blank) =
            if last == b'@' { (col, col + n, col) } else { (col + n, col, columns.right + 1 - n) };
        let kept = (n < width).then(|| self.copy_of(row, from..=from + (width - n) - 1));
        self.keeping_cursor(|term| {
            term.go_to(row, blank);
            term.inject(&format!("\x1b[{n}X"));
            if let Some(kept) = kept {
                term.go_to(row, to);
                term.reprint(&kept);
            }
        });
    }
}
