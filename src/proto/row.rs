//! Row views: what the CLI prints, the screen shows and the counters count. Snake case, as
//! contract 2.9 has them; JSON columns are real JSON (design 12). Added fields are ours and additive.
//!
//! A view is made from model rows alone, so that every reader sees the same thing.

use super::worktree::{GitRow, Lineage};
use crate::base::clock::Timestamp;
use crate::base::id::{
    DispatchId, GateId, IncarnationId, MessageId, PaneKey, RepoId, ResourceId, RunId, TaskId, TerminalId,
};
use crate::model::dispatch::{Dispatch, DispatchState, Termination};
use crate::model::gate::{Gate, GateState};
use crate::model::limit::{LimitAsked, Limits};
use crate::model::message::{Message, MessageType, Priority};
use crate::model::question::{Question, QuestionState};
use crate::model::repo::Repo;
use crate::model::resource::{self, Resource, TerminalState};
use crate::model::run::{Consumer, Run};
use crate::model::task::{Task, TaskState};
use crate::model::terminal::{ProcessEnd, Split, Terminal, TerminalLife};
use crate::model::worker::{PromptDelivery, Stage, StartEffect, StartOptions, Worker, WorkerState};
use crate::model::worktree::Worktree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A Run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    pub id: RunId,
    pub objective: String,
    pub home_database: String,
    /// A terminal handle, `user`, or null when nobody is bound.
    pub coordinator_handle: Option<String>,
    pub coordinator_pane_key: Option<PaneKey>,
    pub consumer_generation: u64,
    pub legacy: bool,
    /// What it is limited to, where it is.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        let pane = match &run.consumer {
            Some(Consumer::Terminal { pane, .. }) => Some(pane.clone()),
            Some(Consumer::User) | None => None,
        };
        Self {
            id: run.id.clone(),
            objective: run.objective.clone(),
            home_database: String::from("local"),
            coordinator_handle: run.consumer.as_ref().map(|consumer| consumer.handle().to_owned()),
            coordinator_pane_key: pane,
            consumer_generation: run.consumer_generation,
            legacy: false,
            limits: run.limits,
            created_at: run.created_at,
            updated_at: run.updated_at,
        }
    }
}

/// A Task. `assignee_handle` and `dispatch_id` name the active attempt, where there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    pub id: TaskId,
    pub run_id: RunId,
    pub parent_id: Option<TaskId>,
    pub created_by_terminal_handle: Option<String>,
    pub created_by_pane_key: Option<PaneKey>,
    pub created_by_process_incarnation: Option<IncarnationId>,
    pub created_by_run_generation: Option<u64>,
    pub task_title: Option<String>,
    pub display_name: Option<String>,
    pub spec: String,
    pub status: TaskState,
    pub deps: Vec<TaskId>,
    pub result: Option<Value>,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    /// Attempts so far.
    pub attempts: u32,
    /// Failed attempts in a row.
    pub failures_in_row: u32,
    /// The dependencies that are not completed, with their states: why a pending Task waits
    /// (design 12: a failed one is named).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet_dependencies: Vec<UnmetDependency>,
    /// How the latest attempt failed, while no newer one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// The gates that hold it until somebody decides them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_gates: Vec<GateId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee_handle: Option<TerminalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch_id: Option<DispatchId>,
    /// The setup script of the active attempt waits for a person: the command that shows it and how to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_truncated: Option<bool>,
}

/// A dependency that keeps a Task from starting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetDependency {
    pub id: TaskId,
    pub status: TaskState,
}

impl TaskRow {
    /// The view of `task`, with what its neighbours say; `latest` is its newest attempt.
    pub fn new(
        task: &Task,
        latest: Option<&Dispatch>,
        unmet: Vec<UnmetDependency>,
        pending_gates: Vec<GateId>,
    ) -> Self {
        let creator = &task.created_by;
        let active = latest.filter(|dispatch| dispatch.status.is_active());
        Self {
            id: task.id.clone(),
            run_id: task.run_id.clone(),
            parent_id: task.parent_id.clone(),
            created_by_terminal_handle: (!creator.handle.is_empty()).then(|| creator.handle.clone()),
            created_by_pane_key: creator.pane_key.clone(),
            created_by_process_incarnation: creator.incarnation.clone(),
            created_by_run_generation: creator.run_generation,
            task_title: task.task_title.clone(),
            display_name: task.display_name.clone(),
            spec: task.spec.clone(),
            status: task.status,
            deps: task.deps.clone(),
            result: task.result.clone(),
            created_at: task.created_at,
            completed_at: task.completed_at,
            attempts: task.n_attempts,
            failures_in_row: task.n_failed_in_row,
            unmet_dependencies: unmet,
            last_failure: latest.and_then(|dispatch| dispatch.last_failure.clone()),
            pending_gates,
            assignee_handle: active.and_then(|dispatch| dispatch.assignee_handle.clone()),
            dispatch_id: active.map(|dispatch| dispatch.id.clone()),
            setup_decision: None,
            spec_truncated: None,
        }
    }
}

