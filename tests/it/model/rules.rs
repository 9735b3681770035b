//! The reference: the rules of contract 3 to 5, 7 and design 7 and 12, over plain vectors, written from
//! those documents and not from the product. It knows no ids, no time and no storage: things are named
//! by their place in the order of creation. [`super::drive`] plays the same step on both and compares.

use std::collections::BTreeMap;

/// A refusal is its code.
pub type Code = &'static str;

/// Who calls: the person, or a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    User,
    Pane(usize),
}

/// A mailbox, and who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Run(usize),
    Attempt(usize),
    Term(usize),
    User,
    /// The server itself; it reads no mail.
    Orca,
}

#[derive(Debug, Clone)]
pub struct Run {
    pub consumer: Option<Who>,
    pub generation: u64,
}

#[derive(Debug, Clone)]
pub struct Term {
    /// `starting`, `running`, `exited`, `closed`, `failed`, `lost`.
    pub life: &'static str,
    pub has_ended: bool,
    /// The folder of its worktree; None for one that was there before.
    pub tree: Option<String>,
    pub is_typed: bool,
    /// The newest attempt that was given to it.
    pub newest: Option<usize>,
}

impl Term {
    pub fn is_alive(&self) -> bool {
        matches!(self.life, "starting" | "running")
    }
}

#[derive(Debug, Clone)]
pub struct Task {
    pub run: usize,
    pub status: &'static str,
    pub deps: Vec<usize>,
    pub n_failed: u32,
    pub attempts: Vec<usize>,
    /// `null`, `hand` or the outcome that was reported.
    pub result: &'static str,
}

#[derive(Debug, Clone)]
pub struct Attempt {
    pub task: usize,
    pub number: usize,
    pub status: &'static str,
    /// The state of its worker; None without one.
    pub worker: Option<&'static str>,
    pub term: Option<usize>,
    pub is_revoked: bool,
    /// What it reported, where that ended it.
    pub reported: Option<&'static str>,
    /// Somebody else ended it: its process is told to stop.
    pub is_taken: bool,
    pub creator: Who,
    /// What becomes of its terminal: ownership and release, where it has a worker with a terminal.
    pub resource: Option<(&'static str, &'static str)>,
    /// It takes its brief by paste, once its terminal runs.
    pub is_pasted: bool,
    pub n_heartbeats: usize,
}

impl Attempt {
    pub fn is_active(&self) -> bool {
        matches!(self.status, "pending" | "dispatched")
    }
}

#[derive(Debug, Clone)]
pub struct Question {
    pub message: usize,
    pub attempt: usize,
    pub text: String,
    pub status: &'static str,
    pub answer: Option<String>,
    pub by: Option<Who>,
}

