//! Sizes and rectangles in character cells.

use serde::{Deserialize, Serialize};

/// The size of a terminal; never below 2 columns and 1 row, because the parser underneath is not safe
/// in one column (`terminal.md` 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "RawSize")]
pub struct TermSize {
    n_rows: u16,
    n_cols: u16,
}

#[derive(Deserialize)]
struct RawSize {
    n_rows: u16,
    n_cols: u16,
}

impl From<RawSize> for TermSize {
    fn from(raw: RawSize) -> Self {
        Self::clamped(raw.n_rows, raw.n_cols)
    }
}

impl TermSize {
    /// The largest number of rows or columns a terminal may have.
    pub const MAX: u16 = 1_000;

    /// A size of `n_rows` by `n_cols`, moved into 1..=1000 and 2..=1000.
    pub fn clamped(n_rows: u16, n_cols: u16) -> Self {
        Self { n_rows: n_rows.clamp(1, Self::MAX), n_cols: n_cols.clamp(2, Self::MAX) }
    }

    /// Number of rows.
    pub fn n_rows(self) -> u16 {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(self) -> u16 {
        self.n_cols
    }
}

impl Default for TermSize {
    fn default() -> Self {
        Self { n_rows: 24, n_cols: 80 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_clamped_even_when_read_from_json() {
        assert_eq!(TermSize::clamped(0, 5_000), TermSize { n_rows: 1, n_cols: 1_000 });
        let read: TermSize = serde_json::from_str(r#"{"n_rows":0,"n_cols":1}"#).unwrap();
        assert_eq!(read, TermSize::clamped(1, 2));
    }
}
