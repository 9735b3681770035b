//! Whether the agent in a terminal is at rest, so that a machine may type a line to it without breaking into a
//! turn or a person's draft. The draft mark outlives the server: what a person left in the agent's input is
//! still there after a restart.

use super::pane::{Item, Pane, Queue};
use crate::agent::prompt::Step;
use crate::base::clock::Clock;
use crate::base::id::MessageId;
use crate::base::report::OrLog as _;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long an agent must have looked idle.
const SETTLED: Duration = Duration::from_millis(1_000);
/// How long nobody may have typed: what was sent last may not show yet.
const UNTOUCHED: Duration = Duration::from_millis(2_000);
/// Between the line and its Enter, at least: agents take a fast Enter for part of a paste.
const SETTLE_MS: u64 = 300;

fn marker(dir: &Path) -> PathBuf {
    dir.join("draft")
}

/// Whether a person's draft stood in this terminal when it was last served.
pub fn had_draft(dir: &Path) -> bool {
    marker(dir).exists()
}

impl Queue {
    /// Notes whether a person's draft stands in the terminal, also for the next server.
    pub fn set_draft(&mut self, dir: &Path, has_draft: bool) {
        if self.has_draft == has_draft {
            return;
        }
        self.has_draft = has_draft;
        if has_draft {
            std::fs::write(marker(dir), "").or_log("note a draft");
        } else if let Err(error) = std::fs::remove_file(marker(dir))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            crate::base::report::log(format_args!("forget a draft: {error}"));
        }
    }
}

impl Pane {
    /// How long until the agent here counts as at rest, as far as can be said now: zero when it does,
    /// none while it works, a person's draft stands, something is to be typed, or no agent runs.
    pub fn rest(&self, queue: &Queue) -> Option<Duration> {
        if queue.has_draft || !queue.items.is_empty() || !queue.partial.is_empty() {
            return None;
        }
        let idle = {
            let inner = self.inner();
            if inner.end.is_some() || !inner.state.is_at_prompt() {
                return None;
            }
            Duration::from_millis(Clock::System.now().since_ms(inner.live.activity_since))
        };
        self.preset()?;
        let untouched = queue.typed_at.map_or(UNTOUCHED, |at| at.elapsed());
        Some(SETTLED.saturating_sub(idle).max(UNTOUCHED.saturating_sub(untouched)))
    }

    /// The steps that type a line and send it.
    pub fn line_steps(&self, line: &str) -> VecDeque<Step> {
        let settle_ms = self.preset().map_or(SETTLE_MS, |preset| preset.paste.settle_ms.max(SETTLE_MS));
        [Step::Type(line.to_owned()), Step::Settle { ms: settle_ms }, Step::Enter].into()
    }

    /// Queues a line for the agent at rest; it is typed at once or not at all.
    pub fn push_nudge(&self, line: &str, messages: Vec<MessageId>) {
        self.push(Item::Nudge { steps: self.line_steps(line), messages });
    }
}

/// When a pump tells that its agent came to rest: once for each rest.
#[derive(Debug, Default)]
pub struct RestTeller {
    pub due: Option<Instant>,
    told_at: Option<Instant>,
}

impl RestTeller {
    /// Looks at the agent. True: it is at rest, and that was not told since somebody typed or it worked.
    pub fn look(&mut self, pane: &Pane) -> bool {
        let queue = pane.queue();
        let rest = pane.rest(&queue).filter(|_| pane.is_ready() != Some(false));
        let typed_at = queue.typed_at;
        drop(queue);
        let now = Instant::now();
        self.due = None;
        match rest {
            None => {
                self.told_at = None;
                false
            }
            Some(_) if self.told_at.is_some_and(|told| typed_at.is_none_or(|typed| typed <= told)) => false,
            Some(left) if left.is_zero() => {
                self.told_at = Some(now);
                true
            }
            Some(left) => {
                self.due = Some(now + left);
                false
            }
        }
    }

    /// What was told came to nothing; it is told again after the next rest.
    pub fn forget(&mut self) {
        self.told_at = None;
        self.due = Some(Instant::now() + SETTLED);
    }
}
