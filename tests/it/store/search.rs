//! Searches: what the index is asked, what else is asked of letters, and what of a letter is in the index.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        filter::{LetterFilter, PageRequest, Sort},
        job::{Bulk, Job},
        letter::{LetterId, Status},
        rights::{Grants, QueueScope, Right, TeamQueues},
        search::{
            Area, Parsed,
            document::{Bounds, Document},
        },
        telling::Telling,
    },
    store::{Arrival, StoreReader, ToIndex},
};

use super::{
    database::{DISCARD, TestDatabase, record},
    make::{Make, NOON, an_arrival, enriched, id, later},
};
use crate::support::soak;

/// Settings of an index; 0 would stand for none.
const SETTINGS: i64 = 7;
const BOUNDS: Bounds = Bounds { text_bytes: 16_384, fields: 100 };

fn filter(search: &str) -> LetterFilter {
    let mut filter = LetterFilter::default();
    let parsed = Parsed::read(search).unwrap_or_else(|why| panic!("{search}: {why:?}"));
    filter.narrow(&parsed, later(3_600));
    filter
}

/// What is found, oldest first: listed, counted, by facets, over time and in a walk.
async fn found(store: &StoreReader, search: &str) -> Vec<LetterId> {
    let filter = filter(search);
    let page = PageRequest { sort: Sort::Oldest, after: None, limit: 1_000 };
    let ids: Vec<LetterId> = store.letters(&filter, &page).await.unwrap().items.iter().map(|it| it.id).collect();
    let n = ids.len() as u64;
    assert_eq!(store.count(&filter).await.unwrap(), n, "{search}");
    let most = store.count_most(&filter).await.unwrap();
    assert_eq!((most.n, most.is_least), (n, false), "{search}");
    let mut walked = Vec::new();
    let mut sweep = store.sweep(&filter, later(3_600)).await.unwrap();
    loop {
        let some = store.next_of(&mut sweep, 2).await.unwrap();
        if some.is_empty() {
            break;
        }
        walked.extend(some);
    }
    walked.sort_unstable();
    let mut listed = ids.clone();
    listed.sort_unstable();
    assert_eq!(walked, listed, "{search}");
    if filter.search.is_some()
        && let Some(facets) = store.facets_found(&filter).await.unwrap()
    {
        let fits = |status: Status| filter.statuses.is_empty() || filter.statuses.contains(&status);
        let counted = facets.iter().filter(|facet| fits(facet.status)).map(|facet| facet.count).sum::<u64>();
        assert_eq!(counted, n, "{search}");
        let bars = store.histogram(&filter, NOON, later(3_600), Duration::from_secs(300)).await.unwrap();
        assert_eq!(bars.iter().flat_map(|bar| bar.counts).sum::<u64>(), n, "{search}");
    }
    ids
}

/// A letter that says this, and is indexed.
async fn letter(database: &TestDatabase, arrival: Arrival, write: impl FnOnce(&mut Document)) -> LetterId {
    let letter = database.take_in_new(arrival).await;
    let summary = database.shows(letter).await;
    let found = enriched(letter);
    let key = dead_letter_office::domain::group::GroupKey { queue: summary.queue.clone(), ..found.key };
    let group = dead_letter_office::grouping::id(&key);
    let found = dead_letter_office::store::Enriched { received_at: summary.received_at, group, key, ..found };
    database.enrich(&[found], 1, summary.received_at).await.unwrap();
    let waiting = database.to_index(10).await.unwrap();
    assert_eq!(
        waiting.iter().map(|it| it.letter).collect::<Vec<_>>(),
        [letter],
        "whoever is enriched is to be indexed"
    );
    let mut document = Document::default();
    write(&mut document);
    database.index(&[(waiting[0], Some(document))]).await.unwrap();
    assert_eq!(database.search_backlog().await.unwrap(), 0);
    letter
}

fn text(area: Area, text: &str) -> impl FnOnce(&mut Document) {
    move |document| document.add_text(area, text, &BOUNDS)
}

fn values<'a>(values: &'a [(&'a str, &'a str)]) -> impl FnOnce(&mut Document) + 'a {
    move |document| {
        for (path, value) in values {
            let area = if path.starts_with("payload.") { Area::Payload } else { Area::Headers };
            document.add_value(area, path, value, &BOUNDS);
        }
    }
}

