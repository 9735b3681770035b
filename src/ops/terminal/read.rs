//! Looking at terminals: `list`, `show`, `read`, `export`. They change nothing.

use super::{activity, agent_in, is_alive, status_word, target};
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::cx::{Answer, Cx, LiveFacts, ReadWish};
use crate::ops::error::{OpError, invalid, limit_of, refuse};
use crate::ops::{reply, select};
use crate::proto::error::ErrorBody;
use crate::proto::event::LiveRow;
use crate::proto::row::TerminalRow;
use crate::proto::terminal::{
    AgentWait, ExportPart, ExportedTerminal, LayoutPane, OneTerminal, ReadPage, ReadTerminal, TerminalDetail,
    TerminalExport, TerminalList, TerminalRead, TerminalShow, TerminalSummary, Terminals, VisualLayout,
};
use std::collections::BTreeMap;

const DEFAULT_LINES: u32 = 200;
const MAX_LINES: u32 = 10_000;

/// `terminal list`: those with a process first, then newest first.
pub fn list(cx: &mut Cx<'_>, call: TerminalList) -> Result<Answer, OpError> {
    let worktree = call.worktree.as_deref().map(|selector| select::worktree(cx, selector)).transpose()?;
    let (index, value) = match &worktree {
        Some(worktree) => ("worktree", worktree.id.as_str()),
        None => ("all", ""),
    };
    let limit = limit_of(call.limit, 200, 1_000)?;
    // Those that run are few; of the others no more are loaded than are shown.
    let mut all = cx.tx.list_newest::<Terminal>("live", "", usize::MAX)?;
    all.retain(|terminal| {
        worktree.as_ref().is_none_or(|here| terminal.worktree_id.as_ref() == Some(&here.id))
    });
    let newest = cx.tx.list_newest::<Terminal>(index, value, limit + all.len())?;
    all.extend(newest.into_iter().filter(|terminal| !is_alive(terminal)));
    let visual_layouts = call.has_visual_layouts.then(|| layouts(&all));
    all.truncate(limit);
    let total_count = match &worktree {
        Some(_) => cx.tx.count::<Terminal>(index, value)?,
        None => cx.tx.n_rows::<Terminal>()?,
    };
    let terminals: Vec<TerminalSummary> =
        all.iter().map(|terminal| summary(cx, terminal)).collect::<Result<_, _>>()?;
    let truncated = terminals.len() < total_count;
    reply(&Terminals { terminals, visual_layouts, total_count, truncated })
}

/// The tabs of those that are alive, and their panes in the order they were opened.
fn layouts(newest_first: &[Terminal]) -> Vec<VisualLayout> {
    let mut tabs: BTreeMap<&str, Vec<LayoutPane>> = BTreeMap::new();
    for terminal in newest_first.iter().rev().filter(|terminal| is_alive(terminal)) {
        tabs.entry(&terminal.tab_id).or_default().push(LayoutPane {
            handle: terminal.id.clone(),
            leaf_id: terminal.pane_key.leaf().unwrap_or_default().to_owned(),
            split_of: terminal.split.as_ref().map(|split| split.of.clone()),
            direction: terminal.split.as_ref().map(|split| split.direction),
        });
    }
    tabs.into_iter().map(|(tab, panes)| VisualLayout { tab_id: tab.to_owned(), panes }).collect()
}

fn summary(cx: &Cx<'_>, terminal: &Terminal) -> Result<TerminalSummary, OpError> {
    let mut live = cx.world.live(&terminal.id);
    if let Some(live) = &mut live {
        live.activity = activity(cx, terminal, live)?;
    }
    let screen = cx.world.read_output(&terminal.id, &ReadWish { cursor: None, limit: 5, is_screen: true });
    let preview = screen.map(|page| page.lines).unwrap_or_default();
    let preview: Vec<&str> =
        preview.iter().map(String::as_str).filter(|line| !line.trim().is_empty()).collect();
    Ok(TerminalSummary {
        row: TerminalRow::from(terminal),
        leaf_id: terminal.pane_key.leaf().unwrap_or_default().to_owned(),
        pty_id: is_alive(terminal).then(|| terminal.incarnation.to_string()),
        incarnation_id: terminal.incarnation.to_string(),
        last_output_at: live.as_ref().and_then(|live| live.last_output_at),
        agent_identity: agent_in(cx, terminal),
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
            agent: live.agent,
        }),
    })
}

