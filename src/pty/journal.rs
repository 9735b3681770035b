//! The raw output of a terminal on disk, so that a server which was killed can draw it again.
//!
//! Two segments in the terminal's folder take turns. Each starts with a keyframe (bytes that draw
//! the screen when fed to a fresh `Term`), so the older one can be overwritten at any time; together
//! they hold the recent history. A new segment gets its name only when its keyframe is complete.
//!
//! Appending is buffered; what was flushed survives the death of the server, and nothing is forced to
//! the disk, because a machine that loses power has no terminals to restore either. Bytes that a
//! server had read but not flushed when it was killed are lost to the picture, never to the agent.
//!
//! Used by the server, one [`Journal`] per live terminal. Knows nothing of what the bytes mean.

use super::PtyError;
use super::files::create_private;
use crate::base::clock::Timestamp;
use crate::base::report::OrLog as _;
use crate::base::size::TermSize;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The usual size of a segment, without its keyframe.
pub const SEGMENT_BYTES: usize = 1 << 20;

const MAGIC: &[u8; 8] = b"orcajrn1";
/// Magic and turn.
const HEADER: usize = 16;
/// Kind, length, checksum.
const RECORD_HEADER: usize = 9;
/// Buffered output is written at the latest when there is this much.
const BUFFER: usize = 64 << 10;
/// Added to the turn where output is missing in between: the other segment, but not its successor.
const AFTER_GAP: u64 = 3;
/// A longer file is not one of ours.
const MAX_FILE: u64 = 256 << 20;

/// One thing that happened to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Draws screen and modes on a fresh terminal of this size.
    Keyframe { size: TermSize, bytes: Vec<u8> },
    /// What the program wrote.
    Output(Vec<u8>),
    /// The terminal has another size from here on.
    Resize(TermSize),
    /// A remark for people, such as how many bytes were dropped.
    Note(String),
    /// What follows happened at this moment or later.
    Time(Timestamp),
}

const KEYFRAME: u8 = 1;
const OUTPUT: u8 = 2;
const RESIZE: u8 = 3;
const NOTE: u8 = 4;
/// The last record of a segment that the next one continues without a gap.
const SEALED: u8 = 5;
const TIME: u8 = 6;
/// Output at the start of a segment that stands at the end of the one before as well.
const AGAIN: u8 = 7;
/// A moment is noted again when it is so much later, in milliseconds.
const TIME_STEP_MS: u64 = 10;

/// The journal of one live terminal.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    most: usize,
    turn: u64,
    file: File,
    buffer: Vec<u8>,
    /// Bytes since the keyframe.
    n_bytes: usize,
    /// The last moment that was noted in this segment.
    noted_at: Option<Timestamp>,
    /// A write failed: what follows has no meaning before the next keyframe.
    is_broken: bool,
}

impl Journal {
    /// Starts a new segment in the terminal's folder with a keyframe; of what earlier servers wrote,
    /// the newest stays in the other one. `most` is the size of a segment without its keyframe, in
    /// bytes.
    pub fn open(dir: &Path, most: usize, size: TermSize, keyframe: &[u8]) -> Result<Self, PtyError> {
        let newest = segments(dir).into_iter().map(|segment| segment.turn).max();
        let turn = newest.map_or(0, |turn| turn.saturating_add(AFTER_GAP));
        let file = start_segment(dir, turn, size, keyframe, &[])?;
        Ok(Self {
            dir: dir.to_owned(),
            most,
            turn,
            file,
            buffer: Vec::new(),
            n_bytes: 0,
            noted_at: None,
            is_broken: false,
        })
    }

