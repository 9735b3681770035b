//! Attempts themselves: how one is opened, the low-level `dispatch` that opens one without a Worker, and
//! `dispatch-show` with the brief and the timeline of all attempts.

use super::caller::{self, Caller};
use super::cx::{Answer, Cx, LiveFacts};
use super::error::{OpError, invalid, refuse};
use super::{limit, reply, task, terminal, timeline, worker};
use crate::base::clock::Timestamp;
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, new_proof};
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::effect::Effect;
use crate::model::event::{EventKind, Fact};
use crate::model::plan;
use crate::model::resource::{ReleaseState, Resource};
use crate::model::run::Run;
use crate::model::task::{Task, TaskInput};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::proto::dispatch::{self as wire, DispatchShow, DispatchShown, Dispatched};
use crate::proto::row::DispatchRow;

/// How long a brief that is typed may wait for its agent.
const INJECT_TIMEOUT_MS: u64 = 60_000;

/// The Dispatch with this id.
pub fn named(cx: &Cx<'_>, id: &str) -> Result<Dispatch, OpError> {
    cx.tx.get::<Dispatch>(id)?.ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(id), 60);
        refuse(ErrorCode::DispatchNotFound, format!("No dispatch has the id {shown:?}."))
            .next_step("orca orchestration worker-list --json")
            .into()
    })
}

/// An attempt before it is accepted.
pub struct NewAttempt<'a> {
    pub depth: u32,
    pub creator: &'a Caller,
    pub retry_of: Option<DispatchId>,
    /// Where it runs, if that is known already; then it counts as dispatched at once.
    pub terminal: Option<&'a Terminal>,
    pub is_supervised: bool,
}

/// Opens the next attempt at a Task that may have one: the Task is `dispatched` before any process
/// exists (contract 3.1).
pub fn open(cx: &mut Cx<'_>, task: &mut Task, new: NewAttempt<'_>) -> Result<Dispatch, OpError> {
    limit::check_start(cx, task)?;
    let input = if new.retry_of.is_some() { TaskInput::Retry } else { TaskInput::Dispatch };
    task.status = task.status.next(input)?;
    task.result = None;
    task.completed_at = None;
    task.n_attempts += 1;
    cx.tx.put(task)?;
    let (id, proof) = (DispatchId::new(cx.ids), new_proof(cx.ids));
    let dispatch = row(cx.now, task, new, id, proof);
    cx.tx.put(&dispatch)?;
    let detail = format!("attempt {} accepted", dispatch.attempt);
    cx.emit(Fact::new(EventKind::AttemptStarted, detail).of_dispatch(&dispatch))?;
    Ok(dispatch)
}

/// The row of a Task's newest attempt.
fn row(now: Timestamp, task: &Task, new: NewAttempt<'_>, id: DispatchId, proof: String) -> Dispatch {
    let terminal = new.terminal;
    Dispatch {
        id,
        run_id: task.run_id.clone(),
        task_id: task.id.clone(),
        attempt: task.n_attempts,
        assignee_handle: terminal.map(|terminal| terminal.id.clone()),
        assignee_pane_key: terminal.map(|terminal| terminal.pane_key.clone()),
        process_incarnation: terminal.map(|terminal| terminal.incarnation.clone()),
        status: if terminal.is_some() { DispatchState::Dispatched } else { DispatchState::Pending },
        failure_count: task.n_failed_in_row,
        last_failure: None,
        termination: None,
        dispatched_at: terminal.map(|_| now),
        completed_at: None,
        created_at: now,
        last_heartbeat_at: None,
        last_phase: None,
        revoked_at: None,
        quiet_since: None,
        wall_from: None,
        silence_from: None,
        sign_from: None,
        depth: new.depth,
        creator_handle: new.creator.handle().to_owned(),
        retry_of: new.retry_of,
        proof,
        is_supervised: new.is_supervised,
    }
}

/// How deep an attempt of this caller would be, where that is allowed (contract 3.10).
pub fn check_depth(cx: &Cx<'_>, caller: &Caller) -> Result<u32, OpError> {
    let depth = plan::child_depth(caller.dispatch.as_ref());
    if depth <= cx.rules.max_depth {
        return Ok(depth);
    }
    Err(refuse(
        ErrorCode::NestedWorkerDepthExceeded,
        "Workers may not start workers this deep; nothing was done.",
    )
    .with("effectsApplied", false)
    .next_step("orca orchestration send --type escalation --subject \"This needs more workers\" --json")
    .into())
}

/// The terminal with this handle, running and without an attempt of its own.
pub fn free_terminal(cx: &Cx<'_>, handle: &str) -> Result<Terminal, OpError> {
    let terminal = caller::named_terminal(cx, handle)?;
    let list = "orca terminal list --json";
    if terminal.life != TerminalLife::Running {
        return Err(refuse(ErrorCode::TerminalGone, format!("{} runs no process any more.", terminal.id))
            .next_step(list)
            .into());
    }
    if let Some(active) = caller::active_dispatch(cx, &terminal)? {
        return Err(refuse(
            ErrorCode::TerminalBusy,
            format!("{} is working on {} ({}).", terminal.id, active.task_id, active.id),
        )
        .with("dispatchId", &active.id)
        .next_step(format!("orca orchestration worker-show --dispatch {} --json", active.id))
        .into());
    }
    let resources = cx.tx.list::<Resource>("terminal", terminal.id.as_str(), usize::MAX)?;
    let is_going = |resource: &Resource| {
        matches!(resource.release, ReleaseState::Requested | ReleaseState::Releasing | ReleaseState::Unknown)
    };
    if resources.iter().any(is_going) {
        return Err(refuse(
            ErrorCode::TerminalReleaseInProgress,
            format!("{} is being released.", terminal.id),
        )
        .next_step(list)
        .into());
    }
    Ok(terminal)
}

