//! Task: a unit of work with dependencies. It outlives its attempts.

use super::{Refused, words};
use crate::base::clock::Timestamp;
use crate::base::id::{IncarnationId, PaneKey, RunId, TaskId};
use crate::base::text;
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Task (contract 3.1).
    TaskState {
        Pending = "pending",
        Ready = "ready",
        Dispatched = "dispatched",
        Completed = "completed",
        Failed = "failed",
        Blocked = "blocked",
    }
}

words! {
    /// What can happen to a Task.
    TaskInput {
        /// The last unmet dependency completed, or the dependencies were changed to met ones.
        DependenciesMet = "have its dependencies met",
        /// The dependencies were changed to unmet ones, or a gate fell while some are unmet.
        DependenciesUnmet = "wait for dependencies",
        /// A first or plain attempt was accepted.
        Dispatch = "be dispatched",
        /// `worker-start --retry-of` was accepted.
        Retry = "be retried",
        /// `worker_done --outcome succeeded` was accepted.
        Succeed = "succeed",
        /// A reported failure, a failed start, or the breaker.
        Fail = "fail",
        /// An attempt ended without a report and the breaker did not trip.
        LoseAttempt = "lose its attempt",
        /// Stop, abandon, an unknown start, or a gate.
        Block = "be blocked",
        /// The last gate was resolved and the dependencies are met.
        Unblock = "be unblocked",
        /// An unknown start was proven to run after all.
        ProveRunning = "be proven running",
    }
}

impl TaskState {
    /// The next state, or why there is none.
    pub fn next(self, input: TaskInput) -> Result<Self, Refused> {
        use TaskInput as I;
        let refused = Err(Refused { noun: "task", state: self.as_str(), input: input.as_str() });
        match self {
            Self::Pending => match input {
                I::DependenciesMet => Ok(Self::Ready),
                I::DependenciesUnmet => Ok(Self::Pending),
                I::Block => Ok(Self::Blocked),
                I::Dispatch
                | I::Retry
                | I::Succeed
                | I::Fail
                | I::LoseAttempt
                | I::Unblock
                | I::ProveRunning => refused,
            },
            Self::Ready => match input {
                I::Dispatch => Ok(Self::Dispatched),
                I::DependenciesMet => Ok(Self::Ready),
                I::DependenciesUnmet => Ok(Self::Pending),
                I::Block => Ok(Self::Blocked),
                I::Retry | I::Succeed | I::Fail | I::LoseAttempt | I::Unblock | I::ProveRunning => refused,
            },
            Self::Dispatched => match input {
                I::Succeed => Ok(Self::Completed),
                I::Fail => Ok(Self::Failed),
                I::LoseAttempt => Ok(Self::Ready),
                I::Block => Ok(Self::Blocked),
                I::ProveRunning => Ok(Self::Dispatched),
                I::DependenciesMet | I::DependenciesUnmet | I::Dispatch | I::Retry | I::Unblock => refused,
            },
            Self::Completed => refused,
            Self::Failed => match input {
                I::Retry => Ok(Self::Dispatched),
                I::Block => Ok(Self::Blocked),
                I::DependenciesMet
                | I::DependenciesUnmet
                | I::Dispatch
                | I::Succeed
                | I::Fail
                | I::LoseAttempt
                | I::Unblock
                | I::ProveRunning => refused,
            },
            Self::Blocked => match input {
                I::Retry | I::ProveRunning => Ok(Self::Dispatched),
                I::Unblock | I::LoseAttempt => Ok(Self::Ready),
                I::DependenciesUnmet => Ok(Self::Pending),
                I::Block => Ok(Self::Blocked),
                // A worker that was being stopped may still report first: the late report wins.
                I::Succeed => Ok(Self::Completed),
                I::Fail => Ok(Self::Failed),
                I::DependenciesMet | I::Dispatch => refused,
            },
        }
    }

    /// No attempt can change it any more without a person's or coordinator's word.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// Who created a Task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Creator {
    /// A terminal handle or `user`.
    pub handle: String,
    pub pane_key: Option<PaneKey>,
    pub incarnation: Option<IncarnationId>,
    pub run_generation: Option<u64>,
}

/// A Task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub run_id: RunId,
    pub parent_id: Option<TaskId>,
    pub created_by: Creator,
    pub task_title: Option<String>,
    pub display_name: Option<String>,
    pub spec: String,
    pub status: TaskState,
    pub deps: Vec<TaskId>,
    pub result: Option<serde_json::Value>,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    /// Consecutive failed attempts; success and `task-update --status ready` reset it (contract 3.3 D).
    pub n_failed_in_row: u32,
    /// Attempts so far; the newest Dispatch has this number.
    pub n_attempts: u32,
}

/// The longest spec, in bytes; a longer text belongs in a file that the spec names.
pub const MAX_SPEC_BYTES: usize = 1 << 20;

/// The title of a Task: the explicit one or the first non-blank spec line, collapsed, at most 80
/// characters (contract 3.1).
pub fn title(explicit: Option<&str>, spec: &str) -> String {
    let explicit = explicit.map(text::one_line).filter(|title| !title.is_empty());
    let title = explicit.or_else(|| spec.lines().map(text::one_line).find(|line| !line.is_empty()));
    text::cut_chars(&title.unwrap_or_default(), 80)
}

/// The display name: the explicit one, at most 160 characters, else the title (contract 3.1).
pub fn display_name(explicit: Option<&str>, title: &str) -> String {
    let explicit = explicit.map(text::one_line).filter(|name| !name.is_empty());
    text::cut_chars(&explicit.unwrap_or_else(|| title.to_owned()), 160)
}

/// The spec on one line of at most 160 characters, and whether something was cut (contract 3.1).
pub fn brief(spec: &str) -> (String, bool) {
    let line = text::one_line(spec);
    let cut = text::cut_chars(&line, 160);
    let is_cut = cut != line;
    (cut, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_input() {
        let mut table = String::new();
        for state in TaskState::ALL {
            for input in TaskInput::ALL {
                let next = state.next(*input).map_or("-", TaskState::as_str);
                table.push_str(&format!("{state:<10} {input:<26} {next}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn titles_come_from_the_first_line_with_text() {
        assert_eq!(title(None, "\n  \n fix\tthe  bug \nmore"), "fix the bug");
        assert_eq!(title(Some(" x "), "y"), "x");
        assert_eq!(title(None, &"a".repeat(99)).chars().count(), 80);
        assert_eq!(brief(&"b ".repeat(100)).0.chars().count(), 160);
    }
}
