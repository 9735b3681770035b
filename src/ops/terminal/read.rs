//! Looking at terminals: `list`, `show`, `read`. They change nothing.

use super::{is_alive, status_word, target};
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::cx::{Answer, Cx, ReadWish};
use crate::ops::error::{OpError, invalid, limit_of, refuse};
use crate::ops::{reply, select};
use crate::proto::event::LiveRow;
use crate::proto::row::TerminalRow;
use crate::proto::terminal::{
    OneTerminal, ReadPage, ReadTerminal, TerminalList, TerminalRead, TerminalShow, TerminalSummary, Terminals,
};

const DEFAULT_LINES: u32 = 200;
const MAX_LINES: u32 = 10_000;

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
    all.truncate(limit_of(call.limit, 200, 1_000)?);
    let terminals: Vec<TerminalSummary> = all.iter().map(|terminal| summary(cx, terminal)).collect();
    reply(&Terminals { truncated: terminals.len() < total_count, total_count, terminals })
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
            agent: live.agent,
        }),
    }
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
    let limit = limit_of(limit, DEFAULT_LINES, MAX_LINES)?;
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
