//! `worker-start`: accepted in one transaction, then a chain of recorded effects: worktree, terminal,
//! brief. Each outcome moves it on from what is stored, so it goes on after any crash.

use super::{Choice, brief, check_choice, known_agent, plan, worker_of};
use crate::agent::launch::BriefDelivery;
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, RepoId, ResourceId, TerminalId};
use crate::model::dispatch::{Dispatch, DispatchInput, DispatchState};
use crate::model::effect::Effect;
use crate::model::event::{EventKind, Fact};
use crate::model::plan as rules;
use crate::model::resource::{Ownership, ReleaseState, Resource};
use crate::model::run::Run;
use crate::model::task::{Task, TaskInput, TaskState};
use crate::model::terminal::Terminal;
use crate::model::worker::{
    Placement, PromptDelivery, Stage, StartEffect, StartOptions, Worker, WorkerInput, WorkerState,
};
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::dispatch::{self, NewAttempt};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::settle::{self, Loss};
use crate::ops::terminal::{self, NewTerminal};
use crate::ops::{reply, select, task, view, worktree};
use crate::proto::task::TaskCreate;
use crate::proto::worker::{AgentChoice, LaunchReport, SetupReport, StartReceipt, WorkerStart};

const DEFAULT_TIMEOUT_MS: u64 = 60_000;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// Where the worker is to work.
enum Place {
    Existing(Box<Worktree>, Placement),
    New { repo: Box<crate::model::repo::Repo>, parent: Option<String>, placement: Placement },
    Terminal(Box<Terminal>),
}

/// `worker-start`.
pub fn start(cx: &mut Cx<'_>, call: WorkerStart) -> Result<Answer, OpError> {
    check_flags(&call)?;
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (run, mut started) = the_task(cx, &caller, &call)?;
    let depth = dispatch::check_depth(cx, &caller)?;
    let retry_of = check_startable(cx, &started, call.retry_of.as_deref())?;
    let place = place(cx, &caller, &call)?;
    let agent = match &place {
        Place::Terminal(terminal) => terminal.agent.clone(),
        Place::Existing(..) | Place::New { .. } => Some(known_agent(cx, call.agent.as_deref())?),
    };
    if let Some(agent) = &agent {
        check_choice(cx, &Choice { agent, model: call.model.as_deref(), effort: call.effort.as_deref() })?;
    }
    let new = NewAttempt { depth, creator: &caller, retry_of, terminal: None, is_supervised: true };
    let dispatch = dispatch::open(cx, &mut started, new)?;
    let worker = new_worker(cx, &dispatch, &call, &place, agent);
    cx.tx.put(&worker)?;
    begin(cx, &run, dispatch.clone(), worker, place, &call)?;
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let on = WaitOn::WorkerStart { dispatch: dispatch.id, timeout_ms };
    // The deadline is the server's: a start that is still going on then is reported as unknown.
    Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(timeout_ms + 40_000)), began: cx.now }))
}

