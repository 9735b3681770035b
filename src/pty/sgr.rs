//! The SGR sequence (`CSI … m`): what its parameters change, and how a look is written as one.
//!
//! Pure. Reads both the semicolon and the colon forms of colours, the ITU form with an empty colour
//! space included.

use super::scan::{Csi, Param};
use crate::base::grid::{Attrs, Color, Style, Underline};
use crate::base::report::OrLog as _;
use std::fmt::Write as _;

/// One thing that an SGR parameter changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Reset,
    /// SGR 22: neither bold nor dim.
    NormalIntensity,
    Attr(Attrs, bool),
    Underline(Underline),
    Fg(Color),
    Bg(Color),
    UnderlineColor(Color),
}

/// Calls `each` with everything that the parameters of `csi` change, in order. Unknown ones are skipped.
pub(super) fn changes(csi: &Csi<'_>, mut each: impl FnMut(Change)) {
    let mut params = csi.params();
    while let Some(param) = params.next() {
        let code = param.value();
        let change = match code {
            38 | 48 | 58 => color_operand(param, &mut params).map(|color| match code {
                38 => Change::Fg(color),
                48 => Change::Bg(color),
                _ => Change::UnderlineColor(color),
            }),
            4 => underline_operand(param).map(Change::Underline),
            _ => simple(code),
        };
        if let Some(change) = change {
            each(change);
        }
    }
}

fn simple(code: u16) -> Option<Change> {
    use Change::{Attr, Bg, Fg, NormalIntensity, Reset, UnderlineColor};
    Some(match code {
        0 => Reset,
        1 => Attr(Attrs::BOLD, true),
        2 => Attr(Attrs::DIM, true),
        3 => Attr(Attrs::ITALIC, true),
        5 | 6 => Attr(Attrs::BLINK, true),
        7 => Attr(Attrs::INVERSE, true),
        8 => Attr(Attrs::CONCEAL, true),
        9 => Attr(Attrs::STRIKE, true),
        21 => Change::Underline(Underline::Double),
        22 => NormalIntensity,
        23 => Attr(Attrs::ITALIC, false),
        24 => Change::Underline(Underline::None),
        25 => Attr(Attrs::BLINK, false),
        27 => Attr(Attrs::INVERSE, false),
        28 => Attr(Attrs::CONCEAL, false),
        29 => Attr(Attrs::STRIKE, false),
        30..=37 => Fg(indexed(code - 30)),
        39 => Fg(Color::Default),
        40..=47 => Bg(indexed(code - 40)),
        49 => Bg(Color::Default),
        53 => Attr(Attrs::OVERLINE, true),
        55 => Attr(Attrs::OVERLINE, false),
        59 => UnderlineColor(Color::Default),
        90..=97 => Fg(indexed(code - 90 + 8)),
        100..=107 => Bg(indexed(code - 100 + 8)),
        _ => return None,
    })
}

fn indexed(index: u16) -> Color {
    Color::Indexed(low_byte(index))
}

fn low_byte(value: u16) -> u8 {
    value.to_le_bytes()[0]
}

fn underline_operand(param: Param<'_>) -> Option<Underline> {
    Some(match param.parts().nth(1) {
        None => Underline::Single,
        Some(style) => match style.unwrap_or(1) {
            0 => Underline::None,
            1 => Underline::Single,
            2 => Underline::Double,
            3 => Underline::Curly,
            4 => Underline::Dotted,
            5 => Underline::Dashed,
            _ => return None,
        },
    })
}

/// Reads the colour behind 38, 48 or 58: in the parts of `first`, or in the parameters after it.
fn color_operand<'a>(first: Param<'a>, rest: &mut impl Iterator<Item = Param<'a>>) -> Option<Color> {
    if first.has_parts() {
        let mut parts = [None; 6];
        let mut n_parts = 0;
        for (slot, part) in parts.iter_mut().zip(first.parts().skip(1)) {
            *slot = part;
            n_parts += 1;
        }
        return match parts[0]? {
            5 => parts[1].map(indexed),
            // The colour space is there, often empty, or left out altogether.
            2 if n_parts > 4 => Some(rgb(parts[2], parts[3], parts[4])),
            2 if n_parts == 4 => Some(rgb(parts[1], parts[2], parts[3])),
            _ => None,
        };
    }
    match rest.next()?.value() {
        5 => rest.next().map(|param| indexed(param.value())),
        2 => {
            let mut next = || rest.next().map(Param::value);
            let (red, green, blue) = (next(), next(), next());
            blue.map(|_| rgb(red, green, blue))
        }
        _ => None,
    }
}

fn rgb(red: Option<u16>, green: Option<u16>, blue: Option<u16>) -> Color {
    let part = |value: Option<u16>| low_byte(value.unwrap_or(0));
    Color::Rgb(part(red), part(green), part(blue))
}

