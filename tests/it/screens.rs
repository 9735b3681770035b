//! The screen on the real program: a terminal of its own in front, a real server behind.

use crate::support::sandbox::{Sandbox, orca};
use crate::support::wait;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex};

/// An attached client and the terminal it draws on.
pub struct Screen {
    parser: Arc<Mutex<vt100::Parser>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

fn size(n_rows: u16, n_cols: u16) -> PtySize {
    PtySize { rows: n_rows, cols: n_cols, pixel_width: 0, pixel_height: 0 }
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

impl Screen {
    pub fn attach(sandbox: &Sandbox, n_rows: u16, n_cols: u16) -> Self {
        let pair = native_pty_system().openpty(size(n_rows, n_cols)).unwrap();
        let plain = sandbox.command(&["attach"]);
        let mut command = CommandBuilder::new(plain.get_program());
        command.args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            }
        }
        command.env("TERM", "xterm-256color");
        // What is around the tests is not around the terminal they draw on.
        for name in ["TMUX", "STY", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"] {
            command.env_remove(name);
        }
        command.cwd(sandbox.repo());
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let parser = Arc::new(Mutex::new(vt100::Parser::new(some(n_rows), some(n_cols), 0)));
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (screen, log) = (parser.clone(), bytes.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n_read) = reader.read(&mut buffer) {
                if n_read == 0 {
                    break;
                }
                log.lock().unwrap().extend_from_slice(&buffer[..n_read]);
                screen.lock().unwrap().process(&buffer[..n_read]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { parser, bytes, master: pair.master, keys, child }
    }

    pub fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    pub fn wait_for(&self, wanted: &str) {
        wait::until(
            || self.text().contains(wanted).then_some(()),
            || format!("{wanted:?} in\n{}", self.text()),
        );
    }

    fn resize(&self, n_rows: u16, n_cols: u16) {
        self.parser.lock().unwrap().screen_mut().set_size(some(n_rows), some(n_cols));
        self.master.resize(size(n_rows, n_cols)).unwrap();
    }

    /// Waits for the end and gives the bytes written last.
    fn wait_for_end(&mut self) -> String {
        let ended = |screen: &mut Self| screen.child.try_wait().unwrap().map(|status| status.exit_code());
        let code = wait::until(|| ended(self), || String::from("the client ends"));
        assert_eq!(code, 0);
        let restored = |bytes: &[u8]| bytes.windows(8).any(|window| window == b"\x1b[?1049l");
        let bytes = self.bytes.clone();
        wait::until(
            || restored(&bytes.lock().unwrap()).then_some(()),
            || String::from("the terminal is given back"),
        );
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

#[test]
fn a_person_types_resizes_detaches_and_comes_back() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    screen.keys("echo 'he'llo; stty size\r");
    screen.wait_for("hello");
    screen.wait_for("22 80");
    screen.resize(40, 120);
    screen.wait_for("OTHER PANES");
    screen.keys("stty size\r");
    screen.wait_for("38 86");
    for (n_rows, n_cols) in [(3, 12), (1, 1), (24, 80)] {
        screen.resize(n_rows, n_cols);
    }
    screen.wait_for("shells");
    screen.keys("\x02?");
    screen.wait_for("After the prefix");
    // Esc and a key at once would be Alt and that key.
    screen.keys("q\x02d");
    let bytes = screen.wait_for_end();
    for given_back in ["\x1b[?2004l", "\x1b[?1004l", "\x1b[?1000l", "\x1b[?25h"] {
        assert!(bytes.contains(given_back), "{given_back:?}");
    }
    assert!(bytes.ends_with("everything keeps running, and orca brings it back\r\n"), "{bytes}");
    let again = Screen::attach(&sandbox, 24, 80);
    again.wait_for("hello");
}

#[test]
fn colours_that_a_program_redefines_reach_the_terminal_in_front_as_it_set_them() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    let wait_for_color = |screen: &Screen, wanted: vt100::Color| {
        let has_color = |screen: &Screen| {
            let parser = screen.parser.lock().unwrap();
            let cells = (0..24).flat_map(|row| (0..80).map(move |col| (row, col)));
            let mut shown = cells.filter_map(|(row, col)| parser.screen().cell(row, col));
            shown.any(|cell| cell.contents() == "@" && cell.fgcolor() == wanted)
        };
        wait::until(|| has_color(screen).then_some(()), || format!("{wanted:?} in\n{}", screen.text()));
    };
    screen.keys("printf '\\033[31m\\100\\033[m\\n'\r");
    wait_for_color(&screen, vt100::Color::Idx(1));
    screen.keys("printf '\\033]4;1;#010203\\007'\r");
    wait_for_color(&screen, vt100::Color::Rgb(1, 2, 3));
    screen.keys("printf '\\033]104\\007'\r");
    wait_for_color(&screen, vt100::Color::Idx(1));
}

#[test]
fn what_is_found_in_history_and_copied_reaches_the_terminal_in_front() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    screen.keys("seq 100; echo HEL'LO42 rest'; seq 300; echo do'ne'\r");
    screen.wait_for("\ndone");
    screen.keys("\x02[?HELLO42\r");
    screen.wait_for("1 of 1");
    screen.wait_for("HELLO42 rest");
    screen.keys("vey");
    screen.wait_for("Copied 7 characters by OSC 52, if your terminal takes it.");
    let bytes = String::from_utf8_lossy(&screen.bytes.lock().unwrap()).into_owned();
    assert_eq!(bytes.matches("\x1b]52;c;SEVMTE80Mg==\x07").count(), 1);
    screen.keys("echo \x02]-\r");
    screen.wait_for("\nHELLO42-");
    screen.keys("\x02d");
    screen.wait_for_end();
}

#[test]
fn a_server_that_dies_is_found_again_under_an_open_screen() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    screen.keys("echo be'fore'\r");
    screen.wait_for("before");
    sandbox.kill_server();
    wait::until(
        || sandbox.server_pid().filter(|pid| crate::support::sandbox::is_running(*pid)),
        || sandbox.log(),
    );
    // Keys typed while nobody listened are lost, so one is repeated until it shows.
    wait::until(
        || {
            screen.keys("echo af'ter'\r");
            screen.text().contains("\nafter").then_some(())
        },
        String::new,
    );
    screen.keys("\x02d");
    screen.wait_for_end();
}

