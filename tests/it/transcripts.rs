//! Runs `tests/transcripts/*.txt` in process: command lines and what they print.
//!
//! ```text
//! # a comment
//! @ term_a              the next command lines come from this terminal (`@ user` for the person)
//! + 60000               the clock moves on by so many milliseconds
//! > ok                  the oldest open effect has the outcome it hopes for
//! > fail some words     the oldest open effect fails; `> unknown words`: nobody can say
//! > unkept some words   the oldest open effect cannot keep the output of its terminal
//! > mute                the oldest open effect closes a terminal that never showed anything
//! > hook term_a claude s-1 [path]   the agent's hook there reports its session; tells what becomes of it
//! > said s-1 claude.jsonl           Claude Code writes this fixture to its session; `> unsaid s-1`: it is gone
//! > briefed             the oldest open effect typed its brief, and looks what comes of it
//! > unconfirmed         the oldest open effect typed a brief and saw nothing of it
//! > blocked some words  the oldest open effect cannot type its brief yet
//! > exit term_a 3       the process of that terminal ends with this status
//! > lost term_a         it is gone and nobody saw how
//! > typed term_a        a person types there
//! > output term_a         it prints something at this moment
//! > runs term_a codex   a person starts this agent in that terminal
//! > live term_a idle    what is seen of its process; `> print term_a one|two`: its output
//! > look                the server looks at running attempts; prints when it looks again
//! > jump 7200000        the clock goes so many milliseconds ahead without time passing
//! > restart             another server goes on; prints what it does again
//! > repo /other         command lines come from this repository, `> folder /notes` from a plain folder
//! > script npm ci      the orca.yaml of every commit has this setup script from now on
//! > tab dev #0a8 npm run dev   … and this tab, with its colour and, where there is one, its command
//! > branch /trees/fix new     this folder is on that branch by now
//! > not-there a.txt      no file of that name is in any worktree
//! > not-installed codex  there is no such command; `> gone /repo`: that folder was removed
//! > git-refuses words   git cannot make the worktree that the next command line asks for
//! > full-ledger         ten thousand requests of somebody are open
//! > wake                calls that wait are asked again and print; `> deadline`: their time is up
//! % lose ctx_1 it died  what the world does (see `support/attempts.rs`)
//! $ orca orchestration run-list
//! no Runs yet
//! [1] on a line of its own: the exit code, where it is not 0
//! ! on standard error
//! ```
//!
//! `{proof ctx_a}` in a command line is the proof that the brief of that attempt holds.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo test` writes what was printed; read the diff before you keep it.

use crate::support::words::words;
use crate::support::world::World;
use orca::base::code::ErrorCode;
use orca::base::id::TerminalId;
use orca::model::effect::{Effect, Outcome};
use orca::model::setup::{Project, Tab};
use orca::model::worktree::Place;
use orca::ops::cx::Wake;
use orca::proto::AnyCall;
use orca::proto::error::ErrorBody;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

fn with_proofs(world: &World, line: &str) -> String {
    let Some((before, rest)) = line.split_once("{proof ") else { return line.to_owned() };
    let (dispatch, after) = rest.split_once('}').unwrap();
    with_proofs(world, &format!("{before}{}{after}", world.proof(dispatch)))
}

fn named(effect: &Effect) -> String {
    match effect {
        Effect::CreateWorktree(wish) => format!("worktree {}", wish.name),
        Effect::RemoveWorktree(wish) => format!("remove {}", wish.path),
        Effect::SpawnTerminal { terminal_id } => format!("spawn {terminal_id}"),
        Effect::DeliverPrompt { terminal_id, .. } => format!("prompt {terminal_id}"),
        Effect::CloseTerminal { terminal_id, .. } => format!("close {terminal_id}"),
    }
}

