//! Every key with every modifier, from an attached client through server and holder into a program that
//! reads with crossterm, in each keyboard protocol.

use super::program::{Program, Reads};
use crate::lifecycle::attach;
use crate::support::sandbox::Sandbox;
use crate::support::wait::until;
use orca::base::id::TerminalId;
use orca::base::input::{InputEvent, Key, KeyEvent, KeyPhase, Mods};
use orca::client::wire::Connection;
use orca::proto::screen::ClientFrame;

/// Typed after each key, so that it is known where the next one begins.
const MARK: char = '·';

/// Keys that are typed before the program is known to have read them.
const N_AHEAD: usize = 16;

/// A client that types into one program.
struct Typist {
    client: Connection,
    program: Program,
}

impl Typist {
    fn start(sandbox: &Sandbox, name: &str, setup: &str, reads: Reads) -> Self {
        let program = Program::start(sandbox, name, setup, reads);
        Self { client: attach(sandbox), program }
    }

    fn send(&mut self, event: KeyEvent) {
        let terminal = TerminalId::parse(&self.program.terminal).unwrap();
        self.client.send(&ClientFrame::Input { terminal, event: InputEvent::Key(event) }).unwrap();
    }

    fn wait_for(&self, is_there: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        until(
            || Some(self.program.notes()).filter(|notes| is_there(notes)),
            || String::from_utf8_lossy(&self.program.notes()).into_owned(),
        )
    }

    /// What the program noted for each event.
    fn type_all(&mut self, events: &[KeyEvent]) -> Vec<String> {
        let n_lines = |notes: &[u8]| notes.iter().filter(|byte| **byte == b'\n').count();
        let n_marks = |notes: &[u8]| String::from_utf8_lossy(notes).matches(&format!("{MARK}\n")).count();
        for (number, event) in events.iter().enumerate() {
            let is_escape =
                event.key == Key::Esc || (event.mods.is_ctrl && matches!(event.key, Key::Char('[' | '3')));
            // Two bytes that come together are read as one key after an ESC. And crossterm forgets what it
            // did not read in one go (1 KiB) until more comes, so the program must never be far behind.
            let before = if is_escape || number % N_AHEAD == 0 {
                n_lines(&self.wait_for(|notes| n_marks(notes) == number))
            } else {
                0
            };
            self.send(*event);
            if is_escape {
                self.wait_for(|notes| n_lines(notes) > before);
            }
            if begins_sequence(event) {
                self.send(press(Key::Char('z'), Mods::NONE));
            }
            self.send(press(Key::Char(MARK), Mods::NONE));
        }
        let notes = String::from_utf8(self.wait_for(|notes| n_marks(notes) == events.len())).unwrap();
        let told = notes.split(MARK).zip(events).map(|(told, event)| {
            let told = told.trim();
            let told = if begins_sequence(event) { told.trim_end_matches('z') } else { told };
            told.trim().replace('\n', " ")
        });
        told.collect()
    }
}

/// ESC and this character begin a sequence, so that in the legacy protocol the next key is taken for its end.
fn begins_sequence(event: &KeyEvent) -> bool {
    event.mods.is_alt && !event.mods.is_ctrl && matches!(event.key, Key::Char('[' | 'O'))
}

fn press(key: Key, mods: Mods) -> KeyEvent {
    KeyEvent::press(key, mods)
}

/// Every key with every combination of Shift, Alt and Ctrl, as clients send them: with Shift a letter is a
/// capital, and what Shift makes of another character is a character of its own.
fn all_keys() -> Vec<KeyEvent> {
    use Key::{
        Backspace, Char, Delete, Down, End, Enter, Esc, F, Home, Insert, Left, PageDown, PageUp, Right, Tab,
        Up,
    };
    let named = [
        Up,
        Down,
        Right,
        Left,
        Home,
        End,
        PageUp,
        PageDown,
        Insert,
        Delete,
        Enter,
        Tab,
        Backspace,
        Esc,
        Char(' '),
    ];
    let characters =
        "abcdefghijklmnopqrstuvwxyz0123456789`-=[]\\;',./~!@#$%^&*()_+{}|:\"<>?üñ한".chars().map(Char);
    let keys = named.into_iter().chain((1..=12).map(F)).chain(characters);
    let with_mods = keys.flat_map(|key| (0..8).map(move |bits| (key, bits)));
    let events = with_mods.map(|(key, bits)| {
        let mods =
            Mods { is_shift: bits & 1 != 0, is_alt: bits & 2 != 0, is_ctrl: bits & 4 != 0, is_super: false };
        match key {
            Char(c) if mods.is_shift && c.is_alphabetic() => {
                press(Char(c.to_uppercase().next().unwrap()), mods)
            }
            _ => press(key, mods),
        }
    });
    let is_real = |event: &KeyEvent| match event.key {
        Char(c) => !event.mods.is_shift || c == ' ' || c.is_uppercase(),
        _ => true,
    };
    events.filter(is_real).collect()
}

