//! Copy mode: looking back, selecting, copying and searching in one pane, with tmux's keys.
//!
//! It works on a picture of the terminal's logical lines that stands still while output goes on. The
//! picture comes in pages: whatever a key needs and is not here yet is asked for, the key waits, and
//! what is typed behind it waits in order. Pure, like everything under `tui` but its loop.

pub mod book;
pub mod find;
pub mod motion;
pub mod order;
pub mod select;
pub mod state;
#[cfg(test)]
mod tests;

use crate::base::clock::Timestamp;
use crate::base::grid::Row;
use crate::config::ModeKeys;
use crate::pty::page::LinePage;
use crate::pty::view::{self, Match};
use book::{Book, Missing, Pos};
use order::Order;
use state::{Input, State, Wish};
use std::collections::VecDeque;
use std::ops::Range;

/// Lines of the first page, and of each later one.
const FIRST_LINES: u32 = 1_000;
const MORE_LINES: u32 = 5_000;
/// Keys that wait at most for lines.
const MAX_QUEUE: usize = 1_000;

/// A question to the server; the answer comes with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Lines { from: Option<u64>, n_lines: u32 },
    Search { text: String, until: u64 },
}

/// How a mode begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub n_rows: u16,
    pub n_cols: u16,
    pub keys: ModeKeys,
    /// Scrolling down to the end leaves the mode.
    pub exits_at_bottom: bool,
    /// A press of the mouse began it.
    pub is_of_mouse: bool,
}

/// What a cell of the view is beside its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Match,
    CurrentMatch,
    Selected,
}

/// What is seen: rows, marks as (row, columns), and where the cursor is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    pub rows: Vec<Row>,
    pub marks: Vec<(u16, Range<u16>, Mark)>,
    pub cursor: (u16, u16),
}

/// Copy mode in one pane.
#[derive(Debug, Clone)]
pub struct Session {
    start: Start,
    /// None until the first page is here.
    open: Option<(State, Book)>,
    queue: VecDeque<Input>,
    /// The id of the question under way, and whether it is about a search.
    asked: Option<(u64, bool)>,
    last_id: u64,
    /// The mode ends then: its selection with the mouse is shown a moment longer.
    pub leaves_at: Option<Timestamp>,
}

impl Session {
    /// Begins; the first page is asked for, `inputs` wait for it.
    pub fn new(start: Start, inputs: impl IntoIterator<Item = Input>, id: u64) -> (Self, Question) {
        let queue = inputs.into_iter().collect();
        let session =
            Self { start, open: None, queue, asked: Some((id, false)), last_id: id, leaves_at: None };
        (session, Question::Lines { from: None, n_lines: FIRST_LINES })
    }

    /// The state, once there is one.
    pub fn state(&self) -> Option<&State> {
        self.open.as_ref().map(|(state, _)| state)
    }

    /// The text, once there is one.
    pub fn book(&self) -> Option<&Book> {
        self.open.as_ref().map(|(_, book)| book)
    }

    /// Whether a press of the mouse began the mode.
    pub fn is_of_mouse(&self) -> bool {
        self.start.is_of_mouse
    }

    /// Whether a drag is under way.
    pub fn is_dragged(&self) -> bool {
        self.state().is_some_and(State::is_dragged)
    }

    /// Takes a paste into what is being written. False: nothing is.
    pub fn paste(&mut self, text: &str) -> bool {
        let Some(prompt) = self.open.as_mut().and_then(|(state, _)| state.prompt.as_mut()) else {
            return false;
        };
        prompt.field.paste(&crate::base::text::one_line(text));
        true
    }

    /// Whether an answer with this id is waited for.
    pub fn waits_for(&self, id: u64) -> bool {
        self.asked.is_some_and(|(asked, _)| asked == id)
    }

    /// The size that the view is to have.
    pub fn resize(&mut self, n_rows: u16, n_cols: u16) -> Turn {
        if (self.start.n_rows, self.start.n_cols) == (n_rows, n_cols) {
            return Turn::default();
        }
        (self.start.n_rows, self.start.n_cols) = (n_rows, n_cols);
        self.take(Input::Size { n_rows, n_cols })
    }

    /// Takes one thing in, or lets it wait.
    pub fn take(&mut self, input: Input) -> Turn {
        if let (Some((_, is_search)), Input::Key(event)) = (self.asked, input) {
            let order = order::order(self.start.keys, &event);
            if matches!(order, Some(Order::Leave | Order::Clear)) {
                return if is_search { self.stop_search() } else { Turn::leave() };
            }
        }
        if self.queue.len() < MAX_QUEUE {
            self.queue.push_back(input);
        }
        self.work()
    }

    /// A page came. None: nothing of the terminal is left.
    pub fn lines_came(&mut self, page: Option<LinePage>) -> Turn {
        self.asked = None;
        let Some(page) = page else {
            let text = String::from("Nothing of this terminal's output is left.");
            return Turn { wishes: vec![Wish::Say { text }, Wish::Leave], question: None };
        };
        match &mut self.open {
            Some((_, book)) => book.add(page),
            None => {
                let cursor = Pos { line: page.cursor.0, col: page.cursor.1 };
                let book = Book::new(page);
                let size = (self.start.n_rows, self.start.n_cols);
                let state = State::new(&book, cursor, size, self.start.keys, self.start.exits_at_bottom);
                // The first page has the whole screen in it.
                let Ok(state) = state else { return Turn::leave() };
                self.open = Some((state, book));
            }
        }
        self.work()
    }

