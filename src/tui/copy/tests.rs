//! Copy mode as a person uses it: output, keys, and what is copied or shown.

use super::*;
use crate::base::grid::Run;
use crate::base::input::KeyEvent;
use crate::base::size::TermSize;
use crate::pty::term::{Term, TermConfig};
use crate::tui::keys::Chord;

/// A terminal, and copy mode over it.
struct Desk {
    term: Term,
    session: Session,
    wishes: Vec<Wish>,
}

impl Desk {
    fn new(output: &str, (n_rows, n_cols): (u16, u16), keys: ModeKeys) -> Self {
        let mut term = Term::new(TermSize::clamped(n_rows, n_cols), TermConfig::default());
        term.process(output.replace('\n', "\r\n").as_bytes());
        Self::over(term, (n_rows, n_cols), keys)
    }

    fn over(term: Term, (n_rows, n_cols): (u16, u16), keys: ModeKeys) -> Self {
        let start = Start { n_rows, n_cols, keys, exits_at_bottom: false, is_of_mouse: false };
        let (session, question) = Session::new(start, [], 1);
        let mut desk = Self { term, session, wishes: Vec::new() };
        desk.settle(Turn { wishes: Vec::new(), question: Some((1, question)) });
        desk
    }

    fn settle(&mut self, mut turn: Turn) {
        loop {
            self.wishes.append(&mut turn.wishes);
            let Some((_, question)) = turn.question.take() else { return };
            turn = match question {
                // Small pages, so that keys have to wait for them.
                Question::Lines { from, n_lines } => {
                    let page = self.term.line_page(from, n_lines.min(7) as usize, 1 << 20);
                    self.session.lines_came(LinePage::decode(&page.encode()).ok())
                }
                Question::Search { text, until } => {
                    let found = self.term.search(&text, until);
                    self.session.found_came(found.matches, found.from, found.oldest)
                }
            };
        }
    }

    /// Types chords between blanks.
    fn keys(&mut self, chords: &str) -> &mut Self {
        for chord in chords.split(' ') {
            let chord = Chord::parse(chord).unwrap();
            let event = KeyEvent::press(chord.key, chord.mods);
            let turn = self.session.take(Input::Key(event));
            self.settle(turn);
        }
        self
    }

    fn input(&mut self, input: Input) -> &mut Self {
        let turn = self.session.take(input);
        self.settle(turn);
        self
    }

    fn copied(&self) -> String {
        let last = self.wishes.iter().rev().find_map(|wish| match wish {
            Wish::Copy { text, .. } => Some(text.clone()),
            Wish::Edit { .. } | Wish::Say { .. } | Wish::Leave => None,
        });
        last.unwrap_or_default()
    }

