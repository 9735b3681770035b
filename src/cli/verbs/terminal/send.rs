//! Typing into terminals.

use super::TerminalArg;
use crate::base::text::one_line;
use crate::cli::args::{RetryArg, invalid};
use crate::cli::tone::warning;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{PromptReceipt, SentInput, TerminalSend};
use clap::Args;

/// Types into a terminal. With --enter into an agent, also one that a person started in a shell, text
/// and Enter are one prompt, which waits while a person's own text stands there.
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
    /// Watch so many seconds, 1 to 3600, for the agent's turn to begin; nothing is typed twice.
    #[arg(long, value_name = "SECONDS")]
    wait_submit: Option<u64>,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalSendArgs {
    type Call = TerminalSend;
    fn call(&self) -> Result<TerminalSend, ErrorBody> {
        let is_prompt = self.text.is_some() && self.enter && !self.interrupt;
        if self.retry.retry_request.is_some() && !is_prompt {
            return Err(invalid("--retry-request needs --text and --enter, without --interrupt."));
        }
        Ok(TerminalSend {
            terminal: self.terminal.terminal.clone(),
            text: self.text.clone(),
            is_enter: self.enter,
            is_interrupt: self.interrupt,
            wait_submit_s: self.wait_submit,
        })
    }
    fn text(&self, reply: &SentInput) -> String {
        let send = &reply.send;
        let has_begun = |prompt: &PromptReceipt| prompt.stages.iter().any(|stage| stage == "turn_started");
        let mut lines = vec![match (&send.refused_reason, &send.prompt) {
            (Some(reason), _) => format!("refused by {} ({reason})", send.handle),
            (None, Some(prompt)) if has_begun(prompt) => {
                format!("prompt accepted by {} ({}); its turn began", send.handle, prompt.provider)
            }
            (None, Some(prompt)) => format!("prompt accepted by {} ({})", send.handle, prompt.provider),
            (None, None) => format!("{} bytes accepted by {}", send.bytes_written, send.handle),
        }];
        lines.extend(reply.warnings.iter().map(|text| warning(&one_line(text))));
        lines.join("\n")
    }
    fn exit(&self, reply: &SentInput) -> u8 {
        u8::from(!reply.send.accepted)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
