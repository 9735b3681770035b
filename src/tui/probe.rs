//! What the host terminal says about itself when it is asked once, at the start (`terminal.md` 5.8).
//!
//! crossterm cannot read such answers and would take them for keys, so they are read before its reader
//! starts, and device attributes are asked for last: every terminal answers those, in order. The first
//! frame does not wait for it. What a person types meanwhile is passed on in order.

use super::msg::Msg;
use crate::base::input::{Key, KeyEvent, Mods};
use crate::proto::screen::HostFacts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// Colours (foreground, background, cursor, the first 16), cell size, kitty's keyboard protocol,
/// colour scheme, and device attributes as the end mark.
pub fn questions() -> String {
    let palette: String = (0..16).map(|index| format!("\x1b]4;{index};?\x1b\\")).collect();
    format!("\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]12;?\x1b\\{palette}\x1b[16t\x1b[?u\x1b[?996n\x1b[c")
}

/// How long the answers may take. A line this slow is answered by the defaults.
const PATIENCE: Duration = Duration::from_secs(2);

const PASTE_END: &[u8] = b"\x1b[201~";

/// Reads the host's answers from standard input until the end mark. Keys and pastes go to `typed`, which
/// says whether to go on. None: the terminal is gone or `typed` had enough.
pub fn read_answers(mut typed: impl FnMut(Msg) -> bool) -> Option<HostFacts> {
    let input = std::io::stdin();
    let mut answers = Answers::default();
    let mut deadline = Instant::now() + PATIENCE;
    while !answers.is_over || answers.paste.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let timeout = Timespec::try_from(left).ok();
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut ready, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut buffer = [0_u8; 1_024];
        match rustix::io::read(&input, &mut buffer) {
            Ok(0) => return None,
            Ok(n_read) => answers.take(buffer.get(..n_read).unwrap_or_default()),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return None,
        }
        for message in answers.typed.drain(..) {
            if !typed(message) {
                return None;
            }
        }
        if answers.paste.is_some() {
            // Nobody else would know that the rest of it is a paste.
            deadline = Instant::now() + PATIENCE;
        }
    }
    answers.end();
    answers.typed.drain(..).all(typed).then_some(answers.facts)
}

/// What was read so far.
#[derive(Debug, Default)]
struct Answers {
    facts: HostFacts,
    /// An unfinished sequence or character.
    rest: Vec<u8>,
    typed: Vec<Msg>,
    /// What came of a paste that has no end yet.
    paste: Option<Vec<u8>>,
    is_over: bool,
}

