//! History and screen as one text: views at any width, plain lines, search.
//!
//! Logical lines have absolute numbers: those of history, then those of the screen. A view is anchored
//! at such a number, so it does not move while new output arrives below, and wrapping happens only
//! here, at the width that is asked for.

use super::row;
use super::term::Term;
use crate::base::grid::{Row, Run};

/// A place to begin a view: a logical line, and a row inside of it at the width of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewTop {
    pub line: u64,
    pub row: usize,
}

/// Rows of a scrolled view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Where it begins really, after moving into what is kept.
    pub top: ViewTop,
    /// At most as many rows as were asked for.
    pub rows: Vec<Row>,
    /// How many rows lie below the view; 0 means that it shows the end.
    pub n_rows_below: usize,
}

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

/// All logical lines; those of the screen are read once.
struct Lines<'a> {
    term: &'a Term,
    screen: Vec<Vec<Run>>,
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
            None => self.term.history.runs(number).unwrap_or_default(),
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

    /// Rows that a line takes; only long lines have to be wrapped to know.
    fn n_rows(&self, number: u64, width: usize) -> usize {
        let is_kept = number < self.term.history.numbers().end;
        if is_kept && self.term.history.n_cols(number) <= width {
            return 1;
        }
        wrap(&self.runs(number), width).len()
    }
}

impl Term {
    /// A view of `n_rows` rows whose end lies `offset` rows above the end of the screen.
    pub fn history_view(&self, offset: usize, n_rows: u16, width: u16) -> View {
        let lines = self.lines();
        let end = ViewTop { line: lines.end(), row: 0 };
        let n_back = offset.saturating_add(n_rows.into());
        let top = moved(&lines, end, -i64::try_from(n_back).unwrap_or(i64::MAX), width.max(2).into());
        view(&lines, top, n_rows.into(), width.max(2).into())
    }

    /// A view of `n_rows` rows that begins `delta` rows below `top` (above it where negative). It stays
    /// inside of what is kept, and never shows less than a full view where there is one.
    pub fn view_from(&self, top: ViewTop, delta: i64, n_rows: u16, width: u16) -> View {
        let lines = self.lines();
        let width = usize::from(width.max(2));
        let end = ViewTop { line: lines.end(), row: 0 };
        let lowest = moved(&lines, end, -i64::from(n_rows), width);
        let first = ViewTop { line: lines.first(), row: 0 };
        let top = moved(&lines, top.clamp(first, end), delta, width).min(lowest);
        view(&lines, top, n_rows.into(), width)
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

    /// Where `needle` occurs, the newest first, at most `limit` times. Capitals matter only if the
    /// needle has any.
    pub fn search(&self, needle: &str, limit: usize) -> Vec<Match> {
        let is_exact = needle.chars().any(char::is_uppercase);
        let folded = |text: String| if is_exact { text } else { text.to_lowercase() };
        let needle = folded(needle.to_owned());
        if needle.is_empty() {
            return Vec::new();
        }
        let lines = self.lines();
        let mut found = Vec::new();
        for number in (lines.first()..lines.end()).rev() {
            if found.len() >= limit {
                break;
            }
            if folded(lines.text(number)).contains(&needle) {
                let in_line = matches_in(&lines.runs(number), &needle, number, is_exact);
                found.extend(in_line.into_iter().rev());
            }
        }
        found.truncate(limit);
        found
    }

    fn lines(&self) -> Lines<'_> {
        let mut screen: Vec<Vec<Run>> = Vec::new();
        let is_alt = self.is_alt_screen();
        let mut goes_on = self.history.is_open();
        if goes_on {
            screen.push(self.history.open_runs());
            goes_on = !is_alt;
        }
        for number in 0..self.n_rows() {
            // Our own bytes always decode; a row that would not is shown empty.
            let row = row::decode(&self.encoded_row(number)).unwrap_or_default();
            match screen.last_mut() {
                Some(line) if goes_on => line.extend(row.runs),
                _ => screen.push(row.runs),
            }
            goes_on = row.is_wrapped && !is_alt;
        }
        Lines { term: self, screen }
    }
}

fn moved(lines: &Lines<'_>, mut top: ViewTop, delta: i64, width: usize) -> ViewTop {
    let mut n_left = usize::try_from(delta.unsigned_abs()).unwrap_or(usize::MAX);
    if delta < 0 {
        while n_left > top.row {
            if top.line <= lines.first() {
                return ViewTop { line: lines.first(), row: 0 };
            }
            n_left -= top.row;
            top.line -= 1;
            top.row = lines.n_rows(top.line, width);
        }
        top.row -= n_left;
        return top;
    }
    while n_left > 0 && top.line < lines.end() {
        let n_rest = lines.n_rows(top.line, width).saturating_sub(top.row);
        if n_left < n_rest {
            top.row += n_left;
            return top;
        }
        n_left -= n_rest;
        top = ViewTop { line: top.line + 1, row: 0 };
    }
    top
}

