//! Transcript: the conversation of an agent, as `worker-read` shows it (contract 7.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of messages, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    pub messages: Vec<TranscriptMessage>,
    /// The same as `cursor`: what comes after these messages.
    pub next_cursor: Option<String>,
    /// There are more: before these, or behind the cursor.
    pub limited: bool,
    pub returned_message_count: usize,
}

/// What was said at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptMessage {
    pub id: String,
    /// `user`, `assistant`, or `tool` for what a tool gave back.
    pub role: String,
    pub blocks: Vec<TranscriptBlock>,
}

/// A part of a message; texts are cut to 1,200 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TranscriptBlock {
    Text {
        text: String,
    },
    ToolCall {
        name: String,
        /// Its arguments, as JSON text where they are no text.
        input: String,
    },
    ToolResult {
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    ImageRef {
        media_type: Option<String>,
        /// Where it is; null for one that lies in the transcript itself.
        location: Option<String>,
    },
}

/// What was left out of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Clipping {
    /// Texts that were cut.
    pub texts: usize,
    /// Blocks beyond the sixth of their message.
    pub blocks: usize,
    /// Records that are no JSON, or too large.
    pub records: usize,
}

impl Clipping {
    /// Nothing was.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
