//! Properties that hold for any stream, hostile ones included.

use super::fixtures;
use orca::base::grid::Row;
use orca::base::size::TermSize;
use orca::pty::event::TermEvent;
use orca::pty::row;
use orca::pty::snapshot::{PaneImage, PaneRows, Patch};
use orca::pty::term::{Term, TermConfig};
use proptest::prelude::*;

fn config(n_cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n_cases,
        failure_persistence: None,
        max_global_rejects: 20_000,
        ..ProptestConfig::default()
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "abc",
        "hello world ",
        "日本",
        "e\u{301}",
        "👍🏽",
        "👨\u{200d}👩\u{200d}👧",
        "❤\u{fe0f}",
        "🇯🇵",
        "\u{200d}",
        "\u{fe0f}",
        "\r\n",
        "\n",
        "\r",
        "\t",
        "\x08",
        "x",
        "\u{301}",
        "한",
        "\u{1160}",
        "\x0e",
        "\x0f",
        "wide日end",
        "♂",
        "a long line of text that wraps",
        "\u{e0100}",
        "\u{3e000}",
        "\u{fffd}",
        "\x07",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..40, 1 => Just(65_535), 1 => Just(999), 1 => Just(2_147_483_647)]
}

fn control() -> impl Strategy<Value = Vec<u8>> {
    let finals = prop::sample::select(b"ABCDEFGHIJKLMPSTXZ@abdefghijklmnqrstu`".to_vec());
    let private = prop_oneof![5 => Just(""), 1 => prop::sample::select(vec!["?", ">", "<", "="])];
    (private, prop::collection::vec((number(), any::<bool>()), 0..4), finals).prop_map(
        |(private, params, last)| {
            let mut out = format!("\x1b[{private}");
            for (i, (number, has_colon)) in params.iter().enumerate() {
                let separator = if i == 0 {
                    ""
                } else if *has_colon {
                    ":"
                } else {
                    ";"
                };
                out.push_str(&format!("{separator}{number}"));
            }
            let mut out = out.into_bytes();
            out.push(last);
            out
        },
    )
}

