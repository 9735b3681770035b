//! The promises of the screen, by typing at it.

use super::nav;
use crate::base::code::ErrorCode;
use crate::base::input::{InputEvent, Key, KeyEvent, KeyPhase, Mods, MouseButton, MouseEvent, MouseKind};
use crate::base::size::TermSize;
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use crate::proto::event::Change;
use crate::proto::screen::{ClientFrame, MAX_PASTE, ServerFrame};
use crate::tui::model::Modal;
use crate::tui::msg::{Cmd, Msg};
use crate::tui::testing::{self, Desk, terminal_id};
use serde_json::json;

/// The keys that reached programs, as (terminal number, key).
fn typed(desk: &Desk) -> Vec<(String, Key)> {
    let inputs = desk.cmds.iter().filter_map(|cmd| match cmd {
        Cmd::Send(ClientFrame::Input { terminal, event: InputEvent::Key(event) }) => {
            Some((terminal.to_string(), event.key))
        }
        _ => None,
    });
    inputs.collect()
}

/// The calls that were made: method and parameters.
fn calls(desk: &Desk) -> Vec<(String, serde_json::Value)> {
    let calls = desk.cmds.iter().filter_map(|cmd| match cmd {
        Cmd::Send(ClientFrame::Request(request)) => Some((request.method.clone(), request.params.clone())),
        _ => None,
    });
    calls.collect()
}

fn mouse(desk: &mut Desk, kind: MouseKind, row: u16, col: u16) {
    desk.take(Msg::Mouse(MouseEvent { kind, row, col, mods: Mods::NONE }));
}

#[test]
fn only_the_prefix_is_taken_and_twice_sends_it() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.keys("ctrl+a esc f1 ctrl+p ctrl+b ctrl+b");
    let keys: Vec<Key> = typed(&desk).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, [Key::Char('a'), Key::Esc, Key::F(1), Key::Char('p'), Key::Char('b')]);
}

#[test]
fn a_digit_answers_the_selected_question_and_the_row_goes_when_the_server_says_so() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.keys("ctrl+b i 2");
    let (method, params) = calls(&desk).pop().unwrap();
    assert_eq!(
        (method.as_str(), &params["id"], &params["body"]),
        ("orchestration.reply", &json!("msg_000000000001"), &json!("in-memory"))
    );
    desk.keys("2");
    assert_eq!(calls(&desk).len(), 1, "an answer is sent once");
    let mut answered = testing::snapshot();
    answered.is_snapshot = false;
    answered.rows.retain(|row| matches!(row, crate::proto::event::RowView::Question(_)));
    for row in &mut answered.rows {
        if let crate::proto::event::RowView::Question(row) = row {
            row.status = crate::model::question::QuestionState::Answered;
        }
    }
    desk.take(Msg::Server(ServerFrame::Change(Box::new(answered))));
    desk.keys("1");
    assert_eq!(calls(&desk).len(), 1, "the next item takes digits only after a moment");
    desk.take(Msg::Tick(testing::NOW.plus_ms(5_000)));
    desk.keys("1");
    let (method, params) = calls(&desk).pop().unwrap();
    assert_eq!((method.as_str(), &params["resolution"]), ("orchestration.gateResolve", &json!("yes")));
    desk.keys("esc x");
    assert_eq!(typed(&desk), [("term_000000000009".to_owned(), Key::Char('x'))], "back where the person was");
}

#[test]
fn an_answer_in_several_lines_is_sent_whole() {
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b i e");
    desk.text("use");
    desk.keys("alt+enter");
    desk.take(Msg::Paste("日本\r\nhost".into()));
    desk.keys("enter");
    assert_eq!(calls(&desk).pop().unwrap().1["body"], json!("use\n日本\nhost"));
}

#[test]
fn an_answer_that_was_taken_is_confirmed() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b i 2");
    let id = desk.model.calls.keys().next().unwrap().clone();
    let taken = json!({"id": id, "ok": true, "result": {}, "_meta": {"runtimeId": null}});
    desk.take(Msg::Server(ServerFrame::Response(serde_json::from_value(taken).unwrap())));
    let screen = desk.screen();
    assert!(screen.contains("Answered \"in-memory\": The test needs a database."), "{screen}");
}

