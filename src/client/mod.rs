//! Talking to the daemon. [`Client`] blocks and is what the command line uses: no runtime, no
//! threads. [`stream`] is the screen's own, asynchronous side. [`find`] connects and, where allowed,
//! starts a server. [`spool`] keeps mail that no server takes, and stands in for a socket that a sandbox
//! refuses.

pub mod find;
pub mod spool;
pub mod stream;
pub mod wire;

use crate::base::code::ErrorCode;
use crate::base::text::shell_quote;
use crate::proto::envelope::{Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::mail::Ask;
use crate::proto::screen::{ClientFrame, STOPPED, ServerFrame};
use crate::proto::server::ServerStop;
use crate::proto::spool::{Queued, is_carried, is_kept, is_passing};
use crate::proto::terminal::TerminalWait;
use crate::proto::{AnyCall, Call as _, CallKind};
use find::Place;
use spool::{Written, own_wait};
use std::borrow::Cow;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use wire::Connection;

/// A server that says nothing for this long, not even that a call waits, is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);
/// The same for a call that can be kept, because a tool's own time limit must not end it before it is, and
/// for the question whether there is a server at all.
const SHORT_SILENCE: Duration = Duration::from_secs(15);
/// How often a caller hears that its call still waits, unless it wishes otherwise (contract 4.7).
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How often a call that does not wait by itself is sent again, under the same request id, after the
/// connection broke.
const N_TRIES: usize = 3;
/// The longest command line that is given again, in bytes.
const MAX_COMMAND: usize = 8 << 10;
/// The longest pause between two looks for the next server; the first one is much shorter.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Why a call has no response.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    pub error: ErrorBody,
    /// The call is kept and takes effect, once, when a server runs again.
    pub queued: Option<Queued>,
    /// A server may have it already.
    pub was_sent: bool,
    /// The durable request id.
    pub request_id: String,
}

/// An error before it is known whether the call can be kept.
struct Broken {
    error: ErrorBody,
    was_sent: bool,
    /// It lies in its file already.
    written: Option<Box<Written>>,
}

impl Broken {
    fn unsent(error: ErrorBody) -> Self {
        Self { error, was_sent: false, written: None }
    }
}

/// A blocking client of one server.
#[derive(Debug)]
pub struct Client {
    place: Place,
    connection: Option<Connection>,
    /// The command line, for the error that tells how to repeat it.
    argv: Vec<String>,
    /// The time between two calls of `on_keepalive`.
    keepalive: Duration,
}

impl Client {
    /// A client that connects at its first call.
    pub fn new(place: Place, argv: Vec<String>) -> Self {
        Self { place, connection: None, argv, keepalive: KEEPALIVE }
    }

    /// Tells of a waiting call every so many milliseconds; None for every 15 s.
    pub fn with_keepalive_ms(self, keepalive_ms: Option<u64>) -> Self {
        Self { keepalive: keepalive_ms.map_or(KEEPALIVE, Duration::from_millis), ..self }
    }

    /// Where its server is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether a server listens now; starts none.
    pub fn is_running(&mut self) -> bool {
        if self.connection.is_none() {
            self.connection = find::connect_running(&self.place).ok();
        }
        self.connection.is_some()
    }

    /// From now on connects to a server that is there and starts none.
    pub fn never_start(&mut self) {
        self.place.may_start = false;
    }

    /// Lets go of the connection, for example because the server was asked to end.
    pub fn disconnect(&mut self) {
        self.connection = None;
    }

    /// Sends a request and waits for its response. `on_keepalive` hears the elapsed milliseconds while
    /// the call waits.
    ///
    /// A connection that breaks is made anew and the request sent again under its id: the ledger
    /// answers a mutation that was done already with its receipt (contract 10). Mail that no server takes
    /// is kept for the next one (design 7.2).
    pub fn call(
        &mut self,
        request: &Request,
        on_keepalive: &mut dyn FnMut(u64),
    ) -> Result<Response, Box<Unanswered>> {
        let now = Instant::now();
        let mut ticker = Ticker { began: now, told: now, every: self.keepalive, on_keepalive };
        let answered = self.converse(request, &mut ticker);
        answered
            .and_then(|response| self.with_way_on(request, response))
            .map_err(|broken| Box::new(self.keep(request, broken)))
    }

