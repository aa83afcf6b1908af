//! Messages that would wait in RabbitMQ for a queue that is paused. They wait in the database, where they are shown, and sent as
//! soon as it is resumed; what waits in RabbitMQ already is put back there when it is due.

use super::{Intake, briefly::briefly, parcel::delay};
use crate::{
    domain::queue_pause::{QueuePause, is_paused},
    store::Arrival,
};

/// The queues that are paused. While the database does not answer, none is known to be.
pub(super) async fn pauses(intake: &Intake) -> Vec<QueuePause> {
    let mut pauses = Vec::new();
    briefly(async {
        pauses = intake.store.queue_pauses().await?;
        Ok(())
    })
    .await;
    pauses
}

/// Moves them to `here`; the others are the answer. What is delivered once more waits in RabbitMQ already.
pub(crate) fn keep_paused(
    (broker, pauses): (&str, &[QueuePause]),
    mut onward: Vec<(u64, Arrival)>,
    here: &mut Vec<Arrival>,
) -> Vec<(u64, Arrival)> {
    let is_held = |arrival: &Arrival| {
        let queue = arrival.failure.queue.as_deref().unwrap_or_default();
        arrival.sent_on.is_none() && delay(arrival).is_some() && is_paused(pauses, broker, queue)
    };
    here.extend(onward.extract_if(.., |(_, arrival)| is_held(arrival)).map(|(_, arrival)| arrival));
    onward
}
