//! What each control sequence does to the screen and the cursor, by the areas that public suites test
//! (`terminal.md` 2.2): cursor, editing, scrolling, tabs, repetition, modes, resets, screens.
//!
//! The rules are those of xterm's control sequence documentation. Every case runs whole and byte by byte.

use orca::base::size::TermSize;
use orca::pty::term::{Term, TermConfig};

/// Runs `output` on six rows of ten columns. `rows` are the rows from the top, blanks cut, separated by
/// `/`; those left out are empty. The cursor is counted from 1.
pub fn check(output: &str, rows: &str, cursor: (u16, u16)) {
    for n_bytes in [output.len(), 1] {
        let mut term = Term::new(TermSize::clamped(6, 10), TermConfig::default());
        output.as_bytes().chunks(n_bytes).for_each(|piece| term.process(piece));
        let mut expected: Vec<&str> = rows.split('/').collect();
        expected.resize(6, "");
        let at = (term.cursor().row + 1, term.cursor().col + 1);
        assert_eq!((term.screen_text(), at), (owned(&expected), cursor), "{}", output.escape_debug());
    }
}

fn owned(rows: &[&str]) -> Vec<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

/// Six rows of letters, the cursor at home.
const FULL: &str = "aaaa\r\nbbbb\r\ncccc\r\ndddd\r\neeee\r\nffff\x1b[H";

fn on_full(output: &str, rows: &str, cursor: (u16, u16)) {
    check(&format!("{FULL}{output}"), rows, cursor);
}

#[test]
fn the_cursor_moves_and_stops_at_edges_and_margins() {
    for (output, cursor) in [
        ("\x1b[3;4H", (3, 4)),
        ("\x1b[3;4f", (3, 4)),
        ("\x1b[0;0H", (1, 1)),
        ("\x1b[99;99H", (6, 10)),
        ("\x1b[3H", (3, 1)),
        ("\x1b[;4H", (1, 4)),
        ("\x1b[3;4H\x1b[A", (2, 4)),
        ("\x1b[3;4H\x1b[0A", (2, 4)),
        ("\x1b[3;4H\x1b[99A", (1, 4)),
        ("\x1b[3;4H\x1b[2B", (5, 4)),
        ("\x1b[3;4H\x1b[99B", (6, 4)),
        ("\x1b[3;4H\x1b[C", (3, 5)),
        ("\x1b[3;4H\x1b[99C", (3, 10)),
        ("\x1b[3;4H\x1b[2D", (3, 2)),
        ("\x1b[3;4H\x1b[99D", (3, 1)),
        ("\x1b[3;4H\x1b[E", (4, 1)),
        ("\x1b[3;4H\x1b[99E", (6, 1)),
        ("\x1b[3;4H\x1b[F", (2, 1)),
        ("\x1b[3;4H\x1b[99F", (1, 1)),
        ("\x1b[3;4H\x1b[7G", (3, 7)),
        ("\x1b[3;4H\x1b[G", (3, 1)),
        ("\x1b[3;4H\x1b[99G", (3, 10)),
        ("\x1b[3;4H\x1b[7`", (3, 7)),
        ("\x1b[3;4H\x1b[2a", (3, 6)),
        ("\x1b[3;4H\x1b[99a", (3, 10)),
        ("\x1b[3;4H\x1b[2j", (3, 2)),
        ("\x1b[3;4H\x1b[k", (2, 4)),
        ("\x1b[3;4H\x1b[5d", (5, 4)),
        ("\x1b[3;4H\x1b[d", (1, 4)),
        ("\x1b[3;4H\x1b[99d", (6, 4)),
        ("\x1b[3;4H\x1b[2e", (5, 4)),
        ("\x1b[3;4H\x1b[99e", (6, 4)),
        ("\x1b[3;4H\x08\x08", (3, 2)),
        ("\x1b[3;1H\x08", (3, 1)),
        ("\x1b[3;4H\r", (3, 1)),
        ("\x1b[3;4H\n", (4, 4)),
        ("\x1b[3;4H\x0b", (4, 4)),
        ("\x1b[3;4H\x0c", (4, 4)),
        ("\x1b[3;4H\x1bD", (4, 4)),
        ("\x1b[3;4H\x1bE", (4, 1)),
        ("\x1b[3;4H\x1bM", (2, 4)),
        // Margins stop what starts inside them, or in front of them; not what starts behind.
        ("\x1b[2;4r\x1b[3;5H\x1b[99A", (2, 5)),
        ("\x1b[2;4r\x1b[5;5H\x1b[99A", (2, 5)),
        ("\x1b[3;4r\x1b[2;5H\x1b[99A", (1, 5)),
        ("\x1b[2;4r\x1b[3;5H\x1b[99B", (4, 5)),
        ("\x1b[2;4r\x1b[1;5H\x1b[99B", (4, 5)),
        ("\x1b[2;4r\x1b[5;5H\x1b[99B", (6, 5)),
        ("\x1b[2;4r\x1b[3;5H\x1b[99E", (4, 1)),
        ("\x1b[2;4r\x1b[3;5H\x1b[99F", (2, 1)),
        // The region moves the cursor home; one that is none changes nothing.
        ("\x1b[3;4H\x1b[2;4r", (1, 1)),
        ("\x1b[3;4H\x1b[4;4r", (3, 4)),
        ("\x1b[3;4H\x1b[5;2r", (3, 4)),
        ("\x1b[3;4H\x1b[r", (1, 1)),
        // In origin mode everything counts from the region and stays in it.
        ("\x1b[2;4r\x1b[?6h", (2, 1)),
        ("\x1b[2;4r\x1b[?6h\x1b[2;3H", (3, 3)),
        ("\x1b[2;4r\x1b[?6h\x1b[99;3H", (4, 3)),
        ("\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[3d", (4, 3)),
        ("\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[99d", (4, 3)),
        ("\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[9e", (4, 3)),
        ("\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[?6l", (1, 1)),
        ("\x1b[2;4r\x1b[?6h\x1b[3;5r", (3, 1)),
    ] {
        check(output, "", cursor);
    }
}

