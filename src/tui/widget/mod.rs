//! Pieces that several screens are made of.

pub mod field;
pub mod text;
