//! What a verb has to see of a repository or an agent's files before it can answer. A verb has no eyes of its own and the
//! engine must not block, so it answers [`Answer::Look`]: its transaction is dropped, the server looks on
//! another thread, and the same call is run again with what was seen.

use super::cx::{Answer, Cx};
use super::error::{OpError, refuse};
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::effect::CreateWorktree;
use crate::model::session::{NoTranscript, TranscriptFormat};
use crate::model::setup::Project;
use crate::model::worker::Drift;
use crate::proto::error::ErrorBody;
use crate::proto::repo::RefDetail;
use crate::proto::transcript::{Clipping, TranscriptMessage};
use crate::proto::worktree::GitRow;
use std::collections::BTreeMap;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Whether git can make this worktree, and this program is there to be started in it (contract 5.1).
    Worktree(Box<CreateWorktree>, Option<Program>),
    /// How far a worktree is behind its base; before that, whether its folder is there, and this program to be
    /// started in it.
    Place { tree: Tree, program: Option<Program> },
    /// The branches and tags of a repository whose names contain a text.
    Refs { repo: String, query: String, limit: usize },
    /// Whether a name is a commit of the repository.
    Base { repo: String, name: String },
    /// What `orca.yaml` says where new worktrees begin.
    Project { repo: String, base: Option<String> },
    /// How worktrees stand to git now.
    Trees(Vec<Tree>),
    /// Whether a file can be the transcript of an agent.
    Session(SessionWish),
    /// Messages of a transcript.
    Transcript(Box<TranscriptWish>),
}

/// The program of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub agent: String,
    /// The first word of its command line.
    pub name: String,
    /// Where it is looked for, where that is not where the server looks.
    pub search_path: Option<String>,
}

impl Program {
    /// It is not there.
    pub fn missing(&self) -> ErrorBody {
        let (agent, name) = (&self.agent, text::one_line(&self.name));
        let whose = if self.search_path.is_some() { "its" } else { "the server's" };
        let message = format!(
            "{agent} cannot be started: there is no command {name} in {whose} PATH; nothing was done."
        );
        refuse(ErrorCode::AgentUnconfigured, message)
            .with("effectsApplied", false)
            .next_step(format!("command -v {}", text::shell_quote(&name)))
            // It has the PATH of whoever started it.
            .next_step("orca server restart")
    }
}

/// The folder of a worktree is gone.
pub fn missing_folder(folder: &str) -> ErrorBody {
    let shown = text::one_line(folder);
    refuse(
        ErrorCode::SelectorNotFound,
        format!("The folder {shown} is not there any more; nothing was done."),
    )
    .with("effectsApplied", false)
    .next_step("orca worktree list --json")
    .next_step(format!("orca worktree rm --worktree {}", text::shell_quote(&format!("path:{shown}"))))
}

/// A path that an agent's hook reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWish {
    pub format: TranscriptFormat,
    pub path: String,
    /// What the agent's environment has beyond the server's; it may move the agent's folder.
    pub env: Vec<(String, String)>,
}

/// A file that can be a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Without links, as far as it is there.
    pub path: String,
    /// The provider's folder of transcripts, without links.
    pub root: String,
    pub n_bytes: u64,
}

/// Which messages of a transcript are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptWish {
    pub format: TranscriptFormat,
    pub path: String,
    pub root: String,
    /// Nothing before it is shown.
    pub begins_at: u64,
    /// Nothing from there on is.
    pub ends_at: Option<u64>,
    /// Those after this place; None for the newest ones.
    pub from: Option<TranscriptPlace>,
    pub limit: usize,
}

/// A place between two records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPlace {
    pub offset: u64,
    /// It lies inside of a record that was too long to be read at once.
    pub is_inside: bool,
    /// What stands before it, as a hash: a file that was written anew has another one.
    pub mark: String,
}

/// Messages that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPart {
    pub messages: Vec<TranscriptMessage>,
    pub clipping: Clipping,
    /// There are more, before or behind them.
    pub is_limited: bool,
    pub next: TranscriptPlace,
}

/// Why none can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFault {
    None(NoTranscript),
    /// It is not the file any more in which the place was.
    Changed,
}

/// A worktree to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub path: String,
    /// The ref it is compared with; None for the default.
    pub base: Option<String>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It can, and this is what the `orca.yaml` there says.
    Worktree {
        wish: Box<CreateWorktree>,
        project: Project,
    },
    Refs {
        refs: Vec<RefDetail>,
        is_truncated: bool,
    },
    /// How far it is behind; None: it is not, or nobody can tell.
    Place(Option<Drift>),
    /// It is one.
    Base,
    Project(Project),
    /// By the worktree's path; one that is registered by this very call has another id each time it is run.
    Trees(BTreeMap<String, GitRow>),
    /// None: it cannot be one.
    Session(Option<SessionFile>),
    Transcript(Result<TranscriptPart, TranscriptFault>),
}

/// What the call was given to see, or the answer that asks for it.
pub(super) enum Sight {
    Seen(Seen),
    Ask(Answer),
}

/// What was seen, or the wish to look.
pub(super) fn look(cx: &mut Cx<'_>, wanted: Look) -> Result<Sight, OpError> {
    match cx.caller.seen.take() {
        Some(seen) => Ok(Sight::Seen(seen?)),
        None => Ok(Sight::Ask(Answer::Look(wanted))),
    }
}

/// Something else was seen than was asked for.
pub(super) fn mismatch() -> OpError {
    OpError::Bug(String::from("something else was seen than was asked for"))
}
