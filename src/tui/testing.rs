//! A team at work as synthetic frames, and a screen to look at without a terminal.

use super::canvas::Canvas;
use super::model::{Model, Options};
use super::msg::{Cmd, Msg};
use super::update::update;
use crate::base::clock::Timestamp;
use crate::base::id::TerminalId;
use crate::base::input::{Key, KeyEvent, Mods};
use crate::base::size::TermSize;
use crate::config::Config;
use crate::proto::event::Change;
use crate::proto::screen::{ClientFrame, LinesWish, SearchWish, ServerFrame};
use crate::pty::snapshot::PaneRows;
use crate::pty::term::{Term, TermConfig};
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The moment at which all synthetic frames are looked at.
pub const NOW: Timestamp = Timestamp(1_796_014_800_000);

fn ago(minutes: i64) -> Value {
    json!(Timestamp(NOW.0 - minutes * 60_000))
}

fn task(number: u32, title: &str, status: &str, attempts: u32, more: Value) -> Value {
    let mut row = json!({
        "id": format!("task_{number:012}"), "run_id": "run_000000000001", "parent_id": null,
        "created_by_terminal_handle": null, "created_by_pane_key": null,
        "created_by_process_incarnation": null, "created_by_run_generation": null,
        "task_title": title, "display_name": null,
        "spec": format!("{title}.\nKeep the public interface and add a test."), "status": status,
        "deps": [], "result": null, "created_at": ago(30), "completed_at": null, "attempts": attempts,
        "failures_in_row": 0,
    });
    merge(&mut row, more);
    json!({"noun": "task", "row": row})
}

fn merge(row: &mut Value, more: Value) {
    if let (Value::Object(row), Value::Object(more)) = (row, more) {
        row.extend(more);
    }
}

fn dispatch(number: u32, task: u32, attempt: u32, status: &str, minutes: i64, more: Value) -> Value {
    let mut row = json!({
        "id": format!("ctx_{number:012}"), "run_id": "run_000000000001", "task_id": format!("task_{task:012}"),
        "contract_version": 1, "assignee_handle": format!("term_{number:012}"), "assignee_pane_key": null,
        "process_incarnation": null, "status": status, "failure_count": 0, "last_failure": null,
        "dispatched_at": ago(minutes), "completed_at": null, "created_at": ago(minutes),
        "last_heartbeat_at": null, "last_phase": null, "capability_revoked_at": null, "depth": 1,
        "creator_handle": "term_000000000009", "attempt": attempt, "retry_of": null, "supervised": true,
    });
    merge(&mut row, more);
    json!({"noun": "dispatch", "row": row})
}

fn terminal(number: u32, agent: &str, branch: &str, minutes: i64, more: Value) -> Value {
    let mut row = json!({
        "handle": format!("term_{number:012}"), "paneKey": format!("t{number}:l{number}"), "tabId": "t1",
        "worktreeId": format!("wt{number}"), "worktreePath": format!("/home/me/work/{branch}"), "branch": branch,
        "title": null, "agent": agent, "command": [agent], "life": "running", "pid": 100 + number, "end": null,
        "runId": "run_000000000001", "dispatchId": null, "createdAt": ago(minutes), "isUserTyped": false,
    });
    merge(&mut row, more);
    json!({"noun": "terminal", "row": row})
}

fn live(number: u32, activity: &str) -> Value {
    json!({"terminal": format!("term_{number:012}"), "title": "", "activity": activity, "activityDetail": null,
        "activitySince": ago(2), "lastOutputAt": ago(0), "isInputHeld": false})
}

