//! Who is calling (design 6): a valid proof, else a flag, else the environment, else the process
//! ancestry, else the person at a plain shell.

use super::cx::{Cx, Voice};
use super::error::{OpError, refuse};
use crate::base::code::ErrorCode;
use crate::base::id::{PaneKey, TerminalId};
use crate::model::dispatch::Dispatch;
use crate::model::run::{Consumer, Run};
use crate::model::terminal::Terminal;

/// The word for the person, as an address and as a sender.
pub const USER: &str = "user";

/// The caller of a verb.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The terminal it speaks for; None for the person.
    pub terminal: Option<Terminal>,
    /// The active attempt of that terminal.
    pub dispatch: Option<Dispatch>,
    /// A valid proof named it, wherever its process runs.
    pub is_proved: bool,
    /// A proof was given and is that of no attempt.
    pub is_proof_wrong: bool,
    /// Another source names another terminal: lifecycle messages are refused then.
    pub conflicting: Option<TerminalId>,
}

impl Caller {
    /// The handle that rows and events show.
    pub fn handle(&self) -> &str {
        self.terminal.as_ref().map_or(USER, |terminal| terminal.id.as_str())
    }

    /// The caller as the consumer of a Run.
    pub fn consumer(&self) -> Consumer {
        match &self.terminal {
            Some(terminal) => {
                Consumer::Terminal { handle: terminal.id.clone(), pane: terminal.pane_key.clone() }
            }
            None => Consumer::User,
        }
    }
}

/// Finds the caller. `flag` is `--from` or `--terminal`, `proof` is `--proof`.
///
/// Also sets the name that this transaction's events carry.
pub fn resolve(cx: &mut Cx<'_>, flag: Option<&str>, proof: Option<&str>) -> Result<Caller, OpError> {
    let caller = find(cx, flag, proof)?;
    cx.by = caller.handle().to_owned();
    cx.voice = match &caller.terminal {
        Some(terminal) => Voice::Pane(terminal.pane_key.clone()),
        // The attempt of a proof whose terminal does not run yet coordinates nothing.
        None if caller.is_proved => Voice::Pane(PaneKey::from_text("")),
        None => Voice::Person,
    };
    Ok(caller)
}

fn find(cx: &Cx<'_>, flag: Option<&str>, proof: Option<&str>) -> Result<Caller, OpError> {
    let nobody =
        Caller { terminal: None, dispatch: None, is_proved: false, is_proof_wrong: false, conflicting: None };
    if let Some(dispatch) = proof.map(|proof| by_proof(cx, proof)).transpose()?.flatten() {
        let terminal = match &dispatch.assignee_handle {
            Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?,
            None => None,
        };
        return Ok(Caller { terminal, dispatch: Some(dispatch), is_proved: true, ..nobody });
    }
    let nobody = Caller { is_proof_wrong: proof.is_some(), ..nobody };
    if flag == Some(USER) {
        return Ok(nobody);
    }
    let around = [environment(cx)?, ancestry(cx)?];
    let named = flag.map(|flag| named_terminal(cx, flag)).transpose()?;
    let Some(terminal) = named.or_else(|| around.iter().flatten().next().cloned()) else {
        return Ok(nobody);
    };
    let conflicting =
        around.into_iter().flatten().find(|other| !other.pane_key.is_same_pane(&terminal.pane_key));
    Ok(Caller {
        dispatch: active_dispatch(cx, &terminal)?,
        conflicting: conflicting.map(|other| other.id),
        terminal: Some(terminal),
        ..nobody
    })
}

/// Refuses a caller whose proof is wrong: it is not who it believes to be.
pub fn check_proof(caller: &Caller) -> Result<(), OpError> {
    if !caller.is_proof_wrong {
        return Ok(());
    }
    Err(refuse(
        ErrorCode::SenderNotAssignee,
        "The proof is not that of any dispatch; copy it from the brief.",
    )
    .with("effectsApplied", false)
    .next_step("orca orchestration worker-list --json")
    .into())
}

/// The attempt whose proof this is, active or not: a late report is refused for what it is.
fn by_proof(cx: &Cx<'_>, proof: &str) -> Result<Option<Dispatch>, OpError> {
    if proof.is_empty() || proof.len() > 64 || proof.contains('\0') {
        return Ok(None);
    }
    Ok(cx.tx.first::<Dispatch>("proof", proof)?)
}

/// The terminal that the environment names.
fn environment(cx: &Cx<'_>) -> Result<Option<Terminal>, OpError> {
    let origin = &cx.caller.origin;
    let named = origin.env_handle.as_deref().map(|handle| existing(cx, handle)).transpose()?.flatten();
    match (named, &origin.env_pane) {
        (Some(terminal), _) => Ok(Some(terminal)),
        (None, Some(pane)) => {
            let pane = PaneKey::from_text(pane);
            Ok(cx.tx.last::<Terminal>("pane", pane.leaf().unwrap_or(pane.as_str()))?)
        }
        (None, None) => Ok(None),
    }
}

