//! The server's side of a holder: connect, receive the descriptor, kill, learn of the end.
//!
//! Everything here blocks only while connecting; afterwards the caller waits for readiness of
//! [`Link::socket`] and [`Link::master`] by its own means and calls [`Link::poll_message`].

use super::PtyError;
use super::wire::{self, ChildEnd, Hello, Message};
use crate::base::size::TermSize;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A holder that does not answer within this time is as good as gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a holder.
#[derive(Debug)]
pub struct Link {
    /// The PTY; non-blocking.
    pub master: OwnedFd,
    pub hello: Hello,
    /// Output that was kept while no server was there; it comes before anything read from `master`.
    pub ring: Vec<u8>,
    stream: UnixStream,
    inbox: Vec<u8>,
}

impl Link {
    /// Connects to the holder at `socket` and takes the terminal over.
    ///
    /// [`PtyError::HolderGone`] when nobody listens there.
    pub fn connect(socket: &Path) -> Result<Self, PtyError> {
        let stream = UnixStream::connect(socket).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => PtyError::HolderGone,
            _ => PtyError::Io { doing: "connect to the holder", source: error },
        })?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(PtyError::io("connect to the holder"))?;
        let mut inbox = Vec::new();
        let mut master = None;
        let hello = loop {
            if let Some(message) = wire::take(&mut inbox)? {
                match message {
                    Message::Hello(hello) => break hello,
                    Message::Ring(_) | Message::Ended(_) | Message::Kill { .. } | Message::Collected => {
                        return Err(PtyError::Malformed { what: "first word of a holder" });
                    }
                }
            }
            receive(&stream, &mut inbox, &mut master)?;
        };
        let master = master.ok_or(PtyError::Malformed { what: "hello of a holder: no descriptor" })?;
        let mut ring = Vec::new();
        while (ring.len() as u64) < hello.n_ring {
            if let Some(Message::Ring(bytes)) = wire::take(&mut inbox)? {
                ring.extend(bytes);
                continue;
            }
            receive(&stream, &mut inbox, &mut None)?;
        }
        stream.set_nonblocking(true).map_err(PtyError::io("connect to the holder"))?;
        rustix::io::ioctl_fionbio(&master, true)
            .map_err(|error| PtyError::Io { doing: "prepare the terminal", source: error.into() })?;
        Ok(Self { master, hello, ring, stream, inbox })
    }

    /// The connection, to wait for readiness.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// The child's end, once the holder told it; None until then. [`PtyError::HolderGone`] when the
    /// connection broke: the child's fate is in `exit.json` or unknown.
    pub fn poll_message(&mut self) -> Result<Option<ChildEnd>, PtyError> {
        let mut buffer = [0_u8; 1024];
        loop {
            match wire::take(&mut self.inbox)? {
                Some(Message::Ended(end)) => return Ok(Some(end)),
                Some(Message::Hello(_) | Message::Ring(_) | Message::Kill { .. } | Message::Collected) => {
                    continue;
                }
                None => {}
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(PtyError::HolderGone),
                Ok(n) => self.inbox.extend_from_slice(buffer.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(PtyError::HolderGone),
            }
        }
    }

    /// Asks for the end of the child and its session: hang-up at once, SIGTERM after half of
    /// `grace_ms`, SIGKILL after all of it.
    pub fn kill(&mut self, grace_ms: u32) -> Result<(), PtyError> {
        self.say(&Message::Kill { grace_ms })
    }

    /// Says that the child's end is recorded; the holder goes.
    pub fn collected(&mut self) -> Result<(), PtyError> {
        self.say(&Message::Collected)
    }

    fn say(&mut self, message: &Message) -> Result<(), PtyError> {
        // A few bytes into an empty socket never block.
        self.stream.write_all(&wire::encode(message)).map_err(|_| PtyError::HolderGone)
    }

    /// Tells the kernel, and so the programs, the size of the terminal.
    pub fn resize(&self, size: TermSize) -> Result<(), PtyError> {
        resize(&self.master, size)
    }
}

/// Sets the window size of a PTY.
pub fn resize(master: &OwnedFd, size: TermSize) -> Result<(), PtyError> {
    let size =
        rustix::termios::Winsize { ws_row: size.n_rows(), ws_col: size.n_cols(), ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(master, size)
        .map_err(|error| PtyError::Io { doing: "resize the terminal", source: error.into() })
}

/// How the child ended, as the holder recorded it in the terminal's folder.
pub fn recorded_end(dir: &Path) -> Option<ChildEnd> {
    serde_json::from_slice(&std::fs::read(dir.join("exit.json")).ok()?).ok()
}

/// Whether a holder ever ran for the terminal whose folder this is.
pub fn was_started(dir: &Path) -> bool {
    dir.join("holder.json").exists()
}

fn receive(
    stream: &UnixStream,
    inbox: &mut Vec<u8>,
    descriptor: &mut Option<OwnedFd>,
) -> Result<(), PtyError> {
    let mut buffer = [0_u8; 64 << 10];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [std::io::IoSliceMut::new(&mut buffer)];
    let received = recvmsg(stream, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| PtyError::Io { doing: "hear the holder", source: error.into() })?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            *descriptor = descriptors.next();
        }
    }
    if received.bytes == 0 {
        return Err(PtyError::HolderGone);
    }
    inbox.extend_from_slice(buffer.get(..received.bytes).unwrap_or_default());
    Ok(())
}
