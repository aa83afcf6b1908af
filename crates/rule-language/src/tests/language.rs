use std::sync::atomic::{AtomicUsize, Ordering};

use amqp_message::field::FieldTable;

use super::{HOUR, PAYLOAD, bare, compile, headers, letter, outcome};
use crate::{Decision, Facts, Ruleset};

#[track_caller]
fn check(expected: bool, rules: &[&str]) {
    for rule in rules {
        assert_eq!(outcome(rule), expected.to_string(), "{rule}");
    }
}

#[test]
fn rules_see_the_letter() {
    check(
        true,
        &[
            "letter.queue.startsWith('campaigns.')",
            "letter.exchange == 'shop'",
            "letter.routing_key.endsWith('.placed')",
            "letter.broker == \"main\"",
            "letter.reason == 'rejected'",
            "letter.attempts == 3",
            "letter.type == 'acme.OrderPlaced'",
            "letter.error == 'TimeoutError: no answer'",
            "letter.error_type == 'TimeoutError'",
            "letter.error_message.contains('at all')",
            "letter.size > 2000",
            "letter.last_failed_at - letter.first_failed_at == duration('2h')",
            "letter.last_failed_at > timestamp('1970-01-01T02:00:00Z')",
            "letter.last_failed_at.getHours() == 3 && letter.last_failed_at.getDayOfWeek() == 4",
            "letter.queue.startsWith(\"campaigns.\") && payload.region == \"eu\"",
        ],
    );
    check(false, &["letter.queue == 'x'", "letter.attempts > 3", "!(letter.attempts == 3)", "false"]);
}

#[test]
fn rules_see_headers() {
    check(
        true,
        &[
            "letter.headers.tenant == 'acme'",
            "letter.headers[\"x-tries\"] == '12'",
            "letter.headers.`x-tries` > 9",
            "letter.headers['x-tries'] in [12]",
            "letter.headers.vip",
            "letter.headers.weight == 1.5",
            "letter.headers.table.inner == 1",
            "letter.headers.list == ['a', 2]",
            "letter.headers.sent == timestamp('1970-01-01T01:00:00Z')",
            "letter.headers.nothing == null",
            "'tenant' in letter.headers && !('nobody' in letter.headers)",
            "has(letter.headers.tenant) && has(letter.headers['x-tries']) && !has(letter.headers.nobody)",
            "letter.headers.exists(name, name.startsWith('x-'))",
            "letter.headers.size() == 8",
        ],
    );
}

#[test]
fn rules_see_the_payload() {
    check(
        true,
        &[
            "payload.id == 5 && payload.id == 5.0 && payload.id == 5u",
            "payload.round == 5 && payload.round == 5.0 && 5 == payload.round",
            "payload.price > 12 && payload.price < 12.75 && payload.price * 2 == 25",
            "payload.big == 18446744073709551615u && payload.big > 9223372036854775807",
            "payload.long == 9223372036854775807 && payload.long == '9223372036854775807' && payload.long > 5",
            "payload.code == '007' && payload.code != 7",
            "int(payload.code) == 7 && int(payload.long) - 1 < 9223372036854775807",
            "payload.customer.id == 42 && payload.customer.id in [1, 42] && payload.customer.address.country == 'NL'",
            "payload.customer == {'id': '42', 'address': {'country': 'NL'}}",
            "payload['region'] == 'eu' && payload[\"a-b\"] == 1 && payload.`a-b` == 1 && payload['in'] == 1",
            "payload.name == 'Zoë' && payload.name.size() == 3 && size(payload.tags) == 3",
            "payload.vip && payload.vip == true",
            "'urgent' in payload.tags && payload.tags[0] == 'a' && !('z' in payload.tags)",
            "3 in payload.numbers && 2 in payload.numbers && payload.numbers == [1, 2, '3']",
            "payload.lines.exists(l, l.sku == 'B') && payload.lines.exists_one(l, l.n == 7)",
            "payload.lines.all(l, l.n >= 0) && payload.lines.map(l, l.n) == [2, 0, 7]",
            "payload.lines.filter(l, l.n > 0).size() == 2 && payload.lines.map(l, l.n > 0, l.n * 2) == [4, 14]",
            "payload.lines.filter(l, has(l.sku)).map(l, l.sku) == ['A', 'B']",
            "payload.tags.exists(t, payload.tags.exists(u, u == t + t) || t == 'b')",
            "payload.none == null && payload.region != null",
            "timestamp(payload.at) > timestamp('2026-01-01T00:00:00Z')",
            "payload.name.matches('^Z..$') && matches(payload.region, r'\\w{2}') && !payload.region.matches('^u')",
            "payload.region.upperAscii() == 'EU' && 'EU'.lowerAscii() == payload.region",
            "(payload.vip ? payload.price : 0) > 10",
            "payload.mixed[3].k == 1 && payload.mixed.exists(m, m == null)",
        ],
    );
}

#[test]
fn what_is_missing_never_matches() {
    check(
        false,
        &[
            "payload.nothing == 1",
            "payload.nothing != 1",
            "!(payload.nothing == 1)",
            "payload.nothing.deeper.still == 1",
            "payload.region.deeper == 1",
            "payload.nothing",
            "!payload.nothing",
            "payload.tags[3] == 'a' || payload.tags[-1] == 'a'",
            "payload.none > 5",
            "payload.none",
            "payload.none && true",
            "payload.none + 1 == 1",
            "payload.none.size() == 0",
            "payload.none.matches('a')",
            "payload.none.all(x, true)",
            "1 in payload.none",
            "letter.headers.nothing > 1",
            "payload.lines.all(l, l.sku != '')",
            "payload.nothing ? true : true",
            "[payload.nothing].size() == 1",
            "{'a': payload.nothing}.size() == 1",
        ],
    );
}