/// The terminal whose child the caller is.
fn ancestry(cx: &Cx<'_>) -> Result<Option<Terminal>, OpError> {
    match &cx.caller.ancestry {
        Some(handle) => Ok(cx.tx.get::<Terminal>(handle.as_str())?),
        None => Ok(None),
    }
}

fn existing(cx: &Cx<'_>, handle: &str) -> Result<Option<Terminal>, OpError> {
    match TerminalId::parse(handle) {
        Ok(handle) => Ok(cx.tx.get::<Terminal>(handle.as_str())?),
        Err(_) => Ok(None),
    }
}

/// The terminal with this handle.
pub fn named_terminal(cx: &Cx<'_>, handle: &str) -> Result<Terminal, OpError> {
    existing(cx, handle)?.ok_or_else(|| {
        let shown: String = handle.chars().filter(|c| !c.is_control()).take(80).collect();
        refuse(ErrorCode::TerminalNotFound, format!("No terminal has the handle {shown:?}."))
            .next_step("orca terminal list --json")
            .into()
    })
}

/// The active attempt of a terminal's pane.
pub fn active_dispatch(cx: &Cx<'_>, terminal: &Terminal) -> Result<Option<Dispatch>, OpError> {
    let leaf = terminal.pane_key.leaf().unwrap_or(terminal.pane_key.as_str());
    if let Some(dispatch) = cx.tx.first::<Dispatch>("active_pane", leaf)? {
        return Ok(Some(dispatch));
    }
    Ok(cx.tx.first::<Dispatch>("active_terminal", terminal.id.as_str())?)
}

/// The Run that a pane is bound to.
pub fn run_of_pane(cx: &Cx<'_>, pane: &PaneKey) -> Result<Option<Run>, OpError> {
    Ok(cx.tx.first::<Run>("pane", pane.leaf().unwrap_or(pane.as_str()))?)
}

/// The Run that the caller is bound to; for the person the one last created or used.
pub fn bound_run(cx: &Cx<'_>, caller: &Caller) -> Result<Option<Run>, OpError> {
    match &caller.terminal {
        Some(terminal) => run_of_pane(cx, &terminal.pane_key),
        None => match cx.tx.meta::<String>("user_run")? {
            Some(id) => Ok(cx.tx.get::<Run>(&id)?),
            None => Ok(None),
        },
    }
}

/// The Run with this id.
pub fn named_run(cx: &Cx<'_>, id: &str) -> Result<Run, OpError> {
    let found = match crate::base::id::RunId::parse(id) {
        Ok(id) => cx.tx.get::<Run>(id.as_str())?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
        refuse(ErrorCode::RunNotFound, format!("No Run has the id {shown:?}."))
            .next_step("orca orchestration run-list --json")
            .into()
    })
}

/// The Run that a mutation of the caller is about: the bound one, which `--run` may only assert
/// (contract 2.8); the person may name any (design 6).
pub fn run_to_change(cx: &Cx<'_>, caller: &Caller, flag: Option<&str>) -> Result<Run, OpError> {
    let bound = bound_run(cx, caller)?;
    let Some(flag) = flag else {
        return bound.ok_or_else(|| run_required().into());
    };
    let named = named_run(cx, flag)?;
    if caller.terminal.is_none() || bound.as_ref().is_some_and(|bound| bound.id == named.id) {
        return Ok(named);
    }
    let message = match bound {
        Some(bound) => format!("This terminal is bound to {}, not to {}.", bound.id, named.id),
        None => format!("This terminal is not bound to {}.", named.id),
    };
    Err(refuse(ErrorCode::ConsumerFenced, message)
        .with("effectsApplied", false)
        .next_step(format!("orca orchestration run-use --id {} --json", named.id))
        .into())
}

/// The Run that a read is about: any named one, else the bound one.
pub fn run_to_read(cx: &Cx<'_>, caller: &Caller, flag: Option<&str>) -> Result<Run, OpError> {
    match flag {
        Some(flag) => named_run(cx, flag),
        None => bound_run(cx, caller)?.ok_or_else(|| run_required().into()),
    }
}

fn run_required() -> crate::proto::error::ErrorBody {
    refuse(ErrorCode::RunRequired, "No Run is bound here and none was named.")
        .next_step("orca orchestration run-create --objective \"what the team should reach\" --json")
        .next_step("orca orchestration run-list --json")
        .next_step("orca skills get orchestration --full")
}
