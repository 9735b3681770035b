//! The process that owns one PTY and its child, and nothing else. It survives the server.
//!
//! While a server is connected it only waits: the server has the PTY's descriptor and reads by
//! itself. While none is, it drains the PTY into a bounded ring, so that the child never blocks.
//! The loop is one thread, so nobody else reads while it hands over: the server gets the ring first
//! and reads the descriptor after it, and no byte is lost or doubled. The ring is kept until the server
//! says that it has it. Bytes that a server had read when it was killed are in its journal or gone with
//! it.
//!
//! One holder at a time has a terminal's folder: it locks `holder.lock` there. It leaves two records
//! beside it: `holder.json` when the child runs, `exit.json` when it ended or could not be started.
//! It goes when a server said that the end is recorded ([`wire::Message::Collected`]).

mod child;
mod kill;
mod serve;

pub use kill::{end_left, is_session_of};

use super::PtyError;
use super::files::write_private;
use super::wire::{ChildEnd, Hello, LaunchSpec};
use crate::base::clock::Clock;
use crate::base::report::OrLog as _;
use crate::base::sched::{self, Class};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FlockOperation;
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A holder that has not told of its child by then hangs, on a dead network folder for example.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long a second holder waits for the first one's word.
const CLAIM_PATIENCE: Duration = Duration::from_secs(2);
/// The exit code that stands for a program which never ran, as shells have it.
const NOT_STARTED: i32 = 127;

/// Starts a holder for `spec` that belongs to nobody, and waits until its child runs.
///
/// `program` is this program. The spec is written to `launch.json` in the terminal's folder, which
/// must exist. Safe to repeat: where a holder of the same incarnation runs already, that one's word is
/// given. On failure nothing is left running, and the error says what the person can mend.
pub fn spawn(program: &Path, spec: &LaunchSpec) -> Result<Hello, PtyError> {
    let told = ask_for_holder(program, spec)?;
    told.map_err(|reason| PtyError::Spawn { program: spec.argv.first().cloned().unwrap_or_default(), reason })
}

fn ask_for_holder(program: &Path, spec: &LaunchSpec) -> Result<Result<Hello, String>, PtyError> {
    let launch = spec.dir.join("launch.json");
    let json = serde_json::to_vec(spec).map_err(|_| PtyError::Malformed { what: "launch record" })?;
    write_private(&launch, &json, "write the terminal's launch record")?;
    let mut starter = Command::new(program)
        .args(["holder", "--detach"])
        .arg(&launch)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(PtyError::io("start the holder"))?;
    let answer = starter.stdout.take().map(read_answer).transpose();
    // The starter only starts the holder; it is over by now or in a moment.
    starter.wait().or_log("reap the holder's starter");
    let answer = answer.map_err(PtyError::io("hear from the holder"))?.unwrap_or_default();
    Ok(serde_json::from_slice(&answer)
        .unwrap_or_else(|_| Err(String::from("the holder ended before it said anything"))))
}

/// Reads to the end of the pipe, which the holder closes once it is under way.
fn read_answer(mut pipe: std::process::ChildStdout) -> std::io::Result<Vec<u8>> {
    let began = Instant::now();
    let mut answer = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let left = START_PATIENCE.saturating_sub(began.elapsed());
        let timeout = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(0), tv_nsec: 1_000_000 };
        match poll(&mut [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(0) if left.is_zero() => return Err(std::io::ErrorKind::TimedOut.into()),
            Ok(0) => continue,
            Ok(_) => {}
        }
        match pipe.read(&mut buffer)? {
            0 => return Ok(answer),
            n => answer.extend_from_slice(buffer.get(..n).unwrap_or_default()),
        }
    }
}

/// The hidden subcommand: `orca holder [--detach] <launch.json>`. Gives the exit code.
///
/// With `--detach` it starts itself once more and goes, so that the holder's parent is init. Must be
/// the first thing the process does: it closes every descriptor it did not ask for.
pub fn main(args: &[std::ffi::OsString]) -> u8 {
    // Whoever started the server may have left files and pipes open; a holder lives for days.
    portable_pty::unix::close_random_fds();
    // Its program inherits it.
    sched::set(Class::Usual);
    match args {
        [flag, spec] if flag == "--detach" => start_detached(Path::new(spec)),
        [spec] => run(Path::new(spec)),
        _ => 2,
    }
}

fn start_detached(spec: &Path) -> u8 {
    let Ok(program) = std::env::current_exe() else { return 1 };
    u8::from(Command::new(program).arg("holder").arg(spec).spawn().is_err())
}

