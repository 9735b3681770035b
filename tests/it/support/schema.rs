//! Every reply that a test sees is held against the schema that `orca schema` prints.

use orca::cli::tree;
use orca::cli::verbs::schema::of_verb;
use orca::proto::schema::{generator, result_of};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

thread_local! {
    static KNOWN: RefCell<BTreeMap<String, Rc<jsonschema::Validator>>> = const { RefCell::new(BTreeMap::new()) };
}

fn known(key: &str, make: impl FnOnce() -> Value) -> Rc<jsonschema::Validator> {
    let made = KNOWN.with_borrow(|known| known.get(key).cloned());
    made.unwrap_or_else(|| {
        let validator = jsonschema::options().should_validate_formats(true).build(&make()).unwrap();
        let validator = Rc::new(validator);
        KNOWN.with_borrow_mut(|known| known.insert(key.to_owned(), Rc::clone(&validator)));
        validator
    })
}

/// Nothing but what the schema names: a field that no schema knows is one that no script may use.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for value in fields.values_mut() {
                *value = closed(value.take());
            }
            let is_open = !fields.contains_key("additionalProperties") && !fields.contains_key("allOf");
            if is_open && fields.contains_key("properties") && fields.contains_key("type") {
                fields.insert(String::from("additionalProperties"), json!(false));
            }
        }
        Value::Array(values) => {
            for value in values {
                *value = closed(value.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

fn hold(validator: &jsonschema::Validator, what: &str, value: &Value) {
    let faults: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(faults.is_empty(), "{what} does not have its schema:\n{}\n{value:#}", faults.join("\n"));
}

/// Holds what comes back under `result` against the schema of `method`.
pub fn check_result(method: &str, result: &Value) {
    let validator = known(method, || {
        let mut generator = generator();
        let reply = result_of(method, &mut generator).unwrap_or_else(|| panic!("{method} has no schema"));
        let mut reply = reply.as_value()["allOf"][0].clone();
        reply["$defs"] = Value::Object(generator.take_definitions(true));
        closed(reply)
    });
    let mut result = result.clone();
    if let Value::Object(fields) = &mut result {
        fields.remove("mutation");
        fields.remove("fleet");
    }
    hold(&validator, method, &result);
}

/// Holds what a command line printed with `--json` against the schema of its verb.
pub fn check_printed(words: &[String], stdout: &str) {
    let verbs = tree::verbs();
    let is_called =
        |verb: &&tree::Verb| words.len() > verb.path.len() && words[1..=verb.path.len()] == verb.path;
    let Some(verb) = verbs.iter().find(is_called) else { return };
    let name = verb.name();
    let document: Value = serde_json::from_str(stdout)
        .unwrap_or_else(|error| panic!("{name} --json printed no single document: {error}\n{stdout}"));
    let validator = known(&name, || of_verb(&name).unwrap_or_else(|| panic!("{name} has no schema")));
    hold(&validator, &name, &document);
}
