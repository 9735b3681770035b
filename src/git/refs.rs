//! Which commit new work starts from, and how far a worktree has fallen behind it (contract 5.2).

use super::{GitError, open, open_main_at};
use crate::base::text::{cut_chars, one_line};
use std::path::Path;

/// The commit that new work starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The name to show and to compare with later, for example `origin/main`.
    pub name: String,
    /// The commit's full hex id.
    pub commit: String,
}

/// The default bases, best first; `HEAD` comes last because it may be a feature branch.
const DEFAULTS: [&str; 6] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
    "HEAD",
];

/// Resolves the base of new work: `requested` where given, else the repository's default.
///
/// # Errors
/// [`GitError::BadBase`] for a requested base that names no commit, [`GitError::UnbornBranch`] for a
/// repository without any commit to start from.
pub fn resolve_base(repo: &Path, requested: Option<&str>) -> Result<Base, GitError> {
    let main = open_main_at(repo)?;
    match requested {
        Some(name) => requested_base(&main, name),
        None => default_base(&main)?.ok_or_else(|| GitError::UnbornBranch {
            root: super::plain(main.workdir().unwrap_or_else(|| main.commondir())),
        }),
    }
}

fn requested_base(repo: &git2::Repository, name: &str) -> Result<Base, GitError> {
    let bad = |why: &str| GitError::BadBase {
        why: format!("The base {:?} {why}.", cut_chars(name, 120)),
        root: super::plain(repo.workdir().unwrap_or_else(|| repo.commondir())),
    };
    if name.is_empty() || name.starts_with('-') || name.len() > 500 || name.chars().any(char::is_control) {
        return Err(bad("is not the name of a branch or commit"));
    }
    let object = repo.revparse_single(name).map_err(|_| bad("does not exist in this repository"))?;
    let commit = object.peel_to_commit().map_err(|_| bad("does not name a commit"))?;
    Ok(Base { name: name.to_owned(), commit: commit.id().to_string() })
}

pub(super) fn default_base(repo: &git2::Repository) -> Result<Option<Base>, GitError> {
    for name in DEFAULTS {
        let Ok(reference) = repo.find_reference(name) else { continue };
        // A dangling origin/HEAD or an unborn HEAD is no base; the next one may be.
        let Ok(resolved) = reference.resolve() else { continue };
        let Ok(commit) = resolved.peel_to_commit() else { continue };
        let shown = String::from_utf8_lossy(resolved.shorthand_bytes()).into_owned();
        return Ok(Some(Base { name: shown, commit: commit.id().to_string() }));
    }
    Ok(None)
}

/// Whether the repository has this local branch.
pub fn has_branch(repo: &Path, name: &str) -> Result<bool, GitError> {
    Ok(open_main_at(repo)?.find_branch(name, git2::BranchType::Local).is_ok())
}

/// The bytes of a file at the root of a commit, at most `max` and one more; None where it has none.
pub fn file_at(repo: &Path, commit: &str, name: &str, max: usize) -> Result<Option<Vec<u8>>, GitError> {
    let repo = open(repo)?;
    let doing = || GitError::git(format!("reading {name} of {commit}"));
    let tree = repo.find_commit(oid(commit)?).and_then(|commit| commit.tree()).map_err(doing())?;
    // A link has a blob, too, and it is no script.
    let is_file = |entry: &git2::TreeEntry<'_>| matches!(entry.filemode(), 0o100_644 | 0o100_755);
    let Some(id) = tree.get_name(name).filter(is_file).map(|entry| entry.id()) else { return Ok(None) };
    let blob = repo.find_blob(id).map_err(doing())?;
    Ok(Some(blob.content().iter().copied().take(max + 1).collect()))
}

/// How a worktree stands to its base.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drift {
    /// Commits of the base that the worktree lacks.
    pub n_behind: usize,
    /// Commits of the worktree that the base lacks.
    pub n_ahead: usize,
    /// The newest missing subjects, at most five, made safe for one line.
    pub subjects: Vec<String>,
}

/// Counts what the worktree around `worktree` lacks of `base` (a name or hex id).
///
/// # Errors
/// As [`resolve_base`]; [`GitError::UnbornBranch`] where the worktree has no commit.
pub fn drift(worktree: &Path, base: &str) -> Result<Drift, GitError> {
    let repo = open(worktree)?;
    let base = oid(&requested_base(&repo, base)?.commit)?;
    let head = head_commit(&repo)?;
    let doing = || GitError::git("comparing with the base branch");
    let (n_ahead, n_behind) = repo.graph_ahead_behind(head, base).map_err(doing())?;
    let mut walk = repo.revwalk().map_err(doing())?;
    walk.push(base).map_err(doing())?;
    walk.hide(head).map_err(doing())?;
    let mut subjects = Vec::new();
    for id in walk.take(5) {
        let commit = repo.find_commit(id.map_err(doing())?).map_err(doing())?;
        let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        subjects.push(cut_chars(&one_line(&subject), 100));
    }
    Ok(Drift { n_behind, n_ahead, subjects })
}

pub(super) fn head_commit(repo: &git2::Repository) -> Result<git2::Oid, GitError> {
    let head = repo.head().and_then(|head| head.peel_to_commit());
    head.map(|commit| commit.id()).map_err(|source| match source.code() {
        git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound => {
            GitError::UnbornBranch { root: super::plain(repo.workdir().unwrap_or_else(|| repo.commondir())) }
        }
        _ => GitError::Git { doing: String::from("reading HEAD"), source },
    })
}

pub(super) fn oid(hex: &str) -> Result<git2::Oid, GitError> {
    git2::Oid::from_str(hex).map_err(GitError::git(format!("reading the commit id {hex:?}")))
}

/// A branch or tag that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefMatch {
    /// The short name, for example `origin/main`.
    pub name: String,
    /// The commit's full hex id.
    pub commit: String,
}

/// Lists branches and tags whose short name contains `query`, ignoring case, in the order of names;
/// the flag says whether there were more than `limit`.
pub fn search(repo: &Path, query: &str, limit: usize) -> Result<(Vec<RefMatch>, bool), GitError> {
    let repo = open_main_at(repo)?;
    let query = query.to_lowercase();
    let mut found = Vec::new();
    for reference in repo.references().map_err(GitError::git("listing branches"))? {
        let Ok(reference) = reference else { continue };
        let name = String::from_utf8_lossy(reference.shorthand_bytes()).into_owned();
        let is_listed = reference.is_branch() || reference.is_remote() || reference.is_tag();
        if !is_listed || name.ends_with("/HEAD") || !name.to_lowercase().contains(&query) {
            continue;
        }
        if let Ok(commit) = reference.peel_to_commit() {
            found.push(RefMatch { name: one_line(&name), commit: commit.id().to_string() });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let is_truncated = found.len() > limit;
    found.truncate(limit);
    Ok((found, is_truncated))
}
