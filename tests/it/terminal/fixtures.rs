//! Recordings of real programs (`terminal.md` 6): what they wrote, when they were resized, what tmux
//! shows for it.

use orca::base::size::TermSize;
use orca::pty::term::{Term, TermConfig};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Facts {
    cols: u16,
    rows: u16,
    #[serde(default)]
    resizes: Vec<Resize>,
}

#[derive(Deserialize, Clone, Copy)]
struct Resize {
    offset: usize,
    rows: u16,
    cols: u16,
}

/// One recording.
pub struct Recording {
    pub name: String,
    pub bytes: Vec<u8>,
    pub size: TermSize,
    resizes: Vec<Resize>,
    /// The rows that tmux shows, blanks cut.
    pub tmux: Vec<String>,
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pty")
}

/// The names of the recordings in a folder, sorted.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".bin").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Every recording, sorted by name.
pub fn all() -> Vec<Recording> {
    names(&directory()).iter().map(|name| named(name)).collect()
}

/// The recordings of agents in their states, all of one size.
pub fn agents() -> Vec<Recording> {
    let directory = directory().with_file_name("agents");
    let read = |name: &str, suffix: &str| std::fs::read(directory.join(format!("{name}.{suffix}"))).unwrap();
    let recording = |name: String| Recording {
        bytes: read(&name, "bin"),
        size: TermSize::clamped(32, 120),
        resizes: Vec::new(),
        tmux: rows_of(&String::from_utf8(read(&name, "tmux.txt")).unwrap()),
        name,
    };
    names(&directory).into_iter().map(recording).collect()
}

/// The recording of that name.
pub fn named(name: &str) -> Recording {
    let read = |suffix: &str| std::fs::read(directory().join(format!("{name}.{suffix}"))).unwrap();
    let facts: Facts = serde_json::from_slice(&read("json")).unwrap();
    Recording {
        name: name.to_owned(),
        bytes: read("bin"),
        size: TermSize::clamped(facts.rows, facts.cols),
        resizes: facts.resizes,
        tmux: rows_of(&String::from_utf8(read("tmux.txt")).unwrap()),
    }
}

/// The rows of a screen file; see [`text_of`].
pub fn rows_of(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = text.lines().map(|row| row.trim_end_matches(' ').to_owned()).collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// The rows of a terminal, empty ones at the bottom cut.
pub fn text_of(term: &Term) -> Vec<String> {
    rows_of(&term.screen_text().join("\n"))
}

impl Recording {
    /// A terminal of the size in which the recording begins.
    pub fn term(&self) -> Term {
        Term::new(self.size, TermConfig::default())
    }

    /// Plays the recording in pieces of at most `n_bytes`, resizing where it was resized, and calls
    /// `each` after every piece.
    pub fn play(&self, n_bytes: usize, mut each: impl FnMut(&mut Term)) -> Term {
        let mut term = self.term();
        let mut from = 0;
        let end = Resize { offset: self.bytes.len(), rows: 0, cols: 0 };
        for resize in self.resizes.iter().copied().chain([end]) {
            for piece in self.bytes[from..resize.offset].chunks(n_bytes) {
                term.process(piece);
                each(&mut term);
            }
            from = resize.offset;
            if resize.rows > 0 {
                term.resize(TermSize::clamped(resize.rows, resize.cols));
                each(&mut term);
            }
        }
        term
    }
}
