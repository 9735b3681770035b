//! `ask` and `reply`: a worker's question, open until somebody answers it or its attempt ends. No
//! timeout closes it; the first answer wins and is signed (contract 4.11, design 12).

use super::{NewMessage, post, reach};
use crate::base::code::ErrorCode;
use crate::base::id::MessageId;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::event::{EventKind, Fact};
use crate::model::message::{MAX_BODY_BYTES, Mailbox, Message, MessageType, Priority};
use crate::model::question::{Question, QuestionState};
use crate::model::run::Run;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{gate, reply};
use crate::proto::error::ErrorBody;
use crate::proto::mail::{
    Answered, Ask, DEFAULT_ASK_MS, MAX_ASK_MS, MessageRead, OneMessage, Replied, Reply, brief_command,
};
use crate::proto::row::{MessageRow, QuestionRow, QuestionStand};
use serde_json::json;

/// As much of an answer as an error quotes, in characters.
const MAX_ANSWER_CHARS: usize = 200;

/// `ask`.
pub fn ask(cx: &mut Cx<'_>, call: Ask) -> Result<Answer, OpError> {
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_ASK_MS).min(MAX_ASK_MS);
    let caller = caller::resolve(cx, call.from.as_deref(), call.proof.as_deref())?;
    caller::check_proof(&caller)?;
    if let Some(other) = &caller.conflicting {
        let message = format!(
            "This speaks for {}, but its process belongs to {other}. Copy the command from your brief: its proof says who you are.",
            caller.handle()
        );
        let task = caller.dispatch.as_ref().map(|dispatch| dispatch.task_id.as_str());
        return Err(refuse(ErrorCode::SenderNotAssignee, message)
            .with("effectsApplied", false)
            .next_step(brief_command(task))
            .into());
    }
    let dispatch = own_attempt(&caller)?;
    match (&call.question, &call.resume) {
        (Some(question), None) => {
            let message = put_question(cx, &caller, &dispatch, question, &call)?;
            wait_for(cx, &message, timeout_ms)
        }
        (None, Some(id)) => {
            let question = own_question(cx, &dispatch, id)?;
            check_target(&caller::named_run(cx, dispatch.run_id.as_str())?, &call)?;
            wait_for(cx, &question.message_id, timeout_ms)
        }
        (Some(_), Some(_)) | (None, None) => Err(invalid("ask needs either --question or --resume.")),
    }
}

fn own_attempt(caller: &Caller) -> Result<Dispatch, OpError> {
    match &caller.dispatch {
        Some(dispatch) if dispatch.status.is_active() && dispatch.revoked_at.is_none() => {
            Ok(dispatch.clone())
        }
        Some(dispatch) => Err(refuse(
            ErrorCode::DispatchInactive,
            format!("{} has ended; nobody waits for its questions.", dispatch.id),
        )
        .with("dispatchId", &dispatch.id)
        .next_step(format!("orca orchestration worker-show --dispatch {} --json", dispatch.id))
        .into()),
        None => Err(refuse(
            ErrorCode::DispatchInactive,
            "Only a worker with an active dispatch can ask; nothing here says that you are one.",
        )
        .next_step("orca orchestration worker-list --json")
        .next_step("orca orchestration ask --help")
        .into()),
    }
}

fn put_question(
    cx: &mut Cx<'_>,
    caller: &Caller,
    dispatch: &Dispatch,
    question: &str,
    call: &Ask,
) -> Result<MessageId, OpError> {
    let (question, options) = gate::question_text(question, &call.options)?;
    let run = caller::named_run(cx, dispatch.run_id.as_str())?;
    check_target(&run, call)?;
    // The same question again, because a tool call was cut off, is the one that is open already.
    let open = cx.tx.list::<Question>("pending_dispatch", dispatch.id.as_str(), usize::MAX)?;
    if let Some(asked) = open.into_iter().find(|asked| asked.question == question && asked.options == options)
    {
        return Ok(asked.message_id);
    }
    let message = post(
        cx,
        NewMessage {
            run_id: Some(run.id.clone()),
            dispatch_id: Some(dispatch.id.clone()),
            from_handle: Mailbox::Dispatch(dispatch.id.clone()).to_string(),
            mailbox: Mailbox::Run(run.id.clone()),
            subject: text::cut_chars(&text::one_line(&question), 120),
            body: question.clone(),
            kind: MessageType::Question,
            priority: Priority::High,
            thread_id: None,
            payload: Some(json!({
                "taskId": dispatch.task_id,
                "dispatchId": dispatch.id,
                "question": question,
                "options": options,
            })),
            sender_pane_key: caller.terminal.as_ref().map(|terminal| terminal.pane_key.clone()),
        },
    )?;
    let row = Question {
        message_id: message.id.clone(),
        run_id: run.id,
        dispatch_id: dispatch.id.clone(),
        asker_handle: caller.handle().to_owned(),
        question,
        options,
        status: QuestionState::Pending,
        answer_message_id: None,
        answer_body: None,
        answered_by: None,
        answered_by_generation: None,
        created_at: cx.now,
        answered_at: None,
        closed_at: None,
    };
    cx.tx.put(&row)?;
    cx.emit(Fact::new(EventKind::QuestionAsked, message.subject.clone()).of_dispatch(dispatch))?;
    Ok(message.id)
}

