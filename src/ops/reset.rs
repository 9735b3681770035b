//! `reset`: removes work that nobody needs any more. Repositories, worktrees, terminals with their
//! processes, the event log and all receipts stay; the receipts so that a reset whose answer was lost is
//! not done twice (contract 10).

use super::cx::{Act, Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::{caller, reply};
use crate::base::code::ErrorCode;
use crate::base::text::counted;
use crate::model::delivery::Delivery;
use crate::model::dispatch::Dispatch;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::event::{EventKind, Fact};
use crate::model::gate::Gate;
use crate::model::message::Message;
use crate::model::question::Question;
use crate::model::resource::Resource;
use crate::model::run::Run;
use crate::model::session::Session;
use crate::model::task::Task;
use crate::model::terminal::Terminal;
use crate::model::worker::Worker;
use crate::proto::error::ErrorBody;
use crate::proto::reset::{Removed, Reset, WasReset};

/// The most attempts that a refusal names.
const MAX_NAMED: usize = 5;

/// `reset`.
pub fn reset(cx: &mut Cx<'_>, call: Reset) -> Result<Answer, OpError> {
    let (has_tasks, has_messages) = match call.scope.as_str() {
        "all" => (true, true),
        "tasks" => (true, false),
        "messages" => (false, true),
        _ => return Err(invalid("Say what to remove: --all, --tasks or --messages.")),
    };
    caller::resolve(cx, None, None)?;
    let mut active: Vec<Dispatch> = Vec::new();
    for run in cx.tx.all::<Run>(usize::MAX)? {
        active.extend(cx.tx.list::<Dispatch>("active_run", run.id.as_str(), usize::MAX)?);
    }
    if !active.is_empty() && !call.forgets_active_attempts {
        return Err(still_active(&active, &call.scope).into());
    }
    let mut removed = Removed { questions: cx.tx.clear::<Question>()?, ..Removed::default() };
    if has_messages {
        removed.messages = cx.tx.clear::<Message>()?;
        cx.tx.clear::<Delivery>()?;
    }
    if has_tasks {
        removed.tasks = cx.tx.clear::<Task>()?;
        removed.dispatches = cx.tx.clear::<Dispatch>()?;
        removed.gates = cx.tx.clear::<Gate>()?;
        cx.tx.clear::<Worker>()?;
        cx.tx.clear::<Resource>()?;
        cx.tx.clear::<Session>()?;
        let_effects_go(cx)?;
    }
    let is_everything = has_tasks && has_messages;
    if is_everything {
        removed.runs = cx.tx.clear::<Run>()?;
        cx.tx.set_meta("user_run", &String::new())?;
    }
    free_terminals(cx, has_tasks, is_everything)?;
    cx.act(Act::Refresh);
    let detail = format!("{}: {} tasks, {} messages removed", call.scope, removed.tasks, removed.messages);
    cx.emit(Fact::new(EventKind::StateReset, detail))?;
    reply(&WasReset { reset: call.scope, removed })
}

fn still_active(active: &[Dispatch], scope: &str) -> ErrorBody {
    let names: Vec<&str> = active.iter().map(|dispatch| dispatch.id.as_str()).collect();
    let (shown, rest) = names.split_at(names.len().min(MAX_NAMED));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let message = format!(
        "Active: {} ({}{more}); nothing was removed. Stop them first, or forget them: their processes go on and can report nothing any more.",
        counted(active.len(), "attempt"),
        shown.join(", ")
    );
    let mut error = refuse(ErrorCode::ConfirmationRequired, message).with("dispatches", &names);
    if !rest.is_empty() {
        error = error.next_step("orca orchestration worker-list --json");
    }
    for name in shown {
        error = error.next_step(format!("orca orchestration worker-stop --dispatch {name} --json"));
    }
    error.next_step(format!("orca orchestration reset --{scope} --forget-active-attempts --json"))
}

/// Effects of attempts that are gone: what is typed or made for them is withdrawn; what happens to a
/// terminal goes on without them.
fn let_effects_go(cx: &mut Cx<'_>) -> Result<(), OpError> {
    for mut open in cx.tx.all::<OpenEffect>(usize::MAX)? {
        if open.dispatch_id.take().is_none() {
            continue;
        }
        match open.effect {
            Effect::CreateWorktree(_) | Effect::DeliverPrompt { .. } => {
                cx.tx.delete::<OpenEffect>(open.id.as_str())?;
            }
            Effect::SpawnTerminal { .. } | Effect::CloseTerminal { .. } | Effect::RemoveWorktree(_) => {
                cx.tx.put(&open)?;
            }
        }
    }
    Ok(())
}

/// Terminals run on and belong to nothing that is gone.
fn free_terminals(cx: &mut Cx<'_>, has_tasks: bool, is_everything: bool) -> Result<(), OpError> {
    for mut terminal in cx.tx.all::<Terminal>(usize::MAX)? {
        let before = (terminal.run_id.clone(), terminal.dispatch_id.clone());
        if has_tasks {
            terminal.dispatch_id = None;
        }
        if is_everything {
            terminal.run_id = None;
        }
        if before != (terminal.run_id.clone(), terminal.dispatch_id.clone()) {
            cx.tx.put(&terminal)?;
        }
    }
    Ok(())
}
