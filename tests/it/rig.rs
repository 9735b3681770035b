//! Real agents, offline: Claude Code, Codex and whatever else is installed work for orca in its panes.
//!
//! The "model" is the scripted server of `../shared/rig`; all else is real: the agent's program, its
//! launch by our own presets, its shell tool, our program. `ORCA_RIG` names the rig where it is not
//! beside the repository, `ORCA_RIG_PREFIX` where `setup.sh` put the agents. What is missing is
//! skipped, and that is said.

use crate::lifecycle;
use crate::support::sandbox::{Sandbox, is_running};
use crate::support::wait::until;
use orca::base::clock::Timestamp;
use orca::base::id::TerminalId;
use orca::base::size::TermSize;
use orca::proto::screen::{ClientFrame, View, ViewPane};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// One agent with its own home, model server and place.
struct Play {
    agent: &'static str,
    sandbox: Sandbox,
    model: Child,
    rig: PathBuf,
    prefix: PathBuf,
}

impl Play {
    /// The agent, obeying a script of `tests/it/rig` or of the rig; None where it is not installed.
    fn prepare(agent: &'static str, script: &str) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/rig");
        let rig = std::env::var_os("ORCA_RIG").map_or(beside, PathBuf::from);
        let Some(prefix) = std::env::var_os("ORCA_RIG_PREFIX").map(PathBuf::from) else {
            skip(&format!(
                "{agent} with {script}: ORCA_RIG_PREFIX does not say where setup.sh put the agents"
            ));
            return None;
        };
        for needed in [rig.join("fake_llm.py"), prefix.join(agent).join("node_modules/.bin").join(agent)] {
            if !needed.exists() {
                skip(&format!("{agent} with {script}: {} is missing", needed.display()));
                return None;
            }
        }
        let sandbox = Sandbox::with_repo();
        let port = sandbox.scratch().join("port");
        let model = Command::new("python3")
            .arg(rig.join("fake_llm.py"))
            .args(["--port", "0", "--exit-with-parent", "--script", script, "--port-file"])
            .arg(&port)
            .arg("--scripts")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rig"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let play = Self { agent, sandbox, model, rig, prefix };
        until(
            || std::fs::read_to_string(&port).ok().filter(|port| !port.is_empty()),
            || String::from("the fake model did not start"),
        );
        let home = play.home("home");
        let command = Value::from(vec![home["argv"][0].clone()]);
        let env: Vec<String> = play
            .environment(&home)
            .iter()
            .map(|(name, value)| format!("{name} = {}", Value::from(value.as_str())))
            .collect();
        play.sandbox.set_agent(agent, &format!("command = {command}\n[env]\n{}\n", env.join("\n")));
        Some(play)
    }

    /// Writes a home for the agent that knows the model server and trusts our folders.
    fn home(&self, name: &str) -> Value {
        let port = std::fs::read_to_string(self.sandbox.scratch().join("port")).unwrap();
        let made = Command::new("python3")
            .arg(self.rig.join("mkhome.py"))
            .arg(self.agent)
            .arg("--prefix")
            .arg(&self.prefix)
            .arg("--home")
            .arg(self.sandbox.scratch().join(name))
            .args(["--base", &format!("http://127.0.0.1:{}", port.trim())])
            .arg("--trust")
            .arg(self.sandbox.repo())
            .arg("--trust")
            .arg(self.worktree())
            .output()
            .unwrap();
        serde_json::from_slice(&made.stdout).unwrap_or_else(|_| panic!("{made:?}"))
    }

    /// The variables of a home, with its folders in front of PATH.
    fn environment(&self, home: &Value) -> Vec<(String, String)> {
        let variables = home["env"].as_object().unwrap().iter();
        let mut variables: Vec<(String, String)> =
            variables.map(|(name, value)| (name.clone(), text(value))).collect();
        let mut path: Vec<String> = home["path_prepend"].as_array().unwrap().iter().map(text).collect();
        path.extend(std::env::var("PATH"));
        variables.push((String::from("PATH"), path.join(":")));
        variables
    }

    /// Where the worker's worktree will be.
    fn worktree(&self) -> PathBuf {
        self.sandbox.trees().join("repo/x")
    }

