//! How a request reaches a server: over the socket, or in process for tests.

use crate::client::{Client, Unanswered};
use crate::proto::envelope::{Request, Response};

/// Carries one request to a server and brings its response.
pub trait Transport {
    /// Sends and waits. `on_keepalive` is called with the elapsed milliseconds while a call waits.
    ///
    /// An `Err` means that no server answered; it says whether the call is kept for the next one. Its
    /// code is `runtime_unavailable`, `incompatible_runtime` or `operation_unknown` (the connection broke
    /// after sending), or what kept a server from starting.
    fn call(
        &mut self,
        request: Request,
        on_keepalive: &mut dyn FnMut(u64),
    ) -> Result<Response, Box<Unanswered>>;

    /// From now on a server that is away is waited for, not started.
    fn never_start(&mut self) {}
}

impl Transport for Client {
    fn call(
        &mut self,
        request: Request,
        on_keepalive: &mut dyn FnMut(u64),
    ) -> Result<Response, Box<Unanswered>> {
        Client::call(self, &request, on_keepalive)
    }

    fn never_start(&mut self) {
        Client::never_start(self);
    }
}
