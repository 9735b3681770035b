//! Setup scripts with a real server: approved by a person, run in a terminal, waited for, and cleaned up
//! after.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A repository whose `orca.yaml` is this text, in its first commit.
fn with_hooks(yaml: &str) -> Sandbox {
    let sandbox = Sandbox::with_repo();
    commit_hooks(&sandbox, yaml);
    sandbox
}

fn commit_hooks(sandbox: &Sandbox, yaml: &str) {
    std::fs::write(sandbox.repo().join("orca.yaml"), yaml).unwrap();
    for words in [&["add", "orca.yaml"][..], &["commit", "-qm", "hooks"]] {
        let git = Command::new("git").args(words).current_dir(sandbox.repo()).output().unwrap();
        assert!(git.status.success(), "{git:?}");
    }
}

fn approve(sandbox: &Sandbox) -> Value {
    let shown = sandbox.ask(&["repo", "hooks", "show"]);
    let scripts = [&shown["waiting"], &shown["effective"]["setup"], &shown["effective"]["archive"]];
    let all = scripts.iter().flat_map(|list| list.as_array().unwrap());
    let script = all.into_iter().find(|script| script["isApproved"] == false).unwrap();
    sandbox.ask(&["repo", "hooks", "approve", "--hash", script["hash"].as_str().unwrap()])
}

fn start(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.ask(&["orchestration", "run-create", "--objective", "x"]);
    let base =
        ["orchestration", "worker-start", "--spec", "Do it", "--agent", "quiet", "--worktree", "new-child"];
    sandbox.ask(&[&base[..], words].concat())
}

fn worker(sandbox: &Sandbox, receipt: &Value) -> Value {
    let dispatch = receipt["dispatchId"].as_str().unwrap();
    sandbox.ask(&["orchestration", "worker-show", "--dispatch", dispatch])["worker"].clone()
}

fn tree(sandbox: &Sandbox, name: &str) -> PathBuf {
    let shown = sandbox.ask(&["worktree", "show", "--worktree", &format!("name:{name}")]);
    PathBuf::from(shown["worktree"]["path"].as_str().unwrap())
}

/// Waits until the setup script of the worktree `w` runs.
fn wait_for_setup(sandbox: &Sandbox) {
    let is_setup = |row: &&Value| row["title"] == "setup w" && row["connected"] == true;
    let list = || sandbox.ask(&["terminal", "list"])["terminals"].clone();
    until(
        || list().as_array().unwrap().iter().find(is_setup).map(drop),
        || format!("{}\n{}", list(), sandbox.log()),
    );
}

#[test]
fn nothing_of_a_repository_runs_before_a_person_approved_that_text() {
    let sandbox = with_hooks("scripts:\n  setup: echo \"$ORCA_WORKSPACE_NAME in $PWD\" > made-by-setup\n");
    let receipt = start(&sandbox, &["--name", "a"]);
    assert_eq!(
        (&receipt["state"], &receipt["setup"]["state"]),
        (&"starting".into(), &"awaiting_approval".into())
    );
    assert!(!tree(&sandbox, "a").join("made-by-setup").exists());
    let inbox = sandbox.ask(&["orchestration", "inbox", "--terminal", "user"]);
    assert!(inbox["messages"][0]["body"].as_str().unwrap().contains("made-by-setup"), "{inbox}");
    assert_eq!(approve(&sandbox)["nReleased"], 1);
    until(
        || (worker(&sandbox, &receipt)["state"] == "ready").then_some(()),
        || format!("{}\n{}", worker(&sandbox, &receipt), sandbox.log()),
    );
    let written = std::fs::read_to_string(tree(&sandbox, "a").join("made-by-setup")).unwrap();
    assert_eq!(written.trim(), format!("a in {}", tree(&sandbox, "a").display()));

    // The same text again runs at once, another one asks again.
    let again = start(&sandbox, &["--name", "b"]);
    assert_eq!(
        (&again["state"], &again["setup"]["state"]),
        (&"ready".into(), &"succeeded".into()),
        "{again}"
    );
    commit_hooks(&sandbox, "scripts:\n  setup: touch other\n");
    let other = start(&sandbox, &["--name", "c"]);
    assert_eq!(other["setup"]["state"], "awaiting_approval");
    assert!(!tree(&sandbox, "c").join("other").exists());
    let dispatch = other["dispatchId"].as_str().unwrap();
    sandbox.ask(&["orchestration", "worker-stop", "--dispatch", dispatch]);
}

#[test]
fn the_agent_starts_after_setup_and_its_own_time_begins_then() {
    let sandbox = Sandbox::with_repo();
    // Setup waits for a file that the test makes once the agent's own time is long over.
    let go = sandbox.scratch().join("go");
    let script = format!("until test -e '{}'; do sleep 0.05; done; touch ready", go.display());
    sandbox.ask(&["repo", "hooks", "set", "--setup-script", &script]);
    sandbox.set_agent(
        "looker",
        "command = [\"sh\", \"-c\", \"ls > seen; read x\", \"looker\"]\nprompt = \"argument\"\n",
    );
    sandbox.ask(&["server", "restart"]);
    sandbox.ask(&["orchestration", "run-create", "--objective", "x"]);
    let words = [
        "orchestration",
        "worker-start",
        "--spec",
        "x",
        "--agent",
        "looker",
        "--worktree",
        "new-child",
        "--name",
        "w",
        "--timeout-ms",
        "1",
        "--json",
    ];
    let child = sandbox.command(&words).stdout(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_setup(&sandbox);
    assert!(!tree(&sandbox, "w").join("seen").exists());
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["result"]["state"], "ready", "{envelope}\n{}", sandbox.log());
    until(
        || {
            std::fs::read_to_string(tree(&sandbox, "w").join("seen"))
                .ok()
                .filter(|seen| seen.contains("ready"))
        },
        || sandbox.log(),
    );
}

