//! `orca man`: manual pages, one for each command, made of the same words as the help. No server is
//! asked.

use crate::base::code::ErrorCode;
use crate::cli::out::Out;
use crate::cli::{EXIT_CODES, tree};
use crate::config::env::VARIABLES;
use crate::proto::error::ErrorBody;
use clap::{Args, Command};
use clap_mangen::Man;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Prints the manual page of orca, or writes those of all commands into a directory.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca man --dir ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write orca.1, orca-orchestration-run-create.1 and so on into this directory; it is made if absent
    /// [default: print orca.1].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The reply of `man`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Manual {
    /// One page, as roff.
    Page { page: String, roff: String },
    /// The files that were written.
    Written { dir: String, pages: Vec<String> },
}

impl Manual {
    fn text(&self) -> String {
        match self {
            Self::Page { roff, .. } => roff.clone(),
            Self::Written { dir, pages } => format!("wrote {} pages into {dir}\n", pages.len()),
        }
    }
}

/// Runs `orca man`.
pub fn run(args: &ManArgs, is_json: bool, out: &mut Out<'_>) -> u8 {
    let manual = match &args.dir {
        None => page(tree::root()).map(|roff| Manual::Page { page: String::from("orca.1"), roff }),
        Some(dir) => write_all(dir),
    };
    match manual {
        Ok(manual) => out.local(is_json, &manual, Manual::text),
        Err(error) => {
            let error =
                ErrorBody::new(ErrorCode::RuntimeError, format!("The pages were not written: {error}."));
            super::fail_local(error.next_step("orca man"), is_json, out)
        }
    }
}

fn write_all(dir: &Path) -> std::io::Result<Manual> {
    std::fs::create_dir_all(dir)?;
    let mut pages = Vec::new();
    for verb in tree::commands() {
        let name = format!("{}.1", [&[String::from("orca")], &verb.path[..]].concat().join("-"));
        std::fs::write(dir.join(&name), page(verb.command)?)?;
        pages.push(name);
    }
    Ok(Manual::Written { dir: dir.display().to_string(), pages })
}

/// One page; that of orca itself also has the exit codes, the environment and the error codes.
fn page(command: Command) -> std::io::Result<String> {
    let is_root = command.get_name() == "orca";
    let man = Man::new(command).manual("orca").source(concat!("orca ", env!("CARGO_PKG_VERSION")));
    let mut roff = Vec::new();
    man.render(&mut roff)?;
    let mut roff = String::from_utf8_lossy(&roff).into_owned();
    if is_root {
        let codes = ErrorCode::ALL.iter().map(|code| (code.as_str(), code.meaning()));
        roff.push_str(&section("EXIT STATUS", EXIT_CODES.iter().copied()));
        roff.push_str(&section("ENVIRONMENT", VARIABLES.iter().copied()));
        roff.push_str(&section("ERROR CODES", codes));
    }
    Ok(roff)
}

fn section<'a>(title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let escaped = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let rows: String = rows
        .map(|(name, meaning)| format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(meaning)))
        .collect();
    format!(".SH \"{title}\"\n{rows}")
}
