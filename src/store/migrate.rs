//! Ordered steps from one schema version to the next.

use super::StoreError;
use super::tx::Tx;

/// The version this program writes.
pub(super) const CURRENT: u64 = 1;

/// Brings an older file forward; refuses a newer one before anything is touched.
pub(super) fn run(tx: &mut Tx) -> Result<(), StoreError> {
    match tx.meta::<u64>("schema")? {
        Some(found) if found > CURRENT => Err(StoreError::TooNew { found, known: CURRENT }),
        Some(_) => Ok(()),
        None => tx.set_meta("schema", &CURRENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn a_newer_file_is_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let store = Store::open(&path).unwrap();
        let mut tx = store.write().unwrap();
        tx.set_meta("schema", &(CURRENT + 1)).unwrap();
        tx.commit_durable().unwrap();
        drop(store);
        assert!(matches!(Store::open(&path), Err(StoreError::TooNew { found, .. }) if found == CURRENT + 1));
    }
}
