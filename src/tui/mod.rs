//! The attached client: a full screen over one connection.
//!
//! One loop: a message comes in (host input, server frame, clock), [`update::update`] changes the
//! [`model::Model`] and answers with commands, and when something changed one frame is drawn. The
//! first change after a pause is drawn at once, a flood at most every 16 ms, and nothing happens
//! while nothing happens. The client holds no truth: what it shows came from the server.

pub mod action;
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
pub mod paint;
pub mod scratch;
pub mod screen;
#[cfg(test)]
mod testing;
pub mod theme;
pub mod update;
pub mod widget;

use crate::base::clock::Clock;
use crate::base::code::ErrorCode;
use crate::client::find::Place;
use crate::client::stream::{Incoming, Stream};
use crate::proto::error::ErrorBody;
use crate::proto::screen::HostFacts;
use clipboard::Porter;
use model::{Model, Options};
use msg::{Cmd, Msg};
use paint::Painter;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How long a frame waits for the echo of a key, so that one frame shows both.
const ECHO: Duration = Duration::from_millis(3);
/// Between two tries to reach a server that went away.
const RETRY: Duration = Duration::from_millis(500);
/// Host events that wait at most; a full queue slows the reader.
const INPUT_QUEUE: usize = 1_024;

/// Shows the screen until the person detaches or the terminal goes. Starts a server where allowed.
///
/// # Errors
/// Not a terminal; or no server could be reached at the start. The terminal is given back.
pub fn run(place: &Place, options: Options) -> Result<(), ErrorBody> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(ErrorBody::new(ErrorCode::InvalidArgument, "The screen needs a terminal.")
            .next_step("orca status --json")
            .next_step("orca --help"));
    }
    // One thread: each hop to another costs a key its echo.
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

async fn attached(place: &Place, options: Options) -> Result<(), ErrorBody> {
    let stream = Stream::attach(place, HostFacts::default()).await?;
    let is_mouse_on = options.config.screen.is_mouse_on;
    let host = host::Host::take(is_mouse_on).map_err(|error| broken("take over the terminal", &error))?;
    let mut model = Model::new(options);
    (model.n_cols, model.n_rows) = host::Host::size();
    let (events, input) = mpsc::channel(INPUT_QUEUE);
    read_input(events.clone());
    let tell = move |outcome| events.blocking_send(Event::Msg(Msg::Copied(outcome))).is_ok();
    let porter = Porter::new(model.options.config.clipboard.clone(), model.options.clipboard.clone(), tell);
    let scratch = place.dir.scratch();
    let painter = Painter::default();
    let mut screen =
        Screen { host, painter, model, stream: Some(stream), porter, input, scratch, is_over: false };
    screen.run(place).await.map_err(|error| broken("draw on the terminal", &error))
}

struct Screen {
    host: host::Host,
    painter: Painter,
    model: Model,
    stream: Option<Stream>,
    porter: Porter,
    input: mpsc::Receiver<Event>,
    /// The folder of texts for the editor.
    scratch: PathBuf,
    is_over: bool,
}

impl Screen {
    async fn run(&mut self, place: &Place) -> std::io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (mut may_draw_at, mut is_dirty) = (Instant::now(), true);
        // Set from a key until the server's next screen, which shows it most likely.
        let mut is_echo_due = false;
        self.take(Msg::Tick(Clock::System.now()))?;
        while !self.is_over {
            let tick = Duration::from_millis(self.model.next_tick_ms());
            let wait = if is_dirty { may_draw_at } else { Instant::now() + tick };
            let msg = tokio::select! {
                biased;
                _ = terminate.recv() => break,
                _ = hangup.recv() => break,
                _ = interrupt.recv() => break,
                msg = self.input.recv() => match msg {
                    Some(msg) => Some(msg),
                    // The terminal is gone.
                    None => break,
                },
                msg = next(&mut self.stream, place) => Some(msg),
                () = tokio::time::sleep_until(wait) => None,
            };
            self.take(Msg::Tick(Clock::System.now()))?;
            match msg {
                Some(Event::Msg(msg)) => {
                    match msg {
                        Msg::Key(_) | Msg::Paste(_) => {
                            is_echo_due = true;
                            if !is_dirty {
                                may_draw_at = may_draw_at.max(Instant::now() + ECHO);
                            }
                        }
                        // Whoever types sees it at once, also beside a flood.
                        Msg::Screen { .. } if std::mem::take(&mut is_echo_due) => {
                            may_draw_at = Instant::now();
                        }
                        Msg::Screen { .. }
                        | Msg::Mouse(_)
                        | Msg::HostFocus(_)
                        | Msg::Resize { .. }
                        | Msg::Host(_)
                        | Msg::Server(_)
                        | Msg::Lost { .. }
                        | Msg::Copied(_)
                        | Msg::Written { .. }
                        | Msg::Tick(_) => {}
                    }
                    self.take(msg)?;
                    is_dirty = true;
                }
                Some(Event::Attached(stream)) => self.stream = Some(stream),
                None => is_dirty = true,
            }
            if is_dirty && Instant::now() >= may_draw_at {
                is_dirty = false;
                // A frame that changed nothing delays none after it.
                if self.draw()? {
                    may_draw_at = Instant::now() + FRAME;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, msg: Msg) -> std::io::Result<()> {
        if matches!(msg, Msg::Lost { .. }) {
            self.stream = None;
        }
        for cmd in update::update(&mut self.model, msg) {
            match cmd {
                Cmd::Send(frame) => {
                    if let Some(stream) = &self.stream {
                        stream.send(&frame);
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
                Cmd::Quit => self.is_over = true,
            }
        }
        Ok(())
    }

    /// Gives whether anything was written.
    fn draw(&mut self) -> std::io::Result<bool> {
        let bytes = self.painter.frame(self.model.draw());
        if bytes.is_empty() {
            return Ok(false);
        }
        self.host.write(&bytes)?;
        Ok(true)
    }
}

/// What the loop waits for.
enum Event {
    Msg(Msg),
    Attached(Stream),
}

/// The next thing from the server, or the next server.
async fn next(stream: &mut Option<Stream>, place: &Place) -> Event {
    match stream {
        Some(stream) => Event::Msg(match stream.next().await {
            Incoming::Frame(frame) => Msg::Server(frame),
            Incoming::Screen { terminal, patch } => Msg::Screen { terminal, patch },
            Incoming::Closed { reason } => Msg::Lost { reason },
        }),
        None => loop {
            tokio::time::sleep(RETRY).await;
            // The status line already says that the server is away; each try may fail.
            if let Ok(stream) = Stream::attach(place, HostFacts::default()).await {
                return Event::Attached(stream);
            }
        },
    }
}

/// Starts the thread that reads the host's events.
fn read_input(send: mpsc::Sender<Event>) {
    std::thread::spawn(move || input::read_all(|msg| send.blocking_send(Event::Msg(msg)).is_ok()));
}
