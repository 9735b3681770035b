//! The rules in process: an in-memory store, a hand-moved clock, counted ids, a world that is set by
//! hand, and the real command line in front of it all.

use orca::agent::Presets;
use orca::base::clock::{Clock, Timestamp};
use orca::base::code::ErrorCode;
use orca::base::id::{CountingIds, EffectId, RunId, TerminalId};
use orca::cli::transport::Transport;
use orca::cli::{out::Out, tone::Tints, verb::Session};
use orca::client::Unanswered;
use orca::model::dispatch::Dispatch;
use orca::model::effect::{Effect, NewCheckout, OpenEffect, Outcome};
use orca::model::event::Event;
use orca::model::message::Mailbox;
use orca::model::request::{MAX_RECEIPTS, Receipt, RequestState};
use orca::model::setup::Project;
use orca::model::terminal::ProcessEnd;
use orca::model::worker::Drift;
use orca::model::worktree::Place;
use orca::ops::cx::{
    Act, Answer, CallerFacts, Cx, ExportPiece, LiveFacts, OutputPage, ReadWish, Rules, Wait, WaitOn, Wake,
    World as Living,
};
use orca::ops::look::{Look, Program, Seen, missing_folder};
use orca::ops::{advance, watch};
use orca::proto::envelope::{Origin, Request, Response};
use orca::proto::error::ErrorBody;
use orca::proto::hook::{HookReport, HookReported};
use orca::proto::repo::RefDetail;
use orca::proto::terminal::ExportFormat;
use orca::proto::worktree::GitRow;
use orca::proto::{AnyCall, Call as _};
use orca::server::transcript::{self, find};
use orca::store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Besides the built-in agents: `argent` takes its brief as an argument, `paster` by paste, `silent` not at
/// all; the file of `torn` cannot be read.
fn agents() -> Presets {
    let files = [
        ("argent", "command = [\"argent\"]\nprompt = \"argument\"\nmodel_args = [\"-m\", \"{model}\"]\n"),
        ("paster", "command = [\"paster\"]\nprompt = \"paste\"\n"),
        ("silent", "command = [\"silent\"]\nprompt = \"none\"\n"),
        ("torn", "command = 3\n"),
    ];
    let files = files.map(|(id, text)| (id.to_owned(), text.to_owned()));
    let presets = Presets::with_user_files(&files);
    assert_eq!(presets.bad_files().iter().map(|bad| bad.id.as_str()).collect::<Vec<_>>(), ["torn"]);
    presets
}

/// What the world answers; tests set it.
#[derive(Debug, Default)]
pub struct SetWorld {
    pub waiters: BTreeSet<RunId>,
    pub missing: Vec<String>,
    /// The branch of every folder, where it is another than its row says.
    pub branch: Option<String>,
    /// The branches of some folders, before that.
    pub branches: BTreeMap<String, String>,
    pub live: BTreeMap<TerminalId, LiveFacts>,
    pub output: BTreeMap<TerminalId, OutputPage>,
    /// What git says to the next wish for a worktree.
    pub git_refusal: Option<ErrorBody>,
    /// What the `orca.yaml` of every commit says.
    pub project: Project,
    pub has_screen: bool,
    /// Commands that are in nobody's PATH, and folders that were removed.
    pub not_installed: BTreeSet<String>,
    pub gone_folders: BTreeSet<String>,
}

impl Living for SetWorld {
    fn is_awaited(&self, mailbox: &Mailbox) -> bool {
        self.waiters.iter().any(|run| *mailbox == Mailbox::Run(run.clone()))
    }
    fn missing_files(&self, _root: &str, files: &[String]) -> Vec<String> {
        files.iter().filter(|file| self.missing.contains(file)).cloned().collect()
    }
    fn branch(&self, folder: &str) -> Option<String> {
        self.branches.get(folder).or(self.branch.as_ref()).cloned()
    }
    fn live(&self, terminal: &TerminalId) -> Option<LiveFacts> {
        self.live.get(terminal).cloned()
    }
    fn has_screen(&self) -> bool {
        self.has_screen
    }
    fn read_output(&self, terminal: &TerminalId, _wish: &ReadWish) -> Option<OutputPage> {
        self.output.get(terminal).cloned()
    }
    fn export(&self, terminal: &TerminalId, _format: ExportFormat, cursor: u64) -> Option<ExportPiece> {
        // A line at a time, so that whoever exports has to go on.
        let lines = &self.output.get(terminal)?.lines;
        let at = usize::try_from(cursor).ok()?;
        let text = lines.get(at).map(|line| format!("{line}\n")).unwrap_or_default();
        let next = (at + 1 < lines.len()).then_some(cursor + 1);
        Some(ExportPiece { text, next, source: "live" })
    }
}