    /// Goes on where [`restore`] ended, for a terminal that was drawn from its records. What could not
    /// be read behind that position is cut off.
    pub fn resume(dir: &Path, most: usize, position: Position) -> Result<Self, PtyError> {
        let resume = || {
            let mut file = std::fs::OpenOptions::new().write(true).open(segment_path(dir, position.turn))?;
            file.set_len(position.n_bytes as u64)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = resume().map_err(PtyError::io("go on with the terminal's journal"))?;
        let n_bytes = position.n_bytes;
        let turn = position.turn;
        Ok(Self {
            dir: dir.to_owned(),
            most,
            turn,
            file,
            buffer: Vec::new(),
            n_bytes,
            noted_at: None,
            is_broken: false,
        })
    }

    /// Whether the segment is full, so that [`Journal::rotate`] is due.
    pub fn wants_keyframe(&self) -> bool {
        self.n_bytes >= self.most
    }

    /// Goes on in the other segment, which starts with this keyframe. It must draw the state after
    /// everything appended so far but for the last output, `ahead`, which was read and is not drawn yet.
    ///
    /// On failure nothing more is recorded until the next attempt, due after another segment's worth.
    pub fn rotate(&mut self, size: TermSize, keyframe: &[u8], ahead: &[u8]) -> Result<(), PtyError> {
        let turn = self.turn.saturating_add(if self.is_broken { AFTER_GAP } else { 1 });
        self.push(SEALED, &[]);
        let sealed = self.flush();
        // Nothing may follow the seal: the old segment ends here even if there is no new one yet.
        self.is_broken = true;
        self.n_bytes = 0;
        self.file = start_segment(&self.dir, turn, size, keyframe, ahead)?;
        self.turn = turn;
        self.n_bytes = ahead.len();
        self.noted_at = None;
        self.is_broken = false;
        sealed
    }

    /// Notes the moment of what comes next, for recordings.
    pub fn time(&mut self, now: Timestamp) {
        if self.noted_at.is_none_or(|noted| now < noted || now.since_ms(noted) >= TIME_STEP_MS) {
            self.noted_at = Some(now);
            self.push(TIME, &now.0.to_le_bytes());
        }
    }

    /// Notes what the program wrote.
    pub fn output(&mut self, bytes: &[u8]) -> Result<(), PtyError> {
        for piece in bytes.chunks(BUFFER) {
            self.push(OUTPUT, piece);
            if self.buffer.len() >= BUFFER {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Notes another size.
    pub fn resize(&mut self, size: TermSize) {
        self.push(RESIZE, &size_bytes(size));
    }

    /// Notes a remark.
    pub fn note(&mut self, text: &str) {
        self.push(NOTE, text.as_bytes());
    }

    /// Gives everything appended to the system, so that it survives this process.
    ///
    /// After a failure (a full disk) nothing more is written until a rotation succeeds, which is due
    /// after as many bytes as a segment holds.
    pub fn flush(&mut self) -> Result<(), PtyError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|source| {
            self.is_broken = true;
            self.n_bytes = 0;
            PtyError::Io { doing: "write the terminal's journal", source }
        })
    }

    fn push(&mut self, kind: u8, payload: &[u8]) {
        self.n_bytes = self.n_bytes.saturating_add(RECORD_HEADER + payload.len());
        // Without a rotation the segment must not grow for ever; the next keyframe makes up for it.
        if !self.is_broken && self.n_bytes > self.most.saturating_mul(4).max(BUFFER) {
            self.is_broken = true;
        }
        if !self.is_broken {
            push_record(&mut self.buffer, kind, payload);
        }
    }
}

/// What is left of a terminal's journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// A keyframe and what followed it, in order; empty where nothing usable is left.
    pub records: Vec<Record>,
    /// Something after the last record could not be read: a torn write or damage.
    pub is_cut: bool,
    /// Where [`Journal::resume`] goes on; None where nothing usable is left.
    pub position: Option<Position>,
}

/// The end of what could be read of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    turn: u64,
    n_bytes: usize,
}

/// Reads the journal in a terminal's folder. Never fails: damage costs what comes after it.
///
/// Starts at the older segment's keyframe where that segment is whole, for the sake of history;
/// the newer one's keyframe is then left out, since feeding the older records leads to it.
pub fn restore(dir: &Path) -> Restored {
    let mut found = segments(dir);
    found.sort_by_key(|segment| segment.turn);
    let Some(newest) = found.pop() else { return Restored::default() };
    let is_cut = newest.is_cut;
    let position = Some(Position { turn: newest.turn, n_bytes: newest.n_bytes });
    let older = found.pop().filter(|older| older.is_sealed && older.turn.checked_add(1) == Some(newest.turn));
    let records = match older {
        Some(older) => {
            let mut records = older.records;
            records.extend(newest.records.into_iter().skip(newest.n_repeated));
            records
        }
        None => newest.records,
    };
    Restored { records, is_cut, position }
}

/// Removes a terminal's journal, once nobody needs its raw output any more.
pub fn discard(dir: &Path) {
    for path in [segment_path(dir, 0), segment_path(dir, 1), fresh_path(dir)] {
        if path.exists() {
            std::fs::remove_file(&path).or_log("remove a terminal's journal");
        }
    }
}

fn segment_path(dir: &Path, turn: u64) -> PathBuf {
    dir.join(format!("journal.{}", turn % 2))
}

