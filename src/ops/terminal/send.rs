//! `terminal send`: what a machine types.

use super::{is_alive, target};
use crate::base::code::ErrorCode;
use crate::ops::cx::{Act, Answer, Cx};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::reply;
use crate::proto::terminal::{SendReceipt, SentInput, TerminalSend};

const MAX_TEXT_BYTES: usize = 10 << 20;

/// `terminal send`: raw text, or with `--enter` into an agent one prompt with its Enter.
pub fn send(cx: &mut Cx<'_>, call: TerminalSend) -> Result<Answer, OpError> {
    let typed = call.text.clone().unwrap_or_default();
    if typed.is_empty() && !call.is_enter && !call.is_interrupt {
        return Err(invalid("Nothing to send: give --text, --enter or --interrupt."));
    }
    if typed.len() > MAX_TEXT_BYTES {
        return Err(invalid("--text is over 10 MiB; put the long text into a file and name it."));
    }
    let terminal = target(cx, call.terminal.as_deref())?;
    if !is_alive(&terminal) {
        return Err(refuse(
            ErrorCode::TerminalGone,
            format!("{} has ended; nothing reads there.", terminal.id),
        )
        .next_step("orca terminal list --json")
        .into());
    }
    let is_prompt = call.is_enter && !call.is_interrupt && !typed.is_empty() && terminal.agent.is_some();
    let bytes_written = if is_prompt {
        let n = typed.len() + 1;
        cx.act(Act::Prompt { terminal: terminal.id.clone(), text: typed });
        n
    } else {
        let mut bytes = typed.into_bytes();
        if call.is_enter {
            bytes.push(b'\r');
        }
        if call.is_interrupt {
            bytes.push(3);
        }
        let n = bytes.len();
        cx.act(Act::Type { terminal: terminal.id.clone(), bytes });
        n
    };
    reply(&SentInput {
        send: SendReceipt {
            handle: terminal.id,
            accepted: true,
            bytes_written,
            mode: String::from(if is_prompt { "prompt" } else { "text" }),
        },
    })
}
