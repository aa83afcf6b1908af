use super::{
    super::{
        look::Look,
        names::{NumberMeaning, TextMeaning},
    },
    *,
};

#[test]
fn expects_of_numbers_what_their_names_say() {
    fn check(meaning: NumberMeaning, expected: u64, unexpected: u64) {
        let [expected, unexpected] = [expected, unexpected]
            .map(|value| number::unsigned(meaning, value, 64) - number::unsigned(NumberMeaning::Any, value, 64));
        assert!(expected < unexpected, "{meaning:?}: {expected} {unexpected}");
    }
    check(NumberMeaning::Time, 1_700_000_000, 17);
    check(NumberMeaning::Time, 1_700_000_000_000, 1_700_000);
    check(NumberMeaning::Nanos, 500_000_000, 5_000_000_000);
    check(NumberMeaning::Port, 443, 70_000);
    check(NumberMeaning::Code, 404, 1000);
    check(NumberMeaning::Year, 2024, 17);
    check(NumberMeaning::Calendar, 31, 99);
    check(NumberMeaning::Percent, 100, 101);
    check(NumberMeaning::Duration, 3600, 1_000_000_000);
    check(NumberMeaning::Pixels, 1920, 100_000);
    check(NumberMeaning::Index, 3, 100_000);
}

/// More than its type can hold costs more than as bytes about which nothing is known: five of them.
#[test]
fn does_not_take_what_a_type_cannot_hold() {
    let too_large = u64::from(u32::MAX) + 2;
    let opaque = 5.0 * crate::wire::cost::BYTE;
    for cost in [number::unsigned, number::signed, number::zigzag].map(|cost| cost(NumberMeaning::Any, too_large, 32)) {
        assert!(cost > opaque, "{cost}");
    }
    assert!(number::signed(NumberMeaning::Any, u64::MAX, 32) < 10.0, "-1");
    assert!(number::zigzag(NumberMeaning::Any, 1, 32) < 10.0, "-1");
}

#[test]
fn expects_of_texts_what_their_names_say() {
    fn check(meaning: TextMeaning, look: Look, is_expected: bool) {
        let ratio = Expectations::new().log_ratio(meaning, look);
        assert_eq!(ratio > 0.0, is_expected, "{meaning:?} {look:?} {ratio}");
    }
    check(TextMeaning::Email, Look::Email, true);
    check(TextMeaning::Email, Look::Sentence, false);
    check(TextMeaning::Id, Look::Uuid, true);
    check(TextMeaning::Any, Look::Email, false);
    check(TextMeaning::Any, Look::Word, true);
}

#[test]
fn counts_unknown_and_repeated_fields() {
    assert!(unknown(6, 5) < unknown(60, 5) && unknown(60, 5) < unknown(4, 5));
    assert!(another(true) < another(false));
    let mut seen = Seen::default();
    assert_eq!([1, 63, 64, 1, 64, 65].map(|number| seen.again(number)), [false, false, false, true, true, false]);
}
