//! The attached client: a full screen over one connection.
//!
//! One loop: a message comes in (host input, server frame, clock), [`update::update`] changes the
//! [`model::Model`] and answers with commands, and when something changed one frame is drawn. The
//! first change after a pause is drawn at once, a flood at most every 16 ms, and nothing happens
//! while nothing happens. The client holds no truth: what it shows came from the server.

pub mod action;
pub mod ages;
pub mod canvas;
pub mod clipboard;
pub mod copy;
pub mod facts;
pub mod host;
pub mod input;
pub mod keys;
pub mod layout;
pub mod mirror;
pub mod model;
pub mod msg;
pub mod pace;
pub mod paint;
pub mod probe;
pub mod scratch;
pub mod screen;
pub mod stale;
#[cfg(test)]
mod testing;
pub mod theme;
pub mod typist;
pub mod update;
pub mod widget;

use crate::base::clock::Clock;
use crate::base::code::ErrorCode;
use crate::base::sched::{self, Class};
use crate::client::find::Place;
use crate::client::stream::{Incoming, Stream, Typed};
use crate::proto::error::ErrorBody;
use crate::proto::screen::{ClientFrame, HostFacts, ServerFrame};
use clipboard::Porter;
use model::{Model, Options};
use msg::{Cmd, Left, Msg};
use pace::Pace;
use paint::Painter;
use stale::Stale;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use typist::{Straight, Typist};

/// How long a frame waits for the echo of a key, so that one frame shows both.
const ECHO: Duration = Duration::from_millis(3);
/// How long the first frame waits for the first pictures: what would be shown before them is nothing.
const FIRST: Duration = Duration::from_millis(100);
/// Between two tries to reach a server that went away.
const RETRY: Duration = Duration::from_millis(500);
/// Host events that wait at most; a full queue slows the reader.
const INPUT_QUEUE: usize = 1_024;

/// Shows the screen until the person detaches or the terminal goes. Starts a server where allowed.
///
/// # Errors
/// Not a terminal; or no server could be reached at the start. The terminal is given back.
pub fn run(place: &Place, options: Options) -> Result<Left, ErrorBody> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(ErrorBody::new(ErrorCode::InvalidArgument, "The screen needs a terminal.")
            .next_step("orca status --json")
            .next_step("orca --help"));
    }
    // One thread: each hop to another costs a key its echo.
    sched::set(Class::Keys);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| broken("start the screen", &error))?;
    let result = runtime.block_on(attached(place, options));
    // The reader of host events blocks until the next key; it ends with the process.
    runtime.shutdown_background();
    result
}

fn broken(doing: &str, error: &std::io::Error) -> ErrorBody {
    ErrorBody::new(ErrorCode::RuntimeError, format!("Could not {doing}: {error}."))
}

async fn attached(place: &Place, options: Options) -> Result<Left, ErrorBody> {
    let stream = Stream::attach(place, HostFacts::default()).await?;
    let is_mouse_on = options.config.screen.is_mouse_on;
    let host = host::Host::take(is_mouse_on).map_err(|error| broken("take over the terminal", &error))?;
    let mut model = Model::new(options);
    (model.n_cols, model.n_rows) = host::Host::size();
    let (events, input) = mpsc::channel(INPUT_QUEUE);
    let typist = Arc::new(Typist::default());
    read_input(Arc::clone(&typist), events.clone());
    let tell = move |outcome| events.blocking_send(Event::Msg(Msg::Copied(outcome))).is_ok();
    let porter = Porter::new(model.options.config.clipboard.clone(), model.options.clipboard.clone(), tell);
    let scratch = place.dir.scratch();
    let painter = Painter::default();
    let link = Link::Up(stream);
    let mut screen = Screen { host, painter, model, link, porter, input, typist, scratch, left: None };
    screen.run(place).await.map_err(|error| broken("draw on the terminal", &error))?;
    Ok(screen.left.unwrap_or(Left::Detached))
}

struct Screen {
    host: host::Host,
    painter: Painter,
    model: Model,
    link: Link,
    porter: Porter,
    input: mpsc::Receiver<Event>,
    typist: Arc<Typist>,
    /// The folder of texts for the editor.
    scratch: PathBuf,
    /// Set once it is over.
    left: Option<Left>,
}