#[test]
fn questions_in_the_same_words_name_their_tasks() {
    let mut change = testing::snapshot();
    let twins = change.rows.iter().filter_map(|row| match row {
        crate::proto::event::RowView::Question(row) => {
            let mut twin = row.clone();
            twin.message_id = crate::base::id::MessageId::parse("msg_000000000002").unwrap();
            twin.dispatch_id = crate::base::id::DispatchId::parse("ctx_000000000002").unwrap();
            Some(crate::proto::event::RowView::Question(twin))
        }
        _ => None,
    });
    let twins: Vec<_> = twins.collect();
    change.rows.extend(twins);
    let mut desk = Desk::empty(200, 50);
    desk.take(Msg::Server(ServerFrame::Change(Box::new(change))));
    let named = desk.model.attention().into_iter().map(|item| item.text);
    let named: Vec<String> = named.filter(|text| text.contains(": The test needs a database")).collect();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(named.iter().any(|text| text.starts_with("Make the login handler idempotent: ")), "{named:?}");
}

#[test]
fn a_key_that_can_do_nothing_says_why() {
    for keys in ["z", "x", "[", "y", "m", "t", "E"] {
        let mut desk = Desk::empty(120, 40);
        desk.take(Msg::Server(ServerFrame::Change(Box::new(Change {
            is_snapshot: true,
            ..Change::default()
        }))));
        desk.keys(&format!("ctrl+b {keys}"));
        let n_toasts = desk.model.toasts.len();
        assert_eq!(n_toasts, 1, "{keys}: {}", desk.screen());
    }
    let mut desk = Desk::empty(120, 40);
    desk.keys("ctrl+b i e");
    assert!(desk.screen().contains("Nothing waits for an answer."), "{}", desk.screen());
}

#[test]
fn a_refused_answer_says_code_and_next_step() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b i 1");
    let id = desk.model.calls.keys().next().unwrap().clone();
    let response = json!({"id": id, "ok": false, "error": {"code": "answer_conflict", "message": "It was answered.",
        "data": {"nextSteps": ["orca orchestration inbox"]}}, "_meta": {"runtimeId": null}});
    desk.take(Msg::Server(ServerFrame::Response(serde_json::from_value(response).unwrap())));
    let screen = desk.screen();
    assert!(screen.contains("It was answered. [answer_conflict] Next: orca orchestration inbox"), "{screen}");
}

#[test]
fn nothing_that_happens_elsewhere_moves_the_focus_or_the_keys() {
    let mut desk = Desk::team(120, 40);
    let focus = desk.model.focus.clone();
    desk.take(Msg::Server(ServerFrame::Change(Box::new(Change {
        is_snapshot: false,
        ..testing::snapshot()
    }))));
    desk.take(Msg::Server(ServerFrame::Notice {
        terminal: terminal_id(2),
        text: "ding".into(),
        is_bell: false,
    }));
    assert_eq!((desk.model.focus.clone(), desk.model.modal.is_none()), (focus, true));
    assert!(desk.screen().contains("♪"), "{}", desk.screen());
}

#[test]
fn an_ended_program_takes_no_keys() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b down");
    assert_eq!(desk.model.focus, Some(terminal_id(1)));
    desk.cmds.clear();
    desk.text("ls");
    assert_eq!(typed(&desk), []);
    desk.keys("ctrl+b x");
    assert_eq!(calls(&desk)[0].0, "terminal.close", "an ended pane closes without asking");
}

#[test]
fn closing_a_running_pane_asks_first() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.keys("ctrl+b x n ctrl+b x");
    assert!(calls(&desk).is_empty() && matches!(desk.model.modal, Some(Modal::ConfirmClose { .. })));
    desk.keys("y");
    assert_eq!(calls(&desk)[0].1["terminal"], json!("term_000000000009"));
}

