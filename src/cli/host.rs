//! Commands about the server itself and the screen: they need a real place, not just a transport.

use super::out::Out;
use super::tone::warning;
use super::transport::Transport;
use super::verbs::{fail_local, print_failure};
use crate::base::clock::Clock;
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::lock;
use crate::base::text::{self, counted};
use crate::client::Client;
use crate::client::find;
use crate::config::Config;
use crate::config::env::Environment;
use crate::proto::Call;
use crate::proto::envelope::{CONTRACT_VERSION, Origin, Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::server::{ServerStop, Status, StatusGet, Stopping};
use crate::pty::link;
use crate::tui::keys::Keys;
use crate::tui::msg::Left;
use clap::{Args, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{BufRead as _, IsTerminal as _};
use std::time::{Duration, Instant};

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same of one that broke off while it was asked to.
const LATE_PATIENCE: Duration = Duration::from_secs(5);

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Host {
    /// Say whether the server runs and what it holds.
    #[command(after_help = "Example:\n  orca status --json")]
    Status,
    /// Open the screen; the same as orca without a command.
    #[command(after_help = "Example:\n  orca attach")]
    Attach,
    /// Start the server if it is absent, and open the screen where there is a terminal to draw on.
    #[command(after_help = "Example:\n  orca open --json")]
    Open,
    /// Start, stop or replace the server.
    #[command(subcommand)]
    Server(Server),
}

/// `orca server …`.
#[derive(Debug, Subcommand)]
pub enum Server {
    /// Run the server here, in the foreground.
    #[command(after_help = "Example:\n  orca server run")]
    Run(RunArgs),
    /// Start the server in the background, if it is absent.
    #[command(after_help = "Example:\n  orca server start")]
    Start,
    /// End the server and every terminal.
    #[command(after_help = "Example:\n  orca server stop --force")]
    Stop(StopArgs),
    /// Replace the server by this version; every terminal goes on.
    #[command(after_help = "Example:\n  orca server restart")]
    Restart,
    /// Say whether the server runs and what it holds.
    #[command(after_help = "Example:\n  orca server status --json")]
    Status,
}

/// Runs the server here, in the foreground.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Leave this session and log to the state directory; how the start went goes to standard output.
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// Ends the server and every terminal. A call that is open then is told so and starts no other one; a
/// command that comes later does.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// Do not ask, end what runs.
    #[arg(long)]
    force: bool,
}

/// What these commands work with.
pub struct Desk<'a> {
    pub client: &'a mut Client,
    pub environment: &'a Environment,
    pub out: Out<'a>,
    pub is_json: bool,
    pub new_request_id: &'a mut dyn FnMut() -> String,
}

/// Runs one of these commands. Gives the exit code.
pub fn run(host: &Host, desk: &mut Desk<'_>) -> u8 {
    match host {
        Host::Status | Host::Server(Server::Status) => desk.status(),
        Host::Attach => desk.attach(),
        Host::Open => desk.open(),
        Host::Server(Server::Start) => desk.start(),
        Host::Server(Server::Stop(args)) => desk.stop(args.force),
        Host::Server(Server::Restart) => desk.restart(),
        Host::Server(Server::Run(args)) => crate::server::run(desk.environment, args.detached),
    }
}

