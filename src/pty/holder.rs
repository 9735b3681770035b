//! The process that owns one PTY and its child, and nothing else. It survives the server.
//!
//! While a server is connected it only waits: the server has the PTY's descriptor and reads by
//! itself. While none is, it drains the PTY into a bounded ring, so that the child never blocks.
//! The loop is single-threaded, so nobody else reads while it hands over: the server gets the ring
//! first and reads the descriptor after it, and no byte is lost or doubled. Bytes that a server had
//! read when it was killed are in its journal or gone with it.
//!
//! It ends when the child's end was recorded by a server ([`Message::Collected`]).

use super::PtyError;
use super::wire::{self, ChildEnd, Hello, LaunchSpec, Message};
use crate::base::clock::{Clock, Timestamp};
use crate::base::report::OrLog as _;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Starts a holder for `spec` that belongs to nobody, and waits until its child runs.
///
/// `program` is this program. The spec is written to `launch.json` in the terminal's folder. On
/// failure nothing is left running; the error says what the person can mend.
pub fn spawn(program: &Path, spec: &LaunchSpec) -> Result<Hello, PtyError> {
    write_private(&spec.dir.join("launch.json"), &serde_json::to_vec(spec).unwrap_or_default())?;
    let mut starter = std::process::Command::new(program);
    starter.arg("holder").arg("--detach").arg(spec.dir.join("launch.json"));
    starter.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let answer = starter.output().map_err(PtyError::io("start the holder"))?;
    let told: Result<Hello, String> = serde_json::from_slice(&answer.stdout)
        .unwrap_or_else(|_| Err(String::from("the holder ended before it said anything")));
    told.map_err(|reason| PtyError::Spawn { program: spec.argv.first().cloned().unwrap_or_default(), reason })
}

/// The hidden subcommand: `orca holder [--detach] <launch.json>`. Gives the exit code.
///
/// With `--detach` it starts itself once more and goes, so that the holder's parent is init.
pub fn main(args: &[std::ffi::OsString]) -> u8 {
    match args {
        [flag, spec] if flag == "--detach" => start_detached(Path::new(spec)),
        [spec] => run(Path::new(spec)),
        _ => 2,
    }
}

fn start_detached(spec: &Path) -> u8 {
    let Ok(program) = std::env::current_exe() else { return 1 };
    let child = std::process::Command::new(program).arg("holder").arg(spec).spawn();
    u8::from(child.is_err())
}

fn run(spec_path: &Path) -> u8 {
    let told = prepare(spec_path);
    let words = match &told {
        Ok(holder) => serde_json::to_vec(&Ok::<_, String>(&holder.hello)),
        Err(error) => serde_json::to_vec(&Err::<Hello, _>(error.clone())),
    };
    let mut stdout = std::io::stdout();
    stdout
        .write_all(&words.unwrap_or_default())
        .and_then(|()| stdout.flush())
        .or_log("the starter went away");
    let Ok(mut holder) = told else { return 1 };
    leave_terminal().or_log("keep standard output open");
    holder.serve();
    0
}

/// Standard output is the starter's pipe: closing it is how the starter knows we are done.
fn leave_terminal() -> std::io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(())
}

fn prepare(spec_path: &Path) -> Result<Holder, String> {
    let text = std::fs::read(spec_path).map_err(|error| format!("{}: {error}", spec_path.display()))?;
    let spec: LaunchSpec =
        serde_json::from_slice(&text).map_err(|error| format!("the launch record: {error}"))?;
    // Fails only where we lead a process group already; then there is no terminal to leave either.
    rustix::process::setsid().or_log("leave the session");
    std::fs::remove_file(&spec.socket).or_log("no old socket");
    let listener =
        UnixListener::bind(&spec.socket).map_err(|error| format!("{}: {error}", spec.socket.display()))?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    let holder = start_child(&spec, listener);
    if holder.is_err() {
        std::fs::remove_file(&spec.socket).or_log("the socket of a failed start");
    }
    holder
}

