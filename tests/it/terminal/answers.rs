//! Questions that a program asks while no server listens.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;

/// Waits to be told, asks its terminal, and writes nothing more before it has the answer.
const ASKS: &str = "until [ -e go ]; do sleep 0.02; done; stty raw -echo; printf '\\033[5n'; touch asked; head -c 4 > answer";

#[test]
fn a_question_without_a_server_is_answered_by_the_next_one() {
    let sandbox = Sandbox::new();
    let command = format!("cd '{}'; {ASKS}", sandbox.scratch().display());
    sandbox.ask(&["terminal", "create", "--command", &command]);
    sandbox.kill_server();
    let file = |name: &str| sandbox.scratch().join(name);
    std::fs::write(file("go"), "").unwrap();
    until(|| file("asked").exists().then_some(()), || String::from("the program did not ask"));
    sandbox.ask(&["terminal", "list"]);
    let answer = || std::fs::read(file("answer")).unwrap_or_default();
    until(|| (answer() == b"\x1b[0n").then_some(()), || format!("{:?}\n{}", answer(), sandbox.log()));
}
