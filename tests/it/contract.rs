//! The tables of contract 11.1, 11.2 and 4.10 as data (`tests/fixtures/contract/codes.txt`), held against
//! the command line and against what the transcripts show.

use super::support::sandbox::Sandbox;
use super::support::words::words;
use super::support::world::World;
use orca::base::code::ErrorCode;
use orca::cli::tree;
use orca::cli::verbs::schema::of_verb;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("../fixtures/contract/codes.txt");

/// The refusal codes of contract 4.10.
const REFUSALS: &[&str] = &[
    "sender_not_assignee",
    "invalid_payload",
    "missing_task_id",
    "missing_dispatch_id",
    "invalid_outcome",
    "unknown_task",
    "unknown_dispatch",
    "task_dispatch_mismatch",
    "inactive_dispatch",
    "stale_dispatch",
];

/// One verb of the table.
#[derive(Debug, Default)]
struct Row {
    flags: Vec<String>,
    /// What the contract lists and we give.
    codes: BTreeSet<String>,
    /// What we give beyond it.
    ours: BTreeSet<String>,
    /// What the contract lists and this verb cannot give.
    struck: BTreeSet<String>,
    /// Code and test, where no transcript can show the code.
    tests: Vec<(String, String)>,
}

impl Row {
    fn given(&self) -> BTreeSet<&str> {
        self.codes.union(&self.ours).map(String::as_str).collect()
    }

    fn is_mutation(&self) -> bool {
        self.flags.iter().any(|flag| flag == "retry-request")
    }
}

/// The whole table.
#[derive(Debug, Default)]
struct Table {
    rows: BTreeMap<String, Row>,
    /// Codes that every verb can give; with tests.
    every: Row,
    /// Codes that every mutation can give beyond those of its row.
    mutation: Row,
    /// Codes that belong to no verb of ours.
    nobody: BTreeSet<String>,
    /// Verbs that the contract does not have.
    added: BTreeSet<String>,
}

/// Codes that have to have a reason behind a bar.
fn with_reason(rest: &str) -> BTreeSet<String> {
    let (codes, reason) = rest.split_once('|').unwrap_or_else(|| panic!("no reason: {rest}"));
    assert!(reason.trim().len() > 10, "no reason: {rest}");
    codes.split_whitespace().map(str::to_owned).collect()
}

