//! From a preset and the wishes of one start to the exact command line and environment.
//!
//! Nothing is typed into a shell and nothing is quoted: the agent is executed with this argv, so a
//! slow or odd shell start-up cannot eat the command (reports PI-01, PI-05).

use super::hook;
use super::preset::{ExitSignal, Preset, PromptMode};
use super::prompt::{self, Step};
use crate::base::code::ErrorCode;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The longest brief that goes into one argument, in bytes. Linux takes 128 KiB for one.
pub const MAX_ARGUMENT: usize = 100_000;

/// Whether the agent asks a person before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionMode {
    Manual,
    Auto,
}

/// An earlier session to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume<'a> {
    Session(&'a str),
    Last,
}

/// What one start of an agent should be.
#[derive(Debug, Clone)]
pub struct LaunchOptions<'a> {
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
    pub permission: PermissionMode,
    /// The user's own arguments for this agent (`[agents.<id>] args`).
    pub extra_args: &'a [String],
    /// The whole text of the first prompt.
    pub brief: Option<&'a str>,
    /// Whether it works for a coordinator, so that nobody answers its own question tool.
    pub is_worker: bool,
    /// Absolute path of our executable.
    pub orca: &'a Path,
    /// The terminal's handle.
    pub handle: &'a str,
    /// A directory of this terminal alone, mode 0700, absolute.
    pub private_dir: &'a Path,
    /// The user's shell, for presets that start one.
    pub shell: &'a str,
    pub resume: Option<Resume<'a>>,
}

/// How the brief gets to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BriefDelivery {
    /// It is in the argv.
    Argument,
    /// Too long for an argument: write `text` to `path` (mode 0600) before the start; the argument in
    /// argv names it.
    File { path: PathBuf, text: String },
    /// To be typed once the agent is ready.
    Paste(Vec<Step>),
    /// There is no brief, or the agent takes none.
    None,
}

/// Everything a spawn needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPlan {
    pub argv: Vec<String>,
    /// Variables to set on top of the pane's.
    pub env: BTreeMap<String, String>,
    /// Variables to take away.
    pub unset_env: Vec<String>,
    pub brief: BriefDelivery,
    pub exit_signal: ExitSignal,
}

/// Why a start is refused before anything happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchError {
    /// The agent takes no such thing as a model or an effort.
    Unsupported { agent: String, what: &'static str },
    /// The model does not take this effort.
    UnknownEffort { agent: String, effort: String, known: Vec<String> },
    /// `--effort` came without `--model`.
    EffortWithoutModel,
    /// A value is empty, too long, or has blanks around it or control characters in it.
    BadValue { what: &'static str },
    /// The agent cannot go on with a session.
    NoResume { agent: String },
}

impl LaunchError {
    /// The stable code of the public contract.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unsupported { .. }
            | Self::UnknownEffort { .. }
            | Self::EffortWithoutModel
            | Self::BadValue { .. } => ErrorCode::InvalidArgument,
            Self::NoResume { .. } => ErrorCode::CapabilityUnsupported,
        }
    }

    /// What to do instead, in words.
    pub fn advice(&self) -> String {
        match self {
            Self::Unsupported { what, .. } => format!("Leave out --{what}."),
            Self::UnknownEffort { known, .. } if known.is_empty() => String::from("Leave out --effort."),
            Self::UnknownEffort { known, .. } => format!("Use --effort with one of: {}.", known.join(", ")),
            Self::EffortWithoutModel => String::from("Add --model, or leave out --effort."),
            Self::BadValue { what } => {
                format!("Give --{what} 1 to 512 characters without blanks around them.")
            }
            Self::NoResume { .. } => String::from("Start a new session instead."),
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { agent, what } => write!(f, "The agent {agent} takes no {what}."),
            Self::UnknownEffort { agent, effort, .. } => {
                write!(f, "The agent {agent} does not know the effort {effort:?} for this model.")
            }
            Self::EffortWithoutModel => f.write_str("An effort needs a model."),
            Self::BadValue { what } => write!(f, "The {what} is empty, too long or badly formed."),
            Self::NoResume { agent } => write!(f, "The agent {agent} cannot resume that session."),
        }
    }
}

