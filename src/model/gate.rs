//! Gate: a decision that blocks a Task until somebody resolves it, or that is asked about a running attempt.

use super::limit::LimitAsked;
use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{GateId, RunId, TaskId};
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Gate (contract 3.7).
    GateState {
        Pending = "pending",
        Resolved = "resolved",
        Timeout = "timeout",
    }
}

/// A Gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub id: GateId,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub question: String,
    /// Advisory: the resolution is free text.
    pub options: Vec<String>,
    pub status: GateState,
    pub resolution: Option<String>,
    /// `user` or a terminal handle.
    pub resolved_by: Option<String>,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    /// It asks about a limit that a running attempt passed, and holds no Task back.
    #[serde(default)]
    pub limit: Option<LimitAsked>,
}
