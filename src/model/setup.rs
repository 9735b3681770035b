//! Setup: the scripts of a repository around a worktree, who approved them, and how the run for one new
//! worktree went. Pure: which scripts are chosen and what a text's approval is.

use super::repo::{AgentStartup, CommandSource, HookSettings, Repo, SetupRunPolicy};
use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, RepoId, TerminalId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Digest as _;

words! {
    /// How the setup of a worktree stands (contract 5.5; `awaiting_approval` is ours).
    SetupState {
        NotConfigured = "not_configured",
        Skipped = "skipped",
        AwaitingApproval = "awaiting_approval",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        SpawnFailed = "spawn_failed",
    }
}

words! {
    /// What `--setup` says; without it `worker-start` runs and `worktree create` inherits.
    SetupChoice {
        Run = "run",
        Skip = "skip",
        Inherit = "inherit",
    }
}

words! {
    /// Where a script is from.
    ScriptOrigin {
        /// The repository's `orca.yaml`: runs only once a person approved its exact text.
        Shared = "shared",
        /// This machine's own settings, which its person wrote.
        Local = "local",
    }
}

/// What the `orca.yaml` of a commit says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Project {
    /// `<ref>:orca.yaml`, where there is one.
    pub source: Option<String>,
    pub setup: Option<String>,
    pub archive: Option<String>,
    pub agent_startup: Option<AgentStartup>,
    /// What opens in a new worktree, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_tabs: Vec<Tab>,
    /// Why the file counts as absent.
    pub problem: Option<String>,
}

/// One terminal that a repository wants in a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tab {
    pub title: Option<String>,
    /// `#rgb` or `#rrggbb`.
    pub color: Option<String>,
    /// A line for the shell, which runs only once a person approved it; without it the shell itself.
    pub command: Option<String>,
}

impl Tab {
    /// Its command as a script of the repository.
    pub fn script(&self) -> Option<Script> {
        self.command.clone().map(|text| Script { origin: ScriptOrigin::Shared, text })
    }
}

/// One script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    pub origin: ScriptOrigin,
    pub text: String,
}

