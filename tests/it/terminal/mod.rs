//! The emulation against recordings of real programs and against hostile streams, through its public
//! door.

mod cells;
mod fixtures;
mod grammar;
mod laws;
mod recordings;
mod replies;
mod sequences;
mod sizes;
mod streams;
