//! Printing text that the parser alone would print wrongly, character by character.
//!
//! Most text never comes here: `Term::is_fast` decides. What does: text in an extra style, in insert
//! mode, in another character set, with odd tab stops, with backspaces, emoji or damaged UTF-8.

use super::cells::{color_of, is_unprinted, style_of_cell};
use super::pending::Pending;
use super::sgr;
use super::style;
use super::term::Term;
use super::{cluster, scan};
use crate::base::grid::Style;
use unicode_width::UnicodeWidthChar as _;

const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;
/// Shown in place of bytes that are no text; the parser drops U+FFFD, which would shift columns.
const REPLACEMENT: char = '□';

impl Term {
    /// Whether `text` may go to the parser as it is. `is_last` says that the stream ends after it.
    /// `before` is what the parser has not been given yet of what precedes the text; it is handed over
    /// here where the answer depends on the cursor.
    pub(super) fn is_fast(&mut self, before: &mut &[u8], text: &[u8], is_last: bool) -> bool {
        if self.pen.has_bg && !text.is_ascii() && !self.is_alt_screen() {
            self.has_wide_bg = true;
        }
        if self.text.needs_care() || !self.tag.is_empty() || self.is_after_joiner || self.is_kept_apart {
            return false;
        }
        if self.is_halving() {
            return false;
        }
        let has_control = self.n_rows() == 1
            || memchr::memchr3(0x08, SHIFT_OUT, SHIFT_IN, text).is_some()
            || has_line_feed(text, self.pen.has_bg);
        if has_control {
            return false;
        }
        if memchr::memchr(b'\t', text).is_some() && self.tabs_at_edge(before, text) {
            return false;
        }
        if text.is_ascii() {
            self.note_last(text);
            return true;
        }
        let whole = &text[..text.len() - if is_last { scan::utf8_tail(text) } else { 0 }];
        let is_simple = memchr::memchr3(0xef, 0xf0, 0xf3, text).is_none()
            && memchr::memmem::find(text, cluster::JOINER_BYTES).is_none()
            && std::str::from_utf8(whole)
                .is_ok_and(|text| !has_loose_mark(text) && !self.wraps_wide(before, text));
        if is_simple {
            self.note_last(whole);
        }
        is_simple
    }

    /// Whether a tab in `text` may find the cursor behind the last column, where the parser would put it onto
    /// that. Each byte counts as a column, so that it is not missed.
    fn tabs_at_edge(&mut self, before: &mut &[u8], text: &[u8]) -> bool {
        self.feed(std::mem::take(before));
        let n_cols = usize::from(self.n_cols());
        let mut col = usize::from(self.cursor_position().1);
        for byte in text {
            match byte {
                b'\r' => col = 0,
                b'\t' if col >= n_cols => return true,
                b'\t' => col += 8 - col % 8,
                b' '.. => col += 1,
                _ => {}
            }
        }
        false
    }

    /// Whether a wide character in `text` meets a row with one column left.
    fn wraps_wide(&mut self, before: &mut &[u8], text: &str) -> bool {
        if !text.chars().any(|c| c.width() == Some(2)) {
            return false;
        }
        self.feed(std::mem::take(before));
        let n_cols = usize::from(self.n_cols());
        let mut col = usize::from(self.cursor_position().1);
        for c in text.chars() {
            let width = match c {
                '\r' => {
                    col = 0;
                    continue;
                }
                '\t' => {
                    col = (col + 8 - col % 8).min(n_cols - 1);
                    continue;
                }
                _ => c.width().unwrap_or(0),
            };
            if width == 2 && col + 1 == n_cols {
                return true;
            }
            col = if col + width > n_cols { width } else { col + width };
        }
        false
    }

    /// Remembers the last character with a width, which REP repeats.
    fn note_last(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(last) = rest.last() {
            if (0x20..0x7f).contains(last) {
                self.last_char = Some(char::from(*last));
                return;
            }
            let n_back = rest.iter().rev().take_while(|b| **b & 0xc0 == 0x80).count() + 1;
            let (before, end) = rest.split_at(rest.len().saturating_sub(n_back));
            let found = std::str::from_utf8(end).ok().and_then(|s| s.chars().next());
            if let Some(c) = found.filter(|c| c.width().unwrap_or(0) > 0) {
                self.last_char = Some(c);
                return;
            }
            rest = before;
        }
    }

