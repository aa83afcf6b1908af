//! Parts of pages, which htmx asks for: each is what the whole page has in that place.

use std::collections::BTreeMap;

use axum::{body::Body, http::Method};
use dead_letter_office::domain::{command::Command, letter::Importance};
use scraper::{ElementRef, Html};

use super::{
    answer::{Answer, Look},
    dead::dead_in,
    desk::{Desk, builder},
};

/// Asks as htmx does.
async fn ask_htmx(desk: &Desk, path: &str) -> Answer {
    desk.send(builder(Method::GET, path).header("hx-request", "true").body(Body::empty()).unwrap()).await.expect(200)
}

/// The address that an element of the page asks for.
fn asked_by(element: ElementRef<'_>) -> String {
    let address = element.attr("hx-get").unwrap();
    let values: BTreeMap<String, String> =
        element.attr("hx-vals").and_then(|values| serde_json::from_str(values).ok()).unwrap_or_default();
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(values).finish();
    format!("{address}{}{query}", if address.contains('?') { '&' } else { '?' })
}

fn outer(page: &Html, selector: &str) -> String {
    page.one(selector).html()
}

#[tokio::test]
async fn a_part_is_what_the_page_has_there() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("{\"a\": 1}")).await;
    let lists = ["/letters?status=all", "/letters?queue=orders", "/letters?queue=none"].map(str::to_owned);
    for list in lists.into_iter().chain([format!("/letters?letter={id}&view=hex")]) {
        let whole = desk.page(&list).await;
        for (part, place) in [("main", "#main"), ("results", "#results"), ("letter", "#pane")] {
            let answer = ask_htmx(&desk, &format!("{list}&part={part}")).await;
            assert_eq!(outer(&answer.page(), place), outer(&whole, place), "{list} and its {part}");
            assert_eq!(answer.header("hx-push-url"), list, "the address bar follows");
        }
    }
}

#[tokio::test]
async fn the_part_of_a_letters_own_page_is_what_it_has_there() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("text")).await;
    let whole = desk.page(&format!("/letters/{id}?view=hex")).await;
    let part = ask_htmx(&desk, &format!("/letters/{id}?view=hex&part=main")).await;
    assert_eq!(outer(&part.page(), "#main"), outer(&whole, "#main"));
    assert_eq!(part.page().words("title"), whole.words("title"));
}

/// A page asks for itself again to bring what it shows up to date. That is no look of somebody's: what was left to be said to
/// them is kept, and what is new to them stays so.
#[tokio::test]
async fn what_a_page_asks_for_by_itself_is_no_look() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    let form = [("id", id.to_string()), ("action", "discard".to_owned()), ("back", "/letters".to_owned())];
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let said = super::form::submit(&desk, "/letters/actions", &form).await.expect(303);
    let toast = said.header("set-cookie").split_once(';').unwrap().0.to_owned();
    let look = async |path: &str, by_itself: bool| {
        let request = builder(Method::GET, path).header("cookie", &toast);
        let request = if by_itself { request.header("dlo-refresh", "1") } else { request };
        desk.send(request.body(Body::empty()).unwrap()).await.expect(200)
    };
    for path in ["/letters", "/groups", "/"] {
        let answer = look(path, true).await;
        assert_eq!((answer.header("set-cookie"), answer.page().count(".toast-box")), ("", 0), "{path}");
        assert_eq!(look(path, false).await.page().count(".toast-box"), 1, "{path}");
    }
}

#[tokio::test]
async fn news_are_counted_and_lead_to_the_letters() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let page = desk.page("/letters?queue=orders").await;
    let feed = asked_by(page.one("#news"));
    assert_eq!(ask_htmx(&desk, &feed).await.text(), "", "nothing is new yet");
    for queue in ["orders", "orders", "texts"] {
        desk.receive(dead_in(queue).received(desk.clock.now().plus(std::time::Duration::from_micros(1)))).await;
    }
    let told = ask_htmx(&desk, &feed).await.page();
    assert!(told.words("a.list-news").starts_with("2 new dead letters"), "those of this list");
    assert_eq!(desk.page(told.one("a.list-news").attr("href").unwrap()).await.count(".list-row"), 3);
}

#[tokio::test]
async fn an_empty_list_hears_news_too() {
    let desk = Desk::open().await;
    let page = desk.page("/letters").await;
    let feed = asked_by(page.one("#news"));
    assert_eq!(ask_htmx(&desk, &feed).await.text(), "");
    desk.receive(dead_in("orders")).await;
    assert!(ask_htmx(&desk, &feed).await.page().words("a.list-news").starts_with("1 new dead letter"));
}

#[tokio::test]
async fn a_letter_stands_beside_its_list() {
    let desk = Desk::open().await;
    let [first, second] = desk.receive_from("main", [dead_in("a"), dead_in("b")]).await;
    let list = desk.page("/letters?sort=oldest").await;
    let links = list.values(".list-row > a", "href");
    assert_eq!(links, [first, second].map(|id| format!("/letters?sort=oldest&letter={id}")));
    let split = desk.page(&links[1]).await;
    assert_eq!(split.count(".list-row"), 2);
    assert_eq!(split.one("#pane .letter-view").attr("data-letter"), Some(&*second.to_string()));
    assert_eq!(split.values(".list-row > a[aria-current=true]", "href"), links[1..]);
    assert_eq!(split.one("[data-close]").attr("href"), Some("/letters?sort=oldest"));
}

#[tokio::test]
async fn a_letter_that_is_gone_is_missed_politely() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let page = desk.page(&format!("/letters?queue=orders&letter={}", uuid::Uuid::nil())).await;
    assert!(page.words("#pane").starts_with("There is no such dead letter."));
    assert_eq!(page.one("#pane a").attr("href"), Some("/letters?queue=orders"));
    assert_eq!(page.count(".list-row"), 1);
}

#[tokio::test]
async fn a_letter_may_stand_beside_a_list_it_is_not_in() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    desk.command(id, Command::SetImportance(Importance::Low)).await;
    let page = desk.page(&format!("/letters?importance=critical&letter={id}")).await;
    assert_eq!((page.count(".list-row"), page.count("#pane .letter-view")), (0, 1));
}

#[tokio::test]
async fn an_error_reaches_htmx_as_a_toast() {
    let desk = Desk::open().await;
    let request = builder(Method::GET, "/letters?status=opne&part=results").header("hx-request", "true");
    let answer = desk.send(request.body(Body::empty()).unwrap()).await.expect(400);
    let toast = Html::parse_fragment(&answer.text());
    assert!(toast.words(".toast-box.is-failed p").contains("open, scheduled, retried, discarded"));
    assert_eq!(toast.count("html main"), 0, "no whole page");
}
