//! Where a person types. A flood elsewhere would take the machine from all that brings them the echo of
//! their key, so it leaves them room for a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// So long after a key a person still types.
const TYPING: Duration = Duration::from_secs(1);
/// So long a program may take to answer a key.
const ANSWER: Duration = Duration::from_millis(5);

/// The keys of all panes.
#[derive(Debug)]
pub struct Attention {
    began: Instant,
    /// When the last key was typed, in µs from `began`; 0 before the first.
    typed_us: AtomicU64,
    /// Its time, once it was answered.
    answered_us: AtomicU64,
}

impl Default for Attention {
    fn default() -> Self {
        Self { began: Instant::now(), typed_us: AtomicU64::new(0), answered_us: AtomicU64::new(0) }
    }
}

impl Attention {
    fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }
}

/// One pane's part in it.
#[derive(Debug)]
pub struct Seat {
    all: Arc<Attention>,
    /// When the last key was typed here.
    typed_us: AtomicU64,
    /// A person typed and sees no answer yet.
    is_echo_due: AtomicBool,
}

impl Seat {
    /// A pane in which nobody typed.
    pub fn new(all: Arc<Attention>) -> Self {
        Self { all, typed_us: AtomicU64::new(0), is_echo_due: AtomicBool::new(false) }
    }

    /// A person typed here; call it before the program can answer.
    pub fn note_key(&self) {
        let now_us = self.all.now_us();
        self.typed_us.store(now_us, Ordering::Relaxed);
        self.all.typed_us.store(now_us, Ordering::Relaxed);
        self.is_echo_due.store(true, Ordering::Relaxed);
    }

    /// Whether a person typed here and sees no answer yet.
    pub fn is_echo_due(&self) -> bool {
        self.is_echo_due.load(Ordering::Relaxed)
    }

    /// Whether output that comes now answers what a person typed; once for each time.
    pub fn take_echo_due(&self) -> bool {
        let is_due = self.is_echo_due.swap(false, Ordering::Relaxed);
        if is_due {
            self.all.answered_us.store(self.typed_us.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        is_due
    }

    /// Whether a person types in another pane.
    pub fn is_typed_elsewhere(&self) -> bool {
        self.typed_elsewhere_within(TYPING).is_some()
    }

    /// Whether a person typed in another pane a moment ago and sees no answer yet.
    pub fn is_echo_due_elsewhere(&self) -> bool {
        self.typed_elsewhere_within(ANSWER)
            .is_some_and(|typed_us| typed_us != self.all.answered_us.load(Ordering::Relaxed))
    }

    fn typed_elsewhere_within(&self, time: Duration) -> Option<u64> {
        let typed_us = self.all.typed_us.load(Ordering::Relaxed);
        let is_elsewhere = typed_us != 0 && typed_us != self.typed_us.load(Ordering::Relaxed);
        let is_recent = || u128::from(self.all.now_us().saturating_sub(typed_us)) < time.as_micros();
        (is_elsewhere && is_recent()).then_some(typed_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_for_all_panes_but_its_own_until_it_is_answered() {
        let all = Arc::new(Attention::default());
        let (here, elsewhere) = (Seat::new(Arc::clone(&all)), Seat::new(all));
        assert!(!elsewhere.is_typed_elsewhere());
        here.note_key();
        assert!(here.is_echo_due() && elsewhere.is_typed_elsewhere());
        assert!(!here.is_typed_elsewhere() && !elsewhere.is_echo_due());
        assert!(here.take_echo_due() && !here.take_echo_due());
        assert!(!elsewhere.is_echo_due_elsewhere());
    }
}
