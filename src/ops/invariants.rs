//! What must be true after every commit, whatever happened (design 7): the rules that no single verb
//! owns. Nothing is repaired here, a breach is a bug to be found: tests look at everything after each
//! command, a debug build's server at what the command changed.

use super::error::OpError;
use super::view;
use crate::model::delivery::{Delivery, DeliveryState};
use crate::model::dispatch::Dispatch;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::gate::{Gate, GateState};
use crate::model::message::Message;
use crate::model::plan;
use crate::model::question::{Question, QuestionState};
use crate::model::resource::{Ownership, ReleaseState, Resource};
use crate::model::run::Run;
use crate::model::task::{Task, TaskState};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worker::{Stage, Worker, WorkerState};
use crate::store::rows::Row;
use crate::store::tx::{Touched, Tx};
use std::collections::BTreeSet;

/// Every breach there is, in words; empty when all is well. Reads everything: for small stores.
pub fn breaches(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    found.extend(of_all(tx, of_task)?);
    found.extend(of_all(tx, of_dispatch)?);
    found.extend(of_all(tx, of_delivery)?);
    found.extend(of_all(tx, of_question)?);
    found.extend(of_all(tx, of_gate)?);
    found.extend(of_all(tx, of_terminal)?);
    found.extend(of_terminals(tx)?);
    found.extend(of_mail(tx)?);
    Ok(found)
}

/// The breaches among the rows that this transaction changed and their neighbours.
pub fn breaches_nearby(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    for touched in tx.touched().iter().filter(|touched| !touched.is_gone) {
        found.extend(match touched.table {
            <Task as Row>::NAME => of_one(tx, touched, of_task)?,
            <Dispatch as Row>::NAME => of_one(tx, touched, of_dispatch)?,
            <Worker as Row>::NAME => of_one(tx, touched, of_worker)?,
            <Delivery as Row>::NAME => of_one(tx, touched, of_delivery)?,
            <Question as Row>::NAME => of_one(tx, touched, of_question)?,
            <Gate as Row>::NAME => of_one(tx, touched, of_gate)?,
            <Terminal as Row>::NAME => of_one(tx, touched, of_terminal)?,
            _ => Vec::new(),
        });
    }
    Ok(found)
}

type Check<T> = fn(&Tx, &T) -> Result<Vec<&'static str>, OpError>;

fn of_all<T: Row>(tx: &Tx, check: Check<T>) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    for row in tx.all::<T>(usize::MAX)? {
        found.extend(check(tx, &row)?.into_iter().map(|breach| format!("{}: {breach}", row.key())));
    }
    Ok(found)
}

fn of_one<T: Row>(tx: &Tx, touched: &Touched, check: Check<T>) -> Result<Vec<String>, OpError> {
    let Some(row) = tx.get::<T>(&touched.key)? else { return Ok(Vec::new()) };
    Ok(check(tx, &row)?.into_iter().map(|breach| format!("{}: {breach}", touched.key)).collect())
}

fn of_task(tx: &Tx, task: &Task) -> Result<Vec<&'static str>, OpError> {
    let mut found = Vec::new();
    let attempts = tx.list::<Dispatch>("task", task.id.as_str(), usize::MAX)?;
    let n_active = attempts.iter().filter(|dispatch| dispatch.status.is_active()).count();
    let is_waiting = !view::unmet(tx, task)?.is_empty();
    let is_gated = tx.first::<Gate>("pending_task", task.id.as_str())?.is_some();
    let is_as_its_state_says = match task.status {
        TaskState::Pending => is_waiting && n_active == 0 && !is_gated,
        TaskState::Ready => !is_waiting && n_active == 0 && !is_gated,
        TaskState::Dispatched => n_active == 1,
        // Blocked while an attempt is being stopped or its start is unknown.
        TaskState::Blocked => n_active <= 1,
        TaskState::Completed | TaskState::Failed => n_active == 0,
    };
    if !is_as_its_state_says {
        found.push("its state does not fit its attempts, dependencies and gates");
    }
    if attempts.len() != task.n_attempts as usize
        || attempts.iter().zip(1..).any(|(dispatch, number)| dispatch.attempt != number)
    {
        found.push("its attempts are not numbered from 1 on");
    }
    if task.status == TaskState::Ready && plan::is_broken(task) {
        found.push("it is called ready and its breaker is open");
    }
    if attempts.iter().rev().skip(1).any(|old| old.status.is_active()) {
        found.push("an attempt that was replaced is active");
    }
    if task.status.is_settled() != task.completed_at.is_some() {
        found.push("it is settled without a time, or has a time and is not settled");
    }
    for dep in &task.deps {
        if tx.get::<Task>(dep.as_str())?.is_none_or(|dep| dep.run_id != task.run_id) {
            found.push("a dependency is not in its Run");
        }
    }
    if depends_on_itself(tx, task)? {
        found.push("it waits for itself");
    }
    Ok(found)
}

fn depends_on_itself(tx: &Tx, task: &Task) -> Result<bool, OpError> {
    let mut seen = BTreeSet::new();
    let mut open = task.deps.clone();
    while let Some(id) = open.pop() {
        if id == task.id {
            return Ok(true);
        }
        if seen.insert(id.clone()) {
            open.extend(tx.get::<Task>(id.as_str())?.map(|task| task.deps).unwrap_or_default());
        }
    }
    Ok(false)
}

