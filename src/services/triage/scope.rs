//! Which letters a filter means, in words.

use std::fmt::Display;

use amqp_message::time::Timestamp;

use crate::domain::{
    filter::{LetterFilter, Names},
    search::{Condition, Search},
};

/// `open or scheduled dead letters, critical, of the queue texts.*, received before 2026-11-21T10:00:00Z`
pub(crate) fn describe(filter: &LetterFilter) -> String {
    describe_so_many(filter, None)
}

/// The same of letters that are counted: one is a dead letter.
pub(crate) fn describe_so_many(filter: &LetterFilter, count: Option<u64>) -> String {
    let noun = if count == Some(1) { "dead letter" } else { "dead letters" };
    let letters = [one_of(&filter.statuses), noun.to_owned()];
    let letters = letters.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let parts = [
        letters,
        one_of(&filter.importances),
        one_of(&filter.reasons),
        after("of the queue", &names(&filter.queues)),
        after("of the type", &names(&filter.types)),
        after("of the group", &one_of(&filter.groups)),
        after("on", &one_of(&filter.brokers)),
        filter.since.map(|at| format!("received since {}", shown_time(at))).unwrap_or_default(),
        filter.until.map(|at| format!("received before {}", shown_time(at))).unwrap_or_default(),
        filter.search.as_ref().map(found_by).unwrap_or_default(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn found_by(search: &Search) -> String {
    match search.condition() {
        Condition::All(parts) if matches!(&**parts, [Condition::Id(_)]) => "picked by hand".to_owned(),
        _ => format!("found by “{search}”"),
    }
}

fn one_of<T: Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(" or ")
}

fn after(word: &str, what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("{word} {what}") }
}

/// A name that could be taken for a pattern, or for several, is in quotation marks.
fn names(names: &Names) -> String {
    let exact = names.exact.iter().map(|name| match &**name {
        "" => "that is unknown".to_owned(),
        name if name.contains(['*', '?', ',', ' ', '"']) => format!("{name:?}"),
        name => name.to_owned(),
    });
    one_of(&exact.chain(names.globs.iter().cloned()).collect::<Vec<_>>())
}

/// RFC 3339; in microseconds where that lies outside of the calendar.
fn shown_time(at: Timestamp) -> String {
    let shown = jiff::Timestamp::from_microsecond(at.as_micros());
    shown.map_or_else(|_| format!("{} µs", at.as_micros()), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::{Importance, Status};

    #[test]
    fn filters_in_words() {
        let check = |filter, expected: &str| assert_eq!(describe(&filter), expected);
        check(LetterFilter::default(), "dead letters");
        let filter = LetterFilter {
            statuses: vec![Status::Open, Status::Scheduled],
            importances: vec![Importance::Critical],
            queues: Names { exact: vec!["a,b".to_owned(), String::new()], ..Names::globs(["texts.*"]) },
            brokers: vec!["main".to_owned()],
            until: Some(Timestamp::from_micros(1_795_255_440_000_000)),
            ..LetterFilter::default()
        };
        let expected = "open or scheduled dead letters, critical, of the queue \"a,b\" or that is unknown or texts.*, on main, received \
                        before 2026-11-21T10:04:00Z";
        check(filter, expected);
        let filter = LetterFilter { since: Some(Timestamp::MAX), ..LetterFilter::default() };
        check(filter, "dead letters, received since 9223372036854775807 µs");
        let filter = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
        let counted = [1, 2].map(|n| describe_so_many(&filter, Some(n)));
        assert_eq!(counted, ["open dead letter", "open dead letters"]);
    }
}
