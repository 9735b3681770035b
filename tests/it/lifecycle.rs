//! The real server: start, restart, two clients, stop; and what stands in its way.

use crate::support::sandbox::{Sandbox, is_running, kill, orca, signal};
use crate::support::wait::until;
use orca::base::id::TerminalId;
use orca::base::input::InputEvent;
use orca::base::size::TermSize;
use orca::client::wire::{Connection, encode};
use orca::proto::envelope::CONTRACT_VERSION;
use orca::proto::event::RowView;
use orca::proto::screen::{Attach, ClientFrame, HostFacts, ServerFrame, View, ViewPane};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;

/// An attached client without a screen.
pub fn attach(sandbox: &Sandbox) -> Connection {
    let stream = UnixStream::connect(sandbox.state().join("server.sock")).unwrap();
    let mut connection = Connection::new(stream);
    connection.set_patience(Some(std::time::Duration::from_secs(30))).unwrap();
    let (contract, version) = (CONTRACT_VERSION, String::from("test"));
    connection.send(&ClientFrame::Attach(Attach { contract, version, host: HostFacts::default() })).unwrap();
    assert!(matches!(connection.next_frame().unwrap(), ServerFrame::Attached { .. }));
    connection
}

#[test]
fn twenty_commands_at_once_start_one_server() {
    let sandbox = Sandbox::new();
    let words = ["orchestration", "run-create", "--objective", "x", "--json"];
    let started: Vec<_> = (0..20)
        .map(|_| sandbox.command(&words).stdout(std::process::Stdio::piped()).spawn().unwrap())
        .collect();
    let runtimes: std::collections::BTreeSet<String> = started
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(envelope["ok"], true, "{envelope}");
            envelope["_meta"]["runtimeId"].to_string()
        })
        .collect();
    assert_eq!(runtimes.len(), 1, "{}", sandbox.log());
    assert_eq!(sandbox.ask(&["orchestration", "run-list"])["runs"].as_array().unwrap().len(), 20);
    assert_eq!(sandbox.log().matches(" starts in ").count(), 1, "{}", sandbox.log());
}

/// Whoever restarts the server starts the next one: its environment is that of every later shell.
#[cfg(target_os = "linux")]
#[test]
fn no_waiting_call_starts_the_server_of_a_restart() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["server", "start"]);
    let words = ["orchestration", "check", "--terminal", "user", "--wait", "--timeout-ms", "600000"];
    let mut waiting: Vec<_> = (0..4)
        .map(|_| {
            let mut command = sandbox.command(&words);
            command.env("OF_A_WAITING_CALL", "1").env("ORCA_KEEPALIVE_INTERVAL_MS", "50");
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in &mut waiting {
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("_keepalive"), "{line}");
    }
    sandbox.ask(&["server", "restart"]);
    let environment = std::fs::read(format!("/proc/{}/environ", sandbox.server_pid().unwrap())).unwrap();
    for mut child in waiting {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!String::from_utf8_lossy(&environment).contains("OF_A_WAITING_CALL"));
}

#[test]
fn a_restart_does_not_wait_for_a_screen() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let mut screen = attach(&sandbox);
    let leaving =
        std::thread::spawn(
            move || {
                while !matches!(screen.next_frame(), Ok(ServerFrame::Closing { .. }) | Err(_)) {}
            },
        );
    sandbox.ask(&["server", "restart"]);
    leaving.join().unwrap();
    assert!(!sandbox.log().contains("did not leave in time"), "{}", sandbox.log());
}

#[test]
fn a_second_server_loses_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let first = sandbox.server_pid();
    let second = sandbox.output(&["server", "run", "--detached"]);
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&second.stdout).trim(), "\"lost\"");
    let third = sandbox.output(&["server", "run"]);
    assert_eq!(third.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&third.stderr).contains("another server runs here"), "{third:?}");
    assert_eq!(sandbox.server_pid(), first);
}

