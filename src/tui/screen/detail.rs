//! One task: its words, what it waits for, its attempts, its timeline.

use super::Page;
use crate::base::id::{TaskId, TerminalId};
use crate::base::text;
use crate::proto::row::TaskRow;
use crate::tui::facts::{self, Need};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widget::text::{self as lines, Line};

/// Older moments are shown with their day.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Words the page.
pub fn project(model: &Model, id: &TaskId, scroll: usize, n_cols: usize) -> Page {
    let mirror = &model.mirror;
    let hints = hints(model, id);
    let Some(task) = mirror.tasks.get(id) else {
        let lines = vec![Line::new().then(format!("{id} is not there any more."), Role::Quiet)];
        return Page { title: id.to_string(), lines, scroll, hints };
    };
    let mark = facts::task_mark(mirror, task, model.moment());
    let mut page = vec![
        Line::new()
            .then(format!("{} {}", mark.glyph, mark.word), mark.role)
            .at_right(format!("{id} · created {} ago", model.moment().age(task.created_at)), Role::Quiet),
        Line::new(),
    ];
    next_step(model, task, n_cols, &mut page);
    page.extend(
        lines::wrap(&task.spec, n_cols).into_iter().take(200).map(|row| Line::new().then(row, Role::Text)),
    );
    if !task.deps.is_empty() {
        page.push(Line::new());
        page.push(Line::new().then("AFTER", Role::Heading));
        for dep in &task.deps {
            let mark = mirror.tasks.get(dep).map(|task| facts::task_mark(mirror, task, model.moment()));
            let (glyph, word, role) =
                mark.map_or(("·", String::new(), Role::Quiet), |mark| (mark.glyph, mark.word, mark.role));
            page.push(
                Line::new()
                    .then(format!("{glyph} "), role)
                    .then(facts::title_of(mirror, dep), Role::Text)
                    .at_right(word, role),
            );
        }
    }
    attempts(model, id, n_cols, &mut page);
    timeline(model, id, &mut page);
    Page { title: facts::task_title(task), lines: page, scroll, hints }
}

/// The question or gate that the task waits at.
pub fn asked(model: &Model, id: &TaskId) -> Option<Need> {
    let items = super::inbox::items(model).into_iter();
    let mut about = items.filter(|item| item.task.as_ref() == Some(id)).map(|item| item.need);
    about.find(|need| matches!(need, Need::Question(_) | Need::Gate(_)))
}

/// The pane of the newest attempt.
pub fn pane_of(model: &Model, id: &TaskId) -> Option<TerminalId> {
    let attempt = model.mirror.latest_attempt(id)?;
    let terminal = model.mirror.terminal_of(&attempt.id)?;
    model.mirror.terminals.get(terminal).filter(|row| facts::is_shown(row)).map(|row| row.handle.clone())
}

fn hints(model: &Model, id: &TaskId) -> Vec<(String, &'static str)> {
    let answer = asked(model, id).map(|_| (String::from("Enter"), "answer in the inbox"));
    let pane = pane_of(model, id).map(|_| (String::from("g"), "pane"));
    answer.into_iter().chain(pane).chain([(String::from("Esc"), "back")]).collect()
}

/// What the person can do about it now.
fn next_step(model: &Model, task: &TaskRow, n_cols: usize, page: &mut Vec<Line>) {
    let attempt = model.mirror.latest_attempt(&task.id);
    let setup = attempt.and_then(|attempt| facts::setup_words(&model.mirror, &attempt.id));
    let way_out = facts::way_out(&model.mirror, task).map(|(words, command)| format!("{words}\n{command}"));
    for words in [setup, way_out].into_iter().flatten() {
        page.push(Line::new().then("NEXT", Role::Heading));
        let rows = lines::wrap(&words, n_cols);
        page.extend(rows.into_iter().map(|row| Line::new().then(row, Role::Text)));
        page.push(Line::new());
    }
}

fn attempts(model: &Model, id: &TaskId, n_cols: usize, page: &mut Vec<Line>) {
    let mirror = &model.mirror;
    let attempts = mirror.attempts(id);
    page.push(Line::new());
    page.push(Line::new().then("ATTEMPTS", Role::Heading));
    if attempts.is_empty() {
        page.push(Line::new().then("none yet", Role::Quiet));
    }
    for attempt in attempts.into_iter().rev() {
        let mark = facts::attempt_mark(mirror, attempt, model.moment());
        let agent = facts::agent_of(mirror, &attempt.id).map(text::one_line).unwrap_or_default();
        let took = match attempt.completed_at {
            Some(end) => text::age(end.since_ms(attempt.created_at)),
            None => model.moment().age(attempt.created_at),
        };
        let line = Line::new()
            .then(format!("#{} ", attempt.attempt), Role::Heading)
            .then(format!("{} {}", mark.glyph, mark.word), mark.role)
            .then(format!(" · {agent}"), Role::Text)
            .at_right(format!("{} · took {took}", attempt.id), Role::Quiet);
        page.push(line);
        let terminal = mirror.terminal_of(&attempt.id).and_then(|id| mirror.terminals.get(id));
        if let Some(terminal) = terminal {
            let branch = terminal.branch.as_deref().map(text::one_line).unwrap_or_default();
            let place = format!("   {} {branch}", text::one_line(&terminal.worktree_path));
            page.push(Line::new().then(place, Role::Quiet));
        }
        if let Some(failure) = attempt.last_failure.as_deref().filter(|failure| !failure.is_empty()) {
            let rows = lines::wrap(&facts::failure(failure), n_cols.saturating_sub(3));
            page.extend(rows.into_iter().map(|row| Line::new().then(format!("   {row}"), Role::Bad)));
        }
        if let Some(phase) = attempt.last_phase.as_deref() {
            page.push(Line::new().then(format!("   last phase: {}", text::one_line(phase)), Role::Quiet));
        }
    }
}

/// What happened, the newest first, as `dispatch-show --history` has it.
fn timeline(model: &Model, id: &TaskId, page: &mut Vec<Line>) {
    let Some(history) = model.history.as_ref().filter(|history| history.task == *id) else { return };
    page.push(Line::new());
    page.push(Line::new().then("TIMELINE", Role::Heading));
    let Some(moments) = &history.moments else {
        page.push(Line::new().then("asking the server …", Role::Quiet));
        return;
    };
    for moment in moments.iter().rev() {
        let at = moment.at.to_iso();
        let day =
            at.get(5..10).filter(|_| model.now.since_ms(moment.at) >= DAY_MS).map(|day| format!("{day} "));
        let time = at.get(11..19).unwrap_or_default();
        let attempt = moment.attempt.map(|number| format!("#{number} ")).unwrap_or_default();
        let line = Line::new()
            .then(format!("{}{time}  ", day.unwrap_or_default()), Role::Quiet)
            .then(format!("{attempt}{}  ", text::one_line(&moment.what)), role_of(&moment.what))
            .then(text::one_line(&moment.detail), Role::Text)
            .at_right(text::one_line(&moment.by), Role::Quiet);
        page.push(line);
    }
}

fn role_of(what: &str) -> Role {
    match what {
        "succeeded" | "answered" | "gate resolved" => Role::Good,
        "failed" | "lost" | "did not start" | "refused report" | "unknown" => Role::Bad,
        "question" | "gate" | "limit reached" | "quiet" => Role::Attention,
        _ => Role::Heading,
    }
}
