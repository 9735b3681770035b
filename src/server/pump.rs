//! The thread of one live terminal: reads the PTY, feeds the emulation, answers, publishes, types.
//!
//! It takes at most 256 KiB a turn, and has nobody else's work to do, so a flood in one pane slows no
//! other. The first change after quiet or after a key is published at once, the
//! next ones at most every 16 ms; synchronized updates are published as one, at the latest after
//! 150 ms (terminal.md 5.5).

use super::command::{Command, Inbox};
use super::idle::RestTeller;
use super::pane::{Inner, Item, Order, Pane, Prompt, Queue, Typing, is_fresh};
use super::terminals::KILL_GRACE;
use crate::agent::prompt::{Step, paste_bytes};
use crate::base::clock::Clock;
use crate::base::report::{OrLog as _, log};
use crate::base::sched::{self, Class};
use crate::pty::event::TermEvent;
use crate::pty::holder;
use crate::pty::link::{self, Link, Output};
use crate::pty::wire::ChildEnd;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FRAME: Duration = Duration::from_millis(16);
const SYNC_PATIENCE: Duration = Duration::from_millis(150);
/// How often the program's state is looked at while output comes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The most bytes that are taken in at once when the process ended.
const MAX_LAST_WORDS: usize = 1 << 20;
/// How long a prompt waits for its program to show something of it, before Enter is pressed all the same.
const UNSEEN: Duration = Duration::from_secs(2);
/// From so many bytes on, more is read while they are drawn.
const FLOOD: usize = 64 << 10;
const READER_STACK: usize = 64 << 10;

/// Notices of programs for the persons at the screens.
pub type Notices = tokio::sync::broadcast::Sender<(crate::base::id::TerminalId, TermEvent)>;

/// Runs until the process ended and its end was recorded, or until the server goes.
pub struct Pump {
    pub pane: Arc<Pane>,
    pub link: Link,
    pub wake: UnixStream,
    pub inbox: Inbox,
    pub notices: Notices,
    rest: RestTeller,
    published_at: Instant,
    publish_due: Option<Instant>,
    sync_since: Option<Instant>,
    look_due: Option<Instant>,
    looked_at: Instant,
    /// A prompt is being typed and settles until then.
    pause_until: Option<Instant>,
    /// How long it settles from when its program shows something; a busy machine may take its time to.
    settles_for: Option<Duration>,
    class: Class,
    is_output_over: bool,
    has_told_end: bool,
}

impl Pump {
    /// A pump over a terminal that was just taken over.
    pub fn new(pane: Arc<Pane>, link: Link, wake: UnixStream, inbox: Inbox, notices: Notices) -> Self {
        let now = Instant::now();
        Self {
            pane,
            link,
            wake,
            inbox,
            notices,
            rest: RestTeller::default(),
            published_at: now.checked_sub(FRAME).unwrap_or(now),
            publish_due: Some(now),
            sync_since: None,
            look_due: Some(now),
            looked_at: now,
            pause_until: None,
            settles_for: None,
            class: Class::Usual,
            is_output_over: false,
            has_told_end: false,
        }
    }

    /// The thread's work.
    pub fn run(mut self) {
        self.set_class(Class::Keys);
        if let Some(end) = self.link.hello.end {
            self.ended(end);
        }
        loop {
            let ready = self.wait();
            if ready.is_output || self.pane.intake().is_due() {
                self.read_turn();
            }
            if ready.is_message && !self.hear() {
                return self.let_go();
            }
            if ready.is_woken {
                let mut nothing = [0_u8; 64];
                while self.wake.read(&mut nothing).is_ok_and(|n| n == nothing.len()) {}
            }
            for order in self.pane.take_orders() {
                match order {
                    Order::Hear(said) => {
                        self.pane.inner().hear_hook(&said);
                        self.look_due = Some(Instant::now());
                    }
                    Order::Kill { grace_ms } => drop(self.link.kill(grace_ms).or_log("end a process")),
                    // It goes when it has ended what it was told to; then there is nothing more to hear.
                    Order::Collected => {
                        self.link.collected().or_log("let a holder go");
                        self.publish();
                    }
                }
            }
            self.type_queue();
            self.keep_time();
        }
    }

