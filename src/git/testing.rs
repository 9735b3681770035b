//! Real repositories in a temporary folder, for the tests of this module.

use std::path::{Path, PathBuf};

pub(crate) struct TestRepo {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl TestRepo {
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("My Repo ü");
        let mut options = git2::RepositoryInitOptions::new();
        git2::Repository::init_opts(&root, options.initial_head("main")).unwrap();
        let repo = Self { dir, root };
        repo.set_config("user.name", "Tester");
        repo.set_config("user.email", "tester@example.com");
        repo
    }

    pub(crate) fn with_commit() -> Self {
        let repo = Self::empty();
        repo.commit("file.txt", "one\n", "First");
        repo
    }

    /// The folder around the repository, removed at the end of the test.
    pub(crate) fn scratch(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn open(&self) -> git2::Repository {
        git2::Repository::open(&self.root).unwrap()
    }

    pub(crate) fn set_config(&self, key: &str, value: &str) {
        self.open().config().unwrap().set_str(key, value).unwrap();
    }

    pub(crate) fn branch(&self, name: &str) {
        let repo = self.open();
        let commit = repo.head().unwrap().peel_to_commit().unwrap();
        repo.branch(name, &commit, false).unwrap();
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &str) {
        self.open().reference(name, git2::Oid::from_str(commit).unwrap(), true, "test").unwrap();
    }

    pub(crate) fn commit(&self, file: &str, text: &str, subject: &str) -> String {
        commit_in(&self.root, file, text, subject)
    }

    pub(crate) fn head(&self) -> String {
        self.open().head().unwrap().peel_to_commit().unwrap().id().to_string()
    }
}

/// Writes `file` in the checkout at `dir` and commits it there; gives the commit's id.
pub(crate) fn commit_in(dir: &Path, file: &str, text: &str, subject: &str) -> String {
    let repo = git2::Repository::open(dir).unwrap();
    std::fs::write(dir.join(file), text).unwrap();
    let mut index = repo.index().unwrap();
    index.add_path(Path::new(file)).unwrap();
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let who = git2::Signature::now("Tester", "tester@example.com").unwrap();
    let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    repo.commit(Some("HEAD"), &who, &who, subject, &tree, &parents).unwrap().to_string()
}
