//! What somebody probably meant: the nearest command, flag or value to one that there is not.

use super::args::invalid;
use super::{help_of, parse, tree};
use crate::base::near::{equally_near, nearest};
use crate::base::text::{cut_chars, many_lines, one_line, shell_quote};
use crate::proto::error::ErrorBody;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// The most characters that are shown of what was given.
const MAX_SHOWN: usize = 60;
/// The longest first paragraph of an error, in characters; the longest list of values fits.
const MAX_SENTENCE: usize = 2_000;
/// What things are called in flags; a verb about one of them may have --id instead.
const NOUNS: &[&str] =
    &["run", "task", "gate", "message", "question", "request", "terminal", "worktree", "repo", "dispatch"];
/// The longest command line that is given to run, in bytes.
const MAX_STEP: usize = 1_000;

/// A value that none of `known` is, with the nearest one.
pub fn unknown_value(flag: &str, given: &str, known: &[&str]) -> ErrorBody {
    let shown = cut_chars(&one_line(given), MAX_SHOWN);
    let (hint, near) = hint(given, known.iter().copied());
    invalid(format!("{flag} takes {}, not {shown:?}.{hint}", known.join(", ")))
        .with("validValues", known)
        .with("suggestions", near)
}

/// The error of what clap refused: one sentence, what was probably meant, what there is, and command
/// lines that can be run.
pub fn syntax_error(error: &clap::Error, argv: &[OsString]) -> ErrorBody {
    let sentence = sentence(error);
    let asked_about = asked_about(argv);
    let argv = asked_about.as_deref().unwrap_or(argv);
    let body = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(&sentence, &text(error, ContextKind::InvalidSubcommand), argv)
        }
        ErrorKind::UnknownArgument => unknown_flag(&sentence, &text(error, ContextKind::InvalidArg), argv),
        ErrorKind::InvalidValue => invalid_value(&sentence, error, argv),
        _ => invalid(sentence.trim()),
    };
    body.next_step(help_of(argv))
}

/// `orca help x` as `orca x --help`, which is what it means.
fn asked_about(argv: &[OsString]) -> Option<Vec<OsString>> {
    let at = argv.iter().position(|word| word == "help")?;
    let is_command = argv.get(1..at)?.iter().all(|word| tree::root().find_subcommand(word).is_some());
    let rest = || argv.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, word)| word.clone());
    is_command.then(|| rest().chain([OsString::from("--help")]).collect())
}

/// What clap says in its first paragraph, whatever was given short and safe to show.
fn sentence(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let mut rendered = rendered.strip_prefix("error: ").unwrap_or(&rendered).to_owned();
    let given = [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    for given in given.map(|kind| text(error, kind)) {
        let shown = cut_chars(&one_line(&given), MAX_SHOWN);
        if shown != given && !given.is_empty() {
            rendered = rendered.replace(&given, &shown);
        }
    }
    let first = rendered.split("\n\n").next().unwrap_or_default();
    cut_chars(&many_lines(first), MAX_SENTENCE)
}

fn unknown_command(sentence: &str, given: &str, argv: &[OsString]) -> ErrorBody {
    let (path, group) = tree::called(argv);
    let names: Vec<String> = names(&group);
    // The group may have been left out: `orca task-list`. The server is meant before anything else.
    let mut verbs = if path.is_empty() { tree::verbs() } else { Vec::new() };
    verbs.sort_by_key(|verb| verb.path.first().is_none_or(|group| group != "server"));
    let last = |verb: &tree::Verb| verb.path.last().cloned().unwrap_or_default();
    if let Some(verb) = verbs.iter().find(|verb| last(verb) == given) {
        return left_out(sentence, verb, given, &names, argv);
    }
    if let Some(near) = nearest(given, names.iter().map(String::as_str)) {
        let step = replaced(argv, given, &[near]);
        return with_hint(sentence, &[near], "validCommands", &names, step);
    }
    let lasts: Vec<String> = verbs.iter().map(last).collect();
    let near = nearest(given, lasts.iter().map(String::as_str));
    match verbs.iter().find(|verb| Some(last(verb).as_str()) == near) {
        Some(verb) => left_out(sentence, verb, given, &names, argv),
        None => invalid(format!("{sentence}\nThere are: {}.", names.join(", "))).with("validCommands", names),
    }
}

/// The verb that was probably meant, its group before it; where more is wrong, its help.
fn left_out(
    sentence: &str,
    verb: &tree::Verb,
    given: &str,
    names: &[String],
    argv: &[OsString],
) -> ErrorBody {
    let words: Vec<&str> = verb.path.iter().map(String::as_str).collect();
    let step = replaced(argv, given, &words).unwrap_or_else(|| format!("orca {} --help", verb.name()));
    with_hint(sentence, &[&verb.name()], "validCommands", names, Some(step))
}

fn unknown_flag(sentence: &str, given: &str, argv: &[OsString]) -> ErrorBody {
    if let Some((flag, step)) = dashed_value(given, argv) {
        let shown = cut_chars(&one_line(given), MAX_SHOWN);
        let sentence = format!("{sentence}\nA value that begins with dashes is written {flag}={shown}.");
        return invalid(sentence).next_step(step);
    }
    let given = given.split('=').next().unwrap_or(given);
    let (_, command) = tree::called(argv);
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = shown.filter_map(clap::Arg::get_long_and_visible_aliases).flatten();
    let flags: Vec<String> = named.map(|name| format!("--{name}")).collect();
    let mut near = equally_near(given, flags.iter().map(String::as_str));
    near.retain(|_| given.starts_with("--"));
    // What a verb is about it may call --id: `run-show --run run_1`.
    let is_noun = given.strip_prefix("--").is_some_and(|noun| NOUNS.contains(&noun));
    let id = flags.iter().map(String::as_str).find(|flag| is_noun && *flag == "--id");
    near.extend(id.filter(|_| near.is_empty()));
    match near.first() {
        Some(first) => with_hint(sentence, &near, "validFlags", &flags, replaced(argv, given, &[first])),
        None => invalid(sentence).with("validFlags", flags),
    }
}

/// The flag whose value `given` was meant to be, with the command line that says so.
fn dashed_value(given: &str, argv: &[OsString]) -> Option<(String, String)> {
    let at = argv.iter().position(|word| word == given)?;
    let flag = argv.get(at.checked_sub(1)?)?.to_str()?;
    let name = flag.strip_prefix("--")?;
    let (_, command) = tree::called(argv);
    let takes_values = |arg: &clap::Arg| arg.get_action().takes_values();
    command.get_arguments().find(|arg| arg.get_long() == Some(name)).filter(|arg| takes_values(arg))?;
    let mut line: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    line.splice(at - 1..=at, [format!("{flag}={given}")]);
    Some((flag.to_owned(), runnable(&line)?))
}

fn invalid_value(sentence: &str, error: &clap::Error, argv: &[OsString]) -> ErrorBody {
    let given = text(error, ContextKind::InvalidValue);
    let known = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) => known.clone(),
        _ => return invalid(sentence),
    };
    match nearest(&given, known.iter().map(String::as_str)) {
        Some(near) => with_hint(sentence, &[near], "validValues", &known, replaced(argv, &given, &[near])),
        None => invalid(sentence).with("validValues", known),
    }
}

