//! The sidebar: what needs the person, then each Run with its tasks, the running attempts, and the
//! other panes.

use crate::base::id::{RunId, TaskId, TerminalId};
use crate::base::text;
use crate::model::task::TaskState;
use crate::proto::row::{RunRow, TaskRow};
use crate::tui::facts::{self, Attention, Need};
use crate::tui::model::{Model, Tab};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::text::{self as lines, Line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Finished tasks of a Run that are listed one by one; older ones are counted.
const N_LISTED_DONE: usize = 8;
/// Mail that is listed one by one; the rest is counted.
const N_LISTED_MAIL: usize = 3;

/// What a row stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Need(Need),
    Run(RunId),
    Task(TaskId),
    Terminal(TerminalId),
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BoardRow {
    pub line: Line,
    /// What Enter or a click on it opens; none on headings and second lines.
    pub target: Option<Target>,
    /// A second line of the row above.
    pub is_continued: bool,
}

/// The sidebar, cut to its height.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub rows: Vec<BoardRow>,
    pub has_keyboard: bool,
    pub hint: String,
    pub theme: Theme,
}

fn heading(text: impl Into<String>, right: impl Into<String>) -> BoardRow {
    let line = Line::new().then(text, Role::Heading).at_right(right, Role::Quiet);
    BoardRow { line, ..BoardRow::default() }
}

fn row(line: Line, target: Target) -> BoardRow {
    BoardRow { line, target: Some(target), is_continued: false }
}

fn more(text: String) -> BoardRow {
    BoardRow { line: Line::new().then(text, Role::Quiet), target: None, is_continued: true }
}

/// All rows from the top.
pub fn rows(model: &Model) -> Vec<BoardRow> {
    let mut rows = Vec::new();
    attention(model, &mut rows);
    let mut runs: Vec<&RunRow> = model.mirror.runs.values().collect();
    runs.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.id.clone())));
    for run in runs {
        run_rows(model, run, &mut rows);
    }
    if model.mirror.n_older_runs > 0 {
        gap(&mut rows);
        rows.push(more(format!("  and {} older runs (run-list)", model.mirror.n_older_runs)));
    }
    dispatches(model, &mut rows);
    other_panes(model, &mut rows);
    if rows.is_empty() {
        rows.push(heading("No runs yet", ""));
        rows.push(more(String::from("Start a coordinator in a pane, or:")));
        rows.push(more(String::from("orca orchestration run-create")));
    } else if rows.first().is_some_and(|row| row.line == Line::default()) {
        rows.remove(0);
    }
    rows
}

fn gap(rows: &mut Vec<BoardRow>) {
    if !rows.is_empty() {
        rows.push(BoardRow::default());
    }
}

fn attention(model: &Model, rows: &mut Vec<BoardRow>) {
    let (waiting, unseen): (Vec<_>, Vec<_>) =
        model.attention().into_iter().partition(|item| item.need.is_counted());
    let sections = [("NEEDS YOU", Role::Attention, waiting), ("NOT LOOKED AT", Role::Heading, unseen)];
    let mut keys = model.hint(crate::tui::action::Action::NextAttention);
    for (heading, role, items) in sections {
        if items.is_empty() {
            continue;
        }
        gap(rows);
        let line = Line::new().then(format!("{heading} {}", items.len()), role);
        let line = line.at_right(std::mem::take(&mut keys), Role::Quiet);
        rows.push(BoardRow { line, ..BoardRow::default() });
        let n_mail = items.iter().filter(|item| matches!(item.need, Need::Mail(_))).count();
        let n_hidden = n_mail.saturating_sub(N_LISTED_MAIL);
        let n_shown = items.len() - n_hidden;
        rows.extend(items.into_iter().take(n_shown).map(|item| need_row(model, item)));
        if n_hidden > 0 {
            let inbox = model.hint(crate::tui::action::Action::Inbox);
            rows.push(more(format!("@ and {n_hidden} more mail: {inbox}")));
        }
    }
}

