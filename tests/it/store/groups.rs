//! Groups: listed, counted, and the outcomes of their retries.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::{
    domain::{
        activity::{ActivityFilter, Area},
        actor::Actor,
        command::Command,
        filter::{LetterFilter, Names},
        group::{Group, GroupCounts, GroupCursor, GroupFilter, GroupId, GroupSort, Hour, Outcome},
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
        version::Expected,
    },
    grouping,
    store::Enriched,
};

use super::{
    database::{DISCARD, RETRY_NOW, TestDatabase, record},
    make::{InGroup, Make, NOON, an_arrival, enriched, later},
};

const HOUR: Duration = Duration::from_secs(3_600);
const OPEN: GroupFilter = every(true);
const EVERY: GroupFilter = every(false);

const NO_NAMES: Names = Names { exact: Vec::new(), globs: Vec::new() };

const fn every(only_open: bool) -> GroupFilter {
    GroupFilter {
        only_open,
        phases: Vec::new(),
        assignees: Vec::new(),
        importances: Vec::new(),
        brokers: Vec::new(),
        queues: NO_NAMES,
        types: NO_NAMES,
        reasons: Vec::new(),
    }
}

/// Letters of `orders` that fail with this error, sorted into their group.
async fn fail(database: &TestDatabase, error: &str, importances: &[Importance]) -> Vec<LetterId> {
    fail_at(database, NOON, error, importances).await
}

async fn fail_at(database: &TestDatabase, at: Timestamp, error: &str, importances: &[Importance]) -> Vec<LetterId> {
    let mut ids = Vec::new();
    for importance in importances {
        let letter = database.take_in_new(an_arrival().received(at)).await;
        sort(database, Enriched { received_at: at, importance: *importance, ..failed(letter, error) }).await;
        ids.push(letter);
    }
    ids
}

fn failed(letter: LetterId, error: &str) -> Enriched {
    enriched(letter).in_group("main", "orders", error)
}

async fn sort(database: &TestDatabase, found: Enriched) {
    database.enrich(&[found], 1, later(1)).await.unwrap();
}

/// A letter of another kind, by what its group is called after.
async fn other(database: &TestDatabase, broker: &str, queue: &str, message_type: &str, reason: Reason) -> GroupId {
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let arrival = an_arrival().reason(reason).make(|arrival| arrival.failure.queue = known(queue));
    let id = arrival.id;
    record(database, broker, &[arrival]).await;
    let found = Enriched { message_type: known(message_type), ..enriched(id) }.in_group(broker, queue, "");
    let key = dead_letter_office::domain::group::GroupKey { reason, ..found.key.clone() };
    let group = grouping::id(&key);
    sort(database, Enriched { group, key, ..found }).await;
    group
}

/// The errors of the groups on one page.
async fn page(
    database: &TestDatabase,
    sort: GroupSort,
    after: Option<GroupCursor>,
    limit: usize,
) -> (Vec<String>, Option<GroupCursor>) {
    let page = database.groups(&OPEN, sort, after, limit, NOON).await.unwrap();
    (page.items.into_iter().map(|group| group.key.error).collect(), page.next)
}

async fn only(database: &TestDatabase, pending_since: Timestamp) -> Group {
    let mut page = database.groups(&EVERY, GroupSort::Importance, None, 2, pending_since).await.unwrap();
    assert_eq!((page.items.len(), page.total, page.next), (1, 1, None));
    let group = page.items.remove(0);
    assert_eq!(database.group(group.id, pending_since).await.unwrap(), Some(group.clone()));
    group
}

use Importance::{Critical, High, Low, Normal};

