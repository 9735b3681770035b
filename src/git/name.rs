//! Names for worktrees, their folders and branches (contract 5.2).
//!
//! The rules on text are pure; only [`plan`] looks at the disk, to find a name that is free. It does
//! not create anything: between planning and adding, somebody may take the name, and adding says so.

use super::{GitError, open_main_at, plain, worktree};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The longest safe name, in characters; leaves room for a suffix in any file system.
const MAX_CHARS: usize = 80;

/// Turns `text` into a name that is safe as a folder and as a branch.
///
/// Anything but Unicode letters, digits and `._-` becomes `-`; runs of `-` and of dots collapse;
/// dots and dashes at both ends go.
///
/// # Errors
/// [`GitError::BadName`] when nothing is left.
pub fn safe_name(text: &str) -> Result<String, GitError> {
    let mut name = String::new();
    for c in text.trim().chars().take(MAX_CHARS) {
        let kept = if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let repeats = matches!(kept, '-' | '.') && name.ends_with(kept);
        if !repeats {
            name.push(kept);
        }
    }
    while name.len() > 200 {
        name.pop();
    }
    let is_edge = |c| matches!(c, '.' | '-');
    let mut name = name.trim_matches(is_edge).to_owned();
    // Git forbids a branch that ends like one of its lock files.
    while let Some(rest) = name.strip_suffix(".lock") {
        name = format!("{}-lock", rest.trim_end_matches(is_edge)).trim_matches(is_edge).to_owned();
    }
    if name.is_empty() {
        return Err(GitError::BadName { why: format!("The name {text:?} has no letter or digit in it.") });
    }
    Ok(name)
}

/// Where the first part of a branch name comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BranchPrefix {
    /// The user's name in the git configuration; nothing when it makes no valid branch name.
    #[default]
    GitUser,
    /// This text; refused when it makes no valid branch name.
    Custom(String),
    /// No prefix.
    None,
}

impl BranchPrefix {
    /// Reads the setting: `git-user`, `none`, or the prefix itself.
    pub fn from_setting(word: &str) -> Self {
        match word {
            "git-user" => Self::GitUser,
            "none" => Self::None,
            text => Self::Custom(text.to_owned()),
        }
    }
}

/// How worktree folders are arranged under the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Layout {
    /// `<root>/<repo>/<name>`.
    #[default]
    ByRepo,
    /// `<root>/<name>`.
    Flat,
    /// A path below the root with `{repo}` or `{repoName}`, `{name}` and `{branch}` in it.
    Custom(String),
}

impl Layout {
    /// Reads the setting: `by-repo`, `flat`, or a path with placeholders.
    pub fn from_setting(word: &str) -> Self {
        match word {
            "by-repo" => Self::ByRepo,
            "flat" => Self::Flat,
            text => Self::Custom(text.to_owned()),
        }
    }
}

/// What a new worktree should be called and where it should go.
#[derive(Debug, Clone)]
pub struct PlanRequest<'a> {
    /// A path inside the repository.
    pub repo: &'a Path,
    /// The name that was asked for, as typed.
    pub name: &'a str,
    /// The folder for worktrees; a relative one is resolved against the repository's root.
    pub root: &'a Path,
    pub layout: &'a Layout,
    pub prefix: &'a BranchPrefix,
    /// A branch that was named outright: used as it is, and never given a suffix.
    pub branch: Option<&'a str>,
    /// Folders and branches that are promised to others, though git knows nothing of them yet.
    pub promised: &'a [(PathBuf, String)],
}

/// A free name with its folder and branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub name: String,
    pub path: PathBuf,
    pub branch: String,
}

/// Finds a name whose folder and branch are both free, with `-2`, `-3` … where needed.
///
/// # Errors
/// [`GitError::BadName`] for a name, prefix or branch that cannot be made valid and for a layout that
/// leads outside the root; [`GitError::Refused`] when a branch that was named outright is checked out.
pub fn plan(request: &PlanRequest<'_>) -> Result<Planned, GitError> {
    let info = super::discover(request.repo)?;
    let repo = open_main_at(request.repo)?;
    let wanted = safe_name(request.name)?;
    let prefix = prefix_text(&repo, request.prefix)?;
    let root = plain(&info.root.join(request.root));
    let repo_name = info.name();
    let taken = Taken::read(&repo)?.with(request.promised);
    for n in 1..1_000_u32 {
        let name = if n == 1 { wanted.clone() } else { format!("{wanted}-{n}") };
        let branch = match (request.branch, &prefix) {
            (Some(branch), _) => branch.to_owned(),
            (None, Some(prefix)) => format!("{prefix}/{name}"),
            (None, None) => name.clone(),
        };
        check_branch_name(&branch)?;
        let path = place(&root, request.layout, &repo_name, &name, &branch)?;
        let branch_is_free = request.branch.is_some() || !taken.has_branch(&branch);
        if branch_is_free && !taken.has_folder(&path) {
            return Ok(Planned { name, path, branch });
        }
    }
    Err(GitError::BadName { why: format!("A thousand worktrees are already called like {wanted:?}.") })
}

