//! Text on its way to the parser, with the column in which it will leave the cursor.
//!
//! The parser is given as much as possible at once, because each piece costs; knowing the column saves
//! asking it in front of each wide character whether that has room.

use unicode_width::UnicodeWidthChar as _;

/// What is to be printed next.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub bytes: Vec<u8>,
    /// The column of the cursor behind `bytes`, maybe one past the last; `None` where it must be asked.
    pub col: Option<u16>,
    /// The character of the cell left of the cursor, if that cell is pending too.
    pub last: Option<char>,
}

impl Pending {
    /// Nothing, in the memory of `bytes`.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, col: None, last: None }
    }

    /// Forgets everything: it was handed on, and the cursor may be moved now.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.col = None;
        self.last = None;
    }

    /// Adds `n_cells` cells of one column, the last of which shows `last`.
    pub fn push_cells(&mut self, text: &str, last: char, n_cells: usize, n_cols: u16) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.last = Some(last);
        let n_cols = usize::from(n_cols);
        self.col = self.col.and_then(|col| {
            let end = usize::from(col) + n_cells;
            u16::try_from(if end > n_cols { (end - 1) % n_cols + 1 } else { end }).ok()
        });
    }

    /// Adds one cell of `width` columns, which goes to the next row where it has no room.
    pub fn push_cell(&mut self, text: &str, shown: char, width: u16, n_cols: u16) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.last = Some(shown);
        self.col = self.col.map(|col| if col + width > n_cols { width } else { col + width });
    }

    /// Adds a character without width, which belongs to the cell in front and may make it wide.
    pub fn push_mark(&mut self, mark: char) {
        self.bytes.extend_from_slice(mark.encode_utf8(&mut [0; 4]).as_bytes());
        if !self.is_last_wide() {
            self.col = None;
        }
    }

    /// Whether the cell left of the cursor is pending and two columns wide.
    pub fn is_last_wide(&self) -> bool {
        self.last.is_some_and(|last| last.width() == Some(2))
    }

    /// Adds a control character.
    pub fn push_control(&mut self, control: u8) {
        self.bytes.push(control);
        self.last = None;
        match control {
            b'\r' => self.col = Some(0),
            b'\n' | 0x0b | 0x0c | 0x07 => {}
            _ => self.col = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_is_known_as_long_as_nothing_odd_happens() {
        let mut pending = Pending::new(Vec::new());
        pending.push_cells("abc", 'c', 3, 10);
        assert_eq!((pending.col, pending.last), (None, Some('c')));
        pending.push_control(b'\r');
        assert_eq!((pending.col, pending.last), (Some(0), None));
        pending.push_cells("0123456789", '9', 10, 10);
        assert_eq!(pending.col, Some(10), "the cursor waits behind the last column");
        pending.push_cells("ab", 'b', 2, 10);
        assert_eq!(pending.col, Some(2));
        pending.push_cell("日", '日', 2, 3);
        assert_eq!(pending.col, Some(2), "it had no room and begins the next row");
        pending.push_control(b'\n');
        assert_eq!(pending.col, Some(2));
        pending.push_control(b'\t');
        assert_eq!(pending.col, None);
    }
}
