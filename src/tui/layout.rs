//! Geometry: where things are on a host of a given size. Pure.

use crate::model::terminal::SplitDirection;
use ratatui::layout::Rect;

/// Below this the sidebar is an overlay that a key opens.
const MIN_DOCKED_COLS: u16 = 100;
/// A column of panes is at least this wide where there is a choice, and never narrower than
/// `MIN_PANE_COLS` when there are several.
const GOOD_PANE_COLS: u16 = 72;
const MIN_PANE_COLS: u16 = 40;
/// Rows of a tile, its title included.
const MIN_PANE_ROWS: u16 = 6;
/// A pane that somebody split on purpose may be smaller than one that was placed.
const MIN_SPLIT_COLS: u16 = 20;
const MIN_SPLIT_ROWS: u16 = 4;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Areas {
    /// The sidebar, where it is shown; its last column is the line beside it.
    pub sidebar: Option<Rect>,
    /// The sidebar lies over the panes instead of beside them.
    pub is_overlay: bool,
    pub panes: Rect,
    pub status: Rect,
    /// Too small for anything but a note.
    pub is_hopeless: bool,
}

/// What the person wants of the sidebar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SidebarWish {
    /// Beside the panes where there is room, else away.
    #[default]
    Auto,
    Shown,
    Hidden,
}

/// Divides a host of `n_cols` by `n_rows`. `width` is the setting: columns of the sidebar, 0 hides
/// it until it is asked for.
pub fn areas(n_cols: u16, n_rows: u16, width: u16, wish: SidebarWish) -> Areas {
    if n_cols < 20 || n_rows < 5 {
        return Areas { is_hopeless: true, ..Areas::default() };
    }
    let above = n_rows - 1;
    let status = Rect::new(0, above, n_cols, 1);
    let can_dock = n_cols >= MIN_DOCKED_COLS;
    let is_shown = match wish {
        SidebarWish::Auto => can_dock && width > 0,
        SidebarWish::Shown => true,
        SidebarWish::Hidden => false,
    };
    let whole = Rect::new(0, 0, n_cols, above);
    if !is_shown {
        return Areas { panes: whole, status, ..Areas::default() };
    }
    let wanted = if width == 0 { 34 } else { width };
    if can_dock {
        let wider = if n_cols >= 160 { wanted + 10 } else { wanted };
        let width = wider.clamp(20, n_cols / 2);
        let panes = Rect::new(width, 0, n_cols - width, above);
        return Areas { sidebar: Some(Rect::new(0, 0, width, above)), panes, status, ..Areas::default() };
    }
    let width = (wanted + 8).min(n_cols);
    let sidebar = Some(Rect::new(0, 0, width, above));
    Areas { sidebar, is_overlay: true, panes: whole, status, ..Areas::default() }
}

/// How many panes an area shows at once.
pub fn capacity(area: Rect) -> usize {
    let n_cols = ((area.width + 1) / (MIN_PANE_COLS + 1)).max(1);
    let n_rows = (area.height / MIN_PANE_ROWS).max(1);
    usize::from(n_cols) * usize::from(n_rows)
}

/// Divides an area into `n` tiles, column by column, the first columns with fewer and larger ones.
/// One column lies free between columns of tiles, for the line.
pub fn tiles(area: Rect, n: usize) -> Vec<Rect> {
    let n = u16::try_from(n).unwrap_or(u16::MAX);
    if n == 0 || area.width == 0 || area.height == 0 {
        return Vec::new();
    }
    let most = ((area.width + 1) / (MIN_PANE_COLS + 1)).clamp(1, n);
    let good = ((area.width + 1) / (GOOD_PANE_COLS + 1)).clamp(1, most);
    let fits = |n_cols: &u16| area.height / n.div_ceil(*n_cols) >= MIN_PANE_ROWS;
    let n_cols = (good..=most).find(fits).unwrap_or(most);
    let mut tiles = Vec::with_capacity(usize::from(n));
    let inner = area.width.saturating_sub(n_cols - 1);
    for col in 0..n_cols {
        let left = area.left() + part(inner, n_cols, col) + col;
        let width = part(inner, n_cols, col + 1) - part(inner, n_cols, col);
        let n_rows = n / n_cols + u16::from(col >= n_cols - n % n_cols);
        for row in 0..n_rows {
            let top = part(area.height, n_rows, row);
            let height = part(area.height, n_rows, row + 1) - top;
            tiles.push(Rect::new(left, area.top() + top, width, height));
        }
    }
    tiles
}

