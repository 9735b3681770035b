//! Each screen in interesting states, as text. Read the snapshots, do not just accept them.

use crate::base::clock::Timestamp;
use crate::base::grid::Link;
use crate::base::id::TaskId;
use crate::base::size::TermSize;
use crate::model::dispatch::Termination;
use crate::model::task::TaskState;
use crate::proto::event::RowView;
use crate::pty::snapshot::PaneRows;
use crate::pty::term::{Term, TermConfig};
use crate::tui::canvas::{Canvas, Extra};
use crate::tui::msg::Msg;
use crate::tui::paint::Painter;
use crate::tui::stale::Stale;
use crate::tui::testing::{Desk, mail, terminal_id, unapproved_setup};

fn check(name: &str, desk: &Desk) {
    insta::assert_snapshot!(name, desk.screen());
}

#[test]
fn the_team_at_three_sizes() {
    for (n_cols, n_rows) in [(80, 24), (120, 40), (200, 50)] {
        check(&format!("team_{n_cols}x{n_rows}"), &Desk::team(n_cols, n_rows));
    }
}

#[test]
fn the_inbox() {
    for (n_cols, n_rows) in [(80, 24), (120, 40)] {
        let mut desk = Desk::team(n_cols, n_rows);
        desk.keys("ctrl+b i");
        check(&format!("inbox_{n_cols}x{n_rows}"), &desk);
    }
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b i e");
    desk.text("neither: use the staging one");
    desk.keys("alt+enter");
    desk.text("host db.staging");
    check("inbox_writing_80x24", &desk);
}

#[test]
fn the_sidebar_over_a_narrow_screen() {
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b s down down");
    check("sidebar_80x24", &desk);
}

#[test]
fn the_pages() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b ?");
    check("help_120x40", &desk);
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b down ctrl+b down ctrl+b t");
    check("task_120x40", &desk);
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b g");
    check("gates_80x24", &desk);
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b :");
    desk.text("pane");
    check("palette_80x24", &desk);
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b o ctrl+b x");
    check("confirm_80x24", &desk);
}

#[test]
fn a_setup_script_that_waits_for_approval() {
    for (n_cols, n_rows) in [(80, 24), (120, 40), (200, 50)] {
        let mut desk = Desk::team(n_cols, n_rows);
        desk.rows(unapproved_setup());
        desk.keys("ctrl+b s enter");
        desk.take(Msg::Tick(crate::tui::testing::NOW.plus_ms(60_000)));
        let words = desk.model.attention().into_iter().map(|item| item.mark.word).collect::<Vec<_>>();
        assert_eq!(words, ["approve setup", "question", "gate", "failed"], "the request is not mail besides");
        check(&format!("setup_{n_cols}x{n_rows}"), &desk);
    }
    let mut desk = Desk::team(120, 40);
    desk.rows(unapproved_setup());
    desk.keys("ctrl+b i");
    check("inbox_setup_120x40", &desk);
}

#[test]
fn mail_to_the_person() {
    for (n_cols, n_rows) in [(80, 24), (120, 40)] {
        let mut desk = Desk::team(n_cols, n_rows);
        desk.rows(vec![mail(1, "term_000000000009", "Both fixes are ready", "See branches a and b.\n")]);
        check(&format!("mail_{n_cols}x{n_rows}"), &desk);
        desk.keys("ctrl+b i down down down");
        desk.take(Msg::Tick(crate::tui::testing::NOW.plus_ms(60_000)));
        check(&format!("inbox_mail_{n_cols}x{n_rows}"), &desk);
    }
}

#[test]
fn much_mail_is_counted_and_leaves_the_sidebar_to_the_runs() {
    let mut desk = Desk::team(120, 40);
    desk.rows((1..=9).map(|number| mail(number, "user", &format!("Note {number}"), "")).collect());
    let screen = desk.screen();
    assert!(screen.contains("NEEDS YOU 12") && screen.contains("@ mail user: Note 3"), "{screen}");
    assert!(
        screen.contains("@ and 6 more mail: Ctrl-b i") && !screen.contains("@ mail user: Note 4"),
        "{screen}"
    );
    desk.keys("ctrl+b i");
    assert!(desk.screen().contains("Inbox 1/12"), "{}", desk.screen());
}

