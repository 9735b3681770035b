//! The ways of a text to the person's own clipboard, and what is said about each: how it went is only
//! claimed where it is known.
//!
//! [`way`] decides, purely. [`Porter`] carries, on a thread of its own, because programs take their
//! time; the outcome comes back as a message with the bytes that the host's terminal is to get.

use crate::base::sched::{self, Class};
use crate::base::text;
use crate::config::env::Environment;
use crate::config::{ClipboardRoute, ClipboardSettings};
use base64::Engine as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The longest text by OSC 52: with more, the sequence passes the 100,000 bytes that many terminals
/// read at most.
pub const MAX_OSC52: usize = 74_994;
/// The longest string that GNU screen hands on.
const SCREEN_CHUNK: usize = 768;
/// Texts that wait for a program at most; more are dropped.
const MAX_WAITING: usize = 4;
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The programs that are looked for, in order, with what has to be there for each.
const TOOLS: &[(&[&str], Display)] = &[
    (&["wl-copy"], Display::Wayland),
    (&["xclip", "-selection", "clipboard", "-in"], Display::X11),
    (&["xsel", "--clipboard", "--input"], Display::X11),
    (&["pbcopy"], Display::Any),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Display {
    Wayland,
    X11,
    Any,
}

/// A text for the clipboard; `who` put it there, if not the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub text: String,
    pub who: Option<String>,
}

/// How it went: bytes for the host's terminal, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    pub bytes: Option<String>,
    pub note: String,
    pub is_error: bool,
}

/// What is between this client and the person's clipboard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub is_remote: bool,
    pub has_display: bool,
    pub is_in_tmux: bool,
    pub is_in_screen: bool,
    /// The clipboard program that would work here.
    pub tool: Option<Vec<String>>,
}

impl Facts {
    /// What the environment says. Looks for programs in the search path.
    pub fn of(environment: &Environment) -> Self {
        let is_there = |display: Display| match display {
            Display::Wayland => environment.has_wayland,
            Display::X11 => environment.has_x11,
            Display::Any => true,
        };
        let tool = TOOLS.iter().find(|(argv, display)| {
            let name = argv.first().copied().unwrap_or_default();
            is_there(*display)
                && crate::config::env::find_program(name, &environment.path, &environment.cwd).is_some()
        });
        let is_pasteboard = tool.is_some_and(|(_, display)| *display == Display::Any);
        Self {
            is_remote: environment.is_remote,
            has_display: environment.has_wayland || environment.has_x11 || is_pasteboard,
            is_in_tmux: environment.is_in_tmux,
            is_in_screen: environment.is_in_screen,
            tool: tool.map(|(argv, _)| argv.iter().map(|word| (*word).to_owned()).collect()),
        }
    }
}

/// A way to the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// OSC 52 to the terminal around this client.
    Terminal,
    /// A program that reads the text; whether OSC 52 is the way where it fails.
    Program { argv: Vec<String>, has_other: bool },
    /// Nowhere, and why.
    Nowhere { why: String, is_error: bool },
}

/// The way of a text of `n_bytes`.
pub fn way(settings: &ClipboardSettings, facts: &Facts, n_bytes: usize) -> Way {
    let nowhere = |why: &str| Way::Nowhere { why: why.to_owned(), is_error: true };
    match settings.route {
        ClipboardRoute::Off => {
            Way::Nowhere { why: String::from("clipboard.route is \"off\""), is_error: false }
        }
        ClipboardRoute::Osc52 => Way::Terminal,
        ClipboardRoute::Command if settings.command.is_empty() => {
            nowhere("clipboard.route is \"command\", and clipboard.command names none")
        }
        ClipboardRoute::Command => Way::Program { argv: settings.command.clone(), has_other: false },
        ClipboardRoute::Native => match &facts.tool {
            Some(argv) => Way::Program { argv: argv.clone(), has_other: false },
            None => nowhere("there is no wl-copy, xclip, xsel or pbcopy that works here"),
        },
        ClipboardRoute::Auto => match &facts.tool {
            // What lies on the clipboard of a remote machine reaches nobody.
            Some(argv) if facts.has_display && !facts.is_remote => {
                Way::Program { argv: argv.clone(), has_other: n_bytes <= MAX_OSC52 }
            }
            Some(_) | None => Way::Terminal,
        },
    }
}

