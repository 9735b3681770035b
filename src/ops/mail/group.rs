//! `send --to @…`: one message for each member of a group, in one thread (contract 4.3).
//!
//! `@all`, `@idle` and `@<agent>` are the live attempts of the sender's own Run; `@worktree:<id>` is every
//! terminal of that workspace, coordinators included. The sender is never a member.

use super::post;
use super::send::{Route, new_message, of_named_run, open_question_warnings};
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::message::{Mailbox, MessageType};
use crate::model::run::Run;
use crate::model::terminal::Terminal;
use crate::model::worktree::Worktree;
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx};
use crate::ops::error::{OpError, refuse};
use crate::ops::{reply, terminal};
use crate::proto::mail::{Send, SentToGroup};
use crate::proto::row::MessageRow;

enum Group {
    All,
    Idle,
    Agent(String),
    Worktree(Worktree),
}

/// Sends to every member of the group `name`, which is without its `@`.
pub(super) fn send(
    cx: &mut Cx<'_>,
    caller: &Caller,
    call: &Send,
    kind: MessageType,
    name: &str,
) -> Result<Answer, OpError> {
    let group = parse(cx, name)?;
    let routes = match &group {
        Group::Worktree(worktree) => of_worktree(cx, caller, worktree)?,
        Group::All | Group::Idle | Group::Agent(_) => of_run(cx, caller, call, &group)?,
    };
    if routes.is_empty() {
        let shown = text::cut_chars(&text::one_line(name), 80);
        return Err(refuse(ErrorCode::GroupEmpty, format!("Nobody is in @{shown} now; nothing was sent."))
            .with("effectsApplied", false)
            .next_step("orca orchestration worker-list --json")
            .next_step("orca terminal list --json")
            .into());
    }
    let thread = call.thread_id.clone().unwrap_or_else(|| format!("thread_{}", cx.now.0));
    let mut messages = Vec::new();
    let mut warnings = Vec::new();
    for route in routes {
        warnings.extend(open_question_warnings(cx, &route.mailbox, call)?);
        let mut new = new_message(call, kind, caller, route);
        new.thread_id = Some(thread.clone());
        messages.push(MessageRow::from(&post(cx, new)?));
    }
    reply(&SentToGroup { recipients: messages.len(), messages, warnings })
}

/// A group by its name, in any case but for the worktree's id.
fn parse(cx: &Cx<'_>, name: &str) -> Result<Group, OpError> {
    const WORKTREE: &str = "worktree:";
    let is_worktree = name.get(..WORKTREE.len()).is_some_and(|head| head.eq_ignore_ascii_case(WORKTREE));
    if let Some(id) = name.get(WORKTREE.len()..).filter(|_| is_worktree) {
        let found = cx.tx.get::<Worktree>(id)?;
        return found.map(Group::Worktree).ok_or_else(|| {
            let shown = text::cut_chars(&text::one_line(id), 80);
            refuse(ErrorCode::SelectorNotFound, format!("No worktree has the id {shown:?}."))
                .next_step("orca worktree list --json")
                .into()
        });
    }
    let lower = name.to_lowercase();
    match lower.as_str() {
        "all" => return Ok(Group::All),
        "idle" => return Ok(Group::Idle),
        _ => {}
    }
    let is_agent = |id: &str| id != "shell";
    if let Some(preset) = cx.rules.agents.get(&lower).filter(|preset| is_agent(&preset.id)) {
        return Ok(Group::Agent(preset.id.clone()));
    }
    // One that nobody has set up yet has no members.
    if cx.rules.agents.two_lines(&lower).is_some() {
        return Ok(Group::Agent(lower));
    }
    let agents = cx.rules.agents.iter().filter(|preset| is_agent(&preset.id));
    let agents: Vec<String> = agents.map(|preset| format!("@{}", preset.id)).collect();
    let shown = text::cut_chars(&text::one_line(name), 60);
    let message = format!(
        "@{shown} is no group; there are @all, @idle, @worktree:<id> and one for each agent: {}.",
        agents.join(" ")
    );
    Err(refuse(ErrorCode::InvalidArgument, message)
        .with("groups", [vec![String::from("@all"), String::from("@idle")], agents].concat())
        .next_step("orca orchestration send --help")
        .into())
}