fn fresh_path(dir: &Path) -> PathBuf {
    dir.join("journal.new")
}

fn start_segment(
    dir: &Path,
    turn: u64,
    size: TermSize,
    keyframe: &[u8],
    ahead: &[u8],
) -> Result<File, PtyError> {
    let mut bytes = Vec::with_capacity(HEADER + 2 * RECORD_HEADER + 4 + keyframe.len() + ahead.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&turn.to_le_bytes());
    push_record(&mut bytes, KEYFRAME, &[&size_bytes(size)[..], keyframe].concat());
    if !ahead.is_empty() {
        push_record(&mut bytes, AGAIN, ahead);
    }
    let fresh = fresh_path(dir);
    let start = || {
        let mut file = create_private(&fresh)?;
        file.write_all(&bytes)?;
        std::fs::rename(&fresh, segment_path(dir, turn))?;
        Ok(file)
    };
    start().map_err(PtyError::io("start the terminal's journal"))
}

fn push_record(bytes: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&checksum(kind, payload).to_le_bytes());
    bytes.extend_from_slice(payload);
}

/// FNV-1a: enough to tell damage, and nothing here is an adversary's.
fn checksum(kind: u8, payload: &[u8]) -> u32 {
    [kind]
        .iter()
        .chain(payload)
        .fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619))
}

fn size_bytes(size: TermSize) -> [u8; 4] {
    let [a, b] = size.n_rows().to_le_bytes();
    let [c, d] = size.n_cols().to_le_bytes();
    [a, b, c, d]
}

fn read_size(bytes: &[u8]) -> Option<TermSize> {
    let &[a, b, c, d] = bytes else { return None };
    Some(TermSize::clamped(u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])))
}

struct Segment {
    turn: u64,
    /// Up to the end of the last record, without the seal.
    n_bytes: usize,
    records: Vec<Record>,
    /// How many records at its start say again what the segment before led to.
    n_repeated: usize,
    is_sealed: bool,
    is_cut: bool,
}

/// The segments in `dir` that have at least their keyframe.
fn segments(dir: &Path) -> Vec<Segment> {
    let read = |turn| {
        let path = segment_path(dir, turn);
        let is_sane = std::fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE);
        is_sane.then(|| std::fs::read(&path).ok()).flatten().and_then(|bytes| parse(&bytes))
    };
    [0, 1].into_iter().filter_map(read).collect()
}

fn parse(bytes: &[u8]) -> Option<Segment> {
    let (header, mut rest) = bytes.split_at_checked(HEADER)?;
    let turn = u64::from_le_bytes(header.strip_prefix(MAGIC)?.try_into().ok()?);
    let mut segment = Segment {
        turn,
        n_bytes: HEADER,
        records: Vec::new(),
        n_repeated: 0,
        is_sealed: false,
        is_cut: false,
    };
    while !rest.is_empty() && !segment.is_sealed {
        let Some((kind, payload, after)) = split_record(rest) else {
            segment.is_cut = true;
            break;
        };
        match (kind, decode(kind, payload)) {
            (SEALED, _) => segment.is_sealed = true,
            (_, Some(record)) => {
                segment.records.push(record);
                segment.n_repeated += usize::from(matches!(kind, KEYFRAME | AGAIN));
                segment.n_bytes = bytes.len() - after.len();
            }
            (_, None) => {
                segment.is_cut = true;
                break;
            }
        }
        rest = after;
    }
    matches!(segment.records.first(), Some(Record::Keyframe { .. })).then_some(segment)
}

/// Kind, payload and what comes after; None for a torn or damaged record.
fn split_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (header, rest) = bytes.split_at_checked(RECORD_HEADER)?;
    let &[kind, a, b, c, d, e, f, g, h] = header else { return None };
    let (payload, after) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)?;
    (checksum(kind, payload) == u32::from_le_bytes([e, f, g, h])).then_some((kind, payload, after))
}

fn decode(kind: u8, payload: &[u8]) -> Option<Record> {
    match kind {
        KEYFRAME => {
            let (size, bytes) = payload.split_at_checked(4)?;
            Some(Record::Keyframe { size: read_size(size)?, bytes: bytes.to_vec() })
        }
        OUTPUT | AGAIN => Some(Record::Output(payload.to_vec())),
        RESIZE => read_size(payload).map(Record::Resize),
        TIME => Some(Record::Time(Timestamp(i64::from_le_bytes(payload.try_into().ok()?)))),
        NOTE => Some(Record::Note(String::from_utf8_lossy(payload).into_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
