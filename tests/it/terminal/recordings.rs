//! Every recording shows what tmux shows, however the stream is cut.

use super::fixtures::{self, Recording, text_of};
use orca::base::grid::Row;
use orca::pty::event::TermEvent;
use orca::pty::row;
use orca::pty::snapshot::{PaneImage, PaneRows};
use orca::pty::term::{Term, TermConfig};

/// Where we differ from tmux on purpose (`terminal.md` 2.3): the emoji recordings, where tmux counts a
/// skin tone as two more columns; `unicode`, where it drops the end of a family; and `bash-resize`,
/// where it forgets that the prompt was wrapped. Their screens are kept beside the recordings.
const GOLDEN: [&str; 4] = ["bash-resize", "claude-emoji", "codex-emoji", "unicode"];

#[test]
fn every_recording_shows_what_tmux_shows_however_it_is_cut() {
    let recordings = fixtures::all();
    assert_eq!(recordings.len(), 31);
    for recording in recordings {
        for n_bytes in [1, 7, 4096] {
            let shown = text_of(&recording.play(n_bytes, |_| {}));
            if GOLDEN.contains(&recording.name.as_str()) {
                insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                    insta::assert_snapshot!(recording.name.as_str(), shown.join("\n"));
                });
            } else {
                assert_eq!(shown, recording.tmux, "{} in pieces of {n_bytes}", recording.name);
            }
        }
    }
}

fn rows(term: &Term) -> Vec<Row> {
    (0..term.size().n_rows()).map(|number| row::decode(&term.encoded_row(number)).unwrap()).collect()
}

/// Plays a recording to a client that keeps up and one that lags; gives the terminal in the end.
fn play_to_clients(recording: &Recording, n_bytes: usize) -> Term {
    let (mut server, mut prompt, mut slow) = (PaneRows::new(), PaneImage::new(), PaneImage::new());
    let mut n_pieces = 0;
    let term = recording.play(n_bytes, |term| {
        server.update(term);
        prompt.apply(&server.newer_than(prompt.version())).unwrap();
        n_pieces += 1;
        if n_pieces % 50 == 0 {
            slow.apply(&server.newer_than(slow.version())).unwrap();
        }
        assert!(!term.take_events().contains(&TermEvent::ScreenLost), "{}", recording.name);
    });
    slow.apply(&server.newer_than(slow.version())).unwrap();
    for image in [prompt, slow] {
        assert_eq!(image.rows(), rows(&term), "{} in pieces of {n_bytes}", recording.name);
        assert_eq!(image.meta().cursor, term.cursor(), "{}", recording.name);
    }
    term
}

#[test]
fn every_recorded_agent_is_drawn_without_loss() {
    let agents = fixtures::agents();
    assert_eq!(agents.len(), 68);
    let mut differing = Vec::new();
    for recording in agents {
        for n_bytes in [7, 4096] {
            let mut term = play_to_clients(&recording, n_bytes);
            // The rows of tmux were cut at any blank, ours at spaces.
            let shown = text_of(&term);
            let pairs = (0..32).map(|at| (shown.get(at), recording.tmux.get(at)));
            let cut = |row: Option<&String>| row.map(|row| row.trim_end().to_owned()).unwrap_or_default();
            let pairs = pairs.map(|(ours, tmux)| (cut(ours), cut(tmux))).filter(|(ours, tmux)| ours != tmux);
            differing.extend(pairs.map(|pair| format!("{} {n_bytes}: {pair:?}", recording.name)));
            let mut again = Term::new(term.size(), TermConfig::default());
            again.restore(&term.keyframe());
            assert_eq!(rows(&again), rows(&term), "{}", recording.name);
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
