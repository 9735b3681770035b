//! What a repository's `orca.yaml` brings to a worktree: links and copies when it is made, the archive
//! script before it goes. Nothing outside the repository is followed and nothing is overwritten.

use crate::base::text;
use crate::config::project::{self, FILE, MAX_BYTES, Project, parse};
use crate::git::refs::file_at;
use crate::model::effect::ArchiveWish;
use crate::model::repo::AgentStartup;
use crate::model::setup::{self, joined};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that an archive script runs (contract 5.3).
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(120);
/// How much of a script's last output is told.
const MAX_TOLD_CHARS: usize = 500;

/// The file of one commit.
pub(super) struct Found {
    project: Project,
    source: Option<String>,
    problem: Option<String>,
}

/// Reads the file of `commit`; `name` is what a person calls that commit. What cannot be read counts as
/// absent and says why.
pub(super) fn at(repo: &Path, name: &str, commit: &str) -> Found {
    let absent = |source, problem| Found { project: Project::default(), source, problem };
    let source = Some(format!("{}:{FILE}", text::one_line(name)));
    match file_at(repo, commit, FILE, MAX_BYTES) {
        Ok(None) => absent(None, None),
        Ok(Some(bytes)) => match parse(&bytes) {
            Ok(project) => Found { project, source, problem: None },
            Err(problem) => absent(source, Some(problem)),
        },
        Err(error) => absent(source, Some(error.to_string())),
    }
}

impl Found {
    /// The part that decides about scripts.
    pub(super) fn model(&self) -> setup::Project {
        setup::Project {
            source: self.source.clone(),
            setup: self.project.setup.clone(),
            archive: self.project.archive.clone(),
            agent_startup: self.project.agent_startup.as_deref().and_then(AgentStartup::parse),
            default_tabs: self.project.default_tabs.iter().map(tab).collect(),
            problem: self.problem.clone(),
        }
    }

    /// Gives the new worktree at `tree` its links and copies; what could not be brought is told.
    pub(super) fn furnish(&self, root: &Path, tree: &Path) -> Vec<String> {
        let shared =
            self.project.shared_directories.iter().map(|path| (path, bring(root, tree, path, share)));
        let copied = self.project.copied_files.iter().map(|path| (path, bring(root, tree, path, copy)));
        let not_brought = shared
            .chain(copied)
            .filter_map(|(path, brought)| Some(format!("{path} was not brought along: {}.", brought.err()?)));
        self.project.warnings.iter().cloned().chain(not_brought).collect()
    }
}

fn tab(tab: &project::Tab) -> setup::Tab {
    setup::Tab { title: tab.title.clone(), color: tab.color.clone(), command: tab.command.clone() }
}

fn bring(
    root: &Path,
    tree: &Path,
    path: &str,
    how: impl Fn(&Path, &Path) -> Result<(), String>,
) -> Result<(), String> {
    let from = inside(root, path)?;
    free_place(tree, path)?.map_or(Ok(()), |to| how(&from, &to))
}

/// The path in the main checkout, with no link on the way that leads out of it.
fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let from = root.join(path);
    let missing = || String::from("it is not in the main checkout");
    let root = root.canonicalize().map_err(|_| missing())?;
    let parent = from.parent().and_then(|parent| parent.canonicalize().ok()).ok_or_else(missing)?;
    if from.symlink_metadata().is_err() {
        return Err(missing());
    }
    let real = from.canonicalize().map_err(|_| String::from("it is a link to nothing"))?;
    if parent.starts_with(&root) && real.starts_with(&root) {
        Ok(parent.join(from.file_name().unwrap_or_default()))
    } else {
        Err(String::from("it leads out of the repository"))
    }
}

/// Where it goes in the new worktree, its folder made; None where something is there already.
fn free_place(tree: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let to = tree.join(path);
    if to.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let parent = to.parent().unwrap_or(tree);
    std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    let is_in_tree = match (parent.canonicalize(), tree.canonicalize()) {
        (Ok(parent), Ok(tree)) => parent.starts_with(tree),
        (Err(_), _) | (_, Err(_)) => false,
    };
    if is_in_tree { Ok(Some(to)) } else { Err(String::from("a link leads out of the worktree")) }
}

fn share(from: &Path, to: &Path) -> Result<(), String> {
    if !from.is_dir() {
        return Err(String::from("it is no folder"));
    }
    std::os::unix::fs::symlink(from, to).map_err(|error| error.to_string())
}

/// Copies a file with its mode, or a link as the link it is.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let meta = from.symlink_metadata().map_err(|error| error.to_string())?;
    let copied = if meta.is_symlink() {
        from.read_link().and_then(|target| std::os::unix::fs::symlink(target, to))
    } else if meta.is_file() {
        std::fs::copy(from, to).map(drop)
    } else {
        return Err(String::from("it is no file; a folder goes under sharedDirectories"));
    };
    copied.map_err(|error| error.to_string())
}