fn check_flags(call: &WorkerStart) -> Result<(), OpError> {
    if call.on.is_some() {
        return Err(refuse(ErrorCode::CapabilityUnsupported, "Workers on other machines (--on) are not there yet.")
            .next_step("orca orchestration worker-start --task <task> --worktree new-child --name <name> --agent codex --json")
            .into());
    }
    if call.task.is_some() == call.spec.is_some() {
        return Err(invalid("worker-start needs either --task or --spec."));
    }
    if call.spec.is_none() && (call.task_title.is_some() || !call.deps.is_empty() || call.parent.is_some()) {
        return Err(invalid("--task-title, --deps and --parent go only with --spec."));
    }
    if call.retry_of.is_some() && call.task.is_none() {
        return Err(invalid("--retry-of needs --task."));
    }
    let is_new = is_new_worktree(call);
    if call.terminal.is_some()
        && (call.agent.is_some() || call.model.is_some() || call.effort.is_some() || is_new)
    {
        return Err(invalid(
            "--terminal reuses what runs there; it takes no --agent, --model, --effort or new worktree.",
        ));
    }
    if is_new && call.name.is_none() {
        return Err(invalid("A new worktree needs --name."));
    }
    let only_new = [
        ("--name", call.name.is_some()),
        ("--repo", call.repo.is_some()),
        ("--base-branch", call.base_branch.is_some()),
        ("--display-name", call.display_name.is_some()),
        ("--comment", call.comment.is_some()),
        ("--setup", call.setup.is_some()),
    ];
    if let (false, Some((flag, _))) = (is_new, only_new.iter().find(|(_, is_given)| *is_given)) {
        return Err(invalid(format!("{flag} goes only with --worktree new-child or new-top-level.")));
    }
    if call.timeout_ms.is_some_and(|ms| ms == 0 || ms > MAX_TIMEOUT_MS) {
        return Err(invalid("--timeout-ms must be between 1 and 3600000."));
    }
    worktree::setup_state(call.setup.as_deref()).map(drop)
}

fn is_new_worktree(call: &WorkerStart) -> bool {
    matches!(call.worktree.as_deref(), Some("new-child" | "new-top-level"))
}

/// The Task, made first where `--spec` was given; it stays even if it cannot be started yet.
fn the_task(cx: &mut Cx<'_>, caller: &Caller, call: &WorkerStart) -> Result<(Run, Task), OpError> {
    if let Some(id) = &call.task {
        return task::of_caller(cx, caller, call.run.as_deref(), id);
    }
    let run = caller::run_to_change(cx, caller, call.run.as_deref())?;
    let new = TaskCreate {
        spec: call.spec.clone().unwrap_or_default(),
        task_title: call.task_title.clone(),
        display_name: None,
        deps: call.deps.clone(),
        parent: call.parent.clone(),
        run: None,
        from: None,
    };
    let created = task::add(cx, caller, &run, &new)?;
    Ok((run, created))
}

/// Refuses a Task that cannot have a new attempt now, with the way out; returns the attempt that is
/// tried again, where `retry_of` names one (contract 3.4).
pub fn check_startable(
    cx: &Cx<'_>,
    started: &Task,
    retry_of: Option<&str>,
) -> Result<Option<DispatchId>, OpError> {
    let id = &started.id;
    if let Some(active) = cx.tx.first::<Dispatch>("active_task", id.as_str())? {
        let message =
            format!("{id} is being worked on already by {} (attempt {}).", active.id, active.attempt);
        return Err(task::not_startable(started, message)
            .with("dispatchId", &active.id)
            .next_step(format!("orca orchestration worker-show --dispatch {} --json", active.id))
            .into());
    }
    if rules::is_broken(started) {
        let message = format!(
            "{id} failed {} times in a row; change what is asked before it is tried again.",
            started.n_failed_in_row
        );
        return Err(task::not_startable(started, message)
            .with("reason", "circuit_broken")
            .next_step(format!("orca orchestration dispatch-show --task {id} --history --json"))
            .next_step(format!("orca orchestration task-update --id {id} --status ready --json"))
            .into());
    }
    task::check_gates(cx, started)?;
    let latest = cx.tx.last::<Dispatch>("task", id.as_str())?;
    if let Some(retry_of) = retry_of {
        let tried = crate::ops::mail::send::named_dispatch(cx, retry_of)?;
        let worker = worker_of(cx, &tried)?.map(|worker| worker.state);
        return match rules::retry_objection(started, &tried, latest.as_ref(), worker) {
            None => Ok(Some(tried.id)),
            Some(why) => {
                Err(task::not_startable(started, format!("--retry-of {} is not possible: {why}.", tried.id))
                    .with("retryOf", &tried.id)
                    .next_step(format!("orca orchestration dispatch-show --task {id} --json"))
                    .into())
            }
        };
    }
    let unmet = view::unmet(&cx.tx, started)?;
    let refusal = match started.status {
        TaskState::Ready => return Ok(None),
        TaskState::Pending => {
            task::not_startable(started, format!("{id} waits for {}.", task::unmet_words(&unmet)))
                .with("unmetDependencies", &unmet)
                .next_step("orca orchestration task-list --ready --json")
        }
        TaskState::Completed => task::not_startable(started, format!("{id} is completed."))
            .next_step(format!("orca orchestration task-update --id {id} --status ready --json")),
        TaskState::Dispatched | TaskState::Failed | TaskState::Blocked => {
            let refusal = task::not_startable(started, format!("{id} is {}.", started.status));
            // Only a supervised attempt can be named by --retry-of (contract 3.4).
            match latest.filter(|latest| latest.is_supervised) {
                Some(latest) => refusal.with("retryOf", &latest.id).next_step(format!(
                    "orca orchestration worker-start --task {id} --retry-of {} --agent codex --json",
                    latest.id
                )),
                None => refusal
                    .next_step(format!("orca orchestration task-update --id {id} --status ready --json")),
            }
        }
    };
    Err(refusal.into())
}

