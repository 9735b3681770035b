//! Run: a durable namespace of Tasks with one coordinator inbox, bound to one consumer at a time.

use super::limit::Limits;
use crate::base::clock::Timestamp;
use crate::base::id::{PaneKey, RunId, TerminalId};
use serde::{Deserialize, Serialize};

/// Who reads a Run's mailbox and may change the Run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// The person at a plain shell (design 6).
    User,
    /// A coordinator in a pane. The pane is the identity, the handle only routes (contract 1.3).
    Terminal { handle: TerminalId, pane: PaneKey },
}

impl Consumer {
    /// Says whether both are the same consumer, panes compared by leaf.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User, Self::User) => true,
            (Self::Terminal { pane: a, .. }, Self::Terminal { pane: b, .. }) => a.is_same_pane(b),
            (Self::User, Self::Terminal { .. }) | (Self::Terminal { .. }, Self::User) => false,
        }
    }

    /// The handle as messages show it: a terminal handle or `user`.
    pub fn handle(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Terminal { handle, .. } => handle.as_str(),
        }
    }
}

/// A Run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub objective: String,
    pub consumer: Option<Consumer>,
    /// Starts at 1 and grows whenever the binding changes (contract 3.9).
    pub consumer_generation: u64,
    /// The coordinator in a pane that lost it to somebody else, as long as it has not taken it back.
    #[serde(default)]
    pub displaced: Option<Consumer>,
    #[serde(default)]
    pub limits: Limits,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Run {
    /// Binds the Run to `consumer` and says whether that changed anything.
    ///
    /// Binding again from the same pane and handle changes nothing (contract 3.9).
    pub fn bind(&mut self, consumer: Option<Consumer>, now: Timestamp) -> bool {
        if self.consumer == consumer {
            return false;
        }
        let is_now = |one: &Consumer| consumer.as_ref().is_some_and(|now| now.is_same(one));
        let lost = self
            .consumer
            .take()
            .filter(|old| matches!(old, Consumer::Terminal { .. }) && consumer.is_some() && !is_now(old));
        self.displaced = lost.or_else(|| self.displaced.take().filter(|one| !is_now(one)));
        self.consumer = consumer;
        self.consumer_generation += 1;
        self.updated_at = now;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_again_changes_nothing_and_a_change_fences() {
        let mut run = Run {
            id: RunId::parse("run_a").unwrap(),
            objective: String::from("x"),
            consumer: Some(Consumer::User),
            consumer_generation: 1,
            displaced: None,
            limits: Limits::default(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        };
        assert!(!run.bind(Some(Consumer::User), Timestamp(1)));
        assert!(run.bind(None, Timestamp(2)));
        assert_eq!((run.consumer_generation, run.updated_at), (2, Timestamp(2)));
    }
}
