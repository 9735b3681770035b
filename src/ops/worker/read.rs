//! Looking at workers: show, list, output. Reading decides nothing; missing evidence never counts as an
//! exit (contract 8.2).

use super::worker_of;
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::question::Question;
use crate::model::resource::{Ownership, ReleaseState, Resource, TerminalState, terminal_state};
use crate::model::terminal::Terminal;
use crate::model::worker::{Worker, WorkerState};
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx, LiveFacts};
use crate::ops::dispatch;
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{reply, terminal, view};
use crate::proto::row::{DispatchRow, ResourceRow, TerminalRow};
use crate::proto::worker::{
    AgentWait, Attention, NextAction, Observation, OutputStatus, Page, ProjectedStage, Projection, Provider,
    Scope, Shown, ShownWorker, WorkerList, WorkerListRow, WorkerOutput, WorkerRead, WorkerShow, Workers,
    Workspace,
};
use std::collections::BTreeMap;

const MAX_PAGE: u32 = 100;

/// An attempt with everything that is known of it.
struct Seen {
    dispatch: Dispatch,
    worker: Option<Worker>,
    resource: Option<Resource>,
    terminal: Option<Terminal>,
    live: Option<LiveFacts>,
    has_question: bool,
}

fn see(cx: &Cx<'_>, dispatch: Dispatch) -> Result<Seen, OpError> {
    let worker = worker_of(cx, &dispatch)?;
    let resource = worker.as_ref().map(|worker| view::resource_of(&cx.tx, worker)).transpose()?.flatten();
    let terminal = match &dispatch.assignee_handle {
        Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?,
        None => None,
    };
    let live = terminal.as_ref().and_then(|terminal| cx.world.live(&terminal.id));
    let has_question = cx.tx.first::<Question>("pending_dispatch", dispatch.id.as_str())?.is_some();
    Ok(Seen { dispatch, worker, resource, terminal, live, has_question })
}

impl Seen {
    fn terminal_state(&self) -> Option<TerminalState> {
        match &self.worker {
            Some(worker) => {
                terminal_state(self.resource.as_ref(), worker.state, worker.agent_terminal_handle.is_some())
            }
            None => self.dispatch.assignee_handle.is_some().then_some(TerminalState::Retained),
        }
    }

    fn outcome(&self) -> &'static str {
        match (self.dispatch.status, self.worker.as_ref().map(|worker| worker.state)) {
            (_, Some(WorkerState::StartUnknown | WorkerState::StopUnknown)) => "outcome_unknown",
            (DispatchState::Pending | DispatchState::Dispatched, _) => "in_progress",
            (DispatchState::Completed, _) => "succeeded",
            (DispatchState::Failed | DispatchState::CircuitBroken, _) => "failed",
        }
    }

    /// `live`, `exited` or `unverifiable`, and how that is known.
    fn liveness(&self) -> (&'static str, &'static str) {
        if self.resource.as_ref().is_some_and(|resource| resource.release == ReleaseState::Released) {
            return ("exited", "resource_release");
        }
        if self.worker.as_ref().is_some_and(|worker| worker.state == WorkerState::Stopped) {
            return ("exited", "worker_stop");
        }
        let Some(terminal) = &self.terminal else { return ("unverifiable", "missing_status") };
        if terminal.end.is_some() {
            return ("exited", "execution_host");
        }
        match &self.live {
            Some(live) if live.is_process_alive => ("live", "execution_host"),
            Some(_) | None => ("unverifiable", "host_indeterminate"),
        }
    }

    fn activity(&self) -> &'static str {
        if self.has_question {
            return "waiting";
        }
        match self.live.as_ref().map(|live| live.activity.as_str()) {
            Some("working") => "working",
            Some("blocked") => "blocked",
            Some("idle" | "done") => "done",
            Some(_) | None => "unknown",
        }
    }

    fn next_action(&self) -> NextAction {
        let id = self.dispatch.id.to_string();
        let argv = |verb: &str| ["orchestration", verb, "--dispatch", &id].map(str::to_owned).to_vec();
        let state = self.terminal_state();
        let is_settled = !self.dispatch.status.is_active();
        if state == Some(TerminalState::Reclaimable) {
            return NextAction { kind: String::from("release"), argv: argv("worker-release") };
        }
        let is_owned = self.resource.as_ref().is_some_and(|resource| resource.ownership == Ownership::Owned);
        let is_quiet = is_settled && !is_owned
            || (self.liveness().0 == "live" && !self.has_question && self.activity() != "blocked");
        if state == Some(TerminalState::Released) || is_quiet {
            return NextAction { kind: String::from("none"), argv: Vec::new() };
        }
        if self.liveness().0 == "exited" && !is_settled {
            return NextAction { kind: String::from("recover"), argv: argv("worker-read") };
        }
        NextAction { kind: String::from("inspect"), argv: argv("worker-show") }
    }

    fn attention(&self, quiet_ms: Option<u64>) -> Attention {
        let mut categories = Vec::new();
        let mut add = |is_so: bool, category: &str| {
            if is_so {
                categories.push(category.to_owned());
            }
        };
        add(self.has_question, "input");
        add(self.activity() == "blocked", "approval");
        add(self.outcome() == "failed", "failure");
        add(
            self.worker.as_ref().is_some_and(|worker| worker.state == WorkerState::Abandoned),
            "interruption",
        );
        add(self.outcome() == "outcome_unknown", "unverifiable");
        let requires_action = !categories.is_empty();
        if quiet_ms.is_some() {
            categories.push(String::from("stale"));
        }
        Attention { categories, requires_action }
    }

    fn provider(&self) -> Option<Provider> {
        let options = self.worker.as_ref().map(|worker| &worker.start_options);
        let of_terminal = || self.terminal.as_ref().and_then(|terminal| terminal.agent.clone());
        let id = options.and_then(|options| options.agent.clone()).or_else(of_terminal)?;
        Some(Provider { id, model: options.and_then(|options| options.model.clone()) })
    }

    fn projection(&self, cx: &Cx<'_>) -> Projection {
        let quiet_ms = self.dispatch.quiet_ms(cx.now);
        let (liveness, source) = self.liveness();
        Projection {
            dispatch_id: self.dispatch.id.clone(),
            task_id: self.dispatch.task_id.clone(),
            run_id: self.dispatch.run_id.clone(),
            role: String::from("worker"),
            provider: self.provider(),
            workspace: self
                .terminal
                .as_ref()
                .and_then(|terminal| terminal.worktree_id.clone())
                .map(|id| Workspace { id, kind: String::from("folder_or_worktree") }),
            stage: ProjectedStage {
                worker: self.worker.as_ref().map(|worker| worker.stage),
                dispatch: self.dispatch.status,
                detail: self.dispatch.last_phase.clone(),
                activity: self.activity().to_owned(),
            },
            outcome: self.outcome().to_owned(),
            liveness: liveness.to_owned(),
            liveness_source: source.to_owned(),
            quiet_ms,
            next_action: self.next_action(),
            attention: self.attention(quiet_ms),
        }
    }
}

