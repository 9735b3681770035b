//! The chain of a worker's start: worktree, terminal, brief. Each link is a recorded effect, and each
//! outcome moves the start on from what is stored, so it goes on after any crash. Called by `start`
//! once and by `ops::advance` for every outcome.

use super::place::Place;
use super::seen::was_typed;
use super::{Choice, brief, plan, worker_of};
use crate::agent::launch::BriefDelivery;
use crate::base::id::{DispatchId, RepoId, ResourceId, TerminalId};
use crate::model::dispatch::{Dispatch, DispatchInput, DispatchState};
use crate::model::effect::{Effect, NewCheckout};
use crate::model::event::{EventKind, Fact};
use crate::model::resource::{Ownership, ReleaseState, Resource};
use crate::model::run::Run;
use crate::model::setup::{Setup, SetupChoice, SetupState};
use crate::model::task::{TaskInput, TaskState};
use crate::model::terminal::Terminal;
use crate::model::worker::{Placement, PromptDelivery, Stage, StartEffect, Worker, WorkerInput, WorkerState};
use crate::model::worktree::Worktree;
use crate::ops::cx::Cx;
use crate::ops::error::OpError;
use crate::ops::settle::{self, Loss};
use crate::ops::setup;
use crate::ops::terminal::create::{self, NewTerminal};
use crate::ops::{caller, tabs, worktree};

/// Requests the first effect of an accepted start.
pub fn begin(
    cx: &mut Cx<'_>,
    run: &Run,
    dispatch: Dispatch,
    mut worker: Worker,
    place: Place,
) -> Result<(), OpError> {
    match place {
        Place::New { wish, parent, .. } => {
            worker.stage = Stage::WorktreeCreating;
            cx.tx.put(&worker)?;
            cx.request(
                Effect::CreateWorktree(*wish),
                Some(dispatch.id),
                Some(serde_json::json!({ "parent": parent })),
            )?;
            Ok(())
        }
        Place::Existing(worktree, _) => {
            worker.effects.push(worktree_effect("reused", &worktree));
            open_terminal(cx, run, dispatch, worker, *worktree, false)
        }
        Place::Terminal(terminal, _) => reuse_terminal(cx, run, dispatch, worker, &terminal),
    }
}

fn worktree_effect(action: &str, worktree: &Worktree) -> StartEffect {
    StartEffect {
        kind: String::from("worktree"),
        action: Some(action.to_owned()),
        role: None,
        id: Some(worktree.id.clone()),
        state: None,
    }
}

fn terminal_effect(action: &str, role: &str, id: &TerminalId) -> StartEffect {
    StartEffect {
        kind: String::from("terminal"),
        action: Some(action.to_owned()),
        role: Some(role.to_owned()),
        id: Some(id.to_string()),
        state: None,
    }
}

/// Makes the worker's terminal and binds it to the attempt before the agent is executed, so that a
/// report in its first instant is accepted (contract 5.4).
fn open_terminal(
    cx: &mut Cx<'_>,
    run: &Run,
    mut dispatch: Dispatch,
    mut worker: Worker,
    worktree: Worktree,
    is_agent_first: bool,
) -> Result<(), OpError> {
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let agent = worker.start_options.agent.clone().ok_or_else(|| OpError::Bug(String::from("no agent")))?;
    let id = TerminalId::new(cx.ids);
    let text = brief(cx, run, &task, &dispatch, id.as_str(), Some(&agent))?;
    let options = worker.start_options.clone();
    let choice = Choice { agent: &agent, model: options.model.as_deref(), effort: options.effort.as_deref() };
    let plan = plan(cx, &choice, &id, Some(&text), true)?;
    let mut env: Vec<(String, String)> = plan.env.into_iter().collect();
    env.push((String::from("ORCA_TASK_ID"), task.id.to_string()));
    env.push((String::from("ORCA_DISPATCH_ID"), dispatch.id.to_string()));
    let new = NewTerminal {
        worktree: worktree.clone(),
        title: Some(format!("worker-{}", task.id)),
        agent: Some(agent),
        argv: plan.argv,
        env,
        unset_env: plan.unset_env,
        run_id: Some(run.id.clone()),
    };
    let mut terminal = create::add(cx, id, new)?;
    terminal.dispatch_id = Some(dispatch.id.clone());
    worker.delivery = match plan.brief {
        BriefDelivery::Argument => PromptDelivery::Argument,
        BriefDelivery::File { path, text } => {
            terminal.launch.brief_file = Some((path.to_string_lossy().into_owned(), text));
            PromptDelivery::Argument
        }
        BriefDelivery::Paste(_) => PromptDelivery::None,
        BriefDelivery::None => PromptDelivery::Environment,
    };
    cx.tx.put(&terminal)?;
    bind(cx, &mut dispatch, &mut worker, &terminal, Ownership::Owned)?;
    worker.worktree_id = Some(worktree.id.clone());
    worker.stage = Stage::TerminalCreating;
    worker.effects.push(terminal_effect(
        if is_agent_first { "reused_agent_terminal" } else { "created" },
        "agent",
        &terminal.id,
    ));
    if is_agent_first {
        let tabs = tabs::open(cx, &worktree)?;
        worker.effects.extend(tabs.iter().map(|tab| terminal_effect("created", "configured_tab", tab)));
    }
    cx.tx.put(&worker)?;
    cx.request(Effect::SpawnTerminal { terminal_id: terminal.id }, Some(dispatch.id), None)?;
    Ok(())
}

