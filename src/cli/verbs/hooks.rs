//! `orca repo hooks …`: scripts around the worktrees of a repository.

use super::repo::RepoArg;
use crate::base::text::many_lines;
use crate::cli::args::{FromArg, RetryArg, text_or_file};
use crate::cli::tone::{Tone, tinted, warning};
use crate::cli::verb::{self, Session, Verb};
use crate::proto::error::ErrorBody;
use crate::proto::repo::{Hooks, HooksApprove, HooksDecided, HooksReject, HooksSet, HooksShow, ScriptRow};
use clap::{Args, Subcommand};

/// `orca repo hooks …`.
#[derive(Debug, Subcommand)]
pub enum HooksVerb {
    /// Show the scripts, where they are from and whether they may run.
    Show(HooksShowArgs),
    /// Change this machine's scripts and rules.
    Set(HooksSetArgs),
    /// Let a script of the repository run, this exact text.
    Approve(HooksApproveArgs),
    /// Go on without a script of the repository.
    Reject(HooksRejectArgs),
}

/// Runs a hooks verb.
pub fn run(verb: &HooksVerb, session: &mut Session<'_>) -> u8 {
    match verb {
        HooksVerb::Show(args) => verb::run(args, session),
        HooksVerb::Set(args) => verb::run(args, session),
        HooksVerb::Approve(args) => verb::run(args, session),
        HooksVerb::Reject(args) => verb::run(args, session),
    }
}

/// The scripts in full: what is approved has to be read first.
fn text(hooks: &Hooks) -> String {
    let effective = &hooks.effective;
    let mut lines = vec![format!(
        "setup {}; the agent: {}; scripts: {}",
        effective.setup_run_policy,
        effective.agent_startup,
        effective.command_source.map_or("shared, else local", |source| source.as_str())
    )];
    if let Some(source) = &hooks.shared.source {
        lines.push(format!("shared from {}", many_lines(source)));
    }
    lines.extend(hooks.shared.problem.iter().map(|problem| warning(&many_lines(problem))));
    let named = [
        ("setup", &effective.setup),
        ("archive", &effective.archive),
        ("tab", &effective.tabs),
        ("waiting", &hooks.waiting),
    ];
    if named.iter().all(|(_, scripts)| scripts.is_empty()) {
        lines
            .push(String::from("no scripts; orca repo hooks set or an orca.yaml in the repository has them"));
    }
    // One text may stand in several places, and a worktree may wait for it: it is shown once.
    let mut shown: Vec<(String, &ScriptRow)> = Vec::new();
    for (name, scripts) in named {
        for script in scripts {
            match shown.iter_mut().find(|(_, known)| known.hash == script.hash) {
                Some((names, _)) if names.split(", ").all(|known| known != name) => {
                    names.push_str(&format!(", {name}"));
                }
                Some(_) => {}
                None => shown.push((name.to_owned(), script)),
            }
        }
    }
    lines.extend(shown.iter().map(|(names, script)| script_lines(names, script)));
    lines.extend(shown.iter().filter(|(_, script)| !script.is_approved).map(|(_, script)| {
        format!("approve: orca repo hooks approve --repo id:{} --hash {}", hooks.repo_id, short(script))
    }));
    lines.join("\n")
}

fn short(script: &ScriptRow) -> &str {
    script.hash.get(..16).unwrap_or(&script.hash)
}

fn script_lines(name: &str, script: &ScriptRow) -> String {
    let may = match script.is_approved {
        true => tinted(Tone::Good, "may run"),
        false => tinted(Tone::Waits, "not approved"),
    };
    let body = many_lines(&script.text);
    let body: Vec<String> = body.trim_end().lines().map(|line| format!("    {line}")).collect();
    format!("{name} ({}, {may}, {}):\n{}", script.origin, short(script), body.join("\n"))
}

/// Shows the scripts around a repository's worktrees: the repository's own (orca.yaml), this machine's,
/// and what follows from both.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo hooks show --json")]
pub struct HooksShowArgs {
    #[command(flatten)]
    which: RepoArg,
}

