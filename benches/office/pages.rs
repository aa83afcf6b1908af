//! The letters page and the API list at a million letters against ten thousand.

use std::time::Duration;

use dead_letter_office::{
    domain::{
        death::{Failure, Reason},
        letter::{Importance, LetterId},
        message::Message,
        time::Timestamp,
    },
    store::{Arrival, Fingerprint, IntakeBatch},
};
use uuid::Uuid;

use crate::{
    broker,
    ledger::{BROKER, Ledger},
};

pub async fn run() {}

/// Stores letters, one a second until now, each failed in the queue that `queue` names for it.
pub async fn store_letters(ledger: &Ledger, letters: u32, queue: impl Fn(u32) -> String) {
    const BATCH: u32 = 1_000;
    let now = dead_letter_office::clock::Clock::system().now();
    for first in (0..letters).step_by(BATCH as usize) {
        let arrivals: Vec<Arrival> = (first..letters.min(first + BATCH))
            .map(|number| {
                let received_at = now.minus(Duration::from_secs(u64::from(letters - number)));
                arrival(number, queue(number), received_at)
            })
            .collect();
        let id = Uuid::now_v7();
        let batch = IntakeBatch { id, broker: BROKER, queue: "dlo.obituaries", recorded_at: now, arrivals: &arrivals, settled: &[] };
        ledger.store.record(&batch).await.expect("recorded");
        ledger.store.settle(&[id]).await.expect("settled");
    }
}

fn arrival(number: u32, queue: String, received_at: Timestamp) -> Arrival {
    Arrival {
        id: LetterId::from_uuid(Uuid::now_v7()),
        returning: None,
        fingerprint: Fingerprint(u128::from(number)),
        redelivered: false,
        received_at,
        failure: Failure {
            queue: Some(queue),
            reason: Reason::Rejected,
            exchange: "events".to_owned(),
            routing_key: "order.placed".to_owned(),
            attempts: 1,
            first_failed_at: Some(received_at),
        },
        importance: Importance::ALL[number as usize % Importance::ALL.len()],
        importance_by: "default",
        message: Message { body: broker::body(number), ..Message::default() },
        remarks: Vec::new(),
    }
}
