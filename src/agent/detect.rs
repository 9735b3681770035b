//! From what an agent shows to what it is doing, with the reason in words.
//!
//! Evidence, strongest first: the Program Status Protocol (OSC 7501), the agent's hooks ([`super::hook`]), the
//! window title and progress sequence, the bottom of the screen. One exception: a dialog that is on the screen
//! now beats all but what the program says itself, because some titles say "idle" while the agent asks
//! (agents.md 4) and of some dialogs no hook tells. What nothing shows is `unknown`, never a confident `idle`.
//! Freshness, debouncing and process exits are the server's.

use super::hook::HookStatus;
use super::pattern::{Pattern, plain_line};
use super::preset::{Preset, ScreenRule};
use super::title;
use crate::base::text::{cut_chars, one_line};
use serde::{Deserialize, Serialize};

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    Working,
    /// Blocked until a person allows something.
    Permission,
    /// Blocked until a person answers.
    Question,
    /// Blocked until a person logs in.
    Auth,
    /// At its prompt.
    Idle,
    /// At its prompt, with a turn behind it.
    Done,
    /// At its prompt after a failure.
    Error,
    /// Nothing shows it.
    Unknown,
}

impl AgentState {
    /// Whether a person has to act in the pane.
    pub fn is_blocked(self) -> bool {
        matches!(self, Self::Permission | Self::Question | Self::Auth)
    }

    /// Whether the agent takes a new prompt.
    pub fn is_at_prompt(self) -> bool {
        matches!(self, Self::Idle | Self::Done | Self::Error)
    }

    /// The word of the terminal agent status (contract 9.1), `None` for its null.
    pub fn terminal_status(self) -> Option<&'static str> {
        match self {
            Self::Working => Some("working"),
            Self::Permission | Self::Question | Self::Auth => Some("permission"),
            Self::Idle | Self::Done | Self::Error => Some("idle"),
            Self::Unknown => None,
        }
    }

    /// The state as it is shown and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Auth => "auth",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
}

/// What a program said about itself with OSC 7501.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStatus {
    /// `None` after `state=clear`: the program takes back what it said.
    pub state: Option<AgentState>,
    /// Its name for itself.
    pub app: String,
    /// One line, safe to show.
    pub message: String,
}

impl ProgramStatus {
    /// Takes the fields of a report as they came; `None` for a state that nobody knows.
    pub fn from_fields(
        state: &str,
        kind: Option<&str>,
        app: Option<&str>,
        message: Option<&str>,
    ) -> Option<Self> {
        let state = match (state, kind) {
            ("working", _) => Some(AgentState::Working),
            ("blocked", Some("question")) => Some(AgentState::Question),
            ("blocked", Some("auth")) => Some(AgentState::Auth),
            ("blocked", _) => Some(AgentState::Permission),
            ("idle", _) => Some(AgentState::Idle),
            ("done", _) => Some(AgentState::Done),
            ("error", _) => Some(AgentState::Error),
            ("clear", _) => None,
            _ => return None,
        };
        let app = cut_chars(&one_line(app.unwrap_or_default()), 40);
        let message = cut_chars(&one_line(message.unwrap_or_default()), 200);
        Some(Self { state, app, message })
    }
}

/// What OSC 9;4 shows in a task bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Removed: nothing runs.
    Clear,
    /// Running, with or without a percentage.
    Busy,
    Failed,
    Paused,
}

/// What is known about one pane at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// The last OSC 7501, if the process that sent it still runs.
    pub program: Option<&'a ProgramStatus>,
    /// What its hooks told last, as far as it is still believed.
    pub hook: Option<&'a HookStatus>,
    pub title: Option<&'a str>,
    pub progress: Option<Progress>,
    /// The visible rows as text, top first.
    pub screen: &'a [String],
}

/// Which evidence decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Program,
    Hook,
    Title,
    Progress,
    Screen,
    Nothing,
}

