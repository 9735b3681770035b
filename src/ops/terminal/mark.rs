//! Whether a person looked at a terminal since an attempt in it ended: `mark`.

use super::{check_shown, target};
use crate::model::dispatch::Dispatch;
use crate::model::terminal::Terminal;
use crate::ops::cx::{Answer, Cx};
use crate::ops::error::OpError;
use crate::ops::reply;
use crate::proto::terminal::{Mark, Marked, TerminalMark};

/// `terminal mark`.
pub fn mark(cx: &mut Cx<'_>, call: TerminalMark) -> Result<Answer, OpError> {
    let terminal = target(cx, call.terminal.as_deref())?;
    check_shown(&terminal)?;
    let mark = Mark { handle: terminal.id.clone(), is_unseen: !call.is_seen };
    set(cx, terminal, mark.is_unseen)?;
    reply(&Marked { mark })
}

/// An attempt ended: its terminal is to be looked at. The screen that shows it says so when somebody does.
pub fn attempt_ended(cx: &mut Cx<'_>, dispatch: &Dispatch) -> Result<(), OpError> {
    let Some(handle) = &dispatch.assignee_handle else { return Ok(()) };
    match cx.tx.get::<Terminal>(handle.as_str())? {
        Some(terminal) => set(cx, terminal, true),
        None => Ok(()),
    }
}

fn set(cx: &mut Cx<'_>, mut terminal: Terminal, is_unseen: bool) -> Result<(), OpError> {
    if terminal.is_unseen == is_unseen {
        return Ok(());
    }
    terminal.is_unseen = is_unseen;
    Ok(cx.tx.put(&terminal)?)
}
