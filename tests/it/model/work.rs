//! The reference's attempts: start, outcomes, ends (contract 3.2 to 3.6, 5, 7).

use super::rules::{Attempt, Code, Effect, Model, Place, Term, Wait, Who};

/// How a worker is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// An agent that takes its brief as an argument, in the coordinator's worktree.
    Argument,
    /// An agent that takes its brief by paste.
    Paste,
    /// A worktree of its own.
    NewTree,
    /// In this terminal.
    Reuse(usize),
}

/// What came of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Good,
    Failed,
    Unknown,
    /// The brief waits for a person.
    Blocked,
}

impl Model {
    fn check_depth(&self, who: Who) -> Result<(), Code> {
        // An attempt that a pane gave itself does not count (contract 3.10).
        let is_deep = self.active_of(who).is_some_and(|own| self.attempts[own].creator != who);
        if is_deep { Err("nested_worker_depth_exceeded") } else { Ok(()) }
    }

    fn check_startable(&self, task: usize, retry_of: Option<usize>) -> Result<(), Code> {
        let refused = Err("task_not_startable");
        if self.active_of_task(task).is_some() || self.tasks[task].n_failed >= 3 || self.has_gate(task) {
            return refused;
        }
        let status = self.tasks[task].status;
        let Some(old) = retry_of else { return if status == "ready" { Ok(()) } else { refused } };
        let is_newest = self.tasks[task].attempts.last() == Some(&old);
        let has_failed = matches!(self.attempts[old].worker, Some("failed" | "stopped" | "abandoned"));
        if is_newest && has_failed && matches!(status, "failed" | "blocked") { Ok(()) } else { refused }
    }

    fn check_free(&self, term: usize) -> Result<(), Code> {
        if self.terms[term].life != "running" {
            return Err("terminal_gone");
        }
        if self.active_of_term(term).is_some() {
            return Err("terminal_busy");
        }
        let is_going = |attempt: &Attempt| {
            attempt.term == Some(term)
                && matches!(attempt.resource, Some((_, "requested" | "releasing" | "unknown")))
        };
        if self.attempts.iter().any(is_going) {
            return Err("terminal_release_in_progress");
        }
        Ok(())
    }

    fn own_tree(&self, who: Who) -> String {
        let own = match who {
            Who::User => None,
            Who::Pane(term) => self.terms[term].tree.clone(),
        };
        own.unwrap_or_else(|| String::from("/repo"))
    }

    fn open(&mut self, task: usize, creator: Who, term: Option<usize>, is_supervised: bool) -> usize {
        let attempt = self.attempts.len();
        self.tasks[task].status = "dispatched";
        self.tasks[task].result = "null";
        self.tasks[task].attempts.push(attempt);
        self.attempts.push(Attempt {
            task,
            number: self.tasks[task].attempts.len(),
            status: if term.is_some() { "dispatched" } else { "pending" },
            worker: is_supervised.then_some("starting"),
            term,
            is_revoked: false,
            reported: None,
            is_taken: false,
            creator,
            resource: None,
            is_pasted: false,
            n_heartbeats: 0,
        });
        if let Some(term) = term {
            self.terms[term].newest = Some(attempt);
        }
        attempt
    }

    pub fn start(
        &mut self,
        who: Who,
        task: usize,
        how: How,
        retry_of: Option<usize>,
        id: &str,
    ) -> Result<(), Code> {
        self.task_to_change(who, task, None)?;
        self.check_depth(who)?;
        self.check_startable(task, retry_of)?;
        if let How::Reuse(term) = how {
            self.check_free(term)?;
            if self.terms[term].tree.as_ref().is_some_and(|tree| *tree != self.own_tree(who)) {
                return Err("terminal_worktree_mismatch");
            }
        }
        let tree = self.own_tree(who);
        let attempt = self.open(task, who, None, true);
        self.waits.insert(id.to_owned(), Wait::Start(attempt));
        match how {
            How::Argument | How::Paste => {
                self.attempts[attempt].is_pasted = how == How::Paste;
                self.open_terminal(attempt, tree);
            }
            How::NewTree => {
                self.effects.push(Effect::Tree { attempt, path: format!("/trees/t{attempt}") });
            }
            How::Reuse(term) => self.reuse(attempt, term),
        }
        Ok(())
    }

    fn open_terminal(&mut self, attempt: usize, tree: String) {
        let term = self.terms.len();
        self.terms.push(Term {
            life: "starting",
            has_ended: false,
            tree: Some(tree),
            is_typed: false,
            newest: Some(attempt),
        });
        self.attempts[attempt].term = Some(term);
        self.attempts[attempt].resource = Some(("owned", "not_requested"));
        self.effects.push(Effect::Spawn { attempt, term });
    }

