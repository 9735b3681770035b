//! `terminal wait`: until a process ends or an agent is idle.

use super::{is_alive, status_word, target};
use crate::base::clock::Timestamp;
use crate::ops::caller;
use crate::ops::cx::{Answer, Cx, LiveFacts, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid};
use crate::ops::reply;
use crate::proto::terminal::{DEFAULT_WAIT_MS, TerminalWait, WaitReport, Waited};

/// How long an agent without signs of its own must be quiet.
const QUIET_MS: u64 = 1_500;

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
    let until = cx.now.plus_ms(timeout_ms);
    let on = WaitOn::Terminal { terminal: terminal.id, condition: call.condition, until };
    resume(cx, Wait { on, deadline: Some(until), began: cx.now }, Wake::Changed)
}

/// A waiting `terminal wait` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Terminal { terminal, condition, until } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a terminal")));
    };
    let terminal = caller::named_terminal(cx, terminal.as_str())?;
    let is_over = !is_alive(&terminal);
    let live = cx.world.live(&terminal.id);
    let blocked = live.clone().filter(|live| live.activity == "blocked");
    let rest_at = live.as_ref().and_then(rest_at);
    let is_idle = live.as_ref().is_some_and(|live| matches!(live.activity.as_str(), "idle" | "done"))
        || rest_at.is_some_and(|at| at <= cx.now);
    let is_satisfied = if condition == "exit" { is_over } else { is_idle && !is_over };
    // The deadline that passed may be that of a look in between.
    let is_late = wake == Wake::Deadline && wait.deadline >= Some(*until);
    let is_final = is_satisfied || is_over || is_late || (condition != "exit" && blocked.is_some());
    if !is_final {
        let look_at = rest_at.filter(|_| condition != "exit").map_or(*until, |at| at.min(*until));
        return Ok(Answer::Wait(Wait { deadline: Some(look_at), ..wait }));
    }
    let detail = blocked.as_ref().and_then(|live| live.activity_detail.clone());
    reply(&Waited {
        wait: WaitReport {
            handle: terminal.id.clone(),
            condition: condition.clone(),
            satisfied: is_satisfied,
            status: status_word(&terminal).to_owned(),
            exit_code: terminal.end.as_ref().and_then(|end| end.exit_code),
            exit_cause: terminal.end.as_ref().map(ToString::to_string),
            blocked_reason: blocked
                .map(|live| blocked_reason(live.agent.as_deref(), detail.as_deref().unwrap_or_default())),
            blocked_detail: detail,
        },
    })
}

/// When an agent whose state nothing shows counts as idle: it takes pastes and has been quiet until then
/// (contract 5.6).
fn rest_at(live: &LiveFacts) -> Option<Timestamp> {
    let is_mute = live.agent.is_some() && live.activity == "unknown" && live.takes_pastes;
    live.last_output_at.filter(|_| is_mute).map(|at| at.plus_ms(QUIET_MS))
}

/// The word of contract 5.6 for what is on the agent's screen.
fn blocked_reason(agent: Option<&str>, detail: &str) -> String {
    let detail = detail.to_lowercase();
    let codex = [
        ("hook", "codex-hooks-review-prompt"),
        ("trust", "codex-trust-workspace"),
        ("update", "codex-update-prompt"),
        ("migrat", "codex-model-migration-prompt"),
        ("working directory", "codex-cwd-prompt"),
    ];
    let own = codex.iter().find(|(sign, _)| detail.contains(sign)).filter(|_| agent == Some("codex"));
    own.map_or("agent-approval-prompt", |(_, word)| word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::blocked_reason;

    #[test]
    fn codex_dialogs_have_words_of_their_own() {
        let check = |agent: &str, detail: &str, expected: &str| {
            assert_eq!(blocked_reason(Some(agent), detail), expected, "{agent}: {detail}");
        };
        check("codex", "Do you trust the contents of this directory?", "codex-trust-workspace");
        check("codex", "Update available!", "codex-update-prompt");
        check("codex", "Allow command?", "agent-approval-prompt");
        check("claude", "Do you trust the files in this folder?", "agent-approval-prompt");
    }
}
