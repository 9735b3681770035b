//! What a worker said and did: `worker-read`, from its transcript where its own process told which one that
//! is, else from its terminal (contract 7.6).

use super::seen::{Seen as Attempt, see};
use crate::agent::transcript::{DEFAULT_MESSAGES, MAX_MESSAGES};
use crate::base::code::ErrorCode;
use crate::base::id::DispatchId;
use crate::base::text;
use crate::model::resource::ReleaseState;
use crate::model::session::{NoTranscript, Session};
use crate::model::terminal::Terminal;
use crate::ops::cx::{Answer, Cx};
use crate::ops::error::{OpError, invalid, limit_of, refuse};
use crate::ops::look::{
    Look, Seen, Sight, TranscriptFault, TranscriptPart, TranscriptPlace, TranscriptWish, look, mismatch,
};
use crate::ops::{dispatch, hook, reply, terminal};
use crate::proto::error::ErrorBody;
use crate::proto::transcript::Transcript;
use crate::proto::worker::{OutputStatus, WorkerOutput, WorkerRead};

/// A cursor by what it goes on with.
#[derive(Debug, PartialEq, Eq)]
enum Cursor {
    Terminal(u64),
    Transcript(TranscriptPlace),
}

/// Where a page is to come from.
enum Way {
    Terminal(Option<u64>),
    /// The terminal may do instead, where it `is_optional`.
    Transcript {
        from: Option<TranscriptPlace>,
        is_optional: bool,
    },
}

/// `worker-read`.
pub fn read(cx: &mut Cx<'_>, call: WorkerRead) -> Result<Answer, OpError> {
    let seen = see(cx, dispatch::named(cx, &call.dispatch)?)?;
    let again = format!("orca orchestration worker-read --dispatch {} --json", seen.dispatch.id);
    let terminal = exact_terminal(&seen)?;
    let session = session_of(cx, &seen, terminal)?;
    let cursor = call.cursor.as_deref();
    let cursor = cursor.map(|cursor| parse_cursor(cursor, &seen, session.as_ref().ok())).transpose();
    let cursor = cursor.map_err(|body| body.next_step(&again))?;
    let (from, is_optional) = match way(call.source.as_deref(), cursor, &again)? {
        Way::Terminal(line) => {
            let is_asked_for = call.source.as_deref() == Some("terminal");
            let reason = session.err().filter(|_| !is_asked_for);
            return reply(&terminal_output(cx, &seen, terminal, line, &call, reason)?);
        }
        Way::Transcript { from, is_optional } => (from, is_optional),
    };
    let found = match session {
        Err(reason) => Err(TranscriptFault::None(reason)),
        Ok(session) => {
            let limit = limit_of(call.limit, DEFAULT_MESSAGES, MAX_MESSAGES)?;
            match transcript(cx, &session, from, limit)? {
                Ask(answer) => return Ok(answer),
                Found(found) => found.map(|part| transcript_output(&seen, terminal, &session, part)),
            }
        }
    };
    match found {
        Ok(output) => reply(&output),
        Err(TranscriptFault::Changed) => {
            Err(changed("The transcript was written anew").next_step(again).into())
        }
        Err(TranscriptFault::None(reason)) if is_optional => {
            reply(&terminal_output(cx, &seen, terminal, None, &call, Some(reason))?)
        }
        Err(TranscriptFault::None(reason)) => Err(required(&seen, reason).into()),
    }
}

/// What was begun with one source goes on with it.
fn way(source: Option<&str>, cursor: Option<Cursor>, again: &str) -> Result<Way, OpError> {
    match (source, cursor) {
        (None | Some("auto"), None) => Ok(Way::Transcript { from: None, is_optional: true }),
        (Some("transcript"), None) => Ok(Way::Transcript { from: None, is_optional: false }),
        (Some("terminal"), None) => Ok(Way::Terminal(None)),
        (None | Some("auto" | "transcript"), Some(Cursor::Transcript(place))) => {
            Ok(Way::Transcript { from: Some(place), is_optional: false })
        }
        (None | Some("auto" | "terminal"), Some(Cursor::Terminal(line))) => Ok(Way::Terminal(Some(line))),
        (Some("terminal" | "transcript"), Some(_)) => {
            let message = "The cursor is one of the other source.";
            Err(refuse(ErrorCode::CursorInvalid, message).next_step(again).into())
        }
        (Some(_), _) => Err(invalid("--source must be auto, transcript or terminal.")),
    }
}

