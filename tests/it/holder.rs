//! The holder as a real process: a terminal that outlives whoever looks at it.

use crate::support::wait::until;
use orca::base::size::TermSize;
use orca::pty::PtyError;
use orca::pty::holder;
use orca::pty::link::{self, Found, Link, Output};
use orca::pty::wire::{ChildEnd, LaunchSpec};
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

fn orca() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_orca"))
}

fn spec(dir: &Path, script: &str) -> LaunchSpec {
    LaunchSpec {
        agent: None,
        terminal: String::from("term_1"),
        incarnation: String::from("inc_1"),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![(String::from("GREETING"), String::from("hello ü"))],
        unset_env: vec![String::from("HOME")],
        cwd: dir.to_owned(),
        size: TermSize::clamped(10, 40),
        socket: dir.join("h.sock"),
        dir: dir.to_owned(),
        ring_bytes: 64 << 10,
    }
}

/// Reads what is there and says whether there may be more.
fn read_some(link: &Link, seen: &mut Vec<u8>) -> Output {
    let mut buffer = [0_u8; 4096];
    let output = link::read(&link.master, &mut buffer).unwrap();
    if let Output::Bytes(n) = output {
        seen.extend_from_slice(&buffer[..n]);
    }
    output
}

fn read_until(link: &Link, seen: &mut Vec<u8>, text: &str) {
    let described = std::cell::RefCell::new(String::new());
    until(
        || {
            read_some(link, seen);
            *described.borrow_mut() = String::from_utf8_lossy(seen).into_owned();
            described.borrow().contains(text).then_some(())
        },
        || described.borrow().clone(),
    );
}

fn wait_for_end(link: &mut Link) -> ChildEnd {
    until(|| link.poll_message().unwrap(), || String::from("no end was told"))
}

fn send_line(link: &Link, line: &str) {
    assert_eq!(link::write(&link.master, line.as_bytes()).unwrap(), line.len());
}

fn wait_until_gone(socket: &Path) {
    until(|| (!socket.exists()).then_some(()), || String::from("the holder is still there"));
}

#[test]
fn output_and_status_survive_a_server_that_goes_and_comes() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(
        dir.path(),
        "printf '%s %s\\n' \"$GREETING\" \"${HOME-nohome}\"; read x; echo got $x; stty size; exit 7",
    );
    holder::spawn(orca(), &spec).unwrap();
    let first = Link::connect(&spec.socket).unwrap();
    let mut seen = first.ring.clone();
    read_until(&first, &mut seen, "hello ü nohome");
    send_line(&first, "abc\r");
    drop(first);

    until(|| link::recorded_end(dir.path()), || String::from("no exit.json"));
    let mut second = Link::connect(&spec.socket).unwrap();
    let text = String::from_utf8_lossy(&second.ring).into_owned();
    assert!(text.contains("got abc") && text.contains("10 40"), "{text:?}");
    assert_eq!(second.hello.end.unwrap().exit_code, Some(7));
    assert_eq!(second.hello.n_dropped, 0);
    second.collected().unwrap();
    wait_until_gone(&spec.socket);
    assert!(matches!(Link::connect(&spec.socket), Err(PtyError::HolderGone)));
}

