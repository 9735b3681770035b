//! What was read of a PTY and is not drawn yet.
//!
//! Reading goes on while a flood is drawn, so it has a lock of its own. What is read is in the journal
//! before anything else is done with it: a server that is killed in the middle of a flood leaves the whole
//! of it to the next one, but for a piece between two system calls; one that ends in order nothing at all.
//!
//! The lock of a pane's screen comes before this one: whoever takes bytes out holds both, so that output
//! and new sizes have the same order on the screen and in the journal.

use super::pane::Pane;
use crate::base::clock::Clock;
use crate::base::report::{OrLog as _, log};
use crate::base::size::TermSize;
use crate::pty::PtyError;
use crate::pty::journal::Journal;
use crate::pty::link::{self, Output};
use crate::pty::term::Term;
use rustix::event::{PollFd, PollFlags, poll};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are read at once; a PTY gives no more.
const PIECE: usize = 4 << 10;
/// A shorter piece is likely all there is.
const SHORT: usize = 2 << 10;
/// Bytes that are read ahead at most: the more of a flood there is, the less of it must be drawn
/// (`pty/skip.rs`).
const MAX_AHEAD: usize = 256 << 10;
/// How long the next piece of a flood may take.
const PATIENCE: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 300_000 };

/// The journal of a live terminal and what of it is not on its screen yet.
#[derive(Debug)]
pub struct Intake {
    journal: Option<Journal>,
    ahead: Vec<u8>,
    /// Something was taken to be drawn, and nobody looked at what came of it.
    is_drawn: bool,
    /// The server goes: what comes now is for the next one.
    is_closed: bool,
}

impl Intake {
    /// One that has read nothing.
    pub fn new(journal: Option<Journal>) -> Self {
        Self { journal, ahead: Vec::new(), is_drawn: false, is_closed: false }
    }

    /// Reads a piece and keeps it, without waiting.
    pub fn read(&mut self, master: &OwnedFd) -> Result<Output, PtyError> {
        if self.is_closed {
            return Ok(Output::Closed);
        }
        let mut piece = [0_u8; PIECE];
        let output = link::read(master, &mut piece)?;
        if let Output::Bytes(n) = output {
            let piece = piece.get(..n).unwrap_or_default();
            if let Some(journal) = &mut self.journal {
                journal.time(Clock::System.now());
                journal.output(piece).or_log("keep output");
                journal.flush().or_log("keep output");
            }
            self.ahead.extend_from_slice(piece);
        }
        Ok(output)
    }

    /// How many bytes wait to be drawn.
    pub fn n_ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Whether there is enough to draw.
    fn is_full(&self) -> bool {
        self.ahead.len() >= MAX_AHEAD
    }

    /// What is to be drawn next.
    pub fn take(&mut self) -> Vec<u8> {
        self.is_drawn |= !self.ahead.is_empty();
        std::mem::take(&mut self.ahead)
    }

    /// Whether there is something to draw, or to look at since it was drawn.
    pub fn is_due(&self) -> bool {
        self.is_drawn || !self.ahead.is_empty()
    }

    /// Whether something was drawn since the last time.
    pub fn take_drawn(&mut self) -> bool {
        std::mem::take(&mut self.is_drawn)
    }

    /// Begins a new segment of the journal where one is due: with the whole screen, and what was read and is
    /// not on it.
    pub fn begin_segment(&mut self, term: &mut Term) {
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.wants_keyframe()) {
            let keyframe = term.keyframe();
            journal.rotate(term.size(), &keyframe, &self.ahead).or_log("keep output");
        }
    }

    /// Notes another size; everything read before it must be drawn.
    pub fn resize(&mut self, size: TermSize) {
        if let Some(journal) = &mut self.journal {
            journal.resize(size);
        }
    }

    /// Gives all that is kept to the system.
    pub fn flush(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.flush().or_log("keep output");
        }
    }

    /// Reads nothing any more.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.flush();
    }
}

impl Pane {
    /// Reads what is there, and what comes of a flood within a moment. True when output is over.
    pub fn collect(&self) -> bool {
        loop {
            let mut intake = self.intake();
            let read = intake.read(&self.master);
            let (is_full, has_some) = (intake.is_full(), !intake.ahead.is_empty());
            drop(intake);
            match read {
                Ok(Output::Bytes(n)) if n < SHORT || is_full => return false,
                Ok(Output::Bytes(_)) => {}
                // Nobody waits for more while a key waits for its echo.
                Ok(Output::Nothing) if has_some && !self.is_echo_due() && self.has_more_soon() => {}
                Ok(Output::Nothing) => return false,
                Ok(Output::Closed) => return true,
                Err(error) => {
                    log(format_args!("{}: {error}", self.id));
                    return true;
                }
            }
        }
    }

