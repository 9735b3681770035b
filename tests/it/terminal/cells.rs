//! Styles, links and clusters come through the rows to a client.

use super::fixtures;
use orca::base::grid::{Attrs, Color, Row, Run, Shape, Style, Underline};
use orca::base::size::TermSize;
use orca::pty::row;
use orca::pty::snapshot::{PaneImage, PaneRows, Patch};
use orca::pty::term::{Term, TermConfig};

fn rows(term: &Term) -> Vec<Row> {
    let mut rows = PaneRows::new();
    rows.update(term);
    let mut image = PaneImage::new();
    image.apply(&Patch::decode(&rows.newer_than(0).encode()).unwrap()).unwrap();
    image.rows().to_vec()
}

fn first_row(output: &str) -> Vec<Run> {
    let mut term = Term::new(TermSize::clamped(4, 40), TermConfig::default());
    term.process(output.as_bytes());
    let whole = rows(&term)[0].runs.clone();
    let mut cut = Term::new(TermSize::clamped(4, 40), TermConfig::default());
    output.as_bytes().iter().for_each(|byte| cut.process(&[*byte]));
    assert_eq!(rows(&cut)[0].runs, whole, "{output:?} byte by byte");
    whole
}

#[test]
fn every_attribute_arrives_and_leaves() {
    let cases = [
        ("1", "22", Attrs::BOLD),
        ("2", "22", Attrs::DIM),
        ("3", "23", Attrs::ITALIC),
        ("5", "25", Attrs::BLINK),
        ("7", "27", Attrs::INVERSE),
        ("8", "28", Attrs::CONCEAL),
        ("9", "29", Attrs::STRIKE),
        ("53", "55", Attrs::OVERLINE),
        ("1;2", "22", Attrs::from_bits(Attrs::BOLD.bits() | Attrs::DIM.bits())),
    ];
    for (on, off, attrs) in cases {
        let runs = first_row(&format!("\x1b[{on}ma\x1b[{off}mb"));
        let seen: Vec<_> = runs.iter().map(|run| (run.text.as_str(), run.style.attrs)).collect();
        assert_eq!(seen, [("a", attrs), ("b", Attrs::NONE)], "SGR {on}");
    }
}

#[test]
fn underlines_have_styles_and_colours() {
    let runs = first_row("\x1b[4ma\x1b[4:3;58;2;1;2;3mb\x1b[21mc\x1b[24md\x1b[59;4:4me\x1b[0mf");
    let seen: Vec<_> = runs.iter().map(|run| (run.style.underline, run.style.underline_color)).collect();
    let red = Color::Rgb(1, 2, 3);
    assert_eq!(
        seen,
        [
            (Underline::Single, Color::Default),
            (Underline::Curly, red),
            (Underline::Double, red),
            (Underline::None, red),
            (Underline::Dotted, Color::Default),
            (Underline::None, Color::Default),
        ]
    );
}

#[test]
fn links_survive_styles_and_scrolling() {
    let mut term = Term::new(TermSize::clamped(2, 40), TermConfig::default());
    term.process(b"\x1b]8;id=x;https://a.b/c\x1b\\\x1b[31mre\x1b[0md\x1b]8;;\x1b\\ plain\r\nnext");
    let uri = |row: &Row, col| row.link_at(col).map(|link| (link.id.clone(), link.uri.clone()));
    let link = Some(("x".to_owned(), "https://a.b/c".to_owned()));
    let row = &rows(&term)[0];
    assert_eq!([uri(row, 0), uri(row, 2), uri(row, 3)], [link.clone(), link.clone(), None]);
    term.process(b"\r\n\r\n");
    let kept = Row { runs: term.history().runs(0).unwrap(), is_wrapped: false };
    assert_eq!([uri(&kept, 2), uri(&kept, 3)], [link, None]);
    assert_eq!(kept.text(), "red plain");
}

