//! Mail verbs.

use crate::base::id::DeliveryId;
use crate::base::text::{many_lines, one_line};
use crate::cli::args::{FleetArg, FromArg, RetryArg, RunArg, csv, invalid, names, text_or_file, words};
use crate::cli::suggest::unknown_value;
use crate::cli::tone::{self, tinted, warning};
use crate::cli::verb::{Keepalive, Verb};
use crate::client::Unanswered;
use crate::model::message::{MessageType, Priority, ReportedOutcome};
use crate::model::question::QuestionState;
use crate::proto::error::ErrorBody;
use crate::proto::mail::{
    Answered, Ask, BrokenOff, Check, Checked, DEFAULT_ASK_MS, Inbox, MAX_ASK_MS, Mail, MessageRead,
    OneMessage, Replied, Reply, Send, SendReply, Sent, SentToGroup,
};
use crate::proto::row::{MessageRow, QuestionStand};
use clap::Args;
use serde_json::{Map, Value, json};

fn line(message: &MessageRow) -> String {
    let kind = tinted(tone::message(message.kind), &format!("{:<11}", message.kind.as_str()));
    format!("{}  {kind} from {}  {}", message.id, message.from_handle, one_line(&message.subject))
}

/// A message to read: a question with what it can be answered with; a body that only repeats the subject
/// is left out.
fn block(message: &MessageRow) -> String {
    let body = if message.body == message.subject { String::new() } else { indented(&message.body) };
    let note = if message.kind == MessageType::Question { question_note(message) } else { String::new() };
    format!("{}{body}{note}", line(message))
}

/// What a question can be answered with, or why it needs no answer any more.
fn question_note(message: &MessageRow) -> String {
    match message.question.as_ref().map(|question| (question.status, question)) {
        Some((QuestionState::Answered, question)) => {
            let answer = question.answer_body.as_deref().unwrap_or_default();
            format!("\n    {}; nothing is left to do:{}", stand(question), indented(answer))
        }
        Some((QuestionState::Closed, question)) => {
            format!("\n    {}: its attempt ended and waits for no answer", stand(question))
        }
        Some((QuestionState::Pending, _)) | None => {
            let options = message.payload.as_ref().and_then(|payload| payload.get("options")?.as_array());
            let options: Vec<String> =
                options.into_iter().flatten().filter_map(Value::as_str).map(one_line).collect();
            if options.is_empty() { String::new() } else { format!("\n    options: {}", options.join(" | ")) }
        }
    }
}

fn stand(question: &QuestionStand) -> String {
    match (question.status, question.answered_by.as_deref()) {
        (QuestionState::Answered, Some(by)) => format!("answered by {}", one_line(by)),
        (QuestionState::Answered | QuestionState::Pending | QuestionState::Closed, _) => {
            question.status.to_string()
        }
    }
}

fn indented(body: &str) -> String {
    many_lines(body).lines().map(|line| format!("\n    {line}")).collect()
}

/// The proof from the brief, under both its names.
#[derive(Debug, Clone, Args)]
pub struct ProofArg {
    /// The proof from your brief; it names you wherever this runs.
    #[arg(long, visible_alias = "dispatch-capability", value_name = "PROOF")]
    proof: Option<String>,
}

