//! Terminal: calls and replies.

use super::call;
use super::event::LiveRow;
use super::row::TerminalRow;
use crate::base::clock::Timestamp;
use crate::base::id::{PaneKey, TerminalId};
use crate::model::terminal::SplitDirection;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// `terminal create`. Without a command it is the user's shell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalCreate {
    pub worktree: Option<String>,
    pub title: Option<String>,
    /// A line for the user's shell.
    pub command: Option<String>,
    /// Every attached screen goes to it.
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
    pub pty_id: String,
    pub worktree_id: Option<String>,
    pub title: Option<String>,
    /// `visible` where a screen was told to go there, else `background`.
    pub surface: String,
}

/// `terminal split`: a new terminal beside another one, in its tab and worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSplit {
    pub terminal: Option<String>,
    /// `horizontal` (left and right, where omitted) or `vertical` (top and bottom).
    pub direction: Option<String>,
    /// A line for the user's shell.
    pub command: Option<String>,
    pub from: Option<String>,
}

/// The reply of `terminal split`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WasSplit {
    pub split: SplitTerminal,
}

/// The new pane of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SplitTerminal {
    pub handle: TerminalId,
    pub tab_id: String,
    pub pane_runtime_id: String,
    pub pane_key: PaneKey,
    /// The pane it was split from.
    pub of: TerminalId,
    pub direction: SplitDirection,
}

/// `terminal list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalList {
    pub worktree: Option<String>,
    pub limit: Option<u32>,
    pub has_visual_layouts: bool,
}

/// The reply of `terminal list`: those with a process first, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terminals {
    pub terminals: Vec<TerminalSummary>,
    /// Only where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visual_layouts: Option<Vec<VisualLayout>>,
    pub total_count: usize,
    pub truncated: bool,
}

/// The panes of one tab, as they were split; where they are depends on each screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VisualLayout {
    pub tab_id: String,
    pub panes: Vec<LayoutPane>,
}

/// One pane of a tab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayoutPane {
    pub handle: TerminalId,
    pub leaf_id: String,
    pub split_of: Option<TerminalId>,
    pub direction: Option<SplitDirection>,
}

/// A terminal with what is known of it at this moment (contract 2.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSummary {
    #[serde(flatten)]
    pub row: TerminalRow,
    pub leaf_id: String,
    /// None once the process is gone.
    pub pty_id: Option<String>,
    pub incarnation_id: String,
    /// A process runs in it.
    pub connected: bool,
    pub writable: bool,
    pub last_output_at: Option<Timestamp>,
    /// The last lines of the screen.
    pub preview: String,
    pub exit_cause: Option<String>,
    /// The agent that runs in it, also one that a person started in its shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_identity: Option<String>,
    pub live: Option<LiveRow>,
}

/// A verb about one terminal; omitted means the one this runs in, else the only one of the worktree
/// around the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalShow {
    pub terminal: Option<String>,
}

/// The reply of `terminal show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneTerminal {
    pub terminal: TerminalDetail,
}

/// A terminal with whether its agent waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalDetail {
    #[serde(flatten)]
    pub summary: TerminalSummary,
    pub pane_runtime_id: String,
    /// The server's id; a new one for every start.
    pub renderer_graph_epoch: String,
    /// `null`: looked and found no wait. Absent: nothing shows what the program does, which never means
    /// that it does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub agent_wait: Option<Option<AgentWait>>,
}

/// Keeps `null` apart from a field that is not there.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<AgentWait>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// An agent is parked on a prompt; that is no failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWait {
    /// `hook` (the program or its hook said so), `prompt-text` or `title`.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
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
    /// There are lines that this page does not hold, or that are kept no more.
    pub truncated: bool,
    /// The page holds as many lines as it may, and there are more.
    pub limited: bool,
    pub oldest_cursor: u64,
    pub next_cursor: Option<u64>,
    pub latest_cursor: u64,
    pub returned_line_count: usize,
    /// `stream`, `screen`, or `screen-unavailable`: the screen is gone, these are the last lines.
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
    /// Seconds to watch for the agent's turn to begin.
    pub wait_submit_s: Option<u64>,
}

/// The reply of `terminal send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentInput {
    pub send: SendReceipt,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What was accepted for typing: no claim about what the program did with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendReceipt {
    pub handle: TerminalId,
    pub accepted: bool,
    pub bytes_written: usize,
    /// `no-agent` or `permission`, where nothing was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_reason: Option<String>,
    /// `text` as bytes, or `prompt`: one item with its Enter that waits for a person's draft.
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptReceipt>,
}

