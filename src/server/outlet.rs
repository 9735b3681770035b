//! The writing side of a client's socket. Frames go out whole and one after the other, whoever sends.
//!
//! The pump of a pane writes its picture itself, because handing it to another thread would cost each
//! key its echo. It never waits: what the client does not take at once is finished by the connection's
//! writer, and until then no other picture is begun.

use super::pane::lock;
use crate::base::report::OrLog as _;
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The socket, and the rest of a frame that the client has not taken yet.
#[derive(Debug)]
pub struct Outlet {
    socket: Arc<UnixStream>,
    rest: Mutex<Vec<u8>>,
}

/// A socket that the runtime watches for one thing only. The runtime's own socket is always watched for
/// both, and would wake us for each frame that a client takes.
pub type Watched = AsyncFd<Arc<UnixStream>>;

/// Watches a socket that does not block.
///
/// # Errors
/// The system has no room for it.
#[allow(unsafe_code)]
pub fn listening(socket: Arc<UnixStream>, interest: Interest) -> Result<Watched> {
    // SAFETY: the socket is open, and `AsyncFd` keeps it so for as long as it watches.
    unsafe { AsyncFd::register_with_interest(socket, interest) }.map_err(Into::into)
}

/// What became of a frame that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    Sent,
    /// It has begun; [`Outlet::flush`] ends it.
    Begun,
    /// The client does not read, or an earlier frame is under way: nothing of it was taken.
    Busy,
    Gone,
}

impl Outlet {
    /// Around a socket that does not block.
    pub fn new(socket: Arc<UnixStream>) -> Self {
        Self { socket, rest: Mutex::new(Vec::new()) }
    }

    /// Sends a frame now, without waiting; any thread may.
    pub fn offer(&self, frame: &[u8]) -> Offered {
        let Ok(mut rest) = self.rest.try_lock() else { return Offered::Busy };
        if !rest.is_empty() {
            return Offered::Busy;
        }
        match (&*self.socket).write(frame) {
            Ok(n_sent) if n_sent >= frame.len() => Offered::Sent,
            Ok(n_sent) => {
                rest.extend_from_slice(frame.get(n_sent..).unwrap_or_default());
                Offered::Begun
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Offered::Busy,
            Err(_) => Offered::Gone,
        }
    }

    /// Sends a frame, waiting until the client takes it.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn send(&self, frame: &[u8]) -> Result<()> {
        loop {
            self.flush().await?;
            let mut rest = lock(&self.rest);
            // Another thread may have begun a picture in between.
            if rest.is_empty() {
                rest.extend_from_slice(frame);
                break;
            }
        }
        self.flush().await
    }

    /// Waits until the client may take something.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn has_room(&self) -> Result<()> {
        let room = listening(Arc::new(self.socket.try_clone()?), Interest::WRITABLE)?;
        room.writable().await.map(|_| ())
    }

    /// Ends the frame that is under way.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn flush(&self) -> Result<()> {
        loop {
            match self.write_rest() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.has_room().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Says that nothing more comes.
    pub fn close(&self) {
        self.socket.shutdown(std::net::Shutdown::Write).or_log("a client went first");
    }

    /// Whether nothing is left.
    fn write_rest(&self) -> Result<bool> {
        let mut rest = lock(&self.rest);
        if rest.is_empty() {
            return Ok(true);
        }
        let n_sent = (&*self.socket).write(&rest)?;
        rest.drain(..n_sent);
        Ok(rest.is_empty())
    }
}
