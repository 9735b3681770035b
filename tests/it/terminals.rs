//! Terminal verbs and the event log on the real program.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// An agent that reports its state, takes lines and asks when it is told to.
const AGENT: &str = r#"
say() { printf '\033]7501;state=%s:app=mine\033\\' "$1"; }
printf '\033[?2004h'
say idle
while IFS= read -r line; do
    say working
    printf 'took %s\n' "$line" | cat -v
    case "$line" in
    *ask*) say blocked:kind=permission ;;
    *) say idle ;;
    esac
done
"#;

/// A shell in which a person has started the agent `mine` by hand.
fn shell_with_agent(sandbox: &Sandbox) -> String {
    let script = sandbox.scratch().join("mine");
    std::fs::write(&script, AGENT).unwrap();
    let terminal = sandbox.shell();
    sandbox.type_line(&terminal, &format!("bash {}", script.display()));
    until(
        || (sandbox.terminal(&terminal)["live"]["activity"] == "idle").then_some(()),
        || format!("{}\n{}", sandbox.terminal(&terminal), sandbox.log()),
    );
    terminal
}

#[test]
fn an_agent_that_a_person_started_in_a_shell_is_typed_to_like_one_of_ours() {
    let sandbox = Sandbox::with_repo();
    sandbox.set_agent("mine", "command = [\"mine\"]\nprompt = \"paste\"\n[paste]\nsettle_ms = 20\n");
    let terminal = shell_with_agent(&sandbox);
    let shown = sandbox.terminal(&terminal);
    assert_eq!((&shown["agent"], &shown["agentIdentity"]), (&Value::Null, &Value::from("mine")));
    assert_eq!(shown["agentWait"], Value::Null);

    let words = ["terminal", "send", "--terminal", &terminal, "--enter", "--wait-submit", "60", "--text"];
    let send = |text: &'static str| sandbox.envelope(&[&words[..], &[text]].concat())["result"].clone();
    let sent = send("fix it");
    assert_eq!(sent["send"]["mode"], "prompt", "{sent}");
    assert_eq!(sent["send"]["prompt"]["provider"], "mine", "{sent}");
    assert_eq!(sent["send"]["prompt"]["stages"][1], "turn_started", "{sent}");
    // Pasted as one piece, and not with its Enter inside.
    sandbox.wait_for_text(&terminal, "took ^[[200~fix it^[[201~");

    send("now ask");
    until(
        || (sandbox.terminal(&terminal)["agentWait"]["source"] == "hook").then_some(()),
        || sandbox.terminal(&terminal).to_string(),
    );
    let wait = ["terminal", "wait", "--terminal", &terminal, "--for", "tui-idle"];
    assert_eq!(sandbox.envelope(&wait)["result"]["wait"]["blockedReason"], "agent-approval-prompt");
    let refused = send("never typed");
    assert_eq!(refused["send"]["refusedReason"], "permission", "{refused}");

    // The agent is gone: a shell again, which takes bytes.
    sandbox.ask(&["terminal", "send", "--terminal", &terminal, "--interrupt"]);
    until(
        || sandbox.terminal(&terminal).get("agentIdentity").is_none().then_some(()),
        || sandbox.terminal(&terminal).to_string(),
    );
    assert_eq!(send("echo no agent")["send"]["refusedReason"], "no-agent");
    sandbox.type_line(&terminal, "echo sh''ell");
    sandbox.wait_for_text(&terminal, "shell");
    assert!(!sandbox.ask(&["terminal", "read", "--terminal", &terminal]).to_string().contains("never typed"));
}

/// An agent on a busy machine: it reads late, and all that came until then at once.
const LATE_AGENT: &str = r#"
stty raw -echo
printf '\033]7501;state=idle:app=mine\033\\'
sleep 1
printf '<%s>' "$(dd bs=4096 count=1 2>/dev/null | cat -v)"
printf '<%s>' "$(dd bs=4096 count=1 2>/dev/null | cat -v)"
sleep 60
"#;

#[test]
fn enter_is_pressed_after_a_late_program_has_taken_the_text() {
    let sandbox = Sandbox::with_repo();
    sandbox.set_agent("mine", "command = [\"mine\"]\nprompt = \"paste\"\n[paste]\nsettle_ms = 20\n");
    let script = sandbox.scratch().join("mine");
    std::fs::write(&script, LATE_AGENT).unwrap();
    let created =
        sandbox.ask(&["terminal", "create", "--command", &format!("exec bash {}", script.display())]);
    let handle = created["terminal"]["handle"].as_str().unwrap().to_owned();
    until(
        || (sandbox.terminal(&handle)["live"]["activity"] == "idle").then_some(()),
        || format!("{}\n{}", sandbox.terminal(&handle), sandbox.log()),
    );
    sandbox.ask(&["terminal", "send", "--terminal", &handle, "--enter", "--text", "fix it"]);
    // Read in one go with its Enter, an agent would take it for a paste and go on waiting.
    sandbox.wait_for_text(&handle, "<fix it><^M>");
}

