//! The reference's reading of mail: mailboxes, Deliveries, waiting (contract 3.8, 4.5, 4.6).

use super::rules::{Code, Delivery, Model, Place, Wait, Who};

/// What a `check` gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    Waits,
    /// Messages by place, whether a batch was handed out again, how often, and how many are behind it.
    Batch {
        mails: Vec<usize>,
        again: Option<u64>,
        n_behind: usize,
        delivery: Option<usize>,
    },
    /// The acknowledgement was taken, the wait was not.
    Interrupted(Code),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Unread,
    Peek,
    All,
}

/// What a `check` says.
#[derive(Debug, Clone)]
pub struct Look {
    pub who: Who,
    pub run: Option<usize>,
    pub mode: Mode,
    /// A Delivery, or None inside for an id that is none.
    pub ack: Option<Option<usize>>,
    pub is_wait: bool,
    pub types: Vec<&'static str>,
}

impl Model {
    /// The mailboxes of a reader: its own, and that of the terminal it sits in.
    fn boxes(&self, own: Place) -> Vec<Place> {
        let seat = match own {
            Place::Run(run) => match self.runs[run].consumer {
                Some(Who::Pane(term)) => Some(term),
                Some(Who::User) | None => None,
            },
            Place::Attempt(n) if self.attempts[n].is_active() => self.attempts[n].term,
            _ => None,
        };
        std::iter::once(own).chain(seat.map(Place::Term)).collect()
    }

    fn unread(&self, own: Place) -> Vec<usize> {
        let boxes = self.boxes(own);
        (0..self.mail.len()).filter(|n| !self.mail[*n].is_read && boxes.contains(&self.mail[*n].to)).collect()
    }

    fn is_any(&self, mails: &[usize], types: &[&str]) -> bool {
        mails.iter().any(|mail| types.is_empty() || types.contains(&self.mail[*mail].kind))
    }

    /// Whether the process still owns its attempt (contract 4.6).
    fn check_owned(&self, attempt: usize) -> Result<(), Code> {
        let found = &self.attempts[attempt];
        let is_over = if found.is_active() { found.is_revoked } else { found.is_taken };
        if is_over { Err("consumer_fenced") } else { Ok(()) }
    }

    fn place(&self, look: &Look) -> Result<Place, Code> {
        if let Some(run) = look.run {
            return Ok(Place::Run(run));
        }
        if let Some(own) = self.active_of(look.who) {
            self.check_owned(own)?;
            return Ok(Place::Attempt(own));
        }
        if let Some(run) = self.bound(look.who) {
            return Ok(Place::Run(run));
        }
        let Who::Pane(term) = look.who else { return Ok(Place::User) };
        if let Some(newest) = self.terms[term].newest {
            self.check_owned(newest)?;
        }
        Ok(Place::Term(term))
    }

    pub fn check(&mut self, look: &Look, id: &str) -> Result<Checked, Code> {
        match self.place(look)? {
            Place::Run(run) => self.check_run(look, run, id),
            // A batch of a Run that the caller does not coordinate, or none at all.
            _ if matches!(look.ack, Some(Some(_))) => Err("consumer_fenced"),
            _ if look.ack.is_some() => Err("invalid_argument"),
            own => Ok(self.check_own(look, own, id)),
        }
    }

    fn newest(&self, boxes: &[Place], look: &Look) -> Checked {
        let is_wanted = |n: &usize| {
            let mail = &self.mail[*n];
            boxes.contains(&mail.to)
                && (look.mode == Mode::All || !mail.is_read)
                && (look.types.is_empty() || look.types.contains(&mail.kind))
        };
        let mails = (0..self.mail.len()).rev().filter(is_wanted).take(100).collect();
        Checked::Batch { mails, again: None, n_behind: 0, delivery: None }
    }

    fn check_own(&mut self, look: &Look, own: Place, id: &str) -> Checked {
        if look.mode != Mode::Unread {
            return self.newest(&self.boxes(own), look);
        }
        if look.is_wait && !self.is_any(&self.unread(own), &look.types) {
            let types = look.types.clone();
            self.waits.insert(id.to_owned(), Wait::OwnMail { place: own, types });
            return Checked::Waits;
        }
        self.consume(own)
    }

    fn consume(&mut self, own: Place) -> Checked {
        let mut mails = self.unread(own);
        let n_behind = mails.len().saturating_sub(50);
        mails.truncate(50);
        mails.iter().for_each(|mail| self.mail[*mail].is_read = true);
        Checked::Batch { mails, again: None, n_behind, delivery: None }
    }

