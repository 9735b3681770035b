//! Copies guides to where agents look for them, and refreshes the copies. What a person changed there is
//! kept and named; a record beside the copies says what was written.

use super::{TOPICS, Topic, unknown};
use crate::base::code::ErrorCode;
use crate::base::text::{one_line, shell_quote};
use crate::cli::args::{invalid, names};
use crate::proto::error::ErrorBody;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the record in each copied guide's folder.
const RECORD: &str = ".orca-skill.json";

/// Where an agent looks for guides; all paths begin at the home directory, `local` at the project.
struct Agent {
    id: &'static str,
    /// A folder that is there when the agent was used.
    mark: &'static str,
    global: &'static str,
    local: &'static str,
}

const AGENTS: &[Agent] = &[
    Agent { id: "claude", mark: ".claude", global: ".claude/skills", local: ".claude/skills" },
    Agent { id: "codex", mark: ".codex", global: ".codex/skills", local: ".agents/skills" },
    Agent { id: "copilot", mark: ".copilot", global: ".copilot/skills", local: ".github/skills" },
    Agent { id: "cursor", mark: ".cursor", global: ".cursor/skills", local: ".cursor/skills" },
    Agent { id: "gemini", mark: ".gemini", global: ".gemini/skills", local: ".gemini/skills" },
    Agent {
        id: "opencode",
        mark: ".config/opencode",
        global: ".config/opencode/skills",
        local: ".opencode/skills",
    },
];

/// The agents that have a place for guides.
pub fn agents() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.id)
}

/// Which guides, and where.
#[derive(Debug, Clone, Args)]
pub struct Selection {
    /// This guide; may be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    skill: Vec<String>,
    /// All guides.
    #[arg(long)]
    all: bool,
    /// In the project around the working directory instead of the home directory.
    #[arg(long)]
    local: bool,
    /// Say what would be written and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Copies guides to where agents look for them. Files that you changed are kept.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca skills install --all --agent claude,codex --dry-run")]
pub struct SkillsInstallArgs {
    #[command(flatten)]
    selection: Selection,
    /// For these agents, comma-separated: claude, codex, copilot, cursor, gemini, opencode [default: those
    /// with a folder in your home directory].
    #[arg(long, value_name = "CSV")]
    agent: Option<String>,
    /// Replace files that you changed, too.
    #[arg(long)]
    force: bool,
}

/// Brings the copies that `install` made up to this version. Files that you changed are kept and named.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca skills update --all --dry-run")]
pub struct SkillsUpdateArgs {
    #[command(flatten)]
    selection: Selection,
}

/// The reply of `skills install` and `skills update`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Installation {
    /// No guide was chosen.
    #[serde(rename_all = "camelCase")]
    Choice {
        available_skills: Vec<&'static str>,
    },
    Done(Report),
}

/// What was written, or would be.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    /// The command line that writes it.
    pub command: String,
    pub skills: Vec<&'static str>,
    /// In the home directory; else in the project.
    pub global: bool,
    /// False for a dry run.
    pub executed: bool,
    pub files: Vec<Copied>,
}

/// One file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Copied {
    pub agent: &'static str,
    pub path: String,
    pub action: Action,
}

/// What becomes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It was not there.
    Create,
    /// It was as it had been written, and there is a newer text.
    Refresh,
    /// It had been changed, and --force said to replace it.
    Replace,
    /// It has this text already.
    Same,
    /// Somebody changed it; it stays as it is.
    Kept,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Refresh => "refresh",
            Self::Replace => "replace",
            Self::Same => "same",
            Self::Kept => "kept",
        }
    }

    fn writes(self) -> bool {
        match self {
            Self::Create | Self::Refresh | Self::Replace => true,
            Self::Same | Self::Kept => false,
        }
    }
}

impl Installation {
    /// The reply is printed without the envelope (contract 2.2).
    pub fn is_bare(&self) -> bool {
        match self {
            Self::Choice { .. } => true,
            Self::Done(report) => !report.executed,
        }
    }

    /// The reply for a person.
    pub fn text(&self) -> String {
        let report = match self {
            Self::Choice { available_skills } => {
                let names: String = available_skills.iter().map(|name| format!("  {name}\n")).collect();
                return format!("Name a guide with --skill, or --all:\n{names}");
            }
            Self::Done(report) => report,
        };
        let line = |file: &Copied| format!("{:<8} {}\n", file.action.word(), one_line(&file.path));
        let mut text: String = report.files.iter().map(line).collect();
        if report.files.is_empty() {
            text.push_str("nothing is installed here; orca skills install does that\n");
        }
        if report.files.iter().any(|file| file.action == Action::Kept) {
            text.push_str("kept: somebody changed it; orca skills install --all --force replaces it\n");
        }
        if !report.executed {
            text.push_str(&format!("nothing was written; run: {}\n", report.command));
        }
        text
    }
}

