use super::refs::{drift, resolve_base, search};
use super::status::status;
use super::testing::{TestRepo, commit_in};
use super::worktree::*;
use super::*;

fn add_at(repo: &TestRepo, path: &Path, branch: &str) -> Result<Added, GitError> {
    let from = NewBranch::At(resolve_base(repo.root(), None)?.commit);
    add(&AddRequest { repo: repo.root(), path, branch, from })
}

fn remove_at(repo: &TestRepo, path: &Path, discards_work: bool) -> Result<Removed, GitError> {
    let branch =
        list(repo.root())?.iter().find(|entry| entry.path == plain(path)).and_then(|e| e.branch.clone());
    remove(&RemoveRequest { repo: repo.root(), path, made_branch: branch.as_deref(), discards_work })
}

#[test]
fn a_linked_worktree_and_a_folder_in_it_lead_to_the_main_checkout() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("trees/ä b");
    let added = add_at(&repo, &path, "feature/ü").unwrap();
    std::fs::create_dir(path.join("deep")).unwrap();
    let info = discover(&path.join("deep")).unwrap();
    assert_eq!(info.root, plain(repo.root()));
    assert_eq!(info.worktree, Some(added.path));
    assert!(info.is_linked && !info.is_bare && !info.is_unborn);
    assert_eq!(info.branch.as_deref(), Some("feature/ü"));
    assert_eq!(info.name(), "My Repo ü");
    assert_eq!(std::fs::read_to_string(path.join("file.txt")).unwrap(), "one\n");
}

#[test]
fn unusual_layouts_are_named_and_not_guessed() {
    let none = tempfile::tempdir().unwrap();
    assert_eq!(discover(none.path()).unwrap_err().code(), ErrorCode::NotARepository);

    let empty = TestRepo::empty();
    let info = discover(empty.root()).unwrap();
    assert!(info.is_unborn);
    let error = resolve_base(empty.root(), None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnbornBranch);
    assert!(error.next_step().unwrap().contains("commit"), "{error}");

    // A bare repository in `.bare` with a pointer file beside it.
    let project = none.path().join("project");
    let source = TestRepo::with_commit();
    let mut clone = git2::build::RepoBuilder::new();
    clone.bare(true).clone(&source.root().to_string_lossy(), &project.join(".bare")).unwrap();
    std::fs::write(project.join(".git"), "gitdir: ./.bare\n").unwrap();
    let info = discover(&project).unwrap();
    assert!(info.is_bare);
    assert_eq!(info.root, plain(&project));
    let base = resolve_base(&project, None).unwrap();
    let path = project.join("work");
    let from = NewBranch::At(base.commit);
    add(&AddRequest { repo: &project, path: &path, branch: "work", from }).unwrap();
    assert_eq!(discover(&path).unwrap().root, plain(&project));
}

#[test]
fn an_unsupported_extension_is_named() {
    let repo = TestRepo::with_commit();
    repo.set_config("core.repositoryformatversion", "1");
    repo.set_config("extensions.refstorage", "reftable");
    let error = discover(repo.root()).unwrap_err();
    assert!(error.to_string().contains("refstorage"), "{error}");
    assert_eq!(error.code(), ErrorCode::WorktreeFailed);
}

#[test]
fn the_default_base_is_never_the_feature_branch_in_hand() {
    let repo = TestRepo::with_commit();
    let first = repo.head();
    repo.branch("feature");
    repo.open().set_head("refs/heads/feature").unwrap();
    let second = repo.commit("b", "b", "Feature work");
    assert_eq!(resolve_base(repo.root(), None).unwrap().name, "main");
    assert_eq!(resolve_base(repo.root(), Some("feature")).unwrap().commit, second);
    repo.set_ref("refs/remotes/origin/trunk", &first);
    repo.open()
        .reference_symbolic("refs/remotes/origin/HEAD", "refs/remotes/origin/trunk", true, "")
        .unwrap();
    let base = resolve_base(repo.root(), None).unwrap();
    assert_eq!((base.name.as_str(), base.commit.as_str()), ("origin/trunk", first.as_str()));
    repo.open().find_reference("refs/remotes/origin/trunk").unwrap().delete().unwrap();
    assert_eq!(resolve_base(repo.root(), None).unwrap().name, "main");
    for bad in ["", "-f", "no such", "HEAD:file.txt", "a\nb"] {
        let error = resolve_base(repo.root(), Some(bad)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{bad:?}");
    }
}

#[test]
fn adding_again_is_the_same_worktree() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    let first = add_at(&repo, &path, "a").unwrap();
    assert!(!first.was_there);
    let admin = repo.open().commondir().join("worktrees/t");
    std::fs::remove_file(admin.join("index")).unwrap();
    std::fs::remove_file(path.join("file.txt")).unwrap();
    let again = add_at(&repo, &path, "a").unwrap();
    assert_eq!(again, Added { was_there: true, ..first });
    assert!(path.join("file.txt").exists(), "the checkout is finished");
    assert_eq!(add_at(&repo, &path, "b").unwrap_err().code(), ErrorCode::WorktreeFailed);
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_behind() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("mine"), "x").unwrap();
    assert!(add_at(&repo, &path, "a").unwrap_err().to_string().contains("exists already"));
    assert!(repo.open().find_branch("a", git2::BranchType::Local).is_err());
    assert!(path.join("mine").exists());

    // The parent is a file: the checkout cannot be made, and the name works once it is gone.
    let blocked = repo.scratch().join("file/t");
    std::fs::write(repo.scratch().join("file"), "x").unwrap();
    assert!(add_at(&repo, &blocked, "a").is_err());
    assert!(repo.open().find_branch("a", git2::BranchType::Local).is_err());
    std::fs::remove_file(repo.scratch().join("file")).unwrap();
    add_at(&repo, &blocked, "a").unwrap();
}