impl Desk<'_> {
    /// Opens the screen until the person detaches. A bad line in the settings is shown there.
    fn attach(&mut self) -> u8 {
        if let Some(error) = self.nested() {
            return fail_local(error, self.is_json, &mut self.out);
        }
        let (config, faults) = settings(self.environment);
        let options = crate::tui::model::Options {
            config,
            faults,
            cwd: self.environment.cwd.to_string_lossy().into_owned(),
            session: (self.new_request_id)(),
            opens_shell: true,
            clipboard: crate::tui::clipboard::Facts::of(self.environment),
            editor: self.environment.editor.clone(),
        };
        match crate::tui::run(&find::Place::of(self.environment), options) {
            Ok(Left::Detached) => {
                self.out.talk("detached; everything keeps running, and orca brings it back");
                0
            }
            Ok(Left::Stopped) => {
                self.out.talk("the server was stopped, and every terminal with it");
                0
            }
            Err(error) => fail_local(error, self.is_json, &mut self.out),
        }
    }

    /// Why no screen is opened in a pane of its own server: it would show itself.
    fn nested(&self) -> Option<ErrorBody> {
        let handle = self.environment.terminal_handle.as_deref()?;
        let terminal = TerminalId::parse(handle).ok()?;
        let place = find::Place::of(self.environment);
        place.dir.terminal(terminal.as_str()).exists().then(|| {
            ErrorBody::new(
                ErrorCode::InvalidArgument,
                "This is a pane of orca already; its screen would be shown inside itself.",
            )
            .next_step("orca terminal list")
            .next_step("env -u ORCA_TERMINAL_HANDLE orca")
        })
    }

    fn ask<C: Call>(&mut self, call: &C) -> Result<(Response, C::Reply), Box<Response>> {
        let id = (self.new_request_id)();
        let params = serde_json::to_value(call).unwrap_or(Value::Null);
        let request = Request {
            id,
            method: C::METHOD.to_owned(),
            params,
            request_id: None,
            origin: Origin::default(),
            contract: CONTRACT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let response = match Transport::call(self.client, request, &mut |_| ()) {
            Ok(response) if response.ok => response,
            Ok(response) => return Err(Box::new(response)),
            Err(unanswered) => {
                return Err(Box::new(Response::new("local", None, Err(unanswered.error))));
            }
        };
        match decode::<C::Reply>(&response) {
            Ok(reply) => Ok((response, reply)),
            Err(error) => {
                let runtime_id = response.meta.runtime_id.as_deref();
                Err(Box::new(Response::new(&response.id, runtime_id, Err(error))))
            }
        }
    }

    fn status(&mut self) -> u8 {
        // One that dies under the question is not brought back by it.
        self.client.never_start();
        if self.client.is_running() {
            match self.ask(&StatusGet {}) {
                Ok((mut response, mut status)) => {
                    status.warnings = self.warn();
                    if let (Some(Value::Object(fields)), false) =
                        (&mut response.result, status.warnings.is_empty())
                    {
                        fields.insert(String::from("warnings"), status.warnings.clone().into());
                    }
                    return self.print(&response, &status_text(&status));
                }
                Err(response) if is_unavailable(&response) && !self.client.is_running() => {}
                Err(response) => return print_failure(&response, self.is_json, &mut self.out),
            }
        }
        let warnings = self.warn();
        let place = self.client.place();
        let n_queued = crate::client::spool::n_waiting(place);
        let is_starting = find::is_locked(place);
        let failure = std::fs::read(place.dir.start_failure()).ok().filter(|_| !is_starting);
        let failure: Option<ErrorBody> = failure.and_then(|json| serde_json::from_slice(&json).ok());
        let status =
            Status::not_running(&place.dir.root().display().to_string(), is_starting, n_queued, failure);
        let n_terminals = link::n_running(&place.dir.terminals());
        let status = Status { warnings, n_terminals, ..status };
        self.out.local(self.is_json, &status, |status| {
            let queued = queued_text(status);
            match is_starting {
                true => format!("a server holds {} and does not answer yet{queued}\n", status.state_dir),
                false => {
                    let dir = &status.state_dir;
                    let left = match status.n_terminals {
                        0 => String::new(),
                        1 => String::from("\n1 terminal goes on, and orca brings it back"),
                        n => format!("\n{n} terminals go on, and orca brings them back"),
                    };
                    format!("no server runs in {dir}{queued}{left}\n{}", failure_text(status))
                }
            }
        })
    }

    /// Says what is wrong in the settings, and returns it.
    fn warn(&mut self) -> Vec<String> {
        let (config, mut faults) = settings(self.environment);
        faults.extend(Keys::new(&config).1);
        for fault in &faults {
            self.out.talk(&warning(&text::one_line(fault)));
        }
        faults
    }

    fn start(&mut self) -> u8 {
        if !self.client.is_running()
            && let Err(error) = find::start(self.client.place())
        {
            return fail_local(error, self.is_json, &mut self.out);
        }
        self.status()
    }

    /// Starts the server where none runs; then the screen, or with `--json` or without a terminal the
    /// status (contract 2.3).
    fn open(&mut self) -> u8 {
        let has_screen = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if self.is_json || !has_screen {
            return self.start();
        }
        if !self.client.is_running()
            && let Err(error) = find::start(self.client.place())
        {
            return fail_local(error, self.is_json, &mut self.out);
        }
        self.attach()
    }

    fn stop(&mut self, force: bool) -> u8 {
        let has_holders = std::fs::read_dir(self.client.place().dir.holders())
            .is_ok_and(|mut entries| entries.next().is_some());
        // Terminals without a server are ended by a server.
        if !self.client.is_running() && !has_holders {
            let state_dir = self.client.place().dir.root().display().to_string();
            let text = format!("no server runs in {state_dir}");
            let nothing = Stopping { pid: None, n_ended: 0, n_kept: 0, warnings: Vec::new() };
            return self.out.local(self.is_json, &nothing, |_| format!("{text}\n"));
        }
        let wish = |force| ServerStop { keep_terminals: false, force };
        let mut answer = self.ask(&wish(force));
        if let Err(response) = &answer
            && self.is_confirmed(response)
        {
            answer = self.ask(&wish(true));
        }
        match answer {
            Ok((response, stopping)) => {
                if let Err(error) = self.wait_for_end(PATIENCE) {
                    return fail_local(error, self.is_json, &mut self.out);
                }
                stopping.warnings.iter().for_each(|told| self.out.talk(&warning(&text::one_line(told))));
                let pid = stopping.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                let text = format!("the server{pid} ended, and {}", terminals(&stopping));
                self.print(&response, &text)
            }
            Err(response) if force && is_store_failure(&response) => {
                self.end_without_server(&response, "no server can start", PATIENCE)
            }
            // What was asked for may have come true all the same: somebody else asked for it too.
            Err(response) if force && is_unavailable(&response) => {
                self.end_without_server(&response, "the server ended meanwhile", LATE_PATIENCE)
            }
            Err(response) => print_failure(&response, self.is_json, &mut self.out),
        }
    }

    /// Ends what runs in terminals while no server runs, for the reason `why`. The next one finds out what
    /// became of them, and that it was a stop.
    fn end_without_server(&mut self, response: &Response, why: &str, patience: Duration) -> u8 {
        if self.wait_for_end(patience).is_err() {
            return print_failure(response, self.is_json, &mut self.out);
        }
        let Some(lock) = find::take(self.client.place()) else {
            return print_failure(response, self.is_json, &mut self.out);
        };
        let began_at = Clock::System.now();
        let n_ended = link::end_all(&self.client.place().dir.holders());
        let mut warnings = Vec::new();
        if n_ended > 0
            && let Err(error) = lock::note_stop(&lock, began_at)
        {
            warnings.push(format!("The next start will not know that this stop ended them: {error}."));
        }
        warnings.iter().for_each(|told| self.out.talk(&warning(told)));
        let text = match n_ended {
            0 => format!("{why}; no terminal is left"),
            n => format!("{why}; {} ended", counted(n, "terminal")),
        };
        let stopping = Stopping { pid: None, n_ended, n_kept: 0, warnings };
        self.out.local(self.is_json, &stopping, |_| format!("{text}\n"))
    }

    /// Asks the person, where one is there, whether what runs may be ended.
    fn is_confirmed(&mut self, response: &Response) -> bool {
        let Some(error) =
            response.error.as_ref().filter(|error| error.code == ErrorCode::ConfirmationRequired)
        else {
            return false;
        };
        if self.is_json || !std::io::stdin().is_terminal() {
            return false;
        }
        self.out.talk(&format!("{} End them? [y/N]", text::many_lines(&error.message)));
        let mut line = String::new();
        let is_read = std::io::stdin().lock().read_line(&mut line).is_ok();
        is_read && matches!(line.trim(), "y" | "Y" | "yes")
    }

    fn restart(&mut self) -> u8 {
        // Agents whose calls wait come back the moment the old server is gone. None of them may start
        // the new one: it would live in that agent's environment.
        let before = find::mark(self.client.place());
        let turn = match find::turn(self.client.place()) {
            Ok(turn) => turn,
            Err(error) => return fail_local(error, self.is_json, &mut self.out),
        };
        self.client.never_start();
        let now = find::mark(self.client.place());
        if now.is_some() && now != before && self.client.is_running() {
            self.out.talk("orca: another command restarted the server meanwhile");
            return self.status();
        }
        if self.client.is_running() {
            match self.ask(&ServerStop { keep_terminals: true, force: false }) {
                Ok(_) => {}
                // A server that ends may take its answer along; whether it ended shows in a moment.
                Err(response) if is_unavailable(&response) => {}
                Err(response) => return print_failure(&response, self.is_json, &mut self.out),
            }
            if let Err(error) = self.wait_for_end(PATIENCE) {
                return fail_local(error, self.is_json, &mut self.out);
            }
        }
        if let Err(error) = find::start_in(&turn, self.client.place()) {
            return fail_local(error, self.is_json, &mut self.out);
        }
        self.status()
    }

    /// Waits until the old server has let go of the state directory.
    fn wait_for_end(&mut self, patience: Duration) -> Result<(), ErrorBody> {
        self.client.disconnect();
        let began = Instant::now();
        while find::is_locked(self.client.place()) {
            if began.elapsed() > patience {
                let log = self.client.place().dir.log();
                let message = String::from("The server was asked to end and has not ended yet.");
                let error = ErrorBody::new(ErrorCode::RuntimeError, message);
                return Err(find::with_ways_out(self.client.place(), error)
                    .next_step(format!("tail {}", text::shell_quote(&log.display().to_string()))));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn print(&mut self, response: &Response, text: &str) -> u8 {
        if self.is_json {
            self.out.json(response);
        } else {
            self.out.text(&format!("{text}\n"));
        }
        0
    }
}

/// The person's settings, and a sentence for each line that does not count.
fn settings(environment: &Environment) -> (Config, Vec<String>) {
    let file = environment.config_file();
    // No file at all is the usual case; an unreadable one leaves the defaults.
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let (config, faults) = Config::resolve(&text, environment);
    (config, faults.iter().map(|fault| format!("{}: {fault}", file.display())).collect())
}

fn is_unavailable(response: &Response) -> bool {
    response.error.as_ref().is_some_and(|error| error.code == ErrorCode::RuntimeUnavailable)
}

fn decode<T: DeserializeOwned>(response: &Response) -> Result<T, ErrorBody> {
    serde_json::from_value(response.result.clone().unwrap_or(Value::Null)).map_err(|error| {
        ErrorBody::new(
            ErrorCode::IncompatibleRuntime,
            format!("The server's reply does not have the shape this orca knows: {error}."),
        )
        .next_step("orca server restart")
    })
}

fn status_text(status: &Status) -> String {
    format!(
        "the server{} runs in {}: {}, {}, orca {}{}",
        status.app.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        status.state_dir,
        counted(status.n_terminals, "terminal"),
        counted(status.n_clients, "screen"),
        status.runtime.app_version,
        queued_text(status)
    )
}

/// The database cannot be written or read, so no server can do anything.
fn is_store_failure(response: &Response) -> bool {
    let code = response.error.as_ref().map(|error| error.code);
    matches!(code, Some(ErrorCode::StoreUnwritable | ErrorCode::StoreDamaged))
}

/// Why the last start failed, where it did, with the ways out.
fn failure_text(status: &Status) -> String {
    let Some(failure) = &status.start_failure else { return String::new() };
    let steps: String = failure.next_steps().iter().map(|step| format!("  try: {step}\n")).collect();
    format!("the last start failed: {} [{}]\n{steps}", text::many_lines(&failure.message), failure.code)
}

/// What waits in files, where something does.
fn queued_text(status: &Status) -> String {
    match (status.n_queued, status.n_rejected) {
        (0, 0) => String::new(),
        (n_queued, 0) => format!("; {} queued", counted(n_queued, "call")),
        (n_queued, n_rejected) => {
            format!("; {} queued, {} unreadable", counted(n_queued, "call"), counted(n_rejected, "file"))
        }
    }
}

fn terminals(stopping: &Stopping) -> String {
    match stopping.n_ended {
        0 => String::from("nothing else ran"),
        n => format!("{} with it", counted(n, "terminal")),
    }
}
