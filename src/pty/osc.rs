//! Operating system commands (`OSC …`): titles, colours, links, clipboard, notifications, status.
//!
//! What a program says here leaves as an event, cleaned; nothing is done about it in this layer.

use super::color;
use super::event::{AgentReport, ProgressState, PromptMark, StatusReport, TermEvent};
use super::scan;
use super::term::Term;
use crate::base::text;
use base64::Engine as _;

const MAX_TITLE: usize = 256;
const MAX_NOTICE: usize = 1_000;
const MAX_PATH: usize = 4_096;
/// The deepest title stack (`CSI 22 t`).
const MAX_TITLES: usize = 16;

fn clean(text: &str, max: usize) -> String {
    text::cut_chars(&text::one_line(text), max)
}

impl Term {
    /// Handles a complete OSC sequence.
    pub(super) fn operating_system_command(&mut self, sequence: &[u8]) {
        let terminator = if sequence.ends_with(b"\x07") { "\x07" } else { "\x1b\\" };
        let body = String::from_utf8_lossy(scan::string_body(sequence));
        let (command, rest) = body.split_once(';').unwrap_or((&body, ""));
        match command {
            "0" | "1" | "2" => self.set_titles(command, rest),
            "4" | "5" => self.palette_request(command, rest, terminator),
            "104" | "105" => self.reset_palette(command, rest),
            "7" => self.out.event(TermEvent::Cwd(clean(rest, MAX_PATH))),
            "8" => self.hyperlink(rest),
            "9" => self.notice_or_progress(rest),
            "99" => self.kitty_notice(rest),
            "777" => self.titled_notice(rest),
            "52" => self.clipboard(rest),
            "133" => self.prompt_mark(rest),
            "7501" if rest == "?" => self.out.reply(format!("\x1b]7501;?{terminator}").as_bytes()),
            "7501" => self.status_report(rest),
            "9999" => self.agent_report(rest),
            _ => match command.parse() {
                Ok(number @ 10..=19) => self.color_request(number, rest, terminator),
                Ok(number @ 110..=119) => self.reset_color(number - 100),
                Ok(_) | Err(_) => {}
            },
        }
    }

    fn set_titles(&mut self, command: &str, rest: &str) {
        let title = clean(rest, MAX_TITLE);
        if command != "2" {
            self.titles.icon.clone_from(&title);
        }
        if command != "1" {
            self.titles.title.clone_from(&title);
            self.out.event(TermEvent::Title(title));
        }
    }

    /// `CSI 22 t`.
    pub(super) fn push_title(&mut self) {
        if self.titles.stack.len() >= MAX_TITLES {
            self.titles.stack.remove(0);
        }
        self.titles.stack.push((self.titles.title.clone(), self.titles.icon.clone()));
    }

    /// `CSI 23 t`; `which` is 0 for both titles, 1 for the icon's, 2 for the window's.
    pub(super) fn pop_title(&mut self, which: u16) {
        let Some((title, icon)) = self.titles.stack.pop() else { return };
        if which != 2 {
            self.titles.icon = icon;
        }
        if which != 1 {
            self.titles.title.clone_from(&title);
            self.out.event(TermEvent::Title(title));
        }
    }

    /// OSC 4 and 5: pairs of index and colour, `?` asks. The special colours of OSC 5 are behind the palette
    /// in OSC 4.
    fn palette_request(&mut self, command: &str, rest: &str, terminator: &str) {
        let mut parts = rest.split(';');
        while let (Some(index), Some(value)) = (parts.next(), parts.next()) {
            let Ok(number) = index.parse::<usize>() else { continue };
            let special = if command == "5" { Some(number) } else { number.checked_sub(256) };
            if special.is_some_and(|special| special >= self.colors.special.len()) {
                continue;
            }
            if value == "?" {
                let color = match special {
                    Some(special) => {
                        self.colors.special[special].unwrap_or(self.colors.dynamic(10, &self.host))
                    }
                    None => self.colors.entry(number.to_le_bytes()[0], &self.host),
                };
                let color = color::format(color);
                self.out.reply(format!("\x1b]{command};{number};{color}{terminator}").as_bytes());
            } else if let Some(color) = color::parse(value) {
                match special {
                    Some(special) => self.colors.special[special] = Some(color),
                    // Rows carry the colours of the entries.
                    None if self.colors.palette.set(number.to_le_bytes()[0], color) => self.touch(),
                    None => {}
                }
            }
        }
    }

    /// OSC 104 and 105: gives the entries named back to the host, or all of them.
    fn reset_palette(&mut self, command: &str, rest: &str) {
        let is_all = rest.is_empty();
        let first = if command == "105" { 256 } else { 0 };
        let mut n_reset = 0;
        for number in rest.split(';').filter_map(|index| index.parse::<usize>().ok()) {
            let number = number.saturating_add(first);
            match u8::try_from(number) {
                Ok(index) => n_reset += usize::from(self.colors.palette.reset(index)),
                Err(_) => {
                    if let Some(special) = self.colors.special.get_mut(number - 256) {
                        *special = None;
                    }
                }
            }
        }
        if is_all {
            self.colors.special = [None; 5];
            n_reset = usize::from(command == "104" && self.colors.palette.clear());
        }
        if n_reset > 0 {
            self.touch();
        }
    }