/// Binds attempt and terminal; from here on the terminal may report for the attempt.
fn bind(
    cx: &mut Cx<'_>,
    dispatch: &mut Dispatch,
    worker: &mut Worker,
    terminal: &Terminal,
    ownership: Ownership,
) -> Result<(), OpError> {
    dispatch.assignee_handle = Some(terminal.id.clone());
    dispatch.assignee_pane_key = Some(terminal.pane_key.clone());
    dispatch.process_incarnation = Some(terminal.incarnation.clone());
    cx.tx.put(dispatch)?;
    worker.agent_terminal_handle = Some(terminal.id.clone());
    worker.updated_at = cx.now;
    let resource = Resource {
        id: ResourceId::new(cx.ids),
        terminal_id: terminal.id.clone(),
        worktree_id: terminal.worktree_id.clone(),
        ownership,
        release: ReleaseState::NotRequested,
        retained_reason: None,
        origin_dispatch_id: dispatch.id.clone(),
        owner_dispatch_id: dispatch.id.clone(),
        release_requested_at: None,
        release_completed_at: None,
        release_error: None,
        archive_source: None,
        archive_status: None,
    };
    Ok(cx.tx.put(&resource)?)
}

/// An owned terminal of a settled attempt goes over to the new one, and the old one can no longer
/// release it; any other terminal stays whose it is (contract 3.6).
fn reuse_terminal(
    cx: &mut Cx<'_>,
    run: &Run,
    mut dispatch: Dispatch,
    mut worker: Worker,
    terminal: &Terminal,
) -> Result<(), OpError> {
    let mut ownership = Ownership::External;
    for mut old in cx.tx.list::<Resource>("terminal", terminal.id.as_str(), usize::MAX)? {
        if old.ownership == Ownership::Owned && old.release != ReleaseState::Released {
            old.ownership = Ownership::Transferred;
            old.retained_reason = Some(String::from("ownership_transferred"));
            cx.tx.put(&old)?;
            ownership = Ownership::Owned;
        }
    }
    bind(cx, &mut dispatch, &mut worker, terminal, ownership)?;
    let mut terminal = terminal.clone();
    terminal.dispatch_id = Some(dispatch.id.clone());
    terminal.run_id = Some(run.id.clone());
    cx.tx.put(&terminal)?;
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let agent = worker.start_options.agent.as_deref();
    let text = brief(cx, run, &task, &dispatch, terminal.id.as_str(), agent)?;
    worker.worktree_id.clone_from(&terminal.worktree_id);
    worker.effects.push(terminal_effect("reused", "agent", &terminal.id));
    deliver(cx, dispatch, worker, &terminal, text)
}

fn deliver(
    cx: &mut Cx<'_>,
    dispatch: Dispatch,
    mut worker: Worker,
    terminal: &Terminal,
    text: String,
) -> Result<(), OpError> {
    worker.stage = Stage::AgentReadiness;
    worker.updated_at = cx.now;
    cx.tx.put(&worker)?;
    let timeout_ms = worker.start_options.timeout_ms;
    let effect = Effect::DeliverPrompt { terminal_id: terminal.id.clone(), text, timeout_ms };
    cx.request(effect, Some(dispatch.id), None)?;
    Ok(())
}

/// The attempt and Worker that an effect's outcome is for, while its start is still going on.
fn starting(cx: &Cx<'_>, id: &DispatchId) -> Result<Option<(Dispatch, Worker)>, OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(None) };
    let worker = worker_of(cx, &dispatch)?;
    let is_open = |worker: &Worker| matches!(worker.state, WorkerState::Starting | WorkerState::StartUnknown);
    Ok(worker.filter(is_open).map(|worker| (dispatch, worker)))
}

