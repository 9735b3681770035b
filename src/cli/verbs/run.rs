//! Run verbs.

use crate::base::text::one_line;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::row::RunRow;
use crate::proto::run::{
    CurrentRun, OneRun, RunBound, RunCreate, RunCurrent, RunList, RunShow, RunUse, Runs,
};
use clap::Args;

fn line(run: &RunRow) -> String {
    let coordinator = run.coordinator_handle.as_deref().unwrap_or("nobody");
    format!("{}  {}  coordinator {}", run.id, one_line(&run.objective), coordinator)
}

/// Creates a Run: a namespace of tasks with one inbox, bound to this terminal.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-create --objective \"Fix the login race\" --json")]
pub struct RunCreateArgs {
    /// What the team should reach, in a sentence or two.
    #[arg(long)]
    objective: String,
    /// Act as this terminal handle instead of the one this runs in.
    #[arg(long)]
    from: Option<String>,
    /// Repeat an earlier request under its id instead of doing it twice.
    #[arg(long)]
    retry_request: Option<String>,
}

impl Verb for RunCreateArgs {
    type Call = RunCreate;
    fn call(&self) -> Result<RunCreate, ErrorBody> {
        Ok(RunCreate { objective: self.objective.clone(), from: self.from.clone() })
    }
    fn text(&self, reply: &RunBound) -> String {
        format!("created {}", line(&reply.run))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry_request.as_deref()
    }
}

/// Binds this terminal to an existing Run; whoever was bound before is fenced.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-use --id run_0123456789ab --json")]
pub struct RunUseArgs {
    /// The Run to bind.
    #[arg(long)]
    id: String,
    /// Act as this terminal handle instead of the one this runs in.
    #[arg(long)]
    from: Option<String>,
    /// Accepted for compatibility; only adopted Runs have it.
    #[arg(long)]
    takeover_legacy: bool,
    /// Repeat an earlier request under its id instead of doing it twice.
    #[arg(long)]
    retry_request: Option<String>,
}

impl Verb for RunUseArgs {
    type Call = RunUse;
    fn call(&self) -> Result<RunUse, ErrorBody> {
        Ok(RunUse { id: self.id.clone(), from: self.from.clone(), takeover_legacy: self.takeover_legacy })
    }
    fn text(&self, reply: &RunBound) -> String {
        format!("using {} (generation {})", line(&reply.run), reply.binding.consumer_generation)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry_request.as_deref()
    }
}

/// Shows the Run this terminal is bound to.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-current --json")]
pub struct RunCurrentArgs {
    /// Ask for this terminal handle instead of the one this runs in.
    #[arg(long)]
    from: Option<String>,
}

impl Verb for RunCurrentArgs {
    type Call = RunCurrent;
    fn call(&self) -> Result<RunCurrent, ErrorBody> {
        Ok(RunCurrent { from: self.from.clone() })
    }
    fn text(&self, reply: &CurrentRun) -> String {
        reply.run.as_ref().map_or_else(|| String::from("no Run is bound here"), line)
    }
}

/// Lists Runs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-list --limit 10 --json")]
pub struct RunListArgs {
    /// Runs in a page, 1 to 50 [default: 50].
    #[arg(long)]
    limit: Option<u32>,
    /// Where the last page ended, as it said under nextCursor.
    #[arg(long)]
    cursor: Option<String>,
}

impl Verb for RunListArgs {
    type Call = RunList;
    fn call(&self) -> Result<RunList, ErrorBody> {
        Ok(RunList { limit: self.limit, cursor: self.cursor.clone() })
    }
    fn text(&self, reply: &Runs) -> String {
        let mut lines: Vec<String> = reply.runs.iter().map(line).collect();
        if lines.is_empty() {
            lines.push(String::from("no Runs yet"));
        }
        lines.extend(reply.next_cursor.iter().map(|cursor| format!("more: --cursor {cursor}")));
        lines.join("\n")
    }
}

/// Shows one Run.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-show --id run_0123456789ab --json")]
pub struct RunShowArgs {
    /// The Run.
    #[arg(long)]
    id: String,
}

impl Verb for RunShowArgs {
    type Call = RunShow;
    fn call(&self) -> Result<RunShow, ErrorBody> {
        Ok(RunShow { id: self.id.clone() })
    }
    fn text(&self, reply: &OneRun) -> String {
        line(&reply.run)
    }
}
