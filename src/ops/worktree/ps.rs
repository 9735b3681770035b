//! `worktree ps`: what goes on in each worktree, from the rows and the live terminals.

use super::{Rows, seen_rows};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::message::Message;
use crate::model::repo::Repo;
use crate::model::task::Task;
use crate::model::terminal::Terminal;
use crate::model::worktree::Worktree;
use crate::ops::cx::{Answer, Cx, LiveFacts, ReadWish};
use crate::ops::error::{OpError, limit_of};
use crate::ops::{reply, terminal};
use crate::proto::row::WorktreeRow;
use crate::proto::worktree::{AgentSummary, Summaries, Summary, WorktreePs};
use std::collections::BTreeSet;

/// Lines and characters of a preview.
const PREVIEW_LINES: usize = 5;
const PREVIEW_CHARS: usize = 1_000;
/// Characters of a prompt.
const PROMPT_CHARS: usize = 500;

/// `worktree ps`.
pub fn ps(cx: &mut Cx<'_>, call: WorktreePs) -> Result<Answer, OpError> {
    let mut found = cx.tx.list::<Worktree>("all", "", usize::MAX)?;
    let total_count = found.len();
    found.truncate(limit_of(call.limit, 200, 1_000)?);
    let rows = match seen_rows(cx, &found)? {
        Rows::Ask(answer) => return Ok(answer),
        Rows::Seen(rows) => rows,
    };
    let unread = with_unread(cx)?;
    let mut worktrees = Vec::with_capacity(rows.len());
    for row in rows {
        let has_unread = unread.contains(&row.id);
        worktrees.push(summary(cx, row, has_unread)?);
    }
    reply(&Summaries { truncated: worktrees.len() < total_count, total_count, worktrees })
}

fn summary(cx: &Cx<'_>, worktree: WorktreeRow, unread: bool) -> Result<Summary, OpError> {
    let terminals = terminal::alive_in(cx, &worktree.id)?;
    let live: Vec<(&Terminal, LiveFacts)> = terminals
        .iter()
        .map(|terminal| (terminal, cx.world.live(&terminal.id).unwrap_or_default()))
        .collect();
    let mut agents = Vec::new();
    for (terminal, facts) in &live {
        if let Some(kind) = terminal::agent_in(cx, terminal) {
            agents.push(agent(cx, terminal, kind, facts)?);
        }
    }
    let newest = live.iter().max_by_key(|(_, facts)| facts.last_output_at);
    let wish = ReadWish { cursor: None, limit: PREVIEW_LINES, is_screen: true };
    let screen = newest.and_then(|(terminal, _)| cx.world.read_output(&terminal.id, &wish));
    let lines = screen.map(|page| page.lines).unwrap_or_default();
    let lines: Vec<String> =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| text::one_line(line)).collect();
    let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?;
    Ok(Summary {
        repo: repo.map(|repo| repo.display_name).unwrap_or_default(),
        status: status(&agents, terminals.len()).to_owned(),
        live_terminal_count: terminals.len(),
        last_output_at: newest.and_then(|(_, facts)| facts.last_output_at),
        preview: text::cut_chars(&lines.join("\n"), PREVIEW_CHARS),
        is_active: !terminals.is_empty(),
        unread,
        agents,
        worktree,
    })
}

/// The most pressing of what its agents do.
fn status(agents: &[AgentSummary], n_live: usize) -> &'static str {
    let is_any = |state: &str| agents.iter().any(|agent| agent.state == state);
    match () {
        () if is_any("blocked") => "permission",
        () if is_any("working") => "working",
        () if is_any("done") => "done",
        () if n_live > 0 => "active",
        () => "inactive",
    }
}

fn agent(cx: &Cx<'_>, terminal: &Terminal, kind: String, live: &LiveFacts) -> Result<AgentSummary, OpError> {
    let dispatch = match &terminal.dispatch_id {
        Some(id) => cx.tx.get::<Dispatch>(id.as_str())?,
        None => None,
    };
    let task = match &dispatch {
        Some(dispatch) => cx.tx.get::<Task>(dispatch.task_id.as_str())?,
        None => None,
    };
    let creator = match &dispatch {
        Some(dispatch) => cx.tx.get::<Terminal>(&dispatch.creator_handle)?,
        None => None,
    };
    let state = terminal::activity(cx, terminal, live)?;
    let since = if live.activity.is_empty() { terminal.created_at } else { live.activity_since };
    Ok(AgentSummary {
        pane_key: terminal.pane_key.clone(),
        parent_pane_key: creator.map(|creator| creator.pane_key),
        state,
        agent_type: Some(kind),
        prompt: task.as_ref().map(|task| text::cut_chars(&task.spec, PROMPT_CHARS)).unwrap_or_default(),
        task_title: task.and_then(|task| task.task_title),
        display_name: terminal.title.clone(),
        last_assistant_message: None,
        tool_name: None,
        tool_input: None,
        interrupted: false,
        state_started_at: since,
        updated_at: live.last_output_at.map_or(since, |at: Timestamp| at.max(since)),
    })
}

/// The worktrees in which an attempt sent mail that nobody has taken: from unread mail, not from everything
/// that ever ran there.
fn with_unread(cx: &Cx<'_>) -> Result<BTreeSet<String>, OpError> {
    let mut places = BTreeSet::new();
    let mut below = String::from("\u{10ffff}");
    while let Some(id) = cx.tx.value_below::<Message>("unread_dispatch", "", &below)? {
        let dispatch = cx.tx.get::<Dispatch>(&id)?;
        if let Some(handle) = dispatch.and_then(|dispatch| dispatch.assignee_handle)
            && let Some(terminal) = cx.tx.get::<Terminal>(handle.as_str())?
            && let Some(worktree) = terminal.worktree_id
        {
            let sender = format!("dispatch:{id}");
            let unread = cx.tx.list::<Message>("unread_dispatch", &id, usize::MAX)?;
            if unread.iter().any(|message| message.from_handle == sender) {
                places.insert(worktree);
            }
        }
        below = id;
    }
    Ok(places)
}
