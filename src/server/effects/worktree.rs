//! Making and removing a worktree. What was planned is written down before git is touched, so that a second
//! run after a crash finds the same name and folder instead of the next free one.

use super::WorktreePlaces;
use super::project::{self, NotArchived};
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::report::OrLog as _;
use crate::git::name::{PlanRequest, plan};
use crate::git::refs::resolve_base;
use crate::git::worktree::{AddRequest, NewBranch, RemoveRequest, add};
use crate::git::{self, GitError};
use crate::model::effect::{ArchiveWish, CreateWorktree, NewCheckout, Outcome, RemoveWorktree};
use crate::model::setup::Project;
use crate::proto::error::ErrorBody;
use crate::server::pane::lock;
use crate::server::peer;
use crate::server::terminals::Terminals;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long the end of closed terminals is waited for.
const CLOSE_PATIENCE: Duration = Duration::from_secs(20);

/// A decided name, kept until the worktree stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Decided {
    path: PathBuf,
    branch: String,
    base_ref: String,
    base_commit: String,
    /// The branch was there before.
    #[serde(default)]
    is_old_branch: bool,
}

/// One worktree at a time gets its name and is made: whoever looked for a free name meanwhile would be
/// given the same, and two agents would work in one folder.
static TURN: Mutex<()> = Mutex::new(());

/// Makes the branch and the checkout.
pub(super) fn create(
    places: &WorktreePlaces,
    effect: &str,
    terminals: &Terminals,
    wish: &CreateWorktree,
) -> Outcome {
    let note = note(terminals, effect);
    let turn = lock(&TURN);
    let outcome = decide(places, &note, wish).and_then(|decided| {
        let request = AddRequest {
            repo: Path::new(&wish.repo_path),
            path: &decided.path,
            branch: &decided.branch,
            from: if decided.is_old_branch {
                NewBranch::Existing
            } else {
                NewBranch::At(decided.base_commit.clone())
            },
        };
        let added = add(&request)?;
        drop(turn);
        let project = project::at(&added.path, &decided.base_ref, &added.head);
        let warnings = project.furnish(Path::new(&wish.repo_path), &added.path);
        Ok(Outcome::WorktreeCreated(NewCheckout {
            path: added.path.to_string_lossy().into_owned(),
            branch: decided.branch,
            is_old_branch: decided.is_old_branch,
            base_ref: decided.base_ref,
            base_commit: decided.base_commit,
            head: added.head,
            project: project.model(),
            warnings,
        }))
    });
    outcome.unwrap_or_else(|error| failed(&error))
}

/// Where an effect keeps what a second run has to know.
fn note(terminals: &Terminals, effect: &str) -> PathBuf {
    notes(terminals).join(format!("{effect}.json"))
}

fn notes(terminals: &Terminals) -> PathBuf {
    terminals.state_dir().terminals()
}

/// The effect is over and will not run again.
pub(super) fn forget(terminals: &Terminals, effect: &str) {
    drop(std::fs::remove_file(note(terminals, effect))); // most effects keep none
}

/// Removes the notes of effects that are over: an earlier server died before it did.
pub(super) fn sweep(terminals: &Terminals, is_open: impl Fn(&str) -> bool) {
    for path in noted(&notes(terminals)) {
        if path.file_stem().and_then(|name| name.to_str()).is_some_and(|effect| !is_open(effect)) {
            std::fs::remove_file(&path).or_log("remove the note of an effect that is over");
        }
    }
}

fn noted(notes: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(notes).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect()
}

/// Runs the archive script, unless an earlier run of this effect did. A failure stops the removal; where
/// work may go it is only told.
fn archive_once(
    note: &Path,
    archive: &ArchiveWish,
    path: &Path,
    goes_on: bool,
) -> Result<Option<String>, (ErrorCode, String)> {
    if note.exists() {
        return Ok(None);
    }
    if !path.is_dir() {
        return Ok(Some(String::from("The archive script did not run: the folder is gone.")));
    }
    match project::archive(archive, path, note) {
        Ok(()) => {
            // Without the note a crash at just this point runs it a second time.
            drop(std::fs::write(note, "\"archived\""));
            Ok(None)
        }
        Err(NotArchived::Unapproved) => {
            let message = "Nobody approved the archive script of this repository; nothing was removed.";
            Err((ErrorCode::HooksNotApproved, message.to_owned()))
        }
        Err(NotArchived::Failed(why)) if goes_on => Ok(Some(format!("The archive script failed: {why}"))),
        Err(NotArchived::Failed(why)) => {
            let message = format!("The archive script failed, so nothing was removed: {why}");
            Err((ErrorCode::WorktreeFailed, message))
        }
    }
}

