//! Sequences that the parser lacks or gets wrong, turned into those it has.
//!
//! [`Term::is_native`] is the gate: what it lets through never comes here. Everything else is
//! dispatched by [`Term::rewrite`] to this file (cursor, editing), `tabs.rs`, `columns.rs`, `area.rs`,
//! `private.rs` (modes), `reply.rs` (queries), `osc.rs` and `pen.rs`.

use super::cells::{is_unprinted, style_of_cell};
use super::charset::Charset;
use super::replay::Replay;
use super::scan::Csi;
use super::state::Margins;
use super::term::Term;
use std::ops::Range;

impl Term {
    /// Whether the parser handles a complete sequence rightly as it is. `is_behind` says that it has not
    /// been given everything in front of it yet.
    pub(super) fn is_native(&mut self, sequence: &[u8], is_behind: bool) -> bool {
        if sequence.get(1) != Some(&b'[') {
            return matches!(sequence.get(1), Some(b'=' | b'>'));
        }
        let Some((last, params)) = sequence.get(2..).and_then(|body| body.split_last()) else { return false };
        match last {
            b'm' => self.follow_sgr(params),
            b'H' | b'f' | b'G' | b'`' | b'C' | b'K' | b'J' if self.text.columns.is_some() => false,
            b'K' | b'J' if self.private.is_protection_strict || self.is_painting() => false,
            b'K' | b'J' if !self.text.is_autowrap || self.is_halving() => false,
            b'H' | b'f' | b'G' | b'`' | b'C' => !params.contains(&b':'),
            // Erasing with a pending wrap leaves the last cell alone, as in tmux (`terminal.md` 2.2),
            // unless it is in front of the cursor.
            b'K' => matches!(params, b"" | b"0"),
            b'J' => {
                let may_end_line = !self.is_alt_screen() && (is_behind || self.is_line_open());
                matches!(params, b"" | b"0") && !may_end_line
            }
            b'h' | b'l' => matches!(
                params,
                b"?25" | b"?1" | b"?2004" | b"?1000" | b"?1002" | b"?1003" | b"?1006" | b"?1005"
            ),
            b'q' => params.ends_with(b" "),
            _ => false,
        }
    }

    /// Handles a complete sequence that is not native. The parser has everything in front of it.
    pub(super) fn rewrite(&mut self, sequence: &[u8]) {
        match sequence.get(1) {
            Some(b'[') => {
                self.control_sequence(sequence);
                let row = self.cursor_position().0;
                match sequence.last() {
                    Some(b'K' | b'X' | b'@' | b'P') => self.paint_erased(row..row + 1),
                    Some(b'J' | b'z' | b'{' | b'}' | b'~' | b'L' | b'M' | b'S' | b'T') => {
                        self.paint_erased(0..self.n_rows());
                    }
                    _ => {}
                }
            }
            Some(b']') => self.operating_system_command(sequence),
            Some(b'P') => self.device_control(sequence),
            // Kitty graphics and the like: silence is the answer.
            Some(b'_' | b'^' | b'X') => {}
            _ => self.escape(sequence),
        }
    }

    fn control_sequence(&mut self, sequence: &[u8]) {
        let Some(csi) = Csi::parse(sequence) else {
            self.control_sequence_with_controls(sequence);
            return;
        };
        let is_done = match (csi.private, csi.intermediates, csi.last) {
            (0, b"", b'm') => {
                self.apply_sgr(&csi);
                true
            }
            (0, b"", b'h' | b'l') => {
                self.set_ansi_modes(&csi);
                true
            }
            (b'?', b"", b'h' | b'l') => {
                self.set_private_modes(&csi);
                true
            }
            (0, b"", b'J' | b'K' | b'X')
                if self.private.is_protection_strict && self.erase_selectively(&csi) =>
            {
                self.settle_edge();
                true
            }
            (b'?', b"", b'J' | b'K') => {
                if !self.erase_selectively(&csi) {
                    self.control_sequence(&[b"\x1b[", csi.params, &[csi.last]].concat());
                }
                self.settle_edge();
                true
            }
            (b'?', b"", b's' | b'r') => {
                self.keep_private_modes(&csi);
                true
            }
            (0, b"\"", b'p') => {
                self.set_level(&csi);
                true
            }
            (b'?', b"", b'W') if csi.params == b"5" => {
                self.text.tab_stops = None;
                true
            }
            (0, b"!", b'p') => {
                self.soft_reset();
                true
            }
            (0, b"", _) => self.move_or_edit(&csi, sequence) || self.tabulate(&csi) || self.answer(&csi),
            _ => self.area_request(&csi) || self.keyboard_request(&csi) || self.answer(&csi),
        };
        if !is_done {
            self.feed(sequence);
        }
    }

