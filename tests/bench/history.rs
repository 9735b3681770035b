//! A history as a team leaves it: most tasks completed at the first attempt, their terminals closed,
//! nearly all mail read.

use orca::base::clock::Timestamp;
use orca::base::id::{DispatchId, IncarnationId, MessageId, PaneKey, ResourceId, RunId, TaskId, TerminalId};
use orca::base::size::TermSize;
use orca::model::dispatch::{Dispatch, DispatchState, Termination};
use orca::model::limit::Limits;
use orca::model::message::{Mailbox, Message, MessageType, Priority};
use orca::model::resource::{Ownership, ReleaseState, Resource};
use orca::model::run::{Consumer, Run};
use orca::model::task::{Creator, Task, TaskState};
use orca::model::terminal::{LaunchRecord, Terminal, TerminalLife};
use orca::model::worker::{Placement, PromptDelivery, Stage, StartOptions, Worker, WorkerState};
use orca::store::Store;
use orca::store::tx::Tx;
use serde_json::json;
use std::path::Path;

const N_TASKS: usize = 50;
const N_MESSAGES: usize = 500;
/// The last tasks of a Run are still to be done.
const N_READY: usize = 5;

pub fn run_id(n: usize) -> RunId {
    RunId::parse(&format!("run_{n:012x}")).unwrap()
}

/// Writes that many Runs into the database at `path`.
pub fn write(path: &Path, n_runs: usize) {
    let store = Store::open(path).unwrap();
    for run in 0..n_runs {
        let mut tx = store.write().unwrap();
        write_run(&mut tx, run);
        // Only what is durable lets go of the pages that it replaces, as in a server's batches.
        tx.commit_durable().unwrap();
    }
}

fn at(run: usize, n: usize) -> Timestamp {
    Timestamp(1_790_000_000_000 + (run * 1_000_000 + n) as i64)
}

fn write_run(tx: &mut Tx, n: usize) {
    let id = run_id(n);
    tx.put(&Run {
        id: id.clone(),
        objective: format!("Objective {n}"),
        consumer: Some(Consumer::User),
        consumer_generation: 1,
        displaced: None,
        limits: Limits::default(),
        created_at: at(n, 0),
        updated_at: at(n, 0),
    })
    .unwrap();
    for task in 0..N_TASKS {
        let is_done = task < N_TASKS - N_READY;
        write_task(tx, n, task, is_done);
        if is_done {
            write_attempt(tx, n, task);
        }
    }
    for message in 0..N_MESSAGES {
        // Every fourth Run has mail that nobody took.
        let is_read = n % 4 != 3 || message < N_MESSAGES - 60;
        write_message(tx, n, message, is_read);
    }
}

fn task_id(run: usize, task: usize) -> TaskId {
    TaskId::parse(&format!("task_{:012x}", run * N_TASKS + task)).unwrap()
}

fn dispatch_id(run: usize, task: usize) -> DispatchId {
    DispatchId::parse(&format!("ctx_{:012x}", run * N_TASKS + task)).unwrap()
}

fn terminal_id(run: usize, task: usize) -> TerminalId {
    TerminalId::parse(&format!("term_{:012x}", run * N_TASKS + task)).unwrap()
}

fn write_task(tx: &mut Tx, run: usize, n: usize, is_done: bool) {
    tx.put(&Task {
        id: task_id(run, n),
        run_id: run_id(run),
        parent_id: None,
        created_by: Creator { handle: String::from("user"), ..Creator::default() },
        task_title: Some(format!("Task {n}")),
        display_name: Some(format!("Task {n}")),
        spec: "What is to be done, in some words. ".repeat(8),
        status: if is_done { TaskState::Completed } else { TaskState::Ready },
        deps: if n == 0 { Vec::new() } else { vec![task_id(run, 0)] },
        result: is_done.then(|| json!({ "outcome": "succeeded", "body": "Done as it was asked for." })),
        created_at: at(run, n),
        completed_at: is_done.then(|| at(run, n + 1)),
        n_failed_in_row: 0,
        n_attempts: u32::from(is_done),
    })
    .unwrap();
}

