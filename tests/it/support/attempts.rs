//! Attempts made by hand: what the world does around the verbs, without a server or an agent.

use super::world::World;
use orca::base::id::{DispatchId, EffectId, IncarnationId, PaneKey, TaskId, TerminalId, new_proof};
use orca::base::size::TermSize;
use orca::model::dispatch::{Dispatch, DispatchState};
use orca::model::effect::{Effect, OpenEffect};
use orca::model::task::{Task, TaskInput, TaskState};
use orca::model::terminal::{LaunchRecord, Terminal, TerminalLife};
use orca::model::worker::{Placement, PromptDelivery, Stage, StartOptions, Worker, WorkerInput, WorkerState};
use orca::ops::cx::{CallerFacts, Cx};
use orca::ops::error::OpError;
use orca::ops::settle::{self, Loss};

impl World {
    /// One line of a transcript that begins with `%`:
    ///
    /// ```text
    /// terminal <handle>                     a running terminal
    /// attempt <task> <handle>               a supervised worker starts on the task there
    /// bare-attempt <task> <handle>          an attempt without a worker
    /// lose <dispatch> <reason>              its process ends without a report
    /// fail-start <dispatch> <reason>        its start fails
    /// lose-track <dispatch> <reason>        nobody knows whether it started
    /// stopping <dispatch>, stop <dispatch>  its stop begins, it was stopped
    /// ```
    ///
    /// Returns what is to be told of it: the id of a new attempt.
    pub fn happen(&mut self, line: &str) -> String {
        let mut words = line.splitn(3, ' ');
        let verb = words.next().unwrap();
        let noun = words.next().unwrap();
        let rest = words.next().unwrap_or_default();
        match verb {
            "terminal" => self.terminal(noun),
            "attempt" => return format!("= {}\n", self.attempt(noun, rest, true)),
            "bare-attempt" => return format!("= {}\n", self.attempt(noun, rest, false)),
            "lose" => self.settle(noun, |cx, dispatch| settle::lose(cx, dispatch, Loss::ProcessEnd, rest)),
            "fail-start" => self.settle(noun, |cx, dispatch| {
                settle::lose(cx, dispatch, Loss::Start(Stage::TerminalCreate), rest)
            }),
            "lose-track" => self.settle(noun, |cx, dispatch| {
                let mut worker = cx.tx.get::<Worker>(dispatch.id.as_str())?.unwrap();
                worker.state = WorkerState::Starting;
                cx.tx.put(&worker)?;
                settle::lose_track(cx, dispatch, rest)
            }),
            "stopping" => self.settle(noun, |cx, dispatch| {
                let dispatch = begin_stop(cx, dispatch)?;
                let terminal_id = dispatch.assignee_handle.clone().unwrap();
                let open = OpenEffect {
                    id: EffectId::parse(&format!("fx_{}", terminal_id.as_str()))?,
                    effect: Effect::close(terminal_id),
                    dispatch_id: Some(dispatch.id),
                    then: None,
                    requested_at: cx.now,
                };
                Ok(cx.tx.put(&open)?)
            }),
            "stop" => self.settle(noun, |cx, dispatch| {
                let dispatch = &begin_stop(cx, dispatch)?;
                settle::give_up(cx, dispatch, WorkerInput::FinishStop, Stage::ProcessStopped, "stopped")
            }),
            other => panic!("nothing happens by {other:?}"),
        }
        String::new()
    }

    /// A running terminal with this handle, in a tab and folder of its own.
    pub fn terminal(&mut self, handle: &str) {
        let id = TerminalId::parse(handle).unwrap();
        self.transact(CallerFacts::default(), |cx| {
            let terminal = Terminal {
                pane_key: PaneKey::new("tab_1", handle),
                tab_id: String::from("tab_1"),
                worktree_id: None,
                worktree_path: String::from("/work"),
                branch: Some(String::from("main")),
                title: None,
                pane_title: None,
                color: None,
                split: None,
                agent: Some(String::from("argent")),
                launch: LaunchRecord {
                    argv: vec![String::from("argent")],
                    env: Vec::new(),
                    unset_env: Vec::new(),
                    cwd: String::from("/work"),
                    brief_file: None,
                },
                size: TermSize::clamped(24, 80),
                life: TerminalLife::Running,
                incarnation: IncarnationId::new(cx.ids),
                pid: Some(1),
                end: None,
                closed_by: None,
                run_id: None,
                dispatch_id: None,
                created_at: cx.now,
                is_user_typed: false,
                is_unseen: false,
                id,
            };
            cx.tx.put(&terminal).map_err(OpError::from)
        })
        .unwrap();
    }