#[test]
fn status_starts_nothing_and_autostart_can_be_turned_off() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ask(&["status"])["runtime"]["state"], "not_running");
    assert!(!sandbox.state().exists());
    let refused =
        sandbox.command(&["orchestration", "run-list", "--json"]).env("ORCA_NO_AUTOSTART", "1").output();
    let envelope: serde_json::Value = serde_json::from_slice(&refused.unwrap().stdout).unwrap();
    assert_eq!(envelope["error"]["code"], "runtime_unavailable");
    assert_eq!(envelope["error"]["data"]["nextSteps"][0], "orca server start");
}

#[test]
fn everything_in_the_state_directory_is_private() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let mode =
        |name: &str| std::fs::metadata(sandbox.state().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(""), mode("h")], [0o700, 0o700]);
    assert_eq!([mode("server.sock"), mode("orca.redb"), mode("server.log")], [0o600, 0o600, 0o600]);
}

#[test]
fn a_stale_socket_is_no_obstacle() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.state()).unwrap();
    drop(UnixListener::bind(sandbox.state().join("server.sock")).unwrap());
    sandbox.ask(&["orchestration", "run-list"]);
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.state()).unwrap();
    let damage = b"this is no database, but long enough to be looked at".repeat(60);
    std::fs::write(sandbox.state().join("orca.redb"), &damage).unwrap();
    let envelope = sandbox.envelope(&["orchestration", "run-list"]);
    assert_eq!(envelope["error"]["code"], "store_damaged", "{envelope}");
    assert!(envelope["error"]["data"]["nextSteps"][0].is_string(), "{envelope}");
    assert_eq!(std::fs::read(sandbox.state().join("orca.redb")).unwrap(), damage);
    std::fs::remove_file(sandbox.state().join("orca.redb")).unwrap();
    sandbox.ask(&["orchestration", "run-list"]);
}

#[test]
fn a_state_directory_that_cannot_be_is_an_error_with_a_next_step() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.state(), "a file in its place").unwrap();
    let envelope = sandbox.envelope(&["orchestration", "run-list"]);
    assert_eq!(envelope["error"]["code"], "store_unwritable", "{envelope}");
    assert!(envelope["error"]["data"]["nextSteps"][0].is_string(), "{envelope}");
    std::fs::remove_file(sandbox.state()).unwrap();
}

#[test]
fn a_shell_survives_the_death_of_its_server() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    sandbox.type_line(&terminal, "echo be''fore");
    sandbox.wait_for_text(&terminal, "before");
    let pid = sandbox.terminal(&terminal)["pid"].as_u64().unwrap();
    sandbox.kill_server();
    assert!(is_running(u32::try_from(pid).unwrap()));
    // The process is dead a moment before its lock is free; asking does not bring it back.
    let told = || String::from_utf8_lossy(&sandbox.output(&["status"]).stdout).into_owned();
    until(|| told().ends_with("\n1 terminal goes on, and orca brings it back\n").then_some(()), told);
    sandbox.wait_for_text(&terminal, "before");
    sandbox.type_line(&terminal, "echo af''ter");
    sandbox.wait_for_text(&terminal, "after");
    assert_eq!(sandbox.terminal(&terminal)["pid"].as_u64(), Some(pid));
}

#[test]
fn an_end_without_a_server_is_known_to_the_next_one() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let go = sandbox.repo().join("go");
    sandbox.type_line(&terminal, "while ! [ -e go ]; do :; done; echo last wo''rds; exit 7");
    sandbox.wait_for_text(&terminal, "exit 7");
    let pid = u32::try_from(sandbox.terminal(&terminal)["pid"].as_u64().unwrap()).unwrap();
    sandbox.kill_server();
    std::fs::write(go, "").unwrap();
    until(|| (!is_running(pid)).then_some(()), || String::from("the shell goes on"));
    sandbox.wait_for_text(&terminal, "last words");
    until(
        || (sandbox.terminal(&terminal)["end"]["exit_code"] == 7).then_some(()),
        || sandbox.terminal(&terminal).to_string(),
    );
}

