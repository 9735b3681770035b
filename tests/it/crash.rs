//! The server is killed at each point of a worker's start, and every time the same end is reached.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use orca::server::fault::Point;
use serde_json::Value;

/// What must be the same whether or not a crash came in between.
#[derive(Debug, PartialEq, Eq)]
struct EndState {
    n_runs: usize,
    tasks: Vec<String>,
    n_trees: usize,
    n_live: usize,
    n_holders: usize,
}

fn count(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

/// A run, a task, and a worker in a worktree of its own.
fn scenario(sandbox: &Sandbox) -> EndState {
    let run = sandbox.ask(&["orchestration", "run-create", "--objective", "crash"]);
    let run = run["run"]["id"].as_str().unwrap().to_owned();
    let task = sandbox.ask(&["orchestration", "task-create", "--spec", "wait"]);
    let task = task["task"]["id"].as_str().unwrap().to_owned();
    let start = [
        "orchestration",
        "worker-start",
        "--task",
        &task,
        "--agent",
        "quiet",
        "--worktree",
        "new-top-level",
        "--name",
        "tree",
    ];
    let receipt = sandbox.ask(&start);
    assert_eq!(receipt["state"], "ready", "{receipt}\n{}", sandbox.log());
    let look = || {
        let tasks = sandbox.ask(&["orchestration", "task-list", "--run", &run]);
        let tasks = tasks["tasks"].as_array().unwrap().clone();
        let terminals = sandbox.ask(&["terminal", "list"])["terminals"].as_array().unwrap().clone();
        EndState {
            n_runs: count(&sandbox.ask(&["orchestration", "run-list"])["runs"]),
            tasks: tasks.iter().map(|task| format!("{} {}", task["status"], task["attempts"])).collect(),
            n_trees: walk(&sandbox.trees()),
            n_live: terminals.iter().filter(|terminal| terminal["connected"] == true).count(),
            n_holders: std::fs::read_dir(sandbox.state().join("h")).unwrap().count(),
        }
    };
    let expected = expected();
    until(|| (look() == expected).then_some(()), || format!("{:?}\n{}", look(), sandbox.log()));
    look()
}

fn expected() -> EndState {
    EndState { n_runs: 1, tasks: vec![String::from("\"dispatched\" 1")], n_trees: 1, n_live: 1, n_holders: 1 }
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

#[test]
fn a_crash_at_any_point_leads_to_the_same_end() {
    for point in Point::START {
        for n in 1..=3 {
            let sandbox = Sandbox::with_repo();
            sandbox.start_faulty(&format!("{}:{n}", point.name()));
            assert_eq!(scenario(&sandbox), expected(), "{}:{n}", point.name());
            // Every point is passed at least once, so the first try must have crashed.
            let n_starts = sandbox.log().matches(" starts in ").count();
            assert!(n_starts == 2 || (n > 1 && n_starts == 1), "{}:{n}\n{}", point.name(), sandbox.log());
        }
    }
}
