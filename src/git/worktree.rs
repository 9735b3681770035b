//! Adding and listing worktrees. Removing is in `remove.rs`, re-exported here.
//!
//! Adding is idempotent, because it is an effect that runs again after a crash: a worktree with the
//! asked path and branch counts as the result of the first run. It never overwrites a folder and
//! never moves a branch, and a failed attempt leaves neither a folder nor a branch behind.

use super::refs::oid;
use super::{GitError, name, open_main_at, plain, retry_locked};
use crate::base::report::OrLog as _;
use crate::base::text::shell_quote;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use super::remove::{RemoveRequest, Removed, remove};

/// One worktree of a repository, as git has it registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    /// The checkout's folder.
    pub path: PathBuf,
    /// The branch checked out there now; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit checked out there; `None` before the first commit.
    pub head: Option<String>,
    /// Whether it is the main checkout, which is never removed.
    pub is_main: bool,
    /// Whether somebody locked it.
    pub is_locked: bool,
    /// Whether its folder is gone, so that only the registration is left.
    pub is_prunable: bool,
    /// Git's folder for it under `.git/worktrees`, or `.git` itself for the main checkout.
    pub(super) admin: PathBuf,
}

/// The branch of a new worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBranch {
    /// Make it at this commit (hex id).
    At(String),
    /// It exists; check it out as it is.
    Existing,
}

/// What to add.
#[derive(Debug, Clone)]
pub struct AddRequest<'a> {
    /// A path inside the repository.
    pub repo: &'a Path,
    /// The new checkout's folder, absolute; must not exist, or be empty.
    pub path: &'a Path,
    pub branch: &'a str,
    pub from: NewBranch,
}

/// What came of adding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The checkout's folder, links resolved.
    pub path: PathBuf,
    /// The commit checked out.
    pub head: String,
    /// Whether an earlier run had added it already.
    pub was_there: bool,
}

/// One worktree at a time is added or removed in this process: git's own bookkeeping races otherwise.
static TURN: Mutex<()> = Mutex::new(());

pub(super) fn take_turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a worktree.
///
/// # Errors
/// [`GitError::Refused`] when the folder is in use by something else, or the branch exists at another
/// commit or is checked out elsewhere (the message says where).
pub fn add(request: &AddRequest<'_>) -> Result<Added, GitError> {
    name::check_branch_name(request.branch)?;
    let _turn = take_turn();
    let repo = open_main_at(request.repo)?;
    let path = resolved(request.path)?;
    let entries = entries(&repo)?;
    if let Some(entry) = entries.iter().find(|e| e.path == path && !e.is_prunable) {
        return adopt(entry, request);
    }
    if let Some(stale) = entries.iter().find(|e| e.path == path && e.is_prunable && !e.is_locked) {
        // Its folder is gone, so the registration is all there is, and it blocks the path.
        super::tree::remove(&stale.admin).map_err(GitError::io("dropping a stale registration"))?;
    }
    check_path_is_free(&path)?;
    let elsewhere = entries.iter().find(|e| e.path != path && e.branch.as_deref() == Some(request.branch));
    if let Some(other) = elsewhere {
        return Err(GitError::Refused {
            why: format!("The branch {} is already checked out at {}.", request.branch, other.path.display()),
            next_step: format!("orca worktree show --worktree {}", path_selector(&other.path)),
        });
    }
    let made_branch = ensure_branch(&repo, request)?;
    check_out(&repo, &path, request.branch).inspect_err(|_| {
        if made_branch {
            drop_branch(&repo, request.branch).or_log("taking back the branch of a failed worktree");
        }
    })
}

