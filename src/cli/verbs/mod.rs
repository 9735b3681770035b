//! The verbs by noun: flags as structs, replies as text.

pub mod run;

use super::verb::{self, Session};
use clap::Subcommand;

/// `orca orchestration …`.
#[derive(Debug, Subcommand)]
pub enum Orchestration {
    // Run
    /// Create a Run and bind this terminal to it.
    RunCreate(run::RunCreateArgs),
    /// Bind this terminal to an existing Run.
    RunUse(run::RunUseArgs),
    /// Show the Run this terminal is bound to.
    RunCurrent(run::RunCurrentArgs),
    /// List Runs, newest first.
    RunList(run::RunListArgs),
    /// Show one Run.
    RunShow(run::RunShowArgs),
    // Task

    // Dispatch

    // Worker

    // Mail

    // Gate

    // Request
}

/// Runs one orchestration verb.
pub fn orchestration(verb: &Orchestration, session: &mut Session<'_>) -> u8 {
    match verb {
        Orchestration::RunCreate(args) => verb::run(args, session),
        Orchestration::RunUse(args) => verb::run(args, session),
        Orchestration::RunCurrent(args) => verb::run(args, session),
        Orchestration::RunList(args) => verb::run(args, session),
        Orchestration::RunShow(args) => verb::run(args, session),
        // Task

        // Dispatch

        // Worker

        // Mail

        // Gate

        // Request
    }
}
