//! One live terminal, shared by its pump (the thread that reads it), the connections that type into it
//! and draw it, and the verbs that ask about it.
//!
//! Everything typed passes one queue: a person's keys, raw text and prompts of machines. A machine's
//! item waits while a person's draft stands in the terminal, and a paste with its Enter is one item
//! (design 4, 7.8). Nothing here blocks on a program that does not read.

use super::guest::{Change, Guest};
use super::idle;
use super::intake::Intake;
use super::screens::Screens;
use crate::agent::Presets;
use crate::agent::detect::{self, AgentState, Evidence, ProgramStatus, Progress, Source};
use crate::agent::hook::{HookSaid, HookStatus, Meaning};
use crate::agent::preset::Preset;
use crate::agent::prompt::{self, Step};
use crate::base::clock::{Clock, Timestamp};
use crate::base::id::{MessageId, TerminalId};
use crate::base::input::{InputEvent, Key, KeyPhase};
use crate::base::report::OrLog as _;
use crate::base::size::TermSize;
use crate::ops::cx::{LiveFacts, OutputPage, ReadWish};
use crate::proto::event::LiveRow;
use crate::pty::event::{ProgressState, TermEvent};
use crate::pty::keys;
use crate::pty::link;
use crate::pty::modes::InputModes;
use crate::pty::snapshot::{PaneRows, Patch};
use crate::pty::term::Term;
use crate::pty::wire::ChildEnd;
use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Bytes that may wait for a program that does not read; then whoever types waits.
const MAX_QUEUED: usize = 1 << 20;
/// The file in a terminal's folder with what a person typed under an earlier server, as bytes for the program.
const UNTYPED: &str = "untyped";

/// One thing to be typed.
#[derive(Debug)]
pub enum Item {
    /// A person's keys or paste.
    Bytes(Vec<u8>),
    /// An answer of the terminal itself, which the program waits for, or what the server before could not
    /// type any more. Comes before everything but what of its kind came first.
    First(Vec<u8>),
    /// What a machine wants typed; waits for a person's draft.
    Machine(Vec<u8>),
    /// A prompt with its settling and its Enter; waits for a person's draft.
    Prompt(Prompt),
    /// A line for an agent at rest, about these messages: typed at once or given back.
    Nudge { steps: VecDeque<Step>, messages: Vec<MessageId> },
}

/// A prompt, or what is left of it to type.
#[derive(Debug)]
pub struct Prompt {
    pub steps: VecDeque<Step>,
    /// Where it is noted how far it was typed ([`Typing`]), for the server after this one.
    pub mark: Option<PathBuf>,
}

/// How far a marked prompt was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    Begun,
    /// With its Enter.
    Sent,
}

impl Typing {
    /// Reads a mark; None where nothing was typed.
    pub fn read(mark: &Path) -> Option<Self> {
        match std::fs::read(mark).ok()?.as_slice() {
            b"sent" => Some(Self::Sent),
            _ => Some(Self::Begun),
        }
    }

    /// Leaves a mark. Not being able to costs a second typing after a crash, nothing else.
    pub fn write(self, mark: &Path) {
        let word = match self {
            Self::Begun => "begun",
            Self::Sent => "sent",
        };
        std::fs::write(mark, word).or_log("note how far a brief was typed");
    }
}

/// What somebody wants typed, before it is known how this program takes it.
#[derive(Debug)]
pub enum Typed {
    /// What a person did.
    Person(InputEvent),
    /// A machine's bytes.
    Machine(Vec<u8>),
    /// A machine's prompt: paste, pause, Enter, as one item.
    Prompt(String),
}

/// What is to be typed, in order.
#[derive(Debug, Default)]
pub struct Queue {
    pub items: VecDeque<Item>,
    /// The rest of an item that the program has not read yet.
    pub partial: VecDeque<u8>,
    /// A person typed something and neither sent nor cleared it.
    pub has_draft: bool,
    pub n_bytes: usize,
    /// When somebody last typed, a person or a machine.
    pub typed_at: Option<Instant>,
}

