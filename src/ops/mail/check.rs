//! `check`: a Run's mail in frozen batches that replay until acknowledged; a worker's, a terminal's
//! or the person's own mail, consumed by reading (contract 4.5, 4.6).

use crate::base::code::ErrorCode;
use crate::base::id::{DeliveryId, RunId};
use crate::base::text;
use crate::model::delivery::{Delivery, DeliveryState, MAX_BATCH};
use crate::model::dispatch::{Dispatch, DispatchState};
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, Message, MessageType};
use crate::model::run::Run;
use crate::ops::caller::{self, Caller, USER};
use crate::ops::cx::{Answer, Cx, Wait, WaitOn, Wake};
use crate::ops::error::{OpError, invalid, refuse};
use crate::ops::reply;
use crate::proto::error::ErrorBody;
use crate::proto::mail::{Check, Checked};
use crate::proto::row::MessageRow;

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// The longest wait: a day. What waits longer should look again.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
/// Rows of `--peek` and `--all`.
const MAX_LOOK: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Consume,
    Peek,
    All,
}

/// `check`.
pub fn check(cx: &mut Cx<'_>, call: Check) -> Result<Answer, OpError> {
    let mode = match call.mode.as_deref() {
        None | Some("unread") => Mode::Consume,
        Some("peek") => Mode::Peek,
        Some("all") => Mode::All,
        Some(_) => return Err(invalid("The read mode must be --unread, --peek or --all.")),
    };
    if call.is_wait && mode != Mode::Consume {
        return Err(invalid("--wait consumes mail; it does not go with --peek or --all."));
    }
    let timeout_ms = call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if timeout_ms == 0 || timeout_ms > MAX_TIMEOUT_MS {
        return Err(invalid("--timeout-ms must be between 1 and 86400000."));
    }
    let types = call.types.iter().map(|name| kind(name)).collect::<Result<Vec<_>, _>>()?;
    let caller = caller::resolve(cx, call.terminal.as_deref(), call.proof.as_deref())?;
    let wish = Wish { mode, types, wait_ms: call.is_wait.then_some(timeout_ms) };
    match place(cx, &caller, &call)? {
        Place::Run(run) => run_mail(cx, &caller, run, call.ack.as_deref(), &wish),
        Place::Own(mailbox) => {
            if call.ack.is_some() {
                return Err(invalid(
                    "--ack belongs to a Run's mail; this mailbox is consumed by reading it.",
                ));
            }
            own_mail(cx, mailbox, &wish)
        }
    }
}

struct Wish {
    mode: Mode,
    types: Vec<MessageType>,
    wait_ms: Option<u64>,
}

enum Place {
    Run(Box<Run>),
    Own(Mailbox),
}

fn kind(name: &str) -> Result<MessageType, OpError> {
    MessageType::parse(name).ok_or_else(|| {
        let known: Vec<&str> = MessageType::ALL.iter().map(|kind| kind.as_str()).collect();
        let shown = text::cut_chars(&text::one_line(name), 40);
        invalid(format!("--types names {shown:?}; the types are {}.", known.join(", ")))
    })
}

/// Whose mail the caller means: a named Run's, its attempt's, its Run's, its own.
fn place(cx: &Cx<'_>, caller: &Caller, call: &Check) -> Result<Place, OpError> {
    if let Some(run) = call.run.as_deref() {
        return caller::named_run(cx, run).map(Box::new).map(Place::Run);
    }
    if call.terminal.as_deref() == Some(USER) {
        return Ok(Place::Own(Mailbox::User));
    }
    if let Some(dispatch) = &caller.dispatch {
        still_owned(dispatch)?;
        if dispatch.status.is_active() {
            return Ok(Place::Own(Mailbox::Dispatch(dispatch.id.clone())));
        }
    }
    if let Some(run) = caller::bound_run(cx, caller)? {
        return Ok(Place::Run(Box::new(run)));
    }
    let Some(terminal) = &caller.terminal else { return Ok(Place::Own(Mailbox::User)) };
    if let Some(last) = cx.tx.last::<Dispatch>("terminal", terminal.id.as_str())? {
        still_owned(&last)?;
    }
    Ok(Place::Own(Mailbox::Terminal(terminal.id.clone())))
}

/// A worker whose attempt somebody else ended is told only by this error, never by an empty answer
/// (contract 4.6).
fn still_owned(dispatch: &Dispatch) -> Result<(), OpError> {
    let is_own_end = match dispatch.status {
        DispatchState::Pending | DispatchState::Dispatched => dispatch.revoked_at.is_none(),
        DispatchState::Completed => true,
        DispatchState::Failed | DispatchState::CircuitBroken => {
            dispatch.last_failure.as_deref() == Some("reported failed")
        }
    };
    if is_own_end {
        return Ok(());
    }
    let how = dispatch.last_failure.as_deref().unwrap_or("taken back");
    let message =
        format!("{} was ended ({how}). Stop working on it; do not report and do not retry.", dispatch.id);
    Err(refuse(ErrorCode::ConsumerFenced, message)
        .with("dispatchId", &dispatch.id)
        .with("effectsApplied", false)
        .into())
}