#[test]
fn a_stopped_server_stays_stopped_though_a_screen_was_open() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    sandbox.ask(&["server", "stop", "--force"]);
    screen.wait_for_end();
    screen.wait_for("the server was stopped");
    assert_eq!(sandbox.ask(&["status"])["app"]["running"], false);
    // Nor does the shell that was just being started outlive it.
    assert_eq!(std::fs::read_dir(sandbox.state().join("h")).unwrap().count(), 0);
}

#[test]
fn a_restart_waits_for_no_screen_and_a_screen_opens_none_inside_itself() {
    let sandbox = Sandbox::with_repo();
    let terminal = sandbox.shell();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    sandbox.ask(&["server", "restart"]);
    assert!(!sandbox.log().contains("did not leave in time"), "{}", sandbox.log());
    sandbox.type_line(&terminal, &format!("{} attach", orca().display()));
    sandbox.wait_for_text(&terminal, "inside itself");
    // One that stays and has not found the server again would start the next.
    screen.wait_for("inside itself");
    screen.keys("\x02d");
    screen.wait_for_end();
}

#[test]
fn a_burst_of_keys_over_restarts_arrives_whole() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("━▶");
    let typed = sandbox.scratch().join("typed");
    screen.keys(&format!("stty -echo -icanon; echo re''ady; cat > {}\r", typed.display()));
    screen.wait_for("ready");
    let mut sent = String::new();
    for round in 0..4 {
        // More than one read of the terminal in front takes, not marked as a paste.
        let keys: String = (0..400).map(|n| format!("{round}-{n} ")).collect();
        screen.keys(&keys);
        sent += &keys;
        sandbox.ask(&["server", "restart"]);
    }
    let read = || std::fs::read_to_string(&typed).unwrap_or_default();
    wait::until(
        || (read().len() >= sent.len()).then_some(()),
        || format!("{} of {}", read().len(), sent.len()),
    );
    assert_eq!(read(), sent);
}

#[test]
fn what_an_ended_program_showed_stays_on_the_screen_under_the_next_server() {
    let sandbox = Sandbox::with_repo();
    let terminal = sandbox.shell();
    sandbox.type_line(&terminal, "umask; echo last ''words; exit 3");
    wait::until(|| (sandbox.terminal(&terminal)["life"] == "exited").then_some(()), || sandbox.log());
    sandbox.kill_server();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("last words");
    // A program's files are made as its person's other files are.
    screen.wait_for("0022");
    screen.wait_for("exited with status 3");
    screen.keys("\x02[");
    screen.wait_for("last words");
}

