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
use std::time::{Duration, Instant};
use wire::Connection;

/// A server that says nothing for this long, not even that a call waits, is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a call is sent again, under the same request id, after the connection broke.
const N_TRIES: usize = 3;

/// A blocking client of one server.
#[derive(Debug)]
pub struct Client {
    place: Place,
    connection: Option<Connection>,
    /// The command line, for the error that tells how to repeat it.
    argv: Vec<String>,
}

impl Client {
    /// A client that connects at its first call.
    pub fn new(place: Place, argv: Vec<String>) -> Self {
        Self { place, connection: None, argv }
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
            match exchange(&mut connection, request, began, on_keepalive) {
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

fn exchange(
    connection: &mut Connection,
    request: &Request,
    began: Instant,
    on_keepalive: &mut dyn FnMut(u64),
) -> std::io::Result<Response> {
    connection.send(&ClientFrame::Request(request.clone()))?;
    connection.set_patience(Some(SILENCE))?;
    loop {
        match connection.next_frame()? {
            ServerFrame::Response(response) if response.id == request.id => return Ok(response),
            ServerFrame::Keepalive { .. } => {
                on_keepalive(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            ServerFrame::Response(_)
            | ServerFrame::Attached { .. }
            | ServerFrame::Change(_)
            | ServerFrame::History { .. }
            | ServerFrame::Clipboard { .. }
            | ServerFrame::Notice { .. }
            | ServerFrame::Closing { .. } => {}
        }
    }
}
