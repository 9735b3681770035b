//! Who is at the other end of a connection: its user, and the terminal whose child it is.

use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::git;
use crate::model::worktree::Place;
use std::path::Path;

/// The longest chain of parents that is followed.
const MAX_DEPTH: usize = 64;

/// The terminal in whose process tree `pid` is, by sessions and their parent chain.
///
/// A terminal's child leads a session, and a session is left only by beginning another one below. So
/// most callers are found without reading anything, and the others by one small file of `/proc` for
/// each session on the way up; where there is no `/proc` (macOS) those are not known and the
/// environment has to do (design 6).
pub fn terminal_of(pid: u32, terminals: &Terminals) -> Option<TerminalId> {
    found_upwards(pid, |pid| terminals.by_child(pid))
}

fn found_upwards<T>(pid: u32, mut find: impl FnMut(u32) -> Option<T>) -> Option<T> {
    let mut pid = pid;
    for _ in 0..MAX_DEPTH {
        let leader = leader_of(pid).unwrap_or(pid);
        if let Some(found) = find(leader) {
            return Some(found);
        }
        // The leader may have ended while its session goes on.
        pid = parent_of(leader).or_else(|| parent_of(pid)).filter(|parent| *parent > 1)?;
    }
    None
}

/// The leader of a process's session.
fn leader_of(pid: u32) -> Option<u32> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)?;
    let leader = rustix::process::getsid(Some(pid)).ok()?;
    u32::try_from(leader.as_raw_nonzero().get()).ok()
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
    #[cfg(target_os = "linux")]
    fn a_session_is_found_from_a_process_in_it_and_from_a_session_below_it() {
        let own = leader_of(std::process::id()).unwrap();
        assert_eq!(found_upwards(std::process::id(), |pid| (pid == own).then_some(pid)), Some(own));
        let mut below = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let above = |pid| (pid == own).then_some(pid);
        assert_eq!(found_upwards(below.id(), above), Some(own));
        below.kill().unwrap();
        below.wait().unwrap();
        assert_eq!(found_upwards(std::process::id(), |_| None::<u32>), None);
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
