//! A transaction: a snapshot to read, or a command's own changes, with its indices kept in step.

use super::rows::Row;
use super::tables::{EVENTS, EVENTS_BY, META};
use super::{StoreError, codec};
use redb::{ReadableTable, ReadableTableMetadata as _, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

enum Inner {
    Write(Box<redb::WriteTransaction>),
    Read(redb::ReadTransaction),
}

/// A row that a transaction changed, by table name and key: what the mirrors must be told of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    pub table: &'static str,
    pub key: String,
    /// The row was removed.
    pub is_gone: bool,
}

/// An open transaction. Reading and writing use the same calls; writing in a snapshot is refused.
pub struct Tx {
    inner: Inner,
    touched: Vec<Touched>,
    cleared: Vec<&'static str>,
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").field("touched", &self.touched).finish_non_exhaustive()
    }
}

impl Tx {
    pub(super) fn writing(tx: redb::WriteTransaction) -> Self {
        Self { inner: Inner::Write(Box::new(tx)), touched: Vec::new(), cleared: Vec::new() }
    }

    pub(super) fn reading(tx: redb::ReadTransaction) -> Self {
        Self { inner: Inner::Read(tx), touched: Vec::new(), cleared: Vec::new() }
    }

    /// The rows changed so far, without repeats, in the order of their first change.
    pub fn touched(&self) -> &[Touched] {
        &self.touched
    }

    /// The tables that were emptied as a whole; their rows are not among the touched ones.
    pub fn cleared(&self) -> &[&'static str] {
        &self.cleared
    }

    /// Makes the changes visible to the next transaction, not yet durable.
    pub fn commit_soft(self) -> Result<(), StoreError> {
        self.commit(redb::Durability::None)
    }

    /// Makes these changes and every soft commit before them durable.
    pub fn commit_durable(self) -> Result<(), StoreError> {
        self.commit(redb::Durability::Immediate)
    }

    fn commit(self, durability: redb::Durability) -> Result<(), StoreError> {
        match self.inner {
            Inner::Write(mut tx) => {
                tx.set_durability(durability).map_err(|e| StoreError::Database(e.to_string()))?;
                tx.commit().map_err(StoreError::database)
            }
            Inner::Read(_) => Err(StoreError::ReadOnly),
        }
    }

    pub(super) fn make_tables(&mut self) -> Result<(), StoreError> {
        let tx = self.writer()?;
        for table in super::rows::ROW_TABLES {
            tx.open_table(*table).map_err(StoreError::database)?;
        }
        for table in super::rows::INDEX_TABLES {
            tx.open_table(*table).map_err(StoreError::database)?;
        }
        tx.open_table(META).map_err(StoreError::database)?;
        tx.open_table(EVENTS).map_err(StoreError::database)?;
        tx.open_table(EVENTS_BY).map_err(StoreError::database)?;
        Ok(())
    }

    pub(super) fn writer(&self) -> Result<&redb::WriteTransaction, StoreError> {
        match &self.inner {
            Inner::Write(tx) => Ok(tx),
            Inner::Read(_) => Err(StoreError::ReadOnly),
        }
    }

    /// The snapshot itself, for [`super::copy`].
    pub(super) fn reader(&self) -> Result<&redb::ReadTransaction, StoreError> {
        match &self.inner {
            Inner::Read(tx) => Ok(tx),
            Inner::Write(_) => Err(StoreError::Database(String::from("not a snapshot"))),
        }
    }

    /// Runs the reader that fits the kind of transaction.
    pub(super) fn with_either<R>(
        &self,
        write: impl FnOnce(&redb::WriteTransaction) -> Result<R, StoreError>,
        read: impl FnOnce(&redb::ReadTransaction) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        match &self.inner {
            Inner::Write(tx) => write(tx),
            Inner::Read(tx) => read(tx),
        }
    }

    /// Runs `read` on a table of either kind of transaction.
    pub(super) fn with_table<V: Bytes, R>(
        &self,
        definition: redb::TableDefinition<'static, &'static str, V>,
        read: impl FnOnce(&dyn TableView) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        match &self.inner {
            Inner::Write(tx) => read(&View(tx.open_table(definition).map_err(table_error)?, PhantomData)),
            Inner::Read(tx) => read(&View(tx.open_table(definition).map_err(table_error)?, PhantomData)),
        }
    }

