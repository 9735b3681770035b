//! The fleet block that answers to a coordinator carry (contract 8.1).

use super::Call as _;
use super::dispatch::{Dispatch, DispatchShow};
use super::mail::{Check, Inbox, Reply, Send};
use super::task::{TaskCreate, TaskList, TaskUpdate};
use crate::base::id::RunId;
use crate::model::fleet::Lane;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The methods whose answers carry the block.
pub const CARRIERS: [&str; 9] = [
    Check::METHOD,
    Send::METHOD,
    Reply::METHOD,
    Inbox::METHOD,
    TaskCreate::METHOD,
    TaskList::METHOD,
    TaskUpdate::METHOD,
    Dispatch::METHOD,
    DispatchShow::METHOD,
];

/// The active attempts of a Run, those first that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    pub run_id: RunId,
    /// At most twelve.
    pub lanes: Vec<Lane>,
    /// There are more than these.
    pub truncated: bool,
}
