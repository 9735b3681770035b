//! `orca.yaml` of a repository: scripts around its worktrees and what they share with the main checkout
//! (contract 5.3). A file that cannot be used is no error of the caller: it counts as absent, and says why.

use crate::base::text;
use serde::Deserialize;
use std::path::{Component, Path};

/// The file's name, at the root of a checkout.
pub const FILE: &str = "orca.yaml";
/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// The most paths of one list.
const MAX_PATHS: usize = 100;
/// The most tabs: each is a process.
const MAX_TABS: usize = 12;

/// What a repository's file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    pub setup: Option<String>,
    pub archive: Option<String>,
    /// `start-immediately` or `wait-for-setup`.
    pub agent_startup: Option<String>,
    /// Folders of the main checkout that a new worktree gets as links; safe relative paths.
    pub shared_directories: Vec<String>,
    /// Files that git does not carry and a new worktree gets as copies; safe relative paths.
    pub copied_files: Vec<String>,
    /// What opens in a new worktree, in this order.
    pub default_tabs: Vec<Tab>,
    /// Sentences on the entries that were left aside; the rest of the file counts.
    pub warnings: Vec<String>,
}

/// One terminal that opens in a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Tab {
    pub title: Option<String>,
    /// `#rgb` or `#rrggbb`.
    pub color: Option<String>,
    /// A line for the shell; without it the shell itself.
    pub command: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct File {
    scripts: Option<Scripts>,
    setup_agent_startup_policy: Option<String>,
    default_tabs: Option<Vec<Tab>>,
    worktree: Option<Worktree>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Scripts {
    setup: Option<String>,
    archive: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Worktree {
    shared_directories: Option<Vec<String>>,
    copied_files: Option<Vec<String>>,
}

/// Reads the file's text. Keys that are not known are left alone.
///
/// # Errors
/// A sentence on what is wrong and where, when nothing of the file can be used.
pub fn parse(bytes: &[u8]) -> Result<Project, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("{FILE} is larger than {} KiB", MAX_BYTES >> 10));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{FILE} is not UTF-8"))?;
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_blank) {
        return Ok(Project::default());
    }
    let file: File = serde_saphyr::from_str(text)
        .map_err(|error| format!("{FILE} cannot be read: {}", first_line(&error.to_string())))?;
    let scripts = file.scripts.unwrap_or_default();
    let worktree = file.worktree.unwrap_or_default();
    let startup = file.setup_agent_startup_policy;
    if startup.as_deref().is_some_and(|word| !matches!(word, "start-immediately" | "wait-for-setup")) {
        return Err(format!("{FILE}: setupAgentStartupPolicy must be start-immediately or wait-for-setup"));
    }
    let mut warnings = Vec::new();
    Ok(Project {
        setup: script("scripts.setup", scripts.setup)?,
        archive: script("scripts.archive", scripts.archive)?,
        agent_startup: startup,
        shared_directories: paths("worktree.sharedDirectories", worktree.shared_directories, &mut warnings)?,
        copied_files: paths("worktree.copiedFiles", worktree.copied_files, &mut warnings)?,
        default_tabs: tabs(file.default_tabs.unwrap_or_default())?,
        warnings,
    })
}

fn tabs(tabs: Vec<Tab>) -> Result<Vec<Tab>, String> {
    if tabs.len() > MAX_TABS {
        return Err(format!("{FILE}: defaultTabs has more than {MAX_TABS} entries"));
    }
    tabs.into_iter().map(tab).collect()
}

fn tab(tab: Tab) -> Result<Tab, String> {
    match tab.color.as_deref().filter(|color| !is_color(color)) {
        Some(bad) => Err(format!(
            "{FILE}: defaultTabs has the color {:?}; write #rgb or #rrggbb",
            text::cut_chars(&text::one_line(bad), 20)
        )),
        None => Ok(Tab { command: script("defaultTabs.command", tab.command)?, ..tab }),
    }
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn first_line(text: &str) -> String {
    text::cut_chars(&text::one_line(text.lines().next().unwrap_or_default()), 200)
}

/// A script that a person can read in full before they approve it.
fn script(key: &str, text: Option<String>) -> Result<Option<String>, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if text::many_lines(&text) != text {
        return Err(format!("{FILE}: {key} has characters that cannot be shown"));
    }
    Ok(Some(text))
}