#[test]
fn a_task_says_what_can_be_done_about_it() {
    let mut desk = Desk::team(120, 40);
    desk.keys("ctrl+b s down down enter");
    check("task_failed_120x40", &desk);
    let mut desk = Desk::team(120, 40);
    let gated = TaskId::parse("task_000000000005").unwrap();
    desk.model.modal = Some(crate::tui::model::Modal::Task { task: gated, scroll: 0 });
    let screen = desk.screen();
    assert!(screen.contains("Enter answer in the inbox  Esc back"), "{screen}");
    desk.keys("enter");
    let screen = desk.screen();
    assert!(screen.contains("◆ gate · Remove the old session cache"), "{screen}");
}

#[test]
fn a_failed_start_says_why_in_words() {
    let mut desk = Desk::team(120, 40);
    let mut change = crate::tui::testing::snapshot();
    change.rows.retain(|row| matches!(row, RowView::Dispatch(row) if row.id.as_str() == "ctx_000000000006"));
    for row in &mut change.rows {
        if let RowView::Dispatch(row) = row {
            row.last_failure = Some("agent_unconfigured: x is no agent: name one of codex, claude.".into());
        }
    }
    desk.rows(change.rows);
    let screen = desk.screen();
    assert!(screen.contains("failed · #3 · x is no agent") && !screen.contains("agent_unconf"), "{screen}");
    let trouble = desk.model.attention().pop().unwrap();
    assert_eq!(trouble.text, "Benchmark the handler: x is no agent: name one of codex, claude.");
}

#[test]
fn what_was_not_looked_at_does_not_need_the_person() {
    let mut desk = Desk::team(120, 40);
    desk.rows(vec![crate::tui::testing::unseen(1)]);
    let screen = desk.screen();
    assert!(screen.contains("! 3 need you  • 1 not looked at"), "{screen}");
    assert!(screen.contains("NEEDS YOU 3") && screen.contains("NOT LOOKED AT 1"), "{screen}");
    desk.keys("ctrl+b i");
    let screen = desk.screen();
    assert!(screen.contains("Inbox 1/3"), "{screen}");
}

#[test]
fn a_tab_with_a_colour_has_a_bar_of_it_in_its_frame_and_in_the_sidebar() {
    let mut desk = Desk::team(120, 40);
    let mut change = crate::tui::testing::snapshot();
    change.rows.retain(|row| matches!(row, RowView::Terminal(row) if row.handle == terminal_id(9)));
    for row in &mut change.rows {
        if let RowView::Terminal(row) = row {
            row.color = Some(String::from("#0af"));
        }
    }
    desk.rows(change.rows);
    let screen = desk.screen();
    assert_eq!(screen.matches('▌').count(), 2, "{screen}");
}

#[test]
fn the_help_at_80_columns() {
    let mut desk = Desk::team(80, 24);
    desk.keys("ctrl+b ?");
    check("help_80x24", &desk);
    let shown = |desk: &Desk| desk.screen().lines().nth(21).unwrap().to_owned();
    let last = shown(&desk);
    desk.keys("pagedown");
    assert_eq!(desk.screen().lines().nth(1).unwrap(), last, "a page, but for one row");
    desk.keys("end");
    check("help_end_80x24", &desk);
}

#[test]
fn counts_give_up_their_words_before_tabs_go() {
    let mut desk = Desk::team(120, 40);
    let snapshot = crate::tui::testing::snapshot();
    let (mut run, mut task) = (None, None);
    for row in snapshot.rows {
        match row {
            RowView::Run(row) => run = Some(row),
            RowView::Task(row) if row.id.as_str() == "task_000000000007" => task = Some(row),
            _ => {}
        }
    }
    let (run, task) = (run.unwrap(), task.unwrap());
    let mut rows = Vec::new();
    for number in 2..=6 {
        let id = crate::base::id::RunId::parse(&format!("run_{number:012}")).unwrap();
        let objective = format!("Objective number {number}");
        rows.push(RowView::Run(crate::proto::row::RunRow { id: id.clone(), objective, ..run.clone() }));
        let of = TaskId::parse(&format!("task_{:012}", 100 + number)).unwrap();
        rows.push(RowView::Task(crate::proto::row::TaskRow { id: of, run_id: id, ..task.clone() }));
    }
    desk.rows(rows);
    let screen = desk.screen();
    let line = screen.lines().last().unwrap();
    for number in 1..=6 {
        assert!(line.contains(&format!("{number}:")), "{line}");
    }
    assert!(line.contains("! 3 ") && !line.contains("1 ready"), "{line}");
}