#[test]
fn attention_cycles_and_the_mouse_focuses() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b a");
    assert!(matches!(desk.model.modal, Some(Modal::Inbox(_))));
    desk.keys("ctrl+b a ctrl+b a");
    assert!(matches!(desk.model.modal, Some(Modal::Task { .. })), "{:?}", desk.model.modal);
    desk.keys("esc");
    mouse(&mut desk, MouseKind::Down(MouseButton::Left), 35, 60);
    assert_eq!(desk.model.focus, Some(terminal_id(2)));
    mouse(&mut desk, MouseKind::Up(MouseButton::Left), 35, 60);
    mouse(&mut desk, MouseKind::Down(MouseButton::Left), 8, 3);
    assert_eq!(desk.model.focus, Some(terminal_id(3)), "a click on a task goes to its pane");
}

#[test]
fn the_wheel_scrolls_or_goes_to_the_program_that_wants_it() {
    let mut desk = Desk::team(120, 40);
    desk.output(9, "\x1b[?1000h\x1b[?1006hx");
    desk.cmds.clear();
    mouse(&mut desk, MouseKind::WheelUp, 3, 40);
    assert!(
        matches!(&desk.cmds[..], [Cmd::Send(ClientFrame::Input { event: InputEvent::Mouse(event), .. })] if event.col == 6)
    );
    desk.cmds.clear();
    mouse(&mut desk, MouseKind::WheelUp, 35, 60);
    assert!(
        matches!(&desk.cmds[..], [.., Cmd::Send(ClientFrame::Lines(wish))] if wish.terminal == terminal_id(2)),
        "{:?}",
        desk.cmds
    );
}

/// Fifty numbered lines in the coordinator's pane.
fn numbered() -> Desk {
    let mut desk = Desk::team(120, 40);
    let lines: Vec<String> = (1..=50).map(|number| format!("line {number}")).collect();
    desk.output(9, &lines.join("\r\n"));
    desk
}

#[test]
fn the_view_stands_still_and_says_where_it_is_and_what_came_since() {
    let mut desk = numbered();
    desk.keys("ctrl+b [ g");
    desk.look_back();
    let screen = desk.screen();
    assert!(screen.contains("line 1 of 50") && screen.contains("q leaves"), "{screen}");
    let first_row = |desk: &Desk| desk.screen().lines().nth(1).unwrap_or_default().to_owned();
    let before = first_row(&desk);
    assert!(before.ends_with("line 1"), "{before}");
    let more: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
    desk.output(9, &more.join("\r\n"));
    assert_eq!(first_row(&desk), before);
    assert!(desk.screen().contains("10 new"), "{}", desk.screen());
    desk.keys("q");
    assert!(desk.screen().contains("line 60"), "{}", desk.screen());
}

#[test]
fn what_is_typed_while_lines_are_on_their_way_is_done_in_order() {
    let mut desk = numbered();
    desk.keys("ctrl+b [");
    desk.text("gwvey");
    assert_eq!(desk.copied(), [""; 0]);
    desk.look_back();
    assert_eq!(desk.copied(), ["1\nline"]);
    assert_eq!(typed(&desk), []);
}

#[test]
fn a_search_counts_its_matches_and_marks_them() {
    let mut desk = numbered();
    desk.keys("ctrl+b [ ?");
    desk.text("line 3");
    desk.keys("enter");
    desk.look_back();
    assert!(desk.screen().contains("line 39 of 50 · 11 of 11"), "{}", desk.screen());
    desk.keys("n N");
    assert!(desk.screen().contains("11 of 11"), "{}", desk.screen());
    desk.keys("n");
    assert!(desk.screen().contains("10 of 11"), "{}", desk.screen());
    desk.keys("/");
    desk.text("nowhere");
    desk.keys("enter");
    desk.look_back();
    assert!(desk.screen().contains("Nothing here has \"nowhere\" in it."), "{}", desk.screen());
}

