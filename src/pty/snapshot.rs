//! The screen plane: a pane's rows with versions, and the patches that bring a client up to date.
//!
//! The server keeps one [`PaneRows`] per pane and updates it when it publishes. A client is sent
//! [`PaneRows::newer_than`] the version it has seen and applies it to its [`PaneImage`]. A slow client
//! skips versions; nothing is queued, the newest state always wins. Patches are state, so applying
//! one twice does no harm.

use super::PtyError;
use super::modes::{MouseEncoding, MouseMode};
use super::row::{self, Reader, write_number};
use super::term::Term;
use crate::base::grid::{Color, Cursor, CursorShape, Row};
use crate::base::size::TermSize;
use std::sync::Arc;

/// Counts the states of one pane; 0 is before the first.
pub type Version = u64;

/// What a client must know of a pane beside its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaneMeta {
    pub cursor: Cursor,
    /// The window title, cleaned.
    pub title: String,
    pub is_alt_screen: bool,
    /// The mouse events that the program wants; all others belong to the client.
    pub mouse: MouseMode,
    pub mouse_encoding: MouseEncoding,
    /// On the alternate screen without mouse, the wheel is to be sent (as arrow keys).
    pub is_alternate_scroll: bool,
    /// The program wants focus reports.
    pub is_focus_reported: bool,
    /// The program uses key releases or all keys as escapes (kitty flags).
    pub kitty_flags: u8,
    /// The colours that the program set for its whole screen (OSC 10, 11).
    pub default_fg: Color,
    pub default_bg: Color,
    /// Absolute number of the oldest line of history that is kept.
    pub oldest_line: u64,
    /// Absolute number of the line at the top of the screen.
    pub screen_line: u64,
}

impl PaneMeta {
    fn of(term: &Term) -> Self {
        let modes = term.modes();
        let (default_fg, default_bg) = term.default_colors();
        let numbers = term.history().numbers();
        Self {
            cursor: term.cursor(),
            title: term.title().to_owned(),
            is_alt_screen: modes.is_alt_screen,
            mouse: modes.mouse,
            mouse_encoding: modes.mouse_encoding,
            is_alternate_scroll: modes.is_alternate_scroll,
            is_focus_reported: modes.is_focus_reported,
            kitty_flags: modes.kitty.bits(),
            default_fg,
            default_bg,
            oldest_line: numbers.start,
            screen_line: numbers.end,
        }
    }
}

#[derive(Debug, Clone)]
struct VersionedRow {
    version: Version,
    bytes: Arc<[u8]>,
}

/// The server's side: each row encoded once, with the version in which it changed last.
#[derive(Debug, Default)]
pub struct PaneRows {
    version: Version,
    generation: u64,
    size: TermSize,
    rows: Vec<VersionedRow>,
    meta: PaneMeta,
}

impl PaneRows {
    /// Nothing yet; the first update makes version 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Takes the state of `term`; returns whether anything that a client shows has changed. Costs next
    /// to nothing where the terminal has had no output since the last call.
    pub fn update(&mut self, term: &Term) -> bool {
        if self.generation == term.generation() {
            return false;
        }
        let seen = std::mem::replace(&mut self.generation, term.generation());
        let next = self.version + 1;
        let mut has_changed = self.size != term.size() || self.rows.is_empty();
        if has_changed {
            self.size = term.size();
            self.rows.clear();
        }
        for number in 0..self.size.n_rows() {
            let old = self.rows.get_mut(usize::from(number));
            if old.is_some() && !term.is_touched_since(number, seen) {
                continue;
            }
            let bytes = term.encoded_row(number);
            match old {
                Some(old) if *old.bytes == *bytes => {}
                Some(old) => {
                    *old = VersionedRow { version: next, bytes: bytes.into() };
                    has_changed = true;
                }
                None => self.rows.push(VersionedRow { version: next, bytes: bytes.into() }),
            }
        }
        let meta = PaneMeta::of(term);
        if meta != self.meta {
            self.meta = meta;
            has_changed = true;
        }
        if has_changed {
            self.version = next;
        }
        has_changed
    }

    /// All that a client which has seen `version` lacks; 0 for one that has seen nothing.
    pub fn newer_than(&self, version: Version) -> Patch {
        let rows = (0u16..).zip(&self.rows).filter(|(_, row)| row.version > version);
        Patch {
            version: self.version,
            size: self.size,
            rows: rows.map(|(number, row)| (number, Arc::clone(&row.bytes))).collect(),
            meta: self.meta.clone(),
        }
    }
}