    /// There is no holder any more.
    fn let_go(&self) {
        self.pane.inner().is_let_go = true;
        self.pane.tell_changed();
    }

    fn wait(&self) -> Ready {
        let has_input = {
            let queue = self.pane.queue();
            !queue.partial.is_empty() && self.pause_until.is_none()
        };
        let mut events = PollFlags::empty();
        if !self.is_output_over {
            events |= PollFlags::IN;
        }
        if has_input {
            events |= PollFlags::OUT;
        }
        let mut fds =
            vec![PollFd::new(self.link.socket(), PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        if !events.is_empty() {
            fds.push(PollFd::from_borrowed_fd(self.link.master.as_fd(), events));
        }
        let due =
            [self.publish_due, self.look_due, self.pause_until, self.rest.due].into_iter().flatten().min();
        let due = if self.pane.intake().is_due() { Some(Instant::now()) } else { due };
        let timeout = due.map(|due| {
            let left = due.saturating_duration_since(Instant::now());
            rustix::time::Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(1),
                tv_nsec: left.subsec_nanos().max(100_000).into(),
            }
        });
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Ready::default();
        }
        let is_set = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let readable = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        Ready {
            is_message: is_set(0),
            is_woken: is_set(1),
            is_output: !self.is_output_over && fds.get(2).is_some_and(|fd| fd.revents().intersects(readable)),
        }
    }

    /// Takes in up to one turn of output and draws it. A flood comes in small pieces; it is collected, because
    /// what nobody will see of it costs less the more of it there is (`pty/skip.rs`), and its next turn is
    /// read while this one is drawn.
    fn read_turn(&mut self) {
        let mut n_ahead = self.pane.intake().n_ahead();
        if n_ahead < FLOOD {
            self.is_output_over |= self.pane.collect();
            n_ahead = self.pane.intake().n_ahead();
        }
        if n_ahead < FLOOD || self.is_output_over {
            self.set_class(Class::Keys);
            self.draw();
        } else {
            self.set_class(Class::Flood);
            let (pane, is_drawn) = (Arc::clone(&self.pane), AtomicBool::new(false));
            std::thread::scope(|scope| {
                let reader = std::thread::Builder::new().stack_size(READER_STACK);
                // Where there is no room for a thread, what is left is read in the next turn.
                drop(reader.spawn_scoped(scope, || pane.collect_until(&is_drawn)));
                self.draw();
                is_drawn.store(true, Ordering::Relaxed);
            });
        }
        if self.pane.intake().take_drawn() {
            self.after_output();
        }
    }

    fn set_class(&mut self, class: Class) {
        if std::mem::replace(&mut self.class, class) != class {
            sched::set(class);
        }
    }

    fn draw(&self) {
        self.pane.draw(&mut self.pane.inner());
        self.pane.answer();
    }

    fn after_output(&mut self) {
        let now = Instant::now();
        let mut inner = self.pane.inner();
        inner.last_output_at = Some(Clock::System.now());
        if let Some(settles_for) = self.settles_for.take() {
            self.pause_until = Some(now + settles_for);
        }
        let is_urgent = self.take_events(&mut inner);
        self.pane.intake().begin_segment(&mut inner.term);
        let is_synchronized = inner.term.is_synchronized();
        drop(inner);
        if is_urgent {
            self.look_due = Some(now);
        }
        self.look_by(now.max(self.looked_at + LOOK_EVERY));
        if is_synchronized {
            let since = *self.sync_since.get_or_insert(now);
            self.publish_due = Some(since + SYNC_PATIENCE);
        } else {
            self.sync_since = None;
            let due = self.published_at + FRAME;
            // Whoever types sees it at once, also where the program was just writing.
            if self.pane.take_echo_due() || due <= now {
                self.publish();
            } else {
                self.publish_due = Some(due);
            }
        }
    }