/// Postgres keeps no more than 256 places of a word.
async fn a_word_that_stands_very_often_is_found_wherever_it_stands(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let in_payload = letter(database, an_arrival(), |document| {
        document.add_text(Area::Payload, &format!("{}the needle", "the x ".repeat(400)), &BOUNDS);
    });
    let in_payload = in_payload.await;
    let in_stack = letter(database, an_arrival().received(later(1)), |document| {
        document.add_text(Area::Error, &"zork ".repeat(300), &BOUNDS);
        let frame = |n| format!("at java.util.concurrent.Worker{n}.run(Worker{n}.java:{n})\n");
        document.add_text(Area::Stack, &(0..230).map(frame).collect::<String>(), &BOUNDS);
        document.add_text(Area::Stack, "zork in stack", &BOUNDS);
    });
    let in_stack = in_stack.await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    check("\"the needle\"", &[in_payload]).await;
    check("\"x the nee\"", &[]).await;
    check("the", &[in_payload]).await;
    check("stack:\"java util concurrent worker229\"", &[in_stack]).await;
    check("stack:\"at java util concurrent worker229\"", &[in_stack]).await;
    check("stack:zork", &[in_stack]).await;
    check("stack:\"zork in stack\"", &[in_stack]).await;
    check("-stack:zork", &[in_payload]).await;
    check("payload.zork:1 OR error:\"stack zork\"", &[]).await;
}

async fn words_are_found_where_they_stand(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let in_error = letter(database, an_arrival(), text(Area::Error, "NoRateException: no exchange rate for ISK")).await;
    let in_stack =
        letter(database, an_arrival().received(later(1)), text(Area::Stack, "at billing.Rates.find(Rates.java:42)"))
            .await;
    let in_payload =
        letter(database, an_arrival().received(later(2)), text(Area::Payload, "Zoë's exchange, rate 7")).await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    check("norate", &[in_error]).await;
    check("NORATEEXC", &[in_error]).await;
    check("\"norate\"", &[]).await;
    check("exchange", &[in_error, in_payload]).await;
    check("exchange rate", &[in_error, in_payload]).await;
    check("\"exchange rate\"", &[in_error, in_payload]).await;
    check("\"exchange rate for\"", &[in_error]).await;
    check("\"rate exchange\"", &[]).await;
    check("error:\"no exchange\"", &[in_error]).await;
    check("error:zoë", &[]).await;
    check("ZOË", &[in_payload]).await;
    check("stack:rates.java", &[in_stack]).await;
    check("error:rates", &[]).await;
    check("exchange -isk", &[in_payload]).await;
    check("-exchange", &[in_stack]).await;
    check("isk OR billing", &[in_error, in_stack]).await;
    check("exchange (isk OR 7)", &[in_error, in_payload]).await;
    check("-(isk OR 7)", &[in_stack]).await;
    check("exchange attempts:>1", &[]).await;
    check("exchange attempts:1", &[in_error, in_payload]).await;
    check(&format!("exchange id:{in_payload}"), &[in_payload]).await;
    check(&format!("exchange -id:{in_payload}"), &[in_error]).await;
    check("ex", &[]).await;
    check("it's", &[]).await;
}

/// In scripts that put no spaces between words, and in Korean, whose words have endings, whatever stands there is found.
async fn what_has_no_spaces_is_found_wherever_it_stands(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let japanese = letter(database, an_arrival(), text(Area::Error, "日本語の注文ID123が失敗しました。東京")).await;
    let thai = letter(database, an_arrival().received(later(1)), text(Area::Payload, "ไม่พบน้ำดื่ม")).await;
    let korean = letter(database, an_arrival().received(later(2)), text(Area::Payload, "주문을 찾을 수 없음")).await;
    let repeated = letter(database, an_arrival().received(later(3)), text(Area::Stack, &"東西".repeat(700))).await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    for found in [
        "日本",
        "日",
        "語",
        "本語の",
        "京",
        "注文",
        "注文ID123",
        "id12",
        "失敗",
        "\"日本語\"",
        "error:失敗",
        "失敗しました。東京",
    ] {
        check(found, &[japanese]).await;
    }
    for found in ["น้ำ", "ดื่ม", "พบน้ำ"] {
        check(found, &[thai]).await;
    }
    for found in ["주문", "주문을", "찾"] {
        check(found, &[korean]).await;
    }
    check("東西東", &[repeated]).await;
    check("東", &[japanese, repeated]).await;
    check("-東", &[thai, korean]).await;
    for found in ["日語", "文注", "d123", "stack:日本", "東京失敗"] {
        check(found, &[]).await;
    }
}