#[test]
fn a_full_row_waits_at_its_last_column() {
    check("0123456789", "0123456789", (1, 10));
    check("0123456789a", "0123456789/a", (2, 2));
    check("0123456789\ra", "a123456789", (1, 2));
    check("0123456789\x08a", "01234567a9", (1, 10));
    check("0123456789\x1b[Da", "01234567a9", (1, 10));
    check("0123456789\x1b[2Da", "0123456a89", (1, 9));
    // As in xterm, it waits in its own row and for what is not erased only; tmux goes on waiting.
    check("0123456789\na", "0123456789/         a", (2, 10));
    check("0123456789\x0ba", "0123456789/         a", (2, 10));
    check("0123456789\x1bDa", "0123456789/         a", (2, 10));
    check("\x1b[2H0123456789\x1bMa", "         a/0123456789", (1, 10));
    check("0123456789\x1b[Ka", "0123456789/a", (2, 2));
    check("0123456789\x1b[2Ka", "         a", (1, 10));
    check("0123456789\x1b[1Ja", "         a", (1, 10));
    check("0123456789\x1b[?2Ka", "         a", (1, 10));
    check("0123456789\x1b7\x1b[2K\x1b8a", "         a", (1, 10));
    check("0123456789\x1b[A*", "012345678*", (1, 10));
    check("0123456789\x1b[C*", "012345678*", (1, 10));
    check("0123456789\x1b[X", "012345678", (1, 10));
    check("0123456789\x1b[P", "012345678", (1, 10));
    check("0123456789\x1b[@", "012345678", (1, 10));
    check("0123456789\x1b7\x1b[H\x1b8*", "0123456789/*", (2, 2));
    check("\x1b[?7l0123456789ab", "012345678b", (1, 10));
    check("\x1b[?7l0123456789ab\x1b[?7hcd", "012345678b/cd", (2, 3));
    check("\x1b[?7l12345678日本", "12345678本", (1, 10));
    check("\x1b[1;10H日", "/日", (2, 3));
    check("\x1b[6;10Hab", "////         a/b", (6, 2));
}

