//! A directory for its owner alone in a place where others may write, such as `/tmp`.
//!
//! Everything goes through the directory's descriptor, which was checked once: it is a directory and
//! no link, it belongs to us, nobody else may enter. What somebody puts in its place afterwards is not
//! reached. Files in it appear whole and durable, or not at all.

use super::report::OrLog as _;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How names begin that are being written and count as nothing yet.
pub const UNFINISHED: &str = ".writing-";

/// A checked directory.
#[derive(Debug)]
pub struct PrivateDir {
    dir: OwnedFd,
    path: PathBuf,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A plain file of ours with its length in bytes and when it was written, in seconds since 1970.
    File { len: u64, modified: i64 },
    /// A link, a folder, or somebody else's.
    Foreign,
}

impl PrivateDir {
    /// Opens a directory that is there. One of another user, or a link in its place, is refused with
    /// `PermissionDenied`: somebody else could have put it there first.
    pub fn open(path: &Path, uid: u32) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| not_ours(path, error))?;
        Self::checked(dir, path.to_owned(), uid)
    }

    /// The same, after making it where it is missing; its parent must be there.
    pub fn make(path: &Path, uid: u32) -> Result<Self> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Self::open(path, uid),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory `name` in this one, made where it is missing.
    pub fn make_inner(&self, name: &str, uid: u32) -> Result<Self> {
        match rustix::fs::mkdirat(&self.dir, name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.inner(name, uid),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory `name` in this one.
    pub fn inner(&self, name: &str, uid: u32) -> Result<Self> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&self.dir, name, flags, Mode::empty())
            .map_err(|error| not_ours(&path, error))?;
        Self::checked(dir, path, uid)
    }

    fn checked(dir: OwnedFd, path: PathBuf, uid: u32) -> Result<Self> {
        let stat = rustix::fs::fstat(&dir)?;
        if stat.st_uid != uid {
            return Err(refused(&path));
        }
        if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            rustix::fs::fchmod(&dir, Mode::RWXU)?;
        }
        Ok(Self { dir, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it, sorted; a name that is no UTF-8 comes with replacement characters.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// What `name` is, without following it.
    pub fn entry(&self, name: &str, uid: u32) -> Result<Entry> {
        let stat = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of(&stat, uid))
    }

    /// Writes a file with mode 0600 so that it appears under `name` with all of `bytes` on the disk. While
    /// the returned file is open, [`PrivateDir::is_held`] says so to everybody.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<File> {
        // Not the same ending: nobody may take it for the file.
        let unfinished = format!("{UNFINISHED}{name}~");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let written = rustix::fs::openat(&self.dir, unfinished.as_str(), flags, mode)
            .map_err(Error::from)
            .and_then(|file| {
                let mut file = File::from(file);
                rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                file.write_all(bytes)?;
                file.sync_all()?;
                rustix::fs::renameat(&self.dir, unfinished.as_str(), &self.dir, name)?;
                rustix::fs::fsync(&self.dir)?;
                Ok(file)
            });
        if written.is_err() {
            self.remove(&unfinished).or_log("clear away what was not finished");
        }
        written
    }

    /// Reads a plain file of ours with at most `max` bytes.
    pub fn read(&self, name: &str, max: u64, uid: u32) -> Result<Vec<u8>> {
        let file = self.open_file(name)?;
        match kind_of(&rustix::fs::fstat(&file)?, uid) {
            Entry::File { len, .. } if len <= max => {}
            Entry::File { len, .. } => {
                let message = format!("it has {len} bytes, and {max} are the most");
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            Entry::Foreign => {
                return Err(Error::new(ErrorKind::InvalidData, "it is no plain file of yours"));
            }
        }
        let mut bytes = Vec::new();
        file.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether the process that wrote `name` still has it open.
    pub fn is_held(&self, name: &str) -> bool {
        let Ok(file) = self.open_file(name) else { return false };
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        locked == Err(rustix::io::Errno::WOULDBLOCK)
    }

    fn open_file(&self, name: &str) -> Result<File> {
        // Not blocking: what lies there may be a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.dir, name, flags, Mode::empty())?))
    }

    /// Takes a file away; one that is not there is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        match rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes away the empty directory `name`.
    pub fn remove_inner(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves an entry of whatever kind into another directory of the same file system.
    pub fn move_to(&self, name: &str, other: &Self) -> Result<()> {
        rustix::fs::renameat(&self.dir, name, &other.dir, name)?;
        Ok(rustix::fs::fsync(&other.dir)?)
    }
}

fn kind_of(stat: &Stat, uid: u32) -> Entry {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_uid != uid {
        return Entry::Foreign;
    }
    Entry::File { len: u64::try_from(stat.st_size).unwrap_or(u64::MAX), modified: stat.st_mtime }
}

fn refused(path: &Path) -> Error {
    let message = format!("{} is not a directory of yours", path.display());
    Error::new(ErrorKind::PermissionDenied, message)
}

/// A link or a file in the place of a directory is as foreign as one of another user.
fn not_ours(path: &Path, error: rustix::io::Errno) -> Error {
    match error {
        rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => refused(path),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    fn place() -> (tempfile::TempDir, u32) {
        let folder = tempfile::tempdir().unwrap();
        let uid = folder.path().metadata().unwrap().uid();
        (folder, uid)
    }

    #[test]
    fn links_files_and_directories_of_others_are_refused() {
        let (folder, uid) = place();
        let (real, link, file) =
            (folder.path().join("real"), folder.path().join("link"), folder.path().join("f"));
        std::fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        for path in [&link, &file] {
            let refused = PrivateDir::make(path, uid).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
        }
        assert!(PrivateDir::open(&real, uid.wrapping_add(1)).is_err());
        assert_eq!(
            PrivateDir::open(&folder.path().join("none"), uid).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn an_open_directory_is_closed_to_others() {
        let (folder, uid) = place();
        let path = folder.path().join("wide");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        PrivateDir::make(&path, uid).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_is_private_whole_and_held_while_it_is_open() {
        let (folder, uid) = place();
        let dir = PrivateDir::make(&folder.path().join("d"), uid).unwrap();
        let held = dir.write("one", b"text").unwrap();
        assert_eq!(dir.path().join("one").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(dir.is_held("one"));
        assert_eq!(dir.read("one", 4, uid).unwrap(), b"text");
        assert!(dir.read("one", 3, uid).unwrap_err().to_string().contains("4 bytes"));
        drop(held);
        assert!(!dir.is_held("one"));
        assert_eq!(dir.names().unwrap(), ["one"]);
        dir.remove("one").unwrap();
        dir.remove("one").unwrap();
        assert!(dir.names().unwrap().is_empty());
    }

    #[test]
    fn a_link_in_it_is_not_followed_and_can_be_moved_away() {
        let (folder, uid) = place();
        let dir = PrivateDir::make(&folder.path().join("d"), uid).unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        symlink(&secret, dir.path().join("one")).unwrap();
        assert_eq!(dir.entry("one", uid).unwrap(), Entry::Foreign);
        assert!(dir.read("one", 100, uid).is_err());
        let other = dir.make_inner("rejected", uid).unwrap();
        dir.move_to("one", &other).unwrap();
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert_eq!(other.names().unwrap(), ["one"]);
    }
}
