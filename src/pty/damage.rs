//! Which rows of the screen output may have changed, so that only those are encoded again.
//!
//! The parser does not say what it touches. So each piece that it is given is read along: where the
//! cursor may be is kept as a range of rows, and what is printed or erased touches that range. The
//! answer may name rows that did not change, never the other way round: whatever is not understood
//! here touches everything.

use super::scan;
use crate::base::size::TermSize;

/// Larger pieces change most of the screen; reading along would cost more than it saves.
const MAX_PIECE: usize = 2_048;
const ESC: u8 = 0x1b;

/// For each row the generation of the terminal in which it was touched last.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Everything was touched in this generation.
    whole: u64,
    rows: Vec<u64>,
}

/// What must be known of the terminal in front of a piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub size: TermSize,
    /// Row and column of the cursor; the column may be one past the last.
    pub cursor: (u16, u16),
    /// Rows scroll only at the edges of the screen.
    pub has_whole_margins: bool,
    /// Positions count from the top of the screen.
    pub is_absolute: bool,
}

impl Damage {
    /// Whether `row` may have changed after `generation`.
    pub fn is_touched_since(&self, row: u16, generation: u64) -> bool {
        let touched = self.rows.get(usize::from(row)).copied().unwrap_or(0);
        self.whole.max(touched) > generation
    }

    /// Everything may have changed.
    pub fn touch_all(&mut self, generation: u64) {
        self.whole = generation;
    }

    /// Reads along what the parser is given in `generation`.
    pub fn follow(&mut self, piece: &[u8], generation: u64, place: Place) {
        if self.whole == generation {
            return;
        }
        self.rows.resize(place.size.n_rows().into(), 0);
        let is_followed = piece.len() <= MAX_PIECE
            && Walk { rows: &mut self.rows, generation, place, at: Span::at(place.cursor) }.all(piece);
        if !is_followed {
            self.whole = generation;
        }
    }
}

/// Where the cursor may be: from row `top` to row `bottom`, at most in column `col`.
#[derive(Debug, Clone, Copy)]
struct Span {
    top: u16,
    bottom: u16,
    col: usize,
}

impl Span {
    fn at((row, col): (u16, u16)) -> Self {
        Self { top: row, bottom: row, col: col.into() }
    }
}

struct Walk<'a> {
    rows: &'a mut [u64],
    generation: u64,
    place: Place,
    at: Span,
}

/// The piece cannot be followed, so everything counts as touched.
struct Lost;

