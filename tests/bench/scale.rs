//! `cargo bench --bench scale`: the server over a small and over a very large history, side by side.
//!
//! It prints start-up, after a clean end and after a kill, the calls that a team makes all the time, the
//! server's memory and the size of the file. What is on the hot path must not grow from one column to
//! the next. `ORCA_SCALE=10` makes the large history a tenth of 1,000 runs, 50,000 tasks and 500,000
//! messages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod history;

use orca::base::path::StateDir;
use orca::client::Client;
use orca::client::find::{self, Place};
use orca::client::wire::Connection;
use orca::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use orca::proto::screen::{Attach, ClientFrame, HostFacts, ServerFrame};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

const N_CALLS: usize = 40;

/// One line of the result, a column for each history.
type Column = Vec<(&'static str, String)>;

fn main() {
    // `cargo test --all-targets` builds this and runs it without the flag.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let part: usize = std::env::var("ORCA_SCALE").ok().and_then(|part| part.parse().ok()).unwrap_or(1);
    let (small, large) = (measure(10), measure(1_000 / part));
    println!("\n{:<44}{:>14}{:>14}", "", "10 runs", format!("{} runs", 1_000 / part));
    for ((label, small), (_, large)) in small.iter().zip(&large) {
        println!("{label:<44}{small:>14}{large:>14}");
    }
}

fn measure(n_runs: usize) -> Column {
    let home = tempfile::tempdir().unwrap();
    let uid = rustix::process::getuid().as_raw();
    let dir = StateDir::new(home.path().join("state"), uid);
    dir.prepare(uid).unwrap();
    let began = Instant::now();
    history::write(&dir.store(), n_runs);
    let mut column = vec![("time to write the history", ms(began))];
    column.push(("size of the file", mb(std::fs::metadata(dir.store()).unwrap().len())));
    let server = Server { dir: dir.clone(), uid, config: home.path().join("config") };
    column.push(("start after a clean end", server.start()));
    server.stop();
    column.push(("the same again", server.start()));
    server.kill();
    let copy = server.copy();
    column.push(("start after a kill", server.start()));
    column.push(("its copy of the database is there", server.copied(copy)));
    server.kill();
    let copy = server.copy();
    column.push(("start after a kill at rest", server.start()));
    server.copied(copy);
    let mut client = Client::new(server.place(), Vec::new());
    column.push(("memory of the server", server.memory()));
    for (label, method, params) in calls() {
        column.push((label, time(&mut client, label, method, &params)));
    }
    column.push(("a screen attaches and has everything", server.attach()));
    column.push(("memory of the server", server.memory()));
    column.push(("size of the file", mb(std::fs::metadata(dir.store()).unwrap().len())));
    server.stop();
    column
}

/// What a team asks all the time. Run 3 has unread mail, Runs 5 and 9 have none.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let (third, fifth) = (history::run_id(3), history::run_id(5));
    let to = format!("run:{fifth}");
    vec![
        ("task-list --ready", "orchestration.taskList", json!({ "run": third, "isReady": true })),
        ("task-list", "orchestration.taskList", json!({ "run": third })),
        ("task-create", "orchestration.taskCreate", json!({ "run": third, "spec": "one more" })),
        ("check, a batch", "orchestration.check", json!({ "run": third })),
        ("check, nothing there", "orchestration.check", json!({ "run": history::run_id(9) })),
        (
            "check --peek --types",
            "orchestration.check",
            json!({ "run": third, "mode": "peek", "types": ["question"] }),
        ),
        ("send", "orchestration.send", json!({ "subject": "s", "body": "b", "to": to })),
        ("inbox", "orchestration.inbox", json!({})),
        ("run-list", "orchestration.runList", json!({})),
        ("worker-list of a run", "orchestration.workerList", json!({ "run": third })),
        ("terminal list", "terminal.list", json!({ "limit": 20 })),
    ]
}

/// The median of a call, which is told apart by its request id each time.
fn time(client: &mut Client, label: &str, method: &str, params: &Value) -> String {
    let mut took = Vec::new();
    for n in 0..N_CALLS {
        took.push(ask(client, format!("{label}-{n}"), method, params));
    }
    took.sort_unstable();
    format!("{:.2} ms", took[took.len() / 2].as_secs_f64() * 1_000.0)
}

