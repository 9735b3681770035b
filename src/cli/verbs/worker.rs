//! Worker verbs.

use crate::base::text::{age, many_lines, one_line};
use crate::cli::args::{FromArg, RetryArg, RunArg, string_array, text_or_file, words};
use crate::cli::tone::{self, Tone, tinted, warning};
use crate::cli::verb::Verb;
use crate::model::resource::TerminalState;
use crate::model::session::NoTranscript;
use crate::proto::error::ErrorBody;
use crate::proto::transcript::{TranscriptBlock, TranscriptMessage};
use crate::proto::worker::{
    Abandoned, Released, Shown, ShownWorker, StartReceipt, Stopped, WorkerAbandon, WorkerList, WorkerListRow,
    WorkerOutput, WorkerRead, WorkerRelease, WorkerRetain, WorkerShow, WorkerStart, WorkerStop, Workers,
};
use clap::Args;

/// Starts a supervised attempt at a task: worktree, agent terminal, brief.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration worker-start --task task_0123456789ab \\\n      --worktree new-child --name fix-login-race --agent codex --json"
)]
pub struct WorkerStartArgs {
    /// The task to work on.
    #[arg(long, conflicts_with_all = ["spec", "spec_file"], required_unless_present_any = ["spec", "spec_file"])]
    task: Option<String>,
    /// Create the task first, with this spec.
    #[arg(long, conflicts_with = "spec_file")]
    spec: Option<String>,
    /// A file with the spec instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    spec_file: Option<String>,
    /// Its title; only with --spec.
    #[arg(long)]
    task_title: Option<String>,
    /// Its dependencies as a JSON array of ids; only with --spec.
    #[arg(long, value_name = "JSON")]
    deps: Option<String>,
    /// The task it is a part of; only with --spec.
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// Another machine; not offered yet.
    #[arg(long, value_name = "ENVIRONMENT")]
    on: Option<String>,
    /// current, new-child, new-top-level, or id:/path:/branch:/name: of an existing one [default: current].
    /// In a pane, current and the repository of a new one are those that the pane was opened in, wherever
    /// its shell went since.
    #[arg(long, value_name = "WHERE")]
    worktree: Option<String>,
    /// The agent [default: the default agent of the settings].
    #[arg(long)]
    agent: Option<String>,
    /// Reuse the agent that runs in this terminal.
    #[arg(long, value_name = "HANDLE")]
    terminal: Option<String>,
    /// The agent's model.
    #[arg(long)]
    model: Option<String>,
    /// The model's effort; needs --model.
    #[arg(long)]
    effort: Option<String>,
    /// The new worktree's name.
    #[arg(long)]
    name: Option<String>,
    /// The repository of the new worktree [default: the one around you].
    #[arg(long)]
    repo: Option<String>,
    /// Where the new branch begins [default: the repository's default branch].
    #[arg(long, value_name = "REF")]
    base_branch: Option<String>,
    /// The new worktree's name on the screen.
    #[arg(long)]
    display_name: Option<String>,
    /// A note on the new worktree.
    #[arg(long)]
    comment: Option<String>,
    /// What to do with the repository's setup script [default: run].
    #[arg(long, value_parser = ["run", "skip", "inherit"])]
    setup: Option<String>,
    /// start-immediately or wait-for-setup [default: what the repository or orca repo hooks set says,
    /// else wait-for-setup].
    #[arg(long, value_name = "WHEN")]
    agent_startup: Option<String>,
    /// The failed, stopped or abandoned attempt that this one follows.
    #[arg(long, value_name = "DISPATCH")]
    retry_of: Option<String>,
    /// The longest wait for the agent in milliseconds, 1 to 3600000 [default: 60000].
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    from: FromArg,
    #[command(flatten)]
    retry: RetryArg,
}

