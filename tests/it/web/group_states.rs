//! How far people are with groups, on the pages and by the API.

use std::time::Duration;

use axum::http::{Method, header};
use dead_letter_office::{
    config::{AuthConfig, TeamConfig},
    domain::{
        access::{Role, read_memberships},
        actor::Actor,
        letter::{LetterId, Status},
    },
};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look},
    dead::dead_in,
    desk::{Desk, MAIN, builder},
    form::{Form, follow, submit},
    groups::{alike, failed_with, group_of, sort},
    sign_in::{PASSWORD, by_password, desks, signed_in},
};

async fn id_of(desk: &Desk, letter: LetterId) -> String {
    group_of(desk, letter).await.trim_start_matches("/groups/").to_owned()
}

/// A letter of the same group that comes a minute from now.
async fn again(desk: &Desk, queue: &str, error: &str) {
    desk.clock.advance(Duration::from_secs(60));
    desk.receive_all(MAIN, vec![failed_with(dead_in(queue), error).received(desk.clock.now())]).await;
    sort(desk).await;
}

async fn act(desk: &Desk, path: &str, body: Value) -> Answer {
    desk.post(path, &body).await
}

/// The type is part of what makes a group, so that its letters are in another one from then on.
#[tokio::test]
async fn people_are_as_far_with_a_group_when_its_type_becomes_known() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 2).await;
    let old = format!("/api/v1{}", group_of(&desk, ids[0]).await);
    act(&desk, &format!("{old}/acknowledge"), json!({})).await.expect(200);
    let ticket = json!({"ticket": "https://tickets.example/7"});
    desk.call(Method::PATCH, &old, &ticket).await.expect(200);
    let mapping = json!({"queue": "orders", "message_type": "acme.Order"});
    desk.post("/api/v1/mappings", &mapping).await.expect(201);
    sort(&desk).await;
    let new = format!("/api/v1{}", group_of(&desk, ids[0]).await);
    let group = desk.get(&new).await.expect(200).json();
    assert!(new != old && group["message_type"] == "acme.Order" && group["open"] == 2, "{group}");
    assert_eq!((&group["state"], &group["ticket"]), (&json!("acknowledged"), &ticket["ticket"]));
    // What fails from then on is in it, too, and begins nothing anew.
    again(&desk, "orders", "x").await;
    assert_eq!(desk.get(&new).await.expect(200).json()["state"], "acknowledged");
}

#[tokio::test]
async fn a_group_goes_from_state_to_state() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = format!("/api/v1{}", group_of(&desk, ids[0]).await);
    let taken = act(&desk, &format!("{path}/acknowledge"), json!({})).await.expect(200).json();
    assert_eq!((&taken["state"], &taken["state_by"]), (&json!("acknowledged"), &json!("local user")));
    assert_eq!(taken["state_at"], "2026-11-21T12:00:00.000000Z");
    let detail = act(&desk, &format!("{path}/acknowledge"), json!({})).await.problem(409);
    assert_eq!(detail, "Not possible: it is acknowledged already, by local user.");
    let snoozed = act(&desk, &format!("{path}/snooze"), json!({"until": "2h"})).await.expect(200).json();
    assert_eq!(snoozed["snoozed_until"]["time"], "2026-11-21T14:00:00.000000Z");
    let snoozed = act(&desk, &format!("{path}/snooze"), json!({"more": 2})).await.expect(200).json();
    assert_eq!((&snoozed["snoozed_until"]["more"], &snoozed["snoozed_until"]["come"]), (&json!(2), &json!(0)));
    again(&desk, "orders", "x").await;
    assert_eq!(desk.get(&path).await.json()["snoozed_until"]["come"], 1);
    again(&desk, "orders", "x").await;
    let woken = desk.get(&path).await.json();
    assert_eq!((&woken["state"], &woken["regressed"]["reason"]), (&json!("open"), &json!("2 more dead letters came")));
    let resolved = act(&desk, &format!("{path}/resolve"), json!({})).await.expect(200).json();
    assert_eq!((&resolved["state"], &resolved["regressed"]), (&json!("resolved"), &Value::Null));
    act(&desk, &format!("{path}/snooze"), json!({"change": true})).await.problem(409);
    assert_eq!(act(&desk, &format!("{path}/reopen"), json!({})).await.expect(200).json()["state"], "open");
    for (wrong, part) in [
        (json!({}), "one of until, more and change"),
        (json!({"until": "1h", "more": 1}), "one of them"),
        (json!({"until": "never"}), "2026-11-24T09:00:00Z"),
        (json!({"until": "0"}), "in the future"),
        (json!({"until": "2026-11-21T11:00:00Z"}), "in the future"),
        (json!({"more": 0}), "1 to 1000000000"),
    ] {
        let detail = act(&desk, &format!("{path}/snooze"), wrong.clone()).await.problem(422);
        assert!(detail.contains(part), "{wrong}: {detail}");
    }
}

