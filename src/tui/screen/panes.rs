//! The panes: one tile per terminal, a title row and the program's own cells.

use crate::base::grid::{Attrs, Color as PaneColor, Cursor, CursorShape, Row, Style as PaneStyle};
use crate::base::id::TerminalId;
use crate::base::size::TermSize;
use crate::base::text;
use crate::model::terminal::TerminalLife;
use crate::tui::action::Action;
use crate::tui::canvas::{Canvas, Extra, HostCursor};
use crate::tui::copy::state::PromptKind;
use crate::tui::copy::{Mark as CopyMark, Session};
use crate::tui::facts::{self, Mark};
use crate::tui::model::{Link, Model, Pane};
use crate::tui::stale::PaneRows;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::text::{self as lines, Line};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// One tile. The rows of a live picture are borrowed: it is drawn, never copied.
#[derive(Debug, Clone)]
pub struct Tile<'m> {
    /// Where the title row is; none in the clean view.
    pub title_area: Option<Rect>,
    pub inside: Rect,
    pub title: Line,
    pub is_focused: bool,
    pub rows: Cow<'m, [Row]>,
    /// Set where the keyboard is.
    pub cursor: Option<Cursor>,
    /// The row of the picture that must be in view: its cursor's, or the last one.
    pub shown_row: u16,
    /// Rows and columns of the picture.
    pub size: (u16, u16),
    pub default_fg: PaneColor,
    pub default_bg: PaneColor,
    /// A line over the last row: the program ended, something is being written for copy mode.
    pub banner: Option<Line>,
    /// Where copy mode is, at the top right, for want of a title row.
    pub corner: Option<String>,
    /// Rows, columns and what they are marked as.
    pub marks: Vec<(u16, Range<u16>, CopyMark)>,
}

/// All tiles, or what to say without any.
#[derive(Debug, Clone)]
pub struct Vm<'m> {
    pub tiles: Vec<Tile<'m>>,
    pub welcome: Vec<Line>,
    pub theme: Theme,
}

const NO_ROWS: &[Row] = &[];

/// The tiles of the current tab.
pub fn project(model: &Model) -> Vm<'_> {
    let tiles: Vec<_> = model.tiles();
    let n_all = model.terminals_in(&model.tab).len();
    let n_hidden = n_all.saturating_sub(tiles.len());
    let welcome = if tiles.is_empty() { welcome(model) } else { Vec::new() };
    let tiles = tiles.into_iter().map(|(terminal, rect)| tile(model, &terminal, rect, n_hidden)).collect();
    Vm { tiles, welcome, theme: model.theme }
}

/// Some rows of some tiles, and the focused tile for its cursor.
#[derive(Debug, Clone)]
pub struct Part<'m> {
    tiles: Vec<(Tile<'m>, BTreeSet<u16>)>,
    theme: Theme,
}

/// The tiles that show `rows`, by terminal. None where one of them shows more than its live picture
/// in its own size.
pub fn part<'m>(model: &'m Model, rows: &PaneRows) -> Option<Part<'m>> {
    let mut tiles = Vec::new();
    for (terminal, rect) in model.tiles() {
        let wanted = rows.get(&terminal);
        if wanted.is_none() && model.focus.as_ref() != Some(&terminal) {
            continue;
        }
        let tile = tile(model, &terminal, rect, 0);
        if tile.banner.is_some() || tile.size != (tile.inside.height, tile.inside.width) {
            return None;
        }
        let mut wanted = wanted.cloned().unwrap_or_default();
        wanted.retain(|row| *row < tile.inside.height);
        tiles.push((tile, wanted));
    }
    Some(Part { tiles, theme: model.theme })
}

