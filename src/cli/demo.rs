//! `orca demo`: a scripted team in a temporary place, on the screen or, with `--headless`, as a
//! timeline. Coordinator and workers are plain shell scripts that use nothing but public commands;
//! the demo itself only prepares the place and, headless, plays the person.

use super::args::invalid;
use super::out::Out;
use super::verbs::fail_local;
use crate::base::text;
use clap::Args;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shows a team at work: two parallel workers, a question, a failed and retried attempt, a gate, a
/// dependent task. Everything happens in a temporary folder with a server of its own.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca demo\n  orca demo --headless")]
pub struct DemoArgs {
    /// Without a screen: answer by itself, print the timeline, exit 0 when all went well.
    #[arg(long)]
    headless: bool,
}

const SCRIPTS: &[(&str, &str)] = &[
    ("coordinator.sh", include_str!("../../assets/demo/coordinator.sh")),
    ("sums.sh", include_str!("../../assets/demo/sums.sh")),
    ("check.sh", include_str!("../../assets/demo/check.sh")),
    ("report.sh", include_str!("../../assets/demo/report.sh")),
];
const SALES: &str = include_str!("../../assets/demo/sales.csv");
/// Longer than the demo ever takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Runs the demo. Exit code 0 when it went as it should. Its timeline is for people only.
pub fn run(args: &DemoArgs, is_json: bool, out: &mut Out<'_>) -> u8 {
    if is_json {
        let error = invalid("The demo has no --json; its events are text.").next_step("orca demo --headless");
        return fail_local(error, is_json, out);
    }
    let outcome = Stage::prepare().and_then(|stage| {
        let played = if args.headless { stage.play_headless(out) } else { stage.play_on_screen() };
        stage.end(args.headless, out);
        // A command of ours that the signal ended too is not what went wrong.
        if stage.is_over.load(Ordering::Relaxed) { Err(String::from("interrupted")) } else { played }
    });
    match outcome {
        Ok(()) => 0,
        Err(problem) => {
            out.talk(&format!("orca demo: {problem}"));
            1
        }
    }
}

/// The temporary place of one demo.
struct Stage {
    orca: PathBuf,
    root: PathBuf,
    repo: PathBuf,
    /// Somebody wants the demo to end, or its terminal is gone. It cleans up first.
    is_over: Arc<AtomicBool>,
}

