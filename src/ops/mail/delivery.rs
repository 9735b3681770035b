//! A Run's mail: frozen batches that replay until acknowledged, for one consumer and one waiter at a
//! time (contract 4.5).

use super::check::{Mode, Wish};
use super::reach;
use crate::base::code::ErrorCode;
use crate::base::id::{DeliveryId, RunId};
use crate::base::text;
use crate::model::delivery::{Delivery, DeliveryState};
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::run::{Consumer, Run};
use crate::ops::caller::{self, Caller};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, refuse};
use crate::ops::reply;
use crate::proto::error::ErrorBody;
use crate::proto::mail::Checked;

/// `check` of a Run: acknowledge first, then look, or hand out a batch, or wait for one.
pub(super) fn check(
    cx: &mut Cx<'_>,
    caller: &Caller,
    run: &Run,
    ack: Option<&str>,
    wish: &Wish,
) -> Result<Answer, OpError> {
    let is_consumer = run.consumer.as_ref().is_some_and(|consumer| consumer.is_same(&caller.consumer()));
    let is_look = wish.mode != Mode::Consume && ack.is_none();
    let may_look = is_look && caller.terminal.is_none();
    if !(is_consumer || may_look) {
        return Err(fenced(run).into());
    }
    let acknowledged = ack.map(|id| acknowledge(cx, run, id)).transpose()?;
    let own = Mailbox::Run(run.id.clone());
    if wish.mode != Mode::Consume {
        let boxes = if is_consumer { reach::boxes(cx, &own)? } else { vec![own.clone()] };
        let messages =
            reach::newest(cx, &boxes, wish.mode == Mode::Peek, &wish.types, super::check::MAX_LOOK)?;
        let count = messages.len();
        return reply(&Checked { messages, count, ..about(cx, run, acknowledged, count == 0)? });
    }
    if let Some(batch) = outstanding(cx, &run.id, acknowledged.as_ref(), &wish.types)? {
        return reply(&batch);
    }
    let is_here = reach::has_any(cx, &reach::boxes(cx, &own)?, &wish.types)?;
    let Some(wait_ms) = wish.wait_ms.filter(|_| !is_here) else {
        return reply(&freeze(cx, run, acknowledged, &wish.types)?);
    };
    if cx.world.is_awaited(&Mailbox::Run(run.id.clone())) {
        return match acknowledged {
            Some(acknowledged) => reply(&interrupted(&run.id, acknowledged, "waiter_exists")),
            None => Err(refuse(
                ErrorCode::WaiterExists,
                format!("Another check --wait already waits on {}.", run.id),
            )
            .next_step(format!("orca orchestration check --run {} --peek --json", run.id))
            .into()),
        };
    }
    let on = WaitOn::RunMail {
        run: run.id.clone(),
        generation: run.consumer_generation,
        types: wish.types.iter().map(ToString::to_string).collect(),
        acknowledged: acknowledged.map(|id| id.to_string().into()),
        by: caller.handle().to_owned(),
    };
    Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(wait_ms)), began: cx.now }))
}

/// Refuses to acknowledge a delivery of a Run that the caller does not consume.
pub(super) fn check_not_fenced(cx: &Cx<'_>, id: &str) -> Result<(), OpError> {
    let found = DeliveryId::parse(id).ok().map(|id| cx.tx.get::<Delivery>(id.as_str()));
    match found.transpose()?.flatten() {
        Some(delivery) => Err(fenced(&caller::named_run(cx, delivery.run_id.as_str())?).into()),
        None => Ok(()),
    }
}

fn fenced(run: &Run) -> ErrorBody {
    let owner = run.consumer.as_ref().map_or("nobody", |consumer| consumer.handle());
    refuse(
        ErrorCode::ConsumerFenced,
        format!("{} belongs to {owner}; only its coordinator takes its mail.", run.id),
    )
    .with("effectsApplied", false)
    .next_step(format!("orca orchestration run-show --id {} --json", run.id))
    .next_step(format!("orca orchestration run-use --id {} --json", run.id))
}

