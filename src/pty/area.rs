//! Rectangles of the screen: filled, erased, copied and summed up; columns that come and go; characters
//! protected from being erased (VT420).
//!
//! None of it moves the cursor or heeds margins, except that positions count from the region in origin mode.

use super::cells::style_of_cell;
use super::replay::Replay;
use super::scan::Csi;
use super::state::Columns;
use super::style;
use super::term::Term;
use crate::base::grid::Style;
use std::ops::RangeInclusive;

/// A rectangle inside the screen, counted from 0, edges included.
#[derive(Debug, Clone)]
struct Area {
    rows: RangeInclusive<u16>,
    cols: RangeInclusive<u16>,
}

impl Area {
    fn n_cols(&self) -> u16 {
        self.cols.end() - self.cols.start() + 1
    }
}

impl Term {
    /// Handles a request about an area or columns; returns whether it was one.
    pub(super) fn area_request(&mut self, csi: &Csi<'_>) -> bool {
        match (csi.private, csi.intermediates, csi.last) {
            (0, b"$", b'x') => self.fill_area(csi),
            (0, b"$", b'z') => {
                if let Some(area) = self.area(csi, 0) {
                    self.keeping_cursor(|term| term.erase_area(&area));
                }
            }
            (0, b"$", b'{') => {
                if let Some(area) = self.area(csi, 0) {
                    let is_strict = self.private.is_protection_strict;
                    self.keeping_cursor(|term| match is_strict {
                        true => term.erase_area(&area),
                        false => term.erase_unprotected(&area),
                    });
                }
            }
            (0, b"$", b'v') => self.copy_area(csi),
            (0, b"*", b'y') => self.report_checksum(csi),
            (0, b"#", b'y') => self.private.is_checksum_plain = csi.number(0, 0) & 1 == 1,
            (0, b"*", b'x') => self.private.change_extent = csi.number(0, 0).min(2).to_le_bytes()[0],
            (0, b"'", b'}') => self.shift_columns(b'@', self.cursor_in_row(), csi.number(0, 1)),
            (0, b"'", b'~') => self.shift_columns(b'P', self.cursor_in_row(), csi.number(0, 1)),
            (0, b"\"", b'q') => self.protect(csi.number(0, 0) == 1, false),
            _ => return false,
        }
        true
    }

    /// DECSCA, SPA and EPA: protects what is printed from now on, or not. `is_strict` says from what.
    pub(super) fn protect(&mut self, is_protected: bool, is_strict: bool) {
        self.private.is_protection_strict = is_strict;
        let mut pen = self.pen;
        pen.extra.is_protected = is_protected;
        self.set_pen(pen);
    }

    /// The area that four parameters from `first` on name; nothing where it is none or off the screen.
    fn area(&self, csi: &Csi<'_>, first: usize) -> Option<Area> {
        let (top, n_rows) = match self.is_origin {
            true => (self.margins.top, self.margins.bottom - self.margins.top + 1),
            false => (0, self.n_rows()),
        };
        let columns = self.text.columns.filter(|_| self.is_origin);
        let (left, n_cols) =
            columns.map_or((0, self.n_cols()), |Columns { left, right, .. }| (left, right - left + 1));
        let rows = csi.number(first, 1) - 1..=csi.number(first + 2, n_rows).min(n_rows) - 1;
        let cols = csi.number(first + 1, 1) - 1..=csi.number(first + 3, n_cols).min(n_cols) - 1;
        let is_area = !rows.is_empty() && !cols.is_empty();
        is_area.then(|| Area {
            rows: rows.start() + top..=rows.end() + top,
            cols: cols.start() + left..=cols.end() + left,
        })
    }

    /// Does something with the cursor, which is back where it was afterwards, in its look.
    pub(super) fn keeping_cursor(&mut self, action: impl FnOnce(&mut Self)) {
        let (row, col) = self.cursor_position();
        let look = self.parser.screen().attributes_formatted();
        self.wait(false);
        action(self);
        self.return_cursor(row, col);
        self.inject(&look);
    }