    fn converse(&mut self, request: &Request, ticker: &mut Ticker<'_>) -> Result<Response, Broken> {
        let silence = if is_quick(request) { SHORT_SILENCE } else { SILENCE };
        let mut outage: Option<Outage> = None;
        loop {
            if let Some(outage) = &mut outage {
                if outage.is_over() {
                    break;
                }
                outage.pause(ticker);
            }
            let connected = self.connection.take().map_or_else(|| self.connect(), Ok);
            let mut connection = match (connected, &mut outage) {
                (Ok(connection), _) => connection,
                (Err(NoConnection::Refused(refused)), None) => {
                    return self.through_files(request, &refused, ticker);
                }
                (Err(NoConnection::Absent(error)), None) => return Err(Broken::unsent(*error)),
                // It was sent once, so what happened to it is not known. What waits, waits for the next one.
                (Err(gone), Some(outage)) => {
                    outage.found_none(gone);
                    if outage.until.is_some() { continue } else { break }
                }
            };
            let said = still_to_wait(request, ticker.began.elapsed());
            match exchange(&mut connection, &said, silence, ticker) {
                Ok(response) => {
                    self.connection = Some(connection);
                    return Ok(response);
                }
                // Stopping it was a decision, and coming back would start it again.
                Err(error) if error.kind() == STOPPED_KIND => {
                    let error = self.stopped(request);
                    return Err(Broken { error, was_sent: true, written: None });
                }
                Err(error) => {
                    let until =
                        || own_wait(request).and_then(|wait| ticker.began.checked_add(wait + silence));
                    let outage = outage.get_or_insert_with(|| Outage::new(until()));
                    outage.broke(&error);
                    if is_pause(&error) {
                        // One that hangs would only be asked in vain again.
                        let error = self.silent(request, silence);
                        return Err(Broken { error, was_sent: true, written: None });
                    }
                }
            }
        }
        let error = match outage {
            None => self.lost(request, "the connection broke"),
            Some(Outage { refusal: Some(refusal), .. }) => self.repeatable(request, *refusal),
            Some(outage) => self.lost(request, &outage.reason),
        };
        Err(Broken { error, was_sent: true, written: None })
    }

    /// A server that has no room now stored nothing of what is kept for the next one, which may have it; of
    /// anything else that it could not store an answer to, it keeps what was asked under its request id.
    fn with_way_on(&self, request: &Request, mut response: Response) -> Result<Response, Broken> {
        match response.error.take() {
            Some(error) if is_kept(request) && is_passing(error.code) => return Err(Broken::unsent(error)),
            Some(error) if error.code == ErrorCode::StoreUnwritable => {
                response.error = Some(self.repeatable(request, error));
            }
            error => response.error = error,
        }
        Ok(response)
    }

    /// Adds how to ask again, as the same request, once the reason is gone.
    fn repeatable(&self, request: &Request, error: ErrorBody) -> ErrorBody {
        if !is_mutation(request) {
            return error.next_step(self.command());
        }
        let id = request.request_id.as_deref().unwrap_or(&request.id);
        error.with("orchestrationRequestId", id).next_step(self.repeated(id))
    }

    fn connect(&self) -> Result<Connection, NoConnection> {
        match find::connect_running(&self.place) {
            Ok(connection) => Ok(connection),
            // Another server would refuse this process just as well.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(NoConnection::Refused(error)),
            Err(_) => {
                find::connect_or_start(&self.place).map_err(|error| NoConnection::Absent(Box::new(error)))
            }
        }
    }

    /// The call of a process that may not use sockets.
    fn through_files(
        &self,
        request: &Request,
        refused: &std::io::Error,
        ticker: &mut Ticker<'_>,
    ) -> Result<Response, Broken> {
        let unavailable = |why: &str| {
            find::unavailable(&self.place, &format!("its socket refuses this process ({refused}), {why}"))
        };
        if !is_carried(&request.method) {
            let why = "and of a sandboxed process only send, check, ask and reply pass through files";
            return Err(Broken::unsent(
                unavailable(why)
                    .next_step("orca orchestration check --json")
                    .next_step("orca orchestration ask --help"),
            ));
        }
        if !find::is_locked(&self.place) {
            return Err(Broken::unsent(unavailable("and no server runs").next_step("orca server start")));
        }
        let written = spool::write(&self.place, request).map_err(|error| {
            let is_full = error.code == ErrorCode::SpoolFull;
            Broken::unsent(if is_full { error } else { unavailable("and so do the places for files") })
        })?;
        if let Some(response) = spool::wait(&self.place, &written, request, ticker) {
            return Ok(response);
        }
        let error = unavailable("and no answer came through files").next_step("orca server status");
        if is_kept(request) {
            return Err(Broken { error, was_sent: true, written: Some(Box::new(written)) });
        }
        written.take_back();
        Err(Broken::unsent(error))
    }

