//! The reference's mail as it is written: reports, questions, answers (contract 3.8, 4).

use super::rules::{Code, Model, Place, Question, Wait, Who};

/// How a worker shows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// That of the attempt it speaks of.
    Right,
    None,
    /// That of no attempt.
    Wrong,
    /// That of another attempt.
    Of(usize),
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Accepted,
    Duplicate,
    Rejected(Code),
    /// Stored as plain mail, or noted.
    Plain,
}

impl Model {
    /// The attempt that the caller is, and whether a proof says so.
    pub fn speaker(&self, who: Who, proof: Proof, named: usize) -> (Option<usize>, bool) {
        match proof {
            Proof::Right => (Some(named), true),
            Proof::Of(other) => (Some(other), true),
            Proof::None | Proof::Wrong => (self.active_of(who), false),
        }
    }

    /// `worker_done` for `named`, saying that it is an attempt at `task` (contract 4.10).
    pub fn done(
        &mut self,
        who: Who,
        proof: Proof,
        named: usize,
        task: usize,
        outcome: &'static str,
    ) -> Result<Report, Code> {
        let (speaker, is_proved) = self.speaker(who, proof, named);
        if who == Who::User && proof == Proof::None {
            return Err("no_active_sender_terminal");
        }
        let run = self.tasks[self.attempts[named].task].run;
        let from = self.signature(who, speaker);
        match self.judge((who, proof), (speaker, is_proved), named, task, outcome) {
            Ok(true) => {
                let mail = self.post(Place::Run(run), from, "worker_done", Some(named));
                self.mail[mail].is_read = true;
                Ok(Report::Duplicate)
            }
            Ok(false) => {
                self.accept(named, outcome);
                Ok(Report::Accepted)
            }
            Err(code) => {
                let mail = self.post(Place::Run(run), from, "worker_done", Some(named));
                self.mail[mail].refused = Some(code);
                Ok(Report::Rejected(code))
            }
        }
    }

    fn judge(
        &self,
        (who, proof): (Who, Proof),
        (speaker, is_proved): (Option<usize>, bool),
        named: usize,
        task: usize,
        outcome: &'static str,
    ) -> Result<bool, Code> {
        if proof == Proof::Wrong {
            return Err("sender_not_assignee");
        }
        let attempt = &self.attempts[named];
        if attempt.task != task {
            return Err("task_dispatch_mismatch");
        }
        let is_assignee = match is_proved {
            true => speaker == Some(named),
            false => attempt.term.is_some_and(|term| who == Who::Pane(term)),
        };
        if !is_assignee {
            return Err("sender_not_assignee");
        }
        if attempt.reported == Some(outcome) {
            return Ok(true);
        }
        if self.tasks[task].attempts.last() != Some(&named) {
            return Err("stale_dispatch");
        }
        // The late report wins over a stop that has not finished, and proves an unknown start.
        let is_undecided = matches!(attempt.worker, Some("stopping" | "start_unknown"));
        if !attempt.is_active() || (attempt.is_revoked && !is_undecided) {
            return Err("inactive_dispatch");
        }
        Ok(false)
    }

    /// One step: report, attempt, Task, worker, questions, heartbeats, promotion.
    fn accept(&mut self, named: usize, outcome: &'static str) {
        let task = self.attempts[named].task;
        for mail in &mut self.mail {
            if mail.kind == "heartbeat" && mail.about == Some(named) && mail.refused.is_none() {
                mail.is_read = true;
            }
        }
        self.post(Place::Run(self.tasks[task].run), Place::Attempt(named), "worker_done", Some(named));
        self.tasks[task].result = outcome;
        self.attempts[named].reported = Some(outcome);
        if outcome == "succeeded" {
            self.tasks[task].n_failed = 0;
            self.tasks[task].status = "completed";
            self.end(named, "completed", "succeeded");
            self.promote(task);
        } else {
            let status = self.count_failure(task);
            self.tasks[task].status = "failed";
            self.end(named, status, "failed");
        }
    }

