//! Looking at workers: show, list. Reading decides nothing.

use super::seen::{Lease, see};
use crate::base::code::ErrorCode;
use crate::model::dispatch::Dispatch;
use crate::model::event::EventKind;
use crate::model::resource::TerminalState;
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx};
use crate::ops::dispatch;
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::terminal::read::wait_source;
use crate::ops::{reply, view};
use crate::proto::row::{DispatchRow, ResourceRow, TerminalRow};
use crate::proto::worker::{
    AgentWait, Observation, Page, RefusedReport, Scope, Shown, ShownWorker, WorkerList, WorkerListRow,
    WorkerShow, Workers,
};
use std::collections::BTreeMap;

const MAX_PAGE: u32 = 100;
/// The refused reports that one attempt is shown with, the newest ones.
const MAX_REFUSED: usize = 10;

/// `worker-show`.
pub fn show(cx: &mut Cx<'_>, call: WorkerShow) -> Result<Answer, OpError> {
    let seen = see(cx, dispatch::named(cx, &call.dispatch)?)?;
    let worker = match &seen.worker {
        Some(worker) => ShownWorker::Supervised(Box::new(view::worker(&cx.tx, worker)?)),
        None => ShownWorker::Unsupervised {
            state: String::from("unsupervised"),
            stage: String::from(if seen.was_injected(cx)? { "injected" } else { "context_only" }),
        },
    };
    let refused_reports = refused_reports(cx, &seen.dispatch)?;
    let agent_wait = seen.live.as_ref().filter(|live| live.activity == "blocked").and_then(|live| {
        let source = wait_source(live)?.to_owned();
        Some(AgentWait { source, reason: live.activity_detail.clone() })
    });
    reply(&Shown {
        dispatch: DispatchRow::from(&seen.dispatch),
        worker,
        observation: Observation {
            status: seen.process().to_owned(),
            exact_worker: seen.is_exact(),
            reason: seen
                .terminal
                .as_ref()
                .and_then(|terminal| terminal.end.as_ref())
                .map(ToString::to_string),
            agent_wait,
        },
        terminal: seen.terminal.as_ref().map(TerminalRow::from),
        terminal_resource: seen.resource.as_ref().map(ResourceRow::from),
        projection: seen.projection(cx)?,
        refused_reports,
    })
}

/// The newest refused reports of an attempt, oldest first, from the log by its Task.
fn refused_reports(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<Vec<RefusedReport>, OpError> {
    let events = cx.tx.events_of_task(&dispatch.task_id)?.into_iter();
    let mut refused: Vec<RefusedReport> = events
        .filter(|event| {
            event.kind == EventKind::ReportRefused && event.dispatch_id.as_ref() == Some(&dispatch.id)
        })
        .map(|event| RefusedReport { at: event.at, by: event.by, reason: event.detail })
        .collect();
    Ok(refused.split_off(refused.len().saturating_sub(MAX_REFUSED)))
}

/// `worker-list`, newest first.
pub fn list(cx: &mut Cx<'_>, call: WorkerList) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let wanted = match call.terminal_state.as_deref() {
        None => None,
        Some(state) => Some(TerminalState::parse(state).ok_or_else(|| {
            let known: Vec<&str> = TerminalState::ALL.iter().map(|state| state.as_str()).collect();
            invalid(format!("--terminal-state must be one of {}.", known.join(", ")))
        })?),
    };
    let (source, run) = match call.run.as_deref() {
        Some(run) => ("flag", Some(caller::named_run(cx, run)?)),
        None => match caller::bound_run(cx, &caller)? {
            Some(run) => ("bound", Some(run)),
            None => ("all", None),
        },
    };
    let dispatches = match &run {
        Some(run) => cx.tx.list_newest::<Dispatch>("run", run.id.as_str(), usize::MAX)?,
        None => cx.tx.list_newest::<Dispatch>("all", "", usize::MAX)?,
    };
    let limit = call.limit.unwrap_or(MAX_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(invalid("--limit must be between 1 and 100."));
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut listed = Vec::new();
    for dispatch in dispatches {
        let state = Lease::of(cx, &dispatch)?.state(&dispatch);
        if let Some(state) = state {
            *counts.entry(state.to_string()).or_default() += 1;
        }
        if wanted.is_none_or(|wanted| state == Some(wanted)) {
            listed.push(dispatch);
        }
    }
    let (shown, page) = page(listed, call.cursor.as_deref(), limit as usize)?;
    let workers = shown.into_iter().map(|dispatch| row(cx, dispatch)).collect::<Result<_, _>>()?;
    let scope = Scope { source: source.to_owned(), run_id: run.map(|run| run.id) };
    reply(&Workers { workers, counts, page, scope })
}

fn row(cx: &Cx<'_>, dispatch: Dispatch) -> Result<WorkerListRow, OpError> {
    let seen = see(cx, dispatch)?;
    Ok(WorkerListRow {
        dispatch_id: seen.dispatch.id.clone(),
        task_id: seen.dispatch.task_id.clone(),
        run_id: seen.dispatch.run_id.clone(),
        attempt: seen.dispatch.attempt,
        worker_state: seen.worker.as_ref().map_or("unsupervised", |worker| worker.state.as_str()).to_owned(),
        dispatch_status: seen.dispatch.status,
        agent_terminal_handle: seen.dispatch.assignee_handle.clone(),
        terminal_state: seen.terminal_state(),
        resource: seen.resource.as_ref().map(ResourceRow::from),
        projection: seen.projection(cx)?,
    })
}

fn page(rows: Vec<Dispatch>, cursor: Option<&str>, limit: usize) -> Result<(Vec<Dispatch>, Page), OpError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            rows.iter().position(|row| row.id.as_str() == cursor).map(|at| at + 1).ok_or_else(|| {
                refuse(ErrorCode::CursorInvalid, "The cursor is not one that worker-list gave out.")
                    .next_step("orca orchestration worker-list --json")
            })?
        }
    };
    let total = rows.len();
    let shown: Vec<Dispatch> = rows.into_iter().skip(start).take(limit).collect();
    let has_more = total > start + shown.len();
    let next_cursor = shown.last().filter(|_| has_more).map(|row| row.id.to_string());
    Ok((shown, Page { limit, total, has_more, next_cursor }))
}
