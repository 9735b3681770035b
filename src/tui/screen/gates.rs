//! All gates, the pending ones first.

use super::Page;
use crate::base::text;
use crate::model::gate::GateState;
use crate::tui::facts;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widget::text::{self as lines, Line};

/// Words the page.
pub fn project(model: &Model, scroll: usize, n_cols: usize) -> Page {
    let mut gates: Vec<_> = model.mirror.gates.values().collect();
    gates.sort_by_key(|gate| {
        (gate.status != GateState::Pending, std::cmp::Reverse(gate.created_at), gate.id.clone())
    });
    let mut page = Vec::new();
    for gate in gates {
        let (glyph, role, end) = match gate.status {
            GateState::Pending => ("◆ pending", Role::Attention, gate.created_at),
            GateState::Resolved => ("✓ resolved", Role::Good, gate.resolved_at.unwrap_or(gate.created_at)),
            GateState::Timeout => ("✗ timed out", Role::Bad, gate.resolved_at.unwrap_or(gate.created_at)),
        };
        if !page.is_empty() {
            page.push(Line::new());
        }
        page.push(
            Line::new()
                .then(format!("{glyph} "), role)
                .then(facts::title_of(&model.mirror, &gate.task_id), Role::Heading)
                .at_right(format!("{} ago", model.moment().age(end)), Role::Quiet),
        );
        page.extend(
            lines::wrap(&gate.question, n_cols).into_iter().map(|row| Line::new().then(row, Role::Text)),
        );
        if let Some(resolution) = &gate.resolution {
            let by = gate.resolved_by.as_deref().map(|by| format!(" ({})", text::one_line(by)));
            let text = format!("→ {}{}", text::one_line(resolution), by.unwrap_or_default());
            page.push(Line::new().then(text, Role::Good));
        }
    }
    if page.is_empty() {
        page.push(Line::new().then("No gates. A coordinator opens one with gate-create.", Role::Quiet));
    }
    let mut hints = vec![(String::from("Esc"), "back")];
    if facts::open_gates(&model.mirror).next().is_some() {
        hints.insert(0, (String::from("Enter"), "answer in the inbox"));
    }
    Page { title: String::from("Gates"), lines: page, scroll, hints }
}
