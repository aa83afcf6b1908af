//! Lists of letters: filters, order, pages.

use std::time::Duration;

use amqp_message::death::Reason;
use dead_letter_office::domain::{
    filter::{LetterFilter, LetterPage, Names, PageRequest, Sort},
    letter::{Importance, LetterId, Status},
    search::{
        Area, Parsed,
        document::{Bounds, Document},
    },
};

use dead_letter_office::store::Enriched;

use super::{
    database::{TestDatabase, record},
    make::{Make, NOON, an_arrival, enriched, later},
};

const ALL: LetterFilter = LetterFilter {
    statuses: Vec::new(),
    importances: Vec::new(),
    brokers: Vec::new(),
    queues: NO_NAMES,
    reasons: Vec::new(),
    types: NO_NAMES,
    groups: Vec::new(),
    since: None,
    until: None,
    search: None,
};

async fn list(database: &TestDatabase, filter: &LetterFilter, sort: Sort) -> Vec<LetterId> {
    let page = database.letters(filter, &PageRequest { sort, after: None, limit: 1_000 }).await.unwrap();
    assert_eq!(page.next, None);
    page.items.into_iter().map(|letter| letter.id).collect()
}

/// The filter lets through exactly these, and counts them.
async fn check(database: &TestDatabase, filter: LetterFilter, expected: &[LetterId]) {
    assert_eq!(list(database, &filter, Sort::Oldest).await, expected, "{filter:?}");
    assert_eq!(database.count(&filter).await.unwrap(), expected.len() as u64, "{filter:?}");
}

const NO_NAMES: Names = Names { exact: Vec::new(), globs: Vec::new() };

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn an_empty_database_lists_nothing(database: &TestDatabase) {
    let page = PageRequest { sort: Sort::Newest, after: None, limit: 50 };
    assert_eq!(database.letters(&ALL, &page).await.unwrap(), LetterPage::default());
    check(database, ALL, &[]).await;
}

async fn by_time_and_then_by_id(database: &TestDatabase) {
    let arrivals = [later(2), later(1), later(2), later(1)].map(|at| an_arrival().received(at));
    let [a, b, c, d] = arrivals.each_ref().map(|arrival| arrival.id);
    database.take_in(arrivals).await;
    assert_eq!(list(database, &ALL, Sort::Oldest).await, [b, d, a, c]);
    assert_eq!(list(database, &ALL, Sort::Newest).await, [c, a, d, b]);
}

async fn pages_follow_each_other_also_within_one_moment(database: &TestDatabase) {
    let ids = database.take_in([(); 5].map(|()| an_arrival())).await.map(|recorded| recorded.letter());
    let mut after = None;
    for expected in [vec![ids[4], ids[3]], vec![ids[2], ids[1]], vec![ids[0]]] {
        let page = database.letters(&ALL, &PageRequest { sort: Sort::Newest, after, limit: 2 }).await.unwrap();
        assert_eq!(page.items.iter().map(|letter| letter.id).collect::<Vec<_>>(), expected);
        after = page.next;
    }
    assert_eq!(after, None);
}

async fn a_page_stays_where_it_was_when_letters_arrive(database: &TestDatabase) {
    let [old, older] = database.take_in([an_arrival().received(later(1)), an_arrival()]).await;
    let first = PageRequest { sort: Sort::Newest, after: None, limit: 1 };
    let page = database.letters(&ALL, &first).await.unwrap();
    assert_eq!(page.items[0].id, old.letter());
    database.take_in_new(an_arrival().received(later(2))).await;
    let page = database.letters(&ALL, &PageRequest { after: page.next, ..first }).await.unwrap();
    assert_eq!(page.items[0].id, older.letter());
}

async fn filters_by_status(database: &TestDatabase) {
    let mut of_status = Vec::new();
    for status in Status::ALL {
        of_status.push((*status, database.letter_in(*status).await));
    }
    for (status, id) in &of_status {
        check(database, LetterFilter { statuses: vec![*status], ..ALL }, &[*id]).await;
    }
    let two = vec![of_status[0].0, of_status[3].0];
    check(database, LetterFilter { statuses: two, ..ALL }, &[of_status[0].1, of_status[3].1]).await;
}

async fn filters_by_importance(database: &TestDatabase) {
    use Importance::{Critical, High, Low};
    let arrivals = [Critical, High, Low].map(|importance| an_arrival().importance(importance));
    let [critical, high, _low] = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    check(database, LetterFilter { importances: vec![High], ..ALL }, &[high]).await;
    check(database, LetterFilter { importances: vec![High, Critical], ..ALL }, &[critical, high]).await;
}

