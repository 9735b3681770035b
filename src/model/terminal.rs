//! Terminal: one PTY with one process, its launch record, and how it ended.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, IncarnationId, PaneKey, RunId, TerminalId};
use crate::base::size::TermSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Terminal.
    TerminalLife {
        /// The spawn was requested.
        Starting = "starting",
        Running = "running",
        /// The process ended by itself; the last screen is kept.
        Exited = "exited",
        /// Closed by request; only the archive is left.
        Closed = "closed",
        /// The spawn failed.
        Failed = "failed",
        /// The process is gone and nobody saw how (the machine went down).
        Lost = "lost",
    }
}

impl TerminalLife {
    /// Whether a screen shows a pane of it.
    pub fn has_pane(self) -> bool {
        match self {
            Self::Starting | Self::Running | Self::Exited | Self::Lost => true,
            Self::Closed | Self::Failed => false,
        }
    }
}

words! {
    /// How a pane is divided: into left and right, or into top and bottom.
    SplitDirection {
        Horizontal = "horizontal",
        Vertical = "vertical",
    }
}

/// The pane that another one was split from, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    pub of: TerminalId,
    pub direction: SplitDirection,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessEnd {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub at: Timestamp,
    /// Who had it ended, where it did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<String>,
}

impl std::fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(by) = &self.closed_by {
            return write!(f, "closed by {by}");
        }
        match (self.exit_code, self.signal) {
            (_, Some(signal)) => write!(f, "killed by signal {signal}"),
            (Some(code), None) => write!(f, "exited with status {code}"),
            (None, None) => f.write_str("ended, status unknown"),
        }
    }
}

/// What is needed to start the process again exactly so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// Empty for the user's shell.
    pub argv: Vec<String>,
    /// Set on top of the server's environment.
    pub env: Vec<(String, String)>,
    pub unset_env: Vec<String>,
    pub cwd: String,
    /// A file to write (mode 0600) before the start: a brief that is too long for an argument.
    #[serde(default)]
    pub brief_file: Option<(String, String)>,
}

/// A Terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    pub id: TerminalId,
    pub pane_key: PaneKey,
    /// The tab that shows it; the part of the pane key before the colon.
    pub tab_id: String,
    pub worktree_id: Option<String>,
    pub worktree_path: String,
    pub branch: Option<String>,
    /// Given when it was opened; the program's own title is live state, not stored here.
    pub title: Option<String>,
    /// The name that a person or verb gave it since; goes before every other one on the screen.
    #[serde(default)]
    pub pane_title: Option<String>,
    /// `#rgb` or `#rrggbb`, as a repository wants it for one of its tabs.
    #[serde(default)]
    pub color: Option<String>,
    #[serde(default)]
    pub split: Option<Split>,
    /// The preset that runs in it, where one does.
    pub agent: Option<String>,
    pub launch: LaunchRecord,
    pub size: TermSize,
    pub life: TerminalLife,
    pub incarnation: IncarnationId,
    pub pid: Option<u32>,
    pub end: Option<ProcessEnd>,
    /// Who wants its process to end; from then on its end is their doing.
    #[serde(default)]
    pub closed_by: Option<String>,
    /// The Run and the Dispatch it was made for.
    pub run_id: Option<RunId>,
    pub dispatch_id: Option<DispatchId>,
    pub created_at: Timestamp,
    /// A person typed into it: it is theirs (contract 3.6 `user_takeover`).
    pub is_user_typed: bool,
    /// An attempt in it ended, or a person marked it so, and nobody at a screen looked at it since.
    #[serde(default)]
    pub is_unseen: bool,
}
