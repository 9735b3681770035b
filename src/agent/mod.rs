//! What we know of each agent: data first, in `assets/agents/<id>.toml`, and the code that reads it.
//!
//! Pure: the contents of the user's preset directory, screens, titles and facts are handed in; command
//! lines, texts, steps and states come out. Nothing here starts, types or watches anything.

mod builtin;
pub mod detect;
pub mod hook;
pub mod launch;
pub mod pattern;
pub mod preset;
pub mod prompt;
mod title;
pub mod transcript;

use preset::{Preset, PresetError};

/// Programs that tell nothing about what runs in them.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "busybox"];

/// All agents of one user: the built-in ones, with the user's own over and beside them.
#[derive(Debug, Clone)]
pub struct Presets {
    all: Vec<Preset>,
    /// The user's files that cannot be used.
    bad_files: Vec<PresetError>,
}

/// The ids of the agents that are part of the program.
pub fn builtin_ids() -> impl Iterator<Item = &'static str> {
    builtin::ALL.iter().map(|(id, _)| *id)
}

impl Presets {
    /// Only the built-in ones.
    pub fn builtin() -> Self {
        Self::with_user_files(&[])
    }

    /// The built-in ones and the user's files, as pairs of id (the name without `.toml`) and text. A
    /// bad file costs only itself: see [`Presets::bad_files`].
    pub fn with_user_files(files: &[(String, String)]) -> Self {
        let mut bad_files = Vec::new();
        let mut all = Vec::new();
        let mut take = |result: Result<Preset, PresetError>| match result {
            Ok(preset) => Some(preset),
            Err(error) => {
                bad_files.push(error);
                None
            }
        };
        for (id, text) in builtin::ALL {
            let own = files.iter().find(|(name, _)| name == id);
            let changed = own.and_then(|(_, own)| take(Preset::parse_over(id, Some(text), own)));
            all.extend(changed.or_else(|| take(Preset::parse(id, text))));
        }
        let is_new = |id: &str| builtin::ALL.iter().all(|(known, _)| *known != id);
        for (id, text) in files.iter().filter(|(id, _)| is_new(id)) {
            all.extend(take(Preset::parse(id, text)));
        }
        Self { all, bad_files }
    }

    /// What is wrong with the user's files. Where one was to change a built-in agent, that one stays as
    /// it is built in, and whoever starts it should be told first.
    pub fn bad_files(&self) -> &[PresetError] {
        &self.bad_files
    }

    /// The preset with this id or alias.
    pub fn get(&self, name: &str) -> Option<&Preset> {
        let by_id = self.all.iter().find(|preset| preset.id == name);
        by_id.or_else(|| self.all.iter().find(|preset| preset.aliases.iter().any(|alias| alias == name)))
    }

    /// The two lines that make a preset of an agent which is known by its name only.
    pub fn two_lines(&self, name: &str) -> Option<&'static [&'static str; 2]> {
        builtin::NAMED.iter().find(|(id, _)| *id == name).map(|(_, lines)| lines)
    }

    /// All of them, in the order in which they are offered.
    pub fn iter(&self) -> impl Iterator<Item = &Preset> {
        self.all.iter()
    }

    /// The agent that a process is, by its name and command line, however it was started. A shell is no
    /// agent, also where somebody's preset runs one; what the shell runs may be.
    pub fn by_process(&self, name: &str, argv: &[String]) -> Option<&Preset> {
        let unless_shell = |word: &str| {
            let base = word.rsplit('/').next().unwrap_or(word).trim_start_matches('-');
            if SHELLS.contains(&base) { String::new() } else { word.to_owned() }
        };
        let name = unless_shell(name);
        let argv: Vec<String> = argv.iter().take(2).map(|word| unless_shell(word)).collect();
        self.all.iter().filter(|preset| preset.id != "shell").find(|preset| preset.is_process(&name, &argv))
    }
}

#[cfg(test)]
mod tests;
