//! Terminal verbs, by what they do: [`create`], [`read`], [`send`], [`wait`], [`close`]. None of them
//! touches a file.

pub mod close;
pub mod create;
pub mod read;
pub mod send;
pub mod wait;

use super::caller;
use super::cx::Cx;
use super::error::{OpError, refuse};
use crate::base::code::ErrorCode;
use crate::model::terminal::{Terminal, TerminalLife};

/// A process runs in it, or is about to.
pub fn is_alive(terminal: &Terminal) -> bool {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => true,
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => false,
    }
}

/// `running`, `exited` or `unknown`.
pub fn status_word(terminal: &Terminal) -> &'static str {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => "running",
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed => "exited",
        TerminalLife::Lost => "unknown",
    }
}

/// The terminal that a verb means: the named one, else the one it runs in.
fn target(cx: &mut Cx<'_>, flag: Option<&str>) -> Result<Terminal, OpError> {
    if let Some(handle) = flag {
        return caller::named_terminal(cx, handle);
    }
    let caller = caller::resolve(cx, None, None)?;
    caller.terminal.ok_or_else(|| {
        refuse(ErrorCode::NoActiveTerminal, "No terminal was named, and this does not run in one.")
            .next_step("orca terminal list --json")
            .into()
    })
}