#[test]
fn a_server_that_dies_before_it_took_the_kept_output_leaves_it_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "echo kept; read x");
    holder::spawn(orca(), &spec).unwrap();
    until(
        || {
            let mut caller = UnixStream::connect(&spec.socket).unwrap();
            // It is handed over, and the caller goes without a word.
            let mut hello = [0_u8; 4096];
            let n_read = caller.read(&mut hello).unwrap();
            String::from_utf8_lossy(&hello[..n_read]).contains("\"n_ring\":6").then_some(())
        },
        || String::from("the holder kept nothing"),
    );
    let mut link = Link::connect(&spec.socket).unwrap();
    assert_eq!(String::from_utf8_lossy(&link.ring), "kept\r\n");
    send_line(&link, "\r");
    wait_for_end(&mut link);
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_terminal_may_be_one_row_of_two_columns() {
    let dir = tempfile::tempdir().unwrap();
    let script = "stty size; read x; stty size; read x";
    let spec = LaunchSpec { size: TermSize::clamped(1, 2), ..spec(dir.path(), script) };
    holder::spawn(orca(), &spec).unwrap();
    let link = Link::connect(&spec.socket).unwrap();
    let mut seen = link.ring.clone();
    read_until(&link, &mut seen, "1 2\r\n");
    link.resize(TermSize::clamped(1, 3)).unwrap();
    send_line(&link, "\r");
    read_until(&link, &mut seen, "1 3\r\n");
    send_line(&link, "\r");
    until(|| link::recorded_end(dir.path()), || String::from("no end"));
    Link::connect(&spec.socket).unwrap().collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_flood_without_a_server_never_blocks_the_child_and_keeps_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end");
    holder::spawn(orca(), &spec).unwrap();
    until(|| link::recorded_end(dir.path()), || String::from("the child is blocked"));
    let mut link = until(
        || {
            let link = Link::connect(&spec.socket).unwrap();
            String::from_utf8_lossy(&link.ring).contains("the end").then_some(link)
        },
        || String::from("the last line is lost"),
    );
    assert!(link.ring.len() <= 64 << 10);
    assert!(link.hello.n_dropped > 2_000_000, "{}", link.hello.n_dropped);
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn the_end_is_told_at_once_and_after_the_last_output() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "read x; echo last words; kill -TERM $$");
    holder::spawn(orca(), &spec).unwrap();
    let mut link = Link::connect(&spec.socket).unwrap();
    send_line(&link, "\r");
    let end = wait_for_end(&mut link);
    assert_eq!((end.exit_code, end.signal), (None, Some(15)));
    let mut seen = Vec::new();
    while matches!(read_some(&link, &mut seen), Output::Bytes(_)) {}
    assert!(String::from_utf8_lossy(&seen).contains("last words"));
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_kill_ends_even_a_child_that_ignores_everything_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "trap '' HUP TERM INT; echo ready; while :; do sleep 1; done");
    holder::spawn(orca(), &spec).unwrap();
    let mut link = Link::connect(&spec.socket).unwrap();
    let mut seen = link.ring.clone();
    read_until(&link, &mut seen, "ready");
    link.kill(300).unwrap();
    assert_eq!(wait_for_end(&mut link).signal, Some(9));
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

/// A shell whose background process outlives a hang-up; prints `pid <number> ready`.
const SURVIVED: &str =
    "(trap '' HUP; echo pid $(sh -c 'echo $PPID') ready; while :; do sleep 1; done) & wait";

/// The process of which that tells.
fn survivor_of(link: &Link) -> rustix::process::Pid {
    let mut seen = link.ring.clone();
    read_until(link, &mut seen, "ready");
    let text = String::from_utf8_lossy(&seen).into_owned();
    let survivor: i32 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    rustix::process::Pid::from_raw(survivor).unwrap()
}

fn is_dead(process: rustix::process::Pid) -> bool {
    // A zombie that init has not reaped is as dead as it gets.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    rustix::process::test_kill_process(process).is_err() || stat.unwrap_or_default().contains(") Z")
}

#[test]
fn a_kill_reaches_what_outlives_the_child() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), SURVIVED);
    holder::spawn(orca(), &spec).unwrap();
    let mut link = Link::connect(&spec.socket).unwrap();
    let survivor = survivor_of(&link);
    link.kill(400).unwrap();
    assert_eq!(wait_for_end(&mut link).signal, Some(1), "the child itself goes at the hang-up");
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
    assert!(is_dead(survivor));
}