fn start_child(spec: &LaunchSpec, listener: UnixListener) -> Result<Holder, String> {
    if !spec.cwd.is_dir() {
        return Err(format!("the folder {} does not exist", spec.cwd.display()));
    }
    let size =
        PtySize { rows: spec.size.n_rows(), cols: spec.size.n_cols(), pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(|error| error.to_string())?;
    let mut command = CommandBuilder::from_argv(spec.argv.iter().map(Into::into).collect());
    for name in &spec.unset_env {
        command.env_remove(name);
    }
    for (name, value) in &spec.env {
        command.env(name, value);
    }
    command.cwd(&spec.cwd);
    let master = owned_descriptor(pair.master.as_ref())?;
    rustix::io::ioctl_fionbio(&master, true).map_err(|error| error.to_string())?;
    let child = pair.slave.spawn_command(command).map_err(|error| error.to_string())?;
    drop(pair.slave);
    let child_pid = child.process_id().ok_or("the child has no process id")?;
    let ended = watch(child_pid).map_err(|error| error.to_string())?;
    let hello = Hello {
        terminal: spec.terminal.clone(),
        incarnation: spec.incarnation.clone(),
        holder_pid: std::process::id(),
        child_pid,
        n_dropped: 0,
        n_ring: 0,
        end: None,
    };
    let record = serde_json::to_vec(&hello).unwrap_or_default();
    write_private(&spec.dir.join("holder.json"), &record).map_err(|error| error.to_string())?;
    let ring = Ring { bytes: VecDeque::new(), most: spec.ring_bytes, n_dropped: 0 };
    Ok(Holder {
        spec: spec.clone(),
        listener,
        master,
        is_master_open: true,
        ended,
        hello,
        ring,
        server: None,
        kill: None,
    })
}

/// `portable_pty` shows its descriptor only as a number.
#[allow(unsafe_code)]
fn owned_descriptor(master: &dyn MasterPty) -> Result<OwnedFd, String> {
    let number = master.as_raw_fd().ok_or("the PTY has no descriptor")?;
    // SAFETY: `master` is alive for the whole call and owns this open descriptor.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map_err(|error| error.to_string())
}

/// Waits for the child on a thread of its own; what became of it arrives as bytes on a socket, so
/// that the one loop can wait for it beside everything else.
fn watch(child_pid: u32) -> std::io::Result<UnixStream> {
    let (ours, mut theirs) = UnixStream::pair()?;
    let pid = i32::try_from(child_pid).ok().and_then(Pid::from_raw);
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let status = loop {
            match rustix::process::waitpid(pid, WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.ok().flatten().map(|(_, status)| status),
            }
        };
        let end = ChildEnd {
            exit_code: status.and_then(|status| status.exit_status()),
            signal: status.and_then(|status| status.terminating_signal()),
            at: Clock::System.now(),
        };
        let words = serde_json::to_vec(&end).unwrap_or_default();
        theirs.write_all(&words).or_log("the holder is gone");
    })?;
    Ok(ours)
}

/// Output kept while no server is there.
struct Ring {
    bytes: VecDeque<u8>,
    most: usize,
    n_dropped: u64,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(self.most);
        self.bytes.drain(..over);
        self.n_dropped += over as u64;
    }
}

/// An ongoing kill: how long it may take and how far it came.
struct Kill {
    began: Timestamp,
    grace_ms: u64,
    n_signals: usize,
}

struct Server {
    stream: UnixStream,
    inbox: Vec<u8>,
}

struct Holder {
    spec: LaunchSpec,
    listener: UnixListener,
    master: OwnedFd,
    /// False once reading it said that no process has the other side any more.
    is_master_open: bool,
    ended: UnixStream,
    hello: Hello,
    ring: Ring,
    server: Option<Server>,
    kill: Option<Kill>,
}

const ESCALATION: [Signal; 3] = [Signal::HUP, Signal::TERM, Signal::KILL];

impl Holder {
    fn serve(&mut self) {
        loop {
            let ready = self.wait();
            if ready.is_ended && self.hello.end.is_none() {
                self.record_end();
            }
            if ready.is_output {
                self.drain();
            }
            if ready.is_message && self.hear() {
                return;
            }
            if ready.is_caller {
                self.accept();
            }
            self.escalate();
        }
    }

