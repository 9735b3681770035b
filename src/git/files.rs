//! Whether the files that a worker reports are there (design 12, `missingFiles`).

use super::plain;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Lists those of `paths` that do not exist in `worktree`, as they were given.
///
/// A path that leads outside the worktree, by `..`, by being absolute or through a link, is reported
/// as missing and nothing outside is looked at.
pub fn missing_files(worktree: &Path, paths: &[String]) -> Vec<String> {
    let root = plain(worktree);
    paths.iter().filter(|path| !exists_inside(&root, worktree, path)).cloned().collect()
}

fn exists_inside(root: &Path, given_root: &Path, path: &str) -> bool {
    let path = Path::new(path);
    let below = match path.strip_prefix(root).or_else(|_| path.strip_prefix(given_root)) {
        Ok(below) => below,
        Err(_) if path.is_absolute() => return false,
        Err(_) => path,
    };
    walk(root, below).is_some()
}

/// Follows `below` part by part from `root`, links included, and never steps above `root`.
fn walk(root: &Path, below: &Path) -> Option<()> {
    const MAX_LINKS: u32 = 40;
    let mut todo: Vec<OsString> = parts(below)?;
    todo.reverse();
    let mut at: PathBuf = root.to_owned();
    let mut n_links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            if at == root {
                return None;
            }
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let meta = next.symlink_metadata().ok()?;
        // The last part may be a link that leads anywhere: the link itself is the file.
        if meta.is_symlink() && !todo.is_empty() {
            n_links += 1;
            if n_links > MAX_LINKS {
                return None;
            }
            let target = next.read_link().ok()?;
            let target = if target.is_absolute() {
                at = root.to_owned();
                target.strip_prefix(root).ok()?.to_owned()
            } else {
                target
            };
            todo.extend(parts(&target)?.into_iter().rev());
        } else {
            at = next;
        }
    }
    Some(())
}

fn parts(path: &Path) -> Option<Vec<OsString>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_owned()),
            Component::ParentDir => parts.push(OsString::from("..")),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_inside_the_worktree_counts_as_there() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tr ee");
        std::fs::create_dir_all(tree.join("a")).unwrap();
        std::fs::create_dir_all(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/f"), "x").unwrap();
        std::fs::write(tree.join("a/ü.txt"), "x").unwrap();
        symlink("a", tree.join("inner")).unwrap();
        symlink("../outside", tree.join("outer")).unwrap();
        symlink("loop", tree.join("loop")).unwrap();
        let absolute = tree.join("a/ü.txt").to_string_lossy().into_owned();
        let there = ["a/ü.txt", "./a/../a/ü.txt", "inner/ü.txt", "outer", absolute.as_str()];
        let outside = dir.path().join("outside/f").to_string_lossy().into_owned();
        let missing = ["b", "../outside/f", "outer/f", "loop/x", outside.as_str(), "a\0b", "a/ü.txt/x"];
        let all: Vec<String> = there.iter().chain(&missing).map(|s| (*s).to_owned()).collect();
        assert_eq!(missing_files(&tree, &all), missing);
    }
}
