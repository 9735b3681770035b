//! A state directory in trouble: a database that was cut, a disk without room, a place that cannot be
//! written. Nothing that is there is overwritten, nothing that was promised is lost, and the error says
//! what to do.

use crate::support::sandbox::{Sandbox, is_running, orca};
use crate::support::wait::until;
use orca::base::clock::Timestamp;
use orca::base::id::RunId;
use orca::model::limit::Limits;
use orca::model::run::{Consumer, Run};
use orca::store::{Store, StoreError, copy};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::process::{Output, Stdio};

const N_RUNS: usize = 60;

/// A good database with some Runs in it, and its copy.
fn good(path: &Path) {
    let store = Store::open(path).unwrap();
    for n in 0..N_RUNS {
        let mut tx = store.write().unwrap();
        tx.put(&Run {
            id: RunId::parse(&format!("run_{n:04}")).unwrap(),
            objective: "x".repeat(500),
            consumer: Some(Consumer::User),
            consumer_generation: 1,
            displaced: None,
            limits: Limits::default(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        })
        .unwrap();
        tx.commit_durable().unwrap();
    }
    copy::keep(&store.read().unwrap(), path).unwrap();
}

#[test]
fn a_database_cut_at_any_length_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orca.redb");
    good(&path);
    let (whole, copy) = (std::fs::read(&path).unwrap(), dir.path().join("orca.redb.last-good"));
    let kept = std::fs::read(&copy).unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) };
    // Short lengths are where headers are, and page borders are where a lost write ends.
    let length =
        prop_oneof![0..5_000_usize, 0..whole.len(), (0..whole.len() / 4096).prop_map(|page| page * 4096)];
    proptest!(config, |(length in length)| {
        std::fs::write(&path, &whole[..length]).unwrap();
        match Store::open(&path) {
            // What lies beyond was never used.
            Ok(store) => {
                let runs = store.read().unwrap().all::<Run>(usize::MAX).unwrap();
                prop_assert_eq!(runs.len(), N_RUNS);
                drop(store);
                std::fs::write(&copy, &kept).unwrap();
            }
            Err(StoreError::Damaged { copy: named, .. }) => {
                prop_assert_eq!(named.as_deref(), Some(copy.as_path()));
                prop_assert!(std::fs::read(&path).unwrap() == whole[..length], "it was changed");
                prop_assert!(std::fs::read(&copy).unwrap() == kept, "its copy was changed");
            }
            Err(other) => panic!("cut at {length}: {other:?}"),
        }
    });
}

#[test]
fn a_server_keeps_a_copy_of_what_it_found() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["orchestration", "run-create", "--objective", "to be copied"]);
    sandbox.kill_server();
    sandbox.ask(&["server", "start"]);
    let copy = sandbox.state().join("orca.redb.last-good");
    let n_runs = || Store::open(&copy).and_then(|store| Ok(store.read()?.all::<Run>(9)?.len()));
    // A file that is not there would be made.
    let is_kept = || copy.exists() && n_runs().is_ok_and(|n_runs| n_runs == 1);
    until(|| is_kept().then_some(()), || sandbox.log());
}

#[test]
fn a_first_start_without_room_leaves_nothing_in_the_way() {
    let sandbox = Sandbox::new();
    let started =
        sandbox.shell_command("trap '' XFSZ; ulimit -f 8; exec \"$0\" status --json").output().unwrap();
    assert!(started.status.success(), "{started:?}");
    for blocks in [0, 1, 8, 64, 512, 2_048] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" server run");
        let server = sandbox.shell_command(&script).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = server.unwrap();
        // It refuses, or it serves until it needs more.
        let is_up = || sandbox.envelope(&["status"])["result"]["runtime"]["reachable"] == true;
        until(|| (server.try_wait().unwrap().is_some() || is_up()).then_some(()), || sandbox.log());
        server.kill().unwrap();
        server.wait().unwrap();
    }
    sandbox.ask(&["orchestration", "run-create", "--objective", "room again"]);
}

/// A call that was repeated until the disk of its server was full.
struct Filled {
    /// How often it went well.
    n_promised: u64,
    /// The one that did not.
    refused: Output,
    /// A call that waited meanwhile.
    waiting: Output,
}