/// The name under which the program knows the key.
fn name(event: &KeyEvent) -> String {
    let KeyEvent { key, mods, is_keypad, .. } = event;
    let prefixes = [(mods.is_ctrl, "C-"), (mods.is_alt, "A-"), (mods.is_shift, "S-")];
    let prefixes: String = prefixes.iter().filter(|(is_on, _)| *is_on).map(|(_, prefix)| *prefix).collect();
    let prefixes = format!("{prefixes}{}", if *is_keypad { "KP-" } else { "" });
    match key {
        Key::Char(' ') => format!("{prefixes}Space"),
        Key::Char(c) => format!("{prefixes}{}", c.to_lowercase()),
        Key::F(number) => format!("{prefixes}F{number}"),
        key => format!("{prefixes}{key:?}"),
    }
}

/// Types all keys; gives those that the program reads otherwise, and what it reads.
fn misread(sandbox: &Sandbox, protocol: &str, setup: &str) -> Vec<String> {
    let events = all_keys();
    let read = Typist::start(sandbox, protocol, setup, Reads::Keys).type_all(&events);
    let names: Vec<String> = events.iter().map(name).collect();
    let pairs = names.iter().zip(read).filter(|(name, read)| *name != read);
    pairs
        .map(|(name, read)| format!("{name} -> {}", if read.is_empty() { "nothing" } else { &read }))
        .collect()
}

#[test]
fn every_key_arrives_as_it_was_typed_as_far_as_the_protocol_goes() {
    let sandbox = Sandbox::new();
    let n_keys = all_keys().len();
    for (protocol, setup) in [
        ("legacy", ""),
        ("legacy-application", "\x1b[?1h\x1b="),
        ("kitty-1", "\x1b[>1u"),
        ("kitty-3", "\x1b[>3u"),
        ("kitty-7", "\x1b[>7u"),
        ("kitty-15", "\x1b[>15u"),
    ] {
        let misread = misread(&sandbox, protocol, setup);
        let table = format!("{} of {n_keys} as typed\n{}", n_keys - misread.len(), misread.join("\n"));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("keys-{protocol}"), table);
        });
    }
}

#[test]
fn the_keypad_is_told_apart_in_kittys_protocol() {
    let sandbox = Sandbox::new();
    let all = all_keys().into_iter().filter(|event| match event.key {
        Key::Char(c) => c.is_ascii_digit() || "./*-+=,".contains(c),
        Key::F(_) | Key::Tab | Key::BackTab | Key::Backspace | Key::Esc => false,
        _ => true,
    });
    let begin = (0..2).map(|bits| press(Key::KeypadBegin, Mods { is_shift: bits == 1, ..Mods::NONE }));
    let rare = [Key::Menu, Key::PrintScreen, Key::Pause, Key::F(13), Key::F(35)];
    let events: Vec<KeyEvent> = all
        .chain(begin)
        .map(|event| KeyEvent { is_keypad: true, ..event })
        .chain(rare.map(|key| press(key, Mods::NONE)))
        .collect();
    for (protocol, setup, is_text_told) in
        [("keypad-1", "\x1b=\x1b[>1u", false), ("keypad-15", "\x1b[>15u", true)]
    {
        let read = Typist::start(&sandbox, protocol, setup, Reads::Keys).type_all(&events);
        for (event, read) in events.iter().zip(read) {
            let is_text = matches!(event.key, Key::Char(_)) && !event.mods.is_ctrl && !event.mods.is_alt;
            let is_keypad = event.is_keypad && (is_text_told || !is_text);
            assert_eq!(read, name(&KeyEvent { is_keypad, ..*event }), "{protocol}: {event:?}");
        }
    }
}

