//! Where motions lead: pure questions to the text.

use super::book::{Book, Cell, Line, Missing, Pos};
use super::order::Jump;

/// What kind of character a cell is, for words. The end of a line is blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Sign,
    Letter,
}

fn class(text: &str, is_big: bool) -> Class {
    match text.chars().next() {
        Some(first) if first.is_whitespace() => Class::Blank,
        None => Class::Blank,
        Some(_) if is_big => Class::Letter,
        Some(first) if first.is_ascii_punctuation() && first != '_' => Class::Sign,
        Some(_) => Class::Letter,
    }
}

/// Walks over cells and the ends of lines.
struct Walk<'a> {
    book: &'a Book,
    line: u64,
    cells: Vec<Cell<'a>>,
    /// The cell; behind the last one is the end of the line.
    index: usize,
    is_big: bool,
}

impl<'a> Walk<'a> {
    fn new(book: &'a Book, at: Pos, is_big: bool) -> Result<Self, Missing> {
        let mut walk = Self { book, line: at.line, cells: Vec::new(), index: 0, is_big };
        walk.enter(at.line)?;
        walk.index = walk.cells.iter().position(|cell| cell.col >= at.col).unwrap_or(walk.cells.len());
        Ok(walk)
    }

    fn enter(&mut self, line: u64) -> Result<(), Missing> {
        self.cells = self.book.line(line)?.cells().collect();
        self.line = line;
        Ok(())
    }

    fn at(&self) -> Pos {
        let end = || self.cells.last().map_or(0, |cell| cell.col + cell.width);
        Pos { line: self.line, col: self.cells.get(self.index).map_or_else(end, |cell| cell.col) }
    }

    fn class(&self) -> Class {
        self.cells.get(self.index).map_or(Class::Blank, |cell| class(cell.text, self.is_big))
    }

    /// One cell on; false at the end of the text.
    fn next(&mut self) -> Result<bool, Missing> {
        if self.index < self.cells.len() {
            self.index += 1;
        } else if self.line < self.book.last() {
            self.enter(self.line + 1)?;
            self.index = 0;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// One cell back; false at the start of the text.
    fn back(&mut self) -> Result<bool, Missing> {
        if self.index > 0 {
            self.index -= 1;
        } else if self.line > self.book.first() {
            self.enter(self.line - 1)?;
            self.index = self.cells.len();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn skip(&mut self, is_over: impl Fn(Class) -> bool) -> Result<(), Missing> {
        while is_over(self.class()) && self.next()? {}
        Ok(())
    }
}

/// The start of the next word; without one the end of the text.
pub fn next_word(book: &Book, at: Pos, is_big: bool) -> Result<Pos, Missing> {
    let mut walk = Walk::new(book, at, is_big)?;
    let here = walk.class();
    if here != Class::Blank {
        walk.skip(|class| class == here)?;
    }
    walk.skip(|class| class == Class::Blank)?;
    Ok(walk.at())
}

/// The start of the word, or of the one before it.
pub fn previous_word(book: &Book, at: Pos, is_big: bool) -> Result<Pos, Missing> {
    let mut walk = Walk::new(book, at, is_big)?;
    let mut has_moved = walk.back()?;
    while has_moved && walk.class() == Class::Blank {
        has_moved = walk.back()?;
    }
    let here = walk.class();
    let mut start = walk.at();
    while walk.back()? && walk.class() == here && here != Class::Blank {
        start = walk.at();
    }
    Ok(start)
}

/// The last cell of the word, or of the next one; `is_behind` it for emacs.
pub fn word_end(book: &Book, at: Pos, is_big: bool, is_behind: bool) -> Result<Pos, Missing> {
    let mut walk = Walk::new(book, at, is_big)?;
    if !is_behind {
        walk.next()?;
    }
    walk.skip(|class| class == Class::Blank)?;
    let here = walk.class();
    let mut end = walk.at();
    while walk.class() == here && here != Class::Blank {
        end = walk.at();
        if !walk.next()? {
            break;
        }
    }
    Ok(if is_behind { walk.at() } else { end })
}

/// The first cell of a line that is not blank.
pub fn line_text(line: &Line) -> usize {
    line.cells().find(|cell| class(cell.text, true) != Class::Blank).map_or(0, |cell| cell.col)
}

/// The blank line before the paragraph, or the first line.
pub fn previous_paragraph(book: &Book, at: u64) -> Result<u64, Missing> {
    let is_blank = |number: u64| book.line(number).map(is_blank);
    let mut line = at;
    while line > book.first() && is_blank(line)? {
        line -= 1;
    }
    while line > book.first() && !is_blank(line)? {
        line -= 1;
    }
    Ok(line)
}

/// The blank line behind the paragraph, or the last line.
pub fn next_paragraph(book: &Book, at: u64) -> Result<u64, Missing> {
    let is_blank = |number: u64| book.line(number).map(is_blank);
    let mut line = at;
    while line < book.last() && is_blank(line)? {
        line += 1;
    }
    while line < book.last() && !is_blank(line)? {
        line += 1;
    }
    Ok(line)
}

fn is_blank(line: &Line) -> bool {
    line.cells().all(|cell| class(cell.text, true) == Class::Blank)
}

/// Where a jump to a character in the line leads. `is_again`: one that stopped before a character does
/// not stop there again.
pub fn jump(line: &Line, from: usize, jump: Jump, target: char, is_again: bool) -> Option<usize> {
    let cells: Vec<_> = line.cells().collect();
    let here = cells.iter().position(|cell| cell.col >= from)?;
    let skip = 1 + usize::from(jump.is_till && is_again);
    let is_target = |index: &usize| cells.get(*index).is_some_and(|cell| cell.text.starts_with(target));
    let found = if jump.is_backward {
        let past = (here + 1).saturating_sub(skip);
        let found = (0..past).rev().find(is_target)?;
        found + usize::from(jump.is_till)
    } else {
        let found = (here + skip..cells.len()).find(is_target)?;
        found - usize::from(jump.is_till)
    };
    cells.get(found).map(|cell| cell.col)
}

/// What a person means by a word with the mouse or to search for it: `from..to` around a cell.
pub fn word_around(line: &Line, col: usize) -> (usize, usize) {
    let is_apart =
        |text: &str| text.chars().next().is_none_or(|c| c.is_whitespace() || ",│|`\"'()[]{}<>".contains(c));
    let cells: Vec<_> = line.cells().collect();
    let Some(here) = cells.iter().position(|cell| cell.col + cell.width > col) else {
        return (line.n_cols, line.n_cols);
    };
    let same = |index: &usize| cells.get(*index).is_some_and(|cell| !is_apart(cell.text));
    if !same(&here) {
        let cell = cells.get(here);
        return cell.map_or((col, col), |cell| (cell.col, cell.col + cell.width));
    }
    let first = (0..=here).rev().take_while(same).last().unwrap_or(here);
    let last = (here..cells.len()).take_while(same).last().unwrap_or(here);
    let from = cells.get(first).map_or(col, |cell| cell.col);
    (from, cells.get(last).map_or(col, |cell| cell.col + cell.width))
}
