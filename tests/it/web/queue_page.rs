//! The page of one queue, and the same by the API.

use axum::http::Method;
use dead_letter_office::domain::{letter::Status, queue_level::QueueLevel};
use serde_json::json;
use url::Url;

use super::{
    answer::Look,
    dead::dead_in,
    desk::Desk,
    form::submit,
    groups::{alike, sort},
    watch::{looks, lost_for},
};
use crate::support::databases::Lent;

fn address(queue: &str) -> String {
    let segment: String = queue.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/queues/main/{segment}")
}

/// On SQLite and, where it is installed, on Postgres, which is kept beside it.
pub async fn both() -> Vec<(Desk, Option<Lent>)> {
    let mut desks = vec![(Desk::open().await, None)];
    desks.extend(Desk::on_postgres().await.map(|(desk, kept)| (desk, Some(kept))));
    desks
}

#[tokio::test]
async fn it_says_what_is_the_matter_and_what_dlo_does_next() {
    let desk = Desk::watching().await;
    desk.fails(dead_in("texts.persist"), 1).await;
    alike(&desk, "texts.persist", "no rate", 3).await;
    sort(&desk).await;
    looks(&desk, lost_for(22)).await;
    let page = desk.page("/queues/main/texts.persist").await;
    assert_eq!(page.words("h1"), "texts.persist");
    assert_eq!(page.words(".queue-badge.is-alarm"), "no consumers");
    let next = page.words("section[aria-labelledby=next-title]");
    assert!(next.contains("1 scheduled retry"), "{next}");
    assert!(next.contains("3 dead letters need attention"), "{next}");
    assert!(next.contains("waits in the queue until it has a consumer"), "{next}");
    assert!(page.words("#command-suggested").starts_with("rabbitmqctl --vhost=/ list_consumers"), "{next}");
    assert_eq!(page.count("[data-copy='#command-suggested']"), 1);
    let now = page.words("section[aria-labelledby=now-title]");
    assert!(now.contains("Depth 40") && now.contains("none for"), "{now}");
    let samples = page.words("#samples");
    assert!(samples.starts_with("Depth at most 40") && samples.contains("Consumers at least 0"), "{samples}");
    assert!(page.words(".concern-list").contains("texts.persist"));
    assert_eq!(page.count(".list-groups .list-row"), 1);
    assert!(page.words(".policy-steps").contains("fails try 1 10 s try 2 1 min 40 s try 3 16 min 40 s try 4"));

    let api = desk.get("/api/v1/queues/main/texts.persist").await.expect(200).json();
    assert_eq!(api["badges"], json!([{"name": "no_consumers", "text": "no consumers"}]));
    assert_eq!((&api["open"], &api["scheduled"], &api["depth"]), (&json!(3), &json!(1), &json!(40)));
    assert!(api["suggestion"]["command"].as_str().unwrap().contains("list_consumers"));
    assert_eq!(api["days"].as_array().unwrap().len(), 14);
    let samples = api["samples"].as_array().unwrap();
    assert!((2..=3).contains(&samples.len()), "of 23 minutes: {samples:?}");
    assert_eq!((&samples[1]["depth"], &samples[1]["consumers"]), (&json!(40), &json!(0)));
    assert!(api["next_due"].is_string());
    let listed = desk.get("/api/v1/queues").await.expect(200).json();
    let listed = listed["items"].as_array().unwrap().iter().find(|item| item["queue"] == "texts.persist").unwrap();
    for (field, value) in listed.as_object().unwrap() {
        assert_eq!(api[field], *value, "{field} is the same in the list");
    }
}

#[tokio::test]
async fn what_the_last_days_brought_is_on_it() {
    for (desk, _kept) in both().await {
        desk.letter_in(Status::Open).await;
        for _ in 0..30 {
            desk.receive(dead_in("orders")).await;
        }
        let page = desk.page("/queues/main/orders").await;
        let badges = page.words(".queue-badge");
        assert!(badges.starts_with("growing ") && badges.ends_with("/min"), "{badges}");
        assert!(page.words("#days").starts_with("Failed 3"), "{}", page.words("#days"));
        assert!(page.values("#days .small-chart", "aria-label")[0].starts_with("failed in the last 14 days: "));
        assert!(page.words("section[aria-labelledby=now-title]").contains("not set up"), "no management API");
        assert_eq!(page.count(".suggestion #command-suggested"), 0, "nothing to type");
    }
}

