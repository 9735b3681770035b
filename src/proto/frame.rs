//! Frames on the socket: a length, a kind, a payload. Pure: bytes in, frames out.
//!
//! `u32` little-endian length of the payload, one byte of kind, the payload.

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// JSON: [`super::screen::ClientFrame`] or [`super::screen::ServerFrame`]. Ordered and lossless.
    Control,
    /// A screen patch: the terminal's id, a NUL, then what `pty::snapshot` encodes. Newest wins.
    Screen,
}

impl FrameKind {
    fn byte(self) -> u8 {
        match self {
            Self::Control => 1,
            Self::Screen => 2,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Control),
            2 => Some(Self::Screen),
            _ => None,
        }
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    pub payload: Vec<u8>,
}

/// The longest payload that is accepted, in bytes. A paste of [`MAX_PASTE`] fits, whatever is in it.
///
/// [`MAX_PASTE`]: super::screen::MAX_PASTE
pub const MAX_PAYLOAD: usize = 64 << 20;
const HEADER: usize = 5;

/// Why a byte stream is not one of frames. The connection cannot go on after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    TooLong { n_bytes: usize },
    UnknownKind { byte: u8 },
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong { n_bytes } => {
                write!(f, "a frame of {n_bytes} bytes is over the limit of {MAX_PAYLOAD}")
            }
            Self::UnknownKind { byte } => write!(f, "a frame has the unknown kind {byte}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The bytes of a frame; a payload over the limit is refused before it is sent.
pub fn encode(kind: FrameKind, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    let too_long = FrameError::TooLong { n_bytes: payload.len() };
    if payload.len() > MAX_PAYLOAD {
        return Err(too_long);
    }
    let length = u32::try_from(payload.len()).map_err(|_| too_long)?;
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.push(kind.byte());
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

/// Collects bytes as they arrive and cuts them into frames.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the next frame starts in `buffer`.
    start: usize,
}

impl Decoder {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 && self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > 1 << 16 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, or nothing until more bytes come.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let waiting = self.buffer.get(self.start..).unwrap_or_default();
        let Some((header, rest)) = waiting.split_at_checked(HEADER) else { return Ok(None) };
        let &[a, b, c, d, kind_byte] = header else { return Ok(None) };
        let n_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        if n_bytes > MAX_PAYLOAD {
            return Err(FrameError::TooLong { n_bytes });
        }
        let kind = FrameKind::from_byte(kind_byte).ok_or(FrameError::UnknownKind { byte: kind_byte })?;
        let Some(payload) = rest.get(..n_bytes) else { return Ok(None) };
        let frame = Frame { kind, payload: payload.to_vec() };
        self.start += HEADER + n_bytes;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_survive_any_split(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8), step in 1_usize..64) {
            let mut stream = Vec::new();
            for payload in &payloads {
                stream.extend(encode(FrameKind::Screen, payload).unwrap());
            }
            let mut decoder = Decoder::default();
            let mut seen = Vec::new();
            for chunk in stream.chunks(step) {
                decoder.push(chunk);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    seen.push(frame.payload);
                }
            }
            prop_assert_eq!(seen, payloads);
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }

    #[test]
    fn oversized_and_unknown_frames_are_errors() {
        let mut decoder = Decoder::default();
        decoder.push(&[0xff, 0xff, 0xff, 0xff, 1]);
        assert!(matches!(decoder.next_frame(), Err(FrameError::TooLong { .. })));
        let mut decoder = Decoder::default();
        decoder.push(&[0, 0, 0, 0, 9]);
        assert_eq!(decoder.next_frame(), Err(FrameError::UnknownKind { byte: 9 }));
    }
}
