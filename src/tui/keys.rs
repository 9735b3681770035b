//! The keys: default bindings by scope, the user's changes, and their printed form. Help, palette
//! and README are made from this table.
//!
//! Only the prefix is taken from programs; everything else follows it or belongs to a screen of
//! ours. A character is matched as it was produced, whatever modifier the layout needed for it.

use super::action::Action;
use super::copy::order;
use crate::base::input::{Key, KeyEvent, Mods};
use crate::config::{Config, ModeKeys};

/// Where a binding is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// After the prefix, everywhere.
    Prefix,
    /// With the keyboard in the sidebar.
    Sidebar,
    /// In the inbox, while no answer is being written.
    Inbox,
    /// In the other screens: task detail, gates, help.
    List,
    /// Where a yes is asked for.
    Confirm,
}

impl Scope {
    /// Every scope with its heading in the help.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::Prefix, "After the prefix"),
        (Self::Inbox, "Inbox"),
        (Self::Sidebar, "Sidebar"),
        (Self::List, "Task, gates, help"),
        (Self::Confirm, "Asked for a yes"),
    ];
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord {
    pub key: Key,
    pub mods: Mods,
}

impl Chord {
    /// Reads `ctrl+b`, `alt+enter`, `pageup`, `%`. Nothing else is a chord.
    pub fn parse(text: &str) -> Option<Self> {
        let mut mods = Mods::NONE;
        let mut rest = text;
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "ctrl" => mods.is_ctrl = true,
                "alt" => mods.is_alt = true,
                "shift" => mods.is_shift = true,
                "super" => mods.is_super = true,
                _ => return None,
            }
            rest = after;
        }
        let mut chars = rest.chars();
        let key = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() => Key::Char(c),
            _ => named_key(&rest.to_ascii_lowercase())?,
        };
        Some(Self { key, mods })
    }

    /// The chord as people read it: `Ctrl-b`, `PgUp`.
    pub fn label(self) -> String {
        let mut label = String::new();
        for (is_held, word) in [
            (self.mods.is_ctrl, "Ctrl-"),
            (self.mods.is_alt, "Alt-"),
            (self.mods.is_shift, "Shift-"),
            (self.mods.is_super, "Super-"),
        ] {
            if is_held {
                label.push_str(word);
            }
        }
        label.push_str(&match self.key {
            Key::Char(' ') => String::from("Space"),
            Key::Char(c) => c.to_string(),
            Key::F(number) => format!("F{number}"),
            key => {
                key_names().iter().find(|(_, known, _)| *known == key).map_or("?", |found| found.2).to_owned()
            }
        });
        label
    }

    /// Whether a typed key is this chord. Shift is part of a character, not a modifier of it.
    pub fn is_typed(self, event: &KeyEvent) -> bool {
        let (mut wanted, mut held) = (self, Self { key: event.key, mods: event.mods });
        for chord in [&mut wanted, &mut held] {
            if let Key::Char(c) = chord.key {
                if chord.mods.is_shift && (chord.mods.is_ctrl || chord.mods.is_alt) {
                    chord.key = Key::Char(c.to_ascii_uppercase());
                }
                chord.mods.is_shift = false;
            }
        }
        wanted == held
    }
}

fn key_names() -> &'static [(&'static str, Key, &'static str)] {
    &[
        ("enter", Key::Enter, "Enter"),
        ("tab", Key::Tab, "Tab"),
        ("backtab", Key::BackTab, "Shift-Tab"),
        ("backspace", Key::Backspace, "Backspace"),
        ("esc", Key::Esc, "Esc"),
        ("left", Key::Left, "←"),
        ("right", Key::Right, "→"),
        ("up", Key::Up, "↑"),
        ("down", Key::Down, "↓"),
        ("home", Key::Home, "Home"),
        ("end", Key::End, "End"),
        ("pageup", Key::PageUp, "PgUp"),
        ("pagedown", Key::PageDown, "PgDn"),
        ("insert", Key::Insert, "Ins"),
        ("delete", Key::Delete, "Del"),
        ("space", Key::Char(' '), "Space"),
        ("plus", Key::Char('+'), "+"),
    ]
}