impl Part<'_> {
    /// The rows of the frame that it takes.
    pub fn rows(&self) -> BTreeSet<u16> {
        self.tiles.iter().flat_map(|(tile, rows)| rows.iter().map(|row| tile.inside.y + row)).collect()
    }

    /// Draws it over what is shown.
    pub fn draw(&self, canvas: &mut Canvas) {
        for (tile, rows) in &self.tiles {
            let base = base_style(tile);
            for row in rows {
                canvas.blank(tile.inside.y + row, tile.inside.left()..tile.inside.right());
                if let Some(source) = tile.rows.get(usize::from(*row)) {
                    draw_row(source, tile, (*row, *row), (base, self.theme), canvas);
                }
            }
            put_cursor(tile, 0, canvas);
        }
    }
}

fn tile<'m>(model: &'m Model, terminal: &TerminalId, rect: Rect, n_hidden: usize) -> Tile<'m> {
    let pane = model.panes.get(terminal);
    let is_focused = model.focus.as_ref() == Some(terminal);
    let inside = model.inside(rect);
    let shown = pane.and_then(|pane| pane.copy.as_ref()).and_then(Session::shown);
    let is_live = shown.is_none();
    let live_size = pane.filter(|_| is_live).map(|pane| pane.image.size());
    let size = live_size.map_or((inside.height, inside.width), |size| (size.n_rows(), size.n_cols()));
    let meta = pane.map(|pane| pane.image.meta());
    let is_ended = model.mirror.terminals.get(terminal).is_some_and(|row| row.life != TerminalLife::Running);
    let live_cursor = meta.map(|meta| meta.cursor).filter(|_| !is_ended);
    Tile {
        title_area: (!model.is_clean).then_some(Rect { height: 1, ..rect }),
        inside,
        title: title(model, terminal, rect, is_focused, n_hidden),
        is_focused,
        cursor: match &shown {
            Some(shown) => Some(copy_cursor(shown.cursor)),
            None => live_cursor,
        }
        .filter(|_| is_focused),
        shown_row: live_cursor.map_or(size.0, |cursor| cursor.row),
        size,
        default_fg: meta.map(|meta| meta.default_fg).unwrap_or_default(),
        default_bg: meta.map(|meta| meta.default_bg).unwrap_or_default(),
        banner: banner(model, terminal, pane),
        corner: pane.filter(|_| model.is_clean).and_then(|pane| copy_title(pane, rect.width)),
        marks: shown.as_ref().map(|shown| shown.marks.clone()).unwrap_or_default(),
        rows: match (shown, pane) {
            (Some(shown), _) => Cow::Owned(shown.rows),
            (None, Some(pane)) => Cow::Borrowed(pane.image.rows()),
            (None, None) => Cow::Borrowed(NO_ROWS),
        },
    }
}

fn copy_cursor((row, col): (u16, u16)) -> Cursor {
    Cursor { row, col, is_visible: true, shape: CursorShape::SteadyBlock }
}

