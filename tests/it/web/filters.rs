//! Which letters an address asks for, on pages and in the API alike.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::death::Reason;
use dead_letter_office::domain::letter::{Importance, LetterId, Status};
use scraper::Html;

use super::{
    answer::{Look, words},
    dead::{Dead, before_noon, dead_in, dead_somewhere},
    desk::{Desk, MAIN},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// A server with letters that tests call by name.
struct Named {
    desk: Desk,
    names: BTreeMap<String, &'static str>,
}

impl Named {
    async fn open() -> Self {
        let desk = Desk::with_brokers(&[MAIN, "other"]).await;
        let mut server = Self { desk, names: BTreeMap::new() };
        server.add("plain", MAIN, dead_in("orders")).await;
        server.add("critical", MAIN, dead_in("orders").of(Importance::Critical)).await;
        server.add("low", MAIN, dead_in("texts.sms").of(Importance::Low)).await;
        server.add("full", MAIN, dead_in("texts.mail").because(Reason::MaxLen)).await;
        server.add("nameless", MAIN, dead_somewhere()).await;
        server.add("elsewhere", "other", dead_in("orders")).await;
        server.add("old", MAIN, dead_in("orders").received(before_noon(HOUR * 50))).await;
        let gone = server.add("gone", MAIN, dead_in("texts.sms")).await;
        server.desk.bring(gone, Status::Discarded).await;
        server
    }

    async fn add(&mut self, name: &'static str, broker: &str, dead: Dead) -> LetterId {
        let id = self.desk.receive_all(broker, vec![dead]).await[0];
        self.names.insert(id.to_string(), name);
        id
    }

    fn enriched(&self, ids: &[String]) -> String {
        let mut names: Vec<_> = ids.iter().map(|id| self.names[id]).collect();
        names.sort_unstable();
        names.join(" ")
    }

    /// The letters that the API lists.
    async fn listed(&self, query: &str) -> String {
        let answer = self.desk.get(&format!("/api/v1/letters?{query}")).await.expect(200).json();
        let items = answer["items"].as_array().unwrap();
        assert_eq!(answer["total"], items.len(), "{query}");
        self.enriched(&items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    }

    /// The letters that the page shows.
    async fn shown(&self, query: &str) -> String {
        let page = self.desk.page(&format!("/letters?{query}")).await;
        let rows = page.values(".list-row input", "value");
        assert_eq!(page.count("#bulk"), usize::from(!rows.is_empty()), "{query}");
        self.enriched(&rows)
    }
}

#[tokio::test]
async fn pages_and_api_find_the_same_letters() {
    let server = Named::open().await;
    let cases = [
        ("status=all", "critical elsewhere full gone low nameless old plain"),
        ("status=open", "critical elsewhere full low nameless old plain"),
        ("status=discarded&status=scheduled", "gone"),
        ("status=retried", ""),
        ("status=all&importance=critical", "critical"),
        ("status=all&importance=critical&importance=low", "critical low"),
        ("status=all&broker=other", "elsewhere"),
        ("status=all&broker=main&broker=other&importance=low", "low"),
        ("status=all&broker=nobody", ""),
        ("status=all&queue=orders", "critical elsewhere old plain"),
        ("status=all&queue_glob=texts.*", "full gone low"),
        ("status=all&queue_glob=texts.???", "gone low"),
        ("status=all&queue_glob=texts.*&queue=orders&broker=other", "elsewhere"),
        ("status=all&queue_unknown=true", "nameless"),
        ("status=all&reason=maxlen", "full"),
        ("status=all&reason=unknown&reason=maxlen", "full nameless"),
        ("status=all&until=24h", "old"),
        ("status=all&since=24h&queue=orders", "critical elsewhere plain"),
        ("status=all&since=2026-11-19T10:00:00Z&until=2026-11-20", "old"),
        ("status=all&until=2026-11-19T10:00:00Z", ""),
        ("status=open&queue=orders&importance=normal&broker=main&reason=rejected&since=7d", "old plain"),
    ];
    for (query, expected) in cases {
        assert_eq!(server.listed(query).await, expected, "API, {query}");
        assert_eq!(server.shown(query).await, expected, "page, {query}");
    }
}

#[tokio::test]
async fn the_page_opens_on_what_is_open_and_the_api_on_everything() {
    let server = Named::open().await;
    assert_eq!(server.shown("").await, server.listed("status=open").await);
    assert_eq!(server.listed("").await, server.listed("status=all").await);
    assert_eq!(server.shown("status=&queue=").await, server.shown("").await, "forms send what is left out");
}

#[tokio::test]
async fn an_unknown_word_is_refused_with_what_it_takes() {
    let desk = Desk::open().await;
    let cases = [
        ("staus=open", "status"),
        ("status=opne", "open, scheduled, retried, discarded"),
        ("importance=huge", "critical, high, normal, low"),
        ("reason=odd", "rejected, expired, maxlen, delivery_limit, unknown"),
        ("since=yesterday", "24h"),
        ("until=2026-13-01", "2026-"),
        ("sort=up", "newest, oldest"),
        ("limit=0", "1 to 1000"),
        ("limit=2000", "1 to 1000"),
        ("cursor=nonsense", "next_cursor"),
        ("sort=newest&sort=oldest", "more than once"),
    ];
    for (query, takes) in cases {
        let detail = desk.get(&format!("/api/v1/letters?{query}")).await.problem(400);
        assert!(detail.contains(takes), "{query}: {detail}");
        // A page has links from elsewhere, with words of theirs.
        if query.starts_with("staus") {
            desk.page(&format!("/letters?{query}&utm_source=x")).await;
            continue;
        }
        let page = desk.get(&format!("/letters?{query}")).await.expect(400).page();
        assert!(page.words("main").contains(takes), "{query}: {}", page.words("main"));
        assert!(page.count("main a[href='/letters']") > 0, "the way on");
    }
}

#[tokio::test]
async fn pages_refuse_what_cannot_be_and_ignore_what_they_do_not_know() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    for path in ["/letters?letter=7", "/letters?part=all", "/letters?view=xml", "/groups?part=all"] {
        desk.get(path).await.expect(400);
    }
    desk.get(&format!("/letters/{id}?view=xml")).await.expect(400);
    for path in
        [&*format!("/letters/{id}?utm_source=x"), "/?utm_source=x", "/queues?fbclid=1", "/groups?status=all&x=y"]
    {
        desk.page(path).await;
    }
}

#[tokio::test]
async fn every_chip_counts_what_it_leads_to() {
    let server = Named::open().await;
    for query in ["", "status=all", "queue=orders", "importance=low&importance=normal", "broker=other", "since=24h"] {
        let page = server.desk.page(&format!("/letters?{query}")).await;
        for chip in page.all(".chip-groups .chip-link") {
            let path = chip.attr("href").unwrap();
            let leads_to = server.desk.page(path).await;
            if chip.count("b") > 0 && !is_importance_beside_others(&page, chip) {
                assert_eq!(leads_to.count(".list-row").to_string(), words(chip.one("b")), "{query}, {path}");
            }
        }
    }
}

/// Such a chip counts its own, and leads to these beside those of the others chosen already.
fn is_importance_beside_others(page: &Html, chip: scraper::ElementRef<'_>) -> bool {
    chip.count(".mark-swatch") > 0 && page.count(".chip-link[aria-current] .mark-swatch") > 0
}

#[tokio::test]
async fn a_chip_says_whether_it_is_chosen() {
    let server = Named::open().await;
    let page = server.desk.page("/letters?status=discarded&importance=low&importance=normal").await;
    let chosen: Vec<_> = page.all(".chip-link[aria-current=true]").into_iter().map(words).collect();
    assert_eq!(chosen.len(), 3, "{chosen:?}");
    assert!(chosen[0].starts_with("Discarded"), "{chosen:?}");
    let clear = page.one("a.chip-clear").attr("href").unwrap();
    assert_eq!(clear, "/letters?status=discarded", "the status stays");
}

#[tokio::test]
async fn the_filter_form_keeps_all_that_it_does_not_ask_for() {
    let server = Named::open().await;
    let page = server.desk.page("/letters?status=all&importance=low&since=7d&queue_glob=texts.*&sort=oldest").await;
    let form = page.one("form[role=search]");
    let names: Vec<_> = form.values("input[type=hidden]", "name");
    assert_eq!(names, ["status", "importance", "since", "sort"]);
    assert_eq!(form.one("input[name=queue_glob]").attr("value"), Some("texts.*"));
    assert_eq!(form.all("select[name=broker] option").len(), 3);
}

#[tokio::test]
async fn the_chart_leads_to_the_letters_of_each_bar() {
    let server = Named::open().await;
    server.desk.clock.advance(Duration::from_secs(60));
    let page = server.desk.page("/letters?status=all").await;
    let bars = page.all(".chart-bars a");
    assert_eq!(bars.len(), 2, "one for the old letter, one for the others");
    for (bar, rows) in bars.iter().zip([1, 7]) {
        let path = bar.attr("href").unwrap();
        assert!(path.contains("since=") && path.contains("until="), "{path}");
        assert_eq!(server.desk.page(path).await.count(".list-row"), rows, "{path}");
    }
}

/// Without a time the chart goes back to the first of what is listed, however young all is that is open.
#[tokio::test]
async fn the_chart_begins_with_what_is_listed() {
    let (on_sqlite, on_postgres) = (Desk::open().await, Desk::on_postgres().await);
    let on_postgres = on_postgres.map(|(desk, database)| (desk, Some(database)));
    for (desk, _kept) in std::iter::once((on_sqlite, None)).chain(on_postgres) {
        for days in [20, 10] {
            let id = desk.receive(dead_in("orders").received(before_noon(HOUR * 24 * days))).await;
            desk.bring(id, Status::Retried).await;
        }
        desk.receive(dead_in("orders").received(before_noon(HOUR * 2))).await;
        super::search::index(&desk).await;
        for (query, bars) in [
            ("status=retried", 2),
            ("status=all", 3),
            ("status=all&queue=orders", 3),
            ("status=all&type_unknown=true", 3),
            ("q=status:retried", 2),
            ("q=-status:open", 2),
            ("status=all&until=15d", 1),
            ("status=open", 1),
        ] {
            assert_eq!(desk.page(&format!("/letters?{query}")).await.count(".chart-bars a"), bars, "{query}");
        }
    }
}

/// What stands under the name of the page is of the list below it.
#[tokio::test]
async fn the_count_in_the_header_is_of_what_the_filter_lets_through() {
    let server = Named::open().await;
    let head = async |query: &str| server.desk.page(&format!("/letters?{query}")).await.words("header.page-head p");
    assert_eq!(head("").await, "7 open · 1 critical · oldest 2 d");
    assert_eq!(head("queue=orders").await, "4 open · 1 critical");
    assert_eq!(head("queue_glob=texts.*").await, "2 open");
    assert_eq!(head("queue_glob=texts.*&status=all").await, "3 dead letters");
    assert_eq!(head("importance=critical").await, "1 open · 1 critical");
    assert_eq!(head("since=24h").await, "6 open · 1 critical");
    assert_eq!(head("since=24h&importance=low").await, "1 open");
}

/// A name is itself, whatever is in it, and an action changes what its list has shown.
#[tokio::test]
async fn a_queue_with_commas_and_stars_is_one_queue() {
    let desk = Desk::open().await;
    const BOTH: &str = "payments.eu,texts.sms";
    let queues = [BOTH, "payments.eu", "texts.sms", "a*", "ab"];
    let mut letters = BTreeMap::new();
    for queue in queues {
        letters.insert(queue, desk.receive(dead_in(queue)).await);
    }
    for queue in [BOTH, "a*"] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("queue", queue).finish();
        let listed = desk.get(&format!("/api/v1/letters?{query}")).await.expect(200).json();
        assert_eq!((&listed["total"], &listed["items"][0]["queue"]), (&1.into(), &queue.into()));
        let page = desk.page(&format!("/letters?{query}")).await;
        assert_eq!(page.values(".list-row input", "value"), [letters[queue].to_string()]);
        let action = serde_json::json!({"action": "discard", "filter": {"queue": queue}});
        let job = desk.post("/api/v1/actions", &action).await.expect(202).header("location").to_owned();
        crate::support::process::wait_until("the job to end", super::run::PATIENCE, async || {
            desk.get(&job).await.json()["state"] == "done"
        })
        .await;
        assert_eq!(desk.get(&job).await.json()["done"], 1);
        assert_eq!(desk.status(letters[queue]).await, Status::Discarded);
    }
    for queue in ["payments.eu", "texts.sms", "ab"] {
        assert_eq!(desk.status(letters[queue]).await, Status::Open, "{queue}");
    }
    let split = desk.get("/api/v1/letters?queue=payments.eu&queue=texts.sms").await.json();
    assert_eq!(split["total"], 2);
}
