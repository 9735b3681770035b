//! `cargo bench`: the release binary against tmux, in the same run on the same machine.
//!
//! It prints medians and their ratio to tmux, and holds nothing against anybody: absolute times on a
//! shared machine are weather. What it measures is what a person and an agent feel: the wait for the
//! first frame, the echo of a key, the price of one command, the memory of an idle pane. Without tmux
//! only our own numbers are shown. `tests/bench/orca_adapter.py` runs the larger harness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod outer;
mod peer;

use orca::base::size::TermSize;
use orca::pty::snapshot::PaneRows;
use orca::pty::term::{Term, TermConfig};
use peer::{PROMPT, Peer};
use std::time::{Duration, Instant};

const N_ATTACHES: usize = 9;
const N_KEYS: usize = 80;
const N_CALLS: usize = 60;
const N_PANES: u64 = 50;
/// Bytes of each payload that is shown.
const N_PAYLOAD: usize = 20 << 20;
const N_LINES: usize = 10_000;
/// What cannot be told from nothing, in MB: pages are shared and counted in part.
const NOISE_MB: f64 = 0.02;

/// What one peer took; times in milliseconds, memory in MB.
#[derive(Default)]
struct Numbers {
    attach_ms: f64,
    echo_p50_ms: f64,
    echo_p99_ms: f64,
    flooded_p50_ms: f64,
    flooded_p99_ms: f64,
    call_p50_ms: f64,
    call_p99_ms: f64,
    one_pane_mb: f64,
    per_pane_mb: f64,
    open_ms: f64,
    history_mb: f64,
    shown: [Shown; 3],
}

/// How a payload went through a visible pane.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    mb_per_s: f64,
    /// What reached the outer terminal.
    outer_kb_per_s: f64,
    outer_mb_per_100_mb: f64,
}

/// One of the numbers.
type Of = fn(&Numbers) -> f64;

const ROWS: [(&str, Of); 20] = [
    ("client start to the prompt, ms", |n| n.attach_ms),
    ("echo of a key p50, ms", |n| n.echo_p50_ms),
    ("echo of a key p99, ms", |n| n.echo_p99_ms),
    ("echo beside a flood p50, ms", |n| n.flooded_p50_ms),
    ("echo beside a flood p99, ms", |n| n.flooded_p99_ms),
    ("plain text shown, MB/s", |n| n.shown[0].mb_per_s),
    ("coloured text shown, MB/s", |n| n.shown[1].mb_per_s),
    ("full screens shown, MB/s", |n| n.shown[2].mb_per_s),
    ("to the outer terminal, plain, KB/s", |n| n.shown[0].outer_kb_per_s),
    ("to the outer terminal, coloured, KB/s", |n| n.shown[1].outer_kb_per_s),
    ("to the outer terminal, screens, KB/s", |n| n.shown[2].outer_kb_per_s),
    ("to it per 100 MB of plain text, MB", |n| n.shown[0].outer_mb_per_100_mb),
    ("to it per 100 MB of coloured text, MB", |n| n.shown[1].outer_mb_per_100_mb),
    ("to it per 100 MB of screens, MB", |n| n.shown[2].outer_mb_per_100_mb),
    ("durable message / tmux command p50, ms", |n| n.call_p50_ms),
    ("durable message / tmux command p99, ms", |n| n.call_p99_ms),
    ("50 panes opened by as many commands, ms", |n| n.open_ms),
    ("server and 1 idle pane, MB", |n| n.one_pane_mb),
    ("each further idle pane, MB", |n| n.per_pane_mb),
    ("10,000 lines of history, MB", |n| n.history_mb),
];

