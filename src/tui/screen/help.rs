//! All keys, made from the key table, and the signs.

use super::Page;
use crate::base::text;
use crate::tui::facts;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widget::text::{self as lines, Line};

/// The widest column of keys; longer ones have a row to themselves.
const MAX_KEY_COLS: usize = 20;

/// Words the page.
pub fn project(model: &Model, scroll: usize, n_cols: usize) -> Page {
    let prefix = model.keys.prefix.label();
    let mut page = Vec::new();
    for sentence in [
        format!("Everything you type goes to the focused pane, except {prefix}."),
        String::from("The mouse: click focuses and opens, the wheel scrolls, a drag copies."),
    ] {
        page.extend(lines::wrap(&sentence, n_cols).into_iter().map(|row| Line::new().then(row, Role::Text)));
    }
    let signs = facts::SIGNS.iter().map(|(sign, text)| ((*sign).to_owned(), *text)).collect();
    let sections: Vec<_> = model.keys.table().into_iter().chain([("Signs", signs)]).collect();
    let labels = sections.iter().flat_map(|(_, rows)| rows.iter().map(|(label, _)| text::width(label)));
    let key_cols = labels.filter(|width| *width <= MAX_KEY_COLS).max().unwrap_or(0);
    for (heading, rows) in sections {
        page.push(Line::new());
        page.push(Line::new().then(heading, Role::Heading));
        for (label, text) in rows {
            page.extend(row(&label, text, key_cols, n_cols));
        }
    }
    Page { title: String::from("Help"), lines: page, scroll, hints: vec![(String::from("Esc"), "back")] }
}

/// A key with its words beside it, as many rows as they need.
fn row(label: &str, words: &str, key_cols: usize, n_cols: usize) -> Vec<Line> {
    let pad = |label: &str| format!("  {label}{}  ", " ".repeat(key_cols.saturating_sub(text::width(label))));
    let rows = lines::wrap(words, n_cols.saturating_sub(key_cols + 4));
    let mut out = Vec::new();
    let is_long = text::width(label) > key_cols;
    if is_long {
        out.push(Line::new().then(format!("  {label}"), Role::Key));
    }
    for (index, words) in rows.into_iter().enumerate() {
        let label = if index == 0 && !is_long { label } else { "" };
        out.push(Line::new().then(pad(label), Role::Key).then(words, Role::Text));
    }
    out
}