    /// An attempt at `task` in the terminal `handle`, with its brief delivered.
    pub fn attempt(&mut self, task: &str, handle: &str, is_supervised: bool) -> DispatchId {
        self.transact(CallerFacts::default(), |cx| start(cx, task, handle, is_supervised)).unwrap()
    }

    /// Runs a piece of `settle` on an attempt.
    pub fn settle(
        &mut self,
        dispatch: &str,
        work: impl FnOnce(&mut Cx<'_>, &Dispatch) -> Result<(), OpError>,
    ) {
        self.transact(CallerFacts::default(), |cx| {
            let dispatch = cx.tx.get::<Dispatch>(dispatch)?.expect("no such attempt");
            work(cx, &dispatch)
        })
        .unwrap();
    }
}

fn begin_stop(cx: &mut Cx<'_>, dispatch: &Dispatch) -> Result<Dispatch, OpError> {
    let dispatch = settle::block(cx, dispatch)?;
    let mut worker = cx.tx.get::<Worker>(dispatch.id.as_str())?.unwrap();
    worker.state = worker.state.next(WorkerInput::BeginStop)?;
    worker.stage = Stage::StopRequested;
    cx.tx.put(&worker)?;
    Ok(dispatch)
}

fn start(cx: &mut Cx<'_>, task: &str, handle: &str, is_supervised: bool) -> Result<DispatchId, OpError> {
    let mut task = cx.tx.get::<Task>(TaskId::parse(task)?.as_str())?.expect("no such task");
    let terminal = cx.tx.get::<Terminal>(handle)?.expect("no such terminal");
    let input = match task.status {
        TaskState::Failed | TaskState::Blocked => TaskInput::Retry,
        _ => TaskInput::Dispatch,
    };
    task.status = task.status.next(input)?;
    task.n_attempts += 1;
    task.completed_at = None;
    cx.tx.put(&task)?;
    let dispatch = Dispatch {
        id: DispatchId::new(cx.ids),
        run_id: task.run_id.clone(),
        task_id: task.id.clone(),
        attempt: task.n_attempts,
        assignee_handle: Some(terminal.id.clone()),
        assignee_pane_key: Some(terminal.pane_key.clone()),
        process_incarnation: Some(terminal.incarnation.clone()),
        status: DispatchState::Dispatched,
        failure_count: task.n_failed_in_row,
        last_failure: None,
        termination: None,
        quiet_since: None,
        wall_from: None,
        silence_from: None,
        sign_from: None,
        dispatched_at: Some(cx.now),
        completed_at: None,
        created_at: cx.now,
        last_heartbeat_at: None,
        last_phase: None,
        revoked_at: None,
        depth: 1,
        creator_handle: String::from("user"),
        retry_of: None,
        proof: new_proof(cx.ids),
        is_supervised,
    };
    cx.tx.put(&dispatch)?;
    cx.tx.put(&Terminal { dispatch_id: Some(dispatch.id.clone()), ..terminal })?;
    if is_supervised {
        cx.tx.put(&worker_of(&dispatch))?;
    }
    Ok(dispatch.id)
}

fn worker_of(dispatch: &Dispatch) -> Worker {
    Worker {
        dispatch_id: dispatch.id.clone(),
        runtime_epoch: String::from("rt_1"),
        state: WorkerState::Ready,
        stage: Stage::InputAccepted,
        worktree_id: None,
        agent_terminal_handle: dispatch.assignee_handle.clone(),
        setup_state: String::from("not_applicable"),
        delivery: PromptDelivery::Argument,
        last_error: None,
        failed_stage: None,
        effects: Vec::new(),
        start_options: StartOptions {
            requested_agent: None,
            placement: Placement::Current,
            agent: Some(String::from("argent")),
            model: None,
            effort: None,
            name: None,
            repo: None,
            base_branch: None,
            display_name: None,
            comment: None,
            setup: None,
            agent_startup: None,
            timeout_ms: 120_000,
            is_reused_terminal: false,
        },
        process_end: None,
        drift: None,
        created_at: dispatch.created_at,
        updated_at: dispatch.created_at,
    }
}