    /// Keeps a call that no server took, where it is worth it and possible.
    fn keep(&self, request: &Request, broken: Broken) -> Unanswered {
        let request_id = request.request_id.as_deref().unwrap_or(&request.id).to_owned();
        let Broken { mut error, was_sent, written } = broken;
        // A question that was sent is asked already, or its asker asks again under the same id.
        let is_asked = was_sent && written.is_none() && request.method == Ask::METHOD;
        if is_asked || !is_kept(request) || error.code == ErrorCode::SpoolFull {
            return Unanswered { error, queued: None, was_sent, request_id };
        }
        let queued = match written.map_or_else(|| spool::write(&self.place, request), |written| Ok(*written))
        {
            Ok(written) => Some(Queued {
                queued: true,
                request_id: request_id.clone(),
                queued_at: written.at,
                file: written.path().display().to_string(),
                reason: error.message.clone(),
                next_steps: vec![String::from("orca server start"), self.repeated(&request_id)],
            }),
            Err(not_kept) => {
                let full = not_kept.code == ErrorCode::SpoolFull;
                error.message =
                    format!("{} It could not be kept either: {}", error.message, not_kept.message);
                if full {
                    error.code = not_kept.code;
                    error = not_kept.next_steps().into_iter().fold(error, ErrorBody::next_step);
                }
                None
            }
        };
        Unanswered { error, queued, was_sent, request_id }
    }

    /// The command line that gets the answer of a request, or, of one too long to be shown, what became of it.
    fn repeated(&self, request_id: &str) -> String {
        let has_id = self.argv.iter().any(|word| word.starts_with("--retry-request"));
        match has_id {
            _ if self.argv.iter().map(String::len).sum::<usize>() > MAX_COMMAND => {
                format!("orca orchestration request-show --request {request_id} --json")
            }
            true => self.command(),
            false => format!("{} --retry-request {request_id}", self.command()),
        }
    }

    /// The command line as it was given.
    fn command(&self) -> String {
        let words: Vec<String> = self.argv.iter().map(|word| shell_quote(word)).collect();
        words.join(" ")
    }

    /// What the caller of an open call is told when somebody stopped the server: what it waits for is kept
    /// under its request id, and the same request goes on with the next server.
    fn stopped(&self, request: &Request) -> ErrorBody {
        let error = find::unavailable(&self.place, "somebody stopped it while this call was open")
            .next_step("orca server start");
        self.repeatable(request, error)
    }

    /// What the caller is told of a server that took the call and says nothing.
    fn silent(&self, request: &Request, silence: Duration) -> ErrorBody {
        let process = find::holder(&self.place).map(|pid| format!(" (process {pid})")).unwrap_or_default();
        let why =
            format!("it{process} said nothing for {} s; it hangs, or somebody stopped it", silence.as_secs());
        let mut error = find::unavailable(&self.place, &why);
        if is_mutation(request) {
            error.code = ErrorCode::OperationUnknown;
            error.message.push_str(" It is not known whether this took effect.");
        }
        self.repeatable(request, find::with_ways_out(&self.place, error))
    }

    /// What the caller is told when nobody knows whether the request took effect (contract 10); one that
    /// changes nothing is simply asked again.
    fn lost(&self, request: &Request, reason: &str) -> ErrorBody {
        if !is_mutation(request) {
            return find::unavailable(&self.place, &format!("the connection broke ({reason})"))
                .next_step(self.command());
        }
        let id = request.request_id.as_deref().unwrap_or(&request.id);
        ErrorBody::new(
            ErrorCode::OperationUnknown,
            format!(
                "The connection to the server broke ({reason}), so it is not known whether this took effect."
            ),
        )
        .with("orchestrationRequestId", id)
        .with("originalCommand", &self.argv)
        .next_step(self.repeated(id))
        .next_step(format!("orca orchestration request-show --request {id} --json"))
    }
}