#[test]
fn a_setup_that_fails_says_so_and_its_output_can_be_read() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["repo", "hooks", "set", "--setup-script", "echo went wr''ong; exit 3"]);
    let failed = start(&sandbox, &["--name", "a"]);
    assert_eq!(
        (&failed["state"], &failed["failedStage"]),
        (&"failed".into(), &"setup_wait".into()),
        "{failed}"
    );
    assert!(failed["warning"].as_str().unwrap().contains("status 3"), "{failed}");
    assert!(failed["agentTerminalHandle"].is_null(), "{failed}");
    sandbox.wait_for_text(failed["setup"]["terminalHandle"].as_str().unwrap(), "went wrong");
    let made = sandbox.ask(&["worktree", "create", "--name", "b", "--no-parent", "--agent", "quiet"]);
    assert_eq!((&made["setupState"], made["startupTerminal"].is_null()), (&"failed".into(), true), "{made}");
    // Side by side, and without it.
    let both = start(&sandbox, &["--name", "c", "--agent-startup", "start-immediately"]);
    assert_eq!(both["state"], "ready", "{both}");
    until(
        || (worker(&sandbox, &both)["setup_state"] == "failed").then_some(()),
        || worker(&sandbox, &both).to_string(),
    );
    let without = start(&sandbox, &["--name", "d", "--setup", "skip"]);
    assert_eq!((&without["state"], &without["setup"]["state"]), (&"ready".into(), &"skipped".into()));
}

#[test]
fn a_killed_server_goes_on_with_setup_and_then_the_agent() {
    let sandbox = Sandbox::with_repo();
    let go = sandbox.scratch().join("go");
    let script = format!("until test -e '{}'; do sleep 0.05; done", go.display());
    sandbox.ask(&["repo", "hooks", "set", "--setup-script", &script]);
    sandbox.ask(&["orchestration", "run-create", "--objective", "x"]);
    let words = [
        "orchestration",
        "worker-start",
        "--spec",
        "x",
        "--agent",
        "quiet",
        "--worktree",
        "new-child",
        "--name",
        "w",
        "--json",
    ];
    let child = sandbox.command(&words).stdout(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_setup(&sandbox);
    sandbox.kill_server();
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["result"]["state"], "ready", "{envelope}\n{}", sandbox.log());
}

#[test]
fn an_archive_script_runs_in_its_worktree_before_that_goes() {
    let sandbox = with_hooks("scripts:\n  archive: test -e keep && pwd > \"$ORCA_ROOT_PATH/../log\"\n");
    let made = sandbox.ask(&["worktree", "create", "--name", "w", "--no-parent"]);
    sandbox.ask(&["terminal", "close", "--terminal", made["startupTerminal"]["handle"].as_str().unwrap()]);
    let path = tree(&sandbox, "w");
    let rm = ["worktree", "rm", "--worktree", "name:w", "--run-hooks"];
    assert_eq!(sandbox.envelope(&rm)["error"]["code"], "hooks_not_approved");
    approve(&sandbox);
    // It fails, so nothing is removed.
    let refused = sandbox.envelope(&rm);
    assert_eq!(
        (refused["error"]["code"].as_str(), path.exists()),
        (Some("worktree_failed"), true),
        "{refused}"
    );
    std::fs::write(path.join("keep"), "").unwrap();
    assert_eq!(sandbox.envelope(&rm)["error"]["code"], "worktree_holds_work");
    let removed = sandbox.ask(&[&rm[..], &["--force"]].concat());
    assert_eq!((&removed["removed"], path.exists()), (&true.into(), false));
    let log = std::fs::read_to_string(sandbox.repo().parent().unwrap().join("log")).unwrap();
    assert_eq!(log.trim(), path.to_str().unwrap());
}

#[test]
fn listed_files_come_along_and_a_bad_file_costs_nothing() {
    let sandbox = with_hooks("worktree:\n  copiedFiles: [.env, missing]\n  sharedDirectories: [deps]\n");
    std::fs::write(sandbox.repo().join(".env"), "secret").unwrap();
    std::fs::create_dir(sandbox.repo().join("deps")).unwrap();
    let made = sandbox.ask(&["worktree", "create", "--name", "w", "--no-parent"]);
    assert!(made["warnings"][0].as_str().unwrap().contains("missing"), "{made}");
    let path = tree(&sandbox, "w");
    assert_eq!(std::fs::read_to_string(path.join(".env")).unwrap(), "secret");
    assert_eq!(path.join("deps").read_link().unwrap(), sandbox.repo().join("deps").canonicalize().unwrap());
    commit_hooks(&sandbox, "scripts: [\n");
    let made = sandbox.ask(&["worktree", "create", "--name", "x", "--no-parent"]);
    assert!(made["warnings"][0].as_str().unwrap().contains("orca.yaml cannot be read"), "{made}");
    let shown = sandbox.ask(&["repo", "hooks", "show"]);
    assert!(shown["shared"]["problem"].as_str().unwrap().contains("orca.yaml"), "{shown}");
}
