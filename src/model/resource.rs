//! The terminal resource: who owns a worker's terminal, and how far its release came. Separate from
//! the Task's outcome: a completed Task may still own a live terminal.

use super::words;
use super::worker::WorkerState;
use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, ResourceId, TerminalId};
use serde::{Deserialize, Serialize};

words! {
    /// Who owns the terminal (contract 3.6).
    Ownership {
        Owned = "owned",
        Transferred = "transferred",
        UserOwned = "user_owned",
        External = "external",
        Released = "released",
    }
}

words! {
    /// How far the release came (contract 3.6).
    ReleaseState {
        NotRequested = "not_requested",
        Retained = "retained",
        Requested = "requested",
        Releasing = "releasing",
        Released = "released",
        Unknown = "unknown",
    }
}

words! {
    /// The derived state of `worker-list` (contract 3.6).
    TerminalState {
        Active = "active",
        Reclaimable = "reclaimable",
        Retained = "retained",
        ReleasePending = "release_pending",
        ReleaseUnknown = "release_unknown",
        Released = "released",
    }
}

/// The ownership record of one worker's terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub id: ResourceId,
    pub terminal_id: TerminalId,
    pub worktree_id: Option<String>,
    pub ownership: Ownership,
    pub release: ReleaseState,
    /// Why it is kept, for example `user_requested` (contract 7.4).
    pub retained_reason: Option<String>,
    pub origin_dispatch_id: DispatchId,
    pub owner_dispatch_id: DispatchId,
    pub release_requested_at: Option<Timestamp>,
    pub release_completed_at: Option<Timestamp>,
    pub release_error: Option<String>,
    /// `terminal` or `transcript`, once archived.
    pub archive_source: Option<String>,
    /// `captured`, `empty` or `unavailable`, once archived.
    pub archive_status: Option<String>,
}

/// The derived state of a worker's terminal; the first matching row of contract 3.6 wins.
pub fn terminal_state(
    resource: Option<&Resource>,
    worker: WorkerState,
    has_handle: bool,
) -> Option<TerminalState> {
    let Some(resource) = resource else {
        return has_handle.then_some(TerminalState::Retained);
    };
    Some(match resource.release {
        ReleaseState::Released => TerminalState::Released,
        ReleaseState::Unknown => TerminalState::ReleaseUnknown,
        ReleaseState::Requested | ReleaseState::Releasing => TerminalState::ReleasePending,
        ReleaseState::Retained => TerminalState::Retained,
        ReleaseState::NotRequested if resource.ownership != Ownership::Owned => TerminalState::Retained,
        ReleaseState::NotRequested => match worker {
            WorkerState::Succeeded | WorkerState::Failed => TerminalState::Reclaimable,
            WorkerState::Stopped | WorkerState::Abandoned => TerminalState::Retained,
            WorkerState::Starting
            | WorkerState::Ready
            | WorkerState::StartUnknown
            | WorkerState::Stopping
            | WorkerState::StopUnknown => TerminalState::Active,
        },
    })
}
