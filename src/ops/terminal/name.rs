//! What a terminal is called, and going to it: `rename`, `set-pane-title`, `switch`.

use super::{check_shown, target};
use crate::base::text;
use crate::model::event::{EventKind, Fact};
use crate::ops::cx::{Act, Answer, Cx};
use crate::ops::error::OpError;
use crate::ops::reply;
use crate::proto::terminal::{
    Focused, PaneTitled, Renamed, Switched, TerminalRename, TerminalSetPaneTitle, TerminalSwitch, Titled,
};

/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 120;

/// A title as it is kept: one line that can neither draw nor deceive; None where nothing is left.
pub(super) fn safe_title(title: &str) -> Option<String> {
    Some(text::cut_chars(&text::one_line(title), MAX_TITLE_CHARS)).filter(|title| !title.is_empty())
}

/// `terminal rename`.
pub fn rename(cx: &mut Cx<'_>, call: TerminalRename) -> Result<Answer, OpError> {
    reply(&Renamed { rename: set_title(cx, call.terminal.as_deref(), call.title.as_deref())? })
}

/// `terminal set-pane-title`. A terminal has one pane, so both verbs set the same title.
pub fn set_pane_title(cx: &mut Cx<'_>, call: TerminalSetPaneTitle) -> Result<Answer, OpError> {
    reply(&PaneTitled { pane_title: set_title(cx, call.terminal.as_deref(), call.title.as_deref())? })
}

fn set_title(cx: &mut Cx<'_>, flag: Option<&str>, title: Option<&str>) -> Result<Titled, OpError> {
    let mut terminal = target(cx, flag)?;
    let title = title.and_then(safe_title);
    if terminal.pane_title != title {
        terminal.pane_title = title;
        cx.tx.put(&terminal)?;
        let detail = match &terminal.pane_title {
            Some(title) => format!("is called {title}"),
            None => String::from("has its first name again"),
        };
        let mut fact = Fact::new(EventKind::TerminalRenamed, detail).of_terminal(&terminal.id);
        fact.run_id.clone_from(&terminal.run_id);
        cx.emit(fact)?;
    }
    Ok(Titled { handle: terminal.id, tab_id: terminal.tab_id, title: terminal.pane_title.or(terminal.title) })
}

/// `terminal switch`: the screens go there; nothing is stored.
pub fn switch(cx: &mut Cx<'_>, call: TerminalSwitch) -> Result<Answer, OpError> {
    let terminal = target(cx, call.terminal.as_deref())?;
    check_shown(&terminal)?;
    cx.act(Act::Focus { terminal: terminal.id.clone() });
    reply(&Switched {
        focus: Focused {
            handle: terminal.id,
            tab_id: terminal.tab_id,
            worktree_id: terminal.worktree_id,
            navigated: cx.world.has_screen(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::safe_title;

    #[test]
    fn a_title_is_one_harmless_line() {
        let check = |title: &str, expected: Option<&str>| {
            assert_eq!(safe_title(title).as_deref(), expected, "{title:?}");
        };
        check("build\u{1b}[2J\n log", Some("build[2J log"));
        check("\u{202e}evil\u{9b}31m", Some("evil31m"));
        check(" \u{200f}\t ", None);
        assert_eq!(safe_title(&"x".repeat(500)).unwrap().chars().count(), 120);
    }
}
