//! argv in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<std::ffi::OsString> = std::env::args_os().collect();
    match orca::cli::parse(&argv) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => error.exit(),
    }
}