    pub fn heartbeat(&mut self, who: Who, proof: Proof, named: usize) -> Result<Report, Code> {
        let (speaker, is_proved) = self.speaker(who, proof, named);
        if who == Who::User && proof == Proof::None {
            return Err("no_active_sender_terminal");
        }
        let run = self.tasks[self.attempts[named].task].run;
        let from = self.signature(who, speaker);
        let is_assignee = match is_proved {
            true => speaker == Some(named),
            false => self.attempts[named].term.is_some_and(|term| who == Who::Pane(term)),
        };
        let mail = self.post(Place::Run(run), from, "heartbeat", Some(named));
        if proof == Proof::Wrong || !is_assignee {
            self.mail[mail].refused = Some("sender_not_assignee");
            return Ok(Report::Rejected("sender_not_assignee"));
        }
        if self.attempts[named].is_active() && !self.attempts[named].is_revoked {
            self.attempts[named].n_heartbeats += 1;
        } else {
            self.mail[mail].is_read = true;
        }
        Ok(Report::Plain)
    }

    fn check_reader(&self, to: Place) -> Result<(), Code> {
        match to {
            Place::Run(_) | Place::User => Ok(()),
            Place::Attempt(n) if self.attempts[n].is_active() && !self.attempts[n].is_revoked => Ok(()),
            Place::Attempt(_) => Err("dispatch_inactive"),
            Place::Term(n) if self.terms[n].is_alive() => Ok(()),
            Place::Term(_) => Err("terminal_gone"),
            Place::Orca => Err("invalid_argument"),
        }
    }

    pub fn send(&mut self, who: Who, to: Option<Place>, kind: &'static str) -> Result<(), Code> {
        let own = self.active_of(who);
        let own_run = match own {
            Some(attempt) => Some(self.tasks[self.attempts[attempt].task].run),
            None => self.bound(who),
        };
        let to = to.or(own_run.map(Place::Run)).ok_or("run_required")?;
        self.check_reader(to)?;
        self.post(to, self.signature(who, own), kind, None);
        Ok(())
    }

    /// `ask`; the same question again is the one that is open already.
    pub fn ask(&mut self, who: Who, proof: Proof, named: usize, text: &str, id: &str) -> Result<(), Code> {
        if proof == Proof::Wrong {
            return Err("sender_not_assignee");
        }
        let (speaker, _) = self.speaker(who, proof, named);
        let attempt = speaker.ok_or("dispatch_inactive")?;
        if !self.attempts[attempt].is_active() || self.attempts[attempt].is_revoked {
            return Err("dispatch_inactive");
        }
        let is_open = |question: &Question| {
            question.attempt == attempt && question.status == "pending" && question.text == text
        };
        let question = match self.questions.iter().position(is_open) {
            Some(open) => open,
            None => {
                let run = self.tasks[self.attempts[attempt].task].run;
                let message = self.post(Place::Run(run), Place::Attempt(attempt), "question", Some(attempt));
                let text = text.to_owned();
                self.questions.push(Question {
                    message,
                    attempt,
                    text,
                    status: "pending",
                    answer: None,
                    by: None,
                });
                self.questions.len() - 1
            }
        };
        self.waits.insert(id.to_owned(), Wait::Answer(question));
        Ok(())
    }

    /// `reply` to a question; says whether it was a duplicate.
    pub fn reply(&mut self, who: Who, question: usize, body: &str) -> Result<bool, Code> {
        let attempt = self.questions[question].attempt;
        let run = self.tasks[self.attempts[attempt].task].run;
        if who != Who::User && self.runs[run].consumer != Some(who) {
            return Err("consumer_fenced");
        }
        let found = &mut self.questions[question];
        match (found.status, &found.answer) {
            ("answered", Some(same)) if same == body => return Ok(true),
            ("answered", _) => return Err("answer_conflict"),
            ("closed", _) => return Err("dispatch_inactive"),
            _ => {}
        }
        found.status = "answered";
        found.answer = Some(body.to_owned());
        found.by = Some(who);
        let from = self.signature(who, None);
        let mail = self.post(Place::Attempt(attempt), from, "status", Some(attempt));
        // The waiting `ask` has it; the mailbox must not hand it out again.
        self.mail[mail].is_read = true;
        Ok(false)
    }

    /// `reply` to any other message goes to its sender, and counts as read only by its reader.
    pub fn reply_mail(&mut self, who: Who, mail: usize) -> Result<(), Code> {
        let to = self.mail[mail].from;
        self.check_reader(to)?;
        let own = self.active_of(who);
        let is_readers = match self.mail[mail].to {
            Place::Run(run) => self.runs[run].consumer == Some(who),
            Place::Attempt(attempt) => own == Some(attempt),
            Place::Term(term) => who == Who::Pane(term),
            Place::User | Place::Orca => who == Who::User,
        };
        self.mail[mail].is_read |= is_readers;
        self.post(to, self.signature(who, own), "status", None);
        Ok(())
    }
}