fn main() {
    // `cargo test --all-targets` builds this and runs it without the flag.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    emulation();
    let tmux = measure(Peer::tmux);
    let Some(orca) = measure(|| Some(Peer::orca())) else { return };
    println!("\n{:<42}{:>10}{:>10}{:>8}", "", "orca", "tmux", "ratio");
    for (label, of) in ROWS {
        let ours = of(&orca);
        match &tmux {
            Some(tmux) => {
                let theirs = of(tmux);
                // Nothing can be so many times nothing.
                let ratio =
                    if theirs < NOISE_MB { String::from("-") } else { format!("{:.2}", ours / theirs) };
                println!("{label:<42}{ours:>10.2}{theirs:>10.2}{ratio:>8}");
            }
            None => println!("{label:<42}{ours:>10.2}{:>10}", "absent"),
        }
    }
}

/// The emulation alone: bytes in, encoded screens out.
fn emulation() {
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pty/codex-stream.bin");
    let bytes = std::fs::read(stream).unwrap();
    let mut term = Term::new(TermSize::clamped(30, 100), TermConfig::default());
    let (began, mut n_bytes) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(1) {
        for piece in bytes.chunks(16 << 10) {
            term.process(piece);
            drop((term.take_replies(), term.take_events()));
        }
        n_bytes += bytes.len();
    }
    println!(
        "{:<42}{:>10.1}",
        "agent output parsed, MB/s",
        n_bytes as f64 / 1e6 / began.elapsed().as_secs_f64()
    );
    let (began, mut n_frames) = (Instant::now(), 0_u32);
    while began.elapsed() < Duration::from_millis(500) {
        let mut rows = PaneRows::new();
        rows.update(&term);
        assert!(!rows.newer_than(0).encode().is_empty());
        n_frames += 1;
    }
    let each_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(n_frames);
    println!("{:<42}{each_us:>10.1}", "whole screen of 30 x 100 encoded, µs");
}

fn measure(make: impl Fn() -> Option<Peer>) -> Option<Numbers> {
    let quiet = measure_quiet(&make()?);
    let peer = make()?;
    peer.start().detach();
    let flooded = flooded(&peer);
    Some(Numbers {
        flooded_p50_ms: percentile(flooded.clone(), 50),
        flooded_p99_ms: percentile(flooded, 99),
        ..quiet
    })
}

fn measure_quiet(peer: &Peer) -> Numbers {
    peer.start().detach();
    let mut attaches = Vec::new();
    for _ in 0..N_ATTACHES {
        let mut outer = peer.attach();
        let shown_at = outer.wait_for(PROMPT);
        attaches.push(shown_at - outer.began);
        outer.settle(Duration::from_millis(100));
        outer.detach();
    }
    let one_pane = peer.memory_kib();
    let echoes = echo(peer);
    let calls: Vec<_> = (0..N_CALLS).map(|_| peer.call()).collect();
    let history_mb = history(peer);
    let shown = payloads().map(|payload| show(peer, &payload));
    let before = peer.memory_kib();
    let began = Instant::now();
    (0..N_PANES).for_each(|_| peer.open_pane());
    let opened = began.elapsed();
    let mut outer = peer.attach();
    // The last shells have started by the time the screen stands still.
    outer.settle(Duration::from_millis(700));
    outer.detach();
    let all_panes = peer.memory_kib();
    let mb = |n_kib: Option<u64>| n_kib.unwrap_or(0) as f64 / 1024.0;
    Numbers {
        attach_ms: percentile(attaches, 50),
        echo_p50_ms: percentile(echoes.clone(), 50),
        echo_p99_ms: percentile(echoes, 99),
        call_p50_ms: percentile(calls.clone(), 50),
        call_p99_ms: percentile(calls, 99),
        one_pane_mb: mb(one_pane),
        per_pane_mb: (mb(all_panes) - mb(before)).max(0.0) / N_PANES as f64,
        open_ms: opened.as_secs_f64() * 1e3,
        history_mb,
        shown,
        ..Numbers::default()
    }
}