/// Divides an area among panes, of which some were split from an earlier one (its index and how) and
/// take half of its tile. Where that would leave too little of one, all are tiles of their own.
pub fn arrange(area: Rect, splits: &[Option<(usize, SplitDirection)>]) -> Vec<Rect> {
    let n_free = splits.iter().filter(|split| split.is_none()).count();
    let mut free = tiles(area, n_free).into_iter();
    let mut placed: Vec<Rect> = Vec::with_capacity(splits.len());
    for split in splits {
        let Some((parent, direction)) = split else {
            placed.extend(free.next());
            continue;
        };
        let halves = placed.get(*parent).and_then(|tile| halves(*tile, *direction));
        match (halves, placed.get_mut(*parent)) {
            (Some((first, second)), Some(tile)) => {
                *tile = first;
                placed.push(second);
            }
            (_, _) => return tiles(area, splits.len()),
        }
    }
    placed
}

/// Left and right with the line between them, or top and bottom; None where one would be too small.
fn halves(tile: Rect, direction: SplitDirection) -> Option<(Rect, Rect)> {
    let (first, second) = match direction {
        SplitDirection::Horizontal => {
            let left = tile.width.saturating_sub(1).div_ceil(2);
            let right = tile.width.saturating_sub(left + 1);
            (Rect { width: left, ..tile }, Rect { x: tile.x + left + 1, width: right, ..tile })
        }
        SplitDirection::Vertical => {
            let top = tile.height.div_ceil(2);
            (Rect { height: top, ..tile }, Rect { y: tile.y + top, height: tile.height - top, ..tile })
        }
    };
    let is_enough = |half: &Rect| half.width >= MIN_SPLIT_COLS && half.height >= MIN_SPLIT_ROWS;
    (is_enough(&first) && is_enough(&second)).then_some((first, second))
}

/// Where part `index` of `n_parts` begins in `length`.
fn part(length: u16, n_parts: u16, index: u16) -> u16 {
    let begin = u32::from(length) * u32::from(index) / u32::from(n_parts.max(1));
    u16::try_from(begin).unwrap_or(length)
}

/// The part of a tile that belongs to the program: below the title row.
pub fn pane_inside(tile: Rect) -> Rect {
    let n_title = tile.height.min(1);
    Rect::new(tile.x, tile.y + n_title, tile.width, tile.height - n_title)
}

/// A direction on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Left,
    Down,
    Up,
    Right,
}

/// The tile next to tile `from`: the nearest edge, then the largest shared side.
pub fn neighbour(tiles: &[Rect], from: usize, direction: Direction) -> Option<usize> {
    let here = *tiles.get(from)?;
    let mut best: Option<(u16, i32, usize)> = None;
    for (index, there) in tiles.iter().enumerate().filter(|(index, _)| *index != from) {
        let gap = match direction {
            Direction::Left => here.left().checked_sub(there.right()),
            Direction::Right => there.left().checked_sub(here.right()),
            Direction::Up => here.top().checked_sub(there.bottom()),
            Direction::Down => there.top().checked_sub(here.bottom()),
        };
        let shared = match direction {
            Direction::Left | Direction::Right => {
                overlap(here.top(), here.bottom(), there.top(), there.bottom())
            }
            Direction::Up | Direction::Down => {
                overlap(here.left(), here.right(), there.left(), there.right())
            }
        };
        if let Some(gap) = gap.filter(|_| shared > 0) {
            let candidate = (gap, -shared, index);
            best = Some(best.map_or(candidate, |known| known.min(candidate)));
        }
    }
    best.map(|(_, _, index)| index)
}

