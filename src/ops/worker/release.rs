//! Letting go of the terminal of a worker that reported, or keeping it: release, retain (contract 7.4).

use super::end::{close_command, inactive, terminal_of, wait};
use super::{output, worker_of};
use crate::base::code::ErrorCode;
use crate::base::id::DispatchId;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::effect::Effect;
use crate::model::event::{EventKind, Fact};
use crate::model::resource::{Ownership, ReleaseState, Resource};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worker::{Stage, WorkerState};
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx};
use crate::ops::dispatch;
use crate::ops::error::{OpError, refuse};
use crate::ops::{reply, terminal, view};
use crate::proto::error::ErrorBody;
use crate::proto::row::ArchiveRow;
use crate::proto::worker::{Released, WorkerRelease, WorkerRetain};

/// The archive that is a reference to a transcript.
const TRANSCRIPT: &str = "transcript";

/// `worker-release`: archives and closes exactly the terminal that the attempt owns.
pub fn release(cx: &mut Cx<'_>, call: WorkerRelease) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let dispatch = dispatch::named(cx, &call.dispatch)?;
    let Some(worker) = worker_of(cx, &dispatch)? else {
        if dispatch.status.is_active() {
            return Err(inactive(&dispatch, format!("{} is still active.", dispatch.id)).into());
        }
        return reply(&plain(&dispatch, "retained", Some("no_owned_resource")));
    };
    if !matches!(worker.state, WorkerState::Succeeded | WorkerState::Failed) {
        let message = format!(
            "{} is {}; only a worker that succeeded or failed is released.",
            dispatch.id, worker.state
        );
        let way_out = match (worker.state.is_settled(), &worker.agent_terminal_handle) {
            // Nobody reports from there any more; the terminal is a plain one now.
            (true, Some(handle)) => close_command(handle),
            (_, _) => format!("orca orchestration worker-stop --dispatch {} --json", dispatch.id),
        };
        return Err(inactive(&dispatch, message).next_step(way_out).into());
    }
    let Some(mut resource) = view::resource_of(&cx.tx, &worker)? else {
        return reply(&plain(&dispatch, "retained", Some("no_owned_resource")));
    };
    if let Some(answer) = kept(&dispatch, &resource) {
        return reply(&answer);
    }
    let terminal = terminal_of(cx, &worker)?;
    let has_transcript = match &terminal {
        Some(terminal) => output::has_transcript(cx, terminal, &dispatch.id)?,
        None => Ok(false),
    };
    let has_transcript = match has_transcript {
        Ok(has_transcript) => has_transcript,
        Err(look) => return Ok(look),
    };
    resource.release = ReleaseState::Releasing;
    resource.retained_reason = None;
    resource.release_error = None;
    resource.release_requested_at = resource.release_requested_at.or(Some(cx.now));
    resource.archive_source = has_transcript.then(|| TRANSCRIPT.to_owned());
    resource.archive_status = has_transcript.then(|| String::from("captured"));
    cx.tx.put(&resource)?;
    match terminal {
        // An ended process is closed too: its last screen goes into the archive.
        Some(owned) if owned.life != TerminalLife::Closed => {
            terminal::close::note_caller(cx, &owned.id)?;
            // A transcript that is referred to is kept already, whatever becomes of the output.
            let close = Effect::CloseTerminal { terminal_id: owned.id, archives_first: !has_transcript };
            cx.request(close, Some(dispatch.id.clone()), None)?;
            Ok(Answer::Wait(wait(cx, &dispatch.id, "release")))
        }
        Some(_) | None => {
            finish(cx, &dispatch, resource, "unavailable")?;
            answer(cx, &dispatch)
        }
    }
}

/// Why a terminal is not closed, where it is not (contract 7.4).
fn kept(dispatch: &Dispatch, resource: &Resource) -> Option<Released> {
    match (resource.release, resource.ownership) {
        (ReleaseState::Released, _) => {
            Some(with_archive(plain(dispatch, "already_released", None), resource))
        }
        (_, Ownership::External) => Some(plain(dispatch, "retained", Some("external_terminal"))),
        (_, Ownership::Transferred) => Some(plain(dispatch, "retained", Some("ownership_transferred"))),
        (_, Ownership::UserOwned) => {
            let handle = dispatch.assignee_handle.as_ref();
            let recovery = handle.map(|handle| format!("orca terminal close --terminal {handle}"));
            Some(Released { recovery, ..plain(dispatch, "retained", Some("user_takeover")) })
        }
        (ReleaseState::Requested | ReleaseState::Releasing, _) => {
            Some(plain(dispatch, "release_pending", None))
        }
        // An explicit release clears an earlier retain.
        (ReleaseState::NotRequested | ReleaseState::Retained | ReleaseState::Unknown, _) => None,
    }
}

fn plain(dispatch: &Dispatch, state: &str, reason: Option<&str>) -> Released {
    Released {
        dispatch_id: dispatch.id.clone(),
        state: state.to_owned(),
        reason: reason.map(str::to_owned),
        process_action: String::from("none"),
        archive: None,
        warning: None,
        recovery: None,
        last_error: None,
    }
}

fn with_archive(mut released: Released, resource: &Resource) -> Released {
    released.archive = resource.archive_status.is_some().then(|| ArchiveRow {
        source: resource.archive_source.clone(),
        status: resource.archive_status.clone(),
    });
    released.warning = match resource.archive_status.as_deref() {
        Some("empty") => Some(String::from("Its terminal showed nothing, so there is no output to read.")),
        Some("unavailable") => {
            Some(String::from("Its output could not be kept; worker-read has what is left."))
        }
        _ => None,
    };
    released
}