/// Applies one change to a whole look.
pub(super) fn apply(style: &mut Style, change: Change) {
    match change {
        Change::Reset => *style = Style::default(),
        Change::NormalIntensity => style.attrs.set(super::style::BOLD_AND_DIM, false),
        Change::Attr(attrs, is_on) => style.attrs.set(attrs, is_on),
        Change::Underline(underline) => style.underline = underline,
        Change::Fg(color) => style.fg = color,
        Change::Bg(color) => style.bg = color,
        Change::UnderlineColor(color) => style.underline_color = color,
    }
}

/// Writes the SGR sequence that turns any look into `style`.
pub(super) fn write(style: &Style, out: &mut String) {
    out.push_str("\x1b[0");
    write_attributes(style, out);
    write_color(style.fg, 38, out);
    write_color(style.bg, 48, out);
    write_color(style.underline_color, 58, out);
    out.push('m');
}

/// Writes `;code` for everything in `style` that differs from the default, in the forms of xterm's
/// answer to DECRQSS. Programs that look for true colour this way accept no other.
pub(super) fn write_report(style: &Style, out: &mut String) {
    write_attributes(style, out);
    for (color, code) in [(style.fg, 30), (style.bg, 40), (style.underline_color, 50)] {
        let written = match color {
            Color::Default => Ok(()),
            Color::Indexed(index @ 0..8) if code < 50 => write!(out, ";{}", code + u16::from(index)),
            Color::Indexed(index @ 8..16) if code < 50 => write!(out, ";{}", code + 52 + u16::from(index)),
            Color::Indexed(index) => write!(out, ";{}:5:{index}", code + 8),
            Color::Rgb(red, green, blue) => write!(out, ";{}:2::{red}:{green}:{blue}", code + 8),
        };
        written.or_log("write to memory");
    }
}

fn write_attributes(style: &Style, out: &mut String) {
    const CODES: [(Attrs, &str); 8] = [
        (Attrs::BOLD, ";1"),
        (Attrs::DIM, ";2"),
        (Attrs::ITALIC, ";3"),
        (Attrs::BLINK, ";5"),
        (Attrs::INVERSE, ";7"),
        (Attrs::CONCEAL, ";8"),
        (Attrs::STRIKE, ";9"),
        (Attrs::OVERLINE, ";53"),
    ];
    for (attr, code) in CODES {
        if style.attrs.contains(attr) {
            out.push_str(code);
        }
    }
    out.push_str(match style.underline {
        Underline::None => "",
        Underline::Single => ";4",
        Underline::Double => ";4:2",
        Underline::Curly => ";4:3",
        Underline::Dotted => ";4:4",
        Underline::Dashed => ";4:5",
    });
}

/// Writes `;code` and the colour behind it; nothing for the default colour.
pub(super) fn write_color(color: Color, code: u8, out: &mut String) {
    let written = match color {
        Color::Default => Ok(()),
        Color::Indexed(index) => write!(out, ";{code};5;{index}"),
        Color::Rgb(red, green, blue) => write!(out, ";{code};2;{red};{green};{blue}"),
    };
    written.or_log("write to memory");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sgr: &str) -> Style {
        let mut style = Style::default();
        let csi = Csi::parse(sgr.as_bytes()).unwrap();
        changes(&csi, |change| apply(&mut style, change));
        style
    }

    #[test]
    fn all_forms_of_a_colour_are_the_same_colour() {
        let red = Style { fg: Color::Rgb(255, 0, 1), ..Style::default() };
        for form in ["38;2;255;0;1", "38:2:255:0:1", "38:2::255:0:1", "38:2:1:255:0:1"] {
            assert_eq!(read(&format!("\x1b[{form}m")), red, "{form}");
        }
        assert_eq!(read("\x1b[38;5;200m").fg, Color::Indexed(200));
        assert_eq!(read("\x1b[38:5:200m").fg, Color::Indexed(200));
        assert_eq!(read("\x1b[97;101m").fg, Color::Indexed(15));
    }

    #[test]
    fn operands_of_an_underline_colour_never_leak_into_other_attributes() {
        let style = read("\x1b[4:3;58;2;1;2;3;9m");
        assert_eq!(style.underline, Underline::Curly);
        assert_eq!(style.underline_color, Color::Rgb(1, 2, 3));
        assert_eq!(style.attrs, Attrs::STRIKE);
        assert_eq!(read("\x1b[58;5;41m").bg, Color::Default);
    }

    #[test]
    fn a_cut_off_colour_changes_nothing() {
        for sgr in ["\x1b[38m", "\x1b[38;2;1;2m", "\x1b[48;5m", "\x1b[38:2m", "\x1b[38:9:1m"] {
            assert_eq!(read(sgr), Style::default(), "{sgr:?}");
        }
    }

    #[test]
    fn writing_and_reading_a_look_gives_it_back() {
        let style = Style {
            fg: Color::Indexed(3),
            bg: Color::Rgb(9, 8, 7),
            underline: Underline::Dashed,
            underline_color: Color::Indexed(1),
            attrs: Attrs::from_bits(255),
        };
        let mut sgr = String::new();
        write(&style, &mut sgr);
        assert_eq!(read(&sgr), style);
    }
}
