//! Plays steps on the product and on the reference, and compares answers and states after each.

/// What a worker says, what everybody writes and reads, what waits.
pub mod talk;

use super::post::{Proof, Report};
use super::read::{Checked, Look, Mode};
use super::rules::{Code, Effect, Model, Place, Term, Wait, Who};
use super::seen::{self, Ids};
use super::step::{Pick, Step};
use super::work::{Came, How};
use crate::support::world::World;
use orca::cli::transport::Transport as _;
use orca::model::effect::{self, Outcome};
use orca::ops::cx::{WaitOn, Wake};
use orca::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use orca::proto::error::ErrorBody;
use serde_json::{Value, json};

/// What the reference wants an answer to be: these fields, or this code.
type Want = Result<Value, Code>;

/// The product, the reference, and what was played.
pub struct Play {
    world: World,
    model: Model,
    ids: Ids,
    n_requests: u32,
    /// Requests that were answered for good, with their answers.
    past: Vec<(Request, Value)>,
    pub log: Vec<String>,
}

impl Play {
    /// Two terminals that were there before, and nothing else.
    pub fn new() -> Self {
        let mut world = World::new();
        let mut model = Model::default();
        for handle in ["term_p0", "term_p1"] {
            world.terminal(handle);
            let tree = None;
            model.terms.push(Term { life: "running", has_ended: false, tree, is_typed: false, newest: None });
        }
        let mut play =
            Self { world, model, ids: Ids::default(), n_requests: 0, past: Vec::new(), log: Vec::new() };
        play.compare();
        play
    }

    fn who(&self, pick: Pick) -> Who {
        match pick {
            0 => Who::User,
            1 | 2 => Who::Pane(usize::from(pick - 1)),
            _ => Who::Pane(newest(self.model.terms.len(), pick - 3).unwrap()),
        }
    }

    fn handle(&self, who: Who) -> Option<String> {
        match who {
            Who::User => None,
            Who::Pane(term) => Some(self.ids.terms[term].clone()),
        }
    }

    fn request(&mut self, who: Who, method: &str, params: Value) -> Request {
        self.n_requests += 1;
        let id = format!("req-{:06}", self.n_requests);
        Request {
            request_id: Some(id.clone()),
            id,
            method: format!("orchestration.{method}"),
            params,
            origin: Origin { env_handle: self.handle(who), ..Origin::default() },
            contract: CONTRACT_VERSION,
            version: String::new(),
        }
    }

    /// The id that the next request will have: what waits is known by it.
    fn next_id(&self) -> String {
        format!("req-{:06}", self.n_requests + 1)
    }

    fn call(&mut self, request: Request) -> Result<Value, ErrorBody> {
        let waiting = self.world.waiting.values();
        self.world.living.waiters = waiting
            .filter_map(|(_, wait, _)| match &wait.on {
                WaitOn::RunMail { run, .. } => Some(run.clone()),
                _ => None,
            })
            .collect();
        let response = self.world.call(request, &mut |_| {}).unwrap();
        match response.error {
            Some(error) => Err(error),
            None => Ok(response.result.unwrap()),
        }
    }

    /// Sends a request and holds the answer against what the reference says.
    fn ask(&mut self, who: Who, method: &str, params: Value, want: Want) {
        let request = self.request(who, method, params);
        let got = self.call(request.clone());
        let line =
            format!("{} {method} {}", request.origin.env_handle.as_deref().unwrap_or("user"), request.params);
        self.judge(&line, &got, &want);
        if let Ok(answer) = got {
            self.past.push((request, answer));
        }
    }

    fn judge(&mut self, line: &str, got: &Result<Value, ErrorBody>, want: &Want) {
        let told = match got {
            Ok(_) => String::from("ok"),
            Err(error) if error.message == "waits" => String::from("waits"),
            Err(error) => error.code.to_string(),
        };
        self.log.push(format!("{line} -> {told}"));
        match (got, want) {
            (Ok(got), Ok(want)) => assert!(covers(got, want), "wanted {want} in {got:#}"),
            (Err(error), Ok(want)) if error.message == "waits" => {
                assert_eq!(*want, json!("waits"), "it waits")
            }
            (Err(error), Err(code)) => assert_eq!(error.code.to_string(), *code, "{error}"),
            (got, want) => panic!("wanted {want:?}, got {got:?}"),
        }
    }

    /// Plays one step; nothing where there is nothing that it could be about.
    pub fn play(&mut self, step: &Step) {
        self.log.push(format!("# {step}"));
        if self.act(step).is_some() {
            self.wake_all();
            self.compare();
        }
    }

