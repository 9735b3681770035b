//! Terminal verbs, by what they do: [`create`], [`found`], [`read`], [`send`], [`wait`], [`name`], [`mark`], [`close`].
//! None of them touches a file.

pub mod close;
pub mod create;
pub mod found;
pub mod mark;
pub mod name;
pub mod read;
pub mod send;
pub mod wait;

use super::caller;
use super::cx::{Cx, LiveFacts};
use super::error::{OpError, refuse};
use super::worker::seen::see;
use crate::base::code::ErrorCode;
use crate::base::id::RunId;
use crate::model::fleet;
use crate::model::run::Run;
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worktree::Worktree;

/// A process runs in it, or is about to.
pub fn is_alive(terminal: &Terminal) -> bool {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => true,
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => false,
    }
}

/// The live terminals of a worktree, oldest first: from all that live, not from all that ever ran there.
pub fn alive_in(cx: &Cx<'_>, worktree: &str) -> Result<Vec<Terminal>, OpError> {
    let mut live = cx.tx.list::<Terminal>("live", "", usize::MAX)?;
    live.retain(|terminal| terminal.worktree_id.as_deref() == Some(worktree));
    Ok(live)
}

/// `running`, `exited` or `unknown`.
pub fn status_word(terminal: &Terminal) -> &'static str {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => "running",
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed => "exited",
        TerminalLife::Lost => "unknown",
    }
}

/// The agent that runs in a terminal: the one it was started with, or one that a person started in its
/// shell (contract 9.4).
pub fn agent_in(cx: &Cx<'_>, terminal: &Terminal) -> Option<String> {
    let own = terminal.agent.clone().filter(|agent| agent != "shell");
    own.or_else(|| cx.world.live(&terminal.id)?.agent)
}

/// What the agent in a terminal does, in the word that every view has for it: that of its attempt where nothing
/// shows it by itself.
pub fn activity(cx: &Cx<'_>, terminal: &Terminal, live: &LiveFacts) -> Result<String, OpError> {
    let attempt = caller::active_dispatch(cx, terminal)?.map(|dispatch| see(cx, dispatch)).transpose()?;
    Ok(fleet::activity(&live.activity, attempt.map(|attempt| attempt.word(cx))).to_owned())
}

/// The Run in whose tab a terminal is shown: that of its attempt, the one it was made for, or the one it
/// coordinates.
fn run_of(cx: &Cx<'_>, terminal: &Terminal) -> Result<Option<RunId>, OpError> {
    if let Some(dispatch) = caller::active_dispatch(cx, terminal)? {
        return Ok(Some(dispatch.run_id));
    }
    if terminal.run_id.is_some() {
        return Ok(terminal.run_id.clone());
    }
    let leaf = terminal.pane_key.leaf().unwrap_or(terminal.pane_key.as_str());
    Ok(cx.tx.first::<Run>("pane", leaf)?.map(|run| run.id))
}

/// The terminal that a verb means: the named one, else the one it runs in, else the only live one of the
/// worktree around the caller's directory.
fn target(cx: &mut Cx<'_>, flag: Option<&str>) -> Result<Terminal, OpError> {
    if let Some(handle) = flag {
        return caller::named_terminal(cx, handle);
    }
    if let Some(own) = caller::resolve(cx, None, None)?.terminal {
        return Ok(own);
    }
    let place = cx.caller.place.clone();
    let here = place.map(|place| cx.tx.first::<Worktree>("path", &place.root)).transpose()?.flatten();
    let mut live = match here {
        Some(worktree) => alive_in(cx, &worktree.id)?,
        None => Vec::new(),
    };
    match (live.pop(), live.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => {
            Err(no_target("No terminal was named, this does not run in one, and none runs in this folder."))
        }
        (Some(_), n) => Err(no_target(&format!(
            "No terminal was named, this does not run in one, and {} run in this folder.",
            n + 1
        ))),
    }
}

fn no_target(message: &str) -> OpError {
    refuse(ErrorCode::NoActiveTerminal, message).next_step("orca terminal list --json").into()
}

/// Refuses a terminal that has no pane any more.
fn check_shown(terminal: &Terminal) -> Result<(), OpError> {
    if terminal.life.has_pane() {
        return Ok(());
    }
    Err(refuse(ErrorCode::TerminalGone, format!("{} is closed; it has no pane.", terminal.id))
        .next_step("orca terminal list --json")
        .into())
}
