//! Mail while no server can be reached, and mail of processes that may not open sockets.

use crate::support::sandbox::{Sandbox, is_running, kill, orca};
use crate::support::schema;
use crate::support::wait::until;
use orca::base::path::StateDir;
use orca::proto::spool::{CALL_ENDING, MAX_CALLS, QUEUED_EXIT, call_name};
use orca::server::fault::Point;
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A worker that runs, and its ids.
struct Team {
    task: String,
    dispatch: String,
    handle: String,
}

fn team(sandbox: &Sandbox) -> Team {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    sandbox.ask(&["orchestration", "run-create", "--objective", "survive"]);
    let task = text(&sandbox.ask(&["orchestration", "task-create", "--spec", "wait"])["task"]["id"]);
    let worktree = ["--agent", "quiet", "--worktree", "current"];
    let start = [&["orchestration", "worker-start", "--task", &task][..], &worktree].concat();
    let receipt = sandbox.ask(&start);
    assert_eq!(receipt["state"], "ready", "{receipt}\n{}", sandbox.log());
    let (dispatch, handle) = (text(&receipt["dispatchId"]), text(&receipt["agentTerminalHandle"]));
    Team { task, dispatch, handle }
}

impl Team {
    /// A command of the worker that starts no server.
    fn command(&self, sandbox: &Sandbox, words: &[&str]) -> Command {
        let mut command = sandbox.command(&[&["orchestration"], words, &["--json"]].concat());
        command.env("ORCA_NO_AUTOSTART", "1").env("ORCA_TERMINAL_HANDLE", &self.handle);
        command
    }

    fn report(&self) -> Vec<&str> {
        let what = ["send", "--type", "worker_done", "--outcome", "succeeded", "--subject", "done"];
        [&what[..], &["--task-id", &self.task, "--dispatch-id", &self.dispatch]].concat()
    }

    fn task_state(&self, sandbox: &Sandbox) -> String {
        let tasks = sandbox.ask(&["orchestration", "task-list"]);
        let tasks = tasks["tasks"].as_array().unwrap().clone();
        let own = tasks.iter().find(|task| task["id"] == self.task.as_str()).unwrap();
        own["status"].as_str().unwrap().to_owned()
    }

    fn wait_for_completion(&self, sandbox: &Sandbox) {
        let state = || self.task_state(sandbox);
        until(
            || (state() == "completed").then_some(()),
            || format!("{}: {}\n{}", state(), mail(sandbox), sandbox.log()),
        );
    }
}

/// Holds what a verb printed against its schema.
fn check_schema(verb: &str, output: &Output) {
    let words = ["orca", "orchestration", verb].map(String::from);
    schema::check_printed(&words, std::str::from_utf8(&output.stdout).unwrap());
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Runs a command whose call is to be kept; gives its `result`.
fn queue(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(QUEUED_EXIT)), "{output:?}");
    check_schema("send", &output);
    let envelope = parsed(&output);
    assert_eq!((&envelope["ok"], &envelope["result"]["queued"]), (&json!(true), &json!(true)), "{envelope}");
    envelope["result"].clone()
}

/// All mail, oldest first.
fn mail(sandbox: &Sandbox) -> Value {
    let mail = sandbox.ask(&["orchestration", "inbox", "--limit", "200", "--full"]);
    Value::Array(mail["messages"].as_array().unwrap().iter().rev().cloned().collect())
}

fn of_kind(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    mail(sandbox).as_array().unwrap().iter().filter(|message| message["type"] == kind).cloned().collect()
}

fn calls_in(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(CALL_ENDING))
        .count()
}

fn spool(sandbox: &Sandbox) -> PathBuf {
    sandbox.state().join("spool")
}

fn wait_until_empty(sandbox: &Sandbox) {
    let n_left = || calls_in(&spool(sandbox));
    until(|| (n_left() == 0).then_some(()), || format!("{} calls are left\n{}", n_left(), sandbox.log()));
}

