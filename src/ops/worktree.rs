//! Worktree verbs: create, list, show, current; and the list of repositories.

use super::caller::{self, Caller};
use super::cx::{Answer, Cx, Wait, WaitOn};
use super::error::{OpError, invalid, limit_of, refuse};
use super::{reply, select, terminal, view, worker};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, RepoId, TerminalId};
use crate::base::text;
use crate::model::effect::{CreateWorktree, Effect};
use crate::model::event::{EventKind, Fact};
use crate::model::repo::{Repo, RepoKind};
use crate::model::terminal::TerminalLife;
use crate::model::worktree::{Worktree, worktree_id};
use crate::proto::worktree::{
    Lineage, OneRepo, OneWorktree, RepoAdd, RepoList, RepoShow, Repos, StartupTerminal, WorktreeCreate,
    WorktreeCurrent, WorktreeList, WorktreeMade, WorktreeShow, Worktrees,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to happen once the worktree stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    pub repo_id: RepoId,
    pub display_name: Option<String>,
    pub comment: Option<String>,
    pub issue: Option<u64>,
    pub parent_worktree_id: Option<String>,
    pub agent: Option<String>,
    pub prompt: Option<String>,
    pub setup_state: String,
    /// Set once it stands.
    pub worktree_id: Option<String>,
    pub terminal_id: Option<TerminalId>,
    pub error: Option<(String, String)>,
}

/// `worktree create`.
pub fn create(cx: &mut Cx<'_>, call: WorktreeCreate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    if call.prompt.is_some() && call.agent.is_none() {
        return Err(invalid("--prompt requires --agent."));
    }
    if call.parent_worktree.is_some() && call.is_top_level {
        return Err(invalid("--parent-worktree and --no-parent exclude each other."));
    }
    let setup_state = setup_state(call.setup.as_deref())?;
    let repo = repo_for_new(cx, call.repo.as_deref())?;
    let parent = match (call.parent_worktree.as_deref(), call.is_top_level) {
        (Some(selector), _) => Some(select::worktree(cx, selector)?.id),
        (None, true) => None,
        (None, false) => lineage_parent(cx, &caller, &repo)?,
    };
    let agent = match call.agent.as_deref() {
        Some(agent) => Some(worker::known_agent(cx, Some(agent))?),
        None => None,
    };
    let wanted = Wanted {
        repo_id: repo.id.clone(),
        display_name: call.display_name,
        comment: call.comment.map(|comment| text::cut_chars(&text::many_lines(&comment), 4_000)),
        issue: call.issue,
        parent_worktree_id: parent,
        agent,
        prompt: call.prompt,
        setup_state,
        worktree_id: None,
        terminal_id: None,
        error: None,
    };
    let wish = wish(&repo, &call.name, call.branch, call.base_branch)?;
    if let Some(ask) = preview(cx, &wish)? {
        return Ok(ask);
    }
    let effect = Effect::CreateWorktree(wish);
    let then = serde_json::to_value(&wanted).map_err(|error| OpError::Bug(error.to_string()))?;
    let effect = cx.request(effect, None, Some(then.clone()))?;
    Ok(Answer::Wait(Wait { on: WaitOn::Effect { effect, then }, deadline: None, began: cx.now }))
}

/// `run`, `skip` or `inherit`; no repository has scripts that this build would run.
pub fn setup_state(setup: Option<&str>) -> Result<String, OpError> {
    match setup {
        None | Some("run" | "inherit") => Ok(String::from("not_configured")),
        Some("skip") => Ok(String::from("skipped")),
        Some(_) => Err(invalid("--setup must be run, skip or inherit.")),
    }
}

/// The repository of a new worktree; a plain folder has none.
pub fn repo_for_new(cx: &mut Cx<'_>, selector: Option<&str>) -> Result<Repo, OpError> {
    let repo = select::repo(cx, selector)?;
    match repo.kind {
        RepoKind::Git => Ok(repo),
        RepoKind::Folder => Err(refuse(
            ErrorCode::NotARepository,
            format!("{} is a plain folder; a new worktree needs a git repository.", repo.path),
        )
        .next_step("git init")
        .next_step("orca worktree list --json")
        .into()),
    }
}

