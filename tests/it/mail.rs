//! What a transcript cannot say about mail: sizes, hostile text, files, one waiter, keepalive lines.

use crate::support::words::words;
use crate::support::world::World;
use orca::base::clock::Timestamp;
use orca::base::id::{RunId, TerminalId};
use orca::cli::out::Out;
use orca::cli::tone::Tints;
use orca::cli::transport::Transport;
use orca::cli::verb::Session;
use orca::client::Unanswered;
use orca::model::dispatch::Dispatch;
use orca::model::question::Question;
use orca::model::run::Run;
use orca::model::task::Task;
use orca::ops::cx::{CallerFacts, Wake};
use orca::proto::envelope::{Origin, Request, Response};
use orca::proto::error::ErrorBody;
use orca::store::rows::Row;
use serde_json::{Value, json};

const RUN: &str = "run_000000000001";

/// A Run of the person, a task in it, and a worker at it in `term_a`.
fn team() -> (World, String) {
    let mut world = World::new();
    world.terminal("term_a");
    ask(&mut world, None, "runCreate", json!({"objective": "Ship it"})).unwrap();
    let task = ask(&mut world, None, "taskCreate", json!({"spec": "First"})).unwrap();
    let task = task["task"]["id"].as_str().unwrap().to_owned();
    let dispatch = world.attempt(&task, "term_a", true).to_string();
    (world, dispatch)
}

/// One call as it comes over the wire, with a request id of its own.
fn ask(world: &mut World, sender: Option<&str>, method: &str, params: Value) -> Result<Value, ErrorBody> {
    let id = format!("it-{}", world.events.len());
    let request = Request {
        id: id.clone(),
        method: format!("orchestration.{method}"),
        params,
        request_id: Some(id),
        origin: Origin { env_handle: sender.map(str::to_owned), ..Origin::default() },
        contract: orca::proto::envelope::CONTRACT_VERSION,
        version: String::from("test"),
    };
    let response = world.call(request, &mut |_| {}).unwrap();
    match response.error {
        Some(error) => Err(error),
        None => Ok(response.result.unwrap()),
    }
}

fn send(world: &mut World, to: &str, subject: &str, body: &str) -> Result<Value, ErrorBody> {
    ask(world, None, "send", json!({"to": to, "subject": subject, "body": body}))
}

#[test]
fn every_command_of_a_brief_works_as_it_stands() {
    let (mut world, dispatch) = team();
    let shown = ask(&mut world, None, "workerShow", json!({"dispatch": dispatch})).unwrap();
    let task = shown["dispatch"]["task_id"].as_str().unwrap();
    let printed = world.run(&words(&format!("orca orchestration dispatch-show --task {task} --preamble")));
    let is_command = |line: &&str| line.starts_with("/bin/orca ");
    let mut lines: Vec<&str> = printed.stdout.lines().filter(is_command).collect();
    assert_eq!(lines.len(), 5, "{}", printed.stdout);
    // The report ends the attempt, so it goes last.
    lines.rotate_left(1);
    for line in lines {
        let printed = world.run(&words(&line.replacen("/bin/orca", "orca", 1)));
        let is_waiting = line.contains(" ask ") && printed.stderr.contains("waits");
        assert!(printed.code == 0 || is_waiting, "{line}\n{printed:?}");
    }
    assert_eq!(
        ask(&mut world, None, "workerShow", json!({"dispatch": dispatch})).unwrap()["worker"]["state"],
        "succeeded"
    );
}

