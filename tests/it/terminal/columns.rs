//! Left and right margins, by the rules of the VT420 and xterm.

use super::sequences::check;
use orca::base::size::TermSize;
use orca::pty::term::{Term, TermConfig};

/// Five rows of letters, margins around the middle of three, the cursor on the `h`.
const REGION: &str = "abcde\r\nfghij\r\nklmno\r\npqrst\r\nuvwxy\x1b[?69h\x1b[2;4s\x1b[2;4r\x1b[2;3H";

fn in_region(output: &str, rows: &str, cursor: (u16, u16)) {
    check(&format!("{REGION}{output}"), rows, cursor);
}

fn between(output: &str, rows: &str, cursor: (u16, u16)) {
    check(&format!("\x1b[?69h\x1b[3;6s{output}"), rows, cursor);
}

#[test]
fn text_wraps_between_the_margins() {
    between("\x1b[1;3Habcdefghi", "  abcd/  efgh/  i", (3, 4));
    between("abcdefgh", "abcdef/  gh", (2, 5));
    between("\x1b[1;3Habcd", "  abcd", (1, 6));
    between("\x1b[1;3Habcd\re", "  ebcd", (1, 4));
    between("\x1b[1;3Habcd\x1b[31me", "  abcd/  e", (2, 4));
    between("\x1b[1;3Habcd\x1b[1;6He", "  abce", (1, 6));
    between("\x1b[?7l\x1b[1;3Habcdefg", "  abcg", (1, 6));
    between("\x1b[1;8Habcde", "       abc/  de", (2, 5));
    between("\x1b[1;5H日日", "    日/  日", (2, 5));
    between("\x1b[1;6H日", "/  日", (2, 5));
    between("\x1b[1;6He\u{301}x", "     e\u{301}/  x", (2, 4));
    between("\x1b[1;3Hab\x1b[1;3H\x1b[4hxyzw", "  xyzw", (1, 6));
    between("\x1b[1;3Ha\x1b[5b", "  aaaa/  aa", (2, 5));
    between("\x1b[s\x1b[1;3Habcdefghi", "  abcdefgh/i", (2, 2));
    between("\x1b[?69l\x1b[1;3Habcdefghi", "  abcdefgh/i", (2, 2));
    between("\x1b[!p\x1b[1;3Habcdefghi", "  abcdefgh/i", (2, 2));
}

#[test]
fn the_cursor_stops_at_the_margins() {
    for (output, cursor) in [
        ("", (1, 1)),
        ("\x1b[2;4H\r", (2, 3)),
        ("\x1b[2;2H\r", (2, 1)),
        ("\x1b[2;4H\x1b[99D", (2, 3)),
        ("\x1b[2;2H\x1b[99D", (2, 1)),
        ("\x1b[2;4H\x1b[99C", (2, 6)),
        ("\x1b[2;8H\x1b[99C", (2, 10)),
        ("\x1b[2;4H\x1b[99a", (2, 10)),
        ("\x1b[2;4H\x08\x08\x08", (2, 3)),
        ("\x1b[2;4H\t", (2, 6)),
        ("\x1b[2;7H\t", (2, 9)),
        ("\x1b[2;4H\x1b[E", (3, 3)),
        ("\x1b[2;4H\x1b[F", (1, 3)),
        ("\x1b[2;4H\x1bE", (3, 3)),
        ("\x1b[2;4H\x1b[9G", (2, 9)),
        ("\x1b[?6h", (1, 3)),
        ("\x1b[?6h\x1b[2;2H", (2, 4)),
        ("\x1b[?6h\x1b[9;9H", (6, 6)),
        ("\x1b[?6h\x1b[2;2H\x1b[9G", (2, 6)),
        ("\x1b[?6h\x1b[2;4r", (2, 3)),
        ("\x1b[?45h\x1b[2;3H\x08", (1, 6)),
        ("\x1b[?45h\x1b[2;1H\x08", (1, 6)),
        ("\x1b[?1045h\x1b[2;1H\x08", (1, 6)),
        ("\x1b[2;2H\x1b[5;5s", (2, 2)),
        ("\x1b[2;3H\x1b6", (2, 3)),
        ("\x1b[2;7H\x1b9", (2, 8)),
        ("\x1b[2;10H\x1b9", (2, 10)),
    ] {
        between(output, "", cursor);
    }
    between("\x1b[2;3H1234\t", "/  1234", (2, 6));
    between("\x1b[2;3H1234\t5", "/  1234/  5", (3, 4));
    between("\x1b[?41h\x1b[2;3H1234\t5", "/  1234/     5", (3, 6));
    // What scrolls is decided where the cursor was before it went back.
    between("\x1b[5;3Hx\x1b[6;8H\x1bE", "////  x", (6, 3));
}

