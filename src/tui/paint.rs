//! Turns the difference of two frames into the bytes for the host terminal.
//!
//! This stands where ratatui's backend would: see [`super::canvas`] for why. Nothing here does I/O.
//! Only cells are written: control characters cannot be in one (`base::grid`, `base::text`), and
//! link targets are cleaned here.

use super::canvas::{Canvas, Extra, HostCursor};
use crate::base::grid::{CursorShape, Underline};
use crate::base::text;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use std::collections::BTreeSet;

/// Frames that change at most this many cells are written without hiding the cursor or opening a
/// synchronized update: the echo of a key needs neither.
const SMALL_FRAME: usize = 8;
/// Links that may collect over partial frames; then a whole frame counts them anew.
const MAX_LINKS: usize = 256;

/// Columns that a cell takes on the host.
pub fn cell_width(cell: &Cell, extra: Extra) -> u16 {
    match extra.width {
        0 => {
            let symbol = cell.symbol();
            if symbol.is_ascii() { 1 } else { u16::try_from(text::width(symbol)).unwrap_or(1).clamp(1, 2) }
        }
        width => u16::from(width),
    }
}

/// Remembers what the host shows.
#[derive(Debug)]
pub struct Painter {
    shown: Canvas,
    /// The frame that is drawn next; its memory is used again and again.
    next: Canvas,
    /// False while nobody knows what the host shows.
    is_known: bool,
}

impl Default for Painter {
    fn default() -> Self {
        Self { shown: Canvas::new(0, 0), next: Canvas::new(0, 0), is_known: false }
    }
}

/// Everything that SGR and OSC 8 switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pen {
    fg: Color,
    bg: Color,
    underline_color: Color,
    modifier: Modifier,
    underline: Underline,
    is_overlined: bool,
}

impl Pen {
    const PLAIN: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        underline_color: Color::Reset,
        modifier: Modifier::empty(),
        underline: Underline::None,
        is_overlined: false,
    };

    fn of(cell: &Cell, extra: Extra) -> Self {
        let is_underlined = cell.modifier.contains(Modifier::UNDERLINED);
        let underline = match extra.underline {
            Underline::None if is_underlined => Underline::Single,
            kind => kind,
        };
        Self {
            fg: cell.fg,
            bg: cell.bg,
            underline_color: cell.underline_color,
            modifier: cell.modifier - Modifier::UNDERLINED,
            underline,
            is_overlined: extra.is_overlined,
        }
    }
}

/// One cell as it is compared and written.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot<'a> {
    /// 0 for the second half of a wide cell.
    width: u16,
    symbol: &'a str,
    pen: Pen,
    link: Option<&'a crate::base::grid::Link>,
}

impl Slot<'_> {
    fn is_blank(&self) -> bool {
        self.symbol == " " && self.pen == Pen::PLAIN && self.link.is_none()
    }
}

fn slots(canvas: &Canvas, row: u16) -> Vec<Slot<'_>> {
    let (cells, extras) = canvas.row(row);
    let mut slots = Vec::with_capacity(cells.len());
    let mut n_covered = 0;
    for (index, (cell, extra)) in cells.iter().zip(extras).enumerate() {
        let (pen, link) = (Pen::of(cell, *extra), canvas.link(extra.link));
        if n_covered > 0 {
            n_covered -= 1;
            slots.push(Slot { width: 0, symbol: "", pen, link });
            continue;
        }
        let width = cell_width(cell, *extra);
        let fits = index + usize::from(width) <= cells.len();
        let (width, symbol) = if fits { (width, cell.symbol()) } else { (1, " ") };
        n_covered = width - 1;
        slots.push(Slot { width, symbol, pen, link });
    }
    slots
}

impl Painter {
    /// Forgets what the host shows: the next frame is written whole.
    pub fn forget(&mut self) {
        self.is_known = false;
    }

