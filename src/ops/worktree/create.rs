//! `worktree create`: checks, then an effect. What follows once the worktree stands is in `stand`.

use super::stand::Wanted;
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::effect::{CreateWorktree, Effect};
use crate::model::repo::{Repo, RepoKind};
use crate::model::setup::SetupChoice;
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::look::{self, Look, Program, Seen, Sight};
use crate::ops::setup::{self, Asked};
use crate::ops::{select, terminal, worker};
use crate::proto::worktree::WorktreeCreate;

/// `worktree create`.
pub fn create(cx: &mut Cx<'_>, call: WorktreeCreate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    if call.prompt.is_some() && call.agent.is_none() {
        return Err(invalid("--prompt requires --agent."));
    }
    if call.parent_worktree.is_some() && call.is_top_level {
        return Err(invalid("--parent-worktree and --no-parent exclude each other."));
    }
    let asked = setup::asked(call.setup.as_deref(), SetupChoice::Inherit, call.agent_startup.as_deref())?;
    let repo = repo_for_new(cx, call.repo.as_deref())?;
    let parent = match (call.parent_worktree.as_deref(), call.is_top_level) {
        (Some(selector), _) => Some(select::worktree(cx, selector)?.id),
        (None, true) => None,
        (None, false) => lineage_parent(cx, &caller, &repo)?,
    };
    let agent = match call.agent.as_deref() {
        Some(agent) => Some(worker::known_agent(cx, Some(agent)).map_err(as_bad_argument)?),
        None => None,
    };
    let wanted = Wanted {
        repo_id: repo.id.clone(),
        display_name: call.display_name.or_else(|| Some(call.name.clone())),
        comment: call.comment.as_deref().and_then(super::safe_comment),
        issue: call.issue,
        parent_worktree_id: parent,
        agent,
        prompt: call.prompt,
        setup: asked.choice,
        startup: asked.startup,
        is_activated: call.is_activated,
        worktree_id: None,
        head: None,
        terminal_id: None,
        error: None,
    };
    let wish = wish(&repo, &call.name, call.branch, call.base_branch)?;
    if let Some(ask) = preview(cx, &wish, None, asked)? {
        return Ok(ask);
    }
    let effect = Effect::CreateWorktree(wish);
    let then = serde_json::to_value(&wanted).map_err(|error| OpError::Bug(error.to_string()))?;
    let effect = cx.request(effect, None, Some(then.clone()))?;
    Ok(Answer::Wait(Wait { on: WaitOn::Effect { effect, then }, deadline: None, began: cx.now }))
}

/// An agent that cannot be started is a bad argument here (contract 2.6).
fn as_bad_argument(error: OpError) -> OpError {
    match error {
        OpError::Refused(mut body) if body.code == ErrorCode::AgentUnconfigured => {
            body.code = ErrorCode::InvalidArgument;
            OpError::Refused(body)
        }
        other => other,
    }
}

/// The repository of a new worktree; a plain folder has none.
pub fn repo_for_new(cx: &mut Cx<'_>, selector: Option<&str>) -> Result<Repo, OpError> {
    let repo = select::repo(cx, selector)?;
    match repo.kind {
        RepoKind::Git => Ok(repo),
        RepoKind::Folder => Err(refuse(
            ErrorCode::InvalidArgument,
            format!("{} is a plain folder; a new worktree needs a git repository.", repo.path),
        )
        .next_step("git init")
        .next_step("orca worktree list --json")
        .into()),
    }
}

/// Refuses a worktree that git cannot make, and an agent for it that is not there, while that still costs
/// nothing. `Some`: nobody looked yet.
pub fn preview(
    cx: &mut Cx<'_>,
    wish: &CreateWorktree,
    program: Option<&Program>,
    asked: Asked,
) -> Result<Option<Answer>, OpError> {
    let wanted = || Look::Worktree(Box::new(wish.clone()), program.cloned());
    match look::look(cx, wanted())? {
        Sight::Seen(Seen::Worktree { wish: seen, project }) if seen.is_same_for_git(wish) => {
            setup::check_decided(cx, wish, &project, asked).map(|()| None)
        }
        Sight::Seen(Seen::Worktree { .. }) => Ok(Some(Answer::Look(wanted()))),
        Sight::Seen(_) => Err(look::mismatch()),
        Sight::Ask(answer) => Ok(Some(answer)),
    }
}

/// The wish as the preview and the effect carry it; they judge the name, where git is.
pub fn wish(
    repo: &Repo,
    name: &str,
    branch: Option<String>,
    base: Option<String>,
) -> Result<CreateWorktree, OpError> {
    if name.trim().is_empty() || name.len() > 200 {
        return Err(invalid(
            "--name must be 1 to 200 bytes; letters, digits, dots, dashes and underscores stay.",
        ));
    }
    Ok(CreateWorktree {
        repo_id: repo.id.clone(),
        repo_path: repo.path.clone(),
        name: text::one_line(name),
        branch,
        base: base.or_else(|| repo.worktree_base_ref.clone()),
        base_path: repo.worktree_base_path.clone(),
    })
}

fn lineage_parent(cx: &mut Cx<'_>, caller: &Caller, repo: &Repo) -> Result<Option<String>, OpError> {
    let origin = &cx.caller.origin;
    let named = [origin.env_workspace.clone(), origin.env_worktree.clone()];
    for id in named.into_iter().flatten() {
        if let Some(worktree) = cx.tx.get::<Worktree>(select::without_kind(&id))? {
            return Ok(Some(worktree.id));
        }
    }
    let own = terminal::create::own_worktree(cx, caller)?;
    Ok((own.repo_id == repo.id).then_some(own.id))
}
