//! What waits for the person, in which order, and the words for it. Counter, sidebar and inbox are all
//! made from this one list.

use super::{Mark, open_gates, open_questions, pane_title, task_title, title_of};
use crate::base::clock::Timestamp;
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, GateId, MessageId, RunId, TaskId, TerminalId};
use crate::base::text;
use crate::model::dispatch::{DispatchState, Termination};
use crate::model::message::{Mailbox, MessageType};
use crate::model::setup::SetupState;
use crate::model::task::TaskState;
use crate::model::terminal::TerminalLife;
use crate::model::worker::{PromptDelivery, WorkerState};
use crate::proto::row::{DispatchRow, MessageRow, TaskRow, WorkerRow};
use crate::tui::mirror::Mirror;
use crate::tui::theme::Role;
use std::collections::{BTreeMap, BTreeSet};

/// Something that waits for the person, and where it is dealt with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Question(MessageId),
    Gate(GateId),
    /// The setup script of a worker's repository runs only once the person approved its text.
    Setup(DispatchId),
    /// The agent shows a dialog, or the brief is held back: look at the pane.
    Pane(TerminalId),
    /// An attempt whose fate is unknown, or a task that failed for good.
    Trouble(TaskId),
    /// Unread mail to the person.
    Mail(MessageId),
    /// Ended and not looked at yet.
    Unseen(TerminalId),
}

impl Need {
    /// Waits for the person; what has only not been looked at does not.
    pub fn is_counted(&self) -> bool {
        match self {
            Self::Question(_)
            | Self::Gate(_)
            | Self::Setup(_)
            | Self::Pane(_)
            | Self::Trouble(_)
            | Self::Mail(_) => true,
            Self::Unseen(_) => false,
        }
    }
}

/// One line of the attention list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    pub need: Need,
    pub run: Option<RunId>,
    pub mark: Mark,
    /// What it is about, one line.
    pub text: String,
    pub since: Timestamp,
}

/// Everything that needs the person: what blocks work first, then trouble, then mail, then what ended
/// unseen; within each the oldest first, so that the order never shuffles under a cursor (reports UX-03).
/// Panes that were `looked_at` and mail that was `put_away` here are left out: the server hears of it.
pub fn attention(
    mirror: &Mirror,
    looked_at: &BTreeSet<TerminalId>,
    put_away: &BTreeSet<MessageId>,
) -> Vec<Attention> {
    let mut list: Vec<Attention> = open_questions(mirror)
        .map(|row| Attention {
            need: Need::Question(row.message_id.clone()),
            run: Some(row.run_id.clone()),
            mark: Mark::new("?", "question", Role::Attention),
            text: text::one_line(&row.question),
            since: row.created_at,
        })
        .collect();
    list.extend(open_gates(mirror).map(|row| Attention {
        need: Need::Gate(row.id.clone()),
        run: Some(row.run_id.clone()),
        mark: Mark::new("◆", if row.limit.is_some() { "limit" } else { "gate" }, Role::Attention),
        text: match &row.limit {
            Some(_) => format!("{}: {}", title_of(mirror, &row.task_id), text::one_line(&row.question)),
            None => text::one_line(&row.question),
        },
        since: row.created_at,
    }));
    tell_apart(mirror, &mut list);
    list.extend(setup_needs(mirror));
    list.extend(pane_needs(mirror));
    list.sort_by(|a, b| a.since.cmp(&b.since).then_with(|| a.need.cmp(&b.need)));
    list.extend(troubles(mirror));
    list.extend(mail(mirror, put_away));
    let unseen = mirror.terminals.values().filter(|row| row.is_unseen && !looked_at.contains(&row.handle));
    list.extend(unseen.map(|terminal| {
        let attempt = mirror.attempt_in(&terminal.handle);
        Attention {
            need: Need::Unseen(terminal.handle.clone()),
            run: attempt.map(|attempt| attempt.run_id.clone()).or_else(|| terminal.run_id.clone()),
            mark: Mark::new("•", "not looked at", Role::Good),
            text: pane_title(mirror, terminal),
            since: attempt.and_then(|attempt| attempt.completed_at).unwrap_or(terminal.created_at),
        }
    }));
    list
}

/// Questions and gates in the same words name the task they hold up.
fn tell_apart(mirror: &Mirror, list: &mut [Attention]) {
    let mut n_times: BTreeMap<String, usize> = BTreeMap::new();
    for item in &*list {
        *n_times.entry(item.text.clone()).or_default() += 1;
    }
    for item in list.iter_mut().filter(|item| n_times.get(&item.text).is_some_and(|n| *n > 1)) {
        let task = match &item.need {
            Need::Question(id) => {
                let asker = mirror.questions.get(id).and_then(|row| mirror.dispatches.get(&row.dispatch_id));
                asker.map(|attempt| &attempt.task_id)
            }
            Need::Gate(id) => mirror.gates.get(id).map(|row| &row.task_id),
            Need::Trouble(task) => Some(task),
            Need::Setup(_) | Need::Pane(_) | Need::Mail(_) | Need::Unseen(_) => None,
        };
        if let Some(task) = task {
            item.text = format!("{}: {}", title_of(mirror, task), item.text);
        }
    }
}