    /// The bytes that turn what the host shows into what `draw` draws on a blank frame; empty when
    /// nothing changed.
    pub fn frame(&mut self, (n_cols, n_rows): (u16, u16), draw: impl FnOnce(&mut Canvas)) -> String {
        self.next.reset(n_cols, n_rows);
        draw(&mut self.next);
        let mut writer = Writer::new();
        let is_known = self.is_known && self.shown.area() == self.next.area();
        if !is_known {
            writer.out.push_str("\x1b[0m\x1b[2J");
            self.shown.reset(n_cols, n_rows);
        }
        let has_same_links = self.shown.has_links_of(&self.next);
        for row in 0..n_rows {
            // Most rows of most frames are the same.
            if !has_same_links || self.shown.row(row) != self.next.row(row) {
                writer.row(row, &slots(&self.shown, row), &slots(&self.next, row));
            }
        }
        let text = writer.finish(is_known.then_some(self.shown.cursor), self.next.cursor);
        std::mem::swap(&mut self.shown, &mut self.next);
        self.is_known = true;
        text
    }

    /// The same where only `rows` change: `draw` finds them as they are shown and draws over them, and
    /// puts the cursor. None where that cannot be done: what the host shows is not known, or links
    /// have collected.
    pub fn patch(&mut self, rows: &BTreeSet<u16>, draw: impl FnOnce(&mut Canvas)) -> Option<String> {
        if !self.is_known || self.shown.n_links() > MAX_LINKS {
            return None;
        }
        let area = self.shown.area();
        if self.next.area() != area {
            self.next.reset(area.width, area.height);
        }
        self.next.copy_links(&self.shown);
        self.next.cursor = None;
        rows.iter().for_each(|row| self.next.copy_row(*row, &self.shown));
        draw(&mut self.next);
        let mut writer = Writer::new();
        for row in rows.iter().copied() {
            if self.shown.row(row) != self.next.row(row) {
                writer.row(row, &slots(&self.shown, row), &slots(&self.next, row));
                self.shown.copy_row(row, &self.next);
            }
        }
        let text = writer.finish(Some(self.shown.cursor), self.next.cursor);
        self.shown.copy_links(&self.next);
        self.shown.cursor = self.next.cursor;
        Some(text)
    }

    /// What the host shows.
    #[cfg(test)]
    pub fn shown(&self) -> &Canvas {
        &self.shown
    }
}

struct Writer {
    out: String,
    pen: Pen,
    is_linked: bool,
    /// Where the host's cursor is known to be, row and column.
    at: Option<(u16, u16)>,
    n_cells: usize,
}

impl Writer {
    fn new() -> Self {
        Self { out: String::new(), pen: Pen::PLAIN, is_linked: false, at: None, n_cells: 0 }
    }

    fn row(&mut self, row: u16, before: &[Slot<'_>], next: &[Slot<'_>]) {
        let n_used = next.iter().rposition(|slot| !slot.is_blank()).map_or(0, |last| last + 1);
        let n_stale = before.iter().skip(n_used).filter(|slot| !slot.is_blank()).count();
        let until = if n_stale > 4 { n_used } else { next.len() };
        for (col, (old, new)) in before.iter().zip(next).enumerate().take(until) {
            if new.width > 0 && old != new {
                self.cell(row, u16::try_from(col).unwrap_or(u16::MAX), new);
            }
        }
        if until < next.len() {
            self.move_to(row, u16::try_from(until).unwrap_or(u16::MAX));
            self.set_pen(Pen::PLAIN);
            self.set_link(None);
            self.out.push_str("\x1b[K");
            self.n_cells += n_stale;
        }
    }

    fn cell(&mut self, row: u16, col: u16, slot: &Slot<'_>) {
        self.move_to(row, col);
        self.set_pen(slot.pen);
        self.set_link(slot.link);
        self.out.push_str(slot.symbol);
        self.n_cells += 1;
        // Hosts disagree about the width of clusters; after one the position is stated again.
        let is_sure = slot.symbol.chars().nth(1).is_none();
        self.at = is_sure.then(|| (row, col.saturating_add(slot.width)));
    }

