//! Rectangles, columns and protected characters, by the rules of the VT420.

use super::sequences::check;
use orca::base::grid::{Attrs, Color};
use orca::base::size::TermSize;
use orca::pty::row;
use orca::pty::term::{Term, TermConfig};

/// Four rows of letters on six of ten columns, the cursor in the middle.
const FULL: &str = "abcdefgh\r\nijklmnop\r\nqrstuvwx\r\nyz012345\x1b[3;4H";

fn on_full(output: &str, rows: &str) {
    check(&format!("{FULL}{output}"), rows, (3, 4));
}

#[test]
fn areas_are_filled_and_erased() {
    on_full("\x1b[37;2;2;3;4$x", "abcdefgh/i%%%mnop/q%%%uvwx/yz012345");
    on_full("\x1b[37;3;7;99;99$x", "abcdefgh/ijklmnop/qrstuv%%%%/yz0123%%%%/      %%%%/      %%%%");
    on_full("\x1b[37;3;3;2;2$x", "abcdefgh/ijklmnop/qrstuvwx/yz012345");
    on_full("\x1b[37;9;9$x", "abcdefgh/ijklmnop/qrstuvwx/yz012345");
    on_full("\x1b[7;2;2;3;4$x", "abcdefgh/ijklmnop/qrstuvwx/yz012345");
    on_full("\x1b[4h\x1b[37;1;1;1;2$x\x1b[4l", "%%cdefgh/ijklmnop/qrstuvwx/yz012345");
    on_full("\x1b[2;2;3;4$z", "abcdefgh/i   mnop/q   uvwx/yz012345");
    on_full("\x1b[$z", "");
    check("日本語\x1b[42;1;2;1;3$x", " ** 語", (1, 7));
    // Margins are no matter, but in origin mode positions count from them.
    check(
        &format!("{FULL}\x1b[2;3r\x1b[37;2;2;9;4$x"),
        "abcdefgh/i%%%mnop/q%%%uvwx/y%%%2345/ %%%/ %%%",
        (1, 1),
    );
    check(
        &format!("{FULL}\x1b[2;3r\x1b[?6h\x1b[37;2;2;9;4$x"),
        "abcdefgh/ijklmnop/q%%%uvwx/yz012345",
        (2, 1),
    );
    // What waits behind a full row goes on waiting, and is not what REP repeats.
    check("012345678a\x1b[37;2;1;2;1$xb\x1b[37;3;1;3;1$x\x1b[b", "012345678a/bb/%", (2, 3));
}

#[test]
fn areas_are_copied() {
    on_full("\x1b[2;2;3;4;1;3;5;1$v", "abcdefgh/ijklmnop/qrstjklx/yz01rst5");
    on_full("\x1b[1;1;3;3;1;2;2;1$v", "abcdefgh/iabcmnop/qijkuvwx/yqrs2345");
    on_full("\x1b[;;2;2;1;6;9;1$v", "abcdefgh/ijklmnop/qrstuvwx/yz012345//        ab");
    on_full("\x1b[2;2;3;3$v", "jkcdefgh/rslmnop/qrstuvwx/yz012345".replace("rslmnop", "rsklmnop").as_str());
    on_full("\x1b[3;3;2;2;1;1;1$v", "abcdefgh/ijklmnop/qrstuvwx/yz012345");
    on_full("\x1b[1;1;1;2;1;9;9$v", "abcdefgh/ijklmnop/qrstuvwx/yz012345");
    check("日本語\x1b[1;2;1;5;1;2;1$v", "日本語/ 本", (1, 7));
    check("👍🏽x\x1b[1;1;1;3;1;2;2$v", "👍🏽x/ 👍🏽x", (1, 4));
}

#[test]
fn looks_are_copied_with_the_cells_and_filled_areas_take_the_current_one() {
    let mut term = Term::new(TermSize::clamped(3, 4), TermConfig::default());
    term.process(b"\x1b[9;31ma\x1b[m\x1b[1;1;1;1;1;2;2$v\x1b[42m\x1b[35;3;1;3;2$xb");
    let looks = |number| {
        let row = row::decode(&term.encoded_row(number)).unwrap();
        row.runs
            .iter()
            .map(|run| (run.text.clone(), run.style.fg, run.style.bg, run.style.attrs))
            .collect::<Vec<_>>()
    };
    let red = (String::from("a"), Color::Indexed(1), Color::Default, Attrs::STRIKE);
    let on_green = |text: &str| (String::from(text), Color::Default, Color::Indexed(2), Attrs::NONE);
    assert_eq!(looks(0), [red.clone(), on_green("b")]);
    assert_eq!(looks(1).last(), Some(&red));
    assert_eq!(looks(2)[0], on_green("##"));
}

#[test]
fn columns_come_and_go_inside_the_region() {
    on_full("\x1b['}", "abc defgh/ijk lmnop/qrs tuvwx/yz0 12345");
    on_full("\x1b[2'~", "abcfgh/ijknop/qrsvwx/yz0345");
    let moved = |output: &str, rows: &str, cursor| check(&format!("{FULL}{output}"), rows, cursor);
    moved("\x1b[2;3r\x1b[2;1H\x1b[2'}", "abcdefgh/  ijklmnop/  qrstuvwx/yz012345", (2, 1));
    moved("\x1b[2;3r\x1b['}", "abcdefgh/ijklmnop/qrstuvwx/yz012345", (1, 1));
    moved("\x1b9", "abcdefgh/ijklmnop/qrstuvwx/yz012345", (3, 5));
    moved("\x1b[3;10H\x1b9", "bcdefgh/jklmnop/rstuvwx/z012345", (3, 10));
    moved("\x1b6", "abcdefgh/ijklmnop/qrstuvwx/yz012345", (3, 3));
    moved("\x1b[3;1H\x1b6", " abcdefgh/ ijklmnop/ qrstuvwx/ yz012345", (3, 1));
}

