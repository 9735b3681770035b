//! Mail: [`send`] (to a [`group`] too) and its lifecycle [`report`]s, [`check`] and a Run's Deliveries
//! ([`delivery`]), who reads what ([`reach`]), [`ask`] and `reply`, and what became of calls that came
//! late ([`spooled`]).
//!
//! A message is accepted once and numbered in that order; nothing here decides by time.

pub mod ask;
pub mod check;
pub mod delivery;
mod group;
pub(super) mod reach;
pub mod report;
pub mod send;
pub mod spooled;

use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::reply;
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, MessageId, PaneKey, RunId, TerminalId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::message::{MAX_SUBJECT_CHARS, Mailbox, Message, MessageType, Priority};
use crate::model::question::{Question, QuestionState};
use crate::model::run::Run;
use crate::model::terminal::Terminal;
use crate::proto::mail::{Inbox, Mail};
use serde_json::Value;

/// A message before it is accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub run_id: Option<RunId>,
    pub dispatch_id: Option<DispatchId>,
    pub from_handle: String,
    pub mailbox: Mailbox,
    pub subject: String,
    pub body: String,
    pub kind: MessageType,
    pub priority: Priority,
    pub thread_id: Option<String>,
    pub payload: Option<Value>,
    pub sender_pane_key: Option<PaneKey>,
}

impl NewMessage {
    /// What the server itself has to tell the person.
    pub fn for_person(subject: String, body: String) -> Self {
        Self {
            run_id: None,
            dispatch_id: None,
            from_handle: String::from("orca"),
            mailbox: Mailbox::User,
            subject,
            body,
            kind: MessageType::Escalation,
            priority: Priority::High,
            thread_id: None,
            payload: None,
            sender_pane_key: None,
        }
    }
}

/// The most rows of `inbox`.
const MAX_INBOX: u32 = 1_000;
/// A message that was kept for longer than this before it got here says so.
const LATE_MS: u64 = 5_000;
/// The longest thread id kept, in characters.
const MAX_THREAD_CHARS: usize = 120;

/// Accepts a message: safe text, the next number, one event.
pub fn post(cx: &mut Cx<'_>, new: NewMessage) -> Result<Message, OpError> {
    let sequence = cx.tx.next_number("message")?;
    let message = Message {
        id: MessageId::new(cx.ids),
        run_id: new.run_id,
        dispatch_id: new.dispatch_id,
        from_handle: new.from_handle,
        mailbox: new.mailbox,
        subject: text::cut_chars(&text::one_line(&new.subject), MAX_SUBJECT_CHARS),
        body: text::many_lines(&new.body),
        kind: new.kind,
        priority: new.priority,
        thread_id: new.thread_id.map(|thread| text::cut_chars(&text::one_line(&thread), MAX_THREAD_CHARS)),
        payload: new.payload.map(safe_json),
        is_read: false,
        sequence,
        created_at: cx.said_at(),
        delivered_at: None,
        sender_pane_key: new.sender_pane_key,
    };
    cx.tx.put(&message)?;
    let mut detail = format!("{} to {}: {}", message.kind, message.mailbox, message.subject);
    if cx.now.since_ms(message.created_at) > LATE_MS {
        detail.push_str(&format!(" (arrived late; sent {})", message.created_at));
    }
    let mut fact = Fact::new(EventKind::MessageSent, detail);
    fact.run_id = message.run_id.clone();
    fact.dispatch_id = message.dispatch_id.clone();
    cx.emit(fact)?;
    Ok(message)
}

/// A payload whose texts hold no control characters, at any depth.
fn safe_json(value: Value) -> Value {
    match value {
        Value::String(value) => Value::String(text::many_lines(&value)),
        Value::Array(values) => Value::Array(values.into_iter().map(safe_json).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (text::one_line(&name), safe_json(value))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Closes what an attempt still asks: it can use no answer any more (contract 3.8).
pub fn close_questions(cx: &mut Cx<'_>, dispatch: &DispatchId) -> Result<(), OpError> {
    for mut question in cx.tx.list::<Question>("pending_dispatch", dispatch.as_str(), usize::MAX)? {
        question.status = QuestionState::Closed;
        question.closed_at = Some(cx.now);
        cx.tx.put(&question)?;
        let mut fact =
            Fact::new(EventKind::QuestionClosed, "closed: its attempt ended").of_run(&question.run_id);
        fact.dispatch_id = Some(question.dispatch_id.clone());
        cx.emit(fact)?;
    }
    Ok(())
}

/// Marks a message read.
fn mark_read(cx: &mut Cx<'_>, message: &mut Message) -> Result<(), OpError> {
    if message.is_read {
        return Ok(());
    }
    message.is_read = true;
    Ok(cx.tx.put(message)?)
}

/// `inbox`: recent mail, newest first; consumes nothing; a handle that nothing has
/// any more has none (contract 2.8).
pub fn inbox(cx: &mut Cx<'_>, call: Inbox) -> Result<Answer, OpError> {
    let limit = call.limit.unwrap_or(if call.terminal.is_some() { 100 } else { 20 });
    if !(1..=MAX_INBOX).contains(&limit) {
        return Err(invalid(format!("--limit must be between 1 and {MAX_INBOX}.")));
    }
    let limit = limit as usize;
    let mut messages = match call.terminal.as_deref() {
        None => cx.tx.list_newest::<Message>("all", "", limit)?,
        Some("user") => cx.tx.list_newest::<Message>("box", "user", limit)?,
        Some(handle) => match TerminalId::parse(handle) {
            Ok(handle) => of_terminal(cx, &handle, limit)?,
            Err(_) => {
                let shown = text::cut_chars(&text::one_line(handle), 60);
                let message = format!("{shown:?} is no terminal handle; use one, or user.");
                return Err(refuse(ErrorCode::InvalidArgument, message)
                    .next_step("orca terminal list --json")
                    .into());
            }
        },
    };
    if !call.is_full {
        for message in &mut messages {
            message.body = text::cut_chars(&message.body, 2_000);
        }
    }
    messages.truncate(reach::n_fitting(&messages, limit));
    reply(&Mail { count: messages.len(), messages: reach::rows(cx, &messages)? })
}

/// Mail of a terminal: its own box, those of its attempts and of the Run it coordinates, newest first.
fn of_terminal(cx: &Cx<'_>, handle: &TerminalId, limit: usize) -> Result<Vec<Message>, OpError> {
    let mut boxes = vec![Mailbox::Terminal(handle.clone())];
    if let Some(terminal) = cx.tx.get::<Terminal>(handle.as_str())? {
        let leaf = terminal.pane_key.leaf().unwrap_or(terminal.pane_key.as_str());
        boxes.extend(cx.tx.first::<Run>("pane", leaf)?.map(|run| Mailbox::Run(run.id)));
    }
    for dispatch in cx.tx.list_newest::<Dispatch>("terminal", handle.as_str(), 20)? {
        boxes.push(Mailbox::Dispatch(dispatch.id));
    }
    let mut found = Vec::new();
    for mailbox in boxes {
        found.extend(cx.tx.list_newest::<Message>("box", &mailbox.to_string(), limit)?);
    }
    found.sort_by_key(|message: &Message| std::cmp::Reverse(message.sequence));
    found.truncate(limit);
    Ok(found)
}
