//! The live terminals of this server, and the text that is left of ended ones.

use super::command::{Command, Inbox};
use super::intake::Intake;
use super::pane::{Order, Pane, PaneParts, Typed, lock, page_of};
use super::pump::{Notices, Pump};
use super::starts::Starts;
use crate::agent::Presets;
use crate::agent::hook::HookSaid;
use crate::base::clock::{Clock, Timestamp};
use crate::base::id::{MessageId, TerminalId};
use crate::base::path::StateDir;
use crate::base::report::{OrLog as _, log};
use crate::config::{ClearHistory, TerminalSettings};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::ops::cx::{ExportPiece, LiveFacts, OutputPage, ReadWish};
use crate::proto::event::LiveRow;
use crate::proto::terminal::ExportFormat;
use crate::pty::PtyError;
use crate::pty::archive;
use crate::pty::color::HostFacts;
use crate::pty::event::TermEvent;
use crate::pty::export::Cast;
use crate::pty::history::HistoryLimits;
use crate::pty::holder;
use crate::pty::journal::{self, Journal, Record};
use crate::pty::link::{self, Found, Link};
use crate::pty::revive::revive;
use crate::pty::term::{Term, TermConfig};
use crate::pty::wire::ChildEnd;
use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The size of one journal segment; there are two (design 8).
const JOURNAL_BYTES: usize = 1 << 20;
/// Bytes of lines in one part of an export, nearly.
const EXPORT_BYTES: usize = 2 << 20;
/// How long a process may take to end, in all: hang-up, SIGTERM, SIGKILL.
const KILL_GRACE_MS: u32 = 3_000;
/// The same.
pub const KILL_GRACE: Duration = Duration::from_millis(KILL_GRACE_MS as u64);
/// A holder gives up on what cannot be killed before that.
const KILL_PATIENCE: Duration = Duration::from_millis(KILL_GRACE_MS as u64 + 5_000);
/// How often a holder that does not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// What terminals need of the server.
pub struct Terminals {
    panes: Mutex<HashMap<TerminalId, Arc<Pane>>>,
    /// The terminals whose holder was not heard yet, each with what was typed into it meanwhile. Locked
    /// before `panes`.
    unheard: Mutex<HashMap<TerminalId, Vec<Typed>>>,
    pub starts: Arc<Starts>,
    dir: StateDir,
    presets: Arc<Presets>,
    inbox: Inbox,
    settings: TerminalSettings,
    notices: Notices,
    host: Mutex<HostFacts>,
}

impl std::fmt::Debug for Terminals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminals").finish_non_exhaustive()
    }
}

/// What was found of a terminal that an earlier server knew.
#[derive(Debug)]
pub enum Recovered {
    /// It is live again.
    Live,
    Ended(ChildEnd),
    Lost,
    /// It cannot be said yet: its holder lives and does not answer, or its program outlived its holder.
    Unsettled,
}

impl Terminals {
    /// No terminals yet.
    pub fn new(dir: StateDir, presets: Arc<Presets>, inbox: Inbox, settings: TerminalSettings) -> Self {
        Self {
            panes: Mutex::new(HashMap::new()),
            unheard: Mutex::new(HashMap::new()),
            starts: Arc::default(),
            dir,
            presets,
            inbox,
            settings,
            notices: tokio::sync::broadcast::channel(64).0,
            host: Mutex::new(HostFacts::default()),
        }
    }

    /// The state directory.
    pub fn state_dir(&self) -> &StateDir {
        &self.dir
    }

    /// Bells, notifications and clipboard writes, as they come.
    pub fn notices(&self) -> tokio::sync::broadcast::Receiver<(TerminalId, crate::pty::event::TermEvent)> {
        self.notices.subscribe()
    }

    /// The live pane of a terminal, or of one that ended while this server knew it.
    pub fn pane(&self, terminal: &TerminalId) -> Option<Arc<Pane>> {
        lock(&self.panes).get(terminal).cloned()
    }

