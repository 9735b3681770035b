//! What attached clients and followers are told after a commit: the changed rows, whole, and the
//! facts that changed them.

use super::call;
use super::row::{
    DispatchRow, GateRow, MessageRow, QuestionRow, RunRow, TaskRow, TerminalRow, WorkerRow, WorktreeRow,
};
use crate::base::clock::Timestamp;
use crate::base::id::{RunId, TerminalId};
use crate::model::event::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A changed row; the mirror puts it in place of the one with the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "noun", content = "row")]
pub enum RowView {
    Run(RunRow),
    Task(TaskRow),
    Dispatch(DispatchRow),
    Worker(WorkerRow),
    Question(QuestionRow),
    Gate(GateRow),
    Terminal(TerminalRow),
    Worktree(WorktreeRow),
    /// Mail to the person, and refused or escalated reports of any Run.
    Message(MessageRow),
}

impl RowView {
    /// The Run that a row of work belongs to.
    pub fn run_id(&self) -> Option<&RunId> {
        match self {
            Self::Run(row) => Some(&row.id),
            Self::Task(row) => Some(&row.run_id),
            Self::Dispatch(row) => Some(&row.run_id),
            Self::Question(row) => Some(&row.run_id),
            Self::Gate(row) => Some(&row.run_id),
            Self::Worker(_) | Self::Terminal(_) | Self::Worktree(_) | Self::Message(_) => None,
        }
    }
}

/// What is known of a terminal at this moment and stored nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveRow {
    pub terminal: TerminalId,
    /// The program's own title, safe to show.
    pub title: String,
    /// `working`, `blocked`, `idle`, `done`, `error` or `unknown`.
    pub activity: String,
    /// Why the activity is what it says, for `blocked` the agent's own words.
    pub activity_detail: Option<String>,
    pub activity_since: Timestamp,
    pub last_output_at: Option<Timestamp>,
    /// A machine's text waits because a person's draft is in the way.
    pub is_input_held: bool,
    /// The agent that runs there, also one that a person started in its shell.
    #[serde(default)]
    pub agent: Option<String>,
}

/// One step of the mirror.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Change {
    /// The number of the newest event that this change includes.
    pub seq: u64,
    /// Replace everything by these rows instead of adding them.
    pub is_snapshot: bool,
    /// How many Runs the mirror does not have by now, as nothing is under way in them; None: as many as before.
    pub n_older_runs: Option<usize>,
    pub rows: Vec<RowView>,
    /// Rows that are gone (`reset`), as `<noun> <id>`.
    pub gone: Vec<String>,
    pub events: Vec<Event>,
    pub live: Vec<LiveRow>,
    /// The server's clock, so that ages agree.
    pub now: Timestamp,
}

/// `events`: the event log from a number on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventsList {
    /// Only those after this number; omitted: all, or with `wait_ms` those that come.
    pub since: Option<u64>,
    pub run: Option<String>,
    /// Kinds (`task.created`) or the nouns in front of them (`task`); none: all.
    pub types: Vec<String>,
    /// Where there is none yet, answer only after this long.
    pub wait_ms: Option<u64>,
}

/// The reply of `events`: a page, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Goes on behind this page, also over events that the filter left out.
    pub next_since: u64,
    /// The number of the newest event there is.
    pub last_seq: u64,
}

call!(EventsList, "events.list", Read, EventPage);
