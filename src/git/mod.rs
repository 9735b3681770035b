//! Local git work: finding repositories, worktrees, base branches and drift, safe names.
//!
//! Everything blocks and each call opens its repository afresh, so nothing here outlives a job and a
//! repository that changed under us is seen as it is. Network operations and hooks are not done here:
//! those run the user's own `git` (design 11). Nothing reads the clock, the working directory or our
//! environment. Who may call: effect runners and whoever else runs blocking jobs; never a transaction.

pub mod files;
pub mod name;
pub mod refs;
mod remove;
pub mod status;
mod tree;
pub mod worktree;

use crate::base::code::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a git job was refused or failed.
#[derive(Debug)]
pub enum GitError {
    /// No repository encloses the path.
    NotARepository { path: PathBuf },
    /// The repository has no commit that a worktree could start from.
    UnbornBranch { root: PathBuf },
    /// The name of a branch or worktree does not work; the caller has to give another.
    BadName { why: String },
    /// A base is no commit of the repository.
    BadBase { why: String, root: PathBuf },
    /// Doing it would lose or overwrite something, or what is there is not what was expected.
    Refused { why: String, next_step: String },
    /// A worktree holds work that exists nowhere else, and nobody said that it may go.
    HoldsWork { why: String, next_step: String },
    /// libgit2 failed while `doing` something.
    Git { doing: String, source: git2::Error },
    /// The file system failed while `doing` something.
    Io { doing: String, source: std::io::Error },
}

impl GitError {
    /// The stable code of the public contract.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotARepository { .. } => ErrorCode::NotARepository,
            Self::UnbornBranch { .. } => ErrorCode::UnbornBranch,
            Self::BadName { .. } | Self::BadBase { .. } => ErrorCode::InvalidArgument,
            Self::HoldsWork { .. } => ErrorCode::WorktreeHoldsWork,
            Self::Refused { .. } | Self::Git { .. } | Self::Io { .. } => ErrorCode::WorktreeFailed,
        }
    }

    /// One command to run next; None where the verb's own help says as much.
    pub fn next_step(&self) -> Option<String> {
        match self {
            Self::NotARepository { path } => {
                Some(format!("git init {}", crate::base::text::shell_quote(&path.display().to_string())))
            }
            Self::UnbornBranch { root } => Some(format!(
                "git -C {} commit --allow-empty -m \"First commit\"",
                crate::base::text::shell_quote(&root.display().to_string())
            )),
            Self::BadBase { root, .. } => Some(format!(
                "orca repo search-refs --repo {} --query '' --json",
                crate::base::text::shell_quote(&format!("path:{}", root.display()))
            )),
            Self::Refused { next_step, .. } | Self::HoldsWork { next_step, .. } => Some(next_step.clone()),
            Self::Git { source, .. } if source.code() == git2::ErrorCode::Owner => {
                let path = quoted(source.message())?;
                Some(format!(
                    "git config --global --add safe.directory {}",
                    crate::base::text::shell_quote(path)
                ))
            }
            Self::BadName { .. } | Self::Git { .. } | Self::Io { .. } => None,
        }
    }

    fn git(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Git { doing, source }
    }

    fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// What a message of libgit2 has in single quotes: the path that it is about.
fn quoted(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once('\'')?;
    rest.rsplit_once('\'').map(|(path, _)| path.trim_end_matches('/'))
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARepository { path } => write!(f, "{} is not inside a git repository.", path.display()),
            Self::UnbornBranch { root } => write!(
                f,
                "The repository {} has no commit yet, so no worktree can start from it.",
                root.display()
            ),
            Self::BadName { why }
            | Self::BadBase { why, .. }
            | Self::Refused { why, .. }
            | Self::HoldsWork { why, .. } => f.write_str(why),
            Self::Git { doing, source } => write!(f, "Git failed while {doing}: {}.", source.message()),
            Self::Io { doing, source } => write!(f, "The system failed while {doing}: {source}."),
        }
    }
}

