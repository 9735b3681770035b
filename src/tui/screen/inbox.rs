//! The inbox: everything that waits for the person. Questions, gates and mail are answered in place, with
//! the last lines of the pane that asks; of the rest it says what to do.

use crate::base::clock::Timestamp;
use crate::base::id::{DispatchId, TaskId, TerminalId};
use crate::base::text;
use crate::tui::canvas::Canvas;
use crate::tui::facts::{self, Attention, Mark, Need};
use crate::tui::mirror::Mirror;
use crate::tui::model::{InboxView, Model};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::field::Field;
use crate::tui::widget::text::{self as lines, Line};
use ratatui::layout::Rect;

/// Rows of the asking pane that are shown at least, where the screen has them.
const N_CONTEXT: usize = 15;

/// One thing that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub need: Need,
    pub mark: Mark,
    /// In one line, as the sidebar has it.
    pub line: String,
    /// In full.
    pub question: String,
    pub options: Vec<String>,
    pub task: Option<TaskId>,
    pub attempt: Option<u32>,
    pub agent: Option<String>,
    /// The pane that asks.
    pub terminal: Option<TerminalId>,
    pub since: Timestamp,
}

impl Item {
    /// Whether it is answered here, in the person's own words.
    pub fn is_answered_here(&self) -> bool {
        match self.need {
            Need::Question(_) | Need::Gate(_) | Need::Mail(_) => true,
            Need::Setup(_) | Need::Pane(_) | Need::Trouble(_) | Need::Unseen(_) => false,
        }
    }

    fn is_mail(&self) -> bool {
        matches!(self.need, Need::Mail(_))
    }

    /// What its `g` key goes to.
    pub fn place(&self) -> Option<&'static str> {
        match self.need {
            Need::Setup(_) | Need::Trouble(_) => Some("task"),
            Need::Question(_) | Need::Gate(_) | Need::Pane(_) | Need::Mail(_) | Need::Unseen(_) => {
                self.terminal.is_some().then_some("pane")
            }
        }
    }

    fn about(mut self, mirror: &Mirror, dispatch: &DispatchId) -> Self {
        let attempt = mirror.dispatches.get(dispatch);
        self.task = attempt.map(|attempt| attempt.task_id.clone());
        self.attempt = attempt.map(|attempt| attempt.attempt);
        self.agent = facts::agent_of(mirror, dispatch).map(text::one_line);
        self.terminal = mirror.terminal_of(dispatch).cloned();
        self
    }
}

/// All items, in the order of the sidebar.
pub fn items(model: &Model) -> Vec<Item> {
    let waiting = model.attention().into_iter().filter(|named| named.need.is_counted());
    waiting.map(|named| item(&model.mirror, named)).collect()
}

