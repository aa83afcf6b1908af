//! What each may: every route there is, asked by everybody.

use std::collections::BTreeSet;

use axum::http::Method;
use dead_letter_office::{
    domain::{
        access::{Right, Role, Scope},
        letter::Status,
    },
    services::sign_in::WantedToken,
    web::{Need, routes},
};

use super::{Visit, desks, signed_in};
use crate::web::{
    answer::{Answer, Look, words},
    desk::Desk,
};

/// Whom one asks as.
struct Asker {
    name: String,
    visit: Visit,
    may: Box<dyn Fn(Right) -> bool>,
    is_person: bool,
}

async fn askers(desk: &Desk) -> Vec<Asker> {
    let mut askers = Vec::new();
    for (name, role) in [("ada", Role::Admin), ("otto", Role::Operator), ("vera", Role::Viewer)] {
        let visit = signed_in(desk, name).await;
        askers.push(Asker {
            name: name.to_owned(),
            visit,
            may: Box::new(move |right| role.may(right)),
            is_person: true,
        });
    }
    let ada = desk.store.user("ada").await.unwrap().unwrap();
    let by = dead_letter_office::domain::actor::Actor::command_line();
    for scope in Scope::ALL.iter().copied() {
        let (name, owner) = (scope.as_str(), Some(ada.clone()));
        let wanted = WantedToken { name, scopes: vec![scope], owner, teams: Vec::new(), lasts: None };
        let visit = Visit::bearer(&desk.tokens.add(wanted, &by).await.unwrap());
        let may = Box::new(move |right| scope.may(right));
        askers.push(Asker { name: scope.to_string(), visit, may, is_person: false });
    }
    askers
}

/// Asks for what is not there, so that nothing is done by whoever may.
async fn ask(desk: &Desk, visit: &Visit, method: &str, path: &str) -> Answer {
    let path = path.replace("{id}", "nothing").replace("{name}", "nothing").replace("{version}", "x");
    let path = path.replace("{*name}", "y").replace("{*file}", "y");
    let visit = visit.clone().with("sec-fetch-site", "same-origin");
    visit.ask(desk, method.parse::<Method>().unwrap(), &path, "text/plain", "").await
}

fn is_let_in(need: Need, asker: &Asker) -> bool {
    let all = |rights: &[Right]| rights.iter().all(|right| (asker.may)(*right));
    match need {
        Need::Nothing => true,
        Need::Person => asker.is_person,
        Need::Page(rights) => asker.is_person && all(rights),
        Need::Rights(rights) => all(rights),
        Need::Metrics => (asker.may)(Right::Read),
    }
}

#[tokio::test]
async fn every_route_lets_in_whom_the_table_lets_in_and_nobody_else() {
    let (desk, _kept) = desks().await.remove(0);
    let mut refused = 0;
    for asker in askers(&desk).await {
        for (method, path, need) in routes() {
            // It has no end, or ends what the rest is asked with.
            if ["/events", "/sign-out"].contains(&path) || path.starts_with("/account/") {
                continue;
            }
            let answer = ask(&desk, &asker.visit, method, path).await;
            // What anybody may ask refuses for reasons of its own.
            let is_refused = answer.status == 403 && need != Need::Nothing;
            assert_eq!(!is_refused, is_let_in(need, &asker), "{} by {}: {}", answer.asked, asker.name, answer.text());
            assert_ne!(answer.status, 405, "{} is no route", answer.asked);
            refused += u32::from(is_refused);
        }
    }
    assert!(refused > 100, "{refused}");
}

#[tokio::test]
async fn nobody_is_let_in_nowhere_but_where_anybody_is() {
    let (desk, _kept) = desks().await.remove(0);
    for (method, path, need) in routes() {
        let answer = ask(&desk, &Visit::default(), method, path).await;
        let leads = answer.status == 303 && answer.header("location").starts_with("/sign-in");
        let is_refused = answer.status == 401 || leads;
        assert!(is_refused || need == Need::Nothing, "{}: {}", answer.asked, answer.status);
    }
}