#[test]
fn the_last_copy_is_pasted_and_the_history_goes_to_the_editor() {
    let mut desk = numbered();
    desk.keys("ctrl+b ]");
    assert!(desk.screen().contains("Nothing was copied yet"), "{}", desk.screen());
    desk.keys("ctrl+b [ V y");
    desk.look_back();
    desk.keys("ctrl+b ]");
    assert!(
        matches!(desk.cmds.last(), Some(Cmd::Send(ClientFrame::Input { event: InputEvent::Paste(text), .. })) if text == "line 50"),
        "{:?}",
        desk.cmds.last()
    );
    desk.keys("ctrl+b E");
    desk.look_back();
    let written = desk.cmds.iter().find_map(|cmd| match cmd {
        Cmd::Write { terminal, text } => Some((terminal.clone(), text.clone())),
        _ => None,
    });
    let (terminal, text) = written.unwrap();
    assert!(text.starts_with("line 1\nline 2\n") && text.ends_with("line 50\n"), "{text}");
    desk.take(Msg::Written { terminal, path: Ok(String::from("/tmp/a")) });
    let (method, params) = calls(&desk).pop().unwrap();
    assert_eq!((method.as_str(), &params["worktree"]), ("terminal.create", &json!("id:wt9")));
    assert!(params["command"].as_str().is_some_and(|command| command.contains("vim")), "{params}");
}

#[test]
fn a_drag_copies_what_is_in_the_pane_and_nothing_beside_it() {
    let mut desk = Desk::team(120, 40);
    mouse(&mut desk, MouseKind::Down(MouseButton::Left), 1, 36);
    mouse(&mut desk, MouseKind::Drag(MouseButton::Left), 2, 44);
    mouse(&mut desk, MouseKind::Up(MouseButton::Left), 2, 3);
    desk.look_back();
    assert_eq!(desk.copied(), ["Waiting for worker_done …\n  3 of 7 ta"], "the sidebar is not part of it");
    desk.take(Msg::Tick(testing::NOW.plus_ms(1_000)));
    assert!(!desk.screen().contains("COPY"), "a mode that the mouse began ends by itself");
}

#[test]
fn a_double_click_takes_the_word_and_a_third_the_line() {
    let mut desk = Desk::team(120, 40);
    desk.output(9, "see src/tui/update/mouse.rs:41, please\r\n");
    for _ in 0..3 {
        mouse(&mut desk, MouseKind::Down(MouseButton::Left), 1, 44);
        mouse(&mut desk, MouseKind::Up(MouseButton::Left), 1, 44);
        desk.look_back();
    }
    assert_eq!(desk.copied(), ["src/tui/update/mouse.rs:41", "see src/tui/update/mouse.rs:41, please"]);
}

#[test]
fn a_drag_at_the_edge_goes_on_by_itself() {
    let mut desk = numbered();
    mouse(&mut desk, MouseKind::Down(MouseButton::Left), 5, 50);
    mouse(&mut desk, MouseKind::Drag(MouseButton::Left), 1, 50);
    desk.look_back();
    let top = desk.screen();
    for turn in 1..100 {
        desk.take(Msg::Tick(testing::NOW.plus_ms(turn * 60)));
    }
    assert_ne!(desk.screen(), top);
    mouse(&mut desk, MouseKind::Drag(MouseButton::Left), 1, 34);
    mouse(&mut desk, MouseKind::Up(MouseButton::Left), 1, 34);
    assert!(desk.copied()[0].starts_with("line 1\nline 2\n"), "{:?}", desk.copied());
}

#[test]
fn a_picture_of_another_size_is_marked_and_typing_claims_it() {
    let mut desk = Desk::team(120, 40);
    desk.output_sized(9, "small", TermSize::clamped(5, 20));
    assert!(desk.screen().contains("sized 20×5 elsewhere"), "{}", desk.screen());
    desk.cmds.clear();
    desk.text("x");
    assert!(matches!(&desk.cmds[0], Cmd::Send(ClientFrame::View(view)) if view.is_active), "{:?}", desk.cmds);
}

#[test]
fn a_larger_picture_shows_where_its_text_is_with_and_without_the_focus() {
    let mut desk = Desk::team(120, 40);
    assert_eq!(desk.model.focus, Some(terminal_id(9)));
    for number in [9, 2] {
        desk.output_sized(number, "\x1b[2J\x1b[Hfar up", TermSize::clamped(90, 150));
        assert!(desk.screen().contains("far up"), "{number}: {}", desk.screen());
        desk.output_sized(number, "\x1b[2J\x1b[Hgone", TermSize::clamped(5, 20));
    }
}

