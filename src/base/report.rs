//! Dropping an error on purpose, with the reason beside it.

use std::fmt::Display;

/// Lets a failure pass that the caller can do nothing about, and says so in the log.
pub trait OrLog<T> {
    /// Turns the error into `None`, after a line on standard error that carries `why`.
    ///
    /// The server's standard error is its log file; in a client nothing is printed unless
    /// `ORCA_LOG` is set, because the screen belongs to the person.
    fn or_log(self, why: &str) -> Option<T>;
}

impl<T, E: Display> OrLog<T> for Result<T, E> {
    fn or_log(self, why: &str) -> Option<T> {
        match self {
            Ok(value) => Some(value),
            Err(error) => {
                log(format_args!("{why}: {error}"));
                None
            }
        }
    }
}

static LOG_TO_STDERR: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Makes [`log`] write to standard error; the server calls it once its log file is in place.
pub fn log_to_stderr() {
    LOG_TO_STDERR.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// Writes one line with the time to the log, where a log is kept.
pub fn log(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    if LOG_TO_STDERR.load(std::sync::atomic::Ordering::Relaxed) {
        let now = super::clock::Clock::System.now();
        // Nobody is left to tell when the log itself cannot be written.
        drop(writeln!(std::io::stderr().lock(), "{now} {line}"));
    }
}
