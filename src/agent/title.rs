//! What a window title tells of an agent that has no rules of its own (contract 9.3, in its order).

use super::detect::AgentState;

/// The state that the title shows; `None` where it shows nothing. `names` are the agent's own names,
/// in small letters.
pub(super) fn state(title: &str, names: &[String]) -> Option<AgentState> {
    let title = title.trim();
    let first = title.chars().next()?;
    let lower = title.to_lowercase();
    if title == "Cursor Agent" || (lower.contains("claude") && lower.ends_with(" agents")) {
        return None;
    }
    match first {
        '✋' => return Some(AgentState::Permission),
        '✦' | '⏲' | '⏱' => return Some(AgentState::Working),
        '◇' | '✳' => return Some(AgentState::Idle),
        _ => {}
    }
    if title.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)) {
        return Some(AgentState::Working);
    }
    if !names.iter().any(|name| has_token(&lower, name)) {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|word| has_token(&lower, word));
    if lower.contains("action required") || says(&["permission", "waiting"]) {
        Some(AgentState::Permission)
    } else if says(&["ready", "idle", "done"]) {
        Some(AgentState::Idle)
    } else if says(&["working", "thinking", "running"]) || title.starts_with(". ") {
        Some(AgentState::Working)
    } else if title.starts_with("* ") {
        Some(AgentState::Idle)
    } else {
        // The bare name says who it is and nothing about the state.
        None
    }
}

/// Whether `word` stands in `text` as a token: not inside a longer word, path or hyphenated name.
fn has_token(text: &str, word: &str) -> bool {
    let is_joint = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | '\\' | '~');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !word.is_empty() && !before.is_some_and(is_joint) && !after.is_some_and(is_joint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, expected: Option<AgentState>) {
        assert_eq!(state(title, &[String::from("codex"), String::from("droid")]), expected, "{title:?}");
    }

    #[test]
    fn titles_are_read_in_the_order_of_the_contract() {
        check("Cursor Agent", None);
        check("Claude Code agents", None);
        check("✋  Action Required (demo)", Some(AgentState::Permission));
        check("◇  Ready (demo)", Some(AgentState::Idle));
        check("✳ Claude Code", Some(AgentState::Idle));
        check("⠋ task | demo", Some(AgentState::Working));
        check("codex action required", Some(AgentState::Permission));
        check("codex: thinking", Some(AgentState::Working));
        check("codex ready", Some(AgentState::Idle));
        check("droid", None);
        check("~/src/codex-working thinking", None);
        check("/home/codex working", None);
        check("bash", None);
        check("", None);
    }
}
