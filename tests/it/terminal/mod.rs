//! The emulation against recordings of real programs and against hostile streams, through its public
//! door.

mod answers;
mod areas;
mod cells;
mod columns;
mod fixtures;
mod grammar;
mod keys;
mod laws;
mod pastes;
mod program;
mod recordings;
mod replies;
mod sequences;
mod sizes;
mod streams;
