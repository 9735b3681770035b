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

    /// Leaves the rows of one terminal and gives the others. Where more than rows is stale all of it stays.
    pub fn split_off_others(&mut self, terminal: &TerminalId) -> Self {
        let Self::Rows(known) = self else { return Self::Nothing };
        let own = known.remove_entry(terminal);
        let others = std::mem::replace(known, own.into_iter().collect());
        if others.is_empty() { Self::Nothing } else { Self::Rows(others) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::terminal_id;

    #[test]
    fn the_rows_of_one_terminal_are_told_from_the_others() {
        let (one, two) = (terminal_id(1), terminal_id(2));
        let mut stale = Stale::Nothing;
        assert_eq!(stale.split_off_others(&one), Stale::Nothing);
        stale.add_rows(&one, [3]);
        assert_eq!(stale.clone().split_off_others(&one), Stale::Nothing);
        stale.add_rows(&two, [1, 2]);
        let others = stale.split_off_others(&one);
        assert_eq!(stale, Stale::Rows([(one.clone(), [3].into())].into()));
        assert_eq!(others, Stale::Rows([(two, [1, 2].into())].into()));
        stale = Stale::Whole;
        assert_eq!((stale.split_off_others(&one), stale), (Stale::Nothing, Stale::Whole));
    }
}
