//! The daemon: the only async, the only owner of live things.
//!
//! Started on demand, detached, one per state directory ([`boot`]). [`engine`] is the single writer
//! on a thread of its own; [`conn`] serves clients on the asynchronous main thread; each terminal has a
//! thread ([`terminals`]); calls also come as files ([`spool`]); files of agents are read in
//! [`transcript`]; effects run on threads of their own ([`effects`]) and come back to the engine as
//! outcomes. It is crash-only: it may be killed at any instant, and starting it again is the
//! only way to recover there is.

mod batch;
pub mod boot;
mod command;
mod conn;
mod effects;
mod engine;
pub mod fault;
mod found;
mod guest;
mod history;
mod host;
mod hub;
mod idle;
mod intake;
mod outlet;
mod pane;
mod peer;
mod pump;
mod rules;
mod scratch;
mod screens;
mod spool;
mod starts;
mod terminals;
pub mod transcript;
mod waits;
mod world;
mod writer;

use crate::base::code::ErrorCode;
use crate::base::lock;
use crate::base::path::StateDir;
use crate::base::report::{OrLog as _, log};
use crate::base::sched::{self, Class};
use crate::config::env::Environment;
use crate::git::name::{BranchPrefix, Layout};
use crate::proto::error::ErrorBody;
use boot::{Booted, FileId};
use command::{Command, INBOX, Inbox};
use conn::Closing;
use effects::{Effects, WorktreePlaces};
use engine::{Ended, Engine};
use host::Host;
use spool::Spool;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use terminals::Terminals;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// How long clients may take to hear the last of a server that ends.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a stop that is under way may take when the server has to go.
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// How often the server makes sure that it can be found.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs a server until it is told to end. Gives the exit code.
///
/// With `is_detached` it leaves its session and tells its starter on standard output, as one
/// [`crate::proto::server::StartReport`], how the start went.
pub fn run(environment: &Environment, is_detached: bool) -> u8 {
    // A screen may have started it.
    sched::set(Class::Usual);
    let uid = rustix::process::getuid().as_raw();
    let dir = environment.state_dir(uid);
    let booted = match boot::boot(&dir, uid, is_detached) {
        Ok(booted) => booted,
        Err(failed) => {
            boot::note_failure(&dir, &failed);
            return boot::report_failure(failed, is_detached);
        }
    };
    match serve(booted, &dir, environment, uid, is_detached) {
        Ok(()) => 0,
        Err(error) => {
            let failed = boot::NotStarted::Failed(error);
            boot::note_failure(&dir, &failed);
            boot::report_failure(failed, is_detached)
        }
    }
}

fn serve(
    booted: Booted,
    dir: &StateDir,
    environment: &Environment,
    uid: u32,
    is_detached: bool,
) -> Result<(), ErrorBody> {
    let Booted { lock, said, listener, store, store_file } = booted;
    let config = rules::read_config(environment);
    let rules = rules::resolve(dir, environment, &config);
    // One thread: each hop to another costs a key its echo. What blocks has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(16)
        .thread_name("orca-conn")
        .on_thread_start(|| sched::set(Class::Usual))
        .enable_all()
        .build()
        .map_err(|error| boot::system_error("start its threads", &error))?;
    let (inbox, commands) = mpsc::channel(INBOX);
    let presets = Arc::clone(&rules.agents);
    let terminals = Arc::new(Terminals::new(dir.clone(), presets, inbox.clone(), config.terminal.clone()));
    let runtime_id = format!("rt_{}", uuid::Uuid::new_v4().simple());
    let effects = Effects {
        inbox: inbox.clone(),
        open: Arc::default(),
        terminals: Arc::clone(&terminals),
        program: boot::own_path(),
        worktrees: WorktreePlaces {
            root: config.worktree_root(&environment.home),
            layout: Layout::from_setting(&config.worktrees.layout),
            prefix: BranchPrefix::from_setting(&config.worktrees.branch_prefix),
        },
    };
    let spools = dir.spools(uid, &environment.temp_dir);
    let spool = Spool::new(spools, uid, runtime_id.clone(), inbox.clone(), runtime.handle().clone());
    let kept = Arc::clone(&spool);
    let mut engine = Engine::new(store, rules, runtime_id.clone(), Arc::clone(&terminals), effects, kept);
    // redb panics where a page is not what another page says it is.
    let taken_over = catch_unwind(AssertUnwindSafe(|| {
        let open = engine.recover(said.stopped_at)?;
        engine.take_in_found()?;
        engine.reconnect(&inbox)?;
        Ok::<_, ErrorBody>(open)
    }));
    let open = match taken_over {
        Ok(Ok(open)) => open,
        Ok(Err(error)) if error.code != ErrorCode::RuntimeError => return Err(error),
        failed => {
            let error = not_taken_over(&engine, dir, failed.ok().and_then(Result::err));
            // Closing a database writes to it; this one is left as it is.
            std::mem::forget(engine);
            return Err(error);
        }
    };
    if said.stopped_at.is_some() {
        // It is in the database from here on.
        lock::tell(&lock, lock::Said { stopped_at: None, ..said }).or_log("forget a stop that is noted");
    }
    keep_copy(&engine, dir, &inbox);
    let (ended, engine_ended) = oneshot::channel();
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name(String::from("orca-engine"))
        .spawn(move || {
            // Nobody listens only when the server is past caring.
            if ended.send(engine.run(commands, &handle, open)).is_err() {
                log(format_args!("the engine ended after its server"));
            }
        })
        .map_err(|error| boot::system_error("start its engine", &error))?;
    let watched = Arc::clone(&spool);
    std::thread::Builder::new()
        .name(String::from("orca-spool"))
        .spawn(move || spool::watch(&watched))
        .map_err(|error| boot::system_error("watch its spool", &error))?;
    let state_dir = dir.root().display().to_string();
    let left = Arc::clone(&terminals);
    let host = Arc::new(Host::new(inbox, runtime_id, terminals, spool, state_dir, uid));
    boot::report_ready(is_detached);
    sched::set(Class::Keys);
    let stand = Stand { dir, lock: &lock, store_file };
    let end = runtime.block_on(accept(Arc::clone(&host), listener, engine_ended, stand));
    log(format_args!("the server ends: {end:?}"));
    left.finish_typing(terminals::KILL_GRACE);
    left.finish_reading();
    if let Some(at) = host.unrecorded_stop() {
        lock::note_stop(&lock, at).or_log("note for the next server that terminals were ended");
    }
    if boot::is_in_place(dir, &lock) {
        std::fs::remove_file(dir.socket()).or_log("remove the socket");
    }
    drop(lock);
    // Blocking jobs that still run have nobody to tell.
    runtime.shutdown_background();
    Ok(())
}

