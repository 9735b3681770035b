//! Mail: [`send`] and its lifecycle [`report`]s, [`check`] and its Deliveries, [`ask`] and `reply`.
//!
//! A message is accepted once and numbered in that order; nothing here decides by time.

pub mod ask;
pub mod check;
pub mod report;
pub mod send;

use super::cx::{Answer, Cx};
use super::error::OpError;
use super::reply;
use crate::base::id::{DispatchId, MessageId, PaneKey, RunId, TerminalId};
use crate::base::text;
use crate::model::event::{EventKind, Fact};
use crate::model::message::{MAX_SUBJECT_CHARS, Mailbox, Message, MessageType, Priority};
use crate::model::question::{Question, QuestionState};
use crate::proto::mail::{Inbox, Mail};
use crate::proto::row::MessageRow;
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
        thread_id: new.thread_id,
        payload: new.payload,
        is_read: false,
        sequence,
        created_at: cx.now,
        delivered_at: None,
        sender_pane_key: new.sender_pane_key,
    };
    cx.tx.put(&message)?;
    let mut fact = Fact::new(
        EventKind::MessageSent,
        format!("{} to {}: {}", message.kind, message.mailbox, message.subject),
    );
    fact.run_id = message.run_id.clone();
    fact.dispatch_id = message.dispatch_id.clone();
    cx.emit(fact)?;
    Ok(message)
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

/// `inbox`: recent mail, newest first; consumes nothing; an unknown handle has none.
pub fn inbox(cx: &mut Cx<'_>, call: Inbox) -> Result<Answer, OpError> {
    let limit = call.limit.unwrap_or(if call.terminal.is_some() { 100 } else { 20 }).clamp(1, 1_000) as usize;
    let messages = match call.terminal.as_deref() {
        None => cx.tx.list_newest::<Message>("all", "", limit)?,
        Some("user") => cx.tx.list_newest::<Message>("box", "user", limit)?,
        Some(handle) => match TerminalId::parse(handle) {
            Ok(handle) => of_terminal(cx, &handle, limit)?,
            Err(_) => Vec::new(),
        },
    };
    let mut rows: Vec<MessageRow> = messages.iter().map(MessageRow::from).collect();
    if !call.is_full {
        for row in &mut rows {
            row.body = text::cut_chars(&row.body, 2_000);
        }
    }
    reply(&Mail { count: rows.len(), messages: rows })
}

/// Mail of a terminal: its own box and those of its attempts, newest first.
fn of_terminal(cx: &Cx<'_>, handle: &TerminalId, limit: usize) -> Result<Vec<Message>, OpError> {
    let mut boxes = vec![Mailbox::Terminal(handle.clone())];
    for dispatch in cx.tx.list_newest::<crate::model::dispatch::Dispatch>("terminal", handle.as_str(), 20)? {
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