/// The worktree stands: register it and open the terminal in it.
pub fn worktree_made(
    cx: &mut Cx<'_>,
    id: &DispatchId,
    made: &NewCheckout,
    repo: &RepoId,
    parent: Option<String>,
) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let Some(mut worker) = worker_of(cx, &dispatch)? else { return Ok(()) };
    let options = worker.start_options.clone();
    let name = options.display_name.as_deref().or(options.name.as_deref());
    let names = (name, options.comment.as_deref(), None);
    let added = worktree::add(cx, made, repo, parent, names, Some(id))?;
    worker.worktree_id = Some(added.id.clone());
    worker.stage = Stage::WorktreeCreated;
    let action = if options.placement == Placement::NewChild { "created_child" } else { "created_top_level" };
    worker.effects.push(worktree_effect(action, &added));
    worker.updated_at = cx.now;
    cx.tx.put(&worker)?;
    if starting(cx, id)?.is_none() || !dispatch.status.is_active() || dispatch.revoked_at.is_some() {
        // It was stopped or abandoned meanwhile; the worktree is there and stays.
        return Ok(());
    }
    let choice = options.setup.as_deref().and_then(SetupChoice::parse).unwrap_or(SetupChoice::Run);
    let asked = setup::Asked { choice, startup: options.agent_startup };
    let begun = setup::begin(cx, &added, made, asked, Some(&dispatch), None)?;
    show_setup(&mut worker, &begun);
    if begun.holds_agent() {
        worker.stage = Stage::SetupWait;
    }
    cx.tx.put(&worker)?;
    if begun.holds_agent() {
        return Ok(());
    }
    let run = caller::named_run(cx, dispatch.run_id.as_str())?;
    open_terminal(cx, &run, dispatch, worker, added, true)
}

/// Writes how a setup stands into the worker that asked for it.
fn show_setup(worker: &mut Worker, setup: &Setup) {
    worker.setup_state = setup.state.as_str().to_owned();
    let Some(handle) = &setup.terminal_id else { return };
    let state = Some(setup.state.as_str().to_owned());
    match worker.effects.iter_mut().find(|effect| effect.kind == "setup") {
        Some(known) => known.state = state,
        None => worker.effects.push(StartEffect {
            kind: String::from("setup"),
            action: Some(String::from("created")),
            role: Some(String::from("setup")),
            id: Some(handle.to_string()),
            state,
        }),
    }
}

/// A setup that had to be approved runs now.
pub fn note_setup(cx: &mut Cx<'_>, setup: &Setup) -> Result<(), OpError> {
    let Some(id) = &setup.dispatch_id else { return Ok(()) };
    let Some(mut worker) = cx.tx.get::<Worker>(id.as_str())? else { return Ok(()) };
    show_setup(&mut worker, setup);
    worker.updated_at = cx.now;
    Ok(cx.tx.put(&worker)?)
}

/// A setup is over: the agent that waited for it starts, or the attempt failed with it.
pub fn setup_ended(cx: &mut Cx<'_>, id: &DispatchId, setup: &Setup, how: &str) -> Result<(), OpError> {
    note_setup(cx, setup)?;
    let Some((dispatch, worker)) = starting(cx, id)? else { return Ok(()) };
    if worker.stage != Stage::SetupWait || dispatch.revoked_at.is_some() {
        return Ok(());
    }
    let stage = match setup.state {
        SetupState::Failed => Stage::SetupWait,
        SetupState::SpawnFailed => Stage::SetupStart,
        SetupState::NotConfigured
        | SetupState::Skipped
        | SetupState::AwaitingApproval
        | SetupState::Running
        | SetupState::Succeeded => {
            let run = caller::named_run(cx, dispatch.run_id.as_str())?;
            let worktree = cx.tx.get::<Worktree>(&setup.worktree_id)?;
            let worktree =
                worktree.ok_or_else(|| OpError::Bug(format!("{} is not there", setup.worktree_id)))?;
            return open_terminal(cx, &run, dispatch, worker, worktree, true);
        }
    };
    failed(cx, id, stage, &format!("the setup script failed: {how}"))
}

/// The agent's process runs: it has its brief, or is to get it once it is ready.
pub fn spawned(cx: &mut Cx<'_>, id: &DispatchId, terminal: &Terminal) -> Result<(), OpError> {
    let Some((dispatch, mut worker)) = starting(cx, id)? else { return Ok(()) };
    if worker.delivery != PromptDelivery::None {
        let delivery = worker.delivery;
        return ready(cx, dispatch, worker, delivery);
    }
    worker.stage = Stage::AuthorityAttached;
    let run = caller::named_run(cx, dispatch.run_id.as_str())?;
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let text = brief(cx, &run, &task, &dispatch, terminal.id.as_str(), terminal.agent.as_deref())?;
    deliver(cx, dispatch, worker, terminal, text)
}

