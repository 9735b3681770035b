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

words! {
    /// How an attempt ended; `lost` is not failed work: nobody knows how far it came.
    Termination {
        /// Its worker reported, success or failure.
        Reported = "reported",
        /// It never got as far as its brief.
        StartFailed = "start_failed",
        /// Its process or terminal went without a report.
        Lost = "lost",
        Stopped = "stopped",
        Abandoned = "abandoned",
        /// Its Task was set to an end by `task-update`.
        SetByHand = "set_by_hand",
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
    /// How it ended, once it did.
    #[serde(default)]
    pub termination: Option<Termination>,
    pub dispatched_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_heartbeat_at: Option<Timestamp>,
    pub last_phase: Option<String>,
    /// Set when the attempt may no longer report (contract 2.9 `capability_revoked_at`).
    pub revoked_at: Option<Timestamp>,
    /// When it was marked quiet, while it is.
    #[serde(default)]
    pub quiet_since: Option<Timestamp>,
    /// Since when its wall time counts, where that is not since it began: the person let it go on.
    #[serde(default)]
    pub wall_from: Option<Timestamp>,
    /// The same for its silence.
    #[serde(default)]
    pub silence_from: Option<Timestamp>,
    /// Counts as a sign of life: the clock jumped over the silence before it.
    #[serde(default)]
    pub sign_from: Option<Timestamp>,
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

/// Silence longer than this is marked (contract 4.9). Advisory only.
pub const STALE_AFTER_MS: u64 = 10 * 60 * 1000;

impl Dispatch {
    /// When its work began: when it got its brief, else when it was accepted.
    pub fn began_at(&self) -> Timestamp {
        self.dispatched_at.unwrap_or(self.created_at)
    }

    /// The last sign of life, output of its terminal included.
    pub fn last_sign(&self, output_at: Option<Timestamp>) -> Timestamp {
        let signs = [self.last_heartbeat_at, self.sign_from, output_at];
        signs.into_iter().flatten().fold(self.began_at(), Timestamp::max)
    }

    /// The clock went `ahead_ms` further than time passed: limits do not count that. A silence that
    /// began later than the clock says now is counted anew.
    pub fn move_with_clock(&mut self, output_at: Option<Timestamp>, ahead_ms: i64) {
        let moved = |at: Timestamp| Timestamp(at.0.saturating_add(ahead_ms));
        let sign = self.last_sign(output_at);
        self.wall_from = Some(moved(self.wall_from.unwrap_or(self.began_at())));
        self.silence_from = self.silence_from.map(moved);
        self.sign_from = Some(moved(sign));
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