/// A Run with a coordinator, three workers in three states, a question, a gate, and finished work.
pub fn snapshot() -> Change {
    let rows = json!([
        {"noun": "run", "row": {"id": "run_000000000001", "objective": "Fix the login race",
            "home_database": "local", "coordinator_handle": "term_000000000009", "coordinator_pane_key": null,
            "consumer_generation": 1, "legacy": false, "created_at": ago(40), "updated_at": ago(40)}},
        task(1, "Find where the session is written twice", "completed", 1, json!({"completed_at": ago(12)})),
        task(2, "Make the login handler idempotent", "dispatched", 2, json!({"dispatch_id": "ctx_000000000002"})),
        task(3, "Write a test that hammers the endpoint 日本語", "dispatched", 1, json!({"dispatch_id": "ctx_000000000003"})),
        task(4, "Update the changelog", "pending", 0, json!({"deps": ["task_000000000002"],
            "unmet_dependencies": [{"id": "task_000000000002", "status": "dispatched"}]})),
        task(5, "Remove the old session cache", "blocked", 0, json!({})),
        task(6, "Benchmark the handler", "failed", 3, json!({"completed_at": ago(5)})),
        task(7, "Tidy imports", "ready", 0, json!({})),
        dispatch(1, 1, 1, "completed", 25, json!({"completed_at": ago(12)})),
        dispatch(2, 2, 2, "dispatched", 4, json!({"last_heartbeat_at": ago(1), "last_phase": "running the tests"})),
        dispatch(3, 3, 1, "dispatched", 9, json!({})),
        dispatch(6, 6, 3, "circuit_broken", 8, json!({"assignee_handle": null, "completed_at": ago(5),
            "last_failure": "exited with status 2"})),
        {"noun": "question", "row": {"message_id": "msg_000000000001", "run_id": "run_000000000001",
            "dispatch_id": "ctx_000000000003", "asker_handle": "term_000000000003",
            "question": "The test needs a database. Should I start PostgreSQL in a container or use the in-memory one? The container is closer to production but takes 40 s to start.",
            "options": ["container", "in-memory"], "status": "pending", "answer_message_id": null,
            "answer_body": null, "answered_by": null, "answered_by_generation": null, "created_at": ago(3),
            "answered_at": null, "closed_at": null}},
        {"noun": "gate", "row": {"id": "gate_000000000001", "run_id": "run_000000000001",
            "task_id": "task_000000000005", "question": "Delete the cache although version 1 clients read it?",
            "options": ["yes", "no"], "status": "pending", "resolution": null, "resolved_by": null,
            "created_at": ago(2), "resolved_at": null}},
        terminal(9, "claude", "main", 40, json!({})),
        terminal(2, "codex", "fix-login", 4, json!({"dispatchId": "ctx_000000000002"})),
        terminal(3, "claude", "hammer-test", 9, json!({"dispatchId": "ctx_000000000003"})),
        terminal(1, "codex", "find-write", 25, json!({"dispatchId": "ctx_000000000001", "life": "exited",
            "end": {"exit_code": 0, "signal": null, "at": ago(12)}})),
    ]);
    let lives = json!([live(9, "idle"), live(2, "working"), live(3, "working")]);
    Change {
        seq: 41,
        is_snapshot: true,
        rows: serde_json::from_value(rows).unwrap(),
        live: serde_json::from_value(lives).unwrap(),
        now: NOW,
        ..Change::default()
    }
}

/// The third worker of [`snapshot`] before its start: the setup script of its repository waits for approval.
pub fn unapproved_setup() -> Vec<crate::proto::event::RowView> {
    let body = "The new worktree hammer-test of app has a setup script (main:orca.yaml) whose text nobody \
        approved. Its agent starts once this is decided.\n\nApprove it: orca repo hooks approve --repo \
        id:repo_1 --hash 0123456789abcdef\nGo on without it: orca repo hooks reject --repo id:repo_1 --hash \
        0123456789abcdef\n\nmake deps\n";
    let mail = json!({ "repoId": "repo_1", "worktreeId": "wt3", "hash": "0123456789abcdef" });
    let mut asked = message(2, "orca", "May the setup script of app run?", body);
    merge(&mut asked, json!({ "type": "decision_gate", "payload": mail }));
    let rows = json!([
        {"noun": "message", "row": asked},
        {"noun": "worker", "row": {"dispatch_id": "ctx_000000000002", "runtime_epoch": null,
            "state": "starting", "stage": "setup_start", "worktree_id": "wt3", "agent_terminal_handle": null,
            "setup_state": "awaiting_approval", "delivery": "none", "last_error": null,
            "created_at": ago(4), "updated_at": ago(4), "process_end": null, "terminal_state": null,
            "effects": [], "residualResources": [], "startOptions": {"placement": "new-child",
            "agent": "codex", "model": null, "effort": null, "name": null, "baseBranch": null,
            "displayName": null, "comment": null, "setup": "run", "timeoutMs": 1000,
            "isReusedTerminal": false}}},
    ]);
    serde_json::from_value(rows).unwrap()
}

