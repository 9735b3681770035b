//! The live terminals of this server.

use crate::base::id::TerminalId;
use crate::ops::cx::{LiveFacts, OutputPage, ReadWish};
use crate::proto::event::LiveRow;

/// All live terminals.
#[derive(Debug, Default)]
pub struct Terminals {}

impl Terminals {
    pub fn live_row(&self, _terminal: &TerminalId) -> Option<LiveRow> {
        None
    }
    pub fn live_rows(&self) -> Vec<LiveRow> {
        Vec::new()
    }
    pub fn live_facts(&self, _terminal: &TerminalId) -> Option<LiveFacts> {
        None
    }
    pub fn read_output(&self, _terminal: &TerminalId, _wish: &ReadWish) -> Option<OutputPage> {
        None
    }
    pub fn by_child(&self, _pid: u32) -> Option<TerminalId> {
        None
    }
    pub fn n_live(&self) -> usize {
        0
    }
    pub fn live_names(&self) -> Vec<String> {
        Vec::new()
    }
    pub async fn end_all(&self) {}
    pub fn collected(&self, _terminal: &TerminalId) {}
    pub fn type_bytes(&self, _terminal: &TerminalId, _bytes: Vec<u8>) {}
    pub fn prompt(&self, _terminal: &TerminalId, _text: &str) {}
}
