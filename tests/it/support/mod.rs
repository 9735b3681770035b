//! What the tests stand on.

pub mod wait;
pub mod world;
