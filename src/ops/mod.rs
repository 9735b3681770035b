//! One verb, one function: `(&mut Cx, call) -> Answer`. The rules of orchestration; no I/O, no async,
//! no clock, no randomness of its own.
//!
//! [`handle`] wraps every verb with what is the same for all: the ledger (a request id used again
//! gets the recorded answer), the `mutation` field and the fleet block. A verb resolves its caller, loads, asks
//! `model` for the next state, writes, emits facts, requests effects and builds its reply.

pub mod advance;
pub mod caller;
pub mod cx;
pub mod dispatch;
pub mod error;
pub mod event;
pub mod fleet;
pub mod gate;
pub mod hook;
pub mod hooks;
pub mod invariants;
pub mod limit;
pub mod look;
pub mod mail;
pub mod nudge;
pub mod repo;
pub mod request;
pub mod reset;
pub mod run;
pub mod select;
pub mod settle;
pub mod setup;
pub mod tabs;
pub mod task;
pub mod terminal;
pub mod timeline;
pub mod view;
pub mod watch;
pub mod worker;
pub mod worktree;

use crate::base::code::ErrorCode;
use crate::model::request::{Receipt, RequestState};
use crate::proto::envelope::Mutation;
use crate::proto::mail::Check;
use crate::proto::{AnyCall, Call as _, CallKind};
use crate::store::ledger;
use cx::{Answer, Cx, Wait, WaitOn, Wake};
use error::{OpError, refuse};
use serde::Serialize;
use serde_json::Value;

/// A reply as an answer.
fn reply<T: Serialize>(reply: &T) -> Result<Answer, OpError> {
    serde_json::to_value(reply).map(Answer::Done).map_err(|error| OpError::Bug(error.to_string()))
}

/// Runs one call. `request_id` is the durable id of a mutation; `params` its parameters as sent.
pub fn handle(
    cx: &mut Cx<'_>,
    call: AnyCall,
    request_id: Option<&str>,
    params: &Value,
) -> Result<Answer, OpError> {
    let method = call.method();
    match record(cx, call, request_id, params)? {
        Answer::Done(result) => fleet::attach(cx, method, result).map(Answer::Done),
        answer @ (Answer::Wait(_) | Answer::Look(_)) => Ok(answer),
    }
}

/// Runs one call and keeps its receipt.
fn record(
    cx: &mut Cx<'_>,
    call: AnyCall,
    request_id: Option<&str>,
    params: &Value,
) -> Result<Answer, OpError> {
    let request_id = match (call.kind(), request_id) {
        (CallKind::Mutation, Some(id)) => id,
        (CallKind::Mutation, None) | (CallKind::Read, _) => return route(cx, call),
    };
    if request_id.is_empty() || request_id.len() > 128 || request_id.chars().any(char::is_control) {
        return Err(error::invalid("The request id must be 1 to 128 printable characters."));
    }
    let method = call.method();
    let params_hash = ledger::hash_params(params);
    let credential = cx.caller.credential.clone();
    if let Some(receipt) = cx.tx.receipt(&credential, request_id)? {
        return replay(cx, &receipt, method, &params_hash);
    }
    if !cx.tx.has_room_for_receipt(cx.now)? {
        return Err(refuse(
            ErrorCode::MutationLedgerFull,
            "Too many requests are still open; nothing was done. Each is given up two days after it began.",
        )
        .next_step("orca orchestration worker-list --json")
        .into());
    }
    cx.request_id = Some(request_id.to_owned());
    let answer = route(cx, call)?;
    let mut receipt = Receipt {
        id: request_id.to_owned(),
        caller: credential,
        method: method.to_owned(),
        params_hash,
        state: RequestState::Pending,
        result: None,
        wait: None,
        created_at: cx.now,
        updated_at: cx.now,
    };
    let answer = match answer {
        Answer::Done(result) => {
            let result = with_mutation(result, request_id, false);
            receipt.state = RequestState::Completed;
            receipt.result = Some(result.clone());
            Answer::Done(result)
        }
        Answer::Wait(wait) => {
            receipt.wait = serde_json::to_value(&wait).ok();
            Answer::Wait(wait)
        }
        Answer::Look(_) => return Ok(answer),
    };
    cx.tx.put_receipt(&receipt)?;
    Ok(answer)
}

