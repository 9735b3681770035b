//! Runs `tests/transcripts/*.txt` in process: command lines and what they print.
//!
//! ```text
//! # a comment
//! @ term_a              the next command lines come from this terminal (`@ user` for the person)
//! + 60000               the clock moves on by so many milliseconds
//! $ orca orchestration run-list
//! no Runs yet
//! [1] on a line of its own: the exit code, where it is not 0
//! ! on standard error
//! ```
//!
//! `UPDATE_TRANSCRIPTS=1 cargo test` writes what was printed; read the diff before you keep it.

use crate::support::world::World;
use std::fmt::Write as _;

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut is_open) = (None, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, is_open) = (Some(c), true),
            (None, ' ') => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (Some('"') | None, '\\') => word.extend(chars.next()),
            (_, c) => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        words.push(word);
    }
    words
}

fn play(script: &str) -> String {
    let mut world = World::new();
    let mut played = String::new();
    for line in script.lines() {
        let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        match mark {
            "# " | "#" => writeln!(played, "{line}").unwrap(),
            "@ " => {
                world.sender = (rest != "user").then(|| rest.to_owned());
                writeln!(played, "{line}").unwrap();
            }
            "+ " => {
                world.clock.advance_ms(rest.trim().parse().unwrap());
                writeln!(played, "{line}").unwrap();
            }
            "$ " => {
                writeln!(played, "{line}").unwrap();
                let printed = world.run(&words(rest));
                played.push_str(&printed.stdout);
                if !printed.stdout.is_empty() && !printed.stdout.ends_with('\n') {
                    played.push('\n');
                }
                for line in printed.stderr.lines() {
                    writeln!(played, "! {line}").unwrap();
                }
                if printed.code != 0 {
                    writeln!(played, "[{}]", printed.code).unwrap();
                }
            }
            "" if line.is_empty() => played.push('\n'),
            _ => {}
        }
    }
    played
}

#[test]
fn every_transcript_plays_as_it_is_written() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut differing = Vec::new();
    for path in paths {
        let script = std::fs::read_to_string(&path).unwrap();
        let played = play(&script);
        if played == script {
            continue;
        }
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            std::fs::write(&path, played).unwrap();
        } else {
            differing.push(format!("{}:\n{played}", path.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}
