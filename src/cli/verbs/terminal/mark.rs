//! Marking terminals as looked at or not.

use super::TerminalArg;
use crate::cli::args::RetryArg;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{Marked, TerminalMark};
use clap::{ArgGroup, Args};

/// Marks a terminal as looked at, or as not: the screens list those whose attempt ended unseen.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("look").required(true).args(["seen", "unseen"])))]
#[command(after_help = "Example:\n  orca terminal mark --terminal term_0123456789ab --seen --json")]
pub struct TerminalMarkArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// It was looked at.
    #[arg(long)]
    seen: bool,
    /// It is to be looked at.
    #[arg(long)]
    unseen: bool,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalMarkArgs {
    type Call = TerminalMark;
    fn call(&self) -> Result<TerminalMark, ErrorBody> {
        Ok(TerminalMark { terminal: self.terminal.terminal.clone(), is_seen: self.seen })
    }
    fn text(&self, reply: &Marked) -> String {
        let how = if reply.mark.is_unseen { "not looked at" } else { "looked at" };
        format!("{} is marked as {how}", reply.mark.handle)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
