//! The user's `config.toml`: each setting read by itself, so that one bad line costs only itself.
//!
//! A key that nobody knows is reported with the nearest one that exists; it stops nothing.

use super::{
    AgentSettings, ClearHistory, Clipboard, ClipboardRoute, Config, KeySetting, ModeKeys, Permission, Theme,
};
use crate::base::text::{cut_chars, one_line};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One line of the file that was not used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Counted from 1.
    pub line: usize,
    /// A full sentence.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Reads the file's text over the defaults. Never fails; what could not be used is in the list.
pub fn read(text: &str) -> (Config, Vec<Diagnostic>) {
    let (config, report) = read_all(text);
    let mut diagnostics = report.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    (config, diagnostics)
}

/// Every setting that exists, as `section.key`, agents and keys aside.
pub fn known_keys() -> Vec<String> {
    read_all("").1.known
}

fn read_all(text: &str) -> (Config, Report<'_>) {
    let mut report = Report { text, diagnostics: Vec::new(), known: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let start = error.span().map_or(0, |span| span.start);
        report.say(start, format!("This is not valid TOML: {}.", one_line(error.message())));
    }
    let mut config = Config::default();
    let table = table.into_inner();
    let mut top = Section::new("", Some(&table), &mut report);
    top.read("shell", &mut config.shell, text_value);
    top.read("default_agent", &mut config.default_agent, name_value);
    top.read("permission", &mut config.permission, permission_value);
    top.read("nested_depth_limit", &mut config.nested_depth_limit, |v| number(v, 1, 8));
    top.read("idle_nudge", &mut config.is_nudge_on, bool_value);
    let [terminal, worktrees, screen, clipboard, agents, keys] =
        ["terminal", "worktrees", "screen", "clipboard", "agents", "keys"].map(|name| top.table(name));
    top.finish();
    read_terminal(&mut config, Section::new("terminal", terminal, &mut report));
    read_worktrees(&mut config, Section::new("worktrees", worktrees, &mut report));
    read_screen(&mut config, Section::new("screen", screen, &mut report));
    read_clipboard(&mut config, Section::new("clipboard", clipboard, &mut report));
    read_agents(&mut config, agents, &mut report);
    read_keys(&mut config, keys, &mut report);
    (config, report)
}

fn read_terminal(config: &mut Config, mut section: Section<'_, '_, '_>) {
    let to = &mut config.terminal;
    section.read("scrollback_lines", &mut to.scrollback_lines, |v| number(v, 0, 1_000_000));
    section.read("term", &mut to.term, name_value);
    section.read("colorterm", &mut to.colorterm, text_value);
    section.read("term_program", &mut to.term_program, text_value);
    section.read("clipboard", &mut to.clipboard, |v| choice(v, Clipboard::WORDS, Clipboard::from_word));
    let words = ClearHistory::WORDS;
    section.read("clear_history", &mut to.clear_history, |v| choice(v, words, ClearHistory::from_word));
    section.finish();
}

fn read_worktrees(config: &mut Config, mut section: Section<'_, '_, '_>) {
    let to = &mut config.worktrees;
    section.read("root", &mut to.root, name_value);
    section.read("layout", &mut to.layout, layout_value);
    section.read("branch_prefix", &mut to.branch_prefix, name_value);
    section.finish();
}

fn read_screen(config: &mut Config, mut section: Section<'_, '_, '_>) {
    let to = &mut config.screen;
    section.read("prefix", &mut to.prefix, name_value);
    section.read("mouse", &mut to.is_mouse_on, bool_value);
    section.read("sidebar_width", &mut to.sidebar_width, |v| number(v, 0, 200));
    section.read("theme", &mut to.theme, |v| choice(v, Theme::WORDS, Theme::from_word));
    section.read("mode_keys", &mut to.mode_keys, |v| choice(v, ModeKeys::WORDS, ModeKeys::from_word));
    section.finish();
}

fn read_clipboard(config: &mut Config, mut section: Section<'_, '_, '_>) {
    let to = &mut config.clipboard;
    section.read("route", &mut to.route, |v| choice(v, ClipboardRoute::WORDS, ClipboardRoute::from_word));
    section.read("command", &mut to.command, list_value);
    section.finish();
}

