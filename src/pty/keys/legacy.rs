//! xterm's keys, with `modifyOtherKeys` (`CSI 27 ; m ; code ~`) for what they cannot say.

use super::{Form, form, modifier_bits};
use crate::base::input::{Key, KeyEvent, Mods};
use crate::pty::modes::{InputModes, ModifyOtherKeys};

/// The bytes of a key press.
pub(super) fn encode(event: &KeyEvent, modes: &InputModes) -> Vec<u8> {
    let mods = event.mods;
    if let Some(code) = other_key(event, modes.modify_other_keys) {
        return format!("\x1b[27;{};{code}~", modifier_bits(mods) + 1).into_bytes();
    }
    let letter = application_letter(event.key).filter(|_| event.is_keypad && modes.is_application_keypad);
    if let Some(letter) = letter.filter(|_| modifier_bits(mods) == 0) {
        return format!("\x1bO{letter}").into_bytes();
    }
    match event.key {
        Key::Char(c) => match control_byte(c).filter(|_| mods.is_ctrl) {
            Some(byte) => after_alt(mods, &[byte]),
            None => after_alt(mods, c.encode_utf8(&mut [0; 4]).as_bytes()),
        },
        Key::Enter if modes.is_newline => after_alt(mods, b"\r\n"),
        Key::Enter => after_alt(mods, b"\r"),
        Key::Tab if mods.is_shift => after_alt(mods, b"\x1b[Z"),
        Key::BackTab => after_alt(mods, b"\x1b[Z"),
        Key::Tab => after_alt(mods, b"\t"),
        Key::Backspace if mods.is_ctrl != modes.is_backspace_bs => after_alt(mods, b"\x08"),
        Key::Backspace => after_alt(mods, b"\x7f"),
        Key::Esc => after_alt(mods, b"\x1b"),
        other => form(other).map(|form| function_key(form, mods, modes)).unwrap_or_default(),
    }
}

fn function_key(form: Form, mods: Mods, modes: &InputModes) -> Vec<u8> {
    let m = modifier_bits(mods) + 1;
    match form {
        // It would read as a report of the cursor's position; terminfo knows it so nevertheless.
        Form::Letter('R') if m > 1 && modes.has_used_extended_keys => format!("\x1b[13;{m}~"),
        Form::Letter(letter) if m > 1 => format!("\x1b[1;{m}{letter}"),
        Form::Letter(letter @ 'P'..='S') => format!("\x1bO{letter}"),
        Form::Letter(letter) if modes.is_application_cursor => format!("\x1bO{letter}"),
        Form::Letter(letter) => format!("\x1b[{letter}"),
        Form::Tilde(number) if m > 1 => format!("\x1b[{number};{m}~"),
        Form::Tilde(number) => format!("\x1b[{number}~"),
        Form::HighFunction(n) => {
            let (low, mods) = match n.checked_sub(24) {
                Some(low @ 1..) => (low, Mods { is_ctrl: true, ..mods }),
                _ => (n.saturating_sub(12), Mods { is_shift: true, ..mods }),
            };
            let low = super::form(Key::F(low));
            return low.map(|form| function_key(form, mods, modes)).unwrap_or_default();
        }
        Form::Named(_, Some(number)) => return function_key(Form::Tilde(number), mods, modes),
        Form::Named(_, None) => return Vec::new(),
    }
    .into_bytes()
}

/// What a key of the keypad sends after SS3 in application mode (DECKPAM). Its cursor keys are those of the
/// main part, as in xterm.
fn application_letter(key: Key) -> Option<char> {
    match key {
        Key::Enter => Some('M'),
        Key::Char(c @ '0'..='9') => char::from_u32(u32::from('p') + u32::from(c) - u32::from('0')),
        Key::Char(c) => "*+,-./=".find(c).and_then(|at| "jklmnoX".chars().nth(at)),
        _ => None,
    }
}

/// The code of a key that the program wants as a modified "other" key; None for all the rest.
fn other_key(event: &KeyEvent, level: ModifyOtherKeys) -> Option<u32> {
    let mods = event.mods;
    let is_modified = modifier_bits(mods) != 0;
    let is_beyond_shift = mods.is_alt || mods.is_ctrl || mods.is_super;
    let wants = match level {
        ModifyOtherKeys::Off => return None,
        ModifyOtherKeys::Ambiguous => match event.key {
            Key::Char(c) => mods.is_ctrl && (control_byte(c).is_none() || mods.is_shift && c.is_alphabetic()),
            Key::Enter | Key::Esc => mods.is_shift || mods.is_ctrl || mods.is_super,
            Key::Tab => mods.is_ctrl,
            _ => false,
        },
        ModifyOtherKeys::All => match event.key {
            Key::Char(_) => is_beyond_shift,
            // Shift+Tab alone keeps its form of its own, which terminfo knows.
            Key::Tab => is_beyond_shift,
            Key::Enter | Key::Esc | Key::Backspace => is_modified,
            _ => false,
        },
    };
    if !wants {
        return None;
    }
    super::kitty::text_code(event.key).map(|code| match event.key {
        Key::Char(c) => u32::from(c),
        _ => code,
    })
}

/// The control character of Ctrl with `c`, including the digits that stand for the unreachable ones.
fn control_byte(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' | 'A'..='Z' => c as u8 & 0x1f,
        ' ' | '@' | '2' => 0x00,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '~' | '6' => 0x1e,
        '_' | '/' | '7' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return None,
    })
}

/// Alt is an ESC in front.
fn after_alt(mods: Mods, bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.len() + 1);
    if mods.is_alt {
        all.push(0x1b);
    }
    all.extend_from_slice(bytes);
    all
}