/// `terminal show`.
pub fn show(cx: &mut Cx<'_>, call: TerminalShow) -> Result<Answer, OpError> {
    let terminal = target(cx, call.terminal.as_deref())?;
    let live = cx.world.live(&terminal.id).filter(|_| is_alive(&terminal));
    let detail = TerminalDetail {
        summary: summary(cx, &terminal)?,
        pane_runtime_id: terminal.pane_key.leaf().unwrap_or_default().to_owned(),
        renderer_graph_epoch: cx.runtime_id.to_owned(),
        agent_wait: live.and_then(|live| agent_wait(&live)),
    };
    reply(&OneTerminal { terminal: detail })
}

/// Whether an agent waits for a person. None: nothing shows what it does.
fn agent_wait(live: &LiveFacts) -> Option<Option<AgentWait>> {
    let source = wait_source(live)?;
    Some((live.activity == "blocked").then(|| AgentWait {
        source: source.to_owned(),
        reason: live.activity_detail.clone(),
        since: Some(live.activity_since),
    }))
}

/// The word of the contract for what an agent's state is known from; None where nothing shows it.
pub fn wait_source(live: &LiveFacts) -> Option<&'static str> {
    match live.source.as_str() {
        "program" | "hook" => Some("hook"),
        "title" | "progress" => Some("title"),
        "screen" => Some("prompt-text"),
        _ => None,
    }
}

/// `terminal read`.
pub fn read(cx: &mut Cx<'_>, call: TerminalRead) -> Result<Answer, OpError> {
    if call.is_screen && call.cursor.is_some() {
        return Err(invalid("--screen shows what is visible now; it takes no --cursor."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    let page = read_page(cx, &terminal, call.cursor, call.limit, call.is_screen)?;
    if call.cursor.is_some_and(|cursor| cursor > page.latest_cursor) {
        let message = format!("The output of {} ends before line {}.", terminal.id, page.latest_cursor);
        return Err(refuse(ErrorCode::CursorInvalid, message)
            .next_step(format!("orca terminal read --terminal {} --json", terminal.id))
            .into());
    }
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
    let limit = limit_of(limit, DEFAULT_LINES, MAX_LINES)?;
    let page = cx.world.read_output(&terminal.id, &ReadWish { cursor, limit, is_screen });
    let page = page.ok_or_else(|| nothing_left(terminal))?;
    let is_screen_gone = is_screen && page.is_archived;
    Ok(ReadPage {
        handle: terminal.id.clone(),
        limited: page.is_truncated && page.lines.len() >= limit,
        status: status_word(terminal).to_owned(),
        returned_line_count: page.lines.len(),
        tail: page.lines,
        truncated: page.is_truncated || cursor.is_some_and(|cursor| cursor < page.oldest),
        oldest_cursor: page.oldest,
        next_cursor: (!is_screen).then_some(page.next),
        latest_cursor: page.latest,
        source: String::from(match (is_screen, is_screen_gone) {
            (true, true) => "screen-unavailable",
            (true, false) => "screen",
            (false, _) => "stream",
        }),
    })
}

fn nothing_left(terminal: &Terminal) -> ErrorBody {
    let message = match terminal.life {
        TerminalLife::Starting => format!("{} has not started yet.", terminal.id),
        TerminalLife::Failed => format!("{} never started.", terminal.id),
        TerminalLife::Running | TerminalLife::Exited | TerminalLife::Closed | TerminalLife::Lost => {
            format!("Nothing of the output of {} is left.", terminal.id)
        }
    };
    refuse(ErrorCode::TerminalGone, message).next_step("orca terminal list --json")
}

/// `terminal export`: a part of the output for another program.
pub fn export(cx: &mut Cx<'_>, call: TerminalExport) -> Result<Answer, OpError> {
    let terminal = target(cx, call.terminal.as_deref())?;
    let piece = cx.world.export(&terminal.id, call.format, call.cursor.unwrap_or(0));
    let piece = piece.ok_or_else(|| nothing_left(&terminal))?;
    reply(&ExportedTerminal {
        export: ExportPart {
            handle: terminal.id,
            format: call.format,
            source: piece.source.to_owned(),
            text: piece.text,
            next_cursor: piece.next,
            output: None,
        },
    })
}
