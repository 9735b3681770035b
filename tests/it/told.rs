//! What an agent's hooks tell of its state: a program that is started as Claude Code is, and runs the hooks that
//! it was given on its command line as Claude Code does.

use crate::support::sandbox::{Sandbox, orca};
use crate::support::wait::until;
use serde_json::Value;
use std::process::Command;

/// Runs the hooks of the events that it reads from a pipe, each with the fields behind its name; prints what comes
/// with `say`, and runs what comes with `run`. Tells how many of these it is done with.
const CLAUDE: &str = r#"
import json, os, subprocess, sys
given = [value for name, value in zip(sys.argv, sys.argv[1:]) if name == "--settings"][-1]
hooks = json.loads(given)["hooks"]
print("up", flush=True)
for n, order in enumerate(os.fdopen(os.open(sys.argv[1], os.O_RDWR)), 1):
    event, _, rest = order.strip().partition(" ")
    fields = json.loads(rest or "{}")
    if event == "say":
        print(fields, flush=True)
    elif event == "run":
        subprocess.run(fields, shell=True)
    else:
        said = json.dumps({"session_id": "s-1", "hook_event_name": event, **fields})
        for hook in hooks[event][0]["hooks"]:
            subprocess.run(hook["command"], shell=True, input=said.encode())
    with open(sys.argv[1] + ".done", "a") as done:
        done.write(".")
"#;

/// A place with a worker that is such a program.
struct Play {
    sandbox: Sandbox,
    dispatch: String,
    terminal: String,
}

impl Play {
    fn start() -> Self {
        let sandbox = Sandbox::with_repo();
        let (script, orders) = (sandbox.scratch().join("claude"), sandbox.scratch().join("orders"));
        std::fs::write(&script, CLAUDE).unwrap();
        assert!(Command::new("mkfifo").arg(&orders).status().unwrap().success());
        let command = Value::from(vec!["python3", script.to_str().unwrap(), orders.to_str().unwrap()]);
        sandbox.set_agent("claude", &format!("command = {command}\n"));
        sandbox.ask(&["orchestration", "run-create", "--objective", "states"]);
        let start = ["orchestration", "worker-start", "--spec", "work", "--agent", "claude"];
        let receipt = sandbox.ask(&start);
        let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
        let (dispatch, terminal) = (text("dispatchId"), text("agentTerminalHandle"));
        sandbox.wait_for_text(&terminal, "up");
        Self { sandbox, dispatch, terminal }
    }

    /// Lets the agent do something, until that is done.
    fn order(&self, order: &str) {
        let n_done = || std::fs::read(self.sandbox.scratch().join("orders.done")).unwrap_or_default().len();
        let n_before = n_done();
        std::fs::write(self.sandbox.scratch().join("orders"), format!("{order}\n")).unwrap();
        until(|| (n_done() > n_before).then_some(()), || format!("{order}\n{}", self.sandbox.log()));
    }

    fn shown(&self) -> Value {
        self.sandbox.terminal(&self.terminal)
    }

    /// What the agent shows by itself: a row without a word on waits has its activity from the attempt.
    fn activity(&self) -> Value {
        let shown = self.shown();
        if shown.get("agentWait").is_none() { "unknown".into() } else { shown["live"]["activity"].clone() }
    }

    fn await_activity(&self, expected: &str) {
        let is_so = || self.activity() == expected;
        until(|| is_so().then_some(()), || format!("{expected}: {}\n{}", self.shown(), self.sandbox.log()));
    }

    /// Lets the agent run the hooks of an event until it is in this state: a hook that takes too long on a busy
    /// machine is left behind, and may not be known for what it is by then.
    fn tell(&self, event: &str, expected: &str) {
        let began = std::time::Instant::now();
        while self.activity() != expected {
            assert!(began.elapsed().as_secs() < 60, "{event}: {}\n{}", self.shown(), self.sandbox.log());
            self.order(event);
        }
    }

    fn send(&self, text: &str) -> Value {
        let words = ["terminal", "send", "--terminal", &self.terminal, "--enter", "--text", text];
        self.sandbox.envelope(&words)["result"]["send"].clone()
    }
}

const ASKS: &str = r#"PermissionRequest {"tool_name":"Bash","tool_input":{"command":"touch\nx"}}"#;
const RUNS: &str =
    r#"PostToolUse {"tool_name":"Bash","tool_input":{"command":"touch\nx"},"tool_response":{}}"#;

