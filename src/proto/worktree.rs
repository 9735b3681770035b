//! Worktree and repo: calls and replies.

use super::call;
use super::row::{RepoRow, WorktreeRow};
use crate::base::id::TerminalId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `worktree create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeCreate {
    pub name: String,
    pub repo: Option<String>,
    pub agent: Option<String>,
    pub prompt: Option<String>,
    pub setup: Option<String>,
    pub base_branch: Option<String>,
    pub branch: Option<String>,
    pub issue: Option<u64>,
    pub comment: Option<String>,
    pub display_name: Option<String>,
    pub parent_worktree: Option<String>,
    pub is_top_level: bool,
    pub is_activated: bool,
    pub from: Option<String>,
}

/// The reply of `worktree create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeMade {
    pub worktree: WorktreeRow,
    pub lineage: Option<Lineage>,
    pub warnings: Vec<String>,
    /// `not_configured` or `skipped`; scripts of a repository come later.
    pub setup_state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_terminal: Option<StartupTerminal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_terminal_handle: Option<TerminalId>,
}

/// Who asked for a worktree; it says nothing about the git base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lineage {
    pub parent_worktree_id: String,
}

/// The first terminal of a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartupTerminal {
    pub handle: TerminalId,
}

/// `worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeList {
    pub repo: Option<String>,
    pub limit: Option<u32>,
}

/// The reply of `worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktrees {
    pub worktrees: Vec<WorktreeRow>,
    pub total_count: usize,
    pub truncated: bool,
}

/// `worktree show`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeShow {
    pub worktree: String,
}

/// `worktree current`: the one around the working directory, registered on first use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorktreeCurrent {}

/// The reply of `worktree show` and `worktree current`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneWorktree {
    pub worktree: WorktreeRow,
}

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
pub struct RepoAdd {
    pub path: String,
}

/// The reply of `repo show` and `repo add`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneRepo {
    pub repo: RepoRow,
}

call!(WorktreeCreate, "worktree.create", Mutation, WorktreeMade, needs_place: true);
call!(WorktreeList, "worktree.list", Read, Worktrees);
call!(WorktreeShow, "worktree.show", Mutation, OneWorktree, needs_place: true);
call!(WorktreeCurrent, "worktree.current", Mutation, OneWorktree, needs_place: true);
call!(RepoList, "repo.list", Read, Repos);
call!(RepoShow, "repo.show", Mutation, OneRepo, needs_place: true);
call!(RepoAdd, "repo.add", Mutation, OneRepo, needs_place: true);
