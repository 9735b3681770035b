//! A terminal's output for other programs: lines as text or with their colours, and recordings in the
//! form of asciicast, version 2.

use super::journal::Record;
use super::replay::Replay;
use super::scan;
use super::term::Term;
use crate::base::clock::Timestamp;
use crate::base::size::TermSize;
use serde_json::json;

/// Between two events of a recording whose journal knows no times, in milliseconds.
const STEADY_MS: u64 = 50;

impl Term {
    /// Lines from number `from` on as text, each with its end; with their looks as SGR sequences and
    /// links where they are wanted. Also gives the number to go on from; None at the end.
    pub fn export_lines(&self, from: u64, n_bytes: usize, is_styled: bool) -> (String, Option<u64>) {
        let page = self.line_page(Some(from), usize::MAX, n_bytes);
        let mut replay = Replay::default();
        for runs in &page.lines {
            if is_styled {
                replay.push_runs(runs);
                replay.end();
            } else {
                let text: String = runs.iter().map(|run| run.text.as_str()).collect();
                replay.text.push_str(text.trim_end());
            }
            replay.text.push('\n');
        }
        let next = page.first + page.lines.len() as u64;
        (replay.text, (next < page.end).then_some(next))
    }
}

/// Puts a recording together, record by record.
#[derive(Debug, Default)]
pub struct Cast {
    events: String,
    size: Option<TermSize>,
    began: Option<Timestamp>,
    /// The moment of what comes next, in milliseconds from the start.
    now_ms: u64,
    has_times: bool,
    /// The start of a character whose rest comes in the next record.
    tail: Vec<u8>,
}

impl Cast {
    /// Adds what happened next.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Keyframe { size, bytes } => {
                match self.size {
                    None => self.size = Some(*size),
                    Some(_) => self.resize(*size),
                }
                self.output(bytes);
            }
            Record::Output(bytes) => {
                if !self.has_times {
                    self.now_ms += STEADY_MS;
                }
                self.output(bytes);
            }
            Record::Resize(size) => self.resize(*size),
            Record::Time(at) => {
                self.has_times = true;
                let began = *self.began.get_or_insert(*at);
                // A clock that was set back does not turn the recording round.
                self.now_ms = self.now_ms.max(at.since_ms(began));
            }
            Record::Note(_) => {}
        }
    }

    /// The text of a terminal of which nothing else is left, as one event.
    pub fn push_text(&mut self, text: &str) {
        self.output(text.replace('\n', "\r\n").as_bytes());
    }

    fn resize(&mut self, size: TermSize) {
        self.event("r", &format!("{}x{}", size.n_cols(), size.n_rows()));
    }

    fn output(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.tail);
        all.extend_from_slice(bytes);
        self.tail = all.split_off(all.len() - scan::utf8_tail(&all));
        if !all.is_empty() {
            self.event("o", &String::from_utf8_lossy(&all));
        }
    }

    fn event(&mut self, kind: &str, data: &str) {
        let seconds = json!(f64::from(u32::try_from(self.now_ms).unwrap_or(u32::MAX)) / 1_000.0);
        self.events.push_str(&json!([seconds, kind, data]).to_string());
        self.events.push('\n');
    }

    /// The recording: a line of head, then a line for each event.
    pub fn finish(self, title: &str) -> String {
        let size = self.size.unwrap_or_default();
        let mut head = json!({
            "version": 2, "width": size.n_cols(), "height": size.n_rows(), "title": title,
            "env": { "TERM": "xterm-256color" },
        });
        if let (Some(began), Some(head)) = (self.began, head.as_object_mut()) {
            head.insert(String::from("timestamp"), json!(began.0.div_euclid(1_000)));
        }
        format!("{head}\n{}", self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pty::term::TermConfig;

    #[test]
    fn lines_come_with_or_without_their_looks_page_by_page() {
        let mut term = Term::new(TermSize::clamped(3, 8), TermConfig::default());
        term.process("\x1b[31mred\x1b[m \r\nlonger than the screen\r\n\r\nend".as_bytes());
        let all = |is_styled| term.export_lines(0, 1 << 20, is_styled);
        assert_eq!(all(false), (String::from("red\nlonger than the screen\n\nend\n"), None));
        let styled = all(true).0;
        assert!(styled.starts_with("\x1b[") && styled.contains("38;5;1mred\x1b["), "{styled:?}");
        let (first, next) = term.export_lines(0, 1, false);
        assert_eq!((first.as_str(), next), ("red\n", Some(1)));
    }

    #[test]
    fn a_recording_keeps_times_sizes_and_whole_characters() {
        let size = TermSize::clamped(4, 20);
        let mut cast = Cast::default();
        for record in [
            Record::Keyframe { size, bytes: b"\x1b[H".to_vec() },
            Record::Time(Timestamp(1_000_000)),
            Record::Output(b"a\xe6\x97".to_vec()),
            Record::Time(Timestamp(1_001_500)),
            Record::Output(b"\xa5\xff".to_vec()),
            Record::Resize(TermSize::clamped(5, 30)),
        ] {
            cast.push(&record);
        }
        let lines: Vec<serde_json::Value> =
            cast.finish("t").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (&lines[0]["version"], &lines[0]["width"], &lines[0]["height"], &lines[0]["timestamp"]),
            (&json!(2), &json!(20), &json!(4), &json!(1_000))
        );
        let expected =
            json!([[0.0, "o", "\x1b[H"], [0.0, "o", "a"], [1.5, "o", "日\u{fffd}"], [1.5, "r", "30x5"]]);
        assert_eq!(json!(lines[1..]), expected);
    }

    #[test]
    fn without_times_the_clock_goes_steadily() {
        let mut cast = Cast::default();
        for _ in 0..2 {
            cast.push(&Record::Output(b"x".to_vec()));
        }
        assert!(cast.finish("").ends_with("[0.05,\"o\",\"x\"]\n[0.1,\"o\",\"x\"]\n"));
    }
}
