//! Printing text that the parser alone would print wrongly, character by character.
//!
//! Most text never comes here: `Term::is_fast` decides. What does: text in an extra style, in insert
//! mode, in another character set, with odd tab stops, with backspaces, emoji or damaged UTF-8.

use super::style;
use super::term::Term;
use super::{cluster, scan};
use unicode_width::UnicodeWidthChar as _;

const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;
/// Shown in place of bytes that are no text; the parser drops U+FFFD, which would shift columns.
const REPLACEMENT: char = '□';

/// Whether a character of two columns may be in `text`.
pub(super) fn has_wide(text: &[u8]) -> bool {
    !text.is_ascii()
        && std::str::from_utf8(text).map_or(true, |text| text.chars().any(|c| c.width() == Some(2)))
}

impl Term {
    /// Whether `text` may go to the parser as it is. `is_last` says that the stream ends after it.
    pub(super) fn is_fast(&mut self, text: &[u8], is_last: bool) -> bool {
        if self.text.needs_care() || !self.tag.is_empty() || self.is_after_joiner || self.is_kept_apart {
            return false;
        }
        let has_control = memchr::memchr3(0x08, SHIFT_OUT, SHIFT_IN, text).is_some()
            || (self.pen.has_bg && memchr::memchr3(b'\n', 0x0b, 0x0c, text).is_some());
        if has_control {
            return false;
        }
        if text.is_ascii() {
            self.note_last(text);
            return true;
        }
        let whole = &text[..text.len() - if is_last { scan::utf8_tail(text) } else { 0 }];
        let is_simple = memchr::memchr3(0xef, 0xf0, 0xf3, text).is_none()
            && memchr::memmem::find(text, cluster::JOINER_BYTES).is_none()
            && std::str::from_utf8(whole).is_ok_and(|text| !self.wraps_wide(text));
        if is_simple {
            self.note_last(whole);
        }
        is_simple
    }

    /// Whether a wide character in `text` meets a row with one column left.
    fn wraps_wide(&self, text: &str) -> bool {
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
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if byte < 0x20 || byte == 0x7f {
                at += 1;
                self.control(&mut out, byte);
                continue;
            }
            match first_char(&text[at..]) {
                Decoded::Char(c) => {
                    at += c.len_utf8();
                    let c = self.translate(c);
                    self.put(&mut out, c);
                }
                Decoded::Unfinished if is_last => break,
                Decoded::Unfinished => {
                    at = text.len();
                    self.put(&mut out, REPLACEMENT);
                }
                Decoded::Invalid(n_bytes) => {
                    at += n_bytes;
                    // A lone C1 control is nothing to show.
                    if !(n_bytes == 1 && (0x80..=0x9f).contains(&byte)) {
                        self.put(&mut out, REPLACEMENT);
                    }
                }
            }
        }
        self.flush_into(&mut out);
        self.scratch = out;
        at
    }

    /// Hands everything in `out` to the parser, so that the screen is current.
    pub(super) fn flush_into(&mut self, out: &mut Vec<u8>) {
        self.feed(out);
        out.clear();
    }

    fn translate(&mut self, c: char) -> char {
        match self.text.single_shift.take() {
            Some(charset) => charset.map(c),
            None => self.text.charset().map(c),
        }
    }

    fn control(&mut self, out: &mut Vec<u8>, byte: u8) {
        match byte {
            SHIFT_OUT => self.text.locked = 1,
            SHIFT_IN => self.text.locked = 0,
            0x08 => {
                self.flush_into(out);
                self.leave_edge();
                out.push(byte);
            }
            b'\t' if self.text.tab_stops.is_some() => {
                self.flush_into(out);
                self.tab_forward(1);
            }
            b'\n' | 0x0b | 0x0c => {
                if self.pen.has_bg {
                    self.flush_into(out);
                    self.line_feed();
                } else {
                    out.push(byte);
                }
                if self.text.is_newline {
                    out.push(b'\r');
                }
            }
            _ => out.push(byte),
        }
    }

    fn put(&mut self, out: &mut Vec<u8>, c: char) {
        if !self.is_replaying && (style::is_tag(c) || cluster::is_interned(c)) {
            // Reserved for our own use inside cells.
            self.is_kept_apart = self.is_redrawing && c == cluster::APART;
            return;
        }
        let is_kept_apart = std::mem::take(&mut self.is_kept_apart);
        let was_after_joiner = std::mem::replace(&mut self.is_after_joiner, c == cluster::JOINER);
        let c = if c == '\u{fffd}' { REPLACEMENT } else { c };
        if c == cluster::EMOJI_STYLE {
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
        if width > 0 {
            self.last_char = Some(c);
            self.prepare_cell(out, if width == 2 { 2 } else { 1 });
        }
        if width == 2 && self.text.is_autowrap {
            self.flush_into(out);
            if self.cursor_position().1 + 1 == self.n_cols() {
                out.extend_from_slice(style::FILLER.as_bytes());
            }
        }
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        if width > 0 {
            out.extend_from_slice(self.tag.as_bytes());
        }
    }

    /// Does what insert mode and switched-off wrapping ask for in front of a character.
    fn prepare_cell(&mut self, out: &mut Vec<u8>, width: u16) {
        if !self.text.is_autowrap {
            self.flush_into(out);
            if self.is_past_edge(width) {
                let col = self.n_cols() - (width - 1);
                self.inject(&format!("\x1b[{col}G"));
            }
        }
        if self.text.is_insert {
            self.flush_into(out);
            if self.is_at_edge() && self.text.is_autowrap {
                self.inject("\r\n");
            }
            self.inject(&format!("\x1b[{width}@"));
        }
    }

    /// Whether the cursor stands behind the last column, about to wrap.
    pub(super) fn is_at_edge(&self) -> bool {
        self.cursor_position().1 >= self.n_cols()
    }

    /// Whether a character of `width` columns has no room in this row.
    fn is_past_edge(&self, width: u16) -> bool {
        self.cursor_position().1 + width > self.n_cols()
    }

    /// Puts a cursor that stands behind the last column onto it.
    pub(super) fn leave_edge(&mut self) {
        if self.is_at_edge() {
            let n_cols = self.n_cols();
            self.inject(&format!("\x1b[{n_cols}G"));
        }
    }
}

enum Decoded {
    Char(char),
    /// The bytes end inside a character.
    Unfinished,
    /// So many bytes are no text.
    Invalid(usize),
}

fn first_char(bytes: &[u8]) -> Decoded {
    let n_bytes = match bytes.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0x80..) => 2,
        _ => 1,
    };
    let head = &bytes[..bytes.len().min(n_bytes)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => return error.error_len().map_or(Decoded::Unfinished, Decoded::Invalid),
    };
    valid.chars().next().map_or(Decoded::Invalid(1), Decoded::Char)
}
