//! Screens drawn one over the other: rows that are written again before anybody can see them are not
//! drawn.
//!
//! The result is the same, cell for cell; only the work in between is left out.

use super::pen;
use super::scan::{self, Csi};
use super::sgr;
use super::state::Pen;
use super::term::Term;
use crate::base::grid::Style;
use crate::base::size::TermSize;
use std::collections::HashSet;

const ESC: u8 = 0x1b;

/// A part of what a program draws.
enum Part<'a> {
    /// Makes the whole of a row, whatever was in it: text from the first column on, and what is left is
    /// erased.
    Row { row: u16, bytes: &'a [u8] },
    /// Has nothing to do with rows and cursor.
    Aside(&'a [u8]),
}

impl Term {
    /// Takes rows off the front of `bytes`, and draws the last of each. Gives how many bytes that was; the
    /// rest is to be handled as usual.
    pub(super) fn skip_rows(&mut self, bytes: &[u8]) -> usize {
        if !self.is_plain_text() {
            return 0;
        }
        let Parts { parts, n_used, last } = parts_of(bytes, self.size());
        let mut later = HashSet::new();
        let mut shown: Vec<_> = parts.iter().rev().filter(|part| part.is_shown(&mut later)).collect();
        if shown.len() == parts.len() {
            return self.draw(&bytes[..n_used], 0);
        }
        shown.reverse();
        let mut drawn = Vec::new();
        for part in shown {
            match part {
                Part::Row { row, bytes } => {
                    drawn.extend_from_slice(format!("\x1b[{};1H", row + 1).as_bytes());
                    drawn.extend_from_slice(bytes);
                }
                Part::Aside(bytes) => drawn.extend_from_slice(bytes),
            }
        }
        self.draw(&drawn, 0);
        self.last_char = last.map(char::from).or(self.last_char);
        n_used
    }
}

impl Part<'_> {
    /// Whether it must be drawn, where the rows in `later` are written after it.
    fn is_shown(&self, later: &mut HashSet<u16>) -> bool {
        match self {
            Self::Row { row, .. } => later.insert(*row),
            Self::Aside(_) => true,
        }
    }
}

struct Parts<'a> {
    parts: Vec<Part<'a>>,
    n_used: usize,
    /// The character printed last.
    last: Option<u8>,
}

/// The parts at the start of `bytes`, up to the first thing that is none.
fn parts_of(bytes: &[u8], size: TermSize) -> Parts<'_> {
    let mut found = Parts { parts: Vec::new(), n_used: 0, last: None };
    // The row in which the cursor is.
    let mut at: Option<u16> = None;
    loop {
        let rest = &bytes[found.n_used..];
        let n_sequence = if rest.first() == Some(&ESC) { scan::sequence_len(rest, 0) } else { Some(0) };
        let Some(n_sequence) = n_sequence else { return found };
        let sequence = &rest[..n_sequence];
        if matches!(sequence, b"\x1b[?25h" | b"\x1b[?25l" | b"\x1b[?2026h" | b"\x1b[?2026l") {
            found.parts.push(Part::Aside(sequence));
            found.n_used += n_sequence;
            continue;
        }
        let below = at.map(|row| row + 1).filter(|row| rest.starts_with(b"\r\n") && *row < size.n_rows());
        let Some(row) = below.or_else(|| row_of(sequence, size)) else { return found };
        let n_move = if n_sequence > 0 { n_sequence } else { 2 };
        let Some((n_row, last)) = whole_row(&rest[n_move..], size) else { return found };
        found.parts.push(Part::Row { row, bytes: &rest[n_move..n_move + n_row] });
        found.n_used += n_move + n_row;
        found.last = last.or(found.last);
        at = Some(row);
    }
}

/// The row to whose start a sequence leads.
fn row_of(sequence: &[u8], size: TermSize) -> Option<u16> {
    let csi = Csi::parse(sequence).filter(|csi| csi.last == b'H' && csi.private == 0)?;
    let is_plain = csi.params.iter().all(|byte| *byte != b':') && csi.params().count() <= 2;
    let is_start = csi.intermediates.is_empty() && csi.number(1, 1) == 1;
    (is_plain && is_start).then(|| csi.number(0, 1).min(size.n_rows()) - 1)
}

/// The bytes at the start of `bytes` that make a whole row from its first column on, and the character
/// printed last. They are printable ASCII that does not reach the last column, colours and styles that the
/// parser knows, and erase to the right at least once; they end in the default look.
fn whole_row(bytes: &[u8], size: TermSize) -> Option<(usize, Option<u8>)> {
    let (mut n_used, mut n_cols, mut last, mut is_erased) = (0, 0, None, false);
    let (mut pen, mut style) = (Pen::default(), Style::default());
    loop {
        let rest = &bytes[n_used..];
        let n_text = rest.iter().take_while(|byte| (0x20..0x7f).contains(*byte)).count();
        n_cols += n_text;
        if n_cols >= size.n_cols().into() {
            return None;
        }
        last = rest[..n_text].last().copied().or(last);
        n_used += n_text;
        let tail = &rest[n_text..];
        if tail.starts_with(b"\x1b[K") {
            is_erased = true;
            n_used += 3;
            continue;
        }
        let sequence = scan::sequence_len(tail, 0).filter(|_| tail.first() == Some(&ESC));
        let sequence = sequence.map_or(&b""[..], |n| &tail[..n]);
        match pen::followed_simply(pen, sequence).zip(Csi::parse(sequence)) {
            Some((followed, csi)) => {
                sgr::changes(&csi, |change| sgr::apply(&mut style, change));
                pen = followed;
                n_used += sequence.len();
            }
            None => {
                let is_whole = is_erased && pen == Pen::default() && style == Style::default();
                return is_whole.then_some((n_used, last));
            }
        }
    }
}
