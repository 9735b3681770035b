//! The holder as a real process: a terminal that outlives whoever looks at it.

use crate::support::wait::until;
use orca::base::size::TermSize;
use orca::pty::PtyError;
use orca::pty::holder;
use orca::pty::link::{self, Link};
use orca::pty::wire::{ChildEnd, LaunchSpec};
use std::io::Read as _;
use std::path::Path;

fn orca() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_orca"))
}

fn spec(dir: &Path, script: &str) -> LaunchSpec {
    LaunchSpec {
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

/// Reads what is there and says whether the other side is closed.
fn read_some(link: &Link, seen: &mut Vec<u8>) -> bool {
    let mut buffer = [0_u8; 4096];
    let mut master = std::fs::File::from(link.master.try_clone().unwrap());
    match master.read(&mut buffer) {
        Ok(0) => true,
        Ok(n) => {
            seen.extend_from_slice(&buffer[..n]);
            false
        }
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
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
    use std::io::Write as _;
    let mut master = std::fs::File::from(link.master.try_clone().unwrap());
    master.write_all(line.as_bytes()).unwrap();
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
    while !read_some(&link, &mut seen) && !String::from_utf8_lossy(&seen).contains("last words") {}
    assert!(String::from_utf8_lossy(&seen).contains("last words"));
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_kill_ends_even_a_child_that_ignores_everything_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(dir.path(), "trap '' HUP TERM INT; echo ready; while :; do read x; done");
    holder::spawn(orca(), &spec).unwrap();
    let mut link = Link::connect(&spec.socket).unwrap();
    let mut seen = link.ring.clone();
    read_until(&link, &mut seen, "ready");
    link.kill(300).unwrap();
    assert_eq!(wait_for_end(&mut link).signal, Some(9));
    link.collected().unwrap();
    wait_until_gone(&spec.socket);
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut missing = spec(dir.path(), "");
    missing.argv = vec![String::from("no-such-program-anywhere")];
    match holder::spawn(orca(), &missing) {
        Err(PtyError::Spawn { program, reason }) => {
            assert_eq!(program, "no-such-program-anywhere");
            assert!(!reason.is_empty());
        }
        other => panic!("{other:?}"),
    }
    assert!(!missing.socket.exists());
    let mut nowhere = spec(dir.path(), "true");
    nowhere.cwd = dir.path().join("gone");
    assert!(matches!(holder::spawn(orca(), &nowhere), Err(PtyError::Spawn { .. })));
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
