//! Removing work.

use crate::base::text::counted;
use crate::cli::args::RetryArg;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::reset::{Reset, WasReset};
use clap::{ArgGroup, Args};

/// Removes work for good: there is no way back. Repositories, worktrees, branches, terminals with what
/// runs in them, the event log and the receipts of requests stay.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("scope").required(true),
    after_help = "Example:\n  orca orchestration reset --messages --json"
)]
#[allow(clippy::struct_excessive_bools)] // the flags of the contract
pub struct ResetArgs {
    /// Runs, tasks, attempts, gates, questions and mail.
    #[arg(long, group = "scope")]
    all: bool,
    /// Tasks with their attempts, gates and questions; Runs and mail stay.
    #[arg(long, group = "scope")]
    tasks: bool,
    /// Mail and questions.
    #[arg(long, group = "scope")]
    messages: bool,
    /// Also while attempts are active: their processes go on and can report nothing any more.
    #[arg(long)]
    forget_active_attempts: bool,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for ResetArgs {
    type Call = Reset;
    fn call(&self) -> Result<Reset, ErrorBody> {
        let scope = match (self.all, self.tasks) {
            (true, _) => "all",
            (false, true) => "tasks",
            (false, false) => "messages",
        };
        Ok(Reset { scope: scope.to_owned(), forgets_active_attempts: self.forget_active_attempts })
    }
    fn text(&self, reply: &WasReset) -> String {
        let removed = &reply.removed;
        format!(
            "removed {}, {}, {}, {}, {}, {}",
            counted(removed.runs, "run"),
            counted(removed.tasks, "task"),
            counted(removed.dispatches, "attempt"),
            counted(removed.gates, "gate"),
            counted(removed.messages, "message"),
            counted(removed.questions, "question")
        )
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
