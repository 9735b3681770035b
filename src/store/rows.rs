//! Which noun lies in which table, under which key, and by what it can be found.
//!
//! An index entry files a row under a value, ordered by a text; without an order the entry is
//! unique: a second row under the same value is a [`super::StoreError::Conflict`].

use super::StoreError;
use super::tables::{IndexTable, RowTable};
use super::tx::Tx;
use crate::base::clock::Timestamp;
use crate::model::delivery::{Delivery, DeliveryState};
use crate::model::dispatch::Dispatch;
use crate::model::effect::OpenEffect;
use crate::model::gate::{Gate, GateState};
use crate::model::message::Message;
use crate::model::question::{Question, QuestionState};
use crate::model::repo::Repo;
use crate::model::request::Receipt;
use crate::model::resource::Resource;
use crate::model::run::{Consumer, Run};
use crate::model::session::Session;
use crate::model::setup::{Setup, SetupState};
use crate::model::task::{Task, TaskState};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worker::Worker;
use crate::model::worktree::Worktree;
use redb::TableDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One way to find a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub index: &'static str,
    pub value: String,
    pub order: Option<String>,
}

fn entry(index: &'static str, value: impl Into<String>, order: impl Into<String>) -> IndexEntry {
    IndexEntry { index, value: value.into(), order: Some(order.into()) }
}

fn unique(index: &'static str, value: impl Into<String>) -> IndexEntry {
    IndexEntry { index, value: value.into(), order: None }
}

fn moment(at: Timestamp) -> String {
    format!("{:016}", at.0.max(0))
}

/// A stored noun.
pub trait Row: Serialize + DeserializeOwned + Clone {
    /// The noun, as `Touched` and errors name it.
    const NAME: &'static str;
    /// Its rows.
    #[doc(hidden)]
    const ROWS: RowTable;
    /// Its index.
    #[doc(hidden)]
    const INDEX: IndexTable;
    /// The row's key.
    fn key(&self) -> String;
    /// Everything it can be found by.
    fn indices(&self) -> Vec<IndexEntry>;
}

macro_rules! rows {
    ($($noun:ident, $name:literal, $index:literal, $row:ident => $key:expr, $indices:expr;)*) => {
        $(impl Row for $noun {
            const NAME: &'static str = $name;
            const ROWS: RowTable = TableDefinition::new($name);
            const INDEX: IndexTable = TableDefinition::new($index);
            fn key(&self) -> String { let $row = self; $key }
            fn indices(&self) -> Vec<IndexEntry> { let $row = self; $indices }
        })*
        pub(super) const ROW_TABLES: &[RowTable] = &[$(<$noun as Row>::ROWS,)*];
        pub(super) const INDEX_TABLES: &[IndexTable] = &[$(<$noun as Row>::INDEX,)*];

        /// Makes every index anew from its rows.
        pub(super) fn reindex(tx: &mut Tx) -> Result<(), StoreError> {
            $(tx.reindex::<$noun>()?;)*
            Ok(())
        }
    };
}

