//! The receipt of a `worker-start` (contract 5.5): what was asked, what stands, and what to run next.

use super::worker_of;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::plan;
use crate::model::task::Task;
use crate::model::worker::{Placement, Stage, Worker, WorkerState};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::OpError;
use crate::ops::{reply, settle};
use crate::proto::worker::{AgentChoice, LaunchReport, SetupReport, StartReceipt};

/// A waiting `worker-start` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::WorkerStart { dispatch, timeout_ms } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a start")));
    };
    let dispatch = crate::ops::dispatch::named(cx, dispatch.as_str())?;
    let worker = worker_of(cx, &dispatch)?.ok_or_else(|| OpError::Bug(String::from("no worker")))?;
    if worker.state == WorkerState::Starting && wake == Wake::Changed {
        return Ok(Answer::Wait(wait));
    }
    let tried = settle::task_of(cx, &dispatch.task_id)?;
    reply(&receipt(&tried, &dispatch, &worker, *timeout_ms))
}

fn receipt(tried: &Task, dispatch: &Dispatch, worker: &Worker, timeout_ms: u64) -> StartReceipt {
    let state = match worker.state {
        WorkerState::Ready | WorkerState::Succeeded => "ready",
        // A worker that reported failure already had been started well.
        WorkerState::Failed if worker.failed_stage.is_none() && worker.stage != Stage::ProcessExited => {
            "ready"
        }
        WorkerState::Failed | WorkerState::Stopping | WorkerState::Stopped | WorkerState::Abandoned => {
            "failed"
        }
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
        setup: setup(worker),
        launch: LaunchReport {
            requested: choice.clone(),
            effective: options.agent.is_some().then_some(choice),
        },
        timeout_ms,
        effects: worker.effects.clone(),
        residual_resources: if state == "ready" { Vec::new() } else { worker.left_behind() },
        next_commands,
    }
}

/// No repository has scripts that this build would run, so nothing is ever found.
fn setup(worker: &Worker) -> SetupReport {
    let requested = worker.start_options.setup.clone();
    let (effective, source) = match (is_new(worker), &requested) {
        (false, _) => ("not_applicable", "existing_worktree"),
        (true, Some(setup)) => (setup.as_str(), "explicit_request"),
        (true, None) => ("run", "orchestration_default"),
    };
    SetupReport {
        effective: effective.to_owned(),
        source: source.to_owned(),
        hook_found: false,
        startup_policy: String::from("start-immediately"),
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
    let mut words = vec![format!(
        "orca orchestration worker-start --task {} --retry-of {}",
        dispatch.task_id, dispatch.id
    )];
    let mut add = |flag: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("{flag} {}", text::shell_quote(value))));
    };
    let standing = worker.worktree_id.as_ref().map(|id| format!("id:{id}"));
    match (&standing, options.placement) {
        (_, Placement::Current) => {}
        (Some(_), _) | (None, Placement::Existing) => add("--worktree", standing.as_deref()),
        (None, placement) => {
            add("--worktree", Some(placement.as_str()));
            add("--name", options.name.as_deref());
            add("--repo", options.repo.as_deref());
            add("--base-branch", options.base_branch.as_deref());
        }
    }
    add("--agent", options.agent.as_deref());
    add("--model", options.model.as_deref());
    add("--effort", options.effort.as_deref());
    format!("{} --json", words.join(" "))
}