    /// Executes the control characters inside a sequence first, then the sequence without them.
    fn control_sequence_with_controls(&mut self, sequence: &[u8]) {
        let is_control = |b: &u8| *b < 0x20 || *b == 0x7f;
        let (head, body) = sequence.split_at(2);
        let controls: Vec<u8> = body.iter().copied().filter(is_control).collect();
        if controls.is_empty() {
            return;
        }
        self.print_slowly(&controls, false);
        let mut cleaned = head.to_vec();
        cleaned.extend(body.iter().copied().filter(|b| !is_control(b)));
        self.rewrite(&cleaned);
    }

    /// Cursor movement, erasing, inserting, deleting, scrolling. Returns whether it was one of them.
    fn move_or_edit(&mut self, csi: &Csi<'_>, sequence: &[u8]) -> bool {
        if self.move_between(csi) {
            return true;
        }
        let n = csi.number(0, 1);
        match csi.last {
            // The parser lets a margin stop only what starts inside the region.
            b'A' | b'F' | b'k' if self.cursor_position().0 > self.margins.bottom => {
                self.leave_edge();
                let n = n.min(self.cursor_position().0 - self.margins.top);
                self.inject(&format!("\x1b[{n}{}", if csi.last == b'F' { 'F' } else { 'A' }));
            }
            b'B' | b'E' if self.cursor_position().0 < self.margins.top => {
                self.leave_edge();
                let n = n.min(self.margins.bottom - self.cursor_position().0);
                self.inject(&format!("\x1b[{n}{}", char::from(csi.last)));
            }
            b'X' => {
                self.leave_edge();
                let col = self.cursor_position().1;
                self.erase_cut([col, col.saturating_add(n)]);
                self.feed(sequence);
            }
            b'A' | b'B' | b'E' | b'F' => {
                self.leave_edge();
                self.feed(sequence);
            }
            b'D' | b'j' => self.back(n),
            b'k' => {
                self.leave_edge();
                self.inject(&format!("\x1b[{n}A"));
            }
            b'a' => self.inject(&format!("\x1b[{n}C")),
            b'd' => {
                let col = self.cursor_in_row();
                self.inject(&format!("\x1b[{n};{}H", col + 1));
            }
            b'e' => {
                let last = if self.is_origin { self.margins.bottom } else { self.n_rows() - 1 };
                let row = self.cursor_position().0.saturating_add(n).min(last);
                let col = self.cursor_in_row();
                self.go_to(row, col);
            }
            b'J' if csi.params == b"3" => {
                if self.config.may_program_clear_history {
                    self.archive_scrolled();
                    self.history.clear();
                }
            }
            b'J' => {
                self.leave_erased_edge(csi);
                // What the top row continued is gone from the screen, so its line has ended.
                self.archive_scrolled();
                let is_top_erased = matches!(csi.number(0, 0), 1 | 2) || self.cursor_position() == (0, 0);
                if is_top_erased && !self.is_alt_screen() {
                    self.history.close_open();
                }
                self.erase_cut(self.cut_by_erasing(csi));
                self.feed(sequence);
                self.has_wide_bg &= csi.number(0, 0) != 2 || self.is_alt_screen();
            }
            b'K' => {
                self.leave_erased_edge(csi);
                self.erase_cut(self.cut_by_erasing(csi));
                self.feed(sequence);
            }
            b'@' | b'P' | b'L' | b'M' => self.insert_or_delete(csi.last, n, sequence),
            b'S' | b'T' => self.scroll(csi, n),
            b'b' => self.repeat(n),
            b's' if self.text.has_columns => self.set_columns(csi),
            b's' if csi.params.is_empty() => self.save_cursor(),
            b'u' => self.restore_cursor(),
            b'r' => self.set_margins(csi, sequence),
            _ => return false,
        }
        true
    }

    /// Puts the cursor onto the last column where erasing takes the character there. Where text does not go
    /// on in the next row it stands there anyway.
    fn leave_erased_edge(&mut self, csi: &Csi<'_>) {
        if matches!(csi.number(0, 0), 1 | 2) || !self.text.is_autowrap {
            self.leave_edge();
        }
    }

    /// Where EL or ED cuts the row of the cursor.
    fn cut_by_erasing(&self, csi: &Csi<'_>) -> [u16; 2] {
        let col = self.cursor_position().1;
        match csi.number(0, 0) {
            0 => [col; 2],
            1 => [col.saturating_add(1); 2],
            _ => [0; 2],
        }
    }

    /// Erases the wide characters of the cursor's row that are cut in half in front of these columns.
    fn erase_cut(&mut self, cuts: [u16; 2]) {
        let row = self.cursor_position().0;
        for at in cuts {
            let is_cut = self.parser.screen().cell(row, at).is_some_and(vt100::Cell::is_wide_continuation);
            if let Some(left) = at.checked_sub(1).filter(|_| is_cut) {
                self.keeping_cursor(|term| {
                    term.go_to(row, left);
                    term.inject("\x1b[2X");
                });
            }
        }
    }