impl std::error::Error for LaunchError {}

/// Checks a model and an effort against what the agent takes (contract 5.1 and 5.8); no effects, so a
/// verb may ask before it commits anything.
pub fn check_model(preset: &Preset, model: Option<&str>, effort: Option<&str>) -> Result<(), LaunchError> {
    for (what, value) in [("model", model), ("effort", effort)] {
        let is_bad = value.is_some_and(|v| {
            v.trim() != v || v.chars().any(char::is_control) || !(1..=512).contains(&v.chars().count())
        });
        if is_bad {
            return Err(LaunchError::BadValue { what });
        }
    }
    let agent = || preset.id.clone();
    if model.is_some() && preset.model_args.is_empty() {
        return Err(LaunchError::Unsupported { agent: agent(), what: "model" });
    }
    let Some(effort) = effort else { return Ok(()) };
    if preset.effort_args.is_empty() && !preset.effort_joins_model {
        return Err(LaunchError::Unsupported { agent: agent(), what: "effort" });
    }
    let model = model.ok_or(LaunchError::EffortWithoutModel)?;
    let known = preset.efforts_of(model);
    if known.iter().any(|k| k == effort) {
        return Ok(());
    }
    Err(LaunchError::UnknownEffort { agent: agent(), effort: effort.to_owned(), known: known.to_vec() })
}

/// Plans one start.
///
/// # Errors
/// As [`check_model`], and where a session is to be resumed that the agent cannot resume.
pub fn plan(preset: &Preset, options: &LaunchOptions<'_>) -> Result<LaunchPlan, LaunchError> {
    check_model(preset, options.model, options.effort)?;
    let fill =
        |list: &[String]| list.iter().map(|text| filled(text, preset, options)).collect::<Vec<String>>();
    let mut argv = fill(&preset.command);
    argv.extend(resume_words(preset, options)?);
    argv.extend(fill(&preset.args));
    argv.extend(options.extra_args.iter().cloned());
    argv.extend(model_words(preset, options));
    let mut env = BTreeMap::new();
    let mut add_env = |map: &BTreeMap<String, String>| {
        env.extend(map.iter().map(|(name, value)| (name.clone(), filled(value, preset, options))));
    };
    add_env(&preset.env);
    // An agent that never asks needs no leave for orca, and a list of what is allowed may forbid the rest.
    let has_auto = !preset.auto_args.is_empty() || !preset.auto_env.is_empty();
    let asks = options.permission == PermissionMode::Manual || !has_auto;
    if asks {
        add_env(&preset.orca_env);
    }
    if options.is_worker {
        add_env(&preset.worker_env);
        argv.extend(fill(&preset.worker_args));
    }
    if asks {
        argv.extend(fill(&preset.orca_args));
    }
    if options.permission == PermissionMode::Auto {
        add_env(&preset.auto_env);
        argv.extend(fill(&preset.auto_args));
    }
    let brief = deliver(preset, options, &mut argv);
    Ok(LaunchPlan { argv, env, unset_env: preset.unset_env.clone(), brief, exit_signal: preset.exit_signal })
}

fn resume_words(preset: &Preset, options: &LaunchOptions<'_>) -> Result<Vec<String>, LaunchError> {
    let template = match options.resume {
        None => return Ok(Vec::new()),
        Some(Resume::Session(_)) => &preset.resume_args,
        Some(Resume::Last) => &preset.continue_args,
    };
    if template.is_empty() {
        return Err(LaunchError::NoResume { agent: preset.id.clone() });
    }
    Ok(template.iter().map(|text| filled(text, preset, options)).collect())
}