fn title(model: &Model, terminal: &TerminalId, rect: Rect, is_focused: bool, n_hidden: usize) -> Line {
    let mirror = &model.mirror;
    let frame = if is_focused { Role::Focus } else { Role::Frame };
    let Some(row) = mirror.terminals.get(terminal) else { return Line::new().then("─ ", frame) };
    let mark = facts::pane_mark(mirror, row, model.moment());
    let pane = model.panes.get(terminal);
    let name_role = if is_focused { Role::Focus } else { Role::Text };
    let mut line = Line::new().then(if is_focused { "━▶ " } else { "── " }, frame);
    if pane.is_some_and(|pane| pane.has_notice) {
        line = line.then("♪ ", Role::Attention);
    }
    if model.is_unseen(terminal) {
        line = line.then("• ", Role::Good);
    }
    // The state before the name: what is cut on a narrow screen is the name.
    let Mark { glyph, word, role } = mark;
    if !word.is_empty() {
        line = line.then(format!("{glyph} {word} "), role).then("· ", frame);
    }
    if let Some(color) = facts::tab_color(row) {
        line = line.then("▌", color);
    }
    line = line.then(facts::pane_title(mirror, row), name_role).then(" ", frame);
    if let Some(text) = pane.and_then(|pane| copy_title(pane, rect.width)) {
        line.is_right_first = true;
        return line.at_right(text, Role::Mode).at_right("━", frame);
    }
    let mut details = Vec::new();
    if let Some(attempt) = mirror.attempt_in(terminal) {
        details.push(format!("#{}", attempt.attempt));
    }
    details.extend(facts::agent_in(mirror, row).map(text::one_line));
    if let Some(branch) = row.branch.as_deref().map(text::one_line) {
        let spans = line.left.iter().map(|span| span.text.as_str());
        let used: usize = spans.chain(details.iter().map(String::as_str)).map(text::width).sum();
        let with_branch = used + 3 * (details.len() + 1) + text::width(&branch);
        if rect.width >= 70 || with_branch < usize::from(rect.width) {
            details.push(branch);
        }
    }
    // While this screen has the sizes, a picture of another one is only late.
    let is_others = row.life == TerminalLife::Running && !model.is_active;
    if let Some(pane) = pane.filter(|pane| is_others && !pane.image.rows().is_empty()) {
        let (size, inside) = (pane.image.size(), model.inside(rect));
        if size != TermSize::clamped(inside.height, inside.width) {
            details.push(format!("sized {}×{} elsewhere", size.n_cols(), size.n_rows()));
        }
    }
    if model.is_zoomed && is_focused {
        details.push(String::from("zoomed"));
    } else if n_hidden > 0 && is_focused {
        details.push(format!("{n_hidden} more: {}", model.hint(Action::FocusNext)));
    }
    let details = match details.is_empty() {
        true => String::new(),
        false => format!(" {} ", details.join(" · ")),
    };
    line.at_right(details, Role::Quiet)
}

fn banner(model: &Model, terminal: &TerminalId, pane: Option<&Pane>) -> Option<Line> {
    if let Some(copy) = pane.and_then(|pane| pane.copy.as_ref()) {
        let prompt = copy.state().and_then(|state| state.prompt.as_ref())?;
        let sign = match prompt.kind {
            PromptKind::Search { is_backward: false } => "/",
            PromptKind::Search { is_backward: true } => "?",
            PromptKind::Line => ":",
        };
        let text = prompt.field.text().to_owned();
        let line = Line::new().then(sign, Role::Key).then(text, Role::Text).then("▏", Role::Key);
        return Some(line.at_right("Enter goes · Esc back ", Role::Quiet));
    }
    let row = model.mirror.terminals.get(terminal)?;
    let what = match row.life {
        TerminalLife::Exited | TerminalLife::Lost => {
            let end = row.end.as_ref();
            let how = end.map_or_else(|| String::from("lost: nobody saw how it ended"), ToString::to_string);
            let age = end.map(|end| format!(" {} ago", model.moment().age(end.at)));
            format!(" {how}{} ", age.unwrap_or_default())
        }
        TerminalLife::Starting | TerminalLife::Running | TerminalLife::Closed | TerminalLife::Failed => {
            return None;
        }
    };
    let close = model.hint(Action::ClosePane);
    let keys = match model.has_picture(terminal) {
        true => format!(" {close} closes · {} reads back", model.hint(Action::Scroll)),
        false => format!(" {close} closes"),
    };
    Some(Line::new().then(what, Role::Mode).then(keys, Role::Quiet))
}

/// Where copy mode is: line and total, the match, what came since, how to leave.
fn copy_title(pane: &Pane, width: u16) -> Option<String> {
    let copy = pane.copy.as_ref()?;
    let (Some(state), Some(book)) = (copy.state(), copy.book()) else {
        return Some(String::from(" reading history … "));
    };
    let number = state.cursor.line.saturating_sub(book.first()) + 1;
    let mut parts = vec![format!("line {number} of {}", book.end().saturating_sub(book.first()))];
    parts.extend(state.search.as_ref().map(|search| search.count()));
    let n_new = pane.image.meta().screen_line.saturating_sub(book.screen());
    if n_new > 0 {
        parts.push(format!("{n_new} new"));
    }
    if width >= 60 {
        parts.push(String::from(if state.selection.is_some() { "y copies" } else { "q leaves" }));
    }
    Some(format!(" {} ", parts.join(" · ")))
}