    /// Starts a worker in a worktree of its own; gives its attempt and its terminal.
    fn start(&self) -> (String, String) {
        self.sandbox.ask(&["orchestration", "run-create", "--objective", "try the rig"]);
        let words = ["orchestration", "worker-start", "--spec", "Do it.", "--agent", self.agent];
        let started = self.sandbox.ask(&[&words[..], &["--worktree", "new-child", "--name", "x"]].concat());
        assert_eq!(
            (&started["state"], &started["delivery"]),
            (&"ready".into(), &"argument".into()),
            "{started}"
        );
        (text(&started["dispatchId"]), text(&started["agentTerminalHandle"]))
    }

    /// Waits for mail of this type as the coordinator, and confirms what came before it.
    fn await_mail(&self, kind: &str) -> Value {
        let mut seen = String::new();
        loop {
            let mut words = vec!["orchestration", "check", "--wait", "--timeout-ms", "90000"];
            if !seen.is_empty() {
                words.extend(["--ack", &seen]);
            }
            let checked = self.sandbox.ask(&words);
            assert_eq!(checked["timedOut"], false, "no {kind} came; {}", self.screen_of_all());
            let messages = checked["messages"].as_array().unwrap();
            if let Some(found) = messages.iter().find(|message| message["type"] == kind) {
                return found.clone();
            }
            seen = text(&checked["deliveryId"]);
        }
    }

    fn worker(&self, dispatch: &str) -> Value {
        self.sandbox.ask(&["orchestration", "worker-show", "--dispatch", dispatch])
    }

    fn screen(&self, terminal: &str) -> Vec<String> {
        let read = self.sandbox.ask(&["terminal", "read", "--terminal", terminal, "--screen"]);
        read["terminal"]["tail"].as_array().unwrap().iter().map(text).collect()
    }

    /// What a person would see everywhere, for a test that fails.
    fn screen_of_all(&self) -> String {
        let listed = self.sandbox.ask(&["terminal", "list"]);
        let handles =
            listed["terminals"].as_array().unwrap().iter().map(|terminal| text(&terminal["handle"]));
        handles.map(|handle| format!("{handle}:\n{}\n", self.screen(&handle).join("\n"))).collect()
    }

    fn output_of(&self, dispatch: &str) -> String {
        let words = ["orchestration", "worker-read", "--dispatch", dispatch, "--source", "terminal"];
        self.sandbox.ask(&words)["terminal"]["tail"].to_string()
    }

