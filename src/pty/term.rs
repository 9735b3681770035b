//! One emulated terminal: the `vt100` parser, and everything it lacks around it.
//!
//! [`Term::process`] cuts the stream into text and sequences. What the parser handles correctly is
//! handed on untouched, in pieces as large as possible; a sequence that needs work flushes the piece
//! in front of it, so that the screen is current when it is rewritten or answered. Nothing here does
//! I/O: answers and events wait in a bounded queue until the owner takes them.
//!
//! A failure inside the parser is contained: it costs the current screen, never the pane.

use super::cluster::ClusterTable;
use super::color::{Colors, HostFacts};
use super::damage::{Damage, Place};
use super::event::{Outbox, TermEvent};
use super::history::{History, HistoryLimits};
use super::hooks::Hooks;
use super::modes::{InputModes, KittyFlags, ModifyOtherKeys, MouseEncoding, MouseMode};
use super::scan::{self, Tail};
use super::skip;
use super::state::{Keyboard, Margins, Pen, PrivateModes, SavedState, TextModes, Titles};
use super::style::StyleTable;
use crate::base::grid::{Color, Cursor, CursorShape};
use crate::base::size::TermSize;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

const ESC: u8 = 0x1b;

/// What a terminal is made with.
#[derive(Debug, Clone, Default)]
pub struct TermConfig {
    pub history: HistoryLimits,
    /// Whether a program may erase the history of lines that left the screen (`CSI 3 J`, RIS).
    pub may_program_clear_history: bool,
}

/// One emulated terminal.
pub struct Term {
    pub(super) parser: vt100::Parser<Hooks>,
    pub(super) size: TermSize,
    pub(super) config: TermConfig,
    pub(super) host: HostFacts,
    tail: Tail,
    pub(super) text: TextModes,
    pub(super) private: PrivateModes,
    /// Private modes kept by XTSAVE, each with its state.
    pub(super) kept_modes: BTreeMap<u16, bool>,
    pub(super) is_origin: bool,
    pub(super) margins: Margins,
    pub(super) saved: [SavedState; 2],
    pub(super) pen: Pen,
    /// The tag characters of the pen's extra style; empty where it has none.
    pub(super) tag: String,
    pub(super) styles: StyleTable,
    pub(super) clusters: ClusterTable,
    pub(super) keyboard: Keyboard,
    pub(super) titles: Titles,
    pub(super) colors: Colors,
    pub(super) out: Outbox,
    pub(super) history: History,
    pub(super) last_char: Option<char>,
    /// Wide characters may stand on a background on the main screen.
    pub(super) has_wide_bg: bool,
    /// The character printed last was a joiner, so that the next one may join its cell.
    pub(super) is_after_joiner: bool,
    /// What comes was written by us, as text and sequences.
    pub(super) is_redrawing: bool,
    /// The next character joins no cell.
    pub(super) is_kept_apart: bool,
    /// Our own cells are being printed again: tags and interned characters in them are ours.
    pub(super) is_replaying: bool,
    pub(super) scratch: Vec<u8>,
    generation: u64,
    damage: Damage,
}

impl Term {
    /// An empty terminal.
    pub fn new(size: TermSize, config: TermConfig) -> Self {
        Self {
            parser: new_parser(size, Hooks::default()),
            size,
            host: HostFacts::default(),
            tail: Tail::default(),
            text: TextModes::default(),
            private: PrivateModes::default(),
            kept_modes: BTreeMap::new(),
            is_origin: false,
            margins: Margins::whole(size.n_rows()),
            saved: [SavedState::default(); 2],
            pen: Pen::default(),
            tag: String::new(),
            styles: StyleTable::new(),
            clusters: ClusterTable::new(),
            keyboard: Keyboard::default(),
            titles: Titles::default(),
            colors: Colors::default(),
            out: Outbox::default(),
            history: History::new(config.history),
            last_char: None,
            has_wide_bg: false,
            is_after_joiner: false,
            is_redrawing: false,
            is_kept_apart: false,
            is_replaying: false,
            scratch: Vec::new(),
            generation: 1,
            damage: Damage::default(),
            config,
        }
    }

    /// Takes output of the program, cut anywhere.
    pub fn process(&mut self, data: &[u8]) {
        let data = self.tail.skip_dropped(data);
        if data.is_empty() {
            return;
        }
        self.generation += 1;
        self.guarded(|term| match term.tail.take_joined(data) {
            None => {
                let n_used = term.run(data, 0);
                term.tail.keep(&data[n_used..]);
            }
            Some((joined, n_checked)) => {
                let n_used = term.run(&joined, n_checked);
                term.tail.keep(&joined[n_used..]);
            }
        });
    }

