//! The small pattern language of title and screen rules.
//!
//! A pattern is literal text, looked for anywhere in a line. A leading `^` ties it to the start of the
//! line (after blanks and the lines of a frame), `*` stands for any text, and `{spinner}` for one
//! braille character, which is what most agents turn while they work. Runs of blanks count as one.

use serde::Deserialize;

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    is_at_start: bool,
    /// The literal pieces between the `*`.
    pieces: Vec<String>,
    text: String,
}

const SPINNER: &str = "{spinner}";

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl Pattern {
    /// Reads a pattern; one that would match every line is refused.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_at_start, body) = match text.strip_prefix('^') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let pieces: Vec<String> = body.split('*').map(squeeze).filter(|piece| !piece.is_empty()).collect();
        if pieces.is_empty() {
            return Err(format!("the pattern {text:?} would match every line"));
        }
        Ok(Self { is_at_start, pieces, text: text.to_owned() })
    }

    /// Whether it is tied to the start of a line.
    pub fn is_at_start(&self) -> bool {
        self.is_at_start
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the line, made plain by [`plain_line`], matches.
    pub fn matches(&self, line: &str) -> bool {
        let mut rest = line;
        for (n, piece) in self.pieces.iter().enumerate() {
            let found = if n == 0 && self.is_at_start {
                starts(rest, piece).map(|length| (0, length))
            } else {
                find(rest, piece)
            };
            match found {
                Some((at, length)) => rest = rest.get(at + length..).unwrap_or(""),
                None => return false,
            }
        }
        true
    }
}

/// A line without frame characters and outer blanks, runs of blanks as one.
pub fn plain_line(line: &str) -> String {
    let is_frame =
        |c: char| c.is_whitespace() || matches!(c, '│' | '┃' | '║' | '▌' | '▎' | '╭' | '╰' | '╹' | '╻' | '|');
    squeeze(line.trim_matches(is_frame))
}

/// Runs of blanks as one; outer blanks and invisible variation selectors go.
fn squeeze(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !matches!(c, '\u{fe0e}' | '\u{fe0f}')).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_braille(c: char) -> bool {
    ('\u{2800}'..='\u{28ff}').contains(&c)
}

/// The length in bytes of what `piece` matches at the start of `text`.
fn starts(text: &str, piece: &str) -> Option<usize> {
    let mut at = 0;
    let mut parts = piece.split(SPINNER);
    let first = parts.next().unwrap_or("");
    at += text.starts_with(first).then_some(first.len())?;
    for part in parts {
        let glyph = text.get(at..)?.chars().next().filter(|c| is_braille(*c))?;
        at += glyph.len_utf8();
        at += text.get(at..)?.starts_with(part).then_some(part.len())?;
    }
    Some(at)
}

fn find(text: &str, piece: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, _)| starts(&text[at..], piece).map(|length| (at, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, line: &str, expected: bool) {
        let pattern = Pattern::parse(pattern).unwrap();
        assert_eq!(pattern.matches(&plain_line(line)), expected, "{pattern:?} on {line:?}");
    }

    #[test]
    fn patterns_match_pieces_in_order() {
        check("esc to interrupt", "  · esc  to interrupt · x", true);
        check("^Do you", " │ Do you want to proceed?  │", true);
        check("^you", "Do you want", false);
        check("^• Working (*esc to interrupt", "• Working (12s • esc to interrupt)", true);
        check("esc*Working", "• Working (12s • esc)", false);
        check("^{spinner} Thinking", "⠇ Thinking... (3s)", true);
        check("^{spinner} Thinking", "x Thinking... (3s)", false);
        check("── {spinner} Working ──", "── ⠸ Working ─────", true);
        check("^◐ Qwen", "◐\u{fe0e} Qwen - demo   ", true);
    }

    #[test]
    fn patterns_that_match_everything_are_refused() {
        for bad in ["", "^", "*", " * "] {
            assert!(Pattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