fn model_words(preset: &Preset, options: &LaunchOptions<'_>) -> Vec<String> {
    let mut words = Vec::new();
    if options.model.is_some() {
        words.extend(preset.model_args.iter().map(|text| filled(text, preset, options)));
    }
    if options.effort.is_some() && preset.effort_joins_model {
        if let (Some(last), Some(effort)) = (words.last_mut(), options.effort) {
            last.push('-');
            last.push_str(effort);
        }
    } else if options.effort.is_some() {
        words.extend(preset.effort_args.iter().map(|text| filled(text, preset, options)));
    }
    words
}

/// Puts the brief, or a pointer to it, at the end of `argv`, or says how else it gets there.
fn deliver(preset: &Preset, options: &LaunchOptions<'_>, argv: &mut Vec<String>) -> BriefDelivery {
    let Some(brief) = options.brief.filter(|brief| !brief.is_empty()) else { return BriefDelivery::None };
    let resumes_deaf = options.resume.is_some() && !preset.resume_takes_prompt;
    let flag = match (preset.prompt, &preset.prompt_flag) {
        (PromptMode::None, _) => return BriefDelivery::None,
        (PromptMode::Paste, _) => return BriefDelivery::Paste(prompt::injection(preset, brief)),
        (PromptMode::Argument | PromptMode::Flag, _) if resumes_deaf => {
            return BriefDelivery::Paste(prompt::injection(preset, brief));
        }
        (PromptMode::Flag, Some(flag)) => Some(flag.clone()),
        (PromptMode::Flag | PromptMode::Argument, _) => None,
    };
    argv.extend(flag);
    // An argument cannot hold a NUL; nothing else is changed.
    let text = brief.replace('\0', "");
    if text.len() <= MAX_ARGUMENT {
        // A leading dash would be read as an option.
        argv.push(if text.starts_with('-') { format!(" {text}") } else { text });
        return BriefDelivery::Argument;
    }
    let path = options.private_dir.join("brief.md");
    argv.push(format!(
        "{} Your brief is too long for a command line. Read the whole file {} first, then do what it says.",
        prompt::PREFIX,
        path.display()
    ));
    BriefDelivery::File { path, text }
}

/// The template with its placeholders filled in, in one pass: what is filled in is never read again.
fn filled(template: &str, preset: &Preset, options: &LaunchOptions<'_>) -> String {
    let (orca, agent) = (options.orca.display().to_string(), preset.id.as_str());
    prompt::render(template, ("{", "}"), |name| match name {
        "orca_json" => Some(json_inner(&orca)),
        "orca" => Some(orca.clone()),
        "hooks" => Some(preset.hooks.settings(&hook::command(&orca, agent))),
        "hook" => Some(json_inner(&hook::command(&orca, agent))),
        "hook_trust" => Some(hook::codex_trust(&hook::command(&orca, agent))),
        "handle" => Some(options.handle.to_owned()),
        "model" => options.model.map(str::to_owned),
        "effort" => options.effort.map(str::to_owned),
        "private_dir" => Some(options.private_dir.display().to_string()),
        "shell" => Some(options.shell.to_owned()),
        "session" => match &options.resume {
            Some(Resume::Session(id)) => Some((*id).to_owned()),
            Some(Resume::Last) | None => None,
        },
        _ => None,
    })
}

