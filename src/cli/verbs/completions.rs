//! `orca completions`: a script for the shell. No server is asked.

use crate::cli::out::Out;
use crate::cli::tree;
use clap::{Args, ValueEnum};
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
    generate(shell, &mut tree::root(), "orca", &mut script);
    let reply = Script { shell: shell.to_string(), script: String::from_utf8_lossy(&script).into_owned() };
    out.local(is_json, &reply, |reply| reply.script.clone())
}