/// The reply without messages; an empty one says where else mail waits.
fn about(
    cx: &Cx<'_>,
    run: &Run,
    acknowledged: Option<DeliveryId>,
    is_empty: bool,
) -> Result<Checked, OpError> {
    let own = Mailbox::Run(run.id.clone());
    let is_person = matches!(run.consumer, Some(Consumer::User));
    let elsewhere = if is_empty { reach::elsewhere(cx, &own, is_person)? } else { Vec::new() };
    Ok(Checked { run_id: Some(run.id.clone()), acknowledged, elsewhere, ..Checked::default() })
}

fn interrupted(run: &RunId, acknowledged: DeliveryId, why: &str) -> Checked {
    Checked {
        run_id: Some(run.clone()),
        acknowledged: Some(acknowledged),
        wait_interrupted: Some(why.to_owned()),
        ..Checked::default()
    }
}

fn acknowledge(cx: &mut Cx<'_>, run: &Run, id: &str) -> Result<DeliveryId, OpError> {
    let again = format!("orca orchestration check --run {} --json", run.id);
    let found = match DeliveryId::parse(id) {
        Ok(id) => cx.tx.get::<Delivery>(id.as_str())?.filter(|delivery| delivery.run_id == run.id),
        Err(_) => None,
    };
    let mut delivery = found.ok_or_else(|| {
        let shown = text::cut_chars(&text::one_line(id), 60);
        refuse(
            ErrorCode::StaleDelivery,
            format!("{shown:?} is no delivery of {}; nothing was acknowledged.", run.id),
        )
        .with("effectsApplied", false)
        .next_step(&again)
    })?;
    match delivery.state {
        DeliveryState::Acknowledged => return Ok(delivery.id),
        DeliveryState::Fenced => {
            return Err(refuse(
                ErrorCode::ConsumerFenced,
                format!(
                    "{} was handed out before the Run changed hands; its messages come again.",
                    delivery.id
                ),
            )
            .with("effectsApplied", false)
            .next_step(&again)
            .into());
        }
        DeliveryState::Outstanding => {}
    }
    for id in &delivery.message_ids {
        if let Some(mut message) = cx.tx.get::<Message>(id.as_str())? {
            super::mark_read(cx, &mut message)?;
        }
    }
    let detail = format!("{} ({} messages)", delivery.id, delivery.message_ids.len());
    close(cx, &mut delivery, detail)?;
    Ok(delivery.id)
}

fn close(cx: &mut Cx<'_>, delivery: &mut Delivery, detail: String) -> Result<(), OpError> {
    delivery.state = DeliveryState::Acknowledged;
    delivery.acknowledged_at = Some(cx.now);
    cx.tx.put(delivery)?;
    cx.emit(Fact::new(EventKind::DeliveryAcknowledged, detail).of_run(&delivery.run_id))
}

/// The batch that is out, identical, and marked as handed out again. One whose messages were all read
/// elsewhere is closed instead: there is nothing left in it to handle.
fn outstanding(
    cx: &mut Cx<'_>,
    run: &RunId,
    acknowledged: Option<&DeliveryId>,
    types: &[MessageType],
) -> Result<Option<Checked>, OpError> {
    let Some(mut delivery) = cx.tx.first::<Delivery>("outstanding", run.as_str())? else { return Ok(None) };
    let mut batch = Vec::with_capacity(delivery.message_ids.len());
    for id in &delivery.message_ids {
        batch.extend(cx.tx.get::<Message>(id.as_str())?);
    }
    if batch.iter().all(|message| message.is_read) {
        let detail = format!("{}: its messages were all read elsewhere", delivery.id);
        close(cx, &mut delivery, detail)?;
        return Ok(None);
    }
    delivery.n_redeliveries += 1;
    cx.tx.put(&delivery)?;
    let boxes = reach::boxes(cx, &Mailbox::Run(run.clone()))?;
    let n_newer = |types: &[MessageType]| -> Result<usize, OpError> {
        let n_batch = batch.iter().filter(|one| !one.is_read && reach::is_of(one, types)).count();
        Ok(reach::n_of(cx, &boxes, types)?.saturating_sub(n_batch))
    };
    Ok(Some(Checked {
        newer_waiting: Some(n_newer(&[])?),
        queued_matching_messages: Some(n_newer(types)? > 0),
        run_id: Some(run.clone()),
        delivery_id: Some(delivery.id),
        count: batch.len(),
        messages: reach::rows(cx, &batch)?,
        replayed: Some(true),
        redeliveries: Some(delivery.n_redeliveries),
        acknowledged: acknowledged.cloned(),
        ..Checked::default()
    }))
}