    /// The row with this key.
    pub fn get<T: Row>(&self, key: &str) -> Result<Option<T>, StoreError> {
        self.with_table(T::ROWS, |table| match table.get(key)? {
            Some(bytes) => codec::decode(T::NAME, key, &bytes).map(Some),
            None => Ok(None),
        })
    }

    /// Writes a row and moves its index entries.
    pub fn put<T: Row>(&mut self, row: &T) -> Result<(), StoreError> {
        let key = row.key();
        let old: Option<T> = self.get(&key)?;
        let bytes = codec::encode(T::NAME, &key, row)?;
        let stale = old.map(|old| index_entries(&old)).unwrap_or_default();
        let fresh = index_entries(row);
        {
            let tx = self.writer()?;
            let mut rows = tx.open_table(T::ROWS).map_err(table_error)?;
            rows.insert(key.as_str(), bytes.as_slice()).map_err(StoreError::database)?;
            let mut index = tx.open_table(T::INDEX).map_err(table_error)?;
            for entry in stale.iter().filter(|entry| !fresh.contains(entry)) {
                index.remove(entry.as_str()).map_err(StoreError::database)?;
            }
            for entry in fresh.iter().filter(|entry| !stale.contains(entry)) {
                let taken = index.insert(entry.as_str(), key.as_str()).map_err(StoreError::database)?;
                if taken.is_some_and(|holder| holder.value() != key) {
                    let value = entry.replace('\0', " ");
                    return Err(StoreError::Conflict { index: T::NAME, value });
                }
            }
        }
        self.touch(T::NAME, key, false);
        Ok(())
    }

    /// Removes a row and its index entries. Rows of work are never removed; this is for open
    /// effects, pruned receipts and `reset`.
    pub fn delete<T: Row>(&mut self, key: &str) -> Result<(), StoreError> {
        let Some(old) = self.get::<T>(key)? else { return Ok(()) };
        {
            let tx = self.writer()?;
            tx.open_table(T::ROWS).map_err(table_error)?.remove(key).map_err(StoreError::database)?;
            let mut index = tx.open_table(T::INDEX).map_err(table_error)?;
            for entry in index_entries(&old) {
                index.remove(entry.as_str()).map_err(StoreError::database)?;
            }
        }
        self.touch(T::NAME, key.to_owned(), true);
        Ok(())
    }

    /// Removes all rows of a noun at once and gives how many there were. Only for `reset`.
    pub fn clear<T: Row>(&mut self) -> Result<u64, StoreError> {
        let tx = self.writer()?;
        let n_rows = tx.open_table(T::ROWS).map_err(table_error)?.len().map_err(StoreError::database)?;
        tx.delete_table(T::ROWS).map_err(table_error)?;
        tx.delete_table(T::INDEX).map_err(table_error)?;
        tx.open_table(T::ROWS).map_err(table_error)?;
        tx.open_table(T::INDEX).map_err(table_error)?;
        self.cleared.push(T::NAME);
        Ok(n_rows)
    }

    /// Makes a noun's index anew from its rows.
    pub(super) fn reindex<T: Row>(&mut self) -> Result<(), StoreError> {
        let tx = self.writer()?;
        tx.delete_table(T::INDEX).map_err(table_error)?;
        let rows = tx.open_table(T::ROWS).map_err(table_error)?;
        let mut index = tx.open_table(T::INDEX).map_err(table_error)?;
        for found in rows.iter().map_err(StoreError::database)? {
            let (key, bytes) = found.map_err(StoreError::database)?;
            let row: T = codec::decode(T::NAME, key.value(), bytes.value())?;
            for entry in index_entries(&row) {
                index.insert(entry.as_str(), key.value()).map_err(StoreError::database)?;
            }
        }
        Ok(())
    }

