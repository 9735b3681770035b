//! The server's side of a holder: connect, receive the descriptor, kill, learn of the end.
//!
//! Everything here blocks only while connecting; afterwards the caller waits for readiness of
//! [`Link::socket`] and [`Link::master`] by its own means and calls [`Link::poll_message`].

use super::PtyError;
use super::holder::ExitRecord;
use super::wire::{self, ChildEnd, Hello, LaunchSpec, Message};
use crate::base::report::OrLog as _;
use crate::base::size::TermSize;
use rustix::fs::FlockOperation;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A holder that does not answer within this time is as good as gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a holder.
#[derive(Debug)]
pub struct Link {
    /// The PTY; non-blocking.
    pub master: OwnedFd,
    pub hello: Hello,
    /// Output that was kept while no server was there; it comes before anything read from `master`.
    pub ring: Vec<u8>,
    stream: UnixStream,
    inbox: Vec<u8>,
}

impl Link {
    /// Connects to the holder at `socket` and takes the terminal over.
    ///
    /// [`PtyError::HolderGone`] when nobody listens there.
    pub fn connect(socket: &Path) -> Result<Self, PtyError> {
        let stream = UnixStream::connect(socket).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => PtyError::HolderGone,
            _ => PtyError::Io { doing: "connect to the holder", source: error },
        })?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(PtyError::io("connect to the holder"))?;
        let mut inbox = Vec::new();
        let mut master = None;
        let hello = loop {
            if let Some(message) = wire::take(&mut inbox)? {
                match message {
                    Message::Hello(hello) => break hello,
                    Message::Ring(_)
                    | Message::Ended(_)
                    | Message::Kill { .. }
                    | Message::Taken
                    | Message::Collected => {
                        return Err(PtyError::Malformed { what: "first word of a holder" });
                    }
                }
            }
            receive(&stream, &mut inbox, &mut master)?;
        };
        let master = master.ok_or(PtyError::Malformed { what: "hello of a holder: no descriptor" })?;
        let mut ring = Vec::new();
        while (ring.len() as u64) < hello.n_ring {
            if let Some(Message::Ring(bytes)) = wire::take(&mut inbox)? {
                ring.extend(bytes);
                continue;
            }
            receive(&stream, &mut inbox, &mut None)?;
        }
        stream.set_nonblocking(true).map_err(PtyError::io("connect to the holder"))?;
        rustix::io::ioctl_fionbio(&master, true)
            .map_err(|error| PtyError::Io { doing: "prepare the terminal", source: error.into() })?;
        let awaits_taken = hello.awaits_taken;
        let mut link = Self { master, hello, ring, stream, inbox };
        if awaits_taken {
            link.say(&Message::Taken)?;
        }
        Ok(link)
    }

    /// The connection, to wait for readiness.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// The child's end, once the holder told it; None until then. [`PtyError::HolderGone`] when the
    /// connection broke: [`find`] tells whether the holder is still there.
    ///
    /// What the child wrote last is in the PTY by then, and [`read`] gives it until it answers
    /// [`Output::Nothing`] or [`Output::Closed`]; only after that is the end to be reported.
    pub fn poll_message(&mut self) -> Result<Option<ChildEnd>, PtyError> {
        let mut buffer = [0_u8; 1024];
        loop {
            match wire::take(&mut self.inbox)? {
                Some(Message::Ended(end)) => return Ok(Some(end)),
                Some(
                    Message::Hello(_)
                    | Message::Ring(_)
                    | Message::Kill { .. }
                    | Message::Taken
                    | Message::Collected,
                ) => continue,
                None => {}
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(PtyError::HolderGone),
                Ok(n) => self.inbox.extend_from_slice(buffer.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(PtyError::HolderGone),
            }
        }
    }

    /// Asks for the end of the child and its session: hang-up at once, SIGTERM after half of
    /// `grace_ms`, SIGKILL after all of it.
    pub fn kill(&mut self, grace_ms: u32) -> Result<(), PtyError> {
        self.say(&Message::Kill { grace_ms })
    }

    /// Says that the child's end is recorded; the holder goes.
    pub fn collected(&mut self) -> Result<(), PtyError> {
        self.say(&Message::Collected)
    }

    fn say(&mut self, message: &Message) -> Result<(), PtyError> {
        // A few bytes into an empty socket never block.
        self.stream.write_all(&wire::encode(message)).map_err(|_| PtyError::HolderGone)
    }

    /// Tells the kernel, and so the programs, the size of the terminal.
    pub fn resize(&self, size: TermSize) -> Result<(), PtyError> {
        resize(&self.master, size)
    }
}

/// What reading a PTY gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// This many bytes, at least one.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// No process has the other side any more, and everything was read.
    Closed,
}

/// Reads what the programs wrote, without waiting.
pub fn read(master: &OwnedFd, buffer: &mut [u8]) -> Result<Output, PtyError> {
    loop {
        return match rustix::io::read(master, &mut *buffer) {
            // Linux says EIO, macOS the end of the file.
            Ok(0) | Err(rustix::io::Errno::IO) => Ok(Output::Closed),
            Ok(n) => Ok(Output::Bytes(n)),
            Err(rustix::io::Errno::AGAIN) => Ok(Output::Nothing),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => Err(PtyError::Io { doing: "read the terminal", source: error.into() }),
        };
    }
}

/// Writes to the programs what they take without waiting; gives how many bytes that was, 0 while
/// they do not read.
pub fn write(master: &OwnedFd, bytes: &[u8]) -> Result<usize, PtyError> {
    loop {
        return match rustix::io::write(master, bytes) {
            Ok(n) => Ok(n),
            Err(rustix::io::Errno::AGAIN) => Ok(0),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => Err(PtyError::Io { doing: "write to the terminal", source: error.into() }),
        };
    }
}

