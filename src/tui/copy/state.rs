//! Copy mode as a state machine: what each key and each turn of the mouse does. Pure: the text is a
//! [`Book`], what is to happen elsewhere comes out as [`Wish`]es.

mod moves;
mod pointer;

use super::book::{Book, Missing, Pos};
use super::find::Search;
use super::motion;
use super::order::{self, Jump, Order};
use super::select::{Extent, Selection, Unit};
use crate::base::input::{Key, KeyEvent};
use crate::config::ModeKeys;
use crate::tui::widget::field::{Edit, Field};

/// The largest count in front of a key.
const MAX_COUNT: usize = 100_000;

/// Something the person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Key(KeyEvent),
    Order(Order),
    /// Rows, upwards if positive.
    Wheel(i64),
    /// The left button goes down, for the n-th time in a row at this place of the view.
    Press {
        row: u16,
        col: u16,
        n_clicks: u8,
    },
    /// The pointer is dragged to a place of the view; `edge` rows above (negative) or below it.
    Drag {
        row: u16,
        col: u16,
        edge: i64,
    },
    Release,
    /// The view has this size from now on.
    Size {
        n_rows: u16,
        n_cols: u16,
    },
}

/// What is to happen outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Put this text onto the clipboard.
    Copy {
        text: String,
        is_mouse: bool,
    },
    /// Open this text in the editor.
    Edit {
        text: String,
    },
    /// Tell the person.
    Say {
        text: String,
    },
    Leave,
}

/// What is being written at the bottom of the view.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub kind: PromptKind,
    pub field: Field,
}

/// What a prompt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Search { is_backward: bool },
    Line,
}

/// The state beside the text.
#[derive(Debug, Clone)]
pub struct State {
    keys: ModeKeys,
    n_rows: usize,
    n_cols: usize,
    /// The place at the top left of the view.
    pub top: Pos,
    pub cursor: Pos,
    /// The column of the view that the cursor keeps to where lines are long enough.
    wanted_col: usize,
    pub selection: Option<Selection>,
    count: Option<usize>,
    /// A jump whose character comes next.
    jump_wanted: Option<Jump>,
    last_jump: Option<(Jump, char)>,
    pub search: Option<Search>,
    pub prompt: Option<Prompt>,
    mark: Option<Pos>,
    /// Scrolling down to the end leaves: the mode was entered by scrolling up.
    exits_at_bottom: bool,
    /// A drag is under way from here.
    pressed: Option<Pos>,
}

impl State {
    /// At the end of the text, the cursor where the program had its own.
    ///
    /// # Errors
    /// A line of the screen is missing, which is in the first page.
    pub fn new(
        book: &Book,
        cursor: Pos,
        (n_rows, n_cols): (u16, u16),
        keys: ModeKeys,
        exits_at_bottom: bool,
    ) -> Result<Self, Missing> {
        let mut state = Self {
            keys,
            n_rows: usize::from(n_rows.max(1)),
            n_cols: usize::from(n_cols.max(2)),
            top: Pos::default(),
            cursor: book.clamp(cursor)?,
            wanted_col: 0,
            selection: None,
            count: None,
            jump_wanted: None,
            last_jump: None,
            search: None,
            prompt: None,
            mark: None,
            exits_at_bottom,
            pressed: None,
        };
        state.top = state.start_of(book, state.lowest_top(book)?)?;
        state.keep_col(book)?;
        state.show_cursor(book)?;
        Ok(state)
    }

    /// Takes one thing in.
    ///
    /// # Errors
    /// A line has to be fetched; nothing of this state may be kept then.
    pub fn take(&mut self, book: &Book, input: Input) -> Result<Vec<Wish>, Missing> {
        let wishes = match input {
            Input::Key(event) => self.key(book, event)?,
            Input::Order(order) => self.order(book, order)?,
            Input::Wheel(n_rows) => self.wheel(book, n_rows)?,
            Input::Press { row, col, n_clicks } => {
                self.press(book, (row, col), n_clicks)?;
                Vec::new()
            }
            Input::Drag { row, col, edge } => {
                self.drag(book, (row, col), edge)?;
                Vec::new()
            }
            Input::Release => self.release(book)?,
            Input::Size { n_rows, n_cols } => {
                (self.n_rows, self.n_cols) = (usize::from(n_rows.max(1)), usize::from(n_cols.max(2)));
                self.show_cursor(book)?;
                self.keep_col(book)?;
                Vec::new()
            }
        };
        self.check_view(book)?;
        Ok(wishes)
    }

    /// Rows and columns of the view.
    pub fn size(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }

    /// Whether a drag is under way.
    pub fn is_dragged(&self) -> bool {
        self.pressed.is_some()
    }

    /// The extent of the selection.
    ///
    /// # Errors
    /// A line has to be fetched.
    pub fn extent(&self, book: &Book) -> Result<Option<Extent>, Missing> {
        let extent = |selection: Selection| selection.extent(book, self.cursor, self.n_cols);
        self.selection.map(extent).transpose()
    }