impl Verb for WorkerStartArgs {
    type Call = WorkerStart;
    fn call(&self) -> Result<WorkerStart, ErrorBody> {
        Ok(WorkerStart {
            task: self.task.clone(),
            spec: text_or_file("--spec-file", self.spec.as_deref(), self.spec_file.as_deref())?,
            task_title: self.task_title.clone(),
            deps: self
                .deps
                .as_deref()
                .map(|deps| string_array("--deps", deps))
                .transpose()?
                .unwrap_or_default(),
            parent: self.parent.clone(),
            on: self.on.clone(),
            worktree: self.worktree.clone(),
            agent: self.agent.clone(),
            terminal: self.terminal.clone(),
            model: self.model.clone(),
            effort: self.effort.clone(),
            name: self.name.clone(),
            repo: self.repo.clone(),
            base_branch: self.base_branch.clone(),
            display_name: self.display_name.clone(),
            comment: self.comment.clone(),
            setup: self.setup.clone(),
            agent_startup: self.agent_startup.clone(),
            retry_of: self.retry_of.clone(),
            timeout_ms: self.timeout_ms,
            run: self.run.run.clone(),
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &StartReceipt) -> String {
        let mut lines = vec![format!(
            "{}  {}  attempt #{} at {}  stage {}  brief {}",
            reply.dispatch_id,
            tinted(tone::start(&reply.state), &reply.state),
            reply.attempt,
            reply.task_id,
            reply.stage,
            reply.delivery
        )];
        lines.extend(reply.agent_terminal_handle.iter().map(|handle| format!("terminal {handle}")));
        lines.extend(reply.worktree_id.iter().map(|id| format!("worktree {id}")));
        lines.extend(reply.last_error.iter().map(|error| format!("error: {}", one_line(error))));
        lines.extend(
            reply
                .setup
                .terminal_handle
                .iter()
                .map(|handle| format!("setup {} in {handle}", reply.setup.state)),
        );
        lines.extend(reply.warning.iter().map(|text| warning(&many_lines(text))));
        lines.extend(reply.next_commands.iter().map(|command| format!("  try: {command}")));
        lines.join("\n")
    }
    fn exit(&self, reply: &StartReceipt) -> u8 {
        u8::from(reply.state != "ready")
    }
    fn retry_request(&self) -> Option<&str> {
        self.retry.retry_request.as_deref()
    }
}

/// Shows one attempt: its states, its terminal, what to do next.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration worker-show --dispatch ctx_0123456789ab --json")]
pub struct WorkerShowArgs {
    /// The attempt.
    #[arg(long)]
    dispatch: String,
}

impl Verb for WorkerShowArgs {
    type Call = WorkerShow;
    fn call(&self) -> Result<WorkerShow, ErrorBody> {
        Ok(WorkerShow { dispatch: self.dispatch.clone(), from: None })
    }
    fn text(&self, reply: &Shown) -> String {
        let dispatch = &reply.dispatch;
        let state = match &reply.worker {
            ShownWorker::Supervised(worker) => {
                let state = tinted(tone::worker(worker.state), worker.state.as_str());
                format!("{state}, stage {}", worker.stage)
            }
            ShownWorker::Unsupervised { state, .. } => state.clone(),
        };
        let mut lines = vec![format!(
            "{}  attempt #{} at {}  {}  {state}",
            dispatch.id,
            dispatch.attempt,
            dispatch.task_id,
            tinted(tone::dispatch(dispatch.status), dispatch.status.as_str())
        )];
        lines.extend(dispatch.last_failure.iter().map(|why| format!("ended: {}", one_line(why))));
        lines.extend(reply.terminal.iter().map(|terminal| {
            let life = tinted(tone::terminal(terminal.life), terminal.life.as_str());
            format!("terminal {}  {life}", terminal.handle)
        }));
        lines.push(format!("agent {}  process {}", reply.projection.state, reply.observation.status));
        if !reply.projection.attention.categories.is_empty() {
            let look = tinted(Tone::Waits, &reply.projection.attention.categories.join(", "));
            lines.push(format!("look: {look}"));
        }
        lines.extend(reply.refused_reports.iter().map(|refused| {
            format!(
                "refused report at {} by {}: {}",
                refused.at,
                one_line(&refused.by),
                one_line(&refused.reason)
            )
        }));
        lines.extend(next(reply).map(|command| format!("next: {command}")));
        lines.join("\n")
    }
}

/// The command to run after this one; where the advice is to look, what the worker said last.
fn next(reply: &Shown) -> Option<String> {
    let argv = &reply.projection.next_action.argv;
    if argv.iter().any(|word| word == "worker-show") {
        // A dialog is on the screen only.
        let is_dialog = reply.projection.attention.categories.iter().any(|category| category == "approval");
        let source = if is_dialog { " --source terminal" } else { "" };
        return Some(format!("orca orchestration worker-read --dispatch {}{source}", reply.dispatch.id));
    }
    (!argv.is_empty()).then(|| format!("orca {}", argv.join(" ")))
}

/// Lists attempts, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca orchestration worker-list --terminal-state reclaimable --json")]
pub struct WorkerListArgs {
    #[command(flatten)]
    run: RunArg,
    /// Only attempts whose terminal is in this state.
    #[arg(long, value_name = "STATE", value_parser = words(TerminalState::ALL, TerminalState::as_str))]
    terminal_state: Option<String>,
    /// Accepted for scripts written for other builds; there are no remote workers.
    #[arg(long, hide = true)]
    include_remote: bool,
    /// Where the last page ended, as it said under nextCursor.
    #[arg(long)]
    cursor: Option<String>,
    /// Attempts in a page, 1 to 100 [default: 100].
    #[arg(long)]
    limit: Option<u32>,
    #[command(flatten)]
    from: FromArg,
}

fn line(row: &WorkerListRow) -> String {
    let terminal = row.terminal_state.map_or("-", |state| state.as_str());
    let handle = row.agent_terminal_handle.as_ref().map_or("-", |handle| handle.as_str());
    let status =
        tinted(tone::dispatch(row.dispatch_status), &format!("{:<14}", row.dispatch_status.as_str()));
    let mut line = format!(
        "{}  #{} at {}  {status} {:<10} terminal {handle} {terminal}",
        row.dispatch_id, row.attempt, row.task_id, row.projection.state
    );
    if let Some(quiet_ms) = row.projection.quiet_ms {
        line.push_str(&format!("  quiet {}", age(quiet_ms)));
    }
    if row.projection.attention.requires_action {
        let look = format!("! {}", row.projection.attention.categories.join(", "));
        line.push_str(&format!("  {}", tinted(Tone::Waits, &look)));
    }
    let next = &row.projection.next_action.argv;
    if next.first().is_some_and(|group| group != "orchestration") {
        line.push_str(&format!("\n    next: orca {}", next.join(" ")));
    }
    line
}

impl Verb for WorkerListArgs {
    type Call = WorkerList;
    fn call(&self) -> Result<WorkerList, ErrorBody> {
        Ok(WorkerList {
            run: self.run.run.clone(),
            terminal_state: self.terminal_state.clone(),
            include_remote: self.include_remote,
            cursor: self.cursor.clone(),
            limit: self.limit,
            from: self.from.from.clone(),
        })
    }
    fn text(&self, reply: &Workers) -> String {
        let mut lines: Vec<String> = reply.workers.iter().map(line).collect();
        if lines.is_empty() {
            lines.push(String::from("no such workers"));
        }
        lines.extend(reply.page.next_cursor.iter().map(|cursor| format!("more: --cursor {cursor}")));
        lines.join("\n")
    }
}

/// Reads what a worker said and did, also after it ended: from its transcript where its agent has one
/// that can be read, else from its terminal.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration worker-read --dispatch ctx_0123456789ab --limit 100 \\\n      --json"
)]
pub struct WorkerReadArgs {
    /// The attempt.
    #[arg(long)]
    dispatch: String,
    /// Where the output comes from [default: auto].
    #[arg(long, value_parser = ["auto", "terminal", "transcript"])]
    source: Option<String>,
    /// Where the last page ended, as it said under cursor.
    #[arg(long)]
    cursor: Option<String>,
    /// Lines, 1 to 10000 [default: 200]; messages of a transcript, 1 to 50 [default: 40].
    #[arg(long)]
    limit: Option<u32>,
}

