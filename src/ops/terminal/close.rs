//! Ending processes: `terminal close` and its older form `stop`. An attempt that runs there ends as lost,
//! like any other end of a process.

use super::is_alive;
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, EffectId, TerminalId};
use crate::model::effect::{Effect, OpenEffect};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{caller, reply, select};
use crate::proto::terminal::{CloseReport, Closed, StoppedTerminals, TerminalClose, TerminalStop};
use serde_json::json;

/// How long a close may take before it is reported as not confirmed.
pub const CLOSE_PATIENCE_MS: u64 = 20_000;
/// The longest chain of splits that is followed.
const MAX_SPLITS: usize = 100;

/// `terminal close`: one terminal, its whole split group, or all in a worktree.
pub fn close(cx: &mut Cx<'_>, call: TerminalClose) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let (mode, terminals) = match (call.terminal.as_deref(), call.worktree.as_deref(), call.is_all) {
        (None, Some(selector), true) if !call.is_tab => ("worktree", of_worktree(cx, selector)?),
        (handle, None, false) => {
            let one = match handle {
                Some(handle) => caller::named_terminal(cx, handle)?,
                None => caller.terminal.ok_or_else(|| {
                    refuse(
                        ErrorCode::NoActiveTerminal,
                        "No terminal was named, and this does not run in one.",
                    )
                    .next_step("orca terminal list --json")
                })?,
            };
            if call.is_tab { ("tab", group_of(cx, one)?) } else { ("pane", vec![one]) }
        }
        _ => return Err(invalid("Give --terminal, or --worktree together with --all.")),
    };
    end(cx, "terminal.close", mode, terminals)
}

/// `terminal stop`.
pub fn stop(cx: &mut Cx<'_>, call: TerminalStop) -> Result<Answer, OpError> {
    caller::resolve(cx, None, None)?;
    let terminals = of_worktree(cx, &call.worktree)?;
    end(cx, "terminal.stop", "worktree", terminals)
}

fn of_worktree(cx: &mut Cx<'_>, selector: &str) -> Result<Vec<Terminal>, OpError> {
    let worktree = select::worktree(cx, selector)?;
    Ok(cx.tx.list::<Terminal>("worktree", &worktree.id, usize::MAX)?)
}

/// A terminal with the live ones that it was split from or that were split from it; itself first.
fn group_of(cx: &Cx<'_>, one: Terminal) -> Result<Vec<Terminal>, OpError> {
    let root = root_of(cx, &one)?;
    let mut group = Vec::new();
    for other in cx.tx.list::<Terminal>("live", "", usize::MAX)? {
        if other.id != one.id && root_of(cx, &other)? == root {
            group.push(other);
        }
    }
    group.insert(0, one);
    Ok(group)
}

fn root_of(cx: &Cx<'_>, terminal: &Terminal) -> Result<TerminalId, OpError> {
    let mut root = terminal.id.clone();
    let mut parent = terminal.split.as_ref().map(|split| split.of.clone());
    for _ in 0..MAX_SPLITS {
        let Some(id) = parent.take() else { break };
        let row = cx.tx.get::<Terminal>(id.as_str())?;
        parent = row.and_then(|row| row.split).map(|split| split.of);
        root = id;
    }
    Ok(root)
}

/// Requests the end of a terminal's process, which is the doing of whoever asks.
pub fn request(cx: &mut Cx<'_>, id: &TerminalId, dispatch: Option<DispatchId>) -> Result<EffectId, OpError> {
    note_caller(cx, id)?;
    cx.request(Effect::close(id.clone()), dispatch, None)
}

/// From now on the end of a terminal's process is the doing of whoever calls.
pub fn note_caller(cx: &mut Cx<'_>, id: &TerminalId) -> Result<(), OpError> {
    let by = cx.by.clone();
    note_closing(cx, id, &by)
}

/// The process was not ended after all.
pub fn forget_caller(cx: &mut Cx<'_>, id: &TerminalId) -> Result<(), OpError> {
    let Some(mut kept) = cx.tx.get::<Terminal>(id.as_str())?.filter(is_alive) else { return Ok(()) };
    kept.closed_by = None;
    Ok(cx.tx.put(&kept)?)
}

/// Every process that `is_meant` is to end, or has ended, because the server is stopped.
pub fn all_by_stop(cx: &mut Cx<'_>, is_meant: impl Fn(&TerminalId) -> bool) -> Result<(), OpError> {
    let mut live = cx.tx.list::<Terminal>("live", "", usize::MAX)?;
    live.retain(|terminal| is_meant(&terminal.id));
    for terminal in live {
        note_closing(cx, &terminal.id, "orca server stop")?;
    }
    Ok(())
}

/// Remembers who wants a process to end; the first one to ask counts.
fn note_closing(cx: &mut Cx<'_>, id: &TerminalId, by: &str) -> Result<(), OpError> {
    let asked = cx.tx.get::<Terminal>(id.as_str())?;
    let Some(mut terminal) = asked.filter(|terminal| is_alive(terminal) && terminal.closed_by.is_none())
    else {
        return Ok(());
    };
    terminal.closed_by = Some(by.to_owned());
    Ok(cx.tx.put(&terminal)?)
}

fn end(cx: &mut Cx<'_>, verb: &str, mode: &str, terminals: Vec<Terminal>) -> Result<Answer, OpError> {
    let mut handles = Vec::new();
    let mut effects = Vec::new();
    // One that is named goes also where its process ended before; a whole worktree only ends processes.
    let is_meant = |terminal: &Terminal| is_alive(terminal) || (mode != "worktree" && is_left(terminal));
    for terminal in terminals.into_iter().filter(is_meant) {
        handles.push(terminal.id.clone());
        effects.push(request(cx, &terminal.id, None)?);
    }
    let Some(effect) = effects.last().cloned() else {
        return report(
            verb,
            CloseReport { close_mode: mode.to_owned(), pty_killed: true, ..CloseReport::default() },
        );
    };
    let then = json!({ "verb": verb, "mode": mode, "handles": handles, "effects": effects });
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

fn report(verb: &str, close: CloseReport) -> Result<Answer, OpError> {
    if verb == "terminal.stop" {
        return reply(&StoppedTerminals { stopped: close.handles.len() - close.unconfirmed.len() });
    }
    reply(&Closed { close })
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
    let mut close = CloseReport {
        close_mode: then["mode"].as_str().unwrap_or("pane").to_owned(),
        ..CloseReport::default()
    };
    for handle in names("handles") {
        let terminal = caller::named_terminal(cx, &handle)?;
        if terminal.life != TerminalLife::Closed {
            let verdict = if is_alive(&terminal) { "live" } else { "unverifiable" };
            close.pty_stop_verdict = Some(verdict.to_owned());
            close.pty_stop_reason = Some(format!("{} was not seen to end in time", terminal.id));
            close.unconfirmed.push(terminal.id.clone());
        }
        close.tab_id.get_or_insert(terminal.tab_id);
        close.handles.push(terminal.id);
    }
    close.handle = close.handles.first().cloned();
    close.pty_killed = close.unconfirmed.is_empty();
    report(then["verb"].as_str().unwrap_or_default(), close)
}
