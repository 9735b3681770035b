//! `orca schema`: what the replies look like, for scripts and agents. No server is asked.

use super::{completions, man, skills};
use crate::base::near::nearest;
use crate::base::text::{cut_chars, one_line};
use crate::cli::args::invalid;
use crate::cli::out::Out;
use crate::cli::tree;
use crate::model::event::Event;
use crate::proto::AnyCall;
use crate::proto::error::ErrorBody;
use crate::proto::schema::{Form, generator, printed, result_of};
use clap::Args;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The verbs that print something else than one JSON document.
const WITHOUT_REPLY: &[&str] = &["attach", "demo", "server run"];

/// Prints the JSON Schema of what a command prints with --json; without a command, of all of them.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca schema orchestration task-list")]
pub struct SchemaArgs {
    /// The command, with or without its group: `orchestration task-list` or `task-list` [default: all].
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
}

/// The reply of `schema`.
#[derive(Debug, Serialize, JsonSchema)]
struct Printed {
    /// The command; null for all of them.
    verb: Option<String>,
    /// A JSON Schema (draft 2020-12).
    schema: Value,
}

/// Runs `orca schema`. The schema itself in text mode, in the envelope with `--json`.
pub fn run(args: &SchemaArgs, is_json: bool, out: &mut Out<'_>) -> u8 {
    let wanted = args.verb.iter().flat_map(|words| words.split(' ')).collect::<Vec<_>>().join(" ");
    let found = match wanted.as_str() {
        "" => Ok(Printed { verb: None, schema: of_all() }),
        wanted => find(wanted),
    };
    match found {
        Ok(reply) => out.local(is_json, &reply, |reply| format!("{:#}\n", reply.schema)),
        Err(error) => super::fail_local(error, is_json, out),
    }
}

fn find(wanted: &str) -> Result<Printed, ErrorBody> {
    let verbs: Vec<String> = tree::verbs().iter().map(tree::Verb::name).collect();
    let shown = cut_chars(&one_line(wanted), 60);
    let whole: Vec<&String> = verbs.iter().filter(|name| name.as_str() == wanted).collect();
    let known = if whole.is_empty() {
        verbs.iter().filter(|name| name.ends_with(&format!(" {wanted}"))).collect()
    } else {
        whole
    };
    match known[..] {
        [name] => {
            let schema = of_verb(name).ok_or_else(|| {
                invalid(format!("orca {name} prints no JSON document."))
                    .next_step(format!("orca {name} --help"))
            })?;
            Ok(Printed { verb: Some(name.clone()), schema })
        }
        [] => Err(no_such(wanted, &shown, &verbs)),
        ref several => Err(several.iter().fold(
            invalid(format!("Several commands are named {shown:?}; say which group.")),
            |error, name| error.next_step(format!("orca schema {name}")),
        )),
    }
}

fn no_such(wanted: &str, shown: &str, verbs: &[String]) -> ErrorBody {
    let lasts = verbs.iter().filter_map(|name| name.split(' ').next_back());
    match nearest(wanted, verbs.iter().map(String::as_str).chain(lasts)) {
        Some(near) => invalid(format!("There is no command {shown:?}. Did you mean {near}?"))
            .with("suggestions", [near])
            .next_step(format!("orca schema {near}")),
        None => invalid(format!("There is no command {shown:?}; this prints what there is:"))
            .with("validCommands", verbs)
            .next_step("orca --help"),
    }
}

/// The schema of the document that one verb prints with `--json`; None where it prints none.
pub fn of_verb(name: &str) -> Option<Value> {
    let mut generator = generator();
    let schema = reply(name, &mut generator)?;
    Some(document(&format!("orca {name} --json"), &schema, &mut generator))
}

/// One schema for the replies of all verbs; each has its own under `$defs`, by its words joined with
/// dots.
fn of_all() -> Value {
    let mut generator = generator();
    let mut replies = Map::new();
    for name in tree::verbs().iter().map(tree::Verb::name) {
        if let Some(schema) = reply(&name, &mut generator) {
            replies.insert(name.replace(' ', "."), schema);
        }
    }
    let any: Vec<Value> = replies.keys().map(|key| json!({ "$ref": format!("#/$defs/{key}") })).collect();
    let mut schema = document("orca --json", &json!({ "anyOf": any }), &mut generator);
    if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
        definitions.extend(replies);
    }
    schema
}

fn document(title: &str, schema: &Value, generator: &mut SchemaGenerator) -> Value {
    let mut document = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title });
    if let (Value::Object(document), Value::Object(schema)) = (&mut document, schema) {
        document.extend(schema.clone());
        document.insert(String::from("$defs"), Value::Object(generator.take_definitions(true)));
    }
    document
}

fn reply(name: &str, generator: &mut SchemaGenerator) -> Option<Value> {
    let (form, result) = local(name, generator).or_else(|| served(name, generator))?;
    Some(printed(form, &result, generator))
}

/// What a server answers, by the method that the verb calls.
fn served(name: &str, generator: &mut SchemaGenerator) -> Option<(Form, Schema)> {
    if WITHOUT_REPLY.contains(&name) {
        return None;
    }
    let method = match name {
        "status" | "open" | "server start" | "server restart" | "server status" => "status.get",
        "server stop" => "server.stop",
        _ => {
            let letters =
                |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
            let wanted = letters(name);
            AnyCall::METHODS.iter().find(|method| letters(method).eq_ignore_ascii_case(&wanted))?
        }
    };
    let form = if name == "orchestration ask" { Form::Bare } else { Form::Enveloped };
    Some((form, result_of(method, generator)?))
}

/// What no server is asked for.
fn local(name: &str, generator: &mut SchemaGenerator) -> Option<(Form, Schema)> {
    Some(match name {
        // One document a line.
        "events" => (Form::Bare, generator.subschema_for::<Event>()),
        "completions" => (Form::Enveloped, generator.subschema_for::<completions::Script>()),
        "man" => (Form::Enveloped, generator.subschema_for::<man::Manual>()),
        "schema" => (Form::Enveloped, generator.subschema_for::<Printed>()),
        "skills list" => (Form::Bare, generator.subschema_for::<skills::Topics>()),
        "skills get" => (Form::Bare, generator.subschema_for::<skills::Got>()),
        "skills install" | "skills update" => {
            (Form::Either, generator.subschema_for::<skills::Installation>())
        }
        _ => return None,
    })
}