#[tokio::test]
async fn who_knows_an_older_version_is_told_what_is_there() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = format!("/api/v1{}", group_of(&desk, ids[0]).await);
    let tag = desk.get(&path).await.header("etag").to_owned();
    assert_eq!(tag.trim_matches('"'), desk.get(&path).await.json()["version"].as_str().unwrap());
    let resolve = async |tag: &str| {
        let request = builder(Method::POST, &format!("{path}/resolve")).header(header::IF_MATCH, tag);
        desk.send(request.body(axum::body::Body::empty()).unwrap()).await
    };
    act(&desk, &format!("{path}/acknowledge"), json!({})).await.expect(200);
    let detail = resolve(&tag).await.problem(412);
    assert!(detail.contains("Somebody has changed this group meanwhile. It says now: state: acknowledged"), "{detail}");
    let tag = desk.get(&path).await.header("etag").to_owned();
    resolve(&tag).await.expect(200);
    let page = desk.page(&group_of(&desk, ids[0]).await).await;
    let stale = Form::of(&page, "Reopen");
    act(&desk, &format!("{path}/reopen"), json!({})).await.expect(200);
    let told = stale.press(&desk).await.words("#toasts .is-failed");
    assert!(told.contains("somebody has changed this group meanwhile"), "{told}");
}

#[tokio::test]
async fn who_changes_nothing_of_an_older_version_is_told_what_is_there() {
    let desk = Desk::open().await;
    let path = format!("/api/v1{}", group_of(&desk, alike(&desk, "orders", "x", 1).await[0]).await);
    let patch = async |tag: &str| {
        let request = builder(Method::PATCH, &path).header(header::IF_MATCH, tag);
        desk.send(request.header(header::CONTENT_TYPE, "application/json").body("{}".into()).unwrap()).await
    };
    let tag = desk.get(&path).await.header("etag").to_owned();
    patch(&tag).await.expect(200);
    act(&desk, &format!("{path}/acknowledge"), json!({})).await.expect(200);
    let detail = patch(&tag).await.problem(412);
    assert!(detail.contains("It says now: state: acknowledged"), "{detail}");
    patch(desk.get(&path).await.header("etag")).await.expect(200);
    let unknown = "/api/v1/groups/00000000-0000-0000-0000-000000000000";
    desk.call(Method::PATCH, unknown, &json!({})).await.expect(404);
}

