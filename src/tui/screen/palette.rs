//! The command palette: every action, pane and task by name.

use crate::base::id::{TaskId, TerminalId};
use crate::tui::action::Action;
use crate::tui::canvas::Canvas;
use crate::tui::facts;
use crate::tui::keys::Scope;
use crate::tui::layout;
use crate::tui::model::{Modal, Model};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::field::Field;
use crate::tui::widget::text::{self as lines, Line};
use ratatui::layout::Rect;

/// Rows of choices.
const N_ROWS: usize = 12;

/// One thing to choose: exactly one of the targets is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    pub label: String,
    pub right: String,
    pub action: Option<Action>,
    pub terminal: Option<TerminalId>,
    pub task: Option<TaskId>,
    /// Other words that find it.
    also: &'static str,
}

/// The palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub lines: Vec<Line>,
    pub theme: Theme,
}

/// The choices that match what is written, in the order shown.
pub fn choices(model: &Model) -> Vec<Choice> {
    match &model.modal {
        Some(Modal::Palette { field, .. }) => matching(model, field.text()),
        _ => Vec::new(),
    }
}

fn matching(model: &Model, filter: &str) -> Vec<Choice> {
    let words: Vec<String> = filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut choices: Vec<Choice> = Vec::new();
    for action in Action::ALL.iter().copied().filter(|action| action.tab_number().is_none()) {
        let labels = model.keys.labels(Scope::Prefix, action);
        if let Some(label) =
            labels.first().filter(|_| action != Action::SendPrefix && action != Action::Palette)
        {
            let right = format!("{} {label}", model.keys.prefix.label());
            choices.push(Choice {
                label: action.text().to_owned(),
                right,
                action: Some(action),
                also: action.also(),
                ..Choice::default()
            });
        }
    }
    for row in model.mirror.terminals.values().filter(|row| facts::is_shown(row)) {
        let label = format!("go to pane: {}", facts::pane_title(&model.mirror, row));
        let right = row.agent.clone().unwrap_or_default();
        choices.push(Choice { label, right, terminal: Some(row.handle.clone()), ..Choice::default() });
    }
    for task in model.mirror.tasks.values() {
        let label = format!("task: {}", facts::task_title(task));
        let right = facts::task_mark(&model.mirror, task, model.moment()).word;
        choices.push(Choice { label, right, task: Some(task.id.clone()), ..Choice::default() });
    }
    choices.retain(|choice| {
        let label = choice.label.to_lowercase();
        words.iter().all(|word| label.contains(word.as_str()) || choice.also.contains(word.as_str()))
    });
    choices
}

/// Words the palette.
pub fn project(model: &Model, filter: &str, selected: usize) -> Vm {
    let choices = matching(model, filter);
    let first = (selected + 1).saturating_sub(N_ROWS);
    let mut rows: Vec<Line> = choices
        .into_iter()
        .enumerate()
        .skip(first)
        .take(N_ROWS)
        .map(|(index, choice)| {
            let line = Line::new().then(choice.label, Role::Text).at_right(choice.right, Role::Quiet);
            line.selected(index == selected)
        })
        .collect();
    if rows.is_empty() {
        rows.push(Line::new().then("nothing has that name", Role::Quiet));
    }
    Vm { lines: rows, theme: model.theme }
}

/// Draws the palette near the top, and tells where.
pub fn draw(vm: &Vm, field: &Field, area: Rect, canvas: &mut Canvas) -> Rect {
    let n_rows = u16::try_from(N_ROWS + 4).unwrap_or(16);
    let mut place = layout::centred(area, 70, n_rows);
    place.y = area.y + (area.height - place.height) / 3;
    canvas.clear(place);
    let hints =
        [(String::from("Enter"), "do it"), (String::from("↑↓"), "choose"), (String::from("Esc"), "back")];
    let inside = lines::framed("Command palette", &hints, place, &mut canvas.buffer, vm.theme);
    canvas.buffer.set_string(inside.x, inside.y, "› ", vm.theme.style(Role::Focus));
    let line = Rect { x: inside.x + 2, width: inside.width.saturating_sub(2), height: 1, ..inside };
    super::draw_field(field, line, canvas, vm.theme.style(Role::Text));
    let list = Rect { y: inside.y + 2, height: inside.height.saturating_sub(2), ..inside };
    lines::draw_lines(&vm.lines, list, &mut canvas.buffer, vm.theme);
    place
}
