//! The verbs by noun: flags as structs, replies as text.

pub mod completions;
pub mod dispatch;
pub mod event;
pub mod gate;
pub mod hook;
pub mod hooks;
pub mod mail;
pub mod man;
pub mod repo;
pub mod request;
pub mod reset;
pub mod retired;
pub mod run;
pub mod schema;
pub mod skills;
pub mod task;
pub mod terminal;
pub mod worker;
pub mod worktree;

use super::out::Out;
use super::tone::{Tone, tinted};
use super::verb::{self, Session};
use crate::base::text;
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use clap::Subcommand;

/// `orca orchestration …`.
#[derive(Debug, Subcommand)]
pub enum Orchestration {
    // Run
    /// Create a Run and bind this terminal to it.
    RunCreate(run::RunCreateArgs),
    /// Bind this terminal to an existing Run.
    RunUse(run::RunUseArgs),
    /// Change the limits of a Run.
    RunSet(run::RunSetArgs),
    /// Show the Run this terminal is bound to.
    RunCurrent(run::RunCurrentArgs),
    /// List Runs, newest first.
    RunList(run::RunListArgs),
    /// Show one Run.
    RunShow(run::RunShowArgs),
    // Task
    /// Create a task.
    TaskCreate(task::TaskCreateArgs),
    /// List the tasks of a Run.
    TaskList(task::TaskListArgs),
    /// Change a task's state or dependencies.
    TaskUpdate(task::TaskUpdateArgs),

    // Dispatch
    /// Record an attempt in a terminal that runs already, without supervision.
    Dispatch(dispatch::DispatchArgs),
    /// Show the newest attempt at a task, its brief or its timeline.
    DispatchShow(dispatch::DispatchShowArgs),

    // Worker
    /// Start a supervised attempt at a task.
    WorkerStart(worker::WorkerStartArgs),
    /// Show one attempt.
    WorkerShow(worker::WorkerShowArgs),
    /// List attempts.
    WorkerList(worker::WorkerListArgs),
    /// Read a worker's output.
    WorkerRead(worker::WorkerReadArgs),
    /// End a worker and close its terminal.
    WorkerStop(worker::WorkerStopArgs),
    /// Give an attempt up, leave its process alone.
    WorkerAbandon(worker::WorkerAbandonArgs),
    /// Close the terminal of a worker that reported.
    WorkerRelease(worker::WorkerReleaseArgs),
    /// Keep a worker's terminal.
    WorkerRetain(worker::WorkerRetainArgs),

    // Mail
    /// Send a message or report.
    Send(mail::SendArgs),
    /// Take or look at mail.
    Check(mail::CheckArgs),
    /// Answer a question or message.
    Reply(mail::ReplyArgs),
    /// Mark one message as read.
    MessageRead(mail::MessageReadArgs),
    /// Show recent mail of everybody.
    Inbox(mail::InboxArgs),
    /// Ask and wait for the answer.
    Ask(mail::AskArgs),

    // Gate
    /// Hold a task back until somebody decides.
    GateCreate(gate::GateCreateArgs),
    /// Decide a gate.
    GateResolve(gate::GateResolveArgs),
    /// List gates.
    GateList(gate::GateListArgs),

    // Request
    /// Show what became of a request id.
    RequestShow(request::RequestShowArgs),

    // Reset
    /// Remove tasks, mail or everything for good.
    Reset(reset::ResetArgs),
    // Retired
    /// Retired: the agent that reads the guide coordinates.
    #[command(hide = true, alias = "run")]
    CoordinatorStart(retired::RetiredArgs),
    /// Retired, too.
    #[command(hide = true, alias = "run-stop")]
    CoordinatorStop(retired::RetiredArgs),
}

/// Runs one orchestration verb.
pub fn orchestration(verb: &Orchestration, session: &mut Session<'_>) -> u8 {
    match verb {
        Orchestration::RunCreate(args) => verb::run(args, session),
        Orchestration::RunUse(args) => verb::run(args, session),
        Orchestration::RunSet(args) => verb::run(args, session),
        Orchestration::RunCurrent(args) => verb::run(args, session),
        Orchestration::RunList(args) => verb::run(args, session),
        Orchestration::RunShow(args) => verb::run(args, session),
        // Task
        Orchestration::TaskCreate(args) => verb::run(args, session),
        Orchestration::TaskList(args) => verb::run(args, session),
        Orchestration::TaskUpdate(args) => verb::run(args, session),

        // Dispatch
        Orchestration::Dispatch(args) => verb::run(args, session),
        Orchestration::DispatchShow(args) => verb::run(args, session),

        // Worker
        Orchestration::WorkerStart(args) => verb::run(args, session),
        Orchestration::WorkerShow(args) => verb::run(args, session),
        Orchestration::WorkerList(args) => verb::run(args, session),
        Orchestration::WorkerRead(args) => verb::run(args, session),
        Orchestration::WorkerStop(args) => verb::run(args, session),
        Orchestration::WorkerAbandon(args) => verb::run(args, session),
        Orchestration::WorkerRelease(args) => verb::run(args, session),
        Orchestration::WorkerRetain(args) => verb::run(args, session),

        // Mail
        Orchestration::Send(args) => verb::run(args, session),
        Orchestration::Check(args) => verb::run(args, session),
        Orchestration::Reply(args) => verb::run(args, session),
        Orchestration::MessageRead(args) => verb::run(args, session),
        Orchestration::Inbox(args) => verb::run(args, session),
        Orchestration::Ask(args) => verb::run(args, session),

        // Gate
        Orchestration::GateCreate(args) => verb::run(args, session),
        Orchestration::GateResolve(args) => verb::run(args, session),
        Orchestration::GateList(args) => verb::run(args, session),

        // Request
        Orchestration::RequestShow(args) => verb::run(args, session),

        // Reset
        Orchestration::Reset(args) => verb::run(args, session),
        // Retired
        Orchestration::CoordinatorStart(args) | Orchestration::CoordinatorStop(args) => {
            retired::run(args, session)
        }
    }
}

/// Prints an error that no server gave. Exit code 1.
pub fn fail_local(error: ErrorBody, is_json: bool, out: &mut Out<'_>) -> u8 {
    print_failure(&Response::new("local", None, Err(error)), is_json, out)
}

/// Prints a failure: the envelope, or the sentence with its next steps. Exit code 1.
pub fn print_failure(response: &Response, is_json: bool, out: &mut Out<'_>) -> u8 {
    if is_json {
        out.json(response);
        return 1;
    }
    if let Some(error) = &response.error {
        let orca = tinted(Tone::Bad, "orca:");
        out.talk(&format!("{orca} {} [{}]", text::many_lines(&error.message), error.code));
        for step in error.next_steps() {
            out.talk(&format!("  try: {}", text::one_line(step)));
        }
    }
    1
}
