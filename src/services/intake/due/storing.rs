//! Obituaries that RabbitMQ does not take. They are stored as if they had come by their queue: what is left unacknowledged
//! keeps others from being delivered.

use std::slice;

use tokio::time::timeout;

use super::super::{Intake, IntakeSource, arrival::arrival, briefly::PATIENCE, drain::report};
use crate::{
    domain::retry::OutgoingRetry,
    rabbitmq::Delivery,
    services::ids,
    store::{AckState, Arrival, IntakeBatch, StoreError},
};

/// Stores one, as plain as can be where it is refused as it is. What was stored before is that letter still.
///
/// # Errors
/// The database does not answer in time, or takes it in no form; perhaps it is stored nevertheless.
pub(super) async fn store(intake: &Intake, obituary: &OutgoingRetry) -> Result<(), StoreError> {
    // A try that was cut short may have stored it.
    let delivery = Delivery { tag: 0, message: obituary.message.clone(), redelivered: true, remarks: Vec::new() };
    let arrival = arrival(delivery, &IntakeSource::Obituaries, &intake.limits, intake.clock.now(), 0);
    match record(intake, &arrival).await {
        Err(why) if why.is_refusal() => record(intake, &arrival.plain(&why)).await,
        recorded => recorded,
    }
}

async fn record(intake: &Intake, arrival: &Arrival) -> Result<(), StoreError> {
    let at = arrival.received_at;
    let batch = IntakeBatch {
        id: ids::uuid(at),
        broker: &intake.broker,
        queue: IntakeSource::Due.queue(&intake.config),
        // Each try is one of its own, as only those of others are asked for what is here already.
        session: ids::uuid(at),
        is_cut: &|| false,
        is_first: false,
        recorded_at: at,
        arrivals: slice::from_ref(arrival),
        settled: AckState::default(),
    };
    let recorded = timeout(PATIENCE, intake.store.record(&batch)).await;
    report(intake, &batch, &recorded.unwrap_or(Err(StoreError::NoAnswer(PATIENCE)))?);
    Ok(())
}
