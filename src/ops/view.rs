//! Rows as every reader sees them: the CLI's replies, the screen's mirror and the counters are all
//! made here, so they cannot disagree (design 7.7).

use super::error::OpError;
use super::setup;
use crate::base::id::{RunId, TaskId};
use crate::model::dispatch::Dispatch;
use crate::model::gate::Gate;
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::question::Question;
use crate::model::resource::Resource;
use crate::model::run::Run;
use crate::model::task::{Task, TaskState};
use crate::model::terminal::Terminal;
use crate::model::worker::Worker;
use crate::model::worktree::Worktree;
use crate::proto::event::RowView;
use crate::proto::row::{
    DispatchRow, GateRow, MessageRow, QuestionRow, RunRow, TaskRow, TerminalRow, UnmetDependency, WorkerRow,
    WorktreeRow,
};
use crate::store::rows::Row;
use crate::store::tx::{Touched, Tx};
use std::collections::BTreeSet;

/// A Task with its active attempt, the dependencies it still waits for and the gates that hold it.
pub fn task(tx: &Tx, task: &Task) -> Result<TaskRow, OpError> {
    let latest = tx.last::<Dispatch>("task", task.id.as_str())?;
    let gates = tx.list::<Gate>("pending_task", task.id.as_str(), usize::MAX)?;
    let pending_gates = gates.into_iter().map(|gate| gate.id).collect();
    let mut row = TaskRow::new(task, latest.as_ref(), unmet(tx, task)?, pending_gates);
    if let Some(id) = &row.dispatch_id {
        let worker = tx.get::<Worker>(id.as_str())?;
        let setup = worker.map(|worker| setup::waiting(tx, &worker)).transpose()?.flatten();
        row.setup_decision = setup.as_ref().map(setup::show_command);
    }
    Ok(row)
}

/// The Task of a Worker, which shows what its start waits for.
fn task_of(tx: &Tx, worker: &Worker) -> Result<Option<TaskRow>, OpError> {
    let Some(dispatch) = tx.get::<Dispatch>(worker.dispatch_id.as_str())? else { return Ok(None) };
    let found = tx.get::<Task>(dispatch.task_id.as_str())?;
    found.map(|found| task(tx, &found)).transpose()
}

/// The dependencies of a Task that are not completed. One that is completed itself waits for none.
pub fn unmet(tx: &Tx, task: &Task) -> Result<Vec<UnmetDependency>, OpError> {
    let mut unmet = Vec::new();
    if task.status == TaskState::Completed {
        return Ok(unmet);
    }
    for id in &task.deps {
        let status = dependency_state(tx, id)?;
        if status != TaskState::Completed {
            unmet.push(UnmetDependency { id: id.clone(), status });
        }
    }
    Ok(unmet)
}

fn dependency_state(tx: &Tx, id: &TaskId) -> Result<TaskState, OpError> {
    let found = tx.get::<Task>(id.as_str())?;
    found.map(|task| task.status).ok_or_else(|| OpError::Bug(format!("the dependency {id} is not there")))
}

/// A Worker with its terminal's ownership.
pub fn worker(tx: &Tx, worker: &Worker) -> Result<WorkerRow, OpError> {
    Ok(WorkerRow::new(worker, resource_of(tx, worker)?.as_ref()))
}

/// The ownership record of a Worker's terminal, also after it was transferred.
pub fn resource_of(tx: &Tx, worker: &Worker) -> Result<Option<Resource>, OpError> {
    let owned = tx.first::<Resource>("owner", worker.dispatch_id.as_str())?;
    match owned {
        Some(resource) => Ok(Some(resource)),
        None => Ok(tx.first::<Resource>("origin", worker.dispatch_id.as_str())?),
    }
}

/// A Worktree with its children.
pub fn worktree(tx: &Tx, worktree: &Worktree) -> Result<WorktreeRow, OpError> {
    let children = tx.list::<Worktree>("parent", &worktree.id, usize::MAX)?;
    Ok(WorktreeRow::new(worktree, children.into_iter().map(|child| child.id).collect()))
}

