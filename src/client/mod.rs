//! Talking to the daemon. [`Client`] blocks and is what the command line uses: no runtime, no
//! threads. [`stream`] is the screen's own, asynchronous side. [`find`] connects and, where allowed,
//! starts a server.

pub mod find;
pub mod stream;
pub mod wire;

use crate::base::code::ErrorCode;
use crate::proto::envelope::{Request, Response};
use crate::proto::error::ErrorBody;
use crate::proto::screen::{ClientFrame, ServerFrame};
use find::Place;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use wire::Connection;

/// A server that says nothing for this long, not even that a call waits, is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a caller hears that its call still waits, unless it wishes otherwise (contract 4.7).
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How often a call is sent again, under the same request id, after the connection broke.
const N_TRIES: usize = 3;

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
    /// answers a mutation that was done already with its receipt (contract 10).
    pub fn call(
        &mut self,
        request: &Request,
        on_keepalive: &mut dyn FnMut(u64),
    ) -> Result<Response, ErrorBody> {
        let began = Instant::now();
        let mut broken: Option<String> = None;
        for _ in 0..N_TRIES {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => find::connect_or_start(&self.place).map_err(|error| match &broken {
                    // It was sent once, so what happened to it is not known.
                    Some(reason) => self.lost(request, reason),
                    None => error,
                })?,
            };
            let mut ticker = Ticker { began, told: Instant::now(), every: self.keepalive, on_keepalive };
            match exchange(&mut connection, request, &mut ticker) {
                Ok(response) => {
                    self.connection = Some(connection);
                    return Ok(response);
                }
                Err(error) => broken = Some(error.to_string()),
            }
        }
        Err(self.lost(request, broken.as_deref().unwrap_or("the connection broke")))
    }

    /// What the caller is told when nobody knows whether the request took effect (contract 10).
    fn lost(&self, request: &Request, reason: &str) -> ErrorBody {
        let id = request.request_id.as_deref().unwrap_or(&request.id);
        let mut repeated: Vec<String> =
            self.argv.iter().map(|word| crate::base::text::shell_quote(word)).collect();
        if !self.argv.iter().any(|word| word.starts_with("--retry-request")) {
            repeated.extend([String::from("--retry-request"), id.to_owned()]);
        }
        ErrorBody::new(
            ErrorCode::OperationUnknown,
            format!(
                "The connection to the server broke ({reason}), so it is not known whether this took effect."
            ),
        )
        .with("orchestrationRequestId", id)
        .with("originalCommand", &self.argv)
        .next_step(repeated.join(" "))
        .next_step(format!("orca orchestration request-show --request {id} --json"))
    }
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
    ticker: &mut Ticker<'_>,
) -> std::io::Result<Response> {
    connection.send(&ClientFrame::Request(request.clone()))?;
    let mut heard = Instant::now();
    loop {
        connection.set_patience(Some(ticker.left().min(SILENCE)))?;
        let frame = connection.next_frame();
        ticker.tick();
        match frame {
            Ok(ServerFrame::Response(response)) if response.id == request.id => return Ok(response),
            Ok(
                ServerFrame::Keepalive { .. }
                | ServerFrame::Response(_)
                | ServerFrame::Attached { .. }
                | ServerFrame::Change(_)
                | ServerFrame::History { .. }
                | ServerFrame::Clipboard { .. }
                | ServerFrame::Notice { .. }
                | ServerFrame::Focus { .. }
                | ServerFrame::Closing { .. },
            ) => heard = Instant::now(),
            Err(error) => {
                let is_pause = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                if !is_pause || heard.elapsed() >= SILENCE {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::envelope::{CONTRACT_VERSION, Origin};
    use crate::proto::frame::{self, FrameKind};
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

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
        let request = Request {
            id: String::from("r"),
            method: String::from("orchestration.check"),
            params: serde_json::json!({}),
            request_id: None,
            origin: Origin::default(),
            contract: CONTRACT_VERSION,
            version: String::from("test"),
        };
        // Past the second one the server no longer listens.
        let mut on_keepalive = |elapsed_ms: u64| tell.send(elapsed_ms).unwrap_or_default();
        let now = Instant::now();
        let mut ticker = Ticker {
            began: now,
            told: now,
            every: Duration::from_millis(5),
            on_keepalive: &mut on_keepalive,
        };
        let response = exchange(&mut Connection::new(ours), &request, &mut ticker).unwrap();
        assert!(response.ok);
        let heard = server.join().unwrap();
        assert!(heard[0] >= 5 && heard[1] >= heard[0] + 5, "{heard:?}");
    }
}