#[test]
fn text_is_erased_inserted_and_deleted() {
    for (output, row, col) in [
        ("\x1b[4G\x1b[K", "012", 4),
        ("\x1b[4G\x1b[0K", "012", 4),
        ("\x1b[4G\x1b[1K", "    456789", 4),
        ("\x1b[4G\x1b[2K", "", 4),
        ("\x1b[4G\x1b[9K", "0123456789", 4),
        ("\x1b[4G\x1b[X", "012 456789", 4),
        ("\x1b[4G\x1b[3X", "012   6789", 4),
        ("\x1b[4G\x1b[99X", "012", 4),
        ("\x1b[4G\x1b[P", "012456789", 4),
        ("\x1b[4G\x1b[3P", "0126789", 4),
        ("\x1b[4G\x1b[99P", "012", 4),
        ("\x1b[4G\x1b[@", "012 345678", 4),
        ("\x1b[4G\x1b[3@", "012   3456", 4),
        ("\x1b[4G\x1b[99@", "012", 4),
        ("\x1b[4G\x1b[4hab\x1b[4lc", "012abc4567", 7),
    ] {
        check(&format!("0123456789\r{output}"), row, (1, col));
    }
    // A mark stands on the cell in front of it, whether something was written there or not.
    check("\t\u{301}x", "        \u{301}x", (1, 10));
    check("ab\x1b[2K\u{301}x", "  \u{301}x", (1, 4));
    check("\u{301}e\x1b[m\u{301}\x1b[1m\u{302}x", "e\u{301}\u{302}x", (1, 3));
    check("日\x1b[m\u{301}x", "日\u{301}x", (1, 4));
    // Half of a wide character does not survive its other half.
    check("日本語\x1b[2GX", " X本語", (1, 3));
    check("日本語\x1b[3GX", "日X 語", (1, 4));
    check("日本語\x1b[4G\x1b[P", "日 語", (1, 4));
    check("日本語\x1b[2G\x1b[K", "", (1, 2));
    check("日本語\x1b[2G\x1b[X", "  本語", (1, 2));
    on_full("\x1b[3;3H\x1b[J", "aaaa/bbbb/cc", (3, 3));
    on_full("\x1b[3;3H\x1b[1J", "//   c/dddd/eeee/ffff", (3, 3));
    on_full("\x1b[3;3H\x1b[2J", "", (3, 3));
    on_full("\x1b[3;3H\x1b[3J", "aaaa/bbbb/cccc/dddd/eeee/ffff", (3, 3));
    on_full("\x1b[2;4r\x1b[3;3H\x1b[J", "aaaa/bbbb/cc", (3, 3));
}

#[test]
fn lines_are_inserted_deleted_and_scrolled_inside_the_region() {
    check("\x1b[4;5r\x1b[H0123456789\x1b[2L!", "0123456789/!", (2, 2));
    check("\x1b[4;5r\x1b[H0123456789\x1b[2M!", "0123456789/!", (2, 2));
    on_full("\x1b[2H\x1b[L", "aaaa//bbbb/cccc/dddd/eeee", (2, 1));
    on_full("\x1b[2H\x1b[99L", "aaaa", (2, 1));
    on_full("\x1b[2H\x1b[M", "aaaa/cccc/dddd/eeee/ffff", (2, 1));
    on_full("\x1b[2H\x1b[99M", "aaaa", (2, 1));
    on_full("\x1b[2;4r\x1b[3H\x1b[L", "aaaa/bbbb//cccc/eeee/ffff", (3, 1));
    on_full("\x1b[2;4r\x1b[3H\x1b[M", "aaaa/bbbb/dddd//eeee/ffff", (3, 1));
    on_full("\x1b[2;4r\x1b[5H\x1b[L\x1b[M\x1b[1H\x1b[L\x1b[M", "aaaa/bbbb/cccc/dddd/eeee/ffff", (1, 1));
    on_full("\x1b[S", "bbbb/cccc/dddd/eeee/ffff", (1, 1));
    on_full("\x1b[2T", "//aaaa/bbbb/cccc/dddd", (1, 1));
    on_full("\x1b[99S", "", (1, 1));
    on_full("\x1b[2;4r\x1b[S", "aaaa/cccc/dddd//eeee/ffff", (1, 1));
    on_full("\x1b[2;4r\x1b[T", "aaaa//bbbb/cccc/eeee/ffff", (1, 1));
    on_full("\x1b[2;4r\x1b[99S", "aaaa////eeee/ffff", (1, 1));
    on_full("\x1b[2;4r\x1b[4H\n", "aaaa/cccc/dddd//eeee/ffff", (4, 1));
    on_full("\x1b[2;4r\x1b[4H\x1bD", "aaaa/cccc/dddd//eeee/ffff", (4, 1));
    on_full("\x1b[2;4r\x1b[4;3H\x1bE", "aaaa/cccc/dddd//eeee/ffff", (4, 1));
    on_full("\x1b[2;4r\x1b[2H\x1bM", "aaaa//bbbb/cccc/eeee/ffff", (2, 1));
    on_full("\x1b[2;4r\x1b[1H\x1bM", "aaaa/bbbb/cccc/dddd/eeee/ffff", (1, 1));
    on_full("\x1b[2;4r\x1b[6H\n", "aaaa/bbbb/cccc/dddd/eeee/ffff", (6, 1));
    on_full("\x1b[2;4r\x1b[4;9Hxyz", "aaaa/cccc/dddd    xy/z/eeee/ffff", (4, 2));
    on_full("\x1b[6H\n", "bbbb/cccc/dddd/eeee/ffff", (6, 1));
    on_full("\x1bM", "/aaaa/bbbb/cccc/dddd/eeee", (1, 1));
}

