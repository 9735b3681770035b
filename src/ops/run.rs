//! Run verbs: create, bind, list, show.

use super::caller::{self, Caller};
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, limit_of, refuse};
use super::{limit, reply};
use crate::base::code::ErrorCode;
use crate::base::id::RunId;
use crate::base::text;
use crate::model::delivery::{Delivery, DeliveryState};
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::limit::Limits;
use crate::model::run::{Consumer, Run};
use crate::proto::row::RunRow;
use crate::proto::run::{
    Binding, CurrentRun, LimitWishes, OneRun, RunBound, RunCreate, RunCurrent, RunList, RunSet, RunShow,
    RunUse, Runs,
};

const PAGE: u32 = 50;
/// The shortest and longest time limit.
const MIN_TIME_MS: u64 = 1_000;
const MAX_TIME_MS: u64 = 365 * 86_400_000;
/// The most workers or attempts that a limit may name.
const MAX_NUMBER: u32 = 10_000;
/// The longest objective, in bytes.
const MAX_OBJECTIVE_BYTES: usize = 64 << 10;

/// `run-create`: a new Run, bound to the caller; another Run of the same pane is unbound.
pub fn create(cx: &mut Cx<'_>, call: RunCreate) -> Result<Answer, OpError> {
    let objective = text::many_lines(&call.objective).trim().to_owned();
    if objective.is_empty() {
        return Err(invalid("--objective must say what the team should reach."));
    }
    if objective.len() > MAX_OBJECTIVE_BYTES {
        return Err(invalid("--objective is over 64 KiB; put the long text into a file and name it."));
    }
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    release_binding(cx, &caller, None)?;
    let limits = wished(Limits::default(), &call.limits)?;
    let run = Run {
        id: RunId::new(cx.ids),
        objective,
        consumer: Some(caller.consumer()),
        consumer_generation: 1,
        displaced: None,
        limits,
        created_at: cx.now,
        updated_at: cx.now,
    };
    cx.tx.put(&run)?;
    remember_for_user(cx, &caller, &run)?;
    cx.emit(
        Fact::new(EventKind::RunCreated, text::cut_chars(&text::one_line(&run.objective), 120))
            .of_run(&run.id),
    )?;
    reply(&RunBound { run: RunRow::from(&run), binding: Binding { consumer_generation: 1 } })
}

/// `run-use`: binds the caller to an existing Run and fences whoever was bound before.
pub fn use_run(cx: &mut Cx<'_>, call: RunUse) -> Result<Answer, OpError> {
    if call.takeover_legacy {
        return Err(invalid("--takeover-legacy only applies to adopted Runs; this orca has none."));
    }
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let mut run = caller::named_run(cx, &call.id)?;
    release_binding(cx, &caller, Some(&run.id))?;
    if run.bind(Some(caller.consumer()), cx.now) {
        fence_outstanding(cx, &run.id)?;
        cx.tx.put(&run)?;
        let detail = format!("bound to {} (generation {})", caller.handle(), run.consumer_generation);
        cx.emit(Fact::new(EventKind::RunBound, detail).of_run(&run.id))?;
    }
    remember_for_user(cx, &caller, &run)?;
    let binding = Binding { consumer_generation: run.consumer_generation };
    reply(&RunBound { run: RunRow::from(&run), binding })
}

/// A pane has at most one Run (contract 3.9): the one it has is unbound, unless it is `keep`. The
/// person may hold several.
fn release_binding(cx: &mut Cx<'_>, caller: &Caller, keep: Option<&RunId>) -> Result<(), OpError> {
    if caller.terminal.is_none() {
        return Ok(());
    }
    let Some(mut old) = caller::bound_run(cx, caller)?.filter(|old| Some(&old.id) != keep) else {
        return Ok(());
    };
    old.bind(None, cx.now);
    fence_outstanding(cx, &old.id)?;
    cx.tx.put(&old)?;
    cx.emit(Fact::new(EventKind::RunBound, "unbound: its coordinator took another Run").of_run(&old.id))
}

/// The outstanding Delivery of a Run whose binding changed is fenced; its messages stay unread and
/// are batched again for the new consumer (contract 3.8).
fn fence_outstanding(cx: &mut Cx<'_>, run: &RunId) -> Result<(), OpError> {
    if let Some(mut delivery) = cx.tx.first::<Delivery>("outstanding", run.as_str())? {
        delivery.state = DeliveryState::Fenced;
        cx.tx.put(&delivery)?;
    }
    Ok(())
}

