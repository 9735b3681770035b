use super::*;
use crate::base::input::{MouseButton, MouseEvent, MouseKind};
use crate::pty::modes::{KittyFlags, ModifyOtherKeys, MouseEncoding, MouseMode};

/// `C-`, `A-`, `S-`, `W-` (super), `KP-` (keypad) in front of a character or a key's name.
fn parse(text: &str) -> KeyEvent {
    let (mut mods, mut rest, mut is_keypad) = (Mods::NONE, text, false);
    while let Some((prefix, after)) = rest.split_once('-').filter(|(_, after)| !after.is_empty()) {
        match prefix {
            "C" => mods.is_ctrl = true,
            "A" => mods.is_alt = true,
            "S" => mods.is_shift = true,
            "W" => mods.is_super = true,
            "KP" => is_keypad = true,
            _ => break,
        }
        rest = after;
    }
    let key = match rest {
        "Enter" => Key::Enter,
        "Tab" => Key::Tab,
        "BackTab" => Key::BackTab,
        "Backspace" => Key::Backspace,
        "Esc" => Key::Esc,
        "Left" => Key::Left,
        "Right" => Key::Right,
        "Up" => Key::Up,
        "Down" => Key::Down,
        "Home" => Key::Home,
        "End" => Key::End,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "Insert" => Key::Insert,
        "Delete" => Key::Delete,
        "Begin" => Key::KeypadBegin,
        "Menu" => Key::Menu,
        "PrintScreen" => Key::PrintScreen,
        "Pause" => Key::Pause,
        "Space" => Key::Char(' '),
        one if one.chars().count() == 1 => Key::Char(one.chars().next().unwrap()),
        function => Key::F(function.strip_prefix('F').unwrap().parse().unwrap()),
    };
    KeyEvent { is_keypad, ..KeyEvent::press(key, mods) }
}

fn check(modes: &InputModes, table: &[(&str, &str)]) {
    for (name, expected) in table {
        let got = key(&parse(name), modes);
        assert_eq!(
            String::from_utf8_lossy(&got).escape_debug().to_string(),
            expected.escape_debug().to_string(),
            "{name}"
        );
    }
}

fn kitty(bits: u8) -> InputModes {
    InputModes { kitty: KittyFlags::from_bits(bits), has_used_extended_keys: true, ..InputModes::default() }
}

fn other(modify_other_keys: ModifyOtherKeys) -> InputModes {
    InputModes { modify_other_keys, ..InputModes::default() }
}

#[test]
fn enter_sends_a_line_feed_too_in_newline_mode() {
    let modes = InputModes { is_newline: true, ..InputModes::default() };
    check(&modes, &[("Enter", "\r\n"), ("A-Enter", "\x1b\r\n"), ("a", "a")]);
    check(&InputModes::default(), &[("Enter", "\r")]);
}

#[test]
fn backspace_and_its_control_form_swap_where_that_was_asked_for() {
    let modes = InputModes { is_backspace_bs: true, ..InputModes::default() };
    check(&modes, &[("Backspace", "\x08"), ("C-Backspace", "\x7f"), ("A-Backspace", "\x1b\x08")]);
}

