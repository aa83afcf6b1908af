//! Programs.

use std::time::Duration;

use amqp_message::field::FieldValue;
use axum::http::Method;
use dead_letter_office::{
    config::{AuthConfig, MetricsAccess},
    domain::{
        access::{Role, Scope},
        activity::ActivityFilter,
        actor::{Actor, Via},
        letter::Status,
    },
    services::sign_in::WantedToken,
};
use serde_json::json;

use super::{Visit, by_password, desks, signed_in};
use crate::web::{
    answer::{Look, words},
    desk::Desk,
};

/// A token of the command line.
pub async fn token(desk: &Desk, name: &str, scopes: &[Scope]) -> Visit {
    let lasts = Some(Duration::from_secs(60));
    let wanted = WantedToken { name, scopes: scopes.to_vec(), owner: None, teams: Vec::new(), lasts };
    Visit::bearer(&desk.tokens.add(wanted, &Actor::command_line()).await.unwrap())
}

#[tokio::test]
async fn a_token_is_made_shown_once_used_and_revoked_on_the_account_page() {
    for (desk, _kept) in desks().await {
        let otto = signed_in(&desk, "otto").await;
        let fields = [("name", "deploy hook"), ("scope", "read"), ("scope", "act"), ("days", "30")];
        let made = otto.post(&desk, "/account/tokens", &fields).await.expect(200).page();
        let text = made.words("#token");
        assert!(text.starts_with("dlo_") && text.len() == 47, "{text}");
        otto.post(&desk, "/account/tokens", &fields).await.expect(422);
        let endless = [("name", "old"), ("scope", "read"), ("days", "99999")];
        otto.post(&desk, "/account/tokens", &endless).await.expect(422);
        let page = otto.get(&desk, "/account").await.expect(200);
        assert!(!page.text().contains(&text), "it is shown once");
        let program = Visit { address: Some("198.51.100.3"), ..Visit::bearer(&text) };
        let id = desk.letter_in(Status::Open).await;
        program.ask(&desk, Method::POST, &format!("/api/v1/letters/{id}/discard"), "", "").await.expect(200);
        let entries = desk.store.activity(&ActivityFilter::default(), None, 1).await.unwrap();
        let by = &entries[0].entry.by;
        assert_eq!(by.as_str(), "deploy hook (token of otto)");
        assert_eq!(by.origin().unwrap().via, Via::Token);
        assert_eq!(by.origin().unwrap().address.unwrap().to_string(), "198.51.100.3");
        let used = otto.get(&desk, "/account").await.page();
        let row = words(used.all("section:has(#tokens-title) tbody tr")[0]);
        assert!(row.contains("from 198.51.100.3"), "{row}");
        // What its owner may not do any more, it may not.
        desk.users.set_role("otto", Role::Viewer, &Actor::command_line()).await.unwrap();
        let refused = program.ask(&desk, Method::POST, &format!("/api/v1/letters/{id}/reopen"), "", "").await;
        assert!(refused.problem(403).contains("its owner is a viewer"));
        program.get(&desk, "/api/v1/letters").await.expect(200);
        let id = used.one("input[name=token]").attr("value").unwrap();
        signed_in(&desk, "vera").await.post(&desk, "/account/revoke", &[("token", id)]).await.expect(404);
        program.get(&desk, "/api/v1/letters").await.expect(200);
        otto.post(&desk, "/account/revoke", &[("token", id)]).await.expect(303);
        let gone = program.get(&desk, "/api/v1/letters").await.expect(401);
        assert_eq!(gone.header("www-authenticate"), "Bearer realm=\"dlo\"");
    }
}

