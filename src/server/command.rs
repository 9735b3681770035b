//! What the engine is told: everything that may change the rows comes through here, in one order.

use crate::base::id::{EffectId, MessageId, TerminalId};
use crate::model::effect::Outcome;
use crate::model::terminal::ProcessEnd;
use crate::ops::cx::CallerFacts;
use crate::proto::AnyCall;
use crate::proto::error::ErrorBody;
use crate::proto::server::ServerStop;
use crate::pty::wire::ChildEnd;
use serde_json::Value;
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};

/// How many commands may wait for the engine; a full channel slows whoever sends.
pub const INBOX: usize = 1_024;

/// Where an answer goes. It counts as closed once the caller is gone.
pub type Reply = oneshot::Sender<Result<Value, ErrorBody>>;

/// A verb of `ops`.
#[derive(Debug)]
pub struct CallCommand {
    pub call: AnyCall,
    /// The parameters as sent, for the ledger.
    pub params: Value,
    pub request_id: Option<String>,
    pub caller: CallerFacts,
    /// Its caller stays until the answer comes. One that does not is answered as soon as the call is
    /// durable, also where it would have to wait.
    pub is_awaited: bool,
    pub reply: Reply,
}

/// One thing for the engine to do.
#[derive(Debug)]
pub enum Command {
    Call(Box<CallCommand>),
    /// An effect came to something.
    Outcome {
        effect: EffectId,
        outcome: Outcome,
    },
    /// The process of a terminal ended by itself.
    ProcessEnded {
        terminal: TerminalId,
        end: ProcessEnd,
    },
    /// The process of a terminal is gone and nobody saw how.
    TerminalLost {
        terminal: TerminalId,
    },
    /// A person typed into a terminal for the first time.
    UserTyped {
        terminal: TerminalId,
    },
    /// What a terminal shows about its agent changed; nothing is stored of it.
    LiveChanged {
        terminal: TerminalId,
    },
    /// Calls may have come as files.
    LookIntoSpool,
    /// A call that came as a file was refused, and its sender is gone.
    SpoolRefused {
        refused: Box<super::spool::Refused>,
        reply: Reply,
    },
    /// The agent in a terminal came to rest; it may have mail.
    Idle {
        terminal: TerminalId,
    },
    /// A line about these messages was not typed: the agent was not at rest any more.
    NudgeRefused {
        messages: Vec<MessageId>,
    },
    /// A screen attached and wants a snapshot, then every change.
    Attach(super::hub::Subscriber),
    /// A screen that was too slow has caught up and wants a fresh snapshot.
    Resync {
        subscriber: u64,
    },
    /// The processes of all terminals are about to be ended; the answer comes when that is on disk.
    EndAll {
        reply: Reply,
    },
    /// The server is asked to end.
    Stop {
        stop: ServerStop,
        reply: Reply,
    },
    /// The last good copy was of another database, or had more; it has this name now.
    CopyKept {
        aside: PathBuf,
    },
    /// The state directory is not there any more.
    Displaced,
}

impl Command {
    /// The end of a terminal's process, as its holder told it.
    pub fn ended(terminal: &TerminalId, end: ChildEnd) -> Self {
        Self::ProcessEnded { terminal: terminal.clone(), end: process_end(end) }
    }
}

/// An end as a holder told it; whose doing it was is in the rows.
pub fn process_end(end: ChildEnd) -> ProcessEnd {
    ProcessEnd { exit_code: end.exit_code, signal: end.signal, at: end.at, closed_by: None }
}

/// The way to the engine.
pub type Inbox = mpsc::Sender<Command>;