/// The text as it stands between the quotes of a JSON string.
fn json_inner(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESET: &str = r#"
command = ["agent"]
prompt = "argument"
args = ["--handle", "{handle}"]
orca_args = ["--settings", '{"allow":["Bash({orca_json} *)"]}']
worker_args = ["--no-ask"]
auto_args = ["--yolo"]
auto_env = { MODE = "auto" }
model_args = ["--model", "{model}"]
effort_args = ["--effort", "{effort}"]
efforts = ["low", "high"]
model_efforts = { tiny = [] }
resume_args = ["--resume", "{session}"]
"#;

    fn options<'a>(brief: Option<&'a str>) -> LaunchOptions<'a> {
        LaunchOptions {
            model: None,
            effort: None,
            permission: PermissionMode::Manual,
            extra_args: &[],
            brief,
            is_worker: true,
            orca: Path::new("/opt/or\"ca/orca"),
            handle: "term_1",
            private_dir: Path::new("/state/t"),
            shell: "/bin/sh",
            resume: None,
        }
    }

    fn preset(extra: &str) -> Preset {
        Preset::parse("agent", &format!("{PRESET}{extra}")).unwrap()
    }

    #[test]
    fn the_brief_is_the_last_argument_and_arrives_as_it_is() {
        let brief = "[orca] line one\nit's \"quoted\" {handle} {model}\n";
        let plan = plan(&preset(""), &options(Some(brief))).unwrap();
        assert_eq!(
            plan.argv,
            [
                "agent",
                "--handle",
                "term_1",
                "--no-ask",
                "--settings",
                r#"{"allow":["Bash(/opt/or\"ca/orca *)"]}"#,
                brief
            ]
        );
        assert_eq!((plan.brief, plan.env.len()), (BriefDelivery::Argument, 0));
    }

    #[test]
    fn permission_switches_are_opt_in() {
        let mut auto = options(None);
        auto.permission = PermissionMode::Auto;
        auto.is_worker = false;
        let plan = plan(&preset(""), &auto).unwrap();
        assert_eq!(plan.argv.last().map(String::as_str), Some("--yolo"));
        assert_eq!(plan.env.get("MODE").map(String::as_str), Some("auto"));
        assert!(!plan.argv.contains(&String::from("--no-ask")));
        assert!(!plan.argv.contains(&String::from("--settings")), "{:?}", plan.argv);
    }

    #[test]
    fn long_briefs_go_through_a_private_file() {
        let brief = format!("[orca] {}", "x".repeat(MAX_ARGUMENT));
        let plan = plan(&preset(""), &options(Some(&brief))).unwrap();
        let last = plan.argv.last().unwrap();
        assert!(last.contains("/state/t/brief.md") && last.len() < 300, "{last}");
        assert_eq!(plan.brief, BriefDelivery::File { path: PathBuf::from("/state/t/brief.md"), text: brief });
    }

    #[test]
    fn a_brief_is_never_an_option_and_never_holds_a_nul() {
        let plan = plan(&preset(""), &options(Some("--dange\0rous"))).unwrap();
        assert_eq!(plan.argv.last().map(String::as_str), Some(" --dangerous"));
    }

    #[test]
    fn models_and_efforts_are_checked_before_anything_happens() {
        let preset = preset("");
        let check = |model: Option<&str>, effort: Option<&str>| check_model(&preset, model, effort);
        assert_eq!(check(Some("big"), Some("high")), Ok(()));
        assert_eq!(check(None, Some("high")), Err(LaunchError::EffortWithoutModel));
        assert!(matches!(check(Some("tiny-1"), Some("low")), Err(LaunchError::UnknownEffort { .. })));
        assert!(matches!(check(Some("big"), Some("huge")), Err(LaunchError::UnknownEffort { .. })));
        for bad in ["", " x", "x\n", &"x".repeat(513)] {
            assert_eq!(check(Some(bad), None), Err(LaunchError::BadValue { what: "model" }), "{bad:?}");
        }
        let plain = Preset::parse("p", "command = [\"p\"]\nprompt = \"none\"\n").unwrap();
        let refused = check_model(&plain, Some("x"), None).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn sessions_resume_right_behind_the_command() {
        let mut resumed = options(Some("[orca] go on"));
        resumed.resume = Some(Resume::Session("abc"));
        resumed.model = Some("big");
        let plan_resumed = plan(&preset(""), &resumed).unwrap();
        assert_eq!(plan_resumed.argv[..3], ["agent", "--resume", "abc"]);
        assert_eq!(plan_resumed.brief, BriefDelivery::Argument);
        let deaf = plan(&preset("resume_takes_prompt = false\n"), &resumed).unwrap();
        assert!(matches!(deaf.brief, BriefDelivery::Paste(_)), "{:?}", deaf.brief);
        resumed.resume = Some(Resume::Last);
        assert!(matches!(plan(&preset(""), &resumed), Err(LaunchError::NoResume { .. })));
    }
}
