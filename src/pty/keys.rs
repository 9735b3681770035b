//! What a person did, as the bytes a program in the pane expects at this moment (`terminal.md` 5.8).
//!
//! Pure functions of an event and the pane's [`InputModes`]. An empty answer means that the pane did
//! not ask for such an event; whoever calls decides what else it may mean (a wheel on the main
//! screen scrolls history, a drag selects).
//!
//! Keys of the keypad are known as such only where the host tells (kitty's protocol): its Enter, its
//! cursor keys, and its digits with Ctrl or Alt. On other hosts they are the keys of the main part, so
//! DECKPAM changes nothing there.

mod kitty;
mod legacy;
mod mouse;

pub use mouse::{Wheel, wheel_target};

use super::modes::InputModes;
use crate::base::input::{InputEvent, Key, KeyEvent, KeyPhase, Mods};

/// The bytes of any event; empty when the pane does not want it.
pub fn encode(event: &InputEvent, modes: &InputModes) -> Vec<u8> {
    match event {
        InputEvent::Key(event) => key(event, modes),
        InputEvent::Paste(text) => paste(text, modes),
        InputEvent::Mouse(event) => mouse::encode(event, modes),
        InputEvent::Focus(has_focus) => focus(*has_focus, modes),
    }
}

/// The bytes of a key: kitty's protocol if the program set any of its flags, else xterm's, with
/// `modifyOtherKeys` where that was asked for.
pub fn key(event: &KeyEvent, modes: &InputModes) -> Vec<u8> {
    let event = tidied(*event);
    if !modes.kitty.is_empty() {
        return kitty::encode(&event, modes);
    }
    match event.phase {
        KeyPhase::Press | KeyPhase::Repeat => legacy::encode(&event, modes),
        KeyPhase::Release => Vec::new(),
    }
}

/// The bytes of pasted text: CR for every line end, no control character but CR and TAB, so that the
/// text can neither close the bracket nor give a command; one pair of markers around all of it if
/// the program asked for brackets.
///
/// An empty paste keeps its brackets: agents take it as a hint to look for an image.
pub fn paste(text: &str, modes: &InputModes) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 12);
    if modes.is_bracketed_paste {
        bytes.extend_from_slice(b"\x1b[200~");
    }
    let mut utf8 = [0; 4];
    let mut follows_cr = false;
    for c in text.chars() {
        match c {
            '\n' if follows_cr => {}
            '\n' => bytes.push(b'\r'),
            c if !c.is_control() || matches!(c, '\r' | '\t') => {
                bytes.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
            _ => {}
        }
        follows_cr = c == '\r';
    }
    if modes.is_bracketed_paste {
        bytes.extend_from_slice(b"\x1b[201~");
    }
    bytes
}

/// Whether a paste would run as several commands, so that the person should be asked first: more
/// than one line for a program that does not know brackets.
pub fn is_risky_paste(text: &str, modes: &InputModes) -> bool {
    !modes.is_bracketed_paste && text.trim_end_matches(['\r', '\n']).contains(['\r', '\n'])
}

/// The bytes of a focus change, if the program asked for them (`?1004`).
pub fn focus(has_focus: bool, modes: &InputModes) -> Vec<u8> {
    match (modes.is_focus_reported, has_focus) {
        (false, _) => Vec::new(),
        (true, true) => b"\x1b[I".to_vec(),
        (true, false) => b"\x1b[O".to_vec(),
    }
}

/// Hosts differ in how they tell Shift: some send `a` with Shift, some `A` without it, some Tab with
/// Shift and some BackTab. From here on it is always `A` with Shift and Tab with Shift.
fn tidied(mut event: KeyEvent) -> KeyEvent {
    match event.key {
        Key::Char(c) if event.mods.is_shift => event.key = Key::Char(other_case(c, c.to_uppercase())),
        Key::Char(c) if other_case(c, c.to_lowercase()) != c => {
            // Plain `A` may come from Caps Lock; with Ctrl or Alt it can only mean Shift.
            event.mods.is_shift = event.mods.is_ctrl || event.mods.is_alt || event.mods.is_super;
        }
        Key::BackTab => {
            event.key = Key::Tab;
            event.mods.is_shift = true;
        }
        _ => {}
    }
    event
}

/// The one character of the other case; `c` itself where there is none or several (`ß`).
fn other_case(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// Modifiers as both protocols count them, before the 1 is added.
fn modifier_bits(mods: Mods) -> u32 {
    u32::from(mods.is_shift)
        | u32::from(mods.is_alt) << 1
        | u32::from(mods.is_ctrl) << 2
        | u32::from(mods.is_super) << 3
}

/// How a key without text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `CSI 1 ; m X`, or SS3 X.
    Letter(char),
    /// `CSI n ; m ~`.
    Tilde(u32),
    /// F13 and up: kitty has code points for them, xterm calls them Shift+F1 and Ctrl+F1 and so on.
    HighFunction(u8),
    /// Kitty has this code point for it, xterm maybe this number in front of a tilde.
    Named(u32, Option<u32>),
}

/// The form of a key that is no text; None for the others and for unknown function keys.
fn form(key: Key) -> Option<Form> {
    Some(match key {
        Key::Up => Form::Letter('A'),
        Key::Down => Form::Letter('B'),
        Key::Right => Form::Letter('C'),
        Key::Left => Form::Letter('D'),
        Key::End => Form::Letter('F'),
        Key::Home => Form::Letter('H'),
        Key::Insert => Form::Tilde(2),
        Key::Delete => Form::Tilde(3),
        Key::PageUp => Form::Tilde(5),
        Key::PageDown => Form::Tilde(6),
        Key::F(1) => Form::Letter('P'),
        Key::F(2) => Form::Letter('Q'),
        Key::F(3) => Form::Letter('R'),
        Key::F(4) => Form::Letter('S'),
        Key::F(5) => Form::Tilde(15),
        Key::F(n @ 6..=10) => Form::Tilde(u32::from(n) + 11),
        Key::F(n @ 11..=12) => Form::Tilde(u32::from(n) + 12),
        Key::F(n @ 13..=35) => Form::HighFunction(n),
        Key::KeypadBegin => Form::Letter('E'),
        Key::PrintScreen => Form::Named(57361, None),
        Key::Pause => Form::Named(57362, None),
        Key::Menu => Form::Named(57363, Some(29)),
        Key::F(_) | Key::Char(_) | Key::Enter | Key::Tab | Key::BackTab | Key::Backspace | Key::Esc => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests;
