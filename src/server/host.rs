//! What every connection shares, and the calls that the server answers by itself.

use super::command::{Command, Inbox};
use super::spool::Spool;
use super::terminals::Terminals;
use crate::base::code::ErrorCode;
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
        Self { inbox, runtime_id, terminals, spool, state_dir, uid, n_screens, next_subscriber }
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
        if !stop.keep_terminals {
            let (reply, noted) = oneshot::channel();
            self.inbox.send(Command::EndAll { reply }).await.ok()?;
            noted.await.ok()?.ok()?;
            Arc::clone(&self.terminals).end_all().await;
        }
        let n_kept = if stop.keep_terminals { running.len() } else { 0 };
        let stopping = Stopping { pid: Some(std::process::id()), n_ended: running.len() - n_kept, n_kept };
        let (reply, stopped) = oneshot::channel();
        self.inbox.send(Command::Stop { stop, reply }).await.ok()?;
        stopped.await.ok()?.ok()?;
        Some(to_value(&stopping))
    }
}

fn to_value(reply: &impl Serialize) -> Result<Value, ErrorBody> {
    serde_json::to_value(reply).map_err(|error| ErrorBody::new(ErrorCode::RuntimeError, error.to_string()))
}