async fn values_are_compared(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let cheap = letter(
        database,
        an_arrival(),
        values(&[("payload.total.cents", "96.2"), ("payload.country", "IS"), ("header.x-tenant", "eu")]),
    )
    .await;
    let dear = letter(
        database,
        an_arrival().received(later(1)),
        values(&[("payload.total.cents", "1842000"), ("payload.country", "New Zealand"), ("payload.items.sku", "a")]),
    )
    .await;
    let bare = letter(database, an_arrival().received(later(2)), values(&[("payload.items.sku", "4000")])).await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    check("payload.total.cents:>4000", &[dear]).await;
    check("payload.total.cents:<4000", &[cheap]).await;
    check("payload.total.cents:>=96.2", &[cheap, dear]).await;
    check("payload.total.cents:96.20", &[cheap]).await;
    check("payload.total.cents:>96.2 payload.total.cents:<=1842000", &[dear]).await;
    check("payload.Country:is", &[cheap]).await;
    check("payload.country:IS,\"new zealand\"", &[cheap, dear]).await;
    check("payload.country:*", &[cheap, dear]).await;
    check("-payload.country:*", &[bare]).await;
    check("payload.items.sku:4000", &[bare]).await;
    check("header.x-tenant:eu", &[cheap]).await;
    check("payload.x-tenant:eu", &[]).await;
    check("zealand OR header.x-tenant:*", &[cheap, dear]).await;
    check("-header.x-tenant:eu payload.total.cents:>0", &[dear]).await;
}

/// The parser of SQLite's index has a stack of 100.
async fn brackets_are_as_deep_as_they_may_be(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let outer = letter(database, an_arrival(), text(Area::Error, "aaa")).await;
    let inner = letter(database, an_arrival().received(later(1)), text(Area::Payload, "bbb ccc")).await;
    letter(database, an_arrival().received(later(2)), text(Area::Payload, "bbb")).await;
    let behind = (0..20).fold("ccc".to_owned(), |inner, _| format!("aaa OR bbb ({inner})"));
    let before = (0..20).fold("ccc".to_owned(), |inner, _| format!("({inner}) bbb OR aaa"));
    let twice = (0..5).fold("ccc".to_owned(), |inner, _| format!("aaa ({inner}) OR ({inner})"));
    assert_eq!(found(database, &behind).await, [outer, inner]);
    assert_eq!(found(database, &before).await, [outer, inner]);
    assert_eq!(found(database, &twice).await, [inner]);
}

/// Ids that are one double are two, and in quotes a number is a text.
async fn what_is_equal_is_the_same(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let one =
        letter(database, an_arrival(), values(&[("payload.id", "9007199254740993"), ("payload.zip", "0123")])).await;
    let other = an_arrival().received(later(1));
    let other = letter(database, other, values(&[("payload.id", "9007199254740992"), ("payload.zip", "123")])).await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    check("payload.id:9007199254740993", &[one]).await;
    check("payload.id:9007199254740992", &[other]).await;
    check("payload.id:>9007199254740991", &[one, other]).await;
    check("payload.zip:\"0123\"", &[one]).await;
    check("payload.zip:\"123\"", &[other]).await;
    check("payload.zip:123", &[one, other]).await;
    check("payload.zip:123.0", &[one, other]).await;
}

async fn conditions_of_all_kinds_go_together(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let order = letter(database, an_arrival().queue("billing.orders"), text(Area::Payload, "rate")).await;
    let text_sent =
        letter(database, an_arrival().queue("texts").received(later(400)), text(Area::Payload, "rate")).await;
    database.does(&DISCARD, &[text_sent]).await;
    let check = async |search: &str, expected: &[LetterId]| {
        assert_eq!(found(database, search).await, expected, "{search}");
    };
    check("rate queue:billing.*", &[order]).await;
    check("rate -queue:billing.*", &[text_sent]).await;
    check("(queue:texts OR status:open)", &[order, text_sent]).await;
    check("rate (queue:texts status:open)", &[]).await;
    check("queue:* queue:t?xts", &[text_sent]).await;
    check("rate status:discarded", &[text_sent]).await;
    check("rate -since:2026-11-21T12:05", &[order]).await;
    check("rate until:2026-11-21T12:05", &[order]).await;
    check("-type:Any.*", &[order, text_sent]).await;
    check("(type:a[b* OR type:100%_)", &[]).await;
    check("size:>1000000", &[]).await;
    check("importance:>critical", &[]).await;
    check("-group:0198f2b0-0000-7000-8000-000000000000", &[order, text_sent]).await;
}

