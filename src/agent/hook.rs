//! The hooks of an agent: the command that they run, how an agent comes to trust it, and from what they tell to
//! what the agent is doing (contract 9.2). Which event means what is in the presets.
//!
//! A report is about one moment, so it is believed only until something newer says otherwise: the next report,
//! or the pane, once that has shown the same and then shows another thing. Hooks miss what nobody tells them,
//! a turn that a person broke off for example.

use super::detect::AgentState;
use crate::base::clock::Timestamp;
use crate::base::text::{cut_chars, one_line, shell_quote};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How long a report is believed (contract 9.2).
const FRESH_MS: u64 = 30 * 60 * 1_000;
/// How long after an interrupt a tool may still tell of its end without having been begun anew.
const LATE_MS: u64 = 15_000;
/// The most characters of a tool's name and of what it is given.
const MAX_TOOL: usize = 60;
const MAX_INPUT: usize = 160;

/// What an event of an agent's hooks means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A turn begins.
    Prompt,
    /// A tool is about to run or has run.
    Tool,
    /// A person has to allow something.
    Permission,
    /// The turn is over.
    Stop,
    /// The session is.
    End,
}

impl Meaning {
    /// What a state of contract 9.1 means that a program reports by itself; None for a word that nobody knows.
    pub fn of_state(state: &str) -> Option<Self> {
        match state {
            "working" => Some(Self::Prompt),
            "blocked" | "waiting" => Some(Self::Permission),
            "done" => Some(Self::Stop),
            _ => None,
        }
    }
}

/// The names of an agent's events by what they mean; it has no hook for any other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HookRules {
    pub prompt: Vec<String>,
    pub tool: Vec<String>,
    pub permission: Vec<String>,
    pub stop: Vec<String>,
    pub end: Vec<String>,
}

impl HookRules {
    fn all(&self) -> [(Meaning, &[String]); 5] {
        [
            (Meaning::Prompt, &self.prompt),
            (Meaning::Tool, &self.tool),
            (Meaning::Permission, &self.permission),
            (Meaning::Stop, &self.stop),
            (Meaning::End, &self.end),
        ]
    }

    /// What this event means; None where it tells no state.
    pub fn meaning(&self, event: &str) -> Option<Meaning> {
        let all = self.all();
        let found = all.into_iter().find(|(_, names)| names.iter().any(|name| name == event));
        found.map(|(meaning, _)| meaning)
    }

    /// The settings by which all of these events run `command` for at most 5 s, as JSON.
    pub fn settings(&self, command: &str) -> String {
        let hook =
            serde_json::json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] }]);
        let names = self.all().into_iter().flat_map(|(_, names)| names);
        let events: Vec<String> =
            names.map(|name| format!("{}:{hook}", Value::from(name.as_str()))).collect();
        format!("{{{}}}", events.join(","))
    }
}

/// What a hook reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSaid {
    pub meaning: Meaning,
    tool: String,
    input: String,
    is_interrupted: bool,
}

impl HookSaid {
    /// Takes the fields of a report as they came.
    pub fn new(meaning: Meaning, tool: &str, input: &str, is_interrupted: bool) -> Self {
        let tool = cut_chars(&one_line(tool), MAX_TOOL);
        Self { meaning, tool, input: cut_chars(&one_line(input), MAX_INPUT), is_interrupted }
    }
}

/// What the hooks of an agent told last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStatus {
    pub state: AgentState,
    /// What a person is asked for, where they are.
    pub message: String,
    at: Timestamp,
    is_interrupted: bool,
    /// The pane has shown the same since.
    is_shown: bool,
}

