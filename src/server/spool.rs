//! Calls that come as files: kept by commands that found no server, or passed by processes that may not
//! open sockets (design 6, 7.2). See `proto::spool` for what lies where.
//!
//! The engine takes them in, in the order of their names: at its start before anybody else is heard, when
//! the [`watch`] finds some, and before the end of a process is recorded, so that a worker's last report
//! comes before its end. A file goes only when its outcome is durable; a crash before that takes it in
//! again, and the ledger answers. What cannot be read is moved aside and told, never deleted.

use super::command::{CallCommand, Command, Inbox};
use super::fault::{self, Point};
use crate::base::clock::Clock;
use crate::base::private::{Entry, PrivateDir, UNFINISHED};
use crate::base::report::{OrLog as _, log};
use crate::ops::cx::CallerFacts;
use crate::proto::AnyCall;
use crate::proto::envelope::{CONTRACT_VERSION, Response};
use crate::proto::error::ErrorBody;
use crate::proto::mail::Check;
use crate::proto::spool::{
    CALL_ENDING, MAX_CALL_BYTES, REJECTED, REPLIES, SPOOL_VERSION, SpoolVersion, SpooledCall, is_carried,
    is_passing,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// The most calls in progress at once.
const MAX_TAKEN: usize = 256;
/// The time between two looks while nothing comes.
const CALM: Duration = Duration::from_secs(1);
/// The time between two looks while something came lately or somebody waits.
const BUSY: Duration = Duration::from_millis(25);
/// How long after a call the next one is expected.
const BUSY_FOR: Duration = Duration::from_secs(5);
/// What was never finished or never fetched goes after this many seconds.
const LEFT_OVER_S: i64 = 24 * 3600;

/// The directories and the calls in progress.
#[derive(Debug)]
pub struct Spool {
    places: Vec<PathBuf>,
    uid: u32,
    runtime_id: String,
    inbox: Inbox,
    jobs: tokio::runtime::Handle,
    taken: Mutex<BTreeMap<Key, Taken>>,
    has_complained: AtomicBool,
}

/// A call by its name first, so that those of all directories are in one order.
type Key = (String, PathBuf);

/// What becomes of a call that was read.
#[derive(Debug)]
enum Taken {
    /// Its sender waits for the answer.
    Awaited(AbortHandle),
    /// It is in progress, or it stays for another server.
    Alone,
}

/// A call that was refused and whose sender is gone.
#[derive(Debug)]
pub struct Refused {
    pub call: SpooledCall,
    pub error: ErrorBody,
    pub caller: CallerFacts,
}

/// Something that is no call of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it lies now.
    pub path: String,
    pub why: String,
}

/// What a look into the directories brought.
#[derive(Debug, Default)]
pub struct Found {
    pub calls: Vec<CallCommand>,
    pub unreadable: Vec<Unreadable>,
}

/// How many files wait, and how many were put aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub n_queued: usize,
    pub n_rejected: usize,
}

impl Spool {
    /// The spool of a server; makes the directory in the environment's own temporary place, which
    /// clients use only where it is there.
    pub fn new(
        places: [PathBuf; 3],
        uid: u32,
        runtime_id: String,
        inbox: Inbox,
        jobs: tokio::runtime::Handle,
    ) -> Arc<Self> {
        let mut places = Vec::from(places);
        places.dedup();
        if let Some(own) = places.get(2) {
            PrivateDir::make(own, uid).or_log("make the last spool");
        }
        let spool = Self {
            places,
            uid,
            runtime_id,
            inbox,
            jobs,
            taken: Mutex::default(),
            has_complained: AtomicBool::new(false),
        };
        for dir in spool.dirs() {
            spool.clear_left_overs(&dir);
        }
        Arc::new(spool)
    }