/// `worker-show`.
pub fn show(cx: &mut Cx<'_>, call: WorkerShow) -> Result<Answer, OpError> {
    let seen = see(cx, dispatch::named(cx, &call.dispatch)?)?;
    let worker = match &seen.worker {
        Some(worker) => ShownWorker::Supervised(Box::new(view::worker(&cx.tx, worker)?)),
        None => ShownWorker::Unsupervised {
            state: String::from("unsupervised"),
            stage: String::from("context_only"),
        },
    };
    let status = match (&seen.terminal, seen.liveness().0) {
        (None, _) => "unattached",
        (Some(_), "live") => "live",
        (Some(_), "exited") => "exited",
        (Some(_), _) => "missing",
    };
    let agent_wait = seen
        .live
        .as_ref()
        .filter(|live| live.activity == "blocked")
        .map(|live| AgentWait { source: String::from("prompt-text"), reason: live.activity_detail.clone() });
    reply(&Shown {
        dispatch: DispatchRow::from(&seen.dispatch),
        worker,
        observation: Observation {
            status: status.to_owned(),
            exact_worker: seen.terminal.is_some(),
            reason: seen
                .terminal
                .as_ref()
                .and_then(|terminal| terminal.end.as_ref())
                .map(ToString::to_string),
            agent_wait,
        },
        terminal: seen.terminal.as_ref().map(TerminalRow::from),
        terminal_resource: seen.resource.as_ref().map(ResourceRow::from),
        projection: seen.projection(cx),
    })
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
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for dispatch in dispatches {
        let seen = see(cx, dispatch)?;
        let state = seen.terminal_state();
        if let Some(state) = state {
            *counts.entry(state.to_string()).or_default() += 1;
        }
        if wanted.is_none_or(|wanted| state == Some(wanted)) {
            rows.push(row(cx, &seen, state));
        }
    }
    let limit = call.limit.unwrap_or(MAX_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(invalid("--limit must be between 1 and 100."));
    }
    let page = page(&rows, call.cursor.as_deref(), limit as usize)?;
    let scope = Scope { source: source.to_owned(), run_id: run.map(|run| run.id) };
    reply(&Workers { workers: page.0, counts, page: page.1, scope })
}

fn row(cx: &Cx<'_>, seen: &Seen, terminal_state: Option<TerminalState>) -> WorkerListRow {
    WorkerListRow {
        dispatch_id: seen.dispatch.id.clone(),
        task_id: seen.dispatch.task_id.clone(),
        run_id: seen.dispatch.run_id.clone(),
        attempt: seen.dispatch.attempt,
        worker_state: seen.worker.as_ref().map_or("unsupervised", |worker| worker.state.as_str()).to_owned(),
        dispatch_status: seen.dispatch.status,
        agent_terminal_handle: seen.dispatch.assignee_handle.clone(),
        terminal_state,
        resource: seen.resource.as_ref().map(ResourceRow::from),
        projection: seen.projection(cx),
    }
}

