//! Becoming the one server of a state directory: session, folders, log, lock, store, socket.
//!
//! In this order: nothing is touched before the lock is held, and the socket appears only when the
//! store is open, so whoever can connect will be answered. A start that fails says why on standard
//! output to whoever started it.

use crate::base::code::ErrorCode;
use crate::base::lock;
use crate::base::path::StateDir;
use crate::base::report::{OrLog as _, log, log_to_stderr};
use crate::ops::error::store_body;
use crate::proto::error::ErrorBody;
use crate::proto::server::StartReport;
use crate::store::Store;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// A longer log is put aside at the start.
const MAX_LOG: u64 = 4 << 20;

/// What a server has once it is the only one.
#[derive(Debug)]
pub struct Booted {
    /// Held for as long as the server lives.
    pub lock: File,
    /// What the lock says now.
    pub said: lock::Said,
    pub listener: UnixListener,
    pub store: Store,
    pub store_file: FileId,
}

/// What tells a file from every other one that had or will have its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Why there is no server.
#[derive(Debug)]
pub enum NotStarted {
    /// Another one has the lock.
    Lost,
    Failed(ErrorBody),
}

/// Takes over the state directory.
pub fn boot(dir: &StateDir, uid: u32, is_detached: bool) -> Result<Booted, NotStarted> {
    let unwritable = |error: &std::io::Error| {
        let mut body = ErrorBody::new(
            ErrorCode::StoreUnwritable,
            format!("The state directory {} cannot be used: {error}.", dir.root().display()),
        );
        body = body.next_step(format!("ls -ld {}", shown(dir)));
        NotStarted::Failed(body.next_step("ORCA_HOME=/another/directory orca status"))
    };
    dir.prepare(uid).map_err(|error| unwritable(&error))?;
    let lock = private_file(&dir.lock()).map_err(|error| unwritable(&error))?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(NotStarted::Lost),
        Err(error) => return Err(unwritable(&error.into())),
    }
    if is_detached {
        detach(dir).map_err(|error| unwritable(&error))?;
    }
    log_to_stderr();
    super::fault::arm(std::env::var(super::fault::VARIABLE).ok().as_deref());
    log(format_args!("orca {} starts in {}", env!("CARGO_PKG_VERSION"), dir.root().display()));
    let store = Store::open(&dir.store()).map_err(|error| NotStarted::Failed(store_body(&error)))?;
    let store_file = std::fs::metadata(dir.store()).map_err(|error| unwritable(&error))?;
    let listener = listen(dir).map_err(|error| unwritable(&error))?;
    // Whoever finds this server silent reads its process id where it holds the lock.
    let said = lock::Said { pid: Some(std::process::id()), ..lock::read(&dir.lock()) };
    lock::tell(&lock, said).or_log("write the process id into the lock");
    drop(std::fs::remove_file(dir.start_failure())); // usually there is none
    Ok(Booted { lock, said, listener, store, store_file: FileId::of(&store_file) })
}

/// Leaves the starter's session, folder and terminal, and writes to the log from here on.
fn detach(dir: &StateDir) -> std::io::Result<()> {
    // Refused only where we lead a session already, which is what is wanted.
    rustix::process::setsid().or_log("leave the session");
    std::env::set_current_dir("/")?;
    let path = dir.log();
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() > MAX_LOG) {
        std::fs::rename(&path, path.with_extension("log.old"))?;
    }
    rustix::stdio::dup2_stderr(private_file(&path)?)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

/// Whether the state directory is still the one whose lock this is. One that was removed or moved away may
/// have another server in its place by now.
pub fn is_in_place(dir: &StateDir, lock: &File) -> bool {
    lock.metadata().map_or(true, |ours| is_same_file(&dir.lock(), FileId::of(&ours)))
}

/// Whether a path still leads to a file; in doubt it does.
pub fn is_same_file(path: &std::path::Path, file: FileId) -> bool {
    match std::fs::metadata(path) {
        Ok(there) => FileId::of(&there) == file,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// The lock is ours, so whatever lies at the socket's place is left over from a dead server.
pub fn listen(dir: &StateDir) -> std::io::Result<UnixListener> {
    let path = dir.socket();
    match std::fs::remove_file(&path) {
        Ok(()) => log(format_args!("removed the socket of a server that was killed")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn private_file(path: &std::path::Path) -> std::io::Result<File> {
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn shown(dir: &StateDir) -> String {
    crate::base::text::shell_quote(&dir.root().display().to_string())
}

/// Tells the starter that clients may come.
pub fn report_ready(is_detached: bool) {
    if is_detached {
        report(&StartReport::Ready { pid: std::process::id() });
    }
}

/// Keeps for `orca status` why there is no server.
pub fn note_failure(dir: &StateDir, failed: &NotStarted) {
    let NotStarted::Failed(error) = failed else { return };
    let path = dir.start_failure();
    let mut options = std::fs::OpenOptions::new();
    let file = options.create(true).truncate(true).write(true).mode(0o600).open(path);
    let json = serde_json::to_vec(error).unwrap_or_default();
    file.and_then(|mut file| file.write_all(&json)).or_log("keep why the server did not start");
}

/// Tells the starter, or the person, why there is no server. Gives the exit code.
pub fn report_failure(failed: NotStarted, is_detached: bool) -> u8 {
    match (failed, is_detached) {
        (NotStarted::Lost, true) => report(&StartReport::Lost),
        (NotStarted::Failed(error), true) => report(&StartReport::Failed(error)),
        (NotStarted::Lost, false) => {
            log_to_stderr();
            log(format_args!("another server runs here already; orca server status says which"));
        }
        (NotStarted::Failed(error), false) => {
            log_to_stderr();
            log(format_args!("{error}"));
        }
    }
    1
}

/// Writes the one line that the starter waits for; then standard output is of no more use.
fn report(report: &StartReport) {
    let line = serde_json::to_vec(report).unwrap_or_default();
    let mut stdout = std::io::stdout();
    stdout
        .write_all(&line)
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush())
        .or_log("the starter went away");
    File::open("/dev/null")
        .and_then(|null| Ok(rustix::stdio::dup2_stdout(null)?))
        .or_log("let go of the starter's pipe");
}

/// An error of the system itself.
pub fn system_error(doing: &str, error: &std::io::Error) -> ErrorBody {
    ErrorBody::new(ErrorCode::RuntimeUnavailable, format!("The server could not {doing}: {error}."))
        .next_step("orca server run")
}

/// The path of this program, also after its file was replaced by an upgrade.
pub fn own_path() -> PathBuf {
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("orca"));
    let text = path.to_string_lossy();
    match text.strip_suffix(" (deleted)") {
        Some(replaced) => PathBuf::from(replaced),
        None => path,
    }
}