/// The members among the live attempts of the sender's own Run.
fn of_run(cx: &Cx<'_>, caller: &Caller, call: &Send, group: &Group) -> Result<Vec<Route>, OpError> {
    let run = match &caller.dispatch {
        Some(own) => of_named_run(call, own.clone())?.run_id,
        None => caller::run_to_change(cx, caller, call.run.as_deref())?.id,
    };
    let mut routes = Vec::new();
    for dispatch in cx.tx.list::<Dispatch>("active_run", run.as_str(), usize::MAX)? {
        let handle = dispatch.assignee_handle.as_ref();
        let seat = handle.map(|handle| cx.tx.get::<Terminal>(handle.as_str())).transpose()?.flatten();
        let is_sender = caller.dispatch.as_ref().is_some_and(|own| own.id == dispatch.id)
            || seat.as_ref().is_some_and(|seat| is_own(caller, seat));
        let is_member = match group {
            Group::All => seat.as_ref().is_none_or(terminal::is_alive),
            Group::Idle => seat.as_ref().is_some_and(|seat| is_idle(cx, seat)),
            Group::Agent(id) => seat.as_ref().is_some_and(|seat| {
                terminal::is_alive(seat) && terminal::agent_in(cx, seat).as_ref() == Some(id)
            }),
            Group::Worktree(_) => false,
        };
        if is_member && !is_sender && dispatch.revoked_at.is_none() {
            routes.push(route_to(cx, seat.as_ref(), Some(dispatch))?);
        }
    }
    Ok(routes)
}

/// Every live terminal of a workspace, whatever its Run.
fn of_worktree(cx: &Cx<'_>, caller: &Caller, worktree: &Worktree) -> Result<Vec<Route>, OpError> {
    let mut routes: Vec<Route> = Vec::new();
    for seat in terminal::alive_in(cx, &worktree.id)? {
        if is_own(caller, &seat) {
            continue;
        }
        let dispatch = caller::active_dispatch(cx, &seat)?.filter(|dispatch| dispatch.revoked_at.is_none());
        routes.push(route_to(cx, Some(&seat), dispatch)?);
    }
    Ok(routes)
}

/// The mailbox that a member reads: that of the Run it coordinates itself, else of its attempt, else of
/// its terminal.
fn route_to(cx: &Cx<'_>, seat: Option<&Terminal>, dispatch: Option<Dispatch>) -> Result<Route, OpError> {
    let leaf = seat.map(|seat| seat.pane_key.leaf().unwrap_or(seat.pane_key.as_str()));
    let own_run = leaf.map(|leaf| cx.tx.first::<Run>("pane", leaf)).transpose()?.flatten();
    Ok(match (own_run, dispatch, seat) {
        (Some(run), _, _) => {
            Route { mailbox: Mailbox::Run(run.id.clone()), run_id: Some(run.id), dispatch_id: None }
        }
        (None, Some(dispatch), _) => Route {
            mailbox: Mailbox::Dispatch(dispatch.id.clone()),
            run_id: Some(dispatch.run_id),
            dispatch_id: Some(dispatch.id),
        },
        (None, None, Some(seat)) => Route {
            mailbox: Mailbox::Terminal(seat.id.clone()),
            run_id: seat.run_id.clone(),
            dispatch_id: None,
        },
        (None, None, None) => return Err(OpError::Bug(String::from("a member without a mailbox"))),
    })
}

fn is_own(caller: &Caller, seat: &Terminal) -> bool {
    caller.terminal.as_ref().is_some_and(|own| own.pane_key.is_same_pane(&seat.pane_key))
}

fn is_idle(cx: &Cx<'_>, seat: &Terminal) -> bool {
    let live = cx.world.live(&seat.id).filter(|_| terminal::is_alive(seat));
    live.is_some_and(|live| matches!(live.activity.as_str(), "idle" | "done"))
}