fn named_key(name: &str) -> Option<Key> {
    let number = name.strip_prefix('f').and_then(|number| number.parse().ok());
    if let Some(number) = number.filter(|number| (1..=24).contains(number)) {
        return Some(Key::F(number));
    }
    key_names().iter().find(|(known, _, _)| *known == name).map(|(_, key, _)| *key)
}

/// The default bindings; in each scope the first chord of an action is the one shown.
pub const DEFAULTS: &[(Scope, &str, Action)] = &[
    (Scope::Prefix, "a", Action::NextAttention),
    (Scope::Prefix, "i", Action::Inbox),
    (Scope::Prefix, "s", Action::Sidebar),
    (Scope::Prefix, "w", Action::Sidebar),
    (Scope::Prefix, "b", Action::ToggleSidebar),
    (Scope::Prefix, "t", Action::TaskDetail),
    (Scope::Prefix, "g", Action::Gates),
    (Scope::Prefix, ":", Action::Palette),
    (Scope::Prefix, "?", Action::Help),
    (Scope::Prefix, "left", Action::FocusLeft),
    (Scope::Prefix, "down", Action::FocusDown),
    (Scope::Prefix, "up", Action::FocusUp),
    (Scope::Prefix, "right", Action::FocusRight),
    (Scope::Prefix, "o", Action::FocusNext),
    (Scope::Prefix, ";", Action::FocusLast),
    (Scope::Prefix, "z", Action::Zoom),
    (Scope::Prefix, "m", Action::CleanView),
    (Scope::Prefix, "[", Action::Scroll),
    (Scope::Prefix, "pageup", Action::ScrollPage),
    (Scope::Prefix, "]", Action::PasteCopied),
    (Scope::Prefix, "E", Action::EditHistory),
    (Scope::Prefix, "c", Action::NewShell),
    (Scope::Prefix, "%", Action::SplitRight),
    (Scope::Prefix, "\"", Action::SplitDown),
    (Scope::Prefix, "x", Action::ClosePane),
    (Scope::Prefix, "U", Action::MarkUnseen),
    (Scope::Prefix, "y", Action::CopyPath),
    (Scope::Prefix, "n", Action::NextTab),
    (Scope::Prefix, "p", Action::PreviousTab),
    (Scope::Prefix, "l", Action::LastTab),
    (Scope::Prefix, "0", Action::Tab0),
    (Scope::Prefix, "1", Action::Tab1),
    (Scope::Prefix, "2", Action::Tab2),
    (Scope::Prefix, "3", Action::Tab3),
    (Scope::Prefix, "4", Action::Tab4),
    (Scope::Prefix, "5", Action::Tab5),
    (Scope::Prefix, "6", Action::Tab6),
    (Scope::Prefix, "7", Action::Tab7),
    (Scope::Prefix, "8", Action::Tab8),
    (Scope::Prefix, "9", Action::Tab9),
    (Scope::Prefix, "enter", Action::SendShiftEnter),
    (Scope::Prefix, "r", Action::Redraw),
    (Scope::Prefix, "d", Action::Detach),
    (Scope::Inbox, "up", Action::Up),
    (Scope::Inbox, "k", Action::Up),
    (Scope::Inbox, "down", Action::Down),
    (Scope::Inbox, "j", Action::Down),
    (Scope::Inbox, "tab", Action::Down),
    (Scope::Inbox, "e", Action::Edit),
    (Scope::Inbox, "enter", Action::Edit),
    (Scope::Inbox, "g", Action::GoToPane),
    (Scope::Inbox, "x", Action::PutAway),
    (Scope::Inbox, "pageup", Action::PageUp),
    (Scope::Inbox, "pagedown", Action::PageDown),
    (Scope::Inbox, "esc", Action::Close),
    (Scope::Inbox, "q", Action::Close),
    (Scope::Sidebar, "up", Action::Up),
    (Scope::Sidebar, "k", Action::Up),
    (Scope::Sidebar, "down", Action::Down),
    (Scope::Sidebar, "j", Action::Down),
    (Scope::Sidebar, "home", Action::Top),
    (Scope::Sidebar, "end", Action::Bottom),
    (Scope::Sidebar, "enter", Action::Open),
    (Scope::Sidebar, "g", Action::GoToPane),
    (Scope::Sidebar, "right", Action::GoToPane),
    (Scope::Sidebar, "esc", Action::Close),
    (Scope::Sidebar, "q", Action::Close),
    (Scope::List, "up", Action::Up),
    (Scope::List, "k", Action::Up),
    (Scope::List, "down", Action::Down),
    (Scope::List, "j", Action::Down),
    (Scope::List, "pageup", Action::PageUp),
    (Scope::List, "pagedown", Action::PageDown),
    (Scope::List, "space", Action::PageDown),
    (Scope::List, "home", Action::Top),
    (Scope::List, "end", Action::Bottom),
    (Scope::List, "enter", Action::Open),
    (Scope::List, "g", Action::GoToPane),
    (Scope::List, "esc", Action::Close),
    (Scope::List, "q", Action::Close),
    (Scope::Confirm, "y", Action::Confirm),
    (Scope::Confirm, "enter", Action::Confirm),
    (Scope::Confirm, "n", Action::Close),
    (Scope::Confirm, "esc", Action::Close),
];