/// Why a call changed nothing.
enum Unmade {
    /// This has to be seen first.
    Look(Look),
    Refused(ErrorBody),
}

/// What there is to see: agents' files below the home directory of the world; every worktree is clean and on the branch `seen`, and the only ref is `main`.
fn see(look: Look, refusal: Option<ErrorBody>, living: &SetWorld, home: &Path) -> Result<Seen, ErrorBody> {
    let project = &living.project;
    let is_missing = |program: &Program| living.not_installed.contains(&program.name);
    let main = RefDetail { name: String::from("main"), commit: String::from("0123456") };
    match look {
        Look::Worktree(_, Some(program)) | Look::Place { program: Some(program), .. }
            if is_missing(&program) =>
        {
            Err(program.missing())
        }
        Look::Worktree(wish, _) => refusal.map_or(Ok(Seen::Worktree { wish, project: project.clone() }), Err),
        Look::Place { tree, .. } if living.gone_folders.contains(&tree.path) => {
            Err(missing_folder(&tree.path))
        }
        Look::Place { tree, .. } => Ok(Seen::Place(tree.path.ends_with("/behind").then(|| Drift {
            base: tree.base.unwrap_or_default(),
            n_behind: 7,
            subjects: vec![String::from("Fix the parser"), String::from("Rename the tables")],
        }))),
        Look::Project { .. } => Ok(Seen::Project(project.clone())),
        Look::Refs { query, .. } => {
            let refs = if main.name.contains(&query) { vec![main] } else { Vec::new() };
            Ok(Seen::Refs { refs, is_truncated: false })
        }
        Look::Base { name, .. } if name == main.name => Ok(Seen::Base),
        Look::Base { name, .. } => {
            let message = format!("The base {name:?} does not exist in this repository.");
            Err(ErrorBody::new(ErrorCode::InvalidArgument, message))
        }
        Look::Session(wish) => {
            Ok(Seen::Session(find(&wish, |name| (name == "HOME").then(|| home.as_os_str().to_owned()))))
        }
        Look::Transcript(wish) => Ok(Seen::Transcript(transcript::read(&wish))),
        // One called so is behind.
        Look::Trees(trees) => {
            let row = GitRow { branch: Some(String::from("seen")), ..GitRow::default() };
            Ok(Seen::Trees(trees.into_iter().map(|tree| (tree.path, row.clone())).collect()))
        }
    }
}

/// A server without a server.
pub struct World {
    pub store: Store,
    pub clock: Clock,
    pub ids: CountingIds,
    pub rules: Rules,
    pub living: SetWorld,
    pub runtime_id: String,
    /// What the commands so far left, newest last; tests take from these.
    pub events: Vec<Event>,
    pub effects: Vec<OpenEffect>,
    pub acts: Vec<Act>,
    /// Calls that wait, by request id.
    pub waiting: BTreeMap<String, (String, Wait, CallerFacts)>,
    /// The methods that gave a reply.
    pub answered: BTreeSet<String>,
    /// The home directory of the command lines.
    pub home: tempfile::TempDir,
    next_request: u64,
    /// What is printed has its colours.
    pub is_coloured: bool,
    /// Who the next command line comes from: a terminal handle, or None for the person.
    pub sender: Option<String>,
    /// What is around the directory of the next command line.
    pub place: Place,
}

/// What a command line printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    pub code: u8,
}

