//! Gate: calls and replies.

use super::call;
use super::row::GateRow;
use crate::base::id::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `gate-create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateCreate {
    pub task: String,
    pub question: String,
    pub options: Vec<String>,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// `gate-resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateResolve {
    pub id: String,
    pub resolution: String,
    /// Only asserted: the gate must be of this Run.
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The reply of `gate-create` and `gate-resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneGate {
    pub gate: GateRow,
    /// The resolution is none of the options; it was accepted all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// `gate-list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateList {
    pub task: Option<String>,
    pub status: Option<String>,
    pub run: Option<String>,
    pub from: Option<String>,
}

/// The reply of `gate-list`, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gates {
    pub gates: Vec<GateRow>,
    pub count: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

call!(GateCreate, "orchestration.gateCreate", Mutation, OneGate);
call!(GateResolve, "orchestration.gateResolve", Mutation, OneGate);
call!(GateList, "orchestration.gateList", Read, Gates);
