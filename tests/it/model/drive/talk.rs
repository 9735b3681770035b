use super::*;
use orca::base::code::ErrorCode;

impl Play {
    /// Who says it, for an attempt: its own terminal, the person, another pane.
    fn voice(&self, attempt: usize, who: Pick) -> Who {
        match (who, self.model.attempts[attempt].term) {
            (0, Some(term)) => Who::Pane(term),
            (0 | 1, _) => Who::User,
            (pick, _) => Who::Pane(usize::from(pick - 2)),
        }
    }

    fn proof(&self, pick: Pick, attempt: usize) -> (Proof, Option<String>) {
        match pick {
            0 => (Proof::Right, Some(self.ids.proofs[attempt].clone())),
            1 => (Proof::None, None),
            2 => (Proof::Wrong, Some(String::from("nonsense"))),
            _ => {
                let other = (attempt + 1) % self.ids.proofs.len();
                let proof = if other == attempt { Proof::Right } else { Proof::Of(other) };
                (proof, Some(self.ids.proofs[other].clone()))
            }
        }
    }

    pub(super) fn speak(&mut self, step: &Step) -> Option<()> {
        let (Step::Done { attempt, who, proof, .. }
        | Step::Heartbeat { attempt, who, proof }
        | Step::Ask { attempt, who, proof, .. }) = step
        else {
            unreachable!("{step} says nothing")
        };
        let attempt = newest(self.model.attempts.len(), *attempt)?;
        let who = self.voice(attempt, *who);
        let (proof, word) = self.proof(*proof, attempt);
        let id = self.ids.attempts[attempt].clone();
        let own_task = self.model.attempts[attempt].task;
        match step {
            Step::Done { is_success, is_other_task, .. } => {
                let task = if *is_other_task { newest(self.model.tasks.len(), 0)? } else { own_task };
                let outcome = if *is_success { "succeeded" } else { "failed" };
                let want = self.model.done(who, proof, attempt, task, outcome);
                let payload = json!({ "taskId": self.ids.tasks[task], "dispatchId": id, "outcome": outcome });
                let params =
                    json!({ "subject": "s", "type": "worker_done", "payload": payload, "proof": word });
                self.ask(who, "send", params, want.map(|report| lifecycle(report, outcome)));
            }
            Step::Heartbeat { .. } => {
                let want = self.model.heartbeat(who, proof, attempt);
                let payload = json!({ "taskId": self.ids.tasks[own_task], "dispatchId": id });
                let params =
                    json!({ "subject": "s", "type": "heartbeat", "payload": payload, "proof": word });
                self.ask(who, "send", params, want.map(|report| lifecycle(report, "")));
            }
            Step::Ask { text, .. } => {
                let text = ["left?", "right?"][usize::from(*text)];
                let next = self.next_id();
                let want = self.model.ask(who, proof, attempt, text, &next).map(|()| json!("waits"));
                self.ask(who, "ask", json!({ "question": text, "proof": word }), want);
            }
            _ => unreachable!("{step} says nothing"),
        }
        Some(())
    }