    fn touch(&mut self, table: &'static str, key: String, is_gone: bool) {
        match self.touched.iter_mut().find(|known| known.table == table && known.key == key) {
            Some(known) => known.is_gone = is_gone,
            None => self.touched.push(Touched { table, key, is_gone }),
        }
    }

    /// The rows that `index` files under `value`, in the index's order, at most `limit`.
    pub fn list<T: Row>(&self, index: &str, value: &str, limit: usize) -> Result<Vec<T>, StoreError> {
        self.keys::<T>(index, value, limit, false)?.iter().map(|key| self.must_get(key)).collect()
    }

    /// The same from the end: the newest first, where the order is one of time.
    pub fn list_newest<T: Row>(&self, index: &str, value: &str, limit: usize) -> Result<Vec<T>, StoreError> {
        self.keys::<T>(index, value, limit, true)?.iter().map(|key| self.must_get(key)).collect()
    }

    /// The newest rows that `index` files under `value` before the entry of `behind`, which it files there too.
    pub fn list_newest_behind<T: Row>(
        &self,
        index: &str,
        value: &str,
        behind: &T,
        limit: usize,
    ) -> Result<Vec<T>, StoreError> {
        let from = format!("{index}\0{value}\0");
        let Some(to) = index_entries(behind).into_iter().find(|entry| entry.starts_with(&from)) else {
            return Ok(Vec::new());
        };
        let entries = self.with_table(T::INDEX, |table| table.range(&from, &to, limit, true))?;
        entries.iter().map(|(_, key)| self.must_get(&String::from_utf8_lossy(key))).collect()
    }

    /// The first row that `index` files under `value`.
    pub fn first<T: Row>(&self, index: &str, value: &str) -> Result<Option<T>, StoreError> {
        Ok(self.list(index, value, 1)?.pop())
    }

    /// The last row that `index` files under `value`.
    pub fn last<T: Row>(&self, index: &str, value: &str) -> Result<Option<T>, StoreError> {
        Ok(self.list_newest(index, value, 1)?.pop())
    }

    /// The number of rows that `index` files under `value`.
    pub fn count<T: Row>(&self, index: &str, value: &str) -> Result<usize, StoreError> {
        let unique = format!("{index}\0{value}");
        self.with_table(T::INDEX, |table| {
            let n = table.count(&format!("{unique}\0"), &format!("{unique}\u{1}"))?;
            Ok(n + usize::from(n == 0 && table.get(&unique)?.is_some()))
        })
    }

    /// The number of all rows of a noun, without a look at any.
    pub fn n_rows<T: Row>(&self) -> Result<usize, StoreError> {
        self.with_table(T::ROWS, |table| table.len())
    }

    /// The greatest value below `below` and from `from` on under which `index` files something; with
    /// it as the next `below` a walk over all values needs one look each, however many rows they have.
    pub fn value_below<T: Row>(
        &self,
        index: &str,
        from: &str,
        below: &str,
    ) -> Result<Option<String>, StoreError> {
        let (from, to) = (format!("{index}\0{from}"), format!("{index}\0{below}"));
        let found = self.with_table(T::INDEX, |table| table.range(&from, &to, 1, true))?;
        let value = found.first().and_then(|(entry, _)| entry.split('\0').nth(1));
        Ok(value.map(str::to_owned))
    }

    /// Every row of a noun in the order of its keys, at most `limit`.
    pub fn all<T: Row>(&self, limit: usize) -> Result<Vec<T>, StoreError> {
        self.with_table(T::ROWS, |table| {
            let entries = table.range("", "\u{10ffff}", limit, false)?;
            entries.iter().map(|(key, bytes)| codec::decode(T::NAME, key, bytes)).collect()
        })
    }

    fn must_get<T: Row>(&self, key: &str) -> Result<T, StoreError> {
        self.get(key)?.ok_or_else(|| StoreError::BadRow {
            table: T::NAME,
            key: key.to_owned(),
            detail: String::from("an index names it but it is not there"),
        })
    }