fn read_agents(config: &mut Config, agents: Option<&DeTable<'_>>, report: &mut Report<'_>) {
    for (id, value) in agents.into_iter().flatten() {
        let name = format!("agents.{}", one_line(id.get_ref()));
        let Some(table) = value.get_ref().as_table() else {
            report.say(value.span().start, format!("{name} must be a section, [{name}]."));
            continue;
        };
        let mut to = AgentSettings::default();
        let n_known = report.known.len();
        let mut section = Section::new(&name, Some(table), report);
        section.read("enabled", &mut to.is_enabled, bool_value);
        section.read("args", &mut to.args, list_value);
        section.read("permission", &mut to.permission, |v| permission_value(v).map(Some));
        section.finish();
        report.known.truncate(n_known);
        config.agents.insert(id.get_ref().to_string(), to);
    }
}

fn read_keys(config: &mut Config, keys: Option<&DeTable<'_>>, report: &mut Report<'_>) {
    for (action, value) in keys.into_iter().flatten() {
        let line = report.line(action.span().start);
        let keys = match value.get_ref() {
            DeValue::String(key) if key.is_empty() => Ok(Vec::new()),
            DeValue::String(key) => Ok(vec![key.to_string()]),
            _ => list_value(value.get_ref()),
        };
        match keys {
            Ok(keys) => config.keys.push(KeySetting { action: action.get_ref().to_string(), keys, line }),
            Err(why) => {
                report.say(value.span().start, format!("keys.{} {why}.", one_line(action.get_ref())));
            }
        }
    }
}

/// What was found out while reading.
struct Report<'t> {
    text: &'t str,
    diagnostics: Vec<Diagnostic>,
    known: Vec<String>,
}

impl Report<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
    }

    fn say(&mut self, at: usize, message: String) {
        let line = self.line(at);
        self.diagnostics.push(Diagnostic { line, message });
    }
}

/// One table of the file while it is read.
struct Section<'a, 'r, 't> {
    name: String,
    table: Option<&'a DeTable<'a>>,
    report: &'r mut Report<'t>,
    known: Vec<&'static str>,
}

impl<'a, 'r, 't> Section<'a, 'r, 't> {
    fn new(name: &str, table: Option<&'a DeTable<'a>>, report: &'r mut Report<'t>) -> Self {
        Self { name: name.to_owned(), table, report, known: Vec::new() }
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Puts the value of `key` into `to`, or says why it does not fit and leaves `to` alone.
    fn read<T>(&mut self, key: &'static str, to: &mut T, parse: impl Fn(&DeValue<'_>) -> Result<T, String>) {
        self.known.push(key);
        self.report.known.push(self.path(key));
        let Some(value) = self.table.and_then(|table| table.get(key)) else { return };
        match parse(value.get_ref()) {
            Ok(value) => *to = value,
            Err(why) => {
                let message = format!("{} {why}; the default stays.", self.path(key));
                self.report.say(value.span().start, message);
            }
        }
    }

    fn table(&mut self, key: &'static str) -> Option<&'a DeTable<'a>> {
        self.known.push(key);
        let value = self.table?.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.report.say(value.span().start, format!("{key} must be a section, [{key}]."));
        }
        table
    }

    /// Reports the keys that nobody asked for.
    fn finish(self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name: &Spanned<_> = key;
            let word = name.get_ref().to_string();
            if self.known.contains(&word.as_str()) {
                continue;
            }
            let mut message = format!("{} is not a setting", cut_chars(&one_line(&self.path(&word)), 80));
            if let Some(near) = nearest(&word, &self.known) {
                message.push_str(&format!("; did you mean {near}?"));
            } else {
                message.push('.');
            }
            self.report.say(name.span().start, message);
        }
    }
}

fn text_value(value: &DeValue<'_>) -> Result<String, String> {
    let text = value.as_str().ok_or("must be text in quotes")?;
    if text.chars().any(char::is_control) {
        return Err(String::from("has a control character in it"));
    }
    Ok(text.to_owned())
}

fn name_value(value: &DeValue<'_>) -> Result<String, String> {
    let text = text_value(value)?;
    if text.trim().is_empty() { Err(String::from("must not be empty")) } else { Ok(text) }
}

