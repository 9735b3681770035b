//! The panes that one client shows: what it has seen of each, and what is newer.
//!
//! A client holds one version per pane; whatever is newer is sent when its socket takes it. A slow
//! client skips versions: nothing queues up for it (design 8).

use super::command::{Command, Inbox};
use super::outlet::{Offered, Outlet};
use super::pane::{Pane, Typed, lock};
use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::base::report::OrLog as _;
use crate::proto::frame::{self, FrameKind};
use crate::proto::screen::{HostFacts, View};
use crate::pty::snapshot::Patch;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

struct Shown {
    pane: Arc<Pane>,
    /// The newest version this client was sent. Locked while a newer one is sent, so that they come in order;
    /// one lock per pane, so that the echo of a key waits for no picture of another pane.
    version: Mutex<u64>,
}

/// The panes of one client.
pub struct Screens {
    terminals: Arc<Terminals>,
    inbox: Inbox,
    shown: Mutex<Vec<Arc<Shown>>>,
    news: Notify,
    outlet: Arc<Outlet>,
}

impl std::fmt::Debug for Screens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screens").finish_non_exhaustive()
    }
}

impl Screens {
    /// A client that shows nothing yet.
    pub fn new(terminals: Arc<Terminals>, inbox: Inbox, outlet: Arc<Outlet>) -> Self {
        Self { terminals, inbox, shown: Mutex::new(Vec::new()), news: Notify::new(), outlet }
    }

    /// Waits until a shown pane has something new.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Types what the person did; waits while the program does not read, so that no key is dropped.
    pub async fn input(&self, terminal: &TerminalId, event: InputEvent) {
        let Some(pane) = self.terminals.pane(terminal) else {
            return self.terminals.take(terminal, Typed::Person(event));
        };
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

    /// The same while the server goes: what the program does not read now is kept for the next one.
    pub fn input_at_last(&self, terminal: &TerminalId, event: InputEvent) {
        self.terminals.take(terminal, Typed::Person(event));
    }

    /// The client shows these panes from now on.
    pub fn show(self: &Arc<Self>, view: View) {
        let before = lock(&self.shown).clone();
        let mut next = Vec::with_capacity(view.panes.len());
        for wanted in &view.panes {
            let Some(pane) = self.terminals.shown(&wanted.terminal) else { continue };
            if view.is_active {
                // Sizes follow the client that was last used.
                pane.resize(wanted.size);
            }
            pane.watch(self);
            let known = before.iter().find(|known| Arc::ptr_eq(&known.pane, &pane)).cloned();
            next.push(known.unwrap_or_else(|| Arc::new(Shown { pane, version: Mutex::default() })));
        }
        *lock(&self.shown) = next;
        self.news.notify_one();
    }

    /// What the outer terminal told of itself.
    pub fn set_host_facts(&self, facts: &HostFacts) {
        self.terminals.set_host(|host| {
            host.fg = facts.foreground.unwrap_or(host.fg);
            host.bg = facts.background.unwrap_or(host.bg);
            host.cursor = facts.cursor.unwrap_or(host.cursor);
            for (index, color) in &facts.palette {
                if let Some(entry) = host.palette.get_mut(usize::from(*index)) {
                    *entry = *color;
                }
            }
            host.cell_px = facts.cell_px.unwrap_or(host.cell_px);
            let (red, green, blue) = host.bg;
            let looks_dark = u32::from(red) * 3 + u32::from(green) * 6 + u32::from(blue) < 1_280;
            host.is_dark = facts.is_dark.unwrap_or(looks_dark);
        });
    }

    /// Offers the client the next pane with something newer than it has; None where there is none.
    pub fn offer_next(&self) -> Option<Offered> {
        let shown = lock(&self.shown).clone();
        shown.iter().find_map(|known| self.offer(known, &mut lock(&known.version)))
    }

    /// Sends what is new of `pane` at once, from the thread that made it; where the client does not
    /// take it, its writer sends the newest later.
    pub fn push(&self, pane: &Pane) {
        let known = lock(&self.shown).iter().find(|known| std::ptr::eq(&*known.pane, pane)).cloned();
        let Some(known) = known else { return };
        let Ok(mut version) = known.version.try_lock() else { return self.news.notify_one() };
        match self.offer(&known, &mut version) {
            Some(Offered::Begun | Offered::Busy | Offered::Gone) => self.news.notify_one(),
            Some(Offered::Sent) | None => {}
        }
    }

    fn offer(&self, known: &Shown, version: &mut u64) -> Option<Offered> {
        let patch = known.pane.patch_since(*version)?;
        let offered = self.outlet.offer(&frame_of(&known.pane.id, &patch)?);
        match offered {
            Offered::Sent | Offered::Begun => *version = patch.version,
            Offered::Busy | Offered::Gone => {}
        }
        Some(offered)
    }
}

fn frame_of(terminal: &TerminalId, patch: &Patch) -> Option<Vec<u8>> {
    let mut payload = Vec::from(terminal.as_str().as_bytes());
    payload.push(0);
    payload.extend_from_slice(&patch.encode());
    frame::encode(FrameKind::Screen, &payload).or_log("send a screen")
}
