//! Crash tests: `ORCA_FAULT=<point>:<n>` kills this server with SIGKILL when it passes a named point
//! for the n-th time. Without the variable nothing happens.

use crate::base::report::OrLog as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A place where a crash is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The batch is worked out but not durable.
    BeforeCommit,
    /// The batch is durable; nobody was told.
    AfterCommit,
    /// The effect is recorded and not begun.
    BeforeEffect,
    /// The effect is done and its outcome not yet told to the engine.
    AfterEffect,
    /// The engine has the outcome and has not recorded it.
    BeforeOutcome,
    /// The outcome is recorded.
    AfterOutcome,
    /// A call that came as a file took effect, and its file is still there.
    SpoolApplied,
    /// The same, and its answer is written.
    SpoolAnswered,
}

impl Point {
    /// The points that a worker's start passes.
    pub const START: &'static [Self] = &[
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::BeforeEffect,
        Self::AfterEffect,
        Self::BeforeOutcome,
        Self::AfterOutcome,
    ];
    /// The points that a call in a file passes.
    pub const SPOOL: &'static [Self] =
        &[Self::BeforeCommit, Self::AfterCommit, Self::SpoolApplied, Self::SpoolAnswered];

    /// The name in the variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
            Self::BeforeEffect => "before_effect",
            Self::AfterEffect => "after_effect",
            Self::BeforeOutcome => "before_outcome",
            Self::AfterOutcome => "after_outcome",
            Self::SpoolApplied => "spool_applied",
            Self::SpoolAnswered => "spool_answered",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::START, Self::SPOOL].concat().into_iter().find(|point| point.name() == name)
    }
}

/// The name of the variable.
pub const VARIABLE: &str = "ORCA_FAULT";

struct Fault {
    point: Point,
    n_left: AtomicU32,
}

static FAULT: OnceLock<Option<Fault>> = OnceLock::new();

/// Arms the fault that `wish` names; once, at the start of the server.
pub fn arm(wish: Option<&str>) {
    FAULT.get_or_init(|| {
        let (name, n) = wish?.split_once(':')?;
        Some(Fault { point: Point::from_name(name)?, n_left: AtomicU32::new(n.parse().ok()?) })
    });
}

/// Passes a point, perhaps for the last time.
pub fn pass(point: Point) {
    let Some(Some(fault)) = FAULT.get() else { return };
    if fault.point == point && fault.n_left.fetch_sub(1, Ordering::SeqCst) == 1 {
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::KILL).or_log("crash on purpose");
    }
}
