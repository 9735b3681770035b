//! Colours of what verbs print for people: states, headings and warnings, nothing else. Each word that has
//! a colour says the same without it.
//!
//! A text is made with its colours and loses them at the end, where [`super::out::Out`] writes to something
//! that shows none. So a padded word is padded before it is tinted, and nothing tinted is measured.

use crate::config::env::Environment;
use crate::model::dispatch::DispatchState;
use crate::model::gate::GateState;
use crate::model::message::MessageType;
use crate::model::task::TaskState;
use crate::model::terminal::TerminalLife;
use crate::model::worker::WorkerState;

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Heading,
    Good,
    /// Somebody is at it.
    Busy,
    /// Waits for somebody.
    Waits,
    Bad,
}

/// Where colours are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tints {
    pub stdout: bool,
    pub stderr: bool,
}

impl Tints {
    /// As the environment wants it: `NO_COLOR` none, else `CLICOLOR_FORCE` all, else on a terminal that is
    /// no `dumb` one.
    pub fn of(environment: &Environment, is_stdout_terminal: bool, is_stderr_terminal: bool) -> Self {
        let shows = |is_terminal: bool| {
            let is_able = is_terminal && environment.term != "dumb";
            !environment.is_colour_unwanted && (environment.is_colour_forced || is_able)
        };
        Self { stdout: shows(is_stdout_terminal), stderr: shows(is_stderr_terminal) }
    }
}

/// `text` in the colour of its tone; the host's own 16 colours, so that it suits dark and light ones.
pub fn tinted(tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Heading => "1",
        Tone::Good => "32",
        Tone::Busy => "34",
        Tone::Waits => "33",
        Tone::Bad => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// `warning: …`, for each line of the text.
pub fn warning(text: &str) -> String {
    let lines = text.lines().map(|line| format!("{} {line}", tinted(Tone::Waits, "warning:")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text without its colours. Nothing from outside has any: what verbs print holds no control characters.
pub fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// Of a Task.
pub fn task(state: TaskState) -> Tone {
    match state {
        TaskState::Pending | TaskState::Ready => Tone::Plain,
        TaskState::Dispatched => Tone::Busy,
        TaskState::Completed => Tone::Good,
        TaskState::Failed => Tone::Bad,
        TaskState::Blocked => Tone::Waits,
    }
}

/// Of an attempt.
pub fn dispatch(state: DispatchState) -> Tone {
    match state {
        DispatchState::Pending | DispatchState::Dispatched => Tone::Busy,
        DispatchState::Completed => Tone::Good,
        DispatchState::Failed | DispatchState::CircuitBroken => Tone::Bad,
    }
}

/// Of a worker.
pub fn worker(state: WorkerState) -> Tone {
    match state {
        WorkerState::Starting | WorkerState::Ready | WorkerState::Stopping => Tone::Busy,
        WorkerState::Succeeded => Tone::Good,
        WorkerState::StartUnknown | WorkerState::StopUnknown => Tone::Waits,
        WorkerState::Failed => Tone::Bad,
        WorkerState::Stopped | WorkerState::Abandoned => Tone::Plain,
    }
}

/// Of the receipt of a start.
pub fn start(state: &str) -> Tone {
    match state {
        "ready" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Waits,
    }
}

/// Of a gate.
pub fn gate(state: GateState) -> Tone {
    match state {
        GateState::Pending => Tone::Waits,
        GateState::Resolved => Tone::Good,
        GateState::Timeout => Tone::Plain,
    }
}

/// Of a terminal.
pub fn terminal(life: TerminalLife) -> Tone {
    match life {
        TerminalLife::Starting | TerminalLife::Running => Tone::Good,
        TerminalLife::Exited | TerminalLife::Closed => Tone::Plain,
        TerminalLife::Failed | TerminalLife::Lost => Tone::Bad,
    }
}

/// Of a message.
pub fn message(kind: MessageType) -> Tone {
    match kind {
        MessageType::Question | MessageType::DecisionGate | MessageType::Escalation => Tone::Waits,
        MessageType::WorkerDone | MessageType::MergeReady => Tone::Good,
        MessageType::Status | MessageType::Dispatch | MessageType::Handoff | MessageType::Heartbeat => {
            Tone::Plain
        }
    }
}

/// Of what is seen of an agent (contract 9.1).
pub fn activity(word: &str) -> Tone {
    match word {
        "working" => Tone::Busy,
        "permission" | "blocked" | "waiting" => Tone::Waits,
        "done" | "idle" => Tone::Good,
        "error" => Tone::Bad,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_only_where_they_are_wanted_and_shown() {
        let check = |pairs: &[(&str, &str)], terminals: (bool, bool), expected: (bool, bool)| {
            let environment = Environment::from_pairs(pairs.iter().copied(), "/");
            let tints = Tints::of(&environment, terminals.0, terminals.1);
            assert_eq!((tints.stdout, tints.stderr), expected, "{pairs:?} {terminals:?}");
        };
        check(&[], (true, false), (true, false));
        check(&[], (false, true), (false, true));
        check(&[("TERM", "dumb")], (true, true), (false, false));
        check(&[("NO_COLOR", "1")], (true, true), (false, false));
        check(&[("NO_COLOR", "")], (true, true), (true, true));
        check(&[("CLICOLOR_FORCE", "1")], (false, false), (true, true));
        check(&[("CLICOLOR_FORCE", "0")], (false, false), (false, false));
        check(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], (true, true), (false, false));
        check(&[("CLICOLOR", "0")], (true, true), (false, false));
    }

    #[test]
    fn a_text_loses_its_colours_and_nothing_else() {
        let text = format!("a {} m {}", tinted(Tone::Bad, &format!("{:<6}", "x")), tinted(Tone::Good, "ö"));
        assert_eq!(plain(&text), "a x      m ö");
        assert_eq!(plain("m[m"), "m[m");
    }
}
