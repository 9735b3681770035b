//! The spool: calls as files, for when no server can be reached (design 6, 7.2).
//!
//! A spool directory holds `<name>.call` files; `replies/<name>.call` is what a server answered to one,
//! `rejected/` what no server could read, each with its reason in `<name>.why`. Names sort in the order
//! of writing. A call whose file its writer holds open is waited for; any other is taken in by
//! whichever server comes next.

use super::Call as _;
use super::envelope::Request;
use super::mail::{Ask, Check, Reply, Send};
use crate::base::clock::Timestamp;
use crate::base::code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of a call's file; a server leaves one that it does not know where it is.
pub const SPOOL_VERSION: u32 = 1;
/// How the names of calls end.
pub const CALL_ENDING: &str = ".call";
/// The folder of answers.
pub const REPLIES: &str = "replies";
/// The folder of what could not be read.
pub const REJECTED: &str = "rejected";
/// The most calls that wait in one directory.
pub const MAX_CALLS: usize = 512;
/// The longest file of a call, in bytes: the longest message with every character escaped.
pub const MAX_CALL_BYTES: u64 = 8 << 20;
/// The most bytes that wait in one directory.
pub const MAX_SPOOL_BYTES: u64 = 64 << 20;
/// The exit code of a command whose call is kept for the next server: try again later is not needed, it
/// happens by itself (`EX_TEMPFAIL`).
pub const QUEUED_EXIT: u8 = 75;

/// A call in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpooledCall {
    pub version: u32,
    /// When it was made; a message in it is as old as this.
    pub written_at: Timestamp,
    /// With the durable request id: it takes effect once, however often it is taken in.
    pub request: Request,
}

/// Only the version, for a file of another one.
#[derive(Debug, Deserialize)]
pub struct SpoolVersion {
    pub version: u32,
}

/// What a command says whose call is kept: `result` of its envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    /// Always true.
    pub queued: bool,
    pub request_id: String,
    pub queued_at: Timestamp,
    /// Where it lies until a server takes it in.
    pub file: String,
    /// Why no server took it.
    pub reason: String,
    /// What starts a server, and what gets the answer then.
    pub next_steps: Vec<String>,
}

/// Whether a call is worth keeping for a server that comes later: mail that somebody else waits for,
/// and acknowledgements. Taking mail is not: nobody would be there to read it.
pub fn is_kept(request: &Request) -> bool {
    match request.method.as_str() {
        Send::METHOD | Reply::METHOD | Ask::METHOD => true,
        Check::METHOD => request.params.get("ack").is_some_and(Value::is_string),
        _ => false,
    }
}

/// Whether a refusal is about the state of the server and not about the call.
pub fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::StoreUnwritable | ErrorCode::StoreDamaged | ErrorCode::MutationLedgerFull)
}

/// Whether a call passes through files at all.
pub fn is_carried(method: &str) -> bool {
    matches!(method, Send::METHOD | Reply::METHOD | Ask::METHOD | Check::METHOD)
}

/// The name of a call's file: the moment in milliseconds, a counter for those of the same
/// millisecond, and something of its own.
pub fn call_name(moment_ms: u64, counter: u32, own: &str) -> String {
    format!("{moment_ms:015}-{counter:06}-{own}{CALL_ENDING}")
}

/// The moment and counter in a name that [`call_name`] made.
pub fn order_of(name: &str) -> Option<(u64, u32)> {
    let mut parts = name.strip_suffix(CALL_ENDING)?.splitn(3, '-');
    let (moment, counter) = (parts.next()?, parts.next()?);
    parts.next()?;
    Some((moment.parse().ok()?, counter.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::envelope::{CONTRACT_VERSION, Origin};
    use serde_json::json;

    fn request(method: &str, params: Value) -> Request {
        let (request_id, origin, version) = (None, Origin::default(), String::new());
        let (id, method) = (String::from("r"), method.to_owned());
        Request { id, method, params, request_id, origin, contract: CONTRACT_VERSION, version }
    }

    #[test]
    fn names_sort_as_they_were_written() {
        let names =
            [call_name(9, 0, "z"), call_name(10, 0, "b"), call_name(10, 1, "a"), call_name(11, 0, "a")];
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(order_of(&names[2]), Some((10, 1)));
        for other in ["", "a.call", "1-2.call", "1-2-3", "rejected"] {
            assert_eq!(order_of(other), None, "{other}");
        }
    }

    #[test]
    fn mail_and_acknowledgements_are_kept_and_nothing_else() {
        let check = |method: &str, params: Value, kept: bool, carried: bool| {
            assert_eq!(is_kept(&request(method, params)), kept, "{method}");
            assert_eq!(is_carried(method), carried, "{method}");
        };
        check("orchestration.send", json!({}), true, true);
        check("orchestration.reply", json!({}), true, true);
        check("orchestration.ask", json!({}), true, true);
        check("orchestration.check", json!({"ack": "dlv_1"}), true, true);
        check("orchestration.check", json!({"ack": null}), false, true);
        check("orchestration.taskCreate", json!({}), false, false);
        check("status.get", Value::Null, false, false);
    }
}