/// The process that holds a terminal.
fn holder_of(child: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn pid_of(sandbox: &Sandbox, terminal: &str) -> u32 {
    u32::try_from(sandbox.terminal(terminal)["pid"].as_u64().unwrap()).unwrap()
}

fn wait_for_life(sandbox: &Sandbox, terminal: &str, wanted: &str) {
    let life = || sandbox.terminal(terminal)["life"].as_str().unwrap().to_owned();
    until(|| (life() == wanted).then_some(()), || format!("{}\n{}", life(), sandbox.log()));
}

#[test]
fn what_was_written_without_a_server_outlives_the_next_one_too() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let (go, done) = (sandbox.repo().join("go"), sandbox.repo().join("done"));
    sandbox.type_line(&terminal, "until [ -e go ]; do :; done; echo while a''way; : > done; read x");
    sandbox.wait_for_text(&terminal, "read x");
    sandbox.kill_server();
    std::fs::write(go, "").unwrap();
    until(|| done.exists().then_some(()), || String::from("the shell does not go on"));
    sandbox.wait_for_text(&terminal, "while away");
    sandbox.kill_server();
    sandbox.wait_for_text(&terminal, "while away");
}

#[test]
fn a_program_whose_holder_is_killed_is_ended_before_its_end_is_told() {
    let sandbox = Sandbox::new();
    let [seen, unseen] = [sandbox.shell(), sandbox.shell()];
    for terminal in [&seen, &unseen] {
        // Without job control: a shell with it leaves by itself when its terminal is gone.
        let stays = "exec sh -c 'trap \"\" HUP TERM; echo rea\"\"dy; while :; do sleep 1; done'";
        sandbox.type_line(terminal, stays);
        sandbox.wait_for_text(terminal, "ready");
    }
    let pids = [pid_of(&sandbox, &seen), pid_of(&sandbox, &unseen)];
    kill(holder_of(pids[0]));
    wait_for_life(&sandbox, &seen, "exited");
    assert!(!is_running(pids[0]), "{}", sandbox.log());
    sandbox.kill_server();
    kill(holder_of(pids[1]));
    assert!(is_running(pids[1]));
    wait_for_life(&sandbox, &unseen, "lost");
    assert!(!is_running(pids[1]), "{}", sandbox.log());
}

#[test]
fn a_terminal_whose_holder_is_slow_to_answer_is_not_given_up() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let child = pid_of(&sandbox, &terminal);
    let holder = holder_of(child);
    sandbox.kill_server();
    signal(holder, rustix::process::Signal::STOP);
    assert_eq!(sandbox.terminal(&terminal)["life"], "running", "{}", sandbox.log());
    let closed = sandbox.ask(&["terminal", "close", "--terminal", &terminal]);
    assert_eq!(closed["close"]["ptyKilled"], false, "{closed}");
    // What is typed before the holder is heard again waits for it, in order.
    sandbox.type_line(&terminal, "echo st''ill");
    sandbox.type_line(&terminal, "echo h''ere");
    signal(holder, rustix::process::Signal::CONT);
    sandbox.wait_for_text(&terminal, "still");
    sandbox.wait_for_text(&terminal, "here");
    assert!(is_running(child));
}

#[test]
fn a_demo_that_is_interrupted_cleans_up_and_says_so() {
    let sandbox = Sandbox::new();
    let mut demo = std::process::Command::new(orca());
    demo.args(["demo", "--headless"]).env("TMPDIR", sandbox.scratch());
    let demo = demo.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let places = || std::fs::read_dir(sandbox.scratch()).unwrap().map(|entry| entry.unwrap().path());
    let has_terminal = || {
        let folders = places().filter_map(|place| std::fs::read_dir(place.join("state/terminals")).ok());
        folders.flatten().next().map(drop)
    };
    until(has_terminal, || format!("{:?}", places().collect::<Vec<_>>()));
    signal(demo.id(), rustix::process::Signal::HUP);
    let ended = demo.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "orca demo: interrupted\n");
    assert_eq!(places().next(), None, "its folder is left");
}

