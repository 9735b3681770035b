//! The shortest way of a key: from the thread that reads the keyboard straight to the server.
//!
//! Only while the loop would do nothing else with it: the screen says so by arming the typist with the
//! program that has the focus. A key that the thread hands to the loop disarms it, until the loop has
//! taken that key in: so none overtakes another.

use super::keys::Chord;
use super::msg::Msg;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::client::stream::Sender;
use crate::proto::screen::ClientFrame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where keys go that mean nothing to the screen itself.
#[derive(Debug, Clone)]
pub struct Straight {
    pub terminal: TerminalId,
    pub prefix: Chord,
    pub server: Sender,
}

/// Shared by the thread that reads the host's events and the loop.
#[derive(Debug, Default)]
pub struct Typist {
    desk: Mutex<Desk>,
    is_echo_due: AtomicBool,
}

#[derive(Debug, Default)]
struct Desk {
    straight: Option<Straight>,
    /// Events that were handed to the loop.
    n_handed: u64,
}

impl Typist {
    /// Takes an event of the host. True: it is on its way to the server; otherwise it is for the loop.
    pub fn take(&self, msg: &Msg) -> bool {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Msg::Key(event), Some(straight)) = (msg, &desk.straight)
            && !straight.prefix.is_typed(event)
        {
            self.is_echo_due.store(true, Ordering::Release);
            let (terminal, event) = (straight.terminal.clone(), InputEvent::Key(*event));
            if straight.server.send(&ClientFrame::Input { terminal, event }) {
                return true;
            }
        }
        desk.straight = None;
        desk.n_handed += 1;
        false
    }

    /// The loop has taken in `n_taken` events, and keys may go straight from now on, or not.
    pub fn arm(&self, n_taken: u64, straight: Option<Straight>) {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.straight = straight.filter(|_| desk.n_handed == n_taken);
    }

    /// Whether a key went straight whose echo was not seen yet; once for each time.
    pub fn take_echo_due(&self) -> bool {
        self.is_echo_due.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::input::{Key, KeyEvent, Mods};

    fn key(key: char, is_ctrl: bool) -> Msg {
        let mods = Mods { is_ctrl, ..Mods::NONE };
        Msg::Key(KeyEvent::press(Key::Char(key), mods))
    }

    #[test]
    fn keys_go_straight_only_while_the_loop_has_taken_in_all_before_them() {
        let (sender, mut server) = Sender::pair();
        let straight = || {
            let terminal = TerminalId::parse("term_000000000001").unwrap();
            Some(Straight { terminal, prefix: Chord::parse("ctrl+b").unwrap(), server: sender.clone() })
        };
        let typist = Typist::default();
        assert!(!typist.take(&key('a', false)), "not armed");
        typist.arm(0, straight());
        assert!(!typist.take(&key('b', false)), "the loop has not taken the first one in");
        typist.arm(2, straight());
        assert!(typist.take(&key('c', false)));
        assert!(typist.take_echo_due() && !typist.take_echo_due());
        assert!(!typist.take(&key('b', true)), "the prefix is the loop's");
        assert!(!typist.take(&key('x', false)), "and so is what follows it");
        let mut sent = [0; 200];
        let n_sent = std::io::Read::read(&mut server, &mut sent).unwrap();
        let sent = String::from_utf8_lossy(&sent[5..n_sent]);
        assert!(sent.contains("\"c\"") && sent.matches("input").count() == 1, "{sent}");
    }
}
