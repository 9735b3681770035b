//! The copy of the database that the last good start left: made row by row from a snapshot, so that it
//! needs nobody to wait and holds nothing that cannot be read.

use super::rows::{INDEX_TABLES, ROW_TABLES};
use super::tables::{EVENTS, EVENTS_BY, META};
use super::tx::{Tx, table_error};
use super::{STORE_ID, StoreError, last_good, make_private_file};
use redb::{Database, ReadOnlyDatabase, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What must stay free beside the copy: a full disk would end the server that it is made for.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// The copy is written once and in order; there is nothing to keep at hand.
const CACHE_BYTES: usize = 4 << 20;
/// What is not committed lies in memory.
const ROWS_PER_COMMIT: usize = 4_000;

/// How long somebody else may look at the copy that is there.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);
const BUSY_TURN: Duration = Duration::from_millis(50);

/// Keeps what `snapshot` holds of the database at `path` as `<path>.last-good`; the one that is there goes
/// only when the new one is whole. One of another store, or of a later state of this one, does not go: it is
/// given another name, which is returned. May take long.
pub fn keep(snapshot: &Tx, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let copy = last_good(path);
    let temporary = copy.with_extension("copying");
    let kept = write(snapshot, path, &temporary).and_then(|()| {
        let aside = aside(snapshot, &copy)?;
        if let Some(aside) = &aside {
            std::fs::rename(&copy, aside).map_err(|io| StoreError::unwritable(aside, &io))?;
        }
        std::fs::rename(&temporary, &copy).map_err(|io| StoreError::unwritable(&copy, &io))?;
        Ok(aside)
    });
    if kept.is_err() {
        drop(std::fs::remove_file(&temporary)); // may never have been made
    }
    kept
}

/// What tells the states of stores apart: which store, and the number of its last event.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    store: String,
    seq: u64,
}

impl State {
    fn of(tx: &Tx) -> Result<Self, StoreError> {
        Ok(Self { store: tx.meta(STORE_ID)?.unwrap_or_default(), seq: tx.last_event_seq()? })
    }
}

/// Where the copy that is there goes so that nothing of it is lost; None where `snapshot` has all of it, or it
/// cannot be read.
fn aside(snapshot: &Tx, copy: &Path) -> Result<Option<PathBuf>, StoreError> {
    let ours = State::of(snapshot)?;
    let theirs = match state_in(copy) {
        Ok(state) => state,
        Err(StoreError::Busy { path }) => return Err(StoreError::Busy { path }),
        Err(_) => return Ok(None),
    };
    if theirs.store == ours.store && theirs.seq <= ours.seq {
        return Ok(None);
    }
    let short: String = theirs.store.chars().take(8).collect();
    let mut name = copy.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{short}-{}", theirs.seq));
    Ok(Some(copy.with_file_name(name)))
}

/// What a copy holds. Blocks while somebody else looks at it, but not for ever.
fn state_in(copy: &Path) -> Result<State, StoreError> {
    let began = Instant::now();
    loop {
        // redb panics where a page is not what another page says it is.
        let looked = std::panic::catch_unwind(|| look(copy));
        match looked.unwrap_or_else(|_| Err(StoreError::Database(String::from("it is damaged")))) {
            Err(StoreError::Busy { .. }) if began.elapsed() < BUSY_PATIENCE => std::thread::sleep(BUSY_TURN),
            other => return other,
        }
    }
}

fn look(copy: &Path) -> Result<State, StoreError> {
    let state = |tx: Result<redb::ReadTransaction, redb::TransactionError>| {
        State::of(&Tx::reading(tx.map_err(StoreError::database)?))
    };
    match ReadOnlyDatabase::open(copy) {
        Ok(database) => state(database.begin_read()),
        // One that was not closed well is readable once it is put right.
        Err(redb::DatabaseError::RepairAborted) => {
            state(Database::open(copy).map_err(StoreError::database)?.begin_read())
        }
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(StoreError::Busy { path: copy.to_owned() }),
        Err(other) => Err(StoreError::database(other)),
    }
}

