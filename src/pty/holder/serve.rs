//! The loop of a running holder: drain, hand over, hear, wait for the end.

use super::kill::{Kill, is_session_of};
use super::{ExitRecord, record_exit};
use crate::base::clock::Clock;
use crate::base::report::OrLog as _;
use crate::pty::wire::{self, ChildEnd, Hello, LaunchSpec, Message};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// A server that takes nothing for this long is dead or worse; the child must not wait for it.
const HANDOVER_PATIENCE: Duration = Duration::from_secs(5);
/// What runs in a terminal that nobody can find any more has as long to go as in one that is closed.
const ABANDONED_GRACE: Duration = Duration::from_secs(3);
/// How often a kill is looked after.
const KILL_TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// How often a holder without a server makes sure that it can be found.
const LONELY_TURN: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Output kept while no server is there: the newest, up to a limit.
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    most: usize,
    n_dropped: u64,
}

impl Ring {
    /// An empty ring that keeps at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { bytes: VecDeque::new(), most, n_dropped: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        let n_passed = bytes.len().saturating_sub(self.most);
        let kept = bytes.get(n_passed..).unwrap_or_default();
        // Room first: the buffer then never grows past the limit.
        let n_old = (self.bytes.len() + kept.len()).saturating_sub(self.most);
        self.bytes.drain(..n_old);
        self.bytes.extend(kept);
        self.n_dropped += (n_passed + n_old) as u64;
    }
}

struct Server {
    stream: UnixStream,
    inbox: Vec<u8>,
}

/// A holder whose child runs or has ended.
pub(super) struct Holder {
    spec: LaunchSpec,
    listener: UnixListener,
    /// Held for as long as this process lives; a file in the terminal's folder.
    lock: File,
    master: OwnedFd,
    /// False once reading it said that no process has the other side any more.
    is_master_open: bool,
    ended: UnixStream,
    pub hello: Hello,
    ring: Ring,
    server: Option<Server>,
    kill: Option<Kill>,
    is_collected: bool,
    /// Its state directory was found gone; what runs is ended, and it goes.
    is_abandoned: bool,
}

#[derive(Default)]
struct Ready {
    is_caller: bool,
    is_ended: bool,
    is_output: bool,
    is_message: bool,
}

impl Holder {
    pub fn new(
        spec: LaunchSpec,
        listener: UnixListener,
        lock: File,
        master: OwnedFd,
        ended: UnixStream,
        hello: Hello,
        ring: Ring,
    ) -> Self {
        Self {
            spec,
            listener,
            lock,
            master,
            is_master_open: true,
            ended,
            hello,
            ring,
            server: None,
            kill: None,
            is_collected: false,
            is_abandoned: false,
        }
    }

    /// Serves until the end was collected and a kill under way is done, or until no server can ever come:
    /// then everything in the terminal is ended first, because nobody would find it any more.
    pub fn serve(&mut self) {
        while self.is_needed() {
            let ready = self.wait();
            if ready.is_ended && self.hello.end.is_none() {
                self.take_end();
            }
            // The drain comes before the handover, so that what it read is in the ring by then.
            if ready.is_output {
                self.drain();
            }
            if ready.is_message {
                self.hear();
            }
            if ready.is_caller {
                self.accept();
            }
            if self.server.is_none() {
                self.stay_reachable();
            }
            if self.kill.as_mut().is_some_and(|kill| kill.advance(self.hello.end.is_some())) {
                self.kill = None;
            }
        }
        std::fs::remove_file(&self.spec.socket).or_log("remove the holder's socket");
    }

    /// Whether there is more to do; begins the last thing there is where no server can come.
    fn is_needed(&mut self) -> bool {
        if self.kill.is_none() && !self.is_collected && !self.is_abandoned && self.is_forgotten() {
            self.is_abandoned = true;
            // The number of a child that ended may be somebody else's by now.
            if self.hello.end.is_none() || is_session_of(self.hello.child_pid, &self.spec.terminal) {
                self.kill = Some(Kill::new(self.hello.child_pid, Some(&self.spec), ABANDONED_GRACE));
            }
        }
        self.kill.is_some() || !(self.is_collected || self.is_abandoned)
    }

    fn wait(&self) -> Ready {
        // Positions are remembered, because what is waited for changes from turn to turn.
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let mut also = |fd| {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
            fds.len() - 1
        };
        let ended_at = self.hello.end.is_none().then(|| also(self.ended.as_fd()));
        let output_at = (self.server.is_none() && self.is_master_open).then(|| also(self.master.as_fd()));
        let message_at = self.server.as_ref().map(|server| also(server.stream.as_fd()));
        let timeout = match (&self.kill, &self.server) {
            (Some(_), _) => Some(&KILL_TURN),
            (None, None) => Some(&LONELY_TURN),
            (None, Some(_)) => None,
        };
        if poll(&mut fds, timeout).is_err() {
            return Ready::default();
        }
        let is_set =
            |at: Option<usize>| at.and_then(|at| fds.get(at)).is_some_and(|fd| !fd.revents().is_empty());
        Ready {
            is_caller: is_set(Some(0)),
            is_ended: is_set(ended_at),
            is_output: is_set(output_at),
            is_message: is_set(message_at),
        }
    }

