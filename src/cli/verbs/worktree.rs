//! Worktree verbs.

use crate::base::text::{counted, many_lines, one_line, pad};
use crate::cli::args::{FromArg, RetryArg, invalid};
use crate::cli::tone::{self, tinted, warning};
use crate::cli::verb::{self, Session, Verb};
use crate::proto::error::ErrorBody;
use crate::proto::row::WorktreeRow;
use crate::proto::worktree::{
    AgentSummary, GitRow, OneWorktree, Summaries, Summary, WorktreeCreate, WorktreeCurrent, WorktreeList,
    WorktreeMade, WorktreePs, WorktreeRemove, WorktreeRemoved, WorktreeSet, WorktreeShow, Worktrees,
};
use clap::{Args, Subcommand};

/// `orca worktree …`.
#[derive(Debug, Subcommand)]
pub enum Worktree {
    /// Make a branch and worktree, with an agent or shell in it.
    Create(WorktreeCreateArgs),
    /// List the worktrees that orca knows.
    List(WorktreeListArgs),
    /// Show one worktree.
    Show(WorktreeShowArgs),
    /// Show the worktree around the working directory.
    Current(WorktreeCurrentArgs),
    /// Show what goes on in each worktree.
    Ps(WorktreePsArgs),
    /// Change a worktree's name, issue, note, status or parent.
    Set(WorktreeSetArgs),
    /// Remove a worktree; nothing that exists nowhere else goes without --force.
    #[command(aliases = ["remove", "delete"])]
    Rm(WorktreeRemoveArgs),
}

/// Runs a worktree verb.
pub fn run(verb: &Worktree, session: &mut Session<'_>) -> u8 {
    match verb {
        Worktree::Create(args) => verb::run(args, session),
        Worktree::List(args) => verb::run(args, session),
        Worktree::Show(args) => verb::run(args, session),
        Worktree::Current(args) => verb::run(args, session),
        Worktree::Ps(args) => verb::run(args, session),
        Worktree::Set(args) => verb::run(args, session),
        Worktree::Rm(args) => verb::run(args, session),
    }
}

fn line(worktree: &WorktreeRow) -> String {
    let branch = worktree.branch.as_deref().unwrap_or("-");
    let git = worktree.git.as_ref().map(git_words).unwrap_or_default();
    let name = pad(&one_line(&worktree.display_name), 24);
    format!("{name} {} {} {}", pad(&one_line(branch), 28), pad(&git, 18), one_line(&worktree.path))
}

/// The line of one worktree, then what a person noted of it.
fn details(worktree: &WorktreeRow) -> String {
    let mut lines = vec![line(worktree), format!("  status {}", one_line(&worktree.workspace_status))];
    lines.extend(worktree.comment.iter().map(|comment| format!("  note {}", one_line(comment))));
    lines.extend(worktree.linked_issue.map(|issue| format!("  issue {issue}")));
    lines.extend(worktree.base_ref.iter().map(|base| format!("  began at {}", one_line(base))));
    lines.join("\n")
}

/// How it stands to git, in a few words: what is not committed, then how far it is from its base.
fn git_words(git: &GitRow) -> String {
    if git.is_missing {
        return String::from("folder gone");
    }
    if git.error.is_some() {
        return String::from("unreadable");
    }
    let mut words: Vec<String> = git.operation.iter().map(|operation| one_line(operation)).collect();
    let n_changed = git.staged + git.modified + git.untracked + git.conflicted;
    if n_changed > 0 {
        words.push(format!("{n_changed} changed"));
    }
    match (git.ahead, git.is_merged) {
        (0, _) => {}
        (_, true) => words.push(String::from("merged")),
        (ahead, false) => words.push(format!("+{ahead}")),
    }
    if git.behind > 0 {
        words.push(format!("-{}", git.behind));
    }
    if words.is_empty() { String::from("clean") } else { words.join(" ") }
}