#[test]
fn a_lost_attempt_needs_the_person_who_coordinates() {
    let lost = |coordinator: &str| {
        let mut change = crate::tui::testing::snapshot();
        for row in &mut change.rows {
            match row {
                RowView::Run(run) => run.coordinator_handle = Some(coordinator.to_owned()),
                RowView::Dispatch(row) if row.id.as_str() == "ctx_000000000006" => {
                    row.task_id = TaskId::parse("task_000000000007").unwrap();
                    row.termination_reason = Some(Termination::Lost);
                }
                _ => {}
            }
        }
        let mut desk = Desk::empty(80, 24);
        desk.take(Msg::Server(crate::proto::screen::ServerFrame::Change(Box::new(change))));
        let list = desk.model.attention();
        list.into_iter().filter(|item| item.mark.word == "lost").map(|item| item.text).collect::<Vec<_>>()
    };
    assert_eq!(lost("user"), ["Tidy imports: exited with status 2"]);
    assert!(lost("term_000000000009").is_empty());
}

#[test]
fn nothing_yet_and_too_small() {
    check("empty_80x24", &{
        let mut desk = Desk::empty(80, 24);
        let change = crate::proto::event::Change {
            is_snapshot: true,
            now: crate::tui::testing::NOW,
            ..Default::default()
        };
        desk.take(crate::tui::msg::Msg::Server(crate::proto::screen::ServerFrame::Change(Box::new(change))));
        desk
    });
    check("tiny_12x3", &Desk::team(12, 3));
}

#[test]
fn the_screen_sleeps_exactly_until_an_age_on_it_reads_otherwise() {
    let mut desk = Desk::team(110, 50);
    let idle_for = 12 * 60_000;
    let mut young =
        desk.model.mirror.tasks.values().find(|task| task.status == TaskState::Ready).unwrap().clone();
    young.created_at = Timestamp(desk.model.now.0 - 5_000);
    desk.rows(vec![RowView::Task(young)]);
    assert!(desk.screen().contains("ready 5s"), "{}", desk.screen());
    let (began, mut n_drawn) = (desk.model.now, 0);
    while desk.model.now.since_ms(began) < idle_for {
        let (shown, now) = (desk.screen(), desk.model.now);
        let sleep_ms = desk.model.next_tick_ms();
        desk.take(Msg::Tick(now.plus_ms(sleep_ms - 1)));
        assert_eq!(desk.screen(), shown, "{sleep_ms}");
        desk.take(Msg::Tick(now.plus_ms(sleep_ms)));
        assert_ne!(desk.screen(), shown, "{sleep_ms}");
        n_drawn += 1;
    }
    assert!((56..100).contains(&n_drawn), "{n_drawn}");
}

#[test]
fn every_size_draws() {
    for n_cols in (1..=210).step_by(7) {
        for n_rows in (1..=60).step_by(5) {
            let mut desk = Desk::team(n_cols, n_rows);
            for keys in [
                "ctrl+b i",
                "e x esc esc",
                "ctrl+b s",
                "esc",
                "ctrl+b ?",
                "end esc",
                "ctrl+b :",
                "esc",
                "ctrl+b z",
            ] {
                desk.keys(keys);
                assert_eq!(desk.screen().lines().count(), usize::from(n_rows));
            }
        }
    }
}