/// What tmux around us does with clipboard sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tmux {
    /// It hands on what is wrapped.
    Passes,
    /// It takes the sequence itself and sends it on.
    Takes,
    /// Neither; its own buffer is the way.
    Keeps { is_sent_on: bool },
    /// It could not be asked.
    Unknown,
}

impl Tmux {
    /// Asks tmux for its options: `set-clipboard` and `allow-passthrough`.
    fn ask() -> Self {
        let mut command = Command::new("tmux");
        command.args(["display-message", "-p", "#{set-clipboard}/#{allow-passthrough}"]);
        match run(&mut command, "") {
            Ok(answer) => Self::of(answer.trim()),
            Err(_) => Self::Unknown,
        }
    }

    fn of(answer: &str) -> Self {
        match answer.split_once('/') {
            // Before the option existed, everything wrapped was handed on.
            Some((_, "1" | "on" | "2" | "all" | "")) => Self::Passes,
            Some(("2" | "on", _)) => Self::Takes,
            Some((set, _)) => Self::Keeps { is_sent_on: matches!(set, "1" | "external") },
            None => Self::Unknown,
        }
    }
}

/// The bytes that put text onto the clipboard of the terminal that reads them (OSC 52, write only).
pub fn osc52(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64::engine::general_purpose::STANDARD.encode(text))
}

/// A sequence for the terminal around tmux.
fn through_tmux(sequence: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
}

/// A sequence for the terminal around GNU screen, which hands on short strings only.
fn through_screen(sequence: &str) -> String {
    let pieces = sequence.as_bytes().chunks(SCREEN_CHUNK - 4);
    pieces.map(|piece| format!("\x1bP{}\x1b\\", String::from_utf8_lossy(piece))).collect()
}

/// Carries texts to the clipboard, one after the other.
#[derive(Debug)]
pub struct Porter {
    orders: SyncSender<Order>,
}

impl Porter {
    /// A porter that hands each outcome to `tell`, until that says stop.
    pub fn new(
        settings: ClipboardSettings,
        facts: Facts,
        tell: impl Fn(Outcome) -> bool + Send + 'static,
    ) -> Self {
        let (orders, waiting) = sync_channel(MAX_WAITING);
        std::thread::spawn(move || carry_all(&waiting, &settings, &facts, &tell));
        Self { orders }
    }

    /// Takes an order. One too many is dropped: a program may not keep programs starting.
    pub fn take(&self, order: Order) {
        drop(self.orders.try_send(order));
    }
}

fn carry_all(
    waiting: &Receiver<Order>,
    settings: &ClipboardSettings,
    facts: &Facts,
    tell: &dyn Fn(Outcome) -> bool,
) {
    sched::set(Class::Usual);
    while let Ok(order) = waiting.recv() {
        if !tell(carry(&order, settings, facts)) {
            return;
        }
    }
}

fn carry(order: &Order, settings: &ClipboardSettings, facts: &Facts) -> Outcome {
    let subject = subject(order);
    match way(settings, facts, order.text.len()) {
        Way::Nowhere { why, is_error } => {
            Outcome { bytes: None, note: format!("{subject} for orca's own paste only: {why}."), is_error }
        }
        Way::Terminal => by_terminal(order, facts, &subject),
        Way::Program { argv, has_other } => {
            let name = argv.first().cloned().unwrap_or_default();
            let mut command = Command::new(&name);
            command.args(argv.get(1..).unwrap_or_default());
            match run(&mut command, &order.text) {
                Ok(_) => Outcome {
                    note: format!("{subject} with {}.", text::one_line(&name)),
                    ..Outcome::default()
                },
                Err(why) if has_other => {
                    let outcome = by_terminal(order, facts, &subject);
                    Outcome { note: format!("{} ({} {why})", outcome.note, text::one_line(&name)), ..outcome }
                }
                Err(why) => Outcome {
                    bytes: None,
                    note: format!("{} {why}; {subject} for orca's own paste only.", text::one_line(&name)),
                    is_error: true,
                },
            }
        }
    }
}

