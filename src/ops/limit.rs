//! The limits of a Run at work: what refuses a start, and the one question to the person when an attempt passed
//! a time. No limit ever ends anything by itself (design 7.1).

use super::cx::{Answer, Cx};
use super::error::{OpError, refuse};
use super::worker::end;
use super::{gate, reply};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, GateId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::gate::{Gate, GateState};
use crate::model::limit::{CONTINUE, LimitAsked, Limits, STOP, TimeLimit};
use crate::model::run::Run;
use crate::model::task::Task;
use crate::proto::gate::OneGate;
use crate::proto::row::GateRow;
use crate::proto::worker::WorkerStop;

/// Refuses one attempt more than the Run may have at once, or than the Task may have in all.
pub fn check_start(cx: &Cx<'_>, task: &Task) -> Result<(), OpError> {
    let Some(run) = cx.tx.get::<Run>(task.run_id.as_str())? else { return Ok(()) };
    let set = format!("orca orchestration run-set --run {}", run.id);
    if let Some(max) = run.limits.max_workers {
        let n_active = cx.tx.count::<Dispatch>("active_run", run.id.as_str())?;
        if n_active >= max as usize {
            return Err(refuse(
                ErrorCode::RunLimitReached,
                format!("{n_active} of at most {max} attempts of {} are active; nothing was done.", run.id),
            )
            .with("limit", "max_workers")
            .with("max", max)
            .with("used", n_active)
            .with("runId", &run.id)
            .with("effectsApplied", false)
            .next_step(format!("orca orchestration worker-list --run {} --json", run.id))
            .next_step(format!("{set} --max-workers {} --json", max + 1))
            .into());
        }
    }
    if let Some(max) = run.limits.max_attempts
        && task.n_attempts >= max
    {
        return Err(refuse(
            ErrorCode::RunLimitReached,
            format!("{} had {} of at most {max} attempts; nothing was done.", task.id, task.n_attempts),
        )
        .with("limit", "max_attempts")
        .with("max", max)
        .with("used", task.n_attempts)
        .with("runId", &run.id)
        .with("taskId", &task.id)
        .with("effectsApplied", false)
        .next_step(format!("orca orchestration dispatch-show --task {} --history --json", task.id))
        .next_step(format!("{set} --max-attempts {} --json", max + 1))
        .into());
    }
    Ok(())
}

/// The limits in a sentence.
pub fn words(limits: &Limits) -> String {
    let number = |what: &str, n: Option<u32>| n.map(|n| format!("{what} {n}"));
    let time = |what: &str, ms: Option<u64>| ms.map(|ms| format!("{what} {}", text::duration(ms)));
    let all = [
        number("workers", limits.max_workers),
        number("attempts per task", limits.max_attempts),
        time("wall time", limits.max_wall_ms),
        time("silence", limits.max_silence_ms),
    ];
    let named: Vec<String> = all.into_iter().flatten().collect();
    if named.is_empty() { String::from("no limits") } else { format!("limits: {}", named.join(", ")) }
}

/// The question that is open about this limit of this attempt.
pub fn open_question(cx: &Cx<'_>, id: &DispatchId, limit: TimeLimit) -> Result<Option<Gate>, OpError> {
    let open = cx.tx.list::<Gate>("pending_limit", id.as_str(), usize::MAX)?;
    Ok(open.into_iter().find(|gate| gate.limit.as_ref().is_some_and(|asked| asked.limit == limit)))
}

/// Asks the person about an attempt that passed a limit. It goes on meanwhile.
pub fn ask(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    limit: TimeLimit,
    passed_ms: u64,
    max_ms: u64,
) -> Result<(), OpError> {
    let (passed, max) = (text::duration(passed_ms), text::duration(max_ms));
    let what = match limit {
        TimeLimit::Wall => format!("has run for {passed}; the limit is {max}"),
        TimeLimit::Silence => format!("gave no sign for {passed}; the limit is {max}"),
    };
    let gate = Gate {
        id: GateId::new(cx.ids),
        run_id: dispatch.run_id.clone(),
        task_id: dispatch.task_id.clone(),
        question: format!("Attempt {} {what}. It goes on until you stop it.", dispatch.attempt),
        options: vec![CONTINUE.to_owned(), STOP.to_owned()],
        status: GateState::Pending,
        resolution: None,
        resolved_by: None,
        created_at: cx.now,
        resolved_at: None,
        limit: Some(LimitAsked { dispatch_id: dispatch.id.clone(), limit }),
    };
    cx.tx.put(&gate)?;
    cx.emit(Fact::new(EventKind::GateCreated, &gate.question).of_dispatch(dispatch))?;
    let detail = format!("attempt {} {what}; the person is asked ({})", dispatch.attempt, gate.id);
    cx.emit(Fact::new(EventKind::LimitReached, detail).of_dispatch(dispatch))
}

/// The questions about an attempt's limits have nothing left to decide.
pub fn close(cx: &mut Cx<'_>, id: &DispatchId, why: &str) -> Result<(), OpError> {
    for mut gate in cx.tx.list::<Gate>("pending_limit", id.as_str(), usize::MAX)? {
        gate::decide(cx, &mut gate, why, "orca")?;
    }
    Ok(())
}

/// The question about its silence, where there is one, is answered by the attempt itself.
pub fn close_silence(cx: &mut Cx<'_>, id: &DispatchId) -> Result<(), OpError> {
    match open_question(cx, id, TimeLimit::Silence)? {
        Some(mut gate) => gate::decide(cx, &mut gate, "it gave a sign again", "orca"),
        None => Ok(()),
    }
}

/// The answer to a question about a limit: `stop` stops the worker, anything else lets it go on until the
/// same time has passed again.
pub fn answer(
    cx: &mut Cx<'_>,
    mut gate: Gate,
    asked: &LimitAsked,
    resolution: &str,
    by: &str,
) -> Result<Answer, OpError> {
    gate::decide(cx, &mut gate, resolution, by)?;
    let mut warning = None;
    if resolution == STOP {
        let stop = WorkerStop { dispatch: asked.dispatch_id.to_string(), from: Some(by.to_owned()) };
        // Whoever decided does not wait for the process to end.
        end::stop(cx, stop)?;
    } else {
        if let Some(mut dispatch) = cx.tx.get::<Dispatch>(asked.dispatch_id.as_str())? {
            match asked.limit {
                TimeLimit::Wall => dispatch.wall_from = Some(cx.now),
                TimeLimit::Silence => dispatch.silence_from = Some(cx.now),
            }
            cx.tx.put(&dispatch)?;
        }
        if resolution != CONTINUE {
            warning = Some(format!("The worker goes on; only {STOP:?} stops it, and nobody told it this."));
        }
    }
    reply(&OneGate { gate: GateRow::from(&gate), warning })
}