impl Queue {
    fn add(&mut self, item: Item) {
        self.n_bytes += match &item {
            Item::Bytes(bytes) | Item::First(bytes) | Item::Machine(bytes) => bytes.len(),
            Item::Prompt(_) | Item::Nudge { .. } => 0,
        };
        self.items.push_back(item);
    }

    /// Adds what comes before everything that is typed, in the order in which it came.
    fn add_first(&mut self, bytes: Vec<u8>) {
        self.n_bytes += bytes.len();
        let n_before = self.items.iter().take_while(|item| matches!(item, Item::First(_))).count();
        self.items.insert(n_before, Item::First(bytes));
    }

    /// Whether a prompt was begun whose rest is still to be typed.
    pub fn has_begun_prompt(&self) -> bool {
        matches!(self.items.front(), Some(Item::Prompt(prompt)) if !is_fresh(&prompt.steps))
    }

    /// Whether anything was begun whose rest is still to be typed.
    pub fn is_half_typed(&self) -> bool {
        // A person's keys wait for nothing but the program.
        let has_keys = self.items.iter().any(|item| matches!(item, Item::Bytes(_) | Item::First(_)));
        self.has_begun_prompt() || has_keys || !self.partial.is_empty()
    }
}

/// The screen and everything that is known of the program.
pub struct Inner {
    pub term: Term,
    pub program: Option<ProgramStatus>,
    /// What its hooks told last. It ends with the process and with the server: the next one waits for the
    /// next report.
    pub hook: Option<HookStatus>,
    pub progress: Option<Progress>,
    pub last_output_at: Option<Timestamp>,
    pub live: LiveRow,
    pub state: AgentState,
    /// Which evidence `state` comes from.
    pub source: Source,
    /// How often the agent began to work.
    pub n_turns: u64,
    /// The engine does not know of all that was seen.
    pub has_news: bool,
    pub end: Option<ChildEnd>,
    /// The end is recorded and the holder was let go.
    pub is_let_go: bool,
}

impl Inner {
    /// The agent works: a turn began, unless it did so already.
    fn works(&mut self) {
        if self.state != AgentState::Working {
            self.state = AgentState::Working;
            self.n_turns += 1;
            self.has_news = true;
        }
    }

    /// Takes in what the hook of the agent told.
    pub fn hear_hook(&mut self, said: &HookSaid) {
        if self.end.is_some() {
            return;
        }
        self.hook = HookStatus::after(self.hook.take(), said, Clock::System.now());
        let does_program_tell = self.program.as_ref().is_some_and(|program| program.state.is_some());
        // A short turn may be over before anybody looks.
        if said.meaning == Meaning::Prompt && !does_program_tell {
            self.works();
        }
    }

    /// What was said is over with whoever said it.
    pub fn forget_said(&mut self) {
        (self.program, self.hook, self.progress) = (None, None, None);
    }

    /// Takes in what a program says of itself. True when its state may have changed by that.
    pub fn hear(&mut self, event: &TermEvent) -> bool {
        match event {
            TermEvent::Status(said) => {
                let (kind, app) = (said.kind.as_deref(), said.app.as_deref());
                self.program = ProgramStatus::from_fields(&said.state, kind, app, said.message.as_deref());
                // A short turn may be over before anybody looks.
                if self.program.as_ref().is_some_and(|program| program.state == Some(AgentState::Working)) {
                    self.works();
                }
                true
            }
            TermEvent::Agent(said) => {
                let Some(meaning) = Meaning::of_state(&said.state) else { return false };
                let (tool, input) = (&said.tool_name, &said.tool_input);
                self.hear_hook(&HookSaid::new(meaning, tool, input, said.interrupted));
                true
            }
            TermEvent::Progress { state, .. } => {
                self.progress = Some(match state {
                    ProgressState::None => Progress::Clear,
                    ProgressState::Running | ProgressState::Indeterminate => Progress::Busy,
                    ProgressState::Failed => Progress::Failed,
                    ProgressState::Paused => Progress::Paused,
                });
                true
            }
            TermEvent::Bell
            | TermEvent::Notify { .. }
            | TermEvent::Clipboard { .. }
            | TermEvent::ScreenLost
            | TermEvent::Title(_)
            | TermEvent::Cwd(_)
            | TermEvent::PromptMark { .. }
            | TermEvent::AltScreen(_) => false,
        }
    }
}