    /// Runs `action`; where the parser fails in it, the screen is lost and the terminal goes on.
    pub(super) fn guarded(&mut self, action: impl FnOnce(&mut Self)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            action(self);
            self.archive_scrolled();
        }));
        if outcome.is_err() {
            self.replace_parser();
        }
    }

    /// Starts over with an empty screen, in the modes the program believes in.
    fn replace_parser(&mut self) {
        let screen = self.parser.screen();
        let modes = screen.input_mode_formatted();
        let alt = if screen.alternate_screen() { "\x1b[?47h" } else { "" };
        let cursor = if screen.hide_cursor() { "\x1b[?25l" } else { "" };
        let mut hooks = std::mem::take(self.parser.callbacks_mut());
        hooks.forget_rows();
        self.parser = new_parser(self.size, hooks);
        self.inject(&format!("{alt}{modes}{cursor}"));
        self.margins = Margins::whole(self.size.n_rows());
        self.text.columns = None;
        self.is_origin = false;
        self.is_replaying = false;
        self.is_redrawing = false;
        self.private.has_alt_screen = self.is_alt_screen();
        self.pen = Pen::default();
        self.tag.clear();
        self.scratch = Vec::new();
        self.tail = Tail::default();
        self.touch();
        self.out.event(TermEvent::ScreenLost);
    }

    /// Handles as much of `bytes` as can be judged; returns how much that is. The first `n_checked`
    /// bytes of a sequence at the start were searched for its end before.
    pub(super) fn run(&mut self, bytes: &[u8], n_checked: usize) -> usize {
        let mut at = 0;
        if skip::is_long(bytes) {
            self.damage.touch_all(self.generation);
        }
        while skip::is_long(&bytes[at..]) {
            at += self.skip_lines(&bytes[at..]);
            at += self.skip_rows(&bytes[at..]);
            let end = skip::next_try(bytes, at);
            at += self.draw(&bytes[at..end], if at == 0 { n_checked } else { 0 });
            if at < end {
                break;
            }
        }
        at + self.draw(&bytes[at..], if at == 0 { n_checked } else { 0 })
    }

    /// The same, of bytes that are all to be drawn.
    pub(super) fn draw(&mut self, bytes: &[u8], n_checked: usize) -> usize {
        let mut at = 0;
        let mut segment = at; // start of what the parser has not been given yet
        while at < bytes.len() {
            let escape = memchr::memchr(ESC, &bytes[at..]).map_or(bytes.len(), |n| at + n);
            if escape > at {
                let text = &bytes[at..escape];
                let is_last = escape == bytes.len();
                let mut before = &bytes[segment..at];
                let is_fast = self.is_fast(&mut before, text, is_last);
                if before.is_empty() {
                    segment = at;
                }
                if is_fast {
                    at = escape - if is_last { scan::utf8_tail(text) } else { 0 };
                    if is_last {
                        break;
                    }
                } else {
                    self.feed(&bytes[segment..at]);
                    let n_used = self.print_slowly(text, is_last);
                    at += n_used;
                    segment = at;
                    if n_used < text.len() {
                        break;
                    }
                }
                continue;
            }
            let n_checked = if at == 0 { n_checked } else { 0 };
            let Some(len) = scan::sequence_len(&bytes[at..], n_checked) else { break };
            let sequence = &bytes[at..at + len];
            let is_sound = len <= scan::limit(sequence) && scan::is_complete(sequence);
            if !(is_sound && self.is_native(sequence, segment < at)) {
                self.feed(&bytes[segment..at]);
                if is_sound {
                    self.rewrite(sequence);
                }
                segment = at + len;
            }
            at += len;
        }
        self.feed(&bytes[segment..at]);
        at
    }

    /// Hands bytes to the parser.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let place = Place {
            size: self.size,
            cursor: self.cursor_position(),
            has_whole_margins: self.margins == Margins::whole(self.n_rows()),
            is_absolute: !self.is_origin,
        };
        self.damage.follow(bytes, self.generation, place);
        self.parser.process(bytes);
    }

    /// Hands sequences of our own to the parser.
    pub(super) fn inject(&mut self, text: &str) {
        self.feed(text.as_bytes());
    }

    /// Moves rows that left the top, and bells, from the parser's callbacks to where they belong.
    pub(super) fn archive_scrolled(&mut self) {
        let hooks = self.parser.callbacks_mut();
        if hooks.take_bell() {
            self.out.event(TermEvent::Bell);
        }
        if !hooks.has_rows() {
            return;
        }
        let rows = hooks.take_rows();
        for (text, is_wrapped) in rows.iter() {
            self.history.push_row(text, is_wrapped, &self.styles, &self.clusters);
        }
        self.parser.callbacks_mut().give_back(rows);
    }

    /// Answers for the program since the last call, in order, ready to be written to it.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.out.take_replies()
    }

    /// Events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<TermEvent> {
        self.out.take_events()
    }

    /// Whether the program is drawing a frame that should be shown only as a whole (2026). The owner
    /// gives up waiting after a while; see `terminal.md` 5.5.
    pub fn is_synchronized(&self) -> bool {
        self.private.is_synchronized
    }

    /// Ends a synchronized update that the program never ended.
    pub fn end_synchronized(&mut self) {
        self.private.is_synchronized = false;
    }

    /// A number that grows whenever the terminal may have changed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether row `row` may look different than it did at `generation`; never no where it does.
    pub fn is_touched_since(&self, row: u16, generation: u64) -> bool {
        self.damage.is_touched_since(row, generation)
    }

    /// Everything may have changed.
    pub(super) fn touch(&mut self) {
        self.generation += 1;
        self.damage.touch_all(self.generation);
    }

    /// Bytes that wait for the rest of their sequence or character.
    pub(super) fn unfinished(&self) -> Vec<u8> {
        self.tail.bytes()
    }

    /// Rows and columns.
    pub fn size(&self) -> TermSize {
        self.size
    }

    pub(super) fn n_rows(&self) -> u16 {
        self.size.n_rows()
    }

    pub(super) fn n_cols(&self) -> u16 {
        self.size.n_cols()
    }

    /// Row and column of the cursor; the column may be one past the last.
    pub(super) fn cursor_position(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }

    /// The lines that left the top of the main screen.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Lets history shrink for a limit over all terminals; see [`History::shrink_to`].
    pub fn shrink_history_to(&mut self, n_bytes: usize) {
        self.history.shrink_to(n_bytes);
    }

    /// The window title, cleaned.
    pub fn title(&self) -> &str {
        &self.titles.title
    }

    /// The cursor, always inside the screen.
    pub fn cursor(&self) -> Cursor {
        let screen = self.parser.screen();
        let (row, col) = screen.cursor_position();
        Cursor {
            row: row.min(self.n_rows() - 1),
            col: col.min(self.n_cols() - 1),
            is_visible: !screen.hide_cursor(),
            shape: match screen.cursor_style() {
                vt100::CursorStyle::Default => CursorShape::Default,
                vt100::CursorStyle::BlinkBlock => CursorShape::BlinkBlock,
                vt100::CursorStyle::SteadyBlock => CursorShape::SteadyBlock,
                vt100::CursorStyle::BlinkUnderline => CursorShape::BlinkUnderline,
                vt100::CursorStyle::SteadyUnderline => CursorShape::SteadyUnderline,
                vt100::CursorStyle::BlinkVerticalBar => CursorShape::BlinkBar,
                vt100::CursorStyle::SteadyVerticalBar => CursorShape::SteadyBar,
            },
        }
    }

    /// Whether the alternate screen is shown.
    pub fn is_alt_screen(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// The index of the screen shown: 0 main, 1 alternate.
    pub(super) fn screen_index(&self) -> usize {
        usize::from(self.is_alt_screen())
    }

    /// What the program asked of the input side.
    pub fn modes(&self) -> InputModes {
        let screen = self.parser.screen();
        let kitty = self.keyboard.kitty[self.screen_index()].last().copied().unwrap_or(0);
        InputModes {
            is_application_cursor: screen.application_cursor(),
            is_application_keypad: screen.application_keypad(),
            is_newline: self.text.is_newline,
            is_backspace_bs: self.private.is_backspace_bs,
            is_bracketed_paste: screen.bracketed_paste(),
            is_focus_reported: self.private.is_focus_reported,
            is_alternate_scroll: self.private.is_alternate_scroll,
            is_alt_screen: screen.alternate_screen(),
            mouse: match screen.mouse_protocol_mode() {
                vt100::MouseProtocolMode::None => MouseMode::Off,
                vt100::MouseProtocolMode::Press => MouseMode::Press,
                vt100::MouseProtocolMode::PressRelease => MouseMode::PressRelease,
                vt100::MouseProtocolMode::ButtonMotion => MouseMode::ButtonMotion,
                vt100::MouseProtocolMode::AnyMotion => MouseMode::AnyMotion,
            },
            mouse_encoding: match screen.mouse_protocol_encoding() {
                vt100::MouseProtocolEncoding::Default => MouseEncoding::X10,
                vt100::MouseProtocolEncoding::Utf8 => MouseEncoding::Utf8,
                vt100::MouseProtocolEncoding::Sgr => MouseEncoding::Sgr,
            },
            kitty: KittyFlags::from_bits(kitty),
            modify_other_keys: match self.keyboard.other_keys {
                0 => ModifyOtherKeys::Off,
                1 => ModifyOtherKeys::Ambiguous,
                2.. => ModifyOtherKeys::All,
            },
            has_used_extended_keys: self.keyboard.has_used_extended,
        }
    }

    /// Takes what is known of the host terminal; a changed colour scheme is reported to a program
    /// that asked for it (2031).
    pub fn set_host(&mut self, host: HostFacts) {
        let has_scheme_changed = host.is_dark != self.host.is_dark;
        self.host = host;
        if has_scheme_changed && self.private.is_scheme_reported {
            self.report_scheme();
        }
    }

    /// The foreground and background that the program set for its whole screen (OSC 10, 11).
    pub fn default_colors(&self) -> (Color, Color) {
        let color = |set: Option<(u8, u8, u8)>| set.map_or(Color::Default, |(r, g, b)| Color::Rgb(r, g, b));
        (color(self.colors.fg), color(self.colors.bg))
    }

    /// Undoes what a program that died left behind: alternate screen, mouse, hidden cursor and
    /// keyboard modes. Bracketed paste stays, since the shell's prompt has set it by then. For a shell that has its pane back; nothing decides this by itself.
    pub fn restore_shell_modes(&mut self) {
        self.keyboard.kitty = [Vec::new(), Vec::new()];
        // An unfinished sequence of the dead program must not swallow ours.
        self.process(b"\x18");
        if self.is_alt_screen() {
            self.process(b"\x1b[?1049l");
        }
        self.process(
            b"\x1b[?9;1000;1002;1003;1005;1006;1004;2026;67;1l\x1b[?25h\x1b[>4m\x1b[64;1\"p\x1b[0 q",
        );
    }
}

