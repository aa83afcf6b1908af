//! Deploys, flags and incidents: set by CI, shown in charts and beside groups.

use std::time::Duration;

use axum::http::Method;
use dead_letter_office::{
    config::RetentionConfig,
    domain::{
        access::{Role, Scope, read_memberships},
        actor::Actor,
    },
    services::sign_in::WantedToken,
};
use serde_json::json;

use super::{
    answer::Look,
    dead::dead_in,
    desk::Desk,
    form::Form,
    groups::{alike, sort},
    queue_page::both,
    sign_in::{PASSWORD, Visit, desks, signed_in},
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn charts_and_groups_say_what_happened() {
    for (desk, _kept) in both().await {
        // The group begins a minute before noon.
        alike(&desk, "billing.pay", "no rate", 2).await;
        desk.receive(dead_in("texts")).await;
        sort(&desk).await;
        let deploy = json!({"kind": "deploy", "title": "47<11>", "service": "billing", "queues": ["billing.*"], "at": "3m",
            "link": "https://ci.example/4711"});
        let made = desk.call(Method::POST, "/api/v1/markers", &deploy).await.expect(201);
        let path = made.header("location").to_owned();
        assert_eq!(desk.get(&path).await.expect(200).json()["at"], "2026-11-21T11:57:00.000000Z");
        let name = "deploy 47<11> of billing";
        for page in ["/", "/letters", "/letters?queue=billing.pay", "/queues/main/billing.pay"] {
            let shown = desk.page(page).await;
            assert_eq!(shown.words(".chart-mark-name"), name, "{page}");
            let link = shown.one(".chart-marks a");
            assert_eq!(link.attr("href"), Some("https://ci.example/4711"));
            assert_eq!(shown.words(".chart-marks title"), "deploy 47<11> of billing, 21 Nov 11:57 UTC");
        }
        for page in ["/letters?queue=texts", "/queues/main/texts"] {
            assert_eq!(desk.page(page).await.count(".chart-marks"), 0, "{page}");
        }
        let groups = desk.get("/api/v1/groups?queue=billing.pay").await.json();
        let group = desk.page(&format!("/groups/{}", groups["items"][0]["id"].as_str().unwrap())).await;
        assert_eq!(group.words(".group-began"), format!("Began 2 min after {name}"));
        assert_eq!(group.count("#day .chart-mark"), 1);
        let texts = desk.get("/api/v1/groups?queue=texts").await.json();
        let texts = desk.page(&format!("/groups/{}", texts["items"][0]["id"].as_str().unwrap())).await;
        assert_eq!(texts.count(".group-began"), 0);
        desk.call(Method::DELETE, &path, &json!({})).await.expect(204);
        desk.call(Method::DELETE, &path, &json!({})).await.expect(404);
        assert_eq!(desk.page("/").await.count(".chart-marks"), 0);
        let activity = desk.page("/activity?area=markers").await.words("main");
        assert!(activity.contains(&format!("set the marker {name}")), "{activity}");
        assert!(activity.contains(&format!("removed the marker {name}")), "{activity}");
    }
}

#[tokio::test]
async fn they_are_listed_by_pages_and_forgotten_after_their_time() {
    for (desk, _kept) in both().await {
        for n in 0..5 {
            let kind = if n == 0 { "flag" } else { "deploy" };
            let marker = json!({"kind": kind, "title": n.to_string(), "at": format!("{n}d")});
            desk.call(Method::POST, "/api/v1/markers", &marker).await.expect(201);
        }
        let titles = async |query: &str| {
            let list = desk.get(&format!("/api/v1/markers{query}")).await.expect(200).json();
            let titles: String =
                list["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
            (titles, list["next_cursor"].as_str().map(str::to_owned))
        };
        let (first, cursor) = titles("?limit=3").await;
        assert_eq!(first, "012");
        assert_eq!(titles(&format!("?limit=3&cursor={}", cursor.unwrap())).await, ("34".to_owned(), None));
        assert_eq!(titles("?kind=deploy&since=2d").await.0, "12");
        assert_eq!(titles("?until=2d").await.0, "34");
        desk.get("/api/v1/markers?kind=deployment").await.problem(400);
        let keep = RetentionConfig { markers: MINUTE * 60 * 24 * 2, ..RetentionConfig::default() };
        let forgotten = desk.store.forget_markers(desk.clock.now().minus(keep.markers), 100).await.unwrap();
        assert_eq!((forgotten, titles("").await.0), (2, "012".to_owned()));
    }
}

#[tokio::test]
async fn people_set_and_remove_them_on_a_page() {
    let desk = Desk::open().await;
    desk.receive(dead_in("texts")).await;
    let form =
        Form::of(&desk.page("/markers").await, "Set").fill("kind", "incident").fill("link", "javascript:alert(1)");
    let refused = form.fill("title", "provider down").send(&desk).await.expect(422).page();
    assert!(refused.words("#link-wrong").contains("https://"));
    let listed =
        Form::of(&refused, "Set").fill("link", "").fill("queues", "texts, a b").fill("at", "5m").press(&desk).await;
    let row = listed.words("tbody tr");
    assert!(row.contains("incident provider down texts, a b"), "{row}");
    assert!(listed.words("#toasts").contains("Set the marker incident provider down."));
    let listed = Form::of(&listed, "Remove incident provider down").press(&desk).await;
    assert_eq!(listed.count("tbody tr"), 0);
}

#[tokio::test]
async fn all_that_is_wrong_with_one_is_told() {
    let desk = Desk::open().await;
    let wrong = json!({"kind": "deployment", "title": " ", "at": "2027-01-01", "queues": ["a", ""], "link": "ftp://x", "no": 1});
    let errors = desk.call(Method::POST, "/api/v1/markers", &wrong).await.expect(422).json();
    let mut places: Vec<_> = errors["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap().to_owned())
        .collect();
    places.sort();
    assert_eq!(places, ["/at", "/kind", "/link", "/no", "/queues/1", "/title"]);
    assert_eq!(desk.get("/api/v1/markers").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_token_of_ci_may_do_nothing_else() {
    for (desk, _kept) in desks().await {
        let owner = desk.store.user("otto").await.unwrap();
        let wanted = WantedToken {
            name: "ci",
            scopes: vec![Scope::Markers],
            owner,
            teams: Vec::new(),
            lasts: Some(60 * MINUTE),
        };
        let ci = Visit::bearer(&desk.tokens.add(wanted, &Actor::command_line()).await.unwrap());
        let marker = r#"{"kind": "deploy", "title": "4711"}"#;
        ci.ask(&desk, Method::POST, "/api/v1/markers", "application/json", marker).await.expect(201);
        for path in ["/api/v1/markers", "/api/v1/letters", "/api/v1/activity"] {
            ci.get(&desk, path).await.expect(403);
        }
        let vera = signed_in(&desk, "vera").await;
        assert!(vera.get(&desk, "/markers").await.expect(200).text().contains("4711"));
        vera.post(&desk, "/markers/set", &[("kind", "deploy"), ("title", "x")]).await.expect(403);
    }
}

/// A reader of some queues sees no marker of others, and what they set is about their queues.
#[tokio::test]
async fn teams_have_their_own() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&super::teams::teams()).await {
        for (name, role, teams) in [("ada", Role::Operator, "alpha"), ("root", Role::Admin, "")] {
            let teams = read_memberships(teams).unwrap();
            desk.users.add(name, PASSWORD, (role, &teams), &Actor::command_line()).await.unwrap();
        }
        desk.receive(dead_in("alpha-orders")).await;
        desk.receive(dead_in("bravo-orders")).await;
        let (ada, root) = (signed_in(&desk, "ada").await, signed_in(&desk, "root").await);
        for (title, queues) in [("for-all", ""), ("for-bravo", "bravo*"), ("for-both", "*-orders"), ("for-none", "x")] {
            let marker = [("kind", "deploy"), ("title", title), ("queues", queues)];
            root.post(&desk, "/markers/set", &marker).await.expect(303);
        }
        ada.post(&desk, "/markers/set", &[("kind", "flag"), ("title", "of-ada")]).await.expect(303);
        let seen = async |visit: &Visit, path: &str| {
            let page = visit.get(&desk, path).await.expect(200).text();
            let all = ["for-all", "for-bravo", "for-both", "for-none", "of-ada"];
            all.into_iter().filter(|title| page.contains(title)).collect::<Vec<_>>()
        };
        for path in ["/markers", "/"] {
            assert_eq!(seen(&ada, path).await, ["for-all", "for-both", "of-ada"], "{path}");
            assert_eq!(seen(&root, path).await.len(), 5, "{path}");
        }
        let page = ada.get(&desk, "/markers").await.page();
        assert_eq!(page.count("tbody button[disabled][title]"), 2, "of those for all and for both");
        assert_eq!(page.count("tbody button:not([disabled])"), 1, "their own");
        assert_eq!(seen(&root, "/queues/main/bravo-orders").await, ["for-all", "for-bravo", "for-both"]);
        assert_eq!(seen(&ada, "/activity").await, ["of-ada"]);
        let all = desk.store.markers(&Default::default(), None, 100).await.unwrap();
        for marker in all {
            let removed = ada.post(&desk, "/markers/remove", &[("id", &marker.id.to_string())]).await;
            let expected = match &*marker.title {
                "of-ada" => 303,
                "for-all" | "for-both" => 403,
                _ => 404,
            };
            assert_eq!(removed.status, expected, "{}", marker.title);
        }
    }
}
