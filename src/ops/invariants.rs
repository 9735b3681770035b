//! What must be true after every commit, whatever happened (design 7): the rules that no single verb
//! owns. Tests look after each command; nothing is repaired here, a breach is a bug to be found.

use super::error::OpError;
use super::view;
use crate::model::delivery::{Delivery, DeliveryState};
use crate::model::dispatch::Dispatch;
use crate::model::gate::{Gate, GateState};
use crate::model::message::Message;
use crate::model::question::{Question, QuestionState};
use crate::model::task::{Task, TaskState};
use crate::model::worker::Worker;
use crate::store::tx::Tx;
use std::collections::BTreeSet;

/// Every breach there is, in words; empty when all is well. Reads everything: for small stores.
pub fn breaches(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    for task in tx.all::<Task>(usize::MAX)? {
        found.extend(of_task(tx, &task)?.into_iter().map(|breach| format!("{}: {breach}", task.id)));
    }
    for dispatch in tx.all::<Dispatch>(usize::MAX)? {
        let breaches = of_dispatch(tx, &dispatch)?;
        found.extend(breaches.into_iter().map(|breach| format!("{}: {breach}", dispatch.id)));
    }
    found.extend(of_terminals(tx)?);
    found.extend(of_mail(tx)?);
    Ok(found)
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
        Some(worker) if worker.state.is_settled() == is_active => {
            found.push("its worker and it do not agree whether it has ended");
        }
        worker if worker.is_some() != dispatch.is_supervised => {
            found.push("it is supervised without a worker, or has one and is not");
        }
        _ => {}
    }
    let asks = tx.first::<Question>("pending_dispatch", dispatch.id.as_str())?.is_some();
    if asks && (!is_active || dispatch.revoked_at.is_some()) {
        found.push("it has ended and still waits for an answer");
    }
    Ok(found)
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

fn of_mail(tx: &Tx) -> Result<Vec<String>, OpError> {
    let mut found = Vec::new();
    let mut busy = BTreeSet::new();
    for delivery in tx.all::<Delivery>(usize::MAX)? {
        if delivery.state == DeliveryState::Outstanding && !busy.insert(delivery.run_id.clone()) {
            found.push(format!("{}: two deliveries are outstanding", delivery.run_id));
        }
        for id in &delivery.message_ids {
            if tx.get::<Message>(id.as_str())?.is_none() {
                found.push(format!("{}: {id} is not there", delivery.id));
            }
        }
    }
    for question in tx.all::<Question>(usize::MAX)? {
        if (question.status == QuestionState::Answered) != question.answer_body.is_some() {
            found.push(format!("{}: answered without an answer, or the reverse", question.message_id));
        }
    }
    for gate in tx.all::<Gate>(usize::MAX)? {
        if (gate.status == GateState::Resolved) != gate.resolution.is_some() {
            found.push(format!("{}: resolved without a resolution, or the reverse", gate.id));
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
