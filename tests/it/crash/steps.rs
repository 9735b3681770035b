//! The same in process, at every step: before each command and each outcome the server is another one,
//! and every command and outcome comes a second time, as from a caller whose reply was lost.

use crate::model::drive::talk::without_fleet;
use crate::model::seen::{self, Ids};
use crate::support::world::World;
use orca::base::id::EffectId;
use orca::cli::transport::Transport as _;
use orca::model::dispatch::Dispatch;
use orca::ops::cx::Wake;
use orca::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use serde_json::{Value, json};

/// A world that may break at one of its steps.
struct Broken {
    world: World,
    /// The step at which it breaks; none for never.
    at: Option<usize>,
    n_steps: usize,
}

impl Broken {
    fn new(at: Option<usize>) -> Self {
        Self { world: World::new(), at, n_steps: 0 }
    }

    /// Says whether this step is the one.
    fn breaks(&mut self) -> bool {
        self.n_steps += 1;
        self.at == Some(self.n_steps)
    }

    /// Another server takes over; whoever waited has lost its connection.
    fn crash(&mut self) {
        self.world.waiting.clear();
        let open = self.world.restart();
        let known: Vec<EffectId> = seen::open_effects(&self.world).into_iter().map(|open| open.id).collect();
        assert_eq!(open.len(), known.len(), "a new server does everything again that has no outcome");
    }

    fn send(&mut self, request: &Request) -> Option<Value> {
        let response = self.world.call(request.clone(), &mut |_| {}).unwrap();
        match response.error {
            Some(error) if error.message == "waits" => None,
            Some(error) => panic!("{} {}: {error}", request.method, request.params),
            None => response.result,
        }
    }

    /// A command that is answered at once.
    fn ask(&mut self, method: &str, params: Value, handle: Option<&str>) -> Value {
        let request = self.begin(method, params, handle);
        let mut result = self.send(&request).expect("it is answered at once");
        // It was committed and the reply was lost: asked again, it is the same answer.
        if self.breaks() {
            self.crash();
            let again = self.send(&request).expect("it is answered at once");
            assert_eq!(again["mutation"]["replayed"], true, "{again}");
            result["mutation"]["replayed"] = json!(true);
            assert_eq!(without_fleet(again), without_fleet(result.clone()));
        }
        result
    }

    /// A command that waits for something.
    fn wait(&mut self, method: &str, params: Value, handle: Option<&str>) -> Request {
        let request = self.begin(method, params, handle);
        assert!(self.send(&request).is_none(), "{method} waits");
        request
    }

    fn begin(&mut self, method: &str, params: Value, handle: Option<&str>) -> Request {
        // Nothing of it was committed.
        if self.breaks() {
            self.crash();
        }
        let id = format!("req-{}-{method}", self.world.events.len());
        Request {
            request_id: Some(id.clone()),
            id,
            method: format!("orchestration.{method}"),
            params,
            origin: Origin { env_handle: handle.map(str::to_owned), ..Origin::default() },
            contract: CONTRACT_VERSION,
            version: String::new(),
        }
    }

    /// The answer of a command that waited; its caller asks again where it lost its server.
    fn answer(&mut self, request: &Request) -> Value {
        if self.breaks() {
            self.crash();
        }
        match self.world.waiting.contains_key(&request.id) {
            true => self.world.wake(&request.id, Wake::Changed).expect("it is answered by now").unwrap(),
            false => self.send(request).expect("it is answered by now"),
        }
    }

    /// What is to be done is done, once more after a crash, and told, twice after a crash.
    fn act(&mut self) {
        if self.breaks() {
            self.crash();
        }
        let open = seen::open_effects(&self.world).into_iter().next().expect("something is to be done");
        let (_, outcome) = self.world.success(&open.effect);
        self.world.end_effect(&open.id, outcome.clone());
        if self.breaks() {
            self.crash();
            self.world.end_effect(&open.id, outcome);
        }
    }

    fn attempt(&self, dispatch: &str) -> Dispatch {
        self.world.store.read().unwrap().get(dispatch).unwrap().unwrap()
    }

