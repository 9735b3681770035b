//! One terminal: its process, its emulation, its history. Nothing of the domain.
//!
//! The emulation is the unmodified `vt100` parser behind a tokenizer of our own ([`term`]). Bytes
//! from a program go in, rows of plain cells ([`snapshot`]), events and answers come out. No file of
//! the emulation does I/O or reads a clock.

pub mod archive;
mod area;
mod cells;
mod charset;
mod cluster;
pub mod color;
mod columns;
mod damage;
pub mod event;
pub mod export;
mod files;
pub mod history;
pub mod holder;
mod hooks;
pub mod journal;
mod keyframe;
pub mod keys;
mod level;
pub mod link;
pub mod modes;
mod osc;
mod overdraw;
pub mod page;
mod pen;
mod pending;
mod private;
mod replay;
mod reply;
mod resize;
pub mod revive;
mod rewrite;
pub mod row;
mod scan;
mod sgr;
mod skip;
mod slots;
pub mod snapshot;
mod state;
mod style;
mod tabs;
pub mod term;
mod text;
pub mod view;
pub mod wire;

use std::fmt;

/// What can go wrong around one terminal.
#[derive(Debug)]
pub enum PtyError {
    /// The operating system refused; `doing` says what was tried.
    Io { doing: &'static str, source: std::io::Error },
    /// A message or file of ours is not what it should be; `what` says which and why.
    Malformed { what: &'static str },
    /// The program of the terminal could not be started.
    Spawn { program: String, reason: String },
    /// The process that holds the terminal is gone.
    HolderGone,
}

impl PtyError {
    /// Makes the closure that wraps an I/O error, for `map_err`.
    pub fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for PtyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, source } => write!(f, "could not {doing}: {source}"),
            Self::Malformed { what } => write!(f, "malformed {what}"),
            Self::Spawn { program, reason } => write!(f, "could not start {program:?}: {reason}"),
            Self::HolderGone => f.write_str("the process that holds the terminal is gone"),
        }
    }
}

impl std::error::Error for PtyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Malformed { .. } | Self::Spawn { .. } | Self::HolderGone => None,
        }
    }
}
