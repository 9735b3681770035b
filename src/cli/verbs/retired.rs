//! Commands of older builds whose work the coordinating agent does now (contract 2.8).

use crate::base::code::ErrorCode;
use crate::cli::verb::Session;
use crate::proto::error::ErrorBody;
use clap::Args;

/// Anything; nothing is done with it.
#[derive(Debug, Args)]
pub struct RetiredArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}

/// Says where the work went. Exit code 1.
pub fn run(args: &RetiredArgs, session: &mut Session<'_>) -> u8 {
    const GUIDE: [&str; 4] = ["skills", "get", "orchestration", "--full"];
    let message = "This command is retired: the agent that reads the guide coordinates. Nothing was done.";
    let error = ErrorBody::new(ErrorCode::OrchestrationMigrationRequired, message)
        .with("reason", "command_retired")
        .with("nextCommandArgs", GUIDE)
        .with("effectsApplied", false)
        .next_step(format!("orca {}", GUIDE.join(" ")));
    let is_json = session.is_json || args.rest.iter().any(|word| word == "--json");
    super::fail_local(error, is_json, &mut session.out)
}
