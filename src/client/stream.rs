//! The screen's connection: attached, asynchronous, both ways at once.
//!
//! [`Stream::next`] may be dropped while it waits and loses nothing, so it fits a `select!`.
//! [`Sender::send`] never waits: what a person types is small. It goes out at once from whichever
//! thread has it, and what the server does not take is queued in order.

use super::find::{self, Place};
use super::wire;
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::proto::envelope::CONTRACT_VERSION;
use crate::proto::error::ErrorBody;
use crate::proto::frame::{Decoder, FrameKind};
use crate::proto::screen::{Attach, ClientFrame, HostFacts, ServerFrame};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// What the server has not taken yet.
    rest: Mutex<Vec<u8>>,
    has_rest: Notify,
}

impl Sender {
    /// Sends a frame. False: the connection is broken and nothing of it went out; [`Stream::next`] tells
    /// of it too.
    pub fn send(&self, message: &ClientFrame) -> bool {
        let Ok(bytes) = wire::encode(message) else { return false };
        let mut rest = self.0.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let n_sent = match rest.is_empty().then(|| (&*self.0.socket).write(&bytes)) {
            Some(Ok(n_sent)) => n_sent,
            Some(Err(error)) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return false;
            }
            Some(Err(_)) | None => 0,
        };
        let unsent = bytes.get(n_sent..).unwrap_or_default();
        if !unsent.is_empty() {
            rest.extend_from_slice(unsent);
            self.0.has_rest.notify_one();
        }
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
            while self.write_rest() {
                let Ok(socket) = self.socket.try_clone().map(Arc::new) else { return };
                let Ok(room) = watched(socket, Interest::WRITABLE) else { return };
                if room.writable().await.is_err() {
                    return;
                }
            }
        }
    }

    /// Whether something is left for later.
    fn write_rest(&self) -> bool {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*self.socket).write(&rest) {
            Ok(n_sent) => drop(rest.drain(..n_sent)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // Nobody will take it any more.
            Err(_) => rest.clear(),
        }
        !rest.is_empty()
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

    /// Closes the connection once the server has taken everything, or does not for a while.
    pub async fn finish(self) {
        let taken = async {
            while !self.sender.0.rest.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // What it did not take goes nowhere.
        drop(tokio::time::timeout(FAREWELL, taken).await);
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