/// Whether an attempt's setup script waits for the person's approval.
pub fn awaits_approval(mirror: &Mirror, attempt: &DispatchRow) -> bool {
    let worker = mirror.workers.get(&attempt.id).filter(|_| attempt.status.is_active());
    worker.is_some_and(|worker| worker.setup_state == SetupState::AwaitingApproval.as_str())
}

fn setup_needs(mirror: &Mirror) -> impl Iterator<Item = Attention> {
    mirror.dispatches.values().filter(|attempt| awaits_approval(mirror, attempt)).map(|attempt| {
        let title = title_of(mirror, &attempt.task_id);
        Attention {
            need: Need::Setup(attempt.id.clone()),
            run: Some(attempt.run_id.clone()),
            mark: Mark::new("!", "approve setup", Role::Attention),
            text: title,
            since: mirror.workers.get(&attempt.id).map_or(attempt.created_at, |worker| worker.updated_at),
        }
    })
}

/// What the person is asked about the setup script of an attempt, with the commands that decide and the
/// script itself. Many lines, safe to show.
pub fn setup_words(mirror: &Mirror, dispatch: &DispatchId) -> Option<String> {
    let attempt = mirror.dispatches.get(dispatch).filter(|attempt| awaits_approval(mirror, attempt))?;
    let worktree = mirror.workers.get(&attempt.id)?.worktree_id.as_deref();
    let repo = worktree.and_then(|id| mirror.worktrees.get(id));
    let repo = repo.map(|row| format!(" --repo id:{}", row.repo_id)).unwrap_or_default();
    let asked: Vec<String> =
        requests_for(mirror, worktree).map(|row| text::many_lines(row.body.trim_end())).collect();
    let show = format!("Show the scripts: orca repo hooks show{repo}");
    Some(match asked.is_empty() {
        true => format!(
            "The repository's setup script runs only once you approved its text.\n\n{show}\n\
             Approve it: orca repo hooks approve{repo}\nGo on without it: orca repo hooks reject{repo}"
        ),
        false => format!("{}\n\n{show}", asked.join("\n\n")),
    })
}

/// The unread mail that asks for an approval about a worktree.
fn requests_for<'m>(mirror: &'m Mirror, worktree: Option<&'m str>) -> impl Iterator<Item = &'m MessageRow> {
    let mail = mirror.messages.values().filter(|row| is_for_person(row));
    mail.filter(move |row| worktree.is_some() && worktree_asked_about(row) == worktree)
}

fn worktree_asked_about(row: &MessageRow) -> Option<&str> {
    let payload = row.payload.as_ref().filter(|payload| payload.get("hash").is_some())?;
    payload.get("worktreeId")?.as_str()
}

fn pane_needs(mirror: &Mirror) -> impl Iterator<Item = Attention> {
    mirror.terminals.values().filter(|row| row.life == TerminalLife::Running).filter_map(|row| {
        let attempt = mirror.attempt_in(&row.handle).filter(|attempt| attempt.status.is_active());
        let live = mirror.live.get(&row.handle);
        let worker = attempt.and_then(|attempt| mirror.workers.get(&attempt.id));
        let is_held = worker.is_some_and(|worker| worker.delivery == PromptDelivery::Blocked);
        let blocked = live.filter(|live| live.activity == "blocked");
        let word = match blocked {
            Some(live) => live.activity_detail.as_deref().map(text::one_line).unwrap_or_default(),
            None if is_held => String::from("its brief is held back"),
            None if live.is_some_and(|live| live.is_input_held) => String::from("mail waits for your draft"),
            None => return None,
        };
        let title = pane_title(mirror, row);
        let since = live.map_or(row.created_at, |live| live.activity_since);
        Some(Attention {
            need: Need::Pane(row.handle.clone()),
            run: attempt.map(|attempt| attempt.run_id.clone()).or_else(|| row.run_id.clone()),
            mark: Mark::new("!", "wants you", Role::Attention),
            text: if word.is_empty() { title } else { format!("{title}: {word}") },
            since,
        })
    })
}

fn troubles(mirror: &Mirror) -> Vec<Attention> {
    let mut list = Vec::new();
    for task in mirror.tasks.values() {
        let Some(attempt) = mirror.latest_attempt(&task.id) else { continue };
        let mark = match task.status {
            TaskState::Failed => Mark::new("✗", "failed", Role::Bad),
            TaskState::Dispatched | TaskState::Blocked if is_unknown(mirror, attempt) => {
                Mark::new("!", "lost", Role::Bad)
            }
            // Whoever coordinates has mail about it; where that is the person, this is where it is read.
            TaskState::Ready
                if attempt.termination_reason == Some(Termination::Lost) && is_the_persons(mirror, task) =>
            {
                Mark::new("!", "lost", Role::Bad)
            }
            TaskState::Pending
            | TaskState::Ready
            | TaskState::Dispatched
            | TaskState::Completed
            | TaskState::Blocked => continue,
        };
        let title = task_title(task);
        let why = attempt.last_failure.as_deref().map(failure).filter(|why| !why.is_empty());
        list.push(Attention {
            need: Need::Trouble(task.id.clone()),
            run: Some(task.run_id.clone()),
            mark,
            text: why.map_or(title.clone(), |why| format!("{title}: {why}")),
            since: attempt.completed_at.unwrap_or(attempt.created_at),
        });
    }
    list.sort_by_key(|item| item.since);
    list
}