fn failed(error: &GitError) -> Outcome {
    let next = error.next_step().map(|step| format!(" Next: {step}")).unwrap_or_default();
    Outcome::Failed { code: error.code().to_string(), message: format!("{error}{next}") }
}

/// Removes a worktree, once the terminals that are being closed for it have ended.
pub(super) fn remove(effect: &str, terminals: &Terminals, wish: &RemoveWorktree) -> Outcome {
    let mut warnings = Vec::new();
    let is_running = |id: &&TerminalId| terminals.is_running(id);
    let since = Instant::now();
    while wish.terminals.iter().any(|id| is_running(&id)) && since.elapsed() < CLOSE_PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    for id in wish.terminals.iter().filter(is_running) {
        warnings.push(format!("{id} was not seen to end."));
    }
    let path = Path::new(&wish.path);
    for id in peer::standing_in(path, terminals).iter().filter(|id| !wish.terminals.contains(id)) {
        warnings.push(format!("{id} stands in the removed folder; it goes on."));
    }
    let repo = Path::new(&wish.repo_path);
    if !repo.exists() && !path.exists() {
        // The whole repository went by hand, and all of its worktrees with it.
        return Outcome::WorktreeRemoved { was_there: false, preserved_branch: None, warnings };
    }
    if let Some(archive) = &wish.archive {
        let note = note(terminals, effect);
        match archive_once(&note, archive, path, wish.discards_work) {
            Ok(warning) => warnings.extend(warning),
            Err((code, message)) => return Outcome::Failed { code: code.to_string(), message },
        }
    }
    let made_branch = wish.made_branch.as_deref();
    let request = RemoveRequest { repo, path, made_branch, discards_work: wish.discards_work };
    match git::worktree::remove(&request) {
        Ok(removed) => Outcome::WorktreeRemoved {
            was_there: removed.was_there,
            preserved_branch: removed.preserved_branch,
            warnings,
        },
        Err(error) => failed(&error),
    }
}

/// What the `orca.yaml` of this worktree would say, or why git cannot make it now. Changes nothing.
pub(super) fn foresee(places: &WorktreePlaces, wish: &CreateWorktree) -> Result<Project, ErrorBody> {
    let decided = plan_for(places, wish, &[])
        .map_err(|error| super::look::body(error).with("effectsApplied", false))?;
    let repo = Path::new(&wish.repo_path);
    Ok(project::at(repo, &decided.base_ref, &decided.base_commit).model())
}

/// The name that was decided before a crash, else one that is free now.
fn decide(places: &WorktreePlaces, note: &Path, wish: &CreateWorktree) -> Result<Decided, GitError> {
    if let Some(decided) = decided(note) {
        return Ok(decided);
    }
    // What was decided before a crash is made again in any order; nobody else may have its name.
    let others = noted(note.parent().unwrap_or(note));
    let promised: Vec<_> =
        others.iter().filter_map(|other| decided(other)).map(|other| (other.path, other.branch)).collect();
    let decided = plan_for(places, wish, &promised)?;
    // Without the note a crash at just this point costs a second name, no more.
    drop(std::fs::write(note, serde_json::to_vec(&decided).unwrap_or_default()));
    Ok(decided)
}

fn decided(note: &Path) -> Option<Decided> {
    serde_json::from_slice(&std::fs::read(note).ok()?).ok()
}

fn plan_for(
    places: &WorktreePlaces,
    wish: &CreateWorktree,
    promised: &[(PathBuf, String)],
) -> Result<Decided, GitError> {
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
        promised,
    })?;
    let is_old_branch = wish.branch.is_some() && git::refs::has_branch(repo, &planned.branch)?;
    Ok(Decided {
        path: planned.path,
        branch: planned.branch,
        base_ref: base.name,
        base_commit: base.commit,
        is_old_branch,
    })
}