impl HookStatus {
    /// What is known after a report, with what was known before it.
    pub fn after(last: Option<Self>, said: &HookSaid, now: Timestamp) -> Option<Self> {
        let is_late = |last: &Self| last.is_interrupted && now.since_ms(last.at) < LATE_MS;
        let state = match said.meaning {
            Meaning::End => return None,
            Meaning::Tool | Meaning::Permission if last.as_ref().is_some_and(is_late) => return last,
            Meaning::Tool if said.is_interrupted => AgentState::Done,
            Meaning::Prompt | Meaning::Tool => AgentState::Working,
            Meaning::Permission => AgentState::Permission,
            Meaning::Stop => AgentState::Done,
        };
        let message = match (state, said.tool.as_str(), said.input.as_str()) {
            (AgentState::Permission, "", _) => String::from("asks for permission"),
            (AgentState::Permission, tool, "") => format!("asks for permission to use {tool}"),
            (AgentState::Permission, tool, input) => format!("asks for permission to use {tool}: {input}"),
            (_, _, _) => String::new(),
        };
        Some(Self { state, message, at: now, is_interrupted: said.is_interrupted, is_shown: false })
    }

    /// How long it is still believed without another report, in milliseconds; 0: no more.
    pub fn fresh_for_ms(&self, now: Timestamp) -> u64 {
        FRESH_MS.saturating_sub(now.since_ms(self.at))
    }

    /// What is left of it beside what the pane shows without it; None: the pane shows something newer.
    pub fn against(mut self, shown: AgentState) -> Option<Self> {
        let is_same = (shown.is_blocked() && self.state.is_blocked())
            || (shown.is_at_prompt() && self.state.is_at_prompt())
            || shown == self.state;
        self.is_shown |= is_same;
        // A dialog that was there and is not there any more was answered, whatever else is to be seen.
        let is_over = !is_same && (shown != AgentState::Unknown || self.state.is_blocked());
        (!self.is_shown || !is_over).then_some(self)
    }
}

/// The command that an agent runs as its hook, for a shell.
pub fn command(orca: &str, agent: &str) -> String {
    format!("{} hook {}", shell_quote(orca), shell_quote(agent))
}

