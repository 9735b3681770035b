//! The fleet block: how the active attempts of a Run stand, on the answers that a coordinator gets anyway
//! (contract 8.1). It is never part of a receipt: an answer that is given again has a fresh one.

use super::caller;
use super::cx::{Cx, Voice};
use super::error::OpError;
use super::setup;
use super::worker::seen::{Seen, see};
use crate::base::id::RunId;
use crate::model::dispatch::Dispatch;
use crate::model::fleet::{self, Lane, MAX_SCANNED, ProcessState};
use crate::model::run::Run;
use crate::proto::fleet::{CARRIERS, Fleet};
use serde_json::Value;

/// Adds the block to an answer, where its method carries one, the caller wants it and a Run is meant.
pub fn attach(cx: &mut Cx<'_>, method: &str, mut result: Value) -> Result<Value, OpError> {
    let is_wanted = !cx.caller.origin.is_fleet_unwanted && !cx.caller.is_screen;
    if !is_wanted || !CARRIERS.contains(&method) {
        return Ok(result);
    }
    if let (Some(run), Value::Object(fields)) = (run_meant(cx, &result)?, &mut result) {
        let fleet = serde_json::to_value(load(cx, &run)?).map_err(|error| OpError::Bug(error.to_string()))?;
        fields.insert(String::from("fleet"), fleet);
    }
    Ok(result)
}

/// A coordinator sees its own Run; the person the one that the answer is about, else their own. A worker
/// that coordinates nothing sees none.
fn run_meant(cx: &mut Cx<'_>, result: &Value) -> Result<Option<RunId>, OpError> {
    if cx.voice == Voice::Unknown {
        caller::resolve(cx, None, None)?;
    }
    if let Voice::Pane(pane) = cx.voice.clone() {
        return Ok(caller::run_of_pane(cx, &pane)?.map(|run| run.id));
    }
    let row = |name: &str| result.get(name).and_then(|row| row.get("run_id"));
    let named = result.get("runId").or_else(|| ["task", "message", "dispatch"].into_iter().find_map(row));
    match named.and_then(Value::as_str).and_then(|id| RunId::parse(id).ok()) {
        Some(run) => Ok(Some(run)),
        None => Ok(cx.tx.meta::<String>("user_run")?.and_then(|id| RunId::parse(&id).ok())),
    }
}

/// The lanes of a Run.
pub fn load(cx: &Cx<'_>, run: &RunId) -> Result<Fleet, OpError> {
    if cx.tx.get::<Run>(run.as_str())?.is_none() {
        return Ok(Fleet { run_id: run.clone(), lanes: Vec::new(), truncated: false });
    }
    let mut active = cx.tx.list::<Dispatch>("active_run", run.as_str(), MAX_SCANNED + 1)?;
    let is_over = active.len() > MAX_SCANNED;
    active.truncate(MAX_SCANNED);
    let mut lanes = Vec::with_capacity(active.len());
    for dispatch in active {
        lanes.push(lane(cx, &see(cx, dispatch)?));
    }
    let is_cut = fleet::rank(&mut lanes);
    Ok(Fleet { run_id: run.clone(), lanes, truncated: is_over || is_cut })
}

fn lane(cx: &Cx<'_>, seen: &Seen) -> Lane {
    let dispatch = &seen.dispatch;
    let output_at = seen.live.as_ref().and_then(|live| live.last_output_at);
    // Output from before the attempt is no sign of it.
    let output_since = output_at.filter(|at| *at >= dispatch.created_at);
    let signs = [dispatch.last_heartbeat_at, output_since];
    let (delivery, delivery_evidence) = seen.brief();
    Lane {
        handle: dispatch.assignee_handle.clone(),
        task_id: dispatch.task_id.clone(),
        dispatch_id: dispatch.id.clone(),
        lifecycle: dispatch.status,
        quiet_ms: signs.into_iter().flatten().max().map(|at| cx.now.since_ms(at)),
        heartbeat_age_ms: dispatch.last_heartbeat_at.map(|at| cx.now.since_ms(at)),
        delivery,
        delivery_evidence,
        process_state: match seen.liveness(cx).0 {
            "live" => ProcessState::Live,
            "exited" => ProcessState::Dead,
            _ => ProcessState::Unknown,
        },
        setup_decision: seen.setup.as_ref().map(setup::show_command),
    }
}
