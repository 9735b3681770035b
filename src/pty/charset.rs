//! The few character sets that programs still select (`ESC ( 0` and friends).

/// A character set that can be selected into G0 to G3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Charset {
    #[default]
    Ascii,
    British,
    /// DEC special graphics: line drawing.
    Graphics,
    /// The upper half of ISO Latin-1, a set of 96 characters.
    Latin1,
}

impl Charset {
    /// The set that `ESC slot name` selects, and for which of G0 to G3; unknown sets are ASCII.
    pub fn selected(slot: u8, name: u8) -> Option<(usize, Self)> {
        let charset = match (slot, name) {
            (b'('..=b'+', b'0' | b'2') => Self::Graphics,
            (b'('..=b'+', b'A') => Self::British,
            (b'-'..=b'/', b'A') => Self::Latin1,
            (b'('..=b'+' | b'-'..=b'/', _) => Self::Ascii,
            _ => return None,
        };
        let first = if slot < b'-' { b'(' } else { b'-' - 1 };
        Some((usize::from(slot - first), charset))
    }

    /// The sequence that selects this set for one of G0 to G3.
    pub fn selection(self, slot: usize) -> String {
        let (slots, name) = match self {
            Self::Ascii => ("()*+", 'B'),
            Self::British => ("()*+", 'A'),
            Self::Graphics => ("()*+", '0'),
            Self::Latin1 => ("--./", 'A'),
        };
        format!("\x1b{}{name}", slots.chars().nth(slot).unwrap_or('('))
    }

    /// The character that `c` stands for in this set.
    pub fn map(self, c: char) -> char {
        match (self, c) {
            (Self::British, '#') => '£',
            (Self::Graphics, '_'..='~') => graphics(c),
            (Self::Latin1, ' '..='~') => char::from(c as u8 | 0x80),
            (Self::Ascii | Self::British | Self::Graphics | Self::Latin1, _) => c,
        }
    }
}

fn graphics(c: char) -> char {
    const FROM_UNDERSCORE: [char; 32] = [
        ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼',
        '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
    ];
    let index = u32::from(c).saturating_sub(u32::from('_')) as usize;
    FROM_UNDERSCORE.get(index).copied().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_drawing_maps_letters_to_lines() {
        let drawn: String = "lqk_`~x".chars().map(|c| Charset::Graphics.map(c)).collect();
        assert_eq!(drawn, "┌─┐ ◆·│");
        assert_eq!(Charset::British.map('#'), '£');
        assert_eq!(Charset::Ascii.map('q'), 'q');
        assert_eq!(Charset::Graphics.map('A'), 'A');
        assert_eq!(Charset::Latin1.map('i'), 'é');
    }

    #[test]
    fn what_selects_a_set_selects_it_again() {
        for charset in [Charset::Ascii, Charset::British, Charset::Graphics, Charset::Latin1] {
            for slot in 1..4 {
                let &[_, kind, name] = charset.selection(slot).as_bytes() else { panic!() };
                assert_eq!(Charset::selected(kind, name), Some((slot, charset)));
            }
        }
        assert_eq!(Charset::selected(b'(', b'0'), Some((0, Charset::Graphics)));
        assert_eq!(Charset::selected(b'%', b'G'), None);
    }
}