#[test]
fn a_report_without_a_server_is_kept_and_accepted_once_with_its_own_time() {
    let sandbox = Sandbox::with_repo();
    let team = team(&sandbox);
    sandbox.kill_server();
    let queued = queue(team.command(&sandbox, &team.report()));
    let file = Path::new(queued["file"].as_str().unwrap());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(sandbox.ask(&["status"])["nQueued"], 1);
    sandbox.ask(&["server", "start"]);
    team.wait_for_completion(&sandbox);
    wait_until_empty(&sandbox);
    let reports = of_kind(&sandbox, "worker_done");
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["created_at"], queued["queuedAt"]);
    // Asked for again under its id it is answered from the ledger.
    let id = queued["requestId"].as_str().unwrap();
    let again = team.command(&sandbox, &[&team.report()[..], &["--retry-request", id]].concat()).output();
    let again = parsed(&again.unwrap());
    assert_eq!(again["result"]["mutation"]["replayed"], true, "{again}");
    assert_eq!(again["result"]["lifecycle"]["action"], "completed", "{again}");
    assert_eq!(of_kind(&sandbox, "worker_done").len(), 1);
    assert_eq!(sandbox.ask(&["status"])["nQueued"], 0);
}

#[test]
fn a_report_before_the_end_of_its_worker_counts_although_both_come_without_a_server() {
    let sandbox = Sandbox::with_repo();
    let team = team(&sandbox);
    let pid = u32::try_from(sandbox.terminal(&team.handle)["pid"].as_u64().unwrap()).unwrap();
    sandbox.kill_server();
    queue(team.command(&sandbox, &team.report()));
    kill(pid);
    until(|| (!is_running(pid)).then_some(()), || String::from("the agent goes on"));
    sandbox.ask(&["server", "start"]);
    until(
        || (!sandbox.terminal(&team.handle)["end"].is_null()).then_some(()),
        || sandbox.terminal(&team.handle).to_string(),
    );
    assert_eq!(team.task_state(&sandbox), "completed", "{}", mail(&sandbox));
    assert!(of_kind(&sandbox, "escalation").is_empty(), "{}", mail(&sandbox));
}

#[test]
fn a_server_that_cannot_start_loses_no_report() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.state()).unwrap();
    std::fs::write(sandbox.state().join("orca.redb"), b"no database at all ".repeat(99)).unwrap();
    let send = ["orchestration", "send", "--to", "user", "--subject", "kept"];
    let text = sandbox.output(&send);
    assert_eq!(text.status.code(), Some(i32::from(QUEUED_EXIT)), "{text:?}");
    assert_eq!(String::from_utf8_lossy(&text.stdout), "");
    let said = String::from_utf8(text.stderr).unwrap();
    assert!(said.starts_with("queued: ") && said.contains("--retry-request"), "{said}");
    // What is no mail is refused as before.
    assert_eq!(sandbox.envelope(&["orchestration", "run-list"])["error"]["code"], "store_damaged");
    assert_eq!(sandbox.envelope(&["orchestration", "check"])["error"]["code"], "store_damaged");
    std::fs::remove_file(sandbox.state().join("orca.redb")).unwrap();
    let mail = sandbox.ask(&["orchestration", "check", "--terminal", "user"]);
    assert_eq!(mail["count"], 1, "the first caller after an outage sees what was kept: {mail}");
}

#[test]
fn fifty_calls_of_three_senders_arrive_in_their_order() {
    let sandbox = Sandbox::new();
    let senders: Vec<String> = (0..3).map(|_| sandbox.shell()).collect();
    sandbox.kill_server();
    for n in 0..50 {
        let subject = format!("{n}");
        let mut command =
            sandbox.command(&["orchestration", "send", "--to", "user", "--subject", &subject, "--json"]);
        command.env("ORCA_NO_AUTOSTART", "1").env("ORCA_TERMINAL_HANDLE", &senders[n % 3]);
        queue(command);
    }
    assert_eq!(calls_in(&spool(&sandbox)), 50);
    let mail = mail(&sandbox);
    let mail = mail.as_array().unwrap();
    let arrived: Vec<(usize, &str)> = mail
        .iter()
        .map(|message| {
            (message["subject"].as_str().unwrap().parse().unwrap(), message["from_handle"].as_str().unwrap())
        })
        .collect();
    let sent: Vec<(usize, &str)> = (0..50).map(|n| (n, senders[n % 3].as_str())).collect();
    assert_eq!(arrived, sent);
    wait_until_empty(&sandbox);
}

