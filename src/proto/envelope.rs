//! Request and response envelopes, and what a caller says of itself.

use super::error::ErrorBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the wire; a server that speaks another one is refused with
/// `incompatible_runtime` (contract 1.6).
pub const CONTRACT_VERSION: u32 = 1;

/// What the CLI knows of the place it was called from. The server trusts none of it alone; see
/// `ops::caller` for the order (design 6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Origin {
    /// `ORCA_TERMINAL_HANDLE`.
    pub env_handle: Option<String>,
    /// `ORCA_PANE`, else `ORCA_PANE_KEY`.
    pub env_pane: Option<String>,
    /// `ORCA_WORKSPACE_ID`.
    pub env_workspace: Option<String>,
    /// `ORCA_WORKTREE_ID`.
    pub env_worktree: Option<String>,
    /// The working directory, or `ORCA_CLI_CWD`.
    pub cwd: Option<String>,
    /// `--no-fleet`: answers come without the fleet block.
    pub is_fleet_unwanted: bool,
}

/// A call on its way to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub id: String,
    pub method: String,
    #[serde(default)]
    pub params: Value,
    /// The durable request id of a mutation.
    #[serde(default)]
    pub request_id: Option<String>,
    #[serde(default)]
    pub origin: Origin,
    pub contract: u32,
    /// The program's version, for the message when contracts differ.
    pub version: String,
}

/// `_meta` of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The server that answered; null when none did.
    pub runtime_id: Option<String>,
}

/// The public envelope of contract 2.2, on the wire and in `--json` output alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub id: String,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

impl Response {
    /// A success or a failure under the id of its request.
    pub fn new(id: &str, runtime_id: Option<&str>, answer: Result<Value, ErrorBody>) -> Self {
        let (result, error) = match answer {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        let meta = Meta { runtime_id: runtime_id.map(str::to_owned) };
        Self { id: id.to_owned(), ok: error.is_none(), result, error, meta }
    }
}

/// `mutation` inside every durable mutation's result (contract 2.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    pub request_id: String,
    pub replayed: bool,
}
