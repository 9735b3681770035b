//! The transcript files of agents: which file may be one, and what stands in it.
//!
//! A path comes from a hook, so it is nobody's promise. Only a regular file of this user below the provider's
//! own folder of transcripts is ever opened, and only for reading. Blocks; called from threads of its own.

use crate::agent::transcript::{Messages, Window, following, newest};
use crate::model::session::NoTranscript;
use crate::ops::look::{
    SessionFile, SessionWish, TranscriptFault, TranscriptPart, TranscriptPlace, TranscriptWish,
};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The most of a file that is read for one page, in bytes (contract 7.6).
const MAX_SCAN: u64 = 8 << 20;
/// How much of the end of a file is looked at first.
const FIRST_SCAN: u64 = 256 << 10;
/// The bytes before a place by which its file is known again.
const MARKED: u64 = 256;

/// The file that a hook named, where it can be the transcript of that agent. It need not be there yet: an
/// agent may make it with its first record. `variable` reads the server's environment.
pub fn find(wish: &SessionWish, variable: impl Fn(&str) -> Option<OsString>) -> Option<SessionFile> {
    let (moved, usual, folder) = wish.format.places();
    let value = |name: &str| {
        let own = wish.env.iter().rev().find(|(set, _)| set == name);
        own.map(|(_, value)| OsString::from(value)).or_else(|| variable(name)).filter(|v| !v.is_empty())
    };
    let home = match value(moved) {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(value("HOME")?).join(usual),
    };
    // The person may have put it elsewhere, by a link of their own.
    let root = resolved(&home.join(folder))?;
    let path = resolved(Path::new(&wish.path))?;
    if !path.starts_with(&root) {
        return None;
    }
    let n_bytes = match open(&path, &root) {
        Ok((_, n_bytes)) => n_bytes,
        Err(NoTranscript::Missing) => 0,
        Err(_) => return None,
    };
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    Some(SessionFile { path: text(path)?, root: text(root)?, n_bytes })
}

/// The path without links, as far as it is there.
fn resolved(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(real) => Some(real),
        // A link that leads nowhere is there, and no place for a file.
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            Some(resolved(path.parent()?)?.join(path.file_name()?))
        }
        Err(_) => None,
    }
}

/// Opens a transcript, and how long it is.
fn open(path: &Path, root: &Path) -> Result<(File, u64), NoTranscript> {
    let fault = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => NoTranscript::Missing,
        _ => NoTranscript::Unreadable,
    };
    if !path.canonicalize().map_err(fault)?.starts_with(root) {
        return Err(NoTranscript::Unreadable);
    }
    // Nothing is followed at the end, and a pipe in its place does not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(|_| NoTranscript::Unreadable)?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(fault)?;
    let meta = file.metadata().map_err(fault)?;
    let is_ours = meta.is_file() && meta.uid() == rustix::process::getuid().as_raw();
    if is_ours { Ok((file, meta.len())) } else { Err(NoTranscript::Unreadable) }
}

/// Reads a page of a transcript.
pub fn read(wish: &TranscriptWish) -> Result<TranscriptPart, TranscriptFault> {
    let (file, n_bytes) =
        open(Path::new(&wish.path), Path::new(&wish.root)).map_err(TranscriptFault::None)?;
    let n_bytes = wish.ends_at.map_or(n_bytes, |end| end.min(n_bytes));
    match &wish.from {
        Some(place) => read_on(&file, n_bytes, wish, place),
        None => read_newest(&file, n_bytes, wish),
    }
}

/// What stands behind a place.
fn read_on(
    file: &File,
    n_bytes: u64,
    wish: &TranscriptWish,
    place: &TranscriptPlace,
) -> Result<TranscriptPart, TranscriptFault> {
    if place.offset > n_bytes || place.offset < wish.begins_at || mark(file, place.offset)? != place.mark {
        return Err(TranscriptFault::Changed);
    }
    let bytes = bytes_at(file, place.offset, n_bytes - place.offset)?;
    let is_rest = bytes.len() as u64 == MAX_SCAN;
    let window = Window { bytes: &bytes, start: place.offset, begins_inside: place.is_inside };
    let found = following(wish.format, &window, wish.limit);
    let is_limited = found.is_cut || is_rest;
    part(file, found, is_limited)
}

/// What stands at the end, looking further back until there is enough.
fn read_newest(file: &File, n_bytes: u64, wish: &TranscriptWish) -> Result<TranscriptPart, TranscriptFault> {
    let begins_at = if wish.begins_at <= n_bytes { wish.begins_at } else { 0 };
    let mut n_wanted = FIRST_SCAN;
    loop {
        let start = n_bytes.saturating_sub(n_wanted).max(begins_at);
        let bytes = bytes_at(file, start, n_bytes - start)?;
        let begins_inside = start > 0 && bytes_at(file, start - 1, 1)? != b"\n";
        let window = Window { bytes: &bytes, start, begins_inside };
        let found = newest(wish.format, &window, wish.limit);
        let is_whole = start == begins_at;
        if is_whole || found.is_cut || n_wanted >= MAX_SCAN {
            if found.messages.is_empty() {
                let is_strange = found.n_records == 0 && found.clipping.records > 0;
                return Err(TranscriptFault::None(match (is_strange, is_whole) {
                    (true, _) | (_, false) => NoTranscript::ParseFailed,
                    (false, true) => NoTranscript::Empty,
                }));
            }
            let is_limited = found.is_cut || !is_whole;
            return part(file, found, is_limited);
        }
        n_wanted = (n_wanted * 4).min(MAX_SCAN);
    }
}

fn part(file: &File, found: Messages, is_limited: bool) -> Result<TranscriptPart, TranscriptFault> {
    let mark = mark(file, found.next)?;
    let next = TranscriptPlace { offset: found.next, is_inside: found.ends_inside, mark };
    Ok(TranscriptPart { messages: found.messages, clipping: found.clipping, is_limited, next })
}

/// What stands before a place, as a short hash.
fn mark(file: &File, offset: u64) -> Result<String, TranscriptFault> {
    let start = offset.saturating_sub(MARKED);
    let digest = Sha256::digest(bytes_at(file, start, offset - start)?);
    Ok(digest.iter().take(6).fold(String::new(), |mark, byte| format!("{mark}{byte:02x}")))
}

/// At most `n_bytes` from `offset` on: fewer where the file ends, also where it was just made shorter.
fn bytes_at(file: &File, offset: u64, n_bytes: u64) -> Result<Vec<u8>, TranscriptFault> {
    let unreadable = TranscriptFault::None(NoTranscript::Unreadable);
    let mut bytes = vec![0; usize::try_from(n_bytes.min(MAX_SCAN)).map_err(|_| unreadable)?];
    let mut n_read = 0;
    while n_read < bytes.len() {
        let rest = bytes.get_mut(n_read..).unwrap_or_default();
        match file.read_at(rest, offset + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(unreadable),
        }
    }
    bytes.truncate(n_read);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
