//! Where and why a message failed, as far as it tells.
//!
//! Most libraries only reject, and all evidence is RabbitMQ's `x-death`. A few publish a copy of the message with
//! fields of their own; for those `x-death`, if present at all, is history. So a framework's own
//! fields come first, then the death that counts, then the first death. What none of them tells stays unknown: a guess
//! would send a retry to the wrong queue.
//!
//! Each framework has a file that says what its fields mean. None of this ever fails; what cannot be read is as good
//! as absent.

mod brighter;
mod celery;
mod dramatiq;
mod easynetq;
mod evidence;
mod laravel;
mod machinery;
mod masstransit;
mod moleculer;
mod nservicebus;
mod obituary;
mod rascal;
mod rebus;
mod site;
mod sneakers;
mod spring;
mod symfony;
mod told;
mod watermill;
mod wolverine;

use evidence::Evidence;
use told::Told;

use crate::{
    domain::{
        death::{Death, Failure, Reason},
        field::FieldTable,
        message::Message,
    },
    own_headers, xdeath,
};

#[cfg(test)]
mod vectors;

/// Reads a framework's own fields; `None` where the message is not one of its kind.
type Reader = fn(&Evidence) -> Option<Told>;

/// In the order in which they are recognised. Frameworks that only reject are not here.
const READERS: &[Reader] = &[
    obituary::read,
    easynetq::read,
    nservicebus::read,
    masstransit::read,
    rebus::read,
    wolverine::read,
    sneakers::read_maxretry,
    spring::read,
    symfony::read,
    moleculer::read,
    watermill::read,
    rascal::read,
    sneakers::read_handlers,
    laravel::read,
    celery::read,
    dramatiq::read,
    machinery::read,
    brighter::read,
];

/// What `message` tells of its failure.
pub fn read(message: &Message) -> Failure {
    let deaths = xdeath::deaths(&message.headers);
    if site::is_astray(&deaths) {
        return astray(message);
    }
    let first_death = xdeath::first_death(&message.headers);
    let site = site::choose(&deaths).or_else(|| first_death.as_ref().filter(|death| !site::is_delay(death)));

    let evidence = Evidence { message, deaths: &deaths, site };
    let told = READERS.iter().find_map(|read| read(&evidence)).unwrap_or_default();
    let site = site.filter(|death| told.agrees_with(death));
    failure(message, &deaths, told, site)
}

fn failure(message: &Message, deaths: &[Death], told: Told, site: Option<&Death>) -> Failure {
    let queue = told.queue.or_else(|| site.map(|death| death.queue.clone()));
    let first_address = own_headers::dlo_address(&message.headers)
        .filter(|_| queue.as_deref() == own_headers::dlo_queue(&message.headers))
        .map(|(exchange, routing_key)| (exchange.to_owned(), routing_key.to_owned()));
    let (first_exchange, first_key) = first_address.unzip();
    let exchange = told.exchange.or(first_exchange).or_else(|| site.map(|death| death.exchange.clone()));
    let routing_key =
        told.routing_key.or(first_key).or_else(|| site.and_then(|death| death.routing_keys.first().cloned()));
    let deaths_there = deaths.iter().filter(|death| Some(&death.queue) == queue.as_ref());
    let attempts = told.attempts.or_else(|| site.map(|death| death.count)).unwrap_or(1);
    Failure {
        reason: told.published.or_else(|| site.map(reason)).unwrap_or_default(),
        exchange: exchange.unwrap_or_else(|| message.exchange.clone()),
        routing_key: routing_key.unwrap_or_else(|| message.routing_key.clone()),
        attempts: if told.counts_all {
            attempts.clamp(1, xdeath::MAX_COUNT)
        } else {
            with_earlier_rounds(attempts, &message.headers, queue.as_deref())
        },
        first_failed_at: deaths_there.filter_map(|death| death.first_at).min(),
        queue,
    }
}

/// It did not fail once more: the queue it was on its way back to is gone.
fn astray(message: &Message) -> Failure {
    let queue = own_headers::dlo_queue(&message.headers);
    let attempts = queue.and_then(|queue| own_headers::dlo_attempts(&message.headers, queue));
    Failure {
        queue: queue.map(str::to_owned),
        exchange: message.exchange.clone(),
        routing_key: message.routing_key.clone(),
        attempts: attempts.unwrap_or(0).clamp(1, xdeath::MAX_COUNT),
        ..Failure::default()
    }
}

/// A reason of a later RabbitMQ than we know is an unknown one.
fn reason(death: &Death) -> Reason {
    death.reason.parse().unwrap_or_default()
}

/// Counts the rounds before our last retry, which our own header remembers: RabbitMQ 4 begins anew after each.
fn with_earlier_rounds(attempts: u64, headers: &FieldTable, queue: Option<&str>) -> u64 {
    let earlier = queue.and_then(|queue| own_headers::dlo_attempts(headers, queue)).unwrap_or(0);
    attempts.max(earlier.saturating_add(1)).min(xdeath::MAX_COUNT)
}
