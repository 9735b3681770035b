//! Worktrees and repositories with a real server and real git.

use crate::support::sandbox::Sandbox;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn git(dir: &std::path::Path, words: &[&str]) -> String {
    let output = Command::new("git").args(words).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A worktree with a shell in it; gives its path and the shell's handle.
fn create(sandbox: &Sandbox, words: &[&str]) -> (PathBuf, String) {
    let made = sandbox.ask(&[&["worktree", "create", "--no-parent"], words].concat());
    let path = made["worktree"]["path"].as_str().unwrap();
    (PathBuf::from(path), made["startupTerminal"]["handle"].as_str().unwrap().to_owned())
}

fn error(sandbox: &Sandbox, words: &[&str]) -> Value {
    let envelope = sandbox.envelope(words);
    assert_eq!(envelope["ok"], false, "{envelope}");
    assert!(envelope["error"]["data"]["nextSteps"][0].is_string(), "{envelope}");
    envelope["error"].clone()
}

#[test]
fn removing_ends_what_runs_only_by_force_and_loses_no_commit() {
    let sandbox = Sandbox::with_repo();
    let (path, shell) = create(&sandbox, &["--name", "ünï code"]);
    let selector = format!("path:{}", path.display());
    let rm = ["worktree", "rm", "--worktree", selector.as_str()];
    assert_eq!(error(&sandbox, &rm)["code"], "confirmation_required");
    sandbox.ask(&["terminal", "close", "--terminal", &shell]);
    std::fs::write(path.join("new"), "only here").unwrap();
    assert_eq!(error(&sandbox, &rm)["code"], "worktree_holds_work");
    assert_eq!(std::fs::read_to_string(path.join("new")).unwrap(), "only here");
    git(&path, &["add", "."]);
    git(&path, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "Only here"]);
    let removed = sandbox.ask(&rm);
    assert_eq!(
        (&removed["removed"], &removed["preservedBranch"]["branchName"]),
        (&true.into(), &"ünï-code".into())
    );
    assert!(!path.exists());
    assert_eq!(git(&sandbox.repo(), &["log", "-1", "--format=%s", "ünï-code"]), "Only here");
    assert_eq!(error(&sandbox, &rm)["code"], "selector_not_found");
}

#[test]
fn a_handoff_is_typed_when_its_agent_takes_text() {
    let sandbox = Sandbox::with_repo();
    let go = sandbox.scratch().join("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.05; done; echo RE''ADY; read -r line", go.display());
    let command = Value::from(vec!["sh", "-c", &script]);
    let preset = format!("command = {command}\nprompt = \"paste\"\n[ready]\nscreen = [\"READY\"]\n");
    sandbox.set_agent("late", &preset);
    let handoff = ["--name", "handoff", "--agent", "late", "--prompt", "two\nlines"];
    let (_, terminal) = create(&sandbox, &handoff);
    std::fs::write(&go, "").unwrap();
    sandbox.wait_for_text(&terminal, "two");
    let read = sandbox.ask(&["terminal", "read", "--terminal", &terminal]);
    assert_eq!(read["terminal"]["tail"][0], "READY", "{read}");
}

