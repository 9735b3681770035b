//! The built-in presets against what was recorded of the real programs, and how presets are found.

use super::detect::*;
use super::launch::{LaunchOptions, PermissionMode, plan};
use super::*;
use std::path::Path;

#[test]
fn every_built_in_preset_reads() {
    let presets = Presets::builtin();
    assert_eq!(presets.bad_files(), []);
    assert_eq!(presets.iter().count(), builtin::ALL.len());
    let mut names = std::collections::BTreeSet::new();
    for preset in presets.iter() {
        for name in preset.aliases.iter().chain([&preset.id]) {
            assert!(names.insert(name.clone()), "{name} names two presets");
        }
    }
}

#[test]
fn presets_are_found_by_id_alias_and_process() {
    let presets = Presets::builtin();
    assert_eq!(presets.get("claude-code").map(|p| p.id.as_str()), Some("claude"));
    assert!(presets.get("nobody").is_none());
    let argv = [String::from("node"), String::from("/usr/lib/bin/gemini")];
    assert_eq!(presets.by_process("node", &argv).map(|p| p.id.as_str()), Some("gemini"));
    assert!(presets.by_process("bash", &[]).is_none());
}

#[test]
fn user_files_add_and_override_and_bad_ones_cost_only_themselves() {
    let file = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    let presets = Presets::with_user_files(&[
        file("claude", "command = [\"/opt/claude\"]\n"),
        file("codex", "command = 3\n"),
        file("mine", "command = [\"mine\"]\nprompt = \"paste\"\n"),
        file("broken", "?"),
    ]);
    assert_eq!(presets.get("claude").unwrap().command, ["/opt/claude"]);
    assert_eq!(presets.get("codex").unwrap().command, ["codex"]);
    assert_eq!(presets.get("mine").unwrap().name, "mine");
    assert!(presets.get("broken").is_none());
    let ids: Vec<&str> = presets.bad_files().iter().map(|bad| bad.id.as_str()).collect();
    assert_eq!(ids, ["codex", "broken"]);
}

#[test]
fn starts_of_built_in_agents_are_what_was_measured() {
    let presets = Presets::builtin();
    let mut lines = String::new();
    for preset in presets.iter() {
        for permission in [PermissionMode::Manual, PermissionMode::Auto] {
            let options = LaunchOptions {
                model: None,
                effort: None,
                permission,
                extra_args: &[],
                brief: Some("BRIEF"),
                is_worker: true,
                orca: Path::new("/opt/orca"),
                handle: "term_1",
                private_dir: Path::new("/state/term_1"),
                shell: "/bin/sh",
                resume: None,
            };
            let plan = plan(preset, &options).unwrap();
            let env: Vec<String> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            lines.push_str(&format!("{permission:?} {:?} {}\n", plan.argv, env.join(" ")));
        }
    }
    insta::assert_snapshot!(lines);
}

fn status(preset: &str, evidence: &Evidence<'_>) -> Detection {
    detect(Presets::builtin().get(preset), evidence)
}

#[test]
fn the_program_itself_is_believed_first() {
    let said =
        ProgramStatus::from_fields("blocked", Some("question"), Some("claude-code"), Some("answer\n?"))
            .unwrap();
    assert_eq!((said.state, said.message.as_str()), (Some(AgentState::Question), "answer ?"));
    let evidence = Evidence { program: Some(&said), title: Some("◐ x"), ..Evidence::default() };
    let found = status("claude", &evidence);
    assert_eq!((found.state, found.source), (AgentState::Question, Source::Program));
    assert!(found.explanation.contains("claude-code"), "{}", found.explanation);
    let cleared = ProgramStatus::from_fields("clear", None, None, None).unwrap();
    let found = status("claude", &Evidence { program: Some(&cleared), ..evidence });
    assert_eq!((found.state, found.source), (AgentState::Working, Source::Title));
    assert_eq!(ProgramStatus::from_fields("flying", None, None, None), None);
}

#[test]
fn silence_is_unknown_and_banners_do_not_look_busy() {
    let screen: Vec<String> =
        ["running subagents", "thinking, working", "$"].iter().map(|line| (*line).to_owned()).collect();
    for preset in ["claude", "codex", "aider", "nobody"] {
        let found = status(preset, &Evidence { screen: &screen, title: Some("vim"), ..Evidence::default() });
        assert_eq!((found.state, found.source), (AgentState::Unknown, Source::Nothing), "{preset}");
    }
}

#[test]
fn a_menu_of_any_program_is_a_question() {
    let screen: Vec<String> =
        ["Resume?", "❯ 1. Continue", "  2. Start over", "", "Enter to confirm · Esc to cancel"]
            .iter()
            .map(|line| (*line).to_owned())
            .collect();
    let found = detect(None, &Evidence { screen: &screen, title: Some("✳ idle"), ..Evidence::default() });
    assert_eq!((found.state, found.source), (AgentState::Question, Source::Screen));
    let list: Vec<String> = ["> 1. first", "  2. second", "$"].iter().map(|l| (*l).to_owned()).collect();
    assert_eq!(detect(None, &Evidence { screen: &list, ..Evidence::default() }).state, AgentState::Unknown);
}

#[test]
fn a_dialog_is_one_however_narrow_its_pane_and_without_its_keys() {
    let narrow =
        ["Do you want to", "proceed?", "❯ 1. Yes", "  2. No (esc)", "", "Esc to", "cancel · Tab to", "amend"];
    let bare = ["Do you want to proceed?", "❯ 1. Yes", "  2. No, and tell Claude what to do differently"];
    for (rows, state) in [(&narrow[..], AgentState::Permission), (&bare[..], AgentState::Question)] {
        let screen: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
        let evidence = Evidence { screen: &screen, ..Evidence::default() };
        assert_eq!(status("claude", &evidence).state, state);
        let presets = Presets::builtin();
        assert_eq!(is_ready(presets.get("claude").unwrap(), &evidence), Some(false));
    }
}

#[test]
fn progress_counts_only_while_it_runs() {
    let busy = Evidence { progress: Some(Progress::Busy), ..Evidence::default() };
    assert_eq!(status("copilot", &busy).state, AgentState::Working);
    let clear = Evidence { progress: Some(Progress::Clear), ..Evidence::default() };
    assert_eq!(status("copilot", &clear).state, AgentState::Unknown);
}