#[test]
fn modify_other_keys_tells_what_legacy_cannot_and_nothing_else() {
    let sandbox = Sandbox::new();
    // crossterm does not know this protocol, so the bytes themselves are looked at.
    let read = |name: &str, setup: &str| -> Vec<String> {
        let mut typist = Typist::start(&sandbox, name, setup, Reads::Bytes);
        let events = all_keys();
        for event in &events {
            typist.send(*event);
            typist.send(press(Key::Char(MARK), Mods::NONE));
        }
        let text = |notes: &[u8]| String::from_utf8_lossy(notes).into_owned();
        let notes = text(&typist.wait_for(|notes| text(notes).matches(MARK).count() == events.len()));
        notes.split(MARK).take(events.len()).map(str::to_owned).collect()
    };
    let (legacy, some, all) = (read("off", ""), read("some", "\x1b[>4;1m"), read("all", "\x1b[>4;2m"));
    for (at, event) in all_keys().iter().enumerate() {
        let Mods { is_shift, is_alt, is_ctrl, .. } = event.mods;
        let code = match event.key {
            Key::Char(c) => Some(u32::from(c)),
            Key::Enter => Some(13),
            Key::Tab => Some(9),
            Key::Esc => Some(27),
            Key::Backspace => Some(127),
            _ => None,
        };
        let modifiers = 1 + u32::from(is_shift) + 2 * u32::from(is_alt) + 4 * u32::from(is_ctrl);
        let told = code.map(|code| format!("\x1b[27;{modifiers};{code}~"));
        let is_text = matches!(event.key, Key::Char(_) | Key::Tab);
        let is_told = if is_text { is_alt || is_ctrl } else { modifiers > 1 };
        let expected = told.clone().filter(|_| is_told).unwrap_or_else(|| legacy[at].clone());
        // The form of Shift+F3 that reads as a report goes once the program asked for more.
        let is_f3 = event.key == Key::F(3) && modifiers > 1;
        let expected = if is_f3 { format!("\x1b[13;{modifiers}~") } else { expected };
        assert_eq!(all[at], expected, "{}", name(event));
        let is_as_ever = some[at] == legacy[at] || is_f3;
        assert!(is_as_ever || Some(&some[at]) == told.as_ref(), "{}: {:?}", name(event), some[at]);
    }
    let n_told = some.iter().filter(|read| read.starts_with("\x1b[27;")).count();
    assert!(n_told > 100, "level 1 told {n_told} keys");
}

#[test]
fn repeats_and_releases_arrive_where_they_were_asked_for() {
    let sandbox = Sandbox::new();
    let keys =
        [Key::Char('x'), Key::Enter, Key::Tab, Key::Backspace, Key::Esc, Key::Up, Key::Delete, Key::F(5)];
    let plain = keys.map(|key| press(key, Mods::NONE));
    let with_ctrl = keys.map(|key| press(key, Mods { is_ctrl: true, ..Mods::NONE }));
    let phases = |event: &KeyEvent| {
        [KeyPhase::Press, KeyPhase::Repeat, KeyPhase::Release].map(|phase| KeyEvent { phase, ..*event })
    };
    for (protocol, setup, has_releases_of_text) in
        [("phases-3", "\x1b[>3u", false), ("phases-15", "\x1b[>15u", true)]
    {
        let events: Vec<KeyEvent> = plain.iter().chain(&with_ctrl).flat_map(phases).collect();
        let read = Typist::start(&sandbox, protocol, setup, Reads::Keys).type_all(&events);
        for (at, event) in events.iter().enumerate() {
            let is_bare_text = event.mods == Mods::NONE
                && matches!(event.key, Key::Char(_) | Key::Enter | Key::Tab | Key::Backspace);
            let is_text = is_bare_text && !has_releases_of_text;
            let expected = match event.phase {
                KeyPhase::Press => name(event),
                KeyPhase::Repeat if is_text => name(event),
                KeyPhase::Repeat => format!("{}:repeat", name(event)),
                KeyPhase::Release if is_text => String::new(),
                KeyPhase::Release => format!("{}:release", name(event)),
            };
            assert_eq!(read[at], expected, "{protocol}: {event:?}");
        }
    }
}
