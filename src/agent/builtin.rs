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
