//! Who is at the other end of a connection: its user, and the terminal whose child it is.

use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::git;
use crate::model::worktree::Place;
use std::collections::BTreeSet;
use std::path::Path;

/// The longest chain of parents that is followed.
const MAX_DEPTH: usize = 64;

/// The terminal in whose process tree `pid` is, by sessions and their parent chain.
///
/// A terminal's child leads a session, and a session is left only by beginning another one below. So
/// one small file of `/proc` tells of most callers, and two more of each session on the way up; where
/// there is no `/proc` (macOS) nothing is known and the environment has to do (design 6).
pub fn terminal_of(pid: u32, terminals: &Terminals) -> Option<TerminalId> {
    found_upwards(pid, |pid| terminals.by_child(pid))
}

/// Whether processes tell of their parents here.
pub fn has_parents() -> bool {
    cfg!(target_os = "linux")
}

fn found_upwards<T>(pid: u32, mut find: impl FnMut(u32) -> Option<T>) -> Option<T> {
    let mut pid = pid;
    for _ in 0..MAX_DEPTH {
        let Kin { parent, leader } = kin_of(pid)?;
        if let Some(found) = find(pid).or_else(|| find(leader)) {
            return Some(found);
        }
        // The leader may have ended while its session goes on, or be out of sight in a container.
        let above = if leader == pid { None } else { kin_of(leader) };
        pid = above.map_or(parent, |above| above.parent);
        if pid <= 1 {
            return None;
        }
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

/// Who a process comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kin {
    parent: u32,
    /// The leader of its session.
    leader: u32,
}

fn kin_of(pid: u32) -> Option<Kin> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so the fields are counted from the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    Some(Kin { parent, leader: fields.nth(1)?.parse().ok()? })
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
        let parent = |pid| kin_of(pid).map(|kin| kin.parent);
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent(u32::MAX), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_session_is_found_from_a_process_in_it_and_from_a_session_below_it() {
        // Its parent is found from a session of its own, and from a process in that session.
        let mut below = std::process::Command::new("setsid")
            .args(["sh", "-c", "sleep 60 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(below.stdout.take().unwrap()), &mut line)
            .unwrap();
        let inner: u32 = line.trim().parse().unwrap();
        let own = std::process::id();
        assert_eq!(found_upwards(inner, |pid| (pid == below.id()).then_some(pid)), Some(below.id()));
        assert_eq!(found_upwards(inner, |pid| (pid == own).then_some(pid)), Some(own));
        assert_eq!(found_upwards(own, |_| None::<u32>), None);
        std::process::Command::new("kill").arg(inner.to_string()).status().unwrap();
        below.wait().unwrap();
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
