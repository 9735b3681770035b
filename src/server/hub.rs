//! Changes to attached screens: fan-out through bounded queues. A screen that does not keep up is
//! cut to a resync: it misses changes, and gets a snapshot once it has read what it was sent. The
//! engine never waits for anybody.

use crate::base::clock::Timestamp;
use crate::base::id::RunId;
use crate::base::report::{OrLog as _, log};
use crate::ops::view::Fresh;
use crate::proto::event::{Change, LiveRow, RowView};
use crate::proto::frame::{self, FrameKind};
use crate::proto::screen::ServerFrame;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

/// How many changes may wait for one screen.
pub const QUEUE: usize = 256;
/// Rows in one frame of a snapshot, so that it stays far below the frame limit.
const ROWS_PER_FRAME: usize = 1_000;

/// Encoded bytes that several screens share.
pub type Bytes = Arc<Vec<u8>>;

/// An attached screen, as the engine sees it.
#[derive(Debug)]
pub struct Subscriber {
    pub id: u64,
    pub queue: mpsc::Sender<Bytes>,
    /// Set while changes are lost to it; its connection asks for a resync when it is through.
    pub is_behind: Arc<AtomicBool>,
}

/// A screen and the Runs that it was sent.
#[derive(Debug)]
struct Watching {
    screen: Subscriber,
    runs: BTreeSet<RunId>,
}

/// All attached screens.
#[derive(Debug, Default)]
pub struct Hub {
    subscribers: Vec<Watching>,
}

impl Hub {
    /// Takes a screen in; the caller sends it a snapshot next.
    pub fn add(&mut self, subscriber: Subscriber) {
        self.forget_gone();
        self.subscribers.push(Watching { screen: subscriber, runs: BTreeSet::new() });
    }

    /// The number of screens.
    pub fn len(&self) -> usize {
        self.subscribers.iter().filter(|one| !one.screen.queue.is_closed()).count()
    }

    /// Nobody watches, so nothing needs to be encoded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends a change to every screen that keeps up. Gives those that do not have all of a Run that it is about.
    pub fn publish(&mut self, change: Change) -> Vec<Lacking> {
        self.forget_gone();
        if self.subscribers.is_empty() {
            return Vec::new();
        }
        let runs: BTreeSet<RunId> = change.rows.iter().filter_map(RowView::run_id).cloned().collect();
        self.tell(&ServerFrame::Change(Box::new(change)));
        let lacking = self.subscribers.iter().filter(|one| one.keeps_up() && !runs.is_subset(&one.runs));
        let lack = |one: &Watching| Lacking {
            id: one.screen.id,
            runs: runs.difference(&one.runs).cloned().collect(),
            has: one.runs.len(),
        };
        lacking.map(lack).collect()
    }

    /// Sends a screen all of the Runs that it lacks.
    pub fn send_missing(&mut self, lacking: Lacking, change: Change) {
        let Some(watching) = self.subscribers.iter_mut().find(|one| one.screen.id == lacking.id) else {
            return;
        };
        watching.runs.extend(lacking.runs);
        in_frames(change, |bytes| send(&watching.screen, &bytes));
    }

    /// The numbers of all screens.
    pub fn ids(&self) -> Vec<u64> {
        self.subscribers.iter().map(|one| one.screen.id).collect()
    }

    /// Sends a frame to every screen that keeps up.
    pub fn tell(&self, frame: &ServerFrame) {
        let Some(bytes) = encode(frame) else { return };
        for watching in self.subscribers.iter().filter(|one| one.keeps_up()) {
            send(&watching.screen, &bytes);
        }
    }

    /// Sends everything to one screen; from here on it gets changes again.
    pub fn send_snapshot(&mut self, id: u64, fresh: Fresh, rest: Snapshot) {
        let Some(watching) = self.subscribers.iter_mut().find(|one| one.screen.id == id) else { return };
        watching.screen.is_behind.store(false, Ordering::Release);
        watching.runs = fresh.runs;
        let change = Change {
            seq: rest.seq,
            is_snapshot: true,
            n_older_runs: Some(fresh.n_older_runs),
            rows: fresh.rows,
            live: rest.live,
            now: rest.now,
            ..Change::default()
        };
        in_frames(change, |bytes| send(&watching.screen, &bytes));
    }

    /// Tells every screen that the server goes.
    pub fn close(&mut self, reason: &str) {
        if let Some(bytes) = encode(&ServerFrame::Closing { reason: reason.to_owned() }) {
            self.subscribers.iter().for_each(|one| send(&one.screen, &bytes));
        }
        self.subscribers.clear();
    }

    fn forget_gone(&mut self) {
        self.subscribers.retain(|one| !one.screen.queue.is_closed());
    }
}

impl Watching {
    fn keeps_up(&self) -> bool {
        !self.screen.is_behind.load(Ordering::Acquire)
    }
}