/// The view of a changed row, for mirrors; nothing for nouns that no mirror holds.
pub fn touched(tx: &Tx, touched: &Touched) -> Result<Vec<RowView>, OpError> {
    let key = touched.key.as_str();
    let mut views = Vec::new();
    match touched.table {
        <Run as Row>::NAME => views.extend(tx.get::<Run>(key)?.map(|run| RowView::Run(RunRow::from(&run)))),
        <Task as Row>::NAME => {
            if let Some(found) = tx.get::<Task>(key)? {
                views.push(RowView::Task(task(tx, &found)?));
                // Those that wait for it show its state.
                for waiting in tx.list::<Task>("dep", key, usize::MAX)? {
                    views.push(RowView::Task(task(tx, &waiting)?));
                }
            }
        }
        <Dispatch as Row>::NAME => {
            if let Some(found) = tx.get::<Dispatch>(key)? {
                views.push(RowView::Dispatch(DispatchRow::from(&found)));
            }
        }
        <Worker as Row>::NAME => {
            if let Some(found) = tx.get::<Worker>(key)? {
                views.push(RowView::Worker(worker(tx, &found)?));
                views.extend(task_of(tx, &found)?.map(RowView::Task));
            }
        }
        <Resource as Row>::NAME => {
            if let Some(resource) = tx.get::<Resource>(key)? {
                for dispatch in [&resource.owner_dispatch_id, &resource.origin_dispatch_id] {
                    if let Some(found) = tx.get::<Worker>(dispatch.as_str())? {
                        views.push(RowView::Worker(worker(tx, &found)?));
                    }
                }
            }
        }
        <Question as Row>::NAME => {
            views.extend(tx.get::<Question>(key)?.map(|row| RowView::Question(QuestionRow::from(&row))));
        }
        <Gate as Row>::NAME => {
            if let Some(gate) = tx.get::<Gate>(key)? {
                views.push(RowView::Gate(GateRow::from(&gate)));
                if let Some(held) = tx.get::<Task>(gate.task_id.as_str())? {
                    views.push(RowView::Task(task(tx, &held)?));
                }
            }
        }
        <Terminal as Row>::NAME => {
            views.extend(tx.get::<Terminal>(key)?.map(|row| RowView::Terminal(TerminalRow::from(&row))));
        }
        <Worktree as Row>::NAME => {
            if let Some(found) = tx.get::<Worktree>(key)? {
                views.push(RowView::Worktree(worktree(tx, &found)?));
            }
        }
        <Message as Row>::NAME => {
            let message = tx.get::<Message>(key)?.filter(is_for_screens);
            views.extend(message.map(|row| RowView::Message(MessageRow::from(&row))));
        }
        _ => {}
    }
    Ok(views)
}

/// Mail that a person at the screen sees: their own, and what a coordinator should act on.
fn is_for_screens(message: &Message) -> bool {
    message.mailbox == Mailbox::User
        || matches!(message.kind, MessageType::Escalation | MessageType::WorkerDone)
}

/// The most terminals that have ended in a fresh mirror: the newest ones.
const MAX_ENDED: usize = 500;
/// The most of the person's mail in a fresh mirror: the newest.
const MAX_MAIL: usize = 500;

/// The most Runs in a fresh mirror in which nothing is under way: the newest.
const MAX_QUIET_RUNS: usize = 50;

/// What a fresh mirror starts with.
#[derive(Debug)]
pub struct Fresh {
    pub rows: Vec<RowView>,
    /// The Runs among them.
    pub runs: BTreeSet<RunId>,
    /// The number of the others.
    pub n_older_runs: usize,
}

/// The Runs that a fresh mirror holds: those in which something is under way or waits for somebody, the one
/// that the person used last, and the newest.
fn runs_to_show(tx: &Tx) -> Result<BTreeSet<RunId>, OpError> {
    let newest = tx.list_newest::<Run>("all", "", MAX_QUIET_RUNS)?;
    let used = tx.meta::<String>("user_run")?.map(|id| tx.get::<Run>(&id)).transpose()?.flatten();
    let mut ids: BTreeSet<RunId> = newest.into_iter().chain(used).map(|run| run.id).collect();
    ids.extend(tx.list::<Dispatch>("active", "", usize::MAX)?.into_iter().map(|row| row.run_id));
    ids.extend(tx.list::<Question>("pending", "", usize::MAX)?.into_iter().map(|row| row.run_id));
    ids.extend(tx.list::<Gate>("pending", "", usize::MAX)?.into_iter().map(|row| row.run_id));
    for terminal in tx.list::<Terminal>("live", "", usize::MAX)? {
        let pane = terminal.pane_key.leaf().unwrap_or(terminal.pane_key.as_str());
        ids.extend(tx.list::<Run>("pane", pane, usize::MAX)?.into_iter().map(|run| run.id));
        ids.extend(terminal.run_id);
    }
    Ok(ids)
}

