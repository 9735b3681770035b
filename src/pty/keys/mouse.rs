//! Mouse events: SGR, UTF-8 and X10 writing, filtered by what the program asked for.
//!
//! Shift belongs to orca (selection), so an event with Shift never reaches the program.

use crate::base::input::{Key, KeyEvent, Mods, MouseButton, MouseEvent, MouseKind};
use crate::pty::modes::{InputModes, MouseEncoding, MouseMode};

/// Arrow keys for each notch of the wheel.
const ARROWS_PER_NOTCH: usize = 3;

/// Who is served by the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wheel {
    /// The program asked for mouse events.
    Program,
    /// The program is on the alternate screen: arrow keys.
    Arrows,
    /// Nobody in the pane: orca scrolls its history.
    History,
}

/// Who gets a turn of the wheel over a pane with these modes.
pub fn wheel_target(modes: &InputModes) -> Wheel {
    if modes.mouse != MouseMode::Off {
        Wheel::Program
    } else if modes.is_alt_screen && modes.is_alternate_scroll {
        Wheel::Arrows
    } else {
        Wheel::History
    }
}

/// The bytes of a mouse event; empty when the program does not want it or cannot be told.
pub(super) fn encode(event: &MouseEvent, modes: &InputModes) -> Vec<u8> {
    if event.mods.is_shift {
        return Vec::new();
    }
    if let Some(key) = wheel_key(event.kind).filter(|_| wheel_target(modes) == Wheel::Arrows) {
        let press = KeyEvent::press(key, Mods::NONE);
        return super::key(&press, modes).repeat(ARROWS_PER_NOTCH);
    }
    if !is_wanted(event.kind, modes.mouse) {
        return Vec::new();
    }
    let is_release = matches!(event.kind, MouseKind::Up(_));
    let mut code = button_code(event.kind);
    if modes.mouse != MouseMode::Press {
        code += u32::from(event.mods.is_alt) * 8 + u32::from(event.mods.is_ctrl) * 16;
    }
    let (x, y) = (u32::from(event.col) + 1, u32::from(event.row) + 1);
    match modes.mouse_encoding {
        MouseEncoding::Sgr => {
            format!("\x1b[<{code};{x};{y}{}", if is_release { 'm' } else { 'M' }).into_bytes()
        }
        MouseEncoding::X10 => old_form(code, is_release, x, y, 255).unwrap_or_default(),
        MouseEncoding::Utf8 => old_form(code, is_release, x, y, 2047).unwrap_or_default(),
    }
}

/// `CSI M` and three characters; None where a value is past `most`, the last that can be said.
fn old_form(code: u32, is_release: bool, x: u32, y: u32, most: u32) -> Option<Vec<u8>> {
    // Which button came up cannot be said.
    let code = if is_release { code | 3 } else { code };
    let mut bytes = b"\x1b[M".to_vec();
    for value in [code + 32, x + 32, y + 32] {
        if value > most {
            return None;
        }
        match u8::try_from(value) {
            Ok(byte) if most == 255 => bytes.push(byte),
            _ => bytes.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Some(bytes)
}

fn is_wanted(kind: MouseKind, mode: MouseMode) -> bool {
    match mode {
        MouseMode::Off => false,
        MouseMode::Press => !matches!(kind, MouseKind::Up(_) | MouseKind::Drag(_) | MouseKind::Moved),
        MouseMode::PressRelease => !matches!(kind, MouseKind::Drag(_) | MouseKind::Moved),
        MouseMode::ButtonMotion => !matches!(kind, MouseKind::Moved),
        MouseMode::AnyMotion => true,
    }
}

fn button_code(kind: MouseKind) -> u32 {
    match kind {
        MouseKind::Down(button) | MouseKind::Up(button) => button_number(button),
        MouseKind::Drag(button) => button_number(button) + 32,
        MouseKind::Moved => 35,
        MouseKind::WheelUp => 64,
        MouseKind::WheelDown => 65,
        MouseKind::WheelLeft => 66,
        MouseKind::WheelRight => 67,
    }
}

fn button_number(button: MouseButton) -> u32 {
    match button {
        MouseButton::Left => 0,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
    }
}

fn wheel_key(kind: MouseKind) -> Option<Key> {
    match kind {
        MouseKind::WheelUp => Some(Key::Up),
        MouseKind::WheelDown => Some(Key::Down),
        MouseKind::Down(_)
        | MouseKind::Up(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::WheelLeft
        | MouseKind::WheelRight => None,
    }
}
