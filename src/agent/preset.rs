//! A preset: what we know of one agent, as one TOML file.
//!
//! The smallest has two lines, `command` and `prompt`; so anything that runs in a terminal is an agent
//! (design 10). A user's file for a built-in agent replaces just the keys it names.

use super::detect::AgentState;
use super::hook::HookRules;
use super::pattern::Pattern;
use crate::base::text::one_line;
use crate::model::session::TranscriptFormat;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How the brief reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptMode {
    /// It is the last argument.
    Argument,
    /// It follows `prompt_flag`.
    Flag,
    /// It is pasted once the agent is ready.
    Paste,
    /// Not at all; the program reads `ORCA_TASK_ID` or `dispatch-show --preamble`.
    None,
}

/// What ends the agent when its terminal is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitSignal {
    /// The hang-up that every terminal sends.
    #[default]
    Hangup,
    /// It survives the hang-up; its process group needs SIGTERM.
    Terminate,
}

/// One agent. Arguments and values may hold `{orca}` (absolute path), `{orca_json}` (the same inside a
/// JSON string), `{hooks}` (settings by which each event of `hooks` runs our hook, as JSON), `{hook}` (the
/// command of that hook, inside a JSON or TOML string), `{hook_trust}` (what Codex has to know of it to trust
/// it), `{handle}`, `{model}`, `{effort}`, `{session}`, `{private_dir}` and `{shell}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub id: String,
    /// The name to show; the id where it is missing.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The program and its fixed arguments.
    pub command: Vec<String>,
    pub prompt: PromptMode,
    #[serde(default)]
    pub prompt_flag: Option<String>,
    /// Arguments of every start.
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub unset_env: Vec<String>,
    /// Lets `orca` itself through where the agent asks before running commands; not used together with
    /// `auto_args`.
    #[serde(default)]
    pub orca_args: Vec<String>,
    #[serde(default)]
    pub orca_env: BTreeMap<String, String>,
    /// Only for workers: takes away the tool that asks a human who is not there.
    #[serde(default)]
    pub worker_args: Vec<String>,
    #[serde(default)]
    pub worker_env: BTreeMap<String, String>,
    /// The agent's switch against asking; used only when the user opted in.
    #[serde(default)]
    pub auto_args: Vec<String>,
    #[serde(default)]
    pub auto_env: BTreeMap<String, String>,
    /// Empty: the agent takes no model.
    #[serde(default)]
    pub model_args: Vec<String>,
    #[serde(default)]
    pub effort_args: Vec<String>,
    /// The effort is written behind the model as `<model>-<effort>`.
    #[serde(default)]
    pub effort_joins_model: bool,
    /// What the agent takes as effort; empty: none.
    #[serde(default)]
    pub efforts: Vec<String>,
    /// Efforts of models whose name contains the key, where they differ.
    #[serde(default)]
    pub model_efforts: BTreeMap<String, Vec<String>>,
    /// Arguments right behind the command that go on with a session, or with the last one.
    #[serde(default)]
    pub resume_args: Vec<String>,
    #[serde(default)]
    pub continue_args: Vec<String>,
    /// Whether a prompt given together with `resume_args` is taken as well.
    #[serde(default = "yes")]
    pub resume_takes_prompt: bool,
    /// Names of its process, as the system or its command line shows them; the command's where missing.
    #[serde(default)]
    pub processes: Vec<String>,
    /// When the agent's shell tool gives up on a command; 0: never seen.
    #[serde(default)]
    pub tool_limit_ms: u64,
    /// The `--timeout-ms` of `ask` in the brief; below the tool's limit where that is firm.
    #[serde(default)]
    pub ask_timeout_ms: Option<u64>,
    /// What the agent has to do so that the tool waits that long.
    #[serde(default)]
    pub ask_advice: String,
    #[serde(default)]
    pub exit_signal: ExitSignal,
    #[serde(default)]
    pub paste: PasteRules,
    #[serde(default)]
    pub ready: ReadyRules,
    #[serde(default)]
    pub title: TitleRules,
    /// What the events of its hooks mean.
    #[serde(default)]
    pub hooks: HookRules,
    /// How its transcripts can be read: `claude` or `codex`; without it they cannot.
    #[serde(default)]
    pub transcript: Option<TranscriptFormat>,
    /// Rules for the bottom of the screen; the first that matches decides.
    #[serde(default)]
    pub screen: Vec<ScreenRule>,
}

