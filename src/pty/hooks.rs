//! What we hear from inside the parser: bells, and rows that leave the top of the main screen.

use crate::base::report::OrLog as _;
use std::fmt;
use vt100::capture::{BasicFormattedCaptureState, RowContents};

/// Rows as the parser wrote them, one after the other in one text.
#[derive(Debug, Default)]
pub(super) struct ScrolledRows {
    text: String,
    /// Where each row ends, and whether its line goes on.
    ends: Vec<(usize, bool)>,
}

impl ScrolledRows {
    /// Each row and whether its line goes on in the next.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts
            .zip(&self.ends)
            .map(|(start, (end, is_wrapped))| (self.text.get(start..*end).unwrap_or_default(), *is_wrapped))
    }
}

/// The parser's callbacks.
#[derive(Default)]
pub(super) struct Hooks {
    has_bell: bool,
    rows: ScrolledRows,
    n_scrolled: u64,
    will_wrap: bool,
}

impl Hooks {
    /// Whether the bell rang since the last call.
    pub fn take_bell(&mut self) -> bool {
        std::mem::take(&mut self.has_bell)
    }

    /// Whether rows wait to be taken.
    pub fn has_rows(&self) -> bool {
        !self.rows.ends.is_empty()
    }

    /// The rows since the last call.
    pub fn take_rows(&mut self) -> ScrolledRows {
        std::mem::take(&mut self.rows)
    }

    /// Returns the space of rows that are dealt with.
    pub fn give_back(&mut self, mut rows: ScrolledRows) {
        rows.text.clear();
        rows.ends.clear();
        if self.rows.ends.is_empty() {
            self.rows = rows;
        }
    }

    /// Drops rows that wait, after a failure.
    pub fn forget_rows(&mut self) {
        self.rows = ScrolledRows::default();
    }

    /// Says that the line of the next row to leave the top goes on, whatever the parser tells of it; or
    /// takes that back.
    pub fn expect_wrap(&mut self, will_wrap: bool) {
        self.will_wrap = will_wrap;
    }

    /// Rows of the main screen that ever left the top.
    pub fn n_scrolled(&self) -> u64 {
        self.n_scrolled
    }
}

impl vt100::Callbacks for Hooks {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.has_bell = true;
    }

    fn on_scroll(&mut self, contents: RowContents<'_>, is_alternate: bool) {
        let will_wrap = std::mem::take(&mut self.will_wrap);
        if is_alternate {
            return;
        }
        self.n_scrolled += 1;
        let mut writer = BlankMarker(&mut self.rows.text);
        // From the default look each time: a row that begins in the look of the one above says so too.
        let mut capture = BasicFormattedCaptureState::new();
        contents.write_formatted_basic(&mut writer, &mut capture).or_log("write to memory");
        let mut probe = FirstChar::default();
        let has_begun = contents.write_formatted_basic(&mut probe, &mut capture).is_err();
        self.rows.ends.push((self.rows.text.len(), will_wrap || !(has_begun && probe.is_newline)));
    }
}

/// Stands for a cell without contents in a captured row. No cell can contain it.
pub(super) const BLANK: char = '\u{1}';

/// Tells cells without contents from printed spaces: the parser writes the former as a character and
/// the latter, like every text, as a string. The difference matters because a cell that was never
/// written shows no style, whatever the look of its neighbours.
struct BlankMarker<'a>(&'a mut String);

impl fmt::Write for BlankMarker<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        Ok(())
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        match c {
            ' ' => self.0.push(BLANK),
            '\n' => {}
            _ => self.0.push(c),
        }
        Ok(())
    }
}

/// Takes one character and then refuses. The parser does not say whether a row is wrapped, but after
/// a row that is not it begins the next one with a newline; so we ask it to begin and look.
#[derive(Default)]
struct FirstChar {
    is_newline: bool,
}

impl fmt::Write for FirstChar {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.is_newline = text.starts_with('\n');
        Err(fmt::Error)
    }
}
