//! The engine's look at running attempts: when their rows changed, and when time alone may have changed
//! something. Between two looks it costs nothing.

use super::{Batch, Engine, Keep};
use crate::base::clock::Timestamp;
use crate::base::report::{OrLog as _, log};
use crate::ops::cx::CallerFacts;
use crate::ops::watch;
use std::time::{Duration, Instant};

/// Rows whose change may move a limit or a silence.
const TABLES: [&str; 5] = ["dispatch", "worker", "run", "question", "gate"];
/// A clock that differs more than this from the time that passed was set, or the machine slept.
const MAX_DRIFT_MS: i64 = 10_000;
/// The longest time between two looks, so that a jump of the clock is noticed.
const LOOK_EVERY_MS: u64 = 10 * 60 * 1_000;

/// When to look, and how the clock stood last.
#[derive(Debug, Default)]
pub(super) struct Watch {
    due: Option<Timestamp>,
    seen: Option<(Instant, Timestamp)>,
    has_looked: bool,
}

impl Watch {
    /// The moment of the next look.
    pub(super) fn due(&self) -> Option<Timestamp> {
        // A new server looks at once: attempts went on without it.
        if self.has_looked { self.due } else { Some(Timestamp(0)) }
    }

    /// Milliseconds that the clock went ahead of time since the last call, where that is a jump.
    fn jump_ms(&mut self, now: Timestamp) -> Option<i64> {
        let moment = Instant::now();
        let (then, clock) = self.seen.replace((moment, now))?;
        let passed = i64::try_from(moment.duration_since(then).as_millis()).unwrap_or(i64::MAX);
        let ahead = now.0.saturating_sub(clock.0).saturating_sub(passed);
        (ahead.abs() > MAX_DRIFT_MS).then_some(ahead)
    }
}

impl Engine {
    /// How long the engine may sleep for its own sake.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let left = |due: Timestamp| Duration::from_millis(due.since_ms(self.clock.now()));
        let look = self.watch.due().and_then(|due| Instant::now().checked_add(left(due)));
        self.waits.next_deadline().into_iter().chain(look).chain(self.settle_due).min()
    }

    /// Looks at running attempts if there is reason to.
    pub(super) fn look_after(&mut self, batch: &mut Batch) {
        let now = self.clock.now();
        if let Some(ahead_ms) = self.watch.jump_ms(now) {
            log(format_args!("the clock jumped by {:?}", Duration::from_millis(ahead_ms.unsigned_abs())));
            self.note(batch, "note a jump of the clock", |cx| watch::clock_jumped(cx, ahead_ms));
        }
        let is_due = self.watch.due.is_some_and(|due| due <= now);
        let is_changed = TABLES.iter().any(|table| batch.touched.contains(table));
        if !is_due && !is_changed && self.watch.has_looked {
            return;
        }
        self.watch.has_looked = true;
        // A look that fails is tried again with the next change.
        self.watch.due = None;
        let seen = self.read(batch, CallerFacts::default(), |cx| watch::look(cx).map(Keep::Abort));
        let Some((findings, next)) = seen.or_log("look at running attempts") else { return };
        self.watch.due = next.map(|next| next.min(now.plus_ms(LOOK_EVERY_MS)));
        if findings.is_empty() {
            return;
        }
        self.note(batch, "note silences and limits", |cx| watch::note(cx, findings));
        // What was noted moves the next look.
        let seen = self.read(batch, CallerFacts::default(), |cx| watch::look(cx).map(Keep::Abort));
        self.watch.due =
            seen.or_log("look at running attempts").and_then(|(_, next)| next).or(self.watch.due);
    }
}