impl Screen {
    async fn run(&mut self, place: &Place) -> std::io::Result<()> {
        // Events of the host that were taken in.
        let mut n_taken = 0;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut pace = Pace::new(Instant::now());
        pace.wait(Instant::now(), FIRST);
        let mut was_filled = false;
        // When the screen changes by time alone.
        let mut tick_at = Instant::now();
        // Set from a key until the next picture of its pane, which shows it most likely.
        let mut is_echo_due = false;
        // The pane whose echo is there.
        let mut echoed = None;
        self.take(Msg::Tick(Clock::System.now()))?;
        while self.left.is_none() {
            let is_stale = self.model.stale != Stale::Nothing;
            let wait = if is_stale { pace.may_draw_at() } else { tick_at };
            let msg = tokio::select! {
                _ = terminate.recv() => break,
                _ = hangup.recv() => break,
                _ = interrupt.recv() => break,
                msg = self.input.recv() => match msg {
                    Some(event) => {
                        n_taken += u64::from(!matches!(event, Event::Msg(Msg::Copied(_))));
                        Some(event)
                    }
                    // The terminal is gone.
                    None => break,
                },
                msg = self.link.next() => Some(msg),
                () = tokio::time::sleep_until(wait.into()) => None,
            };
            let now = Instant::now();
            self.take(Msg::Tick(Clock::System.now()))?;
            match msg {
                Some(Event::Msg(msg)) => {
                    match msg {
                        Msg::Key(_) | Msg::Paste(_) => {
                            is_echo_due = true;
                            if !is_stale {
                                pace.wait(now, ECHO);
                            }
                        }
                        // Whoever types sees it at once, also beside a flood.
                        Msg::Screen { ref terminal, .. }
                            if self.model.focus.as_ref() == Some(terminal)
                                && (self.typist.take_echo_due() | std::mem::take(&mut is_echo_due)) =>
                        {
                            echoed = Some(terminal.clone());
                        }
                        // Who says goodbye reads on until this side has closed.
                        Msg::Lost { .. } | Msg::Server(ServerFrame::Closing { .. }) => {
                            self.link.go_down(place.clone(), self.model.host.clone());
                        }
                        Msg::Screen { .. }
                        | Msg::Mouse(_)
                        | Msg::HostFocus(_)
                        | Msg::Resize { .. }
                        | Msg::Host(_)
                        | Msg::Server(_)
                        | Msg::Copied(_)
                        | Msg::Written { .. }
                        | Msg::Tick(_) => {}
                    }
                    self.take(msg)?;
                }
                Some(Event::Attached(stream, unsent)) => {
                    self.model.early_input.splice(..0, unsent);
                    self.link = Link::Up(stream);
                }
                None => {}
            }
            if !was_filled && self.model.is_filled() {
                was_filled = true;
                pace.hurry(now);
            }
            if now >= tick_at {
                self.model.stale = Stale::Whole;
            }
            // Before the new focus can be seen: who sees it types into it.
            self.typist.arm(n_taken, self.straight());
            if let Some(terminal) = echoed.take() {
                // What else is there to be drawn, of a flood for example, comes in its own time.
                let others = self.model.stale.split_off_others(&terminal);
                if others == Stale::Nothing {
                    pace.hurry(now);
                } else {
                    let n_bytes = self.draw()?;
                    pace.spend(Instant::now(), n_bytes);
                    self.model.stale = others;
                }
            }
            if self.model.stale != Stale::Nothing && Instant::now() >= pace.may_draw_at() {
                let is_whole = self.model.stale == Stale::Whole;
                let n_bytes = self.draw()?;
                if is_whole {
                    tick_at = now + Duration::from_millis(self.model.next_tick_ms());
                }
                pace.note(Instant::now(), n_bytes);
            }
        }
        Ok(())
    }

    /// The way for keys that mean nothing to this screen, while there is one.
    fn straight(&self) -> Option<Straight> {
        let terminal = update::typed_at(&self.model)?.clone();
        let server = self.link.stream()?.sender().clone();
        Some(Straight { terminal, prefix: self.model.keys.prefix, server })
    }