impl Walk<'_> {
    fn all(mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while !rest.is_empty() {
            let n_text = memchr::memchr(ESC, rest).unwrap_or(rest.len());
            let (text, tail) = rest.split_at(n_text);
            let n_sequence = if tail.is_empty() { Some(0) } else { scan::sequence_len(tail, 0) };
            let Some(n_sequence) = n_sequence else { return false };
            let (sequence, after) = tail.split_at(n_sequence);
            if self.text(text).and_then(|()| self.sequence(sequence)).is_err() {
                return false;
            }
            rest = after;
        }
        true
    }

    fn last_row(&self) -> u16 {
        self.place.size.n_rows().saturating_sub(1)
    }

    fn touch(&mut self, top: u16, bottom: u16) {
        let span = usize::from(top)..=usize::from(bottom).min(self.rows.len().saturating_sub(1));
        self.rows.get_mut(span).unwrap_or_default().fill(self.generation);
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Lost> {
        let is_control = |byte: &u8| *byte < 0x20 || *byte == 0x7f;
        let mut rest = text;
        while !rest.is_empty() {
            let n_printed = rest.iter().position(is_control).unwrap_or(rest.len());
            let (printed, after) = rest.split_at(n_printed);
            self.print(printed)?;
            let Some((control, after)) = after.split_first() else { break };
            match control {
                b'\n' | 0x0b | 0x0c => self.down(1)?,
                b'\r' => self.at.col = 0,
                b'\t' => self.at.col = (self.at.col + 8).min(self.place.size.n_cols().into()),
                0x07 | 0x08 | 0x7f => {}
                _ => return Err(Lost),
            }
            rest = after;
        }
        Ok(())
    }

    /// Characters take at most as many columns as bytes.
    fn print(&mut self, text: &[u8]) -> Result<(), Lost> {
        if text.is_empty() {
            return Ok(());
        }
        let n_cols = usize::from(self.place.size.n_cols());
        let top = self.at.top;
        self.at.col += text.len();
        if self.at.col > n_cols {
            // A wide character may leave the last column of each row free.
            let n_filled = if text.is_ascii() { n_cols } else { n_cols - 1 };
            let n_wraps = u16::try_from((self.at.col - 1) / n_filled.max(1));
            self.down(n_wraps.map_err(|_| Lost)?)?;
            self.at = Span { top, col: n_cols, ..self.at };
        }
        self.touch(top, self.at.bottom);
        Ok(())
    }

    /// Down by line feeds or wrapping, which scrolls at the bottom.
    fn down(&mut self, n: u16) -> Result<(), Lost> {
        let bottom = self.at.bottom.saturating_add(n);
        if bottom > self.last_row() || !self.place.has_whole_margins {
            return Err(Lost);
        }
        self.at = Span { top: self.at.top + n, bottom, ..self.at };
        Ok(())
    }

    fn sequence(&mut self, sequence: &[u8]) -> Result<(), Lost> {
        match sequence {
            [] | [ESC, b'=' | b'>' | b'7'] => Ok(()),
            [ESC, b'[', body @ .., last] => self.control(body, *last),
            _ => Err(Lost),
        }
    }

    fn control(&mut self, params: &[u8], last: u8) -> Result<(), Lost> {
        if params.iter().any(|byte| *byte < 0x20) {
            return Err(Lost); // a control character inside is executed first
        }
        match (last, params) {
            (b'm', _) | (b'q', [.., b' ']) => return Ok(()),
            (
                b'h' | b'l',
                b"?25" | b"?1" | b"?2004" | b"?1000" | b"?1002" | b"?1003" | b"?1006" | b"?1005",
            ) => {
                return Ok(());
            }
            _ => {}
        }
        let (first, second) = numbers(params).ok_or(Lost)?;
        let n = first.max(1);
        let Span { top, bottom, .. } = self.at;
        match last {
            b'H' | b'f' | b'd' if self.place.is_absolute => {
                let row = (n - 1).min(self.last_row());
                self.at.top = row;
                self.at.bottom = row;
                if last != b'd' {
                    self.at.col = usize::from(second.max(1) - 1);
                }
            }
            b'G' | b'`' => self.at.col = usize::from(n - 1),
            b'C' | b'a' => self.at.col += usize::from(n),
            b'D' => {}
            b'A' if self.place.has_whole_margins => {
                self.at.top = top.saturating_sub(n);
                self.at.bottom = bottom.saturating_sub(n);
            }
            b'B' if self.place.has_whole_margins => {
                self.at.top = top.saturating_add(n).min(self.last_row());
                self.at.bottom = bottom.saturating_add(n).min(self.last_row());
            }
            b'K' | b'X' | b'P' | b'@' => self.touch(top, bottom),
            b'J' if first == 0 => self.touch(top, self.last_row()),
            _ => return Err(Lost),
        }
        self.at.col = self.at.col.min(self.place.size.n_cols().into());
        Ok(())
    }
}

/// The first two numbers, 0 where there is none; nothing where it is more than plain numbers.
fn numbers(params: &[u8]) -> Option<(u16, u16)> {
    let text = std::str::from_utf8(params).ok()?;
    let mut numbers = text.split(';').map(|number| match number {
        "" => Some(0),
        _ if number.bytes().all(|byte| byte.is_ascii_digit()) => number.parse().ok(),
        _ => None,
    });
    let first = numbers.next().unwrap_or(Some(0))?;
    let second = numbers.next().unwrap_or(Some(0))?;
    numbers.next().is_none().then_some((first, second))
}
