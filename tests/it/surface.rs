//! The whole surface of the command line, walked by its own tree, so that a new verb is held to the same.

use orca::cli::tree;
use orca::cli::verbs::schema::of_verb;

/// Verbs that print something else than one JSON document.
const WITHOUT_REPLY: &[&str] = &["demo", "attach", "server run"];

#[test]
fn every_verb_has_a_schema() {
    let verbs = tree::verbs();
    let without: Vec<String> =
        verbs.iter().map(tree::Verb::name).filter(|name| of_verb(name).is_none()).collect();
    assert_eq!(without, WITHOUT_REPLY, "derive JsonSchema for the reply, or name the verb here");
}
