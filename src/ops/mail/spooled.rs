//! Calls that were kept as files while no server could be reached, where they came to nothing: nobody
//! waits for the refusal any more, so it becomes mail for the person (design 7.2).

use super::{NewMessage, post};
use crate::base::id::DispatchId;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::request::{Receipt, RequestState};
use crate::ops::cx::Cx;
use crate::ops::error::OpError;
use crate::proto::error::ErrorBody;
use crate::proto::spool::SpooledCall;
use serde_json::{Value, json};

/// The most characters of a refused call that are shown.
const MAX_SHOWN_CHARS: usize = 20_000;

/// Keeps a refused call where the person sees it, once however often this is asked.
pub fn refused(cx: &mut Cx<'_>, call: &SpooledCall, error: &ErrorBody) -> Result<(), OpError> {
    let request = &call.request;
    let id = format!("refused {}", request.request_id.as_deref().unwrap_or(&request.id));
    let credential = cx.caller.credential.clone();
    if cx.tx.receipt(&credential, &id)?.is_some() {
        return Ok(());
    }
    let verb = request.method.rsplit('.').next().unwrap_or_default();
    let said = |name: &str| request.params.get(name).and_then(Value::as_str).unwrap_or_default();
    let what = [said("subject"), said("question"), said("body")].into_iter().find(|text| !text.is_empty());
    let title = text::cut_chars(&text::one_line(what.unwrap_or_default()), 120);
    let steps: String = error.next_steps().iter().map(|step| format!("\nTry: {step}")).collect();
    let shown = serde_json::to_string_pretty(&without_proof(&request.params)).unwrap_or_default();
    let body = format!(
        "This {verb} was kept while no server could be reached, and was refused now: {}{steps}\n\nIt was sent {} and said:\n{}",
        error.message,
        call.written_at,
        text::cut_chars(&shown, MAX_SHOWN_CHARS)
    );
    let dispatch = about(cx, &request.params)?;
    let (run_id, dispatch_id) = match dispatch {
        Some(dispatch) => (Some(dispatch.run_id), Some(dispatch.id)),
        None => (None, None),
    };
    let message = post(
        cx,
        NewMessage {
            run_id,
            dispatch_id,
            payload: Some(
                json!({ "code": error.code, "requestId": request.request_id, "method": request.method }),
            ),
            ..NewMessage::for_person(format!("Refused after an outage ({}): {title}", error.code), body)
        },
    )?;
    cx.tx.put_receipt(&Receipt {
        id,
        caller: credential,
        method: request.method.clone(),
        params_hash: String::new(),
        state: RequestState::Completed,
        result: Some(json!({ "messageId": message.id })),
        wait: None,
        created_at: cx.now,
        updated_at: cx.now,
    })?;
    Ok(())
}

/// Tells the person of a file that is no call.
pub fn unreadable(cx: &mut Cx<'_>, path: &str, why: &str) -> Result<(), OpError> {
    let body = format!(
        "A report or other call that was kept while no server could be reached cannot be read: {}.\nIt lies in {}\nLook: head -c 2000 {}",
        text::one_line(why),
        text::one_line(path),
        text::shell_quote(path)
    );
    let subject = String::from("A queued call cannot be read");
    post(cx, NewMessage::for_person(subject, body)).map(drop)
}

/// The attempt that a call is about, by its payload.
fn about(cx: &Cx<'_>, params: &Value) -> Result<Option<Dispatch>, OpError> {
    let named = params.get("payload").and_then(|payload| payload.get("dispatchId")).and_then(Value::as_str);
    match named.and_then(|id| DispatchId::parse(id).ok()) {
        Some(id) => Ok(cx.tx.get::<Dispatch>(id.as_str())?),
        None => Ok(None),
    }
}

fn without_proof(params: &Value) -> Value {
    match params {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, value)| *name != "proof" && !value.is_null());
            Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    }
}