#[tokio::test]
async fn admins_revoke_the_tokens_of_others_and_who_is_disabled_has_none() {
    for (desk, _kept) in desks().await {
        let otto = signed_in(&desk, "otto").await;
        let made = otto.post(&desk, "/account/tokens", &[("name", "a"), ("scope", "read")]).await.expect(200).page();
        let program = Visit::bearer(&made.words("#token"));
        program.get(&desk, "/api/v1/letters").await.expect(200);
        desk.users.disable("otto", true, &Actor::command_line()).await.unwrap();
        program.get(&desk, "/api/v1/letters").await.expect(401);
        desk.users.disable("otto", false, &Actor::command_line()).await.unwrap();
        program.get(&desk, "/api/v1/letters").await.expect(200);
        let ada = signed_in(&desk, "ada").await;
        let page = ada.get(&desk, "/users").await.expect(200).page();
        let id = page.one("input[name=token]").attr("value").unwrap();
        signed_in(&desk, "vera").await.post(&desk, "/users/revoke", &[("token", id)]).await.expect(403);
        ada.post(&desk, "/users/revoke", &[("token", id)]).await.expect(303);
        program.get(&desk, "/api/v1/letters").await.expect(401);
        // What is theirs goes with them.
        let made = otto_again(&desk).await;
        let program = Visit::bearer(&made);
        program.get(&desk, "/api/v1/letters").await.expect(200);
        desk.users.remove("otto", &Actor::command_line()).await.unwrap();
        program.get(&desk, "/api/v1/letters").await.expect(401);
        assert_eq!(desk.tokens.all().await.unwrap(), []);
        desk.users.remove("ada", &Actor::command_line()).await.unwrap_err();
    }
}

/// Another token of his.
async fn otto_again(desk: &Desk) -> String {
    let otto = signed_in(desk, "otto").await;
    let made = otto.post(desk, "/account/tokens", &[("name", "b"), ("scope", "read")]).await.expect(200);
    made.page().words("#token")
}

#[tokio::test]
async fn what_is_in_messages_takes_a_scope_of_its_own() {
    for (desk, _kept) in desks().await {
        let dead = crate::web::dead::dead_in("orders").body("{\"customer\": \"Ada Lovelace\"}");
        let id = desk.receive(dead).await;
        let path = format!("/api/v1/letters/{id}");
        let reader = token(&desk, "reader", &[Scope::Read]).await;
        let seen = reader.get(&desk, &path).await.expect(200);
        assert!(!seen.text().contains("Lovelace"), "{}", seen.text());
        assert_eq!((&seen.json()["payload"]["hidden"], &seen.json()["payload"]["json"]), (&true.into(), &().into()));
        for (method, end) in [(Method::GET, "body"), (Method::POST, "reveal")] {
            reader.ask(&desk, method, &format!("{path}/{end}"), "", "").await.problem(403);
        }
        // Whoever may not see a body could otherwise guess at it.
        let actor = token(&desk, "actor", &[Scope::Read, Scope::Act]).await;
        let guess = json!({"json": {"customer": "Ada Lovelace"}}).to_string();
        actor.ask(&desk, Method::POST, &format!("{path}/retry"), "application/json", &guess).await.problem(403);
        let both = token(&desk, "both", &[Scope::Read, Scope::Payload]).await;
        for (method, end) in [(Method::GET, ""), (Method::GET, "/body"), (Method::POST, "/reveal")] {
            let seen = both.ask(&desk, method, &format!("{path}{end}"), "", "").await.expect(200);
            assert!(seen.text().contains("Lovelace"), "{end}");
        }
    }
}

/// Headers that repeat the arguments of a task are its message as much as the body is.
#[tokio::test]
async fn headers_that_repeat_the_body_take_that_scope_too() {
    for (desk, _kept) in desks().await {
        let task = crate::web::dead::dead_in("orders").header("task", FieldValue::string("billing.charge"));
        let task = task.header("id", FieldValue::string("1b4e28ba-2fa1-11d2-883f-0016d3cca427"));
        let task = task.header("argsrepr", FieldValue::string("('Lovelace',)")).body("[[\"Lovelace\"], {}, {}]");
        let id = desk.receive(task).await;
        let path = format!("/api/v1/letters/{id}");
        let seen = token(&desk, "reader", &[Scope::Read]).await.get(&desk, &path).await.expect(200);
        assert!(seen.text().contains("billing.charge") && !seen.text().contains("Lovelace"), "{}", seen.text());
        let both = token(&desk, "both", &[Scope::Read, Scope::Payload]).await.get(&desk, &path).await.expect(200);
        assert!(both.text().contains("('Lovelace',)"), "{}", both.text());
    }
}