#[test]
fn restart_keeps_terminals_and_stop_ends_them_only_when_told() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let pid = u32::try_from(sandbox.terminal(&terminal)["pid"].as_u64().unwrap()).unwrap();
    let first = sandbox.server_pid();
    sandbox.ask(&["server", "restart"]);
    assert_ne!(sandbox.server_pid(), first);
    assert!(is_running(pid));
    let refused = sandbox.envelope(&["server", "stop"]);
    assert_eq!(refused["error"]["code"], "confirmation_required", "{refused}");
    assert!(refused.to_string().contains(&terminal), "{refused}");
    assert!(is_running(pid));
    assert_eq!(sandbox.ask(&["server", "stop", "--force"])["nEnded"], 1);
    assert!(!is_running(pid));
    assert_eq!(sandbox.server_pid(), None);
    let holders = std::fs::read_dir(sandbox.state().join("h")).unwrap();
    assert_eq!(holders.count(), 0, "a holder outlived its purpose");
}

/// Every line that a terminal has, its history first.
fn lines_of(sandbox: &Sandbox, terminal: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cursor = Value::from(0);
    while let Some(from) = cursor.as_u64() {
        let words = ["terminal", "read", "--terminal", terminal, "--cursor", &from.to_string()];
        let page = sandbox.ask(&words)["terminal"].clone();
        lines.extend(page["tail"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()));
        cursor = if page["limited"] == true { page["nextCursor"].clone() } else { Value::Null };
    }
    lines
}

#[test]
fn a_flood_over_a_restart_arrives_whole() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    // Less than a holder keeps while no server is there, and more than can be drawn at once.
    sandbox.type_line(&terminal, "seq -f %090.0f 1 9500; echo d''one");
    sandbox.wait_for_text(&terminal, "000");
    sandbox.ask(&["server", "restart"]);
    sandbox.wait_for_text(&terminal, "done");
    let numbers = lines_of(&sandbox, &terminal).into_iter().filter(|line| line.len() == 90);
    let numbers: Vec<u32> = numbers.filter_map(|line| line.parse().ok()).collect();
    assert!(numbers == (1..=9500).collect::<Vec<u32>>(), "{} lines of 9500", numbers.len());
}

/// Asks where the cursor is, again and again, and writes the answers down as they come. Before `go` is there
/// it reads none, and asks no more than half.
const ASKER: &str = r#"
stty raw -echo
n=24000
(i=0; while [ $i -lt $n ]; do
    if [ $i = 12000 ]; then printf '\033[22;1Hha''lf'; until [ -e go ]; do :; done; fi
    printf '\033[21;1H%040d\033[%d;%dH\033[6n' $i $((i / 70 % 20 + 1)) $((i % 70 + 1)); i=$((i + 1))
done) &
until [ -e go ]; do :; done
i=0; while [ $i -lt $n ]; do
    IFS= read -r -d R answer; printf '%s\n' "${answer#*[}" >> answers; i=$((i + 1))
done
: > done
"#;

#[test]
fn every_question_of_a_program_is_answered_in_order_over_restarts() {
    let sandbox = Sandbox::new();
    let script = sandbox.scratch().join("asker");
    std::fs::write(&script, ASKER).unwrap();
    let file = |name: &str| sandbox.repo().join(name);
    let terminal = sandbox.shell();
    sandbox.type_line(&terminal, &format!("bash {}", script.display()));
    sandbox.wait_for_text(&terminal, "half");
    // More answers wait for it than a PTY holds.
    sandbox.ask(&["server", "restart"]);
    std::fs::write(file("go"), "").unwrap();
    for _ in 0..2 {
        sandbox.ask(&["server", "restart"]);
    }
    let read = || std::fs::read_to_string(file("answers")).unwrap_or_default();
    let describe = || format!("{} answers\n{}", read().lines().count(), sandbox.log());
    until(|| file("done").exists().then_some(()), describe);
    let expected: Vec<String> = (0..24_000).map(|i| format!("{};{}", i / 70 % 20 + 1, i % 70 + 1)).collect();
    let read = read();
    let first = read.lines().zip(&expected).position(|(answer, expected)| answer != expected);
    assert_eq!((first, read.lines().count()), (None, expected.len()));
}

