//! Changing the size of a terminal: the main screen is wrapped anew, the alternate one is cut.
//!
//! The parser cannot reflow, and without history of its own it puts blank rows on top where a screen
//! grows (`terminal.md` 1.2). So the screen is written out, joined over wrapped rows and split at the
//! cursor, and drawn again by a fresh parser. Rows that leave the top on the way go to history like any
//! other; lines that a taller screen has room for come back from it.

use super::event::TermEvent;
use super::replay::{Form, Replay};
use super::state::Margins;
use super::term::{Term, new_parser};
use crate::base::size::TermSize;

/// A cursor, and the look that goes with it.
struct Place {
    row: u16,
    col: u16,
    look: String,
}

/// The main screen as text, around the cursor.
struct MainText {
    before: Replay,
    after: Replay,
    /// Rows that the text took at the old size.
    n_rows: u16,
    place: Place,
    saved: Place,
    is_saved_at_cursor: bool,
    /// Whether the text of the cursor's line goes on at the cursor.
    goes_on: bool,
}

impl Term {
    /// Changes the size. Programs redraw after it, so the alternate screen is only cut or padded.
    pub fn resize(&mut self, size: TermSize) {
        if size == self.size {
            return;
        }
        self.touch();
        self.guarded(|term| term.rebuild(size));
        if self.size != size {
            // The rebuild failed; the fresh parser still has the old size.
            self.size = size;
            self.parser = new_parser(size, std::mem::take(self.parser.callbacks_mut()));
            self.margins = Margins::whole(size.n_rows());
            self.out.event(TermEvent::ScreenLost);
        }
        if self.private.is_size_reported {
            self.report_size();
        }
    }

    fn rebuild(&mut self, size: TermSize) {
        self.archive_scrolled();
        let old = self.size;
        let modes = self.parser.screen().input_mode_formatted();
        let cursor = if self.parser.screen().hide_cursor() { "\x1b[?25l" } else { "" };
        let shape = format!("\x1b[{} q", self.cursor_shape_number());
        let alt = self.is_alt_screen().then(|| {
            let alt = self.alt_text(size);
            self.inject("\x1b[?47l");
            alt
        });
        let main = self.main_text(old.n_rows().saturating_sub(size.n_rows()));
        let pulled = self.pull_history(size, main.n_rows);

        let hooks = std::mem::take(self.parser.callbacks_mut());
        self.parser = new_parser(size, hooks);
        self.size = size;
        self.margins = Margins::whole(size.n_rows());
        self.text.columns = None;
        self.draw_anew(pulled, main);
        self.private.has_alt_screen = alt.is_some();
        if let Some((rows, place)) = alt {
            self.inject("\x1b[?47h");
            self.reprint(&rows);
            self.put_cursor(&place);
        }
        self.inject(&format!("{modes}{cursor}{shape}"));
        if self.is_origin {
            // The mode stays without moving the cursor, which counts from the same corner now.
            let row = self.cursor_position().0;
            let col = self.cursor_in_row();
            self.inject("\x1b[?6h");
            self.go_to(row, col);
        }
        if let Some(stops) = &mut self.text.tab_stops {
            let n_old = stops.len();
            stops.resize(size.n_cols().into(), false);
            stops.iter_mut().enumerate().skip(n_old).for_each(|(col, stop)| *stop = col % 8 == 0);
        }
        self.touch();
    }

    fn draw_anew(&mut self, pulled: Vec<String>, main: MainText) {
        for text in &pulled {
            self.print_again(text, false);
        }
        self.reprint(&main.before.text);
        let n_scrolled = self.parser.callbacks().n_scrolled();
        let (row, col) = self.cursor_position();
        self.reprint(&main.after.text);
        let is_past_edge = col >= self.n_cols();
        let is_pending = is_past_edge && !main.goes_on;
        let n_more = self.parser.callbacks().n_scrolled() - n_scrolled;
        let (row, col) = if is_past_edge && main.goes_on { (row + 1, 0) } else { (row, col) };
        let row = row.saturating_sub(u16::try_from(n_more).unwrap_or(u16::MAX));
        let at_cursor = Place { row, col: col.min(self.n_cols() - 1), look: main.saved.look.clone() };
        if main.is_saved_at_cursor {
            self.put_cursor(&at_cursor);
        } else {
            self.put_cursor(&main.saved);
        }
        self.inject("\x1b7");
        self.put_cursor(&Place { look: main.place.look, ..at_cursor });
        if is_pending {
            self.stand_past_edge(row);
        }
    }