fn run_mail(
    cx: &mut Cx<'_>,
    caller: &Caller,
    run: Box<Run>,
    ack: Option<&str>,
    wish: &Wish,
) -> Result<Answer, OpError> {
    let is_consumer = run.consumer.as_ref().is_some_and(|consumer| consumer.is_same(&caller.consumer()));
    let is_look = wish.mode != Mode::Consume && ack.is_none();
    let may_look = is_look && caller.terminal.is_none();
    if !(is_consumer || may_look) {
        return Err(fenced(&run).into());
    }
    let acknowledged = ack.map(|id| acknowledge(cx, &run, id)).transpose()?;
    if wish.mode != Mode::Consume {
        let messages = look(cx, &Mailbox::Run(run.id.clone()), wish)?;
        return reply(&Checked {
            run_id: Some(run.id),
            count: messages.len(),
            messages,
            acknowledged,
            ..Checked::default()
        });
    }
    if let Some(batch) = outstanding(cx, &run.id, acknowledged.as_ref())? {
        return reply(&batch);
    }
    let Some(wait_ms) = wish.wait_ms else {
        return reply(&freeze(cx, &run, acknowledged, &wish.types)?);
    };
    if has_matching(cx, &Mailbox::Run(run.id.clone()), &wish.types)? {
        return reply(&freeze(cx, &run, acknowledged, &wish.types)?);
    }
    if cx.world.has_waiter(&run.id) {
        return match acknowledged {
            Some(acknowledged) => reply(&interrupted(&run.id, Some(acknowledged), "waiter_exists")),
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

fn acknowledge(cx: &mut Cx<'_>, run: &Run, id: &str) -> Result<DeliveryId, OpError> {
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
        .next_step("orca orchestration check --json")
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
            .next_step("orca orchestration check --json")
            .into());
        }
        DeliveryState::Outstanding => {}
    }
    for id in &delivery.message_ids {
        if let Some(mut message) = cx.tx.get::<Message>(id.as_str())? {
            super::mark_read(cx, &mut message)?;
        }
    }
    delivery.state = DeliveryState::Acknowledged;
    delivery.acknowledged_at = Some(cx.now);
    cx.tx.put(&delivery)?;
    let detail = format!("{} ({} messages)", delivery.id, delivery.message_ids.len());
    cx.emit(Fact::new(EventKind::DeliveryAcknowledged, detail).of_run(&run.id))?;
    Ok(delivery.id)
}

/// Up to 100 rows, newest first; consumes nothing.
fn look(cx: &Cx<'_>, mailbox: &Mailbox, wish: &Wish) -> Result<Vec<MessageRow>, OpError> {
    let index = if wish.mode == Mode::Peek { "unread" } else { "box" };
    let all = cx.tx.list_newest::<Message>(index, &mailbox.to_string(), usize::MAX)?;
    let wanted = all.iter().filter(|message| wish.types.is_empty() || wish.types.contains(&message.kind));
    Ok(wanted.take(MAX_LOOK).map(MessageRow::from).collect())
}