/// What was written into a guide's folder: the hash of each file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    version: String,
    files: BTreeMap<String, String>,
}

/// Where the commands work.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    pub home: &'a Path,
    pub cwd: &'a Path,
}

/// `orca skills install`.
pub fn install(args: &SkillsInstallArgs, ground: Ground<'_>) -> Result<Installation, ErrorBody> {
    let selection = &args.selection;
    let Some(topics) = selection.topics()? else { return Ok(choice()) };
    let agents = match &args.agent {
        Some(list) => known_names(list)?.iter().map(|id| agent(id)).collect::<Result<_, _>>()?,
        None => AGENTS.iter().filter(|agent| ground.home.join(agent.mark).is_dir()).collect::<Vec<_>>(),
    };
    if agents.is_empty() {
        let message = "No agent that orca knows has a folder in your home directory; name one with --agent.";
        return Err(invalid(message)
            .with("available", AGENTS.iter().map(|agent| agent.id).collect::<Vec<_>>())
            .next_step("orca skills install --all --agent claude"));
    }
    let mut command = selection.command("install");
    if let Some(list) = &args.agent {
        command.push_str(&format!(" --agent {}", shell_quote(list)));
    }
    command.push_str(if args.force { " --force" } else { "" });
    copy(selection, &topics, &agents, ground, args.force, command, |_| true)
}

/// `orca skills update`.
pub fn update(args: &SkillsUpdateArgs, ground: Ground<'_>) -> Result<Installation, ErrorBody> {
    let selection = &args.selection;
    let Some(topics) = selection.topics()? else { return Ok(choice()) };
    let agents: Vec<&Agent> = AGENTS.iter().collect();
    let command = selection.command("update");
    copy(selection, &topics, &agents, ground, false, command, |folder| folder.join(RECORD).is_file())
}

fn known_names(list: &str) -> Result<Vec<String>, ErrorBody> {
    names("--agent", Some(list)).map_err(|error| {
        error
            .with("available", AGENTS.iter().map(|agent| agent.id).collect::<Vec<_>>())
            .next_step("orca skills install --all --agent claude")
    })
}

fn choice() -> Installation {
    Installation::Choice { available_skills: TOPICS.iter().map(|topic| topic.name).collect() }
}

fn agent(id: &str) -> Result<&'static Agent, ErrorBody> {
    AGENTS.iter().find(|agent| agent.id == id).ok_or_else(|| {
        let ids: Vec<&str> = AGENTS.iter().map(|agent| agent.id).collect();
        unknown("place for guides of the agent", id, &ids).next_step("orca skills install --help")
    })
}

impl Selection {
    /// The chosen guides; None when none was chosen.
    fn topics(&self) -> Result<Option<Vec<&'static Topic>>, ErrorBody> {
        if self.all {
            return Ok(Some(TOPICS.iter().collect()));
        }
        let topics: Vec<_> = self.skill.iter().map(|name| super::topic(name)).collect::<Result<_, _>>()?;
        Ok((!topics.is_empty()).then_some(topics))
    }

    fn command(&self, verb: &str) -> String {
        let mut command = format!("orca skills {verb}");
        for name in &self.skill {
            command.push_str(&format!(" --skill {}", shell_quote(name)));
        }
        command.push_str(if self.all { " --all" } else { "" });
        command.push_str(if self.local { " --local" } else { "" });
        command
    }
}

