//! JSON Schema of the replies, made from the reply types themselves: what a script may rely on. A
//! later version may add fields, so the schemas allow more than they name.

use super::envelope::{Meta, Mutation};
use super::error::ErrorBody;
use super::fleet::{CARRIERS, Fleet};
use super::mail::{Ask, BrokenOff};
use super::server::{ServerStop, StatusGet};
use super::spool::{Queued, is_carried};
use super::{AnyCall, Call};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// How a reply is printed with `--json` (contract 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Under `result` of the envelope.
    Enveloped,
    /// By itself; only a failure has the envelope.
    Bare,
    /// One or the other, by what was asked for.
    Either,
}

/// A generator that collects definitions under `$defs`; of what is written, not of what is read.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// The schema of what comes back under `result` for `method`; None for a method that there is not.
pub fn result_of(method: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
    match method {
        StatusGet::METHOD => Some(generator.subschema_for::<<StatusGet as Call>::Reply>()),
        ServerStop::METHOD => Some(generator.subschema_for::<<ServerStop as Call>::Reply>()),
        _ => {
            let reply = AnyCall::reply_schema(method, generator)?;
            let reply = match method {
                Ask::METHOD => {
                    json_schema!({ "anyOf": [reply, generator.subschema_for::<BrokenOff>()] })
                }
                method if is_carried(method) => {
                    json_schema!({ "anyOf": [reply, generator.subschema_for::<Queued>()] })
                }
                _ => reply,
            };
            let mut added = json!({ "mutation": generator.subschema_for::<Mutation>() });
            if CARRIERS.contains(&method) {
                added["fleet"] = json!(generator.subschema_for::<Fleet>());
            }
            Some(json_schema!({ "allOf": [reply, { "properties": added }] }))
        }
    }
}

/// The schema of the whole document that a command prints with `--json`, success or failure.
pub fn printed(form: Form, result: &Schema, generator: &mut SchemaGenerator) -> Value {
    let meta = generator.subschema_for::<Meta>();
    let bare = result.as_value().clone();
    let enveloped = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "ok": { "const": true }, "result": result, "_meta": meta },
        "required": ["id", "ok", "result", "_meta"],
    });
    let failure = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "ok": { "const": false },
            "error": generator.subschema_for::<ErrorBody>(),
            "_meta": meta,
        },
        "required": ["id", "ok", "error", "_meta"],
    });
    match form {
        Form::Enveloped => json!({ "anyOf": [enveloped, failure] }),
        Form::Bare => json!({ "anyOf": [bare, failure] }),
        Form::Either => json!({ "anyOf": [bare, enveloped, failure] }),
    }
}
