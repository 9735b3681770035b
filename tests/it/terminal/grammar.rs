//! Streams that know the grammar: what programs write, what they should not write, and what happens to
//! a terminal in between.

use orca::base::size::TermSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// One thing that happens to a terminal or to one of the clients that show it.
#[derive(Debug, Clone)]
pub enum Step {
    Output(Bytes),
    Resize(TermSize),
    /// The client of this number takes in what is new.
    Read(usize),
    /// It loses its connection and begins anew.
    Reconnect(usize),
    /// It is sent an older patch once more.
    Again(usize),
    /// The journal goes on in a new segment.
    /// The journal goes on in a new segment while this was read and is not drawn.
    Rotate(Bytes),
    /// The server is killed; the next one has the journal.
    Kill,
}

/// Output, told as a person would write it down.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Clients that a story has.
pub const N_CLIENTS: usize = 3;

fn bytes(texts: &[&'static str]) -> impl Strategy<Value = Vec<u8>> + use<> {
    select(texts.to_vec()).prop_map(|text| text.as_bytes().to_vec())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let usual = bytes(&[
        "abc",
        "hello world ",
        "x",
        "a long line of text that wraps",
        "\r\n",
        "\r\n",
        "\n",
        "\r",
        "\t",
        "\x08",
        "\x07",
        "    ",
        "日本",
        "wide日end",
        "한국어 ",
        "ｶﾅ",
        "e\u{301}",
        "\u{301}",
        "\u{1112}\u{1161}\u{11ab}",
        "\u{1160}",
        "न\u{94d}\u{200d}न",
    ]);
    let emoji = bytes(&[
        "👍🏽",
        "🏽",
        "👨\u{200d}👩\u{200d}👧",
        "🏳\u{fe0f}\u{200d}🌈",
        "❤\u{fe0f}",
        "❤\u{fe0e}",
        "1\u{fe0f}\u{20e3}",
        "🇯🇵",
        "🇯",
        "🇰",
        "👩\u{200d}",
        "\u{200d}",
        "\u{fe0f}",
        "♂",
        "☝🏿",
        "🤷🏽\u{200d}♂\u{fe0f}",
    ]);
    let odd = bytes(&[
        "\x0e",
        "\x0f",
        "\x0b",
        "\x0c",
        "\x00",
        "\x7f",
        "\u{e0100}",
        "\u{e01ef}",
        "\u{3e000}",
        "\u{fffd}",
        "\u{202e}",
        "\u{feff}",
        "\u{ad}",
        "\u{85}",
        "\u{9b}1m",
    ]);
    // Cut and overlong characters, surrogates, controls of eight bits.
    let broken = select(vec![
        &b"\xff"[..],
        b"\xe6\x97",
        b"\xf0\x9f\x91",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\x9b2J",
        b"\x90q\x9c",
        b"\xf4\x90\x80\x80",
    ]);
    let any = any::<char>().prop_map(|c| c.to_string().into_bytes());
    prop_oneof![12 => usual, 6 => emoji, 2 => odd, 1 => broken.prop_map(<[u8]>::to_vec), 1 => any]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => (0u32..40).prop_map(|n| n.to_string()),
        2 => Just(String::new()),
        1 => select(vec!["65535", "65536", "999", "2147483647", "4294967296", "99999999999999999999", "007"])
            .prop_map(String::from),
    ]
}

