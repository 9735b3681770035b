//! Task verbs: create, list, update.

use super::caller::{self, Caller};
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::{reply, settle, view};
use crate::base::code::ErrorCode;
use crate::base::id::{RunId, TaskId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::gate::Gate;
use crate::model::plan;
use crate::model::run::Run;
use crate::model::task::{self, Creator, MAX_SPEC_BYTES, Task, TaskState};
use crate::model::worker::Worker;
use crate::proto::error::ErrorBody;
use crate::proto::task::{OneTask, TaskCreate, TaskList, TaskUpdate, Tasks};
use std::collections::{BTreeMap, BTreeSet};

/// `task-create`: `ready` when every dependency is completed already, else `pending`.
pub fn create(cx: &mut Cx<'_>, call: TaskCreate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let run = caller::run_to_change(cx, &caller, call.run.as_deref())?;
    let task = add(cx, &caller, &run, &call)?;
    reply(&OneTask { task: view::task(&cx.tx, &task)? })
}

/// Adds a Task to a Run of the caller; also for `worker-start --spec`.
pub fn add(cx: &mut Cx<'_>, caller: &Caller, run: &Run, call: &TaskCreate) -> Result<Task, OpError> {
    if call.spec.len() > MAX_SPEC_BYTES {
        return Err(invalid("--spec is over 1 MiB; put the long text into a file and name it in the spec."));
    }
    let spec = text::many_lines(&call.spec);
    if spec.trim().is_empty() {
        return Err(invalid("--spec must say what is to be done."));
    }
    let deps = dependencies(cx, &run.id, &call.deps, None)?;
    let parent_id = call.parent.as_deref().map(|id| in_run(cx, &run.id, id, "--parent")).transpose()?;
    let title = task::title(call.task_title.as_deref(), &spec);
    let task = Task {
        id: TaskId::new(cx.ids),
        run_id: run.id.clone(),
        parent_id: parent_id.map(|parent| parent.id),
        created_by: Creator {
            handle: caller.handle().to_owned(),
            pane_key: caller.terminal.as_ref().map(|terminal| terminal.pane_key.clone()),
            incarnation: caller.terminal.as_ref().map(|terminal| terminal.incarnation.clone()),
            run_generation: Some(run.consumer_generation),
        },
        display_name: Some(task::display_name(call.display_name.as_deref(), &title)),
        task_title: Some(title),
        spec,
        status: settle::waiting_state(cx, &deps)?,
        deps,
        result: None,
        created_at: cx.now,
        completed_at: None,
        n_failed_in_row: 0,
        n_attempts: 0,
    };
    cx.tx.put(&task)?;
    let detail = format!("{}: {}", task.status, task.task_title.as_deref().unwrap_or_default());
    cx.emit(Fact::new(EventKind::TaskCreated, detail).of_task(&task))?;
    Ok(task)
}

/// Loads the Tasks that `--deps` names: all in this Run, none twice, none that waits for `waiting`.
fn dependencies(
    cx: &Cx<'_>,
    run: &RunId,
    given: &[String],
    waiting: Option<&TaskId>,
) -> Result<Vec<TaskId>, OpError> {
    let mut deps = Vec::with_capacity(given.len());
    for id in given {
        let dep = in_run(cx, run, id, "--deps")?;
        if let Some(waiting) = waiting
            && waits_for(cx, &dep, waiting)?
        {
            let message = if dep.id == *waiting {
                format!("{waiting} cannot depend on itself.")
            } else {
                format!("--deps would make {waiting} wait for itself through {}.", dep.id)
            };
            return Err(no_such_order(run, message));
        }
        if deps.contains(&dep.id) {
            return Err(no_such_order(run, format!("--deps names {} twice.", dep.id)));
        }
        deps.push(dep.id);
    }
    Ok(deps)
}

fn no_such_order(run: &RunId, message: String) -> OpError {
    refuse(ErrorCode::InvalidArgument, message)
        .next_step(format!("orca orchestration task-list --run {run} --json"))
        .into()
}

/// Whether `task` is `target` or waits for it, over any number of steps.
fn waits_for(cx: &Cx<'_>, task: &Task, target: &TaskId) -> Result<bool, OpError> {
    let mut seen = BTreeSet::new();
    let mut open = vec![task.id.clone()];
    while let Some(id) = open.pop() {
        if id == *target {
            return Ok(true);
        }
        if seen.insert(id.clone()) {
            open.extend(settle::task_of(cx, &id)?.deps);
        }
    }
    Ok(false)
}

fn in_run(cx: &Cx<'_>, run: &RunId, id: &str, flag: &str) -> Result<Task, OpError> {
    let found = match TaskId::parse(id) {
        Ok(id) => cx.tx.get::<Task>(id.as_str())?.filter(|task| task.run_id == *run),
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(id), 60);
        refuse(ErrorCode::InvalidArgument, format!("{flag} names {shown:?}, which is no task of {run}."))
            .next_step(format!("orca orchestration task-list --run {run} --json"))
            .into()
    })
}

