//! The command line: parse, ask, print. It holds no truth and decides nothing.

pub mod args;
pub mod demo;
pub mod fleet;
pub mod host;
pub mod out;
pub mod suggest;
pub mod tone;
pub mod transport;
pub mod tree;
pub mod verb;
pub mod verbs;

use crate::base::code::ErrorCode;
use crate::client::Client;
use crate::client::find::Place;
use crate::config::env::Environment;
use crate::proto::envelope::Origin;
use crate::proto::error::ErrorBody;
use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, FromArgMatches as _, Parser, Subcommand};
use out::{Out, Watched};
use serde_json::json;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};
use tone::Tints;
use verb::Session;

/// What a command ends with (contract 2.2).
pub const EXIT_CODES: &[(&str, &str)] = &[
    ("0", "It was done. A wait that ran out of time, and a release that is pending, are no failures."),
    (
        "1",
        "An error; or the answer is no: a worker that is not ready or still starting, a refused report, an ask without an \
         answer, a process whose end nobody saw, an unsatisfied terminal wait.",
    ),
    ("75", "No server could be reached; the call is kept on disk and takes effect when one runs."),
];

/// The place of `--json` in a help: behind the command's own flags, before `--help`.
const LAST_FLAG: usize = 900;

const ROOT_EXAMPLES: &str = "Without a command it opens the screen.

Example:
  orca
  orca orchestration run-create --objective \"Fix the login race\"
  orca skills get orchestration

Exit codes:
   0  done; also a check --wait that ran out of time
   1  an error, or the answer is no: worker not ready, report refused,
      no answer to ask, wait not satisfied
  75  kept on disk: no server could be reached, the next one takes it in

`orca man` has the environment variables and every error code.";

/// A terminal multiplexer in which several coding agents work as one team.
#[derive(Debug, Parser)]
#[command(name = "orca", version, after_help = ROOT_EXAMPLES, args_override_self = true, disable_version_flag = true)]
#[command(override_usage = "orca [OPTIONS] [COMMAND]")]
pub struct Orca {
    /// Print the JSON envelope instead of text.
    #[arg(long, global = true, display_order = LAST_FLAG)]
    pub json: bool,
    /// Print the version.
    #[arg(short = 'v', short_alias = 'V', long, action = ArgAction::Version)]
    pub version: Option<bool>,
    /// Another server; not offered yet.
    #[arg(long, global = true, hide = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub environment: Option<String>,
    /// The same by its pairing code.
    #[arg(long, global = true, hide = true, value_name = "CODE", value_parser = NonEmptyStringValueParser::new())]
    pub pairing_code: Option<String>,
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
    Repo(verbs::repo::Repo),
    /// Print the event log as JSON lines, and follow it.
    Events(verbs::event::EventsArgs),
    /// Show a scripted team at work in a temporary place.
    Demo(demo::DemoArgs),
    /// The guides that agents read.
    #[command(subcommand)]
    Skills(verbs::skills::Skills),
    /// Print the JSON Schema of the replies.
    Schema(verbs::schema::SchemaArgs),
    /// Print the completion script of a shell.
    Completions(verbs::completions::CompletionsArgs),
    /// Print or write the manual pages.
    Man(verbs::man::ManArgs),
    /// Called by the agents themselves.
    #[command(hide = true)]
    Hook(verbs::hook::HookArgs),
    #[command(flatten)]
    Host(host::Host),
}

impl Orca {
    /// Remote servers come later (design 12). A call that means one is not done here instead; `variable` is
    /// the environment's that names one.
    pub fn only_here(&self, variable: Option<&str>) -> Result<(), ErrorBody> {
        let unsupported = |message: &str, step: &str| {
            Err(ErrorBody::new(ErrorCode::CapabilityUnsupported, message).next_step(step))
        };
        if self.environment.is_some() || self.pairing_code.is_some() {
            let message = "This build knows no remote servers; leave --environment and --pairing-code out.";
            return unsupported(message, "orca status --json");
        }
        let Some(variable) = variable else { return Ok(()) };
        let message = format!("{variable} is set, and this build knows no remote servers; nothing was done.");
        unsupported(&message, &format!("env -u {variable} orca status --json"))
    }
}