/// A Dispatch. The proof is never in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchRow {
    pub id: DispatchId,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub contract_version: u32,
    pub assignee_handle: Option<TerminalId>,
    pub assignee_pane_key: Option<PaneKey>,
    pub process_incarnation: Option<IncarnationId>,
    pub status: DispatchState,
    pub failure_count: u32,
    pub last_failure: Option<String>,
    /// How it ended, once it did; `lost` is not failed work.
    #[serde(default)]
    pub termination_reason: Option<Termination>,
    pub dispatched_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_heartbeat_at: Option<Timestamp>,
    pub last_phase: Option<String>,
    pub capability_revoked_at: Option<Timestamp>,
    pub depth: u32,
    pub creator_handle: String,
    pub attempt: u32,
    pub retry_of: Option<DispatchId>,
    pub supervised: bool,
}

impl From<&Dispatch> for DispatchRow {
    fn from(dispatch: &Dispatch) -> Self {
        Self {
            id: dispatch.id.clone(),
            run_id: dispatch.run_id.clone(),
            task_id: dispatch.task_id.clone(),
            contract_version: 1,
            assignee_handle: dispatch.assignee_handle.clone(),
            assignee_pane_key: dispatch.assignee_pane_key.clone(),
            process_incarnation: dispatch.process_incarnation.clone(),
            status: dispatch.status,
            failure_count: dispatch.failure_count,
            last_failure: dispatch.last_failure.clone(),
            termination_reason: dispatch.termination,
            dispatched_at: dispatch.dispatched_at,
            completed_at: dispatch.completed_at,
            created_at: dispatch.created_at,
            last_heartbeat_at: dispatch.last_heartbeat_at,
            last_phase: dispatch.last_phase.clone(),
            capability_revoked_at: dispatch.revoked_at,
            depth: dispatch.depth,
            creator_handle: dispatch.creator_handle.clone(),
            attempt: dispatch.attempt,
            retry_of: dispatch.retry_of.clone(),
            supervised: dispatch.is_supervised,
        }
    }
}

/// A Worker, as `worker-show` and the screen have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRow {
    pub dispatch_id: DispatchId,
    pub runtime_epoch: Option<String>,
    pub state: WorkerState,
    pub stage: Stage,
    pub worktree_id: Option<String>,
    pub agent_terminal_handle: Option<TerminalId>,
    pub setup_state: String,
    pub delivery: PromptDelivery,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub process_end: Option<String>,
    pub terminal_state: Option<TerminalState>,
    pub effects: Vec<StartEffect>,
    #[serde(rename = "residualResources")]
    pub residual_resources: Vec<StartEffect>,
    #[serde(rename = "startOptions")]
    pub start_options: StartOptions,
}

impl WorkerRow {
    /// The view of `worker` with its terminal's ownership.
    pub fn new(worker: &Worker, resource: Option<&Resource>) -> Self {
        let has_handle = worker.agent_terminal_handle.is_some();
        let is_failed_start = worker.failed_stage.is_some();
        Self {
            dispatch_id: worker.dispatch_id.clone(),
            runtime_epoch: Some(worker.runtime_epoch.clone()),
            state: worker.state,
            stage: worker.stage,
            worktree_id: worker.worktree_id.clone(),
            agent_terminal_handle: worker.agent_terminal_handle.clone(),
            setup_state: worker.setup_state.clone(),
            delivery: worker.delivery,
            last_error: worker.last_error.clone(),
            created_at: worker.created_at,
            updated_at: worker.updated_at,
            process_end: worker.process_end.clone(),
            terminal_state: resource::terminal_state(resource, worker.state, has_handle),
            effects: worker.effects.clone(),
            residual_resources: if is_failed_start { worker.left_behind() } else { Vec::new() },
            start_options: worker.start_options.clone(),
        }
    }
}