#[test]
fn legacy_keys_are_xterms() {
    check(
        &InputModes::default(),
        &[
            ("a", "a"),
            ("S-a", "A"),
            ("S-A", "A"),
            ("A", "A"),
            ("!", "!"),
            ("ß", "ß"),
            ("S-ß", "ß"),
            ("A-a", "\x1ba"),
            ("A-A", "\x1bA"),
            ("A-ü", "\x1bü"),
            ("C-a", "\x01"),
            ("C-S-x", "\x18"),
            ("C-A-c", "\x1b\x03"),
            ("C-Space", "\0"),
            ("C-@", "\0"),
            ("C-[", "\x1b"),
            ("C-4", "\x1c"),
            ("C-5", "\x1d"),
            ("C-6", "\x1e"),
            ("C-7", "\x1f"),
            ("C-/", "\x1f"),
            ("C-?", "\x7f"),
            ("C-ü", "ü"),
            ("Enter", "\r"),
            ("S-Enter", "\r"),
            ("C-Enter", "\r"),
            ("A-Enter", "\x1b\r"),
            ("Tab", "\t"),
            ("S-Tab", "\x1b[Z"),
            ("BackTab", "\x1b[Z"),
            ("S-BackTab", "\x1b[Z"),
            ("Backspace", "\x7f"),
            ("C-Backspace", "\x08"),
            ("A-Backspace", "\x1b\x7f"),
            ("Esc", "\x1b"),
            ("A-Esc", "\x1b\x1b"),
            ("Up", "\x1b[A"),
            ("S-Up", "\x1b[1;2A"),
            ("C-Right", "\x1b[1;5C"),
            ("A-Left", "\x1b[1;3D"),
            ("Home", "\x1b[H"),
            ("End", "\x1b[F"),
            ("C-S-End", "\x1b[1;6F"),
            ("Insert", "\x1b[2~"),
            ("Delete", "\x1b[3~"),
            ("S-Delete", "\x1b[3;2~"),
            ("PageUp", "\x1b[5~"),
            ("C-PageDown", "\x1b[6;5~"),
            ("F1", "\x1bOP"),
            ("F4", "\x1bOS"),
            ("S-F1", "\x1b[1;2P"),
            ("S-F3", "\x1b[1;2R"),
            ("F5", "\x1b[15~"),
            ("F6", "\x1b[17~"),
            ("F10", "\x1b[21~"),
            ("F11", "\x1b[23~"),
            ("F12", "\x1b[24~"),
            ("C-F12", "\x1b[24;5~"),
            ("F13", "\x1b[1;2P"),
            ("C-F24", "\x1b[24;6~"),
            ("F25", "\x1b[1;5P"),
            ("S-F35", "\x1b[23;6~"),
            ("F36", ""),
            ("Menu", "\x1b[29~"),
            ("C-Menu", "\x1b[29;5~"),
            ("PrintScreen", ""),
            ("Pause", ""),
        ],
    );
}

#[test]
fn modes_change_cursor_keys_and_shift_f3() {
    let modes =
        InputModes { is_application_cursor: true, has_used_extended_keys: true, ..InputModes::default() };
    check(
        &modes,
        &[
            ("Up", "\x1bOA"),
            ("Home", "\x1bOH"),
            ("C-Up", "\x1b[1;5A"),
            ("Delete", "\x1b[3~"),
            ("S-F3", "\x1b[13;2~"),
            ("F3", "\x1bOR"),
        ],
    );
}

#[test]
fn modify_other_keys_says_what_legacy_cannot() {
    check(
        &other(ModifyOtherKeys::Ambiguous),
        &[
            ("a", "a"),
            ("S-a", "A"),
            ("C-a", "\x01"),
            ("A-a", "\x1ba"),
            ("C-S-x", "\x1b[27;6;88~"),
            ("C-.", "\x1b[27;5;46~"),
            ("S-Enter", "\x1b[27;2;13~"),
            ("C-Enter", "\x1b[27;5;13~"),
            ("A-Enter", "\x1b\r"),
            ("C-Tab", "\x1b[27;5;9~"),
            ("S-Tab", "\x1b[Z"),
            ("Enter", "\r"),
        ],
    );
    check(
        &other(ModifyOtherKeys::All),
        &[
            ("a", "a"),
            ("S-a", "A"),
            ("C-a", "\x1b[27;5;97~"),
            ("A-a", "\x1b[27;3;97~"),
            ("A-A", "\x1b[27;4;65~"),
            ("S-Enter", "\x1b[27;2;13~"),
            ("A-Enter", "\x1b[27;3;13~"),
            ("C-Backspace", "\x1b[27;5;127~"),
            ("S-Esc", "\x1b[27;2;27~"),
            ("C-Tab", "\x1b[27;5;9~"),
            ("S-Tab", "\x1b[Z"),
            ("Backspace", "\x7f"),
            ("C-Up", "\x1b[1;5A"),
        ],
    );
}

#[test]
fn kitty_disambiguates() {
    check(
        &kitty(1),
        &[
            ("a", "a"),
            ("S-a", "A"),
            ("C-a", "\x1b[97;5u"),
            ("C-S-x", "\x1b[120;6u"),
            ("C-X", "\x1b[120;6u"),
            ("A-a", "\x1b[97;3u"),
            ("W-a", "\x1b[97;9u"),
            ("Esc", "\x1b[27u"),
            ("Enter", "\r"),
            ("S-Enter", "\x1b[13;2u"),
            ("C-Enter", "\x1b[13;5u"),
            ("A-Enter", "\x1b[13;3u"),
            ("Tab", "\t"),
            ("BackTab", "\x1b[9;2u"),
            ("Backspace", "\x7f"),
            ("C-Backspace", "\x1b[127;5u"),
            ("Up", "\x1b[A"),
            ("S-Up", "\x1b[1;2A"),
            ("F1", "\x1b[P"),
            ("F3", "\x1b[13~"),
            ("S-F3", "\x1b[13;2~"),
            ("F5", "\x1b[15~"),
            ("F13", "\x1b[57376u"),
            ("C-F24", "\x1b[57387;5u"),
        ],
    );
    let application = InputModes { is_application_cursor: true, ..kitty(1) };
    check(&application, &[("Up", "\x1b[A")]);
}

