//! The nudge: an idle agent that has mail gets one short typed line, once for each message.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use crate::support::world::World;
use orca::base::id::{RunId, TerminalId};
use orca::ops::cx::{Act, CallerFacts};
use orca::ops::nudge;

/// What the nudge to a terminal would say; told to it when `is_told`.
fn line(world: &mut World, terminal: &str, is_told: bool) -> Option<String> {
    let id = TerminalId::parse(terminal).unwrap();
    let wanted = world.transact(CallerFacts::default(), |cx| nudge::wanted(cx, &id)).unwrap()?;
    let line = wanted.line.clone();
    if is_told {
        world.transact(CallerFacts::default(), |cx| nudge::tell(cx, wanted)).unwrap();
    }
    Some(line)
}

fn run(world: &mut World, sender: Option<&str>, line: &str) -> String {
    world.sender = sender.map(str::to_owned);
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let printed = world.run(&[vec![String::from("orca"), String::from("orchestration")], words].concat());
    assert_eq!(printed.code, 0, "{line}: {printed:?}");
    printed.stdout
}

fn task(world: &mut World, sender: Option<&str>) -> String {
    let made = run(world, sender, "task-create --spec First --json");
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    made["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_coordinator_is_told_once_of_what_asks_for_something() {
    let mut world = World::new();
    world.terminal("term_c");
    world.terminal("term_w");
    world.terminal("term_x");
    let made = run(&mut world, Some("term_c"), "run-create --objective Ship --json");
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let bound = made["result"]["run"]["id"].as_str().unwrap().to_owned();
    let task = task(&mut world, Some("term_c"));
    let dispatch = world.attempt(&task, "term_w", true).to_string();
    assert_eq!(line(&mut world, "term_c", false), None, "no mail, no line");

    // Heartbeats ask for nothing.
    let beat = format!("send --type heartbeat --subject alive --task-id {task} --dispatch-id {dispatch}");
    run(&mut world, Some("term_w"), &beat);
    assert_eq!(line(&mut world, "term_c", false), None);

    run(&mut world, Some("term_w"), "send --type escalation --subject stuck --body secret");
    let told = line(&mut world, "term_c", true).unwrap();
    assert_eq!(
        told,
        format!(
            "[orca] 1 message waits (1 escalation). Read: /bin/orca orchestration check --run {bound} --terminal term_c --json"
        )
    );
    assert!(matches!(world.acts.last(), Some(Act::Nudge { .. })), "{:?}", world.acts);
    assert_eq!(line(&mut world, "term_c", false), None, "once for each message, also after a restart");
    world.restart();
    assert_eq!(line(&mut world, "term_c", false), None);

    // A refused heartbeat does ask for something, and the count is of all that waits.
    world.sender = Some(String::from("term_x"));
    let refused = beat.split(' ').map(str::to_owned);
    let words = [String::from("orca"), String::from("orchestration")].into_iter().chain(refused);
    assert_eq!(world.run(&words.collect::<Vec<_>>()).code, 1);
    let told = line(&mut world, "term_c", false).unwrap();
    assert!(told.starts_with("[orca] 2 messages wait (1 escalation, 1 heartbeat)."), "{told}");

    // Somebody waits on the mailbox anyway.
    world.living.waiters.insert(RunId::parse(&bound).unwrap());
    assert_eq!(line(&mut world, "term_c", false), None);
    world.living.waiters.clear();

    // What was handed out is known, even before it is acknowledged.
    run(&mut world, Some("term_c"), "check --no-fleet");
    assert_eq!(line(&mut world, "term_c", false), None);
}

#[test]
fn a_worker_is_told_of_its_own_mail_and_a_line_that_was_not_typed_is_tried_again() {
    let mut world = World::new();
    world.terminal("term_w");
    run(&mut world, None, "run-create --objective Ship");
    let task = task(&mut world, None);
    let dispatch = world.attempt(&task, "term_w", true).to_string();
    run(&mut world, None, &format!("send --to dispatch:{dispatch} --subject hint --no-fleet"));
    let told = line(&mut world, "term_w", true).unwrap();
    assert!(told.ends_with("orchestration check --terminal term_w --json"), "{told}");
    let Some(Act::Nudge { messages, .. }) = world.acts.last().cloned() else { panic!("{:?}", world.acts) };
    world.transact(CallerFacts::default(), |cx| nudge::refused(cx, &messages)).unwrap();
    assert_eq!(line(&mut world, "term_w", false).as_ref(), Some(&told));
}

/// An agent that is at rest between lines, says so, and keeps every line it got.
pub fn set_line_agent(sandbox: &Sandbox) -> std::path::PathBuf {
    let log = sandbox.scratch().join("lines");
    let script = format!(
        "printf '\\033]7501;state=idle:app=fake\\007agent is up\\n'; while read -r line; do printf '\\033]7501;state=working\\007'; printf '%s\\n' \"$line\" >> '{}'; printf 'took it\\n\\033]7501;state=idle\\007'; done",
        log.display()
    );
    let script = serde_json::Value::from(script);
    sandbox
        .set_agent("fake", &format!("command = [\"sh\", \"-c\", {script}, \"fake\"]\nprompt = \"none\"\n"));
    log
}

fn lines(log: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_real_idle_agent_gets_one_line_for_each_message_across_a_crash() {
    let sandbox = Sandbox::with_repo();
    let log = set_line_agent(&sandbox);
    sandbox.ask(&["orchestration", "run-create", "--objective", "try it"]);
    let started = sandbox.ask(&["orchestration", "worker-start", "--spec", "Do it.", "--agent", "fake"]);
    let terminal = started["agentTerminalHandle"].as_str().unwrap().to_owned();
    sandbox.wait_for_text(&terminal, "agent is up");
    // It coordinates a Run of its own.
    let made = sandbox.ask(&["orchestration", "run-create", "--objective", "parts", "--from", &terminal]);
    let run = made["run"]["id"].as_str().unwrap().to_owned();
    let to = format!("run:{run}");
    let send = |subject: &str| sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", subject]);
    send("one");
    let told = |n: usize| {
        until(
            || Some(lines(&log)).filter(|lines| lines.len() >= n),
            || format!("{:?}\n{}", lines(&log), sandbox.log()),
        )
    };
    let first = told(1);
    let tail = format!("orchestration check --run {run} --terminal {terminal} --json");
    assert!(first[0].starts_with("[orca] 1 message waits (1 status). Read: "), "{first:?}");
    assert!(first[0].ends_with(&tail), "{first:?}");
    sandbox.kill_server();
    send("two");
    let both = told(2);
    assert!(both[1].starts_with("[orca] 2 messages wait (2 status)."), "{both:?}");
    assert_eq!(both.len(), 2, "nothing is told twice: {both:?}");
    let inbox = sandbox.ask(&["orchestration", "inbox", "--terminal", &terminal]);
    assert!(
        inbox["messages"].as_array().unwrap().iter().all(|row| !row["delivered_at"].is_null()),
        "{inbox}"
    );
}
