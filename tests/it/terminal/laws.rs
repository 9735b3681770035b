//! What holds for any stream, any sizes and any clients, hostile ones included.
//!
//! `ORCA_FUZZ_SECONDS=3600 cargo test --release --test it terminal::laws::fuzz -- --nocapture` tries all
//! laws on new streams for an hour.

use super::grammar::{self, Bytes, N_CLIENTS, Step};
use orca::base::grid::{Color, Row, Run, Style};
use orca::base::size::TermSize;
use orca::pty::event::TermEvent;
use orca::pty::journal::Journal;
use orca::pty::revive::revive;
use orca::pty::row;
use orca::pty::snapshot::{PaneImage, PaneRows, Patch};
use orca::pty::term::{Term, TermConfig};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestError, TestRunner};
use std::cell::Cell;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

type Law = Result<(), TestCaseError>;
/// Output, where it is cut, and the size after it.
type Part = (Bytes, Vec<Index>, Option<TermSize>);
/// Lines, and the sizes after them.
type Gust = (Vec<String>, Vec<TermSize>);

/// The same cases each time: what nobody has seen before is for [`fuzz`].
fn config(n_cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n_cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

fn term(size: TermSize) -> Term {
    Term::new(size, TermConfig::default())
}

fn rows(term: &Term) -> Vec<Row> {
    (0..term.size().n_rows()).map(|number| row::decode(&term.encoded_row(number)).unwrap()).collect()
}

fn told(runs: &[Run]) -> String {
    let told = runs.iter().map(|run| match (&run.link, run.style) {
        (None, style) if style == Style::default() => format!("{:?}{:?} ", run.shape, run.text),
        (link, style) => format!("{:?}{:?} in {style:?} {link:?} ", run.shape, run.text),
    });
    told.collect()
}

fn history(term: &Term) -> Vec<String> {
    term.history().numbers().filter_map(|number| Some(told(&term.history().runs(number)?))).collect()
}

/// What a program and a person can tell of a terminal.
fn picture(term: &Term) -> String {
    let line = |row: &Row| format!("{}{}\n", told(&row.runs), if row.is_wrapped { "..." } else { "" });
    let rows: String = rows(term).iter().map(line).collect();
    let rest = (term.cursor(), term.modes(), term.title(), term.default_colors(), term.is_synchronized());
    format!("{rows}{rest:?}")
}

/// The parser did not fail, and everything on the screen is inside of it.
fn sound(term: &mut Term) -> Law {
    prop_assert!(!term.take_events().contains(&TermEvent::ScreenLost), "the parser failed");
    let (size, cursor) = (term.size(), term.cursor());
    prop_assert!(cursor.row < size.n_rows() && cursor.col < size.n_cols(), "{cursor:?} in {size:?}");
    for row in rows(term) {
        prop_assert!(row.width() <= usize::from(size.n_cols()), "{row:?} in {size:?}");
    }
    Ok(())
}

/// The same output in one piece and in many, resized in between, ends in the same.
fn cut_anywhere(first: TermSize, parts: &[Part]) -> Law {
    let (mut whole, mut cut) = (term(first), term(first));
    for (Bytes(output), cuts, size) in parts {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
        cuts.sort_unstable();
        whole.process(output);
        let mut from = 0;
        for to in cuts.into_iter().chain([output.len()]) {
            cut.process(&output[from..to]);
            from = to;
        }
        for term in [&mut whole, &mut cut] {
            size.iter().for_each(|size| term.resize(*size));
        }
        prop_assert_eq!(picture(&whole), picture(&cut));
        prop_assert_eq!(history(&whole), history(&cut));
        prop_assert_eq!(whole.take_replies(), cut.take_replies());
        let (mut events, mut others) = (whole.take_events(), cut.take_events());
        prop_assert!(!events.contains(&TermEvent::ScreenLost), "the parser failed");
        // A bell is told at the end of a piece.
        for events in [&mut events, &mut others] {
            events.sort_by_key(|event| *event == TermEvent::Bell);
        }
        prop_assert_eq!(events, others);
        sound(&mut whole)?;
    }
    Ok(())
}

/// Everything that was read is drawn.
const ROTATE: Step = Step::Rotate(Bytes(Vec::new()));

/// A terminal with its journal, and the clients that show it.
struct World {
    term: Term,
    dir: tempfile::TempDir,
    journal: Journal,
    server: PaneRows,
    clients: [(PaneImage, Option<Patch>); N_CLIENTS],
}

impl World {
    fn new(size: TermSize) -> Self {
        let (mut term, dir) = (term(size), tempfile::tempdir().unwrap());
        let journal = Journal::open(dir.path(), 1 << 20, size, &term.keyframe()).unwrap();
        Self { term, dir, journal, server: PaneRows::new(), clients: Default::default() }
    }

    fn take(&mut self, step: &Step) -> Law {
        match step {
            Step::Output(Bytes(bytes)) => {
                self.journal.output(bytes).unwrap();
                self.term.process(bytes);
                drop(self.term.take_replies());
            }
            Step::Resize(size) => {
                self.term.resize(*size);
                self.journal.resize(*size);
                prop_assert_eq!(self.term.size(), *size);
            }
            Step::Read(client) => self.read(*client)?,
            Step::Reconnect(client) => self.clients[*client] = Default::default(),
            Step::Again(client) => {
                let (image, last) = &mut self.clients[*client];
                last.iter().for_each(|patch| image.apply(patch).unwrap());
            }
            Step::Rotate(Bytes(ahead)) => {
                let before = picture(&self.term);
                self.journal.output(ahead).unwrap();
                self.journal.rotate(self.term.size(), &self.term.keyframe(), ahead).unwrap();
                prop_assert_eq!(picture(&self.term), before, "making a keyframe changes nothing");
                self.term.process(ahead);
                drop(self.term.take_replies());
            }
            Step::Kill => self.kill()?,
        }
        sound(&mut self.term)
    }

    /// A client takes in what it lacks and then shows what the server shows.
    fn read(&mut self, client: usize) -> Law {
        self.server.update(&self.term);
        let (image, last) = &mut self.clients[client];
        let patch = self.server.newer_than(image.version());
        prop_assert_eq!(&Patch::decode(&patch.encode()).unwrap(), &patch);
        image.apply(&patch).unwrap();
        *last = Some(patch);
        prop_assert_eq!(image.rows(), rows(&self.term));
        prop_assert_eq!(image.meta().cursor, self.term.cursor());
        prop_assert_eq!(&image.meta().title, self.term.title());
        prop_assert_eq!(image.size(), self.term.size());
        Ok(())
    }

    /// The next server draws from the journal what the last one showed, and goes on with it.
    fn kill(&mut self) -> Law {
        self.journal.flush().unwrap();
        let revived = revive(self.dir.path(), TermConfig::default());
        let Some(revived) = revived else { return Err(TestCaseError::fail("nothing is left")) };
        prop_assert_eq!(picture(&revived.term), picture(&self.term));
        self.term = revived.term;
        self.journal = Journal::resume(self.dir.path(), 1 << 20, revived.position).unwrap();
        self.server = PaneRows::new();
        self.clients = Default::default();
        Ok(())
    }
}

/// Output, resizes, lag, lost connections and killed servers change nothing of what is shown.
fn shown_to_everybody(size: TermSize, story: &[Step]) -> Law {
    let mut world = World::new(size);
    story.iter().try_for_each(|step| world.take(step))?;
    (0..N_CLIENTS).try_for_each(|client| world.read(client))?;
    world.kill()
}

/// Lines written to the main screen are there once, whole and in order after any resizes.
fn no_line_is_lost(first: TermSize, storm: &[Gust]) -> Law {
    let mut term = term(first);
    let mut expected = Vec::new();
    for (lines, sizes) in storm {
        for line in lines {
            let line = format!("{}:{line}", expected.len());
            term.process(format!("{line}\r\n").as_bytes());
            expected.push(line);
        }
        for size in sizes {
            term.resize(*size);
            let read = term.text_lines(0, usize::MAX);
            prop_assert_eq!(&read.lines, &expected, "at {:?}", size);
        }
    }
    Ok(())
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let cuts = prop::collection::vec(any::<Index>(), 0..12);
    prop::collection::vec((grammar::output(), cuts, prop::option::weighted(0.3, grammar::size())), 1..5)
}

fn storm() -> impl Strategy<Value = Vec<Gust>> {
    let word = prop::sample::select(vec![
        "word ",
        "日本語",
        "x",
        "👨\u{200d}👩\u{200d}👧",
        "  ",
        "e\u{301}",
        "❤\u{fe0f}",
        "🇯🇵 ",
    ]);
    let line = prop::collection::vec(word, 0..40).prop_map(|words| words.concat().trim_end().to_owned());
    let part = (prop::collection::vec(line, 0..20), prop::collection::vec(grammar::size(), 1..12));
    prop::collection::vec(part, 1..5)
}

/// Blanks at the end of a line that wrapped are no part of it, in history and in what is drawn from it.
#[test]
fn a_line_that_ends_in_rows_of_blanks_comes_back_from_a_journal_as_it_was() {
    let story = [
        Step::Output(Bytes("wide日end\r    \x1b[0S".into())),
        ROTATE,
        Step::Resize(TermSize::clamped(2, 2)),
        ROTATE,
    ];
    shown_to_everybody(TermSize::clamped(1, 2), &story).unwrap();
    let unwritten = [
        Step::Output(Bytes(b"\x1b[65535G\xed\xa0\x80".to_vec())),
        // The second one leaves only what the first one wrote.
        ROTATE,
        ROTATE,
        Step::Output(Bytes("\x1b['}".into())),
        Step::Resize(TermSize::clamped(3, 2)),
    ];
    shown_to_everybody(TermSize::clamped(5, 30), &unwritten).unwrap();
    // Behind the start of a string that is too long to be kept.
    for start in ["\x1bP$qm", "\x1b]0;", "\x1b[", "\x1b(("] {
        let filling = if start.ends_with('(') { "(" } else { "1" };
        let long = format!("{start}{}", filling.repeat(70_000));
        let output = |text: String| Step::Output(Bytes(text.into()));
        let skipped = [
            output(String::from("a")),
            output(long),
            ROTATE,
            ROTATE,
            output(format!("{}mbc", filling.repeat(3))),
        ];
        shown_to_everybody(TermSize::clamped(2, 17), &skipped).unwrap();
    }
    // In front of a wide character that had no room.
    let wrapped = [Step::Output(Bytes("\x1b[2a한".into())), ROTATE, ROTATE];
    shown_to_everybody(TermSize::clamped(2, 3), &wrapped).unwrap();
    // Half of a wide character, in a row that became part of a longer one.
    let cut = [
        Step::Output(Bytes("\x1b[48;2;1;;m👍🏽x日本\x1b[m\x1b[0P".into())),
        Step::Rotate(Bytes(b"abc".to_vec())),
        Step::Resize(TermSize::clamped(4, 17)),
        ROTATE,
    ];
    shown_to_everybody(TermSize::clamped(1, 4), &cut).unwrap();
    // The same where the character has a look that the parser does not know.
    let overlined = [
        Step::Resize(TermSize::clamped(2, 4)),
        Step::Output(Bytes(
            b"\xf0\x9f\x91\xa9\xe2\x80\x8d\r\n\xff\x1b[Z\x1b[48;5;0m\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\x1b[53m"
                .to_vec(),
        )),
        ROTATE,
        Step::Output(Bytes(b"\x1b[0G\xf0\x9f\x87\xafx\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\x1b[a\t".to_vec())),
        Step::Output(Bytes(b"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\x1b#3  \xff".to_vec())),
        Step::Resize(TermSize::clamped(2, 5)),
        ROTATE,
    ];
    shown_to_everybody(TermSize::clamped(1, 2), &overlined).unwrap();
    let mut blank = term(TermSize::clamped(1, 4));
    blank.process(b"a          \r\n\x1b[7mb      \x1b[m     \r\n");
    let lines: Vec<String> = (0..2).filter_map(|line| blank.history().text(line)).collect();
    assert_eq!(lines, ["a", "b      "]);
}

/// Erasing takes the whole of a wide character that it cuts, in its own background, as in xterm.
#[test]
fn no_half_of_a_wide_character_keeps_a_hole_in_the_background() {
    for output in
        ["\x1b[X", "\x1b[1K", "\x1b[P", "\x1b[1J", "\x1b[2G\x1b[K", "\x1b[2G\x1b[X", "\x1b[2G\x1b[@"]
    {
        for screen in ["", "\x1b[?1049h"] {
            let mut erased = term(TermSize::clamped(2, 6));
            erased.process(format!("{screen}\x1b[44m\x1b[2J\x1b[1;1H中x\x1b[1;1H{output}").as_bytes());
            let shown = &rows(&erased)[0].runs;
            assert!(shown.iter().all(|run| run.style.bg == Color::Indexed(4)), "{output:?} {shown:?}");
            assert_eq!(shown.iter().map(|run| run.text.chars().count()).sum::<usize>(), 6, "{output:?}");
        }
    }
}

/// What was erased in a background inside of a row is in history as it was on the screen, and nothing of
/// what was never written beside it.
#[test]
fn blanks_inside_a_row_have_the_background_that_they_were_erased_in() {
    let outputs: [&[u8]; 10] = [
        b"\x1b[41ma\x1b[5G\x1b[3X\x1b[9Gb",
        b"\x1b[41ma\x1b[3X\x1b[m\x1b[9Gb",
        b"\x1b[41m\x1b[3X\x1b[m\x1b[9Gb",
        b"\x1b[41ma\x1b[6G\x1b[K",
        b"\x1b[41ma\x1b[6G\x1b[K\x1b[7G\x1b[mb\x1b[2X",
        b"a\x1b[41;4m\x1b[@\x1b[P\x1b[m\x1b[4Gc",
        // Halves of a wide character that text or a deletion cut.
        "\x1b[41m日本\x1b[m\x1b[4Gx".as_bytes(),
        "\x1b[41m日本x\x1b[m\x1b[4G\x1b[P".as_bytes(),
        "\x1b[41m日本x\x1b[2Gab".as_bytes(),
        "\x1b[41m日本x\x1b[m\x1b[2G\x1b[K".as_bytes(),
    ];
    for output in outputs {
        let mut erased = term(TermSize::clamped(2, 11));
        erased.process(output);
        let shown = rows(&erased)[0].runs.clone();
        erased.process(b"\x1b[m\x1b[2;1H\n");
        let kept = erased.history().runs(0).unwrap();
        let cells = |runs: &[Run]| {
            let cells = runs.iter().flat_map(|run| run.text.chars().map(|c| (c, run.style.bg)));
            let mut cells: Vec<_> = cells.collect();
            while cells.last() == Some(&(' ', Color::Default)) {
                cells.pop();
            }
            cells
        };
        assert_eq!(cells(&kept), cells(&shown), "{}", String::from_utf8_lossy(output));
    }
}

/// A row that was erased in the look of the row above comes back from history as one that was printed so.
#[test]
fn an_erased_row_keeps_its_background_in_history() {
    let mut erased = term(TermSize::clamped(3, 11));
    erased.process(b"\x1b[41m\x1b[2J");
    let mut printed = term(TermSize::clamped(3, 11));
    printed.restore(&erased.keyframe());
    for term in [&mut erased, &mut printed] {
        term.process(b"\r\n\t    \x1b[m\x1b[3H\n\n\n");
        term.resize(TermSize::clamped(6, 39));
    }
    assert_eq!(picture(&erased), picture(&printed));
}

/// What the fuzzer found once: each law holds for these too.
#[test]
fn what_was_found_once_stays_right() {
    let size = TermSize::clamped;
    for (first, output, more, then) in [
        // The cursor waits behind a last column that is blank.
        (size(2, 2), "👍🏽\n", "xy", size(3, 4)),
        (size(2, 2), "👍🏽\n", "👍🏽", size(2, 3)),
        (size(3, 4), "abcd\n", "xy", size(4, 6)),
        (size(3, 4), "abcd\x1b[41m\n\n\n", "xy", size(3, 5)),
        (size(3, 4), "abcd\x1b[2K", "xy", size(3, 2)),
        (size(3, 4), "abcd\x1b[1J", "xy", size(3, 2)),
        (size(3, 4), "abcd\x1b[?2J", "xy", size(3, 2)),
        (size(3, 4), "abcd\x1b[S", "xy", size(3, 2)),
        (size(3, 4), "abcd\x1b[44m\x1b[T", "xy", size(3, 2)),
        (size(3, 4), "abcd\x1b7\r\x1b[2Kx\x1b8", "xy", size(3, 2)),
        (size(3, 4), "\x1b[2Habcd\x1bM", "xy", size(3, 2)),
        // The saved cursor waits there, or counts from the region.
        (size(3, 4), "abcd\x1b7\x1b[3H", "\x1b8xy", size(3, 2)),
        (size(3, 4), "abcd\x1b7\x1b[2K", "\x1b[Habcd\x1b[3H\x1b8xy", size(3, 2)),
        (size(3, 4), "\x1b[?6h\x1b[2;3H\x1b7\x1b[H\x1b[?6l", "\x1b8xy", size(4, 4)),
        // What is repeated is not what was drawn again to put the cursor behind it.
        (size(3, 4), "abcd\x1b[b\x1b[1;4Hx", "\x1b[b", size(4, 4)),
        // A backward tab leaves the margins.
        (size(1, 2), "\x1b[?6h\x1b[?69h\x1b[2;5s\x1b[Z", "x", size(3, 4)),
        (size(3, 20), "\x1b[2;3r\x1b[?6h\x1b[?69h\x1b[12;15s\x1b[Z\x1b[C", "xy", size(3, 20)),
        // A mark on a cell that was erased in some look.
        (size(3, 9), "\x1b[1mab\x1b[2K", "\u{202e}x\u{301}", size(4, 4)),
        // A mark on a cell that nothing was written to, and on the blank that is drawn for it.
        (size(3, 7), "\x1b[2;5Hx", "\x1b[2;4H\u{301}", size(4, 4)),
        (size(3, 7), "\x1b[31;44;1m\x1b[2J\x1b[2;7Hx", "\x1b[2;4H\u{301}a", size(4, 4)),
        (size(3, 7), "\x1b[?69h\x1b[2;6s\x1b[2;5Hx", "\x1b[2;4H\u{301}", size(3, 7)),
        // What is copied from where a wide character had no room is a blank.
        (size(3, 7), "raps\x1b[30m日本\r\x1b[2K", "\x1b[1;2;1;7;1;1;1;1$v", size(3, 7)),
        // A row of a line that goes on was cut short by a wide character, which is gone since.
        (size(2, 3), "abc日本abc👍🏽\r1m\x1b[I한abc", "", size(1, 3)),
        (size(2, 3), "abc日本ab 👍🏽\r \x1b[I한abc", "x", size(1, 3)),
        // The only row leaves the screen by wrapping.
        (size(1, 2), "abcdefg", "hijk", size(2, 3)),
        (size(1, 4), "abc日本語", "👍🏽👍🏽x👍🏽", size(1, 3)),
        (size(1, 3), "ab☝", "\u{fe0f}☝🏽", size(1, 9)),
        (size(3, 4), "abcdefghij\r\nklmnopqrs", "t", size(1, 2)),
    ] {
        let bytes = Bytes(output.as_bytes().to_vec());
        let more = Bytes(more.as_bytes().to_vec());
        let story = [
            Step::Output(bytes.clone()),
            ROTATE,
            Step::Output(more.clone()),
            Step::Kill,
            Step::Resize(then),
            ROTATE,
            Step::Output(more.clone()),
            Step::Kill,
        ];
        let at = format!("{first:?} {output:?} {more:?} {then:?}");
        cut_anywhere(first, &[(bytes, Vec::new(), Some(then))]).expect(&at);
        shown_to_everybody(first, &story).expect(&at);
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_screen(size in grammar::size(), parts in parts()) {
        cut_anywhere(size, &parts)?;
    }

    #[test]
    fn screens_equal_the_servers_whatever_happens_between(size in grammar::size(), story in grammar::story()) {
        shown_to_everybody(size, &story)?;
    }

    #[test]
    fn a_storm_of_resizes_loses_no_line(size in grammar::size(), storm in storm()) {
        no_line_is_lost(size, &storm)?;
    }
}

/// How long [`fuzz`] goes on.
fn fuzz_time() -> Duration {
    let seconds = std::env::var("ORCA_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

/// No case takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time that this process had a processor: on a busy machine a case may wait for long.
fn busy_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// The case that is tried now, and since when.
type Current = Mutex<(Duration, (TermSize, Vec<Part>, Vec<Step>, Vec<Gust>))>;

/// Ends the process with the case that hangs. Lives as long as `current`.
fn watch(current: Weak<Current>) {
    while let Some(current) = current.upgrade() {
        let (since, case) = current.lock().unwrap().clone();
        if busy_time() > since + PATIENCE {
            eprintln!("it hangs: {case:#?}");
            std::process::abort();
        }
        drop(current);
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

#[test]
fn fuzz() {
    let (began, time) = (Instant::now(), fuzz_time());
    let n_cases = Cell::new(0_u64);
    let current = Arc::new(Current::new((busy_time(), Default::default())));
    let watched = Arc::downgrade(&current);
    std::thread::spawn(move || watch(watched));
    loop {
        let case = (grammar::size(), parts(), grammar::story(), storm());
        let rng_seed = if time.is_zero() { RngSeed::Fixed(2) } else { RngSeed::Random };
        let config = ProptestConfig { rng_seed, ..config(20) };
        let outcome = TestRunner::new(config).run(&case, |case| {
            n_cases.set(n_cases.get() + 1);
            *current.lock().unwrap() = (busy_time(), case.clone());
            let (size, parts, story, storm) = case;
            cut_anywhere(size, &parts)?;
            shown_to_everybody(size, &story)?;
            no_line_is_lost(size, &storm)
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, input)) => {
                panic!("{reason}\nafter {} cases: {input:#?}", n_cases.get())
            }
            Err(TestError::Abort(reason)) => panic!("{reason}"),
        }
        if began.elapsed() >= time {
            break;
        }
    }
    println!("{} cases in {:?}", n_cases.get(), began.elapsed());
}