async fn the_most_important_come_first_or_the_biggest_or_the_newest(database: &TestDatabase) {
    fail_at(database, NOON, "many", &[Normal, Normal, Low]).await;
    fail_at(database, later(1), "critical", &[Critical]).await;
    fail_at(database, later(2), "some", &[Normal, Low]).await;
    fail_at(database, later(3), "low", &[Low]).await;
    let check = async |sort, expected: [&str; 4]| assert_eq!(page(database, sort, None, 9).await.0, expected);
    check(GroupSort::Importance, ["critical", "many", "some", "low"]).await;
    check(GroupSort::Biggest, ["many", "some", "low", "critical"]).await;
    check(GroupSort::Newest, ["low", "some", "critical", "many"]).await;
}

async fn every_group_is_on_exactly_one_page(database: &TestDatabase) {
    for (n, importance) in (0..3).flat_map(|n| Importance::ALL.iter().map(move |importance| (n, *importance))) {
        fail(database, &format!("{importance} {n}"), &vec![importance; n + 1]).await;
    }
    for sort in GroupSort::ALL {
        let (all, _) = page(database, *sort, None, 99).await;
        assert_eq!(all.len(), 12);
        for limit in [1, 5, 12] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let (items, next) = page(database, *sort, after, limit).await;
                found.extend(items);
                after = next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, all, "{sort}, limit {limit}");
        }
    }
}

async fn pages_go_on_while_figures_change(database: &TestDatabase) {
    let mut letters = Vec::new();
    for error in ["a", "b", "c", "d"] {
        letters.push(fail(database, error, &[High]).await);
    }
    let (all, _) = page(database, GroupSort::Importance, None, 9).await;
    let (first, next) = page(database, GroupSort::Importance, None, 2).await;
    assert_eq!(first, all[..2]);
    let of = |error: &str| &letters[["a", "b", "c", "d"].iter().position(|one| *one == error).unwrap()];
    // The group that the page ended with is no longer listed, the one before it grows.
    database.does(&DISCARD, of(&all[1])).await;
    fail(database, &all[0], &[High]).await;
    let (second, last) = page(database, GroupSort::Importance, next, 2).await;
    assert_eq!((second, last), (all[2..].to_vec(), None));
}

async fn the_filter_asks_for_what_groups_have_in_common(database: &TestDatabase) {
    let a = other(database, "main", "texts.sms", "acme.A", Reason::Rejected).await;
    let b = other(database, "main", "texts.mail", "acme.B", Reason::Expired).await;
    let c = other(database, "other", "orders", "", Reason::Rejected).await;
    let d = other(database, "main", "", "acme.A", Reason::Unknown).await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let check = async |filter: GroupFilter, expected: &[GroupId]| {
        let page = database.groups(&filter, GroupSort::Importance, None, 9, NOON).await.unwrap();
        let mut found: Vec<_> = page.items.iter().map(|group| group.id).collect();
        let mut expected = expected.to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{filter:?}");
        assert_eq!(page.total, expected.len() as u64, "{filter:?}");
        assert_eq!(database.matching_groups(&filter).await.unwrap().len(), expected.len(), "{filter:?}");
        assert_eq!(database.count_groups(&filter).await.unwrap().all, expected.len() as u64, "{filter:?}");
    };
    check(EVERY, &[a, b, c, d]).await;
    check(GroupFilter { brokers: names(&["other", "nobody"]), ..EVERY }, &[c]).await;
    check(GroupFilter { queues: Names::globs(["texts.*"]), ..EVERY }, &[a, b]).await;
    check(GroupFilter { queues: Names::exact(["orders", "texts.sms"]), ..EVERY }, &[a, c]).await;
    check(GroupFilter { queues: Names::exact([""]), ..EVERY }, &[d]).await;
    check(GroupFilter { queues: Names::globs(["nothing.*"]), ..EVERY }, &[]).await;
    check(GroupFilter { types: Names::globs(["acme.?"]), brokers: names(&["main"]), ..EVERY }, &[a, b, d]).await;
    check(GroupFilter { types: Names::exact([""]), ..EVERY }, &[c]).await;
    check(GroupFilter { reasons: vec![Reason::Expired, Reason::Unknown], ..EVERY }, &[b, d]).await;
}

