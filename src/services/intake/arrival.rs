//! From a delivery to what is written to the database.

use std::{hash::Hash, time::Duration};

use amqp_message::{error_report::ErrorReport, field::FieldValue, message::Message, time::Timestamp};
use failure_conventions::{Failure, dlo_headers};
use xxhash_rust::xxh3::Xxh3;

use super::{outlook::with_outlook, own_retries, source::IntakeSource};
use crate::{
    domain::{
        content_key::ContentKey,
        letter::{Importance, LetterId},
        names,
        retry_limits::RetryLimits,
    },
    rabbitmq::Delivery,
    services::ids,
    store::{Arrival, Fingerprint},
};

/// Headers that the queue writes anew at each delivery.
const CHANGE_ON_REDELIVERY: [&str; 2] = ["x-delivery-count", "x-acquired-count"];

/// Reads a delivery that came in at `now` as the `n`th of its batch; each gets a time of its own, so that letters of
/// one batch keep their order.
pub(crate) fn arrival(
    delivery: Delivery,
    source: &IntakeSource,
    limits: &RetryLimits,
    now: Timestamp,
    n: u64,
) -> Arrival {
    let Delivery { message, redelivered, remarks: mut losses, .. } = delivery;
    let received_at = now.plus(Duration::from_micros(n));
    let account = failure_conventions::read(&message);
    let headers = account.headers(&message);
    // The attempts belong to one queue: what fails in another is another matter.
    let returning =
        LetterId::from_headers(headers).filter(|_| account.failure.queue.as_deref() == dlo_headers::dlo_queue(headers));
    let (content, id_key) = (ContentKey::of(&message, &account), ContentKey::of_id(&message));
    let own_retry = account.own_retry;
    let mut remarks = account.not_taken;
    let mut failure = storable(account.failure, &mut remarks, &mut losses);
    believable(&mut failure, received_at, &mut remarks);
    let decision = source.decision(&failure, limits, &mut remarks);
    let decision = with_outlook(decision, &message, &failure, received_at, &mut remarks);
    let decision = own_retries::hold(decision, own_retry.is_some(), &mut remarks);
    Arrival {
        id: ids::letter(received_at),
        is_counted: returning.is_some() && !matches!(source, IntakeSource::DeadLetters(_)),
        counted_as: None,
        waited: None,
        sent_on: None,
        returning,
        is_recognised: false,
        own_retry,
        content,
        id_key,
        fingerprint: fingerprint(&message),
        redelivered,
        received_at,
        decision,
        failure,
        importance: Importance::Normal,
        importance_by: "default",
        message: storable_address(message),
        remarks,
        losses,
    }
}

fn fingerprint(message: &Message) -> Fingerprint {
    let (mut hash, mut times) = (Xxh3::new(), Xxh3::new());
    for text in [&message.exchange, &message.routing_key] {
        text.hash(&mut hash);
    }
    message.properties.hash(&mut hash);
    for (name, value) in message.headers.iter().filter(|(name, _)| !CHANGE_ON_REDELIVERY.contains(name)) {
        name.hash(&mut hash);
        match value.as_array().filter(|_| name == "x-death") {
            Some(deaths) => deaths.iter().for_each(|death| hash_death(death, &mut hash, &mut times)),
            None => value.hash(&mut hash),
        }
    }
    message.body.hash(&mut hash);
    Fingerprint::new(hash.digest(), times.digest())
}

/// When it was goes to the times, all else to the rest.
fn hash_death(death: &FieldValue, rest: &mut Xxh3, times: &mut Xxh3) {
    let Some(fields) = death.as_table() else { return death.hash(rest) };
    for (name, value) in fields.iter() {
        name.hash(rest);
        value.hash(if name == "time" { &mut *times } else { &mut *rest });
    }
}

