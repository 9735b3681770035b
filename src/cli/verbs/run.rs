//! Run verbs.

use crate::base::text::{duration, one_line};
use crate::cli::args::{FromArg, LimitArgs, RetryArg, RunArg};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::row::RunRow;
use crate::proto::run::{
    CurrentRun, OneRun, RunBound, RunCreate, RunCurrent, RunList, RunSet, RunShow, RunUse, Runs,
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
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RunCreateArgs {
    type Call = RunCreate;
    fn call(&self) -> Result<RunCreate, ErrorBody> {
        Ok(RunCreate {
            objective: self.objective.clone(),
            from: self.from.from.clone(),
            limits: self.limits.wishes()?,
        })
    }
    fn text(&self, reply: &RunBound) -> String {
        format!("created {}", line(&reply.run))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Binds this terminal to an existing Run; whoever was bound before is fenced.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-use --id run_0123456789ab --json")]
pub struct RunUseArgs {
    /// The Run to bind.
    #[arg(long)]
    id: String,
    #[command(flatten)]
    from: FromArg,
    /// Accepted for compatibility; only adopted Runs have it.
    #[arg(long)]
    takeover_legacy: bool,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RunUseArgs {
    type Call = RunUse;
    fn call(&self) -> Result<RunUse, ErrorBody> {
        Ok(RunUse {
            id: self.id.clone(),
            from: self.from.from.clone(),
            takeover_legacy: self.takeover_legacy,
        })
    }
    fn text(&self, reply: &RunBound) -> String {
        format!("using {} (generation {})", line(&reply.run), reply.binding.consumer_generation)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Changes the limits of a Run: a number refuses what is over it, a time asks the person and ends nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration run-set --run run_0123456789ab --max-workers 5 \\\n      --max-wall 2h --json"
)]
pub struct RunSetArgs {
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RunSetArgs {
    type Call = RunSet;
    fn call(&self) -> Result<RunSet, ErrorBody> {
        let limits = self.limits.wishes()?;
        Ok(RunSet { run: self.run.run.clone(), from: self.from.from.clone(), limits })
    }
    fn text(&self, reply: &OneRun) -> String {
        one(reply)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// A Run with how much of its limits is used.
fn one(reply: &OneRun) -> String {
    let limits = &reply.run.limits;
    let most = limits.max_workers.map(|max| format!(" of {max}")).unwrap_or_default();
    let mut said = format!("{}\n  active attempts: {}{most}", line(&reply.run), reply.active_workers);
    if let Some(max) = limits.max_attempts {
        said.push_str(&format!("\n  attempts per task: at most {max}"));
    }
    for (what, ms) in [("wall time", limits.max_wall_ms), ("silence", limits.max_silence_ms)] {
        if let Some(ms) = ms {
            said.push_str(&format!("\n  {what} per attempt: asks after {}", duration(ms)));
        }
    }
    said
}

/// Shows the Run this terminal is bound to.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration run-current --json")]
pub struct RunCurrentArgs {
    /// Ask for this terminal handle instead of the one this runs in.
    #[arg(long, value_name = "HANDLE")]
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
        one(reply)
    }
}