/// Sends a message. A worker reports with --type worker_done, exactly once.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration send --to user --subject \"Both fixes are ready\" --json\n\nExit code 75: no server could be reached; the call is kept on disk and takes effect by itself, once, when a server runs again. Do not send it again."
)]
pub struct SendArgs {
    /// One line that says what it is about; only a heartbeat goes without.
    #[arg(long)]
    subject: Option<String>,
    /// The text; at most 1 MiB.
    #[arg(long, conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with the text instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    body_file: Option<String>,
    /// run:ID, dispatch:ID, a terminal handle, user, or a group: @all, @idle, @AGENT, @worktree:ID
    /// [default: your Run].
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// What kind of mail it is [default: status].
    #[arg(long = "type", value_name = "TYPE", value_parser = words(MessageType::ALL, MessageType::as_str))]
    kind: Option<String>,
    /// How loudly it is shown; never changes the order [default: normal].
    #[arg(long, value_parser = words(Priority::ALL, Priority::as_str))]
    priority: Option<String>,
    /// The thread it belongs to: a message, or the thread that a message shows.
    #[arg(long, value_name = "ID")]
    thread_id: Option<String>,
    /// The payload as a JSON object, instead of the flags below.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["task_id", "dispatch_id", "outcome", "files_modified", "report_path", "phase"])]
    payload: Option<String>,
    /// The task it is about.
    #[arg(long, value_name = "TASK")]
    task_id: Option<String>,
    /// The attempt it is about.
    #[arg(long, value_name = "DISPATCH")]
    dispatch_id: Option<String>,
    /// What came of the work; only with --type worker_done.
    #[arg(long, value_parser = words(ReportedOutcome::ALL, ReportedOutcome::as_str))]
    outcome: Option<String>,
    /// Changed files, comma-separated.
    #[arg(long, value_name = "CSV")]
    files_modified: Option<String>,
    /// Where the full report is.
    #[arg(long, value_name = "PATH")]
    report_path: Option<String>,
    /// investigating, implementing, reviewing or waiting; for heartbeats.
    #[arg(long)]
    phase: Option<String>,
    #[command(flatten)]
    proof: ProofArg,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl SendArgs {
    /// The subject; that of a heartbeat is its phase where none is given, as in the brief.
    fn subject(&self) -> Result<String, ErrorBody> {
        match (&self.subject, self.kind.as_deref()) {
            (Some(subject), _) => Ok(subject.clone()),
            (None, Some("heartbeat")) => Ok(self.phase.clone().unwrap_or_else(|| String::from("heartbeat"))),
            (None, _) => Err(invalid("send needs --subject; only a heartbeat goes without.")),
        }
    }

    fn payload(&self) -> Result<Option<Value>, ErrorBody> {
        if let Some(text) = &self.payload {
            return serde_json::from_str(text)
                .map(Some)
                .map_err(|error| invalid(format!("--payload is not valid JSON: {error}.")));
        }
        let mut fields = Map::new();
        let texts = [
            ("taskId", &self.task_id),
            ("dispatchId", &self.dispatch_id),
            ("outcome", &self.outcome),
            ("reportPath", &self.report_path),
            ("phase", &self.phase),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                fields.insert(name.to_owned(), json!(value));
            }
        }
        if let Some(files) = &self.files_modified {
            fields.insert(String::from("filesModified"), json!(csv(files)));
        }
        Ok((!fields.is_empty()).then_some(Value::Object(fields)))
    }
}

