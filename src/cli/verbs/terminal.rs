//! Terminal verbs.

use crate::base::text::{cut_width, many_lines, one_line};
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::{self, Session, Verb};
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{
    Closed, Created, OneTerminal, ReadTerminal, SentInput, TerminalClose, TerminalCreate, TerminalList,
    TerminalRead, TerminalSend, TerminalShow, TerminalSummary, TerminalWait, Terminals, Waited,
};
use clap::{Args, Subcommand};

/// `orca terminal …`.
#[derive(Debug, Subcommand)]
pub enum Terminal {
    /// Open a terminal with a command or a shell.
    Create(TerminalCreateArgs),
    /// List terminals, running ones first.
    List(TerminalListArgs),
    /// Show one terminal.
    Show(TerminalShowArgs),
    /// Read a terminal's output.
    Read(TerminalReadArgs),
    /// Type into a terminal.
    Send(TerminalSendArgs),
    /// Wait until a terminal's process ends or its agent is idle.
    Wait(TerminalWaitArgs),
    /// End the process of a terminal.
    Close(TerminalCloseArgs),
}

/// Runs a terminal verb.
pub fn run(verb: &Terminal, session: &mut Session<'_>) -> u8 {
    match verb {
        Terminal::Create(args) => verb::run(args, session),
        Terminal::List(args) => verb::run(args, session),
        Terminal::Show(args) => verb::run(args, session),
        Terminal::Read(args) => verb::run(args, session),
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
        "{}  {:<26} {state:<10} {activity:<8} {}",
        row.handle,
        cut_width(&one_line(what), 26),
        one_line(&row.worktree_path)
    )
}

/// Which terminal.
#[derive(Debug, Clone, Args)]
pub struct TerminalArg {
    /// The terminal [default: the one this runs in].
    #[arg(long, value_name = "HANDLE")]
    terminal: Option<String>,
}