/// A question goes to the worker's own Run, where the person sees it too.
fn check_target(run: &Run, call: &Ask) -> Result<(), OpError> {
    let own = Mailbox::Run(run.id.clone()).to_string();
    let coordinator = run.consumer.as_ref().map(|consumer| consumer.handle());
    let is_own = |to: &str| to == own || to == caller::USER || Some(to) == coordinator;
    if call.to.as_deref().is_none_or(is_own) && call.run.as_deref().is_none_or(|id| id == run.id.as_str()) {
        return Ok(());
    }
    Err(refuse(ErrorCode::DispatchRunMismatch, format!("A worker of {} can only ask there.", run.id))
        .next_step(format!("orca orchestration run-show --id {} --json", run.id))
        .into())
}

fn own_question(cx: &Cx<'_>, dispatch: &Dispatch, id: &str) -> Result<Question, OpError> {
    let found = find(cx, id)?.filter(|question| question.dispatch_id == dispatch.id);
    found.ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(id), 60);
        refuse(ErrorCode::QuestionNotFound, format!("No question of {} has the id {shown:?}.", dispatch.id))
            .next_step("orca orchestration inbox --json")
            .into()
    })
}

fn find(cx: &Cx<'_>, id: &str) -> Result<Option<Question>, OpError> {
    Ok(cx.tx.get::<Question>(id)?)
}

fn wait_for(cx: &mut Cx<'_>, message: &MessageId, timeout_ms: u64) -> Result<Answer, OpError> {
    let on = WaitOn::Answer { message: message.to_string(), timeout_ms };
    let wait = Wait { on, deadline: Some(cx.now.plus_ms(timeout_ms)), began: cx.now };
    let wake = if timeout_ms == 0 { Wake::Deadline } else { Wake::Changed };
    resume(cx, wait, wake)
}

/// A waiting `ask` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Answer { message, timeout_ms } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for an answer")));
    };
    let question = find(cx, message)?.ok_or_else(|| OpError::Bug(format!("{message} is not there")))?;
    let id = &question.message_id;
    let mut answered = Answered {
        answer: None,
        message_id: id.clone(),
        answer_message_id: None,
        answered_by: None,
        thread_id: id.to_string(),
        timed_out: false,
        cancelled: false,
        connection_lost: false,
        timeout_ms: *timeout_ms,
        next_steps: Vec::new(),
    };
    match question.status {
        QuestionState::Answered => {
            answered.answer = question.answer_body;
            answered.answer_message_id = question.answer_message_id;
            answered.answered_by = question.answered_by;
            reply(&answered)
        }
        QuestionState::Closed => Err(refuse(
            ErrorCode::DispatchInactive,
            format!("{} has ended; its question was closed.", question.dispatch_id),
        )
        .with("dispatchId", &question.dispatch_id)
        .next_step(format!("orca orchestration worker-show --dispatch {} --json", question.dispatch_id))
        .into()),
        QuestionState::Pending => match wake {
            Wake::Changed => Ok(Answer::Wait(wait)),
            Wake::Deadline => {
                answered.timed_out = true;
                answered.next_steps = vec![resume_command(cx, &question, *timeout_ms)?];
                reply(&answered)
            }
        },
    }
}

/// What goes on waiting, with the asker's own proof, so that it works wherever the agent's tools run.
fn resume_command(cx: &Cx<'_>, question: &Question, timeout_ms: u64) -> Result<String, OpError> {
    let dispatch = crate::ops::dispatch::named(cx, question.dispatch_id.as_str())?;
    let orca = text::shell_quote(&cx.rules.orca_path);
    let from = dispatch.assignee_handle.map(|handle| format!(" --from {handle}")).unwrap_or_default();
    Ok(format!(
        "{orca} orchestration ask{from} --proof {} --resume {} --timeout-ms {timeout_ms} --json",
        dispatch.proof, question.message_id
    ))
}

