//! The stage between claiming and marking: it keeps a connection and publishes window by window.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
    vec,
};

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::expiry;
use futures_util::future::join_all;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Batch, Ended, LEASE, PAUSE, RENEW, Scheduler, claims, window::windows};
use crate::{
    crash_point,
    domain::{
        actor::Actor,
        broker::ConnectionState,
        letter::LetterId,
        lifecycle::recognition::OWN_RETRIES,
        queue_pause::is_paused,
        retry::{Claim, ClaimedRetry, Destination, EXPIRED, OutgoingRetry, RetryOutcome},
    },
    rabbitmq::{ConnectionWatch, Lane, PublishOutcome, PublishingSession, SessionError, outgoing, reconnect::Backoff},
};

/// How often a connection is looked at.
const WATCH: std::time::Duration = std::time::Duration::from_millis(250);

type Batches = mpsc::Receiver<Batch>;
type Results = mpsc::Sender<Vec<(ClaimedRetry, Ended)>>;

pub(crate) async fn run(scheduler: &Scheduler, mut batches: Batches, results: Results, stop: &CancellationToken) {
    let mut backoff = Backoff::default();
    let mut since = scheduler.clock.now();
    while !stop.is_cancelled() {
        let Err(error) = session(scheduler, &mut batches, &results, &mut backoff, stop).await else { break };
        if let SessionError::Forbidden(_) = error {
            scheduler.board.doubt_publishing(&scheduler.broker);
        }
        if backoff.is_fresh() {
            since = scheduler.clock.now();
            tracing::warn!(broker.name = scheduler.broker, error = %error, "nothing is published");
        }
        scheduler.board.set_publishing(&scheduler.broker, error.into_state(since));
        give_back(&mut batches, &results).await;
        if !backoff.wait(stop).await {
            break;
        }
    }
    batches.close();
    give_back(&mut batches, &results).await;
}

/// One connection's life; `Ok` when all is done and dlo closes.
async fn session(
    scheduler: &Scheduler,
    batches: &mut Batches,
    results: &Results,
    backoff: &mut Backoff,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    let opened = stop.run_until_cancelled(PublishingSession::open(&scheduler.broker, &scheduler.config)).await;
    let Some(opened) = opened else { return Ok(()) };
    let mut session = opened?;
    dispel_doubt(scheduler, &session).await?;
    backoff.connected();
    tracing::info!(broker.name = scheduler.broker, "publishing connection open");
    let connection = session.connection();
    show_state(scheduler, &connection)?;
    // What became due while there was no connection need not wait for the next look.
    scheduler.wakeup.notify();
    loop {
        show_state(scheduler, &connection)?;
        dispel_doubt(scheduler, &session).await?;
        let batch = tokio::select! {
            batch = batches.recv() => batch,
            () = tokio::time::sleep(WATCH) => continue,
        };
        let Some(batch) = batch else { break };
        publish(scheduler, &mut session, batch, results).await;
        session.check_allowed()?;
    }
    session.close().await;
    Ok(())
}

/// Where the user may not publish, nothing else is tried before that is possible.
async fn dispel_doubt(scheduler: &Scheduler, session: &PublishingSession) -> Result<(), SessionError> {
    let Scheduler { board, broker, .. } = scheduler;
    match board.takes_doubt(broker) {
        true => session.try_to_publish().await.inspect_err(|_| board.doubt_publishing(broker)),
        false => Ok(()),
    }
}

fn show_state(scheduler: &Scheduler, connection: &ConnectionWatch) -> Result<(), SessionError> {
    if !connection.is_connected() {
        return Err(SessionError::Lost("the broker closed it or went away".to_owned()));
    }
    let now = scheduler.clock.now();
    let state = match (connection.is_blocked(), scheduler.publishing_state()) {
        (false, Some(ConnectionState::Connected { since })) => ConnectionState::Connected { since },
        (false, _) => ConnectionState::Connected { since: now },
        (true, Some(blocked @ ConnectionState::Blocked { .. })) => blocked,
        (true, _) => {
            let why = "the broker is in alarm (memory or disk) and takes nothing until it is over".to_owned();
            tracing::warn!(broker.name = scheduler.broker, "{why}");
            ConnectionState::Blocked { since: now, why }
        }
    };
    scheduler.board.set_publishing(&scheduler.broker, state);
    Ok(())
}