    /// Reads what comes until there is enough or what was read before `is_drawn`.
    pub fn collect_until(&self, is_drawn: &AtomicBool) {
        while !is_drawn.load(Ordering::Relaxed) {
            let mut intake = self.intake();
            if intake.is_full() {
                return;
            }
            let read = intake.read(&self.master);
            drop(intake);
            match read {
                Ok(Output::Bytes(_)) => {}
                Ok(Output::Nothing) => drop(self.has_more_soon()),
                // Whoever reads next meets that again.
                Ok(Output::Closed) | Err(_) => return,
            }
        }
    }

    fn has_more_soon(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&PATIENCE)).is_ok()
            && fds.first().is_some_and(|fd| fd.revents().contains(PollFlags::IN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pty::journal::{Record, restore};
    use crate::pty::term::TermConfig;
    use std::path::Path;

    fn intake(dir: &Path, most: usize) -> (Intake, Term, OwnedFd, OwnedFd) {
        let size = TermSize::clamped(4, 20);
        let mut term = Term::new(size, TermConfig::default());
        let journal = Journal::open(dir, most, size, &term.keyframe()).unwrap();
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        (Intake::new(Some(journal)), term, reader, writer)
    }

    fn kept(dir: &Path) -> Vec<Record> {
        let mut records = restore(dir).records;
        records.retain(|record| !matches!(record, Record::Keyframe { .. } | Record::Time(_)));
        records
    }

    #[test]
    fn what_was_read_is_kept_before_it_is_drawn_and_in_the_order_of_the_sizes() {
        let dir = tempfile::tempdir().unwrap();
        let (mut intake, _, reader, writer) = intake(dir.path(), 1 << 20);
        let write = |bytes: &[u8]| assert_eq!(rustix::io::write(&writer, bytes).unwrap(), bytes.len());
        write(b"one");
        assert_eq!(intake.read(&reader).unwrap(), Output::Bytes(3));
        assert_eq!(intake.read(&reader).unwrap(), Output::Nothing);
        assert_eq!(kept(dir.path()), [Record::Output(b"one".to_vec())]);
        assert!(intake.is_due());
        assert_eq!(intake.take(), b"one");
        assert!(intake.is_due(), "nobody looked at what came of it");
        assert!(intake.take_drawn());
        assert!(!intake.is_due());

        let size = TermSize::clamped(3, 10);
        intake.resize(size);
        write(b"two");
        intake.read(&reader).unwrap();
        intake.close();
        write(b"three");
        assert_eq!(intake.read(&reader).unwrap(), Output::Closed, "that is for the next server");
        let expected =
            [Record::Output(b"one".to_vec()), Record::Resize(size), Record::Output(b"two".to_vec())];
        assert_eq!(kept(dir.path()), expected);
    }

    #[test]
    fn a_segment_begins_with_the_screen_and_what_is_not_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mut intake, mut term, reader, writer) = intake(dir.path(), 10);
        let read = |intake: &mut Intake, bytes: &[u8]| {
            rustix::io::write(&writer, bytes).unwrap();
            intake.read(&reader).unwrap();
        };
        read(&mut intake, b"0123456789");
        term.process(&intake.take());
        read(&mut intake, b"ahead");
        intake.begin_segment(&mut term);
        read(&mut intake, b"!");
        term.process(&intake.take());

        let output = |bytes: &[u8]| Record::Output(bytes.to_vec());
        assert_eq!(kept(dir.path()), [output(b"0123456789"), output(b"ahead"), output(b"!")], "each once");
        // Without the segment before, the new one is the whole story.
        std::fs::remove_file(dir.path().join("journal.0")).unwrap();
        let mut again = Term::new(term.size(), TermConfig::default());
        for record in restore(dir.path()).records {
            match record {
                Record::Keyframe { bytes, .. } | Record::Output(bytes) => again.process(&bytes),
                _ => {}
            }
        }
        assert_eq!(again.screen_lines(), term.screen_lines());
        assert_eq!(again.screen_lines()[0], "0123456789ahead!");
    }
}
