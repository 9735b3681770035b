//! An attempt with everything that is known of it, and what that means for whoever coordinates: its projection
//! (contract 8.2). The verdicts themselves are `model::fleet`'s, which the screen asks too.

use super::worker_of;
use crate::base::id::DispatchId;
use crate::model::dispatch::{Dispatch, DispatchState, Termination};
use crate::model::event::EventKind;
use crate::model::fleet::{self, DeliveryEvidence, LaneDelivery, Life, Reasons, Sight};
use crate::model::gate::Gate;
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::question::Question;
use crate::model::resource::{Ownership, ReleaseState, Resource, TerminalState, terminal_state};
use crate::model::setup::Setup;
use crate::model::task::{Task, TaskState};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worker::{PromptDelivery, Stage, Worker, WorkerState};
use crate::ops::cx::{Cx, LiveFacts};
use crate::ops::error::OpError;
use crate::ops::{settle, setup, terminal, view};
use crate::proto::row::ResourceRow;
use crate::proto::worker::{
    Attention, Evidence, HostOf, NextAction, Parent, ProjectedStage, Projection, Provider, Workspace,
};

/// The unread messages of a Run among which a call for help is looked for, the newest ones.
const MAX_UNREAD: usize = 200;

/// The supervised side of an attempt: its Worker and whose its terminal is.
pub struct Lease {
    pub worker: Option<Worker>,
    pub resource: Option<Resource>,
}

impl Lease {
    /// That of an attempt.
    pub fn of(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<Self, OpError> {
        let worker = worker_of(cx, dispatch)?;
        let resource = worker.as_ref().map(|worker| view::resource_of(&cx.tx, worker)).transpose()?.flatten();
        Ok(Self { worker, resource })
    }

    /// The state of its terminal (contract 3.6).
    pub fn state(&self, dispatch: &Dispatch) -> Option<TerminalState> {
        match &self.worker {
            Some(worker) => {
                terminal_state(self.resource.as_ref(), worker.state, worker.agent_terminal_handle.is_some())
            }
            None => dispatch.assignee_handle.is_some().then_some(TerminalState::Retained),
        }
    }
}

/// An attempt as it is seen now.
pub struct Seen {
    pub dispatch: Dispatch,
    pub worker: Option<Worker>,
    pub resource: Option<Resource>,
    pub terminal: Option<Terminal>,
    pub live: Option<LiveFacts>,
    /// Its setup script, while that waits for a person.
    pub setup: Option<Setup>,
    /// It passed a limit, and nobody has said yet whether it goes on.
    is_over_limit: bool,
    has_question: bool,
    task: Task,
    is_latest: bool,
}

/// Looks at an attempt.
pub fn see(cx: &Cx<'_>, dispatch: Dispatch) -> Result<Seen, OpError> {
    let Lease { worker, resource } = Lease::of(cx, &dispatch)?;
    let terminal = match &dispatch.assignee_handle {
        Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?,
        None => None,
    };
    let live = terminal.as_ref().and_then(|terminal| cx.world.live(&terminal.id));
    let has_question = cx.tx.first::<Question>("pending_dispatch", dispatch.id.as_str())?.is_some();
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let is_latest = task.n_attempts == dispatch.attempt;
    let active = worker.as_ref().filter(|_| dispatch.status.is_active());
    let setup = active.map(|worker| setup::waiting(&cx.tx, worker)).transpose()?.flatten();
    let is_over_limit = cx.tx.count::<Gate>("pending_limit", dispatch.id.as_str())? > 0;
    Ok(Seen {
        setup,
        is_over_limit,
        dispatch,
        worker,
        resource,
        terminal,
        live,
        has_question,
        task,
        is_latest,
    })
}

impl Seen {
    /// The state of its terminal (contract 3.6).
    pub fn terminal_state(&self) -> Option<TerminalState> {
        let lease = Lease { worker: self.worker.clone(), resource: self.resource.clone() };
        lease.state(&self.dispatch)
    }

