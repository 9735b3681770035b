//! `worker-start`: checks everything, then accepts in one transaction. What happens after that is
//! `chain`; what the caller is told is `receipt`.

use super::place::{Place, place};
use super::{Choice, chain, check_choice, known_agent, plan, receipt, worker_of};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, TerminalId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::plan as rules;
use crate::model::repo::AgentStartup;
use crate::model::run::Run;
use crate::model::setup::SetupChoice;
use crate::model::task::{Task, TaskState};
use crate::model::worker::{Drift, Placement, PromptDelivery, Stage, StartOptions, Worker, WorkerState};
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn};
use crate::ops::dispatch::{self, NewAttempt};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::look::{self, Look, Program, Seen, Sight, Tree};
use crate::ops::{setup, task, view, worktree};
use crate::proto::task::TaskCreate;
use crate::proto::worker::WorkerStart;

const DEFAULT_TIMEOUT_MS: u64 = 60_000;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// `worker-start`.
pub fn start(cx: &mut Cx<'_>, call: WorkerStart) -> Result<Answer, OpError> {
    check_flags(&call)?;
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (run, mut started) = the_task(cx, &caller, &call)?;
    let depth = dispatch::check_depth(cx, &caller)?;
    let retry_of = check_startable(cx, &started, call.retry_of.as_deref())?;
    let place = place(cx, &caller, &call)?;
    let agent = match &place {
        Place::Terminal(_, agent) => agent.clone(),
        Place::Existing(..) | Place::New { .. } => known_agent(cx, call.agent.as_deref())?,
    };
    check_choice(
        cx,
        &Choice { agent: &agent, model: call.model.as_deref(), effort: call.effort.as_deref() },
    )?;
    let drift = match check_place(cx, &place, &agent, &call)? {
        Checked::Seen(drift) => drift,
        Checked::Ask(ask) => return Ok(ask),
    };
    let new = NewAttempt { depth, creator: &caller, retry_of, terminal: None, is_supervised: true };
    let dispatch = dispatch::open(cx, &mut started, new)?;
    let worker = Worker { drift, ..new_worker(cx, &dispatch, &call, &place, agent) };
    cx.tx.put(&worker)?;
    chain::begin(cx, &run, dispatch.clone(), worker, place)?;
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let on = WaitOn::WorkerStart { dispatch: dispatch.id, timeout_ms };
    // The deadline is the server's: a start that is still going on then is reported as unknown.
    Ok(Answer::Wait(Wait {
        on,
        deadline: Some(cx.now.plus_ms(timeout_ms + receipt::START_SLACK_MS)),
        began: cx.now,
    }))
}

/// What was seen of the place: how far it is behind its base, or the wish to look.
enum Checked {
    Seen(Option<Drift>),
    Ask(Answer),
}

/// Refuses what could not be started while that still costs nothing, no attempt above all (contract 5.1). A new
/// worktree begins at its base; one that stands may have fallen behind the base it was made from.
fn check_place(cx: &mut Cx<'_>, place: &Place, agent: &str, call: &WorkerStart) -> Result<Checked, OpError> {
    let (worktree, program) = match place {
        Place::New { wish, .. } => {
            let asked = setup::asked(call.setup.as_deref(), SetupChoice::Run, call.agent_startup.as_deref())?;
            let program = program(cx, agent)?;
            let ask = worktree::create::preview(cx, wish, Some(&program), asked)?;
            return Ok(ask.map_or(Checked::Seen(None), Checked::Ask));
        }
        Place::Existing(worktree, _) => (worktree.as_ref().clone(), Some(program(cx, agent)?)),
        Place::Terminal(terminal, _) => {
            let id = terminal.worktree_id.as_deref();
            match id.map(|id| cx.tx.get::<Worktree>(id)).transpose()?.flatten() {
                Some(worktree) if worktree.base_ref.is_some() => (worktree, None),
                Some(_) | None => return Ok(Checked::Seen(None)),
            }
        }
    };
    let tree = Tree { path: worktree.path, base: worktree.base_ref };
    match look::look(cx, Look::Place { tree, program })? {
        Sight::Seen(Seen::Place(drift)) => Ok(Checked::Seen(drift)),
        Sight::Seen(_) => Err(look::mismatch()),
        Sight::Ask(ask) => Ok(Checked::Ask(ask)),
    }
}