/// A program that ignores what it can, with three children in sessions of their own: one of itself, one whose
/// parent is gone, and one without an environment; prints their numbers and `ready`.
const SCATTERED: &str = "trap '' HUP TERM; run='echo $$ >> $0; exec sleep 1000'
    setsid sh -c \"$run\" pids &
    (setsid sh -c \"$run\" pids &)
    setsid env -i sh -c \"$run\" pids &
    while [ \"$(wc -l < pids)\" != 3 ]; do sleep 0.05; done; echo ready; while :; do sleep 1; done";

/// Starts [`SCATTERED`] and kills it; gives what became of its three children.
fn scatter(agent: Option<&str>) -> Vec<rustix::process::Pid> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pids"), "").unwrap();
    let spec = spec(dir.path(), SCATTERED);
    let env = vec![(String::from("ORCA_TERMINAL_HANDLE"), spec.terminal.clone())];
    let (agent, cwd) = (agent.map(str::to_owned), dir.path().to_owned());
    let spec = LaunchSpec { agent, env, cwd, ..spec };
    holder::spawn(orca(), &spec).unwrap();
    let mut link = Link::connect(&spec.socket).unwrap();
    let mut seen = link.ring.clone();
    read_until(&link, &mut seen, "ready");
    link.kill(300).unwrap();
    wait_for_end(&mut link);
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
    let pids = std::fs::read_to_string(dir.path().join("pids")).unwrap();
    pids.lines().map(|pid| rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn with_an_agent_ends_what_it_started_and_a_shells_daemons_live_on() {
    assert!(scatter(Some("quiet")).into_iter().all(is_dead), "an agent's child is left");
    for daemon in scatter(None) {
        assert!(!is_dead(daemon), "a shell's daemon was ended");
        rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn what_runs_in_a_folder_that_was_removed_is_ended_before_its_holder_goes() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), SURVIVED);
    let hello = holder::spawn(orca(), &spec).unwrap();
    let link = Link::connect(&spec.socket).unwrap();
    let survivor = survivor_of(&link);
    drop(link);
    dir.close().unwrap();
    let holder = rustix::process::Pid::from_raw(i32::try_from(hello.holder_pid).unwrap()).unwrap();
    until(|| is_dead(holder).then_some(()), || String::from("the holder stays"));
    assert!(is_dead(survivor));
}

#[test]
fn no_byte_is_lost_or_doubled_over_many_servers() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec(dir.path(), "stty -opost; seq 1 100000");
    spec.ring_bytes = 4 << 20;
    holder::spawn(orca(), &spec).unwrap();
    let mut seen = Vec::new();
    let (mut n_servers, mut is_over) = (0, false);
    while !is_over {
        let mut link = Link::connect(&spec.socket).unwrap();
        assert_eq!(link.hello.n_dropped, 0);
        seen.extend_from_slice(&link.ring);
        n_servers += 1;
        let had_ended = link.hello.end.is_some();
        for _ in 0..n_servers {
            is_over = read_some(&link, &mut seen) == Output::Closed || is_over;
        }
        is_over &= had_ended;
        if is_over {
            link.collected().unwrap();
        }
    }
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(n_servers > 1, "one server saw it all");
    assert!(seen == expected.as_bytes(), "{} bytes instead of {}", seen.len(), expected.len());
    wait_until_gone(&spec.socket);
}

#[test]
fn the_child_has_a_terminal_and_untouched_signals() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo to the tty > /dev/tty; stty -a | grep -o '.iutf8'; kill -PIPE $$; exit 3";
    let spec = spec(dir.path(), script);
    let (mut reader, writer) = std::io::pipe().unwrap();
    // A descriptor that anybody left open must not live on in the holder.
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
    holder::spawn(orca(), &spec).unwrap();
    drop(writer);
    until(|| link::recorded_end(dir.path()), || String::from("no exit.json"));
    let mut link = Link::connect(&spec.socket).unwrap();
    let text = String::from_utf8_lossy(&link.ring).into_owned();
    assert!(text.contains("to the tty") && text.contains(" iutf8"), "{text:?}");
    assert_eq!(link.hello.end.unwrap().signal, Some(13));
    assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn starting_twice_gives_one_child() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec(dir.path(), "echo started >> count; read x");
    let first = holder::spawn(orca(), &spec).unwrap();
    let again = holder::spawn(orca(), &spec).unwrap();
    assert_eq!((first.child_pid, first.started_at), (again.child_pid, again.started_at));
    spec.incarnation = String::from("inc_2");
    assert!(matches!(holder::spawn(orca(), &spec), Err(PtyError::Spawn { .. })), "another one is in there");
    let mut link = Link::connect(&spec.socket).unwrap();
    send_line(&link, "\r");
    wait_for_end(&mut link);
    assert_eq!(std::fs::read_to_string(dir.path().join("count")).unwrap(), "started\n");
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_later_server_finds_out_what_became_of_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let find = |spec: &LaunchSpec| link::find(&spec.socket, &spec.dir).unwrap();
    let spec = spec(dir.path(), "read x; exit 4");
    assert!(matches!(find(&spec), Found::NeverStarted));
    let hello = holder::spawn(orca(), &spec).unwrap();
    assert_eq!(link::sockets(dir.path()), std::slice::from_ref(&spec.socket));
    let Found::Held(link) = find(&spec) else { panic!("not held") };
    send_line(&link, "\r");
    drop(link);
    until(|| link::recorded_end(dir.path()), || String::from("no exit.json"));
    let holder = rustix::process::Pid::from_raw(i32::try_from(hello.holder_pid).unwrap()).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
    until(|| (!link::is_held(dir.path())).then_some(()), || String::from("the lock is still held"));
    assert!(spec.socket.exists());
    assert!(matches!(find(&spec), Found::Ended(end) if end.exit_code == Some(4)));
    assert!(!spec.socket.exists(), "a dead socket is tidied away");
    std::fs::remove_file(dir.path().join("exit.json")).unwrap();
    assert!(matches!(find(&spec), Found::Lost));
}