    fn move_to(&mut self, row: u16, col: u16) {
        match self.at {
            Some(at) if at == (row, col) => {}
            Some((at_row, at_col)) if at_row == row && col > at_col && self.out.len() > 1 => {
                let n_right = col - at_col;
                let count = if n_right == 1 { String::new() } else { n_right.to_string() };
                self.out.push_str(&format!("\x1b[{count}C"));
            }
            Some(_) | None => self.out.push_str(&format!("\x1b[{};{}H", row + 1, col + 1)),
        }
        self.at = Some((row, col));
    }

    fn set_link(&mut self, link: Option<&crate::base::grid::Link>) {
        match link {
            Some(link) => {
                let (id, uri) = (text::one_line(&link.id), text::one_line(&link.uri));
                let id: String = id.chars().filter(|c| !matches!(c, ';' | ':')).collect();
                let param = if id.is_empty() { String::new() } else { format!("id={id}") };
                self.out.push_str(&format!("\x1b]8;{param};{uri}\x1b\\"));
                self.is_linked = true;
            }
            None if self.is_linked => {
                self.out.push_str("\x1b]8;;\x1b\\");
                self.is_linked = false;
            }
            None => {}
        }
    }

    fn set_pen(&mut self, pen: Pen) {
        if pen == self.pen {
            return;
        }
        self.pen = pen;
        let mut codes = String::from("0");
        for (modifier, code) in [
            (Modifier::BOLD, ";1"),
            (Modifier::DIM, ";2"),
            (Modifier::ITALIC, ";3"),
            (Modifier::SLOW_BLINK, ";5"),
            (Modifier::REVERSED, ";7"),
            (Modifier::HIDDEN, ";8"),
            (Modifier::CROSSED_OUT, ";9"),
        ] {
            if pen.modifier.contains(modifier) {
                codes.push_str(code);
            }
        }
        codes.push_str(match pen.underline {
            Underline::None => "",
            Underline::Single => ";4",
            Underline::Double => ";4:2",
            Underline::Curly => ";4:3",
            Underline::Dotted => ";4:4",
            Underline::Dashed => ";4:5",
        });
        if pen.is_overlined {
            codes.push_str(";53");
        }
        color(&mut codes, pen.fg, 30);
        color(&mut codes, pen.bg, 40);
        if pen.underline != Underline::None {
            underline_color(&mut codes, pen.underline_color);
        }
        if codes == "0" {
            codes.clear();
        }
        self.out.push_str(&format!("\x1b[{codes}m"));
    }

    fn finish(mut self, old: Option<Option<HostCursor>>, cursor: Option<HostCursor>) -> String {
        let has_cells = !self.out.is_empty();
        if !has_cells && old == Some(cursor) {
            return String::new();
        }
        self.set_pen(Pen::PLAIN);
        self.set_link(None);
        let old = old.flatten();
        let is_big = self.n_cells > SMALL_FRAME || self.out.starts_with("\x1b[0m\x1b[2J");
        let mut text = String::with_capacity(self.out.len() + 40);
        if is_big {
            text.push_str("\x1b[?2026h\x1b[?25l");
        }
        text.push_str(&self.out);
        match cursor {
            Some(cursor) => {
                if self.at != Some((cursor.row, cursor.col)) {
                    text.push_str(&format!("\x1b[{};{}H", cursor.row + 1, cursor.col + 1));
                }
                if old.map(|old| old.shape) != Some(cursor.shape) {
                    text.push_str(&format!("\x1b[{} q", shape_number(cursor.shape)));
                }
                if is_big || old.is_none() {
                    text.push_str("\x1b[?25h");
                }
            }
            None if old.is_some() && !is_big => text.push_str("\x1b[?25l"),
            None => {}
        }
        if is_big {
            text.push_str("\x1b[?2026l");
        }
        text
    }
}

fn shape_number(shape: CursorShape) -> u8 {
    match shape {
        CursorShape::Default => 0,
        CursorShape::BlinkBlock => 1,
        CursorShape::SteadyBlock => 2,
        CursorShape::BlinkUnderline => 3,
        CursorShape::SteadyUnderline => 4,
        CursorShape::BlinkBar => 5,
        CursorShape::SteadyBar => 6,
    }
}

