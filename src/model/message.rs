//! Message: one row of mail, in one mailbox, numbered in the order of acceptance.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, MessageId, PaneKey, RunId, TerminalId};
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// The types of messages (contract 4.1).
    MessageType {
        Status = "status",
        Dispatch = "dispatch",
        WorkerDone = "worker_done",
        MergeReady = "merge_ready",
        Escalation = "escalation",
        Handoff = "handoff",
        DecisionGate = "decision_gate",
        Question = "question",
        Heartbeat = "heartbeat",
    }
}

words! {
    /// How loudly a message is shown; it never reorders mail (contract 4.4).
    Priority {
        Normal = "normal",
        High = "high",
        Urgent = "urgent",
    }
}

words! {
    /// What a worker says of its work.
    ReportedOutcome {
        Succeeded = "succeeded",
        Failed = "failed",
    }
}

/// Where a message lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mailbox {
    /// The coordinator's inbox of a Run.
    Run(RunId),
    /// One worker attempt.
    Dispatch(DispatchId),
    /// A plain terminal, for mail outside any Run.
    Terminal(TerminalId),
    /// The person (design 12).
    User,
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Dispatch(id) => write!(f, "dispatch:{id}"),
            Self::Terminal(id) => write!(f, "{id}"),
            Self::User => f.write_str("user"),
        }
    }
}

impl From<Mailbox> for String {
    fn from(mailbox: Mailbox) -> Self {
        mailbox.to_string()
    }
}

impl TryFrom<String> for Mailbox {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a mailbox"))
    }
}

impl Mailbox {
    /// Reads `run:<id>`, `dispatch:<id>`, a terminal handle or `user`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "user" {
            return Some(Self::User);
        }
        match text.split_once(':') {
            Some(("run", id)) => RunId::parse(id).ok().map(Self::Run),
            Some(("dispatch", id)) => DispatchId::parse(id).ok().map(Self::Dispatch),
            Some(_) => None,
            None => TerminalId::parse(text).ok().map(Self::Terminal),
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub run_id: Option<RunId>,
    pub dispatch_id: Option<DispatchId>,
    /// `dispatch:<id>`, a terminal handle, `run:<id>` or `user`.
    pub from_handle: String,
    pub mailbox: Mailbox,
    pub subject: String,
    pub body: String,
    pub kind: MessageType,
    pub priority: Priority,
    pub thread_id: Option<String>,
    pub payload: Option<serde_json::Value>,
    pub is_read: bool,
    /// Global acceptance order.
    pub sequence: u64,
    pub created_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
    pub sender_pane_key: Option<PaneKey>,
}

/// The longest body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// The longest subject kept, in characters.
pub const MAX_SUBJECT_CHARS: usize = 300;