#[test]
fn losing_the_server_keeps_the_picture_and_says_so() {
    let mut desk = Desk::team(120, 40);
    desk.take(Msg::Lost { reason: "gone".into() });
    let screen = desk.screen();
    assert!(screen.contains("reconnecting") && screen.contains("Waiting for worker_done"), "{screen}");
}

#[test]
fn what_is_typed_while_no_server_is_there_reaches_the_program_under_the_next_one() {
    let mut desk = Desk::team(120, 40);
    desk.take(Msg::Lost { reason: "gone".into() });
    desk.cmds.clear();
    desk.text("ab");
    desk.take(Msg::Tick(desk.model.now));
    assert!(typed(&desk).is_empty());
    desk.take(Msg::Server(ServerFrame::Attached { runtime_id: "rt_2".into() }));
    desk.text("c");
    let keys: Vec<Key> = typed(&desk).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, ['a', 'b', 'c'].map(Key::Char));
}

#[test]
fn what_could_not_be_sent_goes_before_what_is_typed_next() {
    let mut desk = Desk::team(120, 40);
    let focus = desk.model.focus.clone().unwrap();
    let key = |key| InputEvent::Key(KeyEvent::press(Key::Char(key), Mods::NONE));
    desk.model.early_input = vec![(focus.clone(), key('a')), (focus, key('b'))];
    desk.cmds.clear();
    desk.text("c");
    let keys: Vec<Key> = typed(&desk).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, ['a', 'b', 'c'].map(Key::Char));
}

#[test]
fn a_pasted_text_reaches_the_program_as_one_item() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.take(Msg::Paste("a\nb\nc".into()));
    assert!(
        matches!(&desk.cmds[..], [Cmd::Send(ClientFrame::Input { event: InputEvent::Paste(text), .. })] if text == "a\nb\nc")
    );
}

#[test]
fn a_paste_that_is_too_long_is_refused_and_any_other_fits_into_a_frame() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.take(Msg::Paste("\u{1b}".repeat(MAX_PASTE)));
    let [Cmd::Send(message)] = &desk.cmds[..] else { panic!("nothing was sent") };
    assert!(crate::client::wire::encode(message).is_ok());
    desk.cmds.clear();
    desk.take(Msg::Paste("x".repeat(MAX_PASTE + 1)));
    assert_eq!(desk.cmds, []);
    assert!(desk.screen().contains("Nothing was pasted"), "{}", desk.screen());
}

#[test]
fn a_release_belongs_to_the_program_only() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    let press = KeyEvent::press(Key::Char('b'), Mods { is_ctrl: true, ..Mods::NONE });
    desk.take(Msg::Key(KeyEvent { phase: KeyPhase::Release, ..press }));
    assert!(!desk.model.is_prefix_on);
}

#[test]
fn what_is_typed_before_a_program_is_there_reaches_it_in_order() {
    let mut desk = Desk::team(120, 40);
    let life = |desk: &mut Desk, life: &str| {
        let mut change = Change { is_snapshot: false, ..testing::snapshot() };
        change.rows.retain(
            |row| matches!(row, crate::proto::event::RowView::Terminal(row) if row.handle == terminal_id(9)),
        );
        let mut rows = serde_json::to_value(&change.rows).unwrap();
        rows[0]["row"]["life"] = json!(life);
        change.rows = serde_json::from_value(rows).unwrap();
        desk.take(Msg::Server(ServerFrame::Change(Box::new(change))));
    };
    life(&mut desk, "starting");
    desk.cmds.clear();
    desk.text("ls");
    assert_eq!(typed(&desk), []);
    life(&mut desk, "running");
    let keys: Vec<Key> = typed(&desk).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, [Key::Char('l'), Key::Char('s')]);
}