fn copy(
    selection: &Selection,
    topics: &[&'static Topic],
    agents: &[&'static Agent],
    ground: Ground<'_>,
    is_forced: bool,
    command: String,
    is_wanted: impl Fn(&Path) -> bool,
) -> Result<Installation, ErrorBody> {
    let project = ground.cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(ground.cwd);
    let mut files = Vec::new();
    for agent in agents {
        let root = if selection.local { project.join(agent.local) } else { ground.home.join(agent.global) };
        for topic in topics {
            let folder = root.join(topic.name);
            if !is_wanted(&folder) {
                continue;
            }
            let copied = copy_topic(topic, &folder, is_forced, !selection.dry_run);
            let copied = copied.map_err(|error| {
                let shown = one_line(&folder.display().to_string());
                ErrorBody::new(ErrorCode::RuntimeError, format!("{shown} was not written: {error}."))
                    .next_step(format!("{command} --dry-run"))
            })?;
            files.extend(copied.into_iter().map(|(path, action)| Copied {
                agent: agent.id,
                path: path.display().to_string(),
                action,
            }));
        }
    }
    let skills = topics.iter().map(|topic| topic.name).collect();
    let executed = !selection.dry_run;
    Ok(Installation::Done(Report { command, skills, global: !selection.local, executed, files }))
}

/// Copies one guide into its folder, or only says what it would do.
fn copy_topic(
    topic: &Topic,
    folder: &Path,
    is_forced: bool,
    writes: bool,
) -> io::Result<Vec<(PathBuf, Action)>> {
    let record_file = folder.join(RECORD);
    let record: Record = match fs::read(&record_file) {
        // A record that cannot be read protects every file: none is known to be unchanged.
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Record::default(),
        Err(error) => return Err(error),
    };
    let mut next = Record { version: env!("CARGO_PKG_VERSION").to_owned(), files: record.files.clone() };
    let mut done = Vec::new();
    for (name, text) in topic.files() {
        let path = folder.join(&name);
        let action = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Action::Create,
            Err(error) => return Err(error),
            Ok(found) if found == text.as_bytes() => Action::Same,
            Ok(found) if record.files.get(&name) == Some(&hash(&found)) => Action::Refresh,
            Ok(_) if is_forced => Action::Replace,
            Ok(_) => Action::Kept,
        };
        if writes && action.writes() {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, text)?;
        }
        if action != Action::Kept {
            next.files.insert(name, hash(text.as_bytes()));
        }
        done.push((path, action));
    }
    if writes {
        fs::create_dir_all(folder)?;
        fs::write(&record_file, serde_json::to_vec_pretty(&next)?)?;
    }
    Ok(done)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(files: &[(PathBuf, Action)]) -> Vec<Action> {
        files.iter().map(|(_, action)| *action).collect()
    }

    const OLD: Topic = Topic { name: "x", aliases: &[], markdown: "old", references: &[("r", "one")] };
    const NEW: Topic = Topic { name: "x", aliases: &[], markdown: "new", references: &[("r", "two")] };

    #[test]
    fn a_copy_is_refreshed_unless_somebody_changed_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("x");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(actions(&copy_topic(&OLD, &folder, false, true).unwrap()), [Action::Create; 2]);
        assert_eq!(actions(&copy_topic(&OLD, &folder, false, true).unwrap()), [Action::Same; 2]);
        fs::write(folder.join("SKILL.md"), "mine").unwrap();
        let plan = copy_topic(&NEW, &folder, false, false).unwrap();
        assert_eq!(actions(&plan), [Action::Kept, Action::Refresh]);
        assert_eq!(read("references/r.md"), "one", "a plan writes nothing");
        assert_eq!(copy_topic(&NEW, &folder, false, true).unwrap(), plan);
        assert_eq!((read("SKILL.md").as_str(), read("references/r.md").as_str()), ("mine", "two"));
        assert_eq!(actions(&copy_topic(&NEW, &folder, true, true).unwrap()), [Action::Replace, Action::Same]);
        assert_eq!(read("SKILL.md"), "new");
    }

    #[test]
    fn what_others_put_there_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("x");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), "theirs").unwrap();
        fs::write(folder.join(RECORD), "not json").unwrap();
        let done = copy_topic(&NEW, &folder, false, true).unwrap();
        assert_eq!(actions(&done), [Action::Kept, Action::Create]);
        assert_eq!(fs::read_to_string(folder.join("SKILL.md")).unwrap(), "theirs");
    }

    fn selection() -> Selection {
        Selection { skill: Vec::new(), all: true, local: false, dry_run: false }
    }

    fn report(installation: Result<Installation, ErrorBody>) -> Report {
        match installation.unwrap() {
            Installation::Done(report) => report,
            Installation::Choice { .. } => panic!("guides were chosen"),
        }
    }

    #[test]
    fn guides_go_to_the_agents_that_are_there_and_into_the_project() {
        let home = tempfile::tempdir().unwrap();
        let cwd = home.path().join("project/src");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(home.path().join("project/.git")).unwrap();
        let ground = Ground { home: home.path(), cwd: &cwd };
        let args = |agent: Option<&str>, local: bool| SkillsInstallArgs {
            selection: Selection { local, ..selection() },
            agent: agent.map(str::to_owned),
            force: false,
        };
        let error = install(&args(None, false), ground).unwrap_err();
        assert!(error.message.contains("--agent"), "{}", error.message);
        fs::create_dir_all(home.path().join(".codex")).unwrap();
        let done = report(install(&args(None, false), ground));
        assert!(done.files.iter().all(|file| file.agent == "codex"), "{done:?}");
        assert!(home.path().join(".codex/skills/orchestration/SKILL.md").is_file());
        assert!(home.path().join(".codex/skills/orchestration/references/recovery.md").is_file());
        report(install(&args(Some("claude"), true), ground));
        assert!(home.path().join("project/.claude/skills/orca-cli/SKILL.md").is_file());
        let update_args = SkillsUpdateArgs { selection: selection() };
        let updated = report(update(&update_args, ground));
        assert!(updated.files.iter().all(|file| file.agent == "codex" && file.action == Action::Same));
    }
}
