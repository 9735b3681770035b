//! The nudge: one short line typed to an idle agent that has mail it was not told of (contract 4.8). Never the
//! mail itself; once for each message; nothing while somebody waits on the mailbox anyway.
//!
//! That an agent was told is stored before the line is typed, so a crash never tells it twice. Whether the agent
//! is idle, and that nobody's draft is in the way, is the terminal's to know: it takes the line or refuses it.

use super::caller;
use super::cx::{Act, Cx};
use super::error::OpError;
use super::mail::reach;
use crate::base::id::{MessageId, TerminalId};
use crate::base::text;
use crate::model::delivery::Delivery;
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::question::QuestionState;
use crate::model::terminal::Terminal;
use std::collections::BTreeMap;

/// A line that should be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nudge {
    pub terminal: TerminalId,
    pub line: String,
    /// The messages that it tells of for the first time.
    pub messages: Vec<MessageId>,
}

/// The line for the agent in this terminal; none where nothing new waits for it.
pub fn wanted(cx: &Cx<'_>, id: &TerminalId) -> Result<Option<Nudge>, OpError> {
    let Some(terminal) = cx.tx.get::<Terminal>(id.as_str())? else { return Ok(None) };
    for own in mailboxes(cx, &terminal)? {
        if let Some(nudge) = of_mailbox(cx, &terminal, &own)? {
            return Ok(Some(nudge));
        }
    }
    Ok(None)
}

/// Whose mail the agent in a terminal reads with `check`: its Run's, its attempt's, else its own.
fn mailboxes(cx: &Cx<'_>, terminal: &Terminal) -> Result<Vec<Mailbox>, OpError> {
    let run = caller::run_of_pane(cx, &terminal.pane_key)?.map(|run| Mailbox::Run(run.id));
    let attempt = caller::active_dispatch(cx, terminal)?.filter(|attempt| attempt.revoked_at.is_none());
    let attempt = attempt.map(|attempt| Mailbox::Dispatch(attempt.id));
    let mut found: Vec<Mailbox> = run.into_iter().chain(attempt).collect();
    if found.is_empty() {
        found.push(Mailbox::Terminal(terminal.id.clone()));
    }
    Ok(found)
}

fn of_mailbox(cx: &Cx<'_>, terminal: &Terminal, own: &Mailbox) -> Result<Option<Nudge>, OpError> {
    if cx.world.is_awaited(own) {
        return Ok(None);
    }
    let mut waiting = reach::all_unread(cx, &reach::boxes(cx, own)?)?;
    if let Mailbox::Run(run) = own
        && let Some(out) = cx.tx.first::<Delivery>("outstanding", run.as_str())?
    {
        // It was handed out: whoever took it knows of it.
        waiting.retain(|message| !out.message_ids.contains(&message.id));
    }
    waiting.retain(|message| is_actionable(message) && message.from_handle != terminal.id.as_str());
    drop_decided(cx, &mut waiting)?;
    let fresh = waiting.iter().filter(|message| message.delivered_at.is_none());
    let messages: Vec<MessageId> = fresh.map(|message| message.id.clone()).collect();
    if messages.is_empty() {
        return Ok(None);
    }
    let orca = text::shell_quote(&cx.rules.orca_path);
    let run = match own {
        Mailbox::Run(run) => format!(" --run {run}"),
        Mailbox::Dispatch(_) | Mailbox::Terminal(_) | Mailbox::User => String::new(),
    };
    let command = format!("{orca} orchestration check{run} --terminal {} --json", terminal.id);
    let line = format!("[orca] {}. Read: {command}", summary(&waiting));
    Ok(Some(Nudge { terminal: terminal.id.clone(), line, messages }))
}

/// Heartbeats ask for nothing; a refused one does.
fn is_actionable(message: &Message) -> bool {
    let is_refused =
        message.payload.as_ref().is_some_and(|payload| payload.get("_orcaLifecycleRejection").is_some());
    message.kind != MessageType::Heartbeat || is_refused
}

/// A question that somebody else answered, or whose attempt ended, asks for nothing any more.
fn drop_decided(cx: &Cx<'_>, waiting: &mut Vec<Message>) -> Result<(), OpError> {
    let mut open = Vec::with_capacity(waiting.len());
    for message in waiting.drain(..) {
        let question = reach::question(cx, &message)?;
        if question.is_none_or(|question| question.status == QuestionState::Pending) {
            open.push(message);
        }
    }
    *waiting = open;
    Ok(())
}

/// How many messages wait, and of what types.
fn summary(waiting: &[Message]) -> String {
    let mut by_kind: BTreeMap<MessageType, usize> = BTreeMap::new();
    for message in waiting {
        *by_kind.entry(message.kind).or_default() += 1;
    }
    let kinds: Vec<String> = by_kind.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let messages =
        if waiting.len() == 1 { "1 message waits" } else { &format!("{} messages wait", waiting.len()) };
    format!("{messages} ({})", kinds.join(", "))
}

/// Stores that the agent is told, and has the line typed after that is durable.
pub fn tell(cx: &mut Cx<'_>, nudge: Nudge) -> Result<(), OpError> {
    for id in &nudge.messages {
        set_told(cx, id, true)?;
    }
    let detail = format!("told of {} of its messages", nudge.messages.len());
    cx.emit(Fact::new(EventKind::MessageNudged, detail).of_terminal(&nudge.terminal))?;
    cx.act(Act::Nudge { terminal: nudge.terminal, line: nudge.line, messages: nudge.messages });
    Ok(())
}

/// The line was not typed: somebody began to type, or the agent went on working. It is tried again later.
pub fn refused(cx: &mut Cx<'_>, messages: &[MessageId]) -> Result<(), OpError> {
    messages.iter().try_for_each(|id| set_told(cx, id, false))
}

fn set_told(cx: &mut Cx<'_>, id: &MessageId, is_told: bool) -> Result<(), OpError> {
    let Some(mut message) = cx.tx.get::<Message>(id.as_str())?.filter(|message| !message.is_read) else {
        return Ok(());
    };
    message.delivered_at = is_told.then_some(cx.now);
    Ok(cx.tx.put(&message)?)
}