/// Finishes or confirms what an earlier run added.
fn adopt(entry: &WorktreeEntry, request: &AddRequest<'_>) -> Result<Added, GitError> {
    let is_same = !entry.is_main && entry.branch.as_deref() == Some(request.branch);
    let Some(head) = entry.head.clone().filter(|_| is_same) else {
        return Err(GitError::Refused {
            why: format!(
                "{} is already the worktree of {}.",
                entry.path.display(),
                entry.branch.as_deref().unwrap_or("a detached HEAD")
            ),
            next_step: format!("orca worktree show --worktree {}", path_selector(&entry.path)),
        });
    };
    if !entry.admin.join("index").exists() {
        // A crash hit between registering and checking out. The safe mode fills in missing files and
        // leaves whatever is there.
        let tree = git2::Repository::open(&entry.path).map_err(GitError::git("opening the worktree"))?;
        let mut options = git2::build::CheckoutBuilder::new();
        options.safe().recreate_missing(true);
        tree.checkout_head(Some(&mut options)).map_err(GitError::git("finishing the checkout"))?;
    }
    Ok(Added { path: entry.path.clone(), head, was_there: true })
}

/// Makes the branch where it has to be made; says whether it did.
fn ensure_branch(repo: &git2::Repository, request: &AddRequest<'_>) -> Result<bool, GitError> {
    let existing = repo.find_branch(request.branch, git2::BranchType::Local).ok();
    let tip = existing.and_then(|branch| branch.get().peel_to_commit().ok()).map(|commit| commit.id());
    match (&request.from, tip) {
        (NewBranch::Existing, Some(_)) => Ok(false),
        (NewBranch::Existing, None) => {
            Err(GitError::BadName { why: format!("There is no branch {}.", request.branch) })
        }
        // An earlier run got as far as the branch.
        (NewBranch::At(base), Some(tip)) if oid(base)? == tip => Ok(false),
        (NewBranch::At(_), Some(_)) => Err(GitError::Refused {
            why: format!(
                "The branch {} exists already and has other commits. Choose another --name, or name the branch with --branch to use it as it is.",
                request.branch
            ),
            next_step: format!(
                "git -C {} log --oneline -5 {}",
                shell_quote(&plain(request.repo).display().to_string()),
                shell_quote(request.branch)
            ),
        }),
        (NewBranch::At(base), None) => {
            let commit = repo.find_commit(oid(base)?).map_err(GitError::git("reading the base commit"))?;
            retry_locked(|| repo.branch(request.branch, &commit, false).map(|_| ()))
                .map_err(GitError::git(format!("making the branch {}", request.branch)))?;
            Ok(true)
        }
    }
}

/// Registers the worktree and fills its folder; takes both back when it fails.
fn check_out(repo: &git2::Repository, path: &Path, branch: &str) -> Result<Added, GitError> {
    let worktrees = repo.commondir().join("worktrees");
    std::fs::create_dir_all(&worktrees).map_err(GitError::io(format!("making {}", worktrees.display())))?;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(GitError::io(format!("making {}", parent.display())))?;
    }
    // libgit2 makes the folder itself and refuses one that exists.
    let was_empty_dir = std::fs::remove_dir(path).is_ok();
    let admin_name = free_admin_name(&worktrees, path)?;
    let reference = repo
        .find_reference(&format!("refs/heads/{branch}"))
        .map_err(GitError::git(format!("reading the branch {branch}")))?;
    let mut options = git2::WorktreeAddOptions::new();
    options.reference(Some(&reference));
    let added = repo.worktree(&admin_name, path, Some(&options));
    match added {
        Ok(_) => {
            let head = reference.peel_to_commit().map_err(GitError::git("reading the new HEAD"))?;
            Ok(Added { path: plain(path), head: head.id().to_string(), was_there: false })
        }
        Err(source) => {
            // Both were made by this call: the folder was free and the name was unused.
            super::tree::remove(path).or_log("taking back the folder of a failed worktree");
            super::tree::remove(&worktrees.join(&admin_name)).or_log("taking back a failed registration");
            if was_empty_dir {
                std::fs::create_dir(path).or_log("putting back the empty folder");
            }
            Err(GitError::Git { doing: format!("making the worktree {}", path.display()), source })
        }
    }
}

