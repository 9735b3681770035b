//! Looking at repositories and transcripts for verbs: read only, on a thread of its own.

use super::{WorktreePlaces, project, worktree};
use crate::base::report::OrLog as _;
use crate::config::env::find_program;
use crate::git::refs::{self, resolve_base, search};
use crate::git::status::{WorktreeStatus, status};
use crate::git::{self, GitError};
use crate::model::worker::Drift;
use crate::ops::look::{Look, Program, Seen, Tree, missing_folder};
use crate::proto::error::ErrorBody;
use crate::proto::repo::RefDetail;
use crate::proto::worktree::GitRow;
use crate::server::transcript;
use std::ffi::OsString;
use std::path::Path;

/// Worktrees that are looked at side by side.
const N_SIDE_BY_SIDE: usize = 4;

/// Looks.
pub(super) fn see(places: &WorktreePlaces, wanted: Look) -> Result<Seen, ErrorBody> {
    match wanted {
        Look::Worktree(wish, program) => {
            let project = worktree::foresee(places, &wish)?;
            match program.filter(|program| !is_there(program, None)) {
                Some(program) => Err(program.missing()),
                None => Ok(Seen::Worktree { wish, project }),
            }
        }
        Look::Place { tree, program } => {
            let folder = Path::new(&tree.path);
            match program {
                Some(_) if !folder.is_dir() => Err(missing_folder(&tree.path)),
                Some(program) if !is_there(&program, Some(folder)) => Err(program.missing()),
                Some(_) | None => Ok(Seen::Place(see_drift(tree))),
            }
        }
        Look::Refs { repo, query, limit } => {
            let (found, is_truncated) = search(Path::new(&repo), &query, limit).map_err(body)?;
            let refs = found.into_iter().map(|found| RefDetail { name: found.name, commit: found.commit });
            Ok(Seen::Refs { refs: refs.collect(), is_truncated })
        }
        Look::Base { repo, name } => {
            resolve_base(Path::new(&repo), Some(&name)).map(|_| Seen::Base).map_err(body)
        }
        Look::Project { repo, base } => {
            let repo = Path::new(&repo);
            let base = resolve_base(repo, base.as_deref()).map_err(body)?;
            Ok(Seen::Project(project::at(repo, &base.name, &base.commit).model()))
        }
        Look::Trees(trees) => Ok(Seen::Trees(see_trees(&trees))),
        Look::Session(wish) => Ok(Seen::Session(transcript::find(&wish, |name| std::env::var_os(name)))),
        Look::Transcript(wish) => Ok(Seen::Transcript(transcript::read(&wish))),
    }
}

/// Whether a program can be started in `folder`. In one that is still to be made nobody knows what there is.
fn is_there(program: &Program, folder: Option<&Path>) -> bool {
    let is_relative = program.name.contains('/') && !program.name.starts_with('/');
    if is_relative && folder.is_none() {
        return true;
    }
    let own = program.search_path.clone().map(OsString::from);
    let search_path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    find_program(&program.name, &search_path, folder.unwrap_or(Path::new("/"))).is_some()
}

pub(super) fn body(error: GitError) -> ErrorBody {
    let body = ErrorBody::new(error.code(), error.to_string());
    error.next_step().into_iter().fold(body, ErrorBody::next_step)
}

/// A worktree or a base that git does not know is no reason to refuse a start.
fn see_drift(tree: Tree) -> Option<Drift> {
    let base = tree.base?;
    let seen = refs::drift(Path::new(&tree.path), &base).or_log("compare a worktree with its base")?;
    let n_behind = seen.n_behind;
    (n_behind > 0).then_some(Drift { base, n_behind, subjects: seen.subjects })
}

fn see_trees(trees: &[Tree]) -> std::collections::BTreeMap<String, GitRow> {
    let share = trees.len().div_ceil(N_SIDE_BY_SIDE).max(1);
    std::thread::scope(|scope| {
        let look = |part: &'_ [Tree]| {
            part.iter().map(|tree| (tree.path.clone(), see_tree(tree))).collect::<Vec<_>>()
        };
        let jobs: Vec<_> = trees.chunks(share).map(|part| scope.spawn(move || look(part))).collect();
        jobs.into_iter().filter_map(|job| job.join().ok()).flatten().collect()
    })
}

fn see_tree(tree: &Tree) -> GitRow {
    let path = Path::new(&tree.path);
    if !path.is_dir() {
        return GitRow { is_missing: true, ..GitRow::default() };
    }
    // What encloses a folder that lost its own repository is not this worktree.
    let is_own = |info: git::RepoInfo| info.worktree.is_none_or(|root| root == path);
    match git::discover(path).map(is_own).and_then(|is_own| {
        if is_own {
            status(path, tree.base.as_deref())
        } else {
            Err(GitError::NotARepository { path: path.to_owned() })
        }
    }) {
        Ok(status) => row(status),
        Err(error) => GitRow { error: Some(error.to_string()), ..GitRow::default() },
    }
}

fn row(status: WorktreeStatus) -> GitRow {
    GitRow {
        is_dirty: status.is_dirty(),
        branch: status.branch,
        head: status.head,
        base: status.base,
        ahead: status.n_ahead,
        behind: status.n_behind,
        staged: status.n_staged,
        modified: status.n_modified,
        untracked: status.n_untracked,
        conflicted: status.n_conflicted,
        operation: status.operation.map(str::to_owned),
        is_merged: status.is_merged,
        is_missing: false,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::name::{BranchPrefix, Layout};
    use crate::git::testing::TestRepo;

    fn places() -> WorktreePlaces {
        WorktreePlaces { root: "/t".into(), layout: Layout::Flat, prefix: BranchPrefix::None }
    }

    #[test]
    fn worktrees_are_seen_as_they_are_now() {
        let repo = TestRepo::with_commit();
        std::fs::write(repo.root().join("new"), "x").unwrap();
        let inner = repo.root().join("lost");
        std::fs::create_dir(&inner).unwrap();
        let tree = |path: &Path| Tree {
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned(),
            base: None,
        };
        let trees = [repo.root(), Path::new("/no/such/tree"), &inner].map(tree);
        let Ok(Seen::Trees(seen)) = see(&places(), Look::Trees(trees.to_vec())) else { panic!() };
        let [main, gone, lost] = trees.map(|tree| seen[&tree.path].clone());
        assert_eq!((main.branch.as_deref(), main.untracked), (Some("main"), 1));
        assert!(gone.is_missing);
        assert!(lost.error.is_some() && lost.branch.is_none(), "{lost:?}");
    }

    #[test]
    fn a_worktree_behind_its_base_is_told_by_how_much() {
        let repo = TestRepo::with_commit();
        let path = repo.root().to_string_lossy().into_owned();
        let see = |base: &str| {
            let tree = Tree { path: path.clone(), base: Some(base.to_owned()) };
            see(&places(), Look::Place { tree, program: None })
        };
        assert_eq!((see("main"), see("nothing")), (Ok(Seen::Place(None)), Ok(Seen::Place(None))));
    }

    #[test]
    fn a_base_that_is_no_commit_is_a_bad_argument() {
        let repo = TestRepo::with_commit();
        let path = repo.root().to_string_lossy().into_owned();
        let ask = |name: &str| see(&places(), Look::Base { repo: path.clone(), name: name.to_owned() });
        assert_eq!(ask("main"), Ok(Seen::Base));
        assert_eq!(ask("nothing").unwrap_err().code.as_str(), "invalid_argument");
    }
}
