//! The two programs that are compared, each in a place of its own that goes with it.

use crate::outer::Outer;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What the shell of every pane says.
pub const PROMPT: &str = "R3ADY>";
/// Marks the processes of one peer.
const MARK: &str = "ORCA_BENCH_MARK";

/// A multiplexer under measurement.
pub struct Peer {
    pub name: &'static str,
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    start: Vec<String>,
    attach: Vec<String>,
    /// The command that is timed: a message on the disk here, a line of text there.
    call: Vec<String>,
    open: Vec<String>,
    /// Opens a visible pane beside the first one; the command line follows.
    beside: Vec<String>,
    stop: Vec<String>,
}

fn words(program: &str, line: &str) -> Vec<String> {
    std::iter::once(program).chain(line.split_whitespace()).map(str::to_owned).collect()
}

impl Peer {
    /// This build.
    pub fn orca() -> Self {
        let program = env!("CARGO_BIN_EXE_orca");
        let mut peer = Self::new("orca", program);
        let config = peer.dir.path().join(".config/orca");
        fs::create_dir_all(&config).unwrap();
        let shell = peer.dir.path().join("shell");
        fs::write(config.join("config.toml"), format!("shell = {shell:?}\n")).unwrap();
        peer.start = words(program, "");
        peer.attach = words(program, "attach");
        peer.call = words(program, "orchestration send --to user --subject x");
        peer.open = words(program, "terminal create");
        peer.beside = words(program, "terminal create --command");
        peer.stop = words(program, "server stop --force");
        peer
    }

    /// The reference; None where it is not installed.
    pub fn tmux() -> Option<Self> {
        Command::new("tmux").arg("-V").stdout(Stdio::null()).status().ok()?;
        let mut peer = Self::new("tmux", "tmux");
        let (config, shell) = (peer.dir.path().join("tmux.conf"), peer.dir.path().join("shell"));
        let settings = format!(
            "set -g history-limit 10000\nset -g default-terminal tmux-256color\nset -g default-command {}\n",
            shell.display()
        );
        fs::write(&config, settings).unwrap();
        let with = |rest: &str| words("tmux", &format!("-f {} {rest}", config.display()));
        peer.start = with("new-session -s b");
        peer.attach = with("attach -t b");
        peer.call = with("display-message -p x");
        peer.open = with("new-window -d");
        peer.beside = with("split-window -d");
        peer.stop = with("kill-server");
        Some(peer)
    }

    fn new(name: &'static str, program: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("shell");
        let script = format!("#!/bin/sh\nPS1='{PROMPT} ' exec sh -i\n");
        fs::write(&shell, script).unwrap();
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
        let here = dir.path().display().to_string();
        let mark = format!("{name}-{}", std::process::id());
        let path = std::env::var("PATH").unwrap_or_default();
        let shell = shell.display().to_string();
        let env = [
            ("PATH", path.as_str()),
            ("HOME", &here),
            ("SHELL", &shell),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("ORCA_HOME", &format!("{here}/state")),
            ("TMUX_TMPDIR", &here),
            (MARK, &mark),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let none = || vec![program.to_owned()];
        Self {
            name,
            dir,
            env,
            start: none(),
            attach: none(),
            call: none(),
            open: none(),
            beside: none(),
            stop: none(),
        }
    }

    /// The first start: server, a shell, a client.
    pub fn start(&self) -> Outer {
        let mut outer = Outer::start(&self.start, &self.env);
        outer.wait_for(PROMPT);
        outer.settle(Duration::from_millis(200));
        outer
    }

    /// A client of the server that runs.
    pub fn attach(&self) -> Outer {
        Outer::start(&self.attach, &self.env)
    }

    /// How long the timed command takes.
    pub fn call(&self) -> Duration {
        let began = Instant::now();
        self.run(&self.call);
        began.elapsed()
    }

    /// Opens another shell.
    pub fn open_pane(&self) {
        self.run(&self.open);
    }

    /// Runs a command line in a visible pane beside the first one.
    pub fn open_beside(&self, line: &str) {
        let argv = [self.beside.as_slice(), &[line.to_owned()]].concat();
        self.run(&argv);
    }

    /// Where files for the panes may be put.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn run(&self, argv: &[String]) {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).env_clear().envs(self.env.iter().cloned()).current_dir(self.dir.path());
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{argv:?} failed");
    }

    /// KiB of memory of the server and everything that keeps its terminals, shared pages in part (PSS);
    /// clients do not count. None where the system does not tell.
    pub fn memory_kib(&self) -> Option<u64> {
        let mark = format!("{MARK}={}-{}", self.name, std::process::id());
        let mut n_kib = None;
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let dir = entry.path();
            if is_of(&dir, &mark) && is_ours(&dir, self.name) {
                let text = fs::read_to_string(dir.join("smaps_rollup")).unwrap_or_default();
                let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
                let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
                n_kib = n_kib.into_iter().chain(kib).reduce(|a, b| a + b);
            }
        }
        n_kib
    }
}

fn is_of(process: &Path, mark: &str) -> bool {
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
}

fn is_ours(process: &Path, name: &str) -> bool {
    let program = fs::read_link(process.join("exe")).unwrap_or_default();
    program.file_name().is_some_and(|file| file == name)
}

impl Drop for Peer {
    fn drop(&mut self) {
        let known: BTreeSet<_> = self.env.iter().cloned().collect();
        let mut command = Command::new(&self.stop[0]);
        command.args(&self.stop[1..]).env_clear().envs(known).stdout(Stdio::null()).stderr(Stdio::null());
        // It may have ended already.
        drop(command.status());
    }
}
