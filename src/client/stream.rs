//! The screen's connection: attached, asynchronous, both ways at once.
//!
//! [`Stream::next`] may be dropped while it waits and loses nothing, so it fits a `select!`.
//! [`Sender::send`] never waits: what a person types is small. It goes out at once from whichever
//! thread has it, and what the server does not take is queued in order; what it never took is given back
//! for the next one.

use super::find::{self, Place};
use super::wire;
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::proto::envelope::CONTRACT_VERSION;
use crate::proto::error::ErrorBody;
use crate::proto::frame::{Decoder, FrameKind};
use crate::proto::screen::{Attach, ClientFrame, HostFacts, ServerFrame};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How long a server that goes may take to read what was sent to it.
const FAREWELL: Duration = Duration::from_secs(1);

/// What comes from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Frame(ServerFrame),
    /// A patch of a terminal's screen, as `pty::snapshot` encodes it.
    Screen {
        terminal: TerminalId,
        patch: Vec<u8>,
    },
    /// The server is gone. [`Stream::attach`] again brings the next one.
    Closed {
        reason: String,
    },
}

/// A socket that the runtime watches for one thing only. The runtime's own socket is always watched for
/// both, and would wake us for each key that the server takes.
type Watched = AsyncFd<Arc<UnixStream>>;

#[allow(unsafe_code)]
fn watched(socket: Arc<UnixStream>, interest: Interest) -> Result<Watched> {
    // SAFETY: the socket is open, and `AsyncFd` keeps it so for as long as it watches.
    unsafe { AsyncFd::register_with_interest(socket, interest) }.map_err(Into::into)
}

/// An attached connection.
#[derive(Debug)]
pub struct Stream {
    read: Watched,
    decoder: Decoder,
    sender: Sender,
    drain: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.drain.abort();
        // Clones of the sender may live on; the server must know nevertheless. It may have gone first.
        drop(self.sender.0.socket.shutdown(std::net::Shutdown::Both));
    }
}

/// The sending side; clones send through the same connection.
#[derive(Debug, Clone)]
pub struct Sender(Arc<Outlet>);

#[derive(Debug)]
struct Outlet {
    socket: Arc<UnixStream>,
    rest: Mutex<Rest>,
    has_rest: Notify,
}

/// What the server has not taken yet.
#[derive(Debug, Default)]
struct Rest {
    frames: VecDeque<Unsent>,
    /// How much of the first one went out.
    n_begun: usize,
    /// Nothing goes out any more.
    is_closed: bool,
}

#[derive(Debug)]
struct Unsent {
    bytes: Vec<u8>,
    /// What a person did, where the frame says that.
    input: Option<Typed>,
}

/// What a person did in a terminal.
pub type Typed = (TerminalId, InputEvent);

impl Sender {
    /// Sends a frame. False: the connection is broken and nothing of it went out; [`Stream::next`] tells
    /// of it too.
    pub fn send(&self, message: &ClientFrame) -> bool {
        let mut rest = self.0.rest();
        if rest.is_closed {
            return false;
        }
        let Ok(bytes) = wire::encode(message) else { return false };
        if rest.frames.is_empty() {
            rest.n_begun = match (&*self.0.socket).write(&bytes) {
                Ok(n_sent) if n_sent >= bytes.len() => return true,
                Ok(n_sent) => n_sent,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
                Err(_) => {
                    rest.is_closed = true;
                    return false;
                }
            };
        }
        let input = match message {
            ClientFrame::Input { terminal, event } => Some((terminal.clone(), event.clone())),
            ClientFrame::Request(_)
            | ClientFrame::Attach(_)
            | ClientFrame::Host(_)
            | ClientFrame::View(_)
            | ClientFrame::Lines(_)
            | ClientFrame::Search(_) => None,
        };
        rest.frames.push_back(Unsent { bytes, input });
        self.0.has_rest.notify_one();
        true
    }
}

#[cfg(test)]
impl Sender {
    /// A sender and the other side of its connection, which nobody serves.
    pub fn pair() -> (Self, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = Arc::new(ours);
        (Self(Arc::new(Outlet { socket, rest: Mutex::default(), has_rest: Notify::new() })), theirs)
    }
}