fn place(cx: &mut Cx<'_>, caller: &Caller, call: &WorkerStart) -> Result<Place, OpError> {
    if let Some(handle) = call.terminal.as_deref() {
        return reused(cx, handle, call.worktree.as_deref()).map(Box::new).map(Place::Terminal);
    }
    match call.worktree.as_deref() {
        None | Some("current") => {
            Ok(Place::Existing(Box::new(terminal::own_worktree(cx, caller)?), Placement::Current))
        }
        Some("new-child") => {
            let own = terminal::own_worktree(cx, caller)?;
            let repo =
                worktree::repo_for_new(cx, call.repo.as_deref().or(Some(&format!("id:{}", own.repo_id))))?;
            Ok(Place::New { repo: Box::new(repo), parent: Some(own.id), placement: Placement::NewChild })
        }
        Some("new-top-level") => {
            let own = match call.repo {
                Some(_) => None,
                None => Some(format!("id:{}", terminal::own_worktree(cx, caller)?.repo_id)),
            };
            let repo = worktree::repo_for_new(cx, call.repo.as_deref().or(own.as_deref()))?;
            Ok(Place::New { repo: Box::new(repo), parent: None, placement: Placement::NewTopLevel })
        }
        Some(selector) => Ok(Place::Existing(Box::new(select::worktree(cx, selector)?), Placement::Existing)),
    }
}

/// A terminal that is to be used again: it must run an agent, be free, and be where it is said to be.
fn reused(cx: &mut Cx<'_>, handle: &str, worktree: Option<&str>) -> Result<Terminal, OpError> {
    let terminal = dispatch::free_terminal(cx, handle)?;
    let list = "orca terminal list --json";
    if terminal.agent.is_none() {
        return Err(refuse(
            ErrorCode::AgentUnconfigured,
            format!("{} runs no agent that orca knows.", terminal.id),
        )
        .next_step(list)
        .into());
    }
    if let Some(selector) = worktree {
        let named = select::worktree(cx, selector)?;
        if terminal.worktree_id.as_deref() != Some(named.id.as_str()) {
            let message = format!("{} is in {}, not in {}.", terminal.id, terminal.worktree_path, named.path);
            return Err(refuse(ErrorCode::TerminalWorktreeMismatch, message).next_step(list).into());
        }
    }
    Ok(terminal)
}

