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
const N_PANES: u64 = 10;

/// What one peer took; times in milliseconds, memory in MB.
#[derive(Default)]
struct Numbers {
    attach_ms: f64,
    echo_p50_ms: f64,
    echo_p99_ms: f64,
    call_p50_ms: f64,
    call_p99_ms: f64,
    one_pane_mb: f64,
    per_pane_mb: f64,
}

/// One of the numbers.
type Of = fn(&Numbers) -> f64;

fn main() {
    // `cargo test --all-targets` builds this and runs it without the flag.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    emulation();
    let tmux = Peer::tmux().map(|peer| measure(&peer));
    let orca = measure(&Peer::orca());
    println!("\n{:<42}{:>10}{:>10}{:>8}", "", "orca", "tmux", "ratio");
    let rows: [(&str, Of); 7] = [
        ("client start to the prompt, ms", |n| n.attach_ms),
        ("echo of a key p50, ms", |n| n.echo_p50_ms),
        ("echo of a key p99, ms", |n| n.echo_p99_ms),
        ("durable message / tmux command p50, ms", |n| n.call_p50_ms),
        ("durable message / tmux command p99, ms", |n| n.call_p99_ms),
        ("server and 1 idle pane, MB", |n| n.one_pane_mb),
        ("each further idle pane, MB", |n| n.per_pane_mb),
    ];
    for (label, of) in rows {
        let ours = of(&orca);
        match &tmux {
            Some(tmux) => {
                let theirs = of(tmux);
                println!("{label:<42}{ours:>10.2}{theirs:>10.2}{:>8.2}", ours / theirs);
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

fn measure(peer: &Peer) -> Numbers {
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
    (1..N_PANES).for_each(|_| peer.open_pane());
    let mut outer = peer.attach();
    // The last shells have started by the time the screen stands still.
    outer.settle(Duration::from_millis(700));
    outer.detach();
    let all_panes = peer.memory_kib();
    let (one_pane, all_panes) = (one_pane.unwrap_or(0), all_panes.unwrap_or(0));
    Numbers {
        attach_ms: percentile(attaches, 50),
        echo_p50_ms: percentile(echoes.clone(), 50),
        echo_p99_ms: percentile(echoes, 99),
        call_p50_ms: percentile(calls.clone(), 50),
        call_p99_ms: percentile(calls, 99),
        one_pane_mb: one_pane as f64 / 1024.0,
        per_pane_mb: all_panes.saturating_sub(one_pane) as f64 / 1024.0 / (N_PANES - 1) as f64,
    }
}

/// From a key to its character on the outer terminal, through `cat`. Greek letters: nothing that a
/// multiplexer writes by itself contains them.
fn echo(peer: &Peer) -> Vec<Duration> {
    let mut outer = peer.attach();
    outer.wait_for(PROMPT);
    outer.write(b"cat\r");
    outer.settle(Duration::from_millis(400));
    let letters = ('α'..='ω').cycle().take(N_KEYS);
    let taken = letters.map(|letter| {
        let mut key = [0_u8; 4];
        let key = letter.encode_utf8(&mut key);
        let began = Instant::now();
        outer.write(key.as_bytes());
        let shown_at = outer.wait_for(key);
        outer.settle(Duration::from_millis(25));
        shown_at - began
    });
    let taken = taken.collect();
    outer.write(b"\r\x04");
    outer.settle(Duration::from_millis(200));
    outer.detach();
    taken
}

/// In milliseconds.
fn percentile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}
