//! Saved views: lists with a name, one's own and shared ones, counted in the navigation.

use axum::http::{Method, header};
use dead_letter_office::{
    config::RetentionConfig,
    domain::{
        access::{Role, Scope, Source, UserId, read_memberships},
        actor::Actor,
        letter::Status,
        saved_view::{Keeper, ViewContent},
        version::Expected,
    },
    store::Vouched,
};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look},
    dead::dead_in,
    desk::{Desk, builder},
    form::Form,
    queue_page::both,
    search::index,
    sign_in::{PASSWORD, Visit, desks, signed_in, tokens::token},
};

async fn save(desk: &Desk, name: &str, query: &str, shared: bool) -> Value {
    let view = json!({"name": name, "query": query, "shared": shared});
    desk.call(Method::POST, "/api/v1/views", &view).await.expect(201).json()
}

fn keeper(name: &str) -> Keeper {
    Keeper { name: name.to_owned(), is_admin: false }
}

/// The views of the navigation, each with its count.
async fn menu(desk: &Desk) -> Vec<String> {
    desk.get("/views/menu").await.expect(200).page().all("#views nav a").into_iter().map(super::answer::words).collect()
}

#[tokio::test]
async fn a_list_is_saved_opened_changed_removed_and_brought_back() {
    for (desk, _kept) in both().await {
        desk.receive(dead_in("billing")).await;
        desk.receive(dead_in("texts")).await;
        let list = desk.page("/letters?queue=billing&sort=oldest&limit=7").await;
        assert_eq!(
            list.values("#views", "hx-trigger"),
            ["dlo:changes from:body throttle:15s"],
            "there is nothing to count"
        );
        let saved = Form::of(&list, "Save view").fill("name", "Billing, oldest").press(&desk).await;
        assert!(saved.words("#toasts").contains("Saved the view Billing, oldest."));
        // The page shows it at once, and has it counted.
        assert!(saved.values("#views", "hx-trigger")[0].starts_with("load"));
        assert_eq!(saved.words("#views nav a"), "Billing, oldest");
        assert_eq!(menu(&desk).await, ["Billing, oldest 1 dead letters"]);
        let page = desk.page("/letters?queue=billing&sort=oldest").await;
        assert_eq!(page.words("#views [aria-current]"), "Billing, oldest 1 dead letters");
        let views = desk.page("/views").await;
        let open = views.one("tbody td b a").attr("href").unwrap().to_owned();
        assert_eq!(desk.get(&open).await.expect(303).header("location"), "/letters?queue=billing&sort=oldest");
        // Another person's page in between: what was changed is not overwritten in silence.
        let form = || Form::of(&views, "Save").fill("query", "status=all");
        form().fill("name", "All").press(&desk).await;
        let late = form().fill("name", "Late").press(&desk).await;
        assert!(late.words("#toasts").contains("local user has set this view meanwhile"), "{}", late.words("#toasts"));
        assert_eq!(menu(&desk).await, ["All 2 dead letters"]);
        let removed = Form::of(&desk.page("/views").await, "Remove All").press(&desk).await;
        assert!(menu(&desk).await.is_empty());
        desk.get(&open).await.expect(404);
        let back = Form::of(&removed, "Undo u").press(&desk).await;
        assert_eq!(back.words("tbody td b"), "All");
        // Nobody else saw it, so the activity says nothing.
        assert!(!desk.page("/activity?area=views").await.words("main").contains("All"));
    }
}

