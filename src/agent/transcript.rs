//! Transcripts of agents: from the bytes of a file, of which only a part may be there, to a page of
//! messages (contract 7.6).
//!
//! Pure. The bytes are nobody's promise: a record may be cut off, be no JSON, be huge, or be something that
//! a later version of the agent invented. What cannot be read is counted and left out.

mod claude;
mod codex;

use crate::base::text::{cut_chars, many_lines, one_line, without_secrets};
use crate::model::session::TranscriptFormat;
use crate::proto::transcript::{Clipping, TranscriptBlock, TranscriptMessage};
use serde_json::Value;

/// The most messages of a page.
pub const MAX_MESSAGES: u32 = 50;
/// The messages of a page where nothing else is asked for.
pub const DEFAULT_MESSAGES: u32 = 40;
/// The most blocks of a message.
const MAX_BLOCKS: usize = 6;
/// The most characters of a block.
const MAX_CHARS: usize = 1_200;
/// The most bytes of JSON that the messages of a page have.
const MAX_PAGE: usize = 500 << 10;
/// A record that is longer is not read, in bytes.
const MAX_RECORD: usize = 2 << 20;
/// What stands before the proof of an attempt, in its brief and in the commands that it runs (design 6).
const SECRETS: &[&str] = &["--proof ", "--proof=", "--dispatch-capability ", "dcap_"];

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    pub bytes: &'a [u8],
    /// Where in the file it begins.
    pub start: u64,
    /// The first bytes are the rest of a record that began before it.
    pub begins_inside: bool,
}

/// Messages in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Messages {
    pub messages: Vec<TranscriptMessage>,
    pub clipping: Clipping,
    /// Where the first record behind these messages begins; half a record at the end is not passed.
    pub next: u64,
    /// There is no end of a record in the whole window, so that `next` lies inside of one.
    pub ends_inside: bool,
    /// Messages of the window were left out for the size of the page.
    pub is_cut: bool,
    /// Records that are JSON, whether they are messages or not.
    pub n_records: usize,
}

/// What one record is.
enum Record {
    Message(TranscriptMessage, Clipping),
    /// Something that is no message.
    Other,
    Unreadable,
}

/// The newest messages of a window that reaches the end of the file.
pub fn newest(format: TranscriptFormat, window: &Window<'_>, limit: usize) -> Messages {
    let lines = Lines::of(window);
    let mut found = Messages { next: lines.end, ends_inside: lines.ends_inside, ..Messages::default() };
    let mut n_bytes = 0;
    for line in lines.all.iter().rev() {
        if found.messages.len() == limit {
            found.is_cut = true;
            break;
        }
        if !found.take(read(format, line), &mut n_bytes) {
            found.is_cut = true;
            break;
        }
    }
    found.messages.reverse();
    found
}

/// The messages from the beginning of a window on.
pub fn following(format: TranscriptFormat, window: &Window<'_>, limit: usize) -> Messages {
    let lines = Lines::of(window);
    let mut found = Messages { next: lines.end, ends_inside: lines.ends_inside, ..Messages::default() };
    let mut n_bytes = 0;
    for line in &lines.all {
        let is_full = found.messages.len() == limit;
        if is_full || !found.take(read(format, line), &mut n_bytes) {
            (found.next, found.ends_inside, found.is_cut) = (line.start, false, true);
            break;
        }
    }
    found
}

impl Messages {
    /// Takes a record in. False: the page has no room for it.
    fn take(&mut self, record: Record, n_bytes: &mut usize) -> bool {
        match record {
            Record::Unreadable => self.clipping.records += 1,
            Record::Other => self.n_records += 1,
            Record::Message(message, clipping) => {
                // Escaped, so that it is the size on the wire.
                let size = serde_json::to_vec(&message).map_or(0, |json| json.len());
                if *n_bytes + size > MAX_PAGE && !self.messages.is_empty() {
                    return false;
                }
                *n_bytes += size;
                self.n_records += 1;
                self.clipping.texts += clipping.texts;
                self.clipping.blocks += clipping.blocks;
                self.messages.push(message);
            }
        }
        true
    }
}