    fn check_run(&mut self, look: &Look, run: usize, id: &str) -> Result<Checked, Code> {
        let is_consumer = self.runs[run].consumer == Some(look.who);
        let may_look = look.mode != Mode::Unread && look.ack.is_none() && look.who == Who::User;
        if !is_consumer && !may_look {
            return Err("consumer_fenced");
        }
        let acked = match look.ack {
            None => None,
            Some(ack) => Some(self.acknowledge(run, ack)?),
        };
        if look.mode != Mode::Unread {
            let boxes = if is_consumer { self.boxes(Place::Run(run)) } else { vec![Place::Run(run)] };
            return Ok(self.newest(&boxes, look));
        }
        if let Some(again) = self.hand_out_again(run) {
            return Ok(again);
        }
        let unread = self.unread(Place::Run(run));
        if !look.is_wait || self.is_any(&unread, &look.types) {
            return Ok(self.freeze(run));
        }
        let is_taken =
            self.waits.values().any(|wait| matches!(wait, Wait::RunMail { run: other, .. } if *other == run));
        if is_taken {
            return if acked.is_some() {
                Ok(Checked::Interrupted("waiter_exists"))
            } else {
                Err("waiter_exists")
            };
        }
        let generation = self.runs[run].generation;
        self.waits.insert(id.to_owned(), Wait::RunMail { run, generation, types: look.types.clone(), acked });
        Ok(Checked::Waits)
    }

    fn acknowledge(&mut self, run: usize, ack: Option<usize>) -> Result<usize, Code> {
        let n = ack.filter(|n| self.deliveries[*n].run == run).ok_or("stale_delivery")?;
        match self.deliveries[n].state {
            "acknowledged" => return Ok(n),
            "fenced" => return Err("consumer_fenced"),
            _ => {}
        }
        self.deliveries[n].state = "acknowledged";
        for mail in self.deliveries[n].mails.clone() {
            self.mail[mail].is_read = true;
        }
        Ok(n)
    }

    fn hand_out_again(&mut self, run: usize) -> Option<Checked> {
        let n = (0..self.deliveries.len())
            .find(|n| self.deliveries[*n].run == run && self.deliveries[*n].state == "outstanding")?;
        if self.deliveries[n].mails.iter().all(|mail| self.mail[*mail].is_read) {
            self.deliveries[n].state = "acknowledged";
            return None;
        }
        self.deliveries[n].n_again += 1;
        let mails = self.deliveries[n].mails.clone();
        let n_behind = self.unread(Place::Run(run)).iter().filter(|mail| !mails.contains(mail)).count();
        Some(Checked::Batch { mails, again: Some(self.deliveries[n].n_again), n_behind, delivery: Some(n) })
    }

    fn freeze(&mut self, run: usize) -> Checked {
        let mut mails = self.unread(Place::Run(run));
        let n_behind = mails.len().saturating_sub(50);
        mails.truncate(50);
        if mails.is_empty() {
            return Checked::Batch { mails, again: None, n_behind, delivery: None };
        }
        self.deliveries.push(Delivery { run, mails: mails.clone(), state: "outstanding", n_again: 0 });
        Checked::Batch { mails, again: None, n_behind, delivery: Some(self.deliveries.len() - 1) }
    }

    /// A waiting `check` is asked again: what it gets, or None while it waits on.
    pub fn wake_mail(&mut self, wait: &Wait, is_deadline: bool) -> Option<Result<Checked, Code>> {
        match wait {
            Wait::RunMail { run, generation, types, acked } => {
                if self.runs[*run].generation != *generation {
                    return Some(match acked {
                        Some(_) => Ok(Checked::Interrupted("consumer_fenced")),
                        None => Err("consumer_fenced"),
                    });
                }
                let before = self.deliveries.clone();
                if let Some(again) = self.hand_out_again(*run) {
                    return Some(Ok(again));
                }
                if self.is_any(&self.unread(Place::Run(*run)), types) {
                    return Some(Ok(self.freeze(*run)));
                }
                if !is_deadline {
                    self.deliveries = before;
                    return None;
                }
                let n_behind = self.unread(Place::Run(*run)).len();
                Some(Ok(Checked::Batch { mails: Vec::new(), again: None, n_behind, delivery: None }))
            }
            Wait::OwnMail { place, types } => {
                if let Place::Attempt(attempt) = place
                    && let Err(code) = self.check_owned(*attempt)
                {
                    return Some(Err(code));
                }
                if self.is_any(&self.unread(*place), types) {
                    return Some(Ok(self.consume(*place)));
                }
                let n_behind = self.unread(*place).len();
                is_deadline.then_some(Ok(Checked::Batch {
                    mails: Vec::new(),
                    again: None,
                    n_behind,
                    delivery: None,
                }))
            }
            Wait::Start(_) | Wait::Stop(_) | Wait::Release(_) | Wait::Answer(_) => None,
        }
    }
}
