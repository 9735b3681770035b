//! The ages on the screen, and when the first of them reads otherwise: until then an idle screen sleeps.

use crate::base::clock::Timestamp;
use crate::base::text;
use std::cell::Cell;

/// How long what the last frame said of ages stays true, in milliseconds.
#[derive(Debug, Clone)]
pub struct Ages(Cell<u64>);

impl Default for Ages {
    fn default() -> Self {
        Self(Cell::new(u64::MAX))
    }
}

impl Ages {
    /// A new frame is drawn: what the last one showed no longer counts.
    pub fn forget(&self) {
        self.0.set(u64::MAX);
    }

    /// How long all that was shown since stays true, in milliseconds.
    pub fn stays_ms(&self) -> u64 {
        self.0.get()
    }
}

/// The moment that a frame shows. Every age in it is asked for here, so that none stands still.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub now: Timestamp,
    pub ages: &'a Ages,
}

impl Moment<'_> {
    /// How long ago that was, as a person reads it.
    pub fn age(self, since: Timestamp) -> String {
        self.grown(self.now.since_ms(since))
    }

    /// An age that is `ms` now and grows with time.
    pub fn grown(self, ms: u64) -> String {
        self.changes_in(text::age_step_ms(ms) - ms % text::age_step_ms(ms));
        text::age(ms)
    }

    /// Something else that is shown is another in `ms`.
    pub fn changes_in(self, ms: u64) {
        self.ages.0.set(self.ages.0.get().min(ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_age_that_reads_otherwise_ends_the_pause() {
        let check = |ages_ms: &[u64], expected: u64| {
            let ages = Ages::default();
            let moment = Moment { now: Timestamp(1_000_000_000), ages: &ages };
            for ms in ages_ms {
                let (shown, stays) = (moment.grown(*ms), ages.stays_ms());
                assert_ne!(shown, text::age(ms + text::age_step_ms(*ms)), "{ms}");
                assert_eq!(shown, text::age(ms + stays - 1), "{ms}");
            }
            assert_eq!(ages.stays_ms(), expected, "{ages_ms:?}");
            ages.forget();
            assert_eq!(ages.stays_ms(), u64::MAX);
        };
        check(&[], u64::MAX);
        check(&[0], 1_000);
        check(&[999], 1);
        check(&[59_400], 600);
        check(&[60_000], 60_000);
        check(&[3_599_000], 1_000);
        check(&[3_600_000], 3_600_000);
        check(&[2 * 86_400_000 + 5], 86_400_000 - 5);
        check(&[7_200_000, 90_000, 61_000], 30_000);
    }
}
