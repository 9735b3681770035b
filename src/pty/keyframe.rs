//! A terminal's whole state as bytes that restore it in a fresh one: the start of a journal segment.
//!
//! Kept are both screens, styles, links, cursors, modes, titles, colours, what was left of an unfinished
//! sequence, and of history as much as a taller screen takes back. The fresh terminal must have the same size, and the events and
//! replies that it makes of a keyframe are to be thrown away.

use super::charset::Charset;
use super::cluster;
use super::level::IdleModes;
use super::replay::{Form, Replay, protection, write_link};
use super::sgr;
use super::state::{Columns, PrivateModes, SavedState};
use super::style;
use super::term::Term;
use super::view;
use crate::base::grid::{Run, Style};
use crate::base::size::TermSize;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Bytes of history in a keyframe, nearly.
const MAX_HISTORY: usize = 128 << 10;

const MAIN: &str = "\x1b[?47l";
const ALT: &str = "\x1b[?47h";
/// The beginning of a keyframe.
const STATE: &str = "\x1b_orca;";

/// The saved cursor of the screen shown; the column may be one past the last.
struct Saved {
    row: u16,
    col: u16,
    style: Style,
}

impl Term {
    /// Bytes that, given to [`Term::restore`] of a fresh terminal of the same size, restore this one.
    pub fn keyframe(&mut self) -> Vec<u8> {
        self.archive_scrolled();
        let mut out = self.print_state();
        out.push_str(&self.history_frame());
        let is_alt = self.is_alt_screen();
        if self.private.has_alt_screen {
            let (there, back) = if is_alt { (MAIN, ALT) } else { (ALT, MAIN) };
            let (row, col) = self.cursor_position();
            let look = self.parser.screen().attributes_formatted();
            self.inject(there);
            out.push_str(there);
            self.write_screen(usize::from(!is_alt), &mut out);
            self.inject(back);
            self.return_cursor(row, col);
            self.inject(&look);
            out.push_str(back);
        }
        self.write_screen(usize::from(is_alt), &mut out);
        self.write_modes(&mut out);
        self.write_cursor(&mut out);
        let mut bytes = out.into_bytes();
        bytes.extend(self.unfinished());
        bytes
    }

    /// Draws a keyframe, in a fresh terminal of the same size.
    pub fn restore(&mut self, keyframe: &[u8]) {
        self.is_redrawing = true;
        self.process(keyframe);
        self.is_redrawing = false;
        self.take_print_state(keyframe);
    }

    /// What the next characters depend on and nothing shows, in a string that terminals skip.
    fn print_state(&self) -> String {
        let last = self.last_char.map_or(0, u32::from);
        // As it would be selected for G1.
        let shift = self.text.single_shift.map_or_else(String::new, |charset| charset.selection(1));
        let shift = shift.trim_start_matches('\x1b');
        let PrivateModes { level, idle, change_extent, .. } = self.private;
        let joiner = u8::from(self.is_after_joiner);
        // Where its rows end cannot be drawn: a wide character that had no room may be gone since.
        let open = BASE64.encode(self.history.open_bytes());
        format!("{STATE}{last};{joiner};{shift};{level};{};{change_extent};{open}\x1b\\", idle.bits())
    }

    fn take_print_state(&mut self, keyframe: &[u8]) {
        let state =
            keyframe.strip_prefix(STATE.as_bytes()).and_then(|rest| rest.split(|b| *b == 0x1b).next());
        let mut words = state.unwrap_or_default().split(|b| *b == b';');
        let last = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        self.last_char = last.filter(|last| *last != 0).and_then(char::from_u32);
        self.is_after_joiner = words.next() == Some(b"1");
        self.text.single_shift = match words.next() {
            Some([slot, name]) => Charset::selected(*slot, *name).map(|(_, charset)| charset),
            _ => None,
        };
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u16>().ok();
        // Older keyframes end here.
        if let (Some(level), Some(idle), Some(extent)) = (number(), number(), number()) {
            self.private.level = level.to_le_bytes()[0];
            self.private.idle = IdleModes::from_bits(idle);
            self.private.change_extent = extent.to_le_bytes()[0];
        }
        if let Some(open) = words.next().and_then(|word| BASE64.decode(word).ok()) {
            self.history.set_open(open);
        }
    }