/// The ownership of a worker's terminal (contract 7.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRow {
    pub id: ResourceId,
    pub ownership_state: resource::Ownership,
    pub release_state: resource::ReleaseState,
    pub retained_reason: Option<String>,
    pub terminal_handle: TerminalId,
    pub worktree_id: Option<String>,
    pub origin_dispatch_id: DispatchId,
    pub owner_dispatch_id: DispatchId,
    pub release_requested_at: Option<Timestamp>,
    pub release_completed_at: Option<Timestamp>,
    pub release_error: Option<String>,
    pub archive: Option<ArchiveRow>,
}

/// What was kept of a released terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveRow {
    pub source: Option<String>,
    pub status: Option<String>,
}

impl From<&Resource> for ResourceRow {
    fn from(resource: &Resource) -> Self {
        let archive = resource.archive_status.is_some().then(|| ArchiveRow {
            source: resource.archive_source.clone(),
            status: resource.archive_status.clone(),
        });
        Self {
            id: resource.id.clone(),
            ownership_state: resource.ownership,
            release_state: resource.release,
            retained_reason: resource.retained_reason.clone(),
            terminal_handle: resource.terminal_id.clone(),
            worktree_id: resource.worktree_id.clone(),
            origin_dispatch_id: resource.origin_dispatch_id.clone(),
            owner_dispatch_id: resource.owner_dispatch_id.clone(),
            release_requested_at: resource.release_requested_at,
            release_completed_at: resource.release_completed_at,
            release_error: resource.release_error.clone(),
            archive,
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRow {
    pub id: MessageId,
    pub run_id: Option<RunId>,
    pub from_handle: String,
    pub to_handle: String,
    pub subject: String,
    pub body: String,
    #[serde(rename = "type")]
    pub kind: MessageType,
    pub priority: Priority,
    pub thread_id: Option<String>,
    pub payload: Option<Value>,
    pub read: bool,
    pub sequence: u64,
    pub created_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
    pub sender_pane_key: Option<PaneKey>,
    pub delivery_contract: String,
    /// How the question in it stands by now, where it holds one and mail is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionStand>,
}

/// How a question stands: only a pending one asks for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionStand {
    pub status: QuestionState,
    pub answer_body: Option<String>,
    pub answered_by: Option<String>,
    pub answered_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
}

impl From<Question> for QuestionStand {
    fn from(question: Question) -> Self {
        Self {
            status: question.status,
            answer_body: question.answer_body,
            answered_by: question.answered_by,
            answered_at: question.answered_at,
            closed_at: question.closed_at,
        }
    }
}

impl From<&Message> for MessageRow {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id.clone(),
            run_id: message.run_id.clone(),
            from_handle: message.from_handle.clone(),
            to_handle: message.mailbox.to_string(),
            subject: message.subject.clone(),
            body: message.body.clone(),
            kind: message.kind,
            priority: message.priority,
            thread_id: message.thread_id.clone(),
            payload: message.payload.clone(),
            read: message.is_read,
            sequence: message.sequence,
            created_at: message.created_at,
            delivered_at: message.delivered_at,
            sender_pane_key: message.sender_pane_key.clone(),
            delivery_contract: String::from("current_delivery"),
            question: None,
        }
    }
}

/// A Question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionRow {
    pub message_id: MessageId,
    pub run_id: RunId,
    pub dispatch_id: DispatchId,
    pub asker_handle: String,
    pub question: String,
    pub options: Vec<String>,
    pub status: QuestionState,
    pub answer_message_id: Option<MessageId>,
    pub answer_body: Option<String>,
    pub answered_by: Option<String>,
    pub answered_by_generation: Option<u64>,
    pub created_at: Timestamp,
    pub answered_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
}

impl From<&Question> for QuestionRow {
    fn from(question: &Question) -> Self {
        let question = question.clone();
        Self {
            message_id: question.message_id,
            run_id: question.run_id,
            dispatch_id: question.dispatch_id,
            asker_handle: question.asker_handle,
            question: question.question,
            options: question.options,
            status: question.status,
            answer_message_id: question.answer_message_id,
            answer_body: question.answer_body,
            answered_by: question.answered_by,
            answered_by_generation: question.answered_by_generation,
            created_at: question.created_at,
            answered_at: question.answered_at,
            closed_at: question.closed_at,
        }
    }
}

/// A Gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateRow {
    pub id: GateId,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub question: String,
    pub options: Vec<String>,
    pub status: GateState,
    pub resolution: Option<String>,
    pub resolved_by: Option<String>,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    /// The limit and attempt that it asks about, where it is about one; then it holds no task back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitAsked>,
}

