//! A disk that is full or gone from its n-th operation on, and one that loses its power: what was
//! promised is there afterwards, and a disk with room again is enough to go on.

use super::{Store, StoreError};
use crate::base::clock::Timestamp;
use crate::base::id::RunId;
use crate::model::limit::Limits;
use crate::model::run::{Consumer, Run};
use proptest::prelude::*;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// A change since the last sync: bytes at a place, or a new length.
#[derive(Debug, Clone)]
enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug, Default)]
struct State {
    /// What a reader sees.
    seen: Vec<u8>,
    /// What outlives a power cut.
    safe: Vec<u8>,
    unsafe_changes: Vec<Change>,
    /// Operations until it is full; None for never.
    n_left: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<State>>);

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Bytes(at, new) => {
            let end = at + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*at..end].copy_from_slice(new);
        }
        Change::Length(length) => bytes.resize(*length, 0),
    }
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// From the n-th operation from now on it is full.
    fn fills_after(&self, n: usize) {
        self.state().n_left = Some(n);
    }

    /// It has room again.
    fn is_cleared(&self) {
        self.state().n_left = None;
    }

    /// Its power goes and comes back: of what was not synced, what `is_kept` says is there.
    fn loses_power(&self, mut is_kept: impl FnMut() -> bool) {
        let mut state = self.state();
        let mut bytes = state.safe.clone();
        std::mem::take(&mut state.unsafe_changes).iter().filter(|_| is_kept()).for_each(|change| {
            apply(&mut bytes, change);
        });
        (state.seen, state.safe, state.n_left) = (bytes.clone(), bytes, None);
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.state();
        state.spend()?;
        apply(&mut state.seen, &change);
        state.unsafe_changes.push(change);
        Ok(())
    }
}

impl State {
    fn spend(&mut self) -> io::Result<()> {
        match &mut self.n_left {
            Some(0) => Err(io::ErrorKind::StorageFull.into()),
            Some(n) => {
                *n -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl redb::StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = usize::try_from(offset).unwrap();
        let state = self.state();
        out.copy_from_slice(state.seen.get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(usize::try_from(length).unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.spend()?;
        state.safe = state.seen.clone();
        state.unsafe_changes.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Bytes(usize::try_from(offset).unwrap(), data.to_vec()))
    }
}

fn run(n: usize) -> Run {
    Run {
        id: RunId::parse(&format!("run_{n:06}")).unwrap(),
        objective: "x".repeat(n * 700),
        consumer: Some(Consumer::User),
        consumer_generation: 1,
        displaced: None,
        limits: Limits::default(),
        created_at: Timestamp(n as i64),
        updated_at: Timestamp(n as i64),
    }
}

/// Stores Runs, one to a command, and makes those durable that `is_durable` says. Gives how many were
/// promised, and how many were tried when it failed.
fn store_runs(store: &Store, n_runs: usize, mut is_durable: impl FnMut() -> bool) -> (usize, usize) {
    let mut promised = 0;
    for n in 0..n_runs {
        let mut try_one = || -> Result<bool, StoreError> {
            let mut tx = store.write()?;
            tx.put(&run(n))?;
            match is_durable() {
                true => tx.commit_durable().map(|()| true),
                false => tx.commit_soft().map(|()| false),
            }
        };
        match try_one() {
            Ok(true) => promised = n + 1,
            Ok(false) => {}
            Err(_) => return (promised, n + 1),
        }
        if n % 3 == 2 {
            match store.settle() {
                Ok(()) => promised = n + 1,
                Err(_) => return (promised, n + 1),
            }
        }
    }
    (promised, n_runs)
}

/// The Runs that are there, after their index was held against them.
fn kept(store: &Store) -> usize {
    let tx = store.read().unwrap();
    let rows = tx.all::<Run>(usize::MAX).unwrap();
    let indexed = tx.list::<Run>("all", "", usize::MAX).unwrap();
    assert_eq!(rows, indexed);
    assert_eq!(rows, (0..rows.len()).map(run).collect::<Vec<_>>());
    rows.len()
}

#[test]
fn a_disk_that_is_full_at_any_write_loses_nothing_that_was_promised() {
    const N_RUNS: usize = 12;
    let mut n_failed = 0;
    for n in 0.. {
        let disk = Disk::default();
        drop(Store::over(disk.clone()).unwrap());
        disk.fills_after(n);
        let (promised, tried) = match Store::over(disk.clone()) {
            Ok(store) => store_runs(&store, N_RUNS, || true),
            Err(error) => {
                assert!(matches!(error, StoreError::Unwritable { .. }), "write {n}: {error:?}");
                (0, 0)
            }
        };
        disk.is_cleared();
        let kept = kept(&Store::over(disk).unwrap());
        assert!((promised..=tried).contains(&kept), "write {n}: {kept} of {promised} promised");
        if tried == N_RUNS && promised == N_RUNS {
            break;
        }
        n_failed += 1;
    }
    assert!(n_failed > N_RUNS, "{n_failed}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn a_power_cut_loses_nothing_that_was_promised(
        n in 0..400_usize,
        durable in prop::collection::vec(any::<bool>(), 40),
        lost in prop::collection::vec(any::<bool>(), 64),
    ) {
        let disk = Disk::default();
        drop(Store::over(disk.clone()).unwrap());
        disk.fills_after(n);
        let mut durable = durable.into_iter().cycle();
        let (promised, tried) = match Store::over(disk.clone()) {
            Ok(store) => store_runs(&store, 30, || durable.next().unwrap()),
            Err(_) => (0, 0),
        };
        let mut lost = lost.into_iter().cycle();
        disk.loses_power(|| lost.next().unwrap());
        let kept = kept(&Store::over(disk).unwrap());
        prop_assert!((promised..=tried).contains(&kept), "{kept} of {promised} promised");
    }
}
