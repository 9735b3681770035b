//! `request-show`: what became of a request id.

use super::cx::{Answer, Cx};
use super::error::{OpError, invalid};
use super::reply;
use crate::proto::request::{OneRequest, RequestRow, RequestShow};

/// `request-show`. A receipt belongs to who made it; the person at a plain shell sees their own.
pub fn show(cx: &mut Cx<'_>, call: RequestShow) -> Result<Answer, OpError> {
    if call.request.is_empty() || call.request.contains('\0') {
        return Err(invalid("--request must be a request id, as a reply shows it under mutation.requestId."));
    }
    let credential = cx.caller.credential.clone();
    let receipt = cx.tx.receipt(&credential, &call.request)?;
    let request = match receipt {
        Some(receipt) => RequestRow {
            id: receipt.id,
            state: receipt.state.to_string(),
            method: Some(receipt.method),
            receipt: receipt.result,
            created_at: Some(receipt.created_at),
            updated_at: Some(receipt.updated_at),
        },
        None => RequestRow {
            id: call.request,
            state: String::from("absent"),
            method: None,
            receipt: None,
            created_at: None,
            updated_at: None,
        },
    };
    reply(&OneRequest { request })
}
