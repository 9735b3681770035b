//! Request: the look at a receipt.

use super::call;
use crate::base::clock::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `request-show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestShow {
    pub request: String,
}

/// The reply of `request-show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneRequest {
    pub request: RequestRow,
}

/// A receipt. `state` is `completed`, `pending`, or `absent`: there is none for this caller, which is
/// no proof that nothing happened (contract 10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestRow {
    pub id: String,
    pub state: String,
    pub method: Option<String>,
    pub receipt: Option<Value>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
}

call!(RequestShow, "orchestration.requestShow", Read, OneRequest);
