//! Everything that goes to one client, from one place: frames in order, then the newest screens.
//!
//! While the client does not read, this waits in a write; frames collect in their bounded queue and
//! screens skip versions. Nobody else waits for it.

use super::command::{Command, Inbox};
use super::hub::Bytes;
use super::outlet::{Offered, Outlet};
use super::screens::Screens;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Whether changes were lost to a screen, shared with the hub.
#[derive(Debug, Default)]
pub struct Behind {
    is_behind: Arc<AtomicBool>,
    subscriber: AtomicU64,
}

impl Behind {
    /// The number under which the hub knows the screen.
    pub fn set_id(&self, subscriber: u64) {
        self.subscriber.store(subscriber, Ordering::Release);
    }

    /// The hub's side.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.is_behind
    }
}

/// The sending side of a connection.
#[derive(Debug)]
pub struct Writer {
    inbox: Inbox,
    queue: mpsc::Receiver<Bytes>,
    screens: Arc<Screens>,
    outlet: Arc<Outlet>,
    behind: Arc<Behind>,
    has_asked: bool,
}

impl Writer {
    /// A writer of what comes through `queue` and of the panes in `screens`.
    pub fn new(
        inbox: Inbox,
        queue: mpsc::Receiver<Bytes>,
        screens: Arc<Screens>,
        outlet: Arc<Outlet>,
        behind: Arc<Behind>,
    ) -> Self {
        Self { inbox, queue, screens, outlet, behind, has_asked: false }
    }

    /// Writes until the client is gone or nobody has anything to say any more.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                bytes = self.queue.recv() => {
                    let Some(bytes) = bytes else { break };
                    if self.outlet.send(&bytes).await.is_err() {
                        break;
                    }
                    if !self.queue.is_empty() {
                        continue;
                    }
                }
                () = self.screens.changed() => {}
            }
            self.ask_for_resync();
            if self.write_screens().await.is_err() {
                break;
            }
        }
        // Says that nothing more comes, also while somebody still holds the reading half.
        self.outlet.close();
    }

    /// A screen that was cut and has read everything gets a snapshot.
    fn ask_for_resync(&mut self) {
        if !self.behind.is_behind.load(Ordering::Acquire) {
            self.has_asked = false;
        } else if !self.has_asked {
            let subscriber = self.behind.subscriber.load(Ordering::Acquire);
            // A full inbox: the next frame or screen comes by here again.
            self.has_asked = self.inbox.try_send(Command::Resync { subscriber }).is_ok();
        }
    }

    async fn write_screens(&self) -> std::io::Result<()> {
        loop {
            self.outlet.flush().await?;
            match self.screens.offer_next() {
                None => return Ok(()),
                Some(Offered::Sent | Offered::Begun) => {}
                Some(Offered::Busy) => self.outlet.has_room().await?,
                Some(Offered::Gone) => return Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        }
    }
}