/// Asks the server that runs, if one does, and waits for its answer at most so long. Starts none, keeps
/// nothing.
pub fn ask_running(place: &Place, request: Request, patience: Duration) -> std::io::Result<Response> {
    let mut connection = find::connect_running(place)?;
    let now = Instant::now();
    let mut ticker = Ticker { began: now, told: now, every: patience, on_keepalive: &mut |_| () };
    exchange(&mut connection, &request, patience, &mut ticker)
}

/// Whoever calls must not wait long for a server that hangs: the call is kept, or asks about the server itself.
fn is_quick(request: &Request) -> bool {
    is_kept(request) || ["status.get", ServerStop::METHOD].contains(&request.method.as_str())
}

fn is_mutation(request: &Request) -> bool {
    let call = AnyCall::decode(&request.method, request.params.clone());
    call.is_ok_and(|call| call.kind() == CallKind::Mutation)
}

/// The connection of a call broke; it goes on under its request id with the next server.
struct Outage {
    /// How long a call that waits by itself goes on looking for one; None for any other, which is sent
    /// again a few times only.
    until: Option<Instant>,
    n_breaks: usize,
    pause: Duration,
    reason: String,
    /// Why no other server could be started, where it said so.
    refusal: Option<Box<ErrorBody>>,
}

impl Outage {
    fn new(until: Option<Instant>) -> Self {
        Self { until, n_breaks: 0, pause: Duration::ZERO, reason: String::new(), refusal: None }
    }

    fn broke(&mut self, error: &std::io::Error) {
        self.n_breaks += 1;
        self.refusal = None;
        self.reason = error.to_string();
    }

    /// There is no other server to go on with.
    fn found_none(&mut self, gone: NoConnection) {
        match gone {
            NoConnection::Absent(error) if error.code != ErrorCode::RuntimeUnavailable => {
                self.refusal = Some(error);
            }
            NoConnection::Absent(_) | NoConnection::Refused(_) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.until.map_or(self.n_breaks >= N_TRIES, |until| Instant::now() >= until)
    }

    /// The first look is at once, each later one after a longer pause.
    fn pause(&mut self, ticker: &mut Ticker<'_>) {
        std::thread::sleep(self.pause);
        ticker.tick();
        self.pause = (self.pause * 2).clamp(Duration::from_millis(10), MAX_PAUSE);
    }
}

/// What is said to the next server after so long. A receipt keeps the deadline of a mutation; a wait that
/// leaves none asks only for the time that is left.
fn still_to_wait(request: &Request, elapsed: Duration) -> Cow<'_, Request> {
    let wait = own_wait(request).filter(|_| request.method == TerminalWait::METHOD);
    let Some(wait) = wait.filter(|_| elapsed >= Duration::from_secs(1)) else {
        return Cow::Borrowed(request);
    };
    let left = wait.saturating_sub(elapsed).max(Duration::from_millis(1));
    let mut request = request.clone();
    if let Some(params) = request.params.as_object_mut() {
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        params.insert(String::from("timeoutMs"), left_ms.into());
    }
    Cow::Owned(request)
}

/// How [`exchange`] says that the server was stopped for good; the system gives no such error here.
const STOPPED_KIND: ErrorKind = ErrorKind::NotConnected;

/// Why there is no connection.
enum NoConnection {
    /// A sandbox does not let this process connect.
    Refused(std::io::Error),
    /// There is no server, and none could be started.
    Absent(Box<ErrorBody>),
}

/// Tells the caller from time to time that its call still waits.
struct Ticker<'a> {
    began: Instant,
    told: Instant,
    every: Duration,
    on_keepalive: &'a mut dyn FnMut(u64),
}

impl Ticker<'_> {
    fn left(&self) -> Duration {
        // A socket refuses a patience of zero.
        self.every.saturating_sub(self.told.elapsed()).max(Duration::from_millis(1))
    }

    fn tick(&mut self) {
        if self.told.elapsed() >= self.every {
            (self.on_keepalive)(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            self.told = Instant::now();
        }
    }
}