/// Refuses a worktree that git cannot make while that still costs nothing. `Some`: git was not asked yet.
pub fn preview(cx: &Cx<'_>, wish: &CreateWorktree) -> Result<Option<Answer>, OpError> {
    match cx.caller.preview.as_ref().filter(|preview| preview.wish.is_same_for_git(wish)) {
        None => Ok(Some(Answer::Preview(wish.clone()))),
        Some(preview) => preview.refusal.clone().map_or(Ok(None), |refusal| Err(refusal.into())),
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
    let named = cx.caller.origin.env_worktree.clone();
    if let Some(worktree) = named.map(|id| cx.tx.get::<Worktree>(&id)).transpose()?.flatten() {
        return Ok(Some(worktree.id));
    }
    let own = terminal::create::own_worktree(cx, caller)?;
    Ok((own.repo_id == repo.id).then_some(own.id))
}

/// What git made.
pub struct Made {
    pub path: String,
    pub branch: String,
    pub base_ref: String,
    pub base_commit: String,
}

/// Registers a worktree that git made.
pub fn add(
    cx: &mut Cx<'_>,
    made: &Made,
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
        display_name: text::cut_chars(&display_name.unwrap_or_else(|| own_name.to_owned()), 120),
        comment: comment.map(str::to_owned),
        linked_issue: issue,
        workspace_status: String::from("in-progress"),
        is_main: false,
        parent_worktree_id: parent,
        base_ref: Some(made.base_ref.clone()),
        base_commit: Some(made.base_commit.clone()),
        created_by_dispatch: dispatch.cloned(),
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

/// The reply of a `worktree create`, from what its effects left in `then`.
pub fn made(cx: &Cx<'_>, then: &Value) -> Result<Answer, OpError> {
    let wanted: Wanted =
        serde_json::from_value(then.clone()).map_err(|error| OpError::Bug(error.to_string()))?;
    if let Some((code, message)) = wanted.error {
        let code = crate::base::code::ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        return Err(refuse(code.copied().unwrap_or(ErrorCode::WorktreeFailed), message)
            .next_step("orca worktree list --json")
            .into());
    }
    let worktree = wanted.worktree_id.as_deref().map(|id| cx.tx.get::<Worktree>(id)).transpose()?.flatten();
    let worktree = worktree.ok_or_else(|| OpError::Bug(String::from("the worktree is not there")))?;
    let opened = wanted.terminal_id.as_ref().map(|id| caller::named_terminal(cx, id.as_str())).transpose()?;
    let failed = opened.filter(|terminal| terminal.life == TerminalLife::Failed);
    let warnings = failed.map(|terminal| {
        let why = terminal.title.unwrap_or_default();
        format!(
            "The worktree stands, but {} did not start: {why}",
            wanted.agent.as_deref().unwrap_or("its shell")
        )
    });
    reply(&WorktreeMade {
        lineage: worktree.parent_worktree_id.clone().map(|parent_worktree_id| Lineage { parent_worktree_id }),
        worktree: view::worktree(&cx.tx, &worktree)?,
        warnings: warnings.into_iter().collect(),
        setup_state: wanted.setup_state,
        startup_terminal: wanted.terminal_id.clone().map(|handle| StartupTerminal { handle }),
        agent_terminal_handle: wanted.terminal_id.filter(|_| wanted.agent.is_some()),
    })
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
    let mut worktrees = Vec::with_capacity(found.len());
    for worktree in &found {
        worktrees.push(view::worktree(&cx.tx, worktree)?);
    }
    reply(&Worktrees { truncated: worktrees.len() < total_count, total_count, worktrees })
}

/// `worktree show`.
pub fn show(cx: &mut Cx<'_>, call: WorktreeShow) -> Result<Answer, OpError> {
    let worktree = select::worktree(cx, &call.worktree)?;
    reply(&OneWorktree { worktree: view::worktree(&cx.tx, &worktree)? })
}

/// `worktree current`.
pub fn current(cx: &mut Cx<'_>, _call: WorktreeCurrent) -> Result<Answer, OpError> {
    let worktree = select::current(cx)?;
    reply(&OneWorktree { worktree: view::worktree(&cx.tx, &worktree)? })
}

/// `repo list`.
pub fn repos(cx: &mut Cx<'_>, _call: RepoList) -> Result<Answer, OpError> {
    reply(&Repos { repos: cx.tx.list::<Repo>("all", "", usize::MAX)? })
}

/// `repo show`.
pub fn show_repo(cx: &mut Cx<'_>, call: RepoShow) -> Result<Answer, OpError> {
    reply(&OneRepo { repo: select::repo(cx, call.repo.as_deref())? })
}

/// `repo add`: registers what is around the directory; one that is known stays as it is.
pub fn add_repo(cx: &mut Cx<'_>, call: RepoAdd) -> Result<Answer, OpError> {
    if cx.caller.place.is_none() {
        let shown = text::cut_chars(&text::one_line(&call.path), 200);
        let message = format!("{shown} is no directory that can be read.");
        return Err(refuse(ErrorCode::SelectorNotFound, message).next_step("orca repo list --json").into());
    }
    reply(&OneRepo { repo: select::repo(cx, None)? })
}
