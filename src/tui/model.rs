//! Everything this client knows: the mirror, the panes' pictures, and what only this screen knows.

use super::action::Action;
use super::ages::{self, Ages};
use super::canvas::Canvas;
use super::clipboard;
use super::copy::Session;
use super::facts;
use super::keys::Keys;
use super::layout::{self, Areas, SidebarWish};
use super::mirror::Mirror;
use super::stale::Stale;
use super::theme::Theme;
use super::widget::field::Field;
use crate::base::clock::Timestamp;
use crate::base::id::{MessageId, RunId, TaskId, TerminalId};
use crate::base::input::InputEvent;
use crate::config::Config;
use crate::model::terminal::Split;
use crate::proto::dispatch::Moment;
use crate::proto::screen::{HostFacts, View};
use crate::pty::snapshot::PaneImage;
use ratatui::layout::Rect;
use std::collections::{BTreeMap, BTreeSet};

/// A tab: the panes of one Run, or those of none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tab {
    Run(RunId),
    Shells,
}

/// A pane's picture and what this client does with it.
#[derive(Debug, Clone, Default)]
pub struct Pane {
    pub image: PaneImage,
    /// Set while the pane is in copy mode.
    pub copy: Option<Session>,
    /// The program rang or notified while it was not focused.
    pub has_notice: bool,
}

/// The left button went down on a live pane: a drag from here selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    pub terminal: TerminalId,
    /// Row and column of the pane.
    pub at: (u16, u16),
    /// The n-th press in a row at this place.
    pub n_clicks: u8,
    pub time: Timestamp,
    pub is_held: bool,
    /// The last place of the drag, and rows that it scrolls in each turn: it is at an edge.
    pub edge: Option<((u16, u16), i64)>,
}

/// A screen over the panes.
#[derive(Debug, Clone, PartialEq)]
pub enum Modal {
    Inbox(InboxView),
    Task {
        task: TaskId,
        scroll: usize,
    },
    Gates {
        scroll: usize,
    },
    Help {
        scroll: usize,
    },
    Palette {
        field: Field,
        selected: usize,
    },
    /// Asks for a yes before `action` on `terminal`.
    ConfirmClose {
        terminal: TerminalId,
        question: String,
    },
}

/// The state of the inbox.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InboxView {
    /// The selected item, by what it is: the list may change under it.
    pub selected: Option<facts::Need>,
    /// An answer is being written.
    pub field: Option<Field>,
    /// Answers sent and not yet taken.
    pub sent: BTreeSet<facts::Need>,
    pub scroll: usize,
    /// Digits count from this moment on: the item changed under the fingers just before.
    pub armed_at: Timestamp,
}

/// What the server says happened to the task that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskHistory {
    pub task: TaskId,
    /// None until the first answer.
    pub moments: Option<Vec<Moment>>,
    /// The newest event that was known when it was asked for.
    pub seq: u64,
    pub is_asked: bool,
}

impl TaskHistory {
    /// Nothing is known yet.
    pub fn of(task: &TaskId) -> Self {
        Self { task: task.clone(), moments: None, seq: 0, is_asked: false }
    }
}

/// A note that goes away by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    pub is_error: bool,
    pub until: Timestamp,
}

/// How the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    Connecting,
    Attached,
    Lost { reason: String },
}

