//! Every recording shows what tmux shows, however the stream is cut.

use super::fixtures::{self, text_of};

/// Where we differ from tmux on purpose (`terminal.md` 2.3): the emoji recordings, where tmux counts a
/// skin tone as two more columns; `unicode`, where it drops the end of a family; and `bash-resize`,
/// where it forgets that the prompt was wrapped. Their screens are kept beside the recordings.
const GOLDEN: [&str; 4] = ["bash-resize", "claude-emoji", "codex-emoji", "unicode"];

#[test]
fn every_recording_shows_what_tmux_shows_however_it_is_cut() {
    for recording in fixtures::all() {
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
