//! What the world must do: each effect on a thread of its own, each idempotent under its id, each ending
//! in an outcome that goes back to the engine.

mod look;
mod project;
mod prompt;
mod terminal;
mod worktree;

use super::command::{CallCommand, Command, Inbox};
use super::fault::{self, Point};
use super::pane::lock;
use super::terminals::Terminals;
use crate::base::report::OrLog as _;
use crate::git::name::{BranchPrefix, Layout};
use crate::model::effect::{Effect, OpenEffect, Outcome};
use crate::model::terminal::Terminal;
use crate::ops::look::Look;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What effects need of the server.
#[derive(Debug, Clone)]
pub struct Effects {
    pub inbox: Inbox,
    pub terminals: Arc<Terminals>,
    pub program: PathBuf,
    pub worktrees: WorktreePlaces,
    /// The ids of effects that were begun and are still wanted.
    pub open: Arc<Mutex<BTreeSet<String>>>,
}

/// Where new worktrees go and what their branches are called, as the settings have it.
#[derive(Debug, Clone)]
pub struct WorktreePlaces {
    pub root: PathBuf,
    pub layout: Layout,
    pub prefix: BranchPrefix,
}

/// The terminal that an effect is about.
#[derive(Debug)]
pub struct Subject {
    pub row: Terminal,
    /// Those of the attempts that were made in it.
    pub proofs: Vec<String>,
}

impl Effects {
    /// Begins an effect with the terminal it is about, where it is about one.
    pub fn begin(&self, open: OpenEffect, terminal: Option<Subject>) {
        lock(&self.open).insert(open.id.to_string());
        let going = match &open.effect {
            Effect::SpawnTerminal { terminal_id } => match self.terminals.starts.begin(terminal_id) {
                Some(going) => Some(going),
                // The next server tries it again.
                None => return,
            },
            Effect::CreateWorktree(_)
            | Effect::RemoveWorktree(_)
            | Effect::DeliverPrompt { .. }
            | Effect::CloseTerminal { .. } => None,
        };
        let effects = self.clone();
        let begun = std::thread::Builder::new().name(String::from("orca-effect")).spawn(move || {
            fault::pass(Point::BeforeEffect);
            let outcome = effects.run(&open, terminal);
            fault::pass(Point::AfterEffect);
            effects.tell(&open, outcome);
            drop(going);
        });
        begun.or_log("begin an effect; the next server tries it again");
    }

    /// Looks at something for a call, which then comes again with what was seen.
    pub fn look(&self, wanted: Look, mut call: CallCommand) {
        let effects = self.clone();
        let begun = std::thread::Builder::new().name(String::from("orca-look")).spawn(move || {
            call.caller.seen = Some(look::see(&effects.worktrees, wanted));
            effects.inbox.blocking_send(Command::Call(Box::new(call))).or_log("bring back what was seen");
        });
        // Without an answer the caller asks again under the same request id.
        begun.or_log("look at a repository");
    }

    /// An effect is wanted no more: it has its outcome, or whoever wanted it was given up.
    pub fn forget(&self, id: &str) {
        lock(&self.open).remove(id);
        worktree::forget(&self.terminals, id);
    }

    /// Lets go of what effects kept that are over; `open` are the others.
    pub fn sweep(&self, open: &[OpenEffect]) {
        worktree::sweep(&self.terminals, |id| open.iter().any(|open| open.id.as_str() == id));
    }

    fn run(&self, open: &OpenEffect, terminal: Option<Subject>) -> Outcome {
        let gone = || Outcome::Failed {
            code: String::from("terminal_not_found"),
            message: String::from("the terminal is not known"),
        };
        match &open.effect {
            Effect::CreateWorktree(wish) => {
                worktree::create(&self.worktrees, open.id.as_str(), &self.terminals, wish)
            }
            Effect::RemoveWorktree(wish) => worktree::remove(open.id.as_str(), &self.terminals, wish),
            Effect::SpawnTerminal { .. } => terminal
                .map_or_else(gone, |found| terminal::spawn(&self.program, &self.terminals, &found.row)),
            Effect::DeliverPrompt { terminal_id, text, timeout_ms, .. } => {
                let tell = |outcome: Outcome| self.tell(open, outcome);
                let is_wanted = || lock(&self.open).contains(open.id.as_str());
                let brief = (open.id.as_str(), text.as_str());
                prompt::deliver(&self.terminals, terminal_id, brief, *timeout_ms, &tell, &is_wanted)
            }
            Effect::CloseTerminal { terminal_id, archives_first } => {
                self.terminals.starts.wait(terminal_id);
                terminal.map_or_else(gone, |Subject { row, proofs }| {
                    terminal::close(&self.terminals, &row, *archives_first, &proofs)
                })
            }
        }
    }

    fn tell(&self, open: &OpenEffect, outcome: Outcome) {
        let command = Command::Outcome { effect: open.id.clone(), outcome };
        self.inbox.blocking_send(command).or_log("tell an outcome");
    }
}
