//! Reports: `worker_done` and `heartbeat`. A report is never lost: it is accepted, or refused with a
//! code and kept where the coordinator sees it (design 7.2, contract 4.9, 4.10).

use super::send::{Route, new_message};
use super::{NewMessage, post};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, TaskId};
use crate::base::text;
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, Message, MessageType, Priority, ReportedOutcome};
use crate::model::task::{Task, TaskState};
use crate::model::terminal::Terminal;
use crate::model::worker::{Worker, WorkerState};
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx};
use crate::ops::error::{OpError, refuse};
use crate::ops::{reply, settle, watch};
use crate::proto::mail::{Lifecycle, Send, Sent, brief_command};
use crate::proto::row::MessageRow;
use serde_json::{Value, json};

/// How many reported files are looked for.
const MAX_LOOKED_UP: usize = 1_000;

/// The field of a payload that says why its report was refused (contract 4.10).
const REJECTION: &str = "_orcaLifecycleRejection";

/// Why a report was refused.
struct Rejection {
    code: ErrorCode,
    reason: String,
    next_steps: Vec<String>,
}

fn reject(code: ErrorCode, reason: impl Into<String>) -> Rejection {
    Rejection { code, reason: reason.into(), next_steps: Vec::new() }
}

/// `send --type worker_done|heartbeat`.
pub(super) fn send(cx: &mut Cx<'_>, call: &Send, kind: MessageType) -> Result<Answer, OpError> {
    if call.to.as_deref().is_some_and(|to| to.starts_with('@')) {
        return Err(refuse(
            ErrorCode::InvalidArgument,
            format!("A {kind} goes to one Run, never to a group."),
        )
        .into());
    }
    if kind == MessageType::WorkerDone {
        call.check_outcome()?;
    }
    let caller = caller::resolve(cx, call.from.as_deref(), call.proof.as_deref())?;
    // One with a wrong proof says who it wants to be from: it is refused like any other, and kept.
    if caller.terminal.is_none() && !caller.is_proved && !caller.is_proof_wrong {
        return Err(refuse(
            ErrorCode::NoActiveSenderTerminal,
            format!(
                "A {kind} must come from its worker: nothing here says which terminal or proof it is from."
            ),
        )
        .next_step(brief_command(call.field("taskId")))
        .into());
    }
    let named = named_dispatch(cx, call)?;
    match kind {
        // One that names no attempt counts for the sender's own.
        MessageType::Heartbeat if call.field("dispatchId").is_none() => {
            let own = caller.dispatch.clone();
            heartbeat(cx, call, &caller, own)
        }
        MessageType::Heartbeat => heartbeat(cx, call, &caller, named),
        _ => worker_done(cx, call, &caller, named),
    }
}

fn named_dispatch(cx: &Cx<'_>, call: &Send) -> Result<Option<Dispatch>, OpError> {
    let id = call.field("dispatchId").and_then(|id| DispatchId::parse(id).ok());
    Ok(match id {
        Some(id) => cx.tx.get::<Dispatch>(id.as_str())?,
        None => None,
    })
}

/// The mailbox is always the Run of the Dispatch, whatever `--to` says (contract 4.2); a report that
/// names none goes to the sender's Run, else to the person, so that it is seen.
fn route_of(cx: &Cx<'_>, caller: &Caller, named: Option<&Dispatch>) -> Result<Route, OpError> {
    let dispatch = named.or(caller.dispatch.as_ref());
    if let Some(dispatch) = dispatch {
        let run = dispatch.run_id.clone();
        return Ok(Route {
            mailbox: Mailbox::Run(run.clone()),
            run_id: Some(run),
            dispatch_id: Some(dispatch.id.clone()),
        });
    }
    let run = caller::bound_run(cx, caller)?.map(|run| run.id);
    let mailbox = run.clone().map_or(Mailbox::User, Mailbox::Run);
    Ok(Route { mailbox, run_id: run, dispatch_id: None })
}