#[test]
fn rows_drawn_alone_give_the_same_frame_as_all_of_it() {
    let (n_cols, n_rows) = (120, 40);
    let mut desk = Desk::team(n_cols, n_rows);
    let mut painter = Painter::default();
    let mut host = Term::new(TermSize::clamped(n_rows, n_cols), TermConfig::default());
    let id = terminal_id(2);
    let size = desk.model.told.panes.iter().find(|pane| pane.terminal == id).unwrap().size;
    let (mut term, mut rows, mut seen) = (Term::new(size, TermConfig::default()), PaneRows::new(), 0);
    let mut n_parts = 0;
    for output in [
        "$ ls",
        " -l",
        "\r\n\x1b[32mgreen\x1b[m 日本語\r\n",
        "\x1b[2;3Hover\x1b[44m blue \x1b[m",
        "\x1b[1;1H\x1b[4:3mcurly\x1b[m \x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\",
        "\x1b[2;1H\x1b]8;;https://c.d\x1b\\other\x1b]8;;\x1b\\",
        "\x1b[?25l",
        "\x1b[3;1H\x1b[K\x1b[?25h",
        "\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline",
        "\x1b]11;#101010\x07",
        "\x1b[2Jx",
    ] {
        term.process(output.as_bytes());
        rows.update(&term);
        desk.take(Msg::Screen { terminal: id.clone(), patch: rows.newer_than(seen).encode() });
        seen = rows.version();
        let part = match &desk.model.stale {
            Stale::Rows(rows) => super::part(&desk.model, rows),
            Stale::Nothing | Stale::Whole => None,
        };
        n_parts += usize::from(part.is_some());
        let patch = part.and_then(|part| painter.patch(&part.rows(), |canvas| part.draw(canvas)));
        let bytes = patch
            .unwrap_or_else(|| painter.frame((n_cols, n_rows), |canvas| super::draw(&desk.model, canvas)));
        desk.model.stale = Stale::Nothing;
        host.process(bytes.as_bytes());
        let mut whole = Canvas::new(n_cols, n_rows);
        super::draw(&desk.model, &mut whole);
        assert_eq!(cells(painter.shown()), cells(&whole), "{output:?}");
        assert_eq!(painter.shown().cursor, whole.cursor, "{output:?}");
        let lines: Vec<String> = whole.text().lines().map(str::to_owned).collect();
        assert_eq!(host.screen_text(), lines, "{output:?}");
    }
    assert_eq!(n_parts, 9, "the first frame and those with other colours are drawn whole");
}

type Cells = Vec<(ratatui::buffer::Cell, Extra, Option<Link>)>;

/// All cells, with the targets that their link numbers stand for.
fn cells(canvas: &Canvas) -> Cells {
    let rows = (0..canvas.area().height).map(|row| canvas.row(row));
    let cells = rows.flat_map(|(cells, extras)| cells.iter().cloned().zip(extras.iter().copied()));
    cells.map(|(cell, extra)| (cell, Extra { link: 0, ..extra }, canvas.link(extra.link).cloned())).collect()
}

#[test]
fn a_key_for_the_program_makes_nothing_stale() {
    let mut desk = Desk::team(120, 40);
    desk.model.stale = Stale::Nothing;
    desk.text("ls");
    desk.take(Msg::Tick(desk.model.now.plus_ms(10)));
    assert_eq!(desk.model.stale, Stale::Nothing);
    desk.keys("ctrl+b");
    assert_eq!(desk.model.stale, Stale::Whole);
}

#[test]
fn the_column_that_a_wide_character_did_not_fit_into_has_the_background_of_its_line() {
    let mut desk = Desk::team(120, 40);
    let shown = desk.model.told.panes.iter().find(|pane| pane.terminal == terminal_id(2)).unwrap();
    let n_cols = usize::from(shown.size.n_cols());
    desk.output(2, &format!("\x1b[44m{}中\x1b[m", "x".repeat(n_cols - 1)));
    let mut canvas = Canvas::new(120, 40);
    desk.model.draw(&mut canvas);
    let row = (0..40).find(|row| canvas.row(*row).0.iter().filter(|cell| cell.symbol() == "x").count() > 20);
    let cells = canvas.row(row.unwrap()).0;
    let last = cells.iter().rposition(|cell| cell.symbol() == "x").unwrap();
    assert_eq!((cells[last + 1].symbol(), cells[last + 1].bg), (" ", cells[last].bg));
    assert_eq!(cells[last].bg, ratatui::style::Color::Indexed(4));
}