async fn pages_of_a_search_follow_each_other(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(letter(database, an_arrival().received(later(n)), text(Area::Error, "boom")).await);
    }
    let mut after = None;
    for expected in [vec![ids[4], ids[3]], vec![ids[2], ids[1]], vec![ids[0]]] {
        let request = PageRequest { sort: Sort::Newest, after, limit: 2 };
        let page = database.letters(&filter("boom"), &request).await.unwrap();
        assert_eq!(page.items.iter().map(|letter| letter.id).collect::<Vec<_>>(), expected);
        after = page.next;
    }
    assert_eq!(after, None);
}

/// What a page lists is what it counts, whatever comes in meanwhile.
async fn a_request_looks_for_its_letters_once(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let boom = filter("status:open boom");
    let listed = async |request: &StoreReader| {
        let page = PageRequest { sort: Sort::Newest, after: None, limit: 10 };
        request.letters(&boom, &page).await.unwrap().items.iter().map(|letter| letter.id).collect::<Vec<_>>()
    };
    let request = || database.within(&Grants::new(|_| QueueScope::everything()));
    let old = letter(database, an_arrival(), text(Area::Error, "boom")).await;
    let (first, second) = (request(), request());
    assert_eq!(first.count_most(&boom).await.unwrap().n, 1);
    assert_eq!(listed(&second).await, [old]);
    let new = letter(database, an_arrival().received(later(1)), text(Area::Error, "boom")).await;
    assert_eq!(listed(&first).await, [old]);
    assert_eq!(second.count_most(&boom).await.unwrap().n, 1);
    assert_eq!(listed(&request()).await, [new, old]);
}

/// Among very many letters, of which Postgres looks at some, what most of these match is known to be many. All else is
/// counted.
async fn what_most_letters_match_is_not_counted(database: &TestDatabase) {
    // They have to be on eight pages at least.
    const LETTERS: u64 = 1_000;
    database.prepare_search(SETTINGS).await.unwrap();
    let arrivals: Vec<Arrival> = (0..LETTERS).map(|n| an_arrival().received(later(n))).collect();
    record(database, "main", &arrivals).await;
    let others: String = (0..40).map(|n| format!(" word{n}")).collect();
    let indexed = arrivals.iter().zip(0..).map(|(arrival, n)| {
        let mut document = Document::default();
        text(Area::Error, &format!("{}{others}", if n % 8 == 0 { "bang" } else { "boom" }))(&mut document);
        (ToIndex { letter: arrival.id, asked: 0 }, Some(document))
    });
    database.index(&indexed.collect::<Vec<_>>()).await.unwrap();
    // The others are only said to be there.
    database.tamper("UPDATE days SET count = count + 1000000 WHERE scope < 0").await;
    let is_postgres = database.server().is_some();
    if is_postgres {
        // Another test may have left pages.
        database.tamper("VACUUM FULL letters, search_index").await;
    }
    let many = if is_postgres { (10_000, true) } else { (875, false) };
    let counted = [
        ("boom", many),
        ("boom status:open", many),
        ("boom status:retried", (0, false)),
        ("boom attempts:>1000", (0, false)),
        ("bang", (125, false)),
    ];
    for (search, expected) in counted {
        let most = database.count_most(&filter(search)).await.unwrap();
        assert_eq!((most.n, most.is_least), expected, "{search}");
    }
}

/// In Postgres what is new stands in a list beside the index, which each search would go through.
async fn what_is_new_is_sorted_into_the_index(database: &TestDatabase) {
    const UNSORTED: &str = "SELECT gin_clean_pending_list('search_words')";
    if database.server().is_none() {
        return database.sort_into_index().await.unwrap();
    }
    database.prepare_search(SETTINGS).await.unwrap();
    letter(database, an_arrival(), text(Area::Error, "boom")).await;
    database.sort_into_index().await.unwrap();
    assert_eq!(database.number(UNSORTED).await, 0);
}

