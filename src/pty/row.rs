//! The byte form of a row: what travels to clients and what history keeps.
//!
//! A row is a flag byte and then runs; a run is a head byte (two bits of shape, has-style, has-link),
//! the style, the link, and the text with its length in front. The bytes stand for themselves: no
//! table is needed to read them. Rows with equal bytes are equal rows.

use super::PtyError;
use super::color::Palette;
use crate::base::grid::{Attrs, Color, Link, Row, Run, Shape, Style, Underline};

const WRAPPED: u8 = 1;
const HAS_STYLE: u8 = 4;
const HAS_LINK: u8 = 8;

/// Writes a row cell by cell, joining neighbours of one look.
#[derive(Debug, Default)]
pub(super) struct RowWriter<'a> {
    out: Vec<u8>,
    /// Entries of the palette to be written as the colours they stand for.
    palette: Option<&'a Palette>,
    text: String,
    /// Style, link and shape of the cells in `text`.
    look: Option<(Style, Option<Link>, Shape)>,
}

impl<'a> RowWriter<'a> {
    /// A writer whose output begins with the flag byte of a row.
    pub fn row() -> Self {
        Self { out: vec![0], ..Self::default() }
    }

    /// The same where the entries that are in `palette` are drawn as it says.
    pub fn row_in(palette: &'a Palette) -> Self {
        Self { palette: Some(palette), ..Self::row() }
    }

    /// A writer of runs alone, as kept in history.
    pub fn runs() -> Self {
        Self::default()
    }

    /// Sets the look of the cells that follow.
    pub fn set_look(&mut self, style: Style, link: Option<&Link>, shape: Shape) {
        let style = self.palette.map_or(style, |palette| palette.drawn(style));
        let is_same = self.look.as_ref().is_some_and(|(s, l, sh)| {
            *sh == shape && !shape.is_cluster() && *s == style && l.as_ref() == link
        });
        if !is_same {
            self.end_run();
            self.look = Some((style, link.cloned(), shape));
        }
    }

    /// Appends the text of one cell, or of several where the shape gives each character a cell.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn end_run(&mut self) {
        let Some((style, link, shape)) = &self.look else { return };
        if self.text.is_empty() {
            return;
        }
        write_run(&mut self.out, style, link.as_ref(), *shape, &self.text);
        self.text.clear();
    }

    /// Ends the row. Blanks in the default style at its end are left out unless the line goes on.
    pub fn finish(mut self, is_wrapped: bool) -> Vec<u8> {
        let is_plain = self.look.as_ref().is_some_and(|(style, link, shape)| {
            *shape == Shape::Narrow && link.is_none() && *style == Style::default()
        });
        if is_plain && !is_wrapped {
            self.text.truncate(self.text.trim_end_matches(' ').len());
        }
        self.end_run();
        if is_wrapped && let Some(flags) = self.out.first_mut() {
            *flags |= WRAPPED;
        }
        self.out
    }

    /// Ends a piece of history; [`RowWriter::clear`] makes room for the next one.
    pub fn finish_runs(&mut self, is_wrapped: bool) -> &[u8] {
        let is_plain =
            self.look.as_ref().is_some_and(|(style, link, _)| link.is_none() && *style == Style::default());
        if is_plain && !is_wrapped {
            self.text.truncate(self.text.trim_end_matches(' ').len());
        }
        self.end_run();
        &self.out
    }

    /// Forgets what was written, and keeps its memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.text.clear();
        self.look = None;
    }
}

fn write_run(out: &mut Vec<u8>, style: &Style, link: Option<&Link>, shape: Shape, text: &str) {
    let has_style = *style != Style::default();
    let head =
        shape_bits(shape) | if has_style { HAS_STYLE } else { 0 } | if link.is_some() { HAS_LINK } else { 0 };
    out.push(head);
    if has_style {
        write_style(out, style);
    }
    if let Some(link) = link {
        write_text(out, &link.id);
        write_text(out, &link.uri);
    }
    write_text(out, text);
}

