//! Every query that the recorded programs send gets the reply of `terminal.md` 5.2.

use super::fixtures;
use orca::base::size::TermSize;
use orca::pty::event::{ProgressState, PromptMark, StatusReport, TermEvent};
use orca::pty::modes::{KittyFlags, ModifyOtherKeys, MouseEncoding, MouseMode};
use orca::pty::term::{Term, TermConfig};

fn term() -> Term {
    Term::new(TermSize::clamped(24, 80), TermConfig::default())
}

fn check(asked: &str, expected: &str) {
    let mut whole = term();
    whole.process(asked.as_bytes());
    assert_eq!(String::from_utf8(whole.take_replies()).unwrap(), expected, "{asked:?}");
    let mut cut = term();
    asked.as_bytes().iter().for_each(|byte| cut.process(&[*byte]));
    assert_eq!(String::from_utf8(cut.take_replies()).unwrap(), expected, "{asked:?} byte by byte");
}

#[test]
fn identity() {
    let version = concat!("\x1bP>|orca ", env!("CARGO_PKG_VERSION"), "\x1b\\");
    check("\x1b[c", "\x1b[?62;22;52c");
    check("\x1bZ", "\x1b[?62;22;52c");
    check("\x1b[>c", "\x1b[>41;388;0c");
    check("\x1b[=c", "\x1bP!|00000000\x1b\\");
    check("\x1b[>q", version);
    check("\x1b[>0q", version);
}

#[test]
fn cursor_reports() {
    check("\x1b[5n", "\x1b[0n");
    check("\x1b[3;7H\x1b[6n", "\x1b[3;7R");
    check("\x1b[?6n", "\x1b[?1;1;1R");
    check(&format!("{}\x1b[6n", "x".repeat(80)), "\x1b[1;80R");
    check("\x1b[5;10r\x1b[?6h\x1b[6n\x1b[2;1H\x1b[6n", "\x1b[1;1R\x1b[2;1R");
    // The width probe of opencode: what a string takes is what the cursor says.
    check("\r👨‍👩‍👧‍👦\x1b[6n\r🏳️‍🌈\x1b[6n\r🇰🇷\x1b[6n\r👍🏽\x1b[6n\r⚠️\x1b[6n\r🤷‍♂️\x1b[6n", &"\x1b[1;3R".repeat(6));
    check("\re\u{301}\x1b[6n\r\u{1112}\u{1161}\u{11ab}\x1b[6n", "\x1b[1;2R\x1b[1;3R");
}

#[test]
fn modes_and_keyboard() {
    check("\x1b[?2026$p\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;2$y\x1b[?2026;1$y");
    check("\x1b[?1007$p\x1b[?1007l\x1b[?1007$p", "\x1b[?1007;1$y\x1b[?1007;2$y");
    check("\x1b[?2027$p\x1b[?1016$p\x1b[?9999$p", "\x1b[?2027;1$y\x1b[?1016;0$y\x1b[?9999;0$y");
    check(
        "\x1b[?1004h\x1b[?1004$p\x1b[?2004$p\x1b[?2031$p\x1b[?12$p",
        "\x1b[?1004;1$y\x1b[?2004;2$y\x1b[?2031;2$y\x1b[?12;2$y",
    );
    check(
        "\x1b[?25l\x1b[?25$p\x1b[?1003h\x1b[?1003$p\x1b[?1000$p",
        "\x1b[?25;2$y\x1b[?1003;1$y\x1b[?1000;2$y",
    );
    check("\x1b[4h\x1b[4$p", "\x1b[4;1$y");
    check("\x1b[?u\x1b[>5u\x1b[?u\x1b[>7u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?0u\x1b[?5u\x1b[?7u\x1b[?5u");
    check("\x1b[=1;1u\x1b[?u\x1b[=4;2u\x1b[?u\x1b[=1;3u\x1b[?u", "\x1b[?1u\x1b[?5u\x1b[?4u");
    check("\x1b[>1u\x1b[?1049h\x1b[?u\x1b[>7u\x1b[?1049l\x1b[?u", "\x1b[?0u\x1b[?1u");
    check("\x1b[>1u\x1bc\x1b[?u", "\x1b[?0u");
    check("\x1b[>4;2m\x1b[?4m\x1b[>4m\x1b[?4m", "\x1b[>4;2m\x1b[>4;0m");
    check("\x1b[>4;?m", "");
}