#[test]
fn clusters_are_one_cell_of_two_columns() {
    for cluster in ["👨‍👩‍👧‍👦", "🏳️‍🌈", "🇰🇷", "👍🏽", "🤷‍♂️", "👩‍⚕️", "❤️‍🔥", "⚠️", "1️⃣"]
    {
        let runs = first_row(&format!("|{cluster}|"));
        let seen: Vec<_> = runs.iter().map(|run| (run.shape, run.text.as_str())).collect();
        assert_eq!(
            seen,
            [(Shape::Narrow, "|"), (Shape::WideCluster, cluster), (Shape::Narrow, "|")],
            "{cluster}"
        );
        let styled = first_row(&format!("\x1b[9m|{cluster}|"));
        assert_eq!(styled[1].text, cluster);
        assert_eq!(styled[1].shape, Shape::WideCluster, "struck out {cluster}");
        assert!(styled.iter().all(|run| run.style.attrs == Attrs::STRIKE));
    }
}

#[test]
fn a_damaged_character_does_not_hold_back_what_follows_it() {
    let mut term = Term::new(TermSize::clamped(4, 40), TermConfig::default());
    let text = |term: &Term| rows(term)[0].runs.iter().map(|run| run.text.as_str()).collect::<String>();
    term.process(b"\xe6\x97 at once");
    assert_eq!(text(&term), "□ at once");
    // At the end it may be whole yet.
    term.process(b" \xe6\x97");
    assert_eq!(text(&term), "□ at once");
    term.process(b"\xa5");
    assert_eq!(text(&term), "□ at once 日");
}

#[test]
fn our_private_characters_cannot_be_forged() {
    let runs = first_row("a\u{e0100}\u{3e000}b\x1b[9mc");
    let text: String = runs.iter().map(|run| run.text.as_str()).collect();
    assert_eq!(text, "abc");
    assert_eq!(runs[0].style.attrs, Attrs::NONE);
}

#[test]
fn entries_of_the_palette_are_drawn_as_the_program_set_them() {
    let mut term = Term::new(TermSize::clamped(3, 20), TermConfig::default());
    let looks = |runs: &[Run]| runs.iter().map(|run| (run.style.fg, run.style.bg)).collect::<Vec<_>>();
    let (one, set) = (Color::Indexed(1), Color::Rgb(1, 2, 3));
    term.process(b"\x1b[31mred\x1b[32;41mgreen\x1b[m\r\n\x1b[4;58;5;1mline\x1b[m\r\nplain");
    let (mut server, mut client) = (PaneRows::new(), PaneImage::new());
    let mut shown = |term: &Term| {
        server.update(term);
        let patch = server.newer_than(client.version());
        let numbers: Vec<u16> = patch.rows.iter().map(|(number, _)| *number).collect();
        client.apply(&patch).unwrap();
        (numbers, client.rows().to_vec())
    };
    shown(&term);
    term.process(b"\x1b]4;1;#010203\x1b\\");
    let (numbers, rows) = shown(&term);
    assert_eq!(numbers, [0, 1], "only rows that show the entry are sent again");
    assert_eq!(looks(&rows[0].runs), [(set, Color::Default), (Color::Indexed(2), set)]);
    assert_eq!(rows[1].runs[0].style.underline_color, set);
    term.process(b"\r\n");
    let page = term.line_page(Some(0), 1, 1 << 20);
    assert_eq!(looks(&page.lines[0]), looks(&rows[0].runs), "history too");
    let mut again = Term::new(term.size(), TermConfig::default());
    again.restore(&term.keyframe());
    assert_eq!(self::rows(&again)[0].runs[0].style.underline_color, set, "and after a restart of the server");
    for reset in ["\x1b]104;1\x07", "\x1b]4;1;#010203\x07\x1b]104\x07", "\x1b]4;1;#010203\x07\x1bc"] {
        term.process(reset.as_bytes());
        let page = term.line_page(Some(0), 1, 1 << 20);
        assert_eq!(looks(&page.lines[0])[0], (one, Color::Default), "{}", reset.escape_debug());
    }
}

#[test]
fn erased_cells_show_their_background_only() {
    let runs = first_row("\x1b[4;31;44m\x1b[2Kx");
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[1].style.bg, runs[1].style.underline), (Color::Indexed(4), Underline::None));
    assert_eq!(runs[1].text.len(), 39);
}

#[test]
fn rows_that_scroll_in_take_the_background() {
    let mut term = Term::new(TermSize::clamped(3, 4), TermConfig::default());
    term.process(b"\x1b[3;1H\x1b[42m\n");
    assert_eq!(rows(&term)[2].runs[0].style.bg, Color::Indexed(2));
    term.process(b"\x1b[1;1H\x1b[43m\x1b[L\x1b[2;1Hab\x1b[2;1H\x1b[P");
    assert_eq!(rows(&term)[0].runs[0].style.bg, Color::Indexed(3));
    assert_eq!(rows(&term)[1].runs.last().unwrap().style.bg, Color::Indexed(3));
}

