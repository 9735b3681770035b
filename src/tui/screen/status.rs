//! The status line: mode, tabs, counts, connection, clock.

use crate::base::text;
use crate::tui::facts;
use crate::tui::model::{Link, Model, Tab};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::text::{Line, Span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns of a tab's name, and the most of them where there is room.
const TAB_COLS: usize = 24;
const MAX_TAB_COLS: usize = 60;

/// The status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub line: Line,
    pub theme: Theme,
}

/// The shortest that names become before tabs are left out.
const MIN_TAB_COLS: usize = 6;

fn tab_name(model: &Model, tab: &Tab, n_cols: usize) -> String {
    match tab {
        Tab::Run(run) => {
            let name = model.mirror.runs.get(run).map(|run| text::one_line(&run.objective));
            let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| run.to_string());
            text::cut_width(&name, n_cols)
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

/// What stands for a tab, or for those that have no room.
type TabSpan = (Option<Tab>, Span);

fn n_cols(spans: &[TabSpan]) -> usize {
    spans.iter().map(|(_, span)| text::width(&span.text)).sum()
}

/// The tabs in `room` columns: with short names where the long ones do not fit, else those around the
/// current one, which is always there.
fn tabs(model: &Model, room: usize) -> Vec<TabSpan> {
    let tabs = model.tabs();
    let named = |n_cols: usize| -> Vec<TabSpan> {
        let numbered = (1..).zip(&tabs);
        numbered
            .map(|(number, tab)| {
                let role = if *tab == model.tab { Role::Focus } else { Role::Quiet };
                let mark = if *tab == model.tab { "▸" } else { " " };
                let text = format!(" {mark}{number}:{}", tab_name(model, tab, n_cols));
                (Some(tab.clone()), Span { text, role })
            })
            .collect()
    };
    let most = if model.n_cols < 100 { 16 } else { TAB_COLS.max(room / tabs.len().max(1)).min(MAX_TAB_COLS) };
    let fitting = (MIN_TAB_COLS..=most).rev().map(named).find(|spans| n_cols(spans) <= room);
    if let Some(spans) = fitting {
        return spans;
    }
    let spans = named(MIN_TAB_COLS);
    let at = tabs.iter().position(|tab| *tab == model.tab).unwrap_or(0);
    around(&spans, at, room)
}

/// As many as fit around the one at `at`, and a mark where some are left out.
fn around(spans: &[TabSpan], at: usize, room: usize) -> Vec<TabSpan> {
    let cut = |from: usize, to: usize| {
        let left_out = || (None, Span { text: String::from(" …"), role: Role::Quiet });
        let mut shown: Vec<TabSpan> = (from > 0).then(left_out).into_iter().collect();
        shown.extend(spans.get(from..to).unwrap_or_default().iter().cloned());
        shown.extend((to < spans.len()).then(left_out));
        shown
    };
    let (mut from, mut to) = (at, at + 1);
    loop {
        if to < spans.len() && n_cols(&cut(from, to + 1)) <= room {
            to += 1;
        } else if from > 0 && n_cols(&cut(from - 1, to)) <= room {
            from -= 1;
        } else {
            return cut(from, to);
        }
    }
}

/// Columns between the mode and the counts; one stays free before those.
fn room(model: &Model, mode: &Span, right: &[Span]) -> usize {
    let right: usize = right.iter().map(|span| text::width(&span.text)).sum();
    usize::from(model.n_cols).saturating_sub(text::width(&mode.text) + right + 1)
}

/// Which counts have words; the others are glyphs and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worded {
    All,
    /// The two that matter most.
    Main,
    None,
}

/// The three parts of the line. Counts give up their words before tabs are left out.
fn parts(model: &Model) -> (Span, Vec<TabSpan>, Vec<Span>) {
    let mode = mode(model);
    let levels: &[Worded] = match model.n_cols >= 100 {
        true => &[Worded::All, Worded::Main, Worded::None],
        false => &[Worded::Main, Worded::None],
    };
    let n_tabs = model.tabs().len();
    let needs = model.attention();
    let n_waiting = needs.iter().filter(|item| item.need.is_counted()).count();
    let mut shown = (Vec::new(), Vec::new());
    for worded in levels {
        let right = counts(model, *worded, (n_waiting, needs.len() - n_waiting));
        let tabs = tabs(model, room(model, &mode, &right));
        let n_shown = tabs.iter().filter(|(tab, _)| tab.is_some()).count();
        shown = (tabs, right);
        if n_shown == n_tabs {
            break;
        }
    }
    (mode, shown.0, shown.1)
}

/// The line, worded as wide as there is room.
pub fn project(model: &Model) -> Vm {
    let (mode, tabs, right) = parts(model);
    let left = std::iter::once(mode).chain(tabs.into_iter().map(|(_, span)| span)).collect();
    Vm { line: Line { left, right, is_right_first: true, ..Line::default() }, theme: model.theme }
}

/// What is on the right: the counts, the connection, the clock. Told what needs the person and what they
/// have not looked at.
fn counts(model: &Model, worded: Worded, (n_waiting, n_unseen): (usize, usize)) -> Vec<Span> {
    let mut spans = Vec::new();
    let counts = facts::counts(&model.mirror, model.run());
    let mut add = |count: usize, glyph: &str, word: &str, role: Role| {
        let has_word = match worded {
            Worded::All => true,
            Worded::Main => matches!(role, Role::Attention | Role::Running),
            Worded::None => false,
        };
        if count > 0 && has_word {
            spans.push(Span { text: format!("{glyph} {count} {word}  "), role });
        } else if count > 0 {
            spans.push(Span { text: format!("{glyph} {count}  "), role });
        }
    };
    add(n_waiting, "!", if n_waiting == 1 { "needs you" } else { "need you" }, Role::Attention);
    add(n_unseen, "•", "not looked at", Role::Good);
    add(counts.n_running, "●", "running", Role::Running);
    add(counts.n_ready, "○", "ready", Role::Text);
    add(counts.n_waiting, "·", "waiting", Role::Quiet);
    add(counts.n_done, "✓", "done", Role::Good);
    add(counts.n_failed, "✗", "failed", Role::Bad);
    match &model.link {
        Link::Attached => {}
        Link::Connecting => spans.push(Span { text: String::from("connecting … "), role: Role::Attention }),
        Link::Lost { .. } => {
            spans.push(Span { text: String::from("✗ server away, reconnecting … "), role: Role::Bad })
        }
    }
    let clock = model.now.to_iso();
    let clock = clock.get(11..16).unwrap_or_default();
    spans.push(Span { text: format!("{clock}Z "), role: Role::Quiet });
    spans
}

/// The tab at a column.
pub fn tab_at(model: &Model, col: u16) -> Option<Tab> {
    let (mode, tabs, _) = parts(model);
    let mut end = text::width(&mode.text);
    let at = tabs.into_iter().find(|(_, span)| {
        end += text::width(&span.text);
        usize::from(col) < end
    });
    at.and_then(|(tab, _)| tab)
}

/// Draws the line.
pub fn draw(vm: &Vm, area: Rect, buffer: &mut Buffer) {
    vm.line.draw(area, buffer, vm.theme);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_tab_is_always_there() {
        let spans: Vec<TabSpan> = [" a", " b", " c", " d"]
            .map(|text| (Some(Tab::Shells), Span { text: text.to_owned(), role: Role::Text }))
            .into();
        let check = |at: usize, room: usize, expected: &str| {
            let shown: String = around(&spans, at, room).into_iter().map(|(_, span)| span.text).collect();
            assert_eq!(shown, expected, "{at} in {room}");
        };
        check(0, 8, " a b c d");
        check(0, 6, " a b …");
        check(1, 6, " a b …");
        check(3, 6, " … c d");
        check(2, 0, " … c …");
    }
}
