//! All keys, made from the key table.

use super::Page;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widget::text::Line;

/// Words the page.
pub fn project(model: &Model, scroll: usize, _n_cols: usize) -> Page {
    let prefix = model.keys.prefix.label();
    let mut page = vec![
        Line::new()
            .then(format!("Everything you type goes to the focused pane, except {prefix}."), Role::Text),
        Line::new().then("The mouse: click focuses and opens, the wheel scrolls, a drag copies.", Role::Text),
    ];
    for (heading, rows) in model.keys.table() {
        page.push(Line::new());
        page.push(Line::new().then(heading, Role::Heading));
        for (labels, text) in rows {
            page.push(Line::new().then(format!("  {labels:<14} "), Role::Key).then(text, Role::Text));
        }
    }
    Page { title: String::from("Help"), lines: page, scroll, hints: vec![(String::from("Esc"), "back")] }
}