/// Plays what happens in the world, and tells what it did.
fn direct(world: &mut World, order: &str) -> String {
    let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
    match verb {
        "ok" => format!("= {}\n", world.succeed()),
        "fail" | "unkept" => {
            let id = world.oldest_effect().id;
            let code = String::from(if verb == "fail" { "runtime_error" } else { "archive_failed" });
            world.end_effect(&id, Outcome::Failed { code, message: rest.to_owned() });
            String::new()
        }
        "mute" => {
            let id = world.oldest_effect().id;
            world.end_effect(&id, Outcome::TerminalClosed { end: None, archive: String::from("empty") });
            String::new()
        }
        "unknown" => {
            let id = world.oldest_effect().id;
            world.end_effect(&id, Outcome::Unknown { message: rest.to_owned() });
            String::new()
        }
        "hook" => {
            let words: Vec<&str> = rest.split(' ').collect();
            let [terminal, agent, session] = words[..3] else { panic!("{order}") };
            let usual = world.transcript(session);
            let path = words.get(3).map_or(usual, |path| world.home.path().join(path));
            format!("= {}\n", world.hook(terminal, agent, session, &path))
        }
        "said" => {
            let (session, fixture) = rest.split_once(' ').unwrap();
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/transcripts");
            let path = world.transcript(session);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(&std::fs::read(folder.join(fixture)).unwrap()).unwrap();
            String::new()
        }
        "unsaid" => {
            std::fs::remove_file(world.transcript(rest)).unwrap();
            String::new()
        }
        "not-there" => {
            world.living.missing.push(rest.to_owned());
            String::new()
        }
        "runs" => {
            let (terminal, agent) = rest.split_once(' ').unwrap();
            let live = world.living.live.entry(TerminalId::parse(terminal).unwrap()).or_default();
            live.agent = Some(agent.to_owned());
            String::new()
        }
        "briefed" => {
            let id = world.oldest_effect().id;
            world.end_effect(&id, Outcome::PromptTyped);
            String::new()
        }
        "unconfirmed" => {
            let id = world.oldest_effect().id;
            world.end_effect(&id, Outcome::PromptDelivered { is_confirmed: false });
            String::new()
        }
        "blocked" => {
            let id = world.oldest_effect().id;
            world.end_effect(&id, Outcome::PromptBlocked { reason: rest.to_owned() });
            String::new()
        }
        "lost" => {
            world.lose_terminal(rest);
            String::new()
        }
        "typed" => {
            world.type_by_hand(rest);
            String::new()
        }
        "live" => {
            let mut words = rest.splitn(3, ' ');
            let (terminal, activity) = (words.next().unwrap(), words.next().unwrap());
            world.show_live(terminal, activity, words.next());
            String::new()
        }
        "output" => {
            let terminal = TerminalId::parse(rest).unwrap();
            let now = world.clock.now();
            world.living.live.entry(terminal).or_default().last_output_at = Some(now);
            String::new()
        }
        "print" => {
            let (terminal, lines) = rest.split_once(' ').unwrap();
            world.print(terminal, lines);
            String::new()
        }
        "restart" => {
            let open = world.restart();
            open.iter().map(|open| format!("= again {}\n", named(&open.effect))).collect()
        }
        "not-installed" => {
            world.living.not_installed.insert(rest.to_owned());
            String::new()
        }
        "gone" => {
            world.living.gone_folders.insert(rest.to_owned());
            String::new()
        }
        "full-ledger" => {
            world.fill_ledger();
            String::new()
        }
        "git-refuses" => {
            world.living.git_refusal = Some(ErrorBody::new(ErrorCode::UnbornBranch, rest));
            String::new()
        }
        "script" => {
            let tabs = std::mem::take(&mut world.living.project.default_tabs);
            world.living.project = Project {
                source: Some(String::from("main:orca.yaml")),
                setup: Some(rest.to_owned()),
                default_tabs: tabs,
                ..Project::default()
            };
            String::new()
        }
        "tab" => {
            let mut words = rest.splitn(3, ' ').map(str::to_owned);
            let (title, color, command) = (words.next(), words.next(), words.next());
            world.living.project.source = Some(String::from("main:orca.yaml"));
            world.living.project.default_tabs.push(Tab { title, color, command });
            String::new()
        }
        "repo" | "folder" => {
            world.place = Place {
                repo_root: rest.to_owned(),
                root: rest.to_owned(),
                is_git: verb == "repo",
                branch: (verb == "repo").then(|| String::from("main")),
            };
            String::new()
        }
        "branch" => {
            let (folder, branch) = rest.split_once(' ').unwrap();
            world.living.branches.insert(folder.to_owned(), branch.to_owned());
            String::new()
        }
        "exit" => {
            let (terminal, code) = rest.split_once(' ').unwrap();
            world.exit(terminal, code.parse().unwrap());
            String::new()
        }
        "look" => world.look_after(),
        "jump" => {
            world.jump(rest.parse().unwrap());
            String::new()
        }
        "wake" | "deadline" => {
            let wake = if verb == "wake" { Wake::Changed } else { Wake::Deadline };
            let waiting: Vec<String> = world.waiting.keys().cloned().collect();
            let mut told = String::new();
            for id in waiting {
                match world.wake(&id, wake) {
                    None => writeln!(told, "= {id} waits").unwrap(),
                    Some(Ok(result)) => writeln!(told, "= {id}\n{result:#}").unwrap(),
                    Some(Err(error)) => writeln!(told, "= {id} failed: {error}").unwrap(),
                }
            }
            told
        }
        other => panic!("no such order: {other}"),
    }
}

fn play(world: &mut World, script: &str) -> String {
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
            "> " => {
                writeln!(played, "{line}").unwrap();
                played.push_str(&direct(world, rest));
            }
            "% " => {
                writeln!(played, "{line}").unwrap();
                played.push_str(&world.happen(rest));
            }
            "$ " => {
                writeln!(played, "{line}").unwrap();
                let printed = {
                    let line = with_proofs(world, rest);
                    world.run(&words(&line))
                };
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
    let (mut differing, mut answered) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let script = std::fs::read_to_string(&path).unwrap();
        let mut world = World::new();
        // Shown when a script breaks off.
        println!("{}", path.display());
        let played = play(&mut world, &script);
        answered.extend(world.answered);
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
    // Each of these replies was held against its schema.
    let unseen: Vec<_> = AnyCall::METHODS.iter().filter(|method| !answered.contains(**method)).collect();
    assert!(unseen.is_empty(), "no transcript shows a reply of {unseen:?}");
}

#[test]
fn colours_change_nothing_but_the_look() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut n_coloured = 0;
    for name in [
        "arguments",
        "fleet",
        "gate",
        "mail_check",
        "setup",
        "task_list",
        "team_loop",
        "terminal",
        "worktree",
    ] {
        let script = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        let mut world = World::new();
        world.is_coloured = true;
        let played = play(&mut world, &script);
        n_coloured += played.matches("\u{1b}[0m").count();
        assert_eq!(orca::cli::tone::plain(&played), script, "{name}");
        // A script that reads JSON meets no colour, whatever is forced.
        let json = played.lines().filter(|line| line.trim_start().starts_with(['{', '"', '[']));
        assert!(json.clone().count() > 0 && json.clone().all(|line| !line.contains('\u{1b}')), "{name}");
    }
    assert!(n_coloured > 100, "only {n_coloured} words had a colour");
}
