//! The wire: the only place that knows its field names.
//!
//! Each noun's file has its calls, its replies and the row views that the CLI prints, the screen
//! shows and the counters count. [`calls!`] lists every call once: decoding, the kind of a call and
//! the routing in `ops` follow from that list.

pub mod dispatch;
pub mod envelope;
pub mod error;
pub mod event;
pub mod fleet;
pub mod frame;
pub mod gate;
pub mod hook;
pub mod mail;
pub mod repo;
pub mod request;
pub mod reset;
pub mod row;
pub mod run;
pub mod schema;
pub mod screen;
pub mod server;
pub mod spool;
pub mod task;
pub mod terminal;
pub mod transcript;
pub mod worker;
pub mod worktree;

use error::ErrorBody;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a call changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Answers from a snapshot, leaves nothing behind.
    Read,
    /// Runs in a write transaction and leaves a receipt under its request id.
    Mutation,
}

/// One verb's parameters.
pub trait Call: Serialize + DeserializeOwned + Send + 'static {
    /// The method name on the wire, for example `orchestration.runCreate` (contract 1.6).
    const METHOD: &'static str;
    /// What comes back under `result`.
    type Reply: Serialize + DeserializeOwned + JsonSchema;
    /// Whether this call, with these parameters, changes anything.
    fn kind(&self) -> CallKind;
    /// The server looks up the checkout around the caller's directory first.
    fn needs_place(&self) -> bool {
        false
    }
}

/// Makes a parameter type a [`Call`] whose kind does not depend on its parameters.
macro_rules! call {
    ($call:ty, $method:literal, $kind:ident, $reply:ty) => {
        call!($call, $method, $kind, $reply, needs_place: false);
    };
    ($call:ty, $method:literal, $kind:ident, $reply:ty, needs_place: $place:literal) => {
        impl $crate::proto::Call for $call {
            const METHOD: &'static str = $method;
            type Reply = $reply;
            fn kind(&self) -> $crate::proto::CallKind {
                $crate::proto::CallKind::$kind
            }
            fn needs_place(&self) -> bool {
                $place
            }
        }
    };
}
pub(crate) use call;

macro_rules! calls {
    ($($variant:ident($call:ty),)*) => {
        /// A decoded call of any kind.
        #[derive(Debug, Clone)]
        pub enum AnyCall { $($variant($call),)* }

        impl AnyCall {
            /// Every method name.
            pub const METHODS: &'static [&'static str] = &[$(<$call as Call>::METHOD,)*];

            /// The schema of what comes back for `method`; None for a method that is not listed here.
            pub fn reply_schema(method: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
                $(if method == <$call as Call>::METHOD {
                    return Some(generator.subschema_for::<<$call as Call>::Reply>());
                })*
                None
            }

            /// Decodes the parameters of `method`.
            pub fn decode(method: &str, params: serde_json::Value) -> Result<Self, ErrorBody> {
                $(if method == <$call as Call>::METHOD {
                    return serde_json::from_value(params).map(Self::$variant).map_err(|error| ErrorBody::bad_params(method, &error));
                })*
                Err(ErrorBody::unknown_method(method))
            }

            /// Whether the call changes anything.
            pub fn kind(&self) -> CallKind {
                match self { $(Self::$variant(call) => call.kind(),)* }
            }

            /// Whether the server must look at the caller's directory first.
            pub fn needs_place(&self) -> bool {
                match self { $(Self::$variant(call) => call.needs_place(),)* }
            }

            /// The method's name.
            pub fn method(&self) -> &'static str {
                match self { $(Self::$variant(_) => <$call as Call>::METHOD,)* }
            }
        }
    };
}

calls! {
    // Run
    RunCreate(run::RunCreate),
    RunUse(run::RunUse),
    RunSet(run::RunSet),
    RunCurrent(run::RunCurrent),
    RunList(run::RunList),
    RunShow(run::RunShow),
    // Task
    TaskCreate(task::TaskCreate),
    TaskList(task::TaskList),
    TaskUpdate(task::TaskUpdate),

    // Dispatch
    Dispatch(dispatch::Dispatch),
    DispatchShow(dispatch::DispatchShow),

    // Worker
    WorkerStart(worker::WorkerStart),
    WorkerShow(worker::WorkerShow),
    WorkerList(worker::WorkerList),
    WorkerRead(worker::WorkerRead),
    WorkerStop(worker::WorkerStop),
    WorkerAbandon(worker::WorkerAbandon),
    WorkerRelease(worker::WorkerRelease),
    WorkerRetain(worker::WorkerRetain),

    // Mail
    Send(mail::Send),
    Check(mail::Check),
    Reply(mail::Reply),
    Inbox(mail::Inbox),
    MessageRead(mail::MessageRead),
    Ask(mail::Ask),

    // Gate
    GateCreate(gate::GateCreate),
    GateResolve(gate::GateResolve),
    GateList(gate::GateList),

    // Request
    RequestShow(request::RequestShow),

    // Repo
    RepoList(repo::RepoList),
    RepoShow(repo::RepoShow),
    RepoAdd(repo::RepoAdd),
    RepoRemove(repo::RepoRemove),
    RepoSetBaseRef(repo::RepoSetBaseRef),
    RepoSearchRefs(repo::RepoSearchRefs),
    HooksShow(repo::HooksShow),
    HooksSet(repo::HooksSet),
    HooksApprove(repo::HooksApprove),
    HooksReject(repo::HooksReject),

    // Worktree
    WorktreeCreate(worktree::WorktreeCreate),
    WorktreeList(worktree::WorktreeList),
    WorktreeShow(worktree::WorktreeShow),
    WorktreeCurrent(worktree::WorktreeCurrent),
    WorktreePs(worktree::WorktreePs),
    WorktreeSet(worktree::WorktreeSet),
    WorktreeRemove(worktree::WorktreeRemove),

    // Terminal
    TerminalCreate(terminal::TerminalCreate),
    TerminalList(terminal::TerminalList),
    TerminalShow(terminal::TerminalShow),
    TerminalRead(terminal::TerminalRead),
    TerminalExport(terminal::TerminalExport),
    TerminalSend(terminal::TerminalSend),
    TerminalWait(terminal::TerminalWait),
    TerminalSplit(terminal::TerminalSplit),
    TerminalRename(terminal::TerminalRename),
    TerminalSetPaneTitle(terminal::TerminalSetPaneTitle),
    TerminalSwitch(terminal::TerminalSwitch),
    TerminalMark(terminal::TerminalMark),
    TerminalClose(terminal::TerminalClose),
    TerminalStop(terminal::TerminalStop),

    // Hook
    HookReport(hook::HookReport),

    // Event
    EventsList(event::EventsList),

    // Reset
    Reset(reset::Reset),
}