/// Of more than can be told at once each is asked, by time: those ahead first, and then all.
async fn many_that_match_are_listed_by_time(database: &TestDatabase) {
    type IsFound = fn(u64) -> bool;
    const LETTERS: u64 = 11_100;
    const SEARCHES: [(&str, IsFound); 4] = [
        ("payload.n:>=0", |_| true),
        // None is among the first thousand from either end.
        ("payload.n:<10050", |n| n < 10_050),
        ("payload.n:>1040", |n| n > 1_040),
        ("payload.n:>100 -payload.n:11090", |n| n > 100 && n != 11_090),
    ];
    database.prepare_search(SETTINGS).await.unwrap();
    let arrivals: Vec<Arrival> = (0..LETTERS).map(|n| an_arrival().received(later(n))).collect();
    let ids: Vec<LetterId> = arrivals.iter().map(|arrival| arrival.id).collect();
    for (chunk, numbers) in arrivals.chunks(1_000).zip((0..LETTERS).step_by(1_000)) {
        record(database, "main", chunk).await;
        let indexed = chunk.iter().zip(numbers..).map(|(arrival, n)| {
            let mut document = Document::default();
            values(&[("payload.n", &n.to_string())])(&mut document);
            (ToIndex { letter: arrival.id, asked: 0 }, Some(document))
        });
        database.index(&indexed.collect::<Vec<_>>()).await.unwrap();
    }
    for (search, is_found) in SEARCHES {
        let filter = filter(search);
        let most = database.count_most(&filter).await.unwrap();
        assert_eq!((most.n, most.is_least), (10_000, true), "{search}");
        let mut expected: Vec<LetterId> =
            ids.iter().zip(0..).filter(|(_, n)| is_found(*n)).map(|(id, _)| *id).collect();
        for sort in [Sort::Oldest, Sort::Newest] {
            let mut after = None;
            for (n, part) in expected.chunks(60).take(soak(2, 3)).enumerate() {
                let page = database.letters(&filter, &PageRequest { sort, after, limit: 60 }).await.unwrap();
                let listed: Vec<LetterId> = page.items.iter().map(|letter| letter.id).collect();
                assert_eq!(listed, part, "{search}, {sort:?}, page {n}");
                after = page.next;
            }
            expected.reverse();
        }
    }
    // As soon as no more than can be told are left of all that the index gives, they are counted.
    for (discarded, is_least) in [(&ids[..1_099], true), (&ids[1_099..1_100], false)] {
        database.does(&DISCARD, discarded).await;
        let most = database.count_most(&filter("payload.n:>=0 status:open")).await.unwrap();
        assert_eq!((most.n, most.is_least), (10_000, is_least));
    }
}

/// Who sees no payloads of some queue finds nothing by them there.
async fn withheld_payloads_are_not_looked_into(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let write = |document: &mut Document| {
        document.add_value(Area::Payload, "payload.name", "Ada", &BOUNDS);
        document.add_text(Area::Error, "boom", &BOUNDS);
    };
    let open = letter(database, an_arrival().queue("orders"), write).await;
    let withheld = letter(database, an_arrival().queue("salaries").received(later(1)), write).await;
    let orders = QueueScope::of(vec![Arc::new(TeamQueues::new(&[], &["orders".to_owned()]))]);
    let grants = |payloads: QueueScope| {
        Grants::new(move |right| match right {
            Right::Payload => payloads.clone(),
            _ => QueueScope::everything(),
        })
    };
    let some = database.within(&grants(orders));
    let none = database.within(&grants(QueueScope::nothing()));
    for (search, by_some, by_none) in [
        ("boom", vec![open, withheld], vec![open, withheld]),
        ("ada", vec![open], vec![]),
        ("payload.name:ada", vec![open], vec![]),
        ("-ada", vec![withheld], vec![open, withheld]),
        ("boom -payload.name:*", vec![withheld], vec![open, withheld]),
        ("boom ada", vec![open], vec![]),
        ("boom OR ada", vec![open, withheld], vec![open, withheld]),
    ] {
        assert_eq!(found(&some, search).await, by_some, "{search}");
        assert_eq!(found(&none, search).await, by_none, "{search}");
    }
}

async fn what_is_gone_leaves_the_index(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let gone = letter(database, an_arrival(), text(Area::Error, "boom")).await;
    let stays = letter(database, an_arrival().received(later(1)), text(Area::Error, "boom")).await;
    database.does(&DISCARD, &[gone]).await;
    let outdated =
        dead_letter_office::domain::lifecycle::retention::Outdated { retried: NOON, discarded: Timestamp::MAX };
    assert_eq!(database.forget_settled(outdated, 10).await.unwrap(), 1);
    assert_eq!(found(database, "boom").await, [stays]);
    assert_eq!(database.number("SELECT COUNT(*) FROM search_index").await, 1);
}

