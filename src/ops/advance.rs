//! What the world reports back: outcomes of effects, ends of processes, a person's hands on a terminal,
//! and the start of a server. Each is one transaction; what is no longer wanted is ignored.

use super::cx::{Answer, Cx, Wait, WaitOn, Wake};
use super::error::OpError;
use super::mail::{self, NewMessage};
use super::settle::{self, Loss};
use super::worker::{chain, end, release};
use super::{caller, setup, terminal, view, worktree};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, EffectId, TerminalId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::effect::{Effect, OpenEffect, Outcome};
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, MessageType, Priority};
use crate::model::resource::{Ownership, ReleaseState};
use crate::model::terminal::{ProcessEnd, Terminal, TerminalLife};
use crate::model::worker::{PromptDelivery, Stage, Worker, WorkerState};
use serde_json::json;
use std::path::Path;

/// How long the prompt of a handoff waits for an agent that says not that it takes text.
const READY_MS: u64 = 60_000;

/// What came of an effect. An effect that is not open any more had its outcome already.
pub fn outcome(cx: &mut Cx<'_>, id: &EffectId, outcome: Outcome) -> Result<(), OpError> {
    let Some(open) = cx.tx.get::<OpenEffect>(id.as_str())? else { return Ok(()) };
    match (&outcome, &open.dispatch_id) {
        // Not an end: the text still waits, and is typed when the way is free.
        (Outcome::PromptBlocked { .. }, Some(dispatch)) => {
            return chain::delivered(cx, dispatch, PromptDelivery::Blocked);
        }
        // Not an end either.
        (Outcome::PromptTyped, Some(dispatch)) => return chain::typed(cx, dispatch),
        (Outcome::PromptBlocked { .. } | Outcome::PromptTyped, None) => return Ok(()),
        (_, _) => {}
    }
    cx.tx.delete::<OpenEffect>(id.as_str())?;
    match open.effect.clone() {
        Effect::CreateWorktree(_) => worktree_outcome(cx, &open, outcome),
        Effect::RemoveWorktree(wish) => worktree::remove::outcome(cx, id, &wish, outcome),
        Effect::SpawnTerminal { terminal_id } => spawn_outcome(cx, &open, &terminal_id, outcome),
        Effect::DeliverPrompt { .. } => prompt_outcome(cx, &open, outcome),
        Effect::CloseTerminal { terminal_id, .. } => close_outcome(cx, &open, &terminal_id, outcome),
    }
}

fn worktree_outcome(cx: &mut Cx<'_>, open: &OpenEffect, outcome: Outcome) -> Result<(), OpError> {
    let Effect::CreateWorktree(wish) = &open.effect else { return Ok(()) };
    let made = match outcome {
        Outcome::WorktreeCreated(made) => Ok(made),
        Outcome::Failed { code, message } => Err((Some(code), message)),
        Outcome::Unknown { message } => Err((None, message)),
        other => return Err(OpError::Bug(format!("a worktree effect ended as {other:?}"))),
    };
    match (&open.dispatch_id, made) {
        (Some(dispatch), Ok(made)) => {
            let parent = open.then.as_ref().and_then(|then| then["parent"].as_str()).map(str::to_owned);
            chain::worktree_made(cx, dispatch, &made, &wish.repo_id, parent)
        }
        (Some(dispatch), Err((Some(code), message))) => {
            chain::failed(cx, dispatch, Stage::WorktreeCreate, &format!("{code}: {message}"))
        }
        (Some(dispatch), Err((None, message))) => {
            chain::unknown(cx, dispatch, Stage::WorktreeCreate, &message)
        }
        (None, made) => worktree::stand::stands(cx, open, made),
    }
}

/// A call that waits for an effect is asked again.
pub fn resume_effect(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Effect { effect, then } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for an effect")));
    };
    if matches!(then["verb"].as_str(), Some("terminal.close" | "terminal.stop")) {
        return terminal::close::closed(cx, wait, wake);
    }
    if cx.tx.get::<OpenEffect>(effect.as_str())?.is_some() {
        return Ok(Answer::Wait(wait));
    }
    if then["verb"] == "worktree.rm" {
        return worktree::remove::removed(cx, effect, then);
    }
    if matches!(then["verb"].as_str(), Some("terminal.create" | "terminal.split")) {
        return terminal::create::created(cx, then);
    }
    worktree::stand::answer(cx, effect, then, wait.clone())
}