/// `Copied 3 lines`, `claude copied 12 characters`.
fn subject(order: &Order) -> String {
    let n_lines = order.text.lines().count();
    let n_chars = order.text.chars().count();
    let what = match (n_lines, n_chars) {
        (2.., _) => format!("{n_lines} lines"),
        (_, 1) => String::from("1 character"),
        (_, n_chars) => format!("{n_chars} characters"),
    };
    match &order.who {
        Some(who) => format!("{who} copied {what}"),
        None => format!("Copied {what}"),
    }
}

fn by_terminal(order: &Order, facts: &Facts, subject: &str) -> Outcome {
    let n_bytes = order.text.len();
    let tmux = facts.is_in_tmux.then(Tmux::ask);
    if let Some(Tmux::Keeps { is_sent_on }) = tmux {
        return by_tmux_buffer(&order.text, subject, is_sent_on);
    }
    if n_bytes > MAX_OSC52 {
        let note = format!(
            "{subject} for orca's own paste only: {n_bytes} bytes are more than terminals take by OSC 52 ({MAX_OSC52})."
        );
        return Outcome { bytes: None, note, is_error: true };
    }
    let sequence = osc52(&order.text);
    let (bytes, how) = match tmux {
        Some(Tmux::Passes) => (through_tmux(&sequence), "by OSC 52 through tmux, if your terminal takes it"),
        Some(Tmux::Takes) => (sequence, "by OSC 52; tmux (set-clipboard on) hands it to your terminal"),
        Some(Tmux::Unknown | Tmux::Keeps { .. }) => {
            (through_tmux(&sequence), "by OSC 52 through tmux; needs `set -g allow-passthrough on` there")
        }
        None if facts.is_in_screen => {
            (through_screen(&sequence), "by OSC 52 through screen, if your terminal takes it")
        }
        None => (sequence, "by OSC 52, if your terminal takes it"),
    };
    Outcome { bytes: Some(bytes), note: format!("{subject} {how}."), is_error: false }
}

/// The way through a tmux with its usual settings: its own buffer, which it sends on itself.
fn by_tmux_buffer(copied: &str, subject: &str, is_sent_on: bool) -> Outcome {
    let mut command = Command::new("tmux");
    command.args(["load-buffer", "-w", "-"]);
    match run(&mut command, copied) {
        Ok(_) if is_sent_on => Outcome {
            note: format!("{subject} through tmux, if your terminal takes OSC 52."),
            ..Outcome::default()
        },
        Ok(_) => Outcome {
            note: format!("{subject} into tmux's buffer only; needs `set -g set-clipboard on` there."),
            ..Outcome::default()
        },
        Err(why) => Outcome {
            note: format!(
                "{subject} for orca's own paste only: tmux {why}. It needs `set -g allow-passthrough on`."
            ),
            is_error: true,
            bytes: None,
        },
    }
}

