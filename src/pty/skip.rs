//! Floods of plain lines: those that would leave the top before anybody can see them are put into
//! history directly, without being drawn.
//!
//! The result is the same, cell for cell and line for line; only the work in between is left out.

use super::state::{Margins, Pen};
use super::term::Term;

/// Shorter runs are drawn: what is saved must be more than what scrolling the screen away costs.
const MIN_BYTES: usize = 16 << 10;

/// Whether looking for lines to skip may pay.
pub(super) fn is_long(text: &[u8]) -> bool {
    text.len() >= MIN_BYTES
}

impl Term {
    /// Takes as much as it can off the front of `text`, which the parser may be given as it is.
    /// Gives how many bytes that was; the rest is to be printed as usual.
    pub(super) fn skip_lines(&mut self, text: &[u8]) -> usize {
        if !self.may_skip() {
            return 0;
        }
        let n_rows = usize::from(self.n_rows());
        let bottom = self.n_rows() - 1;
        let (width, mut lines) = (usize::from(self.n_cols()), Vec::new());
        // The first line goes on in a row of which nothing is known.
        let Some(first) = memchr::memchr(b'\n', text) else { return 0 };
        let mut from = first + 1;
        while let Some(end) = memchr::memchr(b'\n', &text[from..]).map(|n| from + n) {
            if !is_plain_line(&text[from..end], width) {
                break;
            }
            lines.push(from..end + 1);
            from = end + 1;
        }
        // Down to the bottom row first, where each line scrolls.
        let n_head = if self.cursor_position().0 == bottom { 0 } else { n_rows };
        if lines.len() < n_head + 3 * n_rows {
            return 0;
        }
        let head_end = lines[n_head].start;
        let tail_start = lines[lines.len() - (n_rows - 1)].start;
        self.feed(&text[..head_end]);
        if self.cursor_position() != (bottom, 0) {
            return head_end;
        }
        self.feed("\n".repeat(n_rows - 1).as_bytes());
        self.archive_scrolled();
        for line in &lines[n_head..lines.len() - (n_rows - 1)] {
            // Printable ASCII, as was looked at above.
            let line = std::str::from_utf8(&text[line.start..line.end - 2]).unwrap_or_default();
            self.history.push_plain(line);
        }
        self.feed(b"\x1b[H");
        self.feed(&text[tail_start..from]);
        from
    }

    /// Whether lines scroll off the top of the main screen and leave rows in the default look.
    fn may_skip(&self) -> bool {
        !self.is_alt_screen()
            && self.margins == Margins::whole(self.n_rows())
            && !self.is_origin
            && self.pen == Pen::default()
            && is_plain_pen(self.parser.screen())
    }
}

fn is_plain_pen(screen: &vt100::Screen) -> bool {
    let has_style =
        screen.bold() || screen.dim() || screen.italic() || screen.underline() || screen.inverse();
    !has_style && screen.fgcolor() == vt100::Color::Default && screen.bgcolor() == vt100::Color::Default
}

/// Printable ASCII that fits into a row, with the carriage return in front of its line feed.
fn is_plain_line(line: &[u8], width: usize) -> bool {
    let Some((b'\r', text)) = line.split_last() else { return false };
    text.len() <= width && text.iter().all(|byte| (0x20..0x7f).contains(byte))
}
