//! The single integration binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod crash;
mod holder;
mod lifecycle;
mod mail;
mod rig;
mod screens;
mod support;
mod surface;
mod terminal;
mod terminals;
mod transcripts;