/// The brief was typed; whether anything was seen of it is only a mark (design 12).
pub fn delivered(cx: &mut Cx<'_>, id: &DispatchId, delivery: PromptDelivery) -> Result<(), OpError> {
    if let Some((dispatch, worker)) = starting(cx, id)? {
        return ready(cx, dispatch, worker, delivery);
    }
    // A held-back brief that was typed later, or one of an attempt that nobody supervises.
    let Some(mut worker) = cx.tx.get::<Worker>(id.as_str())? else {
        let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
        return tell_delivery(cx, &dispatch, delivery);
    };
    worker.delivery = delivery;
    worker.updated_at = cx.now;
    Ok(cx.tx.put(&worker)?)
}

/// The brief of an attempt that nobody supervises stands in its terminal (contract 5.7).
pub fn typed(cx: &mut Cx<'_>, id: &DispatchId) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())?.filter(|found| !found.is_supervised) else {
        return Ok(());
    };
    if was_typed(cx, &dispatch)? {
        return Ok(());
    }
    let detail = format!("attempt {}: the brief was typed", dispatch.attempt);
    cx.emit(Fact::new(EventKind::AttemptTyped, detail).of_dispatch(&dispatch))
}

fn ready(
    cx: &mut Cx<'_>,
    mut dispatch: Dispatch,
    mut worker: Worker,
    delivery: PromptDelivery,
) -> Result<(), OpError> {
    worker.state = worker.state.next(WorkerInput::BecomeReady)?;
    worker.stage = Stage::InputAccepted;
    worker.failed_stage = None;
    worker.delivery = delivery;
    worker.updated_at = cx.now;
    worker.effects.push(StartEffect {
        kind: String::from("dispatch_input"),
        action: None,
        role: None,
        id: None,
        state: Some(String::from("accepted")),
    });
    cx.tx.put(&worker)?;
    if dispatch.status == DispatchState::Pending {
        dispatch.status = dispatch.status.next(DispatchInput::Confirm)?;
        dispatch.dispatched_at = Some(cx.now);
        cx.tx.put(&dispatch)?;
    }
    let mut started = settle::task_of(cx, &dispatch.task_id)?;
    if started.status == TaskState::Blocked && dispatch.revoked_at.is_none() {
        started.status = started.status.next(TaskInput::ProveRunning)?;
        cx.tx.put(&started)?;
    }
    tell_delivery(cx, &dispatch, delivery)
}

/// What is known of the brief, for the timeline.
fn tell_delivery(cx: &mut Cx<'_>, dispatch: &Dispatch, delivery: PromptDelivery) -> Result<(), OpError> {
    let (kind, detail) = match delivery {
        PromptDelivery::Unconfirmed => {
            (EventKind::AttemptUnconfirmed, "the brief was typed; nothing was seen of it yet")
        }
        PromptDelivery::Blocked => {
            (EventKind::AttemptBlocked, "the brief waits: something on the screen is in its way")
        }
        PromptDelivery::None
        | PromptDelivery::Argument
        | PromptDelivery::Confirmed
        | PromptDelivery::Environment => (EventKind::AttemptConfirmed, "the agent has its brief"),
    };
    cx.emit(Fact::new(kind, format!("attempt {}: {detail}", dispatch.attempt)).of_dispatch(dispatch))
}

/// A step of the start failed for certain.
pub fn failed(cx: &mut Cx<'_>, id: &DispatchId, stage: Stage, message: &str) -> Result<(), OpError> {
    let Some((dispatch, mut worker)) = starting(cx, id)? else { return Ok(()) };
    worker.failed_stage = Some(stage);
    cx.tx.put(&worker)?;
    settle::lose(cx, &dispatch, Loss::Start(stage), message)
}

/// Nobody can say whether a step happened: the Task is blocked and the coordinator decides (contract
/// 5.5), unless the worker shows first that it runs.
pub fn unknown(cx: &mut Cx<'_>, id: &DispatchId, stage: Stage, message: &str) -> Result<(), OpError> {
    let Some((dispatch, mut worker)) = starting(cx, id)? else { return Ok(()) };
    worker.failed_stage = Some(stage);
    cx.tx.put(&worker)?;
    settle::lose_track(cx, &dispatch, message)
}
