//! `terminal send`: what a machine types. Text with Enter into an agent is one prompt; everything else
//! is bytes.

use super::{agent_in, is_alive, target};
use crate::base::code::ErrorCode;
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::caller;
use crate::ops::cx::{Act, Answer, Cx, LiveFacts, Submit, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::reply;
use crate::proto::terminal::{PromptReceipt, SendReceipt, SentInput, TerminalSend};

const MAX_TEXT_BYTES: usize = 10 << 20;
const MAX_WAIT_SUBMIT_S: u64 = 3_600;

/// `terminal send`.
pub fn send(cx: &mut Cx<'_>, call: TerminalSend) -> Result<Answer, OpError> {
    let typed = call.text.clone().unwrap_or_default();
    if typed.is_empty() && !call.is_enter && !call.is_interrupt {
        return Err(invalid("Nothing to send: give --text, --enter or --interrupt."));
    }
    if typed.len() > MAX_TEXT_BYTES {
        return Err(invalid("--text is over 10 MiB; put the long text into a file and name it."));
    }
    let is_submit = call.is_enter && !call.is_interrupt && !typed.is_empty();
    if call.wait_submit_s.is_some() && !is_submit {
        return Err(invalid("--wait-submit needs --text and --enter, without --interrupt."));
    }
    if call.wait_submit_s.is_some_and(|seconds| !(1..=MAX_WAIT_SUBMIT_S).contains(&seconds)) {
        return Err(invalid("--wait-submit must be between 1 and 3600 seconds."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    check_reads(&terminal)?;
    match agent_in(cx, &terminal).filter(|_| is_submit) {
        Some(agent) => prompt(cx, &terminal, agent, typed, call.wait_submit_s),
        None if call.wait_submit_s.is_some() => refused(
            &terminal,
            "no-agent",
            "No agent that orca knows runs there, so no turn can be seen to begin; nothing was typed.",
        ),
        None => bytes(cx, terminal, typed, call.is_enter, call.is_interrupt),
    }
}

fn check_reads(terminal: &Terminal) -> Result<(), OpError> {
    let why = match terminal.life {
        TerminalLife::Running => return Ok(()),
        TerminalLife::Starting => "has not started yet",
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => {
            "has ended"
        }
    };
    let message = format!("{} {why}; nothing reads there.", terminal.id);
    Err(refuse(ErrorCode::TerminalGone, message).next_step("orca terminal list --json").into())
}

fn bytes(
    cx: &mut Cx<'_>,
    terminal: Terminal,
    typed: String,
    is_enter: bool,
    is_interrupt: bool,
) -> Result<Answer, OpError> {
    let mut bytes = typed.into_bytes();
    bytes.extend(is_enter.then_some(b'\r'));
    bytes.extend(is_interrupt.then_some(3));
    let send = receipt(&terminal, "text", bytes.len());
    cx.act(Act::Type { terminal: terminal.id, bytes });
    reply(&SentInput { send, warnings: Vec::new() })
}

fn receipt(terminal: &Terminal, mode: &str, bytes_written: usize) -> SendReceipt {
    SendReceipt {
        handle: terminal.id.clone(),
        accepted: true,
        bytes_written,
        refused_reason: None,
        mode: mode.to_owned(),
        prompt: None,
    }
}

fn refused(terminal: &Terminal, reason: &str, warning: &str) -> Result<Answer, OpError> {
    let send = SendReceipt {
        accepted: false,
        refused_reason: Some(reason.to_owned()),
        ..receipt(terminal, "prompt", 0)
    };
    reply(&SentInput { send, warnings: vec![warning.to_owned()] })
}

/// One prompt: paste, pause and Enter as one item, which waits for a person's draft. A dialog on the
/// screen would take the text for its answer, so nothing is typed then.
fn prompt(
    cx: &mut Cx<'_>,
    terminal: &Terminal,
    provider: String,
    text: String,
    wait_submit_s: Option<u64>,
) -> Result<Answer, OpError> {
    let live = cx.world.live(&terminal.id).unwrap_or_default();
    if live.activity == "blocked" {
        let warning = format!(
            "The agent waits for a person ({}). Nothing was typed. To answer its dialog send the key alone, without --enter.",
            live.activity_detail.as_deref().unwrap_or("a dialog is on its screen")
        );
        return refused(terminal, "permission", &warning);
    }
    let submit = Submit {
        terminal: terminal.id.clone(),
        request_id: cx.request_id.clone().unwrap_or_default(),
        provider,
        n_bytes: text.len() + 1,
        baseline: live.n_turns,
        was_working: live.activity == "working",
        runtime_id: cx.runtime_id.to_owned(),
    };
    cx.act(Act::Prompt { terminal: terminal.id.clone(), text });
    let Some(seconds) = wait_submit_s else {
        return reply(&submitted(terminal, &submit, 0, draft_warning(&live)));
    };
    let deadline = Some(cx.now.plus_ms(seconds * 1_000));
    Ok(Answer::Wait(Wait { on: WaitOn::Submit(submit), deadline, began: cx.now }))
}

fn draft_warning(live: &LiveFacts) -> Option<String> {
    live.has_draft
        .then(|| String::from("A person's text stands there; the prompt waits until it is sent or cleared."))
}

fn submitted(terminal: &Terminal, submit: &Submit, n_turns: u64, warning: Option<String>) -> SentInput {
    let mut stages = vec![String::from("input_accepted")];
    stages.extend((n_turns > 0).then(|| String::from("turn_started")));
    let prompt = PromptReceipt {
        request_id: submit.request_id.clone(),
        stages,
        provider: submit.provider.clone(),
        observation: n_turns,
        process_incarnation: terminal.incarnation.to_string(),
        generation: 1,
        baseline_working_sequence: submit.baseline,
    };
    let send = SendReceipt { prompt: Some(prompt), ..receipt(terminal, "prompt", submit.n_bytes) };
    SentInput { send, warnings: warning.into_iter().collect() }
}

/// A `terminal send --wait-submit` is asked again: it answers when a turn began, when the process ended
/// or at its deadline. It never types a second time.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Submit(submit) = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a prompt")));
    };
    let terminal = caller::named_terminal(cx, submit.terminal.as_str())?;
    if submit.runtime_id != cx.runtime_id {
        return Err(refuse(
            ErrorCode::OperationUnknown,
            "The server was restarted meanwhile; nobody knows whether the prompt was typed.",
        )
        .with("deliveryOutcome", "unknown")
        .with("retrySafe", false)
        .next_step(format!("orca terminal read --terminal {} --screen --json", terminal.id))
        .into());
    }
    let live = cx.world.live(&terminal.id).unwrap_or_default();
    // An agent in the middle of a turn takes the text when it pleases; more output is all there is to see.
    let has_more = submit.was_working
        && !live.has_draft
        && wake == Wake::Deadline
        && live.last_output_at.is_some_and(|at| at > wait.began);
    let n_turns = live.n_turns.saturating_sub(submit.baseline).max(u64::from(has_more));
    let is_over = !is_alive(&terminal);
    if n_turns == 0 && !is_over && wake == Wake::Changed {
        return Ok(Answer::Wait(wait));
    }
    let warning = match (n_turns, is_over) {
        (0, true) => Some(String::from("The process ended before a turn was seen to begin.")),
        (0, false) => draft_warning(&live)
            .or_else(|| Some(String::from("No turn was seen to begin; nothing was typed again."))),
        (_, _) => None,
    };
    reply(&submitted(&terminal, submit, n_turns, warning))
}