#[test]
fn a_forced_removal_ends_its_own_terminals_and_no_other() {
    let sandbox = Sandbox::with_repo();
    let (path, _) = create(&sandbox, &["--name", "w"]);
    let main = sandbox.shell();
    sandbox.type_line(&main, &format!("cd '{}' && echo in''side", path.display()));
    sandbox.wait_for_text(&main, "inside");
    std::fs::write(path.join("junk"), "x").unwrap();
    let removed = sandbox.ask(&["worktree", "remove", "--worktree", "name:w", "--force"]);
    assert!(removed["warning"].as_str().unwrap().contains(&main), "{removed}");
    assert!(removed["preservedBranch"].is_null(), "{removed}");
    assert!(!path.exists());
    assert_eq!(sandbox.terminal(&main)["connected"], true);
    assert_eq!(git(&sandbox.repo(), &["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(
        error(&sandbox, &["worktree", "rm", "--worktree", "current", "--force"])["code"],
        "invalid_argument"
    );
    assert!(sandbox.repo().join("file").exists());
}

#[test]
fn an_existing_branch_is_used_and_outlives_its_worktree() {
    let sandbox = Sandbox::with_repo();
    git(&sandbox.repo(), &["branch", "old"]);
    let (path, shell) = create(&sandbox, &["--name", "a", "--branch", "old"]);
    assert_eq!(git(&path, &["branch", "--show-current"]), "old");
    let taken = error(&sandbox, &["worktree", "create", "--name", "b", "--branch", "old", "--no-parent"]);
    assert!(taken["message"].as_str().unwrap().contains(path.to_str().unwrap()), "{taken}");
    git(&path, &["switch", "-qc", "other"]);
    let shown = sandbox.ask(&["worktree", "show", "--worktree", "name:a"]);
    assert_eq!(
        (&shown["worktree"]["branch"], &shown["worktree"]["git"]["isDirty"]),
        (&"other".into(), &false.into())
    );
    sandbox.ask(&["terminal", "close", "--terminal", &shell]);
    let removed = sandbox.ask(&["worktree", "delete", "--worktree", "name:a"]);
    assert_eq!(removed["preservedBranch"]["branchName"], "other");
    assert_eq!(git(&sandbox.repo(), &["branch", "--format=%(refname:short)"]), "main\nold\nother");
}

#[test]
fn a_folder_that_went_by_hand_is_seen_and_can_be_forgotten() {
    let sandbox = Sandbox::with_repo();
    let (path, shell) = create(&sandbox, &["--name", "gone"]);
    std::fs::remove_dir_all(&path).unwrap();
    let list = sandbox.ask(&["worktree", "list"]);
    let row = list["worktrees"].as_array().unwrap().iter().find(|row| row["displayName"] == "gone").unwrap();
    assert_eq!(row["git"]["isMissing"], true);
    // Nothing falls back to another folder.
    let refused = sandbox.envelope(&["terminal", "create", "--worktree", "name:gone"]);
    assert_eq!(refused["ok"], false, "{refused}");
    sandbox.ask(&["terminal", "close", "--terminal", &shell]);
    let removed = sandbox.ask(&["worktree", "rm", "--worktree", "name:gone"]);
    assert_eq!(removed["removed"], true);
    let (again, _) = create(&sandbox, &["--name", "gone"]);
    assert_eq!(again, path);
}

#[test]
fn refs_are_searched_and_a_base_is_checked() {
    let sandbox = Sandbox::with_repo();
    git(&sandbox.repo(), &["branch", "develop"]);
    let found = sandbox.ask(&["repo", "search-refs", "--query", "DEV"]);
    assert_eq!(found["refs"], serde_json::json!(["develop"]));
    assert_eq!(error(&sandbox, &["repo", "set-base-ref", "--ref", "nothing"])["code"], "invalid_argument");
    let set = sandbox.ask(&["repo", "set-base-ref", "--ref", "develop"]);
    assert_eq!(set["repo"]["worktreeBaseRef"], "develop");
    create(&sandbox, &["--name", "w"]);
    let ps = sandbox.ask(&["worktree", "ps"]);
    let row = ps["worktrees"].as_array().unwrap().iter().find(|row| row["displayName"] == "w").unwrap();
    assert_eq!(
        (&row["baseRef"], &row["status"], &row["repo"]),
        (&"develop".into(), &"active".into(), &"repo".into())
    );
}

#[test]
fn a_worktree_tells_of_mail_from_its_attempts_until_it_is_taken() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "mail"]);
    sandbox.ask(&["orchestration", "worker-start", "--spec", "work", "--agent", "quiet"]);
    let has_unread = || sandbox.ask(&["worktree", "ps"])["worktrees"][0]["unread"].clone();
    assert_eq!(has_unread(), false);
    let worker = sandbox.ask(&["terminal", "list"])["terminals"][0]["handle"].as_str().unwrap().to_owned();
    sandbox.ask(&["orchestration", "send", "--from", &worker, "--subject", "half way"]);
    assert_eq!(has_unread(), true);
    let batch = sandbox.ask(&["orchestration", "check"]);
    assert_eq!((&batch["count"], &has_unread()), (&1.into(), &true.into()), "{batch}");
    let delivery = batch["deliveryId"].as_str().unwrap();
    sandbox.ask(&["orchestration", "check", "--ack", delivery]);
    assert_eq!(has_unread(), false);
}

#[test]
fn a_worktree_is_shown_whole_the_first_time_and_by_the_words_of_its_name() {
    let sandbox = Sandbox::with_repo();
    let current = sandbox.ask(&["worktree", "current"]);
    assert_eq!(current["worktree"]["git"]["branch"], "main", "{current}");
    for _ in 0..2 {
        let made = sandbox.ask(&["worktree", "create", "--no-parent", "--name", "  sp\u{202e} a/b "]);
        assert_eq!(made["worktree"]["displayName"], "sp a/b", "{made}");
    }
}