fn page(
    rows: &[WorkerListRow],
    cursor: Option<&str>,
    limit: usize,
) -> Result<(Vec<WorkerListRow>, Page), OpError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            rows.iter().position(|row| row.dispatch_id.as_str() == cursor).map(|at| at + 1).ok_or_else(
                || {
                    refuse(ErrorCode::CursorInvalid, "The cursor is not one that worker-list gave out.")
                        .next_step("orca orchestration worker-list --json")
                },
            )?
        }
    };
    let shown: Vec<WorkerListRow> = rows.iter().skip(start).take(limit).cloned().collect();
    let has_more = rows.len() > start + shown.len();
    let next_cursor = shown.last().filter(|_| has_more).map(|row| row.dispatch_id.to_string());
    Ok((shown, Page { limit, total: rows.len(), has_more, next_cursor }))
}

/// `worker-read`: the terminal's output, live or archived.
pub fn read(cx: &mut Cx<'_>, call: WorkerRead) -> Result<Answer, OpError> {
    let dispatch = dispatch::named(cx, &call.dispatch)?;
    match call.source.as_deref() {
        None | Some("auto" | "terminal") => {}
        Some("transcript") => {
            return Err(refuse(
                ErrorCode::TranscriptRequired,
                "No transcript of this worker is known; its terminal is.",
            )
            .with("reason", "session_not_reported")
            .next_step(format!(
                "orca orchestration worker-read --dispatch {} --source terminal --json",
                dispatch.id
            ))
            .into());
        }
        Some(_) => return Err(invalid("--source must be auto, transcript or terminal.")),
    }
    let seen = see(cx, dispatch)?;
    let again = format!("orca orchestration worker-read --dispatch {} --json", seen.dispatch.id);
    let terminal = seen.terminal.as_ref().ok_or_else(|| {
        refuse(ErrorCode::DispatchNotFound, format!("{} never had a terminal.", seen.dispatch.id))
            .next_step(format!("orca orchestration worker-show --dispatch {} --json", seen.dispatch.id))
    })?;
    let identity = terminal.incarnation.to_string();
    if seen.dispatch.process_incarnation.as_ref() != Some(&terminal.incarnation) {
        return Err(refuse(
            ErrorCode::WorkerIdentityChanged,
            format!("{} runs another process by now.", terminal.id),
        )
        .next_step(format!("orca terminal read --terminal {} --json", terminal.id))
        .into());
    }
    let cursor = call
        .cursor
        .as_deref()
        .map(|cursor| parse_cursor(cursor, &seen.dispatch, &identity, &again))
        .transpose()?;
    let page = terminal::read::read_page(cx, terminal, cursor, call.limit, false)?;
    let is_archived = seen.resource.as_ref().is_some_and(|resource| {
        matches!(resource.release, ReleaseState::Releasing | ReleaseState::Released | ReleaseState::Unknown)
    });
    reply(&WorkerOutput {
        cursor: page.next_cursor.map(|next| format!("{}.{identity}.{next}", seen.dispatch.id)),
        source: String::from("terminal"),
        source_identity: identity,
        status: OutputStatus {
            worker: seen.worker.as_ref().map_or("unsupervised", |worker| worker.state.as_str()).to_owned(),
            terminal: terminal::status_word(terminal).to_owned(),
        },
        fallback_reason: call.source.is_none().then(|| String::from("session_not_reported")),
        warnings: Vec::new(),
        archived: is_archived.then_some(true),
        terminal: page,
        dispatch_id: seen.dispatch.id,
    })
}

/// A cursor is pinned to the attempt and its process; a plain number is a line.
fn parse_cursor(cursor: &str, dispatch: &Dispatch, identity: &str, again: &str) -> Result<u64, OpError> {
    if let Ok(line) = cursor.parse() {
        return Ok(line);
    }
    let parts: Vec<&str> = cursor.split('.').collect();
    let bad = || {
        let shown = text::cut_chars(&text::one_line(cursor), 60);
        OpError::from(
            refuse(ErrorCode::CursorInvalid, format!("{shown:?} is no cursor of this worker."))
                .next_step(again),
        )
    };
    let &[id, process, line] = parts.as_slice() else { return Err(bad()) };
    if id != dispatch.id.as_str() {
        return Err(bad());
    }
    if process != identity {
        return Err(refuse(
            ErrorCode::SourceChanged,
            "The worker's process changed; read again without a cursor.",
        )
        .next_step(again)
        .into());
    }
    line.parse().map_err(|_| bad())
}