/// The bindings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Keys {
    pub prefix: Chord,
    mode_keys: ModeKeys,
    rows: Vec<(Scope, Chord, Action)>,
}

impl Keys {
    /// The defaults with the user's changes, and a sentence for each line that does not apply. A
    /// line of `[keys]` changes the keys after the prefix; everything that is right applies.
    pub fn new(config: &Config) -> (Self, Vec<String>) {
        let mut faults = Vec::new();
        let default_prefix = Chord { key: Key::Char('b'), mods: Mods { is_ctrl: true, ..Mods::NONE } };
        let prefix = Chord::parse(&config.screen.prefix).unwrap_or_else(|| {
            faults.push(format!("screen.prefix: {:?} is not a key; Ctrl-b stays.", config.screen.prefix));
            default_prefix
        });
        let defaults = DEFAULTS.iter().filter_map(|(scope, keys, action)| {
            // The prefix is never hidden by a binding of a single screen.
            Chord::parse(keys).filter(|chord| *chord != prefix).map(|chord| (*scope, chord, *action))
        });
        let mut rows: Vec<_> = defaults.collect();
        rows.push((Scope::Prefix, prefix, Action::SendPrefix));
        for setting in &config.keys {
            let at = format!("line {}: keys.{}", setting.line, setting.action);
            let Some(action) = Action::from_name(&setting.action) else {
                faults.push(format!("{at} is not an action; press the prefix and ? for their list."));
                continue;
            };
            rows.retain(|(scope, _, bound)| *scope != Scope::Prefix || *bound != action);
            for text in &setting.keys {
                let Some(chord) = Chord::parse(text) else {
                    faults.push(format!("{at}: {text:?} is not a key."));
                    continue;
                };
                let taken =
                    rows.iter().position(|(scope, known, _)| *scope == Scope::Prefix && *known == chord);
                match taken.and_then(|index| rows.get(index).map(|row| (index, row.2))) {
                    Some((_, other)) if config.keys.iter().any(|line| line.action == other.name()) => {
                        faults.push(format!("{at}: {text:?} is already {}.", other.name()));
                        continue;
                    }
                    Some((index, _)) => drop(rows.remove(index)),
                    None => {}
                }
                rows.push((Scope::Prefix, chord, action));
            }
        }
        (Self { prefix, mode_keys: config.screen.mode_keys, rows }, faults)
    }

    /// The action of a typed key.
    pub fn action(&self, scope: Scope, event: &KeyEvent) -> Option<Action> {
        self.rows.iter().find(|(at, chord, _)| *at == scope && chord.is_typed(event)).map(|row| row.2)
    }

    /// The keys of an action in a scope, as people read them, without the prefix.
    pub fn labels(&self, scope: Scope, action: Action) -> Vec<String> {
        let rows = self.rows.iter().filter(|(at, _, bound)| *at == scope && *bound == action);
        rows.map(|(_, chord, _)| chord.label()).collect()
    }

    /// The first key of an action after the prefix, with the prefix: `Ctrl-b i`.
    pub fn hint(&self, action: Action) -> String {
        let label = self.labels(Scope::Prefix, action).into_iter().next();
        label.map_or_else(|| action.name().to_owned(), |label| format!("{} {label}", self.prefix.label()))
    }

