//! Lines that left the top of the main screen, as compact styled text.
//!
//! Kept are logical lines: rows that were wrapped only by the width of the screen are one line, so
//! that a view may wrap them at any other width. Lines have absolute numbers that never change; the
//! oldest are forgotten when a limit is reached. Not kept: rows of the alternate screen.

use super::cluster::ClusterTable;
use super::hooks::BLANK;
use super::row::{self, Reader, RowWriter};
use super::scan::Csi;
use super::style::{self, StyleTable};
use super::{cluster, sgr};
use crate::base::grid::{Color, Run, Shape, Style};
use std::collections::VecDeque;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How much history one terminal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    pub n_lines: usize,
    pub n_bytes: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { n_lines: 10_000, n_bytes: 8 << 20 }
    }
}

/// A line is broken here even if the program never does, so that no line is without bound.
const MAX_LINE_BYTES: usize = 64 << 10;
/// Memory that is kept for the next wrapped line.
const KEPT_MEMORY: usize = 4 << 10;
/// Prompts that are remembered, the newest.
const MAX_PROMPTS: usize = 10_000;
/// What a line costs beside its bytes.
const LINE_OVERHEAD: usize = 40;

/// One logical line.
#[derive(Debug, Default)]
struct Line {
    runs: Box<[u8]>,
}

/// The history of one terminal.
#[derive(Debug)]
pub struct History {
    lines: VecDeque<Line>,
    /// The line that the topmost row of the screen continues; its memory is used again and again.
    open: Vec<u8>,
    is_open: bool,
    /// Memory for the row that is written.
    writer: RowWriter<'static>,
    /// The absolute number of `lines[0]`.
    first: u64,
    n_bytes: usize,
    limits: HistoryLimits,
    /// The numbers of lines on which a prompt began, in order.
    prompts: VecDeque<u64>,
}

impl History {
    pub(super) fn new(limits: HistoryLimits) -> Self {
        Self {
            lines: VecDeque::new(),
            open: Vec::new(),
            is_open: false,
            writer: RowWriter::runs(),
            first: 0,
            n_bytes: 0,
            limits,
            prompts: VecDeque::new(),
        }
    }