/// Gives a change of any length in frames; the first has all but the other rows.
fn in_frames(mut change: Change, mut give: impl FnMut(Bytes)) {
    let (seq, now) = (change.seq, change.now);
    let mut rest = std::mem::take(&mut change.rows).into_iter().peekable();
    loop {
        change.rows = rest.by_ref().take(ROWS_PER_FRAME).collect();
        if let Some(bytes) = encode(&ServerFrame::Change(Box::new(change))) {
            give(bytes);
        }
        if rest.peek().is_none() {
            break;
        }
        change = Change { seq, now, ..Change::default() };
    }
}

/// A screen that a change concerns of which it does not have everything.
#[derive(Debug, PartialEq, Eq)]
pub struct Lacking {
    pub id: u64,
    pub runs: BTreeSet<RunId>,
    /// The number of Runs that it has.
    pub has: usize,
}

/// What a snapshot carries beside its rows.
#[derive(Debug)]
pub struct Snapshot {
    pub seq: u64,
    pub live: Vec<LiveRow>,
    pub now: Timestamp,
}

fn send(subscriber: &Subscriber, bytes: &Bytes) {
    if let Err(mpsc::error::TrySendError::Full(_)) = subscriber.queue.try_send(Arc::clone(bytes)) {
        log(format_args!("screen {} does not keep up; it will get a snapshot", subscriber.id));
        subscriber.is_behind.store(true, Ordering::Release);
    }
}

/// A control frame's bytes.
pub fn encode(message: &ServerFrame) -> Option<Bytes> {
    let json = serde_json::to_vec(message).or_log("encode a frame")?;
    frame::encode(FrameKind::Control, &json).or_log("send a frame").map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limit::Limits;
    use crate::model::run::Run;
    use crate::proto::row::RunRow;

    #[test]
    fn a_slow_screen_is_cut_and_the_others_get_everything() {
        let mut hub = Hub::default();
        let (slow, mut slow_inbox) = mpsc::channel(2);
        let (quick, mut quick_inbox) = mpsc::channel(QUEUE);
        let is_behind = Arc::new(AtomicBool::new(false));
        hub.add(Subscriber { id: 1, queue: slow, is_behind: Arc::clone(&is_behind) });
        hub.add(Subscriber { id: 2, queue: quick, is_behind: Arc::default() });
        for seq in 1..=5 {
            hub.publish(Change { seq, ..Change::default() });
        }
        let count = |inbox: &mut mpsc::Receiver<Bytes>| std::iter::from_fn(|| inbox.try_recv().ok()).count();
        assert_eq!(count(&mut quick_inbox), 5);
        assert_eq!(count(&mut slow_inbox), 2);
        assert!(is_behind.load(Ordering::Acquire));
        let rest = Snapshot { seq: 5, live: Vec::new(), now: Timestamp(0) };
        hub.send_snapshot(1, fresh(&[]), rest);
        hub.publish(Change { seq: 6, ..Change::default() });
        assert_eq!(count(&mut slow_inbox), 2);
        assert!(!is_behind.load(Ordering::Acquire));
    }

    fn fresh(runs: &[&RunRow]) -> Fresh {
        let runs = runs.iter().map(|run| run.id.clone()).collect();
        Fresh { rows: Vec::new(), runs, n_older_runs: 0 }
    }

    #[test]
    fn a_run_that_a_screen_was_not_sent_is_sent_whole_once() {
        let mut hub = Hub::default();
        let (queue, _inbox) = mpsc::channel(QUEUE);
        hub.add(Subscriber { id: 1, queue, is_behind: Arc::default() });
        let rest = || Snapshot { seq: 5, live: Vec::new(), now: Timestamp(0) };
        let old = Run {
            id: RunId::parse("run_1").unwrap(),
            objective: String::new(),
            consumer: None,
            consumer_generation: 1,
            displaced: None,
            limits: Limits::default(),
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        };
        let old = RunRow::from(&old);
        let change = || Change { rows: vec![RowView::Run(old.clone())], ..Change::default() };
        hub.send_snapshot(1, fresh(&[]), rest());
        let lacking = || Lacking { id: 1, runs: BTreeSet::from([old.id.clone()]), has: 0 };
        assert_eq!(hub.publish(change()), [lacking()]);
        hub.send_missing(lacking(), change());
        assert!(hub.publish(change()).is_empty());
        hub.send_snapshot(1, fresh(&[&old]), rest());
        assert!(hub.publish(change()).is_empty());
    }

    #[test]
    fn screens_that_left_are_forgotten() {
        let mut hub = Hub::default();
        let (queue, inbox) = mpsc::channel(2);
        hub.add(Subscriber { id: 1, queue, is_behind: Arc::default() });
        assert_eq!(hub.len(), 1);
        drop(inbox);
        assert!(hub.is_empty());
    }
}
