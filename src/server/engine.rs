//! The single writer: command, transaction, commit (grouped), publish, reply, effects.
//!
//! It runs on a thread of its own and is the only one that opens write transactions. Each command
//! has its own transaction; when the inbox is drained one durable commit covers them all, and only
//! then does anybody hear of it (design 3). A command that panics is aborted and answered with
//! `runtime_error`; everybody else goes on. When the disk refuses anything the server ends: what was
//! promised is on disk, the rest was not promised, and the next start is the way to recover.
//!
//! It never blocks on anything but its inbox and the disk.

mod nudge;
mod watch;

use super::batch::{Batch, Done};
use super::command::{CallCommand, Command, Inbox, Reply};
use super::effects::{Effects, Subject};
use super::fault::{self, Point};
use super::hub::{Hub, Lacking, Snapshot, Subscriber};
use super::pane::Typed;
use super::spool::{Found, Refused, Spool, Unreadable};
use super::terminals::{Recovered, Terminals};
use super::waits::{self, Waiting, Waits};
use super::world::LiveWorld;
use crate::base::clock::{Clock, Timestamp};
use crate::base::id::{IdSource, SystemIds, TerminalId};
use crate::base::report::{OrLog as _, log};
use crate::model::dispatch::Dispatch;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::advance;
use crate::ops::cx::{Act, Answer, CallerFacts, Cx, Rules, Wake};
use crate::ops::error::{OpError, store_body};
use crate::ops::invariants;
use crate::ops::mail::spooled;
use crate::ops::terminal::found::take_in;
use crate::ops::terminal::{close, is_alive};
use crate::proto::error::ErrorBody;
use crate::proto::event::Change;
use crate::proto::hook::HookReport;
use crate::proto::screen::STOPPED;
use crate::proto::screen::ServerFrame;
use crate::proto::{AnyCall, Call as _, CallKind};
use crate::store::tx::Tx;
use crate::store::{Store, StoreError};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The most commands that share one durable commit.
const MAX_BATCH: usize = 256;
/// How long nothing was written before the store is settled for a start after a kill.
const SETTLE_AFTER: Duration = Duration::from_secs(1);

/// The single writer's own things.
pub struct Engine {
    pub store: Store,
    pub clock: Clock,
    pub rules: Rules,
    pub runtime_id: String,
    pub terminals: Arc<Terminals>,
    pub effects: Effects,
    spool: Arc<Spool>,
    ids: Box<dyn IdSource>,
    hub: Hub,
    waits: Waits,
    watch: watch::Watch,
    stopping: Option<(Ended, Option<Reply>)>,
    /// When the store is to be settled: something was written since it last was.
    settle_due: Option<Instant>,
}

/// Why the engine's loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to; terminals end too.
    Stopped,
    /// It was asked to; terminals go on.
    Restarting,
    /// Its state directory or its database was removed or moved, so nobody finds it there any more.
    Displaced,
    /// The disk refused a commit.
    Failed,
}

/// Whether a transaction's changes are to stay.
enum Keep<R> {
    Commit(R),
    /// Nothing worth keeping happened.
    Abort(R),
}

impl Engine {
    /// An engine over an open store.
    pub fn new(
        store: Store,
        rules: Rules,
        runtime_id: String,
        terminals: Arc<Terminals>,
        effects: Effects,
        spool: Arc<Spool>,
    ) -> Self {
        Self {
            store,
            clock: Clock::System,
            rules,
            runtime_id,
            terminals,
            effects,
            spool,
            ids: Box::new(SystemIds),
            hub: Hub::default(),
            waits: Waits::default(),
            watch: watch::Watch::default(),
            stopping: None,
            settle_due: None,
        }
    }

