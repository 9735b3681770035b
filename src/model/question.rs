//! Question: what a worker asks and waits for. It stays pending past any timeout.

use super::words;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, MessageId, RunId};
use serde::{Deserialize, Serialize};

words! {
    /// The states of a Question (contract 3.8).
    QuestionState {
        Pending = "pending",
        Answered = "answered",
        /// Its Dispatch settled, was stopped or abandoned.
        Closed = "closed",
    }
}

/// A Question; its id is the id of the message that asked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub message_id: MessageId,
    pub run_id: RunId,
    pub dispatch_id: DispatchId,
    pub asker_handle: String,
    pub question: String,
    pub options: Vec<String>,
    pub status: QuestionState,
    pub answer_message_id: Option<MessageId>,
    pub answer_body: Option<String>,
    /// `user` or a terminal handle: the answer is signed (design 12).
    pub answered_by: Option<String>,
    pub answered_by_generation: Option<u64>,
    pub created_at: Timestamp,
    pub answered_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
}
