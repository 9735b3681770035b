//! `orca hook <agent>`: an agent's own hook tells what it does and which session it leads (contract 9.2).
//!
//! Silent, quick and never a failure: an agent waits for its hooks, and takes what they print for words to
//! itself. It starts no server and keeps nothing for a later one; the next event says what is so then.

use crate::base::text::cut_chars;
use crate::client::ask_running;
use crate::client::find::Place;
use crate::config::env::Environment;
use crate::proto::Call as _;
use crate::proto::envelope::{CONTRACT_VERSION, Origin, Request};
use crate::proto::hook::HookReport;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read as _;
use std::sync::mpsc;
use std::time::Duration;

/// How long an agent is kept waiting, whatever happens (contract 9.2: 200 ms with the start of the program).
const PATIENCE: Duration = Duration::from_millis(150);
/// The most that an agent may say, in bytes: its prompt is in it.
const MAX_SAID: u64 = 4 << 20;

/// The most characters of what a tool is given (contract 9.2).
const MAX_INPUT: usize = 160;

/// Tells the server what the agent in this pane does: JSON on standard input, nothing printed.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent's preset.
    agent: String,
}

/// What is read of it; Claude Code and Codex say it with the same words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    session_id: Option<String>,
    transcript_path: Option<String>,
    hook_event_name: String,
    tool_name: Option<String>,
    tool_input: Value,
    is_interrupt: Option<bool>,
}

/// Runs `orca hook`. The exit code is 0.
pub fn run(args: HookArgs, environment: Environment) -> u8 {
    let (over, is_over) = mpsc::channel::<()>();
    let telling = std::thread::Builder::new().spawn(move || {
        // Nobody hears how it went.
        tell(args, &environment);
        drop(over);
    });
    match telling.map(|_| is_over.recv_timeout(PATIENCE)) {
        // It has ended, it is left behind, or there was no thread for it.
        Ok(Ok(()) | Err(_)) | Err(_) => 0,
    }
}

/// None: there was nothing to tell or nobody to tell it to.
fn tell(args: HookArgs, environment: &Environment) -> Option<()> {
    let mut said = Vec::new();
    // Read in any case: an agent may take a broken pipe for a failure.
    std::io::stdin().lock().take(MAX_SAID).read_to_end(&mut said).ok()?;
    environment.terminal_handle.as_ref()?;
    let said: Said = serde_json::from_slice(&said).ok()?;
    let report = HookReport {
        agent: args.agent,
        event: said.hook_event_name,
        tool_name: said.tool_name.unwrap_or_default(),
        tool_input: cut_chars(&shown_input(&said.tool_input), MAX_INPUT),
        is_interrupted: said.is_interrupt.unwrap_or_default(),
        session_id: said.session_id.unwrap_or_default(),
        transcript_path: said.transcript_path.unwrap_or_default(),
    };
    let request = Request {
        id: String::from("hook"),
        method: HookReport::METHOD.to_owned(),
        params: serde_json::to_value(report).ok()?,
        // It may be said again and again: there is nothing to answer from a receipt.
        request_id: None,
        origin: Origin {
            env_handle: environment.terminal_handle.clone(),
            env_pane: environment.pane_key.clone(),
            ..Origin::default()
        },
        contract: CONTRACT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    ask_running(&Place::of(environment), request, PATIENCE).ok().map(drop)
}

/// What a tool is given, as a person would name it: the command, the file, the address; else all of it.
fn shown_input(input: &Value) -> String {
    let named = ["command", "file_path", "path", "url"].iter().find_map(|name| input.get(name)?.as_str());
    match (named, input) {
        (Some(named), _) => named.to_owned(),
        (None, Value::Null) => String::new(),
        (None, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown_input;

    #[test]
    fn what_a_tool_is_given_is_named_briefly() {
        let check = |input: &str, expected: &str| {
            assert_eq!(shown_input(&serde_json::from_str(input).unwrap()), expected, "{input}");
        };
        check(r#"{"command":"touch x","description":"Make x"}"#, "touch x");
        check(r#"{"content":"…","file_path":"/a b"}"#, "/a b");
        check(r#"{"query":7}"#, r#"{"query":7}"#);
        check("null", "");
    }
}