#[tokio::test]
async fn payloads_have_no_part_in_what_letters_have_in_common_without_that_scope() {
    for (desk, _kept) in desks().await {
        let letter = crate::web::in_common::receive(&desk, 20).await;
        let path = format!("/api/v1{}/in-common", crate::web::groups::group_of(&desk, letter).await);
        let fields = async |scopes: &[Scope], name| {
            let answer = token(&desk, name, scopes).await.get(&desk, &path).await.expect(200).json();
            let items = answer["items"].as_array().unwrap();
            items.iter().map(|item| item["field"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(fields(&[Scope::Read, Scope::Payload], "both").await, ["payload.total.currency", "size"]);
        // Its size is no secret.
        assert_eq!(fields(&[Scope::Read], "reader").await, ["size"]);
    }
}

#[tokio::test]
async fn a_token_has_no_scope_that_its_owner_has_no_use_of() {
    for (desk, _kept) in desks().await {
        let vera = signed_in(&desk, "vera").await;
        let wanted = [("name", "later"), ("scope", "read"), ("scope", "admin")];
        let refused = vera.post(&desk, "/account/tokens", &wanted).await.expect(422).page();
        assert!(refused.words("main").contains("admin is not for the role viewer"), "{}", refused.words("main"));
        for n in 0..50 {
            vera.post(&desk, "/account/tokens", &[("name", &*format!("{n}")), ("scope", "read")]).await.expect(200);
        }
        vera.post(&desk, "/account/tokens", &[("name", "one more"), ("scope", "read")]).await.expect(422);
    }
}

#[tokio::test]
async fn tokens_expire_and_are_for_programs_only() {
    for (desk, _kept) in desks().await {
        let program = token(&desk, "a", &[Scope::Read]).await;
        program.get(&desk, "/api/v1/letters").await.expect(200);
        program.get(&desk, "/metrics").await.expect(200);
        let writer = token(&desk, "writer", &[Scope::Markers]).await;
        assert!(writer.get(&desk, "/metrics").await.problem(403).contains("may not read"));
        program.get(&desk, "/letters").await.expect(403);
        for odd in ["Basic YTpi", "Bearer", "Bearer dlo_nonsense", "Bearer  "] {
            Visit::default().with("authorization", odd).get(&desk, "/api/v1/letters").await.expect(401);
        }
        desk.clock.advance(Duration::from_secs(60));
        program.get(&desk, "/api/v1/letters").await.expect(401);
    }
}

/// One write a minute, however often it is used.
#[tokio::test]
async fn when_it_was_used_is_known_to_the_minute() {
    for (desk, _kept) in desks().await {
        let program = token(&desk, "a", &[Scope::Read]).await;
        let used = async || desk.tokens.all().await.unwrap()[0].used_at;
        assert_eq!(used().await, None);
        program.get(&desk, "/api/v1/letters").await.expect(200);
        let first = used().await;
        assert_eq!(first, Some(desk.clock.now()));
        desk.clock.advance(Duration::from_secs(59));
        program.get(&desk, "/api/v1/letters").await.expect(200);
        assert_eq!(used().await, first);
    }
}

#[tokio::test]
async fn metrics_may_be_left_open() {
    let desk = Desk::where_people_sign_in(AuthConfig { metrics: MetricsAccess::Open, ..by_password() }).await;
    desk.get("/metrics").await.expect(200);
    desk.get("/api/v1/letters").await.expect(401);
}
