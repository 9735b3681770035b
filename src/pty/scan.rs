//! Finds where escape sequences begin and end in a stream that may be cut anywhere.
//!
//! Pure functions over bytes, and [`Tail`], which keeps what cannot be judged yet. Nothing here
//! knows what a sequence means. The limits exist because the parser underneath would buffer an
//! unfinished string without end (`terminal.md` 1.1, last row).

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const BEL: u8 = 0x07;

/// The longest control sequence (`CSI …`) that is looked at.
const MAX_CSI: usize = 256;
/// The longest string sequence (OSC, DCS, APC, PM, SOS) that is looked at.
const MAX_STRING: usize = 64 << 10;
/// The longest clipboard write (OSC 52): 1 MiB of text in base64.
const MAX_CLIPBOARD: usize = (1 << 20) / 3 * 4 + 64;

/// The longest sequence of the kind that `sequence` starts; more is dropped up to its terminator.
pub(super) fn limit(sequence: &[u8]) -> usize {
    match sequence.get(1) {
        Some(b']') if sequence.starts_with(b"\x1b]52;") => MAX_CLIPBOARD,
        Some(b']' | b'P' | b'_' | b'^' | b'X') => MAX_STRING,
        _ => MAX_CSI,
    }
}

/// The length of the sequence that starts at `bytes[0]`, which is ESC; `None` while it is not
/// complete. The first `n_checked` bytes were searched before and are not searched again.
///
/// A sequence cut short by another ESC ends in front of it; one that was cancelled by CAN or SUB
/// ends with that byte. Such a rest has no meaning: see [`is_complete`].
pub(super) fn sequence_len(bytes: &[u8], n_checked: usize) -> Option<usize> {
    match *bytes.get(1)? {
        b'[' => csi_len(bytes),
        kind @ (b']' | b'P' | b'_' | b'^' | b'X') => string_len(bytes, kind, n_checked),
        0x20..=0x2f => {
            let end = bytes.iter().skip(2).position(|b| !(0x20..=0x2f).contains(b))? + 2;
            Some(if bytes.get(end) == Some(&ESC) { end } else { end + 1 })
        }
        ESC => Some(1),
        _ => Some(2),
    }
}

fn csi_len(bytes: &[u8]) -> Option<usize> {
    for (i, byte) in bytes.iter().enumerate().skip(2) {
        match *byte {
            0x40..=0x7e | CAN | SUB => return Some(i + 1),
            ESC | 0x80..=0xff => return Some(i),
            _ => {}
        }
    }
    None
}

fn string_len(bytes: &[u8], kind: u8, n_checked: usize) -> Option<usize> {
    let mut i = n_checked.max(2);
    loop {
        let found = i + string_stop(bytes.get(i..)?, kind)?;
        match bytes.get(found) {
            Some(&ESC) => {
                let next = *bytes.get(found + 1)?;
                return Some(if next == b'\\' { found + 2 } else { found });
            }
            Some(_) => return Some(found + 1),
            None => i = found,
        }
    }
}

/// The place of the first byte that ends, or may end, a string sequence of this kind.
fn string_stop(bytes: &[u8], kind: u8) -> Option<usize> {
    let stop = memchr::memchr3(ESC, CAN, SUB, bytes);
    if kind != b']' {
        return stop;
    }
    let bell = memchr::memchr(BEL, bytes.get(..stop.unwrap_or(bytes.len())).unwrap_or(bytes));
    bell.or(stop)
}

/// Whether a sequence, cut out by [`sequence_len`], reached its own end instead of being cancelled.
pub(super) fn is_complete(sequence: &[u8]) -> bool {
    let Some(last) = sequence.last() else { return false };
    match sequence.get(1) {
        Some(b'[') => sequence.len() > 2 && (0x40..=0x7e).contains(last),
        Some(b']') => sequence.ends_with(b"\x1b\\") || *last == BEL,
        Some(b'P' | b'_' | b'^' | b'X') => sequence.ends_with(b"\x1b\\"),
        Some(_) => (0x30..=0x7e).contains(last),
        None => false,
    }
}

