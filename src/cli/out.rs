//! The only place that writes to standard output and standard error.
//!
//! Data goes to standard output, talk to standard error. Text from outside is made safe for a
//! terminal here; JSON escapes it by itself.

use std::io::Write;

/// Where a command's output goes; tests collect it.
pub struct Out<'a> {
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
}

impl Out<'_> {
    /// Writes to standard output. A reader that went away ends the output, not the program.
    pub fn data(&mut self, text: &str) {
        drop(self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()));
    }

    /// Writes a line to standard error.
    pub fn talk(&mut self, line: &str) {
        drop(writeln!(self.stderr, "{line}").and_then(|()| self.stderr.flush()));
    }

    /// Writes a JSON document, pretty, with a newline.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        let text = serde_json::to_string_pretty(value)
            .unwrap_or_else(|error| format!("{{\"ok\":false,\"error\":{{\"message\":\"{error}\"}}}}"));
        self.data(&text);
        self.data("\n");
    }
}
