//! Ordered steps from one schema version to the next.

use super::StoreError;
use super::tx::Tx;

/// The version this program writes. 2: messages are found by type, dispatches by being active. 3: messages
/// are found by their thread. 4: unread ones by their attempt.
pub(super) const CURRENT: u64 = 4;

/// Brings an older file forward; refuses a newer one before anything is touched.
pub(super) fn run(tx: &mut Tx) -> Result<(), StoreError> {
    match tx.meta::<u64>("schema")? {
        Some(found) if found > CURRENT => Err(StoreError::TooNew { found, known: CURRENT }),
        Some(CURRENT) => Ok(()),
        // Rows only ever gain fields that have a default; what files them is derived from them.
        Some(_) => {
            super::rows::reindex(tx)?;
            tx.set_meta("schema", &CURRENT)
        }
        None => tx.set_meta("schema", &CURRENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::id::RunId;
    use crate::model::limit::Limits;
    use crate::model::run::{Consumer, Run};
    use crate::store::Store;
    use crate::store::rows::Row as _;

    fn run_of_the_user() -> Run {
        Run {
            id: RunId::parse("run_1").unwrap(),
            objective: String::from("old"),
            consumer: Some(Consumer::User),
            consumer_generation: 1,
            displaced: None,
            limits: Limits::default(),
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        }
    }

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

    #[test]
    fn the_rows_of_an_older_file_are_filed_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orca.redb");
        let store = Store::open(&path).unwrap();
        let mut tx = store.write().unwrap();
        tx.put(&run_of_the_user()).unwrap();
        tx.writer().unwrap().delete_table(Run::INDEX).unwrap();
        tx.writer().unwrap().open_table(Run::INDEX).unwrap();
        tx.set_meta("schema", &1_u64).unwrap();
        tx.commit_durable().unwrap();
        drop(store);

        let store = Store::open(&path).unwrap();
        let tx = store.read().unwrap();
        assert_eq!(tx.list::<Run>("user", "", 9).unwrap(), [run_of_the_user()]);
        assert_eq!(tx.meta::<u64>("schema").unwrap(), Some(CURRENT));
    }
}
