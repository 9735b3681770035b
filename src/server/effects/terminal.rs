//! Starting and closing the process of a terminal.

use crate::base::code::ErrorCode;
use crate::base::path::make_private_dir;
use crate::base::report::OrLog as _;
use crate::config::env::is_private_to_host;
use crate::model::effect::Outcome;
use crate::model::terminal::Terminal;
use crate::pty::PtyError;
use crate::pty::holder;
use crate::pty::link::Link;
use crate::pty::wire::LaunchSpec;
use crate::server::command::process_end;
use crate::server::terminals::Terminals;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Output a holder keeps while no server is there, in bytes.
const RING_BYTES: usize = 1 << 20;

/// Starts the terminal's holder and takes the terminal over. A holder that is there already is the
/// work of an earlier run.
pub(super) fn spawn(program: &Path, terminals: &Arc<Terminals>, row: &Terminal) -> Outcome {
    match try_spawn(program, terminals, row) {
        Ok(pid) => Outcome::TerminalSpawned { pid },
        Err(error) => {
            let is_spawn = matches!(error, PtyError::Spawn { .. });
            let code = if is_spawn { ErrorCode::AgentUnconfigured } else { ErrorCode::RuntimeError };
            Outcome::Failed { code: code.to_string(), message: error.to_string() }
        }
    }
}

fn try_spawn(program: &Path, terminals: &Arc<Terminals>, row: &Terminal) -> Result<u32, PtyError> {
    if let Some(pane) = terminals.pane(&row.id) {
        return Ok(pane.child_pid);
    }
    let uid = rustix::process::getuid().as_raw();
    let dir = terminals.state_dir().terminal(row.id.as_str());
    make_private_dir(&dir, uid).map_err(PtyError::io("make the terminal's folder"))?;
    if let Some((path, text)) = &row.launch.brief_file {
        write_brief(Path::new(path), text).map_err(PtyError::io("write the brief"))?;
    }
    let socket = terminals.state_dir().holder_socket(row.id.as_str());
    let spec = LaunchSpec {
        terminal: row.id.to_string(),
        incarnation: row.incarnation.to_string(),
        argv: row.launch.argv.clone(),
        env: row.launch.env.clone(),
        unset_env: unset(row),
        cwd: PathBuf::from(&row.launch.cwd),
        size: row.size,
        agent: row.agent.clone(),
        socket: socket.clone(),
        dir,
        ring_bytes: RING_BYTES,
    };
    let hello = holder::spawn(program, &spec)?;
    // It runs from here on, also where its holder is slow to hand it over.
    let adopted = Link::connect(&socket).and_then(|link| terminals.adopt(row, link));
    if adopted.or_log("take a new terminal over; it is tried again").is_none() {
        Arc::clone(terminals).recover_later(row.clone());
    }
    Ok(hello.child_pid)
}

/// What a pane must not inherit from wherever the server happened to be started.
fn unset(row: &Terminal) -> Vec<String> {
    let mut names = row.launch.unset_env.clone();
    names.extend(
        std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| is_private_to_host(name)),
    );
    names.retain(|name| row.launch.env.iter().all(|(set, _)| set != name));
    names
}

fn write_brief(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Ends the process, keeps its output readable, lets the rest go. With `archives_first` nothing is ended
/// whose output cannot be kept. None of the `proofs` that were used in it is kept with it.
pub(super) fn close(
    terminals: &Terminals,
    row: &Terminal,
    archives_first: bool,
    proofs: &[String],
) -> Outcome {
    let incarnation = row.incarnation.to_string();
    if archives_first && let Err(error) = terminals.keep_text(&row.id, &incarnation, proofs) {
        return Outcome::Failed { code: ErrorCode::ArchiveFailed.to_string(), message: error.to_string() };
    }
    let Some(pane) = terminals.pane(&row.id) else {
        if row.end.is_none() && terminals.is_held(&row.id) {
            return Outcome::Unknown { message: String::from("the terminal's holder does not answer") };
        }
        return Outcome::TerminalClosed {
            end: row.end.clone(),
            archive: terminals.archive(&row.id, &incarnation, None, proofs).to_owned(),
        };
    };
    let fleeting = if pane.inner().end.is_none() { pane.fleeting_output() } else { None };
    let Some(end) = terminals.end(&pane) else {
        return Outcome::Unknown { message: String::from("the process did not end in time") };
    };
    drop(pane);
    let archive = terminals.archive(&row.id, &incarnation, fleeting, proofs).to_owned();
    Outcome::TerminalClosed { end: Some(process_end(end)), archive }
}