fn view(lines: &Lines<'_>, top: ViewTop, n_rows: usize, width: usize) -> View {
    let mut rows = Vec::new();
    let mut n_rows_below = 0;
    for number in top.line..lines.end() {
        if rows.len() >= n_rows {
            n_rows_below += lines.n_rows(number, width);
            continue;
        }
        let n_skipped = if number == top.line { top.row } else { 0 };
        rows.extend(wrap(&lines.runs(number), width).into_iter().skip(n_skipped));
        n_rows_below += rows.len().saturating_sub(n_rows);
        rows.truncate(n_rows);
    }
    View { top, rows, n_rows_below }
}

/// Breaks a line into rows of `width` columns, at least one. A wide cell is never split.
fn wrap(runs: &[Run], width: usize) -> Vec<Row> {
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

fn matches_in(runs: &[Run], needle: &str, line: u64, is_exact: bool) -> Vec<Match> {
    // The folded text may have other lengths than the line, so columns are kept beside each byte.
    let mut text = String::new();
    let mut cols = Vec::new();
    let mut col = 0;
    for (cell, width) in runs.iter().flat_map(Run::cells) {
        if is_exact {
            text.push_str(cell)
        } else {
            text.push_str(&cell.to_lowercase())
        }
        cols.resize(text.len(), col);
        col += usize::from(width);
    }
    cols.push(col);
    let col_at = |byte: usize| cols.get(byte).copied().unwrap_or(col);
    let starts = text.match_indices(needle).map(|(start, _)| start);
    starts
        .map(|start| {
            let first = col_at(start);
            let past = (start + needle.len()..=text.len()).map(col_at).find(|col| *col > first);
            Match { line, col: first, n_cols: past.unwrap_or(col).max(first + 1) - first }
        })
        .collect()
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

    fn texts(view: &View) -> Vec<String> {
        view.rows.iter().map(Row::text).collect()
    }

    #[test]
    fn a_view_scrolls_over_history_and_screen_and_stays_put_under_output() {
        let mut term = numbered(20, 20);
        let end = term.history_view(0, 3, 20);
        assert_eq!(
            (texts(&end), end.n_rows_below),
            (vec!["line 17".into(), "line 18".into(), "line 19".into()], 0)
        );
        let up = term.history_view(10, 3, 20);
        assert_eq!((texts(&up)[0].as_str(), up.n_rows_below), ("line 7", 10));
        term.process(b"\r\nmore\r\nand more");
        let same = term.view_from(up.top, 0, 3, 20);
        assert_eq!((texts(&same), same.n_rows_below), (texts(&up), 12));
        assert_eq!(texts(&term.view_from(up.top, 2, 3, 20))[0], "line 9");
        assert_eq!(texts(&term.view_from(up.top, -100, 3, 20))[0], "line 0");
        assert_eq!(term.view_from(up.top, 100, 3, 20).n_rows_below, 0);
    }

    #[test]
    fn a_line_is_wrapped_at_the_width_of_the_view_only() {
        let mut term = numbered(0, 10);
        term.process("0123456789abcdef日本語xyz\r\n\r\n\r\n\r\n".as_bytes());
        assert_eq!(term.history().numbers(), 0..1);
        assert_eq!(term.text_lines(0, 9).lines[0], "0123456789abcdef日本語xyz");
        let wide = term.history_view(4, 1, 80);
        assert_eq!(texts(&wide), ["0123456789abcdef日本語xyz"]);
        let narrow = term.view_from(ViewTop { line: 0, row: 0 }, 0, 4, 7);
        assert_eq!(texts(&narrow), ["0123456", "789abcd", "ef日本", "語xyz"]);
        let inside = term.view_from(ViewTop { line: 0, row: 0 }, 2, 2, 7);
        assert_eq!(texts(&inside), ["ef日本", "語xyz"]);
        assert_eq!(inside.top, ViewTop { line: 0, row: 2 });
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
        assert_eq!(
            term.search("needle", 9),
            [Match { line: 0, col: 18, n_cols: 6 }, Match { line: 0, col: 7, n_cols: 6 }]
        );
        assert_eq!(term.search("Needle", 9), [Match { line: 0, col: 7, n_cols: 6 }]);
        assert_eq!(term.search("本", 9), [Match { line: 0, col: 2, n_cols: 2 }]);
        assert_eq!(term.search("needle", 1).len(), 1);
        assert!(term.search("", 9).is_empty());
    }
}
