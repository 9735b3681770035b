//! The copy of the database that the last good start left: made row by row from a snapshot, so that it
//! needs nobody to wait and holds nothing that cannot be read.

use super::rows::{INDEX_TABLES, ROW_TABLES};
use super::tables::{EVENTS, EVENTS_BY, META};
use super::tx::{Tx, table_error};
use super::{StoreError, last_good, make_private_file};
use redb::{Database, ReadableTable as _, TableDefinition};
use std::path::Path;

/// What must stay free beside the copy: a full disk would end the server that it is made for.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// The copy is written once and in order; there is nothing to keep at hand.
const CACHE_BYTES: usize = 4 << 20;
/// What is not committed lies in memory.
const ROWS_PER_COMMIT: usize = 4_000;

/// Keeps what `snapshot` holds of the database at `path` as `<path>.last-good`; the one that is there goes
/// only when the new one is whole. May take long.
pub fn keep(snapshot: &Tx, path: &Path) -> Result<(), StoreError> {
    let copy = last_good(path);
    let temporary = copy.with_extension("copying");
    let kept = write(snapshot, path, &temporary)
        .and_then(|()| std::fs::rename(&temporary, &copy).map_err(|io| StoreError::unwritable(&copy, &io)));
    if kept.is_err() {
        drop(std::fs::remove_file(&temporary)); // may never have been made
    }
    kept
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
