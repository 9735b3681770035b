//! Colours that a program asks for or sets (OSC 4, 10, 11, 12): facts of the host and what the
//! program made of them. Pure.

use crate::base::grid::{Color, Style};
use std::collections::HashMap;

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// What the host terminal looks like, as far as it is known. The client tells it when it attaches;
/// the defaults serve while nobody is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    pub fg: Rgb,
    pub bg: Rgb,
    pub cursor: Rgb,
    /// The first 16 palette colours.
    pub palette: [Rgb; 16],
    /// Height and width of a cell in pixels.
    pub cell_px: (u16, u16),
    pub is_dark: bool,
}

impl Default for HostFacts {
    fn default() -> Self {
        Self {
            fg: (229, 229, 229),
            bg: (0, 0, 0),
            cursor: (229, 229, 229),
            palette: XTERM_PALETTE,
            cell_px: (18, 9),
            is_dark: true,
        }
    }
}

const XTERM_PALETTE: [Rgb; 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// What a program has set for itself; `None` and missing entries leave it to the host.
#[derive(Debug, Clone, Default)]
pub(super) struct Colors {
    pub fg: Option<Rgb>,
    pub bg: Option<Rgb>,
    pub cursor: Option<Rgb>,
    /// Pointer, Tektronix screen and selection (OSC 13 to 19), which are told and not drawn.
    pub others: [Option<Rgb>; 7],
    /// Bold, underlined, blinking, reverse and italic text (OSC 5), which are told and not drawn.
    pub special: [Option<Rgb>; 5],
    pub palette: Palette,
}

/// The palette entries that a program has set (OSC 4), each with its colour.
#[derive(Debug, Clone, Default)]
pub(super) struct Palette {
    entries: HashMap<u8, Rgb>,
}

impl Palette {
    /// Sets an entry; returns whether that changes it.
    pub fn set(&mut self, index: u8, color: Rgb) -> bool {
        self.entries.insert(index, color) != Some(color)
    }

    /// Gives an entry back to the host; returns whether it was set.
    pub fn reset(&mut self, index: u8) -> bool {
        self.entries.remove(&index).is_some()
    }

    /// Gives all entries back; returns whether there were any.
    pub fn clear(&mut self) -> bool {
        let had_any = !self.entries.is_empty();
        self.entries.clear();
        had_any
    }

    /// The entries that are set, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (u8, Rgb)> {
        self.entries.iter().map(|(index, color)| (*index, *color))
    }

    /// A look as it is to be drawn by a host that does not know these entries.
    pub fn drawn(&self, style: Style) -> Style {
        if self.entries.is_empty() {
            return style;
        }
        let drawn = |color: Color| match color {
            Color::Indexed(index) => {
                self.entries.get(&index).map_or(color, |(red, green, blue)| Color::Rgb(*red, *green, *blue))
            }
            Color::Default | Color::Rgb(..) => color,
        };
        Style {
            fg: drawn(style.fg),
            bg: drawn(style.bg),
            underline_color: drawn(style.underline_color),
            ..style
        }
    }
}

impl Colors {
    /// What a program set for OSC 10 to 19; nothing for another number.
    pub fn dynamic_mut(&mut self, number: usize) -> Option<&mut Option<Rgb>> {
        match number {
            10 => Some(&mut self.fg),
            11 => Some(&mut self.bg),
            12 => Some(&mut self.cursor),
            _ => self.others.get_mut(number.checked_sub(13)?),
        }
    }

    /// The colour that OSC 10 to 19 tell now.
    pub fn dynamic(&self, number: usize, host: &HostFacts) -> Rgb {
        let own = number.checked_sub(13).and_then(|other| self.others.get(other)).copied().flatten();
        own.unwrap_or(match number {
            11 | 14 | 16 | 19 => self.bg.unwrap_or(host.bg),
            12 | 18 => self.cursor.unwrap_or(host.cursor),
            _ => self.fg.unwrap_or(host.fg),
        })
    }