impl Verb for SendArgs {
    type Call = Send;
    fn call(&self) -> Result<Send, ErrorBody> {
        if self.outcome.is_some() && self.kind.as_deref() != Some("worker_done") {
            return Err(invalid("--outcome goes only with --type worker_done."));
        }
        let call = Send {
            to: self.to.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
            subject: self.subject()?,
            body: text_or_file("--body-file", self.body.as_deref(), self.body_file.as_deref())?
                .unwrap_or_default(),
            kind: self.kind.clone(),
            priority: self.priority.clone(),
            thread_id: self.thread_id.clone(),
            payload: self.payload()?,
            proof: self.proof.proof.clone(),
        };
        call.check_outcome()?;
        Ok(call)
    }
    fn text(&self, reply: &SendReply) -> String {
        match reply {
            SendReply::One(sent) => sent_text(sent),
            SendReply::Group(sent) => group_text(sent),
        }
    }
    fn exit(&self, reply: &SendReply) -> u8 {
        match reply {
            SendReply::One(sent) => {
                u8::from(sent.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.action == "rejected"))
            }
            SendReply::Group(_) => 0,
        }
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

fn sent_text(reply: &Sent) -> String {
    let mut lines = vec![match &reply.lifecycle {
        Some(lifecycle) if lifecycle.action == "rejected" => format!(
            "refused [{}]: {}. The report was kept as {} where the coordinator sees it.",
            lifecycle.code.as_deref().unwrap_or_default(),
            lifecycle.reason.as_deref().unwrap_or_default(),
            reply.message.id
        ),
        Some(lifecycle) => format!("sent {} ({})", reply.message.id, lifecycle.action),
        None => format!("sent {} to {}", reply.message.id, reply.message.to_handle),
    }];
    if !reply.missing_files.is_empty() {
        lines.push(warning(&format!("reported but not there: {}", reply.missing_files.join(", "))));
    }
    lines.extend(reply.warnings.iter().map(|text| warning(text)));
    lines.extend(reply.next_steps.iter().map(|step| format!("  try: {step}")));
    lines.join("\n")
}

fn group_text(reply: &SentToGroup) -> String {
    let mut lines = vec![format!("sent to {}:", reply.recipients)];
    lines.extend(reply.messages.iter().map(|message| format!("  {} to {}", message.id, message.to_handle)));
    lines.extend(reply.warnings.iter().map(|text| warning(text)));
    lines.join("\n")
}

/// Takes your mail: a Run's in batches that come again until acknowledged, your own by reading it.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration check --wait --types worker_done,escalation,question \\\n      --timeout-ms 900000 --json"
)]
#[allow(clippy::struct_excessive_bools)] // the flags of the contract
pub struct CheckArgs {
    /// Whose mail [default: the terminal this runs in]; `user` is the person's.
    #[arg(long, value_name = "HANDLE")]
    terminal: Option<String>,
    /// Acknowledge this delivery first.
    #[arg(long, value_name = "DELIVERY")]
    ack: Option<String>,
    /// Take unread mail [the default].
    #[arg(long, conflicts_with_all = ["peek", "all"])]
    unread: bool,
    /// Look at unread mail without taking it, newest first.
    #[arg(long, conflicts_with = "all")]
    peek: bool,
    /// Look at all mail, newest first.
    #[arg(long)]
    all: bool,
    /// What wakes a waiting check, comma-separated; with --peek and --all a filter.
    #[arg(long, value_name = "CSV")]
    types: Option<String>,
    /// With --json also the text for a person, under formatted; text is the only form.
    #[arg(long, num_args = 0..=1, default_missing_value = "text", value_name = "FORM", value_parser = ["text"])]
    format: Option<String>,
    /// Wait until there is mail of these types.
    #[arg(long)]
    wait: bool,
    /// The longest wait in milliseconds, 1 to 86400000 [default: 120000]. A timeout is no error.
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    #[command(flatten)]
    proof: ProofArg,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl CheckArgs {
    fn types(&self) -> Result<Vec<String>, ErrorBody> {
        let types = names("--types", self.types.as_deref())?;
        let known: Vec<&str> = MessageType::ALL.iter().map(|kind| kind.as_str()).collect();
        match types.iter().find(|kind| !known.contains(&kind.as_str())) {
            Some(unknown) => Err(unknown_value("--types", unknown, &known)),
            None => Ok(types),
        }
    }

    /// A batch's marker and the exact command that acknowledges it.
    fn about_delivery(&self, delivery: &DeliveryId, reply: &Checked) -> String {
        let again = match (reply.replayed, reply.redeliveries) {
            (Some(true), Some(n)) => format!("replayed, time {n}"),
            _ => String::from("new"),
        };
        let mut command = String::from("orca orchestration check");
        if let Some(terminal) = &self.terminal {
            command.push_str(&format!(" --terminal {}", one_line(terminal)));
        }
        if let Some(run) = &reply.run_id {
            command.push_str(&format!(" --run {run}"));
        }
        format!("delivery {delivery} ({again}); when handled: {command} --ack {delivery}")
    }
}

impl Verb for CheckArgs {
    type Call = Check;
    fn call(&self) -> Result<Check, ErrorBody> {
        let mode = match (self.peek, self.all) {
            (true, _) => Some("peek"),
            (_, true) => Some("all"),
            (false, false) => None,
        };
        Ok(Check {
            terminal: self.terminal.clone(),
            run: self.run.run.clone(),
            ack: self.ack.clone(),
            mode: mode.map(str::to_owned),
            types: self.types()?,
            is_wait: self.wait,
            timeout_ms: self.timeout_ms,
            proof: self.proof.proof.clone(),
        })
    }
    fn text(&self, reply: &Checked) -> String {
        let mut lines: Vec<String> = reply.messages.iter().map(block).collect();
        if lines.is_empty() {
            lines.push(String::from(if reply.timed_out {
                "no mail yet; nothing is decided by that"
            } else {
                "no mail"
            }));
        }
        lines.extend(reply.delivery_id.as_ref().map(|delivery| self.about_delivery(delivery, reply)));
        if let Some(newer @ 1..) = reply.newer_waiting {
            let where_ = if reply.count == 0 { "of other types waits" } else { "more behind these" };
            lines.push(format!("{newer} {where_}"));
        }
        lines.extend(reply.acknowledged.iter().map(|id| format!("acknowledged {id}")));
        lines.extend(reply.wait_interrupted.iter().map(|why| format!("the wait was not possible: {why}")));
        lines.extend(reply.lost_run.iter().map(|lost| {
            let who = lost.coordinator.as_deref().unwrap_or("nobody");
            warning(&format!(
                "{} has another coordinator now: {who}. To take it back: {}",
                lost.run_id, lost.command
            ))
        }));
        for other in &reply.elsewhere {
            lines.push(format!("{} unread in {}: {}", other.unread, other.mailbox, other.command));
        }
        lines.join("\n")
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_formatted(&self) -> bool {
        self.format.is_some()
    }
    fn keepalive(&self) -> Option<Keepalive> {
        self.wait.then_some(Keepalive { deadline_ms: self.timeout_ms })
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Answers a question or any other message. The first answer to a question wins.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration reply --id msg_0123456789ab \\\n      --body \"Use the second option\" --json\n\nExit code 75: no server could be reached; the call is kept on disk and takes effect by itself, once, when a server runs again. Do not send it again."
)]
pub struct ReplyArgs {
    /// The message; a question's id is its message's.
    #[arg(long, value_name = "MESSAGE")]
    id: String,
    /// The answer.
    #[arg(long, required_unless_present = "body_file", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with the answer instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    body_file: Option<String>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for ReplyArgs {
    type Call = Reply;
    fn call(&self) -> Result<Reply, ErrorBody> {
        Ok(Reply {
            id: self.id.clone(),
            body: text_or_file("--body-file", self.body.as_deref(), self.body_file.as_deref())?
                .unwrap_or_default(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Replied) -> String {
        match (&reply.question, reply.duplicate) {
            (Some(question), Some(true)) => format!("{} had that answer already", question.message_id),
            (Some(question), _) => format!("answered {}", question.message_id),
            (None, _) => format!("sent {} to {}", reply.message.id, reply.message.to_handle),
        }
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Marks one message of yours as read, without an answer. A question stays open.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration message-read --id msg_0123456789ab --json")]
pub struct MessageReadArgs {
    /// The message.
    #[arg(long, value_name = "MESSAGE")]
    id: String,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for MessageReadArgs {
    type Call = MessageRead;
    fn call(&self) -> Result<MessageRead, ErrorBody> {
        Ok(MessageRead { id: self.id.clone(), from: self.from.from.clone() })
    }
    fn text(&self, reply: &OneMessage) -> String {
        format!("{} is read", reply.message.id)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Shows recent mail of everybody, newest first; takes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration inbox --limit 20 --json")]
pub struct InboxArgs {
    /// Messages to show, 1 to 1000 [default: 20; 100 with --terminal].
    #[arg(long)]
    limit: Option<u32>,
    /// Only mail of this terminal or its attempts; `user` is the person's.
    #[arg(long, value_name = "HANDLE")]
    terminal: Option<String>,
    /// Whole bodies instead of their first 2000 characters.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for InboxArgs {
    type Call = Inbox;
    fn call(&self) -> Result<Inbox, ErrorBody> {
        Ok(Inbox { limit: self.limit, terminal: self.terminal.clone(), is_full: self.full })
    }
    fn text(&self, reply: &Mail) -> String {
        if reply.messages.is_empty() {
            return String::from("no mail");
        }
        let shown = |message: &MessageRow| {
            let mark = if message.read { "read" } else { "unread" };
            let asked = message.question.as_ref().map(|question| format!(", {}", stand(question)));
            let place = format!("  ({mark}{}, to {})", asked.unwrap_or_default(), message.to_handle);
            let body = if self.full { indented(&message.body) } else { String::new() };
            format!("{}{place}{body}", line(message))
        };
        reply.messages.iter().map(shown).collect::<Vec<_>>().join("\n")
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Asks the coordinator or the person and waits for the answer. A timeout leaves the question open:
/// go on with --resume, never ask again.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration ask --question \"Keep the old API?\" --options \"yes,no\" \\\n      --timeout-ms 600000 --json\n\nExit code 75: no server could be reached; the call is kept on disk and takes effect by itself, once, when a server runs again. Do not send it again."
)]
pub struct AskArgs {
    /// The question; at most 64 KiB.
    #[arg(long, conflicts_with = "resume", required_unless_present_any = ["resume", "question_file"])]
    question: Option<String>,
    /// A file with the question instead; `-` reads standard input.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["question", "resume"])]
    question_file: Option<String>,
    /// Wait on for the answer to this earlier question.
    #[arg(long, value_name = "MESSAGE", conflicts_with = "options")]
    resume: Option<String>,
    /// Possible answers, comma-separated; the answer stays free.
    #[arg(long, value_name = "CSV")]
    options: Option<String>,
    /// Your own Run's address [the default], or user.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// The longest wait in milliseconds, 0 to 1800000 [default: 600000].
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    #[command(flatten)]
    proof: ProofArg,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for AskArgs {
    type Call = Ask;
    fn call(&self) -> Result<Ask, ErrorBody> {
        Ok(Ask {
            question: text_or_file(
                "--question-file",
                self.question.as_deref(),
                self.question_file.as_deref(),
            )?,
            resume: self.resume.clone(),
            options: self.options.as_deref().map(csv).unwrap_or_default(),
            to: self.to.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
            timeout_ms: self.timeout_ms,
            proof: self.proof.proof.clone(),
        })
    }
    fn text(&self, reply: &Answered) -> String {
        match &reply.answer {
            Some(answer) => many_lines(answer),
            None => format!(
                "no answer yet; the question stays open. Go on waiting with:\n  {}",
                reply.next_steps.join("\n  ")
            ),
        }
    }
    fn exit(&self, reply: &Answered) -> u8 {
        u8::from(reply.answer.is_none())
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_bare(&self) -> bool {
        true
    }
    fn without_answer(&self, unanswered: &Unanswered) -> Option<Value> {
        let Unanswered { error, queued, was_sent, request_id } = unanswered;
        if !was_sent && queued.is_none() {
            return None;
        }
        let steps = error.next_steps().into_iter().map(str::to_owned).collect();
        serde_json::to_value(BrokenOff {
            answer: None,
            message_id: self.resume.clone(),
            thread_id: self.resume.clone(),
            timed_out: false,
            cancelled: true,
            connection_lost: true,
            timeout_ms: self.timeout_ms.unwrap_or(DEFAULT_ASK_MS).min(MAX_ASK_MS),
            queued: queued.is_some(),
            request_id: request_id.clone(),
            next_steps: queued.as_ref().map_or(steps, |queued| queued.next_steps.clone()),
        })
        .ok()
    }
}
