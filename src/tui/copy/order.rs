//! The keys of copy mode: what each asks for, in the hands of vi and of emacs, as tmux has them.
//!
//! Help and README are made from these tables.

use crate::base::input::KeyEvent;
use crate::config::ModeKeys;
use crate::tui::keys::Chord;

/// Which cell of its line a jump looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    pub is_backward: bool,
    /// It stops one cell before the character.
    pub is_till: bool,
}

/// What a key in copy mode asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Left,
    Right,
    Up,
    Down,
    /// To a word; a big one ends at blanks only.
    NextWord {
        is_big: bool,
    },
    PreviousWord {
        is_big: bool,
    },
    WordEnd {
        is_big: bool,
    },
    LineStart,
    LineText,
    LineEnd,
    ViewTop,
    ViewMiddle,
    ViewBottom,
    Top,
    Bottom,
    PreviousParagraph,
    NextParagraph,
    ScrollUp,
    ScrollDown,
    HalfUp,
    HalfDown,
    PageUp,
    PageDown,
    Jump(Jump),
    JumpAgain,
    JumpBack,
    PreviousPrompt,
    NextPrompt,
    SelectCells,
    SelectLines,
    SelectBlock,
    OtherEnd,
    Copy,
    Search {
        is_backward: bool,
    },
    SearchAgain,
    SearchBack,
    SearchWord {
        is_backward: bool,
    },
    GoToLine,
    SetMark,
    JumpToMark,
    /// Opens history in the editor; with a selection of vi's, to the end of the big word.
    Edit,
    /// Drops the selection, or leaves.
    Clear,
    Leave,
}

type Table = &'static [(&'static str, Order)];

const FIND: Order = Order::Jump(Jump { is_backward: false, is_till: false });
const FIND_BACK: Order = Order::Jump(Jump { is_backward: true, is_till: false });
const TILL: Order = Order::Jump(Jump { is_backward: false, is_till: true });
const TILL_BACK: Order = Order::Jump(Jump { is_backward: true, is_till: true });

const BOTH: Table = &[
    ("left", Order::Left),
    ("right", Order::Right),
    ("up", Order::Up),
    ("down", Order::Down),
    ("home", Order::LineStart),
    ("end", Order::LineEnd),
    ("pageup", Order::PageUp),
    ("pagedown", Order::PageDown),
    ("ctrl+up", Order::ScrollUp),
    ("ctrl+down", Order::ScrollDown),
    ("f", FIND),
    ("F", FIND_BACK),
    ("t", TILL),
    ("T", TILL_BACK),
    (";", Order::JumpAgain),
    (",", Order::JumpBack),
    ("[", Order::PreviousPrompt),
    ("]", Order::NextPrompt),
    ("alt+p", Order::PreviousPrompt),
    ("alt+n", Order::NextPrompt),
    ("n", Order::SearchAgain),
    ("N", Order::SearchBack),
    ("X", Order::SetMark),
    ("alt+x", Order::JumpToMark),
    ("E", Order::Edit),
    ("q", Order::Leave),
    ("ctrl+c", Order::Leave),
];

const VI: Table = &[
    ("h", Order::Left),
    ("l", Order::Right),
    ("k", Order::Up),
    ("j", Order::Down),
    ("backspace", Order::Left),
    ("w", Order::NextWord { is_big: false }),
    ("b", Order::PreviousWord { is_big: false }),
    ("e", Order::WordEnd { is_big: false }),
    ("W", Order::NextWord { is_big: true }),
    ("B", Order::PreviousWord { is_big: true }),
    ("0", Order::LineStart),
    ("^", Order::LineText),
    ("$", Order::LineEnd),
    ("H", Order::ViewTop),
    ("M", Order::ViewMiddle),
    ("L", Order::ViewBottom),
    ("g", Order::Top),
    ("G", Order::Bottom),
    ("{", Order::PreviousParagraph),
    ("}", Order::NextParagraph),
    ("ctrl+y", Order::ScrollUp),
    ("ctrl+e", Order::ScrollDown),
    ("K", Order::ScrollUp),
    ("J", Order::ScrollDown),
    ("ctrl+u", Order::HalfUp),
    ("ctrl+d", Order::HalfDown),
    ("ctrl+b", Order::PageUp),
    ("ctrl+f", Order::PageDown),
    ("v", Order::SelectCells),
    ("space", Order::SelectCells),
    ("V", Order::SelectLines),
    ("ctrl+v", Order::SelectBlock),
    ("o", Order::OtherEnd),
    ("y", Order::Copy),
    ("enter", Order::Copy),
    ("/", Order::Search { is_backward: false }),
    ("?", Order::Search { is_backward: true }),
    ("*", Order::SearchWord { is_backward: false }),
    ("#", Order::SearchWord { is_backward: true }),
    (":", Order::GoToLine),
    ("esc", Order::Clear),
];