    /// Draws the newest lines of history, scrolls them off the top and leaves an empty screen.
    fn history_frame(&self) -> String {
        let n_cols = usize::from(self.n_cols());
        let mut lines = self.newest_lines();
        if lines.is_empty() {
            return String::new();
        }
        let mut replay = Replay::default();
        let mut n_rows = 0;
        for line in lines.drain(..) {
            n_rows += view::wrap(&line, n_cols).len();
            replay.push_runs(&line);
            replay.end();
            replay.text.push_str("\r\n");
        }
        let bottom = self.n_rows();
        let n_left = n_rows.min(usize::from(bottom) - 1);
        format!("{}\x1b[{bottom};1H{}\x1b[H", replay.text, "\n".repeat(n_left))
    }

    /// The lines that no screen can be too tall to take back, oldest first.
    fn newest_lines(&self) -> Vec<Vec<Run>> {
        let mut n_bytes = 0;
        let numbers = self.history.numbers().rev().take(TermSize::MAX.into());
        let is_kept = |number: &u64| {
            n_bytes += self.history.n_bytes_of(*number);
            n_bytes <= MAX_HISTORY
        };
        let mut lines: Vec<_> =
            numbers.take_while(is_kept).filter_map(|number| self.history.runs(number)).collect();
        lines.reverse();
        lines
    }

    /// Puts the cursor where it was, behind the last column if it was there.
    pub(super) fn return_cursor(&mut self, row: u16, col: u16) {
        self.go_to(row, col.min(self.n_cols() - 1));
        if col >= self.n_cols() {
            self.stand_past_edge(row);
        }
    }

    /// Writes the rows of the screen shown, its saved cursor, and where its cursor is.
    fn write_screen(&mut self, index: usize, out: &mut String) {
        self.write_saved_cursor(index, out);
        let mut replay = Replay::default();
        let mut is_joined = false;
        for row in 0..self.n_rows() {
            let n_used = self.used_cols(row);
            let goes_on = self.is_row_wrapped(row) && n_used == self.n_cols() && self.is_continued(row);
            if !is_joined && n_used > 0 {
                replay.text.push_str(&format!("\x1b[{};1H", row + 1));
            }
            self.replay_cells(row, 0..n_used, Form::Portable, &mut replay);
            is_joined = goes_on;
            if self.is_row_wrapped(row) && n_used == self.n_cols() && !goes_on {
                // What made the row wrap was erased since.
                replay.end();
                replay.text.push_str(wrap_and_erase(self.is_filler(row, n_used - 1)));
            }
        }
        replay.end();
        out.push_str(&replay.text);
        let (row, col) = self.cursor_position();
        let col = col.min(self.n_cols() - 1);
        out.push_str(&format!("\x1b[{};{}H", row + 1, col + 1));
    }

    /// Writes the saved cursor of the screen shown, on which nothing has been drawn yet.
    fn write_saved_cursor(&mut self, index: usize, out: &mut String) {
        let saved = self.saved_cursor();
        let SavedState { extra, charsets, locked, is_origin, .. } = self.saved[index];
        let is_past_edge = saved.col >= self.n_cols();
        out.push_str(if is_origin { "\x1b[?6h" } else { "" });
        out.push_str(&format!("\x1b[{};{}H", saved.row + 1, saved.col.min(self.n_cols() - 1) + 1));
        out.push_str(if is_past_edge { " " } else { "" });
        sgr::write(&saved.style, out);
        write_charsets(charsets, locked, out);
        out.push_str(protection(extra.is_protected));
        out.push_str("\x1b7\x1b[m");
        out.push_str(protection(false));
        write_charsets([Charset::Ascii; 4], 0, out);
        out.push_str(if is_past_edge { "\x1b[2K" } else { "" });
        out.push_str("\x1b[?6l");
    }

    /// Whether printing goes on in the row below. Behind a filler, which is not printed, only a wide
    /// character does.
    fn is_continued(&self, row: u16) -> bool {
        let is_wide = self.parser.screen().cell(row + 1, 0).is_some_and(vt100::Cell::is_wide);
        self.begins(row + 1) && (is_wide || !self.is_filler(row, self.n_cols() - 1))
    }

