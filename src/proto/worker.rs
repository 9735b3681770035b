//! Worker: calls and replies.

use super::call;
use super::row::{DispatchRow, ResourceRow, TerminalRow, WorkerRow};
use super::terminal::ReadPage;
use super::transcript::{Clipping, Transcript};
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, RunId, TaskId, TerminalId};
use crate::model::dispatch::DispatchState;
use crate::model::repo::AgentStartup;
use crate::model::resource::TerminalState;
use crate::model::session::{NoTranscript, TranscriptFormat};
use crate::model::worker::{PromptDelivery, Stage, StartEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `worker-start`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerStart {
    pub task: Option<String>,
    pub spec: Option<String>,
    pub task_title: Option<String>,
    pub deps: Vec<String>,
    pub parent: Option<String>,
    pub on: Option<String>,
    pub worktree: Option<String>,
    pub agent: Option<String>,
    pub terminal: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub name: Option<String>,
    pub repo: Option<String>,
    pub base_branch: Option<String>,
    pub display_name: Option<String>,
    pub comment: Option<String>,
    pub setup: Option<String>,
    /// `start-immediately` or `wait-for-setup`.
    pub agent_startup: Option<String>,
    pub retry_of: Option<String>,
    pub timeout_ms: Option<u64>,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The receipt of a start (contract 5.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartReceipt {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub dispatch_id: DispatchId,
    /// `ready`, `failed` or `outcome_unknown`.
    pub state: String,
    pub stage: Stage,
    /// What is known of the brief's way; `unconfirmed` is no failure (design 12).
    pub delivery: PromptDelivery,
    pub attempt: u32,
    pub agent_terminal_handle: Option<TerminalId>,
    pub worktree_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_stage: Option<Stage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub setup: SetupReport,
    pub launch: LaunchReport,
    pub timeout_ms: u64,
    pub effects: Vec<StartEffect>,
    pub residual_resources: Vec<StartEffect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_commands: Vec<String>,
}

/// What became of setup scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetupReport {
    pub requested: Option<String>,
    pub effective: String,
    pub source: String,
    pub hook_found: bool,
    /// `<ref>:orca.yaml`, or `this machine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_source: Option<String>,
    /// Where the script runs or ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_handle: Option<TerminalId>,
    pub startup_policy: AgentStartup,
    pub state: String,
}

/// What was asked of the agent and what it was started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchReport {
    pub requested: AgentChoice,
    pub effective: Option<AgentChoice>,
}

/// An agent with its model and effort.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentChoice {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
}

/// A verb that names one attempt.
macro_rules! of_dispatch {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            pub dispatch: String,
            pub from: Option<String>,
        }
    )*};
}

of_dispatch! {
    /// `worker-show`.
    WorkerShow;
    /// `worker-stop`.
    WorkerStop;
    /// `worker-abandon`.
    WorkerAbandon;
    /// `worker-release`.
    WorkerRelease;
    /// `worker-retain`.
    WorkerRetain;
}

/// The reply of `worker-show` (contract 7.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    pub dispatch: DispatchRow,
    pub worker: ShownWorker,
    pub terminal: Option<TerminalRow>,
    pub observation: Observation,
    pub terminal_resource: Option<ResourceRow>,
    pub projection: Projection,
    /// Reports of this attempt that were refused, oldest first; each is kept as mail too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_reports: Vec<RefusedReport>,
}

/// A report that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedReport {
    pub at: Timestamp,
    /// A terminal handle or `user`.
    pub by: String,
    /// The code and the reason.
    pub reason: String,
}

/// The Worker, or that there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ShownWorker {
    Supervised(Box<WorkerRow>),
    Unsupervised { state: String, stage: String },
}

/// What is seen of the process: liveness of the PTY only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// `live`, `exited`, `unverifiable`, `missing`, `identity_changed` or `unattached`.
    pub status: String,
    pub exact_worker: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the agent waits for on its own screen, if it does.
    pub agent_wait: Option<AgentWait>,
}

/// A wait of the agent on its own screen, such as a permission dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWait {
    /// `hook` (the program or its hook said so), `prompt-text` or `title`.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One attempt as `worker-list` and `worker-show` sum it up (contract 8.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Projection {
    pub id: DispatchId,
    pub dispatch_id: DispatchId,
    pub task_id: TaskId,
    pub run_id: RunId,
    /// Always `worker`.
    pub role: String,
    /// The Task that its Task is part of.
    pub parent: Option<Parent>,
    pub provider: Option<Provider>,
    pub host: HostOf,
    pub workspace: Option<Workspace>,
    pub stage: ProjectedStage,
    /// The one word for it, as the screen has it.
    pub state: String,
    /// `in_progress`, `succeeded`, `failed`, `outcome_unknown` or `finished_unverified`.
    pub outcome: String,
    /// `live`, `exited` or `unverifiable`.
    pub liveness: String,
    pub liveness_source: String,
    pub evidence: Evidence,
    /// Milliseconds of silence, once it is long; a mark, never a verdict.
    pub quiet_ms: Option<u64>,
    pub resource: Option<ResourceRow>,
    pub next_action: NextAction,
    pub attention: Attention,
}