/// `reply`: to a question, or to any other message.
pub fn answer(cx: &mut Cx<'_>, call: Reply) -> Result<Answer, OpError> {
    if call.body.trim().is_empty() {
        return Err(invalid("--body must hold the answer."));
    }
    if call.body.len() > MAX_BODY_BYTES {
        return Err(invalid("--body is over 1 MiB; put the long text into a file and name it."));
    }
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let message = named(cx, &call.id, ErrorCode::QuestionNotFound)?;
    if let Some(run) = call.run.as_deref() {
        check_run(cx, &message, run)?;
    }
    match find(cx, message.id.as_str())? {
        Some(question) => answer_question(cx, &caller, question, &call.body),
        None => answer_mail(cx, &caller, message, &call.body),
    }
}

fn named(cx: &Cx<'_>, id: &str, missing: ErrorCode) -> Result<Message, OpError> {
    cx.tx.get::<Message>(id)?.ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(id), 60);
        refuse(missing, format!("No message has the id {shown:?}."))
            .next_step("orca orchestration inbox --json")
            .into()
    })
}

/// `message-read`: as reading it with `check`, of one message. A question in it stays open.
pub fn read(cx: &mut Cx<'_>, call: MessageRead) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let mut message = named(cx, &call.id, ErrorCode::MessageNotFound)?;
    if !is_readers(cx, &caller, &message.mailbox)? {
        let text = format!(
            "{} is mail to {}, which {} does not read.",
            message.id,
            message.mailbox,
            caller.handle()
        );
        return Err(refuse(ErrorCode::ConsumerFenced, text)
            .with("effectsApplied", false)
            .next_step("orca orchestration inbox --json")
            .into());
    }
    super::mark_read(cx, &mut message)?;
    let question = reach::question(cx, &message)?.map(QuestionStand::from);
    reply(&OneMessage { message: MessageRow { question, ..MessageRow::from(&message) } })
}

/// `--run` asserts which Run a message is of.
fn check_run(cx: &Cx<'_>, message: &Message, run: &str) -> Result<(), OpError> {
    let named = caller::named_run(cx, run)?.id;
    if message.run_id.as_ref() == Some(&named) {
        return Ok(());
    }
    let own = message.run_id.as_ref().map_or_else(|| String::from("no Run"), ToString::to_string);
    Err(refuse(ErrorCode::ConsumerFenced, format!("{} belongs to {own}, not to {named}.", message.id))
        .with("effectsApplied", false)
        .next_step("orca orchestration inbox --full --json")
        .next_step("orca orchestration reply --help")
        .into())
}

fn answer_question(
    cx: &mut Cx<'_>,
    caller: &Caller,
    mut question: Question,
    body: &str,
) -> Result<Answer, OpError> {
    let run = caller::named_run(cx, question.run_id.as_str())?;
    let is_person = caller.terminal.is_none();
    let is_consumer = run.consumer.as_ref().is_some_and(|consumer| consumer.is_same(&caller.consumer()));
    if !is_person && !is_consumer {
        let owner = run.consumer.as_ref().map_or("nobody", |consumer| consumer.handle());
        return Err(refuse(
            ErrorCode::ConsumerFenced,
            format!("{} is answered by {owner} or by the person.", question.message_id),
        )
        .with("effectsApplied", false)
        .next_step(format!("orca orchestration run-show --id {} --json", run.id))
        .into());
    }
    let body = text::many_lines(body);
    match question.status {
        QuestionState::Pending => {}
        QuestionState::Answered if question.answer_body.as_deref() == Some(&body) => {
            let answer = question
                .answer_message_id
                .as_ref()
                .map(|id| cx.tx.get::<Message>(id.as_str()))
                .transpose()?;
            let message =
                answer.flatten().ok_or_else(|| OpError::Bug(String::from("the answer is not there")))?;
            return reply(&Replied {
                message: MessageRow::from(&message),
                question: Some(QuestionRow::from(&question)),
                duplicate: Some(true),
            });
        }
        QuestionState::Answered => return Err(conflict(cx, &question, &body)?.into()),
        QuestionState::Closed => {
            return Err(refuse(
                ErrorCode::DispatchInactive,
                format!("{} has ended; nobody waits for the answer.", question.dispatch_id),
            )
            .with("dispatchId", &question.dispatch_id)
            .next_step(format!("orca orchestration worker-show --dispatch {} --json", question.dispatch_id))
            .into());
        }
    }
    let mut message = post(
        cx,
        NewMessage {
            run_id: Some(question.run_id.clone()),
            dispatch_id: Some(question.dispatch_id.clone()),
            from_handle: caller.handle().to_owned(),
            mailbox: Mailbox::Dispatch(question.dispatch_id.clone()),
            subject: format!("Re: {}", text::cut_chars(&text::one_line(&question.question), 120)),
            body: body.clone(),
            kind: MessageType::Status,
            priority: Priority::Normal,
            thread_id: Some(question.message_id.to_string()),
            payload: None,
            sender_pane_key: caller.terminal.as_ref().map(|terminal| terminal.pane_key.clone()),
        },
    )?;
    // The waiting `ask` delivers it; the mailbox must not deliver it again (contract 3.8).
    super::mark_read(cx, &mut message)?;
    question.status = QuestionState::Answered;
    question.answer_message_id = Some(message.id.clone());
    question.answer_body = Some(body);
    question.answered_by = Some(caller.handle().to_owned());
    question.answered_by_generation = Some(run.consumer_generation);
    question.answered_at = Some(cx.now);
    cx.tx.put(&question)?;
    let dispatch = crate::ops::dispatch::named(cx, question.dispatch_id.as_str())?;
    let detail = format!("{}: {}", caller.handle(), text::cut_chars(&text::one_line(&message.body), 120));
    cx.emit(Fact::new(EventKind::QuestionAnswered, detail).of_dispatch(&dispatch))?;
    reply(&Replied {
        message: MessageRow::from(&message),
        question: Some(QuestionRow::from(&question)),
        duplicate: Some(false),
    })
}

