//! What a terminal's program tells the world besides text: events and answers, both bounded.

use serde::Deserialize;

/// Something the program in a terminal did that others may care about. All text in it is cleaned of
/// control and bidirectional characters and cut; it is still untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermEvent {
    /// The window title (OSC 0, OSC 2, title stack). Only the newest of a batch is kept.
    Title(String),
    /// The bell rang, once or more.
    Bell,
    /// A notification (OSC 9, 99, 777).
    Notify { title: Option<String>, body: String },
    /// A progress report (OSC 9;4).
    Progress { state: ProgressState, percent: u8 },
    /// The working directory as reported by the program (OSC 7), a `file:` URL or a path.
    Cwd(String),
    /// A shell integration mark (OSC 133) on the logical line with this absolute number.
    PromptMark { kind: PromptMark, line: u64 },
    /// Text the program wants on the clipboard (OSC 52); the caller's policy decides.
    Clipboard { selection: String, text: String },
    /// A status report of the program (OSC 7501).
    Status(StatusReport),
    /// What a program says of the agent in the terminal (OSC 9999).
    Agent(AgentReport),
    /// The alternate screen was entered (`true`) or left.
    AltScreen(bool),
    /// The parser failed and the current screen was lost; the program should be asked to redraw.
    ScreenLost,
}

/// The state of a progress report (OSC 9;4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressState {
    None,
    Running,
    Failed,
    Indeterminate,
    Paused,
}

/// The kind of a shell integration mark (OSC 133).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptMark {
    /// `A`: a prompt begins.
    PromptStart,
    /// `B`: the prompt ended, the person types.
    CommandStart,
    /// `C`: the command runs.
    OutputStart,
    /// `D`: the command ended, with its exit status where the shell says it.
    CommandEnd(Option<i32>),
}

/// The fields of an OSC 7501 report (`agents.md`, Program Status Protocol).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusReport {
    /// `idle`, `working`, `blocked`, `done`, `error`, `clear`, or what the program made up.
    pub state: String,
    /// The program's name for itself, for example `claude-code`.
    pub app: Option<String>,
    /// Why it is blocked: `permission`, `question`, `auth`.
    pub kind: Option<String>,
    /// The message, decoded.
    pub message: Option<String>,
}

/// The fields of an OSC 9999 report that tell what an agent does (contract 9.2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentReport {
    /// `working`, `blocked`, `waiting`, `done`, or what the program made up.
    pub state: String,
    /// The tool that a person is to allow, and what that is given.
    pub tool_name: String,
    pub tool_input: String,
    /// The turn is over because a person broke it off.
    pub interrupted: bool,
}

/// Answers kept for a program that does not read them; more are dropped (`terminal.md` 5.2).
const MAX_REPLY_BYTES: usize = 64 << 10;
/// Events kept until somebody takes them; more are dropped, titles and bells coalesce.
const MAX_EVENTS: usize = 256;

/// Where the emulation leaves answers and events until its owner takes them.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    replies: Vec<u8>,
    events: Vec<TermEvent>,
}

impl Outbox {
    /// Queues an answer to the program, whole or not at all.
    pub fn reply(&mut self, answer: &[u8]) {
        if self.replies.len() + answer.len() <= MAX_REPLY_BYTES {
            self.replies.extend_from_slice(answer);
        }
    }

    /// Queues an event.
    pub fn event(&mut self, event: TermEvent) {
        match event {
            TermEvent::Title(_) => self.events.retain(|e| !matches!(e, TermEvent::Title(_))),
            TermEvent::Bell if self.events.contains(&TermEvent::Bell) => return,
            _ => {}
        }
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    pub fn take_events(&mut self) -> Vec<TermEvent> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_nobody_reads_are_dropped_whole() {
        let mut out = Outbox::default();
        for _ in 0..20_000 {
            out.reply(b"\x1b[1;1R");
        }
        let replies = out.take_replies();
        assert!(replies.len() <= MAX_REPLY_BYTES && replies.len().is_multiple_of(6));
    }

    #[test]
    fn titles_and_bells_coalesce() {
        let mut out = Outbox::default();
        for title in ["a", "b"] {
            out.event(TermEvent::Title(title.to_owned()));
            out.event(TermEvent::Bell);
        }
        assert_eq!(out.take_events(), [TermEvent::Bell, TermEvent::Title("b".to_owned())]);
    }
}