/// The Task above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    pub task_id: TaskId,
}

/// The machine of an attempt; always the local one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostOf {
    pub kind: String,
    pub id: String,
}

/// What a projection rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Always true: the rows.
    pub durable: bool,
    /// `fresh`, `stale` or `unavailable`.
    pub live_status: String,
    pub last_observed_at: Option<Timestamp>,
}

/// The agent of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    pub id: String,
    pub model: Option<String>,
}

/// Where an attempt works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    pub id: String,
    /// Always `folder_or_worktree`.
    pub kind: String,
}

/// How far an attempt is, by its rows and by its screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectedStage {
    pub worker: Option<Stage>,
    pub dispatch: DispatchState,
    /// What the worker's last heartbeat said it is at.
    pub detail: Option<String>,
    /// `working`, `blocked`, `waiting`, `done` or `unknown`.
    pub activity: String,
}

/// What a coordinator should run next; `argv` without the executable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextAction {
    /// `release`, `recover`, `inspect` or `none`.
    pub kind: String,
    pub argv: Vec<String>,
}

/// Why somebody should look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    pub categories: Vec<String>,
    pub requires_action: bool,
}

/// `worker-list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerList {
    pub run: Option<String>,
    pub terminal_state: Option<String>,
    pub include_remote: bool,
    pub cursor: Option<String>,
    pub limit: Option<u32>,
    pub from: Option<String>,
}

/// The reply of `worker-list`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    pub workers: Vec<WorkerListRow>,
    /// Attempts by terminal state, whatever the filter.
    pub counts: BTreeMap<String, usize>,
    pub page: Page,
    pub scope: Scope,
}

/// One attempt in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerListRow {
    pub dispatch_id: DispatchId,
    pub task_id: TaskId,
    pub run_id: RunId,
    pub attempt: u32,
    pub worker_state: String,
    pub dispatch_status: DispatchState,
    pub agent_terminal_handle: Option<TerminalId>,
    pub terminal_state: Option<TerminalState>,
    pub resource: Option<ResourceRow>,
    pub projection: Projection,
}

/// Where a page stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    pub limit: usize,
    pub total: usize,
    pub has_more: bool,
    pub next_cursor: Option<String>,
}

/// Whose attempts a list shows: by `flag`, the `bound` Run, or `all`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// `worker-read`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerRead {
    pub dispatch: String,
    pub source: Option<String>,
    pub cursor: Option<String>,
    pub limit: Option<u32>,
}

/// The reply of `worker-read` (contract 7.6): `terminal` or `transcript`, as `source` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerOutput {
    pub dispatch_id: DispatchId,
    pub source: String,
    pub source_identity: String,
    pub cursor: Option<String>,
    pub status: OutputStatus,
    /// Why it is the terminal, where the transcript was looked for first.
    pub fallback_reason: Option<NoTranscript>,
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<ReadPage>,
    /// Whose transcript it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<TranscriptFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// The session is exactly the one that this attempt's process reported; only of a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_exact: Option<bool>,
    /// Nothing was left out of the messages shown; only of a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_complete: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipping: Option<Clipping>,
}

/// The states beside an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputStatus {
    pub worker: String,
    /// `running`, `exited` or `unknown`.
    pub terminal: String,
}

/// The reply of `worker-stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub dispatch_id: DispatchId,
    pub state: String,
    pub already_settled: bool,
    /// `closed_agent_terminal`, `none` or `unknown`.
    pub process_action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The reply of `worker-abandon`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Abandoned {
    pub dispatch_id: DispatchId,
    pub state: String,
    pub already_settled: bool,
    pub stale: bool,
    pub process_action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub residual_resources: Vec<StartEffect>,
}

/// The reply of `worker-release` and `worker-retain` (contract 7.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    pub dispatch_id: DispatchId,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub process_action: String,
    pub archive: Option<super::row::ArchiveRow>,
    /// What a person should know of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

call!(WorkerStart, "orchestration.workerStart", Mutation, StartReceipt, needs_place: true);
call!(WorkerShow, "orchestration.workerShow", Read, Shown);
call!(WorkerList, "orchestration.workerList", Read, Workers);
call!(WorkerRead, "orchestration.workerRead", Read, WorkerOutput);
call!(WorkerStop, "orchestration.workerStop", Mutation, Stopped);
call!(WorkerAbandon, "orchestration.workerAbandon", Mutation, Abandoned);
call!(WorkerRelease, "orchestration.workerRelease", Mutation, Released);
call!(WorkerRetain, "orchestration.workerRetain", Mutation, Released);