#[test]
fn tabs_stop_where_they_are_set() {
    check("\t*", "        *", (1, 10));
    check("\t\t*", "         *", (1, 10));
    check("\x1b[4G\x1bH\r\t*", "   *", (1, 5));
    check("\x1b[4G\x1bH\x1b[g\r\t*", "        *", (1, 10));
    check("\x1b[3g\t*", "         *", (1, 10));
    check("\x1b[4G\x1bH\r\x1b[2I*", "        *", (1, 10));
    check("\x1b[10G\x1b[Z*", "        *", (1, 10));
    check("\x1b[10G\x1b[2Z*", "*", (1, 2));
    check("\x1b[9G\x1b[Z*", "*", (1, 2));
    check("\x1b[4G\x1bH\x1bc\t*", "        *", (1, 10));
    check("\x1b[4G\x1bH\x1b[!p\r\t*", "   *", (1, 5));
    check("\x1b[3g\x1b[?5W\t*", "        *", (1, 10));
    // Behind a full row a tab goes nowhere, unless it was asked to go on (41).
    check("0123456789\t*", "0123456789/*", (2, 2));
    check("\r0123456789\x1b[I*", "0123456789/*", (2, 2));
    check("01234567\t\t*", "01234567 *", (1, 10));
    check("日本語日本\t*", "日本語日本/*", (2, 2));
    check("\x1b[?41h0123456789\t*", "0123456789/        *", (2, 10));
    check("\x1b[?41;7l0123456789\t*", "012345678*", (1, 10));
    check("\x1b[?41h\x1b[6H0123456789\t*", "////0123456789/        *", (6, 10));
}

#[test]
fn the_last_character_is_repeated() {
    check("a\x1b[3b", "aaaa", (1, 5));
    check("a\x1b[b", "aa", (1, 3));
    check("a\x1b[0b", "aa", (1, 3));
    check("\x1b[3b", "", (1, 1));
    check("a\x1b[2b\x1b[2b", "aaa", (1, 4));
    check("日\x1b[2b", "日日日", (1, 7));
    check("\x1b(0q\x1b[2b", "───", (1, 4));
    check("a\x1b[12b", "aaaaaaaaaa/aaa", (2, 4));
    check("👍🏽\x1b[b", "👍🏽👍", (1, 5));
}

#[test]
fn the_cursor_is_saved_with_its_character_set_and_origin_mode() {
    check("\x1b[3;4H\x1b7\x1b[H\x1b8*", "//   *", (3, 5));
    check("\x1b[3;4H\x1b[s\x1b[H\x1b[u*", "//   *", (3, 5));
    check("\x1b[3;4H\x1b[?1048h\x1b[H\x1b[?1048l*", "//   *", (3, 5));
    check("\x1b[3;4H\x1b8*", "*", (1, 2));
    check("\x1b(0\x1b7\x1b(B\x1b8q", "─", (1, 2));
    check("\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[1;1H*", "/*", (2, 2));
    check("\x0e\x1b)0\x1b7\x0f\x1b8q\x0fq", "─q", (1, 3));
    check("\x1b*0\x1bNqq", "─q", (1, 3));
    check("\x1b+0\x1bOqq", "─q", (1, 3));
    check("\x1b-A\x0ei\x0fi", "éi", (1, 3));
    check("\x1b.A\x1bNii", "éi", (1, 3));
    check("\x1b/A\x1boi\x1b7\x0fi\x1b8\x1b[Ci", "éié", (1, 4));
}

#[test]
fn modes_change_what_text_does() {
    check("\x1b[20ha\nb", "a/b", (2, 2));
    check("\x1b[20h\x1b[20la\nb", "a/ b", (2, 3));
    check("abc\r\x1b[4hX\x1b[4lY", "XYbc", (1, 3));
    check("0123456789\r\x1b[4hX", "X012345678", (1, 2));
    check("abc\r\x1b[4h日", "日abc", (1, 3));
    check("\x1b[2Hzz\x1b[1;10H\x1b[4h日", "/日zz", (2, 3));
    check("\x1b[?7l0123456789ab\x1b[K", "012345678", (1, 10));
    check("\x1b[?7l0123456789ab\x1b[J", "012345678", (1, 10));
    check("0123456789\x1b[K", "0123456789", (1, 10));
}

