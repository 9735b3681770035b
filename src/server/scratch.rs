//! Texts that editors in panes show (`tui::scratch`): what a killed pane left behind goes at the start.

use crate::base::path::StateDir;
use crate::base::report::OrLog as _;
use crate::model::terminal::Terminal;

/// Removes the files that no living terminal was started with.
pub fn sweep(dir: &StateDir, living: &[Terminal]) {
    let Some(entries) = std::fs::read_dir(dir.scratch()).or_log("look for texts of editors") else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.to_string_lossy();
        let is_used = |terminal: &Terminal| terminal.launch.argv.iter().any(|word| word.contains(&*name));
        if !living.iter().any(is_used) {
            std::fs::remove_file(&path).or_log("remove the text of an editor that is gone");
        }
    }
}
