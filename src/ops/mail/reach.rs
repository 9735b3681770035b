//! Who reads what: the mailboxes that one `check` takes from, whether an address has a reader at all,
//! and where else mail waits. What was accepted must be readable by its owner with plain `check`.

use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::delivery::MAX_BATCH;
use crate::model::dispatch::Dispatch;
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::question::Question;
use crate::model::run::{Consumer, Run};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::caller;
use crate::ops::cx::Cx;
use crate::ops::error::{OpError, refuse};
use crate::proto::mail::MailElsewhere;
use crate::proto::row::{MessageRow, QuestionStand};
use std::collections::BTreeSet;

/// The most bytes of text in one reply; a frame holds 16 MiB, and escaping may double it.
const MAX_REPLY_BYTES: usize = 4 << 20;
/// The most other mailboxes that an empty reply names.
const MAX_ELSEWHERE: usize = 10;

/// The mailboxes that the reader of `own` takes from: mail to a terminal's bare handle reaches the
/// coordinator or the worker that sits in it.
pub fn boxes(cx: &Cx<'_>, own: &Mailbox) -> Result<Vec<Mailbox>, OpError> {
    let seat = match own {
        Mailbox::Run(id) => match cx.tx.get::<Run>(id.as_str())?.and_then(|run| run.consumer) {
            Some(Consumer::Terminal { handle, .. }) => Some(handle),
            Some(Consumer::User) | None => None,
        },
        Mailbox::Dispatch(id) => {
            let dispatch = cx.tx.get::<Dispatch>(id.as_str())?.filter(|dispatch| dispatch.status.is_active());
            dispatch.and_then(|dispatch| dispatch.assignee_handle)
        }
        Mailbox::Terminal(_) | Mailbox::User => None,
    };
    Ok(std::iter::once(own.clone()).chain(seat.map(Mailbox::Terminal)).collect())
}

/// The oldest unread mail of a reader, in the order of acceptance.
pub(super) struct Unread {
    /// As much as one batch holds.
    pub batch: Vec<Message>,
    pub n_behind: usize,
}

/// All unread mail of these boxes, in the order of acceptance; for who must look at each message.
pub fn all_unread(cx: &Cx<'_>, boxes: &[Mailbox]) -> Result<Vec<Message>, OpError> {
    let mut found = Vec::new();
    for mailbox in boxes {
        found.extend(cx.tx.list::<Message>("unread", &mailbox.to_string(), usize::MAX)?);
    }
    found.sort_by_key(|message| message.sequence);
    Ok(found)
}

/// The unread mail of these boxes. However much of it there is, no more than a batch is loaded.
pub(super) fn unread(cx: &Cx<'_>, boxes: &[Mailbox]) -> Result<Unread, OpError> {
    let mut batch = Vec::new();
    for mailbox in boxes {
        batch.extend(cx.tx.list::<Message>("unread", &mailbox.to_string(), MAX_BATCH)?);
    }
    batch.sort_by_key(|message| message.sequence);
    batch.truncate(n_fitting(&batch, MAX_BATCH));
    let n_behind = n_unread(cx, boxes)? - batch.len();
    Ok(Unread { batch, n_behind })
}

/// How many messages of these boxes are unread.
pub(super) fn n_unread(cx: &Cx<'_>, boxes: &[Mailbox]) -> Result<usize, OpError> {
    let mut n = 0;
    for mailbox in boxes {
        n += cx.tx.count::<Message>("unread", &mailbox.to_string())?;
    }
    Ok(n)
}

/// How many messages of these boxes and types are unread; no types mean any.
pub(super) fn n_of(cx: &Cx<'_>, boxes: &[Mailbox], types: &[MessageType]) -> Result<usize, OpError> {
    if types.is_empty() {
        return n_unread(cx, boxes);
    }
    let mut n = 0;
    for filed in filed_under(boxes, types) {
        n += cx.tx.count::<Message>("unread_type", &filed)?;
    }
    Ok(n)
}

