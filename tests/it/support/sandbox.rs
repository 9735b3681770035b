//! A place of its own for one test: state directory, settings, repository; and its server's end.

use super::wait::until;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program under test.
pub fn orca() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_orca"))
}

/// A place of its own.
pub struct Sandbox {
    root: tempfile::TempDir,
}

impl Sandbox {
    /// Folders only; nothing runs yet.
    pub fn new() -> Self {
        let sandbox = Self { root: tempfile::tempdir().unwrap() };
        for dir in [sandbox.repo(), sandbox.agents(), sandbox.scratch()] {
            std::fs::create_dir_all(dir).unwrap();
        }
        sandbox
    }

    /// The same with a repository that has one commit, and an agent `quiet` that takes its brief as an
    /// argument and then waits for ever.
    pub fn with_repo() -> Self {
        let sandbox = Self::new();
        std::fs::write(sandbox.repo().join("file"), "text\n").unwrap();
        for words in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "test"],
            &["config", "user.email", "test@localhost"],
            &["add", "."],
            &["commit", "-qm", "first"],
        ] {
            let git = Command::new("git").args(words).current_dir(sandbox.repo()).output().unwrap();
            assert!(git.status.success(), "{git:?}");
        }
        let preset =
            "command = [\"sh\", \"-c\", \"echo agent is up; read x\", \"quiet\"]\nprompt = \"argument\"\n";
        std::fs::write(sandbox.agents().join("quiet.toml"), preset).unwrap();
        let trees = Value::from(sandbox.root.path().join("trees").to_str().unwrap());
        let config = format!("[worktrees]\nroot = {trees}\nbranch_prefix = \"none\"\n");
        std::fs::write(sandbox.root.path().join("config/orca/config.toml"), config).unwrap();
        sandbox
    }

    /// The state directory.
    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// The working directory of commands.
    pub fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    /// Where new worktrees go.
    pub fn trees(&self) -> PathBuf {
        self.root.path().join("trees")
    }

    /// An agent, new or with other values for a built-in one: the text of its preset file; it never
    /// asks before it acts.
    pub fn set_agent(&self, id: &str, preset: &str) {
        std::fs::write(self.agents().join(format!("{id}.toml")), preset).unwrap();
        let config = self.root.path().join("config/orca/config.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{settings}[agents.{id}]\npermission = \"auto\"\n")).unwrap();
    }

    /// A folder for whatever else the test needs.
    pub fn scratch(&self) -> PathBuf {
        self.root.path().join("scratch")
    }

    fn agents(&self) -> PathBuf {
        self.root.path().join("config/orca/agents")
    }

    /// This program, as a person at a plain shell.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.here(Command::new(orca()));
        command.args(words);
        command
    }

    /// A shell script in which `$0` is this program.
    pub fn shell_command(&self, script: &str) -> Command {
        let mut command = self.here(Command::new("sh"));
        command.args(["-c", script]).arg(orca());
        command
    }

    fn here(&self, mut command: Command) -> Command {
        command.current_dir(self.repo()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ORCA_") {
                command.env_remove(name);
            }
        }
        command.env("ORCA_HOME", self.state()).env("XDG_CONFIG_HOME", self.root.path().join("config"));
        command.env("SHELL", "/bin/sh");
        command
    }

    /// Runs a command.
    pub fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a command with `--json` and gives the envelope.
    pub fn envelope(&self, words: &[&str]) -> Value {
        let output = self.command(words).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}\n{}", self.log()))
    }

    /// Runs a command that succeeds and gives its `result`.
    pub fn ask(&self, words: &[&str]) -> Value {
        let envelope = self.envelope(words);
        assert_eq!(envelope["ok"], true, "{words:?}: {envelope}\n{}", self.log());
        envelope["result"].clone()
    }

    /// The end of the server's log, for a test that fails.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(self.state().join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The server's process; None where none runs.
    pub fn server_pid(&self) -> Option<u32> {
        self.ask(&["status"])["app"]["pid"].as_u64().map(|pid| u32::try_from(pid).unwrap())
    }

    /// Kills the server in the middle of whatever it does.
    pub fn kill_server(&self) {
        let pid = self.server_pid().expect("a server to kill");
        kill(pid);
        until(|| (!is_running(pid)).then_some(()), || format!("server {pid} survived"));
    }

    /// Starts a server that crashes at a point, see `server::fault`.
    pub fn start_faulty(&self, fault: &str) {
        let started = self.command(&["server", "start"]).env("ORCA_FAULT", fault).output().unwrap();
        assert!(started.status.success(), "{started:?}");
    }

    /// A shell in a terminal; gives its handle.
    pub fn shell(&self) -> String {
        self.ask(&["terminal", "create", "--command", "sh"])["terminal"]["handle"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Types a line into a terminal.
    pub fn type_line(&self, terminal: &str, line: &str) {
        self.ask(&["terminal", "send", "--terminal", terminal, "--text", line, "--enter"]);
    }

    /// Waits until the terminal's text has `wanted` in it.
    pub fn wait_for_text(&self, terminal: &str, wanted: &str) {
        let read = || self.ask(&["terminal", "read", "--terminal", terminal, "--limit", "200"]).to_string();
        until(|| read().contains(wanted).then_some(()), || format!("{}\n{}", read(), self.log()));
    }

    /// One terminal as `terminal show` has it.
    pub fn terminal(&self, terminal: &str) -> Value {
        self.ask(&["terminal", "show", "--terminal", terminal])["terminal"].clone()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.command(&["server", "stop", "--force"]).output());
    }
}

/// Sends SIGKILL to a process that the test knows.
pub fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

/// Sends a signal to a process that the test knows.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whether a process is there and no zombie.
pub fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}
