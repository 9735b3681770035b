//! Task verbs.

use crate::base::id::GateId;
use crate::base::text::{cut_width, one_line};
use crate::cli::args::{FleetArg, FromArg, RetryArg, RunArg, string_array, text_or_file, words};
use crate::cli::tone::{self, Tone, tinted};
use crate::cli::verb::Verb;
use crate::model::plan::BREAKER_LIMIT;
use crate::model::task::TaskState;
use crate::proto::error::ErrorBody;
use crate::proto::row::TaskRow;
use crate::proto::task::{OneTask, TaskCreate, TaskList, TaskUpdate, Tasks};
use clap::Args;

/// Columns of a title in a list: with the rest of its line it fits 100 columns.
const TITLE_WIDTH: usize = 60;
/// Columns of a note below it.
const NOTE_WIDTH: usize = 90;

/// One task: id, state, attempt and title on the first line; below, who works on it or why nobody does.
pub fn lines(task: &TaskRow) -> String {
    let attempt = if task.attempts == 0 { String::new() } else { format!("#{}", task.attempts) };
    let title = task.display_name.as_deref().or(task.task_title.as_deref()).map(one_line).unwrap_or_default();
    let state = tinted(tone::task(task.status), &format!("{:<10}", task.status.as_str()));
    let mut lines = format!("{}  {state} {attempt:<3} {}", task.id, cut_width(&title, TITLE_WIDTH));
    for note in notes(task) {
        lines.push_str(&format!("\n    {note}"));
    }
    lines
}

/// A sign before the word that says the same, for the eye that runs down the column.
fn mark(status: TaskState) -> &'static str {
    match status {
        TaskState::Pending => ".",
        TaskState::Ready => "o",
        TaskState::Dispatched => ">",
        TaskState::Completed => "=",
        TaskState::Failed => "x",
        TaskState::Blocked => "!",
    }
}

fn notes(task: &TaskRow) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(dispatch) = &task.dispatch_id {
        let place = task.assignee_handle.as_ref().map(|handle| format!(" in {handle}")).unwrap_or_default();
        notes.push(format!("worker {dispatch}{place}"));
    }
    if let Some(decide) = &task.setup_decision {
        notes.push(format!("its setup script waits for approval: {decide}"));
    }
    if !task.unmet_dependencies.is_empty() {
        let waits: Vec<String> =
            task.unmet_dependencies.iter().map(|dep| format!("{} ({})", dep.id, dep.status)).collect();
        notes.push(format!("waits for {}", waits.join(", ")));
    }
    if !task.pending_gates.is_empty() {
        let gates: Vec<&str> = task.pending_gates.iter().map(GateId::as_str).collect();
        notes.push(format!("held by {}", gates.join(", ")));
    }
    if let Some(failure) = task.last_failure.as_deref().filter(|_| task.status != TaskState::Completed) {
        notes.push(format!("attempt {}: {}", task.attempts, cut_width(&one_line(failure), NOTE_WIDTH)));
    }
    if task.failures_in_row >= BREAKER_LIMIT {
        notes.push(format!(
            "failed {} times in a row; task-update --id {} --status ready lets it try again",
            task.failures_in_row, task.id
        ));
    }
    notes
}

/// `run_…  5 tasks: 2 ready, 1 dispatched, 2 completed`.
fn summary(reply: &Tasks) -> String {
    let states: Vec<String> = reply.counts.iter().map(|(state, n)| format!("{n} {state}")).collect();
    let run = tinted(Tone::Heading, reply.run_id.as_str());
    match reply.counts.values().sum::<usize>() {
        0 => format!("{run}  no tasks yet"),
        1 => format!("{run}  1 task: {}", states.join(", ")),
        n_tasks => format!("{run}  {n_tasks} tasks: {}", states.join(", ")),
    }
}

/// Creates a task; it is ready when all its dependencies are completed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration task-create \\\n      --spec \"Write a failing test for the login race\" --json"
)]
pub struct TaskCreateArgs {
    /// What a worker is to do; all it will know. At most 1 MiB.
    #[arg(long, required_unless_present = "spec_file", conflicts_with = "spec_file")]
    spec: Option<String>,
    /// A file with the spec instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    spec_file: Option<String>,
    /// A title [default: the first line of the spec, at most 80 characters].
    #[arg(long)]
    task_title: Option<String>,
    /// A name to show, at most 160 characters [default: the title].
    #[arg(long)]
    display_name: Option<String>,
    /// Tasks that must be completed first, as a JSON array of ids.
    #[arg(long, value_name = "JSON")]
    deps: Option<String>,
    /// The task this one is a part of.
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for TaskCreateArgs {
    type Call = TaskCreate;
    fn call(&self) -> Result<TaskCreate, ErrorBody> {
        Ok(TaskCreate {
            spec: text_or_file("--spec-file", self.spec.as_deref(), self.spec_file.as_deref())?
                .unwrap_or_default(),
            task_title: self.task_title.clone(),
            display_name: self.display_name.clone(),
            deps: self
                .deps
                .as_deref()
                .map(|deps| string_array("--deps", deps))
                .transpose()?
                .unwrap_or_default(),
            parent: self.parent.clone(),
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &OneTask) -> String {
        format!("created {}", lines(&reply.task))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Lists the tasks of a Run, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration task-list --ready --json")]
pub struct TaskListArgs {
    /// Only tasks in this state.
    #[arg(long, value_name = "STATE", value_parser = words(TaskState::ALL, TaskState::as_str))]
    status: Option<String>,
    /// Only tasks that can be started now.
    #[arg(long)]
    ready: bool,
    /// Cut each spec to one line of 160 characters.
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for TaskListArgs {
    type Call = TaskList;
    fn call(&self) -> Result<TaskList, ErrorBody> {
        Ok(TaskList {
            status: self.status.clone(),
            is_ready: self.ready,
            is_brief: self.brief,
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Tasks) -> String {
        let mut text = summary(reply);
        for task in &reply.tasks {
            let mark = tinted(tone::task(task.status), mark(task.status));
            text.push_str(&format!("\n  {mark} {}", lines(task).replace('\n', "\n    ")));
        }
        if reply.tasks.is_empty() && !reply.counts.is_empty() {
            text.push_str(if self.ready { "\n  none can be started now" } else { "\n  none in that state" });
        }
        text
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}

/// Changes a task's state or dependencies. A worker's accepted report does this by itself.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration task-update --id task_0123456789ab --status ready --json"
)]
pub struct TaskUpdateArgs {
    /// The task.
    #[arg(long, value_name = "TASK")]
    id: String,
    /// The new state; `ready` also arms the circuit breaker again.
    #[arg(long, value_name = "STATE", value_parser = words(TaskState::ALL, TaskState::as_str))]
    status: Option<String>,
    /// What came of it; needs --status.
    #[arg(long)]
    result: Option<String>,
    /// New dependencies, as a JSON array of ids; only while the task is pending or ready.
    #[arg(long, value_name = "JSON")]
    deps: Option<String>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
    #[command(flatten)]
    fleet: FleetArg,
}

impl Verb for TaskUpdateArgs {
    type Call = TaskUpdate;
    fn call(&self) -> Result<TaskUpdate, ErrorBody> {
        Ok(TaskUpdate {
            id: self.id.clone(),
            status: self.status.clone(),
            result: self.result.clone(),
            deps: self.deps.as_deref().map(|deps| string_array("--deps", deps)).transpose()?,
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &OneTask) -> String {
        lines(&reply.task)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
    fn is_fleet_unwanted(&self) -> bool {
        self.fleet.no_fleet
    }
}
