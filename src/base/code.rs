//! The error codes of the public contract (contract 11.1 and 4.10). Append only; never rename.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($variant:ident = $text:literal, $meaning:literal;)*) => {
        /// A stable code that scripts and agents match on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $(#[doc = $meaning] #[serde(rename = $text)] $variant,)*
        }

        impl ErrorCode {
            /// Every code there is, in the order of this file.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as it stands in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// One sentence on when it is given.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    InvalidArgument = "invalid_argument", "A flag or value is missing, malformed or contradicts another.";
    RuntimeUnavailable = "runtime_unavailable", "The server cannot be reached and could not be started.";
    IncompatibleRuntime = "incompatible_runtime", "The server is too old or too new for this request.";
    CapabilityUnsupported = "capability_unsupported", "This build does not offer the feature.";
    MethodNotFound = "method_not_found", "The server does not know the method.";
    OrchestrationMigrationRequired = "orchestration_migration_required", "The command is retired.";
    RuntimeError = "runtime_error", "An untyped failure; read the message.";
    StoreDamaged = "store_damaged", "The database file cannot be read; it was left as it is.";
    StoreUnwritable = "store_unwritable", "The state directory cannot be written (read-only or full).";
    NoActiveSenderTerminal = "no_active_sender_terminal", "The sending terminal cannot be determined.";
    NoActiveTerminal = "no_active_terminal", "No terminal was named and none is active here.";
    StablePaneRequired = "stable_pane_required", "The caller's terminal has no stable identity.";
    TerminalHandleStale = "terminal_handle_stale", "The handle belongs to a process that was replaced.";
    TerminalGone = "terminal_gone", "The terminal has ended.";
    TerminalNotFound = "terminal_not_found", "No terminal has this handle.";
    SelectorNotFound = "selector_not_found", "Nothing matches the selector.";
    SelectorAmbiguous = "selector_ambiguous", "Several things match the selector.";
    RunRequired = "run_required", "No Run is bound here and none was named.";
    RunNotFound = "run_not_found", "No Run has this id.";
    TaskNotFound = "task_not_found", "No Task of this Run has this id.";
    DispatchNotFound = "dispatch_not_found", "No Dispatch has this id.";
    QuestionNotFound = "question_not_found", "No question of yours has this id.";
    GateNotFound = "gate_not_found", "No gate has this id.";
    GateConflict = "gate_conflict", "The gate was already resolved with another text.";
    ConsumerFenced = "consumer_fenced", "The caller does not own this Run mailbox or Dispatch.";
    StaleDelivery = "stale_delivery", "The Delivery is not the outstanding one of this Run.";
    WaiterExists = "waiter_exists", "Somebody already waits on this Run.";
    DispatchRunMismatch = "dispatch_run_mismatch", "The Dispatch belongs to another Run.";
    DispatchInactive = "dispatch_inactive", "The Dispatch has ended or its state forbids this.";
    AnswerConflict = "answer_conflict", "The question was already answered differently.";
    TaskNotStartable = "task_not_startable", "The Task's state, a live worker or the retry rule forbids this.";
    AgentUnconfigured = "agent_unconfigured", "The agent is unknown, not installed or not running there.";
    InjectRejected = "inject_rejected", "The terminal runs no agent that a brief could be typed into.";
    TerminalWorktreeMismatch = "terminal_worktree_mismatch", "The terminal is in another worktree.";
    TerminalReleaseInProgress = "terminal_release_in_progress", "The terminal is being released.";
    TerminalBusy = "terminal_busy", "The terminal already carries an active Dispatch.";
    NestedWorkerDepthExceeded = "nested_worker_depth_exceeded", "Workers may not start workers this deep.";
    LifecycleConflict = "lifecycle_conflict", "The state does not allow this transition.";
    CursorInvalid = "cursor_invalid", "The cursor is not one that this command gave out.";
    SourceChanged = "source_changed", "The output's source changed; read again without a cursor.";
    TranscriptRequired = "transcript_required", "No transcript is known for this worker.";
    WorkerIdentityChanged = "worker_identity_changed", "The terminal runs another process by now.";
    ArchiveFailed = "archive_failed", "The output could not be archived; the terminal was kept.";
    RequestMismatch = "request_mismatch", "The request id was used for another request.";
    OperationUnknown = "operation_unknown", "A restart hides whether the operation took effect.";
    MutationLedgerFull = "mutation_ledger_full", "Too many requests are still open.";
    NotARepository = "not_a_repository", "The folder is not inside a git repository.";
    UnbornBranch = "unborn_branch", "The repository has no commit yet.";
    WorktreeFailed = "worktree_failed", "Git could not make or read the worktree.";
    WorktreeHoldsWork = "worktree_holds_work", "The worktree has work that exists nowhere else; say so with --force.";
    HooksNotApproved = "hooks_not_approved", "A person has to approve the text of the repository's script first.";
    SetupUndecided = "setup_undecided", "The repository wants a decision on its setup script: --setup run or skip.";
    InvalidPayload = "invalid_payload", "The payload is not a JSON object.";
    MissingTaskId = "missing_task_id", "The report names no Task.";
    MissingDispatchId = "missing_dispatch_id", "The report names no Dispatch.";
    InvalidOutcome = "invalid_outcome", "The outcome is neither succeeded nor failed.";
    UnknownTask = "unknown_task", "The reported Task does not exist.";
    UnknownDispatch = "unknown_dispatch", "The reported Dispatch does not exist.";
    TaskDispatchMismatch = "task_dispatch_mismatch", "The reported ids do not belong together.";
    SenderNotAssignee = "sender_not_assignee", "The sender is not the worker of this Dispatch.";
    InactiveDispatch = "inactive_dispatch", "The Dispatch or its Task was already settled.";
    StaleDispatch = "stale_dispatch", "A newer attempt of the Task exists.";
    ConfirmationRequired = "confirmation_required", "Something that runs would be ended or forgotten; say so with the flag that is named.";
    GroupEmpty = "group_empty", "The group is known and has no member at the moment.";
    RunLimitReached = "run_limit_reached", "A limit that was set for the Run forbids one more attempt.";
    PeekWaitUnsupported = "peek_wait_unsupported", "Looking at mail cannot wait; taking it can.";
    MessageNotFound = "message_not_found", "No message has this id.";
    SpoolFull = "spool_full", "Too many calls wait for a server already; this one was not kept.";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn codes_are_unique_and_read_back() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{code} twice");
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.as_str()));
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
        }
    }
}