/// What brings a client from any version it was made for to `version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub version: Version,
    pub size: TermSize,
    /// Row numbers from 0, and their bytes as in `row.rs`.
    pub rows: Vec<(u16, Arc<[u8]>)>,
    pub meta: PaneMeta,
}

impl Patch {
    /// The patch as bytes for the wire.
    pub fn encode(&self) -> Vec<u8> {
        let n_bytes: usize = self.rows.iter().map(|(_, bytes)| bytes.len() + 5).sum();
        let mut out = Vec::with_capacity(n_bytes + 64 + self.meta.title.len());
        write_number(&mut out, self.version);
        write_number(&mut out, self.size.n_rows().into());
        write_number(&mut out, self.size.n_cols().into());
        write_meta(&mut out, &self.meta);
        for (number, bytes) in &self.rows {
            write_number(&mut out, (*number).into());
            write_block(&mut out, bytes);
        }
        out
    }

    /// Reads a patch from the wire.
    ///
    /// # Errors
    /// [`PtyError::Malformed`] where the bytes were not made by [`Patch::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, PtyError> {
        let mut reader = Reader::new(bytes);
        let version = reader.number()?;
        let size = TermSize::clamped(reader.short()?, reader.short()?);
        let meta = read_meta(&mut reader)?;
        let mut rows = Vec::new();
        while !reader.is_empty() {
            let number = reader.short()?;
            if number >= size.n_rows() || rows.len() >= usize::from(size.n_rows()) {
                return Err(PtyError::Malformed { what: "patch: a row lies outside of the screen" });
            }
            rows.push((number, reader.block()?.into()));
        }
        Ok(Self { version, size, rows, meta })
    }
}

fn write_block(out: &mut Vec<u8>, bytes: &[u8]) {
    write_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_meta(out: &mut Vec<u8>, meta: &PaneMeta) {
    let flags =
        [meta.cursor.is_visible, meta.is_alt_screen, meta.is_alternate_scroll, meta.is_focus_reported];
    out.push(flags.iter().zip([1, 2, 4, 8]).filter(|(is_on, _)| **is_on).map(|(_, bit)| bit).sum());
    write_number(out, meta.cursor.row.into());
    write_number(out, meta.cursor.col.into());
    out.extend_from_slice(&[
        position(&SHAPES, meta.cursor.shape),
        position(&MOUSE_MODES, meta.mouse),
        position(&MOUSE_ENCODINGS, meta.mouse_encoding),
        meta.kitty_flags,
    ]);
    for color in [meta.default_fg, meta.default_bg] {
        match color {
            Color::Default => out.push(0),
            Color::Indexed(index) => out.extend_from_slice(&[1, index]),
            Color::Rgb(red, green, blue) => out.extend_from_slice(&[2, red, green, blue]),
        }
    }
    write_number(out, meta.oldest_line);
    write_number(out, meta.screen_line);
    write_block(out, meta.title.as_bytes());
}

fn read_meta(reader: &mut Reader<'_>) -> Result<PaneMeta, PtyError> {
    let flags = reader.byte()?;
    let (row, col) = (reader.short()?, reader.short()?);
    let shape = pick(&SHAPES, reader.byte()?)?;
    let mouse = pick(&MOUSE_MODES, reader.byte()?)?;
    let mouse_encoding = pick(&MOUSE_ENCODINGS, reader.byte()?)?;
    let kitty_flags = reader.byte()?;
    let mut color = || {
        Ok(match reader.byte()? {
            0 => Color::Default,
            1 => Color::Indexed(reader.byte()?),
            2 => Color::Rgb(reader.byte()?, reader.byte()?, reader.byte()?),
            _ => return Err(PtyError::Malformed { what: "colour in a patch" }),
        })
    };
    let (default_fg, default_bg) = (color()?, color()?);
    Ok(PaneMeta {
        cursor: Cursor { row, col, is_visible: flags & 1 != 0, shape },
        is_alt_screen: flags & 2 != 0,
        is_alternate_scroll: flags & 4 != 0,
        is_focus_reported: flags & 8 != 0,
        mouse,
        mouse_encoding,
        kitty_flags,
        default_fg,
        default_bg,
        oldest_line: reader.number()?,
        screen_line: reader.number()?,
        title: reader.text()?.to_owned(),
    })
}

const SHAPES: [CursorShape; 7] = [
    CursorShape::Default,
    CursorShape::BlinkBlock,
    CursorShape::SteadyBlock,
    CursorShape::BlinkUnderline,
    CursorShape::SteadyUnderline,
    CursorShape::BlinkBar,
    CursorShape::SteadyBar,
];
const MOUSE_MODES: [MouseMode; 5] = [
    MouseMode::Off,
    MouseMode::Press,
    MouseMode::PressRelease,
    MouseMode::ButtonMotion,
    MouseMode::AnyMotion,
];
const MOUSE_ENCODINGS: [MouseEncoding; 3] = [MouseEncoding::X10, MouseEncoding::Utf8, MouseEncoding::Sgr];

fn position<T: PartialEq>(values: &[T], value: T) -> u8 {
    (0u8..).zip(values).find(|(_, candidate)| **candidate == value).map_or(0, |(index, _)| index)
}

fn pick<T: Copy>(values: &[T], index: u8) -> Result<T, PtyError> {
    values.get(usize::from(index)).copied().ok_or(PtyError::Malformed { what: "mode in a patch" })
}

/// The client's side: the newest rows and facts of one pane that it has been sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaneImage {
    version: Version,
    size: TermSize,
    rows: Vec<Row>,
    meta: PaneMeta,
}

