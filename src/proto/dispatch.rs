//! Dispatch: calls and replies.

use super::row::DispatchRow;
use super::{Call, CallKind, call};
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, TerminalId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `dispatch`: an attempt without a Worker, in a terminal that runs already (contract 11.3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dispatch {
    pub task: String,
    /// Not needed for a dry run.
    pub to: Option<String>,
    pub run: Option<String>,
    pub from: Option<String>,
    /// Type the brief into the terminal.
    pub is_inject: bool,
    pub is_dry_run: bool,
    pub is_preamble_returned: bool,
}

impl Call for Dispatch {
    const METHOD: &'static str = "orchestration.dispatch";
    type Reply = Dispatched;
    fn kind(&self) -> CallKind {
        if self.is_dry_run { CallKind::Read } else { CallKind::Mutation }
    }
}

/// The reply of `dispatch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dispatched {
    /// None for a dry run.
    pub dispatch: Option<DispatchRow>,
    /// The brief was handed to the terminal's queue.
    pub injected: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// `dispatch-show`: the newest attempt at a Task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DispatchShow {
    pub task: String,
    pub is_preamble: bool,
    pub is_history: bool,
    pub from: Option<String>,
}

/// The reply of `dispatch-show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchShown {
    pub dispatch: Option<DispatchRow>,
    /// The brief, as the worker gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<String>,
    /// Every attempt, oldest first, and what happened to the Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// The attempts at a Task and its timeline, both oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    pub attempts: Vec<DispatchRow>,
    pub timeline: Vec<Moment>,
}

/// One moment in the life of a Task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The number of its event.
    pub seq: u64,
    pub at: Timestamp,
    /// What happened, in a word or two: `started`, `question`, `refused report`, `lost`, …
    pub what: String,
    /// The number of the attempt it is about.
    pub attempt: Option<u32>,
    pub dispatch_id: Option<DispatchId>,
    pub terminal_id: Option<TerminalId>,
    /// A terminal handle, `user` or `orca`.
    pub by: String,
    /// Why, or what exactly; one line.
    pub detail: String,
}

call!(DispatchShow, "orchestration.dispatchShow", Read, DispatchShown);