    /// An owned terminal of a settled attempt goes over to the new one (contract 3.6).
    fn reuse(&mut self, attempt: usize, term: usize) {
        let mut ownership = "external";
        for old in &mut self.attempts {
            if old.term == Some(term) && matches!(old.resource, Some(("owned", _))) {
                old.resource = old.resource.map(|(_, release)| ("transferred", release));
                ownership = "owned";
            }
        }
        self.attempts[attempt].term = Some(term);
        self.attempts[attempt].resource = Some((ownership, "not_requested"));
        self.terms[term].newest = Some(attempt);
        self.effects.push(Effect::Prompt { attempt });
    }

    pub fn dispatch(&mut self, who: Who, task: usize, term: usize, is_inject: bool) -> Result<(), Code> {
        self.task_to_change(who, task, None)?;
        self.check_depth(who)?;
        self.check_startable(task, None)?;
        self.check_free(term)?;
        let attempt = self.open(task, who, Some(term), false);
        if is_inject {
            self.effects.push(Effect::Prompt { attempt });
        }
        Ok(())
    }

    fn is_starting(&self, attempt: usize) -> bool {
        matches!(self.attempts[attempt].worker, Some("starting" | "start_unknown"))
    }

    /// Nobody knows whether the start took effect; the worker keeps its right to report (design 7.3).
    fn lose_track(&mut self, attempt: usize) {
        if self.is_starting(attempt) {
            self.attempts[attempt].worker = Some("start_unknown");
            self.tasks[self.attempts[attempt].task].status = "blocked";
        }
    }

    fn become_ready(&mut self, attempt: usize) {
        if self.is_starting(attempt) {
            self.attempts[attempt].worker = Some("ready");
            self.attempts[attempt].status = "dispatched";
            self.tasks[self.attempts[attempt].task].status = "dispatched";
        }
    }

    /// What came of the `n`-th open effect.
    pub fn outcome(&mut self, n: usize, came: Came) {
        let effect = self.effects[n].clone();
        if let (Came::Blocked, Effect::Prompt { attempt }) = (came, &effect) {
            self.become_ready(*attempt);
            return;
        }
        self.effects.remove(n);
        match effect {
            Effect::Tree { attempt, path } => match came {
                Came::Good | Came::Blocked if self.is_starting(attempt) => self.open_terminal(attempt, path),
                Came::Good | Came::Blocked => {}
                Came::Failed => self.fail_start(attempt),
                Came::Unknown => self.lose_track(attempt),
            },
            Effect::Spawn { attempt, term } => self.spawned(attempt, term, came),
            Effect::Prompt { attempt } => match (came, self.attempts[attempt].worker) {
                (Came::Failed, Some(_)) => self.fail_start(attempt),
                (Came::Failed, None) if self.attempts[attempt].is_active() => {
                    self.lose(attempt, false);
                    self.escalate(attempt);
                }
                (Came::Failed, None) => {}
                (Came::Good | Came::Unknown | Came::Blocked, _) => self.become_ready(attempt),
            },
            Effect::Close { attempt, term } => self.closed(attempt, term, came),
        }
    }

    fn fail_start(&mut self, attempt: usize) {
        if self.is_starting(attempt) {
            self.lose(attempt, true);
        }
    }

    fn spawned(&mut self, attempt: usize, term: usize, came: Came) {
        match came {
            Came::Good | Came::Blocked => {
                if self.terms[term].life == "starting" {
                    self.terms[term].life = "running";
                }
                if self.is_starting(attempt) && self.attempts[attempt].is_pasted {
                    self.effects.push(Effect::Prompt { attempt });
                } else {
                    self.become_ready(attempt);
                }
            }
            Came::Failed => {
                self.terms[term].life = "failed";
                self.fail_start(attempt);
            }
            Came::Unknown => {
                self.terms[term].life = "lost";
                self.lose_track(attempt);
            }
        }
    }

    fn closed(&mut self, attempt: usize, term: usize, came: Came) {
        let is_stopping = self.attempts[attempt].worker == Some("stopping");
        let is_releasing = matches!(self.attempts[attempt].resource, Some((_, "releasing")));
        if matches!(came, Came::Good | Came::Blocked) {
            self.terms[term].life = "closed";
            if is_stopping {
                self.give_up(attempt, "stopped");
            } else if is_releasing {
                self.attempts[attempt].resource = Some(("released", "released"));
            }
        } else if is_stopping {
            self.attempts[attempt].worker = Some("stop_unknown");
        } else if is_releasing {
            self.attempts[attempt].resource =
                self.attempts[attempt].resource.map(|(own, _)| (own, "unknown"));
        }
    }