/// A Run with its Tasks, attempts, questions and gates.
fn push_run(tx: &Tx, id: &RunId, views: &mut Vec<RowView>) -> Result<(), OpError> {
    let id = id.as_str();
    let Some(run) = tx.get::<Run>(id)? else { return Ok(()) };
    views.push(RowView::Run(RunRow::from(&run)));
    for found in tx.list::<Task>("run", id, usize::MAX)? {
        views.push(RowView::Task(task(tx, &found)?));
    }
    for dispatch in tx.list::<Dispatch>("run", id, usize::MAX)? {
        views.push(RowView::Dispatch(DispatchRow::from(&dispatch)));
        if let Some(found) = tx.get::<Worker>(dispatch.id.as_str())? {
            views.push(RowView::Worker(worker(tx, &found)?));
        }
    }
    for question in tx.list::<Question>("run", id, usize::MAX)? {
        views.push(RowView::Question(QuestionRow::from(&question)));
    }
    for gate in tx.list::<Gate>("run", id, usize::MAX)? {
        views.push(RowView::Gate(GateRow::from(&gate)));
    }
    Ok(())
}

/// What a mirror gets of the Runs that it lacks, and how many it lacks still when it `has` so many others.
pub fn missing(tx: &Tx, runs: &BTreeSet<RunId>, has: usize) -> Result<(Vec<RowView>, usize), OpError> {
    let mut views = Vec::new();
    runs.iter().try_for_each(|id| push_run(tx, id, &mut views))?;
    Ok((views, tx.n_rows::<Run>()?.saturating_sub(has + runs.len())))
}

/// Everything a fresh mirror starts with: Runs with what is in them, the terminals that are still of use, and
/// the person's recent mail. Its size does not grow with what is long over.
pub fn snapshot(tx: &Tx) -> Result<Fresh, OpError> {
    let mut views = Vec::new();
    let runs = runs_to_show(tx)?;
    runs.iter().try_for_each(|id| push_run(tx, id, &mut views))?;
    let ended = tx.list_newest::<Terminal>("all", "", MAX_ENDED)?;
    let ended = ended.into_iter().filter(|terminal| !super::terminal::is_alive(terminal));
    for terminal in tx.list::<Terminal>("live", "", usize::MAX)?.into_iter().chain(ended) {
        views.push(RowView::Terminal(TerminalRow::from(&terminal)));
    }
    for found in tx.list::<Worktree>("all", "", usize::MAX)? {
        views.push(RowView::Worktree(worktree(tx, &found)?));
    }
    for message in tx.list_newest::<Message>("box", &Mailbox::User.to_string(), MAX_MAIL)? {
        views.push(RowView::Message(MessageRow::from(&message)));
    }
    let n_older_runs = tx.n_rows::<Run>()?.saturating_sub(runs.len());
    Ok(Fresh { rows: views, runs, n_older_runs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::id::GateId;
    use crate::model::gate::GateState;
    use crate::model::limit::Limits;
    use crate::store::Store;

    fn run_id(n: usize) -> RunId {
        RunId::parse(&format!("run_{n:03}")).unwrap()
    }

    #[test]
    fn a_fresh_mirror_holds_what_is_open_and_what_is_new() {
        let store = Store::in_memory().unwrap();
        let mut tx = store.write().unwrap();
        let n_runs = MAX_QUIET_RUNS + 10;
        for n in 0..n_runs {
            let at = Timestamp(n as i64);
            let id = run_id(n);
            let objective = String::from("x");
            let limits = Limits::default();
            tx.put(&Run {
                id,
                objective,
                consumer: None,
                consumer_generation: 1,
                displaced: None,
                limits,
                created_at: at,
                updated_at: at,
            })
            .unwrap();
        }
        tx.put(&Gate {
            id: GateId::parse("gate_1").unwrap(),
            run_id: run_id(2),
            task_id: TaskId::parse("task_1").unwrap(),
            question: String::from("now?"),
            options: Vec::new(),
            status: GateState::Pending,
            resolution: None,
            resolved_by: None,
            created_at: Timestamp(5),
            resolved_at: None,
            limit: None,
        })
        .unwrap();
        tx.set_meta("user_run", &run_id(4).to_string()).unwrap();
        let fresh = snapshot(&tx).unwrap();
        let expected: BTreeSet<RunId> = (10..n_runs).chain([2, 4]).map(run_id).collect();
        assert_eq!((&fresh.runs, fresh.n_older_runs), (&expected, 8));
        let shown = fresh.rows.iter().filter_map(|row| match row {
            RowView::Run(row) => Some(row.id.clone()),
            _ => None,
        });
        assert_eq!(shown.collect::<BTreeSet<_>>(), expected);
        assert!(fresh.rows.iter().any(|row| matches!(row, RowView::Gate(_))));
    }
}