/// The terminal whose process worked at the attempt.
fn exact_terminal(seen: &Attempt) -> Result<&Terminal, OpError> {
    let terminal = seen.terminal.as_ref().ok_or_else(|| {
        refuse(ErrorCode::DispatchNotFound, format!("{} never had a terminal.", seen.dispatch.id))
            .next_step(format!("orca orchestration worker-show --dispatch {} --json", seen.dispatch.id))
    })?;
    if seen.dispatch.process_incarnation.as_ref() == Some(&terminal.incarnation) {
        return Ok(terminal);
    }
    Err(refuse(ErrorCode::WorkerIdentityChanged, format!("{} runs another process by now.", terminal.id))
        .next_step(format!("orca terminal read --terminal {} --json", terminal.id))
        .into())
}

/// The session that the attempt's own process reported.
fn session_of(
    cx: &Cx<'_>,
    seen: &Attempt,
    terminal: &Terminal,
) -> Result<Result<Session, NoTranscript>, OpError> {
    match cx.tx.get::<Session>(seen.dispatch.id.as_str())? {
        Some(session) if session.incarnation == terminal.incarnation => Ok(Ok(session)),
        Some(_) | None => Ok(Err(match hook::format_in(cx, terminal) {
            Some(_) => NoTranscript::SessionNotReported,
            None => NoTranscript::ProviderUnsupported,
        })),
    }
}

/// Messages of a session, or the wish to look for them.
enum Read {
    Ask(Answer),
    Found(Result<TranscriptPart, TranscriptFault>),
}
use Read::{Ask, Found};

fn transcript(
    cx: &mut Cx<'_>,
    session: &Session,
    from: Option<TranscriptPlace>,
    limit: usize,
) -> Result<Read, OpError> {
    let wish = TranscriptWish {
        format: session.format,
        path: session.path.clone(),
        root: session.root.clone(),
        begins_at: session.begins_at,
        ends_at: session.ends_at,
        from,
        limit,
    };
    match look(cx, Look::Transcript(Box::new(wish)))? {
        Sight::Ask(answer) => Ok(Ask(answer)),
        Sight::Seen(Seen::Transcript(found)) => Ok(Found(found)),
        Sight::Seen(_) => Err(mismatch()),
    }
}

/// Whether an attempt has a transcript that can be read now, so that its release may refer to it.
pub fn has_transcript(
    cx: &mut Cx<'_>,
    terminal: &Terminal,
    attempt: &DispatchId,
) -> Result<Result<bool, Answer>, OpError> {
    let session = cx.tx.get::<Session>(attempt.as_str())?;
    let Some(session) = session.filter(|session| session.incarnation == terminal.incarnation) else {
        return Ok(Ok(false));
    };
    match transcript(cx, &session, None, 1)? {
        Ask(answer) => Ok(Err(answer)),
        Found(found) => Ok(Ok(found.is_ok())),
    }
}

fn status_of(seen: &Attempt, terminal: &Terminal) -> OutputStatus {
    OutputStatus {
        worker: seen.worker.as_ref().map_or("unsupervised", |worker| worker.state.as_str()).to_owned(),
        terminal: terminal::status_word(terminal).to_owned(),
    }
}

/// Set once the terminal is let go of, whether or not that is over.
fn archived(seen: &Attempt) -> Option<bool> {
    let is_archived = seen.resource.as_ref().is_some_and(|resource| {
        matches!(resource.release, ReleaseState::Releasing | ReleaseState::Released | ReleaseState::Unknown)
    });
    is_archived.then_some(true)
}

