//! What the lock of a state directory says beside being held: which process has it, and since when a stop
//! ended terminals that no database could take down. It is a file that has its place on the disk already, so
//! that this can be said when the disk has none left.

use super::clock::Timestamp;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// What the second line begins with.
const STOPPED: &str = "stopped ";

/// What a lock says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// The process that has it, or had it last.
    pub pid: Option<u32>,
    /// Every terminal was ended by a stop from then on, and no database knows of that yet.
    pub stopped_at: Option<Timestamp>,
}

/// Reads a lock; one that is not there says nothing.
pub fn read(path: &Path) -> Said {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pid = text.lines().next().and_then(|line| line.trim().parse().ok());
    let stopped = text.lines().filter_map(|line| line.strip_prefix(STOPPED)?.trim().parse().ok());
    Said { pid, stopped_at: stopped.min().map(Timestamp) }
}

/// Says anew who has the lock, which must be open for appending.
pub fn tell(mut lock: &File, said: Said) -> std::io::Result<()> {
    let mut text = said.pid.map(|pid| pid.to_string()).unwrap_or_default();
    text.push('\n');
    if let Some(Timestamp(at)) = said.stopped_at {
        text.push_str(&format!("{STOPPED}{at}\n"));
    }
    lock.set_len(0)?;
    lock.write_all(text.as_bytes())
}

/// Adds that every terminal was ended from `at` on. The lock must be open for appending.
pub fn note_stop(mut lock: &File, at: Timestamp) -> std::io::Result<()> {
    lock.write_all(format!("{STOPPED}{}\n", at.0).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_who_has_it_and_the_first_stop_that_nobody_noted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.lock");
        assert_eq!(read(&path), Said::default());
        let lock = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        tell(&lock, Said { pid: Some(4711), stopped_at: None }).unwrap();
        assert_eq!(read(&path), Said { pid: Some(4711), stopped_at: None });
        note_stop(&lock, Timestamp(70)).unwrap();
        note_stop(&lock, Timestamp(90)).unwrap();
        let said = Said { pid: Some(4711), stopped_at: Some(Timestamp(70)) };
        assert_eq!(read(&path), said);
        tell(&lock, Said { pid: Some(1), ..said }).unwrap();
        assert_eq!(read(&path), Said { pid: Some(1), ..said });
    }
}
