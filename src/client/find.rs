//! Locating the server of a state directory, and starting it where there is none.
//!
//! Many commands may find none at the same moment; they queue at a lock, the first starts one and the
//! others find it. The started server says on its standard output how that went.

use super::wire::Connection;
use crate::base::code::ErrorCode;
use crate::base::lock;
use crate::base::path::{StateDir, make_private_dir};
use crate::config::env::Environment;
use crate::proto::error::ErrorBody;
use crate::proto::server::StartReport;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server that another command started may take to listen.
const PATIENCE: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(10);
const RETRY: Duration = Duration::from_millis(300);

/// Where a server is and whether one may be started there.
#[derive(Debug, Clone)]
pub struct Place {
    pub dir: StateDir,
    pub uid: u32,
    /// Where calls are kept that no server takes, first choice first.
    pub spools: [PathBuf; 3],
    pub may_start: bool,
    /// The program to start; the one that runs this.
    pub program: PathBuf,
}

impl Place {
    /// The place that the environment names.
    pub fn of(environment: &Environment) -> Self {
        let uid = rustix::process::getuid().as_raw();
        let dir = environment.state_dir(uid);
        Self {
            spools: dir.spools(uid, &environment.temp_dir),
            dir,
            uid,
            may_start: !environment.is_autostart_off,
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("orca")),
        }
    }

    fn shown(&self) -> String {
        self.dir.root().display().to_string()
    }
}

/// Connects to the server that runs; starts none.
pub fn connect_running(place: &Place) -> std::io::Result<Connection> {
    UnixStream::connect(place.dir.socket()).map(Connection::new)
}

/// Whether a server holds the state directory, listening or not.
pub fn is_locked(place: &Place) -> bool {
    let Ok(lock) = std::fs::File::open(place.dir.lock()) else { return false };
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
}

/// The process that holds the state directory, as it says itself.
pub fn holder(place: &Place) -> Option<u32> {
    lock::read(&place.dir.lock()).pid.filter(|_| is_locked(place))
}

/// Takes the state directory where no server has it, so that none starts meanwhile; the file is open for
/// appending. None: a server has it.
pub fn take(place: &Place) -> Option<File> {
    let lock = std::fs::OpenOptions::new().append(true).open(place.dir.lock()).ok()?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(lock)
}

/// Adds what to do about the process that holds the state directory and says nothing: wake it where
/// somebody stopped it, else end it; its terminals go on either way.
pub fn with_ways_out(place: &Place, error: ErrorBody) -> ErrorBody {
    match holder(place) {
        Some(pid) => error
            .with("pid", pid)
            .next_step(format!("kill -CONT {pid}"))
            .next_step(format!("kill -KILL {pid} && orca server start")),
        None => error.next_step("orca server status"),
    }
}

/// What tells the server that listens now from every other one that did or will: its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    inode: u64,
    made_at: (i64, i64),
}

/// The mark of the server that listens now; None where there is none.
pub fn mark(place: &Place) -> Option<Mark> {
    let socket = std::fs::symlink_metadata(place.dir.socket()).ok()?;
    Some(Mark { inode: socket.ino(), made_at: (socket.ctime(), socket.ctime_nsec()) })
}

/// Connects to the server, after starting it where there is none.
pub fn connect_or_start(place: &Place) -> Result<Connection, ErrorBody> {
    if let Ok(connection) = connect_running(place) {
        return Ok(connection);
    }
    if !place.may_start {
        return Err(unavailable(place, "none runs and ORCA_NO_AUTOSTART is set")
            .next_step("orca server start")
            .next_step("orca open"));
    }
    start(place)
}

/// The right to start a server; whoever else wants to start one waits until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

/// Waits for the right to start a server.
pub fn turn(place: &Place) -> Result<Turn, ErrorBody> {
    make_private_dir(place.dir.root(), place.uid).map_err(|error| cannot_use(place, &error))?;
    let turn = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(place.dir.root().join("start.lock"))
        .map_err(|error| cannot_use(place, &error))?;
    rustix::fs::flock(&turn, FlockOperation::LockExclusive)
        .map_err(|error| cannot_use(place, &error.into()))?;
    Ok(Turn { _lock: turn })
}

/// Starts a server unless another command does so first, and connects.
pub fn start(place: &Place) -> Result<Connection, ErrorBody> {
    start_in(&turn(place)?, place)
}

/// The same for whoever has the turn already.
pub fn start_in(_turn: &Turn, place: &Place) -> Result<Connection, ErrorBody> {
    if let Ok(connection) = connect_running(place) {
        return Ok(connection);
    }
    match launch(place)? {
        StartReport::Ready { .. } => connect_running(place)
            .map_err(|error| unavailable(place, &format!("it was started and cannot be reached: {error}"))),
        StartReport::Lost => wait_for_other(place),
        StartReport::Failed(error) => Err(error),
    }
}

/// Another server holds the lock but does not listen: it starts, or it ends.
fn wait_for_other(place: &Place) -> Result<Connection, ErrorBody> {
    let began = Instant::now();
    let mut next_try = RETRY;
    loop {
        if let Ok(connection) = connect_running(place) {
            return Ok(connection);
        }
        if began.elapsed() > PATIENCE {
            let log = place.dir.log();
            let error = unavailable(place, "another one holds the state directory and does not answer");
            return Err(with_ways_out(place, error)
                .next_step(format!("tail {}", crate::base::text::shell_quote(&log.display().to_string()))));
        }
        std::thread::sleep(LOOK_EVERY);
        if began.elapsed() > next_try {
            // The other one may have been on its way out.
            next_try += RETRY;
            if let StartReport::Failed(error) = launch(place)? {
                return Err(error);
            }
        }
    }
}

/// Starts the program as a server and hears how it went.
fn launch(place: &Place) -> Result<StartReport, ErrorBody> {
    let failed = |why: String| unavailable(place, &why).next_step("orca server run");
    let mut command = Command::new(&place.program);
    command.args(["server", "run", "--detached"]).env("ORCA_HOME", place.dir.root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // The server belongs to no pane, whichever pane its starter is in.
    for (name, _) in crate::config::env::VARIABLES {
        if name.starts_with("ORCA_") && *name != "ORCA_HOME" {
            command.env_remove(name);
        }
    }
    let mut child =
        command.spawn().map_err(|error| failed(format!("{}: {error}", place.program.display())))?;
    let stdout = child.stdout.take().ok_or_else(|| failed(String::from("it has no output")))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    let report: Result<StartReport, _> = serde_json::from_str(&line);
    report.map_err(|_| {
        let log = crate::base::text::shell_quote(&place.dir.log().display().to_string());
        unavailable(place, "it ended while it started").next_step(format!("tail {log}"))
    })
}

/// No server there can be talked to, for the reason `why`.
pub fn unavailable(place: &Place, why: &str) -> ErrorBody {
    let message = format!("The server in {} cannot be reached: {why}.", place.shown());
    ErrorBody::new(ErrorCode::RuntimeUnavailable, message)
}

fn cannot_use(place: &Place, error: &std::io::Error) -> ErrorBody {
    let shown = crate::base::text::shell_quote(&place.shown());
    ErrorBody::new(
        ErrorCode::StoreUnwritable,
        format!("The state directory {} cannot be used: {error}.", place.shown()),
    )
    .next_step(format!("ls -ld {shown}"))
    .next_step("ORCA_HOME=/another/directory orca status")
}