/// What the person came with.
#[derive(Debug, Clone)]
pub struct Options {
    pub config: Config,
    /// What is wrong in the settings' file, for a note at the start.
    pub faults: Vec<String>,
    /// The working directory, for new shells.
    pub cwd: String,
    /// Text that no other client uses, in front of request ids.
    pub session: String,
    /// Open a shell when there is no pane at all.
    pub opens_shell: bool,
    pub clipboard: clipboard::Facts,
    /// The command line of the person's editor; where there is none, a pager shows texts.
    pub editor: Option<String>,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    pub mirror: Mirror,
    pub panes: BTreeMap<TerminalId, Pane>,
    pub options: Options,
    pub keys: Keys,
    pub theme: Theme,
    pub link: Link,
    pub now: Timestamp,
    /// When the ages that the last frame showed read otherwise.
    pub ages: Ages,
    pub n_cols: u16,
    pub n_rows: u16,
    pub tab: Tab,
    pub last_tab: Option<Tab>,
    /// The pane that had the focus in each tab when it was left.
    pub places: BTreeMap<Tab, TerminalId>,
    pub focus: Option<TerminalId>,
    pub last_focus: Option<TerminalId>,
    pub is_zoomed: bool,
    /// Frameless, the mouse left to the host.
    pub is_clean: bool,
    pub sidebar: SidebarWish,
    /// The keyboard is in the sidebar, on this row.
    pub sidebar_row: Option<usize>,
    pub is_prefix_on: bool,
    pub modal: Option<Modal>,
    /// The timeline of the task that is shown.
    pub history: Option<TaskHistory>,
    pub toasts: Vec<Toast>,
    /// Panes that the person looked at here; the server was asked to take their mark away.
    pub looked_at: BTreeSet<TerminalId>,
    /// Unread mail that the person put away here; the server was asked to mark it read.
    pub put_away: BTreeSet<MessageId>,
    /// The last press of the left button on a pane.
    pub press: Option<Press>,
    /// What was copied last.
    pub copied: Option<String>,
    /// What was said of it.
    pub copy_note: Option<String>,
    /// Panes with the editor that this person opened; they go when it ends well.
    pub editors: BTreeSet<TerminalId>,
    /// The number of the last question about history.
    pub last_question: u64,
    /// The person knows how to select where a program has the mouse.
    pub has_hinted_mouse: bool,
    /// When a drag at an edge scrolled last.
    pub edge_at: Timestamp,
    pub is_host_focused: bool,
    /// What the host said about itself.
    pub host: HostFacts,
    /// The host was asked for key releases.
    pub has_key_releases: bool,
    /// The view that the server was told last.
    pub told: View,
    /// What it was told before that: pictures of those sizes may still come.
    pub told_before: View,
    /// Calls under way: what a failure is about.
    pub calls: BTreeMap<String, CallPurpose>,
    pub n_calls: u64,
    pub bell_at: Timestamp,
    pub has_asked_shell: bool,
    /// The person used this client after every other one: pane sizes follow it.
    pub is_active: bool,
    /// A pane the person opened, focused as soon as it is known.
    pub wanted_focus: Option<TerminalId>,
    /// What was typed for programs that are being started, or while no server was there, in order.
    pub early_input: Vec<(TerminalId, InputEvent)>,
    /// What of the frame drawn last is out of date.
    pub stale: Stale,
}

/// Why a call was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPurpose {
    Answer {
        need: facts::Need,
        text: String,
    },
    OpenShell,
    OpenEditor,
    ClosePane,
    /// A message was put away.
    PutAway(MessageId),
    /// A pane was looked at, or is to be.
    Mark,
    /// The timeline of a task.
    History(TaskId),
}

impl Model {
    /// A model that knows nothing yet.
    pub fn new(options: Options) -> Self {
        let (keys, faults) = Keys::new(&options.config);
        let toasts = options
            .faults
            .iter()
            .cloned()
            .chain(faults)
            .map(|text| Toast { text, is_error: true, until: Timestamp(0) })
            .collect();
        Self {
            theme: Theme::new(options.config.screen.theme, &HostFacts::default()),
            keys,
            toasts,
            options,
            mirror: Mirror::default(),
            panes: BTreeMap::new(),
            link: Link::Connecting,
            now: Timestamp(0),
            ages: Ages::default(),
            n_cols: 80,
            n_rows: 24,
            tab: Tab::Shells,
            last_tab: None,
            places: BTreeMap::new(),
            focus: None,
            last_focus: None,
            is_zoomed: false,
            is_clean: false,
            sidebar: SidebarWish::Auto,
            sidebar_row: None,
            is_prefix_on: false,
            modal: None,
            history: None,
            looked_at: BTreeSet::new(),
            put_away: BTreeSet::new(),
            press: None,
            copied: None,
            copy_note: None,
            editors: BTreeSet::new(),
            last_question: 0,
            has_hinted_mouse: false,
            edge_at: Timestamp(0),
            is_host_focused: true,
            host: HostFacts::default(),
            has_key_releases: false,
            told: View::default(),
            told_before: View::default(),
            calls: BTreeMap::new(),
            n_calls: 0,
            bell_at: Timestamp(0),
            has_asked_shell: false,
            is_active: true,
            wanted_focus: None,
            early_input: Vec::new(),
            stale: Stale::Whole,
        }
    }

