//! What a verb works with: its transaction, the moment, fresh ids, the settings, and what the
//! server knows of the world. A verb has no other way to anything.

use super::error::OpError;
use super::look::{Look, Seen};
use crate::agent::Presets;
use crate::agent::hook::HookSaid;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, EffectId, IdSource, MessageId, PaneKey, RunId, TerminalId};
use crate::model::dispatch::Dispatch;
use crate::model::effect::{Effect, OpenEffect};
use crate::model::event::{Event, Fact};
use crate::model::message::Mailbox;
use crate::model::worktree::Place;
use crate::proto::envelope::Origin;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::ExportFormat;
use crate::store::tx::Tx;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rules that a person may set; resolved by `config` before the server starts.
#[derive(Debug, Clone)]
pub struct Rules {
    /// How deep workers may start workers; 1 means they may not (contract 3.10).
    pub max_depth: u32,
    /// The preset for `--agent` omitted.
    pub default_agent: Option<String>,
    /// The absolute path of this program, for briefs.
    pub orca_path: String,
    /// The state directory, as terminals get it in `ORCA_HOME`.
    pub state_dir: String,
    /// Set in every terminal: `TERM`, `COLORTERM`, `TERM_PROGRAM`.
    pub terminal_env: Vec<(String, String)>,
    /// The shell of terminals without a command.
    pub shell: String,
    /// The agents that are known.
    pub agents: Arc<Presets>,
    /// What the person set for each agent, by preset id.
    pub agent_wishes: BTreeMap<String, AgentWishes>,
    /// Agents without wishes of their own act without asking.
    pub is_auto_permission: bool,
    /// Idle agents are told in their terminal that mail waits.
    pub is_nudge_on: bool,
}

/// What the person set for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentWishes {
    pub is_disabled: bool,
    pub args: Vec<String>,
    pub is_auto_permission: Option<bool>,
}

/// What the server knows of the living world, asked without side effects.
pub trait World {
    /// Somebody waits on this mailbox, a Run's or another.
    fn is_awaited(&self, mailbox: &Mailbox) -> bool;
    /// The files of `files` that do not exist under `root`; a path that leaves it counts as missing.
    fn missing_files(&self, root: &str, files: &[String]) -> Vec<String>;
    /// The branch that is checked out in a folder now; None where there is none.
    fn branch(&self, folder: &str) -> Option<String>;
    /// What a live terminal shows; None when there is no process.
    fn live(&self, terminal: &TerminalId) -> Option<LiveFacts>;
    /// A screen is attached.
    fn has_screen(&self) -> bool;
    /// Lines of a terminal's output (live or archived).
    fn read_output(&self, terminal: &TerminalId, wish: &ReadWish) -> Option<OutputPage>;
    /// A part of a terminal's output for another program, from a line on (live or archived).
    fn export(&self, terminal: &TerminalId, format: ExportFormat, cursor: u64) -> Option<ExportPiece>;
}

/// A part of a terminal's output for another program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportPiece {
    pub text: String,
    /// The line to go on from.
    pub next: Option<u64>,
    /// `live`, `journal` or `archive`.
    pub source: &'static str,
}

/// A live terminal's facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveFacts {
    /// `working`, `blocked`, `idle`, `done`, `error` or `unknown`.
    pub activity: String,
    pub activity_detail: Option<String>,
    pub activity_since: Timestamp,
    pub last_output_at: Option<Timestamp>,
    pub title: String,
    /// The agent's process itself, not just the shell around it, is alive.
    pub is_process_alive: bool,
    /// The agent that runs there, also one that a person started in its shell.
    pub agent: Option<String>,
    /// What the activity is known from: `program`, `hook`, `title`, `progress`, `screen`, `nothing`.
    pub source: String,
    /// How often the agent began to work.
    pub n_turns: u64,
    /// It takes a paste as one piece (bracketed paste is on).
    pub takes_pastes: bool,
    /// A person typed something there and neither sent nor cleared it.
    pub has_draft: bool,
}