fn special() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1bc",
        "\x1bH",
        "\x1b#8",
        "\x1b(0",
        "\x1b(B",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[!p",
        "\x1b[1;3r",
        "\x1b]0;t\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]8;;\x1b\\",
        "\x1b]10;?\x07",
        "\x1bP$qm\x1b\\",
        "\x1b_G\x1b\\",
        "\x1b[9m",
        "\x1b[4:3m",
        "\x1b[58;5;3m",
        "\x1b[1;2m",
        "\x1b[44m",
        "\x1b[m",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[?6h",
        "\x1b[?6l",
        "\x1b[3",
        "\x1b]0;cut",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?47h",
        "\x1b[?47l",
        "\x1b[?1047h",
        "\x1b[?1047l",
        "\x1b[?1048h",
        "\x1b[?1048l",
        "\x1b[?2026h",
        "\x1b[?25l",
        "\x1b[?1003h",
        "\x1b[>5u",
        "\x1b[3\n1m",
        "\x1b[2J",
        "\x1b[H",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

/// Grammatical output, and a little garbage.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let garbage = prop::collection::vec(any::<u8>(), 0..6);
    let token = prop_oneof![6 => text(), 6 => control(), 6 => special(), 1 => garbage];
    prop::collection::vec(token, 0..25).prop_map(|tokens| tokens.concat())
}

/// Emoji and other text in lines, with the looks and edges that matter to them.
fn emoji_lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "👍🏽",
        "👍",
        "🏽",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        "🏳\u{fe0f}\u{200d}🌈",
        "❤\u{fe0f}\u{200d}🔥",
        "❤\u{fe0f}",
        "❤",
        "☝🏽",
        "☝\u{fe0f}",
        "🤷🏽\u{200d}♂\u{fe0f}",
        "🇰🇷",
        "🇯",
        "🇵🇰",
        "1\u{fe0f}\u{20e3}",
        "→\u{fe0f}",
        "⏰\u{fe0f}",
        "\u{200d}",
        "本\u{200d}\u{e0100}",
        "👩\u{200d}\u{fffd}",
        "\u{3e000}\u{fe0f}",
        "\u{fe0f}",
        "\u{fe0f}\u{fe0f}\u{200d}👩",
        "\u{301}",
        "日本",
        "a",
        "words and ",
        "\r\n",
        "\n",
        "\r",
        "\t",
        "\x08",
        "\x1b[9m",
        "\x1b[m",
        "\x1b[44m",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b(0",
        "\x1b(B",
        "\x1b[2b",
        "\x1b[3C",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

/// What the followed part of streams is made of: movement and erasing near by, and text.
fn calm() -> impl Strategy<Value = Vec<u8>> {
    let finals = prop::sample::select(b"ABCDGHJKPX@`adfm".to_vec());
    let control = (0u32..12, prop::option::of(0u32..30), finals).prop_map(|(first, second, last)| {
        let second = second.map_or(String::new(), |second| format!(";{second}"));
        format!("\x1b[{first}{second}{}", char::from(last)).into_bytes()
    });
    prop_oneof![1 => text(), 1 => control]
}

fn size() -> impl Strategy<Value = TermSize> {
    (2u16..30, 2u16..60).prop_map(|(n_rows, n_cols)| TermSize::clamped(n_rows, n_cols))
}

fn rows(term: &Term) -> Vec<Row> {
    (0..term.size().n_rows()).map(|number| row::decode(&term.encoded_row(number)).unwrap()).collect()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn no_stream_and_no_resize_makes_the_parser_fail(
        first in size(),
        steps in prop::collection::vec((output(), prop::option::weighted(0.3, size())), 1..8),
    ) {
        let mut term = Term::new(first, TermConfig::default());
        for (output, resize) in steps {
            term.process(&output);
            if let Some(size) = resize {
                term.resize(size);
                prop_assert_eq!(term.size(), size);
            }
            prop_assert!(!term.take_events().contains(&TermEvent::ScreenLost));
            let cursor = term.cursor();
            prop_assert!(cursor.row < term.size().n_rows() && cursor.col < term.size().n_cols());
            for row in rows(&term) {
                prop_assert!(row.width() <= usize::from(term.size().n_cols()));
            }
        }
    }

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_screen(size in size(), output in output(), n_bytes in 1usize..5) {
        let (mut whole, mut cut) = (Term::new(size, TermConfig::default()), Term::new(size, TermConfig::default()));
        whole.process(&output);
        output.chunks(n_bytes).for_each(|piece| cut.process(piece));
        prop_assert_eq!(rows(&whole), rows(&cut));
        prop_assert_eq!((whole.cursor(), whole.modes(), whole.take_replies()), (cut.cursor(), cut.modes(), cut.take_replies()));
    }

    #[test]
    fn emoji_come_out_the_same_at_once_and_byte_by_byte(
        n_cols in 2u16..14,
        lines in emoji_lines(),
        n_bytes in 1usize..9,
    ) {
        let size = TermSize::clamped(3, n_cols);
        let (mut whole, mut cut) = (Term::new(size, TermConfig::default()), Term::new(size, TermConfig::default()));
        whole.process(&lines);
        lines.chunks(n_bytes).for_each(|piece| cut.process(piece));
        prop_assert_eq!(rows(&whole), rows(&cut));
        prop_assert_eq!(whole.cursor(), cut.cursor());
        prop_assert_eq!(whole.text_lines(0, 999), cut.text_lines(0, 999));
        for number in whole.history().numbers() {
            prop_assert_eq!(whole.history().runs(number), cut.history().runs(number));
        }
    }

    #[test]
    fn a_client_that_skips_versions_shows_what_the_server_shows(
        first in size(),
        steps in prop::collection::vec((output(), prop::option::weighted(0.2, size()), any::<bool>()), 1..8),
    ) {
        let mut term = Term::new(first, TermConfig::default());
        let (mut server, mut client) = (PaneRows::new(), PaneImage::new());
        for (output, resize, is_read) in steps {
            term.process(&output);
            resize.into_iter().for_each(|size| term.resize(size));
            server.update(&term);
            if is_read {
                let patch = Patch::decode(&server.newer_than(client.version()).encode()).unwrap();
                client.apply(&patch).unwrap();
                prop_assert_eq!(client.rows(), rows(&term));
                prop_assert_eq!(client.meta().cursor, term.cursor());
            }
        }
    }

    #[test]
    fn rows_that_are_not_encoded_again_have_not_changed(
        size in size(),
        tokens in prop::collection::vec(prop_oneof![12 => calm(), 1 => control(), 2 => special()], 0..80),
        n_joined in 1usize..4,
    ) {
        let (mut term, mut server) = (Term::new(size, TermConfig::default()), PaneRows::new());
        for tokens in tokens.chunks(n_joined) {
            term.process(&tokens.concat());
            server.update(&term);
            prop_assert_eq!(encoded(&server), whole(&term), "{:?}", tokens);
        }
    }

    #[test]
    fn a_keyframe_restores_screen_cursor_modes_and_title(size in size(), outputs in prop::collection::vec(output(), 1..4)) {
        let mut term = Term::new(size, TermConfig::default());
        outputs.iter().for_each(|output| term.process(output));
        // Cells that a cursor movement put side by side may join when they are printed in order.
        prop_assume!(!term.screen_text().iter().any(|row| row.contains(['\u{200d}', '🇯', '🇵', '🏽'])));
        let before = (rows(&term), term.cursor(), term.modes());
        let mut again = Term::new(size, TermConfig::default());
        again.restore(&term.keyframe());
        prop_assert_eq!(texts(&again), texts(&term));
        prop_assert_eq!(&(rows(&term), term.cursor(), term.modes()), &before, "making one changes nothing");
        prop_assert_eq!(styles(&again), styles(&term));
        prop_assert_eq!((again.cursor(), again.title()), (term.cursor(), term.title()));
        let used = |mut modes: orca::pty::modes::InputModes| { modes.has_used_extended_keys = false; modes };
        prop_assert_eq!(used(again.modes()), used(term.modes()));
        again.process(b"x\x1b[4Cy");
        term.process(b"x\x1b[4Cy");
        prop_assert_eq!(texts(&again), texts(&term), "it goes on where the other stood");
    }
}

fn encoded(rows: &PaneRows) -> Vec<Vec<u8>> {
    rows.newer_than(0).rows.iter().map(|(_, bytes)| bytes.to_vec()).collect()
}

fn whole(term: &Term) -> Vec<Vec<u8>> {
    (0..term.size().n_rows()).map(|row| term.encoded_row(row)).collect()
}

fn texts(term: &Term) -> Vec<String> {
    term.screen_text()
}

/// Rows without their wrap flags: a flag whose row was erased since is not restored.
fn styles(term: &Term) -> Vec<Row> {
    rows(term)
        .into_iter()
        .map(|row| row::decode(&row::encode(&Row { is_wrapped: false, ..row })).unwrap())
        .collect()
}

#[test]
fn keyframes_of_every_recording_restore_it() {
    for recording in fixtures::all() {
        let mut term = recording.play(4096, |_| {});
        let mut again = Term::new(term.size(), TermConfig::default());
        again.restore(&term.keyframe());
        assert_eq!(rows(&again), rows(&term), "{}", recording.name);
        assert_eq!((again.cursor(), again.modes()), (term.cursor(), term.modes()), "{}", recording.name);
        assert_eq!(again.title(), term.title(), "{}", recording.name);
    }
}

#[test]
fn a_client_follows_every_recording() {
    for recording in fixtures::all() {
        let (mut server, mut client) = (PaneRows::new(), PaneImage::new());
        let term = recording.play(997, |term| {
            server.update(term);
            client.apply(&server.newer_than(client.version())).unwrap();
        });
        assert_eq!(client.rows(), rows(&term), "{}", recording.name);
        assert_eq!(client.meta().cursor, term.cursor(), "{}", recording.name);
    }
}

#[test]
fn rows_of_recordings_that_are_not_encoded_again_have_not_changed() {
    for recording in fixtures::all() {
        let mut server = PaneRows::new();
        let bytes = &recording.bytes[..recording.bytes.len().min(20_000)];
        let mut term = recording.term();
        for piece in bytes.chunks(211) {
            term.process(piece);
            server.update(&term);
            assert_eq!(encoded(&server), whole(&term), "{}", recording.name);
        }
    }
}

#[test]
fn a_typed_character_touches_its_row_only() {
    let touched = |term: &Term, since| -> Vec<u16> {
        (0..term.size().n_rows()).filter(|row| term.is_touched_since(*row, since)).collect()
    };
    let mut term = Term::new(TermSize::clamped(5, 20), TermConfig::default());
    let mut check = |output: &str, expected: &[u16]| {
        let since = term.generation();
        term.process(output.as_bytes());
        assert_eq!(touched(&term, since), expected, "{output:?}");
    };
    check("\x1b[5;1H$ ", &[4]);
    check("x", &[4]);
    check("\x08\x1b[K\r\x1b[32m$\x1b[m ", &[4]);
    check("\r\n", &[0, 1, 2, 3, 4]);
    check("\x1b[2;3Htop\r\nnext", &[1, 2]);
    check("\x1b[2A\x1b[2K", &[0]);
    check("\x1b[4;1H0123456789012345678901", &[3, 4]);
    check("\x1b[?25l\x1b[1;31m\x1b[?25h", &[]);
    check("\x1b[4;1H\x1b[J", &[3, 4]);
    check("\x1b[2;4r", &[0, 1, 2, 3, 4]);
}

#[test]
fn a_flood_of_lines_gives_the_screen_and_the_history_of_the_same_lines_one_by_one() {
    let line = |n: usize| match n % 97 {
        96 => format!("{n} is 日本\r\n"),
        20..30 => {
            format!("{n} is too long for the width {} of this terminal\r\n", "of a row ".repeat(n % 11))
        }
        30..34 => {
            format!(
                "{n} is \x1b[1;32mtoo \x1b[38;2;9;9;{n}mlong{}\x1b[4m for it\x1b[m\r\n",
                "w ".repeat(n * 2)
            )
        }
        34 => format!("{}\r\n", "e".repeat(80)),
        35 => format!("{}{}\r\n", "e".repeat(40), " ".repeat(50)),
        36 => format!("\x1b[33m{}\x1b[m\r\n", "e".repeat(40)),
        37 => format!("{}\r\n", "many rows ".repeat(50)),
        60 => format!("{n} ends without a return\n"),
        55 => format!("{n} \x1b[9mstruck\x1b[m\r\n"),
        10..20 => {
            format!("\x1b[1;31m{n}\x1b[0m \x1b[48;5;20m{}\x1b[m\x1b[7m  \x1b[m  \r\n", "y".repeat(n % 9))
        }
        50 => String::from("\r\n"),
        40..45 => format!("{n} of a file with returns\r\r\n"),
        _ => format!("{n} {}\r\n", "x".repeat(n % 30)),
    };
    for (before, period) in [
        ("", 97),
        ("", 50),
        ("\x1b[3;5Hfirst", 50),
        ("\x1b[31mred\x1b[m and \x1b[7mmore\x1b[m\r\n\x1b[9;1H", 50),
        ("\x1b[2;6r", 50),
        ("\x1b[9m", 50),
        ("\x1b[4h", 50),
        ("日本", 50),
        ("\x1b[35m\x1b[m", 97),
        ("\x1b[44m", 50),
        ("\x1b[1m", 50),
        ("\x1b[?1049h", 50),
        ("wraps wraps wraps wraps wraps wraps wraps wraps wraps wraps", 50),
    ] {
        let flood: String = (0..3_000).map(|n| line(n % period)).collect();
        let config = TermConfig::default();
        let mut whole = Term::new(TermSize::clamped(9, 40), config.clone());
        let mut pieces = Term::new(TermSize::clamped(9, 40), config);
        for term in [&mut whole, &mut pieces] {
            term.process(before.as_bytes());
        }
        whole.process(flood.as_bytes());
        flood.as_bytes().chunks(1_000).for_each(|piece| pieces.process(piece));
        let after = ["", "end\x1b[3b", "\x1b[32m\r\nmore\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"];
        assert_same([whole, pieces], &after, before);
    }
}

/// Both show and keep the same, now and behind each piece of what comes after.
fn assert_same(mut terms: [Term; 2], after: &[&str], before: &str) {
    for piece in after {
        terms.iter_mut().for_each(|term| term.process(piece.as_bytes()));
        let [one, other] = &terms;
        assert_eq!(rows(one), rows(other), "{before:?}");
        assert_eq!(one.cursor(), other.cursor(), "{before:?}");
        assert_eq!(one.history().numbers(), other.history().numbers(), "{before:?}");
        for number in one.history().numbers() {
            assert_eq!(one.history().runs(number), other.history().runs(number), "{before:?} {number}");
        }
    }
}

#[test]
fn screens_drawn_one_over_the_other_give_the_last_one() {
    let row = |n: usize, row: usize| match (n + row) % 23 {
        1 => format!("\x1b[{row}H\x1b[K"),
        2 => format!("\x1b[{row};1H\x1b[44m{n}\x1b[K\x1b[m"),
        3 => format!("\x1b[{row};1H\x1b[K\x1b[1m{n} erased first\x1b[m"),
        4 => format!("\x1b[?25l\x1b[{row};1H{n} without a cursor\x1b[K\x1b[?25h"),
        5 => format!("\x1b[{row};1H{n} has more below\x1b[K\r\n{n} here\x1b[K"),
        6 if n.is_multiple_of(5) => format!("\x1b[{row};1H{n} leaves the rest alone"),
        7 if n.is_multiple_of(7) => format!("\x1b[{row};1Hwide 日本 {n}\x1b[K"),
        8 if n.is_multiple_of(11) => format!("\x1b[{row};3H{n}\x1b[K"),
        9 if n.is_multiple_of(13) => format!("\x1b[{row};1H{}\x1b[K", "to the edge and over it ".repeat(2)),
        10 if n.is_multiple_of(9) => format!("\x1b[{row};1H\x1b[41mstays red {n}\x1b[K"),
        _ => format!("\x1b[{row};1H\x1b[38;5;{}m{n} in row {row}\x1b[m\x1b[K", n % 200),
    };
    for (before, n_screens) in [
        ("", 300),
        ("\x1b[?1049h", 311),
        ("wraps wraps wraps wraps wraps wraps wraps wraps wraps wraps", 307),
        ("\x1b[2;6r\x1b[?6h", 300),
        ("\x1b[4h", 300),
        ("\x1b[9m", 300),
        ("\x1b[?69h\x1b[3;20s", 300),
    ] {
        let drawn: String = (0..n_screens).flat_map(|n| (1..10).map(move |at| row(n, at))).collect();
        let mut whole = Term::new(TermSize::clamped(9, 40), TermConfig::default());
        let mut pieces = Term::new(TermSize::clamped(9, 40), TermConfig::default());
        for term in [&mut whole, &mut pieces] {
            term.process(before.as_bytes());
        }
        drawn.as_bytes().chunks(70_001).for_each(|piece| whole.process(piece));
        drawn.as_bytes().chunks(1_000).for_each(|piece| pieces.process(piece));
        let after = ["", "\x1b[3b", "\r\n\r\n\r\n\x1b[20;1H\r\nend"];
        assert_same([whole, pieces], &after, before);
    }
}

/// A flood may begin with the cursor in the bottom row and lead away from it.
#[test]
fn nothing_of_the_bottom_row_is_left_by_a_flood_whose_first_line_begins_above_it() {
    let flood = format!("\x1b[2;1Hfirst {}", "line of text\r\n".repeat(2_000));
    let [mut whole, mut pieces] =
        [(); 2].map(|()| Term::new(TermSize::clamped(3, 30), TermConfig::default()));
    for term in [&mut whole, &mut pieces] {
        term.process(b"\r\n\r\nwhat stood in the bottom row");
    }
    whole.process(flood.as_bytes());
    flood.as_bytes().chunks(1_000).for_each(|piece| pieces.process(piece));
    assert_eq!(whole.screen_text(), ["line of text", "line of text", ""]);
    assert_eq!(whole.screen_text(), pieces.screen_text());
}