fn welcome(model: &Model) -> Vec<Line> {
    if model.link == Link::Connecting || !model.mirror.is_loaded {
        return vec![Line::new().then("Connecting …", Role::Quiet)];
    }
    let hint = |action: Action, text: &str| {
        Line::new().then(format!("{:<10}", model.hint(action)), Role::Key).then(text.to_owned(), Role::Text)
    };
    vec![
        Line::new().then("No pane here yet.", Role::Heading),
        Line::new(),
        hint(Action::NewShell, "opens a shell; start your coordinator agent in it"),
        hint(Action::NextTab, "goes to the next tab"),
        hint(Action::Sidebar, "lists runs and tasks"),
        hint(Action::Palette, "finds everything by name"),
        hint(Action::Help, "shows all keys"),
        hint(Action::Detach, "leaves; everything keeps running"),
    ]
}

/// Draws titles, cells and the lines between tiles; puts the host's cursor into the focused pane.
pub fn draw(vm: &Vm<'_>, area: Rect, canvas: &mut Canvas) {
    let frame = vm.theme.style(Role::Frame);
    if vm.tiles.is_empty() {
        let n_rows = u16::try_from(vm.welcome.len()).unwrap_or(0);
        let place = crate::tui::layout::centred(area, 64, n_rows);
        lines::draw_lines(&vm.welcome, place, &mut canvas.buffer, vm.theme);
    }
    for tile in &vm.tiles {
        if let Some(title) = tile.title_area {
            let rule = if tile.is_focused { "━" } else { "─" };
            let style = vm.theme.style(if tile.is_focused { Role::Focus } else { Role::Frame });
            canvas.buffer.set_string(title.x, title.y, rule.repeat(usize::from(title.width)), style);
            tile.title.draw(title, &mut canvas.buffer, vm.theme);
            if title.x > area.x {
                for row in title.y..tile.inside.bottom() {
                    canvas.buffer.set_string(title.x - 1, row, "│", frame);
                }
            }
        }
        cells(tile, canvas, vm.theme);
        if let Some(corner) = &tile.corner {
            let width = u16::try_from(text::width(corner)).unwrap_or(0).min(tile.inside.width);
            let place = Rect { x: tile.inside.right() - width, width, height: 1, ..tile.inside };
            canvas.clear(place);
            Line::new().then(corner.clone(), Role::Mode).draw(place, &mut canvas.buffer, vm.theme);
        }
        if let Some(banner) = &tile.banner {
            let bottom = Rect { y: tile.inside.bottom().saturating_sub(1), height: 1, ..tile.inside };
            canvas.clear(bottom);
            banner.draw(bottom, &mut canvas.buffer, vm.theme);
        }
    }
}

/// Draws the cells of a tile. A picture larger than the tile is shown so that its cursor's row is
/// in view; a smaller one leaves the rest dotted.
fn cells(tile: &Tile<'_>, canvas: &mut Canvas, theme: Theme) {
    let inside = tile.inside;
    let n_over = tile.size.0.saturating_sub(inside.height);
    let first = tile.shown_row.saturating_add(1).saturating_sub(inside.height).min(n_over);
    let base = base_style(tile);
    for row in 0..inside.height {
        let source = tile.rows.get(usize::from(first + row));
        let n_cols = if source.is_some() { tile.size.1.min(inside.width) } else { 0 };
        if let Some(source) = source {
            draw_row(source, tile, (first + row, row), (base, theme), canvas);
        }
        let is_outside = !tile.rows.is_empty() && (row >= tile.size.0 || tile.size.1 < inside.width);
        if is_outside {
            for col in n_cols..inside.width {
                canvas.buffer.set_string(inside.x + col, inside.y + row, "·", theme.style(Role::Frame));
            }
        }
    }
    put_cursor(tile, first, canvas);
}