#[test]
fn the_other_side_can_still_decide() {
    check(
        true,
        &[
            "payload.nothing == 1 || letter.attempts == 3",
            "letter.attempts == 3 || payload.nothing == 1",
            "!(payload.nothing == 1 && letter.attempts == 4)",
            "payload.lines.exists(l, l.sku == 'B')",
            "[{'n': 1}, {'sku': 'B'}].exists(l, l.sku == 'B')",
            "!payload.lines.all(l, l.n == 2)",
        ],
    );
}

#[test]
fn has_is_never_missing() {
    check(
        true,
        &[
            "has(payload.region) && has(payload.none) && has(payload.customer.address.country)",
            "!has(payload.nothing) && !has(payload.nothing.deeper) && !has(payload.region.deeper)",
            "has(letter.queue) && has(payload) && has(payload.lines[2]) && !has(payload.lines[3].n)",
        ],
    );
}

#[test]
fn a_bare_letter_matches_what_asks_for_nothing_it_lacks() {
    fn check(rule: &str, expected: bool) {
        let empty = FieldTable::default();
        for payload in [None, Some("no json"), Some("{\"a\":"), Some("")] {
            let facts = Facts::new(bare(&empty), payload);
            assert_eq!(compile(rule).matches(&facts), Ok(expected), "{rule} {payload:?}");
        }
    }
    check("letter.queue == 'a'", false);
    check("letter.queue != 'a'", false);
    check(
        "letter.type == 'a' || letter.error == 'a' || letter.error_type == 'a' || letter.error_message == 'a'",
        false,
    );
    check("letter.first_failed_at < letter.last_failed_at", false);
    check("has(letter.queue) || has(letter.type) || has(letter.error) || has(letter.first_failed_at)", false);
    check("payload.a == 1", false);
    check("has(payload.a)", false);
    check("!has(payload) && !has(letter.queue)", true);
    check("letter.headers.size() == 0", true);
    check("true", true);
}

#[test]
fn a_payload_need_not_be_an_object() {
    fn check(payload: &str, rule: &str) {
        assert_eq!(super::outcome_with(rule, Some(payload)), "true", "{payload} {rule}");
    }
    check("[1, 2]", "payload[1] == 2 && !has(payload.a) && payload.size() == 2");
    check("\"text\"", "payload == 'text'");
    check("5", "payload > 4");
    check("null", "payload == null");
    check("{\"a\": 1, \"a\": 2}", "payload.a == 2");
    check("{\"a\": 1e300}", "payload.a > 18446744073709551615u");
    check("{\"a\": 123456789012345678901234567890}", "payload.a > 1e29");
}

#[test]
fn times_can_be_calculated_with() {
    check(
        true,
        &[
            "letter.first_failed_at + duration('2h') == letter.last_failed_at",
            "duration('2h') + letter.first_failed_at == letter.last_failed_at",
            "letter.last_failed_at - duration('120m') == letter.first_failed_at",
            "duration('1h') + duration('30m') == duration('90m') && -duration('1s') < duration('0s')",
            "int(letter.first_failed_at) == 3600 && timestamp(3600) == letter.first_failed_at",
            "letter.last_failed_at - letter.first_failed_at >= duration('1h')",
        ],
    );
    assert_eq!(HOUR, 3_600_000_000);
}

#[test]
fn the_first_rule_that_matches_takes_the_letter() {
    fn check(rules: &[&str], expected: Option<usize>, failed: &[usize]) {
        let rules = Ruleset::new(rules.iter().map(|rule| compile(rule)).zip(0..).collect());
        let headers = headers();
        let Decision { outcome, failures } = rules.first(&Facts::new(letter(&headers), Some(PAYLOAD)));
        let failures: Vec<usize> = failures.into_iter().map(|(place, _)| *place).collect();
        assert_eq!((outcome.copied(), failures.as_slice()), (expected, failed));
    }
    check(&[], None, &[]);
    check(&["false", "payload.nothing"], None, &[]);
    check(&["false", "true", "true"], Some(1), &[]);
    check(&["payload.region > 5", "payload.region", "true", "payload.region"], Some(2), &[0, 1]);
    check(&["payload.region > 5", "false"], None, &[0]);
}

#[test]
fn a_body_is_decoded_once_and_only_if_a_rule_asks() {
    fn check(rules: &[&str], asks: bool, expected: usize) {
        let n_decoded = AtomicUsize::new(0);
        let decode = || {
            n_decoded.fetch_add(1, Ordering::Relaxed);
            Some("{\"a\": 1}".to_owned())
        };
        let rules = Ruleset::new(rules.iter().map(|rule| (compile(rule), "high")).collect());
        let headers = headers();
        let decision = rules.first(&Facts::decoding(letter(&headers), &decode));
        assert_eq!(decision.failures, []);
        assert_eq!((rules.asks_for_payload(), n_decoded.into_inner()), (asks, expected));
    }
    check(&["letter.attempts == 4"], false, 0);
    check(&["letter.attempts == 3", "payload.a == 1"], true, 0);
    check(&["letter.attempts == 4 && payload.a == 1"], true, 0);
    check(&["payload.a == 2", "payload.a == 3", "has(payload)", "payload.a == 1"], true, 1);
}

#[test]
fn facts_and_rules_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Facts<'static>>();
    shared::<Ruleset<()>>();
}
