//! Task verbs.

use crate::base::text::{cut_width, one_line};
use crate::cli::args::{FleetArg, FromArg, RetryArg, RunArg, string_array};
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::row::TaskRow;
use crate::proto::task::{OneTask, TaskCreate, TaskList, TaskUpdate, Tasks};
use clap::Args;

/// One task on one line: id, state, attempt, title, why it waits.
pub fn line(task: &TaskRow) -> String {
    let attempt = if task.attempts == 0 { String::from("-") } else { format!("#{}", task.attempts) };
    let title = task.task_title.as_deref().map(one_line).unwrap_or_default();
    let mut line =
        format!("{}  {:<10} {attempt:<3} {}", task.id, task.status.as_str(), cut_width(&title, 60));
    if let Some(handle) = &task.assignee_handle {
        line.push_str(&format!("  on {handle}"));
    }
    if !task.unmet_dependencies.is_empty() {
        let waits: Vec<String> =
            task.unmet_dependencies.iter().map(|dep| format!("{} ({})", dep.id, dep.status)).collect();
        line.push_str(&format!("  waits for {}", waits.join(", ")));
    }
    line
}

/// Creates a task; it is ready when all its dependencies are completed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration task-create --spec \"Write a failing test for the login race\" --json"
)]
pub struct TaskCreateArgs {
    /// What a worker is to do; all it will know. At most 1 MiB.
    #[arg(long)]
    spec: String,
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
            spec: self.spec.clone(),
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
        format!("created {}", line(&reply.task))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Lists the tasks of a Run, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration task-list --ready --json")]
pub struct TaskListArgs {
    /// Only tasks in this state: pending, ready, dispatched, completed, failed or blocked.
    #[arg(long)]
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
        if reply.tasks.is_empty() {
            return format!("no such tasks in {}", reply.run_id);
        }
        reply.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
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
    #[arg(long)]
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
        line(&reply.task)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
