//! `check`: whose mail is meant, and mail that is consumed by reading it: a worker's, a terminal's, the
//! person's (contract 4.6). A Run's mail is [`super::delivery`]'s.

use super::{delivery, reach};
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::message::{Mailbox, MessageType};
use crate::model::run::Run;
use crate::model::terminal::Terminal;
use crate::ops::caller::{self, Caller, USER};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{reply, settle};
use crate::proto::mail::{Check, Checked, DEFAULT_CHECK_MS, LostRun};

/// The longest wait: a day. What waits longer should look again.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
/// Rows of `--peek` and `--all`.
pub(super) const MAX_LOOK: usize = 100;

/// What becomes of the mail that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Consume,
    Peek,
    All,
}

/// What a `check` wants.
pub(super) struct Wish {
    pub mode: Mode,
    pub types: Vec<MessageType>,
    /// How long to wait, in milliseconds; None for not at all.
    pub wait_ms: Option<u64>,
}

/// `check`.
pub fn check(cx: &mut Cx<'_>, call: Check) -> Result<Answer, OpError> {
    let mode = match call.mode.as_deref() {
        None | Some("unread") => Mode::Consume,
        Some("peek") => Mode::Peek,
        Some("all") => Mode::All,
        Some(_) => return Err(invalid("The read mode must be --unread, --peek or --all.")),
    };
    if call.is_wait && mode != Mode::Consume {
        return Err(refuse(
            ErrorCode::PeekWaitUnsupported,
            "--wait takes mail; it does not go with --peek or --all.",
        )
        .next_step("orca orchestration check --wait --json")
        .next_step("orca orchestration check --peek --json")
        .into());
    }
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_CHECK_MS);
    if timeout_ms == 0 || timeout_ms > MAX_TIMEOUT_MS {
        return Err(invalid("--timeout-ms must be between 1 and 86400000."));
    }
    let types = call.types.iter().map(|name| kind(name)).collect::<Result<Vec<_>, _>>()?;
    let caller = caller::resolve(cx, call.terminal.as_deref(), call.proof.as_deref())?;
    caller::check_proof(&caller)?;
    let wish = Wish { mode, types, wait_ms: call.is_wait.then_some(timeout_ms) };
    match place(cx, &caller, &call)? {
        Place::Run(run) => delivery::check(cx, &caller, &run, call.ack.as_deref(), &wish),
        Place::Own(mailbox) => {
            if let Some(id) = call.ack.as_deref() {
                // A coordinator whose Run somebody took over still holds its batch.
                delivery::check_not_fenced(cx, id)?;
                return Err(invalid(
                    "--ack belongs to a Run's mail; this mailbox is consumed by reading it.",
                ));
            }
            own_mail(cx, &mailbox, &wish)
        }
    }
}

enum Place {
    Run(Box<Run>),
    Own(Mailbox),
}

fn kind(name: &str) -> Result<MessageType, OpError> {
    MessageType::parse(name).ok_or_else(|| {
        let known: Vec<&str> = MessageType::ALL.iter().map(|kind| kind.as_str()).collect();
        let shown = text::cut_chars(&text::one_line(name), 40);
        invalid(format!("--types names {shown:?}; the types are {}.", known.join(", ")))
    })
}

/// Whose mail the caller means: a named Run's, its attempt's, its Run's, its own.
fn place(cx: &Cx<'_>, caller: &Caller, call: &Check) -> Result<Place, OpError> {
    if let Some(run) = call.run.as_deref() {
        return caller::named_run(cx, run).map(Box::new).map(Place::Run);
    }
    if call.terminal.as_deref() == Some(USER) {
        return Ok(Place::Own(Mailbox::User));
    }
    check_handle(cx, caller)?;
    if let Some(dispatch) = &caller.dispatch {
        still_owned(dispatch)?;
        if dispatch.status.is_active() {
            return Ok(Place::Own(Mailbox::Dispatch(dispatch.id.clone())));
        }
    }
    if let Some(run) = caller::bound_run(cx, caller)? {
        return Ok(Place::Run(Box::new(run)));
    }
    let Some(terminal) = &caller.terminal else {
        return match &caller.dispatch {
            Some(ended) => Err(over(ended)),
            None => Ok(Place::Own(Mailbox::User)),
        };
    };
    // The terminal names its newest attempt; the order of creation does not outlive a clock set back.
    let newest = terminal.dispatch_id.as_ref().map(|id| cx.tx.get::<Dispatch>(id.as_str()));
    if let Some(newest) = newest.transpose()?.flatten() {
        still_owned(&newest)?;
    }
    Ok(Place::Own(Mailbox::Terminal(terminal.id.clone())))
}

/// A pane whose handle means nothing here must not read the person's mail instead of its own.
fn check_handle(cx: &Cx<'_>, caller: &Caller) -> Result<(), OpError> {
    let Some(handle) =
        cx.caller.origin.env_handle.as_deref().filter(|_| caller.terminal.is_none() && !caller.is_proved)
    else {
        return Ok(());
    };
    let shown = text::cut_chars(&text::one_line(handle), 60);
    Err(refuse(
        ErrorCode::TerminalHandleStale,
        format!("ORCA_TERMINAL_HANDLE says {shown}, but this server knows no such terminal."),
    )
    .next_step("orca terminal list --json")
    .next_step("orca orchestration check --terminal user --json")
    .into())
}