impl Table {
    fn read(text: &str) -> Self {
        let mut table = Self::default();
        let mut open = String::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let row = match open.as_str() {
                "every" => &mut table.every,
                "mutation" => &mut table.mutation,
                verb => table.rows.entry(verb.to_owned()).or_default(),
            };
            let list = || rest.split_whitespace().map(str::to_owned);
            match word {
                "verb" | "added" => {
                    open = rest.to_owned();
                    assert!(!table.rows.contains_key(rest), "{rest} twice");
                    if word == "added" {
                        table.added.insert(open.clone());
                    }
                }
                "every" | "mutation" => open = word.to_owned(),
                "flags" => row.flags.extend(list()),
                "codes" => row.codes.extend(list()),
                "ours" => row.ours.extend(list()),
                "struck" => row.struck.extend(with_reason(rest)),
                "test" => {
                    let (codes, test) = rest.split_once('|').unwrap_or_else(|| panic!("no test: {rest}"));
                    let codes = codes.split_whitespace();
                    row.tests.extend(codes.map(|code| (code.to_owned(), test.trim().to_owned())));
                }
                "nobody" => table.nobody.extend(with_reason(rest)),
                other => panic!("no such line: {other} {rest}"),
            }
        }
        table.rows.remove("");
        table
    }

    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values().chain([&self.every, &self.mutation])
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The verb that a command line calls, by its own name and not an alias.
fn verb_of(argv: &[OsString]) -> String {
    let mut command = tree::root();
    let mut path = Vec::new();
    for word in argv.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word).cloned() {
            Some(child) => {
                path.push(child.get_name().to_owned());
                command = child;
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    path.join(" ")
}

/// The codes that a reply shows: of a failure, of a refused report. Those that are only quoted in mail do
/// not count.
fn codes_in(output: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    if let Ok(document) = serde_json::from_str::<Value>(output) {
        let error = &document["error"];
        let is_answer = error["data"]["waiting"].is_null();
        let found =
            [&error["code"], &document["result"]["lifecycle"]["code"], &document["lifecycle"]["code"]];
        codes.extend(found.iter().filter(|_| is_answer).filter_map(|code| code.as_str()).map(str::to_owned));
        return codes;
    }
    for line in output.lines() {
        // A message may have several lines; its code ends the last one.
        let said = line.strip_prefix("! ").filter(|said| *said != "orca: waits [runtime_error]");
        let failed = said.and_then(|said| said.strip_suffix(']')?.rsplit_once('['));
        let refused = line.strip_prefix("refused [").and_then(|rest| rest.split_once(']'));
        let woken = line.strip_prefix("= ").filter(|rest| rest.contains(" failed: "));
        let woken = woken.and_then(|rest| rest.strip_suffix(')')?.rsplit_once('('));
        codes.extend(failed.map(|(_, code)| code.to_owned()));
        codes.extend(refused.map(|(code, _)| code.to_owned()));
        codes.extend(woken.map(|(_, code)| code.to_owned()));
    }
    codes.retain(|code| ErrorCode::ALL.iter().any(|known| known.as_str() == code));
    codes
}

/// What the transcripts show: verb and code, with the transcript that shows it.
#[derive(Debug, Default)]
struct Shown {
    found: BTreeMap<(String, String), String>,
    /// The verbs of request ids, for the calls that wait.
    requests: BTreeMap<String, String>,
    n_parsed: usize,
    verb: Option<String>,
    output: String,
}

impl Shown {
    fn read() -> Self {
        let folder = root().join("tests/transcripts");
        let mut shown = Self::default();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            (shown.requests, shown.n_parsed, shown.verb) = (BTreeMap::new(), 0, None);
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                shown.line(&path, line);
            }
            shown.close(&path);
        }
        shown
    }

    fn line(&mut self, path: &Path, line: &str) {
        if let Some(call) = line.strip_prefix("$ ") {
            self.close(path);
            self.call(call);
        } else if ["> ", "@ ", "+ ", "% ", "# "].iter().any(|mark| line.starts_with(mark)) || line.is_empty()
        {
            self.close(path);
        } else if let Some(woken) = line.strip_prefix("= ") {
            self.close(path);
            let id = woken.split_whitespace().next().unwrap_or_default();
            self.verb = self.requests.get(id).cloned();
            if woken.contains(" failed: ") {
                self.output = format!("{line}\n");
            }
        } else if !(line.starts_with('[') && line.ends_with(']')) || line == "[" || line == "]" {
            self.output.push_str(&format!("{line}\n"));
        }
    }

    fn call(&mut self, line: &str) {
        let argv: Vec<OsString> = words(line).iter().map(OsString::from).collect();
        let verb = verb_of(&argv);
        if orca::cli::parse(&argv).is_ok() {
            self.n_parsed += 1;
            let at = argv.iter().position(|word| word == "--retry-request");
            let id = at.and_then(|at| argv.get(at + 1)?.to_str().map(str::to_owned));
            self.requests.insert(id.unwrap_or_else(|| format!("req-{}", self.n_parsed)), verb.clone());
        }
        self.verb = Some(verb);
    }

    fn close(&mut self, path: &Path) {
        let output = std::mem::take(&mut self.output);
        let Some(verb) = self.verb.take() else { return };
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for code in codes_in(&output) {
            self.found.entry((verb.clone(), code)).or_insert_with(|| file.clone());
        }
    }

    fn has(&self, verb: &str, code: &str) -> bool {
        self.found.contains_key(&(verb.to_owned(), code.to_owned()))
    }
}

/// The body of a test that is named as `file::function`.
fn body_of(test: &str) -> Option<String> {
    let (file, function) = test.rsplit_once("::")?;
    let source = std::fs::read_to_string(root().join("tests/it").join(format!("{file}.rs"))).ok()?;
    let (_, rest) = source.split_once(&format!("#[test]\nfn {function}() {{\n"))?;
    rest.split_once("\n}\n").map(|(body, _)| body.to_owned())
}

