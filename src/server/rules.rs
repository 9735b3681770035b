//! The settings as the rules in `ops` want them: files read once, at the start.

use super::boot;
use crate::agent::Presets;
use crate::base::path::StateDir;
use crate::base::report::log;
use crate::config::env::Environment;
use crate::config::{Config, Permission};
use crate::ops::cx::{AgentWishes, Rules};
use std::path::Path;
use std::sync::Arc;

/// Reads the user's settings file. A line that cannot be used costs only itself.
pub fn read_config(environment: &Environment) -> Config {
    let text = std::fs::read_to_string(environment.config_file()).unwrap_or_default();
    let (config, diagnostics) = Config::resolve(&text, environment);
    for diagnostic in diagnostics {
        log(format_args!("config.toml: {diagnostic}"));
    }
    config
}

/// The rules of a server, from its settings and the user's preset files.
pub fn resolve(dir: &StateDir, environment: &Environment, config: &Config) -> Rules {
    let presets = Presets::with_user_files(&user_files(&environment.agents_dir()));
    for error in presets.bad_files() {
        log(format_args!("agent preset: {error}"));
    }
    let agent_wishes = config.agents.iter().map(|(id, settings)| {
        let wishes = AgentWishes {
            is_disabled: !settings.is_enabled,
            args: settings.args.clone(),
            is_auto_permission: settings.permission.map(|permission| permission == Permission::Auto),
        };
        (id.clone(), wishes)
    });
    Rules {
        max_depth: config.nested_depth_limit,
        default_agent: Some(config.default_agent.clone()).filter(|agent| !agent.is_empty()),
        orca_path: boot::own_path().display().to_string(),
        state_dir: dir.root().display().to_string(),
        terminal_env: terminal_env(config),
        shell: config.shell.clone(),
        agents: Arc::new(presets),
        agent_wishes: agent_wishes.collect(),
        is_auto_permission: config.permission == Permission::Auto,
        is_nudge_on: config.is_nudge_on,
    }
}

fn terminal_env(config: &Config) -> Vec<(String, String)> {
    let terminal = &config.terminal;
    [("TERM", &terminal.term), ("COLORTERM", &terminal.colorterm), ("TERM_PROGRAM", &terminal.term_program)]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

/// Name without ending and text of each `*.toml` in `dir`, by name.
fn user_files(dir: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<(String, String)> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| {
            let id = path.file_stem()?.to_str()?.to_owned();
            Some((id, std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    files.sort();
    files
}