fn need_row(model: &Model, item: Attention) -> BoardRow {
    let mut line = Line::new().then(format!("{} ", item.mark.glyph), item.mark.role);
    // The heading says it of those that were not looked at.
    if item.need.is_counted() {
        line = line.then(format!("{} ", item.mark.word), item.mark.role);
    }
    let age = model.moment().age(item.since);
    row(line.then(item.text, Role::Text).at_right(age, Role::Quiet), Target::Need(item.need))
}

fn run_rows(model: &Model, run: &RunRow, rows: &mut Vec<BoardRow>) {
    let mut tasks: Vec<&TaskRow> = model.mirror.tasks.values().filter(|task| task.run_id == run.id).collect();
    let n_done = tasks.iter().filter(|task| task.status == TaskState::Completed).count();
    gap(rows);
    let is_here = model.tab == Tab::Run(run.id.clone());
    let name = text::one_line(&run.objective);
    let role = if is_here { Role::Focus } else { Role::Heading };
    let line = Line::new()
        .then(if is_here { "▸ " } else { "  " }, Role::Focus)
        .then(if name.is_empty() { run.id.to_string() } else { name }, role)
        .at_right(format!("{n_done}/{}", tasks.len()), Role::Quiet);
    rows.push(row(line, Target::Run(run.id.clone())));
    rows.extend(limits(model, run));
    tasks.sort_by_key(|task| (rank(task.status), task.created_at, task.id.clone()));
    let done_from = tasks.iter().position(|task| task.status == TaskState::Completed).unwrap_or(tasks.len());
    let n_hidden = (tasks.len() - done_from).saturating_sub(N_LISTED_DONE);
    for (index, task) in tasks.iter().enumerate() {
        if index < done_from || index >= done_from + n_hidden {
            task_rows(model, task, rows);
        }
    }
    if n_hidden > 0 {
        rows.push(more(format!("  ✓ and {n_hidden} more done")));
    }
    if tasks.is_empty() {
        rows.push(more(String::from("  no tasks yet")));
    }
}

/// What the Run is limited to, and how much of that is used.
fn limits(model: &Model, run: &RunRow) -> Option<BoardRow> {
    let limits = &run.limits;
    if limits.is_empty() {
        return None;
    }
    let attempts = model.mirror.dispatches.values();
    let n_active = attempts.filter(|row| row.run_id == run.id && row.status.is_active()).count();
    let mut line = Line::new().then("  ", Role::Quiet);
    if let Some(max) = limits.max_workers {
        let role = if n_active >= max as usize { Role::Attention } else { Role::Quiet };
        line = line.then(format!("{n_active}/{max} workers "), role);
    }
    let others = [
        limits.max_attempts.map(|max| format!("≤{max} tries ")),
        limits.max_wall_ms.map(|ms| format!("≤{} ", text::duration(ms))),
        limits.max_silence_ms.map(|ms| format!("quiet ≤{} ", text::duration(ms))),
    ];
    for other in others.into_iter().flatten() {
        line = line.then(other, Role::Quiet);
    }
    Some(BoardRow { line, target: None, is_continued: true })
}

/// Work in hand first, then what can start, waits, and is over.
fn rank(state: TaskState) -> u8 {
    match state {
        TaskState::Dispatched => 0,
        TaskState::Blocked => 1,
        TaskState::Failed => 2,
        TaskState::Ready => 3,
        TaskState::Pending => 4,
        TaskState::Completed => 5,
    }
}