    fn outcome(&self) -> &'static str {
        match (self.dispatch.status, self.worker.as_ref().map(|worker| worker.state)) {
            (_, Some(WorkerState::StartUnknown | WorkerState::StopUnknown)) => "outcome_unknown",
            (DispatchState::Pending | DispatchState::Dispatched, _) => "in_progress",
            (_, _) if self.dispatch.termination == Some(Termination::SetByHand) => "finished_unverified",
            (DispatchState::Completed, _) => "succeeded",
            (DispatchState::Failed | DispatchState::CircuitBroken, _) => "failed",
        }
    }

    /// Whether the terminal still runs the process that this attempt was given to.
    pub fn is_exact(&self) -> bool {
        let now = self.terminal.as_ref().map(|terminal| &terminal.incarnation);
        now.is_some() && now == self.dispatch.process_incarnation.as_ref()
    }

    /// Liveness of the PTY only (contract 7.5).
    pub fn process(&self) -> &'static str {
        let Some(terminal) = &self.terminal else { return "unattached" };
        if !self.is_exact() {
            return "identity_changed";
        }
        match terminal.life {
            TerminalLife::Exited | TerminalLife::Closed => "exited",
            TerminalLife::Failed | TerminalLife::Lost => "missing",
            TerminalLife::Starting | TerminalLife::Running if terminal.end.is_some() => "exited",
            TerminalLife::Starting | TerminalLife::Running => {
                let is_alive = self.live.as_ref().is_some_and(|live| live.is_process_alive);
                if is_alive { "live" } else { "unverifiable" }
            }
        }
    }

    /// Whether an unsupervised attempt's brief was typed.
    pub fn was_injected(&self, cx: &Cx<'_>) -> Result<bool, OpError> {
        was_typed(cx, &self.dispatch)
    }

    /// `live`, `exited` or `unverifiable`, and how that is known.
    pub fn liveness(&self, cx: &Cx<'_>) -> (&'static str, &'static str) {
        let (worker, terminal) = (self.worker.as_ref(), self.terminal.as_ref());
        let process = self.process();
        let shown = self.live.as_ref().filter(|live| live.activity != "unknown");
        let life = Life {
            is_stage_released: worker.is_some_and(|worker| worker.stage == Stage::Released),
            is_resource_released: self
                .resource
                .as_ref()
                .is_some_and(|resource| resource.release == ReleaseState::Released),
            is_stopped: worker.is_some_and(|worker| worker.state == WorkerState::Stopped),
            is_end_recorded: process == "exited" || worker.is_some_and(|worker| worker.process_end.is_some()),
            is_settled: !self.dispatch.status.is_active(),
            is_supervised: worker.is_some(),
            has_process: process == "live",
            is_agent_process: terminal
                .is_some_and(|terminal| terminal.agent.is_some() && !terminal.launch.argv.is_empty()),
            status_at: shown.map(|live| live.last_output_at.unwrap_or(live.activity_since)),
        };
        life.verdict(cx.now)
    }

    fn is_held(&self) -> bool {
        let is_blocked = |worker: &Worker| worker.delivery == PromptDelivery::Blocked;
        self.worker.as_ref().is_some_and(is_blocked)
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

    /// Silence that is worth a mark, of an attempt that still runs.
    pub fn quiet_ms(&self, cx: &Cx<'_>) -> Option<u64> {
        let output_at = self.live.as_ref().and_then(|live| live.last_output_at);
        let dispatch = &self.dispatch;
        dispatch.status.is_active().then_some(())?;
        fleet::quiet_ms(dispatch.began_at(), dispatch.last_heartbeat_at, output_at, cx.now)
    }

    /// Whether it took its brief, and how that is known.
    pub fn brief(&self) -> (LaneDelivery, Option<DeliveryEvidence>) {
        let worker = self.worker.as_ref().map(|worker| (worker.stage, worker.delivery));
        let output_at = self.live.as_ref().and_then(|live| live.last_output_at);
        let Dispatch { status, dispatched_at, last_heartbeat_at, .. } = self.dispatch;
        fleet::delivery(status, worker, dispatched_at, last_heartbeat_at, output_at)
    }

    /// The word for its state.
    pub fn word(&self, cx: &Cx<'_>) -> fleet::Shown {
        self.shown(self.quiet_ms(cx))
    }

    fn shown(&self, quiet_ms: Option<u64>) -> fleet::Shown {
        Sight {
            brief: self.brief().0,
            status: self.dispatch.status,
            termination: self.dispatch.termination,
            worker: self.worker.as_ref().map(|worker| worker.state),
            delivery: self.worker.as_ref().map(|worker| worker.delivery),
            has_question: self.has_question,
            has_heartbeat: self.dispatch.last_heartbeat_at.is_some(),
            activity: self.live.as_ref().map(|live| live.activity.as_str()),
            quiet_ms,
            awaits_approval: self.setup.is_some(),
        }
        .shown()
    }

    /// Why somebody should look. What was tried again or got done by somebody else asks for nothing more.
    fn reasons(&self, cx: &Cx<'_>, quiet_ms: Option<u64>) -> Result<Reasons, OpError> {
        let is_active = self.dispatch.status.is_active();
        let is_open = self.is_latest && self.task.status != TaskState::Completed;
        let liveness = self.liveness(cx);
        let is_unknown = self.outcome() == "outcome_unknown";
        let was_killed = self
            .terminal
            .as_ref()
            .and_then(|terminal| terminal.end.as_ref())
            .is_some_and(|end| end.signal.is_some());
        let is_lost = self.dispatch.termination == Some(Termination::Lost);
        Ok(Reasons {
            guidance: is_active && calls_for_help(cx, &self.dispatch)?,
            input: self.has_question,
            approval: is_active
                && (self.activity() == "blocked"
                    || self.is_held()
                    || self.setup.is_some()
                    || self.is_over_limit),
            failure: is_open && self.outcome() == "failed",
            interruption: is_open
                && (self.dispatch.termination == Some(Termination::Abandoned) || (is_lost && was_killed)),
            stale: quiet_ms.is_some() || (is_active && liveness.1 == "stale_status"),
            unverifiable: (is_unknown && liveness.0 != "exited")
                || (self.dispatch.status == DispatchState::Dispatched
                    && liveness.0 == "unverifiable"
                    && liveness.1 != "stale_status"),
            root_completion: self.outcome() == "succeeded" && self.task.parent_id.is_none(),
        })
    }

    /// What to run next (contract 8.2).
    fn next_action(&self, cx: &Cx<'_>, reasons: &Reasons) -> NextAction {
        let id = self.dispatch.id.to_string();
        let act = |kind: &str, verb: &str| NextAction {
            kind: kind.to_owned(),
            argv: ["orchestration", verb, "--dispatch", &id].map(str::to_owned).to_vec(),
        };
        if let Some(setup) = &self.setup {
            return NextAction { kind: String::from("inspect"), argv: setup::show_argv(setup) };
        }
        if self.is_over_limit {
            // The decision is the person's; this shows what they are asked.
            let gates = ["orchestration", "gate-list", "--task", self.dispatch.task_id.as_str()];
            return NextAction { kind: String::from("inspect"), argv: gates.map(str::to_owned).to_vec() };
        }
        let state = self.terminal_state();
        let is_settled = !self.dispatch.status.is_active();
        let is_pending = reasons.guidance || reasons.input || reasons.approval;
        if state == Some(TerminalState::Reclaimable) {
            return act("release", "worker-release");
        }
        let liveness = self.liveness(cx).0;
        let is_owned = self.resource.as_ref().is_some_and(|resource| resource.ownership == Ownership::Owned);
        let is_ready = self.worker.as_ref().is_none_or(|worker| worker.state == WorkerState::Ready);
        let is_quiet = state == Some(TerminalState::Released)
            || (is_settled && !is_owned)
            || (liveness == "live" && is_ready && !is_settled && !is_pending)
            || (liveness == "unverifiable" && !is_pending && self.outcome() != "outcome_unknown");
        if is_quiet {
            return NextAction { kind: String::from("none"), argv: Vec::new() };
        }
        if liveness == "exited" && !is_settled && !is_pending {
            // How it ended stands on its screen, not in its transcript.
            let mut recover = act("recover", "worker-read");
            recover.argv.extend(["--source", "terminal"].map(str::to_owned));
            return recover;
        }
        act("inspect", "worker-show")
    }

    fn provider(&self, cx: &Cx<'_>) -> Option<Provider> {
        let options = self.worker.as_ref().map(|worker| &worker.start_options);
        let in_terminal = || terminal::agent_in(cx, self.terminal.as_ref()?);
        let id = options.and_then(|options| options.agent.clone()).or_else(in_terminal)?;
        Some(Provider { id, model: options.and_then(|options| options.model.clone()) })
    }

    fn evidence(&self, liveness: (&str, &str)) -> Evidence {
        let live = self.live.as_ref();
        let status = match (live, liveness.1) {
            (Some(_), "stale_status" | "future_status") => "stale",
            (Some(_), _) => "fresh",
            (None, _) => "unavailable",
        };
        Evidence {
            durable: true,
            live_status: status.to_owned(),
            last_observed_at: live.map(|live| live.last_output_at.unwrap_or(live.activity_since)),
        }
    }

    /// All of it in the words of the contract.
    pub fn projection(&self, cx: &Cx<'_>) -> Result<Projection, OpError> {
        let quiet_ms = self.quiet_ms(cx);
        let reasons = self.reasons(cx, quiet_ms)?;
        let liveness = self.liveness(cx);
        let worktree = self.terminal.as_ref().and_then(|terminal| terminal.worktree_id.clone());
        Ok(Projection {
            id: self.dispatch.id.clone(),
            dispatch_id: self.dispatch.id.clone(),
            task_id: self.dispatch.task_id.clone(),
            run_id: self.dispatch.run_id.clone(),
            role: String::from("worker"),
            parent: self.task.parent_id.clone().map(|task_id| Parent { task_id }),
            provider: self.provider(cx),
            host: HostOf { kind: String::from("local"), id: String::from("local") },
            workspace: worktree.map(|id| Workspace { id, kind: String::from("folder_or_worktree") }),
            stage: ProjectedStage {
                worker: self.worker.as_ref().map(|worker| worker.stage),
                dispatch: self.dispatch.status,
                detail: self.dispatch.last_phase.clone(),
                activity: self.activity().to_owned(),
            },
            state: self.shown(quiet_ms).to_string(),
            outcome: self.outcome().to_owned(),
            liveness: liveness.0.to_owned(),
            liveness_source: liveness.1.to_owned(),
            evidence: self.evidence(liveness),
            quiet_ms,
            resource: self.resource.as_ref().map(ResourceRow::from),
            next_action: self.next_action(cx, &reasons),
            attention: Attention {
                categories: reasons.categories().into_iter().map(str::to_owned).collect(),
                requires_action: reasons.requires_action(),
            },
        })
    }
}

/// Whether the brief of an attempt stands in its terminal; what its agent makes of it is another question
/// (contract 5.7).
pub fn was_typed(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<bool, OpError> {
    let events = cx.tx.events_of_task(&dispatch.task_id)?;
    Ok(events.iter().any(|event| {
        matches!(
            event.kind,
            EventKind::AttemptTyped | EventKind::AttemptConfirmed | EventKind::AttemptUnconfirmed
        ) && event.dispatch_id.as_ref() == Some(&dispatch.id)
    }))
}

/// An escalation of this attempt that its coordinator has not read.
fn calls_for_help(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<bool, OpError> {
    let mailbox = Mailbox::Run(dispatch.run_id.clone()).to_string();
    let is_call = |message: &Message, id: &DispatchId| {
        message.kind == MessageType::Escalation && message.dispatch_id.as_ref() == Some(id)
    };
    let unread = cx.tx.list_newest::<Message>("unread", &mailbox, MAX_UNREAD)?;
    Ok(unread.iter().any(|message| is_call(message, &dispatch.id)))
}