    fn take(&mut self, msg: Msg) -> std::io::Result<()> {
        for cmd in update::update(&mut self.model, msg) {
            match cmd {
                Cmd::Send(frame) => {
                    let is_sent = self.link.stream().is_some_and(|stream| stream.sender().send(&frame));
                    if let (false, ClientFrame::Input { terminal, event }) = (is_sent, frame) {
                        self.model.early_input.push((terminal, event));
                    }
                }
                Cmd::Clipboard(order) => self.porter.take(order),
                Cmd::Host(bytes) => self.host.write(&bytes)?,
                Cmd::Write { terminal, text } => {
                    let path = scratch::write(&self.scratch, &text).map_err(|error| error.to_string());
                    self.take(Msg::Written { terminal, path })?;
                }
                Cmd::Bell => self.host.write("\x07")?,
                Cmd::Redraw => self.painter.forget(),
                Cmd::Mouse(is_ours) => self.host.set_mouse(is_ours)?,
                Cmd::KeyReleases(is_wanted) => self.host.set_key_releases(is_wanted)?,
                Cmd::Quit(left) => self.left = Some(left),
            }
        }
        Ok(())
    }

    /// Gives how many bytes were written.
    fn draw(&mut self) -> std::io::Result<usize> {
        let (model, painter) = (&self.model, &mut self.painter);
        let part = match &model.stale {
            Stale::Rows(rows) => screen::part(model, rows),
            Stale::Nothing | Stale::Whole => None,
        };
        let patch = part.and_then(|part| painter.patch(&part.rows(), |canvas| part.draw(canvas)));
        let size = (model.n_cols, model.n_rows);
        let bytes = patch.unwrap_or_else(|| painter.frame(size, |canvas| model.draw(canvas)));
        self.model.stale = Stale::Nothing;
        if !bytes.is_empty() {
            self.host.write(&bytes)?;
        }
        Ok(bytes.len())
    }
}

/// What the loop waits for.
enum Event {
    Msg(Msg),
    /// The next server, and what the one before it did not take of what was typed.
    Attached(Stream, Vec<Typed>),
}

/// The way to the server.
enum Link {
    Up(Stream),
    /// The tries to reach the next server. They go on while other things happen: whoever types into a
    /// screen without a server does not keep it from finding one.
    Down(Pin<Box<dyn Future<Output = (Stream, Vec<Typed>)>>>),
}

impl Link {
    /// Leaves the server that goes, once it has what was sent to it, and looks for the next.
    fn go_down(&mut self, place: Place, host: HostFacts) {
        let left = std::mem::replace(self, Self::Down(Box::pin(std::future::pending())));
        *self = Self::Down(Box::pin(async move {
            let unsent = match left {
                Self::Up(stream) => stream.finish().await,
                Self::Down(_) => Vec::new(),
            };
            loop {
                tokio::time::sleep(RETRY).await;
                // The status line already says that the server is away; each try may fail.
                if let Ok(stream) = Stream::attach(&place, host.clone()).await {
                    return (stream, unsent);
                }
            }
        }));
    }

    fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Up(stream) => Some(stream),
            Self::Down(_) => None,
        }
    }

    /// The next thing from the server, or the next server.
    async fn next(&mut self) -> Event {
        match self {
            Self::Up(stream) => Event::Msg(match stream.next().await {
                Incoming::Frame(frame) => Msg::Server(frame),
                Incoming::Screen { terminal, patch } => Msg::Screen { terminal, patch },
                Incoming::Closed { reason } => Msg::Lost { reason },
            }),
            Self::Down(tries) => {
                let (stream, unsent) = tries.await;
                Event::Attached(stream, unsent)
            }
        }
    }
}

/// Starts the thread that reads what the host says about itself, then its events.
fn read_input(typist: Arc<Typist>, send: mpsc::Sender<Event>) {
    let hand_over = move |msg: Msg| typist.take(&msg) || send.blocking_send(Event::Msg(msg)).is_ok();
    std::thread::spawn(move || {
        let before = host::Host::size();
        let Some(facts) = probe::read_answers(&hand_over) else { return };
        // Until its reader runs, crossterm hears of no new size.
        let (n_cols, n_rows) = host::Host::size();
        let is_resized = (n_cols, n_rows) != before;
        if hand_over(Msg::Host(facts)) && (!is_resized || hand_over(Msg::Resize { n_cols, n_rows })) {
            input::read_all(hand_over);
        }
    });
}
