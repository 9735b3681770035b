//! Resizing, reflow and history.

use super::fixtures;
use orca::base::size::TermSize;
use orca::pty::term::{Term, TermConfig};

fn term(n_rows: u16, n_cols: u16, output: &str) -> Term {
    let mut term = Term::new(TermSize::clamped(n_rows, n_cols), TermConfig::default());
    term.process(output.as_bytes());
    term
}

fn resized(term: &mut Term, n_rows: u16, n_cols: u16) -> Vec<String> {
    term.resize(TermSize::clamped(n_rows, n_cols));
    fixtures::text_of(term)
}

#[test]
fn every_number_is_there_once_in_order_after_any_zooming() {
    let mut term = term(20, 60, "");
    for n in 0..300 {
        term.process(format!("{n:03}:{}\r\n", "x".repeat(96)).as_bytes());
    }
    for _ in 0..5 {
        for (n_rows, n_cols) in [(40, 180), (20, 60), (10, 33), (50, 100)] {
            term.resize(TermSize::clamped(n_rows, n_cols));
            let read = term.text_lines(0, 1_000);
            let numbers: Vec<&str> = read.lines.iter().map(|line| &line[..3]).collect();
            let expected: Vec<String> = (0..300).map(|n| format!("{n:03}")).collect();
            assert_eq!(numbers, expected, "{n_rows}x{n_cols}");
            assert!(read.lines.iter().all(|line| line.len() == 100));
        }
    }
}

#[test]
fn a_long_line_wraps_anew_and_the_cursor_stays_with_its_text() {
    let mut term = term(6, 20, "0123456789abcdefghijKLMNO\x1b[3D");
    assert_eq!(resized(&mut term, 6, 10), ["0123456789", "abcdefghij", "KLMNO"]);
    term.process(b"*");
    assert_eq!(resized(&mut term, 6, 40), ["0123456789abcdefghijKL*NO"]);
    term.process(b"#");
    assert_eq!(fixtures::text_of(&term), ["0123456789abcdefghijKL*#O"]);
}

#[test]
fn styles_links_and_clusters_survive_a_resize() {
    let mut term = term(
        4,
        20,
        "\x1b[9mstruck\x1b[m \x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\ 👨‍👩‍👧 \x1b[4:3mcurly\x1b[m",
    );
    let before = term.encoded_row(0);
    term.resize(TermSize::clamped(5, 7));
    term.resize(TermSize::clamped(4, 30));
    assert_eq!(term.encoded_row(0), before);
}

#[test]
fn the_current_look_and_modes_survive_a_resize() {
    let mut term = term(4, 20, "\x1b[1;31m\x1b[?2004h\x1b[?25l\x1b[5 q\x1b[4h\x1b(0ab");
    let (modes, shape) = (term.modes(), term.cursor().shape);
    term.resize(TermSize::clamped(6, 30));
    assert_eq!((term.modes(), term.cursor().shape, term.cursor().is_visible), (modes, shape, false));
    term.process(b"q\x1bP$qm\x1b\\");
    assert_eq!(term.take_replies(), b"\x1bP1$r0;1;31m\x1b\\");
    assert_eq!(term.screen_text()[0], "▒␉─");
}

#[test]
fn the_alternate_screen_is_cut_and_the_main_screen_behind_it_wraps() {
    let mut term = term(
        4,
        20,
        "0123456789abcdefghij\r\nprompt$ \x1b[?1049h\x1b[H\x1b[2Jfull screen program\x1b[4;1Hlast",
    );
    assert_eq!(resized(&mut term, 3, 10), ["", "", "last"]);
    assert_eq!(resized(&mut term, 5, 30), ["", "", "last"]);
    term.process(b"\x1b[?1049l");
    assert_eq!(fixtures::text_of(&term), ["0123456789abcdefghij", "prompt$"]);
    assert_eq!((term.cursor().row, term.cursor().col), (1, 8));
}