fn worker_done(
    cx: &mut Cx<'_>,
    call: &Send,
    caller: &Caller,
    named: Option<Dispatch>,
) -> Result<Answer, OpError> {
    let route = route_of(cx, caller, named.as_ref())?;
    let verdict = validate(cx, call, caller, named)?;
    let new = new_message(call, MessageType::WorkerDone, caller, route);
    match verdict {
        Ok(Accepted { dispatch, outcome, is_duplicate: true }) => {
            let mut message = post(cx, new)?;
            super::mark_read(cx, &mut message)?;
            let lifecycle = Lifecycle {
                action: String::from("duplicate"),
                code: None,
                reason: Some(format!("{} was already reported {outcome}", dispatch.id)),
            };
            answer(&message, lifecycle, Vec::new(), Vec::new())
        }
        Ok(Accepted { dispatch, outcome, is_duplicate: false }) => accept(cx, new, &dispatch, outcome),
        Err(mut rejection) => {
            let new = signed_by_process(caller, new);
            rejection.next_steps.extend(way_out(caller, &new, &rejection));
            store_rejected(cx, new, rejection)
        }
    }
}

/// A refused report that speaks for another terminal is from where its process runs.
fn signed_by_process(caller: &Caller, new: NewMessage) -> NewMessage {
    match &caller.conflicting {
        Some(other) => NewMessage { from_handle: other.to_string(), sender_pane_key: None, ..new },
        None => new,
    }
}

/// What the sender of a refused report can do, where the refusal itself names nothing.
fn way_out(caller: &Caller, new: &NewMessage, rejection: &Rejection) -> Option<String> {
    if !rejection.next_steps.is_empty() {
        return None;
    }
    if matches!(rejection.code, ErrorCode::StaleDispatch | ErrorCode::InactiveDispatch) {
        let id = new.dispatch_id.as_ref()?;
        return Some(format!("orca orchestration worker-show --dispatch {id} --json"));
    }
    Some(brief_command(caller.dispatch.as_ref().map(|dispatch| dispatch.task_id.as_str())))
}

fn answer(
    message: &Message,
    lifecycle: Lifecycle,
    missing_files: Vec<String>,
    next_steps: Vec<String>,
) -> Result<Answer, OpError> {
    reply(&Sent {
        message: MessageRow::from(message),
        lifecycle: Some(lifecycle),
        missing_files,
        warnings: Vec::new(),
        next_steps,
    })
}

struct Accepted {
    dispatch: Dispatch,
    outcome: ReportedOutcome,
    is_duplicate: bool,
}

/// Contract 4.10, in its order.
fn validate(
    cx: &Cx<'_>,
    call: &Send,
    caller: &Caller,
    named: Option<Dispatch>,
) -> Result<Result<Accepted, Rejection>, OpError> {
    if let Some(rejection) = identity_conflict(call, caller) {
        return Ok(Err(rejection));
    }
    if !call.payload.as_ref().is_some_and(Value::is_object) {
        return Ok(Err(reject(ErrorCode::InvalidPayload, "the payload is not a JSON object")));
    }
    if call.payload.as_ref().is_some_and(|payload| payload.get(REJECTION).is_some()) {
        return Ok(Err(reject(ErrorCode::InvalidPayload, "the payload carries a rejection mark")));
    }
    let Some(task_text) = call.field("taskId") else {
        return Ok(Err(reject(ErrorCode::MissingTaskId, "the report names no task (--task-id)")));
    };
    if call.field("dispatchId").is_none() {
        return Ok(Err(reject(ErrorCode::MissingDispatchId, "the report names no dispatch (--dispatch-id)")));
    }
    let Some(outcome) = call.field("outcome").and_then(ReportedOutcome::parse) else {
        return Ok(Err(reject(ErrorCode::InvalidOutcome, "the outcome is neither succeeded nor failed")));
    };
    let task = match TaskId::parse(task_text) {
        Ok(id) => cx.tx.get::<Task>(id.as_str())?,
        Err(_) => None,
    };
    let Some(task) = task else {
        return Ok(Err(reject(ErrorCode::UnknownTask, "no task has that id")));
    };
    let Some(dispatch) = named else {
        return Ok(Err(reject(ErrorCode::UnknownDispatch, "no dispatch has that id")));
    };
    if dispatch.task_id != task.id {
        let reason = format!("{} is an attempt at {}, not at {}", dispatch.id, dispatch.task_id, task.id);
        return Ok(Err(reject(ErrorCode::TaskDispatchMismatch, reason)));
    }
    if !is_assignee(caller, &dispatch) {
        let reason = format!("{} is not the worker of {}", caller.handle(), dispatch.id);
        return Ok(Err(from_brief(call, caller, reject(ErrorCode::SenderNotAssignee, reason))));
    }
    currency(cx, &task, dispatch, outcome)
}

