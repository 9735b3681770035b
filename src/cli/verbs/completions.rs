//! `orca completions`: a script for the shell. No server is asked.

use super::skills::install;
use crate::agent;
use crate::cli::out::Out;
use crate::cli::tree;
use crate::model::event::EventKind;
use crate::model::message::MessageType;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use schemars::JsonSchema;
use serde::Serialize;

/// The shells that have a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca completions bash > ~/.local/share/bash-completion/completions/orca")]
pub struct CompletionsArgs {
    /// The shell.
    shell: Known,
}

/// The reply of `completions`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Script {
    shell: String,
    script: String,
}

/// Runs `orca completions`.
pub fn run(args: &CompletionsArgs, is_json: bool, out: &mut Out<'_>) -> u8 {
    let shell = match args.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut offered(&tree::grammar()), "orca", &mut script);
    let reply = Script { shell: shell.to_string(), script: String::from_utf8_lossy(&script).into_owned() };
    out.local(is_json, &reply, |reply| reply.script.clone())
}

/// A command and what is below it as a shell offers it: nothing hidden, and the words that a flag takes.
fn offered(command: &Command) -> Command {
    let mut shown = Command::new(command.get_name().to_owned())
        .disable_version_flag(true)
        .version(env!("CARGO_PKG_VERSION"));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    let verb = command.get_name();
    shown
        .visible_aliases(command.get_visible_aliases().map(str::to_owned).collect::<Vec<_>>())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).map(|arg| with_words(verb, arg)))
        .subcommands(command.get_subcommands().filter(|child| !child.is_hide_set()).map(offered))
}

/// An argument alone, without what it says of others that are not offered.
fn with_words(verb: &str, arg: &Arg) -> Arg {
    let words: Vec<&'static str> = match (verb, arg.get_id().as_str()) {
        ("install", "agent") => install::agents().collect(),
        (_, "agent") => agent::builtin_ids().collect(),
        ("events", "types") => EventKind::ALL.iter().map(|kind| kind.as_str()).collect(),
        (_, "types") => MessageType::ALL.iter().map(|kind| kind.as_str()).collect(),
        (_, _) => return arg.clone(),
    };
    arg.clone().value_parser(PossibleValuesParser::new(words))
}
