//! Conformance levels (DECSCL), and modes of old terminals that are kept for whoever asks.

use super::scan::Csi;
use super::state::Margins;
use super::term::Term;

/// Modes that programs set and ask for although nothing here depends on them: how lines scroll (4), what a
/// printer does (18, 19), national character sets (42), 132 columns (3, 40, 95), a locked keyboard and
/// local echo (2 and 12 of the ANSI modes). Each is a bit, in the order of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IdleModes(u16);

const PRIVATE: [u16; 8] = [3, 4, 18, 19, 35, 40, 42, 95];
const ANSI: [u16; 2] = [2, 12];

impl IdleModes {
    /// The state of a private mode; nothing where it is none of these.
    pub fn private(self, mode: u16) -> Option<bool> {
        PRIVATE.iter().position(|known| *known == mode).map(|bit| self.0 >> bit & 1 == 1)
    }

    /// The state of an ANSI mode; nothing where it is none of these.
    pub fn ansi(self, mode: u16) -> Option<bool> {
        ANSI.iter().position(|known| *known == mode).map(|bit| self.0 >> (PRIVATE.len() + bit) & 1 == 1)
    }

    pub fn set_private(&mut self, mode: u16, is_set: bool) {
        self.set(PRIVATE.iter().position(|known| *known == mode), is_set);
    }

    pub fn set_ansi(&mut self, mode: u16, is_set: bool) {
        let bit = ANSI.iter().position(|known| *known == mode);
        self.set(bit.map(|bit| PRIVATE.len() + bit), is_set);
    }

    fn set(&mut self, bit: Option<usize>, is_set: bool) {
        let mask = bit.map_or(0, |bit| 1 << bit);
        self.0 = if is_set { self.0 | mask } else { self.0 & !mask };
    }

    /// All of them in one number.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// What [`Self::bits`] was.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

impl Term {
    /// DECSCL: sets the level, with a soft reset.
    pub(super) fn set_level(&mut self, csi: &Csi<'_>) {
        if let Some(level @ 1..=5) = csi.number(0, 0).checked_sub(60) {
            self.soft_reset();
            self.private.level = level.to_le_bytes()[0];
        }
    }

    /// The level as DECRQSS tells it.
    pub(super) fn level_setting(&self) -> String {
        match self.private.level {
            1 => String::from("61\"p"),
            level => format!("{};1\"p", 60 + u16::from(level)),
        }
    }

    /// DECCOLM where it is allowed (40): all that it does except to change the width, which is the pane's.
    pub(super) fn switch_columns(&mut self, is_wide: bool) {
        self.private.idle.set_private(3, is_wide);
        self.margins = Margins::whole(self.n_rows());
        self.text.columns = None;
        self.inject("\x1b[r");
        if self.private.idle.private(95) != Some(true) {
            self.rewrite(b"\x1b[2J");
        }
        self.inject(if self.is_origin { "\x1b[?6h" } else { "\x1b[?6l" });
        self.go_home();
    }
}
