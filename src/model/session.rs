//! Session: the conversation that an agent's own hook said it leads, while it worked at an attempt. What is
//! kept is a reference; the transcript stays the agent's file.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, IncarnationId, TerminalId};
use serde::{Deserialize, Serialize};

/// The longest session id that is believed, in characters.
pub const MAX_SESSION_ID: usize = 100;
/// The longest path that is believed, in bytes.
pub const MAX_PATH: usize = 4_096;

words! {
    /// The shapes of transcripts that can be read.
    TranscriptFormat {
        Claude = "claude",
        Codex = "codex",
    }
}

impl TranscriptFormat {
    /// The variable by which the provider's folder is moved, the folder below the home directory where it
    /// is else, and the folder in it that holds the transcripts.
    pub fn places(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Claude => ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
            Self::Codex => ("CODEX_HOME", ".codex", "sessions"),
        }
    }
}

words! {
    /// Why there is no transcript to show (contract 7.6 `fallbackReason`).
    NoTranscript {
        /// The agent writes none that can be read.
        ProviderUnsupported = "provider_unsupported",
        /// No hook of this attempt's process reported its session.
        SessionNotReported = "session_not_reported",
        /// Nobody has said anything in it yet.
        Empty = "transcript_empty",
        /// Its file is not there, or not any more.
        Missing = "transcript_missing",
        /// Its file cannot be opened, or is not where or what it has to be.
        Unreadable = "transcript_unreadable",
        /// Nothing in its file has the shape that is known.
        ParseFailed = "transcript_parse_failed",
    }
}

/// The session of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub dispatch_id: DispatchId,
    pub terminal_id: TerminalId,
    /// The process that led it.
    pub incarnation: IncarnationId,
    pub format: TranscriptFormat,
    pub session_id: String,
    /// Where the transcript is, without links as far as it was there.
    pub path: String,
    /// The provider's folder of transcripts, which it may not leave.
    pub root: String,
    /// Where in the file this attempt begins: an agent that is used again has an earlier one before it.
    pub begins_at: u64,
    /// Where the next attempt begins, once there is one in the same session.
    #[serde(default)]
    pub ends_at: Option<u64>,
    pub reported_at: Timestamp,
}

impl Session {
    /// What a reader of it is pinned to.
    pub fn identity(&self) -> String {
        format!("{}:{}", self.format, self.session_id)
    }
}

/// Whether a text can be the id of a session.
pub fn is_session_id(text: &str) -> bool {
    (1..=MAX_SESSION_ID).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Whether a path can be the transcript of a session: absolute, without detours, and named after it.
pub fn is_transcript_path(path: &str, session_id: &str) -> bool {
    let is_plain = path.starts_with('/') && path.len() <= MAX_PATH && !path.chars().any(char::is_control);
    let has_detour = path.split('/').any(|part| matches!(part, "." | ".."));
    let stem = path.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl"));
    is_plain && !has_detour && stem.is_some_and(|stem| stem.ends_with(session_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hook_says_is_checked_before_anything_is_looked_at() {
        for (id, expected) in [
            ("9b2e6b84-627e-4760-b6be-01aeb6c329ed", true),
            ("", false),
            ("a.b", false),
            ("a/b", false),
            ("a\u{1b}", false),
            (&"a".repeat(MAX_SESSION_ID + 1), false),
        ] {
            assert_eq!(is_session_id(id), expected, "{id:?}");
        }
        for (path, expected) in [
            ("/h/.claude/projects/-w/s-1.jsonl", true),
            ("/h/.codex/sessions/2026/11/30/rollout-2026-s-1.jsonl", true),
            ("h/s-1.jsonl", false),
            ("/h/../etc/s-1.jsonl", false),
            ("/h/./s-1.jsonl", false),
            ("/h/s-2.jsonl", false),
            ("/h/s-1", false),
            ("/h/\n/s-1.jsonl", false),
            (&format!("/{}/s-1.jsonl", "x".repeat(MAX_PATH)), false),
        ] {
            assert_eq!(is_transcript_path(path, "s-1"), expected, "{path:?}");
        }
    }
}