    /// The directories that are there and ours. What else is there is named in the log once.
    fn dirs(&self) -> impl Iterator<Item = PrivateDir> {
        self.places.iter().filter_map(|path| match PrivateDir::open(path, self.uid) {
            Ok(dir) => Some(dir),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound && !self.has_complained.swap(true, Ordering::Relaxed) {
                    log(format_args!("no calls are taken from {}: {error}", path.display()));
                }
                None
            }
        })
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What lies there now.
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for dir in self.dirs() {
            count.n_queued += dir.names().unwrap_or_default().iter().filter(|name| is_call(name)).count();
            let rejected = dir.inner(REJECTED, self.uid).and_then(|rejected| rejected.names());
            count.n_rejected +=
                rejected.unwrap_or_default().iter().filter(|name| !name.ends_with(".why")).count();
        }
        count
    }

    /// Reads the calls that are new, in the order of their names, and begins to wait for what comes of
    /// them. Only the engine does this.
    pub fn take_in(self: &Arc<Self>) -> Found {
        let mut found = Found::default();
        let mut news = Vec::new();
        let mut taken = self.taken();
        for dir in self.dirs() {
            let names = dir.names().or_log("list a spool").unwrap_or_default();
            let dir = Arc::new(dir);
            for name in names {
                let key = (name, dir.path().to_owned());
                if !taken.contains_key(&key) && !is_own_name(&key.0) {
                    news.push((key, Arc::clone(&dir)));
                }
            }
        }
        news.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (key, dir) in news {
            if taken.len() >= MAX_TAKEN {
                break;
            }
            match self.read(&dir, &key.0) {
                Ok(Read::Call(call)) => {
                    let (command, state) = self.begin(*call, dir, key.clone());
                    taken.insert(key, state);
                    found.calls.push(command);
                }
                Ok(Read::Nobodys) => {
                    dir.remove(&key.0).or_log("clear a call away");
                }
                Ok(Read::Later(why)) => {
                    log(format_args!("{} stays where it is: {why}", dir.path().join(&key.0).display()));
                    taken.insert(key, Taken::Alone);
                }
                Ok(Read::Gone) => {}
                Err(why) => match self.reject(&dir, &key.0, why) {
                    Some(unreadable) => found.unreadable.push(unreadable),
                    None => {
                        taken.insert(key, Taken::Alone);
                    }
                },
            }
        }
        found
    }

    fn read(&self, dir: &PrivateDir, name: &str) -> Result<Read, String> {
        if !is_call(name) {
            return Err(String::from("it is no call"));
        }
        let is_awaited = dir.is_held(name);
        let bytes = match dir.read(name, MAX_CALL_BYTES, self.uid) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Read::Gone),
            Err(error) => return Err(error.to_string()),
        };
        let version: SpoolVersion = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if version.version != SPOOL_VERSION {
            return Ok(Read::Later(format!("its version is {}", version.version)));
        }
        let call: SpooledCall = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let request = &call.request;
        if request.contract != CONTRACT_VERSION {
            return Ok(Read::Later(format!("its contract is {}", request.contract)));
        }
        if !is_carried(&request.method) || request.request_id.is_none() {
            return Err(String::from("it is no call that may come as a file"));
        }
        let decoded = AnyCall::decode(&request.method, request.params.clone());
        let decoded = decoded.map_err(|error| error.message)?;
        let decoded = match (decoded, is_awaited) {
            // Nobody is there to read the mail.
            (AnyCall::Check(check), false) if check.ack.is_none() => return Ok(Read::Nobodys),
            (AnyCall::Check(check), false) => {
                AnyCall::Check(Check { mode: Some(String::from("peek")), is_wait: false, ..check })
            }
            (decoded, _) => decoded,
        };
        Ok(Read::Call(Box::new(Readable { call, decoded, is_awaited })))
    }

    /// The command for the engine, and a job that waits for what comes of it.
    fn begin(self: &Arc<Self>, readable: Readable, dir: Arc<PrivateDir>, key: Key) -> (CallCommand, Taken) {
        let Readable { call, decoded, is_awaited } = readable;
        let caller = CallerFacts {
            said_at: Some(call.written_at),
            ..CallerFacts::of_origin(call.request.origin.clone())
        };
        let (reply, answer) = oneshot::channel();
        let command = CallCommand {
            call: decoded,
            params: call.request.params.clone(),
            request_id: call.request.request_id.clone(),
            caller: caller.clone(),
            is_awaited,
            reply,
        };
        let job = Job { spool: Arc::clone(self), dir, key, call, caller, is_awaited };
        let handle = self.jobs.spawn(async move {
            if let Ok(answer) = answer.await {
                job.finish(answer).await;
            }
        });
        let state = if is_awaited { Taken::Awaited(handle.abort_handle()) } else { Taken::Alone };
        (command, state)
    }

    /// Moves something aside that is no call, with the reason.
    fn reject(&self, dir: &PrivateDir, name: &str, why: String) -> Option<Unreadable> {
        let rejected = dir.make_inner(REJECTED, self.uid).or_log("make the place for what is no call")?;
        dir.move_to(name, &rejected).or_log("put something aside that is no call")?;
        rejected.write(&format!("{name}.why"), why.as_bytes()).or_log("say why it was put aside");
        let path = rejected.path().join(name).display().to_string();
        log(format_args!("{path} was put aside: {why}"));
        Some(Unreadable { path, why })
    }

    /// Clears away what was never finished, and answers that nobody fetched.
    fn clear_left_overs(&self, dir: &PrivateDir) {
        let is_old = |dir: &PrivateDir, name: &str| match dir.entry(name, self.uid) {
            Ok(Entry::File { modified, .. }) => Clock::System.now().0 / 1000 - modified > LEFT_OVER_S,
            Ok(Entry::Foreign) | Err(_) => false,
        };
        let clear = |dir: &PrivateDir, name: &str| {
            log(format_args!("{} is left over and goes", dir.path().join(name).display()));
            dir.remove(name).or_log("clear away what is left over");
        };
        for name in dir.names().unwrap_or_default() {
            if name.starts_with(UNFINISHED) && is_old(dir, &name) {
                clear(dir, &name);
            }
        }
        let Ok(replies) = dir.inner(REPLIES, self.uid) else { return };
        for name in replies.names().unwrap_or_default().iter().filter(|name| is_old(&replies, name)) {
            clear(&replies, name);
        }
    }

    /// Whether calls are there that were not taken in yet; lets go of those whose sender left, so that
    /// they are taken in as calls that nobody waits for.
    fn has_news(&self) -> bool {
        let mut taken = self.taken();
        let mut has_news = false;
        for dir in self.dirs() {
            for name in dir.names().or_log("list a spool").unwrap_or_default() {
                let key = (name, dir.path().to_owned());
                match taken.get(&key) {
                    Some(Taken::Awaited(job)) if !dir.is_held(&key.0) => {
                        job.abort();
                        taken.remove(&key);
                        has_news = true;
                    }
                    Some(Taken::Awaited(_) | Taken::Alone) => {}
                    None => has_news |= !is_own_name(&key.0),
                }
            }
        }
        has_news
    }

    fn is_anybody_waiting(&self) -> bool {
        self.taken().values().any(|taken| matches!(taken, Taken::Awaited(_)))
    }

    /// Leaves nothing in `/tmp` that is not needed; a directory with something in it stays.
    fn tidy(&self) {
        let Some(path) = self.places.get(1) else { return };
        let taken = self.taken();
        let Some(dir) = PrivateDir::open(path, self.uid).ok().filter(|_| taken.is_empty()) else { return };
        for folder in [REPLIES, REJECTED] {
            drop(dir.remove_inner(folder));
        }
        drop(std::fs::remove_dir(path));
    }
}