    /// The first transaction of a server: says that it runs and brings the effects that a crash left
    /// open. They are begun by [`Engine::run`]. What ended since `stopped_at` is the doing of a stop.
    pub fn recover(&mut self, stopped_at: Option<Timestamp>) -> Result<Vec<OpenEffect>, ErrorBody> {
        let mut batch = Batch::default();
        let terminals = Arc::clone(&self.terminals);
        let open = self.transact(&mut batch, CallerFacts::default(), |cx| {
            if let Some(at) = stopped_at {
                close::all_by_stop(cx, |id| terminals.has_ended_since(id, at))?;
            }
            advance::recover(cx).map(Keep::Commit)
        })?;
        // Nobody is attached yet, so there is nobody to tell.
        batch.commit(&self.store).map_err(|refused| store_body(&refused.error))?;
        self.settle_due = Instant::now().checked_add(SETTLE_AFTER);
        Ok(open)
    }

    /// Works until it is asked to stop, all senders are gone or the disk fails.
    pub fn run(
        mut self,
        mut inbox: mpsc::Receiver<Command>,
        runtime: &tokio::runtime::Handle,
        open: Vec<OpenEffect>,
    ) -> Ended {
        self.effects.sweep(&open);
        // A start before the close of the same terminal, whatever the clock said when they were requested.
        let (starts, others): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|open| matches!(open.effect, Effect::SpawnTerminal { .. }));
        starts.into_iter().chain(others).for_each(|effect| self.begin(effect));
        // Whoever reported while there was no server did so before anybody who can connect now.
        let mut kept = Batch::default();
        self.look_into_spool(&mut kept);
        if let Err(why) = self.finish(kept) {
            return self.fail(&why);
        }
        loop {
            if self.settle_if_due().is_none() {
                return self.end(Ended::Failed);
            }
            let first = match self.next(&mut inbox, runtime) {
                Next::Command(command) => Some(command),
                Next::Deadline => None,
                Next::Closed => return self.end(Ended::Restarting),
            };
            let mut batch = Batch::default();
            let mut n_commands = 0;
            let mut next = first;
            while let Some(command) = next.take() {
                self.take(&mut batch, command);
                n_commands += 1;
                if n_commands < MAX_BATCH {
                    next = inbox.try_recv().ok();
                }
            }
            self.wake_due(&mut batch);
            self.wake_concerned(&mut batch);
            self.look_after(&mut batch);
            self.nudge(&mut batch);
            if let Err(why) = self.finish(batch) {
                return self.fail(&why);
            }
            if let Some((ended, reply)) = self.stopping.take() {
                // Whoever asked may have left.
                drop(reply.map(|reply| reply.send(Ok(Value::Null))));
                return self.end(ended);
            }
        }
    }

    fn next(&self, inbox: &mut mpsc::Receiver<Command>, runtime: &tokio::runtime::Handle) -> Next {
        let received = match self.next_due() {
            None => Ok(inbox.blocking_recv()),
            Some(deadline) => {
                let wait = deadline.saturating_duration_since(Instant::now());
                runtime.block_on(async { tokio::time::timeout(wait, inbox.recv()).await })
            }
        };
        match received {
            Ok(Some(command)) => Next::Command(command),
            Ok(None) => Next::Closed,
            Err(_) => Next::Deadline,
        }
    }

    fn take(&mut self, batch: &mut Batch, command: Command) {
        match command {
            Command::Call(call) => self.call(batch, *call),
            Command::Outcome { effect, outcome } => {
                fault::pass(Point::BeforeOutcome);
                batch.has_outcome = true;
                self.note(batch, "record an outcome", |cx| advance::outcome(cx, &effect, outcome));
            }
            Command::ProcessEnded { terminal, end } => {
                // What it said last came before its end.
                self.look_into_spool(batch);
                let collected = self.note(batch, "record the end of a process", |cx| {
                    advance::process_ended(cx, &terminal, end)
                });
                if collected {
                    batch.ended.push(terminal);
                }
            }
            Command::TerminalLost { terminal } => {
                self.note(batch, "note that a terminal is lost", |cx| advance::terminal_lost(cx, &terminal));
            }
            Command::UserTyped { terminal } => {
                self.note(batch, "note that a person typed", |cx| advance::user_typed(cx, &terminal));
            }
            Command::LiveChanged { terminal } => {
                batch.live.extend(self.terminals.live_row(&terminal));
                batch.news.live.insert(terminal);
            }
            Command::LookIntoSpool => self.look_into_spool(batch),
            Command::SpoolRefused { refused, reply } => {
                let Refused { call, error, caller } = *refused;
                let kept = self.transact(batch, caller, |cx| {
                    spooled::refused(cx, &call, &error).map(|()| Keep::Commit(Value::Null))
                });
                batch.replies.push((reply, kept));
            }
            Command::Idle { terminal } => drop(batch.idle.insert(terminal)),
            Command::NudgeRefused { messages } => {
                self.note(batch, "take a nudge back", |cx| crate::ops::nudge::refused(cx, &messages));
            }
            Command::Attach(subscriber) => batch.attached.push(subscriber),
            Command::Resync { subscriber } => batch.resyncs.push(subscriber),
            Command::EndAll { reply } => {
                self.note(batch, "note that everything is to end", |cx| close::all_by_stop(cx, |_| true));
                batch.replies.push((reply, Ok(Value::Null)));
            }
            Command::Stop { stop, reply } => {
                let ended = if stop.keep_terminals { Ended::Restarting } else { Ended::Stopped };
                self.stopping = Some((ended, Some(reply)));
            }
            Command::CopyKept { aside } => {
                let store = self.terminals.state_dir().store();
                self.note(batch, "tell of a copy", |cx| advance::copy_kept(cx, &store, &aside));
            }
            Command::Displaced => self.stopping = Some((Ended::Displaced, None)),
        }
    }

    /// Takes in what came as files.
    fn look_into_spool(&mut self, batch: &mut Batch) {
        let Found { calls, unreadable } = self.spool.take_in();
        for Unreadable { path, why } in unreadable {
            self.note(batch, "tell of a file that is no call", |cx| spooled::unreadable(cx, &path, &why));
        }
        calls.into_iter().for_each(|call| self.call(batch, call));
    }

    /// Runs a verb, or lets it wait.
    fn call(&mut self, batch: &mut Batch, command: CallCommand) {
        let CallCommand { call, params, request_id, caller, is_awaited, reply } = command;
        if reply.is_closed() {
            // Its caller left before anything was done, so nothing is.
            return;
        }
        let (kind, method) = (call.kind(), call.method());
        let id = request_id.as_deref();
        let work = |cx: &mut Cx<'_>| {
            let answer = crate::ops::handle(cx, call, id, &params)?;
            Ok(keep(cx, method, answer))
        };
        let answer = match kind {
            CallKind::Read => self.read(batch, caller.clone(), work),
            CallKind::Mutation => self.transact(batch, caller.clone(), work),
        };
        let answer = match answer {
            Ok(Answer::Look(look)) => match AnyCall::decode(method, params.clone()) {
                Ok(call) => {
                    let command = CallCommand { call, params, request_id, caller, is_awaited, reply };
                    return self.effects.look(look, command);
                }
                Err(error) => Err(error),
            },
            other => other,
        };
        let request_id = if kind == CallKind::Mutation { request_id } else { None };
        if let Err(error) = &answer {
            self.forget(batch, request_id.as_deref(), &caller, error);
        }
        if let (Ok(Answer::Wait(_)), false) = (&answer, is_awaited) {
            // What it waits for is in its receipt; whoever asks again under its id goes on waiting.
            return batch.replies.push((reply, Ok(Value::Null)));
        }
        self.settle(batch, answer, request_id, caller, reply);
    }

    fn settle(
        &mut self,
        batch: &mut Batch,
        answer: Result<Answer, ErrorBody>,
        request_id: Option<String>,
        caller: CallerFacts,
        reply: Reply,
    ) {
        match answer {
            Ok(Answer::Done(result)) => batch.replies.push((reply, Ok(result))),
            Ok(Answer::Wait(wait)) => {
                let due = waits::due(&wait, self.clock.now());
                self.waits.add(Waiting { wait, due, request_id, caller, reply });
            }
            Ok(Answer::Look(look)) => {
                let bug = OpError::Bug(format!("a waiting call wants to see {look:?}"));
                batch.replies.push((reply, Err(bug.into())));
            }
            Err(error) => batch.replies.push((reply, Err(error))),
        }
    }

    /// Runs something that nobody asked for by a call. Says whether it went well.
    fn note(
        &mut self,
        batch: &mut Batch,
        doing: &str,
        work: impl FnOnce(&mut Cx<'_>) -> Result<(), OpError>,
    ) -> bool {
        let done = self.transact(batch, CallerFacts::default(), |cx| work(cx).map(Keep::Commit));
        done.or_log(doing).is_some()
    }

    fn wake_due(&mut self, batch: &mut Batch) {
        for waiting in self.waits.take_due(Instant::now()) {
            self.wake(batch, waiting, Wake::Deadline);
        }
    }

    /// Asks those again whom the changes of this batch concern, until nothing more comes of it.
    fn wake_concerned(&mut self, batch: &mut Batch) {
        loop {
            let news = std::mem::take(&mut batch.news);
            if news.is_empty() {
                break;
            }
            for waiting in self.waits.take_concerned(&news) {
                self.wake(batch, waiting, Wake::Changed);
            }
        }
    }

    fn wake(&mut self, batch: &mut Batch, waiting: Waiting, wake: Wake) {
        let Waiting { wait, due, request_id, caller, reply } = waiting;
        let id = request_id.as_deref();
        let (deadline, again) = (wait.deadline, wait);
        let answer = self.transact(batch, caller.clone(), |cx| {
            crate::ops::handle_wake(cx, again, wake, id).map(|answer| match answer {
                Answer::Done(_) => Keep::Commit(answer),
                Answer::Wait(_) | Answer::Look(_) => Keep::Abort(answer),
            })
        });
        match answer {
            Ok(Answer::Wait(wait))
                if wake == Wake::Deadline && wait.deadline.is_none_or(|due| due <= self.clock.now()) =>
            {
                let bug = OpError::Bug(format!("a call waits past its deadline: {:?}", wait.on));
                batch.replies.push((reply, Err(bug.into())));
            }
            Ok(Answer::Wait(wait)) => {
                // One that looks again in between has a new deadline; any other goes on under the one it had.
                let is_same = wake == Wake::Changed && wait.deadline == deadline;
                let due = if is_same { due } else { waits::due(&wait, self.clock.now()) };
                self.waits.add(Waiting { wait, due, request_id, caller, reply });
            }
            other => {
                if let Err(error) = &other {
                    self.forget(batch, request_id.as_deref(), &caller, error);
                }
                self.settle(batch, other, request_id, caller, reply);
            }
        }
    }

    /// Lets go of the receipt of a call that was refused for good while it waited (contract 10).
    fn forget(&mut self, batch: &mut Batch, id: Option<&str>, caller: &CallerFacts, error: &ErrorBody) {
        let Some(id) = id else { return };
        let forgotten = self.transact(batch, caller.clone(), |cx| {
            let was_there = crate::ops::forget(cx, id, error.code)?;
            Ok(if was_there { Keep::Commit(()) } else { Keep::Abort(()) })
        });
        forgotten.or_log("forget a request that was refused");
    }

    /// Runs `work` in a transaction of its own. What it leaves goes into the batch.
    fn transact<R>(
        &mut self,
        batch: &mut Batch,
        caller: CallerFacts,
        work: impl FnOnce(&mut Cx<'_>) -> Result<Keep<R>, OpError>,
    ) -> Result<R, ErrorBody> {
        batch.settle().map_err(OpError::from)?;
        let tx = self.store.write().map_err(OpError::from)?;
        self.with_cx(batch, tx, caller, work)
    }

    fn read<R>(
        &mut self,
        batch: &mut Batch,
        caller: CallerFacts,
        work: impl FnOnce(&mut Cx<'_>) -> Result<Keep<R>, OpError>,
    ) -> Result<R, ErrorBody> {
        batch.settle().map_err(OpError::from)?;
        let tx = self.store.read().map_err(OpError::from)?;
        let work = |cx: &mut Cx<'_>| {
            work(cx).map(|keep| match keep {
                Keep::Commit(result) | Keep::Abort(result) => Keep::Abort(result),
            })
        };
        self.with_cx(batch, tx, caller, work)
    }

    fn with_cx<R>(
        &mut self,
        batch: &mut Batch,
        tx: Tx,
        caller: CallerFacts,
        work: impl FnOnce(&mut Cx<'_>) -> Result<Keep<R>, OpError>,
    ) -> Result<R, ErrorBody> {
        let world = LiveWorld {
            awaited: self.waits.mailboxes(),
            terminals: &self.terminals,
            has_screen: !self.hub.is_empty(),
        };
        let now = self.clock.now();
        let ids = self.ids.as_mut();
        let mut cx = Cx::new(tx, now, ids, &self.rules, &world, &self.runtime_id, caller);
        // The transaction stays outside the closure: it must not be dropped while unwinding.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let keep = work(&mut cx)?;
            check_invariants(&cx.tx)?;
            let views = match &keep {
                Keep::Commit(_) if !self.hub.is_empty() => super::batch::views(&cx.tx)?,
                Keep::Commit(_) | Keep::Abort(_) => super::batch::Views::default(),
            };
            Ok::<_, OpError>((keep, views))
        }));
        match result {
            Ok(Ok((Keep::Commit(result), views))) => {
                let (tx, left) = cx.finish();
                batch.hold(tx, left, views);
                Ok(result)
            }
            Ok(Ok((Keep::Abort(result), _))) => {
                let (_, left) = cx.finish();
                batch.acts.extend(left.acts);
                Ok(result)
            }
            Ok(Err(OpError::Store(error))) if error.needs_reopening() => {
                let body = store_body(&error);
                batch.fail(error);
                Err(body)
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => {
                drop(cx);
                // redb panics where a page is not what another page says it is.
                Err(match self.store.check(&self.terminals.store_path()) {
                    Err(damage) => store_body(&damage),
                    Ok(()) => {
                        OpError::Bug(String::from("a command panicked; the log has the details")).into()
                    }
                })
            }
        }
    }

    /// Makes the batch durable and then tells everybody, or says why the disk refused.
    fn finish(&mut self, batch: Batch) -> Result<(), ErrorBody> {
        if batch.is_written() {
            fault::pass(Point::BeforeCommit);
        }
        let has_outcome = batch.has_outcome;
        let done = match batch.commit(&self.store) {
            Ok(done) => done,
            Err(refused) => {
                log(format_args!("the disk refused a commit, the server ends: {}", refused.error));
                return Err(refused.answer_all());
            }
        };
        if done.is_written {
            fault::pass(Point::AfterCommit);
            self.settle_due = Instant::now().checked_add(SETTLE_AFTER);
        }
        if has_outcome {
            fault::pass(Point::AfterOutcome);
        }
        self.tell(done);
        Ok(())
    }

    /// Settles the store once nothing was written for a while. None: the disk refused.
    fn settle_if_due(&mut self) -> Option<()> {
        if self.settle_due.take_if(|due| *due <= Instant::now()).is_none() {
            return Some(());
        }
        self.store.settle().or_log("settle the database, the server ends")
    }

    fn tell(&mut self, done: Done) {
        let Done { change, replies, effects, gone_effects, acts, ended, attached, resyncs, is_written: _ } =
            done;
        let lacking = match change.is_empty() {
            true => Vec::new(),
            false => self.hub.publish(change.into_change(self.clock.now())),
        };
        // What a caller is told was typed is in the terminal by then, should this server die.
        acts.into_iter().for_each(|act| self.act(act));
        for (reply, answer) in replies {
            // A caller that left reads its answer from the ledger when it comes back.
            drop(reply.send(answer));
        }
        effects.into_iter().for_each(|effect| self.begin(effect));
        gone_effects.iter().for_each(|id| self.effects.forget(id));
        ended.iter().for_each(|terminal| self.terminals.collected(terminal));
        attached.into_iter().for_each(|subscriber| self.attach(subscriber));
        lacking.into_iter().for_each(|lacking| self.send_missing(lacking));
        resyncs.into_iter().for_each(|id| self.send_snapshot(id));
    }

    /// Sends a screen what it lacks of Runs that were over for it until now.
    fn send_missing(&mut self, lacking: Lacking) {
        let rows = self.store.read().map_err(OpError::from).and_then(|tx| {
            let missing = crate::ops::view::missing(&tx, &lacking.runs, lacking.has)?;
            Ok((missing, tx.last_event_seq()?))
        });
        let rows = rows.map_err(ErrorBody::from).or_log("look up Runs for a screen");
        let Some(((rows, n_older), seq)) = rows else { return };
        let (n_older_runs, now) = (Some(n_older), self.clock.now());
        self.hub.send_missing(lacking, Change { seq, n_older_runs, rows, now, ..Change::default() });
    }

    /// Begins an effect with the terminal it is about.
    fn begin(&self, open: OpenEffect) {
        let terminal = match &open.effect {
            Effect::CreateWorktree(_) | Effect::RemoveWorktree(_) => None,
            Effect::SpawnTerminal { terminal_id }
            | Effect::DeliverPrompt { terminal_id, .. }
            | Effect::CloseTerminal { terminal_id, .. } => Some(terminal_id),
        };
        let subject = terminal
            .and_then(|id| self.subject(id.as_str()).or_log("look up an effect's terminal").flatten());
        self.effects.begin(open, subject);
    }

    fn subject(&self, id: &str) -> Result<Option<Subject>, StoreError> {
        let tx = self.store.read()?;
        let Some(row) = tx.get::<Terminal>(id)? else { return Ok(None) };
        let made_in_it = tx.list::<Dispatch>("terminal", id, usize::MAX)?;
        let proofs = made_in_it.into_iter().map(|dispatch| dispatch.proof).collect();
        Ok(Some(Subject { row, proofs }))
    }

    /// Takes in the terminals that run and that the rows do not know, or take for lost: this database is not
    /// the one that they were started under, or an older state of it.
    pub fn take_in_found(&mut self) -> Result<(), ErrorBody> {
        let tx = self.store.read().map_err(OpError::from)?;
        let is_unknown = |id: &TerminalId| {
            let known = tx.get::<Terminal>(id.as_str()).or_log("look up a terminal that runs").flatten();
            known.is_none_or(|known| !is_alive(&known) && known.end.is_none())
        };
        let found = super::found::look(&self.terminals, is_unknown);
        drop(tx);
        if found.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        self.transact(&mut batch, CallerFacts::default(), |cx| take_in(cx, found).map(Keep::Commit))?;
        batch.commit(&self.store).map_err(|refused| store_body(&refused.error))?;
        Ok(())
    }

    /// Takes over the terminals that an earlier server left. What became of the others is told to this
    /// engine like any other end.
    pub fn reconnect(&self, inbox: &Inbox) -> Result<(), ErrorBody> {
        let tx = self.store.read().map_err(OpError::from)?;
        let live: Vec<Terminal> = tx.list("live", "", usize::MAX).map_err(OpError::from)?;
        let running = live.iter().filter(|terminal| terminal.life == TerminalLife::Running);
        for (terminal, recovered) in self.terminals.recover_all(running) {
            let command = match recovered {
                Recovered::Live => continue,
                Recovered::Ended(end) => Command::ended(&terminal.id, end),
                Recovered::Lost => Command::TerminalLost { terminal: terminal.id.clone() },
                Recovered::Unsettled => {
                    Arc::clone(&self.terminals).recover_later(terminal.clone());
                    continue;
                }
            };
            // The inbox has room for far more than there can be terminals; what is left over is found
            // again by the next server.
            inbox.try_send(command).or_log("note what became of a terminal");
        }
        for id in self.terminals.held().iter().filter(|id| live.iter().all(|terminal| terminal.id != **id)) {
            if let Some(ended) = tx.get::<Terminal>(id.as_str()).map_err(OpError::from)? {
                self.terminals.let_go_of_ended(&ended);
            }
        }
        super::scratch::sweep(self.terminals.state_dir(), &live);
        Ok(())
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Type { terminal, bytes } => self.terminals.take(&terminal, Typed::Machine(bytes)),
            Act::Prompt { terminal, text } => self.terminals.take(&terminal, Typed::Prompt(text)),
            Act::Hear { terminal, said } => self.terminals.hear_hook(&terminal, said),
            Act::Nudge { terminal, line, messages } => self.terminals.nudge(&terminal, &line, messages),
            Act::Focus { terminal } => self.hub.tell(&ServerFrame::Focus { terminal }),
            Act::Refresh => self.hub.ids().into_iter().for_each(|id| self.send_snapshot(id)),
        }
    }

    fn attach(&mut self, subscriber: Subscriber) {
        let id = subscriber.id;
        self.hub.add(subscriber);
        self.send_snapshot(id);
    }

    fn send_snapshot(&mut self, id: u64) {
        let rows = self.store.read().map_err(OpError::from).and_then(|tx| {
            let seq = tx.last_event_seq()?;
            Ok((crate::ops::view::snapshot(&tx)?, seq))
        });
        let Some((fresh, seq)) = rows.map_err(ErrorBody::from).or_log("make a snapshot") else { return };
        let rest = Snapshot { seq, live: self.terminals.live_rows(), now: self.clock.now() };
        self.hub.send_snapshot(id, fresh, rest);
    }

    /// The disk refused. Who waits hears why: what they wait for is kept under their request, and the next
    /// server may not be able to start.
    fn fail(mut self, why: &ErrorBody) -> Ended {
        for waiting in self.waits.take_all() {
            // A caller that left asks again anyway.
            drop(waiting.reply.send(Err(why.clone())));
        }
        self.end(Ended::Failed)
    }

    fn end(mut self, ended: Ended) -> Ended {
        let reason = match ended {
            // A screen that came back would start a server in a place that was done away with.
            Ended::Stopped | Ended::Displaced => STOPPED,
            Ended::Restarting => "restart",
            Ended::Failed => "the disk refused to store anything",
        };
        self.hub.close(reason);
        // Dropping the replies of waiting calls closes their connections; their callers come back to
        // the next server with the same request.
        drop(self.waits.take_all());
        ended
    }
}

/// In debug builds a command that breaks a rule of design 7 is aborted and reported.
fn check_invariants(tx: &Tx) -> Result<(), OpError> {
    let breaches = if cfg!(debug_assertions) { invariants::breaches_nearby(tx)? } else { Vec::new() };
    match breaches.is_empty() {
        true => Ok(()),
        false => Err(OpError::Bug(format!("a rule would be broken: {}", breaches.join("; ")))),
    }
}

/// A call that has to see something first is run again, so its first run leaves nothing. Hooks report with every
/// step of an agent and change a row once in a session; the disk is not to be kept busy by the others.
fn keep(cx: &Cx<'_>, method: &str, answer: Answer) -> Keep<Answer> {
    match answer {
        Answer::Done(_) if method == HookReport::METHOD && cx.tx.touched().is_empty() => Keep::Abort(answer),
        Answer::Done(_) | Answer::Wait(_) => Keep::Commit(answer),
        Answer::Look(_) => Keep::Abort(answer),
    }
}

enum Next {
    Command(Command),
    Deadline,
    Closed,
}