#[tokio::test]
async fn an_assignee_who_has_it_already_is_said_and_there_is_nothing_to_undo() {
    let desk = Desk::open().await;
    let [one, two] = [alike(&desk, "a", "x", 1).await[0], alike(&desk, "b", "x", 1).await[0]];
    let both = [id_of(&desk, one).await, id_of(&desk, two).await];
    let page = desk.page(&group_of(&desk, one).await).await;
    let nobody = Form::of(&page, "Assign").press(&desk).await;
    assert_eq!(nobody.words("#toasts p"), "1 group has no assignee already.");
    let page = Form::of(&page, "Assign to me").press(&desk).await;
    assert!(page.words("#toasts").contains("Assigned 1 group to local user."), "{}", page.words("#toasts"));
    assert_eq!(page.count("#toasts form"), 1);
    let again = Form::of(&page, "Assign to me").press(&desk).await;
    assert_eq!(again.words("#toasts p"), "1 group is assigned to local user already.");
    assert_eq!(again.count("#toasts form"), 0, "nothing was done that could be undone");
    // The undo is of the one that is changed.
    let fields = [("id", &*both.join(",")), ("action", "assign"), ("assignee", "me"), ("back", "/groups")];
    let page = follow(&desk, submit(&desk, "/groups/actions", &fields).await).await;
    let told = page.words("#toasts p");
    assert_eq!(told, "Assigned 1 group to local user. 1 group is assigned to local user already.");
    let page = Form::of(&page, "Undo u").press(&desk).await;
    assert_eq!(page.words("#toasts p"), "Undone for 1 group.");
    let assignee =
        async |id: &str| desk.get(&format!("/api/v1/groups/{id}")).await.expect(200).json()["assignee"].clone();
    assert_eq!((assignee(&both[0]).await, assignee(&both[1]).await), (json!("user:local user"), Value::Null));
}

#[tokio::test]
async fn who_may_not_act_reads_no_list_of_users() {
    for (desk, _kept) in desks().await {
        let path = group_of(&desk, alike(&desk, "orders", "x", 1).await[0]).await;
        let offered = async |name: &str| {
            let page = signed_in(&desk, name).await.get(&desk, &path).await.expect(200).page();
            page.values("select[name=assignee] option", "value").join(" ")
        };
        assert_eq!(offered("otto").await, " user:otto user:ada user:vera");
        assert_eq!(offered("vera").await, "");
    }
}

#[tokio::test]
async fn many_are_done_by_one_call_and_undone() {
    let desk = Desk::open().await;
    let mut ids = Vec::new();
    for queue in ["a", "b", "c"] {
        ids.push(id_of(&desk, alike(&desk, queue, "x", 1).await[0]).await);
    }
    let resolved = act(&desk, &format!("/api/v1/groups/{}/resolve", ids[0]), json!({})).await;
    resolved.expect(200);
    let path = "/api/v1/groups/actions";
    let unknown = "00000000-0000-0000-0000-000000000000";
    let with_unknown = json!([ids[0], ids[1], ids[2], unknown]);
    let done = act(&desk, path, json!({"action": "acknowledge", "ids": with_unknown})).await.expect(200).json();
    let mut expected = vec![ids[1].clone(), ids[2].clone()];
    expected.sort();
    assert_eq!(done["done"], json!(expected));
    let refused: Vec<&str> = done["refused"].as_array().unwrap().iter().map(|it| it["why"].as_str().unwrap()).collect();
    assert_eq!(refused.len(), 2);
    assert!(refused.contains(&"it is resolved; reopen it first") && refused.contains(&"there is no such group"));
    let undo = json!({"action": "undo", "ids": expected, "at": done["at"]});
    assert_eq!(act(&desk, path, undo.clone()).await.expect(200).json()["done"], json!(expected));
    assert_eq!(desk.get(&format!("/api/v1/groups/{}", ids[1])).await.json()["state"], "open");
    assert_eq!(act(&desk, path, undo).await.expect(200).json()["done"], json!([]), "only once");
    for nobody in [json!(null), json!("")] {
        let done = act(&desk, path, json!({"action": "assign", "ids": [ids[1]], "assignee": nobody})).await.expect(200);
        assert_eq!(done.json()["done"], json!([ids[1]]));
    }
    let total =
        async |query: &str| desk.get(&format!("/api/v1/groups?{query}")).await.expect(200).json()["total"].clone();
    assert_eq!((total("state=resolved").await, total("state=open").await), (json!(1), json!(2)));
    for (wrong, part) in [
        (json!({"action": "acknowledge", "ids": []}), "at least 1"),
        (json!({"action": "resolve", "ids": ids, "until": "1h"}), "only with snooze"),
        (json!({"action": "retry", "ids": ids}), "acknowledge, snooze"),
        (json!({"action": "undo", "ids": ids}), "needs it"),
    ] {
        let detail = act(&desk, path, wrong.clone()).await.problem(422);
        assert!(detail.contains(part), "{wrong}: {detail}");
    }
}