async fn what_is_read_otherwise_is_indexed_anew(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let one = letter(database, an_arrival(), text(Area::Error, "boom")).await;
    let again = enriched(one);
    database.enrich(std::slice::from_ref(&again), 1, later(1)).await.unwrap();
    assert_eq!(database.search_backlog().await.unwrap(), 0, "nothing has changed");
    database.enrich(&[again], 2, later(1)).await.unwrap();
    let first = database.to_index(10).await.unwrap();
    assert_eq!(first[0].letter, one);
    database.enrich(&[enriched(one)], 3, later(2)).await.unwrap();
    let mut document = Document::default();
    document.add_text(Area::Error, "bang", &BOUNDS);
    database.index(&[(first[0], Some(document.clone()))]).await.unwrap();
    assert_eq!(found(database, "bang").await, [one]);
    assert_eq!(found(database, "boom").await, []);
    let second = database.to_index(10).await.unwrap();
    assert_eq!(second.len(), 1, "it was read otherwise while it was indexed");
    database.index(&[(second[0], Some(document))]).await.unwrap();
    assert_eq!(database.search_backlog().await.unwrap(), 0);
}

/// What lists show of a payload is kept with the index, goes with it, and is withheld with the payload.
async fn lists_show_what_is_telling(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let telling = Telling { edition: 3, fields: vec![("customer\0".to_owned(), "Zoë".to_owned())] };
    let one = letter(database, an_arrival(), |document| document.telling = Some(telling)).await;
    let shown = database.shows(one).await.telling.unwrap();
    assert_eq!((shown.edition, shown.fields[0].1.as_str()), (3, "Zoë"));
    let none = Grants::new(|right| match right {
        Right::Payload => QueueScope::nothing(),
        _ => QueueScope::everything(),
    });
    assert_eq!(database.within(&none).summary(one).await.unwrap().unwrap().telling, None);
    database.prepare_search(SETTINGS + 1).await.unwrap();
    assert_eq!(database.shows(one).await.telling, None);
}

async fn other_settings_leave_nothing_of_the_index(database: &TestDatabase) {
    database.prepare_search(SETTINGS).await.unwrap();
    let one = letter(database, an_arrival(), text(Area::Error, "boom")).await;
    database.prepare_search(SETTINGS).await.unwrap();
    assert_eq!(found(database, "boom").await, [one], "the same");
    database.prepare_search(SETTINGS + 1).await.unwrap();
    assert_eq!(found(database, "boom").await, []);
    assert_eq!(database.search_backlog().await.unwrap(), 1, "all are to be indexed");
    database.prepare_search(0).await.unwrap();
    assert_eq!(database.search_backlog().await.unwrap(), 0, "none is");
    let other = database.take_in_new(an_arrival()).await;
    database.enrich(&[enriched(other)], 1, NOON).await.unwrap();
    assert_eq!(database.search_backlog().await.unwrap(), 0);
}

async fn a_job_keeps_its_search(database: &TestDatabase) {
    let bulk = Bulk {
        filter: filter("boom -queue:a* payload.n:>3 -since:2h"),
        until: later(5),
        left: None,
        pacing: dead_letter_office::domain::pacing::Pacing::default(),
        command: DISCARD,
        edit: None,
        by: dead_letter_office::domain::actor::Actor::named("Ann"),
    };
    let job = Job::begun(id(), "discard");
    database.add_bulk(&job, &bulk, NOON, Duration::from_secs(60)).await.unwrap();
    let (kept, _) = database.bulk(job.id).await.unwrap().unwrap();
    assert_eq!(kept.filter, bulk.filter);
}

on_both!(
    words_are_found_where_they_stand,
    a_word_that_stands_very_often_is_found_wherever_it_stands,
    what_has_no_spaces_is_found_wherever_it_stands,
    values_are_compared,
    what_is_equal_is_the_same,
    brackets_are_as_deep_as_they_may_be,
    conditions_of_all_kinds_go_together,
    pages_of_a_search_follow_each_other,
    a_request_looks_for_its_letters_once,
    what_most_letters_match_is_not_counted,
    what_is_new_is_sorted_into_the_index,
    many_that_match_are_listed_by_time,
    withheld_payloads_are_not_looked_into,
    what_is_gone_leaves_the_index,
    what_is_read_otherwise_is_indexed_anew,
    lists_show_what_is_telling,
    other_settings_leave_nothing_of_the_index,
    a_job_keeps_its_search,
);
