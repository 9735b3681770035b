//! Opening terminals: the row with its environment, and `terminal create`.

use crate::base::code::ErrorCode;
use crate::base::id::{IncarnationId, PaneKey, RunId, TerminalId};
use crate::base::size::TermSize;
use crate::base::text;
use crate::model::effect::Effect;
use crate::model::terminal::{LaunchRecord, Terminal, TerminalLife};
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{reply, select};
use crate::proto::terminal::{Created, CreatedTerminal, TerminalCreate};
use serde_json::json;

/// What a new terminal is to be.
pub struct NewTerminal {
    pub worktree: Worktree,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub unset_env: Vec<String>,
    pub run_id: Option<RunId>,
}

/// Adds the row of a terminal; its process starts with the effect that the caller requests.
///
/// `id` comes first, because the argv may name it.
pub fn add(cx: &mut Cx<'_>, id: TerminalId, new: NewTerminal) -> Result<Terminal, OpError> {
    let tab_id = match &new.run_id {
        Some(run) => run.to_string(),
        None => String::from("main"),
    };
    let leaf = uuid_like(cx);
    let pane_key = PaneKey::new(&tab_id, &leaf);
    let mut env = cx.rules.terminal_env.clone();
    env.extend(own_env(cx, &id, &pane_key, &tab_id, &new));
    env.extend(new.env);
    let terminal = Terminal {
        pane_key,
        tab_id,
        worktree_id: Some(new.worktree.id),
        worktree_path: new.worktree.path.clone(),
        branch: new.worktree.branch,
        title: new
            .title
            .map(|title| text::cut_chars(&text::one_line(&title), 120))
            .filter(|title| !title.is_empty()),
        agent: new.agent,
        launch: LaunchRecord {
            argv: if new.argv.is_empty() { vec![cx.rules.shell.clone()] } else { new.argv },
            env,
            unset_env: new.unset_env,
            cwd: new.worktree.path,
            brief_file: None,
        },
        size: TermSize::default(),
        life: TerminalLife::Starting,
        incarnation: IncarnationId::new(cx.ids),
        pid: None,
        end: None,
        run_id: new.run_id,
        dispatch_id: None,
        created_at: cx.now,
        is_user_typed: false,
        id,
    };
    cx.tx.put(&terminal)?;
    Ok(terminal)
}

/// The variables of contract 1.4.
fn own_env(
    cx: &Cx<'_>,
    id: &TerminalId,
    pane: &PaneKey,
    tab: &str,
    new: &NewTerminal,
) -> Vec<(String, String)> {
    let workspace = format!("worktree:{}", new.worktree.id);
    let mut env: Vec<(&str, String)> = vec![
        ("ORCA_TERMINAL_HANDLE", id.to_string()),
        ("ORCA_PANE", pane.to_string()),
        ("ORCA_PANE_KEY", pane.to_string()),
        ("ORCA_TAB_ID", tab.to_owned()),
        ("ORCA_WORKTREE_ID", new.worktree.id.clone()),
        ("ORCA_WORKSPACE_ID", workspace),
        ("ORCA_HOME", cx.rules.state_dir.clone()),
        ("ORCA_USER_DATA_PATH", cx.rules.state_dir.clone()),
        ("ORCA_CLI_COMMAND", String::from("orca")),
    ];
    if let Some(run) = &new.run_id {
        env.push(("ORCA_RUN_ID", run.to_string()));
    }
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A version-4 UUID from the ids' source.
fn uuid_like(cx: &mut Cx<'_>) -> String {
    let (a, b) = (cx.ids.next_bits(), cx.ids.next_bits());
    let bytes = ((u128::from(a) << 64) | u128::from(b)).to_be_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// `terminal create`.
pub fn create(cx: &mut Cx<'_>, call: TerminalCreate) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let worktree = match call.worktree.as_deref() {
        Some(selector) => select::worktree(cx, selector)?,
        None => own_worktree(cx, &caller)?,
    };
    if call.command.as_ref().is_some_and(|line| line.len() > 128 << 10 || line.contains('\0')) {
        return Err(invalid("--command must be at most 128 KiB, without NUL characters."));
    }
    let argv = match call.command.as_deref().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => vec![cx.rules.shell.clone(), String::from("-c"), line.to_owned()],
        None => Vec::new(),
    };
    let run_id = caller::bound_run(cx, &caller)?.map(|run| run.id).filter(|_| caller.terminal.is_some());
    let id = TerminalId::new(cx.ids);
    let new = NewTerminal {
        worktree,
        title: call.title,
        agent: None,
        argv,
        env: Vec::new(),
        unset_env: Vec::new(),
        run_id,
    };
    let terminal = add(cx, id, new)?;
    let then = json!({ "verb": "terminal.create", "terminal": terminal.id });
    let effect = cx.request(Effect::SpawnTerminal { terminal_id: terminal.id }, None, Some(then.clone()))?;
    Ok(Answer::Wait(Wait { on: WaitOn::Effect { effect, then }, deadline: None, began: cx.now }))
}

/// The worktree of the caller's terminal, else the one around its directory.
pub fn own_worktree(cx: &mut Cx<'_>, caller: &Caller) -> Result<Worktree, OpError> {
    let known = caller.terminal.as_ref().and_then(|terminal| terminal.worktree_id.clone());
    if let Some(worktree) = known.map(|id| cx.tx.get::<Worktree>(&id)).transpose()?.flatten() {
        return Ok(worktree);
    }
    select::current(cx)
}

/// The reply of a `terminal create` whose process was started, or why it was not.
pub fn created(cx: &Cx<'_>, id: &TerminalId) -> Result<Answer, OpError> {
    let terminal = caller::named_terminal(cx, id.as_str())?;
    if terminal.life == TerminalLife::Failed {
        return Err(start_failed(&terminal).into());
    }
    reply(&Created {
        terminal: CreatedTerminal {
            handle: terminal.id,
            tab_id: terminal.tab_id,
            pane_key: terminal.pane_key,
            worktree_id: terminal.worktree_id,
            title: terminal.title,
            surface: String::from("background"),
        },
    })
}

fn start_failed(terminal: &Terminal) -> crate::proto::error::ErrorBody {
    let why = terminal.title.as_deref().unwrap_or("the process could not be started");
    refuse(ErrorCode::RuntimeError, format!("The terminal did not start: {why}."))
        .next_step("orca terminal list --json")
}