fn task_rows(model: &Model, task: &TaskRow, rows: &mut Vec<BoardRow>) {
    let mirror = &model.mirror;
    let mark = facts::task_mark(mirror, task, model.moment());
    let attempt = mirror.latest_attempt(&task.id);
    let title = facts::task_title(task);
    let since = match task.status {
        TaskState::Completed | TaskState::Failed => {
            task.completed_at.or_else(|| attempt.and_then(|attempt| attempt.completed_at))
        }
        TaskState::Dispatched => attempt.map(|attempt| attempt.created_at),
        TaskState::Pending | TaskState::Ready | TaskState::Blocked => None,
    };
    let age = since.unwrap_or(task.created_at);
    let age = model.moment().age(age);
    let line = Line::new()
        .then(format!("{} ", mark.glyph), mark.role)
        .then(title, if task.status.is_settled() { Role::Quiet } else { Role::Text });
    if task.status == TaskState::Completed || (task.status == TaskState::Ready && attempt.is_none()) {
        let line = line.at_right(format!("{} ", mark.word), mark.role).at_right(age, Role::Quiet);
        rows.push(row(line, Target::Task(task.id.clone())));
        return;
    }
    rows.push(row(line.at_right(age, Role::Quiet), Target::Task(task.id.clone())));
    let mut second = Line::new().then("  ", Role::Quiet).then(mark.word, mark.role);
    if let Some(attempt) = attempt {
        second = second.then(format!(" · #{}", attempt.attempt), Role::Quiet);
        // Whoever starts it again wants to know how it ended, not where it was.
        let ended =
            attempt.last_failure.as_deref().filter(|_| !attempt.status.is_active()).map(facts::failure);
        let agent = facts::agent_of(mirror, &attempt.id).map(text::one_line);
        let place = [agent, branch_of(model, attempt)];
        let facts = ended.map_or(place, |why| [Some(why), None]);
        for fact in facts.into_iter().flatten() {
            second = second.then(format!(" · {fact}"), Role::Quiet);
        }
    }
    rows.push(BoardRow { line: second, target: None, is_continued: true });
}

fn branch_of(model: &Model, attempt: &crate::proto::row::DispatchRow) -> Option<String> {
    let terminal = model.mirror.terminals.get(model.mirror.terminal_of(&attempt.id)?)?;
    terminal.branch.as_deref().map(text::one_line)
}

fn dispatches(model: &Model, rows: &mut Vec<BoardRow>) {
    let mut active: Vec<_> = model.mirror.dispatches.values().filter(|row| row.status.is_active()).collect();
    if active.is_empty() {
        return;
    }
    active.sort_by_key(|row| (row.created_at, row.id.clone()));
    gap(rows);
    rows.push(heading("DISPATCHES", active.len().to_string()));
    for dispatch in active {
        let mark = facts::attempt_mark(&model.mirror, dispatch, model.moment());
        let heard = match dispatch.last_heartbeat_at {
            Some(at) => format!("♥ {}", model.moment().age(at)),
            None => format!("no report {}", model.moment().age(dispatch.created_at)),
        };
        let phase = dispatch.last_phase.as_deref().map(text::one_line).filter(|phase| !phase.is_empty());
        let title = facts::title_of(&model.mirror, &dispatch.task_id);
        let what = phase.map_or_else(|| title.clone(), |phase| format!("{phase} · {title}"));
        let line = Line::new()
            .then(format!("{} ", mark.glyph), mark.role)
            .then(format!("#{} ", dispatch.attempt), Role::Quiet)
            .then(what, Role::Text)
            .at_right(heard, Role::Quiet);
        let target = model.mirror.terminal_of(&dispatch.id).cloned().map(Target::Terminal);
        let target = target.unwrap_or_else(|| Target::Task(dispatch.task_id.clone()));
        rows.push(row(line, target));
    }
}

