//! `dispatch` and `dispatch-show`.

use crate::base::text::one_line;
use crate::cli::args::{FleetArg, FromArg, RetryArg, RunArg};
use crate::cli::tone::{self, tinted, warning};
use crate::cli::verb::Verb;
use crate::model::dispatch::Termination;
use crate::proto::dispatch::{Dispatch, DispatchShow, DispatchShown, Dispatched, Moment};
use crate::proto::error::ErrorBody;
use crate::proto::row::DispatchRow;
use clap::Args;

/// An attempt on one line: id, number, state, where, and how it failed.
fn line(dispatch: &DispatchRow) -> String {
    let state = tinted(tone::dispatch(dispatch.status), dispatch.status.as_str());
    let mut line = format!("{}  attempt #{}  {state}", dispatch.id, dispatch.attempt);
    match dispatch.termination_reason {
        None | Some(Termination::Reported) => {}
        Some(how) => line.push_str(&format!(" ({how})")),
    }
    if let Some(handle) = &dispatch.assignee_handle {
        line.push_str(&format!("  in {handle}"));
    }
    if let Some(failure) = &dispatch.last_failure {
        line.push_str(&format!("  {}", one_line(failure)));
    }
    line
}

/// A moment on one line: when, which attempt, what, by whom, why.
fn moment(moment: &Moment) -> String {
    let attempt = moment.attempt.map(|number| format!("#{number}")).unwrap_or_default();
    let by = one_line(&moment.by);
    format!("{}  {attempt:<3} {:<16} by {by:<18} {}", moment.at, moment.what, one_line(&moment.detail))
}

/// Records an attempt at a task in a terminal that runs already. Nobody watches it: `worker-start` does.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration dispatch --task task_0123456789ab \\\n      --to term_0123456789ab --inject --json"
)]
pub struct DispatchArgs {
    /// The task; it must be ready.
    #[arg(long)]
    task: String,
    /// The terminal that is to do it; only --dry-run goes without.
    #[arg(long, value_name = "HANDLE")]
    to: Option<String>,
    /// Type the brief into the agent that runs there [default: record the attempt only].
    #[arg(long)]
    inject: bool,
    /// Show the brief and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Put the brief into the reply.
    #[arg(long)]
    return_preamble: bool,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for DispatchArgs {
    type Call = Dispatch;
    fn call(&self) -> Result<Dispatch, ErrorBody> {
        Ok(Dispatch {
            task: self.task.clone(),
            to: self.to.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
            is_inject: self.inject,
            is_dry_run: self.dry_run,
            is_preamble_returned: self.return_preamble,
        })
    }
    fn text(&self, reply: &Dispatched) -> String {
        let mut lines: Vec<String> = reply.dispatch.iter().map(line).collect();
        lines.extend(reply.warning.iter().map(|text| warning(text)));
        lines.extend(reply.preamble.clone());
        lines.join("\n")
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Shows the newest attempt at a task, its brief, or the timeline of all attempts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration dispatch-show --task task_0123456789ab --history")]
pub struct DispatchShowArgs {
    /// The task.
    #[arg(long)]
    task: String,
    /// Show the brief as the worker gets it; before the first attempt, as one would.
    #[arg(long)]
    preamble: bool,
    /// Show every attempt and what happened.
    #[arg(long)]
    history: bool,
    /// Accepted for scripts written for other builds.
    #[arg(long, hide = true)]
    from: Option<String>,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for DispatchShowArgs {
    type Call = DispatchShow;
    fn call(&self) -> Result<DispatchShow, ErrorBody> {
        Ok(DispatchShow {
            task: self.task.clone(),
            is_preamble: self.preamble,
            is_history: self.history,
            from: self.from.clone(),
        })
    }
    fn text(&self, reply: &DispatchShown) -> String {
        if let Some(preamble) = &reply.preamble {
            return preamble.clone();
        }
        if let Some(history) = &reply.history {
            let attempts = history.attempts.iter().map(line);
            return attempts.chain(history.timeline.iter().map(moment)).collect::<Vec<_>>().join("\n");
        }
        match &reply.dispatch {
            Some(dispatch) => line(dispatch),
            None => String::from("no attempt yet"),
        }
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}