#[test]
fn a_forced_stop_tells_of_the_end_when_nothing_runs_any_more() {
    let sandbox = Sandbox::new();
    let (first, second) = (sandbox.shell(), sandbox.shell());
    let mut survivors = Vec::new();
    for terminal in [&first, &second] {
        sandbox.type_line(
            terminal,
            "(trap '' HUP TERM; while :; do sleep 1; done) & echo $! > $ORCA_TERMINAL_HANDLE; echo rea''dy",
        );
        sandbox.wait_for_text(terminal, "ready");
        survivors
            .push(std::fs::read_to_string(sandbox.repo().join(terminal)).unwrap().trim().parse().unwrap());
    }
    sandbox.ask(&["terminal", "close", "--terminal", &first]);
    assert!(!is_running(survivors[0]), "{}", sandbox.log());
    sandbox.ask(&["server", "stop", "--force"]);
    assert!(!is_running(survivors[1]), "{}", sandbox.log());
}

/// More changes than a queue and a socket hold together.
const N_RUNS: usize = 400;

#[test]
fn two_screens_see_the_same_and_one_that_stops_reading_slows_nobody() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let mut stalled = attach(&sandbox);
    let mut lively = attach(&sandbox);
    let id = TerminalId::parse(&terminal).unwrap();
    let size = TermSize::clamped(24, 80);
    let pane = ViewPane { terminal: id.clone(), size };
    let view = View { panes: vec![pane], focus: Some(id), is_active: true };
    for connection in [&mut stalled, &mut lively] {
        connection.send(&ClientFrame::View(view.clone())).unwrap();
    }
    assert_eq!(sandbox.ask(&["status"])["nClients"], 2);
    let reader = std::thread::spawn(move || {
        let mut n_seen = 0;
        while n_seen < N_RUNS {
            if let ServerFrame::Change(change) = lively.next_frame().unwrap() {
                n_seen += change.events.iter().filter(|event| event.kind.as_str() == "run.created").count();
            }
        }
    });
    let flood = "i=0; while [ $i -lt 20000 ]; do echo line $i of the flood; i=$((i+1)); done; echo do''ne";
    sandbox.type_line(&terminal, flood);
    let objective = "x".repeat(4_000);
    for _ in 0..N_RUNS {
        sandbox.ask(&["orchestration", "run-create", "--objective", &objective]);
    }
    sandbox.wait_for_text(&terminal, "done");
    // It was told of every single one, while the other did not read at all.
    reader.join().unwrap();
    // The stalled one reads again: whatever was cut, it ends up with the newest and the number of the others.
    let (mut runs, mut n_older) = (std::collections::BTreeSet::new(), 0);
    while runs.len() + n_older < N_RUNS {
        if let ServerFrame::Change(change) = stalled.next_frame().unwrap() {
            if change.is_snapshot {
                runs.clear();
            }
            n_older = change.n_older_runs.unwrap_or(n_older);
            runs.extend(change.rows.iter().filter_map(|row| match row {
                RowView::Run(run) => Some(run.id.to_string()),
                _ => None,
            }));
        }
    }
}

