//! The one order that effects have: a terminal is closed only when its start is over, else the close
//! finds nothing to end and the agent starts after all. Every other effect runs beside the rest.

use crate::base::id::TerminalId;
use crate::server::pane::lock;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The terminals that are being started.
#[derive(Debug, Default)]
pub struct Starts {
    going_on: Mutex<BTreeSet<TerminalId>>,
    over: Condvar,
}

/// A start that is going on until this is dropped.
#[derive(Debug)]
pub struct Going {
    starts: Arc<Starts>,
    terminal: TerminalId,
}

impl Drop for Going {
    fn drop(&mut self) {
        lock(&self.starts.going_on).remove(&self.terminal);
        self.starts.over.notify_all();
    }
}

impl Starts {
    /// A start begins; to be called in the order in which the effects were requested.
    pub fn begin(self: &Arc<Self>, terminal: &TerminalId) -> Going {
        lock(&self.going_on).insert(terminal.clone());
        Going { starts: Arc::clone(self), terminal: terminal.clone() }
    }

    /// Waits until no start of this terminal is going on.
    pub fn wait(&self, terminal: &TerminalId) {
        let mut going_on = lock(&self.going_on);
        while going_on.contains(terminal) {
            going_on = self.over.wait(going_on).unwrap_or_else(PoisonError::into_inner);
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
        let going = starts.begin(&one);
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
}
