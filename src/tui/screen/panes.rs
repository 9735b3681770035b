//! The panes: one tile per terminal, a title row and the program's own cells.

use crate::base::grid::{Attrs, Color as PaneColor, Cursor, Row, Style as PaneStyle};
use crate::base::id::TerminalId;
use crate::base::text;
use crate::model::terminal::TerminalLife;
use crate::tui::action::Action;
use crate::tui::canvas::{Canvas, Extra, HostCursor};
use crate::tui::facts::{self, Mark};
use crate::tui::model::{Link, Model, Pane};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::text::{self as lines, Line};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// One tile. Rows are borrowed: a picture is drawn, never copied.
#[derive(Debug, Clone)]
pub struct Tile<'m> {
    /// Where the title row is; none in the clean view.
    pub title_area: Option<Rect>,
    pub inside: Rect,
    pub title: Line,
    pub is_focused: bool,
    pub rows: &'m [Row],
    /// Set while the live screen is shown.
    pub cursor: Option<Cursor>,
    /// Rows and columns of the picture.
    pub size: (u16, u16),
    pub default_fg: PaneColor,
    pub default_bg: PaneColor,
    /// A line over the last row: the program ended, the view is scrolled back.
    pub banner: Option<Line>,
    /// From row and column to row and column, in order.
    pub selection: Option<((u16, u16), (u16, u16))>,
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

fn tile<'m>(model: &'m Model, terminal: &TerminalId, rect: Rect, n_hidden: usize) -> Tile<'m> {
    let pane = model.panes.get(terminal);
    let is_focused = model.focus.as_ref() == Some(terminal);
    let inside = model.inside(rect);
    let scrolled = pane.and_then(|pane| pane.scroll.as_ref()).filter(|scroll| !scroll.rows.is_empty());
    let rows = match (scrolled, pane) {
        (Some(scroll), _) => scroll.rows.as_slice(),
        (None, Some(pane)) => pane.image.rows(),
        (None, None) => NO_ROWS,
    };
    let size = pane.map_or((inside.height, inside.width), |pane| {
        let size = pane.image.size();
        (size.n_rows(), size.n_cols())
    });
    let meta = pane.map(|pane| pane.image.meta());
    let is_live = scrolled.is_none();
    let selection =
        model.selection.as_ref().filter(|selection| selection.is_drawn && selection.terminal == *terminal);
    let is_ended = model.mirror.terminals.get(terminal).is_some_and(|row| row.life != TerminalLife::Running);
    Tile {
        title_area: (!model.is_clean).then_some(Rect { height: 1, ..rect }),
        inside,
        title: title(model, terminal, rect, is_focused, n_hidden),
        is_focused,
        rows,
        cursor: meta.map(|meta| meta.cursor).filter(|_| is_live && is_focused && !is_ended),
        size,
        default_fg: meta.map(|meta| meta.default_fg).unwrap_or_default(),
        default_bg: meta.map(|meta| meta.default_bg).unwrap_or_default(),
        banner: banner(model, terminal, pane),
        selection: selection.map(|s| (s.from.min(s.to), s.from.max(s.to))),
    }
}

fn title(model: &Model, terminal: &TerminalId, rect: Rect, is_focused: bool, n_hidden: usize) -> Line {
    let mirror = &model.mirror;
    let frame = if is_focused { Role::Focus } else { Role::Frame };
    let Some(row) = mirror.terminals.get(terminal) else { return Line::new().then("─ ", frame) };
    let mark = facts::pane_mark(mirror, row, model.now);
    let pane = model.panes.get(terminal);
    let name_role = if is_focused { Role::Focus } else { Role::Text };
    let mut line = Line::new().then(if is_focused { "━▶ " } else { "── " }, frame);
    if pane.is_some_and(|pane| pane.has_notice) {
        line = line.then("♪ ", Role::Attention);
    }
    if model.unseen.contains(terminal) {
        line = line.then("• ", Role::Good);
    }
    // The state before the name: what is cut on a narrow screen is the name.
    let Mark { glyph, word, role } = mark;
    if !word.is_empty() {
        line = line.then(format!("{glyph} {word} "), role).then("· ", frame);
    }
    line = line.then(facts::pane_title(mirror, row), name_role).then(" ", frame);
    let mut details = Vec::new();
    if let Some(attempt) = mirror.attempt_in(terminal) {
        details.push(format!("#{}", attempt.attempt));
    }
    details.extend(facts::agent_in(mirror, row).map(text::one_line));
    if rect.width >= 70 {
        details.extend(row.branch.as_deref().map(text::one_line));
    }
    let is_running = row.life == TerminalLife::Running;
    if let Some(pane) = pane.filter(|pane| is_running && !pane.image.rows().is_empty()) {
        let (size, inside) = (pane.image.size(), model.inside(rect));
        if (size.n_cols(), size.n_rows()) != (inside.width.max(2), inside.height.max(2)) {
            details.push(format!("sized {}×{} elsewhere", size.n_cols(), size.n_rows()));
        }
    }
    if model.is_zoomed && is_focused {
        details.push(String::from("zoomed"));
    } else if n_hidden > 0 && is_focused {
        details.push(format!("{n_hidden} more: {}", model.hint(Action::FocusNext)));
    }
    line.at_right(format!(" {} ", details.join(" · ")), Role::Quiet)
}

