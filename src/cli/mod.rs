//! The command line: parse, ask, print. It holds no truth and decides nothing.

pub mod args;
pub mod demo;
pub mod out;
pub mod transport;
pub mod verb;
pub mod verbs;

use crate::base::code::ErrorCode;
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use clap::{Parser, Subcommand};
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
}

/// Parses a command line; a syntax error comes back as the error to print and never reaches a
/// server (contract 2.1).
pub fn parse(argv: &[OsString]) -> Result<Orca, clap::Error> {
    Orca::try_parse_from(argv)
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
    }
}

/// What clap refused, in the words of the contract.
pub fn syntax_error(error: &clap::Error) -> Response {
    let message = error.render().to_string();
    let message = message.strip_prefix("error: ").unwrap_or(&message).trim().to_owned();
    Response::new(
        "local",
        None,
        Err(ErrorBody::new(ErrorCode::InvalidArgument, message).next_step("orca --help")),
    )
}