/// What the database takes. What is left out stands in the remarks, and what is cut in the losses; the message itself stays
/// whole.
fn storable(mut failure: Failure, remarks: &mut Vec<String>, losses: &mut Vec<String>) -> Failure {
    let unfit = |what: &str, text: &str, so: &str| {
        format!("{what} of {} bytes{}, so {so}", text.len(), if text.contains('\0') { " with a NUL" } else { "" })
    };
    if let Some(queue) = failure.queue.take_if(|queue| !names::is_queue(queue)) {
        remarks.push(unfit("it names a queue", &queue, "the queue is taken for unknown: none can be called that"));
    }
    if let Some(name) = failure.message_type.take_if(|name| !names::is_type(name)) {
        remarks.push(unfit("it names a type", &name, "it is taken for of no type"));
    }
    for (what, name) in [("exchange", &mut failure.exchange), ("routing key", &mut failure.routing_key)] {
        let (kept, is_cut) = names::cut(std::mem::take(name));
        *name = kept;
        if is_cut {
            losses.push(format!(
                "the {what} it names is longer than {} bytes or has a NUL, and was cut",
                names::MAX_NAME
            ));
        }
    }
    let clean = |text: String| names::without_nul(&text);
    failure.error = failure.error.map(|error| ErrorReport {
        kind: error.kind.map(clean),
        message: error.message.map(clean),
        // It is read from the message again where it is shown. Here, only its first line may stand for a message.
        stacktrace: error.stacktrace.and_then(|trace| trace.lines().next().map(names::without_nul)),
    });
    failure
}

/// Whoever writes headers may write any time there. Of those to come and of those before there was AMQP none is taken.
fn believable(failure: &mut Failure, received_at: Timestamp, remarks: &mut Vec<String>) {
    /// How far the clocks of a service and of dlo may be apart.
    const CLOCKS: Duration = Duration::from_secs(24 * 60 * 60);
    /// The beginning of 2003.
    const FIRST: Timestamp = Timestamp::from_micros(1_041_379_200_000_000);
    let latest = received_at.plus(CLOCKS);
    for at in [&mut failure.first_failed_at, &mut failure.last_failed_at] {
        if let Some(at) = at.take_if(|at| !(FIRST..=latest).contains(at)) {
            let said =
                jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(|_| String::new(), |at| at.to_string());
            remarks.push(format!("it says that it failed at {said}, which is not believed"));
        }
    }
}

