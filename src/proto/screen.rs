//! What an attached client and the server say to each other besides calls.
//!
//! Control frames are these enums as JSON. Screen frames carry `<terminal id>\0<patch>`, the patch
//! as `pty::snapshot` encodes it.

use super::envelope::{Request, Response};
use super::event::Change;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::base::size::TermSize;
use serde::{Deserialize, Serialize};

/// From a client to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "body")]
pub enum ClientFrame {
    /// A call; its response carries the same id. Attached clients may have many open at once.
    Request(Request),
    /// From now on this connection wants changes and screens, beginning with a snapshot.
    Attach(Attach),
    /// Something a person did to a pane.
    Input { terminal: TerminalId, event: InputEvent },
    /// What the outer terminal told of itself since.
    Host(HostFacts),
    /// The panes the client shows now, and which of them has its focus.
    View(View),
    /// The wish for lines of a terminal's history, answered by [`ServerFrame::Lines`].
    Lines(LinesWish),
    /// The wish for places of a text in history, answered by [`ServerFrame::Found`].
    Search(SearchWish),
}

/// Which logical lines a client wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinesWish {
    pub terminal: TerminalId,
    /// Comes back with the answer.
    pub id: u64,
    /// The number of the first one; without it those at the end, with the whole screen among them.
    pub from: Option<u64>,
    pub n_lines: u32,
}

/// What a client searches for. One answer covers a part of the lines; the client asks on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchWish {
    pub terminal: TerminalId,
    /// Comes back with the answer.
    pub id: u64,
    /// Capitals matter only if there are any in it.
    pub text: String,
    /// Lines before this number, the newest of them first.
    pub until: u64,
}

/// The wish to be an attached client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attach {
    pub contract: u32,
    pub version: String,
    /// What the outer terminal told of itself so far, for the answers that panes get.
    #[serde(default)]
    pub host: HostFacts,
}

/// Colours and abilities of the outer terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostFacts {
    pub foreground: Option<(u8, u8, u8)>,
    pub background: Option<(u8, u8, u8)>,
    pub cursor: Option<(u8, u8, u8)>,
    /// Of the first 16 palette colours those that are known, by index.
    pub palette: Vec<(u8, (u8, u8, u8))>,
    /// Height and width of a cell in pixels.
    pub cell_px: Option<(u16, u16)>,
    pub is_dark: Option<bool>,
    pub has_kitty_keys: bool,
}

/// What a client shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct View {
    pub panes: Vec<ViewPane>,
    pub focus: Option<TerminalId>,
    /// The person just used this client: pane sizes follow it (issue 2, part 1).
    pub is_active: bool,
}

/// One pane that a client shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewPane {
    pub terminal: TerminalId,
    pub size: TermSize,
}

/// The reason of a server that a person ended with all terminals: a screen that came back would start
/// the next one.
pub const STOPPED: &str = "stop";

/// From the server to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "body")]
pub enum ServerFrame {
    Response(Response),
    /// The server took the client in; a snapshot follows.
    Attached {
        runtime_id: String,
    },
    /// Changed rows and events, in commit order.
    Change(Box<Change>),
    /// Lines of history as `pty::page` encodes them, base64; None where nothing of the terminal is
    /// left.
    Lines {
        terminal: TerminalId,
        id: u64,
        page: Option<String>,
    },
    /// Places of a searched text in the lines `from..until`, in order: line, column, columns.
    Found {
        terminal: TerminalId,
        id: u64,
        matches: Vec<(u64, usize, usize)>,
        from: u64,
        /// The oldest line there is; nothing more to ask for where `from` is not after it.
        oldest: u64,
    },
    /// A pane wrote to the clipboard (OSC 52) and the policy lets it through.
    Clipboard {
        terminal: TerminalId,
        text: String,
    },
    /// A bell or notification of a pane, for the outer terminal.
    Notice {
        terminal: TerminalId,
        text: String,
        is_bell: bool,
    },
    /// Go to this terminal: somebody asked for it by `terminal switch`.
    Focus {
        terminal: TerminalId,
    },
    /// A call waits; keeps the connection alive.
    Keepalive {
        id: String,
    },
    /// The server goes away; unless it was [`STOPPED`] the client may attach to the next one.
    Closing {
        reason: String,
    },
}