async fn groups_are_counted_by_what_is_open(database: &TestDatabase) {
    fail(database, "a", &[Critical, Low]).await;
    fail(database, "b", &[Low]).await;
    let gone = fail(database, "c", &[High]).await;
    database.does(&DISCARD, &gone).await;
    let expected = GroupCounts { all: 3, open: 2, by_importance: [1, 0, 0, 2], by_phase: [2, 0, 0, 0], to_do: 2 };
    assert_eq!(database.count_groups(&OPEN).await.unwrap(), expected);
    assert_eq!(database.open_groups().await.unwrap(), [1, 0, 0, 1], "each by its most important");
    let of = async |importances: &[Importance], only_open| {
        let filter = GroupFilter { only_open, importances: importances.to_vec(), ..EVERY };
        database.groups(&filter, GroupSort::Importance, None, 9, NOON).await.unwrap().total
    };
    assert_eq!(of(&[], true).await, 2);
    assert_eq!(of(&[], false).await, 3);
    assert_eq!(of(&[Low], true).await, 2);
    assert_eq!(of(&[High, Normal], true).await, 0);
}

async fn an_empty_database_has_no_groups(database: &TestDatabase) {
    assert_eq!(page(database, GroupSort::Importance, None, 9).await, (Vec::new(), None));
    assert_eq!(database.count_groups(&EVERY).await.unwrap(), GroupCounts::default());
    assert_eq!(database.outcome(NOON, NOON).await.unwrap(), Outcome::default());
    let id = GroupId::from_uuid(super::make::id());
    assert_eq!(database.group(id, NOON).await.unwrap(), None);
    assert!(!database.set_group_note(id, "x", &Expected::Anything, &Actor::local(), NOON).await.unwrap());
}

/// Sends letters back at that moment.
async fn send(database: &TestDatabase, ids: &[LetterId], at: Timestamp) {
    database.does(&RETRY_NOW, ids).await;
    let claimed = database.claim(at).await;
    let outcomes: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
    database.finish_retries(&outcomes, at).await.unwrap();
}

async fn what_does_not_come_back_in_time_has_succeeded(database: &TestDatabase) {
    let letters = fail(database, "x", &[Normal; 3]).await;
    send(database, &letters[..2], later(60)).await;
    let outcome = |sent, failed_again, pending| Outcome { sent, failed_again, pending };
    let check = async |pending_since, expected: Outcome| {
        assert_eq!(only(database, pending_since).await.outcome, expected);
        assert_eq!(database.outcome(NOON, pending_since).await.unwrap(), expected);
    };
    check(NOON, outcome(2, 0, 2)).await;
    let back = an_arrival().returning(letters[0]).received(later(90));
    database.take_in([back]).await;
    check(NOON, outcome(2, 1, 1)).await;
    // By then it was sent back long enough ago.
    check(later(60), outcome(2, 1, 0)).await;
    assert_eq!(outcome(2, 1, 0).succeeded(), 1);
    sort(database, Enriched { received_at: later(90), ..failed(letters[0], "x") }).await;
    let group = only(database, NOON).await;
    assert_eq!((group.n_open(), group.retried, group.last_sent_at), (2, 1, Some(later(60))));
    assert_eq!((group.first_seen, group.last_seen), (NOON, later(90)));
    send(database, &letters[..1], later(7_200)).await;
    check(later(60), outcome(3, 1, 1)).await;
    // The hour of that lies in the span as a whole, and is told by its counts.
    database.take_in([an_arrival().returning(letters[0]).received(later(7_203))]).await;
    check(later(60), outcome(3, 2, 0)).await;
    send(database, &letters[..1], later(7_204)).await;
    check(later(60), outcome(4, 2, 1)).await;
    check(later(7_202), outcome(4, 2, 1)).await;
    check(later(7_204), outcome(4, 2, 0)).await;
    let lately = database.outcome(later(7_205), NOON).await.unwrap();
    assert_eq!(lately, outcome(2, 1, 0), "what was sent in the hour asked for, and is known since before");
}