/// An exchange and a routing key of AMQP are short, so that nothing but a NUL has to be replaced.
fn storable_address(message: Message) -> Message {
    let (exchange, routing_key) = (names::cut(message.exchange).0, names::cut(message.routing_key).0);
    Message { exchange, routing_key, ..message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(message: Message) -> Delivery {
        Delivery { tag: 1, message, redelivered: false, remarks: Vec::new() }
    }

    fn with_header(name: &str, value: FieldValue) -> Message {
        let mut message = Message { body: b"body".to_vec(), ..Message::default() };
        message.headers.set(name, value);
        message
    }

    #[test]
    fn a_redelivery_has_the_same_fingerprint() {
        let first = with_header("x-delivery-count", FieldValue::LongLongInt(0));
        let again = with_header("x-delivery-count", FieldValue::LongLongInt(1));
        assert_eq!(fingerprint(&first), fingerprint(&again));
        assert_ne!(fingerprint(&first), fingerprint(&with_header("other", FieldValue::Void)));
    }

    #[test]
    fn only_the_time_of_a_death_is_apart() {
        let died = |count, seconds| {
            let death = [("count", FieldValue::LongLongInt(count)), ("time", FieldValue::Timestamp(seconds))];
            let death = death.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
            let message = with_header("x-death", FieldValue::Array(vec![FieldValue::Table(death)]));
            fingerprint(&message).0
        };
        let halves = |fingerprint: u128| (fingerprint >> 64, fingerprint & u128::from(u64::MAX));
        let ((message, time), (same, later), (other, same_time)) =
            (halves(died(1, 1)), halves(died(1, 2)), halves(died(2, 1)));
        assert_eq!((message, time), (same, same_time));
        assert!(message != other && time != later);
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let one = Message { exchange: "ab".into(), ..Message::default() };
        let other = Message { exchange: "a".into(), routing_key: "b".into(), ..Message::default() };
        assert_ne!(fingerprint(&one), fingerprint(&other));
    }

    #[test]
    fn letters_of_a_batch_keep_their_order() {
        let now = Timestamp::from_micros(1);
        let letters: Vec<Arrival> = (0..3)
            .map(|n| arrival(delivery(Message::default()), &IntakeSource::Obituaries, &RetryLimits::default(), now, n))
            .collect();
        assert!(letters.is_sorted_by_key(|letter| letter.received_at));
    }

    #[test]
    fn what_is_too_long_for_a_name_is_none() {
        let mut message = with_header("dlo-queue", FieldValue::string("q".repeat(8_000)));
        message.headers.set("dlo-reason", FieldValue::string("rejected"));
        message.properties.kind = Some("t".repeat(6_000));
        let letter =
            arrival(delivery(message), &IntakeSource::Obituaries, &RetryLimits::default(), Timestamp::default(), 0);
        assert_eq!((letter.failure.queue, letter.failure.message_type), (None, None));
        assert_eq!(letter.remarks.len(), 1, "{:?}", letter.remarks);
        assert_eq!(letter.message.properties.kind.map(|kind| kind.len()), Some(6_000), "the message stays whole");
    }

    #[test]
    fn an_obituary_with_a_wrong_reason_keeps_its_queue() {
        let mut message = with_header("dlo-queue", FieldValue::string("orders"));
        message.headers.set("dlo-reason", FieldValue::string("bored"));
        let letter =
            arrival(delivery(message), &IntakeSource::Obituaries, &RetryLimits::default(), Timestamp::default(), 0);
        assert_eq!(letter.failure.queue.as_deref(), Some("orders"));
        assert!(matches!(&*letter.remarks, [remark] if remark.contains("dlo-reason")), "{:?}", letter.remarks);
    }

    #[test]
    fn a_time_that_cannot_be_is_not_taken() {
        let now = Timestamp::from_seconds(1_795_262_400);
        for (said, is_taken) in
            [("2099-01-01T00:00:00Z", false), ("0001-01-01T00:00:00Z", false), ("2026-11-20T12:00:00Z", true)]
        {
            let mut message = with_header("dlo-queue", FieldValue::string("orders"));
            message.headers.set("dlo-reason", FieldValue::string("rejected"));
            message.headers.set("dlo-failed-at", FieldValue::string(said));
            let letter = arrival(delivery(message), &IntakeSource::Obituaries, &RetryLimits::default(), now, 0);
            assert_eq!(letter.failure.last_failed_at.is_some(), is_taken, "{said}");
            let is_remarked = letter.remarks.iter().any(|remark| remark.contains(&said[..4]));
            assert_eq!(is_remarked, !is_taken, "{:?}", letter.remarks);
        }
    }

    #[test]
    fn a_nul_stands_in_no_column_of_text() {
        let mut message = Message { routing_key: "a\0b".into(), ..Message::default() };
        let death =
            [("queue".to_owned(), FieldValue::string("q\0")), ("reason".to_owned(), FieldValue::string("rejected"))];
        let deaths = vec![FieldValue::Table(death.into_iter().collect())];
        message.headers.set("x-death", FieldValue::Array(deaths));
        let letter =
            arrival(delivery(message), &IntakeSource::Obituaries, &RetryLimits::default(), Timestamp::default(), 0);
        assert_eq!(letter.failure.queue, None);
        assert_eq!(letter.failure.routing_key, "a\u{fffd}b");
        let told = (&*letter.remarks, &*letter.losses);
        assert!(
            matches!(told, ([of_queue], [of_key]) if of_queue.contains("queue") && of_key.contains("key")),
            "{told:?}"
        );
        assert_eq!(letter.message.routing_key, "a\u{fffd}b");
    }
}
