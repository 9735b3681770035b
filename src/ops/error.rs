//! Why a verb refused, and the one place that turns it into a code, a sentence and next steps.

use crate::base::code::ErrorCode;
use crate::base::id::BadId;
use crate::model::Refused;
use crate::proto::error::ErrorBody;
use crate::store::StoreError;

/// Why a verb did not do what it was asked.
#[derive(Debug)]
pub enum OpError {
    /// A rule of the contract refused it; the body is what the caller sees.
    Refused(Box<ErrorBody>),
    /// A state machine refused it.
    Lifecycle(Refused),
    /// The store failed.
    Store(StoreError),
    /// Something that cannot happen did; the transaction is aborted and everybody else goes on.
    Bug(String),
}

impl From<StoreError> for OpError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refused> for OpError {
    fn from(refused: Refused) -> Self {
        Self::Lifecycle(refused)
    }
}

impl From<ErrorBody> for OpError {
    fn from(body: ErrorBody) -> Self {
        Self::Refused(Box::new(body))
    }
}

impl From<BadId> for OpError {
    fn from(bad: BadId) -> Self {
        refuse(ErrorCode::InvalidArgument, format!("{bad}.")).into()
    }
}

/// A refusal with a code and a sentence; add next steps and data to it.
pub fn refuse(code: ErrorCode, message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(code, message)
}

/// A flag or value that is missing, malformed or contradicts another.
pub fn invalid(message: impl Into<String>) -> OpError {
    refuse(ErrorCode::InvalidArgument, message).into()
}

/// How many rows a page has: `wanted`, at most `max`. None at all is no page.
pub fn limit_of(wanted: Option<u32>, default: u32, max: u32) -> Result<usize, OpError> {
    match wanted.unwrap_or(default) {
        0 => Err(invalid("--limit must be at least 1.")),
        wanted => Ok(wanted.min(max) as usize),
    }
}

impl From<OpError> for ErrorBody {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Refused(body) => *body,
            OpError::Lifecycle(refused) => {
                Self::new(ErrorCode::LifecycleConflict, format!("Not possible: {refused}."))
            }
            OpError::Store(error) => store_body(&error),
            OpError::Bug(detail) => Self::new(
                ErrorCode::RuntimeError,
                format!(
                    "orca met a state it does not know ({detail}). Nothing was changed; please report it."
                ),
            ),
        }
    }
}

/// What a caller is told of a store failure.
pub fn store_body(error: &StoreError) -> ErrorBody {
    let message = format!("{error}.");
    match error {
        StoreError::Damaged { path, copy, .. } => {
            let quote = |path: &std::path::Path| crate::base::text::shell_quote(&path.display().to_string());
            let (file, aside) = (quote(path), quote(&path.with_extension("damaged")));
            let step = match copy {
                Some(copy) => format!("mv {file} {aside} && cp {} {file} && orca status", quote(copy)),
                None => format!("mv {file} {aside} && orca status"),
            };
            ErrorBody::new(ErrorCode::StoreDamaged, message).next_step(step)
        }
        StoreError::Unwritable { path, .. } => {
            let place = path.parent().filter(|_| path.is_absolute());
            let step = place.map_or_else(
                || String::from("df -h \"${ORCA_HOME:-$HOME/.local/state/orca}\""),
                |place| format!("df -h {}", crate::base::text::shell_quote(&place.display().to_string())),
            );
            ErrorBody::new(ErrorCode::StoreUnwritable, message).next_step(step)
        }
        StoreError::TooNew { .. } => ErrorBody::new(ErrorCode::IncompatibleRuntime, message),
        StoreError::Busy { .. } => {
            ErrorBody::new(ErrorCode::RuntimeUnavailable, message).next_step("orca server status")
        }
        StoreError::BadRow { .. }
        | StoreError::Conflict { .. }
        | StoreError::ReadOnly
        | StoreError::Database(_) => ErrorBody::new(ErrorCode::RuntimeError, message),
    }
}