    /// The search is complete as far as it went: to the first match from where it began.
    ///
    /// # Errors
    /// The line of the match has to be fetched.
    pub fn search_ended(&mut self, book: &Book) -> Result<Vec<Wish>, Missing> {
        let wishes = self.step_search(book, false)?;
        self.check_view(book)?;
        Ok(wishes)
    }

    fn key(&mut self, book: &Book, event: KeyEvent) -> Result<Vec<Wish>, Missing> {
        if self.prompt.is_some() {
            return self.prompt_key(book, event);
        }
        if let Some(jump) = self.jump_wanted.take() {
            if let Key::Char(target) = event.key
                && !event.mods.is_ctrl
            {
                self.last_jump = Some((jump, target));
                let n_times = self.count.take().unwrap_or(1);
                self.jump(book, (jump, target), n_times, false)?;
            }
            self.count = None;
            return Ok(Vec::new());
        }
        if let Some(digit) = self.digit(&event) {
            self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
            return Ok(Vec::new());
        }
        match order::order(self.keys, &event) {
            Some(order) => self.order(book, order),
            None => {
                self.count = None;
                Ok(Vec::new())
            }
        }
    }

    /// A digit of a count: as it is for vi, with Alt for emacs. A zero only counts behind another.
    fn digit(&self, event: &KeyEvent) -> Option<usize> {
        let is_held = match self.keys {
            ModeKeys::Vi => !event.mods.is_alt && !event.mods.is_ctrl,
            ModeKeys::Emacs => event.mods.is_alt && !event.mods.is_ctrl,
        };
        let Key::Char(c) = event.key else { return None };
        let digit = c.to_digit(10).filter(|digit| is_held && (*digit > 0 || self.count.is_some()))?;
        usize::try_from(digit).ok()
    }

    fn prompt_key(&mut self, book: &Book, event: KeyEvent) -> Result<Vec<Wish>, Missing> {
        let Some(prompt) = &mut self.prompt else { return Ok(Vec::new()) };
        let is_empty = prompt.field.text().is_empty();
        let is_given_up = matches!(event.key, Key::Char('c' | 'g') if event.mods.is_ctrl)
            || (event.key == Key::Backspace && is_empty);
        if is_given_up {
            self.prompt = None;
            return Ok(Vec::new());
        }
        match prompt.field.key(&event) {
            Edit::Taken | Edit::Ignored => return Ok(Vec::new()),
            Edit::Left => self.prompt = None,
            Edit::Submitted => {
                let text = prompt.field.text().lines().next().unwrap_or_default().to_owned();
                let kind = prompt.kind;
                self.prompt = None;
                match kind {
                    PromptKind::Search { is_backward } => return self.search_for(book, text, is_backward),
                    PromptKind::Line => match text.trim().parse::<u64>() {
                        Ok(number) => self.go_to_number(book, number)?,
                        Err(_) => {
                            let text = String::from("A line is a number, as the title shows it.");
                            return Ok(vec![Wish::Say { text }]);
                        }
                    },
                }
            }
        }
        Ok(Vec::new())
    }

    fn order(&mut self, book: &Book, order: Order) -> Result<Vec<Wish>, Missing> {
        let count = self.count.take();
        let n_times = count.unwrap_or(1);
        match order {
            Order::Left => self.repeat(n_times, |state| state.sideways(book, false))?,
            Order::Right => self.repeat(n_times, |state| state.sideways(book, true))?,
            Order::Up => self.vertical(book, n_times, false)?,
            Order::Down => self.vertical(book, n_times, true)?,
            Order::NextWord { is_big } => self.next_word(book, n_times, is_big)?,
            Order::PreviousWord { is_big } => self.previous_word(book, n_times, is_big)?,
            Order::WordEnd { is_big } => self.word_end(book, n_times, is_big)?,
            Order::LineStart => self.go(book, Pos { col: 0, ..self.cursor })?,
            Order::LineText => self.go_to_text(book)?,
            Order::LineEnd => self.go_to_end(book)?,
            Order::ViewTop => self.go_to_view_row(book, 0)?,
            Order::ViewMiddle => self.go_to_view_row(book, self.n_rows / 2)?,
            Order::ViewBottom => self.go_to_view_row(book, self.n_rows - 1)?,
            Order::Top | Order::Bottom if count.is_some() => self.go_to_number(book, n_times as u64)?,
            Order::Top => self.go(book, Pos { line: book.first(), col: 0 })?,
            Order::Bottom => self.go(book, Pos { line: book.last(), col: 0 })?,
            Order::PreviousParagraph => self.paragraph(book, n_times, motion::previous_paragraph)?,
            Order::NextParagraph => self.paragraph(book, n_times, motion::next_paragraph)?,
            Order::ScrollUp => drop(self.scroll(book, n_times, false)?),
            Order::ScrollDown => return self.scroll_down(book, n_times, false),
            Order::HalfUp => self.page(book, n_times * (self.n_rows / 2).max(1), false)?,
            Order::HalfDown => return self.scroll_down(book, n_times * (self.n_rows / 2).max(1), true),
            Order::PageUp => self.page(book, n_times * self.n_page(), false)?,
            Order::PageDown => return self.scroll_down(book, n_times * self.n_page(), true),
            Order::Jump(jump) => (self.jump_wanted, self.count) = (Some(jump), count),
            Order::JumpAgain => self.jump_again(book, n_times, false)?,
            Order::JumpBack => self.jump_again(book, n_times, true)?,
            Order::PreviousPrompt => self.repeat(n_times, |state| state.go_to_prompt(book, true))?,
            Order::NextPrompt => self.repeat(n_times, |state| state.go_to_prompt(book, false))?,
            Order::SelectCells => self.select(Unit::Cells),
            Order::SelectLines => self.select(Unit::Lines),
            Order::SelectBlock => self.select(Unit::Block),
            Order::OtherEnd => self.other_end(book)?,
            Order::Copy => return self.copy(book),
            Order::Search { is_backward } => self.ask(PromptKind::Search { is_backward }),
            Order::GoToLine => self.ask(PromptKind::Line),
            Order::SearchAgain => return self.step_search(book, false),
            Order::SearchBack => return self.step_search(book, true),
            Order::SearchWord { is_backward } => return self.search_word(book, is_backward),
            Order::SetMark => self.mark = Some(self.cursor),
            Order::JumpToMark => self.jump_to_mark(book)?,
            Order::Edit if self.keys == ModeKeys::Vi && self.selection.is_some() => {
                self.word_end(book, n_times, true)?;
            }
            Order::Edit => return Ok(vec![Wish::Edit { text: all_text(book)? }, Wish::Leave]),
            Order::Clear if self.selection.is_some() => self.selection = None,
            Order::Clear | Order::Leave => return Ok(vec![Wish::Leave]),
        }
        Ok(Vec::new())
    }

