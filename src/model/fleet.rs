//! What is to be seen of attempts: the lanes of a Run in the order a coordinator should look at them, the one
//! word for an attempt's state, whether its process lives, and why somebody should look.
//!
//! The command line and the screen both ask here, so they cannot disagree (design 7.7). Nothing here decides:
//! missing evidence never counts as an end, and silence is only a mark (contract 8, design 7.1).

use super::dispatch::{DispatchState, STALE_AFTER_MS, Termination};
use super::words;
use super::worker::{PromptDelivery, Stage, WorkerState};
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, TaskId, TerminalId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The oldest active attempts that are looked at for one fleet block.
pub const MAX_SCANNED: usize = 36;
/// The lanes of one fleet block.
pub const MAX_LANES: usize = 12;
/// What an agent showed longer ago than this proves nothing any more.
const STALE_STATUS_MS: u64 = 30 * 60 * 1_000;
/// How far ahead of our clock a sign of life may be.
const MAX_AHEAD_MS: u64 = 5_000;

words! {
    /// Whether an attempt took its brief.
    LaneDelivery {
        Accepted = "accepted",
        NotAccepted = "not_accepted",
        Unknown = "unknown",
    }
}

words! {
    /// How that is known.
    DeliveryEvidence {
        WorkerStage = "worker_stage",
        TerminalOutput = "terminal_output",
    }
}

words! {
    /// The agent's process, as far as it is verified.
    ProcessState {
        Live = "live",
        Dead = "dead",
        Unknown = "unknown",
    }
}

/// One active attempt in a fleet block (contract 8.1). Ages are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    pub handle: Option<TerminalId>,
    pub task_id: TaskId,
    pub dispatch_id: DispatchId,
    /// `pending` or `dispatched`.
    pub lifecycle: DispatchState,
    /// Since its last heartbeat or output; null when it never gave a sign.
    pub quiet_ms: Option<u64>,
    pub heartbeat_age_ms: Option<u64>,
    pub delivery: LaneDelivery,
    pub delivery_evidence: Option<DeliveryEvidence>,
    pub process_state: ProcessState,
    /// Its setup script waits for a person: the command that shows it and how to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_decision: Option<String>,
}

impl Lane {
    /// Somebody should look at its terminal, or decide about its setup.
    pub fn needs_attention(&self) -> bool {
        self.delivery == LaneDelivery::NotAccepted
            || self.process_state == ProcessState::Dead
            || self.setup_decision.is_some()
    }
}

/// Puts the lanes that need somebody first: a setup to approve, no brief (by stage, then by output), no process,
/// then the longest silence; who never gave a sign comes last, and equals stay as they are. Says whether lanes
/// were left out.
pub fn rank(lanes: &mut Vec<Lane>) -> bool {
    lanes.sort_by_key(|lane| {
        let trouble = match (lane.delivery, lane.delivery_evidence, lane.process_state) {
            (LaneDelivery::NotAccepted, Some(DeliveryEvidence::WorkerStage), _) => 0,
            (LaneDelivery::NotAccepted, Some(DeliveryEvidence::TerminalOutput) | None, _) => 1,
            (LaneDelivery::Accepted | LaneDelivery::Unknown, _, ProcessState::Dead) => 2,
            (
                LaneDelivery::Accepted | LaneDelivery::Unknown,
                _,
                ProcessState::Live | ProcessState::Unknown,
            ) => 3,
        };
        (lane.setup_decision.is_none(), trouble, lane.quiet_ms.is_none(), Reverse(lane.quiet_ms))
    });
    let is_cut = lanes.len() > MAX_LANES;
    lanes.truncate(MAX_LANES);
    is_cut
}

/// Whether an attempt took its brief: by its worker's stage, or, without a worker, by output since it was
/// given to the terminal (contract 8.1). One that says that it works has it.
pub fn delivery(
    status: DispatchState,
    worker: Option<(Stage, PromptDelivery)>,
    dispatched_at: Option<Timestamp>,
    heartbeat_at: Option<Timestamp>,
    output_at: Option<Timestamp>,
) -> (LaneDelivery, Option<DeliveryEvidence>) {
    match (status, worker) {
        (DispatchState::Dispatched, None) if heartbeat_at.is_some() => (LaneDelivery::Accepted, None),
        (DispatchState::Pending, _) => (LaneDelivery::Unknown, None),
        (_, Some((stage, way))) => {
            let is_taken = stage == Stage::InputAccepted && way != PromptDelivery::Blocked;
            let verdict = if is_taken { LaneDelivery::Accepted } else { LaneDelivery::NotAccepted };
            (verdict, Some(DeliveryEvidence::WorkerStage))
        }
        (_, None) => match (dispatched_at, output_at) {
            (Some(given), Some(output)) => {
                let verdict = if output > given { LaneDelivery::Accepted } else { LaneDelivery::NotAccepted };
                (verdict, Some(DeliveryEvidence::TerminalOutput))
            }
            (_, _) => (LaneDelivery::Unknown, None),
        },
    }
}