    /// Notes what the program told besides text. True when its state may have changed.
    fn take_events(&self, inner: &mut Inner) -> bool {
        let mut is_urgent = false;
        for event in inner.term.take_events() {
            is_urgent |= inner.hear(&event);
            match &event {
                TermEvent::Bell | TermEvent::Notify { .. } | TermEvent::Clipboard { .. } => {
                    // Nobody listens when no screen is attached.
                    drop(self.notices.send((self.pane.id.clone(), event.clone())));
                }
                TermEvent::ScreenLost => {
                    log(format_args!("{}: the screen was lost and begins anew", self.pane.id))
                }
                TermEvent::Status(_)
                | TermEvent::Agent(_)
                | TermEvent::Progress { .. }
                | TermEvent::Title(_)
                | TermEvent::Cwd(_)
                | TermEvent::PromptMark { .. }
                | TermEvent::AltScreen(_) => {}
            }
        }
        is_urgent
    }

    fn publish(&mut self) {
        self.publish_due = None;
        // Whoever waits for what is locked meanwhile should not wait for a flood.
        self.set_class(Class::Keys);
        self.pane.publish();
        self.published_at = Instant::now();
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.publish_due.is_some_and(|due| due <= now) {
            if self.sync_since.take().is_some() {
                self.pane.inner().term.end_synchronized();
            }
            self.publish();
        }
        if self.look_due.is_some_and(|due| due <= now) {
            self.look_due = None;
            self.looked_at = now;
            let mut inner = self.pane.inner();
            self.pane.look(&mut inner);
            if let Some(told) = &inner.hook {
                let left = Duration::from_millis(told.fresh_for_ms(Clock::System.now()));
                self.look_due = Some(now + left);
            }
            let news = Command::LiveChanged { terminal: self.pane.id.clone() };
            if inner.has_news && self.inbox.try_send(news).is_err() {
                // The engine is busy; the state is told a little later.
                self.look_due = Some(now + LOOK_EVERY);
            } else {
                inner.has_news = false;
            }
            drop(inner);
            self.pane.tell_changed();
            self.look_for_rest();
        }
        if self.rest.due.is_some_and(|due| due <= now) {
            self.look_for_rest();
        }
    }

    /// The state is looked at then, or before.
    fn look_by(&mut self, due: Instant) {
        self.look_due = Some(self.look_due.map_or(due, |known| known.min(due)));
    }

    /// Tells the engine when the agent came to rest: it may have mail.
    fn look_for_rest(&mut self) {
        if self.rest.look(&self.pane)
            && self.inbox.try_send(Command::Idle { terminal: self.pane.id.clone() }).is_err()
        {
            self.rest.forget();
        }
    }

    /// Hears the holder. False: there is nothing more to come.
    fn hear(&mut self) -> bool {
        match self.link.poll_message() {
            Ok(Some(end)) => {
                self.ended(end);
                true
            }
            Ok(None) => true,
            Err(_) if self.has_told_end => false,
            Err(error) => {
                log(format_args!("{}: its holder is gone: {error}", self.pane.id));
                let known = link::recorded_end(&self.pane.dir);
                if known.is_none() {
                    // Whoever starts the task again must not have the old agent beside the new one.
                    holder::end_left(&self.pane.dir, self.pane.child_pid, KILL_GRACE);
                }
                self.ended(known.unwrap_or(ChildEnd {
                    exit_code: None,
                    signal: None,
                    at: Clock::System.now(),
                }));
                false
            }
        }
    }

    /// The process ended: what it wrote last is taken in before anybody is told.
    fn ended(&mut self, end: ChildEnd) {
        if self.has_told_end {
            return;
        }
        self.has_told_end = true;
        let mut n_left = MAX_LAST_WORDS;
        // Something in the background may go on writing for ever; that is read in turns again.
        while n_left > 0
            && let Ok(Output::Bytes(n)) = self.pane.intake().read(&self.pane.master)
        {
            n_left = n_left.saturating_sub(n);
        }
        self.draw();
        self.is_output_over = true;
        let mut inner = self.pane.inner();
        inner.term.end_synchronized();
        inner.end = Some(end);
        inner.forget_said();
        inner.live.activity = String::from("unknown");
        drop(inner);
        self.publish();
        self.pane.tell_changed();
        let command = Command::ended(&self.pane.id, end);
        self.inbox.blocking_send(command).or_log("tell the end of a process");
    }

