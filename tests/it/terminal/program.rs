//! A program in a pane that writes down what it is sent: as events, the way crossterm reads them, or as
//! bytes. This test binary runs itself as that program.

use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

const SETUP: &str = "ORCA_TEST_PROGRAM_SETUP";
const NOTES: &str = "ORCA_TEST_PROGRAM_NOTES";
const READS: &str = "ORCA_TEST_PROGRAM_READS";

/// What the program writes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// One line for each key that crossterm tells of.
    Keys,
    /// The bytes as they come.
    Bytes,
}

/// The program in its pane.
pub struct Program {
    pub terminal: String,
    notes: PathBuf,
}

impl Program {
    /// Starts it in raw mode; it writes `setup` to its terminal first, and only then takes notes.
    pub fn start(sandbox: &Sandbox, name: &str, setup: &str, reads: Reads) -> Self {
        let notes = sandbox.scratch().join(name);
        let own = std::env::current_exe().unwrap();
        let setup: String = setup.bytes().map(|byte| format!("{byte:02x}")).collect();
        let command = format!(
            "{SETUP}={setup} {NOTES}='{}' {READS}={reads:?} '{}' --exact terminal::program::in_a_pane --ignored --nocapture",
            notes.display(),
            own.display(),
        );
        let created = sandbox.ask(&["terminal", "create", "--command", &command]);
        let program = Self { terminal: created["terminal"]["handle"].as_str().unwrap().to_owned(), notes };
        let shown = || sandbox.ask(&["terminal", "read", "--terminal", &program.terminal]).to_string();
        until(|| program.notes.exists().then_some(()), || format!("{}\n{}", shown(), sandbox.log()));
        program
    }

    /// What it wrote down so far.
    pub fn notes(&self) -> Vec<u8> {
        std::fs::read(&self.notes).unwrap()
    }
}

/// The program itself. Alone it has nothing to do.
#[test]
#[ignore = "a program that other tests start in a pane"]
fn in_a_pane() {
    let Some(notes) = std::env::var_os(NOTES) else { return };
    let setup = std::env::var(SETUP).unwrap();
    let setup: Vec<u8> =
        (0..setup.len()).step_by(2).map(|at| u8::from_str_radix(&setup[at..at + 2], 16).unwrap()).collect();
    crossterm::terminal::enable_raw_mode().unwrap();
    // An answer to the last question says that the terminal has taken in the rest.
    let mut out = std::io::stdout().lock();
    out.write_all(&setup).unwrap();
    out.write_all(b"\x1b[5n").unwrap();
    out.flush().unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\x1b[0n") {
        let mut byte = [0];
        rustix::io::read(std::io::stdin(), &mut byte).unwrap();
        answer.extend_from_slice(&byte);
    }
    let mut notes = std::fs::File::create(notes).unwrap();
    if std::env::var(READS).unwrap() == format!("{:?}", Reads::Bytes) {
        let mut buffer = [0; 64 << 10];
        loop {
            let n_read = std::io::stdin().read(&mut buffer).unwrap();
            notes.write_all(&buffer[..n_read]).unwrap();
        }
    }
    loop {
        if let Event::Key(event) = crossterm::event::read().unwrap() {
            // In one piece: whoever reads along must not see half of it.
            notes.write_all(format!("{}\n", name_of(&event)).as_bytes()).unwrap();
        }
    }
}

/// `C-`, `A-`, `S-`, `KP-` in front of a lower-case character or a key's name, and its phase where it is no
/// press.
fn name_of(event: &KeyEvent) -> String {
    let mut mods = event.modifiers;
    let key = match event.code {
        KeyCode::Char(' ') => String::from("Space"),
        KeyCode::Char(c) if c.is_uppercase() => {
            mods |= KeyModifiers::SHIFT;
            c.to_lowercase().to_string()
        }
        KeyCode::Char(c) => c.to_string(),
        KeyCode::F(number) => format!("F{number}"),
        KeyCode::BackTab => {
            mods |= KeyModifiers::SHIFT;
            String::from("Tab")
        }
        code => format!("{code:?}"),
    };
    let prefixes = [(KeyModifiers::CONTROL, "C-"), (KeyModifiers::ALT, "A-"), (KeyModifiers::SHIFT, "S-")];
    let prefixes: String =
        prefixes.iter().filter(|(modifier, _)| mods.contains(*modifier)).map(|(_, prefix)| *prefix).collect();
    let phase = match event.kind {
        KeyEventKind::Press => "",
        KeyEventKind::Repeat => ":repeat",
        KeyEventKind::Release => ":release",
    };
    let keypad = if event.state.contains(KeyEventState::KEYPAD) { "KP-" } else { "" };
    format!("{prefixes}{keypad}{key}{phase}")
}