fn item(mirror: &Mirror, named: Attention) -> Item {
    let blank = Item {
        need: named.need.clone(),
        mark: named.mark,
        question: named.text.clone(),
        line: named.text,
        options: Vec::new(),
        task: None,
        attempt: None,
        agent: None,
        terminal: None,
        since: named.since,
    };
    match &named.need {
        Need::Question(id) => {
            let Some(row) = mirror.questions.get(id) else { return blank };
            let asker = TerminalId::parse(&row.asker_handle).ok();
            let asker = asker.filter(|id| mirror.terminals.contains_key(id));
            let item = blank.about(mirror, &row.dispatch_id);
            Item {
                question: text::many_lines(&row.question),
                options: row.options.clone(),
                terminal: asker.or(item.terminal.clone()),
                ..item
            }
        }
        Need::Gate(id) => {
            let Some(row) = mirror.gates.get(id) else { return blank };
            let asked = row.limit.as_ref().map(|asked| &asked.dispatch_id);
            let item = asked.map_or(blank.clone(), |asked| blank.about(mirror, asked));
            Item {
                question: text::many_lines(&row.question),
                options: row.options.clone(),
                task: Some(row.task_id.clone()),
                ..item
            }
        }
        Need::Setup(dispatch) => {
            let question = facts::setup_words(mirror, dispatch).unwrap_or(blank.question.clone());
            Item { question, ..blank.about(mirror, dispatch) }
        }
        Need::Pane(terminal) | Need::Unseen(terminal) => {
            let attempt = mirror.attempt_in(terminal).map(|attempt| attempt.id.clone());
            let item = attempt.map_or(blank.clone(), |attempt| blank.about(mirror, &attempt));
            Item { terminal: Some(terminal.clone()), ..item }
        }
        Need::Trouble(task) => {
            let attempt = mirror.latest_attempt(task);
            let why = attempt.and_then(|attempt| attempt.last_failure.as_deref()).map(facts::failure);
            let way_out = mirror.tasks.get(task).and_then(|task| facts::way_out(mirror, task));
            let way_out = way_out.map(|(words, command)| format!("{words}\n{command}"));
            let item = attempt.map_or(blank.clone(), |attempt| blank.clone().about(mirror, &attempt.id));
            let words = why.into_iter().chain(way_out).collect::<Vec<_>>().join("\n\n");
            Item { question: words, task: Some(task.clone()), ..item }
        }
        Need::Mail(id) => {
            let Some(row) = mirror.messages.get(id) else { return blank };
            let sender = TerminalId::parse(&row.from_handle).ok();
            let terminal = sender.filter(|id| mirror.terminals.get(id).is_some_and(facts::is_shown));
            let words = format!("{}\n\n{}", blank.line, text::many_lines(row.body.trim_end()));
            Item { question: words.trim_end().to_owned(), terminal, ..blank }
        }
    }
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
    let line = |(index, item)| list_line(model, item, index == selected);
    let list = items.iter().enumerate().map(line).collect();
    let item = items.get(selected);
    let (head, body) = match item {
        Some(item) => (head(model, item), body(item, view.scroll, n_cols)),
        None => (
            Vec::new(),
            vec![
                Line::new().then("Nothing waits for you.", Role::Heading),
                Line::new().then(
                    "Questions of workers, gates and mail appear here the moment they come.",
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
        (None, Some(item)) => hints(item, items.len()),
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

fn hints(item: &Item, n_items: usize) -> Vec<(String, &'static str)> {
    let mut hints = Vec::new();
    if !item.options.is_empty() {
        let keys = match item.options.len().min(9) {
            1 => String::from("1"),
            n => format!("1…{n}"),
        };
        hints.push((keys, "answer"));
    }
    if item.is_answered_here() {
        hints.push((String::from("e"), if item.is_mail() { "reply" } else { "own words" }));
    }
    if item.is_mail() {
        hints.push((String::from("x"), "put away"));
    }
    if n_items > 1 {
        hints.push((String::from("↑↓"), "next"));
    }
    hints.extend(item.place().map(|place| (String::from("g"), place)));
    hints.push((String::from("Esc"), "back"));
    hints
}

fn list_line(model: &Model, item: &Item, is_selected: bool) -> Line {
    Line::new()
        .then(format!("{} ", item.mark.glyph), item.mark.role)
        .then(item.line.clone(), Role::Text)
        .at_right(model.moment().age(item.since), Role::Quiet)
        .selected(is_selected)
}

fn head(model: &Model, item: &Item) -> Vec<Line> {
    let title = item.task.as_ref().map(|task| facts::title_of(&model.mirror, task));
    let title = title.map(|title| format!("· {title}")).unwrap_or_default();
    let age = model.moment().age(item.since);
    let mut who = Vec::new();
    who.extend(item.agent.clone());
    who.extend(item.attempt.map(|attempt| format!("attempt #{attempt}")));
    let effect = match item.need {
        // A question about a limit names the attempt that goes on.
        Need::Gate(_) if item.attempt.is_some() => "it goes on until you decide",
        Need::Gate(_) => "the task waits until this is decided",
        Need::Question(_) => "the worker waits for your answer",
        Need::Setup(_) => "type one of the commands in a shell",
        Need::Pane(_) => "look at its pane",
        Need::Trouble(_) => "type the command in a shell",
        Need::Mail(_) => "unread: reply, or orca orchestration check --terminal user",
        Need::Unseen(_) => "not looked at",
    };
    who.push(effect.to_owned());
    vec![
        Line::new()
            .then(format!("{} {} ", item.mark.glyph, item.mark.word), item.mark.role)
            .then(title, Role::Heading)
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