impl Stage {
    fn prepare() -> Result<Self, String> {
        let orca =
            std::env::current_exe().map_err(|error| format!("cannot find its own program: {error}"))?;
        let root = std::env::temp_dir().join(format!("orca-demo-{}", std::process::id()));
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&is_over))
                .map_err(|error| format!("cannot watch for signals: {error}"))?;
        }
        let stage = Self { orca, repo: root.join("shop"), root, is_over };
        stage.write_files().map_err(|error| format!("cannot write to {}: {error}", stage.root.display()))?;
        stage.make_repository()?;
        Ok(stage)
    }

    fn write_files(&self) -> std::io::Result<()> {
        let agents = self.root.join("config/orca/agents");
        let scripts = self.root.join("scripts");
        for dir in [&agents, &scripts, &self.repo] {
            fs::create_dir_all(dir)?;
        }
        for (name, text) in SCRIPTS {
            fs::write(scripts.join(name), text)?;
        }
        for agent in ["sums", "check", "report"] {
            let words = ["sh".to_owned(), shown(&scripts.join(format!("{agent}.sh"))), shown(&self.orca)];
            let command = Value::from(words.to_vec());
            fs::write(
                agents.join(format!("demo-{agent}.toml")),
                format!("command = {command}\nprompt = \"argument\"\n"),
            )?;
        }
        let worktrees = Value::from(shown(&self.root.join("worktrees")));
        fs::write(self.root.join("config/orca/config.toml"), format!("[worktrees]\nroot = {worktrees}\n"))?;
        fs::write(self.repo.join("sales.csv"), SALES)
    }

    fn make_repository(&self) -> Result<(), String> {
        for words in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "orca demo"],
            &["config", "user.email", "demo@localhost"],
            &["config", "commit.gpgsign", "false"],
            &["add", "."],
            &["commit", "-qm", "Sales of three days"],
        ] {
            let mut git = Command::new("git");
            let ended = git.args(words).current_dir(&self.repo).stdin(Stdio::null()).output();
            let ended = ended.map_err(|error| format!("the demo needs git: {error}"))?;
            if !ended.status.success() {
                return Err(format!(
                    "git {} failed: {}",
                    words.join(" "),
                    String::from_utf8_lossy(&ended.stderr)
                ));
            }
        }
        Ok(())
    }

    /// This program, in the demo's own place, as the person at a plain shell.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.orca);
        command.current_dir(&self.repo).env("ORCA_HOME", self.root.join("state"));
        command.env("XDG_CONFIG_HOME", self.root.join("config"));
        // What the server keeps in the temporary place goes with the demo.
        command.env("TMPDIR", &self.root);
        for name in
            ["ORCA_USER_DATA_PATH", "ORCA_TERMINAL_HANDLE", "ORCA_PANE", "ORCA_PANE_KEY", "ORCA_WORKTREE_ID"]
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs one command and gives `result`.
    fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let ended = self.command().args(words).arg("--json").stdin(Stdio::null()).output();
        let ended = ended.map_err(|error| format!("cannot run {}: {error}", self.orca.display()))?;
        let reply: Value = serde_json::from_slice(&ended.stdout).map_err(|_| {
            format!("`orca {}` printed no JSON: {}", words.join(" "), String::from_utf8_lossy(&ended.stderr))
        })?;
        match reply.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("`orca {}` answered {}", words.join(" "), reply["error"])),
        }
    }

    fn start_coordinator(&self) -> Result<String, String> {
        let script = shown(&self.root.join("scripts/coordinator.sh"));
        let line = format!("sh {} {}", text::shell_quote(&script), text::shell_quote(&shown(&self.orca)));
        let created = self.ask(&["terminal", "create", "--title", "coordinator", "--command", &line])?;
        created["terminal"]["handle"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("no terminal: {created}"))
    }

    fn play_on_screen(&self) -> Result<(), String> {
        self.start_coordinator()?;
        let cannot = |error| format!("cannot attach: {error}");
        let mut screen = self.command().arg("attach").spawn().map_err(cannot)?;
        let status = loop {
            if let Some(status) = screen.try_wait().map_err(cannot)? {
                break status;
            }
            if self.is_over.load(Ordering::Relaxed) {
                // It leaves the terminal as it found it.
                rustix::process::kill_process(Pid::from_child(&screen), Signal::TERM)
                    .map_err(|error| cannot(error.into()))?;
                break screen.wait().map_err(cannot)?;
            }
            std::thread::sleep(LOOK_EVERY);
        };
        if status.success() { Ok(()) } else { Err(format!("the screen ended with {status}")) }
    }

    fn play_headless(&self, out: &mut Out<'_>) -> Result<(), String> {
        let coordinator = self.start_coordinator()?;
        let mut timeline = Timeline::new(out);
        loop {
            let is_over = self.look(&mut timeline, &coordinator)?;
            if is_over {
                break;
            }
            if self.is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            if timeline.began.elapsed() > PATIENCE {
                return Err(self.what_hangs(&coordinator));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.verify(&coordinator)
    }

    /// Looks at everything once, tells what is new, answers what waits for a person. Says whether
    /// the coordinator has ended.
    fn look(&self, timeline: &mut Timeline<'_, '_>, coordinator: &str) -> Result<bool, String> {
        let shown = self.ask(&["terminal", "show", "--terminal", coordinator])?;
        let is_over = shown["terminal"]["connected"] == false;
        let runs = self.ask(&["orchestration", "run-list"])?;
        let Some(run) = runs["runs"][0]["id"].as_str().map(str::to_owned) else { return Ok(is_over) };
        let gates = self.ask(&["orchestration", "gate-list", "--run", &run])?;
        let (pending, resolved): (Vec<Value>, Vec<Value>) =
            list(&gates["gates"]).into_iter().partition(|gate| gate["status"] == "pending");
        // What comes behind an answer is told behind it.
        resolved.iter().for_each(|gate| timeline.tell_gate(gate));
        let tasks = self.ask(&["orchestration", "task-list", "--run", &run])?;
        // What is reported was begun before; what a report changes comes after it.
        let (begun, others): (Vec<Value>, Vec<Value>) =
            list(&tasks["tasks"]).into_iter().partition(|task| task["status"] == "dispatched");
        begun.iter().for_each(|task| timeline.tell_task(task));
        let mail = self.ask(&["orchestration", "inbox", "--limit", "100"])?;
        for message in list(&mail["messages"]).iter().rev() {
            let what = ["mail", &word(&message["type"]), &word(&message["subject"])];
            let is_new = timeline.tell(&word(&message["id"]), what);
            if is_new && message["type"] == "question" {
                self.ask(&[
                    "orchestration",
                    "reply",
                    "--id",
                    &word(&message["id"]),
                    "--body",
                    "keep the cents",
                ])?;
                timeline.tell(&format!("answer {}", message["id"]), ["you", "answered", "keep the cents"]);
            }
        }
        others.iter().for_each(|task| timeline.tell_task(task));
        for gate in &pending {
            timeline.tell_gate(gate);
            let id = word(&gate["id"]);
            self.ask(&["orchestration", "gate-resolve", "--id", &id, "--resolution", "go on"])?;
        }
        Ok(is_over)
    }

    /// Checks that what was shown really happened.
    fn verify(&self, coordinator: &str) -> Result<(), String> {
        let runs = self.ask(&["orchestration", "run-list"])?;
        let run = word(&runs["runs"][0]["id"]);
        let tasks = self.ask(&["orchestration", "task-list", "--run", &run])?;
        let attempts: Vec<String> = list(&tasks["tasks"])
            .iter()
            .map(|task| {
                format!("{} {} {}", word(&task["task_title"]), word(&task["status"]), task["attempts"])
            })
            .collect();
        let expected =
            ["sum the sales completed 1", "check the input completed 2", "write the report completed 1"];
        if attempts != expected {
            return Err(format!("the tasks ended as {attempts:?}\n{}", self.last_lines(coordinator)));
        }
        let worktrees = self.ask(&["worktree", "list"])?;
        let report = list(&worktrees["worktrees"])
            .into_iter()
            .map(|worktree| Path::new(&word(&worktree["path"])).join("report.md"))
            .find(|path| path.exists())
            .ok_or_else(|| String::from("no worktree holds report.md"))?;
        let text = fs::read_to_string(&report).map_err(|error| format!("{}: {error}", report.display()))?;
        if !text.contains("totals.csv") || !text.contains("bad line") {
            return Err(format!("{} lacks the results of the other workers:\n{text}", report.display()));
        }
        Ok(())
    }

    fn what_hangs(&self, coordinator: &str) -> String {
        format!("it did not end within {} s\n{}", PATIENCE.as_secs(), self.last_lines(coordinator))
    }

    fn last_lines(&self, coordinator: &str) -> String {
        let read =
            self.ask(&["terminal", "read", "--terminal", coordinator, "--limit", "20"]).unwrap_or_default();
        let lines: Vec<String> = list(&read["terminal"]["tail"]).iter().map(word).collect();
        format!("The coordinator's last lines:\n{}", lines.join("\n"))
    }

    /// Ends the demo's server and removes the place, which holds nothing of anybody's.
    fn end(&self, is_headless: bool, out: &mut Out<'_>) {
        let stopped = self.command().args(["server", "stop", "--force"]).stdin(Stdio::null()).output();
        let is_stopped = stopped.is_ok_and(|ended| ended.status.success());
        if !is_stopped || fs::remove_dir_all(&self.root).is_err() {
            out.talk(&format!(
                "The demo's folder {} was left behind.",
                text::one_line(&self.root.display().to_string())
            ));
        } else if !is_headless {
            out.talk("The demo is over: its server ended and its folder was removed.");
        }
    }
}

/// What the person is told, each thing once.
struct Timeline<'a, 'b> {
    out: &'a mut Out<'b>,
    began: Instant,
    told: BTreeMap<String, String>,
}

impl<'a, 'b> Timeline<'a, 'b> {
    fn new(out: &'a mut Out<'b>) -> Self {
        Self { out, began: Instant::now(), told: BTreeMap::new() }
    }

    /// Prints noun, state and words in columns if they are news about `subject`, and says so.
    fn tell(&mut self, subject: &str, [noun, state, words]: [&str; 3]) -> bool {
        let state = text::pad(&text::one_line(state), 12);
        let line = format!("{noun:<4}  {state}  {}", text::one_line(words));
        if self.told.get(subject).is_some_and(|told| *told == line) {
            return false;
        }
        let seconds = self.began.elapsed().as_secs_f32();
        self.out.data(&format!("{seconds:6.1}s  {line}\n"));
        self.told.insert(subject.to_owned(), line);
        true
    }

    fn tell_task(&mut self, task: &Value) {
        let title = word(&task["task_title"]);
        let title = match task["attempts"].as_u64() {
            None | Some(0) => title,
            Some(attempt) => format!("{title} (attempt {attempt})"),
        };
        self.tell(&word(&task["id"]), ["task", &word(&task["status"]), &title]);
    }

    fn tell_gate(&mut self, gate: &Value) {
        self.tell(&word(&gate["id"]), ["gate", &word(&gate["status"]), &word(&gate["question"])]);
    }
}

fn shown(path: &(impl AsRef<OsStr> + ?Sized)) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
