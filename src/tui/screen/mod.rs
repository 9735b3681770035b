//! The screens. Each has `project(&Model) -> Vm`, plain values already sorted, cut and worded, and
//! `draw`, which looks nothing up. This file puts them together.

pub mod board;
pub mod detail;
pub mod gates;
pub mod help;
pub mod inbox;
pub mod palette;
pub mod panes;
pub mod status;
#[cfg(test)]
mod tests;

use super::canvas::{Canvas, HostCursor};
use super::layout;
use super::model::{Modal, Model};
use super::stale::PaneRows;
use super::theme::Role;
use super::widget::text::{self, Line};
use crate::base::grid::CursorShape;
use ratatui::layout::Rect;

/// Lines in a frame that scrolls: what help, gates and task detail are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    pub title: String,
    pub lines: Vec<Line>,
    pub scroll: usize,
    pub hints: Vec<(String, &'static str)>,
}

/// Draws the whole frame on a blank one.
pub fn draw(model: &Model, canvas: &mut Canvas) {
    let areas = model.areas();
    if areas.is_hopeless {
        let note = format!("{}×{} is too small; orca wants 20×5", model.n_cols, model.n_rows);
        for (row, text) in (0..model.n_rows).zip(text::wrap(&note, usize::from(model.n_cols))) {
            canvas.buffer.set_stringn(0, row, text, usize::from(model.n_cols), model.theme.style(Role::Text));
        }
        return;
    }
    panes::draw(&panes::project(model), areas.panes, canvas);
    if let Some(area) = areas.sidebar {
        if areas.is_overlay {
            canvas.clear(area);
        }
        board::draw(&board::project(model, area), area, &mut canvas.buffer);
    }
    if !areas.status.is_empty() {
        status::draw(&status::project(model), areas.status, &mut canvas.buffer);
    }
    if model.modal.is_some() || model.sidebar_row.is_some() {
        canvas.cursor = None;
    }
    let modal = draw_modal(model, areas.panes.union(areas.sidebar.unwrap_or(areas.panes)), canvas);
    draw_toasts(model, areas.panes, modal, canvas);
}

/// The part of the frame in which rows of panes are shown. None where something may lie over them, so
/// that the whole frame must be drawn.
pub fn part<'m>(model: &'m Model, rows: &PaneRows) -> Option<panes::Part<'m>> {
    let areas = model.areas();
    let is_covered = areas.is_hopeless
        || areas.is_overlay
        || model.modal.is_some()
        || model.sidebar_row.is_some()
        || model.press.is_some()
        || rows.keys().any(|terminal| model.is_in_copy_mode(terminal))
        || !model.toasts.is_empty();
    if is_covered { None } else { panes::part(model, rows) }
}

/// Draws what lies over the panes, and tells where.
fn draw_modal(model: &Model, area: Rect, canvas: &mut Canvas) -> Option<Rect> {
    match model.modal.as_ref()? {
        Modal::Inbox(view) => {
            inbox::draw(&inbox::project(model, view, area), area, canvas);
            Some(area)
        }
        Modal::Task { .. } | Modal::Gates { .. } | Modal::Help { .. } => {
            let (page, area) = page(model, area)?;
            draw_page(&page, area, canvas, model);
            Some(area)
        }
        Modal::Palette { field, selected } => {
            let vm = palette::project(model, field.text(), *selected);
            Some(palette::draw(&vm, field, area, canvas))
        }
        Modal::ConfirmClose { question, .. } => Some(draw_confirm(model, question, area, canvas)),
    }
}

/// The open page and where it is drawn.
fn page(model: &Model, area: Rect) -> Option<(Page, Rect)> {
    let n_cols = usize::from(area.width.min(100).saturating_sub(4));
    let page = match &model.modal {
        Some(Modal::Task { task, scroll }) => detail::project(model, task, *scroll, n_cols),
        Some(Modal::Gates { scroll }) => gates::project(model, *scroll, n_cols),
        Some(Modal::Help { scroll }) => help::project(model, *scroll, n_cols),
        Some(Modal::Inbox(_) | Modal::Palette { .. } | Modal::ConfirmClose { .. }) | None => return None,
    };
    let n_rows = u16::try_from(page.lines.len() + 2).unwrap_or(u16::MAX);
    Some((page, layout::centred(area, 100, n_rows)))
}

/// Lines of the open page, and rows that show some of them.
fn page_size(model: &Model) -> (usize, usize) {
    let areas = model.areas();
    let whole = areas.panes.union(areas.sidebar.unwrap_or(areas.panes));
    page(model, whole)
        .map_or((0, 0), |(page, area)| (page.lines.len(), usize::from(area.height).saturating_sub(2)))
}

/// How many rows of the open page can be scrolled away.
pub fn n_hidden_rows(model: &Model) -> usize {
    let (n_lines, n_rows) = page_size(model);
    n_lines.saturating_sub(n_rows)
}

/// How many rows a page key scrolls: one stays in view.
pub fn n_page_rows(model: &Model) -> usize {
    page_size(model).1.saturating_sub(1).max(1)
}