    /// A part of history was searched.
    pub fn found_came(&mut self, matches: Vec<Match>, from: u64, oldest: u64) -> Turn {
        self.asked = None;
        if let Some(search) = self.open.as_mut().and_then(|(state, _)| state.search.as_mut()) {
            search.add(matches, from, oldest);
        }
        self.search_on()
    }

    fn stop_search(&mut self) -> Turn {
        self.asked = None;
        if let Some((state, _)) = &mut self.open
            && let Some(search) = &mut state.search
        {
            search.stop();
        }
        self.search_on()
    }

    /// Asks for the next part of a search, or goes to what it found.
    fn search_on(&mut self) -> Turn {
        let Some((state, book)) = &mut self.open else { return Turn::default() };
        if let Some(question) = next_part(state) {
            return self.ask(question, true);
        }
        let mut next = state.clone();
        match next.search_ended(book) {
            Ok(wishes) => {
                *state = next;
                let mut turn = self.work();
                turn.wishes.splice(0..0, wishes);
                turn
            }
            Err(missing) => {
                // The same step again, once its line is here.
                self.queue.push_front(Input::Order(Order::SearchAgain));
                let question = fetch(book, missing);
                self.ask(question, false)
            }
        }
    }

    fn ask(&mut self, question: Question, is_search: bool) -> Turn {
        self.last_id += 1;
        self.asked = Some((self.last_id, is_search));
        Turn { wishes: Vec::new(), question: Some((self.last_id, question)) }
    }

    /// Works through what waits, as far as the lines reach.
    fn work(&mut self) -> Turn {
        let mut wishes = Vec::new();
        while self.asked.is_none()
            && let Some((state, book)) = &mut self.open
            && let Some(input) = self.queue.front().copied()
        {
            let mut next = state.clone();
            let question = match next.take(book, input) {
                Ok(more) => {
                    *state = next;
                    self.queue.pop_front();
                    wishes.extend(more);
                    next_part(state).map(|question| (question, true))
                }
                Err(missing) => Some((fetch(book, missing), false)),
            };
            if let Some((question, is_search)) = question {
                return Turn { wishes, ..self.ask(question, is_search) };
            }
        }
        Turn { wishes, question: None }
    }

    /// What is seen now; None until the first page is here.
    pub fn shown(&self) -> Option<Shown> {
        let (state, book) = self.open.as_ref()?;
        shown(state, book).ok()
    }
}

/// What came of an input: wishes, and a question with its id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    pub wishes: Vec<Wish>,
    pub question: Option<(u64, Question)>,
}

impl Turn {
    fn leave() -> Self {
        Self { wishes: vec![Wish::Leave], question: None }
    }
}

fn next_part(state: &State) -> Option<Question> {
    let search = state.search.as_ref()?;
    search.until().map(|until| Question::Search { text: search.text.clone(), until })
}

/// The page with a missing line: those before it too, as far as they are missing.
fn fetch(book: &Book, Missing(number): Missing) -> Question {
    let least = number.saturating_sub(u64::from(MORE_LINES) - 1).max(book.first());
    let from = (least..=number).find(|candidate| !book.has(*candidate));
    Question::Lines { from, n_lines: MORE_LINES }
}

fn shown(state: &State, book: &Book) -> Result<Shown, Missing> {
    let (n_rows, n_cols) = state.size();
    let extent = state.extent(book)?;
    let cursor = book.row_of(state.cursor, n_cols)?;
    let mut shown = Shown::default();
    let mut at = book.row_of(state.top, n_cols)?;
    for number in 0..u16::try_from(n_rows).unwrap_or(u16::MAX) {
        if number > 0 {
            let next = book.down(at, 1, n_cols)?;
            if next == at {
                break;
            }
            at = next;
        }
        let cols = book.cols_of(at, n_cols)?;
        let line = book.line(at.line)?;
        shown.rows.push(view::wrap(&line.runs, n_cols).into_iter().nth(at.index).unwrap_or_default());
        let mut mark = |range: Range<usize>, mark: Mark| {
            let short = |col: usize| u16::try_from(col.min(n_cols)).unwrap_or(u16::MAX);
            shown.marks.push((number, short(range.start)..short(range.end), mark));
        };
        for (found, is_current) in state.search.iter().flat_map(|search| search.on_line(at.line)) {
            let (from, to) = (found.col.max(cols.start), (found.col + found.n_cols).min(cols.end));
            if from < to {
                let look = if is_current { Mark::CurrentMatch } else { Mark::Match };
                mark(from - cols.start..to - cols.start, look);
            }
        }
        if let Some(range) = extent.as_ref().and_then(|extent| extent.on_row(at, &cols)) {
            mark(range, Mark::Selected);
        }
        if at == cursor {
            let col = (state.cursor.col - cols.start).min(n_cols - 1);
            shown.cursor = (number, u16::try_from(col).unwrap_or(0));
        }
    }
    Ok(shown)
}
