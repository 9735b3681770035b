//! Terminal verbs, by what they do.

pub mod close;
pub mod export;
pub mod look;
pub mod mark;
pub mod name;
pub mod open;
pub mod send;

use crate::base::text::{cut_width, one_line, pad};
use crate::cli::tone::{self, tinted};
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
    /// Open a shell or command beside a terminal, in its tab.
    Split(open::TerminalSplitArgs),
    /// Give a terminal a name.
    Rename(name::TerminalRenameArgs),
    /// Give a pane a title.
    SetPaneTitle(name::TerminalSetPaneTitleArgs),
    /// Bring the attached screens to a terminal.
    #[command(visible_alias = "focus")]
    Switch(name::TerminalSwitchArgs),
    /// Mark a terminal as looked at, or as not.
    Mark(mark::TerminalMarkArgs),
    /// End the process of a terminal.
    Close(close::TerminalCloseArgs),
    /// End every terminal of a worktree; an older form of close.
    #[command(hide = true)]
    Stop(close::TerminalStopArgs),
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
        Terminal::Split(args) => verb::run(args, session),
        Terminal::Rename(args) => verb::run(args, session),
        Terminal::SetPaneTitle(args) => verb::run(args, session),
        Terminal::Switch(args) => verb::run(args, session),
        Terminal::Mark(args) => verb::run(args, session),
        Terminal::Close(args) => verb::run(args, session),
        Terminal::Stop(args) => verb::run(args, session),
    }
}

fn line(terminal: &TerminalSummary) -> String {
    let row = &terminal.row;
    let what = row.title.as_deref().or(terminal.agent_identity.as_deref()).unwrap_or("shell");
    // What an ended program was doing is over.
    let live = terminal.live.as_ref().filter(|_| terminal.connected);
    let activity = live.map_or("", |live| live.activity.as_str());
    let state = terminal.exit_cause.as_deref().unwrap_or(row.life.as_str());
    let state = tinted(tone::terminal(row.life), &format!("{state:<22}"));
    let activity = tinted(tone::activity(activity), &format!("{activity:<8}"));
    let unseen = if row.is_unseen { "  (not looked at)" } else { "" };
    format!(
        "{}  {} {state} {activity} {}{unseen}",
        row.handle,
        pad(&cut_width(&one_line(what), 26), 26),
        one_line(&row.worktree_path)
    )
}

/// Which terminal.
#[derive(Debug, Clone, Args)]
pub struct TerminalArg {
    /// The terminal [default: the one this runs in, else the only one of this folder].
    #[arg(long, value_name = "HANDLE")]
    pub terminal: Option<String>,
}