fn ids(reply: &Value) -> Vec<&str> {
    reply["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap()).collect()
}

#[test]
fn a_batch_holds_the_oldest_fifty_and_says_how_many_wait_behind_it() {
    let (mut world, _) = team();
    let to = own_run(&world);
    for n in 1..=52 {
        send(&mut world, &to, &format!("n {n}"), "").unwrap();
    }
    let first = ask(&mut world, None, "check", json!({})).unwrap();
    assert_eq!((first["count"].clone(), first["newerWaiting"].clone()), (json!(50), json!(2)));
    assert_eq!(first["messages"][0]["subject"], "n 1");
    assert_eq!(first["messages"][49]["subject"], "n 50");
    let second = ask(&mut world, None, "check", json!({"ack": first["deliveryId"]})).unwrap();
    assert_eq!(second["count"], 2);
    assert_eq!(second["messages"][1]["subject"], "n 52");
}

fn stored<T: Row>(world: &World, id: &str) -> T {
    world.store.read().unwrap().get(id).unwrap().unwrap()
}

fn own_run(world: &World) -> String {
    let run = world.store.read().unwrap().list_newest::<Run>("all", "", 1).unwrap();
    format!("run:{}", run[0].id)
}

#[test]
fn a_body_of_one_mebibyte_is_kept_and_a_longer_one_is_refused() {
    let (mut world, _) = team();
    let to = own_run(&world);
    let body = "x".repeat(1 << 20);
    for n in 0..5 {
        send(&mut world, &to, &format!("big {n}"), &body).unwrap();
    }
    let refused = send(&mut world, &to, "too big", &format!("{body}x")).unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_argument");
    // A frame holds 16 MiB and escaping may double a text: no reply holds more than 4 MiB of it.
    for (method, params) in [("check", json!({"mode": "all"})), ("inbox", json!({"isFull": true}))] {
        let look = ask(&mut world, None, method, params).unwrap();
        assert_eq!(ids(&look).len(), 3, "{method}");
    }
    let first = ask(&mut world, None, "check", json!({})).unwrap();
    assert_eq!((ids(&first).len(), first["newerWaiting"].clone()), (3, json!(2)));
    assert_eq!(first["messages"][0]["body"].as_str().unwrap().len(), body.len());
    let second = ask(&mut world, None, "check", json!({"ack": first["deliveryId"]})).unwrap();
    assert_eq!(second["messages"][1]["subject"], "big 4");
}

#[test]
fn no_field_keeps_control_characters() {
    let (mut world, dispatch) = team();
    let nasty = "a\u{1b}[2J\u{0}b\u{202e}c\u{9b}31m\u{7}";
    let sent = ask(
        &mut world,
        Some("term_a"),
        "send",
        json!({
            "to": "user", "subject": format!("{nasty}\nsecond line"), "body": format!("{nasty}\r\nnext"),
            "payload": {nasty: [nasty, {"deep": nasty}]},
        }),
    )
    .unwrap();
    let message = &sent["message"];
    assert_eq!(message["subject"], "a[2Jbc31m second line");
    assert_eq!(message["body"], "a[2Jbc31m\nnext");
    assert_eq!(message["payload"], json!({"a[2Jbc31m": ["a[2Jbc31m", {"deep": "a[2Jbc31m"}]}));

    for (method, params) in [
        ("send", json!({"to": nasty, "subject": "x"})),
        ("send", json!({"run": nasty, "subject": "x"})),
        ("send", json!({"from": nasty, "to": "user", "subject": "x"})),
        ("send", json!({"type": nasty, "to": "user", "subject": "x"})),
        ("send", json!({"to": "user", "subject": "x", "threadId": nasty})),
        ("send", json!({"to": "user", "subject": "x", "proof": nasty})),
        ("send", json!({"to": "user", "subject": nasty.replace(char::is_alphanumeric, "").replace('[', "")})),
        ("check", json!({"ack": nasty, "run": own_run(&world).replace("run:", "")})),
        ("check", json!({"terminal": nasty})),
        ("check", json!({"types": [nasty]})),
        ("check", json!({"mode": nasty})),
        ("reply", json!({"id": nasty, "body": "x"})),
        ("ask", json!({"resume": nasty, "from": "term_a"})),
        ("ask", json!({"question": "\u{0}\u{7}", "from": "term_a"})),
        ("ask", json!({"question": "x", "to": nasty, "from": "term_a"})),
    ] {
        let refused = ask(&mut world, None, method, params.clone()).unwrap_err();
        let shown = refused.message.clone() + &refused.next_steps().join("\n");
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{method} {params}: {shown:?}");
    }
    let phase =
        json!({"type": "heartbeat", "subject": "x", "payload": {"dispatchId": dispatch, "phase": nasty}});
    ask(&mut world, Some("term_a"), "send", phase).unwrap();
    assert_eq!(stored::<Dispatch>(&world, &dispatch).last_phase.as_deref(), Some("a[2Jbc31m"));
}

#[test]
fn reported_files_that_are_not_there_are_named() {
    let (mut world, dispatch) = team();
    world.living.missing = vec![String::from("out  file.md")];
    let task = stored::<Dispatch>(&world, &dispatch).task_id;
    let report = json!({"type": "worker_done", "subject": "Done", "payload": {
        "taskId": task, "dispatchId": dispatch, "outcome": "succeeded",
        "filesModified": ["src/a.rs", "out  file.md", 7],
    }});
    let sent = ask(&mut world, Some("term_a"), "send", report).unwrap();
    assert_eq!(sent["lifecycle"]["action"], "completed");
    assert_eq!(sent["missingFiles"], json!(["out file.md"]));
    assert_eq!(sent["message"]["payload"]["missingFiles"], json!(["out file.md"]));
    assert_eq!(stored::<Task>(&world, task.as_str()).result.unwrap()["missingFiles"], json!(["out file.md"]));
}

#[test]
fn a_report_names_the_branch_that_its_worker_stands_on_now() {
    let (mut world, dispatch) = team();
    world.living.branch = Some(String::from("renamed"));
    let task = stored::<Dispatch>(&world, &dispatch).task_id;
    let report = json!({"type": "worker_done", "subject": "Done", "payload": {
        "taskId": task, "dispatchId": dispatch, "outcome": "succeeded",
    }});
    ask(&mut world, Some("term_a"), "send", report).unwrap();
    assert_eq!(stored::<Task>(&world, task.as_str()).result.unwrap()["branch"], "renamed");
}

#[test]
fn one_waiter_per_run_and_what_it_acknowledged_stays_acknowledged() {
    let (mut world, _) = team();
    let to = own_run(&world);
    send(&mut world, &to, "one", "").unwrap();
    let batch = ask(&mut world, None, "check", json!({})).unwrap();
    let run = RunId::parse(batch["runId"].as_str().unwrap()).unwrap();
    world.living.waiters.insert(run);
    let wait = json!({"ack": batch["deliveryId"], "isWait": true});
    let second = ask(&mut world, None, "check", wait).unwrap();
    assert_eq!(second["waitInterrupted"], "waiter_exists");
    assert_eq!(second["acknowledged"], batch["deliveryId"]);
    let refused = ask(&mut world, None, "check", json!({"isWait": true})).unwrap_err();
    assert_eq!(refused.code.as_str(), "waiter_exists");
}

#[test]
fn a_batch_that_was_read_elsewhere_does_not_come_again() {
    let (mut world, dispatch) = team();
    let sent = ask(&mut world, Some("term_a"), "send", json!({"subject": "Which one?"})).unwrap();
    let batch = ask(&mut world, None, "check", json!({})).unwrap();
    assert_eq!(ids(&batch), [sent["message"]["id"].as_str().unwrap()]);
    ask(&mut world, None, "reply", json!({"id": sent["message"]["id"], "body": "The left one"})).unwrap();
    let next = ask(&mut world, None, "check", json!({})).unwrap();
    assert_eq!((next["count"].clone(), next["deliveryId"].clone()), (json!(0), Value::Null));
    let read = ask(&mut world, Some("term_a"), "check", json!({})).unwrap();
    assert_eq!(read["dispatchId"], json!(dispatch));
    assert_eq!(read["messages"][0]["body"], "The left one");
}

#[test]
fn a_wait_goes_on_under_its_request_id_and_gives_the_same_answer_again() {
    let (mut world, _) = team();
    let params = json!({"question": "Go?", "timeoutMs": 60_000});
    let request = |id: &str| Request {
        id: id.to_owned(),
        method: String::from("orchestration.ask"),
        params: params.clone(),
        request_id: Some(String::from("same")),
        origin: Origin { env_handle: Some(String::from("term_a")), ..Origin::default() },
        contract: orca::proto::envelope::CONTRACT_VERSION,
        version: String::from("test"),
    };
    let waits = world.call(request("same"), &mut |_| {}).unwrap();
    assert_eq!(waits.error.unwrap().message, "waits");
    let again = world.call(request("same"), &mut |_| {}).unwrap();
    assert_eq!(again.error.unwrap().message, "waits");
    let open = world.store.read().unwrap().list::<Question>("pending", "", 9).unwrap();
    assert_eq!(open.len(), 1, "a retry asks nothing twice");
    let id = open[0].message_id.to_string();
    ask(&mut world, None, "reply", json!({"id": id, "body": "go"})).unwrap();
    let answered = world.wake("same", Wake::Changed).unwrap().unwrap();
    assert_eq!(answered["answer"], "go");
    let replayed = world.call(request("same"), &mut |_| {}).unwrap().result.unwrap();
    assert_eq!(replayed["answer"], "go");
    assert_eq!(replayed["mutation"]["replayed"], true);
}

/// A process whose ancestry is `term_b`, whatever its environment and flags say.
fn from_child_of_b(world: &mut World, params: Value) -> Value {
    let caller = CallerFacts {
        origin: Origin { env_handle: Some(String::from("term_a")), ..Origin::default() },
        ancestry: Some(TerminalId::parse("term_b").unwrap()),
        credential: String::from("term_a"),
        ..CallerFacts::default()
    };
    let call = orca::proto::AnyCall::decode("orchestration.send", params.clone()).unwrap();
    let answer = world.transact(caller, |cx| orca::ops::handle(cx, call, None, &params)).unwrap();
    match answer {
        orca::ops::cx::Answer::Done(reply) => reply,
        unfinished => panic!("{unfinished:?}"),
    }
}

#[test]
fn a_report_whose_environment_and_ancestry_disagree_needs_the_proof() {
    let (mut world, dispatch) = team();
    world.terminal("term_b");
    let task = stored::<Dispatch>(&world, &dispatch).task_id;
    let mut report = json!({"type": "worker_done", "subject": "Done", "payload": {
        "taskId": task, "dispatchId": dispatch, "outcome": "succeeded",
    }});
    let refused = from_child_of_b(&mut world, report.clone());
    assert_eq!(refused["lifecycle"]["code"], "sender_not_assignee");
    assert_eq!(refused["message"]["from_handle"], "term_b");
    assert!(stored::<Dispatch>(&world, &dispatch).status.is_active());
    report["proof"] = json!(world.proof(&dispatch));
    let accepted = from_child_of_b(&mut world, report);
    assert_eq!(accepted["lifecycle"]["action"], "completed");
    assert_eq!(stored::<Task>(&world, task.as_str()).status.as_str(), "completed");
}

/// What a worker said at `said_at`, taken in now.
fn said_late(world: &mut World, said_at: Timestamp, params: Value) -> Value {
    let caller = CallerFacts {
        said_at: Some(said_at),
        ..CallerFacts::of_origin(Origin { env_handle: Some(String::from("term_a")), ..Origin::default() })
    };
    let call = orca::proto::AnyCall::decode("orchestration.send", params.clone()).unwrap();
    match world.transact(caller, |cx| orca::ops::handle(cx, call, None, &params)).unwrap() {
        orca::ops::cx::Answer::Done(reply) => reply["message"].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_kept_is_as_old_as_it_is_and_makes_no_worker_look_alive() {
    let (mut world, dispatch) = team();
    let beat = json!({"subject": "here", "type": "heartbeat", "payload": {"dispatchId": dispatch}});
    let beaten = |world: &World| stored::<Dispatch>(world, &dispatch).last_heartbeat_at;
    let now = world.clock.now();
    let long_ago = Timestamp(now.0 - 3_600_000);
    assert_eq!(said_late(&mut world, long_ago, beat.clone())["created_at"], json!(long_ago));
    assert_eq!(beaten(&world), Some(long_ago));
    said_late(&mut world, now, beat.clone());
    // Behind a fresher one, and from a clock that is ahead.
    said_late(&mut world, long_ago, beat.clone());
    assert_eq!(beaten(&world), Some(now));
    assert_eq!(said_late(&mut world, now.plus_ms(99_000), beat)["created_at"], json!(now));
}

/// A server that keeps its client waiting for half a minute.
struct Slow;

impl Transport for Slow {
    fn call(
        &mut self,
        request: Request,
        on_keepalive: &mut dyn FnMut(u64),
    ) -> Result<Response, Box<Unanswered>> {
        on_keepalive(15_000);
        on_keepalive(30_000);
        let reply = json!({"runId": RUN, "messages": [], "count": 0, "timedOut": true});
        Ok(Response::new(&request.id, Some("rt_1"), Ok(reply)))
    }
}

fn stderr_of(words: &[&str]) -> String {
    let argv: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
    let parsed = orca::cli::parse(&argv).unwrap();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut session = Session {
        transport: &mut Slow,
        out: Out { stdout: &mut stdout, stderr: &mut stderr, tints: Tints::default() },
        is_json: parsed.json,
        home: std::path::Path::new("/"),
        argv: &argv,
        origin: Origin::default(),
        new_request_id: &mut || String::from("r"),
    };
    assert_eq!(orca::cli::run(&parsed, &mut session), 0);
    let printed: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(printed["result"]["timedOut"], true);
    String::from_utf8(stderr).unwrap()
}

#[test]
fn a_waiting_check_says_on_standard_error_that_it_waits() {
    let told = stderr_of(&["orca", "orchestration", "check", "--wait", "--timeout-ms", "60000", "--json"]);
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let expected = json!({"_keepalive": true, "_heartbeat": true, "elapsedMs": 15_000, "deadlineMs": 60_000});
    assert_eq!(lines[0], expected);
    assert_eq!(stderr_of(&["orca", "orchestration", "check", "--json"]), "");
}
