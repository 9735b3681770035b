//! The tree of commands as data: what help, man pages, completions, schemas and suggestions are made of.

use super::Orca;
use clap::{Command, CommandFactory as _};
use std::ffi::OsString;

/// A command with the words that lead to it.
#[derive(Debug, Clone)]
pub struct Verb {
    /// For example `["orchestration", "run-create"]`.
    pub path: Vec<String>,
    pub command: Command,
}

impl Verb {
    /// The words with spaces: `orchestration run-create`.
    pub fn name(&self) -> String {
        self.path.join(" ")
    }
}

/// The whole tree, completed: global flags and help are in every command.
pub fn root() -> Command {
    let mut root = Orca::command();
    root.build();
    root
}

/// Every command that does something and is shown, in the order of the help.
pub fn verbs() -> Vec<Verb> {
    commands().into_iter().filter(|verb| !verb.command.has_subcommands()).collect()
}

/// Every command that is shown: orca itself, the groups and the verbs, each before what is in it.
pub fn commands() -> Vec<Verb> {
    fn walk(path: &[String], command: &Command, found: &mut Vec<Verb>) {
        found.push(Verb { path: path.to_owned(), command: command.clone() });
        let shown = command.get_subcommands().filter(|child| !child.is_hide_set());
        for child in shown.filter(|child| child.get_name() != "help") {
            walk(&[path, &[child.get_name().to_owned()]].concat(), child, found);
        }
    }
    let mut found = Vec::new();
    walk(&[], &root(), &mut found);
    found
}

/// The command that the words lead to, as far as they are known, with its path.
pub fn called(argv: &[OsString]) -> (Vec<String>, Command) {
    let mut found = (Vec::new(), root());
    for word in argv.iter().skip(1).filter_map(|word| word.to_str()) {
        match found.1.find_subcommand(word).cloned() {
            Some(child) => {
                found.0.push(word.to_owned());
                found.1 = child;
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    found
}
