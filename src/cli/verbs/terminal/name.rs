//! What terminals are called, and going to them.

use super::TerminalArg;
use crate::base::text::one_line;
use crate::cli::args::RetryArg;
use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{
    PaneTitled, Renamed, Switched, TerminalRename, TerminalSetPaneTitle, TerminalSwitch, Titled,
};
use clap::Args;

fn titled(titled: &Titled) -> String {
    match &titled.title {
        Some(title) => format!("{} is called {}", titled.handle, one_line(title)),
        None => format!("{} has no name of its own", titled.handle),
    }
}

/// What is called how.
#[derive(Debug, Args)]
struct TitleArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// The name, at most 120 characters; control characters are removed.
    #[arg(long)]
    title: Option<String>,
    #[command(flatten)]
    retry: RetryArg,
}

/// Gives a terminal a name, on the screen and in lists; without --title its first one comes back.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal rename --terminal term_0123456789ab --title \"dev server\" \\\n      --json"
)]
pub struct TerminalRenameArgs {
    #[command(flatten)]
    named: TitleArgs,
}

impl Verb for TerminalRenameArgs {
    type Call = TerminalRename;
    fn call(&self) -> Result<TerminalRename, ErrorBody> {
        Ok(TerminalRename { terminal: self.named.terminal.terminal.clone(), title: self.named.title.clone() })
    }
    fn text(&self, reply: &Renamed) -> String {
        titled(&reply.rename)
    }
    fn retry_request(&self) -> Option<&str> {
        self.named.retry.retry_request.as_deref()
    }
}

/// Gives a pane a title; an empty one takes it away. A terminal has one pane, so this is its name too.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal set-pane-title --terminal term_0123456789ab \\\n      --title \"step 2 of 5\" --json"
)]
pub struct TerminalSetPaneTitleArgs {
    #[command(flatten)]
    named: TitleArgs,
}

impl Verb for TerminalSetPaneTitleArgs {
    type Call = TerminalSetPaneTitle;
    fn call(&self) -> Result<TerminalSetPaneTitle, ErrorBody> {
        Ok(TerminalSetPaneTitle {
            terminal: self.named.terminal.terminal.clone(),
            title: self.named.title.clone(),
        })
    }
    fn text(&self, reply: &PaneTitled) -> String {
        titled(&reply.pane_title)
    }
    fn retry_request(&self) -> Option<&str> {
        self.named.retry.retry_request.as_deref()
    }
}

/// Brings every attached screen to a terminal; its program is not touched.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca terminal switch --terminal term_0123456789ab --json")]
pub struct TerminalSwitchArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for TerminalSwitchArgs {
    type Call = TerminalSwitch;
    fn call(&self) -> Result<TerminalSwitch, ErrorBody> {
        Ok(TerminalSwitch { terminal: self.terminal.terminal.clone() })
    }
    fn text(&self, reply: &Switched) -> String {
        let focus = &reply.focus;
        if focus.navigated {
            format!("the screens are at {}", focus.handle)
        } else {
            format!("no screen is attached, so none is at {}", focus.handle)
        }
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
