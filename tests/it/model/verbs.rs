//! The reference's Runs, Tasks and gates (contract 3.1, 3.7, 3.9).

use super::rules::{Code, Gate, Model, Run, Task, Who};

impl Model {
    /// A pane has at most one Run; the person may hold several.
    fn unbind_other(&mut self, who: Who, keep: Option<usize>) {
        if who == Who::User {
            return;
        }
        if let Some(old) = self.bound(who).filter(|old| Some(*old) != keep) {
            self.bind(old, None);
        }
    }

    fn bind(&mut self, run: usize, consumer: Option<Who>) {
        if self.runs[run].consumer == consumer {
            return;
        }
        self.runs[run].consumer = consumer;
        self.runs[run].generation += 1;
        for delivery in &mut self.deliveries {
            if delivery.run == run && delivery.state == "outstanding" {
                delivery.state = "fenced";
            }
        }
    }

    pub fn run_create(&mut self, who: Who) {
        self.unbind_other(who, None);
        self.runs.push(Run { consumer: Some(who), generation: 1 });
        if who == Who::User {
            self.user_run = Some(self.runs.len() - 1);
        }
    }

    pub fn run_use(&mut self, who: Who, run: usize) {
        self.unbind_other(who, Some(run));
        self.bind(run, Some(who));
        if who == Who::User {
            self.user_run = Some(run);
        }
    }

    pub fn task_create(&mut self, who: Who, flag: Option<usize>, deps: Vec<usize>) -> Result<(), Code> {
        let run = self.run_to_change(who, flag)?;
        if deps.iter().any(|dep| self.tasks[*dep].run != run) {
            return Err("invalid_argument");
        }
        let mut seen = Vec::new();
        for dep in &deps {
            if seen.contains(dep) {
                return Err("invalid_argument");
            }
            seen.push(*dep);
        }
        self.tasks.push(Task {
            run,
            status: "pending",
            deps,
            n_failed: 0,
            attempts: Vec::new(),
            result: "null",
        });
        let task = self.tasks.len() - 1;
        self.tasks[task].status = self.waiting_state(task);
        Ok(())
    }

    pub fn task_deps(&mut self, who: Who, task: usize, deps: Vec<usize>) -> Result<(), Code> {
        let run = self.task_to_change(who, task, None)?;
        if !matches!(self.tasks[task].status, "pending" | "ready") {
            return Err("task_not_startable");
        }
        let is_double = (1..deps.len()).any(|n| deps[..n].contains(&deps[n]));
        if is_double || deps.iter().any(|dep| self.tasks[*dep].run != run || self.waits_for(*dep, task)) {
            return Err("invalid_argument");
        }
        self.tasks[task].deps = deps;
        self.tasks[task].status = self.waiting_state(task);
        Ok(())
    }

    fn waits_for(&self, task: usize, target: usize) -> bool {
        task == target || self.tasks[task].deps.iter().any(|dep| self.waits_for(*dep, target))
    }

    /// `task-update --status` with the guards of contract 3.1.
    pub fn task_update(
        &mut self,
        who: Who,
        task: usize,
        to: &'static str,
        has_result: bool,
    ) -> Result<(), Code> {
        self.task_to_change(who, task, None)?;
        let from = self.tasks[task].status;
        let is_rearmed = to == "ready" && self.tasks[task].n_failed > 0;
        if from == to && !has_result && !is_rearmed {
            return Ok(());
        }
        let is_verdict = matches!(to, "completed" | "failed");
        if let Some(active) = self.active_of_task(task) {
            let is_allowed = match self.attempts[active].worker {
                Some(_) => to == "dispatched" && from == "dispatched",
                None => is_verdict || to == "dispatched",
            };
            if !is_allowed {
                return Err("task_not_startable");
            }
            if is_verdict {
                self.attempts[active].is_taken = to == "failed";
                // The task's own completion is what it reported, as far as a late report can tell.
                self.attempts[active].reported = (to == "completed").then_some("succeeded");
                self.end(active, to, "");
            }
        } else {
            let is_held = match to {
                "dispatched" => true,
                "ready" => self.is_unmet(task) || self.has_gate(task),
                "pending" => self.has_gate(task),
                _ => false,
            };
            if is_held {
                return Err("task_not_startable");
            }
        }
        self.tasks[task].status = if to == "pending" { self.waiting_state(task) } else { to };
        let is_open = matches!(self.tasks[task].status, "pending" | "ready");
        if is_open || to == "completed" {
            self.rearm(task, to);
        }
        if is_open {
            self.tasks[task].result = "null";
        }
        if has_result {
            self.tasks[task].result = "hand";
        }
        match (from == "completed", to == "completed") {
            (false, true) => {
                for gate in self.gates.iter_mut().filter(|gate| gate.task == task) {
                    gate.resolution.get_or_insert_with(|| String::from("its task was completed"));
                }
                self.promote(task);
            }
            (true, false) => self.demote(task),
            _ => {}
        }
        Ok(())
    }

    /// Somebody's word that opens a Task again also closes its breaker, so that what is `ready` can be
    /// started; `ready` and `completed` forget all earlier failures (contract 3.3).
    fn rearm(&mut self, task: usize, to: &'static str) {
        if matches!(to, "ready" | "completed") || self.tasks[task].n_failed >= 3 {
            self.tasks[task].n_failed = 0;
        }
    }

    fn may_gate(&self, who: Who, task: usize) -> Result<(), Code> {
        if who == Who::User {
            return Ok(());
        }
        match self.active_of(who) {
            Some(own) if self.attempts[own].task == task => Ok(()),
            Some(_) => Err("consumer_fenced"),
            None => self.run_to_change(who, Some(self.tasks[task].run)).map(drop),
        }
    }

    pub fn gate_create(&mut self, who: Who, task: usize) -> Result<(), Code> {
        self.may_gate(who, task)?;
        if self.active_of_task(task).is_some() || self.tasks[task].status == "completed" {
            return Err("task_not_startable");
        }
        self.tasks[task].status = "blocked";
        self.gates.push(Gate { task, resolution: None });
        Ok(())
    }

    pub fn gate_resolve(&mut self, who: Who, gate: usize, text: &str) -> Result<(), Code> {
        let task = self.gates[gate].task;
        self.may_gate(who, task)?;
        match &self.gates[gate].resolution {
            Some(same) if same == text => return Ok(()),
            Some(_) => return Err("gate_conflict"),
            None => {}
        }
        if self.active_of_task(task).is_some() {
            return Err("task_not_startable");
        }
        self.gates[gate].resolution = Some(text.to_owned());
        if !self.has_gate(task) && self.tasks[task].status == "blocked" {
            self.tasks[task].status = self.waiting_state(task);
            self.rearm(task, "pending");
        }
        Ok(())
    }
}
