//! A command line verb and the one driver that runs them all.

use super::out::Out;
use super::tone::plain;
use super::transport::Transport;
use crate::base::code::ErrorCode;
use crate::base::text::{many_lines, one_line};
use crate::client::Unanswered;
use crate::proto::Call;
use crate::proto::envelope::{CONTRACT_VERSION, Origin, Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::spool::{QUEUED_EXIT, Queued};
use serde_json::Value;
use std::path::Path;

use std::ffi::OsString;

/// What a verb knows of where it was called.
pub struct Session<'a> {
    pub transport: &'a mut dyn Transport,
    pub out: Out<'a>,
    pub is_json: bool,
    /// The command line, for the help that an error points to.
    pub argv: &'a [OsString],
    /// The home directory.
    pub home: &'a Path,
    /// What the environment says of the caller.
    pub origin: Origin,
    /// Makes the id of a request that carries none.
    pub new_request_id: &'a mut dyn FnMut() -> String,
}

/// The lines that a waiting call writes to standard error (contract 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// The longest wait that was asked for, in milliseconds.
    pub deadline_ms: Option<u64>,
}

/// One verb of the command line: its flags as a struct.
pub trait Verb {
    type Call: Call;
    /// The call these flags mean.
    fn call(&self) -> Result<Self::Call, ErrorBody>;
    /// The reply for a person.
    fn text(&self, reply: &<Self::Call as Call>::Reply) -> String;
    /// The exit code of a success (contract 2.2).
    fn exit(&self, _reply: &<Self::Call as Call>::Reply) -> u8 {
        0
    }
    /// The `--json` reply is printed bare on one line, without the envelope (contract 2.2: `ask`).
    fn is_bare(&self) -> bool {
        false
    }
    /// The `--json` result also has the text, under `formatted` (contract 2.9: `check --format`).
    fn is_formatted(&self) -> bool {
        false
    }
    /// How a waiting call says on standard error that it still waits.
    fn keepalive(&self) -> Option<Keepalive> {
        None
    }
    /// The result where no server answered and that is no error: `ask` (contract 4.11).
    fn without_answer(&self, _unanswered: &Unanswered) -> Option<Value> {
        None
    }
    /// The directory that the call is about, where it is not the working directory; a relative one
    /// begins there.
    fn directory(&self) -> Option<&str> {
        None
    }
    /// `--no-fleet`.
    fn is_fleet_unwanted(&self) -> bool {
        false
    }
    /// `--retry-request`.
    fn retry_request(&self) -> Option<&str> {
        None
    }
}

/// Runs a verb: call, `--json` or text, exit code.
pub fn run<V: Verb>(verb: &V, session: &mut Session<'_>) -> u8 {
    let call = match verb.call() {
        Ok(call) => call,
        Err(error) => return fail(session, &Response::new("local", None, Err(error))),
    };
    if let Some(directory) = verb.directory() {
        let here = session.origin.cwd.take().unwrap_or_default();
        session.origin.cwd = Some(Path::new(&here).join(directory).to_string_lossy().into_owned());
    }
    session.origin.is_fleet_unwanted = verb.is_fleet_unwanted();
    let mut response = match ask(&call, verb.retry_request(), verb.keepalive(), session) {
        Ok(response) => response,
        Err(unanswered) => return without_answer(verb, &unanswered, session),
    };
    let reply = match (&response.result, response.ok) {
        (Some(result), true) => serde_json::from_value::<<V::Call as Call>::Reply>(result.clone()),
        (_, _) => return fail(session, &response),
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            return fail(session, &misunderstood(&response, &error));
        }
    };
    if session.is_json && verb.is_bare() {
        let line = response.result.map(|result| result.to_string()).unwrap_or_default();
        session.out.data(&format!("{}\n", super::out::escape_controls(&line)));
    } else if session.is_json {
        if let Some(Value::Object(result)) = response.result.as_mut().filter(|_| verb.is_formatted()) {
            result.insert(String::from("formatted"), Value::from(plain(&verb.text(&reply))));
        }
        session.out.json(&response);
    } else {
        let mut text = verb.text(&reply);
        if let Some(fleet) = response.result.as_ref().and_then(super::fleet::text) {
            text = if text.is_empty() { fleet } else { format!("{}\n{fleet}", text.trim_end()) };
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        session.out.words(&text);
    }
    verb.exit(&reply)
}

