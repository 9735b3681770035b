//! Terminal verbs: create, list, show, read, send, wait, close. None of them touches a file.

use super::caller::{self, Caller};
use super::cx::{Act, Answer, Cx, ReadWish, Wait, WaitOn, Wake};
use super::error::{OpError, invalid, refuse};
use super::{reply, select};
use crate::base::code::ErrorCode;
use crate::base::id::{IncarnationId, PaneKey, RunId, TerminalId};
use crate::base::size::TermSize;
use crate::base::text;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::terminal::{LaunchRecord, Terminal, TerminalLife};
use crate::model::worktree::Worktree;
use crate::proto::event::LiveRow;
use crate::proto::row::TerminalRow;
use crate::proto::terminal::{
    CloseReport, Closed, Created, CreatedTerminal, OneTerminal, ReadPage, ReadTerminal, SendReceipt,
    SentInput, TerminalClose, TerminalCreate, TerminalList, TerminalRead, TerminalSend, TerminalShow,
    TerminalSummary, TerminalWait, Terminals, WaitReport, Waited,
};
use serde_json::json;

const MAX_TEXT_BYTES: usize = 10 << 20;
const DEFAULT_LINES: u32 = 200;
const MAX_LINES: u32 = 10_000;
/// How long a close may take before it is reported as not confirmed.
pub const CLOSE_PATIENCE_MS: u64 = 20_000;
const DEFAULT_WAIT_MS: u64 = 300_000;

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

/// `terminal list`: those with a process first, then newest first.
pub fn list(cx: &mut Cx<'_>, call: TerminalList) -> Result<Answer, OpError> {
    let mut all = match call.worktree.as_deref() {
        Some(selector) => {
            let worktree = select::worktree(cx, selector)?;
            cx.tx.list_newest::<Terminal>("worktree", &worktree.id, usize::MAX)?
        }
        None => cx.tx.list_newest::<Terminal>("all", "", usize::MAX)?,
    };
    all.sort_by_key(|terminal| !is_alive(terminal));
    let total_count = all.len();
    all.truncate(call.limit.unwrap_or(200).clamp(1, 1_000) as usize);
    let terminals: Vec<TerminalSummary> = all.iter().map(|terminal| summary(cx, terminal)).collect();
    reply(&Terminals { truncated: terminals.len() < total_count, total_count, terminals })
}

/// A process runs in it, or is about to.
pub fn is_alive(terminal: &Terminal) -> bool {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => true,
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed | TerminalLife::Lost => false,
    }
}

fn summary(cx: &Cx<'_>, terminal: &Terminal) -> TerminalSummary {
    let live = cx.world.live(&terminal.id);
    let screen = cx.world.read_output(&terminal.id, &ReadWish { cursor: None, limit: 5, is_screen: true });
    let preview = screen.map(|page| page.lines).unwrap_or_default();
    let preview: Vec<&str> =
        preview.iter().map(String::as_str).filter(|line| !line.trim().is_empty()).collect();
    TerminalSummary {
        row: TerminalRow::from(terminal),
        leaf_id: terminal.pane_key.leaf().unwrap_or_default().to_owned(),
        incarnation_id: terminal.incarnation.to_string(),
        connected: is_alive(terminal),
        writable: terminal.life == TerminalLife::Running,
        preview: text::cut_chars(&preview.join("\n"), 1_000),
        exit_cause: terminal.end.as_ref().map(ToString::to_string),
        live: live.map(|live| LiveRow {
            terminal: terminal.id.clone(),
            title: live.title,
            activity: live.activity,
            activity_detail: live.activity_detail,
            activity_since: live.activity_since,
            last_output_at: live.last_output_at,
            is_input_held: false,
        }),
    }
}

/// The terminal that a verb means: the named one, else the one it runs in.
fn target(cx: &mut Cx<'_>, flag: Option<&str>) -> Result<Terminal, OpError> {
    if let Some(handle) = flag {
        return caller::named_terminal(cx, handle);
    }
    let caller = caller::resolve(cx, None, None)?;
    caller.terminal.ok_or_else(|| {
        refuse(ErrorCode::NoActiveTerminal, "No terminal was named, and this does not run in one.")
            .next_step("orca terminal list --json")
            .into()
    })
}

