//! Gate verbs.

use crate::base::text::{cut_width, one_line};
use crate::cli::args::{FromArg, RetryArg, RunArg, string_array, words};
use crate::cli::tone::{self, tinted};
use crate::cli::verb::Verb;
use crate::model::gate::GateState;
use crate::proto::error::ErrorBody;
use crate::proto::gate::{GateCreate, GateList, GateResolve, Gates, OneGate};
use crate::proto::row::GateRow;
use clap::Args;

/// Columns that a question or decision takes in a list; `--json` has all of it.
const QUESTION_WIDTH: usize = 100;

/// One gate: its question on the first line; below, what may be chosen or what was decided, by whom.
fn lines(gate: &GateRow) -> String {
    let question = cut_width(&one_line(&gate.question), QUESTION_WIDTH);
    let state = tinted(tone::gate(gate.status), &format!("{:<8}", gate.status.as_str()));
    let mut lines = format!("{}  {state}  {}  {question}", gate.id, gate.task_id);
    let below = match &gate.resolution {
        Some(resolution) => {
            let by = gate.resolved_by.as_deref().unwrap_or("somebody");
            Some(format!("{by} decided: {}", cut_width(&one_line(resolution), QUESTION_WIDTH)))
        }
        None if gate.options.is_empty() => None,
        None => Some(format!("options: {}", gate.options.join(" | "))),
    };
    lines.extend(below.map(|below| format!("\n    {below}")));
    lines
}

/// Blocks a task that has not started until somebody decides.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration gate-create --task task_0123456789ab \\\n      --question \"Ship it?\" --options '[\"yes\",\"no\"]' --json"
)]
pub struct GateCreateArgs {
    /// The task to hold back.
    #[arg(long)]
    task: String,
    /// What is to be decided.
    #[arg(long)]
    question: String,
    /// Possible answers, as a JSON array of strings; the answer stays free.
    #[arg(long, value_name = "JSON")]
    options: Option<String>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for GateCreateArgs {
    type Call = GateCreate;
    fn call(&self) -> Result<GateCreate, ErrorBody> {
        let options = self.options.as_deref().map(|text| string_array("--options", text)).transpose()?;
        Ok(GateCreate {
            task: self.task.clone(),
            question: self.question.clone(),
            options: options.unwrap_or_default(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &OneGate) -> String {
        format!("created {}", lines(&reply.gate))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Decides a gate; its task can start when no other gate holds it.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration gate-resolve --id gate_0123456789ab --resolution yes \\\n      --json"
)]
pub struct GateResolveArgs {
    /// The gate.
    #[arg(long, value_name = "GATE")]
    id: String,
    /// The decision: one of the options, or anything else.
    #[arg(long)]
    resolution: String,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for GateResolveArgs {
    type Call = GateResolve;
    fn call(&self) -> Result<GateResolve, ErrorBody> {
        Ok(GateResolve {
            id: self.id.clone(),
            resolution: self.resolution.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &OneGate) -> String {
        let warning =
            reply.warning.as_ref().map(|warning| format!("\nwarning: {warning}")).unwrap_or_default();
        format!("{}{warning}", lines(&reply.gate))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Lists gates, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration gate-list --status pending --json")]
pub struct GateListArgs {
    /// Only gates of this task.
    #[arg(long)]
    task: Option<String>,
    /// Only gates in this state.
    #[arg(long, value_name = "STATE", value_parser = words(GateState::ALL, GateState::as_str))]
    status: Option<String>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
}

impl Verb for GateListArgs {
    type Call = GateList;
    fn call(&self) -> Result<GateList, ErrorBody> {
        Ok(GateList {
            task: self.task.clone(),
            status: self.status.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Gates) -> String {
        if reply.gates.is_empty() {
            return String::from("no such gates");
        }
        reply.gates.iter().map(lines).collect::<Vec<_>>().join("\n")
    }
}
