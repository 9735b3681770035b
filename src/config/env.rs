//! Every environment variable that orca reads, named and documented once.
//!
//! [`Environment::read`] looks at the process once, at the start; from there on the values are handed
//! around. An empty variable counts as unset. Also here: which variables a pane must not inherit.

use crate::base::path::StateDir;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name and meaning of each variable that is read, in the order of the documentation.
pub const VARIABLES: &[(&str, &str)] = &[
    ("ORCA_HOME", "The state directory; which server is meant."),
    ("ORCA_USER_DATA_PATH", "An older name of ORCA_HOME."),
    ("ORCA_TERMINAL_HANDLE", "Set in panes: the terminal's handle."),
    ("ORCA_PANE", "Set in panes: the pane's stable key."),
    ("ORCA_PANE_KEY", "Another name of ORCA_PANE, for older scripts."),
    ("ORCA_TAB_ID", "Set in panes: the tab."),
    ("ORCA_WORKTREE_ID", "Set in panes: the worktree."),
    ("ORCA_WORKSPACE_ID", "Set in panes: worktree:<id> or folder:<id>."),
    ("ORCA_RUN_ID", "Set for workers: the Run."),
    ("ORCA_TASK_ID", "Set for workers: the Task."),
    ("ORCA_DISPATCH_ID", "Set for workers: the Dispatch."),
    ("ORCA_CLI_COMMAND", "Set in panes: the executable's name."),
    ("ORCA_CLI_CWD", "The working directory to assume, for relayed shells."),
    ("ORCA_NO_AUTOSTART", "Do not start the server when it is absent."),
    ("ORCA_KEEPALIVE_INTERVAL_MS", "How often a waiting command says that it still waits."),
    ("ORCA_HEARTBEAT_INTERVAL_MS", "An older name of ORCA_KEEPALIVE_INTERVAL_MS."),
    ("ORCA_ENVIRONMENT", "Another server, as --environment; not offered yet."),
    ("ORCA_PAIRING_CODE", "The same by its pairing code."),
    ("ORCA_REMOTE_PAIRING", "Another name of ORCA_PAIRING_CODE."),
    ("ORCA_LOG", "Write what is usually kept quiet to standard error."),
    ("HOME", "The home directory; from the user database where it is unset."),
    ("XDG_STATE_HOME", "Where the state directory is by default."),
    ("XDG_CONFIG_HOME", "Where the settings are."),
    ("SHELL", "The shell of new terminals; from the user database where it is unset."),
    ("VISUAL", "The editor for longer texts."),
    ("EDITOR", "The editor for longer texts, where VISUAL is unset."),
    ("PATH", "Where agents are looked up."),
    ("SSH_CONNECTION", "Set over SSH: copies go to the terminal in front, not to this machine."),
    ("WAYLAND_DISPLAY", "Whether wl-copy may work."),
    ("DISPLAY", "Whether xclip or xsel may work."),
    ("TMUX", "Set inside tmux: copies are passed through it."),
    ("STY", "Set inside GNU screen: copies are passed through it."),
    ("TERM", "What the outer terminal is."),
    ("COLORTERM", "Whether the outer terminal knows 24-bit colour."),
    ("NO_COLOR", "Use no colour."),
    ("CLICOLOR", "0: use no colour."),
    ("CLICOLOR_FORCE", "Use colour also where the output is no terminal, unless NO_COLOR is set."),
    ("TMPDIR", "The last place where undelivered reports are kept."),
];

/// Those that name another server.
const REMOTE: [&str; 3] = ["ORCA_ENVIRONMENT", "ORCA_PAIRING_CODE", "ORCA_REMOTE_PAIRING"];

