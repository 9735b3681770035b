//! The single integration binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod contract;
mod crash;
mod fuzz;
mod holder;
mod hooks;
mod lifecycle;
mod mail;
mod model;
mod nudge;
mod places;
mod races;
mod reference;
mod replaced;
mod rig;
mod screens;
mod sessions;
mod shapes;
mod spool;
mod stops;
mod storage;
mod support;
mod surface;
mod terminal;
mod terminals;
mod told;
mod transcripts;
mod worktrees;
