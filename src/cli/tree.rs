//! The tree of commands as data: what help, man pages, completions, schemas and suggestions are made of.

use super::Orca;
use clap::builder::{NonEmptyStringValueParser, ValueParser};
use clap::{Arg, Command, CommandFactory as _};
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

/// Flags whose text may be empty, or where an empty one is refused with better words.
const TEXTS: &[&str] = &[
    "archive_script",
    "body",
    "command",
    "comment",
    "deps",
    "display_name",
    "files_modified",
    "name",
    "objective",
    "options",
    "payload",
    "phase",
    "prompt",
    "query",
    "question",
    "report_path",
    "resolution",
    "rest",
    "result",
    "setup_script",
    "spec",
    "subject",
    "task_title",
    "text",
    "title",
];

/// What a command line is parsed by. A flag that names something takes no empty name: what an unset
/// variable of a script leaves must not mean «the default».
pub fn grammar() -> Command {
    naming(Orca::command())
}

fn naming(command: Command) -> Command {
    command.mut_args(named).mut_subcommands(naming)
}

fn named(arg: Arg) -> Arg {
    let parser = arg.get_value_parser();
    let takes_any_text =
        parser.type_id() == ValueParser::string().type_id() && parser.possible_values().is_none();
    let is_name =
        arg.get_action().takes_values() && takes_any_text && !TEXTS.contains(&arg.get_id().as_str());
    if is_name { arg.value_parser(NonEmptyStringValueParser::new()) } else { arg }
}

/// The whole tree, completed: global flags and help are in every command.
pub fn root() -> Command {
    let mut root = grammar();
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
