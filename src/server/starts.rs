//! The starts of terminals that are going on, for whoever ends terminals: a close waits until the start of
//! its terminal is over, else it finds nothing to end and the agent starts after all; and a server that ends
//! everything waits for all of them and lets no other begin.

use super::pane::lock;
use crate::base::id::TerminalId;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The terminals that are being started.
#[derive(Debug, Default)]
pub struct Starts {
    desk: Mutex<Desk>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct Desk {
    going_on: BTreeSet<TerminalId>,
    is_shut: bool,
}

/// A start that is going on until this is dropped.
#[derive(Debug)]
pub struct Going {
    starts: Arc<Starts>,
    terminal: TerminalId,
}

impl Drop for Going {
    fn drop(&mut self) {
        lock(&self.starts.desk).going_on.remove(&self.terminal);
        self.starts.over.notify_all();
    }
}

impl Starts {
    /// A start begins; to be called in the order in which the effects were requested. None: no more is to
    /// begin under this server.
    pub fn begin(self: &Arc<Self>, terminal: &TerminalId) -> Option<Going> {
        let mut desk = lock(&self.desk);
        if desk.is_shut {
            return None;
        }
        desk.going_on.insert(terminal.clone());
        Some(Going { starts: Arc::clone(self), terminal: terminal.clone() })
    }

    /// The terminals that are being started.
    pub fn going_on(&self) -> Vec<TerminalId> {
        lock(&self.desk).going_on.iter().cloned().collect()
    }

    /// Waits until no start of this terminal is going on.
    pub fn wait(&self, terminal: &TerminalId) {
        self.wait_while(|going_on| going_on.contains(terminal));
    }

    /// Lets no start begin any more, and waits for those that are going on.
    pub fn shut(&self) {
        lock(&self.desk).is_shut = true;
        self.wait_while(|going_on| !going_on.is_empty());
    }

    fn wait_while(&self, is_going_on: impl Fn(&BTreeSet<TerminalId>) -> bool) {
        let mut desk = lock(&self.desk);
        while is_going_on(&desk.going_on) {
            desk = self.over.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_close_waits_for_the_start_of_its_own_terminal() {
        let starts = Arc::new(Starts::default());
        let (one, other) = (TerminalId::parse("term_1").unwrap(), TerminalId::parse("term_2").unwrap());
        let going = starts.begin(&one).unwrap();
        starts.wait(&other);
        let (tell, told) = mpsc::channel();
        let close = {
            let (starts, one, tell) = (Arc::clone(&starts), one.clone(), tell.clone());
            std::thread::spawn(move || {
                starts.wait(&one);
                tell.send("closed").unwrap();
            })
        };
        tell.send("started").unwrap();
        drop(going);
        close.join().unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["started", "closed"]);
    }

    #[test]
    fn after_a_shut_nothing_begins() {
        let starts = Arc::new(Starts::default());
        let one = TerminalId::parse("term_1").unwrap();
        let going = starts.begin(&one).unwrap();
        assert_eq!(starts.going_on(), std::slice::from_ref(&one));
        let shut = {
            let starts = Arc::clone(&starts);
            std::thread::spawn(move || starts.shut())
        };
        // Until the other thread has shut it, the same terminal may begin again and is over at once.
        while starts.begin(&one).is_some() {
            std::thread::yield_now();
        }
        drop(going);
        shut.join().unwrap();
        assert!(starts.going_on().is_empty());
    }
}
