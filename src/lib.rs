//! One team of coding agents in one terminal. The crate's map, bottom to top:
//!
//! * [`base`]: ids, clock, codes, text, paths; knows nothing of the domain.
//! * [`model`]: what exists and what may happen: states, transitions, events, effects. Pure.
//! * [`store`]: redb behind typed doors.
//!
//! Imports point down only; `tests/tidy.rs` holds the exact table.

pub mod base;
pub mod model;
pub mod store;
