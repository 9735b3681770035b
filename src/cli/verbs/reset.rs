//! Removing work, and the commands that are retired.

use crate::base::code::ErrorCode;
use crate::cli::args::RetryArg;
use crate::cli::verb::{self, Session, Verb};
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use crate::proto::reset::{Reset, WasReset};
use clap::{ArgGroup, Args};
use std::ffi::OsString;

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
            "removed {} run(s), {} task(s), {} attempt(s), {} gate(s), {} message(s), {} question(s)",
            removed.runs,
            removed.tasks,
            removed.dispatches,
            removed.gates,
            removed.messages,
            removed.questions
        )
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// A retired command: says what to do now and has no effects.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca skills get orchestration --full")]
pub struct RetiredArgs {
    /// Whatever older scripts say here.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<OsString>,
}

/// Answers a retired command. Exit code 1.
pub fn retired(args: &RetiredArgs, session: &mut Session<'_>) -> u8 {
    session.is_json |= args.words.iter().any(|word| word == "--json");
    let message = "This command is retired; nothing was done. A coordinator is an agent or a person that uses the other verbs.";
    let error = ErrorBody::new(ErrorCode::OrchestrationMigrationRequired, message)
        .with("reason", "command_retired")
        .with("nextCommandArgs", ["skills", "get", "orchestration", "--full"])
        .with("effectsApplied", false)
        .next_step("orca skills get orchestration --full");
    verb::fail(session, &Response::new("local", None, Err(error)))
}
