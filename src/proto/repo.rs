//! Repo: calls and replies.

use super::call;
use super::row::RepoRow;
use crate::base::id::RepoId;
use crate::model::repo::{AgentStartup, CommandSource, HookSettings, SetupRunPolicy};
use crate::model::setup::{Project, ScriptOrigin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `repo list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RepoList {}

/// The reply of `repo list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repos {
    pub repos: Vec<RepoRow>,
}

/// `repo show`; omitted means the one around the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RepoShow {
    pub repo: Option<String>,
}

/// `repo add`: the checkout or folder around the directory that the call names as its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepoAdd {
    pub path: String,
    /// `git` or `folder`; what is there decides where it is not given.
    pub kind: Option<String>,
}

/// The reply of `repo show`, `repo add` and `repo set-base-ref`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneRepo {
    pub repo: RepoRow,
}

/// `repo rm`: forgets a repository and its worktrees; no file is touched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepoRemove {
    pub repo: Option<String>,
    pub is_forced: bool,
    pub from: Option<String>,
}

/// The reply of `repo rm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepoRemoved {
    pub removed: bool,
    /// The worktrees that are not known any more; their folders stand as they were.
    pub forgotten_worktree_ids: Vec<String>,
}

/// `repo set-base-ref`: where new worktrees begin when nothing else is said; `null` for the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepoSetBaseRef {
    pub repo: Option<String>,
    #[serde(rename = "ref")]
    pub base_ref: String,
}

/// `repo search-refs`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepoSearchRefs {
    pub repo: Option<String>,
    pub query: String,
    pub limit: Option<u32>,
}

/// The reply of `repo search-refs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundRefs {
    pub refs: Vec<String>,
    pub ref_details: Vec<RefDetail>,
    pub truncated: bool,
}

/// A branch or tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefDetail {
    pub name: String,
    pub commit: String,
}

/// `repo hooks show`: the scripts around worktrees, where they are from and which of them run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksShow {
    pub repo: Option<String>,
}

/// The reply of `repo hooks show` and `repo hooks set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hooks {
    pub repo_id: RepoId,
    /// What this machine's person set.
    pub local: HookSettings,
    /// What `orca.yaml` says where new worktrees begin.
    pub shared: Project,
    /// What follows from both.
    pub effective: EffectiveHooks,
    /// Texts that worktrees wait for, and nobody approved.
    pub waiting: Vec<ScriptRow>,
}

/// What runs around a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveHooks {
    pub setup: Vec<ScriptRow>,
    pub archive: Vec<ScriptRow>,
    /// The commands of the tabs that open in a new worktree.
    pub tabs: Vec<ScriptRow>,
    pub setup_run_policy: SetupRunPolicy,
    pub agent_startup: AgentStartup,
    /// Null: the repository's scripts, or this machine's where it has none.
    pub command_source: Option<CommandSource>,
}

/// One script and whether it may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptRow {
    pub origin: ScriptOrigin,
    pub text: String,
    /// What an approval of exactly this text is recorded as.
    pub hash: String,
    pub is_approved: bool,
}

/// `repo hooks set`: what is given is changed, on this machine only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HooksSet {
    pub repo: Option<String>,
    /// A text, or `null` for none; so are the other values.
    pub setup_script: Option<String>,
    pub archive_script: Option<String>,
    pub setup_run_policy: Option<String>,
    pub agent_startup: Option<String>,
    pub command_source: Option<String>,
    pub from: Option<String>,
}

/// `repo hooks approve`: a person's yes to one exact text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksApprove {
    pub repo: Option<String>,
    /// The text's hash, at least its first 12 digits; without it the texts are shown.
    pub hash: Option<String>,
}

/// `repo hooks reject`: a person's no.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksReject {
    pub repo: Option<String>,
    pub hash: Option<String>,
}

/// The reply of `repo hooks approve` and `repo hooks reject`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksDecided {
    pub script: ScriptRow,
    /// Worktrees that waited for it and go on now.
    pub n_released: usize,
}

call!(HooksShow, "repo.hooksShow", Mutation, Hooks, needs_place: true);
call!(HooksSet, "repo.hooksSet", Mutation, Hooks, needs_place: true);
call!(HooksApprove, "repo.hooksApprove", Mutation, HooksDecided, needs_place: true);
call!(HooksReject, "repo.hooksReject", Mutation, HooksDecided, needs_place: true);
call!(RepoList, "repo.list", Read, Repos);
call!(RepoShow, "repo.show", Mutation, OneRepo, needs_place: true);
call!(RepoAdd, "repo.add", Mutation, OneRepo, needs_place: true);
call!(RepoRemove, "repo.rm", Mutation, RepoRemoved, needs_place: true);
call!(RepoSetBaseRef, "repo.setBaseRef", Mutation, OneRepo, needs_place: true);
call!(RepoSearchRefs, "repo.searchRefs", Mutation, FoundRefs, needs_place: true);
