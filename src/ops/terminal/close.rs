//! Ending processes: `terminal close`.

use super::is_alive;
use crate::base::code::ErrorCode;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{caller, reply, select};
use crate::proto::terminal::{CloseReport, Closed, TerminalClose};
use serde_json::json;

/// How long a close may take before it is reported as not confirmed.
pub const CLOSE_PATIENCE_MS: u64 = 20_000;

/// `terminal close`: ends the process of one terminal, or of all in a worktree. An attempt that runs
/// there ends as lost, like any other end of a process.
pub fn close(cx: &mut Cx<'_>, call: TerminalClose) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let terminals = match (call.terminal.as_deref(), call.worktree.as_deref(), call.is_all) {
        (Some(handle), None, false) => vec![caller::named_terminal(cx, handle)?],
        (None, Some(selector), true) => {
            let worktree = select::worktree(cx, selector)?;
            cx.tx.list::<Terminal>("worktree", &worktree.id, usize::MAX)?
        }
        (None, None, false) => vec![caller.terminal.ok_or_else(|| {
            refuse(ErrorCode::NoActiveTerminal, "No terminal was named, and this does not run in one.")
                .next_step("orca terminal list --json")
        })?],
        _ => return Err(invalid("Give --terminal, or --worktree together with --all.")),
    };
    let mut handles = Vec::new();
    let mut effects = Vec::new();
    // One that is named goes also where its process ended before; a whole worktree only ends processes.
    let is_meant = |terminal: &Terminal| is_alive(terminal) || (!call.is_all && is_left(terminal));
    for terminal in terminals.into_iter().filter(is_meant) {
        handles.push(terminal.id.clone());
        effects.push(cx.request(Effect::CloseTerminal { terminal_id: terminal.id }, None, None)?);
    }
    let Some(effect) = effects.last().cloned() else {
        return reply(&Closed { close: CloseReport::default() });
    };
    let then = json!({ "verb": "terminal.close", "handles": handles, "effects": effects });
    let on = WaitOn::Effect { effect, then };
    Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(CLOSE_PATIENCE_MS)), began: cx.now }))
}

/// Its process is gone and its pane is still there.
fn is_left(terminal: &Terminal) -> bool {
    match terminal.life {
        TerminalLife::Exited | TerminalLife::Lost => true,
        TerminalLife::Starting | TerminalLife::Running | TerminalLife::Closed | TerminalLife::Failed => false,
    }
}

/// A waiting `terminal close` is asked again: it answers once every process is known to be gone, or
/// says at its deadline which ones are not.
pub fn closed(cx: &Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Effect { then, .. } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a close")));
    };
    let names = |field: &str| -> Vec<String> {
        let found = then[field].as_array().into_iter().flatten();
        found.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for effect in names("effects") {
        if wake == Wake::Changed && cx.tx.get::<OpenEffect>(&effect)?.is_some() {
            return Ok(Answer::Wait(wait));
        }
    }
    let mut close = CloseReport::default();
    for handle in names("handles") {
        let terminal = caller::named_terminal(cx, &handle)?;
        if terminal.life != TerminalLife::Closed {
            close.unconfirmed.push(terminal.id.clone());
        }
        close.handles.push(terminal.id);
    }
    close.handle = close.handles.first().cloned();
    close.pty_killed = close.unconfirmed.is_empty();
    reply(&Closed { close })
}
