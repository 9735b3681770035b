//! The writing side of the spool: a call that no server takes becomes a file, durably; and a process
//! that may not open sockets passes its call and gets its answer through files.
//!
//! The first directory that can be written is taken. The call's file stays open for as long as its
//! writer waits, which tells a server whether anybody does.

use super::Ticker;
use super::find::Place;
use crate::base::clock::{Clock, Timestamp};
use crate::base::code::ErrorCode;
use crate::base::path::make_private_dir;
use crate::base::private::{Entry, PrivateDir};
use crate::base::report::OrLog as _;
use crate::base::text::shell_quote;
use crate::proto::Call as _;
use crate::proto::envelope::{Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::mail::{Ask, Check, DEFAULT_ASK_MS, DEFAULT_CHECK_MS, MAX_ASK_MS};
use crate::proto::spool::{
    CALL_ENDING, MAX_CALL_BYTES, MAX_CALLS, MAX_SPOOL_BYTES, REPLIES, SPOOL_VERSION, SpooledCall, call_name,
    order_of,
};
use crate::proto::terminal::{DEFAULT_WAIT_MS, TerminalWait};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a call that does not wait by itself is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest pause between two looks for an answer; the first one is much shorter.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// A call in its file, held open.
#[derive(Debug)]
pub struct Written {
    dir: PrivateDir,
    name: String,
    pub at: Timestamp,
    _held: File,
}

/// Why a call was not written.
#[derive(Debug)]
enum NotWritten {
    /// The directory holds as much as it may.
    Full(String),
    Io(Error),
}

impl From<Error> for NotWritten {
    fn from(error: Error) -> Self {
        Self::Io(error)
    }
}

impl Written {
    /// Where it lies.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    /// Takes a call back that nobody can use any more.
    pub(super) fn take_back(self) {
        self.dir.remove(&self.name).or_log("take a call back");
    }
}

/// The number of calls that wait in all directories.
pub fn n_waiting(place: &Place) -> usize {
    let names = place.spools.iter().filter_map(|path| PrivateDir::open(path, place.uid).ok()?.names().ok());
    names.flatten().filter(|name| name.ends_with(CALL_ENDING)).count()
}

/// Writes a call, whole and durable, where the next server finds it.
pub fn write(place: &Place, request: &Request) -> std::result::Result<Written, ErrorBody> {
    let mut why = Vec::new();
    for (n, path) in place.spools.iter().enumerate() {
        if place.spools[..n].contains(path) {
            continue;
        }
        let attempt =
            || open(place, n, path).map_err(NotWritten::Io).and_then(|dir| put(place, dir, request));
        let written = match attempt() {
            // A server cleared the empty directory away just now.
            Err(NotWritten::Io(error)) if error.kind() == ErrorKind::NotFound => attempt(),
            other => other,
        };
        match written {
            Ok(written) => return Ok(written),
            Err(NotWritten::Full(message)) => {
                return Err(ErrorBody::new(ErrorCode::SpoolFull, message)
                    .next_step("orca server start")
                    .next_step(format!("ls -l {}", shell_quote(&path.display().to_string()))));
            }
            Err(NotWritten::Io(error)) => why.push(format!("{}: {error}", path.display())),
        }
    }
    Err(ErrorBody::new(ErrorCode::StoreUnwritable, why.join("; ")))
}

/// The last place is the environment's own; only one that a server made there is looked at by a server.
fn open(place: &Place, n: usize, path: &Path) -> Result<PrivateDir> {
    match n {
        0 => {
            make_private_dir(place.dir.root(), place.uid)?;
            PrivateDir::make(path, place.uid)
        }
        1 => PrivateDir::make(path, place.uid),
        _ => PrivateDir::open(path, place.uid),
    }
}

fn put(place: &Place, dir: PrivateDir, request: &Request) -> std::result::Result<Written, NotWritten> {
    let names = dir.names()?;
    let shown = dir.path().display();
    let calls: Vec<&String> = names.iter().filter(|name| name.ends_with(CALL_ENDING)).collect();
    if calls.len() >= MAX_CALLS {
        return Err(NotWritten::Full(format!(
            "{shown} holds {} calls, and {MAX_CALLS} are the most.",
            calls.len()
        )));
    }
    let lengths = calls.iter().filter_map(|name| match dir.entry(name, place.uid) {
        Ok(Entry::File { len, .. }) => Some(len),
        Ok(Entry::Foreign) | Err(_) => None,
    });
    let n_bytes: u64 = lengths.sum();
    let at = Clock::System.now();
    let call = SpooledCall { version: SPOOL_VERSION, written_at: at, request: request.clone() };
    let bytes = serde_json::to_vec(&call).map_err(Error::other)?;
    let len = bytes.len() as u64;
    if len > MAX_CALL_BYTES || n_bytes.saturating_add(len) > MAX_SPOOL_BYTES {
        return Err(NotWritten::Full(format!(
            "{shown} holds {n_bytes} bytes and this call has {len}; {MAX_SPOOL_BYTES} and {MAX_CALL_BYTES} are the most."
        )));
    }
    // Behind everything that is there, also when the clock was set back.
    let newest = names.iter().filter_map(|name| order_of(name)).max();
    let now = u64::try_from(at.0).unwrap_or(0);
    let (moment, counter) = match newest {
        Some((newest, counter)) if newest >= now => (newest, counter.saturating_add(1)),
        Some(_) | None => (now, 0),
    };
    let name = call_name(moment, counter, &uuid::Uuid::new_v4().simple().to_string());
    let held = dir.write(&name, &bytes)?;
    Ok(Written { dir, name, at, _held: held })
}

/// Waits for the answer to a call that was written for a server that lives. None: it did not come in
/// the call's own time; the call is still there.
pub(super) fn wait(
    place: &Place,
    written: &Written,
    request: &Request,
    ticker: &mut Ticker<'_>,
) -> Option<Response> {
    let timeout = timeout_of(request);
    let (began, mut pause) = (Instant::now(), Duration::from_millis(4));
    loop {
        if let Some(response) = answer(place, written) {
            return Some(response);
        }
        if began.elapsed() >= timeout {
            return None;
        }
        ticker.tick();
        std::thread::sleep(pause);
        pause = (pause * 3 / 2).min(MAX_PAUSE);
    }
}

fn answer(place: &Place, written: &Written) -> Option<Response> {
    let replies = written.dir.inner(REPLIES, place.uid).ok()?;
    let bytes = match replies.read(&written.name, u64::MAX, place.uid) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Err::<Response, _>(error).or_log("read an answer"),
    };
    let response = serde_json::from_slice(&bytes).or_log("read an answer")?;
    replies.remove(&written.name).or_log("clear an answer away");
    Some(response)
}

/// How long the answer to a call may take.
fn timeout_of(request: &Request) -> Duration {
    own_wait(request).unwrap_or_default() + PATIENCE
}

/// How long a call asks to wait by itself; None for one that is answered at once.
pub(super) fn own_wait(request: &Request) -> Option<Duration> {
    let number = |name: &str| request.params.get(name).and_then(serde_json::Value::as_u64);
    let is_wait = request.params.get("isWait").and_then(serde_json::Value::as_bool) == Some(true);
    let own_ms = match request.method.as_str() {
        Ask::METHOD => number("timeoutMs").unwrap_or(DEFAULT_ASK_MS).min(MAX_ASK_MS),
        Check::METHOD if is_wait => number("timeoutMs").unwrap_or(DEFAULT_CHECK_MS),
        TerminalWait::METHOD => number("timeoutMs").unwrap_or(DEFAULT_WAIT_MS),
        _ => return None,
    };
    Some(Duration::from_millis(own_ms))
}