/// Which lines of a terminal's output are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadWish {
    /// The first line, by its absolute number; None for the newest tail.
    pub cursor: Option<u64>,
    pub limit: usize,
    /// The visible screen instead of the stream.
    pub is_screen: bool,
}

/// A page of output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputPage {
    pub lines: Vec<String>,
    pub oldest: u64,
    /// The number of the line after the last one of this page.
    pub next: u64,
    /// The number after the newest line there is.
    pub latest: u64,
    pub is_truncated: bool,
    pub is_archived: bool,
}

/// Who sent the call, before the verb says on whose behalf.
#[derive(Debug, Clone, Default)]
pub struct CallerFacts {
    pub origin: Origin,
    /// The terminal whose child the calling process is, by its parent chain.
    pub ancestry: Option<TerminalId>,
    /// No terminal is found above it where one would be.
    pub is_elsewhere: bool,
    /// The checkout around the caller's directory, where the call needs it.
    pub place: Option<Place>,
    /// The key under which receipts are kept.
    pub credential: String,
    /// The call comes from an attached screen: a person's own keys.
    pub is_screen: bool,
    /// What the call asked to see in its first run, in its second one.
    pub seen: Option<Result<Seen, ErrorBody>>,
    /// When the call was made, where it was kept for a while before it got here.
    pub said_at: Option<Timestamp>,
}

impl CallerFacts {
    /// A caller of whom only its environment is known.
    pub fn of_origin(origin: Origin) -> Self {
        let credential = origin.env_handle.clone().unwrap_or_else(|| String::from("user"));
        Self { origin, credential, ..Self::default() }
    }
}

/// Something to do once the transaction is durable that must never be repeated after a crash, so it
/// is not recorded: typing, resizing, waking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Bytes a caller wants typed as they are.
    Type { terminal: TerminalId, bytes: Vec<u8> },
    /// A text with its Enter, as one item of the terminal's queue (design 4).
    Prompt { terminal: TerminalId, text: String },
    /// A line for an agent at rest about messages that wait for it; given back if it is at rest no more.
    Nudge { terminal: TerminalId, line: String, messages: Vec<MessageId> },
    /// The hook of the agent there told what it does.
    Hear { terminal: TerminalId, said: HookSaid },
    /// Every attached screen goes to this terminal.
    Focus { terminal: TerminalId },
    /// Every attached screen gets everything anew: whole tables were cleared.
    Refresh,
}

/// A verb's answer.
#[derive(Debug)]
pub enum Answer {
    /// The reply.
    Done(Value),
    /// No reply yet: the server asks again after each commit, and at the deadline.
    Wait(Wait),
    /// No reply before this was looked at: nothing is kept, and the call is run again with what was seen.
    Look(Look),
}

/// A call that waits. It is data, stored with the receipt, so that a retry after a restart goes on
/// waiting instead of doing it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    pub on: WaitOn,
    pub deadline: Option<Timestamp>,
    pub began: Timestamp,
}

/// What a call waits for; each is answered by the `resume` of the file that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "for")]
pub enum WaitOn {
    /// `check --wait` of a Run's consumer.
    RunMail { run: RunId, generation: u64, types: Vec<String>, acknowledged: Option<Value>, by: String },
    /// `check --wait` of a worker or plain terminal.
    Mail { mailbox: String, types: Vec<String> },
    /// `ask`.
    Answer { message: String, timeout_ms: u64 },
    /// `worker-start`: the brief is delivered, or the start failed.
    WorkerStart { dispatch: DispatchId, timeout_ms: u64 },
    /// `worker-stop`, `worker-release`: the terminal is closed.
    WorkerEnd { dispatch: DispatchId, verb: String },
    /// `worktree create`, `terminal create`, `terminal close`: an effect has its outcome.
    Effect { effect: EffectId, then: Value },
    /// `terminal wait`.
    Terminal { terminal: TerminalId, condition: String, until: Timestamp },
    /// `terminal send --wait-submit`.
    Submit(Submit),
    /// `events --follow`: something after `since` that the filter lets through.
    Events { since: u64, filter: EventFilter },
}