impl PaneImage {
    /// A pane of which nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a patch; older ones than the image are skipped.
    ///
    /// # Errors
    /// [`PtyError::Malformed`] where a row does not decode; the image is then unchanged.
    pub fn apply(&mut self, patch: &Patch) -> Result<(), PtyError> {
        if patch.version < self.version {
            return Ok(());
        }
        let decoded: Vec<(u16, Row)> = patch
            .rows
            .iter()
            .map(|(number, bytes)| Ok((*number, row::decode(bytes)?)))
            .collect::<Result<_, PtyError>>()?;
        if patch.size != self.size {
            self.rows.clear();
        }
        self.size = patch.size;
        self.rows.resize_with(patch.size.n_rows().into(), Row::default);
        for (number, row) in decoded {
            if let Some(slot) = self.rows.get_mut(usize::from(number)) {
                *slot = row;
            }
        }
        self.version = patch.version;
        self.meta = patch.meta.clone();
        Ok(())
    }

    /// The version that the next patch may be based on.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The size of the pane at the server, which may differ from the view.
    pub fn size(&self) -> TermSize {
        self.size
    }

    /// The rows from the top; empty before the first patch.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Everything beside the rows.
    pub fn meta(&self) -> &PaneMeta {
        &self.meta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pty::term::TermConfig;

    fn term(output: &[u8]) -> Term {
        let mut term = Term::new(TermSize::clamped(3, 10), TermConfig::default());
        term.process(output);
        term
    }

    #[test]
    fn only_changed_rows_are_sent_and_silence_costs_nothing() {
        let mut term = term(b"one\r\ntwo");
        let mut rows = PaneRows::new();
        assert!(rows.update(&term));
        assert!(!rows.update(&term));
        let seen = rows.version();
        term.process(b"\x1b[2;1Hnew");
        assert!(rows.update(&term));
        let numbers: Vec<u16> = rows.newer_than(seen).rows.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1]);
        term.process(b"\x1b[m");
        assert!(!rows.update(&term), "output that shows nothing publishes nothing");
    }

    #[test]
    fn a_patch_survives_the_wire_and_a_truncated_one_is_refused() {
        let term =
            term("\x1b]0;tïtle\x07\x1b[?1003h\x1b[?1006h\x1b[3 q\x1b]11;#123456\x07\x1b[?1049hhi".as_bytes());
        let mut rows = PaneRows::new();
        rows.update(&term);
        let patch = rows.newer_than(0);
        let bytes = patch.encode();
        assert_eq!(Patch::decode(&bytes).unwrap(), patch);
        assert_eq!(patch.meta.title, "tïtle");
        assert_eq!(patch.meta.default_bg, Color::Rgb(0x12, 0x34, 0x56));
        assert!(Patch::decode(&bytes[..bytes.len() - 1]).is_err());
        assert!(Patch::decode(&[]).is_err());
    }

    #[test]
    fn an_image_that_lagged_or_was_resized_equals_the_newest_state() {
        let mut term = term(b"a\r\nb\r\nc");
        let (mut rows, mut image) = (PaneRows::new(), PaneImage::new());
        rows.update(&term);
        image.apply(&rows.newer_than(0)).unwrap();
        for n in 0..5 {
            term.process(format!("\r\nline {n}").as_bytes());
            rows.update(&term);
        }
        term.resize(TermSize::clamped(4, 5));
        rows.update(&term);
        image.apply(&rows.newer_than(image.version())).unwrap();
        let texts: Vec<String> = image.rows().iter().map(Row::text).collect();
        assert_eq!(texts, term.screen_text());
        assert_eq!(image.size(), term.size());
    }
}
