//! What the product shows after a step, and what the reference says it must show, line by line.

use super::rules::{Model, Place, Who};
use crate::support::world::World;
use orca::model::delivery::Delivery;
use orca::model::dispatch::Dispatch;
use orca::model::effect::{Effect, OpenEffect};
use orca::model::gate::Gate;
use orca::model::message::Message;
use orca::model::question::Question;
use orca::model::run::Run;
use orca::model::task::Task;
use orca::model::terminal::Terminal;
use orca::store::rows::Row;
use serde_json::{Value, json};

/// The ids of what the reference knows by its place. Ids count up, so both orders are one.
#[derive(Debug, Default)]
pub struct Ids {
    pub runs: Vec<String>,
    pub terms: Vec<String>,
    pub tasks: Vec<String>,
    pub attempts: Vec<String>,
    pub proofs: Vec<String>,
    pub gates: Vec<String>,
    pub mails: Vec<String>,
    pub deliveries: Vec<String>,
}

fn all<T: Row>(world: &World) -> Vec<T> {
    world.store.read().unwrap().all(usize::MAX).unwrap()
}

fn keys<T: Row>(world: &World) -> Vec<String> {
    all::<T>(world).iter().map(Row::key).collect()
}

impl Ids {
    pub fn read(world: &World) -> Self {
        let (old, made): (Vec<_>, Vec<_>) =
            keys::<Terminal>(world).into_iter().partition(|id| id.starts_with("term_p"));
        let attempts = all::<Dispatch>(world);
        Self {
            runs: keys::<Run>(world),
            terms: [old, made].concat(),
            tasks: keys::<Task>(world),
            attempts: attempts.iter().map(|one| one.id.to_string()).collect(),
            proofs: attempts.into_iter().map(|one| one.proof).collect(),
            gates: keys::<Gate>(world),
            mails: keys::<Message>(world),
            deliveries: keys::<Delivery>(world),
        }
    }

    pub fn of_tasks(&self, tasks: &[usize]) -> Vec<String> {
        tasks.iter().map(|task| self.tasks[*task].clone()).collect()
    }

    /// An address, or what a sender is called.
    pub fn address(&self, place: Place) -> String {
        match place {
            Place::Run(run) => format!("run:{}", self.runs[run]),
            Place::Attempt(attempt) => format!("dispatch:{}", self.attempts[attempt]),
            Place::Term(term) => self.terms[term].clone(),
            Place::User => String::from("user"),
            Place::Orca => String::from("orca"),
        }
    }

    fn handle(&self, who: Who) -> String {
        match who {
            Who::User => String::from("user"),
            Who::Pane(term) => self.terms[term].clone(),
        }
    }
}

pub fn open_effects(world: &World) -> Vec<OpenEffect> {
    all(world)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What the list and show verbs say, with what no verb shows read from the store.
pub fn states(world: &mut World, ids: &Ids) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &ids.runs {
        let shown = &world.look("orchestration.runShow", json!({ "id": run }))["run"];
        let (consumer, generation) = (text(&shown["coordinator_handle"]), &shown["consumer_generation"]);
        lines.push(format!("{run}: consumer {consumer}, generation {generation}"));
        lines.extend(tasks(world, run));
        lines.extend(attempts(world, run));
        let gates = world.look("orchestration.gateList", json!({ "run": run }));
        for gate in gates["gates"].as_array().unwrap() {
            let (task, resolution) = (text(&gate["task_id"]), text(&gate["resolution"]));
            lines.push(format!("{}: of {task}, {} {resolution}", text(&gate["id"]), text(&gate["status"])));
        }
    }
    let mail = world.look("orchestration.inbox", json!({ "limit": 1000, "isFull": true }));
    for row in mail["messages"].as_array().unwrap() {
        let (id, from, to) = (text(&row["id"]), text(&row["from_handle"]), text(&row["to_handle"]));
        let refused = text(&row["payload"]["_orcaLifecycleRejection"]["code"]);
        let (kind, is_read) = (text(&row["type"]), &row["read"]);
        lines.push(format!(
            "{id}: #{} {kind} {from} to {to}, read {is_read}, refused {refused}",
            row["sequence"]
        ));
    }
    lines.extend(hidden(world));
    lines.sort();
    lines
}

