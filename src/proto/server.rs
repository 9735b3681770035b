//! The server itself: calls about it, answered by `server::host` and not by the rules in `ops`.

use super::call;
use super::error::ErrorBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// `status` (contract 2.3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatusGet {}

/// The reply of `status`. It also says so when nothing runs; then the CLI makes it by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub target: Target,
    pub app: App,
    pub runtime: Runtime,
    pub graph: Graph,
    /// The state directory.
    pub state_dir: String,
    /// Terminals with a live process.
    pub n_terminals: usize,
    /// Attached screens.
    pub n_clients: usize,
    /// Calls that were kept while no server ran and wait to be taken in.
    #[serde(default)]
    pub n_queued: usize,
    /// Files beside them that no server could read; the log has the reasons.
    #[serde(default)]
    pub n_rejected: usize,
    /// What of the settings' file does not count, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the last server did not start, while none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_failure: Option<ErrorBody>,
}

/// Which server is meant; always the local one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    pub kind: String,
}

/// The server's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct App {
    pub running: bool,
    pub pid: Option<u32>,
    /// `available` while a screen is attached, `initializing` while a server starts, else `openable`.
    pub desktop_window_status: String,
}

/// What the server can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// `ready`, `starting` (one holds the state directory and does not answer yet) or `not_running`.
    pub state: String,
    pub reachable: bool,
    pub runtime_id: Option<String>,
    pub app_version: String,
    pub capabilities: Vec<String>,
    /// What each capability is, in a sentence.
    pub capability_docs: BTreeMap<String, String>,
    /// `connected` or `disconnected`.
    pub connection_state: String,
}

/// What a server of this build offers, each with a sentence.
const CAPABILITIES: &[(&str, &str)] = &[
    ("orchestration", "Runs, tasks, supervised workers, mail, questions and gates."),
    ("terminals", "Terminals that go on without a server or screen."),
    ("worktrees", "Worktrees and their branches."),
    ("groups", "Mail to @all, @idle, @<agent> and @worktree:<id>."),
    ("events", "The event log in pages and to follow."),
];

impl Runtime {
    /// The server that answers.
    pub fn ready(runtime_id: &str) -> Self {
        Self {
            state: String::from("ready"),
            reachable: true,
            runtime_id: Some(runtime_id.to_owned()),
            app_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: CAPABILITIES.iter().map(|(name, _)| (*name).to_owned()).collect(),
            capability_docs: CAPABILITIES
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            connection_state: String::from("connected"),
        }
    }
}

/// Whether the rows are loaded; `ready`, `starting` or `not_running`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    pub state: String,
}

impl Status {
    /// The answer when no server answers for `state_dir`, and `n_queued` calls wait for one. `start_failure`:
    /// why the last one did not start.
    pub fn not_running(
        state_dir: &str,
        is_starting: bool,
        n_queued: usize,
        start_failure: Option<ErrorBody>,
    ) -> Self {
        let (state, window) =
            if is_starting { ("starting", "initializing") } else { ("not_running", "openable") };
        Self {
            target: Target { kind: String::from("local") },
            app: App { running: false, pid: None, desktop_window_status: window.to_owned() },
            runtime: Runtime {
                state: state.to_owned(),
                reachable: false,
                runtime_id: None,
                app_version: env!("CARGO_PKG_VERSION").to_owned(),
                capabilities: Vec::new(),
                capability_docs: BTreeMap::new(),
                connection_state: String::from("disconnected"),
            },
            graph: Graph { state: state.to_owned() },
            state_dir: state_dir.to_owned(),
            n_terminals: 0,
            n_clients: 0,
            n_queued,
            n_rejected: 0,
            warnings: Vec::new(),
            start_failure,
        }
    }
}

/// Ends the server. Terminals end with it unless `keep_terminals` is set (`server restart`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStop {
    pub keep_terminals: bool,
    /// Live processes may be ended.
    pub force: bool,
}

/// The reply of `server stop`, sent before the server goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopping {
    /// The server that ends; null when none ran.
    pub pid: Option<u32>,
    /// Terminals that end with the server.
    pub n_ended: usize,
    /// Terminals that go on without it.
    pub n_kept: usize,
    /// What did not go as it should, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

call!(StatusGet, "status.get", Read, Status);
call!(ServerStop, "server.stop", Read, Stopping);

/// A call that the server answers by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCall {
    Status,
    Stop(ServerStop),
}

impl HostCall {
    /// Decodes the parameters of `method`; None for the methods of `ops`.
    pub fn decode(method: &str, params: &Value) -> Option<Result<Self, ErrorBody>> {
        match method {
            "status.get" => Some(Ok(Self::Status)),
            "server.stop" => {
                let stop = ServerStop::deserialize(params);
                Some(stop.map(Self::Stop).map_err(|error| ErrorBody::bad_params(method, &error)))
            }
            _ => None,
        }
    }
}

/// What a server that was just started tells its starter, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartReport {
    /// It listens.
    Ready { pid: u32 },
    /// Another one runs or is about to.
    Lost,
    /// It cannot run; the error says why and what to do.
    Failed(ErrorBody),
}
