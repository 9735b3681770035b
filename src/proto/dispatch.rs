//! Dispatch: calls and replies.

use super::call;
use super::row::DispatchRow;
use crate::model::event::Event;
use serde::{Deserialize, Serialize};

/// `dispatch-show`: the newest attempt at a Task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DispatchShow {
    pub task: String,
    pub is_preamble: bool,
    pub is_history: bool,
    pub from: Option<String>,
}

/// The reply of `dispatch-show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DispatchShown {
    pub dispatch: Option<DispatchRow>,
    /// The brief, as the worker gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<String>,
    /// Every attempt, oldest first, and what happened to the Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// The attempt timeline of a Task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub attempts: Vec<DispatchRow>,
    pub events: Vec<Event>,
}

call!(DispatchShow, "orchestration.dispatchShow", Read, DispatchShown);
