//! What verbs may ask about the living world: an answer of the moment, without side effects.

use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::model::message::Mailbox;
use crate::ops::cx::{ExportPiece, LiveFacts, OutputPage, ReadWish, World};
use crate::proto::terminal::ExportFormat;
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// The most reported files that are looked for; the rest is believed.
const MAX_FILES: usize = 200;

/// The world at the moment of one transaction.
#[derive(Debug)]
pub struct LiveWorld<'a> {
    /// The mailboxes on which somebody waits, Runs' and others.
    pub awaited: BTreeSet<String>,
    pub terminals: &'a Terminals,
    pub has_screen: bool,
}

impl World for LiveWorld<'_> {
    fn is_awaited(&self, mailbox: &Mailbox) -> bool {
        self.awaited.contains(&mailbox.to_string())
    }

    fn missing_files(&self, root: &str, files: &[String]) -> Vec<String> {
        let is_missing = |file: &&String| !is_inside(Path::new(root), Path::new(file));
        files.iter().take(MAX_FILES).filter(is_missing).cloned().collect()
    }

    fn branch(&self, folder: &str) -> Option<String> {
        crate::git::discover(Path::new(folder)).ok()?.branch
    }

    fn live(&self, terminal: &TerminalId) -> Option<LiveFacts> {
        self.terminals.live_facts(terminal)
    }

    fn has_screen(&self) -> bool {
        self.has_screen
    }

    fn read_output(&self, terminal: &TerminalId, wish: &ReadWish) -> Option<OutputPage> {
        self.terminals.read_output(terminal, wish)
    }

    fn export(&self, terminal: &TerminalId, format: ExportFormat, cursor: u64) -> Option<ExportPiece> {
        self.terminals.export(terminal, format, cursor)
    }
}

/// Whether `file` exists below `root`. `..` and links that lead outside count as missing.
fn is_inside(root: &Path, file: &Path) -> bool {
    if file.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    match (root.canonicalize(), root.join(file).canonicalize()) {
        (Ok(root), Ok(file)) => file.starts_with(root),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_below_the_root_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a b.rs"), "").unwrap();
        std::fs::write(dir.path().join("outside"), "").unwrap();
        std::os::unix::fs::symlink(dir.path().join("outside"), root.join("link")).unwrap();
        let check = |file: &str, expected: bool| {
            assert_eq!(is_inside(&root, Path::new(file)), expected, "{file}");
        };
        check("src/a b.rs", true);
        check(root.join("src/a b.rs").to_str().unwrap(), true);
        check("src/none.rs", false);
        check("../outside", false);
        check("link", false);
        check("/etc/passwd", false);
    }
}
