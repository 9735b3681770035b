//! Settling an attempt, and everything that follows from it: the Task's state, the breaker, the
//! Worker, open questions, the Tasks that waited. Each consequence stands here once.

use super::cx::Cx;
use super::error::OpError;
use super::{limit, mail, terminal};
use crate::base::id::TaskId;
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchInput, DispatchState, Termination};
use crate::model::event::{EventKind, Fact};
use crate::model::message::ReportedOutcome;
use crate::model::plan;
use crate::model::task::{Task, TaskInput, TaskState};
use crate::model::worker::{Stage, Worker, WorkerInput};
use serde_json::Value;

/// `last_failure` of an attempt whose worker reported that it failed.
pub const REPORTED_FAILED: &str = "reported failed";

/// How an attempt ended without an accepted report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The start itself failed at this stage: the Task is `failed` and needs `--retry-of`.
    Start(Stage),
    /// The brief could not be typed into a terminal that was there already.
    Injection,
    /// The agent's process ended.
    ProcessEnd,
    /// The terminal is gone and nobody saw how.
    TerminalLost,
}

/// Loads the Task of an attempt.
pub fn task_of(cx: &Cx<'_>, id: &TaskId) -> Result<Task, OpError> {
    cx.tx.get::<Task>(id.as_str())?.ok_or_else(|| OpError::Bug(format!("{id} is not there")))
}

/// An accepted report: the attempt, its Task and its Worker are settled; on success the Tasks that
/// waited are promoted (contract 4.10).
pub fn report(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    outcome: ReportedOutcome,
    result: Value,
) -> Result<(), OpError> {
    let mut task = task_of(cx, &dispatch.task_id)?;
    let input = match outcome {
        ReportedOutcome::Succeeded => {
            task.n_failed_in_row = 0;
            TaskInput::Succeed
        }
        ReportedOutcome::Failed => {
            task.n_failed_in_row += 1;
            TaskInput::Fail
        }
    };
    task.status = task.status.next(input)?;
    task.result = Some(result);
    task.completed_at = Some(cx.now);
    cx.tx.put(&task)?;
    let worker_input = match outcome {
        ReportedOutcome::Succeeded => WorkerInput::Succeed,
        ReportedOutcome::Failed => WorkerInput::Fail,
    };
    let failure = (outcome == ReportedOutcome::Failed).then_some(REPORTED_FAILED);
    end_dispatch(cx, dispatch, Termination::Reported, failure, task.n_failed_in_row)?;
    end_worker(cx, dispatch, worker_input, Stage::Settled, None)?;
    let detail = format!("attempt {} {}", dispatch.attempt, outcome);
    cx.emit(Fact::new(EventKind::AttemptSettled, detail).of_dispatch(dispatch))?;
    if outcome == ReportedOutcome::Succeeded {
        promote(cx, &task.id)?;
    }
    Ok(())
}

/// An attempt that ended without a report. The third failure in a row trips the breaker (design 12).
pub fn lose(cx: &mut Cx<'_>, dispatch: &Dispatch, loss: Loss, reason: &str) -> Result<(), OpError> {
    let mut task = task_of(cx, &dispatch.task_id)?;
    task.n_failed_in_row += 1;
    let is_broken = plan::is_broken(&task);
    let is_start = matches!(loss, Loss::Start(_));
    let input = if is_broken || is_start { TaskInput::Fail } else { TaskInput::LoseAttempt };
    task.status = task.status.next(input)?;
    if task.status == TaskState::Ready && waiting_state(cx, &task.deps)? == TaskState::Pending {
        // What it depends on was opened again while the attempt ran.
        task.status = task.status.next(TaskInput::DependenciesUnmet)?;
    }
    if task.status == TaskState::Failed {
        task.completed_at = Some(cx.now);
    }
    cx.tx.put(&task)?;
    let (termination, stage) = match loss {
        Loss::Start(stage) => (Termination::StartFailed, stage),
        Loss::Injection => (Termination::StartFailed, Stage::DispatchInput),
        Loss::ProcessEnd => (Termination::Lost, Stage::ProcessExited),
        Loss::TerminalLost => (Termination::Lost, Stage::TerminalMissing),
    };
    end_dispatch(cx, dispatch, termination, Some(reason), task.n_failed_in_row)?;
    end_worker(cx, dispatch, WorkerInput::Fail, stage, Some(reason))?;
    let how = if termination == Termination::Lost { "lost" } else { "did not start" };
    let detail =
        format!("attempt {} {how}: {}", dispatch.attempt, text::cut_chars(&text::one_line(reason), 120));
    cx.emit(Fact::new(EventKind::AttemptSettled, detail).of_dispatch(dispatch))
}

/// An attempt that somebody ended: authority is revoked and the Task is blocked until `--retry-of` or
/// `task-update` (contract 7.2, 7.3). It counts for no breaker.
pub fn give_up(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    input: WorkerInput,
    stage: Stage,
    reason: &str,
) -> Result<(), OpError> {
    let mut task = task_of(cx, &dispatch.task_id)?;
    if task.status == TaskState::Dispatched {
        task.status = task.status.next(TaskInput::Block)?;
        cx.tx.put(&task)?;
    }
    let n_failed = task.n_failed_in_row;
    let termination =
        if input == WorkerInput::Abandon { Termination::Abandoned } else { Termination::Stopped };
    end_dispatch(cx, dispatch, termination, Some(reason), n_failed.min(plan::BREAKER_LIMIT - 1))?;
    end_worker(cx, dispatch, input, stage, None)?;
    cx.emit(
        Fact::new(EventKind::AttemptSettled, format!("attempt {} {reason}", dispatch.attempt))
            .of_dispatch(dispatch),
    )
}

