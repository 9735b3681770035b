//! Dispatch: one attempt at one Task by one terminal. It carries all lifecycle authority.

use super::{Refused, words};
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, IncarnationId, PaneKey, RunId, TaskId, TerminalId};
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Dispatch (contract 3.2).
    DispatchState {
        Pending = "pending",
        Dispatched = "dispatched",
        Completed = "completed",
        Failed = "failed",
        CircuitBroken = "circuit_broken",
    }
}

words! {
    /// What can happen to a Dispatch.
    DispatchInput {
        /// The agent was given its brief.
        Confirm = "be confirmed",
        /// An accepted report of success, or `task-update --status completed`.
        Succeed = "succeed",
        /// Any end without success.
        Fail = "fail",
        /// The third failure in a row.
        Break = "trip the circuit breaker",
    }
}

impl DispatchState {
    /// The next state, or why there is none.
    pub fn next(self, input: DispatchInput) -> Result<Self, Refused> {
        use DispatchInput as I;
        match self {
            Self::Pending | Self::Dispatched => match input {
                I::Confirm => Ok(Self::Dispatched),
                // A fast worker may report before its start was confirmed (design 7.3).
                I::Succeed => Ok(Self::Completed),
                I::Fail => Ok(Self::Failed),
                I::Break => Ok(Self::CircuitBroken),
            },
            Self::Completed | Self::Failed | Self::CircuitBroken => {
                Err(Refused { noun: "dispatch", state: self.as_str(), input: input.as_str() })
            }
        }
    }

    /// The attempt still runs.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::Dispatched)
    }
}

/// A Dispatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    pub id: DispatchId,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The number of this attempt at its Task, from 1.
    pub attempt: u32,
    pub assignee_handle: Option<TerminalId>,
    pub assignee_pane_key: Option<PaneKey>,
    pub process_incarnation: Option<IncarnationId>,
    pub status: DispatchState,
    /// Failures in a row up to and including this attempt.
    pub failure_count: u32,
    pub last_failure: Option<String>,
    pub dispatched_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_heartbeat_at: Option<Timestamp>,
    pub last_phase: Option<String>,
    /// Set when the attempt may no longer report (contract 2.9 `capability_revoked_at`).
    pub revoked_at: Option<Timestamp>,
    /// 1 for a worker of a root coordinator (contract 3.10).
    pub depth: u32,
    /// A terminal handle or `user`.
    pub creator_handle: String,
    pub retry_of: Option<DispatchId>,
    /// The secret-like word that names the worker (design 6). Never shown in rows.
    pub proof: String,
    /// False for the low-level `dispatch`, which has no Worker row.
    pub is_supervised: bool,
}

/// Heartbeats older than this are called stale (contract 4.9). Advisory only.
pub const STALE_AFTER_MS: u64 = 10 * 60 * 1000;

impl Dispatch {
    /// Milliseconds since the last heartbeat, once both it and the Dispatch are over ten minutes
    /// old. It only marks; nothing is decided by it (design 7.1).
    pub fn quiet_ms(&self, now: Timestamp) -> Option<u64> {
        let began = self.dispatched_at.unwrap_or(self.created_at);
        let age = now.since_ms(self.last_heartbeat_at.unwrap_or(began));
        (self.status.is_active() && now.since_ms(began) >= STALE_AFTER_MS && age >= STALE_AFTER_MS)
            .then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_input() {
        let mut table = String::new();
        for state in DispatchState::ALL {
            for input in DispatchInput::ALL {
                let next = state.next(*input).map_or("-", DispatchState::as_str);
                table.push_str(&format!("{state:<14} {input:<26} {next}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }
}
