//! Effect: something the world must do, recorded before it is done; Outcome: what came of it.
//!
//! An open effect is done again after a crash, so each must be idempotent under its id.

use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, EffectId, RepoId, TerminalId};
use crate::model::repo::HookSettings;
use crate::model::setup::Project;
use crate::model::terminal::ProcessEnd;
use serde::{Deserialize, Serialize};

/// What must be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Make a branch and a worktree with a free name like the wanted one.
    CreateWorktree(CreateWorktree),
    /// Remove a worktree once the terminals in it have ended.
    RemoveWorktree(RemoveWorktree),
    /// Start the process of a terminal whose row holds the launch record.
    SpawnTerminal { terminal_id: TerminalId },
    /// Wait until the agent is ready, paste the brief, press Enter, watch for activity.
    DeliverPrompt { terminal_id: TerminalId, text: String, timeout_ms: u64 },
    /// End the process of a terminal and keep its last output readable. With `archives_first` nothing is
    /// ended whose output cannot be kept.
    CloseTerminal {
        terminal_id: TerminalId,
        #[serde(default)]
        archives_first: bool,
    },
}

impl Effect {
    /// The end of a terminal, whatever becomes of its output.
    pub fn close(terminal_id: TerminalId) -> Self {
        Self::CloseTerminal { terminal_id, archives_first: false }
    }
}

/// The wish for a new worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateWorktree {
    pub repo_id: RepoId,
    pub repo_path: String,
    /// The wanted name, as given.
    pub name: String,
    /// The wanted branch, where it is not to follow from the name.
    pub branch: Option<String>,
    pub base: Option<String>,
    /// The repo's own folder for worktrees, where it has one.
    pub base_path: Option<String>,
}

impl CreateWorktree {
    /// Both ask the same of git. The repository's id does not count: until a call is accepted, a
    /// repository used for the first time has a new one at every try.
    pub fn is_same_for_git(&self, other: &Self) -> bool {
        *self == Self { repo_id: self.repo_id.clone(), ..other.clone() }
    }
}

/// The wish to be rid of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveWorktree {
    pub worktree_id: String,
    pub repo_id: RepoId,
    pub repo_path: String,
    pub path: String,
    /// The branch that was made with it: deleted where it is provably merged.
    pub made_branch: Option<String>,
    /// Uncommitted changes and commits on no branch may go.
    pub discards_work: bool,
    /// The terminals that are being closed for it.
    pub terminals: Vec<TerminalId>,
    /// Run the repository's archive script first.
    #[serde(default)]
    pub archive: Option<ArchiveWish>,
}

/// The archive script of a removal, chosen from what the worktree holds when it is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveWish {
    pub settings: HookSettings,
    pub variables: Vec<(String, String)>,
}

/// What became of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A worktree stands.
    WorktreeCreated(NewCheckout),
    /// The worktree does not stand any more; `was_there`: until now.
    WorktreeRemoved { was_there: bool, preserved_branch: Option<String>, warnings: Vec<String> },
    /// The process runs.
    TerminalSpawned { pid: u32 },
    /// The text was typed; what the agent makes of it is still looked for.
    PromptTyped,
    /// The text was typed. `is_confirmed`: the agent was seen working afterwards.
    PromptDelivered { is_confirmed: bool },
    /// The text waits for a person: a dialog or a draft is in its way.
    PromptBlocked { reason: String },
    /// The process is gone; `end` as far as it is known. `archive` is `captured`, `empty`
    /// or `unavailable`.
    TerminalClosed { end: Option<ProcessEnd>, archive: String },
    /// It failed for certain, and nothing of it stands.
    Failed { code: String, message: String },
    /// It may or may not have happened.
    Unknown { message: String },
}

/// A worktree that git made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCheckout {
    pub path: String,
    pub branch: String,
    /// The branch is older than the worktree.
    pub is_old_branch: bool,
    pub base_ref: String,
    pub base_commit: String,
    /// The commit checked out.
    pub head: String,
    /// What its `orca.yaml` says.
    pub project: Project,
    /// What was not brought along, in words.
    pub warnings: Vec<String>,
}

/// An effect that was requested and has no outcome yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    pub id: EffectId,
    pub effect: Effect,
    /// The attempt that waits for it, where one does.
    pub dispatch_id: Option<DispatchId>,
    /// What else waits for it, as the requesting verb wrote it.
    pub then: Option<serde_json::Value>,
    pub requested_at: Timestamp,
}