    /// The help: one heading per scope, one row per action, in the order of [`Action::ALL`].
    pub fn table(&self) -> Vec<(&'static str, Vec<(String, &'static str)>)> {
        let section = |scope: Scope| -> Vec<(String, &'static str)> {
            let mut rows = Vec::new();
            for action in Action::ALL.iter().copied().filter(|action| action.tab_number().is_none()) {
                let labels = self.labels(scope, action);
                if !labels.is_empty() {
                    rows.push((labels.join(" "), action.text()));
                }
            }
            if scope == Scope::Prefix {
                rows.push((String::from("0…9"), "the tab with that number"));
            }
            if scope == Scope::Inbox {
                rows.push((String::from("1…9"), "answer with that option"));
            }
            rows
        };
        let screens = Scope::ALL.iter().map(|(scope, heading)| (*heading, section(*scope)));
        screens.chain([(mode_heading(self.mode_keys), order::table(self.mode_keys))]).collect()
    }

    /// The README's table of the default keys.
    pub fn markdown() -> String {
        let (keys, _) = Self::new(&Config::default());
        let mut text = String::new();
        let emacs = (mode_heading(ModeKeys::Emacs), order::table(ModeKeys::Emacs));
        for (heading, rows) in keys.table().into_iter().chain([emacs]) {
            text.push_str(&format!("| {heading} | |\n|---|---|\n"));
            for (labels, what) in rows {
                text.push_str(&format!("| `{labels}` | {what} |\n"));
            }
            text.push('\n');
        }
        text
    }
}

fn mode_heading(keys: ModeKeys) -> &'static str {
    match keys {
        ModeKeys::Vi => "Copy mode",
        ModeKeys::Emacs => "Copy mode with `mode_keys = \"emacs\"`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeySetting;

    fn typed(key: Key, mods: Mods) -> KeyEvent {
        KeyEvent::press(key, mods)
    }

    #[test]
    fn every_default_parses_and_no_scope_binds_a_key_twice() {
        for (index, (scope, text, _)) in DEFAULTS.iter().enumerate() {
            assert!(Chord::parse(text).is_some(), "{text}");
            let twice = DEFAULTS[..index].iter().any(|(other, known, _)| other == scope && known == text);
            assert!(!twice, "{scope:?} {text}");
        }
    }

    #[test]
    fn characters_match_as_produced_and_chords_by_their_modifiers() {
        let shift = Mods { is_shift: true, ..Mods::NONE };
        let (keys, faults) = Keys::new(&Config::default());
        assert!(faults.is_empty());
        assert_eq!(keys.action(Scope::Prefix, &typed(Key::Char('"'), shift)), Some(Action::SplitDown));
        assert_eq!(keys.action(Scope::Prefix, &typed(Key::Char('2'), Mods::NONE)), Some(Action::Tab2));
        assert_eq!(keys.action(Scope::Prefix, &typed(Key::Char('@'), shift)), None);
        assert!(keys.prefix.is_typed(&typed(Key::Char('b'), Mods { is_ctrl: true, ..Mods::NONE })));
        assert!(!keys.prefix.is_typed(&typed(Key::Char('b'), Mods::NONE)));
    }

    #[test]
    fn bad_lines_cost_only_themselves() {
        let line = |action: &str, keys: &[&str], line| KeySetting {
            action: action.into(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            line,
        };
        let config = Config {
            keys: vec![
                line("zoom", &["Z"], 1),
                line("fly", &["f"], 2),
                line("help", &["Z"], 3),
                line("inbox", &["ctrl+", "i"], 4),
            ],
            ..Config::default()
        };
        let (keys, faults) = Keys::new(&config);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[1].contains("line 3") && faults[1].contains("already zoom"), "{faults:?}");
        assert_eq!(keys.action(Scope::Prefix, &typed(Key::Char('Z'), Mods::NONE)), Some(Action::Zoom));
        assert_eq!(keys.action(Scope::Prefix, &typed(Key::Char('z'), Mods::NONE)), None);
        assert_eq!(keys.hint(Action::Inbox), "Ctrl-b i");
    }
}
