//! What a terminal shows, as plain values: colours, styles, runs of cells, rows, cursor.
//!
//! The server makes these from a pane's emulator; the client draws them without knowing the
//! emulator. Every width here was decided by the server, so that both sides agree by construction:
//! a client never measures a character.

use serde::{Deserialize, Serialize};

/// A colour as a program asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// An entry of the 256-colour palette.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// How a cell is underlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Underline {
    #[default]
    None,
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

/// A set of on/off attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attrs(u8);

impl Attrs {
    pub const NONE: Self = Self(0);
    pub const BOLD: Self = Self(1);
    pub const DIM: Self = Self(2);
    pub const ITALIC: Self = Self(4);
    pub const INVERSE: Self = Self(8);
    pub const STRIKE: Self = Self(16);
    pub const BLINK: Self = Self(32);
    pub const CONCEAL: Self = Self(64);
    pub const OVERLINE: Self = Self(128);

    /// The set with exactly these bits, one per constant above.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// One bit per constant above.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every attribute of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds (`is_on`) or removes the attributes of `other`.
    pub fn set(&mut self, other: Self, is_on: bool) {
        if is_on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }
}

/// Everything about the look of a cell except the link behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Style {
    pub fg: Color,
    pub bg: Color,
    pub underline: Underline,
    /// The colour of the underline; `Default` means that of the text.
    pub underline_color: Color,
    pub attrs: Attrs,
}

/// The target of a hyperlink (OSC 8), as the program gave it: untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// Ties cells that belong to one link; empty where the program gave none.
    pub id: String,
    pub uri: String,
}

/// How the text of a run divides into cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Each character is a cell of its own, one column wide.
    Narrow,
    /// Each character is a cell of its own, two columns wide.
    Wide,
    /// The whole text is one cell (marks, joined emoji) of one column.
    NarrowCluster,
    /// The whole text is one cell (marks, joined emoji) of two columns.
    WideCluster,
}

impl Shape {
    /// Columns of each cell in a run of this shape.
    pub const fn cell_width(self) -> u16 {
        match self {
            Self::Narrow | Self::NarrowCluster => 1,
            Self::Wide | Self::WideCluster => 2,
        }
    }

    /// Whether the whole text of the run is one cell.
    pub const fn is_cluster(self) -> bool {
        matches!(self, Self::NarrowCluster | Self::WideCluster)
    }
}

/// Neighbouring cells of one look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub style: Style,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<Link>>,
    pub shape: Shape,
    pub text: String,
}

impl Run {
    /// The text of each cell and its width in columns (1 or 2).
    pub fn cells(&self) -> Cells<'_> {
        Cells { rest: &self.text, shape: self.shape }
    }

    /// Columns taken by the run.
    pub fn width(&self) -> usize {
        let n_cells = if self.shape.is_cluster() { 1 } else { self.text.chars().count() };
        n_cells * usize::from(self.shape.cell_width())
    }
}

/// Iterator of [`Run::cells`].
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    rest: &'a str,
    shape: Shape,
}

impl<'a> Iterator for Cells<'a> {
    type Item = (&'a str, u16);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.rest.chars().next()?;
        let n_bytes = if self.shape.is_cluster() { self.rest.len() } else { first.len_utf8() };
        let (cell, rest) = self.rest.split_at(n_bytes);
        self.rest = rest;
        Some((cell, self.shape.cell_width()))
    }
}

/// One row of a screen, left to right. Columns after the last run are blank in the default style.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Row {
    pub runs: Vec<Run>,
    /// Whether the line of text goes on in the next row, so that a copy must not break it here.
    pub is_wrapped: bool,
}

impl Row {
    /// The text without trailing spaces.
    pub fn text(&self) -> String {
        let text: String = self.runs.iter().map(|run| run.text.as_str()).collect();
        text.trim_end_matches(' ').to_owned()
    }

    /// Columns taken by the runs.
    pub fn width(&self) -> usize {
        self.runs.iter().map(Run::width).sum()
    }

    /// The text of the cells that start in columns `from..to`, blanks included up to the last run.
    pub fn text_between(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        let mut col = 0;
        for (cell, width) in self.runs.iter().flat_map(Run::cells) {
            if (from..to).contains(&col) {
                text.push_str(cell);
            }
            col += usize::from(width);
        }
        text
    }

    /// The link under column `col`, if the cell there carries one.
    pub fn link_at(&self, col: usize) -> Option<&Link> {
        let mut end = 0;
        self.runs
            .iter()
            .find(|run| {
                end += run.width();
                col < end
            })
            .and_then(|run| run.link.as_deref())
    }
}

/// The look of the text cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CursorShape {
    /// Whatever the host terminal uses.
    #[default]
    Default,
    BlinkBlock,
    SteadyBlock,
    BlinkUnderline,
    SteadyUnderline,
    BlinkBar,
    SteadyBar,
}

/// The text cursor of a pane; `row` and `col` count from 0 and are always inside the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Cursor {
    pub row: u16,
    pub col: u16,
    pub is_visible: bool,
    pub shape: CursorShape,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shape: Shape, text: &str) -> Run {
        Run { style: Style::default(), link: None, shape, text: text.to_owned() }
    }

    #[test]
    fn cells_and_widths_follow_the_shape_not_the_characters() {
        let row = Row {
            runs: vec![run(Shape::Narrow, "a1"), run(Shape::WideCluster, "👨‍👩‍👧"), run(Shape::Wide, "日本")],
            is_wrapped: false,
        };
        let cells: Vec<_> = row.runs.iter().flat_map(Run::cells).collect();
        assert_eq!(cells, [("a", 1), ("1", 1), ("👨‍👩‍👧", 2), ("日", 2), ("本", 2)]);
        assert_eq!(row.width(), 8);
        assert_eq!(row.text_between(1, 4), "1👨‍👩‍👧");
        assert_eq!(row.text_between(3, 6), "日", "a cell belongs to the column it starts in");
    }

    #[test]
    fn links_are_found_by_column() {
        let link = Link { id: String::new(), uri: "https://a.b".to_owned() };
        let mut linked = run(Shape::Narrow, "xy");
        linked.link = Some(Box::new(link.clone()));
        let row = Row { runs: vec![run(Shape::Narrow, "ab"), linked], is_wrapped: false };
        assert_eq!([row.link_at(1), row.link_at(2), row.link_at(4)], [None, Some(&link), None]);
    }

    #[test]
    fn attributes_are_added_and_removed_one_by_one() {
        let mut attrs = Attrs::NONE;
        attrs.set(Attrs::BOLD, true);
        attrs.set(Attrs::STRIKE, true);
        attrs.set(Attrs::BOLD, false);
        assert_eq!(attrs, Attrs::STRIKE);
        assert!(!attrs.contains(Attrs::BOLD));
    }
}
