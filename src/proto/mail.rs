//! Mail: messages, deliveries, questions: calls and replies.

use super::error::ErrorBody;
use super::row::{MessageRow, QuestionRow};
use super::{Call, CallKind, call};
use crate::base::code::ErrorCode;
use crate::base::id::{DeliveryId, DispatchId, MessageId, RunId, TaskId};
use crate::model::message::{MessageType, ReportedOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `send`. `payload` is what `--payload` or the structured flags made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Send {
    pub to: Option<String>,
    pub run: Option<String>,
    pub from: Option<String>,
    pub subject: String,
    pub body: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub priority: Option<String>,
    pub thread_id: Option<String>,
    pub payload: Option<Value>,
    pub proof: Option<String>,
}

impl Send {
    /// A text of the payload that is there and not empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.payload.as_ref()?.get(name)?.as_str().filter(|value| !value.is_empty())
    }

    /// Refuses a `worker_done` without a valid outcome: nothing of it is stored at all, nor kept for a server
    /// that comes later (contract 4.10). One whose payload is no object is refused as a report.
    pub fn check_outcome(&self) -> Result<(), ErrorBody> {
        let is_report = self.kind.as_deref() == Some(MessageType::WorkerDone.as_str());
        let is_object = self.payload.as_ref().is_none_or(Value::is_object);
        if !is_report || !is_object || self.field("outcome").and_then(ReportedOutcome::parse).is_some() {
            return Ok(());
        }
        let message = "A worker_done needs --outcome succeeded or --outcome failed; nothing was stored.";
        let error = ErrorBody::new(ErrorCode::InvalidArgument, message);
        Err(error.next_step(brief_command(self.field("taskId"))))
    }
}

/// The command that shows the brief of a Task again, with the report's command line as it must be.
pub fn brief_command(task: Option<&str>) -> String {
    match task.and_then(|task| TaskId::parse(task).ok()) {
        Some(task) => format!("orca orchestration dispatch-show --task {task} --preamble"),
        None => String::from("orca orchestration worker-list --json"),
    }
}

/// The reply of `send`: of one message, or of one for each member of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SendReply {
    One(Sent),
    Group(SentToGroup),
}

/// The reply of `send` to a group: one message for each recipient, in one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentToGroup {
    pub messages: Vec<MessageRow>,
    pub recipients: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The reply of `send` to one mailbox. A refused report is stored and shown, and `lifecycle` says why (exit 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    pub message: MessageRow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// Files that the report names and that are not there (design 12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
}

/// What a report did to its attempt: `completed`, `failed`, `duplicate` or `rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lifecycle {
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `check`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Check {
    pub terminal: Option<String>,
    pub run: Option<String>,
    pub ack: Option<String>,
    /// `unread` (consume), `peek` or `all`.
    pub mode: Option<String>,
    pub types: Vec<String>,
    pub is_wait: bool,
    pub timeout_ms: Option<u64>,
    pub proof: Option<String>,
}

impl Call for Check {
    const METHOD: &'static str = "orchestration.check";
    type Reply = Checked;
    fn kind(&self) -> CallKind {
        let is_look = matches!(self.mode.as_deref(), Some("peek" | "all"));
        if is_look && self.ack.is_none() { CallKind::Read } else { CallKind::Mutation }
    }
}

/// The reply of `check`; which fields there are depends on the mailbox (contract 2.9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Checked {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_id: Option<DispatchId>,
    pub delivery_id: Option<DeliveryId>,
    pub messages: Vec<MessageRow>,
    pub count: usize,
    /// The batch was handed out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redeliveries: Option<u32>,
    /// Unread messages behind this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_waiting: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_matching_messages: Option<bool>,
    pub acknowledged: Option<DeliveryId>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub connection_lost: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_interrupted: Option<String>,
    /// Where unread mail waits that this command does not take; only said where there is none here.
    #[serde(rename = "mailElsewhere", skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<MailElsewhere>,
    /// The Run that somebody else took from whoever reads here; only said where there is no mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_run: Option<LostRun>,
    /// The text for a person, where `--format` asked for it: the command line writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatted: Option<String>,
}

/// Unread mail in another mailbox, and the command that leads to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MailElsewhere {
    pub mailbox: String,
    pub unread: usize,
    pub command: String,
}

/// A Run that has another coordinator now, and the command that takes it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostRun {
    pub run_id: RunId,
    /// Who coordinates it: a terminal handle or `user`; null for nobody.
    pub coordinator: Option<String>,
    pub command: String,
}

/// `reply`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reply {
    pub id: String,
    pub body: String,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The reply of `reply`; `question` where it answered one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replied {
    pub message: MessageRow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

/// `message-read`: one message was read; nobody is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageRead {
    pub id: String,
    pub from: Option<String>,
}

/// The reply of `message-read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneMessage {
    pub message: MessageRow,
}

/// `inbox`: recent mail of everybody, newest first; consumes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Inbox {
    pub limit: Option<u32>,
    pub terminal: Option<String>,
    pub is_full: bool,
}

/// The reply of `inbox`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mail {
    pub messages: Vec<MessageRow>,
    pub count: usize,
}

/// `ask`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ask {
    pub question: Option<String>,
    pub resume: Option<String>,
    pub options: Vec<String>,
    pub to: Option<String>,
    pub run: Option<String>,
    pub from: Option<String>,
    pub timeout_ms: Option<u64>,
    pub proof: Option<String>,
}

/// How long `ask` waits where nothing is said, in milliseconds.
pub const DEFAULT_ASK_MS: u64 = 600_000;
/// The longest wait of `ask`, in milliseconds.
pub const MAX_ASK_MS: u64 = 1_800_000;
/// How long `check --wait` waits where nothing is said, in milliseconds.
pub const DEFAULT_CHECK_MS: u64 = 120_000;

/// The reply of `ask`, printed bare on one line (contract 2.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    pub answer: Option<String>,
    pub message_id: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_message_id: Option<MessageId>,
    /// `user` or a terminal handle (design 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    pub thread_id: String,
    pub timed_out: bool,
    pub cancelled: bool,
    pub connection_lost: bool,
    pub timeout_ms: u64,
    /// The command that goes on waiting, after a timeout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
}

/// What `ask` prints where no server answered (contract 4.11): the question stays open, or is put as soon
/// as a server runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenOff {
    /// Always null.
    pub answer: Option<String>,
    /// The question, where `--resume` named it.
    pub message_id: Option<String>,
    pub thread_id: Option<String>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub connection_lost: bool,
    pub timeout_ms: u64,
    /// The call is kept on disk for the next server.
    pub queued: bool,
    /// For `--retry-request`, which goes on waiting.
    pub request_id: String,
    pub next_steps: Vec<String>,
}

call!(Send, "orchestration.send", Mutation, SendReply);
call!(Reply, "orchestration.reply", Mutation, Replied);
call!(MessageRead, "orchestration.messageRead", Mutation, OneMessage);
call!(Inbox, "orchestration.inbox", Read, Mail);
call!(Ask, "orchestration.ask", Mutation, Answered);
