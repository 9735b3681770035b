//! The outer terminal: a PTY that the measurement owns, with a reader that stamps what arrives.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Nothing measured here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal of 200 × 50.
pub struct Outer {
    pub began: Instant,
    /// Bytes that were taken in so far.
    pub n_bytes: usize,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    pieces: Receiver<(Instant, Vec<u8>)>,
    _master: Box<dyn MasterPty + Send>,
}

impl Outer {
    /// Starts `argv` with exactly `env`.
    pub fn start(argv: &[String], env: &[(String, String)]) -> Self {
        let size = PtySize { rows: 50, cols: 200, pixel_width: 2_000, pixel_height: 1_000 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::from_argv(argv.iter().map(Into::into).collect());
        command.env_clear();
        env.iter().for_each(|(name, value)| command.env(name, value));
        command.cwd("/");
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let began = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let (send, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 65_536];
            while let Ok(n_read @ 1..) = reader.read(&mut buffer) {
                if send.send((Instant::now(), buffer[..n_read].to_vec())).is_err() {
                    break;
                }
            }
        });
        Self { began, n_bytes: 0, child, writer, pieces, _master: pair.master }
    }

    /// Types.
    pub fn write(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).unwrap();
        self.writer.flush().unwrap();
    }

    /// When `text` had arrived, counted from now on.
    pub fn wait_for(&mut self, text: &str) -> Instant {
        let (began, mut seen) = (Instant::now(), Vec::new());
        loop {
            let left = PATIENCE.saturating_sub(began.elapsed());
            let (at, piece) = self.pieces.recv_timeout(left).unwrap_or_else(|_| {
                panic!("{text:?} did not appear in {:?}", String::from_utf8_lossy(&seen));
            });
            self.n_bytes += piece.len();
            seen.extend_from_slice(&piece);
            if seen.windows(text.len()).any(|window| window == text.as_bytes()) {
                return at;
            }
            // Only what the text may have begun with is searched again.
            seen.drain(..seen.len().saturating_sub(text.len()));
        }
    }

    /// Reads until nothing came for `quiet`.
    pub fn settle(&mut self, quiet: Duration) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            match self.pieces.recv_timeout(quiet) {
                Ok((_, piece)) => self.n_bytes += piece.len(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Reads for so long, whatever comes.
    pub fn read_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while let Ok((_, piece)) = self.pieces.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.n_bytes += piece.len();
        }
    }

    /// Leaves with the detach keys and waits for the client's end.
    pub fn detach(mut self) {
        self.write(b"\x02d");
        self.read_for(Duration::from_millis(200));
        self.child.wait().unwrap();
    }
}