    /// OSC 10 to 19; each further value is for the next number.
    fn color_request(&mut self, first: usize, rest: &str, terminator: &str) {
        for (number, value) in (first..20).zip(rest.split(';')) {
            if value == "?" {
                let color = color::format(self.colors.dynamic(number, &self.host));
                self.out.reply(format!("\x1b]{number};{color}{terminator}").as_bytes());
            } else if let Some(color) = color::parse(value)
                && let Some(own) = self.colors.dynamic_mut(number)
            {
                *own = Some(color);
            }
        }
    }

    /// OSC 110 to 119.
    fn reset_color(&mut self, number: usize) {
        if let Some(own) = self.colors.dynamic_mut(number) {
            *own = None;
        }
    }

    /// OSC 8: parameters, then the target; an empty target ends the link.
    fn hyperlink(&mut self, rest: &str) {
        let (params, uri) = rest.split_once(';').unwrap_or_default();
        let id = params.split(':').find_map(|param| param.strip_prefix("id=")).unwrap_or_default();
        let is_clean = !uri.chars().chain(id.chars()).any(char::is_control);
        self.set_link(id, if is_clean { uri } else { "" });
    }

    /// OSC 9: a progress report if it begins with `4;`, else a notification.
    fn notice_or_progress(&mut self, rest: &str) {
        let Some(report) = rest.strip_prefix("4;").or_else(|| (rest == "4").then_some("")) else {
            self.notify(None, rest);
            return;
        };
        let mut numbers = report.split(';').map(|number| number.parse::<u8>().unwrap_or(0));
        let state = match numbers.next().unwrap_or(0) {
            1 => ProgressState::Running,
            2 => ProgressState::Failed,
            3 => ProgressState::Indeterminate,
            4 => ProgressState::Paused,
            _ => ProgressState::None,
        };
        let percent = numbers.next().unwrap_or(0).min(100);
        self.out.event(TermEvent::Progress { state, percent });
    }

    /// OSC 99: metadata, then text. A question about capabilities is met with silence.
    fn kitty_notice(&mut self, rest: &str) {
        let (metadata, payload) = rest.split_once(';').unwrap_or_default();
        let field = |name: &str| metadata.split(':').find_map(|part| part.strip_prefix(name));
        if !matches!(field("p="), None | Some("title" | "body")) {
            return;
        }
        let decoded = if field("e=") == Some("1") { decode_base64(payload) } else { None };
        self.notify(None, decoded.as_deref().unwrap_or(payload));
    }

    /// OSC 777: `notify`, title, text.
    fn titled_notice(&mut self, rest: &str) {
        let Some(notice) = rest.strip_prefix("notify;") else { return };
        let (title, body) = notice.split_once(';').unwrap_or((notice, ""));
        self.notify(Some(title), body);
    }

    fn notify(&mut self, title: Option<&str>, body: &str) {
        let title = title.map(|title| clean(title, MAX_TITLE)).filter(|title| !title.is_empty());
        let body = clean(body, MAX_NOTICE);
        if title.is_some() || !body.is_empty() {
            self.out.event(TermEvent::Notify { title, body });
        }
    }

    /// OSC 52: a write becomes an event; a read is refused by silence.
    fn clipboard(&mut self, rest: &str) {
        let (selection, data) = rest.split_once(';').unwrap_or_default();
        if data == "?" || !selection.bytes().all(|b| b.is_ascii_alphanumeric()) || selection.len() > 16 {
            return;
        }
        if let Some(text) = decode_base64(data) {
            let text = text::many_lines(&text);
            self.out.event(TermEvent::Clipboard { selection: selection.to_owned(), text });
        }
    }

    fn prompt_mark(&mut self, rest: &str) {
        let mut parts = rest.split(';');
        let kind = match parts.next() {
            Some("A" | "N" | "P") => PromptMark::PromptStart,
            Some("B" | "I") => PromptMark::CommandStart,
            Some("C") => PromptMark::OutputStart,
            Some("D") => PromptMark::CommandEnd(parts.next().and_then(|status| status.parse().ok())),
            _ => return,
        };
        self.archive_scrolled();
        let screen = self.parser.screen();
        let n_ended = (0..screen.cursor_position().0).filter(|row| !screen.row_wrapped(*row)).count();
        let line = self.history.numbers().end + n_ended as u64;
        if kind == PromptMark::PromptStart {
            self.history.note_prompt(line);
        }
        self.out.event(TermEvent::PromptMark { kind, line });
    }

    /// OSC 9999: JSON.
    fn agent_report(&mut self, rest: &str) {
        if let Ok(AgentReport { state, tool_name, tool_input, interrupted }) = serde_json::from_str(rest) {
            let (state, tool_name) = (clean(&state, 64), clean(&tool_name, 64));
            let tool_input = clean(&tool_input, MAX_NOTICE);
            self.out.event(TermEvent::Agent(AgentReport { state, tool_name, tool_input, interrupted }));
        }
    }

    /// OSC 7501: fields between colons.
    fn status_report(&mut self, rest: &str) {
        let mut report = StatusReport::default();
        for (name, value) in rest.split(':').filter_map(|field| field.split_once('=')) {
            let short = || Some(clean(value, 64)).filter(|value| !value.is_empty());
            match name {
                "state" => report.state = short().unwrap_or_default(),
                "app" => report.app = short(),
                "kind" => report.kind = short(),
                "msg" => report.message = decode_base64(value).map(|text| clean(&text, MAX_NOTICE)),
                _ => {}
            }
        }
        if !report.state.is_empty() {
            self.out.event(TermEvent::Status(report));
        }
    }
}

fn decode_base64(data: &str) -> Option<String> {
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
    let bytes = STANDARD.decode(data).or_else(|_| STANDARD_NO_PAD.decode(data)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
