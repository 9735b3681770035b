//! Identifiers: one type per noun, so that a task id can never be passed for a dispatch id.
//!
//! Generated ids are `<prefix>_` and 12 lowercase hex digits (contract 1.2). They come from an
//! [`IdSource`], which tests seed; nothing else in the program makes ids.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Says why a text is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    /// The noun that was expected, for example `task`.
    pub noun: &'static str,
    /// The text as it was given, cut to 80 characters.
    pub given: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a {} id", self.given, self.noun)
    }
}

impl std::error::Error for BadId {}

fn is_id_text(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, $noun:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text in front of the hex digits.
            pub const PREFIX: &'static str = $prefix;

            /// Parses text that names this noun: the prefix and at least one more character.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                let rest = text.strip_prefix(concat!($prefix, "_"));
                match rest {
                    Some(rest) if is_id_text(rest) => Ok(Self(text.to_owned())),
                    _ => Err(BadId { noun: $noun, given: text.chars().take(80).collect() }),
                }
            }

            /// Makes a fresh id.
            pub fn new(source: &mut dyn IdSource) -> Self {
                Self(format!(concat!($prefix, "_{:012x}"), source.next_bits() & 0xffff_ffff_ffff))
            }

            /// The id as it is shown and stored.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::parse(text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": concat!("The id of a ", $noun, "."),
                    "type": "string",
                    "pattern": concat!("^", $prefix, "_[A-Za-z0-9_.:-]+$"),
                })
            }
        }
    )*};
}

ids! {
    /// A Run: the namespace of Tasks and the coordinator's inbox.
    RunId = "run", "run";
    /// A Task: a unit of work that outlives its attempts.
    TaskId = "task", "task";
    /// A Dispatch: one attempt at a Task.
    DispatchId = "ctx", "dispatch";
    /// A Message. A Question has the id of the message that asked it.
    MessageId = "msg", "message";
    /// A Gate: a decision that blocks a Task.
    GateId = "gate", "gate";
    /// A frozen batch of Run mail.
    DeliveryId = "delivery", "delivery";
    /// The ownership record of a worker's terminal.
    ResourceId = "wtr", "terminal resource";
    /// A terminal handle.
    TerminalId = "term", "terminal";
    /// A registered repository or folder.
    RepoId = "repo", "repo";
    /// An effect that was requested and whose outcome is recorded under the same id.
    EffectId = "fx", "effect";
    /// One process in one terminal; a new one for every spawn.
    IncarnationId = "inc", "process incarnation";
}

/// Where fresh ids, proofs and UUIDs come from.
pub trait IdSource: Send {
    /// 64 fresh bits. Ids use the low 48.
    fn next_bits(&mut self) -> u64;
}

/// Bits from the operating system.
#[derive(Debug, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn next_bits(&mut self) -> u64 {
        let mut bytes = [0_u8; 8];
        if getrandom::fill(&mut bytes).is_err() {
            // Without a random device, uniqueness still holds through UUIDv4's own fallback.
            return uuid::Uuid::new_v4().as_u64_pair().0;
        }
        u64::from_le_bytes(bytes)
    }
}

/// Predictable bits for tests: 1, 2, 3 and so on.
#[derive(Debug, Clone, Default)]
pub struct CountingIds(pub u64);

impl IdSource for CountingIds {
    fn next_bits(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// Makes the 8-character proof of a Dispatch (contract 1.2). It prevents mistakes; it is no wall
/// against a hostile process of the same user (design 6).
pub fn new_proof(source: &mut dyn IdSource) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let mut bits = source.next_bits();
    (0..8)
        .map(|_| {
            let index = (bits & 31) as usize;
            bits >>= 5;
            char::from(ALPHABET[index])
        })
        .collect()
}

/// A pane key `<tabId>:<leafId>`; two keys are equivalent when their leaves are equal, even if the
/// tab part changed (contract 1.2). A key without a colon needs exact equality.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PaneKey(String);

impl PaneKey {
    /// Builds the key of a leaf in a tab.
    pub fn new(tab: &str, leaf: &str) -> Self {
        Self(format!("{tab}:{leaf}"))
    }

    /// Takes a key as it was given from outside.
    pub fn from_text(text: &str) -> Self {
        Self(text.chars().filter(|c| !c.is_control()).take(200).collect())
    }

    /// The key as it is shown and stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The leaf part, where there is one.
    pub fn leaf(&self) -> Option<&str> {
        self.0.rsplit_once(':').map(|(_, leaf)| leaf).filter(|leaf| !leaf.is_empty())
    }

    /// Says whether both keys name the same pane.
    pub fn is_same_pane(&self, other: &Self) -> bool {
        match (self.leaf(), other.leaf()) {
            (Some(a), Some(b)) => a == b,
            _ => self.0 == other.0,
        }
    }
}

impl fmt::Display for PaneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_prefix_and_twelve_hex_digits() {
        let mut ids = CountingIds(0xab);
        assert_eq!(TaskId::new(&mut ids).as_str(), "task_0000000000ac");
        assert_eq!(DispatchId::new(&mut ids).as_str(), "ctx_0000000000ad");
    }

    #[test]
    fn parsing_refuses_other_nouns_and_odd_characters() {
        assert!(TaskId::parse("task_abc").is_ok());
        for bad in ["", "task_", "ctx_abc", "task_a b", "task_\u{1b}[2J", "task_a\n"] {
            assert!(TaskId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn pane_keys_are_compared_by_leaf() {
        assert!(PaneKey::new("t1", "aa").is_same_pane(&PaneKey::new("t2", "aa")));
        assert!(!PaneKey::new("t1", "aa").is_same_pane(&PaneKey::new("t1", "bb")));
        assert!(PaneKey::from_text("odd").is_same_pane(&PaneKey::from_text("odd")));
    }

    #[test]
    fn proofs_are_eight_plain_characters() {
        let proof = new_proof(&mut SystemIds);
        assert_eq!(proof.len(), 8);
        assert!(proof.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    }
}
