//! Repository verbs.

use super::hooks::HooksVerb;
use crate::base::text::{counted, one_line};
use crate::cli::args::{FromArg, RetryArg};
use crate::cli::verb::{self, Session, Verb};
use crate::proto::error::ErrorBody;
use crate::proto::repo::{
    FoundRefs, OneRepo, RepoAdd, RepoList, RepoRemove, RepoRemoved, RepoSearchRefs, RepoSetBaseRef, RepoShow,
    Repos,
};
use crate::proto::row::RepoRow;
use clap::{Args, Subcommand};

/// `orca repo …`.
#[derive(Debug, Subcommand)]
pub enum Repo {
    /// List the repositories and folders that orca knows.
    List(RepoListArgs),
    /// Show one repository or folder.
    Show(RepoShowArgs),
    /// Make a repository or folder known; using it does so, too.
    Add(RepoAddArgs),
    /// Forget a repository or folder; its files stay.
    #[command(aliases = ["remove", "delete"])]
    Rm(RepoRemoveArgs),
    /// Say where new worktrees begin.
    SetBaseRef(RepoSetBaseRefArgs),
    /// Search branches and tags.
    SearchRefs(RepoSearchRefsArgs),
    /// Scripts around its worktrees: show, set, approve, reject.
    #[command(subcommand)]
    Hooks(HooksVerb),
}

/// Runs a repository verb.
pub fn run(verb: &Repo, session: &mut Session<'_>) -> u8 {
    match verb {
        Repo::List(args) => verb::run(args, session),
        Repo::Show(args) => verb::run(args, session),
        Repo::Add(args) => verb::run(args, session),
        Repo::Rm(args) => verb::run(args, session),
        Repo::SetBaseRef(args) => verb::run(args, session),
        Repo::SearchRefs(args) => verb::run(args, session),
        Repo::Hooks(verb) => super::hooks::run(verb, session),
    }
}

fn line(repo: &RepoRow) -> String {
    let base = repo.worktree_base_ref.as_deref().map(|base| format!("  from {}", one_line(base)));
    format!("{}  {:<8} {}{}", repo.id, repo.kind.as_str(), one_line(&repo.path), base.unwrap_or_default())
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
        reply.repos.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// `--repo`: which repository is meant.
#[derive(Debug, Clone, Args)]
pub struct RepoArg {
    /// id:, path:, name: or a bare name [default: the one around you].
    #[arg(long, value_name = "SELECTOR")]
    pub repo: Option<String>,
}

/// Shows one repository or folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo show --repo name:my-project --json")]
pub struct RepoShowArgs {
    #[command(flatten)]
    which: RepoArg,
}

impl Verb for RepoShowArgs {
    type Call = RepoShow;
    fn call(&self) -> Result<RepoShow, ErrorBody> {
        Ok(RepoShow { repo: self.which.repo.clone() })
    }
    fn text(&self, reply: &OneRepo) -> String {
        line(&reply.repo)
    }
}

/// Makes a repository or plain folder known. Working in one does so by itself.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo add --path . --json")]
pub struct RepoAddArgs {
    /// A directory in it; a relative one begins at the working directory.
    #[arg(long)]
    path: String,
    /// git or folder [default: what it is].
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RepoAddArgs {
    type Call = RepoAdd;
    fn call(&self) -> Result<RepoAdd, ErrorBody> {
        Ok(RepoAdd { path: self.path.clone(), kind: self.kind.clone() })
    }
    fn text(&self, reply: &OneRepo) -> String {
        line(&reply.repo)
    }
    fn directory(&self) -> Option<&str> {
        Some(&self.path)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Forgets a repository or folder and its worktrees. No file is touched.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo rm --repo name:my-project --json")]
pub struct RepoRemoveArgs {
    #[command(flatten)]
    which: RepoArg,
    /// Also while terminals run in its worktrees; they go on.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RepoRemoveArgs {
    type Call = RepoRemove;
    fn call(&self) -> Result<RepoRemove, ErrorBody> {
        Ok(RepoRemove { repo: self.which.repo.clone(), is_forced: self.force, from: self.from.from.clone() })
    }
    fn text(&self, reply: &RepoRemoved) -> String {
        let n_worktrees = reply.forgotten_worktree_ids.len();
        format!("forgotten, with {}; all files stay", counted(n_worktrees, "worktree"))
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Says where new worktrees of a repository begin when --base-branch does not.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo set-base-ref --ref main --json")]
pub struct RepoSetBaseRefArgs {
    #[command(flatten)]
    which: RepoArg,
    /// A branch, tag or commit; null for the repository's default branch.
    #[arg(long = "ref", value_name = "REF")]
    base_ref: String,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for RepoSetBaseRefArgs {
    type Call = RepoSetBaseRef;
    fn call(&self) -> Result<RepoSetBaseRef, ErrorBody> {
        Ok(RepoSetBaseRef { repo: self.which.repo.clone(), base_ref: self.base_ref.clone() })
    }
    fn text(&self, reply: &OneRepo) -> String {
        line(&reply.repo)
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Searches the branches and tags of a repository by a part of their name.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca repo search-refs --query login --json")]
pub struct RepoSearchRefsArgs {
    #[command(flatten)]
    which: RepoArg,
    /// A part of the name, in any case; empty for all.
    #[arg(long, default_value = "", hide_default_value = true)]
    query: String,
    /// The most to list, 1 to 1000 [default: 50].
    #[arg(long)]
    limit: Option<u32>,
}

impl Verb for RepoSearchRefsArgs {
    type Call = RepoSearchRefs;
    fn call(&self) -> Result<RepoSearchRefs, ErrorBody> {
        Ok(RepoSearchRefs { repo: self.which.repo.clone(), query: self.query.clone(), limit: self.limit })
    }
    fn text(&self, reply: &FoundRefs) -> String {
        let mut lines: Vec<String> = reply
            .ref_details
            .iter()
            .map(|found| {
                format!("{}  {}", found.commit.get(..10).unwrap_or(&found.commit), one_line(&found.name))
            })
            .collect();
        if lines.is_empty() {
            lines.push(String::from("nothing matches"));
        }
        if reply.truncated {
            lines.push(String::from("there are more: raise --limit"));
        }
        lines.join("\n")
    }
}
