//! History and screen as one text: pages of styled lines, plain lines, search.
//!
//! Logical lines have absolute numbers: those of history, then those of the screen. Whoever shows them
//! is anchored at such a number, so that nothing moves while new output arrives below, and wraps them
//! with [`wrap`] at the width that is there.

use super::page::LinePage;
use super::row;
use super::term::Term;
use crate::base::grid::{Row, Run};
use std::ops::Range;

/// Plain lines from a cursor on, for `terminal read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLines {
    /// The number of `lines[0]`; later than asked for where older lines are forgotten.
    pub first: u64,
    pub lines: Vec<String>,
    /// The oldest number that can be read.
    pub oldest: u64,
    /// The first number of which no line exists yet.
    pub end: u64,
}

/// A place where a searched text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    pub line: u64,
    /// The first column in the logical line, and how many there are.
    pub col: usize,
    pub n_cols: usize,
}

/// What one look through a part of the lines found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// In order.
    pub matches: Vec<Match>,
    /// The first line that was looked at; older ones are for the next look.
    pub from: u64,
    /// The oldest line there is.
    pub oldest: u64,
}

/// Lines and bytes of text that one look through history takes at most.
const MAX_SEARCH_LINES: u64 = 2_000;
const MAX_SEARCH_BYTES: usize = 1 << 20;

/// All logical lines; those of the screen are read once.
struct Lines<'a> {
    term: &'a Term,
    screen: Vec<Vec<Run>>,
    /// The line and column of the cursor.
    cursor: (u64, usize),
}

impl Lines<'_> {
    fn first(&self) -> u64 {
        self.term.history.numbers().start
    }

    fn end(&self) -> u64 {
        self.term.history.numbers().end + self.screen.len() as u64
    }

    fn runs(&self, number: u64) -> Vec<Run> {
        match number.checked_sub(self.term.history.numbers().end) {
            None => {
                let mut runs = self.term.history.runs(number).unwrap_or_default();
                let palette = &self.term.colors.palette;
                runs.iter_mut().for_each(|run| run.style = palette.drawn(run.style));
                runs
            }
            Some(index) => {
                usize::try_from(index).ok().and_then(|i| self.screen.get(i)).cloned().unwrap_or_default()
            }
        }
    }

    fn text(&self, number: u64) -> String {
        match self.term.history.text(number) {
            Some(text) => text,
            None => self.runs(number).iter().map(|run| run.text.as_str()).collect(),
        }
    }
}

impl Term {
    /// Up to `limit` styled lines from number `from` on, and no more than about `n_bytes` bytes of
    /// them; without `from` those at the end, with the whole screen among them.
    pub fn line_page(&self, from: Option<u64>, limit: usize, n_bytes: usize) -> LinePage {
        let lines = self.lines();
        let (oldest, screen, end) = (lines.first(), self.history.numbers().end, lines.end());
        let first = match from {
            Some(from) => from.clamp(oldest, end),
            None => {
                let mut first = screen.min(end.saturating_sub(1));
                let mut n_left = n_bytes;
                while first > oldest && end - first < limit as u64 && n_left > 0 {
                    first -= 1;
                    n_left = n_left.saturating_sub(self.history.n_bytes_of(first));
                }
                first
            }
        };
        let mut page = LinePage { first, oldest, screen, end, cursor: lines.cursor, ..LinePage::default() };
        let mut n_taken = 0;
        for number in first..end {
            let is_full = page.lines.len() >= limit || n_taken >= n_bytes;
            if is_full && (from.is_some() || number < screen) {
                break;
            }
            n_taken += self.history.n_bytes_of(number);
            page.lines.push(lines.runs(number));
        }
        if from.is_none() {
            page.prompts = self.history.prompts().filter(|line| (oldest..end).contains(line)).collect();
        }
        page
    }

    /// Up to `limit` plain lines from number `from` on: history, then the main screen up to its last
    /// line with text. On the alternate screen, which is no stream of lines, only history.
    pub fn text_lines(&self, from: u64, limit: usize) -> TextLines {
        let mut lines = self.lines();
        if self.is_alt_screen() {
            lines.screen.truncate(usize::from(self.history.is_open()));
        }
        let (oldest, mut end) = (lines.first(), lines.end());
        while end > self.history.numbers().end && lines.text(end - 1).trim_end().is_empty() {
            end -= 1;
        }
        let first = from.clamp(oldest, end);
        let texts = (first..end).take(limit).map(|number| lines.text(number).trim_end().to_owned());
        TextLines { first, lines: texts.collect(), oldest, end }
    }