    /// The pane of a terminal for a screen: also of one that ended under an earlier server, drawn again
    /// from its journal. None where nothing is left of it.
    pub fn shown(&self, terminal: &TerminalId) -> Option<Arc<Pane>> {
        if let Some(pane) = self.pane(terminal) {
            return Some(pane);
        }
        let dir = self.folder(terminal);
        let end = link::recorded_end(&dir).filter(|_| !link::is_held(&dir))?;
        let mut revived = revive(&dir, self.config())?;
        revived.term.set_host(lock(&self.host).clone());
        revived.term.end_synchronized();
        let nobody = std::fs::File::open("/dev/null").or_log("stand in for an ended terminal")?;
        let (wake, _) = UnixStream::pair().or_log("stand in for an ended terminal")?;
        let pane = Arc::new(Pane::new(PaneParts {
            id: terminal.clone(),
            dir,
            child_pid: 0,
            agent: None,
            presets: Arc::clone(&self.presets),
            master: nobody.into(),
            term: revived.term,
            said: Vec::new(),
            last_output_at: None,
            intake: Intake::new(None),
            answers: Vec::new(),
            end: Some(end),
            wake,
        }));
        pane.publish();
        Some(Arc::clone(lock(&self.panes).entry(terminal.clone()).or_insert(pane)))
    }

    fn folder(&self, terminal: &TerminalId) -> PathBuf {
        self.dir.terminal(terminal.as_str())
    }

    /// For a terminal that is only looked at.
    fn config(&self) -> TermConfig {
        let n_lines = self.settings.scrollback_lines as usize;
        let history = HistoryLimits { n_lines, ..HistoryLimits::default() };
        TermConfig { history, may_program_clear_history: false }
    }

    fn config_of(&self, terminal: &Terminal) -> TermConfig {
        let is_shell = terminal.agent.as_deref().is_none_or(|agent| agent == "shell");
        let may_program_clear_history = match self.settings.clear_history {
            ClearHistory::Shells => is_shell,
            ClearHistory::Any => true,
            ClearHistory::Off => false,
        };
        TermConfig { may_program_clear_history, ..self.config() }
    }

