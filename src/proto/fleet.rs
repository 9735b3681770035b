//! The fleet block that answers to a coordinator carry (contract 8.1).

use crate::base::id::RunId;
use crate::model::fleet::Lane;
use serde::{Deserialize, Serialize};

/// The active attempts of a Run, those first that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    pub run_id: RunId,
    /// At most twelve.
    pub lanes: Vec<Lane>,
    /// There are more than these.
    pub truncated: bool,
}