#[test]
fn a_socket_that_was_tidied_away_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "read x");
    holder::spawn(orca(), &spec).unwrap();
    std::fs::remove_file(&spec.socket).unwrap();
    let Found::Held(mut link) = link::find(&spec.socket, dir.path()).unwrap() else { panic!("not held") };
    send_line(&link, "\r");
    wait_for_end(&mut link);
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, mode| {
        let path = dir.path().join(name);
        std::fs::write(&path, "#!/no/such/shell -e\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let fails = |argv: Vec<String>, cwd: &Path, expected: &str| {
        let spec = LaunchSpec { argv: argv.clone(), cwd: cwd.to_owned(), ..spec(dir.path(), "") };
        match holder::spawn(orca(), &spec) {
            Err(PtyError::Spawn { program, reason }) => {
                assert_eq!(program, argv.first().cloned().unwrap_or_default());
                assert!(reason.contains(expected), "{reason}");
                assert_eq!(link::recorded_failure(dir.path()), Some(reason));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(link::recorded_end(dir.path()).unwrap().exit_code, Some(127));
        assert!(!spec.socket.exists() && link::recorded_start(dir.path()).is_none());
    };
    let here = dir.path();
    fails(vec![String::from("no-such-program-anywhere")], here, "not found in PATH");
    fails(vec![String::from("./no-such-program")], here, "does not exist");
    fails(vec![file("plain", 0o644)], here, "not executable");
    fails(vec![file("script", 0o755)], here, "needs /no/such/shell, which does not exist");
    fails(vec![here.display().to_string()], here, "is a folder");
    fails(Vec::new(), here, "no program was named");
    fails(vec![String::from("true")], &here.join("gone"), "gone does not exist");
    fails(vec![String::from("true"), "x".repeat(200_000)], here, "too long");
}

#[test]
fn the_newest_server_gets_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "echo one; read x; echo two; read x");
    holder::spawn(orca(), &spec).unwrap();
    let mut first = Link::connect(&spec.socket).unwrap();
    let mut seen = first.ring.clone();
    read_until(&first, &mut seen, "one");
    let second = Link::connect(&spec.socket).unwrap();
    until(|| first.poll_message().is_err().then_some(()), || String::from("the first was not let go"));
    send_line(&second, "\r");
    let mut seen = second.ring.clone();
    read_until(&second, &mut seen, "two");
    send_line(&second, "\r");
    let mut second = second;
    assert_eq!(wait_for_end(&mut second).exit_code, Some(0));
    second.collected().unwrap();
    wait_until_gone(&spec.socket);
}