fn banner(model: &Model, terminal: &TerminalId, pane: Option<&Pane>) -> Option<Line> {
    if let Some(scroll) = pane.and_then(|pane| pane.scroll.as_ref()) {
        let line_now = pane.map_or(0, |pane| pane.image.meta().screen_line);
        let n_new = line_now.saturating_sub(scroll.line_at);
        let mut text = match scroll.n_history > scroll.rows_back {
            true => format!(" scrolled back {} of {} rows ", scroll.rows_back, scroll.n_history),
            false => format!(" scrolled back {} rows ", scroll.rows_back),
        };
        if n_new > 0 {
            text.push_str(&format!("· {n_new} new lines "));
        }
        return Some(Line::new().then(text, Role::Mode).then(" q back · PgUp PgDn g G", Role::Quiet));
    }
    let row = model.mirror.terminals.get(terminal)?;
    let what = match row.life {
        TerminalLife::Exited | TerminalLife::Lost => {
            let end = row.end.as_ref();
            let how = end.map_or_else(|| String::from("lost: nobody saw how it ended"), ToString::to_string);
            let age = end.map(|end| format!(" {} ago", text::age(model.now.since_ms(end.at))));
            format!(" {how}{} ", age.unwrap_or_default())
        }
        TerminalLife::Starting | TerminalLife::Running | TerminalLife::Closed | TerminalLife::Failed => {
            return None;
        }
    };
    let keys =
        format!(" {} closes · {} reads back", model.hint(Action::ClosePane), model.hint(Action::Scroll));
    Some(Line::new().then(what, Role::Mode).then(keys, Role::Quiet))
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
    let cursor_row = tile.cursor.map_or(tile.size.0, |cursor| cursor.row + 1);
    let first = cursor_row.saturating_sub(inside.height).min(n_over);
    let base = Style::default().fg(color(tile.default_fg)).bg(color(tile.default_bg));
    for row in 0..inside.height {
        let source = tile.rows.get(usize::from(first + row));
        let n_cols = if source.is_some() { tile.size.1.min(inside.width) } else { 0 };
        if let Some(source) = source {
            draw_row(source, tile, (first + row, row), base, canvas);
        }
        let is_outside = !tile.rows.is_empty() && (row >= tile.size.0 || tile.size.1 < inside.width);
        if is_outside {
            for col in n_cols..inside.width {
                canvas.buffer.set_string(inside.x + col, inside.y + row, "·", theme.style(Role::Frame));
            }
        }
    }
    if let Some(cursor) = tile.cursor.filter(|cursor| cursor.is_visible && cursor.row >= first) {
        let (row, col) = (cursor.row - first, cursor.col);
        if row < inside.height && col < inside.width {
            canvas.cursor =
                Some(HostCursor { row: inside.y + row, col: inside.x + col, shape: cursor.shape });
        }
    }
}

fn draw_row(source: &Row, tile: &Tile<'_>, (from, to): (u16, u16), base: Style, canvas: &mut Canvas) {
    let inside = tile.inside;
    let n_cols = inside.width.min(tile.size.1);
    let is_selected =
        |col: u16| tile.selection.is_some_and(|(begin, end)| (begin..=end).contains(&(from, col)));
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
            let style = if is_selected(col) { style.add_modifier(Modifier::REVERSED) } else { style };
            let extra = Extra { width: u8::try_from(width).unwrap_or(1), ..extra };
            canvas.put(inside.y + to, inside.x + col, text, style, extra);
            col += width;
        }
    }
    if base != Style::default().fg(Color::Reset).bg(Color::Reset) {
        for col in col..n_cols {
            canvas.put(inside.y + to, inside.x + col, " ", base, Extra { width: 1, ..Extra::default() });
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
