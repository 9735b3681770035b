//! Writing text into cells: cut to width, wrapped, in pieces of several roles.

use crate::base::text;
use crate::tui::theme::{Role, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation as _;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub role: Role,
}

/// A line: pieces from the left, and pieces that keep to the right edge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub left: Vec<Span>,
    pub right: Vec<Span>,
    pub is_selected: bool,
    /// The right side matters more: the left one is cut for it, down to a few columns.
    pub is_right_first: bool,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a piece on the left.
    pub fn then(mut self, text: impl Into<String>, role: Role) -> Self {
        self.left.push(Span { text: text.into(), role });
        self
    }

    /// Adds a piece on the right.
    pub fn at_right(mut self, text: impl Into<String>, role: Role) -> Self {
        self.right.push(Span { text: text.into(), role });
        self
    }

    /// Shows the line as the one under the cursor.
    pub fn selected(mut self, is_selected: bool) -> Self {
        self.is_selected = is_selected;
        self
    }

    /// Draws into the first row of `area`. The right side is kept whole where at least half of the
    /// line stays for the left one; the left one is cut.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, theme: Theme) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let style_of = |role: Role| {
            let style = theme.style(role);
            if self.is_selected {
                style.remove_modifier(Modifier::DIM).add_modifier(Modifier::REVERSED)
            } else {
                style
            }
        };
        if self.is_selected {
            let row = Rect { height: 1, ..area };
            buffer.set_style(row, Style::default().add_modifier(Modifier::REVERSED));
        }
        let total = usize::from(area.width);
        let mut right_width: usize = self.right.iter().map(|span| text::width(&span.text)).sum();
        let left_width: usize = self.left.iter().map(|span| text::width(&span.text)).sum();
        let is_kept = self.is_right_first && right_width + 8 <= total;
        let fits = right_width * 2 <= total || left_width + right_width < total;
        let has_right = right_width > 0 && (is_kept || fits);
        if has_right {
            let mut col = area.right() - u16::try_from(right_width).unwrap_or(area.width);
            for span in &self.right {
                buffer.set_stringn(col, area.y, &span.text, total, style_of(span.role));
                col += u16::try_from(text::width(&span.text)).unwrap_or(0);
            }
            right_width += 1;
        } else {
            right_width = 0;
        }
        let mut room = total.saturating_sub(right_width);
        let mut col = area.x;
        for span in &self.left {
            let cut = text::cut_width(&span.text, room);
            let width = text::width(&cut);
            buffer.set_stringn(col, area.y, &cut, room, style_of(span.role));
            col += u16::try_from(width).unwrap_or(0);
            room -= width.min(room);
            if cut != span.text {
                if has_right {
                    // What the line is drawn over does not touch the cut.
                    buffer.set_string(col, area.y, " ", style_of(span.role));
                }
                break;
            }
        }
    }
}

/// Breaks text into rows of at most `n_cols` columns, at spaces where that is possible.
pub fn wrap(source: &str, n_cols: usize) -> Vec<String> {
    let n_cols = n_cols.max(2);
    let mut rows = Vec::new();
    for line in text::many_lines(source).replace('\t', "    ").split('\n') {
        let mut row = String::new();
        let mut used = 0;
        for word in unbroken(line) {
            let width = text::width(&word);
            if used + width > n_cols && used > 0 {
                rows.push(std::mem::take(&mut row).trim_end().to_owned());
                used = 0;
                if word.trim().is_empty() {
                    continue;
                }
            }
            for grapheme in word.graphemes(true) {
                let width = text::width(grapheme);
                if used + width > n_cols {
                    rows.push(std::mem::take(&mut row));
                    used = 0;
                }
                row.push_str(grapheme);
                used += width;
            }
        }
        rows.push(row.trim_end().to_owned());
    }
    rows
}

/// The pieces of a line between which it may be broken: words with what stands close to them, blanks, and the
/// signs of scripts that are written without blanks.
fn unbroken(line: &str) -> Vec<String> {
    let is_open = |piece: &str| piece.trim().is_empty() || text::width(piece) > piece.chars().count();
    let mut pieces: Vec<String> = Vec::new();
    let mut was_open = true;
    for piece in line.split_word_bounds() {
        let is_open = is_open(piece);
        match pieces.last_mut().filter(|_| !is_open && !was_open) {
            Some(last) => last.push_str(piece),
            None => pieces.push(piece.to_owned()),
        }
        was_open = is_open;
    }
    pieces
}

/// Draws lines from the top of an area, as many as fit.
pub fn draw_lines(lines: &[Line], area: Rect, buffer: &mut Buffer, theme: Theme) {
    for (row, line) in (area.top()..area.bottom()).zip(lines) {
        line.draw(Rect { y: row, height: 1, ..area }, buffer, theme);
    }
}

/// Draws a frame with a title and, at the bottom, the keys that work inside; returns the inside.
pub fn framed(title: &str, hints: &[(String, &str)], area: Rect, buffer: &mut Buffer, theme: Theme) -> Rect {
    let style = theme.style(Role::Focus);
    if area.width < 4 || area.height < 3 {
        return area;
    }
    let line = |left: &str, right: &str| format!("{left}{}{right}", "─".repeat(usize::from(area.width) - 2));
    buffer.set_string(area.x, area.top(), line("╭", "╮"), style);
    buffer.set_string(area.x, area.bottom() - 1, line("╰", "╯"), style);
    for row in area.top() + 1..area.bottom() - 1 {
        buffer.set_string(area.x, row, "│", style);
        buffer.set_string(area.right() - 1, row, "│", style);
    }
    let title = text::cut_width(title, usize::from(area.width).saturating_sub(6));
    buffer.set_string(area.x + 2, area.top(), format!(" {title} "), theme.style(Role::Heading));
    let mut col = area.x + 2;
    let end = area.right().saturating_sub(2);
    for (key, what) in hints {
        let n_cols = u16::try_from(text::width(key) + text::width(what) + 3).unwrap_or(u16::MAX);
        if col.saturating_add(n_cols) > end {
            break;
        }
        buffer.set_string(col, area.bottom() - 1, format!(" {key}"), theme.style(Role::Key));
        let width = u16::try_from(text::width(key)).unwrap_or(0) + 1;
        buffer.set_string(col + width, area.bottom() - 1, format!(" {what} "), theme.style(Role::Quiet));
        col += n_cols;
    }
    Rect::new(area.x + 2, area.y + 1, area.width - 4, area.height - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_words_and_cuts_long_ones() {
        assert_eq!(wrap("the quick  brown fox\n\nend", 10), ["the quick", "brown fox", "", "end"]);
        assert_eq!(wrap("abcdefghijk", 4), ["abcd", "efgh", "ijk"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("once decided. So", 12), ["once", "decided. So"]);
        assert_eq!(wrap("see (src/a.rs:4)", 14), ["see", "(src/a.rs:4)"]);
    }

    #[test]
    fn the_right_side_stays_and_the_left_is_cut() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        let line = Line::new().then("a long title", Role::Text).at_right("12m", Role::Quiet);
        line.draw(buffer.area, &mut buffer, Theme::new(crate::config::Theme::Plain, &Default::default()));
        let text: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(text, "a long … 12m");
        buffer.set_string(0, 0, "────────────", Style::default());
        line.draw(buffer.area, &mut buffer, Theme::new(crate::config::Theme::Plain, &Default::default()));
        assert_eq!(buffer.content.iter().map(|cell| cell.symbol()).collect::<String>(), "a long … 12m");
    }
}