    /// Whether the top row may continue a line that has already left the screen in part.
    fn is_line_open(&self) -> bool {
        self.history.is_open() || self.parser.callbacks().has_rows()
    }

    /// CUB and BS. With reverse wraparound (DECSET 45) the first column follows the last one of the row
    /// above, and the top of the region its bottom.
    pub(super) fn back(&mut self, n: u16) {
        let is_reverse = self.text.is_reverse_wrap || self.text.is_reverse_wrap_extended;
        let is_wrapping = is_reverse && self.text.is_autowrap;
        let columns = self.text.columns;
        let is_waiting = self.is_at_edge() || columns.is_some_and(|columns| columns.is_waiting);
        let mut n = n - u16::from(is_wrapping && is_waiting);
        self.leave_edge();
        self.wait(false);
        let last = columns.map_or(self.n_cols() - 1, |columns| columns.right);
        while n > 0 {
            let (row, col) = self.cursor_position();
            let first = columns.map_or(0, |columns| columns.left);
            let first = if col < first { 0 } else { first };
            if !is_wrapping || n <= col - first {
                let n = n.min(col - first);
                self.inject(&if n > 0 { format!("\x1b[{n}D") } else { String::new() });
                return;
            }
            n -= col - first + 1;
            let above = match row {
                _ if row == self.margins.top => self.margins.bottom,
                0 => self.n_rows() - 1,
                _ => row - 1,
            };
            self.go_to(above, last);
        }
    }

    /// ICH, DCH, IL, DL; the cells that come in take the background.
    pub(super) fn insert_or_delete(&mut self, last: u8, n: u16, sequence: &[u8]) {
        if let Some(columns) = self.text.columns {
            self.insert_or_delete_between(columns, last, n);
            return;
        }
        if matches!(last, b'L' | b'M') && !self.margins.contains(self.cursor_position().0) {
            return;
        }
        self.leave_edge();
        let (row, col) = self.cursor_position();
        let n_cols = self.n_cols();
        match last {
            b'@' => self.erase_cut([col, n_cols.saturating_sub(n).max(col)]),
            b'P' => self.erase_cut([col, col.saturating_add(n)]),
            _ => {}
        }
        if last == b'@' && n >= n_cols - col {
            self.inject("\x1b[K"); // the parser is not safe there
        } else {
            self.feed(sequence);
        }
        if !self.pen.has_bg {
            return;
        }
        let Margins { top, bottom } = self.margins;
        match last {
            b'@' => self.inject(&format!("\x1b[{n}X")),
            b'P' => {
                let first = n_cols - n.min(n_cols - col);
                self.inject(&format!("\x1b[{}G\x1b[K\x1b[{}G", first + 1, col + 1));
            }
            b'L' => self.erase_rows(row, n.min(bottom - row + 1)),
            b'M' => {
                let n = n.min(bottom - row.max(top) + 1);
                self.erase_rows(bottom + 1 - n, n);
            }
            _ => {}
        }
    }

    /// SU and SD. `CSI T` with several parameters is mouse tracking of old and is left out.
    fn scroll(&mut self, csi: &Csi<'_>, n: u16) {
        let Margins { top, bottom } = self.margins;
        let n = n.min(bottom - top + 1);
        if csi.last == b'S' {
            self.inject(&format!("\x1b[{n}S"));
            self.settle_edge();
            self.erase_rows(bottom + 1 - n, n);
        } else if csi.params().count() <= 1 {
            self.inject(&format!("\x1b[{n}T"));
            self.settle_edge();
            self.erase_rows(top, n);
        }
    }

    /// REP, through our own printing so that modes and styles hold. A second one in a row has no
    /// character in front of it to repeat.
    fn repeat(&mut self, n: u16) {
        let Some(last) = self.last_char else { return };
        let n_cells = usize::from(self.n_cols()) * usize::from(self.n_rows());
        let text: String = std::iter::repeat_n(last, usize::from(n).min(n_cells)).collect();
        let charsets = std::mem::take(&mut self.text.charsets);
        if self.is_fast(&mut &[][..], text.as_bytes(), false) {
            self.inject(&text);
        } else {
            self.print_slowly(text.as_bytes(), false);
        }
        self.text.charsets = charsets;
        self.last_char = None;
    }

    fn set_margins(&mut self, csi: &Csi<'_>, sequence: &[u8]) {
        let n_rows = self.n_rows();
        let (top, bottom) = (csi.number(0, 1), csi.number(1, n_rows).min(n_rows));
        if top >= bottom {
            return;
        }
        self.feed(sequence);
        self.margins = Margins { top: top - 1, bottom: bottom - 1 };
        self.go_home();
    }

