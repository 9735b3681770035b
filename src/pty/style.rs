//! Styles and links that the parser does not know, carried through it as tags inside cells.
//!
//! The parser appends characters without width to the cell in front of them and keeps them through
//! scrolling, insertion and deletion. So after each character printed in an extra style we print one
//! or two characters of U+E0100..U+E01EF whose value is a number in [`StyleTable`]
//! (`terminal.md` 5.3). Characters of that block that come from a program are dropped in `text.rs`.

use super::slots::Slots;
use crate::base::grid::{Attrs, Color, Link, Style, Underline};

const FIRST_TAG: u32 = 0xE0100;
const N_TAGS: u32 = 240;
/// Numbers below this take one tag character, all others two.
const N_SHORT: u32 = 200;
const N_STYLES: u32 = N_SHORT + (N_TAGS - N_SHORT) * N_TAGS;
const N_LINKS: usize = 4_000;
const MAX_URI: usize = 2_048;
const MAX_LINK_ID: usize = 256;

/// The blank in the last column of a row whose line goes on with a wide character: without it the parser
/// takes the line for ended there. A lone first half of a long tag, which no style has.
pub(super) const FILLER: &str = " \u{e01ef}";

/// Whether a cell is the filler, also where a program put marks onto it.
pub(super) fn is_filler(contents: &str) -> bool {
    contents.strip_prefix(FILLER).is_some_and(|marks| !marks.starts_with(is_tag))
}

/// The part of a look that the parser does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Extra {
    /// Strike, blink, conceal, overline; bold and dim only when both are on.
    pub attrs: Attrs,
    /// Double, curly, dotted or dashed; `None` leaves it to the parser.
    pub underline: Underline,
    pub underline_color: Color,
    /// The number of the link in the table, plus one; 0 is no link.
    pub link: u32,
    /// Selective erasing leaves the character alone (DECSCA).
    pub is_protected: bool,
}

/// Bold and dim together, which the parser takes for contradicting.
pub(super) const BOLD_AND_DIM: Attrs = Attrs::from_bits(Attrs::BOLD.bits() | Attrs::DIM.bits());

impl Extra {
    /// Adds what this says to the look that the parser knows.
    pub fn apply(self, style: &mut Style) {
        style.attrs = Attrs::from_bits(style.attrs.bits() | self.attrs.bits());
        if self.underline != Underline::None {
            style.underline = self.underline;
        }
        style.underline_color = self.underline_color;
    }

    /// The same without any style, as after SGR 0; link and protection stay.
    pub fn reset(self) -> Self {
        Self { link: self.link, is_protected: self.is_protected, ..Self::default() }
    }
}

/// Whether `c` is one of our tag characters.
pub(super) fn is_tag(c: char) -> bool {
    (FIRST_TAG..FIRST_TAG + N_TAGS).contains(&u32::from(c))
}

/// The extra styles and links in use by one terminal.
#[derive(Debug)]
pub(super) struct StyleTable {
    extras: Slots<Extra>,
    links: Slots<Link>,
    /// A collection is due once so many styles are kept.
    collect_at: usize,
}

impl StyleTable {
    pub fn new() -> Self {
        Self {
            extras: Slots::new(N_STYLES as usize),
            links: Slots::new(N_LINKS),
            collect_at: N_STYLES as usize / 2,
        }
    }

    /// Whether unused styles should be collected before the next one is added.
    pub fn is_collection_due(&self) -> bool {
        self.extras.len() >= self.collect_at || self.links.len() >= N_LINKS
    }

    /// The tag characters for `extra`; empty where it says nothing or the table is full.
    pub fn tag(&mut self, extra: Extra) -> String {
        if extra == Extra::default() {
            return String::new();
        }
        let Some(number) = self.extras.intern(&extra) else { return String::new() };
        let values = match number.checked_sub(N_SHORT) {
            None => [Some(number), None],
            Some(long) => [Some(N_SHORT + long / N_TAGS), Some(long % N_TAGS)],
        };
        values.into_iter().flatten().filter_map(|value| char::from_u32(FIRST_TAG + value)).collect()
    }

    /// The number of a link for [`Extra::link`]; 0 where it is too long or the table is full.
    pub fn link_number(&mut self, id: &str, uri: &str) -> u32 {
        if uri.is_empty() || uri.len() > MAX_URI || id.len() > MAX_LINK_ID {
            return 0;
        }
        let link = Link { id: id.to_owned(), uri: uri.to_owned() };
        self.links.intern(&link).map_or(0, |number| number + 1)
    }

    /// The link that `extra` points to.
    pub fn link(&self, extra: Extra) -> Option<&Link> {
        self.links.get(extra.link.checked_sub(1)?)
    }

    /// The extra style of a cell with this text.
    pub fn extra_of(&self, contents: &str) -> Extra {
        number_of(contents).and_then(|number| self.extras.get(number)).copied().unwrap_or_default()
    }

    /// Forgets all styles that no cell of `contents` and not `current` uses.
    pub fn collect<'a>(&mut self, contents: impl Iterator<Item = &'a str>, current: &[Extra]) {
        let mut is_used = vec![false; N_STYLES as usize];
        for number in contents.filter_map(number_of) {
            if let Some(flag) = is_used.get_mut(number as usize) {
                *flag = true;
            }
        }
        self.extras.retain(|number| is_used.get(number as usize).is_some_and(|used| *used));
        let mut links = vec![false; N_LINKS + 1];
        let kept = (0..N_STYLES).filter_map(|number| self.extras.get(number)).chain(current);
        for extra in kept {
            if let Some(flag) = links.get_mut(extra.link as usize) {
                *flag = true;
            }
        }
        self.links.retain(|number| links.get(number as usize + 1).is_some_and(|used| *used));
        self.collect_at = (self.extras.len() * 2).max(N_STYLES as usize / 2);
    }
}

fn number_of(contents: &str) -> Option<u32> {
    if contents.len() < 5 {
        return None;
    }
    let mut tags = contents.chars().skip(1).filter(|c| is_tag(*c)).map(|c| u32::from(c) - FIRST_TAG);
    let first = tags.next()?;
    match first.checked_sub(N_SHORT) {
        None => Some(first),
        Some(high) => Some(N_SHORT + high * N_TAGS + tags.next()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colored(red: u8, green: u8) -> Extra {
        Extra { underline_color: Color::Rgb(red, green, 0), ..Extra::default() }
    }

    #[test]
    fn every_style_reads_back_from_its_tag() {
        let mut table = StyleTable::new();
        for red in 0..40 {
            for green in 0..=240 {
                let tag = table.tag(colored(red, green));
                let cell = format!("e\u{301}{tag}");
                let expected = if u32::from(red) * 241 + u32::from(green) < N_STYLES {
                    colored(red, green)
                } else {
                    Extra::default()
                };
                assert_eq!(table.extra_of(&cell), expected);
            }
        }
    }

    #[test]
    fn collection_keeps_what_is_on_the_screen() {
        let mut table = StyleTable::new();
        let link = table.link_number("", "https://kept");
        let kept = table.tag(Extra { link, ..Extra::default() });
        let other = table.link_number("", "https://gone");
        let gone = table.tag(Extra { link: other, ..Extra::default() });
        let (kept, gone) = (format!("x{kept}"), format!("x{gone}"));
        table.collect([kept.as_str()].into_iter(), &[]);
        assert_eq!(table.link(table.extra_of(&kept)).map(|link| link.uri.as_str()), Some("https://kept"));
        assert_eq!(table.extra_of(&gone), Extra::default());
    }
}
