//! Claude Code: one record a line, `user` and `assistant` among many others (measured with 2.1.332).

use super::{Raw, RawBlock, plain, text};
use serde_json::Value;

/// The message of a record. Talk of subagents and what the program wrote for the model alone is none.
pub(super) fn message(record: &Value) -> Option<Raw> {
    let is_set = |name: &str| record.get(name).and_then(Value::as_bool) == Some(true);
    if is_set("isSidechain") || is_set("isMeta") {
        return None;
    }
    let role = match text(record, "type")? {
        "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let content = record.get("message")?.get("content")?;
    let blocks: Vec<RawBlock> = match content {
        Value::String(said) => vec![RawBlock::Text(said.clone())],
        Value::Array(parts) => parts.iter().filter_map(block).collect(),
        _ => return None,
    };
    let is_answer = !blocks.is_empty() && blocks.iter().all(|b| matches!(b, RawBlock::ToolResult { .. }));
    let role = if is_answer { "tool" } else { role };
    Some(Raw { id: text(record, "uuid").map(str::to_owned), role, blocks })
}

fn block(part: &Value) -> Option<RawBlock> {
    match text(part, "type")? {
        "text" => Some(RawBlock::Text(text(part, "text")?.to_owned())),
        "tool_use" | "server_tool_use" => Some(RawBlock::ToolCall {
            name: text(part, "name").unwrap_or_default().to_owned(),
            input: plain(part.get("input")),
        }),
        "tool_result" => Some(RawBlock::ToolResult {
            output: output(part.get("content")),
            is_error: part.get("is_error").and_then(Value::as_bool),
        }),
        "image" => Some(image(part.get("source"))),
        _ => None,
    }
}

/// What a tool gave back: text, or parts of which images are only named.
fn output(content: Option<&Value>) -> String {
    let Some(Value::Array(parts)) = content else { return plain(content) };
    let shown = parts.iter().map(|part| match text(part, "type") {
        Some("text") => text(part, "text").unwrap_or_default().to_owned(),
        Some(kind) => format!("[{kind}]"),
        None => plain(Some(part)),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn image(source: Option<&Value>) -> RawBlock {
    let field = |name: &str| source.and_then(|source| text(source, name)).map(str::to_owned);
    RawBlock::Image { media_type: field("media_type"), location: field("url").or_else(|| field("file_id")) }
}