/// Opens a terminal; it becomes a pane on the screen and takes nobody's focus.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal create --title tests --command \"cargo test\" --json")]
pub struct TerminalCreateArgs {
    /// Where: id:, path:, branch:, name: or current [default: current].
    #[arg(long, value_name = "SELECTOR")]
    worktree: Option<String>,
    /// A title.
    #[arg(long)]
    title: Option<String>,
    /// A line for your shell [default: an interactive shell].
    #[arg(long)]
    command: Option<String>,
    /// Accepted for scripts written for other builds; focus is the person's.
    #[arg(long, hide = true)]
    focus: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalCreateArgs {
    type Call = TerminalCreate;
    fn call(&self) -> Result<TerminalCreate, ErrorBody> {
        Ok(TerminalCreate {
            worktree: self.worktree.clone(),
            title: self.title.clone(),
            command: self.command.clone(),
            focus: self.focus,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Created) -> String {
        format!("created {}", reply.terminal.handle)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Lists terminals, running ones first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal list --json")]
pub struct TerminalListArgs {
    /// Only of this worktree.
    #[arg(long, value_name = "SELECTOR")]
    worktree: Option<String>,
    /// The most to list, 1 to 1000 [default: 200].
    #[arg(long)]
    limit: Option<u32>,
    /// Accepted for scripts written for other builds.
    #[arg(long, hide = true)]
    include_visual_layouts: bool,
}

impl Verb for TerminalListArgs {
    type Call = TerminalList;
    fn call(&self) -> Result<TerminalList, ErrorBody> {
        Ok(TerminalList { worktree: self.worktree.clone(), limit: self.limit })
    }
    fn text(&self, reply: &Terminals) -> String {
        if reply.terminals.is_empty() {
            return String::from("no terminals yet");
        }
        reply.terminals.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Shows one terminal.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal show --terminal term_0123456789ab --json")]
pub struct TerminalShowArgs {
    #[command(flatten)]
    terminal: TerminalArg,
}

impl Verb for TerminalShowArgs {
    type Call = TerminalShow;
    fn call(&self) -> Result<TerminalShow, ErrorBody> {
        Ok(TerminalShow { terminal: self.terminal.terminal.clone() })
    }
    fn text(&self, reply: &OneTerminal) -> String {
        format!("{}\n{}", line(&reply.terminal), many_lines(&reply.terminal.preview))
    }
}

/// Reads a terminal's output: the newest lines, or on from a cursor.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal read --terminal term_0123456789ab --limit 100 --json")]
pub struct TerminalReadArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// The first line wanted, counted from the start; nextCursor of the last page follows on.
    #[arg(long, value_name = "LINE")]
    cursor: Option<u64>,
    /// Lines, 1 to 10000 [default: 200].
    #[arg(long)]
    limit: Option<u32>,
    /// What is visible now.
    #[arg(long, conflicts_with = "cursor")]
    screen: bool,
}

impl Verb for TerminalReadArgs {
    type Call = TerminalRead;
    fn call(&self) -> Result<TerminalRead, ErrorBody> {
        Ok(TerminalRead {
            terminal: self.terminal.terminal.clone(),
            cursor: self.cursor,
            limit: self.limit,
            is_screen: self.screen,
        })
    }
    fn text(&self, reply: &ReadTerminal) -> String {
        reply.terminal.tail.iter().map(|line| many_lines(line)).collect::<Vec<_>>().join("\n")
    }
}

/// Types into a terminal. With --enter into an agent, text and Enter are one prompt, which waits while
/// a person's own text stands there.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal send --terminal term_0123456789ab --text \"y\" --enter --json"
)]
pub struct TerminalSendArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// The text.
    #[arg(long)]
    text: Option<String>,
    /// Press Enter after it.
    #[arg(long)]
    enter: bool,
    /// Press Ctrl-C after it.
    #[arg(long)]
    interrupt: bool,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalSendArgs {
    type Call = TerminalSend;
    fn call(&self) -> Result<TerminalSend, ErrorBody> {
        Ok(TerminalSend {
            terminal: self.terminal.terminal.clone(),
            text: self.text.clone(),
            is_enter: self.enter,
            is_interrupt: self.interrupt,
        })
    }
    fn text(&self, reply: &SentInput) -> String {
        format!("{} bytes accepted by {}", reply.send.bytes_written, reply.send.handle)
    }
    fn exit(&self, reply: &SentInput) -> u8 {
        u8::from(!reply.send.accepted)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Waits until a terminal's process ends, or until its agent is idle.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal wait --terminal term_0123456789ab --for exit --timeout-ms 600000 --json"
)]
pub struct TerminalWaitArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// exit or tui-idle.
    #[arg(long = "for", value_name = "CONDITION")]
    condition: String,
    /// The longest wait in milliseconds, 1 to 86400000 [default: 300000].
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
}

impl Verb for TerminalWaitArgs {
    type Call = TerminalWait;
    fn call(&self) -> Result<TerminalWait, ErrorBody> {
        Ok(TerminalWait {
            terminal: self.terminal.terminal.clone(),
            condition: self.condition.clone(),
            timeout_ms: self.timeout_ms,
        })
    }
    fn text(&self, reply: &Waited) -> String {
        let wait = &reply.wait;
        let cause = wait.exit_cause.as_deref().unwrap_or(&wait.status);
        let word = if wait.satisfied { "reached" } else { "not reached" };
        format!("{}  {} {word}  {cause}", wait.handle, wait.condition)
    }
    fn exit(&self, reply: &Waited) -> u8 {
        u8::from(!reply.wait.satisfied)
    }
}

/// Ends the process of a terminal. Its output stays readable; files are not touched.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal close --terminal term_0123456789ab --json")]
pub struct TerminalCloseArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// All terminals of this worktree; needs --all.
    #[arg(long, value_name = "SELECTOR", requires = "all", conflicts_with = "terminal")]
    worktree: Option<String>,
    /// Confirms --worktree.
    #[arg(long, requires = "worktree")]
    all: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalCloseArgs {
    type Call = TerminalClose;
    fn call(&self) -> Result<TerminalClose, ErrorBody> {
        Ok(TerminalClose {
            terminal: self.terminal.terminal.clone(),
            worktree: self.worktree.clone(),
            is_all: self.all,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Closed) -> String {
        if reply.close.handles.is_empty() {
            return String::from("nothing was running there");
        }
        let is_sure = |handle| !reply.close.unconfirmed.contains(handle);
        let word = |handle| if is_sure(handle) { "closed" } else { "not seen to end:" };
        let lines = reply.close.handles.iter().map(|handle| format!("{} {handle}", word(handle)));
        lines.collect::<Vec<_>>().join("\n")
    }
    fn exit(&self, reply: &Closed) -> u8 {
        u8::from(!reply.close.unconfirmed.is_empty())
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
