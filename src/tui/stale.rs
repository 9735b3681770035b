//! What of the frame on the host is out of date, so that a key's echo draws its row and not the screen.

use crate::base::id::TerminalId;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of panes' pictures, by terminal. No rows: only the cursor may have moved.
pub type PaneRows = BTreeMap<TerminalId, BTreeSet<u16>>;

/// What must be drawn again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stale {
    Nothing,
    Rows(PaneRows),
    Whole,
}

impl Stale {
    /// Adds rows of a terminal's picture.
    pub fn add_rows(&mut self, terminal: &TerminalId, rows: impl IntoIterator<Item = u16>) {
        let mut known = match std::mem::replace(self, Self::Whole) {
            Self::Whole => return,
            Self::Nothing => PaneRows::new(),
            Self::Rows(known) => known,
        };
        known.entry(terminal.clone()).or_default().extend(rows);
        *self = Self::Rows(known);
    }
}
