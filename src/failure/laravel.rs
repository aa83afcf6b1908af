//! Laravel by way of laravel-queue-rabbitmq: rejects, and counts in a table of its own.

use super::{
    evidence::{Evidence, number},
    told::Told,
};

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let attempts = evidence.table("laravel")?.get("attempts").and_then(number);
    Some(Told::attempts(attempts.map(|earlier| earlier.saturating_add(1))))
}