fn nothing(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_verb_and_flag_of_the_contract_is_there() {
    let table = Table::read(TABLE);
    let mut faults = Vec::new();
    for (verb, row) in &table.rows {
        let path: Vec<&str> = verb.split(' ').collect();
        let found =
            path.iter().try_fold(tree::root(), |command, word| command.find_subcommand(word).cloned());
        let Some(command) = found else {
            faults.push(format!("{verb}: there is no such verb"));
            continue;
        };
        for flag in &row.flags {
            let is_it = |arg: &&clap::Arg| match flag.strip_prefix('<') {
                Some(place) => arg.is_positional() && arg.get_id() == place.trim_end_matches('>'),
                None => {
                    arg.get_long() == Some(flag)
                        || arg.get_all_aliases().is_some_and(|all| all.contains(&flag.as_str()))
                }
            };
            if !command.get_arguments().any(|arg| is_it(&arg)) {
                faults.push(format!("{verb}: there is no --{flag}"));
            }
        }
    }
    for verb in tree::verbs() {
        if !table.rows.contains_key(&verb.name()) {
            faults.push(format!("{}: the table has no such verb; say `added` there", verb.name()));
        }
    }
    nothing(&faults);
}

#[test]
fn every_code_of_a_verb_is_shown_and_no_other() {
    let (table, shown) = (Table::read(TABLE), Shown::read());
    let mut faults = Vec::new();
    for (verb, row) in &table.rows {
        let mut given = row.given();
        given.extend(table.mutation.given().into_iter().filter(|_| row.is_mutation()));
        for code in &given {
            let is_tested = row.tests.iter().chain(&table.mutation.tests).any(|(tested, _)| tested == code);
            if !is_tested && !shown.has(verb, code) {
                faults.push(format!("{verb}: nothing shows {code}"));
            }
            if row.struck.contains(*code) {
                faults.push(format!("{verb}: {code} is given and struck"));
            }
        }
        for (_, code) in shown.found.keys().filter(|(shown, _)| shown == verb) {
            if !given.contains(code.as_str()) && !table.every.given().contains(code.as_str()) {
                let file = &shown.found[&(verb.clone(), code.clone())];
                faults.push(format!("{verb}: {file} shows {code}, which the table has not"));
            }
        }
    }
    nothing(&faults);
}

#[test]
fn every_test_that_the_table_names_is_there_and_has_the_code() {
    let table = Table::read(TABLE);
    let mut faults = Vec::new();
    for (code, test) in table.all_rows().flat_map(|row| &row.tests) {
        match body_of(test) {
            None => faults.push(format!("{test}: there is no such test")),
            Some(body) if !body.contains(code.as_str()) => {
                faults.push(format!("{test}: says nothing of {code}"))
            }
            Some(_) => {}
        }
    }
    for code in table.every.given() {
        if !table.every.tests.iter().any(|(tested, _)| tested == code) {
            faults.push(format!("every verb: no test gives {code}"));
        }
    }
    nothing(&faults);
}

#[test]
fn every_code_of_the_program_is_in_the_table_or_has_a_reason() {
    let table = Table::read(TABLE);
    let given: BTreeSet<&str> = table.all_rows().flat_map(Row::given).collect();
    let struck: BTreeSet<&str> = table.all_rows().flat_map(|row| &row.struck).map(String::as_str).collect();
    let known: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let mut faults = Vec::new();
    for code in &known {
        if given.contains(code) == table.nobody.contains(*code) {
            faults.push(format!("{code}: no verb gives it and there is no reason, or both"));
        }
    }
    faults.extend(given.difference(&known).map(|code| format!("{code}: the program has no such code")));
    for code in REFUSALS {
        if !(given.contains(code) || struck.contains(code)) {
            faults.push(format!("{code}: the table has no such refusal"));
        }
    }
    nothing(&faults);
}

#[test]
fn every_verb_refuses_a_flag_that_it_does_not_know() {
    let mut world = World::new();
    for verb in tree::verbs() {
        let mut line = vec![String::from("orca")];
        line.extend(verb.path.clone());
        line.push(String::from("--no-such-flag"));
        if of_verb(&verb.name()).is_none() {
            let printed = world.run(&line);
            assert!(printed.stderr.contains("[invalid_argument]\n  try: orca "), "{line:?}: {printed:?}");
            continue;
        }
        line.push(String::from("--json"));
        let printed = world.run(&line);
        let answer: Value = serde_json::from_str(&printed.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "invalid_argument", "{line:?}: {answer}");
        assert_eq!((answer["id"].as_str(), printed.code), (Some("local"), 1), "{line:?}: {answer}");
        assert!(answer["error"]["data"]["nextSteps"][0].is_string(), "{line:?}: {answer}");
    }
}

#[test]
fn no_verb_reaches_another_server() {
    let sandbox = Sandbox::new();
    for flag in ["--environment=far", "--pairing-code=0000"] {
        let answer = sandbox.envelope(&["orchestration", "run-list", flag]);
        assert_eq!(answer["error"]["code"], "capability_unsupported", "{answer}");
    }
    assert!(!sandbox.state().exists());
}

#[test]
fn a_mutation_whose_server_dies_is_unknown_and_can_be_asked_again() {
    let sandbox = Sandbox::new();
    sandbox.start_faulty("after_commit:1");
    let create = ["orchestration", "run-create", "--objective", "half told"];
    let output = sandbox.command(&create).arg("--json").env("ORCA_NO_AUTOSTART", "1").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (answer["error"]["code"].as_str(), output.status.code()),
        (Some("operation_unknown"), Some(1))
    );
    let data = &answer["error"]["data"];
    assert!(data["originalCommand"].as_array().unwrap().contains(&Value::from("half told")), "{answer}");
    let id = data["orchestrationRequestId"].as_str().unwrap();
    let shown = sandbox.ask(&["orchestration", "request-show", "--request", id]);
    assert_eq!(shown["request"]["state"], "completed", "{shown}");
    let again = sandbox.ask(&[&create[..], &["--retry-request", id]].concat());
    assert_eq!(again["mutation"]["replayed"], true, "{again}");
    let runs = sandbox.ask(&["orchestration", "run-list"]);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
}
