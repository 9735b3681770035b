//! Terminals that run in the state directory, whatever the rows say of them: a database that was replaced, or
//! went back to its copy, does not know those that were started since.

use super::terminals::Terminals;
use crate::base::clock::Timestamp;
use crate::base::id::TerminalId;
use crate::base::size::TermSize;
use crate::model::terminal::LaunchRecord;
use crate::ops::terminal::found::Found;
use crate::pty::link;

/// What runs, or waits for somebody to take its end, in those of the terminals with a holder's socket that
/// `is_of_interest`.
pub fn look(terminals: &Terminals, is_of_interest: impl Fn(&TerminalId) -> bool) -> Vec<Found> {
    let held = terminals.held().into_iter();
    held.filter(|id| is_of_interest(id) && terminals.may_run(id)).map(|id| describe(terminals, id)).collect()
}

fn describe(terminals: &Terminals, id: TerminalId) -> Found {
    let dir = terminals.state_dir().terminal(id.as_str());
    let (spec, started) = (link::recorded_launch(&dir), link::recorded_start(&dir));
    let nowhere = LaunchRecord {
        argv: Vec::new(),
        env: Vec::new(),
        unset_env: Vec::new(),
        cwd: String::from("/"),
        brief_file: None,
    };
    let incarnation = started.as_ref().map(|started| started.incarnation.clone()).unwrap_or_default();
    let pid = started.as_ref().map(|started| started.child_pid);
    let started_at = started.map_or(Timestamp::default(), |started| started.started_at);
    let Some(spec) = spec else {
        let size = TermSize::default();
        return Found { id, incarnation, agent: None, launch: nowhere, size, pid, started_at };
    };
    let cwd = spec.cwd.to_string_lossy().into_owned();
    let launch = LaunchRecord { argv: spec.argv, env: spec.env, unset_env: spec.unset_env, cwd, ..nowhere };
    Found { id, incarnation: spec.incarnation, agent: spec.agent, launch, size: spec.size, pid, started_at }
}