#[test]
fn going_back_wraps_where_that_was_asked_for() {
    check("ab\x1b[2H\x08*", "ab/*", (2, 2));
    check("\x1b[?45h\x1b[2H\x08*", "         *", (1, 10));
    check("\x1b[?45h\x1b[?7l\x1b[2H\x08*", "/*", (2, 2));
    check("\x1b[?45h\x1b[1;9Habcd\x1b[4D*", "        *b/cd", (1, 10));
    check("\x1b[?45h\x1b[1;9Hab\x08*", "        a*", (1, 10));
    check("\x1b[?45h\x1b[2;5r\x1b[2H\x08*", "////         *", (5, 10));
    check("\x1b[?45h\x1b[H\x1b[25j*", "///     *", (4, 7));
    check("\x1b[?45h\x1b[!p\x1b[2H\x08*", "/*", (2, 2));
    check("\x1b[?1045h\x1b[2;5r\x1b[2H\x08*", "////         *", (5, 10));
}

#[test]
fn a_change_of_columns_clears_the_screen_where_it_is_allowed() {
    on_full("\x1b[2;4r\x1b[3;3H\x1b[?3h*", "aaaa/bbbb/cc*c/dddd/eeee/ffff", (3, 4));
    on_full("\x1b[?40h\x1b[2;4r\x1b[3;3H\x1b[?3h*", "*", (1, 2));
    on_full("\x1b[?40h\x1b[3;3H\x1b[?3l*", "*", (1, 2));
    on_full("\x1b[?40h\x1b[2;4r\x1b[?3h\x1b[6;1H\n*", "////*".replace("////", "/////").as_str(), (6, 2));
    on_full("\x1b[65\"p\x1b[?40;95h\x1b[3;3H\x1b[?3h*", "*aaa/bbbb/cccc/dddd/eeee/ffff", (1, 2));
}

#[test]
fn private_modes_are_kept_and_brought_back() {
    check("\x1b[?7;45s\x1b[?7l\x1b[?7r0123456789a", "0123456789/a", (2, 2));
    check("\x1b[?7l\x1b[?7s\x1b[?7h\x1b[?7r0123456789a", "012345678a", (1, 10));
    check("\x1b[?7l\x1b[?7r0123456789a", "012345678a", (1, 10));
    check("ab\x1b[?1049s\x1b[?1049h\x1b[?1049r", "", (1, 3));
}

#[test]
fn resets_bring_back_the_beginning() {
    check("ab\x1b[2;4r\x1b[4h\x1b[?6h\x1b[3;3H\x1b[!p*", "ab///  *", (4, 4));
    check("abc\x1b[4h\x1b[!p\rX", "Xbc", (1, 2));
    check("\x1b[3;3H\x1b7\x1b[!p\x1b8*", "*", (1, 2));
    check("\x1b(0\x1b[!pq", "q", (1, 2));
    check("\x1b[?7l\x1b[!p0123456789a", "0123456789/a", (2, 2));
    check("abc\x1b[2;4r\x1b[?6h\x1b[4h\x1b(0\x1bcqr\x1b[6;1H*", "qr/////*", (6, 2));
    check("\x1b[?1049habc\x1bc", "", (1, 1));
    check("a\x1bc\x1b[2b", "", (1, 1));
    check(
        "ab\x1b[2;4r\x1b[3;3H\x1b#8",
        "EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE",
        (1, 1),
    );
}

#[test]
fn the_alternate_screen_leaves_the_main_one_alone() {
    check("main\x1b[?1049h", "", (1, 5));
    check("main\x1b[?1049halt\x1b[?1049l", "main", (1, 5));
    check("main\x1b[?1049halt\x1b[?1049l\x1b[?1049h", "", (1, 5));
    check("main\x1b[?47halt\x1b[?47l", "main", (1, 8));
    check("main\x1b[?47halt\x1b[?47l\x1b[?47h", "    alt", (1, 8));
    check("main\x1b[?1047halt\x1b[?1047l\x1b[?1047h", "", (1, 8));
    check("main\x1b[?1049l*", "*ain", (1, 2));
    check("\x1b[2;4r\x1b[?1049h\x1b[4Ha\r\nb\r\nc", "/a/b/c", (4, 2));
    check("\x1b[?1049h\x1b[2;4r\x1b[?1049l\x1b[4Ha\r\nb", "//a/b", (4, 2));
}
