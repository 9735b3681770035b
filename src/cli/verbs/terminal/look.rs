//! Looking at terminals and waiting for them.

use super::{TerminalArg, line};
use crate::base::text::{many_lines, one_line};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{
    OneTerminal, ReadTerminal, TerminalList, TerminalRead, TerminalShow, TerminalWait, Terminals, Waited,
};
use clap::Args;

/// Lists terminals, running ones first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal list --json")]
pub struct TerminalListArgs {
    /// Only of this worktree.
    #[arg(long, value_name = "SELECTOR")]
    worktree: Option<String>,
    /// The most to list, 1 to 1000 [default: 200].
    #[arg(long)]
    limit: Option<u32>,
    /// Also say which panes are in which tab and how they were split.
    #[arg(long)]
    include_visual_layouts: bool,
}

impl Verb for TerminalListArgs {
    type Call = TerminalList;
    fn call(&self) -> Result<TerminalList, ErrorBody> {
        Ok(TerminalList {
            worktree: self.worktree.clone(),
            limit: self.limit,
            has_visual_layouts: self.include_visual_layouts,
        })
    }
    fn text(&self, reply: &Terminals) -> String {
        if reply.terminals.is_empty() {
            return String::from("no terminals yet");
        }
        let mut lines: Vec<String> = reply.terminals.iter().map(line).collect();
        for layout in reply.visual_layouts.iter().flatten() {
            lines.push(format!("tab {}", layout.tab_id));
            lines.extend(layout.panes.iter().map(|pane| match (&pane.split_of, pane.direction) {
                (Some(of), Some(direction)) => format!("  {}  {direction} split of {of}", pane.handle),
                (_, _) => format!("  {}", pane.handle),
            }));
        }
        lines.join("\n")
    }
}

/// Shows one terminal.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal show --terminal term_0123456789ab --json")]
pub struct TerminalShowArgs {
    #[command(flatten)]
    terminal: TerminalArg,
}

impl Verb for TerminalShowArgs {
    type Call = TerminalShow;
    fn call(&self) -> Result<TerminalShow, ErrorBody> {
        Ok(TerminalShow { terminal: self.terminal.terminal.clone() })
    }
    fn text(&self, reply: &OneTerminal) -> String {
        let terminal = &reply.terminal;
        let wait = terminal.agent_wait.as_ref().and_then(Option::as_ref);
        let wait = wait.map(|wait| {
            let reason = wait.reason.as_deref().map(one_line).unwrap_or_default();
            format!("\nwaits for a person ({}): {reason}", wait.source)
        });
        let preview = many_lines(&terminal.summary.preview);
        format!("{}{}\n{preview}", line(&terminal.summary), wait.unwrap_or_default())
    }
}

/// Reads a terminal's output: the newest lines, or on from a cursor.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal read --terminal term_0123456789ab --limit 100 --json")]
pub struct TerminalReadArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// The first line wanted, counted from the start; nextCursor of the last page follows on.
    #[arg(long, value_name = "LINE")]
    cursor: Option<u64>,
    /// Lines, 1 to 10000 [default: 200].
    #[arg(long)]
    limit: Option<u32>,
    /// What is visible now.
    #[arg(long, conflicts_with = "cursor")]
    screen: bool,
}

impl Verb for TerminalReadArgs {
    type Call = TerminalRead;
    fn call(&self) -> Result<TerminalRead, ErrorBody> {
        Ok(TerminalRead {
            terminal: self.terminal.terminal.clone(),
            cursor: self.cursor,
            limit: self.limit,
            is_screen: self.screen,
        })
    }
    fn text(&self, reply: &ReadTerminal) -> String {
        reply.terminal.tail.iter().map(|line| many_lines(line)).collect::<Vec<_>>().join("\n")
    }
}

/// Waits until a terminal's process ends, or until its agent is idle.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal wait --terminal term_0123456789ab --for exit \\\n      --timeout-ms 600000 --json"
)]
pub struct TerminalWaitArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// What to wait for: the end of the process, or an idle agent.
    #[arg(long = "for", value_name = "CONDITION", value_parser = ["exit", "tui-idle"])]
    condition: String,
    /// The longest wait in milliseconds, 1 to 86400000 [default: 300000].
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
}

impl Verb for TerminalWaitArgs {
    type Call = TerminalWait;
    fn call(&self) -> Result<TerminalWait, ErrorBody> {
        Ok(TerminalWait {
            terminal: self.terminal.terminal.clone(),
            condition: self.condition.clone(),
            timeout_ms: self.timeout_ms,
        })
    }
    fn text(&self, reply: &Waited) -> String {
        let wait = &reply.wait;
        let cause = wait.exit_cause.as_deref().unwrap_or(&wait.status);
        let word = if wait.satisfied { "reached" } else { "not reached" };
        format!("{}  {} {word}  {cause}", wait.handle, wait.condition)
    }
    fn exit(&self, reply: &Waited) -> u8 {
        u8::from(!reply.wait.satisfied)
    }
}
