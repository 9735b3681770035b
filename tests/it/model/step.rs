//! One thing that somebody does or that happens, as it is generated: small numbers that pick among what
//! is there when the step is played, the newest first, so that a shrunk list stays meaningful.

use proptest::prelude::*;
use std::fmt;

/// Picks one of a list, from its end.
pub type Pick = u8;

#[derive(Debug, Clone)]
pub enum Step {
    RunCreate { by: Pick },
    RunUse { by: Pick, run: Pick },
    TaskCreate { by: Pick, deps: Vec<Pick> },
    TaskUpdate { by: Pick, task: Pick, to: Pick, has_result: bool },
    TaskDeps { by: Pick, task: Pick, deps: Vec<Pick> },
    Start { by: Pick, task: Pick, how: Pick, term: Pick, retry: Option<Pick> },
    Dispatch { by: Pick, task: Pick, term: Pick, is_inject: bool },
    Outcome { which: Pick, came: Pick },
    Exit { term: Pick },
    Lose { term: Pick },
    Type { term: Pick },
    Done { attempt: Pick, who: Pick, proof: Pick, is_success: bool, is_other_task: bool },
    Heartbeat { attempt: Pick, who: Pick, proof: Pick },
    Send { by: Pick, to: Pick, n: Pick },
    Ask { attempt: Pick, who: Pick, proof: Pick, text: Pick },
    Reply { by: Pick, question: Pick, text: Pick },
    ReplyMail { by: Pick, mail: Pick },
    Check { by: Pick, run: Option<Pick>, mode: Pick, ack: Option<Pick>, is_wait: bool, types: Pick },
    Deadline { which: Pick },
    GateCreate { by: Pick, task: Pick },
    GateResolve { by: Pick, gate: Pick, text: Pick },
    Stop { attempt: Pick },
    Abandon { attempt: Pick },
    Release { attempt: Pick },
    Retain { attempt: Pick },
    Again { which: Pick, is_same: bool },
    Restart,
    Clock { ms: i64 },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Mostly the newest ones.
fn near() -> impl Strategy<Value = Pick> {
    prop_oneof![6 => 0..2_u8, 3 => 0..5_u8, 1 => any::<u8>()]
}

/// Mostly the person and the first coordinator.
fn by() -> impl Strategy<Value = Pick> {
    prop_oneof![5 => Just(0_u8), 3 => Just(1_u8), 1 => Just(2_u8), 1 => 3..8_u8]
}

/// Mostly right.
fn mostly<T: Clone + fmt::Debug + 'static>(
    right: T,
    other: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![5 => Just(right), 1 => other].boxed()
}

fn plans() -> BoxedStrategy<Step> {
    prop_oneof![
        1 => by().prop_map(|by| Step::RunCreate { by }),
        1 => (by(), near()).prop_map(|(by, run)| Step::RunUse { by, run }),
        6 => (by(), prop::collection::vec(near(), 0..3)).prop_map(|(by, deps)| Step::TaskCreate { by, deps }),
        4 => (by(), near(), 0..6_u8, any::<bool>())
            .prop_map(|(by, task, to, has_result)| Step::TaskUpdate { by, task, to, has_result }),
        1 => (by(), near(), prop::collection::vec(near(), 0..3))
            .prop_map(|(by, task, deps)| Step::TaskDeps { by, task, deps }),
        2 => (by(), near()).prop_map(|(by, task)| Step::GateCreate { by, task }),
        3 => (by(), near(), 0..2_u8).prop_map(|(by, gate, text)| Step::GateResolve { by, gate, text }),
    ]
    .boxed()
}

fn work() -> BoxedStrategy<Step> {
    prop_oneof![
        10 => (by(), near(), 0..5_u8, near(), mostly(None, near().prop_map(Some)))
            .prop_map(|(by, task, how, term, retry)| Step::Start { by, task, how, term, retry }),
        5 => (by(), near(), near(), near())
            .prop_map(|(by, task, how, term)| Step::Start { by, task, how, term, retry: Some(0) }),
        2 => (by(), near(), near(), any::<bool>())
            .prop_map(|(by, task, term, is_inject)| Step::Dispatch { by, task, term, is_inject }),
        16 => (near(), mostly(0_u8, 0..4_u8)).prop_map(|(which, came)| Step::Outcome { which, came }),
        2 => near().prop_map(|term| Step::Exit { term }),
        1 => near().prop_map(|term| Step::Lose { term }),
        1 => near().prop_map(|term| Step::Type { term }),
        2 => near().prop_map(|attempt| Step::Stop { attempt }),
        1 => near().prop_map(|attempt| Step::Abandon { attempt }),
        2 => near().prop_map(|attempt| Step::Release { attempt }),
        1 => near().prop_map(|attempt| Step::Retain { attempt }),
        1 => Just(Step::Restart),
        1 => (-100_000_000..100_000_000_i64).prop_map(|ms| Step::Clock { ms }),
    ]
    .boxed()
}

fn mail() -> BoxedStrategy<Step> {
    prop_oneof![
        8 => (near(), mostly(0_u8, 0..4_u8), mostly(0_u8, 0..4_u8), any::<bool>(), mostly(false, any::<bool>()))
            .prop_map(|(attempt, who, proof, is_success, is_other_task)| Step::Done {
                attempt, who, proof, is_success, is_other_task
            }),
        2 => (near(), mostly(0_u8, 0..4_u8), mostly(0_u8, 0..4_u8))
            .prop_map(|(attempt, who, proof)| Step::Heartbeat { attempt, who, proof }),
        3 => (by(), any::<u8>(), near()).prop_map(|(by, to, n)| Step::Send { by, to, n }),
        5 => (near(), mostly(0_u8, 0..4_u8), mostly(0_u8, 0..4_u8), 0..2_u8)
            .prop_map(|(attempt, who, proof, text)| Step::Ask { attempt, who, proof, text }),
        5 => (by(), near(), 0..2_u8).prop_map(|(by, question, text)| Step::Reply { by, question, text }),
        1 => (by(), near()).prop_map(|(by, mail)| Step::ReplyMail { by, mail }),
        8 => (by(), mostly(None, near().prop_map(Some)), mostly(0_u8, 0..3_u8),
              prop_oneof![2 => Just(None), 2 => Just(Some(0)), 1 => near().prop_map(Some)], any::<bool>(), 0..4_u8)
            .prop_map(|(by, run, mode, ack, is_wait, types)| Step::Check { by, run, mode, ack, is_wait, types }),
        1 => near().prop_map(|which| Step::Deadline { which }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(which, is_same)| Step::Again { which, is_same }),
    ]
    .boxed()
}

/// Any step; a run of them tells the story of a team.
pub fn step() -> BoxedStrategy<Step> {
    prop_oneof![3 => plans(), 7 => work(), 6 => mail()].boxed()
}