/// Cuts blanks in the default look off the end of the runs of a line.
pub(super) fn trim_end(line: &mut Vec<u8>) {
    let Ok(mut runs) = read_runs(&mut Reader::new(line)) else { return };
    while let Some(last) = runs.last_mut()
        && last.style == Style::default()
        && last.link.is_none()
        && last.text.ends_with(' ')
    {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        if last.text.is_empty() {
            runs.pop();
        }
    }
    line.clear();
    for run in runs {
        write_run(line, &run.style, run.link.as_deref(), run.shape, &run.text);
    }
}

/// The runs of one row of narrow characters in the default look.
pub(super) fn plain_run(text: &str) -> Vec<u8> {
    if text.is_empty() {
        return Vec::new();
    }
    let n_length = if text.len() < 0x80 { 1 } else { 2 };
    let mut out = Vec::with_capacity(1 + n_length + text.len());
    write_run(&mut out, &Style::default(), None, Shape::Narrow, text);
    out
}

const fn shape_bits(shape: Shape) -> u8 {
    match shape {
        Shape::Narrow => 0,
        Shape::Wide => 1,
        Shape::NarrowCluster => 2,
        Shape::WideCluster => 3,
    }
}

/// Attributes, then a byte of underline (3 bits) and of which colours follow.
fn write_style(out: &mut Vec<u8>, style: &Style) {
    let colors = [style.fg, style.bg, style.underline_color];
    let mut mask = underline_bits(style.underline);
    for (bit, color) in [8, 16, 32].into_iter().zip(colors) {
        if color != Color::Default {
            mask |= bit;
        }
    }
    out.extend_from_slice(&[style.attrs.bits(), mask]);
    for color in colors {
        match color {
            Color::Default => {}
            Color::Indexed(index) => out.extend_from_slice(&[0, index]),
            Color::Rgb(red, green, blue) => out.extend_from_slice(&[1, red, green, blue]),
        }
    }
}

const fn underline_bits(underline: Underline) -> u8 {
    match underline {
        Underline::None => 0,
        Underline::Single => 1,
        Underline::Double => 2,
        Underline::Curly => 3,
        Underline::Dotted => 4,
        Underline::Dashed => 5,
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Writes a number in groups of seven bits, the lowest first.
pub(super) fn write_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(0x80 | value.to_le_bytes()[0]);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Reads the bytes of a row.
///
/// # Errors
/// [`PtyError::Malformed`] where the bytes were not made by this module.
pub fn decode(bytes: &[u8]) -> Result<Row, PtyError> {
    let mut reader = Reader::new(bytes);
    let flags = reader.byte()?;
    Ok(Row { runs: read_runs(&mut reader)?, is_wrapped: flags & WRAPPED != 0 })
}

/// Writes a row that was read or put together elsewhere.
pub fn encode(row: &Row) -> Vec<u8> {
    let mut writer = RowWriter::row();
    for run in &row.runs {
        writer.set_look(run.style, run.link.as_deref(), run.shape);
        writer.push(&run.text);
    }
    writer.finish(row.is_wrapped)
}

/// Reads runs until the bytes end.
pub(super) fn read_runs(reader: &mut Reader<'_>) -> Result<Vec<Run>, PtyError> {
    let mut runs = Vec::new();
    while !reader.is_empty() {
        let head = reader.byte()?;
        let shape = match head & 3 {
            0 => Shape::Narrow,
            1 => Shape::Wide,
            2 => Shape::NarrowCluster,
            _ => Shape::WideCluster,
        };
        let style = if head & HAS_STYLE != 0 { read_style(reader)? } else { Style::default() };
        let link = if head & HAS_LINK != 0 {
            let id = reader.text()?.to_owned();
            Some(Box::new(Link { id, uri: reader.text()?.to_owned() }))
        } else {
            None
        };
        runs.push(Run { style, link, shape, text: reader.text()?.to_owned() });
    }
    Ok(runs)
}

/// Appends only the text of the runs to `out`.
pub(super) fn read_plain(bytes: &[u8], out: &mut String) -> Result<(), PtyError> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let head = reader.byte()?;
        if head & HAS_STYLE != 0 {
            read_style(&mut reader)?;
        }
        if head & HAS_LINK != 0 {
            reader.text()?;
            reader.text()?;
        }
        out.push_str(reader.text()?);
    }
    Ok(())
}