    fn wait(&self) -> Ready {
        // Positions are remembered, because what is waited for changes from turn to turn.
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let ended_at = self.hello.end.is_none().then(|| {
            fds.push(PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN));
            fds.len() - 1
        });
        let output_at = (self.server.is_none() && self.is_master_open).then(|| {
            fds.push(PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN));
            fds.len() - 1
        });
        let message_at = self.server.as_ref().map(|server| {
            fds.push(PollFd::from_borrowed_fd(server.stream.as_fd(), PollFlags::IN));
            fds.len() - 1
        });
        let timeout = self.kill.as_ref().map(|_| rustix::time::Timespec { tv_sec: 0, tv_nsec: 50_000_000 });
        if poll(&mut fds, timeout.as_ref()).is_err() {
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

    fn record_end(&mut self) {
        let mut words = [0_u8; 256];
        let n = self.ended.read(&mut words).unwrap_or(0);
        let unknown = ChildEnd { exit_code: None, signal: None, at: Clock::System.now() };
        let end = serde_json::from_slice(words.get(..n).unwrap_or_default()).unwrap_or(unknown);
        self.hello.end = Some(end);
        self.kill = None;
        let record = serde_json::to_vec(&end).unwrap_or_default();
        write_private(&self.spec.dir.join("exit.json"), &record).or_log("record the child's end");
        if self.server.is_none() {
            // What the child wrote last is still in the PTY.
            self.drain();
        }
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
        // A server that connects holds the state directory's lock, so an older one is dead.
        self.server = None;
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        self.hello.n_dropped = self.ring.n_dropped;
        self.hello.n_ring = self.ring.bytes.len() as u64;
        let hello = wire::encode(&Message::Hello(self.hello.clone()));
        if send_with_descriptor(&stream, &hello, self.master.as_fd())
            .or_log("hand over the terminal")
            .is_none()
        {
            return;
        }
        let ring: Vec<u8> = self.ring.bytes.iter().copied().collect();
        let mut writer = &stream;
        let sent = ring.is_empty() || writer.write_all(&wire::encode(&Message::Ring(ring))).is_ok();
        if sent {
            self.ring.bytes = VecDeque::new();
            self.ring.n_dropped = 0;
            self.server = Some(Server { stream, inbox: Vec::new() });
        }
    }

    /// Takes in what the server says. True: the holder's work is done.
    fn hear(&mut self) -> bool {
        let Some(server) = &mut self.server else { return false };
        let mut buffer = [0_u8; 1024];
        match server.stream.read(&mut buffer) {
            Ok(0) | Err(_) => {
                self.server = None;
                return false;
            }
            Ok(n) => server.inbox.extend_from_slice(buffer.get(..n).unwrap_or_default()),
        }
        loop {
            let Some(server) = &mut self.server else { return false };
            match wire::take(&mut server.inbox) {
                Ok(Some(Message::Kill { grace_ms })) => {
                    self.kill =
                        Some(Kill { began: Clock::System.now(), grace_ms: grace_ms.into(), n_signals: 0 });
                }
                Ok(Some(Message::Collected)) if self.hello.end.is_some() => {
                    std::fs::remove_file(&self.spec.socket).or_log("remove the holder's socket");
                    return true;
                }
                Ok(Some(Message::Collected | Message::Hello(_) | Message::Ring(_) | Message::Ended(_))) => {}
                Ok(None) => return false,
                Err(_) => {
                    self.server = None;
                    return false;
                }
            }
        }
    }

    fn say(&mut self, message: &Message) {
        if let Some(server) = &mut self.server
            && server.stream.write_all(&wire::encode(message)).is_err()
        {
            self.server = None;
        }
    }

    /// Sends the next signal of a kill when its third of the grace began.
    fn escalate(&mut self) {
        let Some(kill) = &mut self.kill else { return };
        if self.hello.end.is_some() {
            self.kill = None;
            return;
        }
        let elapsed = Clock::System.now().since_ms(kill.began);
        let due = if elapsed >= kill.grace_ms {
            3
        } else {
            1 + usize::try_from(elapsed * 2 / kill.grace_ms.max(1)).unwrap_or(1).min(1)
        };
        while kill.n_signals < due {
            let Some(signal) = ESCALATION.get(kill.n_signals) else { break };
            kill.n_signals += 1;
            signal_everybody(&self.master, self.hello.child_pid, *signal);
        }
    }
}

/// The child leads its session; a job in the foreground has a process group of its own.
fn signal_everybody(master: &OwnedFd, child_pid: u32, signal: Signal) {
    let child = i32::try_from(child_pid).ok().and_then(Pid::from_raw);
    let foreground = rustix::termios::tcgetpgrp(master).ok();
    for group in [foreground, child].into_iter().flatten() {
        rustix::process::kill_process_group(group, signal).or_log("the group is gone");
        // A stopped process takes no signal but this and the last one.
        rustix::process::kill_process_group(group, Signal::CONT).or_log("the group is gone");
    }
}

#[derive(Default)]
struct Ready {
    is_caller: bool,
    is_ended: bool,
    is_output: bool,
    is_message: bool,
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

/// Writes a file of mode 0600 by way of a temporary name.
fn write_private(path: &Path, bytes: &[u8]) -> Result<(), PtyError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let temporary = path.with_extension("writing");
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(PtyError::io("write the terminal's record"))?;
    file.write_all(bytes).map_err(PtyError::io("write the terminal's record"))?;
    std::fs::rename(&temporary, path).map_err(PtyError::io("write the terminal's record"))
}
