//! The timeline of the task that is shown: asked of the server, also for what happened before this client came,
//! and asked again when there is news of the task.

use super::call;
use crate::proto::dispatch::{DispatchShow, DispatchShown};
use crate::tui::model::{CallPurpose, Link, Modal, Model, TaskHistory};
use crate::tui::msg::Cmd;
use serde_json::Value;

/// The call that brings the timeline up to date, if one is due.
pub fn ask(model: &mut Model) -> Option<Cmd> {
    let Some(Modal::Task { task, .. }) = &model.modal else {
        model.history = None;
        return None;
    };
    let task = task.clone();
    if model.link != Link::Attached {
        return None;
    }
    let events = model.mirror.events.iter().rev();
    let newest = events.filter(|event| event.task_id.as_ref() == Some(&task)).map(|event| event.seq).next();
    match model.history.as_ref().filter(|history| history.task == task) {
        Some(known) if known.is_asked || newest.is_none_or(|newest| newest <= known.seq) => return None,
        Some(_) => {}
        None => model.history = Some(TaskHistory::of(&task)),
    }
    if let Some(history) = &mut model.history {
        history.is_asked = true;
        history.seq = model.mirror.seq;
    }
    let show = DispatchShow { task: task.to_string(), is_history: true, ..DispatchShow::default() };
    Some(call(model, &show, CallPurpose::History(task)))
}

/// Takes the answer; one for a task that is not shown any more is dropped.
pub fn arrived(model: &mut Model, task: &crate::base::id::TaskId, result: Option<Value>) {
    let Some(history) = model.history.as_mut().filter(|history| history.task == *task) else { return };
    history.is_asked = false;
    let shown = result.and_then(|result| serde_json::from_value::<DispatchShown>(result).ok());
    if let Some(found) = shown.and_then(|shown| shown.history) {
        history.moments = Some(found.timeline);
    }
}