/// The answer to a request id that was used before (contract 10).
fn replay(cx: &mut Cx<'_>, receipt: &Receipt, method: &str, params_hash: &str) -> Result<Answer, OpError> {
    if receipt.method != method || receipt.params_hash != params_hash {
        return Err(refuse(
            ErrorCode::RequestMismatch,
            format!("The request id was used for another request ({}).", receipt.method),
        )
        .with("requestId", &receipt.id)
        .next_step(format!("orca orchestration request-show --request {} --json", receipt.id))
        .into());
    }
    if let Some(result) = &receipt.result {
        return Ok(Answer::Done(with_mutation(result.clone(), &receipt.id, true)));
    }
    let wait = receipt.wait.clone().and_then(|wait| serde_json::from_value::<Wait>(wait).ok());
    match wait {
        Some(wait) => resume(cx, wait, Wake::Changed).map(|answer| match answer {
            Answer::Done(result) => Answer::Done(with_mutation(result, &receipt.id, true)),
            unfinished @ (Answer::Wait(_) | Answer::Look(_)) => unfinished,
        }),
        None => Err(refuse(ErrorCode::OperationUnknown, "A restart hides whether this request took effect.")
            .with("requestId", &receipt.id)
            .next_step(format!("orca orchestration request-show --request {} --json", receipt.id))
            .into()),
    }
}

/// Asks a waiting call again; a finished mutation's receipt is completed with it.
pub fn handle_wake(
    cx: &mut Cx<'_>,
    wait: Wait,
    wake: Wake,
    request_id: Option<&str>,
) -> Result<Answer, OpError> {
    let is_check = matches!(wait.on, WaitOn::RunMail { .. } | WaitOn::Mail { .. });
    match record_wake(cx, wait, wake, request_id)? {
        Answer::Done(result) if is_check => fleet::attach(cx, Check::METHOD, result).map(Answer::Done),
        answer => Ok(answer),
    }
}

fn record_wake(cx: &mut Cx<'_>, wait: Wait, wake: Wake, request_id: Option<&str>) -> Result<Answer, OpError> {
    let credential = cx.caller.credential.clone();
    let receipt = request_id.map(|id| cx.tx.receipt(&credential, id)).transpose()?.flatten();
    // Whoever joined a request that waited already gets the one answer.
    if let Some(Receipt { id, result: Some(result), .. }) = &receipt {
        return Ok(Answer::Done(with_mutation(result.clone(), id, true)));
    }
    match (resume(cx, wait, wake)?, receipt) {
        (Answer::Done(result), Some(mut receipt)) => {
            let result = with_mutation(result, &receipt.id, false);
            receipt.state = RequestState::Completed;
            receipt.result = Some(result.clone());
            receipt.updated_at = cx.now;
            cx.tx.put_receipt(&receipt)?;
            Ok(Answer::Done(result))
        }
        (answer @ (Answer::Done(_) | Answer::Wait(_) | Answer::Look(_)), _) => Ok(answer),
    }
}

/// Forgets a request whose call was refused, so that its id may be used again; says whether it was there.
/// What nobody knows the end of is kept, and so is a request that another call tried to use (contract 10).
pub fn forget(cx: &mut Cx<'_>, request_id: &str, refused_with: ErrorCode) -> Result<bool, OpError> {
    let is_open_end = matches!(
        refused_with,
        ErrorCode::OperationUnknown
            | ErrorCode::RequestMismatch
            | ErrorCode::StoreDamaged
            | ErrorCode::StoreUnwritable
    );
    let credential = cx.caller.credential.clone();
    let receipt = cx.tx.receipt(&credential, request_id)?;
    let Some(open) = receipt.filter(|receipt| !is_open_end && receipt.state == RequestState::Pending) else {
        return Ok(false);
    };
    cx.tx.delete_receipt(&open)?;
    Ok(true)
}

fn with_mutation(mut result: Value, request_id: &str, replayed: bool) -> Value {
    let mutation = Mutation { request_id: request_id.to_owned(), replayed };
    if let (Value::Object(fields), Ok(mutation)) = (&mut result, serde_json::to_value(mutation)) {
        fields.insert(String::from("mutation"), mutation);
    }
    result
}

