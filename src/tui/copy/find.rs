//! A search through history: what was found so far, and which of it is the current one.

use super::book::{Book, Missing, Pos};
use crate::pty::view::{Match, Needle};

/// Places that are kept; a search that finds more of them looks no further back.
const MAX_MATCHES: usize = 50_000;

/// A search. The lines of the screen are looked at here, because the picture of them stands still;
/// the older ones, which cannot change, by the server.
#[derive(Debug, Clone)]
pub struct Search {
    pub text: String,
    pub is_backward: bool,
    found: Vec<Match>,
    current: Option<usize>,
    /// The lines before this one were not looked at yet.
    until: Option<u64>,
    is_cut: bool,
}

impl Search {
    /// Begins with the lines of the screen.
    ///
    /// # Errors
    /// One of them has to be fetched.
    pub fn new(book: &Book, text: String, is_backward: bool) -> Result<Self, Missing> {
        let needle = Needle::new(&text);
        let mut found = Vec::new();
        for number in book.screen()..book.end() {
            found.extend(needle.matches(&book.line(number)?.runs, number));
        }
        let until = Some(book.screen()).filter(|screen| *screen > book.first());
        Ok(Self { text, is_backward, found, current: None, until, is_cut: false })
    }

    /// The line before which the server is to look next; None once all is known.
    pub fn until(&self) -> Option<u64> {
        self.until
    }

    /// Takes what the server found in the lines before [`Search::until`] down to `from`.
    pub fn add(&mut self, older: Vec<Match>, from: u64, oldest: u64) {
        self.found.splice(0..0, older);
        self.is_cut = self.found.len() > MAX_MATCHES;
        self.until = Some(from).filter(|from| *from > oldest && !self.is_cut);
    }

    /// Goes no further back.
    pub fn stop(&mut self) {
        self.is_cut |= self.until.take().is_some();
    }

    /// The place of the next match from `at` on, around the end if need be.
    pub fn step(&mut self, at: Pos, is_backward: bool) -> Option<Pos> {
        let place = |found: &Match| Pos { line: found.line, col: found.col };
        let n_before = self.found.partition_point(|found| place(found) < at);
        let is_on_one = self.found.get(n_before).is_some_and(|found| place(found) == at);
        let count = self.found.len();
        let next = match is_backward {
            true => n_before.checked_sub(1).or(count.checked_sub(1)),
            false => Some(n_before + usize::from(is_on_one)).map(|next| if next < count { next } else { 0 }),
        };
        self.current = next.filter(|next| *next < count);
        self.current.and_then(|current| self.found.get(current)).map(place)
    }

    /// The matches on a line, and whether each is the current one.
    pub fn on_line(&self, line: u64) -> impl Iterator<Item = (&Match, bool)> {
        let from = self.found.partition_point(|found| found.line < line);
        let on_line =
            self.found.iter().enumerate().skip(from).take_while(move |(_, found)| found.line == line);
        on_line.map(|(index, found)| (found, Some(index) == self.current))
    }

    /// `3 of 17`, `no match`, `searching …`.
    pub fn count(&self) -> String {
        let more = if self.is_cut { "+" } else { "" };
        match (self.until, self.current, self.found.len()) {
            (Some(_), _, _) => String::from("searching …"),
            (None, _, 0) => String::from("no match"),
            (None, Some(current), count) => format!("{} of {count}{more}", current + 1),
            (None, None, count) => format!("{count}{more} matches"),
        }
    }

    /// Whether there is no match at all.
    pub fn is_vain(&self) -> bool {
        self.until.is_none() && self.found.is_empty()
    }
}