#[test]
fn kitty_flags_without_the_first_keep_legacy_presses() {
    check(
        &kitty(2),
        &[("C-a", "\x01"), ("Esc", "\x1b"), ("F1", "\x1bOP"), ("S-Up", "\x1b[1;2A"), ("a", "a")],
    );
}

#[test]
fn kitty_says_more_when_asked() {
    check(&kitty(5), &[("C-S-x", "\x1b[120:88;6u"), ("C-x", "\x1b[120;5u"), ("S-a", "A")]);
    check(
        &kitty(15),
        &[
            ("a", "\x1b[97u"),
            ("S-a", "\x1b[97:65;2u"),
            ("Enter", "\x1b[13u"),
            ("Tab", "\x1b[9u"),
            ("!", "\x1b[33u"),
        ],
    );
    check(
        &kitty(31),
        &[("a", "\x1b[97;;97u"), ("S-a", "\x1b[97:65;2;65u"), ("C-a", "\x1b[97;5u"), ("Enter", "\x1b[13u")],
    );
}

#[test]
fn phases_are_told_only_to_who_asked() {
    let phase = |name: &str, phase: KeyPhase, modes: &InputModes| {
        String::from_utf8(key(&KeyEvent { phase, ..parse(name) }, modes)).unwrap()
    };
    assert_eq!(phase("a", KeyPhase::Release, &InputModes::default()), "");
    assert_eq!(phase("a", KeyPhase::Repeat, &InputModes::default()), "a");
    assert_eq!(phase("C-a", KeyPhase::Release, &kitty(1)), "");
    assert_eq!(phase("C-a", KeyPhase::Repeat, &kitty(1)), "\x1b[97;5u");
    assert_eq!(phase("C-a", KeyPhase::Repeat, &kitty(3)), "\x1b[97;5:2u");
    assert_eq!(phase("C-a", KeyPhase::Release, &kitty(3)), "\x1b[97;5:3u");
    assert_eq!(phase("a", KeyPhase::Repeat, &kitty(3)), "a");
    assert_eq!(phase("a", KeyPhase::Release, &kitty(3)), "");
    assert_eq!(phase("Enter", KeyPhase::Release, &kitty(3)), "");
    assert_eq!(phase("Enter", KeyPhase::Release, &kitty(11)), "\x1b[13;1:3u");
    assert_eq!(phase("a", KeyPhase::Release, &kitty(31)), "\x1b[97;1:3u");
    assert_eq!(phase("a", KeyPhase::Repeat, &kitty(31)), "\x1b[97;1:2;97u");
    assert_eq!(phase("Up", KeyPhase::Release, &kitty(3)), "\x1b[1;1:3A");
    assert_eq!(phase("Up", KeyPhase::Release, &kitty(1)), "");
    assert_eq!(phase("Delete", KeyPhase::Repeat, &kitty(3)), "\x1b[3;1:2~");
}

#[test]
fn a_paste_cannot_leave_its_brackets() {
    let plain = InputModes::default();
    let bracketed = InputModes { is_bracketed_paste: true, ..plain };
    let check = |text: &str, expected: &str| {
        assert_eq!(String::from_utf8(paste(text, &plain)).unwrap(), expected);
        assert_eq!(
            String::from_utf8(paste(text, &bracketed)).unwrap(),
            format!("\x1b[200~{expected}\x1b[201~")
        );
    };
    check("one\r\ntwo\nthree\r", "one\rtwo\rthree\r");
    check("a\r\n\r\n\nb", "a\r\r\rb");
    check("x\x1b[201~rm -rf\x03 \u{9b}201~\x7f\0\ty", "x[201~rm -rf 201~\ty");
    check("ü 漢 👩‍💻", "ü 漢 👩‍💻");
    check("", "");
    let big = "line of text\r\n".repeat(20_000);
    let bytes = paste(&big, &bracketed);
    assert_eq!(bytes.iter().filter(|byte| **byte == 0x1b).count(), 2);
    assert_eq!(bytes.len(), 12 + 13 * 20_000);
}

#[test]
fn only_several_unbracketed_lines_are_risky() {
    let plain = InputModes::default();
    let bracketed = InputModes { is_bracketed_paste: true, ..plain };
    assert!(is_risky_paste("ls\nrm x", &plain) && is_risky_paste("ls\rrm x", &plain));
    assert!(!is_risky_paste("ls\n", &plain) && !is_risky_paste("ls\nrm x", &bracketed));
}