impl From<&Gate> for GateRow {
    fn from(gate: &Gate) -> Self {
        let gate = gate.clone();
        Self {
            id: gate.id,
            run_id: gate.run_id,
            task_id: gate.task_id,
            question: gate.question,
            options: gate.options,
            status: gate.status,
            resolution: gate.resolution,
            resolved_by: gate.resolved_by,
            created_at: gate.created_at,
            resolved_at: gate.resolved_at,
            limit: gate.limit,
        }
    }
}

/// A Terminal's durable side. Live facts (title, agent state) are [`super::event::LiveRow`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRow {
    pub handle: TerminalId,
    pub pane_key: PaneKey,
    pub tab_id: String,
    pub worktree_id: Option<String>,
    pub worktree_path: String,
    pub branch: Option<String>,
    /// The name that was given: last, or when it was opened.
    pub title: Option<String>,
    /// The name that was given by `rename` or `set-pane-title`.
    #[serde(default)]
    pub pane_title: Option<String>,
    /// `#rgb` or `#rrggbb`, where it is a tab of its repository that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(default)]
    pub split: Option<Split>,
    pub agent: Option<String>,
    /// The command line, for people.
    pub command: Vec<String>,
    pub life: TerminalLife,
    pub pid: Option<u32>,
    pub end: Option<ProcessEnd>,
    pub run_id: Option<RunId>,
    pub dispatch_id: Option<DispatchId>,
    pub created_at: Timestamp,
    pub is_user_typed: bool,
    /// An attempt in it ended, and nobody at a screen looked at it since.
    #[serde(default)]
    pub is_unseen: bool,
}

impl From<&Terminal> for TerminalRow {
    fn from(terminal: &Terminal) -> Self {
        Self {
            handle: terminal.id.clone(),
            pane_key: terminal.pane_key.clone(),
            tab_id: terminal.tab_id.clone(),
            worktree_id: terminal.worktree_id.clone(),
            worktree_path: terminal.worktree_path.clone(),
            branch: terminal.branch.clone(),
            title: terminal.pane_title.clone().or_else(|| terminal.title.clone()),
            pane_title: terminal.pane_title.clone(),
            color: terminal.color.clone(),
            split: terminal.split.clone(),
            agent: terminal.agent.clone(),
            // The brief may be an argument; it is long, and it holds the proof.
            command: terminal.launch.argv.iter().map(|word| crate::base::text::cut_chars(word, 60)).collect(),
            life: terminal.life,
            pid: terminal.pid,
            end: terminal.end.clone(),
            run_id: terminal.run_id.clone(),
            dispatch_id: terminal.dispatch_id.clone(),
            created_at: terminal.created_at,
            is_user_typed: terminal.is_user_typed,
            is_unseen: terminal.is_unseen && terminal.life.has_pane(),
        }
    }
}

/// A Worktree (contract 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRow {
    pub id: String,
    pub repo_id: RepoId,
    pub path: String,
    pub branch: Option<String>,
    pub display_name: String,
    pub comment: Option<String>,
    pub linked_issue: Option<u64>,
    pub workspace_status: String,
    pub is_main_worktree: bool,
    pub is_archived: bool,
    pub host_id: String,
    pub parent_worktree_id: Option<String>,
    pub child_worktree_ids: Vec<String>,
    /// Who asked for it; null where nobody did.
    pub lineage: Option<Lineage>,
    /// Null where git was not asked.
    pub git: Option<GitRow>,
    pub base_ref: Option<String>,
    pub base_commit: Option<String>,
    pub created_at: Timestamp,
    pub last_activity_at: Timestamp,
}

impl WorktreeRow {
    /// The view of `worktree` with its children.
    pub fn new(worktree: &Worktree, child_worktree_ids: Vec<String>) -> Self {
        Self {
            id: worktree.id.clone(),
            repo_id: worktree.repo_id.clone(),
            path: worktree.path.clone(),
            branch: worktree.branch.clone(),
            display_name: worktree.display_name.clone(),
            comment: worktree.comment.clone(),
            linked_issue: worktree.linked_issue,
            workspace_status: worktree.workspace_status.clone(),
            is_main_worktree: worktree.is_main,
            is_archived: false,
            host_id: String::from("local"),
            parent_worktree_id: worktree.parent_worktree_id.clone(),
            child_worktree_ids,
            lineage: worktree
                .parent_worktree_id
                .clone()
                .map(|parent_worktree_id| Lineage { parent_worktree_id }),
            git: None,
            base_ref: worktree.base_ref.clone(),
            base_commit: worktree.base_commit.clone(),
            created_at: worktree.created_at,
            last_activity_at: worktree.last_activity_at,
        }
    }
}

/// A Repo (contract 2.5).
pub type RepoRow = Repo;