#[test]
fn hooks_tell_what_an_agent_does_and_what_it_waits_for() {
    let play = Play::start();
    play.tell("UserPromptSubmit", "working");
    play.tell(ASKS, "blocked");
    let wait = play.shown()["agentWait"].clone();
    assert_eq!((&wait["source"], wait["since"].is_null()), (&"hook".into(), false), "{wait}");
    assert_eq!(wait["reason"], "asks for permission to use Bash: touch x");
    let worker = play.sandbox.ask(&["orchestration", "worker-show", "--dispatch", &play.dispatch]);
    let seen = &worker["observation"]["agentWait"];
    assert_eq!((&seen["source"], &seen["reason"]), (&wait["source"], &wait["reason"]), "{worker}");
    let refused = play.send("never typed");
    assert_eq!((&refused["accepted"], &refused["refusedReason"]), (&false.into(), &"permission".into()));
    play.tell(RUNS, "working");
    assert_eq!(play.shown()["agentWait"], Value::Null);
    play.tell("Stop", "done");
    let wait = ["terminal", "wait", "--terminal", &play.terminal, "--for", "tui-idle"];
    assert_eq!(play.sandbox.envelope(&wait)["result"]["wait"]["satisfied"], true);
    assert_eq!(play.send("go on")["accepted"], true);
}

#[test]
fn late_events_of_a_turn_that_was_broken_off_do_not_revive_it() {
    let play = Play::start();
    play.tell("UserPromptSubmit", "working");
    play.tell(r#"PostToolUseFailure {"tool_name":"Bash","is_interrupt":true}"#, "done");
    play.order(RUNS);
    // What is said behind it comes behind it.
    play.order("say \"over\"");
    play.sandbox.wait_for_text(&play.terminal, "\"over\"");
    assert_eq!(play.activity(), "done");
    play.tell("UserPromptSubmit", "working");
}

#[test]
fn what_the_pane_shows_later_and_a_restart_end_what_hooks_told() {
    let play = Play::start();
    play.tell("UserPromptSubmit", "working");
    // The turn is broken off, of which no hook tells; the title does, once it has told of the turn as well.
    play.order("say \"\\u001b]0;◐ Claude Code\\u0007began\"");
    play.sandbox.wait_for_text(&play.terminal, "began");
    until(|| (play.shown()["live"]["title"] == "◐ Claude Code").then_some(()), || play.shown().to_string());
    play.order("say \"\\u001b]0;✳ Claude Code\\u0007\"");
    play.await_activity("idle");
    play.order("say \"\\u001b]0;\\u0007\"");
    play.await_activity("unknown");

    play.tell(ASKS, "blocked");
    play.sandbox.kill_server();
    // Nothing on its screen tells of a wait, and nobody knows what happened meanwhile.
    play.await_activity("unknown");
    assert!(play.shown().get("agentWait").is_none(), "{}", play.shown());
    play.tell(RUNS, "working");
}

#[test]
fn what_an_agent_does_is_not_written_to_the_disk() {
    let play = Play::start();
    play.sandbox.kill_server();
    // It does not survive a commit.
    play.sandbox.start_faulty("before_commit:1");
    let server = play.sandbox.server_pid();
    play.tell("UserPromptSubmit", "working");
    play.tell(ASKS, "blocked");
    play.tell(RUNS, "working");
    play.tell("Stop", "done");
    assert_eq!(play.sandbox.server_pid(), server);
}

#[test]
fn a_program_may_say_the_same_itself() {
    let play = Play::start();
    let say =
        |report: Value| play.order(&format!("say {}", Value::from(format!("\u{1b}]9999;{report}\u{7}"))));
    say(serde_json::json!({ "state": "working", "agentType": "claude" }));
    play.await_activity("working");
    say(serde_json::json!({ "state": "waiting", "toolName": "Edit", "toolInput": "/a;b" }));
    play.await_activity("blocked");
    assert_eq!(play.shown()["agentWait"]["reason"], "asks for permission to use Edit: /a;b");
    say(serde_json::json!({ "state": "flying" }));
    say(serde_json::json!({ "state": "done" }));
    play.await_activity("done");
}

#[test]
fn only_processes_of_a_pane_tell_of_its_agent() {
    let play = Play::start();
    play.tell("UserPromptSubmit", "working");
    let other = play.sandbox.shell();
    let report = format!(
        "printf %s '{{\"hook_event_name\":\"Stop\"}}' | ORCA_TERMINAL_HANDLE={} {} hook",
        play.terminal,
        orca().display()
    );
    play.sandbox.type_line(&other, &format!("{report} claude; echo ov''er"));
    play.sandbox.wait_for_text(&other, "\"over\"");
    play.sandbox.shell_command(&format!("{report} claude")).status().unwrap();
    // Nor does a hook of another agent that runs there.
    let words = Value::from(format!("{report} codex"));
    play.order(&format!("run {words}"));
    assert_eq!(play.activity(), "working");
    play.tell("Stop", "done");
}