#[derive(Debug, Clone)]
pub struct Gate {
    pub task: usize,
    pub resolution: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Mail {
    pub to: Place,
    pub from: Place,
    pub kind: &'static str,
    pub is_read: bool,
    /// Why it was refused as a report.
    pub refused: Option<Code>,
    /// The attempt that it is about.
    pub about: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Delivery {
    pub run: usize,
    pub mails: Vec<usize>,
    pub state: &'static str,
    pub n_again: u64,
}

/// Something that the world was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Tree { attempt: usize, path: String },
    Spawn { attempt: usize, term: usize },
    Prompt { attempt: usize },
    Close { attempt: usize, term: usize },
}

/// A call that waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    Start(usize),
    Stop(usize),
    Release(usize),
    Answer(usize),
    RunMail { run: usize, generation: u64, types: Vec<&'static str>, acked: Option<usize> },
    OwnMail { place: Place, types: Vec<&'static str> },
}

#[derive(Debug, Default)]
pub struct Model {
    pub runs: Vec<Run>,
    pub user_run: Option<usize>,
    pub terms: Vec<Term>,
    pub tasks: Vec<Task>,
    pub attempts: Vec<Attempt>,
    pub questions: Vec<Question>,
    pub gates: Vec<Gate>,
    pub mail: Vec<Mail>,
    pub deliveries: Vec<Delivery>,
    pub effects: Vec<Effect>,
    pub waits: BTreeMap<String, Wait>,
}

impl Model {
    pub fn active_of_task(&self, task: usize) -> Option<usize> {
        self.tasks[task].attempts.last().copied().filter(|last| self.attempts[*last].is_active())
    }

    pub fn active_of_term(&self, term: usize) -> Option<usize> {
        (0..self.attempts.len())
            .find(|n| self.attempts[*n].is_active() && self.attempts[*n].term == Some(term))
    }

    pub fn active_of(&self, who: Who) -> Option<usize> {
        match who {
            Who::User => None,
            Who::Pane(term) => self.active_of_term(term),
        }
    }

    /// The Run that the caller is bound to.
    pub fn bound(&self, who: Who) -> Option<usize> {
        match who {
            Who::User => self.user_run,
            Who::Pane(_) => (0..self.runs.len()).find(|run| self.runs[*run].consumer == Some(who)),
        }
    }

    /// Contract 2.8: the Run that a mutation is about.
    pub fn run_to_change(&self, who: Who, flag: Option<usize>) -> Result<usize, Code> {
        match (who, flag) {
            (_, None) => self.bound(who).ok_or("run_required"),
            (Who::User, Some(run)) => Ok(run),
            (Who::Pane(_), Some(run)) if self.bound(who) == Some(run) => Ok(run),
            (Who::Pane(_), Some(_)) => Err("consumer_fenced"),
        }
    }

    /// The Run of a Task that the caller may change; the person's word reaches every Run.
    pub fn task_to_change(&self, who: Who, task: usize, flag: Option<usize>) -> Result<usize, Code> {
        let own = (who == Who::User).then_some(self.tasks[task].run);
        let run = self.run_to_change(who, flag.or(own))?;
        if self.tasks[task].run == run { Ok(run) } else { Err("task_not_found") }
    }

    pub fn is_unmet(&self, task: usize) -> bool {
        self.tasks[task].deps.iter().any(|dep| self.tasks[*dep].status != "completed")
    }

    pub fn waiting_state(&self, task: usize) -> &'static str {
        if self.is_unmet(task) { "pending" } else { "ready" }
    }

    pub fn has_gate(&self, task: usize) -> bool {
        self.gates.iter().any(|gate| gate.task == task && gate.resolution.is_none())
    }

    /// Only the step to `completed` promotes (contract 3.1); nothing else cascades but its undoing.
    pub fn promote(&mut self, done: usize) {
        for task in 0..self.tasks.len() {
            if self.tasks[task].deps.contains(&done)
                && self.tasks[task].status == "pending"
                && !self.is_unmet(task)
            {
                self.tasks[task].status = "ready";
            }
        }
    }

    pub fn demote(&mut self, reopened: usize) {
        for task in &mut self.tasks {
            if task.deps.contains(&reopened) && task.status == "ready" {
                task.status = "pending";
            }
        }
    }

    pub fn close_questions(&mut self, attempt: usize) {
        for question in &mut self.questions {
            if question.attempt == attempt && question.status == "pending" {
                question.status = "closed";
            }
        }
    }

    /// The attempt ends; `worker` is what its worker is then.
    pub fn end(&mut self, attempt: usize, status: &'static str, worker: &'static str) {
        let ended = &mut self.attempts[attempt];
        ended.status = status;
        ended.is_revoked = true;
        ended.worker = ended.worker.map(|_| worker);
        self.close_questions(attempt);
    }

    /// One more failure in a row; the third trips the breaker (design 12).
    pub fn count_failure(&mut self, task: usize) -> &'static str {
        self.tasks[task].n_failed += 1;
        if self.tasks[task].n_failed >= 3 { "circuit_broken" } else { "failed" }
    }

    /// An attempt that ended without a report (contract 3.1, 3.3).
    pub fn lose(&mut self, attempt: usize, is_start: bool) {
        let task = self.attempts[attempt].task;
        let status = self.count_failure(task);
        self.tasks[task].status = match (status, is_start) {
            ("circuit_broken", _) | (_, true) => "failed",
            (_, false) => self.waiting_state(task),
        };
        self.attempts[attempt].is_taken = true;
        self.end(attempt, status, "failed");
    }

    /// An attempt that somebody ended: it counts for no breaker (contract 7.2, 7.3).
    pub fn give_up(&mut self, attempt: usize, worker: &'static str) {
        let task = self.attempts[attempt].task;
        self.tasks[task].status = "blocked";
        self.attempts[attempt].is_taken = true;
        self.end(attempt, "failed", worker);
    }

    pub fn post(&mut self, to: Place, from: Place, kind: &'static str, about: Option<usize>) -> usize {
        self.mail.push(Mail { to, from, kind, is_read: false, refused: None, about });
        self.mail.len() - 1
    }

    /// What the sender is called: a worker by its attempt.
    pub fn signature(&self, who: Who, attempt: Option<usize>) -> Place {
        match (attempt, who) {
            (Some(attempt), _) => Place::Attempt(attempt),
            (None, Who::User) => Place::User,
            (None, Who::Pane(term)) => Place::Term(term),
        }
    }
}
