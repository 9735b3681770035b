//! Floods of lines: those that would leave the top before anybody can see them are put into history
//! directly, without being drawn.
//!
//! The result is the same, cell for cell and line for line; only the work in between is left out.

use super::pen;
use super::scan::Csi;
use super::sgr;
use super::state::{Margins, Pen};
use super::term::Term;
use crate::base::grid::Style;
use std::ops::Range;

/// Shorter pieces are drawn: what is saved must be more than what scrolling the screen away costs.
const MIN_BYTES: usize = 16 << 10;
/// So much is drawn at least before looking for lines to skip again.
const MIN_DRAWN: usize = 1 << 10;
const ESC: u8 = 0x1b;

/// Whether looking for lines to skip may pay.
pub(super) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() >= MIN_BYTES
}

/// Where looking may pay again, behind something at `from` that must be drawn: behind a line, or in front
/// of a sequence that may begin a row.
pub(super) fn next_try(bytes: &[u8], from: usize) -> usize {
    let after = bytes.get(from + MIN_DRAWN..).unwrap_or_default();
    let begins_row = |at: usize| {
        let body = after.get(at + 2..).unwrap_or_default();
        let last = body.iter().find(|byte| !matches!(byte, b'0'..=b'9' | b';' | b'?'));
        after.get(at + 1) == Some(&b'[') && matches!(last, Some(b'H' | b'h' | b'l'))
    };
    let ends = memchr::memchr2_iter(b'\n', ESC, after).find_map(|at| match after.get(at) {
        Some(b'\n') => Some(at + 1),
        _ => begins_row(at).then_some(at),
    });
    ends.map_or(bytes.len(), |at| from + MIN_DRAWN + at)
}

impl Term {
    /// Takes lines off the front of `bytes` where that pays. Gives how many bytes that was; the rest is
    /// to be handled as usual.
    pub(super) fn skip_lines(&mut self, bytes: &[u8]) -> usize {
        if self.is_alt_screen() || !self.is_plain_text() {
            return 0;
        }
        // The first line goes on in a row of which nothing is known.
        let Some(first) = memchr::memchr(b'\n', bytes) else { return 0 };
        let width = usize::from(self.n_cols());
        let lines = whole_lines(bytes, first + 1);
        let (n_rows, bottom) = (usize::from(self.n_rows()), self.n_rows() - 1);
        // Down to the bottom row first, where each line scrolls; the first line may lead anywhere.
        let is_still = memchr::memchr(ESC, &bytes[..first]).is_none();
        let n_head = if is_still && self.cursor_position().0 == bottom { 0 } else { n_rows };
        if lines.len() < n_head + 3 * n_rows {
            // They need not be looked at again.
            return self.draw(&bytes[..lines.last().map_or(0, |line| line.bytes.end)], 0);
        }
        let (drawn_first, rest) = lines.split_at(n_head);
        let (skipped, shown) = rest.split_at(rest.len() - n_last(rest, n_rows - 1, width));
        let head = drawn_first.last().map_or(first + 1, |line| line.bytes.end);
        let n_used = self.draw(&bytes[..head], 0);
        let may_skip = !self.is_alt_screen() && self.is_plain_text();
        if n_used < head || !may_skip || self.cursor_position() != (bottom, 0) {
            return n_used;
        }
        self.feed("\n".repeat(n_rows - 1).as_bytes());
        self.archive_scrolled();
        for line in skipped {
            // It is ASCII, as was looked at above; the line's end is no part of it.
            let text = std::str::from_utf8(&bytes[line.bytes.clone()]).unwrap_or_default();
            let text = text.trim_end_matches(['\r', '\n']);
            self.history.push_simple_line(text, line.n_cols, width);
        }
        self.feed(b"\x1b[H");
        let tail = skipped.last().map_or(head, |line| line.bytes.end);
        let end = shown.last().map_or(tail, |line| line.bytes.end);
        tail + self.draw(&bytes[tail..end], 0)
    }

    /// Whether text goes on in the default look, and lines scroll off the top of the screen and leave rows in
    /// that look.
    pub(super) fn is_plain_text(&self) -> bool {
        self.margins == Margins::whole(self.n_rows())
            && !self.is_origin
            && self.pen == Pen::default()
            && self.tag.is_empty()
            && !self.is_after_joiner
            && !self.is_kept_apart
            && !self.text.needs_care()
            && is_plain(self.parser.screen())
    }
}

fn is_plain(screen: &vt100::Screen) -> bool {
    let has_style =
        screen.bold() || screen.dim() || screen.italic() || screen.underline() || screen.inverse();
    !has_style && screen.fgcolor() == vt100::Color::Default && screen.bgcolor() == vt100::Color::Default
}

/// A line that may be skipped.
struct Line {
    /// Where it is, with its end.
    bytes: Range<usize>,
    n_cols: usize,
}

/// How many of the last lines are needed to fill `n_rows` rows; all where they do not.
fn n_last(lines: &[Line], n_rows: usize, width: usize) -> usize {
    let mut n_filled = 0;
    let is_needed = |line: &&Line| {
        let is_needed = n_filled < n_rows;
        n_filled += line.n_cols.div_ceil(width).max(1);
        is_needed
    };
    lines.iter().rev().take_while(is_needed).count()
}

/// The lines from `from` on that may be skipped, up to the first that may not.
fn whole_lines(bytes: &[u8], from: usize) -> Vec<Line> {
    let (mut from, mut lines) = (from, Vec::new());
    while let Some(n) = memchr::memchr(b'\n', &bytes[from..]) {
        let Some(n_cols) = simple_cols(&bytes[from..from + n]) else { break };
        lines.push(Line { bytes: from..from + n + 1, n_cols });
        from += n + 1;
    }
    lines
}

/// The columns that a line takes, without its line feed, if it is printable ASCII that ends in the default
/// look, with no sequences but colours and styles that the parser knows.
fn simple_cols(line: &[u8]) -> Option<usize> {
    let Some((b'\r', mut rest)) = line.split_last() else { return None };
    // A file that has them itself shows as many in front of each line feed.
    while let Some((b'\r', before)) = rest.split_last() {
        rest = before;
    }
    let (mut n_cols, mut pen, mut style) = (0, Pen::default(), Style::default());
    while !rest.is_empty() {
        let n_text = memchr::memchr(ESC, rest).unwrap_or(rest.len());
        let (text, sequence) = rest.split_at(n_text);
        n_cols += text.len();
        if !text.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            return None;
        }
        if sequence.is_empty() {
            break;
        }
        let (sequence, after) = sequence.split_at(memchr::memchr(b'm', sequence)? + 1);
        let followed = pen::followed_simply(pen, sequence)?;
        let csi = Csi::parse(sequence)?;
        sgr::changes(&csi, |change| sgr::apply(&mut style, change));
        (pen, rest) = (followed, after);
    }
    (pen == Pen::default() && style == Style::default()).then_some(n_cols)
}