    /// Prints the last cell of the row again, so that the cursor stands behind it.
    pub(super) fn stand_past_edge(&mut self, row: u16) {
        if !self.is_edge_printed(row) {
            return;
        }
        let look = self.parser.screen().attributes_formatted();
        let last = self.n_cols() - 1;
        let is_second_half =
            self.parser.screen().cell(row, last).is_some_and(vt100::Cell::is_wide_continuation);
        let first = if is_second_half { last.saturating_sub(1) } else { last };
        let mut replay = Replay::default();
        self.replay_cells(row, first..last + 1, Form::Tagged, &mut replay);
        self.go_to(row, first);
        self.reprint(&replay.text);
        self.inject(&look);
    }

    /// Whether the last column of `row` shows a character.
    pub(super) fn is_edge_printed(&self, row: u16) -> bool {
        self.parser.screen().cell(row, self.n_cols() - 1).is_some_and(|cell| {
            let is_filled = super::style::is_filler(cell.contents());
            cell.is_wide_continuation() || (cell.has_contents() && !is_filled)
        })
    }

    fn put_cursor(&mut self, place: &Place) {
        let row = place.row.min(self.n_rows() - 1);
        let col = place.col.min(self.n_cols() - 1);
        self.go_to(row, col);
        self.inject(&place.look);
    }

    /// Prints our own cells, in the modes of a fresh terminal.
    pub(super) fn reprint(&mut self, text: &str) {
        self.print_again(text, true);
    }

    fn print_again(&mut self, text: &str, is_tagged: bool) {
        let modes = std::mem::take(&mut self.text);
        let pen = std::mem::take(&mut self.pen);
        let tag = std::mem::take(&mut self.tag);
        let before = (self.last_char, self.is_after_joiner, self.is_kept_apart);
        self.inject("\x1b[m");
        self.is_replaying = is_tagged;
        self.is_redrawing = !is_tagged;
        self.run(text.as_bytes(), 0);
        self.is_replaying = false;
        self.is_redrawing = false;
        self.inject("\x1b[m");
        self.text = modes;
        self.pen = pen;
        self.tag = tag;
        (self.last_char, self.is_after_joiner, self.is_kept_apart) = before;
    }

    /// The main screen, which must be the one shown. Blank rows below the text are left out, and up to
    /// `n_cut` rows altogether below the cursor, which is what other terminals drop first.
    fn main_text(&mut self, n_cut: u16) -> MainText {
        let (cursor_row, cursor_col) = self.cursor_position();
        let look = self.parser.screen().attributes_formatted();
        let (place, saved, is_saved_at_cursor) = self.places(look);
        let n_old = self.n_rows();
        let lowest = (cursor_row + 1..n_old).rev().find(|row| self.used_cols(*row) > 0);
        let n_used = lowest.map_or(cursor_row, |row| row) + 1;
        let n_used = n_used.min((n_old - n_cut.min(n_old - 1)).max(cursor_row + 1));
        let mut before = Replay::default();
        for row in 0..cursor_row {
            self.replay_row(row, 0, &mut before, true);
        }
        let n_here = self.used_cols(cursor_row);
        let col = cursor_col.min(self.n_cols());
        let goes_on = n_here > col || (self.is_row_wrapped(cursor_row) && cursor_row + 1 < n_used);
        if goes_on {
            self.replay_cells(cursor_row, 0..col, Form::Tagged, &mut before);
        } else {
            self.replay_cells(cursor_row, 0..n_here, Form::Tagged, &mut before);
            let n_blank = col.saturating_sub(n_here);
            if n_blank > 0 {
                before.end();
                before.text.push_str(&format!("\x1b[{n_blank}C"));
            }
        }
        let mut after = before.continued();
        self.replay_row(cursor_row, col, &mut after, cursor_row + 1 < n_used);
        for row in cursor_row + 1..n_used {
            self.replay_row(row, 0, &mut after, row + 1 < n_used);
        }
        // `continued` assumes the look at the end of `before`, but printing starts in the default one.
        let mut look_again = String::new();
        super::sgr::write(&before.style(), &mut look_again);
        after.text.insert_str(0, if after.text.is_empty() { "" } else { &look_again });
        MainText { before, after, n_rows: n_used, place, saved, is_saved_at_cursor, goes_on }
    }

