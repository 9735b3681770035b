//! Worktree verbs: list, show, current and set are here; [`create`] and what then [`stand`]s, [`remove`]
//! and [`ps`] have files of their own.

pub mod create;
pub mod ps;
pub mod remove;
pub mod stand;

use super::caller;
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, limit_of};
use super::look::{self, Look, Seen, Sight, Tree};
use super::{reply, select, view};
use crate::base::id::{DispatchId, RepoId};
use crate::base::text;
use crate::model::effect::NewCheckout;
use crate::model::event::{EventKind, Fact};
use crate::model::repo::{Repo, RepoKind};
use crate::model::worktree::{WORKSPACE_STATUSES, Worktree, worktree_id};
use crate::proto::row::WorktreeRow;
use crate::proto::worktree::{
    OneWorktree, WorktreeCurrent, WorktreeList, WorktreeSet, WorktreeShow, Worktrees,
};
use std::collections::BTreeMap;

/// Names and notes are cut to these lengths, in characters.
const MAX_NAME_CHARS: usize = 120;
const MAX_COMMENT_CHARS: usize = 4_000;

/// Registers a worktree that git made.
pub fn add(
    cx: &mut Cx<'_>,
    made: &NewCheckout,
    repo: &RepoId,
    parent: Option<String>,
    names: (Option<&str>, Option<&str>, Option<u64>),
    dispatch: Option<&DispatchId>,
) -> Result<Worktree, OpError> {
    let (display_name, comment, issue) = names;
    let own_name = made.path.rsplit('/').next().unwrap_or(&made.path);
    let display_name = display_name.map(text::one_line).filter(|name| !name.is_empty());
    let worktree = Worktree {
        id: worktree_id(repo, &made.path),
        repo_id: repo.clone(),
        path: made.path.clone(),
        branch: Some(made.branch.clone()),
        display_name: text::cut_chars(&display_name.unwrap_or_else(|| own_name.to_owned()), MAX_NAME_CHARS),
        comment: comment.map(str::to_owned),
        linked_issue: issue,
        workspace_status: String::from("in-progress"),
        is_main: false,
        parent_worktree_id: parent,
        base_ref: Some(made.base_ref.clone()),
        base_commit: Some(made.base_commit.clone()),
        created_by_dispatch: dispatch.cloned(),
        made_branch: (!made.is_old_branch).then(|| made.branch.clone()),
        created_at: cx.now,
        last_activity_at: cx.now,
    };
    cx.tx.put(&worktree)?;
    let mut fact =
        Fact::new(EventKind::WorktreeCreated, format!("{} on {}", worktree.display_name, made.branch));
    fact.dispatch_id = dispatch.cloned();
    cx.emit(fact)?;
    Ok(worktree)
}

/// The rows of `worktrees` with what git says of them now, or the wish to ask git.
fn seen_rows(cx: &mut Cx<'_>, worktrees: &[Worktree]) -> Result<Rows, OpError> {
    let mut trees = Vec::new();
    for worktree in worktrees {
        let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?;
        if repo.is_some_and(|repo| repo.kind == RepoKind::Git) {
            trees.push(Tree { path: worktree.path.clone(), base: worktree.base_ref.clone() });
        }
    }
    let mut seen = if trees.is_empty() {
        BTreeMap::new()
    } else {
        match look::look(cx, Look::Trees(trees))? {
            Sight::Seen(Seen::Trees(seen)) => seen,
            Sight::Seen(_) => return Err(look::mismatch()),
            Sight::Ask(answer) => return Ok(Rows::Ask(answer)),
        }
    };
    let mut rows = Vec::with_capacity(worktrees.len());
    for worktree in worktrees {
        let mut row = view::worktree(&cx.tx, worktree)?;
        row.git = seen.remove(&worktree.path);
        if let Some(git) = row.git.as_ref().filter(|git| !git.is_missing && git.error.is_none()) {
            // Somebody may have switched it by hand since it was registered.
            row.branch.clone_from(&git.branch);
        }
        rows.push(row);
    }
    Ok(Rows::Seen(rows))
}

enum Rows {
    Seen(Vec<WorktreeRow>),
    Ask(Answer),
}

/// The answer of a verb that shows one worktree.
fn show_one(cx: &mut Cx<'_>, worktree: &Worktree) -> Result<Answer, OpError> {
    match seen_rows(cx, std::slice::from_ref(worktree))? {
        Rows::Ask(answer) => Ok(answer),
        Rows::Seen(rows) => {
            let row = rows.into_iter().next();
            let worktree = row.ok_or_else(|| OpError::Bug(String::from("the worktree has no row")))?;
            reply(&OneWorktree { worktree })
        }
    }
}