fn overlap(a_from: u16, a_to: u16, b_from: u16, b_to: u16) -> i32 {
    i32::from(a_to.min(b_to)) - i32::from(a_from.max(b_from))
}

/// A box of at most `n_cols` by `n_rows` in the middle of an area.
pub fn centred(area: Rect, n_cols: u16, n_rows: u16) -> Rect {
    let (width, height) = (n_cols.min(area.width), n_rows.min(area.height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sidebar_docks_where_there_is_room() {
        let narrow = areas(80, 24, 34, SidebarWish::Auto);
        assert_eq!((narrow.sidebar, narrow.panes), (None, Rect::new(0, 0, 80, 23)));
        let asked = areas(80, 24, 34, SidebarWish::Shown);
        assert!(asked.is_overlay && asked.panes.width == 80);
        let wide = areas(120, 40, 34, SidebarWish::Auto);
        assert_eq!((wide.sidebar, wide.panes.x), (Some(Rect::new(0, 0, 34, 39)), 34));
        assert_eq!(areas(200, 50, 34, SidebarWish::Auto).panes.x, 44);
        assert_eq!(areas(120, 40, 0, SidebarWish::Auto).sidebar, None);
        for (n_cols, n_rows) in [(0, 0), (1, 1), (10, 3), (20, 4), (19, 30)] {
            assert!(areas(n_cols, n_rows, 34, SidebarWish::Auto).is_hopeless);
        }
    }

    #[test]
    fn tiles_cover_the_area_without_overlap() {
        for (width, height) in [(80, 23), (86, 39), (156, 49), (1000, 300), (20, 4), (1, 1)] {
            let area = Rect::new(3, 2, width, height);
            for n in 1..=capacity(area).min(12) {
                let tiles = tiles(area, n);
                assert_eq!(tiles.len(), n);
                for (index, tile) in tiles.iter().enumerate() {
                    assert_eq!(tile.intersection(area), *tile);
                    assert!(tile.height > 0 && tile.width > 0, "{width}x{height} {n}: {tiles:?}");
                    assert!(tiles[..index].iter().all(|other| !other.intersects(*tile)), "{tiles:?}");
                }
            }
        }
    }

    #[test]
    fn a_split_pane_shares_the_tile_of_the_one_it_was_split_from() {
        let area = Rect::new(0, 0, 101, 40);
        let right = Some((0, SplitDirection::Horizontal));
        let below = Some((1, SplitDirection::Vertical));
        assert_eq!(
            arrange(area, &[None, right, below]),
            [Rect::new(0, 0, 50, 40), Rect::new(51, 0, 50, 20), Rect::new(51, 20, 50, 20)]
        );
        // Split twice, the pane halves what it had left.
        let twice = arrange(area, &[None, right, right]);
        assert_eq!(
            twice.iter().map(|tile| (tile.x, tile.width)).collect::<Vec<_>>(),
            [(0, 25), (51, 50), (26, 24)]
        );
        // No room for halves: tiles of their own.
        let narrow = Rect::new(0, 0, 40, 12);
        assert_eq!(arrange(narrow, &[None, right]), tiles(narrow, 2));
    }

    #[test]
    fn three_panes_on_a_wide_screen_are_one_beside_two() {
        let tiles = tiles(Rect::new(44, 0, 156, 48), 3);
        assert_eq!(tiles, [Rect::new(44, 0, 77, 48), Rect::new(122, 0, 78, 24), Rect::new(122, 24, 78, 24)]);
        assert_eq!(neighbour(&tiles, 0, Direction::Right), Some(1));
        assert_eq!(neighbour(&tiles, 2, Direction::Up), Some(1));
        assert_eq!(neighbour(&tiles, 2, Direction::Left), Some(0));
        assert_eq!(neighbour(&tiles, 0, Direction::Left), None);
    }
}
