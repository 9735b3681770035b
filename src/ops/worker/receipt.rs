//! The receipt of a `worker-start` (contract 5.5): what was asked, what stands, and what to run next.

use super::worker_of;
use crate::base::clock::Timestamp;
use crate::model::dispatch::Dispatch;
use crate::model::plan;
use crate::model::repo::AgentStartup;
use crate::model::setup::{Setup, SetupState};
use crate::model::task::Task;
use crate::model::worker::{Placement, Stage, Worker, WorkerState};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::OpError;
use crate::ops::{reply, settle};
use crate::proto::worker::{AgentChoice, LaunchReport, SetupReport, StartReceipt};

/// How much longer than the agent's own time the whole start may take, in milliseconds.
pub const START_SLACK_MS: u64 = 40_000;

/// A waiting `worker-start` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::WorkerStart { dispatch, timeout_ms } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a start")));
    };
    let dispatch = crate::ops::dispatch::named(cx, dispatch.as_str())?;
    let worker = worker_of(cx, &dispatch)?.ok_or_else(|| OpError::Bug(String::from("no worker")))?;
    let setup = match &worker.worktree_id {
        Some(id) => cx.tx.get::<Setup>(id)?.filter(|setup| setup.dispatch_id.as_ref() == Some(&dispatch.id)),
        None => None,
    };
    if worker.state == WorkerState::Starting && !waits_for_person(setup.as_ref()) {
        let deadline = own_deadline(cx.now, &wait, setup.as_ref(), *timeout_ms);
        if wake == Wake::Changed || deadline > wait.deadline {
            return Ok(Answer::Wait(Wait { deadline, ..wait }));
        }
    }
    let tried = settle::task_of(cx, &dispatch.task_id)?;
    let mut receipt = receipt(&tried, &dispatch, &worker, setup.as_ref(), *timeout_ms);
    if let Some(setup) = &setup {
        receipt.warning = crate::ops::setup::warning(cx, setup)?;
        if setup.state == SetupState::AwaitingApproval {
            receipt.next_commands.extend(crate::ops::setup::decisions(cx, setup)?);
        }
    }
    reply(&receipt)
}

/// The agent waits for a setup script that a person has to approve: the caller need not.
fn waits_for_person(setup: Option<&Setup>) -> bool {
    setup.is_some_and(|setup| setup.state == SetupState::AwaitingApproval && setup.holds_agent())
}

/// Setup has a clock of its own: the agent's begins when nothing holds it back any more.
fn own_deadline(now: Timestamp, wait: &Wait, setup: Option<&Setup>, timeout_ms: u64) -> Option<Timestamp> {
    let since = match setup {
        Some(setup) if setup.holds_agent() => Some(now),
        Some(setup) => setup.ended_at,
        None => None,
    };
    wait.deadline.max(since.map(|since| since.plus_ms(timeout_ms + START_SLACK_MS)))
}

fn receipt(
    tried: &Task,
    dispatch: &Dispatch,
    worker: &Worker,
    found: Option<&Setup>,
    timeout_ms: u64,
) -> StartReceipt {
    let state = match worker.state {
        WorkerState::Ready | WorkerState::Succeeded => "ready",
        // A worker that reported failure already had been started well.
        WorkerState::Failed if worker.failed_stage.is_none() && worker.stage != Stage::ProcessExited => {
            "ready"
        }
        WorkerState::Failed | WorkerState::Stopping | WorkerState::Stopped | WorkerState::Abandoned => {
            "failed"
        }
        WorkerState::Starting if waits_for_person(found) => "starting",
        WorkerState::Starting | WorkerState::StartUnknown | WorkerState::StopUnknown => "outcome_unknown",
    };
    let options = &worker.start_options;
    let choice = AgentChoice {
        agent: options.agent.clone(),
        model: options.model.clone(),
        effort: options.effort.clone(),
    };
    let next_commands = match state {
        "outcome_unknown" => look_or_give_up(dispatch),
        "failed" => try_again(tried, dispatch, worker),
        _ => Vec::new(),
    };
    StartReceipt {
        run_id: dispatch.run_id.clone(),
        task_id: dispatch.task_id.clone(),
        dispatch_id: dispatch.id.clone(),
        state: state.to_owned(),
        stage: worker.stage,
        delivery: worker.delivery,
        attempt: dispatch.attempt,
        agent_terminal_handle: worker.agent_terminal_handle.clone(),
        worktree_id: worker.worktree_id.clone(),
        failed_stage: worker.failed_stage,
        last_error: worker.last_error.clone(),
        setup: setup(worker, found),
        launch: LaunchReport {
            requested: AgentChoice { agent: options.requested_agent.clone(), ..choice.clone() },
            effective: options.agent.is_some().then_some(choice),
        },
        timeout_ms,
        effects: worker.effects.clone(),
        warning: None,
        residual_resources: if matches!(state, "ready" | "starting") {
            Vec::new()
        } else {
            worker.left_behind()
        },
        next_commands,
    }
}

fn setup(worker: &Worker, found: Option<&Setup>) -> SetupReport {
    let requested = worker.start_options.setup.clone();
    let (effective, source) = match (is_new(worker), &requested) {
        (false, _) => ("not_applicable", "existing_worktree"),
        (true, Some(setup)) => (setup.as_str(), "explicit_request"),
        (true, None) => ("run", "orchestration_default"),
    };
    SetupReport {
        effective: effective.to_owned(),
        source: source.to_owned(),
        hook_found: found.is_some_and(|setup| !setup.scripts.is_empty()),
        script_source: found.filter(|setup| !setup.scripts.is_empty()).map(|setup| setup.source.clone()),
        terminal_handle: found.and_then(|setup| setup.terminal_id.clone()),
        startup_policy: found.map_or(AgentStartup::StartImmediately, |setup| setup.startup),
        state: worker.setup_state.clone(),
        requested,
    }
}

fn is_new(worker: &Worker) -> bool {
    matches!(worker.start_options.placement, Placement::NewChild | Placement::NewTopLevel)
}

fn look_or_give_up(dispatch: &Dispatch) -> Vec<String> {
    ["worker-show", "worker-abandon"]
        .map(|verb| format!("orca orchestration {verb} --dispatch {} --json", dispatch.id))
        .to_vec()
}

fn try_again(tried: &Task, dispatch: &Dispatch, worker: &Worker) -> Vec<String> {
    let id = &tried.id;
    if plan::is_broken(tried) {
        return vec![
            format!("orca orchestration dispatch-show --task {id} --history --json"),
            format!("orca orchestration task-update --id {id} --status ready --json"),
        ];
    }
    vec![retry_command(dispatch, worker)]
}

/// The command that tries an attempt again where it was. Nothing is inherited by a retry (contract
/// 3.4), so place and agent are named in full; a worktree that stands already is used again.
pub fn retry_command(dispatch: &Dispatch, worker: &Worker) -> String {
    let options = &worker.start_options;
    format!(
        "{} --json",
        options.retry_command(&dispatch.task_id, &dispatch.id, worker.worktree_id.as_deref())
    )
}
