//! The ends of a worker: stop, abandon (contract 7). Nothing here removes a worktree,
//! a branch or another terminal, and none of it is ever done by a timer.

use super::{release, worker_of};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, TerminalId};
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::effect::{Effect, OpenEffect};
use crate::model::event::{EventKind, Fact};
use crate::model::resource::ReleaseState;
use crate::model::terminal::Terminal;
use crate::model::worker::{Stage, Worker, WorkerInput, WorkerState};
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::dispatch;
use crate::ops::error::{OpError, refuse};
use crate::ops::{reply, settle, setup, terminal, view};
use crate::proto::error::ErrorBody;
use crate::proto::worker::{Abandoned, Stopped, WorkerAbandon, WorkerStop};

pub(super) fn inactive(dispatch: &Dispatch, message: impl Into<String>) -> ErrorBody {
    refuse(ErrorCode::DispatchInactive, message)
        .with("dispatchId", &dispatch.id)
        .next_step(format!("orca orchestration worker-show --dispatch {} --json", dispatch.id))
}

/// `worker-stop`: the right to report goes first, then exactly the worker's terminal is closed.
pub fn stop(cx: &mut Cx<'_>, call: WorkerStop) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let dispatch = dispatch::named(cx, &call.dispatch)?;
    let Some(mut worker) = worker_of(cx, &dispatch)? else {
        return stop_unsupervised(cx, &dispatch);
    };
    match worker.state {
        WorkerState::Starting | WorkerState::Ready | WorkerState::StartUnknown => {}
        WorkerState::Stopping | WorkerState::StopUnknown => {
            return Err(inactive(&dispatch, format!("{} is being stopped already.", dispatch.id))
                .next_step(format!("orca orchestration worker-abandon --dispatch {} --json", dispatch.id))
                .into());
        }
        WorkerState::Failed | WorkerState::Succeeded | WorkerState::Stopped | WorkerState::Abandoned => {
            return reply(&stopped(&dispatch, &worker, true, "none"));
        }
    }
    let dispatch = settle::block(cx, &dispatch)?;
    withdraw_brief(cx, &dispatch.id)?;
    setup::withdraw(cx, &worker)?;
    worker.state = worker.state.next(WorkerInput::BeginStop)?;
    worker.stage = Stage::StopRequested;
    worker.updated_at = cx.now;
    cx.tx.put(&worker)?;
    cx.emit(
        Fact::new(EventKind::AttemptStopping, format!("attempt {} is to stop", dispatch.attempt))
            .of_dispatch(&dispatch),
    )?;
    let terminal = terminal_of(cx, &worker)?.filter(terminal::is_alive);
    match terminal {
        Some(terminal) => {
            terminal::close::request(cx, &terminal.id, Some(dispatch.id.clone()))?;
            Ok(Answer::Wait(wait(cx, &dispatch.id, "stop")))
        }
        None => {
            // No process was ever bound, or it has ended: there is nothing left to close.
            settle::give_up(cx, &dispatch, WorkerInput::FinishStop, Stage::ProcessStopped, "stopped")?;
            let worker = worker_of(cx, &dispatch)?.unwrap_or(worker);
            reply(&stopped(&dispatch, &worker, false, "none"))
        }
    }
}

fn stop_unsupervised(cx: &mut Cx<'_>, dispatch: &Dispatch) -> Result<Answer, OpError> {
    let is_settled = !dispatch.status.is_active();
    if !is_settled {
        settle::give_up(cx, dispatch, WorkerInput::FinishStop, Stage::ProcessStopped, "stopped")?;
    }
    reply(&Stopped {
        dispatch_id: dispatch.id.clone(),
        state: String::from("unsupervised"),
        already_settled: is_settled,
        process_action: String::from("none"),
        last_error: None,
        warning: Some(String::from(
            "This attempt has no supervised terminal; whatever works on it was left alone.",
        )),
    })
}

pub(super) fn terminal_of(cx: &Cx<'_>, worker: &Worker) -> Result<Option<Terminal>, OpError> {
    match &worker.agent_terminal_handle {
        Some(handle) => Ok(cx.tx.get::<Terminal>(handle.as_str())?),
        None => Ok(None),
    }
}

pub(super) fn wait(cx: &Cx<'_>, dispatch: &DispatchId, verb: &str) -> Wait {
    let on = WaitOn::WorkerEnd { dispatch: dispatch.clone(), verb: verb.to_owned() };
    Wait { on, deadline: Some(cx.now.plus_ms(terminal::close::CLOSE_PATIENCE_MS)), began: cx.now }
}

fn stopped(dispatch: &Dispatch, worker: &Worker, already_settled: bool, process_action: &str) -> Stopped {
    let is_unknown = matches!(worker.state, WorkerState::Stopping | WorkerState::StopUnknown);
    Stopped {
        dispatch_id: dispatch.id.clone(),
        state: String::from(if is_unknown { "stop_unknown" } else { worker.state.as_str() }),
        already_settled,
        process_action: String::from(if is_unknown { "unknown" } else { process_action }),
        last_error: worker.last_error.clone(),
        warning: is_unknown
            .then(|| String::from("The process may still run; look at its terminal, or abandon the worker.")),
    }
}