    /// Whether the pane of a terminal is in copy mode.
    pub fn is_in_copy_mode(&self, terminal: &TerminalId) -> bool {
        self.panes.get(terminal).is_some_and(|pane| pane.copy.is_some())
    }

    /// Where the parts of the screen are now.
    pub fn areas(&self) -> Areas {
        let width = self.options.config.screen.sidebar_width;
        let wish = match (self.is_clean, self.sidebar_row) {
            (true, _) => SidebarWish::Hidden,
            (false, Some(_)) => SidebarWish::Shown,
            (false, None) => self.sidebar,
        };
        let mut areas = layout::areas(self.n_cols, self.n_rows, width, wish);
        if self.is_clean && !areas.is_hopeless {
            areas.panes = Rect::new(0, 0, self.n_cols, self.n_rows);
            areas.status = Rect::default();
        }
        areas
    }

    /// The tab of a terminal.
    pub fn tab_of(&self, terminal: &TerminalId) -> Tab {
        let row = self.mirror.terminals.get(terminal);
        row.and_then(|row| facts::run_of(&self.mirror, row)).map_or(Tab::Shells, Tab::Run)
    }

    /// The tabs: Runs with panes or unfinished work, oldest first, then the panes of no Run.
    pub fn tabs(&self) -> Vec<Tab> {
        let shown: BTreeSet<Tab> = self.shown_terminals().map(|id| self.tab_of(id)).collect();
        let newest = self.mirror.runs.values().max_by_key(|run| run.created_at).map(|run| &run.id);
        let has_work = |run: &RunId| {
            let mut tasks = self.mirror.tasks.values();
            tasks.any(|task| task.run_id == *run && !task.status.is_settled())
        };
        let mut runs: Vec<_> = self.mirror.runs.values().collect();
        runs.retain(|run| {
            shown.contains(&Tab::Run(run.id.clone())) || newest == Some(&run.id) || has_work(&run.id)
        });
        runs.sort_by_key(|run| (run.created_at, run.id.clone()));
        let mut tabs: Vec<Tab> = runs.into_iter().map(|run| Tab::Run(run.id.clone())).collect();
        if shown.contains(&Tab::Shells) || tabs.is_empty() {
            tabs.push(Tab::Shells);
        }
        tabs
    }

