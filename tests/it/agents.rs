//! Recordings of real agents, replayed through the emulator: does the status come out right, with all
//! evidence and with the screen alone?

use orca::agent::Presets;
use orca::agent::detect::{
    AgentState, Detection, Evidence, ProgramStatus, Progress, Source, detect, is_ready,
};
use orca::base::size::TermSize;
use orca::pty::event::{ProgressState, TermEvent};
use orca::pty::term::{Term, TermConfig};
use std::path::{Path, PathBuf};

/// One recording: whose, of what, and what it shows in the end.
struct Recording {
    name: String,
    agent: String,
    state: String,
    title: Option<String>,
    program: Option<ProgramStatus>,
    progress: Option<Progress>,
    screen: Vec<String>,
}

impl Recording {
    fn replay(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (agent, state) = name.split_once('-').unwrap();
        let (agent, state) = (agent.to_owned(), state.to_owned());
        let mut term = Term::new(TermSize::clamped(32, 120), TermConfig::default());
        let (mut title, mut program, mut progress) = (None, None, None);
        for chunk in std::fs::read(path).unwrap().chunks(1024) {
            term.process(chunk);
            for event in term.take_events() {
                match event {
                    TermEvent::Title(text) => title = Some(text),
                    TermEvent::Status(said) => {
                        program = ProgramStatus::from_fields(
                            &said.state,
                            said.kind.as_deref(),
                            said.app.as_deref(),
                            said.message.as_deref(),
                        );
                    }
                    TermEvent::Progress { state, .. } => {
                        progress = Some(match state {
                            ProgressState::None => Progress::Clear,
                            ProgressState::Running | ProgressState::Indeterminate => Progress::Busy,
                            ProgressState::Failed => Progress::Failed,
                            ProgressState::Paused => Progress::Paused,
                        });
                    }
                    _ => {}
                }
            }
        }
        Self { name, agent, state, title, program, progress, screen: term.screen_text() }
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            program: self.program.as_ref(),
            hook: None,
            title: self.title.as_deref(),
            progress: self.progress,
            screen: &self.screen,
        }
    }

    /// The state that the name of the file promises.
    fn expected(&self) -> AgentState {
        match self.state.trim_end_matches("-plain") {
            "working" | "working-tool" => AgentState::Working,
            "waiting-permission" | "waiting-trust" => AgentState::Permission,
            "waiting-question" => AgentState::Question,
            "idle" | "idle-after-turn" | "idle-after-error" => AgentState::Idle,
            other => panic!("{}: no state is called {other}", self.name),
        }
    }
}

fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "bin"));
    paths.sort();
    assert!(paths.len() > 50, "only {} recordings", paths.len());
    paths.iter().map(|path| Recording::replay(path)).collect()
}

fn is_as_expected(found: &Detection, expected: AgentState) -> bool {
    found.state == expected || (expected == AgentState::Idle && found.state.is_at_prompt())
}

#[test]
fn recorded_agents_are_in_the_state_they_were_recorded_in() {
    let presets = Presets::builtin();
    let mut wrong = Vec::new();
    for recording in recordings() {
        let preset = presets.get(&recording.agent);
        assert!(preset.is_some(), "{} has no preset", recording.agent);
        let screen_only = Evidence { screen: &recording.screen, ..Evidence::default() };
        for (how, evidence) in [("all", recording.evidence()), ("screen", screen_only)] {
            let found = detect(preset, &evidence);
            if !is_as_expected(&found, recording.expected()) {
                wrong.push(format!("{} by {how}: {:?} ({})", recording.name, found.state, found.explanation));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_that_report_their_state_are_believed() {
    let presets = Presets::builtin();
    for recording in recordings().iter().filter(|r| r.program.is_some()) {
        let found = detect(presets.get(&recording.agent), &recording.evidence());
        assert_eq!(found.source, Source::Program, "{}", recording.name);
        assert_eq!(
            found.state == AgentState::Error,
            recording.state == "idle-after-error",
            "{}",
            recording.name
        );
    }
}

#[test]
fn agents_take_text_at_their_prompt_and_not_in_a_dialog() {
    let presets = Presets::builtin();
    for recording in recordings() {
        let preset = presets.get(&recording.agent).unwrap();
        let is_ready = is_ready(preset, &recording.evidence());
        if recording.state.starts_with("waiting") {
            assert_eq!(is_ready, Some(false), "{}", recording.name);
        } else if recording.state.starts_with("idle") {
            assert_ne!(is_ready, Some(false), "{}", recording.name);
        }
    }
}