/// Any control sequence: private marks, parameters and subparameters, intermediates, finals.
fn control() -> impl Strategy<Value = Vec<u8>> {
    let private = prop_oneof![8 => Just(""), 1 => select(vec!["?", ">", "<", "="])];
    let between = prop_oneof![12 => Just(""), 1 => select(vec![" ", "!", "$", "\"", "'", "*", "#"])];
    let last = prop_oneof![
        8 => select(b"ABCDEFGHIJKLMPSTXZ@abdefghijklmnqrstu`".to_vec()),
        1 => 0x40_u8..0x7f,
    ];
    (private, vec((number(), any::<bool>()), 0..4), between, last).prop_map(
        |(private, params, between, last)| {
            let mut out = format!("\x1b[{private}");
            for (at, (number, has_colon)) in params.iter().enumerate() {
                let separator = match (at, has_colon) {
                    (0, _) => "",
                    (_, true) => ":",
                    (_, false) => ";",
                };
                out.push_str(&format!("{separator}{number}"));
            }
            format!("{out}{between}{}", char::from(last)).into_bytes()
        },
    )
}

/// Movement, erasing and scrolling near by, as full-screen programs do it.
pub fn near() -> impl Strategy<Value = Vec<u8>> {
    let finals = select(b"ABCDGHJKPX@`adfmLMSTr".to_vec());
    (0u32..12, prop::option::of(0u32..30), finals).prop_map(|(first, second, last)| {
        let second = second.map_or(String::new(), |second| format!(";{second}"));
        format!("\x1b[{first}{second}{}", char::from(last)).into_bytes()
    })
}

fn look() -> impl Strategy<Value = Vec<u8>> {
    let color = prop_oneof![
        (30u32..108).prop_map(|n| n.to_string()),
        (select(vec![38, 48, 58]), 0u8..=255).prop_map(|(which, n)| format!("{which};5;{n}")),
        (select(vec![38, 48, 58]), any::<(u8, u8, u8)>(), select(vec![";2;", ":2:", ":2::"])).prop_map(
            |(which, (r, g, b), form)| {
                let dot = &form[..1];
                format!("{which}{form}{r}{dot}{g}{dot}{b}")
            }
        ),
    ];
    let style = select(vec![
        "", "0", "1", "2", "3", "4", "5", "7", "8", "9", "21", "22", "23", "24", "25", "27", "28", "29",
        "39", "49", "53", "55", "59", "4:0", "4:2", "4:3", "4:4", "4:5", "1;2", "38", "48;2;1", "58;5",
    ]);
    let part = prop_oneof![2 => style.prop_map(String::from), 1 => color];
    vec(part, 1..4).prop_map(|parts| format!("\x1b[{}m", parts.join(";")).into_bytes())
}

fn mode() -> impl Strategy<Value = Vec<u8>> {
    let private = select(vec![
        1, 3, 3, 4, 5, 6, 7, 9, 12, 25, 40, 40, 41, 42, 45, 45, 95, 1045, 47, 66, 67, 69, 1000, 1002, 1003,
        1004, 1005, 1006, 1007, 1015, 1016, 1047, 1048, 1049, 2004, 2026, 2027, 2031, 2048,
    ]);
    let set = prop_oneof![
        private.prop_map(|n| format!("?{n}")),
        select(vec!["4", "20", "2"]).prop_map(String::from)
    ];
    (set, select(vec!["h", "l", "h", "l", "$p", "s", "r"]))
        .prop_map(|(mode, last)| format!("\x1b[{mode}{last}").into_bytes())
}