#[test]
fn the_recorded_style_sheet_reads_back() {
    let term = fixtures::named("sgr").play(7, |_| {});
    let all: Vec<Run> = rows(&term).into_iter().flat_map(|row| row.runs).collect();
    let has = |what: &str, is: &dyn Fn(&Run) -> bool| assert!(all.iter().any(is), "no run is {what}");
    has("struck out", &|run| run.style.attrs.contains(Attrs::STRIKE));
    has("curly", &|run| run.style.underline == Underline::Curly);
    has("overlined", &|run| run.style.attrs.contains(Attrs::OVERLINE));
    has("linked", &|run| run.link.is_some());
    has("coloured underneath", &|run| run.style.underline_color != Color::Default);
}

#[test]
fn more_styles_than_there_are_numbers_do_not_break_the_newest() {
    let mut term = Term::new(TermSize::clamped(4, 40), TermConfig::default());
    for n in 0..30_000u32 {
        let [_, red, green, blue] = n.to_be_bytes();
        term.process(format!("\r\x1b[4:3;58;2;{red};{green};{blue}mx").as_bytes());
    }
    let style = rows(&term)[0].runs[0].style;
    assert_eq!(style.underline_color, Color::Rgb(0, 0x75, 0x2f));
    for n in 0..10_000u32 {
        term.process(format!("\r\x1b]8;;https://a.b/{n}\x1b\\y").as_bytes());
    }
    assert_eq!(rows(&term)[0].link_at(0).unwrap().uri, "https://a.b/9999");
}

#[test]
fn reverse_video_exchanges_the_colours_of_the_whole_screen_until_it_ends() {
    let mut term = Term::new(TermSize::clamped(2, 6), TermConfig::default());
    term.process(b"a\x1b[31mb\x1b[7mc\x1b[m\x1b[44m\x1b[X\x1b[m");
    let before = [term.encoded_row(0), term.encoded_row(1)];
    let generation = term.generation();
    term.process(b"\x1b[?5h");
    assert!(term.is_touched_since(1, generation), "each row is drawn anew");
    let inverse = |fg, bg| Style { fg, bg, attrs: Attrs::INVERSE, ..Style::default() };
    let (red, blue, default) = (Color::Indexed(1), Color::Indexed(4), Color::Default);
    let looks: Vec<(String, Style)> = row::decode(&term.encoded_row(0))
        .unwrap()
        .runs
        .iter()
        .map(|run| (run.text.clone(), run.style))
        .collect();
    let expected = [
        ("a", inverse(default, default)),
        ("b", inverse(default, red)),
        ("c", Style { bg: red, ..Style::default() }),
        (" ", inverse(blue, default)),
        ("  ", inverse(default, default)),
    ];
    assert_eq!(looks, expected.map(|(text, style)| (text.to_owned(), style)));
    assert_eq!(row::decode(&term.encoded_row(1)).unwrap().width(), 6, "blanks too");
    assert_eq!(term.screen_text(), ["abc", ""]);
    term.process(b"\x1b[?5l");
    assert_eq!([term.encoded_row(0), term.encoded_row(1)], before);
}

#[test]
fn encoding_a_decoded_row_gives_the_same_bytes() {
    let term = fixtures::named("opencode-stream").play(4096, |_| {});
    for number in 0..term.size().n_rows() {
        let bytes = term.encoded_row(number);
        assert_eq!(row::encode(&row::decode(&bytes).unwrap()), bytes);
    }
}

#[test]
fn text_behind_half_a_character_is_shown_at_once() {
    for (output, shown) in [
        (&b"caf\xe9\r\nau lait"[..], ["caf□", "au lait"]),
        (b"\xe6\x97\r\nnext", ["□", "next"]),
        (b"\xf0\x9f\x91 x\r\ny", ["□ x", "y"]),
    ] {
        let mut term = Term::new(TermSize::clamped(2, 20), TermConfig::default());
        term.process(output);
        assert_eq!(term.screen_text(), shown, "{output:?}");
    }
}
