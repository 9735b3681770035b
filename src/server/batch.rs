//! What a batch of commands leaves until its one durable commit: rows, events, replies, effects.

use super::command::Reply;
use super::hub::Subscriber;
use super::waits::News;
use crate::base::clock::Timestamp;
use crate::base::id::TerminalId;
use crate::model::effect::OpenEffect;
use crate::model::event::Event;
use crate::ops::cx::{Act, Leftovers};
use crate::ops::error::{OpError, store_body};
use crate::proto::error::ErrorBody;
use crate::proto::event::{Change, LiveRow, RowView};
use crate::store::rows::Row;
use crate::store::tx::{Touched, Tx};
use crate::store::{Store, StoreError};
use serde_json::Value;
use std::collections::BTreeSet;

/// Answers that go out once everything before them is durable.
type Replies = Vec<(Reply, Result<Value, ErrorBody>)>;

/// A batch in the making.
#[derive(Debug, Default)]
pub struct Batch {
    /// The last command's transaction, still open: it may become the durable one.
    held: Option<Tx>,
    has_soft_commits: bool,
    /// The database failed, so nothing of this batch may be promised.
    failed: Option<StoreError>,
    change: Changed,
    effects: Vec<OpenEffect>,
    /// What changed since waiting calls were last asked.
    pub news: News,
    /// Terminals whose agent came to rest.
    pub idle: BTreeSet<TerminalId>,
    /// Names of tables with changed rows, in the whole batch.
    pub touched: BTreeSet<&'static str>,
    pub live: Vec<LiveRow>,
    pub replies: Replies,
    pub acts: Vec<Act>,
    /// Effects that are open no more: done, or withdrawn.
    gone_effects: Vec<String>,
    /// Terminals whose end is in this batch; their holders may go after it.
    pub ended: Vec<TerminalId>,
    pub attached: Vec<Subscriber>,
    pub resyncs: Vec<u64>,
    pub has_outcome: bool,
}

/// Rows and events for the mirrors.
#[derive(Debug, Default)]
pub struct Changed {
    rows: Vec<RowView>,
    gone: Vec<String>,
    events: Vec<Event>,
    live: Vec<LiveRow>,
}

impl Changed {
    /// Nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.gone.is_empty() && self.events.is_empty() && self.live.is_empty()
    }

    /// The frame's content. `seq` is 0 where no event is in it: the mirror keeps its number.
    pub fn into_change(self, now: Timestamp) -> Change {
        Change {
            seq: self.events.last().map_or(0, |event| event.seq),
            is_snapshot: false,
            n_older_runs: None,
            rows: self.rows,
            gone: self.gone,
            events: self.events,
            live: self.live,
            now,
        }
    }
}

/// The views of what one transaction changed.
#[derive(Debug, Default)]
pub struct Views {
    rows: Vec<RowView>,
    gone: Vec<String>,
}

/// Looks at what `tx` changed with the eyes of a mirror.
pub fn views(tx: &Tx) -> Result<Views, OpError> {
    let mut views = Views::default();
    for touched in tx.touched() {
        if touched.is_gone {
            views.gone.push(format!("{} {}", touched.table, touched.key));
        } else {
            views.rows.extend(crate::ops::view::touched(tx, touched)?);
        }
    }
    Ok(views)
}

impl Batch {
    /// Takes over the transaction of a command that succeeded.
    pub fn hold(&mut self, tx: Tx, left: Leftovers, views: Views) {
        let is_gone_effect =
            |touched: &&Touched| touched.is_gone && touched.table == <OpenEffect as Row>::NAME;
        self.gone_effects
            .extend(tx.touched().iter().filter(is_gone_effect).map(|touched| touched.key.clone()));
        self.news.tables.extend(tx.touched().iter().map(|touched| touched.table));
        self.touched.extend(tx.touched().iter().map(|touched| touched.table));
        self.news.tables.extend(tx.cleared());
        self.news.has_events |= !left.events.is_empty();
        self.change.rows.extend(views.rows);
        self.change.gone.extend(views.gone);
        self.change.events.extend(left.events);
        self.effects.extend(left.effects);
        self.acts.extend(left.acts);
        self.held = Some(tx);
    }

    /// The database failed in the middle of a command: nothing of this batch may be promised.
    pub fn fail(&mut self, error: StoreError) {
        self.failed.get_or_insert(error);
    }

    /// Makes the held transaction visible to the next one.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        if let Some(tx) = self.held.take() {
            match tx.commit_soft() {
                Ok(()) => self.has_soft_commits = true,
                Err(error) => self.failed = Some(error),
            }
        }
        match &self.failed {
            None => Ok(()),
            Some(error) => Err(StoreError::Database(format!("an earlier command was not stored: {error}"))),
        }
    }

    /// Something is to be made durable.
    pub fn is_written(&self) -> bool {
        self.held.is_some() || self.has_soft_commits
    }

    /// Makes everything durable, with one write to the disk.
    pub fn commit(mut self, store: &Store) -> Result<Done, Refused> {
        let is_written = self.is_written();
        let committed = match (self.failed.take(), self.held.take()) {
            (Some(error), _) => Err(error),
            (None, Some(tx)) => tx.commit_durable(),
            (None, None) if self.has_soft_commits => store.sync(),
            (None, None) => Ok(()),
        };
        if let Err(error) = committed {
            return Err(Refused { error, replies: self.replies });
        }
        self.change.live.append(&mut self.live);
        Ok(Done {
            is_written,
            change: self.change,
            replies: self.replies,
            effects: self.effects,
            gone_effects: self.gone_effects,
            acts: self.acts,
            ended: self.ended,
            attached: self.attached,
            resyncs: self.resyncs,
        })
    }
}

/// A durable batch: everything in it may be told.
#[derive(Debug)]
pub struct Done {
    pub is_written: bool,
    pub change: Changed,
    pub replies: Replies,
    pub effects: Vec<OpenEffect>,
    pub gone_effects: Vec<String>,
    pub acts: Vec<Act>,
    pub ended: Vec<TerminalId>,
    pub attached: Vec<Subscriber>,
    pub resyncs: Vec<u64>,
}

/// A batch that the disk refused.
#[derive(Debug)]
pub struct Refused {
    pub error: StoreError,
    replies: Replies,
}

impl Refused {
    /// Tells every caller that nothing of theirs is stored. Gives what they were told.
    pub fn answer_all(self) -> ErrorBody {
        let body = store_body(&self.error);
        for (reply, _) in self.replies {
            // A caller that left asks again anyway.
            drop(reply.send(Err(body.clone())));
        }
        body
    }
}
