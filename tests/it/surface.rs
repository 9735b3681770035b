//! The whole surface of the command line, walked by its own tree, so that a new verb is held to the same:
//! it explains itself, its example works, its reply has a schema.

use crate::support::words::{assert_runnable, words};
use crate::support::world::{Printed, World};
use orca::cli::tree::{self, Verb};
use orca::cli::verbs::schema::of_verb;
use serde_json::Value;

/// Verbs that print something else than one JSON document.
const WITHOUT_REPLY: &[&str] = &["demo", "attach", "server run"];

/// Verbs about a real server or screen, which the world in process has not.
const OUTSIDE: &[&str] = &["demo", "status", "attach", "open", "server"];

fn run(world: &mut World, line: &str) -> Printed {
    world.run(&words(line))
}

fn json(printed: &Printed) -> Value {
    serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {printed:?}"))
}

/// The command lines of a help text; what a shell does with their output is left out.
fn examples(verb: &Verb) -> Vec<String> {
    let help = verb.command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (_, lines) = help.split_once("Example:\n").unwrap_or_default();
    let lines = lines.replace(" \\\n     ", "");
    let lines = lines.lines().take_while(|line| line.starts_with("  orca"));
    lines.map(|line| line.trim().split(" > ").next().unwrap().to_owned()).collect()
}

#[test]
fn every_verb_has_a_schema() {
    let verbs = tree::verbs();
    let without: Vec<String> = verbs.iter().map(Verb::name).filter(|name| of_verb(name).is_none()).collect();
    assert_eq!(without, WITHOUT_REPLY, "derive JsonSchema for the reply, or name the verb here");
}