/// The hash by which Codex knows the `UserPromptSubmit` hook that runs `command` for at most 5 s. Given with
/// the hook it lets exactly that one run unasked; the switch that lets all of them run would include those
/// that a repository brings along (measured with 0.171.0).
pub fn codex_trust(command: &str) -> String {
    let command = Value::from(command);
    let hook = format!(
        r#"{{"event_name":"user_prompt_submit","hooks":[{{"async":false,"command":{command},"timeout":5,"type":"command"}}]}}"#
    );
    let digest = Sha256::digest(hook.as_bytes());
    digest.iter().fold(String::from("sha256:"), |hash, byte| format!("{hash}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_a_shell() {
        assert_eq!(command("/opt/orca", "claude"), "/opt/orca hook claude");
        assert_eq!(command("/o p/it's", "my-agent"), r"'/o p/it'\''s' hook my-agent");
    }

    #[test]
    fn codex_knows_the_hook_by_this_hash() {
        // Told by `hooks/list` of the app server of Codex 0.171.0 for this hook.
        let hash = codex_trust("/opt/orca hook codex");
        assert_eq!(hash, "sha256:d7e7814a3df9ba6052db8632148ec33a42a5fd24232951e95d8179a4d0456f1d");
        let odd = codex_trust("'/o p/ü\"x' hook codex");
        assert_eq!(odd, "sha256:e05bc33554c2018dd515473a1209f20d8346cd404ed104e5afa281247c89c93b");
    }

    #[test]
    fn settings_name_each_event_once_with_its_command() {
        let rules = HookRules {
            prompt: vec![String::from("Begin")],
            stop: vec![String::from("Stop")],
            ..HookRules::default()
        };
        let settings: Value = serde_json::from_str(&rules.settings("'/o p/\"x' hook a")).unwrap();
        assert_eq!(settings.as_object().unwrap().keys().collect::<Vec<_>>(), ["Begin", "Stop"]);
        assert_eq!(settings["Stop"][0]["hooks"][0]["command"], "'/o p/\"x' hook a");
        assert_eq!((rules.meaning("Stop"), rules.meaning("Other")), (Some(Meaning::Stop), None));
    }

    fn said(meaning: Meaning) -> HookSaid {
        HookSaid::new(meaning, "Bash", "touch\nx", false)
    }

    fn interrupted(meaning: Meaning) -> HookSaid {
        HookSaid::new(meaning, "", "", true)
    }

    /// The states after each of these reports, which come at these milliseconds.
    fn check(reports: &[(i64, HookSaid)], expected: &[Option<AgentState>]) {
        let mut last = None;
        let mut states = Vec::new();
        for (at, said) in reports {
            last = HookStatus::after(last, said, Timestamp(*at));
            states.push(last.as_ref().map(|last| last.state));
        }
        assert_eq!(states, expected, "{reports:?}");
    }

    #[test]
    fn events_are_states() {
        use AgentState::{Done, Permission, Working};
        use Meaning::{End, Prompt, Stop, Tool};
        check(
            &[(0, said(Prompt)), (1, said(Tool)), (2, said(Meaning::Permission)), (3, said(Tool))],
            &[Some(Working), Some(Working), Some(Permission), Some(Working)],
        );
        check(&[(0, said(Meaning::Permission)), (1, said(Stop))], &[Some(Permission), Some(Done)]);
        check(&[(0, said(Meaning::Permission)), (1, said(Prompt))], &[Some(Permission), Some(Working)]);
        check(&[(0, said(Stop)), (1, said(End))], &[Some(Done), None]);
    }

    #[test]
    fn late_events_of_an_interrupted_turn_do_not_revive_it() {
        use AgentState::{Done, Working};
        use Meaning::{Prompt, Stop, Tool};
        for event in [interrupted(Stop), interrupted(Tool)] {
            let late = [
                (0, event.clone()),
                (1, said(Tool)),
                (14_999, said(Meaning::Permission)),
                (15_000, said(Tool)),
            ];
            check(&late, &[Some(Done), Some(Done), Some(Done), Some(Working)]);
            // A prompt is a new turn, and a turn that ended by itself has no late events.
            check(&[(0, event), (1, said(Prompt))], &[Some(Done), Some(Working)]);
        }
        check(&[(0, said(Stop)), (1, said(Tool))], &[Some(Done), Some(Working)]);
    }

    #[test]
    fn a_wait_says_for_what_in_one_short_line() {
        let waits = |said: &HookSaid| HookStatus::after(None, said, Timestamp(0)).unwrap().message;
        assert_eq!(waits(&said(Meaning::Permission)), "asks for permission to use Bash: touch x");
        let long = HookSaid::new(Meaning::Permission, &"t".repeat(99), &"i".repeat(999), false);
        assert!(waits(&long).chars().count() < 260, "{}", waits(&long));
        assert_eq!(waits(&interrupted(Meaning::Permission)), "asks for permission");
        assert_eq!(waits(&said(Meaning::Tool)), "");
    }

    #[test]
    fn a_report_holds_until_the_pane_shows_something_newer() {
        use AgentState::{Done, Idle, Permission, Question, Unknown, Working};
        let check = |meaning: Meaning, shown: &[AgentState], expected: bool| {
            let first = HookStatus::after(None, &said(meaning), Timestamp(0));
            let left = shown.iter().fold(first, |told, shown| told?.against(*shown));
            assert_eq!(left.is_some(), expected, "{meaning:?} {shown:?}");
        };
        // What the pane has shown all along may be older.
        check(Meaning::Prompt, &[Idle, Unknown, Permission], true);
        check(Meaning::Prompt, &[Working, Unknown, Working], true);
        // Broken off: no hook tells of it.
        check(Meaning::Prompt, &[Working, Idle], false);
        check(Meaning::Permission, &[Idle, Question, Permission], true);
        check(Meaning::Permission, &[Question, Working], false);
        check(Meaning::Permission, &[Permission, Unknown], false);
        check(Meaning::Stop, &[Working, Idle, Done], true);
        check(Meaning::Stop, &[Idle, Working], false);
    }

    #[test]
    fn nothing_is_believed_for_ever() {
        let told = HookStatus::after(None, &said(Meaning::Prompt), Timestamp(5)).unwrap();
        assert_eq!(told.fresh_for_ms(Timestamp(5)), 30 * 60 * 1_000);
        assert_eq!(told.fresh_for_ms(Timestamp(30 * 60 * 1_000 + 5)), 0);
    }
}
