//! What the rows mean for a person: the word and glyph of each state, what needs attention and in
//! which order, the counts. Pure functions over the mirror, so that sidebar, titles, inbox and
//! status line cannot disagree (design 7.7).

mod attention;

pub use attention::{
    Attention, Need, attention, awaits_approval, failure, is_for_person, mail_words, setup_words, way_out,
};

use super::ages::Moment;
use super::mirror::Mirror;
use super::theme::Role;
use crate::base::id::{DispatchId, RunId, TaskId};
use crate::base::text;
use crate::model::fleet::{self, Shown, Sight};
use crate::model::gate::GateState;
use crate::model::question::QuestionState;
use crate::model::task::{self, TaskState};
use crate::model::terminal::TerminalLife;
use crate::proto::row::{DispatchRow, TaskRow, TerminalRow};

/// A state as it is shown: never by colour alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub glyph: &'static str,
    pub word: String,
    pub role: Role,
}

impl Mark {
    fn new(glyph: &'static str, word: impl Into<String>, role: Role) -> Self {
        Self { glyph, word: word.into(), role }
    }
}

/// The title of a task, safe to show.
pub fn task_title(task: &TaskRow) -> String {
    match &task.display_name {
        Some(name) if !name.trim().is_empty() => text::one_line(name),
        Some(_) | None => task::title(task.task_title.as_deref(), &task.spec),
    }
}

/// The title of a task by id.
pub fn title_of(mirror: &Mirror, id: &TaskId) -> String {
    mirror.tasks.get(id).map_or_else(|| id.to_string(), task_title)
}

/// The state of a task.
pub fn task_mark(mirror: &Mirror, task: &TaskRow, moment: Moment<'_>) -> Mark {
    match task.status {
        TaskState::Pending => {
            let first = task.unmet_dependencies.first();
            let word = match first {
                Some(dep) if dep.status == TaskState::Failed => {
                    format!("waits: {} failed", title_of(mirror, &dep.id))
                }
                Some(dep) => format!("waits for {}", title_of(mirror, &dep.id)),
                None => String::from("waits"),
            };
            Mark::new("·", word, Role::Quiet)
        }
        TaskState::Ready => Mark::new("○", "ready", Role::Text),
        TaskState::Dispatched => {
            let attempt = task.dispatch_id.as_ref().and_then(|id| mirror.dispatches.get(id));
            let attempt = attempt.or_else(|| mirror.latest_attempt(&task.id));
            attempt.map_or_else(
                || Mark::new("●", "dispatched", Role::Running),
                |attempt| attempt_mark(mirror, attempt, moment),
            )
        }
        TaskState::Completed => Mark::new("✓", "done", Role::Good),
        TaskState::Failed => Mark::new("✗", "failed", Role::Bad),
        TaskState::Blocked => {
            let is_gated = open_gates(mirror).any(|gate| gate.task_id == task.id && gate.limit.is_none());
            if is_gated {
                Mark::new("◆", "at a gate", Role::Attention)
            } else {
                Mark::new("■", "blocked", Role::Attention)
            }
        }
    }
}

/// The state of an attempt, in the word that the command line has for it too.
pub fn attempt_mark(mirror: &Mirror, attempt: &DispatchRow, moment: Moment<'_>) -> Mark {
    let worker = mirror.workers.get(&attempt.id);
    let live = mirror.terminal_of(&attempt.id).and_then(|terminal| mirror.live.get(terminal));
    let began = attempt.dispatched_at.unwrap_or(attempt.created_at);
    let output_at = live.and_then(|live| live.last_output_at);
    let stage = worker.map(|worker| (worker.stage, worker.delivery));
    let heartbeat_at = attempt.last_heartbeat_at;
    let sight = Sight {
        brief: fleet::delivery(attempt.status, stage, attempt.dispatched_at, heartbeat_at, output_at).0,
        status: attempt.status,
        termination: attempt.termination_reason,
        worker: worker.map(|worker| worker.state),
        delivery: worker.map(|worker| worker.delivery),
        has_question: open_questions(mirror).any(|question| question.dispatch_id == attempt.id),
        has_heartbeat: attempt.last_heartbeat_at.is_some(),
        activity: live.map(|live| live.activity.as_str()),
        quiet_ms: fleet::quiet_ms(began, attempt.last_heartbeat_at, output_at, moment.now),
        awaits_approval: awaits_approval(mirror, attempt),
    };
    let shown = sight.shown();
    let (glyph, role) = look(shown);
    if attempt.status.is_active() && sight.quiet_ms.is_none() {
        moment.changes_in(fleet::quiet_in_ms(began, attempt.last_heartbeat_at, output_at, moment.now));
    }
    let word = match (shown, sight.quiet_ms) {
        (Shown::Quiet, Some(quiet)) => format!("quiet {}", moment.grown(quiet)),
        (_, _) => shown.to_string(),
    };
    Mark::new(glyph, word, role)
}

