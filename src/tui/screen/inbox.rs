//! The inbox: every pending question and gate, answered in place, with the last lines of the pane
//! that asks.

use crate::base::clock::Timestamp;
use crate::base::id::{TaskId, TerminalId};
use crate::base::text;
use crate::tui::canvas::Canvas;
use crate::tui::facts::{self, Need};
use crate::tui::model::{InboxView, Model};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::field::Field;
use crate::tui::widget::text::{self as lines, Line};
use ratatui::layout::Rect;

/// Rows of the asking pane that are shown at least, where the screen has them.
const N_CONTEXT: usize = 15;

/// One pending question or gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub need: Need,
    pub question: String,
    pub options: Vec<String>,
    pub task: Option<TaskId>,
    pub attempt: Option<u32>,
    pub agent: Option<String>,
    /// The pane that asks.
    pub terminal: Option<TerminalId>,
    pub since: Timestamp,
}

/// All items, the oldest first.
pub fn items(model: &Model) -> Vec<Item> {
    let mirror = &model.mirror;
    let mut items: Vec<Item> = facts::open_questions(mirror)
        .map(|row| {
            let attempt = mirror.dispatches.get(&row.dispatch_id);
            Item {
                need: Need::Question(row.message_id.clone()),
                question: text::many_lines(&row.question),
                options: row.options.clone(),
                task: attempt.map(|attempt| attempt.task_id.clone()),
                attempt: attempt.map(|attempt| attempt.attempt),
                agent: facts::agent_of(mirror, &row.dispatch_id).map(text::one_line),
                terminal: TerminalId::parse(&row.asker_handle)
                    .ok()
                    .filter(|id| mirror.terminals.contains_key(id))
                    .or_else(|| mirror.terminal_of(&row.dispatch_id).cloned()),
                since: row.created_at,
            }
        })
        .collect();
    items.extend(facts::open_gates(mirror).map(|row| {
        let asked = row.limit.as_ref().map(|asked| &asked.dispatch_id);
        Item {
            need: Need::Gate(row.id.clone()),
            question: text::many_lines(&row.question),
            options: row.options.clone(),
            task: Some(row.task_id.clone()),
            attempt: asked.and_then(|id| mirror.dispatches.get(id)).map(|attempt| attempt.attempt),
            agent: asked.and_then(|id| facts::agent_of(mirror, id)).map(text::one_line),
            terminal: asked.and_then(|id| mirror.terminal_of(id)).cloned(),
            since: row.created_at,
        }
    }));
    items.sort_by(|a, b| a.since.cmp(&b.since).then_with(|| a.need.cmp(&b.need)));
    items
}