/// Adds a colour; `base` is 30 for the foreground and 40 for the background.
fn color(codes: &mut String, color: Color, base: u16) {
    let number = match color {
        Color::Reset => return,
        Color::Rgb(r, g, b) => return codes.push_str(&format!(";{};2;{r};{g};{b}", base + 8)),
        Color::Indexed(index) => u16::from(index),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    codes.push_str(&match number {
        0..8 => format!(";{}", base + number),
        8..16 => format!(";{}", base + 52 + number),
        _ => format!(";{};5;{number}", base + 8),
    });
}

fn underline_color(codes: &mut String, color: Color) {
    match color {
        Color::Rgb(r, g, b) => codes.push_str(&format!(";58:2::{r}:{g}:{b}")),
        Color::Indexed(index) => codes.push_str(&format!(";58:5:{index}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::grid::Link;
    use ratatui::style::Style;

    fn canvas(lines: &[&str]) -> Canvas {
        let mut canvas = Canvas::new(20, 3);
        for (row, line) in (0..).zip(lines) {
            canvas.buffer.set_string(0, row, line, Style::default());
        }
        canvas
    }

    fn frame(painter: &mut Painter, next: Canvas) -> String {
        painter.frame((next.area().width, next.area().height), |canvas| *canvas = next)
    }

    #[test]
    fn an_equal_frame_writes_nothing_and_a_key_writes_its_cell() {
        let mut painter = Painter::default();
        let mut first = canvas(&["$ l"]);
        first.cursor = Some(HostCursor { row: 0, col: 3, shape: CursorShape::Default });
        assert!(frame(&mut painter, first.clone()).contains("$\u{1b}[Cl"));
        assert_eq!(frame(&mut painter, first), "");
        let mut second = canvas(&["$ ls"]);
        second.cursor = Some(HostCursor { row: 0, col: 4, shape: CursorShape::Default });
        assert_eq!(frame(&mut painter, second), "\u{1b}[1;4Hs");
    }

    #[test]
    fn a_long_stale_tail_is_erased_in_one_go() {
        let mut painter = Painter::default();
        frame(&mut painter, canvas(&["abcdefghijkl"]));
        assert_eq!(
            frame(&mut painter, canvas(&["ab"])),
            "\u{1b}[?2026h\u{1b}[?25l\u{1b}[1;3H\u{1b}[K\u{1b}[?2026l"
        );
    }

    #[test]
    fn a_narrow_cell_over_half_a_wide_one_is_written() {
        let mut painter = Painter::default();
        frame(&mut painter, canvas(&["日x"]));
        let bytes = frame(&mut painter, canvas(&["a x"]));
        assert_eq!(bytes, "\u{1b}[1;1Ha ", "both halves are replaced");
    }

    #[test]
    fn underline_kinds_links_and_clusters_reach_the_host() {
        let mut painter = Painter::default();
        let mut next = canvas(&[]);
        let link = next.link_number(&Link { id: "a;b".into(), uri: "https://x\u{1b}.y".into() });
        let extra = Extra { width: 2, underline: Underline::Curly, is_overlined: false, link };
        next.put(0, 0, "👩‍💻", Style::default(), extra);
        next.put(0, 2, "z", Style::default(), Extra { width: 1, ..Extra::default() });
        let bytes = frame(&mut painter, next);
        assert!(bytes.contains("\u{1b}[0;4:3m\u{1b}]8;id=ab;https://x.y\u{1b}\\👩‍💻\u{1b}[1;3H"), "{bytes:?}");
        assert!(bytes.contains("\u{1b}]8;;\u{1b}\\z"), "{bytes:?}");
    }

    #[test]
    fn a_wide_cell_that_does_not_fit_becomes_a_blank() {
        let mut painter = Painter::default();
        let mut next = Canvas::new(2, 1);
        next.put(0, 1, "日", Style::default(), Extra { width: 2, ..Extra::default() });
        assert!(!frame(&mut painter, next).contains('日'));
    }
}