rows! {
    // `all`: every run by creation. `pane` <leaf or key> and `user`: the runs a consumer is bound to;
    // `displaced` <leaf or key>: those that a pane lost.
    Run, "run", "run_index", row => row.id.to_string(), {
        let mut entries = vec![entry("all", "", moment(row.created_at))];
        match &row.consumer {
            Some(Consumer::User) => entries.push(entry("user", "", moment(row.updated_at))),
            Some(Consumer::Terminal { pane, .. }) => {
                entries.push(unique("pane", pane.leaf().unwrap_or(pane.as_str())));
            }
            None => {}
        }
        if let Some(Consumer::Terminal { pane, .. }) = &row.displaced {
            let leaf = pane.leaf().unwrap_or(pane.as_str());
            entries.push(entry("displaced", leaf, moment(row.updated_at)));
        }
        entries
    };
    // `run` <run>: by creation. `status` <run>/<status>. `dep` <task>: the tasks that wait for it.
    Task, "task", "task_index", row => row.id.to_string(), {
        let mut entries = vec![
            entry("run", row.run_id.as_str(), moment(row.created_at)),
            entry("status", format!("{}/{}", row.run_id, row.status), moment(row.created_at)),
        ];
        if !matches!(row.status, TaskState::Completed) {
            entries.extend(row.deps.iter().map(|dep| entry("dep", dep.as_str(), moment(row.created_at))));
        }
        entries
    };
    // `task` <task>: by attempt. `run` <run>: by creation. `all`. `proof`.
    // Active ones only: `active`, `active_run` <run>,
    // `active_task` <task> (unique), `active_terminal` <handle> (unique), `active_pane` <leaf> (unique).
    Dispatch, "dispatch", "dispatch_index", row => row.id.to_string(), {
        let mut entries = vec![
            entry("task", row.task_id.as_str(), format!("{:08}", row.attempt)),
            entry("run", row.run_id.as_str(), moment(row.created_at)),
            entry("all", "", moment(row.created_at)),
            entry("proof", row.proof.as_str(), ""),
        ];
        if let Some(handle) = &row.assignee_handle {
            entries.push(entry("terminal", handle.as_str(), moment(row.created_at)));
        }
        if row.status.is_active() {
            entries.push(entry("active_run", row.run_id.as_str(), moment(row.created_at)));
            entries.push(entry("active", "", moment(row.created_at)));
            entries.push(unique("active_task", row.task_id.as_str()));
            if let Some(handle) = &row.assignee_handle {
                entries.push(unique("active_terminal", handle.as_str()));
            }
            if let Some(pane) = &row.assignee_pane_key {
                entries.push(unique("active_pane", pane.leaf().unwrap_or(pane.as_str())));
            }
        }
        entries
    };
    // Keyed by dispatch. `open`: workers not settled yet.
    Worker, "worker", "worker_index", row => row.dispatch_id.to_string(), {
        if row.state.is_settled() { Vec::new() } else { vec![entry("open", "", moment(row.created_at))] }
    };
    // `owner` <dispatch> (unique), `terminal` <handle>, `pending`: releases to be finished.
    Resource, "resource", "resource_index", row => row.id.to_string(), {
        use crate::model::resource::ReleaseState as R;
        let mut entries = vec![
            unique("owner", row.owner_dispatch_id.as_str()),
            entry("origin", row.origin_dispatch_id.as_str(), row.id.as_str()),
            entry("terminal", row.terminal_id.as_str(), row.id.as_str()),
        ];
        if matches!(row.release, R::Requested | R::Releasing) {
            entries.push(entry("pending", "", row.id.as_str()));
        }
        entries
    };
    // `box` <mailbox>: by sequence. `unread` <mailbox>: the unread ones, by sequence. `unread_type`
    // <mailbox> <type>: the same. `all`. `dispatch`, `unread_dispatch`: about an attempt. `thread`.
    Message, "message", "message_index", row => row.id.to_string(), {
        let order = format!("{:020}", row.sequence);
        let mut entries = vec![
            entry("box", row.mailbox.to_string(), order.clone()),
            entry("all", "", order.clone()),
        ];
        if !row.is_read {
            entries.push(entry("unread", row.mailbox.to_string(), order.clone()));
            entries.push(entry("unread_type", format!("{} {}", row.mailbox, row.kind), order.clone()));
        }
        if let Some(dispatch) = &row.dispatch_id {
            entries.push(entry("dispatch", dispatch.as_str(), order.clone()));
            if !row.is_read {
                entries.push(entry("unread_dispatch", dispatch.as_str(), order.clone()));
            }
        }
        if let Some(thread) = &row.thread_id {
            entries.push(entry("thread", thread.as_str(), order));
        }
        entries
    };
    // `outstanding` <run> (unique): at most one per Run is a key, not a check (contract 1.7).
    Delivery, "delivery", "delivery_index", row => row.id.to_string(), {
        if row.state == DeliveryState::Outstanding { vec![unique("outstanding", row.run_id.as_str())] } else { Vec::new() }
    };
    // Keyed by message. `run` <run>, `dispatch` <dispatch>; pending ones: `pending`, `pending_dispatch`.
    Question, "question", "question_index", row => row.message_id.to_string(), {
        let order = moment(row.created_at);
        let mut entries = vec![entry("run", row.run_id.as_str(), order.clone())];
        if row.status == QuestionState::Pending {
            entries.push(entry("pending", "", order.clone()));
            entries.push(entry("pending_dispatch", row.dispatch_id.as_str(), order));
        }
        entries
    };
    // `run` <run>, `task` <task>; pending ones: `pending`, and `pending_task` <task> or, about a limit,
    // `pending_limit` <dispatch>.
    Gate, "gate", "gate_index", row => row.id.to_string(), {
        let order = moment(row.created_at);
        let mut entries = vec![
            entry("run", row.run_id.as_str(), order.clone()),
            entry("task", row.task_id.as_str(), order.clone()),
            entry("all", "", order.clone()),
        ];
        if row.status == GateState::Pending {
            entries.push(entry("pending", "", order.clone()));
            match &row.limit {
                None => entries.push(entry("pending_task", row.task_id.as_str(), order)),
                Some(asked) => entries.push(entry("pending_limit", asked.dispatch_id.as_str(), order)),
            }
        }
        entries
    };
    // `all`. `pane` <leaf>: newest last. `live`: those with a process. `worktree` <worktree id>.
    Terminal, "terminal", "terminal_index", row => row.id.to_string(), {
        let order = moment(row.created_at);
        let mut entries = vec![
            entry("all", "", order.clone()),
            entry("pane", row.pane_key.leaf().unwrap_or(row.pane_key.as_str()), order.clone()),
        ];
        if let Some(worktree) = &row.worktree_id {
            entries.push(entry("worktree", worktree.as_str(), order.clone()));
        }
        if matches!(row.life, TerminalLife::Starting | TerminalLife::Running) {
            entries.push(entry("live", "", order));
        }
        entries
    };
    // `all`. `path` <path> (unique).
    Repo, "repo", "repo_index", row => row.id.to_string(), vec![
        entry("all", "", moment(row.added_at)),
        unique("path", row.path.as_str()),
    ];
    // `all`. `path` <path> (unique), `repo` <repo>, `parent` <worktree id>.
    Worktree, "worktree", "worktree_index", row => row.id.clone(), {
        let order = moment(row.created_at);
        let mut entries = vec![
            entry("all", "", order.clone()),
            unique("path", row.path.as_str()),
            entry("repo", row.repo_id.as_str(), order.clone()),
        ];
        if let Some(parent) = &row.parent_worktree_id {
            entries.push(entry("parent", parent.as_str(), order));
        }
        entries
    };
    // Keyed by worktree. `waiting` <repo>: those that wait for an approval. `terminal` <handle> (unique).
    Setup, "setup", "setup_index", row => row.worktree_id.clone(), {
        let mut entries = Vec::new();
        if row.state == SetupState::AwaitingApproval {
            entries.push(entry("waiting", row.repo_id.as_str(), moment(row.created_at)));
        }
        entries.extend(row.terminal_id.as_ref().map(|terminal| unique("terminal", terminal.as_str())));
        entries
    };
    // Keyed by dispatch. `terminal` <handle>: by the time of the report.
    Session, "session", "session_index", row => row.dispatch_id.to_string(), {
        vec![entry("terminal", row.terminal_id.as_str(), moment(row.reported_at))]
    };
    // `all`: by request time. `dispatch` <dispatch>.
    OpenEffect, "effect", "effect_index", row => row.id.to_string(), {
        let order = format!("{}{}", moment(row.requested_at), row.id);
        let mut entries = vec![entry("all", "", order.clone())];
        if let Some(dispatch) = &row.dispatch_id {
            entries.push(entry("dispatch", dispatch.as_str(), order));
        }
        entries
    };
    // Keyed `<caller>\0<request id>`. `age`: completed first, by time, for pruning.
    Receipt, "receipt", "receipt_index", row => super::ledger::key(&row.caller, &row.id), {
        vec![entry("age", row.state.as_str(), moment(row.updated_at))]
    };
}