    fn take_end(&mut self) {
        let mut words = [0_u8; 256];
        let n = self.ended.read(&mut words).unwrap_or(0);
        let unknown = ChildEnd { exit_code: None, signal: None, at: Clock::System.now() };
        let end = serde_json::from_slice(words.get(..n).unwrap_or_default()).unwrap_or(unknown);
        self.hello.end = Some(end);
        record_exit(&self.spec.dir, &ExitRecord { end, reason: None });
        self.say(&Message::Ended(end));
    }

    /// Reads what is there, at most 64 KiB, so that a connecting server is not kept waiting.
    fn drain(&mut self) {
        let mut buffer = [0_u8; 16 << 10];
        for _ in 0..4 {
            match rustix::io::read(&self.master, &mut buffer) {
                Ok(0) => self.is_master_open = false,
                Ok(n) => {
                    self.ring.push(buffer.get(..n).unwrap_or_default());
                    continue;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(_) => self.is_master_open = false,
            }
            break;
        }
    }

    fn accept(&mut self) {
        let Some((stream, _)) = self.listener.accept().or_log("accept a server") else { return };
        if !is_same_user(&stream) {
            return;
        }
        // A server that connects holds the state directory's lock, so an older one is dead.
        self.server = None;
        // The ring stays here for the next one until this one has it.
        if self.hand_over(&stream).or_log("hand over the terminal").is_some() {
            self.server = Some(Server { stream, inbox: Vec::new() });
        }
    }

    fn hand_over(&mut self, stream: &UnixStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(HANDOVER_PATIENCE))?;
        self.hello.n_dropped = self.ring.n_dropped;
        self.hello.n_ring = self.ring.bytes.len() as u64;
        send_with_descriptor(
            stream,
            &wire::encode(&Message::Hello(self.hello.clone())),
            self.master.as_fd(),
        )?;
        if !self.ring.bytes.is_empty() {
            let (front, back) = self.ring.bytes.as_slices();
            let mut writer = stream;
            writer.write_all(&wire::ring_header(self.ring.bytes.len()))?;
            writer.write_all(front)?;
            writer.write_all(back)?;
        }
        Ok(())
    }

    /// Takes in what the server says, or that it is gone.
    fn hear(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let mut buffer = [0_u8; 1024];
        match server.stream.read(&mut buffer) {
            Ok(n) if n > 0 => server.inbox.extend_from_slice(buffer.get(..n).unwrap_or_default()),
            Ok(_) | Err(_) => return,
        }
        loop {
            match wire::take(&mut server.inbox) {
                Ok(Some(message)) => self.obey(&message),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        self.server = Some(server);
    }

    fn obey(&mut self, message: &Message) {
        match message {
            Message::Kill { grace_ms } => {
                let grace = Duration::from_millis(u64::from(*grace_ms));
                self.kill = Some(Kill::new(self.hello.child_pid, Some(&self.spec), grace));
            }
            Message::Taken => self.ring = Ring::new(self.ring.most),
            Message::Collected => self.is_collected = self.hello.end.is_some(),
            // A holder's own words; a server does not say them.
            Message::Hello(_) | Message::Ring(_) | Message::Ended(_) => {}
        }
    }

    fn say(&mut self, message: &Message) {
        if let Some(server) = &mut self.server {
            // Of one that is gone the last words are still to be heard, and then that it is gone.
            drop(server.stream.write_all(&wire::encode(message)));
        }
    }

    /// The state directory was removed, and no server is there that came before.
    fn is_forgotten(&self) -> bool {
        self.server.is_none() && self.lock.metadata().is_ok_and(|file| file.nlink() == 0)
    }

    /// Makes the socket again if somebody tidied it away; nobody could find the terminal otherwise.
    fn stay_reachable(&mut self) {
        if !self.is_collected
            && !self.is_abandoned
            && !self.spec.socket.exists()
            && let Some(listener) = super::listen(&self.spec).or_log("listen again")
        {
            self.listener = listener;
        }
    }
}

/// Whether the peer runs as our user. The socket's mode and its folder's guard it everywhere; Linux
/// can tell in addition.
#[cfg(target_os = "linux")]
fn is_same_user(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

#[cfg(not(target_os = "linux"))]
fn is_same_user(_stream: &UnixStream) -> bool {
    true
}

fn send_with_descriptor(
    stream: &UnixStream,
    bytes: &[u8],
    descriptor: BorrowedFd<'_>,
) -> std::io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(stream, &[std::io::IoSlice::new(bytes)], &mut ancillary, SendFlags::empty())?;
    let mut writer = stream;
    writer.write_all(bytes.get(sent..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_newest_and_counts_the_rest() {
        let mut ring = Ring::new(5);
        ring.push(b"abc");
        ring.push(b"def");
        assert_eq!((ring.bytes.make_contiguous().to_vec(), ring.n_dropped), (b"bcdef".to_vec(), 1));
        ring.push(b"0123456789");
        assert_eq!((ring.bytes.make_contiguous().to_vec(), ring.n_dropped), (b"56789".to_vec(), 11));
        let mut none = Ring::new(0);
        none.push(b"ab");
        assert_eq!((none.bytes.len(), none.n_dropped), (0, 2));
    }
}