/// Freezes the oldest unread messages, whatever their type, as a new Delivery.
fn freeze(
    cx: &mut Cx<'_>,
    run: &Run,
    acknowledged: Option<DeliveryId>,
    types: &[MessageType],
) -> Result<Checked, OpError> {
    let boxes = reach::boxes(cx, &Mailbox::Run(run.id.clone()))?;
    let reach::Unread { batch, n_behind } = reach::unread(cx, &boxes)?;
    if batch.is_empty() {
        return about(cx, run, acknowledged, true);
    }
    let delivery = Delivery {
        id: DeliveryId::new(cx.ids),
        run_id: run.id.clone(),
        generation: run.consumer_generation,
        message_ids: batch.iter().map(|message| message.id.clone()).collect(),
        state: DeliveryState::Outstanding,
        n_redeliveries: 0,
        created_at: cx.now,
        acknowledged_at: None,
    };
    cx.tx.put(&delivery)?;
    let detail = format!("{} ({} messages)", delivery.id, delivery.message_ids.len());
    cx.emit(Fact::new(EventKind::DeliveryMade, detail).of_run(&run.id))?;
    let n_matching = batch.iter().filter(|message| reach::is_of(message, types)).count();
    Ok(Checked {
        delivery_id: Some(delivery.id),
        count: batch.len(),
        messages: reach::rows(cx, &batch)?,
        replayed: Some(false),
        newer_waiting: Some(n_behind),
        queued_matching_messages: Some(reach::n_of(cx, &boxes, types)? > n_matching),
        ..about(cx, run, acknowledged, false)?
    })
}

/// A waiting `check` of a Run is asked again.
pub fn resume(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::RunMail { run, generation, types, acknowledged, .. } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a Run's mail")));
    };
    let run = caller::named_run(cx, run.as_str())?;
    let acknowledged = acknowledged.as_ref().and_then(|id| DeliveryId::parse(id.as_str()?).ok());
    if run.consumer_generation != *generation {
        return match acknowledged {
            Some(acknowledged) => reply(&interrupted(&run.id, acknowledged, "consumer_fenced")),
            None => Err(fenced(&run).into()),
        };
    }
    let types: Vec<MessageType> = types.iter().filter_map(|name| MessageType::parse(name)).collect();
    // After a restart the same request may find its own batch frozen already.
    if let Some(batch) = outstanding(cx, &run.id, acknowledged.as_ref(), &types)? {
        return reply(&batch);
    }
    let boxes = reach::boxes(cx, &Mailbox::Run(run.id.clone()))?;
    if reach::has_any(cx, &boxes, &types)? {
        return reply(&freeze(cx, &run, acknowledged, &types)?);
    }
    match wake {
        Wake::Changed => Ok(Answer::Wait(wait)),
        Wake::Deadline => reply(&Checked {
            timed_out: true,
            newer_waiting: Some(reach::n_unread(cx, &boxes)?),
            ..about(cx, &run, acknowledged, true)?
        }),
    }
}
