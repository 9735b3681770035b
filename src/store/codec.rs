//! How a row becomes bytes: one version byte, then JSON, which says its own field names and so
//! tolerates added ones.

use super::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

const JSON_V1: u8 = 1;

pub(super) fn encode<T: Serialize>(table: &'static str, key: &str, row: &T) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![JSON_V1];
    serde_json::to_writer(&mut bytes, row).map_err(|error| bad(table, key, &error.to_string()))?;
    Ok(bytes)
}

pub(super) fn decode<T: DeserializeOwned>(
    table: &'static str,
    key: &str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    match bytes.split_first() {
        Some((&JSON_V1, json)) => {
            serde_json::from_slice(json).map_err(|error| bad(table, key, &error.to_string()))
        }
        Some((version, _)) => Err(bad(table, key, &format!("unknown encoding {version}"))),
        None => Err(bad(table, key, "empty")),
    }
}

fn bad(table: &'static str, key: &str, detail: &str) -> StoreError {
    StoreError::BadRow { table, key: key.to_owned(), detail: detail.to_owned() }
}