/// The first piece of what was read.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    /// `ESC ]` or `ESC P` to its terminator, without either.
    Text(&'a [u8]),
    /// `ESC [`: parameters, final byte.
    Control(&'a [u8], u8),
    /// `ESC O`: final byte.
    Single(u8),
    /// One character; with Alt.
    Char(char, bool),
    /// Nothing that means something.
    Noise,
}

impl Answers {
    fn take(&mut self, bytes: &[u8]) {
        if let Some(paste) = &mut self.paste {
            paste.extend_from_slice(bytes);
            self.end_paste(bytes.len());
            return;
        }
        self.rest.extend_from_slice(bytes);
        let input = std::mem::take(&mut self.rest);
        let mut left = input.as_slice();
        while let Some((piece, n_bytes)) = first_piece(left) {
            if piece == Piece::Control(b"200", b'~') {
                let text = left.get(n_bytes..).unwrap_or_default().to_vec();
                let n_new = text.len();
                self.paste = Some(text);
                self.end_paste(n_new);
                return;
            }
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Control(parameters, last) => self.control(parameters, last),
                Piece::Single(last) => self.key(single(last), Mods::NONE),
                Piece::Char(c, is_alt) => self.char(c, is_alt),
                Piece::Noise => {}
            }
            left = left.get(n_bytes..).unwrap_or_default();
        }
        self.rest = left.to_vec();
    }

    /// Looks for the end of the paste in the last `n_new` bytes, and goes on behind it.
    fn end_paste(&mut self, n_new: usize) {
        let Some(mut text) = self.paste.take() else { return };
        let from = text.len().saturating_sub(n_new + PASTE_END.len());
        let found = memchr::memmem::find(text.get(from..).unwrap_or_default(), PASTE_END);
        let Some(end) = found.map(|at| from + at) else {
            self.paste = Some(text);
            return;
        };
        let after = text.split_off(end).split_off(PASTE_END.len());
        self.typed.push(Msg::Paste(String::from_utf8_lossy(&text).into_owned()));
        self.take(&after);
    }

    /// Nothing more comes: a lone ESC was the key, and a paste that stopped is all there is.
    fn end(&mut self) {
        if let Some(text) = self.paste.take() {
            self.typed.push(Msg::Paste(String::from_utf8_lossy(&text).into_owned()));
        }
        if self.rest == b"\x1b" {
            self.key(Some(Key::Esc), Mods::NONE);
        }
    }

    fn key(&mut self, key: Option<Key>, mods: Mods) {
        self.typed.extend(key.map(|key| Msg::Key(KeyEvent::press(key, mods))));
    }

    fn char(&mut self, c: char, is_alt: bool) {
        let ctrl = |c: char| (Key::Char(c), Mods { is_ctrl: true, is_alt, ..Mods::NONE });
        let (key, mods) = match c {
            '\r' => (Key::Enter, Mods { is_alt, ..Mods::NONE }),
            '\t' => (Key::Tab, Mods { is_alt, ..Mods::NONE }),
            '\u{7f}' => (Key::Backspace, Mods { is_alt, ..Mods::NONE }),
            '\0' => ctrl(' '),
            '\u{1}'..='\u{1a}' => ctrl(char::from(c as u8 + b'a' - 1)),
            '\u{1c}'..='\u{1f}' => ctrl(char::from(c as u8 - 0x1c + b'4')),
            c => (Key::Char(c), Mods { is_alt, ..Mods::NONE }),
        };
        self.key(Some(key), mods);
    }

    fn control(&mut self, parameters: &[u8], last: u8) {
        let text = std::str::from_utf8(parameters).unwrap_or_default();
        match (text.strip_prefix('?'), last) {
            (Some(_), b'c') => self.is_over = true,
            (Some(_), b'u') => self.facts.has_kitty_keys = true,
            (Some(scheme), b'n') => {
                self.facts.is_dark = match scheme {
                    "997;1" => Some(true),
                    "997;2" => Some(false),
                    _ => self.facts.is_dark,
                };
            }
            (Some(_), _) => {}
            (None, b't') => {
                let numbers: Vec<u16> = text.split(';').filter_map(|number| number.parse().ok()).collect();
                if let &[6, height, width] = &numbers[..]
                    && height.min(width) > 0
                {
                    self.facts.cell_px = Some((height, width));
                }
            }
            (None, b'~') => self.key(tilde(text), Mods::NONE),
            (None, last) => self.key(single(last), Mods::NONE),
        }
    }

    fn text(&mut self, text: &[u8]) {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let Some((what, rest)) = text.split_once(';') else { return };
        match what {
            "10" => self.facts.foreground = color(rest).or(self.facts.foreground),
            "11" => self.facts.background = color(rest).or(self.facts.background),
            "12" => self.facts.cursor = color(rest).or(self.facts.cursor),
            "4" => {
                let entry = rest.split_once(';').and_then(|(index, rgb)| {
                    Some((index.parse::<u8>().ok().filter(|index| *index < 16)?, color(rgb)?))
                });
                self.facts.palette.extend(entry);
            }
            _ => {}
        }
    }
}

/// The first whole piece and its length; None where more must come.
fn first_piece(bytes: &[u8]) -> Option<(Piece<'_>, usize)> {
    let (&first, rest) = bytes.split_first()?;
    if first != 0x1b {
        return char_at(bytes)
            .map(|(c, n_bytes)| (c.map_or(Piece::Noise, |c| Piece::Char(c, false)), n_bytes));
    }
    match *rest.first()? {
        b']' | b'P' | b'_' | b'^' => {
            let body = rest.get(1..)?;
            let end = body.iter().position(|byte| matches!(byte, 0x07 | 0x1b))?;
            let n_end = if body.get(end) == Some(&0x07) { 1 } else { 2 };
            (body.len() >= end + n_end)
                .then(|| (Piece::Text(body.get(..end).unwrap_or_default()), 2 + end + n_end))
        }
        b'[' => {
            let body = rest.get(1..)?;
            let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((Piece::Control(body.get(..end)?, *body.get(end)?), 3 + end))
        }
        b'O' => Some((Piece::Single(*rest.get(1)?), 3)),
        0x1b => Some((Piece::Char('\u{1b}', false), 1)),
        _ => {
            char_at(rest).map(|(c, n_bytes)| (c.map_or(Piece::Noise, |c| Piece::Char(c, true)), 1 + n_bytes))
        }
    }
}

