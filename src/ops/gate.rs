//! Gate verbs: create, resolve, list.

use super::caller::{self, Caller};
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::{limit, reply, settle, task};
use crate::base::code::ErrorCode;
use crate::base::id::GateId;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::gate::{Gate, GateState};
use crate::model::plan;
use crate::model::task::{Task, TaskInput, TaskState};
use crate::proto::gate::{GateCreate, GateList, GateResolve, Gates, OneGate};
use crate::proto::row::GateRow;

const MAX_QUESTION_BYTES: usize = 64 << 10;
const MAX_OPTIONS: usize = 20;

/// A question's text and options, made safe and bounded.
pub(super) fn question_text(question: &str, options: &[String]) -> Result<(String, Vec<String>), OpError> {
    let question_text = text::many_lines(question).trim().to_owned();
    if question_text.is_empty() {
        return Err(invalid("--question must say what is to be decided."));
    }
    if question.len() > MAX_QUESTION_BYTES {
        return Err(invalid("--question is over 64 KiB; put the long text into a file and name it."));
    }
    let options: Vec<String> = options.iter().map(|option| text::one_line(option)).collect();
    if options.iter().any(String::is_empty) {
        return Err(invalid("--options holds an empty option; leave it out."));
    }
    if let Some(twice) = options.iter().enumerate().find(|(n, option)| options[..*n].contains(option)) {
        let shown = text::cut_chars(twice.1, 60);
        return Err(invalid(format!("--options holds {shown:?} twice; each answer stands there once.")));
    }
    if options.len() > MAX_OPTIONS || options.iter().any(|option| option.len() > 1_000) {
        return Err(invalid("--options may be at most 20, each at most 1,000 bytes."));
    }
    Ok((question_text, options))
}

/// `gate-create`: blocks a Task that has not started (design 12).
pub fn create(cx: &mut Cx<'_>, call: GateCreate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (question, options) = question_text(&call.question, &call.options)?;
    let run = call.run.as_deref().map(|run| caller::named_run(cx, run)).transpose()?;
    let mut gated = task::named(cx, run.as_ref().map(|run| &run.id), &call.task)?;
    may_change(cx, &caller, &gated)?;
    if let Some(active) = cx.tx.first::<Dispatch>("active_task", gated.id.as_str())? {
        let message = format!(
            "{} is being worked on ({}). A gate never stops a worker: gate a task that depends on it, or ask there.",
            gated.id, active.id
        );
        return Err(task::not_startable(&gated, message)
            .with("dispatchId", &active.id)
            .next_step("orca orchestration task-list --json")
            .next_step(format!(
                "orca orchestration send --to dispatch:{} --subject \"Hold on\" --body \"Ask before you go on.\" --json",
                active.id
            ))
            .into());
    }
    if gated.status == TaskState::Completed {
        return Err(task::not_startable(
            &gated,
            format!("{} is completed; there is nothing to hold back.", gated.id),
        )
        .next_step("orca orchestration task-list --json")
        .into());
    }
    gated.status = gated.status.next(TaskInput::Block)?;
    gated.completed_at = None;
    cx.tx.put(&gated)?;
    let gate = Gate {
        id: GateId::new(cx.ids),
        run_id: gated.run_id.clone(),
        task_id: gated.id.clone(),
        question,
        options,
        status: GateState::Pending,
        resolution: None,
        resolved_by: None,
        created_at: cx.now,
        resolved_at: None,
        limit: None,
    };
    cx.tx.put(&gate)?;
    let detail = text::cut_chars(&text::one_line(&gate.question), 120);
    cx.emit(Fact::new(EventKind::GateCreated, detail).of_task(&gated))?;
    reply(&OneGate { gate: GateRow::from(&gate), warning: None })
}

/// A worker may gate its own Task only; a coordinator the Tasks of its Run; the person any.
fn may_change(cx: &Cx<'_>, caller: &Caller, gated: &Task) -> Result<(), OpError> {
    if caller.terminal.is_none() {
        return Ok(());
    }
    if let Some(dispatch) = &caller.dispatch {
        if dispatch.task_id == gated.id {
            return Ok(());
        }
        return Err(refuse(ErrorCode::ConsumerFenced, "A worker may only gate its own task.")
            .with("effectsApplied", false)
            .next_step("orca orchestration ask --question \"May I go on?\" --options \"yes,no\" --json")
            .into());
    }
    caller::run_to_change(cx, caller, Some(gated.run_id.as_str())).map(drop)
}

