//! Making a worktree. What was planned is written down before git is touched, so that a second run after
//! a crash finds the same name and folder instead of the next free one.

use super::WorktreePlaces;
use crate::git::name::{PlanRequest, plan};
use crate::git::refs::resolve_base;
use crate::git::worktree::{AddRequest, NewBranch, add};
use crate::git::{self, GitError};
use crate::model::effect::{CreateWorktree, Outcome};
use crate::proto::error::ErrorBody;
use crate::server::terminals::Terminals;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A decided name, kept until the worktree stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Decided {
    path: PathBuf,
    branch: String,
    base_ref: String,
    base_commit: String,
}

/// Makes the branch and the checkout.
pub(super) fn create(
    places: &WorktreePlaces,
    effect: &str,
    terminals: &Terminals,
    wish: &CreateWorktree,
) -> Outcome {
    let note = terminals.state_dir().root().join("terminals").join(format!("{effect}.json"));
    let outcome = decide(places, &note, wish).and_then(|decided| {
        let request = AddRequest {
            repo: Path::new(&wish.repo_path),
            path: &decided.path,
            branch: &decided.branch,
            from: NewBranch::At(decided.base_commit.clone()),
        };
        let added = add(&request)?;
        Ok(Outcome::WorktreeCreated {
            path: added.path.to_string_lossy().into_owned(),
            branch: decided.branch,
            base_ref: decided.base_ref,
            base_commit: decided.base_commit,
        })
    });
    outcome.unwrap_or_else(|error| {
        let message = format!("{error} {}", error.next_step());
        Outcome::Failed { code: error.code().to_string(), message: message.trim().to_owned() }
    })
}

/// Why git cannot make this worktree now; None where it can. Changes nothing.
pub(super) fn refusal(places: &WorktreePlaces, wish: &CreateWorktree) -> Option<ErrorBody> {
    let error = plan_for(places, wish).err()?;
    Some(
        ErrorBody::new(error.code(), error.to_string())
            .with("effectsApplied", false)
            .next_step(error.next_step()),
    )
}

/// The name that was decided before a crash, else one that is free now.
fn decide(places: &WorktreePlaces, note: &Path, wish: &CreateWorktree) -> Result<Decided, GitError> {
    let known = std::fs::read(note).ok().and_then(|bytes| serde_json::from_slice::<Decided>(&bytes).ok());
    if let Some(decided) = known {
        return Ok(decided);
    }
    let decided = plan_for(places, wish)?;
    // Without the note a crash at just this point costs a second name, no more.
    drop(std::fs::write(note, serde_json::to_vec(&decided).unwrap_or_default()));
    Ok(decided)
}

fn plan_for(places: &WorktreePlaces, wish: &CreateWorktree) -> Result<Decided, GitError> {
    let repo = Path::new(&wish.repo_path);
    git::discover(repo)?;
    let base = resolve_base(repo, wish.base.as_deref())?;
    let own_root = wish.base_path.as_deref().map(PathBuf::from);
    let planned = plan(&PlanRequest {
        repo,
        name: &wish.name,
        root: own_root.as_deref().unwrap_or(&places.root),
        layout: &places.layout,
        prefix: &places.prefix,
        branch: wish.branch.as_deref(),
    })?;
    Ok(Decided { path: planned.path, branch: planned.branch, base_ref: base.name, base_commit: base.commit })
}