/// An unread message of one of these types is in these boxes; no types mean any.
pub(super) fn has_any(cx: &Cx<'_>, boxes: &[Mailbox], types: &[MessageType]) -> Result<bool, OpError> {
    if types.is_empty() {
        for mailbox in boxes {
            if cx.tx.first::<Message>("unread", &mailbox.to_string())?.is_some() {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    for filed in filed_under(boxes, types) {
        if cx.tx.first::<Message>("unread_type", &filed)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The values of the index `unread_type`; a type that is named twice counts once.
fn filed_under(boxes: &[Mailbox], types: &[MessageType]) -> BTreeSet<String> {
    boxes.iter().flat_map(|mailbox| types.iter().map(move |kind| format!("{mailbox} {kind}"))).collect()
}

/// The message is of one of these types; no types mean any.
pub(super) fn is_of(message: &Message, types: &[MessageType]) -> bool {
    types.is_empty() || types.contains(&message.kind)
}

/// How many of `messages`, from the first, fit into one reply: at least one, at most `max`.
pub(super) fn n_fitting<'a>(messages: impl IntoIterator<Item = &'a Message>, max: usize) -> usize {
    let mut n_bytes = 0;
    let mut n = 0;
    for message in messages.into_iter().take(max) {
        let payload = message.payload.as_ref().map_or(0, |payload| payload.to_string().len());
        n_bytes += message.subject.len() + message.body.len() + payload;
        if n > 0 && n_bytes > MAX_REPLY_BYTES {
            break;
        }
        n += 1;
    }
    n
}

/// The question that a message holds, as it stands by now.
pub fn question(cx: &Cx<'_>, message: &Message) -> Result<Option<Question>, OpError> {
    match message.kind {
        MessageType::Question => Ok(cx.tx.get::<Question>(message.id.as_str())?),
        MessageType::Status
        | MessageType::Dispatch
        | MessageType::WorkerDone
        | MessageType::MergeReady
        | MessageType::Escalation
        | MessageType::Handoff
        | MessageType::DecisionGate
        | MessageType::Heartbeat => Ok(None),
    }
}

/// Messages as whoever reads them sees them: a question with what became of it, so that nobody answers what
/// was answered.
pub(super) fn rows(cx: &Cx<'_>, messages: &[Message]) -> Result<Vec<MessageRow>, OpError> {
    let row = |message: &Message| {
        let question = question(cx, message)?.map(QuestionStand::from);
        Ok(MessageRow { question, ..MessageRow::from(message) })
    };
    messages.iter().map(row).collect()
}

/// The newest `max` messages of these boxes, of these types, newest first, as far as they fit.
pub(super) fn newest(
    cx: &Cx<'_>,
    boxes: &[Mailbox],
    is_unread_only: bool,
    types: &[MessageType],
    max: usize,
) -> Result<Vec<MessageRow>, OpError> {
    let mut found = Vec::new();
    match (is_unread_only, types.is_empty()) {
        (true, false) => {
            for filed in filed_under(boxes, types) {
                found.extend(cx.tx.list_newest::<Message>("unread_type", &filed, max)?);
            }
        }
        (_, true) => {
            let index = if is_unread_only { "unread" } else { "box" };
            for mailbox in boxes {
                found.extend(cx.tx.list_newest::<Message>(index, &mailbox.to_string(), max)?);
            }
        }
        // The filter may pass over any number of rows.
        (false, false) => {
            for mailbox in boxes {
                let all = cx.tx.list_newest::<Message>("box", &mailbox.to_string(), usize::MAX)?;
                found.extend(all.into_iter().filter(|message| is_of(message, types)));
            }
        }
    }
    found.sort_by_key(|message: &Message| std::cmp::Reverse(message.sequence));
    let n = n_fitting(&found, max);
    rows(cx, &found[..n])
}

/// Refuses an address that nobody reads, so that accepted mail is never stranded.
pub(super) fn check_reader(cx: &Cx<'_>, mailbox: &Mailbox) -> Result<(), OpError> {
    match mailbox {
        Mailbox::User => Ok(()),
        Mailbox::Run(id) => caller::named_run(cx, id.as_str()).map(drop),
        Mailbox::Dispatch(id) => {
            let dispatch = crate::ops::dispatch::named(cx, id.as_str())?;
            if dispatch.status.is_active() && dispatch.revoked_at.is_none() {
                return Ok(());
            }
            let state = if dispatch.status.is_active() { "being stopped" } else { dispatch.status.as_str() };
            Err(refuse(ErrorCode::DispatchInactive, format!("{id} is {state}: nobody reads its mail."))
                .with("dispatchId", id)
                .next_step(format!("orca orchestration worker-show --dispatch {id} --json"))
                .next_step(format!("orca orchestration dispatch-show --task {} --json", dispatch.task_id))
                .next_step("orca orchestration send --help")
                .into())
        }
        Mailbox::Terminal(handle) => {
            let terminal: Terminal = caller::named_terminal(cx, handle.as_str())?;
            match terminal.life {
                TerminalLife::Starting | TerminalLife::Running => Ok(()),
                TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => {
                    Err(refuse(
                        ErrorCode::TerminalGone,
                        format!("{handle} has ended: nobody reads its mail."),
                    )
                    .next_step("orca terminal list --json")
                    .next_step("orca orchestration send --help")
                    .into())
                }
            }
        }
    }
}

/// Unread mail that the reader of `own` does not get here: of Runs that nobody is bound to, and, for
/// the person, of other Runs and the person's own box. Said where the answer is empty.
pub(super) fn elsewhere(cx: &Cx<'_>, own: &Mailbox, is_person: bool) -> Result<Vec<MailElsewhere>, OpError> {
    if matches!(own, Mailbox::Dispatch(_) | Mailbox::Terminal(_)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if is_person && *own != Mailbox::User {
        let command = String::from("orca orchestration check --terminal user --json");
        found.extend(place(cx, &Mailbox::User, command)?);
    }
    // From unread mail to its Run, not from every Run there ever was to its mail.
    let (from, mut below) = (String::from("run:"), String::from("run;"));
    while found.len() < MAX_ELSEWHERE
        && let Some(value) = cx.tx.value_below::<Message>("unread", &from, &below)?
    {
        if let Some(mailbox @ Mailbox::Run(_)) = Mailbox::parse(&value).filter(|mailbox| mailbox != own) {
            found.extend(elsewhere_in(cx, &mailbox, is_person)?);
        }
        below = value;
    }
    Ok(found)
}

fn elsewhere_in(cx: &Cx<'_>, mailbox: &Mailbox, is_person: bool) -> Result<Option<MailElsewhere>, OpError> {
    let Mailbox::Run(id) = mailbox else { return Ok(None) };
    let Some(run) = cx.tx.get::<Run>(id.as_str())? else { return Ok(None) };
    let verb = match &run.consumer {
        Some(Consumer::User) if is_person => "check --run",
        None => "run-use --id",
        Some(Consumer::User | Consumer::Terminal { .. }) => return Ok(None),
    };
    place(cx, mailbox, format!("orca orchestration {verb} {id} --json"))
}

fn place(cx: &Cx<'_>, mailbox: &Mailbox, command: String) -> Result<Option<MailElsewhere>, OpError> {
    let unread = cx.tx.count::<Message>("unread", &mailbox.to_string())?;
    Ok((unread > 0).then(|| MailElsewhere { mailbox: text::one_line(&mailbox.to_string()), unread, command }))
}
