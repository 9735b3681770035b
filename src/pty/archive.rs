//! What is kept of a terminal after its release: the end of its text, and how it came about.

use super::PtyError;
use super::files::write_private;
use crate::base::clock::Timestamp;
use crate::base::text::{without_secrets, without_words};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The most characters of a terminal that are kept (contract 7.4 "Archive").
pub const MAX_CHARS: usize = 262_144;

/// Beginnings of words of which a kept text holds no more than that.
const SECRET_PREFIXES: &[&str] = &["dcap_"];

/// What is known of an archived text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveInfo {
    pub terminal: String,
    pub incarnation: String,
    pub at: Timestamp,
    /// Characters kept.
    pub n_chars: usize,
    /// Characters before them that were not.
    pub n_clipped: usize,
}

impl ArchiveInfo {
    /// Whether the terminal had no text (status `empty`).
    pub fn is_empty(&self) -> bool {
        self.n_chars == 0
    }
}

/// Keeps the newest [`MAX_CHARS`] characters of `text` in the terminal's folder `dir`, as
/// `archive.txt` with `archive.json` beside it.
///
/// A word that starts with `dcap_` keeps only that (contract 7.4), and none of `secrets` is kept.
pub fn save(
    dir: &Path,
    terminal: &str,
    incarnation: &str,
    text: &str,
    secrets: &[String],
    at: Timestamp,
) -> Result<ArchiveInfo, PtyError> {
    let text = without_words(&without_secrets(text.trim_end(), SECRET_PREFIXES), secrets);
    let (n_clipped, kept) = newest(&text);
    let info = ArchiveInfo {
        terminal: terminal.to_owned(),
        incarnation: incarnation.to_owned(),
        at,
        n_chars: kept.chars().count(),
        n_clipped,
    };
    write_private(&dir.join("archive.txt"), kept.as_bytes(), "keep the terminal's text")?;
    let json = serde_json::to_vec(&info).map_err(|_| PtyError::Malformed { what: "archive record" })?;
    write_private(&dir.join("archive.json"), &json, "keep the terminal's text")?;
    Ok(info)
}

/// The archived text and what is known of it; None where nothing was archived or it is damaged.
pub fn load(dir: &Path) -> Option<(ArchiveInfo, String)> {
    let info = serde_json::from_slice(&std::fs::read(dir.join("archive.json")).ok()?).ok()?;
    let text = std::fs::read(dir.join("archive.txt")).ok()?;
    Some((info, String::from_utf8_lossy(&text).into_owned()))
}

/// The number of characters left out and the rest.
fn newest(text: &str) -> (usize, &str) {
    let n_clipped = text.chars().count().saturating_sub(MAX_CHARS);
    let start = text.char_indices().nth(n_clipped).map_or(text.len(), |(at, _)| at);
    (n_clipped, text.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save_text(dir: &Path, text: &str) -> ArchiveInfo {
        save(dir, "term_1", "inc_1", text, &[String::from("g0539dvd")], Timestamp(7)).unwrap()
    }

    #[test]
    fn the_newest_characters_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("ä{}", "ü".repeat(MAX_CHARS));
        let info = save_text(dir.path(), &text);
        assert_eq!((info.n_chars, info.n_clipped), (MAX_CHARS, 1));
        let (loaded, kept) = load(dir.path()).unwrap();
        assert_eq!(loaded, info);
        assert!(kept.starts_with('ü') && kept.chars().count() == MAX_CHARS);
    }

    #[test]
    fn secrets_and_trailing_blanks_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let text = "run --proof dcap_aB3-x_9 now\ndcap_q\n--proof g0539dvd, --proof=g0539dvd\ng0539dve --proof x\n\n  ";
        save_text(dir.path(), text);
        let kept = "run --proof dcap_… now\ndcap_…\n--proof …, --proof=…\ng0539dve --proof x";
        assert_eq!(load(dir.path()).unwrap().1, kept);
    }

    #[test]
    fn an_empty_terminal_is_told_from_a_missing_archive() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load(dir.path()).is_none());
        assert!(save_text(dir.path(), "\n \n").is_empty());
        assert!(load(dir.path()).unwrap().0.is_empty());
    }
}