    /// The rows of the view, the cursor's cell in brackets.
    fn view(&self) -> String {
        let shown = self.session.shown().unwrap();
        let rows = shown.rows.iter().zip(0..).map(|(row, number)| {
            if number != shown.cursor.0 {
                return row.text();
            }
            let col = usize::from(shown.cursor.1);
            let cells =
                [row.text_between(0, col), row.text_between(col, col + 1), row.text_between(col + 1, 999)];
            format!("{}[{}]{}", cells[0], cells[1], cells[2].trim_end())
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    fn at(&self) -> (u64, usize) {
        let cursor = self.session.state().unwrap().cursor;
        (cursor.line, cursor.col)
    }
}

fn vi(output: &str, size: (u16, u16)) -> Desk {
    Desk::new(output, size, ModeKeys::Vi)
}

fn numbered(n_lines: u32) -> String {
    (1..=n_lines).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn motions_go_where_vi_goes() {
    let text = "  let x = foo(bar, 日本);\n\nnext_word  two.three\n\nend";
    let check = |keys: &str, expected: (u64, usize)| {
        let mut desk = vi(text, (5, 40));
        desk.keys("g").keys(keys);
        assert_eq!(desk.at(), expected, "{keys}");
    };
    for (keys, expected) in [
        ("l", (0, 1)),
        ("w", (0, 2)),
        ("2 w", (0, 6)),
        ("5 w", (0, 13)),
        ("w w w w w w w", (0, 17)),
        ("W W W W", (0, 10)),
        ("^ e", (0, 4)),
        ("^", (0, 2)),
        ("$", (0, 24)),
        ("$ h h", (0, 21)),
        ("$ 0", (0, 0)),
        ("$ b", (0, 23)),
        ("$ B", (0, 19)),
        ("j", (1, 0)),
        ("j j e", (2, 8)),
        ("2 j w w", (2, 14)),
        ("2 j W", (2, 11)),
        ("}", (1, 0)),
        ("} }", (3, 0)),
        ("G {", (3, 0)),
        ("G", (4, 0)),
        ("3 G", (2, 0)),
        ("f o", (0, 11)),
        ("f o ;", (0, 12)),
        ("f o ; ,", (0, 11)),
        ("2 f o", (0, 12)),
        ("t 本", (0, 19)),
        ("$ F x", (0, 6)),
        ("$ T x", (0, 7)),
        ("t o ;", (0, 11)),
        ("f 本 h l", (0, 21)),
        ("L", (4, 0)),
        ("M", (2, 0)),
        ("G H", (0, 0)),
        ("X 2 j alt+x", (0, 0)),
    ] {
        check(keys, expected);
    }
}

#[test]
fn the_view_begins_as_the_screen_was_and_moves_by_rows() {
    let mut desk = vi(&numbered(30), (4, 20));
    assert_eq!(desk.view(), "line 27\nline 28\nline 29\nline 30[]");
    desk.keys("ctrl+u");
    assert_eq!(desk.view(), "line 25\nline 26\nline 27\nline 2[8]");
    desk.keys("K K");
    assert_eq!(desk.view(), "line 23\nline 24\nline 25\nline 2[6]");
    desk.keys("pageup k");
    assert_eq!(desk.view(), "line 21\nline 22\nline 2[3]\nline 24");
    desk.keys("g");
    assert_eq!(desk.view(), "[l]ine 1\nline 2\nline 3\nline 4");
    desk.keys("G");
    assert_eq!(desk.view(), "line 27\nline 28\nline 29\n[l]ine 30");
    desk.keys("1 0 k");
    assert_eq!(desk.view(), "[l]ine 20\nline 21\nline 22\nline 23");
    assert_eq!(desk.session.book().unwrap().first(), 0);
}

#[test]
fn output_meanwhile_moves_nothing() {
    let mut desk = vi(&numbered(30), (4, 20));
    desk.keys("1 0 k");
    let before = desk.view();
    desk.term.process(b"\r\nmore\r\nand more\r\nand more");
    desk.keys("Q");
    assert_eq!(desk.view(), before);
    desk.keys("g v G $ y");
    assert_eq!(desk.copied(), numbered(30));
}

#[test]
fn a_resized_view_stays_at_its_line_and_wraps_anew() {
    let long = format!("{}\n{}\n{}", numbered(20), "0123456789".repeat(3), numbered(9));
    let mut desk = vi(&long, (5, 40));
    desk.keys("2 1 G");
    let top = desk.session.state().unwrap().top;
    desk.input(Input::Size { n_rows: 4, n_cols: 12 });
    assert_eq!(desk.session.state().unwrap().top, top);
    assert!(desk.view().contains("[0]12345678901\n234567890123"), "{}", desk.view());
    desk.keys("j j l");
    assert_eq!(desk.at(), (20, 25));
    desk.input(Input::Size { n_rows: 9, n_cols: 80 });
    assert!(
        desk.view().contains("01234567890123456789012345678[9]") || desk.at() == (20, 25),
        "{}",
        desk.view()
    );
}

#[test]
fn what_is_copied_is_the_text_as_it_was_written() {
    let wrapped = "0123456789abcdefghij日本語klmnop  \nsecond   \n\nthird 👩‍💻 x";
    let check = |keys: &str, expected: &str| {
        let mut desk = vi(wrapped, (9, 10));
        desk.keys("g").keys(keys);
        assert_eq!(desk.copied(), expected, "{keys}");
        assert_eq!(desk.wishes.last(), Some(&Wish::Leave));
    };
    check("V y", "0123456789abcdefghij日本語klmnop");
    check("v j j j $ y", "0123456789abcdefghij日本語klmnop");
    check("v G $ enter", "0123456789abcdefghij日本語klmnop\nsecond\n\nthird 👩‍💻 x");
    check("V 2 j o k y", "0123456789abcdefghij日本語klmnop");
    check("f 日 space l y", "日本");
    check("l v 3 l o h y", "01234");
    check("l l ctrl+v 2 j l y", "2345\ncdef\n本語");
    check("l l l ctrl+v 2 j y", "23\ncd\n本");
    check("ctrl+v ctrl+v l y", "01");
    check("v v l y", "01");
    check("4 G f 👩 v y", "👩‍💻");
}

#[test]
fn emacs_keys_and_its_selection_without_the_last_cell() {
    let mut desk = Desk::new("one two three\nfour", (4, 30), ModeKeys::Emacs);
    desk.keys("alt+< ctrl+space alt+f alt+w");
    assert_eq!(desk.copied(), "one");
    desk.keys("ctrl+g ctrl+a alt+2 ctrl+f ctrl+space ctrl+e ctrl+w");
    assert_eq!(desk.copied(), "e two three");
    desk.keys("ctrl+g alt+< ctrl+s f o u r enter");
    assert_eq!(desk.at(), (1, 0));
}

#[test]
fn a_search_goes_around_counts_and_sees_through_wraps() {
    let text = format!("{}\nneedle in 日本語 hay\n{}\nNeedle", numbered(20), numbered(10));
    let mut desk = vi(&text, (4, 8));
    let count = |desk: &Desk| desk.session.state().unwrap().search.as_ref().unwrap().count();
    desk.keys("/ n e e d l e enter");
    assert_eq!((desk.at(), count(&desk)), ((20, 0), String::from("1 of 2")), "around the end");
    desk.keys("n");
    assert_eq!((desk.at(), count(&desk)), ((31, 0), String::from("2 of 2")));
    desk.keys("N");
    assert_eq!(count(&desk), "1 of 2");
    desk.keys("? N e e d l e enter");
    assert_eq!((desk.at(), count(&desk)), ((31, 0), String::from("1 of 1")));
    desk.keys("g / n space 日 本 enter");
    assert_eq!((desk.at(), count(&desk)), ((20, 8), String::from("1 of 1")), "over a wrapped row");
    let marks = desk.session.shown().unwrap().marks;
    assert!(marks.iter().all(|(_, _, mark)| *mark == Mark::CurrentMatch) && !marks.is_empty(), "{marks:?}");
    desk.keys("/ z z enter");
    assert_eq!((count(&desk).as_str(), desk.at()), ("no match", (20, 8)));
    assert!(matches!(desk.wishes.last(), Some(Wish::Say { .. })));
    desk.keys("g w *");
    assert_eq!(count(&desk), "2 of 14", "every 1 in every number");
}

#[test]
fn prompts_are_jumped_to() {
    let prompt = "\x1b]133;A\x07$ ";
    let text = format!("{prompt}one\n{}\n{prompt}two\n{}\n{prompt}", numbered(9), numbered(9));
    let mut desk = vi(&text, (4, 20));
    desk.keys("[");
    assert_eq!(desk.at(), (10, 0));
    desk.keys("alt+p");
    assert_eq!(desk.at(), (0, 0));
    desk.keys("] alt+n");
    assert_eq!(desk.at(), (20, 0));
}

#[test]
fn the_mouse_selects_cells_words_and_lines() {
    let mut desk = vi("see src/a.rs:41, now\nand then", (4, 30));
    let press = |row, col, n_clicks| Input::Press { row, col, n_clicks };
    desk.input(press(0, 4, 1)).input(Input::Drag { row: 1, col: 2, edge: 0 }).input(Input::Release);
    assert_eq!(desk.copied(), "src/a.rs:41, now\nand");
    desk.input(press(0, 6, 2)).input(Input::Release);
    assert_eq!(desk.copied(), "src/a.rs:41");
    desk.input(press(0, 6, 2)).input(Input::Drag { row: 1, col: 1, edge: 0 }).input(Input::Release);
    assert_eq!(desk.copied(), "src/a.rs:41, now\nand");
    desk.input(press(1, 20, 3)).input(Input::Release);
    assert_eq!(desk.copied(), "and then");
    let n_copies = desk.wishes.len();
    desk.input(press(1, 1, 1)).input(Input::Release);
    assert_eq!(desk.wishes.len(), n_copies, "a click copies nothing");
}

#[test]
fn esc_drops_the_selection_first_and_waiting_keys_can_be_left() {
    let mut desk = vi("one", (4, 30));
    desk.keys("v esc");
    assert_eq!((desk.session.state().unwrap().selection, desk.wishes.len()), (None, 0));
    desk.keys("esc");
    assert_eq!(desk.wishes, [Wish::Leave]);
    let start =
        Start { n_rows: 4, n_cols: 9, keys: ModeKeys::Vi, exits_at_bottom: false, is_of_mouse: false };
    let (mut session, _) = Session::new(start, [], 1);
    let event = KeyEvent::press(crate::base::input::Key::Esc, Default::default());
    assert_eq!(session.take(Input::Key(event)).wishes, [Wish::Leave]);
}

#[test]
fn scrolling_down_to_the_end_leaves_only_a_mode_that_scrolling_began() {
    let term = || {
        let mut term = Term::new(TermSize::clamped(4, 20), TermConfig::default());
        term.process(numbered(30).replace('\n', "\r\n").as_bytes());
        term
    };
    let mut desk = Desk::over(term(), (4, 20), ModeKeys::Vi);
    desk.input(Input::Wheel(3)).input(Input::Wheel(-3));
    assert_eq!(desk.wishes, []);
    let start =
        Start { n_rows: 4, n_cols: 20, keys: ModeKeys::Vi, exits_at_bottom: true, is_of_mouse: false };
    let (session, question) = Session::new(start, [Input::Wheel(3)], 1);
    let mut desk = Desk { term: term(), session, wishes: Vec::new() };
    desk.settle(Turn { wishes: Vec::new(), question: Some((1, question)) });
    assert_eq!(desk.wishes, []);
    desk.input(Input::Wheel(-3));
    assert_eq!(desk.wishes, [Wish::Leave]);
}

#[test]
fn everything_selected_is_the_text_at_any_width() {
    // A small generator of its own: the same texts in every run.
    let mut seed = 7_u64;
    let mut next = move |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let pieces = ["a", "word ", "日本", "é", "👩‍💻", "\x1b[31mred\x1b[m", "x y  z", "0123456789", "~"];
    for _ in 0..60 {
        let n_lines = 1 + next(40);
        let lines: Vec<String> = (0..n_lines)
            .map(|_| (0..next(9)).map(|_| pieces[next(pieces.len() as u64) as usize]).collect())
            .collect();
        let text = lines.join("\n") + "\n.";
        let (n_rows, n_cols) = (2 + next(8) as u16, 4 + next(30) as u16);
        let mut desk = vi(&text, (n_rows, n_cols));
        let page = desk.term.line_page(Some(0), 1_000, 1 << 30);
        let plain = |line: &Vec<Run>| line.iter().map(|run| run.text.as_str()).collect::<String>();
        let lines: Vec<String> = page.lines.iter().map(|line| plain(line).trim_end().to_owned()).collect();
        let expected = lines.join("\n").trim_end().to_owned();
        desk.keys("g v G $ y");
        assert_eq!(desk.copied(), expected, "{n_cols} columns");
        desk.input(Input::Size { n_rows: 5, n_cols: 3 + next(50) as u16 });
        desk.keys("G $ v g y");
        assert_eq!(desk.copied(), expected);
    }
}
