//! One client: its frames, its open calls, and for an attached screen its changes and panes.
//!
//! A reader takes frames in, each call runs as a job of its own, one writer sends everything. When
//! the client goes, its jobs go with it, and so does whatever the engine kept waiting for it.

use super::command::{CallCommand, Command};
use super::history;
use super::host::{Host, ScreenCount};
use super::hub::{self, Bytes, QUEUE, Subscriber};
use super::outlet::{self, Outlet, Watched};
use super::peer;
use super::screens::Screens;
use super::terminals::Terminals;
use super::writer::{Behind, Writer};
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::report::{OrLog as _, log};
use crate::ops::cx::CallerFacts;
use crate::proto::envelope::{CONTRACT_VERSION, Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::frame::{Decoder, Frame, FrameKind};
use crate::proto::hook::HookReport;
use crate::proto::screen::{Attach, ClientFrame, STOPPED, ServerFrame};
use crate::proto::server::HostCall;
use crate::proto::{AnyCall, Call as _};
use crate::pty::event::TermEvent;
use serde_json::Value;
use std::io::Read as _;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

/// Calls that one client may have open at once.
const MAX_OPEN_CALLS: usize = 128;
/// How often a waiting call says that it still waits.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// How long the last bytes to a client may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Whether the server goes, and whether whoever waits here should come back to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    NotYet,
    /// The next server goes on with what waits.
    ForTheNext,
    /// A person stopped it; nobody is to start another one just to wait on.
    ForGood,
}