#[test]
fn only_what_is_between_the_margins_scrolls() {
    in_region("\x1b[L", "abcde/f   j/kghio/plmnt/uvwxy", (2, 3));
    in_region("\x1b[99L", "abcde/f   j/k   o/p   t/uvwxy", (2, 3));
    in_region("\x1b[M", "abcde/flmnj/kqrso/p   t/uvwxy", (2, 3));
    in_region("\x1b[1;1H\x1b[L\x1b[2;1H\x1b[M", "abcde/fghij/klmno/pqrst/uvwxy", (2, 1));
    in_region("\x1b[S", "abcde/flmnj/kqrso/p   t/uvwxy", (2, 3));
    in_region("\x1b[1;1H\x1b[2T", "abcde/f   j/k   o/pghit/uvwxy", (1, 1));
    in_region("\x1b[4;3H\n", "abcde/flmnj/kqrso/p   t/uvwxy", (4, 3));
    in_region("\x1b[4;5H\n\x1b[4;1H\n", "abcde/fghij/klmno/pqrst/uvwxy", (4, 1));
    in_region("\x1bM", "abcde/f   j/kghio/plmnt/uvwxy", (2, 3));
    in_region("\x1b[2;5H\x1bM", "abcde/fghij/klmno/pqrst/uvwxy", (2, 5));
    in_region("\x1b[4;3HXYZ", "abcde/flmnj/kqXYo/pZ  t/uvwxy", (4, 3));
    in_region("\x1b[@", "abcde/fg hj/klmno/pqrst/uvwxy", (2, 3));
    in_region("\x1b[9@", "abcde/fg  j/klmno/pqrst/uvwxy", (2, 3));
    in_region("\x1b[P", "abcde/fgi j/klmno/pqrst/uvwxy", (2, 3));
    in_region("\x1b[2;1H\x1b[@\x1b[P", "abcde/fghij/klmno/pqrst/uvwxy", (2, 1));
    in_region("\x1b['}", "abcde/fg hj/kl mo/pq rt/uvwxy", (2, 3));
    in_region("\x1b['~", "abcde/fgi j/kln o/pqs t/uvwxy", (2, 3));
    in_region("\x1b[2;4H\x1b9", "abcde/fhi j/kmn o/prs t/uvwxy", (2, 4));
    in_region("\x1b[2;2H\x1b6", "abcde/f ghj/k lmo/p qrt/uvwxy", (2, 2));
    in_region("\x1b[K", "abcde/fg/klmno/pqrst/uvwxy", (2, 3));
    in_region("\x1b[9X", "abcde/fg/klmno/pqrst/uvwxy", (2, 3));
    in_region("\x1b[?6h\x1b[37;1;1;2;2$x", "abcde/f%%ij/k%%no/pqrst/uvwxy", (2, 2));
}

#[test]
fn margins_are_told() {
    let mut term = Term::new(TermSize::clamped(6, 10), TermConfig::default());
    term.process(
        b"\x1bP$qs\x1b\\\x1b[?69$p\x1b[?69h\x1b[3;4s\x1bP$qs\x1b\\\x1b[?69$p\x1b[?6h\x1b[1;2H\x1b[6n",
    );
    let told = "\x1bP0$r\x1b\\\x1b[?69;2$y\x1bP1$r3;4s\x1b\\\x1b[?69;1$y\x1b[1;2R";
    assert_eq!(String::from_utf8(term.take_replies()).unwrap(), told);
}
