//! `worktree rm`: refuses while anything runs there, then an effect that refuses while anything would be
//! lost. `--force` names both. The main checkout and plain folders are never removed.

use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, EffectId, TerminalId};
use crate::base::text;
use crate::model::effect::{ArchiveWish, Effect, OpenEffect, Outcome, RemoveWorktree};
use crate::model::event::{EventKind, Fact};
use crate::model::repo::Repo;
use crate::model::setup::{self, Setup};
use crate::model::worker::Worker;
use crate::model::worktree::Worktree;
use crate::ops::cx::{Answer, Cx, Wait, WaitOn};
use crate::ops::error::{OpError, refuse};
use crate::ops::{caller, reply, select, terminal};
use crate::proto::worktree::{PreservedBranch, WorktreeRemove, WorktreeRemoved};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a finished removal left for the call that waits on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Ended {
    Gone { warnings: Vec<String>, preserved_branch: Option<String> },
    Refused { code: String, message: String },
}

/// `worktree rm`.
pub fn remove(cx: &mut Cx<'_>, call: WorktreeRemove) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let worktree = select::worktree(cx, &call.worktree)?;
    let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?;
    let repo = repo.ok_or_else(|| OpError::Bug(format!("{} is not there", worktree.repo_id)))?;
    if worktree.is_main {
        let message = format!("{} is no worktree of its own and is never removed.", worktree.path);
        return Err(refuse(ErrorCode::InvalidArgument, message)
            .next_step("orca worktree list --json")
            .next_step(format!("orca repo rm --repo id:{}", repo.id))
            .into());
    }
    if let Some(open) = open_removal(cx, &worktree)? {
        // Asking twice is harmless: both get the one answer.
        return Ok(wait(cx, open, &worktree));
    }
    let terminals: Vec<TerminalId> =
        terminal::alive_in(cx, &worktree.id)?.into_iter().map(|terminal| terminal.id).collect();
    if !call.is_forced {
        check_nothing_runs(cx, &worktree, &terminals, call.runs_hooks)?;
    }
    for terminal in &terminals {
        terminal::close::request(cx, terminal, None)?;
    }
    let wish = RemoveWorktree {
        worktree_id: worktree.id.clone(),
        path: worktree.path.clone(),
        made_branch: worktree.made_branch.clone(),
        discards_work: call.is_forced,
        terminals,
        archive: call.runs_hooks.then(|| ArchiveWish {
            variables: setup::variables(&repo, &worktree.path),
            settings: repo.hook_settings.clone(),
        }),
        repo_id: repo.id,
        repo_path: repo.path,
    };
    let effect = cx.request(Effect::RemoveWorktree(wish), None, None)?;
    Ok(wait(cx, effect, &worktree))
}

fn wait(cx: &Cx<'_>, effect: EffectId, worktree: &Worktree) -> Answer {
    let then = json!({ "verb": "worktree.rm", "worktree": worktree.id });
    Answer::Wait(Wait { on: WaitOn::Effect { effect, then }, deadline: None, began: cx.now })
}

fn open_removal(cx: &Cx<'_>, worktree: &Worktree) -> Result<Option<EffectId>, OpError> {
    let open = cx.tx.list::<OpenEffect>("all", "", usize::MAX)?;
    let is_it = |open: &OpenEffect| matches!(&open.effect, Effect::RemoveWorktree(wish) if wish.worktree_id == worktree.id);
    Ok(open.into_iter().find(is_it).map(|open| open.id))
}

