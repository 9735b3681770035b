//! Pure decisions over several nouns: promotion, breaker, depth, retry.

use super::dispatch::{Dispatch, DispatchState};
use super::task::{Task, TaskState};
use super::worker::WorkerState;

/// The failures in a row that trip the breaker (contract 3.3).
pub const BREAKER_LIMIT: u32 = 3;

/// The state of a Task at creation and after a change of dependencies (contract 3.1).
pub fn waiting_state(deps: impl IntoIterator<Item = TaskState>) -> TaskState {
    if deps.into_iter().all(|state| state == TaskState::Completed) {
        TaskState::Ready
    } else {
        TaskState::Pending
    }
}

/// Says whether the breaker is open: no attempt starts until `task-update --status ready`.
pub fn is_broken(task: &Task) -> bool {
    task.n_failed_in_row >= BREAKER_LIMIT
}

/// Somebody's word opened the Task again, by `task-update` or a gate: what is then called `ready` can
/// be started, so an open breaker is closed.
pub fn close_breaker(task: &mut Task) {
    if is_broken(task) {
        task.n_failed_in_row = 0;
    }
}

/// Why `--retry-of` is not legal, or nothing (contract 3.4).
pub fn retry_objection(
    task: &Task,
    retry_of: &Dispatch,
    latest: Option<&Dispatch>,
    worker: Option<WorkerState>,
) -> Option<&'static str> {
    if retry_of.task_id != task.id {
        return Some("that attempt belongs to another task");
    }
    if latest.is_none_or(|latest| latest.id != retry_of.id) {
        return Some("that is not the task's latest attempt");
    }
    let Some(worker) = worker else {
        return Some("that attempt had no supervised worker");
    };
    match worker {
        WorkerState::Failed | WorkerState::Stopped | WorkerState::Abandoned => {}
        WorkerState::Starting
        | WorkerState::Ready
        | WorkerState::StartUnknown
        | WorkerState::Succeeded
        | WorkerState::Stopping
        | WorkerState::StopUnknown => return Some("that attempt has not failed, stopped or been abandoned"),
    }
    match task.status {
        TaskState::Failed | TaskState::Blocked => None,
        TaskState::Ready => Some("the task is ready: start it without --retry-of"),
        TaskState::Pending | TaskState::Dispatched | TaskState::Completed => {
            Some("the task is neither failed nor blocked")
        }
    }
}

/// The depth of a Dispatch made by a pane that works on `creator`. What a pane assigned to itself does
/// not count (contract 3.10).
pub fn child_depth(creator: Option<&Dispatch>) -> u32 {
    let is_role = |dispatch: &&Dispatch| {
        // One that a pane gave itself makes it no worker of anybody.
        let is_own =
            dispatch.assignee_handle.as_ref().is_some_and(|own| own.as_str() == dispatch.creator_handle);
        dispatch.status.is_active() && !is_own
    };
    creator.filter(is_role).map_or(0, |dispatch| dispatch.depth) + 1
}

/// The Dispatch state after a failure that makes `failure_count` in a row.
pub fn failed_state(failure_count: u32) -> DispatchState {
    if failure_count >= BREAKER_LIMIT { DispatchState::CircuitBroken } else { DispatchState::Failed }
}
