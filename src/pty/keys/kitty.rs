//! The kitty keyboard protocol: `CSI code : shifted ; modifiers : phase ; text u`.

use super::{Form, form, modifier_bits};
use crate::base::input::{Key, KeyEvent, KeyPhase};
use crate::pty::modes::{InputModes, KittyFlags};

/// The first of the code points for F13, F14, …
const F13: u32 = 57376;

/// The bytes of a key for a program that set at least one flag.
pub(super) fn encode(event: &KeyEvent, modes: &InputModes) -> Vec<u8> {
    let flags = modes.kitty;
    if event.phase == KeyPhase::Release && !flags.contains(KittyFlags::REPORT_EVENTS) {
        return Vec::new();
    }
    let is_escaped =
        flags.contains(KittyFlags::DISAMBIGUATE) || flags.contains(KittyFlags::REPORT_ALL_AS_ESCAPES);
    let keypad = keypad_code(event.key).filter(|_| event.is_keypad && is_escaped);
    match (keypad, form(event.key)) {
        (Some(code), _) => keypad_key(code, event, flags, modes),
        (None, Some(form)) if is_escaped || !tail(event, flags).is_empty() => {
            function_key(form, event, flags)
        }
        (None, Some(_)) => super::legacy::encode(event, modes),
        (None, None) => text_key(event, flags, modes),
    }
}

/// A key of the keypad: where it types nothing, it has a code of its own.
fn keypad_key(code: u32, event: &KeyEvent, flags: KittyFlags, modes: &InputModes) -> Vec<u8> {
    let is_all = flags.contains(KittyFlags::REPORT_ALL_AS_ESCAPES);
    let types = matches!(event.key, Key::Char(_)) && modifier_bits(event.mods) & !1 == 0;
    if types && !is_all {
        let plain = InputModes { is_application_keypad: false, ..*modes };
        return text_of(event).map_or_else(Vec::new, |_| super::legacy::encode(event, &plain));
    }
    let text = text_of(event).filter(|_| is_all && flags.contains(KittyFlags::REPORT_TEXT));
    let (tail, text) = (tail(event, flags), text.map(|text| format!(";{}", u32::from(text))));
    let missing = if tail.is_empty() && text.is_some() { ";" } else { "" };
    format!("\x1b[{code}{tail}{missing}{}u", text.unwrap_or_default()).into_bytes()
}

fn function_key(form: Form, event: &KeyEvent, flags: KittyFlags) -> Vec<u8> {
    let tail = tail(event, flags);
    match form {
        // `CSI R` is a report of the cursor's position.
        Form::Letter('R') => format!("\x1b[13{tail}~"),
        Form::Letter(letter) if tail.is_empty() => format!("\x1b[{letter}"),
        Form::Letter(letter) => format!("\x1b[1{tail}{letter}"),
        Form::Tilde(number) => format!("\x1b[{number}{tail}~"),
        Form::HighFunction(n) => format!("\x1b[{}{tail}u", F13 + u32::from(n.saturating_sub(13))),
        Form::Named(code, _) => format!("\x1b[{code}{tail}u"),
    }
    .into_bytes()
}

fn text_key(event: &KeyEvent, flags: KittyFlags, modes: &InputModes) -> Vec<u8> {
    let Some(code) = text_code(event.key) else { return Vec::new() };
    let is_all = flags.contains(KittyFlags::REPORT_ALL_AS_ESCAPES);
    if !is_all {
        let is_plain = match event.key {
            Key::Char(_) => modifier_bits(event.mods) & !1 == 0,
            Key::Enter | Key::Tab | Key::Backspace => modifier_bits(event.mods) == 0,
            _ => false,
        };
        if is_plain && event.phase == KeyPhase::Release {
            // Text has no release, and a bare Enter must work in a shell that a crash left behind.
            return Vec::new();
        }
        let is_legacy = !flags.contains(KittyFlags::DISAMBIGUATE) && event.phase == KeyPhase::Press;
        if is_plain || is_legacy {
            return super::legacy::encode(event, modes);
        }
    }
    let mut words = format!("\x1b[{code}");
    if let Key::Char(c) = event.key
        && flags.contains(KittyFlags::REPORT_ALTERNATES)
        && event.mods.is_shift
        && u32::from(c) != code
    {
        words.push_str(&format!(":{}", u32::from(c)));
    }
    let tail = tail(event, flags);
    words.push_str(&tail);
    if let Some(text) = text_of(event).filter(|_| is_all && flags.contains(KittyFlags::REPORT_TEXT)) {
        // The field of the modifiers may be empty but not absent.
        let missing = if tail.is_empty() { ";" } else { "" };
        words.push_str(&format!("{missing};{}", u32::from(text)));
    }
    words.push('u');
    words.into_bytes()
}

/// The code of a key that has one: the unshifted character, or the control character of old.
pub(super) fn text_code(key: Key) -> Option<u32> {
    match key {
        Key::Char(c) => Some(u32::from(super::other_case(c, c.to_lowercase()))),
        Key::Enter => Some(13),
        Key::Tab | Key::BackTab => Some(9),
        Key::Backspace => Some(127),
        Key::Esc => Some(27),
        _ => None,
    }
}

/// The code of a key on the keypad.
fn keypad_code(key: Key) -> Option<u32> {
    const NAMED: [Key; 11] = [
        Key::Left,
        Key::Right,
        Key::Up,
        Key::Down,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Insert,
        Key::Delete,
        Key::KeypadBegin,
    ];
    match key {
        Key::Char(c @ '0'..='9') => Some(57399 + u32::from(c) - u32::from('0')),
        Key::Char(c) => {
            (57409..).zip("./*-+\r=,".chars()).find(|(_, known)| *known == c).map(|(code, _)| code)
        }
        Key::Enter => Some(57414),
        _ => (57417..).zip(NAMED).find(|(_, known)| *known == key).map(|(code, _)| code),
    }
}

/// What the key types into a text field; a release types nothing.
fn text_of(event: &KeyEvent) -> Option<char> {
    match event.key {
        Key::Char(c) if event.phase != KeyPhase::Release && modifier_bits(event.mods) & !1 == 0 => Some(c),
        _ => None,
    }
}

/// `;modifiers`, `;modifiers:phase` or nothing.
fn tail(event: &KeyEvent, flags: KittyFlags) -> String {
    let modifiers = modifier_bits(event.mods) + 1;
    match event.phase {
        KeyPhase::Release => format!(";{modifiers}:3"),
        KeyPhase::Repeat if flags.contains(KittyFlags::REPORT_EVENTS) => format!(";{modifiers}:2"),
        KeyPhase::Press | KeyPhase::Repeat if modifiers > 1 => format!(";{modifiers}"),
        KeyPhase::Press | KeyPhase::Repeat => String::new(),
    }
}