/// How long nothing was heard or seen of an attempt that began at `began`, once that is worth a mark.
pub fn quiet_ms(
    began: Timestamp,
    heartbeat_at: Option<Timestamp>,
    output_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<u64> {
    Some(silent_ms(began, heartbeat_at, output_at, now)).filter(|quiet| *quiet >= STALE_AFTER_MS)
}

/// In how many milliseconds it is, if nothing is heard or seen of it until then.
pub fn quiet_in_ms(
    began: Timestamp,
    heartbeat_at: Option<Timestamp>,
    output_at: Option<Timestamp>,
    now: Timestamp,
) -> u64 {
    STALE_AFTER_MS.saturating_sub(silent_ms(began, heartbeat_at, output_at, now))
}

fn silent_ms(
    began: Timestamp,
    heartbeat_at: Option<Timestamp>,
    output_at: Option<Timestamp>,
    now: Timestamp,
) -> u64 {
    now.since_ms(output_at.into_iter().chain(heartbeat_at).fold(began, Timestamp::max))
}

words! {
    /// The one word for the state of an attempt.
    Shown {
        Starting = "starting",
        /// Its agent starts once a person decided about the setup script.
        SetupUnapproved = "setup waits for approval",
        StartUnknown = "start unknown",
        BriefHeld = "brief held back",
        /// It was typed, and nothing was seen of the agent taking it.
        BriefUnconfirmed = "brief unconfirmed",
        /// Nobody watches it, and its terminal has said nothing since the attempt was recorded.
        BriefNotTaken = "brief not taken",
        Asks = "asks",
        WantsYou = "wants you",
        Error = "error",
        Idle = "idle",
        Quiet = "quiet",
        Working = "working",
        Stopping = "stopping",
        StopUnknown = "stop unknown",
        Done = "done",
        Failed = "failed",
        /// The third failure in a row.
        Broken = "failed three times",
        StartFailed = "did not start",
        /// It ended without a report; whether the work is done nobody knows.
        Lost = "lost",
        Stopped = "stopped",
        Abandoned = "abandoned",
    }
}

/// What is known of an attempt, from its rows and its live terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight<'a> {
    pub status: DispatchState,
    pub termination: Option<Termination>,
    pub worker: Option<WorkerState>,
    pub delivery: Option<PromptDelivery>,
    /// The verdict of [`delivery`].
    pub brief: LaneDelivery,
    pub has_question: bool,
    /// It reported that it works, so it has its brief.
    pub has_heartbeat: bool,
    /// `working`, `blocked`, `idle`, `done`, `error` or `unknown`.
    pub activity: Option<&'a str>,
    pub quiet_ms: Option<u64>,
    /// Its setup script runs only once a person approved it.
    pub awaits_approval: bool,
}

/// What an agent is said to do: what is seen of it; where nothing can be seen, that it works as long as its
/// attempt counts as work.
pub fn activity(seen: &str, attempt: Option<Shown>) -> &str {
    let is_at_work = matches!(attempt, Some(Shown::Working | Shown::Quiet | Shown::Asks));
    match seen {
        "" | "unknown" if is_at_work => "working",
        "" => "unknown",
        seen => seen,
    }
}

