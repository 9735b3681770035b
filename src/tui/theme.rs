//! Roles and their looks. Screens name a role, never a colour, and never say anything by colour
//! alone: each state also has a glyph and a word.

use super::copy::Mark;
use crate::config::Theme as Setting;
use crate::proto::screen::HostFacts;
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
    /// The colour that a repository gave one of its tabs: red, green, blue.
    Tab(u8, u8, u8),
}

/// What our own screen is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Dark,
    Light,
}

/// The looks of all roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// None without colours.
    ground: Option<Ground>,
}

impl Theme {
    /// The theme of the settings (`NO_COLOR` was resolved there), on a host that said this of itself. The
    /// host's own 16 colours are used: of those, the ones that can be read on its background.
    pub fn new(setting: Setting, host: &HostFacts) -> Self {
        let ground = match setting {
            Setting::Auto => Some(ground_of(host)),
            Setting::Dark => Some(Ground::Dark),
            Setting::Light => Some(Ground::Light),
            Setting::Plain => None,
        };
        Self { ground }
    }

    /// The look of a cell of copy mode. The current match differs from the others and from the selection
    /// without colours too.
    pub fn marked(self, style: Style, mark: Mark) -> Style {
        let plain = style.remove_modifier(Modifier::REVERSED);
        match mark {
            Mark::Selected => style.add_modifier(Modifier::REVERSED),
            Mark::Match if self.ground.is_some() => plain.fg(Color::Black).bg(Color::Yellow),
            Mark::CurrentMatch if self.ground.is_some() => {
                plain.fg(Color::Black).bg(Color::LightGreen).add_modifier(Modifier::BOLD)
            }
            Mark::Match => style.add_modifier(Modifier::UNDERLINED),
            Mark::CurrentMatch => style.add_modifier(Modifier::REVERSED.union(Modifier::BOLD)),
        }
    }

    /// The look of a role.
    pub fn style(self, role: Role) -> Style {
        let modifier = match role {
            Role::Text | Role::Running | Role::Good | Role::Key | Role::Tab(..) => Modifier::empty(),
            Role::Quiet | Role::Frame => Modifier::DIM,
            Role::Heading | Role::Focus | Role::Attention | Role::Bad => Modifier::BOLD,
            Role::Selected => Modifier::REVERSED,
            Role::Mode => Modifier::BOLD.union(Modifier::REVERSED),
        };
        let style = Style::default().add_modifier(modifier);
        match self.ground.and_then(|ground| color(ground, role)) {
            Some(color) => style.fg(color),
            None => style,
        }
    }
}

/// Of the 16 colours the common palettes make blue too dark for a dark ground, and yellow, green and cyan
/// too bright for a light one.
fn color(ground: Ground, role: Role) -> Option<Color> {
    let (on_dark, on_light) = match role {
        Role::Text | Role::Quiet | Role::Frame | Role::Heading | Role::Selected => return None,
        Role::Focus | Role::Key => (Color::Cyan, Some(Color::Blue)),
        Role::Attention | Role::Mode => (Color::Yellow, Some(Color::Magenta)),
        Role::Running => (Color::Cyan, Some(Color::Blue)),
        Role::Good => (Color::Green, None),
        Role::Bad => (Color::LightRed, Some(Color::Red)),
        Role::Tab(red, green, blue) => (Color::Rgb(red, green, blue), Some(Color::Rgb(red, green, blue))),
    };
    match ground {
        Ground::Dark => Some(on_dark),
        Ground::Light => on_light,
    }
}

/// The background says more than the scheme that the host is set to. Where neither is known it is dark, as
/// most are.
fn ground_of(host: &HostFacts) -> Ground {
    let is_bright = |(red, green, blue): (u8, u8, u8)| {
        // The weights of ITU-R BT.601, in thousandths.
        299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) > 127_500
    };
    let is_light = host.background.map(is_bright).or(host.is_dark.map(|is_dark| !is_dark));
    if is_light == Some(true) { Ground::Light } else { Ground::Dark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_setting_and_an_automatic_one_follows_the_host() {
        let host = |background, is_dark| HostFacts { background, is_dark, ..HostFacts::default() };
        let (white, black) = (Some((255, 255, 255)), Some((0, 0, 0)));
        for (setting, host, attention) in [
            (Setting::Dark, host(white, None), Some(Color::Yellow)),
            (Setting::Light, host(black, None), Some(Color::Magenta)),
            (Setting::Plain, host(white, None), None),
            (Setting::Auto, host(None, None), Some(Color::Yellow)),
            (Setting::Auto, host(None, Some(false)), Some(Color::Magenta)),
            (Setting::Auto, host(white, Some(true)), Some(Color::Magenta)),
            (Setting::Auto, host(black, Some(false)), Some(Color::Yellow)),
        ] {
            let style = Theme::new(setting, &host).style(Role::Attention);
            assert_eq!(style.fg, attention, "{setting:?} {host:?}");
        }
    }

    #[test]
    fn no_role_has_a_colour_that_cannot_be_read_on_its_ground() {
        let roles =
            [Role::Focus, Role::Attention, Role::Running, Role::Good, Role::Bad, Role::Key, Role::Mode];
        for role in roles {
            assert_ne!(color(Ground::Dark, role), Some(Color::Blue), "{role:?}");
            let bright = [Color::Yellow, Color::Cyan, Color::Green, Color::White].map(Some);
            assert!(!bright.contains(&color(Ground::Light, role)), "{role:?}");
        }
    }
}