    fn last_subject(&self) -> String {
        let git =
            Command::new("git").args(["log", "-1", "--format=%s"]).current_dir(self.worktree()).output();
        String::from_utf8(git.unwrap().stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        drop(self.model.kill());
        drop(self.model.wait());
    }
}

/// Says on the real standard error, which tests that pass do not keep to themselves, what is not tried.
fn skip(what: &str) {
    drop(writeln!(
        std::io::stderr(),
        "SKIPPED {what} (bash ../shared/rig/setup.sh /tmp/cli installs agents)"
    ));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// A task by launch argument, a commit, an accepted report, a clean end.
fn takes_a_task(agent: &'static str) {
    let Some(play) = Play::prepare(agent, "orca-done") else { return };
    let (dispatch, terminal) = play.start();
    let report = play.await_mail("worker_done");
    assert_eq!(report["payload"]["outcome"], "succeeded", "{report}");
    assert_eq!(report["payload"]["dispatchId"], dispatch.as_str(), "{report}");
    assert_eq!(play.last_subject(), "add a.txt");
    let task = &play.sandbox.ask(&["orchestration", "task-list"])["tasks"][0];
    assert_eq!((&task["status"], &task["attempts"]), (&"completed".into(), &1.into()), "{task}");

    let has_said = |part: &str| play.screen(&terminal).join("\n").contains(part);
    until(|| has_said("All of it is reported.").then_some(()), || play.screen_of_all());
    // A full-screen program's words are readable while it runs and after its release.
    assert!(play.output_of(&dispatch).contains("All of it is reported."));
    let process = play.sandbox.terminal(&terminal)["pid"].as_u64().unwrap();
    let released = play.sandbox.ask(&["orchestration", "worker-release", "--dispatch", &dispatch]);
    assert_eq!(released["state"], "released", "{released}");
    assert_eq!(released["archive"]["status"], "captured", "{released}");
    assert!(!is_running(u32::try_from(process).unwrap()));
    assert!(play.output_of(&dispatch).contains("All of it is reported."), "{}", play.output_of(&dispatch));
}

/// Its hook tells which session it leads, and that is what is read of it, also after its release.
fn reports_its_session(agent: &'static str) {
    let Some(play) = Play::prepare(agent, "orca-done") else { return };
    let (dispatch, _) = play.start();
    play.await_mail("worker_done");
    let words = ["orchestration", "worker-read", "--dispatch", &dispatch, "--source", "transcript"];
    let read = || play.sandbox.envelope(&words);
    let said = || read()["result"]["transcript"]["messages"].to_string();
    until(|| said().contains("All of it is reported.").then_some(()), || format!("{}", read()));
    let transcript = &read()["result"]["transcript"];
    let messages = transcript["messages"].as_array().unwrap();
    let is_told = |role: &str, part: &str| {
        messages.iter().any(|message| message["role"] == role && message["blocks"].to_string().contains(part))
    };
    assert!(is_told("user", orca::agent::prompt::PREFIX), "{transcript:#}");
    assert!(is_told("assistant", "I will write the file and commit it."), "{transcript:#}");
    assert!(is_told("assistant", "echo hi > a.txt"), "{transcript:#}");
    assert!(is_told("tool", "(completed)"), "{transcript:#}");
    let released = play.sandbox.ask(&["orchestration", "worker-release", "--dispatch", &dispatch]);
    assert_eq!(released["archive"]["source"], "transcript", "{released}");
    let archived = &read()["result"];
    assert_eq!(archived["archived"], true, "{archived}");
    assert!(archived.to_string().contains("All of it is reported."), "{archived}");
}

/// A question through the agent's own shell tool, answered, used.
fn asks(agent: &'static str) {
    let Some(play) = Play::prepare(agent, "orca-ask") else { return };
    let (dispatch, _) = play.start();
    let question = play.await_mail("question");
    assert_eq!(question["payload"]["options"], serde_json::json!(["red", "blue"]));
    let workers = play.sandbox.ask(&["orchestration", "worker-list"]);
    assert!(workers.to_string().contains("waiting"), "{workers}");
    let id = text(&question["id"]);
    play.sandbox.ask(&["orchestration", "reply", "--id", &id, "--body", "colour-red"]);
    let report = play.await_mail("worker_done");
    assert_eq!(report["payload"]["dispatchId"], dispatch.as_str());
    assert_eq!(play.last_subject(), "colour red");
}

/// A killed agent is a failed attempt, within two seconds, with its signal.
fn crashes(agent: &'static str) {
    let Some(play) = Play::prepare(agent, "orca-crash") else { return };
    let (dispatch, terminal) = play.start();
    let escalation = play.await_mail("escalation");
    let words = text(&escalation["body"]);
    assert!(words.contains(&dispatch) && words.contains("the agent was killed by signal 9"), "{words}");
    assert_eq!(play.sandbox.terminal(&terminal)["end"]["signal"], 9);
    assert_eq!(play.worker(&dispatch)["dispatch"]["status"], "failed");
    assert_eq!(play.sandbox.ask(&["orchestration", "task-list"])["tasks"][0]["status"], "ready");
    let killed_at = std::fs::read_to_string(play.worktree().join("killed_at")).unwrap();
    let told_at = Timestamp::from_iso(&text(&escalation["created_at"])).unwrap();
    let late_ms = told_at.since_ms(Timestamp(killed_at.trim().parse().unwrap()));
    assert!(late_ms < 2_000, "told after {late_ms} ms");
}

/// The screen without what stands behind the marker: OpenCode proposes another task at each start.
fn fixed(screen: Vec<String>, marker: &str) -> Vec<String> {
    let cut =
        |line: String| line.find(marker).map_or(line.clone(), |at| line[..at + marker.len()].to_owned());
    screen.into_iter().map(cut).collect()
}

/// The start screen in a pane of ours is, cell by cell of text, the one in another multiplexer, at two sizes.
fn looks_as_outside(agent: &'static str, marker: &str) {
    let Some(play) = Play::prepare(agent, "orca-done") else { return };
    if Command::new("tmux").arg("-V").output().is_err() {
        return skip(&format!("{agent} beside tmux: there is no tmux"));
    }
    let socket = play.sandbox.scratch().join("tmux");
    let tmux = |words: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(words);
        String::from_utf8(command.current_dir(play.sandbox.repo()).output().unwrap().stdout).unwrap()
    };
    let line = |home: &str| {
        let home = play.home(home);
        let mut words = vec![String::from("exec"), String::from("env")];
        words.extend(play.environment(&home).iter().map(|(name, value)| format!("{name}='{value}'")));
        words.extend(["argv", "auto"].iter().flat_map(|key| home[key].as_array().unwrap()).map(text));
        words.join(" ")
    };
    tmux(&["new-session", "-d", "-x", "80", "-y", "24", &line("outside"), ";", "set", "-g", "status", "off"]);
    let created = play.sandbox.ask(&["terminal", "create", "--command", &line("inside")]);
    let terminal = text(&created["terminal"]["handle"]);
    let outside = || -> Vec<String> {
        let shown = tmux(&["capture-pane", "-p"]);
        shown.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()
    };
    let inside =
        || -> Vec<String> { play.screen(&terminal).iter().map(|line| line.trim_end().to_owned()).collect() };
    // Two sizes, with a resize in between, and back.
    let mut screen = lifecycle::attach(&play.sandbox);
    let id = TerminalId::parse(&terminal).unwrap();
    for (n_rows, n_cols) in [(24, 80), (40, 120), (24, 80)] {
        let pane = ViewPane { terminal: id.clone(), size: TermSize::clamped(n_rows, n_cols) };
        let view = View { panes: vec![pane], focus: Some(id.clone()), is_active: true };
        screen.send(&ClientFrame::View(view)).unwrap();
        tmux(&["resize-window", "-x", &n_cols.to_string(), "-y", &n_rows.to_string()]);
        let same = || {
            let (inside, outside) = (fixed(inside(), marker), fixed(outside(), marker));
            (inside == outside && inside.iter().any(|line| line.contains(marker))).then_some(())
        };
        let shown = || format!("inside:\n{}\noutside:\n{}", inside().join("\n"), outside().join("\n"));
        until(same, || format!("{n_rows}x{n_cols}: {}", shown()));
    }
    tmux(&["kill-server"]);
}

/// Idle at its prompt as the coordinator, it is told of a message and reads it.
fn is_nudged(agent: &'static str) {
    let Some(play) = Play::prepare(agent, "orca-nudged") else { return };
    let made = play.sandbox.ask(&["worktree", "create", "--name", "x", "--agent", agent]);
    let listed = play.sandbox.ask(&["terminal", "list"]);
    let handle = listed["terminals"].as_array().unwrap().iter().find(|row| row["agent"] == agent);
    let terminal = text(&handle.unwrap_or_else(|| panic!("{made} {listed}"))["handle"]);
    let made = play.sandbox.ask(&["orchestration", "run-create", "--objective", "x", "--from", &terminal]);
    let to = format!("run:{}", text(&made["run"]["id"]));
    play.sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", "ready", "--body", "unseen words"]);
    let has_read = || play.screen(&terminal).join("\n").contains("The mail is read.");
    until(|| has_read().then_some(()), || play.screen_of_all());
    let typed = play.screen(&terminal).join(" ");
    assert_eq!(typed.matches("1 message waits").count(), 1, "{typed}");
    let inbox = play.sandbox.ask(&["orchestration", "inbox", "--terminal", &terminal]);
    assert!(!inbox["messages"][0]["delivered_at"].is_null(), "{inbox}");
}

#[test]
fn claude_code_is_told_of_its_mail() {
    is_nudged("claude");
}

#[test]
fn claude_code_takes_a_task() {
    takes_a_task("claude");
}

#[test]
fn codex_takes_a_task() {
    takes_a_task("codex");
}

#[test]
fn gemini_takes_a_task() {
    takes_a_task("gemini");
}

#[test]
fn claude_code_reports_its_session() {
    reports_its_session("claude");
}

#[test]
fn codex_reports_its_session() {
    reports_its_session("codex");
}

#[test]
fn claude_code_asks_and_uses_the_answer() {
    asks("claude");
}

#[test]
fn codex_asks_and_uses_the_answer() {
    asks("codex");
}

#[test]
fn claude_code_is_killed() {
    crashes("claude");
}

#[test]
fn codex_is_killed() {
    crashes("codex");
}

#[test]
fn claude_code_looks_as_outside() {
    looks_as_outside("claude", "shift+tab to cycle");
}

#[test]
fn opencode_looks_as_outside() {
    looks_as_outside("opencode", "Ask anything");
}

#[test]
fn codex_looks_as_outside() {
    looks_as_outside("codex", "Ask Codex to do anything");
}
