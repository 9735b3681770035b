//! What a holder and the server say to each other: a kind, a length, a payload. The server's first
//! message from a holder carries the PTY's descriptor beside its bytes.

use crate::base::clock::Timestamp;
use crate::base::size::TermSize;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a holder is to start. Written as JSON, mode 0600, into the terminal's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub terminal: String,
    pub incarnation: String,
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Set on top of the server's environment.
    pub env: Vec<(String, String)>,
    pub unset_env: Vec<String>,
    pub cwd: PathBuf,
    pub size: TermSize,
    /// The preset that runs in it, where one does; also for a server whose database does not know it.
    #[serde(default)]
    pub agent: Option<String>,
    /// Where the holder listens.
    pub socket: PathBuf,
    /// The terminal's folder: `holder.json` and `exit.json` go there.
    pub dir: PathBuf,
    /// The most output kept while no server is there, in bytes; the newest is kept.
    pub ring_bytes: usize,
}

/// How the child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub at: Timestamp,
}

/// A holder's first words, in `holder.json` and at each connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub terminal: String,
    pub incarnation: String,
    pub holder_pid: u32,
    pub child_pid: u32,
    #[serde(default)]
    pub started_at: Timestamp,
    /// Bytes that the ring had to drop since the last server left.
    pub n_dropped: u64,
    /// Bytes of the ring that follow before anything else.
    pub n_ring: u64,
    /// Set when the child ended already.
    pub end: Option<ChildEnd>,
    /// It keeps the ring until it hears [`Message::Taken`].
    #[serde(default)]
    pub awaits_taken: bool,
}

/// What goes over the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Holder: who it is; the descriptor travels with it.
    Hello(Hello),
    /// Holder: output that was kept while no server was there.
    Ring(Vec<u8>),
    /// Holder: the child ended.
    Ended(ChildEnd),
    /// Server: the ring is here; the holder need not keep it for the next server.
    Taken,
    /// Server: end the child and everything in its session, harder after half and after all of the grace.
    Kill { grace_ms: u32 },
    /// Server: the status is recorded; the holder may go.
    Collected,
}

const HEADER: usize = 5;
const RING: u8 = 2;
const MAX_PAYLOAD: usize = 1 << 24;

/// The bytes of a message.
pub fn encode(message: &Message) -> Vec<u8> {
    let (kind, payload) = match message {
        Message::Hello(hello) => (1_u8, serde_json::to_vec(hello).unwrap_or_default()),
        Message::Ring(bytes) => (RING, bytes.clone()),
        Message::Ended(end) => (3, serde_json::to_vec(end).unwrap_or_default()),
        Message::Kill { grace_ms } => (4, grace_ms.to_le_bytes().to_vec()),
        Message::Collected => (5, Vec::new()),
        Message::Taken => (6, Vec::new()),
    };
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.push(kind);
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// What goes before the `n_bytes` of a [`Message::Ring`], so that a sender need not copy them.
pub fn ring_header(n_bytes: usize) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(n_bytes).unwrap_or(u32::MAX).to_le_bytes();
    [RING, a, b, c, d]
}

/// Takes the first whole message off `buffer`; None until more bytes come.
pub fn take(buffer: &mut Vec<u8>) -> Result<Option<Message>, super::PtyError> {
    let Some((header, rest)) = buffer.split_at_checked(HEADER) else { return Ok(None) };
    let &[kind, a, b, c, d] = header else { return Ok(None) };
    let n_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
    if n_bytes > MAX_PAYLOAD {
        return Err(super::PtyError::Malformed { what: "holder message: too long" });
    }
    let Some(payload) = rest.get(..n_bytes) else { return Ok(None) };
    let message = decode(kind, payload)?;
    buffer.drain(..HEADER + n_bytes);
    Ok(Some(message))
}

fn decode(kind: u8, payload: &[u8]) -> Result<Message, super::PtyError> {
    let malformed = super::PtyError::Malformed { what: "holder message" };
    let message = match kind {
        1 => serde_json::from_slice(payload).ok().map(Message::Hello),
        RING => Some(Message::Ring(payload.to_vec())),
        3 => serde_json::from_slice(payload).ok().map(Message::Ended),
        4 => payload.try_into().ok().map(|bytes| Message::Kill { grace_ms: u32::from_le_bytes(bytes) }),
        5 => Some(Message::Collected),
        6 => Some(Message::Taken),
        _ => None,
    };
    message.ok_or(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_byte_by_byte() {
        let end = ChildEnd { exit_code: Some(3), signal: None, at: Timestamp(5) };
        let sent = [
            Message::Ring(vec![1, 2]),
            Message::Ended(end),
            Message::Kill { grace_ms: 9 },
            Message::Collected,
            Message::Taken,
        ];
        let bytes: Vec<u8> = sent.iter().flat_map(encode).collect();
        assert!(bytes.starts_with(&ring_header(2)));
        let (mut buffer, mut seen) = (Vec::new(), Vec::new());
        for byte in bytes {
            buffer.push(byte);
            while let Some(message) = take(&mut buffer).unwrap() {
                seen.push(message);
            }
        }
        assert_eq!(seen, sent);
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(take(&mut vec![9, 0, 0, 0, 0]).is_err());
        assert!(take(&mut vec![2, 255, 255, 255, 255]).is_err());
    }
}