impl Verb for WorkerReadArgs {
    type Call = WorkerRead;
    fn call(&self) -> Result<WorkerRead, ErrorBody> {
        Ok(WorkerRead {
            dispatch: self.dispatch.clone(),
            source: self.source.clone(),
            cursor: self.cursor.clone(),
            limit: self.limit,
        })
    }
    fn text(&self, reply: &WorkerOutput) -> String {
        let mut lines: Vec<String> = match (&reply.transcript, &reply.terminal) {
            (Some(transcript), _) => transcript.messages.iter().map(message).collect(),
            (None, Some(terminal)) => terminal.tail.iter().map(|line| many_lines(line)).collect(),
            (None, None) => Vec::new(),
        };
        lines.extend(reply.warnings.iter().map(|text| warning(&one_line(text))));
        lines.extend(
            reply.fallback_reason.map(|reason| format!("from the terminal: {}", why_no_transcript(reason))),
        );
        lines.extend(reply.cursor.iter().map(|cursor| format!("what comes next: --cursor {cursor}")));
        lines.join("\n")
    }
}

fn why_no_transcript(reason: NoTranscript) -> &'static str {
    match reason {
        NoTranscript::ProviderUnsupported => "this agent writes no transcript that can be read",
        NoTranscript::SessionNotReported => "no hook of this agent told of its session",
        NoTranscript::Empty => "nobody has said anything in the transcript yet",
        NoTranscript::Missing => "the transcript is not there",
        NoTranscript::Unreadable => "the transcript cannot be opened",
        NoTranscript::ParseFailed => "the transcript has no shape that is known",
    }
}

