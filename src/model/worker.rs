//! Worker: the supervised side of a Dispatch that `worker-start` made: how far its start came, what
//! it was started with, what it left behind.

use super::repo::AgentStartup;
use super::{Refused, words};
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, TaskId, TerminalId};
use crate::base::text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Worker (contract 3.5). `start_unknown` is told to users as `outcome_unknown`.
    WorkerState {
        Starting = "starting",
        Ready = "ready",
        StartUnknown = "start_unknown",
        Failed = "failed",
        Succeeded = "succeeded",
        Stopping = "stopping",
        StopUnknown = "stop_unknown",
        Stopped = "stopped",
        Abandoned = "abandoned",
    }
}

words! {
    /// What can happen to a Worker.
    WorkerInput {
        BecomeReady = "become ready",
        LoseTrack = "be lost track of",
        Succeed = "succeed",
        Fail = "fail",
        BeginStop = "begin to stop",
        FinishStop = "be stopped",
        Abandon = "be abandoned",
    }
}

impl WorkerState {
    /// The next state, or why there is none.
    pub fn next(self, input: WorkerInput) -> Result<Self, Refused> {
        use WorkerInput as I;
        let refused = Err(Refused { noun: "worker", state: self.as_str(), input: input.as_str() });
        match self {
            Self::Starting | Self::StartUnknown => match input {
                I::BecomeReady => Ok(Self::Ready),
                I::LoseTrack => Ok(Self::StartUnknown),
                // A report may come before the start was confirmed (design 7.3).
                I::Succeed => Ok(Self::Succeeded),
                I::Fail => Ok(Self::Failed),
                I::BeginStop => Ok(Self::Stopping),
                I::FinishStop => Ok(Self::Stopped),
                I::Abandon => Ok(Self::Abandoned),
            },
            Self::Ready => match input {
                I::BecomeReady => Ok(Self::Ready),
                I::Succeed => Ok(Self::Succeeded),
                I::Fail => Ok(Self::Failed),
                I::BeginStop => Ok(Self::Stopping),
                I::Abandon => Ok(Self::Abandoned),
                I::LoseTrack | I::FinishStop => refused,
            },
            Self::Stopping => match input {
                I::LoseTrack => Ok(Self::StopUnknown),
                I::FinishStop => Ok(Self::Stopped),
                // The late report wins over a stop that has not finished.
                I::Succeed => Ok(Self::Succeeded),
                I::Fail => Ok(Self::Failed),
                I::Abandon => Ok(Self::Abandoned),
                I::BecomeReady | I::BeginStop => refused,
            },
            Self::StopUnknown => match input {
                I::FinishStop => Ok(Self::Stopped),
                I::Fail => Ok(Self::Failed),
                I::Abandon => Ok(Self::Abandoned),
                I::BecomeReady | I::LoseTrack | I::Succeed | I::BeginStop => refused,
            },
            Self::Failed | Self::Succeeded | Self::Stopped | Self::Abandoned => refused,
        }
    }

    /// The worker's fate is known.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Failed | Self::Succeeded | Self::Stopped | Self::Abandoned)
    }
}

words! {
    /// How far a Worker came (contract 3.5). After a failed start the stage is the failed one.
    Stage {
        Accepted = "accepted",
        WorktreeCreating = "worktree_creating",
        WorktreeCreated = "worktree_created",
        WorktreeCreate = "worktree_create",
        SetupStart = "setup_start",
        SetupWait = "setup_wait",
        TerminalCreating = "terminal_creating",
        TerminalCreate = "terminal_create",
        AgentReadiness = "agent_readiness",
        AuthorityAttached = "authority_attached",
        InputAccepted = "input_accepted",
        DispatchInput = "dispatch_input",
        Settled = "settled",
        StopRequested = "stop_requested",
        ProcessStopped = "process_stopped",
        StopOutcomeUnknown = "stop_outcome_unknown",
        ProcessExited = "process_exited",
        TerminalMissing = "terminal_missing",
        Abandoned = "abandoned",
        Released = "released",
    }
}

words! {
    /// What is known of the brief's way to the agent. Only ever a mark (design 12).
    PromptDelivery {
        /// Not delivered yet.
        None = "none",
        /// The agent was started with it.
        Argument = "argument",
        /// Pasted, and the agent was seen working afterwards.
        Confirmed = "confirmed",
        /// Pasted; nothing was seen of it.
        Unconfirmed = "unconfirmed",
        /// Held back by a dialog on the agent's screen or by a person's draft.
        Blocked = "blocked",
        /// The agent takes no brief; it reads the environment.
        Environment = "environment",
    }
}