#[test]
fn a_reset_empties_the_screens_too_and_leaves_terminals_running() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["orchestration", "run-create", "--objective", "x"]);
    let terminal = sandbox.shell();
    let mut screen = attach(&sandbox);
    let mut next_snapshot = || loop {
        if let ServerFrame::Change(change) = screen.next_frame().unwrap()
            && change.is_snapshot
        {
            break change.rows.iter().filter(|row| matches!(row, RowView::Run(_))).count();
        }
    };
    assert_eq!(next_snapshot(), 1);
    assert_eq!(sandbox.ask(&["orchestration", "reset", "--all"])["removed"]["runs"], 1);
    assert_eq!(next_snapshot(), 0);
    sandbox.type_line(&terminal, "echo st''ill here");
    sandbox.wait_for_text(&terminal, "still here");
    sandbox.kill_server();
    assert_eq!(sandbox.ask(&["orchestration", "run-list"])["runs"].as_array().unwrap().len(), 0);
}

#[test]
fn nonsense_on_the_socket_costs_only_its_sender() {
    use std::io::{Read as _, Write as _};
    let sandbox = Sandbox::new();
    sandbox.ask(&["server", "start"]);
    let first = sandbox.server_pid();
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[2, 0, 0, 0, 1, b'{', b'}']] {
        let mut stream = UnixStream::connect(sandbox.state().join("server.sock")).unwrap();
        stream.write_all(nonsense).unwrap();
        let mut rest = Vec::new();
        // It is hung up on; a reset is as good.
        drop(stream.read_to_end(&mut rest));
    }
    let frame = encode(&ClientFrame::Request(orca::proto::envelope::Request {
        id: String::from("1"),
        method: String::from("status.get"),
        params: serde_json::Value::Null,
        request_id: None,
        origin: Default::default(),
        contract: CONTRACT_VERSION + 1,
        version: String::from("9.9.9"),
    }));
    let mut stream = UnixStream::connect(sandbox.state().join("server.sock")).unwrap();
    stream.write_all(&frame.unwrap()).unwrap();
    let mut connection = Connection::new(stream);
    let ServerFrame::Response(response) = connection.next_frame().unwrap() else { panic!("no response") };
    assert_eq!(response.error.unwrap().code.as_str(), "incompatible_runtime");
    assert_eq!(sandbox.server_pid(), first);
}

#[test]
fn a_closed_terminal_leaves_no_holder_behind() {
    let sandbox = Sandbox::new();
    let terminals: Vec<String> = (0..12).map(|_| sandbox.shell()).collect();
    // All at once, so that recording their ends takes longer than closing them.
    let close = |terminal: &String| {
        sandbox.command(&["terminal", "close", "--terminal", terminal]).stdout(Stdio::null()).spawn()
    };
    let closing: Vec<_> = terminals.iter().map(|terminal| close(terminal).unwrap()).collect();
    for mut child in closing {
        assert!(child.wait().unwrap().success(), "{}", sandbox.log());
    }
    let sockets = || std::fs::read_dir(sandbox.state().join("h")).unwrap().count();
    until(|| (sockets() == 0).then_some(()), || format!("{} holders stay\n{}", sockets(), sandbox.log()));
}

#[test]
fn what_git_cannot_make_is_refused_before_anything_is_accepted() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "Start nothing"]);
    let task = sandbox.ask(&["orchestration", "task-create", "--spec", "Wait"])["task"]["id"].clone();
    let start = |flags: &[&str]| {
        let words = ["orchestration", "worker-start", "--task", task.as_str().unwrap(), "--agent", "quiet"];
        let words = [&words[..], &["--worktree", "new-top-level"], flags].concat();
        sandbox.envelope(&words)["error"]["code"].clone()
    };
    assert_eq!(start(&["--name", "..."]), "invalid_argument");
    assert_eq!(start(&["--name", "fix", "--base-branch", "no-such-branch"]), "invalid_argument");
    let refused =
        sandbox.envelope(&["worktree", "create", "--name", "fix", "--base-branch", "no-such-branch"]);
    let step = refused["error"]["data"]["nextSteps"][0].as_str().unwrap().to_owned();
    assert!(step.starts_with("orca repo search-refs --repo path:"), "{step}");
    let unborn = sandbox.scratch().join("unborn");
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(&unborn).output().unwrap();
    assert!(git.status.success(), "{git:?}");
    sandbox.ask(&["repo", "add", "--path", unborn.to_str().unwrap()]);
    let selector = format!("path:{}", unborn.canonicalize().unwrap().display());
    assert_eq!(start(&["--name", "fix", "--repo", &selector]), "unborn_branch");
    let created = sandbox.envelope(&["worktree", "create", "--name", "fix", "--repo", &selector]);
    assert_eq!(created["error"]["code"], "unborn_branch");
    let listed = sandbox.ask(&["orchestration", "task-list"]);
    assert_eq!(listed["tasks"][0]["status"], "ready");
    assert_eq!(sandbox.ask(&["orchestration", "worker-list"])["workers"].as_array().unwrap().len(), 0);
}

