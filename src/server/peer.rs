//! Who is at the other end of a connection: its user, and the terminal whose child it is.

use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::git;
use crate::model::worktree::Place;
use std::collections::BTreeSet;
use std::path::Path;

/// The longest chain of parents that is followed.
const MAX_DEPTH: usize = 64;

/// The terminal in whose process tree `pid` is, by its parent chain.
///
/// Reads a few small files of `/proc`; where there is no `/proc` (macOS) nothing is known and the
/// environment has to do (design 6).
pub fn terminal_of(pid: u32, terminals: &Terminals) -> Option<TerminalId> {
    let mut pid = pid;
    for _ in 0..MAX_DEPTH {
        if let Some(terminal) = terminals.by_child(pid) {
            return Some(terminal);
        }
        pid = parent_of(pid).filter(|parent| *parent > 1)?;
    }
    None
}

/// The terminals that have a process with its working directory in `folder`; where there is no `/proc`,
/// none is known.
pub fn standing_in(folder: &Path, terminals: &Terminals) -> BTreeSet<TerminalId> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .filter_map(|pid| terminal_of(pid, terminals))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so the fields are counted from the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The checkout around a directory, or the plain folder; blocks on the file system.
pub fn place_of(cwd: &str) -> Option<Place> {
    let path = Path::new(cwd).canonicalize().ok().filter(|path| path.is_dir())?;
    let folder = path.to_string_lossy().into_owned();
    match git::discover(&path) {
        Ok(info) => {
            let root = info.worktree.unwrap_or_else(|| info.root.clone());
            Some(Place {
                repo_root: info.root.to_string_lossy().into_owned(),
                root: root.to_string_lossy().into_owned(),
                is_git: true,
                branch: info.branch,
            })
        }
        Err(_) => Some(Place { repo_root: folder.clone(), root: folder, is_git: false, branch: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn parents_are_found() {
        assert_eq!(parent_of(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent_of(u32::MAX), None);
    }

    #[test]
    fn a_plain_folder_is_its_own_place() {
        let dir = tempfile::tempdir().unwrap();
        let place = place_of(dir.path().to_str().unwrap()).unwrap();
        assert!(!place.is_git);
        assert_eq!(place.root, place.repo_root);
        assert_eq!(place_of("/no/such/folder"), None);
    }
}
