use std::time::Duration;

use super::*;
use crate::domain::filter::LetterFilter;

const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

fn narrowed(text: &str) -> LetterFilter {
    let mut filter = LetterFilter::default();
    filter.narrow(&Parsed::read(text).unwrap_or_else(|why| panic!("{text}: {why:?}")), NOW);
    filter
}

#[test]
fn what_a_filter_has_a_place_for_goes_there() {
    let filter = narrowed(
        "queue:billing.*,a type:OrderPlaced importance:>=high status:open,retried reason:rejected broker:main since:2h NoRate",
    );
    let expected = LetterFilter {
        queues: Names { exact: vec!["a".to_owned()], globs: vec!["billing.*".to_owned()] },
        types: Names { exact: vec!["OrderPlaced".to_owned()], globs: vec!["*.OrderPlaced".to_owned()] },
        importances: vec![Importance::Critical, Importance::High],
        statuses: vec![Status::Open, Status::Retried],
        reasons: vec![Reason::Rejected],
        brokers: vec!["main".to_owned()],
        since: Some(NOW.minus(Duration::from_secs(7_200))),
        search: Some(Search::written("NoRate").unwrap()),
        ..LetterFilter::default()
    };
    assert_eq!(filter, expected);
    assert_eq!(narrowed("queue:\"a*\"").queues, Names::exact(["a*"]), "in quotes it is a name");
}

#[test]
fn what_has_no_free_place_stays_a_condition() {
    let check = |text: &str, expected: &str| {
        let search = narrowed(text).search.map(|search| search.to_string());
        assert_eq!(search.as_deref(), Some(expected), "{text}");
    };
    check("queue:a* queue:*b", "queue:*b");
    check("-queue:a", "-queue:a");
    check("(status:open OR attempts:>3)", "(status:open OR attempts:>3)");
    check("-since:2h", "-since:2026-11-21T08:04:00Z");
    check("importance:>critical", "importance:>critical");
    check("a b -c", "a b -c");
}

#[test]
fn a_search_that_is_kept_is_read_as_the_same() {
    for text in ["a -since:2h", "payload.total:>40 (x OR -header.y:\"a b\")", "-\"a b\" size:<3 stack:foo"] {
        let search = narrowed(text).search.unwrap();
        assert_eq!(Search::written(&search.to_string()), Ok(search), "{text}");
    }
}

/// What would keep a database busy for seconds.
#[test]
fn a_search_compares_so_many_numbers_and_no_more() {
    let comparisons =
        |n: usize| (0..n).map(|n| format!("payload.n:>-{n}.345678901234567")).collect::<Vec<_>>().join(" ");
    let mistakes = Parsed::read(&comparisons(40)).expect_err("40 comparisons");
    assert_eq!((mistakes[0].column, &*mistakes[0].message), (1, "it compares too many numbers at once"));
    assert!(Parsed::read(&comparisons(20)).is_ok());
}

#[test]
fn mistakes_of_meaning_have_their_place() {
    let check = |text: &str, column: usize, part: &str| {
        let mistakes = Parsed::read(text).expect_err(text);
        assert!(mistakes[0].column == column && mistakes[0].message.contains(part), "{text}: {mistakes:?}");
    };
    check("a !!!", 3, "no letter and no digit");
    check("error:\"...\"", 7, "no letter and no digit");
    check("a payload.total:>many", 3, "> compares numbers, and \"many\" is none");
    check("importance:huge", 12, "critical, high, normal, low");
    check("group:7", 7, "the id of an error group");
    check("since:yesterday", 7, "24h");
    check("size:1,2", 6, "size takes one value and no list: it takes a whole number, or is compared as in size:>1");
    check("attempts:>1,<5", 10, "attempts takes one value and no list");
    check("since:2h,3h", 7, "since takes one value and no list: it takes 2026-");
    check("until:2h,3h", 7, "until takes one value and no list");
    let withheld = Parsed::read("a -(payload.b:1 OR header.c:2)").unwrap().mistakes_without_payloads();
    assert_eq!(withheld.iter().map(|mistake| mistake.column).collect::<Vec<_>>(), [5]);
}

#[test]
fn each_part_can_be_left_out() {
    let parts = Parsed::read("a  -b (c OR d)").unwrap().parts();
    let told: Vec<_> = parts.iter().map(|part| (&*part.text, part.is_negated, &*part.without)).collect();
    assert_eq!(told, [("a", false, "-b (c OR d)"), ("-b", true, "a (c OR d)"), ("(c OR d)", false, "a -b")]);
    let without =
        |text: &str| Parsed::read(text).unwrap().parts().into_iter().map(|part| part.without).collect::<Vec<_>>();
    assert_eq!(without("boom AND queue:a"), ["queue:a", "boom"]);
    assert_eq!(without("(a AND NOT b) c"), ["NOT b c", "a c", "a NOT b"]);
    assert_eq!(without("(a OR b)"), [""]);
}

#[test]
fn a_document_is_bounded() {
    let bounds = document::Bounds { text_bytes: 10, fields: 1 };
    let mut document = document::Document::default();
    document.add_text(Area::Error, "No éxchange rate", &bounds);
    document.add_value(Area::Payload, "payload.a", "4000", &bounds);
    document.add_value(Area::Payload, "payload.b", "x", &bounds);
    assert_eq!(document.words(Area::Error), ["no", "éxchan"]);
    assert_eq!(document.words(Area::Payload), [""; 0]);
    assert_eq!(document.lexemes().count(), 7, "{document:?}");
    document.add_presence(Area::Payload, "payload.c", &bounds);
    assert_eq!(document.lexemes().count(), 7, "{document:?}");
    document.add_presence(Area::Headers, "header.c", &bounds);
    document.add_presence(Area::Headers, "header.d", &bounds);
    assert_eq!(document.lexemes().count(), 8, "{document:?}");
}
