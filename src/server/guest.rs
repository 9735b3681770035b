//! The agent that a person started by hand inside a shell: recognised by the process in the
//! foreground of its terminal (contract 9.4), so that it is typed to and watched like one that orca
//! started.
//!
//! Costs one system call per look while nothing changes. Where there is no `/proc` (macOS) nobody is
//! recognised, and such a terminal stays a shell.

use crate::agent::Presets;
use crate::agent::preset::Preset;
use std::os::fd::AsFd;
use std::sync::Arc;

/// How often a process that is no agent is looked at: a wrapper may become one.
const MAX_LOOKS: u32 = 10;
/// Processes below the foreground one that are looked at, and how deep.
const MAX_PROCESSES: usize = 16;
const MAX_DEPTH: usize = 3;

/// What was seen in the foreground last.
#[derive(Debug, Default)]
pub struct Guest {
    /// The leader of the foreground process group.
    leader: Option<u32>,
    n_looks: u32,
    preset: Option<Arc<Preset>>,
}

/// What a look at the foreground found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Same,
    /// An agent is there, and none was before.
    Came,
    /// The agent that was there is gone; another one may be there.
    Left,
}

impl Guest {
    /// The agent in the foreground, as of the last look.
    pub fn preset(&self) -> Option<&Arc<Preset>> {
        self.preset.as_ref()
    }

    /// Looks at the foreground of a terminal whose own process is `shell`; a shell that was given a command
    /// becomes it, or runs it in its own process group.
    pub fn look(&mut self, master: impl AsFd, shell: u32, presets: &Presets) -> Change {
        let leader = rustix::termios::tcgetpgrp(master).ok();
        let leader = leader.and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
        if leader != self.leader {
            (self.leader, self.n_looks) = (leader, 0);
        } else if self.preset.is_some() || self.n_looks >= MAX_LOOKS {
            return Change::Same;
        }
        self.n_looks += 1;
        let group = leader.filter(|leader| *leader == shell);
        let found = leader.and_then(|leader| agent_of(leader, group, presets));
        if found.map(|preset| &preset.id) == self.preset.as_ref().map(|preset| &preset.id) {
            return Change::Same;
        }
        let left = std::mem::replace(&mut self.preset, found.cloned().map(Arc::new));
        if left.is_some() { Change::Left } else { Change::Came }
    }
}

/// The agent that a process or one of its children is; with a `group`, one of those in that process group,
/// for what else a shell started is in the background.
fn agent_of(leader: u32, group: Option<u32>, presets: &Presets) -> Option<&Preset> {
    let mut level = vec![leader];
    for _ in 0..MAX_DEPTH {
        let found = level.iter().find_map(|pid| presets.by_process(&name_of(*pid)?, &argv_of(*pid)));
        if found.is_some() {
            return found;
        }
        let is_near = |pid: &u32| group.is_none() || group_of(*pid) == group;
        level = level.iter().flat_map(|pid| children_of(*pid)).filter(is_near).take(MAX_PROCESSES).collect();
    }
    None
}

fn name_of(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

fn group_of(pid: u32) -> Option<u32> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?);
    let group = rustix::process::getpgid(pid).ok()?;
    u32::try_from(group.as_raw_nonzero().get()).ok()
}

fn argv_of(pid: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn children_of(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_agent_is_known_by_its_own_process_or_below_a_wrapper() {
        let files = [
            ("mine", "command = [\"mine\"]\nprompt = \"paste\"\n"),
            ("quiet", "command = [\"sh\", \"-c\", \"read x\"]\nprompt = \"argument\"\n"),
        ];
        let files = files.map(|(id, text)| (id.to_owned(), text.to_owned()));
        let presets = Presets::with_user_files(&files);
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("mine");
        std::fs::write(&script, "read line\n").unwrap();
        let check = |program: &str, args: &[&str], expected: Option<&str>| {
            let mut child = Command::new(program).args(args).stdin(Stdio::piped()).spawn().unwrap();
            let agent = || agent_of(child.id(), None, &presets).map(|preset| preset.id.clone());
            // The child becomes its program a little after it was started.
            let began = std::time::Instant::now();
            while agent().as_deref() != expected && began.elapsed().as_secs() < 10 {
                std::thread::yield_now();
            }
            assert_eq!(agent().as_deref(), expected, "{program} {args:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        };
        let path = script.to_str().unwrap();
        check("sh", &[path], Some("mine"));
        check("sh", &["-c", &format!("sh {path}; true")], Some("mine"));
        check("cat", &[], None);
        // A preset that runs a shell makes no agent of every shell.
        check("sh", &[], None);
    }
}
