//! Opening terminals.

use super::TerminalArg;
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{Created, TerminalCreate, TerminalSplit, WasSplit};
use clap::Args;

/// Opens a terminal; it becomes a pane on the screen and takes nobody's focus, unless --focus says so.
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
    /// Bring the attached screens to it.
    #[arg(long)]
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

/// Opens a shell or command beside a terminal: in its tab and worktree, sharing its place on the screen.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal split --terminal term_0123456789ab --direction vertical \\\n      --command \"cargo test\" --json"
)]
pub struct TerminalSplitArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// horizontal: left and right; vertical: top and bottom [default: horizontal].
    #[arg(long, value_name = "DIRECTION")]
    direction: Option<String>,
    /// A line for your shell [default: an interactive shell].
    #[arg(long)]
    command: Option<String>,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalSplitArgs {
    type Call = TerminalSplit;
    fn call(&self) -> Result<TerminalSplit, ErrorBody> {
        Ok(TerminalSplit {
            terminal: self.terminal.terminal.clone(),
            direction: self.direction.clone(),
            command: self.command.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &WasSplit) -> String {
        format!("created {} beside {}", reply.split.handle, reply.split.of)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