/// The character at the beginning, None for a byte that begins none.
fn char_at(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let chunk = bytes.utf8_chunks().next()?;
    if let Some(c) = chunk.valid().chars().next() {
        return Some((Some(c), c.len_utf8()));
    }
    let n_bad = chunk.invalid().len();
    // A character that is cut at the end may still become whole.
    (bytes.len() > n_bad || n_bad > 3 || !is_cut(chunk.invalid())).then_some((None, n_bad))
}

fn is_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn single(last: u8) -> Option<Key> {
    Some(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'P'..=b'S' => Key::F(last - b'P' + 1),
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

fn tilde(number: &str) -> Option<Key> {
    Some(match number {
        "1" | "7" => Key::Home,
        "2" => Key::Insert,
        "3" => Key::Delete,
        "4" | "8" => Key::End,
        "5" => Key::PageUp,
        "6" => Key::PageDown,
        _ => return None,
    })
}

/// `rgb:rr/gg/bb` with one to four digits each.
fn color(text: &str) -> Option<(u8, u8, u8)> {
    let mut parts = text.strip_prefix("rgb:").or(text.strip_prefix("rgba:"))?.split('/').map(|digits| {
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| (1..=4).contains(&digits.len()))?;
        u8::try_from(value * 255 / ((1 << (4 * digits.len())) - 1)).ok()
    });
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8], chunk: usize) -> (HostFacts, String, bool) {
        let mut answers = Answers::default();
        bytes.chunks(chunk).for_each(|bytes| answers.take(bytes));
        answers.end();
        let typed = answers.typed.iter().map(|message| match message {
            Msg::Key(KeyEvent { key: Key::Char(c), mods, .. }) if mods.is_ctrl => format!("C-{c}"),
            Msg::Key(KeyEvent { key: Key::Char(c), mods, .. }) if mods.is_alt => format!("M-{c}"),
            Msg::Key(KeyEvent { key: Key::Char(c), .. }) => c.to_string(),
            Msg::Key(KeyEvent { key, .. }) => format!("{key:?}"),
            other => format!("{other:?}"),
        });
        (answers.facts, typed.collect::<Vec<_>>().join(" "), answers.is_over)
    }

    #[test]
    fn answers_become_facts_however_they_are_cut() {
        let answers = b"\x1b]10;rgb:ffff/8080/0000\x1b\\\x1b]11;rgb:1e/1e/2e\x07\x1b]4;1;rgb:f/0/0\x1b\\\
            \x1b[6;18;9t\x1b[?0u\x1b[?997;2n\x1b[?62;22c";
        let expected = HostFacts {
            foreground: Some((255, 128, 0)),
            background: Some((30, 30, 46)),
            cursor: None,
            palette: vec![(1, (255, 0, 0))],
            cell_px: Some((18, 9)),
            is_dark: Some(false),
            has_kitty_keys: true,
        };
        for chunk in [1, 3, answers.len()] {
            assert_eq!(heard(answers, chunk), (expected.clone(), String::new(), true));
        }
    }

    #[test]
    fn keys_typed_meanwhile_are_kept_in_order() {
        let (facts, typed, is_over) =
            heard("l\u{3}\x1b[A한\x1b]11;rgb:0/0/0\x07\x1bx\r\x1b[5~\x1bOP".as_bytes(), 2);
        assert_eq!(typed, "l C-c Up 한 M-x Enter PageUp F(1)");
        assert_eq!(facts.background, Some((0, 0, 0)));
        assert!(!is_over);
        assert_eq!(heard(b"\x1b", 1).1, "Esc");
    }

    #[test]
    fn a_paste_stays_one_while_answers_are_awaited() {
        let input = b"a\x1b[200~one\r\x1b[31m\x03two\x1b[201~b\x1b[?62c\x1b[200~\xe6\x97\xa5\x1b[201~";
        for chunk in [1, 3, 7, input.len()] {
            let (_, typed, is_over) = heard(input, chunk);
            assert_eq!(
                (typed.as_str(), is_over),
                (r#"a Paste("one\r\u{1b}[31m\u{3}two") b Paste("日")"#, true)
            );
        }
        assert_eq!(heard(b"\x1b[200~cut", 2).1, r#"Paste("cut")"#);
    }

    #[test]
    fn nonsense_is_no_fact() {
        let (facts, typed, _) =
            heard(b"\x1b]10;red\x07\x1b]4;99;rgb:0/0/0\x07\x1b]11;rgb:/0/0\x07\xff\xfe\x1b[6;0;0t", 4);
        assert_eq!((facts, typed.as_str()), (HostFacts::default(), ""));
    }
}
