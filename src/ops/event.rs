//! `events`: the event log in pages, from a number on. A follower asks again with the number it was
//! given, so it misses nothing and nobody waits for it, whatever happened to either side meanwhile.

use super::cx::{Answer, Cx, EventFilter, Wait, WaitOn, Wake};
use super::error::{OpError, invalid, refuse};
use super::{caller, reply};
use crate::base::code::ErrorCode;
use crate::base::id::RunId;
use crate::base::text;
use crate::model::event::{Event, EventKind};
use crate::proto::event::{EventPage, EventsList};

/// The most events of a page, and the most that are looked at for one.
const MAX_EVENTS: usize = 500;
const MAX_LOOKED_AT: usize = 5_000;
const MAX_WAIT_MS: u64 = 60_000;

/// `events`.
pub fn list(cx: &mut Cx<'_>, call: EventsList) -> Result<Answer, OpError> {
    let filter = filter_of(cx, &call)?;
    let last = cx.tx.last_event_seq()?;
    let since = call.since.unwrap_or(if call.wait_ms.is_some() { last } else { 0 });
    if since > last {
        return Err(refuse(
            ErrorCode::CursorInvalid,
            format!("The newest event has the number {last}; {since} is not there yet."),
        )
        .next_step(format!("orca events --since {}", last.saturating_sub(20)))
        .into());
    }
    let page = page(cx, since, &filter)?;
    let Some(wait_ms) = call.wait_ms.filter(|_| page.events.is_empty() && page.next_since == last) else {
        return reply(&page);
    };
    let deadline = Some(cx.now.plus_ms(wait_ms.min(MAX_WAIT_MS)));
    Ok(Answer::Wait(Wait { on: WaitOn::Events { since: last, filter }, deadline, began: cx.now }))
}

/// A follower that waits is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Events { since, filter } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for events")));
    };
    let page = page(cx, *since, filter)?;
    if page.events.is_empty() && wake == Wake::Changed {
        let on = WaitOn::Events { since: page.next_since, filter: filter.clone() };
        return Ok(Answer::Wait(Wait { on, ..wait }));
    }
    reply(&page)
}

fn page(cx: &Cx<'_>, since: u64, filter: &EventFilter) -> Result<EventPage, OpError> {
    let last_seq = cx.tx.last_event_seq()?;
    let mut page = EventPage { events: Vec::new(), next_since: since, last_seq };
    for event in cx.tx.events_after(since, MAX_LOOKED_AT)? {
        if page.events.len() == MAX_EVENTS {
            break;
        }
        page.next_since = event.seq;
        if is_wanted(&event, filter) {
            page.events.push(event);
        }
    }
    Ok(page)
}

fn is_wanted(event: &Event, filter: &EventFilter) -> bool {
    let is_of_run = filter.run.as_ref().is_none_or(|run| event.run_id.as_ref() == Some(run));
    let is_of_type = filter.types.is_empty() || filter.types.iter().any(|word| is_named(event.kind, word));
    is_of_run && is_of_type
}

/// `task.created` names one kind, `task` all of its noun.
fn is_named(kind: EventKind, word: &str) -> bool {
    let kind = kind.as_str();
    kind == word || kind.split_once('.').is_some_and(|(noun, _)| noun == word)
}

fn filter_of(cx: &Cx<'_>, call: &EventsList) -> Result<EventFilter, OpError> {
    let is_known = |word: &String| EventKind::ALL.iter().any(|kind| is_named(*kind, word));
    if let Some(unknown) = call.types.iter().find(|word| !is_known(word)) {
        let known: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        return Err(invalid(format!(
            "{:?} is no type of event; use the nouns or whole names of: {}.",
            text::cut_chars(&text::one_line(unknown), 60),
            known.join(", ")
        )));
    }
    let run = call.run.as_deref().map(|run| known_run(cx, run)).transpose()?;
    Ok(EventFilter { run, types: call.types.clone() })
}

/// A Run that there is, or was: the history of one that was reset is still there.
fn known_run(cx: &Cx<'_>, run: &str) -> Result<RunId, OpError> {
    if let Ok(id) = RunId::parse(run)
        && cx.tx.has_begun(&id)?
    {
        return Ok(id);
    }
    caller::named_run(cx, run).map(|run| run.id)
}
