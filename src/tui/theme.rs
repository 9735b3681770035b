//! Roles and their looks. Screens name a role, never a colour, and never say anything by colour
//! alone: each state also has a glyph and a word.

use super::copy::Mark;
use crate::config::Theme as Setting;
use ratatui::style::{Color, Modifier, Style};

/// What a piece of our own screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Text,
    /// Read second: ages, ids, hints.
    Quiet,
    /// Section headings.
    Heading,
    /// The focused pane's frame, the selected tab.
    Focus,
    /// Frames that are not focused.
    Frame,
    /// The row under the cursor.
    Selected,
    /// Waits for the person.
    Attention,
    Running,
    Good,
    Bad,
    /// A key that can be pressed now.
    Key,
    /// The prefix or scroll mode is on.
    Mode,
}

/// The looks of all roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    is_coloured: bool,
}

impl Theme {
    /// The theme of the settings (`NO_COLOR` was resolved there). The host's own 16 colours are
    /// used, so one theme suits dark and light hosts alike.
    pub fn new(setting: Setting) -> Self {
        let is_coloured = match setting {
            Setting::Auto | Setting::Dark | Setting::Light => true,
            Setting::Plain => false,
        };
        Self { is_coloured }
    }

    /// The look of a cell of copy mode. The current match differs from the others and from the selection
    /// without colours too.
    pub fn marked(self, style: Style, mark: Mark) -> Style {
        let plain = style.remove_modifier(Modifier::REVERSED);
        match mark {
            Mark::Selected => style.add_modifier(Modifier::REVERSED),
            Mark::Match if self.is_coloured => plain.fg(Color::Black).bg(Color::Yellow),
            Mark::CurrentMatch if self.is_coloured => {
                plain.fg(Color::Black).bg(Color::LightGreen).add_modifier(Modifier::BOLD)
            }
            Mark::Match => style.add_modifier(Modifier::UNDERLINED),
            Mark::CurrentMatch => style.add_modifier(Modifier::REVERSED.union(Modifier::BOLD)),
        }
    }

    /// The look of a role.
    pub fn style(self, role: Role) -> Style {
        let (color, modifier) = match role {
            Role::Text => (None, Modifier::empty()),
            Role::Quiet | Role::Frame => (None, Modifier::DIM),
            Role::Heading => (None, Modifier::BOLD),
            Role::Focus => (Some(Color::Cyan), Modifier::BOLD),
            Role::Selected => (None, Modifier::REVERSED),
            Role::Attention => (Some(Color::Yellow), Modifier::BOLD),
            Role::Running => (Some(Color::Blue), Modifier::empty()),
            Role::Good => (Some(Color::Green), Modifier::empty()),
            Role::Bad => (Some(Color::Red), Modifier::BOLD),
            Role::Key => (Some(Color::Cyan), Modifier::empty()),
            Role::Mode => (Some(Color::Yellow), Modifier::BOLD.union(Modifier::REVERSED)),
        };
        let style = Style::default().add_modifier(modifier);
        match color {
            Some(color) if self.is_coloured => style.fg(color),
            Some(_) | None => style,
        }
    }
}
