//! Event: a fact that became true with a commit. Events are history and are never edited.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, RunId, TaskId, TerminalId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// What happened.
    EventKind {
        RunCreated = "run.created",
        RunBound = "run.bound",
        RunChanged = "run.changed",
        TaskCreated = "task.created",
        TaskChanged = "task.changed",
        AttemptStarted = "attempt.started",
        /// The brief was typed into an agent that ran already; what it makes of it is not seen yet.
        AttemptTyped = "attempt.typed",
        AttemptConfirmed = "attempt.confirmed",
        /// The brief was typed, and no sign of work was seen yet.
        AttemptUnconfirmed = "attempt.unconfirmed",
        /// The brief could not be typed yet: something on the screen is in its way.
        AttemptBlocked = "attempt.blocked",
        AttemptUnknown = "attempt.unknown",
        /// Nothing was heard or seen of it for long; a mark, nothing else.
        AttemptQuiet = "attempt.quiet",
        AttemptHeard = "attempt.heard",
        AttemptSettled = "attempt.settled",
        AttemptStopping = "attempt.stopping",
        AttemptReleased = "attempt.released",
        AttemptRetained = "attempt.retained",
        ReportRefused = "report.refused",
        Heartbeat = "heartbeat",
        /// A wall time or silence that the person set was passed; they are asked.
        LimitReached = "limit.reached",
        MessageSent = "message.sent",
        /// An idle agent was told in its pane that mail waits.
        MessageNudged = "message.nudged",
        DeliveryMade = "delivery.made",
        DeliveryAcknowledged = "delivery.acknowledged",
        QuestionAsked = "question.asked",
        QuestionAnswered = "question.answered",
        QuestionClosed = "question.closed",
        GateCreated = "gate.created",
        GateResolved = "gate.resolved",
        TerminalStarted = "terminal.started",
        /// It runs, and the rows knew nothing of it or took it for ended.
        TerminalFound = "terminal.found",
        TerminalEnded = "terminal.ended",
        TerminalClosed = "terminal.closed",
        TerminalTakenOver = "terminal.taken_over",
        TerminalRenamed = "terminal.renamed",
        WorktreeCreated = "worktree.created",
        WorktreeChanged = "worktree.changed",
        WorktreeRemoved = "worktree.removed",
        RepoAdded = "repo.added",
        RepoChanged = "repo.changed",
        RepoRemoved = "repo.removed",
        SetupBegun = "setup.begun",
        SetupEnded = "setup.ended",
        HooksDecided = "hooks.decided",
        ServerStarted = "server.started",
        StateReset = "state.reset",
    }
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Grows by one with each event; the order of acceptance.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    pub run_id: Option<RunId>,
    pub task_id: Option<TaskId>,
    pub dispatch_id: Option<DispatchId>,
    pub terminal_id: Option<TerminalId>,
    /// Who caused it: a terminal handle, `user` or `orca`.
    pub by: String,
    /// One line a person can read.
    pub detail: String,
}

/// An event before it has a number and a moment; what `ops` emits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub kind: EventKind,
    pub run_id: Option<RunId>,
    pub task_id: Option<TaskId>,
    pub dispatch_id: Option<DispatchId>,
    pub terminal_id: Option<TerminalId>,
    pub detail: String,
}

impl Fact {
    /// A fact about nothing in particular yet; name its subjects with the `of_*` calls.
    pub fn new(kind: EventKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            run_id: None,
            task_id: None,
            dispatch_id: None,
            terminal_id: None,
            detail: detail.into(),
        }
    }

    /// The Run it belongs to.
    pub fn of_run(mut self, id: &RunId) -> Self {
        self.run_id = Some(id.clone());
        self
    }

    /// The Task it belongs to, with its Run.
    pub fn of_task(mut self, task: &super::task::Task) -> Self {
        self.run_id = Some(task.run_id.clone());
        self.task_id = Some(task.id.clone());
        self
    }

    /// The Dispatch it belongs to, with its Task and Run.
    pub fn of_dispatch(mut self, dispatch: &super::dispatch::Dispatch) -> Self {
        self.run_id = Some(dispatch.run_id.clone());
        self.task_id = Some(dispatch.task_id.clone());
        self.dispatch_id = Some(dispatch.id.clone());
        self
    }

    /// The Terminal it belongs to.
    pub fn of_terminal(mut self, id: &TerminalId) -> Self {
        self.terminal_id = Some(id.clone());
        self
    }
}
