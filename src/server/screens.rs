//! The panes that one client shows: what it has seen of each, and what is newer.
//!
//! A client holds one version per pane; whatever is newer is sent when its socket takes it. A slow
//! client skips versions: nothing queues up for it (design 8).

use super::command::{Command, Inbox};
use super::pane::{Pane, lock};
use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::base::report::OrLog as _;
use crate::proto::screen::{HostFacts, View};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

struct Shown {
    pane: Arc<Pane>,
    /// The newest version this client was sent.
    version: u64,
}

/// The panes of one client.
pub struct Screens {
    terminals: Arc<Terminals>,
    inbox: Inbox,
    shown: Mutex<Vec<Shown>>,
    news: Arc<Notify>,
}

impl std::fmt::Debug for Screens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screens").finish_non_exhaustive()
    }
}

impl Screens {
    /// A client that shows nothing yet.
    pub fn new(terminals: Arc<Terminals>, inbox: Inbox) -> Self {
        Self { terminals, inbox, shown: Mutex::new(Vec::new()), news: Arc::new(Notify::new()) }
    }

    /// Waits until a shown pane has something new.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Types what the person did; waits while the program does not read, so that no key is dropped.
    pub async fn input(&self, terminal: &TerminalId, event: InputEvent) {
        let Some(pane) = self.terminals.pane(terminal) else { return };
        loop {
            let room = pane.room.notified();
            if pane.has_room() || pane.inner().end.is_some() {
                break;
            }
            room.await;
        }
        if pane.input(&event) && !pane.note_person() {
            let command = Command::UserTyped { terminal: terminal.clone() };
            self.inbox.send(command).await.or_log("note that a person typed");
        }
    }

    /// The client shows these panes from now on.
    pub fn show(&self, view: View) {
        let mut shown = lock(&self.shown);
        let mut next = Vec::with_capacity(view.panes.len());
        for wanted in &view.panes {
            let Some(pane) = self.terminals.pane(&wanted.terminal) else { continue };
            if view.is_active {
                // Sizes follow the client that was last used.
                pane.resize(wanted.size);
            }
            pane.watch(&self.news);
            let is_known = |known: &&Shown| Arc::ptr_eq(&known.pane, &pane);
            let version = shown.iter().find(is_known).map_or(0, |known| known.version);
            next.push(Shown { pane, version });
        }
        *shown = next;
        drop(shown);
        self.news.notify_one();
    }

    /// What the outer terminal told of itself.
    pub fn set_host_facts(&self, facts: HostFacts) {
        self.terminals.set_host(|host| {
            host.fg = facts.foreground.unwrap_or(host.fg);
            host.bg = facts.background.unwrap_or(host.bg);
            let (red, green, blue) = host.bg;
            host.is_dark = u32::from(red) * 3 + u32::from(green) * 6 + u32::from(blue) < 1_280;
        });
    }

    /// The next pane with something newer than the client has, as encoded.
    pub fn next_patch(&self) -> Option<(TerminalId, Vec<u8>)> {
        let mut shown = lock(&self.shown);
        for known in shown.iter_mut() {
            if let Some(patch) = known.pane.patch_since(known.version) {
                known.version = patch.version;
                return Some((known.pane.id.clone(), patch.encode()));
            }
        }
        None
    }
}
