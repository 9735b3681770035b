//! The screen's connection: attached, asynchronous, both ways at once.
//!
//! [`Stream::next`] may be dropped while it waits and loses nothing, so it fits a `select!`.
//! [`Stream::send`] never waits: what a person types is small, and it is queued in order.

use super::find::{self, Place};
use super::wire;
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::proto::envelope::CONTRACT_VERSION;
use crate::proto::error::ErrorBody;
use crate::proto::frame::{Decoder, FrameKind};
use crate::proto::screen::{Attach, ClientFrame, HostFacts, ServerFrame};
use std::io::{Error, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

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

/// An attached connection.
#[derive(Debug)]
pub struct Stream {
    read: OwnedReadHalf,
    decoder: Decoder,
    out: mpsc::UnboundedSender<Vec<u8>>,
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
        let stream = UnixStream::from_std(stream).map_err(|error| broken(&error))?;
        let (read, write) = stream.into_split();
        let (out, queue) = mpsc::unbounded_channel();
        tokio::spawn(write_all(queue, write));
        let stream = Self { read, decoder: Decoder::default(), out };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        stream.send(&ClientFrame::Attach(Attach { contract: CONTRACT_VERSION, version, host }));
        Ok(stream)
    }

    /// Queues a frame. After the connection broke it goes nowhere; [`Stream::next`] tells of it.
    pub fn send(&self, message: &ClientFrame) {
        if let Ok(bytes) = wire::encode(message) {
            drop(self.out.send(bytes));
        }
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
            match self.read.read(&mut buffer).await {
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

async fn write_all(mut queue: mpsc::UnboundedReceiver<Vec<u8>>, mut to: OwnedWriteHalf) {
    while let Some(bytes) = queue.recv().await {
        if to.write_all(&bytes).await.is_err() {
            break;
        }
    }
}
