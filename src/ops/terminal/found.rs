//! Terminals that run and that the rows know nothing of: the database is another one, or an older state of
//! it. They are taken in and told of; nothing is ended, and what ran in them is no attempt of anybody's.

use super::create::uuid_like;
use super::is_alive;
use super::name::safe_title;
use crate::base::clock::Timestamp;
use crate::base::id::{IncarnationId, PaneKey, RunId, TerminalId};
use crate::base::size::TermSize;
use crate::base::text::{self, counted};
use crate::model::event::{EventKind, Fact};
use crate::model::run::Run;
use crate::model::terminal::{LaunchRecord, Terminal, TerminalLife};
use crate::model::worktree::Worktree;
use crate::ops::cx::Cx;
use crate::ops::error::OpError;
use crate::ops::mail::{self, NewMessage};

/// The longest command line that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// A running terminal, as its own folder has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub id: TerminalId,
    pub incarnation: String,
    pub agent: Option<String>,
    pub launch: LaunchRecord,
    pub size: TermSize,
    pub pid: Option<u32>,
    pub started_at: Timestamp,
}

/// Takes in what was found and is not alive by the rows, and tells the person of it in one message.
pub fn take_in(cx: &mut Cx<'_>, found: Vec<Found>) -> Result<(), OpError> {
    let mut lines = Vec::new();
    for found in found {
        let (terminal, why) = match cx.tx.get::<Terminal>(found.id.as_str())? {
            Some(known) if is_alive(&known) => continue,
            Some(known) => {
                let why = format!("it was {} by the database", known.life);
                (Terminal { life: TerminalLife::Running, end: None, closed_by: None, ..known }, why)
            }
            None => (row(cx, found)?, String::from("the database knew nothing of it")),
        };
        cx.tx.put(&terminal)?;
        let mut fact = Fact::new(EventKind::TerminalFound, format!("found running; {why}"));
        fact.run_id.clone_from(&terminal.run_id);
        cx.emit(fact.of_terminal(&terminal.id))?;
        let shown = shown(&terminal.launch.argv);
        lines.push(format!("{}: {shown} in {}; {why}", terminal.id, text::one_line(&terminal.launch.cwd)));
    }
    let Some(first) = lines.first().and_then(|line| line.split(':').next()) else { return Ok(()) };
    let body = format!(
        "{}\n\nNothing was ended. If an agent works there, its attempt is nobody's by this database: what it reports is refused and kept for you.\nLook: orca terminal read --terminal {first}\nEnd it: orca terminal close --terminal {first}",
        lines.join("\n")
    );
    let subject =
        format!("{} found running that the database did not know", counted(lines.len(), "terminal"));
    mail::post(cx, NewMessage::for_person(subject, body)).map(drop)
}

/// The row that a terminal would have, from what it was started with.
fn row(cx: &mut Cx<'_>, found: Found) -> Result<Terminal, OpError> {
    let said = |name: &str| found.launch.env.iter().find(|(known, _)| known == name).map(|(_, text)| text);
    let run = match said("ORCA_RUN_ID").and_then(|id| RunId::parse(id).ok()) {
        Some(id) => cx.tx.get::<Run>(id.as_str())?,
        None => None,
    };
    let worktree = match said("ORCA_WORKTREE_ID") {
        Some(id) => cx.tx.get::<Worktree>(id)?,
        None => None,
    };
    let pane_key = said("ORCA_PANE_KEY").map(|key| PaneKey::from_text(key));
    let leaf = match pane_key.as_ref().and_then(PaneKey::leaf) {
        Some(leaf) => leaf.to_owned(),
        None => uuid_like(cx),
    };
    let tab_id = run.as_ref().map_or_else(|| String::from("main"), |run| run.id.to_string());
    let incarnation = IncarnationId::parse(&found.incarnation).unwrap_or_else(|_| IncarnationId::new(cx.ids));
    Ok(Terminal {
        pane_key: PaneKey::new(&tab_id, &leaf),
        tab_id,
        worktree_id: worktree.map(|worktree| worktree.id),
        worktree_path: found.launch.cwd.clone(),
        branch: cx.world.branch(&found.launch.cwd),
        title: safe_title(&format!("found again: {}", shown(&found.launch.argv))),
        pane_title: None,
        color: None,
        split: None,
        agent: found.agent,
        launch: found.launch,
        size: found.size,
        life: TerminalLife::Running,
        incarnation,
        pid: found.pid,
        end: None,
        closed_by: None,
        run_id: run.map(|run| run.id),
        dispatch_id: None,
        created_at: found.started_at,
        is_user_typed: false,
        is_unseen: false,
        id: found.id,
    })
}

/// What runs, in few words: the line that a shell was given, else the program alone; a brief is long.
fn shown(argv: &[String]) -> String {
    let words = match argv {
        [_, flag, line] if flag == "-c" => line.as_str(),
        [program, ..] => program.rsplit('/').next().unwrap_or(program),
        [] => "an unknown program",
    };
    text::cut_chars(&text::one_line(words), MAX_SHOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_a_brief() {
        let check = |argv: &[&str], expected: &str| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shown(&argv), expected, "{argv:?}");
        };
        check(&["/bin/sh", "-c", "sleep 710"], "sleep 710");
        check(&["/usr/bin/claude", "--x", "the brief"], "claude");
        check(&["/bin/sh"], "sh");
        check(&[], "an unknown program");
    }
}
