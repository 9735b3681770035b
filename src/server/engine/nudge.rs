//! The engine's part of the nudge: when mail came, or when an agent came to rest, it looks whether an idle agent
//! has mail that it was not told of.

use super::{Batch, Engine, Keep};
use crate::base::id::TerminalId;
use crate::base::report::OrLog as _;
use crate::ops::cx::CallerFacts;
use crate::ops::nudge;
use std::collections::BTreeSet;

/// Rows whose change may make mail wait for an agent.
const TABLES: [&str; 4] = ["message", "delivery", "run", "dispatch"];

impl Engine {
    /// Tells idle agents of their mail.
    pub(super) fn nudge(&mut self, batch: &mut Batch) {
        if !self.rules.is_nudge_on {
            batch.idle.clear();
            return;
        }
        let mut agents: BTreeSet<TerminalId> = std::mem::take(&mut batch.idle);
        if TABLES.iter().any(|table| batch.touched.contains(table)) {
            agents.extend(self.terminals.idle_agents());
        }
        for terminal in agents {
            let caller = CallerFacts::default();
            let wanted = self.read(batch, caller, |cx| nudge::wanted(cx, &terminal).map(Keep::Abort));
            if let Some(wanted) = wanted.or_log("look for mail of an idle agent").flatten() {
                self.note(batch, "tell an idle agent of its mail", |cx| nudge::tell(cx, wanted));
            }
        }
    }
}
