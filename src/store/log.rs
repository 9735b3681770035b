//! The event log: appended in the same commit as the change it tells of, replayed by number.

use super::tables::{EVENTS, EVENTS_BY};
use super::tx::{Tx, table_error};
use super::{StoreError, codec};
use crate::base::clock::Timestamp;
use crate::base::id::{RunId, TaskId};
use crate::model::event::{Event, EventKind, Fact};
use redb::ReadableTable as _;

impl Tx {
    /// Appends a fact and returns it with its number.
    pub fn append_event(&mut self, fact: Fact, by: &str, at: Timestamp) -> Result<Event, StoreError> {
        let seq = self.next_number("event")?;
        let event = Event {
            seq,
            at,
            kind: fact.kind,
            run_id: fact.run_id,
            task_id: fact.task_id,
            dispatch_id: fact.dispatch_id,
            terminal_id: fact.terminal_id,
            by: by.to_owned(),
            detail: fact.detail,
        };
        let bytes = codec::encode("events", &seq.to_string(), &event)?;
        let tx = self.writer()?;
        let mut events = tx.open_table(EVENTS).map_err(table_error)?;
        events.insert(seq, bytes.as_slice()).map_err(StoreError::database)?;
        let begun = event.run_id.as_ref().filter(|_| event.kind == EventKind::RunCreated);
        let named = [event.task_id.as_ref().map(TaskId::as_str), begun.map(RunId::as_str)];
        for name in named.into_iter().flatten() {
            let mut by_name = tx.open_table(EVENTS_BY).map_err(table_error)?;
            by_name.insert(format!("{name}\0{seq:020}").as_str(), seq).map_err(StoreError::database)?;
        }
        Ok(event)
    }

    /// The log tells of the beginning of this Run, also where the Run was reset since.
    pub fn has_begun(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(!self.numbers_of(run.as_str())?.is_empty())
    }

    /// The number of the newest event; 0 when there is none.
    pub fn last_event_seq(&self) -> Result<u64, StoreError> {
        Ok(self.meta::<u64>("event")?.unwrap_or(0))
    }

    /// The events after number `seq`, oldest first, at most `limit`. For a write transaction and a
    /// snapshot alike.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let last = self.last_event_seq()?;
        let until = seq.saturating_add(limit as u64).min(last);
        (seq + 1..=until).map(|number| self.event(number)).filter_map(Result::transpose).collect()
    }

    /// The events of one Task, oldest first: the attempt timeline.
    pub fn events_of_task(&self, task: &TaskId) -> Result<Vec<Event>, StoreError> {
        let numbers = self.numbers_of(task.as_str())?;
        numbers.into_iter().map(|number| self.event(number)).filter_map(Result::transpose).collect()
    }

    fn event(&self, seq: u64) -> Result<Option<Event>, StoreError> {
        let bytes = self.event_bytes(seq)?;
        bytes.map(|bytes| codec::decode("events", &seq.to_string(), &bytes)).transpose()
    }

    fn event_bytes(&self, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.with_either(
            |tx| {
                let table = tx.open_table(EVENTS).map_err(table_error)?;
                let found = table.get(seq).map_err(StoreError::database)?;
                Ok(found.map(|guard| guard.value().to_vec()))
            },
            |tx| {
                let table = tx.open_table(EVENTS).map_err(table_error)?;
                let found = table.get(seq).map_err(StoreError::database)?;
                Ok(found.map(|guard| guard.value().to_vec()))
            },
        )
    }

    /// The numbers of the events that are filed under a name.
    fn numbers_of(&self, name: &str) -> Result<Vec<u64>, StoreError> {
        fn numbers<T: redb::ReadableTable<&'static str, u64>>(
            table: &T,
            name: &str,
        ) -> Result<Vec<u64>, StoreError> {
            let (from, to) = (format!("{name}\0"), format!("{name}\u{1}"));
            let range = table.range::<&str>(from.as_str()..to.as_str()).map_err(StoreError::database)?;
            range.map(|entry| entry.map(|(_, seq)| seq.value()).map_err(StoreError::database)).collect()
        }
        self.with_either(
            |tx| numbers(&tx.open_table(EVENTS_BY).map_err(table_error)?, name),
            |tx| numbers(&tx.open_table(EVENTS_BY).map_err(table_error)?, name),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn numbers_are_gapless_and_replay_from_any_of_them() {
        let store = Store::in_memory().unwrap();
        let mut tx = store.write().unwrap();
        for n in 1..=5 {
            let event = tx
                .append_event(Fact::new(EventKind::RunCreated, format!("{n}")), "user", Timestamp(n))
                .unwrap();
            assert_eq!(event.seq, n as u64);
        }
        tx.commit_soft().unwrap();
        let tx = store.read().unwrap();
        let details: Vec<String> = tx.events_after(2, 2).unwrap().into_iter().map(|e| e.detail).collect();
        assert_eq!(details, ["3", "4"]);
    }

    #[test]
    fn an_aborted_command_leaves_no_event() {
        let store = Store::in_memory().unwrap();
        let mut tx = store.write().unwrap();
        tx.append_event(Fact::new(EventKind::RunCreated, "x"), "user", Timestamp(0)).unwrap();
        drop(tx);
        assert_eq!(store.read().unwrap().last_event_seq().unwrap(), 0);
    }
}