fn spawn_outcome(
    cx: &mut Cx<'_>,
    open: &OpenEffect,
    id: &TerminalId,
    outcome: Outcome,
) -> Result<(), OpError> {
    let mut terminal = caller::named_terminal(cx, id.as_str())?;
    match outcome {
        Outcome::TerminalSpawned { pid } => {
            if terminal.life == TerminalLife::Starting {
                terminal.life = TerminalLife::Running;
            }
            terminal.pid = Some(pid);
            cx.tx.put(&terminal)?;
            let shown = terminal.agent.as_deref().unwrap_or("shell");
            cx.emit(fact(EventKind::TerminalStarted, shown, &terminal))?;
            if let Some(text) = open.then.as_ref().and_then(|then| then["paste"].as_str()) {
                let (terminal_id, text) = (id.clone(), text.to_owned());
                let prompt = Effect::DeliverPrompt { terminal_id, text, timeout_ms: READY_MS };
                cx.request(prompt, None, None)?;
            }
            match &open.dispatch_id {
                Some(dispatch) => chain::spawned(cx, dispatch, &terminal),
                None => Ok(()),
            }
        }
        Outcome::Failed { code, message } => {
            terminal.life = TerminalLife::Failed;
            terminal.title = Some(text::cut_chars(&text::one_line(&message), 120));
            cx.tx.put(&terminal)?;
            setup::terminal_ended(cx, &terminal, &message)?;
            match &open.dispatch_id {
                Some(dispatch) => {
                    chain::failed(cx, dispatch, Stage::TerminalCreate, &format!("{code}: {message}"))
                }
                None => Ok(()),
            }
        }
        Outcome::Unknown { message } => {
            terminal.life = TerminalLife::Lost;
            cx.tx.put(&terminal)?;
            setup::terminal_ended(cx, &terminal, &message)?;
            match &open.dispatch_id {
                Some(dispatch) => chain::unknown(cx, dispatch, Stage::TerminalCreate, &message),
                None => Ok(()),
            }
        }
        other => Err(OpError::Bug(format!("a spawn ended as {other:?}"))),
    }
}

fn fact(kind: EventKind, detail: &str, terminal: &Terminal) -> Fact {
    let mut fact = Fact::new(kind, detail).of_terminal(&terminal.id);
    fact.run_id.clone_from(&terminal.run_id);
    fact.dispatch_id.clone_from(&terminal.dispatch_id);
    fact
}

fn prompt_outcome(cx: &mut Cx<'_>, open: &OpenEffect, outcome: Outcome) -> Result<(), OpError> {
    let Some(dispatch) = &open.dispatch_id else { return Ok(()) };
    match outcome {
        Outcome::PromptDelivered { is_confirmed: true } => {
            chain::delivered(cx, dispatch, PromptDelivery::Confirmed)
        }
        Outcome::PromptDelivered { is_confirmed: false } => {
            chain::delivered(cx, dispatch, PromptDelivery::Unconfirmed)
        }
        Outcome::Failed { message, .. } => match cx.tx.get::<Worker>(dispatch.as_str())? {
            Some(_) => chain::failed(cx, dispatch, Stage::DispatchInput, &message),
            None => injection_failed(cx, dispatch, &message),
        },
        Outcome::Unknown { .. } => chain::delivered(cx, dispatch, PromptDelivery::Unconfirmed),
        other => Err(OpError::Bug(format!("a prompt ended as {other:?}"))),
    }
}

/// An attempt without a worker never got its brief: it is lost like any other (contract 11.3).
fn injection_failed(cx: &mut Cx<'_>, id: &DispatchId, message: &str) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())?.filter(|found| found.status.is_active()) else {
        return Ok(());
    };
    let reason = format!("its brief could not be typed: {message}");
    settle::lose(cx, &dispatch, Loss::Injection, &reason)?;
    let terminal = match &dispatch.assignee_handle {
        Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?,
        None => None,
    };
    match terminal {
        Some(terminal) => escalate(cx, &dispatch, &terminal, &reason),
        None => Ok(()),
    }
}

