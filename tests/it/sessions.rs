//! `orca hook`: from a real pane to `worker-read`, and in silence from everywhere else.

use crate::support::sandbox::{Sandbox, orca, signal};
use crate::support::wait::until;
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

const SAID: &str = include_str!("../fixtures/transcripts/claude.jsonl");

/// Where the agent `scribe` of a sandbox writes its session.
fn transcript(sandbox: &Sandbox) -> PathBuf {
    sandbox.scratch().join("agent/projects/w/s-1.jsonl")
}

fn payload(sandbox: &Sandbox) -> String {
    serde_json::json!({ "session_id": "s-1", "transcript_path": transcript(sandbox), "hook_event_name": "x" })
        .to_string()
}

/// A place with an agent that reports its session and then obeys its terminal; its attempt and terminal.
fn with_scribe(first: &str) -> (Sandbox, String, String) {
    let sandbox = Sandbox::with_repo();
    let path = transcript(&sandbox);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, SAID).unwrap();
    std::fs::write(sandbox.scratch().join("payload"), payload(&sandbox)).unwrap();
    let home = sandbox.scratch().join("agent");
    let preset = format!(
        "command = [\"sh\", \"-c\", {}]\nprompt = \"argument\"\ntranscript = \"claude\"\n[env]\nCLAUDE_CONFIG_DIR = {}\n",
        Value::from(format!("cd {}; {first} echo up; sh", sandbox.scratch().display())),
        Value::from(home.to_str().unwrap())
    );
    sandbox.set_agent("scribe", &preset);
    sandbox.ask(&["orchestration", "run-create", "--objective", "sessions"]);
    let start = ["orchestration", "worker-start", "--spec", "write", "--agent", "scribe"];
    let receipt = sandbox.ask(&start);
    let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
    let (dispatch, terminal) = (text("dispatchId"), text("agentTerminalHandle"));
    sandbox.wait_for_text(&terminal, "up");
    (sandbox, dispatch, terminal)
}

fn read(sandbox: &Sandbox, dispatch: &str) -> Value {
    sandbox.ask(&["orchestration", "worker-read", "--dispatch", dispatch])
}

/// Runs the hook with this on its standard input and these variables.
fn hook(sandbox: &Sandbox, said: &[u8], variables: &[(&str, &str)]) -> Output {
    let mut command = sandbox.command(&["hook", "scribe"]);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may be gone before it has read everything.
    drop(child.stdin.take().unwrap().write_all(said));
    child.wait_with_output().unwrap()
}

fn assert_silent(output: &Output) {
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_an_agents_hook_reports_is_read_also_by_the_next_server() {
    // As agents do it: again with each prompt, for a single report may come too early or take too long.
    let report =
        format!("(while [ ! -e enough ]; do {} hook scribe < payload; sleep 0.1; done) &", orca().display());
    let (sandbox, dispatch, _) = with_scribe(&report);
    let read = |sandbox: &Sandbox| read(sandbox, &dispatch);
    until(|| (read(&sandbox)["source"] == "transcript").then_some(()), || format!("{}", read(&sandbox)));
    let first = read(&sandbox);
    assert_eq!(first["sourceIdentity"], "claude:s-1", "{first}");
    std::fs::write(sandbox.scratch().join("enough"), "").unwrap();
    sandbox.kill_server();
    assert_eq!(read(&sandbox)["transcript"], first["transcript"]);
    std::fs::remove_file(transcript(&sandbox)).unwrap();
    assert_eq!(read(&sandbox)["fallbackReason"], "transcript_missing");
}

#[test]
fn only_a_process_of_the_pane_speaks_for_its_agent() {
    let (sandbox, dispatch, terminal) = with_scribe("");
    let said = payload(&sandbox);
    assert_silent(&hook(&sandbox, said.as_bytes(), &[("ORCA_TERMINAL_HANDLE", &terminal)]));
    assert_silent(&hook(&sandbox, said.as_bytes(), &[]));
    let other = sandbox.shell();
    let words = |words: &str| {
        format!("{words}{} hook scribe < {}", orca().display(), sandbox.scratch().join("payload").display())
    };
    sandbox.type_line(&other, &format!("{}; echo over", words(&format!("ORCA_TERMINAL_HANDLE={terminal} "))));
    sandbox.wait_for_text(&other, "\"over\"");
    assert_eq!(read(&sandbox, &dispatch)["fallbackReason"], "session_not_reported");
    // The same from its own pane counts.
    sandbox.type_line(&terminal, &format!("while {}; do sleep 1; done", words("")));
    let source = || read(&sandbox, &dispatch)["source"].clone();
    until(|| (source() == "transcript").then_some(()), || source().to_string());
}

#[test]
fn a_hook_is_silent_whatever_it_is_told_and_starts_no_server() {
    let sandbox = Sandbox::with_repo();
    let inside = [("ORCA_TERMINAL_HANDLE", "term_0123456789ab")];
    for said in [&b""[..], b"no json", b"[]", b"{\"session_id\":7}", b"\xff\xfe", &[b'['; 1 << 20]] {
        assert_silent(&hook(&sandbox, said, &inside));
    }
    assert_silent(&hook(&sandbox, payload(&sandbox).as_bytes(), &inside));
    assert!(!sandbox.state().join("server.log").exists());
    sandbox.ask(&["server", "start"]);
    assert_silent(&hook(&sandbox, payload(&sandbox).as_bytes(), &inside));
    let server = sandbox.server_pid().unwrap();
    signal(server, Signal::STOP);
    assert_silent(&hook(&sandbox, payload(&sandbox).as_bytes(), &inside));
    signal(server, Signal::CONT);
    // Somebody who never ends what they say is not waited for.
    let mut command = sandbox.command(&["hook", "scribe"]);
    command.envs(inside).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let unended = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(unended);
}
