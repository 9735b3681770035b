//! `server stop --force`: what it was asked for comes true and is told truly, also where the disk is full and
//! where others ask for the same.

use super::support::sandbox::{Sandbox, is_running};
use super::support::wait::until;
use serde_json::Value;
use std::process::{Child, Stdio};

fn pid_of(sandbox: &Sandbox, terminal: &str) -> u32 {
    u32::try_from(sandbox.terminal(terminal)["pid"].as_u64().unwrap()).unwrap()
}

/// A Run with one worker; its task and its terminal.
fn worker(sandbox: &Sandbox) -> (String, String) {
    sandbox.ask(&["orchestration", "run-create", "--objective", "Stop"]);
    let start = ["orchestration", "worker-start", "--spec", "Work", "--agent", "quiet"];
    let receipt = sandbox.ask(&start);
    let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
    (text("taskId"), text("agentTerminalHandle"))
}

fn n_holders(sandbox: &Sandbox) -> usize {
    std::fs::read_dir(sandbox.state().join("h")).unwrap().count()
}

fn assert_ended_by_stop(sandbox: &Sandbox, task: &str) {
    let shown = || sandbox.ask(&["orchestration", "dispatch-show", "--task", task]);
    until(|| (shown()["dispatch"]["last_failure"] != Value::Null).then_some(()), || sandbox.log());
    assert_eq!(shown()["dispatch"]["last_failure"], "its terminal was closed by orca server stop");
}

/// Takes all room from a process's files beyond their first page.
#[cfg(target_os = "linux")]
fn fill_disk_of(pid: u32) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    let page = Rlimit { current: Some(4_096), maximum: Some(4_096) };
    prlimit(pid, Resource::Fsize, page).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_ends_everything_on_a_full_disk_in_one_call_and_the_next_start_knows() {
    let sandbox = Sandbox::with_repo();
    let mut server = sandbox.shell_command("trap '' XFSZ; exec \"$0\" server run");
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_up = || sandbox.envelope(&["status"])["result"]["runtime"]["reachable"] == true;
    until(|| is_up().then_some(()), || sandbox.log());
    let (task, terminal) = worker(&sandbox);
    let pids = [pid_of(&sandbox, &terminal), pid_of(&sandbox, &sandbox.shell())];
    fill_disk_of(server.id());
    let stopped = sandbox.ask(&["server", "stop", "--force"]);
    assert_eq!(stopped["nEnded"], 2, "{stopped}");
    let warning = stopped["warnings"][0].as_str().unwrap();
    assert!(warning.contains("noted at the next start"), "{stopped}");
    assert!(!pids.into_iter().any(is_running));
    assert_eq!(n_holders(&sandbox), 0, "a holder is left");
    server.wait().unwrap();
    assert_ended_by_stop(&sandbox, &task);
    let shown = sandbox.terminal(&terminal);
    assert_eq!(shown["life"], "exited", "{shown}");
    // It is said once: what ends later is nobody's doing.
    let later = sandbox.shell();
    sandbox.ask(&["server", "restart"]);
    sandbox.type_line(&later, "exit 3");
    let end = || sandbox.terminal(&later);
    until(|| (end()["life"] == "exited").then_some(()), || end().to_string());
    assert!(!end().to_string().contains("server stop"), "{}", end());
}

#[test]
fn terminals_that_were_ended_where_no_server_can_start_are_known_as_such() {
    let sandbox = Sandbox::with_repo();
    let (task, terminal) = worker(&sandbox);
    let pid = pid_of(&sandbox, &terminal);
    sandbox.kill_server();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" server stop --force --json";
    let output = sandbox.shell_command(script).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &answer["result"]["nEnded"]), (Some(0), &1.into()), "{output:?}");
    assert!(!is_running(pid));
    assert_ended_by_stop(&sandbox, &task);
}

#[test]
fn of_several_stops_at_once_every_one_whose_wish_came_true_says_so() {
    let sandbox = Sandbox::new();
    let pids: Vec<u32> = (0..4).map(|_| pid_of(&sandbox, &sandbox.shell())).collect();
    let stops: Vec<Child> = (0..6)
        .map(|_| {
            let mut command = sandbox.command(&["server", "stop", "--force", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for stop in stops {
        let output = stop.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert!(!pids.into_iter().any(is_running));
    assert_eq!((sandbox.server_pid(), n_holders(&sandbox)), (None, 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_an_agent_brought_back_outlives_that_agent() {
    let sandbox = Sandbox::with_repo();
    let (go, program) = (sandbox.scratch().join("go"), super::support::sandbox::orca().display());
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
    let script = Value::from(format!("{wait}; {program} server start; cat")).to_string();
    sandbox.set_agent("starter", &format!("command = [\"sh\", \"-c\", {script}]\nprompt = \"argument\"\n"));
    sandbox.ask(&["orchestration", "run-create", "--objective", "Back"]);
    let start = ["orchestration", "worker-start", "--spec", "Work", "--agent", "starter"];
    let dispatch = sandbox.ask(&start)["dispatchId"].as_str().unwrap().to_owned();
    sandbox.kill_server();
    std::fs::write(&go, "").unwrap();
    // Nothing that is asked here starts one.
    until(|| sandbox.server_pid().map(drop), || sandbox.log());
    let server = sandbox.server_pid();
    let later = pid_of(&sandbox, &sandbox.shell());
    sandbox.ask(&["orchestration", "worker-stop", "--dispatch", &dispatch]);
    let worker = || sandbox.ask(&["orchestration", "worker-show", "--dispatch", &dispatch])["worker"].clone();
    until(|| (worker()["state"] == "stopped").then_some(()), || worker().to_string());
    assert_eq!(sandbox.server_pid(), server);
    assert!(is_running(later), "what the server started is no child of the agent");
}