/// Where environment or ancestry contradict a flag, a report cannot be trusted (design 6).
fn identity_conflict(call: &Send, caller: &Caller) -> Option<Rejection> {
    if caller.is_proof_wrong {
        return Some(from_brief(
            call,
            caller,
            reject(ErrorCode::SenderNotAssignee, "the proof is not that of any dispatch"),
        ));
    }
    let other = caller.conflicting.as_ref()?;
    let reason = format!("it speaks for {}, but its process belongs to {other}", caller.handle());
    Some(from_brief(call, caller, reject(ErrorCode::SenderNotAssignee, reason)))
}

/// The sender's own brief, where it is known, has the command as it must be.
fn from_brief(call: &Send, caller: &Caller, mut rejection: Rejection) -> Rejection {
    let own = caller.dispatch.as_ref().map(|dispatch| dispatch.task_id.as_str());
    rejection.next_steps.push(brief_command(own.or(call.field("taskId"))));
    rejection
}

fn is_assignee(caller: &Caller, dispatch: &Dispatch) -> bool {
    if caller.is_proved {
        return caller.dispatch.as_ref().is_some_and(|proved| proved.id == dispatch.id);
    }
    let Some(terminal) = &caller.terminal else { return false };
    match &dispatch.assignee_pane_key {
        Some(pane) => pane.is_same_pane(&terminal.pane_key),
        None => dispatch.assignee_handle.as_ref() == Some(&terminal.id),
    }
}

/// Whether the attempt may still report: a late report never touches the current one (design 7.4).
fn currency(
    cx: &Cx<'_>,
    task: &Task,
    dispatch: Dispatch,
    outcome: ReportedOutcome,
) -> Result<Result<Accepted, Rejection>, OpError> {
    let latest = cx.tx.last::<Dispatch>("task", task.id.as_str())?;
    let is_latest = latest.as_ref().is_some_and(|latest| latest.id == dispatch.id);
    if reported(&dispatch) == Some(outcome) {
        return Ok(Ok(Accepted { dispatch, outcome, is_duplicate: true }));
    }
    if !is_latest {
        let newest = latest.map(|latest| latest.id.to_string()).unwrap_or_default();
        let reason = format!("attempt {} ({}) was replaced by {newest}", dispatch.attempt, dispatch.id);
        return Ok(Err(reject(ErrorCode::StaleDispatch, reason)));
    }
    // A worker that is being stopped may still report first: the late report wins (contract 3.5).
    // So does one whose start nobody could confirm (design 7.3).
    let is_undecided = cx
        .tx
        .get::<Worker>(dispatch.id.as_str())?
        .is_some_and(|worker| matches!(worker.state, WorkerState::Stopping | WorkerState::StartUnknown));
    let is_open = dispatch.status.is_active() && (dispatch.revoked_at.is_none() || is_undecided);
    let is_task_open =
        matches!(task.status, TaskState::Dispatched) || (is_undecided && task.status == TaskState::Blocked);
    if !is_open || !is_task_open {
        let how = dispatch.last_failure.as_deref().unwrap_or(dispatch.status.as_str());
        let reason = format!("{} has ended already ({how}); the task is {}", dispatch.id, task.status);
        return Ok(Err(reject(ErrorCode::InactiveDispatch, reason)));
    }
    Ok(Ok(Accepted { dispatch, outcome, is_duplicate: false }))
}

/// What a settled attempt reported, if it ended by a report.
fn reported(dispatch: &Dispatch) -> Option<ReportedOutcome> {
    match dispatch.status {
        DispatchState::Completed => Some(ReportedOutcome::Succeeded),
        DispatchState::Failed | DispatchState::CircuitBroken => (dispatch.last_failure.as_deref()
            == Some(settle::REPORTED_FAILED))
        .then_some(ReportedOutcome::Failed),
        DispatchState::Pending | DispatchState::Dispatched => None,
    }
}

