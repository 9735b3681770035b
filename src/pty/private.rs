//! Modes and resets: ANSI and DEC private modes, saved cursors, the alternate screen.

use super::event::TermEvent;
use super::scan::{Csi, Param};
use super::sgr;
use super::state::{Keyboard, Margins, Pen, PrivateModes, SavedState, TextModes};
use super::style::Extra;
use super::term::Term;

impl Term {
    /// SM and RM.
    pub(super) fn set_ansi_modes(&mut self, csi: &Csi<'_>) {
        let is_set = csi.last == b'h';
        for param in csi.params() {
            match param.value() {
                4 => self.text.is_insert = is_set,
                20 => self.text.is_newline = is_set,
                mode => self.private.idle.set_ansi(mode, is_set),
            }
        }
    }

    /// DECSET and DECRST.
    pub(super) fn set_private_modes(&mut self, csi: &Csi<'_>) {
        for param in csi.params() {
            self.set_private_mode(param.value(), csi.last == b'h');
        }
    }

    fn set_private_mode(&mut self, mode: u16, is_set: bool) {
        let last = if is_set { 'h' } else { 'l' };
        match mode {
            1 | 9 | 25 | 1000 | 1002 | 1003 | 1005 | 1006 | 2004 => {
                self.inject(&format!("\x1b[?{mode}{last}"))
            }
            5 => {
                self.private.is_reverse = is_set;
                self.touch();
            }
            6 => {
                self.is_origin = is_set;
                self.inject(&format!("\x1b[?6{last}"));
                self.go_home();
            }
            7 => self.text.is_autowrap = is_set,
            12 => self.private.is_blinking = is_set,
            3 if self.private.idle.private(40) == Some(true) => self.switch_columns(is_set),
            3 => {}
            95 if self.private.level < 5 => {}
            41 => self.text.is_tab_wrapping = is_set,
            45 => self.text.is_reverse_wrap = is_set,
            1045 => self.text.is_reverse_wrap_extended = is_set,
            67 => self.private.is_backspace_bs = is_set,
            69 if self.private.level < 4 => {}
            69 => {
                self.text.has_columns = is_set;
                self.text.columns = None;
            }
            66 => self.inject(if is_set { "\x1b=" } else { "\x1b>" }),
            47 | 1047 => self.switch_screen(mode, is_set),
            1048 if is_set => self.save_cursor(),
            1048 => self.restore_cursor(),
            1049 if is_set => self.enter_alt_screen(),
            1049 => self.leave_alt_screen(),
            1004 => self.private.is_focus_reported = is_set,
            1007 => self.private.is_alternate_scroll = is_set,
            2026 => self.private.is_synchronized = is_set,
            2031 => self.private.is_scheme_reported = is_set,
            2048 => {
                self.private.is_size_reported = is_set;
                if is_set {
                    self.report_size();
                }
            }
            mode => self.private.idle.set_private(mode, is_set),
        }
    }

    /// XTSAVE and XTRESTORE, for modes that say what they are, switch no screen and need no permission.
    pub(super) fn keep_private_modes(&mut self, csi: &Csi<'_>) {
        for mode in csi.params().map(Param::value).filter(|mode| !matches!(mode, 3 | 47 | 95 | 1047..=1049)) {
            if csi.last == b's' {
                let state = self.private_mode_state(mode);
                if matches!(state, 1 | 2) {
                    self.kept_modes.insert(mode, state == 1);
                }
            } else if let Some(is_set) = self.kept_modes.get(&mode) {
                self.set_private_mode(mode, *is_set);
            }
        }
    }

    /// 47 and 1047: the screens switch, the cursor stays; leaving by 1047 clears the alternate screen.
    fn switch_screen(&mut self, mode: u16, is_alt: bool) {
        if is_alt == self.is_alt_screen() {
            return;
        }
        self.wait(false);
        let row = self.cursor_position().0;
        let col = self.cursor_in_row();
        if !is_alt && mode == 1047 {
            let look = self.parser.screen().attributes_formatted();
            self.inject(&format!("\x1b[m\x1b[2J{look}"));
        }
        self.inject(if is_alt { "\x1b[?47h" } else { "\x1b[?47l" });
        self.private.has_alt_screen = true;
        self.apply_margins();
        self.go_to(row, col);
        self.out.event(TermEvent::AltScreen(is_alt));
    }

