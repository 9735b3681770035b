//! A database that is not the one under which things were started: begun anew, gone back to its copy, or
//! another one. What runs is found and told of, and nothing good is overwritten.

use super::support::sandbox::{Sandbox, is_running};
use super::support::wait::until;
use orca::model::run::Run;
use orca::store::Store;
use serde_json::Value;

fn pid_of(sandbox: &Sandbox, terminal: &str) -> u32 {
    u32::try_from(sandbox.terminal(terminal)["pid"].as_u64().unwrap()).unwrap()
}

/// Waits for a copy that holds so many Runs.
fn wait_for_copy(sandbox: &Sandbox, n_runs: usize) {
    let copy = sandbox.state().join("orca.redb.last-good");
    let looked_at = sandbox.scratch().join("looked-at.redb");
    let n_kept = || {
        // Not the file itself: its server waits for whoever has it open.
        std::fs::copy(&copy, &looked_at).ok()?;
        Some(Store::open(&looked_at).ok()?.read().ok()?.all::<Run>(99).ok()?.len())
    };
    until(|| (n_kept() == Some(n_runs)).then_some(()), || sandbox.log());
}

fn mail(sandbox: &Sandbox) -> Value {
    sandbox.ask(&["orchestration", "inbox", "--terminal", "user"])["messages"].clone()
}

#[test]
fn terminals_that_a_new_database_does_not_know_are_taken_in_told_of_and_ended_when_asked() {
    let sandbox = Sandbox::new();
    let (terminal, other) = (sandbox.shell(), sandbox.shell());
    let pids = [pid_of(&sandbox, &terminal), pid_of(&sandbox, &other)];
    let key = sandbox.terminal(&terminal)["paneKey"].clone();
    sandbox.kill_server();
    for name in ["orca.redb", "orca.redb.last-good"] {
        drop(std::fs::remove_file(sandbox.state().join(name))); // the copy may not be made yet
    }
    sandbox.ask(&["server", "start"]);
    assert_eq!(sandbox.ask(&["terminal", "list"])["totalCount"], 2);
    let shown = sandbox.terminal(&terminal);
    assert_eq!((&shown["life"], &shown["paneKey"]), (&"running".into(), &key), "{shown}");
    assert_eq!(shown["pid"], pids[0]);
    let mail = mail(&sandbox);
    assert!(mail[0]["subject"].as_str().unwrap().starts_with("2 terminals found running"), "{mail}");
    assert!(mail[0]["body"].as_str().unwrap().contains(&terminal), "{mail}");
    // It is one like any other, and told of once.
    sandbox.type_line(&terminal, "echo st''ill");
    sandbox.wait_for_text(&terminal, "still");
    sandbox.ask(&["server", "restart"]);
    assert_eq!(self::mail(&sandbox).as_array().unwrap().len(), 1);
    assert!(pids.into_iter().all(is_running), "nothing was ended");
    assert_eq!(sandbox.ask(&["server", "stop", "--force"])["nEnded"], 2);
    assert!(!pids.into_iter().any(is_running));
}

#[test]
fn a_worker_that_the_copy_does_not_know_is_nobodys_attempt_and_its_report_is_refused_and_kept() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "back"]);
    sandbox.ask(&["server", "restart"]);
    wait_for_copy(&sandbox, 1);
    let start = ["orchestration", "worker-start", "--spec", "Work", "--agent", "quiet"];
    let receipt = sandbox.ask(&start);
    let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
    let (task, dispatch, handle) = (text("taskId"), text("dispatchId"), text("agentTerminalHandle"));
    let pid = pid_of(&sandbox, &handle);
    sandbox.kill_server();
    let state = sandbox.state();
    std::fs::copy(state.join("orca.redb.last-good"), state.join("orca.redb")).unwrap();
    let shown = sandbox.terminal(&handle);
    assert_eq!((&shown["life"], &shown["pid"]), (&"running".into(), &pid.into()), "{shown}");
    assert_eq!(shown["agent"], "quiet", "{shown}");
    assert_eq!(sandbox.ask(&["orchestration", "worker-list"])["workers"], serde_json::json!([]));
    let report = |proof: &[&str]| {
        let words = ["orchestration", "send", "--type", "worker_done", "--outcome", "succeeded"];
        let ids = ["--subject", "Done", "--task-id", &task, "--dispatch-id", &dispatch];
        let words = [&words[..], &ids, &["--from", &handle, "--json"], proof].concat();
        let output = sandbox.command(&words).env("ORCA_TERMINAL_HANDLE", &handle).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["result"]["lifecycle"].clone()
    };
    for (proof, code) in [(&[][..], "unknown_task"), (&["--proof", "0123456789ab"], "sender_not_assignee")] {
        let lifecycle = report(proof);
        assert_eq!((&lifecycle["action"], &lifecycle["code"]), (&"rejected".into(), &code.into()));
        let mail = sandbox.ask(&["orchestration", "inbox"]).to_string();
        assert!(mail.contains(&format!("Refused report ({code}): Done")), "{mail}");
    }
    assert_eq!(sandbox.ask(&["server", "stop", "--force"])["nEnded"], 1);
    assert!(!is_running(pid));
}

#[test]
fn an_empty_database_in_its_place_does_not_cost_the_good_copy() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["orchestration", "run-create", "--objective", "kept"]);
    sandbox.ask(&["server", "restart"]);
    wait_for_copy(&sandbox, 1);
    sandbox.ask(&["server", "stop", "--force"]);
    let (state, empty) = (sandbox.state(), sandbox.scratch().join("empty.redb"));
    drop(Store::open(&empty).unwrap());
    std::fs::copy(&empty, state.join("orca.redb")).unwrap();
    sandbox.ask(&["server", "start"]);
    wait_for_copy(&sandbox, 0);
    until(|| (mail(&sandbox) != serde_json::json!([])).then_some(()), || sandbox.log());
    let told = mail(&sandbox)[0]["body"].as_str().unwrap().to_owned();
    // What was told does it, while a server runs.
    let step = told.lines().find(|line| line.contains("cp -p")).unwrap().trim();
    let folder = super::support::sandbox::orca().parent().unwrap().display();
    let output = sandbox.shell_command(&format!("PATH={folder}:$PATH; {step}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let runs = sandbox.ask(&["orchestration", "run-list"])["runs"].clone();
    assert_eq!(runs[0]["objective"], "kept", "{runs}");
}

#[test]
fn a_database_that_was_scrambled_under_its_server_is_called_damaged_at_the_first_start() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    sandbox.kill_server();
    sandbox.ask(&["server", "start"]);
    wait_for_copy(&sandbox, 0);
    // Every page with the terminal in it: a release build looks at none of them when it opens the database.
    let path = sandbox.state().join("orca.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    let has_it = |page: &&mut [u8]| page.windows(terminal.len()).any(|text| text == terminal.as_bytes());
    for page in bytes.chunks_mut(4_096).filter(has_it) {
        page.fill(0x81);
    }
    // In place: the server goes on with the same file.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    let answer = sandbox.envelope(&["server", "restart"]);
    assert_eq!(answer["error"]["code"], "store_damaged", "{answer}\n{}", sandbox.log());
    assert!(answer["error"]["data"]["nextSteps"][0].as_str().unwrap().contains("last-good"), "{answer}");
    let status = sandbox.ask(&["status"]);
    assert_eq!(status["startFailure"]["code"], "store_damaged", "{status}");
    let pid = sandbox.ask(&["server", "stop", "--force"])["nEnded"].clone();
    assert_eq!(pid, 1, "{terminal} is ended without its database");
}
