//! `request-show`.

use crate::cli::verb::Verb;
use crate::proto::error::ErrorBody;
use crate::proto::request::{OneRequest, RequestShow};
use clap::Args;

/// Shows what became of a request id: completed, pending or absent.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca orchestration request-show \\\n      --request 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed --json"
)]
pub struct RequestShowArgs {
    /// The id, as a reply shows it under mutation.requestId.
    #[arg(long, value_name = "ID")]
    request: String,
}

impl Verb for RequestShowArgs {
    type Call = RequestShow;
    fn call(&self) -> Result<RequestShow, ErrorBody> {
        Ok(RequestShow { request: self.request.clone() })
    }
    fn text(&self, reply: &OneRequest) -> String {
        let request = &reply.request;
        let method = request.method.as_deref().map(|method| format!("  {method}")).unwrap_or_default();
        format!("{}  {}{method}", crate::base::text::one_line(&request.id), request.state)
    }
}
