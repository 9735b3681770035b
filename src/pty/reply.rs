//! Answers to what programs ask their terminal, given at once and in stream order.
//!
//! The table is `terminal.md` 5.2. Nothing is ever asked of a client, since none may be attached;
//! what the host looks like is known from [`super::color::HostFacts`]. Where silence is the answer
//! (kitty graphics, OSC 66, 99, 1337) nothing is sent.

use super::scan::{self, Csi};
use super::sgr;
use super::term::Term;
use crate::base::grid::Style;

/// VT220 with ANSI colour and clipboard access. Agents use the answer as the end of their probing.
const DEVICE: &[u8] = b"\x1b[?62;22;52c";
/// A VT420, and the xterm whose sequences these are: programs that ask for them by version find them.
const TERMINAL: &[u8] = b"\x1b[>41;388;0c";
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Term {
    /// Answers a query; returns whether it was one that we know.
    pub(super) fn answer(&mut self, csi: &Csi<'_>) -> bool {
        match (csi.private, csi.intermediates, csi.last) {
            (0, b"", b'c') => {
                if csi.number(0, 0) == 0 {
                    self.report_device();
                }
            }
            (b'>', b"", b'c') => self.out.reply(TERMINAL),
            (b'=', b"", b'c') => self.out.reply(b"\x1bP!|00000000\x1b\\"),
            (b'>', b"", b'q') => self.out.reply(format!("\x1bP>|orca {VERSION}\x1b\\").as_bytes()),
            (0, b"", b'n') => self.report_status(csi.number(0, 0)),
            (b'?', b"", b'n') => self.report_private_status(csi),
            (b'?' | 0, b"$", b'p') if self.private.level < 3 => {}
            (b'?', b"$", b'p') => {
                let mode = csi.number(0, 0);
                let state = self.private_mode_state(mode);
                self.out.reply(format!("\x1b[?{mode};{state}$y").as_bytes());
            }
            (0, b"$", b'p') => {
                let mode = csi.number(0, 0);
                let state = match mode {
                    4 => on_or_off(self.text.is_insert),
                    20 => on_or_off(self.text.is_newline),
                    // Block transfer, local echo and the like, which no terminal has any more.
                    1 | 5 | 7 | 10 | 11 | 13..=19 => 4,
                    mode => self.private.idle.ansi(mode).map_or(0, on_or_off),
                };
                self.out.reply(format!("\x1b[{mode};{state}$y").as_bytes());
            }
            (0, b"", b't') => self.window_request(csi),
            _ => return false,
        }
        true
    }

    pub(super) fn report_device(&mut self) {
        self.out.reply(DEVICE);
    }

    fn report_status(&mut self, what: u16) {
        match what {
            5 => self.out.reply(b"\x1b[0n"),
            6 => {
                let (row, col) = self.reported_cursor();
                self.out.reply(format!("\x1b[{row};{col}R").as_bytes());
            }
            _ => {}
        }
    }

    fn report_private_status(&mut self, csi: &Csi<'_>) {
        match csi.number(0, 0) {
            6 => {
                let (row, col) = self.reported_cursor();
                self.out.reply(format!("\x1b[?{row};{col};1R").as_bytes());
            }
            15 => self.out.reply(b"\x1b[?13n"),
            25 => self.out.reply(b"\x1b[?20n"),
            26 => self.out.reply(b"\x1b[?27;1;0;0n"),
            53 | 55 => self.out.reply(b"\x1b[?50n"),
            56 => self.out.reply(b"\x1b[?57;0n"),
            62 => self.out.reply(b"\x1b[0*{"),
            63 => self.out.reply(format!("\x1bP{}!~0000\x1b\\", csi.number(1, 0)).as_bytes()),
            75 => self.out.reply(b"\x1b[?70n"),
            85 => self.out.reply(b"\x1b[?83n"),
            996 => self.report_scheme(),
            _ => {}
        }
    }

    /// The cursor counted from 1, relative to the region in origin mode, never behind the last column.
    fn reported_cursor(&self) -> (u16, u16) {
        let row = self.cursor_position().0;
        let row = if self.is_origin { row.saturating_sub(self.margins.top) } else { row };
        (row + 1, self.counted_column() + 1)
    }

    /// Tells whether the host is dark (1) or light (2).
    pub(super) fn report_scheme(&mut self) {
        let scheme = if self.host.is_dark { 1 } else { 2 };
        self.out.reply(format!("\x1b[?997;{scheme}n").as_bytes());
    }

    /// Tells the size in cells and pixels (mode 2048).
    pub(super) fn report_size(&mut self) {
        let (rows, cols) = (self.n_rows(), self.n_cols());
        let (height, width) = self.size_px();
        self.out.reply(format!("\x1b[48;{rows};{cols};{height};{width}t").as_bytes());
    }

    fn size_px(&self) -> (u32, u32) {
        let (height, width) = self.host.cell_px;
        (u32::from(self.n_rows()) * u32::from(height), u32::from(self.n_cols()) * u32::from(width))
    }

    /// DECRQM: 0 unknown, 1 set, 2 reset.
    pub(super) fn private_mode_state(&self, mode: u16) -> u8 {
        use super::modes::{MouseEncoding, MouseMode};
        let modes = self.modes();
        let is_on = match mode {
            1 => modes.is_application_cursor,
            5 => self.private.is_reverse,
            6 => self.is_origin,
            7 => self.text.is_autowrap,
            9 => modes.mouse == MouseMode::Press,
            12 => self.private.is_blinking,
            25 => !self.parser.screen().hide_cursor(),
            41 => self.text.is_tab_wrapping,
            45 => self.text.is_reverse_wrap,
            47 | 1047 | 1049 => modes.is_alt_screen,
            66 => modes.is_application_keypad,
            67 => modes.is_backspace_bs,
            69 if self.private.level < 4 => return 0,
            69 => self.text.has_columns,
            95 if self.private.level < 5 => return 0,
            1000 => modes.mouse == MouseMode::PressRelease,
            1002 => modes.mouse == MouseMode::ButtonMotion,
            1003 => modes.mouse == MouseMode::AnyMotion,
            1004 => modes.is_focus_reported,
            1005 => modes.mouse_encoding == MouseEncoding::Utf8,
            1006 => modes.mouse_encoding == MouseEncoding::Sgr,
            1007 => modes.is_alternate_scroll,
            1045 => self.text.is_reverse_wrap_extended,
            1048 => false,
            2004 => modes.is_bracketed_paste,
            2026 => self.private.is_synchronized,
            2027 => true,
            2031 => self.private.is_scheme_reported,
            2048 => self.private.is_size_reported,
            mode => return self.private.idle.private(mode).map_or(0, on_or_off),
        };
        on_or_off(is_on)
    }

    /// The kitty keyboard protocol and modifyOtherKeys; returns whether it was one of them.
    pub(super) fn keyboard_request(&mut self, csi: &Csi<'_>) -> bool {
        const MAX_STACK: usize = 16;
        let index = self.screen_index();
        let stack = &mut self.keyboard.kitty[index];
        let flags = csi.number(0, 0).to_le_bytes()[0] & 31;
        match (csi.private, csi.intermediates, csi.last) {
            (b'?', b"", b'u') => {
                let current = stack.last().copied().unwrap_or(0);
                self.out.reply(format!("\x1b[?{current}u").as_bytes());
                return true;
            }
            (b'?', b"", b'm') => {
                if csi.number(0, 0) == 4 {
                    let level = self.keyboard.other_keys;
                    self.out.reply(format!("\x1b[>4;{level}m").as_bytes());
                }
                return true;
            }
            (b'>', b"", b'u') => {
                if stack.len() >= MAX_STACK {
                    stack.remove(0);
                }
                stack.push(flags);
            }
            (b'<', b"", b'u') => {
                let n_left = stack.len().saturating_sub(usize::from(csi.number(0, 1)));
                stack.truncate(n_left);
                return true;
            }
            (b'=', b"", b'u') => {
                let current = stack.pop().unwrap_or(0);
                stack.push(match csi.number(1, 1) {
                    2 => current | flags,
                    3 => current & !flags,
                    _ => flags,
                });
            }
            // `CSI > 4 ; ? m`, which gemini sends, does not parse and is dropped before.
            (b'>', b"", b'm') => {
                if matches!(csi.number(0, 0), 0 | 4) {
                    self.keyboard.other_keys = csi.number(1, 0).min(2).to_le_bytes()[0];
                }
            }
            _ => return false,
        }
        self.keyboard.has_used_extended |= self.keyboard.other_keys > 0 || csi.last == b'u';
        true
    }

    /// `CSI t`: sizes and the title stack. Titles are never told: they could be typed as commands.
    fn window_request(&mut self, csi: &Csi<'_>) {
        let (rows, cols) = (self.n_rows(), self.n_cols());
        let (height, width) = self.size_px();
        let reply = match csi.number(0, 0) {
            11 => "\x1b[1t".to_owned(),
            13 => "\x1b[3;0;0t".to_owned(),
            14 => format!("\x1b[4;{height};{width}t"),
            15 => format!("\x1b[5;{height};{width}t"),
            16 => format!("\x1b[6;{};{}t", self.host.cell_px.0, self.host.cell_px.1),
            18 => format!("\x1b[8;{rows};{cols}t"),
            19 => format!("\x1b[9;{rows};{cols}t"),
            20 => "\x1b]L\x1b\\".to_owned(),
            21 => "\x1b]l\x1b\\".to_owned(),
            22 => return self.push_title(),
            23 => return self.pop_title(csi.number(1, 0)),
            _ => return,
        };
        self.out.reply(reply.as_bytes());
    }

    /// DECRQSS and XTGETTCAP.
    pub(super) fn device_control(&mut self, sequence: &[u8]) {
        let body = scan::string_body(sequence);
        if let Some(setting) = body.strip_prefix(b"$q") {
            let reply = match self.setting(setting) {
                Some(value) => format!("\x1bP1$r{value}\x1b\\"),
                None => "\x1bP0$r\x1b\\".to_owned(),
            };
            self.out.reply(reply.as_bytes());
        } else if let Some(names) = body.strip_prefix(b"+q") {
            for name in names.split(|b| *b == b';') {
                self.out.reply(capability(name).as_bytes());
            }
        }
    }

    fn setting(&self, name: &[u8]) -> Option<String> {
        Some(match name {
            b"m" => {
                let mut value = String::from("0");
                sgr::write_report(&self.current_style(), &mut value);
                value.push('m');
                value
            }
            b"r" => format!("{};{}r", self.margins.top + 1, self.margins.bottom + 1),
            b"s" if self.text.has_columns => {
                let last = self.n_cols() - 1;
                let (left, right) =
                    self.text.columns.map_or((0, last), |columns| (columns.left, columns.right));
                format!("{};{}s", left + 1, right + 1)
            }
            b" q" => format!("{} q", self.cursor_shape_number().max(1)),
            b"\"p" => self.level_setting(),
            // There is no status line.
            b"$}" => "0$}".to_owned(),
            b"$~" => "0$~".to_owned(),
            b"*x" => format!("{}*x", self.private.change_extent),
            b"\"q" => format!("{}\"q", u8::from(self.pen.extra.is_protected)),
            b"t" => format!("{}t", self.n_rows()),
            b"$|" => format!("{}$|", self.n_cols()),
            b"*|" => format!("{}*|", self.n_rows()),
            _ => return None,
        })
    }

    /// The look in which the next character would be printed, without its link.
    pub(super) fn current_style(&self) -> Style {
        let mut style = self.parser_style();
        self.pen.extra.apply(&mut style);
        style
    }

    /// What the parser knows of the current look.
    pub(super) fn parser_style(&self) -> Style {
        let screen = self.parser.screen();
        let flags = [screen.bold(), screen.dim(), screen.italic(), screen.underline(), screen.inverse()];
        super::cells::style_of(screen.fgcolor(), screen.bgcolor(), flags)
    }

    /// The parameter of DECSCUSR; 0 is the host's own.
    pub(super) fn cursor_shape_number(&self) -> u8 {
        use crate::base::grid::CursorShape;
        match self.cursor().shape {
            CursorShape::Default => 0,
            CursorShape::BlinkBlock => 1,
            CursorShape::SteadyBlock => 2,
            CursorShape::BlinkUnderline => 3,
            CursorShape::SteadyUnderline => 4,
            CursorShape::BlinkBar => 5,
            CursorShape::SteadyBar => 6,
        }
    }
}

const fn on_or_off(is_on: bool) -> u8 {
    if is_on { 1 } else { 2 }
}

/// The answer to XTGETTCAP for one name in hex, which is repeated as it was asked.
fn capability(name: &[u8]) -> String {
    if name.len() > 64 || !name.iter().all(u8::is_ascii_hexdigit) {
        return "\x1bP0+r\x1b\\".to_owned();
    }
    let asked = String::from_utf8_lossy(name);
    let pairs = name.chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    let decoded: Vec<u8> = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    let value = match decoded.as_slice() {
        b"TN" | b"name" => "xterm-256color",
        b"Co" | b"colors" => "256",
        b"RGB" => "8/8/8",
        b"Tc" | b"Su" => "",
        b"Ms" => "\x1b]52;%p1%s;%p2%s\x07",
        _ => return format!("\x1bP0+r{asked}\x1b\\"),
    };
    let hex: String = value.bytes().map(|b| format!("{b:02X}")).collect();
    let equals = if value.is_empty() { "" } else { "=" };
    format!("\x1bP1+r{asked}{equals}{hex}\x1b\\")
}