words! {
    /// Where a worker works (contract 5.2).
    Placement {
        Current = "current",
        Existing = "existing",
        NewChild = "new-child",
        NewTopLevel = "new-top-level",
    }
}

/// The flags that a worker was started with, as resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartOptions {
    pub placement: Placement,
    pub agent: Option<String>,
    /// The `--agent` of the call, where it had one.
    #[serde(default)]
    pub requested_agent: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub name: Option<String>,
    #[serde(default)]
    pub repo: Option<String>,
    pub base_branch: Option<String>,
    pub display_name: Option<String>,
    pub comment: Option<String>,
    /// `run`, `skip`, `inherit` as asked; absent where setup does not apply.
    pub setup: Option<String>,
    /// When the agent starts, where the call says so.
    #[serde(default)]
    pub agent_startup: Option<AgentStartup>,
    pub timeout_ms: u64,
    /// The terminal was reused (`--terminal`).
    pub is_reused_terminal: bool,
}

impl StartOptions {
    /// The command that starts the Task again as `tried` was started, in `worktree` where that stands.
    pub fn retry_command(&self, task: &TaskId, tried: &DispatchId, worktree: Option<&str>) -> String {
        let mut words = vec![format!("orca orchestration worker-start --task {task} --retry-of {tried}")];
        let mut add = |flag: &str, value: Option<&str>| {
            words.extend(value.map(|value| format!("{flag} {}", text::shell_quote(value))));
        };
        let standing = worktree.map(|id| format!("id:{id}"));
        match (&standing, self.placement) {
            (_, Placement::Current) => {}
            (Some(_), _) | (None, Placement::Existing) => add("--worktree", standing.as_deref()),
            (None, placement) => {
                add("--worktree", Some(placement.as_str()));
                add("--name", self.name.as_deref());
                add("--repo", self.repo.as_deref());
                add("--base-branch", self.base_branch.as_deref());
            }
        }
        add("--agent", self.agent.as_deref());
        add("--model", self.model.as_deref());
        add("--effort", self.effort.as_deref());
        words.join(" ")
    }
}

/// One thing a start made or used (contract 5.5 Effect).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartEffect {
    /// `worktree`, `terminal`, `setup` or `dispatch_input`.
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<String>,
}

/// How far a worktree was behind its base when a worker was started in it (contract 6.10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub base: String,
    pub n_behind: usize,
    /// Of the newest missing commits, at most five, safe to show.
    pub subjects: Vec<String>,
}

/// A Worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    pub dispatch_id: DispatchId,
    /// The server that accepted the start.
    pub runtime_epoch: String,
    pub state: WorkerState,
    pub stage: Stage,
    pub worktree_id: Option<String>,
    pub agent_terminal_handle: Option<TerminalId>,
    /// `not_applicable`, `not_configured`, `skipped`, …(contract 5.5).
    pub setup_state: String,
    pub delivery: PromptDelivery,
    pub last_error: Option<String>,
    pub failed_stage: Option<Stage>,
    pub effects: Vec<StartEffect>,
    pub start_options: StartOptions,
    /// How the agent's process ended, once it did.
    pub process_end: Option<String>,
    /// Where its worktree was behind its base at the start.
    #[serde(default)]
    pub drift: Option<Drift>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Worker {
    /// What its start made and what still stands, for whoever cleans up or tries again (contract 5.5
    /// `residualResources`). What was there before is not among it.
    pub fn left_behind(&self) -> Vec<StartEffect> {
        let is_terminal_missing =
            self.state == WorkerState::Failed && self.failed_stage == Some(Stage::TerminalCreate);
        let is_left = |effect: &StartEffect| match (effect.kind.as_str(), effect.action.as_deref()) {
            ("worktree", Some(action)) => action.starts_with("created"),
            ("terminal", Some("created" | "reused_agent_terminal")) => !is_terminal_missing,
            ("setup", Some("created")) => effect.state.as_deref() != Some("succeeded"),
            (_, _) => false,
        };
        self.effects.iter().filter(|effect| is_left(effect)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_input() {
        let mut table = String::new();
        for state in WorkerState::ALL {
            for input in WorkerInput::ALL {
                let next = state.next(*input).map_or("-", WorkerState::as_str);
                table.push_str(&format!("{state:<13} {input:<18} {next}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }
}