fn write(snapshot: &Tx, path: &Path, temporary: &Path) -> Result<(), StoreError> {
    let failed = |io: std::io::Error| StoreError::unwritable(temporary, &io);
    let wanted = std::fs::metadata(path).map_err(failed)?.len() + MIN_FREE_BYTES;
    let disk = rustix::fs::statvfs(path).map_err(|errno| failed(errno.into()))?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < wanted {
        let detail = String::from("the disk has too little room for a copy");
        let kind = std::io::ErrorKind::StorageFull;
        return Err(StoreError::Unwritable { path: temporary.to_owned(), kind, detail });
    }
    match std::fs::remove_file(temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    make_private_file(temporary)?;
    let database =
        redb::Builder::new().set_cache_size(CACHE_BYTES).create(temporary).map_err(StoreError::database)?;
    ROW_TABLES.iter().try_for_each(|table| copy_table(snapshot, &database, *table))?;
    INDEX_TABLES.iter().try_for_each(|table| copy_table(snapshot, &database, *table))?;
    copy_table(snapshot, &database, META)?;
    copy_table(snapshot, &database, EVENTS_BY)?;
    copy_table(snapshot, &database, EVENTS)
}

/// Reads every entry of every table.
pub(super) fn read_all(snapshot: &Tx) -> Result<(), StoreError> {
    ROW_TABLES.iter().try_for_each(|table| read_table(snapshot, *table))?;
    INDEX_TABLES.iter().try_for_each(|table| read_table(snapshot, *table))?;
    read_table(snapshot, META)?;
    read_table(snapshot, EVENTS_BY)?;
    read_table(snapshot, EVENTS)
}

fn read_table<K: redb::Key, V: redb::Value>(
    snapshot: &Tx,
    table: TableDefinition<'static, K, V>,
) -> Result<(), StoreError> {
    let source = snapshot.reader()?.open_table(table).map_err(table_error)?;
    source.iter().map_err(StoreError::database)?.try_for_each(|entry| {
        let (key, value) = entry.map_err(StoreError::database)?;
        let _ = (key.value(), value.value());
        Ok(())
    })
}

fn copy_table<K: redb::Key, V: redb::Value>(
    snapshot: &Tx,
    to: &Database,
    table: TableDefinition<'static, K, V>,
) -> Result<(), StoreError> {
    let source = snapshot.reader()?.open_table(table).map_err(table_error)?;
    let mut entries = source.iter().map_err(StoreError::database)?.peekable();
    loop {
        let tx = to.begin_write().map_err(StoreError::database)?;
        {
            let mut target = tx.open_table(table).map_err(table_error)?;
            for entry in entries.by_ref().take(ROWS_PER_COMMIT) {
                let (key, value) = entry.map_err(StoreError::database)?;
                target.insert(key.value(), value.value()).map_err(StoreError::database)?;
            }
        }
        tx.commit().map_err(StoreError::database)?;
        if entries.peek().is_none() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::id::RunId;
    use crate::model::event::{EventKind, Fact};
    use crate::model::limit::Limits;
    use crate::model::run::{Consumer, Run};
    use crate::store::Store;

    fn add_run(store: &Store, n: usize) {
        let mut tx = store.write().unwrap();
        tx.put(&Run {
            id: RunId::parse(&format!("run_{n}")).unwrap(),
            objective: String::from("kept"),
            consumer: Some(Consumer::User),
            consumer_generation: 1,
            displaced: None,
            limits: Limits::default(),
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        })
        .unwrap();
        tx.append_event(Fact::new(EventKind::RunCreated, "x"), "user", Timestamp(1)).unwrap();
        tx.commit_durable().unwrap();
    }

    #[test]
    fn a_copy_opens_and_holds_what_the_snapshot_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let store = Store::open(&path).unwrap();
        add_run(&store, 1);
        let snapshot = store.read().unwrap();
        add_run(&store, 2);
        keep(&snapshot, &path).unwrap();
        let copy = Store::open(&last_good(&path)).unwrap();
        let tx = copy.read().unwrap();
        let runs = tx.list::<Run>("user", "", 9).unwrap();
        assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run_1"]);
        assert_eq!(tx.events_after(0, 9).unwrap(), snapshot.events_after(0, 9).unwrap());
        assert_eq!(tx.meta::<u64>("schema").unwrap(), snapshot.meta::<u64>("schema").unwrap());
    }

    #[test]
    fn a_copy_of_another_store_or_of_a_later_state_is_kept_under_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let store = Store::open(&path).unwrap();
        add_run(&store, 1);
        let early = store.read().unwrap();
        assert_eq!(keep(&early, &path).unwrap(), None, "there was none");
        add_run(&store, 2);
        assert_eq!(keep(&store.read().unwrap(), &path).unwrap(), None, "it was an older state of the same");
        let n_runs = |path: &Path| {
            let store = Store::open(path).unwrap();
            store.read().unwrap().all::<Run>(9).unwrap().len()
        };
        let later = keep(&early, &path).unwrap().expect("the other one had more");
        assert_eq!((n_runs(&later), n_runs(&last_good(&path))), (2, 1));
        drop((early, store));
        // Begun anew, with an empty one.
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(last_good(&path), dir.path().join("away")).unwrap();
        let anew = Store::open(&path).unwrap();
        std::fs::rename(dir.path().join("away"), last_good(&path)).unwrap();
        let other = keep(&anew.read().unwrap(), &path).unwrap().expect("it was another store");
        assert_eq!((n_runs(&other), n_runs(&last_good(&path))), (1, 0));
        assert_ne!(other, later);
    }

    #[test]
    fn a_copy_that_cannot_be_kept_leaves_the_older_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let store = Store::open(&path).unwrap();
        keep(&store.read().unwrap(), &path).unwrap();
        let older = std::fs::read(last_good(&path)).unwrap();
        std::fs::create_dir_all(last_good(&path).with_extension("copying").join("in the way")).unwrap();
        assert!(matches!(keep(&store.read().unwrap(), &path), Err(StoreError::Unwritable { .. })));
        assert_eq!(std::fs::read(last_good(&path)).unwrap(), older);
    }
}
