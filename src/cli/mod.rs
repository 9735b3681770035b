//! The command line: parse, ask, print. It holds no truth and decides nothing.

pub mod args;
pub mod demo;
pub mod host;
pub mod out;
pub mod transport;
pub mod verb;
pub mod verbs;

use crate::base::code::ErrorCode;
use crate::client::Client;
use crate::client::find::Place;
use crate::config::env::Environment;
use crate::proto::envelope::{Origin, Response};
use crate::proto::error::ErrorBody;
use clap::{CommandFactory as _, Parser, Subcommand};
use out::Out;
use std::ffi::OsString;
use verb::Session;

/// A terminal multiplexer in which several coding agents work as one team.
#[derive(Debug, Parser)]
#[command(name = "orca", version, disable_help_subcommand = false)]
pub struct Orca {
    /// Print the JSON envelope instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// The groups of verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs, tasks, dispatches, mail, questions and gates.
    #[command(subcommand)]
    Orchestration(verbs::Orchestration),
    /// Terminals: the panes of the screen.
    #[command(subcommand)]
    Terminal(verbs::terminal::Terminal),
    /// Worktrees and their branches.
    #[command(subcommand)]
    Worktree(verbs::worktree::Worktree),
    /// Repositories and folders.
    #[command(subcommand)]
    Repo(verbs::worktree::Repo),
    /// Show a scripted team at work in a temporary place.
    Demo(demo::DemoArgs),
    /// The guides that agents read.
    #[command(subcommand)]
    Skills(verbs::skills::Skills),
    #[command(flatten)]
    Host(host::Host),
}

/// Parses a command line; a syntax error comes back as the error to print and never reaches a
/// server (contract 2.1).
pub fn parse(argv: &[OsString]) -> Result<Orca, clap::Error> {
    let mut argv = args::join_dashed_values(argv);
    // Without a command it is the screen.
    if argv.len() == 1 {
        argv.push(OsString::from("attach"));
    }
    Orca::try_parse_from(argv)
}

/// The whole program: parses, finds the server, runs, prints. Gives the exit code.
pub fn main(argv: &[OsString]) -> u8 {
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let mut out = Out { stdout: &mut stdout, stderr: &mut stderr };
    let orca = match parse(argv) {
        Ok(orca) => orca,
        Err(error) => return print_syntax_error(&error, argv, &mut out),
    };
    let environment = Environment::read();
    if environment.is_log_wanted {
        crate::base::report::log_to_stderr();
    }
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut client =
        Client::new(Place::of(&environment), words).with_keepalive_ms(environment.keepalive_interval_ms);
    let mut new_request_id = || uuid::Uuid::new_v4().to_string();
    if let Command::Host(command) = &orca.command {
        let (client, environment) = (&mut client, &environment);
        let new_request_id = &mut new_request_id;
        let mut desk = host::Desk { client, environment, out, is_json: orca.json, new_request_id };
        return host::run(command, &mut desk);
    }
    let origin = Origin {
        env_handle: environment.terminal_handle.clone(),
        env_pane: environment.pane_key.clone(),
        env_worktree: environment.worktree_id.clone(),
        cwd: Some(environment.cwd.to_string_lossy().into_owned()),
    };
    let transport = &mut client;
    let new_request_id = &mut new_request_id;
    run(&orca, &mut Session { transport, out, is_json: orca.json, argv, origin, new_request_id })
}

/// Help and version are no errors; the rest is, on standard output as an envelope with `--json`.
fn print_syntax_error(error: &clap::Error, argv: &[OsString], out: &mut Out<'_>) -> u8 {
    if !error.use_stderr() {
        out.data(&error.render().to_string());
        return 0;
    }
    let is_json = argv.iter().any(|word| word == "--json");
    verbs::print_failure(&syntax_error(error, argv), is_json, out)
}

/// The command that shows the help of what was called, as far as the words go: `orca worktree --help`.
pub fn help_of(argv: &[OsString]) -> String {
    let is_verb = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let words = argv.iter().skip(1).filter_map(|word| word.to_str());
    let path = words.take_while(|word| is_verb(word) && !word.starts_with('-')).take(2);
    let known = path.fold((Orca::command(), String::from("orca")), |(group, line), word| {
        match group.find_subcommand(word).cloned() {
            Some(found) => (found, format!("{line} {word}")),
            None => (group, line),
        }
    });
    format!("{} --help", known.1)
}

/// Runs a parsed command that needs a server.
pub fn run(orca: &Orca, session: &mut Session<'_>) -> u8 {
    match &orca.command {
        Command::Orchestration(verb) => verbs::orchestration(verb, session),
        Command::Terminal(verb) => verbs::terminal::run(verb, session),
        Command::Worktree(verb) => verbs::worktree::run(verb, session),
        Command::Repo(verb) => verbs::worktree::run_repo(verb, session),
        Command::Demo(args) => demo::run(args, &mut session.out),
        Command::Skills(verb) => verbs::skills::run(verb, session.is_json, &mut session.out),
        Command::Host(_) => {
            let message = "This command is about a real server, and there is none here.";
            let error = ErrorBody::new(ErrorCode::CapabilityUnsupported, message);
            verbs::fail_local(error, session.is_json, &mut session.out)
        }
    }
}

/// What clap refused, in the words of the contract.
pub fn syntax_error(error: &clap::Error, argv: &[OsString]) -> Response {
    let message = error.render().to_string();
    let message = message.strip_prefix("error: ").unwrap_or(&message).trim().to_owned();
    Response::new(
        "local",
        None,
        Err(ErrorBody::new(ErrorCode::InvalidArgument, message).next_step(help_of(argv))),
    )
}