/// Panes without a task: coordinators and shells.
fn other_panes(model: &Model, rows: &mut Vec<BoardRow>) {
    let mirror = &model.mirror;
    let mut panes: Vec<_> = mirror.terminals.values().filter(|row| facts::is_shown(row)).collect();
    panes.retain(|row| mirror.attempt_in(&row.handle).is_none());
    if panes.is_empty() {
        return;
    }
    panes.sort_by_key(|row| (row.created_at, row.handle.clone()));
    gap(rows);
    rows.push(heading("OTHER PANES", panes.len().to_string()));
    for pane in panes {
        let is_focused = model.focus.as_ref() == Some(&pane.handle);
        let is_coordinator =
            mirror.runs.values().any(|run| run.coordinator_handle.as_deref() == Some(pane.handle.as_str()));
        let mark = facts::pane_mark(mirror, pane, model.moment());
        let glyph = if mark.glyph.is_empty() { "›" } else { mark.glyph };
        let name = match facts::pane_title(mirror, pane) {
            title if is_coordinator && title != "coordinator" => format!("coordinator {title}"),
            title => title,
        };
        let place = pane.branch.clone().or_else(|| pane.worktree_path.rsplit('/').next().map(str::to_owned));
        let mut line = Line::new().then(format!("{glyph} "), mark.role);
        if let Some(color) = facts::tab_color(pane) {
            line = line.then("▌", color);
        }
        let line = line
            .then(name, if is_focused { Role::Focus } else { Role::Text })
            .at_right(text::cut_width(&text::one_line(&place.unwrap_or_default()), 14), Role::Quiet);
        rows.push(row(line, Target::Terminal(pane.handle.clone())));
    }
}

/// The first row shown, so that the row under the cursor is in view.
fn first_row(model: &Model, n_rows: usize, n_visible: usize) -> usize {
    let at = model.sidebar_row.unwrap_or(0);
    (at + 3).saturating_sub(n_visible).min(n_rows.saturating_sub(n_visible))
}

fn n_visible(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(1))
}

/// Cuts the rows to the area and marks the one under the cursor.
pub fn project(model: &Model, area: Rect) -> Vm {
    let mut rows = rows(model);
    let first = first_row(model, rows.len(), n_visible(area));
    if let Some(at) = model.sidebar_row {
        if let Some(row) = rows.get_mut(at) {
            row.line.is_selected = true;
        }
        if let Some(next) = rows.get_mut(at + 1).filter(|next| next.is_continued && next.line.left.len() > 1)
        {
            next.line.is_selected = true;
        }
    }
    let n_below = rows.len().saturating_sub(first + n_visible(area));
    let hint = match model.sidebar_row {
        Some(_) => String::from("Enter open · g pane · Esc back"),
        None if n_below > 0 => {
            format!("{n_below} more · {}", model.hint(crate::tui::action::Action::Sidebar))
        }
        None => String::new(),
    };
    let rows = rows.into_iter().skip(first).take(n_visible(area)).collect();
    Vm { rows, has_keyboard: model.sidebar_row.is_some(), hint, theme: model.theme }
}

/// What the row at a row of the host stands for; a second line belongs to the first.
pub fn target_at(model: &Model, host_row: u16) -> Option<Target> {
    let area = model.areas().sidebar?;
    let rows = rows(model);
    let first = first_row(model, rows.len(), n_visible(area));
    let at = first + usize::from(host_row.saturating_sub(area.y));
    let row = rows.get(at)?;
    if row.is_continued { rows.get(at.checked_sub(1)?)?.target.clone() } else { row.target.clone() }
}

/// Draws the sidebar and the line beside it.
pub fn draw(vm: &Vm, area: Rect, buffer: &mut Buffer) {
    let role = if vm.has_keyboard { Role::Focus } else { Role::Frame };
    let edge = if vm.has_keyboard { "┃" } else { "│" };
    for row in area.top()..area.bottom() {
        buffer.set_string(area.right().saturating_sub(1), row, edge, vm.theme.style(role));
    }
    let inside = Rect {
        x: area.x,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(1),
        ..area
    };
    for (row, item) in (inside.top()..inside.bottom()).zip(&vm.rows) {
        item.line.draw(Rect { y: row, height: 1, ..inside }, buffer, vm.theme);
    }
    let hint = Line::new().then(vm.hint.clone(), Role::Quiet);
    let bottom = Rect { y: area.bottom().saturating_sub(1), height: 1, width: inside.width, ..area };
    lines::draw_lines(&[hint], bottom, buffer, vm.theme);
}
