//! What agents are told to run, run as it stands: each command of a brief, and the whole loop against the
//! real program by a worker that knows only its brief.

use super::support::sandbox::Sandbox;
use super::support::wait::until;
use super::support::words::words;
use super::support::world::World;
use serde_json::Value;

/// The commands of a brief, without what it is to be filled in with.
fn commands(brief: &str) -> Vec<String> {
    let (before_task, _) = brief.split_once("----- TASK -----").unwrap();
    let lines = before_task.lines().filter(|line| line.contains(" orchestration "));
    lines.map(|line| line.replacen("/bin/orca", "orca", 1)).collect()
}

#[test]
fn every_command_of_a_brief_is_taken_as_it_stands() {
    let mut world = World::new();
    let run = |world: &mut World, line: &str| world.run(&words(line));
    run(&mut world, "orca orchestration run-create --objective Brief");
    run(&mut world, "orca orchestration task-create --spec Work");
    world.terminal("term_w");
    world.attempt("task_000000000002", "term_w", true);
    let brief =
        run(&mut world, "orca orchestration dispatch-show --task task_000000000002 --preamble").stdout;
    let mut commands = commands(&brief);
    assert_eq!(commands.len(), 5, "{brief}");
    // What ends the work comes first in the brief.
    commands.rotate_left(1);
    for line in commands {
        // From wherever the agent's tools run.
        let printed = run(&mut world, &line);
        let is_done = printed.code == 0 || format!("{printed:?}").contains("waits");
        assert!(is_done, "{line}\n{printed:?}");
    }
    let tasks = run(&mut world, "orca orchestration task-list --run run_000000000001").stdout;
    assert!(tasks.contains("= task_000000000002"), "{tasks}");
}

#[test]
fn a_worker_that_may_start_workers_can_follow_its_brief() {
    let mut world = World::new();
    world.rules.max_depth = 2;
    let run = |world: &mut World, line: &str| world.run(&words(line));
    run(&mut world, "orca orchestration run-create --objective Brief");
    run(&mut world, "orca orchestration task-create --spec Work");
    world.terminal("term_w");
    world.attempt("task_000000000002", "term_w", true);
    let brief = "orca orchestration dispatch-show --task task_000000000002 --preamble";
    let brief = run(&mut world, brief).stdout;
    let (before_task, _) = brief.split_once("----- TASK -----").unwrap();
    let read = before_task.lines().find(|line| line.contains(" skills get ")).unwrap();
    let guide = run(&mut world, &read.replacen("/bin/orca", "orca", 1));
    assert_eq!(guide.code, 0, "{guide:?}");
    let (_, flags) = before_task.rsplit_once("Add ").unwrap();
    let (from, rest) = flags.split_once(" (check: ").unwrap();
    let (check, rest) = rest.split_once("); ").unwrap();
    let (agent, _) = rest.split_once(" works here").unwrap();
    // The flags go with the verbs of the guide, from wherever the agent's tools run.
    let made = run(&mut world, &format!("orca orchestration run-create --objective Parts {from} --json"));
    assert_eq!(made.code, 0, "{made:?}");
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let id = made["result"]["run"]["id"].as_str().unwrap();
    let check = check.replace("RUN_ID", id);
    for line in [
        format!("task-create --spec Part {from}"),
        format!("worker-start --spec Other {agent} {from}"),
        format!("check {check} --wait --types worker_done,escalation,question"),
    ] {
        assert!(guide.stdout.contains(line.split(' ').next().unwrap()), "{line}");
        let printed = run(&mut world, &format!("orca orchestration {line}"));
        let is_done = printed.code == 0 || format!("{printed:?}").contains("waits");
        assert!(is_done, "{line}\n{printed:?}");
    }
    let owner = run(&mut world, &format!("orca orchestration run-show --id {id}")).stdout;
    assert!(owner.contains("term_w"), "{owner}");
    // All that any brief has stands in this one too.
    for line in commands(&brief).into_iter().filter(|line| !line.contains("worker_done")) {
        let printed = run(&mut world, &line);
        assert!(printed.code == 0 || format!("{printed:?}").contains("waits"), "{line}\n{printed:?}");
    }
}

/// An agent that does what its brief says, with the commands as they stand in it.
const OBEDIENT: &str = r#"
line() { printf '%s\n' "$1" | grep " orchestration.*$2" | head -n 1; }
eval "$(line "$1" 'type heartbeat')"
answer=$(eval "$(line "$1" 'ask --from' | sed 's/QUESTION/Which way?/; s/"A,B"/"left,right"/')")
eval "$(line "$1" 'check --terminal')"
eval "$(line "$1" 'type worker_done' | sed "s/RESULT/Went $answer/; s/DONE. FOUND. REMAINING./Went there. Nothing. Nothing./")"
read rest
"#;

