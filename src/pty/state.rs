//! The state of a terminal that the parser underneath does not keep.

use super::charset::Charset;
use super::level::IdleModes;
use super::style::Extra;
use crate::base::grid::{Attrs, Style};

/// Modes that change what a printed character does.
#[derive(Debug, Clone)]
pub(super) struct TextModes {
    /// Characters push the rest of the row to the right (IRM).
    pub is_insert: bool,
    /// A line feed returns the carriage too (LNM).
    pub is_newline: bool,
    /// Text goes on in the next row at the right edge (DECAWM).
    pub is_autowrap: bool,
    /// Going back from the first column leads to the last one of the row above (45).
    pub is_reverse_wrap: bool,
    /// The same under its newer number (1045).
    pub is_reverse_wrap_extended: bool,
    /// A tab behind a full row goes to the next one (41).
    pub is_tab_wrapping: bool,
    pub charsets: [Charset; 4],
    /// Which of `charsets` is in use.
    pub locked: usize,
    /// The set for the next character only (SS2, SS3).
    pub single_shift: Option<Charset>,
    /// Left and right margins may be set (DECLRMM).
    pub has_columns: bool,
    /// The left and right margins, where they are not the edges.
    pub columns: Option<Columns>,
    /// Tab stops by column, where they differ from every eighth.
    pub tab_stops: Option<Vec<bool>>,
}

impl Default for TextModes {
    fn default() -> Self {
        Self {
            is_insert: false,
            is_newline: false,
            is_autowrap: true,
            is_reverse_wrap: false,
            is_reverse_wrap_extended: false,
            is_tab_wrapping: false,
            charsets: [Charset::Ascii; 4],
            locked: 0,
            single_shift: None,
            has_columns: false,
            columns: None,
            tab_stops: None,
        }
    }
}

impl TextModes {
    /// The character set that the next character is read in.
    pub fn charset(&self) -> Charset {
        self.charsets.get(self.locked).copied().unwrap_or_default()
    }

    /// Whether the parser alone would print wrongly.
    pub fn needs_care(&self) -> bool {
        self.is_insert
            || self.is_newline
            || !self.is_autowrap
            || self.single_shift.is_some()
            || self.tab_stops.is_some()
            || self.columns.is_some()
            || self.charset() != Charset::Ascii
    }
}

/// What we must know of the current look beyond what the parser tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pen {
    pub extra: Extra,
    pub is_bold: bool,
    pub is_dim: bool,
    /// A background colour is set, so that erased cells must take it.
    pub has_bg: bool,
}

impl Pen {
    /// The pen after SGR 0.
    pub fn reset(self) -> Self {
        Self { extra: self.extra.reset(), ..Self::default() }
    }

    /// The pen with the combination of bold and dim written into its extra style.
    pub fn settled(mut self) -> Self {
        self.extra.attrs.set(super::style::BOLD_AND_DIM, self.is_bold && self.is_dim);
        self
    }

    /// Turns an attribute that only the extra style knows on or off.
    pub fn set_extra(&mut self, attrs: Attrs, is_on: bool) {
        self.extra.attrs.set(attrs, is_on);
    }
}

/// What DECSC keeps beside the parser's own saved cursor; one per screen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SavedState {
    pub extra: Extra,
    /// The rest of the look; the parser has one for both screens.
    pub style: Style,
    pub charsets: [Charset; 4],
    pub locked: usize,
    pub is_origin: bool,
}

/// DEC private modes that have no effect on the grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrivateModes {
    /// Output is to be shown at once (2026).
    pub is_synchronized: bool,
    /// Focus reports (1004).
    pub is_focus_reported: bool,
    /// The wheel sends arrow keys on the alternate screen (1007).
    pub is_alternate_scroll: bool,
    /// Reports of a changed colour scheme (2031).
    pub is_scheme_reported: bool,
    /// Reports of a changed size (2048).
    pub is_size_reported: bool,
    /// Blinking cursor (12).
    pub is_blinking: bool,
    /// Reverse video (5).
    pub is_reverse: bool,
    /// Sums of areas are told as they are (XTCHECKSUM).
    pub is_checksum_plain: bool,
    /// What is protected is left alone by all erasing (SPA), not by the selective kind only (DECSCA).
    pub is_protection_strict: bool,
    /// Backspace sends BS instead of DEL (67).
    pub is_backspace_bs: bool,
    /// What changes of attributes apply to (DECSACE), as it was asked.
    pub change_extent: u8,
    /// The conformance level (DECSCL): 1 to 5.
    pub level: u8,
    pub idle: IdleModes,
    /// The alternate screen was shown, so that something may be left on it.
    pub has_alt_screen: bool,
}

impl Default for PrivateModes {
    fn default() -> Self {
        Self {
            is_synchronized: false,
            is_focus_reported: false,
            is_alternate_scroll: true,
            is_scheme_reported: false,
            is_size_reported: false,
            is_blinking: false,
            is_reverse: false,
            is_checksum_plain: false,
            is_protection_strict: false,
            is_backspace_bs: false,
            change_extent: 0,
            level: 4,
            idle: IdleModes::default(),
            has_alt_screen: false,
        }
    }
}

/// The scroll region, both ends inside it, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Margins {
    pub top: u16,
    pub bottom: u16,
}

impl Margins {
    pub fn whole(n_rows: u16) -> Self {
        Self { top: 0, bottom: n_rows.saturating_sub(1) }
    }

    pub fn contains(self, row: u16) -> bool {
        (self.top..=self.bottom).contains(&row)
    }
}

/// The left and right margin, both inside, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    pub left: u16,
    pub right: u16,
    /// The cursor stands on the last column that text reaches, and the next character wraps.
    pub is_waiting: bool,
}

impl Columns {
    pub fn contains(self, col: u16) -> bool {
        (self.left..=self.right).contains(&col)
    }
}

/// The keyboard protocols a program has asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyboard {
    /// Kitty flags, the newest last; one stack per screen.
    pub kitty: [Vec<u8>; 2],
    /// The modifyOtherKeys level.
    pub other_keys: u8,
    /// One of the protocols was used at least once.
    pub has_used_extended: bool,
}

/// Titles kept by `CSI 22 t`, and the current ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Titles {
    pub title: String,
    pub icon: String,
    pub stack: Vec<(String, String)>,
}