/// The inbox, worded.
#[derive(Debug, Clone, PartialEq)]
pub struct Vm {
    pub list: Vec<Line>,
    pub selected: usize,
    pub head: Vec<Line>,
    pub body: Vec<Line>,
    pub context: Vec<Line>,
    pub field: Option<Field>,
    pub is_sent: bool,
    pub hints: Vec<(String, &'static str)>,
    pub title: String,
    pub theme: Theme,
    /// Columns of the list beside the item; 0 puts it above, as one line.
    pub list_cols: u16,
}

/// Words everything for an area.
pub fn project(model: &Model, view: &InboxView, area: Rect) -> Vm {
    let items = items(model);
    let selected = items.iter().position(|item| Some(&item.need) == view.selected.as_ref()).unwrap_or(0);
    let list_cols = if area.width >= 110 { 36 } else { 0 };
    let n_cols = usize::from(area.width.saturating_sub(4 + if list_cols > 0 { list_cols + 2 } else { 0 }));
    let named = model.attention();
    let line = |(index, item)| list_line(model, item, &named, index == selected);
    let list = items.iter().enumerate().map(line).collect();
    let item = items.get(selected);
    let (head, body) = match item {
        Some(item) => (head(model, item), body(item, view.scroll, n_cols)),
        None => (
            Vec::new(),
            vec![
                Line::new().then("Nothing waits for you.", Role::Heading),
                Line::new().then(
                    "Questions of workers and gates appear here the moment they are asked.",
                    Role::Quiet,
                ),
            ],
        ),
    };
    let hints = match (&view.field, item) {
        (Some(_), _) => vec![
            (String::from("Enter"), "send"),
            (String::from("Alt-Enter"), "new line"),
            (String::from("Esc"), "drop"),
        ],
        (None, Some(item)) => {
            let mut hints = Vec::new();
            if !item.options.is_empty() {
                hints.push((format!("1…{}", item.options.len().min(9)), "answer"));
            }
            hints.push((String::from("e"), "own words"));
            if items.len() > 1 {
                hints.push((String::from("↑↓"), "next"));
            }
            if item.terminal.is_some() {
                hints.push((String::from("g"), "pane"));
            }
            hints.push((String::from("Esc"), "back"));
            hints
        }
        (None, None) => vec![(String::from("Esc"), "back")],
    };
    Vm {
        list,
        selected,
        head,
        body,
        context: item.map(|item| context(model, item)).unwrap_or_default(),
        field: view.field.clone(),
        is_sent: view.selected.as_ref().is_some_and(|need| view.sent.contains(need)),
        hints,
        title: match items.len() {
            0 => String::from("Inbox"),
            n_items => format!("Inbox {}/{n_items}", selected + 1),
        },
        theme: model.theme,
        list_cols,
    }
}

fn kind(need: &Need) -> (&'static str, &'static str) {
    match need {
        Need::Question(_) => ("?", "question"),
        Need::Gate(_) => ("◆", "gate"),
        Need::Pane(_) | Need::Trouble(_) | Need::Unseen(_) => ("!", "needs you"),
    }
}

fn list_line(model: &Model, item: &Item, named: &[facts::Attention], is_selected: bool) -> Line {
    let (glyph, _) = kind(&item.need);
    let named = named.iter().find(|named| named.need == item.need).map(|named| named.text.clone());
    Line::new()
        .then(format!("{glyph} "), Role::Attention)
        .then(named.unwrap_or_else(|| text::one_line(&item.question)), Role::Text)
        .at_right(text::age(model.now.since_ms(item.since)), Role::Quiet)
        .selected(is_selected)
}

fn head(model: &Model, item: &Item) -> Vec<Line> {
    let (glyph, word) = kind(&item.need);
    let title = item.task.as_ref().map(|task| facts::title_of(&model.mirror, task)).unwrap_or_default();
    let age = text::age(model.now.since_ms(item.since));
    let mut who = Vec::new();
    who.extend(item.agent.clone());
    who.extend(item.attempt.map(|attempt| format!("attempt #{attempt}")));
    let effect = match item.need {
        // A question about a limit names the attempt that goes on.
        Need::Gate(_) if item.attempt.is_some() => "it goes on until you decide",
        Need::Gate(_) => "the task waits until this is decided",
        Need::Question(_) | Need::Pane(_) | Need::Trouble(_) | Need::Unseen(_) => {
            "the worker waits for your answer"
        }
    };
    who.push(effect.to_owned());
    vec![
        Line::new()
            .then(format!("{glyph} {word} "), Role::Attention)
            .then(format!("· {title}"), Role::Heading)
            .at_right(format!("{age} ago"), Role::Quiet),
        Line::new().then(who.join(" · "), Role::Quiet),
        Line::new(),
    ]
}

fn body(item: &Item, scroll: usize, n_cols: usize) -> Vec<Line> {
    let rows = lines::wrap(&item.question, n_cols);
    let skipped = scroll.min(rows.len().saturating_sub(1));
    let mut body: Vec<Line> =
        rows.into_iter().skip(skipped).map(|row| Line::new().then(row, Role::Text)).collect();
    if !item.options.is_empty() {
        body.push(Line::new());
    }
    for (number, option) in (1..).zip(&item.options) {
        let key = if number < 10 { format!(" {number} ") } else { String::from("   ") };
        let mut rows = lines::wrap(&text::one_line(option), n_cols.saturating_sub(4)).into_iter();
        let first = rows.next().unwrap_or_default();
        body.push(Line::new().then(key, Role::Mode).then(format!(" {first}"), Role::Heading));
        body.extend(rows.map(|row| Line::new().then(format!("    {row}"), Role::Heading)));
    }
    body
}

fn context(model: &Model, item: &Item) -> Vec<Line> {
    let Some(pane) = item.terminal.as_ref().and_then(|id| model.panes.get(id)) else { return Vec::new() };
    let mut rows: Vec<String> = pane.image.rows().iter().map(crate::base::grid::Row::text).collect();
    while rows.last().is_some_and(|row| row.trim().is_empty()) {
        rows.pop();
    }
    rows.into_iter().map(|row| Line::new().then("│ ", Role::Frame).then(row, Role::Text)).collect()
}

/// Draws the inbox over the area.
pub fn draw(vm: &Vm, area: Rect, canvas: &mut Canvas) {
    canvas.clear(area);
    let mut inside = lines::framed(&vm.title, &vm.hints, area, &mut canvas.buffer, vm.theme);
    if vm.list_cols > 0 {
        let list = Rect { width: vm.list_cols - 1, ..inside };
        let first = (vm.selected + 1).saturating_sub(usize::from(list.height));
        lines::draw_lines(vm.list.get(first..).unwrap_or_default(), list, &mut canvas.buffer, vm.theme);
        for row in inside.top()..inside.bottom() {
            canvas.buffer.set_string(inside.x + vm.list_cols, row, "│", vm.theme.style(Role::Frame));
        }
        inside.x += vm.list_cols + 2;
        inside.width = inside.width.saturating_sub(vm.list_cols + 2);
    }
    let n_answer: u16 = if vm.field.is_some() || vm.is_sent { 5 } else { 0 };
    let n_above = u16::try_from(vm.head.len() + vm.body.len()).unwrap_or(u16::MAX);
    let above = Rect { height: n_above.min(inside.height.saturating_sub(n_answer)), ..inside };
    let all: Vec<Line> = vm.head.iter().chain(&vm.body).cloned().collect();
    lines::draw_lines(&all, above, &mut canvas.buffer, vm.theme);
    let mut row = above.bottom();
    if let Some(field) = &vm.field {
        let label = Line::new().then("Your answer", Role::Focus);
        label.draw(Rect { y: row + 1, height: 1, ..inside }, &mut canvas.buffer, vm.theme);
        let place = Rect::new(inside.x, row + 2, inside.width, 3).intersection(inside);
        super::draw_field(field, place, canvas, vm.theme.style(Role::Text));
        row = place.bottom();
    } else if vm.is_sent {
        let label = Line::new().then("sent, waiting for the server …", Role::Running);
        label.draw(Rect { y: row + 1, height: 1, ..inside }, &mut canvas.buffer, vm.theme);
        row += 2;
    }
    let room = usize::from(inside.bottom().saturating_sub(row + 2));
    if room > 0 && !vm.context.is_empty() {
        let title = Line::new().then("last lines of its pane", Role::Quiet);
        title.draw(Rect { y: row + 1, height: 1, ..inside }, &mut canvas.buffer, vm.theme);
        let from = vm.context.len().saturating_sub(room.min(N_CONTEXT.max(room)));
        let place = Rect { y: row + 2, height: inside.bottom() - row - 2, ..inside };
        lines::draw_lines(vm.context.get(from..).unwrap_or_default(), place, &mut canvas.buffer, vm.theme);
    }
}