fn transcript_output(
    seen: &Attempt,
    terminal: &Terminal,
    session: &Session,
    part: TranscriptPart,
) -> WorkerOutput {
    let TranscriptPlace { offset, is_inside, mark } = part.next;
    let inside = if is_inside { "i" } else { "" };
    let cursor =
        format!("{}.{}.{}.{offset}{inside}.{mark}", seen.dispatch.id, session.format, session.session_id);
    let warnings = match part.clipping.records {
        0 => Vec::new(),
        1 => vec![String::from("1 record of the transcript could not be read and was left out.")],
        n => vec![format!("{n} records of the transcript could not be read and were left out.")],
    };
    WorkerOutput {
        dispatch_id: seen.dispatch.id.clone(),
        source: String::from("transcript"),
        source_identity: session.identity(),
        status: status_of(seen, terminal),
        fallback_reason: None,
        warnings,
        archived: archived(seen),
        terminal: None,
        provider: Some(session.format),
        transcript: Some(Transcript {
            returned_message_count: part.messages.len(),
            messages: part.messages,
            next_cursor: Some(cursor.clone()),
            limited: part.is_limited,
        }),
        cursor: Some(cursor),
        source_exact: Some(true),
        content_complete: Some(part.clipping.is_none()),
        clipping: (!part.clipping.is_none()).then_some(part.clipping),
    }
}

fn terminal_output(
    cx: &Cx<'_>,
    seen: &Attempt,
    terminal: &Terminal,
    line: Option<u64>,
    call: &WorkerRead,
    reason: Option<NoTranscript>,
) -> Result<WorkerOutput, OpError> {
    let page = terminal::read::read_page(cx, terminal, line, call.limit, false)?;
    let identity = terminal.incarnation.to_string();
    Ok(WorkerOutput {
        dispatch_id: seen.dispatch.id.clone(),
        source: String::from("terminal"),
        cursor: page.next_cursor.map(|next| format!("{}.{identity}.{next}", seen.dispatch.id)),
        source_identity: identity,
        status: status_of(seen, terminal),
        fallback_reason: reason,
        warnings: Vec::new(),
        archived: archived(seen),
        terminal: Some(page),
        provider: None,
        transcript: None,
        source_exact: None,
        content_complete: None,
        clipping: None,
    })
}

fn changed(what: &str) -> ErrorBody {
    refuse(ErrorCode::SourceChanged, format!("{what}; read again without a cursor."))
}

/// The transcript was asked for, and there is none to show.
fn required(seen: &Attempt, reason: NoTranscript) -> ErrorBody {
    let why = match reason {
        NoTranscript::ProviderUnsupported => "This agent writes no transcript that can be read",
        NoTranscript::SessionNotReported => "The worker's process has not reported its session",
        NoTranscript::Empty => "Nobody has said anything in this worker's session yet",
        NoTranscript::Missing => "The file of this worker's transcript is not there",
        NoTranscript::Unreadable => "The file of this worker's transcript cannot be read",
        NoTranscript::ParseFailed => "This worker's transcript has no shape that is known",
    };
    let id = &seen.dispatch.id;
    refuse(ErrorCode::TranscriptRequired, format!("{why}; its terminal can be read."))
        .with("reason", reason)
        .next_step(format!("orca orchestration worker-read --dispatch {id} --source terminal --json"))
}

/// A cursor is pinned to the attempt and to its process or session; a plain number is a line.
fn parse_cursor(cursor: &str, seen: &Attempt, session: Option<&Session>) -> Result<Cursor, ErrorBody> {
    if let Ok(line) = cursor.parse() {
        return Ok(Cursor::Terminal(line));
    }
    let bad = || {
        let shown = text::cut_chars(&text::one_line(cursor), 60);
        refuse(ErrorCode::CursorInvalid, format!("{shown:?} is no cursor of this worker."))
    };
    let parts: Vec<&str> = cursor.split('.').collect();
    if parts.first() != Some(&seen.dispatch.id.as_str()) {
        return Err(bad());
    }
    match parts[1..] {
        [process, line] => {
            let line = line.parse().map_err(|_| bad())?;
            let own = seen.terminal.as_ref().map(|terminal| terminal.incarnation.as_str());
            if own == Some(process) {
                Ok(Cursor::Terminal(line))
            } else {
                Err(changed("The worker's process changed"))
            }
        }
        [format, session_id, offset, mark] => {
            let (offset, is_inside) =
                offset.strip_suffix('i').map_or((offset, false), |offset| (offset, true));
            let offset = offset.parse().map_err(|_| bad())?;
            let is_same =
                session.is_none_or(|own| own.session_id == session_id && own.format.as_str() == format);
            let place = TranscriptPlace { offset, is_inside, mark: mark.to_owned() };
            if is_same { Ok(Cursor::Transcript(place)) } else { Err(changed("The worker's session changed")) }
        }
        _ => Err(bad()),
    }
}