#[test]
fn a_taller_screen_takes_lines_back_from_history() {
    let mut term = term(3, 10, "1\r\n2\r\n3\r\n4\r\n5");
    assert_eq!(term.history().numbers(), 0..2);
    assert_eq!(resized(&mut term, 6, 10), ["1", "2", "3", "4", "5"]);
    assert_eq!((term.history().numbers(), term.cursor().row), (0..0, 4));
    assert_eq!(resized(&mut term, 3, 10), ["3", "4", "5"]);
}

#[test]
fn rows_above_an_input_box_reach_history_once_each() {
    let mut term = term(24, 80, "\x1b[1;20r\x1b[20;1H");
    for n in 0..200 {
        term.process(format!("line {n}\n\r").as_bytes());
    }
    term.process(b"\x1b[r");
    let read = term.text_lines(0, 1_000);
    let lines: Vec<&String> = read.lines.iter().filter(|line| !line.is_empty()).collect();
    let expected: Vec<String> = (0..200).map(|n| format!("line {n}")).collect();
    assert_eq!(lines, expected.iter().collect::<Vec<_>>());
}

#[test]
fn a_program_that_clears_each_frame_does_not_eat_history() {
    let mut term = term(10, 40, "");
    for n in 0..50 {
        term.process(format!("kept {n}\r\n").as_bytes());
    }
    let kept = term.history().numbers();
    term.process(b"\x1b[2J\x1b[3J\x1b[Hnew");
    assert_eq!(term.history().numbers(), kept);
    let config = TermConfig { may_program_clear_history: true, ..TermConfig::default() };
    let mut term = Term::new(TermSize::clamped(2, 10), config);
    term.process(b"a\r\nb\r\nc\r\n\x1b[3J");
    assert_eq!(term.history().numbers(), 2..2);
}

#[test]
fn extreme_sizes_are_survived() {
    let mut term = term(24, 80, "");
    for (n_rows, n_cols) in [(96, 710), (300, 1000), (5, 20), (3, 10), (1, 1), (24, 80)] {
        term.process("wide 日本語 👨‍👩‍👧 ❤️ text that goes on and on over the edge of the screen\r\n".as_bytes());
        term.resize(TermSize::clamped(n_rows, n_cols));
        assert!(!term.take_events().contains(&orca::pty::event::TermEvent::ScreenLost));
    }
    term.process(b"\x1b[2J\x1b[Halive");
    assert_eq!(term.screen_text()[0], "alive");
}

#[test]
fn one_row_of_two_columns_is_a_terminal_too() {
    let mut term = term(1, 2, "abcde");
    assert_eq!((term.size(), term.screen_text()), (TermSize::clamped(1, 2), vec![String::from("e")]));
    term.process("日\r\nx\x1b[2;2Hy\x1bM\x1b[Tz".as_bytes());
    assert_eq!((term.screen_text(), term.cursor().row, term.cursor().col), (vec![String::from(" z")], 0, 1));
    assert_eq!(resized(&mut term, 4, 20), ["abcde日", " z"], "lines are whole where they had more room");
    assert_eq!(resized(&mut term, 1, 2), [" z"]);
    term.process(b"\x1b[6n\x1b[18t");
    assert_eq!(term.take_replies(), b"\x1b[1;2R\x1b[8;1;2t");
}

#[test]
fn the_last_column_wraps_on_the_next_character_only() {
    let mut term = term(4, 8, "xxxxxxxx\rY");
    assert_eq!(fixtures::text_of(&term), ["Yxxxxxxx"]);
    term.process(b"\r\n12345678\n");
    assert_eq!((term.cursor().row, term.screen_text()[2].as_str()), (2, ""));
}

#[test]
fn erasing_ends_the_line_that_the_top_continues_on_its_own_screen_only() {
    let wrapped = "0123456789abcdefghij0123456789";
    for output in [format!("{wrapped}\x1b[2J"), format!("{wrapped}\x1b[m\x1b[2J")] {
        let term = term(2, 10, &output);
        assert_eq!(term.history().text(0).as_deref(), Some("0123456789"), "{output:?}");
    }
    let mut term = term(2, 10, &format!("{wrapped}\x1b[?1049h\x1b[2Jfull\x1b[?1049l"));
    assert_eq!(term.history().numbers(), 0..0);
    assert_eq!(resized(&mut term, 2, 40), [wrapped]);
}
