//! Copy mode as a state machine: what each key and each turn of the mouse does. Pure: the text is a
//! [`Book`], what is to happen elsewhere comes out as [`Wish`]es.

use super::book::{Book, Missing, Pos, RowAt};
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
                self.jump(book, jump, target, false)?;
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
            Order::NextWord { is_big } => {
                self.repeat(n_times, |state| state.go(book, motion::next_word(book, state.cursor, is_big)?))?;
            }
            Order::PreviousWord { is_big } => {
                self.repeat(n_times, |state| {
                    state.go(book, motion::previous_word(book, state.cursor, is_big)?)
                })?;
            }
            Order::WordEnd { is_big } => self.repeat(n_times, |state| state.word_end(book, is_big))?,
            Order::LineStart => self.go(book, Pos { col: 0, ..self.cursor })?,
            Order::LineText => {
                let col = motion::line_text(book.line(self.cursor.line)?);
                self.go(book, Pos { col, ..self.cursor })?;
            }
            Order::LineEnd => {
                self.go(book, Pos { col: usize::MAX, ..self.cursor })?;
                self.wanted_col = usize::MAX;
            }
            Order::ViewTop => self.go_to_view_row(book, 0)?,
            Order::ViewMiddle => self.go_to_view_row(book, self.n_rows / 2)?,
            Order::ViewBottom => self.go_to_view_row(book, self.n_rows - 1)?,
            Order::Top | Order::Bottom if count.is_some() => self.go_to_number(book, n_times as u64)?,
            Order::Top => self.go(book, Pos { line: book.first(), col: 0 })?,
            Order::Bottom => self.go(book, Pos { line: book.last(), col: 0 })?,
            Order::PreviousParagraph => self.repeat(n_times, |state| {
                let line = motion::previous_paragraph(book, state.cursor.line)?;
                state.go(book, Pos { line, col: 0 })
            })?,
            Order::NextParagraph => self.repeat(n_times, |state| {
                let line = motion::next_paragraph(book, state.cursor.line)?;
                state.go(book, Pos { line, col: 0 })
            })?,
            Order::ScrollUp => drop(self.scroll(book, n_times, false)?),
            Order::ScrollDown => return self.scroll_down(book, n_times, false),
            Order::HalfUp => self.page(book, n_times * (self.n_rows / 2).max(1), false)?,
            Order::HalfDown => return self.scroll_down(book, n_times * (self.n_rows / 2).max(1), true),
            Order::PageUp => self.page(book, n_times * self.n_page(), false)?,
            Order::PageDown => return self.scroll_down(book, n_times * self.n_page(), true),
            Order::Jump(jump) => (self.jump_wanted, self.count) = (Some(jump), count),
            Order::JumpAgain | Order::JumpBack => {
                if let Some((mut jump, target)) = self.last_jump {
                    jump.is_backward ^= order == Order::JumpBack;
                    self.count = count;
                    self.jump(book, jump, target, true)?;
                }
            }
            Order::PreviousPrompt => self.repeat(n_times, |state| state.go_to_prompt(book, true))?,
            Order::NextPrompt => self.repeat(n_times, |state| state.go_to_prompt(book, false))?,
            Order::SelectCells => self.select(Unit::Cells),
            Order::SelectLines => self.select(Unit::Lines),
            Order::SelectBlock => self.select(Unit::Block),
            Order::OtherEnd => {
                if let Some(selection) = &mut self.selection {
                    std::mem::swap(&mut selection.anchor, &mut self.cursor);
                    self.keep_col(book)?;
                    self.show_cursor(book)?;
                }
            }
            Order::Copy => return self.copy(book),
            Order::Search { is_backward } => self.ask(PromptKind::Search { is_backward }),
            Order::GoToLine => self.ask(PromptKind::Line),
            Order::SearchAgain => return self.step_search(book, false),
            Order::SearchBack => return self.step_search(book, true),
            Order::SearchWord { is_backward } => {
                let line = book.line(self.cursor.line)?;
                let (from, to) = motion::word_around(line, self.cursor.col);
                let text = line.text(from, to).trim().to_owned();
                return self.search_for(book, text, is_backward);
            }
            Order::SetMark => self.mark = Some(self.cursor),
            Order::JumpToMark => {
                if let Some(mark) = self.mark.replace(self.cursor) {
                    self.go_far(book, mark)?;
                }
            }
            Order::Edit if self.keys == ModeKeys::Vi && self.selection.is_some() => {
                self.repeat(n_times, |state| state.word_end(book, true))?;
            }
            Order::Edit => return Ok(vec![Wish::Edit { text: all_text(book)? }]),
            Order::Clear if self.selection.is_some() => self.selection = None,
            Order::Clear | Order::Leave => return Ok(vec![Wish::Leave]),
        }
        Ok(Vec::new())
    }

    fn repeat(
        &mut self,
        n_times: usize,
        mut step: impl FnMut(&mut Self) -> Result<(), Missing>,
    ) -> Result<(), Missing> {
        for _ in 0..n_times {
            let before = self.cursor;
            step(self)?;
            if self.cursor == before {
                break;
            }
        }
        Ok(())
    }

    /// Puts the cursor at a place, as near as there is one, and brings it into view.
    fn go(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        self.place(book, to)?;
        self.keep_col(book)?;
        self.show_cursor(book)
    }

    /// The same with the place in the middle of the view where it was out of it.
    fn go_far(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        let before = self.top;
        self.go(book, to)?;
        if self.top != before {
            let row = book.row_of(self.cursor, self.n_cols)?;
            let top = book.up(row, self.n_rows / 2, self.n_cols)?.min(self.lowest_top(book)?);
            self.top = self.start_of(book, top)?;
        }
        Ok(())
    }

    /// The line with a number as the title shows it, counted from 1.
    fn go_to_number(&mut self, book: &Book, number: u64) -> Result<(), Missing> {
        let line = book.first().saturating_add(number.saturating_sub(1)).min(book.last());
        self.go_far(book, Pos { line, col: 0 })
    }

    fn place(&mut self, book: &Book, to: Pos) -> Result<(), Missing> {
        self.cursor = book.clamp(to)?;
        if self.keys == ModeKeys::Vi {
            // vi's cursor stands on a character.
            self.cursor.col = self.cursor.col.min(book.line(self.cursor.line)?.last());
        }
        Ok(())
    }

    fn sideways(&mut self, book: &Book, is_right: bool) -> Result<(), Missing> {
        let line = book.line(self.cursor.line)?;
        let col = match is_right {
            true => line.after(self.cursor.col),
            false => line.snap(self.cursor.col.saturating_sub(1)),
        };
        self.go(book, Pos { col, ..self.cursor })
    }

    fn word_end(&mut self, book: &Book, is_big: bool) -> Result<(), Missing> {
        let is_behind = self.keys == ModeKeys::Emacs;
        self.go(book, motion::word_end(book, self.cursor, is_big, is_behind)?)
    }

    /// Up and down by rows of the view.
    fn vertical(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<(), Missing> {
        let row = book.row_of(self.cursor, self.n_cols)?;
        let to = match is_down {
            true => book.down(row, n_rows, self.n_cols)?,
            false => book.up(row, n_rows, self.n_cols)?,
        };
        self.go_to_row(book, to)?;
        self.show_cursor(book)
    }

    /// To the wanted column of a row.
    fn go_to_row(&mut self, book: &Book, row: RowAt) -> Result<(), Missing> {
        let cols = book.cols_of(row, self.n_cols)?;
        let is_last = cols.end >= book.line(row.line)?.n_cols;
        let most = if is_last { cols.end } else { cols.end.saturating_sub(1) };
        let col = cols.start.saturating_add(self.wanted_col).min(most.max(cols.start));
        self.place(book, Pos { line: row.line, col })
    }

    fn go_to_view_row(&mut self, book: &Book, number: usize) -> Result<(), Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let row = book.down(top, number, self.n_cols)?;
        self.go_to_row(book, row)
    }

    fn go_to_prompt(&mut self, book: &Book, is_backward: bool) -> Result<(), Missing> {
        let here = self.cursor.line;
        let mut prompts = book.prompts().iter().copied().filter(|line| *line >= book.first());
        let line = match is_backward {
            true => prompts.take_while(|line| *line < here).last(),
            false => prompts.find(|line| *line > here),
        };
        match line {
            Some(line) => self.go_far(book, Pos { line, col: 0 }),
            None => Ok(()),
        }
    }

    fn jump(&mut self, book: &Book, jump: Jump, target: char, is_again: bool) -> Result<(), Missing> {
        let line = book.line(self.cursor.line)?;
        let mut col = self.cursor.col;
        for turn in 0..self.count.take().unwrap_or(1) {
            match motion::jump(line, col, jump, target, is_again || turn > 0) {
                Some(next) => col = next,
                None => return Ok(()),
            }
        }
        self.go(book, Pos { col, ..self.cursor })
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

    fn n_page(&self) -> usize {
        self.n_rows.saturating_sub(2).max(1)
    }

    /// Moves the view and with it the cursor, which keeps its row of the view. False: it did not move.
    fn scroll(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<bool, Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let at = self.view_row(book)?;
        let to = match is_down {
            true => book.down(top, n_rows, self.n_cols)?.min(self.lowest_top(book)?),
            false => book.up(top, n_rows, self.n_cols)?,
        };
        if to == top {
            return Ok(false);
        }
        self.top = self.start_of(book, to)?;
        let row = book.down(to, at, self.n_cols)?;
        self.go_to_row(book, row)?;
        Ok(true)
    }

    /// The same by pages: where the view cannot move, the cursor does.
    fn page(&mut self, book: &Book, n_rows: usize, is_down: bool) -> Result<(), Missing> {
        if !self.scroll(book, n_rows, is_down)? {
            self.vertical(book, n_rows, is_down)?;
        }
        Ok(())
    }

    fn scroll_down(&mut self, book: &Book, n_rows: usize, is_page: bool) -> Result<Vec<Wish>, Missing> {
        match is_page {
            true => self.page(book, n_rows, true)?,
            false => drop(self.scroll(book, n_rows, true)?),
        }
        let is_end = self.top >= self.start_of(book, self.lowest_top(book)?)?;
        let leaves = self.exits_at_bottom && is_end && self.selection.is_none();
        Ok(if leaves { vec![Wish::Leave] } else { Vec::new() })
    }

    fn wheel(&mut self, book: &Book, n_rows: i64) -> Result<Vec<Wish>, Missing> {
        let count = usize::try_from(n_rows.unsigned_abs()).unwrap_or(1);
        if n_rows < 0 {
            return self.scroll_down(book, count, false);
        }
        self.scroll(book, count, false)?;
        Ok(Vec::new())
    }

    fn press(&mut self, book: &Book, at: (u16, u16), n_clicks: u8) -> Result<(), Missing> {
        let at = self.place_at(book, at)?;
        self.cursor = at;
        self.pressed = Some(at);
        let unit = match n_clicks {
            0 | 1 => None,
            2 => Some(Unit::Words),
            _ => Some(Unit::Lines),
        };
        self.selection = unit.map(|unit| Selection { anchor: at, unit, is_end_open: false });
        self.keep_col(book)
    }

    fn drag(&mut self, book: &Book, at: (u16, u16), edge: i64) -> Result<(), Missing> {
        let Some(anchor) = self.pressed else { return Ok(()) };
        let n_rows = usize::try_from(edge.unsigned_abs()).unwrap_or(1);
        if n_rows > 0 {
            self.scroll(book, n_rows, edge > 0)?;
        }
        self.cursor = self.place_at(book, at)?;
        self.selection.get_or_insert(Selection { anchor, unit: Unit::Cells, is_end_open: false });
        self.keep_col(book)
    }

    fn release(&mut self, book: &Book) -> Result<Vec<Wish>, Missing> {
        if self.pressed.take().is_none() {
            return Ok(Vec::new());
        }
        let Some(extent) = self.extent(book)? else { return Ok(Vec::new()) };
        let text = extent.text(book, self.n_cols)?;
        Ok(if text.is_empty() { Vec::new() } else { vec![Wish::Copy { text, is_mouse: true }] })
    }

    /// The place under a row and column of the view.
    fn place_at(&self, book: &Book, (row, col): (u16, u16)) -> Result<Pos, Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        let at = book.down(top, usize::from(row), self.n_cols)?;
        let cols = book.cols_of(at, self.n_cols)?;
        let line = book.line(at.line)?;
        let most = if cols.end >= line.n_cols { cols.end } else { cols.end.saturating_sub(1) };
        Ok(Pos { line: at.line, col: line.snap((cols.start + usize::from(col)).min(most)) })
    }

    /// The row of the view in which the cursor is.
    fn view_row(&self, book: &Book) -> Result<usize, Missing> {
        let cursor = book.row_of(self.cursor, self.n_cols)?;
        let mut at = book.row_of(self.top, self.n_cols)?;
        let mut number = 0;
        while at < cursor && number + 1 < self.n_rows {
            at = book.down(at, 1, self.n_cols)?;
            number += 1;
        }
        Ok(number)
    }

    fn keep_col(&mut self, book: &Book) -> Result<(), Missing> {
        let row = book.row_of(self.cursor, self.n_cols)?;
        self.wanted_col = self.cursor.col - book.cols_of(row, self.n_cols)?.start;
        Ok(())
    }

    /// Moves the view as little as brings the cursor into it.
    fn show_cursor(&mut self, book: &Book) -> Result<(), Missing> {
        self.top = book.clamp(self.top)?;
        let cursor = book.row_of(self.cursor, self.n_cols)?;
        let top = book.row_of(self.top, self.n_cols)?.min(self.lowest_top(book)?);
        let highest = book.up(cursor, self.n_rows - 1, self.n_cols)?;
        self.top = self.start_of(book, top.clamp(highest, cursor))?;
        Ok(())
    }

    /// The top of a view that shows the end.
    fn lowest_top(&self, book: &Book) -> Result<RowAt, Missing> {
        book.up(book.last_row(self.n_cols)?, self.n_rows - 1, self.n_cols)
    }

    fn start_of(&self, book: &Book, row: RowAt) -> Result<Pos, Missing> {
        Ok(Pos { line: row.line, col: book.cols_of(row, self.n_cols)?.start })
    }

    /// All lines in view are here.
    fn check_view(&self, book: &Book) -> Result<(), Missing> {
        let top = book.row_of(self.top, self.n_cols)?;
        book.down(top, self.n_rows - 1, self.n_cols).map(drop)
    }
}

/// Everything there is, for the editor.
fn all_text(book: &Book) -> Result<String, Missing> {
    let last = book.last();
    let end = Pos { line: last, col: book.line(last)?.n_cols };
    let text = Extent::Text(Pos { line: book.first(), col: 0 }..end).text(book, 2)?;
    Ok(text.trim_end().to_owned() + "\n")
}
