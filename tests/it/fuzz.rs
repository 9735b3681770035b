//! Command lines made from the grammar with right, odd and hostile values, and calls with any JSON: each
//! ends in an answer or a refusal, breaks no rule and prints no control characters.

use crate::support::world::World;
use clap::CommandFactory as _;
use orca::cli::transport::Transport as _;
use orca::proto::AnyCall;
use orca::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The verbs whose every call ends in the process that makes it.
const GROUPS: &[&str] = &["orchestration", "terminal", "worktree", "repo"];

/// A verb and the flags it takes; true for those with a value.
#[derive(Debug, Clone)]
struct Verb {
    path: Vec<String>,
    flags: Vec<(String, bool)>,
}

fn verbs() -> Vec<Verb> {
    let root = orca::cli::Orca::command();
    let groups = root.get_subcommands().filter(|group| GROUPS.contains(&group.get_name()));
    let mut verbs = Vec::new();
    for group in groups {
        for verb in group.get_subcommands() {
            let path = vec![group.get_name().to_owned(), verb.get_name().to_owned()];
            let flags = verb.get_arguments().filter_map(|flag| {
                let name = flag.get_long()?;
                // A file may be standard input, which never ends here.
                (!name.ends_with("file")).then(|| (format!("--{name}"), flag.get_action().takes_values()))
            });
            verbs.push(Verb { flags: flags.collect(), path });
        }
    }
    verbs
}

/// Values that mean something here, values that look like it, and values that want to do harm.
fn value() -> BoxedStrategy<String> {
    let known = [
        "run_000000000001",
        "task_000000000002",
        "task_000000000003",
        "ctx_000000000007",
        "gate_000000000004",
        "term_a",
        "user",
        "@all",
        "run:run_000000000001",
        "dispatch:ctx_000000000007",
        "task:x",
        "current",
        "new-child",
        "argent",
        "paster",
        "claude",
        "succeeded",
        "failed",
        "ready",
        "completed",
        "blocked",
        "worker_done",
        "heartbeat",
        "question",
        "status",
        "1",
        "0",
        "100",
        "18446744073709551615",
        "-1",
        "",
        "--",
        "a,b,,c",
        "yes",
        "high",
        "exit",
        "tui-idle",
        "name:x",
        "path:/repo",
        "id:repo_1::/repo",
        "/repo",
    ];
    let hostile =
        ["\u{1b}[2J\u{7}", "a\nb\u{202e}c", "\u{0}", "../../etc", "%s%n", "\u{9b}31m", "👩‍👩‍👧", "\u{fffd}"];
    prop_oneof![
        5 => prop::sample::select(known.to_vec()).prop_map(String::from),
        2 => prop::sample::select(hostile.to_vec()).prop_map(String::from),
        2 => json_value().prop_map(|json| json.to_string()),
        1 => ".{0,40}",
        1 => "[\\[\\]{}\",:0-9a-z]{0,30}",
    ]
    .boxed()
}

fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["task_000000000002", "ctx_000000000007", "succeeded", "\u{1b}[1m", ""])
            .prop_map(Value::from),
    ];
    let field =
        prop::sample::select(vec!["taskId", "dispatchId", "outcome", "filesModified", "phase", "x\u{1b}"]);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(field.clone().prop_map(String::from), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
    .boxed()
}

/// A command line of a verb: some of its flags, now and then a word that does not belong there.
fn line() -> BoxedStrategy<Vec<String>> {
    prop::sample::select(verbs())
        .prop_flat_map(|verb| {
            // Even a verb without flags may be called with one.
            let strange = [(String::from("--strange"), true)];
            let flags: Vec<_> = verb.flags.iter().cloned().chain(strange).collect();
            let n_flags = flags.len();
            let flag = prop::sample::select(flags);
            let word = (flag, value()).prop_map(|((name, takes_value), value)| match takes_value {
                true if value.starts_with("--") => vec![format!("{name}={value}")],
                true => vec![name, value],
                false => vec![name],
            });
            let stray = prop_oneof![8 => Just(Vec::new()), 1 => value().prop_map(|value| vec![value])];
            (prop::collection::vec(word, 0..=n_flags.min(7)), stray, Just(verb.path))
        })
        .prop_map(|(flags, stray, path)| [path, flags.concat(), stray].concat())
        .boxed()
}

/// A Run with two tasks, one of them held by a gate, one tried in a terminal.
fn world() -> World {
    let mut world = World::new();
    let run = |world: &mut World, line: &str| {
        let words: Vec<String> = std::iter::once("orca").chain(line.split(' ')).map(String::from).collect();
        assert_eq!(world.run(&words).code, 0, "{line}");
    };
    run(&mut world, "orchestration run-create --objective x");
    run(&mut world, "orchestration task-create --spec one");
    run(&mut world, "orchestration task-create --spec two");
    run(&mut world, "orchestration gate-create --task task_000000000003 --question go");
    world.terminal("term_a");
    world.attempt("task_000000000002", "term_a", true);
    world
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_command_line_is_answered(
        lines in prop::collection::vec((line(), any::<bool>(), any::<bool>()), 1..12),
    ) {
        let mut world = world();
        for (words, is_worker, is_json) in lines {
            world.sender = is_worker.then(|| String::from("term_a"));
            let json = is_json.then(|| String::from("--json"));
            let argv: Vec<String> = std::iter::once(String::from("orca")).chain(words).chain(json).collect();
            let printed = world.run(&argv);
            prop_assert!(printed.code <= 1, "{argv:?}: {printed:?}");
            for text in [&printed.stdout, &printed.stderr] {
                let is_raw = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
                prop_assert!(!is_raw, "{argv:?}: {text:?}");
            }
        }
    }

    #[test]
    fn any_parameters_are_answered(method in prop::sample::select(AnyCall::METHODS.to_vec()), params in json_value()) {
        let mut world = world();
        let mut fields = params;
        if let Value::Object(fields) = &mut fields {
            fields.entry("task").or_insert_with(|| json!("task_000000000002"));
            fields.entry("dispatch").or_insert_with(|| json!("ctx_000000000007"));
        }
        let request = Request {
            id: String::from("r"),
            method: method.to_owned(),
            params: fields,
            request_id: Some(String::from("r")),
            origin: Origin::default(),
            contract: CONTRACT_VERSION,
            version: String::new(),
        };
        let response = world.call(request, &mut |_| {}).unwrap();
        prop_assert!(response.ok == response.error.is_none());
    }
}
