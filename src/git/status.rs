//! What a worktree holds that is nowhere else: uncommitted changes and unmerged commits.

use super::refs::{default_base, head_commit, oid};
use super::{GitError, open, open_main, refs};
use std::path::Path;

/// A summary of one worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeStatus {
    /// The branch checked out now; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit checked out; `None` before the first commit.
    pub head: Option<String>,
    pub n_staged: usize,
    pub n_modified: usize,
    pub n_untracked: usize,
    pub n_conflicted: usize,
    /// A rebase, merge or similar that stopped half-way.
    pub operation: Option<&'static str>,
    /// Commits that the base lacks.
    pub n_ahead: usize,
    /// Commits of the base that are missing here.
    pub n_behind: usize,
    /// The base that was compared with; `None` where the repository has none.
    pub base: Option<String>,
    /// Whether everything committed here is in the base, as commits or as a squashed change.
    pub is_merged: bool,
}

impl WorktreeStatus {
    /// Whether removing the folder would lose something that was never committed.
    pub fn is_dirty(&self) -> bool {
        self.n_staged + self.n_modified + self.n_untracked + self.n_conflicted > 0 || self.operation.is_some()
    }
}

/// Reads the state of the worktree around `path` and compares it with `base`, or with the default
/// base where none is given. A base that is gone by now leaves `base` empty and is no error.
pub fn status(path: &Path, base: Option<&str>) -> Result<WorktreeStatus, GitError> {
    let repo = open(path)?;
    let mut status = WorktreeStatus { operation: operation(&repo), ..WorktreeStatus::default() };
    count_changes(&repo, &mut status)?;
    let info = super::discover(path)?;
    status.branch = info.branch;
    let Ok(head) = head_commit(&repo) else { return Ok(status) };
    status.head = Some(head.to_string());
    let base = match base {
        Some(name) => refs::resolve_base(path, Some(name)).ok(),
        None => default_base(&open_main(&repo)?)?,
    };
    if let Some(base) = base {
        let tip = oid(&base.commit)?;
        let counts = repo.graph_ahead_behind(head, tip).map_err(GitError::git("comparing with the base"))?;
        (status.n_ahead, status.n_behind) = counts;
        status.is_merged = is_merged(&repo, head, tip);
        status.base = Some(base.name);
    }
    Ok(status)
}

fn count_changes(repo: &git2::Repository, status: &mut WorktreeStatus) -> Result<(), GitError> {
    if repo.is_bare() {
        return Ok(());
    }
    let mut options = git2::StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(false).include_ignored(false);
    let changes = repo.statuses(Some(&mut options)).map_err(GitError::git("reading the status"))?;
    let staged = git2::Status::INDEX_NEW
        | git2::Status::INDEX_MODIFIED
        | git2::Status::INDEX_DELETED
        | git2::Status::INDEX_RENAMED
        | git2::Status::INDEX_TYPECHANGE;
    let modified = git2::Status::WT_MODIFIED
        | git2::Status::WT_DELETED
        | git2::Status::WT_RENAMED
        | git2::Status::WT_TYPECHANGE
        | git2::Status::WT_UNREADABLE;
    for entry in changes.iter() {
        let change = entry.status();
        if change == git2::Status::WT_NEW && is_shared(repo, &String::from_utf8_lossy(entry.path_bytes())) {
            continue;
        }
        status.n_staged += usize::from(change.intersects(staged));
        status.n_modified += usize::from(change.intersects(modified));
        status.n_untracked += usize::from(change.contains(git2::Status::WT_NEW));
        status.n_conflicted += usize::from(change.contains(git2::Status::CONFLICTED));
    }
    Ok(())
}

/// Whether an untracked path is a link to the same path in the main checkout: shared, and no work.
fn is_shared(repo: &git2::Repository, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let (Some(tree), Some(main)) = (repo.workdir(), super::open_main(repo).ok()) else { return false };
    let target = tree.join(path).read_link();
    let same = main.workdir().map(|main| super::plain(main).join(path));
    target.is_ok_and(|target| Some(target) == same)
}

fn operation(repo: &git2::Repository) -> Option<&'static str> {
    use git2::RepositoryState as State;
    match repo.state() {
        State::Clean => None,
        State::Merge => Some("merge"),
        State::Revert | State::RevertSequence => Some("revert"),
        State::CherryPick | State::CherryPickSequence => Some("cherry-pick"),
        State::Bisect => Some("bisect"),
        State::Rebase | State::RebaseInteractive | State::RebaseMerge => Some("rebase"),
        State::ApplyMailbox | State::ApplyMailboxOrRebase => Some("am"),
    }
}

/// Whether `base` provably contains what `tip` has: as commits, or because merging `tip` would change
/// nothing (a squashed or rebased merge). In doubt: no.
pub(super) fn is_merged(repo: &git2::Repository, tip: git2::Oid, base: git2::Oid) -> bool {
    if tip == base || repo.graph_descendant_of(base, tip).unwrap_or(false) {
        return true;
    }
    let merged_tree = || -> Result<bool, git2::Error> {
        let (ours, theirs) = (repo.find_commit(base)?, repo.find_commit(tip)?);
        let mut index = repo.merge_commits(&ours, &theirs, None)?;
        Ok(!index.has_conflicts() && index.write_tree_to(repo)? == ours.tree_id())
    };
    merged_tree().unwrap_or(false)
}

/// Whether a branch or tag still reaches `commit`, so that it cannot be lost.
pub(super) fn is_reachable(repo: &git2::Repository, commit: git2::Oid) -> Result<bool, GitError> {
    for reference in repo.references().map_err(GitError::git("listing branches"))?.flatten() {
        let Ok(tip) = reference.peel_to_commit() else { continue };
        if tip.id() == commit || repo.graph_descendant_of(tip.id(), commit).unwrap_or(false) {
            return Ok(true);
        }
    }
    Ok(false)
}