#[tokio::test]
async fn a_group_is_given_to_who_sees_it() {
    let team = |glob: &str| TeamConfig { queues: vec![glob.to_owned()], ..TeamConfig::default() };
    let teams = [("alpha", "alpha*"), ("bravo", "bravo*")].map(|(name, glob)| (name.to_owned(), team(glob)));
    let auth = AuthConfig { teams: teams.into(), ..by_password() };
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&auth).await {
        for (name, role, of) in
            [("ada", Role::Operator, "alpha"), ("ben", Role::Operator, "bravo"), ("root", Role::Admin, "")]
        {
            let teams = read_memberships(of).unwrap();
            desk.users.add(name, PASSWORD, (role, &teams), &Actor::command_line()).await.unwrap();
        }
        let ours = alike(&desk, "alpha-orders", "x", 1).await[0];
        let theirs = id_of(&desk, alike(&desk, "bravo-orders", "x", 1).await[0]).await;
        let ada = signed_in(&desk, "ada").await;
        let page = ada.get(&desk, &group_of(&desk, ours).await).await.expect(200).page();
        assert_eq!(page.values("select[name=assignee] option", "value"), ["", "user:ada", "user:root", "team:alpha"]);
        let id = id_of(&desk, ours).await;
        let assign = async |assignee: &str, ids: &str| {
            ada.post(
                &desk,
                "/groups/actions",
                &[("id", ids), ("action", "assign"), ("assignee", assignee), ("back", "/groups")],
            )
            .await
        };
        assign("me", &id).await.expect(303);
        let assignee =
            async || desk.store.group(id.parse().unwrap(), desk.clock.now()).await.unwrap().unwrap().state.assignee;
        assert_eq!(assignee().await.unwrap().to_string(), "user:ada");
        assign("team:alpha", &id).await.expect(303);
        assert_eq!(assignee().await.unwrap().to_string(), "team:alpha");
        for nobody in ["user:ben", "user:eve", "team:bravo", "nonsense"] {
            assign(nobody, &id).await.expect(303);
            assert_eq!(assignee().await.unwrap().to_string(), "team:alpha", "{nobody}");
        }
        assign("", &id).await.expect(303);
        assert_eq!(assignee().await, None);
        assign("team:alpha", &id).await.expect(303);
        // What is another team's is not there.
        ada.post(&desk, "/groups/actions", &[("id", &theirs), ("action", "resolve"), ("back", "/groups")])
            .await
            .expect(303);
        let state = desk.store.group(theirs.parse().unwrap(), desk.clock.now()).await.unwrap().unwrap().state;
        assert_eq!(state.phase().as_str(), "open");
        let listed = ada.get(&desk, "/groups?assignee=team:alpha").await.expect(200).page();
        assert_eq!(listed.count(".list-row"), 1);
    }
}

#[tokio::test]
async fn a_ticket_is_a_link_to_the_web() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = group_of(&desk, ids[0]).await;
    let form = Form::of(&desk.page(&path).await, "Save");
    let page = form.fill("ticket", "https://tracker.example/browse/BILL-1").press(&desk).await;
    let link = page.one(".state-line a");
    assert_eq!(
        (link.attr("href"), link.attr("rel")),
        (Some("https://tracker.example/browse/BILL-1"), Some("noopener noreferrer"))
    );
    assert_eq!(super::answer::words(link), "BILL-1");
    let odd = Form::of(&page, "Save").fill("ticket", "javascript:alert(1)").press(&desk).await;
    assert!(odd.words("#toasts .is-failed").contains("https://"));
    assert_eq!(odd.values(".state-line a", "href"), ["https://tracker.example/browse/BILL-1"]);
    let api = format!("/api/v1{path}");
    desk.call(Method::PATCH, &api, &json!({"ticket": "ftp://x/"})).await.problem(422);
    let both = json!({"ticket": null, "assignee": "me", "note": "on it"});
    let patched = desk.call(Method::PATCH, &api, &both).await.expect(200).json();
    assert_eq!(
        (&patched["ticket"], &patched["assignee"], &patched["note"]),
        (&Value::Null, &json!("user:local user"), &json!("on it"))
    );
}