/// Plain lines, coloured lines, and whole screens drawn one over the other.
fn payloads() -> [Vec<u8>; 3] {
    let fill = |piece: &dyn Fn(usize) -> String| {
        let pieces = (0..).map(piece);
        let mut bytes = Vec::with_capacity(N_PAYLOAD + 20_000);
        for piece in pieces {
            if bytes.len() >= N_PAYLOAD {
                break;
            }
            bytes.extend_from_slice(piece.as_bytes());
        }
        bytes.extend_from_slice(b"\x1b[m\r\n");
        bytes
    };
    let words = "the quick brown fox jumps over the lazy dog and runs on";
    let plain = fill(&|n| format!("{n:08} {words} {words}\r\n"));
    let coloured = fill(&|n| {
        let colour = n % 7 + 31;
        format!(
            "\x1b[2m{n:08}\x1b[m \x1b[1;{colour}mINFO\x1b[m {words} \x1b[38;5;{}m{words}\x1b[m\r\n",
            n % 200
        )
    });
    let screens = fill(&|n| {
        let row = |row: usize| {
            format!("\x1b[{row};1H\x1b[48;2;{};20;60m{n:06} {words}\x1b[m\x1b[K", (n + row) % 256)
        };
        (1..45).map(row).collect()
    });
    [plain, coloured, screens]
}

/// Shows a payload in the first pane, with `cat`.
fn show(peer: &Peer, payload: &[u8]) -> Shown {
    let file = peer.dir().join("payload");
    std::fs::write(&file, payload).unwrap();
    let mut outer = peer.attach();
    outer.wait_for(PROMPT);
    outer.settle(Duration::from_millis(300));
    let (began, n_before) = (Instant::now(), outer.n_bytes);
    outer.write(format!("cat {}; printf '%s%s\\n' ALL-WAS SHOWN\r", file.display()).as_bytes());
    let took = (outer.wait_for("ALL-WASSHOWN") - began).as_secs_f64();
    let n_outer = (outer.n_bytes - n_before) as f64;
    outer.write(b"clear\r");
    outer.settle(Duration::from_millis(300));
    outer.detach();
    let mb = payload.len() as f64 / 1e6;
    Shown {
        mb_per_s: mb / took,
        outer_kb_per_s: n_outer / 1e3 / took,
        outer_mb_per_100_mb: n_outer / 1e6 / mb * 100.0,
    }
}

/// What the lines that left the screen take, in MB.
fn history(peer: &Peer) -> f64 {
    let before = peer.memory_kib();
    let line = "x".repeat(78);
    let lines: String = (0..N_LINES).map(|n| format!("{n:05}{line}\r\n")).collect();
    show(peer, lines.as_bytes());
    peer.memory_kib().unwrap_or(0).saturating_sub(before.unwrap_or(0)) as f64 / 1024.0
}

/// Keys into the first pane while a second one on the same screen writes all it can.
fn flooded(peer: &Peer) -> Vec<Duration> {
    peer.open_beside("exec yes the quick brown fox jumps over the lazy dog");
    echo(peer)
}

/// From a key to its character on the outer terminal, through `cat`. Greek letters: nothing that a
/// multiplexer writes by itself contains them.
fn echo(peer: &Peer) -> Vec<Duration> {
    let mut outer = peer.attach();
    outer.wait_for(PROMPT);
    outer.write(b"cat\r");
    outer.read_for(Duration::from_millis(400));
    let letters = ('α'..='ω').cycle().take(N_KEYS);
    let taken = letters.map(|letter| {
        let mut key = [0_u8; 4];
        let key = letter.encode_utf8(&mut key);
        let began = Instant::now();
        outer.write(key.as_bytes());
        let shown_at = outer.wait_for(key);
        outer.read_for(Duration::from_millis(25));
        shown_at - began
    });
    let taken = taken.collect();
    outer.write(b"\r\x04");
    outer.read_for(Duration::from_millis(200));
    outer.detach();
    taken
}

/// In milliseconds.
fn percentile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}