fn escape() -> impl Strategy<Value = Vec<u8>> {
    bytes(&[
        "\x1b7",
        "\x1b8",
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1bH",
        "\x1b=",
        "\x1b>",
        "\x1bc",
        "\x1b#8",
        "\x1b#3",
        "\x1bN",
        "\x1bO",
        "\x1bn",
        "\x1bo",
        "\x1b|",
        "\x1bZ",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1b*A",
        "\x1b(K",
        "\x1b%G",
        "\x1b F",
        "\x1b\\",
        "\x1b[!p",
        "\x1b[1;3r",
        "\x1b[r",
        "\x1b[?6h\x1b[2;5r",
        "\x1b[3g",
        "\x1b[2J",
        "\x1b[3J",
        "\x1b[H",
        "\x1b[4 q",
        "\x1b[>5u",
        "\x1b[>7u",
        "\x1b[<u",
        "\x1b[=1;2u",
        "\x1b[?u",
        "\x1b[>4;2m",
        "\x1b[>4m",
        "\x1b[c",
        "\x1b[6n",
        "\x1b[18t",
        "\x1b[22t",
        "\x1b[23t",
        "\x1b[1\"q",
        "\x1b[\"q",
        "\x1bV",
        "\x1bW",
        "\x1b[64\"p",
        "\x1b[65;1\"p",
        "\x1b[62\"p",
        "\x1b[2*x",
        "\x1b[?5W",
        "\x1b[?J",
        "\x1b[?2J",
        "\x1b[?2K",
        "\x1b[1;1;3;4;1;2;3;1$v",
        "\x1b[2;2;9;9;1;1;1;1$v",
        "\x1b[37;2;2;4;5$x",
        "\x1b[1;2;3;4$z",
        "\x1b[1;1;9;9${",
        "\x1b[1;1;1;1;9;9*y",
        "\x1b['}",
        "\x1b[2'~",
        "\x1b[?69h\x1b[2;5s",
        "\x1b[?69h\x1b[3;30s",
        "\x1b[?69h",
        "\x1b[s",
        "\x1b[?69l",
        "\x1b6",
        "\x1b9",
        "\x1b[?45h",
        "\x1b[?7;6;45;2004s",
        "\x1b[?7;6;45;2004r",
        "\x1b-A",
        "\x1b[2b",
        "\x1b[9b",
    ])
}

/// Strings of all kinds with the ends they may have, and with none.
fn string() -> impl Strategy<Value = Vec<u8>> {
    let body = select(vec![
        "]0;title",
        "]2;a;b",
        "]1;icon",
        "]8;;http://x",
        "]8;;",
        "]8;id=1;https://a.b/ü",
        "]8",
        "]4;1;?",
        "]4;1;#102030",
        "]10;?",
        "]11;rgb:12/34/56",
        "]12;red",
        "]104",
        "]110",
        "]5;1;#102030",
        "]4;257;?",
        "]17;?",
        "]19;#102030",
        "]105",
        "]7;file:///tmp",
        "]9;note",
        "]9;4;1;50",
        "]52;c;aGk=",
        "]52;c;?",
        "]133;A",
        "]133;D;1",
        "]7501;?",
        "]7501;state=idle:app=x",
        "]9999;{\"state\":\"done\"}",
        "]66;s=2;big",
        "]777;notify;a;b",
        "]99;i=1;x",
        "]1337;File=:aGk=",
        "]",
        "]99999999999;x",
        "P$qm",
        "P$q q",
        "P+q544e",
        "Pq#0;2;0;0;0~-",
        "Ptmux;\x1b\x1b[c",
        "P",
        "_Gi=31,s=1;AAAA",
        "_",
        "^private",
        "Xstring",
    ]);
    let end =
        select(vec!["\x07", "\x1b\\", "\x1b\\", "\x07", "\u{9c}", "\x18", "\x1a", "\x1b[m", "\x1b", ""]);
    let long = prop_oneof![60 => Just(0_usize), 1 => select(vec![300, 70_000])];
    (body, long, end)
        .prop_map(|(body, n_more, end)| format!("\x1b{body}{}{end}", "y".repeat(n_more)).into_bytes())
}

/// Sequences that stop in the middle, or have something else inside.
fn torn() -> impl Strategy<Value = Vec<u8>> {
    bytes(&[
        "\x1b",
        "\x1b[",
        "\x1b[3",
        "\x1b[?",
        "\x1b[38;2;",
        "\x1b[3\n1m",
        "\x1b[1\x1b[2m",
        "\x1b[\x18",
        "\x1b[3\x1aA",
        "\x1b(",
        "\x1b#",
        "\x1b\x1b",
        "\x1b\x07",
        "\x1b[31\u{301}m",
        "\x1b]0;\n",
        "\x1b[4:3",
        "\x1b[<",
        "\x1b[ ",
    ])
}

