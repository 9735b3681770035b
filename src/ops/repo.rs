//! Repo verbs: list, show, add, rm, base ref, search. None of them changes a file.

use super::caller;
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::look::{self, Look, Seen, Sight};
use super::{reply, select, terminal};
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::text;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::event::{EventKind, Fact};
use crate::model::repo::{Repo, RepoKind};
use crate::model::setup::Setup;
use crate::model::worktree::Worktree;
use crate::proto::repo::{
    FoundRefs, OneRepo, RepoAdd, RepoList, RepoRemove, RepoRemoved, RepoSearchRefs, RepoSetBaseRef, RepoShow,
    Repos,
};

const DEFAULT_REFS: u32 = 50;
const MAX_REFS: u32 = 1_000;

/// `repo list`.
pub fn list(cx: &mut Cx<'_>, _call: RepoList) -> Result<Answer, OpError> {
    reply(&Repos { repos: cx.tx.list::<Repo>("all", "", usize::MAX)? })
}

/// `repo show`.
pub fn show(cx: &mut Cx<'_>, call: RepoShow) -> Result<Answer, OpError> {
    reply(&OneRepo { repo: select::repo(cx, call.repo.as_deref())? })
}

/// `repo add`: registers what is around the directory; one that is known stays as it is.
pub fn add(cx: &mut Cx<'_>, call: RepoAdd) -> Result<Answer, OpError> {
    let shown = text::cut_chars(&text::one_line(&call.path), 200);
    let Some(place) = cx.caller.place.as_mut() else {
        let message = format!("{shown} is no directory that can be read.");
        return Err(refuse(ErrorCode::SelectorNotFound, message).next_step("orca repo list --json").into());
    };
    let wanted = match call.kind.as_deref() {
        None => None,
        Some(kind) => Some(RepoKind::parse(kind).ok_or_else(|| invalid("--kind must be git or folder."))?),
    };
    match wanted {
        Some(RepoKind::Git) if !place.is_git => {
            let init = format!("git init {}", text::shell_quote(&call.path));
            let message = format!("{shown} is not inside a git repository.");
            return Err(refuse(ErrorCode::NotARepository, message).next_step(init).into());
        }
        Some(RepoKind::Folder) => {
            // A checkout that is to be worked in as it is, without worktrees.
            place.repo_root.clone_from(&place.root);
            (place.is_git, place.branch) = (false, None);
        }
        Some(RepoKind::Git) | None => {}
    }
    let repo = select::repo(cx, None)?;
    if wanted.is_some_and(|kind| kind != repo.kind) {
        let message = format!("{} is known as a {} already.", text::one_line(&repo.path), repo.kind);
        return Err(refuse(ErrorCode::InvalidArgument, message)
            .next_step(format!("orca repo rm --repo id:{}", repo.id))
            .into());
    }
    reply(&OneRepo { repo })
}

/// `repo rm`: forgets the repository and its worktrees.
pub fn remove(cx: &mut Cx<'_>, call: RepoRemove) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let repo = select::repo(cx, call.repo.as_deref())?;
    let is_in_work = |open: &OpenEffect| match &open.effect {
        Effect::CreateWorktree(wish) => wish.repo_id == repo.id,
        Effect::RemoveWorktree(wish) => wish.repo_id == repo.id,
        Effect::SpawnTerminal { .. } | Effect::DeliverPrompt { .. } | Effect::CloseTerminal { .. } => false,
    };
    if cx.tx.list::<OpenEffect>("all", "", usize::MAX)?.iter().any(is_in_work) {
        let message = "A worktree of it is being made or removed at this moment.";
        return Err(refuse(ErrorCode::ConfirmationRequired, message)
            .next_step("orca worktree list --json")
            .into());
    }
    let worktrees = cx.tx.list::<Worktree>("repo", repo.id.as_str(), usize::MAX)?;
    let mut live: Vec<TerminalId> = Vec::new();
    for worktree in &worktrees {
        live.extend(terminal::alive_in(cx, &worktree.id)?.into_iter().map(|terminal| terminal.id));
    }
    if !live.is_empty() && !call.is_forced {
        let message = format!(
            "{} terminals run in worktrees of {}; with --force it is forgotten and they go on.",
            live.len(),
            repo.display_name
        );
        return Err(refuse(ErrorCode::ConfirmationRequired, message)
            .with("terminals", &live)
            .next_step("orca terminal list --json")
            .next_step(format!("orca repo rm --repo id:{} --force", repo.id))
            .into());
    }
    for worktree in &worktrees {
        cx.tx.delete::<Setup>(&worktree.id)?;
        cx.tx.delete::<Worktree>(&worktree.id)?;
    }
    cx.tx.delete::<Repo>(repo.id.as_str())?;
    cx.emit(Fact::new(EventKind::RepoRemoved, text::one_line(&repo.path)))?;
    let forgotten_worktree_ids = worktrees.into_iter().map(|worktree| worktree.id).collect();
    reply(&RepoRemoved { removed: true, forgotten_worktree_ids })
}

/// A repository of git, for what a plain folder does not have.
pub(super) fn git_repo(cx: &mut Cx<'_>, selector: Option<&str>) -> Result<Repo, OpError> {
    let repo = select::repo(cx, selector)?;
    match repo.kind {
        RepoKind::Git => Ok(repo),
        RepoKind::Folder => {
            Err(invalid(format!("{} is a plain folder, no git repository.", text::one_line(&repo.path))))
        }
    }
}

/// `repo set-base-ref`.
pub fn set_base_ref(cx: &mut Cx<'_>, call: RepoSetBaseRef) -> Result<Answer, OpError> {
    let mut repo = git_repo(cx, call.repo.as_deref())?;
    let wanted = Some(call.base_ref.trim().to_owned()).filter(|name| !matches!(name.as_str(), "" | "null"));
    if let Some(name) = &wanted {
        match look::look(cx, Look::Base { repo: repo.path.clone(), name: name.clone() })? {
            Sight::Seen(Seen::Base) => {}
            Sight::Seen(_) => return Err(look::mismatch()),
            Sight::Ask(answer) => return Ok(answer),
        }
    }
    if repo.worktree_base_ref != wanted {
        let shown = wanted.as_deref().map_or_else(|| String::from("the default"), text::one_line);
        repo.worktree_base_ref = wanted;
        cx.tx.put(&repo)?;
        cx.emit(Fact::new(EventKind::RepoChanged, format!("{}: base is {shown}", repo.display_name)))?;
    }
    reply(&OneRepo { repo })
}

/// `repo search-refs`.
pub fn search_refs(cx: &mut Cx<'_>, call: RepoSearchRefs) -> Result<Answer, OpError> {
    let repo = git_repo(cx, call.repo.as_deref())?;
    let limit = call.limit.unwrap_or(DEFAULT_REFS);
    if !(1..=MAX_REFS).contains(&limit) {
        return Err(invalid(format!("--limit must be between 1 and {MAX_REFS}.")));
    }
    let wanted = Look::Refs { repo: repo.path, query: call.query, limit: limit as usize };
    match look::look(cx, wanted)? {
        Sight::Seen(Seen::Refs { refs, is_truncated }) => reply(&FoundRefs {
            refs: refs.iter().map(|found| found.name.clone()).collect(),
            ref_details: refs,
            truncated: is_truncated,
        }),
        Sight::Seen(_) => Err(look::mismatch()),
        Sight::Ask(answer) => Ok(answer),
    }
}