/// Another answer than the one there is, with what still tells the worker: plain mail, while it reads any.
fn conflict(cx: &Cx<'_>, question: &Question, body: &str) -> Result<ErrorBody, OpError> {
    let id = &question.message_id;
    let by = question.answered_by.as_deref().unwrap_or("somebody");
    let answer = text::one_line(question.answer_body.as_deref().unwrap_or_default());
    let message =
        format!("{id} was already answered by {by}: {:?}.", text::cut_chars(&answer, MAX_ANSWER_CHARS));
    let mut error = refuse(ErrorCode::AnswerConflict, message)
        .with("answer", &question.answer_body)
        .with("answeredBy", &question.answered_by);
    let dispatch = crate::ops::dispatch::named(cx, question.dispatch_id.as_str())?;
    let is_short = body.chars().count() <= MAX_ANSWER_CHARS && text::one_line(body) == body;
    if is_short && dispatch.status.is_active() && dispatch.revoked_at.is_none() {
        error = error.next_step(format!(
            "orca orchestration send --to dispatch:{} --subject {} --body {} --json",
            dispatch.id,
            text::shell_quote(&format!("After your question {id}")),
            text::shell_quote(body)
        ));
    }
    Ok(error.next_step(format!("orca orchestration worker-show --dispatch {} --json", dispatch.id)))
}

fn answer_mail(
    cx: &mut Cx<'_>,
    caller: &Caller,
    mut original: Message,
    body: &str,
) -> Result<Answer, OpError> {
    let mailbox = Mailbox::parse(&original.from_handle).ok_or_else(|| {
        refuse(
            ErrorCode::InvalidArgument,
            format!("{} was sent by {}, which reads no mail.", original.id, original.from_handle),
        )
        .next_step("orca orchestration inbox --json")
    })?;
    reach::check_reader(cx, &mailbox)?;
    if is_readers(cx, caller, &original.mailbox)? {
        super::mark_read(cx, &mut original)?;
    }
    let subject = if original.subject.starts_with("Re: ") {
        original.subject.clone()
    } else {
        format!("Re: {}", original.subject)
    };
    let message = post(
        cx,
        NewMessage {
            run_id: original.run_id.clone(),
            dispatch_id: original.dispatch_id.clone(),
            from_handle: super::send::sender(caller),
            mailbox,
            subject,
            body: body.to_owned(),
            kind: MessageType::Status,
            priority: original.priority,
            thread_id: original.thread_id.clone().or(Some(original.id.to_string())),
            payload: None,
            sender_pane_key: caller.terminal.as_ref().map(|terminal| terminal.pane_key.clone()),
        },
    )?;
    reply(&Replied { message: MessageRow::from(&message), question: None, duplicate: None })
}

/// The caller is whom the mailbox belongs to: only then does it count as read.
fn is_readers(cx: &Cx<'_>, caller: &Caller, mailbox: &Mailbox) -> Result<bool, OpError> {
    Ok(match mailbox {
        Mailbox::Run(id) => {
            let consumer = cx.tx.get::<Run>(id.as_str())?.and_then(|run| run.consumer);
            consumer.is_some_and(|consumer| consumer.is_same(&caller.consumer()))
        }
        Mailbox::Dispatch(id) => caller.dispatch.as_ref().is_some_and(|dispatch| dispatch.id == *id),
        Mailbox::Terminal(id) => caller.terminal.as_ref().is_some_and(|terminal| terminal.id == *id),
        Mailbox::User => caller.terminal.is_none(),
    })
}