/// A parser without history of its own, because a copy of it would have to carry that along.
pub(super) fn new_parser(size: TermSize, hooks: Hooks) -> vt100::Parser<Hooks> {
    let at_least_one = |n: u16| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
    vt100::Parser::new_with_callbacks(at_least_one(size.n_rows()), at_least_one(size.n_cols()), 0, hooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_inside_the_parser_costs_the_screen_but_not_the_pane() {
        let mut term = Term::new(TermSize::clamped(3, 20), TermConfig::default());
        term.process(b"1\r\n2\r\n3\r\n4\x1b[?2004h\x1b[?1049h\x1b[31m\x1b[9mseen");
        term.take_events();
        term.guarded(|_| panic!("as the parser might"));
        assert_eq!(term.take_events(), [TermEvent::ScreenLost]);
        assert!(term.modes().is_bracketed_paste && term.is_alt_screen());
        term.process(b"alive");
        assert_eq!(term.screen_text(), ["alive", "", ""]);
        assert_eq!(term.history().text(0).as_deref(), Some("1"), "history is kept");
        term.process(b"\x1b[?1049l\r\na\r\nb\r\nc\r\nd");
        assert_eq!(term.screen_text(), ["b", "c", "d"]);
    }

    #[test]
    fn a_terminal_may_live_in_any_thread() {
        fn is_send<T: Send>() {}
        is_send::<Term>();
        is_send::<crate::pty::snapshot::PaneRows>();
    }

    #[test]
    fn the_trigger_of_the_known_parser_defect_is_harmless() {
        let mut term = Term::new(TermSize::clamped(2, 4), TermConfig::default());
        for mark in ["❤\u{fe0f}", "1\u{fe0f}", "\x1b[9m❤\u{fe0f}\x1b[m"] {
            term.process(format!("\x1b[2;4H{mark}\x1b[1;1Hxxxx\x1b[2;1Hyyyy").as_bytes());
        }
        assert_eq!(term.take_events(), []);
        assert_eq!(term.screen_text(), ["xxxx", "yyyy"]);
    }
}