fn mouse_text(kind: MouseKind, row: u16, col: u16, modes: &InputModes) -> String {
    let event = MouseEvent { kind, row, col, mods: Mods::NONE };
    String::from_utf8(encode(&InputEvent::Mouse(event), modes)).unwrap()
}

#[test]
fn mouse_events_follow_mode_and_encoding() {
    use MouseKind::{Down, Drag, Moved, Up, WheelDown, WheelUp};
    let left = MouseButton::Left;
    let sgr = |mouse| InputModes { mouse, mouse_encoding: MouseEncoding::Sgr, ..InputModes::default() };
    let x10 = |mouse| InputModes { mouse, ..InputModes::default() };
    let utf8 = InputModes {
        mouse: MouseMode::AnyMotion,
        mouse_encoding: MouseEncoding::Utf8,
        ..InputModes::default()
    };
    let table = [
        (Down(left), sgr(MouseMode::PressRelease), "\x1b[<0;4;3M"),
        (Up(left), sgr(MouseMode::PressRelease), "\x1b[<0;4;3m"),
        (Down(MouseButton::Right), sgr(MouseMode::PressRelease), "\x1b[<2;4;3M"),
        (Drag(left), sgr(MouseMode::PressRelease), ""),
        (Drag(left), sgr(MouseMode::ButtonMotion), "\x1b[<32;4;3M"),
        (Moved, sgr(MouseMode::ButtonMotion), ""),
        (Moved, sgr(MouseMode::AnyMotion), "\x1b[<35;4;3M"),
        (WheelUp, sgr(MouseMode::PressRelease), "\x1b[<64;4;3M"),
        (WheelDown, sgr(MouseMode::PressRelease), "\x1b[<65;4;3M"),
        (Up(left), sgr(MouseMode::Press), ""),
        (Down(left), sgr(MouseMode::Off), ""),
        (Down(MouseButton::Middle), x10(MouseMode::PressRelease), "\x1b[M!$#"),
        (Up(MouseButton::Middle), x10(MouseMode::PressRelease), "\x1b[M#$#"),
        (Up(MouseButton::Middle), utf8, "\x1b[M#$#"),
    ];
    for (kind, modes, expected) in table {
        assert_eq!(mouse_text(kind, 2, 3, &modes), expected, "{kind:?} {modes:?}");
    }
    assert_eq!(mouse_text(Down(left), 0, 300, &utf8), "\x1b[M \u{14d}!");
    let far = MouseEvent { kind: Down(left), row: 0, col: 222, mods: Mods::NONE };
    let encode_far = |col, modes: &InputModes| encode(&InputEvent::Mouse(MouseEvent { col, ..far }), modes);
    assert_eq!(encode_far(222, &x10(MouseMode::PressRelease)), b"\x1b[M \xff!");
    assert_eq!(encode_far(223, &x10(MouseMode::PressRelease)), b"");
    assert_eq!(encode_far(2015, &utf8), b"");
}

#[test]
fn modifiers_of_the_mouse_and_shift_stays_ours() {
    let modes = InputModes {
        mouse: MouseMode::PressRelease,
        mouse_encoding: MouseEncoding::Sgr,
        ..InputModes::default()
    };
    let with = |mods, modes: &InputModes| {
        let event = MouseEvent { kind: MouseKind::Down(MouseButton::Left), row: 0, col: 0, mods };
        String::from_utf8(encode(&InputEvent::Mouse(event), modes)).unwrap()
    };
    let ctrl_alt = Mods { is_ctrl: true, is_alt: true, ..Mods::NONE };
    assert_eq!(with(ctrl_alt, &modes), "\x1b[<24;1;1M");
    assert_eq!(with(ctrl_alt, &InputModes { mouse: MouseMode::Press, ..modes }), "\x1b[<0;1;1M");
    assert_eq!(with(Mods { is_shift: true, ..Mods::NONE }, &modes), "");
}