/// Why an archive script did not do its work.
pub(super) enum NotArchived {
    Unapproved,
    Failed(String),
}

/// Runs the archive scripts of the worktree at `path`, where there are some, inside it.
pub(super) fn archive(wish: &ArchiveWish, path: &Path, note: &Path) -> Result<(), NotArchived> {
    let failed = |why: String| NotArchived::Failed(why);
    let status = crate::git::status::status(path, None).map_err(|error| failed(error.to_string()))?;
    let found = match &status.head {
        Some(head) => at(path, "HEAD", head).model(),
        None => setup::Project::default(),
    };
    let settings = &wish.settings;
    let local = settings.archive_script.as_deref();
    let scripts = setup::chosen(settings.command_source, found.archive.as_deref(), local);
    if scripts.is_empty() {
        return Ok(());
    }
    if scripts.iter().any(|script| !script.may_run(&settings.approved)) {
        return Err(NotArchived::Unapproved);
    }
    run(&joined(&scripts), &wish.variables, path, note).map_err(NotArchived::Failed)
}

/// Runs a script with its output in a file, so that neither can block the other.
fn run(script: &str, variables: &[(String, String)], path: &Path, note: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let (file, log) = (note.with_extension("sh"), note.with_extension("log"));
    write_private(&file, script.as_bytes()).map_err(told)?;
    let output = write_private(&log, b"").map_err(told)?;
    let mut child = Command::new("bash")
        .arg("-e")
        .arg(&file)
        .current_dir(path)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(told)?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .map_err(told)?;
    let ended = wait(&mut child).map_err(told)?;
    if ended.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let how = ended.map_or_else(
        || format!("it still ran after {} s", ARCHIVE_PATIENCE.as_secs()),
        |status| status.to_string(),
    );
    let said = std::fs::read(&log).map_err(told)?;
    let said = text::one_line(&String::from_utf8_lossy(&said));
    let n_over = said.chars().count().saturating_sub(MAX_TOLD_CHARS);
    let tail: String = said.chars().skip(n_over).collect();
    Err(format!("{how}. {tail} ({})", log.display()))
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Waits for its end; one that takes too long is ended with all its children.
fn wait(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let since = Instant::now();
    while since.elapsed() < ARCHIVE_PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
    }
    child.wait().map(|_| None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn files_are_brought_along_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (root, tree) = (dir.path().join("ro ot"), dir.path().join("tree"));
        for folder in [root.join("conf"), root.join("deps/x"), tree.join("there"), dir.path().join("outside")]
        {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(root.join(".env"), "secret").unwrap();
        std::fs::set_permissions(root.join(".env"), std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(root.join("conf/local.toml"), "new").unwrap();
        std::fs::write(dir.path().join("outside/f"), "x").unwrap();
        symlink(".env", root.join("inner")).unwrap();
        symlink("../outside", root.join("outer")).unwrap();
        std::fs::write(root.join("mine"), "theirs").unwrap();
        std::fs::write(tree.join("mine"), "mine").unwrap();
        symlink("../outside", tree.join("trap")).unwrap();
        std::fs::create_dir(root.join("trap")).unwrap();
        std::fs::write(root.join("trap/f2"), "x").unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let project = Project {
            copied_files: names(&[
                ".env",
                "conf/local.toml",
                "inner",
                "outer",
                "outer/f",
                "mine",
                "missing",
                "trap/f2",
            ]),
            shared_directories: names(&["deps", "outer"]),
            ..Project::default()
        };
        let found = Found { project, source: None, problem: None };
        let mut told: Vec<String> = found.furnish(&root, &tree);
        told.iter_mut().for_each(|line| line.truncate(line.find(' ').unwrap()));
        assert_eq!(told, ["outer", "outer", "outer/f", "missing", "trap/f2"]);
        let mode = std::fs::metadata(tree.join(".env")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(tree.join("conf/local.toml")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(tree.join("mine")).unwrap(), "mine");
        assert_eq!(tree.join("inner").read_link().unwrap(), Path::new(".env"));
        assert!(tree.join("deps/x").is_dir() && tree.join("deps").is_symlink());
        assert!(!dir.path().join("outside/f2").exists());
    }

    #[test]
    fn a_script_that_fails_says_how_and_what_it_printed() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("fx.json");
        let variables = [(String::from("ORCA_WORKSPACE_NAME"), String::from("w"))];
        assert_eq!(run("test \"$ORCA_WORKSPACE_NAME\" = w", &variables, dir.path(), &note), Ok(()));
        let error = run("echo before; false; echo after", &[], dir.path(), &note).unwrap_err();
        assert!(error.contains("exit status: 1. before (") && !error.contains("after"), "{error}");
    }
}
