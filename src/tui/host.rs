//! The person's own terminal: taken over at the start, given back on every way out.
//!
//! Only this file and `input.rs` touch it. What is drawn comes from `paint`.

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue, terminal};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The terminal is ours and must be given back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Holds the terminal; dropping it gives it back.
#[derive(Debug)]
pub struct Host {
    out: io::Stdout,
}

impl Host {
    /// Takes the terminal: raw mode, alternate screen, bracketed paste, focus reports, the mouse
    /// where wanted, unambiguous keys where the terminal has them (others ignore the request). It is
    /// asked about itself; whoever reads it next reads the answers (see `probe`).
    pub fn take(is_mouse_on: bool) -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            default_hook(panic);
        }));
        let mut host = Self { out: io::stdout() };
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        queue!(
            host.out,
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(flags),
            Print(super::probe::questions())
        )?;
        host.set_mouse(is_mouse_on)?;
        Ok(host)
    }

    /// Takes the mouse, or leaves it to the terminal's own selection.
    pub fn set_mouse(&mut self, is_ours: bool) -> io::Result<()> {
        if is_ours { execute!(self.out, EnableMouseCapture) } else { execute!(self.out, DisableMouseCapture) }
    }

    /// Asks for repeats and releases of keys besides the presses, or no more (kitty flag 2).
    pub fn set_key_releases(&mut self, is_wanted: bool) -> io::Result<()> {
        self.write(if is_wanted { "\x1b[=2;2u" } else { "\x1b[=2;3u" })
    }

    /// Writes drawn bytes in one go.
    pub fn write(&mut self, bytes: &str) -> io::Result<()> {
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Columns and rows.
    pub fn size() -> (u16, u16) {
        terminal::size().unwrap_or((80, 24))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        give_back();
        drop(std::panic::take_hook());
    }
}

/// Gives the terminal back, once. Called on every way out, also from a panic, where nothing can be
/// done about a terminal that takes no more bytes.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    drop(execute!(
        out,
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        cursor::SetCursorStyle::DefaultUserShape,
        LeaveAlternateScreen,
        cursor::Show
    ));
    drop(terminal::disable_raw_mode());
}
