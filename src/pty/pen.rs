//! SGR sequences on their way to the parser: what it knows goes on, the rest becomes the tag that
//! follows each printed character.

use super::scan::Csi;
use super::sgr::{self, Change};
use super::state::Pen;
use super::style::Extra;
use super::term::Term;
use crate::base::grid::{Attrs, Color, Underline};

impl Term {
    /// Follows an SGR sequence that may go to the parser as it is; `false` where it may not, and then
    /// nothing has changed yet. `params` is all between `CSI` and `m`.
    pub(super) fn follow_sgr(&mut self, params: &[u8]) -> bool {
        let Some(pen) = followed(self.pen, params) else { return false };
        self.set_pen(pen);
        true
    }

    /// Applies an SGR sequence that the parser would not understand fully.
    pub(super) fn apply_sgr(&mut self, csi: &Csi<'_>) {
        let mut pen = self.pen;
        let mut known = String::from("\x1b[");
        sgr::changes(csi, |change| apply(&mut pen, change, &mut known));
        if known.ends_with(';') {
            known.pop();
            known.push('m');
            self.inject(&known);
        }
        self.set_pen(pen.settled());
    }

    /// Takes the pen and brings the tag in line with it.
    pub(super) fn set_pen(&mut self, pen: Pen) {
        let has_changed = pen.extra != self.pen.extra;
        self.pen = pen;
        if has_changed {
            if self.styles.is_collection_due() {
                self.collect_unused();
            }
            self.tag = self.styles.tag(pen.extra);
        }
    }

    /// Sets the link of the text that follows; an empty `uri` ends it.
    pub(super) fn set_link(&mut self, id: &str, uri: &str) {
        if self.styles.is_collection_due() {
            self.collect_unused();
        }
        let link = self.styles.link_number(id, uri);
        self.set_pen(Pen { extra: Extra { link, ..self.pen.extra }, ..self.pen });
    }

    /// Forgets styles, links and clusters that no cell of either screen shows.
    pub(super) fn collect_unused(&mut self) {
        self.archive_scrolled();
        let mut contents = self.cell_texts();
        let toggle =
            if self.is_alt_screen() { ["\x1b[?47l", "\x1b[?47h"] } else { ["\x1b[?47h", "\x1b[?47l"] };
        let [there, back] = toggle;
        self.inject(there);
        contents.extend(self.cell_texts());
        self.inject(back);
        let current = [self.pen.extra, self.saved[0].extra, self.saved[1].extra];
        self.styles.collect(contents.iter().map(String::as_str), &current);
        self.clusters.collect(contents.iter().map(String::as_str));
        self.tag = self.styles.tag(self.pen.extra);
    }

    /// The text of the cells that may carry a tag or a cluster.
    fn cell_texts(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let cells = (0..self.n_rows()).flat_map(|row| (0..self.n_cols()).map(move |col| (row, col)));
        cells
            .filter_map(|(row, col)| screen.cell(row, col))
            .map(vt100::Cell::contents)
            .filter(|text| text.len() > 3)
            .map(str::to_owned)
            .collect()
    }
}

/// The pen after a whole SGR sequence of numbers that fit into a byte, which nobody reads differently;
/// `None` where it is anything else.
pub(super) fn followed_simply(pen: Pen, sequence: &[u8]) -> Option<Pen> {
    let params = sequence.strip_prefix(b"\x1b[")?.strip_suffix(b"m")?;
    follow(pen, params, |code| number(code).filter(|n| *n < 256))
}

/// The pen after parameters that the parser understands; `None` at the first one it does not.
fn followed(pen: Pen, params: &[u8]) -> Option<Pen> {
    follow(pen, params, number)
}

fn follow(mut pen: Pen, params: &[u8], number: impl Fn(&[u8]) -> Option<u16>) -> Option<Pen> {
    let mut codes = params.split(|b| *b == b';');
    while let Some(code) = codes.next() {
        match number(code)? {
            0 => pen = pen.reset(),
            1 if !pen.is_dim => pen.is_bold = true,
            2 if !pen.is_bold => pen.is_dim = true,
            22 if !(pen.is_bold && pen.is_dim) => (pen.is_bold, pen.is_dim) = (false, false),
            4 | 24 if pen.extra.underline == Underline::None => {}
            kind @ (38 | 48) => {
                let n_operands = match number(codes.next()?)? {
                    5 => 1,
                    2 => 3,
                    _ => return None,
                };
                for _ in 0..n_operands {
                    number(codes.next()?)?;
                }
                pen.has_bg |= kind == 48;
            }
            40..=47 | 100..=107 => pen.has_bg = true,
            49 => pen.has_bg = false,
            3 | 7 | 23 | 27 | 30..=37 | 39 | 90..=97 => {}
            _ => return None,
        }
    }
    Some(pen)
}

/// A parameter of digits alone, below 1000.
fn number(digits: &[u8]) -> Option<u16> {
    let is_short = digits.len() <= 3;
    digits.iter().filter(|_| is_short).try_fold(u16::from(!is_short) * 999, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + u16::from(digit - b'0'))
    })
}

/// Applies one change to the pen, and writes to `known` what the parser is to be told.
fn apply(pen: &mut Pen, change: Change, known: &mut String) {
    const EXTRA: [Attrs; 4] = [Attrs::STRIKE, Attrs::BLINK, Attrs::CONCEAL, Attrs::OVERLINE];
    match change {
        Change::Reset => {
            *pen = pen.reset();
            known.push_str("0;");
        }
        Change::NormalIntensity => {
            (pen.is_bold, pen.is_dim) = (false, false);
            known.push_str("22;");
        }
        Change::Attr(Attrs::BOLD, _) => {
            pen.is_bold = true;
            known.push_str("1;");
        }
        Change::Attr(Attrs::DIM, _) => {
            pen.is_dim = true;
            known.push_str(if pen.is_bold { "1;" } else { "2;" });
        }
        Change::Attr(attrs, is_on) if EXTRA.contains(&attrs) => pen.set_extra(attrs, is_on),
        Change::Attr(Attrs::ITALIC, is_on) => known.push_str(if is_on { "3;" } else { "23;" }),
        Change::Attr(_, is_on) => known.push_str(if is_on { "7;" } else { "27;" }),
        Change::Underline(underline) => {
            let is_extra = !matches!(underline, Underline::None | Underline::Single);
            pen.extra.underline = if is_extra { underline } else { Underline::None };
            known.push_str(if underline == Underline::None { "24;" } else { "4;" });
        }
        Change::UnderlineColor(color) => pen.extra.underline_color = color,
        Change::Fg(color) => write_color(color, 38, known),
        Change::Bg(color) => {
            pen.has_bg = color != Color::Default;
            write_color(color, 48, known);
        }
    }
}

fn write_color(color: Color, code: u8, known: &mut String) {
    if color == Color::Default {
        known.push_str(if code == 38 { "39;" } else { "49;" });
        return;
    }
    let mut params = String::new();
    sgr::write_color(color, code, &mut params);
    known.push_str(params.trim_start_matches(';'));
    known.push(';');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_parser_understands_is_followed() {
        let pen = Pen::default();
        assert_eq!(followed(pen, b""), Some(pen));
        assert!(followed(pen, b"1;31;48;2;1;2;3").is_some_and(|pen| pen.is_bold && pen.has_bg));
        for params in ["9", "4:3", "58;5;1", "1;2", "38;2;1", "38;5", "21", "1\n", "12345"] {
            assert_eq!(followed(pen, params.as_bytes()), None, "{params:?}");
        }
    }
}
