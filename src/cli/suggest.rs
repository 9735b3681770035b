//! What somebody probably meant: the nearest command, flag or value to one that there is not.

use super::args::invalid;
use super::{help_of, parse, tree};
use crate::base::text::{cut_chars, one_line, shell_quote};
use crate::proto::error::ErrorBody;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// The nearest of `known` to `given`, if one is near enough to be meant.
///
/// Case and `_` for `-` do not count; a whole part of a longer name, such as `start` of
/// `worker-start`, is near.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = plain(given);
    let limit = ((given.chars().count() + 1) / 3).max(1);
    let rank = |name: &&str| {
        let name = plain(name);
        let is_part = given.len() > 2 && name.split('-').any(|part| part == given);
        if is_part { limit } else { distance(&given, &name) }
    };
    let ranked = known.into_iter().map(|name| (rank(&name), name)).filter(|(rank, _)| *rank <= limit);
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// A value that none of `known` is, with the nearest one.
pub fn unknown_value(flag: &str, given: &str, known: &[&str]) -> ErrorBody {
    let shown = cut_chars(&one_line(given), 60);
    let (hint, near) = hint(given, known.iter().copied());
    invalid(format!("{flag} takes {}, not {shown:?}.{hint}", known.join(", ")))
        .with("validValues", known)
        .with("suggestions", near)
}

/// The error of what clap refused: one sentence, what was probably meant, what there is, and command
/// lines that can be run.
pub fn syntax_error(error: &clap::Error, argv: &[OsString]) -> ErrorBody {
    let rendered = error.render().to_string();
    let sentence =
        rendered.strip_prefix("error: ").unwrap_or(&rendered).split("\n\n").next().unwrap_or_default();
    let body = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(sentence, &text(error, ContextKind::InvalidSubcommand), argv)
        }
        ErrorKind::UnknownArgument => unknown_flag(sentence, &text(error, ContextKind::InvalidArg), argv),
        ErrorKind::InvalidValue => invalid_value(sentence, error, argv),
        _ => invalid(sentence.trim()),
    };
    body.next_step(help_of(argv))
}

fn unknown_command(sentence: &str, given: &str, argv: &[OsString]) -> ErrorBody {
    let (path, group) = tree::called(argv);
    let names: Vec<String> = names(&group);
    if let Some(near) = nearest(given, names.iter().map(String::as_str)) {
        let step = replaced(argv, given, &[near]);
        return with_hint(sentence, near, "validCommands", &names, step);
    }
    // The group may have been left out: `orca task-list`.
    let verbs = tree::verbs();
    let lasts = verbs.iter().filter_map(|verb| verb.path.last()).map(String::as_str);
    let near = nearest(given, lasts).filter(|_| path.is_empty());
    let verb = verbs.iter().find(|verb| verb.path.last().map(String::as_str) == near);
    match verb {
        Some(verb) => {
            let words: Vec<&str> = verb.path.iter().map(String::as_str).collect();
            with_hint(sentence, &verb.name(), "validCommands", &names, replaced(argv, given, &words))
        }
        None => invalid(sentence).with("validCommands", names),
    }
}

fn unknown_flag(sentence: &str, given: &str, argv: &[OsString]) -> ErrorBody {
    if let Some((flag, step)) = dashed_value(given, argv) {
        let sentence = format!("{sentence}\nA value that begins with dashes is written {flag}={given}.");
        return invalid(sentence).next_step(step);
    }
    let given = given.split('=').next().unwrap_or(given);
    let (_, command) = tree::called(argv);
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let flags: Vec<String> = shown.filter_map(clap::Arg::get_long).map(|name| format!("--{name}")).collect();
    match nearest(given, flags.iter().map(String::as_str)).filter(|_| given.starts_with("--")) {
        Some(near) => with_hint(sentence, near, "validFlags", &flags, replaced(argv, given, &[near])),
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
        Some(near) => with_hint(sentence, near, "validValues", &known, replaced(argv, &given, &[near])),
        None => invalid(sentence).with("validValues", known),
    }
}

fn with_hint(sentence: &str, near: &str, key: &str, known: &[String], step: Option<String>) -> ErrorBody {
    let body =
        invalid(format!("{sentence}\nDid you mean {near}?")).with("suggestions", [near]).with(key, known);
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

/// The words as a line for a shell, if they are a valid command.
fn runnable(words: &[String]) -> Option<String> {
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    parse(&argv).ok()?;
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

fn plain(name: &str) -> String {
    name.trim_start_matches('-').to_ascii_lowercase().replace('_', "-")
}

/// Letters to change, add, drop or swap with their neighbour to come from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut least = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_that_was_meant() {
        let known = ["run-create", "run-list", "task-list", "worker-start", "worker-stop", "send"];
        let check =
            |given: &str, expected: Option<&str>| assert_eq!(nearest(given, known), expected, "{given}");
        check("run-creat", Some("run-create"));
        check("RUN_CREATE", Some("run-create"));
        check("taks-list", Some("task-list"));
        check("start", Some("worker-start"));
        check("worker-stpo", Some("worker-stop"));
        check("snd", Some("send"));
        check("xyz", None);
        check("", None);
        check("\u{1b}[2J", None);
    }
}