/// A live terminal, or one whose process ended while this server knew it.
pub struct Pane {
    pub id: TerminalId,
    pub dir: PathBuf,
    pub child_pid: u32,
    /// The agent it was started with; None for a shell.
    own_agent: Option<Arc<Preset>>,
    guest: Mutex<Guest>,
    presets: Arc<Presets>,
    pub master: OwnedFd,
    inner: Mutex<Inner>,
    intake: Mutex<Intake>,
    /// Answers of the terminal in the order of their questions, until they are in the queue. Whoever holds the
    /// screen or the queue may take this lock.
    answers: Mutex<Vec<u8>>,
    /// The picture as published; beside `inner`, so that no screen waits for a flood.
    rows: Mutex<PaneRows>,
    /// Told when the process ended or its state was looked at.
    changed: Condvar,
    queue: Mutex<Queue>,
    /// The modes keys are encoded with; beside `inner`, so that a key never waits for a flood.
    modes: Mutex<InputModes>,
    /// Told when the queue has room again.
    pub room: Notify,
    wake: Mutex<UnixStream>,
    orders: Mutex<Vec<Order>>,
    watchers: Mutex<Vec<Weak<Screens>>>,
    has_person: AtomicBool,
    /// A person typed and sees no answer yet.
    is_echo_due: AtomicBool,
}

/// What only the pump can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Kill {
        grace_ms: u32,
    },
    /// The hook of the agent told something.
    Hear(HookSaid),
    /// The end is recorded; the holder may go.
    Collected,
}

/// The steps that type something; waiting is done by whoever delivers a brief.
pub fn is_typed(step: &Step) -> bool {
    match step {
        Step::Type(_) | Step::Paste(_) | Step::Settle { .. } | Step::Enter => true,
        Step::AwaitReady { .. } | Step::EnterAgain { .. } => false,
    }
}

impl std::fmt::Debug for Pane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pane").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A lock whose holder panicked still guards usable data: a screen that may be out of date.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a pane is made of.
pub struct PaneParts {
    pub id: TerminalId,
    pub dir: PathBuf,
    pub child_pid: u32,
    /// The id of the agent it was started with.
    pub agent: Option<String>,
    pub presets: Arc<Presets>,
    pub master: OwnedFd,
    pub term: Term,
    /// What the program said of itself before this server listened.
    pub said: Vec<TermEvent>,
    /// When it last wrote, as far as is known.
    pub last_output_at: Option<Timestamp>,
    pub intake: Intake,
    /// What it was asked before this server listened.
    pub answers: Vec<u8>,
    pub end: Option<ChildEnd>,
    pub wake: UnixStream,
}

/// What an earlier server kept of a person's keys, once.
fn take_untyped(dir: &Path) -> Option<Vec<u8>> {
    let path = dir.join(UNTYPED);
    let untyped = std::fs::read(&path).ok()?; // usually there is none
    std::fs::remove_file(&path).or_log("forget what was typed")?;
    Some(untyped)
}