    fn select(&mut self, unit: Unit) {
        let is_end_open = self.keys == ModeKeys::Emacs && unit != Unit::Lines;
        self.selection = match (self.selection, unit) {
            (Some(selection), Unit::Block) if selection.unit == Unit::Block => {
                Some(Selection { unit: Unit::Cells, ..selection })
            }
            (Some(selection), Unit::Lines | Unit::Block) => {
                Some(Selection { unit, is_end_open, ..selection })
            }
            (Some(selection), Unit::Cells | Unit::Words) if selection.unit != unit => {
                Some(Selection { unit, is_end_open, ..selection })
            }
            (Some(_) | None, _) => Some(Selection { anchor: self.cursor, unit, is_end_open }),
        };
    }

    fn copy(&mut self, book: &Book) -> Result<Vec<Wish>, Missing> {
        let Some(extent) = self.extent(book)? else { return Ok(vec![Wish::Leave]) };
        let text = extent.text(book, self.n_cols)?;
        Ok(if text.is_empty() {
            vec![Wish::Leave]
        } else {
            vec![Wish::Copy { text, is_mouse: false }, Wish::Leave]
        })
    }

    fn other_end(&mut self, book: &Book) -> Result<(), Missing> {
        let Some(selection) = &mut self.selection else { return Ok(()) };
        std::mem::swap(&mut selection.anchor, &mut self.cursor);
        self.keep_col(book)?;
        self.show_cursor(book)
    }

    fn search_word(&mut self, book: &Book, is_backward: bool) -> Result<Vec<Wish>, Missing> {
        let line = book.line(self.cursor.line)?;
        let (from, to) = motion::word_around(line, self.cursor.col);
        let text = line.text(from, to).trim().to_owned();
        self.search_for(book, text, is_backward)
    }

    fn ask(&mut self, kind: PromptKind) {
        self.prompt = Some(Prompt { kind, field: Field::default() });
    }

    fn search_for(&mut self, book: &Book, text: String, is_backward: bool) -> Result<Vec<Wish>, Missing> {
        if text.is_empty() {
            // An empty pattern is the last one again.
            if let Some(search) = &mut self.search {
                search.is_backward = is_backward;
            }
            return self.step_search(book, false);
        }
        let search = Search::new(book, text, is_backward)?;
        let is_complete = search.until().is_none();
        self.search = Some(search);
        if is_complete { self.step_search(book, false) } else { Ok(Vec::new()) }
    }

    fn step_search(&mut self, book: &Book, is_other_way: bool) -> Result<Vec<Wish>, Missing> {
        let Some(search) = &mut self.search else { return Ok(Vec::new()) };
        if search.is_vain() {
            let text = format!("Nothing here has {:?} in it.", search.text);
            return Ok(vec![Wish::Say { text }]);
        }
        let is_backward = search.is_backward != is_other_way;
        if let Some(to) = search.step(self.cursor, is_backward) {
            self.go_far(book, to)?;
        }
        Ok(Vec::new())
    }
}

/// Everything there is, for the editor.
fn all_text(book: &Book) -> Result<String, Missing> {
    let last = book.last();
    let end = Pos { line: last, col: book.line(last)?.n_cols };
    let text = Extent::Text(Pos { line: book.first(), col: 0 }..end).text(book, 2)?;
    Ok(text.trim_end().to_owned() + "\n")
}
