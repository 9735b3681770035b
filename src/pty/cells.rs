//! Reading cells out of the parser: rows for clients, plain text for everyone else.

use super::history;
use super::row::RowWriter;
use super::style;
use super::term::Term;
use crate::base::grid::{Attrs, Color, Shape, Style, Underline};

/// A colour of the parser as ours.
pub(super) fn color_of(color: vt100::Color) -> Color {
    match color {
        vt100::Color::Default => Color::Default,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

/// A look from what the parser tells; `flags` are bold, dim, italic, underline, inverse.
pub(super) fn style_of(fg: vt100::Color, bg: vt100::Color, flags: [bool; 5]) -> Style {
    let [is_bold, is_dim, is_italic, is_underlined, is_inverse] = flags;
    let bit = |is_on: bool, attr: Attrs| if is_on { attr.bits() } else { 0 };
    Style {
        fg: color_of(fg),
        bg: color_of(bg),
        underline: if is_underlined { Underline::Single } else { Underline::None },
        underline_color: Color::Default,
        attrs: Attrs::from_bits(
            bit(is_bold, Attrs::BOLD)
                | bit(is_dim, Attrs::DIM)
                | bit(is_italic, Attrs::ITALIC)
                | bit(is_inverse, Attrs::INVERSE),
        ),
    }
}

/// The look of a cell as the parser knows it. A cell without contents shows its background only
/// (`terminal.md` 1.1: the parser leaves other attributes behind when it erases).
pub(super) fn style_of_cell(cell: &vt100::Cell) -> Style {
    if !cell.has_contents() {
        return Style { bg: color_of(cell.bgcolor()), ..Style::default() };
    }
    let flags = [cell.bold(), cell.dim(), cell.italic(), cell.underline(), cell.inverse()];
    style_of(cell.fgcolor(), cell.bgcolor(), flags)
}

/// Whether nothing was printed on a cell that shows a background all the same: it was erased in it, or is
/// what is left of a wide character that was cut.
pub(super) fn is_unprinted(cell: &vt100::Cell) -> bool {
    !cell.has_contents() && !cell.is_wide_continuation() && cell.bgcolor() != vt100::Color::Default
}

impl Term {
    /// Row `row` of the screen in the byte form of `row.rs`, in the colours that the program has set.
    pub fn encoded_row(&self, row: u16) -> Vec<u8> {
        let screen = self.parser.screen();
        let mut writer = RowWriter::row_in(&self.colors.palette);
        let mut plain_look = None;
        for col in 0..self.n_cols() {
            let Some(cell) = screen.cell(row, col) else { break };
            if cell.is_wide_continuation() {
                continue;
            }
            let style = self.shown(style_of_cell(cell));
            let contents = cell.contents();
            if style::is_filler(contents) {
                // Not part of the text; only a row that ends here after all has a blank.
                plain_look = None;
                if !self.is_filled(row, col) {
                    writer.set_look(self.shown(Style::default()), None, Shape::Narrow);
                    writer.push(" ");
                }
            } else if contents.len() < 2 {
                // One byte or none: a narrow cell without tags. Most cells are.
                if plain_look != Some(style) {
                    writer.set_look(style, None, Shape::Narrow);
                    plain_look = Some(style);
                }
                writer.push(if contents.is_empty() { " " } else { contents });
            } else {
                plain_look = None;
                history::write_cell(
                    contents,
                    cell.is_wide(),
                    style,
                    &mut writer,
                    &self.styles,
                    &self.clusters,
                );
            }
        }
        writer.finish(screen.row_wrapped(row))
    }

    /// A look as the screen shows it. In reverse video (DECSCNM) the defaults change places, and with them
    /// what a program set: that is inverse with the colours exchanged.
    fn shown(&self, style: Style) -> Style {
        if !self.private.is_reverse {
            return style;
        }
        let attrs = Attrs::from_bits(style.attrs.bits() ^ Attrs::INVERSE.bits());
        Style { fg: style.bg, bg: style.fg, attrs, ..style }
    }

    /// The text of the visible rows: tags removed, clusters in full, blanks at the end cut.
    pub fn screen_text(&self) -> Vec<String> {
        // By rows: the parser counts them anew for each cell that it is asked for.
        let rows = self.parser.screen().rows(0, self.n_cols());
        rows.map(|row| self.clusters.expand(&row).trim_end_matches(' ').to_owned()).collect()
    }

    /// The same by lines: rows that go on in the next are one.
    pub fn screen_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for (row, text) in (0..self.n_rows()).zip(self.screen_text()) {
            match lines.last_mut().filter(|_| goes_on) {
                Some(line) => line.push_str(&text),
                None => lines.push(text),
            }
            goes_on = self.is_row_wrapped(row);
        }
        lines
    }

    /// Whether a cell with the filler in it does what that is for.
    pub(super) fn is_filled(&self, row: u16, col: u16) -> bool {
        col + 1 == self.n_cols() && self.is_row_wrapped(row)
    }

    /// Whether the line of visible row `row` goes on in the next.
    pub fn is_row_wrapped(&self, row: u16) -> bool {
        self.parser.screen().row_wrapped(row)
    }
}