    pub(super) fn write(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Send { by, to, n } => {
                let who = self.who(*by);
                let to = match to % 6 {
                    0 => None,
                    1 => newest(self.model.runs.len(), *n).map(Place::Run),
                    2 | 3 => newest(self.model.attempts.len(), *n).map(Place::Attempt),
                    4 => newest(self.model.terms.len(), *n).map(Place::Term),
                    _ => Some(Place::User),
                };
                let kind = if to.is_none() { "escalation" } else { "status" };
                let want = self.model.send(who, to, kind).map(|()| json!({}));
                let to = to.map(|to| self.ids.address(to));
                self.ask(who, "send", json!({ "subject": "s", "type": kind, "to": to }), want);
            }
            Step::Reply { by, question, text } => {
                let (who, question) = (self.who(*by), newest(self.model.questions.len(), *question)?);
                let body = ["yes", "no"][usize::from(*text)];
                let want = self.model.reply(who, question, body);
                let want =
                    want.map(|again| json!({ "duplicate": again, "question": { "answer_body": body } }));
                let id = self.ids.mails[self.model.questions[question].message].clone();
                self.ask(who, "reply", json!({ "id": id, "body": body }), want);
            }
            Step::ReplyMail { by, mail } => {
                let (who, mail) = (self.who(*by), newest(self.model.mail.len(), *mail)?);
                if self.model.mail[mail].kind == "question" {
                    return None;
                }
                let want = self.model.reply_mail(who, mail).map(|()| json!({}));
                self.ask(who, "reply", json!({ "id": self.ids.mails[mail], "body": "ok" }), want);
            }
            _ => unreachable!("{step} writes nothing"),
        }
        Some(())
    }

    pub(super) fn check(&mut self, step: &Step) -> Option<()> {
        let Step::Check { by, run, mode, ack, is_wait, types } = step else {
            unreachable!("{step} reads nothing")
        };
        let mode = [Mode::Unread, Mode::Peek, Mode::All][usize::from(*mode)];
        let look = Look {
            who: self.who(*by),
            run: run.and_then(|run| newest(self.model.runs.len(), run)),
            mode,
            ack: ack.map(|ack| newest(self.model.deliveries.len(), ack)),
            is_wait: *is_wait && mode == Mode::Unread,
            types: if *types == 0 { vec!["worker_done", "question"] } else { Vec::new() },
        };
        let params = json!({
            "run": look.run.map(|run| self.ids.runs[run].clone()),
            "mode": match mode { Mode::Unread => None, Mode::Peek => Some("peek"), Mode::All => Some("all") },
            "ack": look.ack.map(|ack| ack.map_or(String::from("delivery_nobody"), |n| self.ids.deliveries[n].clone())),
            "isWait": look.is_wait,
            "types": look.types,
        });
        let next = self.next_id();
        let want = self.model.check(&look, &next);
        let is_mutation = mode == Mode::Unread || look.ack.is_some();
        let request = self.request(look.who, "check", params);
        let got = self.call(request.clone());
        let line =
            format!("{} check {}", request.origin.env_handle.as_deref().unwrap_or("user"), request.params);
        self.hold_mail(&line, got.clone(), want);
        if let (Ok(answer), true) = (got, is_mutation) {
            self.past.push((request, answer));
        }
        Some(())
    }

    /// Holds what a `check` gave against the reference: the same messages in the same order.
    fn hold_mail(&mut self, line: &str, got: Result<Value, ErrorBody>, want: Result<Checked, Code>) {
        let want = match want {
            Err(code) => Err(code),
            Ok(Checked::Waits) => Ok(json!("waits")),
            Ok(Checked::Interrupted(why)) => Ok(json!({ "waitInterrupted": why, "count": 0 })),
            Ok(Checked::Batch { mails, again, n_behind, delivery }) => {
                if let Ok(got) = &got {
                    let rows = got["messages"].as_array().unwrap();
                    let sequences: Vec<u64> =
                        rows.iter().map(|row| row["sequence"].as_u64().unwrap()).collect();
                    let wanted: Vec<u64> = mails.iter().map(|mail| *mail as u64 + 1).collect();
                    assert_eq!(sequences, wanted, "{line}: {got:#}");
                    assert_eq!(got["newerWaiting"].as_u64().unwrap_or(0), n_behind as u64, "{line}: {got:#}");
                    assert_eq!(got["redeliveries"].as_u64(), again, "{line}: {got:#}");
                    assert_eq!(got["deliveryId"].is_string(), delivery.is_some(), "{line}: {got:#}");
                }
                Ok(json!({ "count": mails.len() }))
            }
        };
        self.judge(line, &got, &want);
    }

    /// Asks everything that waits again, as the server does after each commit.
    pub(super) fn wake_all(&mut self) {
        loop {
            let waiting: Vec<(String, Wait)> =
                self.model.waits.iter().map(|(id, wait)| (id.clone(), wait.clone())).collect();
            let n_waiting = waiting.len();
            for (id, wait) in waiting {
                self.wake(&id, &wait, Wake::Changed);
            }
            if self.model.waits.len() == n_waiting {
                assert_eq!(self.world.waiting.len(), n_waiting, "the same calls wait");
                break;
            }
        }
    }

    pub(super) fn deadline(&mut self, which: Pick) -> Option<()> {
        let which = usize::from(which).checked_rem(self.model.waits.len())?;
        let (id, wait) = self.model.waits.iter().nth(which).map(|(id, wait)| (id.clone(), wait.clone()))?;
        self.wake(&id, &wait, Wake::Deadline);
        assert!(!self.model.waits.contains_key(&id), "nothing waits past its deadline");
        Some(())
    }

    fn wake(&mut self, id: &str, wait: &Wait, wake: Wake) {
        let is_deadline = wake == Wake::Deadline;
        let got = self.world.wake(id, wake);
        let is_mail = matches!(wait, Wait::RunMail { .. } | Wait::OwnMail { .. });
        let mail = self.model.wake_mail(wait, is_deadline);
        let other = if is_mail { None } else { self.answer_of(wait, is_deadline) };
        let Some(got) = got else {
            assert!(
                mail.is_none() && other.is_none(),
                "{id} still waits: {wait:?}, wanted {mail:?} {other:?}"
            );
            return;
        };
        self.model.waits.remove(id);
        let line = format!("= {id}");
        match (mail, other) {
            (Some(mail), _) => self.hold_mail(&line, got, mail),
            (None, Some(other)) => self.judge(&line, &got, &other),
            (None, None) => panic!("{id} was answered, {wait:?} should wait: {got:?}"),
        }
    }

    /// What a call gets that waits for an attempt or an answer; None while it waits on.
    fn answer_of(&self, wait: &Wait, is_deadline: bool) -> Option<Want> {
        match wait {
            Wait::Start(attempt) => {
                let found = &self.model.attempts[*attempt];
                let state = match (found.worker, found.reported) {
                    (Some("starting"), _) if !is_deadline => return None,
                    (Some("starting" | "start_unknown" | "stop_unknown"), _) => "outcome_unknown",
                    (Some("ready" | "succeeded"), _) | (_, Some(_)) => "ready",
                    _ => "failed",
                };
                Some(Ok(json!({ "state": state })))
            }
            Wait::Stop(attempt) => match self.model.attempts[*attempt].worker {
                Some("stopping") if !is_deadline => None,
                Some("stopping") => Some(Ok(json!({ "state": "stop_unknown" }))),
                state => Some(Ok(json!({ "state": state }))),
            },
            Wait::Release(attempt) => match self.model.attempts[*attempt].resource {
                Some((_, "releasing")) if !is_deadline => None,
                Some((_, "releasing")) => Some(Ok(json!({ "state": "release_pending" }))),
                Some((_, "unknown")) => Some(Ok(json!({ "state": "release_unknown" }))),
                Some((_, state)) => Some(Ok(json!({ "state": state }))),
                None => Some(Ok(json!({ "state": "retained" }))),
            },
            Wait::Answer(question) => {
                let found = &self.model.questions[*question];
                let by = found.by.map(|who| self.handle(who).unwrap_or_else(|| String::from("user")));
                match found.status {
                    "answered" => Some(Ok(json!({ "answer": found.answer, "answeredBy": by }))),
                    "closed" => Some(Err("dispatch_inactive")),
                    _ if is_deadline => Some(Ok(json!({ "answer": null, "timedOut": true }))),
                    _ => None,
                }
            }
            Wait::RunMail { .. } | Wait::OwnMail { .. } => None,
        }
    }

    /// A request that was answered is sent again: the same answer and no effect; with other parameters
    /// it is refused (contract 10).
    pub(super) fn again(&mut self, which: Pick, is_same: bool) -> Option<()> {
        let (mut request, answer) = self.past.get(usize::from(which).checked_rem(self.past.len())?)?.clone();
        let want = if is_same {
            let mut answer = answer;
            answer["mutation"]["replayed"] = json!(true);
            Ok(answer)
        } else {
            request.params["from"] = json!("user");
            Err("request_mismatch")
        };
        self.log.push(format!("again {} same={is_same}", request.id));
        match (self.call(request), want) {
            (Ok(got), Ok(want)) => assert_eq!(without_fleet(got), without_fleet(want)),
            (Err(error), Err(_)) => assert_eq!(error.code, ErrorCode::RequestMismatch, "{error}"),
            (got, want) => panic!("wanted {want:?}, got {got:?}"),
        }
        Some(())
    }

    /// The two must be in the same state.
    pub(super) fn compare(&mut self) {
        self.ids = Ids::read(&self.world);
        let real = seen::states(&mut self.world, &self.ids);
        let wanted = seen::wanted(&self.model, &self.ids);
        if real != wanted {
            let only = |a: &[String], b: &[String], mark: &str| -> Vec<String> {
                a.iter().filter(|line| !b.contains(line)).map(|line| format!("  {mark} {line}")).collect()
            };
            panic!(
                "the states differ\n{}\n{}",
                only(&real, &wanted, "product").join("\n"),
                only(&wanted, &real, "rules  ").join("\n")
            );
        }
    }
}

/// An answer without the block that only rides on it and says how the lanes stand now.
pub fn without_fleet(mut answer: Value) -> Value {
    answer.as_object_mut().and_then(|fields| fields.remove("fleet"));
    answer
}

/// The part of a reply of `send` that says what a report did.
fn lifecycle(report: Report, outcome: &str) -> Value {
    let action = match report {
        Report::Accepted if outcome == "succeeded" => "completed",
        Report::Accepted => "failed",
        Report::Duplicate => "duplicate",
        Report::Rejected(code) => return json!({ "lifecycle": { "action": "rejected", "code": code } }),
        Report::Plain => return json!({}),
    };
    json!({ "lifecycle": { "action": action } })
}