fn look(shown: Shown) -> (&'static str, Role) {
    match shown {
        Shown::Done => ("✓", Role::Good),
        Shown::Failed | Shown::Broken | Shown::StartFailed => ("✗", Role::Bad),
        Shown::Lost => ("!", Role::Bad),
        Shown::Stopped | Shown::Abandoned => ("□", Role::Quiet),
        Shown::Asks => ("?", Role::Attention),
        Shown::SetupUnapproved
        | Shown::BriefHeld
        | Shown::BriefUnconfirmed
        | Shown::BriefNotTaken
        | Shown::WantsYou => ("!", Role::Attention),
        Shown::StartUnknown | Shown::StopUnknown | Shown::Error => ("!", Role::Bad),
        Shown::Starting | Shown::Stopping => ("◌", Role::Running),
        Shown::Idle => ("◐", Role::Running),
        Shown::Quiet | Shown::Working => ("●", Role::Running),
    }
}

/// The signs in front of tasks, attempts and panes, for the help.
pub const SIGNS: &[(&str, &str)] = &[
    ("?", "asks a question: answer it in the inbox"),
    ("◆", "a gate or a limit: decide it in the inbox"),
    ("!", "wants you: look at it (lost, a dialog, an approval, a brief that is held back)"),
    ("✗", "failed, or did not start"),
    ("@", "mail to you"),
    ("•", "ended, and you have not looked at it"),
    ("♪", "rang the bell"),
    ("●", "works"),
    ("◐", "idle"),
    ("◌", "starts or stops"),
    ("○", "ready: nobody works on it yet"),
    ("·", "waits for other tasks; of a pane: closed"),
    ("■", "blocked"),
    ("□", "stopped, abandoned, or the program ended"),
    ("✓", "done"),
    ("›", "a pane without a task"),
    ("♥", "time since the worker's last report"),
];

/// The state of a pane: its attempt's, or its process's.
pub fn pane_mark(mirror: &Mirror, terminal: &TerminalRow, moment: Moment<'_>) -> Mark {
    match terminal.life {
        TerminalLife::Starting => return Mark::new("◌", "starting", Role::Running),
        TerminalLife::Failed => return Mark::new("✗", "did not start", Role::Bad),
        TerminalLife::Lost => return Mark::new("!", "lost", Role::Bad),
        TerminalLife::Closed => return Mark::new("·", "closed", Role::Quiet),
        TerminalLife::Exited | TerminalLife::Running => {}
    }
    let attempt = mirror.attempt_in(&terminal.handle);
    if terminal.life == TerminalLife::Exited {
        let word = terminal.end.as_ref().map_or_else(|| String::from("ended"), ToString::to_string);
        let is_good = terminal.end.as_ref().is_some_and(|end| end.exit_code == Some(0));
        return Mark::new("□", word, if is_good { Role::Quiet } else { Role::Bad });
    }
    if let Some(attempt) = attempt {
        return attempt_mark(mirror, attempt, moment);
    }
    match mirror.live.get(&terminal.handle).map(|live| live.activity.as_str()) {
        Some("blocked") => Mark::new("!", "wants you", Role::Attention),
        Some("working") => Mark::new("●", "working", Role::Running),
        Some("error") => Mark::new("!", "error", Role::Bad),
        Some("idle" | "done") => Mark::new("◐", "idle", Role::Quiet),
        _ => Mark::new("", "", Role::Quiet),
    }
}

/// The colour that its repository gave a pane (contract 5.3), for a bar beside its name: whatever stands in
/// it must be readable on any ground.
pub fn tab_color(terminal: &TerminalRow) -> Option<Role> {
    let hex = terminal.color.as_deref()?.strip_prefix('#')?;
    let digits = hex.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect::<Option<Vec<u8>>>()?;
    match digits.as_slice() {
        [red, green, blue] => Some(Role::Tab(red * 17, green * 17, blue * 17)),
        [a, b, c, d, e, f] => Some(Role::Tab(a * 16 + b, c * 16 + d, e * 16 + f)),
        _ => None,
    }
}

/// The name of a pane: the one it was given since, its task, the title it was opened with, or what runs in it.
pub fn pane_title(mirror: &Mirror, terminal: &TerminalRow) -> String {
    let named = terminal.pane_title.as_deref().map(text::one_line).filter(|title| !title.is_empty());
    if let Some(title) = named {
        return title;
    }
    if let Some(attempt) = mirror.attempt_in(&terminal.handle) {
        return title_of(mirror, &attempt.task_id);
    }
    let given = terminal.title.as_deref().map(text::one_line).filter(|title| !title.is_empty());
    let live = mirror.live.get(&terminal.handle).map(|live| text::one_line(&live.title));
    let agent = agent_in(mirror, terminal).map(str::to_owned);
    let program = || {
        let name = terminal.command.first().and_then(|word| word.rsplit('/').next());
        name.map_or_else(|| String::from("shell"), text::one_line)
    };
    given.or(live.filter(|title| !title.is_empty())).or(agent).unwrap_or_else(program)
}

