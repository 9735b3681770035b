//! Terminal verbs, by what they do.

pub mod close;
pub mod export;
pub mod look;
pub mod open;
pub mod send;

use crate::base::text::{cut_width, one_line, pad};
use crate::cli::verb::{self, Session};
use crate::proto::terminal::TerminalSummary;
use clap::{Args, Subcommand};

/// `orca terminal …`.
#[derive(Debug, Subcommand)]
pub enum Terminal {
    /// Open a terminal with a command or a shell.
    Create(open::TerminalCreateArgs),
    /// List terminals, running ones first.
    List(look::TerminalListArgs),
    /// Show one terminal.
    Show(look::TerminalShowArgs),
    /// Read a terminal's output.
    Read(look::TerminalReadArgs),
    /// Write a terminal's output as text or as a recording.
    Export(export::TerminalExportArgs),
    /// Type into a terminal.
    Send(send::TerminalSendArgs),
    /// Wait until a terminal's process ends or its agent is idle.
    Wait(look::TerminalWaitArgs),
    /// End the process of a terminal.
    Close(close::TerminalCloseArgs),
}

/// Runs a terminal verb.
pub fn run(verb: &Terminal, session: &mut Session<'_>) -> u8 {
    match verb {
        Terminal::Create(args) => verb::run(args, session),
        Terminal::List(args) => verb::run(args, session),
        Terminal::Show(args) => verb::run(args, session),
        Terminal::Read(args) => verb::run(args, session),
        Terminal::Export(args) => export::run(args, session),
        Terminal::Send(args) => verb::run(args, session),
        Terminal::Wait(args) => verb::run(args, session),
        Terminal::Close(args) => verb::run(args, session),
    }
}

fn line(terminal: &TerminalSummary) -> String {
    let row = &terminal.row;
    let what = row.title.as_deref().or(row.agent.as_deref()).unwrap_or("shell");
    let activity = terminal.live.as_ref().map_or("", |live| live.activity.as_str());
    let state = terminal.exit_cause.as_deref().unwrap_or(row.life.as_str());
    format!(
        "{}  {} {state:<10} {activity:<8} {}",
        row.handle,
        pad(&cut_width(&one_line(what), 26), 26),
        one_line(&row.worktree_path)
    )
}

/// Which terminal.
#[derive(Debug, Clone, Args)]
pub struct TerminalArg {
    /// The terminal [default: the one this runs in].
    #[arg(long, value_name = "HANDLE")]
    pub terminal: Option<String>,
}