/// Refuses what git does not take as the name of a branch.
pub fn check_branch_name(branch: &str) -> Result<(), GitError> {
    let is_valid = git2::Branch::name_is_valid(branch).unwrap_or(false)
        && !branch.chars().any(char::is_control)
        && branch.len() <= 240;
    if is_valid {
        Ok(())
    } else {
        Err(GitError::BadName { why: format!("{branch:?} is not a valid branch name.") })
    }
}

fn prefix_text(repo: &git2::Repository, prefix: &BranchPrefix) -> Result<Option<String>, GitError> {
    match prefix {
        BranchPrefix::None => Ok(None),
        BranchPrefix::GitUser => Ok(git_user(repo)),
        BranchPrefix::Custom(text) => {
            let text = text.trim().trim_end_matches('/');
            if text.is_empty() {
                return Ok(None);
            }
            check_branch_name(text)?;
            Ok(Some(text.to_owned()))
        }
    }
}

/// The user's name in the git configuration as the first part of a branch: `github.user`, else
/// `user.name` in small letters; `None` when neither gives a valid one.
fn git_user(repo: &git2::Repository) -> Option<String> {
    let config = repo.config().ok()?.snapshot().ok()?;
    let text = config.get_str("github.user").or_else(|_| config.get_str("user.name")).ok()?;
    let name = safe_name(&text.to_lowercase()).ok()?;
    check_branch_name(&name).ok().map(|()| name)
}

/// The folder of a worktree; stays inside `root` whatever the layout says.
fn place(root: &Path, layout: &Layout, repo: &str, name: &str, branch: &str) -> Result<PathBuf, GitError> {
    let below = match layout {
        Layout::ByRepo => format!("{repo}/{name}"),
        Layout::Flat => name.to_owned(),
        Layout::Custom(template) => template
            .replace("{repoName}", repo)
            .replace("{repo}", repo)
            .replace("{name}", name)
            .replace("{branch}", branch),
    };
    let below = Path::new(&below);
    let is_inside = below.components().next().is_some()
        && below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_inside {
        Ok(root.join(below).components().collect())
    } else {
        Err(GitError::BadName {
            why: format!("The worktree layout leads to {below:?}, which is outside {root:?}."),
        })
    }
}

