//! The presets that are part of the program.

macro_rules! presets {
    ($($id:literal,)*) => {
        /// Id and text of each embedded preset, in the order in which they are offered.
        pub(super) const ALL: &[(&str, &str)] = &[
            $(($id, include_str!(concat!("../../assets/agents/", $id, ".toml"))),)*
        ];
    };
}

presets! {
    "claude",
    "codex",
    "cursor",
    "opencode",
    "gemini",
    "copilot",
    "qwen",
    "pi",
    "cline",
    "cn",
    "amp",
    "droid",
    "aider",
    "goose",
    "crush",
    "shell",
}

/// Agents that are known by name, with the two lines of a preset for each: what there is to say of how they
/// are started, and no more. Nobody has watched them here yet, so they are the person's to add.
pub(super) const NAMED: &[(&str, [&str; 2])] = &[
    ("antigravity", [r#"command = ["agy"]"#, r#"prompt = "paste""#]),
    ("devin", [r#"command = ["devin"]"#, r#"prompt = "paste""#]),
    ("grok", [r#"command = ["grok", "--"]"#, r#"prompt = "argument""#]),
    ("hermes", [r#"command = ["hermes", "--tui"]"#, r#"prompt = "paste""#]),
    ("kimi", [r#"command = ["kimi"]"#, r#"prompt = "paste""#]),
    ("kiro", [r#"command = ["kiro-cli", "chat", "--tui"]"#, r#"prompt = "paste""#]),
    ("mimo", [r#"command = ["mimo"]"#, r#"prompt = "paste""#]),
    ("muse", [r#"command = ["muse", "--trust-workspace"]"#, r#"prompt = "paste""#]),
    ("omp", [r#"command = ["omp"]"#, r#"prompt = "argument""#]),
];