    fn keys<T: Row>(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        is_newest_first: bool,
    ) -> Result<Vec<String>, StoreError> {
        let unique = format!("{index}\0{value}");
        let from = format!("{unique}\0");
        let to = format!("{unique}\u{1}");
        self.with_table(T::INDEX, |table| {
            if let Some(key) = table.get(&unique)? {
                return Ok(vec![String::from_utf8_lossy(&key).into_owned()]);
            }
            let entries = table.range(&from, &to, limit, is_newest_first)?;
            Ok(entries.into_iter().map(|(_, key)| String::from_utf8_lossy(&key).into_owned()).collect())
        })
    }

    /// A counter or singleton.
    pub fn meta<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StoreError> {
        self.with_table(META, |table| match table.get(key)? {
            Some(bytes) => codec::decode("meta", key, &bytes).map(Some),
            None => Ok(None),
        })
    }

    /// Sets a counter or singleton.
    pub fn set_meta<T: Serialize>(&mut self, key: &str, value: &T) -> Result<(), StoreError> {
        let bytes = codec::encode("meta", key, value)?;
        let mut table = self.writer()?.open_table(META).map_err(table_error)?;
        table.insert(key, bytes.as_slice()).map_err(StoreError::database)?;
        Ok(())
    }

    /// The next number of a counter that starts at 1.
    pub fn next_number(&mut self, counter: &str) -> Result<u64, StoreError> {
        let next = self.meta::<u64>(counter)?.unwrap_or(0) + 1;
        self.set_meta(counter, &next)?;
        Ok(next)
    }
}

fn index_entries<T: Row>(row: &T) -> Vec<String> {
    let key = row.key();
    row.indices()
        .into_iter()
        .map(|entry| match entry.order {
            Some(order) => format!("{}\0{}\0{order}\0{key}", entry.index, entry.value),
            None => format!("{}\0{}", entry.index, entry.value),
        })
        .collect()
}

pub(super) fn table_error(error: TableError) -> StoreError {
    StoreError::database(error)
}

/// A value that can be handed out as bytes.
pub(super) trait Bytes: redb::Value + 'static {
    fn bytes(value: Self::SelfType<'_>) -> Vec<u8>;
}

impl Bytes for &'static [u8] {
    fn bytes(value: &[u8]) -> Vec<u8> {
        value.to_vec()
    }
}

impl Bytes for &'static str {
    fn bytes(value: &str) -> Vec<u8> {
        value.as_bytes().to_vec()
    }
}

/// What reading needs of a table, whichever transaction it belongs to.
pub(super) trait TableView {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    fn range(&self, from: &str, to: &str, limit: usize, is_newest_first: bool)
    -> Result<Entries, StoreError>;
    fn count(&self, from: &str, to: &str) -> Result<usize, StoreError>;
    fn len(&self) -> Result<usize, StoreError>;
}

type Entries = Vec<(String, Vec<u8>)>;

struct View<T, V>(T, PhantomData<V>);

impl<V: Bytes, T: ReadableTable<&'static str, V>> TableView for View<T, V> {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.0.get(key).map_err(StoreError::database)?;
        Ok(found.map(|guard| V::bytes(guard.value())))
    }

    fn range(
        &self,
        from: &str,
        to: &str,
        limit: usize,
        is_newest_first: bool,
    ) -> Result<Entries, StoreError> {
        let mut range = self.0.range::<&str>(from..to).map_err(StoreError::database)?;
        let mut entries = Vec::new();
        while entries.len() < limit {
            let next = if is_newest_first { range.next_back() } else { range.next() };
            let Some(next) = next else { break };
            let (key, value) = next.map_err(StoreError::database)?;
            entries.push((key.value().to_owned(), V::bytes(value.value())));
        }
        Ok(entries)
    }

    fn count(&self, from: &str, to: &str) -> Result<usize, StoreError> {
        let range = self.0.range::<&str>(from..to).map_err(StoreError::database)?;
        range.map(|entry| entry.map(|_| 1).map_err(StoreError::database)).sum()
    }

    fn len(&self) -> Result<usize, StoreError> {
        let n_rows = self.0.len().map_err(StoreError::database)?;
        Ok(usize::try_from(n_rows).unwrap_or(usize::MAX))
    }
}