#[test]
fn a_variable_that_names_another_server_is_refused_like_the_flag() {
    let sandbox = Sandbox::new();
    for name in ["ORCA_ENVIRONMENT", "ORCA_PAIRING_CODE", "ORCA_REMOTE_PAIRING"] {
        let output =
            sandbox.command(&["orchestration", "run-list", "--json"]).env(name, "prod").output().unwrap();
        let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(envelope["error"]["code"], "capability_unsupported", "{envelope}");
        assert!(envelope["error"]["message"].as_str().unwrap().contains(name), "{envelope}");
    }
    assert!(!sandbox.state().exists(), "a server was started all the same");
}

/// A screen that does not hear that its server goes keeps what it could not send any more; all that it could
/// reaches the program.
#[test]
fn what_a_screen_could_send_before_a_restart_reaches_the_program() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let typed = sandbox.scratch().join("typed");
    sandbox.type_line(&terminal, &format!("stty -echo -icanon; echo re''ady; cat > {}", typed.display()));
    sandbox.wait_for_text(&terminal, "ready");
    let mut screen = attach(&sandbox);
    let mut restart = sandbox.command(&["server", "restart"]).stdout(Stdio::null()).spawn().unwrap();
    let terminal = TerminalId::parse(&terminal).unwrap();
    let mut sent = String::new();
    loop {
        let text = format!("{} ", sent.len());
        let event = InputEvent::Paste(text.clone());
        if screen.send(&ClientFrame::Input { terminal: terminal.clone(), event }).is_err() {
            break;
        }
        sent.push_str(&text);
    }
    assert!(restart.wait().unwrap().success());
    let read = || std::fs::read_to_string(&typed).unwrap_or_default();
    until(|| (read().len() >= sent.len()).then_some(()), || format!("{} of {}", read().len(), sent.len()));
    assert_eq!(read(), sent);
}

/// A program that reads nothing for as long as its server lives reads under the next one what was typed.
#[test]
fn what_a_program_has_not_read_before_a_restart_is_typed_after_it() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let (typed, go) = (sandbox.scratch().join("typed"), sandbox.scratch().join("go"));
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
    let line = format!("stty raw -echo; echo re''ady; {wait}; cat > {}", typed.display());
    sandbox.type_line(&terminal, &line);
    sandbox.wait_for_text(&terminal, "ready");
    let mut screen = attach(&sandbox);
    let terminal = TerminalId::parse(&terminal).unwrap();
    let sent: String = (0..20_000).map(|n| format!("{n} ")).collect();
    let (first, last) = sent.split_at(sent.len() - 100);
    let input = |text: &str| {
        let (terminal, event) = (terminal.clone(), InputEvent::Paste(text.to_owned()));
        ClientFrame::Input { terminal, event }
    };
    screen.send(&input(first)).unwrap();
    sandbox.ask(&["server", "restart"]);
    let mut next = attach(&sandbox);
    next.send(&input(last)).unwrap();
    std::fs::write(&go, "").unwrap();
    let read = || std::fs::read_to_string(&typed).unwrap_or_default();
    until(|| (read().len() >= sent.len()).then_some(()), || format!("{} of {}", read().len(), sent.len()));
    assert_eq!(read(), sent);
}
