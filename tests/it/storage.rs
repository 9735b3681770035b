//! A state directory in trouble: a database that was cut, a disk without room, a place that cannot be
//! written. Nothing that is there is overwritten, nothing that was promised is lost, and the error says
//! what to do.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use orca::base::clock::Timestamp;
use orca::base::id::RunId;
use orca::model::limit::Limits;
use orca::model::run::{Consumer, Run};
use orca::store::{Store, StoreError};
use proptest::prelude::*;
use std::path::Path;
use std::process::Stdio;

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
            limits: Limits::default(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        })
        .unwrap();
        tx.commit_durable().unwrap();
    }
    drop(store);
    drop(Store::open(path).unwrap());
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

#[test]
fn a_server_without_room_refuses_and_keeps_what_it_promised() {
    let sandbox = Sandbox::new();
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
    let body = "x".repeat(100_000);
    let send = ["orchestration", "send", "--subject", "s", "--json", "--body", &body];
    let mut n_promised = 0;
    let error = loop {
        let output = sandbox.command(&send).env("ORCA_NO_AUTOSTART", "1").output().unwrap();
        let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        if envelope["ok"] != true {
            break envelope["error"].clone();
        }
        n_promised += 1;
    };
    assert_eq!(error["code"], "store_unwritable", "{error}");
    assert!(error["data"]["nextSteps"][0].is_string(), "{error}");
    server.wait().unwrap();
    let output = waiting.wait_with_output().unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["error"]["code"], "store_unwritable", "{envelope}");
    let steps = envelope["error"]["data"]["nextSteps"].to_string();
    assert!(steps.contains("df -h") && steps.contains("--retry-request"), "{steps}");
    let mail = sandbox.ask(&["orchestration", "inbox", "--limit", "1000"]);
    let n_kept = mail["count"].as_u64().unwrap();
    assert!((n_promised..=n_promised + 1).contains(&n_kept), "{n_kept} of {n_promised}");
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