/// Looks for calls from time to time for as long as there is an engine: often while some come, else once
/// a second.
pub fn watch(spool: &Spool) {
    let mut last_news: Option<Instant> = None;
    loop {
        if spool.has_news() {
            last_news = Some(Instant::now());
            if spool.inbox.blocking_send(Command::LookIntoSpool).is_err() {
                return;
            }
        }
        let is_busy = spool.is_anybody_waiting() || last_news.is_some_and(|news| news.elapsed() < BUSY_FOR);
        if !is_busy {
            spool.tidy();
        }
        std::thread::sleep(if is_busy { BUSY } else { CALM });
    }
}

/// What a file turned out to be.
enum Read {
    Call(Box<Readable>),
    /// A question about mail whose asker left: nothing was promised.
    Nobodys,
    /// Another version of orca can read it.
    Later(String),
    Gone,
}

struct Readable {
    call: SpooledCall,
    decoded: AnyCall,
    is_awaited: bool,
}

/// A call that is in progress.
struct Job {
    spool: Arc<Spool>,
    dir: Arc<PrivateDir>,
    key: Key,
    call: SpooledCall,
    caller: CallerFacts,
    is_awaited: bool,
}

impl Job {
    /// The outcome is durable: tells whoever asked, and lets go of the file.
    async fn finish(self, answer: Result<Value, ErrorBody>) {
        fault::pass(Point::SpoolApplied);
        let is_rejected = |result: &Value| result["lifecycle"]["action"] == "rejected";
        let mut is_told = self.is_awaited || answer.as_ref().is_ok_and(is_rejected);
        if let (Err(error), false) = (&answer, self.is_awaited) {
            if is_passing(error.code) {
                log(format_args!("{} stays queued: {error}", self.dir.path().join(&self.key.0).display()));
                return;
            }
            if !self.tell_person(error.clone()).await {
                return;
            }
            is_told = true;
        }
        let done = tokio::task::spawn_blocking(move || {
            if is_told {
                self.reply(answer)?;
            }
            fault::pass(Point::SpoolAnswered);
            self.dir.remove(&self.key.0)?;
            self.spool.taken().remove(&self.key);
            Ok::<_, std::io::Error>(())
        });
        done.await.or_log("finish a call").and_then(|done| done.or_log("finish a call"));
    }

    /// A refusal that nobody waits for is kept where the person sees it. Says whether it is.
    async fn tell_person(&self, error: ErrorBody) -> bool {
        let caller = CallerFacts { said_at: None, ..self.caller.clone() };
        let refused = Refused { call: self.call.clone(), error, caller };
        let (reply, kept) = oneshot::channel();
        let command = Command::SpoolRefused { refused: Box::new(refused), reply };
        self.spool.inbox.send(command).await.is_ok() && matches!(kept.await, Ok(Ok(_)))
    }

    fn reply(&self, answer: Result<Value, ErrorBody>) -> std::io::Result<()> {
        let replies = self.dir.make_inner(REPLIES, self.spool.uid)?;
        let response = Response::new(&self.call.request.id, Some(&self.spool.runtime_id), answer);
        replies.write(&self.key.0, &serde_json::to_vec(&response)?)?;
        Ok(())
    }
}

fn is_call(name: &str) -> bool {
    name.ends_with(CALL_ENDING)
}

/// Names that are neither calls nor foreign.
fn is_own_name(name: &str) -> bool {
    name == REPLIES || name == REJECTED || name.starts_with(UNFINISHED)
}