impl Sight<'_> {
    fn is_brief_in_doubt(&self) -> bool {
        self.delivery == Some(PromptDelivery::Unconfirmed)
            && !self.has_heartbeat
            && self.activity != Some("working")
    }

    /// Nobody watches it, and its terminal has shown nothing of it.
    fn is_brief_not_taken(&self) -> bool {
        self.worker.is_none() && self.brief == LaneDelivery::NotAccepted && self.activity != Some("working")
    }

    /// The word for it.
    pub fn shown(&self) -> Shown {
        match self.status {
            DispatchState::Completed => return Shown::Done,
            DispatchState::CircuitBroken => return Shown::Broken,
            DispatchState::Failed => {
                return match self.termination {
                    Some(Termination::Lost) => Shown::Lost,
                    Some(Termination::StartFailed) => Shown::StartFailed,
                    Some(Termination::Stopped) => Shown::Stopped,
                    Some(Termination::Abandoned) => Shown::Abandoned,
                    Some(Termination::Reported | Termination::SetByHand) | None => Shown::Failed,
                };
            }
            DispatchState::Pending | DispatchState::Dispatched => {}
        }
        if self.has_question {
            return Shown::Asks;
        }
        match self.worker {
            Some(WorkerState::Starting) if self.awaits_approval => return Shown::SetupUnapproved,
            Some(WorkerState::Starting) => return Shown::Starting,
            Some(WorkerState::StartUnknown) => return Shown::StartUnknown,
            Some(WorkerState::Stopping) => return Shown::Stopping,
            Some(WorkerState::StopUnknown) => return Shown::StopUnknown,
            Some(
                WorkerState::Ready
                | WorkerState::Failed
                | WorkerState::Succeeded
                | WorkerState::Stopped
                | WorkerState::Abandoned,
            )
            | None => {}
        }
        if self.delivery == Some(PromptDelivery::Blocked) {
            return Shown::BriefHeld;
        }
        match self.activity {
            Some("blocked") => Shown::WantsYou,
            Some("error") => Shown::Error,
            _ if self.is_brief_not_taken() => Shown::BriefNotTaken,
            Some("idle" | "done") => Shown::Idle,
            _ if self.is_brief_in_doubt() => Shown::BriefUnconfirmed,
            _ if self.quiet_ms.is_some() => Shown::Quiet,
            _ => Shown::Working,
        }
    }
}

/// What tells whether an attempt's process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    pub is_stage_released: bool,
    pub is_resource_released: bool,
    pub is_stopped: bool,
    /// The end of its process was recorded.
    pub is_end_recorded: bool,
    pub is_settled: bool,
    pub is_supervised: bool,
    /// The terminal is live and its process is there.
    pub has_process: bool,
    /// That process is the agent itself, not a shell around it.
    pub is_agent_process: bool,
    /// When its agent's state was last seen, where it shows one.
    pub status_at: Option<Timestamp>,
}

impl Life {
    /// `live`, `exited` or `unverifiable`, and how that is known or why it is not (contract 8.2).
    pub fn verdict(&self, now: Timestamp) -> (&'static str, &'static str) {
        if self.is_stage_released {
            return ("exited", "execution_host");
        }
        if self.is_resource_released {
            return ("exited", "resource_release");
        }
        if self.is_stopped {
            return ("exited", "worker_stop");
        }
        if self.is_end_recorded {
            return ("exited", "execution_host");
        }
        if self.has_process && self.is_agent_process {
            return ("live", "execution_host");
        }
        match self.status_at.filter(|_| self.has_process) {
            None if self.is_settled && !self.is_supervised => ("unverifiable", "unsupervised_settled"),
            None => ("unverifiable", "missing_status"),
            Some(at) if at.since_ms(now) > MAX_AHEAD_MS => ("unverifiable", "future_status"),
            Some(at) if now.since_ms(at) > STALE_STATUS_MS => ("unverifiable", "stale_status"),
            Some(_) => ("live", "agent_status"),
        }
    }
}

/// Why somebody should look at an attempt; each is a category of contract 8.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reasons {
    /// It told the coordinator that it cannot go on.
    pub guidance: bool,
    /// It waits for an answer.
    pub input: bool,
    /// Its agent shows a dialog, or its brief is held back.
    pub approval: bool,
    /// It failed, and nothing newer was tried.
    pub failure: bool,
    /// It was abandoned, or its process was killed or closed.
    pub interruption: bool,
    /// Nothing was heard or seen of it for long.
    pub stale: bool,
    /// Nobody can say how it stands.
    pub unverifiable: bool,
    /// It completed a Task that is part of no other.
    pub root_completion: bool,
}

impl Reasons {
    /// The names of the categories that hold.
    pub fn categories(&self) -> Vec<&'static str> {
        let all = [
            (self.guidance, "guidance"),
            (self.input, "input"),
            (self.approval, "approval"),
            (self.failure, "failure"),
            (self.interruption, "interruption"),
            (self.stale, "stale"),
            (self.unverifiable, "unverifiable"),
            (self.root_completion, "root_completion"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name).collect()
    }