/// The ended terminal of [`snapshot`], which nobody looked at since.
pub fn unseen(number: u32) -> crate::proto::event::RowView {
    let more = json!({"dispatchId": format!("ctx_{number:012}"), "life": "exited", "isUnseen": true,
        "end": {"exit_code": 0, "signal": null, "at": ago(12)}});
    serde_json::from_value(terminal(number, "codex", "find-write", 25, more)).unwrap()
}

/// Mail to the person.
pub fn mail(number: u32, from: &str, subject: &str, body: &str) -> crate::proto::event::RowView {
    let row = message(number, from, subject, body);
    serde_json::from_value(json!({"noun": "message", "row": row})).unwrap()
}

fn message(number: u32, from: &str, subject: &str, body: &str) -> Value {
    json!({
        "id": format!("msg_{:012}", 100 + number), "run_id": null, "from_handle": from, "to_handle": "user",
        "subject": subject, "body": body, "type": "status", "priority": "normal", "thread_id": null,
        "payload": null, "read": false, "sequence": number, "created_at": ago(4), "delivered_at": null,
        "sender_pane_key": null, "delivery_contract": "current_delivery",
    })
}

/// The terminal with a number of [`snapshot`].
pub fn terminal_id(number: u32) -> TerminalId {
    TerminalId::parse(&format!("term_{number:012}")).unwrap()
}

/// A client without a terminal.
pub struct Desk {
    pub model: Model,
    /// The terminals behind the panes' pictures.
    terms: BTreeMap<TerminalId, Term>,
    n_answered: usize,
    /// Every command so far.
    pub cmds: Vec<Cmd>,
}

impl Desk {
    /// An attached client of a size with nothing in it.
    pub fn empty(n_cols: u16, n_rows: u16) -> Self {
        let options = Options {
            config: Config::default(),
            faults: Vec::new(),
            cwd: String::from("/home/me/work"),
            session: String::from("tui-test"),
            opens_shell: false,
            clipboard: Default::default(),
            editor: Some(String::from("vim")),
        };
        let mut desk =
            Self { model: Model::new(options), terms: BTreeMap::new(), n_answered: 0, cmds: Vec::new() };
        desk.take(Msg::Tick(NOW));
        desk.take(Msg::Resize { n_cols, n_rows });
        desk.take(Msg::Server(ServerFrame::Attached { runtime_id: String::from("rt") }));
        desk
    }

    /// A client of the team of [`snapshot`], its panes sized as shown and filled.
    pub fn team(n_cols: u16, n_rows: u16) -> Self {
        let mut desk = Self::empty(n_cols, n_rows);
        desk.take(Msg::Server(ServerFrame::Change(Box::new(snapshot()))));
        for (number, output) in [
            (9, "\x1b[1m> \x1b[0mWaiting for worker_done …\r\n\x1b[2m  3 of 7 tasks done\x1b[0m\r\n> "),
            (
                2,
                "$ cargo test login\r\n   Compiling app v0.1.0\r\n\x1b[32m    Finished\x1b[0m test [unoptimized]\r\nrunning 4 tests\r\n",
            ),
            (3, "I need a decision:\r\n  日本語 wide and e\u{301} combining\r\n\x1b[4:3mcurly\x1b[0m\r\n"),
            (1, "done: src/session.rs:41 and :88\r\n"),
        ] {
            desk.output(number, output);
        }
        desk
    }