/// What an agent is started with.
fn program(cx: &Cx<'_>, agent: &str) -> Result<Program, OpError> {
    let choice = Choice { agent, model: None, effort: None };
    let plan = plan(cx, &choice, &TerminalId::parse("term_preview")?, None, true)?;
    let name = plan.argv.first().cloned().unwrap_or_default();
    Ok(Program { agent: agent.to_owned(), name, search_path: plan.env.get("PATH").cloned() })
}

fn check_flags(call: &WorkerStart) -> Result<(), OpError> {
    if call.on.is_some() {
        return Err(refuse(
            ErrorCode::CapabilityUnsupported,
            "Workers on other machines (--on) are not there yet.",
        )
        .next_step("orca orchestration worker-start --help")
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
        ("--agent-startup", call.agent_startup.is_some()),
    ];
    if let (false, Some((flag, _))) = (is_new, only_new.iter().find(|(_, is_given)| *is_given)) {
        return Err(invalid(format!("{flag} goes only with --worktree new-child or new-top-level.")));
    }
    if call.timeout_ms.is_some_and(|ms| ms == 0 || ms > MAX_TIMEOUT_MS) {
        return Err(invalid("--timeout-ms must be between 1 and 3600000."));
    }
    setup::asked(call.setup.as_deref(), SetupChoice::Run, call.agent_startup.as_deref()).map(drop)
}

fn is_new_worktree(call: &WorkerStart) -> bool {
    matches!(call.worktree.as_deref(), Some("new-child" | "new-top-level"))
}

/// The Task, made first where `--spec` was given. A refusal later on takes it back, so one that would
/// have to wait for its dependencies is refused here, with the command that keeps it.
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
    let unmet = view::unmet(&cx.tx, &created)?;
    if unmet.is_empty() {
        return Ok((run, created));
    }
    let message = format!("It would wait for {}; nothing was made.", task::unmet_words(&unmet));
    let deps = serde_json::to_string(&call.deps).unwrap_or_default();
    Err(refuse(ErrorCode::TaskNotStartable, message)
        .with("unmetDependencies", &unmet)
        .with("effectsApplied", false)
        .next_step(format!(
            "orca orchestration task-create --spec {} --deps {} --json",
            text::shell_quote(&new.spec),
            text::shell_quote(&deps)
        ))
        .into())
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
        let tried = crate::ops::dispatch::named(cx, retry_of)?;
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
            let latest = latest.filter(|latest| latest.is_supervised);
            let worker = latest.as_ref().map(|latest| worker_of(cx, latest)).transpose()?.flatten();
            match latest.zip(worker) {
                Some((latest, worker)) => {
                    refusal.with("retryOf", &latest.id).next_step(receipt::retry_command(&latest, &worker))
                }
                None => refusal
                    .next_step(format!("orca orchestration task-update --id {id} --status ready --json")),
            }
        }
    };
    Err(refusal.into())
}

fn new_worker(cx: &Cx<'_>, dispatch: &Dispatch, call: &WorkerStart, place: &Place, agent: String) -> Worker {
    let (placement, setup_state) = match place {
        Place::Existing(_, placement) => (*placement, "not_applicable"),
        Place::Terminal(..) => (Placement::Existing, "not_applicable"),
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
            agent: Some(agent),
            requested_agent: call.agent.clone(),
            model: call.model.clone(),
            effort: call.effort.clone(),
            name: call.name.clone(),
            repo: call.repo.clone(),
            base_branch: call.base_branch.clone(),
            display_name: call.display_name.clone(),
            comment: call.comment.clone(),
            setup: call.setup.clone(),
            agent_startup: call.agent_startup.as_deref().and_then(AgentStartup::parse),
            timeout_ms: call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            is_reused_terminal: matches!(place, Place::Terminal(..)),
        },
        process_end: None,
        drift: None,
        created_at: cx.now,
        updated_at: cx.now,
    }
}
