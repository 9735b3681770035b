//! Grapheme clusters: emoji made of several characters, kept in one cell of two columns.
//!
//! The parser gives each emoji of a joined sequence columns of its own. So when a character arrives
//! that joins the cell left of the cursor, that cell is printed again as one interned character from
//! an unassigned block whose width is two (`terminal.md` 5.4). The screen itself is the state, so
//! a sequence may be cut anywhere. Such characters from a program are dropped in `text.rs`.

use super::slots::Slots;
use super::style;
use super::term::Term;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// ZERO WIDTH JOINER, which ties emoji together.
pub(super) const JOINER: char = '\u{200d}';
/// The joiner in UTF-8.
pub(super) const JOINER_BYTES: &[u8] = b"\xe2\x80\x8d";
/// VARIATION SELECTOR-16: show the character in front as an emoji, two columns wide.
pub(super) const EMOJI_STYLE: char = '\u{fe0f}';

const FIRST_INTERNED: u32 = 0x3E000;
const N_INTERNED: u32 = 0x1FF0;
/// The longest cluster that is kept whole, in bytes.
const MAX_CLUSTER: usize = 128;

/// Whether `c` is one of our interned characters.
pub(super) fn is_interned(c: char) -> bool {
    (FIRST_INTERNED..FIRST_INTERNED + N_INTERNED).contains(&u32::from(c))
}

fn is_modifier(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Whether `c` joins the character in front of it without a joiner between them.
pub(super) fn may_join(c: char) -> bool {
    is_modifier(c) || is_regional(c)
}

/// Whether `c` may stand in an emoji sequence; scripts that use joiners otherwise lie below.
pub(super) fn is_emoji_like(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{2190}'..)
}

/// In what we print again: the next character joins nothing. It stands between cells that would join,
/// but were put side by side by moving the cursor. From a program it is dropped like every tag.
pub(super) const APART: char = '\u{e01ef}';

/// Whether `c` belongs into the cell that shows `previous`.
pub(super) fn joins(previous: &str, is_previous_wide: bool, c: char) -> bool {
    let (Some(first), Some(last)) = (previous.chars().next(), previous.chars().next_back()) else {
        return false;
    };
    if is_regional(c) {
        is_regional(first) && previous.chars().count() == 1
    } else if is_modifier(c) {
        let takes_skin = is_previous_wide || matches!(first, '☝' | '✌' | '⛹' | '✍');
        is_emoji_like(first) && takes_skin && !is_modifier(last)
    } else {
        last == JOINER && is_emoji_like(first) && is_emoji_like(c)
    }
}

/// An emoji of several characters at the start of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leading<'a> {
    /// Its characters, except marks behind the last one that joined.
    pub text: &'a str,
    pub base: char,
    pub is_base_wide: bool,
    /// Characters join in it; else it is `base` and an emoji selector.
    pub is_joined: bool,
    /// It begins with a regional indicator, which may also be the second half of a flag.
    pub is_flag: bool,
}

/// The emoji of several characters that `text` begins with, by the rules of [`joins`]; nothing where
/// the first character stands alone or is not for certain the first of its cell.
pub(super) fn leading(text: &str) -> Option<Leading<'_>> {
    let mut chars = text.char_indices();
    let (_, base) = chars.next()?;
    let (_, second) = chars.clone().next()?;
    let is_many = matches!(second, JOINER | EMOJI_STYLE) || may_join(second);
    // Characters that are dropped or replaced when they are printed have no place here.
    let is_odd = |c: char| style::is_tag(c) || is_interned(c) || c == '\u{fffd}';
    if !is_many || !is_emoji_like(base) || is_modifier(base) || is_odd(base) {
        return None;
    }
    let is_base_wide = match base.width()? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let (mut is_wide, mut last, mut n_bytes, mut is_joined) = (is_base_wide, base, 0, false);
    for (at, c) in chars {
        let before = text.get(..at)?;
        let end = at + c.len_utf8();
        let is_mark = matches!(c, JOINER | EMOJI_STYLE);
        if is_mark && matches!(last, JOINER | EMOJI_STYLE) && !(c == JOINER && last == EMOJI_STYLE) {
            break;
        }
        if c == EMOJI_STYLE && at == base.len_utf8() {
            if text.get(..end)?.width() < 2 {
                return None;
            }
            is_wide = true;
            n_bytes = end;
        } else if !is_mark {
            if is_odd(c) || before.len() > MAX_CLUSTER || !joins(before, is_wide, c) {
                break;
            }
            (is_wide, is_joined) = (true, true);
            n_bytes = end;
        }
        last = c;
    }
    let text = text.get(..n_bytes).filter(|text| !text.is_empty())?;
    Some(Leading { text, base, is_base_wide, is_joined, is_flag: is_regional(base) })
}

/// The clusters in use by one terminal.
#[derive(Debug)]
pub(super) struct ClusterTable {
    texts: Slots<String>,
}

impl ClusterTable {
    pub fn new() -> Self {
        Self { texts: Slots::new(N_INTERNED as usize) }
    }

    /// Whether no further cluster can be added.
    pub fn is_full(&self) -> bool {
        self.texts.len() >= N_INTERNED as usize
    }

    pub fn intern(&mut self, cluster: &str) -> Option<char> {
        let number = self.texts.intern(&cluster.to_owned())?;
        char::from_u32(FIRST_INTERNED + number)
    }

