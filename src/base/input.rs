//! What a person does at the keyboard and with the mouse, before it becomes bytes for a program.
//!
//! The client sends these values as they are; the server turns them into bytes with the modes the
//! pane has at that moment, so a mode change can never race a key.

use serde::{Deserialize, Serialize};

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Key {
    /// A printable character as typed (already shifted: `A`, `!`).
    Char(char),
    /// F1 to F35.
    F(u8),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Esc,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    Delete,
    /// The middle of the keypad while it moves the cursor.
    KeypadBegin,
    Menu,
    PrintScreen,
    Pause,
}

/// The modifiers held with a key or a mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Mods {
    pub is_shift: bool,
    pub is_alt: bool,
    pub is_ctrl: bool,
    pub is_super: bool,
}

impl Mods {
    /// No modifier.
    pub const NONE: Self = Self { is_shift: false, is_alt: false, is_ctrl: false, is_super: false };
}

/// Whether a key went down, stayed down or came up. Hosts without the kitty protocol only press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyPhase {
    #[default]
    Press,
    Repeat,
    Release,
}

/// One key event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyEvent {
    pub key: Key,
    #[serde(default)]
    pub mods: Mods,
    #[serde(default)]
    pub phase: KeyPhase,
    /// It is a key of the keypad. Only hosts with the kitty protocol tell, and not where it types a
    /// digit or an operator without Ctrl or Alt.
    #[serde(default)]
    pub is_keypad: bool,
}

impl KeyEvent {
    /// A key that goes down, on the main part of the keyboard.
    pub const fn press(key: Key, mods: Mods) -> Self {
        Self { key, mods, phase: KeyPhase::Press, is_keypad: false }
    }
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MouseKind {
    Down(MouseButton),
    Up(MouseButton),
    Drag(MouseButton),
    Moved,
    WheelUp,
    WheelDown,
    WheelLeft,
    WheelRight,
}

/// A mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MouseButton {
    Left,
    Middle,
    Right,
}

/// A mouse event in the pane's own coordinates, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MouseEvent {
    pub kind: MouseKind,
    pub row: u16,
    pub col: u16,
    #[serde(default)]
    pub mods: Mods,
}

/// One thing a person did to a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputEvent {
    Key(KeyEvent),
    /// Pasted text, as the host delivered it.
    Paste(String),
    Mouse(MouseEvent),
    /// The pane gained (`true`) or lost the focus.
    Focus(bool),
}
