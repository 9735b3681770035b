//! Settings: read once, resolved once, then plain values (flag > environment > file > default).
//!
//! Nothing in the user's file is fatal: a line that cannot be used is reported with its number and
//! everything else applies. Flags are the command line's business and win by being asked first; the
//! environment's few settings are in [`env`]. Reading the file is the caller's job, so that this
//! module stays pure; only [`env::Environment::read`] looks at the process.

pub mod env;
pub mod file;
pub mod project;

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The annotated default file, for `orca config` and for people.
pub const DEFAULT_FILE: &str = include_str!("../../assets/config.default.toml");

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The shell of new terminals; empty: `$SHELL`, else the login shell.
    pub shell: String,
    /// The agent of a worker when none is named.
    pub default_agent: String,
    /// Whether agents may act without asking, where their preset knows how.
    pub permission: Permission,
    /// How deep workers may be; 1: only coordinators start workers.
    pub nested_depth_limit: u32,
    /// An idle agent is told in its terminal that mail waits for it.
    pub is_nudge_on: bool,
    pub terminal: TerminalSettings,
    pub worktrees: WorktreeSettings,
    pub screen: ScreenSettings,
    pub clipboard: ClipboardSettings,
    /// What the user changed for single agents, by preset id.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The user's own key bindings, unchecked: the screen knows the actions.
    pub keys: Vec<KeySetting>,
}

/// What a program in a pane meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSettings {
    /// Lines that are kept above the screen, per pane.
    pub scrollback_lines: u32,
    /// `TERM`, `COLORTERM` and `TERM_PROGRAM` of new panes.
    pub term: String,
    pub colorterm: String,
    pub term_program: String,
    pub clipboard: Clipboard,
    pub clear_history: ClearHistory,
}

/// Where new worktrees go and what their branches are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeSettings {
    /// The folder; `~/` is the home directory, a relative one counts from the repository's root.
    pub root: String,
    /// `by-repo`, `flat`, or a path with `{repo}`, `{name}` and `{branch}` in it.
    pub layout: String,
    /// `git-user`, `none`, or the prefix itself.
    pub branch_prefix: String,
}

/// The full screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenSettings {
    /// The key in front of every other key of ours, for example `ctrl+b`.
    pub prefix: String,
    pub is_mouse_on: bool,
    /// Columns of the sidebar; 0 hides it.
    pub sidebar_width: u16,
    pub theme: Theme,
    pub mode_keys: ModeKeys,
}

/// How copies reach the person's clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardSettings {
    pub route: ClipboardRoute,
    /// The program of the route `command`, which reads the text; argv.
    pub command: Vec<String>,
}

/// What the user changed for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    pub is_enabled: bool,
    /// Arguments for every start, after the preset's own.
    pub args: Vec<String>,
    /// Overrides the general setting.
    pub permission: Option<Permission>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self { is_enabled: true, args: Vec::new(), permission: None }
    }
}

/// One `action = keys` line of the `[keys]` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySetting {
    pub action: String,
    /// No key at all: the action loses its default keys.
    pub keys: Vec<String>,
    /// The line in the user's file, counted from 1.
    pub line: usize,
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The words of the file, in order.
            pub const WORDS: &'static [&'static str] = &[$($text,)*];

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

choices! {
    /// Whether an agent asks before it acts.
    Permission {
        /// It asks a person, as its maker intended.
        Manual = "manual",
        /// It starts with its own switch against asking.
        Auto = "auto",
    }
}

choices! {
    /// Where programs may clear the lines above the screen (`CSI 3 J` and RIS, as `clear` and `reset` do).
    ClearHistory {
        /// Not where an agent was started: some clear for each frame that they draw.
        Shells = "shells",
        Any = "any",
        Off = "off",
    }
}

choices! {
    /// Which panes may put text on the host's clipboard. Reading it is never allowed.
    Clipboard {
        Focused = "focused",
        Any = "any",
        Off = "off",
    }
}

choices! {
    /// How copies reach the person's clipboard.
    ClipboardRoute {
        /// Over SSH or without a display as `osc52`, else as `native` where there is a program.
        Auto = "auto",
        /// A sequence for the terminal around the client.
        Osc52 = "osc52",
        /// wl-copy, xclip, xsel or pbcopy.
        Native = "native",
        Command = "command",
        /// Copies stay inside of orca.
        Off = "off",
    }
}

