//! The fields of the replies as the contract has them (`tests/fixtures/contract/shapes.txt`), looked up in
//! the schemas; that replies are as their schemas say is checked wherever one is printed.

use orca::cli::verbs::schema::of_verb;
use serde_json::Value;
use std::collections::BTreeMap;

const SHAPES: &str = include_str!("../fixtures/contract/shapes.txt");

/// The fields that a schema knows, whichever of its forms has them, with their schemas.
fn fields<'a>(all: &'a Value, schema: &'a Value) -> BTreeMap<&'a str, Vec<&'a Value>> {
    let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    if let Some(name) = schema["$ref"].as_str().and_then(|link| link.strip_prefix("#/$defs/")) {
        found.extend(fields(all, &all["$defs"][name]));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        found.entry(name).or_default().push(field);
    }
    let forms = ["allOf", "anyOf", "oneOf"].iter().filter_map(|form| schema[*form].as_array()).flatten();
    for form in forms.chain(schema.get("items")) {
        for (name, more) in fields(all, form) {
            found.entry(name).or_default().extend(more);
        }
    }
    found
}

/// The schemas of a field in any of these places.
fn below(all: &Value, places: &[Value], name: &str) -> Vec<Value> {
    places.iter().filter_map(|place| fields(all, place).remove(name)).flatten().cloned().collect()
}

#[test]
fn every_field_of_the_contract_is_in_the_schemas() {
    let mut faults = Vec::new();
    for line in SHAPES.lines().filter(|line| !line.starts_with('#')) {
        let (place, wanted) = line.split_once(": ").unwrap();
        let mut path = place.split(" > ");
        let verb = path.next().unwrap();
        let schema = of_verb(verb).unwrap_or_else(|| panic!("{verb} has no schema"));
        let whole = [schema.clone()];
        let mut places = below(&schema, &whole, "result");
        if places.is_empty() {
            // `ask` prints its result bare.
            places.extend(whole);
        }
        for name in path {
            places = below(&schema, &places, name);
        }
        for name in wanted.split(' ') {
            if below(&schema, &places, name).is_empty() {
                faults.push(format!("{place}: there is no {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
