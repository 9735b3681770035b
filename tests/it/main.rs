//! The single integration binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod holder;
mod support;
mod terminal;
mod transcripts;
