//! Calls that wait: kept with the way back to their caller, asked again when something changed that
//! could answer them, and at their deadline. A caller that is gone no longer waits.

use super::command::Reply;
use crate::base::clock::Timestamp;
use crate::base::id::TerminalId;
use crate::model::message::Mailbox;
use crate::ops::cx::{CallerFacts, Submit, Wait, WaitOn};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// One waiting call.
#[derive(Debug)]
pub struct Waiting {
    pub wait: Wait,
    /// When its time is up, by a clock that nobody sets.
    pub due: Option<Instant>,
    pub request_id: Option<String>,
    pub caller: CallerFacts,
    pub reply: Reply,
}

/// When the time of a call that begins or goes on to wait at `now` is up. A machine's clock that was set
/// back in between, as over a restart, does not make it wait longer than it asked for.
pub fn due(wait: &Wait, now: Timestamp) -> Option<Instant> {
    let deadline = wait.deadline?;
    let left_ms = deadline.since_ms(now).min(deadline.since_ms(wait.began));
    Instant::now().checked_add(Duration::from_millis(left_ms))
}

/// All waiting calls, in the order they came.
#[derive(Debug, Default)]
pub struct Waits {
    waiting: Vec<Waiting>,
}

/// What changed, for the choice of whom to ask again.
#[derive(Debug, Default)]
pub struct News {
    /// Names of tables with changed rows.
    pub tables: BTreeSet<&'static str>,
    /// Terminals whose live state changed.
    pub live: BTreeSet<TerminalId>,
    /// The event log grew.
    pub has_events: bool,
}

impl News {
    /// Nothing changed.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.live.is_empty() && !self.has_events
    }
}

impl Waits {
    /// Takes a call in.
    pub fn add(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    /// The mailboxes on which somebody waits who is still there.
    pub fn mailboxes(&self) -> BTreeSet<String> {
        let live = self.waiting.iter().filter(|one| !one.reply.is_closed());
        live.filter_map(|one| match &one.wait.on {
            WaitOn::RunMail { run, .. } => Some(Mailbox::Run(run.clone()).to_string()),
            WaitOn::Mail { mailbox, .. } => Some(mailbox.clone()),
            WaitOn::Answer { .. }
            | WaitOn::WorkerStart { .. }
            | WaitOn::WorkerEnd { .. }
            | WaitOn::Effect { .. }
            | WaitOn::Terminal { .. }
            | WaitOn::Submit(_)
            | WaitOn::Events { .. } => None,
        })
        .collect()
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.waiting.iter().filter_map(|one| one.due).min()
    }

    /// Takes out the calls that `news` may answer.
    pub fn take_concerned(&mut self, news: &News) -> Vec<Waiting> {
        self.take(|one| is_concerned(&one.wait.on, news))
    }

    /// Takes out the calls whose deadline has passed.
    pub fn take_due(&mut self, now: Instant) -> Vec<Waiting> {
        self.take(|one| one.due.is_some_and(|due| due <= now))
    }

    /// Takes out everything, at the end.
    pub fn take_all(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    fn take(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        self.waiting.retain(|one| !one.reply.is_closed());
        let (taken, kept) = std::mem::take(&mut self.waiting).into_iter().partition(|one| wanted(one));
        self.waiting = kept;
        taken
    }
}

/// Whether changes like these can answer the wait. Asking in vain costs a little; not asking would
/// leave a caller waiting.
fn is_concerned(on: &WaitOn, news: &News) -> bool {
    match on {
        WaitOn::RunMail { .. } | WaitOn::Mail { .. } => {
            ["message", "delivery", "run", "dispatch"].iter().any(|table| news.tables.contains(table))
        }
        WaitOn::Answer { .. }
        | WaitOn::WorkerStart { .. }
        | WaitOn::WorkerEnd { .. }
        | WaitOn::Effect { .. } => !news.tables.is_empty(),
        WaitOn::Events { .. } => news.has_events,
        WaitOn::Submit(Submit { terminal, .. }) | WaitOn::Terminal { terminal, .. } => {
            news.live.contains(terminal) || news.tables.contains("terminal")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::RunId;
    use tokio::sync::oneshot;

    fn waiting(
        on: WaitOn,
        due: Option<Instant>,
    ) -> (Waiting, oneshot::Receiver<Result<serde_json::Value, crate::proto::error::ErrorBody>>) {
        let (reply, answer) = oneshot::channel();
        let wait = Wait { on, deadline: None, began: Timestamp(0) };
        (Waiting { wait, due, request_id: None, caller: CallerFacts::default(), reply }, answer)
    }

    fn run_mail(run: &str, generation: u64) -> WaitOn {
        let run = RunId::parse(run).unwrap();
        WaitOn::RunMail { run, generation, types: Vec::new(), acknowledged: None, by: String::new() }
    }

    #[test]
    fn a_caller_that_left_no_longer_waits() {
        let mut waits = Waits::default();
        let (one, answer) = waiting(run_mail("run_a", 1), None);
        waits.add(one);
        assert_eq!(waits.mailboxes().len(), 1);
        drop(answer);
        assert!(waits.mailboxes().is_empty());
        assert!(waits.take_due(Instant::now()).is_empty());
        assert!(waits.take_all().is_empty());
    }

    #[test]
    fn only_those_whom_the_news_concern_are_asked() {
        let mut waits = Waits::default();
        let terminal = TerminalId::parse("term_1").unwrap();
        let (mail, _a) = waiting(run_mail("run_a", 1), None);
        let (screen, _b) = waiting(
            WaitOn::Terminal { terminal: terminal.clone(), condition: String::new(), until: Timestamp(0) },
            None,
        );
        waits.add(mail);
        waits.add(screen);
        let live = News { live: BTreeSet::from([terminal]), ..News::default() };
        assert_eq!(waits.take_concerned(&live).len(), 1);
        assert!(
            waits.take_concerned(&News { tables: BTreeSet::from(["gate"]), ..News::default() }).is_empty()
        );
        assert_eq!(
            waits.take_concerned(&News { tables: BTreeSet::from(["message"]), ..News::default() }).len(),
            1
        );
    }

    #[test]
    fn each_is_asked_at_its_own_deadline() {
        let mut waits = Waits::default();
        let (soon, later) = (Instant::now(), Instant::now() + Duration::from_secs(900));
        let (early, _a) = waiting(run_mail("run_a", 1), Some(soon));
        let (late, _b) = waiting(run_mail("run_b", 2), Some(later));
        waits.add(late);
        waits.add(early);
        assert_eq!(waits.next_deadline(), Some(soon));
        assert_eq!(waits.take_due(soon).len(), 1);
        assert_eq!(waits.take_due(later).len(), 1);
    }

    #[test]
    fn a_clock_that_is_set_back_stretches_no_wait() {
        let on = run_mail("run_a", 1);
        let wait = Wait { on, deadline: Some(Timestamp(100_000)), began: Timestamp(40_000) };
        let left = |now: i64| {
            let before = Instant::now();
            due(&wait, Timestamp(now)).unwrap().duration_since(before).as_secs()
        };
        assert_eq!([left(40_000), left(70_000), left(-3_600_000), left(900_000)], [60, 30, 60, 0]);
    }
}