/// Why a server could not take over what an earlier one left: most likely its database is damaged where the
/// opening did not look.
fn not_taken_over(engine: &Engine, dir: &StateDir, error: Option<ErrorBody>) -> ErrorBody {
    if let Err(damage) = engine.store.check(&dir.store()) {
        return crate::ops::error::store_body(&damage);
    }
    let error = error.unwrap_or_else(|| {
        let message = "The server could not take over what an earlier one left; its log has the reason.";
        ErrorBody::new(ErrorCode::RuntimeError, message)
    });
    error.next_step(format!("tail {}", crate::base::text::shell_quote(&dir.log().display().to_string())))
}

/// Keeps a copy of the database that was just found good, while everybody works on. Without room for one
/// there is still a good database.
fn keep_copy(engine: &Engine, dir: &StateDir, inbox: &Inbox) {
    let Some(snapshot) = engine.store.read().or_log("keep a copy of the database") else { return };
    let (path, inbox) = (dir.store(), inbox.clone());
    let keeping = move || {
        // On Linux this is about the calling thread only.
        #[cfg(target_os = "linux")]
        rustix::process::setpriority_process(None, 19).or_log("let the copy of the database wait");
        let kept = crate::store::copy::keep(&snapshot, &path).or_log("keep a copy of the database");
        if let Some(aside) = kept.flatten() {
            inbox.blocking_send(Command::CopyKept { aside }).or_log("tell of a copy that is kept");
        }
    };
    let begun = std::thread::Builder::new().name(String::from("orca-copy")).spawn(keeping);
    begun.or_log("keep a copy of the database");
}

/// Where the server stands, and what says that it does.
struct Stand<'a> {
    dir: &'a StateDir,
    lock: &'a File,
    store_file: FileId,
}

impl Stand<'_> {
    /// What is gone of the place; what is stored from now on would be found by nobody.
    fn missing(&self) -> Option<PathBuf> {
        if !boot::is_in_place(self.dir, self.lock) {
            return Some(self.dir.root().to_owned());
        }
        Some(self.dir.store()).filter(|store| !boot::is_same_file(store, self.store_file))
    }

    /// Listens anew where somebody tidied the socket away.
    fn listen_again(&self) -> Option<UnixListener> {
        if self.dir.socket().symlink_metadata().is_ok() {
            return None;
        }
        log(format_args!("the socket was removed; another one takes its place"));
        let listener = boot::listen(self.dir).or_log("listen again")?;
        UnixListener::from_std(listener).or_log("listen again")
    }
}

/// Serves clients until the engine ends, a signal comes or the state directory goes.
async fn accept(
    host: Arc<Host>,
    listener: std::os::unix::net::UnixListener,
    mut engine_ended: oneshot::Receiver<Ended>,
    stand: Stand<'_>,
) -> Option<Ended> {
    let mut listener = UnixListener::from_std(listener).or_log("listen")?;
    let mut look = tokio::time::interval(LOOK_EVERY);
    let mut terminate = signal(SignalKind::terminate()).or_log("hear signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).or_log("hear signals")?;
    let (closing, is_closing) = watch::channel(Closing::NotYet);
    let mut clients = JoinSet::new();
    let ended = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    clients.spawn(conn::serve(Arc::clone(&host), stream, is_closing.clone()));
                }
                Err(error) => {
                    // Out of descriptors, most likely: those who are here go on.
                    log(format_args!("a client could not be taken in: {error}"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            ended = &mut engine_ended => break ended.ok(),
            _ = look.tick() => {
                if let Some(missing) = stand.missing() {
                    log(format_args!("{} was removed or replaced", missing.display()));
                    // It ends as soon as the engine has room for the word; full, it is asked again.
                    host.inbox.try_send(Command::Displaced).or_log("leave a place that is gone");
                } else if let Some(again) = stand.listen_again() {
                    listener = again;
                }
            }
            _ = terminate.recv() => break Some(Ended::Restarting),
            _ = interrupt.recv() => break Some(Ended::Restarting),
            Some(_) = clients.join_next(), if !clients.is_empty() => {}
        }
    };
    drop(listener);
    let stopped = tokio::time::timeout(STOP_PATIENCE, host.finish_stop()).await;
    let closed = match ended {
        Some(Ended::Stopped | Ended::Displaced) => Closing::ForGood,
        // What was asked for is done, whatever the disk said of it.
        _ if matches!(stopped, Ok(true)) => Closing::ForGood,
        Some(Ended::Restarting | Ended::Failed) | None => Closing::ForTheNext,
    };
    // Every client holds a receiver; with none left nobody needs to know.
    closing.send_replace(closed);
    let drained = async { while clients.join_next().await.is_some() {} };
    tokio::time::timeout(DRAIN, drained).await.or_log("clients did not leave in time");
    ended
}
