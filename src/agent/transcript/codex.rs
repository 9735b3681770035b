//! Codex: one record a line; what was said are those of type `response_item` (measured with 0.171.0).

use super::{Raw, RawBlock, image_at, plain, text};
use serde_json::Value;

/// What the program itself puts in front of a conversation, in the words of a user.
const PREPARED: [&str; 3] = ["<environment_context>", "<user_instructions>", "# AGENTS.md instructions"];

/// The message of a record.
pub(super) fn message(record: &Value) -> Option<Raw> {
    if text(record, "type")? != "response_item" {
        return None;
    }
    let item = record.get("payload")?;
    let (role, blocks) = match text(item, "type")? {
        "message" => spoken(item)?,
        "function_call" | "custom_tool_call" => {
            let input = plain(item.get("arguments").or_else(|| item.get("input")));
            let name = text(item, "name").unwrap_or_default().to_owned();
            ("assistant", vec![RawBlock::ToolCall { name, input }])
        }
        kind @ ("local_shell_call" | "web_search_call") => {
            let input = plain(item.get("action"));
            ("assistant", vec![RawBlock::ToolCall { name: kind.trim_end_matches("_call").to_owned(), input }])
        }
        "function_call_output" | "custom_tool_call_output" => ("tool", vec![result(item.get("output"))]),
        _ => return None,
    };
    Some(Raw { id: text(item, "id").map(str::to_owned), role, blocks })
}

fn spoken(item: &Value) -> Option<(&'static str, Vec<RawBlock>)> {
    let role = match text(item, "role")? {
        "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let parts = item.get("content")?.as_array()?;
    let blocks: Vec<RawBlock> = parts.iter().filter_map(block).collect();
    let is_prepared = role == "user"
        && blocks.iter().all(|block| match block {
            RawBlock::Text(said) => PREPARED.iter().any(|start| said.starts_with(start)),
            RawBlock::ToolCall { .. } | RawBlock::ToolResult { .. } | RawBlock::Image { .. } => false,
        });
    (!is_prepared).then_some((role, blocks))
}

fn block(part: &Value) -> Option<RawBlock> {
    match text(part, "type")? {
        "input_text" | "output_text" | "text" => Some(RawBlock::Text(text(part, "text")?.to_owned())),
        "input_image" => Some(image_at(text(part, "image_url").unwrap_or_default())),
        _ => None,
    }
}

/// What a tool gave back: text, an object around it, or parts.
fn result(output: Option<&Value>) -> RawBlock {
    let is_error = output.and_then(|output| output.get("success")).and_then(Value::as_bool).map(|ok| !ok);
    let content = output.and_then(|output| output.get("content")).or(output);
    let output = match content {
        Some(Value::Array(parts)) => {
            let shown = parts.iter().map(|part| match text(part, "text") {
                Some(said) => said.to_owned(),
                None => format!("[{}]", text(part, "type").unwrap_or("part")),
            });
            shown.collect::<Vec<_>>().join("\n")
        }
        other => plain(other),
    };
    RawBlock::ToolResult { output, is_error }
}
