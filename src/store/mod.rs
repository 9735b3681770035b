//! redb behind typed doors: rows, their indices, the event log and the request ledger.
//!
//! One file, owned by the server alone. It decides nothing: `ops` says what to write. A command runs
//! in a [`tx::Tx`] of its own; a batch of them becomes durable with one [`Store::sync`], and only
//! then may replies go out (design 3, group commit). A damaged file is never overwritten.

mod codec;
pub mod copy;
#[cfg(test)]
mod disk_tests;
pub mod ledger;
pub mod log;
mod migrate;
pub mod rows;
mod tables;
pub mod tx;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use tx::Tx;

/// The singleton that tells a store, and its copies, from every other one.
const STORE_ID: &str = "store";

/// Why the store could not do what it was asked.
#[derive(Debug)]
pub enum StoreError {
    /// The file cannot be opened or read for what it is, or is gone while its copy is there. Nothing was touched.
    Damaged { path: PathBuf, copy: Option<PathBuf>, is_gone: bool, detail: String },
    /// The directory or file cannot be written: read-only, or the disk is full.
    Unwritable { path: PathBuf, kind: std::io::ErrorKind, detail: String },
    /// The file was written by a newer orca.
    TooNew { found: u64, known: u64 },
    /// Another process has the file open.
    Busy { path: PathBuf },
    /// A row does not decode.
    BadRow { table: &'static str, key: String, detail: String },
    /// A unique index already holds another row.
    Conflict { index: &'static str, value: String },
    /// A write was tried in a snapshot.
    ReadOnly,
    /// The database failed in the middle of an operation.
    Database(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged { path, copy, detail, .. } => {
                write!(f, "the database {} cannot be read ({detail}); nothing was changed", path.display())?;
                match copy {
                    Some(copy) => write!(f, ". The copy made at the last good start is {}", copy.display()),
                    None => Ok(()),
                }
            }
            Self::Unwritable { path, detail, .. } => {
                write!(f, "{} cannot be written: {detail}", path.display())
            }
            Self::TooNew { found, known } => {
                write!(
                    f,
                    "the database has schema version {found}, this orca knows up to {known}; nothing was touched"
                )
            }
            Self::Busy { path } => write!(f, "another process has {} open", path.display()),
            Self::BadRow { table, key, detail } => {
                write!(f, "row {key:?} of {table} does not decode: {detail}")
            }
            Self::Conflict { index, value } => write!(f, "{index} {value:?} is taken"),
            Self::ReadOnly => f.write_str("this is a snapshot, nothing can be written to it"),
            Self::Database(detail) => write!(f, "the database failed: {detail}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// The database does nothing more until it is opened again, even when the disk has room by then.
    pub fn needs_reopening(&self) -> bool {
        matches!(self, Self::Unwritable { .. } | Self::Database(_))
    }

    fn unwritable(path: &Path, io: &std::io::Error) -> Self {
        Self::Unwritable { path: path.to_owned(), kind: io.kind(), detail: io.to_string() }
    }

    /// Wraps what redb says in the middle of an operation; a failure of the disk is told apart.
    fn database(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::Io(io) if is_disk_refusal(&io) => Self::unwritable(Path::new("the database"), &io),
            other => Self::Database(other.to_string()),
        }
    }
}

fn is_disk_refusal(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(
        error.kind(),
        K::StorageFull | K::QuotaExceeded | K::ReadOnlyFilesystem | K::PermissionDenied | K::FileTooLarge
    )
}

/// The open database.
pub struct Store {
    database: redb::Database,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Opens the file at `path`, or makes it. What [`copy::keep`] left beside it is named where it is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let copy = last_good(path);
        let length = std::fs::metadata(path).map(|meta| meta.len()).ok();
        let is_gone = length.is_none();
        let damaged =
            |detail| StoreError::Damaged { path: path.to_owned(), copy: existing(&copy), is_gone, detail };
        // A new database in its place would be what the next start keeps a copy of.
        let missing = match length {
            None => Some("the file is gone"),
            Some(0) => Some("the file is empty"),
            Some(_) => None,
        };
        if let Some(what) = missing.filter(|_| copy.exists()) {
            return Err(damaged(String::from(what)));
        }
        if is_gone {
            make_private_file(path)?;
        }
        // redb panics where a page is not what another page says it is.
        let opened = std::panic::catch_unwind(|| Self::open_file(path, &copy));
        match opened {
            Ok(Err(StoreError::Database(detail))) => Err(damaged(detail)),
            Ok(opened) => opened,
            Err(_) => Err(damaged(String::from("its pages contradict each other"))),
        }
    }

    fn open_file(path: &Path, copy: &Path) -> Result<Self, StoreError> {
        let database = redb::Builder::new()
            .set_cache_size(16 << 20)
            .create(path)
            .map_err(|error| open_error(path, copy, error))?;
        let store = Self { database };
        store.prepare()?;
        Ok(store)
    }

    /// A store that lives in memory only, for tests.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::over(redb::backends::InMemoryBackend::new())
    }

    fn over(backend: impl redb::StorageBackend) -> Result<Self, StoreError> {
        let database = redb::Builder::new().create_with_backend(backend).map_err(StoreError::database)?;
        let store = Self { database };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let mut tx = self.write()?;
        tx.make_tables()?;
        migrate::run(&mut tx)?;
        if tx.meta::<String>(STORE_ID)?.is_none() {
            tx.set_meta(STORE_ID, &uuid::Uuid::new_v4().simple().to_string())?;
        }
        tx.commit_durable()
    }

    /// Reads everything once: damage that an opening did not meet is met here. `path` is where this store is.
    pub fn check(&self, path: &Path) -> Result<(), StoreError> {
        let looked = std::panic::catch_unwind(AssertUnwindSafe(|| copy::read_all(&self.read()?)));
        let detail = match looked {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => String::from("its pages contradict each other"),
        };
        let (copy, path) = (existing(&last_good(path)), path.to_owned());
        Err(StoreError::Damaged { path, copy, is_gone: false, detail })
    }

    /// Begins a command's own transaction. Dropped without a commit, it leaves nothing behind.
    pub fn write(&self) -> Result<Tx, StoreError> {
        self.database.begin_write().map(Tx::writing).map_err(StoreError::database)
    }

    /// A snapshot of what was last committed.
    pub fn read(&self) -> Result<Tx, StoreError> {
        use redb::ReadableDatabase as _;
        self.database.begin_read().map(Tx::reading).map_err(StoreError::database)
    }

    /// Makes every commit so far durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.write()?.commit_durable()
    }

