//! The attempt timeline of a Task: what happened, when, by whom and why, from the event log by the Task's index.
//! The command line and the screen both ask here.

use super::cx::Cx;
use super::error::OpError;
use crate::model::dispatch::{Dispatch, DispatchState, Termination};
use crate::model::event::{Event, EventKind};
use crate::model::task::Task;
use crate::proto::dispatch::{History, Moment};
use crate::proto::row::DispatchRow;
use std::collections::BTreeMap;

/// Every attempt at a Task and every moment of its life, oldest first.
pub fn of_task(cx: &Cx<'_>, task: &Task) -> Result<History, OpError> {
    let attempts = cx.tx.list::<Dispatch>("task", task.id.as_str(), usize::MAX)?;
    let by_id: BTreeMap<&str, &Dispatch> =
        attempts.iter().map(|attempt| (attempt.id.as_str(), attempt)).collect();
    let events = cx.tx.events_of_task(&task.id)?.into_iter();
    let timeline = events
        .filter_map(|event| {
            let attempt = event.dispatch_id.as_ref().and_then(|id| by_id.get(id.as_str()).copied());
            moment(event, attempt)
        })
        .collect();
    Ok(History { attempts: attempts.iter().map(DispatchRow::from).collect(), timeline })
}

fn moment(event: Event, attempt: Option<&Dispatch>) -> Option<Moment> {
    let what = word(event.kind, attempt)?;
    Some(Moment {
        seq: event.seq,
        at: event.at,
        what: what.to_owned(),
        attempt: attempt.map(|attempt| attempt.attempt),
        dispatch_id: event.dispatch_id,
        terminal_id: event.terminal_id,
        by: event.by,
        detail: event.detail,
    })
}

/// The word of an event on a timeline; none for what is only traffic: mail is in the inbox, and heartbeats
/// show as the silence that they end.
fn word(kind: EventKind, attempt: Option<&Dispatch>) -> Option<&'static str> {
    Some(match kind {
        EventKind::TaskCreated => "created",
        EventKind::TaskChanged => "task changed",
        EventKind::AttemptStarted => "started",
        EventKind::AttemptTyped => "brief typed",
        EventKind::AttemptConfirmed => "confirmed",
        EventKind::AttemptUnconfirmed => "unconfirmed",
        EventKind::AttemptBlocked => "brief waits",
        EventKind::AttemptUnknown => "unknown",
        EventKind::AttemptQuiet => "quiet",
        EventKind::AttemptHeard => "heard again",
        EventKind::AttemptSettled => end(attempt),
        EventKind::AttemptStopping => "stopping",
        EventKind::AttemptReleased => "released",
        EventKind::AttemptRetained => "retained",
        EventKind::ReportRefused => "refused report",
        EventKind::QuestionAsked => "question",
        EventKind::QuestionAnswered => "answered",
        EventKind::QuestionClosed => "question closed",
        EventKind::GateCreated => "gate",
        EventKind::GateResolved => "gate resolved",
        EventKind::LimitReached => "limit reached",
        EventKind::SetupBegun => "setup",
        EventKind::SetupEnded => "setup ended",
        EventKind::TerminalStarted => "terminal started",
        EventKind::TerminalFound => "terminal found running",
        EventKind::TerminalEnded => "process ended",
        EventKind::TerminalClosed => "terminal closed",
        EventKind::TerminalTakenOver => "taken over",
        EventKind::RunCreated
        | EventKind::RunBound
        | EventKind::RunChanged
        | EventKind::Heartbeat
        | EventKind::MessageSent
        | EventKind::MessageNudged
        | EventKind::DeliveryMade
        | EventKind::DeliveryAcknowledged
        | EventKind::WorktreeCreated
        | EventKind::WorktreeChanged
        | EventKind::WorktreeRemoved
        | EventKind::RepoAdded
        | EventKind::RepoChanged
        | EventKind::RepoRemoved
        | EventKind::HooksDecided
        | EventKind::TerminalRenamed
        | EventKind::StateReset
        | EventKind::ServerStarted => return None,
    })
}

/// How an attempt ended; what was lost is not called failed.
fn end(attempt: Option<&Dispatch>) -> &'static str {
    let Some(attempt) = attempt else { return "settled" };
    match (attempt.termination, attempt.status) {
        (Some(Termination::Lost), _) => "lost",
        (Some(Termination::StartFailed), _) => "did not start",
        (Some(Termination::Stopped), _) => "stopped",
        (Some(Termination::Abandoned), _) => "abandoned",
        (Some(Termination::SetByHand), _) => "set by hand",
        (Some(Termination::Reported), DispatchState::Completed) => "succeeded",
        (Some(Termination::Reported), _) => "failed",
        (None, _) => "settled",
    }
}