/// How agents that do not use the alternate screen draw: up, erase, write again, all in one frame.
fn redraw() -> impl Strategy<Value = Vec<u8>> {
    (1u32..6, any::<bool>(), vec(text(), 0..4)).prop_map(|(n_rows, is_synchronized, texts)| {
        let (begin, end) = if is_synchronized { ("\x1b[?2026h", "\x1b[?2026l") } else { ("", "") };
        let erased = format!("{begin}\x1b[2K{}\x1b[G", "\x1b[1A\x1b[2K".repeat(n_rows as usize));
        [erased.as_bytes(), &texts.concat(), b"\r\n> \x1b[7m \x1b[27m", end.as_bytes()].concat()
    })
}

/// So many lines at once that most of them are never drawn.
fn flood() -> impl Strategy<Value = Vec<u8>> {
    let line = bytes(&[
        "line of text\r\n",
        "\x1b[32mok\x1b[m done\r\n",
        "\r\n",
        "日本 wide\r\n",
        "no return\n",
        "two returns\r\r\n",
        "\x1b[7mx\r\n",
    ]);
    (vec(line, 1..5), 900usize..1_600).prop_map(|(lines, n)| lines.concat().repeat(n / lines.len()))
}

/// So many rows drawn one over the other that most of them are never seen.
fn overdrawn() -> impl Strategy<Value = Vec<u8>> {
    let row = bytes(&[
        "\x1b[H\x1b[32mok\x1b[m\x1b[K\r\nbelow\x1b[K",
        "\x1b[2;1Hfirst\x1b[K",
        "\x1b[2H\x1b[K\x1b[1msecond\x1b[m",
        "\x1b[3;1H\x1b[45m\x1b[K\x1b[m",
        "\x1b[?2026h\x1b[99;1Hlast\x1b[K\x1b[?2026l",
        "\x1b[4;1Hhalf",
        "\x1b[2;2H日本\x1b[K",
        "\x1b[?25l\x1b[1;1H\x1b[7mx\x1b[K",
    ]);
    (vec(row, 1..7), 1_000usize..1_600).prop_map(|(rows, n)| rows.concat().repeat(n / rows.len()))
}

/// One piece of output.
pub fn token() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        120 => text(),
        50 => control(),
        40 => near(),
        30 => look(),
        25 => mode(),
        30 => escape(),
        20 => string(),
        8 => torn(),
        12 => redraw(),
        1 => flood(),
        1 => overdrawn(),
        6 => vec(any::<u8>(), 0..6),
    ]
}

/// Output in pieces.
pub fn output() -> impl Strategy<Value = Bytes> {
    vec(token(), 0..25).prop_map(|tokens| Bytes(tokens.concat()))
}

/// Sizes that somebody may ask for, tiny ones often.
pub fn size() -> impl Strategy<Value = TermSize> {
    prop_oneof![
        2 => (1u16..5, 1u16..8),
        4 => (2u16..30, 2u16..60),
        1 => (20u16..60, 60u16..210),
    ]
    .prop_map(|(n_rows, n_cols)| TermSize::clamped(n_rows, n_cols))
}

/// What happens to a terminal and those who show it.
pub fn story() -> impl Strategy<Value = Vec<Step>> {
    let client = 0..N_CLIENTS;
    let step = prop_oneof![
        10 => output().prop_map(Step::Output),
        3 => size().prop_map(Step::Resize),
        4 => client.clone().prop_map(Step::Read),
        1 => client.clone().prop_map(Step::Reconnect),
        1 => client.prop_map(Step::Again),
        1 => prop_oneof![Just(Bytes(Vec::new())), output()].prop_map(Step::Rotate),
        1 => Just(Step::Kill),
    ];
    vec(step, 1..14)
}
