//! Task: calls and replies.

use super::call;
use super::row::TaskRow;
use crate::base::id::RunId;
use crate::model::task::TaskState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `task-create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskCreate {
    pub spec: String,
    pub task_title: Option<String>,
    pub display_name: Option<String>,
    pub deps: Vec<String>,
    pub parent: Option<String>,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The reply of `task-create` and `task-update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneTask {
    pub task: TaskRow,
}

/// `task-list`; `is_ready` wins over `status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskList {
    pub status: Option<String>,
    pub is_ready: bool,
    pub is_brief: bool,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The reply of `task-list`, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tasks {
    pub run_id: RunId,
    pub legacy_read_only: bool,
    pub tasks: Vec<TaskRow>,
    pub count: usize,
    /// How many of the Run's tasks are in each state, whatever was asked for; no zeros.
    #[serde(default)]
    pub counts: BTreeMap<TaskState, usize>,
}

/// `task-update`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskUpdate {
    pub id: String,
    pub status: Option<String>,
    pub result: Option<String>,
    pub deps: Option<Vec<String>>,
    pub run: Option<String>,
    pub from: Option<String>,
}

call!(TaskCreate, "orchestration.taskCreate", Mutation, OneTask);
call!(TaskList, "orchestration.taskList", Read, Tasks);
call!(TaskUpdate, "orchestration.taskUpdate", Mutation, OneTask);
