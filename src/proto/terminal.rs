//! Terminal: calls and replies.

use super::call;
use super::event::LiveRow;
use super::row::TerminalRow;
use crate::base::id::{PaneKey, TerminalId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `terminal create`. Without a command it is the user's shell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalCreate {
    pub worktree: Option<String>,
    pub title: Option<String>,
    /// A line for the user's shell.
    pub command: Option<String>,
    pub focus: bool,
    pub from: Option<String>,
}

/// The reply of `terminal create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub terminal: CreatedTerminal,
}

/// A new terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTerminal {
    pub handle: TerminalId,
    pub tab_id: String,
    pub pane_key: PaneKey,
    pub worktree_id: Option<String>,
    pub title: Option<String>,
    pub surface: String,
}

/// `terminal list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalList {
    pub worktree: Option<String>,
    pub limit: Option<u32>,
}

/// The reply of `terminal list`: those with a process first, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terminals {
    pub terminals: Vec<TerminalSummary>,
    pub total_count: usize,
    pub truncated: bool,
}

/// A terminal with what is known of it at this moment (contract 2.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSummary {
    #[serde(flatten)]
    pub row: TerminalRow,
    pub leaf_id: String,
    pub incarnation_id: String,
    /// A process runs in it.
    pub connected: bool,
    pub writable: bool,
    /// The last lines of the screen.
    pub preview: String,
    pub exit_cause: Option<String>,
    pub live: Option<LiveRow>,
}

/// A verb about one terminal; omitted means the one this runs in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalShow {
    pub terminal: Option<String>,
}

/// The reply of `terminal show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneTerminal {
    pub terminal: TerminalSummary,
}

/// `terminal read`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalRead {
    pub terminal: Option<String>,
    pub cursor: Option<u64>,
    pub limit: Option<u32>,
    pub is_screen: bool,
}

/// The reply of `terminal read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadTerminal {
    pub terminal: ReadPage,
}

/// A page of output. A cursor is the number of the first line wanted, counted from the terminal's
/// start; `nextCursor` follows on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPage {
    pub handle: TerminalId,
    /// `running`, `exited` or `unknown`.
    pub status: String,
    pub tail: Vec<String>,
    pub truncated: bool,
    pub oldest_cursor: u64,
    pub next_cursor: Option<u64>,
    pub latest_cursor: u64,
    pub returned_line_count: usize,
    /// `stream` or `screen`.
    pub source: String,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    #[default]
    Text,
    /// Text with colours as escape sequences.
    Ansi,
    /// A recording, asciicast version 2.
    Asciicast,
}

/// `terminal export`, one part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalExport {
    pub terminal: Option<String>,
    pub format: ExportFormat,
    /// The line to go on from; only for lines.
    pub cursor: Option<u64>,
}

/// The reply of `terminal export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedTerminal {
    pub export: ExportPart,
}

/// A part of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportPart {
    pub handle: TerminalId,
    pub format: ExportFormat,
    /// `live`, `journal` (of an ended terminal) or `archive` (its text, kept at the release).
    pub source: String,
    /// Empty where it was written to a file.
    pub text: String,
    pub next_cursor: Option<u64>,
    /// The file it was written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// `terminal send`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSend {
    pub terminal: Option<String>,
    pub text: Option<String>,
    pub is_enter: bool,
    pub is_interrupt: bool,
}

/// The reply of `terminal send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentInput {
    pub send: SendReceipt,
}

/// What was accepted for typing: no claim about what the program did with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendReceipt {
    pub handle: TerminalId,
    pub accepted: bool,
    pub bytes_written: usize,
    /// `text` as bytes, or `prompt`: one item with its Enter that waits for a person's draft.
    pub mode: String,
}

/// `terminal wait`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalWait {
    pub terminal: Option<String>,
    /// `exit` or `tui-idle`.
    pub condition: String,
    pub timeout_ms: Option<u64>,
}

/// The reply of `terminal wait`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waited {
    pub wait: WaitReport,
}

/// What a wait saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitReport {
    pub handle: TerminalId,
    pub condition: String,
    pub satisfied: bool,
    pub status: String,
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
}

/// `terminal close`: one, or with a worktree all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalClose {
    pub terminal: Option<String>,
    pub worktree: Option<String>,
    pub is_all: bool,
    pub from: Option<String>,
}

/// The reply of `terminal close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closed {
    pub close: CloseReport,
}

/// What was closed; files and worktrees are never touched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseReport {
    pub handle: Option<TerminalId>,
    pub handles: Vec<TerminalId>,
    /// Every process is known to be gone.
    pub pty_killed: bool,
    /// Those whose end nobody saw in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<TerminalId>,
}

call!(TerminalCreate, "terminal.create", Mutation, Created, needs_place: true);

impl crate::proto::Call for TerminalList {
    const METHOD: &'static str = "terminal.list";
    type Reply = Terminals;
    fn kind(&self) -> crate::proto::CallKind {
        // A checkout is registered when it is first seen.
        if self.needs_place() { crate::proto::CallKind::Mutation } else { crate::proto::CallKind::Read }
    }
    fn needs_place(&self) -> bool {
        self.worktree.as_deref().is_some_and(|selector| matches!(selector, "current" | "active"))
    }
}

call!(TerminalShow, "terminal.show", Read, OneTerminal);
call!(TerminalRead, "terminal.read", Read, ReadTerminal);
call!(TerminalExport, "terminal.export", Read, ExportedTerminal);
call!(TerminalSend, "terminal.send", Mutation, SentInput);
call!(TerminalWait, "terminal.wait", Read, Waited);
call!(TerminalClose, "terminal.close", Mutation, Closed);