const EMACS: Table = &[
    ("ctrl+b", Order::Left),
    ("ctrl+f", Order::Right),
    ("ctrl+p", Order::Up),
    ("ctrl+n", Order::Down),
    ("alt+f", Order::WordEnd { is_big: false }),
    ("alt+b", Order::PreviousWord { is_big: false }),
    ("ctrl+a", Order::LineStart),
    ("alt+m", Order::LineText),
    ("ctrl+e", Order::LineEnd),
    ("alt+R", Order::ViewTop),
    ("alt+r", Order::ViewMiddle),
    ("alt+<", Order::Top),
    ("alt+>", Order::Bottom),
    ("alt+{", Order::PreviousParagraph),
    ("alt+}", Order::NextParagraph),
    ("alt+up", Order::HalfUp),
    ("alt+down", Order::HalfDown),
    ("alt+v", Order::PageUp),
    ("ctrl+v", Order::PageDown),
    ("space", Order::PageDown),
    ("ctrl+space", Order::SelectCells),
    ("R", Order::SelectBlock),
    ("alt+w", Order::Copy),
    ("ctrl+w", Order::Copy),
    ("ctrl+s", Order::Search { is_backward: false }),
    ("ctrl+r", Order::Search { is_backward: true }),
    ("g", Order::GoToLine),
    ("ctrl+g", Order::Clear),
    ("esc", Order::Leave),
];

/// What a key asks for.
pub fn order(keys: ModeKeys, event: &KeyEvent) -> Option<Order> {
    let own = match keys {
        ModeKeys::Vi => VI,
        ModeKeys::Emacs => EMACS,
    };
    let is_typed = |text: &str| Chord::parse(text).is_some_and(|chord| chord.is_typed(event));
    own.iter().chain(BOTH).find(|(text, _)| is_typed(text)).map(|(_, order)| *order)
}

/// What orders do, in a few words; those that belong together share a row.
const WORDS: &[(&[Order], &str)] = &[
    (&[Order::Left, Order::Right, Order::Up, Order::Down], "left, right, up, down"),
    (&[Order::NextWord { is_big: false }], "next word"),
    (&[Order::PreviousWord { is_big: false }], "previous word"),
    (&[Order::WordEnd { is_big: false }], "end of word"),
    (
        &[Order::NextWord { is_big: true }, Order::PreviousWord { is_big: true }],
        "next, previous word between blanks",
    ),
    (&[Order::LineStart, Order::LineText, Order::LineEnd], "start, first text, end of the line"),
    (&[Order::ViewTop], "top of the view"),
    (&[Order::ViewMiddle], "middle of the view"),
    (&[Order::ViewBottom], "bottom of the view"),
    (&[Order::Top, Order::Bottom], "oldest line, newest line"),
    (&[Order::PreviousParagraph, Order::NextParagraph], "paragraph up, down"),
    (&[Order::ScrollUp, Order::ScrollDown], "scroll a row up, down"),
    (&[Order::HalfUp, Order::HalfDown], "half a page up, down"),
    (&[Order::PageUp, Order::PageDown], "a page up, down"),
    (&[FIND, FIND_BACK, TILL, TILL_BACK], "to a character, back to it, before it, back behind it"),
    (&[Order::JumpAgain, Order::JumpBack], "the same jump again, the other way"),
    (&[Order::PreviousPrompt, Order::NextPrompt], "previous, next shell prompt"),
    (&[Order::SelectCells], "select"),
    (&[Order::SelectLines], "select lines"),
    (&[Order::SelectBlock], "select a block, or back to characters"),
    (&[Order::OtherEnd], "the other end of the selection"),
    (&[Order::Copy], "copy and leave"),
    (&[Order::Search { is_backward: false }, Order::Search { is_backward: true }], "search down, up"),
    (&[Order::SearchAgain, Order::SearchBack], "next match, previous match"),
    (
        &[Order::SearchWord { is_backward: false }, Order::SearchWord { is_backward: true }],
        "search the word under the cursor down, up",
    ),
    (&[Order::GoToLine], "go to a line"),
    (&[Order::SetMark, Order::JumpToMark], "set the mark, change places with it"),
    (&[Order::Edit], "open history in your editor; while selecting with vi keys: end of word"),
    (&[Order::Clear], "drop the selection, or leave"),
    (&[Order::Leave], "leave"),
];

/// The rows of the help for one set of keys.
pub fn table(keys: ModeKeys) -> Vec<(String, &'static str)> {
    let own = match keys {
        ModeKeys::Vi => VI,
        ModeKeys::Emacs => EMACS,
    };
    let labels = |orders: &[Order]| -> String {
        let is_meant = |order: &Order| orders.contains(order);
        let rows = own.iter().chain(BOTH).filter(|(_, order)| is_meant(order));
        let chords = rows.filter_map(|(text, _)| Chord::parse(text));
        chords.map(Chord::label).collect::<Vec<_>>().join(" ")
    };
    let rows = WORDS.iter().map(|(orders, text)| (labels(orders), *text));
    let counts = match keys {
        ModeKeys::Vi => "1…9",
        ModeKeys::Emacs => "Alt-1…9",
    };
    rows.filter(|(labels, _)| !labels.is_empty())
        .chain([(counts.to_owned(), "a count for the next key")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_parses_once_and_every_order_is_explained() {
        for own in [VI, EMACS] {
            let rows: Vec<_> = own.iter().chain(BOTH).collect();
            for (index, (text, order)) in rows.iter().enumerate() {
                assert!(Chord::parse(text).is_some(), "{text}");
                assert!(!rows[..index].iter().any(|(known, _)| known == text), "{text} is bound twice");
                assert!(WORDS.iter().any(|(orders, _)| orders.contains(order)), "{order:?}");
            }
        }
    }
}
