//! Drawing a terminal again from its journal, after the server that knew it is gone.

use super::event::TermEvent;
use super::journal::{self, Position, Record};
use super::term::{Term, TermConfig};
use std::path::Path;

/// A terminal as its journal had it.
pub struct Revived {
    /// Screen, modes and recent history; without the events and replies of back then.
    pub term: Term,
    /// Where its journal goes on.
    pub position: Position,
    /// What its program said of itself last.
    pub said: Vec<TermEvent>,
}

/// Feeds the journal in a terminal's folder to a fresh terminal; None where nothing usable is left.
///
/// Next come the bytes that the holder kept meanwhile, then the PTY.
pub fn revive(dir: &Path, config: TermConfig) -> Option<Revived> {
    let restored = journal::restore(dir);
    let mut records = restored.records.into_iter();
    let Some(Record::Keyframe { size, bytes }) = records.next() else { return None };
    let mut term = Term::new(size, config);
    term.restore(&bytes);
    let mut said = Vec::new();
    for record in records {
        match record {
            Record::Output(bytes) => term.process(&bytes),
            Record::Keyframe { bytes, .. } => term.restore(&bytes),
            Record::Resize(size) => term.resize(size),
            Record::Note(_) | Record::Time(_) => {}
        }
        // Whoever asked has its answers; a second one would be typed into the program.
        drop(term.take_replies());
        keep_said(&mut said, term.take_events());
    }
    drop(term.take_replies());
    keep_said(&mut said, term.take_events());
    Some(Revived { term, position: restored.position?, said })
}

/// Keeps the last of each kind of statement of a program about itself; bells and the like are over.
fn keep_said(said: &mut Vec<TermEvent>, events: Vec<TermEvent>) {
    for event in events {
        if matches!(event, TermEvent::Status(_) | TermEvent::Progress { .. }) {
            said.retain(|known| std::mem::discriminant(known) != std::mem::discriminant(&event));
            said.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::size::TermSize;
    use crate::pty::journal::Journal;
    use crate::pty::snapshot::PaneRows;

    fn picture(term: &Term) -> (Vec<String>, String) {
        let history = term.history();
        let lines = history.numbers().filter_map(|number| history.text(number)).collect();
        let mut pane = PaneRows::new();
        pane.update(term);
        (lines, format!("{:?}", pane.newer_than(0).rows))
    }

    #[test]
    fn a_terminal_comes_back_with_screen_history_and_modes() {
        let dir = tempfile::tempdir().unwrap();
        let mut term = Term::new(TermSize::clamped(6, 20), TermConfig::default());
        let mut journal = Journal::open(dir.path(), 600, term.size(), &term.keyframe()).unwrap();
        assert!(revive(Path::new("/no/such/folder"), TermConfig::default()).is_none());
        for round in 0..40 {
            if journal.wants_keyframe() {
                journal.rotate(term.size(), &term.keyframe(), &[]).unwrap();
            }
            let bytes = format!("\x1b[3{}mline {round} ü 漢\x1b[m\r\n\x1b[?2004h\x1b[6n", round % 8);
            journal.output(bytes.as_bytes()).unwrap();
            term.process(bytes.as_bytes());
            if round == 20 {
                term.resize(TermSize::clamped(8, 30));
                journal.resize(term.size());
            }
        }
        journal.flush().unwrap();
        drop(term.take_replies());
        let mut revived = revive(dir.path(), TermConfig::default()).unwrap();
        assert_eq!(revived.term.take_replies(), b"");
        assert_eq!(revived.term.modes(), term.modes());
        let ((lines, screen), (all_lines, expected)) = (picture(&revived.term), picture(&term));
        assert_eq!(screen, expected);
        assert!(lines.len() > 8 && all_lines.ends_with(&lines), "{lines:?}");
    }
}
