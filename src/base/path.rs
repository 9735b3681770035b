//! Where things live: the state directory, its files and its sockets (design 2).
//!
//! Nothing here reads the environment by itself; the values are handed in by `config::env`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The longest socket path that both Linux (108) and macOS (104) take, without the closing NUL.
const MAX_SOCKET_PATH: usize = 100;

/// An absolute path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct AbsPath(PathBuf);

impl AbsPath {
    /// Takes an absolute path as it is.
    pub fn new(path: PathBuf) -> Result<Self, String> {
        if path.is_absolute() { Ok(Self(path)) } else { Err(format!("{} is not absolute", path.display())) }
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl TryFrom<PathBuf> for AbsPath {
    type Error = String;
    fn try_from(path: PathBuf) -> Result<Self, String> {
        Self::new(path)
    }
}

impl From<AbsPath> for PathBuf {
    fn from(path: AbsPath) -> Self {
        path.0
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// A state directory and the places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
    sockets: PathBuf,
}

impl StateDir {
    /// The layout under `root` for the user `uid`, without touching the disk.
    ///
    /// Where `root` is too long for a socket, sockets go to a private directory under `/tmp` that
    /// is keyed by user and path.
    pub fn new(root: PathBuf, uid: u32) -> Self {
        // A holder's socket is the longest name: `h/` and a terminal id.
        let longest = root.join("h").join("term_000000000000.sock");
        let sockets = if longest.as_os_str().len() <= MAX_SOCKET_PATH {
            root.clone()
        } else {
            PathBuf::from(format!("/tmp/orca-{uid}-{}", key_of(&root)))
        };
        Self { root, sockets }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database file.
    pub fn store(&self) -> PathBuf {
        self.root.join("orca.redb")
    }

    /// The lock that only one server holds.
    pub fn lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.root.join("server.log")
    }

    /// Why the last server did not start, as JSON; there only while that is so.
    pub fn start_failure(&self) -> PathBuf {
        self.root.join("start-failure.json")
    }

    /// The server's socket.
    pub fn socket(&self) -> PathBuf {
        self.sockets.join("server.sock")
    }

    /// The folder of the holders' sockets.
    pub fn holders(&self) -> PathBuf {
        self.sockets.join("h")
    }

    /// The socket of one terminal's holder.
    pub fn holder_socket(&self, terminal: &str) -> PathBuf {
        self.holders().join(format!("{terminal}.sock"))
    }

    /// The folder of the terminals' folders.
    pub fn terminals(&self) -> PathBuf {
        self.root.join("terminals")
    }

    /// What is kept of one terminal: its journal, its launch record, its archive.
    pub fn terminal(&self, terminal: &str) -> PathBuf {
        self.terminals().join(terminal)
    }

    /// The folder of texts that editors show for a while.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Where calls wait for a server that cannot be reached, first choice first. A server looks at all of
    /// them.
    ///
    /// The state directory survives a reboot; a sandbox that may not write there can usually write to
    /// `/tmp`, else to the temporary directory of its environment. The temporary ones are keyed by user
    /// and by where the state directory really is, however it was spelled.
    pub fn spools(&self, uid: u32, temp_dir: &Path) -> [PathBuf; 3] {
        let key = key_of(&resolved(&self.root));
        let name = format!("orca-spool-{uid}-{key}");
        [self.root.join("spool"), Path::new("/tmp").join(&name), temp_dir.join(name)]
    }

    /// Makes the directories that are missing, mode 0700, and checks that they belong to `uid`.
    pub fn prepare(&self, uid: u32) -> std::io::Result<()> {
        for dir in [&self.root, &self.terminals(), &self.scratch(), &self.sockets, &self.holders()] {
            make_private_dir(dir, uid)?;
        }
        Ok(())
    }
}

/// A short name for a path, the same in every process.
fn key_of(path: &Path) -> String {
    use sha2::Digest as _;
    use std::os::unix::ffi::OsStrExt as _;
    let digest = sha2::Sha256::digest(path.as_os_str().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The path without links, as far as it is there already.
fn resolved(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}

/// Makes `dir` (and its parents) and leaves it with mode 0700. A directory of another user, or a
/// link in its place, is refused: somebody else could have put it there first.
pub fn make_private_dir(dir: &Path, uid: u32) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = std::fs::symlink_metadata(dir)?;
    let is_ours = meta.uid() == uid && (meta.is_dir() || std::fs::metadata(dir)?.is_dir());
    if !is_ours {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            format!("{} does not belong to you", dir.display()),
        ));
    }
    if !meta.file_type().is_symlink() && meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_roots_get_a_short_private_socket_directory() {
        let short = StateDir::new(PathBuf::from("/home/a/.local/state/orca"), 7);
        assert_eq!(short.socket(), Path::new("/home/a/.local/state/orca/server.sock"));
        let long = StateDir::new(PathBuf::from(format!("/{}", "x".repeat(120))), 7);
        assert!(long.socket().starts_with("/tmp"), "{:?}", long.socket());
        assert!(long.holder_socket("term_000000000000").as_os_str().len() <= MAX_SOCKET_PATH);
        assert!(long.store().starts_with(long.root()));
    }

    #[test]
    fn a_spool_is_the_same_however_the_state_directory_is_spelled() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        let spool =
            |path: &str| StateDir::new(dir.path().join(path), 7).spools(7, Path::new("/t"))[1].clone();
        assert_eq!(spool("real/orca"), spool("link/orca"));
        std::fs::create_dir(real.join("orca")).unwrap();
        assert_eq!(spool("real/orca"), spool("link/orca"));
        assert_ne!(spool("real/orca"), spool("real/other"));
        let spools = StateDir::new(PathBuf::from("/s"), 7).spools(7, Path::new("/t"));
        assert_eq!(spools[0], Path::new("/s/spool"));
        assert!(spools[1].starts_with("/tmp") && spools[2].starts_with("/t"), "{spools:?}");
    }

    #[test]
    fn prepared_directories_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let uid = std::fs::metadata(dir.path()).unwrap().uid();
        let state = StateDir::new(dir.path().join("s p ü"), uid);
        state.prepare(uid).unwrap();
        let mode = std::fs::metadata(state.root()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(state.prepare(uid.wrapping_add(1)).is_err());
    }
}
