//! Many processes of the real program at the same moment: one winner, and everybody else is told who.

use crate::support::sandbox::{Sandbox, orca};
use crate::support::wait::until;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Child, Stdio};

/// How many do the same at once.
const N_RIVALS: usize = 20;

/// Starts this program once for each list of words, held back by a shell until all are there, and gives
/// their envelopes.
fn at_once(sandbox: &Sandbox, rivals: &[Vec<String>]) -> Vec<Value> {
    let held = |words: &Vec<String>| -> Child {
        let mut command = sandbox.shell_command("read go; exec \"$0\" \"$@\" --json");
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut children: Vec<Child> = rivals.iter().map(held).collect();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let envelope = |child: Child| {
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    children.into_iter().map(envelope).collect()
}

/// The one that won, and the errors of the others.
fn one_winner(sandbox: &Sandbox, rivals: &[Vec<String>]) -> (Value, Vec<Value>) {
    let (won, lost): (Vec<_>, Vec<_>) =
        at_once(sandbox, rivals).into_iter().partition(|envelope| envelope["ok"] == true);
    assert_eq!(won.len(), 1, "{won:#?}\n{lost:#?}\n{}", sandbox.log());
    let errors = lost.into_iter().map(|envelope| envelope["error"].clone()).collect();
    (won[0]["result"].clone(), errors)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| String::from(*word)).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn task(sandbox: &Sandbox) -> String {
    text(&sandbox.ask(&["orchestration", "task-create", "--spec", "race"])["task"]["id"])
}

#[test]
fn one_of_twenty_starts_wins_and_the_others_name_it() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "race"]);
    let task = task(&sandbox);
    let start = words(&["orchestration", "worker-start", "--task", &task, "--agent", "quiet"]);
    let (receipt, errors) = one_winner(&sandbox, &vec![start; N_RIVALS]);
    assert_eq!(receipt["state"], "ready", "{receipt}");
    for error in &errors {
        assert_eq!(error["code"], "task_not_startable", "{error}");
        assert_eq!(error["data"]["dispatchId"], receipt["dispatchId"], "{error}");
        assert!(error["data"]["nextSteps"][0].is_string(), "{error}");
    }
    let live = sandbox.ask(&["terminal", "list"])["terminals"].as_array().unwrap().len();
    assert_eq!(live, 1);
}

#[test]
fn those_who_repeat_one_start_get_its_one_receipt() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "race"]);
    let task = task(&sandbox);
    let start = ["orchestration", "worker-start", "--task", &task, "--agent", "quiet"];
    let start = words(&[&start[..], &["--retry-request", "start-1"]].concat());
    let answers = at_once(&sandbox, &vec![start; N_RIVALS]);
    let receipts: Vec<&Value> = answers.iter().map(|answer| &answer["result"]).collect();
    assert!(
        receipts.iter().all(|receipt| receipt["dispatchId"] == receipts[0]["dispatchId"]),
        "{answers:#?}"
    );
    let n_own = receipts.iter().filter(|receipt| receipt["mutation"]["replayed"] == false).count();
    assert_eq!((receipts.len(), n_own), (N_RIVALS, 1), "{answers:#?}");
}

#[test]
fn one_of_twenty_answers_wins_and_the_others_name_who_gave_it() {
    let sandbox = Sandbox::with_repo();
    let program = Value::from(orca().to_str().unwrap());
    let script = "\"$0 orchestration ask --question which --timeout-ms 1; read x\"";
    let preset = format!("command = [\"sh\", \"-c\", {script}, {program}]\nprompt = \"none\"\n");
    sandbox.set_agent("asker", &preset);
    sandbox.ask(&["orchestration", "run-create", "--objective", "race"]);
    let task = task(&sandbox);
    sandbox.ask(&["orchestration", "worker-start", "--task", &task, "--agent", "asker"]);
    let question = until(
        || {
            let mail = sandbox.ask(&["orchestration", "check", "--peek", "--types", "question"]);
            mail["messages"][0]["id"].as_str().map(str::to_owned)
        },
        || sandbox.log(),
    );
    let answer =
        |n: usize| words(&["orchestration", "reply", "--id", &question, "--body", &format!("answer {n}")]);
    let (won, errors) = one_winner(&sandbox, &(0..N_RIVALS).map(answer).collect::<Vec<_>>());
    for error in &errors {
        assert_eq!(error["code"], "answer_conflict", "{error}");
        assert_eq!(error["data"]["answer"], won["question"]["answer_body"], "{error}");
        assert_eq!(error["data"]["answeredBy"], "user", "{error}");
    }
}