/// The process environment, read once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// The home directory; `/` as the last resort.
    pub home: PathBuf,
    /// The working directory to assume, absolute.
    pub cwd: PathBuf,
    /// `ORCA_HOME`, absolute.
    pub orca_home: Option<PathBuf>,
    pub xdg_state_home: Option<PathBuf>,
    pub xdg_config_home: Option<PathBuf>,
    pub temp_dir: PathBuf,
    pub terminal_handle: Option<String>,
    pub pane_key: Option<String>,
    pub tab_id: Option<String>,
    pub worktree_id: Option<String>,
    pub workspace_id: Option<String>,
    pub run_id: Option<String>,
    pub task_id: Option<String>,
    pub dispatch_id: Option<String>,
    pub is_autostart_off: bool,
    /// Milliseconds between keepalive lines; at least 50.
    pub keepalive_interval_ms: Option<u64>,
    pub is_log_wanted: bool,
    /// The variable that names another server, where one does.
    pub remote: Option<&'static str>,
    /// A shell that exists in the user's mind: `$SHELL`, else the login shell, else `/bin/sh`.
    pub shell: String,
    pub editor: Option<String>,
    pub path: OsString,
    pub is_remote: bool,
    pub has_wayland: bool,
    pub has_x11: bool,
    pub is_in_tmux: bool,
    pub is_in_screen: bool,
    pub term: String,
    pub colorterm: String,
    pub is_colour_unwanted: bool,
    pub is_colour_forced: bool,
}

impl Environment {
    /// Reads the process: its variables, working directory and user database entry.
    pub fn read() -> Self {
        // One that was removed has no name but the one the shell knew it by; it is not the root.
        let gone = |_| PathBuf::from(std::env::var_os("PWD").unwrap_or_else(|| OsString::from("/")));
        let cwd = std::env::current_dir().unwrap_or_else(gone);
        let vars = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let mut environment = Self::build(vars.collect(), cwd);
        let is_complete = environment.home.is_absolute() && !environment.shell.is_empty();
        if !is_complete {
            let uid = rustix::process::getuid().as_raw();
            let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
            environment.fill_from_users(&users, uid);
        }
        environment.settle();
        environment
    }

