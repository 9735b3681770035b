//! Starting the child: what can be refused is refused here, in words a person can act on.
//!
//! `portable_pty` closes every descriptor in the child before it runs the program, so a program that
//! the system then refuses dies without a word. Hence the checks beforehand.

use super::serve::{Holder, Ring};
use super::write_private;
use crate::base::clock::Clock;
use crate::base::report::OrLog as _;
use crate::pty::wire::{ChildEnd, Hello, LaunchSpec};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, WaitOptions};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Linux takes no longer argument or environment entry, its NUL included.
const MAX_WORD: usize = 128 << 10;
/// A quarter of the usual stack: Linux's bound for all of them together, with some room.
const MAX_WORDS: usize = (2 << 20) - (64 << 10);
/// The most output that is ever kept for a server that is away.
const MAX_RING: usize = 8 << 20;

/// Opens the PTY and starts the program in it.
pub(super) fn start(spec: LaunchSpec, listener: UnixListener, lock: File) -> Result<Holder, String> {
    let command = command(&spec)?;
    let size =
        PtySize { rows: spec.size.n_rows(), cols: spec.size.n_cols(), pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(|error| error.to_string())?;
    let master = owned_descriptor(pair.master.as_ref())?;
    rustix::io::ioctl_fionbio(&master, true).map_err(|error| error.to_string())?;
    erase_whole_characters(&master).or_log("set the terminal's mode for UTF-8");
    let child = pair.slave.spawn_command(command).map_err(|error| format!("{error:#}"))?;
    drop(pair);
    let child_pid = child.process_id().ok_or("the child has no process id")?;
    let ended = watch(child_pid).map_err(|error| error.to_string())?;
    let hello = Hello {
        terminal: spec.terminal.clone(),
        incarnation: spec.incarnation.clone(),
        holder_pid: std::process::id(),
        child_pid,
        started_at: Clock::System.now(),
        n_dropped: 0,
        n_ring: 0,
        awaits_taken: true,
        end: None,
    };
    // The child runs: from here on a failure must not be told as "not started".
    if let Some(record) = serde_json::to_vec(&hello).or_log("write the holder's record") {
        write_private(&spec.dir.join("holder.json"), &record, "record the holder")
            .or_log("record the holder");
    }
    let ring = Ring::new(spec.ring_bytes.min(MAX_RING));
    Ok(Holder::new(spec, listener, lock, master, ended, hello, ring))
}

fn command(spec: &LaunchSpec) -> Result<CommandBuilder, String> {
    if !spec.cwd.is_dir() {
        return Err(format!("the folder {} does not exist", spec.cwd.display()));
    }
    let mut command = CommandBuilder::from_argv(spec.argv.iter().map(OsString::from).collect());
    for name in &spec.unset_env {
        command.env_remove(name);
    }
    for (name, value) in &spec.env {
        command.env(name, value);
    }
    command.cwd(&spec.cwd);
    let name = spec.argv.first().filter(|name| !name.is_empty()).ok_or("no program was named")?;
    let program = find_program(name, command.get_env("PATH").unwrap_or_default(), &spec.cwd)?;
    check_interpreter(&program)?;
    check_length(&command, &spec.argv)?;
    Ok(command)
}

/// Where the program is: as a shell would look for it, from the child's own folder.
fn find_program(name: &str, search: &std::ffi::OsStr, cwd: &Path) -> Result<PathBuf, String> {
    if name.contains('/') {
        let path = cwd.join(name);
        return match is_program(&path) {
            true => Ok(path),
            false if path.is_dir() => Err(format!("{name} is a folder")),
            false if path.exists() => Err(format!("{name} is not executable")),
            false => Err(format!("{name} does not exist")),
        };
    }
    std::env::split_paths(search)
        .map(|folder| cwd.join(folder).join(name))
        .find(|path| is_program(path))
        .ok_or_else(|| format!("the command {name} was not found in PATH"))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A script whose interpreter is missing.
fn check_interpreter(program: &Path) -> Result<(), String> {
    let mut start = [0_u8; 256];
    // What cannot be read may still run.
    let n = File::open(program).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let Some(line) = start.get(..n).unwrap_or_default().strip_prefix(b"#!") else { return Ok(()) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
    let word = line.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    let interpreter = PathBuf::from(OsString::from_vec(word.to_vec()));
    if interpreter.is_absolute() && !interpreter.exists() {
        return Err(format!("{} needs {}, which does not exist", program.display(), interpreter.display()));
    }
    Ok(())
}

fn check_length(command: &CommandBuilder, argv: &[String]) -> Result<(), String> {
    let entries = command.iter_full_env_as_str().map(|(name, value)| name.len() + value.len() + 2);
    let lengths: Vec<usize> = argv.iter().map(|word| word.len() + 1).chain(entries).collect();
    if lengths.iter().any(|length| *length > MAX_WORD) || lengths.iter().sum::<usize>() > MAX_WORDS {
        return Err(String::from("the command line or the environment is too long for the system"));
    }
    Ok(())
}

/// `portable_pty` shows its descriptor only as a number.
#[allow(unsafe_code)]
fn owned_descriptor(master: &dyn MasterPty) -> Result<OwnedFd, String> {
    let number = master.as_raw_fd().ok_or("the PTY has no descriptor")?;
    // SAFETY: `master` is alive for the whole call and owns this open descriptor.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map_err(|error| error.to_string())
}

/// Tells the line editor of the kernel that input is UTF-8, so that Backspace takes a whole character.
fn erase_whole_characters(master: &OwnedFd) -> rustix::io::Result<()> {
    use rustix::termios::{InputModes, OptionalActions, tcgetattr, tcsetattr};
    let mut modes = tcgetattr(master)?;
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(master, OptionalActions::Now, &modes)
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