    fn shown_terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.mirror.terminals.values().filter(|row| facts::is_shown(row)).map(|row| &row.handle)
    }

    /// The terminals of a tab in the order of their panes: as they were opened, each with what was split
    /// from it behind it.
    pub fn terminals_in(&self, tab: &Tab) -> Vec<TerminalId> {
        let mut list: Vec<_> = self.shown_terminals().filter(|id| self.tab_of(id) == *tab).cloned().collect();
        list.sort_by_key(|id| self.mirror.terminals.get(id).map(|row| (row.created_at, row.handle.clone())));
        let mut ordered: Vec<TerminalId> = Vec::with_capacity(list.len());
        for id in &list {
            let parent = self.split_of(id).map(|split| &split.of);
            let is_behind = |known: &TerminalId| {
                Some(known) == parent || self.split_of(known).map(|split| &split.of) == parent
            };
            let at = parent
                .filter(|parent| ordered.contains(parent))
                .and_then(|_| ordered.iter().rposition(is_behind));
            ordered.insert(at.map_or(ordered.len(), |at| at + 1), id.clone());
        }
        ordered
    }

    fn split_of(&self, terminal: &TerminalId) -> Option<&Split> {
        self.mirror.terminals.get(terminal)?.split.as_ref()
    }

    /// The Run of the current tab.
    pub fn run(&self) -> Option<&RunId> {
        match &self.tab {
            Tab::Run(run) => Some(run),
            Tab::Shells => None,
        }
    }

    /// The visible tiles: which terminal is where, title row included. Those that do not fit are
    /// on further pages; the page with the focus is shown.
    pub fn tiles(&self) -> Vec<(TerminalId, Rect)> {
        let area = self.areas().panes;
        if area.is_empty() {
            return Vec::new();
        }
        if let Some(focus) = self.focus.as_ref().filter(|_| self.is_zoomed || self.is_clean) {
            return vec![(focus.clone(), area)];
        }
        let all = self.terminals_in(&self.tab);
        let capacity = layout::capacity(area).max(1);
        let at = all.iter().position(|id| Some(id) == self.focus.as_ref()).unwrap_or(0);
        let first = at / capacity * capacity;
        let page: Vec<_> = all.into_iter().skip(first).take(capacity).collect();
        let splits = page.iter().map(|id| {
            let split = self.split_of(id)?;
            let parent = page.iter().position(|other| *other == split.of)?;
            Some((parent, split.direction))
        });
        let tiles = layout::arrange(area, &splits.collect::<Vec<_>>());
        page.into_iter().zip(tiles).collect()
    }

    /// The part of a tile that belongs to the program.
    pub fn inside(&self, tile: Rect) -> Rect {
        if self.is_clean { tile } else { layout::pane_inside(tile) }
    }

    /// The hint of an action, for texts.
    pub fn hint(&self, action: Action) -> String {
        self.keys.hint(action)
    }

    /// Everything that needs the person, and what they have not looked at.
    pub fn attention(&self) -> Vec<facts::Attention> {
        facts::attention(&self.mirror, &self.looked_at, &self.put_away)
    }

    /// Whether a pane is to be looked at.
    pub fn is_unseen(&self, terminal: &TerminalId) -> bool {
        let row = self.mirror.terminals.get(terminal);
        row.is_some_and(|row| row.is_unseen) && !self.looked_at.contains(terminal)
    }

    /// Shows a note for `seconds`. The same note twice in a row is one that stays longer.
    pub fn toast(&mut self, text: String, is_error: bool, seconds: u64) {
        let until = self.now.plus_ms(seconds * 1_000);
        if let Some(last) = self.toasts.last_mut().filter(|last| last.text == text) {
            last.until = last.until.max(until);
            return;
        }
        self.toasts.push(Toast { text, is_error, until });
        let n_over = self.toasts.len().saturating_sub(4);
        self.toasts.drain(..n_over);
    }

    /// The moment that is shown.
    pub fn moment(&self) -> ages::Moment<'_> {
        ages::Moment { now: self.now, ages: &self.ages }
    }

    /// Milliseconds until the frame drawn last is out of date by time alone: a note goes, an age that it shows
    /// grows, the clock's minute ends.
    pub fn next_tick_ms(&self) -> u64 {
        let to_minute = 60_000 - self.now.0.rem_euclid(60_000).unsigned_abs();
        let toast = self.toasts.iter().map(|toast| toast.until.since_ms(self.now)).min().unwrap_or(u64::MAX);
        let is_moving = self.panes.values().filter_map(|pane| pane.copy.as_ref());
        if is_moving.into_iter().any(|copy| copy.is_dragged() || copy.leaves_at.is_some()) {
            return 50;
        }
        self.ages.stays_ms().min(to_minute).min(toast).max(50)
    }

    /// Whether there is a picture of a pane; of one that ended under an earlier server there is none.
    pub fn has_picture(&self, terminal: &TerminalId) -> bool {
        self.panes.get(terminal).is_some_and(|pane| !pane.image.rows().is_empty())
    }

    /// Whether everything is here that a whole frame shows.
    pub fn is_filled(&self) -> bool {
        self.mirror.is_loaded && self.told.panes.iter().all(|pane| self.has_picture(&pane.terminal))
    }

    /// The whole frame, on a blank one.
    pub fn draw(&self, canvas: &mut Canvas) {
        self.ages.forget();
        super::screen::draw(self, canvas);
    }
}