/// Parses a command line; a syntax error comes back as the error to print and never reaches a
/// server (contract 2.1).
pub fn parse(argv: &[OsString]) -> Result<Orca, clap::Error> {
    let mut argv = args::join_dashed_values(argv);
    // Without a command it is the screen.
    if argv.len() == 1 {
        argv.push(OsString::from("attach"));
    }
    let mut matches = tree::grammar().try_get_matches_from(argv)?;
    Orca::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut tree::grammar()))
}

/// The whole program: parses, finds the server, runs, prints. Gives the exit code.
pub fn main(argv: &[OsString]) -> u8 {
    let environment = Environment::read();
    let tints = Tints::of(&environment, std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    let (mut stdout, mut stderr) = (Watched::new(std::io::stdout()), std::io::stderr());
    let code = answer(argv, environment, tints, (&mut stdout, &mut stderr));
    stdout.exit_code(code, &mut stderr)
}

fn answer(
    argv: &[OsString],
    environment: Environment,
    tints: Tints,
    (stdout, stderr): (&mut dyn Write, &mut dyn Write),
) -> u8 {
    let mut out = Out { stdout, stderr, tints };
    let orca = match parse(argv) {
        Ok(orca) => orca,
        Err(error) => return print_syntax_error(&error, argv, &mut out),
    };
    if let Err(error) = orca.only_here(environment.remote) {
        return verbs::fail_local(error, orca.json, &mut out);
    }
    if environment.is_log_wanted {
        crate::base::report::log_to_stderr();
    }
    if let Command::Hook(args) = orca.command {
        return verbs::hook::run(args, environment);
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
        env_workspace: environment.workspace_id.clone(),
        env_worktree: environment.worktree_id.clone(),
        cwd: Some(environment.cwd.to_string_lossy().into_owned()),
        is_fleet_unwanted: false,
    };
    let transport = &mut client;
    let (new_request_id, home) = (&mut new_request_id, &environment.home);
    run(&orca, &mut Session { transport, out, is_json: orca.json, argv, home, origin, new_request_id })
}

/// Prints what clap answers itself. Help and version are no errors, nor is a bare group, which has its
/// help; the rest is, with `--json` as an envelope like everything else.
pub fn print_syntax_error(error: &clap::Error, argv: &[OsString], out: &mut Out<'_>) -> u8 {
    let is_json = argv.iter().any(|word| word == "--json");
    let is_alone = argv.iter().skip(1).filter(|word| *word != "--json").count() == 1;
    if error.kind() == ErrorKind::DisplayVersion && !is_alone {
        let alone = args::invalid("--version stands alone; nothing was done.").next_step("orca --version");
        return verbs::fail_local(alone, is_json, out);
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand || !error.use_stderr();
    if is_help {
        let text = error.render().to_string();
        return out.local(is_json, &json!({ "text": text }), |_| text.clone());
    }
    verbs::fail_local(suggest::syntax_error(error, argv), is_json, out)
}

/// The command that shows the help of what was called, as far as the words go: `orca worktree --help`.
pub fn help_of(argv: &[OsString]) -> String {
    let (path, _) = tree::called(argv);
    [&[String::from("orca")], &path[..], &[String::from("--help")]].concat().join(" ")
}

/// Runs a parsed command that needs a server.
pub fn run(orca: &Orca, session: &mut Session<'_>) -> u8 {
    match &orca.command {
        Command::Orchestration(verb) => verbs::orchestration(verb, session),
        Command::Terminal(verb) => verbs::terminal::run(verb, session),
        Command::Worktree(verb) => verbs::worktree::run(verb, session),
        Command::Repo(verb) => verbs::repo::run(verb, session),
        Command::Events(args) => verbs::event::run(args, session),
        Command::Demo(args) => demo::run(args, session.is_json, &mut session.out),
        Command::Skills(verb) => verbs::skills::run(verb, session),
        Command::Schema(args) => verbs::schema::run(args, session.is_json, &mut session.out),
        Command::Completions(args) => verbs::completions::run(args, session.is_json, &mut session.out),
        Command::Man(args) => verbs::man::run(args, session.is_json, &mut session.out),
        Command::Hook(_) | Command::Host(_) => {
            let message = "This command is about a real server, and there is none here.";
            let error = ErrorBody::new(ErrorCode::CapabilityUnsupported, message);
            verbs::fail_local(error, session.is_json, &mut session.out)
        }
    }
}
