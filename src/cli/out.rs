//! The only place that writes to standard output and standard error.
//!
//! Data goes to standard output, talk to standard error. Text from outside is made safe for a
//! terminal here.

use super::tone::{Tints, plain};
use crate::base::code::ErrorCode;
use crate::base::text::many_lines;
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use std::io::Write;

/// Where a command's output goes; tests collect it.
pub struct Out<'a> {
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
    pub tints: Tints,
}

impl Out<'_> {
    /// Writes what a verb says to a person to standard output, with its colours where they are shown.
    pub fn words(&mut self, text: &str) {
        if self.tints.stdout {
            self.data(text);
        } else {
            self.data(&plain(text));
        }
    }

    /// Writes what has no colours, with nothing in it that a terminal would obey.
    pub fn text(&mut self, text: &str) {
        self.data(&many_lines(text));
    }

    /// Writes to standard output. A reader that went away ends the output, not the program.
    pub fn data(&mut self, text: &str) {
        drop(self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()));
    }

    /// Writes a line to standard output. False: the reader went away.
    pub fn line(&mut self, line: &str) -> bool {
        writeln!(self.stdout, "{line}").and_then(|()| self.stdout.flush()).is_ok()
    }

    /// Writes a line to standard error, with its colours where they are shown.
    pub fn talk(&mut self, line: &str) {
        let line = if self.tints.stderr { line.to_owned() } else { plain(line) };
        drop(writeln!(self.stderr, "{line}").and_then(|()| self.stderr.flush()));
    }

    /// Writes what was answered without a server: enveloped with `is_json`, else as text. Exit code 0.
    pub fn local<T: serde::Serialize>(
        &mut self,
        is_json: bool,
        reply: &T,
        text: impl Fn(&T) -> String,
    ) -> u8 {
        if is_json {
            let answer = serde_json::to_value(reply)
                .map_err(|error| ErrorBody::new(ErrorCode::RuntimeError, error.to_string()));
            let response = Response::new("local", None, answer);
            self.json(&response);
            return u8::from(!response.ok);
        }
        self.text(&text(reply));
        0
    }

    /// The same without the envelope (contract 2.2: guides).
    pub fn bare<T: serde::Serialize>(&mut self, is_json: bool, reply: &T, text: impl Fn(&T) -> String) -> u8 {
        if is_json {
            self.json(reply);
        } else {
            self.text(&text(reply));
        }
        0
    }

    /// Writes a JSON document, pretty, with a newline.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        let text = serde_json::to_string_pretty(value)
            .unwrap_or_else(|error| format!("{{\"ok\":false,\"error\":{{\"message\":\"{error}\"}}}}"));
        self.data(&escape_controls(&text));
        self.data("\n");
    }
}

/// Standard output that remembers why it could not be written. A reader that went away is no reason.
pub struct Watched<W> {
    inner: W,
    failed: Option<std::io::Error>,
}

impl<W: Write> Watched<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, failed: None }
    }

    /// The exit code of a command that ended with `code`: what nobody could be told is no success.
    pub fn exit_code(self, code: u8, stderr: &mut dyn Write) -> u8 {
        let Some(error) = self.failed else { return code };
        let line = format!("orca: the output could not be written: {error}");
        drop(writeln!(stderr, "{line}")); // there is no third place to say it
        if code == 0 { 1 } else { code }
    }

    fn note<T>(&mut self, done: std::io::Result<T>) -> std::io::Result<T> {
        done.inspect_err(|error| {
            let kind = error.kind();
            if kind != std::io::ErrorKind::BrokenPipe && kind != std::io::ErrorKind::Interrupted {
                self.failed.get_or_insert_with(|| std::io::Error::new(kind, error.to_string()));
            }
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.inner.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.inner.flush();
        self.note(done)
    }
}

/// A JSON document without raw control characters: those above 0x7e mean something to a terminal and
/// may stand in a string of JSON as they are.
pub fn escape_controls(json: &str) -> String {
    if !json.chars().any(|c| c.is_control() && c != '\n') {
        return json.to_owned();
    }
    json.chars()
        .map(|c| match c.is_control() && c != '\n' {
            true => format!("\\u{:04x}", u32::from(c)),
            false => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refusing(std::io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_written_is_no_success_unless_the_reader_left() {
        for (kind, given, expected) in [
            (std::io::ErrorKind::StorageFull, 0, 1),
            (std::io::ErrorKind::StorageFull, 75, 75),
            (std::io::ErrorKind::BrokenPipe, 0, 0),
        ] {
            let (mut stdout, mut stderr) = (Watched::new(Refusing(kind)), Vec::new());
            let mut talk = Vec::new();
            Out { stdout: &mut stdout, stderr: &mut talk, tints: Tints::default() }.data("done");
            assert_eq!(stdout.exit_code(given, &mut stderr), expected);
            assert_eq!(stderr.is_empty(), kind == std::io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn what_was_answered_without_a_server_draws_nothing() {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut out = Out { stdout: &mut stdout, stderr: &mut stderr, tints: Tints::default() };
        let place = "no server runs in /tmp/a\u{1b}[31mb\u{202e}\n";
        out.local(false, &place, |place| (*place).to_owned());
        assert_eq!(String::from_utf8(stdout).unwrap(), "no server runs in /tmp/a[31mb\n");
    }

    #[test]
    fn control_characters_of_json_are_escaped_and_mean_the_same() {
        let value = serde_json::json!({ "id": "a\u{9b}31m\u{7f}\n" });
        let text = escape_controls(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