    /// The parser keeps margins per screen, we and everyone else keep one pair: brings the screen just
    /// entered in line. Leaves the cursor anywhere.
    fn apply_margins(&mut self) {
        let Margins { top, bottom } = self.margins;
        let origin = if self.is_origin { 'h' } else { 'l' };
        self.inject(&format!("\x1b[{};{}r\x1b[?6{origin}", top + 1, bottom + 1));
    }

    fn enter_alt_screen(&mut self) {
        if self.is_alt_screen() {
            return;
        }
        self.keep_state(0);
        self.wait(false);
        let row = self.cursor_position().0;
        let col = self.cursor_in_row();
        self.inject("\x1b[?1049h");
        self.private.has_alt_screen = true;
        self.apply_margins();
        self.go_to(row, col);
        self.out.event(TermEvent::AltScreen(true));
    }

    fn leave_alt_screen(&mut self) {
        if !self.is_alt_screen() {
            self.restore_cursor();
            return;
        }
        self.inject("\x1b[?47l");
        self.apply_margins();
        self.restore_cursor();
        self.out.event(TermEvent::AltScreen(false));
    }

    fn keep_state(&mut self, screen: usize) {
        self.saved[screen] = SavedState {
            extra: self.pen.extra,
            style: self.parser_style(),
            charsets: self.text.charsets,
            locked: self.text.locked,
            is_origin: self.is_origin,
        };
    }

    /// DECSC.
    pub(super) fn save_cursor(&mut self) {
        self.keep_state(self.screen_index());
        self.inject("\x1b7");
    }

    /// DECRC.
    pub(super) fn restore_cursor(&mut self) {
        let saved = self.saved[self.screen_index()];
        self.text.charsets = saved.charsets;
        self.text.locked = saved.locked;
        self.is_origin = saved.is_origin;
        self.inject("\x1b8");
        match &mut self.text.columns {
            Some(columns) => {
                columns.is_waiting = false;
                self.leave_edge();
            }
            None => self.settle_edge(),
        }
        let mut look = String::new();
        sgr::write(&saved.style, &mut look);
        self.inject(&look);
        let link = self.pen.extra.link;
        self.adopt_look(Extra { link, ..saved.extra });
    }

    /// Takes the look that the parser has now, with `extra` on top, as the pen.
    pub(super) fn adopt_look(&mut self, extra: Extra) {
        let screen = self.parser.screen();
        let is_both = extra.attrs.contains(super::style::BOLD_AND_DIM);
        let pen = Pen {
            extra,
            is_bold: screen.bold(),
            is_dim: screen.dim() || is_both,
            has_bg: screen.bgcolor() != vt100::Color::Default,
        };
        self.set_pen(pen);
    }

    /// DECSTR.
    pub(super) fn soft_reset(&mut self) {
        let row = self.cursor_position().0;
        let col = self.cursor_in_row();
        self.text = TextModes { tab_stops: self.text.tab_stops.take(), ..TextModes::default() };
        self.is_origin = false;
        self.private.is_protection_strict = false;
        self.margins = Margins::whole(self.n_rows());
        self.set_pen(Pen { extra: Extra { is_protected: false, ..self.pen.extra }, ..self.pen }.reset());
        self.inject("\x1b[?25h\x1b[?6l\x1b[?1l\x1b>\x1b[r\x1b[m\x1b[H\x1b7");
        self.saved[self.screen_index()] = SavedState::default();
        self.go_to(row, col);
    }

    /// RIS. Titles stay, as in xterm.
    pub(super) fn hard_reset(&mut self) {
        self.archive_scrolled();
        if self.is_alt_screen() {
            self.out.event(TermEvent::AltScreen(false));
        }
        self.inject("\x1bc");
        self.text = TextModes::default();
        self.private = PrivateModes::default();
        self.kept_modes.clear();
        self.is_origin = false;
        self.margins = Margins::whole(self.n_rows());
        self.saved = [SavedState::default(); 2];
        self.last_char = None;
        self.has_wide_bg = false;
        self.set_pen(Pen::default());
        let has_used_extended = self.keyboard.has_used_extended;
        self.keyboard = Keyboard { has_used_extended, ..Keyboard::default() };
        self.colors = super::color::Colors::default();
        if self.config.may_program_clear_history {
            self.history.clear();
        } else {
            self.history.close_open();
        }
    }
}
