//! Frames over a blocking socket.

use crate::proto::frame::{self, Decoder, FrameKind};
use crate::proto::screen::{ClientFrame, ServerFrame};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    decoder: Decoder,
}

impl Connection {
    /// Takes over a connected socket.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, decoder: Decoder::default() }
    }

    /// The socket itself, for a client that goes on asynchronously.
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// How long [`Connection::next`] waits for a sign of life.
    pub fn set_patience(&self, patience: Option<Duration>) -> Result<()> {
        self.stream.set_read_timeout(patience)
    }

    /// Sends a frame.
    pub fn send(&mut self, message: &ClientFrame) -> Result<()> {
        self.stream.write_all(&encode(message)?)
    }

    /// The next control frame; screens are skipped.
    pub fn next_frame(&mut self) -> Result<ServerFrame> {
        let mut buffer = [0_u8; 16 << 10];
        loop {
            while let Some(frame) = self.decoder.next_frame().map_err(Error::other)? {
                match frame.kind {
                    FrameKind::Control => {
                        return serde_json::from_slice(&frame.payload).map_err(Error::other);
                    }
                    FrameKind::Screen => {}
                }
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Error::from(ErrorKind::UnexpectedEof)),
                Ok(n_read) => self.decoder.push(buffer.get(..n_read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A control frame's bytes.
pub fn encode(message: &ClientFrame) -> Result<Vec<u8>> {
    let json = serde_json::to_vec(message).map_err(Error::other)?;
    frame::encode(FrameKind::Control, &json).map_err(Error::other)
}