/// Nobody knows whether the start took effect: the Task is blocked so that no second worker starts,
/// and the worker keeps its right to report, which is how it may still prove itself (design 7.3).
pub fn lose_track(cx: &mut Cx<'_>, dispatch: &Dispatch, reason: &str) -> Result<(), OpError> {
    let mut task = task_of(cx, &dispatch.task_id)?;
    task.status = task.status.next(TaskInput::Block)?;
    cx.tx.put(&task)?;
    if let Some(mut worker) = cx.tx.get::<Worker>(dispatch.id.as_str())? {
        worker.state = worker.state.next(WorkerInput::LoseTrack)?;
        worker.last_error = Some(reason.to_owned());
        worker.updated_at = cx.now;
        cx.tx.put(&worker)?;
    }
    let detail = format!("attempt {}: {}", dispatch.attempt, text::cut_chars(&text::one_line(reason), 120));
    cx.emit(Fact::new(EventKind::AttemptUnknown, detail).of_dispatch(dispatch))
}

/// Takes the right to report away and blocks the Task, while the attempt's fate is still open.
pub fn block(cx: &mut Cx<'_>, dispatch: &Dispatch) -> Result<Dispatch, OpError> {
    let mut task = task_of(cx, &dispatch.task_id)?;
    task.status = task.status.next(TaskInput::Block)?;
    cx.tx.put(&task)?;
    let mut dispatch = dispatch.clone();
    dispatch.revoked_at = Some(cx.now);
    cx.tx.put(&dispatch)?;
    mail::close_questions(cx, &dispatch.id)?;
    Ok(dispatch)
}

/// `task-update --status completed|failed` settles an unsupervised attempt with the same verdict.
pub fn by_hand(cx: &mut Cx<'_>, dispatch: &Dispatch, is_success: bool) -> Result<(), OpError> {
    let failure = (!is_success).then_some("the task was set to failed");
    end_dispatch(cx, dispatch, Termination::SetByHand, failure, 0)?;
    let detail = format!("attempt {} settled by task-update", dispatch.attempt);
    cx.emit(Fact::new(EventKind::AttemptSettled, detail).of_dispatch(dispatch))
}

fn end_dispatch(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    termination: Termination,
    failure: Option<&str>,
    n_failed_in_row: u32,
) -> Result<(), OpError> {
    let mut ended = dispatch.clone();
    let input = match failure {
        None => DispatchInput::Succeed,
        Some(_) if plan::failed_state(n_failed_in_row) == DispatchState::CircuitBroken => {
            DispatchInput::Break
        }
        Some(_) => DispatchInput::Fail,
    };
    ended.status = ended.status.next(input)?;
    ended.failure_count = n_failed_in_row;
    ended.last_failure = failure.map(str::to_owned);
    ended.termination = Some(termination);
    ended.completed_at = Some(cx.now);
    ended.revoked_at = ended.revoked_at.or(Some(cx.now));
    cx.tx.put(&ended)?;
    terminal::mark::attempt_ended(cx, &ended)?;
    limit::close(cx, &ended.id, "its attempt ended")?;
    mail::close_questions(cx, &ended.id)
}

fn end_worker(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    input: WorkerInput,
    stage: Stage,
    error: Option<&str>,
) -> Result<(), OpError> {
    let Some(mut worker) = cx.tx.get::<Worker>(dispatch.id.as_str())? else { return Ok(()) };
    worker.state = worker.state.next(input)?;
    worker.stage = stage;
    worker.last_error = error.map(str::to_owned).or(worker.last_error);
    worker.updated_at = cx.now;
    Ok(cx.tx.put(&worker)?)
}

/// A Task was completed: those that waited for it and now have all they need become ready. Nothing
/// else ever cascades (contract 3.1).
pub fn promote(cx: &mut Cx<'_>, completed: &TaskId) -> Result<(), OpError> {
    for mut waiting in cx.tx.list::<Task>("dep", completed.as_str(), usize::MAX)? {
        if waiting.status != TaskState::Pending || waiting_state(cx, &waiting.deps)? != TaskState::Ready {
            continue;
        }
        waiting.status = waiting.status.next(TaskInput::DependenciesMet)?;
        cx.tx.put(&waiting)?;
        cx.emit(
            Fact::new(EventKind::TaskChanged, "ready: its dependencies are completed").of_task(&waiting),
        )?;
    }
    Ok(())
}

/// A completed Task was opened again: those that are ready because of it wait once more. Attempts
/// that run already go on.
pub fn demote(cx: &mut Cx<'_>, reopened: &TaskId) -> Result<(), OpError> {
    for mut waiting in cx.tx.list::<Task>("dep", reopened.as_str(), usize::MAX)? {
        if waiting.status != TaskState::Ready {
            continue;
        }
        waiting.status = waiting.status.next(TaskInput::DependenciesUnmet)?;
        cx.tx.put(&waiting)?;
        let detail = format!("pending: {reopened} is no longer completed");
        cx.emit(Fact::new(EventKind::TaskChanged, detail).of_task(&waiting))?;
    }
    Ok(())
}

/// `ready` when all of `deps` are completed, else `pending`.
pub fn waiting_state(cx: &Cx<'_>, deps: &[TaskId]) -> Result<TaskState, OpError> {
    let mut states = Vec::with_capacity(deps.len());
    for id in deps {
        states.push(task_of(cx, id)?.status);
    }
    Ok(plan::waiting_state(states))
}