/// Those that stay inside; each of the others is left aside with a warning.
fn paths(key: &str, paths: Option<Vec<String>>, warnings: &mut Vec<String>) -> Result<Vec<String>, String> {
    let paths = paths.unwrap_or_default();
    if paths.len() > MAX_PATHS {
        return Err(format!("{FILE}: {key} has more than {MAX_PATHS} entries"));
    }
    let (safe, unsafe_ones): (Vec<String>, Vec<String>) = paths.into_iter().partition(|path| is_safe(path));
    warnings.extend(unsafe_ones.iter().map(|path| {
        let shown = text::cut_chars(&text::one_line(path), 80);
        format!("{FILE}: {key} has {shown:?}, which is no path inside; only that entry was left aside.")
    }));
    Ok(safe)
}

/// A relative path that stays inside and out of git's own folder.
fn is_safe(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_plain = !path.trim().is_empty() && text::one_line(path) == path;
    is_plain
        && !path.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(".git"))
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_the_contract_are_read_and_others_left_alone() {
        let text = "scripts:\n  setup: |\n    npm ci\n    npm run build\n  archive: echo bye\n\
                    setupAgentStartupPolicy: start-immediately\nenvironmentRecipes: [a]\n\
                    worktree:\n  sharedDirectories: [node_modules]\n  copiedFiles: [.env, conf/local.toml]\n\
                    defaultTabs:\n  - {title: dev, color: '#0a8', command: npm run dev}\n  - {}\n";
        let project = parse(text.as_bytes()).unwrap();
        assert_eq!(project.setup.as_deref(), Some("npm ci\nnpm run build\n"));
        assert_eq!(project.archive.as_deref(), Some("echo bye"));
        assert_eq!(project.agent_startup.as_deref(), Some("start-immediately"));
        assert_eq!(project.shared_directories, ["node_modules"]);
        assert_eq!(project.copied_files, [".env", "conf/local.toml"]);
        let dev = ["dev", "#0a8", "npm run dev"].map(|text| Some(text.to_owned()));
        let [title, color, command] = dev;
        assert_eq!(project.default_tabs, [Tab { title, color, command }, Tab::default()]);
        for empty in ["", "# nothing\n", "scripts:\n", "other: 1\n"] {
            assert_eq!(parse(empty.as_bytes()), Ok(Project::default()), "{empty:?}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let check = |text: &[u8], why: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        check(b"scripts: [\n", "cannot be read");
        check(b"scripts:\n  setup: [1]\n", "cannot be read");
        check(b"\xff", "UTF-8");
        check(&vec![b'#'; MAX_BYTES + 1], "larger than 64 KiB");
        check(b"setupAgentStartupPolicy: maybe\n", "wait-for-setup");
        check("scripts:\n  setup: \"a\u{202e}b\"\n".as_bytes(), "cannot be shown");
        check(b"scripts:\n  setup: \"a\\e[2Jb\"\n", "cannot be shown");
        for path in ["/etc", "../x", "a/../../x", ".git/hooks", ".GIT", "\"\""] {
            let text = format!("worktree:\n  sharedDirectories: [{path}, kept]\nscripts: {{setup: x}}\n");
            let project = parse(text.as_bytes()).unwrap();
            assert_eq!(
                (project.shared_directories, project.setup.as_deref()),
                (vec![String::from("kept")], Some("x"))
            );
            assert!(
                project.warnings[0].contains("no path inside; only that entry"),
                "{:?}",
                project.warnings
            );
        }
        check(b"defaultTabs: [{color: red}]\n", "#rrggbb");
        check(b"defaultTabs: [{color: '#12345g'}]\n", "#rrggbb");
        check(b"defaultTabs: [{command: \"a\\e[2Jb\"}]\n", "cannot be shown");
        check(b"defaultTabs: 7\n", "cannot be read");
        check(format!("defaultTabs: [{}]\n", "{},".repeat(MAX_TABS + 1)).as_bytes(), "more than 12");
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n";
        drop(parse(bomb.as_bytes()));
    }
}
