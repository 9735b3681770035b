//! Why a verb refused, and the one place that turns it into a code, a sentence and next steps.

use crate::base::code::ErrorCode;
use crate::base::id::BadId;
use crate::base::text::shell_quote;
use crate::model::Refused;
use crate::proto::error::ErrorBody;
use crate::store::StoreError;
use std::path::Path;

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

/// How many rows a page has: `wanted`, from 1 to `max`.
pub fn limit_of(wanted: Option<u32>, default: u32, max: u32) -> Result<usize, OpError> {
    match wanted.unwrap_or(default) {
        wanted if (1..=max).contains(&wanted) => Ok(wanted as usize),
        _ => Err(invalid(format!("--limit must be between 1 and {max}."))),
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
        StoreError::Damaged { path, copy, is_gone, .. } => {
            damaged_body(message, path, copy.as_deref(), *is_gone)
        }
        StoreError::Unwritable { path, kind, .. } => unwritable_body(message, path, *kind),
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

/// The ways on from a database that cannot be read: from its copy, where there is one, or with nothing. What
/// is there is moved aside, never removed.
fn damaged_body(message: String, path: &Path, copy: Option<&Path>, is_gone: bool) -> ErrorBody {
    let quote = |path: &Path| shell_quote(&path.display().to_string());
    let file = quote(path);
    let aside = if is_gone {
        String::new()
    } else {
        format!("mv {file} {} && ", quote(&path.with_extension("damaged")))
    };
    let Some(copy) = copy.map(quote) else {
        let message = format!("{message} Without it orca begins with nothing.");
        return ErrorBody::new(ErrorCode::StoreDamaged, message)
            .next_step(format!("{aside}orca server start"));
    };
    let message = format!("{message} Go on from the copy, or put it aside too and begin with nothing.");
    ErrorBody::new(ErrorCode::StoreDamaged, message)
        .next_step(format!("{aside}cp -p {copy} {file} && orca server start"))
        .next_step(format!("{aside}mv {copy} {copy}.old && orca server start"))
}

fn unwritable_body(message: String, path: &Path, kind: std::io::ErrorKind) -> ErrorBody {
    let body = ErrorBody::new(ErrorCode::StoreUnwritable, message);
    let place = path.parent().filter(|_| path.is_absolute());
    let Some(place) = place.map(|place| shell_quote(&place.display().to_string())) else {
        return body.next_step("df -h \"${ORCA_HOME:-$HOME/.local/state/orca}\"");
    };
    if kind == std::io::ErrorKind::PermissionDenied {
        return body.next_step(format!("ls -la {place}")).next_step(format!("chmod -R u+rwX {place}"));
    }
    body.next_step(format!("df -h {place}"))
}