fn tasks(world: &mut World, run: &str) -> Vec<String> {
    let listed = world.look("orchestration.taskList", json!({ "run": run }));
    let ready = world.look("orchestration.taskList", json!({ "run": run, "isReady": true }));
    let mut lines = Vec::new();
    for task in listed["tasks"].as_array().unwrap() {
        let result = match &task["result"] {
            Value::String(_) => String::from("hand"),
            Value::Object(report) => text(&report["outcome"]),
            other => other.to_string(),
        };
        lines.push(format!(
            "{}: of {run}, {} after {}, {} failures, {} attempts, active {}, result {result}",
            text(&task["id"]),
            text(&task["status"]),
            task["deps"],
            task["failures_in_row"],
            task["attempts"],
            text(&task["dispatch_id"]),
        ));
    }
    let mut ready: Vec<String> =
        ready["tasks"].as_array().unwrap().iter().map(|task| text(&task["id"])).collect();
    // The list is by time of creation, which a clock that jumps does not keep.
    ready.sort();
    lines.push(format!("{run}: ready {}", ready.join(" ")));
    lines
}

fn attempts(world: &mut World, run: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page =
            world.look("orchestration.workerList", json!({ "run": run, "limit": 100, "cursor": cursor }));
        for row in page["workers"].as_array().unwrap() {
            let resource = &row["resource"];
            lines.push(format!(
                "{}: attempt {} at {}, {}, worker {}, in {}, {} {}",
                text(&row["dispatchId"]),
                row["attempt"],
                text(&row["taskId"]),
                text(&row["dispatchStatus"]),
                text(&row["workerState"]),
                text(&row["agentTerminalHandle"]),
                text(&resource["ownershipState"]),
                text(&resource["releaseState"]),
            ));
        }
        cursor = page["page"]["nextCursor"].clone();
        if cursor.is_null() {
            return lines;
        }
    }
}

fn hidden(world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    for one in all::<Question>(world) {
        let answer = one.answer_body.unwrap_or_default();
        let by = one.answered_by.unwrap_or_default();
        let (id, dispatch) = (one.message_id, one.dispatch_id);
        lines.push(format!("{id} asks: {:?} of {dispatch}, {} {answer} by {by}", one.question, one.status));
    }
    for one in all::<Delivery>(world) {
        let mails: Vec<&str> = one.message_ids.iter().map(|id| id.as_str()).collect();
        let (id, run, again) = (&one.id, &one.run_id, one.n_redeliveries);
        lines.push(format!("{id}: of {run}, {}, {again} times again, {}", one.state, mails.join(" ")));
    }
    for one in all::<Terminal>(world) {
        let newest = one.dispatch_id.map(|id| id.to_string()).unwrap_or_default();
        lines.push(format!("{}: {}, typed {}, newest {newest}", one.id, one.life, one.is_user_typed));
    }
    for one in all::<Dispatch>(world) {
        lines.push(format!("{}: revoked {}", one.id, one.revoked_at.is_some()));
    }
    for one in open_effects(world) {
        let what = match one.effect {
            Effect::CreateWorktree(_) => "tree",
            Effect::RemoveWorktree(_) => "remove",
            Effect::SpawnTerminal { .. } => "spawn",
            Effect::DeliverPrompt { .. } => "prompt",
            Effect::CloseTerminal { .. } => "close",
        };
        let dispatch = one.dispatch_id.map(|id| id.to_string()).unwrap_or_default();
        lines.push(format!("to do: {what} for {dispatch}"));
    }
    lines
}