/// Refuses while a terminal lives there or an attempt works there.
fn check_nothing_runs(
    cx: &Cx<'_>,
    worktree: &Worktree,
    terminals: &[TerminalId],
    runs_hooks: bool,
) -> Result<(), OpError> {
    let workers = cx.tx.list::<Worker>("open", "", usize::MAX)?;
    let dispatches: Vec<DispatchId> = workers
        .into_iter()
        .filter(|worker| worker.worktree_id.as_deref() == Some(worktree.id.as_str()))
        .map(|worker| worker.dispatch_id)
        .collect();
    if terminals.is_empty() && dispatches.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> =
        dispatches.iter().map(DispatchId::as_str).chain(terminals.iter().map(TerminalId::as_str)).collect();
    let message = format!(
        "{} is in use ({}); removing it would end {}.",
        worktree.display_name,
        names.join(", "),
        if names.len() == 1 { "it" } else { "them" }
    );
    let quoted = text::shell_quote(&format!("id:{}", worktree.id));
    let mut body = refuse(ErrorCode::ConfirmationRequired, message)
        .with("terminals", terminals)
        .with("dispatches", &dispatches);
    for dispatch in &dispatches {
        body = body.next_step(format!("orca orchestration worker-stop --dispatch {dispatch} --json"));
    }
    if dispatches.is_empty() {
        body = body.next_step(format!("orca terminal close --worktree {quoted} --all --json"));
    }
    let hooks = if runs_hooks { " --run-hooks" } else { "" };
    Err(body.next_step(format!("orca worktree rm --worktree {quoted} --force{hooks} --json")).into())
}

/// What came of the effect: the row goes with the folder, and its children stand for themselves.
pub fn outcome(
    cx: &mut Cx<'_>,
    effect: &EffectId,
    wish: &RemoveWorktree,
    outcome: Outcome,
) -> Result<(), OpError> {
    let ended = match outcome {
        Outcome::WorktreeRemoved { was_there, preserved_branch, mut warnings } => {
            if !was_there {
                warnings.push(String::from("Its folder was gone already."));
            }
            if let Some(worktree) = cx.tx.get::<Worktree>(&wish.worktree_id)? {
                forget(cx, &worktree, preserved_branch.as_deref())?;
            }
            Ended::Gone { warnings, preserved_branch }
        }
        Outcome::Failed { code, message } => Ended::Refused { code, message },
        Outcome::Unknown { message } => {
            Ended::Refused { code: ErrorCode::OperationUnknown.to_string(), message }
        }
        other => return Err(OpError::Bug(format!("a removal ended as {other:?}"))),
    };
    Ok(cx.tx.set_meta(&format!("result {effect}"), &ended)?)
}

fn forget(cx: &mut Cx<'_>, worktree: &Worktree, kept: Option<&str>) -> Result<(), OpError> {
    for mut child in cx.tx.list::<Worktree>("parent", &worktree.id, usize::MAX)? {
        child.parent_worktree_id.clone_from(&worktree.parent_worktree_id);
        cx.tx.put(&child)?;
    }
    cx.tx.delete::<Setup>(&worktree.id)?;
    cx.tx.delete::<Worktree>(&worktree.id)?;
    let kept = kept.map(|branch| format!("; the branch {} stays", text::one_line(branch)));
    let detail = format!("{}{}", worktree.display_name, kept.unwrap_or_default());
    cx.emit(Fact::new(EventKind::WorktreeRemoved, detail))
}

fn one_per_line(warnings: &[String]) -> String {
    warnings.iter().map(|warning| text::one_line(warning)).collect::<Vec<_>>().join("\n")
}

/// The reply of a removal that has its outcome.
pub fn removed(cx: &Cx<'_>, effect: &EffectId, then: &Value) -> Result<Answer, OpError> {
    let ended: Option<Ended> = cx.tx.meta(&format!("result {effect}"))?;
    match ended {
        Some(Ended::Gone { warnings, preserved_branch }) => reply(&WorktreeRemoved {
            removed: true,
            warning: Some(one_per_line(&warnings)).filter(|warning| !warning.is_empty()),
            preserved_branch: preserved_branch.map(|branch_name| PreservedBranch { branch_name }),
        }),
        Some(Ended::Refused { code, message }) => {
            let known = ErrorCode::ALL.iter().copied().find(|known| known.as_str() == code);
            let code = known.unwrap_or(ErrorCode::WorktreeFailed);
            let quoted = text::shell_quote(&format!("id:{}", then["worktree"].as_str().unwrap_or_default()));
            let again = match code {
                ErrorCode::WorktreeHoldsWork => {
                    format!("orca worktree rm --worktree {quoted} --force --json")
                }
                ErrorCode::HooksNotApproved => String::from("orca repo hooks show"),
                _ => format!("orca worktree show --worktree {quoted} --json"),
            };
            Err(refuse(code, message).next_step(again).into())
        }
        None => Err(OpError::Bug(String::from("a removal has no result"))),
    }
}
