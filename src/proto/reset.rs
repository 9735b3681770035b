//! Reset: the call that removes work, and its reply.

use super::call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `reset`. Repositories, worktrees, terminals, receipts and the event log stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reset {
    /// `all`, `tasks` or `messages`.
    pub scope: String,
    /// Attempts that are still active may be forgotten; their processes go on.
    pub forgets_active_attempts: bool,
}

/// The reply of `reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WasReset {
    /// The scope.
    pub reset: String,
    pub removed: Removed,
}

/// How many rows went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    pub runs: u64,
    pub tasks: u64,
    pub dispatches: u64,
    pub gates: u64,
    pub messages: u64,
    pub questions: u64,
}

call!(Reset, "orchestration.reset", Mutation, WasReset);