    fn is_filler(&self, row: u16, col: u16) -> bool {
        self.parser.screen().cell(row, col).is_some_and(|cell| style::is_filler(cell.contents()))
    }

    /// Whether a row begins with a cell that has contents, so that printing goes on in it.
    fn begins(&self, row: u16) -> bool {
        self.parser.screen().cell(row, 0).is_some_and(vt100::Cell::has_contents)
    }

    /// Reads the saved cursor by going there and back.
    fn saved_cursor(&mut self) -> Saved {
        let (row, col) = self.cursor_position();
        let look = self.parser.screen().attributes_formatted();
        self.inject("\x1b8");
        let (saved_row, saved_col) = self.cursor_position();
        let SavedState { extra, mut style, .. } = self.saved[self.screen_index()];
        extra.apply(&mut style);
        self.inject(if self.is_origin { "\x1b[?6h" } else { "\x1b[?6l" });
        self.return_cursor(row, col);
        self.inject(&look);
        Saved { row: saved_row, col: saved_col, style }
    }

    fn write_modes(&self, out: &mut String) {
        self.write_tab_stops(out);
        for (mode, is_on) in &self.kept_modes {
            let last = if *is_on { 'h' } else { 'l' };
            out.push_str(&format!("\x1b[?{mode}{last}\x1b[?{mode}s\x1b[?{mode}l"));
        }
        if self.private.is_checksum_plain {
            out.push_str("\x1b[1#y");
        }
        let screen = self.parser.screen();
        out.push_str(&screen.input_mode_formatted());
        out.push_str(&format!("\x1b[{} q", self.cursor_shape_number()));
        let private = self.private;
        let modes = [
            (5, private.is_reverse),
            (7, self.text.is_autowrap),
            (12, private.is_blinking),
            (41, self.text.is_tab_wrapping),
            (45, self.text.is_reverse_wrap),
            (1045, self.text.is_reverse_wrap_extended),
            (67, private.is_backspace_bs),
            (25, !screen.hide_cursor()),
            (1004, private.is_focus_reported),
            (1007, private.is_alternate_scroll),
            (2031, private.is_scheme_reported),
            (2026, private.is_synchronized),
            (2048, private.is_size_reported),
        ];
        for (mode, is_on) in modes {
            out.push_str(&format!("\x1b[?{mode}{}", if is_on { 'h' } else { 'l' }));
        }
        out.push_str(if self.text.is_insert { "\x1b[4h" } else { "" });
        out.push_str(if self.text.is_newline { "\x1b[20h" } else { "" });
        self.write_keyboard(out);
        self.write_titles(out);
        self.write_colors(out);
    }

    fn write_tab_stops(&self, out: &mut String) {
        let Some(stops) = &self.text.tab_stops else { return };
        out.push_str("\x1b[3g");
        for col in stops.iter().enumerate().filter(|(_, is_stop)| **is_stop).map(|(col, _)| col) {
            out.push_str(&format!("\x1b[{}G\x1bH", col + 1));
        }
    }

    /// Kitty flags of both screens, the hidden one first.
    fn write_keyboard(&self, out: &mut String) {
        let push = |flags: &[u8]| flags.iter().map(|flags| format!("\x1b[>{flags}u")).collect::<String>();
        let [main, alt] = &self.keyboard.kitty;
        out.push_str(if self.keyboard.has_used_extended { "\x1b[>1u\x1b[<u" } else { "" });
        if self.is_alt_screen() {
            // The cursor is placed afterwards, so switching back and forth harms nothing.
            out.push_str(&format!("\x1b[?47l{}\x1b[?47h{}", push(main), push(alt)));
        } else {
            if !alt.is_empty() {
                out.push_str(&format!("\x1b[?47h{}\x1b[?47l", push(alt)));
            }
            out.push_str(&push(main));
        }
        if self.keyboard.other_keys > 0 {
            out.push_str(&format!("\x1b[>4;{}m", self.keyboard.other_keys));
        }
    }