/// A coordinating agent in a pane that knows contract 2 and 11.4.
struct Coordinator {
    sandbox: Sandbox,
    handle: String,
    acked: Option<String>,
    reports: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Coordinator {
    fn new() -> Self {
        let sandbox = Sandbox::with_repo();
        let script = sandbox.scratch().join("obedient.sh");
        std::fs::write(&script, OBEDIENT).unwrap();
        let command = serde_json::to_string(&["sh", script.to_str().unwrap()]).unwrap();
        sandbox.set_agent("obedient", &format!("command = {command}\nprompt = \"argument\"\n"));
        let handle = sandbox.shell();
        Self { sandbox, handle, acked: None, reports: Vec::new() }
    }

    fn run(&self, words: &[&str]) -> Value {
        let mut command = self.sandbox.command(&[&["orchestration"], words, &["--json"]].concat());
        let output = command.env("ORCA_TERMINAL_HANDLE", &self.handle).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(answer["ok"], true, "{words:?}: {answer}\n{}", self.sandbox.log());
        answer["result"].clone()
    }

    fn start(&self, words: &[&str]) -> String {
        let receipt = self.run(&[&["worker-start"], words].concat());
        assert_eq!(receipt["state"], "ready", "{receipt}\n{}", self.sandbox.log());
        text(&receipt["dispatchId"])
    }

    /// Acknowledges the last batch, waits for the next one and handles every message in it.
    fn turn(&mut self) {
        let wait = ["--wait", "--types", "worker_done,escalation,question", "--timeout-ms", "60000"];
        let ack = self.acked.take();
        let ack = ack.iter().flat_map(|id| ["--ack", id]).collect::<Vec<_>>();
        let batch = self.run(&[&["check"], &ack[..], &wait].concat());
        assert_eq!(batch["timedOut"], false, "{batch}\n{}", self.sandbox.log());
        for message in batch["messages"].as_array().unwrap() {
            match message["type"].as_str().unwrap() {
                "question" => {
                    assert_eq!(message["payload"]["options"], serde_json::json!(["left", "right"]));
                    self.run(&["reply", "--id", message["id"].as_str().unwrap(), "--body", "left"]);
                }
                "worker_done" => {
                    let dispatch = text(&message["payload"]["dispatchId"]);
                    let released = self.run(&["worker-release", "--dispatch", &dispatch]);
                    assert_eq!(released["state"], "released", "{released}");
                    self.reports.push(text(&message["subject"]));
                }
                "heartbeat" => assert_eq!(message["payload"]["phase"], "implementing", "{message}"),
                _ => panic!("{message}\n{}", self.sandbox.log()),
            }
        }
        self.acked = Some(text(&batch["deliveryId"]));
    }
}

#[test]
fn who_knows_only_the_contract_can_run_its_loop() {
    let mut team = Coordinator::new();
    team.run(&["run-create", "--objective", "Find the way"]);
    let first =
        text(&team.run(&["task-create", "--spec", "Go ahead", "--task-title", "Ahead"])["task"]["id"]);
    let deps = serde_json::to_string(&[&first]).unwrap();
    let last =
        text(&team.run(&["task-create", "--spec", "Go on", "--deps", &deps, "--no-fleet"])["task"]["id"]);
    let place = ["--worktree", "new-child", "--name", "ahead", "--setup", "skip", "--agent", "obedient"];
    team.start(&[&["--task", &first], &place[..]].concat());
    team.start(&["--spec", "Go beside", "--deps", "[]", "--worktree", "current", "--agent", "obedient"]);
    while team.reports.len() < 2 {
        team.turn();
    }
    // The plan is recovered from the tasks that are ready.
    let ready = team.run(&["task-list", "--ready", "--brief"]);
    assert_eq!((&ready["count"], &ready["tasks"][0]["id"]), (&Value::from(1), &Value::from(last.as_str())));
    let options = r#"["yes","no"]"#;
    let gate = team.run(&["gate-create", "--task", &last, "--question", "Go on?", "--options", options]);
    team.run(&["gate-resolve", "--id", &text(&gate["gate"]["id"]), "--resolution", "yes"]);
    team.start(&["--task", &last, "--agent", "obedient", "--timeout-ms", "60000"]);
    while team.reports.len() < 3 {
        team.turn();
    }
    assert_eq!(team.reports, ["Went left"; 3]);
    let tasks = team.run(&["task-list"]);
    let states: Vec<&Value> = tasks["tasks"].as_array().unwrap().iter().map(|task| &task["status"]).collect();
    assert_eq!(states, ["completed"; 3]);
    let released = team.run(&["worker-list", "--terminal-state", "released", "--include-remote"]);
    assert_eq!(released["page"]["total"], 3, "{released}");
    // Nothing is left of the workers, and nobody else was touched.
    let live = || team.sandbox.ask(&["terminal", "list"])["terminals"].as_array().unwrap().clone();
    let running = || live().iter().filter(|one| one["connected"] == true).count();
    until(|| (running() == 1).then_some(()), || format!("{:#?}", live()));
}