    /// The colour that palette entry `index` has now.
    pub fn entry(&self, index: u8, host: &HostFacts) -> Rgb {
        if let Some(color) = self.palette.entries.get(&index) {
            return *color;
        }
        if let Some(color) = host.palette.get(usize::from(index)) {
            return *color;
        }
        match index {
            0..=231 => {
                let cube = index.saturating_sub(16);
                let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
                (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
            }
            232..=255 => {
                let gray = 8 + (index - 232) * 10;
                (gray, gray, gray)
            }
        }
    }
}

/// The names of colours that people write into their settings, as X11 has them.
const NAMES: [(&str, Rgb); 24] = [
    ("black", (0, 0, 0)),
    ("white", (255, 255, 255)),
    ("red", (255, 0, 0)),
    ("green", (0, 255, 0)),
    ("blue", (0, 0, 255)),
    ("yellow", (255, 255, 0)),
    ("cyan", (0, 255, 255)),
    ("magenta", (255, 0, 255)),
    ("gray", (190, 190, 190)),
    ("grey", (190, 190, 190)),
    ("lightgray", (211, 211, 211)),
    ("lightgrey", (211, 211, 211)),
    ("darkgray", (169, 169, 169)),
    ("darkgrey", (169, 169, 169)),
    ("orange", (255, 165, 0)),
    ("gold", (255, 215, 0)),
    ("pink", (255, 192, 203)),
    ("purple", (160, 32, 240)),
    ("brown", (165, 42, 42)),
    ("darkred", (139, 0, 0)),
    ("darkgreen", (0, 100, 0)),
    ("darkblue", (0, 0, 139)),
    ("lightblue", (173, 216, 230)),
    ("lightgreen", (144, 238, 144)),
];

fn named(text: &str) -> Option<Rgb> {
    let name: String = text.chars().filter(|c| *c != ' ').map(|c| c.to_ascii_lowercase()).collect();
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, color)| *color)
}

/// Reads a name, `#rgb`, `#rrggbb`, `#rrrgggbbb`, `#rrrrggggbbbb` and `rgb:r/g/b` with 1 to 4 digits each. As in
/// X11, digits behind `#` are the highest ones of their part, all others are scaled: `#f00` is a little
/// less red than `rgb:f/0/0`.
pub(super) fn parse(text: &str) -> Option<Rgb> {
    let parts: Vec<&str> = match (text.strip_prefix('#'), text.strip_prefix("rgb:")) {
        (Some(hex), _) if hex.is_ascii() && hex.len().is_multiple_of(3) && (3..=12).contains(&hex.len()) => {
            let n = hex.len() / 3;
            vec![&hex[..n], &hex[n..2 * n], &hex[2 * n..]]
        }
        (None, Some(rest)) => rest.split('/').collect(),
        _ => return named(text),
    };
    let [red, green, blue] = parts[..] else { return None };
    let part = |digits: &str| match text.starts_with('#') {
        true => highest(digits),
        false => scaled(digits),
    };
    Some((part(red)?, part(green)?, part(blue)?))
}

fn highest(digits: &str) -> Option<u8> {
    let padded = format!("{digits}0");
    u8::from_str_radix(padded.get(..2)?, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn scaled(digits: &str) -> Option<u8> {
    let is_hex = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let value = is_hex.then(|| u32::from_str_radix(digits, 16).ok())??;
    let max = (1u32 << (4 * digits.len())) - 1;
    u8::try_from(value * 255 / max).ok()
}

/// Writes a colour as programs expect it in answers: `rgb:rrrr/gggg/bbbb`.
pub(super) fn format((red, green, blue): Rgb) -> String {
    format!("rgb:{red:02x}{red:02x}/{green:02x}{green:02x}/{blue:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_every_length() {
        for text in ["#ffffff", "#fffffffff", "#ffffffffffff", "rgb:f/f/f", "rgb:ffff/ff/fff"] {
            assert_eq!(parse(text), Some((255, 255, 255)), "{text}");
        }
        assert_eq!(parse("#3a7"), Some((0x30, 0xa0, 0x70)));
        assert_eq!(parse("rgb:1/80/0000"), Some((17, 128, 0)));
        assert_eq!(parse("Light Blue"), Some((173, 216, 230)));
        for text in ["", "#", "#ff", "rgb:1/2", "rgb:-1/2/3", "reddish", "#ééé", "rgb:/1/2"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn palette_entries_follow_program_host_and_cube() {
        let mut colors = Colors::default();
        let host = HostFacts::default();
        assert_eq!(colors.entry(1, &host), (205, 0, 0));
        assert_eq!(colors.entry(196, &host), (255, 0, 0));
        assert_eq!(colors.entry(255, &host), (238, 238, 238));
        colors.palette.set(1, (1, 2, 3));
        assert_eq!(colors.entry(1, &host), (1, 2, 3));
    }
}
