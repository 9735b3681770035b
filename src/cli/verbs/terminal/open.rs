//! Opening terminals.

use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{Created, TerminalCreate};
use clap::Args;

/// Opens a terminal; it becomes a pane on the screen and takes nobody's focus.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal create --title tests --command \"cargo test\" --json")]
pub struct TerminalCreateArgs {
    /// Where: id:, path:, branch:, name: or current [default: current].
    #[arg(long, value_name = "SELECTOR")]
    worktree: Option<String>,
    /// A title.
    #[arg(long)]
    title: Option<String>,
    /// A line for your shell [default: an interactive shell].
    #[arg(long)]
    command: Option<String>,
    /// Accepted for scripts written for other builds; focus is the person's.
    #[arg(long, hide = true)]
    focus: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalCreateArgs {
    type Call = TerminalCreate;
    fn call(&self) -> Result<TerminalCreate, ErrorBody> {
        Ok(TerminalCreate {
            worktree: self.worktree.clone(),
            title: self.title.clone(),
            command: self.command.clone(),
            focus: self.focus,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Created) -> String {
        format!("created {}", reply.terminal.handle)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