/// `terminal show`.
pub fn show(cx: &mut Cx<'_>, call: TerminalShow) -> Result<Answer, OpError> {
    let terminal = target(cx, call.terminal.as_deref())?;
    reply(&OneTerminal { terminal: summary(cx, &terminal) })
}

/// `terminal read`.
pub fn read(cx: &mut Cx<'_>, call: TerminalRead) -> Result<Answer, OpError> {
    if call.is_screen && call.cursor.is_some() {
        return Err(invalid("--screen shows what is visible now; it takes no --cursor."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    let page = read_page(cx, &terminal, call.cursor, call.limit, call.is_screen)?;
    reply(&ReadTerminal { terminal: page })
}

/// A page of a terminal's output, live or archived.
pub fn read_page(
    cx: &Cx<'_>,
    terminal: &Terminal,
    cursor: Option<u64>,
    limit: Option<u32>,
    is_screen: bool,
) -> Result<ReadPage, OpError> {
    let limit = limit.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES) as usize;
    let page = cx.world.read_output(&terminal.id, &ReadWish { cursor, limit, is_screen });
    let page = page.ok_or_else(|| {
        let message = match terminal.life {
            TerminalLife::Starting => format!("{} has not started yet.", terminal.id),
            TerminalLife::Failed => format!("{} never started.", terminal.id),
            TerminalLife::Running | TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Lost => {
                format!("Nothing of the output of {} is left.", terminal.id)
            }
        };
        refuse(ErrorCode::TerminalGone, message).next_step("orca terminal list --json")
    })?;
    Ok(ReadPage {
        handle: terminal.id.clone(),
        status: status_word(terminal).to_owned(),
        returned_line_count: page.lines.len(),
        tail: page.lines,
        truncated: page.is_truncated,
        oldest_cursor: page.oldest,
        next_cursor: (!is_screen).then_some(page.next),
        latest_cursor: page.latest,
        source: String::from(if is_screen { "screen" } else { "stream" }),
    })
}

/// `running`, `exited` or `unknown`.
pub fn status_word(terminal: &Terminal) -> &'static str {
    match terminal.life {
        TerminalLife::Starting | TerminalLife::Running => "running",
        TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Failed => "exited",
        TerminalLife::Lost => "unknown",
    }
}

/// `terminal send`: raw text, or with `--enter` into an agent one prompt with its Enter.
pub fn send(cx: &mut Cx<'_>, call: TerminalSend) -> Result<Answer, OpError> {
    let typed = call.text.clone().unwrap_or_default();
    if typed.is_empty() && !call.is_enter && !call.is_interrupt {
        return Err(invalid("Nothing to send: give --text, --enter or --interrupt."));
    }
    if typed.len() > MAX_TEXT_BYTES {
        return Err(invalid("--text is over 10 MiB; put the long text into a file and name it."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    if !is_alive(&terminal) {
        return Err(refuse(
            ErrorCode::TerminalGone,
            format!("{} has ended; nothing reads there.", terminal.id),
        )
        .next_step("orca terminal list --json")
        .into());
    }
    let is_prompt = call.is_enter && !call.is_interrupt && !typed.is_empty() && terminal.agent.is_some();
    let bytes_written = if is_prompt {
        let n = typed.len() + 1;
        cx.act(Act::Prompt { terminal: terminal.id.clone(), text: typed });
        n
    } else {
        let mut bytes = typed.into_bytes();
        if call.is_enter {
            bytes.push(b'\r');
        }
        if call.is_interrupt {
            bytes.push(3);
        }
        let n = bytes.len();
        cx.act(Act::Type { terminal: terminal.id.clone(), bytes });
        n
    };
    reply(&SentInput {
        send: SendReceipt {
            handle: terminal.id,
            accepted: true,
            bytes_written,
            mode: String::from(if is_prompt { "prompt" } else { "text" }),
        },
    })
}

/// `terminal wait`.
pub fn wait(cx: &mut Cx<'_>, call: TerminalWait) -> Result<Answer, OpError> {
    if !matches!(call.condition.as_str(), "exit" | "tui-idle") {
        return Err(invalid("--for must be exit or tui-idle."));
    }
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_WAIT_MS);
    if timeout_ms == 0 || timeout_ms > 86_400_000 {
        return Err(invalid("--timeout-ms must be between 1 and 86400000."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    let on = WaitOn::Terminal { terminal: terminal.id, condition: call.condition };
    resume(cx, Wait { on, deadline: Some(cx.now.plus_ms(timeout_ms)), began: cx.now }, Wake::Changed)
}

/// A waiting `terminal wait` is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Terminal { terminal, condition } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a terminal")));
    };
    let terminal = caller::named_terminal(cx, terminal.as_str())?;
    let is_over = !is_alive(&terminal);
    let live = cx.world.live(&terminal.id);
    let is_idle = live.as_ref().is_some_and(|live| matches!(live.activity.as_str(), "idle" | "done"));
    let blocked = live.filter(|live| live.activity == "blocked");
    let is_satisfied = if condition == "exit" { is_over } else { is_idle };
    let is_final =
        is_satisfied || is_over || wake == Wake::Deadline || (condition != "exit" && blocked.is_some());
    if !is_final {
        return Ok(Answer::Wait(wait));
    }
    reply(&Waited {
        wait: WaitReport {
            handle: terminal.id.clone(),
            condition: condition.clone(),
            satisfied: is_satisfied,
            status: status_word(&terminal).to_owned(),
            exit_code: terminal.end.as_ref().and_then(|end| end.exit_code),
            exit_cause: terminal.end.as_ref().map(ToString::to_string),
            blocked_reason: blocked
                .map(|live| live.activity_detail.unwrap_or_else(|| String::from("agent-approval-prompt"))),
        },
    })
}

/// `terminal close`: ends the process of one terminal, or of all in a worktree. An attempt that runs
/// there ends as lost, like any other end of a process.
pub fn close(cx: &mut Cx<'_>, call: TerminalClose) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, call.from.as_deref(), None)?;
    let terminals = match (call.terminal.as_deref(), call.worktree.as_deref(), call.is_all) {
        (Some(handle), None, false) => vec![caller::named_terminal(cx, handle)?],
        (None, Some(selector), true) => {
            let worktree = select::worktree(cx, selector)?;
            cx.tx.list::<Terminal>("worktree", &worktree.id, usize::MAX)?
        }
        (None, None, false) => vec![caller.terminal.ok_or_else(|| {
            refuse(ErrorCode::NoActiveTerminal, "No terminal was named, and this does not run in one.")
                .next_step("orca terminal list --json")
        })?],
        _ => return Err(invalid("Give --terminal, or --worktree together with --all.")),
    };
    let mut handles = Vec::new();
    let mut effects = Vec::new();
    for terminal in terminals.into_iter().filter(is_alive) {
        handles.push(terminal.id.clone());
        effects.push(cx.request(Effect::CloseTerminal { terminal_id: terminal.id }, None, None)?);
    }
    let Some(effect) = effects.last().cloned() else {
        return reply(&Closed { close: CloseReport::default() });
    };
    let then = json!({ "verb": "terminal.close", "handles": handles, "effects": effects });
    let on = WaitOn::Effect { effect, then };
    Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(CLOSE_PATIENCE_MS)), began: cx.now }))
}

/// A waiting `terminal close` is asked again: it answers once every process is known to be gone, or
/// says at its deadline which ones are not.
pub fn closed(cx: &Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Effect { then, .. } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a close")));
    };
    let names = |field: &str| -> Vec<String> {
        let found = then[field].as_array().into_iter().flatten();
        found.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for effect in names("effects") {
        if wake == Wake::Changed && cx.tx.get::<OpenEffect>(&effect)?.is_some() {
            return Ok(Answer::Wait(wait));
        }
    }
    let mut close = CloseReport::default();
    for handle in names("handles") {
        let terminal = caller::named_terminal(cx, &handle)?;
        if terminal.life != TerminalLife::Closed {
            close.unconfirmed.push(terminal.id.clone());
        }
        close.handles.push(terminal.id);
    }
    close.handle = close.handles.first().cloned();
    close.pty_killed = close.unconfirmed.is_empty();
    reply(&Closed { close })
}