impl Outlet {
    /// Sends what is left over whenever the server takes it, until the connection breaks.
    async fn drain(self: Arc<Self>) {
        loop {
            self.has_rest.notified().await;
            while self.write(&mut self.rest()) {
                let Ok(socket) = self.socket.try_clone().map(Arc::new) else { return };
                let Ok(room) = watched(socket, Interest::WRITABLE) else { return };
                if room.writable().await.is_err() {
                    return;
                }
            }
        }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nothing more go out; gives what a person did that has not gone out whole.
    fn close(&self) -> Vec<Typed> {
        let mut rest = self.rest();
        rest.is_closed = true;
        rest.frames.drain(..).filter_map(|unsent| unsent.input).collect()
    }

    /// Sends what the server takes now. True: something is left for later.
    fn write(&self, rest: &mut Rest) -> bool {
        while let Some(first) = rest.frames.front()
            && !rest.is_closed
        {
            match (&*self.socket).write(first.bytes.get(rest.n_begun..).unwrap_or_default()) {
                Ok(n_sent) if rest.n_begun + n_sent < first.bytes.len() => rest.n_begun += n_sent,
                Ok(_) => {
                    rest.n_begun = 0;
                    rest.frames.pop_front();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => rest.is_closed = true,
            }
        }
        false
    }
}

impl Stream {
    /// Connects (starting a server where allowed) and attaches. A snapshot follows.
    pub async fn attach(place: &Place, host: HostFacts) -> std::result::Result<Self, ErrorBody> {
        let place = place.clone();
        let broken = |error: &dyn std::fmt::Display| {
            ErrorBody::new(ErrorCode::RuntimeUnavailable, format!("The server cannot be reached: {error}."))
                .next_step("orca server status")
        };
        let connection = tokio::task::spawn_blocking(move || find::connect_or_start(&place))
            .await
            .map_err(|error| broken(&error))??;
        let stream = connection.into_stream();
        stream.set_nonblocking(true).map_err(|error| broken(&error))?;
        let stream = Arc::new(stream);
        let read = watched(Arc::clone(&stream), Interest::READABLE);
        let read = read.map_err(|error| broken(&error))?;
        let outlet = Outlet { socket: stream, rest: Mutex::default(), has_rest: Notify::new() };
        let sender = Sender(Arc::new(outlet));
        let drain = tokio::spawn(Arc::clone(&sender.0).drain());
        let stream = Self { read, decoder: Decoder::default(), sender, drain };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let attach = ClientFrame::Attach(Attach { contract: CONTRACT_VERSION, version, host });
        match stream.sender.send(&attach) {
            true => Ok(stream),
            false => Err(broken(&"it went away")),
        }
    }

    /// Closes the connection once the server has taken everything, or does not for a while. Gives what a
    /// person did that it has not taken, in order; a frame that went out in part is nothing to it.
    pub async fn finish(self) -> Vec<Typed> {
        let outlet = &self.sender.0;
        let is_over = || {
            let rest = outlet.rest();
            rest.is_closed || rest.frames.is_empty()
        };
        let taken = async {
            while !is_over() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // What it did not take is given back.
        drop(tokio::time::timeout(FAREWELL, taken).await);
        outlet.close()
    }

    /// The sending side.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The next thing from the server.
    pub async fn next(&mut self) -> Incoming {
        loop {
            match self.take() {
                Ok(Some(incoming)) => return incoming,
                Ok(None) => {}
                Err(error) => return Incoming::Closed { reason: error.to_string() },
            }
            let mut buffer = [0_u8; 16 << 10];
            let mut ready = match self.read.readable().await {
                Ok(ready) => ready,
                Err(error) => return Incoming::Closed { reason: error.to_string() },
            };
            let Ok(read) = ready.try_io(|socket| (&**socket.get_ref()).read(&mut buffer)) else { continue };
            match read {
                Ok(0) => {
                    return Incoming::Closed { reason: String::from("the server closed the connection") };
                }
                Ok(n_read) => self.decoder.push(buffer.get(..n_read).unwrap_or_default()),
                Err(error) => return Incoming::Closed { reason: error.to_string() },
            }
        }
    }

    fn take(&mut self) -> Result<Option<Incoming>> {
        let Some(frame) = self.decoder.next_frame().map_err(Error::other)? else { return Ok(None) };
        let incoming = match frame.kind {
            FrameKind::Control => {
                Incoming::Frame(serde_json::from_slice(&frame.payload).map_err(Error::other)?)
            }
            FrameKind::Screen => {
                let end = frame.payload.iter().position(|byte| *byte == 0);
                let parts = end.and_then(|end| frame.payload.split_at_checked(end));
                let (name, rest) = parts.ok_or_else(|| Error::other("a screen without a terminal"))?;
                let name = std::str::from_utf8(name).map_err(Error::other)?;
                let terminal = TerminalId::parse(name).map_err(Error::other)?;
                Incoming::Screen { terminal, patch: rest.get(1..).unwrap_or_default().to_vec() }
            }
        };
        Ok(Some(incoming))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::frame::Frame;

    #[test]
    fn what_the_server_has_not_taken_whole_is_given_back_and_no_more_goes_out() {
        let (sender, mut server) = Sender::pair();
        sender.0.socket.set_nonblocking(true).unwrap();
        let terminal = TerminalId::parse("term_000000000001").unwrap();
        let input = |n: usize| (terminal.clone(), InputEvent::Paste(format!("{n} {}", "x".repeat(500))));
        let mut n_all = 0;
        while n_all < 10 || sender.0.rest().frames.len() < 10 {
            let (terminal, event) = input(n_all);
            assert!(sender.send(&ClientFrame::Input { terminal, event }));
            n_all += 1;
        }
        let unsent = sender.0.close();
        let (terminal, event) = input(n_all);
        assert!(!sender.send(&ClientFrame::Input { terminal, event }), "it is closed");
        drop(sender);
        let (mut decoder, mut sent) = (Decoder::default(), Vec::new());
        std::io::Read::read_to_end(&mut server, &mut sent).unwrap();
        decoder.push(&sent);
        let mut taken = Vec::new();
        while let Ok(Some(Frame { payload, .. })) = decoder.next_frame() {
            match serde_json::from_slice(&payload).unwrap() {
                ClientFrame::Input { terminal, event } => taken.push((terminal, event)),
                other => panic!("{other:?}"),
            }
        }
        assert!(!taken.is_empty());
        let all: Vec<_> = taken.into_iter().chain(unsent).collect();
        assert_eq!(all, (0..n_all).map(input).collect::<Vec<_>>());
    }
}
