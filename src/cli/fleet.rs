//! The fleet block for people: one line while all is well, every lane when one needs somebody.

use crate::base::text::age;
use crate::cli::tone::{Tone, tinted};
use crate::model::fleet::{Lane, LaneDelivery, ProcessState};
use crate::proto::fleet::Fleet;
use serde_json::Value;

/// The block of a result, in words; none where there is nothing to tell.
pub fn text(result: &Value) -> Option<String> {
    let fleet = serde_json::from_value::<Fleet>(result.get("fleet")?.clone()).ok()?;
    (!fleet.lanes.is_empty()).then(|| words(&fleet))
}

fn words(fleet: &Fleet) -> String {
    let n_lanes = fleet.lanes.len();
    let n_bad = fleet.lanes.iter().filter(|lane| lane.needs_attention()).count();
    let heading = tinted(Tone::Heading, "fleet:");
    let more = if fleet.truncated { " or more" } else { "" };
    let attempts = if n_lanes == 1 { "attempt" } else { "attempts" };
    if n_bad == 0 {
        let longest = fleet.lanes.iter().filter_map(|lane| lane.quiet_ms).max();
        let quiet = longest.map(|quiet| format!(", longest silence {}", age(quiet))).unwrap_or_default();
        return format!("{heading} {n_lanes}{more} active {attempts}{quiet}");
    }
    let n_bad = tinted(Tone::Waits, &format!("{n_bad} to look at"));
    let mut lines = vec![format!("{heading} {n_lanes}{more} active {attempts}, {n_bad}")];
    lines.extend(fleet.lanes.iter().map(line));
    lines.join("\n")
}

fn line(lane: &Lane) -> String {
    let mut facts = Vec::new();
    if lane.setup_decision.is_some() {
        facts.push(tinted(Tone::Waits, "SETUP WAITS FOR APPROVAL"));
    }
    match lane.delivery {
        LaneDelivery::NotAccepted => facts.push(tinted(Tone::Bad, "BRIEF NOT TAKEN")),
        LaneDelivery::Accepted => {}
        LaneDelivery::Unknown => facts.push(String::from("brief under way")),
    }
    match lane.process_state {
        ProcessState::Dead => facts.push(tinted(Tone::Bad, "PROCESS GONE")),
        ProcessState::Live => {}
        ProcessState::Unknown => facts.push(String::from("process not verified")),
    }
    facts.push(match lane.quiet_ms {
        Some(quiet) => format!("quiet {}", age(quiet)),
        None => String::from("no sign yet"),
    });
    if let Some(decide) = &lane.setup_decision {
        facts.push(format!("decide: {decide}"));
    } else if lane.needs_attention() {
        facts.push(format!(
            "look: orca orchestration worker-read --dispatch {} --source terminal",
            lane.dispatch_id
        ));
    }
    let mark = if lane.needs_attention() { "!" } else { " " };
    format!("{mark} {}  {}  {}  {}", lane.dispatch_id, lane.task_id, lane.lifecycle, facts.join(", "))
}