    /// The absolute numbers of the lines that are kept; the end is the number that the first line of
    /// the screen has. A line that goes on at the top of the screen belongs to the screen's numbers.
    pub fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.lines.len() as u64
    }

    /// Bytes of memory taken by the lines, nearly.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes + self.open.len()
    }

    /// The plain text of a line; `None` where it is not kept (any more).
    pub fn text(&self, number: u64) -> Option<String> {
        let mut text = String::new();
        row::read_plain(&self.line(number)?.runs, &mut text).ok()?;
        Some(text)
    }

    /// The styled runs of a line; `None` where it is not kept (any more).
    pub fn runs(&self, number: u64) -> Option<Vec<Run>> {
        row::read_runs(&mut Reader::new(&self.line(number)?.runs)).ok()
    }

    /// Bytes that a line takes; 0 where it is not kept.
    pub(super) fn n_bytes_of(&self, number: u64) -> usize {
        self.line(number).map_or(0, |line| line.runs.len() + LINE_OVERHEAD)
    }

    /// The lines on which a prompt began (OSC 133), oldest first. Those of lines that are forgotten
    /// may be among them.
    pub(super) fn prompts(&self) -> impl Iterator<Item = u64> {
        self.prompts.iter().copied()
    }

    /// Notes that a prompt began on a line. What was noted from there on stood on a screen that was
    /// erased since.
    pub(super) fn note_prompt(&mut self, line: u64) {
        while self.prompts.back().is_some_and(|known| *known >= line) {
            self.prompts.pop_back();
        }
        while self.prompts.len() >= MAX_PROMPTS
            || self.prompts.front().is_some_and(|known| *known < self.first)
        {
            self.prompts.pop_front();
        }
        self.prompts.push_back(line);
    }

    fn line(&self, number: u64) -> Option<&Line> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lines.get(index)
    }

    /// The runs of the line that the top of the screen continues.
    pub(super) fn open_runs(&self) -> Vec<Run> {
        row::read_runs(&mut Reader::new(self.open_bytes())).unwrap_or_default()
    }

    /// The same line as [`History::set_open`] takes it; empty for none.
    pub(super) fn open_bytes(&self) -> &[u8] {
        &self.open
    }

    /// Takes over the line that the top of the screen continues, unless it is none of ours.
    pub(super) fn set_open(&mut self, open: Vec<u8>) {
        self.is_open = !open.is_empty() && row::read_runs(&mut Reader::new(&open)).is_ok();
        self.open = if self.is_open { open } else { Vec::new() };
    }

    /// Forgets everything; numbers go on.
    pub(super) fn clear(&mut self) {
        self.first += self.lines.len() as u64;
        self.lines.clear();
        self.open = Vec::new();
        self.is_open = false;
        self.n_bytes = 0;
    }

    /// Whether the top of the screen continues a line.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Ends the line that the top of the screen continued, because the screen was erased.
    pub(super) fn close_open(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.push_line(self.open.as_slice().into());
            self.open.clear();
            self.open.shrink_to(KEPT_MEMORY);
        }
    }

    /// Takes back the line that the top of the screen continues.
    pub(super) fn take_open(&mut self) -> Option<Vec<Run>> {
        let open = std::mem::take(&mut self.open);
        std::mem::take(&mut self.is_open).then(|| row::read_runs(&mut Reader::new(&open)).ok()).flatten()
    }

    /// Takes back the newest line, so that the screen can show it again.
    pub(super) fn take_newest(&mut self) -> Option<Vec<Run>> {
        let line = self.lines.pop_back()?;
        self.n_bytes -= line.runs.len() + LINE_OVERHEAD;
        row::read_runs(&mut Reader::new(&line.runs)).ok()
    }

    /// Adds a row as the parser captured it: text with SGR sequences, our tags and blanks inside.
    pub(super) fn push_row(
        &mut self,
        captured: &str,
        is_wrapped: bool,
        styles: &StyleTable,
        clusters: &ClusterTable,
    ) {
        let mut writer = std::mem::take(&mut self.writer);
        if is_plain(captured) {
            writer.set_look(Style::default(), None, Shape::Narrow);
            writer.push(captured);
        } else {
            write_cells(captured, &mut writer, styles, clusters);
        }
        self.push_written(&mut writer, is_wrapped);
        self.writer = writer;
    }

    /// Adds what a writer holds, and leaves it empty.
    fn push_written(&mut self, writer: &mut RowWriter<'_>, is_wrapped: bool) {
        let runs = writer.finish_runs(is_wrapped);
        if is_wrapped || self.is_open {
            self.is_open = true;
            self.open.extend_from_slice(runs);
            if !is_wrapped && runs.is_empty() {
                // The rows in front may be blank as well; a line that is drawn again has none of them.
                row::trim_end(&mut self.open);
            }
            if !is_wrapped || self.open.len() >= MAX_LINE_BYTES {
                self.close_open();
            }
        } else {
            self.push_line(runs.into());
        }
        writer.clear();
    }

    /// Adds a line of printable ASCII and SGR sequences that begins and ends in the default look, as the rows
    /// that a screen of this width makes of it.
    pub(super) fn push_simple_line(&mut self, line: &str, n_cols: usize, width: usize) {
        if !self.is_open && n_cols <= width && is_plain(line) {
            return self.push_line(row::plain_run(line.trim_end_matches(' ')).into_boxed_slice());
        }
        let mut writer = std::mem::take(&mut self.writer);
        let (mut n_cols, mut style, mut rest) = (0, Style::default(), line);
        while !rest.is_empty() {
            let n_text = memchr::memchr(0x1b, rest.as_bytes()).unwrap_or(rest.len());
            let (mut text, sequence) = rest.split_at(n_text);
            while !text.is_empty() {
                if n_cols == width {
                    self.push_written(&mut writer, true);
                    n_cols = 0;
                }
                let (piece, after) = text.split_at(text.len().min(width - n_cols));
                writer.set_look(style, None, Shape::Narrow);
                writer.push(piece);
                n_cols += piece.len();
                text = after;
            }
            let n_sequence = memchr::memchr(b'm', sequence.as_bytes()).map_or(sequence.len(), |end| end + 1);
            let (sequence, after) = sequence.split_at(n_sequence);
            if let Some(csi) = Csi::parse(sequence.as_bytes()) {
                sgr::changes(&csi, |change| sgr::apply(&mut style, change));
            }
            rest = after;
        }
        self.push_written(&mut writer, false);
        self.writer = writer;
    }

    fn push_line(&mut self, runs: Box<[u8]>) {
        self.n_bytes += runs.len() + LINE_OVERHEAD;
        self.lines.push_back(Line { runs });
        while self.lines.len() > self.limits.n_lines || self.n_bytes > self.limits.n_bytes {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.n_bytes -= oldest.runs.len() + LINE_OVERHEAD;
            self.first += 1;
        }
    }

    /// Forgets the oldest lines until at most `n_bytes` are taken, for a limit over all terminals.
    pub fn shrink_to(&mut self, n_bytes: usize) {
        while self.n_bytes > n_bytes {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.n_bytes -= oldest.runs.len() + LINE_OVERHEAD;
            self.first += 1;
        }
    }
}