fn base_style(tile: &Tile<'_>) -> Style {
    Style::default().fg(color(tile.default_fg)).bg(color(tile.default_bg))
}

/// Puts the host's cursor where the tile has its own; `first` is the picture's row at the top.
fn put_cursor(tile: &Tile<'_>, first: u16, canvas: &mut Canvas) {
    let inside = tile.inside;
    if let Some(cursor) = tile.cursor.filter(|cursor| cursor.is_visible && cursor.row >= first) {
        let (row, col) = (cursor.row - first, cursor.col);
        if row < inside.height && col < inside.width {
            canvas.cursor =
                Some(HostCursor { row: inside.y + row, col: inside.x + col, shape: cursor.shape });
        }
    }
}

fn draw_row(
    source: &Row,
    tile: &Tile<'_>,
    (from, to): (u16, u16),
    (base, theme): (Style, Theme),
    canvas: &mut Canvas,
) {
    let inside = tile.inside;
    let n_cols = inside.width.min(tile.size.1);
    let mark_at = |col: u16| {
        let here = tile.marks.iter().filter(|(row, cols, _)| *row == from && cols.contains(&col));
        here.map(|(_, _, mark)| *mark).next_back()
    };
    let mut col = 0;
    for run in &source.runs {
        let style = base.patch(style_of(&run.style));
        let link = run.link.as_deref().map_or(0, |link| canvas.link_number(link));
        let extra = Extra {
            width: 1,
            underline: run.style.underline,
            is_overlined: run.style.attrs.contains(Attrs::OVERLINE),
            link,
        };
        for (text, width) in run.cells() {
            if col + width > n_cols {
                return;
            }
            let style = mark_at(col).map_or(style, |mark| theme.marked(style, mark));
            let extra = Extra { width: u8::try_from(width).unwrap_or(1), ..extra };
            canvas.put(inside.y + to, inside.x + col, text, style, extra);
            col += width;
        }
    }
    // A wide character that had no room left one column, which has the background of the line around it.
    let is_gap = source.is_wrapped && col + 1 == tile.size.1;
    let bg = source.runs.last().filter(|_| is_gap).and_then(|run| style_of(&run.style).bg);
    let base = bg.filter(|bg| *bg != Color::Reset).map_or(base, |bg| base.bg(bg));
    let is_plain = base == Style::default().fg(Color::Reset).bg(Color::Reset);
    for col in col..n_cols {
        let style = mark_at(col).map(|mark| theme.marked(base, mark)).or((!is_plain).then_some(base));
        if let Some(style) = style {
            canvas.put(inside.y + to, inside.x + col, " ", style, Extra { width: 1, ..Extra::default() });
        }
    }
}

fn color(color: PaneColor) -> Color {
    match color {
        PaneColor::Default => Color::Reset,
        PaneColor::Indexed(index) => Color::Indexed(index),
        PaneColor::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}

fn style_of(style: &PaneStyle) -> Style {
    let mut modifier = Modifier::empty();
    for (attr, bit) in [
        (Attrs::BOLD, Modifier::BOLD),
        (Attrs::DIM, Modifier::DIM),
        (Attrs::ITALIC, Modifier::ITALIC),
        (Attrs::INVERSE, Modifier::REVERSED),
        (Attrs::STRIKE, Modifier::CROSSED_OUT),
        (Attrs::BLINK, Modifier::SLOW_BLINK),
        (Attrs::CONCEAL, Modifier::HIDDEN),
    ] {
        if style.attrs.contains(attr) {
            modifier |= bit;
        }
    }
    let mut drawn = Style::default().add_modifier(modifier).underline_color(color(style.underline_color));
    if style.fg != PaneColor::Default {
        drawn = drawn.fg(color(style.fg));
    }
    if style.bg != PaneColor::Default {
        drawn = drawn.bg(color(style.bg));
    }
    drawn
}
