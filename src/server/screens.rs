//! The panes that one client shows.

use super::terminals::Terminals;
use crate::base::id::TerminalId;
use crate::base::input::InputEvent;
use crate::proto::screen::{HostFacts, ServerFrame, View};
use std::sync::Arc;

#[derive(Debug)]
pub struct Screens {
    _terminals: Arc<Terminals>,
    news: tokio::sync::Notify,
}

impl Screens {
    pub fn new(terminals: Arc<Terminals>) -> Self {
        Self { _terminals: terminals, news: tokio::sync::Notify::new() }
    }
    pub async fn changed(&self) {
        self.news.notified().await
    }
    pub async fn input(&self, _terminal: &TerminalId, _event: InputEvent) {}
    pub fn show(&self, _view: View) -> Vec<ServerFrame> {
        Vec::new()
    }
    pub fn set_host_facts(&self, _facts: HostFacts) {}
    pub fn next_patch(&self) -> Option<(TerminalId, Vec<u8>)> {
        None
    }
}