/// The router says what it has; each stands in the table, and the other way round.
#[tokio::test]
async fn the_table_has_every_route_of_the_router() {
    let (desk, _kept) = desks().await.remove(0);
    let told = format!("{:?}", desk.router());
    let paths: BTreeSet<&str> = told.split('"').skip(1).step_by(2).filter(|text| text.starts_with('/')).collect();
    let paths: BTreeSet<String> =
        paths.into_iter().filter(|path| !path.contains("__private")).map(str::to_owned).collect();
    let table: BTreeSet<String> = routes().map(|(_, path, _)| path.to_owned()).collect();
    assert_eq!(paths, table);
    let description = desk.get("/api/openapi.json").await.expect(200).json();
    let described: BTreeSet<(String, String)> = (description["paths"].as_object().unwrap().iter())
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())))
        .collect();
    let calls = routes().filter(|(_, path, _)| path.starts_with("/api/v1/"));
    let calls: BTreeSet<_> = calls.map(|(method, path, _)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(described, calls);
}

#[tokio::test]
async fn what_one_may_not_do_is_disabled_with_the_reason_on_every_page() {
    let (desk, _kept) = desks().await.remove(0);
    let id = desk.letter_in(Status::Open).await;
    let pages = [
        "/",
        "/letters",
        &format!("/letters/{id}"),
        "/groups",
        "/scheduled",
        "/policies",
        "/rules",
        "/schemas",
        "/digests",
    ];
    let enabled = async |name: &str, path: &str| {
        let page = signed_in(&desk, name).await.get(&desk, path).await.expect(200).page();
        let forms = page.all("form[method=post]").into_iter();
        let open = forms.filter(|form| form.count("button") > 0 && form.count("fieldset[data-gate][disabled]") == 0);
        open.map(|form| form.attr("action").unwrap().to_owned())
            // One's own: who only looks may save what they look at.
            .filter(|action| action != "/sign-out" && action != "/views/set")
            .collect::<Vec<_>>()
    };
    let mut n_of_admin = 0;
    for path in pages {
        assert_eq!(enabled("vera", path).await, [""; 0], "{path}");
        let of_operator = enabled("otto", path).await;
        assert!(of_operator.iter().all(|action| !action.starts_with("/rules")), "{path}: {of_operator:?}");
        n_of_admin += enabled("ada", path).await.len();
    }
    assert!(n_of_admin > 8, "{n_of_admin}");
    let page = signed_in(&desk, "vera").await.get(&desk, &format!("/letters/{id}")).await.page();
    let gates = page.values("fieldset[data-gate]", "title");
    assert!(gates.contains(&"Your role, viewer, may not retry, edit, discard or annotate.".to_owned()), "{gates:?}");
    assert_eq!(page.count(&format!("a[href$='/{id}/edit'], a[href$='/{id}/body']")), 0);
    assert!(page.count("a[aria-disabled=true]") > 0);
}

#[tokio::test]
async fn a_refusal_is_a_page_or_a_problem() {
    let (desk, _kept) = desks().await.remove(0);
    let vera = signed_in(&desk, "vera").await;
    let page = vera.post(&desk, "/policies/set", &[]).await.expect(403).page();
    assert!(page.words("main").contains("Your role, viewer, may not change policies"), "{}", page.words("main"));
    assert_eq!(page.words(".side-who a"), "vera");
    let put = vera.clone().with("sec-fetch-site", "same-origin");
    let answer = put.ask(&desk, Method::POST, "/api/v1/policies", "application/json", "{}").await;
    assert_eq!(answer.json()["code"], "not_allowed");
    assert!(answer.problem(403).contains("Your role, viewer"));
    let buttons: Vec<String> = page.all("button").into_iter().map(words).collect();
    assert!(buttons.contains(&"Sign out".to_owned()), "{buttons:?}");
}