/// Runs a server until it crashes at a point.
fn crash(sandbox: &Sandbox, point: Point) {
    let mut run = sandbox.command(&["server", "run"]);
    run.env("ORCA_FAULT", format!("{}:1", point.name())).stderr(Stdio::null());
    let mut server = run.spawn().unwrap();
    let ended = until(|| server.try_wait().unwrap(), || format!("{} was not passed", point.name()));
    assert_eq!(ended.signal(), Some(9), "{}", point.name());
}

#[test]
fn a_crash_while_a_call_is_taken_in_neither_loses_nor_doubles_it() {
    for point in Point::SPOOL {
        let sandbox = Sandbox::new();
        let mut send =
            sandbox.command(&["orchestration", "send", "--to", "user", "--subject", "once", "--json"]);
        send.env("ORCA_NO_AUTOSTART", "1");
        queue(send);
        crash(&sandbox, *point);
        assert_eq!(calls_in(&spool(&sandbox)), 1, "{}", point.name());
        assert_eq!(mail(&sandbox).as_array().unwrap().len(), 1, "{}", point.name());
        wait_until_empty(&sandbox);
        assert_eq!(mail(&sandbox).as_array().unwrap().len(), 1, "{}", point.name());
    }
}

#[test]
fn a_refusal_that_nobody_waits_for_is_told_to_the_person_once() {
    for fault in [None, Some(Point::SpoolApplied), Some(Point::SpoolAnswered)] {
        let sandbox = Sandbox::new();
        let mut ask = sandbox.command(&["orchestration", "ask", "--question", "May I?", "--json"]);
        let output = ask.env("ORCA_NO_AUTOSTART", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(QUEUED_EXIT)), "{output:?}");
        check_schema("ask", &output);
        let bare = parsed(&output);
        assert_eq!((&bare["queued"], &bare["answer"]), (&json!(true), &Value::Null), "{bare}");
        if let Some(point) = fault {
            crash(&sandbox, point);
        }
        let told = || Some(of_kind(&sandbox, "escalation")).filter(|_| calls_in(&spool(&sandbox)) == 0);
        let told = until(|| told().filter(|told| !told.is_empty()), || sandbox.log());
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["to_handle"], "user");
        assert!(told[0]["subject"].as_str().unwrap().contains("dispatch_inactive"), "{told:?}");
        assert!(told[0]["body"].as_str().unwrap().contains("May I?"), "{told:?}");
        let replies: Vec<_> = std::fs::read_dir(spool(&sandbox).join("replies")).unwrap().collect();
        assert_eq!(replies.len(), 1);
        let reply = std::fs::read(replies[0].as_ref().unwrap().path()).unwrap();
        let reply: Value = serde_json::from_slice(&reply).unwrap();
        assert_eq!(reply["error"]["code"], "dispatch_inactive", "{reply}");
    }
}