#[test]
fn protected_characters_survive_selective_erasing_only() {
    let mixed = "\x1b[1\"qab\x1b[0\"qcd\x1b[m\x1b[1\"q日\x1b[2\"qe\r\nfg\x1b[1;4H";
    let after = |output: &str, rows: &str| check(&format!("{mixed}{output}"), rows, (1, 4));
    after("\x1b[?2K", "ab  日/fg");
    after("\x1b[?K", "abc 日/fg");
    after("\x1b[?1K", "ab  日e/fg");
    after("\x1b[?J", "abc 日");
    after("\x1b[?1J", "ab  日e/fg");
    after("\x1b[?2J", "ab  日");
    after("\x1b[?3J", "abcd日e/fg");
    after("\x1b[1;2;2;3${", "ab d日e/f");
    after("\x1b[2K", "/fg");
    after("\x1b[2J", "");
    after("\x1b[1;1;1;2$z", "  cd日e/fg");
    check("ab\x1b[?2J", "", (1, 3));
    check("\x1b[1\"q\x1b[!pab\x1b[?2J", "", (1, 3));
    check("\x1b[1\"q\x1b7\x1b[\"q\x1b8ab\x1b[?2J", "ab", (1, 3));
    check("\x1b[1\"q012345678a\x1b[?2Kb", "012345678a/b", (2, 2));
}

#[test]
fn a_guarded_area_survives_all_erasing_but_that_of_rectangles() {
    let guarded =
        |output: &str, rows: &str, cursor| check(&format!("ab\x1bVcd\x1bWef\x1b[1;2H{output}"), rows, cursor);
    guarded("\x1b[J", "a cd", (1, 2));
    guarded("\x1b[1J", "  cdef", (1, 2));
    guarded("\x1b[2J", "  cd", (1, 2));
    guarded("\x1b[K", "a cd", (1, 2));
    guarded("\x1b[2K", "  cd", (1, 2));
    guarded("\x1b[4X", "a cd f", (1, 2));
    guarded("\x1b[X", "a cdef", (1, 2));
    guarded("\x1b[?2J", "  cd", (1, 2));
    guarded("\x1b[1;1;1;3${", "   def", (1, 2));
    guarded("\x1b[1;1;1;3$z", "   def", (1, 2));
    guarded("\x1b[P", "acdef", (1, 2));
    // The protection of DECSCA takes its place, and resets end both.
    guarded("\x1b[\"q\x1b[K", "a", (1, 2));
    guarded("\x1b[!p\x1b[K", "a", (1, 2));
    check("\x1bV\x1b[!pab\r\x1b[K", "", (1, 1));
    check("\x1bVab\r\x1b[44m\x1b[2K\x1b[3X", "ab", (1, 1));
    check("\x1bV0123456789\x1b[2Kb", "0123456789/b", (2, 2));
}

#[test]
fn the_sum_of_an_area_is_told() {
    let told = |output: &str| {
        let mut term = Term::new(TermSize::clamped(6, 10), TermConfig::default());
        term.process(output.as_bytes());
        String::from_utf8(term.take_replies()).unwrap()
    };
    assert_eq!(told("ab\x1b[7;1;1;1;1;1*y"), "\x1bP7!~FF9F\x1b\\");
    assert_eq!(told("ab\x1b[1#y\x1b[7;1;1;1;1;2*y"), "\x1bP7!~00C3\x1b\\");
    assert_eq!(told("ab\x1b[1#y\x1b[7;1;1;3;1;3*y"), "\x1bP7!~0020\x1b\\", "a blank counts as a space");
    assert_eq!(told("\x1b[1#y\x1b[9m日\x1b[1;1;1;1;1;2*y"), "\x1bP1!~65E5\x1b\\");
    assert_eq!(told("\x1b[1#y\x1b[2;3r\x1b[?6hx\x1b[1;1;1;1;1;1*y"), "\x1bP1!~0078\x1b\\");
    assert_eq!(told("\x1b[1;1;9;9;1;1*y"), "\x1bP1!~0000\x1b\\");
    assert_eq!(told("\x1b[1\"q\x1bP$q\"q\x1b\\"), "\x1bP1$r1\"q\x1b\\");
}

#[test]
fn the_saved_look_belongs_to_its_screen() {
    let mut term = Term::new(TermSize::clamped(3, 4), TermConfig::default());
    term.process(
        b"\x1b[31m\x1b7\x1b[?47h\x1b[32m\x1b7\x1b[m\x1b[?47l\x1b8\x1bP$qm\x1b\\\x1b[?47h\x1b8\x1bP$qm\x1b\\",
    );
    assert_eq!(term.take_replies(), b"\x1bP1$r0;31m\x1b\\\x1bP1$r0;32m\x1b\\");
}