#[tokio::test]
async fn programs_keep_them_by_version() {
    for (desk, _kept) in both().await {
        let view = save(&desk, "ISK", "q=ISK&status=all&cursor=&limit=3", true).await;
        assert_eq!(
            (&view["query"], &view["count"], &view["owner"]),
            (&json!("q=ISK&status=all"), &json!(0), &json!("local user"))
        );
        let path = format!("/api/v1/views/{}", view["id"].as_str().unwrap());
        let change = json!({"name": "Krónur", "query": "q=ISK", "shared": false});
        let put = async |version: &str, body: &Value| -> Answer {
            let request = builder(Method::PUT, &path).header("content-type", "application/json");
            let request = request.header(header::IF_MATCH, format!("\"{version}\""));
            desk.send(request.body(axum::body::Body::from(body.to_string())).unwrap()).await
        };
        let version = view["version"].as_str().unwrap();
        let changed = put(version, &change).await.expect(200);
        assert_eq!(changed.header("etag"), format!("\"{}\"", changed.json()["version"].as_str().unwrap()));
        put(version, &json!({"name": "x"})).await.problem(412);
        save(&desk, "b", "", false).await;
        let twice = json!({"name": "b", "query": "", "shared": false});
        assert!(desk.call(Method::PUT, &path, &twice).await.problem(409).contains("this name"));
        let list = desk.get("/api/v1/views?limit=1").await.json();
        assert_eq!((&list["total"], &list["items"][0]["name"]), (&json!(2), &json!("Krónur")));
        desk.call(Method::DELETE, &path, &json!({})).await.expect(204);
        desk.call(Method::DELETE, &path, &json!({})).await.problem(404);
        desk.call(Method::PUT, &path, &change).await.problem(404);
        let activity = desk.page("/activity?area=views").await.words("main");
        assert!(
            activity.contains("shared the view ISK") && activity.contains("made private the view Krónur"),
            "{activity}"
        );
        let keep = desk.store.forget_views(desk.clock.now()).await.unwrap();
        assert_eq!((keep, RetentionConfig::default().markers.as_secs() > 0), (0, true), "it was removed just now");
    }
}

#[tokio::test]
async fn all_that_is_wrong_with_one_is_told_with_its_column() {
    let desk = Desk::open().await;
    let wrong = json!({"name": " ", "query": "?q=queue:a+status:opne&staus=open&sort=up", "shared": false});
    let errors = desk.call(Method::POST, "/api/v1/views", &wrong).await.expect(422).json();
    let told: Vec<_> = errors["errors"].as_array().unwrap().iter().map(|error| error["pointer"].clone()).collect();
    assert!(told.contains(&json!("/name")) && told.contains(&json!("/query")), "{errors}");
    let search = json!({"name": "x", "query": "q=queue:a+status:opne"});
    let errors = desk.call(Method::POST, "/api/v1/views", &search).await.expect(422).json();
    assert_eq!(
        (&errors["code"], &errors["errors"][0]["pointer"]),
        (&json!("invalid_search"), &json!("/query")),
        "{errors}"
    );
    assert_eq!(desk.get("/api/v1/views").await.json()["total"], 0);
}

/// Also where a page saves it, whose forms may have more.
#[tokio::test]
async fn a_query_of_a_view_is_not_longer_than_an_address() {
    let desk = Desk::open().await;
    save(&desk, "a", "", false).await;
    let wrong = "group=x&".repeat(3_000);
    let form = Form::of(&desk.page("/views").await, "Save").fill("query", &wrong);
    let told = form.press(&desk).await.words("#toasts");
    assert!(told.contains("it has more than 16384 characters") && !told.contains("group"), "{told}");
    let view = |n: usize| json!({"name": "b", "query": &wrong[..n], "shared": false});
    let errors = async |n: usize| {
        let answer = desk.call(Method::POST, "/api/v1/views", &view(n)).await.expect(422).json();
        answer["errors"].as_array().unwrap().clone()
    };
    let long = errors(16_385).await;
    assert_eq!((long.len(), &long[0]["pointer"], &long[0]["code"]), (1, &json!("/query"), &json!("length")));
    assert_eq!(errors(16_384).await.len(), 100, "no more than anybody reads");
}