/// One transaction: message, attempt, Task, Worker, questions, promotion.
fn accept(
    cx: &mut Cx<'_>,
    mut new: NewMessage,
    dispatch: &Dispatch,
    outcome: ReportedOutcome,
) -> Result<Answer, OpError> {
    let files = reported_files(&new);
    let place = place_of(cx, dispatch)?;
    let missing: Vec<String> = match &place {
        Some((root, _)) => {
            let mut missing = cx.world.missing_files(root, &files);
            // The report itself may lie anywhere.
            let report = new.payload.as_ref().and_then(|payload| payload.get("reportPath"));
            if let Some(report) = report.and_then(Value::as_str).filter(|path| !path.is_empty()) {
                let root = if report.starts_with('/') { "/" } else { root };
                missing.extend(cx.world.missing_files(root, &[report.to_owned()]));
            }
            missing.iter().map(|file| text::one_line(file)).collect()
        }
        None => Vec::new(),
    };
    // A worker may have made a branch of its own or given it another name.
    let branch = place.and_then(|(root, branch)| cx.world.branch(&root).or(branch));
    if let Some(Value::Object(payload)) = &mut new.payload {
        if !missing.is_empty() {
            payload.insert(String::from("missingFiles"), json!(missing));
        }
        payload.insert(String::from("branch"), json!(branch));
    }
    new.from_handle = Mailbox::Dispatch(dispatch.id.clone()).to_string();
    mark_heartbeats_read(cx, dispatch)?;
    let message = post(cx, new)?;
    let said = |name: &str| message.payload.as_ref().and_then(|payload| payload.get(name)).cloned();
    let result = json!({
        "provenance": "worker_report",
        "outcome": outcome,
        "messageId": message.id,
        "reportedBy": message.from_handle,
        "completedBy": dispatch.assignee_handle,
        "subject": message.subject,
        "body": message.body,
        "filesModified": said("filesModified").unwrap_or_else(|| json!([])),
        "missingFiles": missing,
        "branch": branch,
        "reportPath": said("reportPath").unwrap_or(Value::Null),
        "completedAt": cx.now,
    });
    settle::report(cx, dispatch, outcome, result)?;
    let action = match outcome {
        ReportedOutcome::Succeeded => "completed",
        ReportedOutcome::Failed => "failed",
    };
    answer(&message, Lifecycle { action: action.to_owned(), code: None, reason: None }, missing, Vec::new())
}

/// The files that a report names, as it spells them; what is beyond the first thousand is not looked at.
fn reported_files(new: &NewMessage) -> Vec<String> {
    let listed =
        new.payload.as_ref().and_then(|payload| payload.get("filesModified")).and_then(Value::as_array);
    let names = listed.into_iter().flatten().filter_map(Value::as_str);
    names.take(MAX_LOOKED_UP).map(str::to_owned).collect()
}