/// Sets the window size of a PTY.
pub fn resize(master: &OwnedFd, size: TermSize) -> Result<(), PtyError> {
    let size =
        rustix::termios::Winsize { ws_row: size.n_rows(), ws_col: size.n_cols(), ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(master, size)
        .map_err(|error| PtyError::Io { doing: "resize the terminal", source: error.into() })
}

/// How long programs may take to end when no server asks them to.
const END_GRACE_MS: u32 = 3_000;

/// What became of a terminal that an earlier server knew.
#[derive(Debug)]
pub enum Found {
    /// Its holder lives, whether or not its child does.
    Held(Link),
    /// Holder and child are gone, and how the child ended is known.
    Ended(ChildEnd),
    /// It ran, and nobody recorded its end: the machine went down, or the holder was killed.
    Lost,
    /// No holder ever said that a child runs.
    NeverStarted,
}

/// Looks for a terminal by its holder's socket and its folder, and removes a socket that nobody
/// listens on. Fails where a holder lives but does not answer.
pub fn find(socket: &Path, dir: &Path) -> Result<Found, PtyError> {
    let began = Instant::now();
    loop {
        match Link::connect(socket) {
            Ok(link) => return Ok(Found::Held(link)),
            Err(PtyError::HolderGone) => {}
            Err(error) => return Err(error),
        }
        if !is_held(dir) {
            break;
        }
        // It has not made its socket yet, is about to go, or makes the socket again.
        if began.elapsed() > PATIENCE {
            return Err(PtyError::HolderGone);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if socket.exists() {
        std::fs::remove_file(socket).or_log("remove a dead holder's socket");
    }
    Ok(match (recorded_end(dir), recorded_start(dir)) {
        (Some(end), _) => Found::Ended(end),
        (None, Some(_)) => Found::Lost,
        (None, None) => Found::NeverStarted,
    })
}

/// The sockets of holders in their folder, dead ones included, in the order of their names.
pub fn sockets(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "sock"))
        .collect();
    found.sort();
    found
}

/// Ends what runs in every terminal whose holder listens in the folder `sockets`, for when no server can do
/// it; gives how many there were. Blocks until the holders are gone or their patience is over.
pub fn end_all(dir: &Path) -> usize {
    let links = sockets(dir).into_iter().filter_map(|socket| Link::connect(&socket).ok());
    let mut links: Vec<Link> = links.collect();
    for link in &mut links {
        link.kill(END_GRACE_MS).or_log("end what runs in a terminal");
    }
    let began = Instant::now();
    for link in &mut links {
        while began.elapsed() < Duration::from_millis(u64::from(END_GRACE_MS) + 5_000) {
            match link.poll_message() {
                Ok(Some(_)) => drop(link.collected().or_log("let a holder go")),
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(_) => break,
            }
        }
    }
    links.len()
}

/// How many programs run in the terminals whose folders are in `dir`, for when no server can be asked.
pub fn n_running(dir: &Path) -> usize {
    let folders = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter(|folder| is_held(folder) && recorded_end(folder).is_none()).count()
}

/// Whether a holder lives that has this terminal's folder.
pub fn is_held(dir: &Path) -> bool {
    let Ok(file) = std::fs::File::open(dir.join("holder.lock")) else { return false };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Lets the holder of a terminal's folder go on where somebody stopped it.
pub fn resume(dir: &Path) {
    // Whoever holds the lock is the one that the record names.
    let holder = recorded_start(dir).filter(|_| is_held(dir)).map(|started| started.holder_pid);
    let holder = holder.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(holder) = holder {
        rustix::process::kill_process(holder, rustix::process::Signal::CONT).or_log("resume a holder");
    }
}

/// How the child ended, as the holder recorded it in the terminal's folder. A program that could not
/// be started has exit code 127.
pub fn recorded_end(dir: &Path) -> Option<ChildEnd> {
    Some(exit_record(dir)?.end)
}

/// Why the program could not be started, as the holder recorded it.
pub fn recorded_failure(dir: &Path) -> Option<String> {
    exit_record(dir)?.reason
}

fn exit_record(dir: &Path) -> Option<ExitRecord> {
    serde_json::from_slice(&std::fs::read(dir.join("exit.json")).ok()?).ok()
}

/// What the terminal whose folder this is was started with; None where that is not written there.
pub fn recorded_launch(dir: &Path) -> Option<LaunchSpec> {
    serde_json::from_slice(&std::fs::read(dir.join("launch.json")).ok()?).ok()
}

/// Who holds or held the terminal whose folder this is; None where no child ever ran.
pub fn recorded_start(dir: &Path) -> Option<Hello> {
    serde_json::from_slice(&std::fs::read(dir.join("holder.json")).ok()?).ok()
}

fn receive(
    stream: &UnixStream,
    inbox: &mut Vec<u8>,
    descriptor: &mut Option<OwnedFd>,
) -> Result<(), PtyError> {
    let mut buffer = [0_u8; 64 << 10];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [std::io::IoSliceMut::new(&mut buffer)];
    let received = recvmsg(stream, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| PtyError::Io { doing: "hear the holder", source: error.into() })?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            *descriptor = descriptors.next();
        }
    }
    if received.bytes == 0 {
        return Err(PtyError::HolderGone);
    }
    inbox.extend_from_slice(buffer.get(..received.bytes).unwrap_or_default());
    Ok(())
}
