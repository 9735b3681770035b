//! Selectors: from what a person types to the one row it means, or the rows it could mean.

use super::cx::Cx;
use super::error::{OpError, invalid, refuse};
use crate::base::code::ErrorCode;
use crate::base::id::RepoId;
use crate::base::text;
use crate::model::event::{EventKind, Fact};
use crate::model::repo::{HookSettings, Repo, RepoKind};
use crate::model::worktree::{Place, Worktree, worktree_id};
use crate::proto::error::ErrorBody;

/// The most rows that a refusal offers.
const MAX_SHOWN: usize = 5;

/// The worktree that a selector names: `id:`, `path:`, `branch:`, `name:`, `issue:`, or
/// `current`/`active`, the one around the caller's directory (contract 2.6).
pub fn worktree(cx: &mut Cx<'_>, selector: &str) -> Result<Worktree, OpError> {
    if matches!(selector, "current" | "active") {
        return current(cx);
    }
    // `id:` may stand before `worktree:` and `folder:`, the kinds of workspace ids.
    let plain = match selector.strip_prefix("id:") {
        Some(rest) if without_kind(rest) != rest => rest,
        _ => selector,
    };
    let (kind, value) = kind_and_value(plain);
    let all = cx.tx.all::<Worktree>(usize::MAX)?;
    let folders = match kind {
        "folder" => folders(cx, value)?,
        _ => Vec::new(),
    };
    let is_match = |worktree: &Worktree| match kind {
        "id" | "worktree" => worktree.id == value,
        "folder" => folders.contains(&worktree.repo_id),
        "path" => worktree.path == value.trim_end_matches('/'),
        "name" => worktree.display_name == value,
        "issue" => value.parse().is_ok_and(|issue: u64| worktree.linked_issue == Some(issue)),
        _ => false,
    };
    if !matches!(kind, "id" | "worktree" | "folder" | "path" | "branch" | "name" | "issue") {
        return Err(invalid(format!(
            "{:?} is no worktree selector; use id:, path:, branch:, name:, issue:, folder: or current.",
            text::cut_chars(&text::one_line(selector), 80)
        )));
    }
    let mut found: Vec<Worktree> = match kind {
        "branch" => on_branch(cx, all, value),
        _ => all.into_iter().filter(is_match).collect(),
    };
    if found.len() > 1 {
        let candidates: Vec<String> = found.iter().map(|worktree| format!("id:{}", worktree.id)).collect();
        let refusal = refuse(
            ErrorCode::SelectorAmbiguous,
            format!("{} worktrees match; name one by its id.", found.len()),
        )
        .with("candidates", &candidates);
        let show = |id: &String| format!("orca worktree show --worktree {}", text::shell_quote(id));
        return Err(candidates.iter().take(MAX_SHOWN).map(show).fold(refusal, ErrorBody::next_step).into());
    }
    found.pop().ok_or_else(|| not_found("worktree", selector, "orca worktree list --json"))
}

/// A selector's kind and value. One that begins with a slash is a path, no name does.
fn kind_and_value(selector: &str) -> (&str, &str) {
    let bare = if selector.starts_with('/') { "path" } else { "name" };
    let said = selector.split_once(':').filter(|_| bare == "name");
    said.unwrap_or((bare, selector))
}

/// The worktrees on a branch. Git has the last word: a branch may have been renamed or another one checked
/// out since its worktree was registered. Those whose row says so are asked first, as asking reads files.
fn on_branch(cx: &Cx<'_>, all: Vec<Worktree>, branch: &str) -> Vec<Worktree> {
    let is_there = |worktree: &Worktree| match cx.world.branch(&worktree.path) {
        Some(now) => now == branch,
        None => worktree.branch.as_deref() == Some(branch),
    };
    let (known, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|worktree| worktree.branch.as_deref() == Some(branch));
    let found: Vec<Worktree> = known.into_iter().filter(is_there).collect();
    if found.is_empty() { others.into_iter().filter(is_there).collect() } else { found }
}

/// A workspace id (contract 1.4) without the `worktree:` or `folder:` before it.
pub fn without_kind(id: &str) -> &str {
    id.strip_prefix("worktree:").or_else(|| id.strip_prefix("folder:")).unwrap_or(id)
}