/// A worker whose attempt somebody else ended is told only by this error, never by an empty answer
/// (contract 4.6).
fn still_owned(dispatch: &Dispatch) -> Result<(), OpError> {
    let is_own_end = match dispatch.status {
        DispatchState::Pending | DispatchState::Dispatched => dispatch.revoked_at.is_none(),
        DispatchState::Completed => true,
        DispatchState::Failed | DispatchState::CircuitBroken => {
            dispatch.last_failure.as_deref() == Some(settle::REPORTED_FAILED)
        }
    };
    if is_own_end { Ok(()) } else { Err(over(dispatch)) }
}

fn over(dispatch: &Dispatch) -> OpError {
    let how = dispatch.last_failure.as_deref().unwrap_or(match dispatch.status {
        DispatchState::Completed => "completed",
        DispatchState::Pending | DispatchState::Dispatched => "taken back",
        DispatchState::Failed | DispatchState::CircuitBroken => "failed",
    });
    let message =
        format!("{} was ended ({how}). Stop working on it; do not report and do not retry.", dispatch.id);
    refuse(ErrorCode::ConsumerFenced, message)
        .with("dispatchId", &dispatch.id)
        .with("effectsApplied", false)
        .next_step(format!("orca orchestration worker-show --dispatch {} --json", dispatch.id))
        .into()
}

/// Mail that is consumed by reading it.
fn own_mail(cx: &mut Cx<'_>, mailbox: &Mailbox, wish: &Wish) -> Result<Answer, OpError> {
    let boxes = reach::boxes(cx, mailbox)?;
    if wish.mode != Mode::Consume {
        let messages = reach::newest(cx, &boxes, wish.mode == Mode::Peek, &wish.types, MAX_LOOK)?;
        let count = messages.len();
        return reply(&Checked { messages, count, ..about(cx, mailbox, count == 0)? });
    }
    let is_here = reach::has_any(cx, &boxes, &wish.types)?;
    match wish.wait_ms {
        Some(wait_ms) if !is_here => {
            let types = wish.types.iter().map(ToString::to_string).collect();
            let on = WaitOn::Mail { mailbox: mailbox.to_string(), types };
            Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(wait_ms)), began: cx.now }))
        }
        Some(_) | None => consume(cx, mailbox, &boxes),
    }
}

fn about(cx: &Cx<'_>, mailbox: &Mailbox, is_empty: bool) -> Result<Checked, OpError> {
    let mut checked = Checked::default();
    if let Mailbox::Dispatch(id) = mailbox {
        checked.run_id = cx.tx.get::<Dispatch>(id.as_str())?.map(|dispatch| dispatch.run_id);
        checked.dispatch_id = Some(id.clone());
    }
    if let (Mailbox::Terminal(id), true) = (mailbox, is_empty) {
        checked.lost_run = lost_run(cx, id)?;
    }
    if is_empty {
        checked.elsewhere = reach::elsewhere(cx, mailbox, *mailbox == Mailbox::User)?;
    }
    Ok(checked)
}

/// The Run that this terminal coordinated until somebody else took it: an empty mailbox of its own would say
/// nothing of that.
fn lost_run(cx: &Cx<'_>, id: &TerminalId) -> Result<Option<LostRun>, OpError> {
    let Some(terminal) = cx.tx.get::<Terminal>(id.as_str())? else { return Ok(None) };
    let leaf = terminal.pane_key.leaf().unwrap_or(terminal.pane_key.as_str());
    Ok(cx.tx.last::<Run>("displaced", leaf)?.map(|run| LostRun {
        coordinator: run.consumer.as_ref().map(|consumer| consumer.handle().to_owned()),
        command: format!("orca orchestration run-use --id {} --json", run.id),
        run_id: run.id,
    }))
}

fn consume(cx: &mut Cx<'_>, mailbox: &Mailbox, boxes: &[Mailbox]) -> Result<Answer, OpError> {
    let reach::Unread { mut batch, n_behind } = reach::unread(cx, boxes)?;
    for message in &mut batch {
        super::mark_read(cx, message)?;
    }
    reply(&Checked {
        count: batch.len(),
        messages: reach::rows(cx, &batch)?,
        newer_waiting: (n_behind > 0).then_some(n_behind),
        ..about(cx, mailbox, batch.is_empty())?
    })
}

/// A waiting `check` of a worker or terminal is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Mail { mailbox, types } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for mail")));
    };
    let Some(mailbox) = Mailbox::parse(mailbox) else {
        return Err(OpError::Bug(format!("{mailbox} is no mailbox")));
    };
    if let Mailbox::Dispatch(id) = &mailbox
        && let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())?
    {
        still_owned(&dispatch)?;
    }
    let types: Vec<MessageType> = types.iter().filter_map(|name| MessageType::parse(name)).collect();
    let boxes = reach::boxes(cx, &mailbox)?;
    if reach::has_any(cx, &boxes, &types)? {
        return consume(cx, &mailbox, &boxes);
    }
    let n_unread = reach::n_unread(cx, &boxes)?;
    match wake {
        Wake::Changed => Ok(Answer::Wait(wait)),
        Wake::Deadline => reply(&Checked {
            timed_out: true,
            newer_waiting: (n_unread > 0).then_some(n_unread),
            ..about(cx, &mailbox, true)?
        }),
    }
}