fn run(spec_path: &Path) -> u8 {
    let started = start(spec_path);
    let told = match &started {
        Ok(Started::Ours(holder)) => Ok(&holder.hello),
        Ok(Started::Theirs(hello)) => Ok(hello),
        Err(reason) => Err(reason),
    };
    let words = serde_json::to_vec(&told).unwrap_or_default();
    let mut stdout = std::io::stdout();
    stdout.write_all(&words).and_then(|()| stdout.flush()).or_log("the starter went away");
    leave_terminal().or_log("keep standard output open");
    match started {
        Ok(Started::Ours(mut holder)) => {
            holder.serve();
            0
        }
        Ok(Started::Theirs(_)) => 0,
        Err(_) => 1,
    }
}

/// Standard output is the starter's pipe: closing it is how the starter knows we are done.
fn leave_terminal() -> std::io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    // A folder that somebody wants to unmount is not ours to keep busy.
    std::env::set_current_dir("/")
}

enum Started {
    Ours(Box<serve::Holder>),
    /// A holder of the same incarnation was there first.
    Theirs(Hello),
}

fn start(spec_path: &Path) -> Result<Started, String> {
    let text = std::fs::read(spec_path).map_err(|error| format!("{}: {error}", spec_path.display()))?;
    let spec: LaunchSpec =
        serde_json::from_slice(&text).map_err(|error| format!("the launch record: {error}"))?;
    // Fails only where we lead a process group already; then there is no terminal to leave either.
    rustix::process::setsid().or_log("leave the session");
    let lock = match claim(&spec)? {
        Claim::Ours(lock) => lock,
        Claim::Theirs(hello) => return Ok(Started::Theirs(hello)),
    };
    for name in ["holder.json", "exit.json"] {
        drop(std::fs::remove_file(spec.dir.join(name))); // usually there is none
    }
    let holder = listen(&spec).and_then(|listener| child::start(spec.clone(), listener, lock));
    match holder {
        Ok(holder) => Ok(Started::Ours(Box::new(holder))),
        Err(reason) => {
            drop(std::fs::remove_file(&spec.socket)); // may never have been made
            record_failure(&spec, &reason);
            Err(reason)
        }
    }
}

enum Claim {
    Ours(File),
    Theirs(Hello),
}

/// Takes the terminal's folder, or finds who has it. A server that was killed while it started a
/// holder makes the next one start it again; there must still be only one child.
fn claim(spec: &LaunchSpec) -> Result<Claim, String> {
    let path = spec.dir.join("holder.lock");
    let began = Instant::now();
    loop {
        let file = super::files::create_private(&path)
            .map_err(|error| format!("the terminal's folder {}: {error}", spec.dir.display()))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Claim::Ours(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
        if let Some(hello) = super::link::recorded_start(&spec.dir)
            && hello.incarnation == spec.incarnation
        {
            return Ok(Claim::Theirs(hello));
        }
        if began.elapsed() > CLAIM_PATIENCE {
            return Err(String::from("another process still runs in this terminal"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Binds the socket. Whatever is at its place is dead: we have the lock.
fn listen(spec: &LaunchSpec) -> Result<UnixListener, String> {
    let told = |error: std::io::Error| format!("the socket {}: {error}", spec.socket.display());
    drop(std::fs::remove_file(&spec.socket)); // usually there is none
    let listener = UnixListener::bind(&spec.socket).map_err(told)?;
    std::fs::set_permissions(&spec.socket, std::fs::Permissions::from_mode(0o600)).map_err(told)?;
    listener.set_nonblocking(true).map_err(told)?;
    Ok(listener)
}

/// What `exit.json` holds: the end, and for a program that never ran, why.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExitRecord {
    #[serde(flatten)]
    pub end: ChildEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn record_failure(spec: &LaunchSpec, reason: &str) {
    let end = ChildEnd { exit_code: Some(NOT_STARTED), signal: None, at: Clock::System.now() };
    record_exit(&spec.dir, &ExitRecord { end, reason: Some(reason.to_owned()) });
}

/// A full disk costs the record, not the report: a server that is there still hears of the end.
fn record_exit(dir: &Path, record: &ExitRecord) {
    let Some(json) = serde_json::to_vec(record).or_log("write the child's end") else { return };
    write_private(&dir.join("exit.json"), &json, "record the child's end").or_log("record the child's end");
}
