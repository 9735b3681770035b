//! Each screen in interesting states, as text. Read the snapshots, do not just accept them.

use crate::tui::testing::Desk;

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