#[tokio::test]
async fn any_name_has_a_page_which_its_name_leads_to() {
    for (desk, _kept) in both().await {
        let long = "ü/%".repeat(63);
        for queue in ["a/b", "50 %", "a%2Fb", "naïve ☃", "..a", "a b?c#d&e", "<script>", long.as_str()] {
            desk.receive(dead_in(queue)).await;
            let page = desk.page(&address(queue)).await;
            assert_eq!(page.words("h1"), queue);
            let api = desk.get(&format!("/api/v1{}", address(queue))).await.expect(200).json();
            assert_eq!((&api["queue"], &api["open"]), (&json!(queue), &json!(1)));
        }
        let list = desk.page("/queues").await;
        let links = list.values(".table-queues th a", "href");
        assert_eq!(links.len(), 8);
        for link in links {
            let name = desk.page(&link).await.words("h1");
            assert_eq!(desk.page(&address(&name)).await.count("h1"), 1, "{link}");
        }
    }
}

/// Browsers, and most that call the API, take dots out of a path before they ask, escaped ones too.
#[tokio::test]
async fn a_name_of_dots_is_reached_by_browsers() {
    let browser = Url::parse("http://dlo.test").unwrap();
    let asked = |link: &str| browser.join(link).unwrap().path().to_owned();
    for (desk, _kept) in both().await {
        let queues = [".", "..", "~."];
        for queue in queues {
            desk.receive(dead_in(queue)).await;
        }
        let links = desk.page("/queues").await.values(".table-queues th a", "href");
        let mut seen = Vec::new();
        for link in links {
            let page = desk.page(&asked(&link)).await;
            seen.push(page.words("h1"));
            let pause = page.one("form[action$='/pause']").attr("action").unwrap().to_owned();
            let back = submit(&desk, &asked(&pause), &[]).await.expect(303).header("location").to_owned();
            assert_eq!(desk.page(&asked(&back)).await.words(".queue-badge"), "paused", "{link}");
            let api = desk.get(&asked(&format!("/api/v1{link}"))).await.expect(200).json();
            assert_eq!((api["queue"].as_str(), &api["open"]), (seen.last().map(String::as_str), &json!(1)), "{link}");
        }
        seen.sort();
        assert_eq!(seen, queues);
    }
}

#[tokio::test]
async fn what_nobody_knows_is_not_there() {
    let desk = Desk::watching().await;
    desk.receive(dead_in("orders")).await;
    for path in ["/queues/main/order", "/queues/other/orders", "/api/v1/queues/main/order", "/queues/main/%FF"] {
        desk.get(path).await.expect(404);
    }
    desk.call(Method::DELETE, "/api/v1/queues/main/orders", &json!({})).await.expect(405);
}

#[tokio::test]
async fn a_queue_that_is_gone_keeps_its_page_as_long_as_it_has_letters() {
    let desk = Desk::watching().await;
    desk.fails(dead_in("orders"), 1).await;
    let page = desk.page("/queues/main/orders").await;
    assert_eq!(page.count(".queue-badge"), 0, "nobody has looked yet");
    assert!(page.words("section[aria-labelledby=now-title]").contains("has not answered yet"));
    let other = QueueLevel { name: "other".to_owned(), ..QueueLevel::default() };
    looks(&desk, vec![Some(vec![other])]).await;
    let page = desk.page("/queues/main/orders").await;
    assert_eq!(page.words(".queue-badge"), "not found");
    assert!(page.words("section[aria-labelledby=next-title]").contains("becomes an open dead letter again"));
    assert!(page.words("section[aria-labelledby=now-title]").contains("does not list this queue"));
    assert_eq!(desk.page("/queues/main/other").await.words("h1"), "other", "one without letters");
}
