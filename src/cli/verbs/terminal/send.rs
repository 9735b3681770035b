//! Typing into terminals.

use super::TerminalArg;
use crate::cli::args::RetryArg;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{SentInput, TerminalSend};
use clap::Args;

/// Types into a terminal. With --enter into an agent, text and Enter are one prompt, which waits while
/// a person's own text stands there.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal send --terminal term_0123456789ab --text \"y\" --enter --json"
)]
pub struct TerminalSendArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// The text.
    #[arg(long)]
    text: Option<String>,
    /// Press Enter after it.
    #[arg(long)]
    enter: bool,
    /// Press Ctrl-C after it.
    #[arg(long)]
    interrupt: bool,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalSendArgs {
    type Call = TerminalSend;
    fn call(&self) -> Result<TerminalSend, ErrorBody> {
        Ok(TerminalSend {
            terminal: self.terminal.terminal.clone(),
            text: self.text.clone(),
            is_enter: self.enter,
            is_interrupt: self.interrupt,
        })
    }
    fn text(&self, reply: &SentInput) -> String {
        format!("{} bytes accepted by {}", reply.send.bytes_written, reply.send.handle)
    }
    fn exit(&self, reply: &SentInput) -> u8 {
        u8::from(!reply.send.accepted)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