fn exchange(
    connection: &mut Connection,
    request: &Request,
    silence: Duration,
    ticker: &mut Ticker<'_>,
) -> std::io::Result<Response> {
    connection.send(&ClientFrame::Request(request.clone()))?;
    let (mut heard, mut silence) = (Instant::now(), silence);
    loop {
        connection.set_patience(Some(ticker.left().min(silence)))?;
        let frame = connection.next_frame();
        ticker.tick();
        match frame {
            Ok(ServerFrame::Response(response)) if response.id == request.id => return Ok(response),
            Ok(ServerFrame::Closing { reason }) => {
                let is_stopped = reason == STOPPED;
                return Err(if is_stopped { STOPPED_KIND } else { ErrorKind::ConnectionAborted }.into());
            }
            Ok(
                ServerFrame::Keepalive { .. }
                | ServerFrame::Response(_)
                | ServerFrame::Attached { .. }
                | ServerFrame::Change(_)
                | ServerFrame::Lines { .. }
                | ServerFrame::Found { .. }
                | ServerFrame::Clipboard { .. }
                | ServerFrame::Notice { .. }
                | ServerFrame::Focus { .. },
            ) => {
                // It serves the call; from now on it may be slow.
                (heard, silence) = (Instant::now(), SILENCE);
            }
            Err(error) => {
                if !is_pause(&error) || heard.elapsed() >= silence {
                    return Err(error);
                }
            }
        }
    }
}