impl Source {
    /// The evidence as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Hook => "hook",
            Self::Title => "title",
            Self::Progress => "progress",
            Self::Screen => "screen",
            Self::Nothing => "nothing",
        }
    }
}

/// A state and why it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    pub state: AgentState,
    pub source: Source,
    /// A phrase for people: which evidence, and what in it.
    pub explanation: String,
    /// What the agent says about it, where it says something: a question, an error.
    pub message: String,
}

impl Detection {
    fn new(state: AgentState, source: Source, explanation: String) -> Self {
        Self { state, source, explanation, message: String::new() }
    }
}

/// Decides what the agent is doing. `preset` is `None` for a program that nobody knows.
pub fn detect(preset: Option<&Preset>, evidence: &Evidence<'_>) -> Detection {
    if let Some((said, state)) = evidence.program.and_then(|said| Some((said, said.state?))) {
        let explanation = format!("{} reported {} (OSC 7501)", named(&said.app), state.as_str());
        let message = said.message.clone();
        return Detection { message, ..Detection::new(state, Source::Program, explanation) };
    }
    let hook = evidence.hook.map(from_hook);
    if let Some(waits) = hook.as_ref().filter(|found| found.state.is_blocked()) {
        return waits.clone();
    }
    let screen = from_screen(preset, evidence.screen);
    if let Some(dialog) = screen.as_ref().filter(|found| found.state.is_blocked()) {
        return dialog.clone();
    }
    hook.or_else(|| evidence.title.and_then(|title| from_title(preset, title)))
        .or_else(|| from_progress(evidence.progress))
        .or(screen)
        .unwrap_or_else(|| {
            Detection::new(AgentState::Unknown, Source::Nothing, String::from("nothing shows the state"))
        })
}

fn named(app: &str) -> &str {
    if app.is_empty() { "the program" } else { app }
}

fn from_hook(told: &HookStatus) -> Detection {
    let explanation = format!("the agent's hooks reported {}", told.state.as_str());
    Detection { message: told.message.clone(), ..Detection::new(told.state, Source::Hook, explanation) }
}

fn from_title(preset: Option<&Preset>, title: &str) -> Option<Detection> {
    let plain = plain_line(title);
    let shown = cut_chars(&one_line(title), 60);
    let found = |state: AgentState| {
        Detection::new(state, Source::Title, format!("the title {shown:?} means {}", state.as_str()))
    };
    let rules = preset.map(|preset| &preset.title);
    let own = rules.and_then(|rules| {
        rules.rules.iter().find(|rule| rule.any.iter().any(|pattern| pattern.matches(&plain)))
    });
    if let Some(rule) = own {
        // A rule for `unknown` says that this title tells nothing, and ends the search.
        return (rule.state != AgentState::Unknown).then(|| found(rule.state));
    }
    if rules.is_some_and(|rules| !rules.is_general) {
        return None;
    }
    let names: Vec<String> = preset
        .map(|preset| {
            preset.aliases.iter().chain([&preset.id, &preset.name]).map(|n| n.to_lowercase()).collect()
        })
        .unwrap_or_default();
    title::state(title, &names).map(found)
}

fn from_progress(progress: Option<Progress>) -> Option<Detection> {
    let found = |state, what: &str| {
        Some(Detection::new(state, Source::Progress, format!("the progress sequence says {what}")))
    };
    match progress? {
        Progress::Busy => found(AgentState::Working, "running"),
        Progress::Failed => found(AgentState::Error, "failed"),
        // Neither tells an idle agent from one that asks.
        Progress::Clear | Progress::Paused => None,
    }
}