impl Pane {
    /// A pane around a terminal that was just taken over.
    pub fn new(parts: PaneParts) -> Self {
        let now = Clock::System.now();
        let live = LiveRow {
            terminal: parts.id.clone(),
            title: parts.term.title().to_owned(),
            activity: String::from("unknown"),
            activity_detail: None,
            activity_since: now,
            last_output_at: None,
            is_input_held: false,
            agent: None,
        };
        let mut queue = Queue { has_draft: idle::had_draft(&parts.dir), ..Queue::default() };
        if let Some(untyped) = take_untyped(&parts.dir) {
            queue.add_first(untyped);
        }
        let own_agent = parts.agent.as_deref().filter(|agent| *agent != "shell");
        let own_agent = own_agent.and_then(|agent| parts.presets.get(agent)).cloned().map(Arc::new);
        let modes = Mutex::new(parts.term.modes());
        let mut inner = Inner {
            term: parts.term,
            program: None,
            hook: None,
            progress: None,
            last_output_at: parts.last_output_at,
            live,
            state: AgentState::Unknown,
            source: Source::Nothing,
            n_turns: 0,
            has_news: false,
            is_let_go: parts.end.is_some(),
            end: parts.end,
        };
        for event in &parts.said {
            inner.hear(event);
        }
        Self {
            id: parts.id,
            dir: parts.dir,
            child_pid: parts.child_pid,
            own_agent,
            guest: Mutex::default(),
            presets: parts.presets,
            master: parts.master,
            inner: Mutex::new(inner),
            intake: Mutex::new(parts.intake),
            answers: Mutex::new(parts.answers),
            rows: Mutex::new(PaneRows::new()),
            changed: Condvar::new(),
            queue: Mutex::new(queue),
            modes,
            room: Notify::new(),
            wake: Mutex::new(parts.wake),
            orders: Mutex::new(Vec::new()),
            watchers: Mutex::new(Vec::new()),
            has_person: AtomicBool::new(false),
            is_echo_due: AtomicBool::new(false),
        }
    }

    /// Notes that a person typed here. Gives whether that was noted before.
    pub fn note_person(&self) -> bool {
        self.has_person.swap(true, Ordering::Relaxed)
    }

    /// Whether a person typed and sees no answer yet.
    pub fn is_echo_due(&self) -> bool {
        self.is_echo_due.load(Ordering::Relaxed)
    }

    /// Whether output that comes now answers what a person typed; once for each time.
    pub fn take_echo_due(&self) -> bool {
        self.is_echo_due.swap(false, Ordering::Relaxed)
    }

