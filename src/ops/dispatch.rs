//! `dispatch-show`: the newest attempt at a Task, its brief, and the timeline of all attempts.

use super::cx::{Answer, Cx};
use super::error::OpError;
use super::{caller, reply, task, worker};
use crate::model::dispatch::Dispatch;
use crate::proto::dispatch::{DispatchShow, DispatchShown, History};
use crate::proto::row::DispatchRow;

/// `dispatch-show`.
pub fn show(cx: &mut Cx<'_>, call: DispatchShow) -> Result<Answer, OpError> {
    let named = task::named(cx, None, &call.task)?;
    let newest = cx.tx.last::<Dispatch>("task", named.id.as_str())?;
    let preamble = match (&newest, call.is_preamble) {
        (Some(dispatch), true) => {
            let run = caller::named_run(cx, named.run_id.as_str())?;
            let handle = dispatch.assignee_handle.as_ref().map_or("term_preview", |handle| handle.as_str());
            let agent = worker::worker_of(cx, dispatch)?.and_then(|worker| worker.start_options.agent);
            Some(worker::brief(cx, &run, &named, dispatch, handle, agent.as_deref())?)
        }
        (_, _) => None,
    };
    let history = if call.is_history {
        let attempts = cx.tx.list::<Dispatch>("task", named.id.as_str(), usize::MAX)?;
        Some(History {
            attempts: attempts.iter().map(DispatchRow::from).collect(),
            events: cx.tx.events_of_task(&named.id)?,
        })
    } else {
        None
    };
    reply(&DispatchShown { dispatch: newest.as_ref().map(DispatchRow::from), preamble, history })
}
