//! A server and the place where it stands: a state directory that goes, and a stop that others hear of.

use super::support::sandbox::{Sandbox, is_running};
use super::support::wait::until;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The holder of a terminal's program, and the program.
fn processes_of(sandbox: &Sandbox, terminal: &str) -> [u32; 2] {
    let child = u32::try_from(sandbox.terminal(terminal)["pid"].as_u64().unwrap()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    [parent.trim().parse().unwrap(), child]
}

fn wait_for_end(pid: u32) {
    until(|| (!is_running(pid)).then_some(()), || format!("process {pid} runs on"));
}

#[test]
fn a_removed_state_directory_ends_its_server_and_hangs_its_terminals_up() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let (server, held) = (sandbox.server_pid().unwrap(), processes_of(&sandbox, &terminal));
    std::fs::remove_dir_all(sandbox.state()).unwrap();
    // One that comes after it stands in its own place, and is not tidied away by the old one.
    let next = sandbox.server_pid();
    assert_eq!(next, None, "nothing runs in a directory that is not there");
    sandbox.ask(&["server", "start"]);
    wait_for_end(server);
    held.into_iter().for_each(wait_for_end);
    let next = sandbox.server_pid().expect("the second server is found");
    assert_ne!(next, server);
    assert_eq!(sandbox.ask(&["terminal", "list"])["totalCount"], 0);
}

#[test]
fn a_removed_state_directory_hangs_terminals_up_also_without_a_server() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let held = processes_of(&sandbox, &terminal);
    sandbox.kill_server();
    std::fs::remove_dir_all(sandbox.state()).unwrap();
    held.into_iter().for_each(wait_for_end);
}

#[test]
fn a_moved_state_directory_takes_its_terminals_along() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let (server, held) = (sandbox.server_pid().unwrap(), processes_of(&sandbox, &terminal));
    let moved = sandbox.scratch().join("moved");
    std::fs::rename(sandbox.state(), &moved).unwrap();
    wait_for_end(server);
    let there = |words: &[&str]| {
        let output = sandbox.command(words).arg("--json").env("ORCA_HOME", &moved).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    let shown = there(&["terminal", "show", "--terminal", &terminal]);
    assert_eq!(shown["result"]["terminal"]["life"], "running", "{shown}");
    assert!(held.into_iter().all(is_running));
    assert_eq!(there(&["server", "stop", "--force"])["ok"], true);
    held.into_iter().for_each(wait_for_end);
}

#[test]
fn a_removed_or_replaced_database_ends_its_server() {
    for is_replaced in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.ask(&["orchestration", "run-create", "--objective", "kept"]);
        let (server, store) = (sandbox.server_pid().unwrap(), sandbox.state().join("orca.redb"));
        let copy = sandbox.state().join("orca.redb.last-good");
        until(|| copy.exists().then_some(()), || sandbox.log());
        if is_replaced {
            let copy = sandbox.state().join("copy");
            std::fs::copy(&store, &copy).unwrap();
            std::fs::rename(&copy, &store).unwrap();
        } else {
            std::fs::remove_file(&store).unwrap();
        }
        wait_for_end(server);
        assert!(sandbox.log().contains("orca.redb was removed or replaced"), "{}", sandbox.log());
        let answer = sandbox.envelope(&["orchestration", "run-list"]);
        assert_ne!(sandbox.server_pid(), Some(server));
        // One that is gone is not taken for a new one: its copy is named.
        let code = &answer["error"]["code"];
        assert!(if is_replaced { answer["ok"] == true } else { code == "store_damaged" }, "{answer}");
    }
}

#[test]
fn a_removed_socket_is_made_again() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let server = sandbox.server_pid().unwrap();
    std::fs::remove_file(sandbox.state().join("server.sock")).unwrap();
    until(|| (sandbox.server_pid() == Some(server)).then_some(()), || sandbox.log());
}

/// A call that waits: it says on standard error that it does.
fn waiting(mut command: Command) -> Child {
    command.arg("--json").env("ORCA_KEEPALIVE_INTERVAL_MS", "50");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("_keepalive"), "{line}");
    child
}

#[test]
fn a_stop_is_heard_by_whoever_waits_and_nobody_starts_the_server_again() {
    let sandbox = Sandbox::new();
    let run = sandbox.ask(&["orchestration", "run-create", "--objective", "Wait"])["run"]["id"].clone();
    let check = ["orchestration", "check", "--wait", "--timeout-ms", "60000", "--retry-request", "wait-1"];
    let child = waiting(sandbox.command(&check));
    sandbox.ask(&["server", "stop", "--force"]);
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &answer["error"]["code"]), (Some(1), &"runtime_unavailable".into()));
    assert!(answer["error"]["message"].as_str().unwrap().contains("stopped"), "{answer}");
    let repeat = answer["error"]["data"]["nextSteps"][1].as_str().unwrap();
    assert!(repeat.contains("check --wait") && repeat.contains("--retry-request wait-1"), "{answer}");
    assert_eq!(sandbox.server_pid(), None, "nobody started it again");
    // The same request goes on waiting and gets what came meanwhile.
    let to = format!("run:{}", run.as_str().unwrap());
    sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", "Here"]);
    assert_eq!(sandbox.ask(&check)["messages"][0]["subject"], "Here");
}

#[test]
fn twenty_restarts_at_once_all_succeed() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let before = sandbox.server_pid().unwrap();
    let restarts: Vec<Child> = (0..20)
        .map(|_| {
            let mut command = sandbox.command(&["server", "restart", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for restart in restarts {
        let output = restart.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &answer["ok"]), (Some(0), &true.into()), "{output:?}");
        assert_ne!(answer["result"]["app"]["pid"], before, "it is the old server");
    }
    assert_eq!(sandbox.terminal(&terminal)["life"], "running");
}

#[test]
fn an_attempt_that_a_stop_ended_says_so() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "Stop"]);
    let start = ["orchestration", "worker-start", "--spec", "Work", "--agent", "quiet"];
    let task = sandbox.ask(&start)["taskId"].as_str().unwrap().to_owned();
    sandbox.ask(&["server", "stop", "--force"]);
    let shown = sandbox.ask(&["orchestration", "dispatch-show", "--task", &task]);
    assert_eq!(shown["dispatch"]["last_failure"], "its terminal was closed by orca server stop", "{shown}");
}
