//! Where a worker is to work (contract 5.2): an existing worktree, a new one, or a terminal that runs an
//! agent already.

use crate::agent::preset::PromptMode;
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::effect::CreateWorktree;
use crate::model::repo::Repo;
use crate::model::terminal::Terminal;
use crate::model::worker::Placement;
use crate::model::worktree::Worktree;
use crate::ops::caller::Caller;
use crate::ops::cx::Cx;
use crate::ops::error::{OpError, refuse};
use crate::ops::{dispatch, select, terminal, worktree};
use crate::proto::worker::WorkerStart;

/// The place of one start.
pub enum Place {
    Existing(Box<Worktree>, Placement),
    New {
        wish: Box<CreateWorktree>,
        parent: Option<String>,
        placement: Placement,
    },
    /// A terminal with the agent that runs there.
    Terminal(Box<Terminal>, String),
}

/// Finds the place that the flags name, or says why there is none.
pub fn place(cx: &mut Cx<'_>, caller: &Caller, call: &WorkerStart) -> Result<Place, OpError> {
    if let Some(handle) = call.terminal.as_deref() {
        let (terminal, agent) = reused(cx, caller, handle, call)?;
        return Ok(Place::Terminal(Box::new(terminal), agent));
    }
    match call.worktree.as_deref() {
        None | Some("current") => {
            Ok(Place::Existing(Box::new(terminal::create::own_worktree(cx, caller)?), Placement::Current))
        }
        Some("new-child") => {
            let own = terminal::create::own_worktree(cx, caller)?;
            let repo = worktree::create::repo_for_new(
                cx,
                call.repo.as_deref().or(Some(&format!("id:{}", own.repo_id))),
            )?;
            new(&repo, Some(own.id), Placement::NewChild, call)
        }
        Some("new-top-level") => {
            let own = match call.repo {
                Some(_) => None,
                None => Some(format!("id:{}", terminal::create::own_worktree(cx, caller)?.repo_id)),
            };
            let repo = worktree::create::repo_for_new(cx, call.repo.as_deref().or(own.as_deref()))?;
            new(&repo, None, Placement::NewTopLevel, call)
        }
        Some(selector) => Ok(Place::Existing(Box::new(select::worktree(cx, selector)?), Placement::Existing)),
    }
}

fn new(
    repo: &Repo,
    parent: Option<String>,
    placement: Placement,
    call: &WorkerStart,
) -> Result<Place, OpError> {
    let name = call.name.as_deref().unwrap_or_default();
    let wish = worktree::create::wish(repo, name, None, call.base_branch.clone())?;
    Ok(Place::New { wish: Box::new(wish), parent, placement })
}

/// A terminal that is to be used again: it must run an agent, be free, and be in the chosen worktree,
/// which is the coordinator's own where none is named. Who started the agent does not matter.
fn reused(
    cx: &mut Cx<'_>,
    caller: &Caller,
    handle: &str,
    call: &WorkerStart,
) -> Result<(Terminal, String), OpError> {
    let terminal = dispatch::free_terminal(cx, handle)?;
    let list = "orca terminal list --json";
    let Some(agent) = terminal::agent_in(cx, &terminal) else {
        let message = format!(
            "{} runs no agent that orca knows; start one in it first, or let worker-start open a terminal.",
            terminal.id
        );
        let task = call.task.as_deref().map_or_else(
            || format!("--spec {}", text::shell_quote(call.spec.as_deref().unwrap_or_default())),
            |task| format!("--task {}", text::shell_quote(task)),
        );
        let own = format!(
            "orca orchestration worker-start {task} --agent {} --json",
            cx.rules.default_agent.as_deref().unwrap_or("codex")
        );
        return Err(refuse(ErrorCode::AgentUnconfigured, message).next_step(own).next_step(list).into());
    };
    if cx.rules.agents.get(&agent).is_some_and(|preset| preset.prompt == PromptMode::None) {
        let message = format!(
            "{} runs {agent}, which takes no text once it runs; start another one with --agent {agent}.",
            terminal.id
        );
        return Err(refuse(ErrorCode::AgentUnconfigured, message).next_step(list).into());
    }
    let chosen = match call.worktree.as_deref() {
        None | Some("current" | "active") => terminal::create::own_worktree(cx, caller)?,
        Some(selector) => select::worktree(cx, selector)?,
    };
    let Some(actual) = terminal.worktree_id.as_deref().filter(|actual| *actual != chosen.id) else {
        return Ok((terminal, agent));
    };
    let message = format!(
        "{} is in {}, not in {}; say --worktree {}.",
        terminal.id,
        terminal.worktree_path,
        chosen.path,
        text::shell_quote(&format!("id:{actual}"))
    );
    let again =
        format!("orca worktree show --worktree {} --json", text::shell_quote(&format!("id:{actual}")));
    Err(refuse(ErrorCode::TerminalWorktreeMismatch, message)
        .with("worktreeId", actual)
        .next_step(again)
        .into())
}
