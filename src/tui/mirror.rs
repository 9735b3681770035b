//! The server's rows as this client knows them. Changed by [`Change`]s only.

use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, GateId, MessageId, RunId, TaskId, TerminalId};
use crate::model::event::Event;
use crate::proto::event::{Change, LiveRow, RowView};
use crate::proto::row::{
    DispatchRow, GateRow, MessageRow, QuestionRow, RunRow, TaskRow, TerminalRow, WorkerRow, WorktreeRow,
};
use std::collections::{BTreeMap, VecDeque};

/// Events kept for timelines; older ones are in the server's log.
const MAX_EVENTS: usize = 2_000;

/// All rows by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mirror {
    /// The newest event included.
    pub seq: u64,
    /// A snapshot has arrived.
    pub is_loaded: bool,
    pub runs: BTreeMap<RunId, RunRow>,
    pub tasks: BTreeMap<TaskId, TaskRow>,
    pub dispatches: BTreeMap<DispatchId, DispatchRow>,
    pub workers: BTreeMap<DispatchId, WorkerRow>,
    pub questions: BTreeMap<MessageId, QuestionRow>,
    pub gates: BTreeMap<GateId, GateRow>,
    pub terminals: BTreeMap<TerminalId, TerminalRow>,
    pub worktrees: BTreeMap<String, WorktreeRow>,
    pub messages: BTreeMap<MessageId, MessageRow>,
    pub live: BTreeMap<TerminalId, LiveRow>,
    pub events: VecDeque<Event>,
    /// Runs that the server did not send, as nothing is under way in them.
    pub n_older_runs: usize,
    /// The server's clock at the last change.
    pub server_now: Timestamp,
}

impl Mirror {
    /// Takes one step.
    pub fn apply(&mut self, change: Change) {
        if change.is_snapshot {
            let events = std::mem::take(&mut self.events);
            *self = Self { is_loaded: true, events, ..Self::default() };
        }
        self.n_older_runs = change.n_older_runs.unwrap_or(self.n_older_runs);
        self.seq = self.seq.max(change.seq);
        self.server_now = change.now;
        for row in change.rows {
            self.put(row);
        }
        for gone in &change.gone {
            self.remove(gone);
        }
        for live in change.live {
            self.live.insert(live.terminal.clone(), live);
        }
        for event in change.events {
            if self.events.back().is_none_or(|last| last.seq < event.seq) {
                self.events.push_back(event);
            }
        }
        let n_over = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..n_over);
    }

    fn put(&mut self, row: RowView) {
        match row {
            RowView::Run(row) => drop(self.runs.insert(row.id.clone(), row)),
            RowView::Task(row) => drop(self.tasks.insert(row.id.clone(), row)),
            RowView::Dispatch(row) => drop(self.dispatches.insert(row.id.clone(), row)),
            RowView::Worker(row) => drop(self.workers.insert(row.dispatch_id.clone(), row)),
            RowView::Question(row) => drop(self.questions.insert(row.message_id.clone(), row)),
            RowView::Gate(row) => drop(self.gates.insert(row.id.clone(), row)),
            RowView::Terminal(row) => drop(self.terminals.insert(row.handle.clone(), row)),
            RowView::Worktree(row) => drop(self.worktrees.insert(row.id.clone(), row)),
            RowView::Message(row) => drop(self.messages.insert(row.id.clone(), row)),
        }
    }

    /// Takes a row away. A question has the id of its message, so the noun counts.
    fn remove(&mut self, gone: &str) {
        match gone.split_once(' ') {
            Some(("run", id)) => self.runs.retain(|known, _| known.as_str() != id),
            Some(("task", id)) => self.tasks.retain(|known, _| known.as_str() != id),
            Some(("dispatch", id)) => self.dispatches.retain(|known, _| known.as_str() != id),
            Some(("worker", id)) => self.workers.retain(|known, _| known.as_str() != id),
            Some(("question", id)) => self.questions.retain(|known, _| known.as_str() != id),
            Some(("gate", id)) => self.gates.retain(|known, _| known.as_str() != id),
            Some(("terminal", id)) => self.terminals.retain(|known, _| known.as_str() != id),
            Some(("worktree", id)) => self.worktrees.retain(|known, _| known != id),
            Some(("message", id)) => self.messages.retain(|known, _| known.as_str() != id),
            Some(_) | None => {}
        }
    }

    /// The attempts at a task, oldest first.
    pub fn attempts(&self, task: &TaskId) -> Vec<&DispatchRow> {
        let mut attempts: Vec<_> = self.dispatches.values().filter(|row| row.task_id == *task).collect();
        attempts.sort_by_key(|row| row.attempt);
        attempts
    }

    /// The newest attempt at a task.
    pub fn latest_attempt(&self, task: &TaskId) -> Option<&DispatchRow> {
        self.dispatches.values().filter(|row| row.task_id == *task).max_by_key(|row| row.attempt)
    }

    /// The attempt that a terminal works on, or worked on last.
    pub fn attempt_in(&self, terminal: &TerminalId) -> Option<&DispatchRow> {
        let mine = self.dispatches.values().filter(|row| row.assignee_handle.as_ref() == Some(terminal));
        let assigned = mine.max_by_key(|row| (row.status.is_active(), row.created_at));
        assigned.or_else(|| {
            let made_for = self.terminals.get(terminal)?.dispatch_id.as_ref()?;
            self.dispatches.get(made_for)
        })
    }

    /// The terminal of an attempt.
    pub fn terminal_of(&self, dispatch: &DispatchId) -> Option<&TerminalId> {
        let row = self.dispatches.get(dispatch)?;
        let worker = self.workers.get(dispatch).and_then(|worker| worker.agent_terminal_handle.as_ref());
        let made_for = || {
            let mut terminals = self.terminals.values();
            terminals
                .find(|terminal| terminal.dispatch_id.as_ref() == Some(dispatch))
                .map(|found| &found.handle)
        };
        row.assignee_handle.as_ref().or(worker).or_else(made_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn a_snapshot_replaces_and_a_change_adds() {
        let mut mirror = Mirror::default();
        mirror.apply(testing::snapshot());
        let n_tasks = mirror.tasks.len();
        assert!(mirror.is_loaded && n_tasks > 3);
        mirror.apply(Change { seq: 99, gone: vec!["task task_000000000001".into()], ..Change::default() });
        assert_eq!((mirror.tasks.len(), mirror.seq), (n_tasks - 1, 99));
        // A question has the id of its message; a message that is gone must not take it away.
        let question = mirror.questions.keys().next().unwrap().clone();
        mirror.apply(Change { gone: vec![format!("message {question}")], ..Change::default() });
        assert!(mirror.questions.contains_key(&question));
        mirror.apply(Change { is_snapshot: true, n_older_runs: Some(3), ..Change::default() });
        assert_eq!((mirror.tasks.len(), mirror.seq), (0, 0));
        mirror.apply(Change::default());
        assert_eq!(mirror.n_older_runs, 3);
        mirror.apply(Change { n_older_runs: Some(2), ..Change::default() });
        assert_eq!(mirror.n_older_runs, 2);
    }
}