/// `gate-resolve`: the same text again changes nothing, another one is a conflict. When the last gate
/// falls, the Task is ready, or pending if it still waits for others.
pub fn resolve(cx: &mut Cx<'_>, call: GateResolve) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let resolution = text::many_lines(&call.resolution).trim().to_owned();
    if resolution.is_empty() {
        return Err(invalid("--resolution must say what was decided."));
    }
    if resolution.len() > MAX_QUESTION_BYTES {
        return Err(invalid("--resolution is over 64 KiB."));
    }
    let mut gate = named(cx, &call.id)?;
    if let Some(run) = call.run.as_deref() {
        let run = caller::named_run(cx, run)?;
        if run.id != gate.run_id {
            return Err(not_found(&call.id));
        }
    }
    let mut gated = settle::task_of(cx, &gate.task_id)?;
    may_change(cx, &caller, &gated)?;
    match gate.status {
        GateState::Pending | GateState::Timeout => {}
        GateState::Resolved if gate.resolution.as_deref() == Some(&resolution) => {
            return reply(&OneGate { gate: GateRow::from(&gate), warning: None });
        }
        GateState::Resolved => {
            let by = gate.resolved_by.as_deref().unwrap_or("somebody");
            return Err(refuse(
                ErrorCode::GateConflict,
                format!(
                    "{} was already resolved by {by}: {:?}.",
                    gate.id,
                    text::cut_chars(&text::one_line(gate.resolution.as_deref().unwrap_or_default()), 120)
                ),
            )
            .with("resolution", &gate.resolution)
            .with("resolvedBy", &gate.resolved_by)
            .next_step(format!("orca orchestration gate-list --run {} --json", gate.run_id))
            .into());
        }
    }
    if let Some(asked) = gate.limit.clone() {
        return limit::answer(cx, gate, &asked, &resolution, caller.handle());
    }
    if let Some(active) = cx.tx.first::<Dispatch>("active_task", gated.id.as_str())? {
        let message = format!("{} is being worked on ({}); end that attempt first.", gated.id, active.id);
        return Err(task::not_startable(&gated, message)
            .with("dispatchId", &active.id)
            .next_step(format!("orca orchestration worker-stop --dispatch {} --json", active.id))
            .into());
    }
    decide(cx, &mut gate, &resolution, caller.handle())?;
    release(cx, &mut gated)?;
    let is_option = gate.options.is_empty() || gate.options.contains(&resolution);
    let warning =
        (!is_option).then(|| format!("The resolution is none of the options ({}).", gate.options.join(", ")));
    reply(&OneGate { gate: GateRow::from(&gate), warning })
}

/// The Task is completed: nothing waits for the decisions it was held for, so nobody is asked any more.
pub fn close(cx: &mut Cx<'_>, gated: &Task) -> Result<(), OpError> {
    for mut gate in cx.tx.list::<Gate>("pending_task", gated.id.as_str(), usize::MAX)? {
        decide(cx, &mut gate, "its task was completed", "orca")?;
    }
    Ok(())
}

/// Writes down what was decided, and by whom.
pub fn decide(cx: &mut Cx<'_>, gate: &mut Gate, resolution: &str, by: &str) -> Result<(), OpError> {
    gate.status = GateState::Resolved;
    gate.resolution = Some(resolution.to_owned());
    gate.resolved_by = Some(by.to_owned());
    gate.resolved_at = Some(cx.now);
    cx.tx.put(gate)?;
    let detail = format!("{by}: {}", text::cut_chars(&text::one_line(resolution), 120));
    let mut fact = Fact::new(EventKind::GateResolved, detail).of_run(&gate.run_id);
    fact.task_id = Some(gate.task_id.clone());
    fact.dispatch_id = gate.limit.as_ref().map(|asked| asked.dispatch_id.clone());
    cx.emit(fact)
}

fn release(cx: &mut Cx<'_>, gated: &mut Task) -> Result<(), OpError> {
    let is_last = cx.tx.first::<Gate>("pending_task", gated.id.as_str())?.is_none();
    if !is_last || gated.status != TaskState::Blocked {
        return Ok(());
    }
    let is_startable = settle::waiting_state(cx, &gated.deps)? == TaskState::Ready;
    let input = if is_startable { TaskInput::Unblock } else { TaskInput::DependenciesUnmet };
    gated.status = gated.status.next(input)?;
    plan::close_breaker(gated);
    cx.tx.put(gated)?;
    cx.emit(
        Fact::new(EventKind::TaskChanged, format!("{}: its gates are resolved", gated.status)).of_task(gated),
    )
}

fn named(cx: &Cx<'_>, id: &str) -> Result<Gate, OpError> {
    cx.tx.get::<Gate>(id)?.ok_or_else(|| not_found(id))
}

fn not_found(id: &str) -> OpError {
    let shown = text::cut_chars(&text::one_line(id), 60);
    refuse(ErrorCode::GateNotFound, format!("No gate here has the id {shown:?}."))
        .next_step("orca orchestration gate-list --status pending --json")
        .into()
}

/// `gate-list`: of a Task, of a named Run, of the caller's Run; for the person without a Run, all.
pub fn list(cx: &mut Cx<'_>, call: GateList) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let status = match call.status.as_deref() {
        None => None,
        Some(text) => Some(
            GateState::parse(text)
                .ok_or_else(|| invalid("--status must be pending, resolved or timeout."))?,
        ),
    };
    let (gates, run_id) = if let Some(id) = &call.task {
        let run = call.run.as_deref().map(|run| caller::named_run(cx, run)).transpose()?;
        let gated = task::named(cx, run.as_ref().map(|run| &run.id), id)?;
        (cx.tx.list::<Gate>("task", gated.id.as_str(), usize::MAX)?, Some(gated.run_id))
    } else if caller.terminal.is_none() && call.run.is_none() && caller::bound_run(cx, &caller)?.is_none() {
        (cx.tx.list::<Gate>("all", "", usize::MAX)?, None)
    } else {
        let run = caller::run_to_read(cx, &caller, call.run.as_deref())?;
        (cx.tx.list::<Gate>("run", run.id.as_str(), usize::MAX)?, Some(run.id))
    };
    let gates: Vec<GateRow> = gates
        .iter()
        .filter(|gate| status.is_none_or(|status| gate.status == status))
        .map(GateRow::from)
        .collect();
    reply(&Gates { count: gates.len(), gates, run_id })
}
