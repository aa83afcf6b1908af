#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod assembly;
mod brighter;
mod cap;
mod celery;
pub mod danger;
pub mod dlo_headers;
pub mod dlo_queues;
mod dramatiq;
mod easynetq;
mod enqueue;
mod evidence;
mod exception;
pub mod expiry;
mod failure;
mod framework;
pub mod identity;
pub mod inner_body;
mod laravel;
mod machinery;
mod masstransit;
pub mod message_id;
mod message_type;
mod moleculer;
mod moment;
mod nameko;
mod nservicebus;
mod obituary;
mod original;
mod rascal;
mod raw_object;
mod rebus;
mod recipe;
mod report;
mod site;
mod sneakers;
mod sneakers_handlers;
mod spring;
pub mod stripped;
mod symfony;
mod transit;
mod type_place;
mod watermill;
mod wolverine;

#[cfg(test)]
mod vectors;

pub use failure::{Failure, FailureCount};
pub use original::Original;
pub use report::OwnRetry;
pub use type_place::{TypePlace, type_place};

use amqp_message::{
    death::{Death, Reason},
    field::FieldTable,
    message::Message,
    xdeath,
};

use danger::Danger;
use evidence::Evidence;
use framework::Framework;
use inner_body::{InnerBodies, InnerBody};
use report::FrameworkReport;

/// In the order in which they are recognised. Of those that are not here a message says nothing beside its deaths.
const FRAMEWORKS: &[Framework] = &[
    easynetq::FRAMEWORK,
    nservicebus::FRAMEWORK,
    masstransit::FRAMEWORK,
    rebus::FRAMEWORK,
    wolverine::FRAMEWORK,
    sneakers::FRAMEWORK,
    recipe::FRAMEWORK,
    spring::FRAMEWORK,
    symfony::FRAMEWORK,
    moleculer::FRAMEWORK,
    watermill::FRAMEWORK,
    rascal::FRAMEWORK,
    sneakers_handlers::FRAMEWORK,
    laravel::FRAMEWORK,
    celery::FRAMEWORK,
    dramatiq::FRAMEWORK,
    nameko::FRAMEWORK,
    enqueue::FRAMEWORK,
    machinery::FRAMEWORK,
    brighter::FRAMEWORK,
    cap::FRAMEWORK,
];

/// What to know before a retry where [`Failure::is_disputed`].
const DISPUTE: &str = "RabbitMQ says that it was rejected in another queue than its headers name. One of the two may be \
                       an older failure, so there is no automatic retry: see which before sending it back.";

/// What is known of a framework, for people.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkInfo {
    /// As its authors write it.
    pub name: &'static str,
    /// What its messages say of a failure, in a few words.
    pub records: &'static str,
    /// What becomes of a message when it is retried, in a few words.
    pub retried: &'static str,
    /// How a service can record the error next time: whole sentences.
    pub advice: &'static str,
}

/// All frameworks that are recognised.
pub fn frameworks() -> impl Iterator<Item = FrameworkInfo> {
    let info = |&Framework { name, records, retried, advice, .. }: &Framework| FrameworkInfo {
        name,
        records,
        retried,
        advice,
    };
    FRAMEWORKS.iter().map(info)
}

/// What a message says of its failure.
#[derive(Debug, Default)]
pub struct FailureReport {
    /// Where, when and why it failed.
    pub failure: Failure,
    /// The framework it was recognised as one of.
    pub framework: Option<&'static str>,
    /// How a service of that framework can record the error next time: whole sentences.
    pub advice: Option<&'static str>,
    /// What the queue may be called, where something is named that is no queue.
    pub queue_candidates: Vec<String>,
    /// What to know before a retry: whole sentences.
    pub cautions: Vec<&'static str>,
    /// It is a copy that its framework published to retry it by itself, though it rejects each.
    pub own_retry: Option<OwnRetry>,
    /// Which headers could not be taken as they are, and why: whole clauses.
    pub not_taken: Vec<String>,
    /// The headers it had before its framework put them away in another place.
    original_headers: Option<FieldTable>,
}

impl FailureReport {
    /// The headers that dlo wrote, if it sent the message back before: its own or, where a framework has wrapped
    /// it, those inside.
    pub fn headers<'a>(&'a self, message: &'a Message) -> &'a FieldTable {
        self.original_headers.as_ref().unwrap_or(&message.headers)
    }
}