/// The terminal is closed and its output archived.
pub(super) fn finish(
    cx: &mut Cx<'_>,
    dispatch: &Dispatch,
    mut resource: Resource,
    archive_status: &str,
) -> Result<(), OpError> {
    resource.release = ReleaseState::Released;
    resource.ownership = Ownership::Released;
    resource.release_completed_at = Some(cx.now);
    if resource.archive_source.as_deref() != Some(TRANSCRIPT) {
        resource.archive_source = (archive_status == "captured").then(|| String::from("terminal"));
        resource.archive_status = Some(archive_status.to_owned());
    }
    cx.tx.put(&resource)?;
    if let Some(mut worker) = worker_of(cx, dispatch)? {
        worker.stage = Stage::Released;
        worker.updated_at = cx.now;
        cx.tx.put(&worker)?;
    }
    cx.emit(
        Fact::new(
            EventKind::AttemptReleased,
            format!("attempt {}: terminal closed, output kept", dispatch.attempt),
        )
        .of_dispatch(dispatch),
    )
}

/// What a release that is over has come to.
pub(super) fn answer(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<Answer, OpError> {
    let worker = worker_of(cx, dispatch)?.ok_or_else(|| OpError::Bug(String::from("no worker")))?;
    let Some(resource) = view::resource_of(&cx.tx, &worker)? else {
        return reply(&plain(dispatch, "retained", Some("no_owned_resource")));
    };
    if let (ReleaseState::NotRequested, Some(why)) = (resource.release, &resource.release_error) {
        return Err(not_archived(dispatch, why).into());
    }
    let state = match resource.release {
        ReleaseState::Released => "released",
        ReleaseState::Unknown => "release_unknown",
        ReleaseState::Retained => "retained",
        ReleaseState::NotRequested | ReleaseState::Requested | ReleaseState::Releasing => "release_pending",
    };
    let mut released = with_archive(plain(dispatch, state, resource.retained_reason.as_deref()), &resource);
    released.last_error.clone_from(&resource.release_error);
    match state {
        "released" => released.process_action = String::from(process_action(cx, &resource)?),
        "release_unknown" => {
            released.recovery =
                Some(format!("orca orchestration worker-show --dispatch {} --json", dispatch.id));
        }
        _ => {}
    }
    reply(&released)
}

/// What a release says whose output cannot be kept.
fn not_archived(dispatch: &Dispatch, why: &str) -> ErrorBody {
    let message = format!(
        "The output of {} could not be kept ({}), so its terminal was not closed.",
        dispatch.id,
        text::one_line(why)
    );
    refuse(ErrorCode::ArchiveFailed, message)
        .with("dispatchId", &dispatch.id)
        .next_step("orca status --json")
        .next_step(format!("orca orchestration worker-release --dispatch {} --json", dispatch.id))
}

/// The output of a terminal could not be kept, so it was not closed: the release that asked for it is off.
pub fn archive_failed(cx: &mut Cx<'_>, id: &DispatchId, message: &str) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let Some(worker) = worker_of(cx, &dispatch)? else { return Ok(()) };
    let resource = view::resource_of(&cx.tx, &worker)?;
    let Some(mut resource) = resource.filter(|resource| resource.release == ReleaseState::Releasing) else {
        return Ok(());
    };
    resource.release = ReleaseState::NotRequested;
    resource.release_requested_at = None;
    resource.release_error = Some(message.to_owned());
    cx.tx.put(&resource)?;
    let detail = format!("attempt {}: terminal kept, its output could not be saved", dispatch.attempt);
    cx.emit(Fact::new(EventKind::AttemptRetained, detail).of_dispatch(&dispatch))
}

/// Whether a process had to be ended, or had ended before the release was asked for.
fn process_action(cx: &Cx<'_>, resource: &Resource) -> Result<&'static str, OpError> {
    let terminal = cx.tx.get::<Terminal>(resource.terminal_id.as_str())?;
    let ended_at = terminal.and_then(|terminal| terminal.end).map(|end| end.at);
    let had_ended = ended_at.is_some_and(|at| resource.release_requested_at.is_some_and(|asked| at < asked));
    Ok(if had_ended { "closed_exited_terminal" } else { "closed_agent_terminal" })
}

/// `worker-retain`: the terminal stays until an explicit release.
pub fn retain(cx: &mut Cx<'_>, call: WorkerRetain) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let dispatch = dispatch::named(cx, &call.dispatch)?;
    let worker = worker_of(cx, &dispatch)?;
    let resource = worker.as_ref().map(|worker| view::resource_of(&cx.tx, worker)).transpose()?.flatten();
    let Some(mut resource) = resource else {
        return reply(&plain(&dispatch, "retained", Some("no_owned_resource")));
    };
    match resource.release {
        ReleaseState::NotRequested | ReleaseState::Retained | ReleaseState::Requested => {
            resource.release = ReleaseState::Retained;
            resource.retained_reason = Some(String::from("user_requested"));
            resource.archive_source = None;
            resource.archive_status = None;
            cx.tx.put(&resource)?;
            cx.emit(
                Fact::new(EventKind::AttemptRetained, format!("attempt {}: terminal kept", dispatch.attempt))
                    .of_dispatch(&dispatch),
            )?;
            reply(&plain(&dispatch, "retained", Some("user_requested")))
        }
        ReleaseState::Releasing => reply(&plain(&dispatch, "release_pending", None)),
        ReleaseState::Unknown => reply(&plain(&dispatch, "release_unknown", None)),
        ReleaseState::Released => reply(&with_archive(plain(&dispatch, "already_released", None), &resource)),
    }
}