/// Serves a client until it goes, or until `closing` says that the server does.
pub async fn serve(host: Arc<Host>, stream: UnixStream, mut closing: watch::Receiver<Closing>) {
    let Some(peer) = stream.peer_cred().or_log("ask who connects") else { return };
    if peer.uid() != host.uid {
        log(format_args!("a process of user {} was turned away", peer.uid()));
        return;
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let Some(stream) = stream.into_std().or_log("take a client in").map(Arc::new) else { return };
    let read = outlet::listening(Arc::clone(&stream), Interest::READABLE);
    let Some(read) = read.or_log("listen to a client") else { return };
    let (out, queue) = mpsc::channel(QUEUE);
    let outlet = Arc::new(Outlet::new(stream));
    let screens =
        Arc::new(Screens::new(Arc::clone(&host.terminals), host.inbox.clone(), Arc::clone(&outlet)));
    let behind = Arc::new(Behind::default());
    let writer = Writer::new(host.inbox.clone(), queue, Arc::clone(&screens), outlet, Arc::clone(&behind));
    let writer = tokio::spawn(writer.run());
    let (jobs, kept) = (JoinSet::new(), JoinSet::new());
    let mut client = Client { host, pid, out, jobs, kept, screens, behind, notices: None, count: None };
    let mut decoder = Decoder::default();
    loop {
        let frame = tokio::select! {
            frame = next_frame(&read, &mut decoder) => frame,
            _ = closing.changed() => {
                if *closing.borrow() == Closing::ForGood {
                    // A client that has gone needs no word.
                    client.send(&ServerFrame::Closing { reason: STOPPED.to_owned() }).await.unwrap_or_default();
                }
                break;
            }
            Some(done) = client.jobs.join_next(), if !client.jobs.is_empty() => match done.or_log("serve a call") {
                Some(()) => continue,
                // Its caller would wait for ever; without the connection it asks what became of it.
                None => None,
            },
        };
        let heard = match frame {
            Some(frame) => client.hear(frame).await,
            None => None,
        };
        if heard.is_none() {
            client.jobs.abort_all();
            break;
        }
    }
    if let Some(notices) = &client.notices {
        notices.abort();
        client.hear_out(&read, &mut decoder).await;
    }
    while client.jobs.join_next().await.is_some() {}
    while client.kept.join_next().await.is_some() {}
    drop(client);
    // The writer ends once its queue is empty and nobody can fill it any more.
    tokio::time::timeout(FAREWELL, writer).await.or_log("a client did not take its last bytes");
}

/// The next frame; None when the client is gone or talks nonsense. Nothing is lost when it is dropped
/// while it waits.
async fn next_frame(socket: &Watched, decoder: &mut Decoder) -> Option<Frame> {
    let mut buffer = [0_u8; 16 << 10];
    loop {
        if let Some(frame) = decoder.next_frame().or_log("a client talks nonsense")? {
            return Some(frame);
        }
        let mut ready = socket.readable().await.ok()?;
        let Ok(read) = ready.try_io(|socket| (&**socket.get_ref()).read(&mut buffer)) else { continue };
        let n_read = read.ok().filter(|n_read| *n_read > 0)?;
        decoder.push(buffer.get(..n_read).unwrap_or_default());
    }
}

struct Client {
    host: Arc<Host>,
    pid: Option<u32>,
    out: mpsc::Sender<Bytes>,
    jobs: JoinSet<()>,
    /// Those that go on without their client.
    kept: JoinSet<()>,
    screens: Arc<Screens>,
    behind: Arc<Behind>,
    /// Set once it is an attached screen.
    count: Option<ScreenCount>,
    /// What hands notices of programs on to a screen; it ends only when it is told to.
    notices: Option<AbortHandle>,
}

impl Client {
    /// Takes a frame in. None: this client cannot be talked to.
    async fn hear(&mut self, frame: Frame) -> Option<()> {
        match frame.kind {
            FrameKind::Control => {}
            FrameKind::Screen => return None,
        }
        let message = serde_json::from_slice(&frame.payload).or_log("read a client's frame")?;
        match message {
            ClientFrame::Request(request) => self.request(request).await,
            ClientFrame::Attach(attach) => self.attach(attach).await,
            ClientFrame::Input { terminal, event } => {
                // A full queue makes this client wait: keys are in order and none is dropped.
                self.screens.input(&terminal, event).await;
                Some(())
            }
            ClientFrame::Host(facts) => {
                self.screens.set_host_facts(&facts);
                Some(())
            }
            ClientFrame::View(view) => {
                self.screens.show(view);
                Some(())
            }
            ClientFrame::Lines(wish) => {
                self.look_back(move |terminals| history::lines(terminals, wish)).await
            }
            ClientFrame::Search(wish) => {
                self.look_back(move |terminals| history::search(terminals, wish)).await
            }
        }
    }

    /// Takes what is typed until the screen knows that the server goes; everything else is for the next one.
    /// What the screen could send reaches its program, and of the rest it knows that it could not.
    async fn hear_out(&self, read: &Watched, decoder: &mut Decoder) {
        let mut patience = std::pin::pin!(tokio::time::sleep(FAREWELL));
        let mut is_open = true;
        loop {
            let frame = tokio::select! {
                frame = next_frame(read, decoder) => frame,
                () = &mut patience, if is_open => {
                    log(format_args!("a screen did not leave in time"));
                    is_open = false;
                    // It can send no more; what is on its way is still read.
                    read.get_ref().shutdown(Shutdown::Read).or_log("close a screen's side");
                    continue;
                }
            };
            let Some(frame) = frame else { return };
            if let Ok(ClientFrame::Input { terminal, event }) = serde_json::from_slice(&frame.payload) {
                self.screens.input_at_last(&terminal, event);
            }
        }
    }

    async fn send(&self, frame: &ServerFrame) -> Option<()> {
        let bytes = hub::encode(frame)?;
        self.out.send(bytes).await.ok()
    }

    /// Answers a question about history beside everything else: reading a journal takes a while.
    async fn look_back(
        &mut self,
        look: impl FnOnce(&Terminals) -> ServerFrame + Send + 'static,
    ) -> Option<()> {
        while self.jobs.len() >= MAX_OPEN_CALLS {
            self.jobs.join_next().await;
        }
        let (terminals, out) = (Arc::clone(&self.host.terminals), self.out.clone());
        self.jobs.spawn(async move {
            let looked = tokio::task::spawn_blocking(move || hub::encode(&look(&terminals))).await;
            if let Some(bytes) = looked.or_log("look into history").flatten() {
                // A closed queue means that the client is gone, and this job with it.
                drop(out.send(bytes).await);
            }
        });
        Some(())
    }

    async fn request(&mut self, request: Request) -> Option<()> {
        while self.kept.try_join_next().is_some() {}
        if self.jobs.len() + self.kept.len() >= MAX_OPEN_CALLS {
            let error = ErrorBody::new(
                ErrorCode::RuntimeError,
                format!("This connection has {MAX_OPEN_CALLS} calls open; let some of them end first."),
            );
            return self.respond(&request.id, Err(error)).await;
        }
        let job = Job {
            host: Arc::clone(&self.host),
            out: self.out.clone(),
            pid: self.pid,
            is_screen: self.count.is_some(),
        };
        // A hook does not keep its agent waiting for an answer, and what it said counts all the same.
        let jobs = if request.method == HookReport::METHOD { &mut self.kept } else { &mut self.jobs };
        jobs.spawn(job.run(request));
        Some(())
    }

    async fn respond(&self, id: &str, answer: Result<Value, ErrorBody>) -> Option<()> {
        let response = Response::new(id, Some(&self.host.runtime_id), answer);
        self.send(&ServerFrame::Response(response)).await
    }

    async fn attach(&mut self, attach: Attach) -> Option<()> {
        if attach.contract != CONTRACT_VERSION {
            self.respond("attach", Err(incompatible(attach.contract, &attach.version))).await?;
            return None;
        }
        if self.count.is_some() {
            return Some(());
        }
        let (id, count) = self.host.count_screen();
        self.count = Some(count);
        self.screens.set_host_facts(&attach.host);
        self.behind.set_id(id);
        self.send(&ServerFrame::Attached { runtime_id: self.host.runtime_id.clone() }).await?;
        self.notices = Some(self.jobs.spawn(notices(self.host.terminals.notices(), self.out.clone())));
        let subscriber =
            Subscriber { id, queue: self.out.clone(), is_behind: Arc::clone(self.behind.flag()) };
        self.host.inbox.send(Command::Attach(subscriber)).await.ok()
    }
}

/// Hands bells, notifications and clipboard writes of programs on to a screen. One that is too slow
/// misses some; none of them is state.
async fn notices(mut events: broadcast::Receiver<(TerminalId, TermEvent)>, out: mpsc::Sender<Bytes>) {
    loop {
        let (terminal, event) = match events.recv().await {
            Ok(notice) => notice,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let frame = match event {
            TermEvent::Bell => ServerFrame::Notice { terminal, text: String::new(), is_bell: true },
            TermEvent::Notify { title, body } => {
                let text = title.map_or_else(|| body.clone(), |title| format!("{title}: {body}"));
                ServerFrame::Notice { terminal, text, is_bell: false }
            }
            TermEvent::Clipboard { text, .. } => ServerFrame::Clipboard { terminal, text },
            TermEvent::Title(_)
            | TermEvent::Progress { .. }
            | TermEvent::Cwd(_)
            | TermEvent::PromptMark { .. }
            | TermEvent::Status(_)
            | TermEvent::Agent(_)
            | TermEvent::AltScreen(_)
            | TermEvent::ScreenLost => continue,
        };
        if let Some(bytes) = hub::encode(&frame)
            && out.try_send(bytes).is_err_and(|error| matches!(error, mpsc::error::TrySendError::Closed(_)))
        {
            return;
        }
    }
}

/// One call on its way.
struct Job {
    host: Arc<Host>,
    out: mpsc::Sender<Bytes>,
    pid: Option<u32>,
    is_screen: bool,
}

impl Job {
    async fn run(self, request: Request) {
        let id = request.id.clone();
        let mut answer = std::pin::pin!(self.answer(request));
        // Not `interval`: its first tick is due at once, which the timer rounds up to a millisecond
        // of waiting in every call.
        let mut keepalive = tokio::time::interval_at(tokio::time::Instant::now() + KEEPALIVE, KEEPALIVE);
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                _ = keepalive.tick() => self.send(&ServerFrame::Keepalive { id: id.clone() }).await,
            }
        };
        // Without an answer the server is on its way out: the caller asks the next one.
        if let Some(answer) = answer {
            let response = Response::new(&id, Some(&self.host.runtime_id), answer);
            self.send(&ServerFrame::Response(response)).await;
        }
    }

    async fn send(&self, frame: &ServerFrame) {
        if let Some(bytes) = hub::encode(frame) {
            // A closed queue means that the client is gone, and this job with it.
            drop(self.out.send(bytes).await);
        }
    }

    async fn answer(&self, request: Request) -> Option<Result<Value, ErrorBody>> {
        if request.contract != CONTRACT_VERSION {
            return Some(Err(incompatible(request.contract, &request.version)));
        }
        match HostCall::decode(&request.method, &request.params) {
            Some(Ok(call)) => return self.host.answer(call).await,
            Some(Err(error)) => return Some(Err(error)),
            None => {}
        }
        let call = match AnyCall::decode(&request.method, request.params.clone()) {
            Ok(call) => call,
            Err(error) => return Some(Err(error)),
        };
        let caller = self.caller(&request, call.needs_place()).await;
        let (reply, answer) = oneshot::channel();
        let Request { params, request_id, .. } = request;
        let command = CallCommand { call, params, request_id, caller, is_awaited: true, reply };
        self.host.inbox.send(Command::Call(Box::new(command))).await.ok()?;
        answer.await.ok()
    }

    async fn caller(&self, request: &Request, needs_place: bool) -> CallerFacts {
        let origin = request.origin.clone();
        let terminals = &self.host.terminals;
        // The process of a terminal may speak before the terminal was taken over, and is found nowhere then.
        let named = origin.env_handle.as_deref().and_then(|handle| TerminalId::parse(handle).ok());
        let is_starting = named.is_some_and(|terminal| terminals.pane(&terminal).is_none());
        let ancestry = self.pid.and_then(|pid| peer::terminal_of(pid, terminals));
        let is_elsewhere = ancestry.is_none() && !is_starting && peer::has_parents();
        let place = match origin.cwd.clone().filter(|_| needs_place) {
            Some(cwd) => tokio::task::spawn_blocking(move || peer::place_of(&cwd))
                .await
                .or_log("look at the caller's folder")
                .flatten(),
            None => None,
        };
        CallerFacts {
            ancestry,
            is_elsewhere,
            place,
            is_screen: self.is_screen,
            ..CallerFacts::of_origin(origin)
        }
    }
}

fn incompatible(contract: u32, version: &str) -> ErrorBody {
    let version: String = version.chars().filter(|c| !c.is_control()).take(40).collect();
    ErrorBody::new(
        ErrorCode::IncompatibleRuntime,
        format!(
            "The server is orca {} with contract {CONTRACT_VERSION}; this command is orca {version} with contract {contract}.",
            env!("CARGO_PKG_VERSION")
        ),
    )
    .next_step("orca server restart")
}