#[test]
fn the_wheel_becomes_arrows_only_on_the_alternate_screen() {
    let alt = InputModes { is_alt_screen: true, is_alternate_scroll: true, ..InputModes::default() };
    assert_eq!(mouse_text(MouseKind::WheelUp, 1, 1, &alt), "\x1b[A\x1b[A\x1b[A");
    let application = InputModes { is_application_cursor: true, ..alt };
    assert_eq!(mouse_text(MouseKind::WheelDown, 1, 1, &application), "\x1bOB\x1bOB\x1bOB");
    assert_eq!(mouse_text(MouseKind::WheelLeft, 1, 1, &alt), "");
    assert_eq!(wheel_target(&alt), Wheel::Arrows);
    assert_eq!(wheel_target(&InputModes { mouse: MouseMode::Press, ..alt }), Wheel::Program);
    let main = InputModes { is_alternate_scroll: true, ..InputModes::default() };
    assert_eq!(wheel_target(&main), Wheel::History);
    assert_eq!(mouse_text(MouseKind::WheelUp, 1, 1, &main), "");
    assert_eq!(wheel_target(&InputModes { is_alternate_scroll: false, ..alt }), Wheel::History);
}

#[test]
fn focus_is_told_only_when_asked() {
    let asked = InputModes { is_focus_reported: true, ..InputModes::default() };
    assert_eq!(focus(true, &asked), b"\x1b[I");
    assert_eq!(encode(&InputEvent::Focus(false), &asked), b"\x1b[O");
    assert_eq!(focus(true, &InputModes::default()), b"");
}

#[test]
fn the_keypad_has_an_application_mode() {
    let as_ever = [
        ("KP-5", "5"),
        ("KP-+", "+"),
        ("KP-Enter", "\r"),
        ("C-KP-5", "\x1d"),
        ("KP-Left", "\x1b[D"),
        ("KP-Begin", "\x1b[E"),
        ("S-KP-Begin", "\x1b[1;2E"),
        ("KP-Delete", "\x1b[3~"),
    ];
    check(&InputModes::default(), &as_ever);
    let application = InputModes { is_application_keypad: true, ..InputModes::default() };
    check(&application, &[("5", "5"), ("Enter", "\r"), ("C-KP-5", "\x1d"), ("KP-Left", "\x1b[D")]);
    check(&application, &[("KP-x", "x"), ("A-KP-Enter", "\x1b\r")]);
    let keys = "0123456789*+,-./=".chars().zip("pqrstuvwxyjklmnoX".chars());
    for (key, letter) in keys {
        check(&application, &[(&format!("KP-{key}"), &format!("\x1bO{letter}"))]);
    }
    check(&application, &[("KP-Enter", "\x1bOM")]);
    let modes = InputModes { is_application_cursor: true, ..application };
    check(&modes, &[("KP-Left", "\x1bOD"), ("KP-Begin", "\x1bOE")]);
}

#[test]
fn kitty_has_codes_for_the_keypad_and_other_rare_keys() {
    let rare = [
        ("KP-Enter", "\x1b[57414u"),
        ("C-KP-5", "\x1b[57404;5u"),
        ("KP-Left", "\x1b[57417u"),
        ("S-KP-PageDown", "\x1b[57422;2u"),
        ("KP-Delete", "\x1b[57426u"),
        ("KP-Begin", "\x1b[57427u"),
        ("Menu", "\x1b[57363u"),
        ("S-PrintScreen", "\x1b[57361;2u"),
        ("Pause", "\x1b[57362u"),
        ("F35", "\x1b[57398u"),
        ("Left", "\x1b[D"),
        ("Enter", "\r"),
    ];
    let application = InputModes { is_application_keypad: true, ..kitty(1) };
    check(&kitty(1), &rare);
    check(&application, &rare);
    check(&kitty(1), &[("KP-0", "0"), ("KP-*", "*"), ("S-KP-5", "5")]);
    check(&kitty(2), &[("KP-Enter", "\r"), ("KP-Left", "\x1b[D"), ("KP-0", "0")]);
    let all: Vec<String> = "0123456789./*-+".chars().map(|c| format!("KP-{c}")).collect();
    for (key, code) in all.iter().zip(57399..) {
        check(&kitty(8), &[(key, &format!("\x1b[{code}u"))]);
    }
    check(&kitty(8), &[("KP-=", "\x1b[57415u"), ("KP-,", "\x1b[57416u"), ("KP-x", "\x1b[120u")]);
    check(&kitty(24), &[("KP-7", "\x1b[57406;;55u"), ("S-KP-7", "\x1b[57406;2;55u")]);
    check(&kitty(24), &[("C-KP-7", "\x1b[57406;5u"), ("KP-Enter", "\x1b[57414u")]);
    let with = |name, phase| String::from_utf8(key(&KeyEvent { phase, ..parse(name) }, &kitty(3))).unwrap();
    assert_eq!(with("KP-Enter", KeyPhase::Release), "\x1b[57414;1:3u");
    assert_eq!(with("KP-Up", KeyPhase::Repeat), "\x1b[57419;1:2u");
    assert_eq!(with("KP-5", KeyPhase::Release), "");
}