#[test]
fn modes_of_old_terminals_are_kept_and_told() {
    for mode in ["2", "12", "?4", "?18", "?19", "?35", "?40", "?41", "?42", "?67", "?1045"] {
        check(
            &format!("\x1b[{mode}$p\x1b[{mode}h\x1b[{mode}$p\x1b[{mode}l\x1b[{mode}$p"),
            &format!("\x1b[{mode};2$y\x1b[{mode};1$y\x1b[{mode};2$y"),
        );
    }
    // Columns change their number where that is allowed only.
    check("\x1b[?3h\x1b[?3$p\x1b[?40h\x1b[?3h\x1b[?3$p", "\x1b[?3;2$y\x1b[?3;1$y");
    check("\x1b[?4;42h\x1bc\x1b[?4$p\x1b[?42$p", "\x1b[?4;2$y\x1b[?42;2$y");
    check("\x1b[?4h\x1b[?4s\x1b[?4l\x1b[?4r\x1b[?4$p", "\x1b[?4;1$y");
}

#[test]
fn the_conformance_level_says_what_there_is() {
    check("\x1bP$q\"p\x1b\\", "\x1bP1$r64;1\"p\x1b\\");
    check(
        "\x1b[65;1\"p\x1bP$q\"p\x1b\\\x1b[61\"p\x1bP$q\"p\x1b\\",
        "\x1bP1$r65;1\"p\x1b\\\x1bP1$r61\"p\x1b\\",
    );
    check("\x1b[62\"p\x1b[4$p\x1b[?7$p\x1b[63\"p\x1b[4$p", "\x1b[4;2$y");
    check("\x1b[63\"p\x1b[?69h\x1b[?69$p\x1b[64\"p\x1b[?69h\x1b[?69$p", "\x1b[?69;0$y\x1b[?69;1$y");
    check("\x1b[?95h\x1b[?95$p\x1b[65\"p\x1b[?95h\x1b[?95$p", "\x1b[?95;0$y\x1b[?95;1$y");
    check("\x1b[?6h\x1b[66\"p\x1b[?6$p\x1b[64\"p\x1b[?6$p", "\x1b[?6;1$y\x1b[?6;2$y");
}

#[test]
fn sizes_and_titles() {
    check("\x1b[14t\x1b[16t\x1b[18t\x1b[19t", "\x1b[4;432;720t\x1b[6;18;9t\x1b[8;24;80t\x1b[9;24;80t");
    check("\x1b[?2048h", "\x1b[48;24;80;432;720t");
    check("\x1b]0;rm -rf ~\x07\x1b[21t", "\x1b]l\x1b\\");
    let mut term = term();
    term.process(b"\x1b[?2048h");
    term.take_replies();
    term.resize(TermSize::clamped(10, 20));
    assert_eq!(term.take_replies(), b"\x1b[48;10;20;180;180t");
    term.process(b"\x1b]2;a;b\x07\x1b[22;0t\x1b]2;c\x07");
    assert_eq!(term.title(), "c");
    term.process(b"\x1b[23;0t");
    assert_eq!(term.title(), "a;b");
}