    fn write_titles(&self, out: &mut String) {
        let titles = &self.titles;
        for (title, icon) in &titles.stack {
            out.push_str(&format!("\x1b]2;{title}\x1b\\\x1b]1;{icon}\x1b\\\x1b[22t"));
        }
        out.push_str(&format!("\x1b]2;{}\x1b\\\x1b]1;{}\x1b\\", titles.title, titles.icon));
    }

    fn write_colors(&self, out: &mut String) {
        let colors = &self.colors;
        let dynamic = [colors.fg, colors.bg, colors.cursor].into_iter().chain(colors.others);
        for (number, color) in (10..).zip(dynamic).filter_map(|(number, color)| Some((number, color?))) {
            out.push_str(&format!("\x1b]{number};{}\x1b\\", super::color::format(color)));
        }
        for (index, color) in (0..).zip(colors.special).filter_map(|(index, color)| Some((index, color?))) {
            out.push_str(&format!("\x1b]5;{index};{}\x1b\\", super::color::format(color)));
        }
        for (index, color) in colors.palette.entries() {
            out.push_str(&format!("\x1b]4;{index};{}\x1b\\", super::color::format(color)));
        }
    }

    /// Margins, origin mode, cursor, look and character sets: in this order, since each moves or
    /// changes what follows.
    fn write_cursor(&self, out: &mut String) {
        let (row, col) = self.cursor_position();
        let columns = self.text.columns;
        let is_past_edge = col >= self.n_cols() || columns.is_some_and(|columns| columns.is_waiting);
        out.push_str(&format!("\x1b[{};{}r", self.margins.top + 1, self.margins.bottom + 1));
        out.push_str(if self.text.has_columns { "\x1b[?69h" } else { "" });
        if let Some(Columns { left, right, .. }) = columns {
            out.push_str(&format!("\x1b[{};{}s", left + 1, right + 1));
        }
        let row = if self.is_origin {
            out.push_str("\x1b[?6h");
            row.saturating_sub(self.margins.top)
        } else {
            row
        };
        let col = col.min(self.n_cols() - 1);
        let last = self.cursor_position().0;
        let is_second_half = is_past_edge
            && self.parser.screen().cell(last, col).is_some_and(vt100::Cell::is_wide_continuation);
        let end = col + 1;
        let col = if is_second_half { col.saturating_sub(1) } else { col };
        let left = columns.filter(|_| self.is_origin).map_or(0, |columns| columns.left);
        out.push_str(&format!("\x1b[{};{}H", row + 1, col.saturating_sub(left) + 1));
        if col < left {
            // A backward tab passes the left margin, and what counts from it cannot say where that led.
            out.push_str(&format!("\x1b[{}Z", self.n_cols()));
            out.push_str(&if col > 0 { format!("\x1b[{col}C") } else { String::new() });
        }
        if is_past_edge {
            let mut replay = Replay::default();
            replay.text.push(cluster::APART);
            self.replay_cells(last, col..end, Form::Portable, &mut replay);
            replay.end();
            out.push_str("\x1b[?7h\x1b[4l");
            out.push_str(&replay.text);
            out.push_str(if self.text.is_autowrap { "" } else { "\x1b[?7l" });
            out.push_str(if self.text.is_insert { "\x1b[4h" } else { "" });
        }
        sgr::write(&self.current_style(), out);
        if let Some(link) = self.styles.link(self.pen.extra) {
            write_link(Some(link), out);
        }
        out.push_str(match (self.private.is_protection_strict, self.pen.extra.is_protected) {
            (true, true) => "\x1bV",
            (true, false) => "\x1bV\x1bW",
            (false, is_protected) => protection(is_protected),
        });
        write_charsets(self.text.charsets, self.text.locked, out);
    }
}

/// Goes on in the next row from a full one, or from one in which a wide character finds no room any more,
/// and leaves nothing there.
const fn wrap_and_erase(has_room: bool) -> &'static str {
    if has_room { "\u{4e00}\x1b[G\x1b[2X" } else { " \x1b[G\x1b[2X" }
}

fn write_charsets(charsets: [Charset; 4], locked: usize, out: &mut String) {
    for (slot, charset) in charsets.into_iter().enumerate() {
        out.push_str(&charset.selection(slot));
    }
    out.push_str(match locked {
        0 => "\x0f",
        1 => "\x0e",
        2 => "\x1bn",
        _ => "\x1bo",
    });
}