/// The Task with this id in the Run; what every verb with `--task` begins with.
pub fn named(cx: &Cx<'_>, run: Option<&RunId>, id: &str) -> Result<Task, OpError> {
    let found = find(cx, id)?.filter(|task| run.is_none_or(|run| task.run_id == *run));
    found.ok_or_else(|| missing(run, id))
}

fn find(cx: &Cx<'_>, id: &str) -> Result<Option<Task>, OpError> {
    match TaskId::parse(id) {
        Ok(id) => Ok(cx.tx.get::<Task>(id.as_str())?),
        Err(_) => Ok(None),
    }
}

fn missing(run: Option<&RunId>, id: &str) -> OpError {
    let shown = text::cut_chars(&text::one_line(id), 60);
    let place = run.map(|run| format!(" of {run}")).unwrap_or_default();
    refuse(ErrorCode::TaskNotFound, format!("No task{place} has the id {shown:?}."))
        .with("taskId", shown)
        .with("runId", run)
        .next_step("orca orchestration task-list --json")
        .into()
}

/// `task-list`, oldest first.
pub fn list(cx: &mut Cx<'_>, call: TaskList) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let run = caller::run_to_read(cx, &caller, call.run.as_deref())?;
    let status =
        if call.is_ready { Some(TaskState::Ready) } else { call.status.as_deref().map(state).transpose()? };
    let tasks = match status {
        Some(status) => cx.tx.list::<Task>("status", &format!("{}/{status}", run.id), usize::MAX)?,
        None => cx.tx.list::<Task>("run", run.id.as_str(), usize::MAX)?,
    };
    let mut rows = Vec::with_capacity(tasks.len());
    for task in &tasks {
        let mut row = view::task(&cx.tx, task)?;
        if call.is_brief {
            let (spec, is_cut) = task::brief(&task.spec);
            row.spec = spec;
            row.spec_truncated = Some(is_cut);
        }
        rows.push(row);
    }
    let mut counts = BTreeMap::new();
    for state in TaskState::ALL {
        let n_tasks = cx.tx.count::<Task>("status", &format!("{}/{state}", run.id))?;
        if n_tasks > 0 {
            counts.insert(*state, n_tasks);
        }
    }
    reply(&Tasks { run_id: run.id, legacy_read_only: false, count: rows.len(), tasks: rows, counts })
}

fn state(text: &str) -> Result<TaskState, OpError> {
    TaskState::parse(text).ok_or_else(|| {
        let known: Vec<&str> = TaskState::ALL.iter().map(|state| state.as_str()).collect();
        invalid(format!("--status must be one of {}.", known.join(", ")))
    })
}

