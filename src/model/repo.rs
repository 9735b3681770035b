//! Repo: a registered repository or plain folder.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::RepoId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// What a Repo is.
    RepoKind {
        Git = "git",
        Folder = "folder",
    }
}

words! {
    /// Whether the setup of a new worktree runs when the call leaves it to the repository.
    SetupRunPolicy {
        /// The call has to say.
        Ask = "ask",
        RunByDefault = "run-by-default",
        SkipByDefault = "skip-by-default",
    }
}

words! {
    /// When the agent of a new worktree starts.
    AgentStartup {
        /// Side by side with setup.
        StartImmediately = "start-immediately",
        /// Once setup has succeeded.
        WaitForSetup = "wait-for-setup",
    }
}

words! {
    /// Which scripts run: the repository's, this machine's, or both in that order.
    CommandSource {
        SharedOnly = "shared-only",
        LocalOnly = "local-only",
        RunBoth = "run-both",
    }
}

/// What this machine's person set for the scripts of a repository. Never written into the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookSettings {
    pub setup_script: Option<String>,
    pub archive_script: Option<String>,
    pub setup_run_policy: Option<SetupRunPolicy>,
    pub agent_startup: Option<AgentStartup>,
    pub command_source: Option<CommandSource>,
    /// The hashes of the texts of the repository that a person approved, oldest first.
    pub approved: Vec<String>,
}

/// A Repo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repo {
    pub id: RepoId,
    /// The main worktree's root, absolute and resolved.
    pub path: String,
    pub display_name: String,
    pub kind: RepoKind,
    pub worktree_base_ref: Option<String>,
    pub worktree_base_path: Option<String>,
    #[serde(default)]
    pub hook_settings: HookSettings,
    pub added_at: Timestamp,
}