/// The batch that is out, identical, and marked as handed out again.
fn outstanding(
    cx: &mut Cx<'_>,
    run: &RunId,
    acknowledged: Option<&DeliveryId>,
) -> Result<Option<Checked>, OpError> {
    let Some(mut delivery) = cx.tx.first::<Delivery>("outstanding", run.as_str())? else { return Ok(None) };
    delivery.n_redeliveries += 1;
    cx.tx.put(&delivery)?;
    let mut messages = Vec::with_capacity(delivery.message_ids.len());
    for id in &delivery.message_ids {
        let message = cx.tx.get::<Message>(id.as_str())?;
        messages.extend(message.as_ref().map(MessageRow::from));
    }
    let unread = cx.tx.count::<Message>("unread", &Mailbox::Run(run.clone()).to_string())?;
    let own = messages.iter().filter(|message| !message.read).count();
    let newer = unread.saturating_sub(own);
    Ok(Some(Checked {
        run_id: Some(run.clone()),
        delivery_id: Some(delivery.id),
        count: messages.len(),
        messages,
        replayed: Some(true),
        redeliveries: Some(delivery.n_redeliveries),
        newer_waiting: Some(newer),
        queued_matching_messages: Some(newer > 0),
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
    let mailbox = Mailbox::Run(run.id.clone()).to_string();
    let unread = cx.tx.list::<Message>("unread", &mailbox, usize::MAX)?;
    let (batch, rest) = unread.split_at(unread.len().min(MAX_BATCH));
    let mut checked = Checked {
        run_id: Some(run.id.clone()),
        messages: batch.iter().map(MessageRow::from).collect(),
        count: batch.len(),
        acknowledged,
        ..Checked::default()
    };
    if batch.is_empty() {
        return Ok(checked);
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
    checked.delivery_id = Some(delivery.id);
    checked.replayed = Some(false);
    checked.newer_waiting = Some(rest.len());
    checked.queued_matching_messages = Some(rest.iter().any(|m| types.is_empty() || types.contains(&m.kind)));
    Ok(checked)
}

fn has_matching(cx: &Cx<'_>, mailbox: &Mailbox, types: &[MessageType]) -> Result<bool, OpError> {
    let unread = cx.tx.list::<Message>("unread", &mailbox.to_string(), usize::MAX)?;
    Ok(unread.iter().any(|message| types.is_empty() || types.contains(&message.kind)))
}

fn interrupted(run: &RunId, acknowledged: Option<DeliveryId>, why: &str) -> Checked {
    Checked {
        run_id: Some(run.clone()),
        acknowledged,
        wait_interrupted: Some(why.to_owned()),
        ..Checked::default()
    }
}

/// A waiting `check` of a Run is asked again.
pub fn resume_run(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::RunMail { run, generation, types, acknowledged, .. } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for a Run's mail")));
    };
    let run = caller::named_run(cx, run.as_str())?;
    let acknowledged = acknowledged.as_ref().and_then(|id| DeliveryId::parse(id.as_str()?).ok());
    if run.consumer_generation != *generation {
        return match acknowledged {
            Some(acknowledged) => reply(&interrupted(&run.id, Some(acknowledged), "consumer_fenced")),
            None => Err(fenced(&run).into()),
        };
    }
    let types: Vec<MessageType> = types.iter().filter_map(|name| MessageType::parse(name)).collect();
    // After a restart the same request may find its own batch frozen already.
    if let Some(batch) = outstanding(cx, &run.id, acknowledged.as_ref())? {
        return reply(&batch);
    }
    if has_matching(cx, &Mailbox::Run(run.id.clone()), &types)? {
        return reply(&freeze(cx, &run, acknowledged, &types)?);
    }
    match wake {
        Wake::Changed => Ok(Answer::Wait(wait)),
        Wake::Deadline => {
            reply(&Checked { run_id: Some(run.id), acknowledged, timed_out: true, ..Checked::default() })
        }
    }
}

/// Mail that is consumed by reading it.
fn own_mail(cx: &mut Cx<'_>, mailbox: Mailbox, wish: &Wish) -> Result<Answer, OpError> {
    if wish.mode != Mode::Consume {
        let messages = look(cx, &mailbox, wish)?;
        let count = messages.len();
        return reply(&Checked { messages, count, ..about(cx, &mailbox)? });
    }
    let is_ready = has_matching(cx, &mailbox, &wish.types)?;
    match wish.wait_ms {
        Some(wait_ms) if !is_ready => {
            let types = wish.types.iter().map(ToString::to_string).collect();
            let on = WaitOn::Mail { mailbox: mailbox.to_string(), types };
            Ok(Answer::Wait(Wait { on, deadline: Some(cx.now.plus_ms(wait_ms)), began: cx.now }))
        }
        Some(_) | None => consume(cx, &mailbox),
    }
}

fn about(cx: &Cx<'_>, mailbox: &Mailbox) -> Result<Checked, OpError> {
    let mut checked = Checked::default();
    if let Mailbox::Dispatch(id) = mailbox {
        checked.run_id = cx.tx.get::<Dispatch>(id.as_str())?.map(|dispatch| dispatch.run_id);
        checked.dispatch_id = Some(id.clone());
    }
    Ok(checked)
}

fn consume(cx: &mut Cx<'_>, mailbox: &Mailbox) -> Result<Answer, OpError> {
    let unread = cx.tx.list::<Message>("unread", &mailbox.to_string(), MAX_BATCH)?;
    let mut messages = Vec::with_capacity(unread.len());
    for mut message in unread {
        super::mark_read(cx, &mut message)?;
        messages.push(MessageRow::from(&message));
    }
    reply(&Checked { count: messages.len(), messages, ..about(cx, mailbox)? })
}

/// A waiting `check` of a worker or terminal is asked again.
pub fn resume_own(cx: &mut Cx<'_>, wait: Wait, wake: Wake) -> Result<Answer, OpError> {
    let WaitOn::Mail { mailbox, types } = &wait.on else {
        return Err(OpError::Bug(String::from("not a wait for mail")));
    };
    let Some(mailbox) = Mailbox::parse(mailbox) else {
        return Err(OpError::Bug(format!("{mailbox} is no mailbox")));
    };
    if let Mailbox::Dispatch(id) = &mailbox
        && let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())?
    {
        still_owned(&dispatch)?;
    }
    let types: Vec<MessageType> = types.iter().filter_map(|name| MessageType::parse(name)).collect();
    if has_matching(cx, &mailbox, &types)? {
        return consume(cx, &mailbox);
    }
    match wake {
        Wake::Changed => Ok(Answer::Wait(wait)),
        Wake::Deadline => reply(&Checked { timed_out: true, ..about(cx, &mailbox)? }),
    }
}