/// How text is typed into the agent (agents.md 0.5 and 2).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasteRules {
    /// Between the paste and the Enter.
    pub settle_ms: u64,
    /// A line typed in front of the paste, for agents that take pasted text for quoted material.
    pub lead: String,
    /// After this long without a sign of work, one more Enter is harmless and is sent; 0: never.
    pub second_enter_ms: u64,
}

impl Default for PasteRules {
    fn default() -> Self {
        Self { settle_ms: 500, lead: String::new(), second_enter_ms: 0 }
    }
}

/// When the agent takes text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyRules {
    /// Any of these in the last lines; empty: bracketed paste is on and the output rests.
    pub screen: Vec<Pattern>,
    /// How long a start may take before it is marked as slow.
    pub deadline_ms: u64,
}

impl Default for ReadyRules {
    fn default() -> Self {
        Self { screen: Vec::new(), deadline_ms: 8_000 }
    }
}

/// What the window title tells.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TitleRules {
    /// Whether the general rules of contract 9.3 apply after these.
    pub is_general: bool,
    pub rules: Vec<TitleRule>,
}

impl Default for TitleRules {
    fn default() -> Self {
        Self { is_general: true, rules: Vec::new() }
    }
}

/// A title that tells a state; the first that matches decides.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TitleRule {
    pub state: AgentState,
    pub any: Vec<Pattern>,
}

/// A picture at the bottom of the screen that tells a state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenRule {
    pub state: AgentState,
    /// Each of these stands in one of the lines.
    #[serde(default)]
    pub all: Vec<Pattern>,
    /// At least one of these does, where there are any.
    #[serde(default)]
    pub any: Vec<Pattern>,
    /// None of these does.
    #[serde(default)]
    pub none: Vec<Pattern>,
    /// How many of the last lines that are not blank are looked at.
    #[serde(default = "last_lines")]
    pub last: usize,
}

fn yes() -> bool {
    true
}

fn last_lines() -> usize {
    8
}

/// Why a preset cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetError {
    /// The preset's id, as far as it is one.
    pub id: String,
    /// A full sentence.
    pub message: String,
}

impl std::fmt::Display for PresetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The agent preset {:?} is not used: {}", self.id, self.message)
    }
}

impl std::error::Error for PresetError {}

impl Preset {
    /// Reads and checks the text of `<id>.toml`.
    pub fn parse(id: &str, text: &str) -> Result<Self, PresetError> {
        Self::parse_over(id, None, text)
    }

    /// Like [`Preset::parse`], with `below` for the keys that `text` does not name.
    pub fn parse_over(id: &str, below: Option<&str>, text: &str) -> Result<Self, PresetError> {
        let fail = |message: String| PresetError { id: one_line(id), message };
        let is_id = !id.is_empty()
            && id.len() <= 40
            && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b));
        if !is_id {
            return Err(fail(String::from("its file name must be small letters, digits, - and _.")));
        }
        // The user's text is read by itself first, so that complaints name its own lines.
        let table: toml::Table = toml::from_str(text).map_err(|error| fail(complaint(text, &error)))?;
        let mut merged: toml::Table = match below {
            Some(below) => toml::from_str(below).map_err(|error| fail(complaint(below, &error)))?,
            None => toml::Table::new(),
        };
        let preset = if merged.is_empty() {
            toml::from_str(text).map_err(|error| fail(complaint(text, &error)))
        } else {
            merged.extend(table);
            Self::deserialize(merged).map_err(|error| fail(format!("{}.", one_line(error.message()))))
        };
        let mut preset: Self = preset?;
        preset.id = id.to_owned();
        if preset.name.is_empty() {
            preset.name = id.to_owned();
        }
        preset.check().map_err(fail)?;
        Ok(preset)
    }

    fn check(&mut self) -> Result<(), String> {
        let program = self.command.first().filter(|program| !program.is_empty());
        let Some(program) = program else {
            return Err(String::from("command must name a program, for example command = [\"my-agent\"]."));
        };
        if self.processes.is_empty() {
            let name = program.rsplit('/').next().unwrap_or(program);
            self.processes.push(name.to_owned());
        }
        if (self.prompt == PromptMode::Flag) != self.prompt_flag.is_some() {
            return Err(String::from("prompt = \"flag\" and prompt_flag go together."));
        }
        if !self.efforts.is_empty() && self.effort_args.is_empty() && !self.effort_joins_model {
            return Err(String::from("efforts needs effort_args or effort_joins_model."));
        }
        if self.screen.iter().any(|rule| rule.all.is_empty() && rule.any.is_empty()) {
            return Err(String::from("each screen rule needs all or any."));
        }
        let texts = self.all_texts();
        if texts.iter().any(|text| text.contains('\0')) {
            return Err(String::from("no value may contain a NUL character."));
        }
        Ok(())
    }

    fn all_texts(&self) -> Vec<&String> {
        let lists = [
            &self.command,
            &self.args,
            &self.orca_args,
            &self.worker_args,
            &self.auto_args,
            &self.model_args,
            &self.effort_args,
            &self.resume_args,
            &self.continue_args,
        ];
        let maps = [&self.env, &self.orca_env, &self.worker_env, &self.auto_env];
        let pairs = maps.into_iter().flat_map(|map| map.iter().flat_map(|(name, value)| [name, value]));
        lists.into_iter().flatten().chain(pairs).collect()
    }

    /// The efforts that this agent takes with `model`.
    pub fn efforts_of(&self, model: &str) -> &[String] {
        let model = model.to_lowercase();
        let special = self.model_efforts.iter().find(|(part, _)| model.contains(part.as_str()));
        special.map_or(&self.efforts, |(_, efforts)| efforts)
    }

    /// Whether a process with this name and command line is the agent, also behind an interpreter
    /// (`node /usr/bin/gemini`).
    pub fn is_process(&self, name: &str, argv: &[String]) -> bool {
        let base = |word: &str| {
            let base = word.rsplit('/').next().unwrap_or(word);
            base.trim_start_matches('-').trim_end_matches(".js").to_owned()
        };
        let words = std::iter::once(name).chain(argv.iter().take(2).map(String::as_str));
        words.into_iter().any(|word| self.processes.contains(&base(word)))
    }
}

