//! Hook: what an agent's own hook reports of the session that it leads and of what it is doing.

use super::call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `orca hook <agent>`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookReport {
    /// The preset that the hook was made for.
    pub agent: String,
    /// What happened, in the agent's own word.
    pub event: String,
    /// The tool that it is about, and what that is given, in one line.
    pub tool_name: String,
    pub tool_input: String,
    /// A person broke it off.
    pub is_interrupted: bool,
    pub session_id: String,
    /// Where the agent writes its conversation; checked before it is believed.
    pub transcript_path: String,
}

/// What became of a report. Nobody prints it: a hook is silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookReported {
    /// Its session is now known as that of the attempt in that pane.
    pub recorded: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

call!(HookReport, "hook.report", Mutation, HookReported);
