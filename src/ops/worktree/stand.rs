//! What follows once the worktree of a `worktree create` stands: its setup, then an agent or shell in it,
//! then the reply.

use super::add;
use crate::agent::launch::BriefDelivery;
use crate::base::code::ErrorCode;
use crate::base::id::{EffectId, RepoId, TerminalId};
use crate::model::effect::{Effect, NewCheckout, OpenEffect};
use crate::model::repo::{AgentStartup, Repo};
use crate::model::setup::{self as rules, Setup, SetupChoice, SetupState};
use crate::model::terminal::TerminalLife;
use crate::model::worktree::Worktree;
use crate::ops::cx::{Act, Answer, Cx, Wait};
use crate::ops::error::{OpError, refuse};
use crate::ops::setup::{self, Asked};
use crate::ops::terminal::create::{self as new_terminal, NewTerminal};
use crate::ops::worker::{self, Choice};
use crate::ops::{caller, reply, tabs, view};
use crate::proto::worktree::{GitRow, Lineage, StartupTerminal, WorktreeMade};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is to happen once the worktree stands, and how far that came.
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
    pub setup: SetupChoice,
    pub startup: Option<AgentStartup>,
    /// The attached screens go to its first terminal.
    #[serde(default)]
    pub is_activated: bool,
    /// Set once it stands.
    pub worktree_id: Option<String>,
    pub head: Option<String>,
    pub terminal_id: Option<TerminalId>,
    pub error: Option<(String, String)>,
}

impl Wanted {
    fn read(value: &Value) -> Result<Self, OpError> {
        serde_json::from_value(value.clone()).map_err(|error| OpError::Bug(error.to_string()))
    }
}

/// Git made the worktree, or did not.
pub fn stands(
    cx: &mut Cx<'_>,
    open: &OpenEffect,
    made: Result<NewCheckout, (Option<String>, String)>,
) -> Result<(), OpError> {
    let Some(then) = &open.then else { return Ok(()) };
    let mut wanted = Wanted::read(then)?;
    let made = match made {
        Ok(made) => made,
        Err((code, message)) => {
            wanted.error = Some((code.unwrap_or_else(|| String::from("operation_unknown")), message));
            return remember(cx, &open.id, &wanted);
        }
    };
    let names = (wanted.display_name.as_deref(), wanted.comment.as_deref(), wanted.issue);
    let added = add(cx, &made, &wanted.repo_id, wanted.parent_worktree_id.clone(), names, None)?;
    wanted.worktree_id = Some(added.id.clone());
    wanted.head = Some(made.head.clone());
    remember(cx, &open.id, &wanted)?;
    // A person's shell waits for nothing; what a repository starts there waits like an agent.
    let source =
        cx.tx.get::<Repo>(wanted.repo_id.as_str())?.and_then(|repo| repo.hook_settings.command_source);
    let tabs = rules::tabs(source, &made.project);
    let waits = wanted.agent.is_some() || tabs.iter().any(|tab| tab.command.is_some());
    let startup = if waits { wanted.startup } else { Some(AgentStartup::StartImmediately) };
    let asked = Asked { choice: wanted.setup, startup };
    let then = json!({ "effect": open.id });
    let begun = setup::begin(cx, &added, &made, asked, None, Some(then))?;
    if begun.holds_agent() { Ok(()) } else { open_in(cx, &open.id, wanted, added) }
}

/// A setup is over that no attempt waits for: what was to wait for it opens, unless it failed.
pub fn setup_ended(cx: &mut Cx<'_>, ended: &Setup) -> Result<(), OpError> {
    let waiting = ended.then.as_ref().and_then(|then| then["effect"].as_str());
    let Some(effect) = waiting.and_then(|id| EffectId::parse(id).ok()) else { return Ok(()) };
    let opens = match ended.state {
        SetupState::Skipped | SetupState::Succeeded => ended.startup == AgentStartup::WaitForSetup,
        SetupState::NotConfigured
        | SetupState::AwaitingApproval
        | SetupState::Running
        | SetupState::Failed
        | SetupState::SpawnFailed => false,
    };
    let worktree = cx.tx.get::<Worktree>(&ended.worktree_id)?;
    match (remembered(cx, &effect)?, worktree) {
        (Some(wanted), Some(worktree)) if opens && wanted.terminal_id.is_none() => {
            open_in(cx, &effect, wanted, worktree)
        }
        (_, _) => Ok(()),
    }
}

