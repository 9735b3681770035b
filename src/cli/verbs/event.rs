//! The event log as JSON lines.

use crate::base::code::ErrorCode;
use crate::base::text;
use crate::cli::args::names;
use crate::cli::verb::{self, Session};
use crate::proto::envelope::Response;
use crate::proto::event::{EventPage, EventsList};
use clap::Args;
use std::time::Duration;

/// How long one call of a follower waits; then it asks again.
const WAIT_MS: u64 = 25_000;
/// Between two looks for a server that is away.
const RETRY: Duration = Duration::from_millis(300);

/// Prints the event log, one JSON object a line, oldest first: what was accepted, in its order.
///
/// With --follow it goes on with whatever happens, also over a restart of the server, until you end it.
/// A line's seq is the --since that goes on behind it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca events --since 0 --types task,attempt")]
pub struct EventsArgs {
    /// Go on with what happens.
    #[arg(long)]
    follow: bool,
    /// Only events after this number [default: 0; with --follow the newest].
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Only of this Run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only these types, comma-separated: task.created, or task for all of tasks.
    #[arg(long, value_name = "CSV")]
    types: Option<String>,
}

/// Prints events. Gives the exit code.
pub fn run(args: &EventsArgs, session: &mut Session<'_>) -> u8 {
    let types = match names("--types", args.types.as_deref()) {
        Ok(types) => types,
        Err(error) => return verb::fail(session, &Response::new("local", None, Err(error))),
    };
    let mut call = EventsList {
        since: args.since,
        run: args.run.clone(),
        types,
        wait_ms: args.follow.then_some(WAIT_MS),
    };
    let (mut has_begun, mut is_away) = (false, false);
    loop {
        let response = verb::answer(&call, session);
        if has_begun && is_server_away(&response) {
            if !std::mem::replace(&mut is_away, true) {
                session.out.talk("orca: the server is away; its events follow when it is back");
            }
            std::thread::sleep(RETRY);
            continue;
        }
        let Some(page) = response.result.clone().filter(|_| response.ok) else {
            return verb::fail(session, &response);
        };
        let page: EventPage = match serde_json::from_value(page) {
            Ok(page) => page,
            Err(error) => return verb::fail(session, &verb::misunderstood(&response, &error)),
        };
        (has_begun, is_away) = (args.follow, false);
        // A server that was stopped on purpose is not started again by someone who only watches.
        session.transport.never_start();
        for event in &page.events {
            let line = serde_json::to_string(event).unwrap_or_default();
            if !session.out.line(&text::one_line(&line)) {
                return 0;
            }
        }
        call.since = Some(page.next_since);
        if !args.follow && page.next_since >= page.last_seq {
            return 0;
        }
    }
}

fn is_server_away(response: &Response) -> bool {
    let code = response.error.as_ref().map(|error| error.code);
    matches!(code, Some(ErrorCode::RuntimeUnavailable | ErrorCode::OperationUnknown))
}
