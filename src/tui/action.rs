//! What a key, a click or the palette can ask for. Each action has one name (for settings), one
//! sentence (for help, palette and README) and one arm in `update`.

macro_rules! actions {
    ($($variant:ident = $name:literal, $text:literal;)*) => {
        /// Something the person asks of the screen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action { $($variant,)* }

        impl Action {
            /// Every action, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the `[keys]` section of the settings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it does, in a few words.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The action of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|action| action.name() == name)
            }
        }
    };
}

actions! {
    NextAttention = "next_attention", "go to the next thing that needs you";
    Inbox = "inbox", "inbox: answer questions and gates";
    Sidebar = "sidebar", "go to the sidebar (again: back)";
    ToggleSidebar = "toggle_sidebar", "show or hide the sidebar";
    TaskDetail = "task_detail", "the focused task: attempts and timeline";
    Gates = "gates", "all gates";
    Palette = "palette", "command palette";
    Help = "help", "help";
    FocusLeft = "focus_left", "focus the pane to the left";
    FocusDown = "focus_down", "focus the pane below";
    FocusUp = "focus_up", "focus the pane above";
    FocusRight = "focus_right", "focus the pane to the right";
    FocusNext = "focus_next", "focus the next pane";
    FocusLast = "focus_last", "focus the pane you were in before";
    Zoom = "zoom", "zoom the pane, or back";
    CleanView = "clean_view", "only this pane, mouse free for your terminal's selection";
    Scroll = "scroll", "copy mode: look back, search, select";
    ScrollPage = "scroll_page", "copy mode, a page up";
    PasteCopied = "paste_copied", "paste what was copied last";
    EditHistory = "edit_history", "open the pane's history in your editor";
    NewShell = "new_shell", "new shell";
    SplitRight = "split_right", "new shell to the right of this pane, in the same worktree";
    SplitDown = "split_down", "new shell below this pane, in the same worktree";
    ClosePane = "close_pane", "close the pane (asks first)";
    MarkUnseen = "mark_unseen", "mark the pane as not looked at";
    CopyPath = "copy_path", "copy the pane's worktree path";
    NextTab = "next_tab", "next tab";
    PreviousTab = "previous_tab", "previous tab";
    LastTab = "last_tab", "the tab you were in before";
    Tab0 = "tab_0", "tab 0";
    Tab1 = "tab_1", "tab 1";
    Tab2 = "tab_2", "tab 2";
    Tab3 = "tab_3", "tab 3";
    Tab4 = "tab_4", "tab 4";
    Tab5 = "tab_5", "tab 5";
    Tab6 = "tab_6", "tab 6";
    Tab7 = "tab_7", "tab 7";
    Tab8 = "tab_8", "tab 8";
    Tab9 = "tab_9", "tab 9";
    SendPrefix = "send_prefix", "send the prefix key to the program";
    SendShiftEnter = "send_shift_enter", "send Shift+Enter to the program";
    Redraw = "redraw", "draw everything again";
    Detach = "detach", "detach; everything keeps running";
    Up = "up", "one up";
    Down = "down", "one down";
    PageUp = "page_up", "a page up";
    PageDown = "page_down", "a page down";
    Top = "top", "to the top";
    Bottom = "bottom", "to the bottom";
    Open = "open", "open";
    Edit = "edit", "answer in your own words";
    GoToPane = "go_to_pane", "go to the pane";
    PutAway = "put_away", "mark the mail as read";
    Confirm = "confirm", "yes";
    Close = "close", "back";
}

impl Action {
    /// Other words that people look for it by: tmux's names of its commands, and what is done with it.
    pub fn also(self) -> &'static str {
        match self {
            Self::NextAttention => "alert notification question",
            Self::Inbox => "mail message question answer reply",
            Self::Sidebar | Self::ToggleSidebar => "choose-tree list runs tasks",
            Self::Gates => "decisions approve",
            Self::Palette => "command-prompt",
            Self::Help => "list-keys bindings shortcuts",
            Self::FocusLeft
            | Self::FocusDown
            | Self::FocusUp
            | Self::FocusRight
            | Self::FocusNext
            | Self::FocusLast => "select-pane last-pane switch",
            Self::Zoom => "resize-pane maximize fullscreen",
            Self::CleanView => "mouse maximize fullscreen",
            Self::Scroll | Self::ScrollPage => "copy-mode scrollback history find",
            Self::PasteCopied => "paste-buffer clipboard",
            Self::EditHistory => "scrollback capture-pane",
            Self::NewShell => "new-window create terminal tab open",
            Self::SplitRight => "split-window -h horizontal vertical create terminal open",
            Self::SplitDown => "split-window -v horizontal vertical create terminal open",
            Self::ClosePane => "kill-pane kill-window exit quit remove",
            Self::MarkUnseen => "unread",
            Self::CopyPath => "clipboard directory folder cwd",
            Self::NextTab | Self::PreviousTab | Self::LastTab => {
                "next-window previous-window last-window select-window run switch"
            }
            Self::Redraw => "refresh-client reload",
            Self::Detach => "detach-client exit quit leave",
            Self::TaskDetail => "history attempts info",
            Self::Tab0
            | Self::Tab1
            | Self::Tab2
            | Self::Tab3
            | Self::Tab4
            | Self::Tab5
            | Self::Tab6
            | Self::Tab7
            | Self::Tab8
            | Self::Tab9
            | Self::SendPrefix
            | Self::SendShiftEnter
            | Self::Up
            | Self::Down
            | Self::PageUp
            | Self::PageDown
            | Self::Top
            | Self::Bottom
            | Self::Open
            | Self::Edit
            | Self::GoToPane
            | Self::PutAway
            | Self::Confirm
            | Self::Close => "",
        }
    }

    /// Whether it is about the focused pane.
    pub fn needs_pane(self) -> bool {
        matches!(
            self,
            Self::TaskDetail
                | Self::Zoom
                | Self::CleanView
                | Self::Scroll
                | Self::ScrollPage
                | Self::EditHistory
                | Self::PasteCopied
                | Self::ClosePane
                | Self::MarkUnseen
                | Self::CopyPath
        )
    }

    /// The tab number of `Tab0` to `Tab9`.
    pub fn tab_number(self) -> Option<usize> {
        self.name().strip_prefix("tab_").and_then(|number| number.parse().ok())
    }
}
