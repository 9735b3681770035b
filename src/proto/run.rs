//! Run: calls and replies.

use super::call;
use super::row::RunRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `run-create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCreate {
    pub objective: String,
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub limits: LimitWishes,
}

/// Limits as they are asked for: what is not named stays as it is, 0 takes a limit away. Times are
/// milliseconds and count for each attempt by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitWishes {
    pub max_workers: Option<u32>,
    pub max_attempts: Option<u32>,
    pub max_wall_ms: Option<u64>,
    pub max_silence_ms: Option<u64>,
}

/// `run-set`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSet {
    pub run: Option<String>,
    pub from: Option<String>,
    pub limits: LimitWishes,
}

/// `run-use`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunUse {
    pub id: String,
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub takeover_legacy: bool,
}

/// The reply of `run-create` and `run-use`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunBound {
    pub run: RunRow,
    pub binding: Binding,
}

/// The caller's hold on a Run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    pub consumer_generation: u64,
}

/// `run-current`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunCurrent {
    pub from: Option<String>,
}

/// The reply of `run-current`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentRun {
    pub run: Option<RunRow>,
}

/// `run-list`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunList {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// The reply of `run-list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runs {
    pub runs: Vec<RunRow>,
    pub next_cursor: Option<String>,
}

/// `run-show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunShow {
    pub id: String,
}

/// The reply of `run-show` and `run-set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneRun {
    pub run: RunRow,
    /// Attempts that run now.
    pub active_workers: usize,
}

call!(RunCreate, "orchestration.runCreate", Mutation, RunBound);
call!(RunUse, "orchestration.runUse", Mutation, RunBound);
call!(RunSet, "orchestration.runSet", Mutation, OneRun);
call!(RunCurrent, "orchestration.runCurrent", Read, CurrentRun);
call!(RunList, "orchestration.runList", Read, Runs);
call!(RunShow, "orchestration.runShow", Read, OneRun);