    /// The cluster that one of our interned characters stands for.
    pub fn text_of(&self, interned: char) -> Option<&str> {
        let number = u32::from(interned).checked_sub(FIRST_INTERNED)?;
        self.texts.get(number).filter(|_| is_interned(interned)).map(String::as_str)
    }

    /// The text of a cell as its program meant it: tags removed, clusters in full.
    pub fn expand<'a>(&self, contents: &'a str) -> Cow<'a, str> {
        let is_ours = |c: char| style::is_tag(c) || is_interned(c);
        if contents.len() < 4 || !contents.contains(is_ours) {
            return Cow::Borrowed(contents);
        }
        let mut text = String::with_capacity(contents.len());
        for c in contents.chars().filter(|c| !style::is_tag(*c)) {
            match self.text_of(c) {
                Some(cluster) => text.push_str(cluster),
                None => text.push(c),
            }
        }
        Cow::Owned(text)
    }

    /// Forgets all clusters that no cell of `contents` shows.
    pub fn collect<'a>(&mut self, contents: impl Iterator<Item = &'a str>) {
        let mut is_used = vec![false; N_INTERNED as usize];
        for c in contents.flat_map(str::chars) {
            let number = u32::from(c).wrapping_sub(FIRST_INTERNED);
            if let Some(flag) = is_used.get_mut(number as usize) {
                *flag = true;
            }
        }
        self.texts.retain(|number| is_used.get(number as usize).is_some_and(|used| *used));
    }
}

impl Term {
    /// Puts `c` into the cell left of the cursor, if it belongs there.
    pub(super) fn join(&mut self, c: char) -> bool {
        let (row, col) = self.cursor_position();
        let screen = self.parser.screen();
        let Some(mut cell) = col.checked_sub(1).and_then(|left| screen.cell(row, left)) else { return false };
        let mut n_back = 1;
        if cell.is_wide_continuation() {
            let Some(first_half) = col.checked_sub(2).and_then(|left| screen.cell(row, left)) else {
                return false;
            };
            cell = first_half;
            n_back = 2;
        }
        let mut text = self.clusters.expand(cell.contents()).into_owned();
        if !joins(&text, n_back == 2, c) || text.len() > MAX_CLUSTER {
            return false;
        }
        // A narrow cell in the last column grows out of the row: the cluster goes to the next one.
        let leaves_row = n_back == 1 && col >= self.n_cols();
        if leaves_row && !self.text.is_autowrap {
            return false;
        }
        text.push(c);
        if self.clusters.is_full() {
            self.collect_unused();
        }
        let Some(interned) = self.clusters.intern(&text) else { return false };
        if leaves_row {
            self.tell_wrap(1);
        }
        let blank = if leaves_row { style::FILLER } else { "" };
        let again = format!("\x1b[{n_back}D{blank}{interned}{}", self.tag);
        self.inject(&again);
        true
    }

    /// Handles an emoji selector where the parser would not widen the cell, or would damage the
    /// screen: behind the last column (`terminal.md` 1.5), and behind a tagged character.
    /// Returns whether `selector` is dealt with.
    pub(super) fn widen(&mut self, selector: char) -> bool {
        let (row, col) = self.cursor_position();
        let is_edge = col >= self.n_cols();
        let Some(cell) = col.checked_sub(1).and_then(|left| self.parser.screen().cell(row, left)) else {
            return false;
        };
        if cell.is_wide_continuation() {
            return false;
        }
        let contents = cell.contents().to_owned();
        let plain: String = contents.chars().filter(|c| !style::is_tag(*c)).collect();
        if plain.is_empty() || format!("{plain}{selector}").width() < 2 {
            return true; // it changes nothing that is shown
        }
        let is_tagged = plain.len() < contents.len();
        if !is_edge && !is_tagged {
            return false;
        }
        if is_edge && !self.text.is_autowrap {
            return true; // there is no room, and the parser must not see it there
        }
        let tags: String = contents.chars().filter(|c| style::is_tag(*c)).collect();
        let mut marks = plain.chars();
        let Some(base) = marks.next() else { return false };
        let marks = marks.as_str();
        if is_edge {
            self.tell_wrap(1);
        }
        let blank = if is_edge { style::FILLER } else { "" };
        self.inject(&format!("\x1b[D{blank}{base}{selector}{marks}{tags}"));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_joins_what() {
        let cases = [
            ("👍", true, '🏽', true),
            ("👍🏽", true, '🏽', false),
            ("☝", false, '🏽', true),
            ("a", false, '🏽', false),
            ("🇰", false, '🇷', true),
            ("🇰🇷", true, '🇯', false),
            ("👩\u{200d}", true, '⚕', true),
            ("👩", true, '⚕', false),
            ("क\u{200d}", false, 'ष', false),
        ];
        for (previous, is_wide, c, expected) in cases {
            assert_eq!(joins(previous, is_wide, c), expected, "{previous:?} {c:?}");
        }
    }

    #[test]
    fn clusters_expand_and_are_collected() {
        let mut table = ClusterTable::new();
        let kept = table.intern("👍🏽").unwrap().to_string();
        let gone = table.intern("👨‍👩").unwrap().to_string();
        assert_eq!(table.expand(&format!("{kept}\u{e0105}")), "👍🏽");
        assert_eq!(table.expand("日\u{301}"), "日\u{301}");
        table.collect([kept.as_str()].into_iter());
        assert_eq!(table.expand(&kept), "👍🏽");
        assert_eq!(table.expand(&gone), gone);
    }
}