fn remember_for_user(cx: &mut Cx<'_>, caller: &Caller, run: &Run) -> Result<(), OpError> {
    match caller.consumer() {
        Consumer::User => Ok(cx.tx.set_meta("user_run", &run.id.to_string())?),
        Consumer::Terminal { .. } => Ok(()),
    }
}

/// `run-current`: the Run the caller is bound to, if any.
pub fn current(cx: &mut Cx<'_>, call: RunCurrent) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let run = caller::bound_run(cx, &caller)?;
    reply(&CurrentRun { run: run.as_ref().map(RunRow::from) })
}

/// `run-list`: newest first; the cursor is opaque.
pub fn list(cx: &mut Cx<'_>, call: RunList) -> Result<Answer, OpError> {
    let limit = limit_of(call.limit, PAGE, PAGE)?;
    // One more than the page says whether there is another.
    let found = match call.cursor.as_deref() {
        None => cx.tx.list_newest::<Run>("all", "", limit + 1)?,
        Some(cursor) => {
            let last = caller::named_run(cx, cursor).map_err(|_| {
                refuse(ErrorCode::CursorInvalid, "The cursor is not one that run-list gave out.")
                    .next_step("orca orchestration run-list --json")
            })?;
            cx.tx.list_newest_behind("all", "", &last, limit + 1)?
        }
    };
    let page: Vec<RunRow> = found.iter().take(limit).map(RunRow::from).collect();
    let next_cursor = page.last().filter(|_| found.len() > limit).map(|run| run.id.to_string());
    reply(&Runs { runs: page, next_cursor })
}

/// `run-show`.
pub fn show(cx: &mut Cx<'_>, call: RunShow) -> Result<Answer, OpError> {
    let run = caller::named_run(cx, &call.id)?;
    one(cx, &run)
}

fn one(cx: &Cx<'_>, run: &Run) -> Result<Answer, OpError> {
    let active_workers = cx.tx.count::<Dispatch>("active_run", run.id.as_str())?;
    reply(&OneRun { run: RunRow::from(run), active_workers })
}

/// `run-set`: changes limits. What runs already goes on.
pub fn set(cx: &mut Cx<'_>, call: RunSet) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let mut run = caller::run_to_change(cx, &caller, call.run.as_deref())?;
    if call.limits == LimitWishes::default() {
        return Err(invalid(
            "run-set changes limits; name one: --max-workers, --max-attempts, --max-wall or --max-silence.",
        ));
    }
    let limits = wished(run.limits, &call.limits)?;
    if limits != run.limits {
        run.limits = limits;
        run.updated_at = cx.now;
        cx.tx.put(&run)?;
        cx.emit(Fact::new(EventKind::RunChanged, limit::words(&run.limits)).of_run(&run.id))?;
    }
    one(cx, &run)
}

/// The limits with the wishes in them.
fn wished(now: Limits, wishes: &LimitWishes) -> Result<Limits, OpError> {
    fn one<T: PartialOrd + Default>(now: Option<T>, wish: Option<T>) -> Option<T> {
        match wish {
            None => now,
            Some(value) if value == T::default() => None,
            Some(value) => Some(value),
        }
    }
    let is_odd = |ms: Option<u64>| ms.is_some_and(|ms| ms > 0 && !(MIN_TIME_MS..=MAX_TIME_MS).contains(&ms));
    if is_odd(wishes.max_wall_ms) || is_odd(wishes.max_silence_ms) {
        return Err(invalid("--max-wall and --max-silence must be between 1s and 365d."));
    }
    if wishes.max_workers.is_some_and(|n| n > MAX_NUMBER)
        || wishes.max_attempts.is_some_and(|n| n > MAX_NUMBER)
    {
        return Err(invalid("--max-workers and --max-attempts must be at most 10000."));
    }
    Ok(Limits {
        max_workers: one(now.max_workers, wishes.max_workers),
        max_attempts: one(now.max_attempts, wishes.max_attempts),
        max_wall_ms: one(now.max_wall_ms, wishes.max_wall_ms),
        max_silence_ms: one(now.max_silence_ms, wishes.max_silence_ms),
    })
}
