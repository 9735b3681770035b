//! Request: the durable receipt of a mutation, so that a retry after a lost reply is always safe.

use super::words;
use crate::base::clock::Timestamp;
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Request (contract 10).
    RequestState {
        /// Accepted, the reply is still to come.
        Pending = "pending",
        Completed = "completed",
    }
}

/// A Request's receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// A UUID made by the CLI, or what `--retry-request` said.
    pub id: String,
    /// Who sent it: part of the key, so that callers cannot read each other's receipts.
    pub caller: String,
    pub method: String,
    /// SHA-256 of the method's parameters with sorted keys, in hex.
    pub params_hash: String,
    pub state: RequestState,
    /// The recorded answer.
    pub result: Option<serde_json::Value>,
    /// Where a pending request goes on waiting, as `ops` wrote it.
    pub wait: Option<serde_json::Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The most receipts kept (contract 10).
pub const MAX_RECEIPTS: u64 = 10_000;
/// An open receipt that has not changed for so long is nobody's any more: the longest wait is a day. A call
/// that is cut off while it waits leaves one behind, so to keep them for ever would end all work some day.
pub const ABANDONED_MS: u64 = 2 * 24 * 3600 * 1000;
/// Completed receipts older than this go first (contract 10).
pub const KEEP_RECEIPT_MS: u64 = 30 * 24 * 3600 * 1000;
