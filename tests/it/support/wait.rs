//! Waiting for a condition instead of sleeping.

use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `look` finds something; when it never does, `describe` says what was seen instead.
pub fn until<T>(mut look: impl FnMut() -> Option<T>, describe: impl FnOnce() -> String) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain: {}", describe());
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