fn of_dispatch(tx: &Tx, dispatch: &Dispatch) -> Result<Vec<&'static str>, OpError> {
    let mut found = Vec::new();
    let is_active = dispatch.status.is_active();
    let task = tx.get::<Task>(dispatch.task_id.as_str())?;
    if task.is_none_or(|task| task.run_id != dispatch.run_id) {
        found.push("its task is not in its Run");
    }
    if !is_active && (dispatch.revoked_at.is_none() || dispatch.completed_at.is_none()) {
        found.push("it has ended but may still report");
    }
    match tx.get::<Worker>(dispatch.id.as_str())? {
        Some(_) if !dispatch.is_supervised => found.push("it has a worker and is not supervised"),
        None if dispatch.is_supervised => found.push("it is supervised without a worker"),
        Some(worker) => found.extend(of_worker(tx, &worker)?),
        None => {}
    }
    let asks = tx.first::<Question>("pending_dispatch", dispatch.id.as_str())?.is_some();
    if asks && (!is_active || dispatch.revoked_at.is_some()) {
        found.push("it has ended and still waits for an answer");
    }
    Ok(found)
}

/// What is half done is named by an open effect, so that a restart goes on with it (design 3).
fn of_worker(tx: &Tx, worker: &Worker) -> Result<Vec<&'static str>, OpError> {
    let mut found = Vec::new();
    let id = worker.dispatch_id.as_str();
    let dispatch = tx.get::<Dispatch>(id)?;
    if dispatch.is_none_or(|dispatch| worker.state.is_settled() == dispatch.status.is_active()) {
        found.push("its worker and it do not agree whether it has ended");
    }
    let open = tx.list::<OpenEffect>("dispatch", id, usize::MAX)?;
    let is_closing = open.iter().any(|open| matches!(open.effect, Effect::CloseTerminal { .. }));
    // A setup is a process of its own, or waits for a person's approval.
    let is_in_setup = worker.stage == Stage::SetupWait;
    if worker.state == WorkerState::Starting && !is_in_setup && open.is_empty() {
        found.push("its start goes on and nothing is to be done for it");
    }
    if worker.state == WorkerState::Stopping && !is_closing {
        found.push("its stop goes on and nothing is to be closed");
    }
    if let Some(resource) = tx.first::<Resource>("owner", id)? {
        if resource.release == ReleaseState::Releasing && !is_closing {
            found.push("its release goes on and nothing is to be closed");
        }
        if (resource.release == ReleaseState::Released) != (resource.ownership == Ownership::Released) {
            found.push("its terminal is released and owned, or neither");
        }
    }
    Ok(found)
}

/// A terminal that is starting has somebody who starts it.
fn of_terminal(tx: &Tx, terminal: &Terminal) -> Result<Vec<&'static str>, OpError> {
    if terminal.life != TerminalLife::Starting {
        return Ok(Vec::new());
    }
    let open = tx.list::<OpenEffect>("all", "", usize::MAX)?;
    let is_start = |open: &OpenEffect| matches!(&open.effect, Effect::SpawnTerminal { terminal_id } if *terminal_id == terminal.id);
    Ok(if open.iter().any(is_start) { Vec::new() } else { vec!["it is starting and nobody starts it"] })
}

/// One active attempt per terminal and pane.
fn of_terminals(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for dispatch in tx.all::<Dispatch>(usize::MAX)?.iter().filter(|dispatch| dispatch.status.is_active()) {
        let handle = dispatch.assignee_handle.as_ref().map(|handle| format!("terminal {handle}"));
        let pane = dispatch.assignee_pane_key.as_ref();
        let pane = pane.map(|pane| format!("pane {}", pane.leaf().unwrap_or(pane.as_str())));
        for place in handle.into_iter().chain(pane) {
            if !seen.insert(place.clone()) {
                found.push(format!("{place}: it carries two active attempts"));
            }
        }
    }
    Ok(found)
}

fn of_delivery(tx: &Tx, delivery: &Delivery) -> Result<Vec<&'static str>, OpError> {
    let mut found = Vec::new();
    for id in &delivery.message_ids {
        if tx.get::<Message>(id.as_str())?.is_none() {
            found.push("one of its messages is not there");
        }
    }
    let run = tx.get::<Run>(delivery.run_id.as_str())?;
    let is_current = run.is_some_and(|run| run.consumer_generation == delivery.generation);
    if delivery.state == DeliveryState::Outstanding && !is_current {
        found.push("it is out to somebody who is not the consumer any more");
    }
    Ok(found)
}

fn of_question(tx: &Tx, question: &Question) -> Result<Vec<&'static str>, OpError> {
    let mut found = Vec::new();
    if (question.status == QuestionState::Answered) != question.answer_body.is_some() {
        found.push("answered without an answer, or the reverse");
    }
    let asker = tx.get::<Dispatch>(question.dispatch_id.as_str())?;
    let may_use_answer = asker.is_some_and(|asker| asker.status.is_active() && asker.revoked_at.is_none());
    if question.status == QuestionState::Pending && !may_use_answer {
        found.push("it is open and nobody waits for the answer");
    }
    Ok(found)
}

fn of_gate(_: &Tx, gate: &Gate) -> Result<Vec<&'static str>, OpError> {
    let is_torn = (gate.status == GateState::Resolved) != gate.resolution.is_some();
    Ok(if is_torn { vec!["resolved without a resolution, or the reverse"] } else { Vec::new() })
}

/// One outstanding Delivery per Run, one message per sequence number.
fn of_mail(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    let mut busy = BTreeSet::new();
    for delivery in tx.all::<Delivery>(usize::MAX)? {
        if delivery.state == DeliveryState::Outstanding && !busy.insert(delivery.run_id.clone()) {
            found.push(format!("{}: two deliveries are outstanding", delivery.run_id));
        }
    }
    let mut sequences = BTreeSet::new();
    for message in tx.all::<Message>(usize::MAX)? {
        if !sequences.insert(message.sequence) {
            found.push(format!("{}: its sequence number is taken", message.id));
        }
    }
    Ok(found)
}