    /// Takes a terminal over from its holder and gives it a thread.
    pub fn adopt(&self, terminal: &Terminal, mut link: Link) -> Result<(), PtyError> {
        let dir = self.folder(&terminal.id);
        let (mut term, mut journal, mut said) = self.revived(&dir, terminal);
        term.set_host(lock(&self.host).clone());
        let ring = std::mem::take(&mut link.ring);
        if let Some(journal) = &mut journal {
            journal.time(Clock::System.now());
            journal.output(&ring).or_log("keep output");
        }
        term.process(&ring);
        let mut intake = Intake::new(journal);
        // The program may never write again, and the holder has let go of it.
        intake.begin_segment(&mut term);
        intake.flush();
        // What an agent said at its start, or while no server was there, is its state now.
        said.extend(term.take_events());
        // It may wait for its answers and write nothing more until it has them.
        let answers = term.take_replies();
        let last_output_at = (!ring.is_empty()).then(|| Clock::System.now());
        let (wake, woken) = UnixStream::pair().map_err(PtyError::io("prepare a terminal"))?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(PtyError::io("prepare a terminal"))?;
        }
        let master = link.master.try_clone().map_err(PtyError::io("prepare a terminal"))?;
        link.resize(term.size()).or_log("tell a program its size");
        let pane = Arc::new(Pane::new(PaneParts {
            id: terminal.id.clone(),
            dir,
            child_pid: link.hello.child_pid,
            agent: terminal.agent.clone(),
            presets: Arc::clone(&self.presets),
            master,
            term,
            said,
            last_output_at,
            intake,
            answers,
            end: None,
            wake,
        }));
        pane.answer();
        // Under one lock, so that nothing typed later comes before what was typed while it was unheard.
        let mut unheard = lock(&self.unheard);
        unheard.remove(&terminal.id).into_iter().flatten().for_each(|typed| pane.take(typed));
        lock(&self.panes).insert(terminal.id.clone(), Arc::clone(&pane));
        drop(unheard);
        let pump = Pump::new(pane, link, woken, self.inbox.clone(), self.notices.clone());
        std::thread::Builder::new()
            .name(format!("orca-{}", terminal.id))
            .stack_size(512 << 10)
            .spawn(move || pump.run())
            .map_err(PtyError::io("start a terminal's thread"))?;
        Ok(())
    }

    /// The terminal as its journal had it, or a fresh one; where its journal goes on; and what its program
    /// said of itself.
    fn revived(&self, dir: &std::path::Path, terminal: &Terminal) -> (Term, Option<Journal>, Vec<TermEvent>) {
        match revive(dir, self.config_of(terminal)) {
            Some(revived) => {
                let journal = Journal::resume(dir, JOURNAL_BYTES, revived.position).or_log("keep output");
                (revived.term, journal, revived.said)
            }
            None => {
                let mut term = Term::new(terminal.size, self.config_of(terminal));
                let keyframe = term.keyframe();
                let journal = Journal::open(dir, JOURNAL_BYTES, term.size(), &keyframe).or_log("keep output");
                (term, journal, Vec::new())
            }
        }
    }

    /// Looks for a terminal that an earlier server knew.
    pub fn recover(&self, terminal: &Terminal) -> Recovered {
        let socket = self.dir.holder_socket(terminal.id.as_str());
        match link::find(&socket, &self.folder(&terminal.id)) {
            Ok(Found::Held(link)) => match self.adopt(terminal, link) {
                Ok(()) => Recovered::Live,
                Err(error) => {
                    log(format_args!("{} could not be taken over: {error}", terminal.id));
                    Recovered::Unsettled
                }
            },
            Ok(Found::Ended(end)) => Recovered::Ended(end),
            Ok(Found::Lost) if self.left_session(&terminal.id).is_some() => Recovered::Unsettled,
            Ok(Found::Lost | Found::NeverStarted) => Recovered::Lost,
            Err(error) => {
                log(format_args!("{} does not answer: {error}", terminal.id));
                Recovered::Unsettled
            }
        }
    }

    /// The same for many, side by side: holders that do not answer are waited for once, not each in turn.
    pub fn recover_all<'a>(
        &self,
        wanted: impl Iterator<Item = &'a Terminal>,
    ) -> Vec<(&'a Terminal, Recovered)> {
        std::thread::scope(|scope| {
            let looks: Vec<_> =
                wanted.map(|terminal| (terminal, scope.spawn(|| self.recover(terminal)))).collect();
            let seen = looks.into_iter();
            // A look that failed is made again until it says something.
            seen.map(|(terminal, look)| (terminal, look.join().unwrap_or(Recovered::Unsettled))).collect()
        })
    }

    /// Goes on looking for a terminal until it is known what became of it, and tells the engine then. Until
    /// that it counts as running: silence decides nothing (design 7.1).
    pub fn recover_later(self: Arc<Self>, terminal: Terminal) {
        lock(&self.unheard).entry(terminal.id.clone()).or_default();
        let looking = move || {
            let command = loop {
                if let Some(child_pid) = self.left_session(&terminal.id) {
                    holder::end_left(&self.folder(&terminal.id), child_pid, KILL_GRACE);
                }
                match self.recover(&terminal) {
                    Recovered::Live => break Command::LiveChanged { terminal: terminal.id.clone() },
                    Recovered::Ended(end) => break Command::ended(&terminal.id, end),
                    Recovered::Lost => break Command::TerminalLost { terminal: terminal.id.clone() },
                    Recovered::Unsettled => std::thread::sleep(ASK_AGAIN),
                }
            };
            lock(&self.unheard).remove(&terminal.id);
            self.inbox.blocking_send(command).or_log("note what became of a terminal");
        };
        let begun = std::thread::Builder::new().name(String::from("orca-recover")).spawn(looking);
        begun.or_log("look for a terminal; the next server does");
    }

    /// The process of a terminal that still runs though nobody holds it.
    fn left_session(&self, terminal: &TerminalId) -> Option<u32> {
        if self.is_held(terminal) { None } else { self.session(terminal) }
    }

    /// The recorded process of a terminal, if that or its session still runs.
    fn session(&self, terminal: &TerminalId) -> Option<u32> {
        let child_pid = link::recorded_start(&self.folder(terminal))?.child_pid;
        holder::is_session_of(child_pid, terminal.as_str()).then_some(child_pid)
    }

    /// Whether a holder has this terminal, whether or not this server does.
    pub fn is_held(&self, terminal: &TerminalId) -> bool {
        link::is_held(&self.folder(terminal))
    }

    /// The terminals that have a holder, or its socket, whatever their rows say.
    pub fn held(&self) -> Vec<TerminalId> {
        let sockets = link::sockets(&self.dir.holders());
        let names = sockets.iter().filter_map(|path| path.file_stem()?.to_str());
        names.filter_map(|name| TerminalId::parse(name).ok()).collect()
    }

    /// Whether something of a terminal is there still: its holder, or a process that outlived that.
    pub fn may_run(&self, terminal: &TerminalId) -> bool {
        self.is_held(terminal) || self.left_session(terminal).is_some()
    }

    /// Whether nothing of a terminal is there any more, and it was still running at `at` as far as is known.
    pub fn has_ended_since(&self, terminal: &TerminalId, at: Timestamp) -> bool {
        let ended = link::recorded_end(&self.folder(terminal));
        !self.may_run(terminal) && ended.is_none_or(|end| end.at >= at)
    }

    /// Lets the holder go of a terminal whose end is recorded: an earlier server died before it said so.
    pub fn let_go_of_ended(&self, terminal: &Terminal) {
        let socket = self.dir.holder_socket(terminal.id.as_str());
        let found = link::find(&socket, &self.folder(&terminal.id)).or_log("look for a left holder");
        let Some(Found::Held(mut link)) = found else { return };
        if link.hello.end.is_none() {
            log(format_args!("{} is {} and its process runs", terminal.id, terminal.life));
        } else if terminal.life == TerminalLife::Exited {
            // Its last output is still to be read; its end comes again and is collected then.
            self.adopt(terminal, link).or_log("take an ended terminal over");
        } else {
            link.collected().or_log("let a left holder go");
        }
    }

    /// What is known of a terminal at this moment.
    pub fn live_row(&self, terminal: &TerminalId) -> Option<LiveRow> {
        self.pane(terminal).map(|pane| pane.live_row())
    }

    /// The same of all.
    pub fn live_rows(&self) -> Vec<LiveRow> {
        let panes: Vec<Arc<Pane>> = lock(&self.panes).values().cloned().collect();
        panes.iter().map(|pane| pane.live_row()).collect()
    }

    /// A live terminal's facts, for verbs.
    pub fn live_facts(&self, terminal: &TerminalId) -> Option<LiveFacts> {
        self.pane(terminal).map(|pane| pane.live_facts())
    }

    /// Looks at a terminal: the live one, or as its journal has it. None where neither is left.
    pub fn with_term<R>(&self, terminal: &TerminalId, look: impl FnOnce(&Term) -> R) -> Option<R> {
        match self.pane(terminal) {
            Some(pane) => Some(look(&pane.inner().term)),
            None => revive(&self.folder(terminal), self.config()).map(|revived| look(&revived.term)),
        }
    }

    /// Lines of a terminal's output: live, archived, or from its journal.
    pub fn read_output(&self, terminal: &TerminalId, wish: &ReadWish) -> Option<OutputPage> {
        if let Some(pane) = self.pane(terminal) {
            return Some(pane.read_output(wish));
        }
        let dir = self.folder(terminal);
        if let Some((_, text)) = archive::load(&dir) {
            return Some(page_of_text(&text, wish));
        }
        revive(&dir, self.config()).map(|revived| page_of(&revived.term, wish))
    }

    /// A part of a terminal's output for another program: live, archived, or from its journal. A
    /// recording comes in one part.
    pub fn export(&self, terminal: &TerminalId, format: ExportFormat, cursor: u64) -> Option<ExportPiece> {
        let dir = self.folder(terminal);
        let pane = self.pane(terminal);
        let archived = if pane.is_none() { archive::load(&dir) } else { None };
        let source = match (&pane, &archived) {
            (Some(_), _) => "live",
            (None, Some(_)) => "archive",
            (None, None) => "journal",
        };
        let (text, next) = match (format, archived) {
            (ExportFormat::Text | ExportFormat::Ansi, Some((_, text))) => (text, None),
            (ExportFormat::Text | ExportFormat::Ansi, None) => self.with_term(terminal, |term| {
                term.export_lines(cursor, EXPORT_BYTES, format == ExportFormat::Ansi)
            })?,
            (ExportFormat::Asciicast, archived) => {
                let mut cast = Cast::default();
                match archived {
                    Some((_, text)) => cast.push_text(&text),
                    None => recorded(&dir, pane.as_deref())?.iter().for_each(|record| cast.push(record)),
                }
                (cast.finish(terminal.as_str()), None)
            }
        };
        Some(ExportPiece { text, next, source })
    }

    /// The terminal whose process has this id.
    pub fn by_child(&self, pid: u32) -> Option<TerminalId> {
        let panes = lock(&self.panes);
        panes.values().find(|pane| pane.child_pid == pid).map(|pane| pane.id.clone())
    }

    /// Whether this terminal's process runs.
    pub fn is_running(&self, terminal: &TerminalId) -> bool {
        self.pane(terminal).is_some_and(|pane| pane.inner().end.is_none())
    }

    /// Terminals whose process runs.
    fn running(&self) -> Vec<Arc<Pane>> {
        let panes: Vec<Arc<Pane>> = lock(&self.panes).values().cloned().collect();
        panes.into_iter().filter(|pane| pane.inner().end.is_none()).collect()
    }

    /// The terminals whose process runs or may run, for people.
    pub fn live_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.running().iter().map(|pane| pane.id.to_string()).collect();
        names.extend(self.starts.going_on().iter().map(ToString::to_string));
        names.extend(lock(&self.unheard).keys().map(ToString::to_string));
        names.sort();
        names.dedup();
        names
    }

    /// Where the database is.
    pub fn store_path(&self) -> PathBuf {
        self.dir.store()
    }

    /// Waits until nothing is half typed, at most `patience`: the next server does not know of it.
    pub fn finish_typing(&self, patience: Duration) {
        let began = Instant::now();
        while self.is_typing() && began.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Reads nothing more: what programs write from now on is for the next server. Answers to what was read,
    /// and what the programs have not read of a person's keys, are kept for it.
    pub fn finish_reading(&self) {
        for pane in self.running() {
            pane.intake().close();
            pane.draw(&mut pane.inner());
            pane.answer();
            pane.keep_untyped();
        }
    }

    fn is_typing(&self) -> bool {
        self.running().iter().any(|pane| pane.queue().is_half_typed())
            || lock(&self.unheard).values().any(|held| !held.is_empty())
    }

    /// Ends every process and waits until the ends are known. Nothing is started after that.
    pub async fn end_all(self: Arc<Self>) {
        let ended = tokio::task::spawn_blocking(move || {
            self.starts.shut();
            let mut held: Vec<Arc<Pane>> = lock(&self.panes).values().cloned().collect();
            held.retain(|pane| !pane.inner().is_let_go);
            held.iter().for_each(|pane| pane.order(Order::Kill { grace_ms: KILL_GRACE_MS }));
            let unheard: Vec<TerminalId> = lock(&self.unheard).keys().cloned().collect();
            // One that somebody stopped would neither hear nor go.
            held.iter().map(|pane| &pane.id).chain(&unheard).for_each(|id| link::resume(&self.folder(id)));
            for id in unheard {
                if let Some(child_pid) = self.session(&id) {
                    holder::end_left(&self.folder(&id), child_pid, KILL_GRACE);
                }
                let began = Instant::now();
                while self.is_unheard(&id) && began.elapsed() < KILL_PATIENCE {
                    std::thread::sleep(Duration::from_millis(20));
                }
                held.extend(self.pane(&id));
            }
            // Until their ends are recorded and their holders gone: no process of ours stays behind.
            for pane in held {
                // An engine that the disk ended records nothing, so nobody else lets the holder go.
                let is_left = |end: &Option<ChildEnd>| end.is_some() && self.inbox.is_closed();
                pane.wait_until(KILL_PATIENCE, |inner| inner.is_let_go || is_left(&inner.end));
                if !pane.inner().is_let_go && is_left(&pane.inner().end) {
                    pane.order(Order::Collected);
                    pane.wait_until(KILL_PATIENCE, |inner| inner.is_let_go);
                }
            }
        });
        ended.await.or_log("wait for processes to end");
    }

    /// Ends the process of a terminal and what it started there. Gives its end, once it is recorded and the
    /// holder is gone: who forgot the pane before that would leave the holder behind for ever.
    pub fn end(&self, pane: &Pane) -> Option<ChildEnd> {
        if pane.inner().end.is_none() {
            pane.order(Order::Kill { grace_ms: KILL_GRACE_MS });
        }
        pane.wait_until(KILL_PATIENCE, |inner| inner.is_let_go);
        pane.inner().end
    }

    /// Keeps the text of a terminal that is closed, without `secrets`, and forgets the rest. `fleeting` is
    /// what was there before the end, see [`Pane::fleeting_output`]. Gives `captured` or `empty`.
    pub fn archive(
        &self,
        terminal: &TerminalId,
        incarnation: &str,
        fleeting: Option<OutputPage>,
        secrets: &[String],
    ) -> &'static str {
        let dir = self.folder(terminal);
        let fleeting = fleeting.unwrap_or_default();
        let rest = ReadWish { cursor: Some(fleeting.latest), limit: usize::MAX, is_screen: false };
        let Some(page) = self.read_output(terminal, &rest) else { return "empty" };
        // A program that was killed has left its screen as it was.
        let is_same = fleeting.lines.ends_with(&page.lines);
        let lines = if is_same { fleeting.lines } else { [fleeting.lines, page.lines].concat() };
        let text = lines.join("\n");
        let saved = archive::save(&dir, terminal.as_str(), incarnation, &text, secrets, Clock::System.now());
        match saved.or_log("keep the output of a closed terminal") {
            Some(info) => {
                journal::discard(&dir);
                lock(&self.panes).remove(terminal);
                if info.is_empty() { "empty" } else { "captured" }
            }
            // Its journal is left, which is read in its place.
            None => "unavailable",
        }
    }

    /// Keeps the text that a terminal has now, as it would be kept at its end.
    pub fn keep_text(
        &self,
        terminal: &TerminalId,
        incarnation: &str,
        secrets: &[String],
    ) -> Result<(), PtyError> {
        let all = ReadWish { cursor: Some(0), limit: usize::MAX, is_screen: false };
        let Some(page) = self.read_output(terminal, &all) else { return Ok(()) };
        let (dir, text) = (self.folder(terminal), page.lines.join("\n"));
        archive::save(&dir, terminal.as_str(), incarnation, &text, secrets, Clock::System.now()).map(drop)
    }

    /// The end of a process is on disk: its holder may go.
    pub fn collected(&self, terminal: &TerminalId) {
        if let Some(pane) = self.pane(terminal) {
            pane.order(Order::Collected);
        }
    }

    /// Types into a terminal; into one whose holder was not heard yet, once it is. What nobody can read
    /// any more is dropped.
    pub fn take(&self, terminal: &TerminalId, typed: Typed) {
        let mut unheard = lock(&self.unheard);
        if let Some(pane) = self.pane(terminal) {
            drop(unheard);
            pane.take(typed);
        } else if let Some(held) = unheard.get_mut(terminal) {
            held.push(typed);
        }
    }

    /// Whether its holder lives as far as is known, and was not heard yet by this server.
    pub fn is_unheard(&self, terminal: &TerminalId) -> bool {
        lock(&self.unheard).contains_key(terminal)
    }

    /// Types a line for an agent at rest, or gives it back if it is at rest no more.
    pub fn nudge(&self, terminal: &TerminalId, line: &str, messages: Vec<MessageId>) {
        match self.pane(terminal) {
            Some(pane) => pane.push_nudge(line, messages),
            None => drop(self.inbox.try_send(Command::NudgeRefused { messages })),
        }
    }

    /// Hands on what the hook of an agent told. Of a terminal that is not taken over yet nothing is known anyway.
    pub fn hear_hook(&self, terminal: &TerminalId, said: HookSaid) {
        if let Some(pane) = self.pane(terminal) {
            pane.order(Order::Hear(said));
        }
    }

    /// The terminals whose agent is at rest.
    pub fn idle_agents(&self) -> Vec<TerminalId> {
        let panes = self.running();
        let is_idle = |pane: &&Arc<Pane>| {
            let queue = pane.queue();
            pane.rest(&queue).is_some_and(|left| left.is_zero())
        };
        panes.iter().filter(is_idle).map(|pane| pane.id.clone()).collect()
    }

    /// The outer terminal's colours, for the answers that panes get.
    pub fn set_host(&self, change: impl Fn(&mut HostFacts)) {
        let mut host = lock(&self.host);
        change(&mut host);
        let panes: Vec<Arc<Pane>> = lock(&self.panes).values().cloned().collect();
        panes.iter().for_each(|pane| pane.inner().term.set_host(host.clone()));
    }
}

/// The records of a terminal's journal, from its newest keyframe alone where all of them are too much
/// for one answer. None where nothing is left.
fn recorded(dir: &std::path::Path, pane: Option<&Pane>) -> Option<Vec<Record>> {
    if let Some(pane) = pane {
        pane.intake().flush();
    }
    let records = journal::restore(dir).records;
    (!records.is_empty()).then_some(records)
}

fn page_of_text(text: &str, wish: &ReadWish) -> OutputPage {
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines.len().saturating_sub(wish.limit);
    let first = wish.cursor.map_or(tail, |line| usize::try_from(line).unwrap_or(usize::MAX).min(lines.len()));
    let page: Vec<String> =
        lines.iter().skip(first).take(wish.limit).map(|line| (*line).to_owned()).collect();
    let next = first + page.len();
    OutputPage {
        is_truncated: first > 0 || next < lines.len(),
        lines: page,
        oldest: 0,
        next: next as u64,
        latest: lines.len() as u64,
        is_archived: true,
    }
}