fn from_screen(preset: Option<&Preset>, screen: &[String]) -> Option<Detection> {
    const MOST_LINES: usize = 40;
    let mut lines: Vec<String> =
        screen.iter().rev().map(|line| plain_line(line)).filter(|l| !l.is_empty()).take(MOST_LINES).collect();
    lines.reverse();
    let rules = preset.map(|preset| preset.screen.as_slice()).unwrap_or_default();
    let own = rules.iter().find_map(|rule| Some((rule.state, matched(rule, &lines)?)));
    let (state, line) = own.or_else(|| menu(&lines).map(|line| (AgentState::Question, line.to_owned())))?;
    if state == AgentState::Unknown {
        return None;
    }
    let line = cut_chars(&one_line(&line), 80);
    let explanation = format!("the screen shows {line:?}, which means {}", state.as_str());
    Some(Detection::new(state, Source::Screen, explanation))
}

/// The line that made the rule match, or the lines: in a narrow pane an agent breaks its words over several.
fn matched(rule: &ScreenRule, lines: &[String]) -> Option<String> {
    let bottom = &lines[lines.len().saturating_sub(rule.last)..];
    let together = bottom.join(" ");
    let place_of = |pattern: &Pattern| {
        let line = bottom.iter().rev().find(|line| pattern.matches(line));
        line.or_else(|| Some(&together).filter(|text| !pattern.is_at_start() && pattern.matches(text)))
    };
    if rule.none.iter().any(|pattern| place_of(pattern).is_some()) {
        return None;
    }
    let all: Option<Vec<&String>> = rule.all.iter().map(place_of).collect();
    let any = rule.any.iter().find_map(place_of);
    if !rule.any.is_empty() && any.is_none() {
        return None;
    }
    all?.first().copied().or(any).cloned()
}

/// A numbered menu with a pointer, and below it the keys, or with a plain yes or no in it: some dialog, whoever
/// draws it.
fn menu(lines: &[String]) -> Option<&str> {
    const KEYS: [&str; 5] = ["to confirm", "to cancel", "to select", "to navigate", "to continue"];
    let bottom = &lines[lines.len().saturating_sub(12)..];
    let pointed = ["❯ ", "› ", "● ", "> ", "▶ "];
    let pointer = bottom.iter().find(|line| {
        pointed.iter().any(|pointer| line.strip_prefix(pointer).is_some_and(|rest| numbered(rest).is_some()))
    })?;
    let n_items = bottom
        .iter()
        .filter(|line| numbered(line.trim_start_matches(['❯', '›', '●', '>', '▶', ' '])).is_some());
    let last = bottom[bottom.len().saturating_sub(4)..].join(" ").to_lowercase();
    let is_decision = ["Yes", "No"].iter().any(|word| {
        let item = pointer.split_once(". ").map_or("", |(_, item)| item);
        item.split(|c: char| !c.is_alphabetic()).next() == Some(*word)
    });
    let is_menu = n_items.count() >= 2 && (is_decision || KEYS.iter().any(|key| last.contains(key)));
    is_menu.then_some(pointer.as_str())
}

/// The number in front of `1. something`.
fn numbered(line: &str) -> Option<u32> {
    let (number, rest) = line.split_once(". ")?;
    number.parse().ok().filter(|_| !rest.is_empty())
}

/// Whether the agent takes text now, as far as its picture tells: one of its own signs is at the bottom
/// of the screen and no dialog is. `None` where the preset knows no sign; then bracketed paste being on
/// and a rest in the output have to do.
pub fn is_ready(preset: &Preset, evidence: &Evidence<'_>) -> Option<bool> {
    let Detection { state, source, .. } = detect(Some(preset), evidence);
    if state.is_blocked() {
        return Some(false);
    }
    if (evidence.program.is_some() || source == Source::Hook) && state.is_at_prompt() {
        return Some(true);
    }
    if preset.ready.screen.is_empty() {
        return None;
    }
    let mut lines = evidence.screen.iter().rev().map(|line| plain_line(line)).filter(|line| !line.is_empty());
    Some(lines.by_ref().take(16).any(|line| preset.ready.screen.iter().any(|sign| sign.matches(&line))))
}
