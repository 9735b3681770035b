//! Worktree and repository verbs.

use crate::base::text::{one_line, pad};
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::{self, Session, Verb};
use crate::proto::error::ErrorBody;
use crate::proto::row::{RepoRow, WorktreeRow};
use crate::proto::worktree::{
    OneRepo, OneWorktree, RepoAdd, RepoList, RepoShow, Repos, WorktreeCreate, WorktreeCurrent, WorktreeList,
    WorktreeMade, WorktreeShow, Worktrees,
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
}

/// Runs a worktree verb.
pub fn run(verb: &Worktree, session: &mut Session<'_>) -> u8 {
    match verb {
        Worktree::Create(args) => verb::run(args, session),
        Worktree::List(args) => verb::run(args, session),
        Worktree::Show(args) => verb::run(args, session),
        Worktree::Current(args) => verb::run(args, session),
    }
}

/// `orca repo …`.
#[derive(Debug, Subcommand)]
pub enum Repo {
    /// List the repositories and folders that orca knows.
    List(RepoListArgs),
    /// Show one repository or folder.
    Show(RepoShowArgs),
    /// Make a repository or folder known; using it does so, too.
    Add(RepoAddArgs),
}

/// Runs a repository verb.
pub fn run_repo(verb: &Repo, session: &mut Session<'_>) -> u8 {
    match verb {
        Repo::List(args) => verb::run(args, session),
        Repo::Show(args) => verb::run(args, session),
        Repo::Add(args) => verb::run(args, session),
    }
}

fn line(worktree: &WorktreeRow) -> String {
    let branch = worktree.branch.as_deref().unwrap_or("-");
    let name = pad(&one_line(&worktree.display_name), 24);
    format!("{name} {} {}", pad(&one_line(branch), 28), one_line(&worktree.path))
}

/// Makes a branch and worktree. With --agent the agent runs in it, unsupervised: a handoff.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca worktree create --name fix-login --no-parent --agent codex --prompt \"Fix the login race\" --json"
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
    /// Accepted for scripts written for other builds; the screen never changes by itself.
    #[arg(long, hide = true)]
    activate: bool,
    /// The same as --setup run.
    #[arg(long, hide = true, conflicts_with = "setup")]
    run_hooks: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorktreeCreateArgs {
    type Call = WorktreeCreate;
    fn call(&self) -> Result<WorktreeCreate, ErrorBody> {
        Ok(WorktreeCreate {
            name: self.name.clone(),
            repo: self.repo.clone(),
            agent: self.agent.clone(),
            prompt: self.prompt.clone(),
            setup: self.setup.clone().or_else(|| self.run_hooks.then(|| String::from("run"))),
            base_branch: self.base_branch.clone(),
            branch: self.branch.clone(),
            issue: self.issue,
            comment: self.comment.clone(),
            display_name: self.display_name.clone(),
            parent_worktree: self.parent_worktree.clone(),
            is_top_level: self.no_parent,
            is_activated: self.activate,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &WorktreeMade) -> String {
        let mut text = format!("created {}\nsetup {}", line(&reply.worktree), reply.setup_state);
        text.extend(reply.warnings.iter().map(|warning| format!("\nwarning: {warning}")));
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
    /// id:, path:, branch:, name:, issue: or current.
    #[arg(long, value_name = "SELECTOR")]
    worktree: String,
}

impl Verb for WorktreeShowArgs {
    type Call = WorktreeShow;
    fn call(&self) -> Result<WorktreeShow, ErrorBody> {
        Ok(WorktreeShow { worktree: self.worktree.clone() })
    }
    fn text(&self, reply: &OneWorktree) -> String {
        line(&reply.worktree)
    }
}

/// Shows the worktree or folder around the working directory; it is registered on first use.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca worktree current --json")]
pub struct WorktreeCurrentArgs {}

impl Verb for WorktreeCurrentArgs {
    type Call = WorktreeCurrent;
    fn call(&self) -> Result<WorktreeCurrent, ErrorBody> {
        Ok(WorktreeCurrent {})
    }
    fn text(&self, reply: &OneWorktree) -> String {
        line(&reply.worktree)
    }
}

fn repo_line(repo: &RepoRow) -> String {
    format!("{}  {:<8} {}", repo.id, repo.kind.as_str(), one_line(&repo.path))
}

/// Lists the repositories and folders that orca knows.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo list --json")]
pub struct RepoListArgs {}

impl Verb for RepoListArgs {
    type Call = RepoList;
    fn call(&self) -> Result<RepoList, ErrorBody> {
        Ok(RepoList {})
    }
    fn text(&self, reply: &Repos) -> String {
        if reply.repos.is_empty() {
            return String::from("no repositories yet");
        }
        reply.repos.iter().map(repo_line).collect::<Vec<_>>().join("\n")
    }
}

/// Shows one repository or folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo show --repo name:my-project --json")]
pub struct RepoShowArgs {
    /// id:, path:, name: or a bare name [default: the one around you].
    #[arg(long, value_name = "SELECTOR")]
    repo: Option<String>,
}

impl Verb for RepoShowArgs {
    type Call = RepoShow;
    fn call(&self) -> Result<RepoShow, ErrorBody> {
        Ok(RepoShow { repo: self.repo.clone() })
    }
    fn text(&self, reply: &OneRepo) -> String {
        repo_line(&reply.repo)
    }
}

/// Makes a repository or plain folder known. Working in one does so by itself.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo add --path . --json")]
pub struct RepoAddArgs {
    /// A directory in it; a relative one begins at the working directory.
    #[arg(long)]
    path: String,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RepoAddArgs {
    type Call = RepoAdd;
    fn call(&self) -> Result<RepoAdd, ErrorBody> {
        Ok(RepoAdd { path: self.path.clone() })
    }
    fn text(&self, reply: &OneRepo) -> String {
        repo_line(&reply.repo)
    }
    fn directory(&self) -> Option<&str> {
        Some(&self.path)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}
