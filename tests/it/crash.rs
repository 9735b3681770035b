//! The server dies at each point of a team's work, and every time the same end is reached: in process
//! at every step, and with the real program killed at each point where a commit, an effect or its
//! outcome can be torn apart.
//!
//! `ORCA_EVERY_CRASH=1 cargo test --test it crash` kills the real one at every passing of every point.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use orca::server::fault::Point;
use serde_json::Value;

mod steps;

/// What must be the same whether or not a crash came in between.
#[derive(Debug, PartialEq, Eq)]
struct EndState {
    tasks: Vec<String>,
    /// Messages of the Run, in order: type, and whether it was read.
    mail: Vec<String>,
    answer: String,
    gates: Vec<String>,
    /// Attempts: state of the worker and of its terminal.
    workers: Vec<String>,
    n_runs: usize,
    n_trees: usize,
    n_holders: usize,
}

fn expected() -> EndState {
    let words = |words: &[&str]| words.iter().map(|word| String::from(*word)).collect();
    EndState {
        tasks: words(&["completed 1", "blocked 1"]),
        mail: words(&["question true", "worker_done true"]),
        answer: String::from("left"),
        gates: words(&["resolved go"]),
        workers: words(&["stopped retained", "succeeded released"]),
        n_runs: 1,
        n_trees: 1,
        n_holders: 0,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn rows<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// A worker in a worktree of its own asks, is answered, reports and is released; a gate is decided; a
/// second worker is stopped.
fn scenario(sandbox: &Sandbox) -> EndState {
    let run = text(&orchestrate(sandbox, &["run-create", "--objective", "crash"])["run"]["id"]);
    let first = text(&orchestrate(sandbox, &["task-create", "--spec", "wait"])["task"]["id"]);
    let second = text(&orchestrate(sandbox, &["task-create", "--spec", "stop"])["task"]["id"]);
    let place = ["--worktree", "new-top-level", "--name", "tree"];
    let receipt = start(sandbox, &first, &place);
    let (dispatch, handle) = (text(&receipt["dispatchId"]), text(&receipt["agentTerminalHandle"]));
    let ask = as_worker(sandbox, &handle, &["ask", "--question", "which", "--timeout-ms", "1"]);
    let question = text(&ask["messageId"]);
    orchestrate(sandbox, &["reply", "--id", &question, "--body", "left"]);
    let resume = ["ask", "--resume", &question, "--timeout-ms", "60000"];
    let answer = text(&as_worker(sandbox, &handle, &resume)["answer"]);
    let done = ["send", "--type", "worker_done", "--subject", "done", "--outcome", "succeeded"];
    let ids = ["--task-id", &first, "--dispatch-id", &dispatch];
    as_worker(sandbox, &handle, &[&done[..], &ids[..]].concat());
    let delivery = text(&orchestrate(sandbox, &["check"])["deliveryId"]);
    orchestrate(sandbox, &["check", "--ack", &delivery, "--peek"]);
    orchestrate(sandbox, &["worker-release", "--dispatch", &dispatch]);
    let gate = orchestrate(sandbox, &["gate-create", "--task", &second, "--question", "go?"]);
    let gate = text(&gate["gate"]["id"]);
    orchestrate(sandbox, &["gate-resolve", "--id", &gate, "--resolution", "go"]);
    let receipt = start(sandbox, &second, &[]);
    orchestrate(sandbox, &["worker-stop", "--dispatch", &text(&receipt["dispatchId"])]);
    let look = || end_state(sandbox, &run, &answer);
    until(|| (look() == expected()).then_some(()), || format!("{:#?}\n{}", look(), sandbox.log()));
    look()
}

fn start(sandbox: &Sandbox, task: &str, place: &[&str]) -> Value {
    let words = ["worker-start", "--task", task, "--agent", "quiet"];
    let receipt = orchestrate(sandbox, &[&words[..], place].concat());
    assert_eq!(receipt["state"], "ready", "{receipt}\n{}", sandbox.log());
    receipt
}

fn orchestrate(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.ask(&[&["orchestration"], words].concat())
}

/// A command from inside a worker's terminal; `ask` prints its answer bare.
fn as_worker(sandbox: &Sandbox, handle: &str, words: &[&str]) -> Value {
    let words = [&["orchestration"], words, &["--json"]].concat();
    let output = sandbox.command(&words).env("ORCA_TERMINAL_HANDLE", handle).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}\n{}", sandbox.log()))
}

fn end_state(sandbox: &Sandbox, run: &str, answer: &str) -> EndState {
    let tasks = orchestrate(sandbox, &["task-list", "--run", run]);
    let mail = orchestrate(sandbox, &["check", "--run", run, "--all"]);
    let gates = orchestrate(sandbox, &["gate-list", "--run", run]);
    let workers = orchestrate(sandbox, &["worker-list", "--run", run]);
    let two = |row: &Value, one: &str, other: &str| {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{} {}", plain(&row[one]), plain(&row[other]))
    };
    let mut mail: Vec<String> = rows(&mail, "messages").iter().map(|row| two(row, "type", "read")).collect();
    mail.reverse();
    EndState {
        tasks: rows(&tasks, "tasks").iter().map(|row| two(row, "status", "attempts")).collect(),
        mail,
        answer: answer.to_owned(),
        gates: rows(&gates, "gates").iter().map(|row| two(row, "status", "resolution")).collect(),
        workers: rows(&workers, "workers")
            .iter()
            .map(|row| two(row, "workerState", "terminalState"))
            .collect(),
        n_runs: rows(&orchestrate(sandbox, &["run-list"]), "runs").len(),
        n_trees: walk(&sandbox.trees()),
        n_holders: std::fs::read_dir(sandbox.state().join("h")).unwrap().count(),
    }
}

/// The checkouts below `dir`.
fn walk(dir: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let dirs = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    dirs.map(|path| if path.join(".git").exists() { 1 } else { walk(&path) }).sum()
}

#[test]
fn without_a_crash() {
    assert_eq!(scenario(&Sandbox::with_repo()), expected());
}

/// Which passings of a point are tried; the tries of a point end with the first that never came.
fn passings() -> Vec<u32> {
    match std::env::var_os("ORCA_EVERY_CRASH") {
        Some(_) => (1..=100).collect(),
        None => vec![1, 3, 8, 14],
    }
}

#[test]
fn a_crash_at_any_point_leads_to_the_same_end() {
    for point in Point::START {
        for n in passings() {
            let sandbox = Sandbox::with_repo();
            println!("{}:{n}", point.name());
            sandbox.start_faulty(&format!("{}:{n}", point.name()));
            assert_eq!(scenario(&sandbox), expected(), "{}:{n}", point.name());
            // Every point is passed at least once, so the first try must have crashed.
            let n_starts = sandbox.log().matches(" starts in ").count();
            assert!(n_starts == 2 || (n > 1 && n_starts == 1), "{}:{n}\n{}", point.name(), sandbox.log());
            if n_starts == 1 {
                break;
            }
        }
    }
}
