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
    /// The panes the client shows now, and which of them has its focus.
    View(View),
}

/// The wish to be an attached client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attach {
    pub contract: u32,
    pub version: String,
    /// What the outer terminal told of itself, for the answers that panes get.
    #[serde(default)]
    pub host: HostFacts,
}

/// Colours and abilities of the outer terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostFacts {
    pub foreground: Option<(u8, u8, u8)>,
    pub background: Option<(u8, u8, u8)>,
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
    /// Rows scrolled back into history; 0 is the live screen. A scrolled view is answered with
    /// [`ServerFrame::History`].
    #[serde(default)]
    pub scroll: u32,
}

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
    /// Rows of history for a scrolled view, as one screen patch encodes them, base64.
    History {
        terminal: TerminalId,
        scroll: u32,
        n_history_rows: u32,
        patch: String,
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
    /// The server goes away (`restart`, `stop`); the client may attach to the next one.
    Closing {
        reason: String,
    },
}