async fn what_all_failed_again_is_no_longer_unknown(database: &TestDatabase) {
    let letters = fail(database, "x", &[Normal]).await;
    send(database, &letters, later(60)).await;
    database.take_in([an_arrival().returning(letters[0]).received(later(90))]).await;
    assert_eq!(only(database, NOON).await.outcome, Outcome { sent: 1, failed_again: 1, pending: 0 });
}

/// A retry may be due before anybody has looked at the letter.
async fn what_was_sent_before_it_had_a_group_is_counted(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    database.take_in([an_arrival().returning(id).received(later(60))]).await;
    database.bring(id, Status::Retried).await;
    sort(database, Enriched { received_at: later(60), ..failed(id, "no rate") }).await;
    let outcome = only(database, NOON).await.outcome;
    assert_eq!((outcome.sent, outcome.failed_again), (2, 1));
}

/// It was sent and failed again there; what happens to it without a group is told in the next.
async fn what_has_left_its_group_is_counted_where_it_was_and_where_it_is(database: &TestDatabase) {
    let letters = fail(database, "x", &[Normal]).await;
    send(database, &letters, later(60)).await;
    database.take_in([an_arrival().error("y").returning(letters[0]).received(later(90))]).await;
    send(database, &letters, later(120)).await;
    sort(database, Enriched { received_at: later(90), ..failed(letters[0], "y") }).await;
    let mut told: Vec<_> = (database.matching_groups(&EVERY).await.unwrap().into_iter())
        .map(|group| (group.key.error, group.outcome.sent, group.outcome.failed_again, group.retried))
        .collect();
    told.sort();
    assert_eq!(told, [("x".to_owned(), 1, 1, 0), ("y".to_owned(), 1, 0, 1)]);
}

async fn what_happened_is_told_by_the_hour(database: &TestDatabase) {
    let first = fail(database, "x", &[Normal, Low]).await;
    fail_at(database, NOON.minus(HOUR), "x", &[Low]).await;
    fail_at(database, NOON.plus(HOUR), "y", &[Low]).await;
    send(database, &first[..1], later(60)).await;
    database.take_in([an_arrival().returning(first[0]).received(NOON.plus(HOUR * 2))]).await;
    let group = database.summary(first[1]).await.unwrap().unwrap().group.unwrap();
    let hours = database.group_hours(&[group], NOON.minus(HOUR * 24)).await.unwrap();
    let hour = |start, received, sent, failed_again| Hour { start, received, sent, failed_again };
    let expected = [hour(NOON.minus(HOUR), 1, 0, 0), hour(NOON, 1, 1, 1), hour(NOON.plus(HOUR * 2), 1, 0, 0)];
    assert_eq!(hours[&group], expected);
    assert_eq!(database.group_hours(&[group], NOON.plus(HOUR)).await.unwrap()[&group].len(), 1);
    assert!(database.group_hours(&[], NOON).await.unwrap().is_empty());
}

async fn a_note_says_who_wrote_it_and_when_until_it_is_removed(database: &TestDatabase) {
    let letters = fail(database, "x", &[Normal]).await;
    let id = database.summary(letters[0]).await.unwrap().unwrap().group.unwrap();
    assert!(
        database
            .set_group_note(id, "being looked at", &Expected::Anything, &Actor::named("Ann"), later(5))
            .await
            .unwrap()
    );
    let note = only(database, NOON).await.note.unwrap();
    assert_eq!((&*note.text, note.by.as_str(), note.at), ("being looked at", "Ann", later(5)));
    assert!(database.set_group_note(id, "", &Expected::Anything, &Actor::named("Bob"), later(6)).await.unwrap());
    assert_eq!(only(database, NOON).await.note, None);
    let of_groups = ActivityFilter { areas: vec![Area::Groups], ..ActivityFilter::default() };
    let entries = database.activity(&of_groups, None, 9).await.unwrap();
    let told: Vec<_> = entries.iter().map(|entry| (entry.entry.by.as_str(), &*entry.entry.detail)).collect();
    assert_eq!(told, [("Bob", ""), ("Ann", "being looked at")]);
    assert_eq!(entries[0].entry.subject, id.to_string());
}