    /// Writes down which pages are in use, until the next commit: a start after a kill then need not find that
    /// out from the whole file. Costs more than a commit.
    pub fn settle(&self) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().map_err(StoreError::database)?;
        tx.set_quick_repair(true);
        tx.commit().map_err(StoreError::database)
    }
}

fn last_good(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".last-good");
    path.with_file_name(name)
}

fn existing(path: &Path) -> Option<PathBuf> {
    path.exists().then(|| path.to_owned())
}

fn open_error(path: &Path, copy: &Path, error: redb::DatabaseError) -> StoreError {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => StoreError::Busy { path: path.to_owned() },
        redb::DatabaseError::Storage(redb::StorageError::Io(io)) if is_disk_refusal(&io) => {
            StoreError::unwritable(path, &io)
        }
        other => {
            let (path, copy) = (path.to_owned(), existing(copy));
            StoreError::Damaged { path, copy, is_gone: false, detail: other.to_string() }
        }
    }
}

fn make_private_file(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|io| StoreError::unwritable(path, &io))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A good database and its copy.
    fn good(path: &Path) {
        let store = Store::open(path).unwrap();
        copy::keep(&store.read().unwrap(), path).unwrap();
    }

    #[test]
    fn a_damaged_file_is_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        good(&path);
        let damage = b"not a database at all, but long enough to be looked at".repeat(40);
        std::fs::write(&path, &damage).unwrap();
        match Store::open(&path) {
            Err(StoreError::Damaged { copy: Some(copy), .. }) => assert!(copy.exists()),
            other => panic!("{other:?}"),
        }
        assert_eq!(std::fs::read(&path).unwrap(), damage);
    }

    #[test]
    fn an_emptied_file_is_not_taken_for_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        good(&path);
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Damaged { .. })));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn a_file_that_is_gone_is_not_made_anew_beside_its_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        good(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Damaged { copy: Some(_), .. })));
        assert!(!path.exists(), "nothing was made");
        std::fs::remove_file(last_good(&path)).unwrap();
        drop(Store::open(&path).unwrap());
    }

    #[test]
    fn overwritten_pages_are_damage_and_no_panic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        good(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.iter_mut().skip(4096).for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Damaged { copy: Some(_), .. })));
    }

    #[test]
    fn damage_that_the_opening_did_not_meet_is_found_by_a_check() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        good(&path);
        // Nothing in memory hides what is on the disk.
        let store = Store { database: redb::Builder::new().set_cache_size(0).create(&path).unwrap() };
        store.check(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.iter_mut().skip(2 * 4_096).for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(store.check(&path), Err(StoreError::Damaged { copy: Some(_), is_gone: false, .. })));
        // Closing it would write to it.
        std::mem::forget(store);
    }

    #[test]
    fn the_file_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        drop(Store::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_second_opener_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let first = Store::open(&path).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Busy { .. })));
        drop(first);
    }
}