#[test]
fn a_question_is_on_the_screen_whatever_the_mailbox_does_and_a_task_shows_what_was_before() {
    let sandbox = Sandbox::with_repo();
    sandbox.ask(&["orchestration", "run-create", "--objective", "try it"]);
    let started = sandbox.ask(&["orchestration", "worker-start", "--spec", "Choose.", "--agent", "quiet"]);
    let (task, dispatch) = (started["taskId"].as_str().unwrap(), started["dispatchId"].as_str().unwrap());
    // A batch is out and not acknowledged.
    sandbox.ask(&["orchestration", "send", "--subject", "first"]);
    sandbox.ask(&["orchestration", "check"]);
    let mut screen = Screen::attach(&sandbox, 40, 120);
    screen.wait_for("Choose.");
    let brief = sandbox.output(&["orchestration", "dispatch-show", "--task", task, "--preamble"]);
    let brief = String::from_utf8(brief.stdout).unwrap();
    let proof = brief.split("--proof ").nth(1).unwrap().split_whitespace().next().unwrap();
    let mut asks = sandbox
        .command(&["orchestration", "ask", "--proof", proof, "--question", "Which database?"])
        .args(["--options", "container,memory", "--timeout-ms", "60000", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    screen.wait_for("NEEDS YOU");
    screen.wait_for("Which database?");
    screen.keys("\x02i");
    screen.wait_for("container");
    // The digits count only once the question stood there for a moment.
    let answered = |screen: &mut Screen| {
        screen.keys("2");
        let shown = sandbox.ask(&["orchestration", "worker-show", "--dispatch", dispatch]);
        (shown["projection"]["stage"]["activity"] != "waiting").then_some(())
    };
    wait::until(|| answered(&mut screen), || sandbox.log());
    assert!(asks.wait().unwrap().success());
    screen.keys("\x1b");
    wait::until(|| (!screen.text().contains("Inbox")).then_some(()), || screen.text());
    screen.keys("\x02t");
    screen.wait_for("TIMELINE");
    screen.wait_for("#1 answered");
    screen.wait_for("#1 question");
    screen.wait_for("#1 started");
}

#[test]
fn nothing_is_typed_over_a_draft() {
    let sandbox = Sandbox::with_repo();
    let log = crate::nudge::set_line_agent(&sandbox);
    sandbox.ask(&["orchestration", "run-create", "--objective", "try it"]);
    let started = sandbox.ask(&["orchestration", "worker-start", "--spec", "Do it.", "--agent", "fake"]);
    let dispatch = started["dispatchId"].as_str().unwrap();
    let terminal = started["agentTerminalHandle"].as_str().unwrap();
    let mut screen = Screen::attach(&sandbox, 24, 80);
    screen.wait_for("agent is up");
    screen.keys("my dra");
    screen.wait_for("my dra");
    let to = format!("dispatch:{dispatch}");
    sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", "hint"]);
    sandbox.ask(&["orchestration", "send", "--to", &to, "--subject", "another"]);
    let draft = sandbox.state().join("terminals").join(terminal).join("draft");
    assert!(draft.exists());
    // The mark outlives the server, and whoever types meanwhile keeps no screen from the next one.
    sandbox.kill_server();
    // A line comes some time after the last key.
    let is_cleared = |screen: &mut Screen| {
        screen.keys("\x15");
        (!draft.exists()).then_some(())
    };
    wait::until(|| is_cleared(&mut screen), || sandbox.log());
    let told = || std::fs::read_to_string(&log).ok().filter(|lines| !lines.is_empty());
    let lines = wait::until(told, || sandbox.log());
    assert!(lines.starts_with("[orca] 2 messages wait (2 status). Read: "), "{lines:?}");
}

#[test]
fn a_split_shares_the_pane_and_a_switch_moves_the_focus() {
    let sandbox = Sandbox::with_repo();
    let mut screen = Screen::attach(&sandbox, 24, 120);
    screen.wait_for("━▶");
    let first = sandbox.ask(&["terminal", "list"])["terminals"][0]["handle"].as_str().unwrap().to_owned();
    screen.keys("stty size\r");
    screen.wait_for("22 86");
    let words = ["terminal", "split", "--terminal", &first, "--direction", "vertical", "--command", "sh"];
    let second = sandbox.ask(&words)["split"]["handle"].as_str().unwrap().to_owned();
    // Below each other, and the focus stays where it was.
    screen.keys("clear; stty size\r");
    screen.wait_for("11 86");
    let rename = |title: &str| {
        sandbox.ask(&["terminal", "rename", "--terminal", &second, "--title", title]);
    };
    rename("wo\u{1b}[31mrk\u{202e}shop");
    screen.wait_for("── wo[31mrkshop");
    let switched = sandbox.ask(&["terminal", "switch", "--terminal", &second]);
    assert_eq!(switched["focus"]["navigated"], true);
    screen.wait_for("━▶ wo[31mrkshop");
    screen.keys("echo typed he're'; stty size\r");
    screen.wait_for("typed here");
    sandbox.wait_for_text(&second, "typed here");
    // The keys of tmux do the same.
    screen.keys("\x02%");
    wait::until(|| (sandbox.ask(&["terminal", "list"])["totalCount"] == 3).then_some(()), || screen.text());
    screen.wait_for("── wo[31mrkshop");
    screen.keys("stty size\r");
    screen.wait_for("10 42");
    sandbox.ask(&["terminal", "close", "--terminal", &second, "--tab"]);
    let live = |row: &serde_json::Value| row["connected"] == true;
    let listed = sandbox.ask(&["terminal", "list"]);
    assert!(!listed["terminals"].as_array().unwrap().iter().any(live), "{listed}");
}