/// Runs a program that reads `input`. Gives what it wrote, or why it did not work, as the end of a
/// sentence that begins with its name.
fn run(command: &mut Command, input: &str) -> Result<String, String> {
    use std::io::Read as _;
    // A clipboard program stays in the background to serve the text, with our end of what it has open:
    // so only a question's answer is read.
    let is_question = input.is_empty();
    let out = if is_question { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("could not be started ({error})"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read is found by its exit status, or by its time.
        let input = input.to_owned();
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(format!("failed ({status})")),
            Ok(None) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                drop(child.kill());
                drop(child.wait());
                return Err(format!("took more than {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("could not be waited for ({error})")),
        }
    }
    let mut answer = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut answer).map_err(|error| format!("could not be read ({error})"))?;
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(route: ClipboardRoute) -> ClipboardSettings {
        ClipboardSettings { route, command: Vec::new() }
    }

    fn facts(is_remote: bool, has_display: bool, tool: Option<&str>) -> Facts {
        let tool = tool.map(|tool| vec![tool.to_owned()]);
        Facts { is_remote, has_display, tool, ..Facts::default() }
    }

    #[test]
    fn the_terminal_is_the_way_from_afar_and_a_program_on_the_own_desk() {
        let auto = settings(ClipboardRoute::Auto);
        let program = |has_other| Way::Program { argv: vec![String::from("xclip")], has_other };
        let check = |facts: Facts, n_bytes, expected: Way| {
            assert_eq!(way(&auto, &facts, n_bytes), expected, "{facts:?}");
        };
        check(facts(true, true, Some("xclip")), 9, Way::Terminal);
        check(facts(false, true, None), 9, Way::Terminal);
        check(facts(false, false, None), 9, Way::Terminal);
        check(facts(false, true, Some("xclip")), 9, program(true));
        check(facts(false, true, Some("xclip")), MAX_OSC52 + 1, program(false));
    }

    #[test]
    fn a_chosen_way_is_taken_or_said_to_be_closed() {
        let far = facts(true, false, None);
        assert_eq!(way(&settings(ClipboardRoute::Osc52), &far, 9), Way::Terminal);
        for (route, has_error) in
            [(ClipboardRoute::Off, false), (ClipboardRoute::Native, true), (ClipboardRoute::Command, true)]
        {
            let found = way(&settings(route), &far, 9);
            assert!(matches!(found, Way::Nowhere { is_error, .. } if is_error == has_error), "{found:?}");
        }
        let own = ClipboardSettings { route: ClipboardRoute::Command, command: vec![String::from("clip")] };
        assert!(matches!(way(&own, &far, 9), Way::Program { has_other: false, .. }));
    }

    #[test]
    fn sequences_are_wrapped_for_what_is_around_us() {
        assert_eq!(osc52("HELLO42"), "\x1b]52;c;SEVMTE80Mg==\x07");
        assert_eq!(through_tmux(&osc52("a")), "\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\");
        let long = osc52(&"x".repeat(2_000));
        let wrapped = through_screen(&long);
        let pieces: Vec<&str> = wrapped.split_inclusive("\x1b\\").collect();
        assert!(pieces.iter().all(|piece| piece.len() <= SCREEN_CHUNK && piece.starts_with("\x1bP")));
        let text: String =
            pieces.iter().filter_map(|piece| piece.strip_prefix("\x1bP")?.strip_suffix("\x1b\\")).collect();
        assert_eq!(text, long);
    }

    #[test]
    fn what_tmux_says_of_itself_decides_how_it_is_passed() {
        let check = |answer: &str, expected: Tmux| assert_eq!(Tmux::of(answer), expected, "{answer}");
        check("external/off", Tmux::Keeps { is_sent_on: true });
        check("1/0", Tmux::Keeps { is_sent_on: true });
        check("off/off", Tmux::Keeps { is_sent_on: false });
        check("on/off", Tmux::Takes);
        check("external/all", Tmux::Passes);
        check("external/", Tmux::Passes);
        check("", Tmux::Unknown);
    }

    #[test]
    fn every_outcome_says_what_and_how_and_claims_nothing_unknown() {
        let order = |text: &str| Order { text: text.to_owned(), who: None };
        let here = facts(true, false, None);
        let sent = carry(&order("a\nb\nc"), &settings(ClipboardRoute::Auto), &here);
        assert_eq!(sent.note, "Copied 3 lines by OSC 52, if your terminal takes it.");
        assert_eq!(sent.bytes, Some(osc52("a\nb\nc")));
        let long = carry(&order(&"x".repeat(80_000)), &settings(ClipboardRoute::Auto), &here);
        assert!(long.bytes.is_none() && long.is_error && long.note.contains("80000 bytes"), "{}", long.note);
        let command = |words: &[&str]| ClipboardSettings {
            route: ClipboardRoute::Command,
            command: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clip");
        let script = format!("cat > {}", file.display());
        let done = carry(&order("日本"), &command(&["sh", "-c", &script]), &here);
        assert_eq!((done.note.as_str(), done.is_error), ("Copied 2 characters with sh.", false));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "日本");
        let failed = carry(&order("x"), &command(&["false"]), &here);
        assert!(failed.is_error && failed.note.contains("orca's own paste only"), "{}", failed.note);
    }
}
