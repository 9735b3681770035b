//! Writing a screen as bytes that draw it again: for a rebuild at another size, and for keyframes.

use super::cells::style_of_cell;
use super::cluster;
use super::sgr;
use super::term::Term;
use crate::base::grid::{Link, Run, Style};
use crate::base::report::OrLog as _;
use std::fmt::Write as _;
use std::ops::Range;

/// How cells are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Tags and interned characters as they are: for a parser with the same tables.
    Tagged,
    /// Everything in standard sequences: for any terminal of ours.
    Portable,
}

/// Collects text, switching the look only where it changes.
#[derive(Debug, Default)]
pub(super) struct Replay {
    pub text: String,
    style: Style,
    link: Option<Link>,
    is_protected: bool,
    /// The cell written last, and whether it is wide.
    last: (String, bool),
}

impl Replay {
    /// A replay that continues in another text with the look that this one ends in.
    pub fn continued(&self) -> Self {
        Self { style: self.style, link: self.link.clone(), ..Self::default() }
    }

    /// The style that the text ends in.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Sets the look of what follows.
    pub fn set_look(&mut self, style: Style, link: Option<&Link>) {
        if style != self.style {
            sgr::write(&style, &mut self.text);
            self.style = style;
        }
        if link != self.link.as_ref() {
            write_link(link, &mut self.text);
            self.link = link.cloned();
        }
    }

    /// Protects what follows from selective erasing, or not.
    fn protect(&mut self, is_protected: bool) {
        if is_protected != self.is_protected {
            self.text.push_str(protection(is_protected));
            self.is_protected = is_protected;
        }
    }

    /// Goes back to the default look.
    pub fn end(&mut self) {
        self.set_look(Style::default(), None);
        self.protect(false);
    }

    /// Writes runs that were kept in history.
    pub fn push_runs(&mut self, runs: &[Run]) {
        for run in runs {
            self.set_look(run.style, run.link.as_deref());
            for (cell, width) in run.cells() {
                self.push_cell(cell, width == 2);
            }
        }
    }

    /// Leaves cells out to which nothing was written.
    fn skip(&mut self, n_cells: usize) {
        self.text.push_str(&format!("\x1b[{n_cells}C"));
        self.last = (String::from(" "), false);
    }

    /// Writes a cell that stays apart from the one in front of it.
    pub fn push_cell(&mut self, cell: &str, is_wide: bool) {
        let (previous, is_previous_wide) = &self.last;
        if cell.chars().next().is_some_and(|first| cluster::joins(previous, *is_previous_wide, first)) {
            self.text.push(cluster::APART);
        }
        self.text.push_str(cell);
        self.last.0.clear();
        self.last.0.push_str(cell);
        self.last.1 = is_wide;
    }
}

/// DECSCA.
pub(super) const fn protection(is_protected: bool) -> &'static str {
    if is_protected { "\x1b[1\"q" } else { "\x1b[\"q" }
}

/// Writes OSC 8 for `link`, or for its end.
pub(super) fn write_link(link: Option<&Link>, out: &mut String) {
    let written = match link {
        Some(Link { id, uri }) if id.is_empty() => write!(out, "\x1b]8;;{uri}\x1b\\"),
        Some(Link { id, uri }) => write!(out, "\x1b]8;id={id};{uri}\x1b\\"),
        None => write!(out, "\x1b]8;;\x1b\\"),
    };
    written.or_log("write to memory");
}

impl Term {
    /// The column after the last cell of `row` that shows anything.
    pub(super) fn used_cols(&self, row: u16) -> u16 {
        (0..self.n_cols()).rev().find(|col| !self.is_blank(row, *col)).map_or(0, |col| col + 1)
    }

    fn is_blank(&self, row: u16, col: u16) -> bool {
        self.parser.screen().cell(row, col).is_none_or(|cell| {
            !cell.has_contents() && !cell.is_wide_continuation() && cell.bgcolor() == vt100::Color::Default
        })
    }

    /// Writes the cells of `row` in `cols`.
    pub(super) fn replay_cells(&self, row: u16, cols: Range<u16>, form: Form, replay: &mut Replay) {
        let screen = self.parser.screen();
        let mut n_unwritten = 0;
        for (col, cell) in cols.filter_map(|col| Some((col, screen.cell(row, col)?))) {
            if form == Form::Portable && self.is_blank(row, col) {
                n_unwritten += 1;
                continue;
            }
            if n_unwritten > 0 {
                replay.skip(n_unwritten);
                n_unwritten = 0;
            }
            let is_filler = super::style::is_filler(cell.contents());
            if cell.is_wide_continuation() || (is_filler && self.is_filled(row, col)) {
                continue;
            }
            let mut style = if is_filler { Style::default() } else { style_of_cell(cell) };
            let contents = if cell.has_contents() && !is_filler { cell.contents() } else { " " };
            match form {
                Form::Tagged => {
                    replay.set_look(style, None);
                    replay.text.push_str(contents);
                }
                Form::Portable => {
                    let extra = self.styles.extra_of(contents);
                    extra.apply(&mut style);
                    replay.set_look(style, self.styles.link(extra));
                    replay.protect(extra.is_protected);
                    replay.push_cell(&self.clusters.expand(contents), cell.is_wide());
                }
            }
        }
    }
}
