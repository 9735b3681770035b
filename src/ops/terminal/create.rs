//! Opening terminals: the row with its environment, `terminal create` and `split`.

use super::name::safe_title;
use super::{check_shown, run_of, target};
use crate::base::code::ErrorCode;
use crate::base::id::{IncarnationId, PaneKey, RunId, TerminalId};
use crate::base::size::TermSize;
use crate::model::effect::Effect;
use crate::model::terminal::{LaunchRecord, Split, SplitDirection, Terminal, TerminalLife};
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Act, Answer, Cx, Wait, WaitOn};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::{reply, select};
use crate::proto::terminal::{
    Created, CreatedTerminal, SplitTerminal, TerminalCreate, TerminalSplit, WasSplit,
};
use serde_json::{Value, json};

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

impl NewTerminal {
    /// An interactive shell of nobody's Run.
    pub fn shell(worktree: Worktree, title: String) -> Self {
        Self {
            worktree,
            title: Some(title),
            agent: None,
            argv: Vec::new(),
            env: Vec::new(),
            unset_env: Vec::new(),
            run_id: None,
        }
    }
}

/// Adds the row of a terminal in the tab of its Run; its process starts with the effect that the caller requests.
///
/// `id` comes first, because the argv may name it.
pub fn add(cx: &mut Cx<'_>, id: TerminalId, new: NewTerminal) -> Result<Terminal, OpError> {
    let tab_id = match &new.run_id {
        Some(run) => run.to_string(),
        None => String::from("main"),
    };
    add_in(cx, id, new, tab_id, None)
}

fn add_in(
    cx: &mut Cx<'_>,
    id: TerminalId,
    new: NewTerminal,
    tab_id: String,
    split: Option<Split>,
) -> Result<Terminal, OpError> {
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
        title: new.title.as_deref().and_then(safe_title),
        pane_title: None,
        color: None,
        split,
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
        closed_by: None,
        run_id: new.run_id,
        dispatch_id: None,
        created_at: cx.now,
        is_user_typed: false,
        is_unseen: false,
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
pub(super) fn uuid_like(cx: &mut Cx<'_>) -> String {
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
    let argv = argv_of(cx, call.command.as_deref())?;
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
    start(cx, terminal, "terminal.create", call.focus)
}

/// The shell with a command line, or alone.
pub fn argv_of(cx: &Cx<'_>, command: Option<&str>) -> Result<Vec<String>, OpError> {
    if command.is_some_and(|line| line.len() > 128 << 10 || line.contains('\0')) {
        return Err(invalid("--command must be at most 128 KiB, without NUL characters."));
    }
    Ok(match command.map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => vec![cx.rules.shell.clone(), String::from("-c"), line.to_owned()],
        None => Vec::new(),
    })
}

fn start(cx: &mut Cx<'_>, terminal: Terminal, verb: &str, has_focus: bool) -> Result<Answer, OpError> {
    let then = json!({ "verb": verb, "terminal": terminal.id, "focus": has_focus });
    let effect = cx.request(Effect::SpawnTerminal { terminal_id: terminal.id }, None, Some(then.clone()))?;
    Ok(Answer::Wait(Wait { on: WaitOn::Effect { effect, then }, deadline: None, began: cx.now }))
}

/// `terminal split`: a new terminal beside another one, in its tab and worktree. Nobody's focus moves.
pub fn split(cx: &mut Cx<'_>, call: TerminalSplit) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let direction = match call.direction.as_deref() {
        None => SplitDirection::Horizontal,
        Some(word) => SplitDirection::parse(word).ok_or_else(|| {
            invalid("--direction must be horizontal (left and right) or vertical (top and bottom).")
        })?,
    };
    let beside = target(cx, call.terminal.as_deref())?;
    check_shown(&beside)?;
    let known = beside.worktree_id.as_deref().map(|id| cx.tx.get::<Worktree>(id)).transpose()?.flatten();
    let worktree = match known {
        Some(worktree) => worktree,
        None => own_worktree(cx, &caller)?,
    };
    let argv = argv_of(cx, call.command.as_deref())?;
    let new = NewTerminal {
        worktree,
        title: None,
        agent: None,
        argv,
        env: Vec::new(),
        unset_env: Vec::new(),
        run_id: run_of(cx, &beside)?,
    };
    let id = TerminalId::new(cx.ids);
    let split = Split { of: beside.id, direction };
    let terminal = add_in(cx, id, new, beside.tab_id, Some(split))?;
    start(cx, terminal, "terminal.split", false)
}

/// The worktree of the caller's terminal, else the one around its directory.
pub fn own_worktree(cx: &mut Cx<'_>, caller: &Caller) -> Result<Worktree, OpError> {
    let known = caller.terminal.as_ref().and_then(|terminal| terminal.worktree_id.clone());
    if let Some(worktree) = known.map(|id| cx.tx.get::<Worktree>(&id)).transpose()?.flatten() {
        return Ok(worktree);
    }
    select::current(cx)
}

/// The reply of a `terminal create` or `split` whose process was started, or why it was not.
pub fn created(cx: &mut Cx<'_>, then: &Value) -> Result<Answer, OpError> {
    let terminal = caller::named_terminal(cx, then["terminal"].as_str().unwrap_or_default())?;
    if terminal.life == TerminalLife::Failed {
        return Err(start_failed(&terminal).into());
    }
    let leaf = terminal.pane_key.leaf().unwrap_or_default().to_owned();
    if let Some(split) = terminal.split {
        return reply(&WasSplit {
            split: SplitTerminal {
                handle: terminal.id,
                tab_id: terminal.tab_id,
                pane_runtime_id: leaf,
                pane_key: terminal.pane_key,
                of: split.of,
                direction: split.direction,
            },
        });
    }
    let has_focus = then["focus"] == true;
    if has_focus {
        cx.act(Act::Focus { terminal: terminal.id.clone() });
    }
    let surface = if has_focus && cx.world.has_screen() { "visible" } else { "background" };
    reply(&Created {
        terminal: CreatedTerminal {
            handle: terminal.id,
            tab_id: terminal.tab_id,
            pane_key: terminal.pane_key,
            pty_id: terminal.incarnation.to_string(),
            worktree_id: terminal.worktree_id,
            title: terminal.title,
            surface: surface.to_owned(),
        },
    })
}

fn start_failed(terminal: &Terminal) -> crate::proto::error::ErrorBody {
    let why = terminal.title.as_deref().unwrap_or("the process could not be started");
    refuse(ErrorCode::RuntimeError, format!("The terminal did not start: {why}."))
        .next_step("orca terminal list --json")
}
