//! The hook of an agent: the command by which it reports its session, and how it comes to trust that.

use crate::base::text::shell_quote;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The command that an agent runs as its hook, for a shell.
pub fn command(orca: &str, agent: &str) -> String {
    format!("{} hook {}", shell_quote(orca), shell_quote(agent))
}

/// The hash by which Codex knows the `UserPromptSubmit` hook that runs `command` for at most 5 s. Given with
/// the hook it lets exactly that one run unasked; the switch that lets all of them run would include those
/// that a repository brings along (measured with 0.171.0).
pub fn codex_trust(command: &str) -> String {
    let command = Value::from(command);
    let hook = format!(
        r#"{{"event_name":"user_prompt_submit","hooks":[{{"async":false,"command":{command},"timeout":5,"type":"command"}}]}}"#
    );
    let digest = Sha256::digest(hook.as_bytes());
    digest.iter().fold(String::from("sha256:"), |hash, byte| format!("{hash}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_a_shell() {
        assert_eq!(command("/opt/orca", "claude"), "/opt/orca hook claude");
        assert_eq!(command("/o p/it's", "my-agent"), r"'/o p/it'\''s' hook my-agent");
    }

    #[test]
    fn codex_knows_the_hook_by_this_hash() {
        // Told by `hooks/list` of the app server of Codex 0.171.0 for this hook.
        let hash = codex_trust("/opt/orca hook codex");
        assert_eq!(hash, "sha256:d7e7814a3df9ba6052db8632148ec33a42a5fd24232951e95d8179a4d0456f1d");
        let odd = codex_trust("'/o p/ü\"x' hook codex");
        assert_eq!(odd, "sha256:e05bc33554c2018dd515473a1209f20d8346cd404ed104e5afa281247c89c93b");
    }
}