fn is_plain(captured: &str) -> bool {
    captured.is_ascii() && memchr::memchr2(0x1b, 0x01, captured.as_bytes()).is_none()
}

/// Reads captured text cell by cell.
fn write_cells(captured: &str, writer: &mut RowWriter<'_>, styles: &StyleTable, clusters: &ClusterTable) {
    let mut pen = Style::default();
    let mut rest = captured;
    let mut is_after_sgr = false;
    while let Some(first) = rest.chars().next() {
        let n_ascii = plain_len(rest);
        let n_bytes = match first {
            '\u{1b}' => memchr::memchr(b'm', rest.as_bytes()).map_or(rest.len(), |end| end + 1),
            BLANK => rest.len() - rest.trim_start_matches(BLANK).len(),
            _ if n_ascii > 0 => n_ascii,
            _ => cell_len(rest),
        };
        let (piece, after) = rest.split_at(n_bytes);
        match first {
            '\u{1b}' => {
                if let Some(csi) = Csi::parse(piece.as_bytes()) {
                    sgr::changes(&csi, |change| sgr::apply(&mut pen, change));
                }
            }
            BLANK => write_blanks(piece.len(), is_after_sgr || after.is_empty(), pen, writer),
            _ if n_ascii > 0 => {
                writer.set_look(pen, None, Shape::Narrow);
                writer.push(piece);
            }
            // At the end of a row that is wrapped it is not part of the text.
            _ if style::is_filler(piece) && after.is_empty() => {}
            // One character, so there are no tags: the most of all cells, and worth a shorter way.
            _ if piece.len() == first.len_utf8() => match clusters.text_of(first) {
                Some(cluster) => {
                    writer.set_look(pen, None, Shape::WideCluster);
                    writer.push(cluster);
                }
                None => {
                    let is_wide = first.width().unwrap_or(1) > 1;
                    writer.set_look(pen, None, if is_wide { Shape::Wide } else { Shape::Narrow });
                    writer.push(piece);
                }
            },
            _ => write_cell(piece, is_wide(piece), pen, writer, styles, clusters),
        }
        is_after_sgr = first == '\u{1b}';
        rest = after;
    }
}

/// The bytes of printable ASCII at the start, less the last one where marks may follow it.
fn plain_len(text: &str) -> usize {
    let n_ascii = text.bytes().take_while(|b| (0x20..0x7f).contains(b)).count();
    let has_marks = text.as_bytes().get(n_ascii).is_some_and(|b| *b >= 0x80);
    n_ascii.saturating_sub(usize::from(has_marks))
}

/// Writes cells without contents. The parser names the look of erased cells and is silent about those
/// never written, which it leaves out at the end: so a run of blanks has a background only behind an
/// SGR sequence of its own, or at the end of the row.
fn write_blanks(n_cells: usize, is_erased: bool, pen: Style, writer: &mut RowWriter<'_>) {
    let bg = if is_erased { pen.bg } else { Color::Default };
    writer.set_look(Style { bg, ..Style::default() }, None, Shape::Narrow);
    writer.push(&" ".repeat(n_cells));
}

