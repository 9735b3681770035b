//! What an agent's hook reports: what it is doing, and the session that it leads. The first counts from any
//! process of its pane and is kept by the live terminal alone; the second only from the very process that works
//! at the attempt, once it does (contract 7.6), and with a prompt, which is where a session may become that of
//! another attempt. Anything else is let pass in silence.

use super::caller;
use super::cx::{Act, Answer, Cx};
use super::error::OpError;
use super::look::{Look, Seen, SessionWish, Sight, look, mismatch};
use super::{reply, terminal};
use crate::agent::hook::{HookSaid, Meaning};
use crate::model::dispatch::Dispatch;
use crate::model::session::{Session, TranscriptFormat, is_session_id, is_transcript_path};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::proto::hook::{HookReport, HookReported};

fn ignored(reason: &str) -> Result<Answer, OpError> {
    reply(&HookReported { recorded: false, reason: Some(reason.to_owned()) })
}

/// `orca hook <agent>`.
pub fn report(cx: &mut Cx<'_>, call: HookReport) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, None, None)?;
    let Some(terminal) = caller.terminal else { return ignored("no pane") };
    if caller.conflicting.is_some() || cx.caller.is_elsewhere {
        return ignored("another process");
    }
    if !matches!(terminal.life, TerminalLife::Starting | TerminalLife::Running) {
        return ignored("another process");
    }
    let meaning = meaning(cx, &terminal, &call);
    // A call that has looked at a file is the same one again.
    if let Some(meaning) = meaning.filter(|_| cx.caller.seen.is_none()) {
        let said = HookSaid::new(meaning, &call.tool_name, &call.tool_input, call.is_interrupted);
        cx.act(Act::Hear { terminal: terminal.id.clone(), said });
    }
    if !meaning.is_none_or(|meaning| meaning == Meaning::Prompt) {
        return ignored("no prompt");
    }
    let Some(dispatch) = caller.dispatch else { return ignored("no attempt") };
    session(cx, call, terminal, dispatch)
}

/// What the event means, where the agent in the terminal is the one that the hook was made for.
fn meaning(cx: &Cx<'_>, terminal: &Terminal, call: &HookReport) -> Option<Meaning> {
    let reported = cx.rules.agents.get(&call.agent)?;
    let agent = cx.rules.agents.get(&terminal::agent_in(cx, terminal)?)?;
    agent.hooks.meaning(&call.event).filter(|_| agent.id == reported.id)
}

/// Keeps the session as that of the attempt.
fn session(
    cx: &mut Cx<'_>,
    call: HookReport,
    terminal: Terminal,
    dispatch: Dispatch,
) -> Result<Answer, OpError> {
    if dispatch.process_incarnation.as_ref() != Some(&terminal.incarnation) {
        return ignored("another process");
    }
    let reported = cx.rules.agents.get(&call.agent).and_then(|preset| preset.transcript);
    let Some(format) = format_in(cx, &terminal).filter(|format| reported == Some(*format)) else {
        return ignored("another agent");
    };
    if !is_session_id(&call.session_id) || !is_transcript_path(&call.transcript_path, &call.session_id) {
        return ignored("no transcript");
    }
    let known = cx.tx.get::<Session>(dispatch.id.as_str())?;
    let is_first = known.is_none();
    if known.is_some_and(|known| known.session_id == call.session_id && known.format == format) {
        return reply(&HookReported { recorded: true, reason: None });
    }
    let wish = SessionWish { format, path: call.transcript_path, env: terminal.launch.env.clone() };
    let file = match look(cx, Look::Session(wish))? {
        Sight::Ask(answer) => return Ok(answer),
        Sight::Seen(Seen::Session(file)) => file,
        Sight::Seen(_) => return Err(mismatch()),
    };
    let Some(file) = file else { return ignored("no transcript") };
    let begins_at = if is_first && began_with(&terminal, &dispatch) { 0 } else { file.n_bytes };
    end_earlier(cx, &terminal, &call.session_id, begins_at)?;
    cx.tx.put(&Session {
        begins_at,
        ends_at: None,
        dispatch_id: dispatch.id,
        terminal_id: terminal.id,
        incarnation: terminal.incarnation,
        format,
        session_id: call.session_id,
        path: file.path,
        root: file.root,
        reported_at: cx.now,
    })?;
    reply(&HookReported { recorded: true, reason: None })
}

/// An earlier attempt in the same session ends where this one begins.
fn end_earlier(cx: &mut Cx<'_>, terminal: &Terminal, session: &str, begins_at: u64) -> Result<(), OpError> {
    for mut earlier in cx.tx.list::<Session>("terminal", terminal.id.as_str(), usize::MAX)? {
        if earlier.session_id == session && earlier.ends_at.is_none() {
            earlier.ends_at = Some(begins_at);
            cx.tx.put(&earlier)?;
        }
    }
    Ok(())
}

/// The shape of the transcripts of the agent in a terminal.
pub fn format_in(cx: &Cx<'_>, terminal: &Terminal) -> Option<TranscriptFormat> {
    cx.rules.agents.get(&terminal::agent_in(cx, terminal)?)?.transcript
}

/// The agent was started for this attempt, so all of its session is about it.
fn began_with(terminal: &Terminal, dispatch: &Dispatch) -> bool {
    terminal
        .launch
        .env
        .iter()
        .any(|(name, value)| name == "ORCA_DISPATCH_ID" && value == dispatch.id.as_str())
}