    fn newest_attempt(&self) -> String {
        Ids::read(&self.world).attempts.last().unwrap().clone()
    }
}

fn id(answer: &Value, noun: &str) -> String {
    answer[noun]["id"].as_str().unwrap_or_else(|| panic!("no {noun} in {answer}")).to_owned()
}

/// A start in a new worktree, a question and its answer, a report, its delivery, a release, a gate, a
/// start with a pasted brief, a stop, and a retry whose process dies.
fn scenario(broken: &mut Broken) {
    broken.ask("runCreate", json!({ "objective": "crash" }), None);
    let first = id(&broken.ask("taskCreate", json!({ "spec": "one" }), None), "task");
    let second = id(&broken.ask("taskCreate", json!({ "spec": "two", "deps": [first] }), None), "task");
    let place = json!({ "task": first, "agent": "argent", "worktree": "new-child", "name": "tree" });
    let start = broken.wait("workerStart", place, None);
    broken.act();
    broken.act();
    assert_eq!(broken.answer(&start)["state"], "ready");
    let one = broken.newest_attempt();
    let handle = broken.attempt(&one).assignee_handle.unwrap().to_string();
    let ask = broken.wait("ask", json!({ "question": "which?" }), Some(&handle));
    let question = Ids::read(&broken.world).mails.last().unwrap().clone();
    broken.ask("reply", json!({ "id": question, "body": "left" }), None);
    assert_eq!(broken.answer(&ask)["answer"], "left");
    let about = json!({ "taskId": first, "dispatchId": one });
    let heartbeat = json!({ "subject": "s", "type": "heartbeat", "payload": about });
    broken.ask("send", heartbeat, Some(&handle));
    let report = json!({ "taskId": first, "dispatchId": one, "outcome": "succeeded" });
    let done = json!({ "subject": "s", "type": "worker_done", "payload": report });
    assert_eq!(broken.ask("send", done, Some(&handle))["lifecycle"]["action"], "completed");
    let batch = broken.ask("check", json!({}), None);
    broken.ask("check", json!({ "ack": batch["deliveryId"], "mode": "peek" }), None);
    let release = broken.wait("workerRelease", json!({ "dispatch": one }), None);
    broken.act();
    assert_eq!(broken.answer(&release)["state"], "released");
    let gate = id(&broken.ask("gateCreate", json!({ "task": second, "question": "go?" }), None), "gate");
    broken.ask("gateResolve", json!({ "id": gate, "resolution": "go" }), None);
    let start = broken.wait("workerStart", json!({ "task": second, "agent": "paster" }), None);
    broken.act();
    broken.act();
    assert_eq!(broken.answer(&start)["state"], "ready");
    let two = broken.newest_attempt();
    let stop = broken.wait("workerStop", json!({ "dispatch": two }), None);
    broken.act();
    assert_eq!(broken.answer(&stop)["state"], "stopped");
    let retry = json!({ "task": second, "agent": "argent", "retryOf": two });
    let start = broken.wait("workerStart", retry, None);
    broken.act();
    assert_eq!(broken.answer(&start)["state"], "ready");
    let handle = broken.attempt(&broken.newest_attempt()).assignee_handle.unwrap().to_string();
    broken.world.exit(&handle, 1);
    if broken.breaks() {
        broken.crash();
        broken.world.exit(&handle, 1);
    }
}

fn end(broken: &mut Broken) -> Vec<String> {
    let ids = Ids::read(&broken.world);
    seen::states(&mut broken.world, &ids)
}

#[test]
fn a_crash_at_any_step_leads_to_the_same_end() {
    let mut whole = Broken::new(None);
    scenario(&mut whole);
    let (n_steps, expected) = (whole.n_steps, end(&mut whole));
    assert!(n_steps > 40, "{n_steps}");
    for at in 1..=n_steps {
        let mut broken = Broken::new(Some(at));
        scenario(&mut broken);
        assert_eq!(end(&mut broken), expected, "broken at step {at}");
    }
}
