//! The error that a caller sees: a code to match on, a sentence to read, commands to run next.

use crate::base::code::ErrorCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// `error` of the envelope (contract 2.2). `data.nextSteps` holds runnable command lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "data_schema")]
    pub data: Map<String, Value>,
}

fn data_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": { "nextSteps": {
            "description": "Command lines to run next.", "type": "array", "items": { "type": "string" },
        } },
    })
}

impl ErrorBody {
    /// An error without data yet.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Map::new() }
    }

    /// Adds a command line that a person or agent can run next.
    pub fn next_step(mut self, command: impl Into<String>) -> Self {
        let steps = self.data.entry("nextSteps").or_insert_with(|| json!([]));
        if let Value::Array(steps) = steps {
            steps.push(Value::String(command.into()));
        }
        self
    }

    /// Adds one field of data.
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.data.insert(key.to_owned(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }

    /// The command lines of `data.nextSteps`.
    pub fn next_steps(&self) -> Vec<&str> {
        let steps = self.data.get("nextSteps").and_then(Value::as_array);
        steps.map(|steps| steps.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    /// Parameters that do not decode.
    pub fn bad_params(method: &str, error: &serde_json::Error) -> Self {
        Self::new(ErrorCode::InvalidArgument, format!("The parameters of {method} are not valid: {error}."))
    }

    /// A method that this build does not have.
    pub fn unknown_method(method: &str) -> Self {
        let name: String = method.chars().filter(|c| !c.is_control()).take(80).collect();
        Self::new(ErrorCode::MethodNotFound, format!("This server has no method {name:?}."))
            .next_step("orca server restart")
    }
}

impl std::fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorBody {}
