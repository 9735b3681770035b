//! One team of coding agents in one terminal. The crate's map, bottom to top:
//!
//! * [`base`]: ids, clock, codes, text, paths; knows nothing of the domain.
//! * [`model`]: what exists and what may happen: states, transitions, events, effects. Pure.
//! * [`proto`]: the wire: calls, replies, row views, frames.
//! * [`store`]: redb behind typed doors.
//! * [`agent`]: what we know of each agent: presets, command lines, briefs, states. Data first.
//! * [`ops`]: one verb, one function; the rules of orchestration. No I/O, no async.
//! * [`config`]: settings and the environment, beside the layers; knows only `base`.
//! * [`git`]: local git work, beside the layers; knows only `base`.
//! * [`server`]: the daemon: the only async, the only owner of live things.
//! * [`client`]: talking to the daemon.
//! * [`tui`]: the attached client: a full screen over one connection.
//! * [`cli`]: the command line: parse, ask, print.
//!
//! Imports point down only; `tests/tidy.rs` holds the exact table.

pub mod agent;
pub mod base;
pub mod cli;
pub mod client;
pub mod config;
pub mod git;
pub mod model;
pub mod ops;
pub mod proto;
pub mod pty;
pub mod server;
pub mod store;
pub mod tui;
