//! The request ledger: durable receipts, so that a retry after a lost reply is always safe.

use super::StoreError;
use super::rows::Row as _;
use super::tx::Tx;
use crate::base::clock::Timestamp;
use crate::model::request::{ABANDONED_MS, KEEP_RECEIPT_MS, MAX_RECEIPTS, Receipt, RequestState};
use sha2::Digest as _;

/// The key of a receipt.
pub fn key(caller: &str, id: &str) -> String {
    format!("{caller}\0{id}")
}

/// The SHA-256 of `params` in hex. `serde_json` keeps maps sorted by key, so equal parameters hash
/// equally whatever their order was.
pub fn hash_params(params: &serde_json::Value) -> String {
    let digest = sha2::Sha256::digest(params.to_string().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Tx {
    /// The receipt of `caller`'s request `id`.
    pub fn receipt(&self, caller: &str, id: &str) -> Result<Option<Receipt>, StoreError> {
        self.get(&key(caller, id))
    }

    /// Makes room for one more receipt: completed ones that are too old go, then the oldest completed
    /// one, then the oldest open one that is abandoned. Says whether there is room.
    pub fn has_room_for_receipt(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        let completed = RequestState::Completed.as_str();
        for old in self.list::<Receipt>("age", completed, 8)? {
            if now.since_ms(old.updated_at) > KEEP_RECEIPT_MS {
                self.delete_receipt(&old)?;
            }
        }
        if self.meta::<u64>("n_receipts")?.unwrap_or(0) < MAX_RECEIPTS {
            return Ok(true);
        }
        let is_abandoned = |open: &Receipt| now.since_ms(open.updated_at) > ABANDONED_MS;
        let oldest = match self.first::<Receipt>("age", completed)? {
            Some(completed) => Some(completed),
            None => self.first::<Receipt>("age", RequestState::Pending.as_str())?.filter(is_abandoned),
        };
        match oldest {
            Some(oldest) => self.delete_receipt(&oldest).map(|()| true),
            None => Ok(false),
        }
    }

    /// Writes a receipt and keeps their number.
    pub fn put_receipt(&mut self, receipt: &Receipt) -> Result<(), StoreError> {
        if self.receipt(&receipt.caller, &receipt.id)?.is_none() {
            let n = self.meta::<u64>("n_receipts")?.unwrap_or(0) + 1;
            self.set_meta("n_receipts", &n)?;
        }
        self.put(receipt)
    }

    /// Deletes a receipt and keeps their number.
    pub fn delete_receipt(&mut self, receipt: &Receipt) -> Result<(), StoreError> {
        let n = self.meta::<u64>("n_receipts")?.unwrap_or(0);
        self.set_meta("n_receipts", &n.saturating_sub(1))?;
        self.delete::<Receipt>(&receipt.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_parameters_hash_equally_in_any_order() {
        assert_eq!(hash_params(&json!({"a": 1, "b": [2]})), hash_params(&json!({"b": [2], "a": 1})));
        assert_ne!(hash_params(&json!({"a": 1})), hash_params(&json!({"a": 2})));
    }
}