choices! {
    /// The keys of copy mode.
    ModeKeys {
        Vi = "vi",
        Emacs = "emacs",
    }
}

choices! {
    /// The colours of our own screen parts.
    Theme {
        /// Follows what the host terminal says about its background.
        Auto = "auto",
        Dark = "dark",
        Light = "light",
        /// No colour at all; also what `NO_COLOR` chooses.
        Plain = "plain",
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            shell: String::new(),
            default_agent: String::from("claude"),
            permission: Permission::Manual,
            nested_depth_limit: 1,
            is_nudge_on: true,
            terminal: TerminalSettings {
                scrollback_lines: 10_000,
                term: String::from("xterm-256color"),
                colorterm: String::from("truecolor"),
                term_program: String::from("ghostty"),
                clipboard: Clipboard::Focused,
                clear_history: ClearHistory::Shells,
            },
            worktrees: WorktreeSettings {
                root: String::from("~/orca/workspaces"),
                layout: String::from("by-repo"),
                branch_prefix: String::from("git-user"),
            },
            screen: ScreenSettings {
                prefix: String::from("ctrl+b"),
                is_mouse_on: true,
                sidebar_width: 34,
                theme: Theme::Auto,
                mode_keys: ModeKeys::Vi,
            },
            clipboard: ClipboardSettings { route: ClipboardRoute::Auto, command: Vec::new() },
            agents: BTreeMap::new(),
            keys: Vec::new(),
        }
    }
}

impl Config {
    /// Resolves the user's file (its text; empty where there is none) and the environment.
    pub fn resolve(file: &str, environment: &env::Environment) -> (Self, Vec<file::Diagnostic>) {
        let (mut config, diagnostics) = file::read(file);
        if environment.is_colour_unwanted {
            config.screen.theme = Theme::Plain;
        }
        if config.shell.is_empty() {
            config.shell = environment.shell.clone();
        }
        (config, diagnostics)
    }

    /// The settings of one agent, the defaults where the user said nothing.
    pub fn agent(&self, id: &str) -> AgentSettings {
        self.agents.get(id).cloned().unwrap_or_default()
    }

    /// Whether this agent asks before it acts.
    pub fn permission_of(&self, id: &str) -> Permission {
        self.agents.get(id).and_then(|agent| agent.permission).unwrap_or(self.permission)
    }

    /// The folder of worktrees with `~/` resolved; still relative where the user wrote it so.
    pub fn worktree_root(&self, home: &std::path::Path) -> PathBuf {
        match self.worktrees.root.strip_prefix('~').map(|rest| rest.trim_start_matches('/')) {
            Some(rest) => home.join(rest),
            None => PathBuf::from(&self.worktrees.root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_says_exactly_the_defaults() {
        let (config, diagnostics) = file::read(DEFAULT_FILE);
        assert_eq!(diagnostics, []);
        assert_eq!(config, Config::default());
        for key in file::known_keys() {
            let name = key.rsplit('.').next().unwrap();
            assert!(DEFAULT_FILE.contains(&format!("{name} = ")), "{key} is not in the default file");
        }
    }

    #[test]
    fn every_setting_of_the_default_file_is_explained() {
        let mut before = "";
        for line in DEFAULT_FILE.lines() {
            if line.contains(" = ") && !line.starts_with('#') {
                assert!(before.starts_with('#'), "{line:?} has no explanation above it");
            }
            before = line;
        }
    }

    #[test]
    fn the_environment_fills_in_and_no_color_wins() {
        let environment = env::Environment::from_pairs([("SHELL", "/bin/fish"), ("NO_COLOR", "1")], "/");
        let (config, _) = Config::resolve("[screen]\ntheme = \"dark\"\n", &environment);
        assert_eq!((config.shell.as_str(), config.screen.theme), ("/bin/fish", Theme::Plain));
        let (config, _) = Config::resolve("shell = \"/bin/zsh\"\n", &environment);
        assert_eq!(config.shell, "/bin/zsh");
    }

    #[test]
    fn the_worktree_root_knows_the_home_directory() {
        let home = std::path::Path::new("/home/a");
        let mut config = Config::default();
        assert_eq!(config.worktree_root(home), std::path::Path::new("/home/a/orca/workspaces"));
        config.worktrees.root = String::from(".trees");
        assert_eq!(config.worktree_root(home), std::path::Path::new(".trees"));
    }
}
