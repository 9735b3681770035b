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
    pub added_at: Timestamp,
}