/// Nothing was heard for a while; the connection is still there.
fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::envelope::{CONTRACT_VERSION, Origin};
    use crate::proto::frame::{self, FrameKind};
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc;

    fn request(method: &str, params: serde_json::Value) -> Request {
        Request {
            id: String::from("r"),
            method: method.to_owned(),
            params,
            request_id: None,
            origin: Origin::default(),
            contract: CONTRACT_VERSION,
            version: String::from("test"),
        }
    }

    #[test]
    fn a_silent_server_does_not_keep_the_caller_in_the_dark() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (tell, told) = mpsc::channel();
        // The server answers only after the caller heard twice that its call waits.
        let server = std::thread::spawn(move || {
            let heard: Vec<u64> = told.iter().take(2).collect();
            let response = ServerFrame::Response(Response::new("r", None, Ok(serde_json::json!({}))));
            let bytes = serde_json::to_vec(&response).unwrap();
            theirs.write_all(&frame::encode(FrameKind::Control, &bytes).unwrap()).unwrap();
            heard
        });
        let request = request("orchestration.check", serde_json::json!({}));
        // Past the second one the server no longer listens.
        let mut on_keepalive = |elapsed_ms: u64| tell.send(elapsed_ms).unwrap_or_default();
        let now = Instant::now();
        let mut ticker = Ticker {
            began: now,
            told: now,
            every: Duration::from_millis(5),
            on_keepalive: &mut on_keepalive,
        };
        let response = exchange(&mut Connection::new(ours), &request, SILENCE, &mut ticker).unwrap();
        assert!(response.ok);
        let heard = server.join().unwrap();
        assert!(heard[0] >= 5 && heard[1] >= heard[0] + 5, "{heard:?}");
    }

    /// A place where no server can be started.
    fn place(root: &std::path::Path) -> Place {
        let uid = rustix::process::getuid().as_raw();
        let dir = crate::base::path::StateDir::new(root.to_owned(), uid);
        let spools = dir.spools(uid, root);
        Place { dir, uid, spools, may_start: false, program: "/nowhere".into() }
    }

    /// A server that lets go of its first clients without an answer and answers the next one.
    fn fickle(listener: UnixListener, n_breaks: usize) -> std::thread::JoinHandle<Vec<Request>> {
        std::thread::spawn(move || {
            let mut heard = Vec::new();
            for n in 0..=n_breaks {
                let (mut stream, _) = listener.accept().unwrap();
                let mut decoder = frame::Decoder::default();
                let request = loop {
                    let mut buffer = [0_u8; 4096];
                    let n_read = stream.read(&mut buffer).unwrap();
                    decoder.push(&buffer[..n_read]);
                    if let Some(frame) = decoder.next_frame().unwrap() {
                        break frame.payload;
                    }
                };
                let Ok(ClientFrame::Request(request)) = serde_json::from_slice(&request) else {
                    panic!("no request")
                };
                if n == n_breaks {
                    let response = Response::new(&request.id, None, Ok(serde_json::json!({})));
                    let bytes = serde_json::to_vec(&ServerFrame::Response(response)).unwrap();
                    stream.write_all(&frame::encode(FrameKind::Control, &bytes).unwrap()).unwrap();
                }
                heard.push(request);
            }
            heard
        })
    }

    /// What becomes of a call whose connection breaks so often, and what its servers heard.
    fn outcome(
        method: &str,
        params: serde_json::Value,
        n_breaks: usize,
    ) -> Result<Response, Box<Unanswered>> {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let listener = UnixListener::bind(place.dir.socket()).unwrap();
        let server = fickle(listener, n_breaks);
        let request = request(method, params);
        let answer = Client::new(place, vec![String::from("orca")]).call(&request, &mut |_| ());
        // Whoever gave up leaves the server waiting for one more.
        if answer.is_ok() {
            let heard = server.join().unwrap();
            assert_eq!(heard.len(), n_breaks + 1);
            assert!(heard.iter().all(|again| *again == request), "{heard:?}");
        }
        answer
    }

    #[test]
    fn a_call_that_waits_goes_on_under_its_id_however_often_servers_go() {
        let params = serde_json::json!({ "question": "Still there?", "objective": "x", "isWait": true });
        for method in ["orchestration.ask", "orchestration.check", "terminal.wait"] {
            assert!(outcome(method, params.clone(), N_TRIES + 2).is_ok_and(|answer| answer.ok), "{method}");
        }
        let given_up = outcome("orchestration.runCreate", params, N_TRIES + 2).unwrap_err();
        assert_eq!(given_up.error.code, ErrorCode::OperationUnknown);
    }

    #[test]
    fn a_question_that_was_sent_is_not_called_queued_when_its_server_is_stopped() {
        let check = |method: &str, is_queued: bool| {
            let folder = tempfile::tempdir().unwrap();
            let place = place(folder.path());
            let listener = UnixListener::bind(place.dir.socket()).unwrap();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let closing = ServerFrame::Closing { reason: STOPPED.to_owned() };
                let bytes = serde_json::to_vec(&closing).unwrap();
                stream.write_all(&frame::encode(FrameKind::Control, &bytes).unwrap()).unwrap();
                // Until the client hangs up.
                stream.read_to_end(&mut Vec::new()).unwrap_or_default();
            });
            let mut client = Client::new(place, vec![String::from("orca")]);
            let request = request(method, serde_json::json!({ "question": "Still there?" }));
            let unanswered = client.call(&request, &mut |_| ()).unwrap_err();
            assert_eq!((unanswered.was_sent, unanswered.queued.is_some()), (true, is_queued), "{method}");
            assert!(unanswered.error.message.contains("somebody stopped it"), "{}", unanswered.error.message);
            server.join().unwrap();
        };
        check("orchestration.ask", false);
        check("orchestration.send", true);
    }

    #[test]
    fn a_server_that_says_nothing_is_named_with_what_to_do_about_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        std::fs::write(place.dir.lock(), "4711\n").unwrap();
        let lock = std::fs::File::open(place.dir.lock()).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        let client = Client::new(place, vec![String::from("orca"), String::from("x")]);
        let check = |method: &str, code: ErrorCode, last: &str| {
            let request = request(method, serde_json::json!({ "objective": "x" }));
            let error = client.silent(&request, SHORT_SILENCE);
            assert_eq!(error.code, code, "{method}");
            assert!(
                error.message.contains("process 4711") && error.message.contains("15 s"),
                "{}",
                error.message
            );
            let steps = ["kill -CONT 4711", "kill -KILL 4711 && orca server start", last];
            assert_eq!(error.next_steps(), steps, "{method}");
        };
        check("status.get", ErrorCode::RuntimeUnavailable, "orca x");
        check("orchestration.runCreate", ErrorCode::OperationUnknown, "orca x --retry-request r");
    }

    #[test]
    fn a_wait_without_a_receipt_asks_for_the_time_that_is_left() {
        let check = |method: &str, elapsed_ms: u64, expected_ms: u64| {
            let request = request(method, serde_json::json!({ "timeoutMs": 10_000 }));
            let said = still_to_wait(&request, Duration::from_millis(elapsed_ms));
            assert_eq!(said.params["timeoutMs"], expected_ms, "{method} after {elapsed_ms} ms");
        };
        check("terminal.wait", 0, 10_000);
        check("terminal.wait", 4_000, 6_000);
        check("terminal.wait", 90_000, 1);
        check("orchestration.ask", 4_000, 10_000);
    }
}