fn write_attempt(tx: &mut Tx, run: usize, task: usize) {
    let (id, terminal) = (dispatch_id(run, task), terminal_id(run, task));
    let pane = PaneKey::new(&format!("tab_{run}_{task}"), &format!("leaf_{run}_{task}"));
    let incarnation = IncarnationId::parse(&format!("inc_{:012x}", run * N_TASKS + task)).unwrap();
    tx.put(&Dispatch {
        id: id.clone(),
        run_id: run_id(run),
        task_id: task_id(run, task),
        attempt: 1,
        assignee_handle: Some(terminal.clone()),
        assignee_pane_key: Some(pane.clone()),
        process_incarnation: Some(incarnation.clone()),
        status: DispatchState::Completed,
        failure_count: 0,
        last_failure: None,
        termination: Some(Termination::Reported),
        dispatched_at: Some(at(run, task)),
        completed_at: Some(at(run, task + 1)),
        created_at: at(run, task),
        last_heartbeat_at: None,
        last_phase: None,
        revoked_at: Some(at(run, task + 1)),
        quiet_since: None,
        wall_from: None,
        silence_from: None,
        sign_from: None,
        depth: 1,
        creator_handle: String::from("user"),
        retry_of: None,
        proof: format!("p{run}x{task}"),
        is_supervised: true,
    })
    .unwrap();
    tx.put(&worker(&id, &terminal, at(run, task))).unwrap();
    tx.put(&Resource {
        id: ResourceId::parse(&format!("wtr_{:012x}", run * N_TASKS + task)).unwrap(),
        terminal_id: terminal.clone(),
        worktree_id: None,
        ownership: Ownership::Released,
        release: ReleaseState::Released,
        retained_reason: None,
        origin_dispatch_id: id.clone(),
        owner_dispatch_id: id.clone(),
        release_requested_at: Some(at(run, task)),
        release_completed_at: Some(at(run, task)),
        release_error: None,
        archive_source: Some(String::from("terminal")),
        archive_status: Some(String::from("captured")),
    })
    .unwrap();
    tx.put(&Terminal {
        id: terminal,
        pane_key: pane,
        tab_id: format!("tab_{run}_{task}"),
        worktree_id: None,
        worktree_path: String::from("/work"),
        branch: None,
        title: None,
        pane_title: None,
        color: None,
        split: None,
        agent: Some(String::from("codex")),
        launch: LaunchRecord {
            argv: vec![String::from("codex"), "The brief of a worker, as it was given. ".repeat(60)],
            env: Vec::new(),
            unset_env: Vec::new(),
            cwd: String::from("/work"),
            brief_file: None,
        },
        size: TermSize::clamped(24, 80),
        life: TerminalLife::Closed,
        incarnation,
        pid: Some(1),
        end: None,
        closed_by: None,
        run_id: Some(run_id(run)),
        dispatch_id: Some(id),
        created_at: at(run, task),
        is_user_typed: false,
        is_unseen: false,
    })
    .unwrap();
}

fn worker(id: &DispatchId, terminal: &TerminalId, created_at: Timestamp) -> Worker {
    Worker {
        dispatch_id: id.clone(),
        runtime_epoch: String::from("rt_1"),
        state: WorkerState::Succeeded,
        stage: Stage::Released,
        worktree_id: None,
        agent_terminal_handle: Some(terminal.clone()),
        setup_state: String::from("not_applicable"),
        delivery: PromptDelivery::Argument,
        last_error: None,
        failed_stage: None,
        effects: Vec::new(),
        start_options: StartOptions {
            requested_agent: None,
            placement: Placement::Current,
            agent: Some(String::from("codex")),
            model: None,
            effort: None,
            name: None,
            repo: None,
            base_branch: None,
            display_name: None,
            comment: None,
            setup: None,
            agent_startup: None,
            timeout_ms: 60_000,
            is_reused_terminal: false,
        },
        process_end: None,
        drift: None,
        created_at,
        updated_at: created_at,
    }
}

fn write_message(tx: &mut Tx, run: usize, n: usize, is_read: bool) {
    let kinds =
        [MessageType::Status, MessageType::Heartbeat, MessageType::Heartbeat, MessageType::WorkerDone];
    let task = n % (N_TASKS - N_READY);
    let sequence = tx.next_number("message").unwrap();
    tx.put(&Message {
        id: MessageId::parse(&format!("msg_{:012x}", run * N_MESSAGES + n)).unwrap(),
        run_id: Some(run_id(run)),
        dispatch_id: Some(dispatch_id(run, task)),
        from_handle: format!("dispatch:{}", dispatch_id(run, task)),
        mailbox: Mailbox::Run(run_id(run)),
        subject: format!("Message {n}"),
        body: "What a worker writes to its coordinator. ".repeat(4),
        kind: kinds[n % kinds.len()],
        priority: Priority::Normal,
        thread_id: None,
        payload: Some(json!({ "taskId": task_id(run, task), "dispatchId": dispatch_id(run, task) })),
        is_read,
        sequence,
        created_at: at(run, n),
        delivered_at: None,
        sender_pane_key: None,
    })
    .unwrap();
}