impl Script {
    /// What an approval of exactly this text is recorded as.
    pub fn hash(&self) -> String {
        let digest = sha2::Sha256::digest(self.text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it may run: it is the person's own, or they approved its text.
    pub fn may_run(&self, approved: &[String]) -> bool {
        match self.origin {
            ScriptOrigin::Local => true,
            ScriptOrigin::Shared => approved.contains(&self.hash()),
        }
    }
}

/// The scripts that the settings choose of what the repository and this machine have (contract 5.3).
/// Where nothing is set: the repository's, or this machine's where it has none.
pub fn chosen(source: Option<CommandSource>, shared: Option<&str>, local: Option<&str>) -> Vec<Script> {
    let script = |origin, text: &str| Script { origin, text: text.to_owned() };
    let shared = shared.map(|text| script(ScriptOrigin::Shared, text));
    let local = local.map(|text| script(ScriptOrigin::Local, text));
    match source {
        None => shared.or(local).into_iter().collect(),
        Some(CommandSource::SharedOnly) => shared.into_iter().collect(),
        Some(CommandSource::LocalOnly) => local.into_iter().collect(),
        Some(CommandSource::RunBoth) => shared.into_iter().chain(local).collect(),
    }
}

/// The tabs that the settings choose: the repository's, unless only this machine's scripts count.
pub fn tabs(source: Option<CommandSource>, project: &Project) -> &[Tab] {
    match source {
        None | Some(CommandSource::SharedOnly | CommandSource::RunBoth) => &project.default_tabs,
        Some(CommandSource::LocalOnly) => &[],
    }
}

/// One text for the shell that does what the scripts do, one after the other. Each is a subshell where
/// there are several, so that the `exit` of one does not end the next.
pub fn joined(scripts: &[Script]) -> String {
    match scripts {
        [one] => one.text.clone(),
        many => many.iter().map(|script| format!("(\n{}\n)\n", script.text)).collect(),
    }
}

/// Whether setup runs: None where the repository's policy wants a decision each time.
pub fn runs(choice: SetupChoice, settings: &HookSettings) -> Option<bool> {
    match choice {
        SetupChoice::Run => Some(true),
        SetupChoice::Skip => Some(false),
        SetupChoice::Inherit => match settings.setup_run_policy {
            None | Some(SetupRunPolicy::RunByDefault) => Some(true),
            Some(SetupRunPolicy::SkipByDefault) => Some(false),
            Some(SetupRunPolicy::Ask) => None,
        },
    }
}

/// When the agent starts: as the call says, else this machine's settings, else the repository, else
/// after setup, so that no agent meets a half-made worktree.
pub fn startup(wish: Option<AgentStartup>, settings: &HookSettings, project: &Project) -> AgentStartup {
    wish.or(settings.agent_startup).or(project.agent_startup).unwrap_or(AgentStartup::WaitForSetup)
}

/// The variables of a script (contract 1.4), with the copies that older scripts know.
pub fn variables(repo: &Repo, worktree_path: &str) -> Vec<(String, String)> {
    let name = worktree_path.rsplit('/').next().unwrap_or(worktree_path);
    [
        ("ORCA_ROOT_PATH", repo.path.as_str()),
        ("ORCA_WORKTREE_PATH", worktree_path),
        ("ORCA_WORKSPACE_NAME", name),
        ("CONDUCTOR_ROOT_PATH", repo.path.as_str()),
        ("GHOSTX_ROOT_PATH", repo.path.as_str()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The setup of one worktree that orca made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Its key.
    pub worktree_id: String,
    pub repo_id: RepoId,
    /// The attempt that the worktree was made for.
    pub dispatch_id: Option<DispatchId>,
    pub scripts: Vec<Script>,
    /// `<ref>:orca.yaml`, or `this machine`.
    pub source: String,
    pub state: SetupState,
    pub startup: AgentStartup,
    pub terminal_id: Option<TerminalId>,
    /// What a person should know: files that were not copied, a file that cannot be read.
    pub warnings: Vec<String>,
    /// What opens in the worktree after a `worktree create`, once it may.
    pub then: Option<Value>,
    /// The repository's tabs that open then too.
    #[serde(default)]
    pub tabs: Vec<Tab>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Setup {
    /// It is not over yet.
    pub fn is_open(&self) -> bool {
        match self.state {
            SetupState::AwaitingApproval | SetupState::Running => true,
            SetupState::NotConfigured
            | SetupState::Skipped
            | SetupState::Succeeded
            | SetupState::Failed
            | SetupState::SpawnFailed => false,
        }
    }

    /// The agent waits for it.
    pub fn holds_agent(&self) -> bool {
        self.is_open() && self.startup == AgentStartup::WaitForSetup
    }

    /// The scripts that nobody approved.
    pub fn unapproved(&self, approved: &[String]) -> Vec<&Script> {
        self.scripts.iter().filter(|script| !script.may_run(approved)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_choose_the_scripts() {
        let check = |source, shared, local, expected: &[&str]| {
            let chosen = chosen(source, shared, local);
            let texts: Vec<&str> = chosen.iter().map(|script| script.text.as_str()).collect();
            assert_eq!(texts, expected, "{source:?} {shared:?} {local:?}");
        };
        check(None, Some("s"), Some("l"), &["s"]);
        check(None, None, Some("l"), &["l"]);
        check(Some(CommandSource::SharedOnly), None, Some("l"), &[]);
        check(Some(CommandSource::LocalOnly), Some("s"), Some("l"), &["l"]);
        check(Some(CommandSource::RunBoth), Some("s"), Some("l"), &["s", "l"]);
        check(Some(CommandSource::RunBoth), None, None, &[]);
    }

    #[test]
    fn an_approval_is_of_one_exact_text() {
        let script = |text: &str| Script { origin: ScriptOrigin::Shared, text: text.to_owned() };
        let approved = vec![script("make").hash()];
        assert!(script("make").may_run(&approved));
        assert!(!script("make ").may_run(&approved));
        assert!(Script { origin: ScriptOrigin::Local, ..script("make ") }.may_run(&approved));
    }

    #[test]
    fn the_nearest_wish_decides_when_the_agent_starts() {
        use AgentStartup::{StartImmediately as Now, WaitForSetup as Later};
        let check = |wish, local, shared, expected| {
            let settings = HookSettings { agent_startup: local, ..HookSettings::default() };
            let project = Project { agent_startup: shared, ..Project::default() };
            assert_eq!(startup(wish, &settings, &project), expected);
        };
        check(None, None, None, Later);
        check(None, None, Some(Now), Now);
        check(None, Some(Later), Some(Now), Later);
        check(Some(Now), Some(Later), Some(Later), Now);
    }

    #[test]
    fn several_scripts_do_not_end_each_other() {
        let script = |text: &str| Script { origin: ScriptOrigin::Local, text: text.to_owned() };
        assert_eq!(joined(&[script("exit 0")]), "exit 0");
        assert_eq!(joined(&[script("exit 0"), script("b")]), "(\nexit 0\n)\n(\nb\n)\n");
    }
}
