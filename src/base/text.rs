//! Text from outside made safe to store in one line and to show in a cell.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Characters that reorder what a reader sees (bidirectional controls) or that nobody sees.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Removes control and bidirectional characters and folds white space, newlines included, to
/// single spaces: the form of titles, subjects and everything else that is one line.
pub fn one_line(text: &str) -> String {
    let kept: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_hidden(*c))
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes control characters other than newline and tab, and bidirectional controls: the form
/// of message bodies and specs when they are shown. CR LF and the Unicode line and paragraph
/// separators, which terminals draw in one line or not at all, become LF.
pub fn many_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| if matches!(c, '\u{2028}' | '\u{2029}') { '\n' } else { c })
        .filter(|c| (!c.is_control() || matches!(c, '\n' | '\t')) && !is_hidden(*c))
        .collect()
}

/// Cuts to at most `max` characters, the last one an ellipsis where something was cut.
pub fn cut_chars(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Columns that `text` takes in a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts to at most `max` columns, whole graphemes, the last one an ellipsis where something was cut.
pub fn cut_width(text: &str, max: usize) -> String {
    if text.width() <= max {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = grapheme.width();
        if used + wide + 1 > max {
            break;
        }
        used += wide;
        cut.push_str(grapheme);
    }
    if max > 0 {
        cut.push('…');
    }
    cut
}

/// An age in the shortest form a person reads at a glance: `8s`, `12m`, `3h`, `2d`.
pub fn age(ms: u64) -> String {
    let step_ms = age_step_ms(ms);
    let unit = match step_ms {
        1_000 => "s",
        60_000 => "m",
        3_600_000 => "h",
        _ => "d",
    };
    format!("{}{unit}", ms / step_ms)
}

/// The unit of an age as [`age`] writes it, in milliseconds.
pub fn age_step_ms(ms: u64) -> u64 {
    match ms / 1_000 {
        0..60 => 1_000,
        60..3_600 => 60_000,
        3_600..86_400 => 3_600_000,
        _ => 86_400_000,
    }
}

/// So many of a thing whose plural takes an s: `1 terminal`, `2 terminals`.
pub fn counted<N: PartialEq + From<u8> + std::fmt::Display>(count: N, noun: &str) -> String {
    format!("{count} {noun}{}", if count == N::from(1) { "" } else { "s" })
}

/// The text with blanks up to `columns` of width; a wider one stays whole.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A span of time for people, exact to the second: `1h 30m`, `45s`.
pub fn duration(ms: u64) -> String {
    let s = ms / 1_000;
    let parts = [(s / 86_400, "d"), (s / 3_600 % 24, "h"), (s / 60 % 60, "m"), (s % 60, "s")];
    let said: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if said.is_empty() { String::from("0s") } else { said.join(" ") }
}

/// Reads a span of time such as `90s`, `45m`, `2h`, `1d` or `1h30m` in milliseconds; `none` and `0` are 0.
pub fn parse_duration(text: &str) -> Option<u64> {
    if text == "none" {
        return Some(0);
    }
    let (mut total, mut rest) = (0_u64, text.trim());
    while !rest.is_empty() {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(n_digits)?;
        let (unit, after) = after.split_at_checked(1)?;
        let unit_ms = match unit {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit_ms)?)?;
        rest = after.trim_start();
    }
    (total > 0).then_some(total)
}

/// The text in which a word that starts with one of `prefixes` keeps only that prefix and `…`.
pub fn without_secrets(text: &str, prefixes: &[&str]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, prefix)) = first_of(rest, prefixes) {
        let (before, secret) = rest.split_at(at + prefix.len());
        clean.push_str(before);
        clean.push('…');
        rest = secret.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    }
    clean.push_str(rest);
    clean
}

/// The text in which `…` stands for each of `words`.
pub fn without_words(text: &str, words: &[String]) -> String {
    let known = words.iter().filter(|word| !word.is_empty());
    known.fold(text.to_owned(), |text, word| if text.contains(word) { text.replace(word, "…") } else { text })
}

fn first_of<'a>(text: &str, prefixes: &[&'a str]) -> Option<(usize, &'a str)> {
    prefixes.iter().filter_map(|prefix| Some((text.find(prefix)?, *prefix))).min()
}

/// Quotes `word` for a POSIX shell; words of plain characters stay as they are.
pub fn shell_quote(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&b));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_look() {
        assert_eq!(pad("ab", 4), "ab  ");
        assert_eq!(pad("\u{6f22}", 4), "\u{6f22}  ");
        assert_eq!(pad("abcde", 4), "abcde");
    }

    #[test]
    fn one_line_removes_what_could_draw_or_deceive() {
        assert_eq!(one_line("a\n\tb\u{1b}[2J \u{202e}c  d\0"), "a b[2J c d");
    }

    #[test]
    fn many_lines_keeps_newlines_and_tabs_only() {
        assert_eq!(many_lines("a\r\n\tb\u{7}\u{9b}c"), "a\n\tbc");
        assert_eq!(many_lines("one\u{2028}two\u{2029}three"), "one\ntwo\nthree");
    }

    #[test]
    fn cutting_never_splits_a_wide_character() {
        assert_eq!(cut_width("한글한글", 5), "한글…");
        assert_eq!(cut_width("한글", 4), "한글");
        assert_eq!(cut_chars("abcdef", 4), "abc…");
        assert_eq!(cut_width("abc", 0), "");
    }

    #[test]
    fn spans_of_time_read_back() {
        for (text, ms) in [("90s", 90_000), ("1h30m", 5_400_000), ("2d 1s", 172_801_000), ("none", 0)] {
            assert_eq!(parse_duration(text), Some(ms), "{text}");
        }
        for bad in ["", "5", "-5m", "1x", "m", "99999999999999999999d", "1h-", "ü"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
        assert_eq!(duration(5_400_000), "1h 30m");
        assert_eq!(duration(999), "0s");
    }

    #[test]
    fn one_thing_has_no_plural() {
        let shown: Vec<String> = [0_u64, 1, 2].map(|count| counted(count, "screen")).into();
        assert_eq!(shown, ["0 screens", "1 screen", "2 screens"]);
    }

    #[test]
    fn ages_and_quotes() {
        assert_eq!([age(900), age(61_000), age(7_200_000)], ["0s", "1m", "2h"]);
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote("/a/b-c"), "/a/b-c");
        assert_eq!(shell_quote(""), "''");
    }
}