/// A reply in a shape that this build does not know.
pub fn misunderstood(response: &Response, error: &serde_json::Error) -> Response {
    let body = ErrorBody::new(
        ErrorCode::IncompatibleRuntime,
        format!("The server's reply does not have the shape this orca knows: {error}."),
    )
    .next_step("orca server restart");
    Response::new(&response.id, response.meta.runtime_id.as_deref(), Err(body))
}

/// Prints what became of a call that no server answered. Gives the exit code: 75 where it is kept, else 1,
/// as for an `ask` that was on its way (contract 4.11). To a person it is talk, not data.
fn without_answer<V: Verb>(verb: &V, unanswered: &Unanswered, session: &mut Session<'_>) -> u8 {
    let result = verb.without_answer(unanswered);
    let code = if unanswered.queued.is_some() { QUEUED_EXIT } else { 1 };
    match (result, &unanswered.queued) {
        (Some(result), _) if session.is_json => session.out.data(&format!("{result}\n")),
        (_, Some(queued)) if session.is_json => {
            session.out.json(&Response::new("local", None, Ok(serde_json::json!(queued))));
        }
        (_, Some(queued)) => session.out.talk(queued_text(queued).trim_end()),
        (Some(_), None) | (None, None) => {
            return fail(session, &Response::new("local", None, Err(unanswered.error.clone())));
        }
    }
    code
}

/// What a person or agent reads whose call is kept.
fn queued_text(queued: &Queued) -> String {
    let mut text = format!(
        "queued: {}\nThe call is kept in {} and takes effect, once and with its own time, as soon as a server runs. Do not send it again.\n",
        many_lines(&queued.reason),
        one_line(&queued.file)
    );
    for step in &queued.next_steps {
        text.push_str(&format!("  try: {}\n", one_line(step)));
    }
    text
}

/// Sends a call of a verb that prints its reply itself. No answer is a response like any other.
pub fn answer<C: Call>(call: &C, session: &mut Session<'_>) -> Response {
    ask(call, None, None, session)
        .unwrap_or_else(|unanswered| Response::new("local", None, Err(unanswered.error)))
}

/// Sends a call and brings the response.
///
/// While a call with a `keepalive` waits, one JSON line goes to standard error from time to time.
fn ask<C: Call>(
    call: &C,
    retry_request: Option<&str>,
    keepalive: Option<Keepalive>,
    session: &mut Session<'_>,
) -> Result<Response, Box<Unanswered>> {
    let params = match serde_json::to_value(call) {
        Ok(params) => params,
        Err(error) => {
            return Ok(Response::new("local", None, Err(ErrorBody::bad_params(C::METHOD, &error))));
        }
    };
    let request_id = retry_request.map_or_else(&mut session.new_request_id, str::to_owned);
    let request = Request {
        id: request_id.clone(),
        method: C::METHOD.to_owned(),
        params,
        request_id: Some(request_id),
        origin: session.origin.clone(),
        contract: CONTRACT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let out = &mut session.out;
    let mut on_keepalive = |elapsed_ms: u64| {
        if let Some(Keepalive { deadline_ms }) = keepalive {
            let line = serde_json::json!({
                "_keepalive": true, "_heartbeat": true, "elapsedMs": elapsed_ms, "deadlineMs": deadline_ms
            });
            out.talk(&line.to_string());
        }
    };
    session.transport.call(request, &mut on_keepalive)
}

/// Prints a failure; a bad argument without a next step of its own points to the verb's help. Exit
/// code 1.
pub fn fail(session: &mut Session<'_>, response: &Response) -> u8 {
    let mut response = response.clone();
    let needs_step =
        |error: &ErrorBody| error.code == ErrorCode::InvalidArgument && error.next_steps().is_empty();
    response.error = response
        .error
        .map(|error| if needs_step(&error) { error.next_step(super::help_of(session.argv)) } else { error });
    super::verbs::print_failure(&response, session.is_json, &mut session.out)
}