fn draw_page(page: &Page, area: Rect, canvas: &mut Canvas, model: &Model) {
    canvas.clear(area);
    let mut hints = page.hints.clone();
    let n_rows = usize::from(area.height.saturating_sub(2));
    let n_hidden = page.lines.len().saturating_sub(n_rows);
    if n_hidden > 0 {
        hints.insert(0, (String::from("↑↓"), "scroll"));
    }
    let inside = text::framed(&page.title, &hints, area, &mut canvas.buffer, model.theme);
    let shown = page.lines.get(page.scroll.min(n_hidden)..).unwrap_or_default();
    text::draw_lines(shown, inside, &mut canvas.buffer, model.theme);
    if n_hidden > 0 && area.width > 24 {
        let at = format!(
            " {}–{} of {} ",
            page.scroll + 1,
            (page.scroll + n_rows).min(page.lines.len()),
            page.lines.len()
        );
        let col = area.right().saturating_sub(2 + u16::try_from(at.chars().count()).unwrap_or(0));
        canvas.buffer.set_string(col, area.top(), at, model.theme.style(Role::Quiet));
    }
}

fn draw_confirm(model: &Model, question: &str, area: Rect, canvas: &mut Canvas) -> Rect {
    let rows = text::wrap(question, usize::from(area.width.min(60).saturating_sub(4)));
    let area = layout::centred(area, 60, u16::try_from(rows.len()).unwrap_or(1) + 2);
    canvas.clear(area);
    let hints = [(String::from("y"), "yes"), (String::from("n"), "no")];
    let inside = text::framed("Close pane", &hints, area, &mut canvas.buffer, model.theme);
    let lines: Vec<Line> = rows.into_iter().map(|row| Line::new().then(row, Role::Text)).collect();
    text::draw_lines(&lines, inside, &mut canvas.buffer, model.theme);
    area
}

/// The widest note, in columns.
const NOTE_COLS: u16 = 72;
/// The most rows of a note.
const NOTE_ROWS: usize = 6;

/// Notes lie over the lower right corner, above the row in which a prompt or the end of a program stands,
/// and never take the keyboard. Where they would lie over the frame of what is open, they lie inside it.
fn draw_toasts(model: &Model, area: Rect, modal: Option<Rect>, canvas: &mut Canvas) {
    let notes = |width: u16| -> Vec<(bool, Vec<String>)> {
        let rows = |text: &str| text::wrap(text, usize::from(width.saturating_sub(4)));
        let cut = |text: &str| rows(text).into_iter().take(NOTE_ROWS).collect();
        model.toasts.iter().rev().map(|toast| (toast.is_error, cut(&toast.text))).collect()
    };
    let mut area = Rect { height: area.height.saturating_sub(1), ..area };
    let mut shown = notes(area.width.min(NOTE_COLS));
    let n_rows: usize = shown.iter().map(|(_, rows)| rows.len()).sum();
    let n_rows = u16::try_from(n_rows).unwrap_or(u16::MAX).min(area.height);
    let width = area.width.min(NOTE_COLS);
    let corner = Rect::new(area.right() - width, area.bottom() - n_rows, width, n_rows);
    if let Some(modal) = modal.filter(|modal| modal.intersects(corner)) {
        area = Rect::new(
            modal.x + 1,
            modal.y + 1,
            modal.width.saturating_sub(2),
            modal.height.saturating_sub(2),
        );
        shown = notes(area.width.min(NOTE_COLS));
    }
    let mut bottom = area.bottom();
    for (is_error, rows) in shown {
        let n_rows = u16::try_from(rows.len()).unwrap_or(1);
        if bottom < area.top() + n_rows {
            break;
        }
        let used = rows.iter().map(|row| crate::base::text::width(row)).max().unwrap_or(0);
        let width = area.width.min(u16::try_from(used + 4).unwrap_or(area.width));
        bottom -= n_rows;
        let place = Rect::new(area.right() - width, bottom, width, n_rows);
        canvas.clear(place);
        let (sign, role) = if is_error { ("✗ ", Role::Bad) } else { ("• ", Role::Focus) };
        for (row, text) in (place.top()..place.bottom()).zip(rows) {
            let sign = if row == place.top() { sign } else { "  " };
            let line = Line::new().then(format!(" {sign}"), role).then(text, Role::Heading);
            line.draw(Rect { y: row, height: 1, ..place }, &mut canvas.buffer, model.theme);
        }
    }
}

/// Puts the host's cursor into a field at `area`, scrolled so that it is visible, and draws it.
pub fn draw_field(
    field: &super::widget::field::Field,
    area: Rect,
    canvas: &mut Canvas,
    style: ratatui::style::Style,
) {
    let (rows, (at_row, at_col)) = field.rows(area.width);
    let first = (at_row + 1).saturating_sub(area.height);
    for (row, text) in (area.top()..area.bottom()).zip(rows.iter().skip(usize::from(first))) {
        canvas.buffer.set_stringn(area.x, row, text, usize::from(area.width), style);
    }
    if area.height > 0 {
        let col = (area.x + at_col).min(area.right().saturating_sub(1));
        canvas.cursor = Some(HostCursor { row: area.y + at_row - first, col, shape: CursorShape::SteadyBar });
    }
}