async fn groups_that_nobody_needs_are_forgotten(database: &TestDatabase) {
    let [empty, noted, held] = ["empty", "noted", "held"];
    let mut ids = Vec::new();
    for error in [empty, noted, held] {
        ids.extend(fail(database, error, &[Normal]).await);
    }
    let group = database.summary(ids[1]).await.unwrap().unwrap().group.unwrap();
    database.set_group_note(group, "x", &Expected::Anything, &Actor::local(), NOON).await.unwrap();
    database.does(&Command::Discard { note: None }, &ids[..2]).await;
    let gone = dead_letter_office::domain::lifecycle::retention::Outdated { retried: later(9), discarded: later(9) };
    assert_eq!(database.forget_settled(gone, 9).await.unwrap(), 2);
    assert_eq!(database.forget_groups(NOON).await.unwrap(), 0, "something came into it at that moment");
    assert_eq!(database.number("SELECT count(*) FROM group_hours").await, 4, "three groups, and all together");
    assert_eq!(database.forget_groups(later(1)).await.unwrap(), 1);
    assert_eq!(database.number("SELECT count(*) FROM group_hours").await, 0);
    let mut left: Vec<_> =
        database.matching_groups(&EVERY).await.unwrap().into_iter().map(|group| group.key.error).collect();
    left.sort();
    assert_eq!(left, [held, noted]);
}

async fn letters_are_counted_by_facets_within_their_groups(database: &TestDatabase) {
    let letters = fail(database, "x", &[High, High, Low]).await;
    fail(database, "y", &[High]).await;
    database.does(&DISCARD, &letters[..1]).await;
    let group = database.summary(letters[0]).await.unwrap().unwrap().group.unwrap();
    let within = async |filter: LetterFilter| {
        let mut counts: Vec<_> = (database.facets_within(&filter).await.unwrap().into_iter())
            .map(|facet| (facet.status, facet.importance, facet.count))
            .collect();
        counts.sort();
        counts
    };
    let filter = LetterFilter { groups: vec![group], statuses: vec![Status::Open], ..LetterFilter::default() };
    let expected = [(Status::Open, High, 1), (Status::Open, Low, 1), (Status::Discarded, High, 1)];
    assert_eq!(within(filter.clone()).await, expected, "whatever it says of statuses");
    assert_eq!(within(LetterFilter { until: Some(NOON), ..filter.clone() }).await, []);
    assert_eq!(within(LetterFilter { queues: Names::exact(["texts"]), ..filter.clone() }).await, []);
    assert_eq!(database.count(&filter).await.unwrap(), 2);
}

on_both!(
    the_most_important_come_first_or_the_biggest_or_the_newest,
    every_group_is_on_exactly_one_page,
    pages_go_on_while_figures_change,
    the_filter_asks_for_what_groups_have_in_common,
    groups_are_counted_by_what_is_open,
    an_empty_database_has_no_groups,
    what_does_not_come_back_in_time_has_succeeded,
    what_all_failed_again_is_no_longer_unknown,
    what_was_sent_before_it_had_a_group_is_counted,
    what_has_left_its_group_is_counted_where_it_was_and_where_it_is,
    what_happened_is_told_by_the_hour,
    a_note_says_who_wrote_it_and_when_until_it_is_removed,
    groups_that_nobody_needs_are_forgotten,
    letters_are_counted_by_facets_within_their_groups,
);
