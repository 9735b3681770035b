//! Looking after running attempts: marks silence, and asks the person where a time limit was passed. Called by
//! the server's clock; what it finds depends on rows and the moment alone, so a restart changes nothing.

use super::cx::Cx;
use super::error::OpError;
use super::{caller, limit};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchState, STALE_AFTER_MS};
use crate::model::event::{EventKind, Fact};
use crate::model::limit::TimeLimit;
use crate::model::question::Question;
use crate::model::worker::{Worker, WorkerState};

/// How soon an attempt is looked at again whose silence is over only if it printed something meanwhile.
const LOOK_AGAIN_MS: u64 = 60_000;

/// What is to be noted of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Quiet { dispatch: Dispatch, ms: u64 },
    Heard { dispatch: Dispatch },
    Over { dispatch: Dispatch, limit: TimeLimit, passed_ms: u64, max_ms: u64 },
}

/// Looks at every active attempt: what is to be noted now, and when to look again.
pub fn look(cx: &Cx<'_>) -> Result<(Vec<Finding>, Option<Timestamp>), OpError> {
    let mut findings = Vec::new();
    let mut next: Option<Timestamp> = None;
    for dispatch in cx.tx.list::<Dispatch>("active", "", usize::MAX)? {
        if dispatch.status != DispatchState::Dispatched || dispatch.revoked_at.is_some() {
            continue;
        }
        let due_ms = of_one(cx, dispatch, &mut findings)?;
        let due = cx.now.plus_ms(due_ms.max(1));
        next = Some(next.map_or(due, |known| known.min(due)));
    }
    Ok((findings, next))
}

/// Looks at one attempt. Gives the milliseconds until the next look at it.
fn of_one(cx: &Cx<'_>, dispatch: Dispatch, findings: &mut Vec<Finding>) -> Result<u64, OpError> {
    let limits = caller::named_run(cx, dispatch.run_id.as_str())?.limits;
    let mut due_ms = STALE_AFTER_MS;
    if let Some(max_ms) = limits.max_wall_ms
        && limit::open_question(cx, &dispatch.id, TimeLimit::Wall)?.is_none()
    {
        let counted_ms = cx.now.since_ms(dispatch.wall_from.unwrap_or(dispatch.began_at()));
        if counted_ms >= max_ms {
            let dispatch = dispatch.clone();
            findings.push(Finding::Over { dispatch, limit: TimeLimit::Wall, passed_ms: counted_ms, max_ms });
        } else {
            due_ms = due_ms.min(max_ms - counted_ms);
        }
    }
    if waits_for_somebody(cx, &dispatch)? {
        // Whoever it waits for knows; it is not called quiet for that.
        return Ok(due_ms);
    }
    let sign = dispatch.last_sign(output_at(cx, &dispatch));
    let silent_ms = cx.now.since_ms(sign);
    let is_asked = limit::open_question(cx, &dispatch.id, TimeLimit::Silence)?.is_some();
    if let (true, Some(max_ms)) = (is_asked, limits.max_silence_ms)
        && silent_ms < max_ms
    {
        findings.push(Finding::Heard { dispatch });
        return Ok(due_ms.min(LOOK_AGAIN_MS));
    }
    if let Some(max_ms) = limits.max_silence_ms.filter(|_| !is_asked) {
        let counted_ms = cx.now.since_ms(sign.max(dispatch.silence_from.unwrap_or(sign)));
        if counted_ms >= max_ms {
            let dispatch = dispatch.clone();
            findings.push(Finding::Over {
                dispatch,
                limit: TimeLimit::Silence,
                passed_ms: silent_ms,
                max_ms,
            });
        } else {
            due_ms = due_ms.min(max_ms - counted_ms);
        }
    }
    match dispatch.quiet_since {
        None if silent_ms >= STALE_AFTER_MS => findings.push(Finding::Quiet { dispatch, ms: silent_ms }),
        None => due_ms = due_ms.min(STALE_AFTER_MS - silent_ms),
        Some(_) if silent_ms < STALE_AFTER_MS => findings.push(Finding::Heard { dispatch }),
        Some(_) => due_ms = due_ms.min(LOOK_AGAIN_MS),
    }
    if is_asked {
        due_ms = due_ms.min(LOOK_AGAIN_MS);
    }
    Ok(due_ms)
}

fn output_at(cx: &Cx<'_>, dispatch: &Dispatch) -> Option<Timestamp> {
    dispatch.assignee_handle.as_ref().and_then(|handle| cx.world.live(handle)?.last_output_at)
}

/// It asks something, is not up yet, or is on its way out.
fn waits_for_somebody(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<bool, OpError> {
    if cx.tx.first::<Question>("pending_dispatch", dispatch.id.as_str())?.is_some() {
        return Ok(true);
    }
    let is_blocked = |handle| cx.world.live(handle).is_some_and(|live| live.activity == "blocked");
    let worker = cx.tx.get::<Worker>(dispatch.id.as_str())?;
    Ok(dispatch.assignee_handle.as_ref().is_some_and(is_blocked)
        || worker.is_some_and(|worker| worker.state != WorkerState::Ready))
}

/// Notes what was found.
pub fn note(cx: &mut Cx<'_>, findings: Vec<Finding>) -> Result<(), OpError> {
    for finding in findings {
        match finding {
            Finding::Quiet { mut dispatch, ms } => {
                dispatch.quiet_since = Some(cx.now);
                cx.tx.put(&dispatch)?;
                let detail = format!(
                    "attempt {} gave no sign for {}; nothing is decided by that",
                    dispatch.attempt,
                    text::duration(ms)
                );
                cx.emit(Fact::new(EventKind::AttemptQuiet, detail).of_dispatch(&dispatch))?;
            }
            Finding::Heard { mut dispatch } => {
                if heard(cx, &mut dispatch)? {
                    cx.tx.put(&dispatch)?;
                }
            }
            Finding::Over { dispatch, limit, passed_ms, max_ms } => {
                limit::ask(cx, &dispatch, limit, passed_ms, max_ms)?;
            }
        }
    }
    Ok(())
}

/// An attempt gave a sign: it is not quiet any more. Says whether it was; the row is the caller's to store.
pub fn heard(cx: &mut Cx<'_>, dispatch: &mut Dispatch) -> Result<bool, OpError> {
    limit::close_silence(cx, &dispatch.id)?;
    let Some(since) = dispatch.quiet_since.take() else { return Ok(false) };
    let detail = format!(
        "attempt {} gave a sign, {} after it was marked quiet",
        dispatch.attempt,
        text::duration(cx.now.since_ms(since))
    );
    cx.emit(Fact::new(EventKind::AttemptHeard, detail).of_dispatch(dispatch))?;
    Ok(true)
}

/// The clock stands `ahead_ms` further than time passed: limits do not count that.
pub fn clock_jumped(cx: &mut Cx<'_>, ahead_ms: i64) -> Result<(), OpError> {
    for mut dispatch in cx.tx.list::<Dispatch>("active", "", usize::MAX)? {
        dispatch.move_with_clock(output_at(cx, &dispatch), ahead_ms);
        cx.tx.put(&dispatch)?;
    }
    Ok(())
}
