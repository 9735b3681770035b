//! Worktree: a checkout of a Repo, or the plain folder itself. Lineage says who asked for it, not
//! what git base it has.

use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, RepoId};
use serde::{Deserialize, Serialize};

/// A Worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// `<repoId>::<absolute path>` (contract 1.2).
    pub id: String,
    pub repo_id: RepoId,
    pub path: String,
    /// None for a folder or a detached HEAD.
    pub branch: Option<String>,
    pub display_name: String,
    pub comment: Option<String>,
    pub linked_issue: Option<u64>,
    /// `todo`, `in-progress`, `in-review` or `completed`.
    pub workspace_status: String,
    pub is_main: bool,
    pub parent_worktree_id: Option<String>,
    /// The ref it was branched from and the commit that was then.
    pub base_ref: Option<String>,
    pub base_commit: Option<String>,
    pub created_by_dispatch: Option<DispatchId>,
    /// The branch that was made together with the worktree; an older one is never deleted with it.
    #[serde(default)]
    pub made_branch: Option<String>,
    pub created_at: Timestamp,
    pub last_activity_at: Timestamp,
}

/// The states of the work in a worktree, as a person or coordinator sets them (contract 2.6).
pub const WORKSPACE_STATUSES: [&str; 4] = ["todo", "in-progress", "in-review", "completed"];

/// The id of the worktree of `repo` at `path`.
pub fn worktree_id(repo: &RepoId, path: &str) -> String {
    format!("{repo}::{path}")
}

/// What the server found around a working directory before the call was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The main worktree's root, or the folder itself.
    pub repo_root: String,
    /// The root of the checkout around the directory, or the folder itself.
    pub root: String,
    pub is_git: bool,
    pub branch: Option<String>,
}