    /// Prints `text` with care; returns how many bytes were used, which is fewer only where the
    /// stream ends inside a character.
    pub(super) fn print_slowly(&mut self, text: &[u8], is_last: bool) -> usize {
        let mut out = Pending::new(std::mem::take(&mut self.scratch));
        let mut n_used = 0;
        for chunk in text.utf8_chunks() {
            self.print_valid(&mut out, chunk.valid());
            n_used += chunk.valid().len();
            let damaged = chunk.invalid();
            // Cut off by what follows it is damaged, at the end it may go on.
            let is_at_end = n_used + damaged.len() == text.len();
            let is_unfinished = std::str::from_utf8(damaged).is_err_and(|error| error.error_len().is_none());
            if is_last && is_at_end && is_unfinished {
                break;
            }
            n_used += damaged.len();
            // A lone C1 control is nothing to show.
            if !damaged.is_empty() && !matches!(damaged, [0x80..=0x9f]) {
                self.put(&mut out, REPLACEMENT);
            }
        }
        self.flush_into(&mut out);
        self.scratch = out.bytes;
        n_used
    }

    fn print_valid(&mut self, out: &mut Pending, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let n_used = match c {
                '\0'..='\x1f' | '\x7f' => {
                    self.control(out, c as u8);
                    1
                }
                _ => {
                    let n_plain = self.put_plain(out, rest);
                    if n_plain > 0 { n_plain } else { self.put_cluster(out, rest) }
                }
            };
            if n_used == 0 {
                let c = self.translate(c);
                self.put(out, c);
            }
            rest = &rest[if n_used == 0 { c.len_utf8() } else { n_used }..];
            if self.is_halving() && !c.is_control() {
                self.flush_into(out);
                self.paint_half();
            }
        }
    }

    /// Prints the ASCII characters at the start of `text` where none of them needs care; returns how
    /// many they are.
    fn put_plain(&mut self, out: &mut Pending, text: &str) -> usize {
        if self.text.needs_care() || !self.tag.is_empty() || self.n_rows() == 1 {
            return 0;
        }
        let n_plain = text.bytes().take_while(|b| (0x20..0x7f).contains(b)).count();
        let plain = &text[..n_plain];
        if let Some(last) = plain.chars().next_back() {
            self.paint_cut(out);
            self.is_after_joiner = false;
            self.is_kept_apart = false;
            self.last_char = Some(last);
            out.push_cells(plain, last, n_plain, self.n_cols());
        }
        n_plain
    }

    /// Prints the emoji at the start of `text` at once where it is made of several characters that the
    /// screen need not be asked about; returns how many bytes they are. What this leaves to
    /// [`Self::put`], character by character, comes out the same.
    fn put_cluster(&mut self, out: &mut Pending, text: &str) -> usize {
        let needs_care = self.text.needs_care() || self.n_rows() == 1;
        if self.is_replaying || self.is_after_joiner || self.is_kept_apart || needs_care {
            return 0;
        }
        let Some(cluster) = cluster::leading(text) else { return 0 };
        let may_join_left = cluster.is_flag && out.last.is_none_or(cluster::may_join);
        let may_leave_row = !cluster.is_base_wide && self.column(out) + 2 > self.n_cols();
        if may_join_left || may_leave_row || !(cluster.is_joined || self.tag.is_empty()) {
            return 0;
        }
        self.paint_cut(out);
        if !cluster.is_joined {
            // The parser knows how a selector makes its character wide.
            self.fill_edge(out);
            out.push_cell(cluster.text, cluster.base, 2, self.n_cols());
        } else {
            if self.clusters.is_full() {
                self.flush_into(out);
                self.collect_unused();
            }
            let Some(interned) = self.clusters.intern(cluster.text) else { return 0 };
            self.fill_edge(out);
            out.push_cell(interned.encode_utf8(&mut [0; 4]), interned, 2, self.n_cols());
            out.bytes.extend_from_slice(self.tag.as_bytes());
        }
        self.last_char = Some(cluster.base);
        cluster.text.len()
    }

    /// Prints `text`, which fits into its row, in the current look but in no mode, and remembers none of it.
    pub(super) fn print_as_is(&mut self, text: &str) {
        let modes = std::mem::take(&mut self.text);
        let before = (self.last_char, self.is_after_joiner, self.is_kept_apart);
        (self.is_after_joiner, self.is_kept_apart) = (false, true);
        self.print_slowly(text.as_bytes(), false);
        self.text = modes;
        (self.last_char, self.is_after_joiner, self.is_kept_apart) = before;
    }

    /// Hands everything in `out` to the parser, so that the screen is current.
    fn flush_into(&mut self, out: &mut Pending) {
        self.feed(&out.bytes);
        out.clear();
    }

    /// The column of the cursor behind what is pending; it may be one past the last.
    fn column(&mut self, out: &mut Pending) -> u16 {
        if let Some(col) = out.col {
            return col;
        }
        self.flush_into(out);
        let col = self.cursor_position().1;
        out.col = Some(col);
        col
    }

    /// Fills the last column where a wide character that comes next has no room in it.
    fn fill_edge(&mut self, out: &mut Pending) {
        if self.column(out) + 1 == self.n_cols() {
            out.push_cell(style::FILLER, ' ', 1, self.n_cols());
        }
    }

    fn translate(&mut self, c: char) -> char {
        match self.text.single_shift.take() {
            Some(charset) => charset.map(c),
            None => self.text.charset().map(c),
        }
    }

    fn control(&mut self, out: &mut Pending, byte: u8) {
        if self.text.columns.is_some() {
            self.flush_into(out);
            if self.control_between(byte) {
                return;
            }
        }
        match byte {
            SHIFT_OUT => self.text.locked = 1,
            SHIFT_IN => self.text.locked = 0,
            0x08 => {
                self.flush_into(out);
                self.back(1);
                out.last = None;
            }
            b'\t' if self.column(out) >= self.n_cols() => {
                // Text goes on behind it as if it were not there, or it goes on itself (41).
                if self.text.is_tab_wrapping {
                    self.flush_into(out);
                    self.line_feed();
                    self.carriage_return();
                    self.tab_forward(1);
                }
            }
            b'\t' if self.text.tab_stops.is_some() => {
                self.flush_into(out);
                self.tab_forward(1);
            }
            b'\n' | 0x0b | 0x0c => {
                if self.pen.has_bg || self.column(out) >= self.n_cols() {
                    self.flush_into(out);
                    self.line_feed();
                } else {
                    out.push_control(byte);
                }
                if self.text.is_newline {
                    out.push_control(b'\r');
                }
            }
            _ => out.push_control(byte),
        }
    }

    fn put(&mut self, out: &mut Pending, c: char) {
        if !self.is_replaying && (style::is_tag(c) || cluster::is_interned(c)) {
            // Reserved for our own use inside cells.
            self.is_kept_apart = self.is_redrawing && c == cluster::APART;
            return;
        }
        let is_kept_apart = std::mem::take(&mut self.is_kept_apart);
        let was_after_joiner = std::mem::replace(&mut self.is_after_joiner, c == cluster::JOINER);
        let c = if c == '\u{fffd}' { REPLACEMENT } else { c };
        if let Some(columns) = self.text.columns {
            self.flush_into(out);
            self.put_between(c, columns);
            return;
        }
        if c == cluster::EMOJI_STYLE && !out.is_last_wide() {
            self.flush_into(out);
            if self.widen(c) {
                return;
            }
        }
        let is_alone = self.is_replaying || is_kept_apart;
        if !is_alone && (cluster::may_join(c) || (was_after_joiner && cluster::is_emoji_like(c))) {
            self.flush_into(out);
            if self.join(c) {
                return;
            }
        }
        let width = c.width().unwrap_or(usize::from(u32::from(c) >= 256)).min(2);
        if width == 0 {
            if out.last.is_none() {
                self.flush_into(out);
            }
            if out.last.is_some() || self.has_stand() {
                out.push_mark(c);
            }
            return;
        }
        self.last_char = Some(c);
        self.paint_cut(out);
        let width = if width == 2 { 2 } else { 1 };
        self.prepare_cell(out, width);
        if self.n_rows() == 1 {
            self.flush_into(out);
            self.tell_wrap(width);
        }
        if width == 2 && self.text.is_autowrap {
            self.fill_edge(out);
        }
        out.push_cell(c.encode_utf8(&mut [0; 4]), c, width, self.n_cols());
        if !self.text.is_autowrap {
            out.col = None;
        }
        out.bytes.extend_from_slice(self.tag.as_bytes());
    }

    /// Does what insert mode and switched-off wrapping ask for in front of a character.
    fn prepare_cell(&mut self, out: &mut Pending, width: u16) {
        if !self.text.is_autowrap {
            self.flush_into(out);
            if self.is_past_edge(width) {
                let col = self.n_cols() - (width - 1);
                self.inject(&format!("\x1b[{col}G"));
            }
        }
        if self.text.is_insert {
            if width == 2 && self.text.is_autowrap {
                self.fill_edge(out);
            }
            self.flush_into(out);
            if self.is_at_edge() && self.text.is_autowrap {
                self.inject("\r\n");
            }
            self.inject(&format!("\x1b[{width}@"));
        }
    }

    /// Whether text may cut a wide character in half whose other half must be painted: what the parser leaves
    /// there it does not tell from an unwritten cell once the row leaves the screen.
    pub(super) fn is_halving(&self) -> bool {
        self.has_wide_bg && !self.is_alt_screen()
    }

    /// Paints blanks in place of the wide character whose second half the cursor stands on.
    fn paint_cut(&mut self, out: &mut Pending) {
        if !self.is_halving() {
            return;
        }
        self.flush_into(out);
        let (row, col) = self.cursor_position();
        let screen = self.parser.screen();
        let is_cut = screen.cell(row, col).is_some_and(vt100::Cell::is_wide_continuation);
        if let Some(cell) = col.checked_sub(1).filter(|_| is_cut).and_then(|left| screen.cell(row, left)) {
            let bg = Style { bg: color_of(cell.bgcolor()), ..Style::default() };
            self.paint(row, col - 1, bg, "  ");
        }
    }

    /// Paints a blank onto the cell at the cursor where it is what is left of a wide character.
    fn paint_half(&mut self) {
        let (row, col) = self.cursor_position();
        if let Some(cell) = self.parser.screen().cell(row, col).filter(|cell| is_unprinted(cell)) {
            self.paint(row, col, style_of_cell(cell), " ");
        }
    }

    /// Prints `text` somewhere in a look of its own.
    fn paint(&mut self, row: u16, col: u16, style: Style, text: &str) {
        let cursor = self.cursor_position();
        let look = self.parser.screen().attributes_formatted();
        let mut painted = String::new();
        sgr::write(&style, &mut painted);
        painted.push_str(text);
        self.go_to(row, col);
        self.inject(&painted);
        self.go_to(cursor.0, cursor.1);
        self.inject(&look);
    }

    /// Whether the cursor stands behind the last column, about to wrap.
    pub(super) fn is_at_edge(&self) -> bool {
        self.cursor_position().1 >= self.n_cols()
    }

    /// Whether a mark has a cell left of the cursor to stand on. Where nothing was written there, a blank is,
    /// which shows the background as the cell did.
    pub(super) fn has_stand(&mut self) -> bool {
        let (row, col) = self.cursor_position();
        let left = col.checked_sub(1).and_then(|left| self.parser.screen().cell(row, left));
        let Some(cell) = left else { return false };
        if !cell.has_contents() && !cell.is_wide_continuation() {
            let mut blank = String::from("\x1b[D");
            sgr::write(&style_of_cell(cell), &mut blank);
            let look = self.parser.screen().attributes_formatted();
            self.inject(&format!("{blank} "));
            self.inject(&look);
        }
        true
    }

    /// Whether a character of `width` columns has no room in this row.
    fn is_past_edge(&self, width: u16) -> bool {
        self.cursor_position().1 + width > self.n_cols()
    }

    /// Tells our callbacks, if a character of `width` columns goes on in the next row, that the line does
    /// too. The parser does not say so where the only row leaves the screen by that.
    pub(super) fn tell_wrap(&mut self, width: u16) {
        let will_wrap = self.n_rows() == 1 && self.text.is_autowrap && self.is_past_edge(width);
        self.parser.callbacks_mut().expect_wrap(will_wrap);
    }

    /// Lets a cursor wait behind the last column only where there is a character that it was put behind.
    pub(super) fn settle_edge(&mut self) {
        if self.is_at_edge() && !self.is_edge_printed(self.cursor_position().0) {
            self.leave_edge();
        }
    }

    /// Puts a cursor that stands behind the last column onto it.
    pub(super) fn leave_edge(&mut self) {
        if self.is_at_edge() {
            let n_cols = self.n_cols();
            self.inject(&format!("\x1b[{n_cols}G"));
        }
    }
}

/// Whether `text` has line feeds that must not go to the parser as they are: those behind anything but a
/// carriage return may find the cursor behind the last column, and all of them need care where
/// `is_filling` says that the row which scrolls in takes a background.
fn has_line_feed(text: &[u8], is_filling: bool) -> bool {
    memchr::memchr3_iter(b'\n', 0x0b, 0x0c, text)
        .any(|at| is_filling || at.checked_sub(1).and_then(|before| text.get(before)) != Some(&b'\r'))
}

/// Whether a mark in `text` stands behind a control character or at the start, so that the screen must be
/// asked for its character: where nothing was written it would take a look that nothing shows.
fn has_loose_mark(text: &str) -> bool {
    let mut is_behind_character = false;
    text.chars().any(|c| {
        let is_loose = !is_behind_character && c.width() == Some(0);
        is_behind_character = !c.is_control();
        is_loose
    })
}