#[test]
fn what_is_no_call_is_put_aside_and_told() {
    let sandbox = Sandbox::new();
    let dir = spool(&sandbox);
    std::fs::create_dir_all(&dir).unwrap();
    let name = |n: u64| call_name(n, 0, "x");
    std::fs::write(dir.join(name(1)), "{ no JSON").unwrap();
    std::fs::write(dir.join("notes.txt"), "what is this").unwrap();
    let secret = sandbox.scratch().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    symlink(&secret, dir.join(name(2))).unwrap();
    let other = json!({"id": "r", "method": "server.stop", "params": {}, "requestId": "r", "contract": 1, "version": "0"});
    let other = json!({"version": 1, "writtenAt": "2026-11-30T05:00:00Z", "request": other});
    std::fs::write(dir.join(name(3)), other.to_string()).unwrap();
    let newer = json!({"version": 99});
    std::fs::write(dir.join(name(4)), newer.to_string()).unwrap();
    let mut send = sandbox.command(&["orchestration", "send", "--to", "user", "--subject", "good", "--json"]);
    send.env("ORCA_NO_AUTOSTART", "1");
    queue(send);
    sandbox.ask(&["server", "start"]);
    let status = || sandbox.ask(&["status"]);
    // The one of a newer orca waits for a newer server.
    until(
        || (status()["nRejected"] == 4 && status()["nQueued"] == 1).then_some(()),
        || format!("{}\n{}", status(), sandbox.log()),
    );
    let rejected = dir.join("rejected");
    let reason = |name: &str| std::fs::read_to_string(rejected.join(format!("{name}.why"))).unwrap();
    assert_eq!(std::fs::read_to_string(rejected.join(name(1))).unwrap(), "{ no JSON");
    assert!(reason(&name(3)).contains("no call that may come as a file"), "{}", reason(&name(3)));
    assert!(!reason(&name(2)).contains("secret"));
    assert!(rejected.join(name(2)).is_symlink());
    assert_eq!(reason("notes.txt"), "it is no call");
    assert_eq!(of_kind(&sandbox, "escalation").len(), 4);
    assert_eq!(of_kind(&sandbox, "status").len(), 1);
}