/// The bytes of the first cell: a character and the ones without width behind it.
fn cell_len(text: &str) -> usize {
    let has_no_width = |c: &char| !matches!(*c, '\u{1b}' | BLANK) && c.width().unwrap_or(0) == 0;
    let mut chars = text.chars();
    let first = chars.next().map_or(0, char::len_utf8);
    first + chars.take_while(has_no_width).map(char::len_utf8).sum::<usize>()
}

fn is_wide(cell: &str) -> bool {
    if cell.len() == 1 {
        return false;
    }
    let first = cell.chars().next().and_then(|c| c.width()).unwrap_or(1);
    first > 1 || (cell.contains(cluster::EMOJI_STYLE) && cell.width() > 1)
}

/// Writes one cell with everything that its tags say.
pub(super) fn write_cell(
    contents: &str,
    is_wide: bool,
    mut look: Style,
    writer: &mut RowWriter<'_>,
    styles: &StyleTable,
    clusters: &ClusterTable,
) {
    if contents.len() == 1 {
        writer.set_look(look, None, Shape::Narrow);
        writer.push(contents);
        return;
    }
    let extra = styles.extra_of(contents);
    extra.apply(&mut look);
    let text = clusters.expand(contents);
    let is_single = text.chars().nth(1).is_none();
    let shape = match (is_single, is_wide) {
        (true, false) => Shape::Narrow,
        (true, true) => Shape::Wide,
        (false, false) => Shape::NarrowCluster,
        (false, true) => Shape::WideCluster,
    };
    let link = if extra == style::Extra::default() { None } else { styles.link(extra) };
    writer.set_look(look, link, shape);
    writer.push(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(limits: HistoryLimits) -> History {
        History::new(limits)
    }

    fn push(history: &mut History, row: &str, is_wrapped: bool) {
        history.push_row(row, is_wrapped, &StyleTable::new(), &ClusterTable::new());
    }

    #[test]
    fn rows_join_to_logical_lines_with_lasting_numbers() {
        let mut history = history(HistoryLimits { n_lines: 2, n_bytes: 1 << 20 });
        push(&mut history, "one ", true);
        assert_eq!(history.numbers(), 0..0);
        push(&mut history, "line", false);
        push(&mut history, "\u{1b}[31mtwo", false);
        push(&mut history, "plain", false);
        assert_eq!(history.numbers(), 1..3, "the oldest line is forgotten, the others keep their number");
        assert_eq!(history.text(1).as_deref(), Some("two"));
        assert_eq!(history.runs(2).unwrap()[0].style.fg, Color::Default, "each row names its look");
        assert_eq!(history.text(0), None);
    }

    #[test]
    fn blanks_between_coloured_cells_have_no_colour_unless_they_were_erased() {
        let mut history = history(HistoryLimits::default());
        push(
            &mut history,
            "\u{1b}[41ma\u{1}\u{1}\u{1b}[mb\u{1b}[42m\u{1}\u{1b}[mc\u{1b}[43m\u{1}\u{1}",
            false,
        );
        let seen: Vec<_> = history.runs(0).unwrap().into_iter().map(|run| (run.text, run.style.bg)).collect();
        let indexed = Color::Indexed;
        let expected = [
            ("a", indexed(1)),
            ("  b", Color::Default),
            (" ", indexed(2)),
            ("c", Color::Default),
            ("  ", indexed(3)),
        ];
        assert_eq!(seen, expected.map(|(text, bg)| (text.to_owned(), bg)));
    }

    #[test]
    fn bytes_are_bounded_and_endless_lines_are_broken() {
        let mut history = history(HistoryLimits { n_lines: 1_000_000, n_bytes: 200_000 });
        for _ in 0..20_000 {
            push(&mut history, "0123456789012345678901234567890123456789", true);
        }
        assert!(history.n_bytes() < 300_000, "{}", history.n_bytes());
        assert!(!history.numbers().is_empty());
        history.shrink_to(0);
        assert!(history.numbers().is_empty());
    }
}