fn is_unknown(mirror: &Mirror, attempt: &DispatchRow) -> bool {
    let worker = mirror.workers.get(&attempt.id).map(|worker| worker.state);
    matches!(worker, Some(WorkerState::StartUnknown | WorkerState::StopUnknown))
}

fn is_the_persons(mirror: &Mirror, task: &TaskRow) -> bool {
    let run = mirror.runs.get(&task.run_id);
    run.is_some_and(|run| run.coordinator_handle.as_deref().is_none_or(|handle| handle == "user"))
}

/// Why an attempt ended, as a person reads it: without the error code in front.
pub fn failure(why: &str) -> String {
    let is_code = |word: &str| ErrorCode::ALL.iter().any(|code| code.as_str() == word);
    let sentence = why.split_once(": ").filter(|(code, _)| is_code(code)).map(|(_, sentence)| sentence);
    text::one_line(sentence.unwrap_or(why))
}

/// What the person can do about a task that is in trouble: words, and a command for a shell.
pub fn way_out(mirror: &Mirror, task: &TaskRow) -> Option<(&'static str, String)> {
    let attempt = mirror.latest_attempt(&task.id)?;
    let worker = mirror.workers.get(&attempt.id);
    let reopen = || format!("orca orchestration task-update --id {} --status ready", task.id);
    match task.status {
        TaskState::Failed if attempt.status == DispatchState::CircuitBroken => {
            Some(("It failed three times in a row. Change what is asked, then open it again:", reopen()))
        }
        TaskState::Failed => Some(match worker {
            Some(worker) => ("Try it again:", retry(task, attempt, worker)),
            None => ("Open it again:", reopen()),
        }),
        TaskState::Dispatched | TaskState::Blocked if is_unknown(mirror, attempt) => Some((
            "Nobody knows how it stands. Look at it:",
            format!("orca orchestration worker-show --dispatch {}", attempt.id),
        )),
        TaskState::Ready if attempt.termination_reason == Some(Termination::Lost) => {
            worker.map(|worker| ("Try it again:", retry(task, attempt, worker)))
        }
        TaskState::Pending
        | TaskState::Ready
        | TaskState::Dispatched
        | TaskState::Completed
        | TaskState::Blocked => None,
    }
}

fn retry(task: &TaskRow, attempt: &DispatchRow, worker: &WorkerRow) -> String {
    let command = worker.start_options.retry_command(&task.id, &attempt.id, worker.worktree_id.as_deref());
    // A person's shell is bound to no Run.
    format!("{command} --run {}", task.run_id)
}

/// Mail to the person that nobody has read.
pub fn is_for_person(row: &MessageRow) -> bool {
    let is_shown = match row.kind {
        MessageType::Status
        | MessageType::WorkerDone
        | MessageType::MergeReady
        | MessageType::Escalation
        | MessageType::Handoff
        | MessageType::DecisionGate
        | MessageType::Question => true,
        MessageType::Dispatch | MessageType::Heartbeat => false,
    };
    is_shown && !row.read && row.to_handle == Mailbox::User.to_string()
}

/// `WHO: SUBJECT`.
pub fn mail_words(mirror: &Mirror, row: &MessageRow) -> String {
    let sender = TerminalId::parse(&row.from_handle).ok().and_then(|id| mirror.terminals.get(&id));
    let who = sender.map_or_else(|| text::one_line(&row.from_handle), |sender| pane_title(mirror, sender));
    format!("{who}: {}", text::one_line(&row.subject))
}

/// Unread mail that is not shown as something else already: a question, a setup that waits.
fn mail(mirror: &Mirror, put_away: &BTreeSet<MessageId>) -> Vec<Attention> {
    let waiting = mirror.dispatches.values().filter(|attempt| awaits_approval(mirror, attempt));
    let worktrees: BTreeSet<&str> =
        waiting.filter_map(|attempt| mirror.workers.get(&attempt.id)?.worktree_id.as_deref()).collect();
    let mut rows: Vec<&MessageRow> = mirror.messages.values().filter(|row| is_for_person(row)).collect();
    rows.retain(|row| {
        !put_away.contains(&row.id)
            && !mirror.questions.contains_key(&row.id)
            && worktree_asked_about(row).is_none_or(|worktree| !worktrees.contains(worktree))
    });
    rows.sort_by_key(|row| row.sequence);
    let item = |row: &MessageRow| Attention {
        need: Need::Mail(row.id.clone()),
        run: row.run_id.clone(),
        mark: Mark::new("@", "mail", Role::Attention),
        text: mail_words(mirror, row),
        since: row.created_at,
    };
    rows.into_iter().map(item).collect()
}