#[test]
fn a_full_spool_says_so() {
    let sandbox = Sandbox::new();
    let dir = spool(&sandbox);
    std::fs::create_dir_all(&dir).unwrap();
    for n in 0..MAX_CALLS {
        std::fs::write(dir.join(call_name(n as u64, 0, "x")), "").unwrap();
    }
    let mut send = sandbox.command(&["orchestration", "send", "--to", "user", "--subject", "more", "--json"]);
    let output = send.env("ORCA_NO_AUTOSTART", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = &parsed(&output)["error"];
    assert_eq!(error["code"], "spool_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains("512"), "{error}");
    assert!(error["data"]["nextSteps"].as_array().unwrap().contains(&json!("orca server start")), "{error}");
    assert_eq!(calls_in(&dir), MAX_CALLS);
}

/// Takes a path away at the end of a test.
struct Planted(PathBuf);

impl Drop for Planted {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

#[test]
fn a_link_in_the_place_of_the_spool_is_refused_and_the_next_place_taken() {
    let sandbox = Sandbox::new();
    let temp = sandbox.scratch().join("temp");
    let uid = sandbox.scratch().metadata().unwrap().uid();
    let [own, shared, last] = StateDir::new(sandbox.state(), uid).spools(uid, &temp);
    std::fs::create_dir_all(sandbox.state()).unwrap();
    std::fs::write(&own, "no directory").unwrap();
    let trap = sandbox.scratch().join("trap");
    std::fs::create_dir(&trap).unwrap();
    symlink(&trap, &shared).unwrap();
    let _planted = Planted(shared);
    let send = |subject: &str| {
        let words = ["orchestration", "send", "--to", "user", "--subject", subject, "--json"];
        let mut command = sandbox.command(&words);
        command.env("ORCA_NO_AUTOSTART", "1").env("TMPDIR", &temp);
        command
    };
    let refused = parsed(&send("nowhere").output().unwrap());
    assert_eq!(refused["error"]["code"], "runtime_unavailable", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not a directory of yours"), "{refused}");
    // A server looks there, so clients may write there.
    std::fs::create_dir_all(&last).unwrap();
    queue(send("there"));
    assert_eq!((calls_in(&trap), calls_in(&last)), (0, 1));
    let started = sandbox.command(&["server", "start"]).env("TMPDIR", &temp).output().unwrap();
    assert!(started.status.success(), "{started:?}");
    let subjects = || mail(&sandbox)[0]["subject"].clone();
    until(|| (subjects() == "there").then_some(()), || sandbox.log());
    assert_eq!(std::fs::read_dir(&trap).unwrap().count(), 0);
}

/// A command that the socket refuses, as a sandbox does it; root obeys permissions only without its
/// capabilities.
fn sandboxed(sandbox: &Sandbox, words: &[&str]) -> Command {
    std::fs::set_permissions(sandbox.state().join("server.sock"), std::fs::Permissions::from_mode(0o000))
        .unwrap();
    let like = sandbox.command(&[&["orchestration"], words, &["--json"]].concat());
    let is_root = sandbox.state().metadata().unwrap().uid() == 0;
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(orca()).args(like.get_args());
        command
    } else {
        let mut command = Command::new(orca());
        command.args(like.get_args());
        command
    };
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(sandbox.repo()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Lets everybody connect again.
fn unlock(sandbox: &Sandbox) {
    let socket = sandbox.state().join("server.sock");
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_sandboxed_worker_reports_asks_and_reads_through_files() {
    let sandbox = Sandbox::with_repo();
    let team = team(&sandbox);
    let of_worker = |words: &[&str]| {
        let mut command = sandboxed(&sandbox, words);
        command.env("ORCA_TERMINAL_HANDLE", &team.handle);
        command
    };
    let beat = ["send", "--type", "heartbeat", "--subject", "here", "--phase", "implementing"];
    let beat = parsed(&of_worker(&beat).output().unwrap());
    assert_eq!(beat["ok"], true, "{beat}\n{}", sandbox.log());
    assert!(beat["_meta"]["runtimeId"].is_string(), "{beat}");
    let asking = of_worker(&["ask", "--question", "Which one?"]).spawn().unwrap();
    unlock(&sandbox);
    let question = until(
        || of_kind(&sandbox, "question").first().map(|message| message["id"].as_str().unwrap().to_owned()),
        || sandbox.log(),
    );
    sandbox.ask(&["orchestration", "reply", "--id", &question, "--body", "the second"]);
    let answer = asking.wait_with_output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    assert_eq!(parsed(&answer)["answer"], "the second");
    let to = format!("dispatch:{}", team.dispatch);
    sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", "a hint"]);
    let read = parsed(&of_worker(&["check"]).output().unwrap());
    assert_eq!(read["result"]["messages"][0]["subject"], "a hint", "{read}");
    let refused = parsed(&of_worker(&["task-list"]).output().unwrap());
    assert_eq!(refused["error"]["code"], "runtime_unavailable", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("pass through files"), "{refused}");
    let done = parsed(&of_worker(&team.report()).output().unwrap());
    assert_eq!(done["result"]["lifecycle"]["action"], "completed", "{done}");
    unlock(&sandbox);
    team.wait_for_completion(&sandbox);
    wait_until_empty(&sandbox);
    let replies = std::fs::read_dir(spool(&sandbox).join("replies")).unwrap();
    assert_eq!(replies.count(), 0, "every answer was fetched");
}

#[test]
fn mail_is_not_taken_for_a_sandboxed_reader_that_left() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let mut reader = sandboxed(&sandbox, &["check", "--terminal", "user", "--wait"]).spawn().unwrap();
    until(|| (calls_in(&spool(&sandbox)) == 1).then_some(()), || sandbox.log());
    reader.kill().unwrap();
    reader.wait().unwrap();
    wait_until_empty(&sandbox);
    unlock(&sandbox);
    sandbox.ask(&["orchestration", "send", "--to", "user", "--subject", "still there"]);
    assert_eq!(sandbox.ask(&["orchestration", "check", "--terminal", "user"])["count"], 1);
}

/// However often servers go, politely or not, whoever waits goes on with the next one.
#[test]
fn a_question_outlives_every_server_that_was_asked() {
    let sandbox = Sandbox::with_repo();
    let team = team(&sandbox);
    let mut command = team.command(&sandbox, &["ask", "--question", "Still there?"]);
    let asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let question = until(|| of_kind(&sandbox, "question").pop(), || sandbox.log());
    sandbox.kill_server();
    sandbox.ask(&["server", "start"]);
    sandbox.ask(&["server", "restart"]);
    sandbox.ask(&["orchestration", "reply", "--id", question["id"].as_str().unwrap(), "--body", "yes"]);
    let answer = asking.wait_with_output().unwrap();
    assert_eq!(answer.status.code(), Some(0), "{answer:?}\n{}", sandbox.log());
    assert_eq!(parsed(&answer)["answer"], "yes");
    assert_eq!(of_kind(&sandbox, "question").len(), 1);
    assert_eq!(calls_in(&spool(&sandbox)), 0);
}