    /// Whether somebody has to act; a long silence and a finished Task only want to be seen.
    pub fn requires_action(&self) -> bool {
        self.guidance || self.input || self.approval || self.failure || self.interruption || self.unverifiable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(number: u32, quiet_ms: Option<u64>) -> Lane {
        Lane {
            handle: None,
            task_id: TaskId::parse("task_1").unwrap(),
            dispatch_id: DispatchId::parse(&format!("ctx_{number}")).unwrap(),
            lifecycle: DispatchState::Dispatched,
            quiet_ms,
            heartbeat_age_ms: None,
            delivery: LaneDelivery::Accepted,
            delivery_evidence: Some(DeliveryEvidence::WorkerStage),
            process_state: ProcessState::Live,
            setup_decision: None,
        }
    }

    #[test]
    fn those_that_need_somebody_come_first_and_equals_keep_their_order() {
        let not = LaneDelivery::NotAccepted;
        let mut lanes = vec![
            lane(1, None),
            lane(2, Some(5)),
            lane(3, Some(9)),
            Lane { process_state: ProcessState::Dead, ..lane(4, None) },
            Lane {
                delivery: not,
                delivery_evidence: Some(DeliveryEvidence::TerminalOutput),
                ..lane(5, Some(1))
            },
            Lane { delivery: not, ..lane(6, None) },
            lane(7, Some(9)),
            lane(8, None),
            Lane { setup_decision: Some(String::from("orca repo hooks show")), ..lane(9, None) },
        ];
        assert!(!rank(&mut lanes));
        let order: Vec<&str> = lanes.iter().map(|lane| lane.dispatch_id.as_str()).collect();
        assert_eq!(order, ["ctx_9", "ctx_6", "ctx_5", "ctx_4", "ctx_3", "ctx_7", "ctx_2", "ctx_1", "ctx_8"]);
        let mut many: Vec<Lane> = (0..20).map(|number| lane(number, None)).collect();
        assert!(rank(&mut many));
        assert_eq!(many.len(), MAX_LANES);
    }

    #[test]
    fn a_brief_is_taken_by_stage_or_by_output() {
        let at = |ms| Some(Timestamp(ms));
        let check = |status, worker, given, output, expected| {
            assert_eq!(delivery(status, worker, given, None, output).0, expected);
        };
        let (pending, sent) = (DispatchState::Pending, DispatchState::Dispatched);
        let taken = Some((Stage::InputAccepted, PromptDelivery::Argument));
        let held = Some((Stage::InputAccepted, PromptDelivery::Blocked));
        let before = Some((Stage::AuthorityAttached, PromptDelivery::None));
        check(pending, taken, None, None, LaneDelivery::Unknown);
        check(sent, taken, None, None, LaneDelivery::Accepted);
        check(sent, held, None, None, LaneDelivery::NotAccepted);
        check(sent, before, None, at(9), LaneDelivery::NotAccepted);
        check(sent, None, at(5), at(9), LaneDelivery::Accepted);
        check(sent, None, at(5), at(4), LaneDelivery::NotAccepted);
        check(sent, None, at(5), None, LaneDelivery::Unknown);
        assert_eq!(delivery(sent, None, at(5), at(6), at(4)).0, LaneDelivery::Accepted);
    }

    #[test]
    fn missing_evidence_is_never_an_exit() {
        let now = Timestamp(100 * 60_000);
        let unknown = Life {
            is_stage_released: false,
            is_resource_released: false,
            is_stopped: false,
            is_end_recorded: false,
            is_settled: false,
            is_supervised: true,
            has_process: false,
            is_agent_process: false,
            status_at: None,
        };
        let check = |life: Life, expected: (&str, &str)| assert_eq!(life.verdict(now), expected, "{life:?}");
        let seen = |at| Life { has_process: true, status_at: Some(Timestamp(at)), ..unknown };
        check(unknown, ("unverifiable", "missing_status"));
        check(
            Life { is_settled: true, is_supervised: false, ..unknown },
            ("unverifiable", "unsupervised_settled"),
        );
        check(
            Life { is_stage_released: true, is_resource_released: true, ..unknown },
            ("exited", "execution_host"),
        );
        check(Life { is_resource_released: true, ..unknown }, ("exited", "resource_release"));
        check(Life { is_stopped: true, is_end_recorded: true, ..unknown }, ("exited", "worker_stop"));
        check(Life { is_end_recorded: true, has_process: true, ..unknown }, ("exited", "execution_host"));
        check(Life { has_process: true, is_agent_process: true, ..unknown }, ("live", "execution_host"));
        check(seen(now.0), ("live", "agent_status"));
        check(seen(now.0 + 6_000), ("unverifiable", "future_status"));
        check(seen(now.0 - 31 * 60_000), ("unverifiable", "stale_status"));
        check(Life { has_process: false, ..seen(now.0) }, ("unverifiable", "missing_status"));
    }

    #[test]
    fn every_ended_attempt_says_how() {
        let ended = |status, termination| Sight {
            status,
            termination,
            worker: None,
            delivery: None,
            brief: LaneDelivery::Accepted,
            has_question: true,
            has_heartbeat: false,
            activity: Some("working"),
            quiet_ms: None,
            awaits_approval: true,
        };
        let check = |status, termination, expected: &str| {
            assert_eq!(ended(status, termination).shown().as_str(), expected);
        };
        check(DispatchState::Completed, Some(Termination::Reported), "done");
        check(DispatchState::Failed, Some(Termination::Reported), "failed");
        check(DispatchState::Failed, Some(Termination::Lost), "lost");
        check(DispatchState::Failed, Some(Termination::StartFailed), "did not start");
        check(DispatchState::Failed, Some(Termination::Stopped), "stopped");
        check(DispatchState::Failed, Some(Termination::Abandoned), "abandoned");
        check(DispatchState::CircuitBroken, Some(Termination::Lost), "failed three times");
        let running = Sight { status: DispatchState::Dispatched, ..ended(DispatchState::Dispatched, None) };
        assert_eq!(running.shown(), Shown::Asks);
        let running = Sight { has_question: false, ..running };
        assert_eq!(running.shown(), Shown::Working);
        let unseen = Sight { delivery: Some(PromptDelivery::Unconfirmed), activity: None, ..running };
        assert_eq!(unseen.shown(), Shown::BriefUnconfirmed);
        assert_eq!(Sight { has_heartbeat: true, ..unseen }.shown(), Shown::Working);
        assert_eq!(Sight { activity: Some("working"), ..unseen }.shown(), Shown::Working);
        let recorded = Sight { brief: LaneDelivery::NotAccepted, activity: Some("idle"), ..running };
        assert_eq!(recorded.shown(), Shown::BriefNotTaken);
        assert_eq!(Sight { activity: Some("working"), ..recorded }.shown(), Shown::Working);
        assert_eq!(Sight { activity: Some("blocked"), ..recorded }.shown(), Shown::WantsYou);
        assert_eq!(Sight { worker: Some(WorkerState::Ready), ..recorded }.shown(), Shown::Idle);
        let begun = Sight { worker: Some(WorkerState::Starting), ..running };
        assert_eq!(begun.shown(), Shown::SetupUnapproved);
        assert_eq!(Sight { awaits_approval: false, ..begun }.shown(), Shown::Starting);
    }

    #[test]
    fn a_finished_task_and_silence_ask_for_nothing() {
        let seen = Reasons { stale: true, root_completion: true, ..Reasons::default() };
        assert_eq!((seen.categories(), seen.requires_action()), (vec!["stale", "root_completion"], false));
        assert!(Reasons { input: true, ..seen }.requires_action());
    }

    #[test]
    fn silence_is_marked_after_ten_minutes_without_any_sign() {
        let at = |minutes: i64| Timestamp(minutes * 60_000);
        assert_eq!(quiet_ms(at(0), None, None, at(9)), None);
        assert_eq!(quiet_ms(at(0), None, None, at(12)), Some(12 * 60_000));
        assert_eq!(quiet_ms(at(0), Some(at(5)), None, at(12)), None);
        assert_eq!(quiet_ms(at(0), Some(at(5)), Some(at(1)), at(20)), Some(15 * 60_000));
        // What sleeps until then sees it.
        let waits = quiet_in_ms(at(0), Some(at(3)), Some(at(5)), at(9));
        assert_eq!(quiet_ms(at(0), Some(at(3)), Some(at(5)), at(9).plus_ms(waits - 1)), None);
        assert!(quiet_ms(at(0), Some(at(3)), Some(at(5)), at(9).plus_ms(waits)).is_some());
    }
}
