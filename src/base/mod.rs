//! The leaf layer: names, time, text and geometry that every other layer may use.
//!
//! Nothing here knows what a Task or a Dispatch is. The modules re-export nothing; name them in full.

pub mod clock;
pub mod code;
pub mod grid;
pub mod id;
pub mod input;
pub mod lock;
pub mod near;
pub mod path;
pub mod private;
pub mod report;
pub mod sched;
pub mod size;
pub mod text;