impl std::error::Error for GitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Git { source, .. } => Some(source),
            Self::Io { source, .. } => Some(source),
            Self::NotARepository { .. }
            | Self::UnbornBranch { .. }
            | Self::BadName { .. }
            | Self::BadBase { .. }
            | Self::Refused { .. }
            | Self::HoldsWork { .. } => None,
        }
    }
}

/// What a path tells about the repository around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoInfo {
    /// The main checkout, also when the path lies in a linked worktree. For a bare repository the
    /// folder that holds it: its own folder, or the parent of a hidden one such as `.bare`.
    pub root: PathBuf,
    /// The checkout that encloses the path; `None` where the path is in a bare repository.
    pub worktree: Option<PathBuf>,
    /// Whether `worktree` is a linked worktree and not the main checkout.
    pub is_linked: bool,
    /// Whether the repository has no main checkout.
    pub is_bare: bool,
    /// Whether the checkout's branch has no commit yet.
    pub is_unborn: bool,
    /// The branch checked out there, `None` when HEAD is detached.
    pub branch: Option<String>,
}

impl RepoInfo {
    /// The repository's name: the last part of its root, without `.git`.
    pub fn name(&self) -> String {
        let base = self.root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let name = base.strip_suffix(".git").unwrap_or(&base);
        if name.is_empty() { String::from("repo") } else { name.to_owned() }
    }
}

/// Finds the repository that encloses `path` (a folder or a file, existing).
pub fn discover(path: &Path) -> Result<RepoInfo, GitError> {
    let repo = open(path)?;
    let main = open_main(&repo)?;
    let root = match main.workdir() {
        Some(dir) => dir.to_owned(),
        None => bare_root(main.commondir()),
    };
    let head = repo.find_reference("HEAD").map_err(GitError::git("reading HEAD"))?;
    Ok(RepoInfo {
        root: plain(&root),
        worktree: repo.workdir().map(plain),
        is_linked: repo.is_worktree(),
        is_bare: main.workdir().is_none(),
        is_unborn: matches!(repo.head(), Err(e) if e.code() == git2::ErrorCode::UnbornBranch),
        branch: head
            .symbolic_target_bytes()
            .map(String::from_utf8_lossy)
            .and_then(|target| target.strip_prefix("refs/heads/").map(str::to_owned)),
    })
}

/// Opens the repository that encloses `path`.
fn open(path: &Path) -> Result<git2::Repository, GitError> {
    git2::Repository::discover(path).map_err(|source| match source.code() {
        git2::ErrorCode::NotFound => GitError::NotARepository { path: path.to_owned() },
        _ => GitError::Git { doing: format!("opening the repository at {}", path.display()), source },
    })
}

/// Opens the main repository of what may be a linked worktree.
fn open_main(repo: &git2::Repository) -> Result<git2::Repository, GitError> {
    git2::Repository::open(repo.commondir()).map_err(GitError::git("opening the main repository"))
}

/// Opens the main repository around `path`.
fn open_main_at(path: &Path) -> Result<git2::Repository, GitError> {
    open_main(&open(path)?)
}

fn bare_root(common_dir: &Path) -> PathBuf {
    let is_hidden = common_dir.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
    match common_dir.parent() {
        Some(parent) if is_hidden => parent.to_owned(),
        _ => common_dir.to_owned(),
    }
}

/// The path without a trailing separator, links in it resolved where it exists: the form in which
/// worktree paths are compared.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.components().collect())
}

/// Runs `job` again, a few times within five seconds, while another process holds a git lock file.
fn retry_locked<T>(mut job: impl FnMut() -> Result<T, git2::Error>) -> Result<T, git2::Error> {
    const N_TRIES: u32 = 50;
    for _ in 1..N_TRIES {
        match job() {
            Err(error) if error.code() == git2::ErrorCode::Locked => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            other => return other,
        }
    }
    job()
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