fn free_admin_name(worktrees: &Path, path: &Path) -> Result<String, GitError> {
    let wanted = name::safe_name(&path.file_name().unwrap_or_default().to_string_lossy())?;
    let is_free = |name: &String| worktrees.join(name).symlink_metadata().is_err();
    std::iter::once(wanted.clone())
        .chain((1..10_000).map(|n| format!("{wanted}{n}")))
        .find(is_free)
        .ok_or_else(|| GitError::BadName { why: format!("Too many worktrees are called {wanted:?}.") })
}

fn check_path_is_free(path: &Path) -> Result<(), GitError> {
    let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
    let is_empty_dir =
        meta.is_dir() && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty_dir {
        return Ok(());
    }
    Err(GitError::Refused {
        why: format!(
            "{} exists already and is not this worktree. Choose another --name, or move it away.",
            path.display()
        ),
        next_step: format!("ls -la {}", shell_quote(&path.display().to_string())),
    })
}

pub(super) fn drop_branch(repo: &git2::Repository, branch: &str) -> Result<(), git2::Error> {
    retry_locked(|| repo.find_branch(branch, git2::BranchType::Local)?.delete())
}

/// The path with the links of its existing part resolved, as git will register it.
fn resolved(path: &Path) -> Result<PathBuf, GitError> {
    if !path.is_absolute() {
        return Err(GitError::BadName { why: format!("The worktree path {path:?} is not absolute.") });
    }
    let mut existing = path;
    let mut rest = Vec::new();
    while let (false, Some(parent), Some(name)) =
        (existing.symlink_metadata().is_ok(), existing.parent(), existing.file_name())
    {
        rest.push(name);
        existing = parent;
    }
    Ok(rest.iter().rev().fold(plain(existing), |path, name| path.join(name)))
}

fn path_selector(path: &Path) -> String {
    shell_quote(&format!("path:{}", path.display()))
}

/// Lists the worktrees of the repository around `repo`, the main checkout first.
pub fn list(repo: &Path) -> Result<Vec<WorktreeEntry>, GitError> {
    entries(&open_main_at(repo)?)
}

/// Reads git's own files, so that a worktree whose folder is gone or damaged is listed as well.
pub(super) fn entries(main: &git2::Repository) -> Result<Vec<WorktreeEntry>, GitError> {
    let common = main.commondir();
    let mut entries = Vec::new();
    if let Some(workdir) = main.workdir() {
        entries.push(entry(main, plain(workdir), common.to_owned(), true));
    }
    let folder = match std::fs::read_dir(common.join("worktrees")) {
        Ok(folder) => folder,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(entries),
        Err(source) => return Err(GitError::Io { doing: String::from("listing worktrees"), source }),
    };
    let mut admins: Vec<PathBuf> = folder.flatten().map(|e| e.path()).collect();
    admins.sort();
    for admin in admins {
        let Ok(pointer) = std::fs::read_to_string(admin.join("gitdir")) else { continue };
        // A relative pointer (git 2.48 and later) counts from the folder that holds it.
        let pointer = admin.join(pointer.trim_end_matches(['\n', '\r']));
        if let Some(path) = pointer.parent() {
            entries.push(entry(main, plain(path), admin.clone(), false));
        }
    }
    Ok(entries)
}

fn entry(main: &git2::Repository, path: PathBuf, admin: PathBuf, is_main: bool) -> WorktreeEntry {
    let head = std::fs::read_to_string(admin.join("HEAD")).unwrap_or_default();
    let head = head.trim();
    let target = head.strip_prefix("ref:").map(str::trim);
    let commit = match target {
        Some(target) => main.refname_to_id(target).ok().map(|id| id.to_string()),
        None => git2::Oid::from_str(head).ok().map(|id| id.to_string()),
    };
    WorktreeEntry {
        branch: target.and_then(|t| t.strip_prefix("refs/heads/")).map(str::to_owned),
        head: commit,
        is_main,
        is_locked: !is_main && admin.join("locked").exists(),
        is_prunable: !is_main && !path.join(".git").exists(),
        path,
        admin,
    }
}