/// Reads what `message` says of its failure.
pub fn read(message: &Message) -> FailureReport {
    let deaths = xdeath::deaths(&message.headers);
    let first_death = xdeath::first_death(&message.headers);
    let evidence = Evidence { message, deaths: &deaths, site: site::by_rabbitmq(&deaths, first_death.as_ref()) };
    let (framework, report) = recognise(&evidence).unzip();
    let mut report = obituary::over(report.unwrap_or_default(), &evidence);
    report.message_type = message_type::read(&evidence, report.message_type.take());
    let original_headers = report.original.take().map(|original| original.headers);
    let (queue_candidates, caution) = (std::mem::take(&mut report.queue_candidates), report.caution);
    let own_retry = report.own_retry.filter(|_| evidence.site.is_some_and(site::is_refusal));
    let (failure, exaggerated) = failure(&evidence, original_headers.as_ref().unwrap_or(&message.headers), report);
    let dispute = failure.is_disputed.then_some(DISPUTE);
    FailureReport {
        framework: framework.map(|framework| framework.name),
        advice: framework.map(|framework| framework.advice),
        queue_candidates,
        own_retry,
        cautions: transit::cautions(message).into_iter().chain(caution).chain(dispute).collect(),
        not_taken: obituary::not_taken(&message.headers).into_iter().chain(exaggerated).collect(),
        failure,
        original_headers,
    }
}

/// Headers in which Celery repeats the arguments that stand in the body.
pub const REPEATING_BODY: [&str; 2] = ["argsrepr", "kwargsrepr"];

/// The headers that repeat what stands in the body, for people: after another body was put there they are wrong. Celery has
/// such, and works without.
pub fn repeats_body(headers: &FieldTable) -> impl Iterator<Item = &'static str> {
    let is_celery = headers.get("task").is_some() && headers.get("id").is_some();
    REPEATING_BODY.into_iter().filter(move |name| is_celery && headers.get(name).is_some())
}

/// Whether it may be of a framework that retries by itself and rejects each try: Symfony Messenger writes its class into the
/// header `type`, or serializes it by PHP.
pub fn may_have_own_retries(message: &Message) -> bool {
    symfony::may_be_one(message)
}

/// The properties and headers of the message that failed, where its framework keeps them in the body (EasyNetQ) or in a
/// header (Sneakers) of the message that it published; `None` where the message has its own.
pub fn original(message: &Message) -> Option<Original> {
    sneakers::original(message).or_else(|| easynetq::original(&message.body))
}

/// The message as its consumer is to have it again: without what its framework, or an obituary, added when it was given
/// up. What RabbitMQ adds, and where it goes, is not looked at here.
///
/// # Errors
/// Why it must not go back at all. `bodies` can settle that for EasyNetQ.
pub fn clean(mut message: Message, bodies: &InnerBodies) -> Result<Message, Danger> {
    if let Some((framework, report)) = recognised(&message) {
        let queue = report.queue.as_deref().unwrap_or_default();
        if let Some(danger) = report.danger.filter(|danger| !danger.is_settled(queue, bodies)) {
            return Err(danger);
        }
        (framework.clean)(&mut message, bodies)?;
    }
    obituary::clean(&mut message.headers);
    Ok(message)
}

fn recognised(message: &Message) -> Option<(&'static Framework, FrameworkReport)> {
    let deaths = xdeath::deaths(&message.headers);
    let first_death = xdeath::first_death(&message.headers);
    recognise(&Evidence { message, deaths: &deaths, site: site::by_rabbitmq(&deaths, first_death.as_ref()) })
}

fn recognise(evidence: &Evidence) -> Option<(&'static Framework, FrameworkReport)> {
    FRAMEWORKS.iter().find_map(|framework| Some((framework, (framework.read)(evidence)?)))
}

/// Whether two messages brought the same to their consumer, whatever their frameworks wrote into the bodies after that.
pub fn is_same_body(one: &Message, other: &Message) -> bool {
    // How a body is wrapped does not matter, as long as it is read in one way.
    let bodies = || InnerBodies::new([("*".to_owned(), InnerBody::Text)]);
    let clean = |message: &Message| clean(message.clone(), &bodies()).ok().map(|message| message.body);
    let stampless = |message: &Message| symfony::without_stamps(&message.body);
    one.body == other.body
        || clean(one).is_some_and(|body| Some(body) == clean(other))
        || stampless(one).is_some_and(|message| Some(message) == stampless(other))
}