#[tokio::test]
async fn the_list_shows_what_needs_attention_and_says_so() {
    let desk = Desk::open().await;
    for queue in ["open", "taken", "asleep", "done"] {
        let id = id_of(&desk, alike(&desk, queue, "x", 1).await[0]).await;
        let (action, body) = match queue {
            "taken" => ("acknowledge", json!({})),
            "asleep" => ("snooze", json!({"until": "1h"})),
            "done" => ("resolve", json!({})),
            _ => continue,
        };
        act(&desk, &format!("/api/v1/groups/{id}/{action}"), body).await.expect(200);
    }
    let shown = async |query: &str| {
        let page = desk.page(&format!("/groups{query}")).await;
        let mut queues: Vec<String> = page.all(".list-row .row-what").into_iter().map(super::answer::words).collect();
        queues.sort();
        queues.join(" ")
    };
    assert_eq!(shown("").await, "open taken");
    assert_eq!(shown("?state=snoozed").await, "asleep");
    assert_eq!(shown("?state=resolved&state=open").await, "done open");
    assert_eq!(shown("?status=all").await, "asleep done open taken");
    let page = desk.page("/groups").await;
    assert!(page.words(".groups-about").contains("Snoozed and resolved groups are left out"));
    assert!(page.words("main").contains("acknowledged by local user"));
    assert_eq!(page.words("#side a[href='/groups'] .text-count"), "2 needing attention");
    again(&desk, "done", "x").await;
    let page = desk.page("/groups").await;
    assert!(page.words(".mark-regressed").contains("regressed after 1 min"), "{}", page.words("main"));
    let news = desk.page(&page.values("#news", "hx-get")[0].replace("/groups?", "/groups?part=news&")).await;
    assert_eq!(news.count(".list-news"), 0, "it is as it is shown");
    again(&desk, "other", "x").await;
    let news = desk.page(&page.values("#news", "hx-get")[0].replace("/groups?", "/groups?part=news&")).await;
    assert_eq!(news.count(".list-news"), 1);
}

#[tokio::test]
async fn what_began_since_the_last_visit_is_marked() {
    let desk = Desk::open().await;
    alike(&desk, "old", "x", 1).await;
    let first = desk.get("/groups").await.expect(200);
    assert_eq!(first.page().count(".mark-new"), 0, "at the first visit all is new");
    let cookie = first.header("set-cookie").split(';').next().unwrap().to_owned();
    desk.clock.advance(Duration::from_secs(3_600));
    again(&desk, "young", "x").await;
    let request = builder(Method::GET, "/groups").header(header::COOKIE, cookie);
    let page = desk.send(request.body(axum::body::Body::empty()).unwrap()).await.expect(200).page();
    assert!(page.words(".list-row:has(.mark-new)").contains("young"));
    assert_eq!(page.count(".list-row .mark-new"), 1);
    assert!(page.words("main").contains("1 new since your last visit, 1 h ago"), "{}", page.words("main"));
}

#[tokio::test]
async fn a_selection_is_acted_on_and_that_is_undone() {
    let desk = Desk::open().await;
    let ids = [alike(&desk, "a", "x", 1).await[0], alike(&desk, "b", "x", 2).await[0]];
    let groups = [id_of(&desk, ids[0]).await, id_of(&desk, ids[1]).await];
    let list = desk.page("/groups").await;
    let form = Form::of(&list, "Snooze").tick("id", &groups[0]).tick("id", &groups[1]).fill("until", "100 more");
    let page = form.press(&desk).await;
    assert!(
        page.words("#toasts").contains("Snoozed 2 groups until 100 more dead letters come."),
        "{}",
        page.words("#toasts")
    );
    assert_eq!(page.count(".list-row"), 0);
    let page = Form::of(&page, "Undo u").press(&desk).await;
    assert_eq!(page.count(".list-row"), 2);
    let none = Form::of(&page, "Acknowledge").press(&desk).await;
    assert_eq!(none.words("#toasts p"), "No group is selected.");
    // Retry and discard ask once more, about all open letters of both.
    let asked = Form::of(&page, "Discard").tick("id", &groups[0]).tick("id", &groups[1]).send(&desk).await.expect(303);
    let question = desk.page(asked.header("location")).await;
    assert!(
        question.words("#asking-title").contains("Discard 3 open dead letters of 2 error groups?"),
        "{}",
        question.words("#asking-title")
    );
    let refused = submit(&desk, "/groups/actions", &[("id", "x"), ("action", "resolve")]).await;
    refused.expect(400);
    let odd = submit(&desk, "/groups/actions", &[("id", &groups[0]), ("action", "x"), ("back", "/groups")]).await;
    assert!(follow(&desk, odd).await.words("#toasts .is-failed").contains("acknowledge, snooze"));
    assert_eq!(desk.status(ids[0]).await, Status::Open);
}

