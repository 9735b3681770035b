//! Worktree: calls and replies.

use super::call;
use super::row::WorktreeRow;
use crate::base::clock::Timestamp;
use crate::base::id::{PaneKey, TerminalId};
use crate::model::setup::SetupState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `worktree create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeCreate {
    pub name: String,
    pub repo: Option<String>,
    pub agent: Option<String>,
    pub prompt: Option<String>,
    /// `run`, `skip` or `inherit`.
    pub setup: Option<String>,
    /// `start-immediately` or `wait-for-setup`.
    pub agent_startup: Option<String>,
    pub base_branch: Option<String>,
    pub branch: Option<String>,
    pub issue: Option<u64>,
    pub comment: Option<String>,
    pub display_name: Option<String>,
    pub parent_worktree: Option<String>,
    pub is_top_level: bool,
    pub is_activated: bool,
    pub from: Option<String>,
}

/// The reply of `worktree create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeMade {
    pub worktree: WorktreeRow,
    pub lineage: Option<Lineage>,
    pub warnings: Vec<String>,
    pub setup_state: SetupState,
    /// Where the setup script runs or ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_terminal_handle: Option<TerminalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_terminal: Option<StartupTerminal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_terminal_handle: Option<TerminalId>,
}

/// Who asked for a worktree; it says nothing about the git base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lineage {
    pub parent_worktree_id: String,
}

/// The first terminal of a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartupTerminal {
    pub handle: TerminalId,
}

/// `worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeList {
    pub repo: Option<String>,
    pub limit: Option<u32>,
}

/// The reply of `worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktrees {
    pub worktrees: Vec<WorktreeRow>,
    pub total_count: usize,
    pub truncated: bool,
}

/// `worktree show`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeShow {
    pub worktree: String,
}

/// `worktree current`: the one around the working directory, registered on first use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorktreeCurrent {}

/// The reply of `worktree show` and `worktree current`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneWorktree {
    pub worktree: WorktreeRow,
}

/// What git says of a worktree at the moment of the reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRow {
    /// The branch checked out; null when HEAD is detached.
    pub branch: Option<String>,
    /// The commit checked out; null before the first one.
    pub head: Option<String>,
    /// The ref it is compared with.
    pub base: Option<String>,
    /// Commits that the base lacks.
    pub ahead: usize,
    /// Commits of the base that are missing here.
    pub behind: usize,
    pub staged: usize,
    pub modified: usize,
    pub untracked: usize,
    pub conflicted: usize,
    /// A rebase, merge or similar that stopped half-way.
    pub operation: Option<String>,
    /// Something is not committed.
    pub is_dirty: bool,
    /// The base has all that is committed here, as commits or as a squashed change.
    pub is_merged: bool,
    /// The folder is gone.
    pub is_missing: bool,
    /// Why git could not say.
    pub error: Option<String>,
}

/// `worktree ps`: what goes on in each worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreePs {
    pub limit: Option<u32>,
}

/// The reply of `worktree ps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summaries {
    pub worktrees: Vec<Summary>,
    pub total_count: usize,
    pub truncated: bool,
}

/// A worktree with what goes on in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    #[serde(flatten)]
    pub worktree: WorktreeRow,
    /// The repository's name.
    pub repo: String,
    /// `permission`, `working`, `done`, `active` or `inactive`, the first that fits one of its agents.
    pub status: String,
    pub live_terminal_count: usize,
    pub last_output_at: Option<Timestamp>,
    /// The last lines of the terminal that wrote last.
    pub preview: String,
    /// A process runs in it.
    pub is_active: bool,
    /// An attempt in it sent mail that nobody has taken yet.
    pub unread: bool,
    pub agents: Vec<AgentSummary>,
}

/// One agent in a worktree. What orca does not know of it is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    pub pane_key: PaneKey,
    /// The pane that started it.
    pub parent_pane_key: Option<PaneKey>,
    /// `working`, `blocked`, `idle`, `done`, `error` or `unknown`.
    pub state: String,
    pub agent_type: Option<String>,
    pub prompt: String,
    pub task_title: Option<String>,
    pub display_name: Option<String>,
    pub last_assistant_message: Option<String>,
    pub tool_name: Option<String>,
    pub tool_input: Option<String>,
    pub interrupted: bool,
    pub state_started_at: Timestamp,
    pub updated_at: Timestamp,
}

/// `worktree set`: what is given is changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeSet {
    pub worktree: String,
    pub display_name: Option<String>,
    /// A number, or `null` for none.
    pub issue: Option<String>,
    /// Empty for none.
    pub comment: Option<String>,
    pub workspace_status: Option<String>,
    pub parent_worktree: Option<String>,
    pub is_top_level: bool,
    pub from: Option<String>,
}

/// `worktree rm`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeRemove {
    pub worktree: String,
    /// Uncommitted work may go, and what runs there may be ended.
    pub is_forced: bool,
    /// Run the archive script of the repository first.
    pub runs_hooks: bool,
    pub from: Option<String>,
}

/// The reply of `worktree rm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRemoved {
    pub removed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved_branch: Option<PreservedBranch>,
}

/// A branch that was kept: it is older than the worktree, or not provably merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreservedBranch {
    pub branch_name: String,
}

call!(WorktreeCreate, "worktree.create", Mutation, WorktreeMade, needs_place: true);
call!(WorktreeList, "worktree.list", Read, Worktrees);
call!(WorktreeShow, "worktree.show", Mutation, OneWorktree, needs_place: true);
call!(WorktreeCurrent, "worktree.current", Mutation, OneWorktree, needs_place: true);
call!(WorktreePs, "worktree.ps", Read, Summaries);
call!(WorktreeSet, "worktree.set", Mutation, OneWorktree, needs_place: true);
call!(WorktreeRemove, "worktree.rm", Mutation, WorktreeRemoved, needs_place: true);
