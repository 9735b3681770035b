//! Small private files in a terminal's folder, written so that a crash leaves the old or the new one.

use super::PtyError;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes `path` with mode 0600 by way of a temporary name; `doing` names the attempt in the error.
///
/// The bytes reach the disk before the name does, so a power cut never leaves an empty file.
pub(super) fn write_private(path: &Path, bytes: &[u8], doing: &'static str) -> Result<(), PtyError> {
    let temporary = path.with_extension("writing");
    let write = || {
        let mut file = create_private(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(PtyError::io(doing))
}

/// Opens `path` for writing, empty and with mode 0600.
pub(super) fn create_private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)
}