#[test]
fn a_task_shows_its_whole_timeline_and_asks_again_when_there_is_news() {
    let mut desk = Desk::team(120, 40);
    desk.cmds.clear();
    desk.keys("ctrl+b down ctrl+b down ctrl+b t");
    let asked = |desk: &Desk| -> Vec<(String, String)> {
        let requests = desk.cmds.iter().filter_map(|cmd| match cmd {
            Cmd::Send(ClientFrame::Request(request)) => Some(request),
            _ => None,
        });
        requests
            .filter(|request| request.method == "orchestration.dispatchShow")
            .map(|request| (request.id.clone(), request.params["task"].as_str().unwrap().to_owned()))
            .collect()
    };
    let (id, task) = asked(&desk).pop().unwrap();
    assert!(desk.screen().contains("asking the server"), "{}", desk.screen());
    let moment = json!({"seq": 3, "at": testing::NOW, "what": "lost", "attempt": 1,
        "dispatch_id": null, "terminal_id": null, "by": "orca", "detail": "the agent was killed"});
    let result = json!({"dispatch": null, "history": {"attempts": [], "timeline": [moment]}});
    let response = crate::proto::envelope::Response::new(&id, None, Ok(result));
    desk.take(Msg::Server(ServerFrame::Response(response)));
    assert!(desk.screen().contains("#1 lost  the agent was killed"), "{}", desk.screen());
    assert_eq!(asked(&desk).len(), 1, "an answer asks nothing");

    let event = |task: &str, seq: u64| {
        let event = json!({"seq": seq, "at": testing::NOW, "kind": "attempt.started", "run_id": null,
            "task_id": task, "dispatch_id": null, "terminal_id": null, "by": "user", "detail": "x"});
        let change = Change {
            seq,
            events: vec![serde_json::from_value(event).unwrap()],
            now: testing::NOW,
            ..Change::default()
        };
        Msg::Server(ServerFrame::Change(Box::new(change)))
    };
    desk.take(event("task_000000000099", 50));
    assert_eq!(asked(&desk).len(), 1, "another task is no news of this one");
    desk.take(event(&task, 51));
    desk.take(event(&task, 52));
    assert_eq!(asked(&desk).len(), 2, "one question at a time");
    desk.keys("esc ctrl+b t");
    assert_eq!(asked(&desk).len(), 3, "a page that is opened again asks anew");
}

#[test]
fn mail_is_told_once_and_stays_until_it_is_read_or_put_away() {
    let mut desk = Desk::team(120, 40);
    let row = testing::mail(1, "term_000000000009", "Both fixes are ready", "See a and b.");
    desk.rows(vec![row.clone()]);
    let said = |desk: &Desk| desk.model.toasts.iter().map(|toast| toast.text.clone()).collect::<Vec<_>>();
    assert_eq!(said(&desk), ["mail from claude: Both fixes are ready  Ctrl-b i reads it"]);
    desk.rows(vec![row.clone()]);
    assert_eq!(said(&desk).len(), 1);
    desk.keys("ctrl+b i down down down e");
    desk.text("thanks");
    desk.keys("enter");
    let (method, params) = calls(&desk).pop().unwrap();
    assert_eq!(
        (method.as_str(), &params["id"], &params["body"]),
        ("orchestration.reply", &json!("msg_000000000101"), &json!("thanks"))
    );
    let n_mail = |desk: &Desk| desk.model.attention().iter().filter(|item| item.mark.word == "mail").count();
    assert_eq!(n_mail(&desk), 1);
    desk.keys("x");
    assert_eq!(n_mail(&desk), 0);
    let (method, params) = calls(&desk).pop().unwrap();
    assert_eq!((method.as_str(), &params["id"]), ("orchestration.messageRead", &json!("msg_000000000101")));
    refuse_last(&mut desk);
    assert_eq!(n_mail(&desk), 1, "the server did not mark it");

    let mut desk = Desk::team(120, 40);
    desk.rows(vec![row.clone()]);
    let mut read = row;
    if let crate::proto::event::RowView::Message(row) = &mut read {
        row.read = true;
    }
    desk.rows(vec![read]);
    assert_eq!(n_mail(&desk), 0);
}

