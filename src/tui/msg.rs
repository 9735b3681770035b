//! What reaches the model, and what it asks of the world. Both are data.

use super::clipboard::{Order, Outcome};
use crate::base::clock::Timestamp;
use crate::base::id::TerminalId;
use crate::base::input::{KeyEvent, MouseEvent};
use crate::proto::screen::{ClientFrame, HostFacts, ServerFrame};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Msg {
    /// A key of the host's keyboard.
    Key(KeyEvent),
    /// A paste, whole.
    Paste(String),
    /// The mouse, in host coordinates.
    Mouse(MouseEvent),
    /// The host window gained or lost the focus.
    HostFocus(bool),
    /// The host's size in columns and rows.
    Resize { n_cols: u16, n_rows: u16 },
    /// What the host said about itself.
    Host(HostFacts),
    /// A control frame of the server.
    Server(ServerFrame),
    /// A screen patch as it was received.
    Screen { terminal: TerminalId, patch: Vec<u8> },
    /// The connection is gone; a new one is being made.
    Lost { reason: String },
    /// A copy went its way.
    Copied(Outcome),
    /// A text for the editor lies in a file.
    Written { terminal: TerminalId, path: Result<String, String> },
    /// The machine's clock.
    Tick(Timestamp),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Cmd {
    /// To the server.
    Send(ClientFrame),
    /// Onto the person's clipboard.
    Clipboard(Order),
    /// Bytes that the host's terminal reads itself.
    Host(String),
    /// Into a private file, for the editor.
    Write { terminal: TerminalId, text: String },
    /// Ring the host's bell.
    Bell,
    /// Forget what the host shows and draw everything.
    Redraw,
    /// Take the mouse from the host, or leave it to the host's own selection.
    Mouse(bool),
    /// Ask the host for key releases, or no more.
    KeyReleases(bool),
    /// Leave the screen.
    Quit(Left),
}

/// Why a screen is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The person went, or their terminal did; everything keeps running.
    Detached,
    /// The server was stopped, and every terminal with it.
    Stopped,
}