/// A view of many is counted up to a thousand, however it finds them.
#[tokio::test]
async fn counts_end_at_a_thousand_where_none_are_kept() {
    for (desk, _kept) in both().await {
        let dead = |n: usize| {
            dead_in("orders").with(|arrival| {
                arrival.message.body = format!(r#"{{"word": "common", "n": {n}}}"#).into_bytes();
                arrival.failure.message_type = Some("acme.Order".to_owned());
            })
        };
        desk.receive_all("main", (0..1_010).map(dead).collect()).await;
        super::groups::sort(&desk).await;
        index(&desk).await;
        let groups = desk.get("/api/v1/groups").await.json();
        let group = groups["items"][0]["id"].as_str().unwrap();
        save(&desk, "a kept", "queue=orders", false).await;
        save(&desk, "b word", "q=common", false).await;
        save(&desk, "c group", &format!("group={group}"), false).await;
        save(&desk, "d rare", "q=payload.n:7", false).await;
        let expected =
            ["a kept 1,010", "b word 1,000+", "c group 1,000+", "d rare 1"].map(|n| format!("{n} dead letters"));
        assert_eq!(menu(&desk).await, expected);
        // For a while it is not counted again.
        desk.receive(dead_in("orders")).await;
        assert_eq!(menu(&desk).await, expected);
    }
}

#[tokio::test]
async fn private_ones_are_nobody_elses_business() {
    for (desk, _kept) in desks().await {
        let (ada, otto, vera) =
            (signed_in(&desk, "ada").await, signed_in(&desk, "otto").await, signed_in(&desk, "vera").await);
        for (visit, name, shared) in [(&otto, "mine", ""), (&otto, "ours", "1"), (&vera, "veras", "1")] {
            visit.post(&desk, "/views/set", &[("name", name), ("query", ""), ("shared", shared)]).await.expect(303);
        }
        let seen = async |visit: &Visit| {
            let page = visit.get(&desk, "/views").await.expect(200).page();
            page.all("tbody td b").into_iter().map(super::answer::words).collect::<Vec<_>>()
        };
        assert_eq!(seen(&otto).await, ["mine", "ours", "veras"]);
        assert_eq!(seen(&vera).await, ["ours", "veras"]);
        let all = desk.store.views(&keeper("otto")).await.unwrap();
        for view in &all {
            let (id, name) = (view.id.to_string(), &*view.content.name);
            // Who sees it and has not saved it may not remove it, unless they are an admin.
            let expected = if name == "veras" { 303 } else { 404 };
            assert_eq!(vera.post(&desk, "/views/remove", &[("id", &id)]).await.status, expected, "{name}");
            vera.post(&desk, "/views/restore", &[("id", &id)]).await;
            let change = [("id", &*id), ("name", "stolen"), ("query", ""), ("shared", "1")];
            vera.post(&desk, "/views/set", &change).await.expect(303);
            let opened = vera.get(&desk, &format!("/views/{id}")).await.status;
            assert_eq!(opened, if name == "mine" { 404 } else { 303 }, "{name}");
        }
        assert_eq!(seen(&otto).await, ["mine", "ours", "stolen"]);
        let ours = all.iter().find(|view| view.content.name == "ours").unwrap().id.to_string();
        ada.post(&desk, "/views/remove", &[("id", &ours)]).await.expect(303);
        assert_eq!(seen(&otto).await, ["mine", "stolen"]);
        let activity = ada.get(&desk, "/activity?area=views").await.expect(200).text();
        assert!(activity.contains("ours") && !activity.contains("mine<"), "{activity}");
        // Who has the same name later is somebody else.
        desk.users.remove("otto", &Actor::command_line()).await.unwrap();
        assert_eq!(desk.store.views(&keeper("otto")).await.unwrap().len(), 1, "what vera shares");
    }
}

/// Whose name is another at the provider takes their views along: who has the old name then is somebody else.
#[tokio::test]
async fn who_is_renamed_keeps_their_own() {
    for (desk, _kept) in both().await {
        let comes = async |subject: &str, name: &str| {
            let id = UserId::from_uuid(uuid::Uuid::now_v7());
            let vouched = Vouched { id, source: Source::Oidc, subject, name, role: Role::Viewer, teams: &[] };
            desk.store.vouch(&vouched, desk.clock.now()).await.unwrap();
        };
        comes("the first", "ada").await;
        let (ada, by, now) = (keeper("ada"), Actor::named("ada"), desk.clock.now());
        for (name, is_shared) in [("mine", false), ("ours", true)] {
            let content = ViewContent { name: name.to_owned(), query: String::new(), is_shared };
            let view = (uuid::Uuid::now_v7(), &content);
            desk.store.set_view(view, &ada, &Expected::nothing(), &by, now).await.unwrap().unwrap();
        }
        comes("the first", "ada moreno").await;
        comes("the second", "ada").await;
        let seen = async |name: &str| {
            let views = desk.store.views(&keeper(name)).await.unwrap();
            views.into_iter().map(|view| (view.content.name, view.owner)).collect::<Vec<_>>()
        };
        let [mine, ours] = ["mine", "ours"].map(|name| (name.to_owned(), "ada moreno".to_owned()));
        assert_eq!(seen("ada").await, std::slice::from_ref(&ours));
        assert_eq!(seen("ada moreno").await, [mine, ours]);
    }
}

/// Tokens of the command line belong to nobody, and are not all one.
#[tokio::test]
async fn tokens_keep_their_own() {
    for (desk, _kept) in desks().await {
        let scopes = [Scope::Read, Scope::Act];
        let (one, other) = (token(&desk, "one", &scopes).await, token(&desk, "other", &scopes).await);
        let view = json!({"name": "x", "query": "status=open"}).to_string();
        one.ask(&desk, Method::POST, "/api/v1/views", "application/json", &view).await.expect(201);
        let seen = async |visit: &Visit| visit.get(&desk, "/api/v1/views").await.expect(200).json()["items"].clone();
        let mine = seen(&one).await;
        assert_eq!((mine[0]["name"].as_str(), seen(&other).await), (Some("x"), json!([])));
        let path = format!("/api/v1/views/{}", mine[0]["id"].as_str().unwrap());
        other.ask(&desk, Method::DELETE, &path, "", "").await.expect(404);
        one.ask(&desk, Method::DELETE, &path, "", "").await.expect(204);
    }
}

/// Who sees only some queues neither sees nor counts what is another team's.
#[tokio::test]
async fn teams_share_among_themselves() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&super::teams::teams()).await {
        for (name, role, teams) in [
            ("ada", Role::Operator, "alpha"),
            ("alan", Role::Operator, "alpha"),
            ("ben", Role::Operator, "bravo"),
            ("root", Role::Admin, ""),
        ] {
            let teams = read_memberships(teams).unwrap();
            desk.users.add(name, PASSWORD, (role, &teams), &Actor::command_line()).await.unwrap();
        }
        for queue in ["alpha-orders", "bravo-orders", "bravo-orders"] {
            desk.receive(dead_in(queue)).await;
        }
        let mut visits = Vec::new();
        for name in ["ada", "alan", "ben", "root"] {
            visits.push(signed_in(&desk, name).await);
        }
        for (visit, name) in visits.iter().zip(["of ada", "of alan", "of ben", "of root"]) {
            let view = [("name", name), ("query", "status=all"), ("shared", "1")];
            visit.post(&desk, "/views/set", &view).await.expect(303);
        }
        let menu = async |visit: &Visit| {
            let page = visit.get(&desk, "/views/menu").await.expect(200).page();
            page.all("#views nav a").into_iter().map(super::answer::words).collect::<Vec<_>>()
        };
        let of = |names: &[&str], n: usize| {
            names.iter().map(|name| format!("of {name} {n} dead letters")).collect::<Vec<_>>()
        };
        assert_eq!(menu(&visits[0]).await, of(&["ada", "alan"], 1));
        assert_eq!(menu(&visits[1]).await, of(&["ada", "alan"], 1));
        assert_eq!(menu(&visits[2]).await, of(&["ben"], 2));
        assert_eq!(menu(&visits[3]).await, of(&["ada", "alan", "ben", "root"], 3));
    }
}

/// An address that this version cannot read stands there, and breaks nothing.
#[tokio::test]
async fn what_a_later_version_has_saved_is_shown_as_it_is() {
    let desk = Desk::open().await;
    desk.letter_in(Status::Open).await;
    let keeper = Keeper { name: "local user".to_owned(), is_admin: true };
    let content = ViewContent { name: "later".to_owned(), query: "phase=moon".to_owned(), is_shared: false };
    let expected = Expected::nothing();
    let id = uuid::Uuid::now_v7();
    desk.store.set_view((id, &content), &keeper, &expected, &Actor::local(), desk.clock.now()).await.unwrap().unwrap();
    assert!(desk.page("/views").await.words("tbody").contains("phase=moon cannot be read by this version"));
    assert_eq!(menu(&desk).await, ["later"]);
    let item = desk.get(&format!("/api/v1/views/{id}")).await.expect(200).json();
    assert_eq!((&item["count"], &item["query"]), (&Value::Null, &json!("phase=moon")));
}
