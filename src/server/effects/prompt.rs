//! Typing a brief into an agent that takes none on its command line: wait until it takes text, paste,
//! settle, Enter, watch for work. What is not seen is only marked (contract 5.7, design 12).

use crate::agent::detect::AgentState;
use crate::agent::prompt::{self, Step};
use crate::base::id::TerminalId;
use crate::model::effect::Outcome;
use crate::server::pane::{Inner, Item, Pane, Prompt, Typing, is_typed};
use crate::server::terminals::Terminals;
use std::time::{Duration, Instant};

/// Without rules for its screen, an agent that is quiet for this long takes text.
const QUIET: Duration = Duration::from_millis(1_500);
/// How long a sign of work may take after Enter.
const WATCH: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Delivers the brief of the effect with the id `effect`. What an earlier server typed of it is not typed
/// again: the rest is. On its way `tell` hears, once each, that something on the screen or a person's draft
/// holds it back, and that it was typed; it is typed when the way is free, unless `is_wanted` says that its
/// attempt was given up meanwhile.
pub(super) fn deliver(
    terminals: &Terminals,
    terminal: &TerminalId,
    (effect, text): (&str, &str),
    timeout_ms: u64,
    tell: &dyn Fn(Outcome),
    is_wanted: &dyn Fn() -> bool,
) -> Outcome {
    while terminals.is_unheard(terminal) {
        if !is_wanted() {
            return withdrawn();
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let Some(pane) = terminals.pane(terminal) else {
        return Outcome::Failed {
            code: String::from("terminal_gone"),
            message: String::from("the terminal has ended"),
        };
    };
    let steps = match pane.preset() {
        Some(preset) => prompt::injection(&preset, text),
        None => vec![Step::Paste(text.to_owned()), Step::Settle { ms: 300 }, Step::Enter],
    };
    let mark = pane.dir.join(format!("brief-{effect}"));
    let typed = Typing::read(&mark);
    let is_over = |inner: &Inner| is_at_work(inner.state) || inner.end.is_some();
    if typed == Some(Typing::Sent) {
        tell(Outcome::PromptTyped);
        pane.wait_until(WATCH, is_over);
        return seen(&pane);
    }
    if let Some(ended) = await_ready(&pane, Duration::from_millis(timeout_ms), tell, is_wanted) {
        return ended;
    }
    let again = steps.iter().find_map(|step| match step {
        Step::EnterAgain { after_ms } => Some(*after_ms),
        Step::AwaitReady { .. } | Step::Type(_) | Step::Paste(_) | Step::Settle { .. } | Step::Enter => None,
    });
    let is_left = |step: &Step| {
        is_typed(step) && (typed.is_none() || matches!(step, Step::Settle { .. } | Step::Enter))
    };
    let steps = steps.into_iter().filter(is_left).collect();
    pane.push(Item::Prompt(Prompt { steps, mark: Some(mark) }));
    if !await_typed(&pane, tell, is_wanted) {
        return withdrawn();
    }
    tell(Outcome::PromptTyped);
    let first = again.map_or(WATCH, Duration::from_millis);
    if !pane.wait_until(first, is_over) && again.is_some() {
        pane.push(Item::Machine(b"\r".to_vec()));
        pane.wait_until(WATCH, is_over);
    }
    seen(&pane)
}

/// What is seen of a brief that was typed.
fn seen(pane: &Pane) -> Outcome {
    let inner = pane.inner();
    Outcome::PromptDelivered { is_confirmed: is_at_work(inner.state) && inner.end.is_none() }
}

fn is_at_work(state: AgentState) -> bool {
    state == AgentState::Working || state.is_blocked()
}

/// Waits until the agent takes text. Past the deadline the text is typed all the same, except into a
/// dialog, which holds it back for as long as it stands.
fn await_ready(
    pane: &Pane,
    deadline: Duration,
    tell: &dyn Fn(Outcome),
    is_wanted: &dyn Fn() -> bool,
) -> Option<Outcome> {
    let began = Instant::now();
    let mut has_told = false;
    loop {
        let (state, detail, is_over) = {
            let inner = pane.inner();
            (inner.state, inner.live.activity_detail.clone(), inner.end.is_some())
        };
        if is_over {
            return Some(Outcome::Failed {
                code: String::from("terminal_gone"),
                message: String::from("the agent ended before it could be given its brief"),
            });
        }
        if !is_wanted() {
            return Some(withdrawn());
        }
        if state.is_blocked() {
            if !has_told {
                has_told = true;
                let reason = detail.unwrap_or_else(|| String::from("a dialog is on the agent's screen"));
                tell(Outcome::PromptBlocked { reason });
            }
        } else if pane.is_ready().unwrap_or_else(|| is_quiet(pane)) || began.elapsed() > deadline {
            return None;
        }
        pane.wait_until(LOOK_EVERY, |inner| inner.end.is_some());
    }
}

fn is_quiet(pane: &Pane) -> bool {
    let facts = pane.live_facts();
    let now = crate::base::clock::Clock::System.now();
    facts.last_output_at.is_some_and(|at| now.since_ms(at) >= QUIET.as_millis() as u64)
}

fn withdrawn() -> Outcome {
    Outcome::Failed {
        code: String::from("dispatch_inactive"),
        message: String::from("the brief was withdrawn"),
    }
}

/// Waits until the prompt has left the queue; a person's draft may hold it for as long as it stands.
/// False: it was withdrawn before anything of it was typed.
fn await_typed(pane: &Pane, tell: &dyn Fn(Outcome), is_wanted: &dyn Fn() -> bool) -> bool {
    let began = Instant::now();
    let mut has_told = false;
    loop {
        let (is_waiting, has_draft) = {
            let queue = pane.queue();
            let has_prompt = queue.items.iter().any(|item| matches!(item, Item::Prompt(_)));
            (has_prompt || !queue.partial.is_empty(), queue.has_draft)
        };
        if !is_waiting || pane.inner().end.is_some() {
            return true;
        }
        if !is_wanted() && pane.withdraw_prompts() {
            return false;
        }
        if has_draft && !has_told && began.elapsed() > QUIET {
            has_told = true;
            let reason = String::from("a person is typing in the agent's terminal");
            tell(Outcome::PromptBlocked { reason });
        }
        pane.wait_until(LOOK_EVERY, |inner| inner.end.is_some());
    }
}