fn close_outcome(
    cx: &mut Cx<'_>,
    open: &OpenEffect,
    id: &TerminalId,
    outcome: Outcome,
) -> Result<(), OpError> {
    let message = match outcome {
        Outcome::Failed { code, message } if code == ErrorCode::ArchiveFailed.as_str() => {
            terminal::close::forget_caller(cx, id)?;
            return match &open.dispatch_id {
                Some(dispatch) => release::archive_failed(cx, dispatch, &message),
                None => Ok(()),
            };
        }
        Outcome::TerminalClosed { end, archive } => {
            let mut terminal = caller::named_terminal(cx, id.as_str())?;
            if terminal.end.is_none() {
                terminal.end = end.map(|end| ProcessEnd { closed_by: terminal.closed_by.clone(), ..end });
            }
            terminal.life = TerminalLife::Closed;
            cx.tx.put(&terminal)?;
            cx.emit(fact(EventKind::TerminalClosed, "closed; its output is kept", &terminal))?;
            if let Some(dispatch) = &open.dispatch_id {
                return end::terminal_closed(cx, dispatch, &archive);
            }
            let by = terminal.closed_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            return lose_active(cx, &terminal, &format!("its terminal was closed{by}"));
        }
        Outcome::Failed { message, .. } | Outcome::Unknown { message } => message,
        other => return Err(OpError::Bug(format!("a close ended as {other:?}"))),
    };
    match &open.dispatch_id {
        Some(dispatch) => end::close_unknown(cx, dispatch, &message),
        None => Ok(()),
    }
}

/// The process of a terminal ended. An attempt that had not reported is lost with the status, and its
/// coordinator gets exactly one escalation (design 7.5).
pub fn process_ended(cx: &mut Cx<'_>, id: &TerminalId, ended: ProcessEnd) -> Result<(), OpError> {
    let Some(mut terminal) = cx.tx.get::<Terminal>(id.as_str())? else { return Ok(()) };
    if terminal.end.is_some() {
        return Ok(());
    }
    let ended = ProcessEnd { closed_by: terminal.closed_by.clone(), ..ended };
    let words = ended.to_string();
    let reason = match (&ended.closed_by, ended.signal) {
        (Some(_), _) => format!("its terminal was {words}"),
        (None, Some(_)) => format!("the agent was {words}"),
        (None, None) => format!("the agent {words}"),
    };
    terminal.end = Some(ended);
    if terminal::is_alive(&terminal) {
        terminal.life = TerminalLife::Exited;
    }
    cx.tx.put(&terminal)?;
    cx.emit(fact(EventKind::TerminalEnded, &words, &terminal))?;
    lose_active(cx, &terminal, &reason)
}

/// The process of a terminal is gone and nobody saw how.
pub fn terminal_lost(cx: &mut Cx<'_>, id: &TerminalId) -> Result<(), OpError> {
    let Some(mut terminal) = cx.tx.get::<Terminal>(id.as_str())? else { return Ok(()) };
    if !terminal::is_alive(&terminal) {
        return Ok(());
    }
    terminal.life = TerminalLife::Lost;
    cx.tx.put(&terminal)?;
    cx.emit(fact(EventKind::TerminalEnded, "gone; nobody saw how it ended", &terminal))?;
    match &terminal.closed_by {
        Some(by) => lose_active(cx, &terminal, &format!("its terminal was closed by {by}")),
        None => lose_active(cx, &terminal, "the terminal is gone (did the machine restart?)"),
    }
}

fn lose_active(cx: &mut Cx<'_>, terminal: &Terminal, reason: &str) -> Result<(), OpError> {
    setup::terminal_ended(cx, terminal, &how_ended(terminal))?;
    let Some(dispatch) = caller::active_dispatch(cx, terminal)? else {
        return note_end(cx, terminal, reason);
    };
    let worker = cx.tx.get::<Worker>(dispatch.id.as_str())?;
    let state = worker.as_ref().map(|worker| worker.state);
    note_end(cx, terminal, reason)?;
    if matches!(state, Some(WorkerState::Stopping | WorkerState::StopUnknown)) {
        // The stop that was asked for is done with it.
        return settle::give_up(
            cx,
            &dispatch,
            crate::model::worker::WorkerInput::FinishStop,
            Stage::ProcessStopped,
            "stopped",
        );
    }
    let loss = match (state, terminal.life) {
        (Some(WorkerState::Starting), _) => Loss::Start(Stage::AgentReadiness),
        (_, TerminalLife::Lost) => Loss::TerminalLost,
        (_, _) => Loss::ProcessEnd,
    };
    if matches!(loss, Loss::Start(_))
        && let Some(mut worker) = cx.tx.get::<Worker>(dispatch.id.as_str())?
    {
        worker.failed_stage = Some(Stage::AgentReadiness);
        cx.tx.put(&worker)?;
    }
    settle::lose(cx, &dispatch, loss, reason)?;
    escalate(cx, &dispatch, terminal, reason)
}

/// How the process of a terminal that is no agent's ended.
fn how_ended(terminal: &Terminal) -> String {
    let end = terminal.end.as_ref();
    end.map_or_else(|| String::from("nobody saw how it ended"), ToString::to_string)
}