/// The payload of a complete string sequence, without introducer and terminator.
pub(super) fn string_body(sequence: &[u8]) -> &[u8] {
    let n_end = if sequence.ends_with(b"\x1b\\") { 2 } else { 1 };
    sequence.get(2..sequence.len().saturating_sub(n_end)).unwrap_or_default()
}

/// How many bytes at the end of `bytes` begin a UTF-8 character that more bytes could finish.
pub(super) fn utf8_tail(bytes: &[u8]) -> usize {
    for n in 1..=bytes.len().min(3) {
        let end = &bytes[bytes.len() - n..];
        if end[0] & 0xc0 == 0x80 {
            continue;
        }
        let is_unfinished = std::str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
        return if is_unfinished { n } else { 0 };
    }
    0
}

/// A control sequence taken apart: `CSI private params intermediates final`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Csi<'a> {
    /// `<`, `=`, `>`, `?`, or 0.
    pub private: u8,
    pub params: &'a [u8],
    pub intermediates: &'a [u8],
    pub last: u8,
}

impl<'a> Csi<'a> {
    /// Takes a complete control sequence apart; `None` where the grammar does not allow it.
    pub fn parse(sequence: &'a [u8]) -> Option<Self> {
        let (last, body) = sequence.get(2..)?.split_last()?;
        let (private, body) = match body.split_first() {
            Some((first @ b'<'..=b'?', rest)) => (*first, rest),
            _ => (0, body),
        };
        let n_params = body.iter().take_while(|b| (b'0'..=b';').contains(*b)).count();
        let (params, intermediates) = body.split_at(n_params);
        let is_valid = intermediates.iter().all(|b| (0x20..=0x2f).contains(b));
        is_valid.then_some(Self { private, params, intermediates, last: *last })
    }

    /// The parameter at `index`; `default` where it is missing or 0.
    pub fn number(&self, index: usize, default: u16) -> u16 {
        match self.params().nth(index).map_or(0, |p| p.value()) {
            0 => default,
            value => value,
        }
    }

    /// The parameters, with their colon-separated parts.
    pub fn params(&self) -> impl Iterator<Item = Param<'a>> + use<'a> {
        self.params.split(|b| *b == b';').map(Param)
    }
}

/// One parameter of a control sequence, for example `4:3`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Param<'a>(&'a [u8]);

impl<'a> Param<'a> {
    /// The first part; 0 where it is empty.
    pub fn value(self) -> u16 {
        let n_first = self.0.iter().position(|b| *b == b':').unwrap_or(self.0.len());
        self.0.get(..n_first).map_or(0, decimal)
    }

    /// The parts between colons; an empty part is `None`.
    pub fn parts(self) -> impl Iterator<Item = Option<u16>> + use<'a> {
        self.0.split(|b| *b == b':').map(|part| if part.is_empty() { None } else { Some(decimal(part)) })
    }

    /// Whether the parameter is written with colons.
    pub fn has_parts(self) -> bool {
        self.0.contains(&b':')
    }
}

fn decimal(digits: &[u8]) -> u16 {
    digits.iter().fold(0u16, |value, digit| {
        value.saturating_mul(10).saturating_add(u16::from(digit.wrapping_sub(b'0').min(9)))
    })
}

/// What the end of the stream left undecided: the beginning of a character or a sequence, or the
/// fact that an oversized sequence is being dropped.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    dropping: Option<u8>,
}

impl Tail {
    /// Bytes that bring another one into this state: those kept back, or an oversized sequence like the one
    /// that is being skipped.
    pub fn bytes(&self) -> Vec<u8> {
        let Some(kind) = self.dropping else { return self.bytes.clone() };
        let mut oversized = vec![ESC, kind];
        let filling = if (0x20..=0x2f).contains(&kind) { kind } else { b'0' };
        oversized.resize(limit(&oversized) + 1, filling);
        oversized
    }