/// `task-update` (contract 3.1 guards).
pub fn update(cx: &mut Cx<'_>, call: TaskUpdate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (_, mut task) = of_caller(cx, &caller, call.run.as_deref(), &call.id)?;
    if call.status.is_none() && call.deps.is_none() {
        return Err(invalid("task-update needs --status or --deps."));
    }
    if call.result.is_some() && call.status.is_none() {
        return Err(invalid("--result requires --status."));
    }
    if let Some(deps) = &call.deps {
        change_deps(cx, &mut task, deps)?;
    }
    if let Some(status) = call.status.as_deref().map(state).transpose()? {
        change_status(cx, &mut task, status, call.result.as_deref())?;
    }
    reply(&OneTask { task: view::task(&cx.tx, &task)? })
}

/// The Task with this id in the Run that the caller may change; the person may name a Task of any Run
/// without naming the Run.
pub fn of_caller(cx: &Cx<'_>, caller: &Caller, run: Option<&str>, id: &str) -> Result<(Run, Task), OpError> {
    let Some(task) = find(cx, id)? else {
        return Err(missing(caller::bound_run(cx, caller)?.map(|run| run.id).as_ref(), id));
    };
    let owner = caller.terminal.is_none().then(|| task.run_id.as_str());
    let run = caller::run_to_change(cx, caller, run.or(owner))?;
    let task = named(cx, Some(&run.id), id)?;
    Ok((run, task))
}

fn change_deps(cx: &mut Cx<'_>, task: &mut Task, given: &[String]) -> Result<(), OpError> {
    match task.status {
        TaskState::Pending | TaskState::Ready => {}
        TaskState::Dispatched | TaskState::Completed | TaskState::Failed | TaskState::Blocked => {
            let message =
                format!("The dependencies of {} cannot change while it is {}.", task.id, task.status);
            let refusal = not_startable(task, message);
            let way_out = match cx.tx.first::<Dispatch>("active_task", task.id.as_str())? {
                Some(active) => format!("worker-stop --dispatch {}", active.id),
                None => format!("task-update --id {} --status pending", task.id),
            };
            return Err(refusal.next_step(format!("orca orchestration {way_out} --json")).into());
        }
    }
    let id = task.id.clone();
    task.deps = dependencies(cx, &task.run_id, given, Some(&id))?;
    task.status = settle::waiting_state(cx, &task.deps)?;
    cx.tx.put(task)?;
    cx.emit(Fact::new(EventKind::TaskChanged, format!("{}: new dependencies", task.status)).of_task(task))
}

fn change_status(
    cx: &mut Cx<'_>,
    task: &mut Task,
    status: TaskState,
    result: Option<&str>,
) -> Result<(), OpError> {
    if result.is_some_and(|result| result.len() > MAX_SPEC_BYTES) {
        return Err(invalid("--result is over 1 MiB; put the long text into a file and name it."));
    }
    let is_rearmed = status == TaskState::Ready && task.n_failed_in_row > 0;
    if status == task.status && result.is_none() && !is_rearmed {
        return Ok(());
    }
    let active = cx.tx.first::<Dispatch>("active_task", task.id.as_str())?;
    guard(cx, task, status, active.as_ref())?;
    let is_verdict = status.is_settled();
    if let Some(dispatch) = active.filter(|_| is_verdict) {
        settle::by_hand(cx, &dispatch, status == TaskState::Completed)?;
    }
    let was_completed = task.status == TaskState::Completed;
    task.status = match status {
        // `pending` is what a Task with unmet dependencies is; it cannot be wished for.
        TaskState::Pending => settle::waiting_state(cx, &task.deps)?,
        other => other,
    };
    if matches!(status, TaskState::Ready | TaskState::Completed) {
        task.n_failed_in_row = 0;
    }
    if matches!(task.status, TaskState::Ready | TaskState::Pending) {
        plan::close_breaker(task);
    }
    if matches!(task.status, TaskState::Ready | TaskState::Pending) {
        task.result = None;
    }
    if let Some(result) = result {
        task.result = Some(serde_json::Value::String(text::many_lines(result)));
    }
    task.completed_at = is_verdict.then_some(cx.now);
    cx.tx.put(task)?;
    cx.emit(Fact::new(EventKind::TaskChanged, format!("set to {}", task.status)).of_task(task))?;
    match (was_completed, task.status == TaskState::Completed) {
        (false, true) => settle::promote(cx, &task.id),
        (true, false) => settle::demote(cx, &task.id),
        (true, true) | (false, false) => Ok(()),
    }
}

