//! Removing a folder with everything in it, and nothing outside it.

use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Removes `root`; links in it are removed, never followed. A path that is not there is fine.
///
/// # Errors
/// Fails before anything was removed where another file system is mounted inside.
pub(super) fn remove(root: &Path) -> io::Result<()> {
    let meta = match root.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !meta.is_dir() {
        return std::fs::remove_file(root);
    }
    let dirs = folders(root, &meta)?;
    // The innermost come last in the list, so going backwards empties each folder before its parent.
    for dir in dirs.iter().rev() {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                ignore_missing(std::fs::remove_file(entry.path()))?;
            }
        }
        ignore_missing(std::fs::remove_dir(dir))?;
    }
    Ok(())
}

/// Every folder under `root`, parents before children; makes read-only ones writable.
fn folders(root: &Path, root_meta: &Metadata) -> io::Result<Vec<PathBuf>> {
    let mut dirs = vec![root.to_owned()];
    let mut at = 0;
    while let Some(dir) = dirs.get(at).cloned() {
        at += 1;
        let meta = dir.symlink_metadata()?;
        if meta.dev() != root_meta.dev() {
            let why = format!("{} is a mount point; unmount it first", dir.display());
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        if meta.mode() & 0o300 != 0o300 {
            std::fs::set_permissions(&dir, Permissions::from_mode(meta.mode() | 0o700))?;
        }
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    Ok(dirs)
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_removed_and_what_they_point_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, shared) = (dir.path().join("tree"), dir.path().join("shared"));
        std::fs::create_dir_all(tree.join("a/b/c")).unwrap();
        std::fs::create_dir_all(&shared).unwrap();
        std::fs::write(shared.join("keep"), "x").unwrap();
        std::os::unix::fs::symlink("../../shared", tree.join("a/deps")).unwrap();
        std::fs::write(tree.join("a/b/c/f"), "x").unwrap();
        std::fs::set_permissions(tree.join("a/b/c"), Permissions::from_mode(0o500)).unwrap();
        remove(&tree).unwrap();
        assert!(!tree.exists());
        assert!(shared.join("keep").exists());
        remove(&tree).unwrap();
    }
}