    /// DECFRA: fills with a character in the current look.
    fn fill_area(&mut self, csi: &Csi<'_>) {
        let filling =
            char::from_u32(csi.number(0, 32).into()).filter(|c| matches!(c, ' '..='~' | '\u{a0}'..='ÿ'));
        let (Some(filling), Some(area)) = (filling, self.area(csi, 1)) else { return };
        let filling = self.text.charset().map(filling);
        let row_of_it = filling.to_string().repeat(area.n_cols().into());
        self.keeping_cursor(|term| {
            for row in area.rows {
                term.go_to(row, *area.cols.start());
                term.print_as_is(&row_of_it);
            }
        });
    }

    fn erase_area(&mut self, area: &Area) {
        for row in area.rows.clone() {
            self.go_to(row, *area.cols.start());
            self.inject(&format!("\x1b[{}X", area.n_cols()));
        }
    }

    fn erase_unprotected(&mut self, area: &Area) {
        for row in area.rows.clone() {
            for col in area.cols.clone().filter(|col| !self.is_protected(row, *col)).collect::<Vec<_>>() {
                self.go_to(row, col);
                self.inject("\x1b[X");
            }
        }
    }

    /// Whether DECSCA protects what a cell shows.
    fn is_protected(&self, row: u16, col: u16) -> bool {
        let screen = self.parser.screen();
        let is_second_half = screen.cell(row, col).is_some_and(vt100::Cell::is_wide_continuation);
        let first = if is_second_half { col.saturating_sub(1) } else { col };
        screen.cell(row, first).is_some_and(|cell| self.styles.extra_of(cell.contents()).is_protected)
    }

    /// DECSED and DECSEL, and ED, EL and ECH under SPA, where something that they would erase is protected;
    /// returns whether that was so.
    pub(super) fn erase_selectively(&mut self, csi: &Csi<'_>) -> bool {
        let (row, col) = self.cursor_position();
        let (last_row, last_col) = (self.n_rows() - 1, self.n_cols() - 1);
        let whole = |rows| Area { rows, cols: 0..=last_col };
        let here = |cols| Area { rows: row..=row, cols };
        let areas = match (csi.last, csi.number(0, 0)) {
            (b'K', 0) => vec![here(col..=last_col)],
            (b'K', 1) => vec![here(0..=col.min(last_col))],
            (b'K', 2) => vec![whole(row..=row)],
            (b'X', n) => vec![here(col.min(last_col)..=col.saturating_add(n.max(1) - 1).min(last_col))],
            (b'J', 0) => vec![here(col..=last_col), whole(row + 1..=last_row)],
            (b'J', 1) if row == 0 => vec![here(0..=col.min(last_col))],
            (b'J', 1) => vec![whole(0..=row - 1), here(0..=col.min(last_col))],
            (b'J', 2) => vec![whole(0..=last_row)],
            _ => return false,
        };
        let mut cells = areas
            .iter()
            .flat_map(|area| area.rows.clone().flat_map(|row| area.cols.clone().map(move |col| (row, col))));
        if !cells.any(|(row, col)| self.is_protected(row, col)) {
            return false;
        }
        self.keeping_cursor(|term| areas.iter().for_each(|area| term.erase_unprotected(area)));
        true
    }

    /// DECCRA. Half of a wide character at an edge becomes a blank.
    fn copy_area(&mut self, csi: &Csi<'_>) {
        let Some(source) = self.area(csi, 0) else { return };
        let top = if self.is_origin { self.margins.top } else { 0 };
        let left = self.text.columns.filter(|_| self.is_origin).map_or(0, |columns| columns.left);
        let (to_row, to_col) =
            (csi.number(5, 1).saturating_add(top) - 1, csi.number(6, 1).saturating_add(left) - 1);
        if to_row >= self.n_rows() || to_col >= self.n_cols() {
            return;
        }
        let n_rows = self.n_rows() - to_row;
        let last_col = (*source.cols.end()).min(source.cols.start() + (self.n_cols() - 1 - to_col));
        let cols = *source.cols.start()..=last_col;
        let copied = source.rows.take(n_rows.into()).map(|row| self.copy_of(row, cols.clone()));
        let copied: Vec<String> = copied.collect();
        self.keeping_cursor(|term| {
            for (row, text) in (to_row..).zip(&copied) {
                term.go_to(row, to_col);
                term.reprint(text);
            }
        });
    }

