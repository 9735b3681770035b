//! The few character sets that programs still select (`ESC ( 0` and friends).

/// A character set that can be selected into G0 to G3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Charset {
    #[default]
    Ascii,
    British,
    /// DEC special graphics: line drawing.
    Graphics,
}

impl Charset {
    /// The set that the last byte of the select sequence names; unknown ones are ASCII.
    pub fn from_designator(designator: u8) -> Self {
        match designator {
            b'0' | b'2' => Self::Graphics,
            b'A' => Self::British,
            _ => Self::Ascii,
        }
    }

    /// The byte that selects this set.
    pub fn designator(self) -> char {
        match self {
            Self::Ascii => 'B',
            Self::British => 'A',
            Self::Graphics => '0',
        }
    }

    /// The character that `c` stands for in this set.
    pub fn map(self, c: char) -> char {
        match (self, c) {
            (Self::British, '#') => '£',
            (Self::Graphics, '_'..='~') => graphics(c),
            (Self::Ascii | Self::British | Self::Graphics, _) => c,
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
    }
}