/// A brief that still waits to be typed is not typed any more.
fn withdraw_brief(cx: &mut Cx<'_>, dispatch: &DispatchId) -> Result<(), OpError> {
    for open in cx.tx.list::<OpenEffect>("all", "", usize::MAX)? {
        if open.dispatch_id.as_ref() == Some(dispatch) && matches!(open.effect, Effect::DeliverPrompt { .. })
        {
            cx.tx.delete::<OpenEffect>(open.id.as_str())?;
        }
    }
    Ok(())
}

/// `worker-abandon`: the attempt is given up, the process is not touched.
pub fn abandon(cx: &mut Cx<'_>, call: WorkerAbandon) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let dispatch = dispatch::named(cx, &call.dispatch)?;
    let worker = worker_of(cx, &dispatch)?;
    let state = worker.as_ref().map(|worker| worker.state);
    if state == Some(WorkerState::Succeeded) || dispatch.status == DispatchState::Completed {
        return Err(inactive(
            &dispatch,
            format!("{} has succeeded; there is nothing to abandon.", dispatch.id),
        )
        .next_step(format!("orca orchestration worker-release --dispatch {} --json", dispatch.id))
        .into());
    }
    let latest = cx.tx.last::<Dispatch>("task", dispatch.task_id.as_str())?;
    let is_stale = latest.is_some_and(|latest| latest.id != dispatch.id);
    let is_settled = state.map_or(!dispatch.status.is_active(), WorkerState::is_settled);
    let handle = worker.as_ref().and_then(|worker| worker.agent_terminal_handle.clone());
    let mut answer = Abandoned {
        dispatch_id: dispatch.id.clone(),
        state: state.map_or("unsupervised", WorkerState::as_str).to_owned(),
        already_settled: is_settled,
        stale: is_stale,
        process_action: String::from("none"),
        warning: None,
        residual_resources: worker.map(|worker| worker.left_behind()).unwrap_or_default(),
    };
    if is_settled || is_stale {
        return reply(&answer);
    }
    withdraw_brief(cx, &dispatch.id)?;
    settle::give_up(cx, &dispatch, WorkerInput::Abandon, Stage::Abandoned, "abandoned")?;
    answer.state = String::from("abandoned");
    answer.warning = handle.map(|handle| {
        format!(
            "The agent may still be running; it can no longer report. End it with: {}",
            close_command(&handle)
        )
    });
    reply(&answer)
}

pub(super) fn close_command(handle: &TerminalId) -> String {
    format!("orca terminal close --terminal {handle} --json")
}

/// The terminal of an attempt was closed by request: the stop or release that asked for it ends.
pub fn terminal_closed(cx: &mut Cx<'_>, id: &DispatchId, archive: &str) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let Some(worker) = worker_of(cx, &dispatch)? else { return Ok(()) };
    if worker.state == WorkerState::Stopping {
        settle::give_up(cx, &dispatch, WorkerInput::FinishStop, Stage::ProcessStopped, "stopped")?;
        return Ok(());
    }
    match view::resource_of(&cx.tx, &worker)? {
        Some(resource) if resource.release == ReleaseState::Releasing => {
            release::finish(cx, &dispatch, resource, archive)
        }
        Some(_) | None => Ok(()),
    }
}

/// The terminal could not be closed for certain.
pub fn close_unknown(cx: &mut Cx<'_>, id: &DispatchId, message: &str) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let Some(mut worker) = worker_of(cx, &dispatch)? else { return Ok(()) };
    if worker.state == WorkerState::Stopping {
        worker.state = worker.state.next(WorkerInput::LoseTrack)?;
        worker.stage = Stage::StopOutcomeUnknown;
        worker.last_error = Some(message.to_owned());
        worker.updated_at = cx.now;
        return Ok(cx.tx.put(&worker)?);
    }
    if let Some(mut resource) = view::resource_of(&cx.tx, &worker)?
        && resource.release == ReleaseState::Releasing
    {
        resource.release = ReleaseState::Unknown;
        resource.release_error = Some(message.to_owned());
        cx.tx.put(&resource)?;
    }
    Ok(())
}

/// A waiting `worker-stop` or `worker-release` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::WorkerEnd { dispatch, verb } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for an end")));
    };
    let dispatch = dispatch::named(cx, dispatch.as_str())?;
    let worker = worker_of(cx, &dispatch)?.ok_or_else(|| OpError::Bug(String::from("no worker")))?;
    if verb == "stop" {
        let is_open = worker.state == WorkerState::Stopping && wake == Wake::Changed;
        if is_open {
            return Ok(Answer::Wait(wait));
        }
        return reply(&stopped(&dispatch, &worker, false, "closed_agent_terminal"));
    }
    let resource = view::resource_of(&cx.tx, &worker)?;
    let is_open = resource.is_some_and(|resource| resource.release == ReleaseState::Releasing);
    if is_open && wake == Wake::Changed {
        return Ok(Answer::Wait(wait));
    }
    release::answer(cx, &dispatch)
}
