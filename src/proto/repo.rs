//! Repo: calls and replies.

use super::call;
use super::row::RepoRow;
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

call!(RepoList, "repo.list", Read, Repos);
call!(RepoShow, "repo.show", Mutation, OneRepo, needs_place: true);
call!(RepoAdd, "repo.add", Mutation, OneRepo, needs_place: true);
call!(RepoRemove, "repo.rm", Mutation, RepoRemoved, needs_place: true);
call!(RepoSetBaseRef, "repo.setBaseRef", Mutation, OneRepo, needs_place: true);
call!(RepoSearchRefs, "repo.searchRefs", Mutation, FoundRefs, needs_place: true);