fn new_worker(
    cx: &Cx<'_>,
    dispatch: &Dispatch,
    call: &WorkerStart,
    place: &Place,
    agent: Option<String>,
) -> Worker {
    let (placement, setup_state) = match place {
        Place::Existing(_, placement) => (*placement, "not_applicable"),
        Place::Terminal(_) => (Placement::Existing, "not_applicable"),
        Place::New { placement, .. } if call.setup.as_deref() == Some("skip") => (*placement, "skipped"),
        Place::New { placement, .. } => (*placement, "not_configured"),
    };
    Worker {
        dispatch_id: dispatch.id.clone(),
        runtime_epoch: cx.runtime_id.to_owned(),
        state: WorkerState::Starting,
        stage: Stage::Accepted,
        worktree_id: None,
        agent_terminal_handle: None,
        setup_state: setup_state.to_owned(),
        delivery: PromptDelivery::None,
        last_error: None,
        failed_stage: None,
        effects: Vec::new(),
        start_options: StartOptions {
            placement,
            agent,
            model: call.model.clone(),
            effort: call.effort.clone(),
            name: call.name.clone(),
            base_branch: call.base_branch.clone(),
            display_name: call.display_name.clone(),
            comment: call.comment.clone(),
            setup: call.setup.clone(),
            timeout_ms: call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            is_reused_terminal: matches!(place, Place::Terminal(_)),
        },
        process_end: None,
        created_at: cx.now,
        updated_at: cx.now,
    }
}