fn note_end(cx: &mut Cx<'_>, terminal: &Terminal, reason: &str) -> Result<(), OpError> {
    let Some(id) = &terminal.dispatch_id else { return Ok(()) };
    if let Some(mut worker) = cx.tx.get::<Worker>(id.as_str())? {
        worker.process_end = Some(reason.to_owned());
        worker.updated_at = cx.now;
        cx.tx.put(&worker)?;
    }
    Ok(())
}

fn escalate(cx: &mut Cx<'_>, dispatch: &Dispatch, terminal: &Terminal, reason: &str) -> Result<(), OpError> {
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let title = task.task_title.as_deref().unwrap_or(task.id.as_str());
    let next = match (task.status, view::unmet(&cx.tx, &task)?.is_empty()) {
        (crate::model::task::TaskState::Ready, true) => {
            format!(
                "orca orchestration worker-start --task {} --agent {} --json",
                task.id,
                terminal.agent.as_deref().unwrap_or("codex")
            )
        }
        (_, _) => format!("orca orchestration dispatch-show --task {} --history --json", task.id),
    };
    let body = format!(
        "Attempt {} ({}) ended without a report: {reason}. The task is {} now.\nIts last output: orca orchestration worker-read --dispatch {} --source terminal --json\nNext: {next}",
        dispatch.attempt, dispatch.id, task.status, dispatch.id
    );
    mail::post(
        cx,
        NewMessage {
            run_id: Some(dispatch.run_id.clone()),
            dispatch_id: Some(dispatch.id.clone()),
            from_handle: String::from("orca"),
            mailbox: Mailbox::Run(dispatch.run_id.clone()),
            subject: format!("Attempt {} ended without a report: {title}", dispatch.attempt),
            body,
            kind: MessageType::Escalation,
            priority: Priority::High,
            thread_id: None,
            payload: Some(json!({ "taskId": task.id, "dispatchId": dispatch.id, "reason": reason, "taskStatus": task.status })),
            sender_pane_key: None,
        },
    )
    .map(drop)
}

/// A person typed into a terminal: an owned one is theirs from now on (contract 3.6).
pub fn user_typed(cx: &mut Cx<'_>, id: &TerminalId) -> Result<(), OpError> {
    let Some(mut terminal) = cx.tx.get::<Terminal>(id.as_str())? else { return Ok(()) };
    if terminal.is_user_typed {
        return Ok(());
    }
    terminal.is_user_typed = true;
    cx.tx.put(&terminal)?;
    for mut resource in cx.tx.list::<crate::model::resource::Resource>("terminal", id.as_str(), usize::MAX)? {
        let is_kept = match resource.release {
            ReleaseState::NotRequested | ReleaseState::Retained => true,
            ReleaseState::Requested
            | ReleaseState::Releasing
            | ReleaseState::Released
            | ReleaseState::Unknown => false,
        };
        if resource.ownership == Ownership::Owned && is_kept {
            resource.ownership = Ownership::UserOwned;
            resource.release = ReleaseState::Retained;
            resource.retained_reason = Some(String::from("user_takeover"));
            cx.tx.put(&resource)?;
            cx.emit(fact(
                EventKind::TerminalTakenOver,
                "a person typed into it; it stays until they close it",
                &terminal,
            ))?;
        }
    }
    Ok(())
}

/// The last good copy was not of the database at `store`, or had more of it, and is called `aside` now.
pub fn copy_kept(cx: &mut Cx<'_>, store: &Path, aside: &Path) -> Result<(), OpError> {
    let quote = |path: &Path| text::shell_quote(&path.display().to_string());
    let (file, before, next) = (quote(store), store.with_extension("before"), store.with_extension("next"));
    let (kept, before, next) = (quote(aside), quote(&before), quote(&next));
    let body = format!(
        "The database that runs now is another one than that of the last good copy, or an older state of it. Nothing was overwritten: the copy is kept as {kept}\nIf that is what you want to go on with (terminals run on):\n  cp -p {kept} {next} && mv {file} {before} && mv {next} {file} && sleep 2 && orca server start"
    );
    let subject = String::from("The last good copy of another database is kept");
    mail::post(cx, NewMessage::for_person(subject, body)).map(drop)
}

/// A server starts: the effects without an outcome, to be done again, oldest first. Nothing is decided
/// here: each effect is idempotent, and its outcome moves on what waits for it.
pub fn recover(cx: &mut Cx<'_>) -> Result<Vec<OpenEffect>, OpError> {
    cx.emit(Fact::new(EventKind::ServerStarted, "server started"))?;
    Ok(cx.tx.list::<OpenEffect>("all", "", usize::MAX)?)
}