/// How far a prompt is known to have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptReceipt {
    pub request_id: String,
    /// `input_accepted`, then `turn_started` where that was seen.
    pub stages: Vec<String>,
    /// The agent.
    pub provider: String,
    /// Turns seen to begin since; 0 where nobody watched or nothing was seen.
    pub observation: u64,
    pub process_incarnation: String,
    /// The process of this terminal that it went to: the first and only one.
    pub generation: u64,
    /// Turns that had begun before.
    pub baseline_working_sequence: u64,
}

/// How long `terminal wait` waits where nothing else is said, in milliseconds.
pub const DEFAULT_WAIT_MS: u64 = 300_000;

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
    /// One of the words of contract 5.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The same in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_detail: Option<String>,
}

/// `terminal rename`: without a title the one it was opened with comes back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalRename {
    pub terminal: Option<String>,
    pub title: Option<String>,
}

/// The reply of `terminal rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renamed {
    pub rename: Titled,
}

/// `terminal set-pane-title`: an empty title takes it away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSetPaneTitle {
    pub terminal: Option<String>,
    pub title: Option<String>,
}

/// The reply of `terminal set-pane-title`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaneTitled {
    pub pane_title: Titled,
}

/// A terminal and the title it has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Titled {
    pub handle: TerminalId,
    pub tab_id: String,
    pub title: Option<String>,
}

/// `terminal mark`: whether a person looked at it since its attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalMark {
    pub terminal: Option<String>,
    pub is_seen: bool,
}

/// The reply of `terminal mark`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Marked {
    pub mark: Mark,
}

/// A terminal and how it is marked now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    pub handle: TerminalId,
    pub is_unseen: bool,
}

/// `terminal switch`: every attached screen goes to the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSwitch {
    pub terminal: Option<String>,
}

/// The reply of `terminal switch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switched {
    pub focus: Focused,
}

/// Where the screens went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Focused {
    pub handle: TerminalId,
    pub tab_id: String,
    pub worktree_id: Option<String>,
    /// A screen is attached and was told.
    pub navigated: bool,
}

/// `terminal close`: one, its whole split group, or with a worktree all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalClose {
    pub terminal: Option<String>,
    /// Also the panes that were split from it or that it was split from.
    pub is_tab: bool,
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
    pub tab_id: Option<String>,
    pub handles: Vec<TerminalId>,
    /// `pane`, `tab` or `worktree`.
    pub close_mode: String,
    /// Every process is known to be gone.
    pub pty_killed: bool,
    /// `live`: a process is still there; `unverifiable`: nobody can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty_stop_verdict: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty_stop_reason: Option<String>,
    /// Those whose end nobody saw in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<TerminalId>,
}

/// `terminal stop`: an older way to close all terminals of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalStop {
    pub worktree: String,
}

/// The reply of `terminal stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedTerminals {
    /// Terminals whose process is known to be gone.
    pub stopped: usize,
}

call!(TerminalCreate, "terminal.create", Mutation, Created, needs_place: true);
call!(TerminalSplit, "terminal.split", Mutation, WasSplit, needs_place: true);
call!(TerminalClose, "terminal.close", Mutation, Closed, needs_place: true);
call!(TerminalStop, "terminal.stop", Mutation, StoppedTerminals, needs_place: true);

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

/// A call about one terminal: without a name the caller's directory may say which one.
macro_rules! about_one {
    ($call:ty, $method:literal, $kind:ident, $reply:ty) => {
        impl crate::proto::Call for $call {
            const METHOD: &'static str = $method;
            type Reply = $reply;
            fn kind(&self) -> crate::proto::CallKind {
                crate::proto::CallKind::$kind
            }
            fn needs_place(&self) -> bool {
                self.terminal.is_none()
            }
        }
    };
}

about_one!(TerminalShow, "terminal.show", Read, OneTerminal);
about_one!(TerminalRead, "terminal.read", Read, ReadTerminal);
about_one!(TerminalSend, "terminal.send", Mutation, SentInput);
about_one!(TerminalWait, "terminal.wait", Read, Waited);
about_one!(TerminalRename, "terminal.rename", Mutation, Renamed);
about_one!(TerminalSetPaneTitle, "terminal.setPaneTitle", Mutation, PaneTitled);
about_one!(TerminalMark, "terminal.mark", Mutation, Marked);
about_one!(TerminalSwitch, "terminal.switch", Mutation, Switched);
call!(TerminalExport, "terminal.export", Read, ExportedTerminal);