/// `worktree list`.
pub fn list(cx: &mut Cx<'_>, call: WorktreeList) -> Result<Answer, OpError> {
    let mut found = match call.repo.as_deref() {
        Some(selector) => {
            let repo = select::repo(cx, Some(selector))?;
            cx.tx.list::<Worktree>("repo", repo.id.as_str(), usize::MAX)?
        }
        None => cx.tx.list::<Worktree>("all", "", usize::MAX)?,
    };
    let total_count = found.len();
    found.truncate(limit_of(call.limit, 1_000, 1_000)?);
    match seen_rows(cx, &found)? {
        Rows::Ask(answer) => Ok(answer),
        Rows::Seen(worktrees) => {
            reply(&Worktrees { truncated: worktrees.len() < total_count, total_count, worktrees })
        }
    }
}

/// `worktree show`.
pub fn show(cx: &mut Cx<'_>, call: WorktreeShow) -> Result<Answer, OpError> {
    let worktree = select::worktree(cx, &call.worktree)?;
    show_one(cx, &worktree)
}

/// `worktree current`.
pub fn current(cx: &mut Cx<'_>, _call: WorktreeCurrent) -> Result<Answer, OpError> {
    let worktree = select::current(cx)?;
    show_one(cx, &worktree)
}

/// `worktree set`.
pub fn set(cx: &mut Cx<'_>, call: WorktreeSet) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    if call.parent_worktree.is_some() && call.is_top_level {
        return Err(invalid("--parent-worktree and --no-parent exclude each other."));
    }
    let mut worktree = select::worktree(cx, &call.worktree)?;
    let before = worktree.clone();
    if let Some(name) = &call.display_name {
        worktree.display_name = text::cut_chars(&text::one_line(name), MAX_NAME_CHARS);
        if worktree.display_name.trim().is_empty() {
            return Err(invalid("--display-name must have a character that can be seen."));
        }
    }
    if let Some(issue) = call.issue.as_deref() {
        worktree.linked_issue = match issue {
            "null" => None,
            number => {
                Some(number.parse().map_err(|_| invalid("--issue must be a number, or null for none."))?)
            }
        };
    }
    if let Some(comment) = &call.comment {
        worktree.comment = safe_comment(comment);
    }
    if let Some(status) = call.workspace_status {
        if !WORKSPACE_STATUSES.contains(&status.as_str()) {
            let known = WORKSPACE_STATUSES.join(", ");
            return Err(invalid(format!("--workspace-status must be one of {known}.")));
        }
        worktree.workspace_status = status;
    }
    match (call.parent_worktree.as_deref(), call.is_top_level) {
        (Some(selector), _) => worktree.parent_worktree_id = Some(new_parent(cx, &worktree, selector)?),
        (None, true) => worktree.parent_worktree_id = None,
        (None, false) => {}
    }
    if worktree == before {
        let given = [&call.display_name, &call.issue, &call.comment, &call.parent_worktree];
        if given.iter().all(|value| value.is_none()) && !call.is_top_level {
            return Err(invalid("Nothing to change: give at least one of the flags."));
        }
    } else {
        worktree.last_activity_at = cx.now;
        cx.tx.put(&worktree)?;
        cx.emit(Fact::new(EventKind::WorktreeChanged, worktree.display_name.clone()))?;
    }
    show_one(cx, &worktree)
}

/// The parent that a selector names, unless the worktree would be below itself.
fn new_parent(cx: &mut Cx<'_>, worktree: &Worktree, selector: &str) -> Result<String, OpError> {
    let parent = select::worktree(cx, selector)?;
    let mut above = Some(parent.clone());
    while let Some(next) = above {
        if next.id == worktree.id {
            return Err(invalid("A worktree cannot be below itself."));
        }
        above = match &next.parent_worktree_id {
            Some(id) => cx.tx.get::<Worktree>(id)?,
            None => None,
        };
    }
    Ok(parent.id)
}

/// A note that is safe to show; None for an empty one.
fn safe_comment(comment: &str) -> Option<String> {
    Some(text::cut_chars(&text::many_lines(comment), MAX_COMMENT_CHARS)).filter(|comment| !comment.is_empty())
}