/// Its page would hold another page otherwise: what it asks for is put in place of the state.
#[tokio::test]
async fn an_open_page_says_that_its_group_is_part_of_another() {
    let desk = Desk::open().await;
    let [big, small] = [alike(&desk, "orders", "x", 2).await[0], alike(&desk, "orders", "y", 1).await[0]];
    let [into, from] = [group_of(&desk, big).await, group_of(&desk, small).await];
    let ids = [id_of(&desk, small).await, id_of(&desk, big).await];
    act(&desk, "/api/v1/groups/merge", json!({"ids": ids})).await.expect(200);
    let request = builder(Method::GET, &format!("{from}?part=state")).header("hx-request", "true");
    let request = request.header("hx-target", "group-state");
    let state = desk.send(request.body(axum::body::Body::empty()).unwrap()).await.expect(200).page();
    assert_eq!((state.count("#group-state"), state.count("main")), (1, 0));
    assert_eq!(state.values("#group-state a", "href"), std::slice::from_ref(&into));
    // Whoever opens it is led there.
    assert_eq!(desk.get(&from).await.expect(303).header("location"), into);
}

#[tokio::test]
async fn groups_are_merged_by_a_call() {
    let desk = Desk::open().await;
    let big = alike(&desk, "orders", "x", 2).await;
    let small = alike(&desk, "orders", "y", 1).await;
    let elsewhere = alike(&desk, "mail", "x", 1).await;
    let [big, small, elsewhere] =
        [id_of(&desk, big[0]).await, id_of(&desk, small[0]).await, id_of(&desk, elsewhere[0]).await];
    let merge = "/api/v1/groups/merge";
    let detail = act(&desk, merge, json!({"ids": [big, elsewhere]})).await.problem(409);
    assert_eq!(detail, "Not possible: only groups of one queue with the same reason can be merged.");
    act(&desk, merge, json!({"ids": [big, big]})).await.problem(409);
    let merged = act(&desk, merge, json!({"ids": [small, big]})).await.expect(200).json();
    assert_eq!((&merged["into"], &merged["from"]), (&json!(big), &json!([small])));
    let one = desk.get(&format!("/api/v1/groups/{small}")).await.expect(200).json();
    assert_eq!((&one["id"], &one["count"]), (&json!(big), &json!(3)));
    let told = desk.page("/activity").await.words("table.table-activity tbody");
    assert!(told.contains("merged the group") && !told.contains("gone"), "{told}");
    let part = &one["merged_from"][0];
    let expected = json!({"id": small, "message_type": null, "error": "y", "merged_by": "local user",
        "merged_at": "2026-11-21T12:00:00.000000Z"});
    assert_eq!(*part, expected);
    let undo = json!({"action": "undo", "ids": [small], "at": merged["at"]});
    assert_eq!(act(&desk, "/api/v1/groups/actions", undo).await.expect(200).json()["done"], json!([small]));
    act(&desk, merge, json!({"ids": [small, big]})).await.expect(200);
    let split = act(&desk, &format!("/api/v1/groups/{small}/unmerge"), json!({})).await.expect(200).json();
    assert_eq!((&split["id"], &split["count"], &split["state"]), (&json!(small), &json!(1), &json!("open")));
    act(&desk, &format!("/api/v1/groups/{small}/unmerge"), json!({})).await.problem(409);
}
