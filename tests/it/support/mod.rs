//! What the tests stand on.

pub mod attempts;
pub mod sandbox;
pub mod schema;
pub mod wait;
pub mod words;
pub mod world;
