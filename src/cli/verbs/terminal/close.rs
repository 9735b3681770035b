//! Ending processes.

use super::TerminalArg;
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{Closed, TerminalClose};
use clap::Args;

/// Ends the process of a terminal. Its output stays readable; files are not touched.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal close --terminal term_0123456789ab --json")]
pub struct TerminalCloseArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// All terminals of this worktree; needs --all.
    #[arg(long, value_name = "SELECTOR", requires = "all", conflicts_with = "terminal")]
    worktree: Option<String>,
    /// Confirms --worktree.
    #[arg(long, requires = "worktree")]
    all: bool,
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