/// Publishes a batch window by window, on all lanes at once.
async fn publish(scheduler: &Scheduler, session: &mut PublishingSession, batch: Batch, results: &Results) {
    let claims = claims(&batch);
    let connection = session.connection();
    let windows = Mutex::new(windows(batch).into_iter());
    let lanes = session.lanes().map(|lane| publish_on(lane, scheduler, &windows, results));
    attend(scheduler, &connection, &claims, async { _ = join_all(lanes).await }).await;
}

/// Takes one window after the other until none is left.
async fn publish_on(
    lane: &mut Lane,
    scheduler: &Scheduler,
    windows: &Mutex<vec::IntoIter<Vec<ClaimedRetry>>>,
    results: &Results,
) {
    let next = || windows.lock().unwrap_or_else(PoisonError::into_inner).next();
    while let Some(window) = next() {
        if lane.is_forbidden() {
            send_back(window, results).await;
            continue;
        }
        let ended = publish_window(scheduler, lane, window).await;
        // The marker outlives this stage, so there is always somebody to receive.
        _ = results.send(ended).await;
    }
}

async fn publish_window(
    scheduler: &Scheduler,
    lane: &mut Lane,
    window: Vec<ClaimedRetry>,
) -> Vec<(ClaimedRetry, Ended)> {
    let (not_sent, window) = not_sent(scheduler, window).await;
    let ids: Vec<LetterId> = window.iter().map(|retry| retry.id).collect();
    let mut messages = read_messages(scheduler, &ids).await;
    let own_retries = own_retries(scheduler, &window, &messages).await;
    let mut ended: Vec<_> = not_sent.into_iter().map(|claimed| (claimed, Ended::Unpublished)).collect();
    let mut sent = Vec::with_capacity(window.len());
    let mut outgoing = Vec::with_capacity(window.len());
    for mut claimed in window {
        let message = messages.remove(&claimed.id);
        let is_held = own_retries.contains_key(&claimed.queue) && asks(&claimed, message.as_ref());
        let held = is_held.then(|| Err(OWN_RETRIES.to_owned()));
        match held.unwrap_or_else(|| prepare(scheduler, &mut claimed, message)) {
            Ok(message) => {
                outgoing.push(message);
                sent.push(claimed);
            }
            Err(why) => ended.push((claimed, Ended::With(RetryOutcome::Failed(why)))),
        }
    }
    let outcomes = lane.publish(&outgoing).await;
    crash_point::point("confirmed");
    ended.extend(sent.into_iter().zip(outcomes.into_iter().map(Ended::from)));
    ended
}

fn prepare(
    scheduler: &Scheduler,
    claimed: &mut ClaimedRetry,
    message: Option<Message>,
) -> Result<OutgoingRetry, String> {
    let message = message.ok_or("its contents are gone from the database")?;
    // What is allowed may have changed since it was scheduled.
    scheduler.limits.targets.check(&claimed.queue)?;
    // It stands in the database as it came in; only what leaves is clean.
    let clean = failure_conventions::clean(message.clone(), &scheduler.limits.bodies)
        .map_err(|danger| danger.clause().to_owned())?;
    let expiration = outgoing::expiration_of_copy(&message, &clean).filter(|_| claimed.is_edited);
    let failed_queue = claimed.failed_queue.as_deref();
    let mut message = outgoing::outgoing(claimed.id, clean, failed_queue, &claimed.queue, claimed.count);
    message.properties.expiration = expiration;
    let now = scheduler.clock.now();
    if expiry::at(&message).is_some_and(|at| at <= now) {
        if claimed.by.as_str() == Actor::SYSTEM {
            return Err(EXPIRED.to_owned());
        }
        expiry::remove(&mut message, now);
        claimed.without_expiry = true;
    }
    outgoing::check(&message)?;
    let mut destination = Destination::straight_to(&claimed.queue);
    if scheduler.policies.keeps_routing_key(&claimed.queue, claimed.reason) {
        destination = destination.with_key(&claimed.routing_key);
    }
    Ok(OutgoingRetry { id: claimed.id, destination, reason: claimed.reason, message })
}