/// The folder and branch of an attempt.
fn place_of(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<Option<(String, Option<String>)>, OpError> {
    let Some(handle) = &dispatch.assignee_handle else { return Ok(None) };
    let terminal = cx.tx.get::<Terminal>(handle.as_str())?;
    Ok(terminal.map(|terminal| (terminal.worktree_path, terminal.branch)))
}

fn mark_heartbeats_read(cx: &mut Cx<'_>, dispatch: &Dispatch) -> Result<(), OpError> {
    for mut message in cx.tx.list::<Message>("dispatch", dispatch.id.as_str(), usize::MAX)? {
        // A refused one stays visible (design 7.2).
        if message.kind == MessageType::Heartbeat && !message.is_read && !is_refused(&message) {
            message.delivered_at = message.delivered_at.or(Some(cx.now));
            super::mark_read(cx, &mut message)?;
        }
    }
    Ok(())
}

fn is_refused(message: &Message) -> bool {
    message.payload.as_ref().is_some_and(|payload| payload.get(REJECTION).is_some())
}

/// How the coordinator ends an attempt that cannot report.
fn settle_by_hand(dispatch: &Dispatch) -> String {
    format!(
        "\nIf the work is done all the same:\n  orca orchestration worker-abandon --dispatch {} --json\n  orca orchestration task-update --id {} --status completed --json",
        dispatch.id, dispatch.task_id
    )
}

/// A refused report stays visible: loud, marked, and with everything it said.
fn store_rejected(cx: &mut Cx<'_>, mut new: NewMessage, rejection: Rejection) -> Result<Answer, OpError> {
    let Rejection { code, reason, next_steps } = rejection;
    new.subject = format!("Refused report ({code}): {}", new.subject);
    let named = match &new.dispatch_id {
        Some(id) => cx.tx.get::<Dispatch>(id.as_str())?,
        None => None,
    };
    let settle_it = named.as_ref().filter(|dispatch| dispatch.status.is_active()).map(settle_by_hand);
    let said = if new.body.trim().is_empty() { String::new() } else { format!("\n\nIt said:\n{}", new.body) };
    new.body = format!(
        "This report was refused: {reason}. Nothing was changed by it.{}{said}",
        settle_it.unwrap_or_default()
    );
    new.priority = Priority::High;
    let mut payload = match new.payload.take() {
        Some(Value::Object(fields)) => fields,
        Some(other) => serde_json::Map::from_iter([(String::from("payload"), other)]),
        None => serde_json::Map::new(),
    };
    payload.insert(String::from(REJECTION), json!({ "code": code, "reason": reason }));
    new.payload = Some(Value::Object(payload));
    let message = post(cx, new)?;
    let mut fact = Fact::new(EventKind::ReportRefused, format!("{code}: {reason}"));
    fact.run_id = message.run_id.clone();
    fact.dispatch_id = message.dispatch_id.clone();
    fact.task_id = named.map(|dispatch| dispatch.task_id);
    cx.emit(fact)?;
    let lifecycle =
        Lifecycle { action: String::from("rejected"), code: Some(code.to_string()), reason: Some(reason) };
    answer(&message, lifecycle, Vec::new(), next_steps)
}

/// Contract 4.9.
fn heartbeat(
    cx: &mut Cx<'_>,
    call: &Send,
    caller: &Caller,
    named: Option<Dispatch>,
) -> Result<Answer, OpError> {
    let route = route_of(cx, caller, named.as_ref())?;
    let new = new_message(call, MessageType::Heartbeat, caller, route);
    let Some(mut dispatch) = named else {
        // Without a dispatch it is ordinary mail.
        let message = post(cx, new)?;
        return reply(&Sent {
            message: MessageRow::from(&message),
            lifecycle: None,
            missing_files: Vec::new(),
            warnings: vec![String::from(
                "No attempt is known for this heartbeat; it was kept as plain mail.",
            )],
            next_steps: vec![brief_command(call.field("taskId"))],
        });
    };
    if let Some(rejection) = identity_conflict(call, caller) {
        return store_rejected(cx, signed_by_process(caller, new), rejection);
    }
    if !is_assignee(caller, &dispatch) {
        let reason = format!("{} is not the worker of {}", caller.handle(), dispatch.id);
        return store_rejected(
            cx,
            new,
            from_brief(call, caller, reject(ErrorCode::SenderNotAssignee, reason)),
        );
    }
    let mut message = post(cx, new)?;
    if dispatch.status.is_active() && dispatch.revoked_at.is_none() {
        watch::heard(cx, &mut dispatch)?;
        dispatch.last_heartbeat_at = dispatch.last_heartbeat_at.max(Some(cx.said_at()));
        dispatch.last_phase = call.field("phase").map(|phase| text::cut_chars(&text::one_line(phase), 80));
        cx.tx.put(&dispatch)?;
        let detail = dispatch.last_phase.clone().unwrap_or_else(|| message.subject.clone());
        cx.emit(Fact::new(EventKind::Heartbeat, detail).of_dispatch(&dispatch))?;
    } else {
        // Nobody is woken for an attempt that has ended.
        message.delivered_at = Some(cx.now);
        super::mark_read(cx, &mut message)?;
    }
    reply(&Sent {
        message: MessageRow::from(&message),
        lifecycle: None,
        missing_files: Vec::new(),
        warnings: Vec::new(),
        next_steps: Vec::new(),
    })
}