    /// The environment that these variables would make, for tests; no user database.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, cwd: &str) -> Self {
        let vars = pairs.into_iter().map(|(name, value)| (name.to_owned(), OsString::from(value)));
        let mut environment = Self::build(vars.collect(), PathBuf::from(cwd));
        environment.settle();
        environment
    }

    fn build(vars: BTreeMap<String, OsString>, cwd: PathBuf) -> Self {
        let raw = |name: &str| vars.get(name).filter(|value| !value.is_empty());
        let text = |name: &str| raw(name).and_then(|value| value.to_str()).map(str::to_owned);
        let cwd = raw("ORCA_CLI_CWD").map_or(cwd.clone(), |dir| cwd.join(dir));
        let path = |name: &str| raw(name).map(|value| cwd.join(value));
        // The XDG rule: a relative value is invalid and ignored.
        let xdg = |name: &str| raw(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let keepalive = text("ORCA_KEEPALIVE_INTERVAL_MS").or_else(|| text("ORCA_HEARTBEAT_INTERVAL_MS"));
        Self {
            home: raw("HOME").map(PathBuf::from).filter(|path| path.is_absolute()).unwrap_or_default(),
            orca_home: path("ORCA_HOME").or_else(|| path("ORCA_USER_DATA_PATH")),
            xdg_state_home: xdg("XDG_STATE_HOME"),
            xdg_config_home: xdg("XDG_CONFIG_HOME"),
            temp_dir: xdg("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp")),
            terminal_handle: text("ORCA_TERMINAL_HANDLE"),
            pane_key: text("ORCA_PANE").or_else(|| text("ORCA_PANE_KEY")),
            tab_id: text("ORCA_TAB_ID"),
            worktree_id: text("ORCA_WORKTREE_ID"),
            workspace_id: text("ORCA_WORKSPACE_ID"),
            run_id: text("ORCA_RUN_ID"),
            task_id: text("ORCA_TASK_ID"),
            dispatch_id: text("ORCA_DISPATCH_ID"),
            is_autostart_off: is_on(text("ORCA_NO_AUTOSTART")),
            keepalive_interval_ms: keepalive
                .and_then(|ms| ms.trim().parse().ok())
                .filter(|ms: &u64| *ms > 0)
                .map(|ms| ms.max(50)),
            is_log_wanted: is_on(text("ORCA_LOG")),
            remote: REMOTE.into_iter().find(|name| raw(name).is_some()),
            shell: text("SHELL").unwrap_or_default(),
            editor: text("VISUAL").or_else(|| text("EDITOR")),
            path: raw("PATH").cloned().unwrap_or_default(),
            is_remote: raw("SSH_CONNECTION").is_some(),
            has_wayland: raw("WAYLAND_DISPLAY").is_some(),
            has_x11: raw("DISPLAY").is_some(),
            is_in_tmux: raw("TMUX").is_some(),
            is_in_screen: raw("STY").is_some(),
            term: text("TERM").unwrap_or_default(),
            colorterm: text("COLORTERM").unwrap_or_default(),
            is_colour_unwanted: raw("NO_COLOR").is_some()
                || raw("CLICOLOR").is_some_and(|value| value == "0"),
            is_colour_forced: raw("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            cwd,
        }
    }

    /// Takes home and shell of `uid` from the text of a passwd file, where they are missing.
    fn fill_from_users(&mut self, users: &str, uid: u32) {
        let uid = uid.to_string();
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let Some(user) = fields.into_iter().find(|user| user.len() >= 7 && user[2] == uid) else { return };
        if self.home.as_os_str().is_empty() {
            self.home = PathBuf::from(user[5]);
        }
        if self.shell.is_empty() {
            user[6].clone_into(&mut self.shell);
        }
    }

    fn settle(&mut self) {
        if !self.home.is_absolute() {
            self.home = PathBuf::from("/");
        }
        if self.shell.is_empty() {
            self.shell = String::from("/bin/sh");
        }
    }

    /// The state directory: `$ORCA_HOME`, else `$XDG_STATE_HOME/orca`, else `~/.local/state/orca`.
    pub fn state_dir(&self, uid: u32) -> StateDir {
        let root = self.orca_home.clone().unwrap_or_else(|| match &self.xdg_state_home {
            Some(state) => state.join("orca"),
            None => self.home.join(".local/state/orca"),
        });
        StateDir::new(root, uid)
    }

    /// The folder of our settings: `$XDG_CONFIG_HOME/orca`, else `~/.config/orca`.
    pub fn config_dir(&self) -> PathBuf {
        match &self.xdg_config_home {
            Some(config) => config.join("orca"),
            None => self.home.join(".config/orca"),
        }
    }

    /// The user's settings file.
    pub fn config_file(&self) -> PathBuf {
        self.config_dir().join("config.toml")
    }

    /// The folder of the user's own agent presets.
    pub fn agents_dir(&self) -> PathBuf {
        self.config_dir().join("agents")
    }
}

/// Whether a switch is on: set, and not to a word that says no.
fn is_on(value: Option<String>) -> bool {
    value.is_some_and(|v| !matches!(v.trim().to_lowercase().as_str(), "0" | "false" | "no" | "off"))
}

