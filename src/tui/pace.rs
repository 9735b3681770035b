//! When the next frame may be drawn: at once after a pause, then at most every 16 ms, and during a
//! flood no more often than a slow line takes.

use std::time::{Duration, Instant};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// Bytes a second to the host that floods may take for long.
const BYTES_PER_SECOND: f64 = 400_000.0;
/// Bytes that may go out at once before that counts.
const MOST_CREDIT: f64 = 64_000.0;

/// Paces the frames of one screen.
#[derive(Debug)]
pub struct Pace {
    may_draw_at: Instant,
    /// Bytes that may go out now; below zero where more went out.
    credit: f64,
    counted_at: Instant,
}

impl Pace {
    /// The first frame may be drawn now.
    pub fn new(now: Instant) -> Self {
        Self { may_draw_at: now, credit: MOST_CREDIT, counted_at: now }
    }

    /// When the next frame may be drawn.
    pub fn may_draw_at(&self) -> Instant {
        self.may_draw_at
    }

    /// A frame waits this much at least, so that it shows what is to come.
    pub fn wait(&mut self, now: Instant, patience: Duration) {
        self.may_draw_at = self.may_draw_at.max(now + patience);
    }

    /// What is there to be drawn cannot wait.
    pub fn hurry(&mut self, now: Instant) {
        self.may_draw_at = now;
    }

    /// A frame of so many bytes was written. One that changed nothing delays none after it.
    pub fn note(&mut self, now: Instant, n_bytes: usize) {
        if n_bytes == 0 {
            return;
        }
        self.spend(now, n_bytes);
        let owed = Duration::from_secs_f64((-self.credit).max(0.0) / BYTES_PER_SECOND);
        self.may_draw_at = now + FRAME.max(owed.min(Duration::from_millis(250)));
    }

    /// So many bytes were written beside the frames, which delays none of them yet.
    pub fn spend(&mut self, now: Instant, n_bytes: usize) {
        let earned = now.duration_since(self.counted_at).as_secs_f64() * BYTES_PER_SECOND;
        self.counted_at = now;
        self.credit = (self.credit + earned).min(MOST_CREDIT) - n_bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_held_to_its_rate_and_a_key_is_not() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        let (mut now, mut n_bytes) = (began, 0);
        while now < began + Duration::from_secs(10) {
            pace.note(now, 10_000);
            n_bytes += 10_000;
            now = pace.may_draw_at();
        }
        assert!((3_900_000..4_200_000).contains(&n_bytes), "{n_bytes}");
        pace.hurry(now);
        assert_eq!(pace.may_draw_at(), now);
        let later = now + Duration::from_secs(1);
        pace.note(later, 10);
        assert_eq!(pace.may_draw_at(), later + FRAME, "small frames follow each other as fast as allowed");
    }
}