/// A message of a transcript: who, and below it what.
fn message(message: &TranscriptMessage) -> String {
    let blocks = message.blocks.iter().map(|block| match block {
        TranscriptBlock::Text { text } => text.clone(),
        TranscriptBlock::ToolCall { name, input } => format!("[{}] {input}", one_line(name)),
        TranscriptBlock::ToolResult { output, is_error: Some(true) } => format!("[error] {output}"),
        TranscriptBlock::ToolResult { output, .. } => output.clone(),
        TranscriptBlock::ImageRef { media_type, location } => {
            let kind = media_type.as_deref().unwrap_or("image");
            format!("[{kind}] {}", one_line(location.as_deref().unwrap_or_default()))
        }
    });
    let said = blocks.collect::<Vec<_>>().join("\n");
    let said: Vec<String> = many_lines(said.trim_end()).lines().map(|line| format!("  {line}")).collect();
    format!("{}:\n{}", one_line(&message.role), said.join("\n"))
}

/// A verb that names one attempt and changes it.
macro_rules! one_dispatch {
    ($(#[$meta:meta])* $args:ident, $call:ident, $reply:ty, $text:expr, $exit:expr) => {
        #[derive(Debug, Args)]
        $(#[$meta])*
        pub struct $args {
            /// The attempt.
            #[arg(long)]
            dispatch: String,
            #[command(flatten)]
            from: FromArg,
            #[command(flatten)]
            retry: RetryArg,
        }

        impl Verb for $args {
            type Call = $call;
            fn call(&self) -> Result<$call, ErrorBody> {
                Ok($call { dispatch: self.dispatch.clone(), from: self.from.from.clone() })
            }
            fn text(&self, reply: &$reply) -> String {
                let text: fn(&$reply) -> String = $text;
                text(reply)
            }
            fn exit(&self, reply: &$reply) -> u8 {
                let exit: fn(&$reply) -> bool = $exit;
                u8::from(exit(reply))
            }
            fn retry_request(&self) -> Option<&str> {
                self.retry.retry_request.as_deref()
            }
        }
    };
}

one_dispatch!(
    /// Ends a worker: takes its right to report and closes exactly its terminal. The task is blocked.
    #[command(after_help = "Example:\n  orca orchestration worker-stop --dispatch ctx_0123456789ab --json")]
    WorkerStopArgs,
    WorkerStop,
    Stopped,
    |reply| {
        let again = if reply.already_settled { " already" } else { "" };
        let warning = reply.warning.as_ref().map(|warning| format!("\nwarning: {warning}")).unwrap_or_default();
        format!("{}  {}{again}  process {}{warning}", reply.dispatch_id, reply.state, reply.process_action)
    },
    |reply| reply.state == "stop_unknown"
);

one_dispatch!(
    /// Gives an attempt up without touching its process. The task is blocked.
    #[command(after_help = "Example:\n  orca orchestration worker-abandon --dispatch ctx_0123456789ab --json")]
    WorkerAbandonArgs,
    WorkerAbandon,
    Abandoned,
    |reply| {
        let warning = reply.warning.as_ref().map(|warning| format!("\nwarning: {warning}")).unwrap_or_default();
        format!("{}  {}{warning}", reply.dispatch_id, reply.state)
    },
    |_| false
);

fn released_text(reply: &Released) -> String {
    let reason = reply.reason.as_ref().map(|reason| format!("  ({reason})")).unwrap_or_default();
    let recovery = reply.recovery.as_ref().map(|recovery| format!("\n  try: {recovery}")).unwrap_or_default();
    let meaning = reply.reason.as_deref().and_then(kept_because);
    let meaning = meaning.map(|meaning| format!("\n{meaning}")).unwrap_or_default();
    let warned =
        reply.warning.as_ref().map(|text| format!("\n{}", warning(&one_line(text)))).unwrap_or_default();
    format!("{}  {}{reason}{meaning}{warned}{recovery}", reply.dispatch_id, reply.state)
}

/// What a reason for keeping a terminal means (contract 7.4).
fn kept_because(reason: &str) -> Option<&'static str> {
    match reason {
        "user_takeover" => Some("A person typed into this terminal, so it is theirs and stays open."),
        "external_terminal" => Some("orca did not start this terminal for the attempt, so it stays open."),
        "ownership_transferred" => Some("A later attempt uses this terminal now, so it stays open."),
        _ => None,
    }
}

one_dispatch!(
    /// Closes the terminal of a worker that reported, and keeps its output readable.
    #[command(after_help = "Example:\n  orca orchestration worker-release --dispatch ctx_0123456789ab --json")]
    WorkerReleaseArgs,
    WorkerRelease,
    Released,
    released_text,
    |reply| reply.state == "release_unknown"
);

one_dispatch!(
    /// Keeps a worker's terminal until an explicit release.
    #[command(after_help = "Example:\n  orca orchestration worker-retain --dispatch ctx_0123456789ab --json")]
    WorkerRetainArgs,
    WorkerRetain,
    Released,
    released_text,
    |reply| reply.state == "release_unknown"
);
