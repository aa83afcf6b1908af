use super::{PAYLOAD, outcome, outcome_with};
use crate::{MAX_PAYLOAD, MAX_PAYLOAD_VALUES};

#[test]
fn faults_are_told_with_their_places() {
    fn check(rule: &str, expected: &str) {
        assert_eq!(outcome(rule), expected, "{rule}");
    }
    check("payload.region > 5", "line 1, column 16: > can't be applied to a text and a number");
    check("'é' == 'é' &&\n payload.region < 5", "line 2, column 17: < can't be applied to a text and a number");
    check("payload.region", "a rule has to end in yes or no, but this one ended in a text");
    check("payload.region && true", "line 1, column 16: && can't be applied to a text");
    check("!payload.region", "line 1, column 1: ! can't be applied to a text");
    check("payload.region ? true : false", "line 1, column 16: ? can't be applied to a text");
    check("1 / payload.lines[1].n == 1", "line 1, column 3: this divides by zero");
    check("1 % payload.lines[1].n == 1", "line 1, column 3: this divides by zero");
    check("payload.big + 1 > 0", "line 1, column 13: the result is too large a number");
    check("payload.big * payload.big > 0", "line 1, column 13: the result is too large a number");
    check("-payload.big < 0", "line 1, column 1: the result is too large a number");
    check("int(payload.region) == 1", "line 1, column 1: this is not the text of a whole number");
    check("uint(-payload.id) == 1", "line 1, column 1: the result is too large a number");
    check("double(payload.region) == 1", "line 1, column 1: this is not the text of a number");
    check("bool(payload.region)", "line 1, column 1: this is not the text of true or false");
    check(
        "timestamp(payload.region) < letter.last_failed_at",
        "line 1, column 1: this is not the text of a point in time, as 2026-01-31T09:00:00Z",
    );
    check(
        "duration(payload.region) < duration('1s')",
        "line 1, column 1: this is not the text of a duration, as 1h30m",
    );
    check("payload.id.startsWith('a')", "line 1, column 12: startsWith can't be applied to a number");
    check("payload.region.startsWith(payload.id)", "line 1, column 16: startsWith can't be applied to a number");
    check("payload.id.matches('a')", "line 1, column 12: matches can't be applied to a number");
    check("payload.id.all(x, true)", "line 1, column 12: all can't be applied to a number");
    check("payload.tags.all(x, x)", "line 1, column 14: all can't be applied to a text");
    check("payload.tags['a'] == 1", "line 1, column 13: […] can't be applied to a list and a text");
    check("1 in payload.id", "line 1, column 3: in can't be applied to a number and a number");
    check("payload.region + 1 == 2", "line 1, column 16: + can't be applied to a text and a number");
    check("{payload.region: 1, 'eu': 2}.size() == 2", "line 1, column 1: a key stands twice in this map");
    check("{payload.price: 1}.size() == 1", "line 1, column 1: the key of a map can't be applied to a number");
}

#[test]
fn a_side_that_decides_hides_a_fault() {
    for rule in ["payload.region > 5 || true", "true || payload.region > 5", "!(payload.region > 5 && false)"] {
        assert_eq!(outcome(rule), "true", "{rule}");
    }
}

#[test]
fn payloads_beyond_bounds_are_reported() {
    let long = format!("[\"{}\"]", "a".repeat(MAX_PAYLOAD));
    let wide = format!("[0{}]", ",0".repeat(MAX_PAYLOAD_VALUES));
    for payload in [&long, &wide] {
        let told = "the payload is too large for rules, which read up to 1024 KiB of JSON";
        assert_eq!(outcome_with("payload.size() > 0", Some(payload)), told);
        assert_eq!(outcome_with("has(payload.a)", Some(payload)), told);
        assert_eq!(outcome_with("letter.attempts == 3", Some(payload)), "true");
    }
}

#[test]
fn faults_hold_nothing_of_the_letter() {
    let secret = PAYLOAD.replace("\"eu\"", "\"hunter2\"");
    for rule in
        ["payload.region > 5", "int(payload.region) > 5", "payload.region", "payload.region + 1 == 1", "!payload"]
    {
        let told = outcome_with(rule, Some(&secret));
        assert!(told.contains("can't") || told.contains("not") || told.contains("ended"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
