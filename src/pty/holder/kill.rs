//! Ending the child and everything in its session, harder each time.

use crate::base::report::OrLog as _;
use crate::pty::link::recorded_launch;
use crate::pty::wire::LaunchSpec;
use rustix::process::{Pid, Signal};
use std::collections::BTreeSet;
use std::path::Path;
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
    /// What an agent started, wherever it went; None for a shell, whose daemons live on as under any terminal.
    family: Option<Family>,
    n_signals: usize,
}

impl Kill {
    /// Begins: hang-up at once, SIGTERM after half of the grace, SIGKILL after all of it. `spec` is what the
    /// child was started with, where that is known.
    pub fn new(child_pid: u32, spec: Option<&LaunchSpec>, grace: Duration) -> Self {
        let leader = pid_of(child_pid);
        let family = spec.filter(|spec| spec.agent.is_some()).map(|spec| Family::new(&spec.terminal));
        Self { began: Instant::now(), grace, leader, family, n_signals: 0 }
    }

    /// Sends what is due. True: nobody is left, or nothing more can be done.
    ///
    /// The child's own end is not enough: agents have launchers, and a program in the background
    /// survives the hang-up of its shell.
    pub fn advance(&mut self, has_child_ended: bool) -> bool {
        let mut members = self.leader.map(session_members).unwrap_or_default();
        if let (Some(family), Some(leader)) = (&mut self.family, self.leader) {
            members.extend(family.members(leader));
            members.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
            members.dedup();
        }
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

/// Ends what is left of the child whose holder is gone, by the terminal's folder: nobody else would, and a
/// program without its terminal would work on unseen. Blocks until that is done, `grace` and two seconds at most.
pub fn end_left(dir: &Path, child_pid: u32, grace: Duration) {
    let mut kill = Kill::new(child_pid, recorded_launch(dir).as_ref(), grace);
    // The child is one of its session, so its own end needs no asking after.
    while !kill.advance(true) {
        std::thread::sleep(TURN);
    }
}

/// The processes that an agent started and their children, also in sessions of their own: found by the
/// terminal's handle in their environment and by their parents. Not found is who cleared its environment and
/// whose parents had all gone before the kill began.
struct Family {
    mark: String,
    /// Met at an earlier turn, each with its time of start: its parents may have gone since.
    met: BTreeSet<(i32, u64)>,
}

impl Family {
    fn new(terminal: &str) -> Self {
        Self { mark: handle_mark(terminal), met: BTreeSet::new() }
    }

    /// Those that live. Other systems than Linux show nobody's environment.
    #[cfg(not(target_os = "linux"))]
    fn members(&mut self, _leader: Pid) -> Vec<Pid> {
        Vec::new()
    }

    #[cfg(target_os = "linux")]
    fn members(&mut self, leader: Pid) -> Vec<Pid> {
        let living = living_processes();
        let own = rustix::process::getpid();
        let is_one = |process: &Process| {
            process.pid == leader
                || self.met.contains(&(process.pid.as_raw_nonzero().get(), process.started_at))
                || has_in_environment(process.pid, &self.mark)
        };
        let mut found: BTreeSet<i32> = living
            .iter()
            .filter(|process| process.pid != own && is_one(process))
            .map(|process| process.pid.as_raw_nonzero().get())
            .collect();
        loop {
            let n_found = found.len();
            let children =
                living.iter().filter(|process| process.pid != own && found.contains(&process.parent));
            let children: Vec<i32> = children.map(|process| process.pid.as_raw_nonzero().get()).collect();
            found.extend(children);
            if found.len() == n_found {
                break;
            }
        }
        let is_found = |process: &&Process| found.contains(&process.pid.as_raw_nonzero().get());
        let found: Vec<&Process> = living.iter().filter(is_found).collect();
        self.met =
            found.iter().map(|process| (process.pid.as_raw_nonzero().get(), process.started_at)).collect();
        found.iter().map(|process| process.pid).collect()
    }
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// The entry that every process of a terminal has in its environment, unless it cleared that.
fn handle_mark(terminal: &str) -> String {
    format!("ORCA_TERMINAL_HANDLE={terminal}")
}

/// Whether a process was started with this entry in its environment. Only Linux tells.
fn has_in_environment(process: Pid, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero()));
    environment.is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
}

/// Whether a process of the session of `child_pid` still runs that was started in this terminal. The
/// number alone proves nothing: after a restart of the machine it is somebody else's. Only Linux can tell.
pub fn is_session_of(child_pid: u32, terminal: &str) -> bool {
    let mark = handle_mark(terminal);
    let members = pid_of(child_pid).map(session_members).unwrap_or_default();
    members.iter().any(|member| has_in_environment(*member, &mark))
}

/// The living processes in the session that `leader` leads or led, from `/proc`.
///
/// Not `getsid`: it answers 0 for the kernel's own threads, which `rustix` takes for impossible.
#[cfg(target_os = "linux")]
fn session_members(leader: Pid) -> Vec<Pid> {
    let members = living_processes().into_iter();
    members.filter(|one| one.session == leader.as_raw_nonzero().get()).map(|one| one.pid).collect()
}

/// A living process.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: i32,
    session: i32,
    /// In ticks since the machine started: with it a number means one process only.
    started_at: u64,
}

#[cfg(target_os = "linux")]
fn living_processes() -> Vec<Process> {
    let Some(entries) = std::fs::read_dir("/proc").or_log("list the processes") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            living_process(pid, &String::from_utf8_lossy(&stat))
        })
        .collect()
}

/// What a process's `stat` says; None for the dead.
#[cfg(target_os = "linux")]
fn living_process(pid: Pid, stat: &str) -> Option<Process> {
    // "pid (name) state parent group session …"; the name may hold anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // The 22nd of all.
    let started_at = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, started_at })
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
    fn a_process_is_read_behind_any_name() {
        let pid = Pid::from_raw(12).unwrap();
        let rest = "34816 12 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 0";
        let check = |stat: &str, expected: Option<(i32, i32, u64)>| {
            let found = living_process(pid, &format!("{stat} {rest}"));
            assert_eq!(found.map(|one| (one.parent, one.session, one.started_at)), expected, "{stat}");
        };
        check("12 (a) Z (b) S 1 12 77", Some((1, 77, 987_654)));
        check("12 (sh) Z 1 12 77", None);
        check("2 (kthreadd) S 0 0 0", Some((0, 0, 987_654)));
        assert_eq!(living_process(pid, ""), None);
    }
}