/// Every call to its verb.
fn route(cx: &mut Cx<'_>, call: AnyCall) -> Result<Answer, OpError> {
    match call {
        // Run
        AnyCall::RunCreate(call) => run::create(cx, call),
        AnyCall::RunUse(call) => run::use_run(cx, call),
        AnyCall::RunSet(call) => run::set(cx, call),
        AnyCall::RunCurrent(call) => run::current(cx, call),
        AnyCall::RunList(call) => run::list(cx, call),
        AnyCall::RunShow(call) => run::show(cx, call),
        // Task
        AnyCall::TaskCreate(call) => task::create(cx, call),
        AnyCall::TaskList(call) => task::list(cx, call),
        AnyCall::TaskUpdate(call) => task::update(cx, call),

        // Dispatch
        AnyCall::Dispatch(call) => dispatch::dispatch(cx, call),
        AnyCall::DispatchShow(call) => dispatch::show(cx, call),

        // Worker
        AnyCall::WorkerStart(call) => worker::start::start(cx, call),
        AnyCall::WorkerShow(call) => worker::read::show(cx, call),
        AnyCall::WorkerList(call) => worker::read::list(cx, call),
        AnyCall::WorkerRead(call) => worker::output::read(cx, call),
        AnyCall::WorkerStop(call) => worker::end::stop(cx, call),
        AnyCall::WorkerAbandon(call) => worker::end::abandon(cx, call),
        AnyCall::WorkerRelease(call) => worker::release::release(cx, call),
        AnyCall::WorkerRetain(call) => worker::release::retain(cx, call),

        // Mail
        AnyCall::Send(call) => mail::send::send(cx, call),
        AnyCall::Check(call) => mail::check::check(cx, call),
        AnyCall::Reply(call) => mail::ask::answer(cx, call),
        AnyCall::Inbox(call) => mail::inbox(cx, call),
        AnyCall::MessageRead(call) => mail::ask::read(cx, call),
        AnyCall::Ask(call) => mail::ask::ask(cx, call),

        // Gate
        AnyCall::GateCreate(call) => gate::create(cx, call),
        AnyCall::GateResolve(call) => gate::resolve(cx, call),
        AnyCall::GateList(call) => gate::list(cx, call),

        // Request
        AnyCall::RequestShow(call) => request::show(cx, call),
        // Repo
        AnyCall::RepoList(call) => repo::list(cx, call),
        AnyCall::RepoShow(call) => repo::show(cx, call),
        AnyCall::RepoAdd(call) => repo::add(cx, call),
        AnyCall::RepoRemove(call) => repo::remove(cx, call),
        AnyCall::RepoSetBaseRef(call) => repo::set_base_ref(cx, call),
        AnyCall::RepoSearchRefs(call) => repo::search_refs(cx, call),
        AnyCall::HooksShow(call) => hooks::show(cx, call),
        AnyCall::HooksSet(call) => hooks::set(cx, call),
        AnyCall::HooksApprove(call) => hooks::approve(cx, call),
        AnyCall::HooksReject(call) => hooks::reject(cx, call),

        // Worktree
        AnyCall::WorktreeCreate(call) => worktree::create::create(cx, call),
        AnyCall::WorktreeList(call) => worktree::list(cx, call),
        AnyCall::WorktreeShow(call) => worktree::show(cx, call),
        AnyCall::WorktreeCurrent(call) => worktree::current(cx, call),
        AnyCall::WorktreePs(call) => worktree::ps::ps(cx, call),
        AnyCall::WorktreeSet(call) => worktree::set(cx, call),
        AnyCall::WorktreeRemove(call) => worktree::remove::remove(cx, call),

        // Terminal
        AnyCall::TerminalCreate(call) => terminal::create::create(cx, call),
        AnyCall::TerminalList(call) => terminal::read::list(cx, call),
        AnyCall::TerminalShow(call) => terminal::read::show(cx, call),
        AnyCall::TerminalRead(call) => terminal::read::read(cx, call),
        AnyCall::TerminalExport(call) => terminal::read::export(cx, call),
        AnyCall::TerminalSend(call) => terminal::send::send(cx, call),
        AnyCall::TerminalWait(call) => terminal::wait::wait(cx, call),
        AnyCall::TerminalSplit(call) => terminal::create::split(cx, call),
        AnyCall::TerminalRename(call) => terminal::name::rename(cx, call),
        AnyCall::TerminalSetPaneTitle(call) => terminal::name::set_pane_title(cx, call),
        AnyCall::TerminalSwitch(call) => terminal::name::switch(cx, call),
        AnyCall::TerminalMark(call) => terminal::mark::mark(cx, call),
        AnyCall::TerminalClose(call) => terminal::close::close(cx, call),
        AnyCall::TerminalStop(call) => terminal::close::stop(cx, call),

        // Hook
        AnyCall::HookReport(call) => hook::report(cx, call),

        // Event
        AnyCall::EventsList(call) => event::list(cx, call),

        // Reset
        AnyCall::Reset(call) => reset::reset(cx, call),
    }
}

/// Every waiting call to the file that made it wait.
fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    match &wait.on {
        WaitOn::RunMail { .. } => mail::delivery::resume(cx, wait, wake),
        WaitOn::Mail { .. } => mail::check::resume(cx, wait, wake),
        WaitOn::Answer { .. } => mail::ask::resume(cx, wait, wake),
        WaitOn::WorkerStart { .. } => worker::receipt::resume(cx, wait, wake),
        WaitOn::WorkerEnd { .. } => worker::end::resume(cx, wait, wake),
        WaitOn::Effect { .. } => advance::resume_effect(cx, wait, wake),
        WaitOn::Terminal { .. } => terminal::wait::resume(cx, wait, wake),
        WaitOn::Submit(_) => terminal::send::resume(cx, wait, wake),
        WaitOn::Events { .. } => event::resume(cx, wait, wake),
    }
}