#[test]
fn a_folder_in_the_way_is_looked_at_next() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("in the way");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("mine"), "x").unwrap();
    let error = add_at(&repo, &path, "a").unwrap_err();
    let step = error.next_step().unwrap();
    assert!(step.starts_with("ls -la '/") && step.ends_with("/in the way'"), "{step}");
}

#[test]
fn a_repository_of_somebody_else_is_named_in_the_step_that_trusts_it() {
    let message = "repository path '/srv/it's here/' is not owned by current user";
    let source = git2::Error::new(git2::ErrorCode::Owner, git2::ErrorClass::Config, message);
    let error = GitError::Git { doing: String::from("opening the repository"), source };
    let step = error.next_step().unwrap();
    assert_eq!(step, r"git config --global --add safe.directory '/srv/it'\''s here'");
}

#[test]
fn a_taken_branch_says_where_it_is() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("one");
    add_at(&repo, &path, "a").unwrap();
    let error = add_at(&repo, &repo.scratch().join("two"), "a").unwrap_err();
    assert!(error.to_string().contains(&plain(&path).display().to_string()), "{error}");
    repo.branch("old");
    repo.commit("b", "b", "More");
    let error = add_at(&repo, &repo.scratch().join("two"), "old").unwrap_err();
    assert!(error.to_string().contains("--branch"), "{error}");
    let step = error.next_step().unwrap();
    assert!(step.starts_with("git -C ") && step.ends_with(" log --oneline -5 old"), "{step}");
    let two = repo.scratch().join("two");
    let request = AddRequest { repo: repo.root(), path: &two, branch: "old", from: NewBranch::Existing };
    assert!(!add(&request).unwrap().was_there);
}

#[test]
fn worktrees_added_at_once_all_succeed() {
    let repo = TestRepo::with_commit();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let repo = &repo;
            scope.spawn(move || {
                add_at(repo, &repo.scratch().join(format!("w/{n}")), &format!("b{n}")).unwrap()
            });
        }
    });
    assert_eq!(list(repo.root()).unwrap().len(), 9);
}

#[test]
fn the_list_shows_what_is_checked_out_now() {
    let repo = TestRepo::with_commit();
    let (one, two) = (repo.scratch().join("one"), repo.scratch().join("two"));
    add_at(&repo, &one, "a").unwrap();
    add_at(&repo, &two, "b").unwrap();
    git2::Repository::open(&one).unwrap().set_head_detached(refs::oid(&repo.head()).unwrap()).unwrap();
    std::fs::remove_dir_all(&two).unwrap();
    let list = list(&repo.scratch().join("one")).unwrap();
    assert_eq!(list.len(), 3);
    assert!(list[0].is_main && list[0].branch.as_deref() == Some("main"));
    assert_eq!((list[1].branch.as_deref(), list[1].head.clone()), (None, Some(repo.head())));
    assert!(list[2].is_prunable && !list[1].is_prunable);
    add_at(&repo, &two, "b").unwrap();
    assert!(two.join("file.txt").exists(), "a worktree whose folder vanished can be made again");
}

#[test]
fn status_counts_and_merges() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    add_at(&repo, &path, "a").unwrap();
    assert!(status(&path, None).unwrap().is_merged);
    commit_in(&path, "new", "work\n", "Work");
    std::fs::write(path.join("file.txt"), "changed").unwrap();
    std::fs::write(path.join("untracked"), "x").unwrap();
    repo.commit("other", "x", "Meanwhile");
    let now = status(&path, None).unwrap();
    assert_eq!((now.n_modified, now.n_untracked, now.n_staged), (1, 1, 0));
    assert_eq!((now.n_ahead, now.n_behind, now.is_merged), (1, 1, false));
    assert_eq!((now.branch.as_deref(), now.base.as_deref()), (Some("a"), Some("main")));
    // The same change arrives in main as another commit: a squashed merge.
    repo.commit("new", "work\n", "Work, squashed");
    assert!(status(&path, None).unwrap().is_merged);
    assert_eq!(status(&path, Some("gone")).unwrap().base, None);
}