    fn act(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::RunCreate { .. }
            | Step::RunUse { .. }
            | Step::TaskCreate { .. }
            | Step::TaskUpdate { .. } => self.plan(step),
            Step::TaskDeps { .. } | Step::GateCreate { .. } | Step::GateResolve { .. } => self.plan(step),
            Step::Start { .. } | Step::Dispatch { .. } => self.start(step),
            Step::Stop { attempt } => self.end("workerStop", *attempt, |model, n, id| model.stop(n, id)),
            Step::Abandon { attempt } => self.end("workerAbandon", *attempt, |model, n, _| model.abandon(n)),
            Step::Release { attempt } => {
                self.end("workerRelease", *attempt, |model, n, id| model.release(n, id))
            }
            Step::Retain { attempt } => self.end("workerRetain", *attempt, |model, n, _| Ok(model.retain(n))),
            Step::Outcome { which, came } => self.outcome(*which, *came),
            Step::Exit { term } => self.happen(
                *term,
                "exit",
                |world, handle| world.exit(handle, 1),
                |model, term| model.ended(term, false),
            ),
            Step::Lose { term } => {
                self.happen(*term, "lost", World::lose_terminal, |model, term| model.ended(term, true))
            }
            Step::Type { term } => self.happen(*term, "typed", World::type_by_hand, Model::typed),
            Step::Done { .. } | Step::Heartbeat { .. } | Step::Ask { .. } => self.speak(step),
            Step::Send { .. } | Step::Reply { .. } | Step::ReplyMail { .. } => self.write(step),
            Step::Check { .. } => self.check(step),
            Step::Deadline { which } => self.deadline(*which),
            Step::Again { which, is_same } => self.again(*which, *is_same),
            Step::Restart => {
                self.world.restart();
                Some(())
            }
            Step::Clock { ms } => {
                self.world.clock.advance_ms(*ms);
                Some(())
            }
        }
    }

    fn plan(&mut self, step: &Step) -> Option<()> {
        let n_tasks = self.model.tasks.len();
        let picked =
            |picks: &[Pick]| picks.iter().filter_map(|pick| newest(n_tasks, *pick)).collect::<Vec<_>>();
        match step {
            Step::RunCreate { by } => {
                let who = self.who(*by);
                self.model.run_create(who);
                self.ask(
                    who,
                    "runCreate",
                    json!({ "objective": "work" }),
                    Ok(json!({ "binding": { "consumerGeneration": 1 } })),
                );
            }
            Step::RunUse { by, run } => {
                let (who, run) = (self.who(*by), newest(self.model.runs.len(), *run)?);
                self.model.run_use(who, run);
                let generation = self.model.runs[run].generation;
                let want = json!({ "binding": { "consumerGeneration": generation } });
                self.ask(who, "runUse", json!({ "id": self.ids.runs[run] }), Ok(want));
            }
            Step::TaskCreate { by, deps } => {
                let (who, deps) = (self.who(*by), picked(deps));
                let params = json!({ "spec": "do it", "deps": self.ids.of_tasks(&deps) });
                let want = self.model.task_create(who, None, deps);
                let status = self.model.tasks.last().map(|task| task.status);
                self.ask(who, "taskCreate", params, want.map(|()| json!({ "task": { "status": status } })));
            }
            Step::TaskUpdate { by, task, to, has_result } => {
                let (who, task) = (self.who(*by), newest(n_tasks, *task)?);
                let to =
                    ["pending", "ready", "dispatched", "completed", "failed", "blocked"][usize::from(*to)];
                let want = self.model.task_update(who, task, to, *has_result);
                let params = json!({ "id": self.ids.tasks[task], "status": to, "result": has_result.then_some("by hand") });
                let status = self.model.tasks[task].status;
                self.ask(who, "taskUpdate", params, want.map(|()| json!({ "task": { "status": status } })));
            }
            Step::TaskDeps { by, task, deps } => {
                let (who, task, deps) = (self.who(*by), newest(n_tasks, *task)?, picked(deps));
                let params = json!({ "id": self.ids.tasks[task], "deps": self.ids.of_tasks(&deps) });
                let want = self.model.task_deps(who, task, deps).map(|()| json!({}));
                self.ask(who, "taskUpdate", params, want);
            }
            Step::GateCreate { by, task } => {
                let (who, task) = (self.who(*by), newest(n_tasks, *task)?);
                let want =
                    self.model.gate_create(who, task).map(|()| json!({ "gate": { "status": "pending" } }));
                self.ask(who, "gateCreate", json!({ "task": self.ids.tasks[task], "question": "go?" }), want);
            }
            Step::GateResolve { by, gate, text } => {
                let (who, gate) = (self.who(*by), newest(self.model.gates.len(), *gate)?);
                let text = ["yes", "no"][usize::from(*text)];
                let want = self.model.gate_resolve(who, gate, text);
                let want = want.map(|()| json!({ "gate": { "resolution": text } }));
                self.ask(who, "gateResolve", json!({ "id": self.ids.gates[gate], "resolution": text }), want);
            }
            _ => unreachable!("{step} is no plan"),
        }
        Some(())
    }

    fn start(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Start { by, task, how, term, retry } => {
                let (who, task) = (self.who(*by), newest(self.model.tasks.len(), *task)?);
                let term = newest(self.model.terms.len(), *term)?;
                let how =
                    [How::Argument, How::Paste, How::NewTree, How::Reuse(term)][usize::from(*how).min(3)];
                let retry_of = retry.and_then(|pick| {
                    let own = &self.model.tasks[task].attempts;
                    newest(own.len(), pick).map(|n| own[n])
                });
                let mut params = json!({ "task": self.ids.tasks[task] });
                params["retryOf"] = json!(retry_of.map(|n| self.ids.attempts[n].clone()));
                match how {
                    How::Argument => params["agent"] = json!("argent"),
                    How::Paste => params["agent"] = json!("paster"),
                    How::Reuse(term) => params["terminal"] = json!(self.ids.terms[term]),
                    How::NewTree => {
                        params["agent"] = json!("argent");
                        params["worktree"] = json!("new-child");
                        params["name"] = json!(format!("t{}", self.model.attempts.len()));
                    }
                }
                let id = self.next_id();
                let want = self.model.start(who, task, how, retry_of, &id).map(|()| json!("waits"));
                self.ask(who, "workerStart", params, want);
            }
            Step::Dispatch { by, task, term, is_inject } => {
                let (who, task) = (self.who(*by), newest(self.model.tasks.len(), *task)?);
                let term = newest(self.model.terms.len(), *term)?;
                let want = self.model.dispatch(who, task, term, *is_inject);
                let want =
                    want.map(|()| json!({ "injected": is_inject, "dispatch": { "status": "dispatched" } }));
                let (task, to) = (&self.ids.tasks[task], &self.ids.terms[term]);
                let params = json!({ "task": task, "to": to, "isInject": is_inject });
                self.ask(who, "dispatch", params, want);
            }
            _ => unreachable!("{step} starts nothing"),
        }
        Some(())
    }

    fn end(
        &mut self,
        method: &str,
        attempt: Pick,
        rule: impl FnOnce(&mut Model, usize, &str) -> Result<&'static str, Code>,
    ) -> Option<()> {
        let attempt = newest(self.model.attempts.len(), attempt)?;
        let id = self.next_id();
        let want = rule(&mut self.model, attempt, &id).map(|state| match state {
            "waits" => json!("waits"),
            state => json!({ "state": state }),
        });
        self.ask(Who::User, method, json!({ "dispatch": self.ids.attempts[attempt] }), want);
        Some(())
    }

    fn happen(
        &mut self,
        term: Pick,
        what: &str,
        world: impl FnOnce(&mut World, &str),
        model: impl FnOnce(&mut Model, usize),
    ) -> Option<()> {
        let term = newest(self.model.terms.len(), term)?;
        let handle = self.ids.terms[term].clone();
        self.log.push(format!("> {what} {handle}"));
        world(&mut self.world, &handle);
        model(&mut self.model, term);
        Some(())
    }

    fn outcome(&mut self, which: Pick, came: Pick) -> Option<()> {
        let which = usize::from(which).checked_rem(self.model.effects.len())?;
        let came = [Came::Good, Came::Failed, Came::Unknown, Came::Blocked][usize::from(came)];
        let effect = self.model.effects[which].clone();
        let open = seen::open_effects(&self.world);
        let real = open.iter().find(|open| self.is_same_effect(&effect, open)).expect("the effect is open");
        let outcome = outcome_of(&self.world, &real.effect, came);
        self.log.push(format!("> {effect:?} {outcome:?}"));
        self.world.end_effect(&real.id, outcome);
        self.model.outcome(which, came);
        Some(())
    }

    fn is_same_effect(&self, effect: &Effect, open: &effect::OpenEffect) -> bool {
        let of = |attempt: &usize| {
            open.dispatch_id.as_ref().map(|id| id.as_str()) == Some(self.ids.attempts[*attempt].as_str())
        };
        match (effect, &open.effect) {
            (Effect::Tree { attempt, .. }, effect::Effect::CreateWorktree(_))
            | (Effect::Spawn { attempt, .. }, effect::Effect::SpawnTerminal { .. })
            | (Effect::Prompt { attempt }, effect::Effect::DeliverPrompt { .. })
            | (Effect::Close { attempt, .. }, effect::Effect::CloseTerminal { .. }) => of(attempt),
            _ => false,
        }
    }
}

fn outcome_of(world: &World, effect: &effect::Effect, came: Came) -> Outcome {
    let (message, code) = (String::from("it broke"), String::from("runtime_error"));
    match (came, effect) {
        (Came::Failed, _) => Outcome::Failed { code, message },
        (Came::Unknown, _) => Outcome::Unknown { message },
        (Came::Blocked, effect::Effect::DeliverPrompt { .. }) => Outcome::PromptBlocked { reason: message },
        (Came::Good | Came::Blocked, effect) => world.success(effect).1,
    }
}

/// The `pick`-th of `n`, counted from the newest.
pub fn newest(n: usize, pick: Pick) -> Option<usize> {
    Some(n.checked_sub(1)? - usize::from(pick) % n)
}

/// Every field that is wanted is there with that value.
fn covers(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            want.iter().all(|(name, want)| got.get(name).is_some_and(|got| covers(got, want)))
        }
        (got, want) => got == want,
    }
}
