//! What a verb has to see of a repository before it can answer. A verb has no eyes of its own and the
//! engine must not block, so it answers [`Answer::Look`]: its transaction is dropped, the server looks on
//! another thread, and the same call is run again with what was seen.

use super::cx::{Answer, Cx};
use super::error::OpError;
use crate::model::effect::CreateWorktree;
use crate::model::setup::Project;
use crate::proto::repo::RefDetail;
use crate::proto::worktree::GitRow;
use std::collections::BTreeMap;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Whether git can make this worktree (contract 5.1).
    Worktree(Box<CreateWorktree>),
    /// The branches and tags of a repository whose names contain a text.
    Refs { repo: String, query: String, limit: usize },
    /// Whether a name is a commit of the repository.
    Base { repo: String, name: String },
    /// What `orca.yaml` says where new worktrees begin.
    Project { repo: String, base: Option<String> },
    /// How worktrees stand to git now.
    Trees(Vec<Tree>),
}

/// A worktree to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub id: String,
    pub path: String,
    /// The ref it is compared with; None for the default.
    pub base: Option<String>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It can, and this is what the `orca.yaml` there says.
    Worktree {
        wish: Box<CreateWorktree>,
        project: Project,
    },
    Refs {
        refs: Vec<RefDetail>,
        is_truncated: bool,
    },
    /// It is one.
    Base,
    Project(Project),
    /// By the worktree's id.
    Trees(BTreeMap<String, GitRow>),
}

/// What the call was given to see, or the answer that asks for it.
pub(super) enum Sight {
    Seen(Seen),
    Ask(Answer),
}

/// What was seen, or the wish to look.
pub(super) fn look(cx: &mut Cx<'_>, wanted: Look) -> Result<Sight, OpError> {
    match cx.caller.seen.take() {
        Some(seen) => Ok(Sight::Seen(seen?)),
        None => Ok(Sight::Ask(Answer::Look(wanted))),
    }
}

/// Something else was seen than was asked for.
pub(super) fn mismatch() -> OpError {
    OpError::Bug(String::from("something else was seen than was asked for"))
}
