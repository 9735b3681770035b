//! Limits that a person sets for a Run. A limit on starting refuses; a limit on
//! time or silence asks the person and ends nothing (design 7.1).

use super::words;
use crate::base::id::DispatchId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of a Run; none means no limit. Times are milliseconds and count for each attempt by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// Attempts that may run at once.
    pub max_workers: Option<u32>,
    /// Attempts at one Task.
    pub max_attempts: Option<u32>,
    /// From the start of an attempt.
    pub max_wall_ms: Option<u64>,
    /// From its last sign of life.
    pub max_silence_ms: Option<u64>,
}

impl Limits {
    /// Nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

words! {
    /// A limit that is asked about when it is passed.
    TimeLimit {
        Wall = "max_wall",
        Silence = "max_silence",
    }
}

/// What a question about a limit is about. Such a gate holds no Task back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitAsked {
    pub dispatch_id: DispatchId,
    pub limit: TimeLimit,
}

/// The answer that ends the attempt; any other lets it go on.
pub const STOP: &str = "stop";
/// The answer that lets it go on until the same time has passed again.
pub const CONTINUE: &str = "continue";