    /// Writes a row from column `from` on, and its end unless the line goes on or it is the last.
    fn replay_row(&self, row: u16, from: u16, replay: &mut Replay, has_next: bool) {
        let is_wrapped = self.is_row_wrapped(row) && has_next;
        let n_used = self.used_cols(row);
        // A wrapped row is full, unless its end was erased since: those blanks are part of the line.
        let end = if is_wrapped { self.n_cols() } else { n_used };
        self.replay_cells(row, from..end.max(from), Form::Tagged, replay);
        if !is_wrapped && has_next {
            replay.end();
            replay.text.push_str("\r\n");
        }
    }

    /// The cursor and the saved cursor, each with its look. Moves the cursor of the old parser, which
    /// is given up anyway.
    fn places(&mut self, look: String) -> (Place, Place, bool) {
        let (row, col) = self.cursor_position();
        self.inject("\x1b8");
        let (saved_row, saved_col) = self.cursor_position();
        let saved_look = self.parser.screen().attributes_formatted();
        let is_same = (row, col.min(self.n_cols() - 1)) == (saved_row, saved_col.min(self.n_cols() - 1));
        (Place { row, col, look }, Place { row: saved_row, col: saved_col, look: saved_look }, is_same)
    }

    /// Takes back the line that the top row continues, and as many more as the new size has room for.
    fn pull_history(&mut self, size: TermSize, n_rows: u16) -> Vec<String> {
        let n_cols = usize::from(size.n_cols());
        let mut n_free = usize::from(size.n_rows()).saturating_sub(usize::from(n_rows));
        let is_growing = size.n_rows() > self.size.n_rows();
        let mut pulled = Vec::new();
        if let Some(runs) = self.history.take_open() {
            let mut replay = Replay::default();
            replay.push_runs(&runs);
            replay.end();
            pulled.push(replay.text);
        }
        while is_growing && n_free > 0 {
            let Some(runs) = self.history.take_newest() else { break };
            let width: usize = runs.iter().map(crate::base::grid::Run::width).sum();
            n_free = n_free.saturating_sub(width.div_ceil(n_cols).max(1));
            let mut replay = Replay::default();
            replay.push_runs(&runs);
            replay.end();
            replay.text.push_str("\r\n");
            pulled.push(replay.text);
        }
        pulled.reverse();
        pulled
    }

    /// The alternate screen, which must be the one shown, cut to `size`: above if the cursor would be
    /// lost otherwise, else below.
    fn alt_text(&self, size: TermSize) -> (String, Place) {
        let (row, col) = self.cursor_position();
        let n_above = (row + 1).saturating_sub(size.n_rows());
        let n_kept = self.n_rows().min(size.n_rows());
        let mut replay = Replay::default();
        for (target, source) in (n_above..self.n_rows()).take(n_kept.into()).enumerate() {
            let end = self.used_cols(source).min(size.n_cols());
            replay.text.push_str(&format!("\x1b[{};1H", target + 1));
            let is_halved =
                end > 0 && self.parser.screen().cell(source, end - 1).is_some_and(vt100::Cell::is_wide);
            let end = if is_halved { end - 1 } else { end };
            self.replay_cells(source, 0..end, Form::Tagged, &mut replay);
        }
        let look = self.parser.screen().attributes_formatted();
        (replay.text, Place { row: row - n_above, col, look })
    }
}