    /// A line feed that fills the row which scrolls in with the background. A cursor that waits behind
    /// the last column stands on it then, as in xterm.
    pub(super) fn line_feed(&mut self) {
        if let Some(columns) = self.text.columns {
            self.line_feed_between(columns);
            return;
        }
        self.leave_edge();
        let will_scroll = self.cursor_position().0 == self.margins.bottom;
        self.inject("\n");
        if will_scroll {
            self.erase_rows(self.margins.bottom, 1);
        }
    }

    /// Erases rows again where the parser brought them in without the background.
    fn erase_rows(&mut self, first: u16, n: u16) {
        let (row, col) = self.cursor_position();
        if !self.pen.has_bg {
            return;
        }
        for row in first..first.saturating_add(n).min(self.n_rows()) {
            self.inject(&format!("\x1b[{}d\x1b[2K", row + 1));
        }
        self.return_cursor(row, col);
        self.paint_erased(first..first.saturating_add(n).min(self.n_rows()));
    }

    /// Whether cells that are erased now must be painted.
    fn is_painting(&self) -> bool {
        self.pen.has_bg && !self.is_alt_screen()
    }

    /// Prints blanks onto the cells of some rows that were erased in a background. The parser does not tell
    /// such cells from unwritten ones once their row leaves the screen, and everything that draws a screen
    /// again prints blanks there too.
    fn paint_erased(&mut self, rows: Range<u16>) {
        if !self.is_painting() {
            return;
        }
        let screen = self.parser.screen();
        let mut painted = Replay::default();
        for row in rows {
            let mut next = None;
            for col in 0..self.n_cols() {
                let Some(cell) = screen.cell(row, col).filter(|cell| is_unprinted(cell)) else { continue };
                if next != Some(col) {
                    painted.text.push_str(&cursor_to(row, col));
                }
                painted.set_look(style_of_cell(cell), None);
                painted.text.push(' ');
                next = Some(col + 1);
            }
        }
        if !painted.text.is_empty() {
            self.keeping_cursor(|term| term.inject(&painted.text));
        }
    }

    /// Moves the cursor.
    pub(super) fn go_to(&mut self, row: u16, col: u16) {
        self.inject(&cursor_to(row, col));
    }

    /// The column of the cursor, the last one where it stands behind it.
    pub(super) fn cursor_in_row(&self) -> u16 {
        self.cursor_position().1.min(self.n_cols() - 1)
    }

    fn escape(&mut self, sequence: &[u8]) {
        match sequence.get(1..).unwrap_or_default() {
            b"7" => self.save_cursor(),
            b"8" => self.restore_cursor(),
            b"6" => self.step_column(false),
            b"9" => self.step_column(true),
            b"D" => self.line_feed(),
            b"E" => {
                self.line_feed();
                self.carriage_return();
            }
            b"M" => self.reverse_line_feed(),
            b"H" => self.set_tab_stop(true),
            b"V" => self.protect(true, true),
            b"W" => self.protect(false, self.private.is_protection_strict),
            b"c" => self.hard_reset(),
            b"#8" => self.alignment_pattern(),
            b"n" => self.text.locked = 2,
            b"o" => self.text.locked = 3,
            b"N" => self.text.single_shift = Some(self.text.charsets[2]),
            b"O" => self.text.single_shift = Some(self.text.charsets[3]),
            b"Z" => self.report_device(),
            [slot, name] => {
                if let Some((slot, charset)) = Charset::selected(*slot, *name) {
                    self.text.charsets[slot] = charset;
                }
            }
            // Nothing the parser knows is left.
            _ => {}
        }
    }

    fn reverse_line_feed(&mut self) {
        if let Some(columns) = self.text.columns {
            self.reverse_line_feed_between(columns);
            return;
        }
        let row = self.cursor_position().0;
        if row == 0 && self.margins.top > 0 {
            return; // the parser would scroll the region
        }
        self.leave_edge();
        self.inject("\x1bM");
        if row == self.margins.top {
            self.erase_rows(row, 1);
        }
    }

    /// DECALN: the screen full of E.
    fn alignment_pattern(&mut self) {
        self.is_origin = false;
        self.margins = Margins::whole(self.n_rows());
        self.text.columns = None;
        let look = self.parser.screen().attributes_formatted();
        let row_of_e = "E".repeat(usize::from(self.n_cols()));
        let mut pattern = String::from("\x1b[?6l\x1b[r\x1b[m");
        for row in 1..=self.n_rows() {
            pattern.push_str(&format!("\x1b[{row};1H{row_of_e}"));
        }
        self.inject(&format!("{pattern}\x1b[H{look}"));
    }
}

/// Moves the cursor, origin mode or not: the parser's VPA ignores that mode.
fn cursor_to(row: u16, col: u16) -> String {
    format!("\x1b[{}d\x1b[{}G", row + 1, col + 1)
}