fn guard(cx: &Cx<'_>, task: &Task, status: TaskState, active: Option<&Dispatch>) -> Result<(), OpError> {
    if let Some(dispatch) = active {
        let is_supervised = cx.tx.get::<Worker>(dispatch.id.as_str())?.is_some();
        let is_allowed = match status {
            TaskState::Completed | TaskState::Failed => !is_supervised,
            TaskState::Dispatched => !is_supervised || task.status == TaskState::Dispatched,
            TaskState::Pending | TaskState::Ready | TaskState::Blocked => false,
        };
        if is_allowed {
            return Ok(());
        }
        let id = &dispatch.id;
        let message = format!("{} has the active attempt {id}; end that first.", task.id);
        let refusal = not_startable(task, message).with("dispatchId", id);
        let way_out = match is_supervised {
            true => refusal
                .next_step(format!("orca orchestration worker-show --dispatch {id} --json"))
                .next_step(format!("orca orchestration worker-stop --dispatch {id} --json")),
            false => refusal
                .next_step(format!("orca orchestration task-update --id {} --status failed --json", task.id)),
        };
        return Err(way_out.into());
    }
    match status {
        TaskState::Dispatched => {
            Err(not_startable(task, "A task is dispatched by starting a worker, not by task-update.")
                .next_step(format!("orca orchestration worker-start --task {} --agent codex --json", task.id))
                .into())
        }
        TaskState::Ready => {
            check_dependencies(cx, task)?;
            check_gates(cx, task)
        }
        TaskState::Pending => check_gates(cx, task),
        TaskState::Completed | TaskState::Failed | TaskState::Blocked => Ok(()),
    }
}

/// `ready` means startable, so it may not hide that the Task waits for others.
fn check_dependencies(cx: &Cx<'_>, task: &Task) -> Result<(), OpError> {
    let unmet = view::unmet(&cx.tx, task)?;
    if unmet.is_empty() {
        return Ok(());
    }
    let message = format!("{} still waits for {}.", task.id, unmet_words(&unmet));
    let mut refusal = not_startable(task, message).with("unmetDependencies", &unmet);
    if !matches!(task.status, TaskState::Pending | TaskState::Ready) {
        // The dependencies change only while it waits.
        refusal = refusal
            .next_step(format!("orca orchestration task-update --id {} --status pending --json", task.id));
    }
    Err(refusal
        .next_step(format!("orca orchestration task-update --id {} --deps '[]' --json", task.id))
        .into())
}

/// A gate holds its Task until somebody decides it.
pub fn check_gates(cx: &Cx<'_>, task: &Task) -> Result<(), OpError> {
    if let Some(gate) = cx.tx.first::<Gate>("pending_task", task.id.as_str())? {
        return Err(not_startable(task, format!("{} waits at the gate {}.", task.id, gate.id))
            .with("gateId", &gate.id)
            .next_step(format!("orca orchestration gate-resolve --id {} --resolution yes --json", gate.id))
            .into());
    }
    Ok(())
}

/// The dependencies in words: `task_a (failed), task_b (pending)`.
pub fn unmet_words(unmet: &[crate::proto::row::UnmetDependency]) -> String {
    unmet.iter().map(|dep| format!("{} ({})", dep.id, dep.status)).collect::<Vec<_>>().join(", ")
}

/// `task_not_startable` with what every reader of it needs.
pub fn not_startable(task: &Task, message: impl Into<String>) -> ErrorBody {
    refuse(ErrorCode::TaskNotStartable, message).with("taskId", &task.id).with("status", task.status)
}
