//! Delivery: one frozen batch of Run mail that replays until the coordinator acknowledges it.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DeliveryId, MessageId, RunId};
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Delivery (contract 3.8).
    DeliveryState {
        Outstanding = "outstanding",
        Acknowledged = "acknowledged",
        /// The Run was bound by somebody else; the messages stay unread and are batched again.
        Fenced = "fenced",
    }
}

/// A Delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: DeliveryId,
    pub run_id: RunId,
    /// The consumer generation it was frozen for.
    pub generation: u64,
    pub message_ids: Vec<MessageId>,
    pub state: DeliveryState,
    /// How often it was handed out again.
    pub n_redeliveries: u32,
    pub created_at: Timestamp,
    pub acknowledged_at: Option<Timestamp>,
}

/// The most messages in one Delivery (contract 4.5).
pub const MAX_BATCH: usize = 50;