/// What is wrong with the text, with its line.
fn complaint(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(at).filter(|b| *b == b'\n').count() + 1;
    format!("line {line}: {}.", one_line(error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_make_an_agent() {
        let preset = Preset::parse("mine", "command = [\"/opt/my-agent\"]\nprompt = \"argument\"\n").unwrap();
        assert_eq!((preset.id.as_str(), preset.name.as_str()), ("mine", "mine"));
        assert_eq!(preset.processes, ["my-agent"]);
        assert!(preset.model_args.is_empty() && preset.auto_args.is_empty());
    }

    fn check_fails(id: &str, text: &str, expected: &str) {
        let error = Preset::parse(id, text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn bad_presets_say_what_and_where() {
        check_fails("x", "command = [\"a\"]\n", "prompt");
        check_fails("x", "command = []\nprompt = \"none\"\n", "command");
        check_fails("x", "command = [\"a\"]\nprompt = \"none\"\nmodle_args = []\n", "line 3");
        check_fails("x", "command = [\"a\"]\nprompt = \"flag\"\n", "prompt_flag");
        check_fails(
            "x",
            "command = [\"a\"]\nprompt = \"none\"\nscreen = [{ state = \"idle\" }]\n",
            "all or any",
        );
        check_fails("../x", "command = [\"a\"]\nprompt = \"none\"\n", "file name");
        check_fails("x", "command = [\"a\\u0000\"]\nprompt = \"none\"\n", "NUL");
        check_fails("x", "command = [\"a\"]\nprompt = \"none\"\nefforts = [\"low\"]\n", "effort_args");
    }

    #[test]
    fn a_user_file_replaces_the_keys_it_names() {
        let below = "command = [\"a\"]\nprompt = \"argument\"\nargs = [\"--x\"]\n";
        let preset = Preset::parse_over("a", Some(below), "command = [\"/my/a\"]\n").unwrap();
        assert_eq!((preset.command, preset.args), (vec![String::from("/my/a")], vec![String::from("--x")]));
        assert!(Preset::parse_over("a", Some(below), "nonsense = 1\n").is_err());
    }

    #[test]
    fn processes_are_known_by_name_or_script() {
        let preset = Preset::parse("g", "command = [\"gemini\"]\nprompt = \"none\"\n").unwrap();
        let argv = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert!(preset.is_process("gemini", &[]));
        assert!(preset.is_process("node", &argv(&["node", "/usr/bin/gemini"])));
        assert!(!preset.is_process("node", &argv(&["node", "/usr/bin/other", "gemini"])));
        assert!(!preset.is_process("bash", &argv(&["-bash"])));
    }
}