#[test]
fn colours() {
    check("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07");
    check("\x1b]10;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\");
    check("\x1b]4;1;?;196;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07\x1b]4;196;rgb:ffff/0000/0000\x07");
    check(
        "\x1b]11;#123456\x07\x1b]11;?\x07\x1b]111\x07\x1b]11;?\x07",
        "\x1b]11;rgb:1212/3434/5656\x07\x1b]11;rgb:0000/0000/0000\x07",
    );
    check("\x1b]10;?;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x07");
    check(
        "\x1b]17;?\x07\x1b]12;#102030\x07\x1b]18;?\x07",
        "\x1b]17;rgb:e5e5/e5e5/e5e5\x07\x1b]18;rgb:1010/2020/3030\x07",
    );
    check(
        "\x1b]19;#102030\x07\x1b]19;?;?\x07\x1b]119\x07\x1b]19;?\x07",
        "\x1b]19;rgb:1010/2020/3030\x07\x1b]19;rgb:0000/0000/0000\x07",
    );
    // The special colours have numbers of their own, and others behind those of the palette.
    check(
        "\x1b]5;1;#102030\x07\x1b]4;257;?\x07\x1b]5;1;?\x07",
        "\x1b]4;257;rgb:1010/2020/3030\x07\x1b]5;1;rgb:1010/2020/3030\x07",
    );
    check(
        "\x1b]5;0;#102030;4;#102030\x07\x1b]105;0\x07\x1b]104\x07\x1b]5;0;?;4;?;5;?\x07",
        "\x1b]5;0;rgb:e5e5/e5e5/e5e5\x07\x1b]5;4;rgb:e5e5/e5e5/e5e5\x07",
    );
    check(
        "\x1b]4;256;#102030;261;#102030\x07\x1b]104;256\x07\x1b]4;256;?;261;?\x07",
        "\x1b]4;256;rgb:e5e5/e5e5/e5e5\x07",
    );
    check("\x1b]12;red\x07\x1b]12;?\x07", "\x1b]12;rgb:ffff/0000/0000\x07");
    check("\x1b[?996n", "\x1b[?997;1n");
    let mut term = term();
    term.process(b"\x1b[?2031h");
    let host = orca::pty::color::HostFacts { is_dark: false, ..Default::default() };
    term.set_host(host.clone());
    term.set_host(host);
    assert_eq!(term.take_replies(), b"\x1b[?997;2n", "a change is told once");
}

#[test]
fn settings_and_capabilities() {
    check("\x1b[1;4:3;58:2::1:2:3;9m\x1bP$qm\x1b\\", "\x1bP1$r0;1;9;4:3;58:2::1:2:3m\x1b\\");
    check("\x1b[48;2;1;2;3m\x1bP$qm\x1b\\", "\x1bP1$r0;48:2::1:2:3m\x1b\\");
    check("\x1b[93;104;58:5:9m\x1bP$qm\x1b\\", "\x1bP1$r0;93;104;58:5:9m\x1b\\");
    check("\x1b[38;5;56;41m\x1bP$qm\x1b\\", "\x1bP1$r0;38:5:56;41m\x1b\\");
    check("\x1b[2;5r\x1bP$qr\x1b\\", "\x1bP1$r2;5r\x1b\\");
    check("\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\");
    check("\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\");
    check("\x1bP$q$}\x1b\\\x1bP$q$~\x1b\\", "\x1bP1$r0$}\x1b\\\x1bP1$r0$~\x1b\\");
    check("\x1b[2*x\x1bP$q*x\x1b\\", "\x1bP1$r2*x\x1b\\");
    check("\x1bP+q4D73\x1b\\", "\x1bP1+r4D73=1B5D35323B25703125733B257032257307\x1b\\");
    check("\x1bP+q544E;7a7a\x1b\\", "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\\x1bP0+r7a7a\x1b\\");
}

#[test]
fn silence_where_absence_is_the_answer() {
    check("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "");
    check("\x1b]99;i=1:p=?;\x1b\\\x1b]1337;Capabilities\x07\x1b]66;w=2;x\x1b\\\x1b]52;c;?\x07", "");
}

#[test]
fn the_status_query_is_echoed_exactly_and_reports_are_read() {
    check("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\");
    check("\x1b]7501;?\x07", "\x1b]7501;?\x07");
    let mut term = term();
    term.process(b"\x1b]7501;state=blocked:app=claude-code:kind=permission:msg=YXBwcm92ZSBCYXNo\x1b\\");
    let report = StatusReport {
        state: "blocked".into(),
        app: Some("claude-code".into()),
        kind: Some("permission".into()),
        message: Some("approve Bash".into()),
    };
    assert_eq!(term.take_events(), [TermEvent::Status(report)]);
}

#[test]
fn events_are_cleaned_of_what_could_draw() {
    let mut term = term();
    term.process(
        "\x1b]2;a\u{202e}b\x07\x07\x1b]9;done\x07\x1b]777;notify;T;body\x1b\\\x1b]9;4;1;50\x07\
         \x1b]7;file:///tmp\x07\x1b]52;c;aGk=\x07\x1b[?1049h\x1b[?1049l\x1b[3;1H\x1b]133;D;1\x07"
            .as_bytes(),
    );
    let events = term.take_events();
    let expected = [
        TermEvent::Title("ab".into()),
        TermEvent::Notify { title: None, body: "done".into() },
        TermEvent::Notify { title: Some("T".into()), body: "body".into() },
        TermEvent::Progress { state: ProgressState::Running, percent: 50 },
        TermEvent::Cwd("file:///tmp".into()),
        TermEvent::Clipboard { selection: "c".into(), text: "hi".into() },
        TermEvent::AltScreen(true),
        TermEvent::AltScreen(false),
        TermEvent::Bell,
        TermEvent::PromptMark { kind: PromptMark::CommandEnd(Some(1)), line: 2 },
    ];
    assert_eq!(events, expected);
}

#[test]
fn oversized_strings_are_dropped_and_the_text_after_them_shows() {
    for long in ["\x1b]0;", "\x1bP", "\x1b_G"] {
        let mut term = term();
        term.process(long.as_bytes());
        for _ in 0..300 {
            term.process(&[b'x'; 1000]);
        }
        term.process(b"\x1b\\after");
        assert_eq!(term.screen_text()[0], "after", "{long:?}");
        assert_eq!(term.title(), "");
    }
}

#[test]
fn a_dead_program_leaves_a_usable_shell() {
    let mut term = term();
    term.process(
        b"prompt$ \x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?25l\x1b[>5u\x1b[?2026h\x1b[2;9rjunk",
    );
    term.restore_shell_modes();
    let modes = term.modes();
    assert_eq!((modes.mouse, modes.mouse_encoding), (MouseMode::Off, MouseEncoding::X10));
    assert!(modes.kitty.is_empty() && !modes.is_alt_screen && !term.is_synchronized());
    assert!(term.cursor().is_visible);
    assert_eq!((term.screen_text()[0].as_str(), term.cursor().col), ("prompt$", 8));
    term.process(b"\x1b[?1003h\x1b]0;cut off");
    term.restore_shell_modes();
    term.process(b"ls");
    assert_eq!((term.screen_text()[0].as_str(), term.modes().mouse), ("prompt$ ls", MouseMode::Off));
}

#[test]
fn the_agents_recorded_ask_for_what_their_recordings_say() {
    let check = |name: &str, kitty: u8, has_focus: bool| {
        let modes = fixtures::named(name).play(4096, |_| {}).modes();
        assert_eq!(
            (modes.kitty, modes.is_focus_reported),
            (KittyFlags::from_bits(kitty), has_focus),
            "{name}"
        );
    };
    check("codex-stream", 7, true);
    check("opencode-stream", 5, true);
    check("gemini", 1, true);
    let vim = fixtures::named("vim").play(4096, |_| {});
    assert_eq!(vim.modes().modify_other_keys, ModifyOtherKeys::All);
}
