//! `worktree create`: checks, then an effect; what stands in it comes with the effect's outcome
//! (`ops::advance`).

use crate::base::code::ErrorCode;
use crate::base::id::{RepoId, TerminalId};
use crate::base::text;
use crate::model::effect::{CreateWorktree, Effect};
use crate::model::repo::{Repo, RepoKind};
use crate::model::terminal::TerminalLife;
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::look::{self, Look, Seen, Sight};
use crate::ops::{reply, select, terminal, view, worker};
use crate::proto::worktree::{GitRow, Lineage, StartupTerminal, WorktreeCreate, WorktreeMade};
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
    #[serde(default)]
    pub head: Option<String>,
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
        Some(agent) => Some(worker::known_agent(cx, Some(agent)).map_err(as_bad_argument)?),
        None => None,
    };
    let wanted = Wanted {
        repo_id: repo.id.clone(),
        display_name: call.display_name,
        comment: call.comment.as_deref().and_then(super::safe_comment),
        issue: call.issue,
        parent_worktree_id: parent,
        agent,
        prompt: call.prompt,
        setup_state,
        worktree_id: None,
        head: None,
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
            ErrorCode::InvalidArgument,
            format!("{} is a plain folder; a new worktree needs a git repository.", repo.path),
        )
        .next_step("git init")
        .next_step("orca worktree list --json")
        .into()),
    }
}

/// Refuses a worktree that git cannot make while that still costs nothing. `Some`: git was not asked yet.
pub fn preview(cx: &mut Cx<'_>, wish: &CreateWorktree) -> Result<Option<Answer>, OpError> {
    match look::look(cx, Look::Worktree(Box::new(wish.clone())))? {
        Sight::Seen(Seen::Worktree(asked)) if asked.is_same_for_git(wish) => Ok(None),
        Sight::Seen(Seen::Worktree(_)) => Ok(Some(Answer::Look(Look::Worktree(Box::new(wish.clone()))))),
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

/// The reply of a `worktree create`, from what its effects left in `then`.
pub fn made(cx: &Cx<'_>, then: &Value) -> Result<Answer, OpError> {
    let wanted: Wanted =
        serde_json::from_value(then.clone()).map_err(|error| OpError::Bug(error.to_string()))?;
    if let Some((code, message)) = wanted.error {
        let code = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
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
    let mut row = view::worktree(&cx.tx, &worktree)?;
    row.git = Some(GitRow {
        branch: worktree.branch.clone(),
        is_merged: wanted.head == worktree.base_commit,
        head: wanted.head,
        base: worktree.base_ref.clone(),
        ..GitRow::default()
    });
    reply(&WorktreeMade {
        lineage: worktree.parent_worktree_id.clone().map(|parent_worktree_id| Lineage { parent_worktree_id }),
        worktree: row,
        warnings: warnings.into_iter().collect(),
        setup_state: wanted.setup_state,
        startup_terminal: wanted.terminal_id.clone().map(|handle| StartupTerminal { handle }),
        agent_terminal_handle: wanted.terminal_id.filter(|_| wanted.agent.is_some()),
    })
}