/// The agent in a pane, also one that was started in its shell.
pub fn agent_in<'m>(mirror: &'m Mirror, terminal: &'m TerminalRow) -> Option<&'m str> {
    let live = || mirror.live.get(&terminal.handle)?.agent.as_deref();
    terminal.agent.as_deref().filter(|agent| *agent != "shell").or_else(live)
}

/// Pending questions.
pub fn open_questions(mirror: &Mirror) -> impl Iterator<Item = &crate::proto::row::QuestionRow> {
    mirror.questions.values().filter(|row| row.status == QuestionState::Pending)
}

/// Pending gates.
pub fn open_gates(mirror: &Mirror) -> impl Iterator<Item = &crate::proto::row::GateRow> {
    mirror.gates.values().filter(|row| row.status == GateState::Pending)
}

/// Whether a terminal has a pane.
pub fn is_shown(terminal: &TerminalRow) -> bool {
    terminal.life.has_pane()
}

/// What the status line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub n_running: usize,
    pub n_ready: usize,
    pub n_waiting: usize,
    pub n_done: usize,
    pub n_failed: usize,
}

/// The counts of one Run, or of all.
pub fn counts(mirror: &Mirror, run: Option<&RunId>) -> Counts {
    let mut counts = Counts::default();
    for task in mirror.tasks.values().filter(|task| run.is_none_or(|run| task.run_id == *run)) {
        match task.status {
            TaskState::Pending | TaskState::Blocked => counts.n_waiting += 1,
            TaskState::Ready => counts.n_ready += 1,
            TaskState::Dispatched => counts.n_running += 1,
            TaskState::Completed => counts.n_done += 1,
            TaskState::Failed => counts.n_failed += 1,
        }
    }
    counts
}

/// The Run that a terminal belongs to: that of the pane it was split from, the one it was made for, or
/// the one it coordinates.
pub fn run_of(mirror: &Mirror, terminal: &TerminalRow) -> Option<RunId> {
    let terminal = first_of_split(mirror, terminal);
    let attempt = mirror.attempt_in(&terminal.handle).map(|attempt| attempt.run_id.clone());
    let coordinated = || {
        let handle = terminal.handle.as_str();
        let runs = mirror.runs.values().filter(|run| run.coordinator_handle.as_deref() == Some(handle));
        runs.max_by_key(|run| run.updated_at).map(|run| run.id.clone())
    };
    attempt.or_else(|| terminal.run_id.clone()).or_else(coordinated)
}

/// The pane whose tab a pane is in: what it was split from, as long as that is shown.
fn first_of_split<'m>(mirror: &'m Mirror, terminal: &'m TerminalRow) -> &'m TerminalRow {
    let parent_of = |row: &TerminalRow| row.split.as_ref().and_then(|split| mirror.terminals.get(&split.of));
    let mut first = terminal;
    // A row cannot be split from a later one, so this comes to an end; it is bounded all the same.
    for _ in 0..mirror.terminals.len() {
        match parent_of(first).filter(|parent| is_shown(parent)) {
            Some(parent) => first = parent,
            None => break,
        }
    }
    first
}

/// The agent of an attempt, as it was started.
pub fn agent_of<'m>(mirror: &'m Mirror, dispatch: &DispatchId) -> Option<&'m str> {
    let worker = mirror.workers.get(dispatch).and_then(|worker| worker.start_options.agent.as_deref());
    let terminal = || mirror.terminals.get(mirror.terminal_of(dispatch)?)?.agent.as_deref();
    worker.or_else(terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_has_the_colour_that_its_repository_gave_it() {
        let check = |color: &str, expected: Option<Role>| {
            let mut change = crate::tui::testing::snapshot();
            let terminal = change.rows.iter_mut().find_map(|row| match row {
                crate::proto::event::RowView::Terminal(row) => Some(row),
                _ => None,
            });
            let terminal = terminal.unwrap();
            terminal.color = Some(color.to_owned());
            assert_eq!(tab_color(terminal), expected, "{color}");
        };
        check("#0af", Some(Role::Tab(0, 170, 255)));
        check("#0AfF10", Some(Role::Tab(10, 255, 16)));
        check("red", None);
        check("#12345", None);
        check("#ggg", None);
    }

    #[test]
    fn every_sign_of_an_attempt_is_explained() {
        for shown in Shown::ALL {
            let (glyph, _) = look(*shown);
            assert!(SIGNS.iter().any(|(sign, _)| *sign == glyph), "{glyph} of {shown}");
        }
    }
}
