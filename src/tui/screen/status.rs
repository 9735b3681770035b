//! The status line: mode, tabs, counts, connection, clock.

use crate::base::text;
use crate::tui::facts;
use crate::tui::model::{Link, Model, Tab};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::text::{Line, Span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns of a tab's name.
const TAB_COLS: usize = 24;

/// The status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub line: Line,
    pub theme: Theme,
}

fn tab_name(model: &Model, tab: &Tab) -> String {
    match tab {
        Tab::Run(run) => {
            let name = model.mirror.runs.get(run).map(|run| text::one_line(&run.objective));
            let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| run.to_string());
            text::cut_width(&name, if model.n_cols < 100 { 16 } else { TAB_COLS })
        }
        Tab::Shells => String::from("shells"),
    }
}

/// The label in front: what the next key means.
fn mode(model: &Model) -> Span {
    let is_copying =
        model.focus.as_ref().and_then(|id| model.panes.get(id)).is_some_and(|pane| pane.copy.is_some());
    if model.is_prefix_on {
        Span { text: format!(" {} … ? help ", model.keys.prefix.label()), role: Role::Mode }
    } else if model.modal.is_none() && model.sidebar_row.is_none() && is_copying {
        Span { text: String::from(" COPY "), role: Role::Mode }
    } else {
        Span { text: String::from(" orca "), role: Role::Selected }
    }
}

fn tabs(model: &Model) -> Vec<(Tab, Span)> {
    let numbered = (1..).zip(model.tabs());
    numbered
        .map(|(number, tab)| {
            let role = if tab == model.tab { Role::Focus } else { Role::Quiet };
            let mark = if tab == model.tab { "▸" } else { " " };
            let text = format!(" {mark}{number}:{}", tab_name(model, &tab));
            (tab, Span { text, role })
        })
        .collect()
}

/// Wide screens get words, narrow ones the glyphs of the same states.
pub fn project(model: &Model) -> Vm {
    let mut line = Line { left: vec![mode(model)], is_right_first: true, ..Line::default() };
    line.left.extend(tabs(model).into_iter().map(|(_, span)| span));
    let counts = facts::counts(&model.mirror, model.run());
    let n_needs = model.attention().len();
    let is_wide = model.n_cols >= 100;
    let mut add = |count: usize, glyph: &str, word: &str, role: Role| {
        // On a narrow screen the two that matter most keep their words, the others their glyphs.
        let has_word = is_wide || matches!(role, Role::Attention | Role::Running);
        if count > 0 && has_word {
            line.right.push(Span { text: format!("{glyph} {count} {word}  "), role });
        } else if count > 0 {
            line.right.push(Span { text: format!("{glyph} {count}  "), role });
        }
    };
    add(n_needs, "!", if n_needs == 1 { "needs you" } else { "need you" }, Role::Attention);
    add(counts.n_running, "●", "running", Role::Running);
    add(counts.n_ready, "○", "ready", Role::Text);
    add(counts.n_waiting, "·", "waiting", Role::Quiet);
    add(counts.n_done, "✓", "done", Role::Good);
    add(counts.n_failed, "✗", "failed", Role::Bad);
    match &model.link {
        Link::Attached => {}
        Link::Connecting => {
            line.right.push(Span { text: String::from("connecting … "), role: Role::Attention })
        }
        Link::Lost { .. } => line
            .right
            .push(Span { text: String::from("✗ server away, reconnecting … "), role: Role::Bad }),
    }
    let clock = model.now.to_iso();
    let clock = clock.get(11..16).unwrap_or_default();
    line.right.push(Span { text: format!("{clock}Z "), role: Role::Quiet });
    Vm { line, theme: model.theme }
}

/// The tab at a column.
pub fn tab_at(model: &Model, col: u16) -> Option<Tab> {
    let mut end = text::width(&mode(model).text);
    tabs(model).into_iter().find_map(|(tab, span)| {
        end += text::width(&span.text);
        (usize::from(col) < end).then_some(tab)
    })
}

/// Draws the line.
pub fn draw(vm: &Vm, area: Rect, buffer: &mut Buffer) {
    vm.line.draw(area, buffer, vm.theme);
}