fn read_style(reader: &mut Reader<'_>) -> Result<Style, PtyError> {
    let attrs = Attrs::from_bits(reader.byte()?);
    let mask = reader.byte()?;
    let underline = match mask & 7 {
        0 => Underline::None,
        1 => Underline::Single,
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => return Err(PtyError::Malformed { what: "underline in a row" }),
    };
    let mut color = |bit: u8| {
        if mask & bit == 0 {
            return Ok(Color::Default);
        }
        Ok(match reader.byte()? {
            0 => Color::Indexed(reader.byte()?),
            1 => Color::Rgb(reader.byte()?, reader.byte()?, reader.byte()?),
            _ => return Err(PtyError::Malformed { what: "colour in a row" }),
        })
    };
    Ok(Style { fg: color(8)?, bg: color(16)?, underline_color: color(32)?, underline, attrs })
}

/// Reads the primitives of our byte forms, never past their end.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> Result<u8, PtyError> {
        let (first, rest) =
            self.rest.split_first().ok_or(PtyError::Malformed { what: "row: it ends early" })?;
        self.rest = rest;
        Ok(*first)
    }

    pub fn number(&mut self) -> Result<u64, PtyError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(PtyError::Malformed { what: "number: it is too long" })
    }

    /// A number that must fit into 16 bits.
    pub fn short(&mut self) -> Result<u16, PtyError> {
        u16::try_from(self.number()?).map_err(|_| PtyError::Malformed { what: "number: it is too large" })
    }

    /// A block of bytes with its length in front.
    pub fn block(&mut self) -> Result<&'a [u8], PtyError> {
        let n_bytes = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let (block, rest) =
            self.rest.split_at_checked(n_bytes).ok_or(PtyError::Malformed { what: "row: it ends early" })?;
        self.rest = rest;
        Ok(block)
    }

    /// Text with its length in front.
    pub fn text(&mut self) -> Result<&'a str, PtyError> {
        std::str::from_utf8(self.block()?)
            .map_err(|_| PtyError::Malformed { what: "row: its text is not UTF-8" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Row {
        let style = Style {
            fg: Color::Rgb(1, 2, 3),
            bg: Color::Indexed(4),
            underline: Underline::Curly,
            underline_color: Color::Indexed(9),
            attrs: Attrs::from_bits(255),
        };
        let link = Link { id: "i".to_owned(), uri: "https://a.b/ü".to_owned() };
        let run = |shape, text: &str| Run { style, link: None, shape, text: text.to_owned() };
        let linked = Run { link: Some(Box::new(link)), ..run(Shape::Narrow, "link") };
        Row {
            runs: vec![run(Shape::Wide, "日本"), linked, run(Shape::WideCluster, "👍🏽")], is_wrapped: true
        }
    }

    #[test]
    fn a_row_reads_back_as_it_was() {
        assert_eq!(decode(&encode(&sample())).unwrap(), sample());
        assert_eq!(decode(&encode(&Row::default())).unwrap(), Row::default());
    }

    #[test]
    fn blanks_at_the_end_are_left_out_unless_the_line_goes_on() {
        let text = |text: &str| Run {
            style: Style::default(),
            link: None,
            shape: Shape::Narrow,
            text: text.to_owned(),
        };
        let mut row = Row { runs: vec![text("ab  ")], is_wrapped: true };
        assert_eq!(decode(&encode(&row)).unwrap(), row);
        row.is_wrapped = false;
        assert_eq!(decode(&encode(&row)).unwrap().runs, [text("ab")]);
    }

    #[test]
    fn damaged_bytes_are_refused_never_misread_past_their_end() {
        let whole = encode(&sample());
        for end in 1..whole.len() {
            // A cut between two runs is a shorter row; any other cut is refused.
            if let Ok(row) = decode(&whole[..end]) {
                assert!(row.runs.len() < sample().runs.len());
            }
        }
        assert!(decode(&[]).is_err());
        assert!(decode(&[0, 0, 0xff, 0xff, 0xff]).is_err());
    }
}
