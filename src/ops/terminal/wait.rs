//! `terminal wait`: until a process ends or an agent is idle.

use super::{is_alive, status_word, target};
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid};
use crate::ops::reply;
use crate::proto::terminal::{TerminalWait, WaitReport, Waited};

const DEFAULT_WAIT_MS: u64 = 300_000;

/// `terminal wait`.
pub fn wait(cx: &mut Cx<'_>, call: TerminalWait) -> Result<Answer, OpError> {
    if !matches!(call.condition.as_str(), "exit" | "tui-idle") {
        return Err(invalid("--for must be exit or tui-idle."));
    }
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_WAIT_MS);
    if timeout_ms == 0 || timeout_ms > 86_400_000 {
        return Err(invalid("--timeout-ms must be between 1 and 86400000."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    let on = WaitOn::Terminal { terminal: terminal.id, condition: call.condition };
    resume(cx, Wait { on, deadline: Some(cx.now.plus_ms(timeout_ms)), began: cx.now }, Wake::Changed)
}

/// A waiting `terminal wait` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Terminal { terminal, condition } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a terminal")));
    };
    let terminal = caller::named_terminal(cx, terminal.as_str())?;
    let is_over = !is_alive(&terminal);
    let live = cx.world.live(&terminal.id);
    let is_idle = live.as_ref().is_some_and(|live| matches!(live.activity.as_str(), "idle" | "done"));
    let blocked = live.filter(|live| live.activity == "blocked");
    let is_satisfied = if condition == "exit" { is_over } else { is_idle };
    let is_final =
        is_satisfied || is_over || wake == Wake::Deadline || (condition != "exit" && blocked.is_some());
    if !is_final {
        return Ok(Answer::Wait(wait));
    }
    reply(&Waited {
        wait: WaitReport {
            handle: terminal.id.clone(),
            condition: condition.clone(),
            satisfied: is_satisfied,
            status: status_word(&terminal).to_owned(),
            exit_code: terminal.end.as_ref().and_then(|end| end.exit_code),
            exit_cause: terminal.end.as_ref().map(ToString::to_string),
            blocked_reason: blocked
                .map(|live| live.activity_detail.unwrap_or_else(|| String::from("agent-approval-prompt"))),
        },
    })
}