/// What is in use already. Compared in small letters: on a file system that ignores case, `Fix` and
/// `fix` are one folder and one branch file.
struct Taken {
    branches: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Taken {
    fn read(repo: &git2::Repository) -> Result<Self, GitError> {
        let doing = "listing branches";
        let mut branches = BTreeSet::new();
        for branch in repo.branches(Some(git2::BranchType::Local)).map_err(GitError::git(doing))? {
            let (branch, _) = branch.map_err(GitError::git(doing))?;
            let name = branch.name_bytes().map_err(GitError::git(doing))?;
            branches.insert(String::from_utf8_lossy(name).to_lowercase());
        }
        let folders = worktree::entries(repo)?;
        let folders = folders.iter().map(|e| e.path.to_string_lossy().to_lowercase()).collect();
        Ok(Self { branches, folders })
    }

    fn with(mut self, promised: &[(PathBuf, String)]) -> Self {
        for (folder, branch) in promised {
            self.folders.insert(folder.to_string_lossy().to_lowercase());
            self.branches.insert(branch.to_lowercase());
        }
        self
    }

    /// Whether `branch`, or one that git could not keep beside it (`a` beside `a/b`), exists.
    fn has_branch(&self, branch: &str) -> bool {
        let branch = branch.to_lowercase();
        let below = format!("{branch}/");
        let is_above = |other: &String| branch.starts_with(&format!("{other}/"));
        self.branches.contains(&branch)
            || self.branches.iter().any(|other| other.starts_with(&below) || is_above(other))
    }

    fn has_folder(&self, path: &Path) -> bool {
        if path.symlink_metadata().is_ok() || self.folders.contains(&path.to_string_lossy().to_lowercase()) {
            return true;
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return true };
        let name = name.to_string_lossy().to_lowercase();
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        entries.map(|e| e.file_name()).any(|other| other.to_string_lossy().to_lowercase() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    fn check(input: &str, expected: Option<&str>) {
        assert_eq!(safe_name(input).ok().as_deref(), expected, "{input:?}");
    }

    #[test]
    fn names_keep_letters_of_any_script_and_lose_the_rest() {
        check("  Fix the login  ", Some("Fix-the-login"));
        check("a//b\\c:d", Some("a-b-c-d"));
        check("..--x..y--z.-.", Some("x.y-z"));
        check("한글 이름 ü", Some("한글-이름-ü"));
        check("../../etc/passwd", Some("etc-passwd"));
        check("--force", Some("force"));
        check("a.lock", Some("a-lock"));
        check("a\u{1b}[2J\u{202e}", Some("a-2J"));
        for empty in ["", "   ", "///", ".-.-", "🙂"] {
            check(empty, None);
        }
        assert!(safe_name(&"x".repeat(5_000)).unwrap().len() <= MAX_CHARS);
    }

    fn planned(repo: &TestRepo, root: &Path, name: &str, layout: &Layout) -> Result<Planned, GitError> {
        let prefix = BranchPrefix::None;
        plan(&PlanRequest {
            repo: repo.root(),
            name,
            root,
            layout,
            prefix: &prefix,
            branch: None,
            promised: &[],
        })
    }

    #[test]
    fn taken_branches_and_folders_get_a_suffix_whatever_their_case() {
        let repo = TestRepo::with_commit();
        let root = repo.scratch().join("trees");
        let repo_name = repo.root().file_name().unwrap().to_owned();
        repo.branch("Fix");
        repo.branch("deep/er");
        std::fs::create_dir_all(root.join(&repo_name).join("fix-2")).unwrap();
        let plan = planned(&repo, &root, "fix", &Layout::from_setting("by-repo")).unwrap();
        assert_eq!((plan.name.as_str(), plan.branch.as_str()), ("fix-3", "fix-3"));
        assert_eq!(plan.path, plain(repo.scratch()).join("trees").join(&repo_name).join("fix-3"));
        assert_eq!(planned(&repo, &root, "deep", &Layout::ByRepo).unwrap().branch, "deep-2");
    }

    #[test]
    fn what_is_promised_to_others_gets_a_suffix_too() {
        let repo = TestRepo::with_commit();
        let root = repo.scratch().join("trees");
        let first = planned(&repo, &root, "fix", &Layout::Flat).unwrap();
        let check = |promised: (PathBuf, String)| {
            let request = PlanRequest {
                repo: repo.root(),
                name: "Fix",
                root: &root,
                layout: &Layout::Flat,
                prefix: &BranchPrefix::None,
                branch: None,
                promised: &[promised],
            };
            assert_eq!(plan(&request).unwrap().name, "Fix-2");
        };
        check((first.path.clone(), String::from("other")));
        check((repo.scratch().join("elsewhere"), first.branch));
    }

    #[test]
    fn layouts_stay_inside_the_root() {
        let repo = TestRepo::with_commit();
        let root = repo.scratch().join("trees");
        assert_eq!(planned(&repo, &root, "a", &Layout::Flat).unwrap().path.file_name().unwrap(), "a");
        let custom = Layout::from_setting("x/{branch}");
        assert!(planned(&repo, &root, "a", &custom).unwrap().path.ends_with("x/a"));
        for bad in ["../{name}", "/tmp/{name}", ""] {
            let layout = Layout::Custom(bad.to_owned());
            let error = planned(&repo, &root, "a", &layout).unwrap_err();
            assert_eq!(error.code().as_str(), "invalid_argument", "{bad}");
        }
    }

    #[test]
    fn relative_roots_resolve_against_the_repository() {
        let repo = TestRepo::with_commit();
        let plan = planned(&repo, Path::new(".trees"), "a", &Layout::Flat).unwrap();
        assert_eq!(plan.path, plain(repo.root()).join(".trees/a"));
    }

    #[test]
    fn prefixes_come_from_git_or_are_checked() {
        let repo = TestRepo::with_commit();
        repo.set_config("user.name", "Ada Lovelace");
        let ask = |prefix: &BranchPrefix| {
            plan(&PlanRequest {
                repo: repo.root(),
                name: "a",
                root: Path::new("/t"),
                layout: &Layout::Flat,
                prefix,
                branch: None,
                promised: &[],
            })
        };
        assert_eq!(ask(&BranchPrefix::GitUser).unwrap().branch, "ada-lovelace/a");
        assert_eq!(ask(&BranchPrefix::from_setting("team/")).unwrap().branch, "team/a");
        assert!(ask(&BranchPrefix::Custom(String::from("no way"))).is_err());
        repo.set_config("user.name", "???");
        assert_eq!(ask(&BranchPrefix::GitUser).unwrap().branch, "a");
    }
}