/// The plain folders that a value names: by their id, their worktree's id, path or name.
fn folders(cx: &Cx<'_>, value: &str) -> Result<Vec<RepoId>, OpError> {
    let mut found = cx.tx.all::<Repo>(usize::MAX)?;
    let path = value.trim_end_matches('/');
    found.retain(|repo| {
        repo.kind == RepoKind::Folder
            && (repo.id.as_str() == value
                || worktree_id(&repo.id, &repo.path) == value
                || repo.path == path
                || repo.display_name == value)
    });
    Ok(found.into_iter().map(|repo| repo.id).collect())
}

fn not_found(noun: &str, selector: &str, next: &str) -> OpError {
    let shown = text::cut_chars(&text::one_line(selector), 80);
    refuse(ErrorCode::SelectorNotFound, format!("No {noun} matches {shown:?}.")).next_step(next).into()
}

/// The worktree or plain folder around the caller's directory, registered on first use (design 6).
pub fn current(cx: &mut Cx<'_>) -> Result<Worktree, OpError> {
    let place = cx.caller.place.clone().ok_or_else(|| {
        // What is not UTF-8 came with this in its place.
        let is_odd = cx.caller.origin.cwd.as_deref().is_some_and(|cwd| cwd.contains('\u{fffd}'));
        let message = if is_odd {
            "The name of the directory this was called from is not UTF-8; such a one cannot be used."
        } else {
            "Nothing says which directory this was called from."
        };
        refuse(ErrorCode::SelectorNotFound, message).next_step("orca worktree list --json")
    })?;
    let repo = register_repo(cx, &place)?;
    if let Some(mut known) = cx.tx.first::<Worktree>("path", &place.root)? {
        if known.branch != place.branch {
            known.branch = place.branch;
            cx.tx.put(&known)?;
        }
        return Ok(known);
    }
    let worktree = Worktree {
        id: worktree_id(&repo.id, &place.root),
        repo_id: repo.id,
        display_name: base_name(&place.root),
        is_main: place.root == place.repo_root,
        path: place.root,
        branch: place.branch,
        comment: None,
        linked_issue: None,
        workspace_status: String::from("in-progress"),
        parent_worktree_id: None,
        base_ref: None,
        base_commit: None,
        created_by_dispatch: None,
        made_branch: None,
        created_at: cx.now,
        last_activity_at: cx.now,
    };
    cx.tx.put(&worktree)?;
    Ok(worktree)
}

fn register_repo(cx: &mut Cx<'_>, place: &Place) -> Result<Repo, OpError> {
    if let Some(known) = cx.tx.first::<Repo>("path", &place.repo_root)? {
        return Ok(known);
    }
    let repo = Repo {
        id: RepoId::new(cx.ids),
        path: place.repo_root.clone(),
        display_name: base_name(&place.repo_root),
        kind: if place.is_git { RepoKind::Git } else { RepoKind::Folder },
        worktree_base_ref: None,
        worktree_base_path: None,
        hook_settings: HookSettings::default(),
        added_at: cx.now,
    };
    cx.tx.put(&repo)?;
    cx.emit(Fact::new(EventKind::RepoAdded, text::one_line(&repo.path)))?;
    Ok(repo)
}

/// The repo that a selector names (`id:`, `path:`, `name:` or a bare name), or the caller's.
pub fn repo(cx: &mut Cx<'_>, selector: Option<&str>) -> Result<Repo, OpError> {
    let Some(selector) = selector else {
        let worktree = current(cx)?;
        let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?;
        return repo.ok_or_else(|| OpError::Bug(format!("{} is not there", worktree.repo_id)));
    };
    let (kind, value) = kind_and_value(selector);
    if !matches!(kind, "id" | "path" | "name") {
        return Err(invalid(format!(
            "{:?} is no repository selector; use id:, path:, name: or a bare name.",
            text::cut_chars(&text::one_line(selector), 80)
        )));
    }
    let mut found: Vec<Repo> = cx.tx.all::<Repo>(usize::MAX)?;
    found.retain(|repo| match kind {
        "id" => repo.id.as_str() == value,
        "path" => repo.path == value.trim_end_matches('/'),
        "name" => repo.display_name == value,
        _ => false,
    });
    if found.len() > 1 {
        let candidates: Vec<String> = found.iter().map(|repo| format!("id:{}", repo.id)).collect();
        return Err(refuse(
            ErrorCode::SelectorAmbiguous,
            format!("{} repositories match; name one by its id.", found.len()),
        )
        .with("candidates", &candidates)
        .next_step("orca repo list --json")
        .into());
    }
    found.pop().ok_or_else(|| not_found("repository", selector, "orca repo list --json"))
}

fn base_name(path: &str) -> String {
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
    text::cut_chars(&text::one_line(name), 120)
}
