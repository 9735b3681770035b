//! A text that is being written: several lines, a cursor, the keys hands know.

use crate::base::input::{Key, KeyEvent};
use crate::base::text;
use unicode_segmentation::UnicodeSegmentation as _;

/// The longest text that fits a field, in bytes: what a message body may be.
const MAX_BYTES: usize = 1 << 20;

/// Text with a cursor. The cursor is a byte offset on a grapheme boundary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field {
    text: String,
    at: usize,
}

/// What a key did to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// The field took the key.
    Taken,
    /// Enter: the text is finished.
    Submitted,
    /// Esc.
    Left,
    /// Not a key for a field.
    Ignored,
}

impl Field {
    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes pasted text, cleaned of control characters.
    pub fn paste(&mut self, pasted: &str) {
        self.insert(&text::many_lines(pasted).replace('\r', "\n"));
    }

    fn insert(&mut self, more: &str) {
        if self.text.len() + more.len() <= MAX_BYTES {
            self.text.insert_str(self.at, more);
            self.at += more.len();
        }
    }

    /// Takes a key. Enter submits; Alt+Enter, Shift+Enter and Ctrl+J begin a new line.
    pub fn key(&mut self, event: &KeyEvent) -> Edit {
        let is_modified = event.mods.is_alt || event.mods.is_shift;
        match event.key {
            Key::Enter if is_modified => self.insert("\n"),
            Key::Enter => return Edit::Submitted,
            Key::Esc => return Edit::Left,
            Key::Char(c) if event.mods.is_ctrl => return self.control(c),
            Key::Char(_) if event.mods.is_alt || event.mods.is_super => return Edit::Ignored,
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Backspace if event.mods.is_alt => self.delete_word(),
            Key::Backspace => self.delete_to(self.before()),
            Key::Delete => {
                let after = self.after();
                self.text.drain(self.at..after);
            }
            Key::Left => self.at = self.before(),
            Key::Right => self.at = self.after(),
            Key::Home => self.at = self.line_start(),
            Key::End => self.at = self.line_end(),
            Key::Up => self.vertical(false),
            Key::Down => self.vertical(true),
            Key::Tab | Key::BackTab | Key::PageUp | Key::PageDown | Key::Insert | Key::F(_) => {
                return Edit::Ignored;
            }
            Key::KeypadBegin | Key::Menu | Key::PrintScreen | Key::Pause => return Edit::Ignored,
        }
        Edit::Taken
    }

    fn control(&mut self, c: char) -> Edit {
        match c {
            'j' => self.insert("\n"),
            'a' => self.at = self.line_start(),
            'e' => self.at = self.line_end(),
            'u' => self.delete_to(self.line_start()),
            'k' => drop(self.text.drain(self.at..self.line_end())),
            'w' => self.delete_word(),
            'h' => self.delete_to(self.before()),
            _ => return Edit::Ignored,
        }
        Edit::Taken
    }

    fn delete_to(&mut self, from: usize) {
        self.text.drain(from..self.at);
        self.at = from;
    }

    fn delete_word(&mut self) {
        let head = self.text.get(..self.at).unwrap_or_default();
        let kept = head.trim_end().trim_end_matches(|c: char| !c.is_whitespace());
        self.delete_to(kept.len());
    }

    fn before(&self) -> usize {
        let head = self.text.get(..self.at).unwrap_or_default();
        head.grapheme_indices(true).next_back().map_or(0, |(index, _)| index)
    }

    fn after(&self) -> usize {
        let tail = self.text.get(self.at..).unwrap_or_default();
        self.at + tail.graphemes(true).next().map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.text.get(..self.at).and_then(|head| head.rfind('\n')).map_or(0, |index| index + 1)
    }

    fn line_end(&self) -> usize {
        let tail = self.text.get(self.at..).unwrap_or_default();
        tail.find('\n').map_or(self.text.len(), |index| self.at + index)
    }

    /// Moves a line up or down, to the same number of graphemes from the left where there are so
    /// many.
    fn vertical(&mut self, is_down: bool) {
        let start = self.line_start();
        let n_left = self.text.get(start..self.at).unwrap_or_default().graphemes(true).count();
        let target = if is_down {
            let end = self.line_end();
            if end == self.text.len() { return } else { end + 1 }
        } else if start == 0 {
            return;
        } else {
            self.text.get(..start - 1).and_then(|head| head.rfind('\n')).map_or(0, |index| index + 1)
        };
        self.at = target;
        let line = self.text.get(target..self.line_end()).unwrap_or_default();
        self.at += line.graphemes(true).take(n_left).map(str::len).sum::<usize>();
    }

    /// The text in rows of at most `n_cols` columns, and the row and column of the cursor.
    pub fn rows(&self, n_cols: u16) -> (Vec<String>, (u16, u16)) {
        let n_cols = usize::from(n_cols.max(2));
        let (mut rows, mut cursor) = (vec![String::new()], (0, 0));
        let mut used = 0;
        for (index, grapheme) in self.text.grapheme_indices(true) {
            let width = if grapheme == "\t" { 1 } else { text::width(grapheme) };
            if grapheme != "\n" && used + width > n_cols {
                rows.push(String::new());
                used = 0;
            }
            if index == self.at {
                cursor = (rows.len() - 1, used);
            }
            if grapheme == "\n" {
                rows.push(String::new());
                used = 0;
            } else if let Some(row) = rows.last_mut() {
                row.push_str(if grapheme == "\t" { " " } else { grapheme });
                used += width;
            }
        }
        if self.at >= self.text.len() {
            if used >= n_cols {
                rows.push(String::new());
                used = 0;
            }
            cursor = (rows.len() - 1, used);
        }
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        (rows, (short(cursor.0), short(cursor.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::input::Mods;

    fn press(field: &mut Field, key: Key, mods: Mods) -> Edit {
        field.key(&KeyEvent::press(key, mods))
    }

    fn typed(text: &str) -> Field {
        let mut field = Field::default();
        for c in text.chars() {
            press(&mut field, Key::Char(c), Mods::NONE);
        }
        field
    }

    #[test]
    fn several_lines_are_written_and_enter_submits() {
        let mut field = typed("ab");
        let alt = Mods { is_alt: true, ..Mods::NONE };
        assert_eq!(press(&mut field, Key::Enter, alt), Edit::Taken);
        field.paste("c\u{1b}d\r\ne");
        assert_eq!(field.text(), "ab\ncd\ne");
        press(&mut field, Key::Up, Mods::NONE);
        press(&mut field, Key::Backspace, Mods::NONE);
        assert_eq!(field.text(), "ab\nd\ne");
        assert_eq!(press(&mut field, Key::Enter, Mods::NONE), Edit::Submitted);
        assert_eq!(press(&mut field, Key::Esc, Mods::NONE), Edit::Left);
    }

    #[test]
    fn graphemes_are_whole_and_rows_wrap_by_columns() {
        let mut field = typed("日本👩‍💻x");
        press(&mut field, Key::Left, Mods::NONE);
        press(&mut field, Key::Backspace, Mods::NONE);
        assert_eq!(field.text(), "日本x");
        assert_eq!(field.rows(4), (vec!["日本".to_owned(), "x".to_owned()], (1, 0)));
        let ctrl = Mods { is_ctrl: true, ..Mods::NONE };
        press(&mut field, Key::Char('u'), ctrl);
        assert_eq!(field.text(), "x");
        let mut words = typed("one two ");
        press(&mut words, Key::Char('w'), ctrl);
        assert_eq!(words.text(), "one ");
    }
}
