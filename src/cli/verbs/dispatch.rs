//! `dispatch-show`.

use crate::base::text::one_line;
use crate::cli::args::FleetArg;
use crate::cli::verb::Verb;
use crate::proto::dispatch::{DispatchShow, DispatchShown};
use crate::proto::error::ErrorBody;
use clap::Args;

/// Shows the newest attempt at a task, its brief, or the timeline of all attempts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration dispatch-show --task task_0123456789ab --history")]
pub struct DispatchShowArgs {
    /// The task.
    #[arg(long)]
    task: String,
    /// Show the brief as the worker gets it.
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
            let lines = history.events.iter().map(|event| {
                format!(
                    "{}  {:<20} by {:<18} {}",
                    event.at,
                    event.kind.as_str(),
                    one_line(&event.by),
                    one_line(&event.detail)
                )
            });
            return lines.collect::<Vec<_>>().join("\n");
        }
        match &reply.dispatch {
            Some(dispatch) => format!("{}  attempt #{}  {}", dispatch.id, dispatch.attempt, dispatch.status),
            None => String::from("no attempt yet"),
        }
    }
}