/// Makes a branch and worktree. With --agent the agent runs in it, unsupervised: a handoff.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca worktree create --name fix-login --no-parent --agent codex \\\n      --prompt \"Fix the login race\" --json"
)]
#[allow(clippy::struct_excessive_bools)] // the flags of the contract
pub struct WorktreeCreateArgs {
    /// Its name; a taken one gets -2, -3.
    #[arg(long)]
    name: String,
    /// The repository [default: the one around you].
    #[arg(long)]
    repo: Option<String>,
    /// Start this agent in it.
    #[arg(long)]
    agent: Option<String>,
    /// What to tell the agent.
    #[arg(long, requires = "agent")]
    prompt: Option<String>,
    /// What to do with the repository's setup script [default: inherit].
    #[arg(long, value_parser = ["run", "skip", "inherit"])]
    setup: Option<String>,
    /// start-immediately or wait-for-setup [default: what the repository or orca repo hooks set says,
    /// else wait-for-setup].
    #[arg(long, value_name = "WHEN")]
    agent_startup: Option<String>,
    /// Where the branch begins [default: the repository's default branch].
    #[arg(long, value_name = "REF")]
    base_branch: Option<String>,
    /// The branch's name [default: from the name].
    #[arg(long)]
    branch: Option<String>,
    /// An issue it belongs to.
    #[arg(long, value_name = "NUMBER")]
    issue: Option<u64>,
    /// A note.
    #[arg(long)]
    comment: Option<String>,
    /// Its name on the screen [default: the name].
    #[arg(long)]
    display_name: Option<String>,
    /// Show it below this worktree [default: the one around you].
    #[arg(long, value_name = "SELECTOR", conflicts_with = "no_parent")]
    parent_worktree: Option<String>,
    /// Show it below none.
    #[arg(long)]
    no_parent: bool,
    /// Bring the attached screens to its first terminal.
    #[arg(long)]
    activate: bool,
    /// The same as --setup run --activate.
    #[arg(long, hide = true)]
    run_hooks: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeCreateArgs {
    type Call = WorktreeCreate;
    fn call(&self) -> Result<WorktreeCreate, ErrorBody> {
        let setup = self.setup.as_deref().or(self.run_hooks.then_some("run"));
        if self.run_hooks && setup != Some("run") {
            return Err(invalid("--run-hooks means --setup run; give one of the two."));
        }
        Ok(WorktreeCreate {
            name: self.name.clone(),
            repo: self.repo.clone(),
            agent: self.agent.clone(),
            prompt: self.prompt.clone(),
            setup: setup.map(str::to_owned),
            agent_startup: self.agent_startup.clone(),
            base_branch: self.base_branch.clone(),
            branch: self.branch.clone(),
            issue: self.issue,
            comment: self.comment.clone(),
            display_name: self.display_name.clone(),
            parent_worktree: self.parent_worktree.clone(),
            is_top_level: self.no_parent,
            is_activated: self.activate || self.run_hooks,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &WorktreeMade) -> String {
        let mut text = format!("created {}\nsetup {}", line(&reply.worktree), reply.setup_state);
        text.extend(reply.warnings.iter().map(|text| format!("\n{}", warning(text))));
        if let Some(terminal) = &reply.startup_terminal {
            text.push_str(&format!("\nterminal {}", terminal.handle));
        }
        text
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Lists the worktrees that orca knows, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree list --json")]
pub struct WorktreeListArgs {
    /// Only of this repository.
    #[arg(long)]
    repo: Option<String>,
    /// The most to list [default: 1000].
    #[arg(long)]
    limit: Option<u32>,
}

impl Verb for WorktreeListArgs {
    type Call = WorktreeList;
    fn call(&self) -> Result<WorktreeList, ErrorBody> {
        Ok(WorktreeList { repo: self.repo.clone(), limit: self.limit })
    }
    fn text(&self, reply: &Worktrees) -> String {
        if reply.worktrees.is_empty() {
            return String::from("no worktrees yet");
        }
        reply.worktrees.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Shows one worktree.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree show --worktree name:fix-login --json")]
pub struct WorktreeShowArgs {
    /// id:, path:, branch:, name:, issue:, folder: or current.
    #[arg(long, value_name = "SELECTOR")]
    worktree: String,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeShowArgs {
    type Call = WorktreeShow;
    fn call(&self) -> Result<WorktreeShow, ErrorBody> {
        Ok(WorktreeShow { worktree: self.worktree.clone() })
    }
    fn text(&self, reply: &OneWorktree) -> String {
        details(&reply.worktree)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Shows the worktree or folder around the working directory; it is registered on first use.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree current --json")]
pub struct WorktreeCurrentArgs {
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeCurrentArgs {
    type Call = WorktreeCurrent;
    fn call(&self) -> Result<WorktreeCurrent, ErrorBody> {
        Ok(WorktreeCurrent {})
    }
    fn text(&self, reply: &OneWorktree) -> String {
        line(&reply.worktree)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Shows what goes on in each worktree: its agents and what they do.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree ps --json")]
pub struct WorktreePsArgs {
    /// The most to list [default: 200].
    #[arg(long)]
    limit: Option<u32>,
}

impl Verb for WorktreePsArgs {
    type Call = WorktreePs;
    fn call(&self) -> Result<WorktreePs, ErrorBody> {
        Ok(WorktreePs { limit: self.limit })
    }
    fn text(&self, reply: &Summaries) -> String {
        if reply.worktrees.is_empty() {
            return String::from("no worktrees yet");
        }
        reply.worktrees.iter().map(summary_lines).collect::<Vec<_>>().join("\n")
    }
}

fn summary_lines(summary: &Summary) -> String {
    let terminals = counted(summary.live_terminal_count, "terminal");
    let status = tinted(tone::activity(&summary.status), &format!("{:<10}", summary.status));
    let mut lines = format!("{status} {terminals:<13} {}", line(&summary.worktree));
    lines.extend(summary.agents.iter().map(|agent| format!("\n    {}", agent_line(agent))));
    lines
}

fn agent_line(agent: &AgentSummary) -> String {
    let what = agent.task_title.as_deref().or(agent.display_name.as_deref()).unwrap_or_default();
    let state = tinted(tone::activity(&agent.state), &format!("{:<10}", agent.state));
    format!("{state} {:<10} {}", agent.agent_type.as_deref().unwrap_or("-"), one_line(what))
}

/// Changes what is known of a worktree; its files and branch stay as they are.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca worktree set --worktree name:fix-login --workspace-status in-review \\\n      --json"
)]
pub struct WorktreeSetArgs {
    /// id:, path:, branch:, name:, issue:, folder: or current.
    #[arg(long, value_name = "SELECTOR")]
    worktree: String,
    /// Its name on the screen.
    #[arg(long)]
    display_name: Option<String>,
    /// An issue it belongs to, or null for none.
    #[arg(long, value_name = "NUMBER")]
    issue: Option<String>,
    /// A note; empty for none.
    #[arg(long)]
    comment: Option<String>,
    /// todo, in-progress, in-review or completed.
    #[arg(long, value_name = "STATUS")]
    workspace_status: Option<String>,
    /// Show it below this worktree.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "no_parent")]
    parent_worktree: Option<String>,
    /// Show it below none.
    #[arg(long)]
    no_parent: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeSetArgs {
    type Call = WorktreeSet;
    fn call(&self) -> Result<WorktreeSet, ErrorBody> {
        Ok(WorktreeSet {
            worktree: self.worktree.clone(),
            display_name: self.display_name.clone(),
            issue: self.issue.clone(),
            comment: self.comment.clone(),
            workspace_status: self.workspace_status.clone(),
            parent_worktree: self.parent_worktree.clone(),
            is_top_level: self.no_parent,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &OneWorktree) -> String {
        details(&reply.worktree)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Removes a worktree and, where it was made with it and is merged, its branch. Refused while something
/// runs in it or it holds work that exists nowhere else; --force says that both may go. Commits on a
/// branch are never lost: a branch that is not merged stays.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree rm --worktree name:fix-login --json")]
pub struct WorktreeRemoveArgs {
    /// id:, path:, branch:, name:, issue: or current.
    #[arg(long, value_name = "SELECTOR")]
    worktree: String,
    /// End what runs there and throw away what is not committed.
    #[arg(long)]
    force: bool,
    /// Run the repository's archive script first; at most two minutes.
    #[arg(long)]
    run_hooks: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeRemoveArgs {
    type Call = WorktreeRemove;
    fn call(&self) -> Result<WorktreeRemove, ErrorBody> {
        Ok(WorktreeRemove {
            worktree: self.worktree.clone(),
            is_forced: self.force,
            runs_hooks: self.run_hooks,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &WorktreeRemoved) -> String {
        let mut text = String::from("removed");
        if let Some(kept) = &reply.preserved_branch {
            text.push_str(&format!("\nthe branch {} stays", one_line(&kept.branch_name)));
        }
        text.extend(reply.warning.iter().map(|text| format!("\n{}", warning(&many_lines(text)))));
        text
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