fn with_hint(sentence: &str, near: &[&str], key: &str, known: &[String], step: Option<String>) -> ErrorBody {
    let meant = near.join(" or ");
    let body =
        invalid(format!("{sentence}\nDid you mean {meant}?")).with("suggestions", near).with(key, known);
    match step {
        Some(step) => body.next_step(step),
        None => body,
    }
}

fn hint<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> (String, Vec<&'a str>) {
    match nearest(given, known) {
        Some(near) => (format!(" Did you mean {near}?"), vec![near]),
        None => (String::new(), Vec::new()),
    }
}

/// The command line with `word` replaced, if that is one.
fn replaced(argv: &[OsString], word: &str, by: &[&str]) -> Option<String> {
    let at = argv.iter().skip(1).position(|given| {
        given == word
            || given
                .to_str()
                .is_some_and(|given| given.split_once('=').is_some_and(|(a, b)| a == word || b == word))
    })? + 1;
    let given = argv.get(at)?.to_str()?;
    let put = match given.split_once('=') {
        Some((flag, value)) if flag == word => vec![format!("{}={value}", by.join(" "))],
        Some((flag, value)) if value == word => vec![format!("{flag}={}", by.join(" "))],
        Some(_) | None => by.iter().map(|word| (*word).to_owned()).collect(),
    };
    let mut words = vec![String::from("orca")];
    words.extend(argv.iter().take(at).skip(1).map(|word| word.to_string_lossy().into_owned()));
    words.extend(put);
    words.extend(argv.iter().skip(at + 1).map(|word| word.to_string_lossy().into_owned()));
    runnable(&words)
}

/// The words as a line for a shell, if they are a valid command of a length that can be shown.
fn runnable(words: &[String]) -> Option<String> {
    if words.iter().map(String::len).sum::<usize>() > MAX_STEP {
        return None;
    }
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    match parse(&argv) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {}
        Err(_) => return None,
    }
    let arguments = words.iter().skip(1).map(|word| format!(" {}", shell_quote(word)));
    Some(format!("orca{}", arguments.collect::<String>()))
}

fn names(group: &Command) -> Vec<String> {
    let shown = group.get_subcommands().filter(|child| !child.is_hide_set());
    shown.map(|child| child.get_name().to_owned()).collect()
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_shown_short_and_without_control_characters() {
        let long = format!("\u{1b}[2J{}", "x".repeat(120_000));
        let check = |words: &[&str]| {
            let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
            let error = syntax_error(&parse(&argv).unwrap_err(), &argv);
            let shown = serde_json::to_string(&error).unwrap();
            assert!(shown.len() < 4_000 && error.message.contains("xx"), "{}", shown.len());
            assert!(!error.message.contains('\u{1b}'), "{:?}", error.message);
        };
        check(&["orca", "orchestration", "run-list", &format!("--limit={long}")]);
        check(&["orca", "orchestration", "worker-read", "--dispatch", "ctx_1", &format!("--source={long}")]);
        check(&["orca", "orchestration", &long]);
        check(&["orca", &long]);
        check(&["orca", "orchestration", "run-list", &format!("--{long}")]);
        check(&["orca", "orchestration", "run-list", "--limit", "1", &long]);
        check(&["orca", "orchestration", "task-create", "--spec", &format!("--{long}")]);
    }
}