/// The key that nothing names. That of an obituary is the one it was published with, which its message never had.
fn unsaid_key(message: &Message, queue: Option<&str>) -> String {
    match queue.filter(|_| obituary::is_obituary(&message.headers)) {
        Some(queue) => queue.to_owned(),
        None => message.routing_key.clone(),
    }
}

/// `headers` are those dlo may have written to.
/// The second says which count was not believed: a whole clause.
fn failure(evidence: &Evidence, headers: &FieldTable, report: FrameworkReport) -> (Failure, Option<String>) {
    let Evidence { message, deaths, site } = evidence;
    let (site, other_site) =
        if site.is_some_and(|death| report.agrees_with(death)) { (*site, None) } else { (None, *site) };
    // What was published to the dead letters by hand says nothing else than where it was sent to last.
    let sent_to = || dlo_headers::dlo_id(headers).and(dlo_headers::dlo_queue(headers)).map(str::to_owned);
    let queue = report.queue.or_else(|| site.map(|death| death.queue.clone())).or_else(sent_to);
    let first_address = dlo_headers::dlo_address(headers)
        .filter(|_| queue.as_deref() == dlo_headers::dlo_queue(headers))
        .map(|(exchange, routing_key)| (exchange.to_owned(), routing_key.to_owned()));
    let (first_exchange, first_key) = first_address.unzip();
    let exchange = report.exchange.or(first_exchange).or_else(|| site.map(|death| death.exchange.clone()));
    let routing_key =
        report.routing_key.or(first_key).or_else(|| site.and_then(|death| death.routing_keys.first().cloned()));
    let deaths_there = deaths.iter().filter(|death| Some(&death.queue) == queue.as_ref());
    let tries = report.attempts.or_else(|| site.map(|death| death.count)).unwrap_or(1);
    let count = if report.counts_all {
        // What dlo has seen has an id.
        let seen = dlo_headers::dlo_id(headers).and(queue.as_deref());
        let rounds = seen.and_then(|queue| dlo_headers::dlo_rounds(headers, queue)).unwrap_or(1);
        FailureCount { attempts: tries, rounds }
    } else {
        let earlier = queue.as_deref().and_then(|queue| dlo_headers::dlo_count(headers, queue));
        with_earlier_rounds(tries, earlier, || report.attempts.is_none() || begins_anew(message))
    };
    let (count, exaggerated) = count.bounded();
    let failure = Failure {
        reason: report.published.or_else(|| site.map(reason)).unwrap_or_default(),
        exchange: exchange.unwrap_or_else(|| message.exchange.clone()),
        routing_key: routing_key.unwrap_or_else(|| unsaid_key(message, queue.as_deref())),
        attempts: count.attempts,
        rounds: count.rounds,
        first_failed_at: deaths_there.filter_map(|death| death.first_at).min(),
        // RabbitMQ says the first of several deaths, which is the last one only where there was no other.
        last_failed_at: report.failed_at.or_else(|| site.filter(|death| death.count == 1)?.first_at),
        error: report.error,
        message_type: report.message_type,
        danger: report.danger,
        is_disputed: queue.is_some() && other_site.is_some_and(site::is_refusal),
        queue,
    };
    (failure, exaggerated)
}

/// A reason of a later RabbitMQ than we know is an unknown one.
fn reason(death: &Death) -> Reason {
    death.reason.parse().unwrap_or_default()
}

/// Counts what was before our last retry, which our own headers remember. RabbitMQ begins to count anew after each, and so
/// do frameworks whose count comes off; one that stays goes on.
fn with_earlier_rounds(tries: u64, earlier: Option<FailureCount>, begins_anew: impl FnOnce() -> bool) -> FailureCount {
    let Some(earlier) = earlier else { return FailureCount { attempts: tries, rounds: 1 } };
    let at_least = earlier.attempts.saturating_add(1);
    let attempts = match tries {
        0 | 1 => at_least,
        _ if begins_anew() => earlier.attempts.saturating_add(tries),
        _ => tries.max(at_least),
    };
    FailureCount { attempts, rounds: earlier.rounds.saturating_add(1) }
}

/// Whether the count of its framework comes off when it goes back, as that of RabbitMQ does.
fn begins_anew(message: &Message) -> bool {
    let Some((framework, _)) = recognised(message) else { return true };
    let mut clean = message.clone();
    let is_clean = (framework.clean)(&mut clean, &InnerBodies::default()).is_ok();
    clean.headers.remove_where(stripped::is_stripped);
    is_clean && recognised(&clean).is_none_or(|(_, report)| report.attempts.is_none_or(|attempts| attempts <= 1))
}