/// One whole line, without its end.
struct Line<'a> {
    start: u64,
    bytes: &'a [u8],
}

struct Lines<'a> {
    all: Vec<Line<'a>>,
    /// Behind the last whole line.
    end: u64,
    ends_inside: bool,
}

impl<'a> Lines<'a> {
    fn of(window: &Window<'a>) -> Self {
        let mut all = Vec::new();
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', window.bytes) {
            let bytes = window.bytes.get(at..end).unwrap_or_default();
            all.push(Line { start: window.start + at as u64, bytes });
            at = end + 1;
        }
        if window.begins_inside && !all.is_empty() {
            all.remove(0);
        }
        let is_endless = at == 0 && (window.begins_inside || window.bytes.len() > MAX_RECORD);
        let end = if is_endless { window.bytes.len() } else { at };
        Self { all, end: window.start + end as u64, ends_inside: is_endless }
    }
}

fn read(format: TranscriptFormat, line: &Line<'_>) -> Record {
    if line.bytes.iter().all(u8::is_ascii_whitespace) {
        return Record::Other;
    }
    if line.bytes.len() > MAX_RECORD {
        return Record::Unreadable;
    }
    let text = String::from_utf8_lossy(line.bytes);
    let Ok(record @ Value::Object(_)) = serde_json::from_str::<Value>(&text) else {
        return Record::Unreadable;
    };
    let found = match format {
        TranscriptFormat::Claude => claude::message(&record),
        TranscriptFormat::Codex => codex::message(&record),
    };
    let Some(Raw { id, role, blocks }) = found.filter(|raw| !raw.blocks.is_empty()) else {
        return Record::Other;
    };
    let mut clipping = Clipping { blocks: blocks.len().saturating_sub(MAX_BLOCKS), ..Clipping::default() };
    let blocks = blocks.into_iter().take(MAX_BLOCKS).map(|block| block.shown(&mut clipping)).collect();
    let id = id.map_or_else(|| format!("at-{}", line.start), |id| cut_chars(&one_line(&id), 100));
    Record::Message(TranscriptMessage { id, role: role.to_owned(), blocks }, clipping)
}

/// A message as the agent has it.
struct Raw {
    id: Option<String>,
    role: &'static str,
    blocks: Vec<RawBlock>,
}

enum RawBlock {
    Text(String),
    ToolCall { name: String, input: String },
    ToolResult { output: String, is_error: Option<bool> },
    Image { media_type: Option<String>, location: Option<String> },
}

impl RawBlock {
    /// What is shown of it: short, safe to draw, without proofs.
    fn shown(self, clipping: &mut Clipping) -> TranscriptBlock {
        let mut cut = |text: &str| {
            let clean = without_secrets(&many_lines(text), SECRETS);
            let shown = cut_chars(&clean, MAX_CHARS);
            clipping.texts += usize::from(shown.len() != clean.len() || !clean.starts_with(&shown));
            shown
        };
        let word = |text: &str| cut_chars(&one_line(text), 200);
        match self {
            Self::Text(text) => TranscriptBlock::Text { text: cut(&text) },
            Self::ToolCall { name, input } => {
                TranscriptBlock::ToolCall { name: word(&name), input: cut(&input) }
            }
            Self::ToolResult { output, is_error } => {
                TranscriptBlock::ToolResult { output: cut(&output), is_error }
            }
            Self::Image { media_type, location } => TranscriptBlock::ImageRef {
                media_type: media_type.as_deref().map(word),
                location: location.as_deref().map(word),
            },
        }
    }
}

/// A field that is text.
fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// A value as text: itself, or as JSON.
fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// An image by its address; one that is written out in it has none.
fn image_at(url: &str) -> RawBlock {
    match url.strip_prefix("data:") {
        Some(data) => {
            let media_type = data.split([';', ',']).next().filter(|kind| !kind.is_empty());
            RawBlock::Image { media_type: media_type.map(str::to_owned), location: None }
        }
        None => RawBlock::Image { media_type: None, location: Some(url.to_owned()) },
    }
}

#[cfg(test)]
mod tests;