#[test]
fn drift_names_the_newest_missing_commits() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    add_at(&repo, &path, "a").unwrap();
    for n in 0..7 {
        repo.commit("f", &n.to_string(), &format!("Commit {n}\u{1b}[2J"));
    }
    let drift = drift(&path, "main").unwrap();
    assert_eq!((drift.n_behind, drift.n_ahead, drift.subjects.len()), (7, 0, 5));
    assert_eq!(drift.subjects[0], "Commit 6[2J");
}

#[test]
fn searching_refs_ignores_case_and_says_when_it_cut() {
    let repo = TestRepo::with_commit();
    for name in ["Fix-1", "fix-2", "other"] {
        repo.branch(name);
    }
    let (found, is_truncated) = search(repo.root(), "FIX", 1).unwrap();
    assert_eq!((found[0].name.as_str(), found.len(), is_truncated), ("Fix-1", 1, true));
}

#[test]
fn removing_keeps_what_exists_nowhere_else() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    add_at(&repo, &path, "a").unwrap();
    std::fs::write(path.join("untracked"), "x").unwrap();
    let error = remove_at(&repo, &path, false).unwrap_err();
    assert!(error.to_string().contains("1 untracked"), "{error}");
    assert!(path.join("untracked").exists());
    std::fs::remove_file(path.join("untracked")).unwrap();
    commit_in(&path, "w", "w", "Only here");
    let removed = remove_at(&repo, &path, false).unwrap();
    assert_eq!((removed.preserved_branch.as_deref(), removed.deleted_branch), (Some("a"), None));
    assert!(!path.exists() && list(repo.root()).unwrap().len() == 1);
    assert_eq!(remove_at(&repo, &path, false).unwrap(), Removed::default(), "twice is harmless");

    add_at(&repo, &path, "merged").unwrap();
    std::fs::write(path.join("junk"), "x").unwrap();
    let removed = remove_at(&repo, &path, true).unwrap();
    assert_eq!(removed.deleted_branch.as_deref(), Some("merged"));
}

#[test]
fn a_branch_that_is_older_or_not_the_one_made_is_kept() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    repo.branch("old");
    add(&AddRequest { repo: repo.root(), path: &path, branch: "old", from: NewBranch::Existing }).unwrap();
    let request = RemoveRequest { repo: repo.root(), path: &path, made_branch: None, discards_work: true };
    assert_eq!(remove(&request).unwrap().preserved_branch.as_deref(), Some("old"));
    add_at(&repo, &path, "made").unwrap();
    repo.branch("other");
    git2::Repository::open(&path).unwrap().set_head("refs/heads/other").unwrap();
    let request = RemoveRequest { made_branch: Some("made"), ..request };
    assert_eq!(remove(&request).unwrap().preserved_branch.as_deref(), Some("other"));
    let names: Vec<String> =
        search(repo.root(), "", 9).unwrap().0.into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["made", "main", "old", "other"]);
}

#[test]
fn a_removal_that_a_crash_cut_short_is_finished() {
    let repo = TestRepo::with_commit();
    let path = repo.scratch().join("t");
    add_at(&repo, &path, "made").unwrap();
    let request =
        RemoveRequest { repo: repo.root(), path: &path, made_branch: Some("made"), discards_work: false };
    // The folder went by hand.
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(remove(&request).unwrap().deleted_branch.as_deref(), Some("made"));
    // All of it went, but for the branch.
    repo.branch("made");
    let removed = remove(&request).unwrap();
    assert_eq!((removed.was_there, removed.deleted_branch.as_deref()), (false, Some("made")));
}

#[test]
fn removing_refuses_the_main_checkout_foreign_folders_and_loose_commits() {
    let repo = TestRepo::with_commit();
    for discards_work in [false, true] {
        assert!(remove_at(&repo, repo.root(), discards_work).is_err());
        assert!(remove_at(&repo, repo.scratch(), discards_work).is_err());
    }
    let path = repo.scratch().join("t");
    add_at(&repo, &path, "a").unwrap();
    let tree = git2::Repository::open(&path).unwrap();
    tree.set_head_detached(refs::oid(&repo.head()).unwrap()).unwrap();
    commit_in(&path, "w", "w", "On no branch");
    assert!(remove_at(&repo, &path, false).unwrap_err().to_string().contains("on no branch"));
    std::fs::write(repo.open().commondir().join("worktrees/t/locked"), "").unwrap();
    assert!(remove_at(&repo, &path, true).unwrap_err().next_step().unwrap().contains("unlock"));
    assert!(repo.root().join("file.txt").exists() && path.exists());
}
