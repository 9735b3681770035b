//! Time as a value that is handed in: the system's clock, or one that tests move by hand.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Milliseconds since 1970-01-01 UTC. Shown as ISO-8601 with `Z` (contract 1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment `ms` milliseconds later; stops at the end of time instead of wrapping.
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// Milliseconds from `earlier` to here; 0 when the clock went backwards.
    pub fn since_ms(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// The moment as `2026-11-30T05:00:00.000Z`.
    pub fn to_iso(self) -> String {
        let nanos = i128::from(self.0) * 1_000_000;
        let Ok(moment) = time::OffsetDateTime::from_unix_timestamp_nanos(nanos) else {
            return String::from("9999-12-31T23:59:59.999Z");
        };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second(),
            moment.millisecond()
        )
    }

    /// Reads what [`Timestamp::to_iso`] writes, and any other RFC 3339 moment.
    pub fn from_iso(text: &str) -> Option<Self> {
        let moment =
            time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok()?;
        i64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok().map(Self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_iso())
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Timestamp")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A moment in UTC.", "type": "string", "format": "date-time" })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_iso())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_iso(&text).ok_or_else(|| serde::de::Error::custom(format!("not a moment: {text:?}")))
    }
}

/// A source of the current moment.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands still until a test moves it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A hand-moved clock that starts at `start`.
    pub fn manual(start: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.0)))
    }

    /// The current moment.
    #[allow(clippy::disallowed_methods)] // the one place that asks the machine for the time
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                Timestamp(since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
            }
            Self::Manual(ms) => Timestamp(ms.load(Ordering::SeqCst)),
        }
    }

    /// Moves a hand-moved clock by `ms`, backwards if negative; the system's clock ignores it.
    pub fn advance_ms(&self, ms: i64) {
        if let Self::Manual(now) = self {
            now.fetch_add(ms, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_text_round_trips() {
        for ms in [0, 1, 1_796_014_800_123, -1] {
            let moment = Timestamp(ms);
            assert_eq!(Timestamp::from_iso(&moment.to_iso()), Some(moment), "{ms}");
        }
        assert_eq!(Timestamp(1_796_014_800_123).to_iso(), "2026-11-30T05:00:00.123Z");
    }

    #[test]
    fn ages_are_never_negative() {
        assert_eq!(Timestamp(5).since_ms(Timestamp(9)), 0);
        assert_eq!(Timestamp(9).since_ms(Timestamp(5)), 4);
    }
}
