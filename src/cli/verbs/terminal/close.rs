//! Ending processes.

use super::TerminalArg;
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{Closed, StoppedTerminals, TerminalClose, TerminalStop};
use clap::Args;

/// Ends the process of a terminal. Its output stays readable; files are not touched.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal close --terminal term_0123456789ab --json")]
pub struct TerminalCloseArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// Also the panes that were split from it, or that it was split from.
    #[arg(long, conflicts_with = "worktree")]
    tab: bool,
    /// All terminals of this worktree; needs --all.
    #[arg(long, value_name = "SELECTOR", requires = "all", conflicts_with = "terminal")]
    worktree: Option<String>,
    /// Confirms --worktree.
    #[arg(long, requires = "worktree")]
    all: bool,
    /// Accepted for scripts written for other builds; only local exists.
    #[arg(long, hide = true, value_parser = ["local"])]
    host: Option<String>,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalCloseArgs {
    type Call = TerminalClose;
    fn call(&self) -> Result<TerminalClose, ErrorBody> {
        Ok(TerminalClose {
            terminal: self.terminal.terminal.clone(),
            is_tab: self.tab,
            worktree: self.worktree.clone(),
            is_all: self.all,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Closed) -> String {
        if reply.close.handles.is_empty() {
            return String::from("nothing was running there");
        }
        let is_sure = |handle| !reply.close.unconfirmed.contains(handle);
        let word = |handle| if is_sure(handle) { "closed" } else { "not seen to end:" };
        let lines = reply.close.handles.iter().map(|handle| format!("{} {handle}", word(handle)));
        lines.collect::<Vec<_>>().join("\n")
    }
    fn exit(&self, reply: &Closed) -> u8 {
        u8::from(!reply.close.unconfirmed.is_empty())
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Ends every terminal of a worktree; close --worktree SELECTOR --all says more.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal stop --worktree current --json")]
pub struct TerminalStopArgs {
    /// The worktree: id:, path:, branch:, name: or current.
    #[arg(long, value_name = "SELECTOR")]
    worktree: String,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalStopArgs {
    type Call = TerminalStop;
    fn call(&self) -> Result<TerminalStop, ErrorBody> {
        Ok(TerminalStop { worktree: self.worktree.clone() })
    }
    fn text(&self, reply: &StoppedTerminals) -> String {
        format!("{} stopped", reply.stopped)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
