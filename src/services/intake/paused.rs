//! Messages that would wait in RabbitMQ for a queue that is paused: what waits there is sent on when it is due, so they wait in
//! the database, where they are held.

use super::{Intake, briefly::briefly, parcel::delay};
use crate::{domain::queue_pause::is_paused, store::Arrival};

/// Moves them to `here`; the others are the answer. While the database does not answer, no queue is known to be paused. What is
/// delivered once more waits in RabbitMQ already.
pub(crate) async fn keep_paused(
    intake: &Intake,
    mut onward: Vec<(u64, Arrival)>,
    here: &mut Vec<Arrival>,
) -> Vec<(u64, Arrival)> {
    if onward.is_empty() {
        return onward;
    }
    let mut pauses = Vec::new();
    briefly(async {
        pauses = intake.store.queue_pauses().await?;
        Ok(())
    })
    .await;
    let is_held = |arrival: &Arrival| {
        let queue = arrival.failure.queue.as_deref().unwrap_or_default();
        arrival.sent_on.is_none() && delay(arrival).is_some() && is_paused(&pauses, &intake.broker, queue)
    };
    here.extend(onward.extract_if(.., |(_, arrival)| is_held(arrival)).map(|(_, arrival)| arrival));
    onward
}
