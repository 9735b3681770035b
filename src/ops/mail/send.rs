//! `send`: who it goes to, which Run it belongs to, and what its type demands.

use super::{NewMessage, group, post, reach, report};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, MessageId, RunId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::message::{MAX_BODY_BYTES, Mailbox, Message, MessageType, Priority};
use crate::model::question::Question;
use crate::model::terminal::Terminal;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{dispatch, reply, task};
use crate::proto::mail::{Send, Sent};
use crate::proto::row::MessageRow;

const MAX_PAYLOAD_BYTES: usize = 256 << 10;

/// `send`.
pub fn send(cx: &mut Cx<'_>, call: Send) -> Result<Answer, OpError> {
    check_texts(&call)?;
    let kind = kind_of(&call)?;
    if let MessageType::WorkerDone | MessageType::Heartbeat = kind {
        return report::send(cx, &call, kind);
    }
    if matches!(kind, MessageType::Question) {
        return Err(refuse(
            ErrorCode::InvalidArgument,
            "A question is asked with `ask`, so that somebody can answer it.",
        )
        .next_step("orca orchestration ask --help")
        .into());
    }
    // A report with such a payload is kept as refused instead (contract 4.10).
    if call.payload.as_ref().is_some_and(|payload| !payload.is_object()) {
        return Err(invalid("--payload must be a JSON object, such as '{\"key\": \"value\"}'."));
    }
    let caller = caller::resolve(cx, call.from.as_deref(), call.proof.as_deref())?;
    caller::check_proof(&caller)?;
    check_subject_matter(cx, &call)?;
    if let Some(name) = call.to.as_deref().and_then(|to| to.strip_prefix('@')) {
        return group::send(cx, &caller, &call, kind, name);
    }
    let route = route(cx, &caller, &call)?;
    let warnings = open_question_warnings(cx, &route.mailbox, &call)?;
    let message = post(cx, new_message(&call, kind, &caller, route))?;
    reply(&Sent {
        message: MessageRow::from(&message),
        lifecycle: None,
        missing_files: Vec::new(),
        warnings,
        next_steps: Vec::new(),
    })
}

fn check_texts(call: &Send) -> Result<(), OpError> {
    if text::one_line(&call.subject).is_empty() {
        return Err(invalid("--subject must not be empty."));
    }
    if call.subject.len() > 64 << 10 {
        return Err(invalid("--subject is over 64 KiB; put the text into --body."));
    }
    if call.body.len() > MAX_BODY_BYTES {
        return Err(invalid(
            "--body is over 1 MiB; put the long text into a file and name it with --report-path.",
        ));
    }
    if call.priority.as_deref().is_some_and(|priority| Priority::parse(priority).is_none()) {
        return Err(invalid("--priority must be normal, high or urgent."));
    }
    if call.thread_id.as_ref().is_some_and(|thread| thread.len() > 120 || text::one_line(thread) != **thread)
    {
        return Err(invalid("--thread-id must be one line of at most 120 bytes."));
    }
    if call.payload.as_ref().is_some_and(|payload| payload.to_string().len() > MAX_PAYLOAD_BYTES) {
        return Err(invalid("--payload is over 256 KiB; put the data into a file and name it."));
    }
    Ok(())
}

/// What a message says that it is about has to be there. A report is kept whatever it says instead.
fn check_subject_matter(cx: &Cx<'_>, call: &Send) -> Result<(), OpError> {
    if let Some(id) = call.field("taskId") {
        task::named(cx, None, id)?;
    }
    let Some(thread) = call.thread_id.as_deref() else { return Ok(()) };
    if is_thread(cx, thread)? {
        return Ok(());
    }
    let message = format!(
        "--thread-id {thread:?} is no thread: it takes the id of a message, or the thread that a message shows."
    );
    Err(refuse(ErrorCode::InvalidArgument, message).next_step("orca orchestration inbox --json").into())
}

/// A message has this id or is in this thread.
fn is_thread(cx: &Cx<'_>, thread: &str) -> Result<bool, OpError> {
    let first = match MessageId::parse(thread) {
        Ok(id) => cx.tx.get::<Message>(id.as_str())?,
        Err(_) => None,
    };
    Ok(first.is_some() || cx.tx.first::<Message>("thread", thread)?.is_some())
}

fn kind_of(call: &Send) -> Result<MessageType, OpError> {
    let Some(kind) = call.kind.as_deref() else { return Ok(MessageType::Status) };
    MessageType::parse(kind).ok_or_else(|| {
        let known: Vec<&str> = MessageType::ALL.iter().map(|kind| kind.as_str()).collect();
        invalid(format!("--type must be one of {}.", known.join(", ")))
    })
}

/// Where a message goes and what it belongs to.
pub(super) struct Route {
    pub mailbox: Mailbox,
    pub run_id: Option<RunId>,
    pub dispatch_id: Option<DispatchId>,
}

/// The message of a call, before it is accepted.
pub(super) fn new_message(call: &Send, kind: MessageType, caller: &Caller, route: Route) -> NewMessage {
    let priority = call.priority.as_deref().and_then(Priority::parse).unwrap_or(Priority::Normal);
    NewMessage {
        run_id: route.run_id,
        dispatch_id: route.dispatch_id,
        from_handle: sender(caller),
        mailbox: route.mailbox,
        subject: call.subject.clone(),
        body: call.body.clone(),
        kind,
        priority,
        thread_id: call.thread_id.as_deref().map(text::one_line),
        payload: call.payload.clone(),
        sender_pane_key: caller.terminal.as_ref().map(|terminal| terminal.pane_key.clone()),
    }
}

