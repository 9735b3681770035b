//! argv in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // The holder starts before anything else is set up: there is one for every terminal.
    if argv.get(1).is_some_and(|word| word == "holder") {
        return ExitCode::from(orca::pty::holder::main(argv.get(2..).unwrap_or_default()));
    }
    ExitCode::from(orca::cli::main(&argv))
}
