//! Ten megabytes, pasted into a program that reads bytes.

use super::program::{Program, Reads};
use crate::lifecycle::attach;
use crate::screens::Screen;
use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use orca::base::id::TerminalId;
use orca::base::input::InputEvent;
use orca::proto::screen::ClientFrame;

const N_BYTES: usize = 10_000_000;

/// Text with everything in it that may not arrive, and the same as it should.
fn text() -> (String, String) {
    let (mut typed, mut arrives) = (String::new(), String::new());
    let mut number = 0;
    while typed.len() < N_BYTES {
        typed.push_str(&format!("{number}: \"ü 漢 👩\u{200d}💻\"\t\\\x03\x1b[31m\x07\u{9b}\x7f\r\nand\n"));
        arrives.push_str(&format!("{number}: \"ü 漢 👩\u{200d}💻\"\t\\[31m\rand\r"));
        number += 1;
    }
    (typed, arrives)
}

/// Waits for the end of the paste and compares all of it.
fn check(sandbox: &Sandbox, program: &Program, arrives: &str) {
    let expected = format!("\x1b[200~{arrives}\x1b[201~");
    let notes = until(
        || Some(program.notes()).filter(|notes| notes.len() >= expected.len()),
        || format!("{} bytes of {} arrived\n{}", program.notes().len(), expected.len(), sandbox.log()),
    );
    let differs = notes.iter().zip(expected.as_bytes()).position(|(got, wanted)| got != wanted);
    assert_eq!((notes.len(), differs), (expected.len(), None), "the first byte that differs");
}

#[test]
fn ten_megabytes_arrive_whole_in_one_pair_of_brackets() {
    let sandbox = Sandbox::new();
    let program = Program::start(&sandbox, "paste", "\x1b[?2004h", Reads::Bytes);
    let (typed, arrives) = text();
    let mut client = attach(&sandbox);
    // What comes behind waits its turn.
    let events = [InputEvent::Paste(typed), InputEvent::Paste(String::from("end"))];
    for event in events {
        let terminal = TerminalId::parse(&program.terminal).unwrap();
        client.send(&ClientFrame::Input { terminal, event }).unwrap();
    }
    check(&sandbox, &program, &format!("{arrives}\x1b[201~\x1b[200~end"));
}

#[test]
fn ten_megabytes_go_through_the_screen_of_a_person() {
    let sandbox = Sandbox::with_repo();
    let program = Program::start(&sandbox, "paste", "\x1b[?2004h", Reads::Bytes);
    let mut screen = Screen::attach(&sandbox, 24, 80);
    sandbox.ask(&["terminal", "switch", "--terminal", &program.terminal]);
    screen.wait_for("running 1 test");
    let (typed, arrives) = text();
    // The terminal in front answers what it was asked only now, in the same breath.
    screen.keys(&format!("\x1b[200~first\n\x1b[201~\x1b[?62c\x1b[200~{typed}\x1b[201~"));
    let arrives = format!("first\r\x1b[201~\x1b[200~{arrives}");
    check(&sandbox, &program, &arrives);
}