impl Verb for HooksShowArgs {
    type Call = HooksShow;
    fn call(&self) -> Result<HooksShow, ErrorBody> {
        Ok(HooksShow { repo: self.which.repo.clone() })
    }
    fn text(&self, reply: &Hooks) -> String {
        text(reply)
    }
}

/// Changes this machine's scripts and rules for a repository; the repository itself is never changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca repo hooks set --setup-script \"npm ci\" \\\n      --setup-run-policy run-by-default --json"
)]
pub struct HooksSetArgs {
    #[command(flatten)]
    which: RepoArg,
    /// The script for new worktrees; null for none.
    #[arg(long, value_name = "TEXT", conflicts_with = "setup_script_file")]
    setup_script: Option<String>,
    /// A file with it instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    setup_script_file: Option<String>,
    /// The script before a worktree is removed with --run-hooks; null for none.
    #[arg(long, value_name = "TEXT", conflicts_with = "archive_script_file")]
    archive_script: Option<String>,
    /// A file with it instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    archive_script_file: Option<String>,
    /// ask, run-by-default or skip-by-default: what --setup inherit means.
    #[arg(long, value_name = "POLICY")]
    setup_run_policy: Option<String>,
    /// start-immediately or wait-for-setup.
    #[arg(long, value_name = "WHEN")]
    agent_startup: Option<String>,
    /// shared-only, local-only or run-both.
    #[arg(long, value_name = "SOURCE")]
    command_source: Option<String>,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for HooksSetArgs {
    type Call = HooksSet;
    fn call(&self) -> Result<HooksSet, ErrorBody> {
        let (setup, archive) = (self.setup_script.as_deref(), self.archive_script.as_deref());
        Ok(HooksSet {
            repo: self.which.repo.clone(),
            setup_script: text_or_file("--setup-script", setup, self.setup_script_file.as_deref())?,
            archive_script: text_or_file("--archive-script", archive, self.archive_script_file.as_deref())?,
            setup_run_policy: self.setup_run_policy.clone(),
            agent_startup: self.agent_startup.clone(),
            command_source: self.command_source.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Hooks) -> String {
        text(reply)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Which text of a repository a person decides about.
#[derive(Debug, Clone, Args)]
pub struct TextArg {
    #[command(flatten)]
    which: RepoArg,
    /// The text's hash as repo hooks show gives it; without it the texts are shown.
    #[arg(long)]
    hash: Option<String>,
    #[command(flatten)]
    retry: RetryArg,
}

/// Lets a script of the repository run, this exact text and no other; worktrees that wait for it go on.
/// A person's command: agents are refused.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo hooks approve --hash 0123456789abcdef --json")]
pub struct HooksApproveArgs {
    #[command(flatten)]
    text: TextArg,
}

impl Verb for HooksApproveArgs {
    type Call = HooksApprove;
    fn call(&self) -> Result<HooksApprove, ErrorBody> {
        Ok(HooksApprove { repo: self.text.which.repo.clone(), hash: self.text.hash.clone() })
    }
    fn text(&self, reply: &HooksDecided) -> String {
        decided("approved", reply)
    }
    fn retry_request(&self) -> Option<&str> {
        self.text.retry.retry_request.as_deref()
    }
}

/// Takes an approval back, or never gives it: worktrees that wait for the script go on without it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo hooks reject --hash 0123456789abcdef --json")]
pub struct HooksRejectArgs {
    #[command(flatten)]
    text: TextArg,
}

impl Verb for HooksRejectArgs {
    type Call = HooksReject;
    fn call(&self) -> Result<HooksReject, ErrorBody> {
        Ok(HooksReject { repo: self.text.which.repo.clone(), hash: self.text.hash.clone() })
    }
    fn text(&self, reply: &HooksDecided) -> String {
        decided("rejected", reply)
    }
    fn retry_request(&self) -> Option<&str> {
        self.text.retry.retry_request.as_deref()
    }
}

fn decided(word: &str, reply: &HooksDecided) -> String {
    let go_on = match reply.n_released {
        0 => String::new(),
        1 => String::from("; 1 worktree that waited goes on"),
        n_released => format!("; {n_released} worktrees that waited go on"),
    };
    format!("{word}{go_on}\n{}", script_lines("script", &reply.script))
}