    fn escalate(&mut self, attempt: usize) {
        let run = self.tasks[self.attempts[attempt].task].run;
        self.post(Place::Run(run), Place::Orca, "escalation", Some(attempt));
    }

    /// The process of a terminal ended, or the terminal is gone.
    pub fn ended(&mut self, term: usize, is_lost: bool) {
        if is_lost {
            if !self.terms[term].is_alive() {
                return;
            }
            self.terms[term].life = "lost";
        } else {
            if self.terms[term].has_ended {
                return;
            }
            self.terms[term].has_ended = true;
            if self.terms[term].is_alive() {
                self.terms[term].life = "exited";
            }
        }
        let Some(attempt) = self.active_of_term(term) else { return };
        match self.attempts[attempt].worker {
            Some("stopping" | "stop_unknown") => self.give_up(attempt, "stopped"),
            worker => {
                self.lose(attempt, worker == Some("starting"));
                self.escalate(attempt);
            }
        }
    }

    /// A person's keys: an owned terminal is theirs from then on (contract 3.6).
    pub fn typed(&mut self, term: usize) {
        if std::mem::replace(&mut self.terms[term].is_typed, true) {
            return;
        }
        for attempt in &mut self.attempts {
            if attempt.term == Some(term)
                && matches!(attempt.resource, Some(("owned", "not_requested" | "retained")))
            {
                attempt.resource = Some(("user_owned", "retained"));
            }
        }
    }

    fn withdraw_brief(&mut self, attempt: usize) {
        self.effects.retain(|effect| *effect != Effect::Prompt { attempt });
    }

    pub fn stop(&mut self, attempt: usize, id: &str) -> Result<&'static str, Code> {
        match self.attempts[attempt].worker {
            None => {
                if self.attempts[attempt].is_active() {
                    self.give_up(attempt, "");
                }
                return Ok("unsupervised");
            }
            Some("stopping" | "stop_unknown") => return Err("dispatch_inactive"),
            Some(settled @ ("failed" | "succeeded" | "stopped" | "abandoned")) => return Ok(settled),
            Some(_) => {}
        }
        self.tasks[self.attempts[attempt].task].status = "blocked";
        self.attempts[attempt].is_revoked = true;
        self.attempts[attempt].worker = Some("stopping");
        self.close_questions(attempt);
        self.withdraw_brief(attempt);
        match self.attempts[attempt].term.filter(|term| self.terms[*term].is_alive()) {
            Some(term) => {
                self.effects.push(Effect::Close { attempt, term });
                self.waits.insert(id.to_owned(), Wait::Stop(attempt));
                Ok("waits")
            }
            None => {
                self.give_up(attempt, "stopped");
                Ok("stopped")
            }
        }
    }

    pub fn abandon(&mut self, attempt: usize) -> Result<&'static str, Code> {
        let found = &self.attempts[attempt];
        if found.worker == Some("succeeded") || found.status == "completed" {
            return Err("dispatch_inactive");
        }
        if !found.is_active() {
            return Ok(found.worker.unwrap_or("unsupervised"));
        }
        self.withdraw_brief(attempt);
        self.give_up(attempt, "abandoned");
        Ok("abandoned")
    }

    pub fn release(&mut self, attempt: usize, id: &str) -> Result<&'static str, Code> {
        let found = &self.attempts[attempt];
        match found.worker {
            None if found.is_active() => return Err("dispatch_inactive"),
            None => return Ok("retained"),
            Some("succeeded" | "failed") => {}
            Some(_) => return Err("dispatch_inactive"),
        }
        match found.resource {
            None | Some(("external" | "transferred" | "user_owned", _)) => return Ok("retained"),
            Some((_, "released")) => return Ok("already_released"),
            Some((_, "requested" | "releasing")) => return Ok("release_pending"),
            Some(_) => {}
        }
        let term = found.term.unwrap();
        if self.terms[term].life == "closed" {
            self.attempts[attempt].resource = Some(("released", "released"));
            return Ok("released");
        }
        self.attempts[attempt].resource = Some(("owned", "releasing"));
        self.effects.push(Effect::Close { attempt, term });
        self.waits.insert(id.to_owned(), Wait::Release(attempt));
        Ok("waits")
    }

    pub fn retain(&mut self, attempt: usize) -> &'static str {
        match self.attempts[attempt].resource {
            None => "retained",
            Some((own, "not_requested" | "retained" | "requested")) => {
                self.attempts[attempt].resource = Some((own, "retained"));
                "retained"
            }
            Some((_, "releasing")) => "release_pending",
            Some((_, "unknown")) => "release_unknown",
            Some(_) => "already_released",
        }
    }
}