/// What is not sent after all, and the rest: since it was claimed its queue or its job was paused, or the claim is over, or will
/// soon be, and somebody else sends it. Where the database does not say, nothing is sent.
async fn not_sent(scheduler: &Scheduler, window: Vec<ClaimedRetry>) -> (Vec<ClaimedRetry>, Vec<ClaimedRetry>) {
    let letters: Vec<LetterId> = window.iter().map(|claimed| claimed.id).collect();
    let until = scheduler.clock.now().plus(LEASE / 2);
    let store = &scheduler.store;
    match tokio::try_join!(store.queue_pauses(), store.claims_to_send(&letters, until)) {
        Ok((pauses, held)) => window.into_iter().partition(|claimed| {
            !held.contains(&claimed.claim()) || is_paused(&pauses, &scheduler.broker, &claimed.queue)
        }),
        Err(error) => {
            tracing::warn!(broker.name = scheduler.broker, error = %error, "what is paused cannot be read yet");
            (window, Vec::new())
        }
    }
}

/// The queues whose framework retries by itself: what was scheduled before that was known stays here. Where the database
/// does not say, it goes out.
async fn own_retries(
    scheduler: &Scheduler,
    window: &[ClaimedRetry],
    messages: &HashMap<LetterId, Message>,
) -> BTreeMap<String, Timestamp> {
    let asked = window.iter().filter(|claimed| asks(claimed, messages.get(&claimed.id)));
    let queues: BTreeSet<&str> = asked.map(|claimed| &*claimed.queue).collect();
    let queues: Vec<&str> = queues.into_iter().collect();
    scheduler.store.own_retries(&scheduler.broker, &queues).await.unwrap_or_default()
}

/// Whether it matters for a retry if its framework retries by itself.
fn asks(claimed: &ClaimedRetry, message: Option<&Message>) -> bool {
    claimed.by.as_str() == Actor::SYSTEM && message.is_some_and(failure_conventions::may_have_own_retries)
}

async fn read_messages(scheduler: &Scheduler, ids: &[LetterId]) -> HashMap<LetterId, Message> {
    loop {
        match scheduler.store.messages(ids).await {
            Ok(messages) => return messages,
            Err(error) => {
                tracing::warn!(broker.name = scheduler.broker, error = %error, "letters cannot be read yet");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// While `work` goes on, shows how the connection stands and renews the claims: a broker in alarm may take longer than
/// a lease.
async fn attend(scheduler: &Scheduler, connection: &ConnectionWatch, claims: &[Claim], work: impl Future<Output = ()>) {
    let mut work = std::pin::pin!(work);
    let mut renewed = Instant::now();
    loop {
        tokio::select! {
            () = &mut work => return,
            () = tokio::time::sleep(WATCH) => {}
        }
        // That it is lost, the work itself finds out.
        _ = show_state(scheduler, connection);
        if renewed.elapsed() < RENEW {
            continue;
        }
        renewed = Instant::now();
        scheduler.renew(claims).await;
    }
}

/// Batches that were claimed and will not be published in this session.
async fn give_back(batches: &mut Batches, results: &Results) {
    while let Ok(batch) = batches.try_recv() {
        send_back(batch, results).await;
    }
}

async fn send_back(batch: Batch, results: &Results) {
    _ = results.send(batch.into_iter().map(|retry| (retry, Ended::Unpublished)).collect()).await;
}

impl From<PublishOutcome> for Ended {
    fn from(outcome: PublishOutcome) -> Self {
        match outcome {
            PublishOutcome::Confirmed => Self::With(RetryOutcome::Confirmed),
            PublishOutcome::Full(why) | PublishOutcome::Failed(why) => Self::With(RetryOutcome::Failed(why)),
            PublishOutcome::Unknown => Self::Unknown,
            PublishOutcome::Forbidden(_) | PublishOutcome::NotSent | PublishOutcome::Settling(_) => Self::Unpublished,
        }
    }
}