    /// Where `needle` occurs in the lines before `until`, the newest of them first, as far as one look
    /// goes. Capitals matter only if the needle has any.
    pub fn search(&self, needle: &str, until: u64) -> Found {
        let lines = self.lines();
        let oldest = lines.first();
        let until = until.clamp(oldest, lines.end());
        let least = until.saturating_sub(MAX_SEARCH_LINES).max(oldest);
        let needle = Needle::new(needle);
        let mut found = Found { from: until, oldest, ..Found::default() };
        let mut n_bytes = 0;
        while found.from > least && n_bytes < MAX_SEARCH_BYTES {
            found.from -= 1;
            let text = lines.text(found.from);
            n_bytes += text.len();
            if needle.is_in(&text) {
                found.matches.extend(needle.matches(&lines.runs(found.from), found.from).into_iter().rev());
            }
        }
        found.matches.reverse();
        found
    }

    fn lines(&self) -> Lines<'_> {
        let mut screen: Vec<Vec<Run>> = Vec::new();
        let is_alt = self.is_alt_screen();
        let mut goes_on = self.history.is_open();
        if goes_on {
            let mut open = self.history.open_runs();
            open.iter_mut().for_each(|run| run.style = self.colors.palette.drawn(run.style));
            screen.push(open);
            goes_on = !is_alt;
        }
        let at = self.cursor();
        let mut cursor = (0, 0);
        for number in 0..self.n_rows() {
            // Our own bytes always decode; a row that would not is shown empty.
            let row = row::decode(&self.encoded_row(number)).unwrap_or_default();
            if !goes_on {
                screen.push(Vec::new());
            }
            if let Some(line) = screen.last_mut() {
                let n_before: usize = line.iter().map(Run::width).sum();
                line.extend(row.runs);
                if number == at.row {
                    cursor = (screen.len() as u64 - 1, n_before + usize::from(at.col));
                }
            }
            goes_on = row.is_wrapped && !is_alt;
        }
        cursor.0 += self.history.numbers().end;
        Lines { term: self, screen, cursor }
    }
}

/// Breaks a line into rows of `width` columns, at least one. A wide cell is never split.
pub fn wrap(runs: &[Run], width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = Row::default();
    let mut n_cols = 0;
    for run in runs {
        let mut is_new = true;
        for (cell, cell_width) in run.cells() {
            if n_cols + usize::from(cell_width) > width {
                row.is_wrapped = true;
                rows.push(std::mem::take(&mut row));
                n_cols = 0;
                is_new = true;
            }
            match row.runs.last_mut() {
                Some(last) if !is_new => last.text.push_str(cell),
                _ => {
                    row.runs.push(Run { link: run.link.clone(), text: cell.to_owned(), ..*run });
                    is_new = false;
                }
            }
            n_cols += usize::from(cell_width);
        }
    }
    rows.push(row);
    rows
}

/// What is searched for. Capitals matter only if there are any in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    text: String,
    is_exact: bool,
}

impl Needle {
    /// The needle of a text as a person wrote it.
    pub fn new(text: &str) -> Self {
        let is_exact = text.chars().any(char::is_uppercase);
        Self { text: if is_exact { text.to_owned() } else { text.to_lowercase() }, is_exact }
    }

    fn is_in(&self, text: &str) -> bool {
        !self.text.is_empty()
            && (if self.is_exact {
                text.contains(&self.text)
            } else {
                text.to_lowercase().contains(&self.text)
            })
    }