    /// Skips what belongs to an oversized sequence; returns the rest.
    pub fn skip_dropped<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let Some(kind) = self.dropping else { return data };
        let stop = match kind {
            b'[' => data.iter().position(|b| matches!(*b, 0x40..=0x7e | ESC | CAN | SUB | 0x80..)),
            0x20..=0x2f => data.iter().position(|b| !(0x20..=0x2f).contains(b)),
            _ => string_stop(data, kind),
        };
        let Some(stop) = stop else { return &[] };
        self.dropping = None;
        let is_kept = matches!(data[stop], ESC | 0x80..);
        &data[if is_kept { stop } else { stop + 1 }..]
    }

    /// Joins the bytes kept back with `data`, and says how many of them were searched before.
    pub fn take_joined(&mut self, data: &[u8]) -> Option<(Vec<u8>, usize)> {
        if self.bytes.is_empty() {
            return None;
        }
        let mut joined = std::mem::take(&mut self.bytes);
        // The last byte may be an ESC whose meaning depends on the next one.
        let n_checked = joined.len() - 1;
        joined.extend_from_slice(data);
        Some((joined, n_checked))
    }

    /// Keeps `rest` for the next time, or starts dropping where it has grown past its limit.
    pub fn keep(&mut self, rest: &[u8]) {
        if rest.len() > limit(rest) {
            self.dropping = rest.get(1).copied();
            // A terminator may just have begun.
            if rest.last() == Some(&ESC) {
                self.dropping = None;
                self.bytes.push(ESC);
            }
        } else {
            self.bytes.extend_from_slice(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Option<usize>) {
        assert_eq!(sequence_len(bytes, 0), expected, "{:?}", bytes.escape_ascii().to_string());
    }

    #[test]
    fn sequences_end_where_the_grammar_says() {
        check(b"\x1b[31mx", Some(5));
        check(b"\x1b[31", None);
        check(b"\x1b[3\x1b[m", Some(3));
        check(b"\x1b[3\xc3\xa9", Some(3));
        check(b"\x1b]0;a\x07b", Some(6));
        check(b"\x1b]0;a\x1b\\b", Some(7));
        check(b"\x1b]0;a\x1b", None);
        check(b"\x1b]0;a\x1b[m", Some(5));
        check(b"\x1bPq\x07\x18x", Some(5));
        check(b"\x1b(0q", Some(3));
        check(b"\x1b7", Some(2));
        check(b"\x1b\x1b7", Some(1));
        check(b"\x1b", None);
    }

    #[test]
    fn a_cancelled_sequence_is_not_complete() {
        for cut in [&b"\x1b[3"[..], b"\x1b[3\x18", b"\x1b]0;a", b"\x1bPq\x1a", b"\x1b", b"\x1b("] {
            assert!(!is_complete(cut), "{}", cut.escape_ascii());
        }
        for whole in
            [&b"\x1b[m"[..], b"\x1b]0;a\x07", b"\x1bPq\x1b\\", b"\x1b(B", b"\x1b7", b"\x1b=", b"\x1b\\"]
        {
            assert!(is_complete(whole), "{}", whole.escape_ascii());
        }
    }

    #[test]
    fn only_a_character_that_can_still_become_whole_is_kept_back() {
        let cases: [(&[u8], usize); 7] = [
            (b"a\xc3", 1),
            (b"\xe2\x82", 2),
            (b"\xf0\x9f\x98", 3),
            (b"\xe0\x80", 0),
            (b"\xff", 0),
            (b"ab", 0),
            ("é".as_bytes(), 0),
        ];
        for (bytes, expected) in cases {
            assert_eq!(utf8_tail(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn oversized_sequences_are_dropped_up_to_their_terminator() {
        let mut tail = Tail::default();
        let mut long = b"\x1b]0;".to_vec();
        long.resize(MAX_STRING + 1, b'x');
        tail.keep(&long);
        assert_eq!(tail.skip_dropped(b"still inside"), b"");
        assert_eq!(tail.skip_dropped(b"end\x07after"), b"after");
        assert_eq!(tail.skip_dropped(b"after"), b"after");
    }

    #[test]
    fn parameters_are_bounded_and_split() {
        let csi = Csi::parse(b"\x1b[?99999;4:3;;7$p").unwrap();
        assert_eq!((csi.private, csi.intermediates, csi.last), (b'?', &b"$"[..], b'p'));
        assert_eq!(
            [csi.number(0, 1), csi.number(1, 1), csi.number(2, 9), csi.number(9, 5)],
            [65535, 4, 9, 5]
        );
        let parts: Vec<_> = csi.params().nth(1).unwrap().parts().collect();
        assert_eq!(parts, [Some(4), Some(3)]);
    }
}