fn fill_up(sandbox: &Sandbox, words: &[&str]) -> Filled {
    sandbox.ask(&["orchestration", "run-create", "--objective", "full"]);
    sandbox.ask(&["server", "stop", "--force"]);
    let length = std::fs::metadata(sandbox.state().join("orca.redb")).unwrap().len();
    // Room for the call that waits and for some mail.
    let blocks = length / 512 + 2_048;
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" server run");
    let mut server =
        sandbox.shell_command(&script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_up = || sandbox.envelope(&["status"])["result"]["runtime"]["reachable"] == true;
    until(|| is_up().then_some(()), || sandbox.log());
    let check = ["orchestration", "check", "--wait", "--types", "worker_done", "--timeout-ms", "600000"];
    let waiting = sandbox
        .command(&[&check[..], &["--retry-request", "waits", "--json"]].concat())
        .env("ORCA_NO_AUTOSTART", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = || sandbox.envelope(&["orchestration", "request-show", "--request", "waits"]);
    let is_waiting = || request()["result"]["request"]["state"] == "pending";
    until(|| is_waiting().then_some(()), || request().to_string());
    let mut n_promised = 0;
    let refused = loop {
        let output = sandbox.command(words).env("ORCA_NO_AUTOSTART", "1").output().unwrap();
        if !output.status.success() {
            break output;
        }
        n_promised += 1;
    };
    server.wait().unwrap();
    Filled { n_promised, refused, waiting: waiting.wait_with_output().unwrap() }
}

#[test]
fn a_server_without_room_refuses_and_keeps_what_it_promised() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(60_000);
    let Filled { n_promised, refused, waiting } =
        fill_up(&sandbox, &["orchestration", "run-create", "--json", "--objective", &text]);
    let refused: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(refused["error"]["code"], "store_unwritable", "{refused}");
    assert!(refused["error"]["data"]["nextSteps"][0].is_string(), "{refused}");
    let waiting: Value = serde_json::from_slice(&waiting.stdout).unwrap();
    assert_eq!(waiting["error"]["code"], "store_unwritable", "{waiting}");
    let steps = waiting["error"]["data"]["nextSteps"].to_string();
    assert!(steps.contains("df -h") && steps.contains("--retry-request"), "{steps}");
    let n_kept = sandbox.ask(&["orchestration", "run-list"])["runs"].as_array().unwrap().len() as u64 - 1;
    assert!((n_promised..=n_promised + 1).contains(&n_kept), "{n_kept} of {n_promised}");
}

#[test]
fn a_report_that_meets_a_full_disk_is_kept_and_counts_later() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(100_000);
    let Filled { n_promised, refused, .. } =
        fill_up(&sandbox, &["orchestration", "send", "--json", "--subject", "s", "--body", &text]);
    let envelope: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(
        (refused.status.code(), &envelope["result"]["queued"]),
        (Some(75), &true.into()),
        "{envelope}"
    );
    let mail = || sandbox.ask(&["orchestration", "inbox", "--limit", "1000"])["count"].as_u64();
    until(|| (mail() == Some(n_promised + 1)).then_some(()), || format!("{:?} of {n_promised}", mail()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_is_said_with_what_to_do() {
    let sandbox = Sandbox::new();
    // No process may make a folder there, not even one of root.
    let output = sandbox
        .command(&["orchestration", "run-list", "--json"])
        .env("ORCA_HOME", "/proc/orca-cannot-be-here")
        .output()
        .unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["error"]["code"], "store_unwritable", "{envelope}");
    assert!(envelope["error"]["data"]["nextSteps"][0].is_string(), "{envelope}");
}

#[test]
fn a_database_that_is_gone_is_asked_about_and_what_runs_can_be_ended_without_it() {
    let sandbox = Sandbox::new();
    let terminal = sandbox.shell();
    let pid = u32::try_from(sandbox.terminal(&terminal)["pid"].as_u64().unwrap()).unwrap();
    let (path, copy) = (sandbox.state().join("orca.redb"), sandbox.state().join("orca.redb.last-good"));
    until(|| copy.exists().then_some(()), || sandbox.log());
    sandbox.kill_server();
    std::fs::remove_file(&path).unwrap();
    let kept = std::fs::read(&copy).unwrap();
    for _ in 0..2 {
        let envelope = sandbox.envelope(&["orchestration", "run-list"]);
        assert_eq!(envelope["error"]["code"], "store_damaged", "{envelope}");
    }
    assert!(!path.exists() && std::fs::read(&copy).unwrap() == kept, "something was made of nothing");
    let status = sandbox.ask(&["status"]);
    assert_eq!(status["startFailure"]["code"], "store_damaged", "{status}");
    assert_eq!(sandbox.ask(&["server", "stop", "--force"])["nEnded"], 1);
    assert!(!is_running(pid));
    // Both ways out that were told: with the copy, and with nothing.
    let steps = status["startFailure"]["data"]["nextSteps"].clone();
    let run = |step: &serde_json::Value| {
        let folder = orca().parent().unwrap().display();
        let script = format!("PATH={folder}:$PATH; {}", step.as_str().unwrap());
        let output = sandbox.shell_command(&script).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&steps[0]);
    assert!(sandbox.ask(&["status"])["startFailure"].is_null());
    sandbox.kill_server();
    std::fs::remove_file(&path).unwrap();
    run(&steps[1]);
    assert_eq!(sandbox.ask(&["orchestration", "run-list"])["runs"], serde_json::json!([]));
}