/// The same lines from the reference.
pub fn wanted(model: &Model, ids: &Ids) -> Vec<String> {
    let mut lines = Vec::new();
    let id = |ids: &[String], n: usize| ids.get(n).cloned().unwrap_or_else(|| format!("missing {n}"));
    for (n, run) in model.runs.iter().enumerate() {
        let consumer = run.consumer.map_or(String::from("null"), |who| ids.handle(who));
        lines.push(format!("{}: consumer {consumer}, generation {}", id(&ids.runs, n), run.generation));
        let is_ready = |task: &usize| model.tasks[*task].run == n && model.tasks[*task].status == "ready";
        let ready: Vec<String> =
            (0..model.tasks.len()).filter(is_ready).map(|task| id(&ids.tasks, task)).collect();
        lines.push(format!("{}: ready {}", id(&ids.runs, n), ready.join(" ")));
    }
    for (n, task) in model.tasks.iter().enumerate() {
        let active = model.active_of_task(n).map_or(String::from("null"), |active| id(&ids.attempts, active));
        let deps = json!(ids.of_tasks(&task.deps));
        lines.push(format!(
            "{}: of {}, {} after {deps}, {} failures, {} attempts, active {active}, result {}",
            id(&ids.tasks, n),
            ids.runs[task.run],
            task.status,
            task.n_failed,
            task.attempts.len(),
            task.result,
        ));
    }
    for (n, one) in model.attempts.iter().enumerate() {
        let worker = one.worker.unwrap_or("unsupervised");
        let term = one.term.map_or(String::from("null"), |term| id(&ids.terms, term));
        let (own, release) = one.resource.unwrap_or(("null", "null"));
        lines.push(format!(
            "{}: attempt {} at {}, {}, worker {worker}, in {term}, {own} {release}",
            id(&ids.attempts, n),
            one.number,
            ids.tasks[one.task],
            one.status,
        ));
        lines.push(format!("{}: revoked {}", id(&ids.attempts, n), one.is_revoked));
    }
    for (n, gate) in model.gates.iter().enumerate() {
        let status = if gate.resolution.is_some() { "resolved" } else { "pending" };
        let resolution = gate.resolution.as_deref().unwrap_or("null");
        lines.push(format!("{}: of {}, {status} {resolution}", id(&ids.gates, n), ids.tasks[gate.task]));
    }
    lines.extend(wanted_mail(model, ids));
    for (n, one) in model.terms.iter().enumerate() {
        let newest = one.newest.map_or(String::new(), |newest| id(&ids.attempts, newest));
        lines.push(format!("{}: {}, typed {}, newest {newest}", id(&ids.terms, n), one.life, one.is_typed));
    }
    for effect in &model.effects {
        use super::rules::Effect as E;
        let (what, attempt) = match effect {
            E::Tree { attempt, .. } => ("tree", attempt),
            E::Spawn { attempt, .. } => ("spawn", attempt),
            E::Prompt { attempt } => ("prompt", attempt),
            E::Close { attempt, .. } => ("close", attempt),
        };
        lines.push(format!("to do: {what} for {}", id(&ids.attempts, *attempt)));
    }
    lines.sort();
    lines
}

fn wanted_mail(model: &Model, ids: &Ids) -> Vec<String> {
    let mut lines = Vec::new();
    let mail_id = |n: usize| ids.mails.get(n).cloned().unwrap_or_else(|| format!("missing mail {n}"));
    for (n, one) in model.mail.iter().enumerate() {
        let (id, from, to) = (mail_id(n), ids.address(one.from), ids.address(one.to));
        let (sequence, refused) = (n + 1, one.refused.unwrap_or("null"));
        lines.push(format!(
            "{id}: #{sequence} {} {from} to {to}, read {}, refused {refused}",
            one.kind, one.is_read
        ));
    }
    for one in &model.questions {
        let answer = one.answer.clone().unwrap_or_default();
        let by = one.by.map_or(String::new(), |who| ids.handle(who));
        let (id, dispatch) = (mail_id(one.message), &ids.attempts[one.attempt]);
        lines.push(format!("{id} asks: {:?} of {dispatch}, {} {answer} by {by}", one.text, one.status));
    }
    for (n, one) in model.deliveries.iter().enumerate() {
        let mails: Vec<String> = one.mails.iter().map(|mail| mail_id(*mail)).collect();
        let id = ids.deliveries.get(n).cloned().unwrap_or_else(|| format!("missing delivery {n}"));
        let run = &ids.runs[one.run];
        lines.push(format!(
            "{id}: of {run}, {}, {} times again, {}",
            one.state,
            one.n_again,
            mails.join(" ")
        ));
    }
    lines
}