    /// Cells as text that prints them again, as wide as they are.
    pub(super) fn copy_of(&self, row: u16, cols: RangeInclusive<u16>) -> String {
        let screen = self.parser.screen();
        let (first, last) = (*cols.start(), *cols.end());
        let mut replay = Replay::default();
        for (col, cell) in cols.filter_map(|col| Some((col, screen.cell(row, col)?))) {
            let is_halved = (cell.is_wide_continuation() && col == first) || (cell.is_wide() && col == last);
            if cell.is_wide_continuation() && !is_halved {
                continue;
            }
            let is_filler = style::is_filler(cell.contents());
            let is_shown = cell.has_contents() && !is_halved && !is_filler;
            let style = if is_filler { Style::default() } else { style_of_cell(cell) };
            replay.set_look(style, None);
            replay.text.push_str(if is_shown { cell.contents() } else { " " });
        }
        replay.end();
        replay.text
    }

    /// DECRQCRA: the sum of the characters, blanks being spaces; negated, as terminals do it, unless the
    /// program asked for it plain (XTCHECKSUM).
    fn report_checksum(&mut self, csi: &Csi<'_>) {
        let id = csi.number(0, 0);
        let area = self.area(csi, 2);
        let cells = area
            .iter()
            .flat_map(|area| area.rows.clone().flat_map(|row| area.cols.clone().map(move |col| (row, col))));
        let mut sum = 0_u32;
        for cell in cells.filter_map(|(row, col)| self.parser.screen().cell(row, col)) {
            let contents = self.clusters.expand(cell.contents());
            let is_blank = contents.is_empty() && !cell.is_wide_continuation();
            let chars = contents.chars().filter(|c| !style::is_tag(*c)).map(u32::from);
            sum = chars.chain(is_blank.then_some(32)).fold(sum, u32::wrapping_add);
        }
        let sum = if self.private.is_checksum_plain { sum } else { sum.wrapping_neg() };
        self.out.reply(format!("\x1bP{id}!~{:04X}\x1b\\", sum & 0xffff).as_bytes());
    }

    /// DECIC (`@`) and DECDC (`P`): the same in each row of the region, if the cursor is in it.
    fn shift_columns(&mut self, last: u8, col: u16, n: u16) {
        let is_inside = self.text.columns.is_none_or(|columns| columns.contains(self.cursor_in_row()));
        if !is_inside || !self.margins.contains(self.cursor_position().0) {
            return;
        }
        let sequence = format!("\x1b[{n}{}", char::from(last));
        let rows = self.margins.top..=self.margins.bottom;
        self.leave_edge();
        self.keeping_cursor(|term| {
            for row in rows {
                term.go_to(row, col);
                term.insert_or_delete(last, n, sequence.as_bytes());
            }
        });
    }

    /// DECBI and DECFI: a column back or forward; at the edge the region moves instead.
    pub(super) fn step_column(&mut self, is_forward: bool) {
        self.leave_edge();
        let col = self.cursor_position().1;
        let last = self.n_cols() - 1;
        let (first, end) = self.text.columns.map_or((0, last), |columns| (columns.left, columns.right));
        match is_forward {
            true if col == end => self.shift_columns(b'P', first, 1),
            true if col < last => self.inject("\x1b[C"),
            false if col == first => self.shift_columns(b'@', first, 1),
            false if col > 0 => self.inject("\x1b[D"),
            true | false => {}
        }
    }
}
