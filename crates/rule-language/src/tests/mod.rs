mod conformance;
mod failures;
mod hostile;
mod language;
mod mistakes;
mod syntax;

use std::iter;

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    time::Timestamp,
};

use arbtest::arbitrary::{Result, Unstructured};

use super::{Expression, Facts, LetterFacts};

const HOUR: i64 = 3_600_000_000;

fn headers() -> FieldTable {
    let nested = FieldTable::from_iter([("inner".to_owned(), FieldValue::LongInt(1))]);
    FieldTable::from_iter([
        ("tenant".to_owned(), FieldValue::string("acme")),
        ("x-tries".to_owned(), FieldValue::string("12")),
        ("vip".to_owned(), FieldValue::Boolean(true)),
        ("weight".to_owned(), FieldValue::Double(1.5_f64.to_bits())),
        ("table".to_owned(), FieldValue::Table(nested)),
        ("list".to_owned(), FieldValue::Array(vec![FieldValue::string("a"), FieldValue::ShortInt(2)])),
        ("sent".to_owned(), FieldValue::Timestamp(3_600)),
        ("nothing".to_owned(), FieldValue::Void),
    ])
}

/// A message of which all is known.
fn letter(headers: &FieldTable) -> LetterFacts<'_> {
    LetterFacts {
        broker: "main",
        queue: Some("campaigns.mail"),
        exchange: "shop",
        routing_key: "order.placed",
        reason: Reason::Rejected,
        attempts: 3,
        message_type: Some("acme.OrderPlaced"),
        headers,
        error_type: Some("TimeoutError"),
        error_message: Some("no answer\nat all"),
        size: 2_048,
        first_failed_at: Some(Timestamp::from_micros(HOUR)),
        last_failed_at: Timestamp::from_micros(3 * HOUR),
    }
}

/// A message of which nothing is known that need not be.
fn bare(headers: &FieldTable) -> LetterFacts<'_> {
    LetterFacts {
        queue: None,
        message_type: None,
        error_type: None,
        error_message: None,
        first_failed_at: None,
        ..letter(headers)
    }
}

const PAYLOAD: &str = r#"{
    "id": 5, "price": 12.50, "round": 5.0, "big": 18446744073709551615, "long": "9223372036854775807", "code": "007",
    "region": "eu", "name": "Zoë", "vip": true, "none": null, "empty": "", "at": "2026-01-31T09:00:00Z",
    "tags": ["a", "b", "urgent"], "numbers": [1, 2.0, "3"], "mixed": [1, "a", null, {"k": 1}],
    "lines": [{"sku": "A", "n": 2}, {"sku": "B", "n": 0}, {"n": 7}],
    "customer": {"id": "42", "address": {"country": "NL"}}, "a-b": 1, "in": 1
}"#;

/// Tries a property on some cases, always the same ones, so that what they amount to can be asserted however slow the
/// machine is; `arbtest` tries as many others as there is time for.
fn on_fixed_cases(mut property: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..300 {
        let bytes: Vec<u8> = iter::repeat_with(|| random.u8(..)).take(4_096).collect();
        property(&mut Unstructured::new(&bytes)).unwrap();
    }
}

fn compile(rule: &str) -> Expression {
    Expression::compile(rule).unwrap_or_else(|mistakes| panic!("{rule}: {mistakes:?}"))
}

/// The outcome for the message of which all is known.
fn outcome(rule: &str) -> String {
    outcome_with(rule, Some(PAYLOAD))
}

fn outcome_with(rule: &str, payload: Option<&str>) -> String {
    let headers = headers();
    match compile(rule).matches(&Facts::new(letter(&headers), payload)) {
        Ok(matches) => matches.to_string(),
        Err(failure) => failure.to_string(),
    }
}
