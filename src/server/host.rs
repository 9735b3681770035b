//! What every connection shares, and the calls that the server answers by itself.

use super::command::{Command, Inbox};
use super::spool::Spool;
use super::terminals::Terminals;
use crate::base::clock::{Clock, Timestamp};
use crate::base::code::ErrorCode;
use crate::base::report::log;
use crate::base::text::counted;
use crate::proto::error::ErrorBody;
use crate::proto::server::{App, Graph, HostCall, Runtime, ServerStop, Status, Stopping, Target};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::oneshot;

/// The server as its connections see it.
#[derive(Debug)]
pub struct Host {
    pub inbox: Inbox,
    pub runtime_id: String,
    pub terminals: Arc<Terminals>,
    spool: Arc<Spool>,
    pub state_dir: String,
    /// Only processes of this user are served.
    pub uid: u32,
    n_screens: AtomicUsize,
    next_subscriber: AtomicU64,
    /// Locked for as long as everything is being ended.
    stop: tokio::sync::Mutex<StopAll>,
}

/// What became of the wish that everything ends.
#[derive(Debug, Default)]
struct StopAll {
    began_at: Option<Timestamp>,
    /// The database has all of it.
    is_recorded: bool,
}

/// Counts an attached screen for as long as it lives.
#[derive(Debug)]
pub struct ScreenCount(Arc<Host>);

impl Drop for ScreenCount {
    fn drop(&mut self) {
        self.0.n_screens.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Host {
    /// The shared side of a server that is ready to serve.
    pub fn new(
        inbox: Inbox,
        runtime_id: String,
        terminals: Arc<Terminals>,
        spool: Arc<Spool>,
        state_dir: String,
        uid: u32,
    ) -> Self {
        let (n_screens, next_subscriber) = (AtomicUsize::new(0), AtomicU64::new(1));
        let stop = tokio::sync::Mutex::default();
        Self { inbox, runtime_id, terminals, spool, state_dir, uid, n_screens, next_subscriber, stop }
    }

    /// Counts one more screen and gives it a number.
    pub fn count_screen(self: &Arc<Self>) -> (u64, ScreenCount) {
        self.n_screens.fetch_add(1, Ordering::Relaxed);
        (self.next_subscriber.fetch_add(1, Ordering::Relaxed), ScreenCount(Arc::clone(self)))
    }

    /// Answers a call about the server itself; None when the server ended meanwhile.
    pub async fn answer(&self, call: HostCall) -> Option<Result<Value, ErrorBody>> {
        match call {
            HostCall::Status => Some(to_value(&self.status())),
            HostCall::Stop(stop) => self.stop(stop).await,
        }
    }

    fn status(&self) -> Status {
        let spooled = self.spool.count();
        let n_clients = self.n_screens.load(Ordering::Relaxed);
        let window = if n_clients > 0 { "available" } else { "openable" };
        Status {
            target: Target { kind: String::from("local") },
            app: App {
                running: true,
                pid: Some(std::process::id()),
                desktop_window_status: window.to_owned(),
            },
            runtime: Runtime::ready(&self.runtime_id),
            graph: Graph { state: String::from("ready") },
            state_dir: self.state_dir.clone(),
            n_terminals: self.terminals.live_names().len(),
            n_clients,
            n_queued: spooled.n_queued,
            n_rejected: spooled.n_rejected,
            warnings: Vec::new(),
            start_failure: None,
        }
    }

    async fn stop(&self, stop: ServerStop) -> Option<Result<Value, ErrorBody>> {
        let running = self.terminals.live_names();
        if !stop.keep_terminals && !stop.force && !running.is_empty() {
            return Some(Err(ErrorBody::new(
                ErrorCode::ConfirmationRequired,
                format!("{} would be ended: {}.", counted(running.len(), "terminal"), running.join(", ")),
            )
            .with("running", &running)
            .next_step("orca server stop --force")
            .next_step("orca server restart")));
        }
        if stop.keep_terminals {
            let (n_ended, n_kept) = (0, running.len());
            self.end_engine(stop).await?;
            let warnings = Vec::new();
            return Some(to_value(&Stopping { pid: Some(std::process::id()), n_ended, n_kept, warnings }));
        }
        Some(to_value(&self.stop_all(stop, &running).await))
    }

    /// Ends every terminal and then the server, also where the disk takes nothing down of it. Several of these
    /// at once wait for each other; what they want is done when the first one is.
    async fn stop_all(&self, stop: ServerStop, running: &[String]) -> Stopping {
        let mut going = self.stop.lock().await;
        let at = going.began_at.get_or_insert_with(|| Clock::System.now());
        log(format_args!("everything is to end, {at}"));
        let (reply, noted) = oneshot::channel();
        let refusal = match self.inbox.send(Command::EndAll { reply }).await {
            Ok(()) => noted.await.ok().and_then(Result::err),
            Err(_) => None,
        };
        Arc::clone(&self.terminals).end_all().await;
        // Ends are told to the engine before this, so one that hears it has recorded them.
        going.is_recorded |= self.end_engine(stop).await.is_some();
        let left = self.terminals.live_names();
        let mut warnings = Vec::new();
        if !going.is_recorded {
            let why =
                refusal.map_or_else(|| String::from("The database took nothing more."), |why| why.message);
            warnings.push(format!("{why} The ends of terminals are noted at the next start."));
        }
        if !left.is_empty() {
            warnings.push(format!("Not seen to end in time: {}.", left.join(", ")));
        }
        let n_ended = running.iter().filter(|name| !left.contains(name)).count();
        Stopping { pid: Some(std::process::id()), n_ended, n_kept: 0, warnings }
    }

    /// Ends the engine. None: it had ended already, or could not store what came before.
    async fn end_engine(&self, stop: ServerStop) -> Option<()> {
        let (reply, stopped) = oneshot::channel();
        self.inbox.send(Command::Stop { stop, reply }).await.ok()?;
        stopped.await.ok()?.ok().map(drop)
    }

    /// Waits until no stop is under way any more. Says whether there was one.
    pub async fn finish_stop(&self) -> bool {
        self.stop.lock().await.began_at.is_some()
    }

    /// Since when terminals were ended without the database knowing, once nothing is served any more.
    pub fn unrecorded_stop(&self) -> Option<Timestamp> {
        let stop = self.stop.try_lock().ok()?;
        stop.began_at.filter(|_| !stop.is_recorded)
    }
}

fn to_value(reply: &impl Serialize) -> Result<Value, ErrorBody> {
    serde_json::to_value(reply).map_err(|error| ErrorBody::new(ErrorCode::RuntimeError, error.to_string()))
}