#[test]
fn every_command_explains_itself_and_its_flags() {
    let mut faults = Vec::new();
    for verb in tree::commands() {
        let (name, command) = (verb.name(), &verb.command);
        if command.get_about().is_none_or(|about| about.to_string().is_empty()) {
            faults.push(format!("{name}: says not what it is for"));
        }
        if !command.has_subcommands() && examples(&verb).is_empty() {
            faults.push(format!("{name}: has no example"));
        }
        // A line that clap has to wrap is no command any more when it is copied.
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if help.lines().any(|line| line.starts_with("  orca") && line.chars().count() > 80) {
            faults.push(format!("{name}: its example is wider than 80 columns"));
        }
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let id = arg.get_id().as_str();
            let needs = match id {
                "limit" => vec!["default"],
                id if id.ends_with("_ms") => vec!["default", "milliseconds"],
                _ => Vec::new(),
            };
            if help.is_empty() || needs.iter().any(|word| !help.contains(word)) {
                faults.push(format!("{name}: --{id} lacks its help, unit or default"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Flags that hold a text and not the name of something: an empty one may be meant.
const TEXTS: &str = "archive_script body command comment deps display_name files_modified name objective \
    options payload phase prompt query question report_path resolution result setup_script spec subject \
    task_title text title";

#[test]
fn an_empty_name_is_refused_before_a_server_is_asked() {
    let texts: Vec<&str> = TEXTS.split_whitespace().collect();
    let (mut faults, mut n_named) = (Vec::new(), 0);
    for verb in tree::verbs() {
        let flags = verb.command.get_arguments().filter(|arg| arg.get_action().takes_values());
        for arg in flags.filter(|arg| !texts.contains(&arg.get_id().as_str())) {
            let Some(flag) = arg.get_long() else { continue };
            n_named += 1;
            let argv = ["orca"].into_iter().chain(verb.path.iter().map(String::as_str));
            let argv: Vec<String> = argv.chain([format!("--{flag}=").as_str()]).map(str::to_owned).collect();
            let printed = World::new().run(&argv);
            let is_refused = printed.code == 1 && printed.stderr.contains(&format!("'--{flag}"));
            if !is_refused || !printed.stderr.contains("[invalid_argument]") {
                faults.push(format!("{} --{flag}=: {printed:?}", verb.name()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(n_named > 100, "only {n_named} flags were looked at");
}

#[test]
fn every_example_is_a_command_that_is_not_refused_as_such() {
    let mut faults = Vec::new();
    for verb in tree::verbs() {
        for line in examples(&verb) {
            assert_runnable(&line, &verb.name());
            if OUTSIDE.contains(&verb.path[0].as_str()) {
                continue;
            }
            let mut world = World::new();
            run(&mut world, "orca orchestration run-create --objective Examples");
            let home = world.home.path().display().to_string();
            let printed = run(&mut world, &line.replace('~', &home));
            let all = format!("{}{}", printed.stdout, printed.stderr);
            // The ids and names of an example are nobody's, so the rules may refuse them; a call may wait.
            let is_of_rules = all.contains("\"id\": \"req-");
            let is_malformed = all.contains("invalid_argument") && !is_of_rules;
            let is_broken = all.contains("method_not_found") || all.contains("runtime_error");
            if (is_malformed || is_broken) && !all.contains("waits") {
                faults.push(format!("{line}\n{all}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn completions_and_pages_hold_every_verb() {
    let mut world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let printed = run(&mut world, &format!("orca completions {shell} --json"));
        let script = json(&printed)["result"]["script"].as_str().unwrap().to_owned();
        for verb in tree::verbs() {
            let last = verb.path.last().unwrap();
            assert!(script.contains(last.as_str()), "{shell} does not complete {last}");
        }
        assert_eq!(run(&mut world, &format!("orca completions {shell}")).stdout, script);
        for hidden in ["pairing-code", "include-remote", "coordinator-start"] {
            assert!(!script.contains(hidden), "{shell} offers {hidden}");
        }
        // Of --agent, of a check's --types, of events' --types.
        for word in ["goose", "merge_ready", "task.created"] {
            assert!(script.contains(word), "{shell} does not offer {word}");
        }
    }
    let dir = world.home.path().join("man1");
    let printed = run(&mut world, &format!("orca man --dir {} --json", dir.display()));
    let pages = json(&printed)["result"]["pages"].clone();
    assert_eq!(pages.as_array().unwrap().len(), tree::commands().len());
    let page = std::fs::read_to_string(dir.join("orca-orchestration-worker-start.1")).unwrap();
    assert!(page.contains("retry\\-of") && page.contains("Example"), "{page}");
    let main = run(&mut world, "orca man").stdout;
    for part in ["EXIT STATUS", "ENVIRONMENT", "ORCA_HOME", "ERROR CODES", "task_not_startable"] {
        assert!(main.contains(part), "the page of orca lacks {part}");
    }
}

#[test]
fn a_schema_is_found_with_and_without_its_group() {
    let mut world = World::new();
    let whole = run(&mut world, "orca schema orchestration task-list").stdout;
    assert_eq!(run(&mut world, "orca schema task-list").stdout, whole);
    let all: Value = serde_json::from_str(&run(&mut world, "orca schema").stdout).unwrap();
    jsonschema::meta::validate(&all).unwrap();
    assert!(all["$defs"]["orchestration.task-list"].is_object());
    assert_eq!(run(&mut world, "orca schema list").code, 1);
    // The whole name is meant, though `server status` ends with the same word.
    assert_eq!(run(&mut world, "orca schema status").code, 0);
}

/// Guide and command line, for each line that a guide or the readme shows.
fn shown() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md")];
    let mut folders = vec![root.join("assets/skills")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut shown = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(root).unwrap().display().to_string();
        let blocks = text.lines().map(str::trim_start).filter(|line| line.starts_with("orca "));
        // The readme's table has verbs without what they need.
        let spans = text.split('`').skip(1).step_by(2).filter(|_| name != "README.md");
        let spans = spans.filter(|span| span.starts_with("orca ") && !span.contains('\n'));
        let lines = blocks.chain(spans).filter(|line| !line.ends_with('…'));
        shown.extend(lines.map(|line| (name.clone(), line.to_owned())));
    }
    shown
}

#[test]
fn every_line_of_the_guides_is_a_command() {
    let shown = shown();
    assert!(shown.len() > 30, "the guides show few commands: {shown:?}");
    for (guide, line) in shown {
        assert_runnable(&line, &guide);
    }
}

/// A coordinator who does what the guide says, and the worlds around it.
struct Team {
    world: World,
    tasks: Vec<String>,
    dispatch: String,
    terminal: String,
    question: String,
    delivery: String,
    gate: String,
}

impl Team {
    /// Runs a line of the guide with the ids that came before; gives its result.
    fn follow(&mut self, line: &str) -> Value {
        let task = if line.contains("gate-create") { self.tasks.last() } else { self.tasks.first() };
        let mut line = line.to_owned();
        for (example, id) in [
            ("task_0123456789ab", task.cloned().unwrap_or_default()),
            ("ctx_0123456789ab", self.dispatch.clone()),
            ("msg_0123456789ab", self.question.clone()),
            ("delivery_0123456789ab", self.delivery.clone()),
            ("gate_0123456789ab", self.gate.clone()),
        ] {
            line = line.replace(example, &id);
        }
        let printed = run(&mut self.world, &line);
        let answer = json(&printed);
        let result = match answer["error"]["data"]["waiting"].as_str() {
            Some(id) => self.settle(id),
            None => answer["result"].clone(),
        };
        assert!(result.is_object(), "{line}\n{printed:?}");
        self.remember(&result);
        result
    }

    /// The world does what was asked of it, then the waiting call is answered.
    fn settle(&mut self, id: &str) -> Value {
        while self.world.open_effect().is_some() {
            self.world.succeed();
        }
        self.world.wake(id, orca::ops::cx::Wake::Changed).expect("nothing is left to wait for").unwrap()
    }

    fn remember(&mut self, result: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let (Some(task), Some("ready" | "pending")) =
            (text(&result["task"]["id"]), result["task"]["status"].as_str())
        {
            self.tasks.push(task);
        }
        let questions = result["messages"].as_array().into_iter().flatten();
        let question = questions
            .filter(|message| message["type"] == "question")
            .find_map(|message| text(&message["id"]));
        for (kept, new) in [
            (&mut self.dispatch, text(&result["dispatchId"])),
            (&mut self.terminal, text(&result["agentTerminalHandle"])),
            (&mut self.delivery, text(&result["deliveryId"])),
            (&mut self.gate, text(&result["gate"]["id"])),
            (&mut self.question, question),
        ] {
            if let Some(new) = new {
                *kept = new;
            }
        }
    }

    /// The worker runs a command.
    fn worker(&mut self, line: &str) -> Value {
        self.world.sender = Some(self.terminal.clone());
        let printed = run(&mut self.world, line);
        self.world.sender = None;
        json(&printed)
    }

    fn report(&mut self) {
        let line = format!(
            "orca orchestration send --type worker_done --subject Done --task-id {} --dispatch-id {} --proof {} \
             --outcome succeeded --json",
            self.tasks[0],
            self.dispatch,
            self.world.proof(&self.dispatch)
        );
        assert_eq!(self.worker(&line)["result"]["lifecycle"]["action"], "completed");
    }

    fn states(&mut self) -> Vec<Value> {
        let tasks =
            json(&run(&mut self.world, "orca orchestration task-list --json"))["result"]["tasks"].clone();
        tasks.as_array().unwrap().iter().map(|task| task["status"].clone()).collect()
    }
}

#[test]
fn the_guide_carries_a_coordinator_through_the_whole_loop() {
    let guide = include_str!("../../assets/skills/orchestration.md");
    let lines = guide.lines().map(str::trim_start).filter(|line| line.starts_with("orca orchestration "));
    let lines: Vec<&str> = lines.collect();
    let id = String::new;
    let mut team = Team {
        world: World::new(),
        tasks: Vec::new(),
        dispatch: id(),
        terminal: id(),
        question: id(),
        delivery: id(),
        gate: id(),
    };
    let mut verbs = Vec::new();
    let mut asked = Value::Null;
    for line in lines {
        let verb = words(line)[2].clone();
        if verb == "worker-release" {
            team.report();
        }
        let result = team.follow(line);
        match verb.as_str() {
            "worker-start" => {
                assert_eq!(result["state"], "ready");
                asked = team.worker("orca orchestration ask --question \"Which option?\" --json");
            }
            "check" => assert_eq!(result["count"], 1, "{line}: {result:#}"),
            "worker-release" => assert_eq!(result["state"], "released"),
            "gate-create" => assert_eq!(team.states(), ["completed", "blocked"]),
            "gate-resolve" => assert_eq!(team.states(), ["completed", "ready"]),
            _ => {}
        }
        verbs.push(verb);
    }
    let asked = asked["error"]["data"]["waiting"].as_str().unwrap().to_owned();
    let answer = team.world.wake(&asked, orca::ops::cx::Wake::Changed).unwrap().unwrap();
    assert_eq!(answer["answer"], "Use the second option");
    for verb in ["run-create", "task-create", "task-list", "worker-start", "check", "reply", "worker-release"]
    {
        assert!(verbs.iter().any(|shown| shown == verb), "the guide shows no {verb}");
    }
}