fn layout_value(value: &DeValue<'_>) -> Result<String, String> {
    let text = name_value(value)?;
    if matches!(text.as_str(), "by-repo" | "flat") || text.contains("{name}") || text.contains("{branch}") {
        Ok(text)
    } else {
        Err(String::from("must be by-repo, flat, or a path with {name} or {branch} in it"))
    }
}

fn permission_value(value: &DeValue<'_>) -> Result<Permission, String> {
    choice(value, Permission::WORDS, Permission::from_word)
}

fn choice<T>(value: &DeValue<'_>, words: &[&str], parse: fn(&str) -> Option<T>) -> Result<T, String> {
    value.as_str().and_then(parse).ok_or_else(|| format!("must be one of {}", words.join(", ")))
}

fn bool_value(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| String::from("must be true or false"))
}

fn number<T: TryFrom<i64>>(value: &DeValue<'_>, min: i64, max: i64) -> Result<T, String> {
    let parsed = value.as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
    parsed
        .filter(|n| (min..=max).contains(n))
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| format!("must be a whole number from {min} to {max}"))
}

fn list_value(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or("must be a list of texts")?;
    list.iter().map(|item| text_value(item.get_ref())).collect()
}

/// The known word that is closest, where one is close enough to be what was meant.
fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    let best = known.iter().map(|other| (distance(word, other), *other)).min()?;
    (best.0 <= (word.chars().count() / 2).clamp(1, 4)).then_some(best.1)
}

/// The number of letters to change, add or drop to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named_and_the_good_ones_apply() {
        let text = r#"
default_agent = "codex"
shel = "/bin/zsh"
nested_depth_limit = 99

[terminal]
scrollback_lines = "many"
clipboard = "off"

[screen]
theme = "purple"
sidebar_widht = 20
prefix = "ctrl+a"

[nonsense]
x = 1
"#;
        let (config, diagnostics) = read(text);
        assert_eq!(config.default_agent, "codex");
        assert_eq!((config.nested_depth_limit, config.terminal.scrollback_lines), (1, 10_000));
        assert_eq!((config.terminal.clipboard, config.screen.theme), (Clipboard::Off, Theme::Auto));
        assert_eq!(config.screen.prefix, "ctrl+a");
        let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "line 3: shel is not a setting; did you mean shell?",
                "line 4: nested_depth_limit must be a whole number from 1 to 8; the default stays.",
                "line 7: terminal.scrollback_lines must be a whole number from 0 to 1000000; the default stays.",
                "line 11: screen.theme must be one of auto, dark, light, plain; the default stays.",
                "line 12: screen.sidebar_widht is not a setting; did you mean sidebar_width?",
                "line 15: nonsense is not a setting.",
            ]
        );
    }

    #[test]
    fn broken_syntax_costs_its_line_only() {
        let (config, diagnostics) = read("default_agent = \"pi\"\nshell = \n[screen]\nmouse = false\n");
        assert_eq!((config.default_agent.as_str(), config.screen.is_mouse_on), ("pi", false));
        assert!(diagnostics.iter().any(|d| d.line == 2), "{diagnostics:?}");
    }

    #[test]
    fn agents_and_keys_keep_their_own_words() {
        let text = "[agents.claude]\nargs = [\"--model\", \"opus\"]\npermission = \"auto\"\n\
                    [agents.aider]\nenabled = false\n[keys]\nnext_attention = [\"n\", \"alt+n\"]\nquit = \"\"\nbad = 3\n";
        let (config, diagnostics) = read(text);
        assert_eq!(config.agent("claude").args, ["--model", "opus"]);
        assert_eq!(config.permission_of("claude"), Permission::Auto);
        assert_eq!(config.permission_of("codex"), Permission::Manual);
        assert!(!config.agent("aider").is_enabled && config.agent("codex").is_enabled);
        assert_eq!(config.keys.len(), 2);
        assert_eq!((config.keys[0].keys.len(), config.keys[0].line), (2, 7));
        assert!(config.keys[1].keys.is_empty());
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert_eq!(diagnostics[0].line, 9);
    }

    #[test]
    fn hostile_files_end_in_a_list_of_complaints() {
        for text in ["\0\0\0", "= = =", "[[[[", &"a=".repeat(10_000), "shell = \"\u{1b}[2J\""] {
            let (config, diagnostics) = read(text);
            assert_eq!(config, Config::default());
            assert!(!diagnostics.is_empty());
        }
    }
}
