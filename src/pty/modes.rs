//! What the program in a pane has asked of its terminal's input side.
//!
//! [`InputModes`] is all that `keys.rs` needs to turn a key, a paste, a mouse or focus event into
//! bytes. `Term` fills it; nothing here changes a mode.

use serde::{Deserialize, Serialize};

/// Which mouse events a program wants (DECSET 9, 1000, 1002, 1003).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MouseMode {
    #[default]
    Off,
    /// Presses only (9).
    Press,
    /// Presses and releases (1000).
    PressRelease,
    /// The same and motion while a button is down (1002).
    ButtonMotion,
    /// The same and all motion (1003).
    AnyMotion,
}

/// How mouse events are written (DECSET 1005, 1006).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MouseEncoding {
    /// One byte per coordinate; columns and rows past 223 cannot be said.
    #[default]
    X10,
    /// One UTF-8 character per coordinate (1005).
    Utf8,
    /// Decimal numbers (1006).
    Sgr,
}

/// Flags of the kitty keyboard protocol that the program has set on the screen it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KittyFlags(u8);

impl KittyFlags {
    pub const DISAMBIGUATE: Self = Self(1);
    pub const REPORT_EVENTS: Self = Self(2);
    pub const REPORT_ALTERNATES: Self = Self(4);
    pub const REPORT_ALL_AS_ESCAPES: Self = Self(8);
    pub const REPORT_TEXT: Self = Self(16);

    /// The flags of `bits`; bits that the protocol does not define are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 31)
    }

    /// The flags as the protocol writes them.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no flag is set, so that keys take their legacy form.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The `modifyOtherKeys` level (`CSI > 4 ; n m`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModifyOtherKeys {
    #[default]
    Off,
    /// Only what has no legacy form (1).
    Ambiguous,
    /// Every modified key (2 and above).
    All,
}

impl ModifyOtherKeys {
    /// The level as the protocol writes it.
    pub const fn level(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Ambiguous => 1,
            Self::All => 2,
        }
    }
}

/// The input side of a pane's terminal at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InputModes {
    /// Arrow keys and Home/End as SS3 (DECCKM, `?1`).
    pub is_application_cursor: bool,
    /// Keypad keys as SS3 (DECKPAM, `?66`).
    pub is_application_keypad: bool,
    /// Enter sends a line feed too (LNM, `20`).
    pub is_newline: bool,
    /// Backspace sends BS, and DEL with Ctrl (DECBKM, `?67`).
    pub is_backspace_bs: bool,
    /// Pastes are bracketed (`?2004`).
    pub is_bracketed_paste: bool,
    /// Focus changes are reported (`?1004`).
    pub is_focus_reported: bool,
    /// The wheel becomes arrow keys on the alternate screen (`?1007`, on until reset).
    pub is_alternate_scroll: bool,
    /// The alternate screen is shown.
    pub is_alt_screen: bool,
    pub mouse: MouseMode,
    pub mouse_encoding: MouseEncoding,
    pub kitty: KittyFlags,
    pub modify_other_keys: ModifyOtherKeys,
    /// The program has used an extended keyboard protocol at least once in its life, so that
    /// Shift+F3 may take a form that is no cursor report (`terminal.md` 5.8).
    pub has_used_extended_keys: bool,
}