/// One call; gives how long it took.
fn ask(client: &mut Client, id: String, method: &str, params: &Value) -> Duration {
    let request = Request {
        request_id: Some(id.clone()),
        id,
        method: method.to_owned(),
        params: params.clone(),
        origin: Origin::default(),
        contract: CONTRACT_VERSION,
        version: String::from("bench"),
    };
    let began = Instant::now();
    let response = client.call(&request, &mut |_| {}).unwrap();
    assert!(response.ok, "{method}: {:?}", response.error);
    began.elapsed()
}

fn ms(began: Instant) -> String {
    format!("{:.0} ms", began.elapsed().as_secs_f64() * 1_000.0)
}

fn mb(n_bytes: u64) -> String {
    format!("{:.1} MB", n_bytes as f64 / 1e6)
}

/// The real server over one history.
struct Server {
    dir: StateDir,
    uid: u32,
    config: PathBuf,
}

impl Server {
    fn place(&self) -> Place {
        Place {
            dir: self.dir.clone(),
            uid: self.uid,
            spools: self.dir.spools(self.uid, self.dir.root()),
            may_start: false,
            program: PathBuf::from(program()),
        }
    }

    fn orca(&self, words: &[&str]) -> Value {
        let mut command = Command::new(program());
        command
            .args(words)
            .arg("--json")
            .env("ORCA_HOME", self.dir.root())
            .env("XDG_CONFIG_HOME", &self.config);
        let output = command.output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
    }

    fn start(&self) -> String {
        let began = Instant::now();
        let started = self.orca(&["server", "start"]);
        assert_eq!(started["ok"], true, "{started}");
        ms(began)
    }

    fn stop(&self) {
        assert_eq!(self.orca(&["server", "stop", "--force"])["ok"], true);
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.orca(&["status"])["result"]["app"]["pid"].as_i64().unwrap()).unwrap()
    }

    fn kill(&self) {
        let pid = self.pid();
        let process = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        while Path::new(&format!("/proc/{pid}/exe")).exists() {
            std::thread::yield_now();
        }
    }

    /// When the copy of the database was made; None where there is none.
    fn copy(&self) -> Option<SystemTime> {
        let path = self.dir.store().with_extension("redb.last-good");
        std::fs::metadata(path).and_then(|meta| meta.modified()).ok()
    }

    /// How long it takes until there is another copy than `earlier`; then the server rests.
    fn copied(&self, earlier: Option<SystemTime>) -> String {
        let began = Instant::now();
        while self.copy() == earlier {
            std::thread::sleep(Duration::from_millis(20));
        }
        let took = ms(began);
        std::thread::sleep(Duration::from_secs(2));
        took
    }

    /// Resident memory, where the system tells.
    fn memory(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("unknown");
        line.split_whitespace()
            .next()
            .and_then(|kb| kb.parse().ok())
            .map_or_else(String::new, |kb: u64| mb(kb * 1_000))
    }

    /// How long a screen waits until an answer behind its snapshot comes.
    fn attach(&self) -> String {
        let mut connection: Connection = find::connect_running(&self.place()).unwrap();
        let began = Instant::now();
        let (contract, version) = (CONTRACT_VERSION, String::from("bench"));
        connection
            .send(&ClientFrame::Attach(Attach { contract, version, host: HostFacts::default() }))
            .unwrap();
        let mut client = Client::new(self.place(), Vec::new());
        let mut n_rows = 0;
        let mut is_first = true;
        loop {
            if let ServerFrame::Change(change) = connection.next_frame().unwrap() {
                n_rows += change.rows.len();
                if std::mem::take(&mut is_first) {
                    // Its change comes behind the snapshot.
                    let params = json!({ "run": history::run_id(5), "spec": "behind" });
                    ask(&mut client, String::from("behind"), "orchestration.taskCreate", &params);
                }
                if change.rows.len() < 10 && !change.events.is_empty() {
                    return format!("{} / {n_rows} rows", ms(began));
                }
            }
        }
    }
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_orca")
}