/// Whether a pane must not inherit this variable: it tells of the terminal, multiplexer or agent in
/// which the server happened to be started, or it is ours and names another pane.
pub fn is_private_to_host(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "TERM",
        "COLORTERM",
        "COLORFGBG",
        "LINES",
        "COLUMNS",
        "STY",
        "WINDOW",
        "WINDOWID",
        "VTE_VERSION",
        "WT_SESSION",
        "WT_PROFILE_ID",
        "LC_TERMINAL",
        "LC_TERMINAL_VERSION",
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_PID",
        "GEMINI_CLI",
        "QWEN_CODE",
        "OPENCODE",
        "OPENCODE_PID",
        "PI_CODING_AGENT",
        "COPILOT_CLI",
        "CODEX_CI",
        "CODEX_THREAD_ID",
        "CODEX_SESSION_ID",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "QWEN_CODE_SESSION_ID",
        "COPILOT_AGENT_SESSION_ID",
        "HERDR_ENV",
    ];
    const PREFIXES: &[&str] = &[
        "ORCA_",
        "TERM_PROGRAM",
        "TERM_SESSION",
        "TMUX",
        "ZELLIJ",
        "KITTY_",
        "WEZTERM_",
        "ITERM_",
        "ALACRITTY_",
        "KONSOLE_",
        "GHOSTTY_",
        "VSCODE_",
        "TERMINATOR_",
        "CMUX_",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a program of this name can be started: a path that is there, or found in `search_path`.
pub fn find_program(name: &str, search_path: &OsString, cwd: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return Some(cwd.join(name)).filter(is_program);
    }
    std::env::split_paths(search_path).map(|dir| cwd.join(dir).join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_directory_follows_the_documented_order() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            let environment = Environment::from_pairs(pairs.iter().copied(), "/cwd");
            assert_eq!(environment.state_dir(1).root(), Path::new(expected), "{pairs:?}");
        };
        check(&[("HOME", "/h")], "/h/.local/state/orca");
        check(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")], "/x/orca");
        check(&[("HOME", "/h"), ("XDG_STATE_HOME", "relative")], "/h/.local/state/orca");
        check(&[("ORCA_USER_DATA_PATH", "/u"), ("XDG_STATE_HOME", "/x")], "/u");
        check(&[("ORCA_HOME", "/o"), ("ORCA_USER_DATA_PATH", "/u")], "/o");
        check(&[("ORCA_HOME", "rel")], "/cwd/rel");
        check(&[("ORCA_HOME", ""), ("HOME", "/h")], "/h/.local/state/orca");
        check(&[], "/.local/state/orca");
    }

    #[test]
    fn aliases_and_switches() {
        let environment = Environment::from_pairs(
            [
                ("ORCA_PANE_KEY", "t:l"),
                ("ORCA_HEARTBEAT_INTERVAL_MS", "5"),
                ("ORCA_NO_AUTOSTART", "0"),
                ("ORCA_LOG", "1"),
                ("EDITOR", "vi"),
                ("ORCA_CLI_CWD", "sub"),
            ],
            "/w",
        );
        assert_eq!(environment.pane_key.as_deref(), Some("t:l"));
        assert_eq!(environment.keepalive_interval_ms, Some(50));
        assert!(!environment.is_autostart_off && environment.is_log_wanted);
        assert_eq!(environment.editor.as_deref(), Some("vi"));
        assert_eq!(environment.cwd, Path::new("/w/sub"));
    }

    #[test]
    fn a_bare_environment_asks_the_user_database() {
        let mut environment = Environment::build(BTreeMap::new(), PathBuf::from("/"));
        environment.fill_from_users("root:x:0:0::/root:/bin/bash\na:x:7:7::/home/a:/bin/zsh\n", 7);
        assert_eq!((environment.home.to_str(), environment.shell.as_str()), (Some("/home/a"), "/bin/zsh"));
    }

    #[test]
    fn panes_do_not_inherit_who_the_server_was() {
        for name in ["TMUX_PANE", "ORCA_TERMINAL_HANDLE", "TERM_PROGRAM_VERSION", "CLAUDECODE", "TERM"] {
            assert!(is_private_to_host(name), "{name}");
        }
        for name in ["PATH", "HOME", "SSH_AUTH_SOCK", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "LANG"] {
            assert!(!is_private_to_host(name), "{name}");
        }
    }

    #[test]
    fn programs_are_found_where_a_shell_would() {
        let here = PathBuf::from("/");
        assert_eq!(
            find_program("sh", &OsString::from("/nowhere:/bin"), &here),
            Some(PathBuf::from("/bin/sh"))
        );
        assert_eq!(find_program("bin/sh", &OsString::new(), &here), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("no-such-thing", &OsString::from("/bin"), &here), None);
    }
}