/// A prompt on its way into an agent, with what was seen of the agent before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Submit {
    pub terminal: TerminalId,
    pub request_id: String,
    pub provider: String,
    pub n_bytes: usize,
    /// Turns that had begun.
    pub baseline: u64,
    pub was_working: bool,
    /// The server that was to type it.
    pub runtime_id: String,
}

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventFilter {
    pub run: Option<RunId>,
    /// Kinds, or the nouns in front of them; none: all.
    pub types: Vec<String>,
}

/// Why a waiting call is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Something was committed or a terminal's live state changed.
    Changed,
    /// Its deadline passed.
    Deadline,
}

/// What a transaction leaves for the server besides its rows.
#[derive(Debug, Default)]
pub struct Leftovers {
    pub events: Vec<Event>,
    pub effects: Vec<OpenEffect>,
    pub acts: Vec<Act>,
}

/// The context of one verb.
pub struct Cx<'a> {
    pub tx: Tx,
    pub now: Timestamp,
    pub ids: &'a mut dyn IdSource,
    pub rules: &'a Rules,
    pub world: &'a dyn World,
    /// This server's id; a new one for every start (contract 3.5 `runtime_epoch`).
    pub runtime_id: &'a str,
    pub caller: CallerFacts,
    /// The durable id of this call, where it is a mutation.
    pub(super) request_id: Option<String>,
    left: Leftovers,
    /// Who acts, for events: set by `caller::resolve`.
    pub(super) by: String,
    /// Whose Run the fleet block is of: set by `caller::resolve`.
    pub(super) voice: Voice,
}

/// Whose voice a call has, as far as `caller::resolve` found out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Voice {
    /// Nobody asked yet.
    #[default]
    Unknown,
    /// The person's.
    Person,
    /// A pane's.
    Pane(PaneKey),
}

impl<'a> Cx<'a> {
    /// A context for one call or outcome.
    pub fn new(
        tx: Tx,
        now: Timestamp,
        ids: &'a mut dyn IdSource,
        rules: &'a Rules,
        world: &'a dyn World,
        runtime_id: &'a str,
        caller: CallerFacts,
    ) -> Self {
        Self {
            tx,
            now,
            ids,
            rules,
            world,
            runtime_id,
            caller,
            request_id: None,
            left: Leftovers::default(),
            by: String::from("orca"),
            voice: Voice::Unknown,
        }
    }

    /// When the call was made; never later than now, whatever the caller's clock said.
    pub fn said_at(&self) -> Timestamp {
        self.caller.said_at.map_or(self.now, |said_at| said_at.min(self.now))
    }

    /// Records a fact in this transaction. One that is about an attempt belongs to its Task's timeline too.
    pub fn emit(&mut self, mut fact: Fact) -> Result<(), OpError> {
        if let (None, Some(id)) = (&fact.task_id, &fact.dispatch_id)
            && let Some(dispatch) = self.tx.get::<Dispatch>(id.as_str())?
        {
            fact.task_id = Some(dispatch.task_id);
            fact.run_id = fact.run_id.or(Some(dispatch.run_id));
        }
        let by = self.by.clone();
        let event = self.tx.append_event(fact, &by, self.now)?;
        self.left.events.push(event);
        Ok(())
    }

    /// Records that something must be done, to be done after the commit; the outcome comes back to
    /// `ops::advance` under the same id, with `then` as it was given here.
    pub fn request(
        &mut self,
        effect: Effect,
        dispatch_id: Option<DispatchId>,
        then: Option<Value>,
    ) -> Result<EffectId, OpError> {
        let id = EffectId::new(self.ids);
        let open = OpenEffect { id: id.clone(), effect, dispatch_id, then, requested_at: self.now };
        self.tx.put(&open)?;
        self.left.effects.push(open);
        Ok(id)
    }

    /// Leaves something to be done after the commit that is not repeated after a crash.
    pub fn act(&mut self, act: Act) {
        self.left.acts.push(act);
    }

    /// Ends the verb: the transaction and what it leaves.
    pub fn finish(self) -> (Tx, Leftovers) {
        (self.tx, self.left)
    }
}