fn begin(
    cx: &mut Cx<'_>,
    run: &Run,
    dispatch: Dispatch,
    mut worker: Worker,
    place: Place,
    call: &WorkerStart,
) -> Result<(), OpError> {
    match place {
        Place::New { repo, parent, .. } => {
            worker.stage = Stage::WorktreeCreating;
            cx.tx.put(&worker)?;
            let name = call.name.as_deref().unwrap_or_default();
            let wish = worktree::wish(&repo, name, None, call.base_branch.clone())?;
            cx.request(
                Effect::CreateWorktree(wish),
                Some(dispatch.id),
                Some(serde_json::json!({ "parent": parent })),
            )?;
            Ok(())
        }
        Place::Existing(worktree, _) => {
            worker.effects.push(worktree_effect("reused", &worktree));
            open_terminal(cx, run, dispatch, worker, *worktree, false)
        }
        Place::Terminal(terminal) => reuse_terminal(cx, run, dispatch, worker, &terminal),
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

fn terminal_effect(action: &str, id: &TerminalId) -> StartEffect {
    StartEffect {
        kind: String::from("terminal"),
        action: Some(action.to_owned()),
        role: Some(String::from("agent")),
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
    let worktree_id = worktree.id.clone();
    let new = NewTerminal {
        worktree,
        title: Some(format!("worker-{}", task.id)),
        agent: Some(agent),
        argv: plan.argv,
        env,
        unset_env: plan.unset_env,
        run_id: Some(run.id.clone()),
    };
    let mut terminal = terminal::add(cx, id, new)?;
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
    worker.worktree_id = Some(worktree_id);
    worker.stage = Stage::TerminalCreating;
    worker.effects.push(terminal_effect(
        if is_agent_first { "reused_agent_terminal" } else { "created" },
        &terminal.id,
    ));
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
    let text = brief(cx, run, &task, &dispatch, terminal.id.as_str(), terminal.agent.as_deref())?;
    worker.worktree_id.clone_from(&terminal.worktree_id);
    worker.effects.push(terminal_effect("reused", &terminal.id));
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
    let effect = Effect::DeliverPrompt {
        terminal_id: terminal.id.clone(),
        dispatch_id: dispatch.id.clone(),
        text,
        timeout_ms,
    };
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
    made: &worktree::Made,
    repo: &RepoId,
    parent: Option<String>,
) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let Some(mut worker) = worker_of(cx, &dispatch)? else { return Ok(()) };
    let options = worker.start_options.clone();
    let names = (options.display_name.as_deref(), options.comment.as_deref(), None);
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
    let run = caller::named_run(cx, dispatch.run_id.as_str())?;
    open_terminal(cx, &run, dispatch, worker, added, true)
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
    // A held-back brief that was typed later.
    let Some(mut worker) = cx.tx.get::<Worker>(id.as_str())? else { return Ok(()) };
    worker.delivery = delivery;
    worker.updated_at = cx.now;
    Ok(cx.tx.put(&worker)?)
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
    let (kind, detail) = match delivery {
        PromptDelivery::Unconfirmed => {
            (EventKind::AttemptUnconfirmed, "the brief was typed; nothing was seen of it yet")
        }
        PromptDelivery::Blocked => {
            (EventKind::AttemptUnconfirmed, "the brief waits: something on the screen is in its way")
        }
        PromptDelivery::None
        | PromptDelivery::Argument
        | PromptDelivery::Confirmed
        | PromptDelivery::Environment => (EventKind::AttemptConfirmed, "the agent has its brief"),
    };
    cx.emit(Fact::new(kind, format!("attempt {}: {detail}", dispatch.attempt)).of_dispatch(&dispatch))
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

/// A waiting `worker-start` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::WorkerStart { dispatch, timeout_ms } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a start")));
    };
    let dispatch = crate::ops::mail::send::named_dispatch(cx, dispatch.as_str())?;
    let worker = worker_of(cx, &dispatch)?.ok_or_else(|| OpError::Bug(String::from("no worker")))?;
    if worker.state == WorkerState::Starting && wake == Wake::Changed {
        return Ok(Answer::Wait(wait));
    }
    reply(&receipt(&dispatch, &worker, *timeout_ms))
}

fn receipt(dispatch: &Dispatch, worker: &Worker, timeout_ms: u64) -> StartReceipt {
    let state = match worker.state {
        WorkerState::Ready | WorkerState::Succeeded => "ready",
        // A worker that reported failure already had been started well.
        WorkerState::Failed if worker.failed_stage.is_none() => "ready",
        WorkerState::Failed | WorkerState::Stopping | WorkerState::Stopped | WorkerState::Abandoned => {
            "failed"
        }
        WorkerState::Starting | WorkerState::StartUnknown | WorkerState::StopUnknown => "outcome_unknown",
    };
    let options = &worker.start_options;
    let is_new = matches!(options.placement, Placement::NewChild | Placement::NewTopLevel);
    let choice = AgentChoice {
        agent: options.agent.clone(),
        model: options.model.clone(),
        effort: options.effort.clone(),
    };
    let id = &dispatch.id;
    let next_commands = match state {
        "outcome_unknown" => vec![
            format!("orca orchestration worker-show --dispatch {id} --json"),
            format!("orca orchestration worker-abandon --dispatch {id} --json"),
        ],
        "failed" => vec![format!(
            "orca orchestration worker-start --task {} --retry-of {id} --agent {} --json",
            dispatch.task_id,
            options.agent.as_deref().unwrap_or("codex")
        )],
        _ => Vec::new(),
    };
    StartReceipt {
        run_id: dispatch.run_id.clone(),
        task_id: dispatch.task_id.clone(),
        dispatch_id: id.clone(),
        state: state.to_owned(),
        stage: worker.stage,
        delivery: worker.delivery,
        attempt: dispatch.attempt,
        agent_terminal_handle: worker.agent_terminal_handle.clone(),
        worktree_id: worker.worktree_id.clone(),
        failed_stage: worker.failed_stage,
        last_error: worker.last_error.clone(),
        setup: SetupReport {
            requested: options.setup.clone(),
            effective: if is_new {
                options.setup.clone().unwrap_or_else(|| "run".into())
            } else {
                "not_applicable".into()
            },
            source: String::from(match (is_new, options.setup.is_some()) {
                (false, _) => "existing_worktree",
                (true, true) => "explicit_request",
                (true, false) => "orchestration_default",
            }),
            hook_found: false,
            startup_policy: String::from("start-immediately"),
            state: worker.setup_state.clone(),
        },
        launch: LaunchReport {
            requested: choice.clone(),
            effective: options.agent.is_some().then_some(choice),
        },
        timeout_ms,
        effects: worker.effects.clone(),
        residual_resources: if state == "ready" { Vec::new() } else { worker.effects.clone() },
        next_commands,
    }
}
