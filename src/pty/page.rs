//! A page of logical lines on its way to a client that looks through history.

use super::PtyError;
use super::row::{self, Reader, write_number};
use crate::base::grid::{Row, Run};

/// Styled lines from one number on, and where they stand among all lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinePage {
    /// The number of `lines[0]`.
    pub first: u64,
    pub lines: Vec<Vec<Run>>,
    /// The oldest line that is kept.
    pub oldest: u64,
    /// The line at the top of the screen.
    pub screen: u64,
    /// The first number of which no line exists yet.
    pub end: u64,
    /// The line and column of the cursor.
    pub cursor: (u64, usize),
    /// The lines on which a prompt began, in order; only in a page of the end.
    pub prompts: Vec<u64>,
}

impl LinePage {
    /// The page as bytes for the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let (cursor_line, cursor_col) = self.cursor;
        for number in [self.first, self.oldest, self.screen, self.end, cursor_line, cursor_col as u64] {
            write_number(&mut out, number);
        }
        write_number(&mut out, self.prompts.len() as u64);
        self.prompts.iter().for_each(|line| write_number(&mut out, *line));
        for runs in &self.lines {
            // A line that is said to go on keeps its blanks.
            let bytes = row::encode(&Row { runs: runs.clone(), is_wrapped: true });
            write_number(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        out
    }

    /// Reads a page from the wire.
    ///
    /// # Errors
    /// [`PtyError::Malformed`] where the bytes were not made by [`LinePage::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, PtyError> {
        let mut reader = Reader::new(bytes);
        let mut number = || reader.number();
        let (first, oldest, screen, end) = (number()?, number()?, number()?, number()?);
        let cursor = (number()?, usize::try_from(number()?).unwrap_or(0));
        let n_prompts = number()?;
        let prompts = (0..n_prompts).map(|_| number()).collect::<Result<_, _>>()?;
        let mut lines = Vec::new();
        while !reader.is_empty() {
            lines.push(row::decode(reader.block()?)?.runs);
        }
        Ok(Self { first, lines, oldest, screen, end, cursor, prompts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::size::TermSize;
    use crate::pty::term::{Term, TermConfig};

    #[test]
    fn a_page_survives_the_wire_and_a_cut_one_is_refused() {
        let mut term = Term::new(TermSize::clamped(3, 10), TermConfig::default());
        term.process("\x1b]133;A\x07$ \x1b[31m日本\x1b[m ls\r\na\r\n\x1b]133;A\x07$ \r\nb\r\nc".as_bytes());
        let page = term.line_page(None, 99, 1 << 20);
        assert_eq!(page.prompts, [0, 2]);
        let bytes = page.encode();
        assert_eq!(LinePage::decode(&bytes).unwrap(), page);
        assert!(LinePage::decode(&bytes[..bytes.len() - 1]).is_err());
        assert!(LinePage::decode(&[]).is_err());
    }

    #[test]
    fn prompts_of_a_screen_that_was_cleared_are_forgotten() {
        let mut term = Term::new(TermSize::clamped(4, 10), TermConfig::default());
        term.process(b"\x1b]133;A\x07$ a\r\n\x1b]133;A\x07$ b\r\n\x1b[2J\x1b[H\x1b]133;A\x07$ ");
        let page = term.line_page(None, 99, 1 << 20);
        assert_eq!(page.prompts.last(), Some(&page.cursor.0));
        assert!(page.prompts.is_sorted() && page.prompts.len() <= 3, "{:?}", page.prompts);
    }
}