    /// The screen and state, locked.
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// What was read and is not drawn, locked. After [`Pane::inner`], where both are needed.
    pub fn intake(&self) -> MutexGuard<'_, Intake> {
        lock(&self.intake)
    }

    /// Draws what was read. [`Pane::answer`] is due then, without the lock of the screen.
    pub fn draw(&self, inner: &mut Inner) {
        let bytes = self.intake().take();
        self.feed(inner, &bytes);
    }

    fn feed(&self, inner: &mut Inner, bytes: &[u8]) {
        if !bytes.is_empty() {
            inner.term.process(bytes);
            self.note_modes(inner.term.modes());
            lock(&self.answers).append(&mut inner.term.take_replies());
        }
    }

    /// Queues the answers of the terminal to its program.
    pub fn answer(&self) {
        if lock(&self.answers).is_empty() {
            return;
        }
        // Whoever comes first takes all: they keep their order, whoever drew what they answer.
        let mut queue = self.queue();
        let answers = std::mem::take(&mut *lock(&self.answers));
        if !answers.is_empty() {
            queue.add_first(answers);
        }
    }

    /// The queue, locked.
    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Keeps the modes for keys up to date.
    fn note_modes(&self, modes: InputModes) {
        *lock(&self.modes) = modes;
    }

    /// The pump looks at its orders and its queue.
    pub fn wake(&self) {
        // A full pipe means that it is awake already.
        drop(lock(&self.wake).write(&[1]));
    }

    /// Tells waiters that the state was looked at or the process ended.
    pub fn tell_changed(&self) {
        self.changed.notify_all();
    }

    /// Orders something of the pump.
    pub fn order(&self, order: Order) {
        lock(&self.orders).push(order);
        self.wake();
    }

    /// What was ordered since the last time.
    pub fn take_orders(&self) -> Vec<Order> {
        std::mem::take(&mut lock(&self.orders))
    }

    /// Types what a person did. Gives whether it was a key or paste of theirs, for the takeover rule.
    pub fn input(&self, event: &InputEvent) -> bool {
        let modes = *lock(&self.modes);
        let bytes = keys::encode(event, &modes);
        if bytes.is_empty() {
            return false;
        }
        let is_typed = is_typing(event);
        // Before the program can answer.
        self.is_echo_due.fetch_or(is_typed, Ordering::Relaxed);
        let mut queue = self.queue();
        if is_typed {
            let has_draft = leaves_draft(event, queue.has_draft);
            queue.set_draft(&self.dir, has_draft);
            queue.typed_at = Some(Instant::now());
        }
        let is_idle = queue.items.is_empty() && queue.partial.is_empty();
        // The shortest way for a key: straight into the PTY, if nothing is before it.
        let n_written = if is_idle { link::write(&self.master, &bytes).unwrap_or(0) } else { 0 };
        let rest = bytes.get(n_written..).unwrap_or_default();
        let has_waiting = !queue.items.is_empty();
        if !rest.is_empty() {
            queue.n_bytes += rest.len();
            queue.items.push_back(Item::Bytes(rest.to_vec()));
        }
        drop(queue);
        if !rest.is_empty() || has_waiting {
            self.wake();
        }
        is_typed
    }

    /// Types or queues what somebody wants typed.
    pub fn take(&self, typed: Typed) {
        match typed {
            Typed::Person(event) => drop(self.input(&event)),
            Typed::Machine(bytes) => self.type_straight(bytes),
            Typed::Prompt(text) => {
                let steps = match self.preset() {
                    Some(preset) => prompt::injection(&preset, &text).into_iter().filter(is_typed).collect(),
                    None => [Step::Paste(text), Step::Settle { ms: 50 }, Step::Enter].into(),
                };
                self.push(Item::Prompt(Prompt { steps, mark: None }));
            }
        }
    }

    /// Types a machine's bytes at once where nothing is before them, else in their turn: what is in the
    /// PTY is the program's, whatever becomes of this server.
    fn type_straight(&self, bytes: Vec<u8>) {
        let mut queue = self.queue();
        let is_free = queue.items.is_empty() && queue.partial.is_empty() && !queue.has_draft;
        let n_written = if is_free { link::write(&self.master, &bytes).unwrap_or(0) } else { 0 };
        if n_written > 0 {
            queue.typed_at = Some(Instant::now());
        }
        // Under the same lock: nobody else's item comes between the two halves.
        if let Some(rest) = bytes.get(n_written..).filter(|rest| !rest.is_empty()) {
            queue.add(Item::Machine(rest.to_vec()));
            drop(queue);
            self.wake();
        }
    }

    /// Keeps what a person typed and the program has not read, for the next server to type.
    pub fn keep_untyped(&self) {
        let mut queue = self.queue();
        let mut untyped: Vec<u8> = queue.partial.drain(..).collect();
        queue.items.retain_mut(|item| match item {
            Item::Bytes(bytes) | Item::First(bytes) => {
                untyped.append(bytes);
                false
            }
            Item::Machine(_) | Item::Nudge { .. } | Item::Prompt(_) => true,
        });
        if !untyped.is_empty() {
            std::fs::write(self.dir.join(UNTYPED), &untyped).or_log("keep what was typed");
        }
    }

    /// Whether more may be typed now.
    pub fn has_room(&self) -> bool {
        self.queue().n_bytes < MAX_QUEUED
    }

    /// Queues an item of a machine.
    pub fn push(&self, item: Item) {
        self.queue().add(item);
        self.wake();
    }

    /// Takes prompts that wait and were not begun out of the queue. Says whether there was one.
    pub fn withdraw_prompts(&self) -> bool {
        let mut queue = self.queue();
        let n_before = queue.items.len();
        queue.items.retain(|item| !matches!(item, Item::Prompt(prompt) if is_fresh(&prompt.steps)));
        queue.items.len() < n_before
    }

    /// Sets the size of the terminal, if it is another one.
    pub fn resize(&self, size: TermSize) {
        let mut inner = self.inner();
        if inner.term.size() == size {
            return;
        }
        // What was read before was meant for the old size, in the journal too.
        let mut intake = self.intake();
        self.feed(&mut inner, &intake.take());
        inner.term.resize(size);
        intake.resize(size);
        drop(intake);
        if inner.end.is_none() {
            link::resize(&self.master, size).or_log("tell a program its size");
        }
        drop(inner);
        self.answer();
        // It has not heard of what was drawn here.
        self.wake();
        self.publish();
    }

    /// Takes the screen as it is now, and sends it to the clients that show it where it had changed.
    pub fn publish(&self) {
        let inner = self.inner();
        let is_changed = lock(&self.rows).update(&inner.term);
        drop(inner);
        if is_changed {
            let watchers: Vec<Arc<Screens>> = lock(&self.watchers).iter().filter_map(Weak::upgrade).collect();
            watchers.iter().for_each(|screens| screens.push(self));
        }
    }

    /// Adds a screen that wants to know when there is something new to draw.
    pub fn watch(&self, screens: &Arc<Screens>) {
        let mut watchers = lock(&self.watchers);
        watchers.retain(|watcher| watcher.upgrade().is_some_and(|known| !Arc::ptr_eq(&known, screens)));
        watchers.push(Arc::downgrade(screens));
    }

    /// Rows and meta newer than `version`, or nothing.
    pub fn patch_since(&self, version: u64) -> Option<Patch> {
        let rows = lock(&self.rows);
        (rows.version() > version).then(|| rows.newer_than(version))
    }

    /// What is known of the program at this moment.
    pub fn live_row(&self) -> LiveRow {
        let mut live = self.inner().live.clone();
        let queue = self.queue();
        live.is_input_held = queue.has_draft
            && queue.items.iter().any(|item| !matches!(item, Item::Bytes(_) | Item::First(_)));
        live
    }

    /// The agent that runs here: the one it was started with, else the one that was last seen in the
    /// foreground of its shell.
    pub fn preset(&self) -> Option<Arc<Preset>> {
        self.own_agent.clone().or_else(|| lock(&self.guest).preset().cloned())
    }

    /// Looks whether an agent was started by hand or has ended. True when that changed.
    fn look_at_guest(&self, inner: &mut Inner) -> bool {
        if self.own_agent.is_some() {
            return false;
        }
        let change = lock(&self.guest).look(&self.master, self.child_pid, &self.presets);
        if change == Change::Left {
            inner.forget_said();
        }
        change != Change::Same
    }

    /// The same for verbs.
    pub fn live_facts(&self) -> LiveFacts {
        // Before the other lock: whoever types takes them in this order.
        let has_draft = self.queue().has_draft;
        let mut inner = self.inner();
        // It may have been started a moment ago, and not have written anything since.
        if self.look_at_guest(&mut inner) {
            self.look(&mut inner);
        }
        let live = &inner.live;
        LiveFacts {
            activity: live.activity.clone(),
            activity_detail: live.activity_detail.clone(),
            activity_since: live.activity_since,
            last_output_at: inner.last_output_at,
            title: live.title.clone(),
            is_process_alive: inner.end.is_none(),
            agent: live.agent.clone(),
            source: inner.source.as_str().to_owned(),
            n_turns: inner.n_turns,
            takes_pastes: inner.term.modes().is_bracketed_paste,
            has_draft,
        }
    }

    /// Lines of the output.
    pub fn read_output(&self, wish: &ReadWish) -> OutputPage {
        page_of(&self.inner().term, wish)
    }

    /// Everything there is to read while a full-screen program is up: what it shows is wiped when it
    /// ends. None for other programs, whose lines stay.
    pub fn fleeting_output(&self) -> Option<OutputPage> {
        let inner = self.inner();
        let all = ReadWish { cursor: Some(0), limit: usize::MAX, is_screen: false };
        inner.term.is_alt_screen().then(|| page_of(&inner.term, &all))
    }

    /// Looks at the program's state with what is known now.
    pub fn look(&self, inner: &mut Inner) {
        self.look_at_guest(inner);
        let preset = self.preset();
        let screen = inner.term.screen_lines();
        let title = Some(inner.term.title()).filter(|title| !title.is_empty());
        let (program, progress) = (inner.program.as_ref(), inner.progress);
        let evidence = Evidence { program, hook: None, title, progress, screen: &screen };
        let shown = detect::detect(preset.as_deref(), &evidence);
        let now = Clock::System.now();
        let told = inner.hook.take().filter(|told| told.fresh_for_ms(now) > 0);
        inner.hook = told.and_then(|told| told.against(shown.state));
        let found = match inner.hook.as_ref() {
            Some(_) => detect::detect(preset.as_deref(), &Evidence { hook: inner.hook.as_ref(), ..evidence }),
            None => shown,
        };
        let activity = activity_word(found.state);
        let detail = if found.message.is_empty() { found.explanation } else { found.message };
        let detail = found.state.is_blocked().then_some(detail);
        let title = inner.term.title().to_owned();
        let agent = preset.map(|preset| preset.id.clone());
        let is_new = inner.live.activity != activity
            || inner.live.agent != agent
            || inner.live.activity_detail != detail
            || inner.live.title != title;
        if inner.live.activity != activity {
            inner.live.activity_since = now;
        }
        if found.state == AgentState::Working {
            inner.works();
        }
        inner.state = found.state;
        inner.source = found.source;
        inner.live.agent = agent;
        inner.live.activity = activity.to_owned();
        inner.live.activity_detail = detail;
        inner.live.title = title;
        inner.live.last_output_at = inner.last_output_at;
        inner.has_news |= is_new;
    }

    /// Whether the agent takes a prompt now; None where its preset cannot tell.
    pub fn is_ready(&self) -> Option<bool> {
        let inner = self.inner();
        let screen = inner.term.screen_lines();
        let evidence = Evidence {
            program: inner.program.as_ref(),
            hook: inner.hook.as_ref(),
            title: Some(inner.term.title()),
            progress: inner.progress,
            screen: &screen,
        };
        detect::is_ready(&*self.preset()?, &evidence)
    }

    /// Waits until `is_so`, looking again at every change, at most `patience`. Gives whether it is.
    pub fn wait_until(&self, patience: Duration, mut is_so: impl FnMut(&Inner) -> bool) -> bool {
        let began = std::time::Instant::now();
        let mut inner = self.inner();
        loop {
            if is_so(&inner) {
                return true;
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            let turn = left.min(Duration::from_millis(100));
            inner = self.changed.wait_timeout(inner, turn).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Nothing of the prompt was typed yet.
pub fn is_fresh(steps: &VecDeque<Step>) -> bool {
    steps.iter().any(|step| matches!(step, Step::Paste(_)))
}

fn activity_word(state: AgentState) -> &'static str {
    match state {
        AgentState::Permission | AgentState::Question | AgentState::Auth => "blocked",
        AgentState::Working
        | AgentState::Idle
        | AgentState::Done
        | AgentState::Error
        | AgentState::Unknown => state.as_str(),
    }
}

/// A page of a terminal's text. A full-screen program writes no lines: what its screen shows now
/// stands behind the newest line, and has no numbers.
pub fn page_of(term: &Term, wish: &ReadWish) -> OutputPage {
    let screen = if wish.is_screen || term.is_alt_screen() { shown_lines(term) } else { Vec::new() };
    if wish.is_screen {
        let skipped = screen.len().saturating_sub(wish.limit);
        return OutputPage {
            lines: last(screen, wish.limit),
            is_truncated: skipped > 0,
            ..OutputPage::default()
        };
    }
    let all = term.text_lines(u64::MAX, 0);
    let tail = all.end.saturating_sub(wish.limit.saturating_sub(screen.len()) as u64);
    let text = term.text_lines(wish.cursor.unwrap_or(tail), wish.limit);
    let next = text.first + text.lines.len() as u64;
    let room = if next < text.end { 0 } else { wish.limit - text.lines.len() };
    let is_truncated = text.first > text.oldest || next < text.end || screen.len() > room;
    let mut lines = text.lines;
    lines.extend(last(screen, room));
    OutputPage { is_truncated, lines, oldest: text.oldest, next, latest: text.end, is_archived: false }
}

/// The rows of the screen without the blank ones at its end.
fn shown_lines(term: &Term) -> Vec<String> {
    let mut lines = term.screen_text();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines
}

fn last(mut lines: Vec<String>, limit: usize) -> Vec<String> {
    lines.split_off(lines.len().saturating_sub(limit))
}

fn is_typing(event: &InputEvent) -> bool {
    match event {
        InputEvent::Key(key) => key.phase != KeyPhase::Release,
        InputEvent::Paste(_) => true,
        InputEvent::Mouse(_) | InputEvent::Focus(_) => false,
    }
}

/// Whether a draft stands in the terminal after this: Enter sends it, Ctrl-C and Ctrl-U clear it.
fn leaves_draft(event: &InputEvent, had_draft: bool) -> bool {
    match event {
        InputEvent::Paste(_) => true,
        InputEvent::Key(key) => match key.key {
            Key::Enter => key.mods.is_shift || key.mods.is_alt,
            Key::Char('c' | 'u' | 'd') if key.mods.is_ctrl => false,
            Key::Char(_) if !key.mods.is_ctrl => true,
            _ => had_draft,
        },
        InputEvent::Mouse(_) | InputEvent::Focus(_) => had_draft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::input::{KeyEvent, Mods};
    use crate::pty::term::TermConfig;

    #[test]
    fn answers_come_before_what_is_typed_and_in_the_order_of_their_questions() {
        let mut queue = Queue::default();
        queue.add(Item::Bytes(b"keys".to_vec()));
        for answer in ["1", "2", "3"] {
            queue.add_first(answer.into());
        }
        let order = queue.items.iter().map(|item| match item {
            Item::Bytes(bytes) | Item::First(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Item::Machine(_) | Item::Prompt(_) | Item::Nudge { .. } => String::new(),
        });
        assert_eq!(order.collect::<Vec<_>>(), ["1", "2", "3", "keys"]);
        assert_eq!(queue.n_bytes, 7);
    }

    #[test]
    fn a_draft_stands_until_it_is_sent_or_cleared() {
        let key = |key, is_ctrl, is_shift| {
            let mods = Mods { is_ctrl, is_shift, ..Mods::NONE };
            InputEvent::Key(KeyEvent::press(key, mods))
        };
        let mut has_draft = false;
        let mut check = |event: InputEvent, expected: bool| {
            has_draft = leaves_draft(&event, has_draft);
            assert_eq!(has_draft, expected, "{event:?}");
        };
        check(key(Key::Left, false, false), false);
        check(key(Key::Char('h'), false, false), true);
        check(key(Key::Left, false, false), true);
        check(key(Key::Enter, false, true), true);
        check(key(Key::Enter, false, false), false);
        check(InputEvent::Paste(String::from("x")), true);
        check(key(Key::Char('c'), true, false), false);
    }

    #[test]
    fn what_a_full_screen_program_shows_stands_behind_the_lines_until_it_ends() {
        let mut term = Term::new(TermSize::clamped(4, 20), TermConfig::default());
        term.process(b"1\r\n2\r\n3\r\n4\r\n5\r\n\x1b[?1049h\x1b[Hshown\r\nnow");
        let page = |term: &Term, cursor, limit| page_of(term, &ReadWish { cursor, limit, is_screen: false });
        let whole = page(&term, Some(0), usize::MAX);
        assert_eq!(whole.lines, ["1", "2", "shown", "now"]);
        assert_eq!((whole.next, whole.latest, whole.is_truncated), (2, 2, false));
        let tail = page(&term, None, 3);
        assert_eq!(
            (tail.lines, tail.is_truncated),
            (["2", "shown", "now"].map(str::to_owned).to_vec(), true)
        );
        assert_eq!(page(&term, None, 1).lines, ["now"]);
        assert_eq!(page(&term, Some(0), 1).lines, ["1"]);
        assert_eq!(page(&term, Some(2), 9).lines, ["shown", "now"]);
        term.process(b"\x1b[?1049lbye");
        assert_eq!(page(&term, Some(whole.latest), 9).lines, ["3", "4", "5", "bye"]);
    }
}
