//! Host events as messages. A thread of its own reads them, because reading blocks.

use super::msg::Msg;
use crate::base::input::{Key, KeyEvent, KeyPhase, Mods, MouseButton, MouseEvent, MouseKind};
use crossterm::event::{self as host, Event, KeyCode, KeyEventKind, KeyEventState, KeyModifiers};

/// Reads host events for ever and hands each to `send`, until that says stop or the terminal ends.
pub fn read_all(mut send: impl FnMut(Msg) -> bool) {
    while let Ok(event) = host::read() {
        if let Some(msg) = message(event)
            && !send(msg)
        {
            return;
        }
    }
}

/// The message of a host event; keys that no program could be told of are none.
pub fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(event) => key(&event).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Mouse(event) => Some(Msg::Mouse(mouse(&event))),
        Event::FocusGained => Some(Msg::HostFocus(true)),
        Event::FocusLost => Some(Msg::HostFocus(false)),
        Event::Resize(n_cols, n_rows) => Some(Msg::Resize { n_cols, n_rows }),
    }
}

fn mods(modifiers: KeyModifiers) -> Mods {
    Mods {
        is_shift: modifiers.contains(KeyModifiers::SHIFT),
        is_alt: modifiers.intersects(KeyModifiers::ALT | KeyModifiers::META),
        is_ctrl: modifiers.contains(KeyModifiers::CONTROL),
        is_super: modifiers.contains(KeyModifiers::SUPER),
    }
}

fn key(event: &host::KeyEvent) -> Option<KeyEvent> {
    let mut mods = mods(event.modifiers);
    let key = match event.code {
        KeyCode::Char(c) => {
            // crossterm may drop Shift beside other modifiers (`terminal.md` 5.8).
            mods.is_shift |= c.is_uppercase() && (mods.is_ctrl || mods.is_alt);
            Key::Char(c)
        }
        // Ctrl+Space on hosts without an extended protocol.
        KeyCode::Null => {
            mods.is_ctrl = true;
            Key::Char(' ')
        }
        KeyCode::F(number) => Key::F(number),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Esc,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Insert => Key::Insert,
        KeyCode::Delete => Key::Delete,
        KeyCode::KeypadBegin => Key::KeypadBegin,
        KeyCode::Menu => Key::Menu,
        KeyCode::PrintScreen => Key::PrintScreen,
        KeyCode::Pause => Key::Pause,
        _ => return None,
    };
    let phase = match event.kind {
        KeyEventKind::Press => KeyPhase::Press,
        KeyEventKind::Repeat => KeyPhase::Repeat,
        KeyEventKind::Release => KeyPhase::Release,
    };
    Some(KeyEvent { key, mods, phase, is_keypad: event.state.contains(KeyEventState::KEYPAD) })
}

fn button(button: host::MouseButton) -> MouseButton {
    match button {
        host::MouseButton::Left => MouseButton::Left,
        host::MouseButton::Middle => MouseButton::Middle,
        host::MouseButton::Right => MouseButton::Right,
    }
}

fn mouse(event: &host::MouseEvent) -> MouseEvent {
    let kind = match event.kind {
        host::MouseEventKind::Down(pressed) => MouseKind::Down(button(pressed)),
        host::MouseEventKind::Up(released) => MouseKind::Up(button(released)),
        host::MouseEventKind::Drag(held) => MouseKind::Drag(button(held)),
        host::MouseEventKind::Moved => MouseKind::Moved,
        host::MouseEventKind::ScrollUp => MouseKind::WheelUp,
        host::MouseEventKind::ScrollDown => MouseKind::WheelDown,
        host::MouseEventKind::ScrollLeft => MouseKind::WheelLeft,
        host::MouseEventKind::ScrollRight => MouseKind::WheelRight,
    };
    MouseEvent { kind, row: event.row, col: event.column, mods: mods(event.modifiers) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        key(&host::KeyEvent::new(code, modifiers)).unwrap()
    }

    #[test]
    fn shift_survives_beside_other_modifiers() {
        let event = typed(KeyCode::Char('X'), KeyModifiers::CONTROL);
        assert!(event.mods.is_shift && event.mods.is_ctrl);
        assert_eq!(typed(KeyCode::Char('A'), KeyModifiers::SHIFT).key, Key::Char('A'));
        assert_eq!(typed(KeyCode::BackTab, KeyModifiers::SHIFT).key, Key::BackTab);
        assert!(typed(KeyCode::Null, KeyModifiers::NONE).mods.is_ctrl);
        assert!(key(&host::KeyEvent::new(KeyCode::CapsLock, KeyModifiers::NONE)).is_none());
    }

    #[test]
    fn the_keypad_is_told_apart_where_the_host_tells() {
        let pressed = host::KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert!(!key(&pressed).unwrap().is_keypad);
        let on_keypad = host::KeyEvent { state: KeyEventState::KEYPAD, ..pressed };
        assert!(key(&on_keypad).unwrap().is_keypad);
    }
}