async fn filters_by_reason(database: &TestDatabase) {
    let arrivals = [Reason::Rejected, Reason::Unknown, Reason::DeliveryLimit].map(|why| an_arrival().reason(why));
    let [rejected, unknown, _limit] = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    check(database, LetterFilter { reasons: vec![Reason::Unknown], ..ALL }, &[unknown]).await;
    check(database, LetterFilter { reasons: vec![Reason::Unknown, Reason::Rejected], ..ALL }, &[rejected, unknown])
        .await;
}

async fn filters_by_broker_to_the_letter(database: &TestDatabase) {
    let main = database.take_in_new(an_arrival()).await;
    let other = record(database, "other", &[an_arrival()]).await[0].letter();
    check(database, LetterFilter { brokers: names(&["other"]), ..ALL }, &[other]).await;
    check(database, LetterFilter { brokers: names(&["other", "main"]), ..ALL }, &[main, other]).await;
    check(database, LetterFilter { brokers: names(&["oth*", "OTHER", ""]), ..ALL }, &[]).await;
}

async fn filters_by_queue_with_wildcards(database: &TestDatabase) {
    let arrivals = ["texts.a", "texts.b", "orders", "ö%_"].map(|queue| an_arrival().queue(queue));
    let [a, b, orders, odd] = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    for (globs, expected) in [
        (Names::exact(["orders"]), vec![orders]),
        (Names::globs(["texts.*"]), vec![a, b]),
        (Names::exact(["texts.*"]), vec![]),
        (Names::globs(["texts.?", "o*"]), vec![a, b, orders]),
        (Names::globs(["???"]), vec![odd]),
        (Names::globs(["%", "order_", "Orders"]), vec![]),
    ] {
        check(database, LetterFilter { queues: globs, ..ALL }, &expected).await;
    }
}

async fn an_unknown_queue_matches_only_the_star(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().of_unknown_queue()).await;
    check(database, LetterFilter { queues: Names::globs(["*"]), ..ALL }, &[id]).await;
    check(database, LetterFilter { queues: Names::globs(["?*"]), ..ALL }, &[]).await;
}

async fn since_is_included_and_until_is_not(database: &TestDatabase) {
    let arrivals = [0, 1, 2, 3].map(|seconds| an_arrival().received(later(seconds)));
    let [_a, b, c, _d] = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    check(database, LetterFilter { since: Some(later(1)), until: Some(later(3)), ..ALL }, &[b, c]).await;
    check(database, LetterFilter { since: Some(later(3)), until: Some(later(1)), ..ALL }, &[]).await;
}

async fn every_field_has_to_match(database: &TestDatabase) {
    let wanted = an_arrival().queue("a").importance(Importance::High).reason(Reason::Expired).received(later(60));
    let id = database.take_in_new(wanted.clone()).await;
    let others = [
        wanted.twin().queue("b"),
        wanted.twin().importance(Importance::Low),
        wanted.twin().reason(Reason::MaxLen),
        wanted.twin().received(NOON),
    ];
    database.take_in(others).await;
    let filter = LetterFilter {
        statuses: vec![Status::Open],
        importances: vec![Importance::High],
        brokers: names(&["main"]),
        queues: Names::globs(["a*"]),
        reasons: vec![Reason::Expired],
        types: NO_NAMES,
        groups: Vec::new(),
        since: Some(later(1)),
        until: Some(later(61)),
        search: None,
    };
    check(database, filter, &[id]).await;
}