impl World {
    pub fn new() -> Self {
        Self {
            store: Store::in_memory().unwrap(),
            clock: Clock::manual(Timestamp(1_796_000_000_000)),
            ids: CountingIds::default(),
            rules: Rules {
                max_depth: 1,
                default_agent: None,
                orca_path: String::from("/bin/orca"),
                state_dir: String::from("/state"),
                terminal_env: Vec::new(),
                shell: String::from("/bin/sh"),
                agents: Arc::new(agents()),
                agent_wishes: BTreeMap::new(),
                is_auto_permission: false,
                is_nudge_on: true,
            },
            living: SetWorld::default(),
            runtime_id: String::from("rt_1"),
            events: Vec::new(),
            effects: Vec::new(),
            acts: Vec::new(),
            waiting: BTreeMap::new(),
            answered: BTreeSet::new(),
            home: tempfile::tempdir().unwrap(),
            next_request: 0,
            is_coloured: false,
            sender: None,
            place: Place {
                repo_root: String::from("/repo"),
                root: String::from("/repo"),
                is_git: true,
                branch: Some(String::from("main")),
            },
        }
    }

    /// Runs `work` in a transaction of its own, committed if it succeeds.
    pub fn transact<R, E>(
        &mut self,
        caller: CallerFacts,
        work: impl FnOnce(&mut Cx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let tx = self.store.write().unwrap();
        let now = self.clock.now();
        let mut cx = Cx::new(tx, now, &mut self.ids, &self.rules, &self.living, &self.runtime_id, caller);
        let result = work(&mut cx)?;
        let (tx, left) = cx.finish();
        let breaches = orca::ops::invariants::breaches(&tx).unwrap();
        assert!(breaches.is_empty(), "a rule of design 7 is broken: {breaches:#?}");
        tx.commit_durable().unwrap();
        self.events.extend(left.events);
        self.effects.extend(left.effects);
        self.acts.extend(left.acts);
        Ok(result)
    }

    fn caller(&self, origin: Origin) -> CallerFacts {
        let credential = origin.env_handle.clone().unwrap_or_else(|| String::from("user"));
        let place = self.place.clone();
        CallerFacts { origin, credential, place: Some(place), ..CallerFacts::default() }
    }

    fn answer(&mut self, request: &Request) -> Result<serde_json::Value, ErrorBody> {
        let call = AnyCall::decode(&request.method, request.params.clone())?;
        let mut caller = self.caller(request.origin.clone());
        let id = request.request_id.clone();
        let refusal = self.living.git_refusal.take();
        let ids = self.ids.clone();
        let attempt = |world: &mut Self, caller: CallerFacts| {
            world.transact(caller, |cx| {
                match orca::ops::handle(cx, call.clone(), id.as_deref(), &request.params) {
                    Ok(Answer::Look(look)) => Err(Unmade::Look(look)),
                    Ok(answer) => Ok(answer),
                    Err(error) => Err(Unmade::Refused(error.into())),
                }
            })
        };
        let mut answer = attempt(self, caller.clone());
        if let Err(Unmade::Look(look)) = answer {
            caller.seen = Some(see(look, refusal, &self.living, self.home.path()));
            // What was not made takes no ids from what is.
            self.ids = ids;
            answer = attempt(self, caller.clone());
        }
        match answer {
            Err(Unmade::Refused(error)) => {
                self.forget(caller, &id.unwrap_or_default(), &error);
                Err(error)
            }
            Err(Unmade::Look(look)) => panic!("it saw what it asked for and asks for {look:?}"),
            Ok(Answer::Done(result)) => {
                super::schema::check_result(&request.method, &result);
                self.answered.insert(request.method.clone());
                Ok(result)
            }
            Ok(Answer::Wait(wait)) => {
                self.keep_waiting(&request.id, (request.method.clone(), wait, caller));
                Err(ErrorBody::new(ErrorCode::RuntimeError, "waits").with("waiting", &request.id))
            }
            Ok(Answer::Look(look)) => panic!("{look:?} left something"),
        }
    }

    /// A call waits, for a Run's mail as its one waiter.
    fn keep_waiting(&mut self, request_id: &str, waiting: (String, Wait, CallerFacts)) {
        if let WaitOn::RunMail { run, .. } = &waiting.1.on {
            self.living.waiters.insert(run.clone());
        }
        self.waiting.insert(request_id.to_owned(), waiting);
    }

    /// Asks a waiting call again; None while it goes on waiting, which leaves nothing behind.
    pub fn wake(&mut self, request_id: &str, wake: Wake) -> Option<Result<serde_json::Value, ErrorBody>> {
        let (method, wait, caller) = self.waiting.remove(request_id)?;
        if let WaitOn::RunMail { run, .. } = &wait.on {
            self.living.waiters.remove(run);
        }
        let answer = self.transact(caller.clone(), |cx| {
            match orca::ops::handle_wake(cx, wait, wake, Some(request_id)) {
                Ok(Answer::Done(result)) => Ok(result),
                Ok(Answer::Look(look)) => panic!("a waiting call wants to see {look:?}"),
                Ok(Answer::Wait(wait)) => Err(Box::new(Ok(wait))),
                Err(error) => Err(Box::new(Err(error))),
            }
        });
        match answer.map_err(|other| *other) {
            Ok(result) => {
                super::schema::check_result(&method, &result);
                self.answered.insert(method);
                Some(Ok(result))
            }
            Err(Ok(wait)) => {
                self.keep_waiting(request_id, (method, wait, caller));
                None
            }
            Err(Err(error)) => {
                let error = error.into();
                self.forget(caller, request_id, &error);
                Some(Err(error))
            }
        }
    }

    /// As the engine does with a call that was refused.
    fn forget(&mut self, caller: CallerFacts, request_id: &str, error: &ErrorBody) {
        self.transact(caller, |cx| orca::ops::forget(cx, request_id, error.code)).unwrap();
    }

    /// What a reading verb shows the person.
    pub fn look(&mut self, method: &str, params: serde_json::Value) -> serde_json::Value {
        let call = AnyCall::decode(method, params.clone()).unwrap();
        let tx = self.store.read().unwrap();
        let (now, caller) = (self.clock.now(), self.caller(Origin::default()));
        let mut cx = Cx::new(tx, now, &mut self.ids, &self.rules, &self.living, &self.runtime_id, caller);
        match orca::ops::handle(&mut cx, call, None, &params) {
            Ok(Answer::Done(shown)) => shown,
            other => panic!("{method} {params}: {other:?}"),
        }
    }

    /// Looks at running attempts as the server's clock does; tells when it looks again.
    pub fn look_after(&mut self) -> String {
        let caller = CallerFacts::default();
        let (findings, _) = self.transact(caller.clone(), |cx| watch::look(cx)).unwrap();
        self.transact(caller.clone(), |cx| watch::note(cx, findings)).unwrap();
        let (rest, next) = self.transact(caller, |cx| watch::look(cx)).unwrap();
        assert_eq!(rest, [], "one look leaves nothing to be found");
        next.map_or_else(
            || String::from("= nothing runs\n"),
            |next| format!("= again in {}\n", orca::base::text::duration(next.since_ms(self.clock.now()))),
        )
    }

    /// The clock goes ahead without time passing.
    pub fn jump(&mut self, ahead_ms: i64) {
        self.clock.advance_ms(ahead_ms);
        self.transact(CallerFacts::default(), |cx| watch::clock_jumped(cx, ahead_ms)).unwrap();
    }

    /// Where Claude Code writes a session.
    pub fn transcript(&self, session: &str) -> PathBuf {
        self.home.path().join(".claude/projects/-repo").join(format!("{session}.jsonl"))
    }

    /// A hook reports, from a process in that terminal; tells what became of it.
    pub fn hook(&mut self, terminal: &str, agent: &str, session: &str, path: &Path) -> String {
        let report = HookReport {
            agent: agent.to_owned(),
            session_id: session.to_owned(),
            transcript_path: path.to_string_lossy().into_owned(),
            ..HookReport::default()
        };
        let request = Request {
            id: String::from("hook"),
            method: HookReport::METHOD.to_owned(),
            params: serde_json::to_value(report).unwrap(),
            request_id: None,
            origin: Origin { env_handle: Some(terminal.to_owned()), ..Origin::default() },
            contract: orca::proto::envelope::CONTRACT_VERSION,
            version: String::from("test"),
        };
        let reported: HookReported = serde_json::from_value(self.answer(&request).unwrap()).unwrap();
        reported.reason.unwrap_or_else(|| String::from("recorded"))
    }

    /// Gives the oldest open effect the outcome it would have if all goes well.
    pub fn succeed(&mut self) -> String {
        let open = self.oldest_effect();
        let (what, outcome) = self.success(&open.effect);
        self.end_effect(&open.id, outcome);
        what
    }

    /// What an effect is called, and the outcome it has if all goes well.
    pub fn success(&self, effect: &Effect) -> (String, Outcome) {
        match effect {
            Effect::CreateWorktree(wish) => (
                format!("worktree {}", wish.name),
                Outcome::WorktreeCreated(NewCheckout {
                    path: format!("/trees/{}", wish.name),
                    branch: wish.branch.clone().unwrap_or_else(|| wish.name.clone()),
                    is_old_branch: wish.branch.is_some(),
                    base_ref: wish.base.clone().unwrap_or_else(|| String::from("main")),
                    base_commit: String::from("0123456"),
                    head: String::from("0123456"),
                    project: self.living.project.clone(),
                    warnings: Vec::new(),
                }),
            ),
            Effect::RemoveWorktree(wish) => (
                format!("remove {}", wish.path),
                Outcome::WorktreeRemoved {
                    was_there: true,
                    preserved_branch: wish.made_branch.is_none().then(|| String::from("kept")),
                    warnings: Vec::new(),
                },
            ),
            Effect::SpawnTerminal { terminal_id } => {
                (format!("spawn {terminal_id}"), Outcome::TerminalSpawned { pid: 100 })
            }
            Effect::DeliverPrompt { terminal_id, .. } => {
                (format!("prompt {terminal_id}"), Outcome::PromptDelivered { is_confirmed: true })
            }
            Effect::CloseTerminal { terminal_id, .. } => (
                format!("close {terminal_id}"),
                Outcome::TerminalClosed { end: None, archive: String::from("captured") },
            ),
        }
    }

    /// The oldest effect that has no outcome yet.
    pub fn oldest_effect(&self) -> OpenEffect {
        self.open_effect().expect("an effect is open")
    }

    /// The same where there may be none.
    pub fn open_effect(&self) -> Option<OpenEffect> {
        let open: Vec<OpenEffect> = self.store.read().unwrap().list("all", "", 1).unwrap();
        open.into_iter().next()
    }

    /// Gives an effect its outcome.
    pub fn end_effect(&mut self, id: &EffectId, outcome: Outcome) {
        self.transact(CallerFacts::default(), |cx| advance::outcome(cx, id, outcome)).unwrap();
    }

    /// A terminal's process ends with this status.
    pub fn exit(&mut self, terminal: &str, exit_code: i32) {
        let terminal = TerminalId::parse(terminal).unwrap();
        let at = self.clock.now();
        let end = ProcessEnd { exit_code: Some(exit_code), signal: None, at, closed_by: None };
        self.transact(CallerFacts::default(), |cx| advance::process_ended(cx, &terminal, end)).unwrap();
    }

    /// A terminal's process is gone and nobody saw how.
    pub fn lose_terminal(&mut self, terminal: &str) {
        let terminal = TerminalId::parse(terminal).unwrap();
        self.transact(CallerFacts::default(), |cx| advance::terminal_lost(cx, &terminal)).unwrap();
    }

    /// A person types into a terminal.
    pub fn type_by_hand(&mut self, terminal: &str) {
        let terminal = TerminalId::parse(terminal).unwrap();
        self.transact(CallerFacts::default(), |cx| advance::user_typed(cx, &terminal)).unwrap();
    }

    /// Another server goes on with the same store; gives what it has to do again.
    pub fn restart(&mut self) -> Vec<OpenEffect> {
        self.runtime_id = String::from("rt_2");
        self.transact(CallerFacts::default(), advance::recover).unwrap()
    }

    /// A live process in a terminal, seen doing this.
    pub fn show_live(&mut self, terminal: &str, activity: &str, detail: Option<&str>) {
        let facts = LiveFacts {
            activity: activity.to_owned(),
            activity_detail: detail.map(str::to_owned),
            activity_since: self.clock.now(),
            is_process_alive: true,
            source: String::from("screen"),
            ..LiveFacts::default()
        };
        let terminal = TerminalId::parse(terminal).unwrap();
        let before = self.living.live.get(&terminal).cloned().unwrap_or_default();
        let begins = activity == "working" && before.activity != "working";
        let facts = LiveFacts { n_turns: before.n_turns + u64::from(begins), agent: before.agent, ..facts };
        self.living.live.insert(terminal, facts);
    }

    /// So many requests are open that there is no room for another one.
    pub fn fill_ledger(&mut self) {
        let now = self.clock.now();
        self.transact(CallerFacts::default(), |cx| {
            (0..MAX_RECEIPTS).try_for_each(|n| {
                cx.tx.put_receipt(&Receipt {
                    id: format!("open-{n}"),
                    caller: String::from("somebody"),
                    method: String::from("terminal.create"),
                    params_hash: String::new(),
                    state: RequestState::Pending,
                    result: None,
                    wait: None,
                    created_at: now,
                    updated_at: now,
                })
            })
        })
        .unwrap();
    }

    /// The output of a terminal, lines separated by `|`.
    pub fn print(&mut self, terminal: &str, lines: &str) {
        let lines: Vec<String> = lines.split('|').map(str::to_owned).collect();
        let n = lines.len() as u64;
        let page = OutputPage { lines, oldest: 0, next: n, latest: n, ..OutputPage::default() };
        self.living.output.insert(TerminalId::parse(terminal).unwrap(), page);
    }

    /// The proof that the brief of an attempt holds.
    pub fn proof(&self, dispatch: &str) -> String {
        let found: Option<Dispatch> = self.store.read().unwrap().get(dispatch).unwrap();
        found.expect("the dispatch is there").proof
    }

    /// Runs one command line, as the current sender.
    pub fn run(&mut self, words: &[String]) -> Printed {
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let home = self.home.path().to_owned();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let tints = Tints { stdout: self.is_coloured, stderr: self.is_coloured };
        let code = match orca::cli::parse(&argv) {
            Ok(parsed) => {
                let origin = Origin { env_handle: self.sender.clone(), ..Origin::default() };
                let mut ids = {
                    let start = self.next_request;
                    let mut n = start;
                    move || {
                        n += 1;
                        format!("req-{n}")
                    }
                };
                self.next_request += 1;
                let mut session = Session {
                    transport: self,
                    out: Out { stdout: &mut stdout, stderr: &mut stderr, tints },
                    is_json: parsed.json,
                    argv: &argv,
                    home: &home,
                    origin,
                    new_request_id: &mut ids,
                };
                orca::cli::run(&parsed, &mut session)
            }
            Err(error) => {
                let mut out = Out { stdout: &mut stdout, stderr: &mut stderr, tints };
                orca::cli::print_syntax_error(&error, &argv, &mut out)
            }
        };
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let printed = Printed { stdout: text(stdout), stderr: text(stderr), code };
        if words.iter().any(|word| word == "--json") && !printed.stdout.is_empty() {
            super::schema::check_printed(words, &printed.stdout);
        }
        check_steps(&printed);
        printed
    }
}

/// Every next step that was printed is a command line that can be run.
fn check_steps(printed: &Printed) {
    let lines = printed.stdout.lines().chain(printed.stderr.lines());
    lines.filter_map(|line| line.strip_prefix("  try: ")).for_each(check_step);
    let document: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap_or_default();
    for data in [&document["error"]["data"], &document["result"]] {
        let steps = data["nextSteps"].as_array().into_iter().chain(data["nextCommands"].as_array()).flatten();
        steps.filter_map(|step| step.as_str()).for_each(check_step);
    }
}

fn check_step(step: &str) {
    let program = step.split(' ').next().unwrap();
    if program.rsplit('/').next() == Some("orca") {
        return super::words::assert_runnable(step, "a reply");
    }
    let is_known = matches!(program, "git" | "ls" | "tail" | "df" | "mv" | "mkdir" | "command" | "env");
    assert!(is_known && !step.contains('<'), "a reply shows a step that is no command line: {step}");
}

impl Transport for World {
    fn call(&mut self, request: Request, _: &mut dyn FnMut(u64)) -> Result<Response, Box<Unanswered>> {
        // What a client sends must survive the wire.
        let bytes = serde_json::to_vec(&request).unwrap();
        let request: Request = serde_json::from_slice(&bytes).unwrap();
        let answer = self.answer(&request);
        Ok(Response::new(&request.id, Some(&self.runtime_id), answer))
    }
}