#[test]
fn one_of_twenty_decisions_wins_and_the_others_name_it() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["orchestration", "run-create", "--objective", "race"]);
    let task = task(&sandbox);
    let gate = sandbox.ask(&["orchestration", "gate-create", "--task", &task, "--question", "which"]);
    let gate = text(&gate["gate"]["id"]);
    let decide = |n: usize| {
        words(&["orchestration", "gate-resolve", "--id", &gate, "--resolution", &format!("way {n}")])
    };
    let (won, errors) = one_winner(&sandbox, &(0..N_RIVALS).map(decide).collect::<Vec<_>>());
    for error in &errors {
        assert_eq!(error["code"], "gate_conflict", "{error}");
        assert_eq!(error["data"]["resolution"], won["gate"]["resolution"], "{error}");
        assert_eq!(error["data"]["resolvedBy"], "user", "{error}");
    }
}

#[test]
fn rivals_for_one_name_get_a_worktree_each() {
    let sandbox = Sandbox::with_repo();
    let create = words(&["worktree", "create", "--name", "same", "--no-parent"]);
    let made = at_once(&sandbox, &vec![create; 8]);
    let path = |envelope: &Value| text(&envelope["result"]["worktree"]["path"]);
    let paths: std::collections::BTreeSet<String> = made.iter().map(path).collect();
    assert_eq!(paths.len(), 8, "{paths:?}");
    let notes = || {
        let names = std::fs::read_dir(sandbox.state().join("terminals")).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "json")).count()
    };
    until(|| (notes() == 0).then_some(()), || format!("{} notes stay", notes()));
}

#[test]
fn ten_senders_lose_nothing_and_keep_their_order() {
    const N_SENDERS: usize = 10;
    const N_EACH: usize = 100;
    let sandbox = Sandbox::new();
    let run = text(&sandbox.ask(&["orchestration", "run-create", "--objective", "race"])["run"]["id"]);
    let script = "n=0; while [ $n -lt $2 ]; do \"$0\" orchestration send --subject \"$1 $n\" >/dev/null || exit; n=$((n + 1)); done";
    let sender = |who: usize| {
        let mut command = sandbox.shell_command(script);
        command.args([who.to_string(), N_EACH.to_string()]).spawn().unwrap()
    };
    for mut child in (0..N_SENDERS).map(sender).collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success(), "{}", sandbox.log());
    }
    let mut taken = vec![0; N_SENDERS];
    let mut ack: Option<String> = None;
    loop {
        let mut check = vec!["orchestration", "check", "--run", &run];
        check.extend(ack.iter().flat_map(|ack| ["--ack", ack.as_str()]));
        let batch = sandbox.ask(&check);
        for message in batch["messages"].as_array().unwrap() {
            let subject = text(&message["subject"]);
            let (who, n) = subject.split_once(' ').unwrap();
            let next: &mut usize = &mut taken[who.parse::<usize>().unwrap()];
            assert_eq!(n.parse::<usize>().unwrap(), *next, "{subject}");
            *next += 1;
        }
        match batch["deliveryId"].as_str() {
            Some(delivery) => ack = Some(delivery.to_owned()),
            None => break,
        }
    }
    assert_eq!(taken, vec![N_EACH; N_SENDERS]);
}

#[test]
fn a_stop_in_the_middle_of_a_start_leaves_no_agent_behind() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "race"]);
    for _ in 0..3 {
        let task = task(&sandbox);
        let mut start = sandbox
            .command(&["orchestration", "worker-start", "--task", &task, "--agent", "quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let dispatch = until(
            || {
                let shown = sandbox.ask(&["orchestration", "dispatch-show", "--task", &task]);
                shown["dispatch"]["id"].as_str().map(str::to_owned)
            },
            || sandbox.log(),
        );
        let stopped = sandbox.ask(&["orchestration", "worker-stop", "--dispatch", &dispatch]);
        assert_eq!(stopped["state"], "stopped", "{stopped}");
        start.wait().unwrap();
    }
    let holders = || std::fs::read_dir(sandbox.state().join("h")).unwrap().count();
    until(|| (holders() == 0).then_some(()), || format!("{} holders\n{}", holders(), sandbox.log()));
}
