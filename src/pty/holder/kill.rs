//! Ending the child and everything in its session, harder each time.

use crate::base::report::OrLog as _;
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

/// Processes that cannot be killed (stuck in the kernel) are given up after this much more.
const AFTERMATH: Duration = Duration::from_secs(2);

/// How often a session that is being ended is looked at.
const TURN: Duration = Duration::from_millis(20);

/// An ongoing kill.
pub(super) struct Kill {
    began: Instant,
    grace: Duration,
    leader: Option<Pid>,
    n_signals: usize,
}

impl Kill {
    /// Begins: hang-up at once, SIGTERM after half of the grace, SIGKILL after all of it.
    pub fn new(child_pid: u32, grace: Duration) -> Self {
        let leader = i32::try_from(child_pid).ok().and_then(Pid::from_raw);
        Self { began: Instant::now(), grace, leader, n_signals: 0 }
    }

    /// Sends what is due. True: nobody is left, or nothing more can be done.
    ///
    /// The child's own end is not enough: agents have launchers, and a program in the background
    /// survives the hang-up of its shell.
    pub fn advance(&mut self, has_child_ended: bool) -> bool {
        let members = self.leader.map(session_members).unwrap_or_default();
        if has_child_ended && members.is_empty() {
            return true;
        }
        let elapsed = self.began.elapsed();
        let (due, signal) = match elapsed {
            _ if elapsed >= self.grace => (3, Signal::KILL),
            _ if elapsed >= self.grace / 2 => (2, Signal::TERM),
            _ => (1, Signal::HUP),
        };
        // What forked while it was killed is met again at the next turn.
        if self.n_signals < due || due == 3 {
            self.n_signals = due;
            for member in members {
                rustix::process::kill_process(member, signal).or_log("it ended in between");
                // A stopped process takes no signal but this and the last one.
                rustix::process::kill_process(member, Signal::CONT).or_log("it ended in between");
            }
        }
        elapsed > self.grace + AFTERMATH
    }
}

/// Ends what is left of the session of `child_pid`, whose holder is gone: nobody else would, and a program
/// without its terminal would work on unseen. Blocks until that is done, `grace` and two seconds at most.
pub fn end_session(child_pid: u32, grace: Duration) {
    let mut kill = Kill::new(child_pid, grace);
    // The child is one of its session, so its own end needs no asking after.
    while !kill.advance(true) {
        std::thread::sleep(TURN);
    }
}

/// Whether a process of the session of `child_pid` still runs that was started in this terminal. The
/// number alone proves nothing: after a restart of the machine it is somebody else's. Only Linux can tell.
pub fn is_session_of(child_pid: u32, terminal: &str) -> bool {
    let leader = i32::try_from(child_pid).ok().and_then(Pid::from_raw);
    let mark = format!("ORCA_TERMINAL_HANDLE={terminal}");
    let is_ours = |member: &Pid| {
        let environment = std::fs::read(format!("/proc/{}/environ", member.as_raw_nonzero()));
        environment.is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
    };
    leader.map(session_members).unwrap_or_default().iter().any(is_ours)
}

/// The living processes in the session that `leader` leads or led, from `/proc`.
///
/// Not `getsid`: it answers 0 for the kernel's own threads, which `rustix` takes for impossible.
#[cfg(target_os = "linux")]
fn session_members(leader: Pid) -> Vec<Pid> {
    let Some(entries) = std::fs::read_dir("/proc").or_log("list the processes") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| {
            let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
            living_session(&String::from_utf8_lossy(&stat)) == Some(leader.as_raw_nonzero().get())
        })
        .collect()
}

/// The session in a process's `stat`; None for the dead.
#[cfg(target_os = "linux")]
fn living_session(stat: &str) -> Option<i32> {
    // "pid (name) state parent group session …"; the name may hold anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let session = fields.nth(2)?.parse().ok()?;
    (!is_dead).then_some(session)
}

/// The living processes in the session that `leader` leads or led, as `ps` tells.
#[cfg(not(target_os = "linux"))]
fn session_members(leader: Pid) -> Vec<Pid> {
    let listed = std::process::Command::new("/bin/ps").args(["-axo", "pid=,stat="]).output();
    let Some(listed) = listed.or_log("list the processes") else { return Vec::new() };
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter_map(|line| {
            let (pid, state) = line.trim().split_once(' ')?;
            let pid = pid.parse().ok().and_then(Pid::from_raw)?;
            let is_member = rustix::process::getsid(Some(pid)) == Ok(leader);
            (is_member && !state.trim().starts_with('Z')).then_some(pid)
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_read_behind_any_name() {
        assert_eq!(living_session("12 (a) Z (b) S 1 12 77 34816 12 4194304"), Some(77));
        assert_eq!(living_session("12 (sh) Z 1 12 77 0"), None);
        assert_eq!(living_session("2 (kthreadd) S 0 0 0 0"), Some(0));
        assert_eq!(living_session(""), None);
    }
}