/// The sender as a row shows it, and as a reply finds it: a worker by its attempt.
pub(super) fn sender(caller: &Caller) -> String {
    match &caller.dispatch {
        Some(dispatch) => Mailbox::Dispatch(dispatch.id.clone()).to_string(),
        None => caller.handle().to_owned(),
    }
}

/// Contract 4.2: an explicit address, else the Run of the attempt that the payload names, else of the
/// sender's attempt, else its bound Run.
pub(super) fn route(cx: &Cx<'_>, caller: &Caller, call: &Send) -> Result<Route, OpError> {
    let about = match call.field("dispatchId") {
        Some(id) => Some(of_named_run(call, dispatch::named(cx, id)?)?),
        None => caller.dispatch.clone(),
    };
    let own_run = match &about {
        Some(dispatch) => Some(dispatch.run_id.clone()),
        None => caller::bound_run(cx, caller)?.map(|run| run.id),
    };
    let named = call.run.as_deref().map(|run| caller::named_run(cx, run)).transpose()?.map(|run| run.id);
    let mailbox = match call.to.as_deref() {
        Some(to) => address(to)?,
        None => Mailbox::Run(named.clone().or_else(|| own_run.clone()).ok_or_else(|| no_recipient(call))?),
    };
    reach::check_reader(cx, &mailbox)?;
    let about = about.map(|dispatch| dispatch.id);
    let (run_id, dispatch_id) = match &mailbox {
        Mailbox::Run(run) => (Some(run.clone()), about),
        Mailbox::Dispatch(id) => {
            let dispatch = of_named_run(call, dispatch::named(cx, id.as_str())?)?;
            (Some(dispatch.run_id), about.or(Some(dispatch.id)))
        }
        Mailbox::Terminal(_) | Mailbox::User => (named.or(own_run), about),
    };
    Ok(Route { mailbox, run_id, dispatch_id })
}

fn no_recipient(call: &Send) -> OpError {
    refuse(ErrorCode::RunRequired, "No --to was given and no Run is bound here.")
        .next_step("orca orchestration run-list --json")
        .next_step(format!(
            "orca orchestration send --to user --subject {} --json",
            text::shell_quote(&text::cut_chars(&text::one_line(&call.subject), 80))
        ))
        .into()
}

/// `--run` asserts which Run an attempt is of.
pub(super) fn of_named_run(call: &Send, dispatch: Dispatch) -> Result<Dispatch, OpError> {
    match call.run.as_deref() {
        Some(run) if dispatch.run_id.as_str() != run => {
            let message = format!(
                "{} belongs to {}, not to {}.",
                dispatch.id,
                dispatch.run_id,
                text::cut_chars(&text::one_line(run), 60)
            );
            Err(refuse(ErrorCode::DispatchRunMismatch, message)
                .next_step(format!("orca orchestration worker-list --run {} --json", dispatch.run_id))
                .into())
        }
        Some(_) | None => Ok(dispatch),
    }
}

fn address(to: &str) -> Result<Mailbox, OpError> {
    Mailbox::parse(to).ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(to), 60);
        let message = if to.starts_with("task:") {
            format!("{shown} reads no mail: a task is no one; send to the attempt at it, dispatch:<id>.")
        } else {
            format!("--to {shown:?} is no address; use run:<id>, dispatch:<id>, a terminal handle, a group (@all) or user.")
        };
        refuse(ErrorCode::InvalidArgument, message).next_step("orca orchestration worker-list --json").into()
    })
}

/// The longest text that is given again in a command line, in bytes.
const MAX_AGAIN: usize = 200;

/// Plain mail does not unblock a worker that waits for an answer (design 12): the commands that do, with
/// what was sent as the answer.
pub(super) fn open_question_warnings(
    cx: &Cx<'_>,
    mailbox: &Mailbox,
    sent: &Send,
) -> Result<Vec<String>, OpError> {
    let dispatch = match mailbox {
        Mailbox::Dispatch(id) => Some(id.clone()),
        Mailbox::Terminal(handle) => match cx.tx.get::<Terminal>(handle.as_str())? {
            Some(terminal) => caller::active_dispatch(cx, &terminal)?.map(|dispatch| dispatch.id),
            None => None,
        },
        Mailbox::Run(_) | Mailbox::User => None,
    };
    let Some(dispatch) = dispatch else { return Ok(Vec::new()) };
    let said = text::one_line(if sent.body.trim().is_empty() { &sent.subject } else { &sent.body });
    let answer = match said.len() <= MAX_AGAIN {
        true => format!("--body {}", text::shell_quote(&said)),
        false => String::from("--body-file -"),
    };
    let open = cx.tx.list::<Question>("pending_dispatch", dispatch.as_str(), 10)?;
    Ok(open
        .into_iter()
        .map(|question| {
            format!(
                "This worker waits for an answer to {}; mail does not unblock it: orca orchestration reply --id {} {answer} --json",
                question.message_id, question.message_id
            )
        })
        .collect())
}