/// A list in this order, page by page.
async fn pages(database: &TestDatabase, filter: &LetterFilter, sort: Sort) -> Vec<LetterId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = database.letters(filter, &PageRequest { sort, after, limit: 2 }).await.unwrap();
        if let Some(after) = after {
            let page = PageRequest { sort, after: Some(after), limit: found.len() };
            let before = database.letters_before(filter, &page).await.unwrap();
            let others = found.iter().rev().skip(1).copied();
            assert_eq!(before.iter().map(|letter| letter.id).collect::<Vec<_>>(), others.collect::<Vec<_>>(), "{sort}");
        }
        found.extend(page.items.iter().map(|letter| letter.id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// By importance, attempts and size, and within these from the newest on; of queues, of a group and of a search.
async fn by_what_matters(database: &TestDatabase) {
    database.prepare_search(7).await.unwrap();
    let arrivals = [
        (Importance::Normal, 1, 30),
        (Importance::Critical, 3, 10),
        (Importance::Low, 9, 10),
        (Importance::Normal, 3, 20),
        (Importance::Critical, 1, 10),
        (Importance::Normal, 1, 30),
    ];
    let arrivals = arrivals.map(|(importance, attempts, size)| {
        an_arrival().importance(importance).attempts(attempts).body("x".repeat(size))
    });
    let mut at = 0;
    let arrivals = arrivals.map(|arrival| {
        at += 1;
        arrival.queue(if at % 2 == 0 { "even" } else { "odd" }).received(later(at))
    });
    let importances = arrivals.each_ref().map(|arrival| arrival.importance);
    let ids = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    let expected = |sort| match sort {
        Sort::Importance => [4, 1, 5, 3, 0, 2],
        Sort::Attempts => [2, 3, 1, 5, 4, 0],
        Sort::Size => [5, 0, 3, 4, 2, 1],
        Sort::Newest => [5, 4, 3, 2, 1, 0],
        Sort::Oldest => [0, 1, 2, 3, 4, 5],
    };
    let check = async |filter: &LetterFilter, what: &str| {
        for &sort in Sort::ALL {
            let expected = expected(sort).map(|n| ids[n]);
            assert_eq!(list(database, filter, sort).await, expected, "{what} by {sort}");
            assert_eq!(pages(database, filter, sort).await, expected, "{what} by {sort}, page by page");
        }
    };
    check(&ALL, "all").await;
    check(&LetterFilter { queues: Names::exact(["even", "odd"]), ..ALL }, "queues").await;
    for (id, importance) in ids.iter().zip(importances) {
        let summary = database.shows(*id).await;
        let found = Enriched { received_at: summary.received_at, importance, ..enriched(*id) };
        database.enrich(&[found], 1, summary.received_at).await.unwrap();
    }
    let waiting = database.to_index(10).await.unwrap();
    let mut document = Document::default();
    document.add_text(Area::Error, "boom", &Bounds { text_bytes: 100, fields: 1 });
    let documents: Vec<_> = waiting.into_iter().map(|to_index| (to_index, Some(document.clone()))).collect();
    database.index(&documents).await.unwrap();
    let mut filter = LetterFilter::default();
    filter.narrow(&Parsed::read("boom").unwrap(), later(100));
    check(&filter, "a search").await;
}

/// The letters of a group stand in an index of their own.
async fn a_group_is_listed_by_what_matters(database: &TestDatabase) {
    let sizes = [3, 9, 5, 7];
    let ids =
        database.take_in(sizes.map(|size| an_arrival().attempts(20 - size).body("x".repeat(size as usize)))).await;
    let ids = ids.map(|recorded| recorded.letter());
    database.enrich(&ids.map(enriched), 1, NOON).await.unwrap();
    let filter = LetterFilter { groups: vec![enriched(ids[0]).group], ..ALL };
    for (sort, expected) in
        [(Sort::Size, [1, 3, 2, 0]), (Sort::Attempts, [0, 2, 3, 1]), (Sort::Importance, [3, 2, 1, 0])]
    {
        assert_eq!(pages(database, &filter, sort).await, expected.map(|n| ids[n]), "{sort}");
    }
}

/// More facets than one statement merges, beside more letters than it would be right to walk over.
async fn a_list_of_many_queues_is_merged(database: &TestDatabase) {
    database.take_in_many(800).await;
    let at = |n: u64| NOON.plus(Duration::from_micros(n % 7));
    let arrivals: Vec<_> = (0..210).map(|n| an_arrival().queue(&format!("q{n}")).received(at(n))).collect();
    let mut expected: Vec<_> = arrivals.iter().map(|arrival| (arrival.received_at, arrival.id)).collect();
    expected.sort();
    record(database, "main", &arrivals).await;
    let filter = LetterFilter { queues: Names::globs(["q*"]), ..ALL };
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..5 {
        let page = database.letters(&filter, &PageRequest { sort: Sort::Oldest, after, limit: 2 }).await.unwrap();
        found.extend(page.items.iter().map(|letter| (letter.received_at, letter.id)));
        after = page.next;
    }
    assert_eq!(found, expected[..10]);
}

on_both!(
    an_empty_database_lists_nothing,
    by_time_and_then_by_id,
    pages_follow_each_other_also_within_one_moment,
    a_page_stays_where_it_was_when_letters_arrive,
    filters_by_status,
    filters_by_importance,
    filters_by_reason,
    filters_by_broker_to_the_letter,
    filters_by_queue_with_wildcards,
    an_unknown_queue_matches_only_the_star,
    since_is_included_and_until_is_not,
    every_field_has_to_match,
    by_what_matters,
    a_group_is_listed_by_what_matters,
    a_list_of_many_queues_is_merged,
);