#[test]
fn a_brief_is_typed_once_over_restarts_and_still_sent() {
    let sandbox = Sandbox::with_repo();
    let typed = sandbox.scratch().join("typed");
    let script = format!("stty raw -echo; printf 'ready> '; exec cat > {}", typed.display());
    let preset = format!(
        "command = [\"sh\", \"-c\", {}]\nprompt = \"paste\"\n[paste]\nsettle_ms = 3000\n[ready]\nscreen = [\"^ready>\"]\n",
        Value::from(script)
    );
    sandbox.set_agent("mute", &preset);
    sandbox.ask(&["orchestration", "run-create", "--objective", "type it once"]);
    let mut start = sandbox
        .command(&["orchestration", "worker-start", "--spec", "MARK the end", "--agent", "mute", "--json"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&typed).unwrap_or_default();
    until(|| read().contains("MARK the end").then_some(()), read);
    sandbox.kill_server();
    until(|| read().ends_with('\r').then_some(()), read);
    start.wait().unwrap();
    sandbox.ask(&["server", "restart"]);
    let history =
        || sandbox.output(&["orchestration", "dispatch-show", "--task", &task(&sandbox), "--history"]);
    let history = || String::from_utf8(history().stdout).unwrap();
    until(|| history().contains("unconfirmed").then_some(()), history);
    assert_eq!(read().matches("MARK the end").count(), 1, "{}", read());
    assert_eq!(read().matches('\r').count(), 1, "{}", read());
}

/// The only task there is.
fn task(sandbox: &Sandbox) -> String {
    sandbox.ask(&["orchestration", "task-list"])["tasks"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_that_is_the_command_of_a_terminal_is_recognised() {
    let sandbox = Sandbox::with_repo();
    sandbox.set_agent("mine", "command = [\"mine\"]\nprompt = \"paste\"\n");
    let script = sandbox.scratch().join("mine");
    std::fs::write(&script, AGENT).unwrap();
    // The shell becomes the first; it runs the second as its child, in its own process group.
    for command in [format!("exec bash {}", script.display()), format!("bash {}; true", script.display())] {
        let created = sandbox.ask(&["terminal", "create", "--command", &command]);
        let handle = created["terminal"]["handle"].as_str().unwrap().to_owned();
        until(
            || (sandbox.terminal(&handle)["agentIdentity"] == "mine").then_some(()),
            || format!("{command}\n{}\n{}", sandbox.terminal(&handle), sandbox.log()),
        );
        let wait = ["terminal", "wait", "--terminal", &handle, "--for", "tui-idle"];
        assert_eq!(sandbox.envelope(&wait)["result"]["wait"]["satisfied"], true);
    }
}

#[test]
fn a_wait_tells_how_a_process_ended_and_reading_goes_on_from_a_cursor() {
    let sandbox = Sandbox::new();
    let created = sandbox.ask(&["terminal", "create", "--command", "seq 1 9; read x; exit 3"]);
    let terminal = created["terminal"]["handle"].as_str().unwrap();
    sandbox.wait_for_text(terminal, "\"9\"");
    let read = |words: &[&str]| {
        let words = [&["terminal", "read", "--terminal", terminal], words].concat();
        sandbox.ask(&words)["terminal"].clone()
    };
    let page = read(&["--cursor", "2", "--limit", "3"]);
    assert_eq!(page["tail"], serde_json::json!(["3", "4", "5"]), "{page}");
    assert_eq!((&page["limited"], &page["truncated"]), (&Value::from(true), &Value::from(true)), "{page}");
    assert_eq!((&page["oldestCursor"], &page["nextCursor"]), (&Value::from(0), &Value::from(5)), "{page}");
    assert_eq!(read(&["--screen"])["source"], "screen");
    let past = sandbox.envelope(&["terminal", "read", "--terminal", terminal, "--cursor", "1000"]);
    assert_eq!(past["error"]["code"], "cursor_invalid", "{past}");

    let words = ["terminal", "wait", "--terminal", terminal, "--for", "exit", "--json"];
    let waiting = sandbox.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    sandbox.type_line(terminal, "");
    let output = waiting.wait_with_output().unwrap();
    let wait: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(wait["result"]["wait"]["exitCode"], 3, "{wait}");

    sandbox.ask(&["terminal", "create", "--command", "sh"]);
    let closed = sandbox.ask(&["terminal", "close", "--worktree", "current", "--all"]);
    assert_eq!(
        (&closed["close"]["closeMode"], &closed["close"]["ptyKilled"]),
        (&"worktree".into(), &true.into())
    );
}

#[test]
fn a_shell_clears_its_history_and_an_agent_does_not() {
    let sandbox = Sandbox::with_repo();
    let script = sandbox.scratch().join("clearing");
    std::fs::write(&script, "seq -f 'line %g' 200; printf '\\033[2J\\033[3J\\033[Hdone'; read x").unwrap();
    sandbox.set_agent("mine", &format!("command = [\"sh\", \"{}\"]\nprompt = \"none\"\n", script.display()));
    let shell = sandbox.ask(&["terminal", "create", "--command", &format!("sh {}", script.display())]);
    let agent = sandbox.ask(&["worktree", "create", "--name", "b", "--no-parent", "--agent", "mine"]);
    for (created, is_kept) in
        [(&shell["terminal"]["handle"], false), (&agent["startupTerminal"]["handle"], true)]
    {
        let terminal = created.as_str().unwrap_or_else(|| panic!("{agent}"));
        sandbox.wait_for_text(terminal, "done");
        let read = ["terminal", "read", "--terminal", terminal, "--limit", "1000"];
        let page = sandbox.ask(&read)["terminal"].to_string();
        assert_eq!(page.contains("line 17"), is_kept, "{page}");
    }
}

/// `orca events --follow …` and what it prints.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn start(sandbox: &Sandbox, words: &[&str]) -> Self {
        let words = [&["events", "--follow"], words].concat();
        let mut child = sandbox.command(&words).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_follower_misses_nothing_over_restarts_and_however_late_it_reads() {
    let sandbox = Sandbox::new();
    let create = |objective: &str| {
        sandbox.ask(&["orchestration", "run-create", "--objective", objective]);
    };
    create("first");
    // From the start; nothing of it is read before everything has happened.
    let mut slow = Follower::start(&sandbox, &["--since", "0"]);
    let mut of_runs = Follower::start(&sandbox, &["--since", "0", "--types", "run"]);
    assert_eq!(of_runs.next()["detail"], "first");
    let objective = "x".repeat(4_000);
    for _ in 0..40 {
        create(&objective);
    }
    sandbox.ask(&["server", "restart"]);
    create("after a restart");
    sandbox.kill_server();
    create("after a crash");

    let mut seen = Vec::new();
    loop {
        let event = slow.next();
        seen.push(event["seq"].as_u64().unwrap());
        if event["detail"] == "after a crash" {
            break;
        }
    }
    let expected: Vec<u64> = (1..=seen.len() as u64).collect();
    assert_eq!(seen, expected);
    let kinds: Vec<Value> = (0..42).map(|_| of_runs.next()["kind"].clone()).collect();
    assert!(kinds.iter().all(|kind| kind == "run.created"), "{kinds:?}");

    // Who only watches does not start a server that was stopped on purpose.
    sandbox.ask(&["server", "stop", "--force"]);
    assert_eq!(sandbox.server_pid(), None);
    let printed = sandbox.output(&["events", "--types", "run"]);
    assert_eq!(String::from_utf8_lossy(&printed.stdout).lines().count(), 43);
}

#[test]
fn a_terminal_whose_output_cannot_be_kept_is_not_closed() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "full"]);
    let start = ["orchestration", "worker-start", "--spec", "wait", "--agent", "quiet"];
    let receipt = sandbox.ask(&start);
    let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
    let (task, dispatch, handle) = (text("taskId"), text("dispatchId"), text("agentTerminalHandle"));
    sandbox.wait_for_text(&handle, "agent is up");
    let done =
        ["--subject", "done", "--outcome", "succeeded", "--task-id", &task, "--dispatch-id", &dispatch];
    let report = [&["orchestration", "send", "--from", &handle, "--type", "worker_done"], &done[..]].concat();
    sandbox.ask(&report);
    // Nothing can be written where this is.
    let taken = sandbox.state().join("terminals").join(&handle).join("archive.txt");
    std::fs::create_dir_all(taken.join("in the way")).unwrap();
    let release = ["orchestration", "worker-release", "--dispatch", &dispatch, "--retry-request", "release"];
    let refused = sandbox.envelope(&release);
    assert_eq!(refused["error"]["code"], "archive_failed", "{refused}");
    assert_eq!(sandbox.terminal(&handle)["connected"], true);
    std::fs::remove_dir_all(&taken).unwrap();
    let released = sandbox.ask(&release);
    assert_eq!(released["state"], "released", "{released}");
    assert_eq!(released["archive"]["status"], "captured", "{released}");
}
