//! Tab stops: where they are, and moving from one to the next.

use super::scan::Csi;
use super::term::Term;

impl Term {
    /// CHT, CBT and TBC; returns whether it was one of them.
    pub(super) fn tabulate(&mut self, csi: &Csi<'_>) -> bool {
        match csi.last {
            b'I' => self.tab_forward(csi.number(0, 1)),
            b'Z' => self.tab_back(csi.number(0, 1)),
            b'g' if csi.number(0, 0) == 0 => self.set_tab_stop(false),
            b'g' if csi.number(0, 0) == 3 => self.tab_stops_mut().fill(false),
            _ => return false,
        }
        true
    }

    /// Moves to the stop `n` stops ahead, or to the right edge or margin.
    pub(super) fn tab_forward(&mut self, n: u16) {
        if self.is_at_edge() {
            return; // the next character still goes to the next row
        }
        let last = match self.text.columns {
            Some(columns) if self.cursor_in_row() <= columns.right => columns.right,
            _ => self.n_cols() - 1,
        };
        let stops = (self.cursor_position().1.saturating_add(1)..=last).filter(|col| self.is_tab_stop(*col));
        let target = stops.take(usize::from(n)).enumerate().last();
        let col = target.filter(|(i, _)| i + 1 == usize::from(n)).map_or(last, |(_, col)| col);
        self.inject(&format!("\x1b[{}G", col + 1));
    }

    fn tab_back(&mut self, n: u16) {
        let stops = (0..self.cursor_in_row()).rev().filter(|col| self.is_tab_stop(*col));
        let target = stops.take(usize::from(n)).enumerate().last();
        let col = target.filter(|(i, _)| i + 1 == usize::from(n)).map_or(0, |(_, col)| col);
        self.inject(&format!("\x1b[{}G", col + 1));
    }

    fn is_tab_stop(&self, col: u16) -> bool {
        match &self.text.tab_stops {
            Some(stops) => stops.get(usize::from(col)).copied().unwrap_or(false),
            None => col.is_multiple_of(8),
        }
    }

    fn tab_stops_mut(&mut self) -> &mut Vec<bool> {
        let n_cols = self.n_cols();
        self.text.tab_stops.get_or_insert_with(|| (0..n_cols).map(|col| col.is_multiple_of(8)).collect())
    }

    /// HTS, and TBC for one stop.
    pub(super) fn set_tab_stop(&mut self, is_set: bool) {
        let col = usize::from(self.cursor_in_row());
        if let Some(stop) = self.tab_stops_mut().get_mut(col) {
            *stop = is_set;
        }
    }
}