/// `dispatch`: records an attempt in a running terminal and, with `--inject`, types the brief there.
/// Nobody watches its start or cleans up after it.
pub fn dispatch(cx: &mut Cx<'_>, call: wire::Dispatch) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (run, mut tried) = task::of_caller(cx, &caller, call.run.as_deref(), &call.task)?;
    let depth = check_depth(cx, &caller)?;
    if call.is_dry_run {
        let new =
            NewAttempt { depth, creator: &caller, retry_of: None, terminal: None, is_supervised: false };
        let terminal = call.to.as_deref().map(|to| caller::named_terminal(cx, to)).transpose()?;
        let preamble = Some(preview(cx, &run, &tried, "ctx_dryrun", new, terminal.as_ref())?);
        return reply(&Dispatched {
            dispatch: None,
            injected: false,
            dry_run: true,
            preamble,
            warning: None,
        });
    }
    let Some(to) = call.to.as_deref() else {
        return Err(invalid("dispatch needs --to, the handle of a terminal; only --dry-run goes without."));
    };
    worker::start::check_startable(cx, &tried, None)?;
    let mut terminal = free_terminal(cx, to)?;
    let agent = terminal::agent_in(cx, &terminal);
    if call.is_inject && agent.is_none() {
        return Err(refuse(
            ErrorCode::InjectRejected,
            format!("{} runs no agent that orca knows, so nothing was typed into it.", terminal.id),
        )
        .with("terminal", &terminal.id)
        .with("reason", "no_agent")
        .next_step(format!("orca orchestration worker-start --task {} --agent codex --json", tried.id))
        .into());
    }
    let new = NewAttempt {
        depth,
        creator: &caller,
        retry_of: None,
        terminal: Some(&terminal),
        is_supervised: false,
    };
    let dispatch = open(cx, &mut tried, new)?;
    terminal.dispatch_id = Some(dispatch.id.clone());
    terminal.run_id = Some(run.id.clone());
    cx.tx.put(&terminal)?;
    let brief = worker::brief(cx, &run, &tried, &dispatch, terminal.id.as_str(), agent.as_deref())?;
    if call.is_inject {
        let effect = Effect::DeliverPrompt {
            terminal_id: terminal.id.clone(),
            text: brief.clone(),
            timeout_ms: INJECT_TIMEOUT_MS,
        };
        cx.request(effect, Some(dispatch.id.clone()), None)?;
    }
    let obstacle = cx.world.live(&terminal.id).and_then(|live| obstacle(&live));
    let warning = match (call.is_inject, &obstacle) {
        (false, _) => Some(format!(
            "Recorded only: nothing was typed into {}. Give its agent the brief yourself.",
            terminal.id
        )),
        (true, Some(what)) => Some(format!(
            "Not typed yet: {what} in {}. The brief is typed once that is out of its way.",
            terminal.id
        )),
        (true, None) => None,
    };
    reply(&Dispatched {
        dispatch: Some(DispatchRow::from(&dispatch)),
        injected: call.is_inject && obstacle.is_none(),
        dry_run: false,
        preamble: call.is_preamble_returned.then_some(brief),
        warning,
    })
}

/// What holds a typed brief back until a person did something about it (contract 5.7, design 7.8).
fn obstacle(live: &LiveFacts) -> Option<String> {
    match (live.activity.as_str(), live.has_draft) {
        ("blocked", _) => Some(format!(
            "the agent waits for a person ({})",
            live.activity_detail.as_deref().unwrap_or("a dialog is on its screen")
        )),
        (_, true) => Some(String::from("a person's text stands")),
        (_, false) => None,
    }
}

/// The brief that an attempt would get, with an id and a proof that stand for the real ones.
fn preview(
    cx: &Cx<'_>,
    run: &Run,
    task: &Task,
    id: &str,
    new: NewAttempt<'_>,
    terminal: Option<&Terminal>,
) -> Result<String, OpError> {
    let dispatch = row(cx.now, task, new, DispatchId::parse(id)?, String::from("preview"));
    let handle = terminal.map_or("term_preview", |terminal| terminal.id.as_str());
    let agent = terminal.and_then(|terminal| terminal::agent_in(cx, terminal));
    worker::brief(cx, run, task, &dispatch, handle, agent.as_deref())
}

/// `dispatch-show`.
pub fn show(cx: &mut Cx<'_>, call: DispatchShow) -> Result<Answer, OpError> {
    let named = task::named(cx, None, &call.task)?;
    if let Some(from) = &call.from {
        caller::resolve(cx, Some(from), None)?;
    }
    let newest = cx.tx.last::<Dispatch>("task", named.id.as_str())?;
    let run = caller::named_run(cx, named.run_id.as_str())?;
    let preamble = match (&newest, call.is_preamble) {
        (Some(dispatch), true) => {
            let handle = dispatch.assignee_handle.as_ref().map_or("term_preview", |handle| handle.as_str());
            let agent = worker::worker_of(cx, dispatch)?.and_then(|worker| worker.start_options.agent);
            Some(worker::brief(cx, &run, &named, dispatch, handle, agent.as_deref())?)
        }
        (None, true) => {
            let caller = caller::resolve(cx, call.from.as_deref(), None)?;
            let new = NewAttempt {
                depth: plan::child_depth(caller.dispatch.as_ref()),
                creator: &caller,
                retry_of: None,
                terminal: None,
                is_supervised: true,
            };
            Some(preview(cx, &run, &named, "ctx_preview", new, None)?)
        }
        (_, false) => None,
    };
    let history = call.is_history.then(|| timeline::of_task(cx, &named)).transpose()?;
    reply(&DispatchShown { dispatch: newest.as_ref().map(DispatchRow::from), preamble, history })
}