    /// Takes rows that the server changed.
    pub fn rows(&mut self, rows: Vec<crate::proto::event::RowView>) {
        let change = Change { seq: 42, rows, now: NOW, ..Change::default() };
        self.take(Msg::Server(ServerFrame::Change(Box::new(change))));
    }

    /// Takes a message.
    pub fn take(&mut self, msg: Msg) {
        let cmds = update(&mut self.model, msg);
        self.cmds.extend(cmds);
    }

    /// Shows `output` on a pane, at the size this client gives it.
    pub fn output(&mut self, number: u32, output: &str) {
        let terminal = terminal_id(number);
        let size = self.model.told.panes.iter().find(|pane| pane.terminal == terminal).map(|pane| pane.size);
        self.output_sized(number, output, size.unwrap_or_default());
    }

    /// Shows `output` on a pane of a size of its own.
    pub fn output_sized(&mut self, number: u32, output: &str, size: TermSize) {
        let mut term = Term::new(size, TermConfig::default());
        term.process(output.as_bytes());
        let mut rows = PaneRows::new();
        rows.update(&term);
        self.terms.insert(terminal_id(number), term);
        self.take(Msg::Screen { terminal: terminal_id(number), patch: rows.newer_than(0).encode() });
    }

    /// Answers what was asked about history, until nothing more is.
    pub fn look_back(&mut self) {
        while let Some(cmd) = self.cmds.get(self.n_answered).cloned() {
            self.n_answered += 1;
            let Cmd::Send(frame) = cmd else { continue };
            match frame {
                ClientFrame::Lines(LinesWish { terminal, id, from, n_lines }) => {
                    let term = self.terms.get(&terminal);
                    let page = term.map(|term| term.line_page(from, n_lines as usize, 1 << 20).encode());
                    let page = page.map(|page| base64::engine::general_purpose::STANDARD.encode(page));
                    self.take(Msg::Server(ServerFrame::Lines { terminal, id, page }));
                }
                ClientFrame::Search(SearchWish { terminal, id, text, until }) => {
                    let found =
                        self.terms.get(&terminal).map(|term| term.search(&text, until)).unwrap_or_default();
                    let matches = found.matches.iter().map(|at| (at.line, at.col, at.n_cols)).collect();
                    let (from, oldest) = (found.from, found.oldest);
                    self.take(Msg::Server(ServerFrame::Found { terminal, id, matches, from, oldest }));
                }
                ClientFrame::Request(_)
                | ClientFrame::Attach(_)
                | ClientFrame::Input { .. }
                | ClientFrame::Host(_)
                | ClientFrame::View(_) => {}
            }
        }
    }

    /// The texts that were to go onto the clipboard.
    pub fn copied(&self) -> Vec<String> {
        let texts = self.cmds.iter().filter_map(|cmd| match cmd {
            Cmd::Clipboard(order) => Some(order.text.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// Types keys as chords: `ctrl+b`, `i`, `enter`.
    pub fn keys(&mut self, chords: &str) {
        for chord in chords.split(' ') {
            let chord = super::keys::Chord::parse(chord).unwrap();
            self.take(Msg::Key(KeyEvent::press(chord.key, chord.mods)));
        }
    }

    /// Types text.
    pub fn text(&mut self, text: &str) {
        for c in text.chars() {
            self.take(Msg::Key(KeyEvent::press(Key::Char(c), Mods::NONE)));
        }
    }

    /// What is seen.
    pub fn screen(&self) -> String {
        let mut canvas = Canvas::new(self.model.n_cols, self.model.n_rows);
        self.model.draw(&mut canvas);
        canvas.text()
    }
}