    /// Types what is due, as far as the program reads.
    fn type_queue(&mut self) {
        if self.pause_until.is_some_and(|until| until > Instant::now()) {
            return;
        }
        self.pause_until = None;
        self.settles_for = None;
        let pane = Arc::clone(&self.pane);
        let mut queue = pane.queue();
        loop {
            if !queue.partial.is_empty() {
                let n = link::write(&self.link.master, queue.partial.as_slices().0).unwrap_or(0);
                if n == 0 && self.has_told_end {
                    queue.partial.clear();
                }
                let n_gone = n.min(queue.partial.len());
                queue.partial.drain(..n_gone);
                queue.n_bytes = queue.n_bytes.saturating_sub(n);
                if !queue.partial.is_empty() {
                    break;
                }
            }
            if !self.take_item(&mut queue) {
                break;
            }
        }
        if queue.items.is_empty() && queue.partial.is_empty() {
            queue.n_bytes = 0;
        }
        drop(queue);
        pane.room.notify_waiters();
    }

    /// Moves the next item into `partial`. False: nothing can be typed now.
    fn take_item(&mut self, queue: &mut Queue) -> bool {
        // A prompt that has begun is finished before anything else.
        let at = if queue.has_begun_prompt() {
            Some(0)
        } else {
            let goes_on = |item: &Item| matches!(item, Item::Bytes(_) | Item::First(_) | Item::Nudge { .. });
            queue.items.iter().position(|item| goes_on(item) || !queue.has_draft)
        };
        let Some(item) = at.and_then(|at| queue.items.remove(at)) else { return false };
        match item {
            Item::Bytes(bytes) | Item::First(bytes) => queue.partial = bytes.into(),
            Item::Machine(bytes) => {
                queue.typed_at = Some(Instant::now());
                queue.partial = bytes.into();
            }
            Item::Nudge { steps, messages } => match self.pane.rest(queue) {
                Some(left) if left.is_zero() && self.pane.is_ready() != Some(false) => {
                    queue.items.push_front(Item::Prompt(Prompt { steps, mark: None }));
                }
                Some(_) | None => {
                    self.rest.forget();
                    let refused = Command::NudgeRefused { messages };
                    self.inbox.try_send(refused).or_log("give a nudge back");
                }
            },
            Item::Prompt(mut prompt) => {
                queue.typed_at = Some(Instant::now());
                if let Some(mark) = prompt.mark.as_deref().filter(|_| is_fresh(&prompt.steps)) {
                    Typing::Begun.write(mark);
                }
                let is_bracketed = self.pane.inner().term.modes().is_bracketed_paste;
                match prompt.steps.pop_front() {
                    Some(Step::Type(text)) => queue.partial = text.into_bytes().into(),
                    Some(Step::Paste(text)) => queue.partial = paste_bytes(&text, is_bracketed).into(),
                    Some(Step::Enter) => queue.partial = b"\r".to_vec().into(),
                    Some(Step::Settle { ms }) => {
                        let settles_for = Duration::from_millis(ms);
                        self.settles_for = Some(settles_for);
                        self.pause_until = Some(Instant::now() + settles_for.max(UNSEEN));
                    }
                    // Whoever queued the prompt waits before and after it.
                    Some(Step::AwaitReady { .. } | Step::EnterAgain { .. }) | None => {}
                }
                if !prompt.steps.is_empty() {
                    queue.items.push_front(Item::Prompt(prompt));
                } else if let Some(mark) = &prompt.mark {
                    Typing::Sent.write(mark);
                }
                if self.pause_until.is_some() {
                    return false;
                }
            }
        }
        true
    }
}

#[derive(Default)]
struct Ready {
    is_message: bool,
    is_woken: bool,
    is_output: bool,
}