fn refuse_last(desk: &mut Desk) {
    let id = desk.cmds.iter().rev().find_map(|cmd| match cmd {
        Cmd::Send(ClientFrame::Request(request)) => Some(request.id.clone()),
        _ => None,
    });
    let error = ErrorBody::new(ErrorCode::StoreUnwritable, "The disk is full.");
    let response = Response::new(&id.unwrap(), None, Err(error));
    desk.take(Msg::Server(ServerFrame::Response(response)));
}

#[test]
fn a_pane_is_looked_at_once_it_has_the_focus() {
    let mut desk = Desk::team(120, 40);
    desk.rows(vec![testing::unseen(1)]);
    let n_unseen = |desk: &Desk| desk.model.attention().iter().filter(|item| !item.need.is_counted()).count();
    let marks = |desk: &Desk| -> Vec<_> {
        calls(desk).into_iter().filter(|(method, _)| method == "terminal.mark").collect()
    };
    assert_eq!((n_unseen(&desk), marks(&desk).len()), (1, 0));
    desk.take(Msg::HostFocus(false));
    nav::focus(&mut desk.model, &testing::terminal_id(1));
    desk.take(Msg::Tick(testing::NOW));
    assert_eq!((n_unseen(&desk), marks(&desk).len()), (1, 0), "nobody is there");
    desk.take(Msg::HostFocus(true));
    let (_, params) = marks(&desk).pop().unwrap();
    assert_eq!((&params["terminal"], &params["isSeen"]), (&json!("term_000000000001"), &json!(true)));
    assert_eq!(n_unseen(&desk), 0);
    refuse_last(&mut desk);
    desk.take(Msg::Tick(testing::NOW));
    assert_eq!(marks(&desk).len(), 1, "what is refused is not asked again and again");
    desk.keys("ctrl+b U");
    let (_, params) = marks(&desk).pop().unwrap();
    assert_eq!((&params["terminal"], &params["isSeen"]), (&json!("term_000000000001"), &json!(false)));
    assert_ne!(desk.model.focus, Some(testing::terminal_id(1)));
    assert_eq!(n_unseen(&desk), 1);
}

#[test]
fn the_same_note_twice_in_a_row_is_shown_once_and_longer() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b 7");
    desk.take(Msg::Tick(testing::NOW.plus_ms(2_000)));
    desk.keys("ctrl+b 7");
    assert_eq!(desk.model.toasts.len(), 1);
    desk.take(Msg::Tick(testing::NOW.plus_ms(4_000)));
    assert_eq!(desk.model.toasts.len(), 1);
    desk.take(Msg::Tick(testing::NOW.plus_ms(6_000)));
    assert!(desk.model.toasts.is_empty());
}

#[test]
fn a_sidebar_over_the_panes_goes_when_the_person_works_in_one() {
    let is_over = |desk: &Desk| desk.model.areas().is_overlay;
    let mut desk = numbered();
    desk.take(Msg::Resize { n_cols: 80, n_rows: 24 });
    desk.keys("ctrl+b b");
    assert!(is_over(&desk));
    desk.keys("ctrl+b [ /");
    desk.look_back();
    desk.text("x1");
    assert!(!is_over(&desk) && desk.screen().contains("/x1"), "{}", desk.screen());
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b b");
    desk.model.stale = crate::tui::stale::Stale::Nothing;
    desk.text("l");
    assert!(!is_over(&desk));
    assert_eq!(desk.model.stale, crate::tui::stale::Stale::Whole);
    desk.keys("ctrl+b s");
    assert!(is_over(&desk), "with the keyboard in it, it stays");
}

#[test]
fn the_clean_view_says_how_to_get_back() {
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b m");
    assert!(desk.screen().contains("Ctrl-b m goes back."), "{}", desk.screen());
    desk.keys("ctrl+b m");
    assert_eq!(desk.model.toasts.len(), 1);
}

#[test]
fn the_theme_follows_the_background_of_the_host() {
    let mut desk = Desk::team(80, 24);
    let before = desk.model.theme;
    let light = crate::proto::screen::HostFacts { background: Some((250, 250, 250)), ..Default::default() };
    desk.take(Msg::Host(light));
    assert_ne!(desk.model.theme, before);
}