/// Opens the agent first, then the repository's tabs; where there is neither, a shell.
fn open_in(
    cx: &mut Cx<'_>,
    effect: &EffectId,
    mut wanted: Wanted,
    worktree: Worktree,
) -> Result<(), OpError> {
    let setup = cx.tx.get::<Setup>(&worktree.id)?;
    let has_tabs = setup.is_some_and(|setup| !setup.tabs.is_empty());
    let first = match &wanted.agent {
        Some(agent) => Some(open_agent(cx, agent, wanted.prompt.as_deref(), &worktree)?),
        None if has_tabs => None,
        None => {
            let title = worktree.display_name.clone();
            let id = TerminalId::new(cx.ids);
            Some(spawn(cx, id, NewTerminal::shell(worktree.clone(), title), None, None)?)
        }
    };
    let tabs = tabs::open(cx, &worktree)?;
    wanted.terminal_id = first.or(tabs.into_iter().next());
    remember(cx, effect, &wanted)
}

fn open_agent(
    cx: &mut Cx<'_>,
    agent: &str,
    prompt: Option<&str>,
    worktree: &Worktree,
) -> Result<TerminalId, OpError> {
    let id = TerminalId::new(cx.ids);
    let choice = Choice { agent, model: None, effort: None };
    let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
    let plan = worker::plan(cx, &choice, &id, prompt, false)?;
    let new = NewTerminal {
        agent: Some(agent.to_owned()),
        argv: plan.argv,
        env: plan.env.into_iter().collect(),
        unset_env: plan.unset_env,
        ..NewTerminal::shell(worktree.clone(), worktree.display_name.clone())
    };
    match plan.brief {
        BriefDelivery::File { path, text } => {
            spawn(cx, id, new, Some((path.to_string_lossy().into_owned(), text)), None)
        }
        BriefDelivery::Paste(_) => spawn(cx, id, new, None, prompt),
        BriefDelivery::Argument | BriefDelivery::None => spawn(cx, id, new, None, None),
    }
}

fn spawn(
    cx: &mut Cx<'_>,
    id: TerminalId,
    new: NewTerminal,
    brief_file: Option<(String, String)>,
    paste: Option<&str>,
) -> Result<TerminalId, OpError> {
    let mut terminal = new_terminal::add(cx, id, new)?;
    terminal.launch.brief_file = brief_file;
    cx.tx.put(&terminal)?;
    let spawn = Effect::SpawnTerminal { terminal_id: terminal.id.clone() };
    cx.request(spawn, None, Some(json!({ "paste": paste })))?;
    Ok(terminal.id)
}

/// Keeps how far it came for the call that waits, under the effect's id.
fn remember(cx: &mut Cx<'_>, id: &EffectId, wanted: &Wanted) -> Result<(), OpError> {
    Ok(cx.tx.set_meta(&format!("result {id}"), wanted)?)
}

fn remembered(cx: &Cx<'_>, id: &EffectId) -> Result<Option<Wanted>, OpError> {
    Ok(cx.tx.meta(&format!("result {id}"))?)
}

/// The reply, once the terminal was started or is known to wait for a person.
pub fn answer(cx: &mut Cx<'_>, effect: &EffectId, then: &Value, wait: Wait) -> Result<Answer, OpError> {
    let wanted = match remembered(cx, effect)? {
        Some(wanted) => wanted,
        None => Wanted::read(then)?,
    };
    if let Some((code, message)) = wanted.error {
        let code = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        return Err(refuse(code.copied().unwrap_or(ErrorCode::WorktreeFailed), message)
            .next_step("orca worktree list --json")
            .into());
    }
    let worktree = wanted.worktree_id.as_deref().map(|id| cx.tx.get::<Worktree>(id)).transpose()?.flatten();
    let worktree = worktree.ok_or_else(|| OpError::Bug(String::from("the worktree is not there")))?;
    let setup = cx.tx.get::<Setup>(&worktree.id)?;
    let opened = wanted.terminal_id.as_ref().map(|id| caller::named_terminal(cx, id.as_str())).transpose()?;
    let is_under_way = match &opened {
        Some(terminal) => terminal.life == TerminalLife::Starting,
        None => setup.as_ref().is_some_and(|setup| setup.state == SetupState::Running),
    };
    if is_under_way {
        return Ok(Answer::Wait(wait));
    }
    let mut warnings = match &setup {
        Some(setup) => setup::warning(cx, setup)?.into_iter().collect(),
        None => Vec::new(),
    };
    if let Some(terminal) = opened.filter(|terminal| terminal.life == TerminalLife::Failed) {
        let why = terminal.title.unwrap_or_default();
        let what = wanted.agent.as_deref().unwrap_or("its shell");
        warnings.push(format!("The worktree stands, but {what} did not start: {why}"));
    }
    if let Some(terminal) = wanted.terminal_id.clone().filter(|_| wanted.is_activated) {
        cx.act(Act::Focus { terminal });
    }
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
        warnings,
        setup_state: setup.as_ref().map_or(SetupState::NotConfigured, |setup| setup.state),
        setup_terminal_handle: setup.and_then(|setup| setup.terminal_id),
        startup_terminal: wanted.terminal_id.clone().map(|handle| StartupTerminal { handle }),
        agent_terminal_handle: wanted.terminal_id.filter(|_| wanted.agent.is_some()),
    })
}