    /// The places in a line, in order.
    pub fn matches(&self, runs: &[Run], line: u64) -> Vec<Match> {
        if self.text.is_empty() {
            return Vec::new();
        }
        // The folded text may have other lengths than the line, so columns are kept beside each byte.
        let mut text = String::new();
        let mut cols: Vec<Range<usize>> = Vec::new();
        let mut col = 0;
        for (cell, width) in runs.iter().flat_map(Run::cells) {
            if self.is_exact {
                text.push_str(cell);
            } else {
                text.push_str(&cell.to_lowercase());
            }
            let past = col + usize::from(width);
            cols.resize(text.len(), col..past);
            col = past;
        }
        let place = |start: usize| {
            let first = cols.get(start)?.start;
            let past = cols.get(start + self.text.len() - 1)?.end;
            Some(Match { line, col: first, n_cols: past - first })
        };
        text.match_indices(&self.text).filter_map(|(start, _)| place(start)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::size::TermSize;
    use crate::pty::term::TermConfig;

    fn numbered(n_lines: u32, n_cols: u16) -> Term {
        let mut term = Term::new(TermSize::clamped(4, n_cols), TermConfig::default());
        for n in 0..n_lines {
            term.process(format!("{}line {n}", if n > 0 { "\r\n" } else { "" }).as_bytes());
        }
        term
    }

    fn texts(page: &LinePage) -> Vec<String> {
        page.lines.iter().map(|runs| runs.iter().map(|run| run.text.as_str()).collect()).collect()
    }

    #[test]
    fn pages_begin_where_they_are_asked_to_and_the_last_one_has_the_whole_screen() {
        let mut term = numbered(20, 20);
        let page = term.line_page(Some(3), 2, 1 << 20);
        assert_eq!((page.first, texts(&page)), (3, vec!["line 3".to_owned(), "line 4".to_owned()]));
        assert_eq!((page.oldest, page.screen, page.end, page.cursor), (0, 16, 20, (19, 7)));
        assert_eq!(term.line_page(Some(3), 99, 1).lines.len(), 1, "never less than a line");
        for (limit, first) in [(1, 16), (6, 14), (99, 0)] {
            let last = term.line_page(None, limit, 1 << 20);
            assert_eq!((last.first, last.first + last.lines.len() as u64), (first, 20), "{limit}");
        }
        term.process(b"\r\nmore\r\nand more");
        assert_eq!(texts(&term.line_page(Some(3), 2, 1 << 20)), texts(&page));
    }

    #[test]
    fn a_line_is_wrapped_at_the_width_of_the_view_only() {
        let mut term = numbered(0, 10);
        term.process("0123456789abcdef日本語xyz\r\n\r\n\r\n\r\n".as_bytes());
        assert_eq!(term.history().numbers(), 0..1);
        assert_eq!(term.text_lines(0, 9).lines[0], "0123456789abcdef日本語xyz");
        let page = term.line_page(Some(0), 1, 1 << 20);
        let rows = |width| -> Vec<String> { wrap(&page.lines[0], width).iter().map(Row::text).collect() };
        assert_eq!(rows(80), ["0123456789abcdef日本語xyz"]);
        assert_eq!(rows(7), ["0123456", "789abcd", "ef日本", "語xyz"]);
    }

    #[test]
    fn a_line_goes_on_with_a_wide_character_that_had_no_room() {
        let text = "a日本語日本語日本語日本語日本語 end";
        for n_cols in 4..14 {
            for n_lines in [1, 9] {
                let mut term = numbered(0, n_cols);
                for _ in 0..n_lines {
                    term.process(format!("{text}\r\n").as_bytes());
                }
                let lines = |term: &Term| term.text_lines(0, 99).lines;
                let expected = vec![text.to_owned(); n_lines];
                assert_eq!(lines(&term), expected, "{n_cols} columns");
                term.resize(TermSize::clamped(4, 17));
                assert_eq!(lines(&term), expected, "{n_cols} columns, then 17");
                term.resize(TermSize::clamped(5, n_cols));
                assert_eq!(lines(&term), expected, "{n_cols} columns again");
                let mut again = Term::new(term.size(), TermConfig::default());
                again.restore(&term.keyframe());
                assert_eq!(again.screen_text(), term.screen_text());
            }
        }
    }

    #[test]
    fn the_cursor_is_known_by_line_and_column_of_the_text() {
        let mut term = numbered(0, 10);
        term.process(b"a\r\n0123456789abc");
        assert_eq!(term.line_page(None, 9, 1 << 20).cursor, (1, 13));
        term.process(b"\r\n\r\n\r\n$ ");
        assert_eq!(term.line_page(None, 9, 1 << 20).cursor, (4, 2));
    }

    #[test]
    fn plain_lines_are_read_by_number_with_what_is_forgotten_skipped() {
        let config = TermConfig {
            history: super::super::history::HistoryLimits { n_lines: 5, n_bytes: 1 << 20 },
            ..TermConfig::default()
        };
        let mut term = Term::new(TermSize::clamped(4, 20), config);
        for n in 0..20 {
            term.process(format!("line {n}\r\n").as_bytes());
        }
        let read = term.text_lines(0, 3);
        assert_eq!((read.first, read.oldest, read.end), (12, 12, 20));
        assert_eq!(read.lines, ["line 12", "line 13", "line 14"]);
        assert_eq!(term.text_lines(19, 9).lines, ["line 19"]);
        assert_eq!(term.text_lines(20, 9).lines.len(), 0);
    }

    #[test]
    fn search_finds_columns_in_long_wide_and_styled_lines() {
        let mut term = numbered(0, 10);
        term.process("日本語 \x1b[31mNee\x1b[32mdle\x1b[m and needle\r\n\r\n\r\n\r\n\r\n".as_bytes());
        let at = |col, n_cols| Match { line: 0, col, n_cols };
        let search = |needle| term.search(needle, u64::MAX).matches;
        assert_eq!(search("needle"), [at(7, 6), at(18, 6)]);
        assert_eq!(search("Needle"), [at(7, 6)]);
        assert_eq!(search("本語 "), [at(2, 5)]);
        assert!(search("").is_empty());
    }

    #[test]
    fn a_long_history_is_searched_in_several_looks_from_the_end_on() {
        let mut term = numbered(5_000, 20);
        let (mut until, mut n_looks, mut all) = (u64::MAX, 0, Vec::new());
        loop {
            let found = term.search("line 4", until);
            n_looks += 1;
            all.splice(0..0, found.matches);
            until = found.from;
            if until <= found.oldest {
                break;
            }
        }
        let lines: Vec<u64> = all.iter().map(|found| found.line).collect();
        let expected = (0..5_000_u64).filter(|n| n.to_string().starts_with('4'));
        assert_eq!(lines, expected.collect::<Vec<_>>());
        assert_eq!(n_looks, 3);
        term.process(b"\r\n");
        assert_eq!(term.search("line 4999", 5_000).matches.len(), 1);
    }
}
