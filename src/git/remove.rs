//! Removing a worktree without losing work: uncommitted changes and commits that nothing else holds
//! need a flag that names them (design 7.9). The main checkout is never a candidate.

use super::refs::{default_base, oid};
use super::status::{WorktreeStatus, is_merged, is_reachable, status};
use super::worktree::{WorktreeEntry, drop_branch, entries, take_turn};
use super::{GitError, open_main_at, plain};
use crate::base::text::shell_quote;
use std::path::Path;

/// What to remove.
#[derive(Debug, Clone)]
pub struct RemoveRequest<'a> {
    /// A path inside the repository, best its main checkout.
    pub repo: &'a Path,
    /// The worktree's folder.
    pub path: &'a Path,
    /// The branch that was made together with the worktree, where one was: deleted if it is checked
    /// out there still and everything on it is in the default base. Any other branch stays.
    pub made_branch: Option<&'a str>,
    /// Whether the caller was told to throw away uncommitted changes and unreachable commits.
    pub discards_work: bool,
}

/// What came of removing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// Whether there was something to remove; `false` when an earlier run had done it.
    pub was_there: bool,
    /// The branch that was deleted.
    pub deleted_branch: Option<String>,
    /// The branch that was kept, where it was to be deleted or kept on purpose.
    pub preserved_branch: Option<String>,
}

/// Removes a linked worktree and its registration.
///
/// # Errors
/// [`GitError::Refused`] for the main checkout, a locked worktree, a folder that is no worktree of
/// this repository, and, unless `discards_work`, for one that holds work which exists nowhere else.
pub fn remove(request: &RemoveRequest<'_>) -> Result<Removed, GitError> {
    let _turn = take_turn();
    let repo = open_main_at(request.repo)?;
    let path = plain(request.path);
    let all = entries(&repo)?;
    let Some(entry) = all.iter().find(|entry| entry.path == path) else {
        if path.symlink_metadata().is_err() {
            return finish_removal(&repo, request.made_branch, &all);
        }
        return Err(refused(
            format!("{} is not a worktree of this repository.", path.display()),
            String::from("orca worktree list"),
        ));
    };
    check_may_go(entry, &all, repo.commondir())?;
    if !request.discards_work {
        check_holds_nothing(&repo, entry)?;
    }
    super::tree::remove(&entry.path).map_err(GitError::io(format!("removing {}", entry.path.display())))?;
    super::tree::remove(&entry.admin).map_err(GitError::io("dropping the worktree's registration"))?;
    let mut removed = Removed { was_there: true, ..Removed::default() };
    if let Some(branch) = &entry.branch {
        let others: Vec<&WorktreeEntry> = all.iter().filter(|other| other.path != entry.path).collect();
        if request.made_branch == Some(branch) && drop_if_merged(&repo, branch, &others)? {
            removed.deleted_branch = Some(branch.clone());
        } else {
            removed.preserved_branch = Some(branch.clone());
        }
    }
    Ok(removed)
}

/// An earlier run was cut short, or somebody removed the worktree by hand: only its branch is left.
fn finish_removal(
    repo: &git2::Repository,
    made_branch: Option<&str>,
    all: &[WorktreeEntry],
) -> Result<Removed, GitError> {
    let mut removed = Removed::default();
    let is_there = |branch: &&str| repo.find_branch(branch, git2::BranchType::Local).is_ok();
    if let Some(branch) = made_branch.filter(is_there) {
        if drop_if_merged(repo, branch, &all.iter().collect::<Vec<_>>())? {
            removed.deleted_branch = Some(branch.to_owned());
        } else {
            removed.preserved_branch = Some(branch.to_owned());
        }
    }
    Ok(removed)
}

fn refused(why: String, next_step: String) -> GitError {
    GitError::Refused { why, next_step }
}

fn holds_work(why: String, next_step: String) -> GitError {
    GitError::HoldsWork { why, next_step }
}

fn check_may_go(entry: &WorktreeEntry, all: &[WorktreeEntry], common: &Path) -> Result<(), GitError> {
    let shown = entry.path.display();
    if entry.is_main {
        return Err(refused(
            format!("{shown} is the main checkout and is never removed."),
            String::from("orca worktree list"),
        ));
    }
    if entry.is_locked {
        return Err(refused(
            format!("The worktree {shown} is locked."),
            format!("git worktree unlock {}", shell_quote(&shown.to_string())),
        ));
    }
    let inner = all.iter().find(|other| other.path != entry.path && other.path.starts_with(&entry.path));
    if inner.is_some() || plain(common).starts_with(&entry.path) {
        return Err(refused(
            format!("The worktree {shown} contains another checkout or the repository itself."),
            String::from("orca worktree list"),
        ));
    }
    Ok(())
}

/// Refuses a worktree with work in it that exists nowhere else.
fn check_holds_nothing(repo: &git2::Repository, entry: &WorktreeEntry) -> Result<(), GitError> {
    let shown = entry.path.display().to_string();
    let look = format!("git -C {} status", shell_quote(&shown));
    if !entry.is_prunable {
        let now = status(&entry.path, None)?;
        if now.is_dirty() {
            return Err(holds_work(
                format!("The worktree {shown} has uncommitted work ({}).", words(&now)),
                look,
            ));
        }
    }
    if entry.admin.join("modules").read_dir().is_ok_and(|mut modules| modules.next().is_some()) {
        return Err(holds_work(
            format!("The worktree {shown} has submodules, whose commits would go with it."),
            format!("git -C {} submodule foreach git status", shell_quote(&shown)),
        ));
    }
    if let (None, Some(head)) = (&entry.branch, &entry.head)
        && !is_reachable(repo, oid(head)?)?
    {
        return Err(holds_work(
            format!("The worktree {shown} has commits on no branch."),
            format!("git -C {} branch keep-this", shell_quote(&shown)),
        ));
    }
    Ok(())
}

fn words(status: &WorktreeStatus) -> String {
    let counts = [
        (status.n_staged, "staged"),
        (status.n_modified, "modified"),
        (status.n_untracked, "untracked"),
        (status.n_conflicted, "in conflict"),
    ];
    let mut words: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    words.extend(status.operation.map(|operation| format!("a {operation} in progress")));
    words.join(", ")
}

/// Deletes a branch that holds nothing that the default base lacks, is not that base, and is checked out
/// in none of `others`; says whether it did.
fn drop_if_merged(
    repo: &git2::Repository,
    branch: &str,
    others: &[&WorktreeEntry],
) -> Result<bool, GitError> {
    let is_used = others.iter().any(|other| other.branch.as_deref() == Some(branch));
    let tip = repo.refname_to_id(&format!("refs/heads/{branch}")).ok();
    let (Some(base), Some(tip)) = (default_base(repo)?, tip) else { return Ok(false) };
    let is_base = base.name == branch || base.name.strip_prefix("origin/") == Some(branch);
    if is_used || is_base || matches!(branch, "main" | "master") {
        return Ok(false);
    }
    let is_merged = is_merged(repo, tip, oid(&base.commit)?);
    if is_merged {
        drop_branch(repo, branch).map_err(GitError::git(format!("deleting the branch {branch}")))?;
    }
    Ok(is_merged)
}
